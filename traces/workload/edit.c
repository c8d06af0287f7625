/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/edit.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/rng.h>
#include <orrery/base/text.h>
#include <orrery/traces/native.h>

#include "edit_int.h"

#define JOB_GPUS_MAX   1000000
#define COPY_WITHIN_MS 3600000

const struct orr_row_filter orr_row_filter_all = {.from_ms = ORR_MS_NONE,
                                                  .until_ms = ORR_MS_NONE,
                                                  .kind = -1,
                                                  .min_gpus = -1.0,
                                                  .max_gpus = -1.0,
                                                  .sample = -1.0};

/* --- which rows ------------------------------------------------------------------------------ */

static bool matches(const struct orr_idmap *names, uint32_t index, const char *patterns)
{
    const char *text = index == ORR_NONE ? "" : orr_idmap_name(names, index);
    return patterns == NULL || orr_text_like(text, strlen(text), patterns, false);
}

static double draw(uint64_t seed, const char *stream, uint64_t index)
{
    struct orr_rng rng = orr_rng_stream(seed, stream, index);
    return orr_rng_unit(&rng);
}

static enum orr_status read_time(const struct orr_workload *workload, const char *prefix,
                                 const char *word, const char *text, orr_ms *at,
                                 struct orr_err *err)
{
    *at = ORR_MS_NONE;
    if (text == NULL || orr_parse_clock(text, strlen(text), workload->clock_origin_ms, at)) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_USAGE, "%s%s: \"%s\" is not a time such as %s", prefix, word, text,
                    workload->clock_origin_ms == ORR_MS_NONE
                        ? "2d3h or 5400 (the trace has no dates)"
                        : "2d3h, 5400 or 2026-06-01");
}

enum orr_status orr_row_filter_window(struct orr_row_filter *filter,
                                      const struct orr_workload *workload, const char *prefix,
                                      const char *from, const char *until, struct orr_err *err)
{
    const enum orr_status status = read_time(workload, prefix, "from", from, &filter->from_ms, err);
    return status == ORR_OK ? read_time(workload, prefix, "until", until, &filter->until_ms, err)
                            : status;
}

static bool is_kept(const struct orr_workload *workload, uint32_t r,
                    const struct orr_row_filter *filter)
{
    const struct orr_row *row = &workload->rows[r];
    struct orr_job_fact fact;
    if ((filter->from_ms != ORR_MS_NONE && row->submit_ms < filter->from_ms) ||
        (filter->until_ms != ORR_MS_NONE && row->submit_ms >= filter->until_ms) ||
        (filter->kind >= 0 && row->kind != filter->kind) ||
        !matches(&workload->queues, row->queue, filter->queue) ||
        !matches(&workload->users, row->user, filter->user)) {
        return false;
    }
    if (filter->min_gpus >= 0.0 || filter->max_gpus >= 0.0) {
        orr_workload_fact(workload, row, &fact);
        const double gpus = (double)fact.mgpu / ORR_MGPU;
        if ((filter->min_gpus >= 0.0 && gpus < filter->min_gpus) ||
            (filter->max_gpus >= 0.0 && gpus > filter->max_gpus)) {
            return false;
        }
    }
    return (filter->sample < 0.0 || draw(filter->seed, "trace/sample", r) < filter->sample);
}

void orr_workload_cut(struct orr_workload *workload, const struct orr_row_filter *filter)
{
    uint32_t kept = 0;
    bool *passes = orr_alloc(workload->count + (size_t)1, sizeof *passes);
    for (uint32_t r = 0; r < workload->count; r++) {
        passes[r] = is_kept(workload, r, filter);
    }
    for (uint32_t r = 0; r < workload->count; r++) {
        if (passes[r] && kept < r) {
            workload->rows[kept] = workload->rows[r];
        }
        kept += passes[r];
    }
    workload->count = kept;
    orr_free(passes);
}

#define SUFFIX_MAX (sizeof "~4294967295" - 1)

/* --- together -------------------------------------------------------------------------------- */

/* A name that no job has: the one given, or with "~2", "~3", ... behind what there is room for. */
static uint32_t new_job(struct orr_workload *workload, const char *name, bool *renamed)
{
    bool added;
    uint32_t index = orr_idmap_put(&workload->jobs, name, strlen(name), &added);
    *renamed = !added;
    size_t kept = strlen(name);
    while (!added && orr_name_written(name, kept) > ORR_NAME_MAX - SUFFIX_MAX) {
        kept--; /* never within a character: its parts alone would be longer than it is */
    }
    for (unsigned n = 2; !added; n++) {
        char text[ORR_NAME_MAX + 1];
        const int bytes = snprintf(text, sizeof text, "%.*s~%u", (int)kept, name, n);
        index = orr_idmap_put(&workload->jobs, text, (size_t)bytes, &added);
    }
    return index;
}

