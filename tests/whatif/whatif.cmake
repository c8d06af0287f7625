# The stories of scenarios/whatif hold under kai, and not with the feature off.
foreach(name lending reclaim inference fragmentation gang hoarding turns topology burst)
  add_test(NAME whatif.${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/whatif/whatif.sh
    $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR}/scenarios/whatif/${name})
  set_tests_properties(whatif.${name} PROPERTIES LABELS quick TIMEOUT 120
    ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
endforeach()

add_test(NAME whatif.topology_table COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/whatif/topology.sh
  $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR}/scenarios/whatif/topology)
set_tests_properties(whatif.topology_table PROPERTIES LABELS full TIMEOUT 300
  ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})

add_test(NAME whatif.kueue_table COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/whatif/kueue.sh
  $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR}/scenarios/whatif/kueue)
set_tests_properties(whatif.kueue_table PROPERTIES LABELS full TIMEOUT 120
  ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
