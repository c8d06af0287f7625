/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must hold after every cycle of KAI on random clusters and job mixes, whatever it decided.
 *
 * The checks count from the tasks and the decisions; they use none of the session's own sums.
 *
 *   test_kai_properties                the quick test
 *   test_kai_properties SEED COUNT     COUNT worlds from SEED on
 */
#include "kai_world.h"

#include <math.h>
#include <stdlib.h>

#include "random_world.h"

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#define WORLDS        300
#define CYCLES        6
#define PERIOD_MS     30000
#define MAX_QUEUES    64
#define MAX_GROUPS    128

#define HUNGRY_WORLDS 200
#define HUNGRY_CYCLES 20
#define MAX_EVICTIONS 1024

struct tally {
    uint64_t seed; /* of the world in hand */
    uint32_t quiet_cycles, reclaims, binds;
};

static void claim(const struct tally *tally, bool holds, const char *what, const char *where)
{
    if (!holds) {
        fail_msg("seed %llu: %s: %s", (unsigned long long)tally->seed, where, what);
    }
}

/* --- sums from tasks --- */

static bool is_below(const struct orr_session *session, uint32_t job, uint32_t queue)
{
    uint32_t at = session->jobs[job].queue;
    while (at != ORR_NONE && at != queue) {
        at = session->shares[at].parent;
    }
    return at == queue;
}

/* What queues count of a task that is on a node. */
static int64_t amount_on(const struct orr_session *session, uint32_t task, uint32_t node,
                         unsigned kind)
{
    const struct orr_ask *ask = &session->asks[session->tasks[task].ask];
    switch (kind) {
    case ORR_SHARE_CPU: return ask->request.v[ORR_SLOT_CPU];
    case ORR_SHARE_MEMORY: return ask->request.v[ORR_SLOT_MEMORY];
    default: break;
    }
    if (ask->kind != ORR_ASK_MEMORY) {
        return ask->request.v[ORR_SLOT_GPU] + ask->mig_mgpu;
    }
    const double part = (double)ask->memory_mib / (double)session->nodes[node].gpu_memory_mib;
    return (int64_t)ceil(part * 100) * 10 * ask->devices;
}

struct sums { /* by queue, its descendants included */
    int64_t all[MAX_QUEUES][ORR_SHARE_KINDS], fixed[MAX_QUEUES][ORR_SHARE_KINDS];
};

static void add_task(const struct orr_session *session, struct sums *sums, uint32_t task,
                     uint32_t node, int sign)
{
    const uint32_t job = session->tasks[task].job;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        for (unsigned k = 0; is_below(session, job, q) && k < ORR_SHARE_KINDS; k++) {
            const int64_t amount = sign * amount_on(session, task, node, k);
            sums->all[q][k] += amount;
            sums->fixed[q][k] += session->jobs[job].preemptible ? 0 : amount;
        }
    }
}

static void sum_queues(const struct orr_session *session, struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    assert_true(session->queue_count <= MAX_QUEUES);
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_place *held = &session->tasks[t].held;
        if (orr_status_in(held->status, ORR_STATES_ALLOCATED)) {
            add_task(session, sums, t, held->node, 1);
        }
    }
}

/* --- devices and hosts --- */

static int64_t need_mib(const struct orr_ask *ask, const struct orr_snode *node)
{
    return ask->kind == ORR_ASK_MEMORY ? ask->memory_mib
                                       : (int64_t)(ask->portion * (double)node->gpu_memory_mib);
}

struct device {
    uint32_t id;
    int64_t used_mib;
};

static uint32_t use_device(struct device *devices, uint32_t count, uint32_t id, int64_t mib)
{
    uint32_t at = 0;
    while (at < count && devices[at].id != id) {
        at++;
    }
    if (at == count) {
        assert_true(count < MAX_GROUPS);
        devices[count++] = (struct device){id, 0};
    }
    devices[at].used_mib += mib;
    return count;
}

