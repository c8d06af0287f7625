# Studies from the command line: several runs, or a run beside another.
foreach(name bundle calibrate ci compare cycles decide explain figures forecast gate growth init json killed metrics openmetrics perfetto replicas report report_window schedule sweep tables terminal tune unjudged whatif)
  add_test(NAME study.${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/study/${name}.sh $<TARGET_FILE:orrery>
    ${CMAKE_CURRENT_BINARY_DIR}/study ${PROJECT_SOURCE_DIR})
  set_tests_properties(study.${name} PROPERTIES LABELS quick TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()
# Each figure and total of six scenarios, in two parts that last alike.
add_test(NAME study.totals COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/study/totals.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/study ${PROJECT_SOURCE_DIR} evictions failures)
add_test(NAME study.totals_others COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/study/totals.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/study_others ${PROJECT_SOURCE_DIR} foreign rounds idle elastic services)
set_tests_properties(study.totals study.totals_others PROPERTIES LABELS quick TIMEOUT 300 SKIP_RETURN_CODE 77)
# A run held at random times goes on in a forked process.
add_executable(fork_times study/fork_times.c)
target_link_libraries(fork_times PRIVATE orr_study)
add_test(NAME study.fork COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/study/fork.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/study ${PROJECT_SOURCE_DIR} $<TARGET_FILE:fork_times> $<TARGET_FILE:draw>)
# Its own slurmctld and two slurmd, where they are installed.
add_test(NAME study.slurm COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/study/slurm.sh $<TARGET_FILE:orrery>
  ${CMAKE_CURRENT_BINARY_DIR}/study ${PROJECT_SOURCE_DIR})
set_tests_properties(study.fork study.slurm PROPERTIES LABELS full TIMEOUT 300 SKIP_RETURN_CODE 77)
orr_cases(study)
# Seconds each: many runs. Numbers of each are checked in unit tests; perfetto and init stay quick.
orr_full(study.growth study.calibrate study.ci study.compare study.explain study.figures study.forecast study.gate study.json study.json_fails study.json_results study.json_scenarios study.report study.report_window study.tables study.totals study.totals_others study.tune study.unjudged study.whatif
  study.killed study.replicas study.sweep study.bundle study.capacity study.display_names study.terminal study.cycles study.decide study.blame study.faults study.openmetrics)
