#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shards.sh ORRERY NAME: shards are scheduled apart, and foreign pods only take room.
# Each case_* function is one test.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run FILE [OPTIONS]: replays it; `got` gets job@start/nodes of every job.
run() {
    file=$1
    shift
    "$orrery" run "$file" -o run.db --force --no-progress --allow-loss "$@" >out 2>err || fail "run failed"
    got=$("$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "/" $14; sep = ";"} END {print line}')
}

expect() { [ "$got" = "$1" ] || fail "expected: $1
got:      $got"; }

# says TEXT: the last run's output has this line.
says() { grep -F -q -e "$1" out || { cat out; fail "not said: $1"; }; }

sql() {
    value=$(sqlite3 run.db "$1")
    [ "$value" = "$2" ] || fail "$1
expected: $2
got:      $value"
}

two_shards() { # POLICY
    cat <<YAML
cluster:
  pools:
    h: {nodes: 2, gpus: 4, shard: h100}
    a: {nodes: 1, gpus: 4, shard: a100}
queues:
  hq: {shard: h100, gpu: [8, 1, unlimited]}
  aq: {shard: a100, gpu: [4, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: $1
YAML
}

case_apart() {
    # three jobs of four GPUs in the smaller shard queue up there while the other has room
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,100,1,4,aq
a2,0,100,1,4,aq
h1,0,50,1,4,hq
CSV
    for policy in fifo easy static kube kai; do
        two_shards "$policy" >run.yaml
        run run.yaml
        expect "a1@0/a-0001:4;a2@100/a-0001:4;h1@0/h-0001:4"
    done
}

case_one_shard_alone_is_the_same() {
    # what a shard does is what it would do if it were the whole cluster
    awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,queue"
        for (i = 1; i <= 60; i++) {
            print "h" i "," i * 3 "," 40 + i % 17 "," 1 + i % 2 "," 1 + i % 3 ",hq" i % 3
            print "a" i "," i * 3 "," 90 + i % 5 ",1," 1 + i % 4 ",aq" i % 2 } }' >trace.csv
    pools_h='h: {nodes: 3, gpus: 4, shard: h100}'
    pools_a='a: {nodes: 2, gpus: 4, shard: a100}'
    queues_h='hq0: {shard: h100, gpu: [3, 1]}, hq1: {shard: h100, gpu: [6, 2]}, hq2: {shard: h100, gpu: [3, 1]}'
    queues_a='aq0: {shard: a100, gpu: [4, 1]}, aq1: {shard: a100, gpu: [2, 3]}'
    for policy in fifo easy static kube kai; do
        for part in h a b; do
            pools="$pools_h, $pools_a" queues="$queues_h, $queues_a"
            case $part in h) pools=$pools_h queues=$queues_h ;; a) pools=$pools_a queues=$queues_a ;; esac
            grep -E "^job|^[$([ $part = b ] && echo ha || echo $part)]" trace.csv >$part.csv
            cat >$part.yaml <<YAML
cluster: {pools: {$pools}}
queues: {$queues}
workload: [{name: t, trace: $part.csv}]
policy: $policy
YAML
            run $part.yaml
            "$orrery" export run.db jobs | awk -F, 'NR > 1 {gsub(/[a-z]-*00*/, "n", $14); print $1, $8, $9, $13}' |
                sort >$part.$policy
        done
        sort h.$policy a.$policy >alone
        cmp -s alone b.$policy || { diff alone b.$policy | head; fail "$policy: shards are not apart"; }
    done
}

case_a_policy_for_each() {
    # fifo does not let h2 pass the head of its line; kai fills the other shard as it can
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
h1,0,100,1,3,hq
h2,1,10,2,4,hq
h3,2,10,1,1,hq
a1,0,100,1,3,aq
a2,1,10,1,4,aq
a3,2,10,1,1,aq
CSV
    two_shards '[{name: kai, params: {k_value: 2}}, {shard: h100, name: fifo}]' >run.yaml
    run run.yaml
    expect "h1@0/h-0001:3;a1@0/a-0001:3;h2@100/h-0001:4 h-0002:4;a2@100/a-0001:4;h3@110/h-0001:1;a3@2/a-0001:1"
    sql "SELECT group_concat(name || ' ' || policy) FROM shard" 'h100 fifo,a100 kai'
    sql "SELECT policy FROM run" fifo+kai
    sql "SELECT count(*) FROM run WHERE policy_params LIKE '%a100.k_value=2%'" 1
    says 'policy fifo+kai'
    # the laws of each are its own: kube may hold half a gang, and says so
    two_shards '[{name: kai}, {shard: h100, name: kube}]' >run.yaml
    run run.yaml
    sql "SELECT DISTINCT reason FROM v_reasons WHERE job = 'h2'" gang-partial
}

case_reports() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
h1,0,100,2,4,hq
a1,0,50,1,2,aq
a2,0,50,1,4,aq
h2,100,1,1,1,hq
CSV
    two_shards fifo >run.yaml
    run run.yaml --json
    # the window is [0, 100]: h100 full all the time; a100 2 of 4 GPUs, then 4 of 4
    sql "SELECT label, value FROM metric WHERE scope = 'shard' AND name = 'gpu_occupancy'" 'shard=h100|1.0
shard=a100|0.75'
    sql "SELECT label, value FROM metric WHERE scope = 'shard' AND name = 'wait_max_s'" 'shard=h100|0.0
shard=a100|50.0'
    sql "SELECT value FROM metric WHERE scope = 'all' AND name = 'gpu_occupancy'" "$(awk 'BEGIN {printf "%.15g", 1100 / 1200}')"
    grep -q '"shards": \[' out || fail "no shards in JSON"
    sql "SELECT group_concat(value) FROM metric WHERE scope = 'shard' AND name = 'jobs'" '2.0,2.0'
}

