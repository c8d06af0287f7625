/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods: what they ask, what state they are in, where they are, whose they are. */
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/text.h>

#include "kube.h"

/* --- requests --- */

static void add(struct import_vec *to, const struct import_vec *from)
{
    for (int s = 0; s < IMPORT_RESOURCES_MAX; s++) {
        to->v[s] += from->v[s];
    }
}

static void take_larger(struct import_vec *to, const struct import_vec *from)
{
    for (int s = 0; s < IMPORT_RESOURCES_MAX; s++) {
        to->v[s] = from->v[s] > to->v[s] ? from->v[s] : to->v[s];
    }
}

/* What a container requests. The API server takes a limit for a request that is missing
 * (SetDefaults_Pod); objects written by hand have not been there yet. KAI itself reads no limits,
 * so its snapshot is taken as it is. */
static struct import_vec container_request(struct kube *kube, const struct import_value *container)
{
    const struct import_value *limits =
        kube->snapshot == NULL ? import_map(kube->load, container, "resources/limits") : NULL;
    return import_requests(kube->model, import_map(kube->load, container, "resources/requests"),
                           limits);
}

/* Containers and sidecars together, or the peak while the pod is being initialised: each init
 * container beside the sidecars declared before it. Then the overhead. */
static struct import_vec sum_containers(struct kube *kube, const struct import_value *spec)
{
    struct import_vec sum = {{0}}, sidecars = {{0}}, peak = {{0}};
    IMPORT_EACH(container, import_list(kube->load, spec, "containers"))
    {
        struct import_vec one = container_request(kube, container);
        add(&sum, &one);
    }
    IMPORT_EACH(container, import_list(kube->load, spec, "initContainers"))
    {
        struct import_vec one = container_request(kube, container);
        const bool stays =
            strcmp(import_text(kube->load, container, "restartPolicy", ""), "Always") == 0;
        add(&one, &sidecars);
        take_larger(&peak, &one);
        if (stays) {
            sidecars = one;
        }
    }
    add(&sum, &sidecars);
    take_larger(&sum, &peak);
    struct import_vec overhead =
        import_resources(kube->model, import_map(kube->load, spec, "overhead"));
    add(&sum, &overhead);
    sum.v[IMPORT_PODS] = 1;
    return sum;
}

static bool asks_mig(const struct import_model *model, const struct import_vec *vec)
{
    for (uint32_t r = 0; r < model->resources.count; r++) {
        if (vec->v[IMPORT_EXTENDED + r] > 0 &&
            strstr(orr_idmap_name(&model->resources, r), "/mig-") != NULL) {
            return true;
        }
    }
    return false;
}

static void drop_mig(const struct import_model *model, struct import_vec *vec)
{
    for (uint32_t r = 0; r < model->resources.count; r++) {
        if (strstr(orr_idmap_name(&model->resources, r), "/mig-") != NULL) {
            vec->v[IMPORT_EXTENDED + r] = 0;
        }
    }
}

static int64_t whole_annotation(struct kube *kube, const struct import_value *annotations,
                                const char *name)
{
    const char *text = import_label(annotations, name);
    int64_t number = 0;
    if (text != NULL && (!orr_parse_i64(text, strlen(text), &number) || number <= 0)) {
        import_note(kube->model, "annotation %s: not a whole number above 0, not heeded", name);
        return 0;
    }
    return number < 1000000000 ? number : 1000000000;
}

/* Annotations that share devices replace the GPUs of the containers. */
static void share_devices(struct kube *kube, const struct import_value *annotations,
                          struct import_request *request)
{
    const char *fraction = import_label(annotations, "gpu-fraction");
    double portion = 0;
    if (fraction != NULL &&
        (!orr_parse_double(fraction, strlen(fraction), &portion) || portion <= 0 || portion > 1)) {
        import_note(kube->model, "annotation gpu-fraction: not above 0 and up to 1, not heeded");
        portion = 0;
    }
    const int64_t memory = whole_annotation(kube, annotations, "gpu-memory");
    int64_t devices = whole_annotation(kube, annotations, "gpu-fraction-num-devices");
    if (portion <= 0 && memory == 0) {
        return;
    }
    /* KAI: a part goes before MiB; stated with a number of devices these say what it takes there.
     */
    const bool both = portion > 0 && devices > 0;
    devices = devices == 0 ? 1 : devices;
    if (devices > ORR_SHARED_DEVICES_MAX) {
        import_note(kube->model, "a pod shares more than %d devices: counted as %d",
                    ORR_SHARED_DEVICES_MAX, ORR_SHARED_DEVICES_MAX);
        devices = ORR_SHARED_DEVICES_MAX;
    }
    request->vec.v[IMPORT_GPU] = 0;
    drop_mig(kube->model, &request->vec);
    if (portion >= 1) { /* a whole device, however it is written */
        request->kind = ORR_ASK_WHOLE;
        request->vec.v[IMPORT_GPU] = devices;
        return;
    }
    request->kind = portion > 0 ? ORR_ASK_FRACTION : ORR_ASK_MEMORY;
    request->devices = (uint32_t)devices;
    request->portion = portion;
    request->memory_mib = portion > 0 && !both ? 0 : memory;
}

