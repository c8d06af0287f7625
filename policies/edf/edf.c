/* SPDX-License-Identifier: GPL-3.0-or-later */
/* edf.c - earliest deadline first, with pauses (Liu and Layland, JACM 1973; Dertouzos, IFIP 1974),
 * and admission of jobs whose deadline can be kept (as ElasticFlow: Gu et al., ASPLOS 2023).
 *
 * A walk (walk.h) in the order of deadlines. Jobs without one come after all others, in the order
 * of the trace. With admission a job that comes is tested: jobs with deadlines that were admitted,
 * and it, are run in thought, in this order, on the GPUs that may be had now; if one of them would
 * be late, the new one is not admitted and counts as one without a deadline. The test knows run
 * times as far as `by` says, counts GPUs of the whole cluster, and takes pauses to cost nothing: on
 * interchangeable GPUs, where that is so, whoever was admitted is in time. */
#include "../registry/policies_int.h"
#include "../walk/walk.h"

#include <orrery/base/sort.h>

#define LAST (ORR_MS_NEVER / 2)

enum { ADMIT_ALL, ADMIT_FEASIBLE };
enum { BY_WORK, BY_ESTIMATE };

struct edf_params {
    int64_t admission, by;
    struct orr_placer_params placer;
};

struct edf_task { /* in thought */
    orr_ms deadline, left;
    const struct orr_gpus *gpus;
    uint32_t job;
    bool runs_on; /* it may not be paused, and has its GPUs */
};

struct edf {
    struct edf_params params;
    struct orr_walk walk;
    bool *late; /* by job: not admitted */
    uint32_t late_capacity;
    uint32_t *fresh; /* came since the last cycle */
    uint32_t fresh_count, fresh_capacity;
    struct edf_task *tasks; /* scratch */
    uint32_t task_capacity;
};

static const char *const admission_names[] = {"all", "feasible", NULL};
static const char *const by_names[] = {"work", "estimate", NULL};

static const struct orr_param edf_rows[] = {
    {"admission", ORR_PARAM_CHOICE, offsetof(struct edf_params, admission), "all", "",
     admission_names, 0, 0,
     "whose deadline counts: of all, or of those for whom nobody admitted before would be late"},
    {"by", ORR_PARAM_CHOICE, offsetof(struct edf_params, by), "work", "", by_names, 0, 0,
     "what admission takes for the run time: the true one, or the user's estimate"},
    ORR_PLACER_ROWS(struct edf_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static bool has_deadline(const struct edf *edf, const struct orr_job_progress *p, uint32_t job)
{
    return p->deadline_ms != ORR_MS_NONE && !(job < edf->late_capacity && edf->late[job]);
}

/* A service has no end to be late for: it goes first. */
static int64_t deadline_of(void *self, const struct orr_view *view, uint32_t job)
{
    if (view->specs[job].scales) {
        return INT64_MIN;
    }
    const struct orr_job_progress p = orr_view_progress(view, job);
    return has_deadline(self, &p, job) ? p.deadline_ms : LAST;
}

static enum orr_status edf_open(const struct orr_host *host, const void *params,
                                const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct edf *edf = orr_zalloc(1, sizeof *edf);
    edf->params = *(const struct edf_params *)params;
    edf->walk.key = deadline_of;
    edf->walk.self = edf;
    edf->walk.by_job = true;
    orr_walk_open(&edf->walk, view, &edf->params.placer);
    *state = edf;
    return ORR_OK;
}

static void edf_close(void *state)
{
    struct edf *edf = state;
    orr_walk_close(&edf->walk);
    orr_free(edf->late);
    orr_free(edf->fresh);
    orr_free(edf->tasks);
    orr_free(edf);
}

static void edf_event(void *state, const struct orr_view *view, enum orr_job_event event,
                      uint32_t job)
{
    struct edf *edf = state;
    orr_walk_event(&edf->walk, event, job);
    if (event == ORR_JOB_SUBMITTED && edf->params.admission == ADMIT_FEASIBLE) {
        edf->late = orr_zgrow(edf->late, &edf->late_capacity, view->job_count, sizeof *edf->late);
        edf->late[job] = true; /* until it was tested */
        edf->fresh = ORR_ROOM_FOR_ONE(edf->fresh, edf->fresh_count, edf->fresh_capacity);
        edf->fresh[edf->fresh_count++] = job;
    }
}

/* --- admission --- */

static int by_deadline(const void *a, const void *b, void *context)
{
    const struct edf_task *x = a, *y = b;
    (void)context;
    return x->deadline != y->deadline ? (x->deadline < y->deadline ? -1 : 1)
                                      : (x->job < y->job ? -1 : x->job > y->job);
}

/* Those with deadlines that count, in order. */
static uint32_t list_tasks(struct edf *edf, const struct orr_view *view)
{
    const struct orr_walk_line *lines[] = {&edf->walk.waiting, &edf->walk.running};
    uint32_t count = 0;
    for (size_t l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < lines[l]->count; i++) {
            const uint32_t job = lines[l]->jobs[i];
            const struct orr_job_progress p = orr_view_progress(view, job);
            if (view->specs[job].scales || !has_deadline(edf, &p, job)) {
                continue;
            }
            const bool known = edf->params.by == BY_WORK && p.work_ms != ORR_MS_NONE;
            const orr_ms left = known ? p.work_ms - p.done_ms : p.estimated_left_ms;
            edf->tasks = ORR_ROOM_FOR_ONE(edf->tasks, count, edf->task_capacity);
            edf->tasks[count++] =
                (struct edf_task){.deadline = p.deadline_ms,
                                  .left = (left > 0 ? left : 0) + p.pause_ms,
                                  .gpus = orr_walk_size(view, job),
                                  .job = job,
                                  .runs_on = view->jobs[job].phase == ORR_JOB_RUNNING &&
                                             !orr_walk_may_pause(&edf->walk, view, job)};
        }
    }
    orr_sort(edf->tasks, count, sizeof *edf->tasks, by_deadline, NULL);
    return count;
}

/* The walk in thought at one time: who runs until the next is done. Returns how long that is;
 * NEVER: nobody runs. */
static orr_ms walk_once(const struct edf_task *tasks, uint32_t count, struct orr_gpus room,
                        bool *runs)
{
    orr_ms until = ORR_MS_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = tasks[i].runs_on || orr_gpus_hold(&room, tasks[i].gpus);
        orr_gpus_add(&room, tasks[i].gpus, runs[i] && !tasks[i].runs_on ? -1 : 0);
        until = runs[i] && tasks[i].left < until ? tasks[i].left : until;
    }
    return until;
}

