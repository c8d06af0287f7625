/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Potential victims of a flat world (flat.c): in which order they come, and what is known at
 * once of those on some of the nodes as long as none are recorded.
 *
 * A step is a contender, whole, and the order of contenders is the same whatever is probed: it is
 * worked out once a search, as far as it is asked for. Their queues are siblings, so that the next
 * victim is the last in line of the leaf that would be worst off, which KAI's heaps would give as
 * well.
 */
#include "flat_int.h"

#include <string.h>

bool orr_flat__is_usable(const struct orr_victim_search *search)
{
    return search->refuter.flat != NULL && search->recorded.count == 0;
}

/* --- the order of victims --- */

static uint32_t contender_of(const struct orr_flat *f, uint32_t leaf)
{
    return f->line[f->leaves[leaf].first + f->state->sources[leaf].left - 1];
}

/* What KAI's victim queues count of it: a contender that only waits for its place holds nothing. */
static void give(const struct orr_contender *contender, struct orr_demand *given)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !contender->pipelined; kind++) {
        given->v[kind] += contender->demand.v[kind];
    }
}

/* The next victim is given up with those before it. */
static void give_next(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_source *source = &f->state->sources[leaf];
    give(&f->contenders[contender_of(f, leaf)], &source->given);
    source->rank.share_after =
        orr_queue_share_without(search->session, f->leaves[leaf].queue, &source->given);
}

/* The first of the open leaves goes where it belongs among the others, which are in order. */
static void sink(const struct orr_victim_search *search)
{
    struct orr_flat_state *state = search->refuter.flat->state;
    const uint32_t leaf = state->open[0];
    uint32_t at = 0;
    while (at + 1 < state->open_count &&
           orr_queue_compare_ranks(search->session, &state->sources[leaf].rank,
                                   &state->sources[state->open[at + 1]].rank) < 0) {
        state->open[at] = state->open[at + 1];
        at++;
    }
    state->open[at] = leaf;
}

/* The preemptor is in line, but is no victim. */
static bool has_victim(const struct orr_flat *f, uint32_t leaf)
{
    struct orr_flat_source *source = &f->state->sources[leaf];
    source->left -= source->left > 0 && contender_of(f, leaf) == 0;
    return source->left > 0;
}

static void open_sources(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_state *state = f->state;
    for (uint32_t s = 0; s < f->contender_count; s++) {
        state->sources[f->contenders[s].leaf].left++;
    }
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        if (has_victim(f, t)) {
            const struct orr_queue_claim claim = {.queue = f->leaves[t].queue};
            orr_queue_rank_of(search->session, &claim, &state->sources[t].rank);
            give_next(search, t);
            memmove(state->open + 1, state->open, state->open_count++ * sizeof *state->open);
            state->open[0] = t;
            sink(search);
        }
    }
}

void orr_flat__make_state(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    const uint32_t nodes = search->session->node_count;
    struct orr_flat_state *state = orr_arena_alloc(f->arena, 1, sizeof *state);
    f->state = state;
    state->sources = orr_arena_alloc(f->arena, f->leaf_count, sizeof *state->sources);
    state->open = orr_arena_take(f->arena, f->leaf_count, sizeof *state->open);
    state->victims = orr_arena_take(f->arena, f->contender_count, sizeof *state->victims);
    state->gangs = orr_arena_take(f->arena, f->contender_count, sizeof *state->gangs);
    state->taken = orr_arena_take(f->arena, f->contender_count, sizeof *state->taken);
    state->gangs_on = orr_arena_take(f->arena, nodes, sizeof *state->gangs_on);
    state->extra = orr_arena_alloc(f->arena, nodes, sizeof *state->extra);
    open_sources(search);
    uint32_t tasks = 0; /* all may become potential victims */
    for (uint32_t s = 1; s < f->contender_count; s++) {
        tasks += f->contenders[s].tasks;
    }
    search->potential =
        (struct orr_victims){.items = orr_alloc(tasks + (size_t)1, sizeof *search->potential.items),
                             .capacity = tasks + 1};
}

