/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments against all scenarios of a search at once.
 *
 *   any            without all possible victims no node would have room for a task
 *   reclaim        whoever is a victim is served before the preemptor, and leaves it nothing
 *   consolidation  whoever is moved, there are not enough places for all
 */
#include "forecast_int.h"

#include <string.h>

/* --- who goes first --- */

struct orr_seat_bound orr_forecast__bound(const struct orr_seat *seats, uint32_t count)
{
    struct orr_seat_bound bound = {.any = count > 0, .last = count - 1};
    for (uint32_t s = 0; s < count; s++) {
        for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            const int64_t amount = seats[s].demand.v[kind];
            const bool less = s == 0 || amount < bound.least.v[kind];
            bound.least.v[kind] = less ? amount : bound.least.v[kind];
        }
    }
    return bound;
}

/* Whichever of the lane's jobs are victims: all are served before the preemptor. Each victim that
 * is next in line stands, with what it asks, no worse than the queue stands now; a waiting job
 * before it finds at least one victim not yet placed again. */
static bool all_go_first(struct orr_forecast *f, struct orr_victim_search *search, uint32_t lane,
                         const struct orr_queue_rank *preemptor)
{
    const struct orr_session *session = search->session;
    const struct orr_track *at = &f->tracks[lane];
    const struct orr_seat_bound bound = at->bound;
    if (!bound.any) {
        return true;
    }
    static const struct orr_demand nothing;
    const int64_t *held = session->queues[at->queue].allocated;
    struct orr_queue_rank worst;
    struct orr_queue_rank waiting;
    int64_t less[ORR_SHARE_KINDS];
    uint64_t demands = 0;
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        less[kind] = held[kind] - bound.least.v[kind];
        const double limit = session->shares[at->queue].resource[kind].limit;
        if (limit != ORR_UNLIMITED && orr_share_units(kind, held[kind]) > limit) {
            return false; /* a victim might not come back */
        }
    }
    orr_forecast__block(search, at->queue, held, &nothing, 0, &worst);
    const struct orr_parties last = {f->seats, &bound.last, 1};
    if (!orr_forecast__demands(search, &last, &demands)) {
        return false;
    }
    if (demands != 0) {
        orr_forecast__block(search, at->queue, less, &nothing, demands, &waiting);
        orr_forecast__take_worse(session, &worst, &waiting);
    }
    return orr_queue_compare_amounts(session, &worst, preemptor) < 0;
}

void orr_forecast__count_size(struct orr_sizes *sizes, const struct orr_seat *seat)
{
    sizes->set |= 1u << seat->gpus;
    sizes->gangs = sizes->gangs || seat->tasks > 1;
    sizes->unlike = sizes->unlike || seat->unlike;
}

uint32_t orr_forecast__gpus(const struct orr_session *session, const struct orr_seat *seat,
                            uint32_t task)
{
    return seat->unlike ? (uint32_t)(orr_task_ask(session, &session->tasks[seat->first_task + task])
                                         ->request.v[ORR_SLOT_GPU] /
                                     ORR_MGPU)
                        : seat->gpus;
}

/* If all victims come back, there is as little room as before, which is less than the preemptor
 * needs. If a single task does not, no node has the room it asked, from then on. So the preemptor
 * gets nothing
 * - if no victim is larger than its tasks, and none is a gang;
 * - if all victims ask the same: whatever is where, their places are as many as they are;
 * - if there are two sizes, the smaller divides the larger, and the larger fills a node: small
 * tasks go to nodes already begun before they begin another, and begin one only if all others are
 * full, so that what is left over then is enough for the large ones. */
bool orr_forecast__leave_nothing(const struct orr_forecast *f, const struct orr_sizes *sizes)
{
    uint32_t small = 1;
    uint32_t large = ORR_FORECAST_GPUS;
    while (small < ORR_FORECAST_GPUS && (sizes->set >> small & 1u) == 0) {
        small++;
    }
    while (large > small && (sizes->set >> large & 1u) == 0) {
        large--;
    }
    const bool two = sizes->set == (1u << small | 1u << large);
    if (sizes->unlike) {
        return false;
    }
    return small == large || (!sizes->gangs && large <= f->seats[0].gpus) ||
           (two && large % small == 0 && (int32_t)large >= f->largest_node &&
            f->most_idle < (int32_t)small);
}

static bool all_leave_nothing(const struct orr_forecast *f)
{
    struct orr_sizes sizes = {0};
    for (uint32_t s = 1; s < f->seat_count; s++) {
        orr_forecast__count_size(&sizes, &f->seats[s]);
    }
    return orr_forecast__leave_nothing(f, &sizes);
}

