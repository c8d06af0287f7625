/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a child process asks for within a cycle, one request a line, each of which is answered. */
#include "plugin_child.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define WAKE_MOST_S 1e12

static const char a_job[] = "the number of a job", on_nodes[] = "a list of [node, pods]";
static const struct orr_child_member of_place[] = {
    {"place", "integer", a_job},
    {"on", "array", on_nodes},
    {"group", "integer null", "the number of a group"},
    {NULL, NULL, NULL}};
static const struct orr_child_member of_evict[] = {
    {"evict", "integer", a_job}, {"for", "integer null", a_job}, {NULL, NULL, NULL}};
static const struct orr_child_member of_explain[] = {
    {"explain", "integer", a_job}, {"reason", "text", "a reason"}, {NULL, NULL, NULL}};
static const struct orr_child_member of_progress[] = {{"progress", "array", "a list of jobs"},
                                                      {NULL, NULL, NULL}};
static const struct orr_child_member of_rate[] = {
    {"rate", "integer", a_job},
    {"on", "array", on_nodes},
    {"group", "integer null", "the number of a group"},
    {NULL, NULL, NULL}};
static const struct orr_child_member of_end[] = {{"end", "true", "true"},
                                                 {"wake_s", "integer real null", "seconds"},
                                                 {"shares", "array", "a list of [queue, GPUs]"},
                                                 {NULL, NULL, NULL}};

/* A job of its shard, by number; `where` is the column of the value, behind that of its type. */
static bool is_job(const struct orr_child_turn *t, int64_t job)
{
    return job >= 0 && job < t->view->job_count && t->view->jobs[job].phase != ORR_JOB_FUTURE &&
           t->view->queues->queues[t->view->specs[job].queue].shard == t->view->shard;
}

static enum orr_status take_job(const struct orr_child_turn *t, sqlite3_stmt *row, int column,
                                uint32_t *job)
{
    const int64_t number = sqlite3_column_int64(row, column);
    if (!orr_child__is_integer(row, column - 1) || !is_job(t, number)) {
        return orr_child__refuse(t->child, t->line, "there is no such job");
    }
    *job = (uint32_t)number;
    return ORR_OK;
}

/* [[node, pods], ...] into child->seats. */
static enum orr_status take_seats(const struct orr_child_turn *t, uint32_t group)
{
    struct orr_plugin__child *child = t->child;
    child->seat_count = 0;
    for (sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_SEATS, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const int64_t node = sqlite3_column_int64(row, 1), pods = sqlite3_column_int64(row, 3);
        const bool pair = sqlite3_column_int(row, 4) == 2;
        if (!pair || !orr_child__is_integer(row, 0) || !orr_child__is_integer(row, 2) || pods < 1 ||
            pods > UINT32_MAX / 2) {
            return orr_child__refuse(child, t->line, "\"on\" is a list of [node, pods]");
        }
        if (node < 0 || node >= t->view->cluster->node_count) {
            return orr_child__refuse(child, t->line, "\"on\" names a node that there is not");
        }
        child->seats = ORR_ROOM_FOR_ONE(child->seats, child->seat_count, child->seat_capacity);
        child->seats[child->seat_count++] =
            (struct orr_seat){.node = (uint32_t)node, .group = group, .tasks = (uint32_t)pods};
    }
    return child->seat_count > 0 ? ORR_OK
                                 : orr_child__refuse(child, t->line, "\"on\" names no node");
}

static enum orr_status place_on(const struct orr_child_turn *t, uint32_t job, int64_t group)
{
    struct orr_plugin__child *child = t->child;
    const struct orr_shape *shape = &t->view->shapes->shapes[t->view->specs[job].shape];
    if (group < 0 || group >= shape->group_count) {
        return orr_child__refuse(child, t->line, "the job has no such group");
    }
    enum orr_status status = take_seats(t, (uint32_t)group);
    for (uint32_t s = 0; s < child->seat_count && status == ORR_OK; s++) {
        const struct orr_seat *seat = &child->seats[s];
        if (!child->host->place(t->txn, job, seat->group, seat->tasks, seat->node)) {
            char why[160];
            const uint32_t room =
                child->host->room_for(t->view->ledger, seat->node, &shape->groups[group].request);
            (void)snprintf(why, sizeof why,
                           "job %u has not so many pods to place, or node %u no room for them (%u "
                           "fit)",
                           job, seat->node, room);
            status = orr_child__refuse(child, t->line, why);
        }
    }
    return status;
}

static enum orr_status do_place(struct orr_child_turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    const bool named = !orr_child__is_null(row, 2);
    const int64_t group = sqlite3_column_int64(row, 3);
    enum orr_status status = take_job(t, row, 1, &job);
    if (status == ORR_OK && !named && !orr_child__is_null(row, 17)) {
        status = orr_child__refuse(t->child, t->line, "\"group\" goes with \"on\"");
    }
    if (status == ORR_OK && t->view->jobs[job].phase != ORR_JOB_PENDING &&
        t->view->jobs[job].phase != ORR_JOB_RUNNING) {
        status = orr_child__refuse(t->child, t->line, "the job does not wait");
    }
    if (status == ORR_OK && named) {
        status = place_on(t, job, group);
    }
    if (status == ORR_OK) {
        orr_child__answer(t->child,
                          named ? ORR_REASON_NONE
                                : t->child->host->place_consolidated(t->txn, t->view->ledger, job));
    }
    return status;
}

