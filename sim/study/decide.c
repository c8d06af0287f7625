/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decide.c - a run up to one moment, and the cycles of that moment.
 *
 *   orr_point_branch     the run, held at the moment
 *     begin, look, decided  what the cycles say as they happen
 *     hold               a second more while nothing was decided: a policy has clocks of its own
 *   list_waits           of the ledger as the cycles leave it
 */
#include <orrery/sim/decide.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/branch.h>
#include <orrery/sim/point.h>

enum { SECONDS_MOST = 60 };

struct outcome { /* of a job, by the last action that looked at it */
    const char *result, *nodes;
    bool has_priority;
    int64_t priority;
    orr_ms planned_ms;
    uint32_t eviction; /* of the decisions, counted from 1; 0: none */
};

struct deciding {
    const struct orr_decide_options *options;
    struct orr_decided *out;
    struct orr_point point;
    struct orr_branching branching;
    struct orr_cycle_trace trace;
    const struct orr_ledger *ledger;
    struct outcome *outcomes; /* by job */
    orr_ms now;
    uint32_t running, seconds;
    bool decided; /* or explained: a cycle did something */
};

static const char *keep(struct deciding *d, const char *text)
{
    return text == NULL ? NULL : orr_arena_strndup(&d->out->arena, text, strlen(text));
}

static const char *job_name(struct deciding *d, uint32_t job)
{
    char name[512];
    return job == ORR_NONE ? NULL
                           : keep(d, orr_world_job_name(&d->point.world, job, name, sizeof name));
}

static const char *queue_name(struct deciding *d, uint32_t job)
{
    const struct orr_world *world = &d->point.world;
    return keep(d, orr_idmap_name(&world->queues.names, world->specs[job].queue));
}

static void put_node(struct deciding *d, FILE *out, bool first, uint32_t node, uint32_t pods)
{
    const char *name = orr_idmap_name(&d->point.world.cluster.node_names, node);
    (void)fprintf(out, pods > 1 ? "%s%s x%u" : "%s%s", first ? "" : ", ", name, pods);
}

/* Where the pods are that were placed now. Placements of a node in a row are one. */
static const char *nodes_of(struct deciding *d, uint32_t job)
{
    char *text = NULL;
    size_t bytes = 0;
    bool first = true;
    uint32_t node = ORR_NONE, pods = 0;
    const struct orr_placement *placements = d->ledger->placements;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    for (uint32_t p = d->ledger->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        for (uint32_t n = 0; placements[p].since_ms == d->now && n <= placements[p].more_nodes;
             n++) {
            if (node != ORR_NONE && node != placements[p].node + n) {
                put_node(d, out, first, node, pods);
                first = false;
                pods = 0;
            }
            node = placements[p].node + n;
            pods += orr_placement_each(&placements[p]);
        }
    }
    if (node != ORR_NONE) {
        put_node(d, out, first, node, pods);
    }
    (void)fclose(out);
    const char *kept = keep(d, text);
    free(text);
    return kept;
}

/* --- what cycles report --- */

static void begin(void *context, uint64_t cycle, orr_ms now, const struct orr_ledger *ledger)
{
    struct deciding *d = context;
    (void)cycle;
    d->running = d->decided ? d->running : ledger->running_jobs;
    d->ledger = ledger;
    d->now = now;
}

static void look(void *context, const struct orr_look *look)
{
    struct deciding *d = context;
    if (look->kind == ORR_LOOK_JOB && look->job != ORR_NONE) {
        struct outcome *outcome = &d->outcomes[look->job];
        *outcome = (struct outcome){
            .result = look->result,
            .has_priority = look->priority != NULL || outcome->has_priority,
            .priority = look->priority != NULL ? *look->priority : outcome->priority,
            .eviction = outcome->eviction,
            .planned_ms = look->planned_ms != NULL ? *look->planned_ms : ORR_MS_NONE};
        char text[512];
        FILE *out = fmemopen(text, sizeof text - 1, "w");
        ORR_ASSERT(out != NULL);
        memset(text, 0, sizeof text);
        for (uint32_t n = 0; n < look->node_count; n++) {
            put_node(d, out, n == 0, look->nodes[n], 1);
        }
        (void)fclose(out);
        outcome->nodes = look->node_count > 0 ? keep(d, text) : NULL;
    }
}

/* The first word is that of the moment. */
static void say(struct deciding *d)
{
    if (!d->decided) {
        d->out->at_ms = d->now;
        d->out->running = d->running;
    }
    d->decided = true;
}

static void decided(void *context, const struct orr_txn_decision *one)
{
    static const char *const deeds[] = {
        [ORR_DEED_START] = "start",   [ORR_DEED_HOLD] = "hold",   [ORR_DEED_GROW] = "grow",
        [ORR_DEED_SHRINK] = "shrink", [ORR_DEED_EVICT] = "evict", [ORR_DEED_SUSPEND] = "suspend",
        [ORR_DEED_RESUME] = "resume"};
    struct deciding *d = context;
    struct orr_decided *out = d->out;
    const bool takes = one->deed == ORR_DEED_SHRINK || one->deed == ORR_DEED_EVICT;
    out->ones = ORR_ROOM_FOR_ONE(out->ones, out->one_count, out->one_capacity);
    out->ones[out->one_count++] = (struct orr_decided_one){
        .deed = deeds[one->deed],
        .action = one->action,
        .job = job_name(d, one->job),
        .queue = queue_name(d, one->job),
        .nodes = takes ? "" : nodes_of(d, one->job),
        .for_job = takes ? job_name(d, one->beneficiary) : NULL,
        .cause = takes ? orr_cause_words((enum orr_cause)one->cause) : NULL,
        .pods = one->tasks,
        .mgpu = one->mgpu};
    if (one->deed == ORR_DEED_EVICT) {
        d->outcomes[one->job].eviction = out->one_count;
    }
    say(d);
}

