/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_preempt.c - who takes whose nodes, by the tier of partitions or by QOS.
 *
 * Tried only when nothing fits without it. Victims are taken out in order, the
 * lowest tier or QOS first, then the fewest nodes, then the oldest, until the
 * job fits; then the order is changed so that the last one found goes first,
 * and all is tried again. Victims are those on the nodes that were found at
 * last. They lose their nodes; the job itself starts by a later pass.
 *
 * A victim with a grace (GraceTime of its partition or QOS) goes on, and dies at the next
 * attempt behind the grace, or at the controller's check of time limits each 30
 * s, even if nobody needs it then. */
#include "slurm_int.h"

#include <string.h>

#include <orrery/base/sort.h>

enum { CHECK_MS = 30000 };

bool orr_slurm__preempts(const struct slurm *slurm)
{
    return slurm->conf.preempt_type != SLURM_PREEMPT_NONE &&
           slurm->conf.preempt_mode != SLURM_MODE_OFF;
}

static bool share_nodes(const struct slurm *slurm, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t w = 0; w < slurm->words; w++) {
        if ((a[w] & b[w]) != 0) {
            return true;
        }
    }
    return false;
}

bool orr_slurm__can_preempt(const struct slurm *slurm, const struct slurm_record *record,
                            const struct slurm_record *victim)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_partition *p = &conf->partitions[record->partition];
    const struct slurm_partition *q = &conf->partitions[victim->partition];
    if (conf->preempt_type == SLURM_PREEMPT_PARTITION_PRIO) {
        return p->priority_tier > q->priority_tier && q->preempt_mode != SLURM_MODE_OFF &&
               share_nodes(slurm, p->nodes, q->nodes);
    }
    const uint32_t qos = slurm->jobs[record->job].qos, other = slurm->jobs[victim->job].qos;
    if (qos == ORR_NONE || other == ORR_NONE) {
        return false;
    }
    return (conf->qos[qos].preempts_bits >> other & 1) != 0 ||
           (qos == other && (conf->preempt_within || conf->qos[qos].within) &&
            record->priority > victim->priority);
}

struct slurm_record orr_slurm__rival(const struct slurm *slurm, uint32_t job, uint32_t partition)
{
    const struct slurm_conf *conf = &slurm->conf;
    const uint32_t qos = slurm->jobs[job].qos;
    const bool counts = conf->preempt_type == SLURM_PREEMPT_QOS && qos != ORR_NONE &&
                        (conf->preempt_within || conf->qos[qos].within);
    return (struct slurm_record){.job = job,
                                 .partition = partition,
                                 .priority =
                                     counts ? orr_slurm__priority(slurm, job, partition) : 0};
}

/* Does a job run that a record may preempt, as far as tiers go? */
static bool any_below(const struct slurm *slurm, const struct slurm_record *record)
{
    const struct slurm_conf *conf = &slurm->conf;
    bool any = conf->preempt_type != SLURM_PREEMPT_PARTITION_PRIO;
    for (uint32_t p = 0; p < conf->partition_count && !any; p++) {
        const struct slurm_record victim = {.job = record->job, .partition = p};
        any = slurm->running_in[p] > 0 && orr_slurm__can_preempt(slurm, record, &victim);
    }
    return any;
}

static uint8_t mode_of(const struct slurm *slurm, uint32_t job)
{
    const struct slurm_conf *conf = &slurm->conf;
    const struct slurm_job *j = &slurm->jobs[job];
    uint8_t mode = SLURM_MODE_NOT_STATED;
    if (conf->preempt_type == SLURM_PREEMPT_PARTITION_PRIO) {
        mode = conf->partitions[j->runs_in].preempt_mode;
    } else if (j->qos != ORR_NONE) {
        mode = conf->qos[j->qos].mode;
    }
    mode = mode == SLURM_MODE_NOT_STATED ? conf->preempt_mode : mode;
    return mode == SLURM_MODE_REQUEUE && j->no_requeue ? SLURM_MODE_CANCEL : mode;
}

/* Has it not run long enough to be a victim? */
static bool is_exempt(const struct slurm *slurm, const struct slurm_job *job, orr_ms now)
{
    const orr_ms own = job->qos == ORR_NONE ? ORR_MS_NONE : slurm->conf.qos[job->qos].exempt_ms;
    return now - job->start_ms < (own == ORR_MS_NONE ? slurm->conf.preempt_exempt_ms : own);
}

bool orr_slurm__any_exempt(const struct slurm *slurm, orr_ms now)
{
    bool any = false;
    for (uint32_t r = 0; r < slurm->running_count && orr_slurm__preempts(slurm) && !any; r++) {
        any = is_exempt(slurm, &slurm->jobs[slurm->running[r]], now);
    }
    return any;
}

/* --- candidates --- */

static uint32_t nodes_of(const struct orr_view *view, uint32_t job, const uint64_t *of)
{
    uint32_t count = 0;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        for (uint32_t n = 0; n <= placement->more_nodes; n++) {
            count += of == NULL || slurm_has(of, placement->node + n);
        }
    }
    return count;
}

