#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# failures.sh ORRERY NAME: what breaks, and what it costs.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

scenario() { # POOL FAILURES POLICY EXPECTATIONS
    cat >run.yaml <<YAML
cluster: {pools: {p: {$1}}, failures: {$2}}
workload: [{name: t, trace: trace.csv}]
policy: {name: $3}
execution: {restart: 5m, grace: 30s}
expect: [$4]
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books
}

case $2 in
availability)
    # MTBF / (MTBF + MTTR): 10 d of a Weibull of shape 1.5, repairs of exp(0.5^2 / 2) d on average
    awk 'BEGIN {print "job,submit_s,run_s,pods,gpus_per_pod"
                for (i = 0; i <= 10; i++) printf "j%d,%d,10,1,1\n", i, i * 4000000}' >trace.csv
    scenario 'nodes: 100, gpus: 8' 'mtbf: 10d, shape: 1.5, repair: {median: 1d, sigma: 0.5}' fifo \
        '"gpu_available > 0.893", "gpu_available < 0.903"'
    ;;
gangs)
    # a gang over four nodes and a job of one survive a month of failures under every policy; two
    # policies see the same failures for as long as both run
    printf 'job,submit_s,run_s,pods,gpus_per_pod,checkpoint_s\ng,0,2000000,4,8,3600\ns,0,1000000,1,8,3600\n' >trace.csv
    for policy in fifo easy static kube las kai kueue; do
        scenario 'nodes: 8, gpus: 8, rack_size: 4' 'mtbf: 3d, repair: {median: 6h, sigma: 0.5}' "$policy" \
            'unfinished == 0, "lost_gpu_h{cause=node failure} > 0", restart_gpu_h > 0'
        "$orrery" export run.db outage | sed -n 2,40p >"$policy.csv"
    done
    for policy in easy static kube las kai kueue; do
        cmp fifo.csv "$policy.csv"
    done
    ;;
racks)
    # racks fail as one: all four nodes of one at the same time
    printf 'job,submit_s,run_s,pods,gpus_per_pod,checkpoint_s\ng,0,2000000,4,8,3600\n' >trace.csv
    scenario 'nodes: 8, gpus: 8, rack_size: 4' 'each: rack, mtbf: 5d, repair: {median: 6h}' kai 'unfinished == 0'
    "$orrery" export run.db outage | awk -F, 'NR > 1 {n[$2]++} END {for (t in n) if (n[t] != 4) exit 1}'
    ;;
stale)
    # under kai a gang that lost one of two nodes waits a minute for another, in vain: then it goes
    printf 'job,submit_s,run_s,pods,gpus_per_pod,checkpoint_s\ng,0,2000000,2,8,3600\n' >trace.csv
    scenario 'nodes: 2, gpus: 8' 'mtbf: 5d, repair: {median: 6h}' kai \
        'unfinished == 0, "lost_gpu_h{cause=stale gang} > 0"'
    "$orrery" export run.db eviction | grep -q 'stale gang,1,1'
    ;;
*) echo "no run $2"; exit 1 ;;
esac
