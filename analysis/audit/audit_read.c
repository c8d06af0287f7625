/* SPDX-License-Identifier: GPL-3.0-or-later */
/* audit_read.c - a results file as a schedule. */
#include "audit_int.h"
#include "audit_sql.h"

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

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
    struct orr_idmap profiles; /* MIG profiles */
    struct orr_results in;
    uint32_t *job_at; /* of jobs, once they are sorted by id: index in the schedule */
    struct orr_schedule *schedule;
    struct ids jobs, nodes, queues, shards;
};

/* Jobs stand in the order they wait in, which is not that of their ids. */
static void sort_jobs(struct load *load)
{
    load->job_at = orr_sort_index_by_i64(load->jobs.ids, load->jobs.count);
    int64_t *sorted = orr_alloc(load->jobs.count + (size_t)1, sizeof *sorted);
    for (uint32_t i = 0; i < load->jobs.count; i++) {
        sorted[i] = load->jobs.ids[load->job_at[i]];
    }
    orr_free(load->jobs.ids);
    load->jobs.ids = sorted;
}

static uint32_t find_job(const struct load *load, int64_t id)
{
    const uint32_t at = find(&load->jobs, id);
    return at == ORR_NONE ? ORR_NONE : load->job_at[at];
}

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
    /* workers that follow their job's backlog are asked for in the middle of a cycle */
    load->schedule->dim = orr_results_int(&load->in, orr_audit_sql__asks_in_cycles, 0) != 0;
    load->schedule->aged = orr_results_int(&load->in, orr_audit_sql__has_ages, 0) != 0;
    load->schedule->begin_ms = orr_results_int(&load->in, orr_audit_sql__run_begin, ORR_MS_NONE);
    load->schedule->end_ms = orr_results_int(&load->in, orr_audit_sql__run_end, 0);
    load->schedule->takes_time = orr_results_int(&load->in, orr_audit_sql__takes_time, 0) != 0;
}

static void load_shards(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__shard_count);
    const orr_ms origin_ms = orr_results_int(&load->in, orr_audit_sql__clock_origin, 0);
    schedule->shards =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->shards);
    const bool finer = orr_results_int(&load->in, orr_audit_sql__finer_fractions, 0) > 0;
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__shards);
    while (orr_results_step(&load->in, row) && schedule->shard_count < room) {
        add(&load->shards, sqlite3_column_int64(row, 0));
        schedule->shards[schedule->shard_count++] = (struct orr_audit_shard){
            .name = keep_text(load, row, 1),
            .policy = keep_text(load, row, 2),
            .overtakes = sqlite3_column_int(row, 3) != 0,
            .other_order = sqlite3_column_int(row, 4) != 0,
            .flat = sqlite3_column_int(row, 5) != 0,
            .by_usage = sqlite3_column_int(row, 6) != 0,
            .counts_moved = sqlite3_column_int(row, 7) != 0,
            .k = sqlite3_column_double(row, 8),
            .namespace_cap = (enum orr_audit_cap)sqlite3_column_int(row, 10),
            .within = (enum orr_audit_preemption)sqlite3_column_int(row, 11),
            .reclaim = (enum orr_audit_preemption)sqlite3_column_int(row, 12),
            .cluster_cohort = sqlite3_column_int(row, 13) != 0,
            .scattered = sqlite3_column_int(row, 15) != 0,
            .cells = sqlite3_column_int(row, 16) != 0,
            .reserves = sqlite3_column_int(row, 17) != 0,
            .opportunistic_below = sqlite3_column_int64(row, 18),
            .resizes = sqlite3_column_int(row, 19) != 0,
            .boundless = sqlite3_column_int(row, 14) != 0};
        struct orr_audit_shard *shard = &schedule->shards[schedule->shard_count - 1];
        shard->k = shard->k > 0 ? shard->k : 0;
        for (int kind = 0; kind < ORR_AUDIT_RESOURCES && strcmp(shard->policy, "kueue") == 0;
             kind++) {
            shard->transformed[kind] = orr_audit__is_transformed(
                orr_results_text(&load->in, row, 9), (enum orr_audit_resource)kind);
        }
        shard->obscure = finer && strcmp(shard->policy, "kai") == 0;
        shard->obscure =
            shard->obscure ||
            (shard->by_usage && !orr_audit__read_window(orr_results_text(&load->in, row, 9),
                                                        origin_ms, &shard->window));
    }
    if (schedule->shard_count == 0) {
        schedule->shards[schedule->shard_count++] = (struct orr_audit_shard){.name = ""};
    }
}

