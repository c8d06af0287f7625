/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Our own form of a snapshot: what a person writes to try a rule out (README.md shows all of it).
 * Every key is checked: an unknown one is an error that names the nearest. */
#include <string.h>

#include <orrery/base/digest.h>
#include <orrery/base/text.h>
#include <orrery/core/job.h>

#include "model.h"

#define PLENTY ((int64_t)100000000000000) /* of CPU and memory, where a node says nothing */

bool import_is_own(const struct import_value *document)
{
    const char *kind = import_label(document, "kind");
    const char *version = import_label(document, "apiVersion");
    return kind != NULL && version != NULL && strcmp(kind, "Snapshot") == 0 &&
           strncmp(version, "orrery/", 7) == 0;
}

static void check_keys(struct import_load *load, const struct import_value *map,
                       const char *const *known, const char *what)
{
    size_t count = 0;
    while (known[count] != NULL) {
        count++;
    }
    if (map != NULL && map->kind != IMPORT_MAP) {
        import_fail(load, map, "%s: an object belongs here", what);
        return;
    }
    IMPORT_EACH(value, map)
    {
        bool found = false;
        for (size_t i = 0; i < count; i++) {
            found = found || strcmp(known[i], value->key) == 0;
        }
        if (!found) {
            const char *near = orr_nearest(value->key, known, count);
            import_fail(load, value, "%s has no key \"%.60s\"%s%s%s", what, value->key,
                        near != NULL ? " (did you mean \"" : "", near != NULL ? near : "",
                        near != NULL ? "\"?)" : "");
            return;
        }
    }
}

/* --- scalars --- */

static int64_t quantity(struct import_model *model, const struct import_value *map, const char *key,
                        int64_t scale, int64_t fallback)
{
    const char *text = import_text(model->load, map, key, NULL);
    int64_t amount = fallback;
    if (text != NULL && (!import_quantity(text, scale, &amount) || amount < 0)) {
        import_fail(model->load, import_get(map, key), "%s: \"%.60s\" is not a quantity", key,
                    text);
    }
    return amount;
}

static int64_t memory(struct import_model *model, const struct import_value *map, const char *key,
                      int64_t fallback)
{
    const char *text = import_text(model->load, map, key, NULL);
    int64_t bytes = fallback;
    if (text != NULL && !orr_parse_memory(text, strlen(text), &bytes)) {
        import_fail(model->load, import_get(map, key),
                    "%s: \"%.60s\" is not a memory with its unit, such as 80Gi", key, text);
    }
    return bytes;
}

static orr_ms duration(struct import_model *model, const struct import_value *map, const char *key,
                       orr_ms fallback)
{
    const char *text = import_text(model->load, map, key, NULL);
    orr_ms span = fallback;
    if (text != NULL && !import_duration(text, &span)) {
        import_fail(model->load, import_get(map, key),
                    "%s: \"%.60s\" is not a time with its unit, such as 90s or 2h", key, text);
    }
    return span;
}

/* So long ago. */
static orr_ms age_of(struct import_model *model, const struct import_value *map, const char *key,
                     orr_ms fallback)
{
    const orr_ms age = duration(model, map, key, fallback);
    if (age < 0 && age != fallback) {
        import_fail(model->load, import_get(map, key),
                    "%s: \"%.60s\" lies ahead: times of a snapshot are ages, so long ago", key,
                    import_text(model->load, map, key, ""));
    }
    return age;
}

static int64_t count_of(struct import_model *model, const struct import_value *map, const char *key,
                        int64_t fallback, int64_t most)
{
    const int64_t number = import_int(model->load, map, key, fallback);
    if (import_get(map, key) != NULL && (number < 0 || number > most)) {
        import_fail(model->load, import_get(map, key), "%s: %lld is not within 0 to %lld", key,
                    (long long)number, (long long)most);
        return fallback;
    }
    return number;
}

/* --- nodes --- */

static void take_resources(struct import_model *model, const struct import_value *from,
                           const char *key, struct import_vec *vec)
{
    const struct import_vec more = import_resources(model, import_map(model->load, from, key));
    for (int r = IMPORT_EXTENDED; r < IMPORT_RESOURCES_MAX; r++) {
        vec->v[r] += more.v[r];
    }
}

