/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pruner "regain", consolidation: a victim cannot get back all that it would lose.
 *
 * Every task that is moved must be placed again (validate.c), and every job is served once. A job
 * of one pod set gets, when it is served, the rest of its gang or, if it has that, one task more
 * (orr_jobview_to_allocate); where that is less than it lost, one of the lost ones stays without a
 * place, whatever room there is and whoever goes first. Of a active tasks and a minimum m, l lost
 * ones are more than the max (m - a + l, 1) it is given if and only if l > 1 and a > m.
 *
 * So a job that runs more than its minimum may lose one task. The victims of a single node are all
 * potential ones of the jobs that have any there; those of several nodes are all steps that have
 * any there, and of more nodes more.
 */
#include "prune_int.h"

struct orr_losses {
    struct orr_loss {      /* of a job */
        uint64_t probe;    /* in which it lost: */
        uint32_t tasks;    /* recorded and potential victims */
        uint32_t recorded; /* of these */
        uint32_t window;   /* the last one in which a victim of it was seen */
    } * jobs;
    uint64_t probe;        /* in which victims were counted, */
    uint32_t window, seen; /* so many potential ones */
};

static struct orr_loss *loss_of(struct orr_losses *losses, uint32_t job)
{
    struct orr_loss *loss = &losses->jobs[job];
    if (loss->probe != losses->probe) {
        *loss = (struct orr_loss){.probe = losses->probe};
    }
    return loss;
}

static void count_lost(const struct orr_session *session, struct orr_losses *losses, uint32_t task,
                       bool recorded)
{
    if (orr_status_in(session->tasks[task].live.status, ORR_STATES_ACTIVE_ALLOCATED)) {
        struct orr_loss *loss = loss_of(losses, session->tasks[task].job);
        loss->tasks++;
        loss->recorded += recorded;
    }
}

static struct orr_losses *count_losses(struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    struct orr_losses *losses = search->refuter.losses;
    if (losses == NULL) {
        losses = orr_arena_alloc(&search->memory, 1, sizeof *losses);
        losses->jobs = orr_arena_alloc(&search->memory, session->job_count, sizeof *losses->jobs);
        search->refuter.losses = losses;
    }
    if (losses->probe != search->refuter.probe) {
        losses->probe = search->refuter.probe;
        losses->seen = 0;
        for (uint32_t i = 0; i < search->recorded.count; i++) {
            count_lost(session, losses, search->recorded.items[i].task, true);
        }
    }
    for (; losses->seen < search->potential.count; losses->seen++) {
        count_lost(session, losses, search->potential.items[losses->seen].task, false);
    }
    return losses;
}

/* It loses more than it would be given as soon as it loses two tasks. */
static bool runs_more(const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    return job->set_count == 2 && session->sets[job->first_set + 1].is_pods &&
           (int32_t)job->active > session->sets[job->first_set + 1].min;
}

/* The victim's step has more of them. */
static bool is_of_many(const struct orr_victims *victims, uint32_t at)
{
    const uint32_t step = victims->items[at].group;
    return (at > 0 && victims->items[at - 1].group == step) ||
           (at + 1 < victims->count && victims->items[at + 1].group == step);
}

bool orr_victim__cannot_regain(struct orr_victim_search *search, uint32_t from, uint32_t to,
                               bool is_single)
{
    const struct orr_capacities *c = &search->capacities;
    const struct orr_victims *potential = &search->potential;
    struct orr_losses *losses = count_losses(search);
    const uint32_t window = ++losses->window;
    for (uint32_t n = from; n < to; n++) {
        for (uint32_t at = orr_capacities_last_on(c, c->bearing[n]); at != ORR_NONE;
             at = potential->items[at].before) {
            struct orr_loss *loss = loss_of(losses, potential->items[at].job);
            if (loss->tasks > 1 && runs_more(search->session, potential->items[at].job) &&
                (is_single || loss->window == window || loss->recorded > 0 ||
                 is_of_many(potential, at))) {
                return true;
            }
            loss->window = window;
        }
    }
    return false;
}
