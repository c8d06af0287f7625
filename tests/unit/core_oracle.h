/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core_oracle.h - the ledger once more, slow and plain: arrays, scans, and a full copy for every
 * checkpoint. It shares no code with core/ledger beside the world it reads. */
#ifndef ORR_TEST_CORE_ORACLE_H
#define ORR_TEST_CORE_ORACLE_H

#include "core_world.h"

#define ORACLE_PIECES 24u                /* placements a job may have */
#define WHOLE         (INT64_C(1) << 62) /* a device held by one task */

struct oracle_piece {
    uint32_t node, group, tasks;
    uint64_t devices;
    bool leaving;
};

struct oracle_job {
    uint8_t phase;
    bool placed; /* something of it since the last commit */
    bool suspended;
    uint32_t piece_count;
    struct oracle_piece pieces[ORACLE_PIECES];
};

struct oracle_claim { /* a pipelined task */
    uint32_t job, group, tasks, node;
};

struct oracle {
    const struct core_world *world;
    int64_t
        *device; /* node * max_gpus + d: 0, units in use or WHOLE; of a node > 64: a count at d = 0
                  */
    struct oracle_job *jobs;
    struct oracle_claim *claims;
    uint32_t claim_count, claim_capacity;
};

void oracle_open(struct oracle *o, const struct core_world *world);
void oracle_close(struct oracle *o);
void oracle_copy(struct oracle *to, const struct oracle *from); /* to is closed before or empty */

/* Idle room of a node by scanning; what is released; what pipelined tasks claim. */
struct orr_room oracle_idle(const struct oracle *o, uint32_t node);
struct orr_room oracle_releasing(const struct oracle *o, uint32_t node);
uint64_t oracle_free_mask(const struct oracle *o, uint32_t node);

bool oracle_fits(const struct oracle *o, uint32_t node, const struct orr_request *request,
                 uint32_t tasks);
bool oracle_place(struct oracle *o, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node);
bool oracle_pipeline(struct oracle *o, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node);
/* Finish: all of a job is idle again; release: what leaves. */
void oracle_free(struct oracle *o, uint32_t job, uint8_t phase);
/* The `tasks` tasks with the highest devices of a piece leave; false if it has no such number. */
bool oracle_evict_tasks(struct oracle *o, uint32_t job, uint32_t piece, uint32_t tasks);
void oracle_evict(struct oracle *o, uint32_t job);
/* Gives the job's CPU, or takes it back; false: it cannot. */
bool oracle_suspend(struct oracle *o, uint32_t job);
bool oracle_resume(struct oracle *o, uint32_t job);

uint32_t oracle_best_fit(const struct oracle *o, const struct orr_request *request, uint32_t tasks);
uint32_t oracle_most_idle(const struct oracle *o, const struct orr_request *request);
uint32_t oracle_room_for(const struct oracle *o, uint32_t node, const struct orr_request *request);

/* Sums of a queue and all below it. */
struct orr_queue_use oracle_use(const struct oracle *o, uint32_t queue);
uint32_t oracle_placed(const struct oracle *o, uint32_t job); /* and not leaving */
/* Of a device, as `device` counts them. */
int64_t oracle_device_units(const struct orr_node_type *type);
int64_t oracle_task_mgpu(const struct oracle *o, const struct orr_request *request, uint32_t node);

#endif
