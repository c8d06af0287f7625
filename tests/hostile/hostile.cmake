# Bad input and bad surroundings.
orr_shell_cases(hostile hostile/hostile.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/hostile
  ${PROJECT_SOURCE_DIR}/traces/data/philly.csv.gz)
