/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_int.h - what the files of this room share: node sets, the books, the index. */
#ifndef ORR_CORE_LEDGER_INT_H
#define ORR_CORE_LEDGER_INT_H

#include <orrery/core/ledger.h>

#define ORR_DEVICE_MASK_MAX 64u /* devices a node may have to be counted one by one */

/* node sets */
void orr_node_set__init(struct orr_node_set *set, struct orr_arena *arena, uint32_t nodes);
void orr_node_set__add(struct orr_node_set *set, uint32_t node);
void orr_node_set__remove(struct orr_node_set *set, uint32_t node);
/* The lowest node >= from, or ORR_NONE. */
uint32_t orr_node_set__next(const struct orr_node_set *set, uint32_t from, uint32_t nodes);

/* Index: what is idle of a node changed, its devices from `before` to what idle[node] says now. */
void orr_index__open(struct orr_ledger *ledger);
void orr_index__move(struct orr_ledger *ledger, uint32_t node, int32_t before);
/* Idle devices of the node of a type that has most; 0 if the type has no nodes. */
uint32_t orr_index__most_idle(const struct orr_type_index *index);

/* Books of one placement: take room (true if the request fits on idle), or give it back to idle.
 * Devices that the placement names already are taken, if they have room; else they are chosen. */
bool orr_books__take(struct orr_ledger *ledger, const struct orr_request *request,
                     struct orr_placement *placement);
void orr_books__give(struct orr_ledger *ledger, const struct orr_request *request,
                     const struct orr_placement *placement);
/* The room one placement takes of a node, whole devices it alone uses counted in gpus. */
struct orr_room orr_books__room(const struct orr_request *request, uint32_t tasks);
/* The fullest shared devices with room, else the lowest free ones, as many as the task has. */
uint64_t orr_books__pick_shared(const struct orr_ledger *ledger, uint32_t node,
                                const struct orr_request *request);
/* Adds what a sharing task takes (sign 1), or takes it off (-1), to each device of the mask, and
 * keeps the idle devices true. */
void orr_books__charge_devices(struct orr_ledger *ledger, const struct orr_request *request,
                               uint32_t node, uint64_t devices, int sign);
/* The pods that reserve a shared device on nodes of the type: one or none. */
static inline int32_t orr_books__reservations(const struct orr_ledger *ledger,
                                              const struct orr_node_type *type)
{
    return ledger->reserves != NULL && ledger->reserves[type->shard];
}
/* What of a node is idle, or would be if it were not down. */
static inline struct orr_room *orr_books__unheld(struct orr_ledger *ledger, uint32_t node)
{
    return ledger->down[node] ? &ledger->withheld[node] : &ledger->idle[node];
}
static inline uint64_t *orr_books__unheld_devices(struct orr_ledger *ledger, uint32_t node)
{
    return ledger->down[node] ? &ledger->withheld_devices[node] : &ledger->free_devices[node];
}
/* A job that is suspended now gives its CPU, one that is not any more takes it. False, and nothing
 * done: a node has too little. */
bool orr_books__set_suspended(struct orr_ledger *ledger, uint32_t job, bool suspended);
/* As orr_ledger_room_for, on a node that tasks of the request may be on. */
uint32_t orr_books__room_on(const struct orr_ledger *ledger, uint32_t node,
                            const struct orr_request *request);
/* How many such tasks there is room for; of devices, whole ones alone are looked at. */
uint32_t orr_books__tasks_in(const struct orr_room *room, const struct orr_request *request);
/* Has the node room for so many, at least one? For one task alone without dividing. */
static inline bool orr_books__has_room(const struct orr_ledger *ledger, uint32_t node,
                                       const struct orr_request *request, uint32_t tasks)
{
    const struct orr_room *room = &ledger->idle[node];
    if (tasks != 1 || ledger->claims > 0 || orr_request_shares(request)) {
        return orr_books__room_on(ledger, node, request) >= tasks;
    }
    return room->pods > 0 &&
           (request->gpu_ask != ORR_GPU_WHOLE || room->gpus >= (int32_t)request->devices) &&
           (request->cpu_milli <= 0 || room->cpu_milli >= request->cpu_milli) &&
           (request->mem_bytes <= 0 || room->mem_bytes >= request->mem_bytes) &&
           room->mig[request->mig_profile] >= request->instances;
}
/* Do the devices that are shared already have room for one sharing task? */
bool orr_books__fits_shared(const struct orr_ledger *ledger, uint32_t node,
                            const struct orr_request *request);

