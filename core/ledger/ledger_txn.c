/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_txn.c - the journal: what was done to the books since the last commit, newest last.
 *
 * Operations act on the books at once, so later ones see earlier ones; undoing walks the journal
 * backwards. Rolling back costs what was done, never what exists. */
#include "ledger_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum op_kind {
    OP_PLACE,
    OP_PIPELINE,
    OP_LEAVE, /* a placement, or what was split off one, is leaving */
    OP_EVICT, /* the job is: follows the OP_LEAVE of all it had */
    OP_PART,  /* a placement on several nodes is two */
    OP_SUSPEND,
    OP_RESUME
};

struct op {
    uint8_t kind;  /* enum op_kind */
    uint8_t cause; /* LEAVE, EVICT */
    bool whole;    /* LEAVE: an EVICT follows */
    bool split;    /* LEAVE: the last placement, split off the one before it in its list */
    uint32_t job;
    uint32_t node, tasks, group; /* PLACE, PIPELINE; PART: node is the placement that was split */
    uint32_t placement;          /* LEAVE: what leaves; PART: what was split off */
    uint32_t beneficiary;        /* LEAVE, EVICT, SUSPEND */
    uint32_t moved;              /* EVICT, LEAVE without one: tasks that get another place */
    const char *action;          /* noted by the policy, or NULL */
};

struct orr_txn {
    struct orr_ledger *ledger;
    uint32_t laws;
    const uint32_t *shard_laws; /* per shard; NULL: the same everywhere */
    bool joins;                 /* placements on nodes in a row, at each commit */
    bool as_given;              /* what is placed runs, its gang complete or not */
    bool suspends;              /* jobs may be suspended */
    const char *action;         /* noted for what comes next in this cycle, or NULL */
    struct op *ops;
    uint32_t op_count, op_capacity;
    uint32_t committed; /* ops before this one are committed; only pipelines are kept there */
    struct orr_txn_decision *decisions;
    uint32_t decision_count, decision_capacity;
    struct orr_explanation *explanations;
    uint32_t explanation_count, explanation_capacity;
    uint32_t *whole; /* jobs */
    uint32_t whole_count, whole_capacity;
    struct orr_refusal wrong; /* what the next commit says */
    bool has_wrong;
};

struct orr_txn *orr_txn_open(struct orr_ledger *ledger, uint32_t laws)
{
    struct orr_txn *txn = orr_zalloc(1, sizeof *txn);
    txn->ledger = ledger;
    txn->laws = laws;
    return txn;
}

void orr_txn_set_shard_laws(struct orr_txn *txn, const uint32_t *laws)
{
    txn->shard_laws = laws;
}

void orr_txn_take_as_given(struct orr_txn *txn, bool as_given)
{
    txn->as_given = as_given;
}

void orr_txn_note_action(struct orr_txn *txn, const char *action)
{
    txn->action = action;
}

void orr_txn_let_suspend(struct orr_txn *txn)
{
    txn->suspends = true;
}

void orr_txn_join_nodes(struct orr_txn *txn)
{
    txn->joins = true;
}

void orr_txn_close(struct orr_txn *txn)
{
    if (txn != NULL) {
        orr_free(txn->ops);
        orr_free(txn->decisions);
        orr_free(txn->explanations);
        orr_free(txn->whole);
        orr_free(txn);
    }
}

static void journal(struct orr_txn *txn, struct op op)
{
    txn->ops = ORR_ROOM_FOR_ONE(txn->ops, txn->op_count, txn->op_capacity);
    txn->ops[txn->op_count] = op;
    txn->ops[txn->op_count++].action = txn->action;
}

/* Tasks of a group that the job neither holds nor is losing. */
static uint32_t tasks_left(const struct orr_ledger *ledger, uint32_t job, uint32_t group)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    const struct orr_job_state *state = &ledger->jobs[job];
    if (shape->group_count == 1) {
        return shape->tasks - state->placed_tasks - state->leaving_tasks;
    }
    uint32_t left = shape->groups[group].count;
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        left -= ledger->placements[p].group == group ? ledger->placements[p].tasks : 0;
    }
    return left;
}

