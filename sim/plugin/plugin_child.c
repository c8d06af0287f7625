/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_child.c - a policy that is a child process: JSON lines over pipes. README.md of this
 * folder has the protocol.
 *
 * Events are gathered and sent with the next cycle; within a cycle the child writes one request a
 * line, each is answered by a line, until it says that it is done. The first mistake ends the run:
 * what it did in that cycle is never committed. */
#include "plugin_int.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/analysis/json.h>
#include <orrery/core/bar.h>

#include "plugin_pipe.h"
#include "plugin_sql.h"

#define PROTOCOL 1
#define HEAD     sizeof(max_align_t) /* parameters: a pointer to the child, then texts */

enum query { IS_OBJECT, HELLO, MEMBERS, WORDS, MESSAGE, SEATS, SHARES, JOBS, QUERIES };

enum { BARS_LIMIT = 1u << 0, BARS_QUOTA = 1u << 1 };

struct queued_event {
    uint32_t job;
    uint8_t event; /* enum orr_job_event */
};

struct orr_plugin__child {
    struct orr_policy policy;
    struct orr_param *rows;
    char *name;        /* exec:COMMAND */
    char own_name[64]; /* as it calls itself */
    struct orr_pipe pipe;
    sqlite3 *db; /* no file: it takes JSON apart */
    sqlite3_stmt *queries[QUERIES];
    uint32_t heeds, bars; /* ORR_HEEDS_*, BARS_* */
    double *shares;       /* per queue: mgpu; below 0: none */
    bool shares_changed;
    const struct orr_host *host;
    struct queued_event *events;
    uint32_t event_count, event_capacity;
    bool *queue_changed; /* per queue: its entitlement is another than the child knows */
    int32_t *idle_sent;  /* per node: GPUs */
    int16_t *mig_sent;   /* per node and MIG profile: instances; NULL: there are no profiles */
    struct orr_seat *seats;
    uint32_t seat_count, seat_capacity;
    orr_ms wake_ms;
    struct orr_err err; /* why it cannot go on */
};

/* --- reading --- */

static sqlite3_stmt *ask(struct orr_plugin__child *child, enum query query, const char *line)
{
    sqlite3_stmt *statement = child->queries[query];
    (void)sqlite3_reset(statement);
    (void)sqlite3_bind_text(statement, 1, line, -1, SQLITE_STATIC);
    return sqlite3_step(statement) == SQLITE_ROW ? statement : NULL;
}

static bool is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static bool is_integer(sqlite3_stmt *row, int type_column)
{
    const unsigned char *type = sqlite3_column_text(row, type_column);
    return type != NULL && strcmp((const char *)type, "integer") == 0;
}

/* Why the run ends; what the child wrote comes first. */
static enum orr_status refuse(struct orr_plugin__child *child, const char *line, const char *why)
{
    return orr_fail(&child->err, ORR_PLUGIN, "policy %s: wrote \"%.200s\": %s; no results are kept",
                    child->name, line, why);
}

static enum orr_status read_object(struct orr_plugin__child *child, char **line)
{
    enum orr_status status = orr_pipe_line(&child->pipe, line, &child->err);
    if (status != ORR_OK) {
        return status;
    }
    for (char *c = *line; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        *c = byte == '\r' || byte == '\t' ? ' ' : *c;
        if (byte < 0x20 && byte != '\r' && byte != '\t') {
            *c = '?'; /* JSON has none; it is shown in an error */
        }
    }
    sqlite3_stmt *row = ask(child, IS_OBJECT, *line);
    return row != NULL && sqlite3_column_int(row, 0) != 0
               ? ORR_OK
               : refuse(child, *line, "no JSON object of one line");
}

/* --- the first words --- */

static bool child_shares(void *state, const struct orr_view *view, double *mgpu)
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

static bool take_seconds(sqlite3_stmt *row, int column, orr_ms *out)
{
    const double seconds = sqlite3_column_double(row, column);
    *out = seconds >= 0.0 && seconds < 1e9 ? (orr_ms)llround(seconds * 1000.0) : -1;
    return *out >= 0;
}

