# Generated workloads and templates, through the program.
foreach(story mmc md1 loop templates trace fit service mixed)
  add_test(NAME generate.${story}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/generate/generate.sh $<TARGET_FILE:orrery> ${story}
      ${PROJECT_SOURCE_DIR}/scenarios)
  set_tests_properties(generate.${story} PROPERTIES LABELS quick)
endforeach()
# Seconds each: mean waits against queueing theory, and a week of everything.
orr_full(generate.mmc generate.md1 generate.loop generate.mixed)
