/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_rate.c - how fast a job runs where it is: its profile on its layout, its links, its
 * neighbours on shared devices.
 *
 * Who shares a link or a device with whom changes when jobs come and go; the jobs whose rate this
 * changes are collected and reported once an instant. */
#include "exec_int.h"

#include <orrery/base/sort.h>

struct device_use { /* of a device that time-sliced tasks share */
    uint32_t *jobs;
    uint32_t count, capacity;
    int64_t busy_ppm;
};

struct own_devices { /* of one job */
    size_t *devices;
    uint32_t count, capacity;
};

struct known_best { /* of an all-reduce, see best_of */
    uint32_t profile, type, gpus;
    int64_t best_ppm;
};

struct orr_exec_rates {
    struct orr_exec_setting setting;
    struct orr_link_sharers *sharers; /* NULL: links are not shared */
    struct device_use *uses;          /* per node and device; NULL: neighbours do not matter */
    struct own_devices *own;          /* per job, with uses */
    uint32_t *touched;                /* jobs whose neighbours changed */
    uint32_t touched_count, touched_capacity;
    struct orr_node_part *parts; /* scratch */
    uint32_t part_count, part_capacity;
    struct known_best *bests;
    uint32_t best_count, best_capacity;
};

static const struct orr_profile *profile_of(const struct orr_exec *exec, uint32_t job)
{
    uint32_t profile = orr_exec__terms(exec, job)->profile;
    return profile == ORR_NONE ? NULL : &exec->rates->setting.profiles->items[profile];
}

struct orr_exec_rates *orr_exec__rates_open(const struct orr_ledger *ledger,
                                            const struct orr_exec_setting *setting)
{
    struct orr_exec_rates *rates = orr_zalloc(1, sizeof *rates);
    rates->setting = *setting;
    bool sends = false;
    for (uint32_t p = 0; setting->profiles != NULL && p < setting->profiles->count; p++) {
        sends = sends || setting->profiles->items[p].kind == ORR_PROFILE_ALLREDUCE;
    }
    if (sends && setting->contention) {
        rates->sharers = orr_link_sharers_open(setting->fabric, ledger->world.job_count);
    }
    if (setting->time_sliced) {
        const struct orr_cluster *cluster = ledger->world.cluster;
        rates->uses =
            orr_zalloc((size_t)cluster->node_count * cluster->max_gpus, sizeof *rates->uses);
        rates->own = orr_zalloc(ledger->world.job_count, sizeof *rates->own);
    }
    return rates;
}

void orr_exec__rates_close(struct orr_exec_rates *rates, const struct orr_ledger *ledger)
{
    const struct orr_cluster *cluster = ledger->world.cluster;
    for (size_t d = 0; rates->uses != NULL && d < (size_t)cluster->node_count * cluster->max_gpus;
         d++) {
        orr_free(rates->uses[d].jobs);
    }
    for (uint32_t j = 0; rates->own != NULL && j < ledger->world.job_count; j++) {
        orr_free(rates->own[j].devices);
    }
    if (rates->sharers != NULL) {
        orr_link_sharers_close(rates->sharers);
    }
    orr_free(rates->uses);
    orr_free(rates->own);
    orr_free(rates->touched);
    orr_free(rates->parts);
    orr_free(rates->bests);
    orr_free(rates);
}

/* --- layouts --- */

/* What the job works on, node by node; lives until the next call. */
static struct orr_layout layout_of(struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_ledger *ledger = exec->ledger;
    const struct orr_shape *shape = orr_exec__shape(exec, job);
    rates->part_count = 0;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const uint32_t each = orr_placement_each(placement);
        const uint32_t nodes = orr_exec__works_on(exec, placement) ? placement->more_nodes + 1u : 0;
        for (uint32_t n = nodes; n-- > 0;) {
            rates->parts = ORR_ROOM_FOR_ONE(rates->parts, rates->part_count, rates->part_capacity);
            rates->parts[rates->part_count++] = (struct orr_node_part){
                .node = placement->node + n,
                .gpus = shape->groups[placement->group].request.devices * each,
                .workers = each,
                .devices = placement->devices};
        }
    }
    return orr_layout_of_parts(rates->parts, rates->part_count);
}