static void assert_no_node_overfull(const struct tally *tally, const struct orr_session *session,
                                    uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    struct orr_vec used = {0};
    struct device devices[MAX_GROUPS];
    uint32_t shared = 0;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = &session->asks[task->ask];
        if (task->held.node != n || !orr_status_in(task->held.status, ORR_STATES_ACTIVE_USED)) {
            continue;
        }
        for (uint32_t s = 0; s < session->slot_count; s++) {
            used.v[s] += s == ORR_SLOT_GPU && orr_ask_is_shared(ask) ? 0 : ask->request.v[s];
        }
        const uint32_t *groups = session->gpu_group_ids + task->gpu_groups_at + ask->devices;
        for (uint32_t g = 0; g < task->held.group_count; g++) {
            shared = use_device(devices, shared, groups[g], need_mib(ask, node));
        }
    }
    for (uint32_t i = 0; i < shared; i++) {
        claim(tally, devices[i].used_mib <= node->gpu_memory_mib, "a shared device is overfull",
              node->name);
    }
    used.v[ORR_SLOT_GPU] += (int64_t)shared * ORR_MGPU;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        claim(tally, used.v[s] <= node->allocatable.v[s], "the node is overfull", node->name);
    }
}

/* --- queues --- */

/* A bound may have been passed before, by work that was there when it was set; never by a cycle. */
static void assert_within(const struct tally *tally, const struct orr_session *session,
                          const struct sums *before, const struct sums *after)
{
    for (uint32_t q = 0; q < session->queue_count; q++) {
        for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
            const struct orr_share_resource *r = &session->shares[q].resource[k];
            const double all = orr_share_units(k, after->all[q][k]);
            const double fixed = orr_share_units(k, after->fixed[q][k]);
            claim(tally,
                  r->limit == ORR_UNLIMITED || all <= r->limit ||
                      after->all[q][k] <= before->all[q][k],
                  "raised above its limit", session->queues[q].name);
            claim(tally,
                  r->deserved == ORR_UNLIMITED || fixed <= r->deserved ||
                      after->fixed[q][k] <= before->fixed[q][k],
                  "non-preemptible work above its quota", session->queues[q].name);
        }
    }
}

/* --- gangs --- */

static int32_t count_in(const struct orr_session *session, uint32_t job, uint32_t set,
                        uint32_t states)
{
    const struct orr_sjob *at = &session->jobs[job];
    int32_t count = 0;
    for (uint32_t t = at->first_task; t < at->first_task + at->task_count; t++) {
        count +=
            session->tasks[t].set == set && orr_status_in(session->tasks[t].held.status, states);
    }
    return count;
}

/* Satisfied, or with `states` that could be placed: able to be. */
static bool holds(const struct orr_session *session, uint32_t job, uint32_t set, uint32_t states)
{
    const struct orr_sjob *at = &session->jobs[job];
    int32_t members = 0;
    int32_t good = 0;
    if (session->sets[set].is_pods) {
        return count_in(session, job, set, states) >= session->sets[set].min;
    }
    for (uint32_t c = at->first_set; c < at->first_set + at->set_count; c++) {
        if (session->sets[c].parent == set) {
            members++;
            good += holds(session, job, c, states);
        }
    }
    return good >= (session->sets[set].min_stated ? session->sets[set].min : members);
}

/* KAI does not ask whether the members it takes have enough pods, only whether enough members do:
 * of a job with a member that cannot be whole it may bind a part. */
static bool every_member_could(const struct orr_session *session, uint32_t job)
{
    const struct orr_sjob *at = &session->jobs[job];
    for (uint32_t s = at->first_set; s < at->first_set + at->set_count; s++) {
        if (session->sets[s].is_pods &&
            count_in(session, job, s, ORR_STATES_ALIVE & ~ORR_STATUS_BIT(ORR_TASK_GATED)) <
                session->sets[s].min) {
            return false;
        }
    }
    return true;
}

static void assert_gangs_whole(const struct tally *tally, const struct orr_session *session)
{
    for (uint32_t i = 0; i < session->decision_count; i++) {
        const struct orr_decision *d = &session->decisions[i];
        const uint32_t job = session->tasks[d->task].job;
        if (d->kind == ORR_DECISION_BIND && every_member_could(session, job)) {
            bool evicted = false; /* by a later action of the same cycle */
            for (uint32_t k = i; k < session->decision_count; k++) {
                evicted = evicted || (session->decisions[k].kind == ORR_DECISION_EVICT &&
                                      session->tasks[session->decisions[k].task].job == job);
            }
            claim(tally,
                  evicted ||
                      holds(session, job, session->jobs[job].first_set, ORR_STATES_ALLOCATED),
                  "started below its minimum", session->jobs[job].name);
        }
    }
}

/* --- victims of reclaim --- */

struct reclaimed {       /* one commit */
    uint32_t first, end; /* of the decisions */
    struct sums left;    /* while it takes */
    struct orr_demand demand;
    uint32_t queue; /* of the reclaimer */
};

