/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_many.c - several runs beside each other: what was changed, what came of it, who is worse
 * off, then each question for each run. The first run is the base. */
#include "report_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>

#define SHOWN_MOST  6 /* queues named in a sentence */
#define QUEUES_MOST 40

const char *const orr_report__beside[] = {
    "depth",         "wait-cdf",  "jct-cdf", "debt",      "fairness", "size",
    "fragmentation", "startable", "churn",   "waterfall", NULL};

/* What is put beside each other: numbers of all jobs, how many ended or never started, and
 * objectives of workloads, where there are any; then queues. */
enum part { ALL, COUNTS, OBJECTIVES, PARTS };
struct side {
    const char *const *labels; /* what each run is called */
    const struct orr_report_options *options;
    struct orr_comparison parts[PARTS], queues;
    double *values, *nevers; /* scratch, by file */
};

/* --- numbers --- */

/* What a metric is called in a table for people. */
static const char *words_of(const char *metric)
{
    const struct orr_metric_def *def = orr_metric_find(metric);
    return def != NULL ? def->title : metric;
}

static bool is_share(const char *metric)
{
    return orr_metric_is(metric, ORR_METRIC_SHARE);
}

/* A value, or with_sign a difference, as people say it; shares in percent. */
static const char *amount(const struct orr_compare_metric *metric, double value, bool with_sign,
                          char out[64])
{
    char text[40];
    const char *sign = with_sign && value > 0 ? "+" : "";
    if (isinf(value)) {
        (void)snprintf(out, 64, with_sign ? "" : "not reached");
    } else if (strcmp(metric->unit, "s") == 0 || isnan(value)) {
        (void)snprintf(out, 64, "%s%s", sign, orr_format_rough(text, value));
    } else if (is_share(metric->name)) {
        (void)snprintf(out, 64, "%s%.1f %%%s", sign, 100 * value, with_sign ? " points" : "");
    } else {
        (void)snprintf(out, 64, "%s%s", sign, orr_report__number(value, text));
    }
    return out;
}

/* What each run has of a metric; NAN: it has none; INFINITY: a quantile was not reached. */
static void values_of(const struct side *side, const struct orr_compare_metric *metric,
                      double *values)
{
    struct orr_err ignored = {0};
    const uint32_t count = side->options->count;
    struct orr_reading *found = orr_alloc(count + (size_t)1, sizeof *found);
    const bool known = orr_metric_values(side->options->paths, count, metric->name, metric->scope,
                                         metric->label, found, &ignored) == ORR_OK;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = known ? found[i].value : (double)NAN;
    }
    orr_free(found);
}

/* Nothing worth a reader's eye: the last digits of a sum, or a difference that is shown as none. */
static bool is_same(const struct orr_compare_metric *metric, double base, double value)
{
    const double size = fmax(fabs(base), fabs(value));
    char change[64], none[64];
    if (isinf(size)) { /* not reached is no number */
        return isinf(base) && isinf(value);
    }
    if (isnan(base) || isnan(value)) {
        return isnan(base) && isnan(value);
    }
    return fabs(value - base) <= 1e-4 * size || (is_share(metric->name) && size < 1e-3) ||
           strcmp(amount(metric, fabs(value - base), false, change),
                  amount(metric, 0, false, none)) == 0;
}

/* A wait that is not reached is longer than any; of two such waits nobody knows which is. */
static const char *mark(const struct orr_compare_metric *metric, double base, double value)
{
    if (isinf(base) && isinf(value)) {
        return "not known";
    }
    if (is_same(metric, base, value)) {
        return "same";
    }
    if (metric->better == ORR_BETTER_NEITHER) {
        return "";
    }
    if (isnan(base) || isnan(value)) {
        return "";
    }
    return (metric->better == ORR_BETTER_LESS) == (value < base) ? "better" : "worse";
}

