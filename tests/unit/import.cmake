# sim/import: what a snapshot becomes, the pod grouper's table, and whole answers.
foreach(thing grouper grouper_kai kube kube_node kube_pod kube_queue own why)
  orr_unit_test(test_import_${thing} orr_import orr_policies)
  target_include_directories(test_import_${thing} PRIVATE ${PROJECT_SOURCE_DIR}/sim/import)
endforeach()
target_link_libraries(test_import_grouper_kai PRIVATE orr_traces)
target_compile_definitions(test_import_grouper_kai
  PRIVATE GROUPER_CASES="${CMAKE_CURRENT_SOURCE_DIR}/grouper")
target_compile_definitions(test_import_own
  PRIVATE IMPORT_README="${PROJECT_SOURCE_DIR}/sim/import/README.md")

# Conformance cases as snapshots; reads them through the conformance runner's own headers.
orr_unit_test(test_import_cases orr_import orr_policies orr_conform PkgConfig::CONFORM_FYAML)
target_sources(test_import_cases PRIVATE unit/case_export.c)
target_include_directories(test_import_cases
  PRIVATE ${PROJECT_SOURCE_DIR}/sim/import ${PROJECT_SOURCE_DIR}/sim/conform)
target_compile_definitions(test_import_cases
  PRIVATE ORR_TEST_CASES="${CMAKE_CURRENT_SOURCE_DIR}/conformance")
