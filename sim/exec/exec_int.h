/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_int.h - what exec.c (plans) and exec_rate.c (rates) share. */
#ifndef ORR_SIM_EXEC_INT_H
#define ORR_SIM_EXEC_INT_H

#include <orrery/sim/exec.h>

struct orr_exec_job; /* exec.c */
struct orr_exec_rates;

struct orr_exec {
    const struct orr_ledger *ledger;
    struct orr_exec_setting setting;
    struct orr_exec_job *jobs;
    struct orr_exec_rates *rates;
};

static inline const struct orr_terms *orr_exec__terms(const struct orr_exec *exec, uint32_t job)
{
    return &exec->setting.terms->items[exec->ledger->world.specs[job].terms];
}

static inline const struct orr_shape *orr_exec__shape(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger_world *world = &exec->ledger->world;
    return &world->shapes->shapes[world->specs[job].shape];
}

struct orr_exec_rates *orr_exec__rates_open(const struct orr_ledger *ledger,
                                            const struct orr_exec_setting *setting);
void orr_exec__rates_close(struct orr_exec_rates *rates, const struct orr_ledger *ledger);
/* The job's rate where it is, among its neighbours as last settled, ppm; at least 1. */
int64_t orr_exec__rate(struct orr_exec *exec, uint32_t job);
/* It works on what it keeps now: on links and devices that others use too; leave first. */
void orr_exec__join(struct orr_exec *exec, uint32_t job);
void orr_exec__leave(struct orr_exec *exec, uint32_t job); /* nothing if it is nowhere */

#endif
