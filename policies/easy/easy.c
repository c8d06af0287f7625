/* SPDX-License-Identifier: GPL-3.0-or-later */
/* easy.c - EASY backfilling (Lifka, JSSPP'95; Mu'alem and Feitelson, TPDS 2001).
 *
 * Heads start in order while they fit. The first that does not gets a reservation, recomputed at
 * each pass: the shadow is the first estimated release instant at which it fits, all releases of
 * that instant counted; spare is what is free then beyond what it needs. Others, in queue order,
 * start if they fit now and either end by the shadow or fit into the spare, which they then use up.
 * A running job past its estimate is assumed to release now. The queue's order is that of submits,
 * or by priority.
 *
 * Size is GPUs of the whole cluster: a reservation does not look at nodes, so on nodes of several
 * GPUs fragmentation may still delay the head. */
#include "../lanes/scaling.h"
#include "../registry/policies_int.h"

#include <string.h>

#include <orrery/core/place.h>

enum { ORDER_SUBMIT, ORDER_PRIORITY };
enum { VARIANT_REFERENCE, VARIANT_UNGUARDED, VARIANT_NO_SPARE };

struct easy_params {
    int64_t variant, order;
    struct orr_placer_params placer;
};

struct release {
    orr_ms at; /* estimated */
    uint32_t job;
};

struct easy {
    struct easy_params params;
    uint32_t *pending; /* in order from `head`; started ones are taken out at the end of a pass */
    uint32_t head, end, pending_capacity;
    uint32_t explained;      /* pending before this one have a reason */
    uint32_t gpuless;        /* pending that need no free GPU in the cluster's count */
    struct release *running; /* by (at, job) */
    uint32_t running_count, running_capacity;
    struct orr_scaling scaling;
    struct orr_placer *placer;
};

static const char *const variant_names[] = {"reference", "unguarded", "no_spare", NULL};

static const char *const order_names[] = {"submit", "priority", NULL};

