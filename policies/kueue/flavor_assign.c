/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flavor_assign.c - a flavor for each resource of each pod set.
 *
 *     orr_kueue__assign
 *       assign_group          pod sets that are decided together
 *         scan                the flavors of one resource group, in order of preference
 *           try_flavor        all of the group's resources in one flavor
 *             fits            one resource: how it may be had
 *       orr_kueue__place_all  flavors with a topology
 */
#include <string.h>

#include "kueue_int.h"

struct assigner {
    struct orr_kueue *kueue;
    uint32_t workload, queue;
    const struct kueue_choice *choice;
    struct orr_kueue_assignment *out;
    bool can_never; /* a flavor could never hold it */
    bool waits;     /* a flavor could, but not now */
};

struct rating { /* of a flavor, or of one resource in it */
    enum orr_kueue_flavor_mode mode;
    uint32_t level;
};

struct demand { /* of pod sets decided together, in one resource group */
    const uint32_t *sets;
    uint32_t set_count;
    const struct orr_kueue_group *group;
    int64_t amounts[64];
    bool asked[64];
};

int64_t orr_kueue__full_count(const struct orr_kueue *kueue, uint32_t workload, uint32_t set)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    const int64_t *pods = kueue->workloads[workload].pods;
    return (pods != NULL ? pods[set] : is->pod_sets[set].count) -
           (is->reclaimable != NULL ? is->reclaimable[set] : 0);
}

uint32_t orr_kueue__replaced(const struct orr_kueue *kueue, uint32_t workload)
{
    const uint32_t old = kueue->workloads[workload].is.replaces;
    return old != ORR_NONE && kueue->workloads[old].held != NULL && !kueue->workloads[old].hidden
               ? old
               : ORR_NONE;
}

static int64_t replaced_usage(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                              uint32_t resource)
{
    const uint32_t old = orr_kueue__replaced(kueue, workload);
    return old == ORR_NONE || set >= kueue->workloads[old].is.pod_set_count
               ? 0
               : orr_kueue__held_usage(kueue, old, set, resource);
}

static bool counts_pods(const struct orr_kueue *kueue, uint32_t queue)
{
    const struct orr_kueue_queue *is = &kueue->spec->queues[queue];
    for (uint32_t g = 0; g < is->group_count; g++) {
        for (uint32_t r = 0; r < is->groups[g].resource_count; r++) {
            if (is->groups[g].resources[r] == kueue->spec->pods_resource) {
                return true;
            }
        }
    }
    return false;
}

int64_t orr_kueue__whole_request(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                                 uint32_t resource, int64_t count)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    const struct orr_kueue_pod_set *pods = &is->pod_sets[set];
    const int64_t per_pod = (pods->counted != NULL ? pods->counted : pods->per_pod)[resource];
    if (resource == kueue->spec->pods_resource && counts_pods(kueue, is->queue)) {
        return count;
    }
    return per_pod == ORR_KUEUE_NOT_ASKED ? per_pod : orr_quota_times(per_pod, count);
}

int64_t orr_kueue_asks(const struct orr_kueue *kueue, uint32_t workload, uint32_t resource)
{
    int64_t sum = ORR_KUEUE_NOT_ASKED;
    for (uint32_t s = 0; s < kueue->workloads[workload].is.pod_set_count; s++) {
        const int64_t asked = orr_kueue__whole_request(kueue, workload, s, resource,
                                                       orr_kueue__full_count(kueue, workload, s));
        if (asked != ORR_KUEUE_NOT_ASKED) {
            sum = sum == ORR_KUEUE_NOT_ASKED ? asked : orr_quota_add(sum, asked);
        }
    }
    return sum;
}

/* An elastic slice asks what it has more than the one that it replaces. */
static int64_t request(const struct orr_kueue *kueue, uint32_t workload, uint32_t set,
                       uint32_t resource, int64_t count)
{
    const int64_t whole = orr_kueue__whole_request(kueue, workload, set, resource, count);
    if (whole == ORR_KUEUE_NOT_ASKED) {
        return whole;
    }
    const int64_t more = orr_quota_sub(whole, replaced_usage(kueue, workload, set, resource));
    return more > 0 ? more : 0;
}

