#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# services.sh ORRERY NAME: an inference service is one job whose pods come and go, under every policy,
# against times worked out by hand. Each case_* function is one test.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

all='fifo easy static kube las kai'

# rates R0 R1 ...: requests a second, minute by minute. A replica takes one a second, and is looked at
# every minute: from the second minute on it wants as many as the rate was in the minute before.
rates() {
    echo time_s,rate >rate.csv
    minute=0
    for rate in "$@"; do
        echo "$((60 * minute)),$rate" >>rate.csv
        minute=$((minute + 1))
    done
}

# run POLICY NODES REPLICAS [SERVICE] [MORE]: nodes of one GPU ($pool: more of them), six minutes, a
# service s of queue q, which may hold all ($root, $quota: GPUs of the queue above and its own)
run() {
    policy=$1
    [ -f trace.csv ] && trace='- {name: t, trace: trace.csv}' || trace=
    cat >run.yaml <<YAML
horizon: 6m
cluster: {pools: {p: {nodes: $2, gpus: 1${pool:-}}}}
queues: {root: {gpu: [${root:-$2}, 1, unlimited]}, q: {parent: root, gpu: [${quota:-$2}, 1, unlimited]}}
workload:
- name: s
  kind: inference
  queue: q
  service: {gpus_per_pod: 1, replicas: $3, rate: rate.csv, service_time: 1s, target_utilisation: 1,
            scale_interval: 1m, scale_down_window: 0s${4:+, $4}}
$trace
policy: {name: $1}
${5:-}
YAML
    "$orrery" run run.yaml -o run.db --force --no-progress --check-books >out 2>err || fail "$policy: $(cat err)"
    got=$("$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9; sep = " "} END {print line}')
    pods=$(sqlite3 run.db "SELECT group_concat(t, ' ') FROM (SELECT (p.start_ms / 1000) || '-' || (p.end_ms / 1000) || ':' || sum(p.pods) AS t
      FROM v_placements AS p JOIN job AS j ON j.id = p.job WHERE j.name = 's' GROUP BY p.start_ms, p.end_ms ORDER BY p.start_ms, p.end_ms DESC)")
}

expect() { [ "$got, pods $pods" = "$1, pods $2" ] || fail "$policy
expected: $1, pods $2
got:      $got, pods $pods"; }

sql() {
    value=$(sqlite3 run.db "$1")
    [ "$value" = "$2" ] || fail "$policy: $1
expected: $2
got:      $value"
}

case_follows_requests() {
    rates 1 2 3 2 1 1
    for p in $all; do
        run $p 4 1..4
        # the last started leaves first
        expect 's@0-360' '0-360:1 120-300:1 180-240:1'
        sql "SELECT kind.name, pods, min_pods, attempts, state FROM job JOIN kind ON kind.id = job.kind" 'inference|4|1|1|3'
        sql "SELECT group_concat((at_ms / 1000) || ':' || pods || ':' || (mgpu / 1000), ' ') FROM wanted" \
            '0:1:1 120:2:2 180:3:3 240:2:2 300:1:1'
        sql "SELECT count(*) FROM job_time" 0 # all that was held was of use, and none of it idle
        sql "SELECT count(*) FROM eviction" 0
        sql "SELECT value, n FROM metric WHERE name = 'wait_mean_s' AND scope = 'all'" '|0'
        sql "SELECT allocated_mgpu, pending_mgpu FROM series WHERE at_ms <= 200000 ORDER BY at_ms DESC LIMIT 1" \
            "$(sqlite3 run.db 'SELECT total(p.mgpu * (min(p.end_ms, b.at_ms + r.series_ms, 360000) - max(p.start_ms, b.at_ms))) / min(r.series_ms, 360000 - b.at_ms) FROM run AS r,
              (SELECT max(at_ms) AS at_ms FROM series WHERE at_ms <= 200000) AS b, v_placements AS p WHERE p.start_ms < b.at_ms + r.series_ms AND p.end_ms > b.at_ms')|0.0"
    done
}

case_waits_for_room() { # two pods at most: the others wait, and serve nobody
    rates 1 3 3 3 1 1
    for p in $all; do
        run $p 2 1..4
        expect 's@0-360' '0-360:1 120-300:1'
        sql "SELECT group_concat((at_ms / 1000) || ':' || pods, ' ') FROM wanted" '0:1 120:3 300:1'
    done
}

case_starts_with_its_gang() { # two must start together; a third may come alone
    rates 3 3 3 3 3 3
    printf '%s\n' job,submit_s,run_s,gpus_per_pod,queue,kind l,0,90,1,q,interactive m,0,150,1,q,interactive >trace.csv
    for p in fifo static; do # `l` and `m` are behind `s` at 0
        run $p 3 2..4
        expect 's@0-360 t/l@360- t/m@360-' '0-360:3'
    done
    rm trace.csv
    for p in $all; do
        run $p 3 2..4
        expect 's@0-360' '0-360:3'
    done
    (run kai 1 2..4) >out && fail "a gang of two fits on one node"
    grep -q 's:1: job s asks 2 GPUs in 2 pods, which this cluster of 1 GPUs could not hold even when empty' out || fail "the gang"
}

case_lost_pods_are_wanted_again() {
    rates 2 2 2 2 2 2
    for p in $all; do
        again=150
        [ $p = las ] && again=180
        run $p 3 2..2 '' 'events: [{at: 150s, fail: n0001, for: 20s}]'
        expect 's@0-360' "0-360:1 0-150:1 $again-360:1"
        sql "SELECT attempts, evictions FROM job" '1|0'
        sql "SELECT count(*) FROM job_time" 0 # what it served is not lost
        sql "SELECT group_concat(cause || ' ' || pods, ', ') FROM eviction" 'node failure 1'
    done
}

case_serves_until_evicted() { # a pod that is told to go serves no more, and holds its GPU for the grace
    rates 1 1 1 1 1 1
    for p in $all; do
        run $p 2 1..1 '' 'events: [{at: 120s, maintain: n0001, for: 100s}]
execution: {grace: 60s, checkpoint: 10s, checkpoint_cost: 5s, restart: 50s}'
        expect 's@0-360' '0-180:1 180-360:1'
        # neither checkpoints nor restarts are a service's
        sql "SELECT useful, maintenance, checkpoint, restart, idle FROM job_time" '300000000|60000000|0|0|0'
        sql "SELECT group_concat(value, ' ') FROM metric WHERE name IN ('requests', 'requests_late') AND label = 'workload=s'" '360.0 60.0'
    done
}

case_loads_after_each_start() {
    rates 1 2 2 2 2 2
    for p in $all; do # the second pod serves from 180 on: until then 60 too many came, and wait
        run $p 2 1..2 'load: 1m, patience: 10m'
        expect 's@0-360' '0-360:1 120-360:1'
        # 0 to 60: 60 come and nobody serves; 60 to 120: 120 come and 60 are served; 120 to 180: so again
        sql "SELECT value FROM metric WHERE name = 'requests_dropped' AND label = 'workload=s'" 0.0
        # of 2 x 360 pod-seconds but 120: the first serves from 60, the second from 180 to the end, and neither rests
        sql "SELECT useful, abs(idle - 120000000) < 1000 FROM job_time" '600000000|1'
    done
}

case_none_wanted() { # nothing is held while nobody asks, and the service goes on
    rates 0 1 0 1 0 0
    for p in $all; do
        run $p 2 0..2
        expect 's@120-360' '120-180:1 240-300:1'
        sql "SELECT attempts, min_pods FROM job" '1|1'
    done
}

case_replicas_of_pods() { # a replica serves when all its pods do
    rates 1 2 2 1 1 1
    for p in $all; do
        run $p 4 1..2 'pods: 2'
        expect 's@0-360' '0-360:2 120-240:2'
        run $p 3 1..2 'pods: 2' # room for half of the second: it is of no use
        expect 's@0-360' '0-360:2 120-240:1'
        sql "SELECT value FROM metric WHERE name = 'attainment' AND label = 'workload=s'" 0.875 # of 480 requests 60 find a line of a minute, and leave
    done
}

case_quota_of_every_ancestor() { # it may not be preempted: under kai the quotas of q and root bound it
    rates 4 4 4 4 4 4
    root=2 quota=4 run kai 4 1..4
    expect 's@0-360' '0-360:2'
    root=4 quota=3 run kai 4 1..4
    expect 's@0-360' '0-360:3'
}

case_preempts_pod_by_pod() { # inference goes before training in its own queue; what it took comes back
    rates 1 2 2 1 1 1
    printf '%s\n' job,submit_s,run_s,gpus_per_pod,queue,kind l,0,999,1,q,training >trace.csv
    run kai 2 1..2
    expect 's@0-360 t/l@0-' '0-360:1 121-240:1' # evicted in one cycle, placed in the next
    sql "SELECT e.at_ms / 1000, e.cause, f.name FROM eviction AS e JOIN job AS f ON f.id = e.for_job" '120|preempt|s'
    sql "SELECT group_concat(a.start_ms / 1000, ' ') FROM v_attempts AS a JOIN job AS j ON j.id = a.job WHERE j.name = 't/l'" '0 240'
    for p in fifo easy static kube; do # they take nothing away
        run $p 2 1..2
        expect 's@0-360 t/l@0-' '0-360:1'
    done
    run las 2 1..2 # it is before `l` in the first queue, which is paused for two rounds
    expect 's@0-360 t/l@0-' '0-360:1 120-240:1'
}

case_autoscaled_pools() { # a pool grows for pods that find no room, and shrinks when they are gone
    rates 1 2 2 1 1 1
    for p in $all; do
        came=150 # looked at on the next multiple of ten seconds, and ordered
        [ $p = las ] && came=180
        root=3 quota=3 pool=', autoscale: {min: 1, max: 3, provision: 20s, idle: 30s}' run $p 1 1..2
        expect 's@0-360' "0-360:1 $came-240:1"
        sql "SELECT count(*) FROM away WHERE to_ms IS NULL AND from_ms > 240000" 1
    done
}

case_refused() {
    rates 1 1
    (run fifo 4 1..2 'pods: 2, min: 1') >out && fail "a replica without all its pods"
    grep -q 'run.yaml:9:.*min: a replica needs all its pods' out || fail "min"
    (run fifo 4 1..800000 'pods: 2') >out && fail "too many pods"
    grep -q 'service: more than 1000000 pods' out || fail "pods"
}

run_random() { # POLICY SEED
    awk -v seed="$2" 'BEGIN {
        srand(seed); print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,kind"
        for (i = 0; i < 40; i++) {
            p = 1 + int(3 * rand())
            printf "j%d,%d,%d,%d,%d,%d,%s,%s\n", i, 3000 * rand(), 1 + 1200 * rand(), p, 1 + int(p * rand()), 1 + int(2 * rand()),
                substr("ab", 1 + int(2 * rand()), 1), rand() < 0.7 ? "training" : "interactive"
        }
    }' >trace.csv
    awk -v seed="$2" 'BEGIN {srand(seed + 99); print "time_s,rate"; for (i = 0; i < 60; i++) printf "%d,%.3f\n", 60 * i, 6 * rand() * int(3 * rand())}' >rate.csv
    cat >run.yaml <<YAML
horizon: 1h
cluster: {pools: {p: {nodes: 4, gpus: 4, gpu_memory: 16Gi}}, failures: {mtbf: 30m, repair: {median: 4m}}}
queues: {a: {gpu: [8, 1, 10]}, b: {gpu: [8, 1, unlimited]}}
execution: {grace: $((20 * ($2 % 2)))s}
workload:
- {name: t, trace: trace.csv}
- {name: s, kind: inference, queue: a, service: {gpus_per_pod: 2, replicas: $(($2 % 3))..5, rate: rate.csv, service_time: 1s, target_utilisation: 0.8, load: 20s, scale_down_window: 2m}}
- {name: f, kind: inference, queue: b, service: {gpu_fraction: 0.4, replicas: 1..6, rate: rate.csv, service_time: 1s, target_utilisation: 1, load: 5s, scale_down_window: 0s}}
- {name: w, kind: inference, queue: b, service: {gpus_per_pod: 1, pods: 2, replicas: 1..3, rate: rate.csv, service_time: 500ms, target_utilisation: 1}}
policy: {name: $1}
YAML
    policy=$1
    "$orrery" run run.yaml -o run.db --force -q --no-progress --check-books 2>err || fail "$1, seed $2: $(cat err)"
}

case_books() { # whatever comes and goes, every book adds up, and each pod was wanted
    for p in $all; do
        for seed in 1 2 3 4; do
            run_random $p $seed
            [ $p = kube ] || "$orrery" audit run.db >out || fail "$p, seed $seed: $(cat out)"
            sql "SELECT count(*) FROM job WHERE kind = 3 AND attempts > 0" 3
            # never more than it wanted at that time, but for those in their grace
            sql "SELECT count(*) FROM wanted AS w WHERE w.pods < (SELECT total(p.pods) FROM v_placements AS p
                 WHERE p.job = w.job AND p.start_ms <= w.at_ms AND coalesce(p.end_ms, 9e18) > w.at_ms)" 0
        done
    done
}

"case_$2"
