/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of Kueue's objects is heeded; any other field is noted by its path.
 *
 * A row is a path; "[]" stands for every item of a list. '+' heeded, with all below it; '.' has no
 * part in a cycle, with all below it; '!' would have a part and is not heeded: the note says why.
 */
#include <string.h>

#include "kueue_input.h"

struct field {
    char status;
    const char *path, *why;
};

static const struct field configuration[] = {
    {'+', "featureGates", NULL},
    {'+', "fairSharing.enable", NULL},
    {'+', "fairSharing.preemptionStrategies", NULL},
    {'+', "admissionFairSharing.usageHalfLifeTime", NULL},
    {'+', "admissionFairSharing.usageSamplingInterval", NULL},
    {'+', "admissionFairSharing.resourceWeights", NULL},
    {'+', "resources.quotaCheckStrategy", NULL},
    {'+', "resources.excludeResourcePrefixes", NULL},
    {'!', "resources.transformations", "resources count as pods state them"},
    {'!', "resources.deviceClassMappings", "claims of devices are not counted"},
    {'+', "waitForPodsReady.blockAdmission", NULL},
    {'.', "waitForPodsReady", NULL},
    {'!', "multiKueue", "other clusters are out of scope"},
    {'.', "namespace", NULL},
    {'.', "controller", NULL},
    {'.', "health", NULL},
    {'.', "metrics", NULL},
    {'.', "webhook", NULL},
    {'.', "leaderElection", NULL},
    {'.', "pprofBindAddress", NULL},
    {'.', "tls", NULL},
    {'.', "manageJobsWithoutQueueName", NULL},
    {'.', "managedJobsNamespaceSelector", NULL},
    {'.', "internalCertManagement", NULL},
    {'.', "clientConnection", NULL},
    {'.', "integrations", NULL},
    {'.', "queueVisibility", NULL},
    {'.', "visibilityServer", NULL},
    {'.', "objectRetentionPolicies", NULL},
    {0, NULL, NULL}};

#define RESOURCE_GROUPS                                                                            \
    {'+', "spec.resourceGroups[].coveredResources", NULL},                                         \
        {'+', "spec.resourceGroups[].flavors[].name", NULL},                                       \
        {'+', "spec.resourceGroups[].flavors[].resources[].name", NULL},                           \
        {'+', "spec.resourceGroups[].flavors[].resources[].nominalQuota", NULL},                   \
        {'+', "spec.resourceGroups[].flavors[].resources[].borrowingLimit", NULL},                 \
        {'+', "spec.resourceGroups[].flavors[].resources[].lendingLimit", NULL},                   \
    {                                                                                              \
        '+', "spec.fairSharing.weight", NULL                                                       \
    }

static const struct field topology[] = {{'+', "spec.levels[].nodeLabel", NULL}, {0, NULL, NULL}};
static const struct field flavor[] = {{'+', "spec.nodeLabels", NULL},
                                      {'+', "spec.nodeTaints", NULL},
                                      {'+', "spec.tolerations", NULL},
                                      {'+', "spec.topologyName", NULL},
                                      {0, NULL, NULL}};
static const struct field cohort[] = {{'+', "spec.parentName", NULL},
                                      {'+', "spec.parent", NULL},
                                      RESOURCE_GROUPS,
                                      {'.', "status", NULL},
                                      {0, NULL, NULL}};
static const struct field cluster_queue[] = {
    {'+', "spec.cohortName", NULL},
    {'+', "spec.cohort", NULL},
    RESOURCE_GROUPS,
    {'+', "spec.queueingStrategy", NULL},
    {'+', "spec.namespaceSelector", NULL},
    {'+', "spec.flavorFungibility.whenCanBorrow", NULL},
    {'+', "spec.flavorFungibility.whenCanPreempt", NULL},
    {'+', "spec.flavorFungibility.preference", NULL},
    {'+', "spec.preemption.withinClusterQueue", NULL},
    {'+', "spec.preemption.reclaimWithinCohort", NULL},
    {'+', "spec.preemption.borrowWithinCohort.policy", NULL},
    {'+', "spec.preemption.borrowWithinCohort.maxPriorityThreshold", NULL},
    {'+', "spec.stopPolicy", NULL},
    {'+', "spec.admissionScope.admissionMode", NULL},
    {'!', "spec.admissionChecks", "checks are not asked: who holds quota counts as admitted"},
    {'!', "spec.admissionChecksStrategy",
     "checks are not asked: who holds quota counts as admitted"},
    {'!', "spec.concurrentAdmissionPolicy", "a workload is tried once a cycle"},
    {'.', "status", NULL},
    {0, NULL, NULL}};
static const struct field local_queue[] = {{'+', "spec.clusterQueue", NULL},
                                           {'+', "spec.stopPolicy", NULL},
                                           {'+', "spec.fairSharing.weight", NULL},
                                           {'.', "status", NULL},
                                           {0, NULL, NULL}};
static const struct field class[] = {
    {'+', "value", NULL}, {'.', "description", NULL}, {0, NULL, NULL}};
