/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_oracle.h"

#include <math.h>
#include <string.h>

static const struct orr_node_type *type_of(const struct oracle *o, uint32_t node)
{
    return &o->world->cluster.types[o->world->cluster.nodes[node].type];
}

static const struct orr_shape *shape_of(const struct oracle *o, uint32_t job)
{
    return &o->world->shapes.shapes[o->world->specs[job].shape];
}

static const struct orr_request *request_of(const struct oracle *o, uint32_t job, uint32_t group)
{
    return &shape_of(o, job)->groups[group].request;
}

static size_t device_count(const struct oracle *o)
{
    return (size_t)o->world->cluster.node_count * o->world->cluster.max_gpus;
}

void oracle_open(struct oracle *o, const struct core_world *world)
{
    *o = (struct oracle){.world = world};
    o->device = orr_zalloc(device_count(o), sizeof *o->device);
    o->jobs = orr_zalloc(world->job_count, sizeof *o->jobs);
}

void oracle_close(struct oracle *o)
{
    orr_free(o->device);
    orr_free(o->jobs);
    orr_free(o->claims);
    *o = (struct oracle){0};
}

void oracle_copy(struct oracle *to, const struct oracle *from)
{
    *to = *from;
    to->device = orr_alloc(device_count(from), sizeof *to->device);
    memcpy(to->device, from->device, device_count(from) * sizeof *to->device);
    to->jobs = orr_alloc(from->world->job_count, sizeof *to->jobs);
    memcpy(to->jobs, from->jobs, from->world->job_count * sizeof *to->jobs);
    to->claims = orr_alloc(from->claim_capacity, sizeof *to->claims);
    if (from->claim_count > 0) {
        memcpy(to->claims, from->claims, from->claim_count * sizeof *to->claims);
    }
}

static int64_t *devices_of(const struct oracle *o, uint32_t node)
{
    return o->device + (size_t)node * o->world->cluster.max_gpus;
}

static void charge(struct orr_room *room, const struct orr_request *request, uint32_t tasks,
                   int sign)
{
    room->cpu_milli += sign * request->cpu_milli * tasks;
    room->mem_bytes += sign * request->mem_bytes * tasks;
    room->pods += sign * (int32_t)tasks;
    room->mig[request->mig_profile] =
        (int16_t)(room->mig[request->mig_profile] + sign * (int)(request->instances * tasks));
}

static bool holds(const struct oracle *o, uint32_t job)
{
    return o->jobs[job].piece_count > 0 && o->jobs[job].phase != ORR_JOB_FINISHED;
}

static int64_t given_cpu(const struct oracle *o, uint32_t job, const struct oracle_piece *piece)
{
    return o->jobs[job].suspended ? piece->tasks * request_of(o, job, piece->group)->cpu_milli : 0;
}

struct orr_room oracle_idle(const struct oracle *o, uint32_t node)
{
    const struct orr_node_type *type = type_of(o, node);
    const int64_t *can = type->allocatable.v;
    struct orr_room room = {.cpu_milli = can[ORR_RES_CPU], .mem_bytes = can[ORR_RES_MEMORY]};
    room.pods = can[ORR_RES_PODS] > 1000000 ? INT32_MAX / 2 : (int32_t)can[ORR_RES_PODS];
    memcpy(room.mig, type->mig, sizeof room.mig);
    const int64_t *device = devices_of(o, node);
    if (type->gpus > 64) {
        room.gpus = (int32_t)((int64_t)type->gpus - device[0]);
    } else {
        for (uint32_t d = 0; d < type->gpus; d++) {
            room.gpus += device[d] == 0;
        }
    }
    for (uint32_t j = 0; j < o->world->job_count; j++) {
        for (uint32_t p = 0; holds(o, j) && p < o->jobs[j].piece_count; p++) {
            const struct oracle_piece *piece = &o->jobs[j].pieces[p];
            if (piece->node == node) {
                charge(&room, request_of(o, j, piece->group), piece->tasks, -1);
                room.cpu_milli += given_cpu(o, j, piece);
            }
        }
    }
    return room;
}

