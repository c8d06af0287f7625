/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draw_policy.c - policies with their parameters. */
#include "draw.h"

#include <string.h>

/* Parameters of one policy: each line at most once, one of its words. */
struct knob {
    const char *words[6];
};

static const struct knob kai[] = {
    {{"consolidation: false", "consolidation: true", NULL}},
    {{"reclaim: false", NULL}},
    {{"preempt: false", NULL}},
    {{"actions: \"allocate\"", "actions: \"allocate, reclaim, preempt\"",
      "actions: \"allocate, preempt, reclaim, consolidation, stalegangeviction\"",
      "actions: \"reclaim, allocate\"", NULL}},
    {{"gpu_strategy: spread", NULL}},
    {{"cpu_strategy: spread", NULL}},
    {{"max_consolidation_preemptees: -1", "max_consolidation_preemptees: 1",
      "max_consolidation_preemptees: 3", NULL}},
    {{"allow_consolidating_reclaim: false", NULL}},
    {{"use_scheduling_signatures: false", NULL}},
    {{"default_preempt_min_runtime: 7s", "default_preempt_min_runtime: 1m", NULL}},
    {{"default_reclaim_min_runtime: 10s", "default_reclaim_min_runtime: 2m", NULL}},
    {{"reclaim_resolve_method: queue", NULL}},
    {{"k_value: 0", "k_value: 0.5", "k_value: 3", NULL}},
    {{"usage_db: prometheus, window_size: 10m, query_resolution: 7s, fetch_interval: 20s",
      "usage_db: fake-with-history, window_size: 2m",
      "usage_db: prometheus, window_size: 90s, window_type: tumbling, tumbling_window_start_time: "
      "30s, fetch_interval: 1s, query_resolution: 1s",
      "usage_db: prometheus, window_type: cron, cron_string: \"*/2 * * * *\", half_life_period: "
      "3m",
      "usage_db: prometheus, window_size: 5m, half_life_period: 30s, query_resolution: 1s", NULL}},
    {{"saturation_multiplier: 1.5", "saturation_multiplier: 1.1", NULL}},
    {{"default_staleness_grace: 0s", "default_staleness_grace: 5s", "default_staleness_grace: -1s",
      NULL}},
    {{"queueDepthPerAction.allocate: 1", "queueDepthPerAction.allocate: 3", NULL}},
    {{"queueDepthPerAction.reclaim: 1", "queueDepthPerAction.consolidation: 1",
      "queueDepthPerAction.preempt: 1", NULL}},
    {{"scenarioSearchBudgets.action: 2", "scenarioSearchBudgets.job: 1",
      "scenarioSearchBudgets.nodeLocalGreedy: 1", "scenarioSearchBudgets.multiNodeGang: 2", NULL}},
    {{"full_hierarchy_fairness: false", NULL}},
    {{"plugins.priority.enabled: false", "plugins.elastic.enabled: false",
      "plugins.minruntime.enabled: false", "plugins.gpusharingorder.enabled: false", NULL}},
    {{"plugins.subgrouporder.enabled: false", "plugins.nodeavailability.enabled: false",
      "plugins.resourcetype.enabled: false", NULL}},
    {{"plugins.numa.enabled: true", NULL}},
    {{"plugins.proportion.enabled: false", "plugins.predicates.enabled: false",
      "plugins.nodeplacement.enabled: false", "plugins.taskorder.enabled: false",
      "plugins.gpupack.enabled: false, plugins.gpuspread.enabled: false", NULL}},
    {{"plugins.kubeflow.enabled: false", "plugins.ray.enabled: false",
      "plugins.nominatednode.enabled: false", NULL}},
    {{"prune: verify", NULL}}, /* what is refuted is tried too, and must fail */
    {{"actions.preempt.priority: 900", "actions.consolidation.priority: 700",
      "actions.allocate.priority: 350", "actions.allocate.enabled: false",
      "actions.stalegangeviction.enabled: false, actions.reclaim.priority: 600", NULL}},
    /* together they are refused */
    {{"strict_v017: false", "strict_v017: true", "reservation: 10s", "reservation: 2m", NULL}},
    {{"victim_order: fewest-gpus", "victim_order: most-gpus", "victim_order: lost-work", NULL}},
    {{"ageing: 10s", "ageing: 1m", NULL}},
};
static const struct knob kube[] = {{{"score: most-allocated", NULL}},
                                   {{"namespace_quota: quota", "namespace_quota: none", NULL}},
                                   {{"order: priority", NULL}}};