static int by_key(const void *a, const void *b, void *context)
{
    (void)context;
    const struct slurm_victim *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->job > y->job) - (x->job < y->job);
}

static int by_shared_nodes(const void *a, const void *b, void *context)
{
    (void)context;
    const struct slurm_victim *x = a, *y = b;
    return (x->shared < y->shared) - (x->shared > y->shared);
}

/* May it be evicted, or suspended, for a record? */
static bool is_victim(const struct slurm *slurm, const struct orr_view *view,
                      const struct slurm_record *record, uint32_t job, bool suspended)
{
    const struct slurm_job *j = &slurm->jobs[job];
    const uint8_t mode = mode_of(slurm, job);
    const struct slurm_record victim = orr_slurm__rival(slurm, job, j->runs_in);
    if (j->ends_for == record->job) { /* its room is on its way already */
        return false;
    }
    const bool goes = suspended ? mode == SLURM_MODE_SUSPEND && j->suspended_ms == ORR_MS_NONE &&
                                      !view->specs[job].scales && view->jobs[job].leaving_tasks == 0
                                : mode == SLURM_MODE_REQUEUE || mode == SLURM_MODE_CANCEL;
    return goes && view->specs[job].preemptible && view->jobs[job].phase == ORR_JOB_RUNNING &&
           !is_exempt(slurm, j, view->now) && orr_slurm__can_preempt(slurm, record, &victim) &&
           nodes_of(view, job, slurm->conf.partitions[record->partition].nodes) > 0;
}

uint32_t orr_slurm__list_victims(struct slurm *slurm, const struct orr_view *view,
                                 const struct slurm_record *record, bool suspended)
{
    const struct slurm_conf *conf = &slurm->conf;
    uint32_t count = 0;
    if (!any_below(slurm, record)) {
        return 0;
    }
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        const struct slurm_job *j = &slurm->jobs[job];
        if (!is_victim(slurm, view, record, job, suspended)) {
            continue;
        }
        const int64_t rank = conf->preempt_type == SLURM_PREEMPT_QOS && j->qos != ORR_NONE
                                 ? conf->qos[j->qos].priority
                                 : conf->partitions[j->runs_in].priority_tier;
        slurm->victims = ORR_ROOM_FOR_ONE(slurm->victims, count, slurm->victim_capacity);
        slurm->victims[count++] = (struct slurm_victim){
            job, 0,
            suspended                      ? (conf->preempt_type == SLURM_PREEMPT_QOS ? 0 : rank)
            : conf->preempt_youngest_first ? -(j->start_ms / 1000)
                                           : rank * 65536 + nodes_of(view, job, NULL)};
    }
    orr_sort(slurm->victims, count, sizeof *slurm->victims, by_key, NULL);
    return count;
}

/* Adds what a running job holds to the image. */
static void remove_job(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        struct orr_request whole = shape->groups[placement->group].request;
        whole.devices = whole.gpu_ask == ORR_GPU_WHOLE ? whole.devices : 0;
        for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
            slurm->freed[n] = slurm->jobs[job].holds_whole ? slurm->image_number : slurm->freed[n];
            orr_slurm__take(&slurm->image[n], &whole, -(int64_t)orr_placement_each(placement));
            orr_slurm__cap_leave(slurm, job, n, whole.cpu_milli * orr_placement_each(placement));
        }
    }
}

/* Takes out who loses its nodes for a job already; is there anybody? */
static bool remove_leaving(struct slurm *slurm, const struct orr_view *view, uint32_t preemptor)
{
    bool any = false;
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        if (slurm->jobs[slurm->running[r]].ends_for == preemptor) {
            remove_job(slurm, view, slurm->running[r]);
            any = true;
        }
    }
    return any;
}

/* Does the job fit into the image? slurm->found has its nodes. */
static bool fits(struct slurm *slurm, const struct orr_view *view,
                 const struct slurm_record *record, const uint64_t *usable)
{
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    if (!orr_slurm__select(slurm, view, record->job, p, usable, slurm->image)) {
        return false;
    }
    memset(slurm->found, 0, slurm->words * sizeof *slurm->found);
    for (uint32_t s = 0; s < slurm->seats.count; s++) {
        const uint32_t node = slurm->seats.seats[s].node;
        slurm->found[node >> 6] |= (uint64_t)1 << (node & 63);
    }
    return true;
}

/* Takes candidates out, behind those that leave for the job, until it fits; how many, ORR_NONE: it
 * does not. */
static uint32_t take_until_it_fits(struct slurm *slurm, const struct orr_view *view,
                                   const struct slurm_record *record, const uint64_t *usable,
                                   uint32_t count)
{
    slurm->image_number++;
    memcpy(slurm->image, view->ledger->idle, view->cluster->node_count * sizeof *slurm->image);
    if (remove_leaving(slurm, view, record->job) && fits(slurm, view, record, usable)) {
        return 0;
    }
    for (uint32_t v = 0; v < count; v++) {
        remove_job(slurm, view, slurm->victims[v].job);
        if (fits(slurm, view, record, usable)) {
            return v + 1;
        }
    }
    return ORR_NONE;
}