/* Profiles without the vendor: "3g.20gb: 2". Returns whether there is any. */
static bool take_mig(struct import_model *model, const struct import_value *from,
                     struct import_vec *vec)
{
    bool any = false;
    IMPORT_EACH(item, import_map(model->load, from, "mig"))
    {
        const uint32_t slot =
            import_resource(model, import_format(model->load, "nvidia.com/mig-%s", item->key));
        int64_t amount = 0;
        const char *text = import_scalar(model->load, item);
        if (slot == ORR_NONE || !orr_parse_i64(text, strlen(text), &amount) || amount < 0 ||
            amount > 1000000) {
            import_fail(model->load, item, "mig: %.60s is not a count of instances", text);
            return any;
        }
        vec->v[slot] += amount;
        any = any || amount > 0;
    }
    return any;
}

static uint8_t strategy_of(struct import_model *model, const struct import_value *from)
{
    const char *word = import_text(model->load, from, "mig_strategy", NULL);
    if (word == NULL) {
        return ORR_MIG_UNKNOWN;
    }
    if (strcmp(word, "mixed") != 0 && strcmp(word, "single") != 0) {
        import_fail(model->load, from, "mig_strategy: \"%.60s\" is neither mixed nor single", word);
    }
    return strcmp(word, "mixed") == 0 ? ORR_MIG_MIXED : ORR_MIG_SINGLE;
}

/* A node has its own name as a label beside those written, as Kubernetes gives it. */
static const struct import_value *labels_of(struct import_model *model,
                                            const struct import_value *from, const char *name)
{
    struct import_value *labels = orr_arena_alloc(model->load->arena, 1, sizeof *labels);
    struct import_value *host = orr_arena_alloc(model->load->arena, 1, sizeof *host);
    const struct import_value *given = import_map(model->load, from, "labels");
    if (import_label(given, "kubernetes.io/hostname") != NULL) {
        return given;
    }
    *labels = *from;
    labels->kind = IMPORT_MAP;
    *host = (struct import_value){.key = "kubernetes.io/hostname",
                                  .text = name,
                                  .next = given != NULL ? given->first : NULL,
                                  .file = from->file,
                                  .line = from->line,
                                  .column = from->column,
                                  .kind = IMPORT_TEXT};
    labels->first = host;
    labels->count = given != NULL ? given->count + 1 : 1;
    return labels;
}

static void read_node(struct import_model *model, const struct import_value *from)
{
    static const char *const keys[] = {"gpus",   "cpu",          "memory",    "pods",
                                       "labels", "gpu_memory",   "ready",     "taints",
                                       "mig",    "mig_strategy", "resources", NULL};
    check_keys(model->load, from, keys, "a node");
    struct import_node *node = import_add_node(model, from, from->key);
    if (node == NULL || !import_ok(model->load)) {
        return;
    }
    node->labels = labels_of(model, from, from->key);
    node->taints = import_list(model->load, from, "taints");
    node->ready = import_bool(model->load, from, "ready", true);
    node->gpu_count = count_of(model, from, "gpus", 0, 1000000);
    node->allocatable.v[IMPORT_GPU] = node->gpu_count;
    node->allocatable.v[IMPORT_CPU] = quantity(model, from, "cpu", 1000, PLENTY);
    node->allocatable.v[IMPORT_MEMORY] = memory(model, from, "memory", PLENTY);
    node->allocatable.v[IMPORT_PODS] = count_of(model, from, "pods", 110, 1000000);
    node->gpu_memory_mib = memory(model, from, "gpu_memory", 0) / ORR_MIB;
    node->mig_strategy = strategy_of(model, from);
    node->is_mig = take_mig(model, from, &node->allocatable);
    if (node->mig_strategy == ORR_MIG_MIXED) { /* all devices are cut up */
        node->allocatable.v[IMPORT_GPU] = 0;
    }
    take_resources(model, from, "resources", &node->allocatable);
}

/* --- queues, topologies --- */

