/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account.c - the placements of a run once more, after it: they are its record. */
#include "account_int.h"

#include <orrery/base/mem.h>

static int64_t mgpu_of(const struct orr_ledger *ledger, const struct orr_placement *placement)
{
    const struct orr_ledger_world *world = &ledger->world;
    const struct orr_shape *shape = &world->shapes->shapes[world->specs[placement->job].shape];
    return placement->tasks *
           orr_request_task_mgpu(&shape->groups[placement->group].request,
                                 orr_cluster_type(world->cluster, placement->node));
}

orr_ms orr_account__end_of(const struct orr_run *run, const struct orr_placement *placement)
{
    return placement->hold == ORR_HOLD_ENDED ? placement->until_ms : run->end_ms;
}

orr_ms orr_placement_ms(const struct orr_run *run, const struct orr_placement *placement,
                        orr_ms from_ms, orr_ms to_ms)
{
    orr_ms from = placement->since_ms > from_ms ? placement->since_ms : from_ms;
    orr_ms to =
        orr_account__end_of(run, placement) < to_ms ? orr_account__end_of(run, placement) : to_ms;
    return from < to ? to - from : 0;
}

int64_t orr_placement_held(const struct orr_run *run, const struct orr_placement *placement,
                           orr_ms from_ms, orr_ms to_ms)
{
    orr_ms held_ms = orr_placement_ms(run, placement, from_ms, to_ms);
    return held_ms > 0 ? held_ms * mgpu_of(run->ledger, placement) : 0;
}

/* --- the account of a run in which work is wall time --- */

static void add_waste(struct orr_run *run, uint32_t job, uint8_t part, orr_ms from_ms, orr_ms to_ms,
                      int64_t mgpu_ms)
{
    if (mgpu_ms > 0) {
        run->wastes = ORR_ROOM_FOR_ONE(run->wastes, run->waste_count, run->waste_capacity);
        run->wastes[run->waste_count++] = (struct orr_waste){
            .job = job, .part = part, .from_ms = from_ms, .to_ms = to_ms, .mgpu_ms = mgpu_ms};
    }
}

static void account_for(struct orr_run *run, const struct orr_placement *placement,
                        struct orr_job_time *time)
{
    const struct orr_job_state *state = &run->ledger->jobs[placement->job];
    int64_t held = orr_placement_held(run, placement, placement->since_ms, ORR_MS_NEVER);
    int64_t waiting = 0;
    if (placement->attempt > state->attempts) { /* its gang never was complete */
        waiting = held;
    } else if (placement->attempt == state->attempts) {
        waiting = orr_placement_held(run, placement, placement->since_ms, state->start_ms);
    }
    time->waiting += waiting;
    *(placement->cause == ORR_CAUSE_NONE ? &time->useful : &time->lost[placement->cause]) +=
        held - waiting;
    const orr_ms end = orr_account__end_of(run, placement);
    const orr_ms working = waiting == held ? end
                           : waiting > 0   ? state->start_ms
                                           : placement->since_ms;
    add_waste(run, placement->job, ORR_WASTE_WAITING, placement->since_ms, working, waiting);
    if (placement->cause != ORR_CAUSE_NONE) {
        add_waste(run, placement->job, placement->cause, working, end, held - waiting);
    }
}

static void make_times(struct orr_run *run)
{
    const struct orr_ledger *ledger = run->ledger;
    run->times = orr_zalloc(ledger->world.job_count, sizeof *run->times);
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        account_for(run, placement, &run->times[placement->job]);
    }
}

const struct orr_job_time *orr_account_of(const struct orr_run *run, uint32_t job)
{
    static const struct orr_job_time nothing = {0};
    return run->exec != NULL    ? orr_exec_time(run->exec, job)
           : run->times != NULL ? &run->times[job]
                                : &nothing;
}

const struct orr_waste *orr_account_wastes(const struct orr_run *run, uint32_t *count)
{
    *count = run->waste_count;
    return run->exec != NULL ? orr_exec_wastes(run->exec, count) : run->wastes;
}

