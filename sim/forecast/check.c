/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "check.h"

#include <math.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

enum { NAIVE_WAITS = 100 };

struct wait { /* of a job that started */
    uint32_t queue, gpus;
    orr_ms wait_ms;
};

struct forecast_of {         /* of a job at a moment */
    uint32_t moment, before; /* before: of the same job and not settled, + 1; 0: none */
    orr_ms now_ms, low_ms, median_ms, high_ms, naive_ms;
    orr_ms plain_low_ms, plain_high_ms; /* by the futures alone */
    double within_hour;
    orr_ms start_ms; /* ORR_MS_NEVER: it has not started since */
};

struct orr_forecast__check {
    struct wait *waits;
    uint32_t wait_count, wait_capacity;
    struct forecast_of *forecasts;
    uint32_t forecast_count, forecast_capacity;
    uint32_t *open; /* per job: its last forecast that is not settled, + 1 */
};

struct orr_forecast__check *orr_forecast__check_open(uint32_t job_count)
{
    struct orr_forecast__check *check = orr_zalloc(1, sizeof *check);
    check->open = orr_zalloc(job_count + (size_t)1, sizeof *check->open);
    return check;
}

void orr_forecast__check_close(struct orr_forecast__check *check)
{
    if (check != NULL) {
        orr_free(check->waits);
        orr_free(check->forecasts);
        orr_free(check->open);
        orr_free(check);
    }
}

/* --- moments --- */

struct stretch { /* of time in which somebody waits */
    orr_ms from_ms, to_ms;
};

static int by_begin(const void *a, const void *b, void *context)
{
    const struct stretch *one = a, *other = b;
    (void)context;
    return (one->from_ms > other->from_ms) - (one->from_ms < other->from_ms);
}

/* Stretches that overlap become one. Returns how many there are. */
static uint32_t unite(struct stretch *all, uint32_t count)
{
    uint32_t united = 0;
    orr_sort(all, count, sizeof *all, by_begin, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (united > 0 && all[i].from_ms <= all[united - 1].to_ms) {
            struct stretch *last = &all[united - 1];
            last->to_ms = all[i].to_ms > last->to_ms ? all[i].to_ms : last->to_ms;
        } else {
            all[united++] = all[i];
        }
    }
    return united;
}

orr_ms *orr_forecast__moments(const struct orr_world *world, const struct orr_run *run,
                              uint32_t job_count, uint32_t *count)
{
    const uint32_t tenth = job_count / 10;
    const orr_ms first = world->specs[tenth].submit_ms;
    struct stretch *all = orr_alloc(job_count + (size_t)1, sizeof *all);
    uint32_t stretches = 0, made = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        const struct orr_job_state *state = &run->ledger->jobs[j];
        const orr_ms from = orr_run_eligible_ms(world, run, j);
        if (state->phase != ORR_JOB_FUTURE && from != ORR_MS_NONE &&
            state->first_start_ms != ORR_MS_NONE && state->first_start_ms > first &&
            state->first_start_ms > from) {
            all[stretches++] = (struct stretch){.from_ms = from > first ? from : first,
                                                .to_ms = state->first_start_ms};
        }
    }
    stretches = unite(all, stretches);
    orr_ms sum = 0, before = 0;
    for (uint32_t i = 0; i < stretches; i++) {
        sum += all[i].to_ms - all[i].from_ms;
    }
    orr_ms *moments = orr_alloc(*count + (size_t)1, sizeof *moments);
    for (uint32_t i = 0, s = 0; i < *count && sum > 0; i++) {
        const orr_ms into = (orr_ms)(((double)i + 0.5) / *count * (double)sum);
        while (s + 1 < stretches && into - before >= all[s].to_ms - all[s].from_ms) {
            before += all[s].to_ms - all[s].from_ms;
            s++;
        }
        const orr_ms at = all[s].from_ms + (into - before);
        if (made == 0 || at > moments[made - 1]) {
            moments[made++] = at;
        }
    }
    orr_free(all);
    *count = made;
    return moments;
}

/* --- what came --- */

