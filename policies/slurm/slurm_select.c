/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_select.c - the nodes of a job: each group of its tasks in its turn, all or none.
 *
 * Parts of a gang, levels of the topology, pods that come and go and tasks that
 * share a GPU are unknown to Slurm: orr_place_next finds their nodes. */
#include "slurm_int.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A job that wants fewer leaf switches waits for them as long as it asked to. */
static bool waits_for_fewer_switches(const struct slurm *slurm, const struct orr_view *view,
                                     uint32_t job, const struct slurm_search *search)
{
    const struct slurm_job *j = &slurm->jobs[job];
    return !slurm->ever && j->switches > 0 && search->leaves > j->switches &&
           view->now < j->submit_ms + j->switch_wait_ms;
}

static bool find_group(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                       const struct slurm_partition *partition, const uint64_t *usable,
                       const struct orr_room *rooms, const struct slurm_want *want)
{
    struct slurm_search search = {.candidates = slurm->candidates,
                                  .all = slurm->candidates + view->cluster->node_count,
                                  .lln = slurm->conf.lln || partition->lln,
                                  .seats = &slurm->seats};
    orr_slurm__list_candidates(slurm, view, usable, rooms, want, &search);
    bool found = search.count >= want->min_nodes && search.count > 0;
    if (found) {
        found = slurm->conf.switch_count > 0 ? orr_slurm__find_in_tree(slurm, &search, want)
                                             : orr_slurm__find(&search, want);
        found = found && !waits_for_fewer_switches(slurm, view, job, &search);
    }
    return found;
}

struct slurm_want orr_slurm__want(const struct slurm *slurm, const struct orr_view *view,
                                  uint32_t job, const struct slurm_partition *partition,
                                  uint32_t group)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    const struct slurm_job *j = &slurm->jobs[job];
    const bool alone = shape->group_count == 1 && shape->sets == NULL;
    const int64_t tasks = view->specs[job].scales ? shape->min_tasks : shape->groups[group].count;
    int64_t from = alone ? j->min_nodes : 1;
    int64_t to = alone ? j->max_nodes : tasks;
    const bool at_least = !slurm_has_flag(&slurm->conf, j, SLURM_PART_MIN_NODES);
    from = alone && at_least && partition->min_nodes > from ? partition->min_nodes : from;
    from = from > tasks ? tasks : from; /* a node without a task is no use */
    to = slurm_has_flag(&slurm->conf, j, SLURM_PART_MAX_NODES) ? to
                                                               : least(to, partition->max_nodes);
    return (struct slurm_want){
        &shape->groups[group].request,       group, tasks, from, to > from ? to : from,
        j->exclusive || partition->exclusive};
}

/* Takes the rooms of seats from one to another, or gives them back. */
static void take_seats(struct slurm *slurm, const struct orr_shape *shape, struct orr_room *rooms,
                       uint32_t from, uint32_t to, int sign)
{
    for (uint32_t s = from; s < to; s++) {
        const struct slurm_seat *seat_ = &slurm->seats.seats[s];
        const struct orr_request *request = &shape->groups[seat_->group].request;
        const int64_t tasks = sign * (int64_t)seat_->tasks;
        if (rooms != NULL) {
            orr_slurm__take(&rooms[seat_->node], request, tasks);
        } else {
            orr_slurm__cap_take(slurm, seat_->node, request->cpu_milli * tasks);
        }
    }
}

bool orr_slurm__select(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                       const struct slurm_partition *partition, const uint64_t *usable,
                       struct orr_room *rooms)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    bool found = true;
    orr_slurm__keep_from(slurm, view, job, (uint32_t)(partition - slurm->conf.partitions));
    slurm->seats.count = 0;
    for (uint32_t g = 0; g < shape->group_count && found; g++) {
        const struct slurm_want want = orr_slurm__want(slurm, view, job, partition, g);
        const uint32_t first = slurm->seats.count;
        found = find_group(slurm, view, job, partition, usable, rooms, &want);
        if (found) {
            take_seats(slurm, shape, rooms, first, slurm->seats.count, 1);
            take_seats(slurm, shape, NULL, first, slurm->seats.count, 1);
        } else {
            slurm->seats.count = first;
            take_seats(slurm, shape, rooms, 0, first, -1);
        }
    }
    take_seats(slurm, shape, NULL, 0, slurm->seats.count, -1);
    return found;
}

static void copy_idle(struct slurm *slurm, const struct orr_view *view)
{
    memcpy(slurm->image, view->ledger->idle, view->cluster->node_count * sizeof *slurm->image);
}

/* Whole nodes count as what they have, as far as they say. */
static void add_whole_node(const struct orr_node_type *type, double *tres)
{
    const int64_t cpu = type->allocatable.v[ORR_RES_CPU], mem = type->allocatable.v[ORR_RES_MEMORY];
    tres[SLURM_CPU] += cpu < ORR_AMOUNT_UNLIMITED ? (double)(cpu / 1000) : 0;
    tres[SLURM_MEM] += mem < ORR_AMOUNT_UNLIMITED ? (double)mem / (double)ORR_MIB : 0;
}

