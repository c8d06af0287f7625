# sim/exec against models that walk ms by ms.
orr_unit_test(test_latency_published orr_engine)
orr_unit_test(test_exec orr_engine)
orr_unit_test(test_account orr_engine orr_policies)
target_include_directories(test_account PRIVATE ${PROJECT_SOURCE_DIR}/sim/exec)
orr_unit_test(test_bug_note orr_study)
orr_unit_test(test_capacity_search orr_study)
orr_unit_test(test_study_many orr_study)
