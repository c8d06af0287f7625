/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reason.h - why a job waits, why an attempt ended, why a commit was refused. One list each, with
 * the words a user reads. */
#ifndef ORR_CORE_REASON_H
#define ORR_CORE_REASON_H

#include <orrery/base/units.h>

ORR_API_BEGIN

#define ORR_REASON_LIST(X)                                                                         \
    X(NONE, "none", "no policy has looked at it yet")                                              \
    X(HEAD_OF_LINE, "head-of-line", "an earlier job of its order waits, and none may pass it")     \
    X(NO_CAPACITY, "no-capacity", "fewer GPUs are free than it asks")                              \
    X(FRAGMENTED, "fragmented",                                                                    \
      "enough GPUs are free, but not together on nodes as it needs them")                          \
    X(RESERVED, "reserved", "it would fit, but would delay the reservation of the first in line")  \
    X(OVER_LIMIT, "over-limit", "its queue would pass its limit")                                  \
    X(NON_PREEMPTIBLE_OVER_QUOTA, "non-preemptible-over-quota",                                    \
      "it cannot be preempted and its queue would pass its quota")                                 \
    X(GANG_PARTIAL, "gang-partial", "some of its pods hold GPUs and wait for the others")          \
    X(PIPELINED, "pipelined", "its GPUs are being freed")                                          \
    X(NEVER, "never", "no empty cluster of these nodes could hold it")                             \
    X(CONSTRAINED, "constrained",                                                                  \
      "enough GPUs are free, but not on nodes that its selector, taints and MIG strategies allow") \
    X(TOPOLOGY, "topology",                                                                        \
      "enough GPUs are free, but not together in one domain of the level it requires")             \
    X(DEPENDENCY, "dependency", "it waits for the end of other jobs")                              \
    X(NOT_ELIGIBLE, "not-eligible", "its time to be considered has not come")                      \
    X(QUEUE_DOES_NOT_EXIST, "queue-does-not-exist", "the scheduler takes no jobs in its queue")    \
    X(QUEUE_DEPTH, "queue-depth", "its queue has more jobs ahead of it than a cycle looks at")     \
    X(LARGEST_JOB, "largest-job", "it asks more GPUs than its queue allows one job")               \
    X(NODE_TYPES, "node-types",                                                                    \
      "enough GPUs are free, but not on the node types that its queue may use")                    \
    X(REQUEUE_DELAY, "requeue-delay",                                                              \
      "it ran as long as its queue allows and waits until it is queued again")                     \
    X(GAVE_UP, "gave-up", "it had waited as long as it was ready to, and left")                    \
    X(QUOTA, "quota",                                                                              \
      "not admitted: its queue has no quota left for it, nor can it borrow any now")               \
    X(MAX_QUOTA, "max-quota", "not admitted: it asks more than its queue could ever borrow")       \
    X(BACKOFF, "backoff",                                                                          \
      "evicted as its pods were not all placed in time; it is queued again when its backoff ends") \
    X(NO_FLAVOR, "no-flavor",                                                                      \
      "not admitted: no flavor of its queue takes its pods, or the queue has no quota of a "       \
      "resource that it asks")                                                                     \
    X(CANCELLED, "cancelled", "it lost its nodes and is not queued again")                         \
    X(FLAVOR_NODES, "flavor-nodes",                                                                \
      "admitted: enough GPUs are free, but not on nodes of the flavor that its quota is of")       \
    X(TOPOLOGY_PLACEMENT, "topology-placement",                                                    \
      "not admitted: its queue has quota for it, but the topology has no place for its pods")      \
    X(ASSIGNED_NODES, "assigned-nodes",                                                            \
      "admitted: the nodes that its pods were given are down, or their room is not free yet")      \
    X(PODS_READY, "pods-ready",                                                                    \
      "not admitted: pods of an admitted job are not all placed, and block_admission waits for "   \
      "it")                                                                                        \
    X(DEACTIVATED, "deactivated",                                                                  \
      "its pods were not all placed in time more often than backoff_limit allows: it is not "      \
      "queued again")                                                                              \
    X(PREEMPTED_UNPLACED, "preempted-unplaced",                                                    \
      "it was admitted, and preempted for another job before its pods were placed")                \
    X(TOPOLOGY_DEFECT, "topology-defect",                                                          \
      "all nodes are in one domain below the level it requires, where KAI v0.17 looks for no "     \
      "place: a defect that strict_v017: false mends")                                             \
    X(PROMISED, "promised",                                                                        \
      "enough GPUs are free, but their room is promised to pods of other jobs")                    \
    X(POD_SLOTS, "pod-slots",                                                                      \
      "enough GPUs are free, but not on nodes with pod slots left for it and for the pods that "   \
      "reserve the devices it would share")                                                        \
    X(CPU_MEMORY, "cpu-memory",                                                                    \
      "enough GPUs are free where it needs them, but not with the CPU and memory that its pods "   \
      "ask beside them")

