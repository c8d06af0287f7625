/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which NUMA zones a pod would get on a node, and whether the node would take it at all.
 *
 * What the kubelet's topology manager does at admission, foreseen as KAI's numa plugin does: one
 * request after the other (of the pod, or of each container), each on a mask of zones that the
 * policy picks, each drawing zone by zone along its mask from what those before it left. */
#include <string.h>

#include "place_int.h"

#define SCORE_ALIGNED 100.0

struct alignment { /* of one pod on one node, while it is worked out */
    const struct orr_session *session;
    const struct orr_numa_node *node;
    const struct orr_ask *ask;
    struct orr_vec free[ORR_ZONES_MAX];
    struct orr_zone_take *take;
    uint32_t used; /* bits of zones drawn from */
    bool complete; /* every request found all it asks */
};

/* --- what is asked of zones --- */

static bool is_device(const struct orr_ask *ask, uint32_t slot)
{
    return slot >= ORR_SLOT_EXTENDED || (slot == ORR_SLOT_GPU && !orr_ask_is_shared(ask));
}

static bool asks_device(const struct orr_session *session, const struct orr_ask *ask,
                        const bool *aware)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (aware[s] && is_device(ask, s) && ask->request.v[s] > 0) {
            return true;
        }
    }
    return false;
}

/* A part of a CPU is never pinned, and only Guaranteed pods have CPUs and memory of their own. */
static int64_t asked_of_zones(const struct orr_ask *ask, const struct orr_vec *request, uint32_t s)
{
    if (s == ORR_SLOT_PODS || (!is_device(ask, s) && !ask->guaranteed) ||
        (s == ORR_SLOT_GPU && orr_ask_is_shared(ask)) ||
        (s == ORR_SLOT_CPU && request->v[s] % 1000 != 0)) {
        return 0;
    }
    return request->v[s];
}

static struct orr_vec request_of(const struct alignment *a, const struct orr_vec *request)
{
    struct orr_vec asked = {{0}};
    for (uint32_t s = 0; s < a->session->slot_count; s++) {
        asked.v[s] = a->node->aware[s] ? asked_of_zones(a->ask, request, s) : 0;
    }
    return asked;
}

static bool covers(const struct orr_session *session, const struct orr_vec *asked,
                   const struct orr_vec *zones, uint32_t mask)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        int64_t sum = 0;
        for (uint32_t z = 0; z < ORR_ZONES_MAX; z++) {
            sum += (mask >> z & 1u) != 0 ? zones[z].v[s] : 0;
        }
        if (asked->v[s] > 0 && sum < asked->v[s]) {
            return false;
        }
    }
    return true;
}

/* --- masks --- */

/* The fewest zones whose allocatable amounts cover the resource, the largest first; 0: none do. */
static uint32_t preferred_width(const struct orr_numa_node *node, uint32_t slot, int64_t asked)
{
    uint32_t width = 0;
    uint32_t taken = 0;
    while (asked > 0 && width < node->spec.zone_count) {
        uint32_t best = ORR_NONE;
        for (uint32_t z = 0; z < node->spec.zone_count; z++) {
            if ((taken >> z & 1u) == 0 &&
                (best == ORR_NONE ||
                 node->spec.zones[z].v[slot] > node->spec.zones[best].v[slot])) {
                best = z;
            }
        }
        taken |= 1u << best;
        asked -= node->spec.zones[best].v[slot];
        width++;
    }
    return asked > 0 ? 0 : width;
}

/* The width that all resources prefer; 0: they differ, or one cannot be had. */
static uint32_t common_width(const struct alignment *a, const struct orr_vec *asked)
{
    uint32_t width = ORR_NONE;
    for (uint32_t s = 0; s < a->session->slot_count; s++) {
        if (asked->v[s] <= 0) {
            continue;
        }
        const uint32_t its = preferred_width(a->node, s, asked->v[s]);
        if (its == 0 || (width != ORR_NONE && width != its)) {
            return 0;
        }
        width = its;
    }
    return width == ORR_NONE ? 0 : width;
}

