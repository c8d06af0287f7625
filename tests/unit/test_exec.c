/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim/exec against a walk that takes one ms at a time: finish, and every mGPU x ms by what became
 * of it. Jobs are evicted, suspended, shrink, grow and lose members of their gang at random times;
 * some lose their node in the grace. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/rng.h>
#include <orrery/sim/exec.h>

#include "core_world.h"

#define GPUS 4u /* tasks of the job, a whole device each */

struct walk { /* the job once more, ms by ms */
    struct orr_terms terms;
    int64_t work, progress, saved, mark, unsaved;
    int64_t pause; /* ms of pause left */
    bool writing, started;
    uint32_t min, kept, leaving;
    enum { OUT, WORK, STALL, CLOSE, HALT } mode;
    int64_t close_work; /* ms of work left in the grace */
    enum orr_cause cause;
    struct orr_job_time time;
};

struct play {
    struct core_world world;
    struct orr_terms_table table;
    struct orr_terms terms;
    struct orr_ledger *ledger;
    struct orr_txn *txn;
    struct orr_exec *exec;
    struct walk walk;
    struct orr_rng rng;
    orr_ms now, release_ms;
    bool stands; /* it ends within its grace */
};

static uint32_t below(struct play *p, uint32_t bound)
{
    return (uint32_t)orr_rng_below(&p->rng, bound);
}

static void walk_save(struct walk *w)
{
    w->time.useful += w->unsaved;
    w->unsaved = 0;
    w->saved = w->progress;
}

static void walk_begin(struct walk *w, bool again)
{
    w->mode = WORK;
    w->progress = w->saved;
    w->mark = w->saved + w->terms.checkpoint_ms;
    w->pause = again ? w->terms.restart_ms : 0;
    w->writing = false;
}

static void walk_break(struct walk *w, enum orr_cause cause)
{
    if (w->terms.keep_progress && cause != ORR_CAUSE_NODE_FAILURE) {
        walk_save(w);
    }
    w->time.lost[cause] += w->unsaved;
    w->unsaved = 0;
    w->pause = 0;
}

/* A checkpoint that is due is begun, and finished at once if it costs nothing. */
static void walk_marks(struct walk *w)
{
    while (w->mode == WORK && w->pause == 0 && w->terms.checkpoint_ms > 0 &&
           w->progress >= w->mark && w->mark < w->work) {
        w->mark += w->terms.checkpoint_ms;
        if (w->terms.checkpoint_cost_ms == 0) {
            walk_save(w);
        } else {
            w->pause = w->terms.checkpoint_cost_ms;
            w->writing = true;
        }
    }
}

/* What is saved at this very ms, before anything that happens in it: a checkpoint without cost. */
static void walk_reached(struct walk *w)
{
    if (w->terms.checkpoint_cost_ms == 0) {
        walk_marks(w);
    }
}

static void walk_ms(struct walk *w)
{
    int64_t mgpu = (int64_t)w->kept * ORR_MGPU;
    walk_marks(w);
    w->time.lost[w->cause] += (int64_t)w->leaving * ORR_MGPU;
    if (w->mode == STALL) {
        w->time.lost[ORR_CAUSE_STALE_GANG] += mgpu;
    } else if (w->mode == HALT) {
        w->time.waiting += mgpu;
    } else if ((w->mode == WORK || (w->mode == CLOSE && w->close_work > 0)) && w->pause > 0) {
        *(w->writing ? &w->time.checkpoint : &w->time.restart) += mgpu;
        w->close_work--;
        if (--w->pause == 0 && w->writing) {
            walk_save(w);
            w->writing = false;
        }
    } else if (w->mode == WORK || (w->mode == CLOSE && w->close_work > 0)) {
        w->unsaved += mgpu;
        w->progress++;
        w->close_work--;
    } else if (w->mode == CLOSE) {
        w->time.checkpoint += mgpu;
    }
}

