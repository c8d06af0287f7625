/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Past usage from step functions: one entry a change, window sums as differences. */
#include <orrery/core/usage.h>

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>

struct step {
    int64_t sample;      /* number of the first sample that sees the value */
    int64_t nonzero_end; /* one past the last sample before it that is not 0 */
    double value;
    double before; /* sum over all samples before it, each halved once a half-life up to it */
};

struct orr_usage_series {
    struct step *steps;
    uint32_t head, count, capacity; /* steps before head are forgotten */
};

struct orr_usage_params orr_usage_defaults(void)
{
    return (struct orr_usage_params){.window = ORR_USAGE_SLIDING,
                                     .window_ms = (orr_ms)7 * 24 * 3600 * 1000,
                                     .resolution_ms = 60000,
                                     .fetch_ms = 60000};
}

/* 2^-x - 1 for x in [0, 1), by its series. why: libm's last bit differs between machines, and a
 * fair share is a floor() of what comes out of here. */
static double exp2_minus_one(double x)
{
    const double z = x * -0.69314718055994530942;
    double sum = 0;
    for (int n = 20; n > 0; n--) {
        sum = z / n * (1 + sum);
    }
    return sum;
}

/* 2^-x, and *rest = 1 - 2^-x without the loss of a subtraction; x >= 0. */
static double halved(double x, double *rest)
{
    if (x > 1080) {
        *rest = 1;
        return 0;
    }
    const double whole = floor(x);
    const double minus_one = exp2_minus_one(x - whole);
    const double value = ldexp(1 + minus_one, -(int)whole);
    *rest = whole > 0 ? 1 - value : -minus_one;
    return value;
}

/* Of a sum and a constant value `n` samples later. */
static double later(const struct orr_usage *usage, double before, double value, int64_t n)
{
    if (usage->half_lives <= 0) {
        return before + value * (double)n;
    }
    double rest_one, rest_all;
    const double one = halved(usage->half_lives, &rest_one);
    const double all = halved(usage->half_lives * (double)n, &rest_all);
    return before * all + value * (one * (rest_all / rest_one));
}

/* Number of the first sample at or after a time. */
static int64_t sample_at(const struct orr_usage *usage, orr_ms at)
{
    const int64_t step = usage->params.resolution_ms;
    return at / step + (at % step > 0);
}

void orr_usage_init(struct orr_usage *usage, const struct orr_usage_params *params,
                    uint32_t queue_count)
{
    ORR_ASSERT(params->resolution_ms > 0 && params->fetch_ms > 0);
    ORR_ASSERT(params->window == ORR_USAGE_CRON || params->window_ms > 0);
    *usage = (struct orr_usage){.params = *params, .queue_count = queue_count};
    if (params->half_life_ms > 0) {
        usage->half_lives = (double)params->resolution_ms / (double)params->half_life_ms;
    }
    usage->series = orr_zalloc(((size_t)queue_count + 1) * ORR_SHARE_KINDS, sizeof *usage->series);
}

void orr_usage_release(struct orr_usage *usage)
{
    const size_t count = ((size_t)usage->queue_count + 1) * ORR_SHARE_KINDS;
    for (size_t i = 0; usage->series != NULL && i < count; i++) {
        orr_free(usage->series[i].steps);
    }
    orr_free(usage->series);
    *usage = (struct orr_usage){0};
}

static void set(struct orr_usage *usage, struct orr_usage_series *series, int64_t sample,
                double value)
{
    struct step next = {.sample = sample, .nonzero_end = INT64_MIN, .value = value};
    if (series->count > series->head) {
        struct step *last = &series->steps[series->count - 1];
        ORR_ASSERT(sample >= last->sample);
        if (last->sample == sample) {
            last->value = value;
            return;
        }
        if (last->value == value) {
            return;
        }
        next.before = later(usage, last->before, last->value, sample - last->sample);
        next.nonzero_end = last->value != 0 ? sample : last->nonzero_end;
    } else if (value == 0) {
        return;
    }
    series->steps = ORR_ROOM_FOR_ONE(series->steps, series->count, series->capacity);
    series->steps[series->count++] = next;
}

