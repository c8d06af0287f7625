/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conform.h - conformance files: what a policy must decide, compared with what it decides.
 *
 * A file is a JSON array of scheduling cases or of fair-share vectors (their entries have the key
 * "function"). Files are read completely before anything is run, so a file that is not in this
 * format prints nothing but its error.
 */
#ifndef ORR_SIM_CONFORM_H
#define ORR_SIM_CONFORM_H

#include <stdio.h>

#include <orrery/base/status.h>

struct orr_conform_tally {
    uint32_t passed, failed, skipped;
};

/* Runs files and, recursively and in byte order of names, folders of *.json. Prints one line a
 * failing entry (id, what, expected, got), one line a skipped one (id, the feature that is
 * missing), with `verbose` one line a passing one, and at the end `N passed, N failed, N skipped`.
 * `policy` NULL means "kai". ORR_OK also if entries failed: the tally tells. ORR_NO_INPUT: a path
 * cannot be opened or holds no file; ORR_DATA: a file is not in the format, with its place. */
enum orr_status orr_conform_run(const char *const *paths, size_t count, const char *policy,
                                bool verbose, FILE *out, struct orr_conform_tally *tally,
                                struct orr_err *err) ORR_MUST_USE;

#endif
