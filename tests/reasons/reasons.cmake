# Reasons with the numbers that prove them.
orr_shell_cases(reasons reasons/reasons.sh $<TARGET_FILE:orrery>)