static enum orr_status do_evict(struct orr_child_turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    const int64_t beneficiary = orr_child__is_null(row, 6) ? -1 : sqlite3_column_int64(row, 6);
    enum orr_status status = take_job(t, row, 5, &job);
    if (status == ORR_OK && beneficiary != -1 && !is_job(t, beneficiary)) {
        status = orr_child__refuse(t->child, t->line, "there is no job to evict it for");
    }
    if (status == ORR_OK &&
        !t->child->host->evict_for(t->txn, job, ORR_CAUSE_PREEMPT,
                                   beneficiary < 0 ? ORR_NONE : (uint32_t)beneficiary)) {
        status = orr_child__refuse(t->child, t->line, "the job does not run");
    }
    if (status == ORR_OK) {
        orr_child__answer(t->child, ORR_REASON_NONE);
    }
    return status;
}

static enum orr_status do_explain(struct orr_child_turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    const char *code = (const char *)sqlite3_column_text(row, 9);
    enum orr_reason reason = ORR_REASON_NONE;
    for (int r = ORR_REASON_NONE + 1; code != NULL && r < ORR_REASON_COUNT; r++) {
        reason =
            strcmp(orr_reason_code((enum orr_reason)r), code) == 0 ? (enum orr_reason)r : reason;
    }
    enum orr_status status = take_job(t, row, 8, &job);
    if (status == ORR_OK && reason == ORR_REASON_NONE) {
        status = orr_child__refuse(t->child, t->line, "there is no such reason");
    }
    if (status == ORR_OK && t->view->jobs[job].phase != ORR_JOB_PENDING) {
        status = orr_child__refuse(t->child, t->line, "the job does not wait");
    }
    if (status == ORR_OK) {
        if (t->view->jobs[job].reason != (uint8_t)reason) {
            t->child->host->explain(t->txn, job, reason);
        }
        orr_child__answer(t->child, ORR_REASON_NONE);
    }
    return status;
}

