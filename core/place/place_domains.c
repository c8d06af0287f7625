/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the domains of a topology have left for tasks of a size, kept from one attempt to the next.
 *
 * Of each pair of a topology and a representative request (the element-wise largest of the tasks):
 * how many such tasks fit on each node, what is free on it of what they ask, and the sums of both
 * by domain. A question looks at the nodes that changed since the last one and at the domains they
 * are in. */
#include "place_int.h"

#include <math.h>

#define MAX_ENTRIES 4000000u /* of nodes, in all that is kept */
#define MIN_KEPT    8u
#define MOST        (INT64_C(1) << 46) /* that a node without a bound counts as: sums stay sums */

/* --- one node --- */

static double leftover_gpus(const struct orr_snode *node)
{
    double sum = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        const int64_t free = node->gpu_memory_mib - gpu->allocated + gpu->releasing;
        if (gpu->used > 0 && free > 0) {
            sum += (double)free / (double)node->gpu_memory_mib;
        }
    }
    return sum * ORR_MGPU;
}

/* Representative pods a node can take: the element-wise largest request stands for all. None where
 * more of anything is promised than there is, also of what they do not ask. */
static int64_t pods_on(const struct orr_session *session, const struct orr_vec *max,
                       const struct orr_snode *node)
{
    int64_t pods = INT64_MAX;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t each = max->v[s];
        const int64_t free = node->idle.v[s] + node->releasing.v[s];
        int64_t fit = free < each ? 0 : each == 0 ? INT64_MAX : free < 2 * each ? 1 : free / each;
        if (s == ORR_SLOT_GPU && each > 0 && each < ORR_MGPU) {
            fit = (int64_t)floor(((double)free + leftover_gpus(node)) / (double)each);
        }
        if (fit <= 0) {
            return 0;
        }
        pods = fit < pods ? fit : pods;
    }
    return pods;
}

static int64_t free_on(const struct orr_snode *node, uint32_t slot)
{
    const int64_t free = node->idle.v[slot] + node->releasing.v[slot];
    return free < MOST ? free : MOST;
}

/* --- sums --- */

static void add_to_domains(struct orr_domain_sums *sums, uint32_t node, uint32_t column,
                           int64_t more)
{
    uint32_t first = 1;
    sums->of_domain[column] += more; /* the root */
    for (uint32_t l = 0; l < sums->level_count; l++) {
        const uint32_t domain = first + sums->levels[l].domain_of_node[node];
        sums->of_domain[(size_t)domain * sums->columns + column] += more;
        first += sums->levels[l].domain_count;
    }
}

static void set_column(struct orr_domain_sums *sums, uint32_t n, uint32_t column, int64_t now)
{
    int64_t *before = &sums->on_node[(size_t)n * sums->columns + column];
    if (now != *before) {
        add_to_domains(sums, n, column, now - *before);
        *before = now;
    }
}

static bool is_in_topology(const struct orr_domain_sums *sums, uint32_t n)
{
    return sums->levels[sums->level_count - 1].domain_of_node[n] != ORR_NONE;
}

static void look_at(struct orr_domain_sums *sums, const struct orr_session *session, uint32_t n)
{
    const struct orr_snode *node = &session->nodes[n];
    for (uint32_t c = 0; c < sums->columns && is_in_topology(sums, n); c++) {
        const uint32_t s = sums->slots[c];
        set_column(sums, n, c,
                   s == ORR_NONE ? pods_on(session, &sums->max, node) : free_on(node, s));
    }
}

/* The same where GPUs decide and the pods ask whole ones and nothing else: both columns at once. */
static void look_at_gpus(struct orr_domain_sums *sums, uint32_t n, int32_t gpus)
{
    int64_t *before = &sums->on_node[(size_t)n * 2];
    const int64_t free = (int64_t)gpus * ORR_MGPU;
    if (free == before[1] || !is_in_topology(sums, n)) {
        return;
    }
    const int64_t pods = gpus / (int32_t)(sums->max.v[ORR_SLOT_GPU] / ORR_MGPU);
    const int64_t more_pods = pods - before[0], more_free = free - before[1];
    int64_t *domains = sums->of_domain;
    domains[0] += more_pods; /* the root */
    domains[1] += more_free;
    domains += 2;
    for (uint32_t l = 0; l < sums->level_count; l++) {
        const size_t domain = sums->levels[l].domain_of_node[n];
        domains[2 * domain] += more_pods;
        domains[2 * domain + 1] += more_free;
        domains += 2 * (size_t)sums->levels[l].domain_count;
    }
    before[0] = pods;
    before[1] = free;
}

/* Domains and the root. */
static uint32_t count_domains(const struct orr_topology *topology)
{
    uint32_t count = 1;
    for (uint32_t l = 0; l < topology->level_count; l++) {
        count += topology->levels[l].domain_count;
    }
    return count;
}