/* The first of what a cycle asked that makes no sense; the next commit says it. */
__attribute__((cold)) static void note_wrong(struct orr_txn *txn, uint32_t job, const char *format,
                                             ...) ORR_PRINTF(3, 4);
static void note_wrong(struct orr_txn *txn, uint32_t job, const char *format, ...)
{
    if (!txn->has_wrong) {
        va_list args;
        va_start(args, format);
        txn->has_wrong = true;
        txn->wrong = (struct orr_refusal){.job = job};
        (void)vsnprintf(txn->wrong.text, sizeof txn->wrong.text, format, args);
        va_end(args);
    }
}

/* Is there such a job? Notes as wrong also one that is not submitted yet or is over; one that is
 * evicted and in its grace cannot be placed either, which is no fault. */
static bool is_there(struct orr_txn *txn, uint32_t job, const char *what)
{
    if (job >= txn->ledger->world.job_count) {
        note_wrong(txn, ORR_NONE, "job %u is %s, which does not exist", (unsigned)job, what);
        return false;
    }
    const uint8_t phase = txn->ledger->jobs[job].phase;
    if (phase == ORR_JOB_FUTURE) {
        note_wrong(txn, job, "is %s, but is not submitted yet", what);
    } else if (phase == ORR_JOB_FINISHED || phase == ORR_JOB_WITHDRAWN) {
        note_wrong(txn, job, "is %s, but is over", what);
    }
    return true;
}

/* Notes as wrong what is done for the sake of somebody who cannot gain by it. */
static bool is_for_one(struct orr_txn *txn, uint32_t job, const char *what, uint32_t beneficiary)
{
    const struct orr_ledger *ledger = txn->ledger;
    if (beneficiary == ORR_NONE) {
        return true;
    }
    if (beneficiary >= ledger->world.job_count) {
        note_wrong(txn, job, "is %s for job %u, which does not exist", what, (unsigned)beneficiary);
        return false;
    }
    const uint8_t phase = ledger->jobs[beneficiary].phase;
    const bool over = phase == ORR_JOB_FINISHED || phase == ORR_JOB_WITHDRAWN;
    const char *whom = beneficiary == job        ? "itself"
                       : phase == ORR_JOB_FUTURE ? "a job that is not submitted yet"
                       : over                    ? "a job that is over"
                                                 : NULL;
    if (whom != NULL) {
        note_wrong(txn, job, "is %s for %s", what, whom);
    }
    return whom == NULL;
}

static bool is_cause(struct orr_txn *txn, uint32_t job, enum orr_cause cause)
{
    if ((unsigned)cause >= ORR_CAUSE_COUNT) {
        note_wrong(txn, job, "is evicted with cause %u, which does not exist", (unsigned)cause);
    }
    return (unsigned)cause < ORR_CAUSE_COUNT;
}

/* Are there such a group and node, and so many tasks left? */
static bool can_act(const struct orr_ledger *ledger, uint32_t job, uint32_t group, uint32_t tasks,
                    uint32_t node)
{
    if (node >= ledger->world.cluster->node_count) {
        return false;
    }
    uint8_t phase = ledger->jobs[job].phase;
    return (phase == ORR_JOB_PENDING || phase == ORR_JOB_RUNNING) &&
           !orr_ledger_is_suspended(ledger, job) &&
           group < orr_ledger__shape(ledger, job)->group_count && tasks > 0 &&
           tasks <= tasks_left(ledger, job, group);
}

static bool place(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node,
                  uint64_t devices)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!is_there(txn, job, "placed") || !can_act(ledger, job, group, tasks, node)) {
        return false;
    }
    struct orr_job_state *state = &ledger->jobs[job];
    struct orr_placement placement = {
        .node = node,
        .next = state->placement,
        .tasks = tasks,
        .group = (uint16_t)group,
        .attempt = (uint16_t)(state->attempts + (state->phase == ORR_JOB_PENDING)),
        .devices = devices,
        .since_ms = ORR_MS_NONE,
        .until_ms = ORR_MS_NONE,
        .job = job};
    const struct orr_request *request = orr_ledger__request(ledger, job, group);
    if (!orr_books__take(ledger, request, &placement)) {
        return false;
    }
    state->placement = orr_ledger__append(ledger, &placement);
    state->placed_tasks += tasks;
    orr_use__allocated(ledger, request, &placement, 1);
    journal(txn, (struct op){
                     .kind = OP_PLACE, .job = job, .node = node, .tasks = tasks, .group = group});
    return true;
}

