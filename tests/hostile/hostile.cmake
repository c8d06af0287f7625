# Bad input and bad surroundings, one test a case_* function of hostile.sh.
set(hostile ${CMAKE_CURRENT_SOURCE_DIR}/hostile/hostile.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${hostile})
file(STRINGS ${hostile} hostile_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(line ${hostile_cases})
  string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
  add_test(NAME hostile.${case} COMMAND sh ${hostile}
    $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/hostile
    ${PROJECT_SOURCE_DIR}/traces/data/philly.csv.gz ${case})
  set_tests_properties(hostile.${case} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
