/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perfetto.c - a run as a document of Chrome's Trace Event Format (JSON object form), which
 * Perfetto (ui.perfetto.dev) and chrome://tracing open.
 *
 * A pool is a process, a node a thread of it: complete events ("X") are pods of jobs on that node.
 * The format wants events of one thread nested, so that pods which share a node for some time stand
 * in lanes of their own: the first lane of a node whose last event is over takes the next. Process
 * 1 has a counter ("C") for each leaf queue, a sample a bucket of `series`, and an instant event
 * ("i") for each eviction. Timestamps are microseconds of the run's clock. */
#include <orrery/analysis/export.h>

#include <string.h>

#include <orrery/analysis/json.h>
#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>

#include "export_sql.h"

enum { QUEUES_PROCESS = 1 };

struct lane {
    int64_t thread;
    orr_ms end_ms; /* of its last slice */
};

struct lanes { /* of one node */
    struct lane *items;
    uint32_t count, room;
    int64_t node;
};

/* Valid until the next step; NULL for NULL. */
static const char *text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static void open_event(struct orr_json *json, const char *phase, const char *name, int64_t process,
                       int64_t thread)
{
    orr_json_open(json, NULL, '{');
    json->one_line = true;
    orr_json_text(json, "ph", phase);
    orr_json_text(json, "name", name);
    orr_json_int(json, "pid", process);
    orr_json_int(json, "tid", thread);
}

static void close_event(struct orr_json *json)
{
    orr_json_close(json, '}');
    json->one_line = false;
}

/* A metadata event: `what` (process_name, thread_name) of a process or thread. */
static void put_name(struct orr_json *json, const char *what, int64_t process, int64_t thread,
                     const char *name)
{
    open_event(json, "M", what, process, thread);
    orr_json_open(json, "args", '{');
    orr_json_text(json, "name", name);
    orr_json_close(json, '}');
    close_event(json);
}

/* Threads stand in the order of this number: the lanes of a node beside each other. */
static void put_place(struct orr_json *json, int64_t process, int64_t thread, int64_t node)
{
    open_event(json, "M", "thread_sort_index", process, thread);
    orr_json_open(json, "args", '{');
    orr_json_int(json, "sort_index", node);
    orr_json_close(json, '}');
    close_event(json);
}

static int64_t microseconds(orr_ms ms)
{
    return ms * 1000;
}

/* The process of the queues, those of the pools, and the first lane of each node: thread node + 1.
 * Returns the first number that no node's thread has. */
static int64_t put_lanes(struct orr_results *in, struct orr_json *json)
{
    int64_t next = 1;
    put_name(json, "process_name", QUEUES_PROCESS, 0, "queues");
    sqlite3_stmt *row = orr_results_prepare(in, orr_export_sql__lanes);
    while (orr_results_step(in, row)) {
        const int64_t node = sqlite3_column_int64(row, 0), process = sqlite3_column_int64(row, 3);
        if (process == node + 2) { /* the first node of its pool */
            put_name(json, "process_name", process, 0, text(row, 2));
        }
        put_name(json, "thread_name", process, node + 1, text(row, 1));
        put_place(json, process, node + 1, node);
        next = node + 2;
    }
    return next;
}

/* The lane that takes a slice from start_ms on; *next numbers a new one. */
static struct lane *lane_of(struct lanes *lanes, int64_t node, int64_t process, orr_ms start_ms,
                            int64_t *next, struct orr_json *json)
{
    if (lanes->count == 0 || lanes->node != node) {
        lanes->count = 0;
        lanes->node = node;
    }
    for (uint32_t i = 0; i < lanes->count; i++) {
        if (lanes->items[i].end_ms <= start_ms) {
            return &lanes->items[i];
        }
    }
    lanes->items = ORR_ROOM_FOR_ONE(lanes->items, lanes->count, lanes->room);
    struct lane *lane = &lanes->items[lanes->count++];
    lane->thread = node + 1;
    if (lanes->count > 1) {
        char name[40];
        lane->thread = (*next)++;
        (void)snprintf(name, sizeof name, "lane %u", (unsigned)lanes->count);
        put_name(json, "thread_name", process, lane->thread, name);
        put_place(json, process, lane->thread, node);
    }
    return lane;
}

