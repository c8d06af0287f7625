/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_job.c - one row of a trace as one job of the core: gang, queue, times. */
#include "replay_int.h"

#include <string.h>

#include <orrery/core/place.h>

/* The job's total GPUs as pods: whole pods of `size` and, if any, one of the remainder. */
static uint32_t split_gpus(uint32_t gpus, uint32_t size,
                           struct orr_task_group groups[ORR_REPLAY_GROUPS])
{
    uint32_t whole = gpus / size, rest = gpus % size, count = 0;
    struct orr_request request = {.gpu_ask = ORR_GPU_WHOLE, .gpu_model = ORR_NONE};
    if (whole > 0) {
        request.devices = size;
        groups[count++] = (struct orr_task_group){.request = request, .count = whole};
    }
    if (rest > 0) {
        request.devices = rest;
        groups[count++] = (struct orr_task_group){.request = request, .count = 1};
    }
    return count;
}

/* Devices of the largest node of a shard. */
static uint32_t largest_node(const struct orr_cluster *cluster, uint32_t shard)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct orr_node_type *type = &cluster->types[t];
        bool larger = type->shard == shard && type->nodes > 0 && type->gpus > most;
        most = larger ? type->gpus : most;
    }
    return most;
}

static uint32_t split_size(const struct orr_world *world, const struct orr_scenario_part *part,
                           uint32_t shard)
{
    switch (part->split) {
    case ORR_SPLIT_ONE: return 1;
    case ORR_SPLIT_SIZE: return part->split_size;
    case ORR_SPLIT_NODE: break;
    }
    return largest_node(&world->cluster, shard);
}

static bool reject(struct orr_world *world, uint32_t part, const struct orr_row *row,
                   const char *what, const char *name)
{
    struct orr_world_part *p = &world->parts[part];
    orr_workload_reject(&p->workload, p->part->label, row->line, "job %s: %s%s%s",
                        orr_idmap_name(&p->workload.jobs, row->job), what, name == NULL ? "" : " ",
                        name == NULL ? "" : name);
    world->rows_rejected++;
    return false;
}

static bool sharing_request(struct orr_world *world, const struct orr_row_extra *extra,
                            struct orr_request *request)
{
    (void)world;
    if (extra->gpu_fraction_milli > 0) {
        request->gpu_ask = ORR_GPU_FRACTION;
        request->portion = extra->gpu_fraction_milli;
    } else if (extra->gpu_memory_mib > 0) {
        request->gpu_ask = ORR_GPU_MEMORY;
        request->portion = extra->gpu_memory_mib;
    } else {
        return false;
    }
    request->devices = extra->gpu_devices > 0 ? (uint32_t)extra->gpu_devices : 1;
    return true;
}

/* Fills in the row from its template; *roles is the template when that has roles of its own. */
static bool use_template(struct orr_world *world, const struct orr_scenario *scenario,
                         uint32_t part, uint32_t row_index,
                         const struct orr_scenario_template **roles)
{
    struct orr_workload *workload = &world->parts[part].workload;
    struct orr_row *row = &workload->rows[row_index];
    const char *name = row->extra == 0 ? NULL : workload->extras[row->extra - 1].template_name;
    *roles = NULL;
    if (name == NULL) {
        return true;
    }
    const struct orr_scenario_template *template = orr_replay__template(scenario, name);
    if (template == NULL) {
        return reject(world, part, row, "the scenario has no template", name);
    }
    if (template->role_count > ORR_REPLAY_GROUPS) {
        return reject(world, part, row, "more than 16 roles in template", name);
    }
    orr_replay__apply_template(workload, row, template);
    *roles = template->role_count > 0 ? template : NULL;
    if (*roles != NULL && (row->pods > 0 || row->gpus_per_pod != ORR_NONE)) {
        return reject(world, part, row, "pods are stated, but its template has roles:", name);
    }
    return true;
}

static bool make_groups(struct orr_world *world, uint32_t part, const struct orr_row *row,
                        uint32_t shard, struct orr_task_group groups[ORR_REPLAY_GROUPS],
                        uint32_t *count)
{
    const struct orr_workload *workload = &world->parts[part].workload;
    const struct orr_row_extra *extra = row->extra == 0 ? NULL : &workload->extras[row->extra - 1];
    if (extra != NULL && extra->mig_profile != NULL) {
        return reject(world, part, row, "MIG profiles are not supported by this version", NULL);
    }
    if (row->pods == 0) {
        if (largest_node(&world->cluster, shard) == 0) {
            return reject(world, part, row, "asks GPUs, and the cluster has none", NULL);
        }
        *count = split_gpus(row->gpus, split_size(world, world->parts[part].part, shard), groups);
    } else {
        struct orr_request request = {.gpu_model = ORR_NONE};
        if (extra == NULL || !sharing_request(world, extra, &request)) {
            request.devices = row->gpus_per_pod == ORR_NONE ? 0 : row->gpus_per_pod;
            request.gpu_ask = request.devices > 0 ? ORR_GPU_WHOLE : ORR_GPU_NONE;
        }
        groups[0] = (struct orr_task_group){.request = request, .count = row->pods};
        *count = 1;
    }
    for (uint32_t g = 0; g < *count; g++) {
        if (extra != NULL) {
            groups[g].request.cpu_milli = extra->cpu_milli > 0 ? extra->cpu_milli : 0;
            groups[g].request.mem_bytes = extra->mem_mib > 0 ? extra->mem_mib * ORR_MIB : 0;
        }
    }
    return true;
}

