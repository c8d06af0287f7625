/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a track of a sketch stands when the turn of a party comes: by what its queue lacks then of
 * what it held, whoever of it was chosen. Worked out once a probe where that is all it hangs on.
 */
#include "sketch_int.h"

#include <string.h>

static uint32_t gpus_of(const struct orr_demand *demand)
{
    return (uint32_t)(demand->v[ORR_SHARE_GPU] / ORR_MGPU);
}

/* Parties of the track hold as much of everything for each GPU, so that it is the same whoever of
 * them is chosen. The preemptor holds nothing: alone it takes nothing from its queue. */
static bool is_even(const struct orr_forecast *f, uint32_t track)
{
    const struct orr_sketch *sketch = f->sketch;
    if (track == f->seats[0].track) {
        return sketch->first_run[track + 1] - sketch->first_run[track] == 1;
    }
    const struct orr_demand *one = NULL;
    for (uint32_t r = sketch->first_run[track]; r < sketch->first_run[track + 1]; r++) {
        const struct orr_demand *other = &f->seats[sketch->runs[r].seat].demand;
        one = one == NULL ? other : one;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            if (one->v[kind] * gpus_of(other) != other->v[kind] * gpus_of(one)) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers the kinds of the track's runs; returns the GPUs of all its parties. */
static uint32_t tell_kinds(const struct orr_forecast *f, uint32_t track)
{
    struct orr_sketch *sketch = f->sketch;
    const uint32_t first = sketch->first_run[track];
    uint32_t gpus = 0;
    for (uint32_t p = f->tracks[track].first;
         p < f->seat_count && f->seats[f->line[p]].track == track; p++) {
        gpus += gpus_of(&f->seats[f->line[p]].demand);
    }
    for (uint32_t r = first; r < sketch->first_run[track + 1]; r++) {
        const struct orr_demand *demand = &f->seats[sketch->runs[r].seat].demand;
        uint32_t like = first;
        while (memcmp(&f->seats[sketch->runs[like].seat].demand, demand, sizeof *demand) != 0) {
            like++;
        }
        sketch->runs[r].kind = like - first + 1;
    }
    return gpus;
}

/* Of tracks that stand alike. */
static void rank_alike(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct standings *standings = &f->sketch->standings[track];
    const struct orr_queue_rank own = {.queue = f->tracks[track].queue};
    for (uint32_t t = 0; t < f->track_count; t++) {
        const struct orr_queue_rank other = {.queue = f->tracks[t].queue};
        const struct orr_session *session = search->session;
        standings->priority +=
            session->rules.proportion && orr_queue_compare_amounts(session, &other, &own) < 0;
        standings->before += orr_queue_compare_ranks(session, &other, &own) < 0;
    }
}

static double allocatable_gpus(const struct orr_session *session, uint32_t queue)
{
    const double gpus = orr_share_allocatable(&session->shares[queue].resource[ORR_SHARE_GPU]);
    return gpus == ORR_UNLIMITED ? session->total[ORR_SHARE_GPU] : gpus;
}

static bool is_heavy(const struct orr_forecast *f, const struct orr_seat *seat)
{
    return !(seat->gpus == 1 && seat->tasks == 1) && (int32_t)seat->gpus < f->largest_node;
}

void orr_sketch__make_standings(const struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    struct orr_sketch *sketch = f->sketch;
    sketch->standings = orr_arena_alloc(f->arena, f->track_count, sizeof *sketch->standings);
    for (uint32_t t = 0; t < f->track_count; t++) {
        const uint32_t gpus = tell_kinds(f, t);
        const bool even = is_even(f, t);
        rank_alike(search, t);
        sketch->standings[t].allocatable_gpus =
            allocatable_gpus(search->session, f->tracks[t].queue);
        for (int i = 0; i < 2 && even; i++) {
            sketch->standings[t].items[i] =
                orr_arena_alloc(f->arena, gpus + (size_t)1, sizeof(struct standing));
        }
        for (uint32_t r = sketch->first_run[t]; r < sketch->first_run[t + 1]; r++) {
            sketch->runs[r].heavy =
                !even || sketch->runs[r].seat == 0 || is_heavy(f, &f->seats[sketch->runs[r].seat]);
        }
    }
}

const struct standing *orr_sketch__work_out(const struct orr_victim_search *search, uint32_t track,
                                            const struct turn *turn, struct standing *at)
{
    const struct orr_forecast *f = search->forecast;
    const struct lane *lane = &f->sketch->lanes[track];
    const struct run *run = &f->sketch->runs[turn->run];
    const struct orr_demand *demand = &f->seats[run->seat].demand;
    const bool even = orr_sketch__is_even(f->sketch, track);
    const int64_t *from = even ? search->session->queues[f->tracks[track].queue].allocated
                               : lane->held; /* when so many GPUs were served less: */
    const int64_t served = (even ? 0 : (int64_t)lane->next.lacking) - (int64_t)turn->lacking;
    struct orr_queue_rank rank;
    int64_t held[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        held[kind] = from[kind] + (served == 0 ? 0 : demand->v[kind] * served / (int64_t)run->gpus);
    }
    orr_forecast__block(search, f->tracks[track].queue, held, demand, turn->waiting, &rank);
    *at = (struct standing){.waiting = turn->waiting,
                            .kind = run->kind,
                            .first = (uint32_t)rank.over << 31 | (uint32_t)rank.fed << 30 |
                                     f->sketch->standings[track].priority << 1 | rank.violates,
                            .share_after = rank.share_after,
                            .share_now = rank.share_now};
    return at;
}