/* Is nobody late? Uses the tasks up. */
static bool all_in_time(struct edf_task *tasks, uint32_t count, struct orr_gpus room, orr_ms now)
{
    bool *runs = orr_alloc(count + (size_t)1, sizeof *runs), in_time = true;
    while (count > 0 && in_time) {
        const orr_ms lasts = walk_once(tasks, count, room, runs);
        uint32_t kept = 0;
        in_time = lasts < ORR_MS_NEVER / 4;
        now += in_time ? lasts : 0;
        for (uint32_t i = 0; i < count && in_time; i++) {
            tasks[i].left -= runs[i] ? lasts : 0;
            in_time = now <= tasks[i].deadline;
            tasks[kept] = tasks[i];
            kept += tasks[i].left > 0;
        }
        count = kept;
    }
    orr_free(runs);
    return in_time;
}

static void admit(struct edf *edf, const struct orr_view *view)
{
    for (uint32_t i = 0; i < edf->fresh_count; i++) {
        const uint32_t job = edf->fresh[i];
        edf->late[job] = false;
        const uint32_t count = list_tasks(edf, view);
        edf->late[job] =
            !all_in_time(edf->tasks, count, orr_walk_room(&edf->walk, view), view->now);
    }
    edf->fresh_count = 0;
}

static void edf_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct edf *edf = state;
    admit(edf, view);
    orr_walk_cycle(&edf->walk, view, txn);
}

/* Run times bear on whom it admits, and not on the order. */
static uint32_t edf_heeds(const void *params)
{
    const struct edf_params *p = params;
    const uint32_t times = p->by == BY_WORK ? ORR_HEEDS_WORK : ORR_HEEDS_ESTIMATES;
    return ORR_HEEDS_DEADLINES | (p->admission == ADMIT_FEASIBLE ? times | ORR_HEEDS_NO_ORDER : 0);
}

const struct orr_policy orr_policy_edf = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_edf,
    .name = "edf",
    .summary = "earliest deadline first: who may end later is paused; admission on demand",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = edf_rows,
    .params_bytes = sizeof(struct edf_params),
    .open = edf_open,
    .event = edf_event,
    .cycle = edf_cycle,
    .close = edf_close,
    .abilities = ORR_ABLE_JOINED,
    .heeds = edf_heeds,
};
