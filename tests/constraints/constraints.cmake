# What rows say of nodes, levels and other jobs, under every policy.
foreach(policy fifo easy static kube kai)
  orr_shell_cases(constraints.${policy} constraints/constraints.sh $<TARGET_FILE:orrery> ${policy})
endforeach()