/* --- which of two is better --- */

static bool is_better(enum orr_kueue_preference preference, struct rating a, struct rating b)
{
    if (a.mode == ORR_KUEUE_F_NO_FIT || b.mode == ORR_KUEUE_F_NO_FIT) {
        return a.mode != ORR_KUEUE_F_NO_FIT;
    }
    if ((a.mode == ORR_KUEUE_F_NO_CANDIDATES) != (b.mode == ORR_KUEUE_F_NO_CANDIDATES)) {
        return b.mode == ORR_KUEUE_F_NO_CANDIDATES;
    }
    if (preference == ORR_KUEUE_PREEMPTION_OVER_BORROWING) {
        return a.level != b.level ? a.level < b.level : a.mode > b.mode;
    }
    return a.mode != b.mode ? a.mode > b.mode : a.level < b.level;
}

static bool tries_next(const struct orr_kueue_queue *queue, struct rating rating)
{
    switch (rating.mode) {
    case ORR_KUEUE_F_NO_FIT:
    case ORR_KUEUE_F_NO_CANDIDATES: return true;
    case ORR_KUEUE_F_PREEMPT:
    case ORR_KUEUE_F_RECLAIM:
        if (!queue->preempt_stop) {
            return true;
        }
        break;
    case ORR_KUEUE_F_FIT: break;
    }
    return rating.level > 0 && queue->borrow_try_next;
}

/* --- one resource in one flavor --- */

static int64_t assumed(const struct assigner *assigner, uint32_t cell)
{
    for (uint32_t i = 0; i < assigner->out->usage_count; i++) {
        if (assigner->out->usage[i].cell == cell) {
            return assigner->out->usage[i].amount;
        }
    }
    return 0;
}

static bool may_ask_oracle(const struct assigner *assigner, uint32_t cell, int64_t amount,
                           bool reclaims)
{
    const struct orr_kueue *kueue = assigner->kueue;
    const struct orr_kueue_queue *queue = &kueue->spec->queues[assigner->queue];
    const bool while_borrowing = queue->borrow_within || (kueue->spec->config.fair_sharing &&
                                                          queue->reclaim != ORR_KUEUE_NEVER);
    return kueue->tree->cells[orr_quota_at(kueue->tree, assigner->queue, cell)].nominal >= amount ||
           reclaims || while_borrowing;
}

static struct rating fits(struct assigner *assigner, uint32_t cell, int64_t request)
{
    const struct orr_quota_tree *tree = assigner->kueue->tree;
    const uint32_t queue = assigner->queue;
    const int64_t amount = orr_quota_add(assumed(assigner, cell), request);
    if (amount > orr_quota_potential(tree, queue, cell)) {
        return (struct rating){ORR_KUEUE_F_NO_FIT, 0};
    }
    bool reclaims;
    struct rating rating = {.level = orr_quota_height(tree, queue, cell, amount, &reclaims)};
    if (amount <= orr_quota_available(tree, queue, cell)) {
        rating.mode = ORR_KUEUE_F_FIT;
        return rating;
    }
    rating.mode = ORR_KUEUE_F_NO_FIT;
    if (may_ask_oracle(assigner, cell, amount, reclaims)) {
        rating.mode =
            assigner->choice->oracle(assigner->choice->context, cell, amount, &rating.level);
    }
    return rating;
}

/* --- one resource group --- */

struct found { /* the best flavor so far */
    uint32_t flavor;
    struct rating rating, each[64]; /* by position in the group's resources */
};

/* A flavor that could never hold one of the resources is no reason to wait, however the others are.
 */
