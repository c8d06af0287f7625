/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bad.c - a policy that does what no policy may: parameter `how` says what. Compiled with
 * OTHER_CONTRACT it is made for no host, with NO_ENTRY it is no policy. */
#include <stdlib.h>
#include <unistd.h>

#include <orrery/core/policy.h>

enum { CRASH, HANG, ABORT, PART, EXIT, QUICK, UNDER, REASON, NO_JOB };

struct params {
    int64_t how;
};

struct bad {
    const struct orr_host *host;
    struct params params;
    uint32_t job;
};

static const char *const ways[] = {"crash", "hang",  "abort",  "part",   "exit",
                                   "quick", "under", "reason", "no_job", NULL};

static const struct orr_param rows[] = {
    {"how", ORR_PARAM_CHOICE, offsetof(struct params, how), "crash", "", ways, 0, 0, "its fault"},
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

static void bad_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    (void)view;
    struct bad *bad = state;
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
    case NO_JOB: bad->host->explain(txn, 77, ORR_REASON_FRAGMENTED); break;
    default: (void)bad->host->place(txn, bad->job, 0, 1, 0); break; /* one pod of a gang */
    }
}

static void bad_close(void *state)
{
    ((struct bad *)state)->host->free(state);
}

#ifdef NO_ENTRY
const struct orr_policy *not_the_entry(uint32_t host_abi);
#define orr_policy_entry not_the_entry
#endif

ORR_EXPORT const struct orr_policy *orr_policy_entry(uint32_t host_abi)
{
    static const struct orr_policy policy = {.abi = ORR_POLICY_ABI,
                                             .size = sizeof policy,
                                             .name = "bad",
                                             .summary = "what no policy may do",
                                             .laws = ORR_LAW_GANG,
                                             .params = rows,
                                             .params_bytes = sizeof(struct params),
                                             .open = bad_open,
                                             .event = bad_event,
                                             .cycle = bad_cycle,
                                             .close = bad_close};
#ifdef OTHER_CONTRACT
    host_abi++;
#endif
    return host_abi == ORR_POLICY_ABI ? &policy : NULL;
}
