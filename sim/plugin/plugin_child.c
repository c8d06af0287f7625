/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_child.c - a policy that is a child process: JSON lines over pipes. README.md of this
 * folder has the protocol.
 *
 * Events are gathered and sent with the next cycle; within a cycle the child writes one request a
 * line, each is answered by a line, until it says that it is done. The first mistake ends the run:
 * what it did in that cycle is never committed. */
#include "plugin_child.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/core/bar.h>

#include "plugin_sql.h"

#define HEAD sizeof(max_align_t) /* parameters: a pointer to the child, then texts */

/* --- the contract --- */

bool orr_child__shares(void *state, const struct orr_view *view, double *mgpu)
{
    struct orr_plugin__child *child = state;
    const bool changed = child->shares_changed;
    for (uint32_t q = 0; q < view->queues->count && changed; q++) {
        if (view->queues->queues[q].child_count == 0 &&
            view->queues->queues[q].shard == view->shard) {
            mgpu[q] = child->shares[q];
        }
    }
    child->shares_changed = false;
    return changed;
}

static enum orr_status child_open(const struct orr_host *host, const void *params,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    struct orr_plugin__child *child = *(struct orr_plugin__child *const *)params;
    (void)err;
    child->host = host;
    child->wake_ms = ORR_MS_NEVER;
    child->idle_sent = orr_zalloc(view->cluster->node_count, sizeof *child->idle_sent);
    child->mig_sent = view->cluster->mig_profiles.count == 0
                          ? NULL
                          : orr_zalloc((size_t)view->cluster->node_count * ORR_MIG_PROFILES_MAX,
                                       sizeof *child->mig_sent);
    child->shares = orr_alloc(view->queues->count + (size_t)1, sizeof *child->shares);
    child->queue_changed =
        orr_zalloc(view->queues->count + (size_t)1, sizeof *child->queue_changed);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        child->shares[q] = -1.0;
    }
    orr_child__send_world(child, view);
    *state = child;
    return ORR_OK;
}

static void child_event(void *state, const struct orr_view *view, enum orr_job_event event,
                        uint32_t job)
{
    struct orr_plugin__child *child = state;
    (void)view;
    child->events = ORR_ROOM_FOR_ONE(child->events, child->event_count, child->event_capacity);
    child->events[child->event_count++] =
        (struct orr_child_event){.job = job, .event = (uint8_t)event};
}

static void child_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    const struct orr_plugin__child *child = state;
    (void)view;
    child->queue_changed[queue] = true;
}

static void child_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct orr_plugin__child *child = state;
    struct orr_child_turn turn = {.child = child, .view = view, .txn = txn};
    const uint32_t before = child->host->checkpoint(txn);
    enum orr_status status = child->err.status;
    if (status == ORR_OK) {
        orr_child__send_cycle(child, view);
    }
    orr_pipe_begin_cycle(&child->pipe);
    orr_plugin__ask(child->pipe.pid);
    while (status == ORR_OK && !turn.done) {
        status = orr_child__take_turn(&turn);
    }
    orr_plugin__ask(0);
    orr_pipe_end_cycle(&child->pipe);
    if (status != ORR_OK) {
        child->host->rollback(txn, before);
    }
}

static orr_ms child_wake(void *state, const struct orr_view *view)
{
    const struct orr_plugin__child *child = state;
    return child->wake_ms > view->now ? child->wake_ms : ORR_MS_NEVER;
}

static void child_close(void *state)
{
    struct orr_plugin__child *child = state;
    orr_free(child->idle_sent);
    child->idle_sent = NULL;
    orr_free(child->mig_sent);
    child->mig_sent = NULL;
    orr_free(child->shares);
    child->shares = NULL;
    orr_free(child->queue_changed);
    child->queue_changed = NULL;
}

static bool child_failed(void *state, struct orr_err *err)
{
    const struct orr_plugin__child *child = state;
    return child->err.status != ORR_OK &&
           orr_fail(err, ORR_PLUGIN, "%s", child->err.text) != ORR_OK;
}

/* The first queue from a job's own upwards whose limit, or quota, is less than its gang asks. */
static struct orr_bar child_bars(const void *params, const struct orr_view *view, uint32_t job)
{
    const struct orr_plugin__child *child = *(struct orr_plugin__child *const *)params;
    const bool of_quota =
        (child->bars & ORR_CHILD_BARS_QUOTA) != 0 && !view->specs[job].preemptible;
    struct orr_bar bar = {.reason = ORR_REASON_NONE};
    if ((child->bars & ORR_CHILD_BARS_LIMIT) != 0) {
        bar = orr_bar_of_queues(view, job, true, true, false);
    }
    return bar.reason == ORR_REASON_NONE && of_quota
               ? orr_bar_of_queues(view, job, false, true, false)
               : bar;
}

static uint32_t child_heeds(const void *params)
{
    return (*(struct orr_plugin__child *const *)params)->heeds;
}

/* --- its life --- */

