# Bad input and bad surroundings.
orr_cases(hostile)
orr_shell_cases(hostile hostile/hostile.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/hostile
  ${PROJECT_SOURCE_DIR}/traces/data/philly.csv.gz)
# Seconds each: runs and studies ended by a signal at many moments, a large file on a full disk.
orr_full(hostile.interrupt_studies hostile.interrupt_any_time hostile.interrupt_keep hostile.disk_full_large
  hostile.disk_full_small hostile.names_in_pages hostile.progress)
