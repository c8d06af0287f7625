/* SPDX-License-Identifier: GPL-3.0-or-later */
/* native_out.h - jobs of records of attempts as rows of a native trace: sacct's, a cluster's
 * history.
 */
#ifndef ORR_INTAKE_NATIVE_OUT_H
#define ORR_INTAKE_NATIVE_OUT_H

#include <stdio.h>

#include <orrery/traces/native.h>

#include "intake_int.h"

/* clang-format off */
#define NATIVE_OUT_LIST(X)                                                                         \
    X(JOB, job) X(SUBMIT, submit_s) X(RUN, run_s) X(GPUS, gpus) X(PODS, pods)                      \
    X(PER_POD, gpus_per_pod) X(FRACTION, gpu_fraction) X(MEMORY, gpu_memory_mib)                   \
    X(DEVICES, gpu_devices) X(MIG, mig_profile) X(MODEL, gpu_model) X(CPU, cpu_milli)              \
    X(MEM, mem_mib) X(MIN, min_pods) X(QUEUE, queue) X(USER, user) X(KIND, kind)                   \
    X(PRIORITY, priority) X(PREEMPTIBLE, preemptible) X(LIMIT, time_limit_s)                       \
    X(ELIGIBLE, eligible_s) X(START, recorded_start_s) X(END, recorded_end_s)                      \
    X(STATE, recorded_state) X(ATTEMPTS, recorded_attempts) X(SBATCH, sbatch)
/* clang-format on */
enum native_out_column {
#define X(name, column) OUT_##name,
    NATIVE_OUT_LIST(X)
#undef X
        OUT_COLUMNS
};

struct native_out {
    FILE *file; /* NULL: rows are counted alone */
    struct orr_native_row *row;
    uint64_t columns;               /* of the file, as orr_native_write_row takes them */
    uint32_t index_of[OUT_COLUMNS]; /* as orr_native_column counts them */
    bool is_clock;                  /* instants are seconds of a clock of their own, no dates */
};

/* Writes a header with all columns but `absent` (bits by enum native_out_column), and x_attempts.
 */
void native_out_open(struct native_out *out, FILE *file, uint32_t absent);
void native_out_close(struct native_out *out);
/* A cell of the row; texts are borrowed until it is written. No time: ORR_MS_NONE, which leaves the
 * cell empty. */
void native_out_number(struct native_out *out, enum native_out_column column, int64_t num,
                       int64_t den);
void native_out_text(struct native_out *out, enum native_out_column column, const char *text);
void native_out_time(struct native_out *out, enum native_out_column column, orr_ms at);
/* Counts the row in the report. False: it makes no job, and is dropped there as `named` (NULL: by
 * what is wrong with it), from that line. */
bool native_out_count(const struct native_out *out, struct orr_intake_report *report, uint32_t line,
                      const char *named);
/* Writes the row, if there is a file; `attempts` is the text of x_attempts. */
void native_out_write(const struct native_out *out, const char *attempts);

#endif