static void heads(const struct orr_comparison *c, const char *first, FILE *out)
{
    (void)fprintf(out, "<div class=\"wide\"><table>\n<thead><tr>%s", first);
    for (uint32_t a = 0; a < c->arm_count; a++) {
        (void)fputs("<th scope=\"col\" class=\"n\">", out);
        orr_xml_text(out, c->arms[a].label);
        (void)fputs(a > 0 ? "</th><th scope=\"col\" class=\"n\">change</th><th scope=\"col\"></th>"
                          : "</th>",
                    out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
}

static void cells(const struct orr_compare_metric *metric, const double *values, uint32_t count,
                  FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        char text[64];
        (void)fprintf(out, "<td class=\"n\">%s</td>", amount(metric, values[i], false, text));
        if (i > 0) {
            const bool same = is_same(metric, values[0], values[i]);
            (void)fprintf(out, "<td class=\"n\">%s</td><td>%s</td>",
                          same ? "" : amount(metric, values[i] - values[0], true, text),
                          mark(metric, values[0], values[i]));
        }
    }
    (void)fputs("</tr>\n", out);
}

static bool any_value(const double *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            return true;
        }
    }
    return false;
}

/* In words, with the workload it is of. */
static void name_metric(const struct orr_compare_metric *metric, FILE *out)
{
    static const char workload[] = "workload=";
    if (strncmp(metric->label, workload, strlen(workload)) == 0) {
        orr_xml_text(out, metric->label + strlen(workload));
        (void)fputs(": ", out);
    }
    orr_xml_text(out, words_of(metric->name));
}

static void metrics_table(const struct side *side, FILE *out)
{
    heads(&side->parts[ALL], "<th scope=\"col\">metric</th>", out);
    for (int p = 0; p < PARTS; p++) {
        const struct orr_comparison *c = &side->parts[p];
        for (uint32_t m = 0; m < c->metric_count; m++) {
            values_of(side, &c->metrics[m], side->values);
            if (!any_value(side->values, c->arm_count)) {
                continue;
            }
            (void)fputs("<tr><td>", out);
            name_metric(&c->metrics[m], out);
            (void)fputs("</td>", out);
            cells(&c->metrics[m], side->values, c->arm_count, out);
        }
    }
    (void)fputs("</tbody></table></div>\n", out);
}

/* A label of scope queue, "queue=a,kind=b", in words, the kind if wanted. */
static void label_text(const char *label, bool with_kind, FILE *out)
{
    const char *kind = strstr(label, ",kind=");
    char queue[300];
    label += strncmp(label, "queue=", 6) == 0 ? 6 : 0;
    (void)snprintf(queue, sizeof queue, "%.*s", kind != NULL ? (int)(kind - label) : 290, label);
    orr_xml_text(out, queue);
    if (kind != NULL && with_kind) {
        (void)fputs(", ", out);
        orr_xml_text(out, kind + 6);
    }
}

static bool any_change(const struct orr_compare_metric *metric, const double *values,
                       uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (!is_same(metric, values[0], values[i])) {
            return true;
        }
    }
    return false;
}

static void queues_table(const struct side *side, FILE *out)
{
    const struct orr_comparison *c = &side->queues;
    uint32_t shown = 0, left = 0;
    for (uint32_t m = 0; m < c->metric_count; m++) {
        values_of(side, &c->metrics[m], side->values);
        if (orr_comparison_repeats(c, m) ||
            !any_change(&c->metrics[m], side->values, c->arm_count)) {
            continue;
        }
        if (shown == QUEUES_MOST) {
            left++;
            continue;
        }
        if (shown++ == 0) {
            heads(c, "<th scope=\"col\">queue, kind</th><th scope=\"col\">metric</th>", out);
        }
        const bool whole = orr_metric_is(c->metrics[m].name, ORR_METRIC_WHOLE_QUEUE);
        (void)fputs("<tr><td>", out);
        label_text(c->metrics[m].shown, !whole, out);
        (void)fprintf(out, "</td><td>%s</td>", words_of(c->metrics[m].name));
        cells(&c->metrics[m], side->values, c->arm_count, out);
    }
    (void)fputs(shown == 0 ? "<p class=\"soft\">No queue fares otherwise.</p>\n"
                           : "</tbody></table></div>\n",
                out);
    if (left > 0) {
        (void)fprintf(out, "<p class=\"soft\">... and %u more row%s that differ%s.</p>\n", left,
                      ORR_PLURAL(left), ORR_ONE(left, "s", ""));
    }
}

/* --- in short --- */

