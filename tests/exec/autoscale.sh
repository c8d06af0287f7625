#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# autoscale.sh ORRERY SOURCE_DIR NAME: pools whose nodes follow the jobs, against times worked out by hand.
# Pools are looked at every 10 s after something happened, before the arrivals and the cycle of that instant:
# who comes at 5 and waits is seen at 10. Every run's books are checked and its metrics are made again.
set -eu
orrery=$1 source=$2
. "$(dirname "$0")/../scratch.sh"

base='base: {nodes: 1, gpus: 4}'
burst='burst: {nodes: 0, gpus: 4, price: 12, autoscale: {max: 3, provision: 60s, idle: 2m}}'
policy=fifo rest=
# run: replays trace.csv; prints job@start-end/evictions of each.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$base, $burst}}
workload: [{name: t, trace: trace.csv}]
policy: $policy
$rest
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books >said 2>&1 || { cat said >&2; exit 1; }
    sqlite3 -bail -readonly run.db <"$source/tests/metrics/recompute.sql" >said 2>&1 || { cat said >&2; exit 1; }
    grep -q ' compared, 0 differ$' said || { cat said >&2; exit 1; }
    "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9 "/" $13; sep = " "} END {print line}'
}
sql() { sqlite3 -readonly run.db "$1"; }
away() { sql "SELECT group_concat(node || ':' || (from_ms / 1000) || '-' || coalesce(to_ms / 1000, ''), ' ') FROM away ORDER BY rowid"; }
expect() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got:      $1"; exit 1; }; }
# trace HEADER ROW...
trace() { printf '%s\n' "$@" >trace.csv; }
plain=job,submit_s,run_s,pods,gpus_per_pod

case $3 in
follow)
    # b: a node is ordered at 10 and joins at 70. c, a gang of two nodes, at 30 and 90: the first node is
    # b's then. b's is seen empty at 180 and leaves at 300, those of c at 200 and 320.
    trace $plain a,0,1000,1,4 b,5,100,1,4 c,20,100,2,4
    for policy in fifo easy static kube kai las; do
        case $policy in las) rest='execution: {round: 1s}' ;; *) rest= ;; esac
        expect "$(run)" "a@0-1000/0 b@70-170/0 c@90-190/0"
        expect "$(away)" "1:0-70 2:0-90 3:0-90 1:300- 3:320- 2:320-"
    done
    # 230 s of three nodes at 12 an hour; in the window, which ends with the last submit, there was none
    expect "$(sql "SELECT group_concat(name || label || '=' || printf('%.6f', value), ' ') FROM metric WHERE name LIKE '%cost' AND value > 0")" \
        "run_cost=2.300000 run_costpool=burst=2.300000"
    expect "$(sql "SELECT group_concat((at_ms / 1000) || ':' || gpus, ' ') FROM v_capacity WHERE pool = 'burst'")" \
        "0:0 70:4 90:12 300:8 320:0"
    # with one more job at 250 the window is longer: three nodes for 180 + 2 x 160 s, and jobs that held
    # 4 x 250 + 4 x 100 + 8 x 100 GPU-s. It starts on a node that stood empty, the lowest.
    policy=kai
    trace $plain a,0,1000,1,4 b,5,100,1,4 c,20,100,2,4 d,250,5,1,4
    expect "$(run)" "a@0-1000/0 b@70-170/0 c@90-190/0 d@250-255/0"
    expect "$(sql "SELECT group_concat(name || '=' || printf('%.6f', value), ' ') FROM metric WHERE scope = 'all' AND name IN ('cost', 'cost_per_useful_gpu_h', 'capacity_gpu_h', 'gpu_occupancy', 'gpu_available')")" \
        "$(awk 'BEGIN {cap = (4 * 250 + 4 * 500) / 3600; held = 2200 / 3600; cost = 500 / 3600 * 12
            printf "capacity_gpu_h=%.6f gpu_available=1.000000 gpu_occupancy=%.6f cost=%.6f cost_per_useful_gpu_h=%.6f", cap, held / cap, cost, cost / held}')"
    expect "$(sql "SELECT group_concat(name || '=' || printf('%g', value), ' ') FROM metric WHERE label = 'pool=burst' AND name LIKE 'nodes_%'")" \
        "nodes_joined=3 nodes_left=3"
    ;;
