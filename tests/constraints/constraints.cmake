# What rows say of nodes, levels and other jobs, under every policy.
orr_cases(constraints)
