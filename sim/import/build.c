/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the model to a session: names to indices, equal constraints to one filter, equal requests to
 * one ask. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>

#include "model.h"

#define DEVICES_MAX 1000000
#define NODE_MAX    ((int64_t)100000000000000) /* milli-CPU, bytes, anything else */
#define REQUEST_MAX ((int64_t)10000000000000)
#define QUEUES_DEEP 200

struct builder {
    struct import_model *model;
    struct orr_session *session;
    uint32_t slots[IMPORT_RESOURCES_MAX]; /* of the session, by resource; ORR_NONE: not kept */
    bool some_taints;                     /* else tolerations make no difference */
    struct orr_idmap selections, tolerations, asks, shapes, groups; /* by canonical text */
    uint32_t *selection_filters, *toleration_filters, *ask_ids;
    uint32_t selection_capacity, toleration_capacity, ask_capacity;
};

static int32_t to_i32(int64_t number)
{
    return number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
}

/* --- resources --- */

/* What no pod asks for cannot decide anything, unless it counts as GPUs. */
static bool is_asked(const struct import_model *model, uint32_t resource)
{
    for (uint32_t p = 0; p < model->pod_count; p++) {
        if (model->pods[p].request.vec.v[resource] > 0) {
            return true;
        }
    }
    return false;
}

static void add_slots(struct builder *b)
{
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        b->slots[r] = ORR_NONE;
    }
    b->slots[IMPORT_CPU] = ORR_SLOT_CPU;
    b->slots[IMPORT_MEMORY] = ORR_SLOT_MEMORY;
    b->slots[IMPORT_GPU] = ORR_SLOT_GPU;
    b->slots[IMPORT_PODS] = ORR_SLOT_PODS;
    for (uint32_t r = 0; r < b->model->resources.count; r++) {
        const char *name = orr_idmap_name(&b->model->resources, r);
        const int64_t gpus = strstr(name, "/mig-") != NULL ? orr_session_mig_gpus(name) : 0;
        if (gpus == 0 && !is_asked(b->model, IMPORT_EXTENDED + r)) {
            continue;
        }
        if (b->session->slot_count == ORR_SLOTS_MAX) {
            import_note(b->model, "resource %.100s is one kind too many and not heeded", name);
            continue;
        }
        b->slots[IMPORT_EXTENDED + r] = orr_session_add_slot(b->session, gpus);
    }
}

/* `most` of any amount but devices, so that sums stay in 64 bits. */
static struct orr_vec to_vec(const struct builder *b, const struct import_vec *from, int64_t most)
{
    struct orr_vec vec = {{0}};
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        const uint32_t slot = b->slots[r];
        if (slot != ORR_NONE) {
            const bool devices = slot == ORR_SLOT_GPU || b->session->slot_quota_gpus[slot] > 0;
            const int64_t bound = devices ? DEVICES_MAX : most;
            vec.v[slot] = from->v[r] < bound ? from->v[r] : bound;
        }
    }
    vec.v[ORR_SLOT_GPU] *= ORR_MGPU;
    return vec;
}

/* --- nodes, topologies, queues --- */

static uint32_t find_node(const struct builder *b, const char *name)
{
    return name == NULL ? ORR_NONE : orr_idmap_find(&b->model->node_names, name, strlen(name));
}

static void restrict_nodes(struct builder *b)
{
    const struct import_model *model = b->model;
    bool *cpu = orr_zalloc(model->node_count + (size_t)1, sizeof *cpu);
    bool *gpu = orr_zalloc(model->node_count + (size_t)1, sizeof *gpu);
    for (uint32_t n = 0; n < model->node_count; n++) {
        cpu[n] = model->nodes[n].cpu_worker;
        gpu[n] = model->nodes[n].gpu_worker;
    }
    orr_session_restrict_nodes(b->session, cpu, gpu);
    orr_free(cpu);
    orr_free(gpu);
}

