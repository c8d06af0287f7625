/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_will_run.c - when a job could start: those that run are taken out of an image of the nodes
 * by the end of their limits, window by window of time, until it fits.
 *
 * The image holds only nodes that were touched (slurm->imaged); all others are as they are idle.
 * The tasks that the usable nodes could take are counted as the image changes, so that the selector
 * is asked only when they are enough. */
#include "slurm_int.h"

#include <string.h>

/* --- what those that run hold --- */

/* A device that tasks share is not counted as free when one of them ends: the estimate is late. */
static struct orr_room room_held(const struct orr_request *request, uint32_t tasks)
{
    const int32_t devices = request->gpu_ask == ORR_GPU_WHOLE ? (int32_t)request->devices : 0;
    return (struct orr_room){request->cpu_milli * tasks, request->mem_bytes * tasks,
                             devices * (int32_t)tasks, (int32_t)tasks};
}

static void add_held(struct slurm *slurm, const struct orr_view *view, uint32_t running)
{
    const uint32_t job = slurm->running[running];
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        const struct orr_request *request =
            &slurm_shape(view, job)->groups[placements[p].group].request;
        const struct orr_room room = room_held(request, orr_placement_each(&placements[p]));
        for (uint32_t n = 0; n <= placements[p].more_nodes; n++) {
            slurm->held = ORR_ROOM_FOR_ONE(slurm->held, slurm->held_count, slurm->held_capacity);
            slurm->held[slurm->held_count++] =
                (struct slurm_held){slurm->jobs[job].end_ms, running, placements[p].node + n, room,
                                    slurm->jobs[job].holds_whole};
        }
    }
}

static void list_held(struct slurm *slurm, const struct orr_view *view)
{
    if (slurm->held_moves == slurm->moves && slurm->held_changes == view->ledger->changes) {
        return;
    }
    slurm->held_moves = slurm->moves;
    slurm->held_changes = view->ledger->changes;
    slurm->held_count = 0;
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        add_held(slurm, view, r);
    }
}

/* --- one test --- */

struct test {
    struct slurm *slurm;
    const struct orr_view *view;
    const uint64_t *usable;
    struct slurm_want want; /* of the first group: what it needs, the job needs */
    int64_t tasks, nodes;   /* that usable nodes could take; nodes that take any */
    orr_ms by;              /* a later time is of no use */
};

static const struct orr_room *room_of(const struct test *test, uint32_t node)
{
    return test->slurm->imaged[node] == test->slurm->image_number ? &test->slurm->image[node]
                                                                  : &test->view->ledger->idle[node];
}

static bool is_enough(const struct test *test)
{
    return test->tasks >= test->want.tasks && test->nodes >= test->want.min_nodes;
}

static void begin_test(struct test *test, uint32_t job, const struct slurm_partition *partition)
{
    struct slurm *slurm = test->slurm;
    slurm->image_number++;
    slurm->in_image = true;
    orr_slurm__keep_from(slurm, test->view, job, (uint32_t)(partition - slurm->conf.partitions));
    test->want = orr_slurm__want(slurm, test->view, job, partition, 0);
    list_held(slurm, test->view);
    for (uint32_t w = 0; w < slurm->words; w++) {
        for (uint64_t bits = test->usable[w]; bits != 0; bits &= bits - 1) {
            const uint32_t n = w * 64 + (uint32_t)__builtin_ctzll(bits);
            const int64_t tasks = orr_slurm__tasks_on(slurm, test->view, n,
                                                      &test->view->ledger->idle[n], &test->want);
            test->tasks += tasks;
            test->nodes += tasks > 0;
        }
    }
}

static bool gave_cpu(const struct slurm *slurm, const struct slurm_held *held)
{
    const struct slurm_job *j = &slurm->jobs[slurm->running[held->running]];
    return j->suspended_ms != ORR_MS_NONE && !j->kept;
}

