/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_job.c - one row of a trace as one job of the core: gang, queue, times. */
#include "replay_int.h"

#include <stdio.h>
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

static bool sharing_request(const struct orr_row_extra *extra, struct orr_request *request)
{
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
    uint32_t leaves = 0;
    for (uint32_t r = 0; r < template->role_count; r++) {
        leaves += !template->roles[r].is_set;
    }
    if (leaves > ORR_REPLAY_GROUPS || template->role_count >= ORR_SETS_MAX) {
        return reject(world, part, row, "more than 16 roles with pods, or 63 in all, in template",
                      name);
    }
    orr_replay__apply_template(workload, row, template);
    *roles = template->role_count > 0 ? template : NULL;
    bool pods = row->pods > 0 || row->gpus > 0 || row->gpus_per_pod != ORR_NONE ||
                workload->extras[row->extra - 1].min_pods >= 0;
    if (*roles != NULL && pods) {
        return reject(world, part, row, "pods are stated, but its template has roles:", name);
    }
    return true;
}

static bool make_groups(struct orr_world *world, uint32_t part, const struct orr_row *row,
                        uint32_t shard, struct orr_replay_groups *groups)
{
    const struct orr_workload *workload = &world->parts[part].workload;
    const struct orr_row_extra *extra = row->extra == 0 ? NULL : &workload->extras[row->extra - 1];
    if (row->pods == 0) {
        if (largest_node(&world->cluster, shard) == 0) {
            return reject(world, part, row, "asks GPUs, and the cluster has none", NULL);
        }
        groups->count =
            split_gpus(row->gpus, split_size(world, world->parts[part].part, shard), groups->items);
    } else {
        struct orr_request request = {.gpu_model = ORR_NONE};
        if (extra == NULL || !sharing_request(extra, &request)) {
            request.devices = row->gpus_per_pod == ORR_NONE ? 0 : row->gpus_per_pod;
            request.gpu_ask = request.devices > 0 ? ORR_GPU_WHOLE : ORR_GPU_NONE;
        }
        groups->items[0] = (struct orr_task_group){.request = request, .count = row->pods};
        groups->count = 1;
    }
    for (uint32_t g = 0; g < groups->count; g++) {
        groups->roles[g] = NULL;
        if (extra != NULL) {
            struct orr_request *request = &groups->items[g].request;
            request->cpu_milli = extra->cpu_milli > 0 ? extra->cpu_milli : 0;
            request->mem_bytes = extra->mem_mib > 0 ? extra->mem_mib * ORR_MIB : 0;
        }
    }
    return true;
}

static const char *first_text(const char *own, const char *other)
{
    return own != NULL ? own : other;
}

/* What the row, or its role, asks of MIG. */
static bool read_instances(struct orr_world *world, uint32_t part, const struct orr_row *row,
                           const char *stated, struct orr_request *request)
{
    char name[ORR_MIG_NAME_MAX];
    uint32_t instances;
    if (stated == NULL) {
        return true;
    }
    if (!orr_mig_parse(stated, name, &instances)) {
        return reject(
            world, part, row,
            "mig_profile is no profile such as 1g.5gb, nor 1g.5gb*2 for two instances:", stated);
    }
    const uint32_t profile = orr_cluster_mig_profile(&world->cluster, name);
    if (profile == ORR_NONE) {
        char text[120];
        (void)snprintf(text, sizeof text,
                       "pools and jobs before it have %d other MIG profiles than",
                       (int)ORR_MIG_PROFILES_MAX);
        return reject(world, part, row, text, name);
    }
    request->instances = (uint16_t)instances;
    request->mig_profile = (uint16_t)profile;
    request->mig_mgpu = instances * world->cluster.mig_mgpu[profile];
    return true;
}

/* Which nodes the tasks of a group may be on: GPU model (one, or alternatives A|B), selector,
 * tolerations; what its role states goes before what the row does. */
