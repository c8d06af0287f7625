/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom to evict so that a job fits: the outer search and one scenario of it (KAI's common/solvers).
 */
#include "slow.h"

#include <string.h>

/* --- where --- */

static void find_base_nodes(struct slow_hunt *hunt)
{
    const struct slow *slow = hunt->slow;
    const struct orr_sjob *job = &slow->in->jobs[hunt->job];
    bool all_need_gpu = true;
    for (uint32_t t = 0; t < job->task_count; t++) {
        all_need_gpu = all_need_gpu && slow_ask(slow, job->first_task + t)->kind != ORR_ASK_NO_GPU;
    }
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        hunt->base_nodes[n] =
            !all_need_gpu || slow_idle_sum(slow, n) > 0 || slow_releasing_sum(slow, n) > 0;
    }
}

/* --- scenarios that failed --- */

static void sort_ids(uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t at = i; at > 0 && ids[at] < ids[at - 1]; at--) {
            const uint32_t kept = ids[at];
            ids[at] = ids[at - 1];
            ids[at - 1] = kept;
        }
    }
}

static void append(uint32_t *out, size_t *at, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        out[*at + i] = ids[i];
    }
    sort_ids(out + *at, count);
    *at += count;
    out[(*at)++] = ORR_NONE;
}

/* Sorted pending, recorded and potential tasks. */
static uint32_t *fingerprint(const struct slow_hunt *hunt, const struct slow_victims *potential,
                             size_t *size)
{
    const size_t most = (size_t)hunt->pending.count + hunt->recorded.count + potential->count + 3;
    uint32_t *out = orr_alloc(most, sizeof *out);
    *size = 0;
    append(out, size, hunt->pending.task, hunt->pending.count);
    append(out, size, hunt->recorded.task, hunt->recorded.count);
    append(out, size, potential->task, potential->count);
    return out;
}

static bool failed_before(const struct slow_hunt *hunt, const uint32_t *print, size_t size)
{
    for (uint32_t i = 0; i < hunt->failed_count; i++) {
        if (hunt->failed_sizes[i] == size &&
            memcmp(hunt->failed[i], print, size * sizeof *print) == 0) {
            return true;
        }
    }
    return false;
}

static void remember_failed(struct slow_hunt *hunt, uint32_t *print, size_t size)
{
    if (hunt->failed_count == hunt->failed_capacity) {
        hunt->failed_capacity = hunt->failed_capacity * 2 + 8;
        hunt->failed = orr_realloc(hunt->failed, hunt->failed_capacity, sizeof *hunt->failed);
        hunt->failed_sizes =
            orr_realloc(hunt->failed_sizes, hunt->failed_capacity, sizeof *hunt->failed_sizes);
    }
    hunt->failed_sizes[hunt->failed_count] = size;
    hunt->failed[hunt->failed_count++] = print;
}

/* --- one scenario --- */

static void mark_job(const struct slow_hunt *hunt, const struct slow_victims *victims, bool *marked,
                     bool *nodes)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        marked[hunt->slow->in->tasks[victims->task[i]].job] = true;
        nodes[hunt->slow->at.tasks[victims->task[i]].now.node] = true;
    }
}

static void evict_all(const struct slow_hunt *hunt, const struct slow_victims *victims)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        if (slow_in(hunt->slow, victims->task[i], ORR_STATES_ACTIVE_ALLOCATED)) {
            slow_evict(hunt->slow, victims->task[i]);
        }
    }
}

/* Everybody waiting takes part in the order; only victims and the preemptor are placed. */
static bool replay(struct slow_hunt *hunt, const bool *is_victim, const bool *nodes)
{
    struct slow *slow = hunt->slow;
    struct slow_view *views = orr_alloc(slow->in->job_count + (size_t)1, sizeof *views);
    uint32_t count = 0;
    for (uint32_t j = 0; j < slow->in->job_count; j++) {
        const struct slow_view whole = slow_whole(slow, j);
        if (slow->in->jobs[j].invalid || !slow_queue_usable(slow, slow->in->jobs[j].queue)) {
            continue;
        }
        if (j == hunt->job) {
            views[count++] = hunt->part;
        } else if (is_victim[j] ||
                   slow_count_all(slow, &whole, ORR_STATUS_BIT(ORR_TASK_PENDING)) > 0) {
            views[count++] = whole;
        }
    }
    struct slow_heap *heap = slow_heap_make(slow, false, -1, views, count);
    struct slow_view next;
    bool possible = true;
    while (possible && slow_heap_pop(heap, &next)) {
        uint8_t why;
        if (next.job == hunt->job || is_victim[next.job]) {
            const bool placed = slow_attempt(slow, &next, nodes, true, &why);
            possible = placed || next.job != hunt->job;
        }
    }
    slow_heap_free(heap);
    orr_free(views);
    return possible;
}