/* Gives a node of the image what a job holds there. */
static void give(struct test *test, const struct slurm_held *held)
{
    struct slurm *slurm = test->slurm;
    const uint32_t node = held->node;
    struct orr_room room = *room_of(test, node);
    const int64_t before = orr_slurm__tasks_on(slurm, test->view, node, &room, &test->want);
    /* what a suspended job gave is in the room, unless it is kept from the job of this test */
    room.cpu_milli += gave_cpu(slurm, held) ? 0 : held->room.cpu_milli;
    room.mem_bytes += held->room.mem_bytes;
    room.gpus += held->room.gpus;
    room.pods += held->room.pods;
    slurm->image[node] = room;
    slurm->imaged[node] = slurm->image_number;
    slurm->freed[node] = held->frees ? slurm->image_number : slurm->freed[node];
    const int64_t after = orr_slurm__tasks_on(slurm, test->view, node, &room, &test->want);
    test->tasks += after - before;
    test->nodes += (after > 0) - (before > 0);
}

/* Takes the job whose holdings begin at *at out of the usable nodes, and goes on to the next one's.
 * False: it holds nothing there. */
static bool remove_job(struct test *test, uint32_t *at)
{
    const struct slurm *slurm = test->slurm;
    const uint32_t running = slurm->held[*at].running;
    bool any = false;
    for (; *at < slurm->held_count && slurm->held[*at].running == running; ++*at) {
        if (slurm_has(test->usable, slurm->held[*at].node)) {
            any = true;
            give(test, &slurm->held[*at]);
        }
    }
    return any;
}

/* --- windows of time --- */

static bool fits(struct test *test, uint32_t job, const struct slurm_partition *partition)
{
    struct slurm *slurm = test->slurm;
    if (!is_enough(test)) {
        return false;
    }
    slurm->was_enough = true;
    for (uint32_t n = 0; n < test->view->cluster->node_count; n++) {
        if (slurm->imaged[n] != slurm->image_number) {
            slurm->image[n] = test->view->ledger->idle[n];
            slurm->imaged[n] = slurm->image_number;
        }
    }
    return orr_slurm__select(slurm, test->view, job, partition, test->usable, slurm->image);
}

/* The next multiple of 30 s of the epoch, or the time itself. */
static orr_ms up_to_30_s(const struct orr_view *view, orr_ms at)
{
    const orr_ms step = 30000, epoch = at + view->epoch_ms;
    const orr_ms over = ((epoch % step) + step) % step;
    return over == 0 ? at : at + step - over;
}

/* Removes the jobs of one window, from the one whose holdings begin at *at on. When the last of
 * them ends; ORR_MS_NEVER: later than test->by. */
static orr_ms remove_window(struct test *test, uint32_t *at, orr_ms window)
{
    const struct slurm *slurm = test->slurm;
    orr_ms until = ORR_MS_NEVER, last = ORR_MS_NEVER;
    for (uint32_t removed = 0; *at < slurm->held_count && removed <= 200;) {
        const orr_ms end = slurm->held[*at].end_ms;
        if (end > until) {
            break;
        }
        const bool late = end > test->by;
        const bool held = !(late && removed == 0) && remove_job(test, at);
        if (late && (removed == 0 || held)) {
            *at = slurm->held_count;
            return ORR_MS_NEVER;
        }
        if (held) {
            until = removed++ == 0 ? up_to_30_s(test->view, end) + window : until;
            last = end;
        }
    }
    return last;
}

static orr_ms find_time(struct test *test, uint32_t job, const struct slurm_partition *partition)
{
    const struct slurm *slurm = test->slurm;
    const struct orr_view *view = test->view;
    begin_test(test, job, partition);
    if (fits(test, job, partition)) {
        return view->now;
    }
    orr_ms window = 30000;
    for (uint32_t at = 0; at < slurm->held_count;) {
        const orr_ms last = remove_window(test, &at, window);
        window = slurm->conf.bf_window_linear_ms > 0 ? window + slurm->conf.bf_window_linear_ms
                                                     : window * 2;
        if (last < ORR_MS_NEVER && fits(test, job, partition)) {
            return last > view->now ? last : view->now + 1000;
        }
    }
    test->slurm->was_enough = slurm->was_enough || is_enough(test);
    return ORR_MS_NEVER;
}