static const struct orr_param easy_rows[] = {
    {"variant", ORR_PARAM_CHOICE, offsetof(struct easy_params, variant), "reference", "",
     variant_names, 0, 0,
     "reference: as the papers define it; unguarded: backfills without protecting the head; "
     "no_spare: only what ends by the shadow may pass the head"},
    {"order", ORR_PARAM_CHOICE, offsetof(struct easy_params, order), "submit", "", order_names, 0,
     0, "who is first: by submit time, or by priority, the higher first"},
    ORR_PLACER_ROWS(struct easy_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status easy_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct easy *easy = orr_zalloc(1, sizeof *easy);
    easy->params = *(const struct easy_params *)params;
    easy->placer = orr_placer_open(&easy->params.placer, view->ledger, view->seed);
    *state = easy;
    return ORR_OK;
}

static void easy_close(void *state)
{
    struct easy *easy = state;
    orr_free(easy->pending);
    orr_free(easy->running);
    orr_free(easy->scaling.lined);
    orr_placer_close(easy->placer);
    orr_free(easy);
}

/* Index of the first release not before (at, job). */
static uint32_t release_index(const struct easy *easy, orr_ms at, uint32_t job)
{
    uint32_t low = 0, high = easy->running_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct release *r = &easy->running[middle];
        if (r->at < at || (r->at == at && r->job < job)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_release(struct easy *easy, orr_ms at, uint32_t job)
{
    easy->running = ORR_ROOM_FOR_ONE(easy->running, easy->running_count, easy->running_capacity);
    uint32_t i = release_index(easy, at, job);
    memmove(&easy->running[i + 1], &easy->running[i],
            (easy->running_count - i) * sizeof *easy->running);
    easy->running[i] = (struct release){.at = at, .job = job};
    easy->running_count++;
}

static void remove_release(struct easy *easy, orr_ms at, uint32_t job)
{
    uint32_t i = release_index(easy, at, job);
    if (i < easy->running_count && easy->running[i].job == job) {
        easy->running_count--;
        memmove(&easy->running[i], &easy->running[i + 1],
                (easy->running_count - i) * sizeof *easy->running);
    }
}

static bool is_gpuless(const struct orr_view *view, uint32_t job)
{
    return view->shapes->shapes[view->specs[job].shape].gpus_mgpu == 0;
}

/* At the end, or behind the last of no lower priority that came before. */
static void add_pending(struct easy *easy, const struct orr_view *view, uint32_t job)
{
    easy->pending = ORR_ROOM_FOR_ONE(easy->pending, easy->end, easy->pending_capacity);
    uint32_t at = easy->end++;
    for (; easy->params.order == ORDER_PRIORITY && at > easy->head; at--) {
        uint32_t before = easy->pending[at - 1];
        int32_t higher = view->specs[before].priority, own = view->specs[job].priority;
        if (higher > own || (higher == own && before < job)) {
            break;
        }
        easy->pending[at] = before;
    }
    easy->pending[at] = job;
    easy->explained = easy->explained < at ? easy->explained : at;
    easy->gpuless += is_gpuless(view, job);
}

/* It left while it waited. */
static void remove_pending(struct easy *easy, const struct orr_view *view, uint32_t job)
{
    uint32_t i = easy->head;
    while (i < easy->end && easy->pending[i] != job) {
        i++;
    }
    if (i == easy->end) {
        return;
    }
    easy->end--;
    memmove(&easy->pending[i], &easy->pending[i + 1], (easy->end - i) * sizeof *easy->pending);
    easy->explained -= easy->explained > i;
    easy->gpuless -= is_gpuless(view, job);
    orr_scaling_left(&easy->scaling, job);
}

static void easy_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    struct easy *easy = state;
    if (event == ORR_JOB_STARTED) {
        add_release(easy, view->now + view->specs[job].estimate_ms, job);
        return;
    }
    if ((event == ORR_JOB_ENDED || event == ORR_JOB_REQUEUED) &&
        view->jobs[job].phase != ORR_JOB_WITHDRAWN) {
        remove_release(easy, view->jobs[job].start_ms + view->specs[job].estimate_ms, job);
    }
    if (event == ORR_JOB_ENDED &&
        (view->jobs[job].phase == ORR_JOB_WITHDRAWN || orr_scaling_is_lined(&easy->scaling, job))) {
        remove_pending(easy, view, job);
    } else if (event != ORR_JOB_ENDED && orr_scaling_joins(&easy->scaling, view, job)) {
        add_pending(easy, view, job);
    }
}

static void easy_node(void *state, const struct orr_view *view, uint32_t node)
{
    (void)node;
    orr_scaling_node(&((struct easy *)state)->scaling, view);
}

static enum orr_reason try_start(struct easy *easy, const struct orr_view *view,
                                 struct orr_txn *txn, uint32_t job)
{
    const bool starts =
        view->jobs[job].phase == ORR_JOB_PENDING && view->jobs[job].placed_tasks == 0;
    enum orr_reason reason = orr_place_next(easy->placer, txn, view->ledger, job);
    if (reason == ORR_REASON_NONE && starts && view->jobs[job].placed_tasks > 0) {
        add_release(easy, view->now + view->specs[job].estimate_ms, job);
    }
    return reason;
}

/* The job, just tried with success, has all it asks and is none of those that wait. */
static bool is_served(struct easy *easy, const struct orr_view *view, uint32_t job)
{
    if (!orr_scaling_is_served(view, job)) {
        return false;
    }
    easy->gpuless -= is_gpuless(view, job);
    orr_scaling_left(&easy->scaling, job);
    return true;
}

struct reservation {
    orr_ms shadow;
    struct orr_gpus spare;
};

static struct reservation reserve(const struct easy *easy, const struct orr_view *view,
                                  uint32_t job)
{
    const struct orr_gpus need = orr_scaling_step(view, job);
    struct orr_gpus free = orr_shard_free(orr_view_room(view)); /* none of nodes that are down */
    orr_ms at = view->now; /* enough in all, but scattered: nothing may take from what it needs */
    for (uint32_t i = 0; !orr_gpus_hold(&free, &need);) {
        if (i == easy->running_count) {
            return (struct reservation){.shadow = ORR_MS_NEVER};
        }
        at = easy->running[i].at > view->now ? easy->running[i].at : view->now;
        for (; i < easy->running_count && easy->running[i].at <= at; i++) {
            const struct orr_gpus held =
                orr_scaling_returned(&easy->scaling, view, easy->running[i].job);
            orr_gpus_add(&free, &held, 1);
        }
    }
    orr_gpus_add(&free, &need, -1);
    return (struct reservation){.shadow = at, .spare = free};
}

/* May this job pass the head? Uses up the spare when it runs past the shadow. */
static bool may_pass(const struct easy *easy, const struct orr_view *view, uint32_t job,
                     const struct orr_gpus *size, const struct reservation *reservation)
{
    if (easy->params.variant == VARIANT_UNGUARDED) {
        return true;
    }
    bool ends = view->now + view->specs[job].estimate_ms <= reservation->shadow;
    bool spare =
        easy->params.variant == VARIANT_REFERENCE && orr_gpus_hold(&reservation->spare, size);
    return ends || spare;
}

/* Why it stays, and behind whom. */
static void explain(const struct easy *easy, const struct orr_view *view, struct orr_txn *txn,
                    uint32_t job, enum orr_reason reason)
{
    if (view->jobs[job].reason != reason && orr_scaling_waits(view, job)) {
        struct orr_proof proof = orr_ledger_prove(view->ledger, job, reason);
        proof.ahead = reason == ORR_REASON_RESERVED ? easy->pending[easy->head] : ORR_NONE;
        orr_txn_explain_by(txn, job, reason, &proof);
    }
}

static bool something_is_free(const struct orr_view *view)
{
    bool free = false;
    for (int k = 0; k < ORR_GPU_KINDS; k++) {
        free = free || orr_view_room(view)->free.mgpu[k] > 0;
    }
    return free;
}

/* Of a job that may not pass the head: would it fit, as far as nodes are up? */
static enum orr_reason why_held_back(const struct orr_view *view, const struct orr_gpus *size)
{
    const struct orr_gpus free = orr_ledger_unheld(view->ledger, view->shard);
    return orr_gpus_hold(&free, size) ? ORR_REASON_RESERVED : ORR_REASON_NO_CAPACITY;
}

static void backfill(struct easy *easy, const struct orr_view *view, struct orr_txn *txn)
{
    struct reservation reservation = reserve(easy, view, easy->pending[easy->head]);
    uint32_t kept = easy->head + 1;
    for (uint32_t i = easy->head + 1; i < easy->end; i++) {
        uint32_t job = easy->pending[i];
        const struct orr_gpus size = orr_scaling_step(view, job);
        enum orr_reason reason = ORR_REASON_NO_CAPACITY;
        if (orr_gpus_hold(&orr_view_room(view)->free, &size)) {
            reason = may_pass(easy, view, job, &size, &reservation)
                         ? try_start(easy, view, txn, job)
                         : why_held_back(view, &size);
        }
        if (reason == ORR_REASON_NONE) {
            bool past = view->now + view->specs[job].estimate_ms > reservation.shadow;
            orr_gpus_add(&reservation.spare, &size, past ? -1 : 0);
            i = is_served(easy, view, job) ? i : i - 1; /* its next step */
        } else {
            explain(easy, view, txn, job, reason);
            easy->pending[kept++] = job;
        }
    }
    easy->end = kept;
}

static void easy_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct easy *easy = state;
    while (easy->head < easy->end) {
        enum orr_reason reason = try_start(easy, view, txn, easy->pending[easy->head]);
        if (reason != ORR_REASON_NONE) {
            explain(easy, view, txn, easy->pending[easy->head], reason);
            break;
        }
        easy->head += is_served(easy, view, easy->pending[easy->head]);
    }
    if (easy->head < easy->end) {
        if (something_is_free(view) || easy->gpuless > 0) {
            backfill(easy, view, txn);
        } else { /* nothing can start: only the newcomers need a reason */
            uint32_t from = easy->explained > easy->head ? easy->explained : easy->head + 1;
            for (uint32_t i = from; i < easy->end; i++) {
                explain(easy, view, txn, easy->pending[i], ORR_REASON_NO_CAPACITY);
            }
        }
    }
    if (easy->head > easy->end / 2 || (easy->end > 0 && easy->head == easy->end)) {
        memmove(easy->pending, easy->pending + easy->head,
                (easy->end - easy->head) * sizeof *easy->pending);
        easy->end -= easy->head;
        easy->head = 0;
    }
    easy->explained = easy->end;
}

static uint32_t easy_heeds(const void *params)
{
    return ((const struct easy_params *)params)->order == ORDER_PRIORITY ? ORR_HEEDS_PRIORITY : 0;
}

const struct orr_policy orr_policy_easy = {
    .abi = ORR_POLICY_ABI,
    .size = sizeof orr_policy_easy,
    .name = "easy",
    .summary = "first come first served with EASY backfilling around a reservation for the head",
    .laws = ORR_LAW_GANG | ORR_LAW_SPAN | ORR_LAW_SPAN_PARTS,
    .params = easy_rows,
    .params_bytes = sizeof(struct easy_params),
    .open = easy_open,
    .event = easy_event,
    .cycle = easy_cycle,
    .close = easy_close,
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .node = easy_node,
    .heeds = easy_heeds,
};
