/* SPDX-License-Identifier: GPL-3.0-or-later */
/* defects_int.h - what the files of KAI v0.17's statement share. */
#ifndef ORR_DEFECTS_INT_H
#define ORR_DEFECTS_INT_H

#include "session_int.h"

#include <orrery/core/defects.h>

struct orr_v017_groups {
    uint32_t count, ids[ORR_SHARED_DEVICES_MAX];
};

enum orr_v017_op_kind { ORR_V017_EVICT, ORR_V017_PIPELINE, ORR_V017_ALLOCATE, ORR_V017_UNDO };

struct orr_v017_op {
    uint8_t kind;
    uint8_t status; /* before it */
    bool was_virtual;
    uint32_t task;
    uint32_t copy;     /* of the task, that it is about */
    uint32_t from, to; /* nodes */
    uint32_t undone;   /* UNDO: the position of the operation taken back */
    struct orr_v017_groups groups;
    struct orr_vec *zones; /* before it; NULL: no node has zones */
};

/* Shared devices of the task's live place. */
struct orr_v017_groups orr_v017__groups(const struct orr_session *session,
                                        const struct orr_stask *task);
void orr_v017__set_groups(struct orr_session *session, struct orr_stask *task,
                          const struct orr_v017_groups *groups);

/* v017_records.c: what a node knows of a pod (NodeInfo.PodInfos), as it was when it was added. */
void orr_v017__open_records(struct orr_session *session);
/* The devices it was on; false: the node does not know the task. */
bool orr_v017__is_known(const struct orr_session *session, uint32_t task, uint32_t node,
                        struct orr_v017_groups *groups);
void orr_v017__add(struct orr_session *session, uint32_t task, uint32_t node);
/* False: the node did not know it. */
bool orr_v017__remove(struct orr_session *session, uint32_t task, uint32_t node);
bool orr_v017__update(struct orr_session *session, uint32_t task, uint32_t node);

/* v017_copies.c */
void orr_v017__open_copies(struct orr_session *session);
/* The job has this copy of the task from now on. Returns the status that the copy has; the session
 * counts the task as before until its status is set. */
uint8_t orr_v017__take_up(struct orr_session *session, uint32_t task, uint32_t number);
void orr_v017__forget_copies(struct orr_session *session);

#endif