/* The next set of as many zones, by the zones' numbers; false after the last. */
static bool next_choice(uint32_t *choice, uint32_t width, uint32_t zones)
{
    uint32_t at = width;
    while (at > 0 && choice[at - 1] == zones - width + at - 1) {
        at--;
    }
    if (at == 0) {
        return false;
    }
    choice[at - 1]++;
    for (; at < width; at++) {
        choice[at] = choice[at - 1] + 1;
    }
    return true;
}

/* The first set of `width` zones that covers the request; 0: none does. */
static uint32_t first_mask(const struct alignment *a, const struct orr_vec *asked, uint32_t width)
{
    uint32_t choice[ORR_ZONES_MAX];
    const uint32_t zones = a->node->spec.zone_count;
    for (uint32_t i = 0; i < width; i++) {
        choice[i] = i;
    }
    do {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < width; i++) {
            mask |= 1u << choice[i];
        }
        if (covers(a->session, asked, a->free, mask)) {
            return mask;
        }
    } while (next_choice(choice, width, zones));
    return 0;
}

/* --- drawing --- */

static void draw_from(struct alignment *a, struct orr_vec *asked, uint32_t zone)
{
    for (uint32_t s = 0; s < a->session->slot_count; s++) {
        const int64_t free = a->free[zone].v[s] > 0 ? a->free[zone].v[s] : 0;
        const int64_t amount = asked->v[s] < free ? asked->v[s] : free;
        a->free[zone].v[s] -= amount;
        a->take->zones[zone].v[s] += amount;
        asked->v[s] -= amount;
    }
    a->used |= 1u << zone;
}

static bool is_zero(const struct orr_session *session, const struct orr_vec *asked)
{
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (asked->v[s] > 0) {
            return false;
        }
    }
    return true;
}

/* What a zone has of what is missing: milli-CPU, bytes and devices in one sum, as KAI adds them. */
static double coverage(const struct alignment *a, const struct orr_vec *asked, uint32_t zone)
{
    double sum = 0;
    for (uint32_t s = 0; s < a->session->slot_count; s++) {
        const int64_t free = a->free[zone].v[s] > 0 ? a->free[zone].v[s] : 0;
        const int64_t amount = asked->v[s] < free ? asked->v[s] : free;
        sum += s == ORR_SLOT_GPU ? (double)amount / ORR_MGPU : (double)amount;
    }
    return sum;
}

static bool draw_best_effort(struct alignment *a, struct orr_vec asked)
{
    while (!is_zero(a->session, &asked)) {
        uint32_t best = ORR_NONE;
        double most = 0;
        for (uint32_t z = 0; z < a->node->spec.zone_count; z++) {
            const double sum = coverage(a, &asked, z);
            if (sum > most) {
                most = sum;
                best = z;
            }
        }
        if (best == ORR_NONE) {
            return false;
        }
        draw_from(a, &asked, best);
    }
    return true;
}

/* One request; false if the policy cannot align it, and then nothing or, best effort, a part of it
 * is drawn. */
static bool align_request(struct alignment *a, const struct orr_vec *request)
{
    struct orr_vec asked = request_of(a, request);
    if (is_zero(a->session, &asked)) {
        return true;
    }
    if (a->node->spec.policy == ORR_NUMA_BEST_EFFORT) {
        return draw_best_effort(a, asked);
    }
    const uint32_t width = a->node->spec.policy == ORR_NUMA_SINGLE ? 1 : common_width(a, &asked);
    const uint32_t mask = width > 0 ? first_mask(a, &asked, width) : 0;
    for (uint32_t z = 0; mask != 0 && z < a->node->spec.zone_count; z++) {
        if ((mask >> z & 1u) != 0) {
            draw_from(a, &asked, z);
        }
    }
    return mask != 0;
}