/* --- claims of devices --- */

static const char *claim_key(struct kube *kube, const char *space, const char *name)
{
    return import_format(kube->load, "%.250s/%.250s", space, name);
}

static void index_claims(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_RESOURCE_CLAIM];
    kube->claim_counted = orr_zalloc(list->count + (size_t)1, sizeof *kube->claim_counted);
    for (uint32_t i = 0; i < list->count; i++) {
        const char *key =
            claim_key(kube, kube_namespace(kube, list->items[i]), kube_name(kube, list->items[i]));
        bool added;
        (void)orr_idmap_put(&kube->claims, key, strlen(key), &added);
        if (!added) { /* a name no claim can have keeps indices those of the list */
            const char *none = import_format(kube->load, "//%u", i);
            import_note(kube->model, "two claims of devices have one name: the first is taken");
            (void)orr_idmap_put(&kube->claims, none, strlen(none), NULL);
        }
    }
}

static int64_t claimed_gpus(struct kube *kube, const struct import_value *claim)
{
    int64_t gpus = 0;
    IMPORT_EACH(request, import_list(kube->load, claim, "spec/devices/requests"))
    {
        const struct import_value *exactly = import_map(kube->load, request, "exactly");
        const struct import_value *from = exactly != NULL ? exactly : request;
        const char *class_name = import_text(kube->load, from, "deviceClassName", "");
        const int64_t count = import_int(kube->load, from, "count", 1);
        gpus += strstr(class_name, "gpu") != NULL && count > 0 && count < 1000000 ? count : 0;
    }
    return gpus;
}

/* Whole GPUs of the claims of a pod; a claim that several pods share counts for the first. */
static int64_t count_claims(struct kube *kube, const struct import_value *pod)
{
    int64_t gpus = 0;
    IMPORT_EACH(use, import_list(kube->load, pod, "spec/resourceClaims"))
    {
        const char *name = import_text(kube->load, use, "resourceClaimName", NULL);
        const char *local = import_text(kube->load, use, "name", "");
        IMPORT_EACH(made, import_list(kube->load, pod, "status/resourceClaimStatuses"))
        {
            if (name == NULL && strcmp(import_text(kube->load, made, "name", ""), local) == 0) {
                name = import_text(kube->load, made, "resourceClaimName", NULL);
            }
        }
        const char *key = name != NULL ? claim_key(kube, kube_namespace(kube, pod), name) : "";
        const uint32_t claim = orr_idmap_find(&kube->claims, key, strlen(key));
        if (claim == ORR_NONE) {
            import_note(kube->model, "a claim of devices that is not in the input counts 0 GPUs");
        } else if (!kube->claim_counted[claim]) {
            kube->claim_counted[claim] = true;
            gpus += claimed_gpus(kube, kube->lists[KUBE_RESOURCE_CLAIM].items[claim]);
        }
    }
    return gpus;
}

struct import_request kube_read_request(struct kube *kube, const struct import_value *pod)
{
    struct import_request request = {.vec =
                                         sum_containers(kube, import_map(kube->load, pod, "spec"))};
    request.vec.v[IMPORT_GPU] += count_claims(kube, pod);
    request.kind = request.vec.v[IMPORT_GPU] > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU;
    share_devices(kube, kube_annotations(pod), &request);
    if (asks_mig(kube->model, &request.vec)) {
        request.kind = ORR_ASK_MIG;
        request.vec.v[IMPORT_GPU] = 0;
    }
    return request;
}

/* --- features the model lacks --- */