static void note_no_fit(struct assigner *assigner, const struct demand *demand, uint32_t flavor)
{
    const struct orr_kueue *kueue = assigner->kueue;
    bool never = false;
    for (uint32_t r = 0; r < demand->group->resource_count; r++) {
        const uint32_t cell = flavor * kueue->resources + demand->group->resources[r];
        never = never ||
                (demand->asked[r] && orr_quota_add(assumed(assigner, cell), demand->amounts[r]) >
                                         orr_quota_potential(kueue->tree, assigner->queue, cell));
    }
    assigner->can_never = assigner->can_never || never;
    assigner->waits = assigner->waits || !never;
}

static void try_flavor(struct assigner *assigner, const struct demand *demand, uint32_t flavor,
                       struct found *out)
{
    const enum orr_kueue_preference preference =
        assigner->kueue->spec->queues[assigner->queue].preference;
    *out = (struct found){.flavor = flavor, .rating = {ORR_KUEUE_F_FIT, 0}};
    for (uint32_t r = 0; r < demand->group->resource_count; r++) {
        if (!demand->asked[r]) {
            continue;
        }
        const uint32_t cell = flavor * assigner->kueue->resources + demand->group->resources[r];
        out->each[r] = fits(assigner, cell, demand->amounts[r]);
        if (is_better(preference, out->rating, out->each[r])) {
            out->rating = out->each[r];
        }
        if (out->rating.mode == ORR_KUEUE_F_NO_FIT) {
            note_no_fit(assigner, demand, flavor);
            break;
        }
    }
}

static bool is_pinned_out(const struct assigner *assigner, const struct demand *demand,
                          uint32_t flavor)
{
    const struct orr_kueue_assignment *pinned = assigner->choice->pinned;
    const uint32_t set = demand->sets[0];
    if (pinned == NULL) {
        return false;
    }
    for (uint32_t r = 0; set < pinned->set_count && r < assigner->kueue->resources; r++) {
        if (pinned->flavored[set * assigner->kueue->resources + r].flavor == flavor) {
            return false;
        }
    }
    return true;
}

/* A new slice stays where the one it replaces is. */
static bool is_other_slice(const struct assigner *assigner, const struct demand *demand,
                           uint32_t flavor)
{
    const struct orr_kueue *kueue = assigner->kueue;
    const uint32_t old = orr_kueue__replaced(kueue, assigner->workload);
    if (old == ORR_NONE) {
        return false;
    }
    for (uint32_t s = 0; s < demand->set_count; s++) {
        for (uint32_t r = 0; r < demand->group->resource_count; r++) {
            const uint32_t used =
                kueue->workloads[old].held[demand->sets[s]].flavors[demand->group->resources[r]];
            if (demand->asked[r] && used != ORR_NONE && used != flavor) {
                return true;
            }
        }
    }
    return false;
}

static bool may_use(const struct assigner *assigner, const struct demand *demand, uint32_t flavor)
{
    const struct orr_kueue_pod_set *sets =
        assigner->kueue->workloads[assigner->workload].is.pod_sets;
    if (is_pinned_out(assigner, demand, flavor) || is_other_slice(assigner, demand, flavor)) {
        return false;
    }
    for (uint32_t s = 0; s < demand->set_count; s++) {
        if (!orr_kueue__flavor_takes(assigner->kueue, assigner->queue, demand->group, flavor,
                                     &sets[demand->sets[s]])) {
            return false;
        }
    }
    return true;
}

static uint32_t first_flavor(const struct assigner *assigner, uint32_t set, uint32_t resource)
{
    const int *tried = assigner->kueue->workloads[assigner->workload].tried;
    return tried == NULL || assigner->choice->pinned != NULL
               ? 0
               : (uint32_t)(tried[set * assigner->kueue->resources + resource] + 1);
}

static enum orr_kueue_mode mode_of(enum orr_kueue_flavor_mode mode)
{
    return mode == ORR_KUEUE_F_FIT      ? ORR_KUEUE_FIT
           : mode == ORR_KUEUE_F_NO_FIT ? ORR_KUEUE_NO_FIT
                                        : ORR_KUEUE_PREEMPT;
}

