/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen_arrivals.c - a Poisson process whose rate is constant within each hour of the wall clock.
 *
 * An hour's count is Poisson, its times are uniform: exactly the process, hour by hour, so an hour
 * never depends on another one.
 */
#include <orrery/traces/gen.h>

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

#include <orrery/base/sort.h>
#include <orrery/traces/zone.h>

#include "gen_int.h"

#define HOUR_MS   ((orr_ms)3600000)
#define JOBS_MOST 50000000.0

static double weight_at(const struct orr_arrivals *arrivals, int64_t local_hour)
{
    int64_t day = local_hour >= 0 ? local_hour / 24 : -((23 - local_hour) / 24);
    int64_t hour = local_hour - day * 24;
    int64_t weekday = ((day + 3) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    return (arrivals->hours != NULL ? arrivals->hours[hour] : 1.0) *
           (arrivals->days != NULL ? arrivals->days[weekday] : 1.0);
}

static double mean_of(const double *weights, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; weights != NULL && i < count; i++) {
        sum += weights[i];
    }
    return weights != NULL ? sum / count : 1.0;
}

static int64_t floor_hour(orr_ms ms)
{
    return ms / HOUR_MS - (ms % HOUR_MS < 0);
}

enum orr_status orr_arrivals_weights(const struct orr_arrivals *arrivals, int64_t first_hour,
                                     uint32_t count, double *weights, struct orr_err *err)
{
    double mean = mean_of(arrivals->hours, 24) * mean_of(arrivals->days, 7);
    orr_ms *offsets = orr_alloc(count, sizeof *offsets);
    enum orr_status status = orr_zone_offsets(arrivals->zone, first_hour, count, offsets, err);
    for (uint32_t h = 0; h < count && status == ORR_OK; h++) {
        int64_t local = floor_hour((first_hour + h) * HOUR_MS + offsets[h]);
        weights[h] = weight_at(arrivals, local) / mean;
    }
    orr_free(offsets);
    return status;
}

struct times {
    orr_ms *at;
    uint32_t count, capacity;
};

static void draw_hour(gsl_rng *rng, double mean, orr_ms hour_ms, orr_ms from_ms, orr_ms until_ms,
                      struct times *times)
{
    unsigned int count = mean > 0.0 ? gsl_ran_poisson(rng, mean) : 0;
    uint32_t first = times->count;
    for (unsigned int i = 0; i < count; i++) {
        orr_ms at = hour_ms + (orr_ms)(gsl_rng_uniform(rng) * (double)HOUR_MS);
        if (at >= from_ms && at < until_ms) {
            times->at = ORR_ROOM_FOR_ONE(times->at, times->count, times->capacity);
            times->at[times->count++] = at;
        }
    }
    if (times->count > first) {
        orr_sort_i64(times->at + first, times->count - first);
    }
}

enum orr_status orr_arrivals_draw(const struct orr_arrivals *arrivals, uint64_t seed,
                                  const char *stream, orr_ms start_ms, orr_ms from_ms,
                                  orr_ms until_ms, orr_ms **out, uint32_t *count,
                                  struct orr_err *err)
{
    struct times times = {0};
    *out = NULL;
    *count = 0;
    if (until_ms <= from_ms) {
        return ORR_OK;
    }
    int64_t first = floor_hour(start_ms + from_ms);
    int64_t last = floor_hour(start_ms + until_ms - 1);
    uint32_t hours = (uint32_t)(last - first + 1);
    if (arrivals->per_hour * (double)hours > JOBS_MOST) {
        return orr_fail(err, ORR_SCENARIO, "%s: about %.0f jobs would come; the most is %.0f",
                        stream, arrivals->per_hour * (double)hours, JOBS_MOST);
    }
    double *weights = orr_alloc(hours, sizeof *weights);
    enum orr_status status = orr_arrivals_weights(arrivals, first, hours, weights, err);
    gsl_rng *rng = orr_gsl_rng_open(seed, stream, 0);
    for (uint32_t h = 0; h < hours && status == ORR_OK; h++) {
        int64_t hour = first + h;
        orr_gsl_rng_point(rng, seed, stream, (uint64_t)hour);
        draw_hour(rng, arrivals->per_hour * weights[h], hour * HOUR_MS - start_ms, from_ms,
                  until_ms, &times);
    }
    gsl_rng_free(rng);
    orr_free(weights);
    *out = times.at;
    *count = times.count;
    return status;
}