static double share_amount(struct import_model *model, const struct import_value *value,
                           enum orr_share_kind kind)
{
    const char *text = import_scalar(model->load, value);
    if (strcmp(text, "unlimited") == 0 || strcmp(text, "-1") == 0) {
        return ORR_UNLIMITED;
    }
    double real = 0;
    int64_t whole = 0;
    const bool good =
        kind == ORR_SHARE_GPU
            ? orr_parse_double(text, strlen(text), &real) && real >= 0
            : import_quantity(text, kind == ORR_SHARE_CPU ? 1000 : 1, &whole) && whole >= 0;
    if (!good) {
        import_fail(model->load, value, "\"%.60s\" is neither an amount nor unlimited", text);
        return 0;
    }
    real = kind == ORR_SHARE_GPU ? real : (double)whole;
    return real < 1e15 ? real : 1e15;
}

static double weight_of(struct import_model *model, const struct import_value *value)
{
    const char *text = import_scalar(model->load, value);
    double weight = 0;
    if (!orr_parse_double(text, strlen(text), &weight) || weight < 0 || weight > 1e9) {
        import_fail(model->load, value, "\"%.60s\" is not a weight", text);
    }
    return weight;
}

/* [quota, weight, limit], or the same by name. */
static void read_share(struct import_model *model, const struct import_value *queue,
                       const char *key, enum orr_share_kind kind, struct orr_share_resource *out)
{
    static const char *const keys[] = {"quota", "weight", "limit", NULL};
    const struct import_value *value = import_get(queue, key);
    const struct import_value *parts[3] = {NULL};
    if (value == NULL) {
        return;
    }
    if (value->kind == IMPORT_LIST && value->count <= 3) {
        uint32_t i = 0;
        IMPORT_EACH(part, value)
        {
            parts[i++] = part;
        }
    } else if (value->kind == IMPORT_MAP) {
        check_keys(model->load, value, keys, key);
        for (int i = 0; i < 3; i++) {
            parts[i] = import_get(value, keys[i]);
        }
    } else {
        import_fail(model->load, value, "%s: [quota, weight, limit] belongs here", key);
    }
    out->deserved = parts[0] != NULL ? share_amount(model, parts[0], kind) : out->deserved;
    out->weight = parts[1] != NULL ? weight_of(model, parts[1]) : out->weight;
    out->limit = parts[2] != NULL ? share_amount(model, parts[2], kind) : out->limit;
}

static void read_queue(struct import_model *model, const struct import_value *from)
{
    static const char *const keys[] = {"parent",   "gpu",
                                       "cpu",      "memory",
                                       "priority", "preempt_min_runtime",
                                       "age",      "reclaim_min_runtime",
                                       NULL};
    check_keys(model->load, from, keys, "a queue");
    struct import_queue *queue = import_add_queue(model, from, from->key);
    if (queue == NULL || !import_ok(model->load)) {
        return;
    }
    queue->parent = import_text(model->load, from, "parent", "");
    queue->priority = import_int(model->load, from, "priority", 100);
    /* Without ages those above are older. */
    queue->created_s = import_get(from, "age") != NULL ? -age_of(model, from, "age", 0) / 1000
                                                       : (int64_t)model->queue_count;
    queue->preempt_min_runtime = duration(model, from, "preempt_min_runtime", ORR_MS_NONE);
    queue->reclaim_min_runtime = duration(model, from, "reclaim_min_runtime", ORR_MS_NONE);
    for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
        queue->resource[kind] =
            (struct orr_share_resource){.deserved = kind == ORR_SHARE_GPU ? 0 : ORR_UNLIMITED,
                                        .limit = ORR_UNLIMITED,
                                        .weight = 1};
    }
    read_share(model, from, "gpu", ORR_SHARE_GPU, &queue->resource[ORR_SHARE_GPU]);
    read_share(model, from, "cpu", ORR_SHARE_CPU, &queue->resource[ORR_SHARE_CPU]);
    read_share(model, from, "memory", ORR_SHARE_MEMORY, &queue->resource[ORR_SHARE_MEMORY]);
}

static void read_topology(struct import_model *model, const struct import_value *from)
{
    if (from->kind != IMPORT_LIST) {
        import_fail(model->load, from, "a list of node labels belongs here, widest first");
        return;
    }
    struct import_topology *topology = import_add_topology(model, from->key, from->count);
    uint32_t l = 0;
    IMPORT_EACH(level, from)
    {
        topology->labels[l++] = import_scalar(model->load, level);
    }
}

/* --- jobs --- */

