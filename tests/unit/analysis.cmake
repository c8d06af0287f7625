# Tests of analysis/: views and figures, on invented results files.
pkg_check_modules(ORR_FIXTURE_SQLITE REQUIRED IMPORTED_TARGET sqlite3)
add_custom_command(
  OUTPUT fixture_schema.c
  COMMAND ${CMAKE_COMMAND} -DIN=${PROJECT_SOURCE_DIR}/sim/store/schema.sql
          -DOUT=${CMAKE_CURRENT_BINARY_DIR}/fixture_schema.c -DNAME=fixture_schema
          -DHEADER=orrery/base/units.h -P ${PROJECT_SOURCE_DIR}/analysis/sql/embed_text.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/sim/store/schema.sql
          ${PROJECT_SOURCE_DIR}/analysis/sql/embed_text.cmake
  VERBATIM)
add_library(orr_analysis_fixture STATIC
  unit/analysis_fixture.c ${CMAKE_CURRENT_BINARY_DIR}/fixture_schema.c)
target_include_directories(orr_analysis_fixture PUBLIC unit)
target_link_libraries(orr_analysis_fixture
  PUBLIC orr_views orr_base PkgConfig::ORR_FIXTURE_SQLITE)
add_executable(analysis_draw EXCLUDE_FROM_ALL unit/analysis_draw.c)
target_link_libraries(analysis_draw PRIVATE orr_analysis orr_analysis_fixture)

orr_unit_test(test_analysis_views orr_analysis_fixture)
target_compile_definitions(test_analysis_views
  PRIVATE ANALYSIS_README="${PROJECT_SOURCE_DIR}/analysis/README.md")
orr_unit_test(test_analysis_plot orr_analysis orr_analysis_fixture)
set_tests_properties(unit.test_analysis_plot PROPERTIES SKIP_RETURN_CODE 77)
orr_full(unit.test_analysis_plot) # gnuplot draws every figure
orr_unit_test(test_analysis_names orr_analysis)
orr_unit_test(test_analysis_paired orr_analysis)
target_link_libraries(test_analysis_paired PRIVATE m)
orr_unit_test(test_analysis_gate orr_analysis)
target_link_libraries(test_analysis_gate PRIVATE m)
orr_long_test(test_analysis_gate 200)
orr_full(unit.test_analysis_paired unit.test_analysis_gate) # a second each: trials of statistics