static void take_flavor(struct assigner *assigner, const struct demand *demand,
                        const struct found *found, int tried)
{
    for (uint32_t s = 0; s < demand->set_count; s++) {
        for (uint32_t r = 0; r < demand->group->resource_count; r++) {
            const size_t at =
                (size_t)demand->sets[s] * assigner->kueue->resources + demand->group->resources[r];
            if (assigner->out->requests[at] == ORR_KUEUE_NOT_ASKED) {
                continue;
            }
            assigner->out->flavored[at] =
                (struct orr_kueue_flavored){.flavor = found->flavor,
                                            .mode = mode_of(found->each[r].mode),
                                            .level = found->each[r].level,
                                            .tried = tried};
        }
    }
}

/* Chooses a flavor for the resources of a group; false: none. `all_fit` is cleared if it does not
 * count as fitting. */
static bool scan(struct assigner *assigner, const struct demand *demand, uint32_t start,
                 bool *all_fit)
{
    const struct orr_kueue_queue *queue = &assigner->kueue->spec->queues[assigner->queue];
    struct found best = {.flavor = ORR_NONE, .rating = {ORR_KUEUE_F_NO_FIT, UINT32_MAX}};
    uint32_t attempted = 0;
    for (uint32_t i = start; i < demand->group->flavor_count; i++) {
        struct found now;
        attempted = i;
        if (!may_use(assigner, demand, demand->group->flavors[i])) {
            continue;
        }
        try_flavor(assigner, demand, demand->group->flavors[i], &now);
        const bool stop = !tries_next(queue, now.rating);
        if (stop || is_better(queue->preference, now.rating, best.rating)) {
            best = now;
        }
        if (stop) {
            break;
        }
    }
    if (best.flavor == ORR_NONE) {
        return false;
    }
    const bool last = attempted + 1 == demand->group->flavor_count;
    take_flavor(assigner, demand, &best, last ? -1 : (int)attempted);
    *all_fit = *all_fit && best.rating.mode == ORR_KUEUE_F_FIT;
    return true;
}

static const struct orr_kueue_group *covering(const struct orr_kueue_queue *queue,
                                              uint32_t resource)
{
    for (uint32_t g = 0; g < queue->group_count; g++) {
        for (uint32_t r = 0; r < queue->groups[g].resource_count; r++) {
            if (queue->groups[g].resources[r] == resource) {
                return &queue->groups[g];
            }
        }
    }
    return NULL;
}

static void sum_demand(const struct assigner *assigner, struct demand *demand)
{
    for (uint32_t r = 0; r < demand->group->resource_count; r++) {
        ORR_ASSERT(r < 64);
        demand->amounts[r] = 0;
        demand->asked[r] = false;
        for (uint32_t s = 0; s < demand->set_count; s++) {
            const int64_t request =
                assigner->out->requests[(size_t)demand->sets[s] * assigner->kueue->resources +
                                        demand->group->resources[r]];
            if (request != ORR_KUEUE_NOT_ASKED) {
                demand->asked[r] = true;
                demand->amounts[r] = orr_quota_add(demand->amounts[r], request);
            }
        }
    }
}

/* --- pod sets that are decided together --- */

static int64_t asked_of(const struct assigner *assigner, const uint32_t *sets, uint32_t count,
                        uint32_t resource, bool *known)
{
    int64_t sum = ORR_KUEUE_NOT_ASKED;
    *known = true;
    for (uint32_t s = 0; s < count; s++) {
        const size_t at = (size_t)sets[s] * assigner->kueue->resources + resource;
        const int64_t request = assigner->out->requests[at];
        if (request != ORR_KUEUE_NOT_ASKED) {
            sum = orr_quota_add(sum == ORR_KUEUE_NOT_ASKED ? 0 : sum, request);
            *known = *known && assigner->out->flavored[at].flavor != ORR_NONE;
        }
    }
    return sum;
}

