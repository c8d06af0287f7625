/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hooks.c - hooks of kai that do what `hooks_with` says. Compiled with OTHER_CONTRACT they are made
 * for no host, with NO_HOOK they have none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/policies/kai_hooks.h>

struct self {
    const struct orr_host *host;
    char with[16];
};

static bool is(const struct self *self, const char *what)
{
    return strcmp(self->with, what) == 0;
}

static enum orr_status hooks_open(const struct orr_host *host, const char *with,
                                  const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)view;
    (void)err;
    if (strcmp(with, "refuse") == 0) {
        return ORR_SCENARIO;
    }
    struct self *self = host->alloc(1, sizeof *self);
    self->host = host;
    (void)strncpy(self->with, with, sizeof self->with - 1);
    self->with[sizeof self->with - 1] = '\0';
    *state = self;
    return ORR_OK;
}

static void hooks_close(void *state)
{
    ((struct self *)state)->host->free(state);
}

/* The emptier, the better: above what KAI's own packing gives. */
static double hooks_node_score(void *state, const struct orr_view *view, uint32_t job,
                               uint32_t group, const struct orr_kai_node *node)
{
    const struct self *self = state;
    const bool known = group < view->shapes->shapes[view->specs[job].shape].group_count;
    volatile bool for_ever = true;
    volatile uintptr_t nowhere = sizeof(int); /* not 0, which a sanitizer reports by itself */
    if (is(self, "crash")) {
        *(volatile int *)nowhere = 1;
    }
    while (is(self, "hang") && for_ever) {
    }
    if (is(self, "exit")) {
        exit(0);
    }
    return is(self, "nan") || !known ? (double)NAN
           : is(self, "score")       ? (double)node->idle_mgpu
                                     : 0.0;
}

/* Whoever holds more goes first. */
static int hooks_queue_order(void *state, const struct orr_view *view,
                             const struct orr_kai_queue *a, const struct orr_kai_queue *b)
{
    (void)view;
    return !is(state, "queues") ? 0 : (a->held_mgpu < b->held_mgpu) - (a->held_mgpu > b->held_mgpu);
}

/* The last one first. */
static int hooks_job_order(void *state, const struct orr_view *view, uint32_t a, uint32_t b)
{
    const orr_ms at_a = view->specs[a].submit_ms, at_b = view->specs[b].submit_ms;
    return !is(state, "jobs") ? 0 : (at_a < at_b) - (at_a > at_b);
}

/* The first one loses first. */
static int hooks_victim_order(void *state, const struct orr_view *view, uint32_t a, uint32_t b)
{
    const orr_ms at_a = view->specs[a].submit_ms, at_b = view->specs[b].submit_ms;
    return !is(state, "victims") ? 0 : (at_a > at_b) - (at_a < at_b);
}

/* The last job is no victim. */
static bool hooks_victim_filter(void *state, const struct orr_view *view, enum orr_action action,
                                uint32_t preemptor, uint32_t victim)
{
    (void)action;
    return !is(state, "filter") || preemptor == victim || view->specs[victim].submit_ms == 0;
}

#ifdef OTHER_CONTRACT
#define ABI (ORR_KAI_HOOKS_ABI + 1)
#else
#define ABI ORR_KAI_HOOKS_ABI
#endif

ORR_EXPORT const struct orr_kai_hooks *orr_kai_hooks_entry(uint32_t host_abi)
{
    static const struct orr_kai_hooks hooks = {.abi = ABI,
                                               .size = sizeof hooks,
                                               .name = "hooks",
                                               .open = hooks_open,
                                               .close = hooks_close,
#ifndef NO_HOOK
                                               .node_score = hooks_node_score,
                                               .queue_order = hooks_queue_order,
                                               .job_order = hooks_job_order,
                                               .victim_order = hooks_victim_order,
                                               .victim_filter = hooks_victim_filter
#endif
    };
    (void)hooks_node_score, (void)hooks_queue_order, (void)hooks_job_order;
    (void)hooks_victim_order, (void)hooks_victim_filter;
    return host_abi == ORR_KAI_HOOKS_ABI ? &hooks : NULL;
}
