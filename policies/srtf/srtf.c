/* SPDX-License-Identifier: GPL-3.0-or-later */
/* srtf.c - shortest remaining time first, with pauses (Schrage, Operations Research 1968), for
 * gangs as the simulator of Helios and Lucid has it (Hu et al., SC 2021).
 *
 * All jobs, waiting and running, stand in the order of what is left of them, what a restart costs
 * included; equal ones in the order in which they began to wait, then to run. They are walked with
 * the GPUs of the cluster: who fits into those that are left runs, who does not is paused or goes
 * on waiting, and blocks nobody. Room is counted: a job that finds no place for its pods keeps what
 * it was counted for, and waits.
 *
 * Where somebody is paused the cycle ends there: the host releases the room and asks again at the
 * same time, and those that were chosen start. */
#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/core/place.h>

#define SECOND ((orr_ms)1000)

enum { BY_WORK, BY_ESTIMATE };

struct srtf_params {
    int64_t by;
    struct orr_placer_params placer;
};

struct srtf_line { /* in the order in which they came */
    uint32_t *jobs;
    uint32_t count, capacity;
};

struct srtf_entry {
    orr_ms left;
    uint32_t job, nth;
};

struct srtf {
    struct srtf_params params;
    struct srtf_line waiting, running;
    struct srtf_entry *order; /* scratch */
    uint32_t order_capacity;
    struct srtf_line chosen; /* by the last walk, to start */
    orr_ms walked_ms;        /* when that was, if it paused somebody; else ORR_MS_NONE */
    struct orr_placer *placer;
};

static const char *const by_names[] = {"work", "estimate", NULL};

static const struct orr_param srtf_rows[] = {
    {"by", ORR_PARAM_CHOICE, offsetof(struct srtf_params, by), "work", "", by_names, 0, 0,
     "what is left of a job: of its true run time, or of its user's estimate"},
    {"placement", ORR_PARAM_CHOICE, offsetof(struct srtf_params, placer.choice), "default", "",
     orr_placement_names, 0, 0, orr_placement_help},
    {"typical_jobs", ORR_PARAM_INT, offsetof(struct srtf_params, placer.typical_jobs), "0", "jobs",
     NULL, 0, 1e9, orr_typical_jobs_help},
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status srtf_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct srtf *srtf = orr_zalloc(1, sizeof *srtf);
    srtf->params = *(const struct srtf_params *)params;
    srtf->walked_ms = ORR_MS_NONE;
    srtf->placer = orr_placer_open(&srtf->params.placer, view->ledger, view->seed);
    *state = srtf;
    return ORR_OK;
}

static void srtf_close(void *state)
{
    struct srtf *srtf = state;
    orr_free(srtf->waiting.jobs);
    orr_free(srtf->running.jobs);
    orr_free(srtf->chosen.jobs);
    orr_free(srtf->order);
    orr_placer_close(srtf->placer);
    orr_free(srtf);
}

static void append(struct srtf_line *line, uint32_t job)
{
    line->jobs = ORR_ROOM_FOR_ONE(line->jobs, line->count, line->capacity);
    line->jobs[line->count++] = job;
}

static void take_out(struct srtf_line *line, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line->count; i++) {
        line->jobs[kept] = line->jobs[i];
        kept += line->jobs[i] != job;
    }
    line->count = kept;
}

static void srtf_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct srtf *srtf = state;
    (void)view;
    if (event == ORR_JOB_CHANGED) {
        return;
    }
    take_out(&srtf->running, job);
    if (event == ORR_JOB_ENDED) {
        take_out(&srtf->waiting, job);
    } else {
        append(&srtf->waiting, job);
    }
}

/* A service is never done, and would be starved for it: it goes first. */
static orr_ms left_of(const struct srtf *srtf, const struct orr_view *view, uint32_t job)
{
    if (view->specs[job].scales) {
        return -1;
    }
    const struct orr_job_progress p = orr_view_progress(view, job);
    orr_ms left = p.work_ms == ORR_MS_NONE ? ORR_MS_NEVER / 2 : p.work_ms - p.done_ms;
    if (srtf->params.by == BY_ESTIMATE) {
        left = p.estimated_left_ms > 0 ? p.estimated_left_ms : 0;
    }
    return left + p.pause_ms;
}

static int by_left(const void *a, const void *b, void *context)
{
    const struct srtf_entry *x = a, *y = b;
    (void)context;
    return x->left != y->left ? (x->left < y->left ? -1 : 1) : (x->nth < y->nth ? -1 : 1);
}

