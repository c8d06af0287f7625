/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rank.c - who gains and who loses most by a change. */
#include "compare_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "rank_sql.h"

/* --- what rows weigh --- */

/* A part of what there is says nothing of better or worse where that is another. */
static void forget_parts_of_capacity(struct orr_comparison *c)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        if (orr_metric_is(c->metrics[m].name, ORR_METRIC_OF_CAPACITY)) {
            c->metrics[m].better = ORR_BETTER_NEITHER;
        }
    }
}

static void keep_held(struct orr_comparison *c, const char *label, uint32_t arm, double gpu_h)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        struct orr_compare_metric *metric = &c->metrics[m];
        if (strcmp(metric->label, label) == 0) {
            metric->gpu_h = metric->gpu_h >= gpu_h ? metric->gpu_h : gpu_h;
            c->held[(size_t)m * c->arm_count + arm] += gpu_h / c->arms[arm].runs;
        }
    }
}

void orr_compare__weigh(struct orr_compare_load *load)
{
    struct orr_comparison *c = load->comparison;
    const char *scope = load->options->scope != NULL ? load->options->scope : "all";
    int64_t first_mgpu = 0;
    bool same_capacity = true;
    const size_t cells = (size_t)c->metric_count * c->arm_count;
    c->held = orr_arena_alloc(&c->arena, cells + 1, sizeof *c->held);
    memset(c->held, 0, cells * sizeof *c->held);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        c->metrics[m].gpu_h = (double)NAN;
    }
    for (uint32_t r = 0; r < load->run_count; r++) {
        struct orr_results in;
        struct orr_err ignored = {0}; /* it has just been read */
        orr_compare__open(load, r, &in, &ignored);
        sqlite3_stmt *row = orr_results_prepare(&in, orr_rank_sql__gpu_hours);
        if (row != NULL) {
            (void)sqlite3_bind_text(row, 1, scope, -1, SQLITE_STATIC);
        }
        while (orr_results_step(&in, row)) {
            keep_held(c, orr_results_text(&in, row, 0), load->runs[r].arm,
                      sqlite3_column_double(row, 1));
        }
        const int64_t mgpu = orr_results_int(&in, orr_rank_sql__capacity, 0);
        first_mgpu = r == 0 ? mgpu : first_mgpu;
        same_capacity = same_capacity && mgpu == first_mgpu;
        orr_results_close(&in);
    }
    if (!same_capacity) {
        forget_parts_of_capacity(c);
    }
}

/* --- the order --- */

struct row_change {
    int sort;      /* 1: jobs that do not start, or a quantile not reached any more; 0: others */
    double weight; /* above 0 */
    bool is_better;
};

enum row_says {
    ROW_NOTHING, /* that is worth a word */
    ROW_OPEN,    /* it changes, and it may be chance */
    ROW_CHANGES
};

static enum row_says row_change(const struct orr_comparison *c, uint32_t m, uint32_t arm,
                                struct row_change *change)
{
    const struct orr_compare_metric *metric = &c->metrics[m];
    const struct orr_paired *p = orr_comparison_cell(c, m, arm);
    const int order = orr_paired_order_as_is(p);
    const bool reach = p->lost + p->found > 0, jobs = strcmp(metric->unit, "jobs") == 0;
    const double size = metric->gpu_h > 0 ? metric->gpu_h : 1;
    const double more = fmax(fabs(p->base_mean), fabs(p->other_mean));
    const double step = fabs(p->difference), part = more > 0 ? step / more : 0;
    const bool time = strcmp(metric->unit, "s") == 0;
    const bool most = part >= ORR_CHANGE_LEAST_PART && (!time || step >= ORR_CHANGE_LEAST_S);
    if (metric->better == ORR_BETTER_NEITHER || orr_comparison_repeats(c, m) ||
        !(reach || (jobs && step > 0) || most)) {
        return ROW_NOTHING;
    }
    if (order == 0) {
        return ROW_OPEN;
    }
    change->is_better = (metric->better == ORR_BETTER_LESS) == (order < 0);
    change->sort = reach || jobs;
    change->weight = reach || jobs ? size : size * (time ? step : part * 3600);
    return ROW_CHANGES;
}