static enum orr_status greet(struct orr_plugin__child *child, const struct orr_setting *settings,
                             size_t count)
{
    char *line;
    struct orr_json json = orr_child__begin(child, "hello");
    orr_json_int(&json, "protocol", ORR_CHILD_PROTOCOL);
    orr_json_open(&json, "params", '{');
    for (size_t i = 0; i < count; i++) {
        orr_json_text(&json, settings[i].name, settings[i].value);
    }
    orr_json_close(&json, '}');
    orr_json_close(&json, '}');
    const enum orr_status status = orr_child__read(child, &line);
    return status == ORR_OK ? orr_child__take_hello(child, line) : status;
}

/* Every setting is a parameter: the child says nothing of those it knows. */
static void make_rows(struct orr_plugin__child *child, const struct orr_setting *settings,
                      size_t count)
{
    child->rows = orr_zalloc(count + 1, sizeof *child->rows);
    for (size_t i = 0; i < count; i++) {
        child->rows[i] = (struct orr_param){.name = settings[i].name,
                                            .type = ORR_PARAM_TEXT,
                                            .offset = HEAD + i * sizeof(const char *),
                                            .fallback = "",
                                            .unit = "",
                                            .help = "passed to the child process"};
    }
    child->policy.params = child->rows;
    child->policy.params_bytes = HEAD + count * sizeof(const char *);
}

static enum orr_status open_reader(struct orr_plugin__child *child)
{
    static const char *const texts[] = {[ORR_CHILD_IS_OBJECT] = orr_plugin_sql__is_object,
                                        [ORR_CHILD_HELLO] = orr_plugin_sql__hello,
                                        [ORR_CHILD_MEMBERS] = orr_plugin_sql__members,
                                        [ORR_CHILD_WORDS] = orr_plugin_sql__words,
                                        [ORR_CHILD_MESSAGE] = orr_plugin_sql__message,
                                        [ORR_CHILD_SEATS] = orr_plugin_sql__seats,
                                        [ORR_CHILD_SHARES] = orr_plugin_sql__shares,
                                        [ORR_CHILD_JOBS] = orr_plugin_sql__jobs};
    bool good = sqlite3_open(":memory:", &child->db) == SQLITE_OK;
    for (int q = 0; q < ORR_CHILD_QUERIES && good; q++) {
        good = sqlite3_prepare_v2(child->db, texts[q], -1, &child->queries[q], NULL) == SQLITE_OK;
    }
    return good ? ORR_OK
                : orr_fail(&child->err, ORR_BUG, "policy %s: %s", child->name,
                           sqlite3_errmsg(child->db));
}

enum orr_status orr_plugin__child_open(const char *name, const struct orr_setting *settings,
                                       size_t count, struct orr_plugin__child **out,
                                       struct orr_err *err)
{
    int64_t timeout_s;
    enum orr_status status = orr_plugin__timeout_s(&timeout_s, err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_plugin__child *child = orr_zalloc(1, sizeof *child);
    child->name = orr_strdup(name);
    child->pipe = (struct orr_pipe){.down = -1, .from = -1};
    child->policy = (struct orr_policy){.abi = ORR_POLICY_ABI,
                                        .size = sizeof child->policy,
                                        .name = child->own_name,
                                        .summary = "a child process",
                                        .open = child_open,
                                        .event = child_event,
                                        .cycle = child_cycle,
                                        .wake = child_wake,
                                        .close = child_close,
                                        .queue = child_queue,
                                        .heeds = child_heeds,
                                        .bars = child_bars,
                                        .abilities = ORR_ABLE_JOINED,
                                        .failed = child_failed};
    make_rows(child, settings, count);
    status = open_reader(child);
    if (status == ORR_OK) {
        status = orr_pipe_open(&child->pipe, child->name, name + sizeof ORR_PLUGIN_CHILD - 1,
                               timeout_s, &child->err);
    }
    char here[4096];
    if (status == ORR_OK) {
        status = greet(child, settings, count);
    }
    if (status != ORR_OK) {
        const bool known = getcwd(here, sizeof here) != NULL;
        orr_fail(err, status, "%s; its command was started in %s", child->err.text,
                 known ? here : "the current folder");
        orr_plugin__child_close(child);
        return status;
    }
    *out = child;
    return ORR_OK;
}

void orr_plugin__child_close(struct orr_plugin__child *child)
{
    if (child == NULL) {
        return;
    }
    orr_pipe_close(&child->pipe);
    for (int q = 0; q < ORR_CHILD_QUERIES; q++) {
        (void)sqlite3_finalize(child->queries[q]);
    }
    (void)sqlite3_close(child->db);
    orr_free(child->idle_sent);
    orr_free(child->shares);
    orr_free(child->queue_changed);
    orr_free(child->events);
    orr_free(child->seats);
    orr_free(child->rows);
    orr_free(child->name);
    orr_free(child);
}

const struct orr_policy *orr_plugin__child_policy(const struct orr_plugin__child *child)
{
    return &child->policy;
}

void orr_plugin__child_bind(struct orr_plugin__child *child, void *params)
{
    memcpy(params, &child, sizeof child);
}