static uint32_t make_order(struct srtf *srtf, const struct orr_view *view)
{
    const struct srtf_line *lines[] = {&srtf->waiting, &srtf->running};
    uint32_t count = 0;
    for (size_t l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lines[l]->count; i++) {
            const uint32_t job = lines[l]->jobs[i];
            srtf->order = ORR_ROOM_FOR_ONE(srtf->order, count, srtf->order_capacity);
            srtf->order[count] = (struct srtf_entry){left_of(srtf, view, job), job, count};
            count++;
        }
    }
    orr_sort(srtf->order, count, sizeof *srtf->order, by_left, NULL);
    return count;
}

static int64_t size_of(const struct orr_view *view, uint32_t job)
{
    return view->shapes->shapes[view->specs[job].shape].gpus_mgpu;
}

static bool may_be_paused(const struct orr_view *view, uint32_t job)
{
    return view->specs[job].preemptible && !view->specs[job].scales;
}

/* What those share that wait, or run and may be paused. */
static int64_t room_to_share(const struct srtf *srtf, const struct orr_view *view)
{
    int64_t left = orr_view_room(view)->idle_gpus * ORR_MGPU;
    for (uint32_t i = 0; i < srtf->running.count; i++) {
        const uint32_t job = srtf->running.jobs[i];
        left += may_be_paused(view, job) ? size_of(view, job) : 0;
    }
    return left;
}

/* Chooses who starts; true if nobody has to be paused for it. */
static bool walk(struct srtf *srtf, const struct orr_view *view, struct orr_txn *txn)
{
    const uint32_t count = make_order(srtf, view);
    int64_t left = room_to_share(srtf, view);
    bool pauses = false;
    srtf->chosen.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t job = srtf->order[i].job;
        const bool runs = view->jobs[job].phase == ORR_JOB_RUNNING;
        if (runs && !may_be_paused(view, job)) {
            continue;
        }
        if (size_of(view, job) <= left) {
            left -= size_of(view, job);
            if (!runs) {
                append(&srtf->chosen, job);
            }
        } else if (runs) {
            const uint32_t first = srtf->chosen.count > 0 ? srtf->chosen.jobs[0] : ORR_NONE;
            (void)orr_txn_evict_for(txn, job, ORR_CAUSE_PREEMPT, first);
            pauses = true;
        } else if (view->jobs[job].reason != ORR_REASON_NO_CAPACITY) {
            orr_txn_explain(txn, job, ORR_REASON_NO_CAPACITY);
        }
    }
    srtf->walked_ms = pauses ? view->now : ORR_MS_NONE;
    return !pauses;
}

static void srtf_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct srtf *srtf = state;
    if (srtf->walked_ms != view->now && !walk(srtf, view, txn)) {
        return;
    }
    srtf->walked_ms = ORR_MS_NONE;
    for (uint32_t i = 0; i < srtf->chosen.count; i++) {
        const uint32_t job = srtf->chosen.jobs[i];
        if (view->jobs[job].phase != ORR_JOB_PENDING) {
            continue;
        }
        const enum orr_reason reason = orr_place_all(srtf->placer, txn, view->ledger, job);
        if (reason == ORR_REASON_NONE) {
            take_out(&srtf->waiting, job);
            append(&srtf->running, job);
        } else if (view->jobs[job].reason != reason) {
            orr_txn_explain(txn, job, reason);
        }
    }
}

/* A job that runs gets past one that waits, which found no place for what it was counted for: then
 * others may be. At whole seconds. */
static orr_ms srtf_wake(void *state, const struct orr_view *view)
{
    struct srtf *srtf = state;
    orr_ms least = ORR_MS_NEVER;
    const uint32_t count = srtf->waiting.count > 0 ? make_order(srtf, view) : 0;
    orr_ms before = ORR_MS_NONE; /* of the last that waits, before this one */
    for (uint32_t i = 0; i < count; i++) {
        const bool runs = view->jobs[srtf->order[i].job].phase == ORR_JOB_RUNNING;
        if (!runs) {
            before = srtf->order[i].left;
        } else if (before != ORR_MS_NONE && srtf->order[i].left - before < least) {
            least = srtf->order[i].left - before;
        }
    }
    if (least >= ORR_MS_NEVER / 4) {
        return ORR_MS_NEVER;
    }
    const orr_ms past = (view->now + least) % SECOND;
    return view->now + least - (past < 0 ? past + SECOND : past) + SECOND;
}

static uint32_t srtf_heeds(const void *params)
{
    (void)params;
    return ORR_HEEDS_WORK;
}

const struct orr_policy orr_policy_srtf = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_srtf,
    .name = "srtf",
    .summary = "shortest remaining time first: who has more left is paused",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = srtf_rows,
    .params_bytes = sizeof(struct srtf_params),
    .open = srtf_open,
    .event = srtf_event,
    .cycle = srtf_cycle,
    .wake = srtf_wake,
    .close = srtf_close,
    .abilities = ORR_ABLE_JOINED,
    .heeds = srtf_heeds,
};
