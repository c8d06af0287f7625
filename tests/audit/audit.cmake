# `orrery audit`: planted faults are found, published schedules get their verdicts.
add_executable(plant audit/plant.c)
target_link_libraries(plant PRIVATE orr_analysis)
add_test(NAME audit.planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/audit.sh $<TARGET_FILE:orrery>
  $<TARGET_FILE:plant> ${CMAKE_CURRENT_BINARY_DIR}/audit ${PROJECT_SOURCE_DIR})
set_tests_properties(audit.planted PROPERTIES LABELS quick TIMEOUT 600)

add_test(NAME audit.shares_of_others
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/others.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR})
set_tests_properties(audit.shares_of_others PROPERTIES LABELS quick TIMEOUT 300)

foreach(policy fifo easy static las kube)
  add_test(NAME audit.random_${policy}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/random.sh $<TARGET_FILE:orrery> 1 10 ${policy})
  set_tests_properties(audit.random_${policy} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()
foreach(from 1 20 61 121)
  add_test(NAME audit.random_${from}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/random.sh $<TARGET_FILE:orrery> ${from} 6)
  set_tests_properties(audit.random_${from} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()

add_test(NAME audit.random_19 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/random.sh $<TARGET_FILE:orrery> 19 1)
set_tests_properties(audit.random_19 PROPERTIES LABELS quick)

# orr_verdict_test(NAME LOG SCHEDULE RULES BROKEN)
function(orr_verdict_test name log schedule rules broken)
  set(backfill ${CMAKE_CURRENT_SOURCE_DIR}/peers/backfill)
  add_test(NAME audit.${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/audit/verdict.sh $<TARGET_FILE:orrery> ${broken}
    --trace ${backfill}/${log}.swf.gz --cluster 240x1 --split 1 --schedule ${backfill}/${schedule}.csv.gz --rules ${rules})
  set_tests_properties(audit.${name} PROPERTIES LABELS quick TIMEOUT 60)
endfunction()
orr_verdict_test(fcfs hpc2n-clean hpc2n-clean.fcfs fcfs 0)
orr_verdict_test(easy hpc2n-clean hpc2n-clean.easy easy 0)
orr_verdict_test(easy_exact hpc2n-exact hpc2n-exact.easy easy 0)
orr_verdict_test(easy_no_spare hpc2n-exact hpc2n-exact.easy-no-spare easy 0)
orr_verdict_test(easy_unguarded hpc2n-exact hpc2n-exact.easy-unguarded easy 250)
# Seconds each: 80 planted faults, and random worlds of kai beyond the first.
orr_full(audit.planted audit.shares_of_others audit.random_1 audit.random_20 audit.random_61 audit.random_121
  audit.random_las audit.random_static audit.random_easy audit.random_kube)
