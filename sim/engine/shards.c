/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shards.c - several schedulers over one ledger.
 *
 * A shard is a scheduler of its own: its nodes, queues and jobs, its own fair share. Nodes of other
 * shards are kept from it twice: its view names the shard, and the ledger gives no room on others.
 * The engine sees one policy without a grid; instances that have one are run on it here. */
#include "shards.h"

#include <stdio.h>

struct instance {
    const struct orr_policy *policy;
    const void *params;
    const struct orr_setting *settings; /* that they are from, for errors */
    uint32_t setting_count;
    void *state;
    struct orr_view view;
    bool open;
    bool changed;         /* something happened in its shard since its last cycle */
    orr_ms last_cycle_ms; /* ORR_MS_NONE: none yet */
    orr_ms due_ms;        /* on its grid; ORR_MS_NEVER: nothing is due */
    orr_ms wake_ms;       /* it asked for a cycle then; ORR_MS_NEVER */
};

struct orr_engine_shards {
    struct orr_policy policy;
    struct instance *instances;
    uint32_t count;
    uint32_t *laws;
    const struct orr_host *host;
};

static void shards_close(void *state)
{
    struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        if (shards->instances[s].open) {
            shards->instances[s].policy->close(shards->instances[s].state);
            shards->instances[s].open = false;
        }
    }
}

/* A policy's parameters are its own. Those of this one are the shards themselves, which it fills
 * in: the caller hands them over as not const. */
static struct orr_engine_shards *from_params(const void *params)
{
    return *(struct orr_engine_shards *const *)params;
}

static enum orr_status shards_open(const struct orr_host *host, const void *params,
                                   const struct orr_view *view, void **state, struct orr_err *err)
{
    struct orr_engine_shards *shards = from_params(params);
    for (uint32_t s = 0; s < shards->count; s++) {
        struct instance *one = &shards->instances[s];
        one->view = *view;
        one->view.shard = s;
        enum orr_status status = one->policy->open(host, one->params, &one->view, &one->state, err);
        if (status != ORR_OK) {
            if (!orr_policy_place(one->policy, one->settings, one->setting_count, err)) {
                orr_err_prefix(err, "shard %s", orr_idmap_name(&view->cluster->shards, s));
            }
            shards_close(shards);
            return status;
        }
        one->open = true;
    }
    *state = shards;
    return ORR_OK;
}

static void shards_event(void *state, const struct orr_view *view, enum orr_job_event event,
                         uint32_t job)
{
    struct orr_engine_shards *shards = state;
    uint32_t shard = view->queues->queues[view->specs[job].queue].shard;
    struct instance *one = &shards->instances[shard];
    one->view.now = view->now;
    if (event != ORR_JOB_CHANGED || orr_policy_hears_changes(one->policy, &view->specs[job])) {
        one->policy->event(one->state, &one->view, event, job);
    }
    one->changed = true;
}

/* Is its cycle due now? On a grid it waits for the next point of the run's clock. */
static bool is_due(struct instance *one, orr_ms now)
{
    orr_ms period = one->policy->cycle_ms;
    bool wanted = one->changed || now >= one->wake_ms;
    one->due_ms = ORR_MS_NEVER;
    if (period == 0 || !wanted) {
        return wanted;
    }
    orr_ms past = now % period;
    if (past == 0 && now != one->last_cycle_ms) {
        return true;
    }
    one->due_ms = now - past + (past < 0 ? 0 : period);
    one->changed = true; /* the wish to be woken is taken note of: due_ms answers it */
    one->wake_ms = ORR_MS_NEVER;
    return false;
}

static void run_one(struct instance *one, struct orr_txn *txn)
{
    orr_ms now = one->view.now;
    uint32_t before = orr_txn_checkpoint(txn);
    one->changed = false;
    one->last_cycle_ms = now;
    one->policy->cycle(one->state, &one->view, txn);
    one->wake_ms =
        one->policy->wake == NULL ? ORR_MS_NEVER : one->policy->wake(one->state, &one->view);
    if (one->policy->cycle_ms > 0 && orr_txn_checkpoint(txn) > before) {
        one->changed = true; /* a cycle that did something is followed by another */
        one->due_ms = now + one->policy->cycle_ms;
    }
}