bounds)
    # no more than max, no fewer than min; what was there at the start leaves too. A gang that max cannot
    # hold beside what runs is nobody's reason to order, and waits.
    burst='burst: {nodes: 2, gpus: 4, autoscale: {min: 1, max: 3, provision: 60s, idle: 2m}}'
    trace $plain a,0,400,4,4 z,5,10,3,4
    # a takes all three and needs a fourth node, ordered at 10; z needs three of the four: after a
    expect "$(run)" "a@70-470/0 z@470-480/0"
    expect "$(away)" "3:0-70"
    trace $plain a,0,1000,1,4 b,600,10,3,4
    # two stand empty at 10 and one leaves at 130; b has it back at 610 + 60, and one more
    expect "$(run)" "a@0-1000/0 b@670-680/0"
    expect "$(away)" "3:0-670 2:130-670 3:800- 2:800-"
    trace $plain a,0,1000,1,4 b,600,10,4,4
    expect "$(run)" "a@0-1000/0 b@1070-1080/0" # there are three beside a's: ordered when a is done, seen at 1010
    ;;
needed)
    # a gang of two nodes keeps the empty one, which would leave at 100, until the other joins
    burst='burst: {nodes: 1, gpus: 4, autoscale: {max: 3, provision: 300s, idle: 90s}}'
    trace $plain a,0,1000,1,4 g,20,100,2,4
    for policy in fifo kai; do
        expect "$(run)" "a@0-1000/0 g@330-430/0"
        expect "$(away)" "2:0-330 3:0- 2:530- 1:530-"
    done
    # what is on order is counted: b and c come while the first node is, and fit on it
    burst='burst: {nodes: 0, gpus: 4, autoscale: {max: 3, provision: 300s, idle: 90s}}'
    trace $plain a,0,1000,1,4 b,20,100,1,2 c,50,100,1,2 d,70,10,1,1
    expect "$(run)" "a@0-1000/0 b@330-430/0 c@330-430/0 d@380-390/0"
    expect "$(away)" "1:0-330 2:0-380 3:0- 2:480- 1:530-"
    ;;
