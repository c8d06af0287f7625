/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_kueue.c - the tree of queues as Kueue's own objects: ClusterQueues and Cohorts with quotas
 * by flavor, ResourceFlavors, LocalQueues, a Topology, a Configuration. */
#include "draw.h"

#include <string.h>

enum { GPU, CPU, MEMORY, RESOURCES };

struct objects {
    bool old;               /* of v1beta1: some keys have other names */
    bool list;              /* items of a list; else documents */
    bool by_pool;           /* a flavor a pool; else one of all nodes */
    bool apart;             /* CPU and memory are of a flavor of their own */
    bool covers[RESOURCES]; /* what queues have quota of */
    bool by_usage;          /* ClusterQueues divide by past usage */
    const char *topology;   /* NULL: no flavor has one */
};

bool kueue_objects(const struct draw *d)
{
    const bool likely = strcmp(d->policy[0], "kueue") == 0;
    return d->shard_count == 1 && !has(d, "odd-names", 15) &&
           has(d, "kueue-objects", likely ? 70 : 10);
}

static void open_object(struct draw *d, const struct objects *o, const char *kind, const char *name)
{
    (void)fputs(o->list ? "- {" : "---\n{", d->out);
    d->first = true;
    put(d, "apiVersion", "kueue.x-k8s.io/%s", o->old ? "v1beta1" : "v1beta2");
    put(d, "kind", "%s", kind);
    put(d, "metadata", "{name: %s}", name);
}

/* --- quota --- */

static void put_quantity(struct draw *d, const char *key, int resource, uint32_t most)
{
    const uint32_t amount = below(d, most + 1);
    if (resource == CPU && one_in(d, 3)) {
        put(d, key, "%u00m", 10 * amount);
    } else {
        put(d, key, "%u%s", amount, resource == MEMORY ? "Gi" : "");
    }
}

/* Limits are of what lies below a cohort. */
static void put_quota(struct draw *d, int resource, uint32_t gpus, bool limits)
{
    static const char *const names[RESOURCES] = {"nvidia.com/gpu", "cpu", "memory"};
    const uint32_t most = resource == GPU ? gpus : resource == CPU ? 8 * (gpus + 1) : 16 * gpus;
    (void)fputs(d->first ? "{" : ", {", d->out);
    d->first = true;
    put(d, "name", "%s", names[resource]);
    put_quantity(d, "nominalQuota", resource, most);
    if (limits && one_in(d, 4)) {
        put_quantity(d, "borrowingLimit", resource, most);
    }
    if (limits && one_in(d, 4)) {
        put_quantity(d, "lendingLimit", resource, most / 2);
    }
    close_map(d);
}

static void put_flavor(struct draw *d, const struct objects *o, const char *flavor, bool gpu,
                       bool others, uint32_t gpus, bool limits)
{
    (void)fputs(d->first ? "{" : ", {", d->out);
    d->first = true;
    put(d, "name", "%s", flavor);
    put(d, "resources", "[");
    d->first = true;
    for (int r = 0; r < RESOURCES; r++) {
        if (o->covers[r] && (r == GPU ? gpu : others)) {
            put_quota(d, r, gpus, limits);
        }
    }
    (void)fputs("]", d->out);
    close_map(d);
}

static void open_group(struct draw *d, const struct objects *o, bool gpu, bool others)
{
    (void)fputs(d->first ? "{" : ", {", d->out);
    d->first = true;
    put(d, "coveredResources", "[%s%s%s]", gpu ? "nvidia.com/gpu" : "",
        others && o->covers[CPU] ? (gpu ? ", cpu" : "cpu") : "",
        others && o->covers[MEMORY] ? (gpu || o->covers[CPU] ? ", memory" : "memory") : "");
    put(d, "flavors", "[");
    d->first = true;
}

static void close_group(struct draw *d)
{
    (void)fputs("]", d->out);
    close_map(d);
}

