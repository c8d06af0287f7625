/* SPDX-License-Identifier: GPL-3.0-or-later */
/* domain_loss.c - runs a scenario once more for each failure domain and moment, with the domain
 * lost then.
 *
 *     orr_domain_loss_find
 *       list_moments       as asked, or in the middles of equal parts of the window
 *       list_domains
 *       check_base         the run without a loss has to come out as before
 *       lose_some          so many at a time: results are read and removed before the next
 *         orr_study_run
 *         read_damage      held against the run as it was
 *
 * No two domains share a run. Even the loss of nodes on which nothing runs changes what the policy
 * sees, and of a prefix that they have in common no state is kept.
 */
#include <orrery/sim/domain_loss.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#include "study_int.h"
#include "study_sql.h"

enum { RUNS_AT_ONCE = 64 }; /* whose results are there side by side */

struct losses {
    const struct orr_domain_loss_options *options;
    struct orr_domain_losses *out;
    struct orr_scenario_options scenario;
    uint32_t *nodes; /* of the cluster, by domain */
    uint32_t *first; /* domain d has nodes [first[d], first[d + 1]) */
    char **files;    /* of a slot */
    uint64_t done, total;
    char scratch[4200];
    struct orr_err *err;
};

static const char *keep(struct losses *l, struct orr_results *in, sqlite3_stmt *row, int column)
{
    const char *text = orr_results_text(in, row, column);
    return orr_arena_strndup(&l->out->arena, text, strlen(text));
}

/* --- what is lost, and when --- */

static enum orr_status list_moments(struct losses *l, struct orr_results *in)
{
    const struct orr_domain_loss_options *o = l->options;
    orr_ms window_start = 0, window_end = 0, begin = 0, end = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__loss_window);
    while (orr_results_step(in, row)) {
        window_start = sqlite3_column_int64(row, 0);
        window_end = sqlite3_column_int64(row, 1);
        begin = sqlite3_column_int64(row, 2);
        end = sqlite3_column_int64(row, 3);
    }
    l->out->origin_ms = in->origin_ms;
    l->out->moment_count = o->moment_count > 0 ? o->moment_count : o->moments_default;
    for (uint32_t m = 0; m < l->out->moment_count && in->status == ORR_OK; m++) {
        l->out->at_ms[m] = o->moment_count > 0
                               ? o->at_ms[m]
                               : window_start + (window_end - window_start) * (2 * (orr_ms)m + 1) /
                                                    (2 * l->out->moment_count);
        if (l->out->at_ms[m] < begin || l->out->at_ms[m] > end) {
            char at[32], from[32], to[32];
            return orr_fail(l->err, ORR_DATA, "%s: the run has no %s: it goes from %s to %s",
                            o->results, orr_results_when(in, l->out->at_ms[m], at),
                            orr_results_when(in, begin, from), orr_results_when(in, end, to));
        }
    }
    return in->status;
}

static enum orr_status no_such_level(struct losses *l, struct orr_results *in)
{
    const char *levels = "", *level = l->options->level;
    char hint[160] = "";
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__levels);
    while (orr_results_step(in, row)) {
        levels = orr_results_text(in, row, 0);
    }
    if (strcmp(level, "rack") == 0 || strcmp(level, "block") == 0) {
        (void)snprintf(hint, sizeof hint,
                       "; run it with %s of its pools (`--set cluster.pools.POOL.%s_size=N`)",
                       strcmp(level, "rack") == 0 ? "racks" : "blocks", level);
    }
    return in->status != ORR_OK
               ? in->status
               : orr_fail(l->err, ORR_DATA, "%s: its cluster has no level \"%s\", only node%s%s%s",
                          l->options->results, level, levels[0] == '\0' ? "" : ", ", levels, hint);
}

static enum orr_status list_domains(struct losses *l, struct orr_results *in)
{
    struct orr_arena *arena = &l->out->arena;
    const uint32_t all = (uint32_t)orr_results_int(in, orr_study_sql__loss_node_count, 0);
    l->nodes = orr_arena_alloc(arena, all + (size_t)1, sizeof *l->nodes);
    l->first = orr_arena_alloc(arena, all + (size_t)1, sizeof *l->first);
    l->out->items = orr_arena_alloc(arena, all + (size_t)1, sizeof *l->out->items);
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__loss_nodes);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, l->options->level, -1, SQLITE_STATIC);
    }
    uint32_t n = 0;
    struct orr_domain_loss *item = NULL;
    while (orr_results_step(in, row)) {
        const uint32_t domain = (uint32_t)sqlite3_column_int64(row, 0);
        const char *name = keep(l, in, row, 2);
        if (item == NULL || item->domain != domain) {
            l->first[l->out->count] = n;
            item = &l->out->items[l->out->count++];
            *item = (struct orr_domain_loss){.domain = domain, .first = name};
            item->name = sqlite3_column_type(row, 4) == SQLITE_NULL ? NULL : keep(l, in, row, 4);
        }
        item->last = name;
        item->nodes++;
        item->gpus += (uint32_t)sqlite3_column_int64(row, 3);
        l->nodes[n++] = (uint32_t)sqlite3_column_int64(row, 1);
    }
    l->first[l->out->count] = n;
    return in->status != ORR_OK ? in->status : l->out->count == 0 ? no_such_level(l, in) : ORR_OK;
}

