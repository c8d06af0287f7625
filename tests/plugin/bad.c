/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bad.c - a policy that does what no policy may: parameter `how` says what. Compiled with
 * OTHER_CONTRACT it is made for no host, with NO_ENTRY it is no policy, BAD_ROW has a parameter
 * outside of its parameters, NAME is how it calls itself, and with LAST_SLOTS its table has those
 * that came last: it crashes as soon as it is asked which of them a job is left, unless `how` is of
 * these slots. */
#include <stdlib.h>
#include <unistd.h>

#include <orrery/core/policy.h>

enum {
    CRASH,
    HANG,
    ABORT,
    PART,
    EXIT,
    QUICK,
    UNDER,
    REASON,
    NO_JOB,
    DEEP,
    WAKE_NONE,
    WAKE_0,
    WAKE_NOW,
    WAKE_PAST,
    TIMER,
    PLACE_NOBODY,
    PLACE_FUTURE,
    EVICT_NOBODY,
    EVICT_FUTURE,
    /* what is done to job 0, which runs, as job 1 comes */
    SHRINK,
    SHRINK_ALL,
    CAUSE_NONE,
    CAUSE_RULE,
    CAUSE_99,
    FOR_NOBODY,
    FOR_ITSELF,
    FOR_FUTURE,
    EXPLAIN_RUNNING,
    EXPLAIN_FUTURE,
    PROOF,
    /* of the slots that came last */
    LEAST_CRASH, /* in starts_least */
    NODES,       /* jobs may use the first node alone */
    NODES_CRASH
};

#ifdef BAD_DEFAULT
#define FALLBACK "maybe"
#else
#define FALLBACK "crash"
#endif

#ifndef NAME
#define NAME "bad"
#endif

struct params {
    int64_t how;
};

struct bad {
    const struct orr_host *host;
    struct params params;
    uint32_t job;
    bool harmed;
};

static const char *const ways[] = {"crash",          "hang",
                                   "abort",          "part",
                                   "exit",           "quick",
                                   "under",          "reason",
                                   "no_job",         "deep",
                                   "wake_none",      "wake_0",
                                   "wake_now",       "wake_past",
                                   "timer",          "place_nobody",
                                   "place_future",   "evict_nobody",
                                   "evict_future",   "shrink",
                                   "shrink_all",     "cause_none",
                                   "cause_rule",     "cause_99",
                                   "for_nobody",     "for_itself",
                                   "for_future",     "explain_running",
                                   "explain_future", "proof",
                                   "least_crash",    "nodes",
                                   "nodes_crash",    NULL};

static const struct orr_param rows[] = {
#ifdef BAD_ROW
    {"far", ORR_PARAM_INT, sizeof(struct params) + BAD_ROW, "0", "", NULL, 0, 0, "lies outside"},
#endif
    {"how", ORR_PARAM_CHOICE, offsetof(struct params, how), FALLBACK, "", ways, 0, 0, "its fault"},
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status bad_open(const struct orr_host *host, const void *params,
                                const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)view;
    (void)err;
    struct bad *bad = host->alloc(1, sizeof *bad);
    bad->host = host;
    bad->params = *(const struct params *)params;
    *state = bad;
    return ORR_OK;
}

static void bad_event(void *state, const struct orr_view *view, enum orr_job_event event,
                      uint32_t job)
{
    (void)view;
    (void)event;
    ((struct bad *)state)->job = job;
}

/* Uses up the stack. */
static int deeper(volatile int *above)
{
    volatile int room[1024];
    room[0] = *above + 1;
    return room[0] == 0 ? 0 : deeper(room) + room[0];
}

#ifdef BAD_CONSTRUCTOR
__attribute__((constructor)) static void crash_at_loading(void)
{
    volatile uintptr_t nowhere = sizeof(int);
    *(volatile int *)nowhere = 1;
}
#endif

static void place_all(const struct bad *bad, const struct orr_view *view, struct orr_txn *txn)
{
    for (uint32_t job = 0; job < view->job_count; job++) {
        if (view->jobs[job].phase == ORR_JOB_PENDING) {
            const enum orr_reason reason = bad->host->place_consolidated(txn, view->ledger, job);
            if (reason != ORR_REASON_NONE) {
                bad->host->explain(txn, job, reason);
            }
        }
    }
}

static void harm(const struct bad *bad, const struct orr_view *view, struct orr_txn *txn)
{
    const struct orr_host *host = bad->host;
    struct orr_proof proof = host->prove(view->ledger, 1, ORR_REASON_NO_CAPACITY);
    proof.level = 0;
    switch (bad->params.how) {
    case SHRINK:
        (void)host->evict_tasks(txn, 0, view->jobs[0].placement, 1, ORR_CAUSE_PREEMPT, ORR_NONE);
        break;
    case SHRINK_ALL:
        for (uint32_t p = view->jobs[0].placement; p != ORR_NONE;
             p = view->ledger->placements[p].next) {
            (void)host->evict_tasks(txn, 0, p, view->ledger->placements[p].tasks, ORR_CAUSE_PREEMPT,
                                    ORR_NONE);
        }
        break;
    case CAUSE_NONE: (void)host->evict(txn, 0, ORR_CAUSE_NONE); break;
    case CAUSE_RULE: (void)host->evict(txn, 0, ORR_CAUSE_MAX_RUNTIME); break;
    case CAUSE_99: (void)host->evict(txn, 0, (enum orr_cause)99); break;
    case FOR_NOBODY: (void)host->evict_for(txn, 0, ORR_CAUSE_PREEMPT, 77); break;
    case FOR_ITSELF: (void)host->evict_for(txn, 0, ORR_CAUSE_PREEMPT, 0); break;
    case FOR_FUTURE: (void)host->evict_for(txn, 0, ORR_CAUSE_PREEMPT, 2); break;
    case EXPLAIN_RUNNING: host->explain(txn, 0, ORR_REASON_NO_CAPACITY); break;
    case EXPLAIN_FUTURE: host->explain(txn, 2, ORR_REASON_NO_CAPACITY); break;
    default: host->explain_by(txn, 1, ORR_REASON_NO_CAPACITY, &proof); break;
    }
}

