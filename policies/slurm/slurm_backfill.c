/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_backfill.c - sched/backfill: every job tested gets a plan, and starts
 * if that is now.
 *
 * A job is tested on the nodes free of plans for as long as its limit; when they
 * are free of running jobs it learns from the selector (orr_slurm__will_run).
 *
 * What a cycle decides is who starts now; plans only keep later records from it, and
 * are forgotten. So a cycle ends as soon as no record behind fits what is idle and
 * unplanned: nodes only become fewer as it goes on. */
#include "slurm_int.h"

#include <string.h>

struct cycle {
    struct slurm *slurm;
    const struct orr_view *view;
    struct orr_txn *txn;
    int64_t tested, started;
    bool over;
    bool fewer;    /* nodes were taken since slurm->reach was cut */
    uint32_t next; /* of slurm->reach */
};

static orr_ms plus(orr_ms at, orr_ms by)
{
    return by >= ORR_MS_NEVER / 2 ? ORR_MS_NEVER : at + by;
}

/* --- one record --- */

/* Tells who watches what became of a record; planned_ms NULL: it has no plan. */
static void tell(const struct cycle *cycle, const struct slurm_record *record, const char *result,
                 const char *why, const orr_ms *planned_ms)
{
    const struct slurm_seats *seats = &cycle->slurm->seats;
    const int64_t priority = record->priority;
    if (!orr_is_watched(&cycle->slurm->watcher)) {
        return;
    }
    uint32_t *nodes = orr_alloc(seats->count + (size_t)1, sizeof *nodes), count = 0;
    for (uint32_t i = 0; planned_ms != NULL && i < seats->count; i++) {
        nodes[count++] = seats->seats[i].node;
    }
    orr_report_look(&cycle->slurm->watcher, &(struct orr_look){.kind = ORR_LOOK_JOB,
                                                               .action = "backfill",
                                                               .result = result,
                                                               .why = why,
                                                               .job = record->job,
                                                               .priority = &priority,
                                                               .planned_ms = planned_ms,
                                                               .nodes = nodes,
                                                               .node_count = count});
    orr_free(nodes);
}

static void tell_limit(const struct cycle *cycle, const struct slurm_record *record)
{
    tell(cycle, record, "limit", "a limit of its QOS or association holds it back", NULL);
}

static bool is_limited(const struct slurm *slurm, const struct orr_view *view,
                       const struct slurm_record *record, enum slurm_phase phase)
{
    return orr_slurm__limits(slurm, view, record->job, record->partition, phase) != ORR_REASON_NONE;
}

/* Of an entry of the queue, as far as what it asks goes. */
static bool is_limited_as_asked(const struct slurm *slurm, const struct orr_view *view,
                                const struct slurm_record *record)
{
    return orr_slurm__record_limits(slurm, view, record, SLURM_AS_ASKED).reason != ORR_REASON_NONE;
}

/* Is it passed over as limits hold it back? With assoc_limit_stop it is planned. */
static bool is_passed_over(const struct slurm *slurm, const struct orr_view *view,
                           const struct slurm_record *record)
{
    return !slurm->conf.assoc_limit_stop && is_limited_as_asked(slurm, view, record);
}

static void count_start(struct cycle *cycle)
{
    const int64_t most = cycle->slurm->conf.bf_max_job_start;
    cycle->fewer = true;
    cycle->started++;
    cycle->over = most > 0 && cycle->started >= most;
}

static bool start(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    bool any = false;
    while (slurm->jobs[record->job].is_lined) {
        const uint32_t begin = orr_txn_checkpoint(cycle->txn);
        if (!orr_slurm__select_now(slurm, cycle->view, cycle->txn, record->job, p, slurm->usable)) {
            break;
        }
        if (is_limited(slurm, cycle->view, record, SLURM_BEFORE) ||
            is_limited(slurm, cycle->view, record, SLURM_BEHIND)) {
            orr_txn_rollback(cycle->txn, begin);
            tell_limit(cycle, record);
            return true; /* it plans nothing */
        }
        any = true;
        orr_slurm__started(slurm, cycle->view, record->job, record->partition);
    }
    if (any) {
        tell(cycle, record, "started", NULL, NULL);
        count_start(cycle);
    }
    return any;
}

/* How long its nodes have to be free of plans: of QOS with NoReserve a minute, where others lose
 * theirs for those that need them. */
