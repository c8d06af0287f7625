/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_pods.c - an index of held pods by node, kept as jobs change. */
#include "kube_pods.h"

#include <string.h>

#include <orrery/base/mem.h>

static void link_newest(struct kube_pods *pods, uint32_t node)
{
    struct kube_pods_node *it = &pods->nodes[node];
    it->newer = ORR_NONE;
    it->older = pods->newest;
    if (pods->newest != ORR_NONE) {
        pods->nodes[pods->newest].newer = node;
    }
    pods->newest = node;
    it->changed = ++pods->clock;
}

struct kube_pods *orr_kube_pods_open(uint32_t node_count)
{
    struct kube_pods *pods = orr_zalloc(1, sizeof *pods);
    pods->node_count = node_count;
    pods->nodes = orr_zalloc(node_count + (size_t)1, sizeof *pods->nodes);
    pods->newest = pods->free_run = ORR_NONE;
    for (uint32_t n = node_count; n-- > 0;) {
        pods->nodes[n].first = ORR_NONE;
        link_newest(pods, n);
    }
    return pods;
}

void orr_kube_pods_close(struct kube_pods *pods)
{
    if (pods != NULL) {
        orr_free(pods->runs);
        orr_free(pods->first_of);
        orr_free(pods->is_noted);
        orr_free(pods->noted);
        orr_free(pods->levels);
        orr_free(pods->nodes);
        orr_free(pods);
    }
}

void orr_kube_pods_touch(struct kube_pods *pods, uint32_t node)
{
    struct kube_pods_node *it = &pods->nodes[node];
    if (pods->newest == node) {
        it->changed = ++pods->clock;
        return;
    }
    pods->nodes[it->newer].older = it->older;
    if (it->older != ORR_NONE) {
        pods->nodes[it->older].newer = it->newer;
    }
    link_newest(pods, node);
}

static void grow_jobs(struct kube_pods *pods, uint32_t job_count)
{
    const uint32_t before = pods->job_capacity;
    uint32_t capacity = before;
    pods->is_noted = orr_zgrow(pods->is_noted, &capacity, job_count, sizeof *pods->is_noted);
    if (capacity > before) {
        pods->first_of = orr_realloc(pods->first_of, capacity, sizeof *pods->first_of);
        memset(pods->first_of + before, 0xff, (capacity - before) * sizeof *pods->first_of);
        pods->job_capacity = capacity;
    }
}

static void put_down(struct kube_pods *pods, uint32_t job)
{
    if (!pods->is_noted[job]) {
        pods->is_noted[job] = true;
        pods->noted = ORR_ROOM_FOR_ONE(pods->noted, pods->noted_count, pods->noted_capacity);
        pods->noted[pods->noted_count++] = job;
    }
}

/* The first job of another priority: from now on the index is kept, of all who hold something. */
static void begin(struct kube_pods *pods, const struct orr_view *view)
{
    pods->mixed = true;
    grow_jobs(pods, view->job_count);
    for (uint32_t job = 0; job < view->job_count; job++) {
        if (view->jobs[job].placement != ORR_NONE && view->jobs[job].phase != ORR_JOB_FUTURE &&
            view->queues->queues[view->specs[job].queue].shard == view->shard) {
            put_down(pods, job);
        }
    }
}

void orr_kube_pods_note(struct kube_pods *pods, const struct orr_view *view, uint32_t job)
{
    const int32_t priority = view->specs[job].priority;
    if (!pods->any) {
        pods->any = true;
        pods->priority = priority;
    }
    if (!pods->mixed && priority != pods->priority) {
        begin(pods, view);
    }
    if (pods->mixed) {
        grow_jobs(pods, view->job_count);
        put_down(pods, job);
    }
}

/* The place of a priority among the levels, or where it belongs. */
static uint32_t level_of(const struct kube_pods *pods, int32_t priority)
{
    uint32_t low = 0, high = pods->level_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (pods->levels[middle].priority < priority) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void count_run(struct kube_pods *pods, int32_t priority, int sign)
{
    const uint32_t at = level_of(pods, priority);
    if (at == pods->level_count || pods->levels[at].priority != priority) {
        pods->levels = ORR_ROOM_FOR_ONE(pods->levels, pods->level_count, pods->level_capacity);
        memmove(&pods->levels[at + 1], &pods->levels[at],
                (pods->level_count - at) * sizeof *pods->levels);
        pods->levels[at] = (struct kube_pods_level){.priority = priority};
        pods->level_count++;
    }
    pods->levels[at].runs += (uint32_t)sign;
}

static void drop_runs(struct kube_pods *pods, const struct orr_view *view, uint32_t job)
{
    uint32_t r = pods->first_of[job];
    while (r != ORR_NONE) {
        struct kube_pod_run *run = &pods->runs[r];
        const uint32_t next = run->next_of;
        *(run->last_on == ORR_NONE ? &pods->nodes[run->node].first
                                   : &pods->runs[run->last_on].next_on) = run->next_on;
        if (run->next_on != ORR_NONE) {
            pods->runs[run->next_on].last_on = run->last_on;
        }
        orr_kube_pods_touch(pods, run->node);
        count_run(pods, view->specs[job].priority, -1);
        run->next_of = pods->free_run;
        pods->free_run = r;
        r = next;
    }
    pods->first_of[job] = ORR_NONE;
}

static uint32_t new_run(struct kube_pods *pods)
{
    const uint32_t r = pods->free_run;
    if (r != ORR_NONE) {
        pods->free_run = pods->runs[r].next_of;
        return r;
    }
    pods->runs = ORR_ROOM_FOR_ONE(pods->runs, pods->run_count, pods->run_capacity);
    return pods->run_count++;
}

static void add_run(struct kube_pods *pods, const struct orr_view *view, uint32_t placement,
                    uint32_t node)
{
    const struct orr_placement *it = &view->ledger->placements[placement];
    const uint32_t r = new_run(pods), first = pods->nodes[node].first;
    pods->runs[r] = (struct kube_pod_run){.job = it->job,
                                          .placement = placement,
                                          .node = node,
                                          .tasks = orr_placement_each(it),
                                          .next_on = first,
                                          .last_on = ORR_NONE,
                                          .next_of = pods->first_of[it->job]};
    if (first != ORR_NONE) {
        pods->runs[first].last_on = r;
    }
    pods->nodes[node].first = r;
    pods->first_of[it->job] = r;
    orr_kube_pods_touch(pods, node);
    count_run(pods, view->specs[it->job].priority, 1);
}

bool orr_kube_pods_below(struct kube_pods *pods, const struct orr_view *view, int32_t priority)
{
    if (!pods->mixed) {
        return false;
    }
    for (; pods->noted_count > 0; pods->noted_count--) {
        const uint32_t job = pods->noted[pods->noted_count - 1];
        pods->is_noted[job] = false;
        drop_runs(pods, view, job);
        for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
             p = view->ledger->placements[p].next) {
            const struct orr_placement *placement = &view->ledger->placements[p];
            const uint32_t nodes =
                placement->hold == ORR_HOLD_ENDED ? 0 : placement->more_nodes + 1u;
            for (uint32_t n = 0; n < nodes; n++) { /* a job that is over names what it had */
                add_run(pods, view, p, placement->node + n);
            }
        }
    }
    for (uint32_t l = 0; l < pods->level_count && pods->levels[l].priority < priority; l++) {
        if (pods->levels[l].runs > 0) {
            return true;
        }
    }
    return false;
}