static void add_nodes(struct builder *b)
{
    for (uint32_t n = 0; n < b->model->node_count; n++) {
        const struct import_node *node = &b->model->nodes[n];
        const struct orr_node_spec spec = {.name = node->name,
                                           .allocatable = to_vec(b, &node->allocatable, NODE_MAX),
                                           .gpu_count = node->gpu_count,
                                           .gpu_memory_mib = node->gpu_memory_mib,
                                           .is_mig = node->is_mig,
                                           .mig_strategy = node->mig_strategy};
        (void)orr_session_add_node(b->session, &spec);
        orr_session_set_node_ready(b->session, n, node->ready);
        b->some_taints = b->some_taints || !import_tolerates(NULL, node);
    }
    if (b->model->restrict_nodes) {
        restrict_nodes(b);
    }
    for (uint32_t i = 0; i < b->model->foreign_count; i++) {
        const struct import_foreign *foreign = &b->model->foreign[i];
        const struct orr_vec held = to_vec(b, &foreign->held, REQUEST_MAX);
        orr_session_add_foreign(b->session, find_node(b, foreign->node), &held, foreign->counts);
    }
}

static void add_topologies(struct builder *b)
{
    const struct import_model *model = b->model;
    for (uint32_t i = 0; i < model->topology_count; i++) {
        const struct import_topology *from = &model->topologies[i];
        const char **values =
            orr_zalloc((size_t)from->level_count * model->node_count + 1, sizeof *values);
        for (uint32_t l = 0; l < from->level_count; l++) {
            for (uint32_t n = 0; n < model->node_count; n++) {
                values[(size_t)l * model->node_count + n] =
                    import_label(model->nodes[n].labels, from->labels[l]);
            }
        }
        (void)orr_session_add_topology(b->session, from->name, from->labels, from->aliases,
                                       from->level_count, values);
        orr_free(values);
    }
}

/* Parents before children, in any number of passes; a queue whose parent never comes, or that is
 * its own ancestor, is left out with its jobs, as KAI leaves it out. */
static void add_queues(struct builder *b)
{
    struct import_model *model = b->model;
    for (bool added = true; added;) {
        added = false;
        for (uint32_t q = 0; q < model->queue_count; q++) {
            struct import_queue *queue = &model->queues[q];
            const bool root = queue->parent[0] == '\0';
            const uint32_t above =
                root ? ORR_NONE
                     : orr_idmap_find(&model->queue_names, queue->parent, strlen(queue->parent));
            const uint32_t parent = above == ORR_NONE ? ORR_NONE : model->queues[above].id;
            if (queue->id != ORR_NONE || queue->left_out || (!root && parent == ORR_NONE)) {
                continue;
            }
            queue->depth = root ? 0 : model->queues[above].depth + 1;
            if (queue->depth > QUEUES_DEEP) {
                continue;
            }
            struct orr_share_queue share = {
                .parent = parent, .priority = to_i32(queue->priority), .created = queue->created_s};
            memcpy(share.resource, queue->resource, sizeof share.resource);
            queue->id =
                orr_session_add_queue(b->session, queue->name, &share, queue->preempt_min_runtime,
                                      queue->reclaim_min_runtime);
            added = true;
        }
    }
    for (uint32_t q = 0; q < model->queue_count; q++) {
        if (model->queues[q].id == ORR_NONE && !model->queues[q].left_out) {
            import_note(model, "queue %.100s has no way up to a root and is left out with its jobs",
                        model->queues[q].name);
        }
    }
}

/* --- what pods ask --- */

static uint32_t add_filter(struct builder *b, const struct import_pod *pod, bool taints)
{
    const struct import_model *model = b->model;
    bool *allowed = orr_zalloc(model->node_count + (size_t)1, sizeof *allowed);
    for (uint32_t n = 0; n < model->node_count; n++) {
        const struct import_node *node = &model->nodes[n];
        allowed[n] = taints ? import_tolerates(pod->tolerations, node)
                            : import_selects(pod->selector, node) &&
                                  import_affinity_admits(pod->affinity, node);
    }
    const uint32_t filter = orr_session_add_filter(b->session, allowed);
    orr_free(allowed);
    return filter;
}

