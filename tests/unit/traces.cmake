# traces/: rows, the three formats, and the files they come in.
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
orr_unit_test(test_traces_workload orr_traces)
orr_unit_test(test_traces_csv orr_traces)
orr_unit_test(test_traces_native orr_traces)
orr_unit_test(test_traces_philly orr_traces)
orr_unit_test(test_traces_swf orr_traces)
orr_unit_test(test_traces_source orr_traces PkgConfig::LIBARCHIVE)
target_compile_definitions(test_traces_source
  PRIVATE "ORR_TRACES_DATA=\"${CMAKE_CURRENT_SOURCE_DIR}/../traces/data\"")
orr_unit_test(test_traces_write orr_traces)
orr_unit_test(test_traces_durations orr_traces)
orr_unit_test(test_traces_gen orr_traces_gen)
orr_unit_test(test_traces_classes orr_traces_gen)
orr_full(unit.test_traces_source) # 3 s: archives of every kind
