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

/* A row of metric `name`, which table orr_metric_table has. */
void orr_metric__emit(const struct orr_emitter *to, const char *name, double value, uint64_t n);
/* A quantile of `times`: NAN says that it was not reached, unless they are of no job. */
void orr_metric__quantile(const struct orr_emitter *to, const char *name, double value,
                          const struct orr_waits *times);
/* A mean or a most of those of `times` that started (or ended): where nobody did, more than any
 * number, as of a quantile. */
void orr_metric__of_started(const struct orr_emitter *to, const char *name, double value,
                            const struct orr_waits *times);
/* Of all, a queue or a kind, beside jobs of it that never can start; the mean is of those that
 * ended. */
void orr_metric__jct(const struct orr_emitter *to, const struct orr_waits *ended, uint64_t never);
/* Of all, a queue or a kind. */
void orr_metric__stalls(const struct orr_emitter *to, const struct orr_stalls *stalls);
bool orr_metric__has_deadlines(const struct orr_deadlines *d);
/* Only where some job has a deadline. */
void orr_metric__deadlines(const struct orr_emitter *to, const struct orr_deadlines *d);
/* All of scope all (and action) that is not of metric_rows.c. */
void orr_metric__more(const struct orr_emitter *to, const struct orr_summary *s);

#endif
