# Schedules that other programs computed: every job must start when it starts there.
set(peers ${CMAKE_CURRENT_SOURCE_DIR}/peers)
set(peers_work ${CMAKE_CURRENT_BINARY_DIR}/peers)

# orr_peer_test(NAME SCRIPT ARGUMENTS...): tests/peers/SCRIPT as the test peers.NAME.
function(orr_peer_test name script)
  add_test(NAME peers.${name} COMMAND sh ${peers}/${script} $<TARGET_FILE:orrery> ${peers_work} ${ARGN})
  set_tests_properties(peers.${name} PROPERTIES LABELS quick TIMEOUT 300)
endfunction()

# orr_backfill_test(NAME LOG SCHEDULE NUMBERS OPTIONS...): 240 interchangeable processors.
function(orr_backfill_test name log schedule numbers)
  orr_peer_test(backfill.${name} starts.sh ${peers}/backfill/${schedule}.csv.gz "${numbers}"
    --trace ${peers}/backfill/${log}.swf.gz --cluster 240x1 --split 1 ${ARGN})
endfunction()

orr_backfill_test(fcfs hpc2n-clean hpc2n-clean.fcfs
  "jobs=3145,finished=3145,wait_mean_s=5627.882989,wait_max_s=78517,bsld_mean=47.405454,makespan_s=5309576"
  --policy fifo)
orr_backfill_test(easy hpc2n-clean hpc2n-clean.easy
  "jobs=3145,finished=3145,wait_mean_s=3547.939587,wait_max_s=81059,bsld_mean=17.062949,makespan_s=5282045"
  --policy easy)
orr_backfill_test(easy_exact hpc2n-exact hpc2n-exact.easy
  "jobs=3145,finished=3145,wait_mean_s=3463.240064,wait_max_s=80073,bsld_mean=16.004757" --policy easy)
orr_backfill_test(easy_unguarded hpc2n-exact hpc2n-exact.easy-unguarded
  "jobs=3145,finished=3145" --policy easy --param variant=unguarded)
orr_backfill_test(easy_no_spare hpc2n-exact hpc2n-exact.easy-no-spare
  "jobs=3145,finished=3145" --policy easy --param variant=no_spare)
orr_peer_test(backfill.micro micro.sh ${peers}/backfill/micro)

orr_peer_test(philly3d.fifo philly3d.sh ${peers}/philly3d ${peers}/philly3d/fifo.csv.gz
  5979.928 2791.820 339936 --policy fifo)
orr_peer_test(philly3d.sjf philly3d.sh ${peers}/philly3d ${peers}/philly3d/sjf.csv.gz
  5412.922 2224.814 347720 --policy fifo --param order=shortest)
orr_peer_test(philly3d.srtf srtf.sh ${peers}/philly3d ${peers}/philly3d/srtf.csv.gz
  5243.44095 1672.1677 348657 --policy srtf)

orr_peer_test(phillygang.fifo starts.sh ${peers}/phillygang/fifo.csv.gz
  "jobs=1511,wait_mean_s=173219.008,wait_max_s=705835,makespan_s=7934420"
  --trace ${peers}/phillygang/trace.csv.gz --cluster 20x8 --policy fifo)
orr_peer_test(phillygang.sjf starts.sh ${peers}/phillygang/sjf.csv.gz
  "jobs=1511,wait_mean_s=32747.218,wait_max_s=1988766,makespan_s=7934420"
  --trace ${peers}/phillygang/trace.csv.gz --cluster 20x8 --policy fifo --param order=shortest)

set(tiresias ${peers}/tiresias)
orr_peer_test(tiresias.half_load tiresias.sh ${tiresias} 0.5 2091.49 "jobs=80,finished=80")
orr_peer_test(tiresias.load tiresias.sh ${tiresias} 1.0 4038.18 "jobs=160,finished=160,jct_mean_s=3469.694,evictions=43")

# Fragmentation as pods come, over the places that five policies chose.
add_executable(peer_fgd peers/fgd.c)
target_link_libraries(peer_fgd PRIVATE orr_engine m)
foreach(policy fgd bestfit dotprod gpupacking gpuclustering)
  add_test(NAME peers.fgd.${policy} COMMAND sh ${peers}/fgd.sh $<TARGET_FILE:peer_fgd> ${peers}/fgd ${policy})