static void add_usage(struct assigner *assigner, const uint32_t *sets, uint32_t count)
{
    struct orr_kueue_assignment *out = assigner->out;
    const uint32_t resources = assigner->kueue->resources;
    for (uint32_t i = 0; i < count * resources; i++) {
        const size_t at = (size_t)sets[i / resources] * resources + i % resources;
        if (out->flavored[at].flavor == ORR_NONE) {
            continue;
        }
        const uint32_t cell = out->flavored[at].flavor * resources + i % resources;
        uint32_t u = 0;
        while (u < out->usage_count && out->usage[u].cell != cell) {
            u++;
        }
        out->usage_count += u == out->usage_count;
        out->usage[u].cell = cell;
        out->usage[u].amount = orr_quota_add(out->usage[u].amount, out->requests[at]);
        if (out->flavored[at].level > out->borrowing) {
            out->borrowing = out->flavored[at].level;
        }
    }
}

static void clear_flavors(struct assigner *assigner, uint32_t set)
{
    for (uint32_t r = 0; r < assigner->kueue->resources; r++) {
        assigner->out->flavored[(size_t)set * assigner->kueue->resources + r].flavor = ORR_NONE;
    }
}

static enum orr_kueue_mode worst_mode(const struct assigner *assigner, const uint32_t *sets,
                                      uint32_t count)
{
    const uint32_t resources = assigner->kueue->resources;
    enum orr_kueue_mode worst = ORR_KUEUE_FIT;
    for (uint32_t i = 0; i < count * resources; i++) {
        const struct orr_kueue_flavored *at =
            &assigner->out->flavored[(size_t)sets[i / resources] * resources + i % resources];
        if (at->flavor != ORR_NONE && at->mode < worst) {
            worst = at->mode;
        }
    }
    return worst;
}

static bool find_flavors(struct assigner *assigner, const uint32_t *sets, uint32_t count,
                         bool *all_fit)
{
    const struct orr_kueue *kueue = assigner->kueue;
    for (uint32_t r = 0; r < kueue->resources; r++) {
        bool known;
        const int64_t asked = asked_of(assigner, sets, count, r, &known);
        if (asked == ORR_KUEUE_NOT_ASKED || known) {
            continue;
        }
        struct demand demand = {.sets = sets,
                                .set_count = count,
                                .group = covering(&kueue->spec->queues[assigner->queue], r)};
        if (demand.group == NULL) {
            if (asked == 0 || kueue->spec->config.ignore_undeclared) {
                continue;
            }
            return false;
        }
        sum_demand(assigner, &demand);
        if (!scan(assigner, &demand, first_flavor(assigner, sets[0], r), all_fit)) {
            return false;
        }
    }
    return true;
}

static bool assign_group(struct assigner *assigner, const uint32_t *sets, uint32_t count)
{
    bool all_fit = true;
    if (!find_flavors(assigner, sets, count, &all_fit)) {
        for (uint32_t s = 0; s < count; s++) {
            clear_flavors(assigner, sets[s]);
        }
        return false;
    }
    add_usage(assigner, sets, count);
    const enum orr_kueue_mode mode = all_fit ? ORR_KUEUE_FIT : worst_mode(assigner, sets, count);
    if (mode < assigner->out->mode) {
        assigner->out->mode = mode;
    }
    return true;
}

/* Those of `set`'s group; empty if an earlier one was of it. */
static uint32_t group_of(const struct orr_kueue_new *is, uint32_t set, uint32_t *sets)
{
    const char *name = is->pod_sets[set].group;
    uint32_t count = 0;
    sets[count++] = set;
    for (uint32_t other = 0; name != NULL && other < is->pod_set_count; other++) {
        if (other == set || is->pod_sets[other].group == NULL ||
            strcmp(is->pod_sets[other].group, name) != 0) {
            continue;
        }
        if (other < set) {
            return 0;
        }
        sets[count++] = other;
    }
    return count;
}

static enum orr_kueue_wait wait_of(const struct assigner *assigner)
{
    return assigner->waits       ? ORR_KUEUE_WAITING_FOR_QUOTA
           : assigner->can_never ? ORR_KUEUE_EXCEEDS_MAX_QUOTA
                                 : ORR_KUEUE_NO_MATCHING_FLAVOR;
}

