/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shared.c - until when two scenarios are one run: those that differ by events of queues alone. */
#include <orrery/sim/study.h>

#include <string.h>

static void hear(const char *path, const char *in_a, const char *in_b, void *context)
{
    bool *of_events = context;
    (void)in_a;
    (void)in_b;
    *of_events = *of_events && strncmp(path, "events.", 7) == 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Racks, and the parts of policy static, are made of all nodes that there will be; when nodes fail
 * and close is planned as a run begins. */
static bool have_same_nodes(const struct orr_scenario *a, const struct orr_scenario *b)
{
    uint32_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->event_count && a->events[i].node_count == 0) {
            i++; /* it sets something */
        }
        while (j < b->event_count && b->events[j].node_count == 0) {
            j++;
        }
        if (i == a->event_count || j == b->event_count) {
            break;
        }
        const struct orr_scenario_event *x = &a->events[i], *y = &b->events[j];
        if (x->at_ms != y->at_ms || x->first_node != y->first_node ||
            x->node_count != y->node_count || x->for_ms != y->for_ms ||
            x->notice_ms != y->notice_ms || (x->fail != NULL) != (y->fail != NULL) ||
            (x->drain != NULL) != (y->drain != NULL)) {
            return false;
        }
    }
    bool same = i == a->event_count && j == b->event_count && a->resize_count == b->resize_count;
    for (uint32_t r = 0; r < a->resize_count && same; r++) {
        const struct orr_scenario_resize *x = &a->resizes[r], *y = &b->resizes[r];
        same = x->at_ms == y->at_ms && x->pool == y->pool && x->before == y->before &&
               x->nodes == y->nodes && x->notice_ms == y->notice_ms &&
               is_same_text(x->taken, y->taken);
    }
    return same;
}

static bool are_same_amounts(const struct orr_scenario_amounts *a,
                             const struct orr_scenario_amounts *b)
{
    bool same = true;
    for (int r = 0; r < ORR_SCENARIO_RESOURCES; r++) {
        same = same && a[r].quota == b[r].quota && a[r].weight == b[r].weight &&
               a[r].limit == b[r].limit;
    }
    return same;
}

static bool are_same_flavors(const struct orr_scenario_queue_change *a,
                             const struct orr_scenario_queue_change *b, uint32_t count)
{
    bool same = true;
    for (uint32_t f = 0; f < count && same; f++) {
        const struct orr_scenario_flavored *x = &a->flavors[f], *y = &b->flavors[f];
        same = x->flavor == y->flavor && are_same_amounts(x->resources, y->resources) &&
               memcmp(x->stated, y->stated, sizeof x->stated) == 0 &&
               memcmp(x->lend, y->lend, sizeof x->lend) == 0;
    }
    return same;
}

static bool are_same_changes(const struct orr_scenario *scenario,
                             const struct orr_scenario_queue_change *a,
                             const struct orr_scenario_queue_change *b)
{
    return a->at_ms == b->at_ms && a->queue == b->queue && a->priority == b->priority &&
           are_same_amounts(a->resources, b->resources) &&
           are_same_flavors(a, b, scenario->queues[a->queue].flavor_count);
}

/* Do its events give some queue a quota or limit of this resource? Policies look at a resource that
 * is bounded at any time from the beginning. */
static bool bounds(const struct orr_scenario *scenario, int resource)
{
    bool any = false;
    for (uint32_t i = 0; i < scenario->queue_change_count; i++) {
        const struct orr_scenario_amounts *amounts =
            &scenario->queue_changes[i].resources[resource];
        any = any || amounts->quota >= 0.0 || amounts->limit >= 0.0;
    }
    return any;
}

/* The time of the first change that only one of them has. */
static orr_ms first_difference_ms(const struct orr_scenario *a, const struct orr_scenario *b)
{
    uint32_t i = 0;
    while (i < a->queue_change_count && i < b->queue_change_count &&
           are_same_changes(a, &a->queue_changes[i], &b->queue_changes[i])) {
        i++;
    }
    const orr_ms of_a = i < a->queue_change_count ? a->queue_changes[i].at_ms : ORR_MS_NEVER;
    const orr_ms of_b = i < b->queue_change_count ? b->queue_changes[i].at_ms : ORR_MS_NEVER;
    return of_a < of_b ? of_a : of_b;
}

/* A policy that is another process cannot be at two runs at a time. */
static bool has_child(const struct orr_scenario *scenario)
{
    bool any = false;
    for (uint32_t s = 0; s < scenario->shard_count; s++) {
        any = any || strncmp(scenario->shards[s].policy, "exec:", 5) == 0;
    }
    return any;
}

orr_ms orr_study_shared_until(const struct orr_scenario *a, const struct orr_scenario *b)
{
    /* where nothing changes any more a run may be over earlier */
    bool shared = b->queue_change_count > 0 && !has_child(a);
    (void)orr_scenario_diff(a, b, hear, &shared);
    shared = shared && have_same_nodes(a, b);
    for (int r = 0; r < ORR_SCENARIO_RESOURCES && shared; r++) {
        shared = r == ORR_SCENARIO_GPU || bounds(a, r) == bounds(b, r);
    }
    const orr_ms until = shared ? first_difference_ms(a, b) : ORR_MS_NONE;
    return until == ORR_MS_NEVER ? ORR_MS_NONE : until;
}
