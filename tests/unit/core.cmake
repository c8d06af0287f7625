# core/ and policies/: the ledger against an oracle, placement, parameters, policies by hand.
orr_unit_test(test_core_ledger_ops orr_core)
target_sources(test_core_ledger_ops PRIVATE unit/core_oracle.c)
foreach(thing ledger place placer cells param model constraints)
  orr_unit_test(test_core_${thing} orr_core)
endforeach()
foreach(policy contract conservative drf edf gittins fifo static easy kube las slurm srtf themis gavel pollux waiting)
  orr_unit_test(test_policy_${policy} orr_policies)
endforeach()
orr_full(unit.test_core_ledger_ops) # 3 s: random transactions against an oracle
