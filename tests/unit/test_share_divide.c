/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fair-share division: worked examples by hand, then random hierarchies against a slow reference.
 */
#include "test_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/core/share.h>

#define GPU        ORR_SHARE_GPU
#define MAX_QUEUES 40

struct row { /* GPU only */
    double quota, limit, weight, request, usage;
    int priority;
};

static void fill(struct orr_share_queue *queues, const struct row *rows, uint32_t count)
{
    for (uint32_t q = 0; q < count; q++) {
        queues[q] = (struct orr_share_queue){
            .parent = ORR_NONE, .priority = rows[q].priority, .created = q, .name_rank = q};
        queues[q].resource[GPU] = (struct orr_share_resource){.deserved = rows[q].quota,
                                                              .limit = rows[q].limit,
                                                              .weight = rows[q].weight,
                                                              .request = rows[q].request,
                                                              .usage = rows[q].usage};
    }
}

static void expect(const struct row *rows, uint32_t count, double gpus, double k,
                   const double *shares)
{
    struct orr_share_queue queues[8];
    struct orr_share_tree tree;
    fill(queues, rows, count);
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, count);
    orr_share_divide(&tree, queues, (double[]){0, 0, gpus}, k);
    for (uint32_t q = 0; q < count; q++) {
        if (queues[q].resource[GPU].fair_share != shares[q]) {
            fail_msg("queue %u: %.17g instead of %.17g", q, queues[q].resource[GPU].fair_share,
                     shares[q]);
        }
    }
    orr_share_tree_release(&tree);
}

static void share__odd_unit_goes_to_the_older_queue(void **state)
{
    (void)state;
    expect((struct row[]){{0, -1, 1, 5, 0, 0}, {0, -1, 1, 5, 0, 0}}, 2, 5, 0, (double[]){3, 2});
}

static void share__what_one_does_not_need_is_handed_out_again(void **state)
{
    (void)state;
    expect((struct row[]){{0, -1, 1, 1, 0, 0}, {0, -1, 1, 9, 0, 0}, {0, -1, 1, 9, 0, 0}}, 3, 10, 0,
           (double[]){1, 5, 4});
}

static void share__quotas_are_not_scaled_down(void **state)
{
    (void)state;
    expect((struct row[]){{6, -1, 1, 6, 0, 0}, {6, -1, 1, 6, 0, 0}}, 2, 8, 0, (double[]){6, 6});
}

static void share__limit_caps_the_over_quota_part(void **state)
{
    (void)state;
    expect((struct row[]){{2, 3, 1, 10, 0, 0}, {0, -1, 1, 10, 0, 0}}, 2, 4, 0, (double[]){3, 1});
}

static void share__past_usage_lowers_the_claim(void **state)
{
    (void)state;
    expect((struct row[]){{0, -1, 1, 10, .8, 0}, {0, -1, 1, 10, 0, 0}}, 2, 10, 1, (double[]){2, 8});
    expect((struct row[]){{0, -1, 1, 10, .8, 0}, {0, -1, 1, 10, 0, 0}}, 2, 10, 0, (double[]){5, 5});
}

static void share__nobody_gets_more_when_all_used_too_much(void **state)
{
    (void)state;
    expect((struct row[]){{1, -1, 1, 10, 1, 0}, {0, -1, 1, 10, 1, 0}}, 2, 10, 1, (double[]){1, 0});
}

static void share__higher_priority_takes_first(void **state)
{
    (void)state;
    expect((struct row[]){{0, -1, 1, 9, 0, 1}, {0, -1, 5, 9, 0, 0}, {0, -1, 0, 9, 0, 2}}, 3, 10, 0,
           (double[]){9, 1, 0});
}

static void share__rounding_units_come_after_all_priorities(void **state)
{
    (void)state;
    /* The upper two round to 1 each of 3; the lower one takes the third in its main round. */
    expect((struct row[]){{0, -1, 1, 9, 0, 1}, {0, -1, 1, 9, 0, 1}, {0, -1, 1, 9, 0, 0}}, 3, 3, 0,
           (double[]){1, 1, 1});
}

