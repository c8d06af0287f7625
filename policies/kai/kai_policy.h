/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_policy.h - what the policy keeps from cycle to cycle; private to policies/kai. */
#ifndef ORR_KAI_POLICY_H
#define ORR_KAI_POLICY_H

#include "kai_build.h"
#include "kai_hooking.h"
#include "kai_tasks.h"
#include "kai_usage.h"

struct orr_kai_slots { /* slots of ended jobs of one shape */
    uint32_t *slots;
    uint32_t count, capacity;
};

struct orr_kai_delay { /* the preemption delay of a job */
    orr_ms end;        /* as of the last cycle */
    uint64_t cycle;    /* the last that evicted tasks of the job; 0: none */
    bool renewed;      /* each cycle begins it anew while nothing else happens */
    bool explains;     /* the last recorded proof of why the job waits names it */
};

struct orr_kai {
    struct orr_kai_params params;
    enum orr_action actions[ORR_ACTIONS]; /* as `params` lists them */
    uint32_t action_count;
    struct orr_session session;
    struct orr_kai_tasks tasks;
    uint32_t known_jobs;   /* as it was opened */
    uint32_t late_job;     /* a job that came later, which kai does not take; ORR_NONE: none did */
    uint32_t *slot_of_job; /* ORR_NONE: not submitted, ended, or away until it is requeued */
    uint32_t *job_of_slot;
    uint32_t slot_capacity;
    struct orr_kai_build build;
    struct orr_kai_slots *free_slots; /* per shape */
    uint32_t shape_count;
    struct orr_kai_usage past;
    struct orr_kai_hooking hooking;
    bool changed; /* something happened since the last cycle, or it did something */
    /* `share_generation` of the session when its shares of a resource were reported last */
    uint64_t reported[ORR_SHARE_KINDS];
    orr_ms due_ms; /* next end of a min-runtime, grace or delay: actions may do more from then on */
    uint32_t *waiting; /* jobs that may need a reason after the next cycle, each once */
    bool *is_waiting;  /* per slot: its job is among them */
    uint32_t waiting_count, waiting_capacity;
    uint32_t *whole; /* gangs that note_whole_gangs() named in the last cycle with actions */
    uint32_t whole_count, whole_capacity;
    uint64_t cycle;      /* counts cycles, without those that decided nothing anew */
    uint64_t *pipelined; /* per slot: the last cycle that left its job with pipelined tasks */
    struct orr_kai_delay *delays; /* per slot */
    uint32_t *renewed;            /* slots whose delay is `renewed` */
    uint32_t renewed_count, renewed_capacity;
    bool delay_began;           /* in the last cycle, of some job */
    struct orr_watcher watcher; /* gets the session's steps, with jobs of the run */
    /* GPUs, idle or being released, that a cycle which promised room (is_promise) gave to nobody;
     * -1: it promised none */
    int64_t left_mgpu;
    uint8_t *why_not; /* per shape: enum orr_reason after this cycle; NONE: not asked yet */
    bool strategies;  /* some nodes state a MIG strategy */
};

/* kai_reasons.c: of the pods that it lacks those that no quota keeps from it. */
orr_policy_grants_fn orr_kai__grants;
/* kai_reasons.c: after a cycle, why each job that waits does so, where its reason changed. */
void orr_kai__explain_waiting(struct orr_kai *kai, const struct orr_view *view,
                              struct orr_txn *txn);

#endif