/* With all victims together some node would pass KAI's filter of single nodes for one task. */
static bool accumulate_enough(const struct orr_forecast *f, const struct orr_session *session)
{
    int32_t *room = orr_alloc(session->node_count, sizeof *room);
    bool enough = false;
    for (uint32_t n = 0; n < session->node_count; n++) {
        room[n] = f->base[n];
        enough = enough || room[n] >= (int32_t)f->seats[0].gpus;
    }
    for (uint32_t s = 1; s < f->seat_count && !enough; s++) {
        for (uint32_t t = 0; t < f->seats[s].tasks; t++) {
            const uint32_t node = session->tasks[f->seats[s].first_task + t].live.node;
            room[node] += (int32_t)orr_forecast__gpus(session, &f->seats[s], t);
            enough = enough || room[node] >= (int32_t)f->seats[0].gpus;
        }
    }
    orr_free(room);
    return enough;
}

bool orr_forecast__compare_tracks(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    const struct orr_session *session = search->session;
    const uint32_t own = f->seats[0].track;
    const uint32_t queue = f->tracks[own].queue;
    struct orr_queue_rank preemptor;
    uint64_t demands = 0;
    if (f->compared_for == search->k) {
        return true;
    }
    const uint32_t first = 0;
    const struct orr_parties alone = {f->seats, &first, 1};
    if (!orr_forecast__demands(search, &alone, &demands)) {
        return false;
    }
    orr_forecast__block(search, queue, session->queues[queue].allocated, &f->seats[0].demand,
                        demands, &preemptor);
    for (uint32_t t = 0; t < f->track_count; t++) {
        f->tracks[t].goes_first = t != own && search->action == ORR_ACTION_RECLAIM &&
                                  session->rules.proportion &&
                                  all_go_first(f, search, t, &preemptor);
    }
    f->compared_for = search->k;
    return true;
}

/* --- consolidation --- */

/* A node with room for r has at most r / z places for z GPUs, and a task that asks for a takes at
 * least a / z of them, wherever it goes. So if all that are moved and the preemptor find a place,
 *
 *     sum over nodes of (free + moved away) / z  >=  sum over those moved of a / z  +  own / z
 *
 * whatever z is, all divisions rounded down. What a victim adds at most to the difference is what
 * its tasks leave of a multiple of z, so that all of them together add most. */
static bool lacks_places(const struct orr_forecast *f, const struct orr_session *session,
                         int32_t *room, int32_t z)
{
    int64_t places = 0;
    memcpy(room, f->base, session->node_count * sizeof *room);
    for (uint32_t s = 1; s < f->seat_count; s++) {
        for (uint32_t t = 0; t < f->seats[s].tasks; t++) {
            const uint32_t node = session->tasks[f->seats[s].first_task + t].live.node;
            room[node] += (int32_t)orr_forecast__gpus(session, &f->seats[s], t) % z;
        }
    }
    for (uint32_t n = 0; n < session->node_count; n++) {
        places += room[n] / z;
    }
    return places < (int32_t)f->seats[0].gpus / z;
}

static bool nobody_can_be_moved(const struct orr_forecast *f, const struct orr_session *session)
{
    int32_t *room = orr_alloc(session->node_count, sizeof *room);
    bool hopeless = false;
    for (int32_t z = (int32_t)f->seats[0].gpus; z > 1 && !hopeless; z--) {
        hopeless = lacks_places(f, session, room, z);
    }
    orr_free(room);
    return hopeless;
}

/* --- reclaim --- */

static bool all_tracks_go_first(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    if (f->room_in_all >= (int64_t)f->seats[0].gpus || !orr_forecast__compare_tracks(search)) {
        return false;
    }
    for (uint32_t t = 0; t < f->track_count; t++) {
        if (t != f->seats[0].track && !f->tracks[t].goes_first) {
            return false;
        }
    }
    return true;
}

/* All victims of a node that are served before the preemptor come back to it, if none of them runs
 * elsewhere too. */
static bool any_gang(const struct orr_forecast *f)
{
    for (uint32_t s = 1; s < f->seat_count; s++) {
        if (f->seats[s].tasks > 1) {
            return true;
        }
    }
    return false;
}

static bool nobody_can_lose(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    if (!all_tracks_go_first(search)) {
        return false;
    }
    search->fails_on_one_node = !any_gang(f);
    return all_leave_nothing(f);
}

bool orr_victim__hopeless(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    if (f == NULL) {
        return false;
    }
    if (!accumulate_enough(f, search->session)) {
        orr_victim__reached(search, ORR_OUTCOME_FILTERED);
        return true;
    }
    const bool hopeless = search->action == ORR_ACTION_CONSOLIDATION
                              ? nobody_can_be_moved(f, search->session)
                          : search->action == ORR_ACTION_RECLAIM ? nobody_can_lose(search)
                                                                 : false;
    if (hopeless) {
        orr_victim__reached(search, ORR_OUTCOME_NOT_PLACED);
    }
    return hopeless;
}