static uint32_t same_name(struct orr_idmap *to, const struct orr_idmap *from, uint32_t index)
{
    if (index == ORR_NONE) {
        return ORR_NONE;
    }
    const char *name = orr_idmap_name(from, index);
    return orr_idmap_put(to, name, strlen(name), NULL);
}

char *orr_workload__rename_after(const char *list, const struct orr_idmap *had, const uint32_t *to,
                                 const struct orr_idmap *names, bool keeps_others)
{
    static const char separators[] = ",; ";
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *comma = "";
    for (list += strspn(list, separators); *list != '\0'; list += strspn(list, separators)) {
        const size_t length = strcspn(list, separators);
        const uint32_t job = orr_idmap_find(had, list, length);
        const bool known = job != ORR_NONE && to[job] != ORR_NONE;
        if (known) {
            (void)fprintf(out, "%s%s", comma, orr_idmap_name(names, to[job]));
        } else if (keeps_others) {
            (void)fprintf(out, "%s%.*s", comma, (int)length, list);
        }
        comma = known || keeps_others ? ";" : comma;
        list += length;
    }
    (void)fclose(out);
    return text;
}

static const char *const *texts_of(const struct orr_row_extra *extra)
{
    return &extra->template_name;
}

/* The texts of an extra stand one after the other, from template_name to recorded_state. */
#define EXTRA_TEXTS                                                                                \
    ((offsetof(struct orr_row_extra, recorded_state) -                                             \
      offsetof(struct orr_row_extra, template_name)) /                                             \
         sizeof(const char *) +                                                                    \
     1)

static void copy_extra(struct orr_workload *workload, struct orr_row *row,
                       const struct orr_row_extra *from, orr_ms by)
{
    const struct orr_row_extra had = *from; /* the array may move */
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    *extra = had;
    const char **texts = (const char **)(char *)&extra->template_name;
    for (size_t t = 0; t < EXTRA_TEXTS; t++) {
        const char *text = texts_of(&had)[t];
        texts[t] = text == NULL ? NULL : orr_arena_strndup(&workload->arena, text, strlen(text));
    }
    orr_row_extra_move(extra, by);
}

/* Its jobs by the names that they have here, added to ours; the others of `after` keep theirs: they
 * may be of an earlier part of the same trace. */
static void follow_names(struct orr_workload *workload, struct orr_row_extra *extra,
                         const struct orr_workload *more, const uint32_t *to)
{
    if (extra->after != NULL) {
        char *text =
            orr_workload__rename_after(extra->after, &more->jobs, to, &workload->jobs, true);
        extra->after = orr_arena_strndup(&workload->arena, text, strlen(text));
        orr_free(text);
    }
}

/* The jobs of `more` put among ours: their indices here by those there. Caller frees. */
static uint32_t *add_jobs(struct orr_workload *workload, const struct orr_workload *more,
                          uint64_t *renamed)
{
    uint32_t *to = orr_alloc(more->jobs.count + (size_t)1, sizeof *to);
    memset(to, 0xff, (more->jobs.count + (size_t)1) * sizeof *to);
    for (uint32_t r = 0; r < more->count; r++) {
        const uint32_t job = more->rows[r].job;
        bool other;
        to[job] = new_job(workload, orr_idmap_name(&more->jobs, job), &other);
        *renamed += other;
    }
    return to;
}

uint64_t orr_workload_add(struct orr_workload *workload, const struct orr_workload *more)
{
    uint64_t renamed = 0;
    const bool dated =
        workload->clock_origin_ms != ORR_MS_NONE && more->clock_origin_ms != ORR_MS_NONE;
    const orr_ms by = dated ? more->clock_origin_ms - workload->clock_origin_ms : 0;
    uint32_t *to = add_jobs(workload, more, &renamed);
    for (uint32_t r = 0; r < more->count; r++) {
        const struct orr_row *from = &more->rows[r];
        struct orr_row *row = orr_workload_push(workload);
        *row = *from;
        row->extra = 0;
        row->job = to[from->job];
        row->queue = same_name(&workload->queues, &more->queues, from->queue);
        row->user = same_name(&workload->users, &more->users, from->user);
        row->submit_ms += by;
        if (from->extra != 0) {
            copy_extra(workload, row, &more->extras[from->extra - 1], by);
            follow_names(workload, &workload->extras[row->extra - 1], more, to);
        }
    }
    orr_free(to);
    workload->rows_read += more->rows_read;
    if (!dated) {
        workload->clock_origin_ms = ORR_MS_NONE;
    }
    orr_workload_sort(workload, "the merged trace");
    /* the clock of dates starts at the first submit */
    if (dated && workload->count > 0 && workload->rows[0].submit_ms < 0) {
        const orr_ms first = workload->rows[0].submit_ms;
        orr_workload_move(workload, -first);
        workload->clock_origin_ms += first;
    }
    return renamed;
}

/* --- scaling --------------------------------------------------------------------------------- */