static void came_of_it(const struct side *side, uint32_t arm, const char *wanted, FILE *out)
{
    uint32_t shown = 0;
    for (int p = 0; p < PARTS; p++) {
        for (uint32_t m = 0; m < side->parts[p].metric_count; m++) {
            const struct orr_compare_metric *metric = &side->parts[p].metrics[m];
            char from[64], to[64], change[64];
            if (!orr_metric_is(metric->name, ORR_METRIC_SAID)) {
                continue;
            }
            values_of(side, metric, side->values);
            if (strcmp(mark(metric, side->values[0], side->values[arm]), wanted) != 0) {
                continue;
            }
            (void)fputs(shown++ == 0 ? "" : ", ", out);
            name_metric(metric, out);
            (void)fprintf(out, " %s to %s", amount(metric, side->values[0], false, from),
                          amount(metric, side->values[arm], false, to));
            if (strcmp(from, to) == 0) { /* the change has digits that neither value shows */
                (void)fprintf(out, " (%s)",
                              amount(metric, side->values[arm] - side->values[0], true, change));
            }
        }
    }
    (void)fputs(shown == 0 ? "nothing" : "", out);
}

static void worse_off(const struct side *side, uint32_t arm, FILE *out)
{
    uint32_t shown = 0, unknown = 0;
    for (uint32_t m = 0; m < side->queues.metric_count; m++) {
        const struct orr_compare_metric *metric = &side->queues.metrics[m];
        char from[64], to[64];
        if (strcmp(metric->name, "wait_p95_s") != 0) {
            continue;
        }
        const struct orr_compare_metric never = {
            .name = "never_startable", .scope = metric->scope, .label = metric->label};
        values_of(side, metric, side->values);
        values_of(side, &never, side->nevers);
        const double barred = side->nevers[arm] - side->nevers[0];
        unknown += isinf(side->values[0]) && isinf(side->values[arm]) ? 1 : 0;
        if ((strcmp(mark(metric, side->values[0], side->values[arm]), "worse") != 0 &&
             !(barred > 0)) ||
            shown++ >= SHOWN_MOST) {
            continue;
        }
        (void)fputs(shown > 1 ? "; " : "", out);
        label_text(metric->label, true, out);
        if (barred > 0) {
            (void)fprintf(out, " (%s more of its jobs never could start)",
                          orr_report__number(barred, from));
        } else if (!isfinite(side->values[arm])) {
            (void)fprintf(out, " (more than 5 %% never started; 95 %% waited at most %s before)",
                          amount(metric, side->values[0], false, from));
        } else {
            (void)fprintf(out, " (95 %% wait at most %s, was %s)",
                          amount(metric, side->values[arm], false, to),
                          amount(metric, side->values[0], false, from));
        }
    }
    if (shown == 0) {
        (void)fputs("no queue waits longer (95 % of its jobs)", out);
    } else if (shown > SHOWN_MOST) {
        (void)fprintf(out, "; and %u more", shown - SHOWN_MOST);
    }
    if (unknown > 0) {
        (void)fprintf(out,
                      "; of %u %s it is not known, since more than 5 %% never started on both "
                      "sides",
                      unknown, ORR_ONE(unknown, "queue and kind", "queues and kinds"));
    }
}

static void label_of(const struct orr_comparison *c, uint32_t arm, FILE *out)
{
    (void)fputs("<p><b>", out);
    orr_xml_text(out, c->arms[arm].label);
    (void)fputs(":</b> ", out);
}

static bool anybody_answers(const struct side *side, enum orr_report_question question)
{
    bool any = false;
    for (uint32_t a = 0; a < side->options->count && !any; a++) {
        struct orr_results in;
        struct orr_err ignored = {0};
        orr_results_open(&in, side->options->paths[a], &ignored);
        any = in.status == ORR_OK && orr_report__has_answer(&in, question);
        orr_results_close(&in);
    }
    return any;
}

/* What is worse and better, and whose waits are longer. */
static void verdicts(const struct side *side, FILE *out)
{
    const struct orr_comparison *all = &side->parts[ALL];
    for (uint32_t a = 1; a < all->arm_count; a++) {
        label_of(all, a, out);
        (void)fputs("worse: ", out);
        came_of_it(side, a, "worse", out);
        (void)fputs(". Better: ", out);
        came_of_it(side, a, "better", out);
        (void)fputs(".</p>\n", out);
    }
    (void)fputs("</dd>\n<dt><a href=\"#queues\">Who is worse off?</a></dt><dd>", out);
    for (uint32_t a = 1; a < all->arm_count; a++) {
        label_of(all, a, out);
        worse_off(side, a, out);
        (void)fputs(".</p>\n", out);
    }
}

