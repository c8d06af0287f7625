/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check.h - forecasts of past moments, held against what came. */
#ifndef ORR_FORECAST_CHECK_H
#define ORR_FORECAST_CHECK_H

#include "forecast_int.h"

struct orr_forecast__check;

struct orr_forecast__check *orr_forecast__check_open(uint32_t job_count);
void orr_forecast__check_close(struct orr_forecast__check *check);

/* Moments at which somebody waits: `count` of them, evenly spread over that time, of a run that
 * came to its end; not before a tenth of the jobs had come. Fewer where there is less time. Caller
 * frees.
 */
orr_ms *orr_forecast__moments(const struct orr_world *world, const struct orr_run *run,
                              uint32_t job_count, uint32_t *count);

/* A job started: its forecasts are settled. `considered`: since when it was, at its first
 * start; else ORR_MS_NONE. */
void orr_forecast__check_started(struct orr_forecast__check *check, uint32_t job, uint32_t queue,
                                 uint32_t gpus, orr_ms considered, orr_ms now);
/* When it would start by the mean of the last 100 waits of its queue and size; of its queue, or of
 * all, where none was seen. */
orr_ms orr_forecast__naive(const struct orr_forecast__check *check, uint32_t queue, uint32_t gpus,
                           orr_ms submit, orr_ms now);
/* How much wider, or narrower, intervals must be, each side for itself, so that those of the past
 * would have held 80 % of the starts: 1 where too little is known. All have one horizon, and what
 * is beyond it counts as at it. */
struct orr_forecast__stretch {
    double low, high;
};
struct orr_forecast__stretch orr_forecast__stretch(const struct orr_forecast__check *check,
                                                   orr_ms now, orr_ms horizon_ms);
void orr_forecast__widen(const struct orr_forecast__stretch *stretch, orr_ms now, orr_ms horizon_ms,
                         struct orr_forecast_job *job);
/* Forecasts of a job at a moment: the one that is printed, and that of the futures alone. */
void orr_forecast__check_add(struct orr_forecast__check *check, uint32_t job, uint32_t moment,
                             orr_ms now, const struct orr_forecast_job *forecast,
                             const struct orr_forecast_job *futures, orr_ms naive_ms);
void orr_forecast__score(const struct orr_forecast__check *check, orr_ms horizon_ms,
                         struct orr_forecast_score *score);

#endif
