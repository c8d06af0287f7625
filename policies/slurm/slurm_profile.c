/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_profile.c - what nodes will have free as those that run end, by their limits, and how many
 * tasks of a shape that is.
 *
 * Both are the same for all tests of backfill until a job starts or stops: slurm->held lists what
 * is freed in its order; the profile of a shape lists at which of them a node takes more tasks, no
 * further than a test has looked so far. */
#include "slurm_int.h"

/* --- what those that run hold --- */

/* A device that tasks share is not counted as free when one of them ends: the estimate is late. */
static void add_held_room(struct orr_room *room, const struct orr_request *request, uint32_t tasks,
                          bool gave_cpu)
{
    const int32_t devices = request->gpu_ask == ORR_GPU_WHOLE ? (int32_t)request->devices : 0;
    room->cpu_milli += gave_cpu ? 0 : request->cpu_milli * tasks;
    room->mem_bytes += request->mem_bytes * tasks;
    room->gpus += devices * (int32_t)tasks;
    room->pods += (int32_t)tasks;
    room->mig[request->mig_profile] =
        (int16_t)(room->mig[request->mig_profile] + request->instances * (int32_t)tasks);
}

static void add_held(struct slurm *slurm, const struct orr_view *view, uint32_t running)
{
    const uint32_t job = slurm->running[running];
    const struct slurm_job *j = &slurm->jobs[job];
    /* what a suspended job gave is in the room, unless it is kept from the job of this test */
    const bool gave_cpu = j->suspended_ms != ORR_MS_NONE && !j->kept;
    const struct orr_placement *placements = view->ledger->placements;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE; p = placements[p].next) {
        const struct orr_request *request =
            &slurm_shape(view, job)->groups[placements[p].group].request;
        const uint32_t last = placements[p].node + placements[p].more_nodes;
        for (uint32_t node = placements[p].node; node <= last; node++) {
            const uint32_t before = slurm->last_held[node];
            struct slurm_held held = {slurm->jobs[job].end_ms,
                                      running,
                                      node,
                                      before,
                                      orr_slurm__room_behind(slurm, view, node, before),
                                      j->holds_whole ||
                                          (before != ORR_NONE && slurm->held[before].freed),
                                      j->runs_in,
                                      0};
            held.cap_cpu_milli = orr_slurm__cap_given(slurm, view, &held);
            add_held_room(&held.room, request, orr_placement_each(&placements[p]), gave_cpu);
            slurm->held = ORR_ROOM_FOR_ONE(slurm->held, slurm->held_count, slurm->held_capacity);
            slurm->last_held[node] = slurm->held_count;
            slurm->held[slurm->held_count++] = held;
        }
    }
}

void orr_slurm__list_held(struct slurm *slurm, const struct orr_view *view)
{
    if (slurm->held_moves == slurm->moves && slurm->held_changes == view->ledger->changes &&
        slurm->held_kept_key == slurm->kept_of_suspended) {
        return;
    }
    slurm->held_kept_key = slurm->kept_of_suspended;
    slurm->held_moves = slurm->moves;
    slurm->held_changes = view->ledger->changes;
    slurm->held_count = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->last_held[n] = ORR_NONE;
    }
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        add_held(slurm, view, r);
    }
}

struct orr_room orr_slurm__room_behind(const struct slurm *slurm, const struct orr_view *view,
                                       uint32_t node, uint32_t held)
{
    return held == ORR_NONE ? view->ledger->idle[node] : slurm->held[held].room;
}

/* --- the profile of a shape --- */

/* Tasks on a node behind one of those that are held there; ORR_NONE: now. */
static int64_t tasks_behind(struct slurm *slurm, const struct orr_view *view,
                            const struct slurm_want *want, uint32_t node, uint32_t held)
{
    const struct orr_room room = orr_slurm__room_behind(slurm, view, node, held);
    slurm->freed[node] = held != ORR_NONE && slurm->held[held].freed ? slurm->image_number : 0;
    orr_slurm__cap_behind(slurm, node, held);
    return orr_slurm__tasks_on(slurm, view, node, &room, want);
}

static void add_step(struct slurm *slurm, struct slurm_profile *profile, uint32_t ended,
                     uint32_t node, int64_t before, int64_t after)
{
    if (before == after) {
        return;
    }
    slurm->steps = ORR_ROOM_FOR_ONE(slurm->steps, slurm->step_count, slurm->step_capacity);
    slurm->steps[slurm->step_count] =
        (struct slurm_step){ended == 0 ? ORR_MS_NONE : slurm->held[ended - 1].end_ms,
                            ORR_NONE,
                            ended,
                            node,
                            (int32_t)(after - before),
                            (int8_t)((after > 0) - (before > 0))};
    *(profile->last == ORR_NONE ? &profile->first : &slurm->steps[profile->last].next) =
        slurm->step_count;
    profile->last = slurm->step_count++;
}

/* Those of a state that is over. */
static void forget_steps(struct slurm *slurm, const struct orr_view *view)
{
    if (slurm->step_moves != slurm->moves || slurm->step_changes != view->ledger->changes) {
        slurm->step_moves = slurm->moves;
        slurm->step_changes = view->ledger->changes;
        slurm->step_count = 0;
    }
}

static void begin_profile(struct slurm *slurm, const struct orr_view *view,
                          const struct slurm_want *want, struct slurm_profile *profile)
{
    *profile = (struct slurm_profile){.moves = slurm->moves,
                                      .changes = view->ledger->changes,
                                      .kept_key = slurm->kept_key,
                                      .whole = want->whole,
                                      .first = ORR_NONE,
                                      .last = ORR_NONE};
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const int64_t tasks = orr_slurm__tasks_on(slurm, view, n, &view->ledger->idle[n], want);
        add_step(slurm, profile, 0, n, 0, tasks);
    }
}

struct slurm_profile *orr_slurm__profile(struct slurm *slurm, const struct orr_view *view,
                                         uint32_t job, const struct slurm_partition *partition,
                                         const struct slurm_want *want)
{
    const uint32_t shape = view->specs[job].shape;
    orr_slurm__keep_from(slurm, view, job, (uint32_t)(partition - slurm->conf.partitions));
    forget_steps(slurm, view);
    slurm->bounds =
        orr_zgrow(slurm->bounds, &slurm->bound_capacity, shape + (size_t)1, sizeof *slurm->bounds);
    struct slurm_profile *profile = &slurm->bounds[shape].profile;
    if (profile->moves != slurm->moves || profile->changes != view->ledger->changes ||
        profile->kept_key != slurm->kept_key || profile->whole != want->whole) {
        begin_profile(slurm, view, want, profile);
    }
    return profile;
}

uint32_t orr_slurm__next_step(struct slurm *slurm, const struct orr_view *view,
                              const struct slurm_want *want, struct slurm_profile *profile,
                              orr_ms by)
{
    const uint32_t last = profile->last;
    orr_slurm__list_held(slurm, view);
    slurm->image_number++;
    slurm->in_image = true;
    while (profile->last == last && profile->listed < slurm->held_count &&
           slurm->held[profile->listed].end_ms <= by) {
        const uint32_t h = profile->listed++, node = slurm->held[h].node;
        const int64_t before = tasks_behind(slurm, view, want, node, slurm->held[h].before);
        add_step(slurm, profile, h + 1, node, before, tasks_behind(slurm, view, want, node, h));
    }
    slurm->in_image = false;
    return profile->last == last ? ORR_NONE : profile->last;
}
