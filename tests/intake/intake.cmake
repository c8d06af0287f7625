# Other programs' records: maps on small tables, Slurm's output, the totals of public traces where they are at hand.
orr_cases(intake)
add_test(NAME intake.given COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/intake/given.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(intake.given PROPERTIES LABELS full TIMEOUT 300 SKIP_RETURN_CODE 77)
add_test(NAME intake.first_cycle COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/intake/first_cycle.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(intake.first_cycle PROPERTIES LABELS full TIMEOUT 900 SKIP_RETURN_CODE 77)
add_test(NAME intake.story COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/intake/story.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(intake.story PROPERTIES LABELS full TIMEOUT 300)
add_test(NAME intake.history COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/intake/history.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(intake.history PROPERTIES LABELS full TIMEOUT 300)
orr_full(intake.workload_filter) # 2 s