/* Devices in more NUMA zones of a node than so many need. */
static bool misaligned(const struct orr_cluster *cluster, const struct orr_layout *layout)
{
    for (uint32_t i = 0; i < layout->span_count; i++) {
        const struct orr_node_part *part = &layout->spans[i];
        const struct orr_node_type *type = orr_cluster_type(cluster, part->node);
        uint32_t zones = type->numa_zones, size = zones > 0 ? type->gpus / zones : 0;
        if (zones < 2 || size == 0 || part->devices == 0) {
            continue;
        }
        uint32_t touched = 0;
        for (uint32_t z = 0; z < zones; z++) {
            uint64_t zone = (((uint64_t)1 << size) - 1) << (z * size);
            touched += (part->devices & zone) != 0;
        }
        if (touched > (part->gpus + size - 1) / size) {
            return true;
        }
    }
    return false;
}

/* --- neighbours on devices --- */

static void touch(struct orr_exec_rates *rates, uint32_t job)
{
    rates->touched =
        ORR_ROOM_FOR_ONE(rates->touched, rates->touched_count, rates->touched_capacity);
    rates->touched[rates->touched_count++] = job;
}

static void leave_devices(struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_rates *rates = exec->rates;
    struct own_devices *own = &rates->own[job];
    for (uint32_t i = 0; i < own->count; i++) {
        struct device_use *use = &rates->uses[own->devices[i]];
        uint32_t at = 0;
        while (use->jobs[at] != job) {
            at++;
        }
        use->jobs[at] = use->jobs[--use->count];
        use->busy_ppm -= orr_exec__terms(exec, job)->busy_ppm;
        for (uint32_t k = 0; k < use->count; k++) {
            touch(rates, use->jobs[k]);
        }
    }
    own->count = 0;
}

static void join_device(struct orr_exec *exec, uint32_t job, size_t device)
{
    struct orr_exec_rates *rates = exec->rates;
    struct own_devices *own = &rates->own[job];
    struct device_use *use = &rates->uses[device];
    for (uint32_t k = 0; k < use->count; k++) {
        touch(rates, use->jobs[k]);
    }
    use->jobs = ORR_ROOM_FOR_ONE(use->jobs, use->count, use->capacity);
    use->jobs[use->count++] = job;
    use->busy_ppm += orr_exec__terms(exec, job)->busy_ppm;
    own->devices = ORR_ROOM_FOR_ONE(own->devices, own->count, own->capacity);
    own->devices[own->count++] = device;
}

static void join_devices(struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger *ledger = exec->ledger;
    for (uint32_t p = ledger->jobs[job].placement; p != ORR_NONE; p = ledger->placements[p].next) {
        const struct orr_placement *placement = &ledger->placements[p];
        const uint32_t nodes = orr_exec__works_on(exec, placement) ? placement->more_nodes + 1u : 0;
        for (uint32_t n = nodes; n-- > 0;) {
            size_t first = (size_t)(placement->node + n) * ledger->world.cluster->max_gpus;
            for (uint64_t rest = placement->devices; rest != 0; rest &= rest - 1) {
                join_device(exec, job, first + (uint32_t)__builtin_ctzll(rest));
            }
        }
    }
}

/* What tasks of the job itself use of a device. */
static int64_t own_busy_ppm(const struct orr_exec *exec, uint32_t job, const struct device_use *use)
{
    uint32_t tasks = 0;
    for (uint32_t k = 0; k < use->count; k++) {
        tasks += use->jobs[k] == job;
    }
    return tasks * orr_exec__terms(exec, job)->busy_ppm;
}

/* Its worst device gives it 1 / max(1, sum of what all on it use) of what it would get alone;
 * `alone`: all of its own tasks. */
