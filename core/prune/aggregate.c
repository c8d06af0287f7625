/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "aggregate": a dry run (dry_run.c) on less, how many nodes have how much room, leaves
 * the preemptor none. It serves when nothing is idle anywhere, so that nodes with equal room are as
 * good as each other, and says for sure when the preemptor finds no place. Where something is idle
 * it knows victims that leave nothing wherever they go. Everything else is left to the dry run.
 * What is taken back while it waits for GPUs being released leaves fewer idle than none, so that
 * these are like the others.
 *
 * Victims of one queue that are next to each other in line, ask as many GPUs and have nobody
 * waiting between them are a run. Of a run only the number of chosen ones matters, as GPUs alone
 * tell how a queue stands (aggregate_standing.c); where they do not, nothing is served.
 */
#include "aggregate_int.h"

/* --- runs --- */

static bool same_run(const struct orr_flat *f, uint32_t place)
{
    const struct orr_contender *a = &f->contenders[place - 1];
    const struct orr_contender *b = &f->contenders[place];
    return f->between[place].v[ORR_SHARE_GPU] == 0 && a->leaf == b->leaf && a->tasks == 1 &&
           b->tasks == 1 && a->gpus == b->gpus;
}

static uint32_t more(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t gpus_of(const struct orr_demand *demand)
{
    return (uint32_t)(demand->v[ORR_SHARE_GPU] / ORR_MGPU);
}

static bool asks_whole_gpus(const struct orr_demand *demand)
{
    return demand->v[ORR_SHARE_GPU] % ORR_MGPU == 0 && !(demand->gpus_by_memory > 0);
}

/* That begins at a place in line. */
static struct run make_run(const struct orr_flat *f, uint32_t place)
{
    const struct orr_contender *contender = &f->contenders[place];
    return (struct run){.contender = place,
                        .leaf = contender->leaf,
                        .first = place == 0 || contender[-1].leaf != contender->leaf,
                        .tasks = contender->tasks,
                        .gpus = contender->gpus * contender->tasks,
                        .waiting = gpus_of(&f->between[place])};
}

struct orr_aggregate *orr_flat__make_aggregate(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = orr_arena_alloc(f->arena, 1, sizeof *aggregate);
    aggregate->runs = orr_arena_take(f->arena, f->contender_count, sizeof *aggregate->runs);
    aggregate->stretches =
        orr_arena_take(f->arena, f->contender_count, sizeof *aggregate->stretches);
    aggregate->services = orr_arena_alloc(f->arena, f->leaf_count, sizeof *aggregate->services);
    aggregate->active = orr_arena_take(f->arena, f->leaf_count, sizeof *aggregate->active);
    aggregate->own = &aggregate->services[f->own->leaf];
    aggregate->positions =
        orr_arena_take(f->arena, f->contender_count + (size_t)1, sizeof *aggregate->positions);
    aggregate->usable = f->index->whole_in_all == 0 && f->index->most_idle == 0;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        aggregate->usable = aggregate->usable && !f->leaves[t].limited;
    }
    for (uint32_t p = 0; p < f->contender_count; p++) {
        if (p == 0 || !same_run(f, p)) {
            struct run *run = &aggregate->runs[aggregate->run_count++];
            *run = make_run(f, p);
            run->key = orr_scatter((run->first ? 0 : run[-1].key) +
                                   ((uint64_t)run->gpus << 40 | run->tasks << 20 | run->waiting));
        }
        f->contenders[p].run = aggregate->run_count - 1;
        struct service *service = &aggregate->services[f->contenders[p].leaf];
        const uint32_t gpus = gpus_of(&f->contenders[p].demand);
        service->gone += gpus;
        service->in_parts = service->in_parts || !asks_whole_gpus(&f->between[p]);
        orr_flat__raise(&service->waiting, &f->between[p]);
        service->most =
            more(service->most, more(gpus, aggregate->runs[aggregate->run_count - 1].waiting));
    }
    return aggregate;
}

/* --- a scenario --- */

static void open_service(struct orr_aggregate *aggregate, struct service *service,
                         const struct stretch *stretch)
{
    service->at = stretch;
    service->left = stretch->count;
    service->held = service->gone;
    service->asked = stretch->most;
    aggregate->active[aggregate->active_count++] = service;
}

/* Lists who is chosen, leaf by leaf; not the preemptor if it comes last. Returns a fingerprint of
 * them and of what leaves ask first. */
static uint64_t list_scenario(const struct orr_flat *f, const struct orr_taken *taken)
{
    struct orr_aggregate *aggregate = f->aggregate;
    struct stretch *stretch = aggregate->stretches;
    uint64_t left = 0;
    uint32_t waiting = 0;
    aggregate->active_count = 0;
    for (uint32_t r = 0; r < aggregate->run_count; r++) {
        const struct run *run = &aggregate->runs[r];
        const uint32_t count = taken->window->counts[r];
        waiting = run->first ? run->waiting : more(run->waiting, waiting);
        if (count == 0) {
            continue;
        }
        struct service *service = &aggregate->services[run->leaf];
        *stretch = (struct stretch){run, count, more(waiting, run->gpus)};
        if (aggregate->active_count == 0 ||
            aggregate->active[aggregate->active_count - 1] != service) {
            open_service(aggregate, service, stretch);
            left += service->key * service->asked;
        }
        service->held -= count * run->gpus;
        left += run->key * count;
        service->end = ++stretch;
        waiting = 0;
    }
    if (taken->window->late > 0) {
        aggregate->active[aggregate->active_count++] = aggregate->own;
        left += aggregate->own->key;
    }
    return left;
}

bool orr_victim__leaves_place(struct orr_victim_search *search, uint32_t from, uint32_t to,
                              uint32_t nth)
{
    const struct orr_flat *f = search->refuter.flat;
    const bool usable = f->aggregate->usable;
    struct orr_taken taken;
    if (usable && to == from + 1 && f->all_first && f->windows->gang_count == 0 && !f->odd) {
        return false; /* all find room on the node again, in whatever order */
    }
    orr_flat__take(search, from, to, nth, &taken);
    const bool nothing = taken.window->late == 0 && orr_flat__leave_nothing(f, taken.sizes);
    const bool place =
        taken.window->odd > 0 ||
        (!nothing &&
         (!usable || !orr_aggregate__open(search) ||
          orr_aggregate__serve(search, &taken, list_scenario(f, &taken)) == LEAVES_SOME));
    orr_flat__put_back(search, &taken);
    return place;
}
