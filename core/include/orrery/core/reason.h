/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reason.h - why a job waits, why an attempt ended, why a commit was refused. One list each, with
 * the words a user reads. */
#ifndef ORR_CORE_REASON_H
#define ORR_CORE_REASON_H

#include <orrery/base/units.h>

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
    X(QUEUE_DEPTH, "queue-depth", "its queue has more jobs ahead of it than a cycle looks at")

enum orr_reason {
#define X(name, code, words) ORR_REASON_##name,
    ORR_REASON_LIST(X)
#undef X
        ORR_REASON_COUNT
};

const char *orr_reason_code(enum orr_reason reason);
const char *orr_reason_words(enum orr_reason reason);

#define ORR_CAUSE_LIST(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(PREEMPT, "preempt")                                                                          \
    X(RECLAIM, "reclaim")                                                                          \
    X(CONSOLIDATE, "consolidate")                                                                  \
    X(STALE_GANG, "stale gang")                                                                    \
    X(NODE_FAILURE, "node failure")

enum orr_cause {
#define X(name, words) ORR_CAUSE_##name,
    ORR_CAUSE_LIST(X)
#undef X
        ORR_CAUSE_COUNT
};

const char *orr_cause_words(enum orr_cause cause);

#endif
