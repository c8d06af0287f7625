/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a cycle left behind against what the vector expects. */
#include <orrery/base/text.h>
#include <string.h>

#include "kueue_int.h"

bool orr_conform__same_domains(const struct kq_world *world, uint32_t flavor,
                               const struct kq_placed *expected,
                               const struct orr_kueue_domain *domains, uint32_t count)
{
    if (count != expected->domain_count) {
        return false;
    }
    for (uint32_t d = 0; d < count; d++) {
        const struct kq_domain *want = &expected->domains[d];
        uint32_t levels = 0;
        const char *const *values =
            domains[d].leaf != ORR_NONE
                ? orr_kueue_leaf_values(world->kueue, flavor, domains[d].leaf, &levels)
                : &domains[d].name;
        levels = domains[d].leaf != ORR_NONE ? levels : 1;
        if (want->count != domains[d].count || want->value_count > levels) {
            return false;
        }
        for (uint32_t v = 0; v < want->value_count; v++) {
            if (strcmp(values[levels - want->value_count + v], want->values[v]) != 0) {
                return false;
            }
        }
    }
    return true;
}

static const struct kq_admission *find_admission(const struct kq_admission *list, uint32_t count,
                                                 const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

static bool is_named(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_set(const struct kq_world *world, const char *workload,
                      const struct kq_held_set *expected, const struct orr_kueue_held_set *got,
                      struct conform_outcome *outcome)
{
    uint32_t flavors = 0;
    for (uint32_t r = 0; r < world->resources.count; r++) {
        flavors += got->flavors[r] != ORR_NONE;
    }
    if (flavors != expected->flavor_count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %u flavor%s, got %u", workload,
                         expected->flavor_count, ORR_PLURAL(expected->flavor_count), flavors);
    }
    for (uint32_t i = 0; i < expected->flavor_count; i++) {
        const uint32_t r = orr_kq_find(&world->resources, expected->flavors[i].name);
        const uint32_t flavor = got->flavors[r];
        const char *name = flavor != ORR_NONE ? world->flavors.names[flavor] : "none";
        if (strcmp(name, expected->flavors[i].value) != 0) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %s of %s, got %s", workload,
                             expected->flavors[i].name, expected->flavors[i].value, name);
        }
    }
    if (expected->count != KQ_UNSET && expected->count != got->count) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %lld pod%s, got %lld", workload,
                         (long long)expected->count, ORR_PLURAL(expected->count),
                         (long long)got->count);
    }
    for (uint32_t i = 0; i < expected->usage_count; i++) {
        const uint32_t r = orr_kq_find(&world->resources, expected->usage[i].name);
        if (got->usage[r] != orr_kq_whole(expected->usage[i].value)) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %s %s, got %lld", workload,
                             expected->usage[i].name, expected->usage[i].value,
                             (long long)got->usage[r]);
        }
    }
    if (expected->topology != NULL &&
        !orr_conform__same_domains(world, got->topology_flavor, expected->topology, got->domains,
                                   got->domain_count)) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: its pods are placed elsewhere",
                         workload);
    }
}

static void check_admission(const struct kq_world *world, uint32_t i,
                            const struct kq_admission *expected, struct conform_outcome *outcome)
{
    const struct kq_workload *workload = &world->from->workloads[i];
    const struct orr_kueue_held_set *held = orr_kueue_held(world->kueue, world->ids[i]);
    for (uint32_t s = 0; s < expected->set_count; s++) {
        uint32_t at = 0;
        while (at < workload->set_count &&
               strcmp(workload->sets[at].name, expected->sets[s].name) != 0) {
            at++;
        }
        if (at < workload->set_count) {
            check_set(world, workload->name, &expected->sets[s], &held[at], outcome);
        }
    }
}

