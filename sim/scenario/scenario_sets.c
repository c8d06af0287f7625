/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_sets.c - what events set while a run goes on.
 *
 * The paths of all events are applied one after the other, in order of time, to a copy of the tree;
 * after each it is seen what queues and pools have become. So += starts from what holds then.
 */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

struct step { /* an event that sets something */
    const struct orr_scenario__node *node;
    struct orr_scenario_event event;
    uint32_t index; /* as listed */
};

struct before { /* what queues and pools were until the event at hand */
    struct orr_scenario_queue *queues;
    uint32_t *nodes; /* per pool */
};

static int by_time(const void *a, const void *b, void *context)
{
    const struct step *x = a, *y = b;
    (void)context;
    return x->event.at_ms != y->event.at_ms
               ? (x->event.at_ms > y->event.at_ms) - (x->event.at_ms < y->event.at_ms)
               : (x->index > y->index) - (x->index < y->index);
}

static struct step *list_steps(struct orr_arena *arena, const struct orr_scenario__node *events,
                               uint32_t *count)
{
    const struct orr_scenario__row *row = orr_scenario__row_at("events", NULL);
    uint32_t most = events == NULL ? 0 : events->child_count;
    struct step *steps = orr_arena_alloc(arena, most + (size_t)1, sizeof *steps);
    *count = 0;
    for (uint32_t i = 0; i < most; i++) {
        if (orr_scenario__find(events->children[i], "set") != NULL) {
            struct step *step = &steps[(*count)++];
            *step = (struct step){.node = events->children[i], .index = i};
            step->event.notice_ms = ORR_MS_NONE;
            orr_scenario__fill_group(row, step->node, &step->event);
        }
    }
    orr_sort(steps, *count, sizeof *steps, by_time, NULL);
    return steps;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Of queues; pods are of their flavors alone. */
static const char *const resources[] = {".gpu", ".cpu", ".memory", ".pods"};
enum { RESOURCES = sizeof resources / sizeof resources[0] };

/* queues.NAME.gpu and the like: all entitlements to a resource at once. */
static bool is_amounts(const char *path)
{
    bool is = false;
    for (size_t r = 0; r < RESOURCES; r++) {
        is = is || orr_ends_with(path, resources[r]);
    }
    return is && starts(path, "queues.") && strstr(path, ".lend.") == NULL;
}

static bool is_nodes(const char *path)
{
    return starts(path, "cluster.pools.") && orr_ends_with(path, ".nodes");
}

/* The path leads somewhere: can that change while a run goes on? */
static bool can_change(const char *path)
{
    static const char *const values[] = {".quota", ".weight", ".limit"};
    size_t bytes = strlen(path);
    bool can = is_amounts(path) || is_nodes(path) ||
               (starts(path, "queues.") && orr_ends_with(path, ".priority"));
    for (size_t v = 0; v < 3 && starts(path, "queues."); v++) {
        for (size_t r = 0; r < RESOURCES; r++) {
            size_t tail = strlen(resources[r]) + strlen(values[v]);
            can = can || (orr_ends_with(path, values[v]) && bytes > tail &&
                          starts(path + bytes - tail, resources[r]));
        }
    }
    return can;
}

static enum orr_status apply(struct orr_scenario__load *trial, struct orr_scenario__node *root,
                             const struct step *step)
{
    const struct orr_scenario__node *set = orr_scenario__find(step->node, "set");
    const struct orr_scenario__node *taken = orr_scenario__find(step->node, "taken");
    const struct orr_scenario__node *notice = orr_scenario__find(step->node, "notice");
    enum orr_status status = ORR_OK;
    bool resizes = false;
    for (uint32_t i = 0; i < set->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *entry = set->children[i];
        struct orr_scenario__change change = {.path = entry->key,
                                              .path_at = entry->key_at,
                                              .value = entry->text,
                                              .value_at = entry->at,
                                              .note = orr_scenario__origin(trial->arena, entry)};
        if (is_amounts(entry->key)) { /* a list came here as the text of its values */
            change.value = orr_scenario__format(trial->arena, "[%s]", entry->text);
        }
        resizes = resizes || is_nodes(entry->key);
        status = orr_scenario__change(trial, root, &change);
        if (status == ORR_OK && !can_change(entry->key)) {
            status = orr_scenario__fail(
                trial, &entry->key_at,
                "\"%.80s\" cannot change while a run goes on: quota, weight, limit and priority of "
                "queues can, and nodes of pools",
                entry->key);
        }
    }
    if (status == ORR_OK && set->child_count == 0) {
        status = orr_scenario__fail(trial, &set->at, "set: nothing is set");
    }
    const struct orr_scenario__node *more = taken != NULL ? taken : notice;
    if (status == ORR_OK && more != NULL && more->text != NULL && !resizes) {
        status = orr_scenario__fail(trial, &more->at, "%s: only where nodes of a pool are set",
                                    more->key);
    }
    return status;
}

/* Its flavors are kept in the scenario's arena. */
static enum orr_status read_queue(struct orr_scenario__load *trial, struct orr_scenario *scenario,
                                  struct orr_scenario__node *queue, struct orr_scenario_queue *out)
{
    const struct orr_scenario__row *row = orr_scenario__row_at("queues", NULL);
    *out = (struct orr_scenario_queue){0};
    enum orr_status status = orr_scenario__complete_group(trial, row, queue);
    if (status == ORR_OK) {
        orr_scenario__fill_group(row, queue, out);
        orr_scenario__fill_flavored(&scenario->arena, scenario, queue, out);
    }
    return status;
}

static bool same_amounts(const struct orr_scenario_queue *a, const struct orr_scenario_queue *b)
{
    bool same = memcmp(a->resources, b->resources, sizeof a->resources) == 0;
    for (uint32_t f = 0; f < a->flavor_count && same; f++) {
        same = memcmp(a->flavors[f].resources, b->flavors[f].resources,
                      sizeof a->flavors[f].resources) == 0;
    }
    return same;
}

/* Where the event sets something of this thing. */
static const char *origin_of(struct orr_arena *arena, const struct step *step, const char *of,
                             const char *name)
{
    const struct orr_scenario__node *set = orr_scenario__find(step->node, "set"), *found = set;
    for (uint32_t i = 0; i < set->child_count && found == set; i++) {
        const char *path = set->children[i]->key;
        const char *rest = starts(path, of) ? path + strlen(of) : "";
        const size_t bytes = strlen(name);
        bool meant = starts(rest, "*.") || (starts(rest, name) && rest[bytes] == '.');
        found = meant ? set->children[i] : set;
    }
    return orr_scenario__origin(arena, found);
}

/* Notes each queue that is not what it was. */
static enum orr_status note_queues(struct orr_scenario__load *trial, struct orr_scenario *scenario,
                                   const struct orr_scenario__node *root,
                                   struct orr_scenario_queue *before, const struct step *step)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        struct orr_scenario_queue now;
        status = read_queue(trial, scenario, queues->children[q], &now);
        const bool same = now.priority == before[q].priority && same_amounts(&now, &before[q]);
        before[q] = now;
        if (same) {
            continue;
        }
        struct orr_scenario_queue_change *change =
            &scenario->queue_changes[scenario->queue_change_count++];
        *change = (struct orr_scenario_queue_change){
            .at_ms = step->event.at_ms,
            .queue = q,
            .priority = now.priority,
            .flavors = now.flavors,
            .origin = origin_of(&scenario->arena, step, "queues.", queues->children[q]->key)};
        memcpy(change->resources, now.resources, sizeof change->resources);
    }
    return status;
}

