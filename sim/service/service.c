/* SPDX-License-Identifier: GPL-3.0-or-later */
/* service.c - a fluid queue: requests flow in at the rate, out at what the replicas serve.
 *
 *   waiting / capacity is how long who comes now will wait:
 *     at most in_time - service    in time
 *     at most patience             late
 *     more                         dropped at once, so the line is never longer than that
 *
 * With no replica the wait is not known: who comes is late, and only the last `patience` seconds of
 * them stay in line.
 */
#include <orrery/sim/service.h>

#include <math.h>

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

/* The end of the line would wait too long and goes. Its requests were counted as late, or as in
 * time when there were more replicas. */
static void cut_line(struct orr_service_load *load, double most)
{
    double gone = load->waiting - most;
    if (gone > 0.0) {
        double late = gone < load->late ? gone : load->late;
        double in_time = gone - late < load->in_time ? gone - late : load->in_time;
        load->late -= late;
        load->in_time -= in_time;
        load->dropped += late + in_time;
        load->waiting = most;
    }
}

/* Until the line is as long as `bound` at most, changing by `slope` a second. */
static double until(double waiting, double bound, double slope, double seconds)
{
    double time = (bound - waiting) / slope;
    return time > 0.0 && time < seconds ? time : seconds;
}

void orr_service_advance(const struct orr_service_plan *plan, struct orr_service_load *load,
                         double rate, uint32_t ready, double seconds)
{
    double capacity = (double)ready * (double)plan->concurrency / plan->service_s;
    double slack_s = plan->in_time_s - plan->service_s;
    double good = capacity * (slack_s > 0.0 ? slack_s : 0.0), most = capacity * plan->patience_s;
    load->offered += rate * seconds;
    if (ready == 0) {
        load->late += rate * seconds;
        load->waiting += rate * seconds;
        cut_line(load, rate * plan->patience_s);
        return;
    }
    cut_line(load, most);
    double slope = rate - capacity;
    while (seconds > 0.0) {
        double span = seconds;
        bool full = slope > 0.0 && load->waiting >= most;
        bool quick = slack_s >= 0.0 && (slope > 0.0 ? load->waiting < good : load->waiting <= good);
        if (full) {
            /* as many are taken as leave; at such a length they are late, or just in time */
            *(good >= most ? &load->in_time : &load->late) += capacity * span;
            load->dropped += slope * span;
        } else if (quick) {
            span =
                slope > 0.0 ? until(load->waiting, good < most ? good : most, slope, span) : span;
            load->in_time += rate * span;
        } else {
            double bound = slope > 0.0 ? most : good;
            span = slope > 0.0 || slope < 0.0 ? until(load->waiting, bound, slope, span) : span;
            load->late += rate * span;
        }
        if (!full) {
            double length = load->waiting + slope * span;
            load->waiting = length > 0.0 ? length : 0.0;
            /* why: land exactly on the bound that ended the span, or the loop would not end */
            if (span < seconds) {
                load->waiting = quick ? (good < most ? good : most) : slope > 0.0 ? most : good;
            }
        }
        seconds -= span;
    }
}

double orr_service_busy_s(const struct orr_service_plan *plan, const struct orr_service_load *load)
{
    return (load->in_time + load->late - load->waiting) * plan->service_s /
           (double)plan->concurrency;
}

void orr_service_account(const struct orr_service_plan *plan, const struct orr_rates *rates,
                         const struct orr_service_change *changes, uint32_t count, orr_ms from_ms,
                         orr_ms to_ms, struct orr_service_load *load)
{
    uint32_t next = 0;
    int64_t ready = 0;
    *load = (struct orr_service_load){0};
    for (orr_ms at = from_ms; at < to_ms;) {
        for (; next < count && changes[next].at_ms <= at; next++) {
            ready += changes[next].by;
        }
        orr_ms step = at >= 0 ? at / rates->step_ms : -1;
        orr_ms end = (step + 1) * rates->step_ms;
        end = next < count && changes[next].at_ms < end ? changes[next].at_ms : end;
        end = end < to_ms ? end : to_ms;
        double rate = step >= 0 && step < rates->count ? rates->per_s[step] : 0.0;
        orr_service_advance(plan, load, rate, ready > 0 ? (uint32_t)ready : 0,
                            (double)(end - at) / 1000.0);
        at = end;
    }
}
