/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_read.c - a results file as a schedule. */
#include <orrery/analysis/audit.h>

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>

struct ids { /* sorted ids of a table; the position is the index */
    int64_t *ids;
    uint32_t count, capacity;
};

static uint32_t find(const struct ids *ids, int64_t id)
{
    uint32_t low = 0, high = ids->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (ids->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ids->count && ids->ids[low] == id ? low : ORR_NONE;
}

static void add(struct ids *ids, int64_t id)
{
    ids->ids = ORR_ROOM_FOR_ONE(ids->ids, ids->count, ids->capacity);
    ids->ids[ids->count++] = id;
}

struct load {
    struct orr_results in;
    struct orr_schedule *schedule;
    struct ids jobs, nodes, queues;
};

static uint32_t count_rows(struct load *load, const char *sql)
{
    return (uint32_t)orr_results_int(&load->in, sql, 0);
}

static const char *keep_text(struct load *load, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    text = text != NULL ? text : "";
    return orr_arena_strndup(&load->schedule->arena, text, strlen(text));
}

static orr_ms time_or(sqlite3_stmt *row, int column, orr_ms otherwise)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? otherwise
                                                           : sqlite3_column_int64(row, column);
}

static void stray(struct load *load, const char *what, int64_t id)
{
    if (load->schedule->stray_count++ == 0) {
        (void)snprintf(load->schedule->stray, sizeof load->schedule->stray, "%s %lld", what,
                       (long long)id);
    }
}

static void load_run(struct load *load)
{
    sqlite3_stmt *row = orr_results_prepare(&load->in, "SELECT policy, end_ms FROM run");
    while (orr_results_step(&load->in, row)) {
        load->schedule->policy = keep_text(load, row, 0);
        load->schedule->end_ms = sqlite3_column_int64(row, 1);
    }
}

static void load_nodes(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM node");
    schedule->nodes = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->nodes);
    sqlite3_stmt *row =
        orr_results_prepare(&load->in, "SELECT id, name, gpus FROM node ORDER BY id");
    while (orr_results_step(&load->in, row) && schedule->node_count < room) {
        add(&load->nodes, sqlite3_column_int64(row, 0));
        schedule->nodes[schedule->node_count++] = (struct orr_audit_node){
            .name = keep_text(load, row, 1), .gpus = sqlite3_column_int64(row, 2)};
    }
}

static void load_queues(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM queue");
    schedule->queues =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->queues);
    sqlite3_stmt *row = orr_results_prepare(
        &load->in, "SELECT id, name, gpu_quota, gpu_limit, parent FROM queue ORDER BY id");
    while (orr_results_step(&load->in, row) && schedule->queue_count < room) {
        add(&load->queues, sqlite3_column_int64(row, 0));
        /* parents come before their children, so theirs is known already */
        const uint32_t parent = sqlite3_column_type(row, 4) == SQLITE_NULL
                                    ? ORR_NONE
                                    : find(&load->queues, sqlite3_column_int64(row, 4));
        schedule->queues[schedule->queue_count] =
            (struct orr_audit_queue){.name = keep_text(load, row, 1),
                                     .gpu_quota = sqlite3_column_double(row, 2),
                                     .gpu_limit = sqlite3_column_double(row, 3),
                                     .parent = parent == schedule->queue_count ? ORR_NONE : parent};
        schedule->queue_count++;
    }
}

static void load_owed(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM queue_change");
    schedule->owed = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->owed);
    sqlite3_stmt *row = orr_results_prepare(
        &load->in,
        "SELECT queue, at_ms, gpu_quota, gpu_limit FROM queue_change ORDER BY at_ms, rowid");
    while (orr_results_step(&load->in, row) && schedule->owed_count < room) {
        const uint32_t queue = find(&load->queues, sqlite3_column_int64(row, 0));
        if (queue != ORR_NONE) {
            schedule->owed[schedule->owed_count++] =
                (struct orr_audit_owed){.queue = queue,
                                        .at_ms = sqlite3_column_int64(row, 1),
                                        .gpu_quota = sqlite3_column_double(row, 2),
                                        .gpu_limit = sqlite3_column_double(row, 3)};
        }
    }
}

