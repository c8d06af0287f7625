/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_txn.c - the journal: what was done to the books since the last commit, newest last.
 *
 * Operations act on the books at once, so later ones see earlier ones; undoing walks the journal
 * backwards. Rolling back costs what was done, never what exists. */
#include "ledger_int.h"

#include <stdio.h>
#include <string.h>

enum op_kind { OP_PLACE, OP_PIPELINE, OP_EVICT };

struct op {
    uint8_t kind;  /* enum op_kind */
    uint8_t cause; /* EVICT */
    uint32_t job;
    uint32_t node, tasks, group; /* PIPELINE */
};

struct orr_txn {
    struct orr_ledger *ledger;
    uint32_t laws;
    struct op *ops;
    uint32_t op_count, op_capacity;
    uint32_t committed; /* ops before this one are committed; only pipelines are kept there */
    struct orr_txn_decision *decisions;
    uint32_t decision_count, decision_capacity;
    struct orr_explanation *explanations;
    uint32_t explanation_count, explanation_capacity;
};

struct orr_txn *orr_txn_open(struct orr_ledger *ledger, uint32_t laws)
{
    struct orr_txn *txn = orr_zalloc(1, sizeof *txn);
    txn->ledger = ledger;
    txn->laws = laws;
    return txn;
}

void orr_txn_close(struct orr_txn *txn)
{
    if (txn != NULL) {
        orr_free(txn->ops);
        orr_free(txn->decisions);
        orr_free(txn->explanations);
        orr_free(txn);
    }
}

static void journal(struct orr_txn *txn, struct op op)
{
    txn->ops = ORR_ROOM_FOR_ONE(txn->ops, txn->op_count, txn->op_capacity);
    txn->ops[txn->op_count++] = op;
}

/* Tasks of a group that the job has not placed yet. */
static uint32_t tasks_left(const struct orr_ledger *ledger, uint32_t job, uint32_t group)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    const struct orr_job_state *state = &ledger->jobs[job];
    if (shape->group_count == 1) {
        return shape->tasks - state->placed_tasks;
    }
    uint32_t left = shape->groups[group].count;
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        left -= ledger->placements[p].group == group ? ledger->placements[p].tasks : 0;
    }
    return left;
}

/* Is there such a pending job, group and node, and are so many tasks left? */
static bool can_act(const struct orr_ledger *ledger, uint32_t job, uint32_t group, uint32_t tasks,
                    uint32_t node)
{
    return job < ledger->world.job_count && ledger->jobs[job].phase == ORR_JOB_PENDING &&
           node < ledger->world.cluster->node_count &&
           group < orr_ledger__shape(ledger, job)->group_count && tasks > 0 &&
           tasks <= tasks_left(ledger, job, group);
}

bool orr_txn_place(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!can_act(ledger, job, group, tasks, node)) {
        return false;
    }
    struct orr_job_state *state = &ledger->jobs[job];
    struct orr_placement placement = {
        .node = node, .next = state->placement, .tasks = tasks, .group = group};
    if (!orr_books__take(ledger, orr_ledger__request(ledger, job, group), &placement)) {
        return false;
    }
    ledger->placements =
        ORR_ROOM_FOR_ONE(ledger->placements, ledger->placement_count, ledger->placement_capacity);
    ledger->placements[ledger->placement_count] = placement;
    state->placement = ledger->placement_count++;
    state->placement_count++;
    state->placed_tasks += tasks;
    orr_use__allocated(ledger, job, &placement, 1);
    journal(txn, (struct op){.kind = OP_PLACE, .job = job, .tasks = tasks, .group = group});
    return true;
}

static void undo_place(struct orr_ledger *ledger, uint32_t job)
{
    struct orr_job_state *state = &ledger->jobs[job];
    ORR_ASSERT(state->placement == ledger->placement_count - 1);
    const struct orr_placement *placement = &ledger->placements[state->placement];
    orr_use__allocated(ledger, job, placement, -1);
    orr_books__give(ledger, orr_ledger__request(ledger, job, placement->group), placement);
    state->placement = placement->next;
    state->placement_count--;
    state->placed_tasks -= placement->tasks;
    ledger->placement_count--;
}

/* A pipelined task counts against releasing room, which may go below zero when it claims idle room
 * (KAI 4.6); a placement must then leave that claim alone, see orr_books__fits. */
static void claim(struct orr_ledger *ledger, const struct op *op, int sign)
{
    struct orr_room room =
        orr_books__room(orr_ledger__request(ledger, op->job, op->group), op->tasks);
    struct orr_room *releasing = &ledger->releasing[op->node];
    releasing->cpu_milli -= sign * room.cpu_milli;
    releasing->mem_bytes -= sign * room.mem_bytes;
    releasing->gpus -= sign * room.gpus;
    releasing->pods -= sign * room.pods;
}