static int32_t whole_devices(const struct orr_request *request, uint32_t tasks)
{
    return request->gpu_ask == ORR_GPU_WHOLE ? (int32_t)(request->devices * tasks) : 0;
}

struct orr_room oracle_releasing(const struct oracle *o, uint32_t node)
{
    struct orr_room room = {0};
    for (uint32_t j = 0; j < o->world->job_count; j++) {
        for (uint32_t p = 0; p < o->jobs[j].piece_count; p++) {
            const struct oracle_piece *piece = &o->jobs[j].pieces[p];
            if (piece->leaving && piece->node == node) {
                const struct orr_request *request = request_of(o, j, piece->group);
                charge(&room, request, piece->tasks, 1);
                room.cpu_milli -= given_cpu(o, j, piece);
                room.gpus += whole_devices(request, piece->tasks);
            }
        }
    }
    for (uint32_t c = 0; c < o->claim_count; c++) {
        if (o->claims[c].node == node) {
            const struct orr_request *request = request_of(o, o->claims[c].job, o->claims[c].group);
            charge(&room, request, o->claims[c].tasks, -1);
            room.gpus -= whole_devices(request, o->claims[c].tasks);
        }
    }
    return room;
}

uint64_t oracle_free_mask(const struct oracle *o, uint32_t node)
{
    uint64_t mask = 0;
    for (uint32_t d = 0; d < type_of(o, node)->gpus && type_of(o, node)->gpus <= 64; d++) {
        mask |= (uint64_t)(devices_of(o, node)[d] == 0) << d;
    }
    return mask;
}

/* MiB of a device, cut to hundreds. */
static int64_t memory_of(const struct orr_node_type *type)
{
    return type->gpu_memory_mib - type->gpu_memory_mib % 100;
}

/* milli-GPU of one device: memory is cut to thousandths, the least is one. */
static int64_t portion_on(const struct orr_node_type *type, const struct orr_request *request)
{
    switch ((enum orr_gpu_ask)request->gpu_ask) {
    case ORR_GPU_NONE: return 0;
    case ORR_GPU_WHOLE: return 1000;
    case ORR_GPU_FRACTION: return request->portion;
    case ORR_GPU_MEMORY: break;
    }
    int64_t memory = memory_of(type), thousandths = 1;
    if (request->portion > memory) {
        return 1001;
    }
    while ((thousandths + 1) * memory <= request->portion * 1000) {
        thousandths++;
    }
    return thousandths;
}

int64_t oracle_device_units(const struct orr_node_type *type)
{
    return memory_of(type) > 0 ? 1000 * memory_of(type) : 1000;
}

/* What it takes of a device: neither fractions nor memory are cut. */
static int64_t units_on(const struct orr_node_type *type, const struct orr_request *request)
{
    const int64_t units = oracle_device_units(type), least = units / 1000;
    if (request->gpu_ask != ORR_GPU_MEMORY) {
        return portion_on(type, request) * least;
    }
    return memory_of(type) == 0              ? units + 1
           : request->portion * 1000 > least ? request->portion * 1000
                                             : least;
}

int64_t oracle_task_mgpu(const struct oracle *o, const struct orr_request *request, uint32_t node)
{
    return portion_on(type_of(o, node), request) * request->devices +
           request->instances * o->world->cluster.mig_mgpu[request->mig_profile];
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static uint32_t shared_with_room(const struct oracle *o, uint32_t node, int64_t units)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < type_of(o, node)->gpus; d++) {
        const int64_t used = devices_of(o, node)[d];
        count += used > 0 && used + units <= oracle_device_units(type_of(o, node));
    }
    return count;
}

