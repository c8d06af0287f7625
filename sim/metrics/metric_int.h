/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metric_int.h - what the files that name metrics share. */
#ifndef ORR_SIM_METRIC_INT_H
#define ORR_SIM_METRIC_INT_H

#include <stdio.h>

#include <orrery/sim/summary.h>

struct orr_emitter {
    orr_metric_fn *emit;
    void *context;
    const char *scope;
    const char *label;
    bool impatient, has_nevers; /* of the summary */
};

static inline void orr_metric__emit(const struct orr_emitter *to, const char *name, double value,
                                    const char *unit, uint64_t n, const char *definition)
{
    struct orr_metric metric = {.name = name,
                                .scope = to->scope,
                                .unit = unit,
                                .definition = definition,
                                .value = value,
                                .n = n};
    (void)snprintf(metric.label, sizeof metric.label, "%s", to->label);
    to->emit(&metric, to->context);
}

/* p99: NULL: not that one. */
void orr_metric__quantiles(const struct orr_emitter *to, const char *p50, const char *p95,
                           const char *p99, const struct orr_waits *times, const char *definition);
/* Of all, a queue or a kind; the mean is of those that ended. */
void orr_metric__jct(const struct orr_emitter *to, const struct orr_waits *jct);
/* Of all, a queue or a kind. */
void orr_metric__stalls(const struct orr_emitter *to, const struct orr_stalls *stalls);
bool orr_metric__has_deadlines(const struct orr_deadlines *d);
/* Only where some job has a deadline. */
void orr_metric__deadlines(const struct orr_emitter *to, const struct orr_deadlines *d);
/* All of scope all (and action) that is not of metric_rows.c. */
void orr_metric__more(const struct orr_emitter *to, const struct orr_summary *s);

#endif
