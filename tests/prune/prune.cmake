# Searches of policy kai with and without what prunes them.
orr_shell_cases(prune prune/prune.sh $<TARGET_FILE:orrery>)
orr_full(prune.drawn prune.drawn_flat prune.few_nodes prune.popped_from_last prune.plain prune.departments prune.deep prune.limits prune.cpu prune.cpu_short prune.elastic
  prune.fractions prune.kinds prune.topology prune.models prune.mixed prune.everything)
