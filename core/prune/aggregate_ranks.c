/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a leaf of an aggregate stands when the turn of a contender comes: by what its queue lacks
 * then of what it held, whoever of it was chosen. Worked out once a probe where that is all it
 * hangs on.
 */
#include "aggregate_int.h"

#include <string.h>

static uint32_t gpus_of(const struct orr_demand *demand)
{
    return (uint32_t)(demand->v[ORR_SHARE_GPU] / ORR_MGPU);
}

/* Contenders of the leaf hold as much of everything for each GPU, so that it is the same whoever of
 * them is chosen. The preemptor holds nothing: alone it takes nothing from its queue. */
static bool is_even(const struct orr_flat *f, uint32_t leaf)
{
    const struct orr_aggregate *aggregate = f->aggregate;
    if (leaf == f->contenders[0].leaf) {
        return aggregate->first_run[leaf + 1] - aggregate->first_run[leaf] == 1;
    }
    const struct orr_demand *one = NULL;
    for (uint32_t r = aggregate->first_run[leaf]; r < aggregate->first_run[leaf + 1]; r++) {
        const struct orr_demand *other = &f->contenders[aggregate->runs[r].contender].demand;
        one = one == NULL ? other : one;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            if (one->v[kind] * gpus_of(other) != other->v[kind] * gpus_of(one)) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers the kinds of the leaf's runs; returns the GPUs of all its contenders. */
static uint32_t tell_kinds(const struct orr_flat *f, uint32_t leaf)
{
    struct orr_aggregate *aggregate = f->aggregate;
    const uint32_t first = aggregate->first_run[leaf];
    uint32_t gpus = 0;
    for (uint32_t p = f->leaves[leaf].first;
         p < f->contender_count && f->contenders[f->line[p]].leaf == leaf; p++) {
        gpus += gpus_of(&f->contenders[f->line[p]].demand);
    }
    for (uint32_t r = first; r < aggregate->first_run[leaf + 1]; r++) {
        const struct orr_demand *demand = &f->contenders[aggregate->runs[r].contender].demand;
        uint32_t like = first;
        while (memcmp(&f->contenders[aggregate->runs[like].contender].demand, demand,
                      sizeof *demand) != 0) {
            like++;
        }
        aggregate->runs[r].kind = like - first + 1;
    }
    return gpus;
}

/* Of leaves that stand alike. */
static void rank_alike(const struct orr_victim_search *search, uint32_t leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    struct ranks *ranks = &f->aggregate->ranks[leaf];
    const struct orr_queue_rank own = {.queue = f->leaves[leaf].queue};
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        const struct orr_queue_rank other = {.queue = f->leaves[t].queue};
        ranks->before += orr_queue_compare_ranks(search->session, &other, &own) < 0;
    }
}

static double allocatable_gpus(const struct orr_session *session, uint32_t queue)
{
    const double gpus = orr_share_allocatable(&session->shares[queue].resource[ORR_SHARE_GPU]);
    return gpus == ORR_UNLIMITED ? session->total[ORR_SHARE_GPU] : gpus;
}

static bool is_sensitive(const struct orr_flat *f, const struct orr_contender *contender)
{
    return !(contender->gpus == 1 && contender->tasks == 1) &&
           (int32_t)contender->gpus < f->largest_node;
}

void orr_aggregate__make_ranks(const struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    aggregate->ranks = orr_arena_alloc(f->arena, f->leaf_count, sizeof *aggregate->ranks);
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        const uint32_t gpus = tell_kinds(f, t);
        const bool even = is_even(f, t);
        rank_alike(search, t);
        aggregate->ranks[t].allocatable_gpus =
            allocatable_gpus(search->session, f->leaves[t].queue);
        for (int i = 0; i < 2 && even; i++) {
            aggregate->ranks[t].items[i] =
                orr_arena_alloc(f->arena, gpus + (size_t)1, sizeof(struct rank));
        }
        for (uint32_t r = aggregate->first_run[t]; r < aggregate->first_run[t + 1]; r++) {
            aggregate->runs[r].sensitive =
                !even || aggregate->runs[r].contender == 0 ||
                is_sensitive(f, &f->contenders[aggregate->runs[r].contender]);
        }
    }
}

const struct rank *orr_aggregate__work_out(const struct orr_victim_search *search, uint32_t leaf,
                                           const struct turn *turn, struct rank *at)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct service *service = &f->aggregate->services[leaf];
    const struct run *run = &f->aggregate->runs[turn->run];
    const struct orr_demand *demand = &f->contenders[run->contender].demand;
    const bool even = orr_aggregate__is_even(f->aggregate, leaf);
    const int64_t *from = even ? search->session->queues[f->leaves[leaf].queue].allocated
                               : service->held; /* when so many GPUs were served less: */
    const int64_t served = (even ? 0 : (int64_t)service->next.lacking) - (int64_t)turn->lacking;
    struct orr_queue_rank rank;
    int64_t held[ORR_SHARE_KINDS];
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        held[kind] = from[kind] + (served == 0 ? 0 : demand->v[kind] * served / (int64_t)run->gpus);
    }
    orr_flat__block(search, f->leaves[leaf].queue, held, demand, turn->waiting, &rank);
    *at = (struct rank){.waiting = turn->waiting,
                        .kind = run->kind,
                        .first = rank.first,
                        .share_after = rank.share_after,
                        .share_now = rank.share_now};
    return at;
}