static uint32_t read_features(const struct kube *kube, const struct import_value *pod)
{
    const struct import_value *spec = import_get(pod, "spec");
    const char *class_name = import_label(import_get(pod, "status"), "qosClass");
    uint32_t bits = import_get(spec, "resourceClaims") != NULL ? 1u << IMPORT_FEATURE_DRA : 0;
    if (import_get(spec, "affinity/podAffinity") != NULL ||
        import_get(spec, "affinity/podAntiAffinity") != NULL) {
        bits |= 1u << IMPORT_FEATURE_POD_AFFINITY;
    }
    if (kube->lists[KUBE_NODE_TOPOLOGY].count > 0 && class_name != NULL &&
        strcmp(class_name, "Guaranteed") == 0) {
        bits |= 1u << IMPORT_FEATURE_NUMA;
    }
    if (import_get(spec, "topologySpreadConstraints") != NULL) {
        bits |= 1u << IMPORT_FEATURE_TOPOLOGY_SPREAD;
    }
    IMPORT_EACH(volume, import_get(spec, "volumes"))
    {
        if (import_get(volume, "persistentVolumeClaim") != NULL ||
            import_get(volume, "ephemeral") != NULL) {
            bits |= 1u << IMPORT_FEATURE_STORAGE;
        }
        if (import_get(volume, "configMap") != NULL) {
            bits |= 1u << IMPORT_FEATURE_CONFIG_MAP;
        }
    }
    IMPORT_EACH(container, import_get(spec, "containers"))
    {
        IMPORT_EACH(port, import_get(container, "ports"))
        {
            if (import_get(port, "hostPort") != NULL) {
                bits |= 1u << IMPORT_FEATURE_HOST_PORTS;
            }
        }
    }
    return bits;
}

/* What KAI's scheduling signature hashes of a pod, resources left out. */
static uint64_t constraint_key(const struct import_value *pod)
{
    static const char *const parts[] = {"spec/nodeSelector",
                                        "spec/affinity",
                                        "spec/tolerations",
                                        "spec/priorityClassName",
                                        "spec/priority",
                                        "spec/volumes",
                                        "spec/topologySpreadConstraints",
                                        "spec/resourceClaims"};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = import_canonical(import_get(pod, parts[i]));
        key = (key ^ orr_hash_bytes(text, strlen(text))) * 0x9e3779b97f4a7c15u;
        orr_free(text);
    }
    IMPORT_EACH(container, import_get(pod, "spec/containers"))
    {
        char *text = import_canonical(import_get(container, "ports"));
        key = (key ^ orr_hash_bytes(text, strlen(text))) * 0x9e3779b97f4a7c15u;
        orr_free(text);
    }
    return key;
}

/* --- state --- */

static const struct import_value *binding_of(struct kube *kube, const struct import_value *pod)
{
    const char *key =
        import_format(kube->load, "%s/%s", kube_namespace(kube, pod), kube_name(kube, pod));
    const uint32_t index = orr_idmap_find(&kube->bindings, key, strlen(key));
    return index != ORR_NONE ? kube->binding_values[index] : NULL;
}

static bool has_node(const struct kube *kube, const char *name)
{
    return name != NULL && orr_idmap_find(&kube->model->node_names, name, strlen(name)) != ORR_NONE;
}

static bool is_open(struct kube *kube, const struct import_value *request)
{
    const bool failed = strcmp(import_text(kube->load, request, "status/phase", ""), "Failed") == 0;
    const int64_t most = import_int(kube->load, request, "spec/backoffLimit", -1);
    const int64_t tried = import_int(kube->load, request, "status/failedAttempts", 0);
    return has_node(kube, import_text(kube->load, request, "spec/selectedNode", NULL)) &&
           !(failed && (most < 0 || tried >= most));
}

static void read_bindings(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_BIND_REQUEST];
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        if (!is_open(kube, list->items[i])) {
            continue;
        }
        const char *key =
            import_format(kube->load, "%s/%s", kube_namespace(kube, list->items[i]),
                          import_text(kube->load, list->items[i], "spec/podName", ""));
        bool added;
        const uint32_t index = orr_idmap_put(&kube->bindings, key, strlen(key), &added);
        if (added) {
            kube->binding_values =
                ORR_ROOM_FOR_ONE(kube->binding_values, index, kube->binding_capacity);
        }
        kube->binding_values[index] = list->items[i];
    }
}

