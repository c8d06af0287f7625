#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# found.sh ORRERY CASE: what random scenarios found under other policies than kai, or whatever the policy is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/found_case.sh"

# Kueue counts a pod that asks for memory of a device as what it is of the largest one, also where it holds more of a smaller.
case_memory_of_the_largest() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {small: {nodes: 1, gpus: 2, gpu_memory: 40Gi}, large: {nodes: 1, gpus: 2, gpu_memory: 80Gi}}}
queues: {q: {gpu: [1, 1, 1]}}
workload: [{name: t, trace: t.csv}]
policy: kueue
events: [{at: 1s, fail: pool/large, for: 50s}]
Y
    printf 'job,submit_s,run_s,gpu_memory_mib,queue\na,5,100,30720,q\nb,5,100,30720,q\n' >0/t.csv
    right 0
    has "sum(held) > 1000 FROM (SELECT sum(mgpu) AS held FROM v_placements)"
}

# Pods that ask for memory of GPUs hold parts of devices: they count in what queues hold.
case_memory_is_held() {
    mkdir 0
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 2, gpu_memory: 40Gi}}}\nworkload: [{name: t, trace: t.csv}]\n' >0/s.yaml
    printf 'job,submit_s,run_s,gpu_memory_mib\na,0,100,20400\nb,100,1,20400\n' >0/t.csv
    right 0
    # 20400 of 40900 MiB (hundreds of them count) are 0.498 of a device, in thousandths
    has "abs(value - 0.249) < 1e-9 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    has "value >= 0 FROM metric WHERE name = 'gpu_goodput' AND scope = 'all'"
}

# A pod for memory beside pods for whole GPUs: what the job asked is not what it holds.
case_memory_beside_whole() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 2, gpu_memory: 40Gi}}}
templates: {t: {roles: {a: {gpus_per_pod: 1}, b: {gpu_memory: 10Gi}}}}
workload: [{name: t, trace: t.csv}]
policy: kube
Y
    printf 'job,submit_s,run_s,template\na,0,100,t\n' >0/t.csv
    right 0
}

# The first row waits for the results of a later one: the run begins before anybody submits.
case_first_waits_for_results() {
    mkdir 0
    printf 'cluster: {pools: {p: {nodes: 2, gpus: 2}}}\nworkload: [{name: t, trace: t.csv}]\n' >0/s.yaml
    printf 'job,submit_s,run_s,gpus_per_pod,after,think_s\na,0,10,1,b,5\nb,100,10,1,,\n' >0/t.csv
    right 0
    has "begin_ms = 0 AND (SELECT min(submit_ms) FROM job) = 100000 FROM run"
}

# A node of which foreign pods hold devices leaves: only its others leave the capacity.
case_foreign_pods_leave() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 4, foreign: {gpus: 3}}}}
workload: [{name: t, trace: t.csv}]
events: [{at: 10s, set: {cluster.pools.p.nodes: 1}}, {at: 20s, fail: n0001, for: 10s}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod\na,0,5,1\nb,100,5,1\n' >0/t.csv
    right 0
    has "abs(value * 3600 - 110) < 1e-6 FROM metric WHERE name = 'capacity_gpu_h' AND scope = 'all'"
    has "abs(value - 100 / 110.0) < 1e-9 FROM metric WHERE name = 'gpu_available' AND scope = 'all'"
}

# The name of a pool may have a slash, also where an event names a node.
case_pool_with_slash() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {a/b: {nodes: 2, gpus: 1}, c: {nodes: 1, gpus: 1}}}
workload: [{name: t, trace: t.csv}]
events: [{at: 5s, fail: a/b-0002, for: 5s}, {at: 20s, drain: pool/a/b, for: 1s}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod\na,0,50,1\n' >0/t.csv
    right 0
    has "count(*) = 1 FROM outage WHERE node = 1 AND from_ms = 5000"
}

# A backlog says how long a job runs, and epochs of a profile do: not both (it never ended).
case_backlog_with_epochs() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
profiles: {f: {kind: table, table: steps.csv, reference: {placement: 1}, epochs: epochs.csv}}
templates: {t: {roles: {w: {pods: 2, min: 1, gpus_per_pod: 1}}, autoscale: {role: w, backlog: [2x44s, 2x32s]}, profile: f}}
workload: [{name: t, trace: t.csv}]
Y
    printf 'placement,step_s\n1,1\n2,1.5\n' >0/steps.csv
    printf 'end,gain\n76,2.5\n' >0/epochs.csv
    printf 'job,submit_s,run_s,template,gpus_per_pod\na,0,,t,\nb,0,5,,1\n' >0/t.csv
    right 0
    has "rows_rejected = 1 AND rejected_shown LIKE '%its template has a backlog%epochs of profile f%' FROM input"
}

