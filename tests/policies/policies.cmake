# What `orrery policies kai` names as evidence can be looked up.
add_test(NAME policies.evidence
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/policies/evidence.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(policies.evidence PROPERTIES LABELS quick)

# The experiments that hold all policies against each other name all there are.
add_test(NAME policies.sweeps
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/policies/sweeps.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(policies.sweeps PROPERTIES LABELS quick ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})

# Every leaf of a SchedulingShard is heeded, listed or refused.
add_test(NAME policies.shard
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/policies/shard.sh $<TARGET_FILE:orrery>
    ${CMAKE_CURRENT_SOURCE_DIR}/policies/leaves.tsv)
set_tests_properties(policies.shard PROPERTIES LABELS quick)

# Preemption delays and staleness graces of jobs' own.
add_test(NAME policies.periods
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/policies/periods.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(policies.periods PROPERTIES LABELS quick ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
