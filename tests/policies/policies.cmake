# What `orrery policies kai` names as evidence can be looked up.
add_test(NAME policies.evidence
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/policies/evidence.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(policies.evidence PROPERTIES LABELS quick)