choice)
    # the job's cost in an hour decides, then fewer nodes, then the order of the list
    base='base: {nodes: 1, gpus: 4}, dear: {nodes: 0, gpus: 8, gpu_model: H100, price: 40, autoscale: {max: 2, provision: 60s}}'
    burst='cheap: {nodes: 0, gpus: 2, gpu_model: A100, price: 9, autoscale: {max: 8, provision: 60s}}'
    nodes() { "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $14; sep = ","} END {print line}'; }
    trace $plain a,0,1000,1,4 b,1,10,1,2
    run >/dev/null
    expect "$(nodes)" "base-0001:4,cheap-0001:2"
    trace $plain a,0,1000,1,4 b,1,10,5,2 # five of 9 are more than two of 40? no: 45 against 80
    run >/dev/null
    expect "$(sql "SELECT count(*) FROM away WHERE to_ms IS NOT NULL")" 5
    trace $plain a,0,1000,1,4 b,1,10,1,8 # only the large ones hold it
    run >/dev/null
    expect "$(nodes)" "base-0001:4,dear-0001:8"
    # the model, the label or the taint that a job names
    trace $plain,gpu_model a,0,1000,1,4, b,1,10,1,2,H100
    run >/dev/null
    expect "$(nodes)" "base-0001:4,dear-0001:2"
    burst='cheap: {nodes: 0, gpus: 2, price: 9, taints: [team=red:NoSchedule], autoscale: {max: 8, provision: 60s}}'
    trace $plain a,0,1000,1,4 b,1,10,1,2
    run >/dev/null
    expect "$(nodes)" "base-0001:4,dear-0001:2"
    # each shard by itself
    base='base: {nodes: 1, gpus: 4, shard: x}' rest='queues: {a: {shard: x}, b: {shard: y}}'
    burst='cheap: {nodes: 0, gpus: 2, price: 9, shard: x, autoscale: {max: 8, provision: 60s}}, dear: {nodes: 0, gpus: 8, price: 40, shard: y, autoscale: {max: 2, provision: 60s}}'
    trace $plain,queue a,0,1000,1,4,a b,1,10,1,2,b c,2,10,1,2,a
    expect "$(run)" "a@0-1000/0 b@70-80/0 c@70-80/0"
    expect "$(nodes)" "base-0001:4,dear-0001:2,cheap-0001:2"
    ;;
reasons)
    # who waits for a limit does not want nodes; nor who can never run; a job without GPUs may
    policy=kai rest='queues: {q: {gpu: [0, 1, 4]}}'
    trace $plain,queue a,0,1000,1,4,q b,5,100,1,4,q
    expect "$(run)" "a@0-1000/0 b@1000-1100/0"
    expect "$(away)" "1:0- 2:0- 3:0-"
    rest="queues: {q: {gpu: [0, 1, 4]}}
events: [{at: 50s, set: {queues.q.gpu.limit: unlimited}}]"
    expect "$(run)" "a@0-1000/0 b@120-220/0"
    rest=
    base='base: {nodes: 1, gpus: 4, cpu: 8}' burst='burst: {nodes: 0, gpus: 0, cpu: 16, autoscale: {max: 3, provision: 60s}}'
    printf '%s\n' $plain,cpu_milli a,0,1000,1,4,8000 b,5,100,2,0,12000 >trace.csv
    expect "$(run)" "a@0-1000/0 b@70-170/0"
    expect "$(away)" "1:0-70 2:0-70 3:0- 2:780- 1:780-" # ten minutes after they were seen empty
    # fractions share the node that is ordered for them
    base='base: {nodes: 1, gpus: 1}' burst='burst: {nodes: 0, gpus: 1, autoscale: {max: 3, provision: 60s}}'
    printf 'job,submit_s,run_s,pods,gpu_fraction\na,0,1000,1,0.8\nb,5,100,1,0.5\nc,5,100,1,0.5\nd,5,100,1,0.25\n' >trace.csv
    for policy in fifo kai; do
        expect "$(run)" "a@0-1000/0 b@70-170/0 c@70-170/0 d@70-170/0"
        expect "$(sql 'SELECT count(*) FROM away WHERE to_ms IS NOT NULL')" 2
    done
    ;;
elastic)
    # its minimum lets it start at once; nodes for the rest are ordered together, as far as max goes
    policy=kai
    starts() { sql "SELECT group_concat(s, ' ') FROM (SELECT (start_ms / 1000) || ':' || sum(pods) AS s FROM v_placements WHERE job = $1 GROUP BY start_ms)"; }
    trace $plain,min_pods a,0,1000,4,4,1
    run >/dev/null
    expect "$(starts 0)" "0:1 70:3"
    # a runs, so the four of b cannot be; its two can, and a third is ordered when it is seen to run; the
    # last comes when a is done
    trace $plain,min_pods a,0,1000,1,4,1 b,5,2000,4,4,2
    run >/dev/null
    expect "$(starts 1)" "70:2 140:1 1000:1"
    # under a limit of two nodes it wants no third
    rest='queues: {q: {gpu: [0, 1, 8]}}'
    trace $plain,min_pods,queue a,0,1000,4,4,1,q
    run >/dev/null
    expect "$(sql 'SELECT count(*) FROM away WHERE to_ms IS NOT NULL')" 1
    # fewer than its minimum would be of no use
    rest=
    trace $plain,min_pods a,0,1000,1,4,1 b,5,100,4,4,4
    expect "$(run)" "a@0-1000/0 b@1070-1170/0"
    expect "$(away)" "1:0-1070 2:0-1070 3:0-1070"
    ;;
