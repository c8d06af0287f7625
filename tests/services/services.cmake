# An inference service is one job whose pods come and go, under every policy, against times worked out by hand.
orr_cases(services)
add_test(NAME services.books COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/services/books.sh $<TARGET_FILE:orrery>)
set_tests_properties(services.books PROPERTIES LABELS full TIMEOUT 300) # a second