static bool constrain_group(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                            const struct orr_row *row, const struct orr_row_extra *extra,
                            const struct orr_scenario_role *role, const char *queue,
                            struct orr_request *request)
{
    static const char no_models[] =
        "no pool states a gpu_model (--cluster NxG:MODEL), and it asks for";
    static const struct orr_scenario_role nobody;
    const struct orr_scenario_role *own = role == NULL ? &nobody : role;
    const char *models = first_text(own->gpu_model, extra->gpu_model);
    const char *labels = first_text(own->node_selector, extra->node_selector);
    const char *tolerations = first_text(own->tolerations, extra->tolerations);
    const char *alternatives = labels == NULL ? models : NULL;
    uint32_t model = ORR_NONE;
    if (models != NULL && strchr(models, '|') == NULL) {
        model = orr_idmap_find(&world->cluster.models, models, strlen(models));
        if (model == ORR_NONE) {
            return reject(world, part, row,
                          world->cluster.models.count > 0 ? "no node has the GPU model" : no_models,
                          models);
        }
        models = alternatives = NULL;
    }
    uint32_t selector = orr_replay__selector(nodes, models, labels);
    if (selector > 0 && world->cluster.filters[selector - 1].count == 0 &&
        !world->parts[part].part->keep_impossible) {
        return alternatives != NULL
                   ? reject(world, part, row,
                            world->cluster.models.count > 0 ? "no node has any of the GPU models"
                                                            : no_models,
                            alternatives)
                   : reject(world, part, row, "no node has the labels",
                            world->cluster.filters[selector - 1].text);
    }
    request->gpu_model = model;
    request->selector = selector;
    request->toleration = orr_replay__toleration(nodes, queue, tolerations);
    return true;
}

