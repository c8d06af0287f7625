/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fields.c - what of Kueue's objects is heeded, in a cycle on them and in a run.
 *
 * A row is a path; "[]" stands for every item of a list. Its two marks are of a cycle and of a run:
 * '+' heeded, with all below it; '.' has no part in it, with all below it; '!' would have a part
 * and is not heeded: `why` says what is done instead.
 */
#include <orrery/sim/kueue_fields.h>

#include <stddef.h>
#include <string.h>

#include <orrery/base/text.h>

struct field {
    char marks[KQ_USES + 1];
    const char *path, *why;
};

static const char checks_why[] = "checks are not asked: who holds quota counts as admitted";

static const struct field configuration[] = {
    {"++", "featureGates", NULL},
    {"++", "fairSharing.enable", NULL},
    {"++", "fairSharing.preemptionStrategies", NULL},
    {"++", "admissionFairSharing.usageHalfLifeTime", NULL},
    {"++", "admissionFairSharing.usageSamplingInterval", NULL},
    {"++", "admissionFairSharing.resourceWeights", NULL},
    {"++", "resources.quotaCheckStrategy", NULL},
    {"++", "resources.excludeResourcePrefixes", NULL},
    {"++", "resources.transformations[].input", NULL},
    {"++", "resources.transformations[].strategy", NULL},
    {"++", "resources.transformations[].multiplyBy", NULL},
    {"++", "resources.transformations[].outputs", NULL},
    {"!!", "resources.deviceClassMappings", "claims of devices are not counted"},
    {".+", "waitForPodsReady.enable", NULL},
    {".+", "waitForPodsReady.timeout", NULL},
    {".+", "waitForPodsReady.recoveryTimeout", NULL},
    {"++", "waitForPodsReady.blockAdmission", NULL},
    {"++", "waitForPodsReady.requeuingStrategy.timestamp", NULL},
    {".+", "waitForPodsReady.requeuingStrategy.backoffBaseSeconds", NULL},
    {".+", "waitForPodsReady.requeuingStrategy.backoffMaxSeconds", NULL},
    {".+", "waitForPodsReady.requeuingStrategy.backoffLimitCount", NULL},
    {"!!", "multiKueue", "other clusters are out of scope"},
    {"..", "namespace", NULL},
    {"..", "controller", NULL},
    {"..", "health", NULL},
    {"..", "metrics", NULL},
    {"..", "webhook", NULL},
    {"..", "leaderElection", NULL},
    {"..", "pprofBindAddress", NULL},
    {"..", "tls", NULL},
    {"..", "manageJobsWithoutQueueName", NULL},
    {"..", "managedJobsNamespaceSelector", NULL},
    {"..", "internalCertManagement", NULL},
    {"..", "clientConnection", NULL},
    {"..", "integrations", NULL},
    {"..", "queueVisibility", NULL},
    {"..", "visibilityServer", NULL},
    {"..", "objectRetentionPolicies", NULL},
    {"", NULL, NULL}};

#define RESOURCE_GROUPS                                                                            \
    {"++", "spec.resourceGroups[].coveredResources", NULL},                                        \
        {"++", "spec.resourceGroups[].flavors[].name", NULL},                                      \
        {"++", "spec.resourceGroups[].flavors[].resources[].name", NULL},                          \
        {"++", "spec.resourceGroups[].flavors[].resources[].nominalQuota", NULL},                  \
        {"++", "spec.resourceGroups[].flavors[].resources[].borrowingLimit", NULL},                \
        {"++", "spec.resourceGroups[].flavors[].resources[].lendingLimit", NULL},                  \
    {                                                                                              \
        "++", "spec.fairSharing.weight", NULL                                                      \
    }

static const struct field topology[] = {{"++", "spec.levels[].nodeLabel", NULL}, {"", NULL, NULL}};
static const struct field flavor[] = {{"++", "spec.nodeLabels", NULL},
                                      {"++", "spec.nodeTaints", NULL},
                                      {"++", "spec.tolerations", NULL},
                                      {"++", "spec.topologyName", NULL},
                                      {"", NULL, NULL}};
