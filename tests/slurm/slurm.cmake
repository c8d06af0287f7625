# What a real slurmctld decided (runs/README.md), under policy slurm.
set(slurm ${CMAKE_CURRENT_SOURCE_DIR}/slurm)
add_test(NAME slurm.runs COMMAND sh ${slurm}/runs.sh $<TARGET_FILE:orrery> ${CMAKE_CURRENT_BINARY_DIR}/slurm
  ${slurm}/runs ${slurm}/equal.txt)
set_tests_properties(slurm.runs PROPERTIES LABELS quick TIMEOUT 300)
