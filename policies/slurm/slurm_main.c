/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_main.c - the main pass: strict order within a partition.
 *
 * A job that finds no room closes its partition for the rest of the pass and
 * takes all nodes of the partition from the later records, those of other
 * partitions included, unless bf_min_age_reserve or bf_min_prio_reserve except it. Only backfill
 * passes it. */
#include "slurm_int.h"

#include <string.h>

void orr_slurm__explain(const struct orr_view *view, struct orr_txn *txn, uint32_t job,
                        enum orr_reason reason, uint32_t ahead)
{
    if (view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].reason != reason) {
        struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
        proof.ahead =
            reason == ORR_REASON_HEAD_OF_LINE || reason == ORR_REASON_RESERVED ? ahead : ORR_NONE;
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

orr_ms orr_slurm__limit_ms(const struct slurm *slurm, uint32_t job, uint32_t partition)
{
    static const orr_ms year_ms = 365 * (orr_ms)86400000;
    const struct slurm_partition *p = &slurm->conf.partitions[partition];
    orr_ms limit = slurm->jobs[job].limit_ms;
    if (!slurm_has_flag(&slurm->conf, &slurm->jobs[job], SLURM_PART_TIME)) {
        limit = limit < p->max_time_ms ? limit : p->max_time_ms;
    }
    return limit >= ORR_MS_NEVER / 2 ? year_ms : limit > 0 ? limit : 1;
}

/* Whom limits or licenses hold back because of a start waits for no nodes any more, and so closes
 * its partition to nobody in the next pass. */
static bool may_hold_others_back(const struct slurm *slurm)
{
    return slurm->conf.enforce_limits || slurm->conf.license_count > 0 || slurm->arrays.count > 0;
}

void orr_slurm__started(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        uint32_t partition)
{
    struct slurm_job *j = &slurm->jobs[job];
    const bool fresh = j->state != SLURM_RUNS;
    slurm->moves++;
    j->preempting = false;
    if (j->is_lined &&
        (!view->specs[job].scales || orr_ledger_next_tasks(view->ledger, job) == 0)) {
        j->is_lined = false;
        slurm->taken_out += j->partition_count;
    }
    slurm->changed = true;
    slurm->changed_since_full = slurm->changed_since_full || may_hold_others_back(slurm);
    if (!fresh) {
        return;
    }
    j->state = SLURM_RUNS;
    j->runs_in = (uint8_t)partition;
    j->start_ms = view->now;
    j->suspended_ms = ORR_MS_NONE;
    memcpy(j->held, j->tres, sizeof j->held);
    if (!j->core_placed) {
        orr_slurm__amounts_of_seats(slurm, view, job, partition, j->held);
    }
    j->end_ms = view->specs[job].scales ? ORR_MS_NEVER
                                        : view->now + orr_slurm__limit_ms(slurm, job, partition);
    slurm->running =
        ORR_ROOM_FOR_ONE(slurm->running, slurm->running_count, slurm->running_capacity);
    uint32_t at = slurm->running_count++;
    for (; at > 0 && slurm->jobs[slurm->running[at - 1]].end_ms > j->end_ms; at--) {
        slurm->running[at] = slurm->running[at - 1];
    }
    slurm->running[at] = job;
    slurm->running_in[partition]++;
    orr_slurm__count_running(slurm, job, true);
    orr_slurm__count_licenses(slurm, job, true);
    if (j->array != ORR_NONE) {
        slurm->array[j->array].running++;
    }
    j->holds_whole = j->exclusive || slurm->conf.partitions[partition].exclusive;
    for (uint32_t p = view->jobs[job].placement; p != ORR_NONE && j->holds_whole;
         p = view->ledger->placements[p].next) {
        const struct orr_placement *placement = &view->ledger->placements[p];
        for (uint32_t n = 0; n <= placement->more_nodes; n++) {
            slurm->exclusive[placement->node + n]++;
        }
    }
}

enum orr_reason orr_slurm__partition_bars(const struct slurm_conf *conf,
                                          const struct slurm_job *job, uint32_t partition)
{
    const struct slurm_partition *p = &conf->partitions[partition];
    if (p->down || p->node_count == 0) {
        return ORR_REASON_PARTITION_DOWN;
    }
    if (!orr_slurm__has_nodes_for(conf, partition, job)) {
        return ORR_REASON_PARTITION_NODE_LIMIT;
    }
    return orr_slurm__has_time_for(conf, partition, job) ? ORR_REASON_NONE
                                                         : ORR_REASON_PARTITION_TIME_LIMIT;
}

enum orr_reason orr_slurm__barred(const struct slurm *slurm, const struct slurm_record *record)
{
    const struct slurm_job *j = &slurm->jobs[record->job];
    if ((j->hopeless >> record->partition & 1) != 0) {
        return ORR_REASON_NEVER;
    }
    const enum orr_reason bar = orr_slurm__partition_bars(&slurm->conf, j, record->partition);
    if (bar != ORR_REASON_NONE) {
        return bar;
    }
    if (j->array != ORR_NONE && slurm->array[j->array].running >= slurm->array[j->array].limit) {
        return ORR_REASON_JOB_ARRAY_TASK_LIMIT;
    }
    if ((j->qos_barred >> record->partition & 1) != 0) {
        return ORR_REASON_QOS_NOT_ALLOWED;
    }
    if ((j->account_barred >> record->partition & 1) != 0) {
        return ORR_REASON_ACCOUNT_NOT_ALLOWED;
    }
    return ORR_REASON_NONE;
}

bool orr_slurm__reserves(const struct slurm *slurm, const struct slurm_record *record, orr_ms now)
{
    return record->priority >= slurm->conf.bf_min_prio_reserve &&
           now - slurm->jobs[record->job].accrue_ms >= slurm->conf.bf_min_age_reserve_ms;
}

/* --- one record --- */

struct pass {
    struct slurm *slurm;
    const struct orr_view *view;
    struct orr_txn *txn;
    uint32_t head[SLURM_PARTITIONS_MAX]; /* the job that closed it */
    int64_t started;
};

static enum orr_reason why_not(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    const struct orr_gpus idle = orr_shard_idle(orr_ledger_shard_of(view->ledger, shape));
    return orr_gpus_hold(&idle, &shape->gpus) ? orr_place_why_not(view->ledger, shape, 0)
                                              : ORR_REASON_NO_CAPACITY;
}

/* Those behind it in its partition have to wait, unless it is too young or too low to keep nodes.
 */
static void close_partition(struct pass *pass, const struct slurm_record *record)
{
    struct slurm *slurm = pass->slurm;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    if (!orr_slurm__reserves(slurm, record, pass->view->now)) {
        return;
    }
    slurm->failed[record->partition] = true;
    pass->head[record->partition] = record->job;
    for (uint32_t w = 0; w < slurm->words; w++) {
        slurm->left[w] &= ~p->nodes[w];
    }
}

static uint32_t nodes_left(const struct slurm *slurm, const struct slurm_partition *p)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < slurm->words; w++) {
        slurm->usable[w] = p->nodes[w] & slurm->left[w];
        count += (uint32_t)__builtin_popcountll(slurm->usable[w]);
    }
    return count;
}

