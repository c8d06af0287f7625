/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a vector of Kueue's by its kind. */
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#include "kueue_int.h"

static void take(struct kq_world *world, const struct kq_amounts *amounts)
{
    const uint32_t node = orr_kq_node(world, amounts->name);
    for (uint32_t i = 0; node != ORR_NONE && i < amounts->count; i++) {
        orr_quota_take(&world->tree, node,
                       orr_kq_cell(world, amounts->items[i].flavor, amounts->items[i].resource),
                       amounts->items[i].amount);
    }
}

static void take_all(struct kq_world *world)
{
    for (uint32_t i = 0; i < orr_conform__vector(world)->usage.count; i++) {
        take(world, &orr_conform__vector(world)->usage.items[i]);
    }
}

/* --- available --- */

static void check_amounts(const struct kq_world *world, const struct kq_amounts_list *list,
                          bool potential, struct conform_outcome *outcome)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t node = orr_kq_node(world, list->items[i].name);
        for (uint32_t a = 0; a < list->items[i].count; a++) {
            const struct kq_amount *amount = &list->items[i].items[a];
            const uint32_t cell = orr_kq_cell(world, amount->flavor, amount->resource);
            const int64_t got = potential ? orr_quota_potential(&world->tree, node, cell)
                                          : orr_quota_available(&world->tree, node, cell);
            if (got != amount->amount) {
                orr_conform__say(outcome, ORR_CONFORM_FAILED,
                                 "%s, %s of %s: expected %lld %s, got %lld", list->items[i].name,
                                 amount->resource, amount->flavor, (long long)amount->amount,
                                 potential ? "in all" : "available", (long long)got);
            }
        }
    }
}

static void run_available(struct kq_world *world, struct conform_outcome *outcome)
{
    take_all(world);
    check_amounts(world, &orr_conform__vector(world)->expected.available, false, outcome);
    check_amounts(world, &orr_conform__vector(world)->expected.potential, true, outcome);
}

/* --- drs --- */

static void check_share(struct kq_world *world, const struct kq_share *expected,
                        struct conform_outcome *outcome)
{
    const bool cohort = strcmp(expected->type, "cohort") == 0;
    const uint32_t found = orr_kq_find(cohort ? &world->cohorts : &world->queues, expected->node);
    const uint32_t node = cohort ? world->queues.count + found : found;
    for (int way = 0; way < 2; way++) {
        for (uint32_t i = 0; i < orr_conform__vector(world)->extra_count; i++) {
            const struct kq_amount *extra = &orr_conform__vector(world)->extra[i];
            const uint32_t cell = orr_kq_cell(world, extra->flavor, extra->resource);
            (way == 0 ? orr_quota_take : orr_quota_give)(&world->tree, node, cell, extra->amount);
        }
        if (way == 1) {
            return;
        }
        const struct orr_quota_share share = orr_quota_share(&world->tree, node);
        const double value = ceil(orr_quota_share_value(&share));
        const char *resource =
            share.resource != ORR_NONE ? world->resources.names[share.resource] : "";
        const double stated =
            orr_quota_share_is_infinite(&share)
                ? (double)orr_kq_whole(expected->share) - (double)ORR_QUOTA_UNLIMITED
                : (double)orr_kq_whole(expected->share) - value;
        if (fabs(stated) > 0 || strcmp(resource, expected->resource) != 0 ||
            share.borrowing != expected->borrowing) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED,
                             "%s: expected a share of %s of %s, got %.17g of %s", expected->node,
                             expected->share, expected->resource, value, resource);
        }
    }
}

static void run_shares(struct kq_world *world, struct conform_outcome *outcome)
{
    take_all(world);
    for (uint32_t i = 0; i < orr_conform__vector(world)->expected.share_count; i++) {
        check_share(world, &orr_conform__vector(world)->expected.shares[i], outcome);
    }
}

/* --- assign --- */

static enum orr_kueue_flavor_mode answer(void *context, uint32_t cell, int64_t amount,
                                         uint32_t *level)
{
    const struct kq_world *world = context;
    (void)amount;
    *level = 0;
    for (uint32_t i = 0; i < orr_conform__vector(world)->oracle_count; i++) {
        const struct kq_answer *known = &orr_conform__vector(world)->oracle[i];
        if (orr_kq_cell(world, known->flavor, known->resource) == cell) {
            *level = (uint32_t)known->level;
            return orr_kq_is_word(known->possibility, "NoCandidates") ? ORR_KUEUE_F_NO_CANDIDATES
                   : orr_kq_is_word(known->possibility, "Reclaim")    ? ORR_KUEUE_F_RECLAIM
                                                                      : ORR_KUEUE_F_PREEMPT;
        }
    }
    return ORR_KUEUE_F_PREEMPT;
}

