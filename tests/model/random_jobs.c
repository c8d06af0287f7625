/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawing jobs: what they ask, how they hang together, and where they already run. */
#include "random_jobs.h"

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#include <stdio.h>
#include <string.h>

#define TASKS 10
#define SETS  8

struct draft {
    struct orr_set_spec sets[SETS];
    char set_names[SETS][8];
    uint32_t set_count;
    struct orr_task_spec tasks[TASKS];
    char task_names[TASKS][24];
    uint32_t task_count;
    bool plain; /* one pod set, equal tasks */
};

static uint32_t below(struct random_world *world, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&world->rng, bound);
}

static bool chance(struct random_world *world, uint32_t percent)
{
    return below(world, 100) < percent;
}

static bool may(struct random_world *world, uint32_t feature, uint32_t percent)
{
    return (world->features & feature) != 0 && chance(world, percent);
}

/* --- requests --- */

static struct orr_ask draw_ask(struct random_world *world)
{
    static const int64_t wholes[] = {1, 1, 1, 2, 2, 3, 4, 8};
    static const int percents[] = {50, 50, 25, 30, 70, 10, 40, 33, 7, 60};
    static const int64_t mibs[] = {1600, 3200, 3200, 4800, 6400, 8000, 12800};
    struct orr_ask ask = {.affinity = ORR_NONE, .tolerance = ORR_NONE};
    ask.request.v[ORR_SLOT_PODS] = 1;
    ask.request.v[ORR_SLOT_CPU] = 1000 * (int64_t)(1 + below(world, 2));
    ask.request.v[ORR_SLOT_MEMORY] = INT64_C(1000000000);
    if (may(world, RANDOM_ALIKE, 80)) {
        ask.kind = ORR_ASK_WHOLE;
        ask.request.v[ORR_SLOT_CPU] = 1000;
        ask.request.v[ORR_SLOT_GPU] = (chance(world, 70) ? 1 : 2) * ORR_MGPU;
        return ask;
    }
    if (chance(world, 5)) { /* best effort */
        ask.request.v[ORR_SLOT_CPU] = ask.request.v[ORR_SLOT_MEMORY] = 0;
    } else if (may(world, RANDOM_MIG, 50)) {
        ask.kind = ORR_ASK_MIG;
        ask.request.v[world->mig_slot] = 1 + (int64_t)below(world, 2);
    } else if (may(world, RANDOM_SHARED, 25)) {
        const int percent = percents[below(world, 10)];
        ask.kind = ORR_ASK_FRACTION;
        ask.devices = chance(world, 85) ? 1 : 2;
        ask.portion = percent / 100.0;
        ask.request.v[ORR_SLOT_GPU] = (int64_t)percent * 10 * ask.devices;
    } else if (may(world, RANDOM_SHARED, 15)) {
        ask.kind = ORR_ASK_MEMORY;
        ask.devices = chance(world, 85) ? 1 : 2;
        ask.memory_mib = mibs[below(world, 7)];
    } else if (chance(world, 92)) {
        ask.kind = ORR_ASK_WHOLE;
        ask.request.v[ORR_SLOT_GPU] = wholes[below(world, 8)] * ORR_MGPU;
    }
    if (may(world, RANDOM_FILTERS, 20)) {
        ask.affinity = world->filter[below(world, world->filters)];
    }
    return ask;
}

static uint32_t add_ask(struct random_world *world, struct orr_session *session,
                        struct orr_ask *drawn)
{
    *drawn = draw_ask(world);
    drawn->mig_mgpu = drawn->kind == ORR_ASK_MIG
                          ? drawn->request.v[world->mig_slot] *
                                session->slot_quota_gpus[world->mig_slot] * ORR_MGPU
                          : 0;
    return orr_session_add_ask(session, drawn);
}

/* --- trees --- */

static struct orr_constraint draw_constraint(struct random_world *world,
                                             const struct orr_session *session)
{
    static const char *const levels[] = {"zone", "rack", "host"};
    if (session->topology_count == 0 || !may(world, RANDOM_TOPOLOGY, 40)) {
        return (struct orr_constraint){0};
    }
    const uint32_t count = session->topologies[0].level_count;
    struct orr_constraint out = {.topology = chance(world, 98) ? "tree" : "other"};
    const uint32_t level = below(world, count);
    if (chance(world, 60)) {
        out.required = levels[level];
    }
    if (out.required == NULL || chance(world, 30)) {
        out.preferred =
            levels[chance(world, 90) ? level + below(world, count - level) : below(world, 3)];
    }
    return out;
}

