#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How long a report of about 100,000 generated jobs takes, with all figures. A measurement, no test.
#
#   report.sh ORRERY [QUEUES]
set -eu
orrery=$1 queues=${2:-20}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk -v n="$queues" 'BEGIN {
    print "apiVersion: orrery/v1alpha1\nkind: Scenario\nhorizon: 100d\npolicy: fifo"
    print "cluster: {pools: {h100: {nodes: 110, gpus: 8, rack_size: 4}}}\nqueues:"
    for (i = 0; i < n; i++) printf "  team-%03d: {gpu: [%d, 1, unlimited]}\n", i, 880 / n
    printf "workload:\n- name: jobs\n  kind: training\n  generate:\n    queues: {"
    for (i = 0; i < n; i++) printf "%steam-%03d: %d", (i > 0 ? ", " : ""), i, 200 / (i + 1) + 1
    print "}\n    sizes: {1: 60, 2: 15, 4: 10, 8: 10, 16: 4, 32: 1}"
    print "    arrivals: {pattern: office-hours, per_day: 1020}"
    print "    duration: {lognormal: {median: 20m, p95: 12h}, min: 10s, max: 2d}"
}' >"$dir/generated.yaml"
"$orrery" run "$dir/generated.yaml" -o "$dir/r.db" --no-progress | head -1
time -p "$orrery" report "$dir/r.db" -o "$dir/r.html" >"$dir/said"
