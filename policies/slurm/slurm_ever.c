/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_ever.c - could the empty nodes of a partition hold a job, all of them or those that are up
 * and not withdrawn from a pass? One that they could not hold blocks nobody. */
#include "slurm_int.h"

#include <string.h>

/* By the selector, in rooms that are empty. */
static bool could_select(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                         const struct slurm_partition *p, const uint64_t *nodes)
{
    uint32_t *held = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *held);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->image[n] = orr_slurm__full_room(orr_cluster_type(view->cluster, n));
        held[n] = slurm->exclusive[n];
        slurm->exclusive[n] = 0;
    }
    slurm->ever = true;
    const bool found = orr_slurm__select(slurm, view, job, p, nodes, slurm->image);
    slurm->ever = false;
    memcpy(slurm->exclusive, held, view->cluster->node_count * sizeof *held);
    orr_free(held);
    return found;
}

/* By core, in books in which nothing is held. */
static bool could_place(const struct orr_view *view, uint32_t job, const struct slurm_partition *p,
                        const uint64_t *nodes)
{
    const struct orr_job_spec spec = view->specs[job];
    const struct orr_ledger_world world = {.cluster = view->cluster,
                                           .queues = view->queues,
                                           .shapes = view->shapes,
                                           .specs = &spec,
                                           .job_count = 1};
    int64_t *cpu_milli = orr_alloc(view->cluster->node_count + (size_t)1, sizeof *cpu_milli);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        cpu_milli[n] = p->node_cpu_milli;
    }
    const struct orr_place_among among = {nodes, cpu_milli};
    struct orr_ledger *ledger = orr_ledger_open(&world);
    struct orr_txn *txn = orr_txn_open(ledger, 0);
    orr_ledger_submit(ledger, 0);
    const bool found = orr_place_conceivable(txn, ledger, 0, false, &among);
    orr_txn_close(txn);
    orr_ledger_close(ledger);
    orr_free(cpu_milli);
    return found;
}

static uint32_t count_of(const struct slurm *slurm, const uint64_t *nodes)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        count += (uint32_t)__builtin_popcountll(nodes[w]);
    }
    return count;
}

struct nodes_key {      /* what decides whether nodes could hold a job; compared by its bytes */
    uint64_t withdrawn; /* bit by partition: its nodes are left out */
    uint32_t shape, partition, min_nodes, max_nodes, exclusive, switches;
    uint32_t of_all; /* nodes that are down included */
    uint32_t zero;   /* no padding */
};

/* Could these nodes of the partition hold the job if nobody held any of them? */
static bool could_hold(struct slurm *slurm, const struct orr_view *view, struct nodes_key key,
                       uint32_t job, const uint64_t *nodes)
{
    const struct slurm_job *j = &slurm->jobs[job];
    const struct slurm_partition *p = &slurm->conf.partitions[key.partition];
    struct slurm_could *could = &slurm->could;
    bool added;
    key.shape = view->specs[job].shape;
    key.min_nodes = j->min_nodes;
    key.max_nodes = j->max_nodes;
    key.exclusive = j->exclusive;
    key.switches = j->switches;
    const uint32_t at = orr_idmap_put(&could->keys, (const char *)&key, sizeof key, &added);
    could->hold = orr_zgrow(could->hold, &could->capacity, at + (size_t)1, sizeof *could->hold);
    if (added) {
        could->hold[at] = !j->core_placed ? could_select(slurm, view, job, p, nodes)
                                          : j->min_nodes <= count_of(slurm, nodes) &&
                                                could_place(view, job, p, nodes);
    }
    return could->hold[at];
}

bool orr_slurm__is_hopeless(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition)
{
    struct slurm_job *j = &slurm->jobs[job];
    const uint64_t bit = (uint64_t)1 << partition;
    if (((j->hopeless | j->hopeful) & bit) == 0) {
        const struct nodes_key key = {.partition = partition, .of_all = true};
        const bool found =
            could_hold(slurm, view, key, job, slurm->conf.partitions[partition].nodes);
        j->hopeful |= found ? bit : 0;
        j->hopeless |= found ? 0 : bit;
    }
    return (j->hopeless & bit) != 0;
}

/* slurmctld calls the nodes of a job busy, whatever it asks of them, where another holds one whole
 * or, if it wants whole nodes itself, one is not idle. Where anybody may be preempted it does not
 * look. */
static bool is_any_busy(const struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        const struct slurm_partition *p, const uint64_t *nodes)
{
    const bool whole = slurm->jobs[job].exclusive || p->exclusive;
    bool busy = false;
    for (uint32_t w = 0; w < slurm->words && !orr_slurm__preempts(slurm); w++) {
        for (uint64_t bits = nodes[w]; bits != 0 && !busy; bits &= bits - 1) {
            const uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct orr_room *room = &view->ledger->idle[node];
            busy = slurm->exclusive[node] > 0 || (whole && !orr_slurm__is_idle(view, node, room));
        }
    }
    return busy;
}

static uint64_t withdrawn(const struct slurm *slurm)
{
    uint64_t bits = 0;
    for (uint32_t p = 0; p < slurm->conf.partition_count; p++) {
        bits |= (uint64_t)slurm->failed[p] << p;
    }
    return bits;
}

bool orr_slurm__lacks_nodes(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                            uint32_t partition, const uint64_t *left)
{
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    const struct nodes_key key = {.withdrawn = withdrawn(slurm), .partition = partition};
    return memcmp(left, p->nodes, slurm->words * sizeof *left) != 0 &&
           !could_hold(slurm, view, key, job, left) && !is_any_busy(slurm, view, job, p, left);
}

void orr_slurm__forget_could(struct slurm *slurm)
{
    orr_idmap_release(&slurm->could.keys);
    orr_idmap_init(&slurm->could.keys);
}
