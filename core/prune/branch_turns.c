/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branches served alone: in which order the jobs of a top-level queue are popped, and how it ranks
 * until then, if every victim comes back as it is popped.
 *
 * As long as victims come back, what queues below a top-level queue hold depends on jobs below it
 * alone, and so does the order in which these are popped, whatever is popped elsewhere in between.
 * So each top-level queue is played by itself, literally. At the root that one is popped next that
 * ranks first, if the heap there is one from the start: with three queues at most every sift looks
 * at all of them; with more, no comparison may have turned out otherwise while it was built. One
 * branch is ahead of another up to a pop if all its ranks until then are better than the worst of
 * the other's.
 *
 * What came of playing a branch is kept from search to search by a fingerprint of all that was
 * read: victims and preemptor, how the queues below stand and who waits in them as far as it was
 * looked at (reach.c).
 */
#include "branches.h"

#include "flat_int.h"

/* --- playing a branch --- */

/* How the queues below stand, and who waits in them. */
static void read_context(struct orr_session *session, const struct orr_branches *s,
                         struct orr_queue_branch *branch)
{
    const uint32_t index = (uint32_t)(branch - s->branches);
    uint64_t fingerprint = 1 + branch->queue;
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (s->branch_of[q] == index) {
            orr_fingerprint_word(&fingerprint, orr_victim_index_generation_of(session, q));
            orr_reach__fingerprint(&fingerprint, session, q);
        }
    }
    for (uint32_t i = 0; i < session->changed_count; i++) { /* since the backlog was */
        const struct orr_sjob *job = &session->jobs[session->changed_jobs[i]];
        if (job->queue != ORR_NONE && s->branch_of[job->queue] == index) {
            orr_victim__fingerprint_job(&fingerprint, session, session->changed_jobs[i]);
        }
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        orr_fingerprint_number(&fingerprint, session->total[kind]);
    }
    branch->context = fingerprint == 0 ? 1 : fingerprint;
}

static void list_waiting(struct orr_victim_search *search, struct orr_queue_branch *branch)
{
    const struct orr_session *session = search->session;
    const struct orr_branches *s = search->refuter.branches;
    orr_victim__list_waiting(search);
    branch->waiting =
        orr_arena_take(&search->memory, search->waiting_count + (size_t)1, sizeof *branch->waiting);
    for (uint32_t i = 0; i < search->waiting_count; i++) {
        const uint32_t queue = session->jobs[search->waiting[i].view.job].queue;
        if (&s->branches[s->branch_of[queue]] == branch) {
            branch->waiting[branch->waiting_count++] = search->waiting[i];
        }
    }
}

/* Looked at further than ever: the context has more jobs from now on. */
static void note_reach(const struct orr_session *session, const struct orr_branches *s,
                       struct orr_queue_branch *branch, const struct orr_order *order)
{
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (&s->branches[s->branch_of[q]] == branch &&
            orr_reach__note_entry(session, q, orr_order_last_read(order, q))) {
            branch->context = 0;
        }
    }
}

static void take_turn(struct orr_turns *turns, uint32_t job)
{
    if (turns->count < ORR_TURNS_KEPT) {
        turns->turns[turns->count] = (struct orr_turn){.job = job, .worst = turns->watch.worst};
    }
    turns->last = job;
    turns->count++;
}

static void rank_head(const struct orr_session *session, const struct orr_branches *s,
                      uint32_t queue, const struct orr_demand *job, struct orr_order_watch *watch)
{
    const struct orr_queue_rank rank = orr_queue_rank_of(
        session,
        &(struct orr_queue_claim){.queue = queue, .allocated = s->hypothetical[queue], .job = job});
    if (!watch->popped || orr_queue_compare_amounts(session, &watch->worst, &rank) < 0) {
        watch->worst = rank;
    }
    if (!watch->built) {
        watch->least = watch->most = rank;
    }
    watch->built = watch->popped = true;
}

/* A branch that is one queue: its jobs are popped best first, whatever it holds. */
static void play_queue(struct orr_victim_search *search, struct orr_queue_branch *branch,
                       const struct orr_order_entry *served, uint32_t count,
                       struct orr_turns *turns)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    const bool *unlisted = orr_branches__unlisted(s);
    uint32_t w = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (; w < branch->waiting_count; w++) {
            const struct orr_order_entry *waiting = &branch->waiting[w];
            if (unlisted != NULL && unlisted[waiting->view.job]) {
                continue;
            }
            if (orr_order_compare_jobs(session, waiting, &served[i]) > 0) {
                break;
            }
            rank_head(session, s, branch->queue, &waiting->demand, &turns->watch);
        }
        rank_head(session, s, branch->queue, &served[i].demand, &turns->watch);
        take_turn(turns, served[i].view.job);
        if (served[i].view.job == search->job) {
            break;
        }
        orr_branches__give_back(session, s, &s->victims[s->slot_of[served[i].view.job] - 1]);
    }
    if (orr_reach__note_entry(session, branch->queue,
                              w < branch->waiting_count ? &branch->waiting[w] : NULL)) {
        branch->context = 0;
    }
}