static orr_ms lasts_of(const struct slurm *slurm, const struct slurm_record *record)
{
    const orr_ms limit = orr_slurm__limit_ms(slurm, record->job, record->partition);
    const bool short_ = limit > 60000 && orr_slurm__preempts(slurm) &&
                        slurm_has_flag(&slurm->conf, &slurm->jobs[record->job], SLURM_NO_RESERVE);
    return short_ ? 60000 : limit;
}

/* May it only start now, and never be planned? */
static bool only_now(const struct slurm *slurm, const struct orr_view *view,
                     const struct slurm_record *record)
{
    const struct slurm_conf *conf = &slurm->conf;
    return (conf->bf_one_resv_per_job && slurm->jobs[record->job].planned_pass == slurm->pass) ||
           (conf->bf_job_part_count_reserve > 0 &&
            slurm->part_planned[record->partition] >= conf->bf_job_part_count_reserve) ||
           slurm_has_flag(conf, &slurm->jobs[record->job], SLURM_NO_RESERVE) ||
           !orr_slurm__reserves(slurm, record, view->now);
}

/* Could it start now, as far as what is idle and free of plans goes? */
static bool could_start(const struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct slurm_job *j = &slurm->jobs[record->job];
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    if (is_limited_as_asked(slurm, cycle->view, record) ||
        !orr_slurm__job_eligible(slurm, cycle->view, record->job) ||
        orr_slurm__lacks_licenses(slurm, record->job) ||
        orr_slurm__barred(slurm, record) != ORR_REASON_NONE) {
        return false;
    }
    if (j->core_placed || orr_slurm__preempts(slurm)) {
        return true;
    }
    const orr_ms lasts = lasts_of(slurm, record);
    const orr_ms until = plus(cycle->view->now, lasts);
    const struct slurm_want want = orr_slurm__want(slurm, cycle->view, record->job, p, 0);
    int64_t tasks = 0, nodes = 0;
    for (uint32_t s = orr_slurm__profile(slurm, cycle->view, record->job, p, &want)->first;
         s != ORR_NONE && slurm->steps[s].ended == 0; s = slurm->steps[s].next) {
        const uint32_t node = slurm->steps[s].node;
        if (slurm->planned_from[node] > until && slurm_has(p->nodes, node)) {
            tasks += slurm->steps[s].tasks;
            nodes++;
        }
    }
    return tasks >= want.tasks && nodes >= want.min_nodes;
}

/* Can any record of those in reach that are left start now? */
static bool any_left(struct cycle *cycle)
{
    struct slurm *slurm = cycle->slurm;
    /* who watches sees all plans */
    if (cycle->fewer && !orr_is_watched(&slurm->watcher)) {
        cycle->fewer = false;
        while (slurm->reach_count > cycle->next &&
               !could_start(cycle, &slurm->queue[slurm->reach[slurm->reach_count - 1]])) {
            slurm->reach_count--;
        }
    }
    return slurm->reach_count > cycle->next;
}

/* Plans it from a time on; false: plans before it take one of its nodes. */
static bool reserve(struct cycle *cycle, const struct slurm_record *record, orr_ms begin,
                    orr_ms lasts)
{
    struct slurm *slurm = cycle->slurm;
    struct slurm_job *j = &slurm->jobs[record->job];
    if (!orr_slurm__plan(slurm, cycle->view, begin, plus(begin, lasts))) {
        return false;
    }
    tell(cycle, record, "planned", "it has nodes from then on, if all others run to their limits",
         &begin);
    cycle->fewer = true;
    j->planned_pass = slurm->pass;
    slurm->part_planned[record->partition]++;
    if (j->array != ORR_NONE) {
        slurm->array[j->array].planned++;
    }
    return true;
}

/* Others give it their CPUs, and it starts. */
static bool suspend(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const enum orr_reason why =
        orr_slurm__suspend(slurm, cycle->view, cycle->txn, record, slurm->usable);
    if (why == ORR_REASON_NO_CAPACITY) {
        return false;
    }
    slurm->shut_cycle++;
    if (why != ORR_REASON_NONE) {
        tell_limit(cycle, record);
        return true; /* it plans nothing */
    }
    tell(cycle, record, "started", "others are suspended for it", NULL);
    count_start(cycle);
    return true;
}

/* Nothing fits now, but would if others lost their nodes: they lose them, and a later pass or cycle
 * starts the job, for which the nodes are kept from records behind it. */
