# What a real slurmctld decided (runs/README.md), under policy slurm.
set(slurm ${CMAKE_CURRENT_SOURCE_DIR}/slurm)
orr_cases(slurm)
add_test(NAME slurm.runs COMMAND sh ${slurm}/runs.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm
  ${slurm}/runs ${slurm}/equal.txt)
add_test(NAME slurm.files COMMAND sh ${slurm}/files.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm_files
  ${slurm}/runs/15_qos_limits)
add_test(NAME slurm.squeue COMMAND sh ${slurm}/squeue.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm_squeue
  ${slurm}/runs ${slurm}/squeue.csv)
set_tests_properties(slurm.files slurm.squeue PROPERTIES LABELS quick TIMEOUT 300)
set_tests_properties(slurm.runs PROPERTIES TIMEOUT 300)
orr_full(slurm.runs) # 3 s