/* Shards have one clock: where the policy of one acts in rounds, all wait for them. A plug-in
 * beside others may; alone it is judged as if it did not, which matters only to a discipline that
 * the caller names. */
static void load_rounds(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const bool otherwise = schedule->shard_count > 1;
    /* the scenario with all defaults states how long a round is: 0s, there are none */
    schedule->in_rounds = orr_results_int(&load->in, orr_audit_sql__in_rounds, 0) != 0;
    for (uint32_t s = 0; s < schedule->shard_count && !schedule->in_rounds; s++) {
        const char *policy = schedule->shards[s].policy;
        schedule->in_rounds = policy != NULL && orr_audit__acts_in_rounds(policy, otherwise);
    }
}

static uint32_t shard_in(const struct load *load, sqlite3_stmt *row, int column)
{
    const uint32_t shard = sqlite3_column_type(row, column) == SQLITE_NULL
                               ? ORR_NONE
                               : find(&load->shards, sqlite3_column_int64(row, column));
    return shard == ORR_NONE ? 0 : shard;
}

static void load_nodes(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__node_count);
    schedule->nodes = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->nodes);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__nodes);
    while (orr_results_step(&load->in, row) && schedule->node_count < room) {
        add(&load->nodes, sqlite3_column_int64(row, 0));
        schedule->nodes[schedule->node_count++] =
            (struct orr_audit_node){.name = keep_text(load, row, 1),
                                    .gpus = sqlite3_column_int64(row, 2),
                                    .foreign_gpus = sqlite3_column_int64(row, 3),
                                    .gpu_mib = sqlite3_column_int64(row, 5),
                                    .shard = shard_in(load, row, 4),
                                    .mig_gpus = sqlite3_column_int64(row, 6)};
    }
}

/* Past the last there is room for, profiles share it. */
static uint32_t profile_in(struct load *load, sqlite3_stmt *row, int column)
{
    const char *name = orr_results_text(&load->in, row, column);
    const uint32_t profile = orr_idmap_put(&load->profiles, name, strlen(name), NULL);
    return profile < ORR_AUDIT_PROFILES_MAX ? profile : ORR_AUDIT_PROFILES_MAX - 1;
}

/* See orr_audit_job; without a profile there are devices alone. */
static uint32_t kind_in(struct load *load, sqlite3_stmt *row, int column)
{
    const bool instances = orr_results_text(&load->in, row, column)[0] != '\0';
    return instances ? 1 + profile_in(load, row, column) : 0;
}

static void load_instances(struct load *load)
{
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__instances);
    while (orr_results_step(&load->in, row)) {
        const uint32_t node = find(&load->nodes, sqlite3_column_int64(row, 0));
        const uint32_t profile = profile_in(load, row, 1);
        if (node != ORR_NONE) {
            load->schedule->nodes[node].mig[profile] += sqlite3_column_int64(row, 2);
        }
    }
}

static void load_outages(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__outage_count);
    schedule->outages =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->outages);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__outages);
    while (orr_results_step(&load->in, row) && schedule->outage_count < room) {
        const uint32_t node = find(&load->nodes, sqlite3_column_int64(row, 0));
        if (node != ORR_NONE) {
            schedule->outages[schedule->outage_count++] =
                (struct orr_audit_outage){.node = node,
                                          .from_ms = sqlite3_column_int64(row, 1),
                                          .to_ms = time_or(row, 2, ORR_MS_NEVER),
                                          .cordoned = sqlite3_column_int(row, 3) != 0,
                                          .away = sqlite3_column_int(row, 4) != 0};
        }
    }
}