static const struct knob partition[] = {{{"order: priority", NULL}}, {{"backfill: false", NULL}}};
static const struct knob easy[] = {{{"variant: unguarded", "variant: no_spare", NULL}},
                                   {{"order: priority", NULL}}};
static const struct knob fifo[] = {
    {{"order: shortest", "order: priority", "order: predicted", NULL}}, {{"backfill: true", NULL}}};
static const struct knob kueue[] = {
    {{"within_cluster_queue: lower-priority", "within_cluster_queue: lower-or-newer-equal-priority",
      NULL}},
    {{"reclaim_within_cohort: any", "reclaim_within_cohort: lower-priority",
      "reclaim_within_cohort: any, borrow_within_cohort: lower-priority", NULL}},
    {{"queueing_strategy: strict-fifo", NULL}},
    {{"fair_sharing: default", "fair_sharing: final-share", "fair_sharing: initial-share", NULL}},
    {{"cluster_cohort: false", NULL}},
    {{"wait_for_pods_ready: false", "timeout: 1m", "timeout: 10m", NULL}},
    {{"block_admission: true", NULL}},
    {{"recovery_timeout: 20s", "recovery_timeout: 5m", NULL}},
    {{"backoff_base: 10s", "backoff_limit: 2", "backoff_max: 30s", NULL}},
    {{"requeuing_timestamp: creation", NULL}},
    {{"requeue_batch: 0s", "requeue_batch: 7s", NULL}},
    {{"placement: ideal", "score: most-allocated", NULL}},
    {{"admission_fair_sharing: true", "admission_fair_sharing: true, usage_half_life_time: 1m",
      "admission_fair_sharing: true, usage_sampling_interval: 20s",
      "admission_fair_sharing: true, usage_weight_gpu: 0.5, usage_weight_cpu: 1, "
      "usage_weight_memory: 2",
      NULL}},
    {{"topology_aware_scheduling: always", "topology_aware_scheduling: never", NULL}}};
static const struct knob las[] = {
    {{"threshold_gpu_s: 60", "threshold_gpu_s: 1000", "thresholds_gpu_s: \"20, 100, 500\"", NULL}},
    {{"promote: 1", "promote: 0.1", NULL}}};

static const struct knob srtf[] = {{{"by: estimate", NULL}}};
static const struct knob drf[] = {{{"backfill: false", NULL}}};
static const struct knob edf[] = {{{"admission: feasible", NULL}}, {{"by: estimate", NULL}}};
static const struct knob gittins[] = {{{"levels: 1", "levels: 3", NULL}}};

static const struct knob gavel[] = {
    {{"shares: queues", NULL}},
    {{"objective: makespan", "objective: finish-time-fairness", "objective: throughput", NULL}},
    {{"by: estimate", NULL}}};
static const struct knob pollux[] = {{{"power: 0", "power: 1", "power: -3", NULL}},
                                     {{"restart_delay: 0s", "restart_delay: 10m", NULL}}};
static const struct knob themis[] = {{{"lease: 10s", "lease: 1m", "lease: 0s", NULL}},
                                     {{"fairness: 0", "fairness: 0.5", "fairness: 1", NULL}},
                                     {{"by: estimate", NULL}}};

