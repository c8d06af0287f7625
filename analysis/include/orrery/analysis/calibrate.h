/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibrate.h - how far a run is from what its trace says happened. */
#ifndef ORR_ANALYSIS_CALIBRATE_H
#define ORR_ANALYSIS_CALIBRATE_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct orr_calibration_row { /* jobs of one queue and kind; the first row: all. Seconds */
    const char *queue, *kind;
    const char *shown;                      /* the queue's display name, for people */
    uint32_t jobs;                          /* with a recorded and a simulated start */
    double recorded_p50_s, simulated_p50_s; /* waits */
    double recorded_p95_s, simulated_p95_s;
    double recorded_mean_s, simulated_mean_s;
    double error_p10_s, error_p50_s, error_p90_s; /* simulated minus recorded wait, job by job */
    double ks; /* greatest distance between the two distributions of waits, 0..1 */
};

/* Records that cannot have happened on the cluster that the run has. */
struct orr_calibration_doubt {
    uint64_t over;          /* records that began when all there is was held by others of them */
    const char *over_name;  /* the first of them; NULL: none */
    int64_t over_ms;        /* when it began */
    double peak_gpus, gpus; /* most that records held at once; what the cluster has for jobs */
    uint64_t early;         /* records that begin before their submit, or end before they begin */
    const char *early_name;
};

struct orr_calibration {
    struct orr_calibration_row *rows;
    uint32_t count;
    uint64_t unmatched;                          /* jobs with a record that never started here */
    const char *unmatched_why, *unmatched_first; /* what most of them wait for at last, and a job */
    uint64_t unmatched_most;                     /* of which there are so many; 0: not known */
    /* Recorded starts whose end is recorded, follows from the run time, or is not known. */
    uint64_t ends_recorded, ends_derived, ends_unknown;
    /* Of records whose end is known; NAN: none held anything in the window. */
    double occupancy_gap;   /* simulated minus recorded GPU time held in the window / recorded */
    double occupancy_apart; /* GPU time by which the two differ at a time / recorded */
    struct orr_calibration_doubt doubt;
    struct orr_arena arena;
};

/* ORR_NO_INPUT, ORR_DATA (no results file, or its trace recorded nothing), ORR_IO. Quantiles are
 * nearest rank. */
enum orr_status orr_calibrate(const char *db_path, struct orr_calibration *calibration,
                              struct orr_err *err) ORR_MUST_USE;
void orr_calibration_release(struct orr_calibration *calibration);

#endif