static bool sharing(const struct orr_request *request)
{
    return request->gpu_ask == ORR_GPU_FRACTION || request->gpu_ask == ORR_GPU_MEMORY;
}

static bool lacks_instances(const struct orr_room *left, const struct orr_request *request)
{
    return request->instances > 0 && left->mig[request->mig_profile] < 0;
}

static bool lacks_with(const struct orr_room *left, const struct orr_room *going,
                       const struct orr_request *request)
{
    const uint16_t profile = request->mig_profile;
    return request->instances > 0 && left->mig[profile] + going->mig[profile] < 0;
}

/* Fits when it leaves idle room at zero or above, and claims of pipelined tasks covered. */
bool oracle_fits(const struct oracle *o, uint32_t node, const struct orr_request *request,
                 uint32_t tasks)
{
    const struct orr_node_type *type = type_of(o, node);
    if (request->gpu_model != ORR_NONE && request->gpu_model != type->gpu_model) {
        return false;
    }
    struct orr_room idle = oracle_idle(o, node), going = oracle_releasing(o, node);
    int32_t fresh = least(idle.gpus, idle.gpus + going.gpus);
    charge(&idle, request, tasks, -1);
    if (idle.cpu_milli < 0 || idle.mem_bytes < 0 || idle.pods < 0 ||
        (idle.cpu_milli + going.cpu_milli < 0 && request->cpu_milli > 0) ||
        (idle.mem_bytes + going.mem_bytes < 0 && request->mem_bytes > 0) ||
        idle.pods + going.pods < 0 || lacks_instances(&idle, request) ||
        (going.mig[request->mig_profile] < 0 && lacks_with(&idle, &going, request))) {
        return false;
    }
    if (!sharing(request)) {
        return whole_devices(request, tasks) <= (fresh > 0 ? fresh : 0);
    }
    const int64_t units = units_on(type, request);
    return tasks == 1 && type->gpus <= 64 && units >= 1 && units <= oracle_device_units(type) &&
           shared_with_room(o, node, units) + (uint32_t)(fresh > 0 ? fresh : 0) >= request->devices;
}

/* Lowest index inside the NVLink domain with the fewest free devices that has enough. */
static uint64_t take_whole(struct oracle *o, uint32_t node, uint32_t count)
{
    const struct orr_node_type *type = type_of(o, node);
    int64_t *device = devices_of(o, node);
    uint32_t size = type->nvlink_domain == 0 ? type->gpus : type->nvlink_domain;
    uint32_t first = 0, end = type->gpus, fewest = ORR_NONE;
    for (uint32_t at = 0; at < type->gpus; at += size) {
        uint32_t have = 0, stop = at + size < type->gpus ? at + size : type->gpus;
        for (uint32_t d = at; d < stop; d++) {
            have += device[d] == 0;
        }
        if (have >= count && have < fewest) {
            fewest = have;
            first = at;
            end = stop;
        }
    }
    uint64_t mask = 0;
    for (uint32_t d = first; d < end && count > 0; d++) {
        if (device[d] == 0) {
            device[d] = WHOLE;
            mask |= (uint64_t)1 << d;
            count--;
        }
    }
    return mask;
}

static uint64_t take_shared(struct oracle *o, uint32_t node, uint32_t count, int64_t units)
{
    int64_t *device = devices_of(o, node);
    uint64_t mask = 0;
    for (; count > 0; count--) {
        uint32_t pick = ORR_NONE;
        for (uint32_t d = 0; d < type_of(o, node)->gpus; d++) {
            const bool fits =
                (mask >> d & 1) == 0 && device[d] + units <= oracle_device_units(type_of(o, node));
            pick = fits && (pick == ORR_NONE || device[d] > device[pick]) ? d : pick;
        }
        mask |= (uint64_t)1 << pick;
        /* charged below, so that no device is taken twice */
    }
    for (uint32_t d = 0; d < type_of(o, node)->gpus; d++) {
        device[d] += (mask >> d & 1) != 0 ? units : 0;
    }
    return mask;
}