/* Limits that only Slurm has, under the names that squeue prints. */
#define ORR_REASON_SLURM_LIST(X)                                                                   \
    X(QOS_GRP_JOBS_LIMIT, "QOSGrpJobsLimit", "as many jobs of its QOS run as it allows")           \
    X(QOS_GRP_WALL_LIMIT, "QOSGrpWallLimit", "the jobs of its QOS have run as long as it allows")  \
    X(QOS_GRP_CPU_LIMIT, "QOSGrpCpuLimit",                                                         \
      "the jobs of its QOS would hold more CPUs than it allows")                                   \
    X(QOS_GRP_MEM_LIMIT, "QOSGrpMemLimit",                                                         \
      "the jobs of its QOS would hold more memory than it allows")                                 \
    X(QOS_GRP_GRES, "QOSGrpGRES", "the jobs of its QOS would hold more GPUs than it allows")       \
    X(QOS_GRP_NODE_LIMIT, "QOSGrpNodeLimit",                                                       \
      "the jobs of its QOS would hold more nodes than it allows")                                  \
    X(QOS_MAX_JOBS_PER_USER_LIMIT, "QOSMaxJobsPerUserLimit",                                       \
      "its user has as many jobs running as its QOS allows one")                                   \
    X(QOS_MAX_CPU_PER_USER_LIMIT, "QOSMaxCpuPerUserLimit",                                         \
      "its user would hold more CPUs than its QOS allows one")                                     \
    X(QOS_MAX_MEMORY_PER_USER, "QOSMaxMemoryPerUser",                                              \
      "its user would hold more memory than its QOS allows one")                                   \
    X(QOS_MAX_GRES_PER_USER, "QOSMaxGRESPerUser",                                                  \
      "its user would hold more GPUs than its QOS allows one")                                     \
    X(QOS_MAX_NODE_PER_USER_LIMIT, "QOSMaxNodePerUserLimit",                                       \
      "its user would hold more nodes than its QOS allows one")                                    \
    X(MAX_JOBS_PER_ACCOUNT, "MaxJobsPerAccount",                                                   \
      "its account has as many jobs running as its QOS allows one")                                \
    X(MAX_CPU_PER_ACCOUNT, "MaxCpuPerAccount",                                                     \
      "its account would hold more CPUs than its QOS allows one")                                  \
    X(MAX_MEMORY_PER_ACCOUNT, "MaxMemoryPerAccount",                                               \
      "its account would hold more memory than its QOS allows one")                                \
    X(MAX_GRES_PER_ACCOUNT, "MaxGRESPerAccount",                                                   \
      "its account would hold more GPUs than its QOS allows one")                                  \
    X(MAX_NODE_PER_ACCOUNT, "MaxNodePerAccount",                                                   \
      "its account would hold more nodes than its QOS allows one")                                 \
    X(QOS_MAX_WALL_DURATION_PER_JOB_LIMIT, "QOSMaxWallDurationPerJobLimit",                        \
      "its time limit is longer than its QOS allows a job")                                        \
    X(QOS_MAX_CPU_PER_JOB_LIMIT, "QOSMaxCpuPerJobLimit",                                           \
      "it asks more CPUs than its QOS allows a job")                                               \
    X(QOS_MAX_MEMORY_PER_JOB, "QOSMaxMemoryPerJob",                                                \
      "it asks more memory than its QOS allows a job")                                             \
    X(QOS_MAX_GRES_PER_JOB, "QOSMaxGRESPerJob", "it asks more GPUs than its QOS allows a job")     \
    X(QOS_MAX_NODE_PER_JOB_LIMIT, "QOSMaxNodePerJobLimit",                                         \
      "it asks more nodes than its QOS allows a job")                                              \
    X(QOS_MAX_CPU_PER_NODE, "QOSMaxCpuPerNode",                                                    \
      "it asks more CPUs of a node than its QOS allows a job")                                     \
    X(QOS_MAX_MEMORY_PER_NODE, "QOSMaxMemoryPerNode",                                              \
      "it asks more memory of a node than its QOS allows a job")                                   \
    X(QOS_MAX_GRES_PER_NODE, "QOSMaxGRESPerNode",                                                  \
      "it asks more GPUs of a node than its QOS allows a job")                                     \
    X(QOS_MIN_CPU_NOT_SATISFIED, "QOSMinCpuNotSatisfied",                                          \
      "it asks fewer CPUs than its QOS wants of a job")                                            \
    X(QOS_MIN_MEMORY, "QOSMinMemory", "it asks less memory than its QOS wants of a job")           \
    X(QOS_MIN_GRES, "QOSMinGRES", "it asks fewer GPUs than its QOS wants of a job")                \
    X(QOS_MIN_NODE, "QOSMinNode", "it asks fewer nodes than its QOS wants of a job")               \
    X(QOS_GRP_CPU_MINUTES_LIMIT, "QOSGrpCpuMinutesLimit",                                          \
      "the jobs of its QOS have used as many CPUs times minutes as it allows")                     \
    X(QOS_GRP_MEM_MINUTES, "QOSGrpMemMinutes",                                                     \
      "the jobs of its QOS have used as much memory times minutes as it allows")                   \
    X(QOS_GRP_GRES_MINUTES, "QOSGrpGRESMinutes",                                                   \
      "the jobs of its QOS have used as many GPUs times minutes as it allows")                     \
    X(QOS_GRP_NODE_MINUTES, "QOSGrpNodeMinutes",                                                   \
      "the jobs of its QOS have used as many nodes times minutes as it allows")                    \
    X(QOS_GRP_CPU_RUN_MINUTES_LIMIT, "QOSGrpCPURunMinutesLimit",                                   \
      "what jobs of its QOS may use until their limits would be more CPUs times minutes than it "  \
      "allows")                                                                                    \
    X(QOS_GRP_MEM_RUN_MINUTES, "QOSGrpMemRunMinutes",                                              \
      "what jobs of its QOS may use until their limits would be more memory times minutes than "   \
      "it allows")                                                                                 \
    X(QOS_GRP_GRES_RUN_MINUTES, "QOSGrpGRESRunMinutes",                                            \
      "what jobs of its QOS may use until their limits would be more GPUs times minutes than it "  \
      "allows")                                                                                    \
    X(QOS_GRP_NODE_RUN_MINUTES, "QOSGrpNodeRunMinutes",                                            \
      "what jobs of its QOS may use until their limits would be more nodes times minutes than it " \
      "allows")                                                                                    \
    X(QOS_MAX_CPU_MINUTES_PER_JOB_LIMIT, "QOSMaxCpuMinutesPerJobLimit",                            \
      "it asks more CPUs times minutes than its QOS allows a job")                                 \
    X(QOS_MAX_MEM_MINUTES_PER_JOB, "QOSMaxMemMinutesPerJob",                                       \
      "it asks more memory times minutes than its QOS allows a job")                               \
    X(QOS_MAX_GRES_MINUTES_PER_JOB, "QOSMaxGRESMinutesPerJob",                                     \
      "it asks more GPUs times minutes than its QOS allows a job")                                 \
    X(QOS_MAX_NODE_MINUTES_PER_JOB, "QOSMaxNodeMinutesPerJob",                                     \
      "it asks more nodes times minutes than its QOS allows a job")                                \
    X(ASSOC_GRP_JOBS_LIMIT, "AssocGrpJobsLimit",                                                   \
      "as many jobs of its association run as it allows")                                          \
    X(ASSOC_GRP_WALL_LIMIT, "AssocGrpWallLimit",                                                   \
      "the jobs of its association have run as long as it allows")                                 \
    X(ASSOC_GRP_CPU_LIMIT, "AssocGrpCpuLimit",                                                     \
      "the jobs of its association would hold more CPUs than it allows")                           \
    X(ASSOC_GRP_MEM_LIMIT, "AssocGrpMemLimit",                                                     \
      "the jobs of its association would hold more memory than it allows")                         \
    X(ASSOC_GRP_GRES, "AssocGrpGRES",                                                              \
      "the jobs of its association would hold more GPUs than it allows")                           \
    X(ASSOC_GRP_NODE_LIMIT, "AssocGrpNodeLimit",                                                   \
      "the jobs of its association would hold more nodes than it allows")                          \
    X(ASSOC_MAX_JOBS_LIMIT, "AssocMaxJobsLimit",                                                   \
      "its user has as many jobs running as the association allows")                               \
    X(ASSOC_MAX_WALL_DURATION_PER_JOB_LIMIT, "AssocMaxWallDurationPerJobLimit",                    \
      "its time limit is longer than its association allows a job")                                \
    X(ASSOC_MAX_CPU_PER_JOB_LIMIT, "AssocMaxCpuPerJobLimit",                                       \
      "it asks more CPUs than its association allows a job")                                       \
    X(ASSOC_MAX_MEM_PER_JOB, "AssocMaxMemPerJob",                                                  \
      "it asks more memory than its association allows a job")                                     \
    X(ASSOC_MAX_GRES_PER_JOB, "AssocMaxGRESPerJob",                                                \
      "it asks more GPUs than its association allows a job")                                       \
    X(ASSOC_MAX_NODE_PER_JOB_LIMIT, "AssocMaxNodePerJobLimit",                                     \
      "it asks more nodes than its association allows a job")                                      \
    X(ASSOC_MAX_CPU_PER_NODE, "AssocMaxCpuPerNode",                                                \
      "it asks more CPUs of a node than its association allows a job")                             \
    X(ASSOC_MAX_MEM_PER_NODE, "AssocMaxMemPerNode",                                                \
      "it asks more memory of a node than its association allows a job")                           \
    X(ASSOC_MAX_GRES_PER_NODE, "AssocMaxGRESPerNode",                                              \
      "it asks more GPUs of a node than its association allows a job")                             \
    X(ASSOC_GRP_CPU_MINUTES_LIMIT, "AssocGrpCpuMinutesLimit",                                      \
      "the jobs of its association have used as many CPUs times minutes as it allows")             \
    X(ASSOC_GRP_MEM_MINUTES, "AssocGrpMemMinutes",                                                 \
      "the jobs of its association have used as much memory times minutes as it allows")           \
    X(ASSOC_GRP_GRES_MINUTES, "AssocGrpGRESMinutes",                                               \
      "the jobs of its association have used as many GPUs times minutes as it allows")             \
    X(ASSOC_GRP_NODE_MINUTES, "AssocGrpNodeMinutes",                                               \
      "the jobs of its association have used as many nodes times minutes as it allows")            \
    X(ASSOC_GRP_CPU_RUN_MINUTES_LIMIT, "AssocGrpCPURunMinutesLimit",                               \
      "what jobs of its association may use until their limits would be more CPUs times minutes "  \
      "than it allows")                                                                            \
    X(ASSOC_GRP_MEM_RUN_MINUTES, "AssocGrpMemRunMinutes",                                          \
      "what runs of its association, with its limits of time, would be more memory than it "       \
      "allows")                                                                                    \
    X(ASSOC_GRP_GRES_RUN_MINUTES, "AssocGrpGRESRunMinutes",                                        \
      "what jobs of its association may use until their limits would be more GPUs times minutes "  \
      "than it allows")                                                                            \
    X(ASSOC_GRP_NODE_RUN_MINUTES, "AssocGrpNodeRunMinutes",                                        \
      "what jobs of its association may use until their limits would be more nodes times minutes " \
      "than it allows")                                                                            \
    X(ASSOC_MAX_CPU_MINUTES_PER_JOB_LIMIT, "AssocMaxCpuMinutesPerJobLimit",                        \
      "it asks more CPUs times minutes than its association allows a job")                         \
    X(ASSOC_MAX_MEM_MINUTES_PER_JOB, "AssocMaxMemMinutesPerJob",                                   \
      "it asks more memory times minutes than its association allows a job")                       \
    X(ASSOC_MAX_GRES_MINUTES_PER_JOB, "AssocMaxGRESMinutesPerJob",                                 \
      "it asks more GPUs times minutes than its association allows a job")                         \
    X(ASSOC_MAX_NODE_MINUTES_PER_JOB, "AssocMaxNodeMinutesPerJob",                                 \
      "it asks more nodes times minutes than its association allows a job")                        \
    X(PARTITION_DOWN, "PartitionDown", "its partition is down, or has no nodes here")              \
    X(PARTITION_NODE_LIMIT, "PartitionNodeLimit",                                                  \
      "it asks more nodes than its partition allows a job, or fewer")                              \
    X(PARTITION_TIME_LIMIT, "PartitionTimeLimit",                                                  \
      "its time limit is longer than its partition allows")                                        \
    X(JOB_ARRAY_TASK_LIMIT, "JobArrayTaskLimit",                                                   \
      "as many tasks of its array run as its user allowed")                                        \
    X(BEGIN_TIME, "BeginTime", "it was queued again, and may not start before its begin time")     \
    X(ACCOUNT_NOT_ALLOWED, "AccountNotAllowed",                                                    \
      "its partition takes no jobs of its account (AllowAccounts, DenyAccounts)")                  \
    X(QOS_NOT_ALLOWED, "QOSNotAllowed",                                                            \
      "its partition takes no jobs of its QOS (AllowQos, DenyQos)")                                \
    X(JOB_HELD_USER, "JobHeldUser", "it was submitted held (--hold, or priority 0)")               \
    X(REQ_NODE_NOT_AVAIL, "ReqNodeNotAvail",                                                       \
      "the nodes that could hold it are down, or withdrawn for a job of another partition")        \
    X(LICENSES, "Licenses", "jobs that run have the licenses that it asks")

