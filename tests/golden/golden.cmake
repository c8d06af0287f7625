# Digests and numbers that must not change unnoticed; golden/golden.sh ORRERY --update renews them.
set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden.sh)
foreach(case philly_fifo philly_backfill philly_crowded philly_shortest philly_mixed philly_copies
    hpc2n_fcfs hpc2n_easy hpc2n_easy_nodes gangs_easy first kueue_philly kueue_mixed kueue_fair kueue_preempt
    kueue_ideal kueue_everything slurm_gangs slurm_multifactor)
  add_test(NAME golden.${case} COMMAND sh ${golden} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(golden.${case} PROPERTIES LABELS quick TIMEOUT 300
    ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
endforeach()
orr_full(golden.philly_copies golden.kueue_philly golden.kueue_fair) # a second each

# The decisions of policy kai: the trials of searches that were refuted unseen must change none.
foreach(case kai_philly kai_factory kai_mixed kai_plain kai_departments kai_deep kai_limits kai_cpu
    kai_cpu_short kai_elastic kai_fractions kai_kinds kai_topology kai_everything)
  add_test(NAME golden.${case} COMMAND sh ${golden} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(golden.${case} PROPERTIES LABELS full TIMEOUT 600
    ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
endforeach()