static void share__fractions_within_need_are_exact(void **state)
{
    (void)state;
    expect((struct row[]){{0, -1, 1, .5, 0, 0}, {0, -1, 1, 9, 0, 0}}, 2, 2, 0, (double[]){.5, 1.5});
}

static void share__unlimited_quota_is_the_whole_total(void **state)
{
    (void)state;
    expect((struct row[]){{-1, -1, -1, 7, 0, 0}}, 1, 5, 0, (double[]){5});
    expect((struct row[]){{-1, -1, -1, 3, 0, 0}}, 1, 5, 0, (double[]){3});
}

static void share__children_divide_what_the_parent_got(void **state)
{
    (void)state;
    struct orr_share_queue queues[5];
    struct orr_share_tree tree;
    const struct row rows[] = {{0, -1, 1, 12, 0, 0},
                               {4, -1, 1, 4, 0, 0}, /* child of 4, listed before it */
                               {0, -1, 1, 6, 0, 0},
                               {5, -1, 1, 6, 0, 0},
                               {0, -1, 1, 6, 0, 0}};
    fill(queues, rows, 5);
    queues[1].parent = 4;
    queues[2].parent = 0;
    queues[3].parent = 0;
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, 5);
    orr_share_divide(&tree, queues, (double[]){0, 0, 6}, 0);
    assert_true(queues[0].resource[GPU].fair_share == 3);
    assert_true(queues[4].resource[GPU].fair_share == 3);
    /* A quota is honoured even above the parent's share; nothing is left for the sibling. */
    assert_true(queues[3].resource[GPU].fair_share == 5);
    assert_true(queues[2].resource[GPU].fair_share == 0);
    assert_true(queues[1].resource[GPU].fair_share == 4);
    assert_int_equal(tree.level[1], 1);
    assert_int_equal(tree.level[4], 0);
    orr_share_tree_release(&tree);
}

static void share__no_queues_is_fine(void **state)
{
    (void)state;
    struct orr_share_tree tree;
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, NULL, 0);
    orr_share_divide(&tree, NULL, (double[]){1, 2, 3}, 1);
    orr_share_tree_release(&tree);
}

static void share__helpers(void **state)
{
    (void)state;
    struct orr_share_resource r = {.deserved = 2, .limit = 5, .request = 9, .fair_share = 4};
    assert_true(orr_share_requestable(&r) == 5);
    assert_true(orr_share_remaining(&r) == 1);
    assert_true(orr_share_allocatable(&r) == 4);
    assert_false(orr_share_is_satisfied(&r));
    r.fair_share = 6;
    assert_true(orr_share_is_satisfied(&r));
    assert_true(orr_share_remaining(&r) == 0);
    assert_true(orr_share_allocatable(&r) == 5);
    r.deserved = ORR_UNLIMITED;
    assert_true(orr_share_allocatable(&r) == 5);
    r.limit = ORR_UNLIMITED;
    assert_true(orr_share_allocatable(&r) == ORR_UNLIMITED);
    r.deserved = 7;
    assert_true(orr_share_allocatable(&r) == 7);
    assert_true(orr_share_requestable(&r) == 9);
}

/* --- the reference: every rule as a sentence, over all queues, sorting and scanning freely --- */

static double ref_requestable(const struct orr_share_resource *r)
{
    return r->limit == -1 ? r->request : fmin(r->limit, r->request);
}

static double ref_remaining(const struct orr_share_resource *r)
{
    return fmax(0, ref_requestable(r) - r->fair_share);
}

static bool ref_satisfied(const struct orr_share_resource *r)
{
    return r->request <= r->fair_share || (r->limit != -1 && r->limit <= r->fair_share);
}