static uint32_t left_of_group(const struct oracle *o, uint32_t job, uint32_t group)
{
    uint32_t left = shape_of(o, job)->groups[group].count;
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        left -= o->jobs[job].pieces[p].group == group ? o->jobs[job].pieces[p].tasks : 0;
    }
    return left;
}

static bool sensible(const struct oracle *o, uint32_t job, uint32_t group, uint32_t tasks,
                     uint32_t node)
{
    return job < o->world->job_count &&
           (o->jobs[job].phase == ORR_JOB_PENDING || o->jobs[job].phase == ORR_JOB_RUNNING) &&
           !o->jobs[job].suspended && node < o->world->cluster.node_count &&
           group < shape_of(o, job)->group_count && tasks > 0 &&
           tasks <= left_of_group(o, job, group);
}

bool oracle_place(struct oracle *o, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node)
{
    if (!sensible(o, job, group, tasks, node) ||
        !oracle_fits(o, node, request_of(o, job, group), tasks)) {
        return false;
    }
    const struct orr_request *request = request_of(o, job, group);
    struct oracle_piece piece = {.node = node, .group = group, .tasks = tasks};
    uint32_t whole = (uint32_t)whole_devices(request, tasks);
    if (type_of(o, node)->gpus > 64) {
        devices_of(o, node)[0] += (int32_t)whole;
    } else if (sharing(request)) {
        piece.devices = take_shared(o, node, request->devices, units_on(type_of(o, node), request));
    } else if (whole > 0) {
        piece.devices = take_whole(o, node, whole);
    }
    ORR_ASSERT(o->jobs[job].piece_count < ORACLE_PIECES);
    o->jobs[job].pieces[o->jobs[job].piece_count++] = piece;
    o->jobs[job].placed = true;
    return true;
}

bool oracle_pipeline(struct oracle *o, uint32_t job, uint32_t group, uint32_t tasks, uint32_t node)
{
    if (!sensible(o, job, group, tasks, node)) {
        return false;
    }
    const struct orr_request *request = request_of(o, job, group);
    const struct orr_node_type *type = type_of(o, node);
    struct orr_room room = oracle_idle(o, node), going = oracle_releasing(o, node);
    charge(&room, request, tasks, -1);
    if ((request->gpu_model != ORR_NONE && request->gpu_model != type->gpu_model) ||
        room.cpu_milli + going.cpu_milli < 0 || room.mem_bytes + going.mem_bytes < 0 ||
        room.pods + going.pods < 0 || room.gpus + going.gpus < whole_devices(request, tasks) ||
        lacks_with(&room, &going, request)) {
        return false;
    }
    o->claims = ORR_ROOM_FOR_ONE(o->claims, o->claim_count, o->claim_capacity);
    o->claims[o->claim_count++] =
        (struct oracle_claim){.job = job, .group = group, .tasks = tasks, .node = node};
    return true;
}

/* Does it run, with nothing of it leaving? */
static bool runs_whole(const struct oracle *o, uint32_t job)
{
    bool whole = o->jobs[job].phase == ORR_JOB_RUNNING;
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        whole = whole && !o->jobs[job].pieces[p].leaving;
    }
    return whole;
}

bool oracle_suspend(struct oracle *o, uint32_t job)
{
    const bool can = runs_whole(o, job) && !o->jobs[job].suspended;
    o->jobs[job].suspended = o->jobs[job].suspended || can;
    return can;
}

bool oracle_resume(struct oracle *o, uint32_t job)
{
    if (!runs_whole(o, job) || !o->jobs[job].suspended) {
        return false;
    }
    o->jobs[job].suspended = false;
    bool fits = true;
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        const uint32_t node = o->jobs[job].pieces[p].node;
        const int64_t claimed = oracle_releasing(o, node).cpu_milli;
        fits = fits && oracle_idle(o, node).cpu_milli + (claimed < 0 ? claimed : 0) >= 0;
    }
    o->jobs[job].suspended = !fits;
    return fits;
}

