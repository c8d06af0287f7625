# What must hold whatever is decided, on random clusters and job mixes.
add_executable(test_kai_properties prop/test_kai_properties.c)
target_include_directories(test_kai_properties PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
target_link_libraries(test_kai_properties PRIVATE random_world orr_kai PkgConfig::CMOCKA)
add_test(NAME prop.kai COMMAND test_kai_properties)
set_tests_properties(prop.kai PROPERTIES LABELS quick)