static const struct field cohort[] = {{"++", "spec.parentName", NULL},
                                      {"++", "spec.parent", NULL},
                                      RESOURCE_GROUPS,
                                      {"..", "status", NULL},
                                      {"", NULL, NULL}};
static const struct field cluster_queue[] = {
    {"++", "spec.cohortName", NULL},
    {"++", "spec.cohort", NULL},
    RESOURCE_GROUPS,
    {"++", "spec.queueingStrategy", NULL},
    {"+!", "spec.namespaceSelector", "rows of a run name their queue and have no namespace"},
    {"++", "spec.flavorFungibility.whenCanBorrow", NULL},
    {"++", "spec.flavorFungibility.whenCanPreempt", NULL},
    {"++", "spec.flavorFungibility.preference", NULL},
    {"++", "spec.preemption.withinClusterQueue", NULL},
    {"++", "spec.preemption.reclaimWithinCohort", NULL},
    {"++", "spec.preemption.borrowWithinCohort.policy", NULL},
    {"++", "spec.preemption.borrowWithinCohort.maxPriorityThreshold", NULL},
    {"++", "spec.stopPolicy", NULL},
    {"++", "spec.admissionScope.admissionMode", NULL},
    {"!!", "spec.admissionChecks", checks_why},
    {"!!", "spec.admissionChecksStrategy", checks_why},
    {"!!", "spec.concurrentAdmissionPolicy", "a workload is tried once a cycle"},
    {"..", "status", NULL},
    {"", NULL, NULL}};
static const struct field local_queue[] = {{"++", "spec.clusterQueue", NULL},
                                           {"++", "spec.stopPolicy", NULL},
                                           {"++", "spec.fairSharing.weight", NULL},
                                           {"..", "status", NULL},
                                           {"", NULL, NULL}};
static const struct field class[] = {
    {"++", "value", NULL}, {"..", "description", NULL}, {"", NULL, NULL}};
static const struct field workload[] = {
    {"++", "spec.podSets[].name", NULL},
    {"++", "spec.podSets[].count", NULL},
    {"++", "spec.podSets[].minCount", NULL},
    {"++", "spec.podSets[].template", NULL},
    {"++", "spec.podSets[].topologyRequest.required", NULL},
    {"++", "spec.podSets[].topologyRequest.preferred", NULL},
    {"++", "spec.podSets[].topologyRequest.unconstrained", NULL},
    {"++", "spec.podSets[].topologyRequest.podSetGroupName", NULL},
    {"++", "spec.podSets[].topologyRequest.podSetSliceRequiredTopology", NULL},
    {"++", "spec.podSets[].topologyRequest.podSetSliceSize", NULL},
    {"++", "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints[].topology",
     NULL},
    {"++", "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints[].size", NULL},
    {"..", "spec.podSets[].topologyRequest.podIndexLabel", NULL},
    {"..", "spec.podSets[].topologyRequest.subGroupIndexLabel", NULL},
    {"..", "spec.podSets[].topologyRequest.subGroupCount", NULL},
    {"++", "spec.queueName", NULL},
    {"++", "spec.priority", NULL},
    {"++", "spec.priorityClassName", NULL},
    {"++", "spec.priorityClassSource", NULL},
    {"++", "spec.priorityClassRef", NULL},
    {"++", "spec.active", NULL},
    {"++", "spec.preemptionGates", NULL},
    {"..", "spec.maximumExecutionTimeSeconds", NULL},
    {"++", "status.admission", NULL},
    {"++", "status.conditions", NULL},
    {"++", "status.requeueState", NULL},
    {"++", "status.reclaimablePods", NULL},
    {"++", "status.unhealthyNodes", NULL},
    {"++", "status.preemptionGates", NULL},
    {"!!", "status.admissionChecks", checks_why},
    {"..", "status.resourceRequests", NULL},
    {"..", "status.schedulingStats", NULL},
    {"..", "status.accumulatedPastExecutionTimeSeconds", NULL},
    {"..", "status.accumulatedPastExcutionTimeSeconds", NULL},
    {"!!", "status.clusterName", "other clusters are out of scope"},
    {"!!", "status.nominatedClusterNames", "other clusters are out of scope"},
    {"", NULL, NULL}};

