/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- histograms ------------------------------------------------------------------------------ */

/* 128 bins an octave, the first 128 values one each. */
static uint32_t bin_of(int64_t value)
{
    if (value < 128) {
        return value < 0 ? 0 : (uint32_t)value;
    }
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll((uint64_t)value);
    return (octave - 6) * 128 + (uint32_t)((uint64_t)value >> (octave - 7) & 127);
}

void orr_histogram_add(struct orr_histogram *histogram, int64_t value)
{
    if (histogram->bins == NULL) {
        histogram->bins = orr_zalloc(ORR_SPREAD_BINS, sizeof *histogram->bins);
        histogram->tops = orr_zalloc(ORR_SPREAD_BINS, sizeof *histogram->tops);
        histogram->least = histogram->most = value;
    }
    const uint32_t bin = bin_of(value);
    if (histogram->bins[bin]++ == 0 || value > histogram->tops[bin]) {
        histogram->tops[bin] = value;
    }
    histogram->count++;
    histogram->sum += (double)value;
    histogram->least = value < histogram->least ? value : histogram->least;
    histogram->most = value > histogram->most ? value : histogram->most;
}

int64_t orr_histogram_quantile(const struct orr_histogram *histogram, double p)
{
    if (histogram->count == 0) {
        return -1;
    }
    const double want = p * (double)histogram->count;
    uint64_t seen = 0;
    uint32_t bin = 0;
    for (; bin < ORR_SPREAD_BINS; bin++) {
        seen += histogram->bins[bin];
        if ((double)seen >= want && seen > 0) {
            break;
        }
    }
    return bin < ORR_SPREAD_BINS ? histogram->tops[bin] : histogram->most;
}

/* --- load ------------------------------------------------------------------------------------ */

static int64_t hour_of(orr_ms at)
{
    const int64_t hour = at / ORR_STAT_HOUR_MS;
    return at % ORR_STAT_HOUR_MS < 0 ? hour - 1 : hour;
}

/* Hours from..until exist afterwards, or it says false. */
static bool make_room(struct orr_load *load, int64_t from, int64_t until)
{
    const int64_t first = load->hours == 0 || from < load->first ? from : load->first;
    int64_t end = load->hours == 0 ? until + 1 : load->first + load->hours;
    end = until + 1 > end ? until + 1 : end;
    if (end - first > ORR_STAT_HOURS) {
        return false;
    }
    const uint32_t hours = (uint32_t)(end - first);
    const uint32_t shift = load->hours == 0 ? 0 : (uint32_t)(load->first - first);
    if (hours > load->capacity) {
        load->capacity = (uint32_t)orr_grow(load->capacity, hours);
        load->part = orr_realloc(load->part, load->capacity, sizeof *load->part);
        load->step = orr_realloc(load->step, load->capacity, sizeof *load->step);
    }
    if (shift > 0) {
        memmove(load->part + shift, load->part, load->hours * sizeof *load->part);
        memmove(load->step + shift, load->step, load->hours * sizeof *load->step);
        memset(load->part, 0, shift * sizeof *load->part);
        memset(load->step, 0, shift * sizeof *load->step);
    }
    const uint32_t had = load->hours + shift;
    if (hours > had) {
        memset(load->part + had, 0, (hours - had) * sizeof *load->part);
        memset(load->step + had, 0, (hours - had) * sizeof *load->step);
    }
    load->hours = hours;
    load->first = first;
    return true;
}

void orr_load_add(struct orr_load *load, orr_ms from, orr_ms until, int64_t mgpu)
{
    if (until <= from || mgpu <= 0) {
        return;
    }
    const int64_t a = hour_of(from), b = hour_of(until);
    if (!make_room(load, a, b)) {
        load->left_out++;
        return;
    }
    const uint32_t begin = (uint32_t)(a - load->first), last = (uint32_t)(b - load->first);
    const double gpus = (double)mgpu;
    if (a == b) {
        load->part[begin] += gpus * (double)(until - from);
        return;
    }
    load->part[begin] += gpus * (double)((a + 1) * ORR_STAT_HOUR_MS - from);
    load->part[last] += gpus * (double)(until - b * ORR_STAT_HOUR_MS);
    if (a + 1 < b) {
        load->step[begin + 1] += gpus;
        load->step[last] -= gpus;
    }
}