/* Why a scheduler refuses a job at submit: a job with one of these reasons leaves at once. */
#define ORR_REASON_REFUSED_LIST(X)                                                                 \
    X(QOS_GRP_SUBMIT_JOBS_LIMIT, "QOSGrpSubmitJobsLimit",                                          \
      "refused at submit: as many jobs of its QOS waited and ran as it allows")                    \
    X(MAX_SUBMIT_JOBS_PER_ACCOUNT, "MaxSubmitJobsPerAccount",                                      \
      "refused at submit: as many jobs of its account waited and ran as its QOS allows")           \
    X(QOS_MAX_SUBMIT_JOB_PER_USER_LIMIT, "QOSMaxSubmitJobPerUserLimit",                            \
      "refused at submit: as many jobs of its user waited and ran as its QOS allows")              \
    X(ASSOC_GRP_SUBMIT_JOBS_LIMIT, "AssocGrpSubmitJobsLimit",                                      \
      "refused at submit: as many jobs of its association waited and ran as it allows")            \
    X(ASSOC_MAX_SUBMIT_JOB_LIMIT, "AssocMaxSubmitJobLimit",                                        \
      "refused at submit: as many jobs of its user waited and ran as the association allows")      \
    X(DENY_ON_LIMIT, "DenyOnLimit",                                                                \
      "refused at submit: by itself it passes a limit, and its QOS denies such jobs")              \
    X(ENFORCE_PART_LIMITS, "EnforcePartLimits",                                                    \
      "refused at submit: its partition has no such time or number of nodes, or takes no jobs of " \
      "its account or QOS")                                                                        \
    X(MAX_ARRAY_SIZE, "MaxArraySize", "refused at submit: its array has more tasks than one may")  \
    X(INVALID_PARTITION, "InvalidPartition", "refused at submit: there is no partition it names")  \
    X(INVALID_QOS, "InvalidQOS",                                                                   \
      "refused at submit: there is no QOS it names, or its association may not use it")            \
    X(PARTITION_NOT_AVAILABLE, "PartitionNotAvailable",                                            \
      "refused at submit: its partition takes no jobs (DRAIN, INACTIVE)")                          \
    X(INVALID_LICENSES, "InvalidLicenses",                                                         \
      "refused at submit: it asks licenses that there are none of, or more than there are")