# Where all places are equally good the run had settled at once.
case_settled_at_once() {
    mkdir 0
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 3}}}\nwarmup: detect\nworkload: [{name: t, trace: t.csv}]\n' >0/s.yaml
    printf 'job,submit_s,run_s,gpus_per_pod\na,0,400,2\nb,191,1,0\n' >0/t.csv
    right 0
    has "warmup = 'detected' AND window_start_ms = 0 FROM run"
}

# A job that wants less than it holds makes nobody's share: time counts from when another waits.
case_holds_more_than_wanted() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}}
templates: {t: {roles: {h: {cpu: 1}, w: {pods: 3, min: 1, gpus_per_pod: 1}}, autoscale: {role: w, backlog: [1x9s, 2x30s], slots: 1, idle: 60s}}}
workload: [{name: t, trace: t.csv}]
policy: kube
Y
    printf 'job,submit_s,run_s,template,gpus_per_pod,queue\na,0,,t,,a\nb,50.25,50,,3,b\n' >0/t.csv
    right 0
    has "min(pending_mgpu) < 0 FROM series WHERE queue = 0"
}

# A fraction of 1 is a whole device: no part of one is asked for.
case_fraction_of_one() {
    mkdir 0
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 2}}}\nworkload: [{name: t, trace: t.csv}]\n' >0/s.yaml
    printf 'job,submit_s,run_s,gpu_fraction\na,0,9,1\nb,3,9,1\n' >0/t.csv
    right 0
    has "count(*) = 0 FROM metric WHERE name = 'gpu_touched'"
    sed -i 's/,1$/,0.5/' 0/t.csv
    right 0
    has "count(*) = 1 FROM metric WHERE name = 'gpu_touched'"
}

# A pod that a running job lost before its gang was whole is no part of what its attempt held as it began.
case_lost_before_the_start() {
    mkdir 0
    cat >0/s.yaml <<'Y'
horizon: 60s
cluster: {pools: {p: {nodes: 2, gpus: 2}, q: {nodes: 1, gpus: 4}}}
workload: [{name: t, trace: t.csv}]
policy: kube
events: [{at: 10s, fail: p-0002, for: 200s}]
Y
    cat >0/t.csv <<'T'
job,submit_s,run_s,pods,gpus_per_pod
a,0,20,1,4
b,0,40,1,2
x,0,50,1,1
c,1,100,2,1
T
    right 0
}

# The first in line waits for slots of pods, of which the only node has seven, while GPUs are idle.
case_pod_slots() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 8, pods: 7}}}
workload: [{name: t, trace: t.csv}]
policy: fifo
Y
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,60,3,1\nb,26,6,1,1\nc,27,10,4,1\n' >0/t.csv
    right 0
    has "pods = 7 FROM node"
    has "start_ms = 32000 FROM job WHERE name = 'c'"
}

# Where foreign pods leave each node one GPU, GPUs are counted over nodes, but not for a pod that wants two of one (audit: head).
case_two_of_one_gpu_each() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 1}, q: {nodes: 3, gpus: 2, foreign: {gpus: 1}}}}
workload: [{name: t, trace: t.csv, keep_impossible: true}]
Y
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,10,1,1\nb,5,10,2,2\nc,6,10,1,1\n' >0/t.csv
    right 0
    has "count(*) = 1 FROM job WHERE name = 'b' AND start_ms IS NULL"
}

# One that waited for the end of a job of 0 s comes behind those of its instant, which goes on to hold later (audit: promise).
case_comes_behind_its_instant() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
workload: [{name: t, trace: t.csv}]
policy: easy
Y
    printf 'job,submit_s,run_s,gpus,after\na,0,50,1,\nx,6,10,2,j\nj,18,0,1,\ny,18,10,2,\n' >0/t.csv
    right 0
    has "group_concat(name) = 'y,x' FROM (SELECT name FROM job WHERE mgpu = 2000 ORDER BY start_ms)"
}