/* --- runs --- */

static void report_progress(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    const struct losses *l = context;
    (void)total;
    l->options->study.progress(l->done + done, l->total, now, l->options->study.context);
}

static enum orr_status run_some(struct losses *l, const struct orr_point_options *points,
                                uint32_t count)
{
    struct orr_study_options study = l->options->study;
    study.progress = study.progress != NULL ? report_progress : NULL;
    study.context = l;
    const enum orr_status status = orr_study_run(points, count, &study, l->err);
    l->done += count;
    return status;
}

static struct orr_point_options point_of(struct losses *l, uint32_t slot)
{
    return (struct orr_point_options){.scenario = l->scenario,
                                      .output = l->files[slot],
                                      .force = true,
                                      .allow_loss_ppm = ORR_LOSS_ALL};
}

static enum orr_status check_base(struct losses *l)
{
    const struct orr_point_options again = point_of(l, 0);
    const enum orr_status status = run_some(l, &again, 1);
    return status == ORR_OK ? orr_study__check_rerun(l->options->results, l->files[0], l->err)
                            : status;
}

/* Blame's queries, which leave nobody out here. */
static void read_most(struct losses *l, struct orr_results *in, struct orr_domain_loss *item)
{
    item->most_queue = item->most_job = NULL;
    sqlite3_stmt *row = orr_results_prepare(in, orr_study_sql__blame_queue);
    while (orr_results_step(in, row)) {
        const char *shown = orr_results_shown(in, orr_results_text(in, row, 0));
        item->most_queue = orr_arena_strndup(&l->out->arena, shown, strlen(shown));
        item->most_queue_gpu_h = sqlite3_column_double(row, 1);
    }
    row = orr_results_prepare(in, orr_study_sql__blame_most);
    while (orr_results_step(in, row)) {
        item->most_job = keep(l, in, row, 0);
        item->most_job_s = sqlite3_column_double(row, 1) / 1000;
    }
}

static double together(const struct orr_domain_damage *damage)
{
    return damage->wasted_gpu_h + damage->longer_gpu_h;
}

static void add_to_mean(struct orr_domain_loss *item, const struct orr_domain_damage *one,
                        uint32_t moments)
{
    item->mean.wasted_gpu_h += one->wasted_gpu_h / moments;
    item->mean.longer_gpu_h += one->longer_gpu_h / moments;
    item->mean.shorter_gpu_h += one->shorter_gpu_h / moments;
    item->mean.hit_jobs += one->hit_jobs; /* sums, until all moments are in */
    item->mean.longer_jobs += one->longer_jobs;
    item->mean.shorter_jobs += one->shorter_jobs;
    item->damage_gpu_h += together(one) / moments;
}