static const struct {
    const char *kind;
    const struct field *fields;
} tables[] = {{"Configuration", configuration}, {"Topology", topology},
              {"ResourceFlavor", flavor},       {"Cohort", cohort},
              {"ClusterQueue", cluster_queue},  {"LocalQueue", local_queue},
              {"WorkloadPriorityClass", class}, {"Workload", workload}};

static const struct field *fields_of(const char *kind)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].kind, kind) == 0) {
            return tables[i].fields;
        }
    }
    return NULL;
}

static bool is_everywhere(const char *path)
{
    return strcmp(path, "apiVersion") == 0 || strcmp(path, "kind") == 0 ||
           strcmp(path, "metadata") == 0;
}

enum kq_field orr_kq_field(const char *kind, enum kq_use use, const char *path, const char **why)
{
    const struct field *field = fields_of(kind);
    const size_t bytes = strlen(path);
    bool above = false;
    *why = NULL;
    if (field == NULL || is_everywhere(path)) {
        return KQ_FIELD_PASSED; /* Kubernetes' own have fields without number */
    }
    for (; field->path != NULL; field++) {
        if (strcmp(field->path, path) == 0) {
            *why = field->why;
            return field->marks[use] == '!' ? KQ_FIELD_NOT_HEEDED : KQ_FIELD_PASSED;
        }
        const char next = strncmp(field->path, path, bytes) == 0 ? field->path[bytes] : '\0';
        above = above || next == '.' || next == '[';
    }
    return above ? KQ_FIELD_ABOVE : KQ_FIELD_UNKNOWN;
}

/* Does the line state the key, and a value that begins so? */
static bool line_states(const char *line, const char *key, const char *value)
{
    const size_t bytes = strlen(key);
    if (strncmp(line, key, bytes) != 0 || line[bytes] != ':') {
        return false;
    }
    line += bytes + 1;
    line += strspn(line, " '\"");
    return strncmp(line, value, strlen(value)) == 0;
}

bool orr_kq_is_configuration(const char *text)
{
    bool kind = false, version = false;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        kind = kind || line_states(line, "kind", "Configuration");
        version = version || line_states(line, "apiVersion", "config.kueue.x-k8s.io/");
    }
    return kind && version;
}

enum { FIELDS_MOST = 64 }; /* of a kind */

const char *orr_kq_nearest_field(const char *kind, const char *path)
{
    const struct field *field = fields_of(kind);
    const char *dot = strrchr(path, '.');
    const size_t above = dot != NULL ? (size_t)(dot + 1 - path) : 0;
    const char *beside[FIELDS_MOST];
    size_t count = 0;
    for (; field != NULL && field->path != NULL && count < FIELDS_MOST; field++) {
        if (strncmp(field->path, path, above) == 0) {
            beside[count++] = field->path + above;
        }
    }
    return orr_nearest_within(path + above, beside, count, 2);
}

/* --- feature gates --- */

