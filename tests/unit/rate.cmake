# sim/exec and sim/service: links, all-reduce times, profiles, inference.
foreach(thing link published profile)
  orr_unit_test(test_rate_${thing} orr_rate)
endforeach()
orr_unit_test(test_rate_load orr_profiles)
orr_unit_test(test_service orr_service)
