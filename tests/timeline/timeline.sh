#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# timeline.sh ORRERY NAME: small runs under kai against start times worked out by hand.
# A cycle comes every second while something changed; what it evicts is free for the next one.
set -eu
orrery=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# run NODESxGPUS QUEUES PARAMS: replays trace.csv, prints job@start lines, evictions after a slash.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: ${1%x*}, gpus: ${1#*x}}}}
queues: {$2}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai, params: {$3}}
YAML
    "$orrery" run run.yaml -o run.db --force -q
    "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "@" $8 "/" $13; sep = " "} END {print line}'
}

expect() {
    [ "$got" = "$1" ] || { echo "expected: $1"; echo "got:      $got"; exit 1; }
}

case $2 in
reclaim_of_a_job_bound_in_the_same_cycle)
    # b2 is bound at 10 and taken again at 10; b1 is evicted at 10; both GPUs are a1's at 11.
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b1,0,1000,1,1,b
a1,10,100,1,2,a
b2,10,500,1,1,b
CSV
    got=$(run 1x2 'a: {gpu: [2, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}' '')
    expect "b1@0/1 a1@11/0 b2@111/0"
    ;;
one_cycle_a_second)
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b1,0,1000,1,2,b
a1,10,100,1,2,a
CSV
    got=$(run 1x2 'a: {gpu: [2, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}' '')
    expect "b1@0/1 a1@11/0"
    ;;
off_the_grid)
    # submitted between two points of the grid: decided at the next
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0.25,10,1,2,a
a2,3.5,10,1,2,a
CSV
    got=$(run 1x2 'a: {gpu: [2, 1, unlimited]}' '')
    expect "a1@1/0 a2@11/0"
    ;;
reclaim_min_runtime)
    # b1 started at 0 and is safe for an hour; evicted at 3600, a1 starts at 3601
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b1,0,36000,1,2,b
a1,10,100,1,2,a
CSV
    got=$(run 1x2 'a: {gpu: [2, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}' 'default_reclaim_min_runtime: 1h')
    expect "b1@0/1 a1@3601/0"
    ;;
preempt_min_runtime)
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind
t1,0,36000,1,2,a,training
i1,10,100,1,2,a,inference
CSV
    got=$(run 1x2 'a: {gpu: [2, 1, unlimited]}' 'default_preempt_min_runtime: 30m')
    expect "t1@0/1 i1@1801/0"
    ;;
gang_starts_together)
    # two pods of two GPUs: one node is free at 0, the other at 50; nothing is held in between
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,50,1,2,a
g1,1,10,2,2,a
a2,2,5,1,2,a
CSV
    got=$(run 2x2 'a: {gpu: [4, 1, unlimited]}' '')
    expect "a1@0/0 g1@50/0 a2@2/0"
    ;;
non_preemptible_within_quota)
    # interactive sessions may not be preempted, so only one fits the quota of two at a time
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind
i1,0,100,1,2,a,interactive
i2,1,100,1,2,a,interactive
t1,2,100,1,2,a,training
CSV
    got=$(run 2x2 'a: {gpu: [2, 1, unlimited]}' '')
    expect "i1@0/0 i2@100/0 t1@2/0"
    ;;
*) echo "no timeline $2"; exit 1 ;;
esac