static const struct knob slurm[] = {
    {{"SchedulerType: sched/builtin", NULL}},
    {{"SchedulerParameters: \"bf_interval=2,bf_resolution=1,batch_sched_delay=0\"",
      "SchedulerParameters: \"bf_max_job_test=3,bf_interval=5\"",
      "SchedulerParameters: \"default_queue_depth=1,defer,sched_interval=7\"",
      "SchedulerParameters: "
      "\"bf_max_job_start=1,bf_window=1,bf_min_age_reserve=30,bf_max_job_user=2,bf_max_job_part=3,"
      "bf_one_resv_per_job\"",
      "SchedulerParameters: \"sched_max_job_start=1,partition_job_depth=2,bf_window_linear=10\"",
      NULL}},
    {{"SelectTypeParameters: \"CR_Core,CR_LLN\"", NULL}},
    {{"PriorityType: priority/multifactor", "PriorityType: priority/multifactor",
      "PriorityType: priority/basic", NULL}},
    {{"PriorityWeightAge: 1000", NULL}},
    {{"PriorityMaxAge: \"00:10:00\"", "PriorityCalcPeriod: 1", NULL}},
    {{"PriorityWeightJobSize: 500", NULL}},
    {{"PriorityWeightPartition: 300", "PriorityWeightTRES: \"CPU=10,GRES/gpu=100\"", NULL}},
    {{"PriorityFavorSmall: \"YES\"", NULL}},
    {{"PriorityFlags: \"ACCRUE_ALWAYS,SMALL_RELATIVE_TO_TIME\"", "PriorityFlags: \"NO_FAIR_TREE\"",
      "FairShareDampeningFactor: 3, PriorityFlags: \"NO_FAIR_TREE\"", NULL}},
    {{"slurm_conf: \"PartitionName=a Nodes=ALL PriorityTier=2\\nPartitionName=b Nodes=ALL "
      "Default=YES PriorityJobFactor=5 MaxTime=1\"",
      "slurm_conf: \"PartitionName=a Nodes=ALL OverSubscribe=EXCLUSIVE\\nPartitionName=b Nodes=ALL "
      "LLN=YES MaxNodes=2\"",
      "slurm_conf: \"PreemptType=preempt/partition_prio\\nPreemptMode=REQUEUE\\nPartitionName=a "
      "Nodes=ALL PriorityTier=2\\nPartitionName=b Nodes=ALL Default=YES\"",
      "slurm_conf: \"PreemptType=preempt/partition_prio\\nPreemptMode=CANCEL\\nPartitionName=a "
      "Nodes=ALL PriorityTier=2\\nPartitionName=b Nodes=ALL Default=YES\"",
      NULL}},
    {{"PriorityWeightFairshare: 5000",
      "PriorityWeightFairshare: 5000, PriorityDecayHalfLife: \"00:02:00\"",
      "PriorityWeightFairshare: 5000, PriorityUsageResetPeriod: DAILY", NULL}},
    {{"slurmctld_start: 3s", NULL}},
    {{"PreemptExemptTime: \"00:00:30\"", NULL}},
    {{"sacctmgr: \"Name|Priority|MaxJobsPU|GrpTRES\\nnormal|5|2|gres/gpu=9\", "
      "AccountingStorageEnforce: limits, PriorityWeightQOS: 100",
      "sacctmgr: \"Name|Priority|MaxTRESPU|GrpTRESRunMins|MaxTRESPerNode\\nnormal|5|gres/gpu=6|"
      "gres/gpu=400|gres/gpu=3\", AccountingStorageEnforce: safe",
      "sacctmgr: \"Name|Priority|PreemptMode|PreemptExemptTime|GrpTRESMins\\nnormal|5|within|"
      "00:01:00|gres/gpu=5000\", AccountingStorageEnforce: limits, PreemptType: preempt/qos, "
      "PreemptMode: REQUEUE",
      NULL}}};

