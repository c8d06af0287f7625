/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "dry-run" in flat worlds: served in fair order on counts of free GPUs (gpu_counts.c), the
 * preemptor finds no place, or the validator refuses what the others lose. */
#include "flat_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/gpu_counts.h>

struct orr_flat_run {
    uint64_t *is_chosen; /* by contender, a bit each */
    uint32_t *chosen;    /* contenders, ascending */
    uint32_t chosen_count;
    uint32_t contender_words;
    uint32_t *feasible; /* nodes that are open to the preemptor in any scenario, with room */
    uint32_t feasible_count;
    struct orr_gpu_counts *counts;
    uint32_t *tasks;  /* of the contender that is placed */
    uint32_t *active; /* leaves with contenders left */
    uint32_t active_count;
    bool *is_back; /* by task of a victim: it found a place; all false between */
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
    r->contender_words = f->contender_count / 64 + 1;
    r->is_chosen = orr_arena_alloc(f->arena, r->contender_words, sizeof *r->is_chosen);
    r->chosen = orr_arena_take(f->arena, f->contender_count, sizeof *r->chosen);
    r->is_back = orr_arena_alloc(f->arena, session->task_count, sizeof *r->is_back);
    r->feasible = orr_arena_take(f->arena, session->node_count, sizeof *r->feasible);
    r->active = orr_arena_take(f->arena, f->leaf_count, sizeof *r->active);
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
        if (search->feasible[n] && f->whole[n] > 0) {
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

static void choose_one(struct orr_flat_run *r, uint32_t contender)
{
    r->is_chosen[contender / 64] |= UINT64_C(1) << (contender & 63u);
}

static void choose(const struct orr_victim_search *search, const struct orr_victims *victims)
{
    const struct orr_flat *f = search->refuter.flat;
    for (uint32_t i = 0; i < victims->count; i++) {
        choose_one(f->dry_run, f->contender_of_job[victims->items[i].job]);
    }
}

static void list_chosen(const struct orr_flat *f)
{
    struct orr_flat_run *r = f->dry_run;
    r->chosen_count = 0;
    for (uint32_t w = 0; w < r->contender_words; w++) {
        for (uint64_t bits = r->is_chosen[w]; bits != 0; bits &= bits - 1) {
            r->chosen[r->chosen_count++] = 64 * w + (uint32_t)__builtin_ctzll(bits);
        }
        r->is_chosen[w] = 0;
    }
}

/* Contenders of a leaf are next to each other in line. */
static void open_leaves(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_run *r = f->dry_run;
    r->active_count = 0;
    for (uint32_t i = 0; i < r->chosen_count; i++) {
        const struct orr_contender *contender = &f->contenders[r->chosen[i]];
        struct orr_leaf *leaf = &f->leaves[contender->leaf];
        if (r->active_count == 0 || r->active[r->active_count - 1] != contender->leaf) {
            r->active[r->active_count++] = contender->leaf;
            leaf->at = i;
            leaf->passed = leaf->first;
            memcpy(leaf->held, search->session->queues[leaf->queue].allocated, sizeof leaf->held);
        }
        leaf->end = i + 1;
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS && contender != f->own; kind++) {
            leaf->held[kind] -= contender->demand.v[kind];
        }
    }
}

static void open_nodes(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_flat_run *r = f->dry_run;
    for (uint32_t i = 0; i < r->feasible_count; i++) {
        orr_gpu_counts_open(r->counts, r->feasible[i]);
    }
    for (uint32_t i = 0; i < r->chosen_count; i++) {
        const struct orr_contender *contender = &f->contenders[r->chosen[i]];
        for (uint32_t t = 0; t < contender->tasks && contender != f->own; t++) {
            orr_gpu_counts_evict(r->counts, contender->first_task + t);
        }
    }
    orr_gpu_counts_start(r->counts, 0, false);
}

/* --- serving --- */

static void next_block(const struct orr_victim_search *search, struct orr_leaf *leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    const uint32_t contender = f->dry_run->chosen[leaf->at];
    uint64_t waiting = 0;
    for (; leaf->passed <= contender; leaf->passed++) {
        waiting |= f->between[leaf->passed];
    }
    leaf->ranked = false;
    leaf->waiting = waiting;
}

static const struct orr_queue_rank *rank_of(const struct orr_victim_search *search,
                                            struct orr_leaf *leaf)
{
    const struct orr_flat *f = search->refuter.flat;
    if (!leaf->ranked) {
        const uint32_t contender = f->dry_run->chosen[leaf->at];
        orr_flat__block(search, leaf->queue, leaf->held, &f->contenders[contender].demand,
                        leaf->waiting, &leaf->worst);
        leaf->ranked = true;
    }
    return &leaf->worst;
}

static bool is_served_before(const struct orr_victim_search *search, uint32_t a, uint32_t b)
{
    const struct orr_flat *f = search->refuter.flat;
    const int fixed = orr_flat__compare_fixed(f, a, b);
    if (fixed != 0) {
        return fixed < 0;
    }
    return orr_queue_compare_ranks(search->session, rank_of(search, &f->leaves[a]),
                                   rank_of(search, &f->leaves[b])) < 0;
}

/* The leaf that is served next, by its place among those with contenders left. */
static uint32_t next_leaf(const struct orr_victim_search *search)
{
    const struct orr_flat_run *r = search->refuter.flat->dry_run;
    uint32_t best = 0;
    for (uint32_t i = 1; i < r->active_count; i++) {
        best = is_served_before(search, r->active[i], r->active[best]) ? i : best;
    }
    return best;
}

static void close_leaf(struct orr_flat_run *r, uint32_t at)
{
    for (r->active_count--; at < r->active_count; at++) {
        r->active[at] = r->active[at + 1];
    }
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

/* Serves contenders in order until it is known whether the preemptor finds its place and, where
 * that matters, the victims theirs. */
static enum orr_outcome serve(const struct orr_victim_search *search,
                              const struct orr_victims *potential)
{
    const struct orr_session *session = search->session;
    struct orr_flat *f = search->refuter.flat;
    const bool all_must = search->action == ORR_ACTION_CONSOLIDATION;
    const bool weighed = search->action == ORR_ACTION_RECLAIM && session->rules.proportion;
    bool placed = false;
    bool lost = false;
    struct orr_flat_run *r = f->dry_run;
    for (uint32_t i = 0; i < r->active_count; i++) {
        next_block(search, &f->leaves[r->active[i]]);
    }
    while (r->active_count > 0) {
        const uint32_t next = next_leaf(search);
        struct orr_leaf *leaf = &f->leaves[r->active[next]];
        const struct orr_contender *contender = &f->contenders[r->chosen[leaf->at]];
        const bool is_preemptor = contender == f->own;
        const bool fits = !over_limit(session, leaf, &contender->demand) &&
                          !(is_preemptor && f->over_quota) && place_all(r, contender);
        if (!fits && is_preemptor) {
            return ORR_OUTCOME_NOT_PLACED;
        }
        if (is_preemptor && !all_must && !weighed) {
            return ORR_OUTCOME_SOLVED;
        }
        placed = placed || is_preemptor;
        lost = lost || !fits;
        if (all_must && lost) {
            return ORR_OUTCOME_NOT_PLACED;
        }
        if (weighed && !is_preemptor && fits) {
            memset(&r->is_back[contender->first_task], true, contender->tasks);
        }
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS && fits; kind++) {
            leaf->held[kind] += contender->demand.v[kind];
        }
        if (++leaf->at < leaf->end) {
            next_block(search, leaf);
        } else {
            close_leaf(r, next);
        }
    }
    return weighed && !orr_victim__may_reclaim(search, potential, r->is_back, false)
               ? ORR_OUTCOME_REJECTED
               : ORR_OUTCOME_SOLVED;
}

static void close_scenario(const struct orr_flat *f)
{
    const struct orr_flat_run *r = f->dry_run;
    for (uint32_t i = 0; i < r->chosen_count; i++) {
        const struct orr_contender *contender = &f->contenders[r->chosen[i]];
        memset(&r->is_back[contender->first_task], false, contender->tasks);
    }
    orr_gpu_counts_close(r->counts);
}

bool orr_victim__may_work(struct orr_victim_search *search, const struct orr_victims *potential)
{
    struct orr_flat *f = search->refuter.flat;
    if (f == NULL || potential->count + search->recorded.count == 0) {
        return true;
    }
    choose(search, potential);
    choose(search, &search->recorded);
    choose_one(f->dry_run, (uint32_t)(f->own - f->contenders));
    list_chosen(f);
    open_leaves(search);
    open_nodes(search);
    const enum orr_outcome outcome = serve(search, potential);
    close_scenario(f);
    if (outcome != ORR_OUTCOME_SOLVED) {
        orr_victim__raise_outcome(search, outcome);
    }
    return outcome == ORR_OUTCOME_SOLVED;
}
