/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions of dry runs that came to nothing, of this search and of earlier ones.
 *
 * Most scenarios have the victims of an earlier one and a few more. Once these few were served and
 * are back, the dry run often comes to a position of the earlier one: the same victims are left,
 * the same jobs wait before them, and as many open nodes have as much room. From there both do the
 * same, so that they end the same. A search that fails is mostly followed by one for the same job
 * where a few nodes, queues or jobs are others, and many scenarios begin as one of the earlier
 * search did.
 *
 * Where GPUs are counted, it does not matter which victims are left, only how much they ask, what
 * waits before them and how many others are behind them in their queues (apart.c): mostly one has
 * ended since the earlier search and another one of its queue has its place. Who did not come back
 * matters to reclaim's validator.
 *
 * What follows a position hangs on nothing else. Queues hold what they held before the search,
 * which its fingerprint has (fingerprint.c), but for what is left, what was lost for good and what
 * the preemptor was given, and all of these are part of the position. Reclaim's validator judges
 * what is lost; where victims that come back count as lost too, these are part of the position as
 * well. Who is popped next hangs on what queues hold, on those that wait and may count
 * (waiting_fingerprint.c) and on the order's fingerprint, unless the order is unclear (joborder.h);
 * where nobody was served yet, on the first two alone. Where GPUs are counted, nodes of equal room
 * that the same filters admit are as good as each other; if some GPUs are idle, or a job has a
 * constraint of topology, each node counts (gpu_counts.c). With a constraint so does what all nodes
 * have, by which domains are put in order, and which domains all open nodes are in. On books each
 * node counts that has room (sketch_content.c), and with a constraint nothing is noted. Rules,
 * names, ages, asks, filters and the topology are the session's and do not change.
 */
#include "dry_run.h"
#include "flat_int.h"

/* Which of a scenario's victims are recorded ones counts for the validator: it goes through the
 * potential ones of a pod set first (validate.c). */
void orr_dry_run__start_probe(struct orr_victim_search *search)
{
    struct orr_dry_run *run = search->refuter.apart->run;
    uint64_t recorded = 0;
    if (run->probe == search->refuter.probe) {
        return;
    }
    run->probe = search->refuter.probe;
    for (uint32_t i = 0; i < search->recorded.count; i++) {
        recorded += orr_apart__fingerprint_task(search, search->recorded.items[i].task);
    }
    if (search->refuter.marks == NULL) { /* in a flat world */
        orr_victim__waiting_fingerprint(search);
    }
    run->base = orr_scatter(orr_victim__search_fingerprint(search));
    orr_fingerprint_word(&run->base, search->k);
    orr_fingerprint_word(&run->base, recorded);
}

/* A victim that came back with all it lost is as if it never was one. */
void orr_dry_run__was_served(const struct orr_session_rules *rules, struct orr_dry_run *run,
                             const struct orr_apart_victim *victim)
{
    const uint64_t lost = victim->loss->fingerprint;
    const bool as_before = victim->back && victim->loss->due == victim->lost &&
                           victim->none_waits && rules->allow_consolidating_reclaim;
    run->left -= victim->key;
    run->left += as_before ? 0 : orr_scatter(lost + (victim->back ? 1 : 2));
    run->all_back_from = as_before ? run->all_back_from : run->position_count;
}

void orr_dry_run__was_placed(struct orr_dry_run *run)
{
    run->left += orr_scatter(~UINT64_C(0));
}

static enum orr_outcome look_up(const struct orr_victim_search *search, uint64_t left,
                                uint64_t order, uint64_t content)
{
    struct orr_dry_run *run = search->refuter.apart->run;
    /* All are sums of hashes; with odd factors of their own none can take another one's place. */
    const uint64_t position = orr_scatter(run->base + left + order * UINT64_C(0x9e3779b97f4a7c15) +
                                          content * UINT64_C(0xd6e8feb86659fd93));
    const unsigned answer = orr_answers_find(&search->session->victim_index->dry_runs, position);
    run->positions[run->position_count++] = position;
    run->found = run->found != 0 ? run->found : answer;
    return answer == 0 || search->session->rules.prune.verify ? ORR_OUTCOME_SOLVED
                                                              : (enum orr_outcome)answer;
}

enum orr_outcome orr_dry_run__known_outcome(const struct orr_victim_search *search, uint64_t order)
{
    const struct orr_apart *s = search->refuter.apart;
    return look_up(search, s->run->left, order, orr_dry_run__content(search->session, s));
}

/* Once with the victims themselves, and once with victims that are like them. Who waits between
 * these and the preemptor is told by who waits before it. */
enum orr_outcome orr_dry_run__known_beginning(const struct orr_victim_search *search,
                                              uint64_t content)
{
    struct orr_dry_run *run = search->refuter.apart->run;
    run->position_count = run->all_back_from = run->found = 0;
    const enum orr_outcome known = look_up(search, run->lost, 0, content);
    return known != ORR_OUTCOME_SOLVED ? known : look_up(search, run->left, 0, content);
}

/* What is rejected hangs on who does not come back: it is known of the beginning, and of positions
 * from which on all do. */
void orr_dry_run__note(const struct orr_victim_search *search, enum orr_outcome outcome)
{
    const struct orr_dry_run *run = search->refuter.apart->run;
    const bool alike = run->counted && outcome == ORR_OUTCOME_REJECTED;
    for (uint32_t i = 0; i < run->position_count; i++) {
        if (i == 0 || i >= run->all_back_from || !alike) {
            orr_answers_note(&search->session->victim_index->dry_runs, run->positions[i], outcome);
        }
    }
}