static void shards_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        struct instance *one = &shards->instances[s];
        one->view.now = view->now;
        if (is_due(one, view->now)) {
            run_one(one, txn);
        }
    }
}

static orr_ms shards_wake(void *state, const struct orr_view *view)
{
    const struct orr_engine_shards *shards = state;
    orr_ms next = ORR_MS_NEVER;
    (void)view;
    for (uint32_t s = 0; s < shards->count; s++) {
        const struct instance *one = &shards->instances[s];
        next = one->due_ms < next ? one->due_ms : next;
        next = one->wake_ms < next ? one->wake_ms : next;
    }
    return next;
}

static void shards_node(void *state, const struct orr_view *view, uint32_t node)
{
    struct orr_engine_shards *shards = state;
    struct instance *one = &shards->instances[orr_cluster_type(view->cluster, node)->shard];
    one->view.now = view->now;
    one->changed = true;
    orr_policy_notify_node(one->policy, one->state, &one->view, node);
}

static void shards_queue(void *state, const struct orr_view *view, uint32_t queue)
{
    struct orr_engine_shards *shards = state;
    struct instance *one = &shards->instances[view->queues->queues[queue].shard];
    one->view.now = view->now;
    one->changed = true;
    orr_policy_notify_queue(one->policy, one->state, &one->view, queue);
}

static bool shards_shares_of(void *state, const struct orr_view *view, enum orr_share_kind kind,
                             double *amounts)
{
    struct orr_engine_shards *shards = state;
    bool changed = false;
    for (uint32_t s = 0; s < shards->count; s++) {
        struct instance *one = &shards->instances[s];
        one->view.now = view->now;
        if (orr_policy_has_shares(one->policy, kind)) {
            changed =
                orr_policy_shares(one->policy, one->state, &one->view, kind, amounts) || changed;
        }
    }
    return changed;
}

static bool shards_failed(void *state, struct orr_err *err)
{
    const struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        if (orr_policy_failed(shards->instances[s].policy, shards->instances[s].state, err)) {
            return true;
        }
    }
    return false;
}

/* One shard after the other. */
static bool shards_cost(void *state, uint32_t nth, struct orr_policy_cost *cost)
{
    struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        const struct instance *one = &shards->instances[s];
        uint32_t own = 0;
        for (; orr_policy_cost(one->policy, one->state, own, cost); own++) {
            if (own == nth) {
                return true;
            }
        }
        nth -= own;
    }
    return false;
}

static bool shards_pruned(void *state, uint32_t nth, struct orr_policy_pruned *pruned)
{
    struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        const struct instance *one = &shards->instances[s];
        uint32_t own = 0;
        for (; orr_policy_pruned(one->policy, one->state, own, pruned); own++) {
            if (own == nth) {
                return true;
            }
        }
        nth -= own;
    }
    return false;
}

static uint32_t shards_narrows(void *state, const struct orr_view *view, uint32_t job,
                               uint32_t group)
{
    struct orr_engine_shards *shards = state;
    struct instance *one = &shards->instances[view->queues->queues[view->specs[job].queue].shard];
    return orr_policy_narrows(one->policy, one->state, &one->view, job, group);
}

static const uint64_t *shards_nodes(void *state, const struct orr_view *view, uint32_t job)
{
    struct orr_engine_shards *shards = state;
    struct instance *one = &shards->instances[view->queues->queues[view->specs[job].queue].shard];
    return orr_policy_nodes(one->policy, one->state, &one->view, job);
}

static uint32_t shards_grants(void *state, const struct orr_view *view, uint32_t job)
{
    struct orr_engine_shards *shards = state;
    struct instance *one = &shards->instances[view->queues->queues[view->specs[job].queue].shard];
    return orr_policy_grants(one->policy, one->state, &one->view, job);
}

static void shards_watch(void *state, const struct orr_watcher *watcher)
{
    struct orr_engine_shards *shards = state;
    for (uint32_t s = 0; s < shards->count; s++) {
        orr_policy_watch(shards->instances[s].policy, shards->instances[s].state, watcher);
    }
}