static uint32_t add_set(struct random_world *world, const struct orr_session *session,
                        struct draft *draft, uint32_t parent, bool is_pods, int32_t min)
{
    static const char *const names[] = {"c", "a", "b", "w", "m", "x", "k", "d"};
    const uint32_t at = draft->set_count++;
    (void)snprintf(draft->set_names[at], sizeof draft->set_names[at], "%s", names[at]);
    draft->sets[at] = (struct orr_set_spec){.name = draft->set_names[at],
                                            .parent = parent,
                                            .is_pods = is_pods,
                                            .min = min,
                                            .constraint = draw_constraint(world, session)};
    return at;
}

static void add_tasks(struct random_world *world, struct orr_session *session, struct draft *draft,
                      uint32_t set, uint32_t count, uint32_t ask, const struct orr_ask *drawn)
{
    for (uint32_t i = 0; i < count && draft->task_count < TASKS; i++) {
        const uint32_t at = draft->task_count++;
        struct orr_ask other = *drawn;
        uint32_t own = ask;
        if (may(world, RANDOM_MIXED_GANGS, 15)) {
            own = add_ask(world, session, &other);
            draft->plain = false;
        }
        (void)snprintf(draft->task_names[at], sizeof draft->task_names[at], "j%03u-%u",
                       world->jobs_made, at);
        draft->tasks[at] = (struct orr_task_spec){.name = draft->task_names[at],
                                                  .set = set,
                                                  .ask = own,
                                                  .constraint_key = other.affinity,
                                                  .has_priority = false};
        if (chance(world, 5)) {
            draft->tasks[at].has_priority = true;
            draft->tasks[at].priority = below(world, 3);
            draft->plain = false;
        }
    }
}

static int32_t draw_min(struct random_world *world, uint32_t count)
{
    if (!may(world, RANDOM_ELASTIC, 50)) {
        return (int32_t)count;
    }
    return chance(world, 10) ? 0 : (int32_t)(1 + below(world, count));
}

static void draw_sets(struct random_world *world, struct orr_session *session, struct draft *draft,
                      uint32_t parent, uint32_t depth)
{
    const uint32_t members = 1 + below(world, 3);
    for (uint32_t i = 0; i < members && draft->set_count < SETS; i++) {
        if (depth > 0 && chance(world, 35)) {
            const uint32_t set = add_set(world, session, draft, parent, false, -1);
            draw_sets(world, session, draft, set, depth - 1);
            continue;
        }
        struct orr_ask drawn;
        const uint32_t ask = add_ask(world, session, &drawn);
        const uint32_t count = 1 + below(world, 3);
        const uint32_t set = add_set(world, session, draft, parent, true, draw_min(world, count));
        add_tasks(world, session, draft, set, chance(world, 95) ? count : count - 1, ask, &drawn);
    }
    /* How many of the members are needed. */
    uint32_t direct = 0;
    for (uint32_t s = 0; s < draft->set_count; s++) {
        direct += draft->sets[s].parent == parent;
    }
    if (direct > 0 && chance(world, 40)) {
        draft->sets[parent].min = (int32_t)(1 + below(world, direct));
    }
}

static void draw_tree(struct random_world *world, struct orr_session *session, struct draft *draft)
{
    *draft = (struct draft){.plain = true};
    (void)add_set(world, session, draft, ORR_NONE, false, -1);
    draft->set_names[0][0] = '\0';
    if (may(world, RANDOM_SUBGROUPS, 25)) {
        draft->plain = false;
        draw_sets(world, session, draft, 0, 2);
        return;
    }
    struct orr_ask drawn;
    const uint32_t ask = add_ask(world, session, &drawn);
    const uint32_t most = may(world, RANDOM_ALIKE, 80) ? 2 : 6;
    const uint32_t count = chance(world, 55) ? 1 : 1 + below(world, most);
    const uint32_t set = add_set(world, session, draft, 0, true, draw_min(world, count));
    draft->plain = draft->plain && draft->sets[0].constraint.topology == NULL &&
                   draft->sets[set].constraint.topology == NULL;
    add_tasks(world, session, draft, set, count, ask, &drawn);
}

