# Rules of queues for single jobs.
set(rules ${CMAKE_CURRENT_SOURCE_DIR}/rules/rules.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rules})
file(STRINGS ${rules} rule_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(line ${rule_cases})
  string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
  add_test(NAME rules.${case} COMMAND sh ${rules} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(rules.${case} PROPERTIES LABELS quick)
endforeach()
