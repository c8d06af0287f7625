/* SPDX-License-Identifier: GPL-3.0-or-later */
/* service.h - an inference service: from requests to replicas wanted, and from replicas that are up
 * to requests served in time, late or not at all.
 *
 * Pure functions of the plan and of a series of request rates. A replica is a server of
 * `concurrency` slots, each busy service_s per request, so it serves concurrency / service_s
 * requests a second; requests are a fluid that waits in one line, first come, first served.
 */
#ifndef ORR_SIM_SERVICE_H
#define ORR_SIM_SERVICE_H

#include <orrery/base/status.h>

struct orr_rates {       /* requests a second, step by step from time 0 on */
    const double *per_s; /* borrowed */
    uint32_t count;
    orr_ms step_ms;
};
/* Mean rate over [from, to); what lies outside the series counts 0. */
double orr_rates_mean(const struct orr_rates *rates, orr_ms from_ms, orr_ms to_ms);

struct orr_service_plan {
    double service_s;   /* a request holds its slot that long */
    double utilisation; /* of the slots that the autoscaler aims at, above 0, at most 1 */
    uint32_t concurrency;
    uint32_t min_replicas, max_replicas;
    orr_ms scale_interval_ms; /* between two looks at the rate */
    orr_ms down_window_ms;    /* scale down to the most that was wanted in that time */
    double patience_s;        /* a request that has waited that long is dropped */
    double in_time_s;         /* wait and service together, for a request to count as in time */
};

/* ceil(rate x service_s / (concurrency x utilisation)) within min and max. */
uint32_t orr_service_wanted(const struct orr_service_plan *plan, double rate);

/* Replicas wanted from time i x scale_interval on, i = 0..count-1, into wanted[]. Each look sees
 * the mean rate of the interval before it (the first one its own); more is wanted at once, fewer
 * only after the window. */
void orr_service_scale(const struct orr_service_plan *plan, const struct orr_rates *rates,
                       uint32_t count, uint32_t *wanted);

struct orr_service_load { /* requests; offered is the sum of the others, up to rounding */
    double offered, in_time, late, dropped;
    double waiting; /* in line at the end: nobody knows what becomes of them */
};

struct orr_service_change { /* of the number of replicas that serve */
    orr_ms at_ms;
    int32_t by;
};
/* What became by `to` of the requests that came from `from` on, behind the line of those that came
 * before, from time 0 on. Replicas are as the changes say, which must be sorted by time. */
void orr_service_account(const struct orr_service_plan *plan, const struct orr_rates *rates,
                         const struct orr_service_change *changes, uint32_t count, orr_ms from_ms,
                         orr_ms to_ms, struct orr_service_load *load);
/* How long one replica would have had all its slots busy with the requests that were served. */
double orr_service_busy_s(const struct orr_service_plan *plan, const struct orr_service_load *load);

#endif