static enum orr_reason hold_back(struct pass *pass, const struct slurm_record *record,
                                 enum orr_reason limit)
{
    orr_slurm__explain(pass->view, pass->txn, record->job, limit, ORR_NONE);
    if (pass->slurm->conf.assoc_limit_stop) {
        close_partition(pass, record);
    }
    return limit;
}

/* Starts a job on nodes that are left, or gives one that scales its next pods, as long as there are
 * nodes; *any: it got some, *served: it lacks no more. Returns the limit that it would pass. */
static enum orr_reason start(struct pass *pass, const struct slurm_record *record, bool *any,
                             bool *served)
{
    struct slurm *slurm = pass->slurm;
    const uint32_t job = record->job;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    while (!*served) {
        const uint32_t begin = orr_txn_checkpoint(pass->txn);
        if (!orr_slurm__select_now(slurm, pass->view, pass->txn, job, p, slurm->usable)) {
            break;
        }
        const enum orr_reason limit =
            orr_slurm__limits(slurm, pass->view, job, record->partition, SLURM_BEHIND);
        if (limit != ORR_REASON_NONE) {
            orr_txn_rollback(pass->txn, begin);
            return limit;
        }
        *any = true;
        orr_slurm__started(slurm, pass->view, job, record->partition);
        *served = !slurm->jobs[job].is_lined;
    }
    pass->started += *any;
    return ORR_REASON_NONE;
}

