# Policies from outside: shared objects, child processes, and what they may not do.
function(orr_plugin name source)
  add_library(${name} MODULE ${source})
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_include_directories(${name}
    PRIVATE ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_SOURCE_DIR}/core/base/include
      ${PROJECT_SOURCE_DIR}/policies/include)
  target_compile_definitions(${name} PRIVATE ${ARGN})
endfunction()
orr_plugin(widest_first plugin/widest_first.c)
orr_plugin(bad plugin/bad.c)
orr_plugin(bad_contract plugin/bad.c OTHER_CONTRACT)
orr_plugin(bad_entry plugin/bad.c NO_ENTRY)
orr_plugin(bad_default plugin/bad.c BAD_DEFAULT)
orr_plugin(bad_row plugin/bad.c BAD_ROW=0)
orr_plugin(bad_row_far plugin/bad.c BAD_ROW=200)
orr_plugin(bad_name plugin/bad.c NAME="kai")
orr_plugin(bad_word plugin/bad.c NAME="a b")
orr_plugin(bad_constructor plugin/bad.c BAD_CONSTRUCTOR)
orr_plugin(bad_slots plugin/bad.c LAST_SLOTS)
orr_plugin(hooks plugin/hooks.c)
orr_plugin(hooks_contract plugin/hooks.c OTHER_CONTRACT)
orr_plugin(hooks_none plugin/hooks.c NO_HOOK)
orr_plugin(lost_work ${PROJECT_SOURCE_DIR}/sim/plugin/examples/lost_work.c)

add_executable(test_plugin plugin/test_plugin.c)
target_include_directories(test_plugin PRIVATE unit)
target_compile_definitions(test_plugin PRIVATE ORR_TEST_PLUGIN="$<TARGET_FILE:widest_first>")
target_link_libraries(test_plugin PRIVATE orr_core PkgConfig::CMOCKA ${CMAKE_DL_LIBS})
add_dependencies(test_plugin widest_first)
add_test(NAME unit.test_plugin COMMAND test_plugin)
add_test(NAME plugin.symbols
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/plugin/check_symbols.sh $<TARGET_FILE:widest_first>)
set_tests_properties(unit.test_plugin plugin.symbols PROPERTIES LABELS quick SKIP_RETURN_CODE 77)
foreach(script plugin child)
  orr_shell_cases(plugin plugin/${script}.sh $<TARGET_FILE:orrery> ${PROJECT_SOURCE_DIR}
    $<TARGET_FILE_DIR:widest_first>)
endforeach()
find_program(ORR_PYTHON3 python3)
if(ORR_PYTHON3)
  add_test(NAME plugin.learn COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/plugin/learn.py $<TARGET_FILE:orrery>
    ${CMAKE_CURRENT_SOURCE_DIR}/plugin/learn.yaml)
  set_tests_properties(plugin.learn PROPERTIES TIMEOUT 300
    ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/sim/plugin/examples;PYTHONDONTWRITEBYTECODE=1")
  orr_full(plugin.learn)
endif()
orr_full(plugin.child_never_ends plugin.child_hangs plugin.child_never_reads plugin.hooks_wrong) # 2 to 3 s, of which they wait most
