# Fuzz targets. With ORR_FUZZ (clang, preset fuzz) they are libFuzzer programs to run by hand:
#   build/fuzz/tests/fuzz_traces -max_total_time=60 DIR tests/fuzz/corpus/traces
# (new inputs go into DIR). Without it the same code replays its corpus as a test, and the neighbours of each input:
# cut short, and with one bit turned.

# orr_fuzz_target(fuzz_THING LIBRARIES...): fuzz/fuzz_THING.c with the inputs in fuzz/corpus/THING.
function(orr_fuzz_target name)
  string(REGEX REPLACE "^fuzz_" "" thing ${name})
  if(ORR_FUZZ)
    add_executable(${name} fuzz/${name}.c)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} fuzz/${name}.c fuzz/fuzz_replay.c)
    add_test(NAME fuzz.${thing} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${thing})
    set_tests_properties(fuzz.${thing} PROPERTIES LABELS quick)
  endif()
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()

orr_fuzz_target(fuzz_traces orr_traces)
orr_fuzz_target(fuzz_scenario orr_scenario)
orr_fuzz_target(fuzz_import orr_import)
orr_fuzz_target(fuzz_admission orr_import)
orr_fuzz_target(fuzz_conform orr_conform)
orr_fuzz_target(fuzz_gate orr_scenario)
orr_fuzz_target(fuzz_table orr_traces)
orr_fuzz_target(fuzz_results orr_analysis)
orr_fuzz_target(fuzz_archive orr_traces)
orr_fuzz_target(fuzz_schedule orr_study)
orr_fuzz_target(fuzz_node_type orr_scenario)
orr_fuzz_target(fuzz_json_lines orr_import)
target_include_directories(fuzz_json_lines PRIVATE ${PROJECT_SOURCE_DIR}/sim/import)
orr_fuzz_target(fuzz_intake orr_intake)
target_include_directories(fuzz_intake PRIVATE ${PROJECT_SOURCE_DIR}/sim/intake)
orr_fuzz_target(fuzz_slurm orr_intake)
target_include_directories(fuzz_slurm PRIVATE ${PROJECT_SOURCE_DIR}/sim/intake)
orr_fuzz_target(fuzz_history orr_intake)
target_include_directories(fuzz_history PRIVATE ${PROJECT_SOURCE_DIR}/sim/intake ${PROJECT_SOURCE_DIR}/sim/import)
target_link_libraries(fuzz_history PRIVATE orr_import orr_policies)