static bool preempt(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct slurm_job *j = &slurm->jobs[record->job];
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    const orr_ms now = cycle->view->now;
    const orr_ms lasts = lasts_of(slurm, record);
    if (!orr_slurm__preempts(slurm) || j->core_placed) {
        return false;
    }
    memcpy(slurm->usable, p->nodes, slurm->words * 8);
    orr_slurm__plan_free(slurm, now, plus(now, lasts), slurm->usable);
    if (orr_slurm__will_run(slurm, cycle->view, record->job, p, slurm->usable, now) <= now) {
        return false;
    }
    if (is_limited_as_asked(slurm, cycle->view, record)) { /* with assoc_limit_stop */
        if (!orr_slurm__has_victims(slurm, cycle->view, record, slurm->usable)) {
            return suspend(cycle, record);
        }
        tell_limit(cycle, record);
        return true; /* nobody loses nodes for it, and it plans nothing */
    }
    if (!orr_slurm__preempt(slurm, cycle->view, cycle->txn, record, slurm->usable)) {
        return suspend(cycle, record);
    }
    slurm->shut_cycle++; /* there is more room than before */
    tell(cycle, record, "preempts", "others lose their nodes for it", NULL);
    (void)reserve(cycle, record, now, lasts);
    return true;
}

/* From one candidate time to the next; each is later than the one before. */
static void test(struct cycle *cycle, const struct slurm_record *record)
{
    struct slurm *slurm = cycle->slurm;
    const struct orr_view *view = cycle->view;
    const struct slurm_partition *p = &slurm->conf.partitions[record->partition];
    const orr_ms lasts = lasts_of(slurm, record);
    const bool now_only = only_now(slurm, view, record);
    const orr_ms bound = orr_slurm__earliest(slurm, view, record->job, record->partition);
    if (preempt(cycle, record)) {
        return;
    }
    /* the nodes of the whole partition would not do before, or one like it was here before */
    const orr_ms shut = orr_slurm__shut_until(slurm, view, record->job, lasts);
    const orr_ms first = bound > shut ? bound : plus(shut, 1);
    orr_ms at = first < ORR_MS_NEVER && !now_only ? orr_slurm__plan_before(slurm, view->now, first)
                : first <= view->now              ? view->now
                                                  : ORR_MS_NEVER;
    while (at < ORR_MS_NEVER) {
        const orr_ms later = orr_slurm__plan_later(slurm, at);
        memcpy(slurm->usable, p->nodes, slurm->words * 8);
        orr_slurm__plan_free(slurm, at, plus(at, lasts), slurm->usable);
        const orr_ms free = orr_slurm__will_run(slurm, view, record->job, p, slurm->usable, later);
        const orr_ms begin = free > at ? free : at;
        if (free == ORR_MS_NEVER && !slurm->was_enough) {
            orr_slurm__shut(slurm, view, record->job, lasts, later);
        }
        if (begin <= view->now && start(cycle, record)) {
            return;
        }
        if (now_only) {
            break;
        }
        if (free == ORR_MS_NEVER || later < begin) {
            at = later;
            continue;
        }
        if (begin > view->now + slurm->conf.bf_window_ms) {
            tell(cycle, record, "beyond-window", "it has no room within bf_window", NULL);
            return;
        }
        if (slurm->slot_count >= slurm->conf.bf_node_space_size) {
            cycle->over = true;
            tell(cycle, record, "table-full", "bf_node_space_size plans are made", NULL);
            return;
        }
        if (reserve(cycle, record, begin, lasts)) {
            return;
        }
        at = begin > at ? begin : later;
    }
    tell(cycle, record, now_only ? "only-now" : "no-room",
         now_only ? "it may start now or not at all, and has no room" : "no time has room for it",
         NULL);
}

static void begin_cycle(struct slurm *slurm, const struct orr_view *view)
{
    slurm->pass++;
    slurm->shut_cycle++;
    /* Jobs of a shape that take turns in what is kept from them leave steps that nobody reads. */
    slurm->moves +=
        slurm->step_count > 64 * ((size_t)view->cluster->node_count + slurm->held_count);
    orr_slurm__plan_none(slurm, view);
    memset(slurm->part_planned, 0, slurm->conf.partition_count * sizeof *slurm->part_planned);
    orr_slurm__depths_begin(slurm);
    for (uint32_t a = 0; a < slurm->arrays.count; a++) {
        slurm->array[a].planned = 0;
    }
}

