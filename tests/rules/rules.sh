#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rules.sh ORRERY NAME: rules of queues for single jobs bite, under any policy, with a reason of their
# own. Each case_* function is one test.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run POLICY QUEUES [MORE]: replays trace.csv; `got` gets job@start-end of every job.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$pools}}
queues: {$2}
workload: [{name: t, trace: trace.csv}]
policy: {name: $1}
${3:-}
YAML
    "$orrery" run run.yaml -o run.db --force --no-progress --allow-loss >out 2>err || fail "run failed"
    got=$("$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9; sep = " "} END {print line}')
}

expect() { [ "$got" = "$1" ] || fail "$policy
expected: $1
got:      $got"; }

sql() {
    value=$(sqlite3 run.db "$1")
    [ "$value" = "$2" ] || fail "$policy: $1
expected: $2
got:      $value"
}

policies='fifo easy static kube kai'
pools='p: {nodes: 2, gpus: 4}'

case_largest_job() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
big,0,10,1,4,sub
ok,0,10,1,2,sub
free,0,10,1,4,other
CSV
    for policy in $policies; do # the rule of the parent holds below it
        run $policy 'top: {gpu: [8, 1], max_job_gpus: 2}, sub: {parent: top, gpu: [4, 1]}, other: {gpu: [4, 1]}'
        expect 'big@- ok@0-10 free@0-10'
    done
    sql "SELECT reason, asked, allowed, queue FROM v_reasons WHERE job = 'big'" 'largest-job|4.0|2.0|sub'
    sql "SELECT state FROM v_jobs WHERE job = 'big'" 'held back'
    sql "SELECT value FROM metric WHERE name = 'ruled_jobs' AND label = 'rule=largest-job'" 1.0
    "$orrery" check run.yaml >out 2>err && fail "check finds no problem"
    grep -F -q '1 jobs: largest-job' out || fail "check does not tell"
    # without the rule it runs
    run fifo 'top: {gpu: [8, 1]}, sub: {parent: top, gpu: [4, 1]}, other: {gpu: [4, 1]}'
    expect 'big@0-10 ok@0-10 free@10-20'
}

case_check_tells_what_cannot_be() { # quotas that no nodes hold, limits below what jobs ask
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,10,1,5,a
a2,0,10,2,5,a
b1,0,10,2,2,b
b2,0,10,4,2,b
c1,0,10,1,1,c
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues:
  top: {gpu: [0, 1, 12]}
  a: {gpu: [22, 1, 24]}
  b: {parent: top, gpu: [0, 1, 6]}
  c: {gpu: [4, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: kai
events: [{at: 5s, set: {queues.b.gpu.limit: 3}}]
YAML
    "$orrery" check run.yaml >out 2>err && fail "check finds no problem"
    sed -n 's/^problem *//p' out >found
    cat >wanted <<TEXT
run.yaml:4:6: queue a: quota 22, but pods of the sizes its jobs ask for fill no more than 20 of the GPUs there are
run.yaml:5:6: queue b: not all of its jobs can start: the largest asks for 8 GPUs at once, its limit is 6
run.yaml:9:45: from 00:00:05 on: queue b: none of its jobs can start: the smallest asks for 4 GPUs at once, its limit is 3
TEXT
    diff wanted found || fail "check says something else"
}

case_longest_session() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind
s1,0,36000,1,4,q,interactive
s2,0,3000,1,4,q,interactive
t1,0,36000,1,4,q,training
CSV
    for policy in fifo kube; do
        run $policy 'q: {gpu: [8, 1], max_session: 1h}'
        expect 's1@0-3600 s2@0-3000 t1@3000-39000'
    done
    sql "SELECT j.name, r.code FROM ruled JOIN job j ON j.id = job JOIN rule r ON r.id = rule" 's1|longest-session'
    policy=fifo
    run fifo 'q: {gpu: [8, 1]}'
    expect 's1@0-36000 s2@0-3000 t1@3000-39000'
}

case_idle_stop() {
    # busy 1000 s of 10000, then idle: stopped 500 s later; s2 is busy to within 500 s of its end
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,kind,busy
s1,0,10000,1,1,q,interactive,0.1
s2,0,10000,1,1,q,interactive,0.96
s3,0,10000,1,1,q,interactive,
t1,0,10000,1,1,q,training,0.1
s4,0,10000,1,1,q,interactive,0
CSV
    policy=fifo
    run fifo 'q: {gpu: [8, 1], stop_idle: 500s}'
    expect 's1@0-1500 s2@0-10000 s3@0-10000 t1@0-10000 s4@0-500'
    sql "SELECT count(*), min(code) FROM ruled JOIN rule ON id = rule" '2|idle-stop'
    # the shorter of the two rules is the one that bites
    run fifo 'q: {gpu: [8, 1], stop_idle: 500s, max_session: 20m}'
    expect 's1@0-1200 s2@0-1200 s3@0-1200 t1@0-10000 s4@0-500'
}

case_node_types() {
    pools='a: {nodes: 1, gpus: 4, gpu_model: A100}, h: {nodes: 1, gpus: 4, gpu_model: H100}'
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
j1,0,100,1,4,poor
j2,1,100,1,4,poor
CSV
    for policy in $policies; do
        run $policy 'poor: {gpu: [8, 1], node_types: [a]}'
        expect 'j1@0-100 j2@100-200'
        sql "SELECT DISTINCT nodes FROM v_jobs" a-0001:4
        sql "SELECT reason, asked, free FROM v_reasons WHERE job = 'j2'" 'node-types|4.0|0.0'
    done
    run kai 'poor: {gpu: [8, 1]}'
    expect 'j1@0-100 j2@1-101'
    # a job that fits on none of them is refused with its line
    printf 'job,submit_s,run_s,pods,gpus_per_pod,queue\nj1,0,1,1,4,poor\nj2,0,1,2,4,poor\n' >trace.csv
    run fifo 'poor: {gpu: [8, 1], node_types: [a]}'
    grep -F -q 'trace.csv:3: job j2 asks 8 GPUs in 2 pods on the 1 nodes of the types allowed to queue "poor"' err ||
        fail "j2 is not rejected"
}

case_max_runtime_ends() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
j1,0,100,1,4,q
j2,0,30,1,4,q
CSV
    for policy in $policies; do
        run $policy 'q: {gpu: [8, 1], max_runtime: 40s}'
        expect 'j1@0-40 j2@0-30'
    done
    sql "SELECT j.name, r.code FROM ruled JOIN job j ON j.id = job JOIN rule r ON r.id = rule" 'j1|max-runtime'
}

