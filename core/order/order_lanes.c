/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An order over the backlog: leaves take their jobs from lanes.
 *
 * Pop returns jobs of open lanes alone and passes over those of closed ones. The heaps of queues go
 * through the same states as if all jobs were popped one by one:
 *
 *   - Popping a job that is then passed over changes its leaf's head and flags the way to the root,
 *     nothing else.
 *   - A flagged queue at the top is compared with those below it. If the whole way to the leaf was
 *     compared so and nobody moved, the queues on it are not behind their siblings with this head.
 *   - A head that asks no more of any resource ranks no worse in each of these comparisons (every
 *     step of the queue comparator that looks at the job is monotone in it), so that again nobody
 *     moves and it is popped next. It may be taken at once, and so may the job after it.
 *
 * What a leaf was compared with is kept in `compared_demands` as long as it stays on top.
 *
 * KAI compares jobs as they are, where they lie in its heaps. So a lane cannot hold a job that
 * loses tasks to a search while it waits for more: all jobs of its queue that are left are put into
 * the heap in which they would lie by then, and are popped from there.
 *
 * If only one lane is open, its first job is the first that pop returns, whatever the heaps look
 * like, and mostly there is no second pop. The heaps are made at the second one, with what queues
 * held when the order was started.
 */
#include "order_int.h"

/* Negative: all jobs of lane `a` go before those of lane `b`; 0: age and name of the jobs decide.
 */
static int compare_lanes(const struct orr_order *order, uint32_t a, uint32_t b)
{
    const struct orr_backlog *backlog = order->session->backlog;
    const struct orr_lane *l = &backlog->lanes[a];
    const struct orr_lane *r = &backlog->lanes[b];
    if (order->session->rules.priority && l->priority != r->priority) {
        return l->priority > r->priority ? -1 : 1;
    }
    const int state_l = backlog->classes[l->of_class].elastic_state;
    const int state_r = backlog->classes[r->of_class].elastic_state;
    return order->session->rules.elastic ? state_l - state_r : 0;
}