static enum orr_status read_damage(struct losses *l, uint64_t run, const char *file)
{
    const uint32_t moments = l->out->moment_count, moment = (uint32_t)(run % moments);
    struct orr_domain_loss *item = &l->out->items[run / moments];
    struct orr_domain_damage one = {0};
    struct orr_results in;
    orr_results_open(&in, l->options->results, l->err);
    if (in.status == ORR_OK) {
        in.status = orr_results_attach(&in, file, l->err);
    }
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__blame);
    while (orr_results_step(&in, row)) {
        one.longer_jobs = (uint32_t)sqlite3_column_int64(row, 0);
        one.longer_gpu_h = sqlite3_column_double(row, 1);
        one.shorter_jobs = (uint32_t)sqlite3_column_int64(row, 2);
        one.shorter_gpu_h = sqlite3_column_double(row, 3);
    }
    row = orr_results_prepare(&in, orr_study_sql__loss_wasted);
    while (orr_results_step(&in, row)) {
        one.wasted_gpu_h = sqlite3_column_double(row, 0);
    }
    row = orr_results_prepare(&in, orr_study_sql__loss_hit);
    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 1, l->out->at_ms[moment]);
    }
    while (orr_results_step(&in, row)) {
        one.hit_jobs = (uint32_t)sqlite3_column_int64(row, 0);
    }
    add_to_mean(item, &one, moments);
    if (moment == 0 || together(&one) > together(&item->most)) {
        item->most = one;
        item->most_at_ms = l->out->at_ms[moment];
        read_most(l, &in, item);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

/* Runs [from, from + count) of all: moment by moment of domain after domain. */
static enum orr_status lose_some(struct losses *l, uint64_t from, uint32_t count)
{
    struct orr_point_options points[RUNS_AT_ONCE];
    const uint32_t moments = l->out->moment_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t domain = (uint32_t)((from + i) / moments);
        const orr_ms at = l->out->at_ms[(from + i) % moments];
        points[i] = point_of(l, i);
        points[i].loss = (struct orr_node_loss){.nodes = l->nodes + l->first[domain],
                                                .count = l->first[domain + 1] - l->first[domain],
                                                .at_ms = at,
                                                .end_ms = at + l->options->for_ms};
    }
    enum orr_status status = run_some(l, points, count);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = read_damage(l, from + i, l->files[i]);
        (void)unlink(l->files[i]);
    }
    return status;
}

static enum orr_status lose_all(struct losses *l)
{
    const uint64_t runs = (uint64_t)l->out->count * l->out->moment_count;
    enum orr_status status = check_base(l);
    for (uint64_t from = 0; from < runs && status == ORR_OK; from += RUNS_AT_ONCE) {
        status =
            lose_some(l, from, runs - from < RUNS_AT_ONCE ? (uint32_t)(runs - from) : RUNS_AT_ONCE);
    }
    return status;
}

/* --- the order --- */

static uint32_t rounded(uint32_t sum, uint32_t moments)
{
    return (sum + moments / 2) / moments;
}

static int by_damage(const void *a, const void *b, void *context)
{
    const struct orr_domain_loss *x = a, *y = b;
    (void)context;
    return x->damage_gpu_h > y->damage_gpu_h   ? -1
           : x->damage_gpu_h < y->damage_gpu_h ? 1
           : x->domain < y->domain             ? -1
                                               : x->domain > y->domain;
}

static void rank(struct orr_domain_losses *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        struct orr_domain_damage *mean = &out->items[i].mean;
        mean->hit_jobs = rounded(mean->hit_jobs, out->moment_count);
        mean->longer_jobs = rounded(mean->longer_jobs, out->moment_count);
        mean->shorter_jobs = rounded(mean->shorter_jobs, out->moment_count);
    }
    orr_sort(out->items, out->count, sizeof *out->items, by_damage, NULL);
}

static void name_files(struct losses *l)
{
    l->files = orr_arena_alloc(&l->out->arena, RUNS_AT_ONCE, sizeof *l->files);
    for (uint32_t i = 0; i < RUNS_AT_ONCE; i++) {
        char path[5000];
        const int bytes = snprintf(path, sizeof path, "%s/%u.db", l->scratch, i);
        l->files[i] = orr_arena_strndup(&l->out->arena, path, (size_t)bytes);
    }
}

enum orr_status orr_domain_loss_find(const struct orr_domain_loss_options *options,
                                     struct orr_domain_losses *out, struct orr_err *err)
{
    struct losses l = {.options = options, .out = out, .err = err};
    struct orr_results in;
    *out = (struct orr_domain_losses){0};
    orr_arena_init(&out->arena);
    orr_results_open(&in, options->results, err);
    enum orr_status status = in.status;
    status = status == ORR_OK ? list_moments(&l, &in) : status;
    status = status == ORR_OK ? list_domains(&l, &in) : status;
    orr_results_close(&in);
    status =
        status == ORR_OK ? orr_rerun_of(options->results, &out->arena, &l.scenario, err) : status;
    status = status == ORR_OK ? orr_scratch_open(l.scratch, sizeof l.scratch, err) : status;
    if (status == ORR_OK) {
        out->runs = (uint64_t)out->count * out->moment_count + 1;
        l.total = out->runs;
        name_files(&l);
        status = lose_all(&l);
    }
    if (status == ORR_OK) {
        rank(out);
    }
    if (l.scratch[0] != '\0') {
        orr_scratch_remove(l.scratch);
    }
    return status;
}

void orr_domain_losses_release(struct orr_domain_losses *losses)
{
    orr_arena_release(&losses->arena);
    *losses = (struct orr_domain_losses){0};
}