/* At least one; 0 stays 0. */
static uint32_t scaled_count(uint32_t count, double by)
{
    const double scaled = floor((double)count * by + 0.5);
    return count == 0                    ? 0
           : scaled < 1.0                ? 1
           : scaled > 2.0 * JOB_GPUS_MAX ? 2 * JOB_GPUS_MAX
                                         : (uint32_t)scaled;
}

static orr_ms scaled_span(orr_ms span, double by)
{
    const double scaled = (double)span * by + 0.5;
    return span == ORR_MS_NONE ? ORR_MS_NONE : scaled > 3e15 ? (orr_ms)3e15 : (orr_ms)floor(scaled);
}

/* Pods share devices, or ask MIG instances. */
static bool asks_parts(const struct orr_workload *workload, const struct orr_row *row)
{
    const struct orr_row_extra *extra = row->extra == 0 ? NULL : &workload->extras[row->extra - 1];
    return extra != NULL && (extra->gpu_fraction_milli > 0 || extra->gpu_memory_mib > 0 ||
                             extra->mig_profile != NULL);
}

/* False: too large. */
static bool scale_row(struct orr_workload *workload, struct orr_row *row,
                      const struct orr_trace_scaling *scaling)
{
    row->run_ms = scaled_span(row->run_ms, scaling->run);
    row->time_limit_ms = scaled_span(row->time_limit_ms, scaling->run);
    if (row->gpus > 0) {
        row->gpus = scaled_count(row->gpus, scaling->gpus);
    } else if (row->gpus_per_pod != ORR_NONE && row->gpus_per_pod > 0 && row->pods <= 1) {
        row->gpus_per_pod = scaled_count(row->gpus_per_pod, scaling->gpus);
    } else if ((row->gpus_per_pod != ORR_NONE && row->gpus_per_pod > 0) ||
               (row->pods > 1 && asks_parts(workload, row))) {
        row->pods = scaled_count(row->pods, scaling->gpus);
        if (row->extra != 0) {
            struct orr_row_extra *extra = &workload->extras[row->extra - 1];
            extra->min_pods = extra->min_pods > row->pods ? row->pods : extra->min_pods;
        }
    }
    const double per_pod = row->gpus_per_pod == ORR_NONE ? 0.0 : row->gpus_per_pod;
    return row->gpus <= JOB_GPUS_MAX && per_pod * (row->pods > 0 ? row->pods : 1) <= JOB_GPUS_MAX;
}

static void copy_row(struct orr_workload *workload, uint32_t r, uint32_t copy, uint64_t seed)
{
    const struct orr_row from = workload->rows[r];
    bool renamed;
    /* names may move while the new one is put */
    char *name = orr_strdup(orr_idmap_name(&workload->jobs, from.job));
    const uint32_t job = new_job(workload, name, &renamed);
    orr_free(name);
    const orr_ms by = (orr_ms)((2.0 * draw(seed, "trace/copy", (uint64_t)r * 1000 + copy) - 1.0) *
                               COPY_WITHIN_MS);
    struct orr_row *row = orr_workload_push(workload);
    *row = from;
    row->job = job;
    row->submit_ms = from.submit_ms + by > 0 || from.submit_ms < 0 ? from.submit_ms + by : 0;
    row->extra = 0;
    if (from.extra != 0) {
        copy_extra(workload, row, &workload->extras[from.extra - 1],
                   row->submit_ms - from.submit_ms);
        struct orr_row_extra *extra = &workload->extras[row->extra - 1];
        extra->running_on = NULL; /* where it is the first one is */
        extra->running_since_ms = ORR_MS_NONE;
    }
}

uint64_t orr_workload_scale(struct orr_workload *workload, const struct orr_row_filter *filter,
                            const struct orr_trace_scaling *scaling)
{
    const uint32_t count = workload->count;
    const uint32_t whole = (uint32_t)floor(scaling->arrivals);
    const double rest = scaling->arrivals - whole;
    uint64_t too_large = 0;
    bool *gone = orr_zalloc(count + (size_t)1, sizeof *gone);
    for (uint32_t r = 0; r < count; r++) {
        if (!is_kept(workload, r, filter)) {
            continue;
        }
        if (!scale_row(workload, &workload->rows[r], scaling)) {
            gone[r] = true;
            too_large++;
            continue;
        }
        const uint32_t times =
            whole + (rest > 0.0 && draw(filter->seed, "trace/arrivals", r) < rest ? 1 : 0);
        gone[r] = times == 0;
        for (uint32_t copy = 1; copy < times; copy++) {
            copy_row(workload, r, copy, filter->seed);
        }
    }
    uint32_t kept = 0;
    for (uint32_t r = 0; r < workload->count; r++) {
        if (r >= count || !gone[r]) {
            workload->rows[kept++] = workload->rows[r];
        }
    }
    workload->rows_read +=
        workload->count - count; /* a copy that is rejected is a row of its own */
    workload->count = kept;
    orr_free(gone);
    orr_workload_sort(workload, "the scaled trace");
    return too_large;
}
