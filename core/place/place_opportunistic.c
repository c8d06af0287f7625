/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place_opportunistic.h"

#include <string.h>

struct seat {
    uint32_t job, group, node;
    uint64_t devices;
    struct orr_room room;     /* but for devices */
    int64_t mgpu, each_parts; /* of all its devices, of each */
    bool waits; /* false: the task is placed, and gets a seat only if others of its job do */
};

struct on_node {
    uint64_t devices;     /* of opportunistic jobs */
    struct orr_room room; /* theirs, but for devices */
    uint64_t seats;       /* devices */
    struct orr_room kept; /* for seats, but for devices */
    uint32_t seat_count;
};

struct orr_opportunistic {
    const struct orr_ledger *ledger;
    int64_t below;
    uint32_t *jobs; /* all that hold something are among them */
    uint32_t job_count, job_capacity;
    struct on_node *nodes;
    int64_t *mgpu; /* of devices, by queue: of opportunistic jobs, less of seats */
    struct orr_gpus sum;
    struct seat *seats; /* those kept, then those of the attempt */
    uint32_t kept, seat_count, seat_capacity;
    uint32_t *victims; /* of the attempt */
    uint32_t victim_count, victim_capacity;
};

struct orr_opportunistic *orr_opportunistic_open(const struct orr_ledger *ledger, int64_t below)
{
    struct orr_opportunistic *o = orr_zalloc(1, sizeof *o);
    o->ledger = ledger;
    o->below = below;
    o->nodes = orr_zalloc(ledger->world.cluster->node_count + (size_t)1, sizeof *o->nodes);
    o->mgpu = orr_zalloc(ledger->world.queues->count + (size_t)1, sizeof *o->mgpu);
    return o;
}

void orr_opportunistic_close(struct orr_opportunistic *o)
{
    if (o != NULL) {
        orr_free(o->jobs);
        orr_free(o->nodes);
        orr_free(o->mgpu);
        orr_free(o->seats);
        orr_free(o->victims);
        orr_free(o);
    }
}

bool orr_opportunistic_has(const struct orr_opportunistic *o, uint32_t job)
{
    return o->ledger->world.specs[job].priority < o->below;
}

void orr_opportunistic_note(struct orr_opportunistic *o, uint32_t job)
{
    uint32_t i = o->job_count;
    while (i > 0 && o->jobs[i - 1] != job) {
        i--;
    }
    if (i == 0) {
        o->jobs = ORR_ROOM_FOR_ONE(o->jobs, o->job_count, o->job_capacity);
        o->jobs[o->job_count++] = job;
    }
}

/* --- what there is --- */

/* The first of what a job holds; the placements of one that is done are ended, and still its own.
 */
static uint32_t first_held(const struct orr_opportunistic *o, uint32_t job)
{
    const uint32_t p = o->ledger->jobs[job].placement;
    return p != ORR_NONE && o->ledger->placements[p].hold != ORR_HOLD_ENDED ? p : ORR_NONE;
}

static const struct orr_request *request_of(const struct orr_opportunistic *o, uint32_t job,
                                            uint32_t group)
{
    const struct orr_ledger_world *world = &o->ledger->world;
    return &world->shapes->shapes[world->specs[job].shape].groups[group].request;
}

static void add_room(struct orr_room *room, const struct orr_request *request, int64_t tasks)
{
    room->cpu_milli += tasks * request->cpu_milli;
    room->mem_bytes += tasks * request->mem_bytes;
    room->pods += (int32_t)tasks;
    room->mig[request->mig_profile] =
        (int16_t)(room->mig[request->mig_profile] + tasks * request->instances);
}

static void add_placement(struct orr_opportunistic *o, const struct orr_placement *placement)
{
    const struct orr_cluster *cluster = o->ledger->world.cluster;
    const struct orr_request *request = request_of(o, placement->job, placement->group);
    const uint32_t queue = o->ledger->world.specs[placement->job].queue;
    const uint32_t each = orr_placement_each(placement);
    for (uint32_t n = placement->node; n <= placement->node + placement->more_nodes; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        const int64_t mgpu = each * orr_request_task_mgpu(request, type);
        const uint32_t kind = orr_request_gpu_kind(request);
        o->nodes[n].devices |= placement->devices;
        add_room(&o->nodes[n].room, request, each);
        o->mgpu[queue] += kind == 0 ? mgpu : 0;
        o->sum.mgpu[kind] += mgpu;
    }
}

/* Seats that stand for nothing in the ledger. */
static bool counts(const struct orr_opportunistic *o, uint32_t i)
{
    return i < o->kept || o->seats[i].waits;
}

static void add_seat(struct orr_opportunistic *o, const struct seat *seat)
{
    struct on_node *at = &o->nodes[seat->node];
    at->seats |= seat->devices;
    orr_room_add(&at->kept, &seat->room, 1);
    at->seat_count++;
    o->mgpu[o->ledger->world.specs[seat->job].queue] -= seat->mgpu;
}

