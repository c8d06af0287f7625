/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_many.c - several runs: what was changed, and what came of it. */
#include "report_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/base/text.h>

static char *resolved(struct orr_results *in)
{
    sqlite3_stmt *row = orr_results_prepare(in, "SELECT scenario_resolved FROM run");
    char *text = NULL;
    while (orr_results_step(in, row)) {
        text = orr_results_text(in, row, 0);
    }
    return text != NULL ? text : orr_arena_strndup(&in->arena, "", 0);
}

static bool has_line(const char *text, const char *line, size_t bytes)
{
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        if (n == bytes && memcmp(at, line, bytes) == 0) {
            return true;
        }
        at += n + (at[n] == '\n');
    }
    return false;
}

/* Lines of `text` that the other has not. */
static void lines_apart(const char *text, const char *other, char sign, FILE *out)
{
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        if (!has_line(other, at, n) && n < 300) {
            char line[320];
            (void)snprintf(line, sizeof line, "%c %.*s\n", sign, (int)n, at);
            orr_report__text(out, line);
        }
        at += n + (at[n] == '\n');
    }
}

static enum orr_status changes(const struct orr_report_options *options, FILE *out,
                               struct orr_err *err)
{
    struct orr_results base;
    orr_results_open(&base, options->paths[0], err);
    const char *before = resolved(&base);
    enum orr_status status = base.status;
    for (uint32_t i = 1; i < options->count && status == ORR_OK; i++) {
        struct orr_results in;
        orr_results_open(&in, options->paths[i], err);
        const char *after = resolved(&in);
        (void)fputs("<h3>", out);
        orr_report__text(out, options->paths[i]);
        (void)fputs("</h3>\n<pre>", out);
        lines_apart(before, after, '-', out);
        lines_apart(after, before, '+', out);
        (void)fputs("</pre>\n", out);
        status = in.status;
        orr_results_close(&in);
    }
    orr_results_close(&base);
    return status;
}

static void number(FILE *out, const char *unit, double value, bool with_sign)
{
    char rough[24];
    (void)fputs("<td class=\"n\">", out);
    if (with_sign && value > 0) {
        (void)fputc('+', out);
    }
    if (strcmp(unit, "s") == 0 || isnan(value)) {
        (void)fputs(orr_format_rough(rough, value), out);
    } else {
        (void)fprintf(out, "%.3g", value);
    }
    (void)fputs("</td>", out);
}

static void side_by_side(const struct orr_comparison *c, FILE *out)
{
    (void)fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">metric</th>", out);
    for (uint32_t a = 0; a < c->arm_count; a++) {
        (void)fputs("<th scope=\"col\" class=\"n\">", out);
        orr_report__text(out, c->arms[a].label);
        (void)fputs(a > 0 ? "</th><th scope=\"col\" class=\"n\">change</th>" : "</th>", out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        const struct orr_compare_metric *metric = &c->metrics[m];
        (void)fputs("<tr><td>", out);
        orr_report__text(out, metric->name);
        (void)fprintf(out, "%s%s</td>", strcmp(metric->unit, "1") == 0 ? "" : ", ",
                      strcmp(metric->unit, "1") == 0 ? "" : metric->unit);
        number(out, metric->unit, orr_comparison_cell(c, m, 0)->base_mean, false);
        for (uint32_t a = 1; a < c->arm_count; a++) {
            number(out, metric->unit, orr_comparison_cell(c, m, a)->other_mean, false);
            number(out, metric->unit, orr_comparison_cell(c, m, a)->difference, true);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table></div>\n", out);
}

enum orr_status orr_report__many(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err)
{
    uint32_t *arms = orr_alloc(options->count, sizeof *arms);
    for (uint32_t i = 0; i < options->count; i++) {
        arms[i] = i;
    }
    /* each file is an arm; runs of different seeds are not pairs, and are shown all the same */
    const struct orr_compare_options compare = {.paths = options->paths,
                                                .path_count = options->count,
                                                .labels = options->paths,
                                                .arms = arms,
                                                .any_seed = true};
    struct orr_comparison comparison;
    enum orr_status status = orr_compare(&compare, &comparison, err);
    if (status == ORR_OK) {
        (void)fputs("<h2 id=\"side\">Side by side</h2>\n", out);
        side_by_side(&comparison, out);
        orr_comparison_release(&comparison);
        (void)fputs("<h2 id=\"changed\">What was changed, against the first</h2>\n", out);
        status = changes(options, out, err);
    }
    orr_free(arms);
    return status;
}
