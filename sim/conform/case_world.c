/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a case to a session: units, defaults of the harness, names to indices. */
#include "case_world.h"

#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/policies/kai.h>

#define NOW_MS           ((orr_ms)1700000000 * 1000) /* any time; only ages matter */
#define QUEUE_MEGABYTE   1e6
#define GPU_MEMORY_FLOOR 100 /* the harness's bound of device memory if no node has more */
#define MIG_LABEL        "node-role.kubernetes.io/mig-enabled"
#define TYPE_LABEL       "kai.scheduler/type"

static uint32_t find_node(const struct conform_case *one, const char *name)
{
    for (uint32_t n = 0; name != NULL && n < one->node_count; n++) {
        if (strcmp(one->nodes[n].name, name) == 0) {
            return n;
        }
    }
    return ORR_NONE;
}

/* --- state --- */

static int by_build_index(const void *a, const void *b, void *context)
{
    (void)context;
    const int64_t l = (*(const struct conform_job *const *)a)->build_index;
    const int64_t r = (*(const struct conform_job *const *)b)->build_index;
    return (l > r) - (l < r);
}

static void number_group(struct case_world *world, const char *name)
{
    int64_t number;
    const uint32_t id = orr_idmap_put(&world->groups, name, strlen(name), NULL);
    world->numbered_gpu_groups +=
        id == world->numbered_gpu_groups && orr_parse_i64(name, strlen(name), &number);
}

/* Devices are numbered as the case's builder comes by them: of equal ones KAI takes the first that
 * the walk through its map meets, which is most often the one that was put there first. */
static void number_groups(struct case_world *world)
{
    const struct conform_case *one = world->one;
    const struct conform_job **jobs = orr_alloc(one->job_count + (size_t)1, sizeof *jobs);
    for (uint32_t j = 0; j < one->job_count; j++) {
        jobs[j] = &one->jobs[j];
    }
    orr_sort(jobs, one->job_count, sizeof *jobs, by_build_index, NULL);
    for (uint32_t j = 0; j < one->job_count; j++) {
        for (uint32_t t = 0; t < jobs[j]->task_count; t++) {
            for (uint32_t g = 0; g < jobs[j]->tasks[t].gpu_group_count; g++) {
                number_group(world, jobs[j]->tasks[t].gpu_groups[g]);
            }
        }
    }
    orr_free(jobs);
    world->next_gpu_group = world->groups.count;
}

static bool is_shared(const struct conform_request *request)
{
    return request->kind == CONFORM_FRACTION || request->kind == CONFORM_GPU_MEMORY;
}

/* Devices a task shares; an override in whole GPUs shares none. */
static uint32_t shared_devices(const struct conform_job *job, const struct conform_task *task)
{
    if (task->mig_instance_count > 0) {
        return 0;
    }
    if (conform_is_set(task->gpus_override)) {
        return task->gpus_override > (double)(int64_t)task->gpus_override;
    }
    return is_shared(&job->request) ? (uint32_t)job->request.gpu_devices : 0;
}

static void init_task(struct case_world *world, const struct conform_job *job,
                      const struct conform_task *from, struct case_task *task)
{
    const uint32_t devices = shared_devices(job, from);
    *task = (struct case_task){
        .state = from->state,
        .node = find_node(world->one, from->node),
        .groups = orr_arena_alloc(&world->arena, devices + (size_t)1, sizeof(uint32_t)),
    };
    const bool holds =
        task->node != ORR_NONE && orr_status_in((uint8_t)from->state, ORR_STATES_ACTIVE_USED);
    for (uint32_t g = 0; holds && g < devices; g++) {
        const char *name = g < from->gpu_group_count ? from->gpu_groups[g] : NULL;
        task->groups[task->group_count++] =
            name == NULL ? world->next_gpu_group++
                         : orr_idmap_find(&world->groups, name, strlen(name));
    }
}