bool orr_txn_place(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node)
{
    return place(txn, job, group, tasks, node, 0);
}

bool orr_txn_place_on(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t node,
                      uint64_t devices)
{
    return devices != 0 && place(txn, job, group, 1, node, devices);
}

static void undo_place(struct orr_ledger *ledger, uint32_t job)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->placement == ledger->placement_count - 1);
    const struct orr_placement *placement = &ledger->placements[state->placement];
    const struct orr_request *request = orr_ledger__request(ledger, job, placement->group);
    orr_use__allocated(ledger, request, placement, -1);
    orr_books__give(ledger, request, placement);
    state->placement = placement->next;
    state->placement_count--;
    state->placed_tasks -= placement->tasks;
    ledger->placement_count--;
}

/* A pipelined task counts against releasing room, which may go below zero when it claims idle room
 * (KAI's node_info.go); a placement must then leave that claim alone, see orr_ledger_room_for. */
static void claim(struct orr_ledger *ledger, const struct op *op, int sign)
{
    struct orr_room room =
        orr_books__room(orr_ledger__request(ledger, op->job, op->group), op->tasks);
    orr_ledger__releasing(ledger, op->node, room, sign);
    ledger->claims += (uint32_t)sign;
}

bool orr_txn_pipeline(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks,
                      uint32_t node)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!is_there(txn, job, "pipelined") || !can_act(ledger, job, group, tasks, node)) {
        return false;
    }
    const struct orr_request *request = orr_ledger__request(ledger, job, group);
    struct orr_room both = ledger->idle[node];
    orr_room_add(&both, &ledger->releasing[node], 1);
    if (!orr_ledger__may_use(ledger, node, request) ||
        tasks > orr_books__tasks_in(&both, request)) {
        return false;
    }
    struct op op = {.kind = OP_PIPELINE, .job = job, .node = node, .tasks = tasks, .group = group};
    claim(ledger, &op, 1);
    journal(txn, op);
    return true;
}

/* Moves the room of a placement to releasing (+1), or back (-1). */
static void set_leaving(struct orr_ledger *ledger, uint32_t at, uint8_t cause, int sign)
{
    struct orr_placement *placement = &ledger->placements[at];
    struct orr_job_state *state = &ledger->jobs[placement->job];
    const struct orr_request *request =
        orr_ledger__request(ledger, placement->job, placement->group);
    orr_ledger__releasing_of(ledger, request, placement, -sign);
    orr_use__allocated(ledger, request, placement, -sign);
    orr_use__leaving(ledger, request, placement, sign);
    placement->hold = sign > 0 ? ORR_HOLD_LEAVING : ORR_HOLD_KEPT;
    placement->cause = cause;
    state->placed_tasks -= sign > 0 ? placement->tasks : 0;
    state->placed_tasks += sign > 0 ? 0 : placement->tasks;
    state->leaving_tasks += sign > 0 ? placement->tasks : 0;
    state->leaving_tasks -= sign > 0 ? 0 : placement->tasks;
}

/* The `count` highest set bits. */
static uint64_t highest_bits(uint64_t bits, uint32_t count)
{
    uint64_t rest = bits;
    for (; count > 0 && rest != 0; count--) {
        rest ^= (uint64_t)1 << (63 - __builtin_clzll(rest));
    }
    return bits & ~rest;
}

/* Makes some tasks of a placement one of their own: those with the highest devices. */
static uint32_t split(struct orr_ledger *ledger, uint32_t at, uint32_t tasks)
{
    struct orr_placement part = ledger->placements[at];
    uint32_t devices = orr_ledger__request(ledger, part.job, part.group)->devices;
    part.tasks = tasks;
    part.devices = highest_bits(part.devices, devices * tasks);
    uint32_t fresh = orr_ledger__append(ledger, &part);
    struct orr_placement *rest = &ledger->placements[at];
    rest->tasks -= tasks;
    rest->devices &= ~part.devices;
    rest->next = fresh;
    return fresh;
}