static const char *mode_word(enum orr_kueue_mode mode)
{
    static const char *const words[] = {"NoFit", "Preempt", "DeferredFit", "Fit"};
    return words[mode];
}

static void check_flavored(const struct kq_world *world, const struct kq_given *expected,
                           const struct orr_kueue_assignment *got, uint32_t set,
                           struct conform_outcome *outcome)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < world->resources.count; r++) {
        count += got->flavored[(size_t)set * world->resources.count + r].flavor != ORR_NONE;
    }
    if (count != expected->flavor_count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %u flavor%s, got %u",
                         expected->name, expected->flavor_count, ORR_PLURAL(expected->flavor_count),
                         count);
    }
    for (uint32_t i = 0; i < expected->flavor_count; i++) {
        const struct kq_given_flavor *one = &expected->flavors[i];
        const uint32_t r = orr_kq_find(&world->resources, one->name);
        const struct orr_kueue_flavored *is =
            &got->flavored[(size_t)set * world->resources.count + r];
        const char *flavor = is->flavor != ORR_NONE ? world->flavors.names[is->flavor] : "none";
        if (strcmp(flavor, one->flavor) != 0 || strcmp(mode_word(is->mode), one->mode) != 0 ||
            (one->tried != KQ_UNSET && one->tried != is->tried)) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED,
                             "%s, %s: expected %s in %s (%lld tried), got %s in %s (%d)",
                             expected->name, one->name, one->mode, one->flavor,
                             (long long)one->tried, mode_word(is->mode), flavor, is->tried);
        }
    }
}

static void check_usage(const struct kq_world *world, const struct orr_kueue_assignment *got,
                        struct conform_outcome *outcome)
{
    const struct kq_expected *expected = &orr_conform__vector(world)->expected;
    uint32_t used = 0;
    for (uint32_t u = 0; u < got->usage_count; u++) {
        used++;
        bool right = false;
        for (uint32_t i = 0; i < expected->usage_count; i++) {
            right = right || (orr_kq_cell(world, expected->usage[i].flavor,
                                          expected->usage[i].resource) == got->usage[u].cell &&
                              expected->usage[i].amount == got->usage[u].amount);
        }
        if (!right) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "usage: %lld of %s is not expected",
                             (long long)got->usage[u].amount,
                             world->resources.names[got->usage[u].cell % world->resources.count]);
        }
    }
    if (used != expected->usage_count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "usage: expected %u amount%s, got %u",
                         expected->usage_count, ORR_PLURAL(expected->usage_count), used);
    }
}

static void run_assign(struct kq_world *world, struct conform_outcome *outcome)
{
    const struct conform_kueue *from = orr_conform__vector(world);
    const struct kq_expected *expected = &from->expected;
    const struct kq_workload workload = {.name = "workload",
                                         .queue = from->queue,
                                         .created_s = CONFORM_UNSET,
                                         .sets = from->sets,
                                         .set_count = from->set_count,
                                         .reclaimable = from->reclaimable,
                                         .reclaimable_count = from->reclaimable_count};
    take_all(world);
    const uint32_t id = orr_kq_add_workload(world, &workload, 0);
    if (id == ORR_NONE) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "no cluster queue %s", from->queue);
        return;
    }
    const struct orr_kueue_assignment *got = orr_kueue_assign(world->kueue, id, answer, world);
    if (strcmp(mode_word(got->mode), expected->mode) != 0) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "expected mode %s, got %s", expected->mode,
                         mode_word(got->mode));
    }
    if (expected->borrowing != KQ_UNSET && expected->borrowing != (int64_t)got->borrowing) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "expected borrowing %lld, got %u",
                         (long long)expected->borrowing, got->borrowing);
    }
    if (expected->states_sets && expected->set_count != got->set_count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "expected %u pod sets, got %u",
                         expected->set_count, got->set_count);
    }
    for (uint32_t s = 0; s < expected->set_count && s < got->set_count; s++) {
        check_flavored(world, &expected->sets[s], got, s, outcome);
    }
    for (uint32_t i = 0; i < expected->flavor_count; i++) {
        const uint32_t r = orr_kq_find(&world->resources, expected->flavors[i].name);
        if (got->flavored[r].flavor != orr_kq_find(&world->flavors, expected->flavors[i].value)) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: another flavor than %s",
                             expected->flavors[i].name, expected->flavors[i].value);
        }
    }
    if (expected->states_usage) {
        check_usage(world, got, outcome);
    }
}

