/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "aggregate": a dry run (dry_run_flat.c) on less, how many nodes have how much room, leaves
 * the preemptor none. It serves when nothing is
 * idle anywhere, so that nodes with equal room are as good as each other, and says for sure when
 * the preemptor finds no place. Everything else is left to the dry run. What is taken back while
 * it waits for GPUs being released leaves fewer idle than none, so that these are like the others.
 *
 * Victims of one queue that are next to each other in line, ask the same and have nobody waiting
 * between them are a run. Of a run only the number of chosen ones matters.
 */
#include "aggregate_int.h"

#include <string.h>

/* --- runs --- */

static bool same_run(const struct orr_flat *f, uint32_t place)
{
    const struct orr_contender *a = &f->contenders[f->line[place - 1]];
    const struct orr_contender *b = &f->contenders[f->line[place]];
    return f->between[place] == 0 && a->leaf == b->leaf && a != f->contenders &&
           b != f->contenders && a->tasks == 1 && b->tasks == 1 && a->gpus == b->gpus &&
           memcmp(&a->demand, &b->demand, sizeof a->demand) == 0;
}

struct orr_aggregate *orr_flat__make_aggregate(struct orr_victim_search *search)
{
    struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = orr_arena_alloc(f->arena, 1, sizeof *aggregate);
    aggregate->runs = orr_arena_take(f->arena, f->contender_count, sizeof *aggregate->runs);
    aggregate->first_run = orr_arena_alloc(f->arena, f->leaf_count + (size_t)1, sizeof(uint32_t));
    aggregate->stretches =
        orr_arena_take(f->arena, f->contender_count, sizeof *aggregate->stretches);
    aggregate->services = orr_arena_alloc(f->arena, f->leaf_count, sizeof *aggregate->services);
    aggregate->active = orr_arena_take(f->arena, f->leaf_count, sizeof *aggregate->active);
    for (uint32_t p = 0; p < f->contender_count; p++) {
        const uint32_t contender = f->line[p];
        const uint32_t leaf = f->contenders[contender].leaf;
        if (p == 0 || f->contenders[f->line[p - 1]].leaf != leaf) {
            aggregate->first_run[leaf] = aggregate->run_count;
        }
        if (p == 0 || !same_run(f, p)) {
            const bool first = aggregate->first_run[leaf] == aggregate->run_count;
            const uint32_t before =
                first ? ORR_NONE : aggregate->runs[aggregate->run_count - 1].waits;
            aggregate->runs[aggregate->run_count] =
                (struct run){.contender = contender,
                             .leaf = leaf,
                             .gpus = f->contenders[contender].gpus * f->contenders[contender].tasks,
                             .waits = f->between[p] != 0 ? aggregate->run_count : before,
                             .waiting = f->between[p]};
            aggregate->run_count++;
        }
        f->contenders[contender].run = aggregate->run_count - 1;
    }
    aggregate->first_run[f->leaf_count] = aggregate->run_count;
    return aggregate;
}

void orr_flat__start_aggregate(struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    aggregate->usable = f->whole_in_all == 0 && f->most_idle == 0 && search->recorded.count == 0 &&
                        !f->contenders[0].unlike;
    for (uint32_t t = 0; t < f->leaf_count; t++) {
        aggregate->usable = aggregate->usable && !f->leaves[t].limited;
    }
}

/* --- aggregates known from earlier searches --- */

static void fingerprint_runs(const struct orr_victim_search *search)
{
    const struct orr_flat *f = search->refuter.flat;
    struct orr_aggregate *aggregate = f->aggregate;
    aggregate->printed_for = search->k;
    aggregate->ranks = NULL;
    aggregate->fingerprint = 0;
    orr_victim__hash_totals(&aggregate->fingerprint, search->session);
    for (uint32_t d = 0; d < f->demand_count; d++) {
        aggregate->demand_fingerprints[d] = 0;
        orr_victim__hash_demand(&aggregate->demand_fingerprints[d], &f->demands[d]);
    }
    for (uint32_t r = 0; r < aggregate->run_count; r++) {
        const struct orr_contender *contender = &f->contenders[aggregate->runs[r].contender];
        const struct orr_leaf *leaf = &f->leaves[contender->leaf];
        uint64_t *fingerprint = &aggregate->runs[r].fingerprint;
        *fingerprint = 0;
        orr_victim__hash_demand(fingerprint, &contender->demand);
        orr_fingerprint_word(fingerprint,
                             orr_victim_index_fingerprint_of(search->session, leaf->queue));
        orr_fingerprint_word(fingerprint, (uint64_t)leaf->queue << 2 |
                                              (uint64_t)leaf->served_first << 1 |
                                              (contender == f->contenders));
        orr_fingerprint_word(fingerprint, (uint64_t)contender->gpus << 32 | contender->tasks);
    }
}

static uint64_t fingerprint_waiting(const struct orr_aggregate *aggregate, uint64_t waiting)
{
    uint64_t fingerprint = 0;
    for (; waiting != 0; waiting &= waiting - 1) {
        fingerprint += aggregate->demand_fingerprints[__builtin_ctzll(waiting)];
    }
    return fingerprint;
}

