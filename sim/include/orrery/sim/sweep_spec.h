/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_spec.h - an experiment of many runs, as the user wrote it (kind: Sweep). */
#ifndef ORR_SIM_SWEEP_SPEC_H
#define ORR_SIM_SWEEP_SPEC_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

/* One value of an axis, or a point of `points:`: changes of the base in order, PATH=VALUE or
 * variant=NAME as orr_scenario_options.bases takes them. */
struct orr_sweep_value {
    const char *label;       /* the values as written */
    const char *const *sets; /* NULL ends */
    uint32_t set_count;
    const char *origin; /* file:line:col */
};

struct orr_sweep_axis {
    const char *name;
    struct orr_sweep_value *values;
    uint32_t value_count; /* at least 1 */
};

struct orr_sweep_spec {
    const char *base; /* scenario file, from the folder of the spec */
    struct orr_sweep_axis *axes;
    uint32_t axis_count;
    struct orr_sweep_value *points; /* listed beside the product of the axes */
    uint32_t point_count;
    uint32_t replicas; /* seeds from the base's own on */
    orr_ms shake_submit_ms;
    double shake_run;
    orr_ms time_ms;          /* limit of a run; 0: none */
    int64_t memory_bytes;    /* limit of a run; 0: none */
    uint32_t allow_loss_ppm; /* as in orr_trace_options; the experiment does not state it */
    struct orr_arena arena;
};

/* ORR_NO_INPUT, ORR_IO, ORR_SCENARIO with file:line:col. On failure nothing is left. */
enum orr_status orr_sweep_spec_load(const char *path, struct orr_sweep_spec *spec,
                                    struct orr_err *err) ORR_MUST_USE;
void orr_sweep_spec_release(struct orr_sweep_spec *spec);

#endif