static bool stays_gone(const struct slow *slow, uint32_t task)
{
    return slow_in(slow, task,
                   ORR_STATUS_BIT(ORR_TASK_RELEASING) | ORR_STATUS_BIT(ORR_TASK_PIPELINED));
}

/* Records the groups of a list of which some task stays evicted or was moved, whole. */
static void record_groups(struct slow_hunt *hunt, const struct slow_victims *list,
                          uint32_t first_group, struct slow_victims *out)
{
    const struct slow *slow = hunt->slow;
    for (uint32_t i = 0; i < list->count; i++) {
        bool stands = false;
        for (uint32_t k = 0; k < list->count; k++) {
            stands =
                stands || (list->group[k] == list->group[i] && stays_gone(slow, list->task[k]));
        }
        if (!stands) {
            continue;
        }
        if (stays_gone(slow, list->task[i])) {
            hunt->survivor_nodes[slow->at.tasks[list->task[i]].before.node] = true;
        }
        uint32_t at = out->count++; /* by UID */
        for (; at > 0 && slow_uid_before(slow, list->task[i], out->task[at - 1]); at--) {
            out->task[at] = out->task[at - 1];
            out->group[at] = out->group[at - 1];
        }
        out->task[at] = list->task[i];
        out->group[at] = first_group + list->group[i];
    }
}

/* What this success leaves for the next probe. */
static void record(struct slow_hunt *hunt, const struct slow_victims *potential)
{
    const struct slow_victims old = hunt->recorded;
    const size_t most = old.count + (size_t)potential->count + 1;
    struct slow_victims now = {.task = orr_alloc(most, sizeof(uint32_t)),
                               .group = orr_alloc(most, sizeof(uint32_t))};
    uint32_t first_group = 0; /* of the new ones, after all that are carried in */
    for (uint32_t i = 0; i < old.count; i++) {
        first_group = old.group[i] >= first_group ? old.group[i] + 1 : first_group;
    }
    memset(hunt->survivor_nodes, 0, hunt->slow->in->node_count * sizeof *hunt->survivor_nodes);
    record_groups(hunt, &old, 0, &now);
    record_groups(hunt, potential, first_group, &now);
    orr_free(old.task);
    orr_free(old.group);
    hunt->recorded = now;
}

bool slow_try(struct slow_hunt *hunt, const struct slow_victims *potential)
{
    struct slow *slow = hunt->slow;
    size_t size;
    uint32_t *print = fingerprint(hunt, potential, &size);
    if (hunt->recorded.count + potential->count == 0 || failed_before(hunt, print, size)) {
        orr_free(print);
        return false;
    }
    bool *is_victim = orr_zalloc(slow->in->job_count + (size_t)1, sizeof *is_victim);
    bool *nodes = orr_zalloc(slow->in->node_count + (size_t)1, sizeof *nodes);
    memcpy(nodes, hunt->nodes, slow->in->node_count * sizeof *nodes);
    mark_job(hunt, &hunt->recorded, is_victim, nodes);
    mark_job(hunt, potential, is_victim, nodes);
    unsigned char *saved = slow_save(slow);
    memcpy(hunt->shares_before, slow->at.queues, slow->in->queue_count * sizeof *slow->at.queues);
    evict_all(hunt, potential);
    evict_all(hunt, &hunt->recorded);
    const bool solved = replay(hunt, is_victim, nodes) && slow_valid(hunt, potential);
    if (solved) {
        record(hunt, potential);
        orr_free(print);
    } else {
        slow_restore(slow, saved);
        remember_failed(hunt, print, size);
    }
    orr_free(saved);
    orr_free(nodes);
    orr_free(is_victim);
    return solved;
}

/* --- probes --- */