bool orr_txn_pipeline(struct orr_txn *txn, uint32_t job, uint32_t group, uint32_t tasks,
                      uint32_t node)
{
    struct orr_ledger *ledger = txn->ledger;
    if (!can_act(ledger, job, group, tasks, node)) {
        return false;
    }
    const struct orr_request *request = orr_ledger__request(ledger, job, group);
    struct orr_room room = orr_books__room(request, tasks);
    const struct orr_room *idle = &ledger->idle[node];
    const struct orr_room *releasing = &ledger->releasing[node];
    if (!orr_ledger__may_use(ledger, node, request) || room.gpus > idle->gpus + releasing->gpus ||
        room.pods > idle->pods + releasing->pods ||
        room.cpu_milli > idle->cpu_milli + releasing->cpu_milli ||
        room.mem_bytes > idle->mem_bytes + releasing->mem_bytes) {
        return false;
    }
    struct op op = {.kind = OP_PIPELINE, .job = job, .node = node, .tasks = tasks, .group = group};
    claim(ledger, &op, 1);
    journal(txn, op);
    return true;
}

/* Moves the room of a running job to releasing, or back. */
static void set_releasing(struct orr_ledger *ledger, uint32_t job, int sign)
{
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        struct op held = {.job = job,
                          .node = placement->node,
                          .tasks = placement->tasks,
                          .group = placement->group};
        claim(ledger, &held, -sign);
        orr_use__allocated(ledger, job, placement, -sign);
    }
    ledger->jobs[job].phase = sign > 0 ? ORR_JOB_RELEASING : ORR_JOB_RUNNING;
}

bool orr_txn_evict(struct orr_txn *txn, uint32_t job, enum orr_cause cause)
{
    if (job >= txn->ledger->world.job_count || txn->ledger->jobs[job].phase != ORR_JOB_RUNNING) {
        return false;
    }
    set_releasing(txn->ledger, job, 1);
    journal(txn, (struct op){.kind = OP_EVICT, .job = job, .cause = (uint8_t)cause});
    return true;
}

uint32_t orr_txn_checkpoint(const struct orr_txn *txn)
{
    return txn->op_count;
}

void orr_txn_rollback(struct orr_txn *txn, uint32_t checkpoint)
{
    ORR_ASSERT(checkpoint >= txn->committed && checkpoint <= txn->op_count);
    while (txn->op_count > checkpoint) {
        const struct op *op = &txn->ops[--txn->op_count];
        switch ((enum op_kind)op->kind) {
        case OP_PLACE: undo_place(txn->ledger, op->job); break;
        case OP_PIPELINE: claim(txn->ledger, op, -1); break;
        case OP_EVICT: set_releasing(txn->ledger, op->job, -1); break;
        }
    }
}

static bool refuse(struct orr_refusal *refusal, uint32_t job, uint32_t law, const char *text)
{
    *refusal = (struct orr_refusal){.job = job, .law = law};
    (void)snprintf(refusal->text, sizeof refusal->text, "%s", text);
    return false;
}

static bool within_limits(const struct orr_ledger *ledger, uint32_t job)
{
    static const double unit[ORR_SHARE_RESOURCES] = {1.0, 1.0, ORR_MGPU};
    const struct orr_queues *queues = ledger->world.queues;
    for (uint32_t q = ledger->world.specs[job].queue; q != ORR_NONE; q = queues->queues[q].parent) {
        for (int r = 0; r < ORR_SHARE_RESOURCES; r++) {
            double limit = queues->queues[q].resources[r].limit;
            /* why: a quotient is the double next to the decimal that the limit was written as;
             * limit * unit may fall below it */
            if (limit >= 0.0 && (double)ledger->use[q].allocated[r] / unit[r] > limit) {
                return false;
            }
        }
    }
    return true;
}

/* Are all its tasks in one domain of the level that the gang requires? */
static bool within_span(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    uint32_t level = orr_ledger__shape(ledger, job)->span.required;
    uint32_t p = ledger->jobs[job].placement;
    if (level == 0 || p == ORR_NONE) {
        return true;
    }
    uint32_t domain = orr_cluster_domain(cluster, level, ledger->placements[p].node);
    for (; p != ORR_NONE; p = ledger->placements[p].next) {
        if (orr_cluster_domain(cluster, level, ledger->placements[p].node) != domain) {
            return false;
        }
    }
    return true;
}

static bool lawful(const struct orr_txn *txn, uint32_t job, struct orr_refusal *refusal)
{
    const struct orr_ledger *ledger = txn->ledger;
    if ((txn->laws & ORR_LAW_GANG) != 0 &&
        ledger->jobs[job].placed_tasks < orr_ledger__shape(ledger, job)->min_tasks) {
        return refuse(refusal, job, ORR_LAW_GANG, "fewer tasks are placed than its gang needs");
    }
    if ((txn->laws & ORR_LAW_SPAN) != 0 && !within_span(ledger, job)) {
        return refuse(refusal, job, ORR_LAW_SPAN,
                      "its tasks are not together in one domain of the level it requires");
    }
    if ((txn->laws & ORR_LAW_LIMIT) != 0 && !within_limits(ledger, job)) {
        return refuse(refusal, job, ORR_LAW_LIMIT, "a queue above it would pass its limit");
    }
    return true;
}

