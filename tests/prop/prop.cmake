# What must hold whatever is decided, on random clusters and job mixes.
add_executable(test_kai_properties prop/test_kai_properties.c)
target_include_directories(test_kai_properties PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
target_link_libraries(test_kai_properties PRIVATE random_world orr_kai PkgConfig::CMOCKA)
add_test(NAME prop.kai COMMAND test_kai_properties)
set_tests_properties(prop.kai PROPERTIES LABELS quick)
add_test(NAME prop.kai_long COMMAND test_kai_properties 301 1000)
set_tests_properties(prop.kai_long PROPERTIES LABELS full) # the next 1000 worlds

# The same of Kueue's rules, on random cohort trees; and one cycle by a slow model.
foreach(test kueue_properties kueue_model)
  add_executable(test_${test} prop/test_${test}.c)
  target_include_directories(test_${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(test_${test} PRIVATE orr_kueue PkgConfig::CMOCKA)
endforeach()
target_sources(test_kueue_model PRIVATE prop/kueue_model.c)
add_test(NAME prop.kueue COMMAND test_kueue_properties)
add_test(NAME prop.kueue_model COMMAND test_kueue_model)
set_tests_properties(prop.kueue prop.kueue_model PROPERTIES LABELS quick)

# Every registered policy times every invariant of matrix.sql.
add_test(NAME prop.matrix COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/prop/matrix.sh $<TARGET_FILE:orrery> 1 2)
set_tests_properties(prop.matrix PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 3 s

# Opportunistic jobs in HiveD's cells, whom guaranteed ones do not notice.
add_test(NAME prop.opportunistic COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/prop/opportunistic.sh $<TARGET_FILE:orrery>)
set_tests_properties(prop.opportunistic PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 5 s

# Pods whose GPUs change while they run.
add_test(NAME prop.resize COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/prop/resize.sh $<TARGET_FILE:orrery>)
set_tests_properties(prop.resize PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 3 s

# Jobs that are suspended (PreemptMode=SUSPEND of slurm).
add_test(NAME prop.suspend COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/prop/suspend.sh $<TARGET_FILE:orrery>)
set_tests_properties(prop.suspend PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 6 s

# Devices and MIG instances of each profile, which stand in for nothing else.
add_test(NAME prop.mig_apart COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/prop/mig_apart.sh $<TARGET_FILE:orrery> 1 4)
set_tests_properties(prop.mig_apart PROPERTIES LABELS full ENVIRONMENT TMPDIR=${CMAKE_CURRENT_BINARY_DIR}) # 7 s

# Research policies, job by job, against a second program.
find_program(ORR_PYTHON3 python3)
if(ORR_PYTHON3)
  add_test(NAME prop.second COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/second.py $<TARGET_FILE:orrery> 1 25)
  add_test(NAME prop.second_kube COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/second_kube.py $<TARGET_FILE:orrery> 1 100)
  set_tests_properties(prop.second_kube PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 8 s
  set_tests_properties(prop.second PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 5 s
  add_test(NAME prop.second_slurm COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/second_slurm.py $<TARGET_FILE:orrery> 1 60)
  set_tests_properties(prop.second_slurm PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 6 s
  # Whole runs under kueue.
  add_test(NAME prop.second_kueue COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/second_kueue.py $<TARGET_FILE:orrery> 1 40)
  set_tests_properties(prop.second_kueue PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 5 s
  # The same where a pause loses work and a start takes time, and for gangs.
  add_test(NAME prop.second_turns COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/second_turns.py $<TARGET_FILE:orrery> 1 30)
  set_tests_properties(prop.second_turns PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 8 s
  # A run under kai against the same one with a cycle each second.
  add_test(NAME prop.each_second COMMAND ${ORR_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prop/each_second.py $<TARGET_FILE:orrery> 1 20)
  set_tests_properties(prop.each_second PROPERTIES LABELS full TIMEOUT 300 ENVIRONMENT "TMPDIR=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1") # 4 s
endif()
