# What is installed works from where it is.
orr_shell_cases(install install/install.sh ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/install)
orr_full(install.pages install.completion install.core) # 1 to 5 s: a page a verb, shells, a compiler a header
string(FIND "${CMAKE_C_FLAGS}" "-fsanitize" sanitized)
if(NOT sanitized EQUAL -1) # the archive then needs the same
  set_tests_properties(install.core PROPERTIES ENVIRONMENT "CORE_FLAGS=-fsanitize=address,undefined;CC=${CMAKE_C_COMPILER}")
endif()
