#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# constraints.sh ORRERY POLICY NAME: what rows say of nodes, levels and other jobs holds under any
# policy. Each case_* function is one test.
set -eu
orrery=$1 policy=$2
. "$(dirname "$0")/../scratch.sh"

templates= params= # of the scenario
# run POOLS: replays trace.csv; `got` gets job@start/nodes of every job.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$1}}
queues: {q: {gpu: [64, 1, unlimited]}}
workload: [{name: t, trace: trace.csv, queue: q}]
templates: {$templates}
policy: {name: $policy, params: {$params}}
YAML
    "$orrery" run run.yaml -o run.db --force --no-progress --allow-loss >out 2>err || fail "run failed"
    got=$("$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "/" $14; sep = ";"} END {print line}')
}

expect() { [ "$got" = "$1" ] || fail "expected: $1
got:      $got"; }

case_node_selector() {
    # both pools fit; the label decides. j2 has to wait for its one node although the other is free
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,node_selector
j1,0,100,1,2,disk=nvme
j2,0,50,1,2,disk=nvme
j3,0,50,1,2,disk=hdd|tape
CSV
    run 'a: {nodes: 1, gpus: 2, labels: {disk: hdd}}, b: {nodes: 1, gpus: 2, labels: {disk: nvme}}'
    # strict order: j3 stays behind j2; easy reserves GPUs of the whole cluster for j2
    case $policy in fifo | easy) later=100 ;; *) later=0 ;; esac
    expect "j1@0/b-0001:2;j2@100/b-0001:2;j3@$later/a-0001:2"
}

case_given_labels() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,node_selector
j1,0,10,1,2,kubernetes.io/hostname=b-0002
j2,0,10,1,2,nvidia.com/gpu.product=H100;pool=b
j3,0,10,1,2,nvidia.com/gpu.count=4
CSV
    run 'a: {nodes: 1, gpus: 4, gpu_model: A100}, b: {nodes: 2, gpus: 2, gpu_model: H100}'
    expect "j1@0/b-0002:2;j2@0/b-0001:2;j3@0/a-0001:2"
}

case_gpu_model_alternatives() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,gpu_model
j1,0,10,1,2,B200|H100
j2,5,10,1,2,H100|B200
j3,5,10,1,2,A100|B100
CSV
    run 'a: {nodes: 1, gpus: 2, gpu_model: A100}, b: {nodes: 1, gpus: 2, gpu_model: B200}, h: {nodes: 1, gpus: 2, gpu_model: H100}'
    expect "j1@0/b-0001:2;j2@5/h-0001:2;j3@5/a-0001:2"
}

case_taints() {
    # only j2 and j4 may be on the tainted pool; a taint that only prefers keeps nobody out
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,tolerations
j1,0,20,1,2,
j2,0,20,1,2,team=red
j3,30,20,1,2,team=blue
j4,30,20,1,2,*
CSV
    run 'a: {nodes: 1, gpus: 2, taints: ["slow:PreferNoSchedule"]}, b: {nodes: 1, gpus: 2, taints: ["team=red:NoSchedule"]}'
    expect "j1@0/a-0001:2;j2@0/b-0001:2;j3@30/a-0001:2;j4@30/b-0001:2"
}

case_topology_required() {
    # two racks of two nodes; the filler leaves one node free in each, so the gang of two nodes
    # waits until a rack is whole
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,topology_required,node_selector
f1,0,100,1,4,,kubernetes.io/hostname=n0001
f2,0,200,1,4,,kubernetes.io/hostname=n0003
g1,1,50,2,4,rack,
CSV
    run 'p: {nodes: 4, gpus: 4, rack_size: 2}'
    [ "$policy" = kube ] && return 0 # it has no notion of a gang
    expect "f1@0/n0001:4;f2@0/n0003:4;g1@100/n0001:4 n0002:4"
    codes=$(sqlite3 run.db "SELECT code FROM reason_change r JOIN reason c ON c.id = r.reason JOIN job j ON j.id = r.job WHERE j.name = 'g1'")
    [ "$codes" = topology ] || fail "g1 waits for: $codes"
}

case_topology_preferred() {
    # it would like one rack, takes what there is
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,topology_preferred,node_selector
f1,0,100,1,4,,kubernetes.io/hostname=n0001
g1,0,50,2,4,rack,
f2,60,100,1,4,,kubernetes.io/hostname=n0003
g2,60,50,2,4,rack,
CSV
    run 'p: {nodes: 4, gpus: 4, rack_size: 2}'
    [ "$policy" = kube ] && return 0
    expect "f1@0/n0001:4;g1@0/n0003:4 n0004:4;f2@60/n0003:4;g2@60/n0002:4 n0004:4"
}