# Nothing that could start ever comes: the run ends before its window does, and what was not seen has no means.
case_nobody_comes() {
    mkdir 0
    cat >0/s.yaml <<'Y'
horizon: 100s
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [0, 1, unlimited], max_job_gpus: 1}}
workload: [{name: w, queue: q, service: {gpus_per_pod: 1, pods: 2, replicas: 0..1, rate: {file: t.csv}, service_time: 1s, concurrency: 1}}]
Y
    printf 'time_s,rate\n0,1\n100,0\n200,1\n' >0/t.csv
    right 0
    has "window_end_ms = end_ms FROM run"
    has "count(*) = 0 FROM metric WHERE name = 'startable_gang_least_gpus' AND value > 1"
}

# What foreign pods hold of CPU and memory is no part of what queues divide, nor of what could be held.
case_foreign_memory() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 4, cpu: 8, memory: 10Gi, foreign: {cpu: 2, memory: 4Gi}}}}
queues: {a: {gpu: [2, 1, unlimited], memory: [2Gi, 1, unlimited]}, b: {gpu: [2, 1, unlimited], memory: [2Gi, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: fifo
Y
    printf 'job,submit_s,run_s,gpus_per_pod,cpu_milli,mem_mib,queue\na,0,100,1,3000,4096,a\nb,0,100,1,1000,4096,b\nc,100,1,1,0,0,b\n' >0/t.csv
    right 0
    has "mem_bytes = 4294967296 AND cpu_milli = 2000 FROM foreign_pods"
    has "value = 0.5 FROM metric WHERE name = 'cpu_occupancy'"
    # each is owed 3 GiB of 6: a holds one more, b waits for 4
    has "abs(value - 4 / 12.0) < 1e-9 FROM metric WHERE name = 'mem_share_deviation' AND scope = 'all'"
}

# All devices of a shard are foreign pods': what its queues are owed nothing could pay.
case_all_foreign() {
    mkdir 0
    cat >0/s.yaml <<'Y'
horizon: 100s
cluster: {pools: {p: {nodes: 1, gpus: 2, foreign: {gpus: 2}, shard: a}, q: {nodes: 1, gpus: 2, shard: b}}}
queues: {x: {shard: a, gpu: [2, 1, unlimited]}, y: {shard: b}}
workload: [{name: t, trace: t.csv, keep_impossible: true}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod,queue\na,0,9,2,x\nb,0,90,2,y\n' >0/t.csv
    right 0
    has "abs(value - 0.05) < 1e-9 FROM metric WHERE name = 'quota_debt_impossible_gpu_h' AND scope = 'all'"
}

# Of kinds of pods that are equally frequent the first shape is typical, whatever model it asks for.
case_typical_ties() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 4, gpu_model: A100}, q: {nodes: 1, gpus: 4, gpu_model: T4}}}
workload: [{name: t, trace: t.csv}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod,pods,gpu_model\na,0,100,1,12,\na2,0,100,1,7,\nb,1,100,2,1,\nc,2,100,2,1,T4\n' >0/t.csv
    right 0
}

# Shards have one clock: beside a policy that acts in rounds the first in line of another shard waits for the next.
case_rounds_of_another_shard() {
    mkdir 0 1
    cat >base.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 1, shard: s}, q: {nodes: 1, gpus: 1, shard: t}}}
queues: {a: {shard: s}, b: {shard: t}}
workload: [{name: t, trace: t.csv, queue: a}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod\na,1,60,1\n' >0/t.csv
    { cat 0/t.csv; echo b,2,60,1; } >1/t.csv
    for policy in $("$orrery" policies | sed -n '/^$/q;s/ .*//p'); do
        length=$("$orrery" policies "$policy" | sed -n 's/^runs in rounds of \([0-9]*\) s.*/\1/p')
        [ -n "$length" ] || continue
        { cat base.yaml; echo "policy: {name: easy, shards: {t: {name: $policy}}}"; } >0/s.yaml
        right 0
        has "start_ms = $length * 1000 FROM job"
        echo "$policy" >>in_rounds
    done
    grep -q las in_rounds && grep -q gittins in_rounds || fail "las and gittins do not act in rounds"
    # beside one that does not, the second waits for the first alone, and is judged
    { cat base.yaml; echo "policy: {name: easy, shards: {t: {name: srtf}}}"; } >1/s.yaml
    right 1
    "$orrery" audit r.db >audit.out
    grep -q '^head  *[1-9][0-9]*  *0 ' audit.out || fail "no first in line is examined: $(grep '^head' audit.out)"
}