static uint32_t selection_of(struct builder *b, const struct import_pod *pod)
{
    const struct import_value *required =
        import_get(pod->affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    if (required == NULL && (pod->selector == NULL || pod->selector->count == 0)) {
        return ORR_NONE;
    }
    char *selector = import_canonical(pod->selector), *affinity = import_canonical(required);
    const size_t bytes = strlen(selector) + strlen(affinity) + 2;
    char *text = orr_alloc(bytes, 1);
    (void)snprintf(text, bytes, "%s|%s", selector, affinity);
    bool added;
    const uint32_t index = orr_idmap_put(&b->selections, text, strlen(text), &added);
    if (added) {
        b->selection_filters = ORR_ROOM_FOR_ONE(b->selection_filters, index, b->selection_capacity);
        b->selection_filters[index] = add_filter(b, pod, false);
    }
    orr_free(text);
    orr_free(selector);
    orr_free(affinity);
    return b->selection_filters[index];
}

static uint32_t tolerance_of(struct builder *b, const struct import_pod *pod)
{
    if (!b->some_taints) {
        return ORR_NONE;
    }
    char *text = import_canonical(pod->tolerations);
    bool added;
    const uint32_t index = orr_idmap_put(&b->tolerations, text, strlen(text), &added);
    if (added) {
        b->toleration_filters =
            ORR_ROOM_FOR_ONE(b->toleration_filters, index, b->toleration_capacity);
        b->toleration_filters[index] = add_filter(b, pod, true);
    }
    orr_free(text);
    return b->toleration_filters[index];
}

static uint32_t add_ask(struct builder *b, const struct import_pod *pod)
{
    const struct import_request *from = &pod->request;
    struct orr_ask ask = {.kind = from->kind,
                          .legacy_mig = from->legacy_mig,
                          .devices = from->devices,
                          .portion = from->portion,
                          .memory_mib = from->memory_mib,
                          .affinity = selection_of(b, pod),
                          .tolerance = tolerance_of(b, pod)};
    const bool lost = pod->node != NULL && find_node(b, pod->node) == ORR_NONE;
    if (!lost) { /* KAI: what runs on a node that is not there holds nothing */
        ask.request = to_vec(b, &from->vec, REQUEST_MAX);
        ask.request.v[ORR_SLOT_GPU] += from->kind == ORR_ASK_FRACTION
                                           ? orr_session_portion_mgpu(from->portion) * from->devices
                                           : 0;
    } else {
        import_note(b->model, "a pod on a node that is not in the snapshot holds nothing");
        ask.kind = ORR_ASK_NO_GPU;
        ask.devices = 0;
    }
    char text[64 + 24 * ORR_SLOTS_MAX];
    int used =
        snprintf(text, sizeof text, "%d,%d,%u,%.17g,%lld,%u,%u", ask.kind, ask.legacy_mig,
                 ask.devices, ask.portion, (long long)ask.memory_mib, ask.affinity, ask.tolerance);
    for (uint32_t s = 0; s < b->session->slot_count; s++) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used, ",%lld", (long long)ask.request.v[s]);
    }
    bool added;
    const uint32_t index = orr_idmap_put(&b->asks, text, (size_t)used, &added);
    if (added) {
        b->ask_ids = ORR_ROOM_FOR_ONE(b->ask_ids, index, b->ask_capacity);
        b->ask_ids[index] = orr_session_add_ask(b->session, &ask);
    }
    return b->ask_ids[index];
}

/* --- jobs --- */

static uint32_t find_set(const struct import_job *job, const char *name)
{
    const char *wanted = name[0] == '\0' ? "default" : name;
    for (uint32_t s = 0; s < job->set_count; s++) {
        if (job->sets[s].is_pods && strcmp(job->sets[s].name, wanted) == 0) {
            return s;
        }
    }
    return ORR_NONE;
}

/* Jobs of one pod set whose pods all ask the same, without levels: what finds no node for one finds
 * none for a twin. */
static uint32_t twins_of(struct builder *b, const struct import_job *job,
                         const struct orr_task_spec *tasks, uint32_t count)
{
    if (job->set_count != 2 || job->sets[0].constraint.topology != NULL ||
        job->sets[1].constraint.topology != NULL || count == 0) {
        return ORR_NONE;
    }
    for (uint32_t t = 1; t < count; t++) {
        if (tasks[t].ask != tasks[0].ask) {
            return ORR_NONE;
        }
    }
    char text[80];
    const int used =
        snprintf(text, sizeof text, "%u,%u,%lld", tasks[0].ask, count, (long long)job->sets[1].min);
    return orr_idmap_put(&b->shapes, text, (size_t)used, NULL);
}