/* Some of the flavors in an order of the queue's own. */
static void put_groups(struct draw *d, const struct objects *o, bool limits)
{
    const uint32_t first = below(d, d->pool_count), count = between(d, 1, d->pool_count);
    put(d, "resourceGroups", "[");
    d->first = true;
    open_group(d, o, true, !o->apart);
    if (!o->by_pool) {
        put_flavor(d, o, "default-flavor", true, !o->apart, d->gpus, limits);
    }
    for (uint32_t f = 0; o->by_pool && f < count; f++) {
        const uint32_t p = (first + f) % d->pool_count;
        put_flavor(d, o, d->flavors[p], true, !o->apart, d->pools[p].nodes * d->pools[p].gpus,
                   limits);
    }
    close_group(d);
    if (o->apart) {
        open_group(d, o, false, true);
        put_flavor(d, o, "cpus", false, true, d->gpus, limits);
        close_group(d);
    }
    (void)fputs("]", d->out);
    d->first = false;
}

/* --- queues --- */

static void put_preemption(struct draw *d)
{
    static const char *const within[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority",
                                         NULL};
    static const char *const reclaim[] = {"Never", "LowerPriority", "Any", "Any", NULL};
    const char *own = any(d, within), *others = any(d, reclaim);
    open_inner(d, "preemption");
    put(d, "withinClusterQueue", "%s", own);
    put(d, "reclaimWithinCohort", "%s", others);
    if (strcmp(others, "Never") != 0 && one_in(d, 4)) {
        put(d, "borrowWithinCohort", "{policy: LowerPriority, maxPriorityThreshold: %d}",
            (int)below(d, 200) - 50);
    }
    close_map(d);
}

static void put_fungibility(struct draw *d, const struct objects *o)
{
    static const char *const borrow[] = {"MayStopSearch", "TryNextFlavor", NULL};
    static const char *const preferences[] = {"BorrowingOverPreemption", "PreemptionOverBorrowing",
                                              NULL};
    open_inner(d, "flavorFungibility");
    put(d, "whenCanBorrow", "%s", o->old ? "Borrow" : any(d, borrow));
    if (one_in(d, 2)) {
        put(d, "whenCanPreempt", "%s", o->old ? "Preempt" : any(d, borrow));
    } else if (one_in(d, 2)) {
        put(d, "preference", "%s", any(d, preferences));
    }
    close_map(d);
}

static void put_weight(struct draw *d)
{
    static const char *const weights[] = {"\"1\"", "\"2\"", "500m", "\"0\"", NULL};
    put(d, "fairSharing", "{weight: %s}", any(d, weights));
}

static void put_cohort(struct draw *d, const struct objects *o, const struct draw_queue *queue)
{
    static const char *const keys[2][2] = {{"parentName", "cohortName"}, {"parent", "cohort"}};
    if (queue->parent != UINT32_MAX) {
        put(d, keys[o->old][queue->leaf], "%s", d->queues[queue->parent].name);
    }
}

static void put_cluster_queue(struct draw *d, const struct objects *o,
                              const struct draw_queue *queue)
{
    put_groups(d, o, queue->parent != UINT32_MAX);
    if (one_in(d, 3)) {
        put(d, "queueingStrategy", "%s", one_in(d, 2) ? "StrictFIFO" : "BestEffortFIFO");
    }
    if (!one_in(d, 4)) {
        put_preemption(d);
    }
    if (one_in(d, 4)) {
        put_fungibility(d, o);
    }
    if (o->by_usage) {
        put(d, "admissionScope", "{admissionMode: UsageBasedAdmissionFairSharing}");
    }
    put(d, "namespaceSelector", "{}");
}

static void put_queue(struct draw *d, const struct objects *o, const struct draw_queue *queue)
{
    open_object(d, o, queue->leaf ? "ClusterQueue" : "Cohort", queue->name);
    open_inner(d, "spec");
    put_cohort(d, o, queue);
    if (queue->leaf) {
        put_cluster_queue(d, o, queue);
    } else if (one_in(d, 3)) {
        put_groups(d, o, queue->parent != UINT32_MAX);
    }
    if (one_in(d, 3)) {
        put_weight(d);
    }
    close_map(d);
    end_map(d);
}

