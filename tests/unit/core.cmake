# core/ and policies/: the ledger against an oracle, placement, parameters, policies by hand.
orr_unit_test(test_core_ledger_ops orr_core)
target_sources(test_core_ledger_ops PRIVATE unit/core_oracle.c)
foreach(thing ledger place param model constraints)
  orr_unit_test(test_core_${thing} orr_core)
endforeach()
foreach(policy contract fifo static easy kube las)
  orr_unit_test(test_policy_${policy} orr_policies)
endforeach()

# A policy from outside: public headers, no library.
add_library(widest_first MODULE plugin/widest_first.c)
set_target_properties(widest_first PROPERTIES PREFIX "")
target_include_directories(widest_first
  PRIVATE ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_SOURCE_DIR}/core/base/include)
add_executable(test_plugin plugin/test_plugin.c)
target_include_directories(test_plugin PRIVATE unit)
target_compile_definitions(test_plugin PRIVATE ORR_TEST_PLUGIN="$<TARGET_FILE:widest_first>")
target_link_libraries(test_plugin PRIVATE orr_core PkgConfig::CMOCKA ${CMAKE_DL_LIBS})
add_dependencies(test_plugin widest_first)
add_test(NAME unit.test_plugin COMMAND test_plugin)
add_test(NAME plugin.symbols
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/plugin/check_symbols.sh $<TARGET_FILE:widest_first>)
set_tests_properties(unit.test_plugin plugin.symbols PROPERTIES LABELS quick SKIP_RETURN_CODE 77)
