/* SPDX-License-Identifier: GPL-3.0-or-later */
/* widest_first.c - a policy from outside: the job with the most GPUs first, whatever fits.
 *
 * It includes the installed headers, links nothing and reaches the core through the host's table
 * alone. Build it with: cc -std=c11 -shared -fPIC widest_first.c -o widest_first.so */
#include <orrery/core/policy.h>

struct params {
    bool narrow; /* turns the order around */
};

struct widest {
    const struct orr_host *host;
    struct params params;
    uint32_t *waiting, count; /* in the order they are tried */
};

static const struct orr_param rows[] = {{"narrow", ORR_PARAM_BOOL, offsetof(struct params, narrow),
                                         "false", "", NULL, 0, 0,
                                         "the job with the fewest GPUs first instead"},
                                        {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status widest_open(const struct orr_host *host, const void *params,
                                   const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)err;
    struct widest *widest = host->alloc(1, sizeof *widest);
    widest->host = host;
    widest->params = *(const struct params *)params;
    widest->waiting = host->alloc(view->job_count, sizeof *widest->waiting);
    *state = widest;
    return ORR_OK;
}

static int64_t width(const struct widest *widest, const struct orr_view *view, uint32_t job)
{
    int64_t mgpu = view->shapes->shapes[view->specs[job].shape].gpus_mgpu;
    return widest->params.narrow ? -mgpu : mgpu;
}

/* Inserts a job behind all that are as wide: a tie goes to who came first. */
static void widest_event(void *state, const struct orr_view *view, enum orr_job_event event,
                         uint32_t job)
{
    struct widest *widest = state;
    if (event == ORR_JOB_STARTED || event == ORR_JOB_CHANGED) {
        return; /* it runs since before the run began; what it lacks of its tasks is not heeded */
    }
    if (event == ORR_JOB_ENDED) {
        uint32_t kept = 0; /* it may have left while it waited */
        for (uint32_t i = 0; i < widest->count; i++) {
            widest->waiting[kept] = widest->waiting[i];
            kept += widest->waiting[i] != job;
        }
        widest->count = kept;
        return;
    }
    uint32_t at = widest->count++;
    for (; at > 0 && width(widest, view, widest->waiting[at - 1]) < width(widest, view, job);
         at--) {
        widest->waiting[at] = widest->waiting[at - 1];
    }
    widest->waiting[at] = job;
}

static void widest_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    struct widest *widest = state;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < widest->count; i++) {
        uint32_t job = widest->waiting[i];
        enum orr_reason reason = widest->host->place_consolidated(txn, view->ledger, job);
        if (reason != ORR_REASON_NONE) {
            widest->host->explain(txn, job, reason);
            widest->waiting[kept++] = job;
        }
    }
    widest->count = kept;
}

static void widest_close(void *state)
{
    struct widest *widest = state;
    const struct orr_host *host = widest->host;
    host->free(widest->waiting);
    host->free(widest);
}

const struct orr_policy *orr_policy_entry(uint32_t host_abi)
{
    static const struct orr_policy policy = {.abi = ORR_POLICY_ABI,
                                             .size = sizeof policy,
                                             .name = "widest-first",
                                             .summary = "the job with the most GPUs first",
                                             .laws = ORR_LAW_GANG,
                                             .params = rows,
                                             .params_bytes = sizeof(struct params),
                                             .open = widest_open,
                                             .event = widest_event,
                                             .cycle = widest_cycle,
                                             .close = widest_close};
    return host_abi == ORR_POLICY_ABI ? &policy : NULL;
}