static struct orr_constraint read_constraint(struct import_model *model,
                                             const struct import_value *from)
{
    static const char *const keys[] = {"name", "required", "preferred", NULL};
    const struct import_value *given = import_map(model->load, from, "topology");
    check_keys(model->load, given, keys, "topology");
    return (struct orr_constraint){.topology = import_text(model->load, given, "name", NULL),
                                   .required = import_text(model->load, given, "required", NULL),
                                   .preferred = import_text(model->load, given, "preferred", NULL)};
}

static struct import_request read_request(struct import_model *model,
                                          const struct import_value *from)
{
    struct import_request request = {.kind = ORR_ASK_NO_GPU};
    request.vec.v[IMPORT_PODS] = 1;
    request.vec.v[IMPORT_CPU] = quantity(model, from, "cpu", 1000, 0);
    request.vec.v[IMPORT_MEMORY] = memory(model, from, "memory", 0);
    request.vec.v[IMPORT_GPU] = count_of(model, from, "gpus", 0, 1000000);
    request.kind = request.vec.v[IMPORT_GPU] > 0 ? ORR_ASK_WHOLE : ORR_ASK_NO_GPU;
    const double portion = import_number(model->load, from, "gpu_fraction", 0);
    const int64_t mib = memory(model, from, "gpu_memory", 0) / ORR_MIB;
    if (portion < 0 || portion >= 1 || (portion > 0 && mib > 0) ||
        ((portion > 0 || mib > 0) && request.kind == ORR_ASK_WHOLE)) {
        import_fail(model->load, from,
                    "GPUs are asked for by one of gpus, gpu_fraction (below 1) and gpu_memory");
        return request;
    }
    if (portion > 0 || mib > 0) {
        request.kind = portion > 0 ? ORR_ASK_FRACTION : ORR_ASK_MEMORY;
        request.portion = portion;
        request.memory_mib = mib;
        request.devices = (uint32_t)count_of(model, from, "gpu_devices", 1, ORR_SHARED_DEVICES_MAX);
    }
    if (take_mig(model, from, &request.vec)) {
        request.kind = ORR_ASK_MIG;
        request.vec.v[IMPORT_GPU] = 0;
    }
    take_resources(model, from, "resources", &request.vec);
    return request;
}

static uint8_t read_state(struct import_model *model, const struct import_value *from,
                          uint8_t fallback)
{
    static const char *const words[] = {
        "Pending",   "Gated",     "Allocated", "Pipelined", "Binding", "Bound",           "Running",
        "Releasing", "Succeeded", "Failed",    "Unknown",   "Deleted", "StuckInReleasing"};
    const char *word = import_text(model->load, from, "state", NULL);
    if (word == NULL) {
        return fallback;
    }
    for (uint8_t s = 0; s < sizeof words / sizeof words[0]; s++) {
        if (strcmp(words[s], word) == 0) {
            return s;
        }
    }
    const char *near = orr_nearest(word, words, sizeof words / sizeof words[0]);
    import_fail(model->load, import_get(from, "state"), "\"%.60s\" is no state of a pod%s%s%s",
                word, near != NULL ? " (did you mean \"" : "", near != NULL ? near : "",
                near != NULL ? "\"?)" : "");
    return fallback;
}

static bool is_node(const struct import_model *model, const char *name)
{
    return orr_idmap_find(&model->node_names, name, strlen(name)) != ORR_NONE;
}

#define REQUEST_KEYS                                                                               \
    "cpu", "memory", "gpus", "gpu_fraction", "gpu_memory", "gpu_devices", "mig", "resources"

static int64_t read_priority(struct import_model *model, const struct import_value *from)
{
    int32_t priority;
    const char *text = import_text(model->load, from, "priority", "train");
    /* a text that is neither class nor number is refused as one that should be a number */
    return orr_priority_parse(text, &priority) ? priority
                                               : import_int(model->load, from, "priority", 50);
}

/* What KAI's scheduling signature hashes of a job's pods, resources left out; they are of the job's
 * priority class, as in a run. */
static uint64_t constraint_key(struct import_model *model, const struct import_value *of_job)
{
    static const char *const parts[] = {"selector", "affinity", "tolerations"};
    uint64_t key = (uint64_t)read_priority(model, of_job);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = import_canonical(import_get(of_job, parts[i]));
        key = (key ^ orr_hash_bytes(text, strlen(text))) * 0x9e3779b97f4a7c15u;
        orr_free(text);
    }
    return key;
}

