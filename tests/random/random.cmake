# Random scenarios over all features, judged by everything that can: see README.md.
add_executable(draw random/draw.c random/draw_cluster.c random/draw_queues.c random/draw_kueue.c random/draw_course.c random/draw_work.c
  random/draw_trace.c random/draw_state.c random/draw_policy.c random/draw_run.c)
target_link_libraries(draw PRIVATE orr_core)
add_executable(undrawn random/undrawn.c)
target_include_directories(undrawn PRIVATE ${PROJECT_SOURCE_DIR}/sim/scenario)
target_link_libraries(undrawn PRIVATE orr_scenario)

# In pieces, so that they run side by side. More: sh tests/random/random.sh ORRERY DRAW FROM COUNT.
foreach(from 1 41 81 121)
  add_test(NAME random.seeds_${from} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/random/random.sh $<TARGET_FILE:orrery>
    $<TARGET_FILE:draw> ${from} 40)
  set_tests_properties(random.seeds_${from} PROPERTIES LABELS full TIMEOUT 600
    ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
endforeach()
add_test(NAME random.same_text COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/random/same_text.sh $<TARGET_FILE:draw>)
set_tests_properties(random.same_text PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 3 s
add_test(NAME random.every_key COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/random/every_key.sh $<TARGET_FILE:draw> $<TARGET_FILE:undrawn>)
set_tests_properties(random.every_key PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
orr_shell_cases(random random/found.sh $<TARGET_FILE:orrery>)
orr_shell_cases(random random/found_kai.sh $<TARGET_FILE:orrery>)
# Each runs, audits, recomputes, bundles and verifies its scenario, for 0.5 to 5 s: a few of them stay quick.
get_property(found DIRECTORY PROPERTY TESTS)
list(FILTER found INCLUDE REGEX "^random\\.")
list(REMOVE_ITEM found random.nobody_comes random.parts_that_hold_no_memory random.behind_one_that_gives_up
  random.held_back_until_too_late random.held_back_to_the_end)
orr_full(${found})
