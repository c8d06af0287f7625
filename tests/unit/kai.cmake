# Fair share, usage history and the conformance runner.
# The test reads cases through the loader's own header, which needs the parser's.
pkg_check_modules(CONFORM_FYAML REQUIRED IMPORTED_TARGET libfyaml)
orr_unit_test(test_share_divide orr_share)
orr_long_test(test_share_divide 20000)
orr_unit_test(test_share_usage orr_share)
orr_unit_test(test_conform orr_conform orr_share PkgConfig::CONFORM_FYAML)
target_compile_definitions(test_conform PRIVATE ORR_TEST_CASES="${CMAKE_CURRENT_SOURCE_DIR}/conformance")
target_include_directories(test_conform PRIVATE ${PROJECT_SOURCE_DIR}/sim/conform)

# The session and KAI's decisions over it.
orr_unit_test(test_kai_rules orr_kai)
target_include_directories(test_kai_rules PRIVATE ${PROJECT_SOURCE_DIR}/policies/kai)
orr_unit_test(test_kai_words orr_policies)
target_include_directories(test_kai_words PRIVATE ${PROJECT_SOURCE_DIR}/policies/kai)
orr_unit_test(test_kai_items orr_kai)
target_include_directories(test_kai_items PRIVATE ${PROJECT_SOURCE_DIR}/policies/kai)
orr_unit_test(test_kai_session orr_kai)
orr_unit_test(test_kai_search orr_kai)
orr_long_test(test_kai_search 100)
orr_unit_test(test_kai_histogram orr_kai)
target_include_directories(test_kai_histogram PRIVATE ${PROJECT_SOURCE_DIR}/core/prune)
orr_unit_test(test_kai_rank orr_kai)
target_include_directories(test_kai_rank PRIVATE ${PROJECT_SOURCE_DIR}/core/place)
orr_unit_test(test_kai_order orr_kai)
orr_unit_test(test_kai_sketch orr_kai)
orr_unit_test(test_kai_backlog orr_kai)
orr_long_test(test_kai_backlog 60)
orr_unit_test(test_kai_usage orr_kai)
orr_unit_test(test_kai_numa orr_kai)

add_test(NAME case.kai
  COMMAND orrery conform ${CMAKE_CURRENT_SOURCE_DIR}/case ${CMAKE_CURRENT_SOURCE_DIR}/conformance)
set_tests_properties(case.kai PROPERTIES LABELS quick
  PASS_REGULAR_EXPRESSION "^[0-9]+ passed, 0 failed, 0 skipped\n$")
# Sessions and snapshots that the real scheduler decided, where somebody has them.
add_test(NAME case.given COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/conformance/given.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/conformance)
set_tests_properties(case.given PROPERTIES LABELS full TIMEOUT 900 SKIP_RETURN_CODE 77)