vain)
    # kai does not place what it cannot align, though there is room: the node stays for b, as nobody knows
    # better, but no other is ordered and the run ends
    policy='{name: kai, params: {plugins.numa.enabled: true}}'
    burst='burst: {nodes: 0, gpus: 4, cpu: 8, memory: 64Gi, numa_zones: 2, topology_manager_policy: single-numa-node, autoscale: {max: 2, provision: 60s, idle: 2m}}'
    trace $plain,cpu_milli,mem_mib a,0,1000,1,4,0,0 b,5,100,1,4,4000,1024
    base='base: {nodes: 1, gpus: 4, cpu: 1}'
    expect "$(run)" "a@0-1000/0 b@-/0"
    expect "$(away)" "1:0-70 2:0-"
    ;;
failures)
    # a node that fails is not replaced within max, and is not idle; listed events meet pools
    burst='burst: {nodes: 0, gpus: 4, autoscale: {max: 1, provision: 60s, idle: 2m}}'
    rest='events: [{at: 100s, fail: burst-0001, for: 500s}]'
    trace $plain a,0,1000,1,4 b,5,100,1,4
    expect "$(run)" "a@0-1000/0 b@70-700/1"
    expect "$(away)" "1:0-70 1:830-" # b ends at 700, seen empty at 710
    rest='events: [{at: 65s, fail: burst-0001, for: 500s}]' # it is not there yet, and joins as it is
    expect "$(run)" "a@0-1000/0 b@565-665/0"
    expect "$(sql "SELECT (from_ms / 1000) || '-' || (to_ms / 1000) FROM outage")" 70-565
    ;;
many)
    # a random workload, three pools, failures, three policies: books, metrics, the same digest twice
    base='base: {nodes: 3, gpus: 4, price: 5}, big: {nodes: 1, gpus: 8, rack_size: 2, price: 20, autoscale: {max: 8, provision: 3m, idle: 30s, drain_below: DRAIN}}'
    burst='small: {nodes: 0, gpus: 2, price: 4, autoscale: {max: 20, provision: 90s, idle: 10m}}'
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction"
        seed = 9
        for (i = 0; i < 400; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
            t += i % 50 == 0 ? 3000 : x % 40; pods = 1 + x % 4; min = pods < 3 ? pods : pods - x % 2; whole = x % 5 > 0
            printf "j%d,%d,%d,%d,%d,%s,%s\n", i, t, 20 + x % 1500, pods, min, whole ? 1 + x % 4 : "",
                whole ? "" : "0." (1 + x % 9)
        }
    }' >trace.csv
    for policy in fifo kai kube; do for drain in 0 1; do
        rest='execution: {grace: 7s, checkpoint: 60s, restart: 5s}'
        cat >run.yaml <<YAML
cluster: {pools: {$(echo "$base" | sed s/DRAIN/$drain/), $burst}, failures: {mtbf: 12h, repair: {median: 20m}}}
workload: [{name: t, trace: trace.csv}]
policy: $policy
$rest
YAML
        "$orrery" run run.yaml -o run.db --force -q --check-books
        "$orrery" run run.yaml -o again.db --force -q
        expect "$(sqlite3 again.db 'SELECT digest FROM run')" "$(sql 'SELECT digest FROM run')"
        expect "$(sql 'SELECT count(*) FROM job WHERE state <> 3')" 0
        expect "$(sql "SELECT count(*) > 20 FROM away WHERE to_ms IS NOT NULL")" 1
        # nobody held a node while it was away, and never more nodes than max were there
        expect "$(sql "SELECT count(*) FROM v_placements AS p JOIN away AS a ON a.node = p.node AND a.from_ms < p.end_ms AND coalesce(a.to_ms, 9e18) > p.start_ms")" 0
        expect "$(sql "SELECT max(gpus) <= 64 AND min(gpus) >= 0 FROM v_capacity WHERE pool = 'big'")" 1
        # kube spreads the pods of a job, and what spans nodes is not moved
        moves=$drain
        [ "$policy" != kube ] || moves=0
        expect "$(sql "SELECT count(*) > 0 FROM attempt WHERE cause = 'maintenance'")" "$moves"
    done; done
    ;;