/* Losers before winners, then the most. */
static int heavier(const struct row_change *a, const struct row_change *b)
{
    if (a->is_better != b->is_better) {
        return a->is_better ? 1 : -1;
    }
    return a->sort != b->sort      ? b->sort - a->sort
           : a->weight > b->weight ? -1
                                   : a->weight < b->weight;
}

struct ranked {
    struct orr_group_change group;
    struct row_change rows[ORR_GROUP_ROWS];
    uint32_t place; /* as it came, the last word */
    bool is_open;
};

static void add_row(struct ranked *r, uint32_t m, struct row_change change)
{
    struct orr_group_change *g = &r->group;
    uint32_t at = g->row_count;
    while (at > 0 && heavier(&change, &r->rows[at - 1]) < 0) {
        at--;
    }
    if (at == ORR_GROUP_ROWS) {
        return;
    }
    g->row_count += g->row_count < ORR_GROUP_ROWS;
    for (uint32_t i = g->row_count - 1; i > at; i--) {
        r->rows[i] = r->rows[i - 1];
        g->rows[i] = g->rows[i - 1];
    }
    r->rows[at] = change;
    g->rows[at] = m;
}

static int by_weight(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    const int order = heavier(&a->rows[0], &b->rows[0]);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* Do the rows of a comparison include any of those by which somebody is worse off? */
static bool has_harm(const struct orr_comparison *c)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        if (orr_metric_is(c->metrics[m].name, ORR_METRIC_HARM)) {
            return true;
        }
    }
    return false;
}

static struct ranked *group_of(struct ranked *list, uint32_t *count, uint32_t from,
                               const struct orr_comparison *c, uint32_t m, uint32_t arm)
{
    for (uint32_t i = from; i < *count; i++) {
        if (strcmp(list[i].group.label, c->metrics[m].label) == 0) {
            return &list[i];
        }
    }
    struct ranked *made = &list[*count];
    *made = (struct ranked){.place = *count};
    made->group = (struct orr_group_change){.of = c,
                                            .label = c->metrics[m].label,
                                            .shown = c->metrics[m].shown,
                                            .gpu_h = c->metrics[m].gpu_h,
                                            .before_gpu_h = c->held[(size_t)m * c->arm_count],
                                            .after_gpu_h = c->held[(size_t)m * c->arm_count + arm]};
    (*count)++;
    return made;
}

static void rank_one(const struct orr_comparison *c, uint32_t arm, struct ranked *list,
                     uint32_t *count)
{
    const bool harm = has_harm(c);
    const uint32_t from = *count;
    for (uint32_t m = 0; m < c->metric_count; m++) {
        struct ranked *r = group_of(list, count, from, c, m, arm);
        struct row_change change;
        const bool counts = !harm || orr_metric_is(c->metrics[m].name, ORR_METRIC_HARM);
        const enum row_says says = counts ? row_change(c, m, arm, &change) : ROW_NOTHING;
        r->is_open = r->is_open || says == ROW_OPEN;
        if (says == ROW_CHANGES) {
            add_row(r, m, change);
        }
    }
}