static enum orr_task_status status_of(struct kube *kube, const struct import_value *pod,
                                      const char *node, bool binding, orr_ms now)
{
    const char *phase = import_text(kube->load, pod, "status/phase", "Pending");
    const orr_ms deleted = kube_time(kube, pod, "metadata/deletionTimestamp");
    const struct import_value *gates = import_list(kube->load, pod, "spec/schedulingGates");
    if (strcmp(phase, "Running") == 0) {
        if (deleted == ORR_MS_NONE) {
            return ORR_TASK_RUNNING;
        }
        return now > deleted + kube->stuck_after ? ORR_TASK_STUCK_IN_RELEASING : ORR_TASK_RELEASING;
    }
    if (strcmp(phase, "Pending") == 0) {
        return deleted != ORR_MS_NONE              ? ORR_TASK_RELEASING
               : node != NULL                      ? ORR_TASK_BOUND
               : binding                           ? ORR_TASK_BINDING
               : gates != NULL && gates->count > 0 ? ORR_TASK_GATED
                                                   : ORR_TASK_PENDING;
    }
    return strcmp(phase, "Succeeded") == 0 ? ORR_TASK_SUCCEEDED
           : strcmp(phase, "Failed") == 0  ? ORR_TASK_FAILED
                                           : ORR_TASK_UNKNOWN;
}

static void add_group(struct import_pod *pod, const char *name)
{
    bool known = pod->group_count == pod->request.devices;
    for (uint32_t g = 0; g < pod->group_count; g++) {
        known = known || strcmp(pod->groups[g], name) == 0;
    }
    if (!known) {
        pod->groups[pod->group_count++] = name;
    }
}

/* Shared devices: of the open BindRequest, else of the pod's labels. */
static void read_groups(struct kube *kube, const struct import_value *object,
                        const struct import_value *binding, struct import_pod *pod)
{
    pod->groups =
        orr_arena_alloc(kube->load->arena, pod->request.devices + (size_t)1, sizeof *pod->groups);
    IMPORT_EACH(group, import_list(kube->load, binding, "spec/selectedGPUGroups"))
    {
        add_group(pod, import_scalar(kube->load, group));
    }
    if (pod->group_count > 0) {
        return;
    }
    IMPORT_EACH(label, kube_labels(object))
    {
        if (label->kind == IMPORT_TEXT && (strcmp(label->key, "runai-gpu-group") == 0 ||
                                           strncmp(label->key, "runai-gpu-group/", 16) == 0)) {
            add_group(pod, label->text);
        }
    }
}

/* KAI's plugins kubeflow and ray: their heads go first, Kubeflow's before Ray's. */
static int64_t order_class(const struct import_value *labels)
{
    const char *role = import_label(labels, "training.kubeflow.org/job-role");
    const char *type = import_label(labels, "ray.io/node-type");
    const bool master =
        role != NULL && (strcmp(role, "master") == 0 || strcmp(role, "launcher") == 0);
    const bool head = type != NULL && strcmp(type, "head") == 0;
    return (master ? 0 : IMPORT_NO_MASTER) | (head ? 0 : IMPORT_NO_HEAD);
}

static void read_order(struct kube *kube, const struct import_value *object, struct import_pod *pod)
{
    const struct import_value *labels = kube_labels(object);
    const char *priority = import_label(labels, "kai.scheduler/task-priority");
    pod->order_class = order_class(labels);
    pod->has_priority = priority != NULL;
    if (priority != NULL && !orr_parse_i64(priority, strlen(priority), &pod->priority)) {
        pod->priority = INT64_MIN;
    }
    pod->created_s = kube_created_s(kube, object);
}

/* --- whose it is --- */

/* KAI tells its reservation and scaling pods by this label, in whatever namespace they are. */
static bool is_app(const struct import_value *object, const char *name)
{
    const char *app = import_label(kube_labels(object), "app");
    return app != NULL && strcmp(app, name) == 0;
}

static bool is_helper(const struct kube *kube, const struct import_value *object)
{
    return is_app(object, kube->reservation_app) || is_app(object, "scaling-pod");
}

static void add_foreign(struct kube *kube, const struct import_value *object, bool helper)
{
    const char *node = import_text(kube->load, object, "spec/nodeName", NULL);
    const char *phase = import_text(kube->load, object, "status/phase", "Pending");
    if (!has_node(kube, node) || (strcmp(phase, "Running") != 0 && strcmp(phase, "Pending") != 0)) {
        return;
    }
    struct import_model *model = kube->model;
    model->foreign =
        ORR_ROOM_FOR_ONE(model->foreign, model->foreign_count, model->foreign_capacity);
    struct import_foreign *held = &model->foreign[model->foreign_count++];
    *held = (struct import_foreign){
        .node = node, .counts = helper, .reserves = is_app(object, kube->reservation_app)};
    held->held = sum_containers(kube, import_map(kube->load, object, "spec"));
    if (helper) { /* holds the device on behalf of those who share it */
        held->held.v[IMPORT_GPU] = 0;
    }
}