static void check_holder(const struct kq_world *world, uint32_t i, bool held_before, bool finished,
                         struct conform_outcome *outcome)
{
    const struct kq_expected *expected = &orr_conform__vector(world)->expected;
    const char *name = world->from->workloads[i].name;
    const bool holds = orr_kueue_holds(world->kueue, world->ids[i]) && !finished;
    const bool admitted = holds && !held_before;
    const bool again = world->from->workloads[i].unhealthy_count > 0; /* a second pass counts */
    if (expected->states_admitted &&
        (again ? holds : admitted) !=
            is_named(expected->admitted, expected->admitted_count, name)) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: is %sadmitted", name,
                         admitted ? "" : "not ");
    }
    const struct kq_admission *holding =
        find_admission(expected->holding, expected->holding_count, name);
    if (expected->states_holding && holds != (holding != NULL)) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: holds %s quota", name,
                         holds ? "a" : "no");
    }
    if (holding != NULL && holds) {
        check_admission(world, i, holding, outcome);
    }
    const struct kq_admission *assigned =
        find_admission(expected->assignments, expected->assignment_count, name);
    if (assigned != NULL && !holds) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: holds no quota", name);
    } else if (assigned != NULL) {
        check_admission(world, i, assigned, outcome);
    }
}

static void check_evicted(const struct kq_world *world, uint32_t i, uint32_t reason,
                          struct conform_outcome *outcome)
{
    const struct kq_expected *expected = &orr_conform__vector(world)->expected;
    const char *name = world->from->workloads[i].name;
    const char *want = NULL, *got = reason != ORR_NONE ? orr_kueue_reasons[reason] : NULL;
    for (uint32_t e = 0; e < expected->evicted_count; e++) {
        if (strcmp(expected->evicted[e].name, name) == 0) {
            want = expected->evicted[e].value;
        }
    }
    if ((want == NULL) != (got == NULL) || (want != NULL && strcmp(want, got) != 0)) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected %s%s, got %s", name,
                         want != NULL ? "eviction " : "no eviction", want != NULL ? want : "",
                         got != NULL ? got : "none");
    }
}

static void check_waiting(const struct kq_world *world, uint32_t i, struct conform_outcome *outcome)
{
    const struct kq_expected *expected = &orr_conform__vector(world)->expected;
    const char *name = world->from->workloads[i].name;
    const char *got = orr_kueue_waits[orr_kueue_wait(world->kueue, world->ids[i])];
    for (uint32_t w = 0; w < expected->waiting_count; w++) {
        const struct kq_waiting *want = &expected->waiting[w];
        if (strcmp(want->name, name) == 0 && strcmp(want->reason, got) != 0) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected to wait for %s, got %s",
                             name, want->reason, got);
        }
    }
}

static void check_list(const struct kq_world *world, uint32_t i, const struct kq_names_list *list,
                       bool is, const char *what, struct conform_outcome *outcome)
{
    const struct kq_workload *workload = &world->from->workloads[i];
    bool expected = false;
    for (uint32_t q = 0; q < list->count; q++) {
        expected = expected || is_named(list->items[q].items, list->items[q].count, workload->name);
    }
    if (is != expected) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: is %s%s", workload->name,
                         is ? "" : "not ", what);
    }
}

void orr_conform__check_cycle(const struct kq_world *world, const uint32_t *evicted_by,
                              const bool *held_before, const bool *finished,
                              struct conform_outcome *outcome)
{
    const struct kq_expected *expected = &orr_conform__vector(world)->expected;
    for (uint32_t i = 0; i < world->from->workload_count; i++) {
        if (world->ids[i] == ORR_NONE) {
            continue;
        }
        check_holder(world, i, held_before[i], finished[i], outcome);
        if (expected->states_evicted) {
            check_evicted(world, i, evicted_by[i], outcome);
        }
        check_waiting(world, i, outcome);
        if (expected->states_left) {
            check_list(world, i, &expected->left, orr_kueue_in_heap(world->kueue, world->ids[i]),
                       "in the heap", outcome);
        }
        if (expected->states_parked) {
            check_list(world, i, &expected->parked,
                       orr_kueue_is_parked(world->kueue, world->ids[i]), "parked", outcome);
        }
    }
}