void orr_opportunistic_look(struct orr_opportunistic *o)
{
    const struct orr_ledger *ledger = o->ledger;
    memset(o->nodes, 0, ledger->world.cluster->node_count * sizeof *o->nodes);
    memset(o->mgpu, 0, ledger->world.queues->count * sizeof *o->mgpu);
    o->sum = (struct orr_gpus){0};
    for (uint32_t i = 0; i < o->job_count; i++) {
        const uint32_t job = o->jobs[i];
        for (uint32_t p = first_held(o, job); p != ORR_NONE; p = ledger->placements[p].next) {
            add_placement(o, &ledger->placements[p]);
        }
    }
    for (uint32_t i = 0; i < o->seat_count; i++) {
        if (counts(o, i)) {
            add_seat(o, &o->seats[i]);
        }
    }
}

uint64_t orr_opportunistic_devices(const struct orr_opportunistic *o, uint32_t node)
{
    return o->nodes[node].devices;
}

uint64_t orr_opportunistic_seats(const struct orr_opportunistic *o, uint32_t node)
{
    return o->nodes[node].seats;
}

uint64_t orr_opportunistic_free(const struct orr_opportunistic *o, uint32_t node)
{
    return o->ledger->down[node]
               ? 0
               : (o->ledger->free_devices[node] | o->nodes[node].devices) & ~o->nodes[node].seats;
}

int64_t orr_opportunistic_shared_parts(const struct orr_opportunistic *o, uint32_t node,
                                       uint32_t device, int64_t used_parts)
{
    int64_t parts = (o->nodes[node].devices >> device & 1) != 0 ? 0 : used_parts;
    for (uint32_t i = 0; i < o->seat_count && o->nodes[node].seat_count > 0; i++) {
        const struct seat *seat = &o->seats[i];
        const bool on = seat->node == node && (seat->devices >> device & 1) != 0;
        parts += on && counts(o, i) ? seat->each_parts : 0;
    }
    return parts;
}

/* What is idle of a node, with what these hold, without what is kept for seats. */
static struct orr_room room_with(const struct orr_opportunistic *o, uint32_t node,
                                 const struct orr_room *theirs)
{
    struct orr_room room = o->ledger->idle[node];
    orr_room_add(&room, theirs, 1);
    orr_room_add(&room, &o->nodes[node].kept, -1);
    room.gpus = __builtin_popcountll(orr_opportunistic_free(o, node));
    return room;
}

int32_t orr_opportunistic_instances(const struct orr_opportunistic *o, uint32_t node,
                                    uint32_t profile)
{
    return room_with(o, node, &o->nodes[node].room).mig[profile];
}

bool orr_opportunistic_room_for(const struct orr_opportunistic *o, uint32_t node,
                                const struct orr_request *request)
{
    const struct orr_node_type *type = orr_cluster_type(o->ledger->world.cluster, node);
    const struct orr_room room = room_with(o, node, &o->nodes[node].room);
    const int64_t parts = orr_request_parts(request, type);
    const bool shares = request->gpu_ask != ORR_GPU_NONE && request->gpu_ask != ORR_GPU_WHOLE;
    return !o->ledger->down[node] && (!shares || (parts > 0 && parts <= orr_device_parts(type))) &&
           orr_ledger_tasks_in(o->ledger, node, request, &room) > 0;
}

int64_t orr_opportunistic_mgpu(const struct orr_opportunistic *o, uint32_t queue)
{
    return o->mgpu[queue];
}

const struct orr_gpus *orr_opportunistic_gpus(const struct orr_opportunistic *o)
{
    return &o->sum;
}

/* --- victims --- */

static bool is_victim(const struct orr_opportunistic *o, uint32_t job)
{
    uint32_t i = o->victim_count;
    while (i > 0 && o->victims[i - 1] != job) {
        i--;
    }
    return i > 0;
}

/* What of a job on a node is to be had: of victims, and of those that leave anyway. */
static void add_going(const struct orr_opportunistic *o, uint32_t job, uint32_t node,
                      struct orr_room *room)
{
    const struct orr_ledger *ledger = o->ledger;
    const bool victim = is_victim(o, job);
    for (uint32_t p = first_held(o, job); p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        if (orr_placement_is_on(placement, node) &&
            (victim || placement->hold == ORR_HOLD_LEAVING)) {
            add_room(room, request_of(o, job, placement->group), orr_placement_each(placement));
        }
    }
}