void orr_conform__world_init(struct case_world *world, const struct conform_case *one)
{
    *world = (struct case_world){.one = one, .now = NOW_MS};
    orr_arena_init(&world->arena);
    orr_idmap_init(&world->groups);
    orr_idmap_init(&world->profiles);
    number_groups(world);
    world->tasks = orr_arena_alloc(&world->arena, one->job_count + (size_t)1, sizeof *world->tasks);
    world->job_ids =
        orr_arena_alloc(&world->arena, one->job_count + (size_t)1, sizeof *world->job_ids);
    for (uint32_t j = 0; j < one->job_count; j++) {
        const struct conform_job *job = &one->jobs[j];
        world->tasks[j] =
            orr_arena_alloc(&world->arena, job->task_count + (size_t)1, sizeof **world->tasks);
        for (uint32_t t = 0; t < job->task_count; t++) {
            init_task(world, job, &job->tasks[t], &world->tasks[j][t]);
        }
    }
}

void orr_conform__world_release(struct case_world *world)
{
    orr_idmap_release(&world->groups);
    orr_idmap_release(&world->profiles);
    orr_arena_release(&world->arena);
}

/* --- rules --- */

static const struct conform_plugin *find_plugin(const struct conform_config *config,
                                                const char *name)
{
    for (uint32_t i = 0; i < config->tier_count; i++) {
        for (uint32_t p = 0; p < config->tiers[i].plugin_count; p++) {
            if (strcmp(config->tiers[i].plugins[p].name, name) == 0) {
                return &config->tiers[i].plugins[p];
            }
        }
    }
    return NULL;
}

static uint8_t placement_of(const struct conform_plugin *plugin, const char *resource)
{
    if (plugin == NULL) {
        return ORR_PLACEMENT_OFF;
    }
    for (uint32_t i = 0; i < plugin->argument_count; i++) {
        if (strcmp(plugin->arguments[i].name, resource) == 0 &&
            strcmp(plugin->arguments[i].value, "spread") == 0) {
            return ORR_PLACEMENT_SPREAD;
        }
    }
    return ORR_PLACEMENT_BINPACK;
}

static bool has_plugin(const void *config, const char *name)
{
    return find_plugin(config, name) != NULL;
}

static void read_plugins(const struct conform_config *config, struct orr_session_rules *rules)
{
    const struct conform_plugin *placement = find_plugin(config, "nodeplacement");
    rules->gpu_placement = placement_of(placement, "gpu");
    rules->cpu_placement = placement_of(placement, "cpu");
    orr_kai_set_plugins(rules, has_plugin, config);
}

static orr_ms to_ms(double seconds)
{
    return (orr_ms)(seconds * 1000);
}

bool orr_conform__override(const struct conform_session_call *call, struct orr_session_rules *rules)
{
    const char *arg = call->arg_count == 1 ? call->args[0] : "";
    const bool yes = strcmp(arg, "true") == 0;
    int64_t number;
    const bool is_number = orr_parse_i64(arg, strlen(arg), &number);
    if (strcmp(call->method, "OverrideGlobalDefaultStalenessGracePeriod") == 0 && is_number) {
        rules->staleness_grace = number / 1000000; /* nanoseconds */
    } else if (strcmp(call->method, "OverrideMaxNumberConsolidationPreemptees") == 0 && is_number) {
        rules->max_consolidation_preemptees = number;
    } else if (strcmp(call->method, "OverrideAllowConsolidatingReclaim") == 0 &&
               (yes || strcmp(arg, "false") == 0)) {
        rules->allow_consolidating_reclaim = yes;
    } else {
        return false;
    }
    return true;
}

/* The harness differs from KAI's defaults: no usage, no signatures unless stated, no bound on
 * consolidation, and stale gangs end at once. */
static void set_rules(const struct conform_case *one, struct orr_session_rules *rules)
{
    rules->k = 0;
    rules->use_signatures = one->config.signatures;
    rules->defects_v017 = one->config.strict_v017;
    rules->gpu_memory_fallback_mib = GPU_MEMORY_FLOOR;
    rules->allow_consolidating_reclaim = one->config.allow_consolidating_reclaim;
    rules->max_consolidation_preemptees = one->config.max_consolidation_preemptees;
    rules->staleness_grace = to_ms(one->config.default_staleness_grace_period_s);
    if (!one->config.default_plugins) {
        read_plugins(&one->config, rules);
    }
    rules->predicates = rules->predicates && one->config.predicates_plugin_active;
    for (uint32_t i = 0; i < one->session_call_count; i++) {
        (void)orr_conform__override(&one->session_calls[i], rules);
    }
}

/* --- MIG --- */

