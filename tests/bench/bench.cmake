# Not a test: its figures depend on the machine. See README.md.
add_executable(bench_victims EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/bench/victims.c)
target_link_libraries(bench_victims PRIVATE orr_kai)
