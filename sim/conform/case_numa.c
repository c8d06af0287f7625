/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NUMA zones of a case: their shape, their way into a session, what came out of them.
 *
 *     node      "numa_topology": {"policy": "single-numa-node", "scope": "pod",
 *                                 "zones": [{"gpus": 4, "cpu_milli": 16000}, {"gpus": 4}]}
 *     task      "numa_zones": [0, 1]     an active one: what it asks was drawn from these, in order
 *     expected  "numa_zones": [0]        of a job or task: the zones it drew from
 *               "numa_zones_available": [{"gpus": 0}, {"gpus": 4}]     of a node
 */
#include <string.h>

#include <orrery/core/numa.h>

#include "case_world.h"

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define AT(s, m)  .at = offsetof(struct s, m)
#define CNT(s, m) .count_at = offsetof(struct s, m)

/* --- shapes --- */

static const struct conform_field zone_fields[] = {
    {"gpus", CONFORM_NUMBER, AT(conform_zone, gpus)},
    {"cpu_milli", CONFORM_NUMBER, AT(conform_zone, cpu_milli)},
    {"memory_bytes", CONFORM_NUMBER, AT(conform_zone, memory_bytes)},
};
static const struct conform_zone zone_default = {CONFORM_UNSET, CONFORM_UNSET, CONFORM_UNSET};
const struct conform_shape orr_conform__zone_shape = {
    .what = "a NUMA zone",
    .fields = zone_fields,
    .field_count = COUNT(zone_fields),
    .size = sizeof(struct conform_zone),
    .defaults = &zone_default,
};

static const char *const policy_words[] = {"none", "best-effort", "restricted", "single-numa-node",
                                           NULL}; /* as enum orr_numa_policy */
static const char *const scope_words[] = {"container", "pod", NULL};
static const struct conform_field numa_fields[] = {
    {"policy", CONFORM_WORD, true, AT(conform_numa, policy), .words = policy_words},
    {"scope", CONFORM_WORD, AT(conform_numa, scope), .words = scope_words},
    {"zones", CONFORM_LIST, true, AT(conform_numa, zones), CNT(conform_numa, zone_count),
     .shape = &orr_conform__zone_shape},
};
const struct conform_shape orr_conform__numa_shape = {
    .what = "a NUMA topology",
    .fields = numa_fields,
    .field_count = COUNT(numa_fields),
    .size = sizeof(struct conform_numa),
};

enum orr_status orr_conform__read_zone_mask(struct conform_reader *reader, struct fy_node *node,
                                            void *out)
{
    struct conform_zone_mask *mask = out;
    if (!fy_node_is_sequence(node)) {
        return orr_conform__fail(reader, node, "a list of numbers of NUMA zones belongs here");
    }
    *mask = (struct conform_zone_mask){.stated = true};
    void *place = NULL;
    for (struct fy_node *item; (item = fy_node_sequence_iterate(node, &place)) != NULL;) {
        double zone;
        const enum orr_status status = orr_conform__number(reader, item, &zone);
        if (status != ORR_OK) {
            return status;
        }
        if (!(zone >= 0) || zone >= ORR_ZONES_MAX || zone > (double)(uint32_t)zone ||
            mask->count == ORR_ZONES_MAX) {
            return orr_conform__fail(reader, item, "a NUMA zone is a whole number from 0 to %d",
                                     ORR_ZONES_MAX - 1);
        }
        mask->zones[mask->count++] = (uint8_t)zone;
    }
    return ORR_OK;
}

/* --- to a session --- */

static int64_t amount(double stated, double unit)
{
    return conform_is_set(stated) ? (int64_t)(stated * unit) : 0;
}

static struct orr_vec vec_of(const struct conform_zone *zone)
{
    struct orr_vec vec = {{0}};
    vec.v[ORR_SLOT_CPU] = amount(zone->cpu_milli, 1);
    vec.v[ORR_SLOT_MEMORY] = amount(zone->memory_bytes, 1);
    vec.v[ORR_SLOT_GPU] = amount(zone->gpus, ORR_MGPU);
    return vec;
}

void orr_conform__set_zones(const struct conform_node *node, uint32_t id,
                            struct orr_session *session)
{
    if (node->numa == NULL) {
        return;
    }
    session->rules.numa = true; /* the harness adds the plugin when a node has zones */
    struct orr_numa_spec spec = {.policy = (enum orr_numa_policy)node->numa->policy,
                                 .by_pod = node->numa->scope == 1,
                                 .zone_count = node->numa->zone_count};
    for (uint32_t z = 0; z < spec.zone_count; z++) {
        spec.zones[z] = vec_of(&node->numa->zones[z]);
    }
    orr_session_set_numa(session, id, &spec);
}