static void undo_leave(struct orr_ledger *ledger, const struct op *op)
{
    set_leaving(ledger, op->placement, ORR_CAUSE_NONE, -1);
    if (op->split) {
        const struct orr_placement *part = &ledger->placements[op->placement];
        struct orr_placement *rest = &ledger->placements[op->node];
        ORR_ASSERT(op->placement == ledger->placement_count - 1);
        rest->tasks += part->tasks;
        rest->devices |= part->devices;
        rest->next = part->next;
        ledger->jobs[op->job].placement_count--;
        ledger->placement_count--;
    }
}

bool orr_txn_evict_for(struct orr_txn *txn, uint32_t job, enum orr_cause cause,
                       uint32_t beneficiary)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!is_there(txn, job, "evicted") || !is_cause(txn, job, cause) ||
        !is_for_one(txn, job, "evicted", beneficiary) ||
        ledger->jobs[job].phase != ORR_JOB_RUNNING) {
        return false;
    }
    struct op op = {.job = job, .cause = (uint8_t)cause, .whole = true, .beneficiary = beneficiary};
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        if (ledger->placements[p].hold == ORR_HOLD_KEPT) {
            set_leaving(ledger, p, op.cause, 1);
            op.kind = OP_LEAVE;
            op.placement = p;
            journal(txn, op);
        }
    }
    ledger->jobs[job].phase = ORR_JOB_RELEASING;
    op.kind = OP_EVICT;
    journal(txn, op);
    return true;
}

bool orr_txn_evict(struct orr_txn *txn, uint32_t job, enum orr_cause cause)
{
    return orr_txn_evict_for(txn, job, cause, ORR_NONE);
}

bool orr_txn_evict_tasks(struct orr_txn *txn, uint32_t job, uint32_t placement, uint32_t tasks,
                         enum orr_cause cause, uint32_t beneficiary)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!is_there(txn, job, "evicted") || !is_cause(txn, job, cause) ||
        !is_for_one(txn, job, "evicted", beneficiary) || placement >= ledger->placement_count ||
        tasks == 0) {
        return false;
    }
    const struct orr_placement *from = &ledger->placements[placement];
    if (from->job != job || from->hold != ORR_HOLD_KEPT || tasks > from->tasks ||
        (tasks < from->tasks && from->more_nodes > 0)) {
        return false;
    }
    struct op op = {.kind = OP_LEAVE,
                    .job = job,
                    .cause = (uint8_t)cause,
                    .beneficiary = beneficiary,
                    .placement = placement,
                    .node = placement,
                    .tasks = tasks,
                    .split = tasks < from->tasks};
    if (op.split) {
        op.placement = split(ledger, placement, tasks);
    }
    set_leaving(ledger, op.placement, op.cause, 1);
    journal(txn, op);
    return true;
}

void orr_txn_part(struct orr_txn *txn, uint32_t job, uint32_t node)
{
    const uint32_t edges[] = {node + 1, node};
    struct op op = {.kind = OP_PART, .job = job};
    for (uint32_t e = 0; e < 2; e++) {
        while ((op.placement = orr_ledger__cut(txn->ledger, job, edges[e], &op.node)) != ORR_NONE) {
            journal(txn, op);
        }
    }
}

/* Suspends the job, or has it go on. */
static bool set_suspended(struct orr_txn *txn, const struct op *op, const char *what)
{
    struct orr_ledger *ledger = txn->ledger;
    const bool suspends = op->kind == OP_SUSPEND;
    if (!txn->suspends) {
        note_wrong(txn, op->job, "is %s by a policy that does not say that it suspends jobs", what);
    }
    if (!is_there(txn, op->job, what) || !is_for_one(txn, op->job, what, op->beneficiary) ||
        ledger->jobs[op->job].phase != ORR_JOB_RUNNING ||
        orr_ledger_is_suspended(ledger, op->job) == suspends ||
        ledger->jobs[op->job].leaving_tasks > 0 || ledger->world.specs[op->job].scales ||
        !orr_books__set_suspended(ledger, op->job, suspends)) {
        return false;
    }
    journal(txn, *op);
    return true;
}

