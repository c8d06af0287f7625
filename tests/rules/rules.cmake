# Rules of queues for single jobs.
orr_cases(rules)
