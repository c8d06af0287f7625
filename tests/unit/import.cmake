# sim/import: what a snapshot becomes, the pod grouper's table, and whole answers.
foreach(thing grouper)
  orr_unit_test(test_import_${thing} orr_import orr_policies)
  target_include_directories(test_import_${thing} PRIVATE ${PROJECT_SOURCE_DIR}/sim/import)
endforeach()