case_zone() {
    # the zones are z1 with three nodes of two pools, z2 with two, and the pool that names none
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,topology_required,node_selector
g1,0,100,3,2,zone,
s1,1,10,1,2,,topology.kubernetes.io/zone=z1
s2,2,10,2,2,,topology.kubernetes.io/zone=z2
never,3,10,4,2,zone,
CSV
    run 'd: {nodes: 1, gpus: 2}, a: {nodes: 1, gpus: 2, zone: z1}, b: {nodes: 2, gpus: 2, zone: z2}, c: {nodes: 2, gpus: 2, zone: z1}'
    grep -F -q 'job never asks 8 GPUs in 4 pods within one zone, which this cluster' err || fail "never is not rejected"
    [ "$policy" = kube ] && return 0
    [ "$policy" = fifo ] && later=100 || later=2 # strict order: s2 stays behind s1
    expect "g1@0/a-0001:2 c-0001:2 c-0002:2;s1@100/a-0001:2;s2@$later/b-0001:2 b-0002:2"
}

case_after() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,after
j1,0,100,1,1,
j2,0,30,1,1,
j3,10,10,1,1,j1;j2
j4,10,10,1,1,j3
CSV
    run 'p: {nodes: 1, gpus: 8}'
    expect "j1@0/n0001:1;j2@0/n0001:1;j3@100/n0001:1;j4@110/n0001:1"
    # the wait counts from the end of those it waited for
    waits=$("$orrery" export run.db jobs | awk -F, 'NR > 3 {printf "%s ", $10}')
    [ "$waits" = "0 0 " ] || fail "waits: $waits"
    codes=$(sqlite3 run.db "SELECT group_concat(code) FROM reason_change r JOIN reason c ON c.id = r.reason WHERE job IN (2, 3)")
    [ "$codes" = dependency,dependency ] || fail "reasons: $codes"
}

case_eligible() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,after,eligible_s
j1,0,20,1,1,,
j2,0,10,1,1,,60
j3,0,10,1,1,j1,90
j4,0,10,1,1,j1,5
CSV
    run 'p: {nodes: 1, gpus: 8}'
    expect "j1@0/n0001:1;j2@60/n0001:1;j3@90/n0001:1;j4@20/n0001:1"
}

case_never() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,node_selector,topology_required,after
ok,0,10,1,1,,,
colour,0,10,1,1,colour=red,,
level,0,10,1,1,,zone,
rack,0,10,3,4,,rack,
unknown,0,10,1,1,,,nobody
circle1,0,10,1,1,,,circle2
circle2,0,10,1,1,,,circle1
orphan,0,10,1,1,,,colour
CSV
    run 'p: {nodes: 4, gpus: 4, rack_size: 2}'
    expect "ok@0/n0001:1"
    for text in 'trace.csv:3: job colour: no node has the labels colour=red' \
        'trace.csv:4: job level: the cluster has no topology level zone' \
        'trace.csv:5: job rack asks 12 GPUs in 3 pods within one rack, which this cluster' \
        'trace.csv:6: job unknown: column after: the trace has no job nobody' \
        'trace.csv:7: job circle1: column after: these cannot all end before it can start: circle2' \
        'trace.csv:9: job orphan: column after: these cannot all end before it can start: colour'; do
        grep -F -q "$text" err || fail "not said: $text"
    done
}

# heeds yes|no WORD: the summary and check say so if it does not.
heeds() {
    "$orrery" check run.yaml >checked 2>>err || [ $? = 1 ] || fail "check failed"
    for said in out checked; do
        if [ "$1" = no ]; then
            grep "^not heeded .*$2" $said >/dev/null || fail "$said does not say that $2 is not heeded"
        else
            ! grep '^not heeded' $said || fail "$said says that something is not heeded"
        fi
    done
}

# Nobody can be preempted, so priority says only who is next. The queue is empty but for one seat.
priorities() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,priority,preemptible
run,0,10,1,2,1000,false
low,1,10,1,2,train,false
top,2,10,1,2,inference,false
mid,3,10,1,2,70,false
mid2,4,10,1,2,70,false
CSV
    run 'p: {nodes: 1, gpus: 2}'
}

case_priority() {
    [ "$policy" = kai ] || params='order: priority'
    priorities
    heeds yes priority
    expect "run@0/n0001:2;low@40/n0001:2;top@10/n0001:2;mid@20/n0001:2;mid2@30/n0001:2"
    "$orrery" audit run.db >out || fail "$(cat out)"
}

case_priority_not_heeded() {
    if [ "$policy" = kai ]; then params='plugins: {priority: {enabled: false}}'; fi
    priorities
    heeds no priority
    expect "run@0/n0001:2;low@10/n0001:2;top@20/n0001:2;mid@30/n0001:2;mid2@40/n0001:2"
}