/* Is the word one of a list, in which blanks part them? */
static bool is_among(const char *word, const char *list)
{
    const size_t bytes = strlen(word);
    const char *at = bytes > 0 ? strstr(list, word) : NULL;
    while (at != NULL && ((at > list && at[-1] != ' ') || (at[bytes] != ' ' && at[bytes] != 0))) {
        at = strstr(at + 1, word);
    }
    return at != NULL;
}

/* Which of the list it is, from 0. */
static uint32_t number_of(const char *word, const char *list)
{
    const size_t bytes = strlen(word);
    uint32_t number = 0;
    while (strncmp(list, word, bytes) != 0 || (list[bytes] != ' ' && list[bytes] != 0)) {
        list = strchr(list, ' ') + 1;
        number++;
    }
    return number;
}

/* What a message may have: its members, and which types of JSON each may be of. */
struct member {
    const char *name, *types, *what;
};
#define MEMBERS_MAX 16 /* of one message */

static const struct member of_hello[] = {{"protocol", "integer", "1"},
                                         {"name", "text", "a word"},
                                         {"gang", "true false null", "true or false"},
                                         {"limit", "true false null", "true or false"},
                                         {"topology", "true false null", "true or false"},
                                         {"topology_parts", "true false null", "true or false"},
                                         {"cycle_s", "integer real null", "seconds"},
                                         {"round_s", "integer real null", "seconds"},
                                         {"heeds", "array null", "a list of words"},
                                         {"abilities", "array null", "a list of words"},
                                         {"bars", "array null", "a list of words"},
                                         {"shares", "true false null", "true or false"},
                                         {NULL, NULL, NULL}};
static const char a_job[] = "the number of a job", on_nodes[] = "a list of [node, pods]";
static const struct member of_place[] = {{"place", "integer", a_job},
                                         {"on", "array", on_nodes},
                                         {"group", "integer null", "the number of a group"},
                                         {NULL, NULL, NULL}};
static const struct member of_evict[] = {
    {"evict", "integer", a_job}, {"for", "integer null", a_job}, {NULL, NULL, NULL}};
static const struct member of_explain[] = {
    {"explain", "integer", a_job}, {"reason", "text", "a reason"}, {NULL, NULL, NULL}};
static const struct member of_progress[] = {{"progress", "array", "a list of jobs"},
                                            {NULL, NULL, NULL}};
static const struct member of_rate[] = {{"rate", "integer", a_job},
                                        {"on", "array", on_nodes},
                                        {"group", "integer null", "the number of a group"},
                                        {NULL, NULL, NULL}};
static const struct member of_end[] = {{"end", "true", "true"},
                                       {"wake_s", "integer real null", "seconds"},
                                       {"shares", "array", "a list of [queue, GPUs]"},
                                       {NULL, NULL, NULL}};

/* "protocol, name, gang" */
static void list_members(const struct member *members, char *text, size_t bytes)
{
    size_t used = 0;
    for (const struct member *m = members; m->name != NULL && used < bytes; m++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s", m == members ? "" : ", ", m->name);
    }
}

/* Is the member one of the message, of a type that it may be of, and there once? `seen`: how often
 * each was there. */
static enum orr_status look_at_member(struct orr_plugin__child *child, const char *line,
                                      const char *message, const struct member *members,
                                      const char *key, const char *type, uint8_t *seen)
{
    const struct member *found = members;
    char why[300] = "", list[160];
    while (found->name != NULL && strcmp(found->name, key) != 0) {
        found++;
    }
    if (found->name == NULL) {
        list_members(members, list, sizeof list);
        (void)snprintf(why, sizeof why, "its %s has no member \"%.60s\"; the members are %s",
                       message, key, list);
    } else if (!is_among(type, found->types)) {
        (void)snprintf(why, sizeof why, "its \"%s\" is not %s", key, found->what);
    } else if (seen[found - members]++ > 0) {
        (void)snprintf(why, sizeof why, "its \"%s\" is there twice", key);
    }
    return why[0] == '\0' ? ORR_OK : refuse(child, line, why);
}