/* What the tasks before this one left of a zone. */
static int64_t left_in(const struct orr_session *session, uint32_t task, uint32_t zone,
                       uint32_t slot)
{
    const uint32_t node = session->tasks[task].live.node;
    const struct orr_numa_node *numa = session->nodes[node].numa;
    int64_t left = numa != NULL ? numa->spec.zones[zone].v[slot] : 0;
    for (uint32_t t = 0; t < task; t++) {
        const struct orr_place *live = &session->tasks[t].live;
        if (live->node == node && orr_status_in(live->status, ORR_STATES_ACTIVE_ALLOCATED)) {
            left -= orr_task_zones(session, t)[zone].v[slot];
        }
    }
    return left > 0 ? left : 0;
}

/* What an active task of the file drew: zone after zone of those it names. */
static void draw_stated(const struct orr_session *session, uint32_t task,
                        const struct conform_zone_mask *mask, struct orr_zone_take *take)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        int64_t asked = session->asks[session->tasks[task].ask].request.v[s];
        for (uint32_t i = 0; i < mask->count && asked > 0; i++) {
            const int64_t left = left_in(session, task, mask->zones[i], s);
            take->zones[mask->zones[i]].v[s] = asked < left ? asked : left;
            asked -= take->zones[mask->zones[i]].v[s];
        }
    }
}

void orr_conform__draw_zones(const struct case_task *task, const struct conform_task *from,
                             struct orr_session *session)
{
    if (session->numa == NULL || task->id == ORR_NONE ||
        session->tasks[task->id].live.node == ORR_NONE) {
        return;
    }
    struct orr_zone_take take = {0};
    if (task->zones != NULL) {
        take = *task->zones;
    } else {
        draw_stated(session, task->id, &from->numa_zones, &take);
    }
    orr_session_set_zones(session, task->id, &take);
}

void orr_conform__keep_zones(struct case_world *world, struct case_task *task,
                             const struct orr_session *session)
{
    if (session->numa == NULL) {
        return;
    }
    if (task->zones == NULL) {
        task->zones = orr_arena_alloc(&world->arena, 1, sizeof *task->zones);
    }
    *task->zones = (struct orr_zone_take){0};
    memcpy(task->zones->zones, orr_task_zones(session, task->id),
           session->zones_max * sizeof(struct orr_vec));
}

/* --- what came out --- */

static uint32_t zones_drawn(const struct orr_session *session, uint32_t task)
{
    uint32_t drawn = 0;
    for (uint32_t z = 0; session->numa != NULL && z < session->zones_max; z++) {
        for (uint32_t s = 0; s < session->slot_count; s++) {
            drawn |= orr_task_zones(session, task)[z].v[s] > 0 ? 1u << z : 0;
        }
    }
    return drawn;
}

void orr_conform__check_zones(const struct orr_session *session, uint32_t task,
                              const struct conform_zone_mask *expected, const char *when,
                              struct conform_outcome *outcome)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < expected->count; i++) {
        wanted |= 1u << expected->zones[i];
    }
    const uint32_t got = zones_drawn(session, task);
    if (expected->stated && got != wanted) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED,
                         "%s: %s: expected NUMA zones of mask %#x, got %#x", when,
                         session->tasks[task].name, wanted, got);
    }
}

static void check_free(const struct orr_snode *node, uint32_t zone, uint32_t slot, double expected,
                       double unit, const char *when, struct conform_outcome *outcome)
{
    const double got = (double)node->numa->free[zone].v[slot] / unit;
    if (conform_is_set(expected) && (int64_t)(expected * unit) != node->numa->free[zone].v[slot]) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: %s: expected %g free in zone %u, got %g",
                         when, node->name, expected, (unsigned)zone, got);
    }
}

void orr_conform__check_free_zones(const struct orr_snode *node,
                                   const struct conform_expect_node *expect, const char *when,
                                   struct conform_outcome *outcome)
{
    const uint32_t count = node->numa != NULL ? node->numa->spec.zone_count : 0;
    if (expect->zone_count > 0 && expect->zone_count != count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: %s: expected %u NUMA zones, got %u",
                         when, node->name, (unsigned)expect->zone_count, (unsigned)count);
        return;
    }
    for (uint32_t z = 0; z < expect->zone_count; z++) {
        const struct conform_zone *zone = &expect->zones[z];
        check_free(node, z, ORR_SLOT_GPU, zone->gpus, ORR_MGPU, when, outcome);
        check_free(node, z, ORR_SLOT_CPU, zone->cpu_milli, 1, when, outcome);
        check_free(node, z, ORR_SLOT_MEMORY, zone->memory_bytes, 1, when, outcome);
    }
}
