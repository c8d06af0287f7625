#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Pods whose GPUs change while they run (kai's resize_pods), on random worlds: resize.sql has what must hold of each run.
# Beside it: the rules of audit and the books, a second run that is the same, and that the parameter changes nothing
# where each pod needs all its GPUs.
#
#   resize.sh ORRERY [FROM COUNT]: worlds FROM (1) to FROM + COUNT - 1 (6 in all)
set -eu
LC_ALL=C
export LC_ALL
orrery=$(realpath "$1") from=${2:-1} count=${3:-6} invariants=$(realpath "$(dirname "$0")")/resize.sql
. "$(dirname "$0")/../scratch.sh"

world() { # SEED: two queues that take from each other; jobs n-LEAST-I of one to three pods that run with LEAST GPUs or more
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 7919; nodes = 3 + below(3); gpus = 8 * nodes; x = 4 + below(gpus - 8)
            printf "cluster: {pools: {a: {nodes: %d, gpus: 8, cpu: 64}}}\n", nodes
            printf "queues: {x: {gpu: [%d, 1, unlimited]}, y: {gpu: [%d, 2, unlimited]}}\n", x, gpus - x
            print "profiles: {linear: {kind: speedup, speedup: {1: 1, 24: 24}}}"
            print "templates: {n-1: {min_gpus_per_pod: 1, profile: linear}, n-2: {min_gpus_per_pod: 2, profile: linear}," \
                " n-8: {min_gpus_per_pod: 8, profile: linear}}"
            print "workload: [{name: w, trace: t.csv}]"
            printf "policy: {name: kai, params: {gpu_strategy: %s, default_reclaim_min_runtime: 60s, default_preempt_min_runtime: 60s}}\n", below(2) ? "spread" : "binpack"
        }' >s.yaml
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 104729; print "job,submit_s,run_s,template,pods,gpus_per_pod,queue,priority,cpu_milli"
            for (i = 0; i < 50; i++) {
                at += below(40); least = 1 + below(2); pods = 1 + below(3); each = 1 + below(8)
                printf "n-%d-%d,%d,%d,n-%d,%d,%d,%s,%d,%d\n", least, i, at, 1 + below(300), least, pods, each,
                    substr("xy", 1 + below(2), 1), 25 * below(3), 1000 * below(9)
            }
        }' >t.csv
}
digest() { sqlite3 -readonly "$1" 'SELECT digest FROM run'; }
one_run() { "$orrery" run s.yaml -o "$@" -q --force 2>err || fail "world $seed: $(head -n 1 err)"; }

seed=$from grown=0 shrunk=0 kept=0
while [ "$seed" -lt $((from + count)) ]; do
    world "$seed"
    one_run r.db --param resize_pods=true --check-books
    one_run again.db --param resize_pods=true
    [ "$(digest r.db)" = "$(digest again.db)" ] || fail "world $seed: a second run differs"
    "$orrery" audit r.db >audit.txt || fail "world $seed: audit: $(grep ' at ' audit.txt | head -n 1)"
    sqlite3 -bail r.db <"$invariants" >rows.txt
    while IFS='|' read -r invariant examined found; do
        case $invariant in
        grown) grown=$((grown + examined)) ;;
        shrunk) shrunk=$((shrunk + examined)) ;;
        *)
            [ "$invariant" != kept ] || kept=$((kept + examined))
            [ "$found" = 0 ] || fail "world $seed: $invariant: $found of $examined"
            ;;
        esac
    done <rows.txt
    sed -i 's/,n-[12],/,n-8,/' t.csv
    one_run whole.db --param resize_pods=true
    one_run fixed.db
    [ "$(digest whole.db)" = "$(digest fixed.db)" ] || fail "world $seed: pods that need all their GPUs are decided otherwise"
    seed=$((seed + 1))
done
[ "$grown" -gt 0 ] || fail 'no pod grew'
[ "$shrunk" -gt 0 ] || fail 'no pod shrank'
[ "$kept" -gt 0 ] || fail 'no job that gave up GPUs was looked at'
echo "$count worlds: $grown GPUs were gained and $shrunk given up by pods that ran on"
