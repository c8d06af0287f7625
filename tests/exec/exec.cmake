# Whole runs whose books are recomputed after every cycle.
foreach(seed 5 6 7)
  add_test(NAME exec.books_${seed}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/exec/books.sh $<TARGET_FILE:orrery> ${seed})
  set_tests_properties(exec.books_${seed} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()