static const struct {
    const char *name;
    const struct knob *knobs;
    uint32_t count;
    bool places; /* has parameter `placement` */
} policies[] = {{"kai", kai, sizeof kai / sizeof kai[0], false},
                {"kube", kube, sizeof kube / sizeof kube[0], true},
                {"static", partition, sizeof partition / sizeof partition[0], true},
                {"easy", easy, sizeof easy / sizeof easy[0], true},
                {"fifo", fifo, sizeof fifo / sizeof fifo[0], true},
                {"las", las, sizeof las / sizeof las[0], true},
                {"srtf", srtf, sizeof srtf / sizeof srtf[0], true},
                {"conservative", NULL, 0, true},
                {"drf", drf, sizeof drf / sizeof drf[0], true},
                {"edf", edf, sizeof edf / sizeof edf[0], true},
                {"gittins", gittins, sizeof gittins / sizeof gittins[0], true},
                {"gavel", gavel, sizeof gavel / sizeof gavel[0], true},
                {"pollux", pollux, sizeof pollux / sizeof pollux[0], true},
                {"themis", themis, sizeof themis / sizeof themis[0], true},
                {"slurm", slurm, sizeof slurm / sizeof slurm[0], false},
                {"kueue", kueue, sizeof kueue / sizeof kueue[0], false}};

static void put_placement(struct draw *d, bool opportunistic)
{
    static const char *const bounds[] = {"0", "51", "100", "2147483647", NULL};
    static const char *const choices[] = {"consolidated", "random",   "dot-product", "clustering",
                                          "packing",      "best-fit", "worst-fit",   "fgd",
                                          "hived",        NULL};
    const char *choice = opportunistic && one_in(d, 3) ? "hived" : any(d, choices);
    put(d, "placement", "%s", choice);
    if (opportunistic && strcmp(choice, "hived") == 0 && !one_in(d, 3)) {
        put(d, "opportunistic_below", "%s", any(d, bounds));
    }
    if (one_in(d, 4)) {
        put(d, "typical_jobs", "%u", below(d, 30));
    }
}

/* Jobs that suspend others: a partition for each queue, of tiers 1 to 3; or two QOS. */
static void put_suspending(struct draw *d, uint32_t shard)
{
    static const char *const modes[] = {"",
                                        "",
                                        "",
                                        " PreemptMode=SUSPEND",
                                        " PreemptMode=CANCEL",
                                        " PreemptMode=REQUEUE",
                                        " OverSubscribe=EXCLUSIVE",
                                        NULL};
    static const char *const cluster[] = {"SUSPEND,GANG", "SUSPEND,GANG", "REQUEUE,GANG", NULL};
    const bool by_qos = one_in(d, 3);
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "slurm%u.conf", shard);
    FILE *out = open_file(d, name);
    (void)fprintf(out, "PreemptType=preempt/%s\n", by_qos ? "qos" : "partition_prio");
    (void)fprintf(out, "PreemptMode=%s\n", any(d, cluster));
    (void)fprintf(out, "PartitionName=a Nodes=ALL PriorityTier=2%s\n", any(d, modes));
    (void)fprintf(out, "PartitionName=b Nodes=ALL Default=YES\n");
    for (uint32_t q = 0; q < d->queue_count; q++) {
        const struct draw_queue *queue = &d->queues[q];
        if (queue->leaf && queue->plain && (d->shard_count == 1 || queue->shard == shard)) {
            const uint32_t tier = between(d, 1, 3);
            (void)fprintf(out, "PartitionName=%s Nodes=ALL PriorityTier=%u%s\n", queue->name, tier,
                          any(d, modes));
        }
    }
    close_file(out);
    put(d, "slurm_conf", "{file: %s}", name);
    if (by_qos) {
        put(d, "sacctmgr",
            "\"Name|Priority|Preempt|PreemptMode\\nlow|1||%s\\nnormal|5|low|\\n"
            "high|9|low,normal|\"",
            one_in(d, 2) ? "suspend" : "");
    }
}