case_priority_of_a_template() {
    # the row's own goes first; below 100 it can be preempted, which kai does
    templates='urgent: {gpus_per_pod: 2, run: 10s, priority: 75}'
    cat >trace.csv <<CSV
job,submit_s,template,priority
one,0,urgent,train
two,2,urgent,
CSV
    [ "$policy" = kai ] || params='order: priority'
    run 'p: {nodes: 1, gpus: 2}'
    if [ "$policy" = kai ]; then
        [ "$("$orrery" export run.db jobs | awk -F, '$1 == "one" {print $13}')" = 1 ] || fail "one was not preempted"
    else
        expect "one@0/n0001:2;two@10/n0001:2"
    fi
    templates='urgent: {gpus_per_pod: 2, run: 10s, priority: urgently}'
    ! (run 'p: {nodes: 1, gpus: 2}') >said || fail "a priority that is none was taken"
    grep -F 'run.yaml:4:59: priority: "urgently" is neither a whole number nor one of train' said >/dev/null || fail "$(cat said)"
}

case_priority_that_is_none() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,priority
fine,0,10,1,1,-3
word,0,10,1,1,highest
CSV
    run 'p: {nodes: 1, gpus: 2}'
    expect "fine@0/n0001:1"
    grep -F 'trace.csv:3: job word: priority is neither a whole number nor one of train, build-preemptible, build, inference: highest' err >/dev/null ||
        fail "not said"
}

# Two racks of two nodes, one node taken: only the first rack takes both workers, whoever is first.
case_role_topology() {
    templates='train: {roles: {worker: {pods: 2, gpus_per_pod: 2, topology: {required: rack}}, eval: {gpus_per_pod: 2}}}'
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,node_selector
f,0,100,,1,2,kubernetes.io/hostname=n0003
g,1,10,train,,,
CSV
    run 'p: {nodes: 4, gpus: 2, rack_size: 2}'
    [ "$policy" = kube ] && { heeds no topology; return 0; }
    heeds yes topology
    if [ "$policy" = kai ]; then # it takes subgroups in their order, eval first, and does not go back
        expect "f@0/n0003:2;g@100/n0001:2 n0003:2 n0004:2"
        return 0
    fi
    expect "f@0/n0003:2;g@1/n0001:2 n0002:2 n0004:2"
    racks=$(sqlite3 run.db "SELECT group_concat(p.node / 2) FROM v_placements p JOIN job j ON j.id = p.job WHERE j.name = 'g' AND p.ask = 1") # by name: eval, worker
    [ "$racks" = 0,0 ] || fail "racks of its workers: $racks"
}

# The rack with room for both workers is there only when f2 is gone; a level within a level.
case_role_topology_waits() {
    templates='train: {roles: {a: {topology: {required: block}, roles: {x: {pods: 2, gpus_per_pod: 2, topology: {required: rack}}, y: {pods: 2, gpus_per_pod: 2, topology: {required: rack}}}}, b: {gpus_per_pod: 2}}}'
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,node_selector
f1,0,100,,1,2,kubernetes.io/hostname=n0001
f2,0,50,,1,2,kubernetes.io/hostname=n0007
g,1,10,train,,,
CSV
    run 'p: {nodes: 8, gpus: 2, rack_size: 2, block_size: 4}'
    [ "$policy" = kube ] && return 0
    expect "f1@0/n0001:2;f2@0/n0007:2;g@50/n0002:2 n0005:2 n0006:2 n0007:2 n0008:2"
    codes=$(sqlite3 run.db "SELECT group_concat(code) FROM reason_change r JOIN reason c ON c.id = r.reason JOIN job j ON j.id = r.job WHERE j.name = 'g'")
    [ "$codes" = topology ] || fail "g waits for: $codes"
}

case_role_topology_of_several() {
    # no rack has room for both parts. One is enough for kai, which adds the other where it finds room: in
    # v0.17 parts that run do not bind one that comes later. The others start all or none.
    templates='two: {min_subgroups: 1, topology: {required: rack}, roles: {a: {gpus_per_pod: 4}, b: {gpus_per_pod: 4}}}'
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,node_selector
f1,0,100,,1,4,kubernetes.io/hostname=n0001
f2,0,100,,1,4,kubernetes.io/hostname=n0003
g,1,300,two,,,
CSV
    run 'p: {nodes: 4, gpus: 4, rack_size: 2}'
    case $policy in
    kai | kube) expect "f1@0/n0001:4;f2@0/n0003:4;g@1/n0002:4 n0004:4" ;;
    *) expect "f1@0/n0001:4;f2@0/n0003:4;g@100/n0001:4 n0002:4" ;;
    esac
}

case_role_topology_never() {
    templates='train: {roles: {worker: {pods: 3, gpus_per_pod: 2, topology: {required: rack}}, eval: {cpu: 1}}}'
    cat >trace.csv <<CSV
job,submit_s,run_s,template
g,1,10,train
CSV
    ! (run 'p: {nodes: 4, gpus: 2, rack_size: 2}') >said 2>&1 || :
    grep -F 'asks 6 GPUs in 4 pods, a role of it within one rack, which this cluster' err >/dev/null || fail "not rejected"
}

"case_$3"
