# Start times worked out by hand, each a small run under kai.
foreach(name reclaim_of_a_job_bound_in_the_same_cycle one_cycle_a_second off_the_grid
             reclaim_min_runtime preempt_min_runtime gang_starts_together gang_loses_a_member
             non_preemptible_within_quota eviction_costs eviction_keeps_all checkpoint_on_evict
             elastic_grows_and_shrinks wasted_eviction usage_each_session usage_off usage_without_k
             usage_fetched_each_minute usage_of_one_device usage_tumbling usage_tumbling_from_a_date usage_cron
             usage_comes_to_an_end
             queue_depth project_level_fairness presets numa usage_of_all_shards strict_v017
             scheduler_time scheduler_time_of_evictions scheduler_time_published
             scheduler_time_refused)
  add_test(NAME timeline.${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/timeline/timeline.sh $<TARGET_FILE:orrery> ${name})
  set_tests_properties(timeline.${name} PROPERTIES LABELS quick)
endforeach()