enum orr_reason {
#define X(name, code, words) ORR_REASON_##name,
    ORR_REASON_LIST(X) ORR_REASON_SLURM_LIST(X) ORR_REASON_REFUSED_LIST(X)
#undef X
        ORR_REASON_COUNT
};

static inline bool orr_reason_refuses(enum orr_reason reason)
{
    return reason >= ORR_REASON_QOS_GRP_SUBMIT_JOBS_LIMIT && reason < ORR_REASON_COUNT;
}

const char *orr_reason_code(enum orr_reason reason);
const char *orr_reason_words(enum orr_reason reason);

/* How one of KAI's searches for victims ended for a job that still waits (the order is how far it
 * got): the furthest that one of its generators got with all tasks that it is due or, where it
 * could not have even one, with that one. */
#define ORR_OUTCOME_LIST(X)                                                                        \
    X(NOT_TRIED, "not-tried", "the action did not look at it")                                     \
    X(DELAYED, "preemption-delay", "its preemption delay has not elapsed")                         \
    X(GATE, "gate-failed",                                                                         \
      "the action's gate: fair share or quota (reclaim), quota (preempt), free GPUs in total "     \
      "(consolidation)")                                                                           \
    X(TOO_LARGE, "too-large", "one of its pods is larger than any node")                           \
    X(LIKE_FAILED, "like-failed", "a job like it, and no larger, failed before it in the action")  \
    X(NO_CANDIDATES, "no-candidates", "nobody may be a victim for it")                             \
    X(FILTERED, "filtered", "no set of victims frees enough where it is needed")                   \
    X(NOT_PLACED, "simulation-failed",                                                             \
      "it, or one to be moved for it, found no place once the victims had been gone and all were " \
      "placed anew, in fair order")                                                                \
    X(REJECTED, "validator-rejected", "who would lose for it is entitled to what it has")          \
    X(UNFINISHED, "unfinished", "all of it was placed in thought, but its gang was not satisfied") \
    X(SPENT, "budget-spent", "the budget of scenarios was used up before one was solved")          \
    X(SOLVED, "solved", "victims were found")