/* One pod; what it leaves out is the job's. */
static void read_pod(struct import_model *model, uint32_t job, const struct import_value *from,
                     const struct import_value *of_job, const char *node, const char *name)
{
    static const char *const asks[] = {REQUEST_KEYS, NULL};
    bool own_request = false;
    for (int i = 0; asks[i] != NULL; i++) {
        own_request = own_request || import_get(from, asks[i]) != NULL;
    }
    struct import_pod *pod = import_add_pod(model, job);
    pod->name = import_text(model->load, from, "name", name);
    pod->uid = pod->name;
    pod->subset = import_text(model->load, from, "subgroup", "");
    pod->request = read_request(model, own_request ? from : of_job);
    pod->node = import_text(model->load, from, "node", node);
    if (pod->node != NULL && !is_node(model, pod->node)) {
        import_fail(model->load, from != NULL ? from : of_job, "there is no node %.100s",
                    pod->node);
        return;
    }
    const uint8_t usual = pod->node != NULL ? ORR_TASK_RUNNING : ORR_TASK_PENDING;
    pod->status = read_state(model, from, read_state(model, of_job, usual));
    pod->nominated = import_text(model->load, from, "nominated", NULL);
    pod->has_priority = import_get(from, "priority") != NULL;
    pod->priority = import_int(model->load, from, "priority", 0);
    const struct import_value *groups = import_list(model->load, from, "devices");
    pod->groups =
        orr_arena_alloc(model->load->arena, pod->request.devices + (size_t)1, sizeof *pod->groups);
    IMPORT_EACH(group, groups)
    {
        if (pod->group_count < pod->request.devices) {
            pod->groups[pod->group_count++] = import_format(model->load, "%.100s/%.100s", pod->node,
                                                            import_scalar(model->load, group));
        }
    }
    pod->selector = import_map(model->load, of_job, "selector");
    pod->affinity = import_map(model->load, of_job, "affinity");
    pod->tolerations = import_list(model->load, of_job, "tolerations");
    pod->constraint_key = constraint_key(model, of_job);
}

static void read_pods(struct import_model *model, uint32_t job, const struct import_value *from)
{
    static const char *const keys[] = {"name",    "state",    "node",       "subgroup", "nominated",
                                       "devices", "priority", REQUEST_KEYS, NULL};
    struct import_load *load = model->load;
    const struct import_value *list = import_get(from, "pods");
    const struct import_value *nodes = import_list(load, from, "nodes");
    if (list != NULL && list->kind == IMPORT_LIST) {
        int64_t index = 0;
        IMPORT_EACH(pod, list)
        {
            check_keys(load, pod, keys, "a pod");
            read_pod(model, job, pod, from, NULL,
                     import_format(load, "%.200s-%lld", from->key, (long long)index++));
        }
        return;
    }
    const int64_t count = count_of(model, from, "pods", nodes != NULL ? nodes->count : 1, 100000);
    const struct import_value *node = nodes != NULL ? nodes->first : NULL;
    for (int64_t i = 0; i < count && import_ok(load); i++) {
        read_pod(model, job, NULL, from, node != NULL ? import_scalar(load, node) : NULL,
                 import_format(load, "%.200s-%lld", from->key, (long long)i));
        node = node != NULL ? node->next : NULL;
    }
}

static void read_sets(struct import_model *model, struct import_job *job,
                      const struct import_value *from, uint32_t parent, uint32_t depth)
{
    static const char *const keys[] = {"min", "min_subgroups", "topology", "subgroups", NULL};
    IMPORT_EACH(group, import_map(model->load, from, "subgroups"))
    {
        check_keys(model->load, group, keys, "a subgroup");
        const bool is_set = import_get(group, "subgroups") != NULL;
        const int64_t min = is_set ? import_int(model->load, group, "min_subgroups", -1)
                                   : count_of(model, group, "min", 0, 1000000);
        const uint32_t set = import_add_set(job, group->key, parent, !is_set, min);
        job->sets[set].constraint = read_constraint(model, group);
        if (is_set && depth < 32) {
            read_sets(model, job, group, set, depth + 1);
        }
    }
}

