/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case_world.h - the state of a case between its rounds, and a session made of it. */
#ifndef ORR_SIM_CONFORM_CASE_WORLD_H
#define ORR_SIM_CONFORM_CASE_WORLD_H

#include <orrery/base/idmap.h>
#include <orrery/core/numa.h>

#include "conform_int.h"

struct case_task {
    int state;        /* enum conform_state, the same as enum orr_task_status */
    uint32_t node;    /* index in the case, or ORR_NONE; of no effect while it is pending */
    uint32_t *groups; /* room for all devices of its request */
    uint32_t group_count;
    uint32_t id;                 /* in the session of this round, or ORR_NONE */
    struct orr_zone_take *zones; /* drawn in an earlier round; NULL: as the file states */
};

struct case_world {
    const struct conform_case *one;
    struct orr_arena arena;
    struct case_task **tasks; /* by job, task */
    uint32_t *job_ids;        /* in the session of this round */
    struct orr_idmap groups;  /* names of shared devices, in byte order */
    uint32_t next_gpu_group;
    uint32_t numbered_gpu_groups; /* the first ones, whose names are numbers */
    struct orr_idmap profiles;    /* MIG resources, in the order of the session's slots */
    orr_ms now;
};

/* What a case does to its session's rules. False: nobody knows what it would do. */
bool orr_conform__override(const struct conform_session_call *call,
                           struct orr_session_rules *rules);
void orr_conform__world_init(struct case_world *world, const struct conform_case *one);
void orr_conform__world_release(struct case_world *world);
/* A fresh session of the present state: every age starts anew. */
void orr_conform__make_session(struct case_world *world, struct orr_session *session);
/* --- NUMA zones (case_numa.c) --- */

void orr_conform__set_zones(const struct conform_node *node, uint32_t id,
                            struct orr_session *session);
void orr_conform__draw_zones(const struct case_task *task, const struct conform_task *from,
                             struct orr_session *session);
void orr_conform__keep_zones(struct case_world *world, struct case_task *task,
                             const struct orr_session *session);
void orr_conform__check_zones(const struct orr_session *session, uint32_t task,
                              const struct conform_zone_mask *expected, const char *when,
                              struct conform_outcome *outcome);
void orr_conform__check_free_zones(const struct orr_snode *node,
                                   const struct conform_expect_node *expect, const char *when,
                                   struct conform_outcome *outcome);

/* Compares with what the case expects. */
void orr_conform__check(const struct case_world *world, const struct orr_session *session,
                        const char *when, struct conform_outcome *outcome);

#endif
