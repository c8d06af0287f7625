/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_select.c - which nodes: select/cons_tres with best fit over runs of
 * consecutive nodes.
 *
 * Of the nodes that can take a task of the job, those of the lowest weight come
 * first; consecutive ones of equal weight are a run. A run that is enough for
 * the job goes before one that is not, the tightest first; of those that are
 * not enough the largest. In a run one node that takes all that is left goes
 * before several, the one with the fewest free CPUs; else nodes are filled in
 * their order.
 *
 * Parts of a gang, levels of the topology, pods that come and go and tasks that
 * share a GPU are unknown to Slurm: orr_place_next finds their nodes. A job of
 * several groups of tasks has each placed in its turn, all or none. */
#include "slurm_int.h"

#include <string.h>

/* --- rooms --- */

static struct orr_room full_room(const struct orr_node_type *type)
{
    const struct orr_amounts *all = &type->allocatable, *foreign = &type->foreign;
    const int64_t pods = all->v[ORR_RES_PODS] - foreign->v[ORR_RES_PODS];
    return (struct orr_room){all->v[ORR_RES_CPU] - foreign->v[ORR_RES_CPU],
                             all->v[ORR_RES_MEMORY] - foreign->v[ORR_RES_MEMORY],
                             (int32_t)orr_node_type_own_gpus(type),
                             pods > INT32_MAX ? INT32_MAX : (int32_t)pods};
}

static bool admits(const struct slurm *slurm, const struct orr_view *view, uint32_t node,
                   const struct orr_request *request)
{
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    return type->shard == request->shard && (slurm->ever || !view->ledger->down[node]) &&
           (request->gpu_model == ORR_NONE || request->gpu_model == type->gpu_model) &&
           orr_cluster_admits(view->cluster, request->selector, node) &&
           orr_cluster_admits(view->cluster, request->toleration, node) &&
           orr_cluster_admits(view->cluster, request->allowed, node);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tasks_in(const struct orr_room *room, const struct orr_request *request)
{
    int64_t tasks = room->pods;
    tasks = request->cpu_milli > 0 ? least(tasks, room->cpu_milli / request->cpu_milli) : tasks;
    tasks = request->mem_bytes > 0 ? least(tasks, room->mem_bytes / request->mem_bytes) : tasks;
    tasks = request->devices > 0 ? least(tasks, room->gpus / (int64_t)request->devices) : tasks;
    return tasks > 0 ? tasks : 0;
}

static void take(struct orr_room *room, const struct orr_request *request, int64_t tasks)
{
    room->cpu_milli -= request->cpu_milli * tasks;
    room->mem_bytes -= request->mem_bytes * tasks;
    room->gpus -= (int32_t)(request->devices * tasks);
    room->pods -= (int32_t)tasks;
}

static bool is_idle(const struct orr_view *view, uint32_t node, const struct orr_room *room)
{
    const struct orr_room full = full_room(orr_cluster_type(view->cluster, node));
    return room->cpu_milli == full.cpu_milli && room->mem_bytes == full.mem_bytes &&
           room->gpus == full.gpus;
}

/* --- candidates --- */

static void add_seat(struct slurm_seats *seats, uint32_t node, uint32_t group, int64_t tasks)
{
    seats->seats = ORR_ROOM_FOR_ONE(seats->seats, seats->count, seats->capacity);
    seats->seats[seats->count++] = (struct slurm_seat){node, group, (uint32_t)tasks};
}

static struct slurm_candidate candidate_of(const struct slurm *slurm, const struct orr_view *view,
                                           uint32_t node, const struct orr_room *room,
                                           const struct slurm_want *want)
{
    const struct orr_request *request = want->request;
    const struct orr_node_type *type = orr_cluster_type(view->cluster, node);
    const bool counts_cpus =
        request->cpu_milli > 0 && type->allocatable.v[ORR_RES_CPU] < ORR_AMOUNT_UNLIMITED;
    const struct orr_room full = full_room(type);
    int64_t weight = slurm->conf.weight[node] * 256 + 255;
    if (request->devices > 0) { /* nodes that give more of the GPUs it asks go first */
        const int64_t asked = want->tasks * (int64_t)request->devices;
        weight -= least(least(room->gpus, asked), 255);
    }
    return (struct slurm_candidate){
        node, tasks_in(room, request), counts_cpus ? room->cpu_milli : tasks_in(room, request),
        counts_cpus ? full.cpu_milli : tasks_in(&full, request), weight};
}

static void list_candidates(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            const struct slurm_partition *partition, const uint64_t *usable,
                            const struct orr_room *rooms, const struct slurm_want *want,
                            struct slurm_search *search)
{
    const bool whole = slurm->jobs[job].exclusive || partition->exclusive;
    search->count = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        for (uint64_t bits = usable[w]; bits != 0; bits &= bits - 1) {
            const uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!admits(slurm, view, node, want->request) || slurm->exclusive[node] > 0 ||
                (whole && !is_idle(view, node, &rooms[node]))) {
                continue;
            }
            const struct slurm_candidate found =
                candidate_of(slurm, view, node, &rooms[node], want);
            if (found.tasks > 0) {
                search->candidates[search->count++] = found;
            }
        }
    }
}