static void put_slices(struct orr_results *in, int64_t next, struct orr_json *json)
{
    struct lanes lanes = {0};
    sqlite3_stmt *row = orr_results_prepare(in, orr_export_sql__slices);
    while (orr_results_step(in, row)) {
        const int64_t node = sqlite3_column_int64(row, 0), process = sqlite3_column_int64(row, 1);
        const orr_ms start_ms = sqlite3_column_int64(row, 2), end_ms = sqlite3_column_int64(row, 3);
        struct lane *lane = lane_of(&lanes, node, process, start_ms, &next, json);
        lane->end_ms = end_ms;
        open_event(json, "X", text(row, 6), process, lane->thread);
        orr_json_text(json, "cat", text(row, 5));
        orr_json_int(json, "ts", microseconds(start_ms));
        orr_json_int(json, "dur", microseconds(end_ms - start_ms));
        orr_json_open(json, "args", '{');
        if (sqlite3_column_type(row, 10) != SQLITE_NULL) { /* pods of a job */
            orr_json_text(json, "queue", text(row, 7));
            if (text(row, 8) != NULL) {
                orr_json_text(json, "user", text(row, 8));
            }
            orr_json_text(json, "kind", text(row, 9));
            orr_json_int(json, "attempt", sqlite3_column_int64(row, 10));
            orr_json_int(json, "pods", sqlite3_column_int64(row, 11));
            orr_json_real(json, "gpus", sqlite3_column_double(row, 12));
        }
        orr_json_bool(json, "open_at_end", sqlite3_column_int(row, 4) != 0);
        orr_json_close(json, '}');
        close_event(json);
    }
    orr_free(lanes.items);
}

static void put_counters(struct orr_results *in, struct orr_json *json)
{
    static const char *const names[] = {"allocated_gpus", "pending_gpus", "share_gpus",
                                        "pending_jobs"};
    sqlite3_stmt *row = orr_results_prepare(in, orr_export_sql__counters);
    while (orr_results_step(in, row)) {
        open_event(json, "C", text(row, 1), QUEUES_PROCESS, 0);
        orr_json_int(json, "ts", microseconds(sqlite3_column_int64(row, 0)));
        orr_json_open(json, "args", '{');
        for (int i = 0; i < 4; i++) {
            orr_json_real(json, names[i], sqlite3_column_double(row, 2 + i));
        }
        orr_json_close(json, '}');
        close_event(json);
    }
}

static void put_evictions(struct orr_results *in, struct orr_json *json)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_export_sql__evictions);
    while (orr_results_step(in, row)) {
        open_event(json, "i", text(row, 1), QUEUES_PROCESS, 0);
        orr_json_text(json, "s", "p");
        orr_json_text(json, "cat", "eviction");
        orr_json_int(json, "ts", microseconds(sqlite3_column_int64(row, 0)));
        orr_json_open(json, "args", '{');
        orr_json_text(json, "job", text(row, 2));
        orr_json_int(json, "pods", sqlite3_column_int64(row, 3));
        if (text(row, 4) != NULL) {
            orr_json_text(json, "for_job", text(row, 4));
        }
        orr_json_close(json, '}');
        close_event(json);
    }
}

/* What run this is; viewers show it as the trace's metadata. */
static void put_run(struct orr_results *in, struct orr_json *json)
{
    orr_json_open(json, "otherData", '{');
    sqlite3_stmt *row = orr_results_prepare(in, orr_export_sql__of_run);
    while (orr_results_step(in, row)) {
        orr_json_text(json, "scenario", text(row, 0));
        orr_json_text(json, "policy", text(row, 1));
        orr_json_int(json, "seed", sqlite3_column_int64(row, 2));
        orr_json_text(json, "digest", text(row, 3));
        orr_json_text(json, "orrery_version", text(row, 4));
        if (sqlite3_column_type(row, 5) != SQLITE_NULL) {
            orr_json_int(json, "clock_origin_ms", sqlite3_column_int64(row, 5));
        }
        orr_json_int(json, "counter_bucket_ms", sqlite3_column_int64(row, 6));
    }
    orr_json_close(json, '}');
}

enum orr_status orr_export_perfetto(const char *path, FILE *out, struct orr_err *err)
{
    struct orr_results in;
    struct orr_json json = {.out = out};
    orr_results_open(&in, path, err);
    if (in.status == ORR_OK) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "displayTimeUnit", "ms");
        put_run(&in, &json);
        orr_json_open(&json, "traceEvents", '[');
        put_slices(&in, put_lanes(&in, &json), &json);
        put_counters(&in, &json);
        put_evictions(&in, &json);
        if (in.status == ORR_OK) {
            orr_json_close(&json, ']');
            orr_json_close(&json, '}');
        }
    }
    enum orr_status status = in.status;
    if (status == ORR_OK) {
        status = orr_export_finish(out, err);
    }
    orr_results_close(&in);
    return status;
}
