/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void title_of(struct orr_results *in, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT name, policy, (window_end_ms - window_start_ms) / 86400000.0 FROM run");
    while (orr_results_step(in, row)) {
        (void)fputs("<h1>", out);
        orr_report__text(out, orr_results_text(in, row, 0));
        (void)fputs(" under ", out);
        orr_report__text(out, orr_results_text(in, row, 1));
        (void)fprintf(out,
                      "</h1>\n<p class=\"soft\">Window: end of warm-up to last submit, %.1f "
                      "days. Times are submit to first start unless said otherwise.</p>\n",
                      sqlite3_column_double(row, 2));
    }
}

static enum orr_status write_page(const struct orr_report_options *options, FILE *out,
                                  struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    orr_report__begin(out, options->paths[0]);
    if (options->count > 1) {
        (void)fputs(
            "<h1>Runs side by side</h1>\n<nav aria-label=\"sections\"><a href=\"#side\">side by "
            "side</a><a href=\"#changed\">what was changed</a></nav>\n",
            out);
        status = orr_report__many(options, out, err);
    }
    for (uint32_t i = 0; i < options->count && status == ORR_OK; i++) {
        struct orr_results in;
        orr_results_open(&in, options->paths[i], err);
        if (in.status == ORR_OK) {
            (void)fputs(options->count > 1 ? "<details><summary>" : "", out);
            if (options->count > 1) {
                orr_report__text(out, options->paths[i]);
                (void)fputs("</summary>\n", out);
            }
            title_of(&in, out);
            if (options->count == 1) {
                (void)fputs("<nav aria-label=\"sections\"><a href=\"#waits\">waits</a><a "
                            "href=\"#evictions\">evictions</a><a href=\"#lending\">lending</a><a "
                            "href=\"#figures\">figures</a><a href=\"#trust\">trust</a><a "
                            "href=\"#provenance\">provenance</a></nav>\n",
                            out);
            }
            orr_report__run(&in, options->scratch, out);
            (void)fputs(options->count > 1 ? "</details>\n" : "", out);
        }
        status = in.status;
        orr_results_close(&in);
    }
    orr_report__end(out);
    return status;
}

enum orr_status orr_report_write(const struct orr_report_options *options, struct orr_err *err)
{
    char beside[4600];
    (void)snprintf(beside, sizeof beside, "%s.new", options->output);
    FILE *out = fopen(beside, "w");
    if (out == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", beside, strerror(errno));
    }
    enum orr_status status = write_page(options, out, err);
    const bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) {
        status = orr_fail(err, ORR_IO, "%s: %s", options->output, strerror(errno));
    }
    if (status == ORR_OK && rename(beside, options->output) != 0) {
        status = orr_fail(err, ORR_CANT_CREATE, "%s: %s", options->output, strerror(errno));
    }
    if (status != ORR_OK) {
        (void)unlink(beside);
    }
    return status;
}
