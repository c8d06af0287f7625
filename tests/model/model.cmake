# An independent slow model of KAI's cycle, and the core compared with it.
add_library(slow_model STATIC
  model/shadow.c model/slow_actions.c model/slow_attempt.c model/slow_books.c model/slow_domain.c
  model/slow_fit.c model/slow_generate.c model/slow_heap.c model/slow_job.c model/slow_order.c
  model/slow_rules.c model/slow_search.c model/slow_share.c)
target_include_directories(slow_model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/model)
target_link_libraries(slow_model PUBLIC orr_session)

# Every cycle that runs in these programs is decided twice.
add_library(shadow_wrap OBJECT model/shadow_wrap.c)
target_link_libraries(shadow_wrap PUBLIC slow_model)
add_executable(test_shadow_cases model/test_shadow_cases.c $<TARGET_OBJECTS:shadow_wrap>)
target_include_directories(test_shadow_cases PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
target_compile_definitions(test_shadow_cases
  PRIVATE ORR_TEST_CASES="${CMAKE_CURRENT_SOURCE_DIR}/conformance/kai/cases")
target_link_libraries(test_shadow_cases PRIVATE slow_model orr_conform orr_kai PkgConfig::CMOCKA)
target_link_options(test_shadow_cases PRIVATE -Wl,--wrap=orr_kai_run)
add_test(NAME model.cases COMMAND test_shadow_cases)
set_tests_properties(model.cases PROPERTIES LABELS quick)

# The program itself, in whole runs.
add_executable(orrery_shadow $<TARGET_OBJECTS:orrery> $<TARGET_OBJECTS:shadow_wrap>)
target_link_libraries(orrery_shadow PRIVATE $<TARGET_PROPERTY:orrery,LINK_LIBRARIES> slow_model)
target_link_options(orrery_shadow PRIVATE -Wl,--wrap=orr_kai_run)
add_test(NAME model.runs
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/model/runs.sh $<TARGET_FILE:orrery_shadow>
          ${PROJECT_SOURCE_DIR})
set_tests_properties(model.runs PROPERTIES LABELS full) # 4 s

# Random clusters and job mixes, for the model and for properties.
add_library(random_world STATIC model/random_world.c model/random_jobs.c)
target_include_directories(random_world PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/model)
target_link_libraries(random_world PUBLIC orr_session)

add_executable(test_shadow_random model/test_shadow_random.c)
target_include_directories(test_shadow_random PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
target_link_libraries(test_shadow_random PRIVATE slow_model random_world orr_kai PkgConfig::CMOCKA)
add_test(NAME model.random COMMAND test_shadow_random)
set_tests_properties(model.random PROPERTIES LABELS quick)
add_test(NAME model.random_long COMMAND test_shadow_random 151 1350)
set_tests_properties(model.random_long PROPERTIES LABELS full) # the next 1350 worlds
