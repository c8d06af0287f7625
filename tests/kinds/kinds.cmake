# Kinds of work: sessions that give up, deadlines, templates; scenarios/mixed.
set(kinds ${CMAKE_CURRENT_SOURCE_DIR}/kinds/kinds.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kinds})
file(STRINGS ${kinds} kind_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(line ${kind_cases})
  string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
  add_test(NAME kinds.${case} COMMAND sh ${kinds} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(kinds.${case} PROPERTIES LABELS quick)
endforeach()
add_test(NAME kinds.mixed
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kinds/mixed.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(kinds.mixed PROPERTIES LABELS quick TIMEOUT 300)