case_max_runtime_requeues() {
    # j1 works 40 s, is out of the way for 20 s, and comes behind j2; nothing is lost
    pools='p: {nodes: 1, gpus: 4}'
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
j1,0,100,1,4,q
j2,10,30,1,4,q
CSV
    for policy in $policies; do
        run $policy 'q: {gpu: [4, 1], max_runtime: 40s, requeue_delay: 20s}' 'execution: {on_evict: keep}'
        # [0, 40] j1, [40, 70] j2, [70, 110] j1, back at 130 for the last 20 s
        expect 'j1@0-150 j2@40-70'
        sql "SELECT group_concat(cause) FROM attempt WHERE cause IS NOT NULL" 'max runtime,max runtime'
        sql "SELECT at_s, reason FROM v_reasons WHERE job = 'j1' AND reason = 'requeue-delay'" '40.0|requeue-delay
110.0|requeue-delay'
        sql "SELECT evictions FROM job WHERE name = 'j1'" 2
        sql "SELECT value FROM metric WHERE name = 'lost_gpu_h' AND scope = 'all'" 0.0
    done
}

case_max_runtime_never_loops() {
    # what keeps nothing when evicted would never be done: it is ended instead
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
j1,0,100,1,4,q
CSV
    policy=kai
    run kai 'q: {gpu: [8, 1], max_runtime: 40s, requeue_delay: 20s}'
    expect 'j1@0-40'
    # nor would one that does nothing but start again
    run kai 'q: {gpu: [8, 1], max_runtime: 40s, requeue_delay: 20s}' 'execution: {on_evict: keep, restart: 40s}'
    expect 'j1@0-40'
    # a checkpoint each 30 s is enough: [0, 40] and [60, 100] keep 30 s each, [120, 160] does the rest
    run fifo 'q: {gpu: [8, 1], max_runtime: 40s, requeue_delay: 20s}' 'execution: {checkpoint: 30s}'
    expect 'j1@0-160'
}

case_errors() {
    printf 'job,submit_s,run_s,gpus\nj1,0,1,1\n' >trace.csv
    try() {
        printf 'cluster: {pools: {p: {nodes: 2, gpus: 4}}}\nqueues: {%s}\nworkload: [{name: t, trace: trace.csv}]\n' "$1" >run.yaml
        "$orrery" check run.yaml >out 2>err && fail "accepted: $1"
        grep -F -q "$2" err || fail "not said: $2"
    }
    try 'q: {node_types: [pp]}' 'run.yaml:2:27: unknown node type or pool "pp"'
    try 'q: {requeue_delay: 5m}' 'run.yaml:2:29: requeue_delay: the queue has no max_runtime'
    try 'q: {max_session: 0s}' 'run.yaml:2:27: max_session: must be more than 0'
    try 'q: {max_job_gpu: 3}' 'unknown key "max_job_gpu" (did you mean "max_job_gpus"?)'
}

"case_$2"
