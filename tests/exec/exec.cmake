# Whole runs whose books are recomputed after every cycle.
foreach(seed 5 6 7 8)
  add_test(NAME exec.books_${seed}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/books.sh $<TARGET_FILE:orrery> ${seed})
  set_tests_properties(exec.books_${seed} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()
foreach(name aligned aligned_or_split contention elastic_speedup epochs epochs_evicted goodput misaligned no_such_profile
    spans time_sliced)
  add_test(NAME exec.rate_${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/rates.sh $<TARGET_FILE:orrery> ${name})
  set_tests_properties(exec.rate_${name} PROPERTIES LABELS quick)
endforeach()
foreach(name fail maintain drain gangs sharing names parts anew)
  add_test(NAME exec.events_${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/events.sh $<TARGET_FILE:orrery> ${name})
  set_tests_properties(exec.events_${name} PROPERTIES LABELS quick)
endforeach()
foreach(name quota static limit order rounds grow shrink gangs check many)
  add_test(NAME exec.changes_${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/changes.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR} ${name})
  set_tests_properties(exec.changes_${name} PROPERTIES LABELS quick)
endforeach()
foreach(name follow bounds needed choice reasons elastic vain failures drain many)
  add_test(NAME exec.autoscale_${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/autoscale.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR} ${name})
  set_tests_properties(exec.autoscale_${name} PROPERTIES LABELS quick)
endforeach()
foreach(name availability gangs racks stale)
  add_test(NAME exec.failures_${name}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/failures.sh $<TARGET_FILE:orrery> ${name})
  set_tests_properties(exec.failures_${name} PROPERTIES LABELS quick)
endforeach()
# Seconds each: many changes of the cluster; the small ones of each kind stay quick.
orr_full(exec.autoscale_many exec.changes_many exec.changes_gangs)
# Rounds, and ends: a run ends with the last thing that happens, not with what is over already.
orr_cases(exec)