static double ref_rounds(struct orr_share_queue *queues, const bool *in, uint32_t count, int kind,
                         double amount, double k, double *residue)
{
    for (bool again = true; again && amount != 0;) {
        again = false;
        double weights = 0, sum = 0, s[MAX_QUEUES];
        for (uint32_t q = 0; q < count; q++) {
            if (in[q] && ref_remaining(&queues[q].resource[kind]) > 0) {
                weights += queues[q].resource[kind].weight;
            }
        }
        if (weights == 0) {
            break;
        }
        for (uint32_t q = 0; q < count; q++) {
            const struct orr_share_resource *r = &queues[q].resource[kind];
            if (in[q] && !ref_satisfied(r)) {
                double n = r->weight / weights;
                s[q] = fmax(0, n + k * (n - r->usage));
                sum += s[q];
            }
        }
        if (sum == 0) {
            break;
        }
        double round = amount;
        for (uint32_t q = 0; q < count; q++) {
            struct orr_share_resource *r = &queues[q].resource[kind];
            if (!in[q] || ref_satisfied(r) || r->weight <= 0 || amount == 0) {
                continue;
            }
            double part = round * s[q] / sum, need = ref_remaining(r), give;
            if (need <= part) {
                give = need;
                residue[q] = 0;
            } else {
                give = floor(part);
                residue[q] = part - give > 0 ? part - give : residue[q];
            }
            if (give > 0) {
                r->fair_share += give;
                amount -= give;
                again = again || need < part;
            }
        }
    }
    return amount;
}

static uint32_t ref_best(const struct orr_share_queue *queues, const double *residue,
                         uint32_t count)
{
    uint32_t best = count;
    for (uint32_t q = 0; q < count; q++) {
        if (residue[q] <= 0) {
            continue;
        }
        if (best == count || residue[q] > residue[best] ||
            (residue[q] == residue[best] && (queues[q].created < queues[best].created ||
                                             (queues[q].created == queues[best].created &&
                                              queues[q].name_rank < queues[best].name_rank)))) {
            best = q;
        }
    }
    return best;
}

static void ref_siblings(struct orr_share_queue *queues, uint32_t count, uint32_t parent, int kind,
                         double total, double k)
{
    double residue[MAX_QUEUES] = {0}, remaining = total;
    for (uint32_t q = 0; q < count; q++) {
        struct orr_share_resource *r = &queues[q].resource[kind];
        if (queues[q].parent == parent) {
            r->fair_share = fmin(r->deserved == -1 ? total : r->deserved, ref_requestable(r));
            remaining -= r->fair_share;
        }
    }
    for (int pass = 0; pass < 2 && remaining > 0; pass++) {
        for (int priority = 9; priority >= 0 && remaining > 0; priority--) {
            bool in[MAX_QUEUES];
            double mine[MAX_QUEUES];
            for (uint32_t q = 0; q < count; q++) {
                in[q] = queues[q].parent == parent && queues[q].priority == priority;
                mine[q] = in[q] ? residue[q] : 0;
            }
            if (pass == 0) {
                remaining = ref_rounds(queues, in, count, kind, remaining, k, residue);
                continue;
            }
            for (uint32_t q; remaining > 0 && (q = ref_best(queues, mine, count)) < count;) {
                double give = fmin(1, remaining);
                queues[q].resource[kind].fair_share += give;
                remaining -= give;
                mine[q] = 0;
            }
        }
    }
    for (uint32_t q = 0; q < count; q++) {
        if (queues[q].parent == parent) {
            ref_siblings(queues, count, q, kind, queues[q].resource[kind].fair_share, k);
        }
    }
}

static uint64_t roll(uint64_t *seed, uint64_t sides)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % sides;
}

static double amount(uint64_t *seed)
{
    switch (roll(seed, 4)) {
    case 0: return 0;
    case 1: return (double)roll(seed, 200) / 10;
    default: return (double)roll(seed, 20);
    }
}

static struct orr_share_resource random_resource(uint64_t *seed)
{
    return (struct orr_share_resource){
        .deserved = roll(seed, 8) == 0 ? -1 : amount(seed) / 2,
        .limit = roll(seed, 3) != 0 ? -1 : amount(seed),
        .weight = roll(seed, 6) == 0 ? 0 : (double)roll(seed, 7),
        .request = amount(seed) * 2,
        .usage = roll(seed, 2) == 0 ? 0 : (double)roll(seed, 1000) / 1000};
}