void oracle_free(struct oracle *o, uint32_t job, uint8_t phase)
{
    uint32_t kept = 0;
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        const struct oracle_piece *piece = &o->jobs[job].pieces[p];
        if (phase != ORR_JOB_FINISHED && !piece->leaving) {
            o->jobs[job].pieces[kept++] = *piece;
            continue;
        }
        const struct orr_request *request = request_of(o, job, piece->group);
        const struct orr_node_type *type = type_of(o, piece->node);
        int64_t *device = devices_of(o, piece->node);
        if (type->gpus > 64) {
            device[0] -= whole_devices(request, piece->tasks);
        }
        for (uint32_t d = 0; d < type->gpus && type->gpus <= 64; d++) {
            if ((piece->devices >> d & 1) != 0) {
                device[d] -= sharing(request) ? units_on(type, request) : WHOLE;
            }
        }
    }
    o->jobs[job].piece_count = kept;
    o->jobs[job].suspended = false;
    o->jobs[job].phase = phase;
}

bool oracle_evict_tasks(struct oracle *o, uint32_t job, uint32_t piece, uint32_t tasks)
{
    struct oracle_job *truth = &o->jobs[job];
    struct oracle_piece *from = &truth->pieces[piece];
    if (tasks == 0 || tasks > from->tasks || from->leaving) {
        return false;
    }
    if (tasks == from->tasks) {
        from->leaving = true;
        return true;
    }
    struct oracle_piece part = *from;
    uint32_t devices = request_of(o, job, from->group)->devices * (from->tasks - tasks);
    from->devices = 0;
    for (uint32_t d = 0; d < 64; d++) { /* the lowest stay */
        if ((part.devices >> d & 1) != 0 && devices > 0) {
            from->devices |= (uint64_t)1 << d;
            devices--;
        }
    }
    part.devices &= ~from->devices;
    part.tasks = tasks;
    part.leaving = true;
    from->tasks -= tasks;
    ORR_ASSERT(truth->piece_count < ORACLE_PIECES);
    truth->pieces[truth->piece_count++] = part;
    return true;
}

void oracle_evict(struct oracle *o, uint32_t job)
{
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        o->jobs[job].pieces[p].leaving = true;
    }
    o->jobs[job].phase = ORR_JOB_RELEASING;
}

uint32_t oracle_room_for(const struct oracle *o, uint32_t node, const struct orr_request *request)
{
    uint32_t tasks = 0;
    while (tasks < 400 && oracle_fits(o, node, request, tasks + 1)) {
        tasks++;
    }
    return tasks;
}

static bool shares_already(const struct oracle *o, uint32_t node, const struct orr_request *request)
{
    const struct orr_node_type *type = type_of(o, node);
    return type->gpus <= 64 &&
           shared_with_room(o, node, units_on(type, request)) >= request->devices;
}

/* Of what the request counts in. */
static int32_t idle_units(const struct oracle *o, uint32_t node, const struct orr_request *request)
{
    const struct orr_room idle = oracle_idle(o, node);
    return request->instances > 0 ? idle.mig[request->mig_profile] : idle.gpus;
}

uint32_t oracle_best_fit(const struct oracle *o, const struct orr_request *request, uint32_t tasks)
{
    uint32_t best = ORR_NONE;
    int32_t fewest = INT32_MAX;
    uint32_t nodes = o->world->cluster.node_count;
    for (uint32_t n = 0; n < nodes && sharing(request); n++) {
        if (shares_already(o, n, request) && oracle_fits(o, n, request, tasks)) {
            return n;
        }
    }
    for (uint32_t n = 0; n < nodes; n++) {
        int32_t idle = idle_units(o, n, request);
        if (idle < fewest && oracle_fits(o, n, request, tasks)) {
            best = n;
            fewest = idle;
        }
    }
    return best;
}