bool orr_txn_suspend(struct orr_txn *txn, uint32_t job, uint32_t beneficiary)
{
    return set_suspended(
        txn, &(struct op){.kind = OP_SUSPEND, .job = job, .beneficiary = beneficiary}, "suspended");
}

bool orr_txn_resume(struct orr_txn *txn, uint32_t job)
{
    return set_suspended(txn, &(struct op){.kind = OP_RESUME, .job = job, .beneficiary = ORR_NONE},
                         "resumed");
}

void orr_txn_note_moved(struct orr_txn *txn, uint32_t tasks)
{
    ORR_ASSERT(txn->op_count > txn->committed);
    struct op *op = &txn->ops[txn->op_count - 1];
    ORR_ASSERT(op->kind == OP_EVICT || op->kind == OP_LEAVE);
    op->moved = tasks;
}

uint32_t orr_txn_checkpoint(const struct orr_txn *txn)
{
    return txn->op_count;
}

static void undo_suspended(struct orr_ledger *ledger, const struct op *op)
{
    const bool undone = orr_books__set_suspended(ledger, op->job, op->kind == OP_RESUME);
    ORR_ASSERT(undone); /* what was done since is undone already: there is the CPU it had */
    (void)undone;
}

void orr_txn_rollback(struct orr_txn *txn, uint32_t checkpoint)
{
    ORR_ASSERT(checkpoint >= txn->committed && checkpoint <= txn->op_count);
    while (txn->op_count > checkpoint) {
        const struct op *op = &txn->ops[--txn->op_count];
        switch ((enum op_kind)op->kind) {
        case OP_PLACE: undo_place(txn->ledger, op->job); break;
        case OP_PIPELINE: claim(txn->ledger, op, -1); break;
        case OP_LEAVE: undo_leave(txn->ledger, op); break;
        case OP_EVICT: txn->ledger->jobs[op->job].phase = ORR_JOB_RUNNING; break;
        case OP_PART: orr_ledger__uncut(txn->ledger, op->placement, op->node); break;
        case OP_SUSPEND:
        case OP_RESUME: undo_suspended(txn->ledger, op); break;
        }
    }
}

static uint32_t laws_of(const struct orr_txn *txn, uint32_t job)
{
    const struct orr_ledger_world *world = &txn->ledger->world;
    return txn->shard_laws == NULL
               ? txn->laws
               : txn->shard_laws[world->queues->queues[world->specs[job].queue].shard];
}

static struct orr_txn_decision *add_decision(struct orr_txn *txn)
{
    txn->decisions = ORR_ROOM_FOR_ONE(txn->decisions, txn->decision_count, txn->decision_capacity);
    return &txn->decisions[txn->decision_count++];
}

static void fold_decision(struct orr_ledger *ledger, const struct orr_txn_decision *decision)
{
    static const uint8_t code[] = {
        [ORR_DEED_START] = 2,  [ORR_DEED_EVICT] = 3,   [ORR_DEED_HOLD] = 4,  [ORR_DEED_GROW] = 5,
        [ORR_DEED_SHRINK] = 6, [ORR_DEED_SUSPEND] = 7, [ORR_DEED_RESUME] = 8};
    orr_digest_fold(&ledger->digest, (uint64_t)(code[decision->deed]) << 56 |
                                         (uint64_t)decision->cause << 40 | decision->job);
}

static ORR_APART void decide(struct orr_txn *txn, struct orr_txn_decision decision)
{
    *add_decision(txn) = decision;
    fold_decision(txn->ledger, &decision);
}