/* Preempts or suspends others for a job that found no nodes. NONE: it started where they are
 * suspended; NO_CAPACITY: it still waits for nodes; else what holds it back. */
static enum orr_reason make_room(struct pass *pass, const struct slurm_record *record)
{
    struct slurm *slurm = pass->slurm;
    struct slurm_job *j = &slurm->jobs[record->job];
    j->preempting = orr_slurm__preempt(slurm, pass->view, pass->txn, record, slurm->usable);
    const enum orr_reason why =
        j->preempting ? ORR_REASON_NO_CAPACITY
                      : orr_slurm__suspend(slurm, pass->view, pass->txn, record, slurm->usable);
    pass->started += why == ORR_REASON_NONE;
    return why == ORR_REASON_NONE || why == ORR_REASON_NO_CAPACITY ? why
                                                                   : hold_back(pass, record, why);
}

/* It waits for nodes: those behind it do too, but where this pass has none left that could hold it.
 */
static enum orr_reason wait_for_nodes(struct pass *pass, const struct slurm_record *record,
                                      bool could_start)
{
    struct slurm *slurm = pass->slurm;
    const struct slurm_job *j = &slurm->jobs[record->job];
    const bool lacks = could_start && orr_slurm__lacks_nodes(slurm, pass->view, record->job,
                                                             record->partition, slurm->usable);
    const enum orr_reason why =
        lacks ? ORR_REASON_REQ_NODE_NOT_AVAIL : why_not(pass->view, record->job);
    orr_slurm__explain(pass->view, pass->txn, record->job, why, ORR_NONE);
    if (j->array != ORR_NONE) {
        slurm->array[j->array].rejected_pass = slurm->pass;
        slurm->array[j->array].rejected_in = record->partition;
    }
    if (!lacks) {
        close_partition(pass, record);
    }
    return why;
}

/* Why it waits; ORR_REASON_NONE: it started. */
static enum orr_reason try_record(struct pass *pass, const struct slurm_record *record)
{
    struct slurm *slurm = pass->slurm;
    const uint32_t job = record->job;
    const bool enough =
        nodes_left(slurm, &slurm->conf.partitions[record->partition]) >= slurm->jobs[job].min_nodes;
    bool served = false, any = false;
    if (enough && orr_slurm__lacks_licenses(slurm, job)) {
        orr_slurm__explain(pass->view, pass->txn, job, ORR_REASON_LICENSES, ORR_NONE);
        return ORR_REASON_LICENSES;
    }
    /* limits go before room: no need to look for nodes */
    enum orr_reason limit =
        orr_slurm__record_limits(slurm, pass->view, record, SLURM_AT_LEAST).reason;
    if (limit == ORR_REASON_NONE && enough) {
        limit = start(pass, record, &any, &served);
    }
    if (limit == ORR_REASON_NONE && !any) {
        limit = orr_slurm__record_limits(slurm, pass->view, record, SLURM_AS_ASKED).reason;
    }
    if (limit != ORR_REASON_NONE) {
        return hold_back(pass, record, limit);
    }
    if (served) {
        return ORR_REASON_NONE;
    }
    if (!any && enough) {
        const enum orr_reason why = make_room(pass, record);
        if (why != ORR_REASON_NO_CAPACITY) {
            return why;
        }
    }
    if (!any && orr_slurm__is_hopeless(slurm, pass->view, job, record->partition)) {
        orr_slurm__explain(pass->view, pass->txn, job, ORR_REASON_NEVER, ORR_NONE);
        return ORR_REASON_NEVER;
    }
    return wait_for_nodes(pass, record, enough && !any);
}

static bool array_rejected(const struct slurm *slurm, const struct slurm_record *record)
{
    const uint32_t array = slurm->jobs[record->job].array;
    return array != ORR_NONE && slurm->array[array].rejected_pass == slurm->pass &&
           slurm->array[array].rejected_in == record->partition;
}

/* Says of a record that it waits behind another, unless it was given a reason of its own; that its
 * begin time had not come is none any more. */
static void explain_behind(struct pass *pass, const struct slurm_record *record)
{
    const uint8_t reason = pass->view->jobs[record->job].reason;
    if (reason == ORR_REASON_NONE || reason == ORR_REASON_NO_CAPACITY ||
        reason == ORR_REASON_FRAGMENTED || reason == ORR_REASON_BEGIN_TIME) {
        const uint32_t head =
            pass->slurm->failed[record->partition] ? pass->head[record->partition] : ORR_NONE;
        orr_slurm__explain(pass->view, pass->txn, record->job, ORR_REASON_HEAD_OF_LINE,
                           head == record->job ? ORR_NONE : head);
    }
}

