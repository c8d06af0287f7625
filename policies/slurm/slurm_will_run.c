/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_will_run.c - when a job could start: those that run are taken out of an image of the nodes
 * by the end of their limits, window by window of time, until it fits.
 *
 * The image holds only nodes that were touched (slurm->imaged); all others are as they are idle.
 * The tasks that the usable nodes could take are counted as the image changes, so that the selector
 * is asked only when they are enough. */
#include "slurm_int.h"

#include <string.h>

struct test {
    struct slurm *slurm;
    const struct orr_view *view;
    const uint64_t *usable;
    struct slurm_want want; /* of the first group: what it needs, the job needs */
    int64_t tasks, nodes;   /* that usable nodes could take; nodes that take any */
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
    test->want = orr_slurm__want(slurm, test->view, job, partition, 0);
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

/* Gives a node of the image what tasks of a job hold there. A device that tasks share is not
 * counted as free when one of them ends: the estimate is late. */
static void give(struct test *test, uint32_t node, const struct orr_request *request, int64_t tasks,
                 bool frees)
{
    struct slurm *slurm = test->slurm;
    struct orr_request whole = *request;
    const int64_t before =
        orr_slurm__tasks_on(slurm, test->view, node, room_of(test, node), &test->want);
    slurm->image[node] = *room_of(test, node);
    slurm->imaged[node] = slurm->image_number;
    whole.devices = request->gpu_ask == ORR_GPU_WHOLE ? request->devices : 0;
    orr_slurm__take(&slurm->image[node], &whole, -tasks);
    slurm->freed[node] = frees ? slurm->image_number : slurm->freed[node];
    const int64_t after =
        orr_slurm__tasks_on(slurm, test->view, node, &slurm->image[node], &test->want);
    test->tasks += after - before;
    test->nodes += (after > 0) - (before > 0);
}

/* Takes a running job out of the usable nodes; false: it holds nothing there. */
static bool remove_job(struct test *test, uint32_t job)
{
    const struct orr_shape *shape = slurm_shape(test->view, job);
    const struct orr_ledger *ledger = test->view->ledger;
    bool any = false;
    for (uint32_t p = test->view->jobs[job].placement; p != ORR_NONE;
         p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const int64_t each = orr_placement_each(placement);
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            if (slurm_has(test->usable, n)) {
                any = true;
                give(test, n, &shape->groups[placement->group].request, each,
                     test->slurm->jobs[job].holds_whole);
            }
        }
    }
    return any;
}

static bool fits(struct test *test, uint32_t job, const struct slurm_partition *partition)
{
    struct slurm *slurm = test->slurm;
    if (!is_enough(test)) {
        return false;
    }
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

/* Removes the jobs of one window from the image. *last: when the last of them
 * ends; ORR_MS_NEVER: nobody was left to remove. */
static uint32_t remove_window(struct test *test, uint32_t from, orr_ms window, orr_ms *last)
{
    const struct slurm *slurm = test->slurm;
    orr_ms until = ORR_MS_NEVER;
    *last = ORR_MS_NEVER;
    uint32_t r = from;
    for (uint32_t removed = 0; r < slurm->running_count && removed <= 200; r++) {
        const orr_ms end = slurm->jobs[slurm->running[r]].end_ms;
        if (end >= ORR_MS_NEVER / 2) { /* this one and those behind it never end */
            return slurm->running_count;
        }
        if (end > until) {
            break;
        }
        if (remove_job(test, slurm->running[r])) {
            until = removed++ == 0 ? up_to_30_s(test->view, end) + window : until;
            *last = end;
        }
    }
    return r;
}

static orr_ms find_time(struct test *test, uint32_t job, const struct slurm_partition *partition)
{
    const struct slurm *slurm = test->slurm;
    const struct orr_view *view = test->view;
    begin_test(test, job, partition);
    if (fits(test, job, partition)) {
        return view->now;
    }
    orr_ms window = 30000, last = view->now;
    for (uint32_t r = 0; r < slurm->running_count && last < ORR_MS_NEVER;) {
        r = remove_window(test, r, window, &last);
        window = slurm->conf.bf_window_linear_ms > 0 ? window + slurm->conf.bf_window_linear_ms
                                                     : window * 2;
        if (last < ORR_MS_NEVER && fits(test, job, partition)) {
            return last > view->now ? last : view->now + 1000;
        }
    }
    return ORR_MS_NEVER;
}

orr_ms orr_slurm__will_run(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable)
{
    struct test test = {.slurm = slurm, .view = view, .usable = usable};
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
    if (bound->moves == slurm->moves && bound->changes == view->ledger->changes &&
        bound->partition == partition && bound->min_nodes == j->min_nodes &&
        bound->exclusive == j->exclusive) {
        return bound->earliest_ms;
    }
    struct test test = {.slurm = slurm, .view = view, .usable = p->nodes};
    begin_test(&test, job, p);
    orr_ms earliest = is_enough(&test) ? view->now : ORR_MS_NEVER;
    for (uint32_t r = 0; r < slurm->running_count && earliest == ORR_MS_NEVER; r++) {
        const orr_ms end = slurm->jobs[slurm->running[r]].end_ms;
        if (end >= ORR_MS_NEVER / 2) {
            break;
        }
        (void)remove_job(&test, slurm->running[r]);
        earliest = is_enough(&test) ? end : ORR_MS_NEVER;
    }
    slurm->in_image = false;
    *bound = (struct slurm_bound){slurm->moves, view->ledger->changes, partition,
                                  j->min_nodes, j->exclusive,          earliest};
    return earliest;
}