static uint32_t slot_of(struct case_world *world, struct orr_session *session, const char *name)
{
    const uint32_t known = orr_idmap_put(&world->profiles, name, strlen(name), NULL);
    if (known >= ORR_SLOTS_MAX - ORR_SLOT_EXTENDED) {
        return ORR_SLOTS_MAX - 1; /* more kinds than there is room for share the last */
    }
    while (session->slot_count <= ORR_SLOT_EXTENDED + known) {
        const uint32_t next = session->slot_count - ORR_SLOT_EXTENDED;
        (void)orr_session_add_slot(session,
                                   orr_session_mig_gpus(orr_idmap_name(&world->profiles, next)));
    }
    return ORR_SLOT_EXTENDED + known;
}

static bool add_instances(struct case_world *world, struct orr_session *session,
                          const struct orr_pair *pairs, uint32_t count, struct orr_vec *out)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t amount = 0;
        if (orr_parse_i64(pairs[i].value, strlen(pairs[i].value), &amount) && amount > 0) {
            out->v[slot_of(world, session, pairs[i].name)] += amount;
            any = true;
        }
    }
    return any;
}

/* --- nodes and topologies --- */

static const char *label_of(const struct conform_node *node, const char *label)
{
    for (uint32_t i = 0; i < node->label_count; i++) {
        if (strcmp(node->labels[i].name, label) == 0) {
            return node->labels[i].value;
        }
    }
    if (strcmp(label, TYPE_LABEL) == 0) {
        return node->affinity_name != NULL ? node->affinity_name : node->name;
    }
    return NULL;
}

static uint8_t mig_strategy(const struct conform_node *node)
{
    if (node->mig_strategy == NULL) {
        return ORR_MIG_UNKNOWN;
    }
    return strcmp(node->mig_strategy, "mixed") == 0    ? ORR_MIG_MIXED
           : strcmp(node->mig_strategy, "single") == 0 ? ORR_MIG_SINGLE
                                                       : ORR_MIG_UNKNOWN;
}

/* The node's label decides if there is one; else what it offers. */
static bool is_mig_node(const struct conform_node *node, bool offers)
{
    const char *label = label_of(node, MIG_LABEL);
    return label != NULL ? strcmp(label, "true") == 0 : offers;
}

static void add_nodes(struct case_world *world, struct orr_session *session)
{
    const struct conform_case *one = world->one;
    for (uint32_t n = 0; n < one->node_count; n++) {
        const struct conform_node *node = &one->nodes[n];
        struct orr_node_spec spec = {
            .name = node->name,
            .gpu_count = (int64_t)node->gpus,
            .gpu_memory_mib =
                node->gpu_memory_label > 0 ? node->gpu_memory_label : node->gpu_memory_mib,
            .mig_strategy = mig_strategy(node),
            .allocatable = {.v = {(int64_t)node->cpu_milli, (int64_t)node->memory_bytes,
                                  (int64_t)(node->allocatable_gpus * ORR_MGPU), node->pods}}};
        spec.is_mig = is_mig_node(node, add_instances(world, session, node->mig_instances,
                                                      node->mig_instance_count, &spec.allocatable));
        const uint32_t id = orr_session_add_node(session, &spec);
        /* Stated apart from the amount: whether the node itself states it. */
        session->nodes[id].has_gpu_memory_label = node->gpu_memory_synced;
        orr_conform__set_zones(node, id, session);
    }
}

static void add_topologies(struct case_world *world, struct orr_session *session)
{
    const struct conform_case *one = world->one;
    for (uint32_t i = 0; i < one->topology_count; i++) {
        const struct conform_topology *from = &one->topologies[i];
        const size_t cells = (size_t)from->level_count * one->node_count + 1;
        const char **values = orr_zalloc(cells, sizeof *values);
        const char **labels = orr_zalloc(from->level_count + (size_t)1, sizeof *labels);
        const char **aliases = orr_zalloc(from->level_count + (size_t)1, sizeof *aliases);
        for (uint32_t l = 0; l < from->level_count; l++) {
            labels[l] = from->levels[l].node_label;
            aliases[l] = from->levels[l].alias;
            for (uint32_t n = 0; n < one->node_count; n++) {
                values[l * one->node_count + n] = label_of(&one->nodes[n], labels[l]);
            }
        }
        (void)orr_session_add_topology(session, from->name, labels, aliases, from->level_count,
                                       values);
        orr_free(values);
        orr_free(labels);
        orr_free(aliases);
    }
}