/* When the job ends if it is left alone. */
static orr_ms walk_finish(const struct play *p)
{
    struct walk w = p->walk;
    orr_ms at = p->now;
    if (w.mode == OUT || w.mode == STALL || w.mode == HALT) {
        return ORR_MS_NEVER;
    }
    while ((w.progress < w.work || w.pause > 0) && at < p->now + 10000) {
        walk_ms(&w);
        at++;
    }
    return at;
}

static void play_open(struct play *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->rng = orr_rng_stream(1, "test_exec", seed);
    core_world_init(&p->world);
    struct orr_queue queue = orr_queue_default();
    (void)orr_queues_add(&p->world.queues, "q", ORR_NONE, &queue);
    core_world_nodes(&p->world, 1, core_type(8, 8));
    (void)core_world_job(&p->world, 0, GPUS, core_whole(1));
    uint32_t min = 1 + below(p, GPUS);
    struct orr_task_group group = {.request = core_whole(1), .count = GPUS};
    p->world.specs[0].shape = orr_shapes_put(&p->world.shapes, &group, 1, min);
    p->world.specs[0].work_ms = 1 + below(p, 150);
    uint32_t on_evict = below(p, 3);
    p->terms = (struct orr_terms){.checkpoint_ms = below(p, 3) == 0 ? 0 : 1 + below(p, 40),
                                  .checkpoint_cost_ms = below(p, 2) * below(p, 8),
                                  .restart_ms = below(p, 10),
                                  .grace_ms = 1 + below(p, 20),
                                  .profile = ORR_NONE,
                                  .checkpoint_on_evict = on_evict == 1,
                                  .keep_progress = on_evict == 2};
    p->table = (struct orr_terms_table){.items = &p->terms, .count = 1};
    p->ledger = core_world_open(&p->world);
    p->txn = orr_txn_open(p->ledger, 0);
    orr_txn_let_suspend(p->txn);
    const struct orr_exec_setting setting = {.terms = &p->table, .suspends = true};
    p->exec = orr_exec_open(p->ledger, &setting);
    assert_non_null(p->exec);
    orr_ledger_submit(p->ledger, 0);
    p->walk = (struct walk){.terms = p->terms, .work = p->world.specs[0].work_ms, .min = min};
}

static void play_close(struct play *p)
{
    orr_exec_close(p->exec);
    orr_txn_close(p->txn);
    orr_ledger_close(p->ledger);
    core_world_release(&p->world);
}

static void commit(struct play *p)
{
    struct orr_refusal refusal;
    assert_true(orr_txn_commit(p->txn, p->now, &refusal));
    orr_txn_end_cycle(p->txn);
}

/* Starts it with its minimum or more, or adds tasks; a gang that is whole again starts again. */
static void place(struct play *p)
{
    struct walk *w = &p->walk;
    uint32_t room = GPUS - w->kept - w->leaving;
    uint32_t least = w->mode == OUT ? w->min : 1;
    if (room < least) {
        return;
    }
    uint32_t tasks = least + below(p, room - least + 1);
    assert_true(orr_txn_place(p->txn, 0, 0, tasks, 0));
    commit(p);
    (void)orr_exec_change(p->exec, 0, p->now, ORR_CAUSE_NONE);
    w->kept += tasks;
    if (w->mode == OUT || (w->mode == STALL && w->kept >= w->min)) {
        walk_begin(w, w->started);
        w->started = true;
    }
}

static void lose_some(struct play *p)
{
    struct walk *w = &p->walk;
    uint32_t placement = p->ledger->jobs[0].placement;
    while (p->ledger->placements[placement].hold != ORR_HOLD_KEPT) {
        placement = p->ledger->placements[placement].next;
    }
    uint32_t tasks = 1 + below(p, p->ledger->placements[placement].tasks);
    if (tasks == w->kept || w->leaving > 0) {
        return;
    }
    assert_true(orr_txn_evict_tasks(p->txn, 0, placement, tasks, ORR_CAUSE_NODE_FAILURE, ORR_NONE));
    commit(p);
    p->release_ms = p->now + p->terms.grace_ms;
    orr_ledger_set_release(p->ledger, 0, p->release_ms);
    (void)orr_exec_change(p->exec, 0, p->now, ORR_CAUSE_NODE_FAILURE);
    walk_reached(w);
    w->kept -= tasks;
    w->leaving += tasks;
    w->cause = ORR_CAUSE_NODE_FAILURE;
    if (w->kept < w->min && (w->mode == WORK || w->mode == HALT)) {
        walk_break(w, ORR_CAUSE_NODE_FAILURE);
        w->mode = STALL;
    }
}