static uint32_t random_tree(struct orr_share_queue *queues, uint64_t *seed)
{
    uint32_t count = 1 + (uint32_t)roll(seed, MAX_QUEUES), priorities = 1 + (uint32_t)roll(seed, 4);
    /* Half of the trees list children before their parents. */
    bool reversed = roll(seed, 2) == 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t q = reversed ? count - 1 - i : i, p = (uint32_t)roll(seed, i + 1);
        queues[q] = (struct orr_share_queue){.parent = p == i     ? ORR_NONE
                                                       : reversed ? count - 1 - p
                                                                  : p,
                                             .priority = (int32_t)roll(seed, priorities),
                                             .created = (int64_t)roll(seed, 4),
                                             .name_rank = (uint32_t)(q * 17 % 41)};
        for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            queues[q].resource[kind] = random_resource(seed);
        }
    }
    return count;
}

static void expect_same(const struct orr_share_queue *a, const struct orr_share_queue *b,
                        uint32_t count, const char *what, uint64_t round)
{
    for (uint32_t q = 0; q < count; q++) {
        for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            double left = a[q].resource[kind].fair_share, right = b[q].resource[kind].fair_share;
            if (left != right) {
                fail_msg("%s, tree %llu, queue %u, resource %d: %.17g and %.17g", what,
                         (unsigned long long)round, q, kind, left, right);
            }
        }
    }
}

static void share__equals_the_reference_on_random_trees(void **state)
{
    const uint64_t trees = *(const uint64_t *)*state;
    struct orr_share_queue fast[MAX_QUEUES], slow[MAX_QUEUES];
    struct orr_share_tree tree;
    orr_share_tree_init(&tree);
    for (uint64_t round = 0; round < trees; round++) {
        uint64_t seed = round * 977 + 1;
        uint32_t count = random_tree(fast, &seed);
        double total[] = {amount(&seed) * 4, amount(&seed) * 10, amount(&seed) * 3};
        double k = (double)roll(&seed, 3) / 2;
        memcpy(slow, fast, sizeof slow);
        orr_share_tree_build(&tree, fast, count);
        orr_share_divide(&tree, fast, total, k);
        for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            ref_siblings(slow, count, ORR_NONE, kind, total[kind], k);
        }
        expect_same(fast, slow, count, "reference", round);
    }
    orr_share_tree_release(&tree);
}

/* Quotas aside, no more is handed out than there is, and shares are within what they may be. */
static void share__conserves_on_random_trees(void **state)
{
    (void)state;
    struct orr_share_queue queues[MAX_QUEUES];
    struct orr_share_tree tree;
    orr_share_tree_init(&tree);
    for (uint64_t round = 0; round < 5000; round++) {
        uint64_t seed = round * 31 + 7;
        uint32_t count = random_tree(queues, &seed);
        orr_share_tree_build(&tree, queues, count);
        orr_share_divide(&tree, queues, (double[]){20, 30, 40}, 1);
        for (uint32_t s = 0; s < tree.set_count; s++) {
            const struct orr_share_set *set = &tree.sets[s];
            double quotas = 0, shares = 0, total = set->total[GPU];
            for (uint32_t i = 0; i < set->count; i++) {
                const struct orr_share_resource *r =
                    &queues[tree.members[set->first + i]].resource[GPU];
                double quota = r->deserved == ORR_UNLIMITED ? total : r->deserved;
                quotas += fmin(quota, orr_share_requestable(r));
                shares += r->fair_share;
                assert_true(r->fair_share < orr_share_requestable(r) + 1);
                assert_true(r->fair_share >= fmin(quota, orr_share_requestable(r)));
            }
            assert_true(shares <= fmax(quotas, total) + 1e-9);
            assert_true(set->remaining[GPU] >= 0);
            assert_true(fabs(fmax(total, quotas) - shares - set->remaining[GPU]) < 1e-9);
        }
    }
    orr_share_tree_release(&tree);
}