/* Jobs that ask the same have one number. */
static uint32_t twins_of(const struct orr_session *session, const struct draft *draft)
{
    if (!draft->plain) {
        return ORR_NONE;
    }
    const struct orr_ask *ask = &session->asks[draft->tasks[0].ask];
    for (uint32_t j = 0; j < session->job_count; j++) {
        const struct orr_sjob *job = &session->jobs[j];
        if (job->placement_class != ORR_NONE && job->task_count == draft->task_count &&
            session->sets[job->first_set + 1].min == draft->sets[1].min &&
            memcmp(&session->asks[session->tasks[job->first_task].ask], ask, sizeof *ask) == 0) {
            return job->placement_class;
        }
    }
    return session->placement_classes;
}

/* --- where it runs --- */

static bool has_room(const struct orr_session *session, const struct orr_ask *ask, uint32_t node)
{
    struct orr_vec free = session->nodes[node].allocatable;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        if (task->held.node == node && orr_status_in(task->held.status, ORR_STATES_ACTIVE_USED)) {
            for (uint32_t s = 0; s < session->slot_count; s++) {
                const struct orr_ask *other = &session->asks[task->ask];
                free.v[s] -=
                    s == ORR_SLOT_GPU && orr_ask_is_shared(other) ? 0 : other->request.v[s];
            }
        }
    }
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (!(s == ORR_SLOT_GPU && orr_ask_is_shared(ask)) && ask->request.v[s] > free.v[s]) {
            return false;
        }
    }
    return ask->affinity == ORR_NONE || session->filters[ask->affinity][node];
}

static int64_t need_on(const struct orr_ask *ask, const struct orr_snode *node)
{
    return ask->kind == ORR_ASK_MEMORY ? ask->memory_mib
                                       : (int64_t)(ask->portion * (double)node->gpu_memory_mib);
}

/* Shared devices in use on a node and what is left of each; returns how many whole ones are free.
 */
struct device {
    uint32_t id;
    int64_t left_mib;
};

static int64_t look_at_devices(const struct orr_session *session, uint32_t node,
                               struct device *devices, uint32_t *count)
{
    int64_t free = session->nodes[node].allocatable.v[ORR_SLOT_GPU] / ORR_MGPU;
    *count = 0;
    for (uint32_t t = 0; t < session->task_count; t++) {
        const struct orr_stask *task = &session->tasks[t];
        const struct orr_ask *ask = &session->asks[task->ask];
        if (task->held.node != node || !orr_status_in(task->held.status, ORR_STATES_ACTIVE_USED)) {
            continue;
        }
        if (ask->kind == ORR_ASK_WHOLE) {
            free -= ask->request.v[ORR_SLOT_GPU] / ORR_MGPU;
        }
        for (uint32_t g = 0; g < task->held.group_count; g++) {
            const uint32_t id = session->gpu_group_ids[task->gpu_groups_at + ask->devices + g];
            uint32_t at = 0;
            while (at < *count && devices[at].id != id) {
                at++;
            }
            if (at == *count) {
                devices[(*count)++] = (struct device){id, session->nodes[node].gpu_memory_mib};
                free--;
            }
            devices[at].left_mib -= need_on(ask, &session->nodes[node]);
        }
    }
    return free;
}

/* Random devices for a shared request. False: there is no room. */
static bool draw_devices(struct random_world *world, struct orr_session *session,
                         const struct orr_ask *ask, uint32_t node, uint32_t *groups)
{
    struct device devices[64];
    uint32_t count;
    uint32_t taken = 0;
    int64_t free = look_at_devices(session, node, devices, &count);
    const int64_t need = need_on(ask, &session->nodes[node]);
    const bool share = chance(world, 70);
    for (uint32_t i = 0; i < count && share && taken < ask->devices; i++) {
        if (devices[i].left_mib >= need) {
            groups[taken++] = devices[i].id;
        }
    }
    for (; taken < ask->devices && free > 0; free--) {
        groups[taken++] = session->next_gpu_group++;
    }
    return taken == ask->devices && need <= session->nodes[node].gpu_memory_mib;
}

