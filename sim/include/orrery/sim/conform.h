/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conform.h - conformance files: what a policy must decide, compared with what it decides.
 *
 * A file is a JSON array of scheduling cases, of fair-share vectors (their entries have the key
 * "function") or of vectors of Kueue (the key "kind"). Files are read completely before anything is
 * run, so a file that is not in this format tells nothing but its error.
 */
#ifndef ORR_SIM_CONFORM_H
#define ORR_SIM_CONFORM_H

#include <stdio.h>

#include <orrery/base/status.h>

struct orr_conform_tally {
    uint32_t passed, failed, skipped;
};

enum orr_conform_verdict { ORR_CONFORM_PASSED, ORR_CONFORM_FAILED, ORR_CONFORM_SKIPPED };
extern const char *const orr_conform_words[]; /* "passed", ... */

struct orr_conform_entry {
    const char *id;
    enum orr_conform_verdict verdict;
    const char *text; /* failed: what, expected, got; skipped: the feature that is missing; or "" */
};
typedef void orr_conform_fn(const struct orr_conform_entry *entry, void *context);

/* Runs files and, recursively and in byte order of names, folders of *.json, and tells each entry.
 * `policy` NULL means "kai". ORR_OK also if entries failed: the tally tells. ORR_NO_INPUT: a path
 * cannot be opened or holds no file; ORR_DATA: a file is not in the format, with its place. */
enum orr_status orr_conform_run(const char *const *paths, size_t count, const char *policy,
                                orr_conform_fn *report, void *context,
                                struct orr_conform_tally *tally, struct orr_err *err) ORR_MUST_USE;

/* For people: a line a failing or skipped entry, with `verbose` also a passing one, and at the end
 * `N passed, N failed, N skipped`. orr_conform_print is told with the text as context. */
struct orr_conform_text {
    FILE *out;
    bool verbose;
};
orr_conform_fn orr_conform_print;
void orr_conform_print_tally(const struct orr_conform_tally *tally, FILE *out);

#endif