/* --- queues --- */

static struct orr_share_resource share_of(const struct conform_amounts *amounts, double unit)
{
    return (struct orr_share_resource){
        .deserved = amounts->deserved < 0 ? ORR_UNLIMITED : amounts->deserved * unit,
        .limit = amounts->limit < 0 ? ORR_UNLIMITED : amounts->limit * unit,
        .weight = amounts->over_quota_weight};
}

static uint32_t find_queue(const struct orr_session *session, const char *name)
{
    for (uint32_t q = 0; q < session->queue_count; q++) {
        if (strcmp(session->queues[q].name, name) == 0) {
            return q;
        }
    }
    return ORR_NONE;
}

static void add_queue(const struct conform_queue *from, uint32_t parent,
                      struct orr_session *session)
{
    struct orr_share_queue share = {.parent = parent,
                                    .priority = (int32_t)from->priority,
                                    .created = (int64_t)(from->created_offset_min * 60)};
    if (from->v1 == NULL || strcmp(from->v1, "false") == 0) {
        share.resource[ORR_SHARE_CPU] = share_of(&from->cpu, 1);
        share.resource[ORR_SHARE_MEMORY] = share_of(&from->memory, QUEUE_MEGABYTE);
        share.resource[ORR_SHARE_GPU] = share_of(&from->gpu, 1);
    }
    (void)orr_session_add_queue(
        session, from->name, &share,
        conform_is_set(from->preempt_min_runtime_s) ? to_ms(from->preempt_min_runtime_s)
                                                    : ORR_MS_NONE,
        conform_is_set(from->reclaim_min_runtime_s) ? to_ms(from->reclaim_min_runtime_s)
                                                    : ORR_MS_NONE);
}

/* Parents before children, in any number of passes; a queue whose parent never comes is left out,
 * as KAI leaves it out of its snapshot. */
static void add_queues(const struct conform_case *one, struct orr_session *session)
{
    const struct conform_queue *lists[2] = {one->departments, one->queues};
    const uint32_t counts[2] = {one->department_count, one->queue_count};
    for (bool added = true; added;) {
        added = false;
        for (int l = 0; l < 2; l++) {
            for (uint32_t i = 0; i < counts[l]; i++) {
                const struct conform_queue *queue = &lists[l][i];
                const bool is_root = queue->parent[0] == '\0';
                const uint32_t parent = is_root ? ORR_NONE : find_queue(session, queue->parent);
                if (find_queue(session, queue->name) == ORR_NONE &&
                    (is_root || parent != ORR_NONE)) {
                    add_queue(queue, parent, session);
                    added = true;
                }
            }
        }
    }
}

/* --- jobs --- */

static struct orr_constraint constraint_of(const struct conform_constraint *from)
{
    if (from == NULL) {
        return (struct orr_constraint){0};
    }
    return (struct orr_constraint){.topology = from->topology,
                                   .required = from->required_level,
                                   .preferred = from->preferred_level};
}

struct set_list {
    struct orr_set_spec *sets;
    uint32_t count, capacity;
};

static void flatten(const struct conform_group *group, uint32_t parent, struct set_list *out)
{
    out->sets = ORR_ROOM_FOR_ONE(out->sets, out->count, out->capacity);
    const uint32_t self = out->count++;
    out->sets[self] = (struct orr_set_spec){
        .name = group->name,
        .parent = parent,
        .min = group->min_sub_group == CONFORM_NO_INT ? -1 : (int32_t)group->min_sub_group,
        .constraint = constraint_of(group->topology)};
    for (uint32_t i = 0; i < group->pod_set_count; i++) {
        const struct conform_pod_set *set = &group->pod_sets[i];
        out->sets = ORR_ROOM_FOR_ONE(out->sets, out->count, out->capacity);
        out->sets[out->count++] = (struct orr_set_spec){.name = set->name,
                                                        .parent = self,
                                                        .is_pods = true,
                                                        .min = (int32_t)set->min_available,
                                                        .constraint = constraint_of(set->topology)};
    }
    for (uint32_t i = 0; i < group->group_count; i++) {
        flatten(&group->groups[i], self, out);
    }
}

