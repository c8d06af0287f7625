#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How the cost of policy kai grows with the cluster: single cycles, and whole runs.
#
#   scale.sh BUILD_DIR [COPIES]     an optimised build; COPIES of the trace for each 1,000 nodes,
#                                   default 3: a million jobs on 4,000 nodes
#
# Nodes 1,000, 4,000 and 10,000, with 50 queues under 5 departments; every pod asks CPU and memory,
# gangs must share a block and should share a rack. Work grows with the nodes, so that a cost an
# event that does not depend on their number has exponent 0.
set -eu

build=$1 copies=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
sizes='1000 4000 10000'

cc=${CC:-gcc}
"$cc" -std=c11 -O2 -I "$root/core/include" -I "$root/core/base/include" -I "$root/policies/include" \
    "$here/cycle.c" "$(find "$build" -name liborrery-core.a | head -n 1)" -lm -o "$dir/cycle"
for nodes in $sizes; do
    printf '%s nodes: ' "$nodes"
    "$dir/cycle" "$nodes" | tee "$dir/cycles"
    sed -n 's/^an arrival.*median *\([0-9.]*\) ms.*/\1/p' "$dir/cycles" | sed "s/^/$nodes /" >>"$dir/arrival"
done

gzip -dc "$root/traces/data/philly.csv.gz" | awk -F, '
    NR == 1 { print "job,submit_s,run_s,pods,gpus_per_pod,queue,kind,cpu_milli,mem_mib,topology_required,topology_preferred"; next }
    {
        pods = $4 > 8 ? int(($4 + 7) / 8) : 1
        gpus = $4 > 8 ? 8 : $4
        asks = gpus > 1 ? gpus : 1
        print $1 "," $2 "," $3 "," pods "," gpus ",q" NR % 50 ",training," 6000 * asks "," 32768 * asks \
            "," (pods > 1 ? "block" : "") "," (pods > 1 ? "rack" : "")
    }' >"$dir/scale.csv"
number() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*\$/\1/p" "$dir/run.json" | head -n 1; }
for nodes in $sizes; do
    {
        printf 'apiVersion: orrery/v1alpha1\nkind: Scenario\ncluster:\n  pools:\n'
        printf '    p100: {nodes: %s, gpus: 8, gpu_model: P100, cpu: 64, memory: 512Gi, rack_size: 8, block_size: 64}\n' "$nodes"
        printf 'queues:\n'
        for d in 0 1 2 3 4; do printf '  d%s: {gpu: [%s, 1, unlimited]}\n' "$d" $((nodes * 8 / 5)); done
        q=0
        while [ "$q" -lt 50 ]; do
            printf '  q%s: {parent: d%s, gpu: [%s, 1, unlimited]}\n' "$q" $((q % 5)) $((nodes * 8 / 50))
            q=$((q + 1))
        done
        printf 'workload:\n- {name: philly, kind: training, trace: scale.csv}\npolicy: {name: kai}\n'
    } >"$dir/scale.yaml"
    "$build/orrery" run "$dir/scale.yaml" --set workload.philly.copies=$((nodes * copies / 1000)) --json --no-progress --force \
        -o "$dir/run.db" >"$dir/run.json"
    simulate=$(number simulate_s) events=$(number events)
    awk -v n="$nodes" -v j="$(number jobs)" -v e="$events" -v s="$simulate" -v m="$(number peak_rss_mib)" 'BEGIN {
        printf "%d nodes: %d jobs, %d events, simulate %.1f s, %.2f us an event, %d MiB\n", n, j, e, s, s / e * 1e6, m }'
    awk -v n="$nodes" -v e="$events" -v s="$simulate" 'BEGIN { print n, s / e }' >>"$dir/event"
done
# exponent NAME FILE: of the last size against the first
exponent() {
    awk -v name="$1" 'NR == 1 { n = $1; v = $2 } { m = $1; w = $2 }
        END { printf "%s grows as nodes ^ %.2f\n", name, log(w / v) / log(m / n) }' "$2"
}
exponent 'a cycle after an arrival that finds no room' "$dir/arrival"
exponent 'an event of a whole run' "$dir/event"