static void play_tree(struct orr_victim_search *search, struct orr_queue_branch *branch,
                      struct orr_order *order, const struct orr_order_entry *served, uint32_t left,
                      struct orr_turns *turns)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    struct orr_jobview view;
    orr_order_restart(order);
    order->hypothetical = (const int64_t(*)[ORR_SHARE_KINDS])s->hypothetical;
    order->watch = &turns->watch;
    orr_order_build_over(order, branch->waiting, branch->waiting_count, orr_branches__unlisted(s),
                         served, left);
    for (; left > 0 && orr_order_pop(order, &view); left--) {
        take_turn(turns, view.job);
        if (view.job == search->job) {
            break;
        }
        orr_branches__give_back(session, s, &s->victims[s->slot_of[view.job] - 1]);
    }
    note_reach(session, s, branch, order);
}

/* Until the preemptor or the last victim is popped. */
static void play(struct orr_victim_search *search, struct orr_queue_branch *branch,
                 struct orr_turns *turns)
{
    const struct orr_session *session = search->session;
    struct orr_branches *s = search->refuter.branches;
    struct orr_order *order = orr_victim_index_order(search->session);
    const bool own = branch == &s->branches[s->own];
    uint32_t count;
    turns->count = 0;
    turns->last = ORR_NONE;
    turns->watch = (struct orr_order_watch){0};
    if (branch->waiting == NULL) {
        list_waiting(search, branch);
    }
    const struct orr_order_entry *served =
        orr_branches__entries(search, order, branch->first, own, &count);
    for (uint32_t v = branch->first; v != ORR_NONE; v = s->victims[v].next) {
        orr_branches__evict(session, s, &s->victims[v]);
    }
    if (branch->is_queue && count > 0) {
        play_queue(search, branch, served, count, turns);
    } else {
        play_tree(search, branch, order, served, count, turns);
    }
    for (uint32_t v = branch->first; v != ORR_NONE; v = s->victims[v].next) {
        orr_branches__restore(session, s, &s->victims[v]);
    }
    turns->all_served = turns->count == count && (!own || turns->last == search->job);
}

const struct orr_turns *orr_branches__turns(struct orr_victim_search *search,
                                            struct orr_queue_branch *branch)
{
    struct orr_branches *s = search->refuter.branches;
    if (branch->context == 0) {
        read_context(search->session, s, branch);
    }
    uint64_t fingerprint = branch->context;
    orr_fingerprint_word(&fingerprint, branch->victims);
    if (branch == &s->branches[s->own]) {
        orr_fingerprint_word(&fingerprint, s->preemptor + search->k);
    }
    struct orr_turns *kept = orr_victim_index_turns(search->session, fingerprint);
    if (kept->fingerprint != fingerprint) {
        play(search, branch, kept);
        kept->fingerprint = branch->context == 0 ? 0 : fingerprint;
    }
    return kept;
}

/* --- the order among branches --- */

static int compare(const struct orr_session *session, const struct orr_queue_rank *a,
                   const struct orr_queue_rank *b)
{
    return orr_queue_compare_numbers(session, a, b);
}

/* While the heap of branches was built, the two compared always the same. */
static bool stay_apart(const struct orr_session *session, const struct orr_order_watch *a,
                       const struct orr_order_watch *b)
{
    const bool steady =
        compare(session, &a->least, &a->most) == 0 && compare(session, &b->least, &b->most) == 0;
    return steady || compare(session, &a->most, &b->least) < 0 ||
           compare(session, &b->most, &a->least) < 0;
}

bool orr_branches__is_heap(struct orr_victim_search *search)
{
    const struct orr_branches *s = search->refuter.branches;
    struct orr_order_watch *watches = orr_arena_take(&search->arena, s->count, sizeof *watches);
    bool apart = true;
    /* A queue that is no branch but a leaf ranks the same all the while. */
    const bool steady = s->count <= 3 || s->count == search->session->queue_count;
    for (uint32_t a = 0; apart && !steady && a < s->count; a++) {
        watches[a] = orr_branches__turns(search, &s->branches[a])->watch;
        for (uint32_t b = 0; apart && watches[a].built && b < a; b++) {
            apart = !watches[b].built || stay_apart(search->session, &watches[a], &watches[b]);
        }
    }
    return apart;
}
