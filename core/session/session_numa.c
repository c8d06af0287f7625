/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Books of NUMA zones: what is free in each, and what each task drew from them. */
#include <string.h>

#include <orrery/core/numa.h>

#include "session_int.h"

struct orr_numa {           /* exists once a node has zones */
    uint32_t zones_max;     /* of a node */
    struct orr_vec *takes;  /* by task: zones_max live ones, then as many held */
    uint32_t task_capacity; /* tasks that `takes` has room for */
};

void orr_session_set_numa(struct orr_session *session, uint32_t node,
                          const struct orr_numa_spec *spec)
{
    ORR_ASSERT(session->job_count == 0 && spec->zone_count <= ORR_ZONES_MAX);
    if (session->numa == NULL) {
        session->numa = orr_arena_alloc(&session->arena, 1, sizeof *session->numa);
        *session->numa = (struct orr_numa){0};
    }
    struct orr_numa_node *numa = orr_arena_alloc(&session->arena, 1, sizeof *numa);
    *numa = (struct orr_numa_node){.spec = *spec};
    for (uint32_t z = 0; z < spec->zone_count; z++) {
        for (uint32_t s = 0; s < ORR_SLOTS_MAX; s++) {
            const bool has = s != ORR_SLOT_PODS && spec->zones[z].v[s] > 0;
            numa->aware[s] = numa->aware[s] || has;
            session->zone_aware[s] = session->zone_aware[s] || has;
        }
    }
    session->nodes[node].numa = numa;
    if (spec->zone_count > session->numa->zones_max) {
        session->numa->zones_max = spec->zone_count;
    }
    session->zones_max = session->numa->zones_max;
    orr_numa__reset(&session->nodes[node]);
}

void orr_numa__release(struct orr_session *session)
{
    if (session->numa != NULL) {
        orr_free(session->numa->takes);
    }
}

void orr_numa__make_room(struct orr_session *session)
{
    struct orr_numa *numa = session->numa;
    if (numa != NULL) {
        numa->takes = orr_zgrow(numa->takes, &numa->task_capacity, session->task_count,
                                (size_t)2 * numa->zones_max * sizeof *numa->takes);
    }
}

static struct orr_vec *takes_of(const struct orr_session *session, uint32_t task)
{
    return session->numa->takes + task * (size_t)2 * session->numa->zones_max;
}

const struct orr_vec *orr_task_zones(const struct orr_session *session, uint32_t task)
{
    return takes_of(session, task);
}

static size_t take_bytes(const struct orr_session *session)
{
    return session->zones_max * sizeof(struct orr_vec);
}

void orr_numa__draw(struct orr_session *session, uint32_t task, const struct orr_zone_take *take)
{
    if (session->numa == NULL) {
        return;
    }
    struct orr_vec *live = takes_of(session, task);
    if (take != NULL) {
        memcpy(live, take->zones, take_bytes(session));
    } else {
        memset(live, 0, take_bytes(session));
    }
}

void orr_numa__hold(struct orr_session *session, uint32_t task, bool same_place)
{
    if (session->numa == NULL) {
        return;
    }
    struct orr_vec *live = takes_of(session, task);
    if (same_place) {
        memcpy(live + session->zones_max, live, take_bytes(session));
    } else {
        memset(live + session->zones_max, 0, take_bytes(session));
    }
}

void orr_numa__recall(struct orr_session *session, uint32_t task)
{
    if (session->numa != NULL) {
        struct orr_vec *live = takes_of(session, task);
        memcpy(live, live + session->zones_max, take_bytes(session));
    }
}

void orr_session_set_zones(struct orr_session *session, uint32_t task,
                           const struct orr_zone_take *take)
{
    orr_numa__draw(session, task, take);
    orr_numa__hold(session, task, true);
    if (session->tasks[task].held.node != ORR_NONE) {
        orr_session__dirty(session, session->tasks[task].held.node);
    }
}

/* --- the node's books --- */

void orr_numa__reset(struct orr_snode *node)
{
    if (node->numa != NULL) {
        memcpy(node->numa->free, node->numa->spec.zones, sizeof node->numa->free);
    }
}

/* KAI counts pods that are allocated or about to be: an evicted one gives its zones back at once.
 */
void orr_numa__charge(struct orr_session *session, struct orr_snode *node,
                      const struct orr_stask *task, int64_t sign)
{
    if (node->numa == NULL || !orr_status_in(task->live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
        return;
    }
    const struct orr_vec *take = takes_of(session, (uint32_t)(task - session->tasks));
    for (uint32_t z = 0; z < node->numa->spec.zone_count; z++) {
        for (uint32_t s = 0; s < session->slot_count; s++) {
            node->numa->free[z].v[s] -= sign * take[z].v[s];
        }
    }
}

void orr_numa__charge_on(struct orr_session *session, uint32_t node, const struct orr_stask *task,
                         int64_t sign)
{
    if (node != ORR_NONE) {
        orr_numa__charge(session, &session->nodes[node], task, sign);
    }
}

/* --- a way back --- */

struct orr_vec *orr_numa__keep(const struct orr_session *session, uint32_t task,
                               struct orr_arena *arena)
{
    struct orr_vec *kept = NULL;
    if (session->numa != NULL) {
        kept = orr_arena_take(arena, session->zones_max, sizeof *kept);
        memcpy(kept, takes_of(session, task), take_bytes(session));
    }
    return kept;
}

void orr_numa__redraw(struct orr_session *session, uint32_t task, const struct orr_vec *kept)
{
    struct orr_zone_take take = {{{{0}}}};
    if (kept != NULL) {
        memcpy(take.zones, kept, take_bytes(session));
    }
    orr_numa__draw(session, task, &take);
}

bool orr_numa__is_drawn(const struct orr_session *session, uint32_t task,
                        const struct orr_vec *zones)
{
    return session->numa == NULL || zones == NULL ||
           memcmp(takes_of(session, task), zones, take_bytes(session)) == 0;
}

static size_t free_bytes(const struct orr_snode *node)
{
    return node == NULL || node->numa == NULL
               ? 0
               : node->numa->spec.zone_count * sizeof(struct orr_vec);
}

size_t orr_numa__saved_bytes(const struct orr_session *session, const struct orr_snode *node)
{
    return session->numa == NULL ? 0 : take_bytes(session) + free_bytes(node);
}

unsigned char *orr_numa__save(const struct orr_session *session, const struct orr_snode *node,
                              uint32_t task, unsigned char *at)
{
    if (session->numa == NULL) {
        return at;
    }
    memcpy(at, takes_of(session, task), take_bytes(session));
    at += take_bytes(session);
    if (free_bytes(node) > 0) {
        memcpy(at, node->numa->free, free_bytes(node));
    }
    return at + free_bytes(node);
}

const unsigned char *orr_numa__restore(struct orr_session *session, struct orr_snode *node,
                                       uint32_t task, const unsigned char *at)
{
    if (session->numa == NULL) {
        return at;
    }
    memcpy(takes_of(session, task), at, take_bytes(session));
    at += take_bytes(session);
    if (free_bytes(node) > 0) {
        memcpy(node->numa->free, at, free_bytes(node));
    }
    return at + free_bytes(node);
}