static void explained(void *context, const struct orr_explanation *explanation)
{
    struct deciding *d = context;
    (void)explanation;
    say(d);
}

/* --- the moment --- */

static orr_ms hold(void *context, struct orr_branch *branch)
{
    struct deciding *d = context;
    d->out->running = d->decided ? d->out->running : branch->run->ledger->running_jobs;
    return d->decided || d->seconds++ == SECONDS_MOST ? ORR_MS_NONE : branch->at_ms + 1000;
}

static enum orr_status ready(void *context, struct orr_point *point, struct orr_err *err)
{
    struct deciding *d = context;
    const char *at = d->options->at;
    orr_ms from = point->world.begin_ms;
    d->out->origin_ms = orr_world_clock_origin_ms(&point->world, &point->scenario);
    if (at != NULL && !orr_parse_clock(at, strlen(at), d->out->origin_ms, &from)) {
        return orr_fail(err, ORR_USAGE,
                        "--now %s: neither a time of the run such as 12d or 3h, nor a date%s", at,
                        d->out->origin_ms == ORR_MS_NONE ? ", which this run does not have" : "");
    }
    d->outcomes = orr_zalloc(point->world.job_count + (size_t)1, sizeof *d->outcomes);
    d->trace.from_ms = from;
    d->branching.at_ms = from;
    d->out->at_ms = from;
    return ORR_OK;
}

/* A job that no cycle looked at since it waits was evicted by one of this moment, or came in it. */
static const char *why_not_looked_at(struct deciding *d, const struct outcome *outcome)
{
    if (outcome->eviction == 0) {
        return "nothing looked at it yet";
    }
    const struct orr_decided_one *one = &d->out->ones[outcome->eviction - 1];
    char text[1024];
    (void)snprintf(text, sizeof text, "it was evicted in this cycle: %s%s%s", one->cause,
                   one->for_job != NULL ? " for " : "", one->for_job != NULL ? one->for_job : "");
    return keep(d, text);
}

static void list_waits(struct deciding *d)
{
    const struct orr_ledger *ledger = d->point.run.ledger;
    struct orr_decided *out = d->out;
    out->waits = orr_arena_alloc(&out->arena, ledger->pending_jobs + (size_t)1, sizeof *out->waits);
    for (uint32_t j = 0; j < d->point.world.job_count; j++) {
        const struct outcome *outcome = &d->outcomes[j];
        const enum orr_reason reason = (enum orr_reason)ledger->jobs[j].reason;
        if (ledger->jobs[j].phase != ORR_JOB_PENDING) {
            continue;
        }
        out->waits[out->wait_count++] = (struct orr_decided_wait){
            .job = job_name(d, j),
            .queue = queue_name(d, j),
            .reason = reason != ORR_REASON_NONE ? orr_reason_code(reason)
                      : outcome->eviction != 0  ? "evicted"
                                                : "none",
            .why = reason == ORR_REASON_NONE ? why_not_looked_at(d, outcome)
                                             : orr_reason_words(reason),
            .result = outcome->result,
            .nodes = outcome->nodes,
            .pods = d->point.world.shapes.shapes[d->point.world.specs[j].shape].tasks,
            .has_priority = outcome->has_priority,
            .priority = outcome->priority,
            .planned_ms = outcome->result != NULL ? outcome->planned_ms : ORR_MS_NONE};
    }
}

static void count_cluster(struct deciding *d)
{
    const struct orr_cluster *cluster = &d->point.world.cluster;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        d->out->gpus += orr_node_type_counted_gpus(orr_cluster_type(cluster, n));
    }
    d->out->nodes = cluster->node_count;
}

enum orr_status orr_decide(const struct orr_decide_options *options, struct orr_decided *out,
                           struct orr_err *err)
{
    struct deciding d = {.options = options, .out = out, .point = {.output = NULL}};
    *out = (struct orr_decided){0};
    orr_arena_init(&out->arena);
    d.branching = (struct orr_branching){.at_ms = ORR_MS_NEVER, .at = hold, .context = &d};
    d.trace = (struct orr_cycle_trace){.begin = begin,
                                       .look = look,
                                       .decision = decided,
                                       .explanation = explained,
                                       .from = 1,
                                       .to = UINT64_MAX,
                                       .to_ms = ORR_MS_NEVER,
                                       .context = &d};
    const struct orr_point_options run = {
        .scenario = options->scenario, .allow_loss_ppm = ORR_LOSS_ALL, .trace = &d.trace};
    enum orr_status status = orr_point_branch(&run, &d.branching, ready, &d.point, err);
    if (status == ORR_OK) {
        char policy[256];
        orr_engine_policy_names(d.point.shards, d.point.scenario.shard_count, policy,
                                sizeof policy);
        out->policy = keep(&d, policy);
        list_waits(&d);
        count_cluster(&d);
    }
    orr_free(d.outcomes);
    orr_point_release(&d.point);
    return status;
}

void orr_decided_release(struct orr_decided *decided)
{
    orr_free(decided->ones);
    orr_arena_release(&decided->arena);
}
