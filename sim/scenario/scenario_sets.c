/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_sets.c - what events set while a run goes on.
 *
 * The paths of all events are applied one after the other, in order of time, to a copy of the tree;
 * after each it is seen what queues and pools have become. So += starts from what holds then.
 */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/sort.h>

struct step { /* an event that sets something */
    const struct orr_scenario__node *event;
    orr_ms at_ms;
    uint32_t index; /* as listed */
};

static int by_time(const void *a, const void *b, void *context)
{
    const struct step *x = a, *y = b;
    (void)context;
    return x->at_ms != y->at_ms ? (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms)
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
        struct orr_scenario_event event = {0};
        if (orr_scenario__find(events->children[i], "set") != NULL) {
            orr_scenario__fill_group(row, events->children[i], &event);
            steps[(*count)++] = (struct step){events->children[i], event.at_ms, i};
        }
    }
    orr_sort(steps, *count, sizeof *steps, by_time, NULL);
    return steps;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t bytes = strlen(text), tail = strlen(with);
    return bytes >= tail && strcmp(text + bytes - tail, with) == 0;
}

/* queues.NAME.gpu and the like: all that is owed of a resource at once. */
static bool is_amounts(const char *path)
{
    return starts(path, "queues.") &&
           (ends(path, ".gpu") || ends(path, ".cpu") || ends(path, ".memory"));
}

/* The path leads somewhere: can that change while a run goes on? */
static bool can_change(const char *path)
{
    static const char *const resources[] = {".gpu", ".cpu", ".memory"};
    static const char *const values[] = {".quota", ".weight", ".limit"};
    size_t bytes = strlen(path);
    bool can = is_amounts(path) || (starts(path, "queues.") && ends(path, ".priority"));
    for (size_t v = 0; v < 3 && starts(path, "queues."); v++) {
        for (size_t r = 0; r < 3; r++) {
            size_t tail = strlen(resources[r]) + strlen(values[v]);
            can = can || (ends(path, values[v]) && bytes > tail &&
                          starts(path + bytes - tail, resources[r]));
        }
    }
    return can;
}

static enum orr_status apply(struct orr_scenario__load *trial, struct orr_scenario__node *root,
                             const struct orr_scenario__node *set)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < set->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *entry = set->children[i];
        struct orr_scenario__change change = {.path = entry->key,
                                              .path_at = entry->key_at,
                                              .value = entry->text,
                                              .value_at = entry->at,
                                              .note = orr_scenario__origin(trial->arena, entry)};
        if (is_amounts(entry->key)) { /* a list came here as the text of its values */
            change.value =
                orr_scenario__format(trial->arena, "[%s]", entry->text == NULL ? "" : entry->text);
        }
        status = orr_scenario__change(trial, root, &change);
        if (status == ORR_OK && !can_change(entry->key)) {
            status = orr_scenario__fail(
                trial, &entry->key_at,
                "\"%.80s\" cannot change while a run goes on: quota, weight, limit and priority of "
                "queues can",
                entry->key);
        }
    }
    if (status == ORR_OK && set->child_count == 0) {
        status = orr_scenario__fail(trial, &set->at, "set: nothing is set");
    }
    return status;
}

static enum orr_status read_queue(struct orr_scenario__load *trial,
                                  struct orr_scenario__node *queue, struct orr_scenario_queue *out)
{
    const struct orr_scenario__row *row = orr_scenario__row_at("queues", NULL);
    *out = (struct orr_scenario_queue){0};
    enum orr_status status = orr_scenario__complete_group(trial, row, queue);
    if (status == ORR_OK) {
        orr_scenario__fill_group(row, queue, out);
    }
    return status;
}

/* Notes each queue that is not what it was. */
static enum orr_status note_queues(struct orr_scenario__load *trial, struct orr_scenario *scenario,
                                   const struct orr_scenario__node *root,
                                   struct orr_scenario_queue *before, orr_ms at_ms)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        struct orr_scenario_queue now;
        status = read_queue(trial, queues->children[q], &now);
        bool same = now.priority == before[q].priority &&
                    memcmp(now.resources, before[q].resources, sizeof now.resources) == 0;
        before[q] = now;
        if (same) {
            continue;
        }
        struct orr_scenario_owed *owed = &scenario->owed[scenario->owed_count++];
        *owed = (struct orr_scenario_owed){.at_ms = at_ms, .queue = q, .priority = now.priority};
        memcpy(owed->resources, now.resources, sizeof owed->resources);
    }
    return status;
}

static enum orr_status run_steps(struct orr_scenario__load *trial, struct orr_scenario *scenario,
                                 struct orr_scenario__node *root, const struct step *steps,
                                 uint32_t count)
{
    const struct orr_scenario__node *queues = orr_scenario__find(root, "queues");
    struct orr_scenario_queue *before =
        orr_arena_alloc(trial->arena, queues->child_count + (size_t)1, sizeof *before);
    enum orr_status status = ORR_OK;
    for (uint32_t q = 0; q < queues->child_count && status == ORR_OK; q++) {
        status = read_queue(trial, queues->children[q], &before[q]);
    }
    scenario->owed = orr_arena_alloc(&scenario->arena, (size_t)count * queues->child_count + 1,
                                     sizeof *scenario->owed);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = apply(trial, root, orr_scenario__find(steps[i].event, "set"));
        if (status == ORR_OK) {
            status = note_queues(trial, scenario, root, before, steps[i].at_ms);
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
    const struct step *steps = list_steps(&arena, orr_scenario__find(root, "events"), &count);
    enum orr_status status = ORR_OK;
    if (count > 0) {
        status = run_steps(&trial, scenario, orr_scenario__copy(&trial, root), steps, count);
    }
    orr_arena_release(&arena);
    return status;
}
