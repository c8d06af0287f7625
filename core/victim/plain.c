/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Potential victims of a plain world (forecast.c): in which order they come, and what is known at
 * once of those on some of the nodes as long as none are recorded.
 *
 * A step is a party, whole, and the order of parties is the same whatever is probed: it is worked
 * out once a search, as far as it is asked for. Tracks are siblings, so that the next victim is the
 * last in line of the track that would be worst off, which KAI's heaps would give as well.
 */
#include "forecast_int.h"

#include <string.h>

bool orr_victim__is_plain(const struct orr_victim_search *search)
{
    return search->forecast != NULL && search->recorded.count == 0;
}

/* --- the order of victims --- */

static uint32_t seat_of(const struct orr_forecast *f, uint32_t track)
{
    return f->line[f->tracks[track].first + f->plain->sources[track].left - 1];
}

/* What KAI's victim queues count of it: a party that only waits for its place holds nothing. */
static void give(const struct orr_seat *seat, struct orr_demand *given)
{
    for (unsigned kind = 0; kind < ORR_SHARE_KINDS && !seat->pipelined; kind++) {
        given->v[kind] += seat->demand.v[kind];
    }
}

/* The next victim is given up with those before it. */
static void give_next(const struct orr_victim_search *search, uint32_t track)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_source *source = &f->plain->sources[track];
    give(&f->seats[seat_of(f, track)], &source->given);
    source->rank.share_after =
        orr_queue_share_without(search->session, f->tracks[track].queue, &source->given);
}

/* The first of the open tracks goes where it belongs among the others, which are in order. */
static void sink(const struct orr_victim_search *search)
{
    struct orr_plain *plain = search->forecast->plain;
    const uint32_t track = plain->open[0];
    uint32_t at = 0;
    while (at + 1 < plain->open_count &&
           orr_queue_compare_ranks(search->session, &plain->sources[track].rank,
                                   &plain->sources[plain->open[at + 1]].rank) < 0) {
        plain->open[at] = plain->open[at + 1];
        at++;
    }
    plain->open[at] = track;
}

/* The preemptor is in line, but is no victim. */
static bool has_victim(const struct orr_forecast *f, uint32_t track)
{
    struct orr_source *source = &f->plain->sources[track];
    source->left -= source->left > 0 && seat_of(f, track) == 0;
    return source->left > 0;
}

static void open_sources(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_plain *plain = f->plain;
    for (uint32_t s = 0; s < f->seat_count; s++) {
        plain->sources[f->seats[s].track].left++;
    }
    for (uint32_t t = 0; t < f->track_count; t++) {
        if (has_victim(f, t)) {
            const struct orr_contender contender = {.queue = f->tracks[t].queue};
            plain->sources[t].rank = orr_queue_rank_of(search->session, &contender);
            give_next(search, t);
            memmove(plain->open + 1, plain->open, plain->open_count++ * sizeof *plain->open);
            plain->open[0] = t;
            sink(search);
        }
    }
}

void orr_forecast__make_plain(struct orr_victim_search *search)
{
    struct orr_forecast *f = search->forecast;
    const uint32_t nodes = search->session->node_count;
    struct orr_plain *plain = orr_arena_alloc(f->arena, 1, sizeof *plain);
    f->plain = plain;
    plain->sources = orr_arena_alloc(f->arena, f->track_count, sizeof *plain->sources);
    plain->open = orr_arena_take(f->arena, f->track_count, sizeof *plain->open);
    plain->victims = orr_arena_take(f->arena, f->seat_count, sizeof *plain->victims);
    plain->gangs = orr_arena_take(f->arena, f->seat_count, sizeof *plain->gangs);
    plain->taken = orr_arena_take(f->arena, f->seat_count, sizeof *plain->taken);
    plain->gangs_on = orr_arena_take(f->arena, nodes, sizeof *plain->gangs_on);
    plain->extra = orr_arena_alloc(f->arena, nodes, sizeof *plain->extra);
    open_sources(search);
    uint32_t tasks = 0; /* all may become potential victims */
    for (uint32_t s = 1; s < f->seat_count; s++) {
        tasks += f->seats[s].tasks;
    }
    search->potential =
        (struct orr_victims){.items = orr_alloc(tasks + (size_t)1, sizeof *search->potential.items),
                             .capacity = tasks + 1};
}