/* Rows name them as their user. */
static void put_local_queues(struct draw *d, const struct objects *o, const struct draw_queue *of)
{
    const uint32_t users = below(d, 4);
    for (uint32_t u = 0; u < users; u++) {
        open_object(d, o, "LocalQueue", ringed("u%u", u));
        open_inner(d, "spec");
        put(d, "clusterQueue", "%s", of->name);
        if (one_in(d, 2)) {
            put_weight(d);
        }
        close_map(d);
        end_map(d);
    }
}

/* A cohort at the top may be known by the names of those below it alone. */
static void put_queues(struct draw *d, const struct objects *o)
{
    for (uint32_t q = 0; q < d->queue_count; q++) {
        struct draw_queue *queue = &d->queues[q];
        stream(d, ringed("kueue.%u", q));
        const bool unsaid = !queue->leaf && queue->parent == UINT32_MAX && one_in(d, 3);
        queue->flavored = o->by_pool || o->apart;
        queue->plain = queue->plain && !o->apart; /* not all its flavors have GPUs to change */
        if (!unsaid) {
            put_queue(d, o, queue);
        }
        if (queue->leaf && one_in(d, 3)) {
            put_local_queues(d, o, queue);
        }
    }
}

/* --- flavors, topology, configuration --- */

static void put_flavor_object(struct draw *d, const struct objects *o, const char *name,
                              const char *pool)
{
    open_object(d, o, "ResourceFlavor", name);
    open_inner(d, "spec");
    if (pool != NULL) {
        put(d, "nodeLabels", "{pool: %s}", quoted(pool));
    }
    if (pool != NULL && one_in(d, 6)) {
        put(d, "nodeTaints", "[{key: team, value: red, effect: NoSchedule}]");
    }
    if (pool != NULL && o->topology != NULL && !one_in(d, 3)) {
        put(d, "topologyName", "%s", o->topology);
    }
    close_map(d);
    end_map(d);
}

static void put_topology(struct draw *d, const struct objects *o)
{
    open_object(d, o, "Topology", o->topology);
    open_inner(d, "spec");
    put(d, "levels", "[%s%s%s{nodeLabel: kubernetes.io/hostname}]",
        d->zones ? "{nodeLabel: topology.kubernetes.io/zone}, " : "",
        d->blocks ? "{nodeLabel: example.com/block}, " : "",
        d->racks ? "{nodeLabel: example.com/rack}, " : "");
    close_map(d);
    end_map(d);
}

static void put_flavor_objects(struct draw *d, const struct objects *o)
{
    stream(d, "kueue.flavors");
    for (uint32_t p = 0; o->by_pool && p < d->pool_count; p++) {
        (void)snprintf(d->flavors[p], sizeof d->flavors[p], "f%u", p);
        put_flavor_object(d, o, d->flavors[p], d->pools[p].name);
    }
    if (!o->by_pool) {
        put_flavor_object(d, o, "default-flavor", NULL);
    }
    if (o->apart) {
        put_flavor_object(d, o, "cpus", NULL);
    }
    if (o->topology != NULL && !has(d, "topology", 35)) {
        put_topology(d, o); /* else it is the cluster's */
    }
    if (one_in(d, 3)) { /* a run goes by the priority of its jobs */
        open_object(d, o, "WorkloadPriorityClass", "high");
        put(d, "value", "1000");
        end_map(d);
    }
}

static void put_waiting(struct draw *d)
{
    open_inner(d, "waitForPodsReady");
    if (one_in(d, 2)) {
        put(d, "enable", "%s", one_in(d, 3) ? "false" : "true");
    }
    if (one_in(d, 2)) {
        put(d, "timeout", "%s", span(1.0 + length_s(d, d->span_s / 4.0)));
    }
    if (one_in(d, 3)) {
        put(d, "recoveryTimeout", "%s", span(1.0 + length_s(d, d->span_s / 4.0)));
    }
    if (one_in(d, 3)) {
        put(d, "blockAdmission", "true");
    }
    if (one_in(d, 2)) {
        open_inner(d, "requeuingStrategy");
        put(d, "timestamp", "%s", one_in(d, 2) ? "Creation" : "Eviction");
        put(d, "backoffBaseSeconds", "%u", between(d, 1, 30));
        put(d, "backoffMaxSeconds", "%u", between(d, 30, 200));
        if (one_in(d, 3)) {
            put(d, "backoffLimitCount", "%u", between(d, 1, 4));
        }
        close_map(d);
    }
    close_map(d);
}