struct orr_comparison_ranking orr_comparison_rank(const struct orr_comparison *const *of,
                                                  uint32_t count, uint32_t arm,
                                                  struct orr_arena *arena)
{
    struct orr_comparison_ranking ranking = {0};
    size_t most = 1;
    for (uint32_t i = 0; i < count; i++) {
        most += of[i]->metric_count;
    }
    struct ranked *list = orr_alloc(most, sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        rank_one(of[i], arm, list, &ranking.groups);
        ranking.apart = ranking.apart || of[i]->apart != NULL;
    }
    uint32_t changed = 0;
    struct orr_group_change *open =
        orr_arena_alloc(arena, ranking.groups + (size_t)1, sizeof *open);
    for (uint32_t i = 0; i < ranking.groups; i++) {
        const double gpu_h = list[i].group.gpu_h > 0 ? list[i].group.gpu_h : 0;
        ranking.gpu_h += gpu_h;
        if (list[i].group.row_count > 0) {
            list[changed++] = list[i];
        } else if (list[i].is_open) {
            open[ranking.open++] = list[i].group;
            ranking.open_gpu_h += gpu_h;
        }
    }
    qsort(list, changed, sizeof *list, by_weight);
    ranking.items = orr_arena_alloc(arena, changed + (size_t)ranking.open + 1, sizeof *open);
    memcpy(ranking.items + changed, open, ranking.open * sizeof *open);
    for (uint32_t i = 0; i < changed; i++) {
        const double gpu_h = list[i].group.gpu_h > 0 ? list[i].group.gpu_h : 0;
        ranking.items[i] = list[i].group;
        ranking.worse += !list[i].rows[0].is_better;
        ranking.better += list[i].rows[0].is_better;
        *(list[i].rows[0].is_better ? &ranking.better_gpu_h : &ranking.worse_gpu_h) += gpu_h;
    }
    orr_free(list);
    return ranking;
}

struct harm {
    uint32_t metric;
    double harm; /* the part by which it is worse, by GPU-hours; below 0: better */
};

static double harm_of(const struct orr_compare_metric *metric, const struct orr_paired *p)
{
    const double more = fmax(fabs(p->base_mean), fabs(p->other_mean));
    const double size = metric->gpu_h > 0 ? metric->gpu_h : 1;
    double part = more > 0 ? p->difference / more : 0;
    if (p->lost + p->found > 0) {
        part = 2 * orr_paired_order_as_is(p); /* before and behind all numbers */
    }
    return isnan(part) || metric->better == ORR_BETTER_NEITHER
               ? 0
               : size * (metric->better == ORR_BETTER_LESS ? part : -part);
}

static int by_harm(const void *left, const void *right)
{
    const struct harm *a = left, *b = right;
    return a->harm > b->harm   ? -1
           : a->harm < b->harm ? 1
                               : (a->metric > b->metric) - (a->metric < b->metric);
}

const uint32_t *orr_comparison_order(const struct orr_comparison *c, uint32_t arm,
                                     struct orr_arena *arena)
{
    struct harm *rows = orr_alloc(c->metric_count + (size_t)1, sizeof *rows);
    uint32_t *order = orr_arena_alloc(arena, c->metric_count + (size_t)1, sizeof *order);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        rows[m] = (struct harm){m, harm_of(&c->metrics[m], orr_comparison_cell(c, m, arm))};
    }
    qsort(rows, c->metric_count, sizeof *rows, by_harm);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        order[m] = rows[m].metric;
    }
    orr_free(rows);
    return order;
}

/* --- in words --- */

void orr_label_words(const char *label, char *out, size_t bytes)
{
    const char *value = strchr(label, '='), *kind = strstr(label, ",kind=");
    if (value == NULL) {
        (void)snprintf(out, bytes, "%s", label[0] != '\0' ? label : "all");
    } else if (kind != NULL && kind > value) {
        kind += strlen(",kind=");
        const bool known = strcmp(kind, "unknown") != 0; /* else it is no word worth reading */
        const int queue_bytes = (int)(strstr(label, ",kind=") - value - 1);
        (void)snprintf(out, bytes, "%.*s%s%s", queue_bytes, value + 1, known ? " " : "",
                       known ? kind : "");
    } else {
        (void)snprintf(out, bytes, "%s", value + 1);
    }
}

static void print_row(const struct orr_comparison *c, uint32_t m, uint32_t arm, FILE *out)
{
    const struct orr_compare_metric *metric = &c->metrics[m];
    const struct orr_paired *p = orr_comparison_cell(c, m, arm);
    const struct orr_metric_def *def = orr_metric_find(metric->name);
    char before[40], after[40], change[40], words[60];
    orr_compare_sides(metric->unit, p, before, after);
    (void)fprintf(out, "%s %s -> %s", def != NULL ? def->title : metric->name, before, after);
    if (p->lost + p->found == 0) {
        (void)fprintf(out, " (%s)", orr_compare_figure(metric->unit, p->difference, true, change));
    } else if (orr_paired_pairs(p) > 1) {
        (void)fprintf(out, " (%s)", orr_paired_words(p, words, sizeof words));
    }
}

