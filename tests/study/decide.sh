#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery schedule` under policies of runs: what the run of the same state decides first is what it says, slurm tells
# priorities and plans, and watching changes nothing.
#
#   decide.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
command -v jq >/dev/null || exit 77

cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 4, gpus: 4, cpu: 8, names: [n1, n2, n3, n4]}}}
workload: [{name: w, trace: jobs.csv}]
begin: 0s
horizon: 1h
policy: {name: slurm, params: {slurm_conf: "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nPartitionName=p Nodes=ALL Default=YES\n"}}
YAML
# a needs all nodes when r1 has ended by its limit, at 1150 s; c ends before that, b and d do not.
cat >jobs.csv <<'CSV'
job,submit_s,run_s,pods,cpu_milli,gpus_per_pod,time_limit_s,user,sbatch,running_since_s,running_on
r1,-100,900,2,1000,4,1200,u1,,-50,n1 n2
a,-40,600,4,1000,4,600,u2,,,
b,-30,600,1,1000,4,3600,u2,,,
c,-20,300,1,1000,2,600,u3,,,
d,-10,300,1,1000,4,6000,u3,--nodes=1,,
CSV
"$orrery" schedule s.yaml --json >slurm.json
[ "$(jq -c '[.decisions[] | [.decision, .action, .job, .nodes]]' slurm.json)" = '[["start","backfill","c","n3"]]' ] || fail "decided: $(cat slurm.json)"
# By hand: size (n/N + c/C)/2 = (1/4 + 4/32)/2 of 1000, cut, and (1/4 + 1/32)/2; planned when the last limit ends that must.
[ "$(jq -c '[.waiting[] | [.job, .priority, .planned_s, .planned_nodes]]' slurm.json)" = \
    '[["a",187,1150,"n1, n2, n3, n4"],["b",140,1740,"n3"],["d",140,1740,"n4"]]' ] || fail "plans: $(jq -c .waiting slurm.json)"
"$orrery" schedule s.yaml >out
grep -q '^start  *backfill  *c  *default  *1  *n3 ' out || fail "text: $(cat out)"
grep -q '^a .*planned for 00:19:10 on n1, n2, n3, n4$' out || fail "plan: $(cat out)"

# Every policy of runs says what its run does at that time, of a scenario and of a snapshot.
for policy in fifo easy conservative las srtf gittins drf kube; do
    "$orrery" run s.yaml --policy $policy --no-progress --quiet --force --check-books -o r.db
    "$orrery" schedule s.yaml --policy $policy --json | jq -r '.decisions[] | select(.decision == "start") | .job' | sort >told
    sqlite3 r.db "SELECT name FROM job WHERE start_ms = 0 ORDER BY name" >ran
    cmp -s told ran || fail "$policy: told $(cat told), ran $(cat ran)"
    "$orrery" schedule "$source/scenarios/snapshot/two-queues.yaml" --policy $policy >out || fail "$policy of a snapshot"
    grep -q 'count with 1h from now on' out || fail "$policy: what it assumes"
done
"$orrery" schedule s.yaml --policy fifo --now 30m >out
grep -q '^at 00:30:00: 4 nodes' out || fail "later: $(cat out)"
! "$orrery" schedule s.yaml --policy fifo --now 2026-01-01T00:00:00Z 2>err || fail 'a date without a calendar'
grep -q -- '--now 2026.*which this run does not have' err || fail "$(cat err)"

# Nothing looks at a job any more that the cycle evicted: why it waits names that.
cat >evicts.yaml <<'YAML'
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {x: {gpu: [0, 1, unlimited]}, y: {gpu: [4, 1, unlimited]}}
workload: [{name: w, trace: evicts.csv}]
begin: 0s
horizon: 1h
policy: kai
YAML
printf 'job,submit_s,run_s,gpus_per_pod,queue,running_since_s,running_on\no,-100,900,4,x,-50,n0001\np,-10,900,2,y,,\n' >evicts.csv
"$orrery" schedule evicts.yaml --json >evicts.json
[ "$(jq -c '[.waiting[] | [.job, .reason, .why]]' evicts.json)" = \
    '[["o","evicted","it was evicted in this cycle: reclaim for p"],["p","pipelined","its GPUs are being freed"]]' ] || fail "evicted: $(cat evicts.json)"

[ "$(jq -c '[.decisions[] | [.decision, .action, .job]]' evicts.json)" = '[["evict","reclaim","o"]]' ] || fail "who evicts: $(cat evicts.json)"

# e starts with three of its pods by allocate, and preempt makes room for the fourth.
sed 's/evicts.csv/grows.csv/' evicts.yaml >grows.yaml
printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,priority,running_since_s,running_on\no,-100,900,1,1,1,y,50,-50,n0001\ne,-10,900,4,1,1,y,60,,\n' >grows.csv
"$orrery" schedule grows.yaml --json >grows.json
[ "$(jq -c '[.decisions[] | [.decision, .action, .job, .nodes]]' grows.json)" = '[["start","allocate","e","n0001 x3"],["evict","preempt","o",""]]' ] || fail "who starts: $(cat grows.json)"

! "$orrery" schedule --policy fifo missing.yaml 2>err || fail 'a file that is not there'
grep -q 'missing.yaml: No such file' err || fail "a file that is not there: $(cat err)"

# Who watches sees all plans, not only those that keep somebody from starting; that changes no decision.
"$orrery" run s.yaml --no-progress --quiet -o plain.db
"$orrery" run s.yaml --no-progress --quiet --trace-cycles 1..1000000 -o told.db >told.jsonl
[ "$(sqlite3 plain.db 'SELECT digest FROM run')" = "$(sqlite3 told.db 'SELECT digest FROM run')" ] || fail 'watching changes decisions'
[ "$(jq -s '[.[] | select(.event == "job" and .result == "planned" and .planned_s != null)] | length' told.jsonl)" -gt 0 ] || fail 'no plan told'

printf 'decided\n'
