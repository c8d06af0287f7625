/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kueue_policy.h"

static const char *const within_names[] = {"never", "lower-priority",
                                           "lower-or-newer-equal-priority", NULL};
static const char *const reclaim_names[] = {"never", "lower-priority", "any", NULL};
static const char *const borrow_names[] = {"never", "lower-priority", NULL};
static const char *const strategy_names[] = {"best-effort-fifo", "strict-fifo", NULL};
static const char *const fair_names[] = {"off", "default", "final-share", "initial-share", NULL};
static const char *const timestamp_names[] = {"eviction", "creation", NULL};
static const char *const placement_names[] = {"kube", "ideal", NULL};
static const char *const topology_names[] = {"asked", "always", "never", NULL};
static const char *const check_names[] = {"ignore-undeclared", "block-undeclared", NULL};
static const char *const score_names[] = {"least-allocated", "most-allocated", NULL};

#define AT(m) offsetof(struct kueue_params, m)
const struct orr_param orr_kueue__rows[] = {
    {"within_cluster_queue", ORR_PARAM_CHOICE, AT(within), "never", "", within_names, 0, 0,
     "whom of its own queue a job may preempt"},
    {"reclaim_within_cohort", ORR_PARAM_CHOICE, AT(reclaim), "never", "", reclaim_names, 0, 0,
     "whom of queues that borrow a job may preempt"},
    {"borrow_within_cohort", ORR_PARAM_CHOICE, AT(borrow_within), "never", "", borrow_names, 0, 0,
     "may a job preempt others to borrow itself? Needs reclaim_within_cohort"},
    {"queueing_strategy", ORR_PARAM_CHOICE, AT(strategy), "best-effort-fifo", "", strategy_names, 0,
     0, "may jobs of a queue pass its first one while that waits?"},
    {"fair_sharing", ORR_PARAM_CHOICE, AT(fair_sharing), "off", "", fair_names, 0, 0,
     "order and preemption by shares of what is borrowed: off, both strategies, or one of them"},
    {"admission_fair_sharing", ORR_PARAM_BOOL, AT(admission_fair_sharing), "false", "", NULL, 0, 0,
     "a queue's jobs go by what their users used of it lately, the least first"},
    {"usage_half_life_time", ORR_PARAM_TIME, AT(usage_half_life_ms), "1h", "", NULL, 0, 0,
     "in which what was used counts half; 0s: what was used does not count"},
    {"usage_sampling_interval", ORR_PARAM_TIME, AT(usage_sampling_ms), "5m", "", NULL, 0, 0,
     "how often use is counted; the charge at an admission is for so long"},
    {"usage_weight_gpu", ORR_PARAM_REAL, AT(usage_weights[ORR_SHARE_GPU]), "1", "", NULL, 0, 1e12,
     "what a GPU in use counts"},
    {"usage_weight_cpu", ORR_PARAM_REAL, AT(usage_weights[ORR_SHARE_CPU]), "0", "", NULL, 0, 1e12,
     "what a CPU counts, where queues bound them"},
    {"usage_weight_memory", ORR_PARAM_REAL, AT(usage_weights[ORR_SHARE_MEMORY]), "0", "", NULL, 0,
     1e12, "what a byte of memory counts, where queues bound it"},
    {"usage_weight_pods", ORR_PARAM_REAL, AT(usage_weights[ORR_FLAVOR_PODS]), "0", "", NULL, 0,
     1e12, "what a pod counts, where queues have quota of pods"},
    {"cluster_cohort", ORR_PARAM_BOOL, AT(cluster_cohort), "true", "", NULL, 0, 0,
     "queues at the top are in one cohort, which owns what of the nodes no queue has quota for"},
    {"quota_check", ORR_PARAM_CHOICE, AT(quota_check), "ignore-undeclared", "", check_names, 0, 0,
     "jobs that ask a resource of which their queue has no quota: not held up by it, or never "
     "admitted"},
    {"exclude_resources", ORR_PARAM_TEXT, AT(exclude_resources), "", "", NULL, 0, 0,
     "of gpu, cpu and memory those that do not count against quota (excludeResourcePrefixes)"},
    {"resource_transformations", ORR_PARAM_TEXT, AT(resource_transformations), "", "", NULL, 0, 0,
     "what counts against quota instead of a resource (replace) or beside it (retain), for each "
     "whole unit that a pod asks: \"gpu retain cpu=8 memory=64Gi; cpu replace\""},
    {"feature_gates", ORR_PARAM_TEXT, AT(feature_gates), "", "", NULL, 0, 0,
     "Kueue's feature gates that are not as by default: \"TASBalancedPlacement=true,...\""},
    {"partial_admission", ORR_PARAM_BOOL, AT(partial_admission), "true", "", NULL, 0, 0,
     "admit elastic jobs with fewer pods, down to their minimum, where quota has no room for all"},
    {"wait_for_pods_ready", ORR_PARAM_BOOL, AT(wait_for_pods_ready), "true", "", NULL, 0, 0,
     "evict an admitted job whose pods are not all placed in time"},
    {"block_admission", ORR_PARAM_BOOL, AT(block_admission), "false", "", NULL, 0, 0,
     "admit nobody while pods of an admitted job are not all placed: one job starts after the "
     "other"},
    {"timeout", ORR_PARAM_TIME, AT(timeout_ms), "30m", "", NULL, 0, 0,
     "how long its pods may take from its admission"},
    {"recovery_timeout", ORR_PARAM_TIME, AT(recovery_ms), "30m", "", NULL, 0, 0,
     "how long they may take when some were lost"},
    {"requeuing_timestamp", ORR_PARAM_CHOICE, AT(timestamp), "eviction", "", timestamp_names, 0, 0,
     "its place in the queue then"},
    {"backoff_base", ORR_PARAM_TIME, AT(backoff_base_ms), "60s", "", NULL, 0, 0,
     "how long it waits after the first time; twice as long after each further one"},
    {"backoff_max", ORR_PARAM_TIME, AT(backoff_max_ms), "1h", "", NULL, 0, 0, "at most"},
    {"backoff_limit", ORR_PARAM_INT, AT(backoff_limit), "-1", "evictions", NULL, -1, 1e6,
     "how often it is queued again; -1: for ever"},
    {"requeue_batch", ORR_PARAM_TIME, AT(requeue_batch_ms), "1s", "", NULL, 0, 0,
     "how long after quota is released those that wait are looked at again"},
    {"placement", ORR_PARAM_CHOICE, AT(placement), "kube", "", placement_names, 0, 0,
     "admitted jobs are placed pod by pod, or (ideal) whole once they fit"},
    {"score", ORR_PARAM_CHOICE, AT(score), "least-allocated", "", score_names, 0, 0,
     "which node a pod prefers: the one with the most idle GPUs, or the fullest that fits"},
    {"topology_aware_scheduling", ORR_PARAM_CHOICE, AT(topology_aware), "asked", "", topology_names,
     0, 0,
     "have flavors that do not say it the cluster's topology? asked: where jobs state a level"},
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};