static bool constrain(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                      const struct orr_row *row, uint32_t queue, struct orr_replay_groups *groups)
{
    static const struct orr_row_extra nothing;
    const struct orr_workload *workload = &world->parts[part].workload;
    const struct orr_row_extra *extra =
        row->extra == 0 ? &nothing : &workload->extras[row->extra - 1];
    const char *name = queue == ORR_NONE ? NULL : orr_idmap_name(&world->queues.names, queue);
    bool done = true;
    for (uint32_t g = 0; g < groups->count && done; g++) {
        const struct orr_scenario_role *role = groups->roles[g];
        struct orr_request *request = &groups->items[g].request;
        done =
            read_instances(world, part, row,
                           role == NULL ? extra->mig_profile : role->pods.mig_profile, request) &&
            constrain_group(world, nodes, part, row, extra, role, name, request);
    }
    return done;
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

struct span_names {
    const char *levels[3]; /* required, preferred, of slices; NULL: not stated */
    uint32_t slice_size;
};

static bool read_span(struct orr_world *world, uint32_t part, const struct orr_row *row,
                      const struct span_names *stated, struct orr_span *span)
{
    const char *const *names = stated->levels;
    uint32_t *const levels[] = {&span->required, &span->preferred, &span->slice_level};
    span->slice_size = names[2] != NULL ? stated->slice_size : 0;
    for (int i = 0; i < 3; i++) {
        *levels[i] = names[i] == NULL ? 0 : level_number(&world->cluster, names[i]);
        if (names[i] != NULL && *levels[i] == 0) {
            return reject(world, part, row, "the cluster has no topology level", names[i]);
        }
    }
    if (span->required > 0 && span->preferred > 0 && span->preferred < span->required) {
        return reject(world, part, row,
                      "topology_preferred is wider than topology_required:", names[1]);
    }
    const uint32_t level = span->required > 0 ? span->required : span->preferred;
    if (span->slice_level > 0 && span->slice_level < level) {
        return reject(world, part, row, "slices are wider than the level that is asked:", names[2]);
    }
    return true;
}

/* Whole slices alone: those of its own set, or of the next above that states a topology. */
static bool whole_slices(const struct orr_replay_groups *groups, uint32_t group)
{
    uint32_t set = groups->items[group].set;
    while (set != 0 && groups->sets[set].span.required == 0 &&
           groups->sets[set].span.preferred == 0 && groups->sets[set].span.slice_level == 0) {
        set = groups->sets[set].parent;
    }
    const struct orr_span *span = &groups->sets[set].span;
    return span->slice_level == 0 || groups->items[group].count % span->slice_size == 0;
}

/* Of the whole gang, and of what roles state for themselves. */
static bool find_spans(struct orr_world *world, uint32_t part, const struct orr_row *row,
                       const struct orr_scenario_template *roles, struct orr_replay_groups *groups,
                       struct orr_span *span)
{
    const struct orr_row_extra *extra =
        row->extra == 0 ? NULL : &world->parts[part].workload.extras[row->extra - 1];
    *span = (struct orr_span){0};
    if (extra == NULL) {
        return true;
    }
    const struct span_names whole = {
        {extra->topology_required, extra->topology_preferred, extra->slice_level},
        extra->slice_size};
    bool found = read_span(world, part, row, &whole, span);
    groups->sets[0].span = *span;
    for (uint32_t r = 0; roles != NULL && r < roles->role_count && found; r++) {
        const struct orr_scenario_role *role = &roles->roles[r];
        const struct span_names own = {
            {role->topology_required, role->topology_preferred, role->slice.level},
            role->slice.size};
        found = read_span(world, part, row, &own, &groups->sets[r + 1].span);
    }
    for (uint32_t g = 0; g < groups->count && found; g++) {
        found = whole_slices(groups, g) ||
                reject(world, part, row, "its pods are no whole number of slices", NULL);
    }
    return found;
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

static bool find_job_queue(struct orr_world *world, const struct orr_scenario *scenario,
                           uint32_t part, const struct orr_row *row, uint32_t *queue)
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

static bool job_queue(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                      const struct orr_row *row, uint32_t *queue)
{
    if (row->queue != ORR_NONE && nodes->queues[row->queue] != ORR_NONE) {
        *queue = nodes->queues[row->queue];
        return true;
    }
    const bool found = find_job_queue(world, nodes->scenario, part, row, queue);
    if (found && row->queue != ORR_NONE) {
        nodes->queues[row->queue] = *queue;
    }
    return found;
}

/* Further than any part may reach (check_reach() in replay.c). */
#define MOVED_MAX_MS 1e15

orr_ms orr_replay__scaled_submit(const struct orr_world_part *part, orr_ms submit)
{
    double scale = part->part->trace == NULL ? 1.0 : part->part->scale.arrivals;
    if (!(scale > 0.0) || (scale > 0.999999999 && scale < 1.000000001)) {
        return submit;
    }
    if (submit <= part->scale_from_ms) {
        return submit;
    }
    const double after = (double)(submit - part->scale_from_ms) / scale;
    return part->scale_from_ms + (orr_ms)(after < MOVED_MAX_MS ? after + 0.5 : MOVED_MAX_MS);
}

/* As its row says, else its part, else its template. */
static enum orr_kind kind_of(const struct orr_scenario *scenario, const struct orr_world_part *p,
                             const struct orr_row *row)
{
    enum orr_kind kind = (enum orr_kind)row->kind;
    const char *name = row->extra == 0 ? NULL : p->workload.extras[row->extra - 1].template_name;
    const struct orr_scenario_template *template =
        name == NULL ? NULL : orr_replay__template(scenario, name);
    const char *word = p->part->kind != NULL ? p->part->kind
                       : template != NULL    ? template->kind
                                             : NULL;
    if (kind == ORR_KIND_UNKNOWN && word != NULL) {
        (void)orr_kind_parse(word, strlen(word), &kind);
    }
    return kind;
}

/* The class of its kind unless it states another; below 100 it can be preempted unless it says so
 * itself, as a PodGroup of KAI. */
static bool set_priority(struct orr_world *world, uint32_t part, const struct orr_row *row,
                         struct orr_job_spec *spec)
{
    static const int32_t of_kind[ORR_KIND_COUNT] = {
        [ORR_KIND_UNKNOWN] = 50,      /* train */
        [ORR_KIND_TRAINING] = 50,     /* train */
        [ORR_KIND_INTERACTIVE] = 100, /* build */
        [ORR_KIND_INFERENCE] = 125    /* inference */
    };
    const struct orr_row_extra *extra =
        row->extra == 0 ? NULL : &world->parts[part].workload.extras[row->extra - 1];
    spec->priority = of_kind[spec->kind];
    if (extra != NULL && extra->priority != NULL &&
        !orr_priority_parse(extra->priority, &spec->priority)) {
        return reject(world, part, row,
                      "priority is neither a whole number nor one of train, build-preemptible, "
                      "build, inference:",
                      extra->priority);
    }
    bool stated = extra != NULL && extra->preemptible >= 0;
    spec->preemptible = stated ? (uint8_t)extra->preemptible : spec->priority < 100;
    return true;
}

static bool asks_instances(const struct orr_replay_groups *groups)
{
    bool asks = false;
    for (uint32_t g = 0; g < groups->count; g++) {
        asks = asks || groups->items[g].request.instances > 0;
    }
    return asks;
}

/* How long a job runs is stated once: by its backlog, or by the epochs of its profile. */
static bool check_profile(struct orr_world *world, const struct orr_scenario *scenario,
                          uint32_t part, const struct orr_row *row, bool backlog,
                          const struct orr_replay_groups *groups)
{
    const struct orr_workload *workload = &world->parts[part].workload;
    const char *name = row->extra == 0 ? NULL : workload->extras[row->extra - 1].profile;
    if (name == NULL) {
        return true;
    }
    const uint32_t profile = orr_replay__find_profile(scenario, name);
    if (profile == ORR_NONE) {
        return reject(world, part, row, "the scenario has no profile", name);
    }
    if (asks_instances(groups) && orr_scenario_profile_of_devices(&scenario->profiles[profile])) {
        return reject(world, part, row,
                      "its pods ask MIG instances (mig_profile), and of whole GPUs is profile",
                      name);
    }
    return !backlog || scenario->profiles[profile].epochs == NULL ||
           reject(world, part, row,
                  "its template has a backlog, which says how long it runs, and so do the epochs "
                  "of profile",
                  name);
}

/* Sums of GPU time are whole up to 2^63 mGPU x ms. What a job holds may be more than its run time,
 * with attempts that are lost: half of that is for the run times. */
static bool check_gpu_time(struct orr_world *world, uint32_t part, const struct orr_row *row,
                           const struct orr_job_spec *spec)
{
    const int64_t mgpu = world->shapes.shapes[spec->shape].gpus_mgpu;
    if (spec->work_ms <= 0 || mgpu <= INT64_MAX / 2 / spec->work_ms) {
        return true;
    }
    const double hours_of_mgpu_ms = 1.0 / ORR_MGPU / 3600000.0;
    char why[240];
    (void)snprintf(
        why, sizeof why,
        "its GPU time (run time x GPUs) is %.3g h, and at most %.3g h can be counted: look "
        "at the unit of the times%s",
        (double)spec->work_ms * (double)mgpu * hours_of_mgpu_ms,
        (double)(INT64_MAX / 2) * hours_of_mgpu_ms,
        world->parts[part].part->scale.run > 1.0 ? " and at scale.run" : "");
    return reject(world, part, row, why, NULL);
}

bool orr_replay__job(struct orr_world *world, struct orr_replay_nodes *nodes, uint32_t part,
                     uint32_t row_index, struct orr_job_spec *spec)
{
    struct orr_world_part *p = &world->parts[part];
    const struct orr_row *row = &p->workload.rows[row_index];
    const struct orr_row_extra *extra =
        row->extra == 0 ? NULL : &p->workload.extras[row->extra - 1];
    struct orr_replay_groups groups; /* large, and most jobs have one */
    struct orr_span span;
    const struct orr_scenario_template *roles;
    groups.count = groups.set_count = groups.min_tasks = 0;
    if (!use_template(world, nodes->scenario, part, row_index, &roles)) {
        return false;
    }
    bool backlog = roles != NULL && roles->autoscale.given;
    if (backlog && row->run_ms != ORR_MS_NONE) {
        return reject(world, part, row,
                      "states a run time, and its template a backlog:", roles->name);
    }
    uint32_t crew = backlog ? orr_replay__crew(world, roles) : 0;
    orr_ms run_ms = backlog ? orr_replay__crew_run_ms(roles) : row->run_ms;
    if (run_ms == ORR_MS_NONE) {
        return reject(world, part, row, "states no run time, nor does its template", NULL);
    }
    /* then the queue says which nodes there are */
    bool apart = world->cluster.shards.count > 1 || nodes->typed || nodes->flavored;
    if (apart && !job_queue(world, nodes, part, row, &spec->queue)) {
        return false;
    }
    uint32_t shard = apart ? world->queues.queues[spec->queue].shard : 0;
    uint32_t allowed = apart ? orr_replay__allowed(nodes, &world->queues, spec->queue) : 0;
    if (roles != NULL) {
        orr_replay__roles(roles, &groups);
    }
    if ((roles == NULL && !make_groups(world, part, row, shard, &groups)) ||
        !constrain(world, nodes, part, row, apart ? spec->queue : ORR_NONE, &groups) ||
        !find_spans(world, part, row, roles, &groups, &span) ||
        (!apart && !job_queue(world, nodes, part, row, &spec->queue))) {
        return false;
    }
    for (uint32_t g = 0; g < groups.count; g++) {
        groups.items[g].request.shard = shard;
        groups.items[g].request.allowed = allowed;
    }
    enum orr_kind kind = kind_of(nodes->scenario, p, row);
    if (extra != NULL) {
        if (extra->give_up_ms == 0) {
            return reject(world, part, row, "give_up_s must be above 0", NULL);
        }
        groups.min_tasks = extra->min_pods > 0 ? (uint32_t)extra->min_pods : 0;
        if (extra->running_since_ms == ORR_MS_NONE && orr_replay__resizes(nodes->scenario, shard)) {
            orr_replay__resize(&groups, extra->min_gpus, world->cluster.level_count + 1, span);
        }
    }
    spec->submit_ms = orr_replay__scaled_submit(p, row->submit_ms);
    spec->work_ms = run_ms;
    spec->estimate_ms = row->time_limit_ms == ORR_MS_NONE ? run_ms : row->time_limit_ms;
    spec->shape = groups.set_count > 0
                      ? orr_shapes_put_sets(&world->shapes, groups.items, groups.count, groups.sets,
                                            groups.set_count)
                      : orr_shapes_put_within(&world->shapes, groups.items, groups.count,
                                              groups.min_tasks, span);
    spec->source = p->first_source + row_index;
    if (!check_profile(world, nodes->scenario, part, row, backlog, &groups) ||
        !check_gpu_time(world, part, row, spec)) {
        return false;
    }
    spec->terms = p->service != NULL
                      ? orr_replay__service_terms(world, nodes->scenario, kind, part)
                      : orr_replay__terms(world, nodes->scenario, shard, kind, extra, crew);
    spec->kind = (uint8_t)kind;
    spec->scales = p->service != NULL;
    const char *fault =
        extra == NULL ? NULL : orr_replay__running_fault(nodes->scenario, world, spec, extra);
    return fault != NULL ? reject(world, part, row, fault, NULL)
                         : set_priority(world, part, row, spec);
}

bool *orr_world_conceivable(const struct orr_world *world, const struct orr_shapes *shapes,
                            const bool *least, const bool *gone, const bool *reserves)
{
    const uint32_t count = (orr_world_has_services(world) ? 2 : 1) * shapes->count;
    bool *possible = orr_zalloc(count + (size_t)1, sizeof *possible);
    struct orr_job_spec *specs = orr_zalloc(count + (size_t)1, sizeof *specs);
    for (uint32_t s = 0; s < count; s++) {
        specs[s].shape = s % shapes->count;
        specs[s].scales = s >= shapes->count;
    }
    struct orr_ledger_world empty = {.cluster = &world->cluster,
                                     .queues = &world->queues,
                                     .shapes = shapes,
                                     .specs = specs,
                                     .job_count = count};
    struct orr_ledger *ledger = orr_ledger_open(&empty);
    for (uint32_t r = 0; r < world->cluster.shards.count && reserves != NULL; r++) {
        if (reserves[r]) {
            orr_ledger_reserve_shared(ledger, r);
        }
    }
    for (uint32_t n = 0; n < world->cluster.node_count && gone != NULL; n++) {
        if (gone[n]) {
            orr_ledger_set_down(ledger, n, true);
        }
    }
    struct orr_txn *txn = orr_txn_open(ledger, 0);
    for (uint32_t s = 0; s < count; s++) {
        orr_ledger_submit(ledger, s);
        possible[s] =
            orr_place_conceivable(txn, ledger, s, least == NULL || least[s % shapes->count], NULL);
    }
    orr_txn_close(txn);
    orr_ledger_close(ledger);
    orr_free(specs);
    return possible;
}
