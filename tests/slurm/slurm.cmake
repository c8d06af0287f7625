# What a real slurmctld decided (runs/README.md), under policy slurm.
set(slurm ${CMAKE_CURRENT_SOURCE_DIR}/slurm)
add_test(NAME slurm.runs COMMAND sh ${slurm}/runs.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm
  ${slurm}/runs ${slurm}/equal.txt)
add_test(NAME slurm.files COMMAND sh ${slurm}/files.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm_files
  ${slurm}/runs/15_qos_limits)
set_tests_properties(slurm.runs slurm.files PROPERTIES LABELS quick TIMEOUT 300)