static int64_t sliced(const struct orr_exec *exec, uint32_t job, int64_t rate_ppm, bool alone)
{
    const struct orr_exec_rates *rates = exec->rates;
    int64_t worst = ORR_PPM;
    for (uint32_t i = 0; i < rates->own[job].count; i++) {
        const struct device_use *use = &rates->uses[rates->own[job].devices[i]];
        int64_t busy = alone ? own_busy_ppm(exec, job, use) : use->busy_ppm;
        worst = busy > worst ? busy : worst;
    }
    int64_t rate = rate_ppm < INT64_MAX / ORR_PPM ? rate_ppm * ORR_PPM / worst : rate_ppm;
    return rate > 0 ? rate : 1;
}

/* --- rates --- */

/* orr_profile_best_ppm of an all-reduce depends on the profile, the type of node and the number of
 * GPUs alone, and takes a cluster of its own to work out. */
static int64_t best_of(struct orr_exec *exec, uint32_t job, const struct orr_profile *profile,
                       const struct orr_placed *placed)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_fabric *fabric = rates->setting.fabric;
    const struct orr_layout *layout = placed->layout;
    uint32_t type = layout->span_count > 0 ? fabric->cluster->nodes[layout->spans[0].node].type : 0;
    bool alike = profile->kind == ORR_PROFILE_ALLREDUCE;
    for (uint32_t i = 1; i < layout->span_count; i++) {
        alike = alike && fabric->cluster->nodes[layout->spans[i].node].type == type;
    }
    struct known_best key = {orr_exec__terms(exec, job)->profile, type, layout->gpus, 0};
    for (uint32_t i = 0; alike && i < rates->best_count; i++) {
        const struct known_best *it = &rates->bests[i];
        if (it->profile == key.profile && it->type == key.type && it->gpus == key.gpus) {
            return it->best_ppm;
        }
    }
    key.best_ppm = orr_profile_best_ppm(profile, fabric, placed);
    if (alike) {
        rates->bests = ORR_ROOM_FOR_ONE(rates->bests, rates->best_count, rates->best_capacity);
        rates->bests[rates->best_count++] = key;
    }
    return key.best_ppm;
}

struct orr_speed orr_exec__speed(struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_profile *profile = profile_of(exec, job);
    struct orr_speed speed = {ORR_PPM, ORR_PPM, ORR_PPM, ORR_EXTENT_GPU};
    if ((profile == NULL && rates->uses == NULL) || orr_exec__terms(exec, job)->session) {
        return speed;
    }
    struct orr_layout layout = layout_of(exec, job);
    speed.extent = orr_layout_extent(rates->setting.fabric, &layout);
    if (profile != NULL) {
        struct orr_placed placed = {.layout = &layout,
                                    .full_workers = orr_exec__shape(exec, job)->tasks,
                                    .slowdown_ppm =
                                        rates->sharers == NULL
                                            ? ORR_PPM
                                            : orr_link_sharers_slowdown_ppm(rates->sharers, job),
                                    .misaligned = profile->misaligned_ppm > 0 &&
                                                  misaligned(exec->ledger->world.cluster, &layout)};
        speed.rate_ppm = orr_profile_rate_ppm(profile, rates->setting.fabric, &placed);
        speed.best_ppm = best_of(exec, job, profile, &placed);
        speed.own_ppm = speed.rate_ppm;
        if (placed.slowdown_ppm != ORR_PPM) {
            placed.slowdown_ppm = ORR_PPM;
            speed.own_ppm = orr_profile_rate_ppm(profile, rates->setting.fabric, &placed);
        }
    }
    if (rates->uses != NULL) {
        speed.own_ppm = sliced(exec, job, speed.own_ppm, true);
        speed.rate_ppm = sliced(exec, job, speed.rate_ppm, false);
    }
    /* a GPU model without a figure: as good as no progress */
    speed.rate_ppm = speed.rate_ppm > 0 ? speed.rate_ppm : 1;
    speed.own_ppm = speed.own_ppm > 0 ? speed.own_ppm : 1;
    speed.best_ppm = speed.best_ppm > 0 ? speed.best_ppm : ORR_PPM;
    return speed;
}

