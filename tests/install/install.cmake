# What is installed works from where it is.
add_test(NAME install.works COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh ${CMAKE_BINARY_DIR}
  ${CMAKE_CURRENT_BINARY_DIR}/install ${PROJECT_SOURCE_DIR})
set_tests_properties(install.works PROPERTIES LABELS quick TIMEOUT 300)
string(FIND "${CMAKE_C_FLAGS}" "-fsanitize" sanitized)
if(NOT sanitized EQUAL -1) # the archive then needs the same
  set_tests_properties(install.works PROPERTIES ENVIRONMENT "CORE_FLAGS=-fsanitize=address,undefined;CC=${CMAKE_C_COMPILER}")
endif()
