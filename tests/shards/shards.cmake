# Shards of a cluster and pods of other schedulers.
orr_shell_cases(shards shards/shards.sh $<TARGET_FILE:orrery>)
