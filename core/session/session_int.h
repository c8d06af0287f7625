/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session_int.h - what the files of the session share. */
#ifndef ORR_SESSION_INT_H
#define ORR_SESSION_INT_H

#include <orrery/core/session.h>

enum orr_undo_op { ORR_UNDO_PLACE, ORR_UNDO_EVICT, ORR_UNDO_UNEVICT, ORR_UNDO_STATUS };

struct orr_undo { /* one step of the statement; its node's books as they were are in `saved` */
    uint8_t op;
    bool cancelled; /* an eviction that was taken back */
    bool was_virtual;
    uint32_t task;
    uint32_t node;    /* whose books were changed */
    uint32_t evicted; /* UNEVICT: the step it cancels, or ORR_NONE */
    int charge;       /* what it did to the queues: +1, 0, -1 times quota */
    int64_t charge_mgpu;
    struct orr_place before;
    uint32_t shared_count; /* entries of the node's shared devices, saved */
    size_t saved_at;
};

/* core/place/place_memory.c: what attempts to place jobs keep in the session and lend each other.
 */
struct orr_place_memory *orr_place__open(void);
void orr_place__close(struct orr_place_memory *place);

/* Books of a node (KAI: node_info.go, gpu_sharing_node_info.go). The task's live place says where.
 */
void orr_session__book_add(struct orr_session *session, uint32_t node,
                           const struct orr_stask *task);
void orr_session__book_remove(struct orr_session *session, uint32_t node,
                              const struct orr_stask *task);
/* The same of a task that asks so and is in this state on these devices; zones apart. */
void orr_session__book(struct orr_session *session, uint32_t node, const struct orr_ask *ask,
                       uint8_t status, const uint32_t *groups, uint32_t group_count, int sign);
void orr_session__rebuild_node(struct orr_session *session, uint32_t node);

/* Adds the task's accepted amounts, times sign, to the live sums of its queue and ancestors. */
void orr_session__charge(struct orr_session *session, const struct orr_stask *task,
                         int64_t quota_mgpu, int sign);
/* Changes the live status and the counts that depend on it. */
void orr_session__set_live_status(struct orr_session *session, struct orr_stask *task,
                                  uint8_t status);
/* An eviction from a node, or a placement, that the statement holds is executed. */
void orr_session__commit_eviction(struct orr_session *session, uint32_t task, uint32_t node,
                                  enum orr_action action, uint32_t preemptor);
void orr_session__commit_place(struct orr_session *session, uint32_t task, enum orr_action action,
                               uint32_t preemptor);
/* Changes the held copy and the sums made of it; the live copy stays. */
void orr_session__set_held(struct orr_session *session, uint32_t task, enum orr_task_status status,
                           uint32_t node, const uint32_t *groups, uint32_t group_count);
/* Adds the task to what its queue and those above it request and hold, times sign. KAI's
 * proportion: a queue requests what it holds and what its pending pods ask for. */
void orr_session__count_request(struct orr_session *session, const struct orr_stask *task,
                                int sign);
/* Puts the node, or the job, among those that changed. */
void orr_session__node_changed(struct orr_session *session, uint32_t node);
void orr_session__job_changed(struct orr_session *session, uint32_t job);
void orr_session__touch(struct orr_session *session, uint32_t task);
void orr_session__dirty(struct orr_session *session, uint32_t node);
/* The domains of the node have one node more, or less, that is not away. */
void orr_session__count_domains(struct orr_topology *topology, uint32_t node, int more);

/* session_numa.c: nothing is done while no node has zones. */
void orr_numa__release(struct orr_session *session);
/* For what the tasks draw: whenever some were added. */
void orr_numa__make_room(struct orr_session *session);
void orr_numa__reset(struct orr_snode *node);
/* The live record of a task; NULL: nothing drawn. */
void orr_numa__draw(struct orr_session *session, uint32_t task, const struct orr_zone_take *take);
/* The held record becomes the live one, or nothing if it is for another place; and back. */
void orr_numa__hold(struct orr_session *session, uint32_t task, bool same_place);
void orr_numa__recall(struct orr_session *session, uint32_t task);
void orr_numa__charge(struct orr_session *session, struct orr_snode *node,
                      const struct orr_stask *task, int64_t sign);
/* The same of a node that may be ORR_NONE. */
void orr_numa__charge_on(struct orr_session *session, uint32_t node, const struct orr_stask *task,
                         int64_t sign);
/* A copy of the live record, NULL while no node has zones; back from a copy; and whether it is what
 * these zones say (NULL: whatever it is). */
struct orr_vec *orr_numa__keep(const struct orr_session *session, uint32_t task,
                               struct orr_arena *arena);
void orr_numa__redraw(struct orr_session *session, uint32_t task, const struct orr_vec *kept);
bool orr_numa__is_drawn(const struct orr_session *session, uint32_t task,
                        const struct orr_vec *zones);
size_t orr_numa__saved_bytes(const struct orr_session *session, const struct orr_snode *node);
unsigned char *orr_numa__save(const struct orr_session *session, const struct orr_snode *node,
                              uint32_t task, unsigned char *at);
const unsigned char *orr_numa__restore(struct orr_session *session, struct orr_snode *node,
                                       uint32_t task, const unsigned char *at);

static inline uint32_t *orr_session__live_groups(struct orr_session *session,
                                                 const struct orr_stask *task)
{
    return session->gpu_group_ids + task->gpu_groups_at;
}
static inline uint32_t *orr_session__held_groups(struct orr_session *session,
                                                 const struct orr_stask *task)
{
    return session->gpu_group_ids + task->gpu_groups_at + session->asks[task->ask].devices;
}

#endif
