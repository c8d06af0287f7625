# Reasons with the numbers that prove them.
orr_cases(reasons)