/* --- preempt --- */

static struct orr_kueue_assignment *given(struct kq_world *world,
                                          const struct kq_workload *incoming)
{
    const struct conform_kueue *from = orr_conform__vector(world);
    const uint32_t resources = world->resources.count;
    const size_t all = (size_t)incoming->set_count * resources + 1;
    struct orr_kueue_assignment *out = orr_arena_alloc(&world->arena, 1, sizeof *out);
    out->mode = ORR_KUEUE_PREEMPT;
    out->set_count = incoming->set_count;
    out->flavored = orr_arena_alloc(&world->arena, all, sizeof *out->flavored);
    out->usage = orr_arena_alloc(&world->arena, all, sizeof *out->usage);
    for (size_t i = 0; i < all; i++) {
        out->flavored[i].flavor = ORR_NONE;
    }
    for (uint32_t g = 0; g < from->given_count && g < incoming->set_count; g++) {
        const int64_t *per_pod =
            orr_kq_amounts(world, incoming->sets[g].per_pod, incoming->sets[g].per_pod_count, 0);
        for (uint32_t i = 0; i < from->given[g].flavor_count; i++) {
            const struct kq_given_flavor *one = &from->given[g].flavors[i];
            const uint32_t r = orr_kq_find(&world->resources, one->name);
            const uint32_t cell = orr_kq_cell(world, one->flavor, one->name);
            const int64_t count =
                from->given[g].count > 0 ? from->given[g].count : incoming->sets[g].count;
            if (cell == ORR_NONE) {
                continue;
            }
            out->flavored[(size_t)g * resources + r] = (struct orr_kueue_flavored){
                .flavor = cell / resources,
                .mode = orr_kq_is_word(one->mode, "Preempt") ? ORR_KUEUE_PREEMPT : ORR_KUEUE_FIT};
            uint32_t u = 0;
            while (u < out->usage_count && out->usage[u].cell != cell) {
                u++;
            }
            out->usage_count += u == out->usage_count;
            out->usage[u].cell = cell;
            out->usage[u].amount += orr_quota_times(per_pod[r], count);
        }
    }
    return out;
}

static uint32_t vector_workload(const struct kq_world *world, uint32_t id)
{
    for (uint32_t i = 0; i < world->from->workload_count; i++) {
        if (world->ids[i] == id) {
            return i;
        }
    }
    return ORR_NONE;
}

static void run_preempt(struct kq_world *world, struct conform_outcome *outcome)
{
    const struct conform_kueue *from = orr_conform__vector(world);
    const struct kq_expected *expected = &from->expected;
    orr_kq_add_workloads(world);
    struct kq_workload incoming = *from->incoming;
    if (incoming.admission != NULL && incoming.queue == NULL) {
        incoming.queue = incoming.admission->queue;
    }
    incoming.admission = NULL;
    const uint32_t id = orr_kq_add_workload(world, &incoming, from->objects.workload_count);
    if (id == ORR_NONE) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "no cluster queue of %s", incoming.name);
        return;
    }
    uint32_t count, fresh = 0;
    const struct orr_kueue_target *targets =
        orr_kueue_targets(world->kueue, id, given(world, &incoming), &count);
    for (uint32_t t = 0; t < count; t++) {
        const struct kq_workload *victim =
            &from->objects.workloads[vector_workload(world, targets[t].workload)];
        const char *reason = orr_kueue_reasons[targets[t].reason];
        bool right = victim->evicted != NULL;
        fresh += victim->evicted == NULL;
        for (uint32_t i = 0; i < expected->preempted_count; i++) {
            right = right || (strcmp(expected->preempted[i].name, victim->name) == 0 &&
                              strcmp(expected->preempted[i].value, reason) == 0);
        }
        if (!right) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s is not to be preempted (%s)",
                             victim->name, reason);
        }
    }
    if (fresh != expected->preempted_count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "expected %u to be preempted, got %u",
                         expected->preempted_count, fresh);
    }
    if (expected->count != KQ_UNSET && expected->count != (int64_t)count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "expected %lld target%s, got %u",
                         (long long)expected->count, ORR_PLURAL(expected->count), count);
    }
}

