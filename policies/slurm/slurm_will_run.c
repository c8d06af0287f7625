/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_will_run.c - when a job could start: those that run are taken out of the usable nodes by
 * the end of their limits, window by window of time, until it fits.
 *
 * The profile of its shape says behind whose end there is room for enough tasks; the selector is
 * asked from the window on in which that is. */
#include "slurm_int.h"

#include <string.h>

enum { MOST_IN_WINDOW = 201 }; /* jobs */

/* --- one test --- */

struct test {
    struct slurm *slurm;
    const struct orr_view *view;
    const uint64_t *usable;
    orr_ms by;              /* a later time is of no use */
    struct slurm_want want; /* of the first group: what it needs, the job needs */
    struct slurm_profile *profile;
};

static struct test test_of(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable)
{
    struct test test = {.slurm = slurm, .view = view, .usable = usable};
    test.by = ORR_MS_NEVER / 2 - 1; /* some never end */
    test.want = orr_slurm__want(slurm, view, job, partition, 0);
    test.profile = orr_slurm__profile(slurm, view, job, partition, &test.want);
    return test;
}

/* The step behind another (ORR_NONE: the first) by then; ORR_NONE: there is none. */
static uint32_t next_step(const struct test *test, uint32_t step)
{
    const struct slurm *slurm = test->slurm;
    const uint32_t known = step == ORR_NONE ? test->profile->first : slurm->steps[step].next;
    return known == ORR_NONE
               ? orr_slurm__next_step(test->slurm, test->view, &test->want, test->profile, test->by)
           : slurm->steps[known].at <= test->by ? known
                                                : ORR_NONE;
}

/* How many of slurm->held have to end until the usable nodes take all tasks; ORR_NONE: they do not
 * by then. */
static uint32_t enough_behind(const struct test *test)
{
    const struct slurm *slurm = test->slurm;
    int64_t tasks = 0, nodes = 0;
    for (uint32_t s = next_step(test, ORR_NONE); s != ORR_NONE; s = next_step(test, s)) {
        const struct slurm_step *step = &slurm->steps[s];
        if (slurm_has(test->usable, step->node)) {
            tasks += step->tasks;
            nodes += step->nodes;
            if (tasks >= test->want.tasks && nodes >= test->want.min_nodes) {
                return step->ended;
            }
        }
    }
    return ORR_NONE;
}

/* Goes on from a job whose holdings begin at *at to the next one's. False: it holds none of the
 * usable nodes. */
static bool pass_job(const struct test *test, uint32_t *at)
{
    const struct slurm *slurm = test->slurm;
    const uint32_t running = slurm->held[*at].running;
    bool any = false;
    for (; *at < slurm->held_count && slurm->held[*at].running == running; ++*at) {
        any = any || slurm_has(test->usable, slurm->held[*at].node);
    }
    return any;
}

/* What a node has free when the first `ended` of slurm->held have ended. */
static void set_image(struct slurm *slurm, const struct orr_view *view, uint32_t node,
                      uint32_t ended)
{
    uint32_t held = slurm->last_held[node];
    while (held != ORR_NONE && held >= ended) {
        held = slurm->held[held].before;
    }
    slurm->image[node] = orr_slurm__room_behind(slurm, view, node, held);
    slurm->freed[node] = held != ORR_NONE && slurm->held[held].freed ? slurm->image_number : 0;
    orr_slurm__cap_behind(slurm, node, held);
}

/* --- windows of time --- */

/* The usable nodes that can have tasks of the job then: of one group those of its profile. */
static void list_nodes(const struct test *test, uint32_t job, uint32_t ended, uint64_t *nodes)
{
    const struct slurm *slurm = test->slurm;
    if (slurm_shape(test->view, job)->group_count > 1) {
        memcpy(nodes, test->usable, slurm->words * sizeof *nodes);
        return;
    }
    memset(nodes, 0, slurm->words * sizeof *nodes);
    for (uint32_t s = next_step(test, ORR_NONE); s != ORR_NONE && slurm->steps[s].ended <= ended;
         s = next_step(test, s)) {
        const uint32_t node = slurm->steps[s].node;
        nodes[node >> 6] |= test->usable[node >> 6] & (uint64_t)1 << (node & 63);
    }
}