/* Node by node, the last one first, as if each had a placement of its own. */
static void fold_placement(struct orr_ledger *ledger, const struct orr_placement *placement)
{
    const uint32_t each = orr_placement_each(placement);
    for (uint32_t n = placement->more_nodes + 1u; n-- > 0;) {
        orr_digest_fold(&ledger->digest, (uint64_t)(placement->node + n) << 32 | each);
        orr_digest_fold(&ledger->digest, placement->devices);
    }
}

static void start(struct orr_ledger *ledger, uint32_t job, orr_ms now)
{
    struct orr_job_state *state = &ledger->jobs[job];
    state->phase = ORR_JOB_RUNNING;
    state->reason = ORR_REASON_NONE;
    state->start_ms = now;
    state->first_start_ms = state->first_start_ms == ORR_MS_NONE ? now : state->first_start_ms;
    state->incarnation++;
    state->attempts++;
    ledger->pending_jobs--;
    ledger->running_jobs++;
    orr_use__pending(ledger, job, -1);
}

/* What a run of placements of one job means: a gang that is complete now runs; one that is not (its
 * policy declared no gang law) holds what it has; one that runs already has grown. */
static void settle_placed(struct orr_txn *txn, struct orr_txn_decision *decision, orr_ms now)
{
    struct orr_ledger *ledger = txn->ledger;
    const uint32_t job = decision->job;
    const struct orr_job_state *state = &ledger->jobs[job];
    bool complete = txn->as_given || orr_ledger__is_complete(ledger, job);
    enum orr_deed deed = state->phase != ORR_JOB_PENDING ? ORR_DEED_GROW
                         : complete                      ? ORR_DEED_START
                                                         : ORR_DEED_HOLD;
    if (deed == ORR_DEED_START) {
        start(ledger, job, now);
    }
    decision->deed = (uint8_t)deed;
    fold_decision(ledger, decision);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        struct orr_placement *placement = &ledger->placements[p];
        bool fresh = placement->since_ms == ORR_MS_NONE;
        placement->since_ms = fresh ? now : placement->since_ms;
        if (deed == ORR_DEED_START || (deed == ORR_DEED_GROW && fresh)) {
            fold_placement(ledger, placement);
        }
    }
}

/* Does the journal go on with the same kind of thing done to the same job? */
static bool goes_on(const struct orr_txn *txn, uint32_t i)
{
    const struct op *op = &txn->ops[i], *next = op + 1;
    return i + 1 < txn->op_count && next->kind == op->kind && next->job == op->job &&
           next->whole == op->whole && next->cause == op->cause;
}

static int64_t mgpu_of(const struct orr_ledger *ledger, uint32_t job, uint32_t group,
                       uint32_t tasks)
{
    return tasks * orr_request_mgpu(orr_ledger__request(ledger, job, group));
}

/* Placements of one job that follow each other, from entry `i` on. Returns the last of them. */
static uint32_t settle_run_placed(struct orr_txn *txn, uint32_t i, orr_ms now)
{
    struct orr_txn_decision *decision = add_decision(txn);
    *decision = (struct orr_txn_decision){.job = txn->ops[i].job, .beneficiary = ORR_NONE};
    const struct orr_shape *shape = orr_ledger__shape(txn->ledger, decision->job);
    for (;; i++) {
        const struct op *op = &txn->ops[i];
        const struct orr_request *request = &shape->groups[op->group].request;
        decision->tasks += op->tasks;
        decision->mgpu += op->tasks * orr_request_mgpu(request);
        decision->held_mgpu +=
            op->tasks *
            orr_request_task_mgpu(request, orr_cluster_type(txn->ledger->world.cluster, op->node));
        if (!goes_on(txn, i)) {
            decision->action = op->action;
            settle_placed(txn, decision, now);
            return i;
        }
    }
}

