/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_int.h"
#include "report_sql.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>

static void title_of(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_report_sql__head);
    while (orr_results_step(in, row)) {
        char window[24], gpus[40], nodes[40], queues[40];
        (void)fputs("<h1>", out);
        orr_xml_text(out, orr_results_text(in, row, 0));
        (void)fputs(" under ", out);
        orr_xml_text(out, orr_results_text(in, row, 1));
        (void)fprintf(
            out,
            "</h1>\n<p class=\"soft\">%s on %s, %s. Numbers are of "
            "jobs submitted in the window of %s from %s to %s, unless they say otherwise.</p>\n",
            orr_report__count(sqlite3_column_double(row, 3), "GPU", "GPUs", gpus),
            orr_report__count(sqlite3_column_double(row, 4), "node", "nodes", nodes),
            orr_report__count(sqlite3_column_double(row, 5), "queue", "queues", queues),
            orr_format_rough(window, sqlite3_column_double(row, 2)),
            sqlite3_column_int(row, 6) != 0 ? "the end of the warm-up" : "the begin of the run",
            sqlite3_column_int(row, 7) != 0 ? "the end of the run" : "the last submit");
    }
}

static void one_run(const struct orr_report_options *options, uint32_t index,
                    struct orr_results *in, FILE *out)
{
    char prefix[24] = "";
    if (options->count > 1) {
        (void)snprintf(prefix, sizeof prefix, "run%u-", index + 1);
        (void)fputs("<details><summary>", out);
        if (options->labels != NULL && options->labels[index] != NULL) {
            orr_xml_text(out, options->labels[index]);
            (void)fputs(": ", out);
        }
        orr_xml_text(out, options->paths[index]);
        (void)fputs("</summary>\n", out);
    }
    title_of(in, out);
    if (options->count == 1) {
        (void)fputs("<nav aria-label=\"sections\"><a href=\"#waits\">waits</a><a "
                    "href=\"#load\">queues</a><a href=\"#evictions\">evictions</a><a "
                    "href=\"#lending\">lending</a>",
                    out);
        if (orr_report__has_answer(in, ORR_REPORT_OBJECTIVES)) {
            (void)fputs("<a href=\"#objectives\">objectives</a>", out);
        }
        if (orr_report__has_answer(in, ORR_REPORT_EXPECTED)) {
            (void)fputs("<a href=\"#expected\">expected</a>", out);
        }
        (void)fputs("<a href=\"#figures\">figures</a><a href=\"#trust\">trust</a><a "
                    "href=\"#provenance\">provenance</a></nav>\n",
                    out);
    }
    orr_report__run(in, options, prefix, options->count > 1 ? orr_report__beside : NULL, out);
    (void)fputs(options->count > 1 ? "</details>\n" : "", out);
}

static enum orr_status write_page(const struct orr_report_options *options, FILE *out,
                                  struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    orr_report__begin(out, options->paths[0], options->count > 1 || options->settings != NULL);
    if (options->settings != NULL) {
        status = orr_report__settings(options, out, err);
        orr_report__end(out);
        return status;
    }
    if (options->count > 1) {
        (void)fputs("<h1>Runs side by side</h1>\n<nav aria-label=\"sections\"><a href=\"#side\">"
                    "numbers</a><a href=\"#queues\">queues</a><a href=\"#changed\">what was "
                    "changed</a><a href=\"#figures\">figures</a><a href=\"#runs\">each run</a>"
                    "</nav>\n",
                    out);
        status = orr_report__many(options, out, err);
    }
    for (uint32_t i = 0; i < options->count && status == ORR_OK; i++) {
        struct orr_results in;
        orr_results_open(&in, options->paths[i], err);
        orr_results_interruptible(&in, options->interrupted);
        if (in.status == ORR_OK) {
            one_run(options, i, &in, out);
        }
        status = in.status;
        orr_results_close(&in);
    }
    orr_report__end(out);
    return status;
}

enum orr_status orr_report_write(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err)
{
    enum orr_status status = write_page(options, out, err);
    if (status == ORR_OK && (fflush(out) != 0 || ferror(out) != 0)) {
        status = orr_fail(err, ORR_IO, "%s: %s", options->output, strerror(errno));
    }
    if (status == ORR_OK && options->interrupted != NULL && *options->interrupted) {
        status = orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    return status;
}
