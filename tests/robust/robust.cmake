# What an attack on the program found: every file of cases/ is a test robust.NAME.
file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/robust/cases/*.sh)
foreach(path ${cases})
  get_filename_component(case ${path} NAME_WE)
  add_test(NAME robust.${case}
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/robust/run.sh $<TARGET_FILE:orrery> ${path})
  set_tests_properties(robust.${case} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 120)
endforeach()
# 1 to 5 s each.
orr_full(robust.spill robust.audit_restart robust.audit_at_once robust.overwrite_input robust.snapshot_memory robust.never_submitted robust.endless robust.init_trace_output robust.odd_results robust.hangup robust.nodes_in_a_row robust.signal_while_reading robust.closed_pipe)
