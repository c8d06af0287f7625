#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery export R.db openmetrics`: valid text, KAI's names, the numbers of the series; held against
# promtool too where there is one.
#
#   openmetrics.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

valid() { # FILE
    awk -f "$source/tests/study/openmetrics.awk" "$1" || fail "$1 is not OpenMetrics"
    if command -v promtool >/dev/null 2>&1; then
        # KAI's own name for memory is one that promtool would spell out
        grep -v kai_queue_fair_share_memory_gb "$1" | promtool check metrics || fail "promtool does not take $1"
        promtool tsdb create-blocks-from openmetrics "$1" blocks >/dev/null || fail "promtool does not import $1"
    fi
}
same() { # SERIES SQL: the sum of a series' values is that of the query
    made=$(awk -v name="$1" 'index($0, name) == 1 { sum += $(NF - 1) } END { printf "%.6f", sum }' run.txt)
    wanted=$(sqlite3 run.db "SELECT printf('%.6f', ($2))")
    [ "$made" = "$wanted" ] || fail "$1 adds up to $made, not $wanted"
}

# A tree of queues, one with a hard name, and evictions.
awk 'BEGIN {
    print "job,submit_s,run_s,pods,gpus_per_pod,queue"
    for (i = 0; i < 12; i++) print "a" i ",0,5000,1,4,a"
    for (i = 0; i < 6; i++) print "\"b\\\"\"" i "\",600,500,1,4,b"
}' >trace.csv
cat >run.yaml <<'YAML'
start: 2026-03-01T00:00:00Z
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues:
  top: {gpu: [32, 1, unlimited]}
  a: {parent: top, gpu: [16, 1, unlimited]}
  b: {parent: top, gpu: [16, 1, unlimited]}
  "c \\ \"quoted\"": {gpu: [unlimited, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
"$orrery" run run.yaml -q --no-progress -o run.db >out 2>&1 || fail "$(cat out)"
"$orrery" export run.db openmetrics >run.txt
valid run.txt
same 'kai_queue_allocated_gpus{queue_name="a"' "SELECT sum(allocated_mgpu) / 1000 FROM series AS s JOIN queue AS q ON q.id = s.queue WHERE q.name = 'a'"
same 'kai_queue_allocated_gpus{queue_name="top"' "SELECT sum(allocated_mgpu) / 1000 FROM series AS s JOIN queue AS q ON q.id = s.queue WHERE q.parent IS NOT NULL"
same "orrery_queue_pending_jobs{" "SELECT sum(pending_jobs * (1 + (q.parent IS NOT NULL))) FROM series AS s JOIN queue AS q ON q.id = s.queue"
[ "$(grep -c '^kai_pod_group_evicted_pods_total{.*action="reclaim"' run.txt)" = \
    "$(sqlite3 run.db "SELECT count(*) FROM (SELECT DISTINCT job, at_ms FROM eviction WHERE cause = 'reclaim')")" ] || fail "evictions"
grep -q '^kai_pod_group_evicted_pods_total' run.txt || fail "nothing was evicted"
grep -q '^kai_scenarios_simulation_by_action{action="reclaim"} [1-9]' run.txt || fail "no scenarios of reclaim"
grep -q '^kai_queue_info{queue_name="a",parent_queue="top"} 1 ' run.txt || fail "no parent"
grep -q '^kai_queue_deserved_gpus{queue_name="top"} 32 ' run.txt || fail "no quota"
! grep '^kai_queue_deserved_gpus' run.txt | grep -q quoted || fail "no quota is a quota"
# A quota that an event changes is another one from then on.
cat >changed.yaml <<'YAML'
extends: run.yaml
events: [{at: 100s, set: {queues.a.gpu.quota: 20}}]
YAML
"$orrery" run changed.yaml -q --no-progress -o changed.db >out 2>&1 || fail "$(cat out)"
"$orrery" export changed.db openmetrics | sed -n 's/^kai_queue_deserved_gpus{queue_name="a"} \([0-9]*\) .*/\1/p' >deserved
sqlite3 changed.db "SELECT CASE WHEN at_ms < 100000 THEN 16 ELSE 20 END FROM (SELECT DISTINCT at_ms FROM series) ORDER BY at_ms" >wanted
cmp -s deserved wanted && [ "$(sort -u deserved | wc -l)" = 2 ] || fail "a quota that changes: $(head -3 deserved wanted)"
grep -qF 'queue_name="c \\ \"quoted\""' run.txt || fail "a hard name is not escaped"

# What kai takes for fair of CPU and memory, where queues divide it; no family of what they do not.
! grep -q kai_queue_fair_share_cpu run.txt || fail "shares of what nobody divides"
cat >trace.csv <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,mem_mib,queue
a,0,200,1,1,8000,16384,a
b,100,100,1,1,4000,16384,b
CSV
cat >run.yaml <<'YAML'
cluster: {pools: {p: {nodes: 1, gpus: 8, cpu: 8, memory: 64GB}}}
queues: {a: {gpu: [4, 1, unlimited], cpu: [8, 1, unlimited], memory: [8GB, 1, 16GB]}, b: {gpu: [4, 1, unlimited], cpu: [2, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
"$orrery" run run.yaml -q --no-progress --force -o run.db
"$orrery" export run.db openmetrics >run.txt
valid run.txt
grep '^kai_queue_fair_share_cpu_cores{queue_name="b"}' run.txt >cores
printf 'kai_queue_fair_share_cpu_cores{queue_name="b"} %s\n' '0 0' '2 100' '0 200' | diff cores - || fail "shares of CPU"
grep -q '^kai_queue_fair_share_memory_gb{queue_name="a"} 16 0$' run.txt || fail "shares of memory"

# Parts of a second, before the clock's 0 too, and a job that is evicted twice in one.
awk 'BEGIN {
    print "job,submit_s,run_s,gpus_per_pod,queue"
    print "a,-0.5,100.25,4,a\nb,1.7,10.777,4,b\nc,2.2,10.1,4,b"
}' >trace.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 4}}}\nqueues: {a: {gpu: [0, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}\nworkload: [{name: t, trace: trace.csv}]\npolicy: kai\n' >parts.yaml
"$orrery" run parts.yaml -q --no-progress --force -o run.db
sqlite3 run.db "INSERT INTO eviction SELECT job, at_ms + 400, gone_ms, cause, pods, whole, for_job, used, moved FROM eviction LIMIT 1"
"$orrery" export run.db openmetrics >run.txt
valid run.txt
grep -q ' -1$' run.txt || fail "times before 0 are not rounded down"
grep -q '^kai_pod_group_evicted_pods_total.* 2 [0-9]*$' run.txt || fail "two evictions in a second are not one sample"
awk '!/^#/ && $NF !~ /^-?[0-9]+$/' run.txt | grep -q . && fail "a time has parts of a second"

# Evictions add up job by job; a story without a calendar.
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" -q --no-progress --force -o run.db
"$orrery" export run.db openmetrics >run.txt
valid run.txt
[ "$(grep -c ' 2 [0-9]*$' run.txt)" -ge 1 ] || fail "a counter does not count"
code=0
"$orrery" export run.yaml openmetrics >out 2>err || code=$?
{ [ "$code" = 65 ] && ! grep -q EOF out; } || fail "not results, and it ends well"

# The checker itself.
for change in '$d' 's/ 1 0$/ 1/' 's/^\(kai_queue_info.*\)$/\1\n\1/' 's/"product"/"a" "b"/' 's/^# HELP kai_queue_deserved/# HELP x/'; do
    sed "$change" run.txt >broken.txt
    cmp -s broken.txt run.txt && fail "$change changes nothing"
    ! awk -f "$source/tests/study/openmetrics.awk" broken.txt >out || fail "$change is not told"
done
printf 'exported\n'
