# Style as tests; 77 means that a tool is absent.
foreach(check includes headers words sql sql_in_c counts readmes)
  add_test(NAME tidy.${check}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tidy/${check}.sh ${PROJECT_SOURCE_DIR})
endforeach()
add_test(NAME tidy.format COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tidy/format.sh ${PROJECT_SOURCE_DIR}
  ${CMAKE_CURRENT_BINARY_DIR}/format.stamp)
add_test(NAME tidy.symbols
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tidy/symbols.sh $<TARGET_FILE:orrery-core>)
get_property(queries GLOBAL PROPERTY ORR_QUERIES)
add_test(NAME tidy.queries COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tidy/queries.sh ${PROJECT_SOURCE_DIR} ${queries})
add_test(NAME tidy.labels COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tidy/labels.sh ${CMAKE_CURRENT_BINARY_DIR}/labels.txt)
set_tests_properties(tidy.includes tidy.headers tidy.format tidy.words tidy.sql tidy.sql_in_c tidy.counts tidy.readmes tidy.symbols tidy.labels tidy.queries
  PROPERTIES LABELS quick SKIP_RETURN_CODE 77)
orr_full(tidy.headers) # 2 s