static enum orr_status do_progress(struct orr_child_turn *t, sqlite3_stmt *message)
{
    (void)message;
    struct orr_plugin__child *child = t->child;
    struct orr_json json = orr_child__begin(child, NULL);
    orr_json_open(&json, "progress", '[');
    for (sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_JOBS, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        uint32_t job = ORR_NONE;
        const enum orr_status status = take_job(t, row, 1, &job);
        if (status != ORR_OK) {
            return status;
        }
        orr_child__send_progress(child, &json, t->view, job);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
    return ORR_OK;
}

/* How many pods the GPUs of a node are enough for when it is empty. Of pods that share devices it
 * is not known here. */
static uint32_t most_pods(const struct orr_request *request, const struct orr_node_type *type)
{
    if (request->instances > 0) {
        return type->mig[request->mig_profile] / request->instances;
    }
    return request->gpu_ask == ORR_GPU_WHOLE ? type->gpus / request->devices : UINT32_MAX;
}

static int by_node(const void *a, const void *b, void *context)
{
    const struct orr_seat *x = a, *y = b;
    (void)context;
    return (x->node > y->node) - (x->node < y->node);
}

static enum orr_status refuse_seats(const struct orr_child_turn *t, uint32_t job, uint32_t pods,
                                    uint32_t node, uint32_t most)
{
    char why[160];
    (void)snprintf(why, sizeof why,
                   "\"on\" is out of range: the group of job %u has %u pod%s, and of them node %u "
                   "holds %u at most",
                   job, pods, ORR_PLURAL(pods), node, most < pods ? most : pods);
    return orr_child__refuse(t->child, t->line, why);
}

/* Could the job have these seats at some time: has it so many pods, and each node the GPUs? */
static enum orr_status check_seats(const struct orr_child_turn *t, uint32_t job,
                                   const struct orr_task_group *group)
{
    const uint32_t count = t->child->seat_count;
    struct orr_seat *seats = orr_alloc(count, sizeof *seats);
    uint64_t pods = 0, here = 0; /* of the job, and of it on the node of the seat */
    enum orr_status status = ORR_OK;
    memcpy(seats, t->child->seats, count * sizeof *seats);
    orr_sort(seats, count, sizeof *seats, by_node, NULL);
    for (uint32_t s = 0; s < count && status == ORR_OK; s++) {
        const uint32_t node = seats[s].node;
        const uint32_t most = most_pods(&group->request, orr_cluster_type(t->view->cluster, node));
        here = (s > 0 && seats[s - 1].node == node ? here : 0) + seats[s].tasks;
        pods += seats[s].tasks;
        status = pods > group->count || here > most ? refuse_seats(t, job, group->count, node, most)
                                                    : ORR_OK;
    }
    orr_free(seats);
    return status;
}

static enum orr_status do_rate(struct orr_child_turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    struct orr_plugin__child *child = t->child;
    const int64_t group = sqlite3_column_int64(row, 3);
    enum orr_status status = take_job(t, row, 12, &job);
    if (status == ORR_OK) {
        const struct orr_shape *shape = &t->view->shapes->shapes[t->view->specs[job].shape];
        status = group < 0 || group >= shape->group_count
                     ? orr_child__refuse(child, t->line, "the job has no such group")
                     : take_seats(t, (uint32_t)group);
        status = status == ORR_OK ? check_seats(t, job, &shape->groups[group]) : status;
    }
    if (status == ORR_OK) {
        const int64_t ppm = child->host->rate_at(t->view, job, child->seats, child->seat_count);
        struct orr_json json = orr_child__begin(child, NULL);
        orr_json_real(&json, "rate", (double)ppm / ORR_PPM);
        orr_json_close(&json, '}');
    }
    return status;
}

/* [[queue, GPUs or null], ...]; the other queues keep theirs. */
static enum orr_status take_shares(const struct orr_child_turn *t)
{
    struct orr_plugin__child *child = t->child;
    const struct orr_queues *queues = t->view->queues;
    if (child->policy.shares == NULL) {
        return orr_child__refuse(child, t->line, "its hello does not say that it has \"shares\"");
    }
    for (sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_SHARES, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const int64_t q = sqlite3_column_int64(row, 1);
        const double gpus = orr_child__is_null(row, 3) ? -1.0 : sqlite3_column_double(row, 3);
        const char *type = (const char *)sqlite3_column_text(row, 2);
        const bool number = type != NULL && orr_child__is_among(type, "integer real null");
        if (!orr_child__is_integer(row, 0) || q < 0 || q >= queues->count || !number ||
            queues->queues[q].child_count > 0 || queues->queues[q].shard != t->view->shard ||
            (gpus < 0.0 && !orr_child__is_null(row, 3)) || gpus > 1e9) {
            return orr_child__refuse(
                child, t->line, "\"shares\" is a list of [queue, GPUs], of queues that hold jobs");
        }
        const double mgpu = gpus < 0.0 ? -1.0 : gpus * ORR_MGPU;
        child->shares_changed = child->shares_changed || child->shares[q] != mgpu;
        child->shares[q] = mgpu;
    }
    return ORR_OK;
}

static enum orr_status do_end(struct orr_child_turn *t, sqlite3_stmt *row)
{
    orr_ms wake = ORR_MS_NEVER;
    if (!orr_child__is_null(row, 15)) {
        const double seconds = sqlite3_column_double(row, 15);
        if (seconds > WAKE_MOST_S) {
            return orr_child__refuse(t->child, t->line,
                                     "\"wake_s\" is above 1e12 s; null is no wish");
        }
        wake = seconds > -WAKE_MOST_S ? (orr_ms)llround(seconds * 1000.0) : ORR_MS_NONE;
        if (wake <= t->view->now) {
            return orr_child__refuse(t->child, t->line, "\"wake_s\" is not after now");
        }
    }
    t->child->wake_ms = wake;
    t->done = true;
    return orr_child__is_null(row, 16) ? ORR_OK : take_shares(t);
}

/* What a message is by the column of its type, and what it may have. */
static const struct message {
    const char *name;
    int column; /* of ORR_CHILD_MESSAGE */
    const struct orr_child_member *members;
    enum orr_status (*take)(struct orr_child_turn *t, sqlite3_stmt *row);
} messages[] = {
    {"\"place\"", 0, of_place, do_place},       {"\"evict\"", 4, of_evict, do_evict},
    {"\"explain\"", 7, of_explain, do_explain}, {"\"progress\"", 10, of_progress, do_progress},
    {"\"rate\"", 11, of_rate, do_rate},         {"\"end\"", 13, of_end, do_end}};

/* One line. Values of a row are gone as soon as another line is read. */
enum orr_status orr_child__take_turn(struct orr_child_turn *t)
{
    enum orr_status status = orr_child__read(t->child, &t->line);
    if (status != ORR_OK) {
        return status;
    }
    sqlite3_stmt *row = orr_child__ask(t->child, ORR_CHILD_MESSAGE, t->line);
    if (row == NULL) {
        return orr_child__refuse(t->child, t->line, "no message of the protocol");
    }
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const struct message *message = &messages[i];
        if (!orr_child__is_null(row, message->column)) {
            status = orr_child__look_at(t->child, t->line, message->name, message->members);
            return status == ORR_OK ? message->take(t, row) : status;
        }
    }
    return orr_child__refuse(t->child, t->line,
                             "none of \"place\", \"evict\", \"explain\", \"progress\", \"rate\", "
                             "\"end\"");
}