/* Does the job hold any of the devices on the node, or anything there if none are named? */
static bool holds(const struct orr_opportunistic *o, uint32_t job, uint32_t node, uint64_t devices)
{
    const struct orr_ledger *ledger = o->ledger;
    bool found = false;
    for (uint32_t p = first_held(o, job); p != ORR_NONE && !found; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        found = placement->hold == ORR_HOLD_KEPT && orr_placement_is_on(placement, node) &&
                (devices == 0 || (placement->devices & devices) != 0);
    }
    return found;
}

static void add_victim(struct orr_opportunistic *o, uint32_t job)
{
    o->victims = ORR_ROOM_FOR_ONE(o->victims, o->victim_count, o->victim_capacity);
    o->victims[o->victim_count++] = job;
}

/* What a room lacks for a task; devices that tasks share are not counted. */
struct lack {
    bool cpu, memory, pods, devices, instances;
};

static struct lack lack_of(const struct orr_room *room, const struct orr_request *request)
{
    struct lack lack = {.pods = room->pods < 1};
    lack.cpu = request->cpu_milli > 0 && room->cpu_milli < request->cpu_milli;
    lack.memory = request->mem_bytes > 0 && room->mem_bytes < request->mem_bytes;
    lack.devices = request->gpu_ask == ORR_GPU_WHOLE && room->gpus < (int32_t)request->devices;
    lack.instances = request->instances > 0 && room->mig[request->mig_profile] < request->instances;
    return lack;
}

/* Does the job hold some of it on the node? */
static bool holds_some(const struct orr_opportunistic *o, uint32_t job, uint32_t node,
                       const struct orr_request *asked, const struct lack *lack)
{
    const struct orr_ledger *ledger = o->ledger;
    bool some = false;
    for (uint32_t p = first_held(o, job); p != ORR_NONE && !some; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_request *held = request_of(o, job, placement->group);
        const bool same_profile = held->instances > 0 && held->mig_profile == asked->mig_profile;
        some = placement->hold == ORR_HOLD_KEPT && orr_placement_is_on(placement, node) &&
               (lack->pods || (lack->cpu && held->cpu_milli > 0) ||
                (lack->memory && held->mem_bytes > 0) || (lack->devices && held->devices > 0) ||
                (lack->instances && same_profile));
    }
    return some;
}

/* Of those on a node that are to stay, and hold some of what is lacking there, the one which
 * started last; ORR_NONE: there is none. */
static uint32_t last_started(const struct orr_opportunistic *o, uint32_t node,
                             const struct orr_request *request, const struct orr_room *room)
{
    const struct lack lack = lack_of(room, request);
    uint32_t last = ORR_NONE;
    for (uint32_t i = 0; i < o->job_count; i++) {
        const uint32_t job = o->jobs[i];
        if (holds_some(o, job, node, request, &lack) && !is_victim(o, job)) {
            const orr_ms at = o->ledger->jobs[job].start_ms;
            const orr_ms before = last == ORR_NONE ? at : o->ledger->jobs[last].start_ms;
            last = last == ORR_NONE || at > before || (at == before && job > last) ? job : last;
        }
    }
    return last;
}

static bool find_victims(struct orr_opportunistic *o, uint32_t node, uint64_t devices,
                         const struct orr_request *request)
{
    if (o->ledger->down[node]) {
        return false;
    }
    for (uint32_t i = 0; i < o->job_count && devices != 0; i++) {
        if (holds(o, o->jobs[i], node, devices) && !is_victim(o, o->jobs[i])) {
            add_victim(o, o->jobs[i]);
        }
    }
    for (;;) {
        struct orr_room going = {0};
        for (uint32_t i = 0; i < o->job_count; i++) {
            add_going(o, o->jobs[i], node, &going);
        }
        const struct orr_room room = room_with(o, node, &going);
        if (orr_ledger_tasks_in(o->ledger, node, request, &room) > 0) {
            return true;
        }
        const uint32_t next = last_started(o, node, request, &room);
        if (next == ORR_NONE) {
            return false;
        }
        add_victim(o, next);
    }
}

/* --- an attempt --- */

void orr_opportunistic_begin(struct orr_opportunistic *o)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < o->job_count; i++) {
        o->jobs[left] = o->jobs[i];
        left += first_held(o, o->jobs[i]) != ORR_NONE;
    }
    o->job_count = left;
    orr_opportunistic_undo(o, (struct orr_opportunistic_mark){.seats = o->kept});
}

static void take_seat(struct orr_opportunistic *o, struct seat seat)
{
    const struct orr_request *request = request_of(o, seat.job, seat.group);
    const struct orr_node_type *type = orr_cluster_type(o->ledger->world.cluster, seat.node);
    seat.mgpu = orr_request_gpu_kind(request) == 0 ? orr_request_task_mgpu(request, type) : 0;
    seat.each_parts = orr_request_parts(request, type);
    seat.room = (struct orr_room){0};
    add_room(&seat.room, request, 1);
    o->seats = ORR_ROOM_FOR_ONE(o->seats, o->seat_count, o->seat_capacity);
    o->seats[o->seat_count++] = seat;
    if (seat.waits) {
        add_seat(o, &seat);
    }
}