static void load_totals(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__total_count);
    schedule->totals =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->totals);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__totals);
    int64_t gpus = 0;
    while (orr_results_step(&load->in, row) && schedule->total_count < room) {
        gpus += sqlite3_column_int64(row, 1);
        schedule->totals[schedule->total_count++] =
            (struct orr_audit_total){sqlite3_column_int64(row, 0), gpus};
    }
}

static void load_queues(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__queue_count);
    schedule->queues =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->queues);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__queues);
    while (orr_results_step(&load->in, row) && schedule->queue_count < room) {
        add(&load->queues, sqlite3_column_int64(row, 0));
        /* parents come before their children, so theirs is known already */
        const uint32_t parent = sqlite3_column_type(row, 4) == SQLITE_NULL
                                    ? ORR_NONE
                                    : find(&load->queues, sqlite3_column_int64(row, 4));
        const uint32_t shard = shard_in(load, row, 5);
        const bool root = parent == schedule->queue_count || schedule->shards[shard].flat;
        schedule->queues[schedule->queue_count] = (struct orr_audit_queue){
            .name = keep_text(load, row, 1),
            .gpu_quota = sqlite3_column_double(row, 2),
            .gpu_limit = sqlite3_column_double(row, 3),
            .parent = root ? ORR_NONE : parent,
            .shard = shard,
            .gpu_weight = sqlite3_column_double(row, 6),
            .priority = sqlite3_column_int64(row, 7),
            .other_bounds = sqlite3_column_int(row, 8) != 0,
            .apart = sqlite3_column_int(row, 9) != 0,
            .flavored = sqlite3_column_int(row, 10) != 0,
            .within = (enum orr_audit_preemption)sqlite3_column_int(row, 11),
            .reclaim = (enum orr_audit_preemption)sqlite3_column_int(row, 12),
            .outside = schedule->shards[shard].flat && parent == ORR_NONE,
            .boundless = schedule->shards[shard].boundless};
        schedule->queue_count++;
    }
}

static void load_queue_changes(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__change_count);
    schedule->queue_changes =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->queue_changes);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__changes);
    while (orr_results_step(&load->in, row) && schedule->queue_change_count < room) {
        const uint32_t queue = find(&load->queues, sqlite3_column_int64(row, 0));
        if (queue != ORR_NONE) {
            schedule->queue_changes[schedule->queue_change_count++] =
                (struct orr_audit_queue_change){.queue = queue,
                                                .at_ms = sqlite3_column_int64(row, 1),
                                                .gpu_quota = sqlite3_column_double(row, 2),
                                                .gpu_limit = sqlite3_column_double(row, 3),
                                                .gpu_weight = sqlite3_column_double(row, 4),
                                                .priority = sqlite3_column_int64(row, 5)};
        }
    }
}

static void load_flavors(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__flavored_count);
    const uint32_t pairs = count_rows(load, orr_audit_sql__flavor_node_count);
    schedule->flavor_count = count_rows(load, orr_audit_sql__flavor_count);
    schedule->flavored =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->flavored);
    schedule->flavor_nodes =
        orr_arena_alloc(&schedule->arena, pairs + (size_t)1, sizeof *schedule->flavor_nodes);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__flavored);
    while (orr_results_step(&load->in, row) && schedule->flavored_count < room) {
        const uint32_t queue = find(&load->queues, sqlite3_column_int64(row, 0));
        const bool all = sqlite3_column_type(row, 2) == SQLITE_NULL;
        const uint32_t flavor = all ? ORR_NONE : (uint32_t)sqlite3_column_int64(row, 2);
        if (queue != ORR_NONE && (all || flavor < schedule->flavor_count)) {
            schedule->flavored[schedule->flavored_count++] = (struct orr_audit_flavored){
                .queue = queue,
                .at_ms = time_or(row, 1, ORR_MS_NONE),
                .flavor = flavor,
                .kind = (enum orr_audit_resource)sqlite3_column_int(row, 3),
                .quota = sqlite3_column_double(row, 4),
                .limit = sqlite3_column_double(row, 5),
                .lend = sqlite3_column_double(row, 6)};
        }
    }
    row = orr_results_prepare(&load->in, orr_audit_sql__flavor_nodes);
    while (orr_results_step(&load->in, row) && schedule->flavor_node_count < pairs) {
        const uint32_t node = find(&load->nodes, sqlite3_column_int64(row, 0));
        if (node != ORR_NONE) {
            schedule->flavor_nodes[schedule->flavor_node_count++] =
                (struct orr_audit_flavor_node){node, (uint32_t)sqlite3_column_int64(row, 1)};
        }
    }
}