static void load_jobs(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM job WHERE state > 0");
    schedule->jobs = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->jobs);
    sqlite3_stmt *row = orr_results_prepare(
        &load->in,
        "SELECT j.id, j.name, w.from_ms, j.start_ms, j.end_ms, j.estimate_ms, j.mgpu,"
        " j.pods, j.queue, j.evictions, j.state, j.min_pods FROM job AS j JOIN v_waits AS w ON"
        " w.job = j.id WHERE j.state > 0 ORDER BY w.from_ms, j.id");
    while (orr_results_step(&load->in, row) && schedule->job_count < room) {
        const bool left = sqlite3_column_int64(row, 10) == 4;
        add(&load->jobs, sqlite3_column_int64(row, 0));
        schedule->jobs[schedule->job_count++] =
            (struct orr_audit_job){.name = keep_text(load, row, 1),
                                   .submit_ms = sqlite3_column_int64(row, 2),
                                   .start_ms = time_or(row, 3, ORR_MS_NONE),
                                   .end_ms = left ? ORR_MS_NONE : time_or(row, 4, ORR_MS_NONE),
                                   .left_ms = left ? time_or(row, 4, ORR_MS_NEVER) : ORR_MS_NEVER,
                                   .estimate_ms = sqlite3_column_int64(row, 5),
                                   .mgpu = sqlite3_column_int64(row, 6),
                                   .pods = (uint32_t)sqlite3_column_int64(row, 7),
                                   .min_pods = (uint32_t)sqlite3_column_int64(row, 11),
                                   .queue = find(&load->queues, sqlite3_column_int64(row, 8)),
                                   .evictions = (uint32_t)sqlite3_column_int64(row, 9),
                                   .finished = sqlite3_column_int64(row, 10) == 3};
    }
}

static void load_spans(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM v_placements");
    schedule->spans = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->spans);
    sqlite3_stmt *row = orr_results_prepare(
        &load->in, "SELECT job, nr, node, pods, mgpu, devices, start_ms, end_ms FROM v_placements"
                   " ORDER BY job, nr, node");
    while (orr_results_step(&load->in, row) && schedule->span_count < room) {
        const uint32_t job = find(&load->jobs, sqlite3_column_int64(row, 0));
        const uint32_t node = find(&load->nodes, sqlite3_column_int64(row, 2));
        if (job == ORR_NONE || node == ORR_NONE) {
            stray(load, job == ORR_NONE ? "job" : "node",
                  sqlite3_column_int64(row, job == ORR_NONE ? 0 : 2));
            continue;
        }
        schedule->spans[schedule->span_count++] =
            (struct orr_audit_span){.job = job,
                                    .nr = (uint32_t)sqlite3_column_int64(row, 1),
                                    .node = node,
                                    .pods = (uint32_t)sqlite3_column_int64(row, 3),
                                    .mgpu = sqlite3_column_int64(row, 4),
                                    .devices = (uint64_t)sqlite3_column_int64(row, 5),
                                    .has_devices = sqlite3_column_type(row, 5) != SQLITE_NULL,
                                    .start_ms = sqlite3_column_int64(row, 6),
                                    .end_ms = time_or(row, 7, ORR_MS_NEVER)};
    }
}

static void load_cuts(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, "SELECT count(*) FROM attempt");
    schedule->cuts = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->cuts);
    sqlite3_stmt *row = orr_results_prepare(
        &load->in, "SELECT job, nr, end_ms, cause = 'reclaim' FROM attempt ORDER BY job, nr");
    while (orr_results_step(&load->in, row) && schedule->cut_count < room) {
        const uint32_t job = find(&load->jobs, sqlite3_column_int64(row, 0));
        if (job == ORR_NONE) {
            stray(load, "job", sqlite3_column_int64(row, 0));
            continue;
        }
        schedule->cuts[schedule->cut_count++] =
            (struct orr_audit_cut){.job = job,
                                   .nr = (uint32_t)sqlite3_column_int64(row, 1),
                                   .at_ms = sqlite3_column_int64(row, 2),
                                   .by_reclaim = sqlite3_column_int64(row, 3) != 0};
    }
}

enum orr_status orr_schedule_load(const char *db_path, struct orr_schedule *schedule,
                                  struct orr_err *err)
{
    struct load load = {.schedule = schedule};
    *schedule = (struct orr_schedule){0};
    orr_arena_init(&schedule->arena);
    orr_results_open(&load.in, db_path, err);
    load_run(&load);
    load_nodes(&load);
    load_queues(&load);
    load_owed(&load);
    load_jobs(&load);
    load_spans(&load);
    load_cuts(&load);
    const enum orr_status status = load.in.status;
    orr_results_close(&load.in);
    orr_free(load.jobs.ids);
    orr_free(load.nodes.ids);
    orr_free(load.queues.ids);
    if (status != ORR_OK) {
        orr_schedule_release(schedule);
    }
    return status;
}

void orr_schedule_release(struct orr_schedule *schedule)
{
    orr_arena_release(&schedule->arena);
    *schedule = (struct orr_schedule){0};
}
