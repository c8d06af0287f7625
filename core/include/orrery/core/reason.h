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
      "enough GPUs are free, but not on nodes that its selector and taints allow")                 \
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
      "not admitted: its selector and tolerations go with no flavor of its queue")                 \
    X(CANCELLED, "cancelled", "it lost its nodes to another job and is not queued again")          \
    X(FLAVOR_NODES, "flavor-nodes",                                                                \
      "admitted: enough GPUs are free, but not on nodes of the flavor that its quota is of")

enum orr_reason {
#define X(name, code, words) ORR_REASON_##name,
    ORR_REASON_LIST(X)
#undef X
        ORR_REASON_COUNT
};

const char *orr_reason_code(enum orr_reason reason);
const char *orr_reason_words(enum orr_reason reason);

/* How one of KAI's searches for victims ended for a job that still waits (the order is how far it
 * got). */
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
    int64_t free_mgpu;    /* of the nodes it may use */
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
      "ended, or evicted and queued again later, when it had run as long as allowed")

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
    X(MAINTENANCE, "maintenance")

enum orr_cause {
#define X(name, words) ORR_CAUSE_##name,
    ORR_CAUSE_LIST(X)
#undef X
        ORR_CAUSE_COUNT
};

const char *orr_cause_words(enum orr_cause cause);

ORR_API_END

#endif
