/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter rows: defaults, setting, errors that help, text that reads back. */
#include "test_main.h"

#include <string.h>

#include <orrery/core/policy.h>

struct knobs {
    bool backfill;
    int64_t depth;
    double weight, free_real;
    orr_ms patience;
    int64_t order;
    const char *line;
};

static const char *const orders[] = {"submit", "shortest", NULL};

static const struct orr_param rows[] = {
    {"backfill", ORR_PARAM_BOOL, offsetof(struct knobs, backfill), "true", "", NULL, 0, 0, ""},
    {"depth", ORR_PARAM_INT, offsetof(struct knobs, depth), "10", "", NULL, 1, 100, ""},
    {"weight", ORR_PARAM_REAL, offsetof(struct knobs, weight), "0.5", "", NULL, 0, 1, ""},
    {"real", ORR_PARAM_REAL, offsetof(struct knobs, free_real), "-3", "", NULL, 0, 0, ""},
    {"patience", ORR_PARAM_TIME, offsetof(struct knobs, patience), "90s", "ms", NULL, 0, 0, ""},
    {"order", ORR_PARAM_CHOICE, offsetof(struct knobs, order), "submit", "", orders, 0, 0, ""},
    {"line", ORR_PARAM_TEXT, offsetof(struct knobs, line), "* *", "", NULL, 0, 0, ""},
    {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static void defaults__are_written(void **state)
{
    (void)state;
    struct knobs knobs;
    memset(&knobs, 0, sizeof knobs);
    orr_params_init(rows, &knobs);
    assert_true(knobs.backfill);
    assert_int_equal(knobs.depth, 10);
    assert_true(knobs.weight == 0.5 && knobs.free_real == -3.0);
    assert_int_equal(knobs.patience, 90000);
    assert_int_equal(knobs.order, 0);
}

static void set__takes_good_values(void **state)
{
    (void)state;
    struct knobs knobs = {0};
    static const char *const good[][2] = {{"backfill", "false"}, {"depth", "100"},
                                          {"weight", "1e-3"},    {"real", "1e300"},
                                          {"patience", "2h30m"}, {"order", "shortest"}};
    orr_params_init(rows, &knobs);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(orr_params_set(rows, &knobs, good[i][0], good[i][1], NULL), ORR_OK);
    }
    assert_false(knobs.backfill);
    assert_int_equal(knobs.depth, 100);
    assert_true(knobs.weight == 1e-3 && knobs.free_real == 1e300);
    assert_int_equal(knobs.patience, 9000000);
    assert_int_equal(knobs.order, 1);
}

static void set__says_what_was_expected(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"backfill", "yes", "parameter backfill: \"yes\" is not true or false"},
        {"depth", "0", "parameter depth: \"0\" is not a whole number from 1 to 100"},
        {"depth", "1.5", "parameter depth: \"1.5\" is not a whole number from 1 to 100"},
        {"weight", "1.01", "parameter weight: \"1.01\" is not a number from 0 to 1"},
        {"real", "nan", "parameter real: \"nan\" is not a number"},
        {"patience", "90", "parameter patience: \"90\" is not a time such as 90s or 2h"},
        {"patience", "-1s", "parameter patience: \"-1s\" is not a time such as 90s or 2h"},
        {"order", "longest", "parameter order: \"longest\" is not submit or shortest"},
        {"ordr", "submit", "unknown parameter \"ordr\" (did you mean \"order\"?)"},
        {"preemption", "1", "unknown parameter \"preemption\""}};
    struct knobs knobs = {0}, before;
    orr_params_init(rows, &knobs);
    memcpy(&before, &knobs, sizeof knobs);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct orr_err err = {0};
        assert_int_equal(orr_params_set(rows, &knobs, bad[i][0], bad[i][1], &err), ORR_SCENARIO);
        assert_string_equal(err.text, bad[i][2]);
        assert_memory_equal(&knobs, &before, sizeof knobs);
    }
}