const struct orr_waste *orr_account_slows(const struct orr_run *run, uint32_t *count)
{
    *count = 0;
    return run->exec != NULL ? orr_exec_slows(run->exec, count) : NULL;
}

/* --- evictions and what they were good for --- */

static bool left_node(const struct orr_ledger *ledger, const struct orr_by_job *placements,
                      const struct orr_eviction *eviction, uint32_t node)
{
    for (uint32_t i = orr_by_job_first(placements, eviction->job);
         i < orr_by_job_first(placements, eviction->job + 1); i++) {
        const struct orr_placement *placement = &ledger->placements[placements->rows[i]];
        if (orr_placement_is_on(placement, node) && placement->cause != ORR_CAUSE_NONE &&
            placement->until_ms == eviction->gone_ms) {
            return true;
        }
    }
    return false;
}

/* Is the run over before a cycle could give a job that wants it the room? What is free at once is
 * seen by the next cycle, what is free at the end of a grace by that of the same time. */
static bool was_cut(const struct orr_world *world, const struct orr_run *run,
                    const struct orr_eviction *eviction)
{
    const struct orr_job_state *state = &run->ledger->jobs[eviction->beneficiary];
    const struct orr_job_spec *spec = &world->specs[eviction->beneficiary];
    const orr_ms cycled = run->cycled_ms[world->queues.queues[spec->queue].shard];
    const bool seen = cycled > eviction->gone_ms ||
                      (cycled == eviction->gone_ms && eviction->gone_ms > eviction->at_ms);
    return run->status != ORR_RUN_FINISHED && !seen && state->phase != ORR_JOB_FINISHED &&
           state->phase != ORR_JOB_WITHDRAWN;
}

/* Does any pod that the beneficiary got next run where the eviction made room? */
static void judge_use(const struct orr_world *world, const struct orr_run *run,
                      const struct orr_by_job *placements, struct orr_eviction *eviction)
{
    const struct orr_ledger *ledger = run->ledger;
    orr_ms next = ORR_MS_NEVER;
    bool used = false;
    const uint32_t whose = eviction->beneficiary;
    for (uint32_t i = orr_by_job_first(placements, whose);
         i < orr_by_job_first(placements, whose + 1); i++) {
        const struct orr_placement *placement = &ledger->placements[placements->rows[i]];
        if (placement->since_ms < eviction->at_ms || placement->since_ms > next) {
            continue;
        }
        used = used && placement->since_ms == next;
        for (uint32_t n = 0; n <= placement->more_nodes && !used; n++) {
            used = left_node(ledger, placements, eviction, placement->node + n);
        }
        next = placement->since_ms;
    }
    eviction->used = used;
    eviction->undecided = next == ORR_MS_NEVER && was_cut(world, run, eviction);
}

void orr_account__set_idle(struct orr_run *run, uint32_t job, int64_t idle)
{
    if (run->exec != NULL) {
        orr_exec_set_idle(run->exec, job, idle);
    } else {
        run->times[job].idle = idle;
    }
}

void orr_account_make(const struct orr_world *world, struct orr_run *run)
{
    bool may_idle = orr_account_may_idle(world);
    if (run->exec == NULL && (run->eviction_count > 0 || run->held_part || may_idle)) {
        make_times(run);
    }
    if (may_idle) {
        orr_account__idle(world, run);
    }
    if (run->eviction_count == 0) {
        return;
    }
    struct orr_by_job placements = orr_by_job_placements(run);
    for (uint32_t e = 0; e < run->eviction_count; e++) {
        if (run->evictions[e].beneficiary != ORR_NONE) {
            judge_use(world, run, &placements, &run->evictions[e]);
        }
    }
    orr_by_job_release(&placements);
}

/* --- conservation --- */