/* The seat after those looked at so far, or ORR_NONE. */
static uint32_t next_seat(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_plain *plain = f->plain;
    const uint32_t nth = plain->looked_at++;
    if (nth < plain->victim_count) {
        return plain->victims[nth];
    }
    if (plain->open_count == 0) {
        return ORR_NONE;
    }
    const uint32_t track = plain->open[0];
    const uint32_t seat = seat_of(f, track);
    plain->victims[plain->victim_count++] = seat;
    plain->sources[track].left--;
    if (has_victim(f, track)) {
        give_next(search, track);
        sink(search);
    } else {
        memmove(plain->open, plain->open + 1, --plain->open_count * sizeof *plain->open);
    }
    return seat;
}

/* --- those accumulated --- */

void orr_forecast__start_plain(const struct orr_victim_search *search)
{
    struct orr_plain *plain = search->forecast->plain;
    const uint32_t nodes = search->session->node_count;
    plain->all_first = true;
    plain->sizes = (struct orr_sizes){0};
    plain->gang_count = plain->looked_at = 0;
    plain->changes++; /* nothing is in hand */
    plain->same = 0;
    memset(plain->gangs_on, 0, nodes * sizeof *plain->gangs_on);
}

static void add_victim(struct orr_victim_search *search, const struct orr_seat *seat, uint32_t nth)
{
    const struct orr_capacities *c = &search->capacities;
    struct orr_plain *plain = search->forecast->plain;
    const uint32_t node = orr_forecast__node(search->session, seat, nth);
    const uint32_t before = orr_capacities_nth(c, node);
    const uint32_t room = c->since[node] == 0 ? 0 : (uint32_t)(c->with[node] / ORR_MGPU);
    const int64_t gpus = orr_forecast__gpus(search->session, seat, nth);
    struct orr_victim victim = {
        .task = seat->first_task + nth, .group = search->steps, .node = node, .job = seat->job};
    victim.before = orr_victim__add_capacity(search, &victim, gpus * ORR_MGPU);
    orr_victims_push(&search->potential, &victim);
    plain->gangs_on[node] += seat->tasks > 1;
    if (search->generator == ORR_MULTI_NODE_GANG) {
        orr_forecast__follow(search, room, before);
        const uint32_t now = orr_capacities_nth(c, node);
        const uint32_t changed = before < now ? before : now;
        plain->same = changed < plain->same ? changed : plain->same;
    }
}

bool orr_victim__take_next(struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    struct orr_plain *plain = f->plain;
    uint32_t index;
    do { /* who is recorded brings nothing new */
        index = next_seat(search);
        if (index == ORR_NONE) {
            return false;
        }
    } while (search->recorded.count > 0 && search->is_recorded[f->seats[index].first_task]);
    const struct orr_seat *seat = &f->seats[index];
    if (seat->tasks == 1) {
        add_victim(search, seat, 0);
    } else {
        struct orr_task_list tasks = {0};
        (void)orr_jobview_to_evict(search->session, orr_jobview_whole(seat->job), &tasks);
        for (uint32_t i = 0; i < tasks.count; i++) {
            add_victim(search, seat, tasks.tasks[i] - seat->first_task);
        }
        orr_task_list_release(&tasks);
        plain->gangs[plain->gang_count++] = index;
    }
    plain->all_first = plain->all_first && f->tracks[seat->track].goes_first;
    orr_forecast__count_size(&plain->sizes, seat);
    search->steps++;
    return true;
}

uint32_t orr_victim__same_nodes(const struct orr_victim_search *search)
{
    struct orr_plain *plain = search->forecast->plain;
    const uint32_t same = plain->tried == search->capacities.first ? plain->same : 0;
    plain->tried = search->capacities.first;
    plain->same = UINT32_MAX;
    return same;
}

bool orr_forecast__gang_is_on(const struct orr_victim_search *search, uint32_t index, uint32_t from,
                              uint32_t to)
{
    const struct orr_seat *gang = &search->forecast->seats[index];
    for (uint32_t t = 0; t < gang->tasks; t++) {
        const uint32_t node = orr_forecast__node(search->session, gang, t);
        const uint32_t at = search->capacities.at[node];
        if (at >= from && at < to) {
            return true;
        }
    }
    return false;
}

static bool all_come_before(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    return f->plain->all_first && f->room_in_all < orr_forecast__needed(f);
}

bool orr_victim__nothing_left(const struct orr_victim_search *search)
{
    const struct orr_forecast *f = search->forecast;
    return all_come_before(search) && orr_forecast__leave_nothing(f, &f->plain->sizes);
}

bool orr_victim__nothing_left_on(const struct orr_victim_search *search, uint32_t node)
{
    return all_come_before(search) && search->forecast->plain->gangs_on[node] == 0;
}
