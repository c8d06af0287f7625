# The runner of cases itself: it notices what does not hold.
orr_cases(runner)
file(GLOB wrong CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/runner/wrong/*.case)
foreach(file ${wrong})
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME runner.wrong_${name} COMMAND run_case $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR} ${file})
  set_tests_properties(runner.wrong_${name} PROPERTIES LABELS quick WILL_FAIL TRUE)
endforeach()