/* Which group of which PodGang refers to which pod; of several the first counts. */
static void index_gangs(struct kube *kube)
{
    const struct kube_list *owners = &kube->lists[KUBE_OWNER];
    for (uint32_t i = 0; i < owners->count; i++) {
        const struct import_value *gang = owners->items[i];
        const bool is_gang = strcmp(kube_kind_of(gang), "PodGang") == 0;
        IMPORT_EACH(group, is_gang ? import_list(kube->load, gang, "spec/podgroups") : NULL)
        {
            IMPORT_EACH(ref, import_list(kube->load, group, "podReferences"))
            {
                const char *key = import_format(kube->load, "%.250s/%.250s/%.250s/%.250s",
                                                kube_namespace(kube, gang), kube_name(kube, gang),
                                                import_text(kube->load, ref, "namespace", ""),
                                                import_text(kube->load, ref, "name", ""));
                bool added;
                const uint32_t id = orr_idmap_put(&kube->gang_pods, key, strlen(key), &added);
                if (added) {
                    kube->gang_groups =
                        ORR_ROOM_FOR_ONE(kube->gang_groups, id, kube->gang_capacity);
                    kube->gang_groups[id] = import_text(kube->load, group, "name", "");
                }
            }
        }
    }
}

const char *kube_gang_group(struct kube *kube, const struct import_value *pod, const char *gang)
{
    const char *space = kube_namespace(kube, pod);
    const char *key = import_format(kube->load, "%.250s/%.250s/%.250s/%.250s", space, gang, space,
                                    kube_name(kube, pod));
    const uint32_t id = orr_idmap_find(&kube->gang_pods, key, strlen(key));
    return id != ORR_NONE ? kube->gang_groups[id] : "";
}

static const char *group_of(const struct import_value *object)
{
    return import_label(kube_annotations(object), "pod-group-name");
}

/* One of those that each node has for itself, of a DaemonSet or mirrored: no scheduler chooses its
 * node. */
static bool is_of_its_node(const struct import_value *object)
{
    const struct import_value *owners = import_get(object, "metadata/ownerReferences");
    const struct import_value *first = owners != NULL ? owners->first : NULL;
    const char *kind = first != NULL ? import_label(first, "kind") : NULL;
    return kind != NULL && (strcmp(kind, "DaemonSet") == 0 || strcmp(kind, "Node") == 0);
}

bool kube_has_scheduler(struct kube *kube, const struct import_value *object)
{
    const char *name = import_text(kube->load, object, "spec/schedulerName", "default-scheduler");
    return strcmp(name, kube->scheduler_name) == 0 &&
           !(kube->queue_is_namespace && is_of_its_node(object));
}

/* Of its PodGroup, else of the group that its owners make. */
static uint32_t find_job(struct kube *kube, const struct import_value *object)
{
    const char *group = group_of(object);
    if (group == NULL) {
        return kube_group_pod(kube, object);
    }
    const uint32_t known = orr_idmap_find(&kube->model->job_names, group, strlen(group));
    if (known != ORR_NONE && !kube->model->jobs[known].grouped) {
        return known;
    }
    if (kube->snapshot != NULL ||
        orr_idmap_find(&kube->pod_groups, group, strlen(group)) != ORR_NONE) {
        import_note(kube->model, "a pod of a PodGroup that is not in this shard is left out");
        return ORR_NONE;
    }
    if (import_get(object, "metadata/ownerReferences") == NULL) {
        import_note(kube->model,
                    "a pod without an owner names a PodGroup that is not given, and is "
                    "left out as KAI leaves it alone; give podgroups too if there is "
                    "one");
        return ORR_NONE;
    }
    return kube_group_pod(kube, object);
}

/* All groups are made before pods join them: each is as its last pod leads to it. */
static void find_jobs(struct kube *kube)
{
    const struct kube_list *pods = &kube->lists[KUBE_POD];
    const uint32_t given = kube->model->job_count;
    kube->pod_jobs = orr_alloc(pods->count + (size_t)1, sizeof *kube->pod_jobs);
    for (uint32_t i = 0; i < pods->count && import_ok(kube->load); i++) {
        const struct import_value *pod = pods->items[i];
        kube->pod_jobs[i] =
            is_helper(kube, pod) || !kube_has_scheduler(kube, pod) ? ORR_NONE : find_job(kube, pod);
    }
    for (uint32_t j = given; j < kube->model->job_count && import_ok(kube->load); j++) {
        kube_finish_group(kube, &kube->model->jobs[j]);
    }
}