double *orr_load_curve(const struct orr_load *load)
{
    double *curve = orr_alloc(load->hours + (size_t)1, sizeof *curve);
    double whole = 0.0;
    for (uint32_t h = 0; h < load->hours; h++) {
        whole += load->step[h];
        curve[h] = (whole + load->part[h] / (double)ORR_STAT_HOUR_MS) / ORR_MGPU;
    }
    return curve;
}

/* --- jobs ------------------------------------------------------------------------------------ */

const char *orr_odd_text(enum orr_odd odd)
{
    static const char *const texts[] = {
#define X(name, says) [ORR_ODD_##name] = says,
        ORR_ODD_LIST(X)
#undef X
    };
    return texts[odd];
}

void orr_stat_init(struct orr_trace_stat *stat)
{
    *stat = (struct orr_trace_stat){
        .first_ms = ORR_MS_NONE, .last_ms = ORR_MS_NONE, .end_ms = ORR_MS_NONE};
    orr_idmap_init(&stat->queues);
    orr_idmap_init(&stat->users);
}

void orr_stat_release(struct orr_trace_stat *stat)
{
    orr_idmap_release(&stat->queues);
    orr_idmap_release(&stat->users);
    orr_free(stat->queue);
    orr_free(stat->user);
    orr_free(stat->runs.bins);
    orr_free(stat->runs.tops);
    orr_free(stat->waits.bins);
    orr_free(stat->waits.tops);
    orr_free(stat->sizes.bins);
    orr_free(stat->sizes.tops);
    orr_free(stat->wanted.part);
    orr_free(stat->wanted.step);
    orr_free(stat->held.part);
    orr_free(stat->held.step);
    *stat = (struct orr_trace_stat){0};
}

static void add_name(struct orr_idmap *map, struct orr_stat_name **names, uint32_t *capacity,
                     struct orr_cell name, double gpu_h)
{
    bool added;
    if (name.bytes == 0) {
        return;
    }
    const uint32_t index = orr_idmap_put(map, name.at, name.bytes, &added);
    if (added) {
        *names = ORR_ROOM_FOR_ONE(*names, index, *capacity);
        (*names)[index] = (struct orr_stat_name){0};
    }
    (*names)[index].jobs++;
    (*names)[index].gpu_h += gpu_h;
}

static void count_odd(struct orr_trace_stat *stat, enum orr_odd odd, bool is, uint32_t line)
{
    if (is && stat->odd[odd]++ == 0) {
        stat->odd_line[odd] = line;
    }
}

static struct orr_recorded recorded_of(const struct orr_job_fact *fact)
{
    return (struct orr_recorded){.start_ms = fact->start_ms,
                                 .end_ms = fact->end_ms,
                                 .attempts = fact->attempts.at,
                                 .bytes = fact->attempts.bytes};
}

/* How long the last time was that it ran. */
static orr_ms last_run_ms(const struct orr_job_fact *fact)
{
    struct orr_recorded record = recorded_of(fact);
    orr_ms start_ms = fact->start_ms, end_ms = fact->end_ms;
    while (orr_recorded_next(&record, &start_ms, &end_ms)) {
    }
    return end_ms - start_ms;
}

