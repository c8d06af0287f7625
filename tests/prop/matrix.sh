#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every policy times every invariant, on random worlds: a policy that is registered is in, an invariant of matrix.sql is too.
#
#   matrix.sh ORRERY [FROM COUNT]: worlds FROM (1) to FROM + COUNT - 1 (3 in all)
#
# Beside matrix.sql: the books that `--check-books` makes again, the rules of `audit` under the policy's own name, and
# that a second run without a look at the books is the same, row by row.
set -eu
LC_ALL=C
export LC_ALL
orrery=$(realpath "$1") from=${2:-1} count=${3:-3} invariants=$(realpath "$(dirname "$0")")/matrix.sql
. "$(dirname "$0")/../scratch.sh"

# What a policy does not promise; whoever is not listed promises all.
excused() {
    case $1:$2 in
    kube:gang | kueue:gang) ;;  # pods are placed one by one
    kube:starvation) ;;         # two jobs may hold what the other waits for
    *) return 1 ;;
    esac
}

world() { # SEED: nodes of two kinds, three queues, gangs; a node fails in every other
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 7919; nodes = 2 + below(3)
            printf "cluster: {pools: {a: {nodes: %d, gpus: 8, gpu_model: A100}, b: {nodes: 4, gpus: 4, gpu_model: H100}}}\n", nodes
            gpus = 8 * nodes + 16; x = 8 + below(gpus - 16); y = 4 + below(gpus - x - 8)
            printf "queues: {x: {gpu: [%d, 1, unlimited]}, y: {gpu: [%d, 2, unlimited]}, z: {gpu: [%d, 1, unlimited]}}\n",
                x, y, gpus - x - y
            print "workload: [{name: w, trace: t.csv}]\npolicy: fifo"
            if (seed % 2 == 0) {
                print "execution: {checkpoint: 50s, checkpoint_cost: 2s, restart: 3s}"
                printf "events: [{at: %ds, fail: a-0001, for: 300s}]\n", 500 + below(900)
            }
        }' >s.yaml
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 104729; print "job,submit_s,run_s,pods,gpus_per_pod,queue,priority,time_limit_s,deadline_s"
            for (i = 0; i < 60; i++) {
                at += below(30); run = 1 + below(300); pods = 1 + below(3); each = 2 ^ below(3)
                queue = substr("xyz", 1 + below(3), 1); priority = 25 * below(3); limit = run * (1 + below(2))
                printf "j%d,%d,%d,%d,%d,%s,%d,%d,%d\n", i, at, run, pods, each, queue, priority, limit, run * (1 + below(4))
            }
        }' >t.csv
}

broken=0 looked=0
wrong() {
    echo "world $seed, policy $as: $*"
    broken=$((broken + 1))
}
one_run() { # FILE OPTIONS...
    file=$1
    shift
    [ "$policy" = "$as" ] || set -- "$@" --param "${as#*,}"
    "$orrery" run s.yaml --policy "$policy" -o "$file" -q --force "$@" >out 2>err
}
# all there are, and again with a parameter that promises something of its own
policies="$("$orrery" policies | awk 'NF == 0 { exit } { print $1 }') kai,reservation=100s"
reservations=0
seed=$from
while [ "$seed" -lt $((from + count)) ]; do
    world "$seed"
    for as in $policies; do
        policy=${as%%,*}
        one_run r.db --check-books || { wrong "the run: $(head -n 1 err)"; continue; }
        one_run again.db || fail "world $seed, policy $as: a second run fails"
        "$orrery" audit r.db >audit.txt || wrong "audit: $(grep ' at ' audit.txt | head -n 1)"
        grep -q "^rules of $policy: kept" audit.txt || wrong "audit has no rules of its own for it"
        reservations=$((reservations + $(awk '$1 == "reservation" { n = $2 } END { print n + 0 }' audit.txt)))
        for db in r again; do
            sqlite3 -readonly $db.db 'SELECT digest FROM run; SELECT * FROM v_placements ORDER BY 1, 2, 3, 6, 7' >$db.txt
        done
        cmp -s r.txt again.txt || wrong determinism
        sqlite3 -bail r.db <"$invariants" >rows.txt
        while IFS='|' read -r invariant examined found; do
            looked=$((looked + examined))
            [ "$examined" -gt 0 ] || wrong "$invariant: nothing to look at"
            [ "$found" = 0 ] || excused "$policy" "$invariant" || wrong "$invariant: $found of $examined"
        done <rows.txt
    done
    seed=$((seed + 1))
done
[ "$looked" -gt 0 ] || fail 'nothing was looked at'
[ "$reservations" -gt 0 ] || fail 'no reservation was looked at'
[ "$broken" -eq 0 ] && echo "$count worlds, $(echo "$policies" | wc -w) policies, $(wc -l <rows.txt) invariants: $looked looks, none broken"
