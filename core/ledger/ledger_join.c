/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_join.c - placements on several nodes in a row.
 *
 * A gang of thousands of equal tasks on small nodes would leave one placement a node. Each is the
 * record of the run, so they stay to its end. A commit joins them where they are made; who needs a
 * node apart from the others parts them again. */
#include "ledger_int.h"

uint32_t orr_ledger__append(struct orr_ledger *ledger, const struct orr_placement *placement)
{
    ledger->placements =
        ORR_ROOM_FOR_ONE(ledger->placements, ledger->placement_count, ledger->placement_capacity);
    ledger->placements[ledger->placement_count] = *placement;
    ledger->jobs[placement->job].placement_count++;
    return ledger->placement_count++;
}

bool orr_placement_goes_on(const struct orr_cluster *cluster, const struct orr_placement *placement,
                           const struct orr_placement *next)
{
    return next->node == placement->node + placement->more_nodes + 1u &&
           next->job == placement->job && next->group == placement->group &&
           next->attempt == placement->attempt && next->devices == placement->devices &&
           next->since_ms == placement->since_ms && next->until_ms == placement->until_ms &&
           next->hold == placement->hold && next->cause == placement->cause &&
           next->more_nodes == 0 && placement->more_nodes < UINT16_MAX &&
           next->tasks == orr_placement_each(placement) &&
           cluster->nodes[next->node].type == cluster->nodes[placement->node].type;
}

/* One that can shrink is better off with a placement a node: each would be parted again. */
static bool can_shrink(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    return shape->min_tasks < shape->tasks || ledger->world.specs[job].scales;
}

void orr_ledger__join(struct orr_ledger *ledger, uint32_t first)
{
    uint32_t kept = first;
    for (uint32_t p = first; p < ledger->placement_count; p++) {
        struct orr_placement placement = ledger->placements[p];
        struct orr_job_state *state = &ledger->jobs[placement.job];
        struct orr_placement *last = &ledger->placements[kept - 1];
        if (kept > first && orr_placement_goes_on(ledger->world.cluster, last, &placement) &&
            !can_shrink(ledger, placement.job)) {
            last->tasks += placement.tasks;
            last->more_nodes++;
            state->placement_count--;
            continue;
        }
        /* the list of its job: after its first fresh placement it leads to where that is now */
        if (placement.next != ORR_NONE && placement.next >= first) {
            placement.next = state->placement;
        }
        ledger->placements[kept] = placement;
        state->placement = kept++;
    }
    ledger->placement_count = kept;
}

/* Is a placement on the node before this one, and on this one? */
static bool is_across(const struct orr_placement *placement, uint32_t node)
{
    return node > placement->node && orr_placement_is_on(placement, node);
}

/* Splits a placement there; what is from that node on comes before the rest in its job's list. */
static uint32_t cut(struct orr_ledger *ledger, uint32_t at, uint32_t node)
{
    struct orr_placement part = ledger->placements[at];
    const uint32_t nodes = node - part.node, each = orr_placement_each(&part);
    part.node = node;
    part.more_nodes = (uint16_t)(part.more_nodes - nodes);
    part.tasks = each * (part.more_nodes + 1u);
    part.next = at;
    const uint32_t fresh = orr_ledger__append(ledger, &part);
    struct orr_placement *rest = &ledger->placements[at];
    rest->more_nodes = (uint16_t)(nodes - 1);
    rest->tasks = each * nodes;
    return fresh;
}

uint32_t orr_ledger__cut(struct orr_ledger *ledger, uint32_t job, uint32_t node, uint32_t *rest)
{
    struct orr_job_state *state = &ledger->jobs[job];
    uint32_t last = ORR_NONE;
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        if (is_across(&ledger->placements[p], node)) {
            const uint32_t fresh = cut(ledger, p, node);
            *(last == ORR_NONE ? &state->placement : &ledger->placements[last].next) = fresh;
            *rest = p;
            return fresh;
        }
        last = p;
    }
    return ORR_NONE;
}

void orr_ledger__uncut(struct orr_ledger *ledger, uint32_t fresh, uint32_t rest)
{
    ORR_ASSERT(fresh == ledger->placement_count - 1);
    const struct orr_placement *part = &ledger->placements[fresh];
    struct orr_job_state *state = &ledger->jobs[part->job];
    uint32_t *to = &state->placement;
    while (*to != fresh) {
        to = &ledger->placements[*to].next;
    }
    *to = part->next;
    ledger->placements[rest].tasks += part->tasks;
    ledger->placements[rest].more_nodes =
        (uint16_t)(ledger->placements[rest].more_nodes + part->more_nodes + 1u);
    state->placement_count--;
    ledger->placement_count--;
}

void orr_ledger_part(struct orr_ledger *ledger, uint32_t job, uint32_t node, uint32_t count)
{
    const uint32_t edges[] = {node + count, node};
    uint32_t rest;
    for (uint32_t e = 0; e < 2; e++) {
        while (orr_ledger__cut(ledger, job, edges[e], &rest) != ORR_NONE) {
        }
    }
}