/* Of Kueue's main branch after v0.19.2, and those that it has locked on since. */
static const struct kq_gate gates[] = {
    {"AdmissionFairSharing", true, "++"},
    {"AdmissionGatedBy", true, "!!"},
    {"AssignQueueLabelsForPods", true, ".."},
    {"CleanupProvisioningRequestsOnEviction", true, ".."},
    {"ConcurrentAdmission", false, "!!"},
    {"ConfigurableResourceTransformations", true, "!!"},
    {"CustomMetricLabels", false, ".."},
    {"DisableWaitForPodsReady", false, ".+"},
    {"DynamicQuotaOrchestration", false, "!!"},
    {"ElasticJobsViaWorkloadSlices", true, "!!"},
    {"ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", false, "!!"},
    {"ElasticJobsViaWorkloadSlicesWithTAS", false, "!+"},
    {"ExposeFlavorsInLocalQueue", true, ".."},
    {"FailureRecoveryPolicy", false, ".!"},
    {"FairSharingPreemptWithinNominal", true, "++"},
    {"FairSharingPrioritizeNonBorrowing", true, "++"},
    {"FairSharingReevaluatePreemptionCandidates", false, "!!"},
    {"FastQuotaReleaseInPodIntegration", false, ".!"},
    {"FinishOrphanedWorkloads", true, ".."},
    {"FlavorFungibility", true, "!!"},
    {"FlavorFungibilityImplicitPreferenceDefault", false, "!!"},
    {"FlavorFungibilityPreserveScanProgress", true, "++"},
    {"HierarchicalCohorts", true, "!!"},
    {"KueueDRAIntegration", true, ".."},
    {"KueueDRAIntegrationExtendedResource", true, ".."},
    {"LendingLimit", true, "!!"},
    {"LocalQueueDefaulting", true, ".."},
    {"LocalQueueMetrics", true, ".."},
    {"ManagedJobsNamespaceSelector", true, ".."},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", true, ".."},
    {"MetricForWorkloadCreationLatency", true, ".."},
    {"MetricsForCohorts", true, ".."},
    {"MultiKueue", true, ".."},
    {"MultiKueueBatchJobWithManagedBy", true, ".."},
    {"MultiKueueOrchestratedPreemption", false, "!!"},
    {"ObjectRetentionPolicies", true, ".."},
    {"PartialAdmission", true, "++"},
    {"PrioritizePreemptorWorkloads", false, "++"},
    {"PriorityBoost", false, "!."},
    {"PrioritySortingWithinCohort", true, "++"},
    {"PropagateBatchJobLabelsToWorkload", true, ".."},
    {"ProvisioningACC", true, ".."},
    {"QueueVisibility", false, ".."},
    {"QuotaCheckStrategy", true, "!!"},
    {"ReclaimablePods", true, "+."},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", true, "++"},
    {"SanitizePodSets", true, ".."},
    {"SchedulingEquivalenceHashing", true, "++"},
    {"ShortWorkloadNames", false, ".."},
    {"TASBalancedPlacement", false, "++"},
    {"TASFailedNodeReplacement", true, "!!"},
    {"TASFailedNodeReplacementFailFast", true, "++"},
    {"TASHandleOverlappingFlavors", true, "!!"},
    {"TASMultiLayerTopology", true, "!."},
    {"TASProfileLeastFreeCapacity", false, "!!"},
    {"TASProfileMixed", true, "++"},
    {"TASRecomputeAssignmentWithinSchedulingCycle", true, "++"},
    {"TASReplaceNodeOnNodeTaints", true, ".."},
    {"TASReplaceNodeOnPodTermination", true, ".."},
    {"TASRespectNodeAffinityPreferred", false, "+."},
    {"TLSOptions", true, ".."},
    {"TopologyAwareScheduling", true, "++"},
    {"UnadmittedWorkloadsExplicitStatus", false, ".."},
    {"UnadmittedWorkloadsObservability", true, ".."},
    {"VisibilityOnDemand", true, ".."},
    {"WorkloadPriorityClassDefaulting", true, ".."},
    {"WorkloadRequestUseMergePatch", false, ".."}};
enum { GATES = sizeof gates / sizeof gates[0] };

const struct kq_gate *orr_kq_find_gate(const char *name)
{
    for (size_t i = 0; i < GATES; i++) {
        if (strcmp(gates[i].name, name) == 0) {
            return &gates[i];
        }
    }
    return NULL;
}

bool orr_kq_ignores_gate(const char *name, bool on, enum kq_use use)
{
    const struct kq_gate *gate = orr_kq_find_gate(name);
    return gate == NULL || (on != gate->on && gate->marks[use] == '!');
}

const char *orr_kq_nearest_gate(const char *name)
{
    const char *names[GATES];
    for (size_t i = 0; i < GATES; i++) {
        names[i] = gates[i].name;
    }
    return orr_nearest_within(name, names, GATES, 2);
}