static enum orr_status shards_audit(void *state, const struct orr_view *view, struct orr_err *err)
{
    struct orr_engine_shards *shards = state;
    enum orr_status status = ORR_OK;
    for (uint32_t s = 0; s < shards->count && status == ORR_OK; s++) {
        struct instance *one = &shards->instances[s];
        one->view.now = view->now;
        status = orr_policy_audit(one->policy, one->state, &one->view, err);
    }
    return status;
}

static const struct orr_param no_rows[] = {{NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

struct orr_engine_shards *orr_engine_shards_make(const struct orr_engine_shard *given,
                                                 uint32_t count)
{
    struct orr_engine_shards *shards = orr_zalloc(1, sizeof *shards);
    shards->count = count;
    shards->instances = orr_zalloc(count, sizeof *shards->instances);
    shards->laws = orr_zalloc(count, sizeof *shards->laws);
    bool able = true, joins = true, has_shares = false;
    orr_ms round_ms = 0; /* of the first that acts in rounds: there is one clock */
    for (uint32_t s = 0; s < count; s++) {
        shards->instances[s] = (struct instance){.policy = given[s].policy,
                                                 .params = given[s].params,
                                                 .settings = given[s].settings,
                                                 .setting_count = given[s].setting_count,
                                                 .last_cycle_ms = ORR_MS_NONE,
                                                 .due_ms = ORR_MS_NEVER,
                                                 .wake_ms = ORR_MS_NEVER};
        round_ms = round_ms == 0 ? orr_policy_round_ms(given[s].policy) : round_ms;
        able = able && orr_policy_able(given[s].policy, ORR_ABLE_STALE_GANGS);
        joins = joins && orr_policy_able(given[s].policy, ORR_ABLE_JOINED);
        has_shares = has_shares || orr_policy_has_shares(given[s].policy, ORR_SHARE_GPU);
        shards->laws[s] = orr_policy_laws(given[s].policy, given[s].params);
    }
    shards->policy =
        (struct orr_policy){.abi = ORR_POLICY_ABI,
                            .size = sizeof shards->policy,
                            .name = "of a shard",
                            .summary = "one policy for each shard",
                            .params = no_rows,
                            .params_bytes = sizeof shards,
                            .open = shards_open,
                            .event = shards_event,
                            .cycle = shards_cycle,
                            .wake = shards_wake,
                            .close = shards_close,
                            .node = shards_node,
                            .queue = shards_queue,
                            .narrows = shards_narrows,
                            .nodes = shards_nodes,
                            .grants = shards_grants,
                            .abilities = ORR_ABLE_PARTS | (able ? ORR_ABLE_STALE_GANGS : 0) |
                                         (joins ? ORR_ABLE_JOINED : 0),
                            .audit = shards_audit,
                            .cost = shards_cost,
                            .pruned = shards_pruned,
                            .watch = shards_watch,
                            .failed = shards_failed,
                            .shares_of = has_shares ? shards_shares_of : NULL,
                            .round_ms = round_ms};
    return shards;
}

void orr_engine_policy_names(const struct orr_engine_shard *shards, uint32_t count, char *out,
                             size_t bytes)
{
    int used = 0;
    out[0] = '\0';
    for (uint32_t s = 0; s < count && used >= 0 && (size_t)used < bytes; s++) {
        bool seen = false;
        for (uint32_t before = 0; before < s; before++) {
            seen = seen || shards[before].policy == shards[s].policy;
        }
        if (!seen) {
            used += snprintf(out + used, bytes - (size_t)used, "%s%s", used == 0 ? "" : "+",
                             shards[s].policy->name);
        }
    }
}

void orr_engine_shards_release(struct orr_engine_shards *shards)
{
    if (shards != NULL) {
        orr_free(shards->instances);
        orr_free(shards->laws);
        orr_free(shards);
    }
}

const struct orr_policy *orr_engine_shards_policy(const struct orr_engine_shards *shards)
{
    return &shards->policy;
}

orr_ms orr_engine_shards_cycled_ms(const struct orr_engine_shards *shards, uint32_t shard)
{
    return shards->instances[shard].last_cycle_ms;
}

const uint32_t *orr_engine_shards_laws(const struct orr_engine_shards *shards)
{
    return shards->laws;
}