void orr_forecast__check_started(struct orr_forecast__check *check, uint32_t job, uint32_t queue,
                                 uint32_t gpus, orr_ms considered, orr_ms now)
{
    if (considered != ORR_MS_NONE) {
        check->waits = ORR_ROOM_FOR_ONE(check->waits, check->wait_count, check->wait_capacity);
        check->waits[check->wait_count++] =
            (struct wait){.queue = queue, .gpus = gpus, .wait_ms = now - considered};
    }
    for (uint32_t s = check->open[job]; s != 0; s = check->forecasts[s - 1].before) {
        check->forecasts[s - 1].start_ms = now;
    }
    check->open[job] = 0;
}

/* Mean of the last waits that are like it; below 0: there are none. */
static double mean_wait(const struct orr_forecast__check *check, uint32_t queue, uint32_t gpus)
{
    double sum = 0.0;
    uint32_t seen = 0;
    for (uint32_t i = check->wait_count; i > 0 && seen < NAIVE_WAITS; i--) {
        const struct wait *wait = &check->waits[i - 1];
        if ((queue == ORR_NONE || wait->queue == queue) &&
            (gpus == ORR_NONE || wait->gpus == gpus)) {
            sum += (double)wait->wait_ms;
            seen++;
        }
    }
    return seen == 0 ? -1.0 : sum / seen;
}

orr_ms orr_forecast__naive(const struct orr_forecast__check *check, uint32_t queue, uint32_t gpus,
                           orr_ms submit, orr_ms now)
{
    double wait = mean_wait(check, queue, gpus);
    wait = wait < 0.0 ? mean_wait(check, queue, ORR_NONE) : wait;
    wait = wait < 0.0 ? mean_wait(check, ORR_NONE, ORR_NONE) : wait;
    const orr_ms start = submit + (wait < 0.0 ? 0 : (orr_ms)wait);
    return start > now ? start : now;
}

void orr_forecast__check_add(struct orr_forecast__check *check, uint32_t job, uint32_t moment,
                             orr_ms now, const struct orr_forecast_job *forecast,
                             const struct orr_forecast_job *futures, orr_ms naive_ms)
{
    check->forecasts =
        ORR_ROOM_FOR_ONE(check->forecasts, check->forecast_count, check->forecast_capacity);
    check->forecasts[check->forecast_count++] =
        (struct forecast_of){.moment = moment,
                             .before = check->open[job],
                             .now_ms = now,
                             .low_ms = forecast->low_ms,
                             .median_ms = forecast->median_ms,
                             .high_ms = forecast->high_ms,
                             .naive_ms = naive_ms,
                             .plain_low_ms = futures->low_ms,
                             .plain_high_ms = futures->high_ms,
                             .within_hour = forecast->within_hour,
                             .start_ms = ORR_MS_NEVER};
    check->open[job] = check->forecast_count;
}

/* --- what past forecasts say of the next ones --- */

enum { MOMENTS_LEAST = 5, FULL_JOBS = 20 };

struct miss { /* of one side, in widths of that side */
    double by, weight;
};

struct misses {
    struct miss *low, *high;
    uint32_t count, moments;
};

/* Times from a moment, so that a minute in one counts as much as an hour in sixty. */
static double scaled(orr_ms at, orr_ms now)
{
    return log1p((double)(at > now ? at - now : 0) / 60000.0);
}

/* What is beyond the horizon, from a moment, is at it: futures do not go further. */
static double place(orr_ms at, orr_ms now, orr_ms horizon_ms)
{
    return scaled(at - now > horizon_ms ? now + horizon_ms : at, now);
}

struct sides { /* of an interval, from its median */
    double middle, low, high;
};

/* A side of no width, for all futures agree or are beyond the horizon, is one too: what is sure by
 * them alone is known to a fifth of the time. */
static struct sides sides_of(orr_ms low, orr_ms median, orr_ms high, orr_ms now, orr_ms horizon_ms)
{
    const double least = 0.2, middle = place(median, now, horizon_ms);
    return (struct sides){.middle = middle,
                          .low = fmax(middle - place(low, now, horizon_ms), least),
                          .high = fmax(place(high, now, horizon_ms) - middle, least)};
}

