/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "dry-run" in flat worlds: served in fair order on counts of free GPUs (gpu_counts.c), the
 * preemptor finds no place, or the validator refuses what the others lose. */
#include "flat_int.h"

#include <string.h>

#include <orrery/core/gpu_counts.h>

struct orr_flat_run {
    bool *is_chosen;    /* by contender; all false between */
    uint32_t *feasible; /* nodes that are open to the preemptor in any scenario, with room */
    uint32_t feasible_count;
    struct orr_gpu_counts *counts;
    uint32_t *tasks; /* of the contender that is placed */
    bool *is_back;   /* by task of a victim: it found a place; all false between */
};

/* The possible victims in their order, as they stand in line: the last of a leaf is its first
 * victim. */
static void prepare_order(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    search->prepared = orr_arena_take(f->arena, f->contender_count, sizeof *search->prepared);
    search->prepared_count = 0;
    for (uint32_t p = f->contender_count; p-- > 0;) {
        const struct orr_contender *contender = &f->contenders[p];
        if (contender == f->own) {
            continue;
        }
        struct orr_order_entry *entry = &search->prepared[search->prepared_count++];
        *entry = (struct orr_order_entry){.view = orr_jobview_whole(contender->job)};
        /* Of a job that only waits for its place KAI's order of victims counts nothing. */
        if (!contender->pipelined) {
            entry->demand = contender->demand;
        }
    }
}

static void make_dry_run(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_flat *f = search->refuter.flat;
    struct orr_flat_run *r = orr_arena_alloc(f->arena, 1, sizeof *r);
    r->is_chosen = orr_arena_alloc(f->arena, f->contender_count, sizeof *r->is_chosen);
    r->is_back = orr_arena_alloc(f->arena, session->task_count, sizeof *r->is_back);
    r->feasible = orr_arena_take(f->arena, session->node_count, sizeof *r->feasible);
    r->tasks = orr_arena_take(f->arena, session->task_count, sizeof *r->tasks);
    r->counts = orr_gpu_counts_make(f->arena, session);
    f->dry_run = r;
}

/* More demands than a set has bits for: the search goes on as outside flat worlds, whose candidates
 * are listed; nothing is evicted yet. */
static void give_up(struct orr_victim_search *search)
{
    search->refuter.flat = NULL;
    search->prepared = NULL;
    search->refuter.world = 0; /* which was read as a flat one */
    orr_victim__find_candidates(search);
}

void orr_flat__start_probe(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    const struct orr_session *session = search->session;
    if (f == NULL) {
        return;
    }
    if (f->contenders == NULL) {
        if (!orr_flat__line_up(search)) {
            give_up(search);
            return;
        }
        make_dry_run(search);
        f->aggregate = orr_flat__make_aggregate(search);
        orr_flat__make_windows(search);
        prepare_order(search);
    }
    struct orr_flat_run *r = f->dry_run;
    f->own->tasks = search->k;
    f->own->unlike =
        orr_flat__contender(session, search->job, f->own->first_task, search->k).unlike;
    f->own->demand = search->demand;
    if (!orr_flat__compare_leaves(search)) {
        give_up(search);
        return;
    }
    f->over_quota = orr_job_over_quota(session, search->job, &search->demand);
    orr_flat__start_aggregate(search);
    orr_flat__empty_windows(search);
    r->feasible_count = 0;
    for (uint32_t n = 0; n < session->node_count; n++) {
        if (search->feasible[n] && f->index->whole[n] > 0) {
            r->feasible[r->feasible_count++] = n;
        }
    }
}

/* All tasks of a contender or none. */
static bool place_all(struct orr_flat_run *r, const struct orr_contender *contender)
{
    for (uint32_t i = 0; i < contender->tasks; i++) {
        r->tasks[i] = contender->first_task + i;
    }
    return orr_gpu_counts_place(r->counts, r->tasks, contender->tasks);
}

/* --- setting the scene --- */

static void choose(struct orr_flat *f, const struct orr_contender *contender)
{
    bool *is_chosen = &f->dry_run->is_chosen[contender - f->contenders];
    struct orr_leaf *leaf = &f->leaves[contender->leaf];
    leaf->left += !*is_chosen;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !*is_chosen && contender != f->own; kind++) {
        leaf->held[kind] -= contender->demand.v[kind];
    }
    *is_chosen = true;
}

static void evict(struct orr_flat *f, const struct orr_victims *victims)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        orr_gpu_counts_evict(f->dry_run->counts, victims->items[i].task);
        choose(f, &f->contenders[f->contender_of_job[victims->items[i].job]]);
    }
}

/* The leaf's next contender, and who waits before it. */
static void next_block(const struct orr_flat *f, struct orr_leaf *leaf)
{
    leaf->waiting = 0;
    leaf->ranked = false;
    do {
        leaf->waiting |= f->between[++leaf->at];
    } while (!f->dry_run->is_chosen[leaf->at]);
}