drain)
    # c is done at 100; then what b has on the rented node fits beside a. Seen at 110, b is moved at 230
    # (it starts from zero), and the node leaves.
    burst='burst: {nodes: 1, gpus: 4, autoscale: {max: 3, provision: 60s, idle: 2m, drain_below: 0.5}}'
    trace $plain,preemptible a,0,1000,1,2,true c,0,100,1,2,true b,0,1000,1,1,true
    for policy in fifo easy static '{name: kube, params: {score: most-allocated}}'; do
        expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1230/1"
        expect "$(away)" "2:0- 3:0- 1:230-"
    done
    expect "$(sql "SELECT cause FROM eviction")" "$(sql "SELECT DISTINCT cause FROM attempt WHERE cause IS NOT NULL")"
    expect "$(sql "SELECT printf('%.6f', value * 3600) FROM metric WHERE name = 'lost_gpu_h' AND label = 'cause=maintenance'")" 230.000000
    policy=kai # what is evicted at 230 is gone before the cycle of 231
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1231/1"
    policy=fifo rest='execution: {grace: 30s, on_evict: keep}'
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1030/1" # 230 s are kept, 30 s of grace are not
    expect "$(away)" "2:0- 3:0- 1:260-"
    rest=
    # not if it may not be evicted, if half of the node is held, if only empty rented nodes have room, or
    # if the pool does not say so
    trace $plain,preemptible a,0,1000,1,2,true c,0,100,1,2,true b,0,1000,1,1,false
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1000/0"
    trace $plain,preemptible a,0,1000,1,2,true c,0,100,1,2,true b,0,1000,1,2,true
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1000/0"
    trace $plain,preemptible a,0,1000,1,4,true b,0,1000,1,1,true
    expect "$(run)" "a@0-1000/0 b@0-1000/0"
    trace $plain,preemptible a,0,1000,1,2,true c,0,100,1,2,true b,0,1000,1,1,true
    burst='burst: {nodes: 1, gpus: 4, autoscale: {max: 3, provision: 60s, idle: 2m}}'
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1000/0"
    # down to min
    burst='burst: {nodes: 1, gpus: 4, autoscale: {min: 1, max: 3, provision: 60s, idle: 2m, drain_below: 0.5}}'
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1000/0"
    # a hole of two is needed, and d takes it at 150: the clock begins again when d is done, at 180
    base='base: {nodes: 2, gpus: 4}' burst='burst: {nodes: 1, gpus: 4, autoscale: {max: 3, provision: 60s, idle: 2m, drain_below: 0.6}}'
    trace $plain,preemptible a,0,1000,2,3,true c,0,100,2,1,true b,0,1000,1,2,true
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1000/0" # no hole of two
    trace $plain,preemptible a,0,1000,2,2,true c,0,100,2,2,true b,0,1000,1,2,true
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1230/1"
    trace $plain,preemptible a,0,1000,2,2,true c,0,100,2,2,true b,0,1000,1,2,true d,150,30,2,2,true
    expect "$(run)" "a@0-1000/0 c@0-100/0 b@0-1310/1 d@150-180/0"
    ;;
*) echo "no run $3"; exit 1 ;;
esac