/* Limits are named behind the last record that could start too: backfill looks at all. */
static void explain_limit(const struct cycle *cycle, const struct slurm_record *record)
{
    const struct slurm *slurm = cycle->slurm;
    const enum orr_reason limit =
        orr_slurm__record_limits(slurm, cycle->view, record, SLURM_AS_ASKED).reason;
    if (limit != ORR_REASON_NONE && orr_slurm__job_eligible(slurm, cycle->view, record->job) &&
        orr_slurm__barred(slurm, record) == ORR_REASON_NONE) {
        orr_slurm__explain(cycle->view, cycle->txn, record->job, limit, ORR_NONE);
    }
}

/* Does nothing that is looked at before depths pass it over? */
static bool is_tried(const struct cycle *cycle, const struct slurm_record *record)
{
    const struct slurm *slurm = cycle->slurm;
    return !is_passed_over(slurm, cycle->view, record) &&
           orr_slurm__job_eligible(slurm, cycle->view, record->job) &&
           !slurm->jobs[record->job].preempting &&
           orr_slurm__barred(slurm, record) == ORR_REASON_NONE;
}

/* Lists in slurm->reach the records from one on that the cycle may come to, if nobody starts: up to
 * the one behind which bf_max_job_test is reached at the latest, without those whose depths are
 * used up by then. */
static void list_reach(struct cycle *cycle, uint32_t from)
{
    struct slurm *slurm = cycle->slurm;
    int64_t counted = cycle->tested;
    cycle->fewer = true;
    cycle->next = slurm->reach_count = 0;
    orr_slurm__depths_foresee(slurm);
    for (uint32_t r = from; r < slurm->queue_count && counted < slurm->conf.bf_max_job_test; r++) {
        const struct slurm_record *record = &slurm->queue[r];
        if (!orr_slurm__depths_refuse(slurm, record)) {
            slurm->reach =
                ORR_ROOM_FOR_ONE(slurm->reach, slurm->reach_count, slurm->reach_capacity);
            slurm->reach[slurm->reach_count++] = r;
            /* the depths count a job that lacks licenses, bf_max_job_test does not */
            counted += is_tried(cycle, record) && orr_slurm__depths_expect(slurm, record) &&
                       slurm->jobs[record->job].licenses == ORR_NONE;
        }
    }
}

/* Somebody started: limits may pass over others, as other records of the job and the rest of its
 * array are, so that the cycle reaches further. */
static void reach_again(struct cycle *cycle, uint32_t job, uint32_t from)
{
    const struct slurm *slurm = cycle->slurm;
    const struct slurm_job *j = &slurm->jobs[job];
    const bool limits_array = j->array != ORR_NONE && slurm->array[j->array].limit < UINT32_MAX;
    if ((slurm->conf.enforce_limits && !slurm->conf.assoc_limit_stop) || j->partition_count > 1 ||
        limits_array) {
        list_reach(cycle, from);
    }
}

bool orr_slurm__backfill(struct slurm *slurm, const struct orr_view *view, struct orr_txn *txn)
{
    struct cycle cycle = {.slurm = slurm, .view = view, .txn = txn};
    const struct slurm_conf *conf = &slurm->conf;
    begin_cycle(slurm, view);
    orr_slurm__queue_arrange(slurm, view);
    list_reach(&cycle, 0);
    orr_txn_note_action(txn, "backfill");
    orr_report_look(
        &slurm->watcher,
        &(struct orr_look){.kind = ORR_LOOK_ACTION, .action = "backfill", .job = ORR_NONE});
    while (!cycle.over && any_left(&cycle)) {
        const uint32_t r = slurm->reach[cycle.next++];
        const struct slurm_record record = slurm->queue[r];
        if (!is_tried(&cycle, &record) || !orr_slurm__within_depths(slurm, &record) ||
            orr_slurm__lacks_licenses(slurm, record.job)) {
            continue;
        }
        if (cycle.tested >= conf->bf_max_job_test) {
            break;
        }
        const int64_t started = cycle.started;
        cycle.tested++;
        test(&cycle, &record);
        if (cycle.started > started) {
            reach_again(&cycle, record.job, r + 1);
        }
    }
    for (uint32_t r = 0; conf->enforce_limits && !conf->assoc_limit_stop && r < slurm->queue_count;
         r++) {
        explain_limit(&cycle, &slurm->queue[r]);
    }
    orr_slurm__queue_compact(slurm);
    return cycle.started > 0;
}
