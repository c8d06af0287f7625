/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KAI's words: each says what becomes of it, and plugins and actions can be switched. */
#include <stdio.h>
#include <string.h>

#include "test_main.h"

#include "kai_params.h"

#include <orrery/policies/kai.h>
#include <orrery/policies/registry.h>

static void configure(const struct orr_setting *settings, size_t count,
                      struct orr_kai_params *params)
{
    struct orr_err err = {0};
    if (orr_policy_configure(orr_policy_find("kai"), params, settings, count, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

static struct orr_kai_params configured(const struct orr_setting *settings, size_t count)
{
    struct orr_kai_params params;
    configure(settings, count, &params);
    return params;
}

static void words__set_a_parameter_or_say_why_not(void **state)
{
    (void)state;
    for (const struct orr_param_alias *word = orr_kai__aliases; word->alias != NULL; word++) {
        if (word->name == NULL || word->name[0] == '\0') {
            assert_true(word->why != NULL && word->why[0] != '\0');
            continue;
        }
        const struct orr_param *row = orr_kai__rows;
        while (row->name != NULL && strcmp(row->name, word->name) != 0) {
            row++;
        }
        assert_non_null(row->name);
    }
}

static void check_order(const struct orr_setting *settings, size_t count, const char *expected)
{
    const struct orr_kai_params params = configured(settings, count);
    enum orr_action actions[ORR_ACTIONS];
    char text[200] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < orr_kai_actions(&params, actions); i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s ", orr_action_name(actions[i]));
    }
    assert_string_equal(text, expected);
}

static void actions__by_priority_then_by_name(void **state)
{
    (void)state;
    static const struct orr_setting preempt[] = {{"actions.preempt.priority", "350", NULL}};
    static const struct orr_setting equal[] = {{"actions.allocate.priority", "100", NULL},
                                               {"actions.reclaim.priority", "100", NULL}};
    static const struct orr_setting off[] = {{"actions.allocate.enabled", "false", NULL},
                                             {"actions.stalegangeviction.enabled", "false", NULL}};
    static const struct orr_setting listed[] = {{"actions", "reclaim, allocate", NULL}};
    static const struct orr_setting both[] = {{"actions", "reclaim, allocate", NULL},
                                              {"actions.reclaim.priority", "301", NULL}};
    check_order(NULL, 0, "allocate consolidation reclaim preempt stalegangeviction ");
    check_order(preempt, 1, "allocate consolidation preempt reclaim stalegangeviction ");
    check_order(equal, 2, "consolidation preempt allocate reclaim stalegangeviction ");
    check_order(off, 2, "consolidation reclaim preempt ");
    check_order(listed, 1, "reclaim allocate ");
    check_order(both, 2, "allocate reclaim ");
}

static void consolidation__is_off_in_a_shard_that_spreads(void **state)
{
    (void)state;
    static const struct orr_setting spread[] = {{"placementStrategy.cpu", "spread", NULL},
                                                {"actions.consolidation.enabled", "true", NULL}};
    check_order(spread, 1, "allocate reclaim preempt stalegangeviction ");
    check_order(spread, 2, "allocate consolidation reclaim preempt stalegangeviction ");
}

static void plugins__can_be_switched_off(void **state)
{
    (void)state;
    static const struct {
        const char *plugin;
        size_t offset;
    } rows[] = {{"predicates", offsetof(struct orr_session_rules, predicates)},
                {"proportion", offsetof(struct orr_session_rules, proportion)},
                {"priority", offsetof(struct orr_session_rules, priority)},
                {"elastic", offsetof(struct orr_session_rules, elastic)},
                {"nodeavailability", offsetof(struct orr_session_rules, node_availability)},
                {"gpusharingorder", offsetof(struct orr_session_rules, gpu_sharing_order)},
                {"resourcetype", offsetof(struct orr_session_rules, resource_type)},
                {"subgrouporder", offsetof(struct orr_session_rules, subgroup_order)},
                {"minruntime", offsetof(struct orr_session_rules, min_runtime)},
                {"topology", offsetof(struct orr_session_rules, topology)},
                {"taskorder", offsetof(struct orr_session_rules, task_order)},
                {"kubeflow", offsetof(struct orr_session_rules, kubeflow)},
                {"ray", offsetof(struct orr_session_rules, ray)},
                {"nominatednode", offsetof(struct orr_session_rules, nominated_node)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[60];
        (void)snprintf(name, sizeof name, "plugins.%s.enabled", rows[i].plugin);
        const struct orr_setting off = {name, "false", NULL};
        const struct orr_kai_params on_params = configured(NULL, 0);
        const struct orr_kai_params off_params = configured(&off, 1);
        const struct orr_session_rules on = orr_kai__rules(&on_params);
        const struct orr_session_rules without = orr_kai__rules(&off_params);
        assert_true(*((const bool *)(const void *)((const char *)&on + rows[i].offset)));
        assert_false(*((const bool *)(const void *)((const char *)&without + rows[i].offset)));
    }
}

static void plugins__of_placement_can_be_switched_off(void **state)
{
    (void)state;
    static const struct orr_setting off[] = {{"plugins.nodeplacement.enabled", "false", NULL},
                                             {"plugins.gpupack.enabled", "false", NULL},
                                             {"placementStrategy.gpu", "spread", NULL}};
    struct orr_kai_params params = configured(off, 2);
    struct orr_session_rules rules = orr_kai__rules(&params);
    assert_int_equal(rules.gpu_placement, ORR_PLACEMENT_OFF);
    assert_int_equal(rules.cpu_placement, ORR_PLACEMENT_OFF);
    assert_int_equal(rules.device_order, ORR_DEVICES_UNORDERED);
    params = configured(off, 3);
    rules = orr_kai__rules(&params);
    assert_int_equal(rules.device_order, ORR_DEVICES_SPREAD);
}

static void words__of_later_versions_change_nothing(void **state)
{
    (void)state;
    static const struct orr_setting later[] = {{"goMemLimit", "1Gi", NULL},
                                               {"goMemLimitRatio", "0.9", NULL},
                                               {"scenarioSearchCheckpoints.maxJobs", "0", NULL}};
    struct orr_kai_params with, without;
    memset(&with, 0, sizeof with); /* what lies between the members too */
    memset(&without, 0, sizeof without);
    configure(later, 3, &with);
    configure(NULL, 0, &without);
    assert_memory_equal(&with, &without, sizeof with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words__set_a_parameter_or_say_why_not),
        cmocka_unit_test(actions__by_priority_then_by_name),
        cmocka_unit_test(consolidation__is_off_in_a_shard_that_spreads),
        cmocka_unit_test(plugins__can_be_switched_off),
        cmocka_unit_test(plugins__of_placement_can_be_switched_off),
        cmocka_unit_test(words__of_later_versions_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