static void evict(struct play *p)
{
    struct walk *w = &p->walk;
    if (w->leaving > 0) {
        return;
    }
    assert_true(orr_txn_evict(p->txn, 0, ORR_CAUSE_RECLAIM));
    commit(p);
    p->release_ms = p->now + p->terms.grace_ms;
    orr_ledger_set_release(p->ledger, 0, p->release_ms);
    walk_reached(w);
    w->cause = ORR_CAUSE_RECLAIM;
    int64_t span = p->terms.grace_ms - p->terms.checkpoint_cost_ms;
    orr_exec_evict(p->exec, 0, p->now, p->release_ms, ORR_CAUSE_RECLAIM);
    p->stands = orr_exec_finish_ms(p->exec, 0) != ORR_MS_NEVER;
    if (w->mode == WORK && p->terms.checkpoint_on_evict && span >= 0) {
        w->mode = CLOSE;
        w->close_work = span;
        assert_int_equal(p->stands, walk_finish(p) <= p->now + span);
    } else {
        if (w->mode == WORK || w->mode == HALT) {
            walk_break(w, ORR_CAUSE_RECLAIM);
        }
        w->mode = OUT;
        w->leaving = w->kept;
        w->kept = 0;
        assert_false(p->stands);
    }
}

/* Suspends it, or has it go on. */
static void halt(struct play *p)
{
    struct walk *w = &p->walk;
    const bool resumes = orr_ledger_is_suspended(p->ledger, 0);
    if (w->leaving > 0 || (w->mode != WORK && !resumes)) {
        return;
    }
    assert_true(resumes ? orr_txn_resume(p->txn, 0) : orr_txn_suspend(p->txn, 0, ORR_NONE));
    commit(p);
    walk_reached(w);
    (resumes ? orr_exec_resume : orr_exec_suspend)(p->exec, 0, p->now);
    w->mode = !resumes ? HALT : w->mode == HALT ? WORK : w->mode;
}

static void release(struct play *p)
{
    struct walk *w = &p->walk;
    (void)orr_ledger_release(p->ledger, 0, p->now);
    (void)orr_exec_release(p->exec, 0, p->now);
    if (w->mode == CLOSE) {
        if (p->now == p->release_ms) {
            walk_save(w);
        } else { /* its node failed */
            walk_break(w, ORR_CAUSE_NODE_FAILURE);
            p->stands = false;
        }
        w->mode = OUT;
        w->kept = 0;
    }
    w->leaving = 0;
    p->release_ms = 0;
}

static void same_time(const struct orr_job_time *a, const struct orr_job_time *b)
{
    assert_int_equal(a->useful, b->useful);
    for (int c = 0; c < ORR_CAUSE_COUNT; c++) {
        assert_int_equal(a->lost[c], b->lost[c]);
    }
    assert_int_equal(a->checkpoint, b->checkpoint);
    assert_int_equal(a->restart, b->restart);
    assert_int_equal(a->waiting, b->waiting);
}