static void load_shares(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__share_count);
    schedule->shares =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->shares);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__shares);
    while (orr_results_step(&load->in, row) && schedule->share_count < room) {
        const uint32_t queue = find(&load->queues, sqlite3_column_int64(row, 0));
        if (queue != ORR_NONE) {
            schedule->shares[schedule->share_count++] =
                (struct orr_audit_stored){.queue = queue,
                                          .at_ms = sqlite3_column_int64(row, 1),
                                          .gpus = sqlite3_column_double(row, 2)};
        }
    }
}

static void load_jobs(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__job_count);
    schedule->jobs = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->jobs);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__jobs);
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
                                   .finished = sqlite3_column_int64(row, 10) == 3,
                                   .firm = sqlite3_column_int64(row, 12) != 0,
                                   .has_books = sqlite3_column_type(row, 13) != SQLITE_NULL,
                                   .mgpu_ms = sqlite3_column_int64(row, 13),
                                   .held_back = sqlite3_column_int(row, 14) != 0,
                                   .mib = sqlite3_column_int64(row, 15),
                                   .devices = (uint32_t)sqlite3_column_int64(row, 16),
                                   .mixed = sqlite3_column_int(row, 17) != 0,
                                   .in_parts = sqlite3_column_int(row, 18) != 0,
                                   .choosy = sqlite3_column_int(row, 19) != 0,
                                   .was_held = sqlite3_column_int(row, 20) != 0,
                                   .unseen = sqlite3_column_int(row, 21) != 0,
                                   .given = sqlite3_column_int(row, 22) != 0,
                                   .priority = sqlite3_column_int64(row, 23),
                                   .gpu_kind = kind_in(load, row, 24),
                                   .of_kinds = sqlite3_column_int(row, 25) != 0,
                                   .instances = sqlite3_column_int64(row, 26)};
    }
    sort_jobs(load);
}

/* A span of the row; its node is the first of those that it is of. */
static struct orr_audit_span span_of(struct load *load, sqlite3_stmt *row, uint32_t job)
{
    const uint32_t kind = kind_in(load, row, 14);
    return (struct orr_audit_span){.job = job,
                                   .nr = (uint32_t)sqlite3_column_int64(row, 1),
                                   .pods = (uint32_t)sqlite3_column_int64(row, 3),
                                   .mgpu = sqlite3_column_int64(row, 4),
                                   .cpu_milli = sqlite3_column_int64(row, 11),
                                   .mem_bytes = sqlite3_column_int64(row, 12),
                                   .unmetered_mgpu = sqlite3_column_int64(row, 8),
                                   .devices = (uint64_t)sqlite3_column_int64(row, 5),
                                   .has_devices = sqlite3_column_type(row, 5) != SQLITE_NULL,
                                   .start_ms = sqlite3_column_int64(row, 6),
                                   .end_ms = time_or(row, 7, ORR_MS_NEVER),
                                   .leaves_ms = time_or(row, 7, ORR_MS_NEVER),
                                   .eviction = ORR_NONE,
                                   .kind = (uint32_t)sqlite3_column_int64(row, 9),
                                   .instances = (uint32_t)sqlite3_column_int64(row, 13),
                                   .mig_profile = kind > 0 ? kind - 1 : 0,
                                   .domain = sqlite3_column_type(row, 10) == SQLITE_NULL
                                                 ? ORR_NONE
                                                 : (uint32_t)sqlite3_column_int64(row, 10)};
}