void orr_slurm__amounts_of_seats(const struct slurm *slurm, const struct orr_view *view,
                                 uint32_t job, uint32_t partition, double *tres)
{
    const struct slurm_job *j = &slurm->jobs[job];
    const bool whole = j->exclusive || slurm->conf.partitions[partition].exclusive;
    double nodes = 0, all[SLURM_TRES_COUNT] = {0};
    for (uint32_t s = 0; s < slurm->seats.count; s++) {
        const uint32_t node = slurm->seats.seats[s].node;
        bool seen = false;
        for (uint32_t t = 0; t < s && !seen; t++) {
            seen = slurm->seats.seats[t].node == node;
        }
        nodes += !seen;
        if (whole && !seen) {
            add_whole_node(orr_cluster_type(view->cluster, node), all);
        }
    }
    memcpy(tres, j->tres, sizeof j->tres);
    tres[SLURM_NODE] = nodes > 0 ? nodes : tres[SLURM_NODE];
    for (int t = 0; t < SLURM_NODE; t++) {
        tres[t] = all[t] > tres[t] ? all[t] : tres[t];
    }
}

/* Core does not know of suspended jobs that get their CPUs back. */
static bool leaves_what_is_kept(const struct slurm *slurm, const struct orr_view *view,
                                const struct orr_placement *placement)
{
    const struct slurm_kept *kept = &slurm->kept[placement->node];
    const struct orr_shape *shape = slurm_shape(view, placement->job);
    return !slurm->kept_any ||
           (!kept->whole && (shape->groups[placement->group].request.cpu_milli == 0 ||
                             view->ledger->idle[placement->node].cpu_milli >= kept->cpu_milli));
}

/* Is what core chose within the usable nodes? Else it is taken back. */
static bool stays_within(const struct slurm *slurm, const struct orr_view *view,
                         struct orr_txn *txn, uint32_t job, const uint64_t *usable, uint32_t begin)
{
    bool within = true;
    for (uint32_t p = view->jobs[job].placement; within && p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        within = placement->since_ms != ORR_MS_NONE ||
                 (slurm_has(usable, placement->node) && slurm->exclusive[placement->node] == 0 &&
                  leaves_what_is_kept(slurm, view, placement));
    }
    within = within && orr_slurm__keeps_cap(slurm, view, job);
    if (!within) {
        orr_txn_rollback(txn, begin);
    }
    return within;
}

/* Core's choice among all nodes, and if that is none that may be used among those that may: nodes
 * that nobody holds whole, with the CPUs that are not kept from it. */
static bool place_by_core(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                          uint32_t job, const uint64_t *usable)
{
    const uint32_t begin = orr_txn_checkpoint(txn);
    if (orr_place_next(NULL, txn, view->ledger, job) != ORR_REASON_NONE) {
        return false;
    }
    if (stays_within(slurm, view, txn, job, usable, begin)) {
        return true;
    }
    int64_t *cpu_milli = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *cpu_milli);
    memcpy(slurm->roomy, usable, slurm->words * sizeof *usable);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const struct slurm_kept kept = slurm->kept_any ? slurm->kept[n] : (struct slurm_kept){0};
        if (slurm->exclusive[n] > 0 || kept.whole) {
            slurm->roomy[n >> 6] &= ~((uint64_t)1 << (n & 63));
        }
        cpu_milli[n] =
            orr_slurm__capped(slurm, n, view->ledger->idle[n].cpu_milli - kept.cpu_milli);
    }
    const struct orr_place_among among = {slurm->roomy, cpu_milli};
    const bool placed = orr_place_next_among(txn, view->ledger, job, &among) == ORR_REASON_NONE;
    orr_free(cpu_milli);
    return placed;
}

bool orr_slurm__select_now(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                           uint32_t job, const struct slurm_partition *partition,
                           const uint64_t *usable)
{
    if (slurm->jobs[job].core_placed) {
        orr_slurm__keep_from(slurm, view, job, (uint32_t)(partition - slurm->conf.partitions));
        return place_by_core(slurm, view, txn, job, usable);
    }
    copy_idle(slurm, view);
    if (!orr_slurm__select(slurm, view, job, partition, usable, slurm->image)) {
        return false;
    }
    const uint32_t begin = orr_txn_checkpoint(txn);
    for (uint32_t s = 0; s < slurm->seats.count; s++) {
        const struct slurm_seat *seat_ = &slurm->seats.seats[s];
        if (!orr_txn_place(txn, job, seat_->group, seat_->tasks, seat_->node)) {
            orr_txn_rollback(txn, begin);
            return false;
        }
    }
    return true;
}
