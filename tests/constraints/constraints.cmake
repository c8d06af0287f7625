# What rows say of nodes, levels and other jobs, under every policy.
set(constraints ${CMAKE_CURRENT_SOURCE_DIR}/constraints/constraints.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${constraints})
file(STRINGS ${constraints} constraint_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(policy fifo easy static kube kai)
  foreach(line ${constraint_cases})
    string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
    add_test(NAME constraints.${policy}.${case}
      COMMAND sh ${constraints} $<TARGET_FILE:orrery> ${policy} ${case})
    set_tests_properties(constraints.${policy}.${case} PROPERTIES LABELS quick)
  endforeach()
endforeach()