/* The same of what leaves one job, with the eviction of the job itself if that follows. */
static ORR_APART uint32_t settle_run_left(struct orr_txn *txn, uint32_t i)
{
    struct orr_ledger *ledger = txn->ledger;
    uint32_t job = txn->ops[i].job, node = ORR_NONE;
    struct orr_txn_decision out = {.job = job, .deed = ORR_DEED_SHRINK};
    for (; txn->ops[i].kind == OP_LEAVE; i++) {
        const struct orr_placement *left = &ledger->placements[txn->ops[i].placement];
        out.tasks += left->tasks;
        out.moved += txn->ops[i].moved;
        out.mgpu += mgpu_of(ledger, job, left->group, left->tasks);
        node = left->node;
        if (!txn->ops[i].whole && !goes_on(txn, i)) {
            break;
        }
    }
    out.beneficiary = txn->ops[i].beneficiary;
    out.cause = txn->ops[i].cause;
    out.action = txn->ops[i].action;
    if (txn->ops[i].kind == OP_EVICT) {
        out.deed = ORR_DEED_EVICT;
        out.moved = txn->ops[i].moved;
        ledger->jobs[job].evictions++;
        ledger->running_jobs--;
        decide(txn, out);
    } else {
        decide(txn, out);
        orr_digest_fold(&ledger->digest, (uint64_t)node << 32 | out.tasks);
    }
    return i;
}

static ORR_APART void settle_suspended(struct orr_txn *txn, const struct op *op)
{
    decide(txn, (struct orr_txn_decision){.job = op->job,
                                          .beneficiary = op->beneficiary,
                                          .tasks = txn->ledger->jobs[op->job].placed_tasks,
                                          .deed = op->kind == OP_SUSPEND ? ORR_DEED_SUSPEND
                                                                         : ORR_DEED_RESUME,
                                          .action = op->action});
}

/* How many placements the commit makes, one after the other at the end of all; 0: others are among
 * them. */
static uint32_t placements_made(const struct orr_txn *txn)
{
    uint32_t made = 0;
    for (uint32_t i = txn->committed; i < txn->op_count; i++) {
        const struct op *op = &txn->ops[i];
        if (op->kind == OP_PART || (op->kind == OP_LEAVE && op->split)) {
            return 0;
        }
        made += op->kind == OP_PLACE;
    }
    return made;
}

/* The journal's entries since the last commit, as decisions; pipelines stay in the journal. */
static uint32_t settle_all(struct orr_txn *txn, orr_ms now)
{
    uint32_t kept = txn->committed;
    for (uint32_t i = txn->committed; i < txn->op_count; i++) {
        switch ((enum op_kind)txn->ops[i].kind) {
        case OP_PLACE: i = settle_run_placed(txn, i, now); break;
        case OP_LEAVE:
        case OP_EVICT: i = settle_run_left(txn, i); break;
        case OP_PIPELINE: txn->ops[kept++] = txn->ops[i]; break;
        case OP_PART: break; /* what is held is the same */
        case OP_SUSPEND:
        case OP_RESUME: settle_suspended(txn, &txn->ops[i]); break;
        }
    }
    return kept;
}

bool orr_txn_commit(struct orr_txn *txn, orr_ms now, struct orr_refusal *refusal)
{
    if (txn->has_wrong) {
        *refusal = txn->wrong;
        txn->has_wrong = false;
        orr_txn_rollback(txn, txn->committed);
        return false;
    }
    for (uint32_t i = txn->committed; i < txn->op_count; i++) {
        const struct op *op = &txn->ops[i];
        bool first = i == txn->committed || op[-1].kind != OP_PLACE || op[-1].job != op->job;
        if (op->kind == OP_PLACE && first &&
            !orr_ledger__keeps_laws(txn->ledger, op->job, laws_of(txn, op->job), refusal)) {
            orr_txn_rollback(txn, txn->committed);
            return false;
        }
    }
    const bool several = txn->op_count - txn->committed > 1;
    const uint32_t made = txn->joins && several ? placements_made(txn) : 0;
    uint32_t kept = settle_all(txn, now);
    if (made > 1) {
        orr_ledger__join(txn->ledger, txn->ledger->placement_count - made);
    }
    txn->op_count = kept;
    txn->committed = kept;
    return true;
}

const struct orr_txn_decision *orr_txn_decisions(const struct orr_txn *txn, uint32_t *count)
{
    *count = txn->decision_count;
    return txn->decisions;
}

bool orr_txn_is_idle(const struct orr_txn *txn)
{
    return txn->op_count + txn->decision_count + txn->explanation_count + txn->whole_count == 0 &&
           !txn->has_wrong;
}