static uint32_t path_of(const struct orr_session *session, uint32_t queue, uint32_t *path)
{
    uint32_t depth = 0;
    for (uint32_t q = queue; q != ORR_NONE; q = session->shares[q].parent) {
        depth++;
    }
    for (uint32_t i = depth; i-- > 0; queue = session->shares[queue].parent) {
        path[i] = queue;
    }
    return depth;
}

/* The two queues where the ways from the root part. */
static void part_ways(const struct orr_session *session, uint32_t a, uint32_t b, uint32_t *at_a,
                      uint32_t *at_b)
{
    uint32_t path_a[16] = {0};
    uint32_t path_b[16] = {0};
    const uint32_t depth_a = path_of(session, a, path_a);
    const uint32_t depth_b = path_of(session, b, path_b);
    uint32_t i = 0;
    while (i + 1 < depth_a && i + 1 < depth_b && path_a[i] == path_b[i]) {
        i++;
    }
    *at_a = path_a[i];
    *at_b = path_b[i];
}

static bool was_moved(const struct orr_session *session, const struct reclaimed *commit,
                      uint32_t task)
{
    for (uint32_t i = commit->first; i < commit->end; i++) {
        if (session->decisions[i].task == task &&
            session->decisions[i].kind == ORR_DECISION_PIPELINE) {
            return session->rules.allow_consolidating_reclaim;
        }
    }
    return false;
}

/* Above its allocatable share, or above its quota while the reclaimer stays within its own. */
static bool may_lose(const struct orr_session *session, const struct reclaimed *commit,
                     uint32_t victim_queue)
{
    uint32_t mine;
    uint32_t theirs;
    part_ways(session, commit->queue, victim_queue, &mine, &theirs);
    bool over_share = false;
    bool over_quota = false;
    bool within = true;
    for (unsigned k = 0; k < ORR_SHARE_KINDS; k++) {
        const struct orr_share_resource *r = &session->shares[theirs].resource[k];
        const double held = orr_share_units(k, commit->left.all[theirs][k]);
        const double quota = session->shares[mine].resource[k].deserved;
        const double share = orr_share_allocatable(r);
        over_share = over_share || (share != ORR_UNLIMITED && held > share);
        over_quota = over_quota || (r->deserved != ORR_UNLIMITED && held > r->deserved);
        within = within && (quota == ORR_UNLIMITED ||
                            orr_demand_on(commit->left.all[mine][k], &commit->demand, k) <= quota);
    }
    return over_share || (within && over_quota);
}

static uint32_t job_of(const struct orr_session *session, uint32_t decision)
{
    return session->tasks[session->decisions[decision].task].job;
}

static bool job_first(const struct orr_session *session, uint32_t a, uint32_t b)
{
    const struct orr_session *s = session;
    const int order = strcmp(s->queues[s->jobs[a].queue].name, s->queues[s->jobs[b].queue].name);
    return order != 0 ? order < 0 : strcmp(s->jobs[a].name, s->jobs[b].name) < 0;
}

/* Job by job in the order of names: before each, its queue must have something to lose. A job is
 * judged as one unit, which asks no more than judging its elastic tasks one by one. */
static void assert_fair_taking(const struct tally *tally, const struct orr_session *session,
                               struct reclaimed *commit)
{
    for (uint32_t last = ORR_NONE;;) {
        uint32_t next = ORR_NONE;
        for (uint32_t i = commit->first; i < commit->end; i++) {
            const uint32_t job = job_of(session, i);
            if (session->decisions[i].kind == ORR_DECISION_EVICT &&
                !was_moved(session, commit, session->decisions[i].task) &&
                (last == ORR_NONE || job_first(session, last, job)) &&
                (next == ORR_NONE || job_first(session, job, next))) {
                next = job;
            }
        }
        if (next == ORR_NONE) {
            return;
        }
        claim(tally, may_lose(session, commit, session->jobs[next].queue),
              "taken from a queue that is not over its share", session->jobs[next].name);
        for (uint32_t i = commit->first; i < commit->end; i++) {
            if (job_of(session, i) == next && session->decisions[i].kind == ORR_DECISION_EVICT &&
                !was_moved(session, commit, session->decisions[i].task)) {
                add_task(session, &commit->left, session->decisions[i].task,
                         session->decisions[i].node, -1);
            }
        }
        last = next;
    }
}

