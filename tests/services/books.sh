#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# books.sh ORRERY: services beside random work and failures, under every policy: whatever comes and goes, every book adds
# up, and each pod was wanted.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

sql() {
    value=$(sqlite3 run.db "$1")
    [ "$value" = "$2" ] || fail "$policy: $1
expected: $2
got:      $value"
}

run_random() { # POLICY SEED
    awk -v seed="$2" "$draw_awk"'BEGIN {
        state = 7919 * (seed + 1); print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,kind"
        for (i = 0; i < 40; i++) {
            p = 1 + int(3 * draw())
            printf "j%d,%d,%d,%d,%d,%d,%s,%s\n", i, 3000 * draw(), 1 + 1200 * draw(), p, 1 + int(p * draw()), 1 + int(2 * draw()),
                substr("ab", 1 + int(2 * draw()), 1), draw() < 0.7 ? "training" : "interactive"
        }
    }' >trace.csv
    awk -v seed="$2" "$draw_awk"'BEGIN {state = 7919 * (seed + 100); print "time_s,rate"; for (i = 0; i < 60; i++) printf "%d,%.3f\n", 60 * i, 6 * draw() * int(3 * draw())}' >rate.csv
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

for p in fifo easy static kube las kai kueue; do
    for seed in 1 2 3 4; do
        run_random $p $seed
        [ $p = kube ] || "$orrery" audit run.db >out || fail "$p, seed $seed: $(cat out)"
        # under Kueue one that wants all its queue has from the first may never find that room free at once
        sql "SELECT sum(attempts > 0 OR ('$p' = 'kueue' AND name = 'w')) FROM job WHERE kind = 3" 3
        # never more than it wanted at that time, but for those in their grace
        sql "SELECT count(*) FROM wanted AS w WHERE w.pods < (SELECT total(p.pods) FROM v_placements AS p
             WHERE p.job = w.job AND p.start_ms <= w.at_ms AND coalesce(p.end_ms, 9e18) > w.at_ms)" 0
    done
done