/* Odd, and unlike each other. */
#define PRINT_OF_PLACE UINT64_C(0x9e3779b97f4a7c15)
#define PRINT_OF_ONE   UINT64_C(0xd1b54a32d192ed03)

/* Contenders of the run that comes next in its leaf, of whose runs those before `from` are passed.
 */
static struct stretch stretch_of(const struct orr_aggregate *aggregate, uint32_t run, uint32_t from)
{
    struct stretch stretch = {.turn.run = run, .count = aggregate->window->counts[run]};
    const uint32_t waits = aggregate->runs[run].waits;
    for (uint32_t r = from; waits != ORR_NONE && r <= waits; r++) {
        stretch.turn.waiting |= aggregate->runs[r].waiting;
    }
    return stretch;
}

/* Lists who is chosen, leaf by leaf. Returns a fingerprint of all that serving looks at: it ends
 * the same for equal fingerprints, though these be other jobs on other nodes. */
static uint64_t list_scenario(const struct orr_flat *f, const struct orr_room_histogram *rooms)
{
    struct orr_aggregate *aggregate = f->aggregate;
    uint64_t fingerprint = aggregate->fingerprint;
    for (uint32_t bits = rooms->some; bits != 0; bits &= bits - 1) {
        const uint32_t gpus = (uint32_t)__builtin_ctz(bits);
        fingerprint += orr_scatter((uint64_t)gpus << 32 | rooms->count[gpus]);
    }
    uint32_t nth = 0;
    uint32_t from = 0;
    uint32_t lacking = 0;
    struct service *service = NULL;
    aggregate->active_count = 0;
    for (uint32_t word = 0; 64 * word < aggregate->run_count; word++) {
        for (uint64_t bits = aggregate->window->some[word]; bits != 0; bits &= bits - 1) {
            const uint32_t r = 64 * word + (uint32_t)__builtin_ctzll(bits);
            const struct run *run = &aggregate->runs[r];
            if (service != &aggregate->services[run->leaf]) {
                service = &aggregate->services[run->leaf];
                service->first = &aggregate->stretches[nth];
                aggregate->active[aggregate->active_count++] = run->leaf;
                from = aggregate->first_run[run->leaf];
                lacking = aggregate->window->gpus[run->leaf];
            }
            struct stretch *stretch = &aggregate->stretches[nth++];
            *stretch = stretch_of(aggregate, r, from);
            stretch->turn.lacking = lacking;
            service->end = stretch + 1;
            lacking -= stretch->count * run->gpus;
            from = r + 1;
            fingerprint += orr_scatter(run->fingerprint + PRINT_OF_PLACE * nth +
                                       PRINT_OF_ONE * stretch->count +
                                       fingerprint_waiting(aggregate, stretch->turn.waiting));
        }
    }
    return fingerprint;
}

/* What serving answered, as it is kept: false or true. 0: it was not asked. */
enum { LEAVES_NONE = 1, LEAVES_SOME };

/* What serving answers, or answered when it was asked the same in this search or another one. */
static bool serve_or_recall(const struct orr_victim_search *search, const struct orr_taken *taken)
{
    struct orr_aggregate *aggregate = search->refuter.flat->aggregate;
    aggregate->window = taken->window;
    if (aggregate->printed_for != search->k) {
        fingerprint_runs(search);
    }
    struct orr_answers *known = &search->session->victim_index->aggregates;
    const uint64_t fingerprint = list_scenario(search->refuter.flat, taken->rooms);
    unsigned answer = orr_answers_find(known, fingerprint);
    if (answer == 0) {
        answer = orr_aggregate__serve(search, taken->rooms, &taken->window->tasks) ? LEAVES_SOME
                                                                                   : LEAVES_NONE;
        orr_answers_note(known, fingerprint, answer);
    }
    return answer == LEAVES_SOME;
}

/* Of victims that an aggregate will do for. */
static bool may_leave_place(struct orr_victim_search *search, const struct orr_taken *taken)
{
    const struct orr_flat *f = search->refuter.flat;
    const struct orr_contender *own = f->contenders;
    const bool one_node = taken->to == taken->from + 1 && !taken->sizes.gangs;
    if (f->over_quota ||
        (taken->window->late == 0 &&
         (one_node || orr_flat__leave_nothing(f, &taken->sizes) ||
          orr_histogram__hold_all(taken->rooms, &taken->window->tasks))) ||
        orr_histogram__places(taken->rooms, own->gpus) < own->tasks) {
        return false;
    }
    return serve_or_recall(search, taken);
}

bool orr_victim__leaves_place(struct orr_victim_search *search, uint32_t from, uint32_t to,
                              uint32_t nth)
{
    struct orr_taken taken;
    if (!search->refuter.flat->aggregate->usable) {
        return true;
    }
    orr_flat__take(search, from, to, nth, &taken);
    const bool place = taken.sizes.unlike || may_leave_place(search, &taken);
    orr_flat__put_back(search, &taken);
    return place;
}
