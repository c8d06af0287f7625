/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shared.c - until when two scenarios are one run: those that differ by events alone. */
#include <orrery/sim/study.h>

#include <string.h>

#include <orrery/sim/plugin.h>

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

static orr_ms earlier(orr_ms a, orr_ms b)
{
    return a < b ? a : b;
}

/* Racks, and the parts of policy static, are made of all nodes that there will be. */
static bool have_same_resizes(const struct orr_scenario *a, const struct orr_scenario *b)
{
    bool same = a->resize_count == b->resize_count;
    for (uint32_t r = 0; r < a->resize_count && same; r++) {
        const struct orr_scenario_resize *x = &a->resizes[r], *y = &b->resizes[r];
        same = x->at_ms == y->at_ms && x->pool == y->pool && x->before == y->before &&
               x->nodes == y->nodes && x->notice_ms == y->notice_ms &&
               is_same_text(x->taken, y->taken);
    }
    return same;
}

/* The first event of nodes from the ith on, or the count: others set something. */
static uint32_t next_of_nodes(const struct orr_scenario *scenario, uint32_t i)
{
    while (i < scenario->event_count && scenario->events[i].node_count == 0) {
        i++;
    }
    return i;
}

/* Does the scenario take nodes away? The work of evicted jobs is then booked from the beginning. */
static bool loses_nodes(const struct orr_scenario *scenario)
{
    return scenario->mtbf_ms > 0 || scenario->resize_count > 0 ||
           next_of_nodes(scenario, 0) < scenario->event_count;
}

static bool are_same_outages(const struct orr_scenario_event *x, const struct orr_scenario_event *y)
{
    return x->at_ms == y->at_ms && x->first_node == y->first_node &&
           x->node_count == y->node_count && x->for_ms == y->for_ms &&
           x->notice_ms == y->notice_ms && (x->fail != NULL) == (y->fail != NULL) &&
           (x->drain != NULL) == (y->drain != NULL);
}

static orr_ms closes_ms(const struct orr_scenario *scenario, uint32_t i)
{
    if (i == scenario->event_count) {
        return ORR_MS_NEVER;
    }
    const struct orr_scenario_event *event = &scenario->events[i];
    return event->at_ms - (event->notice_ms == ORR_MS_NONE ? 0 : event->notice_ms);
}

/* When the first outage begins that only one of them has. Events are known by their place among
 * those of nodes: it is their number in the engine. */
static orr_ms first_outage_ms(const struct orr_scenario *a, const struct orr_scenario *b)
{
    uint32_t i = next_of_nodes(a, 0), j = next_of_nodes(b, 0);
    orr_ms first = ORR_MS_NEVER;
    while (i < a->event_count || j < b->event_count) {
        const bool both = i < a->event_count && j < b->event_count;
        if (!both || !are_same_outages(&a->events[i], &b->events[j])) {
            first = earlier(first, earlier(closes_ms(a, i), closes_ms(b, j)));
        }
        i = i < a->event_count ? next_of_nodes(a, i + 1) : i;
        j = j < b->event_count ? next_of_nodes(b, j + 1) : j;
    }
    return first;
}

/* Does the scenario still change something at a time or later? A run in which nothing changes any
 * more may be over earlier. */
static bool changes_from(const struct orr_scenario *scenario, orr_ms from_ms)
{
    const uint32_t count = scenario->queue_change_count;
    bool any = count > 0 && scenario->queue_changes[count - 1].at_ms >= from_ms;
    for (uint32_t i = next_of_nodes(scenario, 0); i < scenario->event_count && !any;
         i = next_of_nodes(scenario, i + 1)) {
        any = scenario->events[i].at_ms >= from_ms;
    }
    return any;
}

static bool are_same_amounts(const struct orr_scenario_amounts *a,
                             const struct orr_scenario_amounts *b, int count)
{
    bool same = true;
    for (int r = 0; r < count; r++) {
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
        same = x->flavor == y->flavor &&
               are_same_amounts(x->resources, y->resources, ORR_SCENARIO_FLAVOR_RESOURCES) &&
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
           are_same_amounts(a->resources, b->resources, ORR_SCENARIO_RESOURCES) &&
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

/* The time of the first change of a queue that only one of them has. */
static orr_ms first_change_ms(const struct orr_scenario *a, const struct orr_scenario *b)
{
    uint32_t i = 0;
    while (i < a->queue_change_count && i < b->queue_change_count &&
           are_same_changes(a, &a->queue_changes[i], &b->queue_changes[i])) {
        i++;
    }
    const orr_ms of_a = i < a->queue_change_count ? a->queue_changes[i].at_ms : ORR_MS_NEVER;
    const orr_ms of_b = i < b->queue_change_count ? b->queue_changes[i].at_ms : ORR_MS_NEVER;
    return earlier(of_a, of_b);
}

const char *orr_study_child_policy(const struct orr_scenario *scenario)
{
    const char *child = NULL;
    for (uint32_t s = 0; s < scenario->shard_count && child == NULL; s++) {
        const char *name = scenario->shards[s].policy;
        child = strncmp(name, ORR_PLUGIN_CHILD, sizeof ORR_PLUGIN_CHILD - 1) == 0 ? name : NULL;
    }
    return child;
}

orr_ms orr_study_shared_until(const struct orr_scenario *a, const struct orr_scenario *b)
{
    bool shared = orr_study_child_policy(a) == NULL;
    (void)orr_scenario_diff(a, b, hear, &shared);
    shared = shared && have_same_resizes(a, b) && loses_nodes(a) == loses_nodes(b);
    for (int r = 0; r < ORR_SCENARIO_RESOURCES && shared; r++) {
        shared = r == ORR_SCENARIO_GPU || bounds(a, r) == bounds(b, r);
    }
    const orr_ms until =
        shared ? earlier(first_change_ms(a, b), first_outage_ms(a, b)) : ORR_MS_NEVER;
    const bool outlasts = loses_nodes(b) ? changes_from(b, until) : b->queue_change_count > 0;
    return until != ORR_MS_NEVER && outlasts ? until : ORR_MS_NONE;
}
