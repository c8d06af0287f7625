# Whole runs whose books are recomputed after every cycle.
foreach(seed 5 6 7 8)
  add_test(NAME exec.books_${seed}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/books.sh $<TARGET_FILE:orrery> ${seed})
  set_tests_properties(exec.books_${seed} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()
# Small runs against times worked out by hand: rates follow from where jobs are and who is beside them, events, changes
# while a run goes on, pools that follow the jobs, failures and what they cost, rounds, and ends: a run ends with the
# last thing that happens, not with what is over already.
orr_cases(exec)
# Seconds each, of many rows or jobs; the small ones of each kind stay quick.
orr_full(exec.autoscale_many exec.changes_many exec.changes_gangs exec.autoscale_drain exec.endless_failures
  exec.changes_limit exec.changes_grow exec.changes_order exec.changes_quota exec.autoscale_follow exec.failures_availability)
