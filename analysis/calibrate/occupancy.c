/* SPDX-License-Identifier: GPL-3.0-or-later */
/* occupancy.c - what jobs held over time by the record and by the run, and which records cannot
 * have happened on the cluster of the run. */
#include "calibrate_int.h"
#include "calibrate_sql.h"

#include <math.h>
#include <string.h>

enum { RUN, RECORD };

struct history {
    int64_t from_ms, to_ms, capacity_mgpu; /* the window */
    double held_mgpu[2], least_mgpu;       /* now; least_mgpu: by the record, at least */
    double total[2], apart;                /* in the window, milli-GPU x ms */
};

static void pass(struct history *h, int64_t at_ms)
{
    const int64_t at = at_ms < h->to_ms ? at_ms : h->to_ms;
    if (at <= h->from_ms) {
        return;
    }
    const double ms = (double)(at - h->from_ms);
    h->total[RUN] += h->held_mgpu[RUN] * ms;
    h->total[RECORD] += h->held_mgpu[RECORD] * ms;
    h->apart += fabs(h->held_mgpu[RUN] - h->held_mgpu[RECORD]) * ms;
    h->from_ms = at;
}

/* A record that begins when the others leave too little. */
static void judge_start(const struct history *h, int64_t at_ms, int64_t job, int64_t *first,
                        struct orr_calibration_doubt *doubt)
{
    const double gpus = h->least_mgpu / 1000.0;
    doubt->peak_gpus = gpus > doubt->peak_gpus ? gpus : doubt->peak_gpus;
    if (h->least_mgpu > (double)h->capacity_mgpu) {
        if (doubt->over++ == 0) {
            *first = job;
            doubt->over_ms = at_ms;
        }
    }
}

static const char *name_of(struct orr_results *in, struct orr_arena *arena, int64_t job)
{
    const char *name = NULL;
    sqlite3_stmt *row = orr_results_prepare(in, orr_calibrate_sql__job_name);
    if (row != NULL) {
        sqlite3_bind_int64(row, 1, job);
    }
    while (orr_results_step(in, row)) {
        const char *text = orr_results_text(in, row, 0);
        name = orr_arena_strndup(arena, text, strlen(text));
    }
    return name;
}

static void read_ends(struct orr_results *in, struct orr_calibration *c)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_calibrate_sql__ends);
    while (orr_results_step(in, row)) {
        c->ends_recorded = (uint64_t)sqlite3_column_int64(row, 0);
        c->ends_derived = (uint64_t)sqlite3_column_int64(row, 1);
        c->ends_unknown = (uint64_t)sqlite3_column_int64(row, 2);
    }
    row = orr_results_prepare(in, orr_calibrate_sql__early);
    int64_t first = -1;
    while (orr_results_step(in, row)) {
        c->doubt.early = (uint64_t)sqlite3_column_int64(row, 0);
        first = sqlite3_column_int64(row, 1);
    }
    c->doubt.early_name = c->doubt.early > 0 ? name_of(in, &c->arena, first) : NULL;
}

void orr_calibrate__occupancy(struct orr_results *in, struct orr_calibration *calibration)
{
    struct orr_calibration_doubt *doubt = &calibration->doubt;
    struct history h = {0};
    int64_t first = -1;
    read_ends(in, calibration);
    sqlite3_stmt *row = orr_results_prepare(in, orr_calibrate_sql__window);
    while (orr_results_step(in, row)) {
        h.from_ms = sqlite3_column_int64(row, 0);
        h.to_ms = sqlite3_column_int64(row, 1);
        h.capacity_mgpu = sqlite3_column_int64(row, 2);
    }
    row = orr_results_prepare(in, orr_calibrate_sql__busy);
    while (orr_results_step(in, row)) {
        const int64_t at_ms = sqlite3_column_int64(row, 0);
        const double least = sqlite3_column_double(row, 3);
        pass(&h, at_ms);
        h.held_mgpu[sqlite3_column_int(row, 2)] += sqlite3_column_double(row, 1);
        h.least_mgpu += least;
        if (least > 0) {
            judge_start(&h, at_ms, sqlite3_column_int64(row, 4), &first, doubt);
        }
    }
    pass(&h, h.to_ms);
    doubt->gpus = (double)h.capacity_mgpu / 1000.0;
    doubt->over_name = doubt->over > 0 ? name_of(in, &calibration->arena, first) : NULL;
    const double held = h.total[RECORD];
    calibration->occupancy_gap = held > 0 ? h.total[RUN] / held - 1 : (double)NAN;
    calibration->occupancy_apart = held > 0 ? h.apart / held : (double)NAN;
}