static bool fits(const struct test *test, uint32_t job, const struct slurm_partition *partition,
                 uint32_t ended)
{
    struct slurm *slurm = test->slurm;
    list_nodes(test, job, ended, slurm->roomy);
    slurm->image_number++;
    for (uint32_t w = 0; w < slurm->words; w++) {
        for (uint64_t bits = slurm->roomy[w]; bits != 0; bits &= bits - 1) {
            set_image(slurm, test->view, w * 64 + (uint32_t)__builtin_ctzll(bits), ended);
        }
    }
    slurm->in_image = true;
    const bool found =
        orr_slurm__select(slurm, test->view, job, partition, slurm->roomy, slurm->image);
    slurm->in_image = false;
    return found;
}

/* The next multiple of 30 s of the epoch, or the time itself. */
static orr_ms up_to_30_s(const struct orr_view *view, orr_ms at)
{
    const orr_ms step = 30000, epoch = at + view->epoch_ms;
    const orr_ms over = ((epoch % step) + step) % step;
    return over == 0 ? at : at + step - over;
}

/* The first of slurm->held from one on that ends later. */
static uint32_t later_than(const struct slurm *slurm, uint32_t from, orr_ms until)
{
    uint32_t low = from, high = slurm->held_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const bool by = slurm->held[middle].end_ms <= until;
        low = by ? middle + 1 : low;
        high = by ? high : middle;
    }
    return low;
}

/* Where a window ends that begins with one of slurm->held: at most 201 jobs are in it. */
static uint32_t end_of_window(const struct test *test, uint32_t first, orr_ms window)
{
    const struct slurm *slurm = test->slurm;
    const orr_ms until = up_to_30_s(test->view, slurm->held[first].end_ms) + window;
    const uint32_t end = later_than(slurm, first, until);
    uint32_t at = first;
    for (uint32_t jobs = 0; end - first > MOST_IN_WINDOW && at < end && jobs < MOST_IN_WINDOW;) {
        jobs += pass_job(test, &at);
    }
    return end - first > MOST_IN_WINDOW ? at : end;
}

/* Takes the jobs of one window out, from the one whose holdings begin at *at on. When the last of
 * them ends; ORR_MS_NEVER: later than test->by. */
static orr_ms pass_window(const struct test *test, uint32_t *at, orr_ms window)
{
    const struct slurm *slurm = test->slurm;
    uint32_t first = *at;
    while (first < slurm->held_count && !slurm_has(test->usable, slurm->held[first].node)) {
        first++;
    }
    *at = slurm->held_count;
    if (first == slurm->held_count || slurm->held[first].end_ms > test->by) {
        return ORR_MS_NEVER;
    }
    const uint32_t end = end_of_window(test, first, window);
    uint32_t last = end - 1;
    while (!slurm_has(test->usable, slurm->held[last].node)) {
        last--;
    }
    if (slurm->held[last].end_ms > test->by) {
        return ORR_MS_NEVER;
    }
    *at = end;
    return slurm->held[last].end_ms;
}

static orr_ms find_time(const struct test *test, uint32_t job,
                        const struct slurm_partition *partition, uint32_t enough)
{
    const struct slurm *slurm = test->slurm;
    const orr_ms now = test->view->now;
    if (enough == 0 && fits(test, job, partition, 0)) {
        return now;
    }
    orr_ms window = 30000;
    orr_slurm__list_held(test->slurm, test->view);
    for (uint32_t at = 0; at < slurm->held_count;) {
        const orr_ms last = pass_window(test, &at, window);
        window = slurm->conf.bf_window_linear_ms > 0 ? window + slurm->conf.bf_window_linear_ms
                                                     : window * 2;
        if (last < ORR_MS_NEVER && at >= enough && fits(test, job, partition, at)) {
            return last > now ? last : now + 1000;
        }
    }
    return ORR_MS_NEVER;
}

orr_ms orr_slurm__will_run(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                           const struct slurm_partition *partition, const uint64_t *usable,
                           orr_ms by)
{
    struct test test = test_of(slurm, view, job, partition, usable);
    test.by = by < test.by ? by : test.by;
    const uint32_t enough = enough_behind(&test);
    slurm->was_enough = enough != ORR_NONE;
    return slurm->was_enough ? find_time(&test, job, partition, enough) : ORR_MS_NEVER;
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
    const struct test test = test_of(slurm, view, job, p, p->nodes);
    const uint32_t enough = enough_behind(&test);
    const orr_ms earliest = enough == ORR_NONE ? ORR_MS_NEVER
                            : enough == 0      ? view->now
                                               : slurm->held[enough - 1].end_ms;
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