static void read_job(struct import_model *model, const struct import_value *from)
{
    static const char *const keys[] = {"queue",
                                       "priority",
                                       "preemptible",
                                       "age",
                                       "started",
                                       "pods",
                                       "min_pods",
                                       "nodes",
                                       "state",
                                       "selector",
                                       "affinity",
                                       "tolerations",
                                       "topology",
                                       "min_subgroups",
                                       "subgroups",
                                       "stale",
                                       "staleness_grace",
                                       "evicted",
                                       "preemption_delay",
                                       REQUEST_KEYS,
                                       NULL};
    struct import_load *load = model->load;
    check_keys(load, from, keys, "a job");
    struct import_job *job = import_ok(load) ? import_add_job(model, from, from->key) : NULL;
    if (job == NULL) {
        return;
    }
    const uint32_t index = model->job_count - 1;
    job->origin = "Snapshot";
    job->queue = import_text(load, from, "queue", "");
    job->priority = read_priority(model, from);
    job->preemptible = import_bool(load, from, "preemptible", job->priority < 100);
    /* Times are ages: so long ago. Without one those above are older. */
    const orr_ms now = model->now;
    job->created_s = import_get(from, "age") != NULL ? (now - age_of(model, from, "age", 0)) / 1000
                                                     : now / 1000 - 100000 + (int64_t)index;
    const orr_ms started = age_of(model, from, "started", ORR_MS_NONE);
    const orr_ms evicted = age_of(model, from, "evicted", ORR_MS_NONE);
    const orr_ms stale = age_of(model, from, "stale", ORR_MS_NONE);
    job->last_start = started != ORR_MS_NONE ? now - started : ORR_MS_NONE;
    job->last_eviction = evicted != ORR_MS_NONE ? now - evicted : ORR_MS_NONE;
    job->stale_since = stale != ORR_MS_NONE ? now - stale : ORR_MS_NONE;
    job->preemption_delay = duration(model, from, "preemption_delay", 0);
    job->staleness_grace = duration(model, from, "staleness_grace", ORR_MS_NONE);
    job->sets[0].constraint = read_constraint(model, from);
    job->sets[0].min = import_int(load, from, "min_subgroups", -1);
    read_sets(model, job, from, 0, 0);
    const bool plain = job->set_count == 1;
    read_pods(model, index, from);
    job = &model->jobs[index];
    if (job->pod_count == 0 && import_ok(load)) { /* nothing could be decided about it */
        const struct import_value *pods = import_get(from, "pods");
        import_fail(load, pods != NULL ? pods : from, "a job has at least one pod");
    }
    if (plain && import_ok(load)) { /* a gang, unless it says otherwise */
        (void)import_add_set(job, "default", 0, true,
                             count_of(model, from, "min_pods", job->pod_count, 1000000));
    }
}

/* --- the document --- */

static void read_params(struct import_model *model, const struct import_value *params)
{
    IMPORT_EACH(param, params)
    {
        import_set_param(model, param->key, import_scalar(model->load, param), param, false);
    }
}

void import_read_own(struct import_model *model, const struct import_value *document)
{
    static const char *const keys[] = {"apiVersion", "kind",   "now",  "nodes", "topologies",
                                       "queues",     "params", "jobs", NULL};
    static const struct {
        const char *key;
        void (*read)(struct import_model *, const struct import_value *);
    } parts[] = {{"nodes", read_node},
                 {"topologies", read_topology},
                 {"queues", read_queue},
                 {"jobs", read_job}};
    struct import_load *load = model->load;
    model->form = "Snapshot";
    model->reserves = true;
    check_keys(load, document, keys, "a Snapshot");
    const char *now = import_text(load, document, "now", NULL);
    orr_ms at = 0;
    if (now != NULL && !import_time(now, &at)) {
        import_fail(load, import_get(document, "now"), "now: \"%.60s\" is not a time", now);
    }
    model->now = model->now != ORR_MS_NONE ? model->now : at;
    read_params(model, import_map(load, document, "params"));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        IMPORT_EACH(part, import_map(load, document, parts[i].key))
        {
            if (import_ok(load)) {
                parts[i].read(model, part);
            }
        }
    }
}