uint32_t oracle_most_idle(const struct oracle *o, const struct orr_request *request)
{
    uint32_t best = ORR_NONE;
    int32_t most = -1;
    for (uint32_t n = 0; n < o->world->cluster.node_count; n++) {
        int32_t idle = idle_units(o, n, request);
        if (idle > most && oracle_fits(o, n, request, 1)) {
            best = n;
            most = idle;
        }
    }
    return best;
}

uint32_t oracle_placed(const struct oracle *o, uint32_t job)
{
    uint32_t tasks = 0;
    for (uint32_t p = 0; p < o->jobs[job].piece_count; p++) {
        tasks += o->jobs[job].pieces[p].leaving ? 0 : o->jobs[job].pieces[p].tasks;
    }
    return tasks;
}

static bool is_below(const struct oracle *o, uint32_t queue, uint32_t top)
{
    for (; queue != ORR_NONE; queue = o->world->queues.queues[queue].parent) {
        if (queue == top) {
            return true;
        }
    }
    return false;
}

struct orr_queue_use oracle_use(const struct oracle *o, uint32_t queue)
{
    struct orr_queue_use use = {0};
    for (uint32_t j = 0; j < o->world->job_count; j++) {
        const struct oracle_job *job = &o->jobs[j];
        if (!is_below(o, o->world->specs[j].queue, queue)) {
            continue;
        }
        for (uint32_t p = 0; p < job->piece_count; p++) {
            const struct oracle_piece *piece = &job->pieces[p];
            const struct orr_request *request = request_of(o, j, piece->group);
            if (request->instances > 0) {
                use.held_mig_mgpu += piece->tasks * oracle_task_mgpu(o, request, piece->node);
            }
            if (piece->leaving) {
                use.leaving_mgpu += piece->tasks * oracle_task_mgpu(o, request, piece->node);
                continue;
            }
            use.allocated[0] += piece->tasks * request->cpu_milli;
            use.allocated[1] += piece->tasks * request->mem_bytes;
            int64_t task_mgpu = oracle_task_mgpu(o, request, piece->node);
            use.allocated[2] += piece->tasks * task_mgpu;
            if (request->gpu_ask == ORR_GPU_FRACTION || request->gpu_ask == ORR_GPU_MEMORY) {
                use.unmetered_mgpu += piece->tasks * (task_mgpu - task_mgpu / request->devices);
            }
            use.unmetered_mgpu += request->instances > 0 ? piece->tasks * task_mgpu : 0;
            if (sharing(request)) {
                const double part =
                    (double)request->portion / (double)memory_of(type_of(o, piece->node));
                const int64_t hundredths = request->gpu_ask == ORR_GPU_FRACTION
                                               ? lround((double)request->portion / 10.0)
                                               : (int64_t)ceil(100 * part);
                use.rounding_mgpu +=
                    piece->tasks * (hundredths * 10 * request->devices - task_mgpu);
            }
        }
        const struct orr_shape *shape = shape_of(o, j);
        for (uint32_t g = 0; job->phase == ORR_JOB_PENDING && g < shape->group_count; g++) {
            const struct orr_request *request = &shape->groups[g].request;
            int64_t portion = request->gpu_ask == ORR_GPU_WHOLE      ? 1000
                              : request->gpu_ask == ORR_GPU_FRACTION ? request->portion
                                                                     : 0;
            use.pending[0] += shape->groups[g].count * request->cpu_milli;
            use.pending[1] += shape->groups[g].count * request->mem_bytes;
            use.pending[2] += shape->groups[g].count * portion * request->devices;
            use.pending[2] += shape->groups[g].count * request->instances *
                              o->world->cluster.mig_mgpu[request->mig_profile];
        }
    }
    return use;
}
