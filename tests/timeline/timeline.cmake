# Start times worked out by hand, each a small run under kai.
orr_cases(timeline)
add_test(NAME timeline.scheduler_time_published
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/timeline/published.sh $<TARGET_FILE:orrery>)
set_tests_properties(timeline.scheduler_time_published PROPERTIES LABELS quick)

orr_full(timeline.state_at_begin) # 4 s: nine policies