static void open_scenario(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_flat *f = search->refuter.flat;
    struct orr_flat_run *r = f->dry_run;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        struct orr_leaf *leaf = &f->leaves[t];
        leaf->at = leaf->first - 1; /* before the first one */
        leaf->left = 0;
        memcpy(leaf->held, search->session->queues[leaf->queue].allocated, sizeof leaf->held);
    }
    for (uint32_t i = 0; i < r->feasible_count; i++) {
        orr_gpu_counts_open(r->counts, r->feasible[i]);
    }
    evict(f, potential);
    evict(f, &search->recorded);
    choose(f, f->own);
    orr_gpu_counts_start(r->counts, false);
}

static void put_back(struct orr_flat *f, const struct orr_victims *victims)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        f->dry_run->is_chosen[f->contender_of_job[victims->items[i].job]] = false;
        f->dry_run->is_back[victims->items[i].task] = false;
    }
}

static void close_scenario(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_flat *f = search->refuter.flat;
    put_back(f, potential);
    put_back(f, &search->recorded);
    f->dry_run->is_chosen[f->own - f->contenders] = false;
    orr_gpu_counts_close(f->dry_run->counts);
}

/* --- serving --- */

static const struct orr_queue_rank *rank_of(const struct orr_victim_search *search,
                                            struct orr_leaf *leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    if (!leaf->ranked) {
        orr_flat__block(search, leaf->queue, leaf->held, &f->contenders[leaf->at].demand,
                        leaf->waiting, &leaf->worst);
        leaf->ranked = true;
    }
    return &leaf->worst;
}

/* The leaf that is served next; NULL: none has contenders left. */
static struct orr_leaf *next_leaf(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_leaf *best = NULL;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        struct orr_leaf *leaf = &f->leaves[t];
        if (leaf->left > 0 &&
            (best == NULL || orr_queue_compare_ranks(search->session, rank_of(search, leaf),
                                                     rank_of(search, best)) < 0)) {
            best = leaf;
        }
    }
    return best;
}

static bool over_limit(const struct orr_session *session, const struct orr_leaf *leaf,
                       const struct orr_demand *demand)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && leaf->limited; kind++) {
        const double limit = session->shares[leaf->queue].resource[kind].limit;
        if (session->rules.proportion && limit != ORR_UNLIMITED && demand->v[kind] > 0 &&
            limit < orr_demand_on(leaf->held[kind], demand, kind)) {
            return true;
        }
    }
    return false;
}

/* The leaf's next contender was served. */
static void pass(const struct orr_flat *f, struct orr_leaf *leaf, bool fits)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && fits; kind++) {
        leaf->held[kind] += f->contenders[leaf->at].demand.v[kind];
    }
    if (--leaf->left > 0) {
        next_block(f, leaf);
    }
}

/* Serves contenders in order until it is known whether the preemptor finds its place and, where
 * that matters, the victims theirs. */
static enum orr_outcome serve(const struct orr_victim_search *search,
                              const struct orr_victims *potential)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_run *r = f->dry_run;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    const bool weighed = search->action == ORR_ACTION_RECLAIM && search->session->rules.proportion;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        if (f->leaves[t].left > 0) {
            next_block(f, &f->leaves[t]);
        }
    }
    for (struct orr_leaf *leaf; (leaf = next_leaf(search)) != NULL;) {
        const struct orr_contender *contender = &f->contenders[leaf->at];
        const bool is_preemptor = contender == f->own;
        const bool fits = !over_limit(search->session, leaf, &contender->demand) &&
                          !(is_preemptor && f->over_quota) && place_all(r, contender);
        if (!fits && (is_preemptor || all_must)) {
            return ORR_OUTCOME_NOT_PLACED;
        }
        if (is_preemptor && !all_must && !weighed) {
            return ORR_OUTCOME_SOLVED;
        }
        if (weighed && !is_preemptor && fits) {
            memset(&r->is_back[contender->first_task], true, contender->tasks);
        }
        pass(f, leaf, fits);
    }
    return weighed && !orr_victim__may_reclaim(search, potential, r->is_back, false)
               ? ORR_OUTCOME_REJECTED
               : ORR_OUTCOME_SOLVED;
}

bool orr_victim__may_work(struct orr_victim_search *search, const struct orr_victims *potential)
{
    const struct orr_flat *f = search->refuter.flat;
    if (f == NULL || potential->count + search->recorded.count == 0) {
        return true;
    }
    open_scenario(search, potential);
    const enum orr_outcome outcome = serve(search, potential);
    close_scenario(search, potential);
    if (outcome != ORR_OUTCOME_SOLVED) {
        orr_victim__raise_outcome(search, outcome);
    }
    return outcome == ORR_OUTCOME_SOLVED;
}
