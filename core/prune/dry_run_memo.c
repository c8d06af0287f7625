/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions of a probe's dry runs that came to nothing.
 *
 * Most scenarios have the victims of an earlier one and a few more. Once these few were served and
 * are back, the dry run often comes to a position of the earlier one: the same victims are left,
 * the same jobs wait before them, and as many open nodes have as much room. From there both do the
 * same, so that they end the same.
 *
 * What follows a position hangs on nothing else. Queues hold what they held before the search but
 * for what is left, what was lost for good and what the preemptor was given, and all of these are
 * part of the position. Reclaim's validator judges what is lost; where victims that come back count
 * as lost too, these are part of the position as well. Who is popped next hangs on what queues hold
 * and on the order's fingerprint, unless the order is unclear (joborder.h). Where GPUs are counted,
 * nodes of equal room are as good as each other; if some GPUs are idle, or a job has a constraint
 * of topology, each node counts (gpu_counts.c), and with a constraint also which nodes are open.
 */
#include "dry_run.h"
#include "flat_int.h"

#define ANSWERS      (1u << 14)
#define OUTCOME_BITS UINT64_C(15)

void orr_dry_run__start_positions(const struct orr_apart *s)
{
    struct orr_dry_run *run = s->run;
    run->position_count = 0;
    run->left = 0;
    for (uint32_t v = 0; v < s->victim_count; v++) {
        run->left += s->victims[v].fingerprint;
    }
}

void orr_dry_run__was_served(const struct orr_session *session, const struct orr_apart *s,
                             const struct orr_apart_victim *victim)
{
    s->run->left += orr_apart__trace(session, victim) - victim->fingerprint;
}

void orr_dry_run__was_placed(struct orr_dry_run *run)
{
    run->left += orr_scatter(~UINT64_C(0));
}

static uint64_t *slot_of(const struct orr_victim_search *search, uint64_t position)
{
    struct orr_victim_index *all = search->session->victim_index;
    if (all->dry_runs == NULL) {
        all->dry_runs = orr_zalloc(ANSWERS, sizeof *all->dry_runs);
    }
    return &all->dry_runs[(position >> 8) % ANSWERS];
}

enum orr_outcome orr_dry_run__known_outcome(const struct orr_victim_search *search, uint64_t order)
{
    struct orr_dry_run *run = search->refuter.apart->run;
    uint64_t position = orr_scatter(run->probe);
    orr_fingerprint_word(&position, run->left);
    orr_fingerprint_word(&position, order);
    orr_fingerprint_word(&position, run->counts->content);
    orr_fingerprint_word(&position, run->open_set);
    position |= OUTCOME_BITS;
    const uint64_t answer = *slot_of(search, position);
    run->positions[run->position_count++] = position;
    return (answer | OUTCOME_BITS) == position ? (enum orr_outcome)(answer & OUTCOME_BITS)
                                               : ORR_OUTCOME_SOLVED;
}

void orr_dry_run__note(const struct orr_victim_search *search, enum orr_outcome outcome)
{
    const struct orr_dry_run *run = search->refuter.apart->run;
    for (uint32_t i = 0; i < run->position_count; i++) {
        const uint64_t position = run->positions[i];
        *slot_of(search, position) = (position & ~OUTCOME_BITS) | (uint64_t)outcome;
    }
}