void orr_txn_end_cycle(struct orr_txn *txn)
{
    ORR_ASSERT(txn->committed == txn->op_count);
    txn->committed = 0;
    if (txn->op_count > 0) { /* claims */
        orr_txn_rollback(txn, 0);
    }
    txn->decision_count = 0;
    txn->action = NULL;
    txn->explanation_count = 0;
    txn->whole_count = 0;
}

void orr_txn_note_whole(struct orr_txn *txn, uint32_t job)
{
    txn->whole = ORR_ROOM_FOR_ONE(txn->whole, txn->whole_count, txn->whole_capacity);
    txn->whole[txn->whole_count++] = job;
}

const uint32_t *orr_txn_whole(const struct orr_txn *txn, uint32_t *count)
{
    *count = txn->whole_count;
    return txn->whole;
}

/* A job or reason that does not exist, or a job that does not wait, has the commit refuse all. */
static bool may_explain(struct orr_txn *txn, uint32_t job, enum orr_reason reason)
{
    if (!is_there(txn, job, "explained")) {
        return false;
    }
    if ((unsigned)reason >= ORR_REASON_COUNT) {
        note_wrong(txn, job, "is explained by reason %u, which does not exist", (unsigned)reason);
        return false;
    }
    if (txn->ledger->jobs[job].phase != ORR_JOB_PENDING) {
        note_wrong(txn, job, "is explained, but does not wait");
        return false;
    }
    return true;
}

/* Is the reason another one than before? */
static bool reason_changed(struct orr_txn *txn, uint32_t job, enum orr_reason reason)
{
    return may_explain(txn, job, reason) && txn->ledger->jobs[job].reason != reason;
}

static bool is_below(uint32_t index, uint32_t count)
{
    return index == ORR_NONE || index < count;
}

/* Does all exist that the numbers are about? Names are looked up by them later. */
static bool is_proof(const struct orr_ledger *ledger, const struct orr_proof *proof)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    const uint32_t level = proof->level, nodes = cluster->level_count + 1;
    const bool levels = level == ORR_NONE || (level > 0 && level <= nodes);
    const uint32_t domains = !levels || level == ORR_NONE ? 0
                             : level == nodes             ? cluster->node_count
                                                          : cluster->levels[level - 1].domain_count;
    return levels && is_below(proof->domain, domains) &&
           is_below(proof->queue, ledger->world.queues->count) &&
           is_below(proof->ahead, ledger->world.job_count) &&
           proof->consolidation < ORR_OUTCOME_COUNT && proof->reclaim < ORR_OUTCOME_COUNT &&
           proof->preempt < ORR_OUTCOME_COUNT;
}

void orr_txn_explain_anew(struct orr_txn *txn, uint32_t job, enum orr_reason reason,
                          const struct orr_proof *proof)
{
    if (!may_explain(txn, job, reason)) {
        return;
    }
    if (is_proof(txn->ledger, proof)) {
        txn->ledger->jobs[job].reason = (uint8_t)reason;
        txn->explanations =
            ORR_ROOM_FOR_ONE(txn->explanations, txn->explanation_count, txn->explanation_capacity);
        txn->explanations[txn->explanation_count++] =
            (struct orr_explanation){.job = job, .reason = reason, .proof = *proof};
    } else {
        note_wrong(txn, job, "is explained by numbers of what does not exist");
    }
}

void orr_txn_explain_by(struct orr_txn *txn, uint32_t job, enum orr_reason reason,
                        const struct orr_proof *proof)
{
    if (reason_changed(txn, job, reason)) {
        orr_txn_explain_anew(txn, job, reason, proof);
    }
}

void orr_txn_explain(struct orr_txn *txn, uint32_t job, enum orr_reason reason)
{
    if (reason_changed(txn, job, reason)) {
        struct orr_proof proof = orr_ledger_prove(txn->ledger, job, reason);
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

const struct orr_explanation *orr_txn_explanations(const struct orr_txn *txn, uint32_t *count)
{
    *count = txn->explanation_count;
    return txn->explanations;
}