/* --- best fit --- */

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
            c->node != search->candidates[from].node + (i - from)) {
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
            orr_slurm__seat(search, i, want->group, &left);
        }
    }
    return left.tasks <= 0 && left.nodes <= 0;
}

/* Again without the nodes that take the fewest tasks, as long as there are
 * enough. */
static bool find_without_small(struct slurm_search *search, const struct slurm_want *want)
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

/* A job that wants fewer leaf switches waits for them as long as it said. */
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
    list_candidates(slurm, view, job, partition, usable, rooms, want, &search);
    bool found = search.count >= want->min_nodes && search.count > 0;
    if (found) {
        found = slurm->conf.switch_count > 0 ? orr_slurm__find_in_tree(slurm, &search, want)
                                             : find_without_small(&search, want);
        found = found && !waits_for_fewer_switches(slurm, view, job, &search);
    }
    return found;
}

static struct slurm_want want_of(const struct slurm *slurm, const struct orr_view *view,
                                 uint32_t job, const struct slurm_partition *partition,
                                 uint32_t group)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    const struct slurm_job *j = &slurm->jobs[job];
    const bool alone = shape->group_count == 1 && shape->sets == NULL;
    const int64_t tasks = view->specs[job].scales ? shape->min_tasks : shape->groups[group].count;
    int64_t from = alone ? j->min_nodes : 1;
    int64_t to = alone ? j->max_nodes : tasks;
    from = alone && partition->min_nodes > from ? partition->min_nodes : from;
    from = from > tasks ? tasks : from; /* a node without a task is no use */
    to = least(to, partition->max_nodes);
    return (struct slurm_want){&shape->groups[group].request, group, tasks, from,
                               to > from ? to : from};
}

bool orr_slurm__select(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                       const struct slurm_partition *partition, const uint64_t *usable,
                       struct orr_room *rooms)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    slurm->seats.count = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct slurm_want want = want_of(slurm, view, job, partition, g);
        const uint32_t first = slurm->seats.count;
        const bool found = find_group(slurm, view, job, partition, usable, rooms, &want);
        for (uint32_t s = first; found && s < slurm->seats.count; s++) {
            take(&rooms[slurm->seats.seats[s].node], want.request, slurm->seats.seats[s].tasks);
        }
        if (!found) {
            for (uint32_t s = 0; s < first; s++) {
                const struct slurm_seat *seat_ = &slurm->seats.seats[s];
                take(&rooms[seat_->node], &shape->groups[seat_->group].request,
                     -(int64_t)seat_->tasks);
            }
            return false;
        }
    }
    return true;
}

/* Whole devices that the job asks, and that rooms have on the usable nodes. */
static int64_t devices_asked(const struct orr_shape *shape)
{
    int64_t devices = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        devices += (int64_t)shape->groups[g].count * shape->groups[g].request.devices;
    }
    return devices;
}

static int64_t devices_free(const struct slurm *slurm, const uint64_t *usable,
                            const struct orr_room *rooms)
{
    int64_t devices = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        for (uint64_t bits = usable[w]; bits != 0; bits &= bits - 1) {
            devices += rooms[w * 64 + (uint32_t)__builtin_ctzll(bits)].gpus;
        }
    }
    return devices;
}

/* --- now --- */

static void copy_idle(struct slurm *slurm, const struct orr_view *view)
{
    memcpy(slurm->image, view->ledger->idle, view->cluster->node_count * sizeof *slurm->image);
}