/* Has it members that such a message does not have, of another type, or twice? */
static enum orr_status look_at_members(struct orr_plugin__child *child, const char *line,
                                       const char *message, const struct member *members)
{
    enum orr_status status = ORR_OK;
    uint8_t seen[MEMBERS_MAX] = {0};
    for (sqlite3_stmt *row = ask(child, MEMBERS, line); row != NULL && status == ORR_OK;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        status =
            look_at_member(child, line, message, members, (const char *)sqlite3_column_text(row, 0),
                           (const char *)sqlite3_column_text(row, 1), seen);
    }
    return status;
}

/* A member that is a list of words. In `words` blanks part them; the nth stands for bit n. */
static enum orr_status take_words(struct orr_plugin__child *child, const char *line,
                                  const char *member, const char *words, uint32_t *bits)
{
    enum orr_status status = ORR_OK;
    (void)sqlite3_reset(child->queries[WORDS]);
    (void)sqlite3_bind_text(child->queries[WORDS], 2, member, -1, SQLITE_STATIC);
    for (sqlite3_stmt *row = ask(child, WORDS, line); row != NULL && status == ORR_OK;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const char *word = (const char *)sqlite3_column_text(row, 0);
        if (word == NULL || strchr(word, ' ') != NULL || !is_among(word, words)) {
            char why[400];
            (void)snprintf(why, sizeof why, "its \"%s\" has no word \"%.60s\"; the words are %s",
                           member, word == NULL ? "null" : word, words);
            status = refuse(child, line, why);
        } else {
            *bits |= 1u << number_of(word, words);
        }
    }
    return status;
}

/* Lists of words, each in the order of its bits. */
static enum orr_status take_lists(struct orr_plugin__child *child, const char *line)
{
    static const char heeds[] = "priority queues work seconds min-runtime no-past kind-spans "
                                "slices quotas pod-sizes estimates deadlines gpu-time no-order "
                                "limits";
    static const char abilities[] = "stale-gangs parts scale losses";
    enum orr_status status = take_words(child, line, "heeds", heeds, &child->heeds);
    if (status == ORR_OK) {
        status = take_words(child, line, "abilities", abilities, &child->policy.abilities);
    }
    return status == ORR_OK ? take_words(child, line, "bars", "limit quota", &child->bars) : status;
}

static enum orr_status take_hello(struct orr_plugin__child *child, char *line)
{
    sqlite3_stmt *row = ask(child, HELLO, line);
    if (row == NULL || is_null(row, 0) || sqlite3_column_int(row, 0) != PROTOCOL) {
        return refuse(child, line, "its \"protocol\" is not 1, the one that this program speaks");
    }
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *fault = orr_plugin__name_fault(name == NULL ? "" : name);
    if (fault != NULL) {
        char why[160];
        (void)snprintf(why, sizeof why, "its \"name\" %s", fault);
        return refuse(child, line, why);
    }
    (void)snprintf(child->own_name, sizeof child->own_name, "%s", name);
    child->policy.name = child->own_name;
    child->policy.laws = (sqlite3_column_int(row, 2) != 0 ? ORR_LAW_GANG : 0u) |
                         (sqlite3_column_int(row, 3) != 0 ? ORR_LAW_LIMIT : 0u) |
                         (sqlite3_column_int(row, 6) != 0 ? ORR_LAW_SPAN : 0u) |
                         (sqlite3_column_int(row, 7) != 0 ? ORR_LAW_SPAN_PARTS : 0u);
    child->policy.shares = sqlite3_column_int(row, 8) != 0 ? child_shares : NULL;
    const bool timed = take_seconds(row, 4, &child->policy.cycle_ms) &&
                       take_seconds(row, 5, &child->policy.round_ms);
    enum orr_status status = look_at_members(child, line, "hello", of_hello);
    if (status == ORR_OK && !timed) {
        status = refuse(child, line, "\"cycle_s\" and \"round_s\" are seconds, 0 or more");
    }
    return status == ORR_OK ? take_lists(child, line) : status;
}