/* --- cycle --- */

static void run_cycles(struct kq_world *world, struct conform_outcome *outcome)
{
    const struct conform_kueue *from = orr_conform__vector(world);
    const size_t count = (size_t)from->objects.workload_count + 1;
    uint32_t *evicted = orr_arena_alloc(&world->arena, count, sizeof *evicted);
    bool *held = orr_arena_alloc(&world->arena, count, sizeof *held);
    bool *finished = orr_arena_alloc(&world->arena, count, sizeof *finished);
    orr_kq_add_workloads(world);
    for (uint32_t i = 0; i < from->objects.workload_count; i++) {
        evicted[i] = ORR_NONE;
        held[i] = world->ids[i] != ORR_NONE && orr_kueue_holds(world->kueue, world->ids[i]);
    }
    for (int64_t cycle = 0; cycle < from->objects.config.cycles; cycle++) {
        if (!orr_kueue_cycle(world->kueue, 0)) {
            break;
        }
        uint32_t decided;
        const struct orr_kueue_decision *decisions = orr_kueue_decisions(world->kueue, &decided);
        for (uint32_t d = 0; d < decided; d++) {
            const uint32_t i = vector_workload(world, decisions[d].workload);
            if (decisions[d].deed == ORR_KUEUE_EVICT && evicted[i] == ORR_NONE) {
                evicted[i] = (uint32_t)decisions[d].reason;
            }
            finished[i] = finished[i] || decisions[d].deed == ORR_KUEUE_FINISH;
        }
    }
    orr_conform__check_cycle(world, evicted, held, finished, outcome);
}

/* --- topology --- */

static void occupy(struct kq_world *world, const struct kq_prior *prior, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t leaf =
            orr_kueue_find_leaf(world->kueue, 0, prior[i].values, prior[i].value_count);
        orr_kueue_occupy(world->kueue, 0, leaf,
                         orr_kq_amounts(world, prior[i].per_pod, prior[i].per_pod_count, 0),
                         prior[i].count);
    }
}

static void check_placement(const struct kq_world *world, const struct kq_placement *expected,
                            const struct orr_kueue_topology_result *got,
                            struct conform_outcome *outcome)
{
    if (expected->failure != NULL && got->failure[0] == '\0') {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %s, got a place",
                         expected->pod_set, expected->failure);
    }
    if (expected->assignment != NULL && got->failure[0] != '\0') {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected a place, got: %s",
                         expected->pod_set, got->failure);
    }
    if (expected->assignment != NULL &&
        !orr_conform__same_domains(world, 0, expected->assignment, got->domains,
                                   got->domain_count)) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: another place", expected->pod_set);
    }
}

static void run_topology(struct kq_world *world, struct conform_outcome *outcome)
{
    const struct conform_kueue *from = orr_conform__vector(world);
    const struct orr_kueue_new workload = {.local_queue = ORR_NONE,
                                           .pod_sets =
                                               orr_kq_pod_sets(world, from->sets, from->set_count),
                                           .pod_set_count = from->set_count,
                                           .replaces = ORR_NONE};
    struct orr_kueue_topology_result *results =
        orr_arena_alloc(&world->arena, (size_t)from->set_count + 1, sizeof *results);
    bool *implied = orr_arena_alloc(&world->arena, (size_t)from->set_count + 1, sizeof *implied);
    for (uint32_t s = 0; s < from->set_count; s++) {
        implied[s] = from->sets[s].implied;
    }
    occupy(world, from->prior, from->prior_count);
    const char *lowest = from->levels[from->level_count - 1];
    if (strcmp(lowest, "kubernetes.io/hostname") == 0) {
        occupy(world, from->prior_other, from->prior_other_count);
    }
    const uint32_t id = orr_kueue_add(world->kueue, &workload);
    if (from->holder != NULL) {
        orr_kq_hold_topology(world, from->holder, id);
        (void)orr_kueue_place_lost(world->kueue, id, results);
    } else {
        (void)orr_kueue_place(world->kueue, id, 0, implied, results);
    }
    for (uint32_t s = 0; s < from->expected.placement_count && s < from->set_count; s++) {
        check_placement(world, &from->expected.placements[s], &results[s], outcome);
    }
}