enum orr_outcome {
#define X(name, code, words) ORR_OUTCOME_##name,
    ORR_OUTCOME_LIST(X)
#undef X
        ORR_OUTCOME_COUNT
};

const char *orr_outcome_code(enum orr_outcome outcome);
const char *orr_outcome_words(enum orr_outcome outcome);

/* The numbers that prove a reason; a field that says nothing is -1 or ORR_NONE. */
struct orr_proof {
    int64_t allowed_mgpu; /* the limit, quota or part that binds */
    int64_t held_mgpu;    /* what counts against it */
    int64_t claim_mgpu;   /* what counted against its queue's fair share of GPUs when that kept it
                             from reclaim */
    int64_t free_mgpu;    /* of the nodes it may use, none that is down or away among them, and
                             nothing that leaves */
    int64_t hole_mgpu;    /* most whole devices that are free on one of them */
    int64_t domain_mgpu;  /* most whole devices that are free in one domain of its level ... */
    uint32_t level;       /* ... that it requires, from 1 ... */
    uint32_t domain;      /* ... and which domain that is */
    uint32_t queue;       /* whose limit, quota or part */
    uint32_t ahead;       /* the job that is served before it */
    uint8_t consolidation, reclaim, preempt; /* enum orr_outcome */
};

static inline struct orr_proof orr_no_proof(void)
{
    return (struct orr_proof){.allowed_mgpu = -1,
                              .held_mgpu = -1,
                              .claim_mgpu = -1,
                              .free_mgpu = -1,
                              .hole_mgpu = -1,
                              .domain_mgpu = -1,
                              .level = ORR_NONE,
                              .domain = ORR_NONE,
                              .queue = ORR_NONE,
                              .ahead = ORR_NONE};
}