case_fair_share_is_within_a_shard() {
    # hq1 waits for its share of eight GPUs; that aq has idle ones is no excess of anybody
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
h1,0,100,2,4,hq
h2,0,100,2,4,hr
h3,100,1,1,1,hr
CSV
    cat >run.yaml <<YAML
cluster: {pools: {h: {nodes: 2, gpus: 4, shard: h100}, a: {nodes: 10, gpus: 4, shard: a100}}}
queues:
  hq: {shard: h100, gpu: [4, 1, unlimited]}
  hr: {shard: h100, gpu: [4, 1, unlimited]}
  aq: {shard: a100, gpu: [40, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    run run.yaml
    sql "SELECT label, value FROM metric WHERE name = 'share_mean'" 'queue=hq,kind=unknown|4.0
queue=hr,kind=unknown|4.0'
    sql "SELECT label, value FROM metric WHERE name = 'share_deviation' AND scope = 'shard' LIMIT 1" 'shard=h100|0.5'
}

case_larger_than_its_shard() {
    cat >trace.csv <<CSV
job,submit_s,run_s,gpus,queue
h1,0,10,8,hq
a1,0,10,8,aq
CSV
    two_shards fifo >run.yaml
    run run.yaml
    expect "h1@0/h-0001:4 h-0002:4"
    grep -F -q 'job a1 asks 8 GPUs in 2 pods in shard "a100", which this cluster' err || fail "a1 is not rejected"
}

case_check_counts_quotas_by_shard() {
    two_shards fifo | sed 's/aq: {shard: a100, gpu: \[4/aq: {shard: a100, gpu: [5/' >run.yaml
    printf 'job,submit_s,run_s,gpus,queue\nh1,0,10,8,hq\n' >trace.csv
    "$orrery" check run.yaml >out 2>err && fail "check finds nothing"
    says 'the quotas in shard a100 sum to 5 GPUs, the shard has 4'
}

# ---- foreign pods ----

case_foreign_pods_take_room() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,cpu_milli
j1,0,10,1,2,q,1000
j2,0,10,1,1,q,1000
j3,0,10,1,1,q,1000
CSV
    for policy in fifo easy static kube kai; do
        cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4, cpu: 4, foreign: {gpus: 1, cpu: 1, pods: 1}}}}
queues: {q: {gpu: [3, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: $policy
YAML
        run run.yaml
        expect "j1@0/n0001:2;j2@0/n0001:1;j3@10/n0001:1"
        # the device that is theirs is never ours
        sql "SELECT count(*) FROM job WHERE devices & 1" 0
        sql "SELECT capacity_mgpu FROM run" 3000
    done
}

case_foreign_pods_lower_what_is_divided() {
    # six GPUs are left of eight: each of two equal queues is entitled to three, so b reclaims one
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,1000,1,1,a
a2,0,1000,1,1,a
a3,0,1000,1,1,a
a4,0,1000,1,1,a
b1,0,1000,1,1,b
b2,0,1000,1,1,b
b3,10,1000,1,1,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 4, foreign: {gpus: 1}}}}
queues: {a: {gpu: [0, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
    run run.yaml
    sql "SELECT sum(evictions) FROM job" 1
    sql "SELECT start_ms FROM job WHERE name = 'b3'" 11000
}

case_foreign_pods_leave_too_little() {
    printf 'job,submit_s,run_s,pods,gpus_per_pod\nbig,0,10,1,4\nok,0,10,1,3\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4, foreign: {gpus: 1}}}}
workload: [{name: t, trace: trace.csv}]
YAML
    run run.yaml
    expect "ok@0/n0001:3"
    grep -F -q 'job big asks 4 GPUs in 1 pods, which this cluster of 3 GPUs could not hold' err || fail "big is not rejected"
}

"case_$2"