static enum orr_status in_short(const struct side *side, FILE *out, struct orr_err *err)
{
    const struct orr_comparison *all = &side->parts[ALL];
    enum orr_status status = ORR_OK;
    (void)fputs("<dl class=\"short\">\n<dt><a href=\"#changed\">What was changed?</a></dt><dd>",
                out);
    for (uint32_t a = 1; a < all->arm_count; a++) {
        label_of(all, a, out);
        orr_report__changes_short(side->options, a, out);
        (void)fputs(".</p>\n", out);
    }
    (void)fputs("</dd>\n<dt><a href=\"#side\">What came of it?</a></dt><dd>", out);
    if (all->apart != NULL) {
        orr_report__apart(all->apart, out);
    } else {
        verdicts(side, out);
    }
    (void)fputs("</dd>\n", out);
    for (int q = 0; q < ORR_REPORT_QUESTIONS; q++) {
        if (!anybody_answers(side, (enum orr_report_question)q)) {
            continue;
        }
        (void)fprintf(out, "<dt>%s</dt>\n<dd>", orr_report__questions[q]);
        for (uint32_t a = 0; a < all->arm_count && status == ORR_OK; a++) {
            struct orr_results in;
            orr_results_open(&in, side->options->paths[a], err);
            orr_results_interruptible(&in, side->options->interrupted);
            label_of(all, a, out);
            struct orr_report_walk walk = {0};
            if (q == ORR_REPORT_LENDING || q == ORR_REPORT_SATURATED) {
                orr_report__walk_open(&in, &walk);
            }
            struct orr_report_trust trust = {0};
            if (q == ORR_REPORT_TRUST) {
                trust = orr_report__trust_look(&in);
            }
            orr_report__answer(&in, (enum orr_report_question)q, &walk, &trust, out);
            orr_report__walk_close(&walk);
            (void)fputs("</p>\n", out);
            status = in.status;
            orr_results_close(&in);
        }
        (void)fputs("</dd>\n", out);
    }
    (void)fputs("</dl>\n", out);
    return status;
}

/* One picture of all runs: a figure a run would have axes of its own, and take as much room each.
 */
static void figures(const struct orr_report_options *options, const char *const *labels, FILE *out)
{
    const uint32_t shown = options->count < ORR_PLOT_RUNS ? options->count : ORR_PLOT_RUNS;
    struct orr_plot_arm arms[ORR_PLOT_RUNS];
    for (uint32_t i = 0; i < shown; i++) {
        arms[i] = (struct orr_plot_arm){options->paths[i], labels[i]};
    }
    uint32_t count;
    char *text = NULL;
    size_t bytes = 0;
    FILE *left_out = open_memstream(&text, &bytes);
    ORR_ASSERT(left_out != NULL);
    const struct orr_plot_info *list = orr_plot_list(&count);
    for (uint32_t f = 0; f < count; f++) {
        struct orr_plot_options plot = ORR_PLOT_DEFAULTS;
        struct orr_err ignored = {0};
        if (!list[f].of_runs) {
            continue;
        }
        plot.figures = &list[f].name;
        plot.count = 1;
        plot.dir = options->scratch;
        plot.interrupted = options->interrupted;
        if (orr_plot_runs(arms, shown, &plot, orr_report__left_out, left_out, &ignored) == ORR_OK) {
            orr_report__figure("compare", list[f].name, list[f].summary, options->scratch,
                               "beside-", out);
        }
    }
    (void)fclose(left_out);
    (void)fprintf(out, "%s%s", text, bytes > 0 ? ".</p>\n" : "");
    free(text);
    if (shown < options->count) {
        (void)fprintf(out, "<p class=\"soft\">The figures show the first %u run%s.</p>\n", shown,
                      ORR_PLURAL(shown));
    }
}