/* Init containers come and go before the others: each has all that is free, and keeps nothing. */
static bool init_fits(const struct alignment *of, const struct orr_vec *request)
{
    struct orr_zone_take ignored = {0};
    struct alignment alone = *of;
    memcpy(alone.free, of->node->free, sizeof alone.free);
    alone.take = &ignored;
    return align_request(&alone, request);
}

static void add_request(const struct alignment *a, struct orr_vec *sum,
                        const struct orr_vec *request)
{
    for (uint32_t s = 0; s < a->session->slot_count; s++) {
        sum->v[s] += asked_of_zones(a->ask, request, s);
    }
}

static bool align_containers(struct alignment *a)
{
    const struct orr_ask *ask = a->ask;
    struct orr_vec pod = {{0}};
    bool aligned = true;
    for (uint32_t i = 0; i < ask->container_count; i++) {
        const struct orr_container *container = &ask->containers[i];
        if (container->init) {
            aligned = init_fits(a, &container->request) && aligned;
        } else if (a->node->spec.by_pod) {
            add_request(a, &pod, &container->request);
        } else {
            aligned = align_request(a, &container->request) && aligned;
        }
    }
    return (!a->node->spec.by_pod || align_request(a, &pod)) && aligned;
}

static bool applies(const struct orr_session *session, const struct orr_ask *ask,
                    const struct orr_numa_node *node)
{
    return node != NULL && node->spec.policy != ORR_NUMA_NONE &&
           (ask->guaranteed || asks_device(session, ask, node->aware));
}

/* False if not aligned. */
static bool align(const struct orr_session *session, const struct orr_ask *ask,
                  const struct orr_numa_node *node, struct orr_zone_take *take, uint32_t *used)
{
    struct alignment a = {.session = session, .node = node, .ask = ask, .take = take};
    memcpy(a.free, node->free, sizeof a.free);
    *take = (struct orr_zone_take){0};
    const bool aligned =
        ask->containers != NULL ? align_containers(&a) : align_request(&a, &ask->request);
    *used = a.used;
    return aligned;
}

/* --- for the other files of the room --- */

bool orr_place__zones_admit(const struct orr_session *session, const struct orr_ask *ask,
                            uint32_t node)
{
    const struct orr_numa_node *numa = session->nodes[node].numa;
    struct orr_zone_take take;
    uint32_t used;
    return !session->rules.numa || !applies(session, ask, numa) ||
           numa->spec.policy == ORR_NUMA_BEST_EFFORT || align(session, ask, numa, &take, &used);
}

bool orr_place__choose_zones(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node, struct orr_zone_take *take)
{
    const struct orr_numa_node *numa = session->nodes[node].numa;
    uint32_t used;
    if (!session->rules.numa || !applies(session, ask, numa)) {
        return false;
    }
    (void)align(session, ask, numa, take, &used); /* best effort takes what it gets */
    return true;
}

/* KAI numa: the fewer zones the better; where nothing is known, as bad as the worst node. */
double orr_place__zone_score(const struct orr_session *session, const struct orr_ask *ask,
                             uint32_t node)
{
    const struct orr_numa_node *numa = session->nodes[node].numa;
    struct orr_zone_take take;
    uint32_t used;
    if (!session->rules.numa || session->zones_max == 0 ||
        !(ask->guaranteed || asks_device(session, ask, session->zone_aware))) {
        return 0;
    }
    if (!applies(session, ask, numa)) {
        return SCORE_ALIGNED / (numa != NULL && numa->spec.zone_count > 0 ? numa->spec.zone_count
                                                                          : session->zones_max);
    }
    if (!align(session, ask, numa, &take, &used)) {
        return 0;
    }
    uint32_t span = 0;
    for (; used != 0; used &= used - 1) {
        span++;
    }
    return SCORE_ALIGNED / (span > 0 ? span : 1);
}