/* What it missed by, as far as that is known now; false: it is not. */
static bool miss_of(const struct forecast_of *forecast, orr_ms now, orr_ms horizon_ms, double *low,
                    double *high)
{
    const orr_ms then = forecast->now_ms, end = then + horizon_ms;
    const orr_ms last = forecast->plain_high_ms < end ? forecast->plain_high_ms : end;
    const bool open = forecast->start_ms > now;
    if (open && now <= last) {
        return false;
    }
    const struct sides sides = sides_of(forecast->plain_low_ms, forecast->median_ms,
                                        forecast->plain_high_ms, then, horizon_ms);
    const double off = place(open ? now : forecast->start_ms, then, horizon_ms) - sides.middle;
    *low = -off / sides.low;
    *high = off / sides.high;
    return true;
}

static int by_size(const void *a, const void *b, void *context)
{
    const struct miss *one = a, *other = b;
    (void)context;
    return (one->by > other->by) - (one->by < other->by);
}

/* The miss that nine of ten are no worse than, one more being as bad as any. */
static double nine_of_ten(struct miss *misses, uint32_t count)
{
    double sum = 1.0, until = 0.0;
    uint32_t i = 0;
    orr_sort(misses, count, sizeof *misses, by_size, NULL);
    for (uint32_t m = 0; m < count; m++) {
        sum += misses[m].weight;
    }
    for (; i + 1 < count; i++) {
        until += misses[i].weight;
        if (until >= 0.9 * sum) {
            break;
        }
    }
    return fmin(fmax(misses[i].by, 0.25), 20.0);
}

/* A moment at which many wait counts as that of some. */
static void list_misses(const struct orr_forecast__check *check, orr_ms now, orr_ms horizon_ms,
                        struct misses *misses)
{
    for (uint32_t first = 0, next = 0; first < check->forecast_count; first = next) {
        const uint32_t before = misses->count;
        for (next = first; next < check->forecast_count &&
                           check->forecasts[next].moment == check->forecasts[first].moment;
             next++) {
            const uint32_t at = misses->count;
            misses->count += miss_of(&check->forecasts[next], now, horizon_ms, &misses->low[at].by,
                                     &misses->high[at].by);
        }
        const uint32_t jobs = misses->count - before;
        misses->moments += jobs > 0;
        for (uint32_t m = before; m < misses->count; m++) {
            misses->low[m].weight = misses->high[m].weight =
                jobs > FULL_JOBS ? (double)FULL_JOBS / jobs : 1.0;
        }
    }
}

struct orr_forecast__stretch orr_forecast__stretch(const struct orr_forecast__check *check,
                                                   orr_ms now, orr_ms horizon_ms)
{
    struct orr_forecast__stretch stretch = {1.0, 1.0};
    struct misses misses = {
        .low = orr_zalloc(check->forecast_count + (size_t)1, sizeof *misses.low),
        .high = orr_zalloc(check->forecast_count + (size_t)1, sizeof *misses.high)};
    list_misses(check, now, horizon_ms, &misses);
    if (misses.moments >= MOMENTS_LEAST) {
        stretch.low = nine_of_ten(misses.low, misses.count);
        stretch.high = nine_of_ten(misses.high, misses.count);
    }
    orr_free(misses.low);
    orr_free(misses.high);
    return stretch;
}

/* The time at a place on that scale. */
static orr_ms time_at(double place, orr_ms now)
{
    return now + (orr_ms)(60000.0 * expm1(fmax(place, 0.0)) + 0.5);
}

void orr_forecast__widen(const struct orr_forecast__stretch *stretch, orr_ms now, orr_ms horizon_ms,
                         struct orr_forecast_job *job)
{
    const struct sides sides = sides_of(job->low_ms, job->median_ms, job->high_ms, now, horizon_ms);
    if (stretch->low != 1.0) {
        job->low_ms = time_at(sides.middle - stretch->low * sides.low, now);
    }
    if (stretch->high != 1.0 && job->high_ms != ORR_MS_NEVER) {
        const orr_ms high = time_at(sides.middle + stretch->high * sides.high, now);
        job->high_ms = high - now > horizon_ms ? ORR_MS_NEVER : high;
    }
}

