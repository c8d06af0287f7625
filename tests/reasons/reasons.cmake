# Reasons with the numbers that prove them.
set(reasons ${CMAKE_CURRENT_SOURCE_DIR}/reasons/reasons.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${reasons})
file(STRINGS ${reasons} reason_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(line ${reason_cases})
  string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
  add_test(NAME reasons.${case} COMMAND sh ${reasons} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(reasons.${case} PROPERTIES LABELS quick)
endforeach()
