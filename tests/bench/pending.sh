#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pending.sh ORRERY [POLICY...]: what a cycle costs with 10,000 jobs waiting for 600 GPUs, and 2,000 that come one by one and find no room:
# CPU time of a run of 21,000 s less that of its first 1,000 s, over the cycles in between (rounds, for those that act in rounds). Without
# a name all policies, and gavel by each objective: a name may have a parameter behind it (gavel,objective=makespan). Prints policy, cycles, ms a
# cycle; needs sqlite3.
set -eu
orrery=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- $("$orrery" policies | awk 'NF == 0 { exit } { print $1 }') gavel,objective=finish-time-fairness \
    gavel,objective=makespan gavel,objective=throughput
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,time_limit_s,queue,user"
    for (i = 0; i < 12150; i++)
        printf "j%d,%d,%d,1,%d,100000,q%d,u%d\n", i, i < 10150 ? 0 : 1000 + 10 * (i - 10150), 86400 + i % 97 * 60, 2 ^ (i % 4), i % 8, i % 50 }' >t.csv
for policy in "$@"; do
    params=$(echo "$policy" | awk -F, 'NF > 1 { sub("=", ": ", $2); print $2 }')
    for horizon in 1000 21000; do
        cat >s.yaml <<END
cluster: {pools: {p: {nodes: 75, gpus: 8}}}
queues: { $(for q in 0 1 2 3 4 5 6 7; do printf 'q%d: {gpu: [75, 1, unlimited]}, ' "$q"; done)}
workload: [{name: t, trace: t.csv}]
horizon: ${horizon}s
warmup: 0s
policy: {name: ${policy%%,*}, params: {$params}}
END
        for round in 1 2 3; do # the least of three: others may work beside
            "$orrery" run s.yaml --json --force -o run.db >run.json 2>err || { cat err >&2; exit 1; }
            sqlite3 run.db "SELECT value FROM run_meta WHERE key = 'cpu_s'"
        done | sort -n | head -n 1 >cpu
        echo "$(grep -o '"cycles": *[0-9]*' run.json | grep -o '[0-9]*$') $(cat cpu)"
    done | awk -v policy="$policy" 'NR == 1 { cycles = $1; cpu = $2 }
        NR == 2 { printf "%s: %d cycles, %.3f ms\n", policy, $1 - cycles, 1000 * ($2 - cpu) / ($1 - cycles) }'
done