/* The first job of the lane that comes after what the leaf gave last. */
static uint32_t advance(struct orr_order *order, uint32_t index, const struct orr_lane_head *last)
{
    const struct orr_lane *lane = &order->session->backlog->lanes[index];
    uint32_t low = order->cursor[index];
    if (last->lane == ORR_NONE || low == lane->end) {
        return low;
    }
    const int sign = compare_lanes(order, index, last->lane);
    if (sign > 0 || (sign == 0 && orr_lane_item_compare(&lane->items[low], &last->item) > 0)) {
        return low;
    }
    uint32_t high = lane->end;
    if (sign < 0) {
        low = high;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (orr_lane_item_compare(&lane->items[middle], &last->item) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    order->cursor[index] = low;
    return low;
}

bool orr_order__is_passed_over(const struct orr_order *order, const struct orr_demand *demand)
{
    for (uint32_t i = 0; i < order->compared_count; i++) {
        if (orr_demand_at_most(demand, &order->compared_demands[i])) {
            return true;
        }
    }
    return false;
}

/* Are the lane's jobs left out of the order? */
static bool leaves_out(const struct orr_order *order, const struct orr_lane *lane)
{
    return (order->preemptible_only && !lane->preemptible) ||
           (order->undelayed_only && lane->delayed);
}

void orr_order__find_head(struct orr_order *order, struct orr_order_node *leaf, bool skip)
{
    const struct orr_backlog *backlog = order->session->backlog;
    const struct orr_backlog_leaf *lanes = &backlog->leaves[leaf->queue];
    const struct orr_lane_head last = leaf->head;
    uint32_t best = ORR_NONE;
    uint32_t best_at = 0;
    for (uint32_t i = 0; i < lanes->count; i++) {
        const uint32_t index = lanes->lanes[i];
        const struct orr_lane *lane = &backlog->lanes[index];
        if (leaves_out(order, lane)) {
            continue;
        }
        if (skip && !order->open[index] &&
            orr_order__is_passed_over(order, &backlog->classes[lane->of_class].demand)) {
            continue;
        }
        const uint32_t at = advance(order, index, &last);
        if (at == lane->end) {
            continue;
        }
        if (best != ORR_NONE) {
            int sign = compare_lanes(order, index, best);
            if (sign == 0) {
                sign =
                    orr_lane_item_compare(&lane->items[at], &backlog->lanes[best].items[best_at]);
            }
            if (sign > 0) {
                continue;
            }
        }
        best = index;
        best_at = at;
    }
    leaf->head.lane = best;
    if (best != ORR_NONE) {
        const struct orr_lane *lane = &backlog->lanes[best];
        const struct orr_class *class = &backlog->classes[lane->of_class];
        leaf->head.item = lane->items[best_at];
        leaf->head.entry = (struct orr_order_entry){.view = orr_jobview_whole(leaf->head.item.job),
                                                    .elastic_state = class->elastic_state,
                                                    .demand = class->demand};
    }
}

struct orr_order *orr_order_over(struct orr_session *session, bool simulate, bool preemptible_only)
{
    struct orr_backlog *backlog = session->backlog;
    struct orr_order *order = &backlog->order;
    if (order->session == NULL) {
        orr_order_init(order, session, false, simulate);
        order->held_at_start = orr_alloc(session->queue_count, sizeof *order->held_at_start);
    }
    orr_order_restart(order);
    order->simulate = simulate;
    order->open_count = 0;
    order->preemptible_only = preemptible_only;
    order->undelayed_only = simulate;
    if (order->lane_capacity < backlog->lane_count) {
        order->lane_capacity = backlog->lane_capacity;
        order->cursor = orr_realloc(order->cursor, order->lane_capacity, sizeof *order->cursor);
        order->open = orr_realloc(order->open, order->lane_capacity, sizeof *order->open);
        order->in_open_lanes =
            orr_realloc(order->in_open_lanes, order->lane_capacity, sizeof *order->in_open_lanes);
        order->open_lanes =
            orr_realloc(order->open_lanes, order->lane_capacity, sizeof *order->open_lanes);
    }
    for (uint32_t i = 0; i < backlog->filled_count; i++) {
        const uint32_t l = backlog->filled[i];
        order->cursor[l] = backlog->lanes[l].first;
        order->open[l] = order->in_open_lanes[l] = false;
    }
    return order;
}

void orr_order_open_lane(struct orr_order *order, uint32_t lane)
{
    if (order->open[lane]) {
        return;
    }
    orr_order__make_heaps(order);
    order->open[lane] = true;
    if (!order->in_open_lanes[lane]) {
        order->in_open_lanes[lane] = true;
        order->open_lanes[order->open_count++] = lane;
    }
}

void orr_order_close_lane(struct orr_order *order, uint32_t lane)
{
    order->open[lane] = false;
}

/* Queues by age; a leaf's first job decides where it is inserted. */
static void build_heaps(struct orr_order *order)
{
    const struct orr_backlog *backlog = order->session->backlog;
    for (uint32_t i = 0; i < backlog->queue_count; i++) {
        const uint32_t queue = backlog->by_age[i];
        if (backlog->leaves[queue].count == 0) {
            continue;
        }
        const uint32_t leaf = orr_order__new_node(order, queue, ORR_NONE);
        orr_order__find_head(order, &order->nodes[leaf], false);
        if (order->nodes[leaf].head.lane == ORR_NONE) {
            order->node_count--;
            continue;
        }
        order->node_of_queue[queue] = leaf;
        orr_order__link(order, leaf);
    }
}

void orr_order_start(struct orr_order *order)
{
    const struct orr_session *session = order->session;
    if (order->open_count != 1) {
        build_heaps(order);
        return;
    }
    order->only_lane = order->open_lanes[0];
    order->only_lane_popped = false;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        memcpy(order->held_at_start[q], session->queues[q].allocated,
               sizeof order->held_at_start[q]);
    }
}

/* The heaps as they are once the only open lane's first job was popped and nothing changed yet. */
void orr_order__make_heaps(struct orr_order *order)
{
    const uint32_t lane = order->only_lane;
    if (lane == ORR_NONE) {
        return;
    }
    const bool open = order->open[lane];
    struct orr_jobview first;
    order->only_lane = ORR_NONE;
    order->open[lane] = true;
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])order->held_at_start;
    build_heaps(order);
    if (order->only_lane_popped) {
        (void)orr_order_pop(order, &first);
    }
    order->hypothetical = NULL;
    order->open[lane] = open;
    for (uint32_t n = 0; n < order->node_count; n++) {
        order->nodes[n].ranked_at = ORR_ORDER_UNRANKED;
    }
}

