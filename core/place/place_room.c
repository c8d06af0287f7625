/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counting how many equal tasks fit, from the nodes that changed. */
#include <orrery/core/rooms.h>

#include "place_int.h"

#define PLENTY 1000000u /* more tasks than any job has */

void orr_rooms_release(struct orr_rooms *rooms)
{
    for (uint32_t r = 0; r < rooms->count; r++) {
        orr_free(rooms->items[r].on_node);
    }
    orr_free(rooms->items);
    orr_free(rooms->of_ask);
    orr_free(rooms->free_on);
    *rooms = (struct orr_rooms){0};
}

static uint32_t add_room(struct orr_rooms *rooms, const struct orr_session *session, uint32_t ask)
{
    for (uint32_t r = 0; r < rooms->count; r++) {
        if (orr_place__asks_same(session, rooms->items[r].ask, ask)) {
            return r;
        }
    }
    rooms->items = ORR_ROOM_FOR_ONE(rooms->items, rooms->count, rooms->capacity);
    rooms->items[rooms->count] = (struct orr_ask_room){
        .ask = ask,
        /* zones may refuse what has room */
        .exact = !orr_ask_is_shared(&session->asks[ask]) &&
                 !(session->rules.numa && session->zones_max > 0),
        .on_node = orr_zalloc(session->node_count + (size_t)1, sizeof(uint32_t))};
    return rooms->count++;
}

uint32_t orr_rooms_of(struct orr_rooms *rooms, const struct orr_session *session, uint32_t ask)
{
    while (rooms->ask_count <= ask) {
        rooms->of_ask = ORR_ROOM_FOR_ONE(rooms->of_ask, rooms->ask_count, rooms->ask_capacity);
        rooms->of_ask[rooms->ask_count++] = ORR_NONE;
    }
    if (rooms->of_ask[ask] == ORR_NONE) {
        rooms->of_ask[ask] = add_room(rooms, session, ask);
    }
    return rooms->of_ask[ask];
}

/* The same tests as for placing one task, solved for the number of tasks: a placement takes from
 * idle or from what is being released, and only their sum counts here. */
static uint32_t room_on(const struct orr_session *session, const struct orr_ask *ask, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    if (!orr_node_admits_ask(session, ask, n)) {
        return 0;
    }
    if (orr_ask_is_shared(ask)) {
        return orr_place__fitting(session, ask, node).at_all ? PLENTY : 0;
    }
    if (!orr_place__pods_fit(session, ask, node)) {
        return 0; /* also a task that counts as no pod needs a node that takes pods */
    }
    const int64_t slots = orr_place__pod_slots(session, node);
    int64_t fit = PLENTY;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t free = node->idle.v[s] + node->releasing.v[s];
        const int64_t room = s == ORR_SLOT_PODS && slots < free ? slots : free;
        const int64_t need = ask->request.v[s];
        if (need > room) {
            return 0;
        }
        if (need > 0 && room / need < fit) {
            fit = room / need;
        }
    }
    return (uint32_t)fit;
}

int64_t orr_rooms_left(struct orr_rooms *rooms, const struct orr_session *session, uint32_t room)
{
    struct orr_ask_room *at = &rooms->items[room];
    const struct orr_ask *ask = &session->asks[at->ask];
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > at->seen; n = session->nodes[n].older) {
        const uint32_t now = room_on(session, ask, n);
        at->total += (int64_t)now - (int64_t)at->on_node[n];
        at->on_node[n] = now;
    }
    at->seen = session->node_generation;
    return at->total;
}

struct orr_free_sum orr_rooms_free(struct orr_rooms *rooms, const struct orr_session *session)
{
    if (rooms->free_on == NULL) {
        rooms->free_on = orr_zalloc(session->node_count + (size_t)1, sizeof *rooms->free_on);
    }
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > rooms->free_seen;
         n = session->nodes[n].older) {
        struct orr_free_sum now = {0};
        if (session->nodes[n].ready) {
            now.mgpu = orr_session_idle_gpus(session, n) + orr_session_releasing_gpus(session, n);
            now.mib = orr_session_free_mib(&session->nodes[n]);
        }
        rooms->free.mgpu += now.mgpu - rooms->free_on[n].mgpu;
        rooms->free.mib += now.mib - rooms->free_on[n].mib;
        rooms->free_on[n] = now;
    }
    rooms->free_seen = session->node_generation;
    return rooms->free;
}
