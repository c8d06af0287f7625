# Shards of a cluster and pods of other schedulers.
set(shards ${CMAKE_CURRENT_SOURCE_DIR}/shards/shards.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shards})
file(STRINGS ${shards} shard_cases REGEX "^case_[a-z_]+\\(\\)")
foreach(line ${shard_cases})
  string(REGEX REPLACE "^case_([a-z_]+).*" "\\1" case "${line}")
  add_test(NAME shards.${case} COMMAND sh ${shards} $<TARGET_FILE:orrery> ${case})
  set_tests_properties(shards.${case} PROPERTIES LABELS quick)
endforeach()