orr_ms orr_slurm__will_run(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable,
                           orr_ms by)
{
    struct test test = {.slurm = slurm, .view = view, .usable = usable};
    test.by = by < ORR_MS_NEVER / 2 ? by : ORR_MS_NEVER / 2 - 1; /* some never end */
    slurm->was_enough = false;
    const orr_ms time = find_time(&test, job, partition);
    slurm->in_image = false;
    return time;
}

orr_ms orr_slurm__earliest(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           uint32_t partition)
{
    const uint32_t shape = view->specs[job].shape;
    slurm->bounds =
        orr_zgrow(slurm->bounds, &slurm->bound_capacity, shape + (size_t)1, sizeof *slurm->bounds);
    struct slurm_bound *bound = &slurm->bounds[shape];
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    const struct slurm_job *j = &slurm->jobs[job];
    orr_slurm__keep_from(slurm, view, job, partition);
    if (bound->moves == slurm->moves && bound->changes == view->ledger->changes &&
        bound->kept_key == slurm->kept_key && bound->partition == partition &&
        bound->min_nodes == j->min_nodes && bound->exclusive == j->exclusive) {
        return bound->earliest_ms;
    }
    struct test test = {.slurm = slurm, .view = view, .usable = p->nodes};
    begin_test(&test, job, p);
    orr_ms earliest = is_enough(&test) ? view->now : ORR_MS_NEVER;
    for (uint32_t at = 0; at < slurm->held_count && earliest == ORR_MS_NEVER;) {
        const orr_ms end = slurm->held[at].end_ms;
        if (end >= ORR_MS_NEVER / 2) {
            break;
        }
        (void)remove_job(&test, &at);
        earliest = is_enough(&test) ? end : ORR_MS_NEVER;
    }
    slurm->in_image = false;
    const bool same = bound->partition == partition && bound->min_nodes == j->min_nodes &&
                      bound->exclusive == j->exclusive && bound->kept_key == slurm->kept_key;
    bound->kept_key = slurm->kept_key;
    bound->moves = slurm->moves;
    bound->changes = view->ledger->changes;
    bound->partition = partition;
    bound->min_nodes = j->min_nodes;
    bound->exclusive = j->exclusive;
    bound->earliest_ms = earliest;
    bound->shut_cycle = same ? bound->shut_cycle : 0;
    return earliest;
}

/* --- what tests of a cycle found --- */

orr_ms orr_slurm__shut_until(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             orr_ms lasts)
{
    const struct slurm_bound *bound = &slurm->bounds[view->specs[job].shape];
    orr_ms until = ORR_MS_NONE;
    for (uint32_t i = 0; bound->shut_cycle == slurm->shut_cycle && i < bound->shut_count; i++) {
        until = bound->shut[i].lasts_ms <= lasts ? bound->shut[i].until_ms : until;
    }
    return until;
}

void orr_slurm__shut(struct slurm *slurm, const struct orr_view *view, uint32_t job, orr_ms lasts,
                     orr_ms until)
{
    struct slurm_bound *bound = &slurm->bounds[view->specs[job].shape];
    if (bound->shut_cycle != slurm->shut_cycle) {
        bound->shut_cycle = slurm->shut_cycle;
        bound->shut_count = 0;
    }
    uint32_t at = 0, end;
    while (at < bound->shut_count && bound->shut[at].lasts_ms < lasts) {
        at++;
    }
    for (end = at; end < bound->shut_count && bound->shut[end].until_ms <= until; end++) {
    }
    if (at == end) {
        bound->shut = ORR_ROOM_FOR_ONE(bound->shut, bound->shut_count, bound->shut_capacity);
    }
    memmove(&bound->shut[at + 1], &bound->shut[end],
            (bound->shut_count - end) * sizeof *bound->shut);
    bound->shut_count = bound->shut_count - (end - at) + 1;
    bound->shut[at] = (struct slurm_shut){lasts, until};
}
