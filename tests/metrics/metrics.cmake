# Metrics made again from raw rows by SQL, and examples worked by hand.
set(recompute before when scaling ties rates fifo easy kai stories books mig elastic shards warmup drain at_once cut documented notices patience energy)
set(recompute_shares absent down jain never never_debt never_share own_others owners promises resources room debt shares spread)
foreach(script recompute recompute_shares)
  foreach(name ${${script}})
    add_test(NAME metrics.${name}
      COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/metrics/${script}.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR} ${name})
    set_tests_properties(metrics.${name} PROPERTIES LABELS quick TIMEOUT 300
      ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR})
  endforeach()
endforeach()
# Seconds each: a whole published log a policy. metrics.spread, .energy, .drain recompute smaller runs.
orr_full(metrics.fifo metrics.easy metrics.promises metrics.elastic metrics.rates metrics.warmup metrics.books
  metrics.shares metrics.patience metrics.cut metrics.kai metrics.notices metrics.stories metrics.scaling metrics.room
  metrics.resources metrics.at_once)
