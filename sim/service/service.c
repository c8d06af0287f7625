/* SPDX-License-Identifier: GPL-3.0-or-later */
/* service.c - a fluid queue: requests flow in at the rate, out at what the replicas serve.
 *
 * The line is a list of pieces, oldest first, each so many seconds of arrivals at one rate. Its
 * head moves through them, so that it is known how long who leaves has waited. Who has not waited
 * longer than in_time - service_s is served in time, who has not waited longer than the patience is
 * served late, and whom nobody has served by then is dropped. Each request is judged as it leaves,
 * by the replicas that were there while it waited.
 */
#include <orrery/sim/service.h>

#include <math.h>
#include <string.h>

#include <orrery/base/mem.h>

double orr_rates_mean(const struct orr_rates *rates, orr_ms from_ms, orr_ms to_ms)
{
    double sum = 0.0;
    for (orr_ms at = from_ms; at < to_ms;) {
        orr_ms step = at / rates->step_ms;
        orr_ms end = (step + 1) * rates->step_ms < to_ms ? (step + 1) * rates->step_ms : to_ms;
        if (at >= 0 && step < rates->count) {
            sum += rates->per_s[step] * (double)(end - at);
        }
        at = end;
    }
    return to_ms > from_ms ? sum / (double)(to_ms - from_ms) : 0.0;
}

uint32_t orr_service_wanted(const struct orr_service_plan *plan, double rate)
{
    double exact = rate * plan->service_s / ((double)plan->concurrency * plan->utilisation);
    /* why: a rate that needs exactly three must not want four for the last bit of a quotient */
    double wanted = ceil(exact * (1.0 - 1e-12));
    if (!(wanted > (double)plan->min_replicas)) {
        return plan->min_replicas;
    }
    return wanted < (double)plan->max_replicas ? (uint32_t)wanted : plan->max_replicas;
}

/* Each becomes the most of itself and the `window` before it. After a pass wanted[i] is the most of
 * the `span` looks that end with i; spans double, and the last two overlap. A pass goes from the
 * end on, so that it reads only what it has not changed yet. */
static void hold_most(uint32_t *wanted, uint32_t count, uint32_t window)
{
    for (uint32_t span = 1; span <= window && span < count;) {
        const uint32_t step = span <= window + 1 - span ? span : window + 1 - span;
        for (uint32_t i = count; i-- > step;) {
            wanted[i] = wanted[i - step] > wanted[i] ? wanted[i - step] : wanted[i];
        }
        span += step;
    }
}

void orr_service_scale(const struct orr_service_plan *plan, const struct orr_rates *rates,
                       uint32_t count, uint32_t *wanted)
{
    const orr_ms interval = plan->scale_interval_ms;
    for (uint32_t i = 0; i < count; i++) {
        const orr_ms at = (orr_ms)(i > 0 ? i - 1 : 0) * interval;
        wanted[i] = orr_service_wanted(plan, orr_rates_mean(rates, at, at + interval));
    }
    hold_most(wanted, count, (uint32_t)(plan->down_window_ms / interval));
}

/* --- the line --- */

struct piece { /* of arrivals; at a rate of 0 it is a gap between others */
    double seconds, rate;
    bool counts; /* its requests are of the time that is asked about */
};

struct line {
    struct piece *pieces; /* from `first` on; the end of the last ones is still to come */
    uint32_t first, count, capacity;
    double wait_s; /* how long ago its head came */
};

static void push(struct line *line, struct piece piece)
{
    if (line->first < line->count) {
        struct piece *last = &line->pieces[line->count - 1];
        if (last->rate == piece.rate && last->counts == piece.counts) {
            last->seconds += piece.seconds;
            return;
        }
    }
    if (line->first > line->count / 2) { /* those that left make room */
        line->count -= line->first;
        memmove(line->pieces, line->pieces + line->first, line->count * sizeof *line->pieces);
        line->first = 0;
    }
    line->pieces = ORR_ROOM_FOR_ONE(line->pieces, line->count, line->capacity);
    line->pieces[line->count++] = piece;
}

/* What part is within the bound, of waits that lie evenly between two. */
static double part_within(double one, double other, double bound)
{
    const double low = fmin(one, other), high = fmax(one, other);
    /* why: who waits as long as is allowed must not be late for the last bit of a sum */
    if (high <= bound + 1e-9) {
        return 1.0;
    }
    return low < bound ? (bound - low) / (high - low) : 0.0;
}

static void serve(const struct orr_service_plan *plan, struct orr_service_load *load,
                  double requests, double from_s, double to_s)
{
    const double in_time = part_within(from_s, to_s, plan->in_time_s - plan->service_s);
    load->in_time += requests * in_time;
    load->late += requests * (1.0 - in_time);
}