/* Which nodes the tasks may be on: GPU model (one, or alternatives A|B), selector, tolerations. */
static bool constrain(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                      const struct orr_row *row, struct orr_task_group *groups, uint32_t count)
{
    static const struct orr_row_extra nothing;
    const struct orr_workload *workload = &world->parts[part].workload;
    const struct orr_row_extra *extra =
        row->extra == 0 ? &nothing : &workload->extras[row->extra - 1];
    const char *models = extra->gpu_model;
    uint32_t model = ORR_NONE;
    if (models != NULL && strchr(models, '|') == NULL) {
        model = orr_idmap_find(&world->cluster.models, models, strlen(models));
        if (model == ORR_NONE) {
            return reject(world, part, row, "no node has the GPU model", models);
        }
        models = NULL;
    }
    uint32_t selector = orr_replay__selector(nodes, models, extra->node_selector);
    uint32_t toleration = orr_replay__toleration(nodes, extra->tolerations);
    if (selector > 0 && world->cluster.filters[selector - 1].count == 0) {
        return reject(world, part, row, "no node has the labels",
                      world->cluster.filters[selector - 1].text);
    }
    for (uint32_t g = 0; g < count; g++) {
        groups[g].request.gpu_model = model;
        groups[g].request.selector = selector;
        groups[g].request.toleration = toleration;
    }
    return true;
}

/* The number of a topology level, from 1; `node` is below the last. 0: there is none of the name.
 */
static uint32_t level_number(const struct orr_cluster *cluster, const char *name)
{
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        if (strcmp(cluster->levels[l].name, name) == 0) {
            return l + 1;
        }
    }
    return strcmp(name, "node") == 0 ? cluster->level_count + 1 : 0;
}

static bool find_span(struct orr_world *world, uint32_t part, const struct orr_row *row,
                      struct orr_span *span)
{
    const struct orr_row_extra *extra =
        row->extra == 0 ? NULL : &world->parts[part].workload.extras[row->extra - 1];
    *span = (struct orr_span){0};
    if (extra == NULL) {
        return true;
    }
    const char *const names[] = {extra->topology_required, extra->topology_preferred};
    uint32_t *const levels[] = {&span->required, &span->preferred};
    for (int i = 0; i < 2; i++) {
        *levels[i] = names[i] == NULL ? 0 : level_number(&world->cluster, names[i]);
        if (names[i] != NULL && *levels[i] == 0) {
            return reject(world, part, row, "the cluster has no topology level", names[i]);
        }
    }
    if (span->required > 0 && span->preferred > 0 && span->preferred < span->required) {
        return reject(world, part, row,
                      "topology_preferred is wider than topology_required:", names[1]);
    }
    return true;
}

/* A queue is named by its unique name or by its path a/b/c, whose last part then is that name. */
static uint32_t find_queue(const struct orr_queues *queues, const char *name)
{
    uint32_t queue = orr_idmap_find(&queues->names, name, strlen(name));
    const char *last = strrchr(name, '/');
    if (queue == ORR_NONE && last != NULL) {
        queue = orr_idmap_find(&queues->names, last + 1, strlen(last + 1));
    }
    return queue;
}

static bool job_queue(struct orr_world *world, const struct orr_scenario *scenario, uint32_t part,
                      const struct orr_row *row, uint32_t *queue)
{
    const struct orr_world_part *p = &world->parts[part];
    const char *name = row->queue != ORR_NONE   ? orr_idmap_name(&p->workload.queues, row->queue)
                       : p->part->queue != NULL ? p->part->queue
                                                : "default";
    *queue = find_queue(&world->queues, name);
    if (*queue == ORR_NONE && scenario->queue_count == 0) {
        struct orr_queue fresh = orr_queue_default();
        fresh.created_ms = world->queues.count;
        *queue = orr_queues_add(&world->queues, name, ORR_NONE, &fresh);
    }
    if (*queue == ORR_NONE) {
        return reject(world, part, row, "the scenario has no queue", name);
    }
    if (world->queues.queues[*queue].child_count > 0) {
        return reject(world, part, row, "only queues without children hold jobs, not", name);
    }
    return true;
}

