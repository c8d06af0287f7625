# Rules of queues for single jobs.
orr_shell_cases(rules rules/rules.sh $<TARGET_FILE:orrery>)