/* A row of `nodes` that follow each other becomes a span on each, up to one that does not exist. */
static void load_spans(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__span_count);
    schedule->spans = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->spans);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__spans);
    while (orr_results_step(&load->in, row) && schedule->span_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job == ORR_NONE) {
            stray(load, "job", sqlite3_column_int64(row, 0));
            continue;
        }
        const int64_t first = sqlite3_column_int64(row, 2), nodes = sqlite3_column_int64(row, 15);
        struct orr_audit_span span = span_of(load, row, job);
        for (int64_t n = 0; n < nodes && schedule->span_count < room; n++) {
            span.node = find(&load->nodes, first + n);
            if (span.node == ORR_NONE) {
                stray(load, "node", first + n);
                break;
            }
            schedule->spans[schedule->span_count++] = span;
        }
    }
}

static void load_cuts(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__cut_count);
    schedule->cuts = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->cuts);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__cuts);
    while (orr_results_step(&load->in, row) && schedule->cut_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job == ORR_NONE) {
            stray(load, "job", sqlite3_column_int64(row, 0));
            continue;
        }
        schedule->cuts[schedule->cut_count++] =
            (struct orr_audit_cut){.job = job,
                                   .nr = (uint32_t)sqlite3_column_int64(row, 1),
                                   .at_ms = sqlite3_column_int64(row, 2)};
    }
}

static enum orr_audit_action action_of(const char *cause)
{
    return strcmp(cause, "reclaim") == 0       ? ORR_AUDIT_BY_RECLAIM
           : strcmp(cause, "preempt") == 0     ? ORR_AUDIT_BY_PREEMPT
           : strcmp(cause, "consolidate") == 0 ? ORR_AUDIT_BY_CONSOLIDATION
                                               : ORR_AUDIT_BY_OTHER;
}

static void load_evictions(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__eviction_count);
    schedule->evictions =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->evictions);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__evictions);
    while (orr_results_step(&load->in, row) && schedule->eviction_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job == ORR_NONE) {
            stray(load, "job", sqlite3_column_int64(row, 0));
            continue;
        }
        const bool has_job = sqlite3_column_type(row, 1) != SQLITE_NULL;
        const char *cause = orr_results_text(&load->in, row, 3);
        const bool whole = sqlite3_column_int(row, 5) != 0;
        schedule->jobs[job].leaving += whole && sqlite3_column_int(row, 8) != 0;
        schedule->evictions[schedule->eviction_count++] = (struct orr_audit_eviction){
            .job = job,
            .for_job = has_job ? find_job(load, sqlite3_column_int64(row, 1)) : ORR_NONE,
            .at_ms = sqlite3_column_int64(row, 2),
            .gone_ms = sqlite3_column_int64(row, 4),
            .pods = (uint32_t)sqlite3_column_int64(row, 6),
            .moved = (uint32_t)sqlite3_column_int64(row, 7),
            .whole = whole,
            .in_cycle = action_of(cause) != ORR_AUDIT_BY_OTHER ||
                        strcmp(cause, "stale gang") == 0 || strcmp(cause, "pods not ready") == 0,
            .gone_late = sqlite3_column_int(row, 9) != 0,
            .by = action_of(cause)};
    }
}

static void load_absences(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__absence_count);
    schedule->absences =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->absences);
    sqlite3_stmt *row = room > 0 ? orr_results_prepare(&load->in, orr_audit_sql__absences) : NULL;
    while (room > 0 && orr_results_step(&load->in, row) && schedule->absence_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job != ORR_NONE) {
            schedule->absences[schedule->absence_count++] = (struct orr_audit_absence){
                job, sqlite3_column_int64(row, 1), time_or(row, 2, ORR_MS_NEVER)};
        }
    }
}

static void load_wants(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__want_count);
    schedule->wants = orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->wants);
    sqlite3_stmt *row = orr_results_prepare(&load->in, orr_audit_sql__wants);
    while (orr_results_step(&load->in, row) && schedule->want_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job != ORR_NONE) {
            schedule->jobs[job].scales = true;
            schedule->wants[schedule->want_count++] =
                (struct orr_audit_want){.job = job,
                                        .at_ms = sqlite3_column_int64(row, 1),
                                        .pods = (uint32_t)sqlite3_column_int64(row, 2),
                                        .mgpu = sqlite3_column_int64(row, 3)};
        }
    }
}