static void text__reads_back(void **state)
{
    (void)state;
    static const double reals[] = {0.1, 1.0 / 3.0, 0.123456789, 1.0, 0.0, 5e-324};
    struct knobs knobs = {0}, back = {0};
    orr_params_init(rows, &knobs);
    knobs.order = 1;
    knobs.depth = 42;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        knobs.weight = reals[i];
        for (const struct orr_param *row = rows; row->name != NULL; row++) {
            char text[64];
            orr_params_format(row, &knobs, text, sizeof text);
            assert_int_equal(orr_params_set(rows, &back, row->name, text, NULL), ORR_OK);
        }
        assert_true(back.weight == knobs.weight && back.free_real == knobs.free_real);
        assert_int_equal(back.order, 1);
        assert_int_equal(back.depth, 42);
        assert_int_equal(back.patience, 90000);
        assert_true(back.backfill);
    }
    assert_string_equal(knobs.line, "* *");
    char text[64];
    knobs.weight = 0.1;
    orr_params_format(&rows[2], &knobs, text, sizeof text);
    assert_string_equal(text, "0.1");
}

/* --- all settings of a policy at once --- */

static enum orr_status check_knobs(const void *params, struct orr_err *err)
{
    const struct knobs *knobs = params;
    return knobs->depth > 50 && knobs->backfill
               ? orr_fail(err, ORR_SCENARIO, "depth above 50 needs backfill=false")
               : ORR_OK;
}

static const struct orr_param_alias words[] = {{"spec.depth", "depth", NULL},
                                               {"spec.cache", NULL, "nothing is cached"},
                                               {"spec.*.depth=10", NULL, "as always"},
                                               {"spec.*.depth", "", "all are as deep"},
                                               {"spec.in*", "depth", NULL},
                                               {NULL, NULL, NULL}};
static const char *const deep[] = {"backfill", "false", "spec.depth", "60", NULL};
static const char *const slow[] = {"patience", "1h", NULL};
static const struct orr_preset presets[] = {
    {"deep", deep, ""}, {"slow", slow, ""}, {NULL, NULL, NULL}};
static const struct orr_policy policy = {.abi = ORR_POLICY_ABI,
                                         .size = sizeof policy,
                                         .name = "p",
                                         .params = rows,
                                         .params_bytes = sizeof(struct knobs),
                                         .check = check_knobs,
                                         .aliases = words,
                                         .presets = presets};

static void configure__lets_settings_win_over_presets(void **state)
{
    (void)state;
    static const struct orr_setting settings[] = {{"order", "shortest", NULL},
                                                  {"preset", "slow, deep", NULL},
                                                  {"spec.cache", "1", NULL},
                                                  {"patience", "5s", NULL},
                                                  {"spec.depth", "70", NULL}};
    struct knobs knobs = {0};
    assert_int_equal(orr_policy_configure(&policy, &knobs, settings, 5, NULL), ORR_OK);
    assert_false(knobs.backfill);
    assert_int_equal(knobs.depth, 70);
    assert_int_equal(knobs.patience, 5000);
    assert_int_equal(knobs.order, 1);
    assert_int_equal(orr_policy_configure(&policy, &knobs, NULL, 0, NULL), ORR_OK);
    assert_true(knobs.backfill && knobs.depth == 10);
}