static enum orr_status violated(const struct orr_run *run, struct orr_err *err, const char *what,
                                uint32_t id, orr_ms at, int64_t book, int64_t truth)
{
    return orr_fail(err, ORR_BUG,
                    "GPU time is not conserved: %s %u at %lld ms (digest %016llx): %lld, not %lld",
                    what, id, (long long)at, (unsigned long long)run->digest, (long long)book,
                    (long long)truth);
}

static int64_t least_part(const struct orr_job_time *time)
{
    const int64_t parts[] = {time->useful, time->checkpoint, time->restart, time->waiting,
                             orr_job_time_good(time)};
    int64_t least = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        least = parts[i] < least ? parts[i] : least;
    }
    for (int c = ORR_CAUSE_NONE + 1; c < ORR_CAUSE_COUNT; c++) {
        least = time->lost[c] < least ? time->lost[c] : least;
    }
    return least;
}

typedef const struct orr_waste *rows_fn(const struct orr_run *run, uint32_t *count);

static void take_rows(const struct orr_run *run, rows_fn *rows_of, int64_t *by_job)
{
    uint32_t count;
    const struct orr_waste *rows = rows_of(run, &count);
    for (uint32_t i = 0; i < count; i++) {
        by_job[rows[i].job] -= rows[i].mgpu_ms;
    }
}

/* Nobody knows where, or has too much of it: the amount that rows do not tell of a job. */
static enum orr_status check_rows(const struct orr_run *run, struct orr_err *err, const char *what,
                                  const int64_t *by_job)
{
    for (uint32_t j = 0; j < run->ledger->world.job_count; j++) {
        if (by_job[j] != 0) {
            return violated(run, err, what, j, run->end_ms, by_job[j], 0);
        }
    }
    return ORR_OK;
}

/* What became of a job's GPU time adds up to what its placements held, no part is negative, and
 * where it went into nothing, or was slow, is known. */
static enum orr_status check_jobs(const struct orr_run *run, struct orr_err *err)
{
    const struct orr_ledger *ledger = run->ledger;
    uint32_t jobs = ledger->world.job_count;
    if (run->exec == NULL && run->times == NULL) {
        return ORR_OK; /* all of it was useful: there is nothing that could differ */
    }
    int64_t *held = orr_zalloc(jobs, sizeof *held);
    int64_t *unused = orr_zalloc(jobs, sizeof *unused), *slow = orr_zalloc(jobs, sizeof *slow);
    for (uint32_t p = 0; p < ledger->placement_count; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        held[placement->job] +=
            orr_placement_held(run, placement, placement->since_ms, ORR_MS_NEVER);
    }
    for (uint32_t j = 0; j < jobs; j++) {
        const struct orr_job_time *time = orr_account_of(run, j);
        unused[j] = orr_job_time_sum(time) - time->useful;
        slow[j] = time->slow;
    }
    take_rows(run, orr_account_wastes, unused);
    take_rows(run, orr_account_slows, slow);
    enum orr_status status = ORR_OK;
    for (uint32_t j = 0; j < jobs && status == ORR_OK; j++) {
        const struct orr_job_time *time = orr_account_of(run, j);
        int64_t sum = orr_job_time_sum(time), least = least_part(time);
        if (sum != held[j]) {
            status = violated(run, err, "useful, lost and overhead of job", j, run->end_ms, sum,
                              held[j]);
        } else if (least < 0) {
            status = violated(run, err, "a part of the time of job", j, run->end_ms, least, 0);
        }
    }
    status = status == ORR_OK ? check_rows(run, err, "wasted time of job", unused) : status;
    status = status == ORR_OK ? check_rows(run, err, "slow time of job", slow) : status;
    orr_free(slow);
    orr_free(held);
    orr_free(unused);
    return status;
}

struct share { /* of a device that tasks share */
    orr_ms until_ms;
    int64_t mgpu;
    uint32_t next; /* + 1 */
};