static struct orr_kueue_assignment *start(struct assigner *assigner)
{
    struct orr_kueue *kueue = assigner->kueue;
    const struct orr_kueue_new *is = &kueue->workloads[assigner->workload].is;
    const size_t all = (size_t)is->pod_set_count * kueue->resources;
    struct orr_kueue_assignment *out = orr_arena_alloc(&kueue->arena, 1, sizeof *out);
    out->mode = ORR_KUEUE_FIT;
    out->counts = orr_arena_alloc(&kueue->arena, is->pod_set_count + 1, sizeof *out->counts);
    out->flavored = orr_arena_alloc(&kueue->arena, all + 1, sizeof *out->flavored);
    out->requests = orr_arena_alloc(&kueue->arena, all + 1, sizeof *out->requests);
    out->usage = orr_arena_alloc(&kueue->arena, all + 1, sizeof *out->usage);
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        out->counts[s] = assigner->choice->counts != NULL
                             ? assigner->choice->counts[s]
                             : orr_kueue__full_count(kueue, assigner->workload, s);
        for (uint32_t r = 0; r < kueue->resources; r++) {
            const size_t at = (size_t)s * kueue->resources + r;
            out->requests[at] = request(kueue, assigner->workload, s, r, out->counts[s]);
            out->flavored[at].flavor = ORR_NONE;
        }
    }
    return out;
}

/* A flavor with a topology needs room for the pods too. */
static void heed_topology(const struct assigner *assigner)
{
    struct orr_kueue *kueue = assigner->kueue;
    struct orr_kueue_assignment *out = assigner->out;
    if (out->mode == ORR_KUEUE_NO_FIT ||
        !orr_kueue__uses_topology(kueue, assigner->workload, out)) {
        return;
    }
    if (out->mode == ORR_KUEUE_FIT) {
        if (orr_kueue__place_all(kueue, assigner->workload, out, false, true)) {
            return;
        }
        out->mode = ORR_KUEUE_PREEMPT;
    }
    out->all_need = true;
    if (!orr_kueue__place_all(kueue, assigner->workload, out, true, false)) {
        out->mode = ORR_KUEUE_NO_FIT;
        out->wait = ORR_KUEUE_TOPOLOGY_PLACEMENT_FAILED;
    }
}

struct orr_kueue_assignment *orr_kueue__assign(struct orr_kueue *kueue, uint32_t workload,
                                               const struct kueue_choice *choice)
{
    const struct orr_kueue_new *is = &kueue->workloads[workload].is;
    struct assigner assigner = {
        .kueue = kueue, .workload = workload, .queue = is->queue, .choice = choice};
    assigner.out = start(&assigner);
    uint32_t *sets = orr_arena_alloc(&kueue->arena, is->pod_set_count + 1, sizeof *sets);
    for (uint32_t s = 0; s < is->pod_set_count; s++) {
        const uint32_t count = group_of(is, s, sets);
        for (uint32_t i = 0; i < count; i++) {
            assigner.out->set_count =
                sets[i] >= assigner.out->set_count ? sets[i] + 1 : assigner.out->set_count;
        }
        if (count > 0 && !assign_group(&assigner, sets, count)) {
            assigner.out->mode = ORR_KUEUE_NO_FIT;
            assigner.out->wait = wait_of(&assigner);
            return assigner.out;
        }
    }
    assigner.out->wait =
        assigner.out->mode == ORR_KUEUE_FIT ? ORR_KUEUE_NOT_TRIED : ORR_KUEUE_WAITING_FOR_QUOTA;
    heed_topology(&assigner);
    return assigner.out;
}

const struct orr_kueue_assignment *orr_kueue_assign(struct orr_kueue *kueue, uint32_t workload,
                                                    orr_kueue_oracle_fn *oracle, void *context)
{
    struct kueue_oracle own = {.kueue = kueue, .workload = workload};
    const struct kueue_choice choice = {.oracle = oracle != NULL ? oracle : orr_kueue__oracle,
                                        .context = oracle != NULL ? context : &own};
    return orr_kueue__assign(kueue, workload, &choice);
}