/* Rules of queues about single jobs. */
#define ORR_RULE_LIST(X)                                                                           \
    X(LARGEST_JOB, "largest-job", "more GPUs than the queue allows one job: never started")        \
    X(LONGEST_SESSION, "longest-session", "a session ended when it had lasted as long as allowed") \
    X(IDLE_STOP, "idle-stop", "a session ended when it had been idle as long as allowed")          \
    X(MAX_RUNTIME, "max-runtime",                                                                  \
      "ended, or evicted and queued again later, when it had run as long as allowed")              \
    X(TIME_LIMIT, "time-limit", "ended when it had run for its time limit")

enum orr_rule {
#define X(name, code, words) ORR_RULE_##name,
    ORR_RULE_LIST(X)
#undef X
        ORR_RULE_COUNT
};

const char *orr_rule_code(enum orr_rule rule);
const char *orr_rule_words(enum orr_rule rule);

#define ORR_CAUSE_LIST(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(PREEMPT, "preempt")                                                                          \
    X(RECLAIM, "reclaim")                                                                          \
    X(CONSOLIDATE, "consolidate")                                                                  \
    X(STALE_GANG, "stale gang")                                                                    \
    X(NODE_FAILURE, "node failure")                                                                \
    X(MAX_RUNTIME, "max runtime")                                                                  \
    X(MAINTENANCE, "maintenance")                                                                  \
    X(PODS_NOT_READY, "pods not ready")

enum orr_cause {
#define X(name, words) ORR_CAUSE_##name,
    ORR_CAUSE_LIST(X)
#undef X
        ORR_CAUSE_COUNT
};

const char *orr_cause_words(enum orr_cause cause);
/* May a policy evict for it? Of the others the run itself says what they mean. */
static inline bool orr_cause_is_of_policies(enum orr_cause cause)
{
    return cause != ORR_CAUSE_NONE && cause != ORR_CAUSE_MAX_RUNTIME;
}

ORR_API_END

#endif