struct devices {      /* of all nodes that are counted one by one */
    orr_ms *free_ms;  /* the last task that had the device alone left it */
    uint32_t *shares; /* first share of the device, + 1; NULL: none was ever shared */
    struct share *pool;
    uint32_t pool_count, pool_capacity;
    size_t count;
};

/* Drops the shares that are over, and returns what the others take. */
static int64_t shares_at(struct devices *devices, size_t device, orr_ms now)
{
    int64_t mgpu = 0;
    uint32_t *link = &devices->shares[device];
    while (*link != 0) {
        struct share *share = &devices->pool[*link - 1];
        if (share->until_ms <= now) {
            *link = share->next;
        } else {
            mgpu += share->mgpu;
            link = &share->next;
        }
    }
    return mgpu;
}

static void add_share(struct devices *devices, size_t device, orr_ms until_ms, int64_t mgpu)
{
    devices->pool = ORR_ROOM_FOR_ONE(devices->pool, devices->pool_count, devices->pool_capacity);
    devices->pool[devices->pool_count++] =
        (struct share){.until_ms = until_ms, .mgpu = mgpu, .next = devices->shares[device]};
    devices->shares[device] = devices->pool_count;
}

/* Nobody has a device alone that another holds, and shares are at most the whole. */
static bool take_node(struct devices *devices, const struct orr_ledger *ledger,
                      const struct orr_placement *placement, uint32_t node, orr_ms end,
                      const struct orr_request *request)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    size_t first = (size_t)node * cluster->max_gpus;
    const struct orr_node_type *type = orr_cluster_type(cluster, placement->node);
    const int64_t all = orr_device_parts(type);
    const int64_t parts = orr_request_shares(request) ? orr_request_parts(request, type) : all;
    if (parts < all && devices->shares == NULL) {
        devices->shares = orr_zalloc(devices->count, sizeof *devices->shares);
    }
    for (uint64_t rest = placement->devices; rest != 0; rest &= rest - 1) {
        size_t device = first + (uint32_t)__builtin_ctzll(rest);
        int64_t shared =
            devices->shares == NULL ? 0 : shares_at(devices, device, placement->since_ms);
        if (placement->since_ms < devices->free_ms[device] || shared + parts > all) {
            return false;
        }
        if (parts == all) {
            devices->free_ms[device] = end;
        } else {
            add_share(devices, device, end, parts);
        }
    }
    return true;
}

static bool take_devices(struct devices *devices, const struct orr_ledger *ledger,
                         const struct orr_placement *placement, orr_ms end,
                         const struct orr_request *request)
{
    bool taken = true;
    for (uint32_t n = 0; n <= placement->more_nodes && taken; n++) {
        taken = take_node(devices, ledger, placement, placement->node + n, end, request);
    }
    return taken;
}

/* What the queues held, as the series summed it up while the run went: mGPU x ms. */
static orr_wide held_in_series(const struct orr_run *run)
{
    orr_wide sum = 0;
    for (uint32_t q = 0; q < run->fold.tree->count; q++) {
        const struct orr_fold_queue *queue = &run->fold.queues[q];
        sum += queue->sum.allocated + (orr_wide)queue->allocated * (run->end_ms - queue->at);
    }
    return sum;
}

/* No device is held twice, and the queues held what the placements did. Placements come in the
 * order in which devices were taken; the part that an eviction split off one comes later, but
 * before any other that takes its devices. */