static void put_usage(struct draw *d)
{
    open_inner(d, "admissionFairSharing");
    if (one_in(d, 2)) {
        put(d, "usageHalfLifeTime", "%s", span(1.0 + length_s(d, d->span_s / 2.0)));
    }
    put(d, "usageSamplingInterval", "%us", between(d, 1, 60));
    if (one_in(d, 2)) {
        put(d, "resourceWeights", "{nvidia.com/gpu: 2, cpu: 0.5, memory: 0}");
    }
    close_map(d);
}

static void put_configuration(struct draw *d, const struct objects *o)
{
    static const char *const strategies[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare",
                                             "LessThanOrEqualToFinalShare, LessThanInitialShare",
                                             NULL};
    stream(d, "kueue.configuration");
    (void)fputs(o->list ? "- {" : "---\n{", d->out);
    d->first = true;
    put(d, "apiVersion", "config.kueue.x-k8s.io/v1beta2");
    put(d, "kind", "Configuration");
    if (one_in(d, 2)) {
        put(d, "fairSharing", "{preemptionStrategies: [%s]}", any(d, strategies));
    }
    if (one_in(d, 2)) {
        put_waiting(d);
    }
    if (o->by_usage) {
        put_usage(d);
    }
    if (!one_in(d, 4)) { /* else many jobs wait for ever */
        put(d, "resources", "{quotaCheckStrategy: IgnoreUndeclared}");
    }
    if (one_in(d, 4)) {
        put(d, "featureGates", "{PartialAdmission: false}");
    }
    end_map(d);
}

/* --- where they stand --- */

static struct objects draw_choice(struct draw *d)
{
    struct objects o = {.old = one_in(d, 3), .covers = {[GPU] = true}};
    o.by_pool = one_in(d, 2);
    o.covers[CPU] = has(d, "cpu", 35) && one_in(d, 2);
    o.covers[MEMORY] = has(d, "cpu", 35) && one_in(d, 3);
    o.apart = (o.covers[CPU] || o.covers[MEMORY]) && one_in(d, 3);
    d->configured = strcmp(d->policy[0], "kueue") == 0 && one_in(d, 2);
    o.by_usage = d->configured && one_in(d, 4);
    if (o.by_pool && one_in(d, 2)) {
        o.topology = has(d, "topology", 35) ? d->topology : "hall";
    }
    return o;
}

/* In the scenario itself, in a file as kubectl lists them, or in two files of documents, of which
 * the first refers to the second. */
void draw_kueue_objects(struct draw *d)
{
    FILE *scenario = d->out;
    stream(d, "kueue");
    struct objects o = draw_choice(d);
    const uint32_t form = below(d, 3);
    o.list = form < 2;
    (void)fputs(form == 0   ? "queues:\n"
                : form == 1 ? "queues: {from: kueue.yaml}\n"
                            : "queues: {from: kueue/*.yaml}\n",
                d->out);
    if (form == 1) {
        d->out = open_file(d, "kueue.yaml");
        (void)fputs("apiVersion: v1\nkind: List\nitems:\n", d->out);
    } else if (form == 2) {
        make_folder(d, "kueue");
        d->out = open_file(d, "kueue/2.yaml");
    }
    put_flavor_objects(d, &o);
    if (form == 2) {
        close_file(d->out);
        d->out = open_file(d, "kueue/1.yaml");
    }
    put_queues(d, &o);
    if (d->configured) {
        put_configuration(d, &o);
    }
    if (d->out != scenario) {
        close_file(d->out);
    }
    d->out = scenario;
    d->flavored = o.by_pool || o.apart;
}