/* One job's life; returns how often it was interrupted. */
static uint32_t live(uint64_t seed)
{
    struct play p;
    uint32_t interruptions = 0;
    play_open(&p, seed);
    for (; p.now < 100000; p.now++) {
        orr_ms finish = orr_exec_finish_ms(p.exec, 0);
        if (p.now == finish && (p.walk.mode == WORK || p.stands)) {
            break;
        }
        if (p.release_ms != 0 && (p.now == p.release_ms || below(&p, 40) == 0)) {
            orr_ledger_cut_grace(p.ledger, 0, 0, p.now);
            release(&p);
        }
        bool may_break = interruptions < 8 && p.ledger->jobs[0].phase == ORR_JOB_RUNNING;
        const bool suspended = orr_ledger_is_suspended(p.ledger, 0);
        if (below(&p, 12) == 0) {
            halt(&p);
        } else if (p.walk.mode != CLOSE && p.walk.leaving == 0 && !suspended && below(&p, 6) == 0) {
            place(&p);
        } else if (may_break && below(&p, 40) == 0) {
            evict(&p);
            interruptions++;
        } else if (may_break && below(&p, 30) == 0) {
            lose_some(&p);
            interruptions++;
        }
        if (p.walk.mode == WORK) {
            assert_int_equal(orr_exec_finish_ms(p.exec, 0), walk_finish(&p));
        }
        walk_ms(&p.walk);
    }
    assert_int_equal(p.walk.progress, p.walk.work);
    orr_exec_finish(p.exec, 0, p.now, p.now);
    orr_ledger_finish(p.ledger, 0, p.now);
    walk_save(&p.walk);
    same_time(orr_exec_time(p.exec, 0), &p.walk.time);
    int64_t held = 0;
    for (uint32_t i = 0; i < p.ledger->placement_count; i++) {
        const struct orr_placement *placement = &p.ledger->placements[i];
        held += (placement->until_ms - placement->since_ms) * placement->tasks * ORR_MGPU;
    }
    assert_int_equal(orr_job_time_sum(orr_exec_time(p.exec, 0)), held);
    play_close(&p);
    return interruptions;
}

static void random_lives__equal_a_walk_by_ms(void **state)
{
    (void)state;
    uint32_t interruptions = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        interruptions += live(seed);
    }
    assert_true(interruptions > 3000);
}

/* Thirty minutes between checkpoints of a minute each: ten hours of work take 19 of them. */
static void finish__counts_checkpoints_in_closed_form(void **state)
{
    (void)state;
    struct play p;
    play_open(&p, 0);
    p.world.specs[0].work_ms = 36000000;
    p.terms = (struct orr_terms){.checkpoint_ms = 1800000,
                                 .checkpoint_cost_ms = 60000,
                                 .restart_ms = 120000,
                                 .profile = ORR_NONE};
    p.walk.min = GPUS;
    assert_true(orr_txn_place(p.txn, 0, 0, GPUS, 0));
    commit(&p);
    assert_true(orr_exec_change(p.exec, 0, 0, ORR_CAUSE_NONE));
    assert_int_equal(orr_exec_finish_ms(p.exec, 0), 36000000 + 19 * 60000);
    /* evicted after 1 h 5 min of wall time: two checkpoints are written, 3 min of work are lost */
    p.now = 3900000;
    assert_true(orr_txn_evict(p.txn, 0, ORR_CAUSE_PREEMPT));
    commit(&p);
    orr_ledger_set_release(p.ledger, 0, p.now);
    orr_exec_evict(p.exec, 0, p.now, p.now, ORR_CAUSE_PREEMPT);
    (void)orr_ledger_release(p.ledger, 0, p.now);
    (void)orr_exec_release(p.exec, 0, p.now);
    const struct orr_job_time *time = orr_exec_time(p.exec, 0);
    assert_int_equal(time->useful, (int64_t)3600000 * GPUS * ORR_MGPU);
    assert_int_equal(time->checkpoint, (int64_t)120000 * GPUS * ORR_MGPU);
    assert_int_equal(time->lost[ORR_CAUSE_PREEMPT], (int64_t)180000 * GPUS * ORR_MGPU);
    /* nine hours are left, 17 checkpoints, and the restart */
    p.now = 4000000;
    assert_true(orr_txn_place(p.txn, 0, 0, GPUS, 0));
    commit(&p);
    (void)orr_exec_change(p.exec, 0, p.now, ORR_CAUSE_NONE);
    assert_int_equal(orr_exec_finish_ms(p.exec, 0), 4000000 + 120000 + 32400000 + 17 * 60000);
    play_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives__equal_a_walk_by_ms),
        cmocka_unit_test(finish__counts_checkpoints_in_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
