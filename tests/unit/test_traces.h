/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_traces.h - reading a trace from a text, in one line of a test. */
#ifndef ORR_TEST_TRACES_H
#define ORR_TEST_TRACES_H

#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include <orrery/traces/reader.h>

/* The workload of a text that must be readable, whatever was rejected; the caller releases it. */
static inline struct orr_workload read_bytes(const char *name, const char *text, size_t bytes)
{
    struct orr_trace_options options = {.allow_loss_ppm = ORR_LOSS_ALL};
    struct orr_workload workload;
    struct orr_err err = {0};
    enum orr_status status = orr_trace_read_memory(name, text, bytes, &options, &workload, &err);
    if (status != ORR_OK) {
        print_error("%s\n", err.text);
    }
    assert_int_equal(status, ORR_OK);
    return workload;
}

static inline struct orr_workload read_text(const char *name, const char *text)
{
    return read_bytes(name, text, strlen(text));
}

/* The text must be refused with ORR_DATA and exactly this sentence. */
static inline void assert_refused(const char *name, const char *text, const char *sentence)
{
    struct orr_workload workload;
    struct orr_err err = {0};
    enum orr_status status = orr_trace_read_memory(name, text, strlen(text), NULL, &workload, &err);
    assert_string_equal(err.text, sentence);
    assert_int_equal(status, ORR_DATA);
    assert_null(workload.rows);
}

/* The text must be read with these rows taken, and exactly these rejects ("" for none). */
static inline void assert_rejects(const char *name, const char *text, uint32_t taken,
                                  const char *shown)
{
    struct orr_workload workload = read_text(name, text);
    assert_string_equal(workload.rejects.shown, shown);
    assert_int_equal(workload.count, taken);
    assert_int_equal(workload.jobs.count, taken);
    assert_int_equal(workload.rows_read, taken + workload.rejects.count);
    orr_workload_release(&workload);
}

static inline const char *job_name(const struct orr_workload *workload, uint32_t row)
{
    return orr_idmap_name(&workload->jobs, workload->rows[row].job);
}

static inline const char *queue_name(const struct orr_workload *workload, uint32_t row)
{
    uint32_t queue = workload->rows[row].queue;
    return queue == ORR_NONE ? "" : orr_idmap_name(&workload->queues, queue);
}

static inline const struct orr_row_extra *extra_of(const struct orr_workload *workload,
                                                   uint32_t row)
{
    assert_int_not_equal(workload->rows[row].extra, 0);
    return &workload->extras[workload->rows[row].extra - 1];
}

#endif
