#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes worlds that runs under kai are measured and checked on: a scenario and its trace each.
#
#   worlds.sh OUT [-s SEED] [-f FIRST] [-r ROWS] [-n NODES] [WORLD...]
#
# Every world replays the same rows of the shipped Philly trace on a cluster that is too small for
# them, and differs from `plain` in what its name says. Other seeds and windows make other worlds of
# the same kind. Without names all eleven are written, as OUT/WORLD.yaml and OUT/WORLD.csv; by name
# also `models`: nodes with three models of GPUs, of which most jobs ask one.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
out=$1
shift
seed=1 first=14000 rows=10000 nodes=48
while getopts s:f:r:n: option; do
    case $option in
    s) seed=$OPTARG ;;
    f) first=$OPTARG ;;
    r) rows=$OPTARG ;;
    n) nodes=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
all='plain departments deep limits cpu cpu-short elastic fractions kinds topology everything'
mkdir -p "$out"

for world in ${*:-$all}; do
    gzip -dc "$root/traces/data/philly.csv.gz" |
        awk -F, -v world="$world" -v out="$out" -v seed="$seed" -v first="$first" -v rows="$rows" \
            -v nodes="$nodes" '
    # Park and Miller; the products stay below 2^53, so that every awk draws the same.
    function draw(n) { state = state * 48271 % 2147483647; return int(state / 2147483647 * n) }
    function has(name) { return world == name || world == "everything" }
    BEGIN {
        for (i = 1; i <= length(world); i++) sum = sum * 31 + index("abcdefghijklmnopqrstuvwxyz-", substr(world, i, 1))
        # sum is beyond 2^53 for long names: the seed is added to what is left of it
        state = ((sum * 1000 + 1) % 2147483646 + (seed - 1) * 7919) % 2147483646 + 1
        for (i = 0; i < 20; i++) draw(1)
        parents = has("departments") || world == "deep" ? 3 : 0
        cpu = has("cpu") || world == "cpu-short"
        file = out "/" world ".csv"
        print "job,submit_s,run_s,pods,gpus_per_pod,queue,kind" (cpu ? ",cpu_milli,mem_mib" : "") \
            (has("fractions") ? ",gpu_fraction" : "") (has("kinds") ? ",priority" : "") \
            (has("elastic") ? ",min_pods" : "") (has("topology") ? ",topology_required,topology_preferred" : "") \
            (world == "models" ? ",gpu_model" : "") > file
    }
    NR == first + 2 { start = $2 }
    NR < first + 2 || NR >= first + 2 + rows { next }
    {
        pods = $4 > 8 ? int(($4 + 7) / 8) : 1
        gpus = $4 > 8 ? 8 : $4
        queue = world == "deep" ? $5 "-" draw(4) : $5
        kind = "training"; model = priority = min = required = preferred = part = ""
        if (has("kinds")) {
            r = draw(100)
            if (r >= 95) priority = "inference"
            else if (r >= 80) kind = "interactive"
        }
        if (has("elastic") && pods == 1 && (gpus == 4 || gpus == 8)) { pods = gpus; gpus = 1; min = pods / 2 }
        if (has("topology") && pods > 1) { if (draw(2) == 0) required = "rack"; else preferred = "rack" }
        milli = world == "cpu-short" ? 2000 * (1 + draw(3)) : 6000
        mib = world == "cpu-short" ? 8192 * 2 ^ draw(3) : 32768
        asks = gpus > 1 ? gpus : 1
        if (has("fractions") && pods == 1 && gpus == 1 && draw(100) < (world == "fractions" ? 50 : 30)) {
            part = draw(2) == 0 ? 0.25 : 0.5; gpus = ""
        }
        if (world == "models" && pods == 1) { r = draw(10); model = r < 3 ? "P100" : r < 5 ? "V100" : r < 7 ? "T4" : "" }
        print $1 "," $2 - start "," $3 "," pods "," gpus "," queue "," kind (cpu ? "," milli * asks "," mib * asks : "") \
            (has("fractions") ? "," part : "") (has("kinds") ? "," priority : "") (has("elastic") ? "," min : "") \
            (has("topology") ? "," required "," preferred : "") \
            (world == "models" ? "," model : "") > file
    }
    END {
        split("6214e9 b436b2 ee9e8c 7f04ca 6c71a0 0e4a51 11cb48 e13805 2869ce ed69ec 103959 23dbec 51b7ef 795a4c 925e2b", names, " ")
        split("109 109 109 54 54 54 27 27 27 13 13 0 0 0 0", shares, " ")
        file = out "/" world ".yaml"
        print "apiVersion: orrery/v1alpha1\nkind: Scenario\ncluster:\n  pools:" > file
        fewer = world == "models" ? int(nodes / 4) : 0
        printf "    p100: {nodes: %d, gpus: 8, gpu_model: P100%s%s}\n", nodes - 2 * fewer, \
            world == "cpu-short" ? ", cpu: 48, memory: 256Gi" : cpu ? ", cpu: 64, memory: 512Gi" : "", \
            has("topology") ? ", rack_size: 8" : "" > file
        if (fewer) printf "    v100: {nodes: %d, gpus: 8, gpu_model: V100}\n    t4: {nodes: %d, gpus: 8, gpu_model: T4}\n", fewer, fewer > file
        print "queues:" > file
        for (i = 1; i <= 15; i++) {
            quota[i] = int(shares[i] * nodes * 8 / 600)
            if (parents) total[(i - 1) % parents] += quota[i]
        }
        for (d = 0; d < parents; d++) printf "  dep%d: {gpu: [%d, 1, unlimited]}\n", d, total[d] > file
        for (i = 1; i <= 15; i++) {
            printf "  \"%s\": {%sgpu: [%d, 1, %s]}\n", names[i], parents ? "parent: dep" (i - 1) % parents ", " : "", \
                quota[i], has("limits") ? quota[i] * 2 + 30 : "unlimited" > file
            for (t = 0; t < 4 && world == "deep"; t++)
                printf "  \"%s-%d\": {parent: \"%s\", gpu: [%d, %d, unlimited]}\n", names[i], t, names[i], int(quota[i] / 4), 1 + t % 2 > file
        }
        printf "workload:\n- {name: philly, kind: training, trace: %s.csv}\npolicy: {name: kai}\n", world > file
        print "execution: {on_evict: checkpoint, checkpoint: 30min, grace: 30s}\nvariants:\n  fifo: {policy.name: fifo}" > file
    }'
done
