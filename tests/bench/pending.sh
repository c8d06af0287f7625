#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pending.sh ORRERY [POLICY...]: what a cycle costs with 10,000 jobs waiting for 600 GPUs: CPU time of a run with 300 arrivals of which
# none fits, less that of a run without, over the cycles between them. Prints policy, cycles, ms a cycle.
set -eu
orrery=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,time_limit_s,queue,user"
    for (i = 0; i < 10150; i++) printf "j%d,%d,%d,1,%d,%d,q%d,u%d\n", i, i < 10000 ? 0 : 0, 86400 + i % 97 * 60, 2 ^ (i % 4), 100000, i % 8, i % 50 }' >few.csv
cp few.csv many.csv
awk 'BEGIN { for (i = 0; i < 300; i++) printf "k%d,%d,86400,1,%d,100000,q%d,u%d\n", i, 1000 + 10 * i, 2 ^ (i % 4), i % 8, i % 50 }' >>many.csv
for policy in "$@"; do
    for trace in few many; do
        cat >s.yaml <<END
cluster: {pools: {p: {nodes: 75, gpus: 8}}}
queues: {q0: {gpu: [75, 1, unlimited]}, q1: {gpu: [75, 1, unlimited]}, q2: {gpu: [75, 1, unlimited]}, q3: {gpu: [75, 1, unlimited]}, q4: {gpu: [75, 1, unlimited]}, q5: {gpu: [75, 1, unlimited]}, q6: {gpu: [75, 1, unlimited]}, q7: {gpu: [75, 1, unlimited]}}
workload: [{name: t, trace: $trace.csv}]
horizon: 4000s
warmup: 0s
policy: $policy
END
        "$orrery" run s.yaml -q --json --force -o "$trace.db" >"$trace.json" 2>err || { cat err >&2; exit 1; }
        sqlite3 "$trace.db" "SELECT cycles FROM run" 2>/dev/null >"$trace.cycles" || grep -o '"cycles": *[0-9]*' "$trace.json" | grep -o '[0-9]*$' >"$trace.cycles"
        sqlite3 "$trace.db" "SELECT value FROM run_meta WHERE key = 'cpu_s'" >"$trace.cpu"
    done
    echo "$policy $(cat few.cycles) $(cat many.cycles) $(cat few.cpu) $(cat many.cpu)" |
        awk '{ printf "%s: %d cycles, %.2f ms\n", $1, $3 - $2, 1000 * ($5 - $4) / ($3 - $2) }'
done