# The same beside a plug-in, whose rounds results do not record.
case_rounds_of_a_plug_in() {
    cat >child.sh <<'E'
read -r line; echo '{"protocol": 1, "name": "mine", "round_s": 30}'
while read -r line; do case $line in *'"cycle"'*) echo '{"end": true}' ;; esac; done
E
    cat >s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 1, shard: s}, q: {nodes: 1, gpus: 1, shard: t}}}
queues: {a: {shard: s}, b: {shard: t}}
workload: [{name: t, trace: t.csv, queue: a}]
policy: {name: easy, shards: {t: {name: "exec:sh child.sh"}}}
Y
    printf 'job,submit_s,run_s,gpus_per_pod\na,1,60,1\n' >t.csv
    "$orrery" run s.yaml -o r.db -q
    has "start_ms = 30000 FROM job"
    "$orrery" audit r.db >out || fail "not kept"
}

# Under pollux a job whose pods change in number went to the emptiest nodes whatever `placement` has: beyond its queue's cells.
case_cells_of_elastic() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 2}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: {name: pollux, params: {placement: hived}}
Y
    printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue\ne,0,100,4,3,1,a\nf,50,100,3,2,1,b\n' >0/t.csv
    right 0
    has "group_concat(start_ms IS NULL) = '1,0' FROM job"
}

# Under fifo each virtual cluster is a line of its own, so that no start hangs on the order of rows of two queues.
case_ties_of_cells() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 2}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: {name: fifo, params: {placement: hived}}
Y
    printf 'job,submit_s,run_s,gpus_per_pod,queue\nfirst,0,50,2,b\na,10,10,2,a\nb,10,10,2,b\n' >0/t.csv
    right 0
    has "value = 0 FROM metric WHERE name = 'tied_starts' AND scope = 'all'"
}

# Under edf the deadlines are the order, under QSSF the GPU time by estimates is: starts hang on the order of rows where these
# are equal, and there alone.
case_ties_of_deadlines_and_estimates() {
    mkdir 0 1
    for at in 0 1; do
        printf 'cluster: {pools: {p: {nodes: 1, gpus: 4}}}\nworkload: [{name: t, trace: t.csv}]\n' >$at/s.yaml
        printf 'job,submit_s,run_s,gpus,deadline_s,time_limit_s\na,0,300,4,9000,600\nb,0,300,4,2000,500\nc,0,300,4,3000,400\nd,0,400,2,5000,800\n' >$at/t.csv
    done
    echo 'policy: edf' >>0/s.yaml
    right 0
    has "value = 0 FROM metric WHERE name = 'tied_starts' AND scope = 'all'"
    sed -i s/,9000,/,2000,/ 0/t.csv
    right 0
    has "value = 1 FROM metric WHERE name = 'tied_starts' AND scope = 'all'"
    echo 'policy: {name: fifo, params: {order: predicted}}' >>1/s.yaml
    right 1
    has "value = 1 FROM metric WHERE name = 'tied_starts' AND scope = 'all'"
}

# What runs since the begin itself was given too: it may be more than its queue could borrow.
case_lending_of_a_state() {
    mkdir 0
    cat >0/s.yaml <<'Y'
begin: 10s
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
queues: {q: {gpu: [2, 1, 2]}, r: {gpu: [0, 1, 0]}}
workload: [{name: t, trace: t.csv}, {name: state, trace: state.csv}]
policy: kueue
Y
    printf 'job,submit_s,run_s,gpus_per_pod,queue\nj,20,10,1,q\n' >0/t.csv
    printf 'job,submit_s,run_s,gpus_per_pod,pods,queue,running_since_s,running_on\non,10,5,1,1,r,10,n0001:0-0\n' >0/state.csv
    right 0
}

# What runs since the begin itself overtook nobody.
case_order_of_a_state() {
    mkdir 0
    cat >0/s.yaml <<'Y'
begin: 10s
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
workload: [{name: t, trace: t.csv}, {name: state, trace: state.csv}]
policy: fifo
Y
    printf 'job,submit_s,run_s,gpus_per_pod\nj,1,10,2\n' >0/t.csv
    printf 'job,submit_s,run_s,gpus_per_pod,pods,running_since_s,running_on\non,10,5,1,1,10,n0001:0-0\n' >0/state.csv
    right 0
}

# The quota of a queue above others is no cell of theirs: without quotas of their own they have equal parts.
case_cells_below_a_quota() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 2, gpus: 2}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {parent: a, gpu: [0, 1, unlimited]}, c: {parent: a, gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: t.csv}]
policy: {name: fifo, params: {placement: hived}}
Y
    printf 'job,submit_s,run_s,gpus_per_pod,queue\nj,1,10,2,b\nk,1,10,2,c\n' >0/t.csv
    right 0
    has "count(start_ms) = 2 FROM job"
}