/* The contender after those looked at so far, or ORR_NONE. */
static uint32_t next_contender(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_state *state = f->state;
    const uint32_t nth = state->looked_at++;
    if (nth < state->victim_count) {
        return state->victims[nth];
    }
    if (state->open_count == 0) {
        return ORR_NONE;
    }
    const uint32_t leaf = state->open[0];
    const uint32_t contender = contender_of(f, leaf);
    state->victims[state->victim_count++] = contender;
    state->sources[leaf].left--;
    if (has_victim(f, leaf)) {
        give_next(search, leaf);
        sink(search);
    } else {
        memmove(state->open, state->open + 1, --state->open_count * sizeof *state->open);
    }
    return contender;
}

/* --- those accumulated --- */

void orr_flat__start_state(const struct orr_victim_search *search)
{
    struct orr_flat_state *state = search->refuter.flat->state;
    const uint32_t nodes = search->session->node_count;
    state->all_first = true;
    state->sizes = (struct orr_sizes){0};
    state->gang_count = state->looked_at = 0;
    state->changes++; /* no window is filled */
    memset(state->gangs_on, 0, nodes * sizeof *state->gangs_on);
}

static void add_victim(struct orr_victim_search *search, const struct orr_contender *contender,
                       uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    struct orr_flat_state *state = search->refuter.flat->state;
    const uint32_t node = orr_flat__node(search->session, contender, nth);
    const uint32_t before = orr_capacities_nth(c, node);
    const uint32_t room = c->since[node] == 0 ? 0 : (uint32_t)(c->with[node] / ORR_MGPU);
    const int64_t gpus = orr_flat__gpus(search->session, contender, nth);
    orr_victim__add_potential(search,
                              &(struct orr_victim){.task = contender->first_task + nth,
                                                   .group = search->steps,
                                                   .node = node,
                                                   .job = contender->job},
                              gpus * ORR_MGPU);
    state->gangs_on[node] += contender->tasks > 1;
    if (search->generator == ORR_MULTI_NODE_GANG) {
        orr_flat__follow(search, room, before);
    }
}

bool orr_flat__take_next(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_state *state = f->state;
    uint32_t index;
    do { /* who is recorded brings nothing new */
        index = next_contender(search);
        if (index == ORR_NONE) {
            return false;
        }
    } while (search->recorded.count > 0 && search->is_recorded[f->contenders[index].first_task]);
    const struct orr_contender *contender = &f->contenders[index];
    if (contender->tasks == 1) {
        add_victim(search, contender, 0);
    } else {
        struct orr_task_list tasks = {0};
        (void)orr_jobview_to_evict(search->session, orr_jobview_whole(contender->job), &tasks);
        for (uint32_t i = 0; i < tasks.count; i++) {
            add_victim(search, contender, tasks.tasks[i] - contender->first_task);
        }
        orr_task_list_release(&tasks);
        state->gangs[state->gang_count++] = index;
    }
    state->all_first = state->all_first && f->leaves[contender->leaf].served_first;
    orr_flat__count_size(&state->sizes, contender);
    search->steps++;
    return true;
}

bool orr_flat__gang_is_on(const struct orr_victim_search *search, uint32_t index, uint32_t from,
                          uint32_t to)
{
    const struct orr_contender *gang = &search->refuter.flat->contenders[index];
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_flat__node(search->session, gang, t);
        const uint32_t at = search->capacities.at[node];
        if (at >= from && at < to) {
            return true;
        }
    }
    return false;
}

static bool all_come_before(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    return f->state->all_first && f->whole_in_all < orr_flat__needed(f);
}

bool orr_flat__refute_state(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    return all_come_before(search) && orr_flat__leave_nothing(f, &f->state->sizes);
}

bool orr_flat__refute_node(const struct orr_victim_search *search, uint32_t node)
{
    return all_come_before(search) && search->refuter.flat->state->gangs_on[node] == 0;
}
