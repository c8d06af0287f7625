# Shards of a cluster and pods of other schedulers.
orr_cases(shards)
add_test(NAME shards.one_shard_alone_is_the_same
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/shards/alone.sh $<TARGET_FILE:orrery>)
set_tests_properties(shards.one_shard_alone_is_the_same PROPERTIES LABELS quick)