static bool probe(struct slow_hunt *hunt, const struct slow_list *due, uint32_t count,
                  int generator)
{
    struct slow *slow = hunt->slow;
    hunt->pending.count = count;
    memcpy(hunt->pending.task, due->task, count * sizeof *due->task);
    hunt->part = slow_part(slow, hunt->job, due->task, count);
    for (uint32_t n = 0; n < slow->in->node_count; n++) {
        hunt->nodes[n] = hunt->base_nodes[n] || hunt->survivor_nodes[n];
    }
    if (hunt->action == ORR_ACTION_CONSOLIDATION &&
        slow->in->rules.max_consolidation_preemptees >= 0) {
        slow_find_candidates(hunt);
    }
    return generator == 0 ? slow_node_local(hunt) : slow_multi_node(hunt);
}

/* A probe whose solution is looked at and thrown away. */
static bool probe_and_discard(struct slow_hunt *hunt, const struct slow_list *due, uint32_t count,
                              int generator)
{
    unsigned char *saved = slow_save(hunt->slow);
    const bool solved = probe(hunt, due, count, generator);
    slow_restore(hunt->slow, saved);
    orr_free(saved);
    return solved;
}

static bool search_with(struct slow_hunt *hunt, const struct slow_list *due, int generator)
{
    const uint32_t all = due->count;
    uint32_t solved = 0;
    uint32_t unsolved = all + 1;
    orr_free(hunt->recorded.task);
    orr_free(hunt->recorded.group);
    hunt->recorded = (struct slow_victims){0};
    memset(hunt->survivor_nodes, 0, hunt->slow->in->node_count * sizeof *hunt->survivor_nodes);
    for (uint32_t k = 1; solved < all && unsolved > all;) {
        if (probe_and_discard(hunt, due, k, generator)) {
            solved = k;
        } else {
            unsolved = k;
        }
        k = k * 2 < all ? k * 2 : all;
    }
    while (solved > 0 && unsolved <= all && unsolved - solved > 1) {
        const uint32_t k = (solved + unsolved) / 2;
        if (probe_and_discard(hunt, due, k, generator)) {
            solved = k;
        } else {
            unsolved = k;
        }
    }
    return solved > 0 && probe(hunt, due, all, generator);
}

enum slow_result slow_search(struct slow *slow, enum orr_action action, uint32_t job)
{
    struct slow_hunt *hunt = orr_zalloc(1, sizeof *hunt);
    const struct slow_view whole = slow_whole(slow, job);
    const uint32_t before = slow_count_all(slow, &whole, ORR_STATES_ACTIVE_USED);
    struct slow_list due;
    enum slow_result result = SLOW_FAILED;
    hunt->slow = slow;
    hunt->action = action;
    hunt->job = job;
    hunt->base_nodes = orr_zalloc(slow->in->node_count + (size_t)1, sizeof(bool));
    hunt->nodes = orr_zalloc(slow->in->node_count + (size_t)1, sizeof(bool));
    hunt->survivor_nodes = orr_zalloc(slow->in->node_count + (size_t)1, sizeof(bool));
    hunt->candidates = orr_alloc(slow->in->job_count + (size_t)1, sizeof *hunt->candidates);
    hunt->shares_before = orr_alloc(slow->in->queue_count + (size_t)1, sizeof *hunt->shares_before);
    find_base_nodes(hunt);
    slow_find_candidates(hunt);
    slow_due(slow, &whole, true, &due);
    unsigned char *saved = slow_save(slow);
    for (int generator = 0; due.count > 0 && generator < 2; generator++) {
        if (!search_with(hunt, &due, generator)) {
            continue;
        }
        result = SLOW_SOLVED;
        if (!slow_gang_satisfied(slow, &whole) ||
            slow_count_all(slow, &whole, ORR_STATES_ACTIVE_USED) <= before) {
            result = slow->in->rules.strict_v017 ? SLOW_ABANDONED : SLOW_FAILED;
        }
        if (result == SLOW_FAILED) {
            slow_restore(slow, saved);
        }
        break;
    }
    for (uint32_t i = 0; i < hunt->failed_count; i++) {
        orr_free(hunt->failed[i]);
    }
    orr_free(hunt->failed);
    orr_free(hunt->failed_sizes);
    orr_free(hunt->recorded.task);
    orr_free(hunt->recorded.group);
    orr_free(hunt->base_nodes);
    orr_free(hunt->nodes);
    orr_free(hunt->survivor_nodes);
    orr_free(hunt->candidates);
    orr_free(hunt->shares_before);
    orr_free(hunt);
    orr_free(saved);
    return result;
}