/* --- score --- */

static double median_of(double *values, uint32_t count)
{
    return count == 0 ? (double)NAN : orr_select(values, count, (count - 1) / 2);
}

/* |a - b| in seconds, of what is beyond the horizon from there. */
static double apart_s(orr_ms forecast, orr_ms came, orr_ms horizon)
{
    const orr_ms at = forecast < horizon ? forecast : horizon;
    return fabs((double)(at - came)) / 1000.0;
}

struct sums {
    double *errors, *naive, *widths;
    double moment_share;
    uint32_t moment, in_moment, covered_in_moment;
};

static void end_moment(struct sums *sums, struct orr_forecast_score *score)
{
    if (sums->in_moment > 0) {
        sums->moment_share += (double)sums->covered_in_moment / sums->in_moment;
        score->moments++;
    }
    sums->in_moment = 0;
    sums->covered_in_moment = 0;
}

static void count_one(const struct forecast_of *forecast, orr_ms horizon_ms, struct sums *sums,
                      struct orr_forecast_score *score)
{
    const orr_ms horizon = forecast->now_ms + horizon_ms, hour = forecast->now_ms + 3600 * 1000;
    const bool late = forecast->start_ms > horizon; /* all that futures could have shown of it */
    const bool early =
        forecast->low_ms == ORR_MS_NEVER ? !late : forecast->start_ms < forecast->low_ms;
    const bool after = forecast->high_ms != ORR_MS_NEVER && forecast->start_ms > forecast->high_ms;
    const double missed = forecast->within_hour - (forecast->start_ms <= hour);
    const uint64_t i = score->forecasts++;
    score->low += early;
    score->high += after;
    score->covered += !early && !after;
    score->brier += missed * missed;
    score->error_s += apart_s(forecast->median_ms, forecast->start_ms, horizon);
    score->naive_s += apart_s(forecast->naive_ms, forecast->start_ms, ORR_MS_NEVER);
    sums->errors[i] = apart_s(forecast->median_ms, forecast->start_ms, horizon);
    sums->naive[i] = apart_s(forecast->naive_ms, forecast->start_ms, ORR_MS_NEVER);
    sums->widths[i] = forecast->high_ms == ORR_MS_NEVER
                          ? (double)INFINITY
                          : (double)(forecast->high_ms - forecast->low_ms) / 1000.0;
    sums->in_moment++;
    sums->covered_in_moment += !early && !after;
}

void orr_forecast__score(const struct orr_forecast__check *check, orr_ms horizon_ms,
                         struct orr_forecast_score *score)
{
    const size_t room = check->forecast_count + (size_t)1;
    struct sums sums = {.errors = orr_alloc(room, sizeof(double)),
                        .naive = orr_alloc(room, sizeof(double)),
                        .widths = orr_alloc(room, sizeof(double))};
    *score = (struct orr_forecast_score){0};
    for (uint32_t i = 0; i < check->forecast_count; i++) {
        const struct forecast_of *forecast = &check->forecasts[i];
        if (forecast->moment != sums.moment) {
            end_moment(&sums, score);
            sums.moment = forecast->moment;
        }
        if (forecast->start_ms == ORR_MS_NEVER) {
            score->unresolved++;
        } else {
            count_one(forecast, horizon_ms, &sums, score);
        }
    }
    end_moment(&sums, score);
    const double n = score->forecasts > 0 ? (double)score->forecasts : (double)NAN;
    const uint32_t count = (uint32_t)score->forecasts;
    score->low /= n;
    score->high /= n;
    score->covered /= n;
    score->brier /= n;
    score->error_s /= n;
    score->naive_s /= n;
    score->covered_moments = score->moments > 0 ? sums.moment_share / score->moments : (double)NAN;
    score->error_median_s = median_of(sums.errors, count);
    score->naive_median_s = median_of(sums.naive, count);
    score->width_s = median_of(sums.widths, count);
    orr_free(sums.errors);
    orr_free(sums.naive);
    orr_free(sums.widths);
}