/* "12 GPU-h", or of both sides where they differ, "12 -> 9.5 GPU-h"; "": not known. */
static const char *hours_of(const struct orr_group_change *g, char out[64])
{
    char sides[2][24];
    const double hours[2] = {g->before_gpu_h, g->after_gpu_h};
    out[0] = '\0';
    for (int i = 0; i < 2; i++) {
        (void)snprintf(sides[i], sizeof sides[i], hours[i] < 100 ? "%.3g" : "%.0f", hours[i]);
    }
    if (g->gpu_h >= 0) {
        const bool same = strcmp(sides[0], sides[1]) == 0;
        (void)snprintf(out, 64, "%s%s%s GPU-h", same ? "" : sides[0], same ? "" : " -> ", sides[1]);
    }
    return out;
}

static void print_group(const struct orr_group_change *g, uint32_t arm, int width, FILE *out)
{
    char label[320], hours[64];
    orr_label_words(g->shown, label, sizeof label);
    (void)fprintf(out, "    ");
    orr_pad(out, label, width);
    (void)fprintf(out, " %22s  ", hours_of(g, hours));
    for (uint32_t i = 0; i < g->row_count; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        print_row(g->of, g->rows[i], arm, out);
    }
    (void)fputc('\n', out);
}

static void print_count(const struct orr_comparison_ranking *r, uint32_t count, double gpu_h,
                        FILE *out)
{
    (void)fprintf(out, " %u of %u", count, r->groups);
    if (r->gpu_h > 0) {
        (void)fprintf(out, ", with %.3g %% of the GPU-hours (of each the most of any run)",
                      100 * gpu_h / r->gpu_h);
    }
}

/* Else "nobody" would be read as a fact. */
static void print_open(const struct orr_comparison_ranking *r, uint32_t most, FILE *out)
{
    const uint32_t shown = r->open < most ? r->open : most;
    if (r->open == 0 || r->apart) {
        return;
    }
    (void)fputs("  open:", out);
    print_count(r, r->open, r->open_gpu_h, out);
    (void)fputs(", whose changes may be chance: ", out);
    for (uint32_t i = 0; i < shown; i++) {
        char label[320];
        orr_label_words(r->items[r->worse + r->better + i].shown, label, sizeof label);
        (void)fprintf(out, "%s%s", i > 0 ? ", " : "", label);
    }
    if (shown < r->open) {
        (void)fprintf(out, " and %u more", r->open - shown);
    }
    (void)fputc('\n', out);
}

static void print_side(const struct orr_comparison_ranking *r, bool is_better, uint32_t arm,
                       uint32_t most, FILE *out)
{
    const uint32_t from = is_better ? r->worse : 0, count = is_better ? r->better : r->worse;
    const uint32_t shown = count < most ? count : most;
    const double gpu_h = is_better ? r->better_gpu_h : r->worse_gpu_h;
    int width = 0;
    (void)fprintf(out, "  %s off:", is_better ? "better" : "worse");
    if (count == 0) {
        (void)fputs(r->apart ? " not known\n" : " nobody\n", out);
        return;
    }
    print_count(r, count, gpu_h, out);
    (void)fputc('\n', out);
    for (uint32_t i = 0; i < shown; i++) {
        char label[320];
        orr_label_words(r->items[from + i].shown, label, sizeof label);
        width = orr_text_width(label) > width ? orr_text_width(label) : width;
    }
    for (uint32_t i = 0; i < shown; i++) {
        print_group(&r->items[from + i], arm, width, out);
    }
    if (shown < count) {
        (void)fprintf(out, "    and %u more (--all)\n", count - shown);
    }
}

void orr_comparison_print_ranking(const struct orr_comparison_ranking *ranking, uint32_t arm,
                                  uint32_t most, FILE *out)
{
    print_side(ranking, false, arm, most, out);
    print_side(ranking, true, arm, most, out);
    print_open(ranking, most, out);
}