static void find_odd(struct orr_trace_stat *stat, const struct orr_job_fact *fact, uint32_t line)
{
    const bool run = fact->run_ms != ORR_MS_NONE, start = fact->start_ms != ORR_MS_NONE;
    const bool both = start && fact->end_ms != ORR_MS_NONE;
    const bool before = stat->jobs > 0;
    count_odd(stat, ORR_ODD_NO_RUN, run && fact->run_ms == 0, line);
    count_odd(stat, ORR_ODD_TIES, before && fact->submit_ms / 1000 == stat->before_ms / 1000, line);
    count_odd(stat, ORR_ODD_UNSORTED, before && fact->submit_ms < stat->before_ms, line);
    count_odd(stat, ORR_ODD_BACKWARDS, both && fact->end_ms < fact->start_ms, line);
    count_odd(stat, ORR_ODD_EARLY, start && fact->start_ms < fact->submit_ms, line);
    count_odd(stat, ORR_ODD_OTHER_RUN,
              both && run && fact->end_ms >= fact->start_ms &&
                  llabs(last_run_ms(fact) - fact->run_ms) > 1000,
              line);
    count_odd(stat, ORR_ODD_OVER_LIMIT,
              run && fact->limit_ms != ORR_MS_NONE && fact->run_ms > fact->limit_ms, line);
    count_odd(stat, ORR_ODD_NO_QUEUE, fact->queue.bytes == 0, line);
    count_odd(stat, ORR_ODD_BY_MEMORY, fact->by_memory, line);
}

static void count_clock(struct orr_trace_stat *stat, orr_ms at)
{
    const int64_t hour = hour_of(at);
    stat->by_hour[(hour % 24 + 24) % 24]++;
    const int64_t day = hour >= 0 ? hour / 24 : -((23 - hour) / 24);
    stat->by_day[((day + 3) % 7 + 7) % 7]++; /* 1970-01-01 was a Thursday */
}

/* Between two attempts it held nothing. */
static void add_held(struct orr_trace_stat *stat, const struct orr_job_fact *fact)
{
    struct orr_recorded record = recorded_of(fact);
    orr_ms start_ms, end_ms;
    while (orr_recorded_next(&record, &start_ms, &end_ms)) {
        orr_load_add(&stat->held, stat->origin_ms + start_ms, stat->origin_ms + end_ms, fact->mgpu);
    }
}

void orr_stat_add(struct orr_trace_stat *stat, const struct orr_job_fact *fact, uint32_t line)
{
    const orr_ms run = fact->run_ms == ORR_MS_NONE ? 0 : fact->run_ms;
    const bool recorded = fact->start_ms != ORR_MS_NONE && fact->end_ms != ORR_MS_NONE &&
                          fact->end_ms >= fact->start_ms;
    const double gpu_h = (double)fact->mgpu / ORR_MGPU * (double)run / 3.6e6;
    find_odd(stat, fact, line);
    stat->first_ms =
        stat->jobs == 0 || fact->submit_ms < stat->first_ms ? fact->submit_ms : stat->first_ms;
    stat->last_ms =
        stat->jobs == 0 || fact->submit_ms > stat->last_ms ? fact->submit_ms : stat->last_ms;
    const orr_ms end = recorded ? fact->end_ms : fact->submit_ms + run;
    stat->end_ms = stat->jobs == 0 || end > stat->end_ms ? end : stat->end_ms;
    stat->before_ms = fact->submit_ms;
    stat->jobs++;
    stat->gpu_h += gpu_h;
    stat->gpu_h_of[fact->kind] += gpu_h;
    stat->jobs_of[fact->kind]++;
    add_name(&stat->queues, &stat->queue, &stat->queue_capacity, fact->queue, gpu_h);
    add_name(&stat->users, &stat->user, &stat->user_capacity, fact->user, gpu_h);
    if (fact->run_ms != ORR_MS_NONE) {
        orr_histogram_add(&stat->runs, fact->run_ms);
    }
    if (fact->start_ms != ORR_MS_NONE && fact->start_ms >= fact->submit_ms) {
        orr_histogram_add(&stat->waits, fact->start_ms - fact->submit_ms);
    }
    if (fact->mgpu > 0) {
        stat->gpu_jobs++;
        orr_histogram_add(&stat->sizes, fact->mgpu);
    }
    const orr_ms from_ms = stat->origin_ms + fact->submit_ms;
    orr_load_add(&stat->wanted, from_ms, from_ms + run, fact->mgpu);
    if (recorded) {
        stat->recorded++;
        add_held(stat, fact);
    }
    count_clock(stat, from_ms);
}

const char *orr_format_gpus(char *out, int64_t mgpu)
{
    (void)snprintf(out, 32, "%g", (double)mgpu / ORR_MGPU);
    return out;
}