/* Core's choice, if it stays within the usable nodes. */
static bool place_by_core(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                          uint32_t job, const uint64_t *usable)
{
    const uint32_t begin = orr_txn_checkpoint(txn);
    bool within = orr_place_next(NULL, txn, view->ledger, job) == ORR_REASON_NONE;
    for (uint32_t p = view->jobs[job].placement; within && p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        within = placement->since_ms != ORR_MS_NONE ||
                 (slurm_has(usable, placement->node) && slurm->exclusive[placement->node] == 0);
    }
    if (!within) {
        orr_txn_rollback(txn, begin);
    }
    return within;
}

bool orr_slurm__select_now(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                           uint32_t job, const struct slurm_partition *partition,
                           const uint64_t *usable)
{
    if (slurm->jobs[job].core_placed) {
        return place_by_core(slurm, view, txn, job, usable);
    }
    if (devices_free(slurm, usable, view->ledger->idle) < devices_asked(slurm_shape(view, job))) {
        return false;
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

bool orr_slurm__select_ever(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition)
{
    uint32_t *held = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *held);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->image[n] = full_room(orr_cluster_type(view->cluster, n));
        held[n] = slurm->exclusive[n];
        slurm->exclusive[n] = 0;
    }
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    slurm->ever = true;
    const bool found = orr_slurm__select(slurm, view, job, p, p->nodes, slurm->image);
    slurm->ever = false;
    memcpy(slurm->exclusive, held, view->cluster->node_count * sizeof *held);
    orr_free(held);
    return found;
}

/* --- later --- */

/* A device that tasks share is not counted as free when one of them ends: the
 * estimate is late. */
static void give(struct orr_room *room, const struct orr_request *request, int64_t tasks)
{
    struct orr_request whole = *request;
    whole.devices = request->gpu_ask == ORR_GPU_WHOLE ? request->devices : 0;
    take(room, &whole, -tasks);
}

/* Adds what a running job holds on usable nodes to the image; false: it holds
 * nothing there. */
static bool remove_job(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                       const uint64_t *usable)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    const struct orr_ledger *ledger = view->ledger;
    bool any = false;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const int64_t each = orr_placement_each(placement);
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            any = any || slurm_has(usable, n);
            give(&slurm->image[n], &shape->groups[placement->group].request, each);
        }
    }
    return any;
}

void orr_slurm__remove_job(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    (void)remove_job(slurm, view, job, slurm->left);
}

/* The next multiple of 30 s of the epoch, or the time itself. */
static orr_ms up_to_30_s(const struct orr_view *view, orr_ms at)
{
    const orr_ms step = 30000, epoch = at + view->epoch_ms;
    const orr_ms over = ((epoch % step) + step) % step;
    return over == 0 ? at : at + step - over;
}

/* Removes the jobs of one window from the image. *last: when the last of them
 * ends; ORR_MS_NEVER: nobody was left to remove. */
static uint32_t remove_window(struct slurm *slurm, const struct orr_view *view, uint32_t from,
                              const uint64_t *usable, orr_ms window, orr_ms *last)
{
    orr_ms until = ORR_MS_NEVER;
    *last = ORR_MS_NEVER;
    uint32_t r = from;
    for (uint32_t removed = 0; r < slurm->running_count && removed <= 200; r++) {
        const uint32_t other = slurm->running[r];
        const orr_ms end = slurm->jobs[other].end_ms;
        if (end >= ORR_MS_NEVER / 2) { /* this one and those behind it never end */
            return slurm->running_count;
        }
        if (end > until) {
            break;
        }
        if (remove_job(slurm, view, other, usable)) {
            until = removed++ == 0 ? up_to_30_s(view, end) + window : until;
            *last = end;
        }
    }
    return r;
}

orr_ms orr_slurm__will_run(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable)
{
    const int64_t asked = devices_asked(slurm_shape(view, job));
    copy_idle(slurm, view);
    if (devices_free(slurm, usable, slurm->image) >= asked &&
        orr_slurm__select(slurm, view, job, partition, usable, slurm->image)) {
        return view->now;
    }
    orr_ms window = 30000, last = view->now;
    for (uint32_t r = 0; r < slurm->running_count && last < ORR_MS_NEVER;) {
        r = remove_window(slurm, view, r, usable, window, &last);
        window = slurm->conf.bf_window_linear_ms > 0 ? window + slurm->conf.bf_window_linear_ms
                                                     : window * 2;
        if (last < ORR_MS_NEVER && devices_free(slurm, usable, slurm->image) >= asked &&
            orr_slurm__select(slurm, view, job, partition, usable, slurm->image)) {
            return last > view->now ? last : view->now + 1000;
        }
    }
    return ORR_MS_NEVER;
}