static struct orr_json begin(struct orr_plugin__child *child, const char *type)
{
    struct orr_json json = {.out = child->pipe.to, .one_line = true};
    orr_json_open(&json, NULL, '{');
    if (type != NULL) {
        orr_json_text(&json, "type", type);
    }
    return json;
}

static enum orr_status greet(struct orr_plugin__child *child, const struct orr_setting *settings,
                             size_t count)
{
    char *line;
    struct orr_json json = begin(child, "hello");
    orr_json_int(&json, "protocol", PROTOCOL);
    orr_json_open(&json, "params", '{');
    for (size_t i = 0; i < count; i++) {
        orr_json_text(&json, settings[i].name, settings[i].value);
    }
    orr_json_close(&json, '}');
    orr_json_close(&json, '}');
    const enum orr_status status = read_object(child, &line);
    return status == ORR_OK ? take_hello(child, line) : status;
}

/* --- telling --- */

static double gpus_of(int64_t mgpu)
{
    return (double)mgpu / ORR_MGPU;
}

/* So many instances of each MIG profile that the node has. */
static void tell_instances(struct orr_json *json, const struct orr_cluster *cluster,
                           const char *key, const struct orr_node_type *type, const int16_t *count)
{
    orr_json_open(json, key, '{');
    for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
        if (type->mig[p] > 0) {
            orr_json_int(json, orr_idmap_name(&cluster->mig_profiles, p),
                         count == NULL ? type->mig[p] : count[p]);
        }
    }
    orr_json_close(json, '}');
}

/* Has the node other idle GPUs or instances than the child knows? It is to be said now. */
static bool note_idle(struct orr_plugin__child *child, const struct orr_view *view, uint32_t node)
{
    const struct orr_room *idle = &view->ledger->idle[node];
    bool changed = idle->gpus != child->idle_sent[node];
    child->idle_sent[node] = idle->gpus;
    for (uint32_t p = 0; child->mig_sent != NULL && p < view->cluster->mig_profiles.count; p++) {
        int16_t *sent = &child->mig_sent[(size_t)node * ORR_MIG_PROFILES_MAX + p];
        changed = changed || *sent != idle->mig[p];
        *sent = idle->mig[p];
    }
    return changed;
}

static void tell_idle(const struct orr_plugin__child *child, struct orr_json *json,
                      const struct orr_view *view, uint32_t node)
{
    orr_json_int(json, "idle_gpus", child->idle_sent[node]);
    if (child->mig_sent != NULL) {
        tell_instances(json, view->cluster, "idle_mig", orr_cluster_type(view->cluster, node),
                       &child->mig_sent[(size_t)node * ORR_MIG_PROFILES_MAX]);
    }
}

static void tell_entitlement(struct orr_json *json, const struct orr_queue *queue)
{
    const struct orr_entitlement *gpu = &queue->resources[ORR_SHARE_GPU];
    orr_json_real(json, "quota_gpus", gpu->quota);
    orr_json_real(json, "limit_gpus", gpu->limit);
    orr_json_real(json, "weight", gpu->weight);
}

static void tell_world(struct orr_plugin__child *child, const struct orr_view *view)
{
    const struct orr_cluster *cluster = view->cluster;
    struct orr_json json = begin(child, "open");
    orr_json_seconds(&json, "now_s", view->now);
    orr_json_int(&json, "seed", (int64_t)view->seed);
    orr_json_open(&json, "nodes", '[');
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        (void)note_idle(child, view, n);
        if (type->shard != view->shard) {
            continue;
        }
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "node", n);
        orr_json_text(&json, "name", orr_idmap_name(&cluster->node_names, n));
        orr_json_int(&json, "gpus", type->gpus);
        orr_json_text(
            &json, "model",
            type->gpu_model == ORR_NONE ? NULL : orr_idmap_name(&cluster->models, type->gpu_model));
        if (child->mig_sent != NULL) {
            tell_instances(&json, cluster, "mig", type, NULL);
        }
        tell_idle(child, &json, view, n);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "queues", '[');
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        orr_json_open(&json, NULL, '{');
        orr_json_int(&json, "queue", q);
        orr_json_text(&json, "name", orr_idmap_name(&view->queues->names, q));
        orr_json_int(&json, "parent", queue->parent == ORR_NONE ? -1 : (int64_t)queue->parent);
        tell_entitlement(&json, queue);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