struct orr_pace orr_exec__pace(struct orr_exec *exec, uint32_t job, struct orr_pace *best,
                               int64_t *share_ppm)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_profile *profile = profile_of(exec, job);
    struct orr_layout layout = layout_of(exec, job);
    struct orr_placed placed = {.layout = &layout, .slowdown_ppm = ORR_PPM};
    bool crooked = profile->misaligned_ppm > 0 && misaligned(exec->ledger->world.cluster, &layout);
    *share_ppm = crooked ? profile->misaligned_ppm : ORR_PPM;
    *share_ppm = rates->uses == NULL ? *share_ppm : sliced(exec, job, *share_ppm, false);
    *best = orr_profile_best_pace(profile, rates->setting.fabric, &placed);
    return orr_profile_pace(profile, rates->setting.fabric, &placed);
}

int64_t orr_exec_rate_at(struct orr_exec *exec, uint32_t job, const struct orr_seat *seats,
                         uint32_t count)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_profile *profile = profile_of(exec, job);
    const struct orr_shape *shape = orr_exec__shape(exec, job);
    if (profile == NULL) {
        return ORR_PPM;
    }
    rates->part_count = 0;
    for (uint32_t s = 0; s < count; s++) {
        rates->parts = ORR_ROOM_FOR_ONE(rates->parts, rates->part_count, rates->part_capacity);
        rates->parts[rates->part_count++] = (struct orr_node_part){
            .node = seats[s].node,
            .gpus = shape->groups[seats[s].group].request.devices * seats[s].tasks,
            .workers = seats[s].tasks};
    }
    const struct orr_layout layout = orr_layout_of_parts(rates->parts, rates->part_count);
    const struct orr_placed placed = {
        .layout = &layout, .full_workers = shape->tasks, .slowdown_ppm = ORR_PPM};
    return orr_exec__has_epochs(exec, job)
               ? orr_exec__epochs_rate_at(exec, job, orr_exec__done(exec, job),
                                          orr_profile_pace(profile, rates->setting.fabric, &placed))
               : orr_profile_rate_ppm(profile, rates->setting.fabric, &placed);
}

void orr_exec__leave(struct orr_exec *exec, uint32_t job)
{
    if (exec->rates->sharers != NULL) {
        orr_link_sharers_leave(exec->rates->sharers, job);
    }
    if (exec->rates->uses != NULL) {
        leave_devices(exec, job);
    }
}

void orr_exec__join(struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_rates *rates = exec->rates;
    const struct orr_profile *profile = profile_of(exec, job);
    if (rates->sharers != NULL && profile != NULL && profile->kind == ORR_PROFILE_ALLREDUCE) {
        struct orr_layout layout = layout_of(exec, job);
        struct orr_placed placed = {.layout = &layout, .slowdown_ppm = ORR_PPM};
        uint32_t room =
            orr_fabric_uses(rates->setting.fabric, profile->algorithm, &layout, NULL, 0);
        struct orr_link_use *uses = orr_alloc((size_t)room + 1, sizeof *uses);
        uint32_t count =
            orr_fabric_uses(rates->setting.fabric, profile->algorithm, &layout, uses, room);
        orr_link_sharers_join(rates->sharers, job, uses, count,
                              orr_profile_bytes_s(profile, rates->setting.fabric, &placed));
        orr_free(uses);
    }
    if (rates->uses != NULL) {
        join_devices(exec, job);
    }
}

static int by_job(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    (void)context;
    return x < y ? -1 : x > y;
}

const uint32_t *orr_exec_affected(struct orr_exec *exec, uint32_t *count)
{
    struct orr_exec_rates *rates = exec->rates;
    if (rates->sharers != NULL) {
        uint32_t changed;
        const uint32_t *jobs = orr_link_sharers_settle(rates->sharers, &changed);
        for (uint32_t i = 0; i < changed; i++) {
            touch(rates, jobs[i]);
        }
    }
    uint32_t kept = 0;
    orr_sort(rates->touched, rates->touched_count, sizeof *rates->touched, by_job, NULL);
    for (uint32_t i = 0; i < rates->touched_count; i++) {
        if (kept == 0 || rates->touched[kept - 1] != rates->touched[i]) {
            rates->touched[kept++] = rates->touched[i];
        }
    }
    *count = kept;
    rates->touched_count = 0;
    return rates->touched;
}
