orr_unit_test(test_scenario_load orr_scenario)
orr_unit_test(test_scenario_extend orr_scenario)
orr_unit_test(test_scenario_queues orr_scenario)
orr_unit_test(test_scenario_set orr_scenario)
orr_unit_test(test_scenario_command orr_scenario)
target_compile_definitions(test_scenario_extend PRIVATE
  NODE_TYPES="${PROJECT_SOURCE_DIR}/scenarios/node-types")