static struct orr_demand demand_of(const struct orr_session *session,
                                   const struct reclaimed *commit, uint32_t preemptor)
{
    struct orr_demand demand = {0};
    for (uint32_t i = commit->first; i < commit->end; i++) {
        if (session->decisions[i].kind == ORR_DECISION_PIPELINE &&
            job_of(session, i) == preemptor) {
            orr_session_add_demand(&session->asks[session->tasks[session->decisions[i].task].ask],
                                   session->min_gpu_memory_mib, &demand);
        }
    }
    return demand;
}

/* Replays the decisions on the sums the cycle began with. */
static void assert_reclaims_fair(struct tally *tally, const struct orr_session *session,
                                 const struct sums *before)
{
    struct sums live = *before;
    for (uint32_t i = 0, end; i < session->decision_count; i = end) {
        const struct orr_decision *d = &session->decisions[i];
        end = i + 1;
        while (end < session->decision_count && d->preemptor != ORR_NONE &&
               session->decisions[end].preemptor == d->preemptor &&
               session->decisions[end].action == d->action) {
            end++;
        }
        if (d->action == ORR_ACTION_RECLAIM) {
            struct reclaimed commit = {
                .first = i, .end = end, .left = live, .queue = session->jobs[d->preemptor].queue};
            commit.demand = demand_of(session, &commit, d->preemptor);
            assert_fair_taking(tally, session, &commit);
            tally->reclaims++;
        }
        for (uint32_t k = i; k < end; k++) {
            add_task(session, &live, session->decisions[k].task, session->decisions[k].node,
                     session->decisions[k].kind == ORR_DECISION_EVICT ? -1 : 1);
        }
    }
}

/* --- one world --- */

static void check_cycle(struct tally *tally, struct orr_session *session, orr_ms now)
{
    struct sums before;
    struct sums after;
    sum_queues(session, &before);
    orr_session_open(session, now);
    orr_kai_cycle(session);
    assert_reclaims_fair(tally, session, &before);
    for (uint32_t i = 0; i < session->decision_count; i++) {
        tally->binds += session->decisions[i].kind == ORR_DECISION_BIND;
    }
    const bool quiet = session->decision_count == 0;
    assert_gangs_whole(tally, session);
    orr_session_close(session);
    sum_queues(session, &after);
    assert_within(tally, session, &before, &after);
    for (uint32_t n = 0; n < session->node_count; n++) {
        assert_no_node_overfull(tally, session, n);
    }
    if (quiet) {
        tally->quiet_cycles++;
        orr_session_open(session, now);
        orr_kai_cycle(session);
        claim(tally, session->decision_count == 0, "decides after a cycle that decided nothing",
              "session");
        orr_session_close(session);
    }
}

static void check_world(struct tally *tally, uint64_t seed)
{
    tally->seed = seed;
    struct random_world world;
    struct orr_session session;
    struct orr_rng rng = orr_rng_stream(seed, "prop-mix", 0);
    random_world_make(&world, seed, (uint32_t)orr_rng_u64(&rng) & RANDOM_ALL, &session);
    session.rules.strict_v017 = false; /* its abandoned searches move shares that nobody sees */
    for (uint32_t c = 0; c < CYCLES; c++) {
        check_cycle(tally, &session, RANDOM_WORLD_NOW + (orr_ms)c * PERIOD_MS);
        if (c % 2 == 1) {
            random_world_pass(&world, &session, 3);
        } else {
            random_world_settle(&world, &session);
        }
    }
    orr_session_release(&session);
}

static void kai__keeps_its_promises_on_random_worlds(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        check_world(&tally, seed);
    }
    assert_true(tally.quiet_cycles > 100);
    assert_true(tally.reclaims > 100);
    assert_true(tally.binds > 1000);
}

/* --- ping-pong --- */

struct eviction { /* `victim` lost something for `winner` */
    uint32_t victim, winner;
    orr_ms at;
};

/* Pairs of evictions of two jobs for each other within a time. */
static uint32_t count_ping_pong(const struct eviction *all, uint32_t count, orr_ms within)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            if (all[i].victim == all[k].winner && all[i].winner == all[k].victim &&
                all[k].at - all[i].at < within) {
                pairs++;
                break;
            }
        }
    }
    return pairs;
}

/* Queues without quota, each with jobs that want a large part of the cluster, while past use counts
 * and speaks for another queue every few cycles: they take from each other as often as they may. */