/* Nobody came in it: what of it is over takes no time. */
static double pass_gap(struct line *line, struct piece *gap, double seconds)
{
    const double past = fmin(gap->seconds, line->wait_s);
    line->wait_s -= past;
    gap->seconds -= past;
    const double span = fmin(gap->seconds, seconds);
    gap->seconds -= span;
    return span;
}

/* The head waits for 0 or for the patience, and who comes after it waits just as long. */
static double pass_even(const struct orr_service_plan *plan, const struct line *line,
                        struct piece *head, double share, double seconds,
                        struct orr_service_load *load)
{
    const double span = fmin(head->seconds, seconds), came = head->rate * span;
    serve(plan, load, share * came, line->wait_s, line->wait_s);
    load->dropped += (1.0 - share) * came;
    head->seconds -= span;
    return span;
}

/* Nobody is dropped, and the wait changes until it is 0 or the patience. */
static double pass_served(const struct orr_service_plan *plan, struct line *line,
                          struct piece *head, double capacity, double seconds,
                          struct orr_service_load *load)
{
    const double pace = capacity / head->rate; /* seconds of arrivals that are served a second */
    const double wait = line->wait_s, bound = pace < 1.0 ? plan->patience_s : 0.0;
    const double through = pace > 0.0 ? head->seconds / pace : (double)INFINITY;
    const double until =
        pace < 1.0 || pace > 1.0 ? (bound - wait) / (1.0 - pace) : (double)INFINITY;
    const double span = fmin(fmin(through, until), seconds);
    /* why: land exactly on what ended the span, or the loop would not end */
    line->wait_s = span >= until ? bound : fmax(wait + (1.0 - pace) * span, 0.0);
    serve(plan, load, capacity * span, wait, line->wait_s);
    head->seconds = span >= through ? 0.0 : head->seconds - pace * span;
    return span;
}

/* One step of the head: to the end of its piece, of a bound of its wait or of `seconds`; returns
 * how long it takes. */
static double advance_head(const struct orr_service_plan *plan, struct line *line, double capacity,
                           double seconds, struct orr_service_load *load)
{
    struct piece *head = &line->pieces[line->first];
    struct orr_service_load others = {0}, *to = head->counts ? load : &others;
    if (!(head->rate > 0.0)) {
        return pass_gap(line, head, seconds);
    }
    const double pace = capacity / head->rate;
    if (pace >= 1.0 ? line->wait_s <= 0.0 : line->wait_s >= plan->patience_s) {
        return pass_even(plan, line, head, fmin(pace, 1.0), seconds, to);
    }
    return pass_served(plan, line, head, capacity, seconds, to);
}

/* Time goes on while requests come at a constant rate. */
static void advance(const struct orr_service_plan *plan, struct line *line, struct piece coming,
                    uint32_t ready, struct orr_service_load *load)
{
    const double capacity = (double)ready * (double)plan->concurrency / plan->service_s;
    push(line, coming);
    load->offered += coming.counts ? coming.rate * coming.seconds : 0.0;
    for (double left = coming.seconds; left > 0.0 && line->first < line->count;) {
        left -= advance_head(plan, line, capacity, left, load);
        line->first += !(line->pieces[line->first].seconds > 0.0);
    }
    if (line->first == line->count) {
        line->wait_s = 0.0;
    }
}

double orr_service_busy_s(const struct orr_service_plan *plan, const struct orr_service_load *load)
{
    return (load->in_time + load->late) * plan->service_s / (double)plan->concurrency;
}

void orr_service_account(const struct orr_service_plan *plan, const struct orr_rates *rates,
                         const struct orr_service_change *changes, uint32_t count, orr_ms from_ms,
                         orr_ms to_ms, struct orr_service_load *load)
{
    uint32_t next = 0;
    int64_t ready = 0;
    struct line line = {0};
    *load = (struct orr_service_load){0};
    for (orr_ms at = 0; at < to_ms;) {
        for (; next < count && changes[next].at_ms <= at; next++) {
            ready += changes[next].by;
        }
        const orr_ms step = at / rates->step_ms;
        orr_ms end = (step + 1) * rates->step_ms;
        end = next < count && changes[next].at_ms < end ? changes[next].at_ms : end;
        end = at < from_ms && from_ms < end ? from_ms : end;
        end = end < to_ms ? end : to_ms;
        const struct piece coming = {.seconds = (double)(end - at) / 1000.0,
                                     .rate = step < rates->count ? rates->per_s[step] : 0.0,
                                     .counts = at >= from_ms};
        advance(plan, &line, coming, ready > 0 ? (uint32_t)ready : 0, load);
        at = end;
    }
    for (uint32_t i = line.first; i < line.count; i++) {
        const struct piece *piece = &line.pieces[i];
        load->waiting += piece->counts ? piece->rate * piece->seconds : 0.0;
    }
    orr_free(line.pieces);
}