static void load_resized(struct load *load)
{
    bool any = false;
    for (uint32_t s = 0; s < load->schedule->shard_count; s++) {
        any = any || load->schedule->shards[s].resizes;
    }
    sqlite3_stmt *row = any ? orr_results_prepare(&load->in, orr_audit_sql__resized) : NULL;
    while (any && orr_results_step(&load->in, row)) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job != ORR_NONE) {
            load->schedule->jobs[job].least_gpus = (uint32_t)sqlite3_column_int64(row, 1);
            load->schedule->jobs[job].most_gpus = (uint32_t)sqlite3_column_int64(row, 2);
        }
    }
}

static void load_promises(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__promise_count);
    schedule->promises =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->promises);
    sqlite3_stmt *row = room > 0 ? orr_results_prepare(&load->in, orr_audit_sql__promises) : NULL;
    while (room > 0 && orr_results_step(&load->in, row) && schedule->promise_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job != ORR_NONE) {
            schedule->promises[schedule->promise_count++] = (struct orr_audit_promise){
                job, sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2)};
        }
    }
}

static void load_reservations(struct load *load)
{
    struct orr_schedule *schedule = load->schedule;
    const uint32_t room = count_rows(load, orr_audit_sql__reservation_count);
    schedule->reservations =
        orr_arena_alloc(&schedule->arena, room + (size_t)1, sizeof *schedule->reservations);
    sqlite3_stmt *row =
        room > 0 ? orr_results_prepare(&load->in, orr_audit_sql__reservations) : NULL;
    while (room > 0 && orr_results_step(&load->in, row) && schedule->reservation_count < room) {
        const uint32_t job = find_job(load, sqlite3_column_int64(row, 0));
        if (job != ORR_NONE) {
            schedule->reservations[schedule->reservation_count++] =
                (struct orr_audit_reservation){job, sqlite3_column_int64(row, 1)};
        }
    }
}

static int by_span(const void *a, const void *b, void *context)
{
    const struct orr_audit_span *x = a, *y = b;
    (void)context;
    if (x->job != y->job) {
        return x->job < y->job ? -1 : 1;
    }
    return (x->nr > y->nr) - (x->nr < y->nr);
}

static int by_cut(const void *a, const void *b, void *context)
{
    const struct orr_audit_cut *x = a, *y = b;
    (void)context;
    if (x->job != y->job) {
        return x->job < y->job ? -1 : 1;
    }
    return (x->nr > y->nr) - (x->nr < y->nr);
}

enum orr_status orr_schedule_load(const char *db_path, struct orr_schedule *schedule,
                                  struct orr_err *err)
{
    struct load load = {.schedule = schedule};
    orr_idmap_init(&load.profiles);
    *schedule = (struct orr_schedule){0};
    orr_arena_init(&schedule->arena);
    orr_results_open(&load.in, db_path, err);
    load_run(&load);
    load_shards(&load);
    load_rounds(&load);
    load_nodes(&load);
    load_instances(&load);
    load_outages(&load);
    load_totals(&load);
    load_queues(&load);
    load_queue_changes(&load);
    load_flavors(&load);
    load_shares(&load);
    load_jobs(&load);
    load_spans(&load);
    load_cuts(&load);
    load_evictions(&load);
    load_promises(&load);
    load_resized(&load);
    load_reservations(&load);
    load_absences(&load);
    load_wants(&load);
    orr_sort(schedule->spans, schedule->span_count, sizeof *schedule->spans, by_span, NULL);
    orr_sort(schedule->cuts, schedule->cut_count, sizeof *schedule->cuts, by_cut, NULL);
    orr_audit__settle_evictions(schedule);
    const enum orr_status status = load.in.status;
    orr_results_close(&load.in);
    orr_free(load.jobs.ids);
    orr_free(load.nodes.ids);
    orr_free(load.queues.ids);
    orr_free(load.shards.ids);
    orr_free(load.job_at);
    orr_idmap_release(&load.profiles);
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
