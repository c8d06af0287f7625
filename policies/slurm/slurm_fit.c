/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_fit.c - best fit over runs of consecutive nodes, and the least loaded node (CR_LLN).
 *
 * Of the nodes that can take a task of the job, those of the lowest weight come
 * first; consecutive ones of equal weight are a run. A run that is enough for
 * the job goes before one that is not, the tightest first; of those that are
 * not enough the largest. In a run one node that takes all that is left goes
 * before several, the one with the fewest free CPUs; else nodes are filled in
 * their order. */
#include "slurm_int.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void add_seat(struct slurm_seats *seats, uint32_t node, uint32_t group, int64_t tasks)
{
    seats->seats = ORR_ROOM_FOR_ONE(seats->seats, seats->count, seats->capacity);
    seats->seats[seats->count++] = (struct slurm_seat){node, group, (uint32_t)tasks};
}

struct run {
    uint32_t first, end; /* of candidates */
    int64_t tasks, nodes, free, weight;
};

/* The run that begins at a candidate that is left; false: there is none behind
 * it. */
static bool next_run(const struct slurm_search *search, uint32_t from, struct run *run)
{
    while (from < search->count && search->candidates[from].tasks == 0) {
        from++;
    }
    if (from == search->count) {
        return false;
    }
    *run = (struct run){.first = from, .end = from, .weight = search->candidates[from].weight};
    for (uint32_t i = from; i < search->count; i++) {
        const struct slurm_candidate *c = &search->candidates[i];
        if (c->tasks == 0 || c->weight != run->weight ||
            c->ordinal != search->candidates[from].ordinal + (i - from)) {
            break;
        }
        run->end = i + 1;
        run->tasks += c->tasks;
        run->free += c->free;
        run->nodes++;
    }
    return true;
}

static bool is_better(const struct run *run, const struct run *best, int64_t tasks, int64_t nodes)
{
    const bool enough = run->tasks >= tasks && run->nodes >= nodes;
    const bool best_enough = best->tasks >= tasks && best->nodes >= nodes;
    if (run->weight != best->weight) {
        return run->weight < best->weight;
    }
    if (enough != best_enough) {
        return enough;
    }
    return enough ? run->free < best->free : run->free > best->free;
}

static bool best_run(const struct slurm_search *search, int64_t tasks, int64_t nodes,
                     struct run *best)
{
    struct run run;
    bool found = false;
    for (uint32_t from = 0; next_run(search, from, &run); from = run.end) {
        if (!found || is_better(&run, best, tasks, nodes)) {
            *best = run;
        }
        found = true;
    }
    return found;
}

/* The node that takes all of it and has the fewest CPUs free; ORR_NONE: no
 * single one does. */
static uint32_t tightest(const struct slurm_search *search, const struct run *run, int64_t tasks)
{
    uint32_t best = ORR_NONE;
    for (uint32_t i = run->first; i < run->end; i++) {
        const struct slurm_candidate *c = &search->candidates[i];
        if (c->tasks >= tasks && (best == ORR_NONE || c->free < search->candidates[best].free)) {
            best = i;
        }
    }
    return best;
}

void orr_slurm__seat(struct slurm_search *search, uint32_t candidate, uint32_t group,
                     struct slurm_left *left)
{
    struct slurm_candidate *c = &search->candidates[candidate];
    const int64_t others = left->nodes > 1 ? left->nodes - 1 : 0;
    const int64_t tasks = least(c->tasks, left->tasks - others);
    if (tasks > 0 && left->most > 0) {
        add_seat(search->seats, c->node, group, tasks);
        left->tasks -= tasks;
        left->nodes--;
        left->most--;
    }
    c->tasks = 0;
}

/* CR_LLN: of the lowest weight the node of which the largest part is free. */
static uint32_t least_loaded(const struct slurm_search *search)
{
    uint32_t best = ORR_NONE;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct slurm_candidate *c = &search->candidates[i];
        const struct slurm_candidate *b = best == ORR_NONE ? NULL : &search->candidates[best];
        if (c->tasks > 0 && (b == NULL || c->weight < b->weight ||
                             (c->weight == b->weight && (double)c->free * (double)b->whole >
                                                            (double)b->free * (double)c->whole))) {
            best = i;
        }
    }
    return best;
}

static bool find(struct slurm_search *search, const struct slurm_want *want)
{
    struct slurm_left left = {want->tasks, want->min_nodes, want->max_nodes};
    struct run run = {0};
    while (left.most > 0 && (left.tasks > 0 || left.nodes > 0)) {
        if (search->lln) {
            const uint32_t node = least_loaded(search);
            if (node == ORR_NONE) {
                break;
            }
            orr_slurm__seat(search, node, want->group, &left);
            continue;
        }
        if (!best_run(search, left.tasks, left.nodes, &run)) {
            break;
        }
        const uint32_t one = left.nodes <= 1 ? tightest(search, &run, left.tasks) : ORR_NONE;
        if (one != ORR_NONE) {
            orr_slurm__seat(search, one, want->group, &left);
            continue;
        }
        for (uint32_t i = run.first; i < run.end && (left.tasks > 0 || left.nodes > 0); i++) {
            if (left.most == 1 && search->candidates[i].tasks < left.tasks) {
                search->candidates[i].tasks = 0; /* the last node must take all that is left */
                continue;
            }
            orr_slurm__seat(search, i, want->group, &left);
        }
    }
    return left.tasks <= 0 && left.nodes <= 0;
}

/* Again without the nodes that take the fewest tasks, as long as there are
 * enough. */
bool orr_slurm__find(struct slurm_search *search, const struct slurm_want *want)
{
    const uint32_t seats = search->seats->count;
    struct slurm_candidate *all = search->all;
    memcpy(all, search->candidates, search->count * sizeof *all);
    const uint32_t count = search->count;
    bool found = false;
    for (int64_t least_tasks = 1, most = 1; !found && least_tasks <= most; least_tasks++) {
        int64_t next = INT64_MAX;
        most = 0;
        search->count = 0;
        for (uint32_t i = 0; i < count; i++) {
            next = all[i].tasks >= least_tasks && all[i].tasks < next ? all[i].tasks : next;
            most = all[i].tasks > most ? all[i].tasks : most;
        }
        least_tasks = next == INT64_MAX ? most + 1 : next;
        for (uint32_t i = 0; i < count; i++) {
            if (all[i].tasks >= least_tasks) {
                search->candidates[search->count++] = all[i];
            }
        }
        search->seats->count = seats;
        found = search->count >= want->min_nodes && find(search, want);
    }
    return found;
}