# kube places pods without the topology that their jobs ask for: what could be nowhere together starts, and `check` named
# it as never (440471, 450059).
case_check_without_topology() {
    mkdir 3
    cat >3/s.yaml <<'Y'
cluster: {pools: {a: {nodes: 2, gpus: 2, shard: k}, b: {nodes: 2, gpus: 2, shard: f}}}
queues: {kq: {shard: k}, fq: {shard: f}}
templates:
  roles: {roles: {x: {pods: 2, gpus_per_pod: 2, topology: {required: node}}, y: {pods: 1, gpus_per_pod: 0}}}
workload: [{name: t, trace: t.csv, keep_impossible: true}]
policy: {name: kube, shards: {f: {name: fifo}}}
Y
    cat >3/t.csv <<'C'
job,submit_s,run_s,pods,gpus_per_pod,topology_required,queue,template
j,1,10,4,1,node,kq,
r,15,10,,,,kq,roles
k,1,10,4,1,node,fq,
C
    right 3
    has "count(*) = 1 AND min(j.name) = 'k' FROM never AS n JOIN job AS j ON j.id = n.job"
}

# Two events change a queue at one time: the quota of the first held for no time, and nobody was within it (480384).
case_quota_for_no_time() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
queues: {q: {gpu: [1, 1, unlimited]}}
workload: [{name: t, trace: t.csv, queue: q}]
policy: fifo
events: [{at: 20s, set: {queues.q.gpu.quota: 8}}, {at: 20s, set: {queues.q.gpu.quota: 2}}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod\na,0,30,8\nb,5,10,4\n' >0/t.csv
    right 0
    has "sum(n) = 0 FROM metric WHERE name = 'starved' AND scope = 'all'"
}

# Nobody finished, and the first row's user waits for results: recompute.sql took a later submit for the first (490066).
case_first_submit_of_a_user() {
    mkdir 0
    cat >0/s.yaml <<'Y'
horizon: 6s
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
workload: [{name: t, trace: t.csv}]
policy: fifo
events: [{at: 1s, fail: n0001, for: 100s}]
Y
    printf 'job,submit_s,run_s,gpus_per_pod,user,after,think_s,give_up_s\nb,2,60,1,u,,,1\na,1,60,1,u,b,1,\n' >0/t.csv
    right 0
    has "value = 1 FROM metric WHERE name = 'makespan_s'"
}

# A service whose gang is larger than static ever lets its queue hold wants nothing any more when the policy looks: it crashed
# (492824).
case_service_beyond_its_part() {
    mkdir 0
    cat >0/s.yaml <<'Y'
horizon: 100s
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [2, 1, unlimited]}, none: {gpu: [0, 0, unlimited]}}
workload:
- {name: t, trace: t.csv, queue: q}
- {name: w, queue: none, service: {gpus_per_pod: 1, replicas: 0..1, rate: {file: rate.csv}, target_utilisation: 0.3, service_time: 2195ms, concurrency: 3, load: 0s, scale_interval: 1s, scale_down_window: 0s}}
policy: {name: static, params: {backfill: false}}
execution: {round: 5s}
Y
    printf 'job,submit_s,run_s,gpus_per_pod\nj,1,10,1\n' >0/t.csv
    printf 'time_s,rate\n0,0\n2,0\n4,0\n6,6.2\n8,0\n' >0/rate.csv
    right 0
    has "count(*) = 0 FROM placement AS p JOIN job AS j ON j.id = p.job WHERE j.name <> 't/j' AND j.name <> 'j'"
}

# Backfill looked at a job of two kinds of pods before anything had run, and read what nothing held (613006).
case_backfill_of_kinds_first() {
    mkdir 0
    cat >0/s.yaml <<'Y'
cluster: {pools: {a: {nodes: 1, gpus: 2, cpu: 8}}}
templates: {t: {roles: {x: {pods: 1, gpus_per_pod: 1}, y: {pods: 1, cpu: 2}}}}
workload: [{name: w, trace: t.csv}]
policy: {name: slurm, params: {SchedulerParameters: "sched_interval=-1,bf_interval=2"}}
Y
    printf 'job,submit_s,run_s,template\nj,0,10,t\n' >0/t.csv
    right 0
    has "count(*) = 1 FROM job WHERE state = 3"
}

"case_$2"
