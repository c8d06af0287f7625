/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Potential victims of a flat world (flat.c): what is known at once of those on some of the nodes
 * as long as none are recorded. A step is a contender, whole.
 */
#include "flat_int.h"

#include <string.h>

bool orr_flat__is_usable(const struct orr_victim_search *search)
{
    return search->refuter.flat != NULL && search->recorded.count == 0;
}

/* The possible victims in their order, as they stand in line: the last of a leaf is its first
 * victim. */
static void prepare_order(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    search->prepared = orr_arena_take(f->arena, f->contender_count, sizeof *search->prepared);
    search->prepared_count = 0;
    for (uint32_t p = f->contender_count; p-- > 0;) {
        const struct orr_contender *contender = &f->contenders[f->line[p]];
        if (contender == f->contenders) {
            continue;
        }
        struct orr_order_entry *entry = &search->prepared[search->prepared_count++];
        *entry = (struct orr_order_entry){.view = orr_jobview_whole(contender->job)};
        /* KAI's victim queues count what jobs hold: nothing, while they only wait for their place
         */
        if (!contender->pipelined) {
            entry->demand = contender->demand;
        }
    }
}

void orr_flat__make_state(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    const uint32_t nodes = search->session->node_count;
    struct orr_flat_state *state = orr_arena_alloc(f->arena, 1, sizeof *state);
    f->state = state;
    state->gangs = orr_arena_take(f->arena, f->contender_count, sizeof *state->gangs);
    state->taken = orr_arena_take(f->arena, f->contender_count, sizeof *state->taken);
    state->gangs_on = orr_arena_take(f->arena, nodes, sizeof *state->gangs_on);
    state->extra = orr_arena_alloc(f->arena, nodes, sizeof *state->extra);
    prepare_order(search);
}

/* --- those accumulated --- */

void orr_flat__start_state(const struct orr_victim_search *search)
{
    struct orr_flat_state *state = search->refuter.flat->state;
    const uint32_t nodes = search->session->node_count;
    state->all_first = true;
    state->sizes = (struct orr_sizes){0};
    state->gang_count = 0;
    state->changes++; /* no window is filled */
    memset(state->gangs_on, 0, nodes * sizeof *state->gangs_on);
}

/* The victim is the first of its step. */
static void note_step(struct orr_flat *f, uint32_t index)
{
    const struct orr_contender *contender = &f->contenders[index];
    struct orr_flat_state *state = f->state;
    if (contender->tasks > 1) {
        state->gangs[state->gang_count++] = index;
    }
    state->all_first = state->all_first && f->leaves[contender->leaf].served_first;
    orr_flat__count_size(&state->sizes, contender);
}

void orr_flat__victim_added(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victim *last = &search->potential.items[search->potential.count - 1];
    const uint32_t index = search->session->jobs[last->job].contender;
    if (search->potential.count == 1 || last[-1].group != last->group) {
        note_step(f, index);
    }
    f->state->gangs_on[last->node] += f->contenders[index].tasks > 1;
    if (search->generator == ORR_MULTI_NODE_GANG) {
        const int64_t freed = orr_victim__freed(search->session, last->task);
        orr_flat__follow(
            search,
            last->before == ORR_NONE ? 0 : (uint32_t)((c->with[last->node] - freed) / ORR_MGPU),
            c->was);
    }
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
