/* SPDX-License-Identifier: GPL-3.0-or-later */
/* admission.h - scheduling cycles of Kueue on its own objects, without the simulator.
 *
 * Read are ClusterQueues, Cohorts, ResourceFlavors, LocalQueues, Topologies, Workloads, priority
 * classes, a Configuration, and the Nodes, Pods and Namespaces that they look at: YAML, or lists as
 * kubectl prints them (sim/import/README.md). Between cycles nothing happens: no pod ends, victims
 * hold their quota, parked workloads stay parked.
 */
#ifndef ORR_SIM_ADMISSION_H
#define ORR_SIM_ADMISSION_H

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/sim/import.h>

enum { ORR_ADMISSION_QUIET = -1 }; /* cycles until they decide nothing new */

enum orr_admission_state {
    ORR_ADMISSION_ADMITTED,  /* it holds quota now and did not before */
    ORR_ADMISSION_MOVED,     /* pods of a failed node have another place */
    ORR_ADMISSION_HOLDS,     /* it did before, and nothing was decided */
    ORR_ADMISSION_PREEMPTED, /* it holds quota until its pods are gone */
    ORR_ADMISSION_PENDING,
    ORR_ADMISSION_FINISHED,
    ORR_ADMISSION_STATES
};
extern const char *const orr_admission_states[];

struct orr_admission_use { /* of one resource of a pod set */
    const char *resource, *flavor;
    int64_t amount; /* milli-cores of CPU, else whole units */
};
#define ORR_ADMISSION_AMOUNT 40
/* As Kubernetes writes it: cores, bytes with a suffix ("256Gi"), whole units; returns `out`. */
const char *orr_admission_amount(char out[ORR_ADMISSION_AMOUNT], const char *resource,
                                 int64_t amount);
struct orr_admission_place { /* of a flavor with a topology */
    const char *domain;      /* values of its levels with "/" between, the widest first */
    int64_t pods;
};
struct orr_admission_set {
    const char *name;
    int64_t pods;
    struct orr_admission_use *uses;
    struct orr_admission_place *places;
    uint32_t use_count, place_count;
};
struct orr_admission_row {           /* a workload */
    const char *workload;            /* namespace/name */
    const char *queue, *local_queue; /* queue NULL: none takes it */
    int64_t priority;
    enum orr_admission_state state;
    uint32_t cycle;     /* admitted, moved or preempted in it, from 1; 0: in none */
    const char *by;     /* preempted: for whom; NULL: for none */
    const char *reason; /* preempted or pending: Kueue's; NULL */
    const char *why;    /* pending: one sentence with the numbers */
    bool parked;        /* pending: it is looked at again only after quota is released */
    struct orr_admission_set *sets; /* of those that hold quota */
    uint32_t set_count;
};

struct orr_admission {
    orr_ms now;
    uint32_t queues, cohorts, flavors, local_queues, nodes;
    uint32_t cycles; /* that ran */
    bool quiet;      /* the last one decided nothing new */
    struct orr_admission_row *rows;
    uint32_t row_count;
    struct orr_snapshot_note *notes;
    uint32_t note_count;
    struct orr_arena arena;
};

/* Reads the objects and runs cycles. Of the options paths, text, now and params are looked at; a
 * parameter is a feature gate or a word of the Configuration ("fairSharing=true"). Release it in
 * any case. ORR_NO_INPUT, ORR_DATA, ORR_USAGE. */
enum orr_status orr_admission_run(const struct orr_snapshot_options *options, int64_t cycles,
                                  struct orr_admission *out, struct orr_err *err) ORR_MUST_USE;
void orr_admission_release(struct orr_admission *admission);

#endif
