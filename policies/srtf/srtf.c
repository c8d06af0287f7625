/* SPDX-License-Identifier: GPL-3.0-or-later */
/* srtf.c - shortest remaining time first, with pauses (Schrage, Operations Research 1968), for
 * gangs as the simulator of Helios and Lucid has it (Hu et al., SC 2021): a walk (walk.h) in the
 * order of what is left of jobs, what a restart costs included. */
#include "../registry/policies_int.h"
#include "../walk/walk.h"

#define SECOND ((orr_ms)1000)

enum { BY_WORK, BY_ESTIMATE };

struct srtf_params {
    int64_t by;
    struct orr_placer_params placer;
};

struct srtf {
    struct srtf_params params;
    struct orr_walk walk;
};

static const char *const by_names[] = {"work", "estimate", NULL};

static const struct orr_param srtf_rows[] = {
    {"by", ORR_PARAM_CHOICE, offsetof(struct srtf_params, by), "work", "", by_names, 0, 0,
     "what is left of a job: of its true run time, or of its user's estimate"},
    ORR_PLACER_ROWS(struct srtf_params),
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static int64_t left_of(void *self, const struct orr_view *view, uint32_t job)
{
    const struct srtf *srtf = self;
    const struct orr_job_progress p = orr_view_progress(view, job);
    orr_ms left = p.work_ms == ORR_MS_NONE ? ORR_MS_NEVER / 2 : p.work_ms - p.done_ms;
    if (srtf->params.by == BY_ESTIMATE) {
        left = p.estimated_left_ms > 0 ? p.estimated_left_ms : 0;
    }
    return left + p.pause_ms;
}

static enum orr_status srtf_open(const struct orr_host *host, const void *params,
                                 const struct orr_view *view, void **state, struct orr_err *err)
{
    (void)host;
    (void)err;
    struct srtf *srtf = orr_zalloc(1, sizeof *srtf);
    srtf->params = *(const struct srtf_params *)params;
    srtf->walk.key = left_of;
    srtf->walk.self = srtf;
    orr_walk_open(&srtf->walk, view, &srtf->params.placer);
    *state = srtf;
    return ORR_OK;
}

static void srtf_close(void *state)
{
    struct srtf *srtf = state;
    orr_walk_close(&srtf->walk);
    orr_free(srtf);
}

static void srtf_event(void *state, const struct orr_view *view, enum orr_job_event event,
                       uint32_t job)
{
    orr_walk_event(&((struct srtf *)state)->walk, view, event, job);
}

static void srtf_cycle(void *state, const struct orr_view *view, struct orr_txn *txn)
{
    orr_walk_cycle(&((struct srtf *)state)->walk, view, txn);
}

/* A job that runs gets past one that waits, which found no place for what it was counted for: then
 * others may be. At whole seconds. */
static orr_ms srtf_wake(void *state, const struct orr_view *view)
{
    struct orr_walk *walk = &((struct srtf *)state)->walk;
    orr_ms least = ORR_MS_NEVER;
    if (walk->waiting.count == 0) {
        return ORR_MS_NEVER;
    }
    orr_walk_order(walk, view);
    orr_ms before = ORR_MS_NONE; /* of the last that leaves, before this one */
    for (uint32_t i = 0; i < walk->order.count; i++) {
        const struct orr_walk_entry *entry = &walk->order.items[i];
        if (view->jobs[entry->job].phase != ORR_JOB_RUNNING) {
            before = entry->key;
            continue;
        }
        const orr_ms waits = orr_waiting_before(&walk->waiting, entry);
        const orr_ms last = waits > before ? waits : before;
        least = last != ORR_MS_NONE && entry->key - last < least ? entry->key - last : least;
    }
    if (least >= ORR_MS_NEVER / 4) {
        return ORR_MS_NEVER;
    }
    const orr_ms past = (view->now + least) % SECOND;
    return view->now + least - (past < 0 ? past + SECOND : past) + SECOND;
}

static uint32_t srtf_heeds(const void *params)
{
    return ((const struct srtf_params *)params)->by == BY_WORK ? ORR_HEEDS_WORK
                                                               : ORR_HEEDS_ESTIMATES;
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
    .abilities = ORR_ABLE_SCALE | ORR_ABLE_JOINED,
    .heeds = srtf_heeds,
};