static bool run_task(struct random_world *world, struct orr_session *session, uint32_t task,
                     enum orr_task_status status)
{
    const struct orr_ask *ask = &session->asks[session->tasks[task].ask];
    const uint32_t first = below(world, session->node_count);
    for (uint32_t i = 0; i < session->node_count; i++) {
        const uint32_t node = (first + i) % session->node_count;
        const struct orr_snode *at = &session->nodes[node];
        uint32_t groups[ORR_SHARED_DEVICES_MAX];
        const bool shared = orr_ask_is_shared(ask);
        if ((ask->kind == ORR_ASK_WHOLE || shared) && at->gpu_count == 0) {
            continue;
        }
        if (has_room(session, ask, node) &&
            (ask->kind != ORR_ASK_WHOLE || !(world->features & RANDOM_SHARED) ||
             look_at_devices(session, node, (struct device[64]){0}, &(uint32_t){0}) >=
                 ask->request.v[ORR_SLOT_GPU] / ORR_MGPU) &&
            (!shared || draw_devices(world, session, ask, node, groups))) {
            orr_session_set_task(session, task, status, node, groups, shared ? ask->devices : 0);
            return true;
        }
    }
    return false;
}

static void run_job(struct random_world *world, struct orr_session *session, uint32_t j)
{
    const bool partly = may(world, RANDOM_ELASTIC, 40);
    struct orr_sjob *job = &session->jobs[j];
    bool any = false;
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        enum orr_task_status status = ORR_TASK_RUNNING;
        if (may(world, RANDOM_ODD_STATES, 10)) {
            static const enum orr_task_status odd[] = {ORR_TASK_RELEASING, ORR_TASK_BOUND,
                                                       ORR_TASK_STUCK_IN_RELEASING};
            status = odd[below(world, 3)];
        }
        any = (!(partly && chance(world, 30)) && run_task(world, session, t, status)) || any;
    }
    if (any && chance(world, 90)) {
        job->last_start = RANDOM_WORLD_NOW - (orr_ms)below(world, 6) * 30000;
    }
}

static void set_oddly(struct random_world *world, struct orr_session *session, uint32_t j)
{
    const struct orr_sjob *job = &session->jobs[j];
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        if (may(world, RANDOM_ODD_STATES, 4)) {
            orr_session_set_task(session, t,
                                 chance(world, 70) ? ORR_TASK_GATED : ORR_TASK_SUCCEEDED, ORR_NONE,
                                 NULL, 0);
        }
    }
}

void random_job_add(struct random_world *world, struct orr_session *session, bool may_run)
{
    static const int32_t priorities[] = {50, 50, 50, 75, 75, 100, 125};
    struct draft draft;
    char name[16];
    draw_tree(world, session, &draft);
    while (draft.task_count == 0) {
        draw_tree(world, session, &draft);
    }
    (void)snprintf(name, sizeof name, "j%03u", world->jobs_made);
    struct orr_job_spec_tree spec = {
        .name = name,
        .queue = world->leaf[below(world, world->leaf_count)],
        .priority = priorities[below(world, 7)],
        .created_s = RANDOM_WORLD_NOW / 1000 - 300 + (int64_t)below(world, 5) * 60,
        .preemption_delay = may(world, RANDOM_TIMES, 15) ? (orr_ms)below(world, 4) * 60000 : 0,
        .staleness_grace =
            may(world, RANDOM_TIMES, 15) ? (orr_ms)below(world, 2) * 60000 : ORR_MS_NONE,
        .placement_class = twins_of(session, &draft),
        .sets = draft.sets,
        .set_count = draft.set_count,
        .tasks = draft.tasks,
        .task_count = draft.task_count};
    spec.preemptible = chance(world, 90) ? spec.priority < 100 : spec.priority >= 100;
    const uint32_t job = orr_session_add_job(session, &spec, NULL);
    world->jobs_made++;
    if (may_run && chance(world, 50)) {
        run_job(world, session, job);
    } else {
        set_oddly(world, session, job);
    }
}
