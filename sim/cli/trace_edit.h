/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_edit.h - stat, fit, convert, filter, merge, scale and anonymize of the verb trace. */
#ifndef ORR_SIM_TRACE_EDIT_H
#define ORR_SIM_TRACE_EDIT_H

#include <orrery/traces/edit.h>

#include "cli.h"

struct trace_edit {
    const struct orr_cli_common *common;
    const char *what;
    const char *const *files;
    uint32_t file_count;
    const char *output, *format, *to; /* to: native, swf, or NULL: by the suffix of the output */
    const char *from, *until, *key;
    struct orr_row_filter filter;
    struct orr_trace_scaling scaling;
    int64_t capacity;
    const char *cluster;    /* as given last */
    orr_ms step_ms, gap_ms; /* of fit */
    uint32_t seeds;
    bool force;
    uint32_t allow_loss_ppm;
};
bool trace_edit_knows(const char *what);
/* What helps where the output is there already; NULL: it is overwritten. */
const char *trace_if_taken(const struct trace_edit *edit);
/* cli_trace_fit.c: fits a model to the rows that are left, says how like it is, writes it. */
enum orr_status trace_fit(const struct trace_edit *edit, const struct orr_workload *workload,
                          struct orr_err *err);
enum orr_status trace_edit(struct trace_edit *edit, struct orr_err *err);

#endif
