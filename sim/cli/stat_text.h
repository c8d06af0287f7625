/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stat_text.h - what a trace adds up to, as text and as JSON: for import and trace stat. */
#ifndef ORR_SIM_STAT_TEXT_H
#define ORR_SIM_STAT_TEXT_H

#include <orrery/analysis/json.h>
#include <orrery/traces/stat.h>

struct stat_view {
    const struct orr_trace_stat *stat;
    orr_ms origin_ms; /* ms since 1970 of the times' 0; ORR_MS_NONE: not known */
    int64_t capacity; /* GPUs; 0: not given */
    bool picture;     /* the load over time, drawn in lines of blocks */
    unsigned columns; /* of the terminal */
};
void stat_text(const struct stat_view *view, FILE *out);
/* Names and values into an object that is open. */
void stat_json(const struct stat_view *view, struct orr_json *json);

#endif