static void bad_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct bad *bad = state;
    if (bad->params.how >= LEAST_CRASH) {
        place_all(bad, view, txn);
        return;
    }
    if (bad->params.how >= SHRINK) {
        if (!bad->harmed && view->jobs[1].phase == ORR_JOB_PENDING) {
            bad->harmed = true;
            harm(bad, view, txn);
        }
        place_all(bad, view, txn);
        return;
    }
    volatile int bottom = 0;
    volatile bool for_ever = true;
    volatile uintptr_t nowhere = sizeof(int); /* not 0, which a sanitizer reports by itself */
    switch (bad->params.how) {
    case CRASH: *(volatile int *)nowhere = 1; break;
    case HANG:
        while (for_ever) {
        }
        break;
    case ABORT: abort();
    case EXIT: exit(0);
    case QUICK: quick_exit(0);
    case UNDER: _exit(0);
    case REASON: bad->host->explain(txn, bad->job, (enum orr_reason)250); break;
    case DEEP: (void)deeper(&bottom); break;
    case WAKE_NONE:
    case WAKE_0:
    case WAKE_NOW:
    case WAKE_PAST: break;
    case TIMER: place_all(bad, view, txn); break;
    case PLACE_NOBODY: (void)bad->host->place(txn, 77, 0, 1, 0); break;
    case PLACE_FUTURE: (void)bad->host->place_on(txn, bad->job + 1, 0, 0, 1); break;
    case EVICT_NOBODY: (void)bad->host->evict(txn, 77, ORR_CAUSE_PREEMPT); break;
    case EVICT_FUTURE: (void)bad->host->evict(txn, bad->job + 1, ORR_CAUSE_PREEMPT); break;
    case NO_JOB: bad->host->explain(txn, 77, ORR_REASON_FRAGMENTED); break;
    default: (void)bad->host->place(txn, bad->job, 0, 1, 0); break; /* one pod of a gang */
    }
}

static orr_ms bad_wake(void *state, const struct orr_view *view)
{
    switch (((struct bad *)state)->params.how) {
    case WAKE_NONE: return ORR_MS_NONE;
    case WAKE_0: return 0;
    case WAKE_NOW: return view->now;
    case WAKE_PAST: return view->now - 1;
    case TIMER: return view->now + 600000;
    default: return ORR_MS_NEVER;
    }
}

static void bad_close(void *state)
{
    ((struct bad *)state)->host->free(state);
}

#ifdef LAST_SLOTS
static void bad_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    (void)params;
    say("how: bears on nothing", context);
}

static void bad_unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                         void *context)
{
    (void)params;
    say(view->job_count == 4 ? "four jobs" : "jobs", context);
}

static void crash(void)
{
    volatile uintptr_t nowhere = sizeof(int);
    *(volatile int *)nowhere = 1;
}

static bool bad_starts_least(const void *params, const struct orr_shape *shape)
{
    if (((const struct params *)params)->how == LEAST_CRASH) {
        crash();
    }
    return shape->min_tasks < shape->tasks;
}

static uint32_t bad_narrows(void *state, const struct orr_view *view, uint32_t job, uint32_t group)
{
    if (((const struct bad *)state)->params.how < NODES) {
        crash();
    }
    return view->shapes->shapes[view->specs[job].shape].groups[group].request.allowed;
}

static const uint64_t *bad_nodes(void *state, const struct orr_view *view, uint32_t job)
{
    static const uint64_t first = 1;
    (void)view;
    (void)job;
    if (((const struct bad *)state)->params.how == NODES_CRASH) {
        crash();
    }
    return &first;
}
#endif

#ifdef NO_ENTRY
const struct orr_policy *not_the_entry(uint32_t host_abi);
#define orr_policy_entry not_the_entry
#endif

ORR_EXPORT const struct orr_policy *orr_policy_entry(uint32_t host_abi)
{
    static const struct orr_policy policy = {.abi = ORR_POLICY_ABI,
                                             .size = sizeof policy,
                                             .name = NAME,
                                             .summary = "what no policy may do",
                                             .laws = ORR_LAW_GANG,
                                             .params = rows,
                                             .params_bytes = sizeof(struct params),
                                             .open = bad_open,
                                             .event = bad_event,
                                             .cycle = bad_cycle,
                                             .wake = bad_wake,
#ifdef LAST_SLOTS
                                             .remarks = bad_remarks,
                                             .unheeded = bad_unheeded,
                                             .starts_least = bad_starts_least,
                                             .narrows = bad_narrows,
                                             .nodes = bad_nodes,
#endif
                                             .close = bad_close};
#ifdef OTHER_CONTRACT
    host_abi++;
#endif
    return host_abi == ORR_POLICY_ABI ? &policy : NULL;
}