static void share__redivide_equals_divide(void **state)
{
    (void)state;
    struct orr_share_queue queues[MAX_QUEUES], fresh[MAX_QUEUES];
    struct orr_share_tree tree, other;
    orr_share_tree_init(&tree);
    orr_share_tree_init(&other);
    for (uint64_t round = 0; round < 1000; round++) {
        uint64_t seed = round * 13 + 3;
        uint32_t count = random_tree(queues, &seed);
        double total[] = {30, 30, 30}, k = 1;
        orr_share_tree_build(&tree, queues, count);
        orr_share_tree_build(&other, queues, count);
        for (int step = 0; step < 20; step++) {
            uint32_t q = (uint32_t)roll(&seed, count), kind = (uint32_t)roll(&seed, 3);
            if (step > 0 && roll(&seed, 8) > 0) {
                queues[q].resource[kind].request = amount(&seed);
                orr_share_touch(&tree, q, 1u << kind);
            } else if (roll(&seed, 2) > 0) {
                total[kind] = amount(&seed) * 4;
            } else {
                k = (double)roll(&seed, 3);
            }
            uint32_t divided = orr_share_redivide(&tree, queues, total, k);
            assert_true(divided <= tree.set_count * ORR_SHARE_KINDS);
            memcpy(fresh, queues, sizeof fresh);
            orr_share_divide(&other, fresh, total, k);
            expect_same(queues, fresh, count, "redivide", round);
            assert_int_equal(orr_share_redivide(&tree, queues, total, k), 0);
        }
    }
    orr_share_tree_release(&tree);
    orr_share_tree_release(&other);
}

static void share__touching_one_leaf_divides_one_set(void **state)
{
    (void)state;
    struct orr_share_queue queues[6];
    struct orr_share_tree tree;
    fill(queues,
         (struct row[]){{0, -1, 1, 9, 0, 0},
                        {0, -1, 1, 9, 0, 0},
                        {0, -1, 1, 4, 0, 0},
                        {0, -1, 1, 4, 0, 0},
                        {0, -1, 1, 4, 0, 0},
                        {0, -1, 1, 4, 0, 0}},
         6);
    queues[2].parent = queues[3].parent = 0;
    queues[4].parent = queues[5].parent = 1;
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, 6);
    assert_int_equal(orr_share_redivide(&tree, queues, (double[]){0, 0, 8}, 0), 9);
    queues[4].resource[GPU].request = 1;
    orr_share_touch(&tree, 4, 1u << GPU);
    assert_int_equal(orr_share_redivide(&tree, queues, (double[]){0, 0, 8}, 0), 1);
    assert_true(queues[5].resource[GPU].fair_share == 3);
    orr_share_tree_release(&tree);
}

/* test_share_divide [TREES] */
int main(int argc, char **argv)
{
    uint64_t trees = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share__odd_unit_goes_to_the_older_queue),
        cmocka_unit_test(share__what_one_does_not_need_is_handed_out_again),
        cmocka_unit_test(share__quotas_are_not_scaled_down),
        cmocka_unit_test(share__limit_caps_the_over_quota_part),
        cmocka_unit_test(share__past_usage_lowers_the_claim),
        cmocka_unit_test(share__nobody_gets_more_when_all_used_too_much),
        cmocka_unit_test(share__higher_priority_takes_first),
        cmocka_unit_test(share__rounding_units_come_after_all_priorities),
        cmocka_unit_test(share__fractions_within_need_are_exact),
        cmocka_unit_test(share__unlimited_quota_is_the_whole_total),
        cmocka_unit_test(share__children_divide_what_the_parent_got),
        cmocka_unit_test(share__no_queues_is_fine),
        cmocka_unit_test(share__helpers),
        cmocka_unit_test_prestate(share__equals_the_reference_on_random_trees, &trees),
        cmocka_unit_test(share__conserves_on_random_trees),
        cmocka_unit_test(share__redivide_equals_divide),
        cmocka_unit_test(share__touching_one_leaf_divides_one_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
