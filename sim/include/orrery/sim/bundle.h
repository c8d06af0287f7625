/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bundle.h - an experiment as one archive, and whether it can be repeated from it.
 *
 * A bundle holds results/NNN-NAME.db, scenarios/NNN-NAME.given.yaml and .resolved.yaml, traces/ (if
 * asked for; SUM-NAME, SUM the first 12 digits of its SHA-256), figures/ (whatever else was named),
 * README.txt (seeds, digests, versions, traces with checksums, what to type) and SHA256SUMS.
 */
#ifndef ORR_SIM_BUNDLE_H
#define ORR_SIM_BUNDLE_H

#include <orrery/sim/study.h>

struct orr_bundle_options {
    const char *output; /* .tar.zst, .tar.gz or .zip */
    bool force;
    bool with_traces;
    const char *const *results; /* files */
    uint32_t result_count;
    const char *const *figures; /* other files that go with them */
    uint32_t figure_count;
};

/* A trace that is no longer the one a run read is refused. Once the archive is there, each file in
 * it is told by its name. ORR_USAGE, ORR_NO_INPUT, ORR_DATA, ORR_CANT_CREATE, ORR_IO. */
typedef void orr_bundled_fn(const char *name, void *context);
enum orr_status orr_bundle_make(const struct orr_bundle_options *options, orr_bundled_fn *report,
                                void *context, struct orr_err *err) ORR_MUST_USE;

struct orr_verify_options {
    const char *bundle;
    const char *traces; /* folder of traces that are not in the bundle; NULL: where they were */
    uint32_t sample;    /* runs to repeat, evenly spread; 0: all */
    struct orr_study_options study;
};

struct orr_verified { /* one run that was repeated */
    const char *name; /* of the results in the bundle */
    const char *digest, *again;
    const char *version, *version_now; /* of the program */
    bool same_inputs;
    bool interrupted; /* the run in the bundle: its digest is of a part */
};
typedef void orr_verified_fn(const struct orr_verified *one, void *context);

/* Unpacks, holds every file against its checksum, runs a sample again and tells each. ORR_DATA: not
 * a bundle, or damaged, or hostile. *different counts runs whose digest is another. */
enum orr_status orr_bundle_verify(const struct orr_verify_options *options, orr_verified_fn *report,
                                  void *context, uint32_t *total, uint32_t *different,
                                  struct orr_err *err) ORR_MUST_USE;

#endif