endforeach()
# ... and one device of one place changed must be noticed: it is taken already, or the curve differs.
add_test(NAME peers.fgd.notices COMMAND sh ${peers}/fgd.sh $<TARGET_FILE:peer_fgd> ${peers}/fgd fgd "^1080,0$" "1080,1")
foreach(policy fgd bestfit dotprod gpupacking gpuclustering notices)
  set_tests_properties(peers.fgd.${policy} PROPERTIES LABELS quick TIMEOUT 300)
endforeach()
set_tests_properties(peers.fgd.notices PROPERTIES PASS_REGULAR_EXPRESSION "unusable; published|impossible place")

# The same pods as a run: each goes where the simulator of the authors puts it, and as much is allocated on three seeds.
set(fgd ${PROJECT_SOURCE_DIR}/scenarios/paper/fgd ${peers}/fgd)
foreach(pair fgd:fgd bestfit:best-fit dotprod:dot-product gpupacking:packing gpuclustering:clustering)
  string(REPLACE ":" ";" names ${pair})
  list(GET names 0 policy)
  foreach(seed 42 43 44)
    orr_peer_test(fgd.run.${policy}_${seed} fgd_run.sh ${fgd} ${names} ${seed})
  endforeach()
endforeach()
orr_peer_test(fgd.run.random fgd_random.sh ${fgd} 87.07 88.03 1 2 3)
orr_peer_test(fgd.run.notices fgd_run.sh ${fgd} fgd best-fit 42)
set_tests_properties(peers.fgd.run.notices PROPERTIES PASS_REGULAR_EXPRESSION "pod [0-9]+: node.*at 130 %: 93.130 % allocated, published 95.29")

# One pool two ways: one node of all GPUs, and nodes of one GPU with jobs split into pods of one.
set(philly ${PROJECT_SOURCE_DIR}/traces/data/philly.csv.gz)
set(counts_2490 "events=164494,distinct_times=151282,queue_len_max=0,makespan_s=9408754,wait_mean_s=0")
set(counts_1000 "events=164494,distinct_times=151317,queue_len_max=258,wait_mean_s=18.3")
set(counts_600 "events=164494,distinct_times=153983,queue_len_max=6138,wait_mean_s=92867.9")
foreach(gpus 2490 1000 600)
  orr_peer_test(counts.${gpus}_one_node counts.sh ${philly} 1x${gpus} "${counts_${gpus}}")
  orr_peer_test(counts.${gpus}_nodes_of_one counts.sh ${philly} ${gpus}x1 "${counts_${gpus}}" --split 1)
endforeach()

# More seeds and sizes of what stays quick with one: half a second to two each.
set(more philly3d.srtf backfill.micro tiresias.load tiresias.notices counts.notices fgd.run.random fgd.run.notices)
foreach(gpus 2490 1000 600)
  list(APPEND more counts.${gpus}_nodes_of_one)
endforeach()
list(APPEND more counts.2490_one_node counts.600_one_node)
foreach(seed 42 43 44)
  foreach(policy fgd dotprod gpupacking gpuclustering bestfit)
    list(APPEND more fgd.run.${policy}_${seed})
  endforeach()
endforeach()
list(REMOVE_ITEM more fgd.run.bestfit_42)
list(TRANSFORM more PREPEND peers.)

# The comparison itself: another policy's schedule and a wrong number must be noticed.
orr_backfill_test(notices_starts hpc2n-clean hpc2n-clean.easy "jobs=3145" --policy fifo)
set_tests_properties(peers.backfill.notices_starts PROPERTIES
  PASS_REGULAR_EXPRESSION "job [0-9]+ starts at [0-9]+ s, expected [0-9]+ s.*[0-9]+ differ")
orr_peer_test(counts.notices counts.sh ${philly} 1x2490 "events=164494,distinct_times=151283")
set_tests_properties(peers.counts.notices PROPERTIES
  PASS_REGULAR_EXPRESSION "distinct_times is 151282, expected 151283")
orr_peer_test(tiresias.notices tiresias.sh ${tiresias} 0.5 2091.49 "jobs=80" --set execution.startup=29s)
set_tests_properties(peers.tiresias.notices PROPERTIES
  PASS_REGULAR_EXPRESSION "job [^ ]+ took [0-9]+ s, expected [0-9]+ s.*[0-9]+ differ")
orr_full(${more})