static void make_hungry(struct orr_rng *rng, struct orr_session *session)
{
    const uint32_t queues = 2 + (uint32_t)orr_rng_below(rng, 3);
    const uint32_t nodes = 1 + (uint32_t)orr_rng_below(rng, 3);
    world_init(session);
    session->rules.k = 1;
    session->rules.max_consolidation_preemptees = (int64_t)orr_rng_below(rng, 2) - 1;
    for (uint32_t n = 0; n < nodes; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", n);
        (void)world_node(session, name, 4);
    }
    for (uint32_t q = 0; q < queues; q++) {
        char name[32];
        (void)snprintf(name, sizeof name, "q%u", q);
        const uint32_t queue = world_queue(session, name, ORR_NONE, 0, -1, 1);
        const uint32_t jobs = 1 + (uint32_t)orr_rng_below(rng, 3);
        for (uint32_t j = 0; j < jobs; j++) {
            (void)snprintf(name, sizeof name, "q%u-%u", q, j);
            const uint32_t count = 1 + (uint32_t)orr_rng_below(rng, nodes);
            (void)world_gang(session, name, queue, 50, 2 * (int64_t)(1 + orr_rng_below(rng, 2)),
                             count, -1);
        }
    }
}

static void run_on(struct orr_session *session)
{
    for (uint32_t t = 0; t < session->task_count; t++) {
        if (session->tasks[t].held.status == ORR_TASK_BINDING) {
            orr_session_set_status(session, t, ORR_TASK_RUNNING);
        } else if (session->tasks[t].held.status == ORR_TASK_RELEASING) {
            orr_session_set_task(session, t, ORR_TASK_PENDING, ORR_NONE, NULL, 0);
        }
    }
}

/* Evictions of jobs that ran, consolidation's moves apart: min-runtime does not speak of them. */
static uint32_t note_evictions(const struct orr_session *session, struct eviction *out,
                               uint32_t count)
{
    for (uint32_t i = 0; i < session->decision_count && count < MAX_EVICTIONS; i++) {
        const struct orr_decision *d = &session->decisions[i];
        if (d->kind == ORR_DECISION_EVICT && d->preemptor != ORR_NONE &&
            d->action != ORR_ACTION_CONSOLIDATION &&
            session->tasks[d->task].held.status == ORR_TASK_RELEASING) {
            out[count++] =
                (struct eviction){session->tasks[d->task].job, d->preemptor, session->now};
        }
    }
    return count;
}

static uint32_t ping_pong_with(orr_ms min_runtime, orr_ms within)
{
    uint32_t pairs = 0;
    for (uint64_t seed = 0; seed < HUNGRY_WORLDS; seed++) {
        struct orr_rng rng = orr_rng_stream(seed, "prop-hungry", 0);
        struct orr_session session;
        struct eviction evictions[MAX_EVICTIONS];
        uint32_t count = 0;
        make_hungry(&rng, &session);
        session.rules.reclaim_min_runtime = min_runtime;
        session.rules.preempt_min_runtime = min_runtime;
        for (uint32_t c = 0; c < HUNGRY_CYCLES; c++) {
            const uint32_t served = (uint32_t)orr_rng_below(&rng, session.queue_count);
            for (uint32_t q = 0; q < session.queue_count; q++) {
                session.shares[q].resource[ORR_SHARE_GPU].usage = q == served ? 0 : 1;
            }
            session.tree_outdated = true;
            orr_session_open(&session, WORLD_NOW + (orr_ms)c * PERIOD_MS);
            orr_kai_cycle(&session);
            count = note_evictions(&session, evictions, count);
            orr_session_close(&session);
            run_on(&session);
        }
        pairs += count_ping_pong(evictions, count, within);
        orr_session_release(&session);
    }
    return pairs;
}

static void ping_pong__is_absent_under_min_runtime(void **state)
{
    (void)state;
    const orr_ms hour = 3600000;
    const uint32_t without = ping_pong_with(0, hour);
    const uint32_t with = ping_pong_with(hour, hour);
    print_message("ping-pong evictions in %d cycles: %u without min-runtime, %u with\n",
                  HUNGRY_WORLDS * HUNGRY_CYCLES, without, with);
    assert_true(without > 0);
    assert_int_equal(with, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        struct tally tally = {0};
        const uint64_t first = strtoull(argv[1], NULL, 10);
        for (uint64_t i = 0; i < strtoull(argv[2], NULL, 10); i++) {
            check_world(&tally, first + i);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kai__keeps_its_promises_on_random_worlds),
        cmocka_unit_test(ping_pong__is_absent_under_min_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
