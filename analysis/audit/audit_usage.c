/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_usage.c - how much of the cluster each queue had in the past, where shares depend on it.
 *
 * Written from the rules of time-aware fairness, not from core's code: at the last multiple T of
 * the fetch interval, the sum of what a queue held at the samples of the window over that of what
 * the cluster had, each sample weighing half after a half-life. Samples are multiples of the
 * resolution; one sees all that happened at its own time, and the one at T is not taken yet.
 */
#include "audit_int.h"

#include <math.h>

struct level { /* what is held from a sample on */
    int64_t sample;
    double value;
};

struct levels {
    struct level *at;
    uint32_t count, capacity;
};

struct orr_audit_past {
    const struct orr_audit_window *window;
    uint32_t queue_count;
    struct levels *levels; /* by queue; then of the cluster */
    orr_ms read_ms;        /* usage is of then */
    bool was_read;
    double *usage; /* by queue */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The first sample at or after a time. */
static int64_t sample_from(const struct orr_audit_window *window, orr_ms at_ms)
{
    return -floor_div(-at_ms, window->resolution_ms);
}

static void add_level(struct orr_audit_past *past, struct levels *levels, orr_ms at_ms,
                      double value)
{
    const int64_t sample = sample_from(past->window, at_ms);
    if (levels->count > 0 && levels->at[levels->count - 1].sample == sample) {
        levels->at[levels->count - 1].value = value;
    } else {
        levels->at = ORR_ROOM_FOR_ONE(levels->at, levels->count, levels->capacity);
        levels->at[levels->count++] = (struct level){sample, value};
    }
}

struct orr_audit_past *orr_audit__past_open(const struct orr_schedule *schedule)
{
    struct orr_audit_past *past = orr_zalloc(1, sizeof *past);
    past->window = &schedule->shards[0].window;
    past->queue_count = schedule->queue_count;
    past->levels = orr_zalloc(schedule->queue_count + (size_t)1, sizeof *past->levels);
    past->usage = orr_zalloc(schedule->queue_count + (size_t)1, sizeof *past->usage);
    for (uint32_t c = 0; c < schedule->total_count; c++) {
        add_level(past, &past->levels[past->queue_count], schedule->totals[c].at_ms,
                  (double)schedule->totals[c].gpus);
    }
    return past;
}

void orr_audit__past_close(struct orr_audit_past *past)
{
    for (uint32_t q = 0; past != NULL && q <= past->queue_count; q++) {
        orr_free(past->levels[q].at);
    }
    if (past != NULL) {
        orr_free(past->levels);
        orr_free(past->usage);
        orr_free(past);
    }
}

void orr_audit__past_note(struct orr_audit_past *past, orr_ms at_ms, uint32_t queue, int64_t mgpu)
{
    const double exact = (double)mgpu / ORR_MGPU;
    const double value = past->window->whole_units ? ceil(exact) : exact;
    struct levels *levels = &past->levels[queue];
    const double last = levels->count > 0 ? levels->at[levels->count - 1].value : 0;
    if (value > last || value < last) {
        add_level(past, levels, at_ms, value);
    }
}

/* Weights of the samples from..to - 1, seen from `end`. */
static double weights(const struct orr_audit_window *window, int64_t from, int64_t to, int64_t end)
{
    if (window->half_life_ms <= 0) {
        return (double)(to - from);
    }
    const double halves = (double)window->resolution_ms / (double)window->half_life_ms;
    const double of_last = exp2(-halves * (double)(end - to + 1));
    return of_last * (1 - exp2(-halves * (double)(to - from))) / (1 - exp2(-halves));
}

static double sum(const struct orr_audit_past *past, const struct levels *levels, int64_t start,
                  int64_t end)
{
    double total = 0;
    int64_t to = end;
    for (uint32_t i = levels->count; i-- > 0 && to > start;) {
        const int64_t from = levels->at[i].sample > start ? levels->at[i].sample : start;
        if (from < to) {
            total += levels->at[i].value * weights(past->window, from, to, end);
            to = from;
        }
    }
    return total;
}

static orr_ms window_start(const struct orr_audit_window *window, orr_ms at_ms)
{
    if (!window->tumbles) {
        return at_ms - window->window_ms;
    }
    /* a boundary at the time itself still belongs to the window before */
    return at_ms <= window->boundary_ms
               ? at_ms
               : window->boundary_ms +
                     floor_div(at_ms - 1 - window->boundary_ms, window->window_ms) *
                         window->window_ms;
}

const double *orr_audit__past_usage(struct orr_audit_past *past, orr_ms now)
{
    const struct orr_audit_window *window = past->window;
    const orr_ms read_ms = floor_div(now, window->fetch_ms) * window->fetch_ms;
    if (!past->was_read || past->read_ms != read_ms) {
        const int64_t start = sample_from(window, window_start(window, read_ms));
        const int64_t end = sample_from(window, read_ms);
        const double capacity = sum(past, &past->levels[past->queue_count], start, end);
        for (uint32_t q = 0; q < past->queue_count; q++) {
            past->usage[q] = capacity > 0 ? sum(past, &past->levels[q], start, end) / capacity : 0;
        }
        past->was_read = true;
        past->read_ms = read_ms;
    }
    return past->usage;
}