/* Nothing is to leave for it. A seat that is its own is not looked at. */
static bool is_clear(const struct orr_opportunistic *o, const struct seat *seat)
{
    return (o->nodes[seat->node].devices & seat->devices) == 0 &&
           orr_ledger_room_for(o->ledger, seat->node, request_of(o, seat->job, seat->group)) > 0;
}

static bool place(struct orr_opportunistic *o, struct orr_txn *txn, struct seat seat, bool clear)
{
    if (clear) {
        seat.waits = false;
        const bool placed =
            seat.devices != 0 ? orr_txn_place_on(txn, seat.job, seat.group, seat.node, seat.devices)
                              : orr_txn_place(txn, seat.job, seat.group, 1, seat.node);
        if (placed) {
            take_seat(o, seat);
        }
        return placed;
    }
    seat.waits = true;
    if (!find_victims(o, seat.node, seat.devices, request_of(o, seat.job, seat.group))) {
        return false;
    }
    take_seat(o, seat);
    return true;
}

bool orr_opportunistic_place(struct orr_opportunistic *o, struct orr_txn *txn, uint32_t job,
                             uint32_t group, uint32_t node, uint64_t devices)
{
    const struct seat seat = {.job = job, .group = group, .node = node, .devices = devices};
    return place(o, txn, seat, o->nodes[node].seat_count == 0 && is_clear(o, &seat));
}

/* Takes a job's seats out of those that are kept, returns how many. */
static uint32_t take_back(struct orr_opportunistic *o, uint32_t job, struct seat *back)
{
    uint32_t left = 0, count = 0;
    for (uint32_t i = 0; i < o->kept; i++) {
        const struct seat seat = o->seats[i];
        if (seat.job == job) {
            back[count++] = seat;
        } else {
            o->seats[left++] = seat;
        }
    }
    o->kept = left;
    orr_opportunistic_begin(o);
    return count;
}

bool orr_opportunistic_again(struct orr_opportunistic *o, struct orr_txn *txn, uint32_t job,
                             uint32_t tasks)
{
    const uint32_t checkpoint = orr_txn_checkpoint(txn);
    struct seat *back = orr_alloc(o->kept + (size_t)1, sizeof *back);
    const uint32_t count = take_back(o, job, back);
    bool placed = count > 0 && count == tasks;
    for (uint32_t i = 0; i < count && placed; i++) {
        placed = place(o, txn, back[i], is_clear(o, &back[i]));
    }
    if (!placed) {
        orr_txn_rollback(txn, checkpoint);
        orr_opportunistic_begin(o);
    }
    orr_free(back);
    return placed;
}

struct orr_opportunistic_mark orr_opportunistic_mark(const struct orr_opportunistic *o)
{
    return (struct orr_opportunistic_mark){.seats = o->seat_count, .victims = o->victim_count};
}

void orr_opportunistic_undo(struct orr_opportunistic *o, struct orr_opportunistic_mark mark)
{
    o->seat_count = mark.seats;
    o->victim_count = mark.victims;
    orr_opportunistic_look(o);
}

enum orr_reason orr_opportunistic_settle(struct orr_opportunistic *o, struct orr_txn *txn,
                                         uint32_t job, uint32_t checkpoint)
{
    bool waits = false;
    for (uint32_t i = o->kept; i < o->seat_count; i++) {
        waits = waits || o->seats[i].waits;
    }
    if (!waits) {
        orr_opportunistic_begin(o);
        return ORR_REASON_NONE;
    }
    orr_txn_rollback(txn, checkpoint);
    o->kept = o->seat_count;
    for (uint32_t i = 0; i < o->victim_count; i++) {
        (void)orr_txn_evict_for(txn, o->victims[i], ORR_CAUSE_PREEMPT, job);
    }
    orr_opportunistic_look(o);
    return ORR_REASON_PIPELINED;
}

bool orr_opportunistic_waits(const struct orr_opportunistic *o)
{
    return o->kept > 0;
}

/* Is the job one that could still take its seats? */
static bool is_of_use(const struct orr_opportunistic *o, const struct seat *seat)
{
    const uint8_t phase = o->ledger->jobs[seat->job].phase;
    const bool grows = o->ledger->world.specs[seat->job].scales && phase == ORR_JOB_RUNNING &&
                       orr_ledger_next_tasks(o->ledger, seat->job) > 0;
    return phase == ORR_JOB_PENDING || grows;
}

void orr_opportunistic_new_cycle(struct orr_opportunistic *o)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < o->kept; i++) {
        o->seats[left] = o->seats[i];
        left += is_of_use(o, &o->seats[i]);
    }
    o->kept = left;
    orr_opportunistic_begin(o);
}