/* What a slurm.conf says, in a file of its own instead. */
static void put_slurm_conf(struct draw *d, const char *text, uint32_t shard)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "slurm%u.conf", shard);
    FILE *out = open_file(d, name);
    for (; *text != '"'; text++) {
        const bool line = text[0] == '\\' && text[1] == 'n';
        (void)fputc(line ? '\n' : *text, out);
        text += line;
    }
    (void)fputc('\n', out);
    close_file(out);
    put(d, "slurm_conf", "{file: %s}", name);
}

static void put_words(struct draw *d, const char *words, uint32_t shard)
{
    static const char conf[] = "slurm_conf: \"";
    if (strncmp(words, conf, sizeof conf - 1) == 0 && one_in(d, 2)) {
        put_slurm_conf(d, words + sizeof conf - 1, shard);
        return;
    }
    (void)fprintf(d->out, "%s%s", d->first ? "" : ", ", words);
    d->first = false;
}

static void put_params(struct draw *d, const char *policy, uint32_t shard)
{
    uint32_t p = 0;
    while (strcmp(policies[p].name, policy) != 0) {
        p++;
    }
    open_inner(d, "params");
    const bool suspends = strcmp(policy, "slurm") == 0 && d->suspends;
    if (suspends) {
        put_suspending(d, shard);
    }
    for (uint32_t k = 0; k < policies[p].count; k++) {
        if (has(d, "params", 60) && one_in(d, policies[p].count > 6 ? 8 : 3)) {
            const char *words = any(d, policies[p].knobs[k].words);
            if (!suspends ||
                (strncmp(words, "slurm_conf", 10) != 0 && strncmp(words, "sacctmgr", 8) != 0)) {
                put_words(d, words, shard);
            }
        }
    }
    if (strcmp(policy, "kai") == 0 && has(d, "resize", 40) && one_in(d, 2)) {
        put(d, "resize_pods", "true"); /* refused without topology; shards inherit either */
        put(d, "plugins.topology.enabled", "true");
    } else if (strcmp(policy, "kai") == 0 && has(d, "params", 60) && one_in(d, 8)) {
        put(d, "plugins.topology.enabled", "false");
        put(d, "resize_pods", "false");
    }
    if (policies[p].places && has(d, "placement", 40)) {
        put_placement(d, strcmp(policy, "fifo") == 0);
    }
    close_map(d);
}

static void put_latency(struct draw *d)
{
    static const char *const figures[] = {
        "cycle",         "bind",         "per_cycle",  "per_pending",
        "per_placement", "per_eviction", "per_search", NULL};
    if (one_in(d, 4)) {
        put(d, "latency", "kai-500");
        return;
    }
    open_inner(d, "latency");
    for (uint32_t f = 0; figures[f] != NULL; f++) {
        if (one_in(d, 3)) {
            const double whole_s = between(d, 1, 5);
            put(d, figures[f], "%s", span(one_in(d, 2) ? whole_s : whole_s / 10.0));
        }
    }
    close_map(d);
}

void draw_policy(struct draw *d)
{
    if (d->configured) {
        return;
    }
    stream(d, "policy");
    open_map(d, "policy");
    put(d, "name", "%s", d->policy[0]);
    put_params(d, d->policy[0], 0);
    if (d->shard_count == 1 && has(d, "latency", 15)) {
        put_latency(d);
    }
    bool any_own = false;
    for (uint32_t s = 1; s < d->shard_count; s++) {
        if (strcmp(d->policy[s], d->policy[0]) != 0 || one_in(d, 2)) {
            char name[NAME_BYTES];
            (void)snprintf(name, sizeof name, "s%u", s);
            if (!any_own) {
                open_inner(d, "shards");
            }
            any_own = true;
            open_inner(d, name);
            put(d, "name", "%s", d->policy[s]);
            put_params(d, d->policy[s], s);
            close_map(d);
        }
    }
    if (any_own) {
        close_map(d);
    }
    end_map(d);
}
