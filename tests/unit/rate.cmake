# sim/exec: links, all-reduce times, profiles.
foreach(thing link published profile)
  orr_unit_test(test_rate_${thing} orr_rate)
endforeach()
orr_unit_test(test_rate_load orr_profiles)
