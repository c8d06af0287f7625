/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures remembered from cycle to cycle. A search in a plain world (forecast.c) that found
 * nothing is not made again while all that it looked at is as it was: the preemptor, who may lose
 * something and where that runs, the room of the nodes, what the queues concerned hold and may
 * hold, and who waits in them before the last of the parties. All of it goes into one number.
 *
 * Jobs that come to wait at the end of a lane change nothing: they are served after everybody
 * concerned.
 */
#include "forecast_int.h"

#include <string.h>

static void take_in(uint64_t *sum, uint64_t word)
{
    *sum = orr_victim__mix(*sum ^ word) + UINT64_C(0x9e3779b97f4a7c15);
}

static void take_number(uint64_t *sum, double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    take_in(sum, word);
}

static void take_preemptor(uint64_t *sum, const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_sjob *job = &session->jobs[search->job];
    take_in(sum, job->serial);
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_place *place = &session->tasks[t].live;
        take_in(sum, (uint64_t)place->status << 32 | place->node);
    }
}

/* Of what a plain victim is, all else stays as it was when it started. */
static void take_candidate(uint64_t *sum, const struct orr_session *session, uint32_t index)
{
    const struct orr_sjob *job = &session->jobs[index];
    take_in(sum, job->serial);
    for (uint32_t t = job->first_task; t < job->first_task + job->task_count; t++) {
        const struct orr_place *place = &session->tasks[t].live;
        take_in(sum, (uint64_t)(place->status == ORR_TASK_PIPELINED) << 32 | place->node);
    }
}

static void take_nodes(uint64_t *sum, const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_forecast *f = search->forecast;
    for (uint32_t n = 0; n < session->node_count; n++) {
        const uint64_t gpus = (uint64_t)(session->nodes[n].allocatable.v[ORR_SLOT_GPU] / ORR_MGPU);
        /* What is idle is below zero where others wait for more than is being released. */
        take_in(sum, gpus << 32 | (uint32_t)f->idle[n]);
        take_in(sum, (uint64_t)f->base[n] << 1 | search->base_feasible[n]);
    }
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        take_number(sum, session->total[kind]);
    }
}

static void take_queue(uint64_t *sum, const struct orr_session *session, uint32_t queue)
{
    take_number(sum, session->shares[queue].priority);
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        const struct orr_share_resource *share = &session->shares[queue].resource[kind];
        take_in(sum, (uint64_t)session->queues[queue].allocated[kind]);
        take_in(sum, (uint64_t)session->queues[queue].nonpreemptible[kind]);
        take_number(sum, share->deserved);
        take_number(sum, share->fair_share);
        take_number(sum, share->limit);
        take_number(sum, share->allocated);
    }
}

/* Those above the tracks have no limits, and are the same for all parties: quota alone matters. */
static void take_queue_above(uint64_t *sum, const struct orr_session *session, uint32_t queue)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        take_in(sum, (uint64_t)session->queues[queue].nonpreemptible[kind]);
        take_number(sum, session->shares[queue].resource[kind].deserved);
    }
}

/* Who waits in the track's queue and is served before its last party. */
static void take_waiting(uint64_t *sum, const struct orr_victim_search *search, uint32_t last)
{
    const struct orr_backlog *backlog = search->session->backlog;
    const struct orr_forecast *f = search->forecast;
    const struct orr_backlog_leaf *leaf = &backlog->leaves[f->tracks[f->seats[last].track].queue];
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t index = leaf->lanes[i];
        const uint32_t count = orr_forecast__count_before(search, index, last, 0);
        if (count > 0) {
            take_in(sum, backlog->lanes[index].version);
            take_in(sum, count - orr_forecast__count_absent(search, index, 0, count));
        }
    }
    for (uint32_t i = 0; i < f->absent_count; i++) {
        const uint32_t lane = backlog->lane_of_job[f->absent[i]];
        if (lane != ORR_NONE &&
            backlog->lanes[lane].queue == f->tracks[f->seats[last].track].queue &&
            f->absent[i] != search->job) {
            take_in(sum, search->session->jobs[f->absent[i]].serial);
        }
    }
}

static void take_tracks(uint64_t *sum, const struct orr_victim_search *search)
{
    const struct orr_session *session = search->session;
    const struct orr_forecast *f = search->forecast;
    uint32_t *last = orr_alloc(f->track_count, sizeof *last);
    for (uint32_t t = 0; t < f->track_count; t++) {
        last[t] = ORR_NONE;
    }
    for (uint32_t s = 0; s < f->seat_count; s++) {
        uint32_t *of_track = &last[f->seats[s].track];
        *of_track =
            *of_track == ORR_NONE || orr_forecast__is_before(search, *of_track, s) ? s : *of_track;
    }
    for (uint32_t t = 0; t < f->track_count; t++) {
        take_in(sum, f->tracks[t].queue);
        take_queue(sum, session, f->tracks[t].queue);
        take_waiting(sum, search, last[t]);
    }
    uint32_t above = session->shares[f->tracks[0].queue].parent; /* they are siblings */
    for (; above != ORR_NONE; above = session->shares[above].parent) {
        take_queue_above(sum, session, above);
    }
    orr_free(last);
}

/* Never 0. */
static uint64_t world_of(const struct orr_victim_search *search)
{
    uint64_t sum = (uint64_t)search->action;
    take_preemptor(&sum, search);
    take_in(&sum, search->candidate_count);
    for (uint32_t i = 0; i < search->candidate_count; i++) {
        take_candidate(&sum, search->session, search->candidates[i].job);
    }
    take_nodes(&sum, search);
    take_tracks(&sum, search);
    return sum == 0 ? 1 : sum;
}

bool orr_victim__failed_before(struct orr_victim_search *search)
{
    if (search->forecast == NULL) {
        search->world = 0;
        return false;
    }
    const struct orr_failed_search *failed =
        &search->session->jobs[search->job].failed[search->action];
    search->world = world_of(search);
    if (failed->world != search->world) {
        return false;
    }
    orr_victim__reached(search, (enum orr_outcome)failed->outcome);
    return true;
}

void orr_victim__note_failure(const struct orr_victim_search *search)
{
    struct orr_sjob *job = &search->session->jobs[search->job];
    if (search->world != 0 && !search->simulated) {
        job->failed[search->action] =
            (struct orr_failed_search){.world = search->world, .outcome = search->reached};
    }
}