static uint32_t take_out(struct slurm *slurm, const struct orr_view *view,
                         const struct slurm_record *record, const uint64_t *usable, uint32_t count)
{
    slurm->in_image = true;
    const uint32_t needed = take_until_it_fits(slurm, view, record, usable, count);
    slurm->in_image = false;
    return needed;
}

/* The last one that was needed goes first; the others by the nodes they share
 * with those found. */
static void reorder(struct slurm *slurm, const struct orr_view *view, uint32_t needed,
                    uint32_t count)
{
    const struct slurm_victim last = slurm->victims[needed - 1];
    memmove(&slurm->victims[1], &slurm->victims[0], (needed - 1) * sizeof last);
    slurm->victims[0] = last;
    for (uint32_t v = 0; v < count; v++) {
        slurm->victims[v].shared = v == 0 ? UINT32_MAX
                                   : v < needed
                                       ? nodes_of(view, slurm->victims[v].job, slurm->found)
                                       : 0;
    }
    if (!slurm->conf.preempt_strict_order) {
        orr_sort(slurm->victims, count, sizeof *slurm->victims, by_shared_nodes, NULL);
    }
}

/* --- victims --- */

static orr_ms grace_of(const struct slurm *slurm, const struct slurm_job *j)
{
    return slurm->conf.preempt_type == SLURM_PREEMPT_PARTITION_PRIO
               ? slurm->conf.partitions[j->runs_in].grace_ms
           : j->qos == ORR_NONE ? 0
                                : slurm->conf.qos[j->qos].grace_ms;
}

static void end_victim(struct slurm *slurm, struct orr_txn *txn, uint32_t job, uint32_t preemptor)
{
    struct slurm_job *j = &slurm->jobs[job];
    j->cancelled = mode_of(slurm, job) == SLURM_MODE_CANCEL;
    (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, preemptor);
}

static orr_ms next_check(const struct slurm *slurm, orr_ms at)
{
    const orr_ms over = (((at - slurm->start_ms) % CHECK_MS) + CHECK_MS) % CHECK_MS;
    return over == 0 ? at : at + CHECK_MS - over;
}

/* Begins its grace, or ends it if that is over. */
static void take_victim(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                        uint32_t job, uint32_t preemptor)
{
    struct slurm_job *j = &slurm->jobs[job];
    const orr_ms grace = grace_of(slurm, j);
    if (grace > 0 && j->grace_end_ms == ORR_MS_NEVER) {
        j->ends_for = preemptor;
        j->grace_end_ms = view->now + grace;
        const orr_ms check = next_check(slurm, j->grace_end_ms);
        slurm->next_kill_ms = check < slurm->next_kill_ms ? check : slurm->next_kill_ms;
    } else if (grace == 0 || view->now >= j->grace_end_ms) {
        j->ends_for = preemptor;
        end_victim(slurm, txn, job, preemptor);
    }
}

/* This is the next attempt behind the grace of its own victims. */
static void end_own(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                    uint32_t preemptor)
{
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        if (slurm->jobs[job].ends_for == preemptor && view->jobs[job].phase == ORR_JOB_RUNNING) {
            take_victim(slurm, view, txn, job, preemptor);
        }
    }
}

bool orr_slurm__has_victims(struct slurm *slurm, const struct orr_view *view,
                            const struct slurm_record *record, const uint64_t *usable)
{
    const uint32_t count = orr_slurm__list_victims(slurm, view, record, false);
    return take_out(slurm, view, record, usable, count) != ORR_NONE;
}

bool orr_slurm__preempt(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                        const struct slurm_record *record, const uint64_t *usable)
{
    if (!orr_slurm__preempts(slurm)) {
        return false;
    }
    const uint32_t count = orr_slurm__list_victims(slurm, view, record, false);
    uint32_t needed = take_out(slurm, view, record, usable, count);
    if (needed == ORR_NONE) {
        return false;
    }
    for (int64_t round = 0; round <= slurm->conf.preempt_reorder_count && needed > 1; round++) {
        reorder(slurm, view, needed, count);
        needed = take_out(slurm, view, record, usable, count);
    }
    end_own(slurm, view, txn, record->job);
    for (uint32_t v = 0; v < needed; v++) {
        if (nodes_of(view, slurm->victims[v].job, slurm->found) > 0) {
            take_victim(slurm, view, txn, slurm->victims[v].job, record->job);
        }
    }
    return true;
}

void orr_slurm__end_graces(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn)
{
    if (slurm->next_kill_ms > view->now) {
        return;
    }
    slurm->next_kill_ms = ORR_MS_NEVER;
    for (uint32_t r = 0; r < slurm->running_count; r++) {
        const uint32_t job = slurm->running[r];
        const orr_ms end = slurm->jobs[job].grace_end_ms;
        if (end == ORR_MS_NEVER || view->jobs[job].phase != ORR_JOB_RUNNING) {
            continue;
        }
        const orr_ms check = next_check(slurm, end);
        if (check <= view->now) {
            end_victim(slurm, txn, job, ORR_NONE);
        } else if (check < slurm->next_kill_ms) {
            slurm->next_kill_ms = check;
        }
    }
}
