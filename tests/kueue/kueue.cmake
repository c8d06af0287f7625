# What Kueue decides (policies/kueue), and its vectors where somebody has all of them.
orr_unit_test(test_kueue orr_kueue)
orr_cases(kueue)
add_test(NAME kueue.vectors COMMAND orrery conform ${CMAKE_CURRENT_SOURCE_DIR}/kueue/vectors
  ${CMAKE_CURRENT_SOURCE_DIR}/kueue/own)
set_tests_properties(kueue.vectors PROPERTIES LABELS quick
  PASS_REGULAR_EXPRESSION "^[0-9]+ passed, 0 failed, 0 skipped\n$")
add_test(NAME kueue.given COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kueue/given.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/kueue)
set_tests_properties(kueue.given PROPERTIES LABELS full TIMEOUT 900 SKIP_RETURN_CODE 77)
add_test(NAME kueue.objects_vectors COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kueue/objects_vectors.sh $<TARGET_FILE:orrery>
  ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/kueue)
set_tests_properties(kueue.objects_vectors PROPERTIES LABELS full SKIP_RETURN_CODE 77) # 4 s