static uint32_t nodes_of(const struct orr_scenario__node *root, uint32_t pool)
{
    const struct orr_scenario__node *pools =
        orr_scenario__find(orr_scenario__find(root, "cluster"), "pools");
    struct orr_scenario_pool now = {0};
    orr_scenario__fill_group(orr_scenario__row_at("cluster", "pools"), pools->children[pool], &now);
    return now.nodes;
}

/* Notes each pool that has another number of nodes. */
static enum orr_status note_pools(const struct orr_scenario__load *trial,
                                  struct orr_scenario *scenario,
                                  const struct orr_scenario__node *root, uint32_t *before,
                                  const struct step *step)
{
    const struct orr_scenario_event *event = &step->event;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        uint32_t now = nodes_of(root, p);
        struct orr_scenario_pool *pool = &scenario->pools[p];
        if (now != before[p] && pool->autoscaled) {
            return orr_scenario__fail(trial, &orr_scenario__find(step->node, "set")->at,
                                      "pool \"%.80s\" is autoscaled: its nodes follow the jobs",
                                      pool->name);
        }
        if (now != before[p]) {
            scenario->resizes[scenario->resize_count++] = (struct orr_scenario_resize){
                .at_ms = event->at_ms,
                .pool = p,
                .before = before[p],
                .nodes = now,
                .notice_ms = event->notice_ms,
                .taken = event->taken == NULL ? "maintain" : event->taken,
                .origin = origin_of(&scenario->arena, step, "cluster.pools.", pool->name)};
        }
        pool->nodes_most = now > pool->nodes_most ? now : pool->nodes_most;
        before[p] = now;
    }
    return ORR_OK;
}

/* "queues.*.gpu" and "queues.research.gpu.quota": the same value, or one that holds the other. */
static bool overlap(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        const size_t of_a = strcspn(a, "."), of_b = strcspn(b, ".");
        const bool any = (of_a == 1 && *a == '*') || (of_b == 1 && *b == '*');
        if (!any && (of_a != of_b || memcmp(a, b, of_a) != 0)) {
            return false;
        }
        a += of_a + (a[of_a] == '.');
        b += of_b + (b[of_b] == '.');
    }
    return true;
}

