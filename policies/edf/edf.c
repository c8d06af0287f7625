/* SPDX-License-Identifier: GPL-3.0-or-later */
/* edf.c - earliest deadline first, with pauses (Liu and Layland, JACM 1973; Dertouzos, IFIP 1974),
 * and admission of jobs whose deadline can be kept (as ElasticFlow: Gu et al., ASPLOS 2023).
 *
 * A walk (walk.h) in the order of deadlines. Jobs without one come after all others, in the order
 * of the trace. With admission a job that comes is tested: jobs with deadlines that were admitted,
 * and it, are run in thought, in this order, on the GPUs that may be had now and on those that jobs
 * which may not be paused give back when they end; if one of them would be late, the new one is not
 * admitted and counts as one without a deadline. The test knows run times as far as `by` says,
 * counts GPUs of the whole cluster, and takes pauses to cost nothing: on interchangeable GPUs,
 * where that is so, whoever was admitted is in time. It knows nothing of when a node comes back
 * that is down, or of jobs without a deadline that wait: one that may not be paused can come
 * between. */
#include "../registry/policies_int.h"
#include "../walk/walk.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

#define LAST (ORR_MS_NEVER / 2)

enum { ADMIT_ALL, ADMIT_FEASIBLE };
enum { BY_WORK, BY_ESTIMATE };

struct edf_params {
    int64_t admission, by;
    struct orr_placer_params placer;
};

struct edf_task {          /* in thought */
    orr_ms deadline, left; /* deadline: or ORR_MS_NEVER, of one that only holds GPUs */
    struct orr_gpus gpus;
    uint32_t job;
    bool may_pause;
    bool runs;
    bool holds; /* it runs on, and its GPUs are nobody's until it ends: it may not be paused */
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

static int64_t deadline_of(void *self, const struct orr_view *view, uint32_t job)
{
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
    orr_walk_event(&edf->walk, view, event, job);
    if (event == ORR_JOB_SUBMITTED && !view->specs[job].scales &&
        edf->params.admission == ADMIT_FEASIBLE) {
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

static struct edf_task task_of(const struct edf *edf, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_progress p = orr_view_progress(view, job);
    const bool known = edf->params.by == BY_WORK && p.work_ms != ORR_MS_NONE;
    const orr_ms left = known ? p.work_ms - p.done_ms : p.estimated_left_ms;
    const bool may_pause = orr_walk_may_pause(&edf->walk, view, job);
    return (struct edf_task){.deadline = has_deadline(edf, &p, job) ? p.deadline_ms : ORR_MS_NEVER,
                             .left = (left > 0 ? left : 0) + p.pause_ms,
                             .gpus = orr_walk_size(view, job),
                             .job = job,
                             .may_pause = may_pause,
                             .holds = view->jobs[job].phase == ORR_JOB_RUNNING && !may_pause};
}

/* Those with deadlines that count, in order, and behind them who else holds GPUs for a while. */
static uint32_t list_tasks(struct edf *edf, const struct orr_view *view)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < orr_walk_count(&edf->walk); i++) {
        const struct edf_task task = task_of(edf, view, orr_walk_job(&edf->walk, i));
        if (task.deadline != ORR_MS_NEVER || task.holds) {
            edf->tasks = ORR_ROOM_FOR_ONE(edf->tasks, count, edf->task_capacity);
            edf->tasks[count++] = task;
        }
    }
    orr_sort(edf->tasks, count, sizeof *edf->tasks, by_deadline, NULL);
    return count;
}

/* The walk in thought at one time: who runs until the next is done. Returns how long that is;
 * NEVER: nobody runs. */
static orr_ms walk_once(struct edf_task *tasks, uint32_t count, struct orr_gpus *room)
{
    orr_ms until = ORR_MS_NEVER;
    struct orr_gpus left = *room;
    for (uint32_t i = 0; i < count; i++) {
        struct edf_task *task = &tasks[i];
        task->runs = task->holds || orr_gpus_hold(&left, &task->gpus);
        if (task->runs && !task->holds) {
            orr_gpus_add(&left, &task->gpus, -1);
            orr_gpus_add(room, &task->gpus, task->may_pause ? 0 : -1);
            task->holds = !task->may_pause;
        }
        until = task->runs && task->left < until ? task->left : until;
    }
    return until;
}

/* They run so long; is somebody late by then? Who is done leaves, and gives back what it held. */
static bool run_on(struct edf_task *tasks, uint32_t *count, struct orr_gpus *room, orr_ms lasts,
                   orr_ms now)
{
    uint32_t kept = 0;
    bool late = false;
    for (uint32_t i = 0; i < *count; i++) {
        struct edf_task *task = &tasks[i];
        task->left -= task->runs ? lasts : 0;
        late = late || now > task->deadline;
        orr_gpus_add(room, &task->gpus, task->holds && task->left <= 0 ? 1 : 0);
        tasks[kept] = *task;
        kept += task->left > 0;
    }
    *count = kept;
    return late;
}

/* Is nobody late? Uses the tasks up. */
static bool all_in_time(struct edf_task *tasks, uint32_t count, struct orr_gpus room, orr_ms now)
{
    bool in_time = true;
    while (in_time && count > 0 && tasks[0].deadline != ORR_MS_NEVER) { /* in their order */
        const orr_ms lasts = walk_once(tasks, count, &room);
        in_time = lasts < ORR_MS_NEVER / 4;
        now += in_time ? lasts : 0;
        in_time = in_time && !run_on(tasks, &count, &room, lasts, now);
    }
    return in_time;
}

static void admit(struct edf *edf, const struct orr_view *view)
{
    for (uint32_t i = 0; i < edf->fresh_count; i++) {
        const uint32_t job = edf->fresh[i];
        edf->late[job] = false;
        const uint32_t count = list_tasks(edf, view);
        edf->late[job] = !all_in_time(edf->tasks, count,
                                      orr_rest_sum(orr_walk_room(&edf->walk, view)), view->now);
    }
    edf->fresh_count = 0;
}

static void edf_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct edf *edf = state;
    admit(edf, view);
    orr_walk_cycle(&edf->walk, view, txn);
}

static void edf_remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    const struct edf_params *p = params;
    if (p->by != BY_WORK && p->admission == ADMIT_ALL) {
        say("by: bears on nothing: admission all asks for no run time", context);
    }
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
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .heeds = edf_heeds,
    .remarks = edf_remarks,
};