/* Tells who watches what became of a record; reason NONE: `result` says it. */
static void tell(const struct slurm *slurm, const struct slurm_record *record,
                 enum orr_reason reason, const char *result)
{
    const int64_t priority = record->priority;
    const bool reasoned = reason != ORR_REASON_NONE;
    if (!orr_is_watched(&slurm->watcher)) {
        return;
    }
    orr_report_look(&slurm->watcher,
                    &(struct orr_look){.kind = ORR_LOOK_JOB,
                                       .action = "main",
                                       .result = reasoned ? orr_reason_code(reason) : result,
                                       .why = reasoned ? orr_reason_words(reason) : NULL,
                                       .job = record->job,
                                       .priority = &priority});
}

static void look_at(struct pass *pass, const struct slurm_record *record)
{
    struct slurm *slurm = pass->slurm;
    enum orr_reason bar = ORR_REASON_HEAD_OF_LINE;
    if (slurm->failed[record->partition] || array_rejected(slurm, record)) {
        explain_behind(pass, record);
    } else {
        bar = orr_slurm__barred(slurm, record);
        if (bar == ORR_REASON_NONE) {
            bar = orr_slurm__record_limits(slurm, pass->view, record, SLURM_BEFORE).reason;
        }
        if (bar != ORR_REASON_NONE) {
            orr_slurm__explain(pass->view, pass->txn, record->job, bar, ORR_NONE);
        } else {
            bar = try_record(pass, record);
        }
    }
    const bool preempts = slurm->jobs[record->job].preempting;
    tell(slurm, record, preempts ? ORR_REASON_NONE : bar, preempts ? "preempts" : "started");
}

static void note_up(struct slurm *slurm, const struct orr_view *view)
{
    memcpy(slurm->up, slurm->conf.open_nodes, slurm->words * sizeof *slurm->up);
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        slurm->up[n >> 6] &= ~((uint64_t)view->ledger->down[n] << (n & 63));
    }
    slurm->up_is_old = false;
}

static void begin_pass(struct slurm *slurm, const struct orr_view *view)
{
    slurm->pass++;
    if (slurm->up_is_old) {
        note_up(slurm, view);
    }
    memcpy(slurm->left, slurm->up, slurm->words * sizeof *slurm->left);
    memset(slurm->failed, 0, slurm->conf.partition_count * sizeof *slurm->failed);
    memset(slurm->part_seen, 0, slurm->conf.partition_count * sizeof *slurm->part_seen);
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        slurm->jobs[slurm->queue[r].job].preempting = false;
    }
}

void orr_slurm__main_pass(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn,
                          bool full)
{
    struct pass pass = {.slurm = slurm, .view = view, .txn = txn};
    const struct slurm_conf *conf = &slurm->conf;
    int64_t seen = 0;
    begin_pass(slurm, view);
    orr_slurm__queue_arrange(slurm, view);
    orr_txn_note_action(txn, "main");
    orr_report_look(&slurm->watcher,
                    &(struct orr_look){.kind = ORR_LOOK_ACTION, .action = "main", .job = ORR_NONE});
    for (uint32_t r = 0; r < slurm->queue_count; r++) {
        const struct slurm_record record = slurm->queue[r];
        if (!orr_slurm__job_eligible(slurm, view, record.job)) {
            if (slurm->jobs[record.job].is_lined && slurm->jobs[record.job].begin_ms > view->now) {
                orr_slurm__explain(view, txn, record.job, ORR_REASON_BEGIN_TIME, ORR_NONE);
            }
            continue;
        }
        if (conf->sched_max_job_start > 0 && pass.started >= conf->sched_max_job_start) {
            break;
        }
        if (conf->partition_job_depth > 0 &&
            slurm->part_seen[record.partition]++ > conf->partition_job_depth) {
            continue;
        }
        if (!full && seen++ > conf->default_queue_depth) {
            break;
        }
        if (!slurm->jobs[record.job].preempting) { /* else through another of its partitions */
            look_at(&pass, &record);
        }
    }
    orr_slurm__queue_compact(slurm);
}
