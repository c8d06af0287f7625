/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate_spec.h - what a change must not make worse, as the user wrote it (kind: Gate). */
#ifndef ORR_SIM_GATE_SPEC_H
#define ORR_SIM_GATE_SPEC_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_gate_line { /* one entry of `rules:` */
    const char *name;
    const char *metric, *margin;     /* margin: "2%", "30s" or a number in the metric's unit */
    const char *queue, *kind, *size; /* NULL: all; queue needs a kind */
    const char *better;              /* "less", "more", or NULL: the metric's own */
    const char *origin;              /* file:line:col */
    const char *metric_origin, *margin_origin, *size_origin;
    double margin_value;
    bool relative, is_time; /* of the margin: a part of the baseline; seconds. Else a number */
};

struct orr_gate_spec {
    const char *mode; /* exact, fixed, statistical */
    uint32_t replicas;
    orr_ms shake_submit_ms;
    double shake_run;
    struct orr_gate_line *lines;
    uint32_t line_count;
    struct orr_arena arena;
};

/* ORR_NO_INPUT, ORR_IO, ORR_SCENARIO with file:line:col. On failure nothing is left. */
enum orr_status orr_gate_spec_load(const char *path, struct orr_gate_spec *spec,
                                   struct orr_err *err) ORR_MUST_USE;
void orr_gate_spec_release(struct orr_gate_spec *spec);

#endif