/* Takes a room out of what a node is releasing (sign +1), or puts it in (-1). */
void orr_ledger__releasing(struct orr_ledger *ledger, uint32_t node, struct orr_room room,
                           int sign);
void orr_ledger__releasing_of(struct orr_ledger *ledger, const struct orr_request *request,
                              const struct orr_placement *placement, int sign);

/* Adds a placement that its job's list does not know yet, and returns its index. */
uint32_t orr_ledger__append(struct orr_ledger *ledger, const struct orr_placement *placement);
/* Joins placements from `first` on, each fresh of a commit, that follow each other on nodes in a
 * row. */
void orr_ledger__join(struct orr_ledger *ledger, uint32_t first);
/* Splits a placement of the job that is on this node and the one before it: the new one begins
 * there, *rest ends before it. ORR_NONE: there is no such placement. */
uint32_t orr_ledger__cut(struct orr_ledger *ledger, uint32_t job, uint32_t node, uint32_t *rest);
/* Takes that back; the new one is the last placement of all. */
void orr_ledger__uncut(struct orr_ledger *ledger, uint32_t fresh, uint32_t rest);

/* The devices of a node of the type that foreign pods leave. */
uint64_t orr_ledger__our_devices(const struct orr_node_type *type);

/* Devices for equal tasks of so many each, out of enough free ones. */
uint64_t orr_books__pick_devices(const struct orr_node_type *type, uint64_t free, uint32_t devices,
                                 uint32_t tasks);
/* What is free of a node, by kind of GPUs. */
static inline int64_t *orr_books__node_free(const struct orr_ledger *ledger, uint32_t node)
{
    return &ledger->node_free_mgpu[node * (1 + (size_t)ledger->world.cluster->mig_profiles.count)];
}

/* Queue sums up to the root; sign +1 or -1. The request is that of the placement. */
void orr_use__allocated(struct orr_ledger *ledger, const struct orr_request *request,
                        const struct orr_placement *placement, int sign);
/* The same of what is held in a grace. */
void orr_use__leaving(struct orr_ledger *ledger, const struct orr_request *request,
                      const struct orr_placement *placement, int sign);
struct orr_use_asked {
    int64_t cpu_milli, mem_bytes, mgpu;
};
/* What the job asks, without tasks that it does not want. */
struct orr_use_asked orr_use__asked(const struct orr_ledger *ledger, uint32_t job);
void orr_use__pending(struct orr_ledger *ledger, uint32_t job, int sign);

static inline const struct orr_shape *orr_ledger__shape(const struct orr_ledger *ledger,
                                                        uint32_t job)
{
    return &ledger->world.shapes->shapes[ledger->world.specs[job].shape];
}

static inline const struct orr_request *orr_ledger__request(const struct orr_ledger *ledger,
                                                            uint32_t job, uint32_t group)
{
    return &orr_ledger__shape(ledger, job)->groups[group].request;
}

/* ledger_laws.c: does what the job holds, placements that are not committed included, keep these
 * laws (a sum of ORR_LAW_...)? False: *refusal names the first that it breaks. */
bool orr_ledger__keeps_laws(const struct orr_ledger *ledger, uint32_t job, uint32_t laws,
                            struct orr_refusal *refusal);

/* Of a gang with sets that has enough tasks: is each of them complete? */
bool orr_ledger__has_sets(const struct orr_ledger *ledger, uint32_t job);
static inline bool orr_ledger__is_complete(const struct orr_ledger *ledger, uint32_t job)
{
    const struct orr_shape *shape = orr_ledger__shape(ledger, job);
    return ledger->jobs[job].placed_tasks >= shape->min_tasks &&
           (shape->set_count == 0 || orr_ledger__has_sets(ledger, job));
}

static inline bool orr_ledger__type_fits(const struct orr_ledger *ledger, uint32_t type,
                                         const struct orr_request *request)
{
    const struct orr_node_type *t = &ledger->world.cluster->types[type];
    return request->shard == t->shard &&
           (request->gpu_model == ORR_NONE || request->gpu_model == t->gpu_model);
}

/* Is it a node that tasks of the request may be on at all? */
static inline bool orr_ledger__may_use(const struct orr_ledger *ledger, uint32_t node,
                                       const struct orr_request *request)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    return orr_ledger__type_fits(ledger, cluster->nodes[node].type, request) &&
           orr_cluster_admits(cluster, request->selector, node) &&
           orr_cluster_admits(cluster, request->toleration, node) &&
           orr_cluster_admits(cluster, request->allowed, node);
}

#endif