orr_ms orr_replay__scaled_submit(const struct orr_world_part *part, orr_ms submit)
{
    double scale = part->part->trace == NULL ? 1.0 : part->part->scale_arrivals;
    if (!(scale > 0.0) || (scale > 0.999999999 && scale < 1.000000001)) {
        return submit;
    }
    double after = (double)(submit - part->first_submit_ms) / scale;
    return part->first_submit_ms + (orr_ms)(after + 0.5);
}

bool orr_replay__job(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                     uint32_t row_index, struct orr_job_spec *spec)
{
    /* KAI's priority classes, by kind: train, train, build, inference */
    static const int16_t priority[ORR_KIND_COUNT] = {50, 50, 100, 125};
    struct orr_world_part *p = &world->parts[part];
    const struct orr_row *row = &p->workload.rows[row_index];
    struct orr_task_group groups[ORR_REPLAY_GROUPS];
    uint32_t count = 0;
    struct orr_span span;
    const struct orr_scenario_template *roles;
    uint32_t min = 0;
    if (!use_template(world, nodes->scenario, part, row_index, &roles)) {
        return false;
    }
    if (row->run_ms == ORR_MS_NONE) {
        return reject(world, part, row, "states no run time, nor does its template", NULL);
    }
    /* then the queue says which nodes there are */
    bool apart = world->cluster.shards.count > 1 || nodes->typed;
    if (apart && !job_queue(world, nodes->scenario, part, row, &spec->queue)) {
        return false;
    }
    uint32_t shard = apart ? world->queues.queues[spec->queue].shard : 0;
    uint32_t allowed = apart ? orr_replay__allowed(nodes, &world->queues, spec->queue) : 0;
    if (roles != NULL) {
        count = orr_replay__roles(roles, groups, &min);
    }
    if ((roles == NULL && !make_groups(world, part, row, shard, groups, &count)) ||
        !constrain(world, nodes, part, row, groups, count) || !find_span(world, part, row, &span) ||
        (!apart && !job_queue(world, nodes->scenario, part, row, &spec->queue))) {
        return false;
    }
    for (uint32_t g = 0; g < count; g++) {
        groups[g].request.shard = shard;
        groups[g].request.allowed = allowed;
    }
    enum orr_kind kind = (enum orr_kind)row->kind;
    if (kind == ORR_KIND_UNKNOWN && p->part->kind != NULL) {
        (void)orr_kind_parse(p->part->kind, strlen(p->part->kind), &kind);
    }
    int preemptible = -1;
    if (row->extra != 0) {
        const struct orr_row_extra *extra = &p->workload.extras[row->extra - 1];
        if (extra->give_up_ms == 0) {
            return reject(world, part, row, "give_up_s must be above 0", NULL);
        }
        min = extra->min_pods > 0 ? (uint32_t)extra->min_pods : min;
        preemptible = extra->preemptible;
    }
    spec->submit_ms = orr_replay__scaled_submit(p, row->submit_ms);
    spec->work_ms = row->run_ms;
    spec->estimate_ms = row->time_limit_ms == ORR_MS_NONE ? row->run_ms : row->time_limit_ms;
    spec->shape = orr_shapes_put_within(&world->shapes, groups, count, min, span);
    spec->source = p->first_source + row_index;
    const char *profile = row->extra == 0 ? NULL : p->workload.extras[row->extra - 1].profile;
    if (profile != NULL && orr_replay__find_profile(nodes->scenario, profile) == ORR_NONE) {
        return reject(world, part, row, "the scenario has no profile", profile);
    }
    spec->terms = orr_replay__terms(world, nodes->scenario, kind,
                                    row->extra == 0 ? NULL : &p->workload.extras[row->extra - 1]);
    spec->kind = (uint8_t)kind;
    spec->priority = priority[kind];
    spec->preemptible = preemptible >= 0 ? (uint8_t)preemptible : priority[kind] < 100;
    return true;
}

bool *orr_replay__possible_shapes(const struct orr_world *world)
{
    uint32_t count = world->shapes.count;
    bool *possible = orr_zalloc(count, sizeof *possible);
    struct orr_job_spec *specs = orr_zalloc(count, sizeof *specs);
    for (uint32_t s = 0; s < count; s++) {
        specs[s].shape = s;
    }
    struct orr_ledger_world empty = {.cluster = &world->cluster,
                                     .queues = &world->queues,
                                     .shapes = &world->shapes,
                                     .specs = specs,
                                     .job_count = count};
    struct orr_ledger *ledger = orr_ledger_open(&empty);
    struct orr_txn *txn = orr_txn_open(ledger, 0);
    for (uint32_t s = 0; s < count; s++) {
        orr_ledger_submit(ledger, s);
        possible[s] = orr_place_consolidated(txn, ledger, s) == ORR_REASON_NONE;
        orr_txn_rollback(txn, 0);
    }
    orr_txn_close(txn);
    orr_ledger_close(ledger);
    orr_free(specs);
    return possible;
}
