/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage.h - how much of the cluster each queue had in the past, for time-aware fair share.
 *
 *     U(queue, resource) at T = sum of allocated(t) * 0.5^((T-t)/H)
 *                             / sum of capacity(t)  * 0.5^((T-t)/H)
 *
 * over the samples t = multiples of the resolution with window start <= t < T. A sample sees every
 * change made at its own time; the sample at T itself is still to be taken when T is asked for.
 *
 * The caller passes changes only. One entry is kept a change (changes between two samples share
 * one), each with the decayed sum of all samples before it, so a window's sum is a difference of
 * two such sums: no loop over samples, and changes that left the window are forgotten.
 */
#ifndef ORR_CORE_USAGE_H
#define ORR_CORE_USAGE_H

#include <orrery/base/status.h>
#include <orrery/core/share.h>

ORR_API_BEGIN

enum orr_usage_window {
    ORR_USAGE_SLIDING,  /* the last `window_ms` */
    ORR_USAGE_TUMBLING, /* since the last of the boundaries start_ms + n * window_ms */
    ORR_USAGE_CRON      /* since the last time the cron line names */
};

struct orr_cron { /* bit n: the field's value n fits */
    uint64_t minutes, hours, days, months, weekdays;
    bool any_day, any_weekday; /* written as * or ?, which makes the other one decide */
};

struct orr_usage_params {
    enum orr_usage_window window;
    orr_ms window_ms;     /* sliding, tumbling; > 0 */
    orr_ms start_ms;      /* tumbling: one boundary, the first */
    struct orr_cron cron; /* cron */
    orr_ms epoch_ms;      /* cron: UTC time, ms since 1970, at which the run's clock is 0 */
    orr_ms half_life_ms;  /* <= 0: no decay */
    orr_ms resolution_ms; /* > 0 */
    orr_ms fetch_ms;      /* usage is read again on multiples of it; > 0 */
};

/* KAI's defaults: a sliding week, no decay, one sample and one reading a minute. */
struct orr_usage_params orr_usage_defaults(void);

/* Five fields (minute hour day-of-month month weekday), with `*`, `?`, lists, ranges, steps and
 * three-letter names, or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually. */
enum orr_status orr_cron_parse(struct orr_cron *cron, const char *text,
                               struct orr_err *err) ORR_MUST_USE;
/* Latest named minute strictly before `utc_ms`, or ORR_MS_NONE if there is none in five years. */
orr_ms orr_cron_before(const struct orr_cron *cron, orr_ms utc_ms);

/* Where the window that ends at T starts; T itself: the window is empty. ORR_MS_NONE: no start. */
orr_ms orr_usage_window_start(const struct orr_usage_params *params, orr_ms at);

struct orr_usage_series;
struct orr_usage {
    struct orr_usage_params params;
    struct orr_usage_series *series; /* a queue's resources one after the other; capacity last */
    uint32_t queue_count;
    double half_lives; /* in one resolution */
    int64_t read_at;   /* index on the fetch grid of the last refresh */
    bool was_read;
};

/* Nothing is allocated and the capacity is 0 until they are set. */
void orr_usage_init(struct orr_usage *usage, const struct orr_usage_params *params,
                    uint32_t queue_count);
void orr_usage_release(struct orr_usage *usage);

/* From `at` on, a queue (with its descendants) holds `allocated`, the cluster has `capacity`. Times
 * never go back: not before an earlier change of the same series, nor before a reading. */
void orr_usage_set_allocated(struct orr_usage *usage, orr_ms at, uint32_t queue,
                             const double allocated[ORR_SHARE_KINDS]);
void orr_usage_set_capacity(struct orr_usage *usage, orr_ms at,
                            const double capacity[ORR_SHARE_KINDS]);

/* U at a time; 0 where there was no capacity. Forgets what no later window can see. */
double orr_usage_at(struct orr_usage *usage, orr_ms at, uint32_t queue, enum orr_share_kind kind);

/* If a multiple of fetch_ms was reached since the last call: writes the usage of all queues and
 * touches those that changed. Returns true if any did. */
bool orr_usage_refresh(struct orr_usage *usage, orr_ms at, struct orr_share_tree *tree,
                       struct orr_share_queue *queues);

ORR_API_END

#endif