static struct orr_domain_sums *new_sums(const struct orr_session *session,
                                        const struct orr_topology *topology,
                                        const struct orr_vec *max)
{
    uint32_t columns = 1;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        columns += s != ORR_SLOT_PODS && max->v[s] > 0;
    }
    const size_t rows = (size_t)session->node_count + count_domains(topology);
    struct orr_domain_sums *sums =
        orr_zalloc(1, sizeof *sums + rows * columns * sizeof sums->on_node[0] +
                          session->node_count * sizeof sums->looked_at[0]);
    sums->levels = topology->levels;
    sums->level_count = topology->level_count;
    sums->node_count = session->node_count;
    sums->max = *max;
    sums->columns = 1;
    sums->slots[0] = ORR_NONE;
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (s != ORR_SLOT_PODS && max->v[s] > 0) {
            sums->slots[sums->columns++] = s;
        }
    }
    sums->on_node = (int64_t *)(void *)(sums + 1);
    sums->of_domain = sums->on_node + (size_t)session->node_count * columns;
    sums->looked_at = (uint32_t *)(void *)(sums->on_node + rows * columns);
    for (uint32_t n = 0; n < session->node_count; n++) {
        look_at(sums, session, n);
    }
    sums->seen = session->node_generation;
    return sums;
}

static bool serves(const struct orr_session *session, const struct orr_domain_sums *sums,
                   const struct orr_topology *topology, const struct orr_vec *max)
{
    if (sums->levels != topology->levels || sums->node_count != session->node_count) {
        return false;
    }
    for (uint32_t s = 0; s < session->slot_count; s++) {
        if (sums->max.v[s] != max->v[s]) {
            return false;
        }
    }
    return true;
}

/* Where the next sums go: a place of their own, or that of those nobody asked for longest. */
static uint32_t free_place(struct orr_session *session)
{
    const uint64_t entries = (uint64_t)session->place->domain_sum_count * session->node_count;
    if (session->place->domain_sum_count < MIN_KEPT || entries < MAX_ENTRIES) {
        session->place->domain_sums =
            ORR_ROOM_FOR_ONE(session->place->domain_sums, session->place->domain_sum_count,
                             session->place->domain_sum_capacity);
        return session->place->domain_sum_count++;
    }
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < session->place->domain_sum_count; i++) {
        oldest =
            session->place->domain_sums[i]->asked_at < session->place->domain_sums[oldest]->asked_at
                ? i
                : oldest;
    }
    orr_free(session->place->domain_sums[oldest]);
    return oldest;
}

/* On counts nodes that are not open are as in their books. */
static void look_at_counts(struct orr_domain_sums *sums, const struct orr_gpu_counts *counts)
{
    ORR_ASSERT(sums->columns == 2 && sums->slots[1] == ORR_SLOT_GPU);
    for (uint32_t i = 0; i < counts->open_count; i++) {
        const uint32_t n = counts->open[i];
        look_at_gpus(sums, n, counts->nodes[n].room);
    }
}

static void leave_counts(struct orr_domain_sums *sums, const struct orr_session *session,
                         const struct orr_gpu_counts *counts)
{
    for (uint32_t i = 0; i < counts->open_count; i++) {
        const uint32_t n = counts->open[i];
        look_at_gpus(sums, n, (int32_t)(free_on(&session->nodes[n], ORR_SLOT_GPU) / ORR_MGPU));
    }
}

/* In a sketch books of nodes change without their generation, and mostly several times. */
static void look_at_touched(struct orr_domain_sums *sums, const struct orr_session *session,
                            const struct orr_sketch *sketch)
{
    size_t from = sums->sketch_run == sketch->run ? sums->sketch_touched : 0;
    sums->looks++;
    for (; from < sketch->touched_count; from++) {
        const uint32_t n = sketch->touched[from];
        if (sums->looked_at[n] != sums->looks) {
            sums->looked_at[n] = sums->looks;
            look_at(sums, session, n);
        }
    }
    sums->sketch_touched = from;
}

const struct orr_domain_sums *orr_domain_sums_of(struct orr_session *session,
                                                 const struct orr_topology *topology,
                                                 const struct orr_vec *max,
                                                 const struct orr_sketch *sketch)
{
    struct orr_domain_sums *sums = NULL;
    for (uint32_t i = 0; i < session->place->domain_sum_count && sums == NULL; i++) {
        sums = serves(session, session->place->domain_sums[i], topology, max)
                   ? session->place->domain_sums[i]
                   : NULL;
    }
    if (sums == NULL) {
        const uint32_t place = free_place(session);
        sums = session->place->domain_sums[place] = new_sums(session, topology, max);
    }
    for (uint32_t n = session->newest_node;
         n != ORR_NONE && session->nodes[n].changed_at > sums->seen; n = session->nodes[n].older) {
        look_at(sums, session, n);
    }
    sums->seen = session->node_generation;
    sums->asked_at = ++session->place->questions;
    if (sketch != NULL && sketch->counts != NULL) {
        look_at_counts(sums, sketch->counts);
    } else if (sketch != NULL) {
        look_at_touched(sums, session, sketch);
    }
    sums->sketch_run = sketch != NULL ? sketch->run : 0;
    return sums;
}

void orr_domain_sums__leave(struct orr_session *session, const struct orr_sketch *sketch)
{
    for (uint32_t i = 0; i < session->place->domain_sum_count; i++) {
        struct orr_domain_sums *sums = session->place->domain_sums[i];
        if (sums->sketch_run == sketch->run && sketch->counts != NULL) {
            leave_counts(sums, session, sketch->counts);
        } else if (sums->sketch_run == sketch->run) {
            look_at_touched(sums, session, sketch);
        }
    }
}