bool orr_order__pop_only_lane(struct orr_order *order, struct orr_jobview *view)
{
    const uint32_t lane = order->only_lane;
    if (lane == ORR_NONE || !order->open[lane]) {
        return false;
    }
    if (order->only_lane_popped) {
        orr_order__make_heaps(order);
        return false;
    }
    const struct orr_lane *of = &order->session->backlog->lanes[lane];
    *view = orr_jobview_whole(of->items[of->first].job);
    order->only_lane_popped = true;
    return true;
}

/* --- jobs that lose tasks while they wait --- */

static struct orr_order_entry entry_of(const struct orr_backlog *backlog, uint32_t job)
{
    const struct orr_class *class =
        &backlog->classes[backlog->lanes[backlog->lane_of_job[job]].of_class];
    return (struct orr_order_entry){.view = orr_jobview_whole(job),
                                    .elastic_state = class->elastic_state,
                                    .demand = class->demand};
}

/* The heap of the leaf's jobs as it was built, with those popped so far taken from it. */
static void leave_lanes(struct orr_order *order, struct orr_order_node *leaf)
{
    const struct orr_backlog *backlog = order->session->backlog;
    const struct orr_backlog_leaf *lanes = &backlog->leaves[leaf->queue];
    ORR_ASSERT(leaf->job_count == 0);
    for (uint32_t i = 0; i < lanes->count; i++) {
        const struct orr_lane *lane = &backlog->lanes[lanes->lanes[i]];
        const bool left_out = leaves_out(order, lane);
        for (uint32_t at = lane->first; at < lane->end && !left_out; at++) {
            leaf->jobs = ORR_ROOM_FOR_ONE(leaf->jobs, leaf->job_count, leaf->job_capacity);
            leaf->jobs[leaf->job_count++] = entry_of(backlog, lane->items[at].job);
        }
    }
    orr_order_sort(order, leaf->jobs, leaf->job_count);
    uint32_t popped = orr_order__place_for(order, leaf->jobs, leaf->job_count, &leaf->head.entry);
    for (; popped > 0; popped--) {
        orr_order__drop_first(order, leaf);
    }
    leaf->head.lane = ORR_NONE;
    order->pushed += leaf->job_count;
}

/* Is the job's turn in its lane still to come? */
static bool is_ahead(const struct orr_order *order, uint32_t job)
{
    const struct orr_session *session = order->session;
    const uint32_t leaf = order->node_of_queue[session->jobs[job].queue];
    if (leaf == ORR_NONE || order->nodes[leaf].head.lane == ORR_NONE ||
        leaves_out(order, &session->backlog->lanes[session->backlog->lane_of_job[job]])) {
        return false;
    }
    const struct orr_order_entry entry = entry_of(session->backlog, job);
    return orr_order_compare_jobs(session, &entry, &order->nodes[leaf].head.entry) >= 0;
}

void orr_order__leave_lanes(struct orr_order *order)
{
    const struct orr_session *session = order->session;
    const struct orr_backlog *backlog = session->backlog;
    for (uint32_t i = 0; i < session->changed_count && backlog->partial_count > 0; i++) {
        const uint32_t job = session->changed_jobs[i];
        if (backlog->lane_of_job[job] == ORR_NONE || orr_backlog_matches_lane(session, job)) {
            continue;
        }
        if (order->only_lane != ORR_NONE) {
            const struct orr_lane *lane = &backlog->lanes[order->only_lane];
            if (order->only_lane_popped && lane->items[lane->first].job == job) {
                continue; /* popped, and nothing else was */
            }
            orr_order__make_heaps(order);
        }
        if (is_ahead(order, job)) {
            leave_lanes(order, &order->nodes[order->node_of_queue[session->jobs[job].queue]]);
        }
    }
}

bool orr_order__any_open(struct orr_order *order)
{
    const struct orr_backlog *backlog = order->session->backlog;
    while (order->pushed == 0 && order->open_count > 0) {
        const uint32_t index = order->open_lanes[order->open_count - 1];
        const uint32_t leaf = order->node_of_queue[backlog->lanes[index].queue];
        if (order->open[index] && leaf != ORR_NONE) {
            /* The head itself is not taken yet. */
            const struct orr_lane_head *head = &order->nodes[leaf].head;
            if (head->lane == index || (head->lane != ORR_NONE &&
                                        advance(order, index, head) < backlog->lanes[index].end)) {
                return true;
            }
        }
        order->in_open_lanes[index] = false;
        order->open_count--;
    }
    return order->pushed > 0;
}