static void set_all(struct orr_usage *usage, orr_ms at, uint32_t owner,
                    const double value[ORR_SHARE_KINDS])
{
    const int64_t sample = sample_at(usage, at);
    for (uint32_t kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        set(usage, &usage->series[(size_t)owner * ORR_SHARE_KINDS + kind], sample, value[kind]);
    }
}

void orr_usage_set_allocated(struct orr_usage *usage, orr_ms at, uint32_t queue,
                             const double allocated[ORR_SHARE_KINDS])
{
    ORR_ASSERT(queue < usage->queue_count);
    set_all(usage, at, queue, allocated);
}

void orr_usage_set_capacity(struct orr_usage *usage, orr_ms at,
                            const double capacity[ORR_SHARE_KINDS])
{
    set_all(usage, at, usage->queue_count, capacity);
}

/* Windows only move on: keeps the step that reaches into the window, drops those before it. */
static void forget(struct orr_usage_series *series, int64_t start)
{
    while (series->head + 1 < series->count && series->steps[series->head + 1].sample <= start) {
        series->head++;
    }
    if (series->head >= 64 && series->head > series->count / 2) {
        series->count -= series->head;
        memmove(series->steps, series->steps + series->head, series->count * sizeof *series->steps);
        series->head = 0;
    }
}

/* The last step at or before a sample, or NULL. Readings look at the recent past: from the end. */
static const struct step *step_before(const struct orr_usage_series *series, int64_t sample)
{
    for (uint32_t i = series->count; i-- > series->head;) {
        if (series->steps[i].sample <= sample) {
            return &series->steps[i];
        }
    }
    return NULL;
}

/* Sum over samples start <= t < end; `start` INT64_MIN: all of them. */
static double window_sum(const struct orr_usage *usage, struct orr_usage_series *series,
                         int64_t start, int64_t end)
{
    forget(series, start);
    const struct step *last = start < end ? step_before(series, end) : NULL;
    if (last == NULL) {
        return 0;
    }
    /* why: nothing in the window must be 0, not the noise of a difference. */
    if ((last->value == 0 || last->sample == end) && last->nonzero_end <= start) {
        return 0;
    }
    double sum = later(usage, last->before, last->value, end - last->sample);
    const struct step *first = &series->steps[series->head];
    if (first->sample <= start) { /* else it is the very first */
        double out = later(usage, first->before, first->value, start - first->sample);
        sum -= later(usage, out, 0, end - start);
    }
    return sum > 0 ? sum : 0;
}

double orr_usage_at(struct orr_usage *usage, orr_ms at, uint32_t queue, enum orr_share_kind kind)
{
    ORR_ASSERT(queue < usage->queue_count);
    const orr_ms from = orr_usage_window_start(&usage->params, at);
    const int64_t start = from == ORR_MS_NONE ? INT64_MIN : sample_at(usage, from);
    const int64_t end = sample_at(usage, at);
    struct orr_usage_series *mine = &usage->series[(size_t)queue * ORR_SHARE_KINDS + kind];
    struct orr_usage_series *whole =
        &usage->series[(size_t)usage->queue_count * ORR_SHARE_KINDS + kind];
    const double used = window_sum(usage, mine, start, end);
    const double capacity = used > 0 ? window_sum(usage, whole, start, end) : 0;
    return capacity > 0 ? used / capacity : 0;
}

bool orr_usage_refresh(struct orr_usage *usage, orr_ms at, struct orr_share_tree *tree,
                       struct orr_share_queue *queues)
{
    const int64_t step = usage->params.fetch_ms;
    const int64_t reading = at / step - (at % step < 0);
    if (usage->was_read && reading == usage->read_at) {
        return false;
    }
    usage->was_read = true;
    usage->read_at = reading;
    bool changed = false;
    for (uint32_t q = 0; q < usage->queue_count; q++) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            /* As of the grid point: a cycle that was skipped must not change what is read. */
            double value = orr_usage_at(usage, reading * step, q, (enum orr_share_kind)kind);
            if (value != queues[q].resource[kind].usage) {
                queues[q].resource[kind].usage = value;
                orr_share_touch(tree, q, 1u << kind);
                changed = true;
            }
        }
    }
    return changed;
}
