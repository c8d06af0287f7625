#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Devices and the MIG instances of each profile are apart: where a policy orders jobs by themselves, and no queue counts
# GPUs, the jobs of one kind have the places and times of a run in which there are no others. Random worlds of devices and
# two profiles; beside it the rules of audit, the books, and under easy no reservation that is delayed. And instances are
# as good as devices: on nodes of nothing but instances of 1g, jobs that ask as many of them have the places and times of
# jobs of devices on nodes with as many.
#
#   mig_apart.sh ORRERY [FROM COUNT]: worlds FROM (1) to FROM + COUNT - 1 (10 in all)
set -eu
LC_ALL=C
export LC_ALL
orrery=$(realpath "$1") from=${2:-1} count=${3:-10}
. "$(dirname "$0")/../scratch.sh"

world() { # SEED: d-I asks devices, a-I and b-I instances
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 7919; nodes = 1 + below(3); gpus = 2 + 2 * below(4); few = 1 + below(3)
            printf "cluster: {pools: {a: {nodes: %d, gpus: %d, mig: {1g.5gb: 7, 3g.20gb: %d}}}}\n", nodes, gpus, few
            print "queues: {q: {}}\nworkload: [{name: w, trace: t.csv}]"
            print "job,submit_s,run_s,deadline_s,pods,gpus_per_pod,mig_profile,queue" >"all.csv"
            for (i = 0; i < 150; i++) {
                at += below(20); kind = below(3); run = 5 + below(below(3) == 0 ? 900 : 90); pods = 1 + (below(3) == 0) * below(nodes)
                each = kind == 0 ? 1 + below(gpus) "," : kind == 1 ? ",1g.5gb*" 1 + below(7) : ",3g.20gb*" 1 + below(few)
                printf "%s-%d,%d,%d,%d,%d,%s,q\n", substr("dab", 1 + kind, 1), i, at, run, at + run * (2 + below(8)), pods, each >"all.csv"
            }
        }' >s.yaml
}
alike() { # SEED: the same jobs, of devices (devices.csv) and of instances (instances.csv)
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 104729; nodes = 2 + below(4); gpus = 1 + below(7)
            cluster = "cluster: {pools: {a: {nodes: %d, %s, rack_size: 2}}}\nqueues: {p: {}, q: {}}\nworkload: [{name: w, trace: t.csv}]\n"
            printf cluster, nodes, "gpus: " gpus >"devices.yaml"
            printf cluster, nodes, "gpus: 0, mig: {1g.5gb: " gpus "}" >"instances.yaml"
            head = "job,submit_s,run_s,deadline_s,pods,queue,topology_required,"
            print head "gpus_per_pod" >"devices.csv"
            print head "mig_profile" >"instances.csv"
            for (i = 0; i < 120; i++) {
                at += below(30); run = 5 + below(below(3) == 0 ? 900 : 90); pods = 1 + (below(3) == 0) * below(2); each = 1 + below(gpus)
                row = sprintf("j-%d,%d,%d,%d,%d,%s,%s,", i, at, run, at + run * (2 + below(8)), pods, below(2) ? "p" : "q", pods > 1 && below(2) ? "rack" : "")
                print row each >"devices.csv"
                print row "1g.5gb*" each >"instances.csv"
            }
        }'
}
one_run() { # TRACE OUT OPTION..: a run
    cp "$1" t.csv
    out=$2
    shift 2
    "$orrery" run s.yaml -o "$out" -q --force "$@" 2>err || fail "world $seed, $*: $(head -n 1 err)"
}
places() { # DB KIND
    sqlite3 -readonly "$1" "SELECT j.name, p.start_ms, p.end_ms, p.node, p.pods FROM v_placements AS p JOIN job AS j ON j.id = p.job
        WHERE j.name LIKE '$2-%' ORDER BY 1, 2, 3, 4, 5"
}
kept() {
    "$orrery" audit r.db >audit.txt || fail "world $seed, $policy: audit: $(grep ' at ' audit.txt | head -n 1)"
}

seed=$from paused=0 compared=0 promised=0
while [ "$seed" -lt $((from + count)) ]; do
    world "$seed"
    for policy in srtf edf las conservative 'fifo --param=backfill=true' 'fifo --param=backfill=true --param=placement=hived' \
        'fifo --param=backfill=true --param=placement=packing' 'srtf --param=placement=worst-fit' 'fifo --param=backfill=true --param=placement=best-fit'; do
        one_run all.csv r.db --check-books --policy $policy
        kept
        # a job of conservative that is due and finds no nodes has the reservations of all made anew
        [ "$policy" != conservative ] || grep -q 'nodes: 1,' s.yaml || continue
        kinds='d a b'
        case $policy in *hived) kinds=d ;; esac # whose scores look at devices
        for kind in $kinds; do
            sed -n "1p; /^$kind-/p" all.csv >some.csv
            one_run some.csv alone.db --policy $policy
            places r.db $kind >with
            places alone.db $kind >without
            cmp -s with without || fail "world $seed, $policy: jobs $kind are not as without others: $(diff with without | sed -n 2p)"
            compared=$((compared + $(wc -l <with)))
        done
        paused=$((paused + $(sqlite3 -readonly r.db "SELECT count(*) FROM eviction")))
    done
    alike "$seed"
    for policy in fifo easy conservative srtf edf las gittins themis drf static kube; do
        for kind in devices instances; do
            cp $kind.yaml s.yaml
            one_run $kind.csv $kind.db --check-books --policy $policy
            places $kind.db j >$kind
        done
        cmp -s devices instances || fail "world $seed, $policy: instances are not as devices: $(diff devices instances | sed -n 2p)"
        compared=$((compared + $(wc -l <devices)))
    done
    policy=easy
    world "$seed"
    one_run all.csv r.db --check-books --policy easy
    kept
    promised=$((promised + $(sed -n 's/^promise *\([0-9]*\) .*/\1/p' audit.txt)))
    seed=$((seed + 1))
done
[ "$paused" -gt $((count * 20)) ] || fail "only $paused jobs were paused"
[ "$promised" -gt $((count * 10)) ] || fail "only $promised promises were judged"
echo "$count worlds: $compared placements as without other kinds or as of devices, $paused pauses, $promised promises kept"