/* What the caller sets from a time on is to stay: the first value of the step that would change it,
 * or NULL. */
static const struct orr_scenario__node *find_undoing(const struct orr_scenario__node *laters,
                                                     const struct step *step)
{
    const struct orr_scenario__node *set = orr_scenario__find(step->node, "set");
    for (uint32_t i = 0; i < set->child_count; i++) {
        for (uint32_t l = 0; l < laters->child_count; l++) {
            if (overlap(laters->children[l]->key, set->children[i]->key)) {
                return set->children[i];
            }
        }
    }
    return NULL;
}

/* The caller's event is the last one that is listed. */
static enum orr_status check_stays(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *events,
                                   const struct step *steps, uint32_t count)
{
    const struct orr_scenario_options *options = load->options;
    if (options->later_count == 0 || !options->later_stays) {
        return ORR_OK;
    }
    const struct orr_scenario__node *laters =
        orr_scenario__find(events->children[events->child_count - 1], "set");
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_scenario__node *undoing =
            steps[i].event.at_ms > options->later_ms ? find_undoing(laters, &steps[i]) : NULL;
        if (undoing != NULL) {
            char at[64], event[64];
            return orr_scenario__fail_as(
                load, ORR_USAGE, &undoing->key_at,
                "at %s this event sets \"%.80s\" again, after %s %s: leave it out, or ask from "
                "then "
                "on",
                orr_format_clock(event, steps[i].event.at_ms, ORR_MS_NONE), undoing->key,
                options->later_option != NULL ? options->later_option : "--set",
                orr_format_clock(at, options->later_ms, ORR_MS_NONE));
        }
    }
    return ORR_OK;
}

static enum orr_status run_steps(struct orr_scenario__load *trial, struct orr_scenario *scenario,
                                 struct orr_scenario__node *root, const struct step *steps,
                                 uint32_t count)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    struct before before = {.queues = orr_arena_alloc(trial->arena, queues->child_count + (size_t)1,
                                                      sizeof *before.queues),
                            .nodes = orr_arena_alloc(trial->arena, scenario->pool_count + (size_t)1,
                                                     sizeof *before.nodes)};
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        status = read_queue(trial, scenario, queues->children[q], &before.queues[q]);
    }
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        before.nodes[p] = scenario->pools[p].nodes;
    }
    scenario->queue_changes = orr_arena_alloc(
        &scenario->arena, (size_t)count * queues->child_count + 1, sizeof *scenario->queue_changes);
    scenario->resizes = orr_arena_alloc(&scenario->arena, (size_t)count * scenario->pool_count + 1,
                                        sizeof *scenario->resizes);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = apply(trial, root, &steps[i]);
        if (status == ORR_OK) {
            status = note_pools(trial, scenario, root, before.nodes, &steps[i]);
        }
        if (status == ORR_OK) {
            status = note_queues(trial, scenario, root, before.queues, &steps[i]);
        }
    }
    return status;
}

enum orr_status orr_scenario__fill_sets(const struct orr_scenario__load *load,
                                        struct orr_scenario *scenario,
                                        const struct orr_scenario__node *root)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    struct orr_scenario__load trial = *load;
    trial.arena = &arena;
    trial.nodes = 0;
    uint32_t count;
    const struct orr_scenario__node *events = orr_scenario__find(root, "events");
    const struct step *steps = list_steps(&arena, events, &count);
    enum orr_status status = check_stays(load, events, steps, count);
    if (status == ORR_OK && count > 0) {
        status = run_steps(&trial, scenario, orr_scenario__copy(&trial, root), steps, count);
    }
    orr_arena_release(&arena);
    return status;
}

/* --- what follows what events set --- */

struct trial {
    struct orr_scenario__load *load;
    struct orr_scenario__node *root;
    const struct step *step;
};

static enum orr_status apply_step(void *context)
{
    const struct trial *trial = context;
    return apply(trial->load, trial->root, trial->step);
}

enum orr_status orr_scenario__state_events(struct orr_scenario__load *load,
                                           struct orr_scenario__node *root)
{
    struct orr_scenario__node *events = orr_scenario__find(root, "events");
    uint32_t count = 0;
    const struct step *steps =
        load->settled != NULL ? list_steps(load->arena, events, &count) : NULL;
    struct trial trial = {.load = load, .root = count > 0 ? orr_scenario__copy(load, root) : NULL};
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        struct orr_scenario__node *set =
            orr_scenario__find(events->children[steps[i].index], "set");
        trial.step = &steps[i];
        status = orr_scenario__state_followers(load, trial.root, apply_step, &trial, set);
    }
    return status;
}
