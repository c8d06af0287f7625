#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# reasons.sh ORRERY NAME: why a job waits, with the numbers that prove it, worked out by hand.
# Each case_* function is one test.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run POLICY POOLS QUEUES [PARAMS]: replays trace.csv.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$2}}
queues: {$3}
workload: [{name: t, trace: trace.csv}]
policy: {name: $1, params: {${4:-}}}
YAML
    "$orrery" run run.yaml -o run.db --force --no-progress >out 2>err || fail "run failed"
}

# expect JOB COLUMNS VALUES: the job's first reason has these numbers.
expect() {
    got=$(sqlite3 run.db "SELECT $2 FROM v_reasons WHERE job = '$1' LIMIT 1")
    [ "$got" = "$3" ] || fail "$1: expected $3
got: $got"
}

case_no_capacity() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,3,q
b,1,10,2,3,q
CSV
    run fifo 'p: {nodes: 2, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
    expect b 'at_s, reason, asked, free, largest_hole, allowed, queue, ahead' '1.0|no-capacity|6.0|5.0|4.0|||'
}

case_fragmented() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,2,3,q
b,1,10,1,2,q
CSV
    for policy in fifo easy static kube kai; do
        run $policy 'p: {nodes: 2, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
        [ $policy != kube ] || continue # it spreads the pods as well
        expect b 'reason, asked, free, largest_hole' 'fragmented|2.0|2.0|1.0'
    done
}

case_head_of_line() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,4,q
b,1,10,1,4,q
c,2,10,1,1,q
CSV
    run fifo 'p: {nodes: 1, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
    expect c 'reason, ahead, free' 'head-of-line|b|0.0'
}

case_reserved() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,3,q
b,1,10,1,4,q
c,2,200,1,1,q
CSV
    run easy 'p: {nodes: 1, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
    expect c 'reason, ahead, free, largest_hole' 'reserved|b|1.0|1.0'
}

case_over_limit_of_an_ancestor() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,2,x
b,1,10,1,2,y
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'top: {gpu: [3, 1, 3]}, x: {parent: top, gpu: [2, 1, unlimited]}, y: {parent: top, gpu: [1, 1, 8]}'
    expect b 'reason, asked, allowed, held, queue, free' 'over-limit|2.0|3.0|2.0|top|6.0'
}

case_over_the_part_of_a_partition() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,2,x
b,1,10,1,1,x
c,1,10,1,3,x
CSV
    run static 'p: {nodes: 2, gpus: 4}' 'x: {gpu: [2]}, y: {gpu: [6]}'
    expect b 'reason, allowed, held, queue' 'over-limit|2.0|2.0|x'
    expect c 'reason, asked, allowed, queue' 'never|3.0|2.0|x'
}

case_over_a_namespace_quota() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,2,x
b,1,10,1,1,x
CSV
    run kube 'p: {nodes: 2, gpus: 4}' 'x: {gpu: [2, 1, 2]}'
    expect b 'reason, allowed, held, queue' 'over-limit|2.0|2.0|x'
}

case_non_preemptible_over_quota() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind
a,0,100,1,2,x,interactive
t,0,100,1,1,x,training
b,1,10,1,2,x,interactive
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'x: {gpu: [3, 1, unlimited]}'
    expect b 'reason, asked, allowed, held, queue' 'non-preemptible-over-quota|2.0|3.0|2.0|x'
}

case_topology() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,topology_required,node_selector
a,0,100,1,2,q,,kubernetes.io/hostname=n0001
b,0,100,1,1,q,,kubernetes.io/hostname=n0003
c,1,10,2,4,q,rack,
CSV
    run kai 'p: {nodes: 4, gpus: 4, rack_size: 2}' 'q: {gpu: [16, 1, unlimited]}' 'consolidation: false'
    expect c 'reason, free, largest_hole, level, domain, in_domain' 'topology|13.0|4.0|rack|1|7.0'
}

case_constrained() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,node_selector
a,0,100,1,3,q,pool=y
b,1,10,1,2,q,pool=y
CSV
    for policy in fifo kube kai; do
        run $policy 'x: {nodes: 3, gpus: 4}, y: {nodes: 1, gpus: 4}' 'q: {gpu: [16, 1, unlimited]}'
        expect b 'reason, asked, free, largest_hole' 'constrained|2.0|1.0|1.0'
    done
}

# How KAI's searches for victims ended, one way each.
outcomes() { expect "$1" 'consolidation, reclaim, preempt' "$2"; }

case_gates() {
    # x holds more than its fair share, so it may not reclaim; too few GPUs are free in all
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
y1,0,100,1,4,y
x1,0,100,1,4,x
x2,1,10,1,2,x
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'x: {gpu: [4, 0, unlimited]}, y: {gpu: [4, 0, unlimited]}'
    outcomes x2 'gate-failed|gate-failed|no-candidates'
}

case_no_candidates() {
    # who runs cannot be preempted: nobody can be moved or taken
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,preemptible
x1,0,100,2,3,x,false
y1,1,10,1,2,y,
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'x: {gpu: [6, 1, unlimited]}, y: {gpu: [2, 1, unlimited]}'
    outcomes y1 'no-candidates|no-candidates|no-candidates'
}

case_validator_rejected() {
    # for y to get 2 GPUs x would lose two jobs, and is over its quota by one
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
x1,0,100,1,1,x
x2,0,100,1,1,x
x3,0,100,1,1,x
y1,1,10,1,2,y
CSV
    run kai 'p: {nodes: 1, gpus: 3}' 'x: {gpu: [2, 1, unlimited]}, y: {gpu: [2, 1, unlimited]}'
    outcomes y1 'gate-failed|validator-rejected|no-candidates'
}

case_not_all_moved() {
    # b goes first and gets a place, but then a has none: not moved; preempt may take it
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,preemptible
a,0,100,2,3,q,training,
b,1,10,1,2,q,inference,true
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
    outcomes b 'simulation-failed|no-candidates|solved'
}

case_simulation_failed() {
    # two GPUs are free, one on each node. Whoever is moved is older and gets its place back first;
    # x is within its quota as y is, so it is also first when y reclaims
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,2,3,q
b,1,10,1,2,q
c,1,10,1,2,q
CSV
    run kai 'p: {nodes: 2, gpus: 4}' 'q: {gpu: [8, 1, unlimited]}'
    outcomes b 'simulation-failed|no-candidates|no-candidates'
    outcomes c 'like-failed|like-failed|no-candidates'
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
x1,0,100,1,4,x
y1,0,100,1,2,y
y2,1,10,1,2,y
CSV
    run kai 'p: {nodes: 1, gpus: 6}' 'x: {gpu: [4, 1, unlimited]}, y: {gpu: [4, 1, unlimited]}'
    outcomes y2 'gate-failed|simulation-failed|no-candidates'
}

case_filtered() {
    # all that others hold is less than one node's worth: no set of victims frees enough
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,preemptible
n,0,100,1,3,x,false
y1,0,100,1,1,y,
x1,1,10,1,4,x,
CSV
    run kai 'p: {nodes: 1, gpus: 4}' 'x: {gpu: [4, 1, unlimited]}, y: {gpu: [0, 1, unlimited]}' 'consolidation: false'
    outcomes x1 '|gate-failed|no-candidates'
    run kai 'p: {nodes: 1, gpus: 4}' 'x: {gpu: [8, 1, unlimited]}, y: {gpu: [0, 1, unlimited]}' 'consolidation: false'
    outcomes x1 '|filtered|no-candidates'
}

"case_$2"