static const struct field workload[] = {
    {'+', "spec.podSets[].name", NULL},
    {'+', "spec.podSets[].count", NULL},
    {'+', "spec.podSets[].minCount", NULL},
    {'+', "spec.podSets[].template", NULL},
    {'+', "spec.podSets[].topologyRequest.required", NULL},
    {'+', "spec.podSets[].topologyRequest.preferred", NULL},
    {'+', "spec.podSets[].topologyRequest.unconstrained", NULL},
    {'+', "spec.podSets[].topologyRequest.podSetGroupName", NULL},
    {'+', "spec.podSets[].topologyRequest.podSetSliceRequiredTopology", NULL},
    {'+', "spec.podSets[].topologyRequest.podSetSliceSize", NULL},
    {'+', "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints[].topology", NULL},
    {'+', "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints[].size", NULL},
    {'.', "spec.podSets[].topologyRequest.podIndexLabel", NULL},
    {'.', "spec.podSets[].topologyRequest.subGroupIndexLabel", NULL},
    {'.', "spec.podSets[].topologyRequest.subGroupCount", NULL},
    {'+', "spec.queueName", NULL},
    {'+', "spec.priority", NULL},
    {'+', "spec.priorityClassName", NULL},
    {'+', "spec.priorityClassSource", NULL},
    {'+', "spec.priorityClassRef", NULL},
    {'+', "spec.active", NULL},
    {'+', "spec.preemptionGates", NULL},
    {'.', "spec.maximumExecutionTimeSeconds", NULL},
    {'+', "status.admission", NULL},
    {'+', "status.conditions", NULL},
    {'+', "status.requeueState", NULL},
    {'+', "status.reclaimablePods", NULL},
    {'+', "status.unhealthyNodes", NULL},
    {'+', "status.preemptionGates", NULL},
    {'!', "status.admissionChecks", "checks are not asked: who holds quota counts as admitted"},
    {'.', "status.resourceRequests", NULL},
    {'.', "status.schedulingStats", NULL},
    {'.', "status.accumulatedPastExecutionTimeSeconds", NULL},
    {'.', "status.accumulatedPastExcutionTimeSeconds", NULL},
    {'!', "status.clusterName", "other clusters are out of scope"},
    {'!', "status.nominatedClusterNames", "other clusters are out of scope"},
    {0, NULL, NULL}};

static const struct {
    const struct field *fields;
    const char *kind;
} tables[KUEUE_KINDS] = {[KUEUE_CONFIGURATION] = {configuration, "Configuration"},
                         [KUEUE_TOPOLOGY] = {topology, "Topology"},
                         [KUEUE_FLAVOR] = {flavor, "ResourceFlavor"},
                         [KUEUE_COHORT] = {cohort, "Cohort"},
                         [KUEUE_CLUSTER_QUEUE] = {cluster_queue, "ClusterQueue"},
                         [KUEUE_LOCAL_QUEUE] = {local_queue, "LocalQueue"},
                         [KUEUE_WORKLOAD_CLASS] = {class, "WorkloadPriorityClass"},
                         [KUEUE_WORKLOAD] = {workload, "Workload"}};

static const struct field *find_field(const struct field *fields, const char *path, bool *above)
{
    const size_t bytes = strlen(path);
    *above = false;
    for (; fields->path != NULL; fields++) {
        if (strcmp(fields->path, path) == 0) {
            return fields;
        }
        const char next = strncmp(fields->path, path, bytes) == 0 ? fields->path[bytes] : '\0';
        *above = *above || next == '.' || next == '[';
    }
    return NULL;
}

static void check_value(struct kueue_input *input, enum kueue_kind kind, const char *path,
                        const struct import_value *value);

static void check_below(struct kueue_input *input, enum kueue_kind kind, const char *path,
                        const struct import_value *value)
{
    IMPORT_EACH(child, value)
    {
        const char *below = value->kind == IMPORT_LIST
                                ? import_format(input->load, "%.400s[]", path)
                                : import_format(input->load, "%.400s%s%.200s", path,
                                                path[0] != '\0' ? "." : "", child->key);
        check_value(input, kind, below, child);
    }
}

static void check_value(struct kueue_input *input, enum kueue_kind kind, const char *path,
                        const struct import_value *value)
{
    bool above;
    const struct field *field = find_field(tables[kind].fields, path, &above);
    const char *word = tables[kind].kind;
    if (field != NULL && field->status == '!' && value->kind != IMPORT_NULL &&
        (value->first != NULL || value->text != NULL)) {
        import_note(input->model, "%s of a %s is not heeded: %s", path, word, field->why);
    } else if (field == NULL && above) {
        check_below(input, kind, path, value);
    } else if (field == NULL) {
        import_note(input->model, "%.300s of a %s is no field that is known here", path, word);
    }
}

void import_kueue_check(struct kueue_input *input, enum kueue_kind kind,
                        const struct import_value *object)
{
    static const char *const everywhere[] = {"apiVersion", "kind", "metadata"};
    if (tables[kind].fields == NULL) {
        return; /* Kubernetes' own have fields without number */
    }
    IMPORT_EACH(child, object)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++) {
            known = known || strcmp(child->key, everywhere[i]) == 0;
        }
        if (!known) {
            check_value(input, kind, child->key, child);
        }
    }
}
