/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report.h - one self-contained HTML page about one run, or several side by side.
 *
 * No script, no network, nothing beside the page: figures are inlined SVG. Whatever comes from a
 * results file is text to the page.
 */
#ifndef ORR_ANALYSIS_REPORT_H
#define ORR_ANALYSIS_REPORT_H

#include <signal.h>
#include <stdio.h>

#include <orrery/base/status.h>
#include <orrery/base/units.h>

/* What a page begins with. */
#define ORR_REPORT_BEGIN "<!doctype html>\n<html lang=\"en\">\n<head>\n"

struct orr_compare_options;

struct orr_report_options {
    const char *const *paths;  /* results files; the first is what others are held against */
    const char *const *labels; /* what each is called; NULL, or NULL entries: as its file */
    uint32_t count;
    const char *output;  /* what the page is to be called, for errors */
    const char *scratch; /* an empty folder for figures on their way */
    /* Per file, what its scenario has other than the first one's, in words, a line each; "": it is
     * the same. NULL, or NULL entries: lines of the stored scenarios are shown instead. */
    const char *const *changes;
    /* The points of merged sweeps, which are all files then; NULL: they are results of one run. */
    const struct orr_compare_options *settings;
    const volatile sig_atomic_t *interrupted; /* not 0: stop, ORR_INTERRUPTED; or NULL */
};

/* To an open file. ORR_NO_INPUT, ORR_DATA, ORR_CANT_CREATE, ORR_IO, ORR_INTERRUPTED. Without
 * gnuplot the page has no figures and says so. */
enum orr_status orr_report_write(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err) ORR_MUST_USE;

#endif