static struct orr_set_spec *list_sets(const struct import_job *job)
{
    struct orr_set_spec *sets = orr_zalloc(job->set_count + (size_t)1, sizeof *sets);
    for (uint32_t s = 0; s < job->set_count; s++) {
        const struct import_set *from = &job->sets[s];
        sets[s] = (struct orr_set_spec){.name = from->name,
                                        .parent = from->parent,
                                        .is_pods = from->is_pods,
                                        .min = to_i32(from->min),
                                        .constraint = from->constraint};
    }
    return sets;
}

static void place_pod(struct builder *b, const struct import_pod *pod)
{
    const bool waits = pod->status == ORR_TASK_PENDING || pod->status == ORR_TASK_GATED;
    const bool ended = pod->status == ORR_TASK_SUCCEEDED || pod->status == ORR_TASK_FAILED;
    if (pod->status == ORR_TASK_UNKNOWN) {
        import_note(b->model, "a pod of another phase than Pending, Running, Succeeded and Failed "
                              "neither runs nor waits");
    }
    const uint32_t node = waits || ended ? ORR_NONE : find_node(b, pod->node);
    struct orr_session *session = b->session;
    const uint32_t devices = session->asks[session->tasks[pod->task].ask].devices;
    uint32_t groups[ORR_SHARED_DEVICES_MAX];
    uint32_t count = node == ORR_NONE ? 0 : devices;
    for (uint32_t g = 0; g < count; g++) { /* without a name it has the device for itself */
        groups[g] = g < pod->group_count
                        ? orr_idmap_find(&b->groups, pod->groups[g], strlen(pod->groups[g]))
                        : session->next_gpu_group + g;
    }
    orr_session_set_task(session, pod->task, (enum orr_task_status)pod->status, node, groups,
                         count);
    if (pod->nominated != NULL && session->rules.nominated_node) {
        session->tasks[pod->task].nominated = find_node(b, pod->nominated);
    }
}

static void add_job(struct builder *b, struct import_job *job)
{
    struct import_model *model = b->model;
    const struct orr_session_rules *rules = &b->session->rules;
    const int64_t heeded =
        (rules->kubeflow ? IMPORT_NO_MASTER : 0) | (rules->ray ? IMPORT_NO_HEAD : 0);
    struct orr_task_spec *tasks = orr_zalloc(job->pod_count + (size_t)1, sizeof *tasks);
    uint32_t *pods = orr_alloc(job->pod_count + (size_t)1, sizeof *pods);
    uint32_t *ids = orr_alloc(job->pod_count + (size_t)1, sizeof *ids);
    uint32_t count = 0;
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t set = find_set(job, pod->subset);
        if (set == ORR_NONE) { /* KAI: a pod of a missing subgroup is no part of the job */
            job->invalid_pods += pod->status == ORR_TASK_PENDING || pod->status == ORR_TASK_GATED;
            model->pods[p].job = ORR_NONE;
            continue;
        }
        pods[count] = p;
        tasks[count++] =
            (struct orr_task_spec){.name = pod->uid,
                                   .set = set,
                                   .ask = add_ask(b, pod),
                                   .constraint_key = pod->constraint_key,
                                   .order_class = pod->order_class & heeded,
                                   .has_priority = rules->task_order && pod->has_priority,
                                   .priority = pod->priority,
                                   .created_s = pod->created_s};
    }
    const uint32_t queue = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue));
    struct orr_set_spec *sets = list_sets(job);
    const struct orr_job_spec_tree spec = {.name = job->name,
                                           .queue = queue == ORR_NONE ? ORR_NONE
                                                                      : model->queues[queue].id,
                                           .priority = to_i32(job->priority),
                                           .preemptible = job->preemptible,
                                           .created_s = job->created_s,
                                           .preemption_delay = job->preemption_delay,
                                           .staleness_grace = job->staleness_grace,
                                           .placement_class = twins_of(b, job, tasks, count),
                                           .sets = sets,
                                           .set_count = job->set_count,
                                           .tasks = tasks,
                                           .task_count = count};
    job->id = orr_session_add_job(b->session, &spec, ids);
    for (uint32_t t = 0; t < count; t++) {
        model->pods[pods[t]].task = ids[t];
        place_pod(b, &model->pods[pods[t]]);
    }
    struct orr_sjob *made = &b->session->jobs[job->id];
    made->last_start = job->last_start;
    made->last_eviction = job->last_eviction;
    made->stale_since = job->stale_since;
    orr_free(sets);
    orr_free(tasks);
    orr_free(pods);
    orr_free(ids);
}