static void tell_job(struct orr_json *json, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct orr_shape *shape = &view->shapes->shapes[spec->shape];
    orr_json_int(json, "queue", spec->queue);
    orr_json_int(json, "pods", shape->tasks);
    orr_json_int(json, "min_pods", shape->min_tasks);
    orr_json_real(json, "gpus", gpus_of(shape->gpus_mgpu));
    orr_json_open(json, "groups", '[');
    for (uint32_t g = 0; g < shape->group_count; g++) {
        orr_json_open(json, NULL, '{');
        orr_json_int(json, "pods", shape->groups[g].count);
        const struct orr_request *request = &shape->groups[g].request;
        orr_json_real(json, "gpus_per_pod", gpus_of(orr_request_mgpu(request)));
        if (request->instances > 0) {
            orr_json_text(json, "mig_profile",
                          orr_idmap_name(&view->cluster->mig_profiles, request->mig_profile));
            orr_json_int(json, "instances", request->instances);
        }
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_int(json, "priority", spec->priority);
    orr_json_bool(json, "preemptible", spec->preemptible);
    orr_json_seconds(json, "submit_s", spec->submit_ms);
    orr_json_seconds(json, "work_s", spec->work_ms);
    orr_json_seconds(json, "estimate_s", spec->estimate_ms);
}

static void send_progress(const struct orr_plugin__child *child, struct orr_json *json,
                          const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress p = child->host->progress(view, job);
    orr_json_open(json, NULL, '{');
    orr_json_int(json, "job", job);
    orr_json_real(json, "service_gpu_s", (double)p.service / ORR_MGPU / 1000.0);
    orr_json_seconds(json, "work_s", p.work_ms);
    orr_json_seconds(json, "done_s", p.done_ms);
    orr_json_seconds(json, "kept_s", p.kept_ms);
    orr_json_real(json, "rate", (double)p.rate_ppm / ORR_PPM);
    orr_json_seconds(json, "deadline_s", p.deadline_ms);
    orr_json_seconds(json, "estimated_left_s", p.estimated_left_ms);
    orr_json_int(json, "evictions", view->jobs[job].evictions);
    orr_json_close(json, '}');
}

/* Those whose entitlement an event of the scenario changed. */
static void tell_queues(struct orr_plugin__child *child, struct orr_json *json,
                        const struct orr_view *view)
{
    orr_json_open(json, "queues", '[');
    for (uint32_t q = 0; q < view->queues->count; q++) {
        if (child->queue_changed[q]) {
            child->queue_changed[q] = false;
            orr_json_open(json, NULL, '{');
            orr_json_int(json, "queue", q);
            tell_entitlement(json, &view->queues->queues[q]);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
}

static void tell_cycle(struct orr_plugin__child *child, const struct orr_view *view)
{
    static const char *const names[] = {"submitted", "ended", "requeued", "changed", "started"};
    struct orr_json json = begin(child, "cycle");
    orr_json_seconds(&json, "now_s", view->now);
    orr_json_open(&json, "events", '[');
    for (uint32_t i = 0; i < child->event_count; i++) {
        const struct queued_event *it = &child->events[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "event", names[it->event]);
        orr_json_int(&json, "job", it->job);
        if (it->event == ORR_JOB_SUBMITTED || it->event == ORR_JOB_STARTED) {
            tell_job(&json, view, it->job);
        } else if (it->event == ORR_JOB_CHANGED) {
            orr_json_int(&json, "next_pods", orr_ledger_next_tasks(view->ledger, it->job));
        }
        orr_json_close(&json, '}');
    }
    child->event_count = 0;
    orr_json_close(&json, ']');
    orr_json_open(&json, "nodes", '[');
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        if (orr_cluster_type(view->cluster, n)->shard == view->shard && note_idle(child, view, n)) {
            orr_json_open(&json, NULL, '{');
            orr_json_int(&json, "node", n);
            tell_idle(child, &json, view, n);
            orr_json_close(&json, '}');
        }
    }
    orr_json_close(&json, ']');
    tell_queues(child, &json, view);
    orr_json_close(&json, '}');
}

static void answer(struct orr_plugin__child *child, enum orr_reason reason)
{
    struct orr_json json = begin(child, NULL);
    orr_json_bool(&json, "ok", reason == ORR_REASON_NONE);
    if (reason != ORR_REASON_NONE) {
        orr_json_text(&json, "reason", orr_reason_code(reason));
    }
    orr_json_close(&json, '}');
}

/* --- a cycle --- */

struct turn {
    struct orr_plugin__child *child;
    const struct orr_view *view;
    struct orr_txn *txn;
    char *line;
    bool done;
};

/* A job of its shard, by number; `where` is the column of the value, behind that of its type. */
static bool is_job(const struct turn *t, int64_t job)
{
    return job >= 0 && job < t->view->job_count && t->view->jobs[job].phase != ORR_JOB_FUTURE &&
           t->view->queues->queues[t->view->specs[job].queue].shard == t->view->shard;
}

static enum orr_status take_job(const struct turn *t, sqlite3_stmt *row, int column, uint32_t *job)
{
    const int64_t number = sqlite3_column_int64(row, column);
    if (!is_integer(row, column - 1) || !is_job(t, number)) {
        return refuse(t->child, t->line, "there is no such job");
    }
    *job = (uint32_t)number;
    return ORR_OK;
}

/* [[node, pods], ...] into child->seats. */
static enum orr_status take_seats(const struct turn *t, uint32_t group)
{
    struct orr_plugin__child *child = t->child;
    child->seat_count = 0;
    for (sqlite3_stmt *row = ask(child, SEATS, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const int64_t node = sqlite3_column_int64(row, 1), pods = sqlite3_column_int64(row, 3);
        const bool pair = sqlite3_column_int(row, 4) == 2;
        if (!pair || !is_integer(row, 0) || !is_integer(row, 2) || node < 0 ||
            node >= t->view->cluster->node_count || pods < 1 || pods > UINT32_MAX / 2) {
            return refuse(child, t->line, "\"on\" is a list of [node, pods]");
        }
        child->seats = ORR_ROOM_FOR_ONE(child->seats, child->seat_count, child->seat_capacity);
        child->seats[child->seat_count++] =
            (struct orr_seat){.node = (uint32_t)node, .group = group, .tasks = (uint32_t)pods};
    }
    return child->seat_count > 0 ? ORR_OK : refuse(child, t->line, "\"on\" names no node");
}

static enum orr_status place_on(const struct turn *t, uint32_t job, int64_t group)
{
    struct orr_plugin__child *child = t->child;
    const struct orr_shape *shape = &t->view->shapes->shapes[t->view->specs[job].shape];
    if (group < 0 || group >= shape->group_count) {
        return refuse(child, t->line, "the job has no such group");
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
            status = refuse(child, t->line, why);
        }
    }
    return status;
}

static enum orr_status do_place(struct turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    const bool named = !is_null(row, 2);
    const int64_t group = sqlite3_column_int64(row, 3);
    enum orr_status status = take_job(t, row, 1, &job);
    if (status == ORR_OK && !named && !is_null(row, 17)) {
        status = refuse(t->child, t->line, "\"group\" goes with \"on\"");
    }
    if (status == ORR_OK && t->view->jobs[job].phase != ORR_JOB_PENDING &&
        t->view->jobs[job].phase != ORR_JOB_RUNNING) {
        status = refuse(t->child, t->line, "the job does not wait");
    }
    if (status == ORR_OK && named) {
        status = place_on(t, job, group);
    }
    if (status == ORR_OK) {
        answer(t->child, named ? ORR_REASON_NONE
                               : t->child->host->place_consolidated(t->txn, t->view->ledger, job));
    }
    return status;
}

static enum orr_status do_evict(struct turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    const int64_t beneficiary = is_null(row, 6) ? -1 : sqlite3_column_int64(row, 6);
    enum orr_status status = take_job(t, row, 5, &job);
    if (status == ORR_OK && beneficiary != -1 && !is_job(t, beneficiary)) {
        status = refuse(t->child, t->line, "there is no job to evict it for");
    }
    if (status == ORR_OK &&
        !t->child->host->evict_for(t->txn, job, ORR_CAUSE_PREEMPT,
                                   beneficiary < 0 ? ORR_NONE : (uint32_t)beneficiary)) {
        status = refuse(t->child, t->line, "the job does not run");
    }
    if (status == ORR_OK) {
        answer(t->child, ORR_REASON_NONE);
    }
    return status;
}

static enum orr_status do_explain(struct turn *t, sqlite3_stmt *row)
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
        status = refuse(t->child, t->line, "there is no such reason");
    }
    if (status == ORR_OK && t->view->jobs[job].phase != ORR_JOB_PENDING) {
        status = refuse(t->child, t->line, "the job does not wait");
    }
    if (status == ORR_OK) {
        if (t->view->jobs[job].reason != (uint8_t)reason) {
            t->child->host->explain(t->txn, job, reason);
        }
        answer(t->child, ORR_REASON_NONE);
    }
    return status;
}