/* A file is called as was given, else by its name, unless two have the same. */
static void name_files(const struct orr_report_options *options, const char **labels)
{
    const char *const *given = options->labels;
    for (uint32_t i = 0; i < options->count; i++) {
        const char *slash = strrchr(options->paths[i], '/');
        labels[i] = slash != NULL ? slash + 1 : options->paths[i];
    }
    for (uint32_t i = 0; i < options->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(labels[i], labels[j]) == 0) {
                labels[i] = options->paths[i];
                labels[j] = options->paths[j];
            }
        }
    }
    for (uint32_t i = 0; given != NULL && i < options->count; i++) {
        labels[i] = given[i] != NULL ? given[i] : labels[i];
    }
}

static enum orr_status sections(const struct side *side, FILE *out, struct orr_err *err)
{
    const enum orr_status status = in_short(side, out, err);
    (void)fputs("<h2 id=\"side\">Side by side</h2>\n", out);
    orr_report__apart(side->parts[ALL].apart, out);
    metrics_table(side, out);
    (void)fputs("<p class=\"soft\">One trace with one seed each: no difference here has an "
                "interval. <code>orrery compare</code> with <code>--replicas</code> says which "
                "could be chance.</p>\n<h2 id=\"queues\">Queues that fare otherwise</h2>\n",
                out);
    queues_table(side, out);
    (void)fputs("<h2 id=\"changed\">What was changed, against the first</h2>\n", out);
    for (uint32_t i = 1; i < side->options->count; i++) {
        (void)fputs("<h3>", out);
        orr_xml_text(out, side->parts[ALL].arms[i].label);
        (void)fputs("</h3>\n", out);
        orr_report__changes(side->options, i, out);
    }
    (void)fputs("<h2 id=\"figures\">Figures of all runs</h2>\n", out);
    figures(side->options, side->labels, out);
    (void)fputs("<h2 id=\"runs\">Each run by itself</h2>\n", out);
    return status;
}

static enum orr_status compare_parts(struct side *side, struct orr_compare_options *compare,
                                     struct orr_err *err)
{
    static const char *const counts[] = {"unfinished"}; /* beside the headline */
    static const char *const objectives[] = {"attainment", "requests_late", "requests_dropped",
                                             "requests_waiting", "gave_up"};
    static const char *const of_queues[] = {"wait_p95_s", "unstarted",        "never_startable",
                                            "gpu_h",      "quota_debt_gpu_h", "evictions",
                                            "lost_gpu_h"};
    enum orr_status status = orr_compare(compare, &side->parts[ALL], err);
    if (status == ORR_OK) {
        compare->metrics = counts;
        compare->metric_count = sizeof counts / sizeof counts[0];
        status = orr_compare(compare, &side->parts[COUNTS], err);
    }
    if (status == ORR_OK) {
        compare->scope = "queue";
        compare->metrics = of_queues;
        compare->metric_count = sizeof of_queues / sizeof of_queues[0];
        status = orr_compare(compare, &side->queues, err);
    }
    if (status == ORR_OK) {
        compare->scope = "workload";
        compare->metrics = objectives;
        compare->metric_count = sizeof objectives / sizeof objectives[0];
        status = orr_compare(compare, &side->parts[OBJECTIVES], err);
    }
    return status;
}

enum orr_status orr_report__many(const struct orr_report_options *options, FILE *out,
                                 struct orr_err *err)
{
    struct side side = {.options = options,
                        .values = orr_alloc(options->count, sizeof *side.values),
                        .nevers = orr_alloc(options->count, sizeof *side.nevers)};
    uint32_t *arms = orr_alloc(options->count, sizeof *arms);
    const char **labels = orr_alloc(options->count, sizeof *labels);
    for (uint32_t i = 0; i < options->count; i++) {
        arms[i] = i;
    }
    name_files(options, labels);
    side.labels = labels;
    /* each file is an arm; runs of different seeds are not pairs, and are shown all the same */
    struct orr_compare_options compare = {.paths = options->paths,
                                          .path_count = options->count,
                                          .names = labels,
                                          .labels = labels,
                                          .arms = arms,
                                          .any_seed = true,
                                          .may_be_empty = true};
    enum orr_status status = compare_parts(&side, &compare, err);
    if (status == ORR_OK) {
        status = sections(&side, out, err);
    }
    for (int p = 0; p < PARTS; p++) {
        orr_comparison_release(&side.parts[p]);
    }
    orr_comparison_release(&side.queues);
    orr_free(side.nevers);
    orr_free(side.values);
    orr_free(arms);
    orr_free(labels);
    return status;
}
