# Kinds of work: sessions that give up, deadlines, templates; scenarios/mixed.
orr_cases(kinds)
orr_full(kinds.mixed) # 2 s