/* --- what cannot be run --- */

static const char *missing_feature(const struct conform_kueue *one)
{
    if (orr_kq_gate(&one->objects, "ConcurrentAdmission", false)) {
        return "ConcurrentAdmission";
    }
    if (one->level_count == 0 &&
        orr_kq_gate(&one->objects, "ElasticJobsViaWorkloadSlicesWithTAS", false)) {
        return "ElasticJobsViaWorkloadSlicesWithTAS";
    }
    for (uint32_t q = 0; one->check_objects != NULL && q < one->objects.queue_count; q++) {
        if (one->objects.queues[q].checks != NULL &&
            strstr(one->check_objects, "provisioning-request") != NULL) {
            return "ProvisioningRequest";
        }
    }
    if (one->holder != NULL && one->holder->single_pod &&
        orr_kq_gate(&one->objects, "SkipReassignmentForPodOwnedWorkloads", false)) {
        return "SkipReassignmentForPodOwnedWorkloads";
    }
    return one->api_error != NULL ? "errors of the API server"
           : one->elastic_slice   ? "an elastic slice without the one it replaces"
                                  : NULL;
}

/* What the kind needs and the vector does not state; NULL: nothing. */
static const char *lacks(const struct conform_kueue *one)
{
    const bool preempt = strcmp(one->kind, "preempt") == 0;
    const bool assign = strcmp(one->kind, "assign") == 0;
    const bool topology = strcmp(one->kind, "topology") == 0;
    for (uint32_t q = 0; q < one->objects.queue_count; q++) {
        for (uint32_t g = 0; g < one->objects.queues[q].group_count; g++) {
            if (one->objects.queues[q].groups[g].resource_count > 64) {
                return "resource groups of more than 64 resources";
            }
        }
    }
    return preempt && one->incoming == NULL                      ? "no incoming workload"
           : assign && (one->queue == NULL || one->sets == NULL) ? "no workload to assign"
           : assign && one->expected.mode == NULL                ? "no expected mode"
           : topology && one->level_count == 0                   ? "no levels"
           : topology && one->holder != NULL &&
                   (one->holder->admission == NULL ||
                    one->holder->admission->set_count != one->set_count)
               ? "a holder without an admission"
               : NULL;
}

typedef void run_fn(struct kq_world *world, struct conform_outcome *outcome);

static run_fn *find_kind(const char *kind)
{
    static const struct {
        const char *kind;
        run_fn *run;
    } kinds[] = {{"available", run_available}, {"drs", run_shares},   {"assign", run_assign},
                 {"preempt", run_preempt},     {"cycle", run_cycles}, {"topology", run_topology}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return kinds[i].run;
        }
    }
    return NULL;
}

void orr_conform__run_kueue(const struct conform_kueue *one, struct conform_outcome *outcome)
{
    run_fn *run = find_kind(one->kind);
    const char *missing = missing_feature(one);
    missing = missing != NULL ? missing : lacks(one);
    if (run == NULL || missing != NULL || one->misread != NULL) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "%s%s", run == NULL ? "kind " : "",
                         run == NULL       ? one->kind
                         : missing != NULL ? missing
                                           : one->misread);
        return;
    }
    struct kq_world world;
    struct conform_kueue flavored = *one;
    struct kq_flavor flavor = {.name = "default",
                               .topology = "default",
                               .labels = one->flavor_labels,
                               .label_count = one->flavor_label_count};
    struct kq_topology topology = {"default", one->levels, one->level_count};
    struct kq_queue queue = {.name = "any"};
    struct kq_objects *objects = &flavored.objects;
    objects->incoming = one->incoming;
    objects->sets = one->sets;
    objects->set_count = one->set_count;
    if (one->level_count > 0) {
        objects->queues = &queue;
        objects->queue_count = 1;
        objects->flavors = &flavor;
        objects->topologies = &topology;
        objects->flavor_count = objects->topology_count = 1;
        objects->one_flavor = true;
    }
    if (orr_kq_open(&world, objects)) {
        run(&world, outcome);
    } else {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "too many resources");
    }
    orr_kq_close(&world);
}