static enum orr_status do_progress(struct turn *t, sqlite3_stmt *message)
{
    (void)message;
    struct orr_plugin__child *child = t->child;
    struct orr_json json = begin(child, NULL);
    orr_json_open(&json, "progress", '[');
    for (sqlite3_stmt *row = ask(child, JOBS, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        uint32_t job = ORR_NONE;
        const enum orr_status status = take_job(t, row, 1, &job);
        if (status != ORR_OK) {
            return status;
        }
        send_progress(child, &json, t->view, job);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
    return ORR_OK;
}

static enum orr_status do_rate(struct turn *t, sqlite3_stmt *row)
{
    uint32_t job = ORR_NONE;
    struct orr_plugin__child *child = t->child;
    const int64_t group = sqlite3_column_int64(row, 3);
    enum orr_status status = take_job(t, row, 12, &job);
    if (status == ORR_OK) {
        const struct orr_shape *shape = &t->view->shapes->shapes[t->view->specs[job].shape];
        status = group < 0 || group >= shape->group_count
                     ? refuse(child, t->line, "the job has no such group")
                     : take_seats(t, (uint32_t)group);
    }
    if (status == ORR_OK) {
        const int64_t ppm = child->host->rate_at(t->view, job, child->seats, child->seat_count);
        struct orr_json json = begin(child, NULL);
        orr_json_real(&json, "rate", (double)ppm / ORR_PPM);
        orr_json_close(&json, '}');
    }
    return status;
}

/* [[queue, GPUs or null], ...]; the other queues keep theirs. */
static enum orr_status take_shares(const struct turn *t)
{
    struct orr_plugin__child *child = t->child;
    const struct orr_queues *queues = t->view->queues;
    if (child->policy.shares == NULL) {
        return refuse(child, t->line, "its hello does not say that it has \"shares\"");
    }
    for (sqlite3_stmt *row = ask(child, SHARES, t->line); row != NULL;
         row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const int64_t q = sqlite3_column_int64(row, 1);
        const double gpus = is_null(row, 3) ? -1.0 : sqlite3_column_double(row, 3);
        const char *type = (const char *)sqlite3_column_text(row, 2);
        const bool number = type != NULL && is_among(type, "integer real null");
        if (!is_integer(row, 0) || q < 0 || q >= queues->count || !number ||
            queues->queues[q].child_count > 0 || queues->queues[q].shard != t->view->shard ||
            (gpus < 0.0 && !is_null(row, 3)) || gpus > 1e9) {
            return refuse(child, t->line,
                          "\"shares\" is a list of [queue, GPUs], of queues that hold jobs");
        }
        const double mgpu = gpus < 0.0 ? -1.0 : gpus * ORR_MGPU;
        child->shares_changed = child->shares_changed || child->shares[q] != mgpu;
        child->shares[q] = mgpu;
    }
    return ORR_OK;
}

static enum orr_status do_end(struct turn *t, sqlite3_stmt *row)
{
    orr_ms wake = ORR_MS_NEVER;
    if (!is_null(row, 15)) {
        const double seconds = sqlite3_column_double(row, 15);
        wake = seconds > -1e12 && seconds < 1e12 ? (orr_ms)llround(seconds * 1000.0) : ORR_MS_NONE;
        if (wake <= t->view->now) {
            return refuse(t->child, t->line, "\"wake_s\" is not after now");
        }
    }
    t->child->wake_ms = wake;
    t->done = true;
    return is_null(row, 16) ? ORR_OK : take_shares(t);
}

/* What a message is by the column of its type, and what it may have. */
static const struct message {
    const char *name;
    int column; /* of MESSAGE */
    const struct member *members;
    enum orr_status (*take)(struct turn *t, sqlite3_stmt *row);
} messages[] = {
    {"\"place\"", 0, of_place, do_place},       {"\"evict\"", 4, of_evict, do_evict},
    {"\"explain\"", 7, of_explain, do_explain}, {"\"progress\"", 10, of_progress, do_progress},
    {"\"rate\"", 11, of_rate, do_rate},         {"\"end\"", 13, of_end, do_end}};

/* One line. Values of a row are gone as soon as another line is read. */
static enum orr_status take_turn(struct turn *t)
{
    enum orr_status status = read_object(t->child, &t->line);
    if (status != ORR_OK) {
        return status;
    }
    sqlite3_stmt *row = ask(t->child, MESSAGE, t->line);
    if (row == NULL) {
        return refuse(t->child, t->line, "no message of the protocol");
    }
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const struct message *message = &messages[i];
        if (!is_null(row, message->column)) {
            status = look_at_members(t->child, t->line, message->name, message->members);
            return status == ORR_OK ? message->take(t, row) : status;
        }
    }
    return refuse(t->child, t->line,
                  "none of \"place\", \"evict\", \"explain\", \"progress\", \"rate\", "
                  "\"end\"");
}

/* --- the contract --- */

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
    tell_world(child, view);
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
        (struct queued_event){.job = job, .event = (uint8_t)event};
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
    struct turn turn = {.child = child, .view = view, .txn = txn};
    const uint32_t before = child->host->checkpoint(txn);
    enum orr_status status = child->err.status;
    if (status == ORR_OK) {
        tell_cycle(child, view);
    }
    orr_pipe_begin_cycle(&child->pipe);
    orr_plugin__ask(child->pipe.pid);
    while (status == ORR_OK && !turn.done) {
        status = take_turn(&turn);
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
    const bool of_quota = (child->bars & BARS_QUOTA) != 0 && !view->specs[job].preemptible;
    struct orr_bar bar = {.reason = ORR_REASON_NONE};
    if ((child->bars & BARS_LIMIT) != 0) {
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
    static const char *const texts[] = {
        [IS_OBJECT] = orr_plugin_sql__is_object, [HELLO] = orr_plugin_sql__hello,
        [MEMBERS] = orr_plugin_sql__members,     [WORDS] = orr_plugin_sql__words,
        [MESSAGE] = orr_plugin_sql__message,     [SEATS] = orr_plugin_sql__seats,
        [SHARES] = orr_plugin_sql__shares,       [JOBS] = orr_plugin_sql__jobs};
    bool good = sqlite3_open(":memory:", &child->db) == SQLITE_OK;
    for (int q = 0; q < QUERIES && good; q++) {
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
    for (int q = 0; q < QUERIES; q++) {
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