static enum orr_status check_placements(const struct orr_run *run, struct orr_err *err)
{
    const struct orr_ledger *ledger = run->ledger;
    const struct orr_cluster *cluster = ledger->world.cluster;
    struct devices devices = {.count = (size_t)cluster->node_count * cluster->max_gpus};
    enum orr_status status = ORR_OK;
    orr_wide series = held_in_series(run), record = 0;
    devices.free_ms = orr_alloc(devices.count, sizeof *devices.free_ms);
    for (size_t d = 0; d < devices.count; d++) {
        devices.free_ms[d] = ORR_MS_NONE;
    }
    for (uint32_t p = 0; p < ledger->placement_count && status == ORR_OK; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_job_spec *spec = &ledger->world.specs[placement->job];
        const struct orr_request *request =
            &ledger->world.shapes->shapes[spec->shape].groups[placement->group].request;
        orr_ms end = orr_account__end_of(run, placement);
        record += (orr_wide)(end - placement->since_ms) * mgpu_of(ledger, placement);
        if (!take_devices(&devices, ledger, placement, end, request)) {
            status = violated(run, err, "a device held twice, by job", placement->job,
                              placement->since_ms, placement->since_ms, end);
        }
    }
    orr_free(devices.free_ms);
    orr_free(devices.shares);
    orr_free(devices.pool);
    return status != ORR_OK || series == record
               ? status
               : violated(run, err, "queues held in", 0, run->end_ms, (int64_t)series,
                          (int64_t)record);
}

/* The outages of each node: first[n]..first[n + 1] of the list, in order of time. */
struct outages {
    uint32_t *first, *list;
};

static struct outages outages_by_node(const struct orr_run *run)
{
    const uint32_t nodes = run->ledger->world.cluster->node_count;
    struct outages by = {.first = orr_zalloc(nodes + (size_t)2, sizeof *by.first),
                         .list = orr_alloc(run->outage_count, sizeof *by.list)};
    for (uint32_t o = 0; o < run->outage_count; o++) {
        by.first[run->outages[o].node + 2]++;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        by.first[n + 2] += by.first[n + 1];
    }
    for (uint32_t o = 0; o < run->outage_count; o++) {
        by.list[by.first[run->outages[o].node + 1]++] = o;
    }
    return by;
}

/* The last outage of a node that begins before `end`, or NULL. A node's outages are one after the
 * other, so if any of them meets a time that ends there, this one does. */
static const struct orr_outage *last_before(const struct orr_run *run, const struct outages *by,
                                            uint32_t node, orr_ms end)
{
    uint32_t low = by->first[node], high = by->first[node + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (run->outages[by->list[middle]].from_ms < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == by->first[node] ? NULL : &run->outages[by->list[low - 1]];
}

/* Nothing is held on a node while it is down, and a node is down once at a time. */
static enum orr_status check_outages(const struct orr_run *run, struct orr_err *err)
{
    const struct orr_ledger *ledger = run->ledger;
    enum orr_status status = ORR_OK;
    if (run->outage_count == 0) {
        return ORR_OK;
    }
    const struct outages by = outages_by_node(run);
    for (uint32_t n = 0; n < ledger->world.cluster->node_count; n++) {
        for (uint32_t i = by.first[n] + 1; i < by.first[n + 1] && status == ORR_OK; i++) {
            const struct orr_outage *before = &run->outages[by.list[i - 1]];
            const struct orr_outage *outage = &run->outages[by.list[i]];
            if (outage->from_ms < before->to_ms) {
                status = violated(run, err, "down twice, node", n, outage->from_ms, outage->from_ms,
                                  before->to_ms);
            }
        }
    }
    for (uint32_t p = 0; p < ledger->placement_count && status == ORR_OK; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        for (uint32_t n = 0; n <= placement->more_nodes && status == ORR_OK; n++) {
            const struct orr_outage *outage =
                last_before(run, &by, placement->node + n, orr_account__end_of(run, placement));
            if (outage != NULL && placement->since_ms < outage->to_ms) {
                status = violated(run, err, "on a node that is down, job", placement->job,
                                  outage->from_ms, placement->since_ms, outage->to_ms);
            }
        }
    }
    orr_free(by.first);
    orr_free(by.list);
    return status;
}

enum orr_status orr_account_check(const struct orr_run *run, struct orr_err *err)
{
    enum orr_status status = check_placements(run, err);
    status = status == ORR_OK ? check_outages(run, err) : status;
    status = status == ORR_OK ? check_jobs(run, err) : status;
    return status == ORR_OK ? orr_account__check_gangs(run, err) : status;
}