/* The job of pod number i, and its pod set there. */
static uint32_t join_job(struct kube *kube, uint32_t i, const char **subset)
{
    const struct import_value *object = kube->lists[KUBE_POD].items[i];
    const uint32_t job = kube->pod_jobs[i];
    if (job == ORR_NONE || kube->model->jobs[job].set_count == 0) {
        return ORR_NONE;
    }
    const char *name = import_label(kube_labels(object), "kai.scheduler/subgroup-name");
    *subset = kube->model->jobs[job].grouped ? kube_grouped_subset(kube, object)
              : name != NULL                 ? name
                                             : "";
    return job;
}

static void note_class(struct kube *kube, struct import_job *job, const struct import_value *pod)
{
    const struct kube_class is = kube_class_of_pod(kube, pod);
    const bool first = job->pod_count == 1;
    if (!first && is.value != job->pod_priority && kube->model->policy != NULL) {
        import_note(kube->model, "pods of one job have several priorities: the highest counts");
    }
    if (first || is.value > job->pod_priority) {
        job->pod_priority = is.value;
        job->never_preempts = is.never_preempts;
    } else if (is.value == job->pod_priority) {
        job->never_preempts = job->never_preempts && is.never_preempts;
    }
}

static void read_pod(struct kube *kube, uint32_t i)
{
    const struct import_value *object = kube->lists[KUBE_POD].items[i];
    const bool helper = is_helper(kube, object);
    if (helper || !kube_has_scheduler(kube, object)) {
        add_foreign(kube, object, helper);
        if (!helper && !is_of_its_node(object)) {
            const struct import_value *spec = import_map(kube->load, object, "spec");
            kube_leave_pod(kube, object, sum_containers(kube, spec).v[IMPORT_GPU]);
        }
        return;
    }
    const char *subset = "";
    const uint32_t job = join_job(kube, i, &subset);
    if (!import_ok(kube->load)) {
        return;
    }
    const struct import_value *binding = binding_of(kube, object);
    const char *node = import_text(kube->load, object, "spec/nodeName", NULL);
    const enum orr_task_status status =
        status_of(kube, object, node, binding != NULL,
                  kube->model->now != ORR_MS_NONE ? kube->model->now : kube->model->newest);
    if (status == ORR_TASK_BINDING) {
        node = import_text(kube->load, binding, "spec/selectedNode", NULL);
    }
    if (job == ORR_NONE &&
        (!has_node(kube, node) || !orr_status_in((uint8_t)status, ORR_STATES_ACTIVE_USED))) {
        return; /* else it holds room, whosever it is */
    }
    struct import_pod *pod = import_add_pod(kube->model, job);
    pod->name = kube_name(kube, object);
    pod->uid = import_text(kube->load, object, "metadata/uid", pod->name);
    pod->subset = subset;
    pod->request = kube_read_request(kube, object);
    pod->node = node;
    pod->status = (uint8_t)status;
    pod->bound_ms = status == ORR_TASK_BINDING
                        ? kube_time(kube, binding, "metadata/creationTimestamp")
                        : kube_bound_ms(kube, object);
    pod->nominated = import_text(kube->load, object, "status/nominatedNodeName", NULL);
    read_groups(kube, object, binding, pod);
    read_order(kube, object, pod);
    pod->selector = import_map(kube->load, object, "spec/nodeSelector");
    pod->affinity = import_map(kube->load, object, "spec/affinity");
    pod->tolerations = import_list(kube->load, object, "spec/tolerations");
    pod->constraint_key = constraint_key(object);
    pod->features = read_features(kube, object);
    if (job == ORR_NONE) {
        return;
    }
    kube->model->jobs[job].features |= pod->features;
    note_class(kube, &kube->model->jobs[job], object);
}

void kube_read_pods(struct kube *kube)
{
    const struct kube_list *list = &kube->lists[KUBE_POD];
    read_bindings(kube);
    index_claims(kube);
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        /* for what now is, before it is needed */
        (void)kube_created_s(kube, list->items[i]);
        kube_saw_start(kube, list->items[i]);
    }
    index_gangs(kube);
    find_jobs(kube);
    for (uint32_t i = 0; i < list->count && import_ok(kube->load); i++) {
        read_pod(kube, i);
    }
}
