# Kinds of work: sessions that give up, deadlines, templates; scenarios/mixed.
orr_cases(kinds)
add_test(NAME kinds.mixed
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kinds/mixed.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(kinds.mixed PROPERTIES LABELS full TIMEOUT 300) # 6 s
