# core/base: text, names, memory, order, randomness.
foreach(thing text idmap heap sort rng digest mem status)
  orr_unit_test(test_base_${thing} orr_base)
endforeach()
orr_unit_test(test_traces_gen_rng orr_traces_gen)