static void configure__says_where_it_went_wrong(void **state)
{
    (void)state;
    static const struct {
        struct orr_setting setting;
        const char *words;
    } bad[] = {
        {{"preset", "sloow", "s.yaml:3:4"},
         "s.yaml:3:4: policy p: unknown preset \"sloow\" (did you mean \"slow\"?)"},
        {{"spec.depth", "0", "s.yaml:3:4"},
         "s.yaml:3:4: policy p: parameter depth: \"0\" is not a whole number from 1 to 100"},
        {{"depth", "51", NULL}, "policy.params: policy p: depth above 50 needs backfill=false"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct knobs knobs = {0};
        struct orr_err err = {0};
        assert_int_equal(orr_policy_configure(&policy, &knobs, &bad[i].setting, 1, &err),
                         ORR_SCENARIO);
        assert_string_equal(err.text, bad[i].words);
    }
}

static const char *word_of(const char *name, const char *value)
{
    const struct orr_param_alias *word = orr_policy_word(&policy, name, value);
    return word != NULL ? word->alias : "none";
}

static void words__are_found_by_pattern_and_value(void **state)
{
    (void)state;
    assert_string_equal(word_of("spec.a.depth", "10"), "spec.*.depth=10");
    assert_string_equal(word_of("spec.a.depth", "11"), "spec.*.depth");
    assert_string_equal(word_of("spec.a.b.depth", "10"), "none");
    assert_string_equal(word_of("spec..depth", "10"), "none");
    assert_string_equal(word_of("spec.inner", "10"), "spec.in*");
    assert_string_equal(word_of("spec.in", "10"), "none");
    assert_string_equal(word_of("depth", "10"), "none"); /* a parameter's own name */
    static const struct orr_setting refused[] = {{"spec.a.depth", "11", "s.yaml:3:4"}};
    struct knobs knobs = {0};
    struct orr_err err = {0};
    assert_int_equal(orr_policy_configure(&policy, &knobs, refused, 1, &err), ORR_SCENARIO);
    assert_string_equal(err.text, "s.yaml:3:4: policy p: parameter spec.a.depth: \"11\" is "
                                  "refused: all are as deep");
}

/* A table made for an older host ends before these slots. */
static void configure__reads_no_slot_beyond_the_table(void **state)
{
    (void)state;
    struct orr_policy old = policy;
    old.size = offsetof(struct orr_policy, check);
    static const struct orr_setting settings[] = {{"depth", "51", NULL}};
    static const struct orr_setting preset[] = {{"preset", "deep", NULL}};
    struct knobs knobs = {0};
    struct orr_err err = {0};
    assert_int_equal(orr_policy_configure(&old, &knobs, settings, 1, NULL), ORR_OK);
    assert_int_equal(orr_policy_configure(&old, &knobs, preset, 1, &err), ORR_SCENARIO);
    assert_string_equal(err.text, "policy.params: policy p: unknown parameter \"preset\"");
}

static bool of_gpus(void *state, const struct orr_view *view, double *mgpu)
{
    (void)state;
    (void)view;
    mgpu[0] = 4000.0;
    return true;
}

static bool of_any(void *state, const struct orr_view *view, enum orr_share_kind kind,
                   double *amounts)
{
    (void)state;
    (void)view;
    amounts[0] = (double)kind;
    return kind != ORR_SHARE_MEMORY;
}

static void shares__of_an_older_table_are_those_of_gpus(void **state)
{
    (void)state;
    struct orr_policy table = policy;
    double told[1] = {-1.0};
    assert_false(orr_policy_has_shares(&table, ORR_SHARE_GPU));
    table.shares = of_gpus;
    table.shares_of = of_any;
    table.size = offsetof(struct orr_policy, shares_of);
    assert_false(orr_policy_has_shares(&table, ORR_SHARE_CPU));
    assert_true(orr_policy_has_shares(&table, ORR_SHARE_GPU));
    assert_true(orr_policy_shares(&table, NULL, NULL, ORR_SHARE_GPU, told));
    assert_true(told[0] == 4000.0);
    table.size = sizeof table;
    assert_true(orr_policy_has_shares(&table, ORR_SHARE_CPU));
    assert_true(orr_policy_shares(&table, NULL, NULL, ORR_SHARE_GPU, told));
    assert_true(told[0] == (double)ORR_SHARE_GPU);
    assert_false(orr_policy_shares(&table, NULL, NULL, ORR_SHARE_MEMORY, told));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults__are_written),
        cmocka_unit_test(set__takes_good_values),
        cmocka_unit_test(set__says_what_was_expected),
        cmocka_unit_test(text__reads_back),
        cmocka_unit_test(configure__lets_settings_win_over_presets),
        cmocka_unit_test(shares__of_an_older_table_are_those_of_gpus),
        cmocka_unit_test(configure__says_where_it_went_wrong),
        cmocka_unit_test(words__are_found_by_pattern_and_value),
        cmocka_unit_test(configure__reads_no_slot_beyond_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
