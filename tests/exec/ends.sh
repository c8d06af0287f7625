#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ends.sh ORRERY NAME: a run ends with the last thing that happens, not with what is over already.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run POLICY MORE: replays trace.csv; the end of the run, and of its jobs.
run() {
    cat >run.yaml <<YAML
workload: [{name: t, trace: trace.csv}]
policy: $1
$2
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books
    echo "$(sqlite3 run.db 'SELECT end_ms / 1000 FROM run'):" \
        "$("$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9; sep = " "} END {print line}')"
}
expect() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got:      $1"; exit 1; }; }
count() { sqlite3 run.db "SELECT count(*) FROM $1"; }

case $2 in
limit)
    # the second attempt begins at 60 and needs 30 of the 40 s that it might take
    printf 'job,submit_s,run_s,gpus,queue\na,0,70,1,q\n' >trace.csv
    for policy in fifo easy kube kai; do
        expect "$(run "{name: $policy}" 'cluster: {pools: {p: {nodes: 1, gpus: 1}}}
queues: {q: {gpu: [1, 1], max_runtime: 40s, requeue_delay: 20s}}
execution: {on_evict: keep}')" '90: a@0-90'
    done
    ;;
plans)
    # while b is beside it a would end at 200; what is listed for later finds nobody
    printf 'job,submit_s,run_s,gpu_fraction,busy\na,0,100,0.5,1\nb,0,10,0.5,1\n' >trace.csv
    expect "$(run '{name: fifo, params: {backfill: true}}' 'cluster: {pools: {p: {nodes: 2, gpus: 1}}}
execution: {sharing: time_sliced}
events: [{at: 150s, fail: n0002, for: 10s}]')" '110: a@0-110 b@0-20'
    [ "$(count outage)" = 0 ] || { echo "a node failed after the end"; exit 1; }
    # nor do failures at random, of which there would be some in 90 s
    expect "$(run '{name: fifo, params: {backfill: true}}' 'cluster: {pools: {p: {nodes: 1, gpus: 1}, q: {nodes: 200, gpus: 1}}, failures: {each: node, mtbf: 1h, repair: {median: 1s}}}
execution: {sharing: time_sliced, on_evict: keep}' | cut -d: -f2)" ' a@0-110 b@0-20'
    [ "$(sqlite3 run.db 'SELECT max(from_ms) < 130000 AND count(*) > 0 FROM outage')" = 1 ] || { echo "failures after the end"; exit 1; }
    ;;
waiting)
    # b is larger than its part and waits for ever: nothing happens after the end of a, at 110
    printf 'job,submit_s,run_s,gpu_fraction,pods,gpus_per_pod,busy,queue\na,0,100,0.5,,,1,q\nc,0,10,0.5,,,1,q\nb,0,10,,2,1,,q\n' >trace.csv
    expect "$(run '{name: static}' 'cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [1, 1]}, r: {gpu: [1, 1]}}
execution: {sharing: time_sliced}')" '110: a@0-110 c@0-20 b@-'
    # one that will give up does so in its time
    printf 'job,submit_s,run_s,gpu_fraction,pods,gpus_per_pod,busy,queue,give_up_s\na,0,100,0.5,,,1,q,\nc,0,10,0.5,,,1,q,\nb,0,10,,2,1,,q,150\n' >trace.csv
    expect "$(run '{name: static}' 'cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [1, 1]}, r: {gpu: [1, 1]}}
execution: {sharing: time_sliced}')" '150: a@0-110 c@0-20 b@-150'
    ;;
*) echo "no run $2"; exit 1 ;;
esac