static uint32_t find_pod_set(const struct set_list *sets, const char *name)
{
    const char *wanted = name == NULL || name[0] == '\0' ? "default" : name;
    for (uint32_t s = 0; s < sets->count; s++) {
        if (sets->sets[s].is_pods && strcmp(sets->sets[s].name, wanted) == 0) {
            return s;
        }
    }
    return ORR_NONE;
}

static uint32_t affinity_of(const struct conform_case *one, const struct conform_task *task,
                            struct orr_session *session)
{
    if (task->node_affinity_count == 0) {
        return ORR_NONE;
    }
    bool *allowed = orr_zalloc(one->node_count + (size_t)1, sizeof *allowed);
    for (uint32_t n = 0; n < one->node_count; n++) {
        for (uint32_t i = 0; i < task->node_affinity_count; i++) {
            const char *name = label_of(&one->nodes[n], TYPE_LABEL);
            allowed[n] = allowed[n] || strcmp(name, task->node_affinity_names[i]) == 0;
        }
    }
    const uint32_t filter = orr_session_add_filter(session, allowed);
    orr_free(allowed);
    return filter;
}

static void set_gpus(struct orr_ask *ask, double gpus)
{
    const double whole = (double)(int64_t)gpus;
    ask->kind = gpus > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU;
    ask->request.v[ORR_SLOT_GPU] = orr_session_portion_mgpu(gpus);
    if (gpus > whole) {
        ask->kind = ORR_ASK_FRACTION;
        ask->devices = 1;
        ask->portion = gpus;
    }
}

static uint32_t add_ask(struct case_world *world, const struct conform_job *job,
                        const struct conform_task *task, struct orr_session *session)
{
    const struct conform_request *request = &job->request;
    struct orr_ask ask = {.guaranteed =
                              job->qos_class != NULL && strcmp(job->qos_class, "Guaranteed") == 0,
                          .affinity = affinity_of(world->one, task, session),
                          .tolerance = ORR_NONE};
    ask.request.v[ORR_SLOT_PODS] = 1;
    if (request->kind != CONFORM_BEST_EFFORT) {
        ask.request.v[ORR_SLOT_CPU] = (int64_t)request->cpu_milli;
        ask.request.v[ORR_SLOT_MEMORY] = (int64_t)request->memory_bytes;
    }
    if (is_shared(request)) {
        ask.devices = (uint32_t)request->gpu_devices;
        ask.kind = request->kind == CONFORM_FRACTION ? ORR_ASK_FRACTION : ORR_ASK_MEMORY;
        ask.portion = request->kind == CONFORM_FRACTION ? request->gpu_fraction : 0;
        ask.memory_mib = request->kind == CONFORM_GPU_MEMORY ? request->gpu_memory_mib : 0;
        ask.request.v[ORR_SLOT_GPU] = orr_session_portion_mgpu(ask.portion) * request->gpu_devices;
    } else if (request->kind == CONFORM_WHOLE) {
        set_gpus(&ask, request->gpus);
    }
    if (conform_is_set(task->gpus_override)) {
        ask.devices = 0;
        ask.memory_mib = 0;
        set_gpus(&ask, task->gpus_override);
    }
    /* A MIG request takes the place of any GPUs beside it. */
    if (add_instances(world, session, task->mig_instances, task->mig_instance_count,
                      &ask.request)) {
        ask.kind = ORR_ASK_MIG;
        ask.devices = 0;
        ask.request.v[ORR_SLOT_GPU] = 0;
    }
    ask.legacy_mig = task->legacy_mig != NULL && strcmp(task->legacy_mig, "false") != 0;
    return orr_session_add_ask(session, &ask);
}

static bool is_started(const struct case_world *world, uint32_t j)
{
    for (uint32_t t = 0; t < world->one->jobs[j].task_count; t++) {
        if (orr_status_in((uint8_t)world->tasks[j][t].state, ORR_STATES_ALLOCATED)) {
            return true;
        }
    }
    return false;
}

static void place_tasks(struct case_world *world, uint32_t j, struct orr_session *session)
{
    for (uint32_t t = 0; t < world->one->jobs[j].task_count; t++) {
        const struct case_task *task = &world->tasks[j][t];
        const bool waits =
            task->state == CONFORM_STATE_Pending || task->state == CONFORM_STATE_Gated;
        if (task->id != ORR_NONE) {
            orr_session_set_task(session, task->id, (enum orr_task_status)task->state,
                                 waits ? ORR_NONE : task->node, task->groups,
                                 waits ? 0 : task->group_count);
            orr_conform__draw_zones(task, &world->one->jobs[j].tasks[t], session);
        }
    }
}