static void decide(struct orr_txn *txn, uint32_t job, enum orr_deed deed, uint8_t cause,
                   int64_t mgpu)
{
    static const uint8_t code[] = {[ORR_DEED_START] = 2, [ORR_DEED_EVICT] = 3, [ORR_DEED_HOLD] = 4};
    txn->decisions = ORR_ROOM_FOR_ONE(txn->decisions, txn->decision_count, txn->decision_capacity);
    txn->decisions[txn->decision_count++] =
        (struct orr_txn_decision){.job = job, .deed = (uint8_t)deed, .cause = cause, .mgpu = mgpu};
    orr_digest_fold(&txn->ledger->digest,
                    (uint64_t)(code[deed]) << 56 | (uint64_t)cause << 40 | job);
}

static void start(struct orr_txn *txn, uint32_t job, orr_ms now, int64_t mgpu)
{
    struct orr_ledger *ledger = txn->ledger;
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
    decide(txn, job, ORR_DEED_START, 0, mgpu);
    for (uint32_t p = state->placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        orr_digest_fold(&ledger->digest, (uint64_t)placement->node << 32 | placement->tasks);
        orr_digest_fold(&ledger->digest, placement->devices);
    }
}

/* A gang that is complete runs; one that is not (its policy declared no gang law) holds what it
 * has. */
static void settle_placed(struct orr_txn *txn, uint32_t job, orr_ms now, int64_t mgpu)
{
    const struct orr_job_state *state = &txn->ledger->jobs[job];
    if (state->phase == ORR_JOB_PENDING &&
        state->placed_tasks >= orr_ledger__shape(txn->ledger, job)->min_tasks) {
        start(txn, job, now, mgpu);
    } else {
        decide(txn, job, ORR_DEED_HOLD, 0, mgpu);
    }
}

bool orr_txn_commit(struct orr_txn *txn, orr_ms now, struct orr_refusal *refusal)
{
    struct orr_ledger *ledger = txn->ledger;
    for (uint32_t i = txn->committed; i < txn->op_count; i++) {
        const struct op *op = &txn->ops[i];
        bool first = i == txn->committed || op[-1].kind != OP_PLACE || op[-1].job != op->job;
        if (op->kind == OP_PLACE && first && !lawful(txn, op->job, refusal)) {
            orr_txn_rollback(txn, txn->committed);
            return false;
        }
    }
    uint32_t kept = txn->committed;
    int64_t mgpu = 0; /* of the run of placements of one job */
    for (uint32_t i = txn->committed; i < txn->op_count; i++) {
        struct op op = txn->ops[i];
        switch ((enum op_kind)op.kind) {
        case OP_PLACE: {
            bool last = i + 1 == txn->op_count || txn->ops[i + 1].kind != OP_PLACE ||
                        txn->ops[i + 1].job != op.job;
            mgpu += op.tasks * orr_request_mgpu(orr_ledger__request(ledger, op.job, op.group));
            if (last) {
                settle_placed(txn, op.job, now, mgpu);
                mgpu = 0;
            }
            break;
        }
        case OP_EVICT:
            ledger->jobs[op.job].evictions++;
            ledger->running_jobs--;
            decide(txn, op.job, ORR_DEED_EVICT, op.cause, 0);
            break;
        case OP_PIPELINE: txn->ops[kept++] = op; break;
        }
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

void orr_txn_end_cycle(struct orr_txn *txn)
{
    ORR_ASSERT(txn->committed == txn->op_count);
    txn->committed = 0;
    orr_txn_rollback(txn, 0);
    txn->decision_count = 0;
    txn->explanation_count = 0;
}

/* Is it news? */
static bool changes(const struct orr_txn *txn, uint32_t job, enum orr_reason reason)
{
    return job < txn->ledger->world.job_count && (unsigned)reason < ORR_REASON_COUNT &&
           txn->ledger->jobs[job].reason != reason;
}

void orr_txn_explain_by(struct orr_txn *txn, uint32_t job, enum orr_reason reason,
                        const struct orr_proof *proof)
{
    if (changes(txn, job, reason)) {
        txn->ledger->jobs[job].reason = (uint8_t)reason;
        txn->explanations =
            ORR_ROOM_FOR_ONE(txn->explanations, txn->explanation_count, txn->explanation_capacity);
        txn->explanations[txn->explanation_count++] =
            (struct orr_explanation){.job = job, .reason = reason, .proof = *proof};
    }
}

void orr_txn_explain(struct orr_txn *txn, uint32_t job, enum orr_reason reason)
{
    if (changes(txn, job, reason)) {
        struct orr_proof proof = orr_ledger_prove(txn->ledger, job, reason);
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

const struct orr_explanation *orr_txn_explanations(const struct orr_txn *txn, uint32_t *count)
{
    *count = txn->explanation_count;
    return txn->explanations;
}