/* The job of pods that wait and of pods that run is in no queue's books. */
static void leave_out(struct import_model *model, struct import_job *job)
{
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        job->left_out_pods +=
            model->pods[p].status == ORR_TASK_PENDING || model->pods[p].status == ORR_TASK_GATED;
        model->pods[p].job = ORR_NONE;
    }
}

/* Pods that no job has hold room on their nodes all the same: tasks of one that has no queue, needs
 * nothing and may not be preempted, so that nothing is decided about it. */
static void add_loose_pods(struct builder *b)
{
    const struct orr_set_spec sets[] = {{.name = "", .parent = ORR_NONE, .min = -1},
                                        {.name = "default", .is_pods = true}};
    struct import_model *model = b->model;
    struct orr_task_spec *tasks = orr_zalloc(model->pod_count + (size_t)1, sizeof *tasks);
    uint32_t *pods = orr_alloc(model->pod_count + (size_t)1, sizeof *pods);
    uint32_t *ids = orr_alloc(model->pod_count + (size_t)1, sizeof *ids);
    uint32_t count = 0;
    for (uint32_t p = 0; p < model->pod_count; p++) {
        const struct import_pod *pod = &model->pods[p];
        if (pod->job == ORR_NONE && orr_status_in(pod->status, ORR_STATES_ACTIVE_USED)) {
            pods[count] = p;
            tasks[count++] =
                (struct orr_task_spec){.name = pod->uid, .set = 1, .ask = add_ask(b, pod)};
        }
    }
    if (count > 0) {
        const struct orr_job_spec_tree spec = {.name = "",
                                               .queue = ORR_NONE,
                                               .staleness_grace = ORR_MS_NONE,
                                               .placement_class = ORR_NONE,
                                               .sets = sets,
                                               .set_count = 2,
                                               .tasks = tasks,
                                               .task_count = count};
        (void)orr_session_add_job(b->session, &spec, ids);
    }
    for (uint32_t t = 0; t < count; t++) {
        model->pods[pods[t]].task = ids[t];
        place_pod(b, &model->pods[pods[t]]);
    }
    orr_free(tasks);
    orr_free(pods);
    orr_free(ids);
}

/* Devices are numbered in byte order of their names, KAI's last tie among them. */
static void number_groups(struct builder *b)
{
    const char **names = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t p = 0; p < b->model->pod_count; p++) {
        for (uint32_t g = 0; g < b->model->pods[p].group_count; g++) {
            names = ORR_ROOM_FOR_ONE(names, count, capacity);
            names[count++] = b->model->pods[p].groups[g];
        }
    }
    orr_sort(names, count, sizeof *names, orr_compare_texts, NULL);
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;
        const uint32_t id = orr_idmap_put(&b->groups, names[i], strlen(names[i]), NULL);
        b->session->numbered_gpu_groups += id == b->session->numbered_gpu_groups &&
                                           orr_parse_i64(names[i], strlen(names[i]), &number);
    }
    orr_free(names);
    b->session->next_gpu_group = b->groups.count;
}

void import_build(struct import_model *model, struct orr_session *session)
{
    struct builder b = {.model = model, .session = session};
    struct orr_idmap *const maps[] = {&b.selections, &b.tolerations, &b.asks, &b.shapes, &b.groups};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_init(maps[i]);
    }
    add_slots(&b);
    add_nodes(&b);
    add_topologies(&b);
    add_queues(&b);
    number_groups(&b);
    for (uint32_t j = 0; j < model->job_count; j++) {
        if (model->jobs[j].back_off) {
            leave_out(model, &model->jobs[j]);
        } else if (model->jobs[j].set_count > 0) {
            add_job(&b, &model->jobs[j]);
        }
    }
    add_loose_pods(&b);
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        orr_idmap_release(maps[i]);
    }
    orr_free(b.selection_filters);
    orr_free(b.toleration_filters);
    orr_free(b.ask_ids);
}