static void set_ages(const struct case_world *world, uint32_t j, struct orr_sjob *job)
{
    const struct conform_job *from = &world->one->jobs[j];
    if (is_started(world, j)) {
        const double minutes =
            conform_is_set(from->last_start_minutes_ago) ? from->last_start_minutes_ago : 1;
        job->last_start = world->now - to_ms(minutes * 60);
    }
    if (conform_is_set(from->stale_for_s)) {
        job->stale_since = world->now - to_ms(from->stale_for_s);
    }
}

/* What limits where it may run: in the harness the names that a required node affinity lists. */
static uint64_t constraint_key(const struct conform_task *task)
{
    uint64_t key = 0;
    for (uint32_t n = 0; n < task->node_affinity_count; n++) {
        for (const char *at = task->node_affinity_names[n]; *at != '\0'; at++) {
            key = orr_scatter(key + (unsigned char)*at);
        }
        key = orr_scatter(key + 256); /* the end of a name */
    }
    return key;
}

static void add_job(struct case_world *world, uint32_t j, struct orr_session *session)
{
    const struct conform_job *from = &world->one->jobs[j];
    struct set_list sets = {0};
    flatten(&from->root, ORR_NONE, &sets);
    struct orr_task_spec *tasks = orr_zalloc(from->task_count + (size_t)1, sizeof *tasks);
    uint32_t *ids = orr_alloc(from->task_count + (size_t)1, sizeof *ids);
    uint32_t count = 0;
    for (uint32_t t = 0; t < from->task_count; t++) {
        const uint32_t set = find_pod_set(&sets, from->tasks[t].sub_group);
        world->tasks[j][t].id = ORR_NONE;
        if (set == ORR_NONE) {
            continue; /* KAI: a pod of a missing subgroup is not part of the job */
        }
        world->tasks[j][t].id = count;
        tasks[count++] =
            (struct orr_task_spec){.name = from->tasks[t].id,
                                   .set = set,
                                   .ask = add_ask(world, from, &from->tasks[t], session),
                                   .constraint_key = constraint_key(&from->tasks[t]),
                                   .has_priority = session->rules.task_order &&
                                                   from->tasks[t].task_priority != CONFORM_NO_INT,
                                   .priority = from->tasks[t].task_priority};
    }
    const struct orr_job_spec_tree spec = {
        .name = from->name,
        .queue = find_queue(session, from->queue),
        .priority = (int32_t)from->priority,
        .preemptible = from->preemptible,
        .created_s = (world->now - to_ms(from->created_minutes_ago * 60)) / 1000,
        .preemption_delay =
            conform_is_set(from->preemption_delay_s) ? to_ms(from->preemption_delay_s) : 0,
        .staleness_grace = conform_is_set(from->staleness_grace_period_s)
                               ? to_ms(from->staleness_grace_period_s)
                               : ORR_MS_NONE,
        .placement_class = ORR_NONE,
        .sets = sets.sets,
        .set_count = sets.count,
        .tasks = tasks,
        .task_count = count};
    world->job_ids[j] = orr_session_add_job(session, &spec, ids);
    for (uint32_t t = 0; t < from->task_count; t++) {
        struct case_task *task = &world->tasks[j][t];
        task->id = task->id == ORR_NONE ? ORR_NONE : ids[task->id];
    }
    place_tasks(world, j, session);
    set_ages(world, j, &session->jobs[world->job_ids[j]]);
    orr_free(sets.sets);
    orr_free(tasks);
    orr_free(ids);
}

void orr_conform__make_session(struct case_world *world, struct orr_session *session)
{
    orr_session_init(session);
    set_rules(world->one, &session->rules);
    add_nodes(world, session);
    add_topologies(world, session);
    add_queues(world->one, session);
    session->next_gpu_group = world->next_gpu_group;
    session->numbered_gpu_groups = world->numbered_gpu_groups;
    for (uint32_t j = 0; j < world->one->job_count; j++) {
        add_job(world, j, session);
    }
}
