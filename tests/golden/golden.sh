#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Digests and key numbers of a few runs against tests/golden/golden.txt.
#
#   golden.sh ORRERY [--update | NAME...]
#
# Without names all cases run. --update writes golden.txt anew: read the difference before you commit
# it, for a digest that changes means that some decision of some policy has changed.
set -eu

orrery=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
golden=$here/golden.txt
keys='jobs finished unfinished events cycles distinct_times queue_len_max makespan_s wait_mean_s
wait_p50_s wait_p95_s wait_p99_s wait_max_s bsld_mean jct_mean_s fairness_jain share_deviation
quota_debt_gpu_h gpu_occupancy digest'

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

world() { # NAME ROWS: a cut of one of the worlds of tests/bench
    sh "$root/tests/bench/worlds/worlds.sh" "$dir/worlds" -r "$2" -n 10 "$1"
    printf '%s\n' "$dir/worlds/$1.yaml"
}

options() { # CASE: the options of its run, one a line
    philly=$root/traces/data/philly.csv.gz
    hpc2n=$root/tests/peers/backfill/hpc2n-clean.swf.gz
    gangs=$root/tests/peers/phillygang/trace.csv.gz
    case $1 in
    philly_fifo) printf '%s\n' --trace "$philly" --cluster 112x8 --policy fifo ;;
    philly_backfill) printf '%s\n' --trace "$philly" --cluster 112x8 --policy fifo --param backfill=true ;;
    philly_crowded) printf '%s\n' --trace "$philly" --cluster 75x8 --policy fifo --param backfill=true ;;
    philly_shortest) printf '%s\n' --trace "$philly" --cluster 112x8 --policy fifo --param order=shortest ;;
    philly_mixed) printf '%s\n' --trace "$philly" --cluster 60x8 --cluster 80x4 --cluster 40x2 --policy fifo ;;
    philly_copies) printf '%s\n' --trace "$philly" --cluster 96x8 --copies 3 --policy fifo ;;
    hpc2n_fcfs) printf '%s\n' --trace "$hpc2n" --cluster 240x1 --split 1 --policy fifo ;;
    hpc2n_easy) printf '%s\n' --trace "$hpc2n" --cluster 240x1 --split 1 --policy easy ;;
    hpc2n_easy_nodes) printf '%s\n' --trace "$hpc2n" --cluster 30x8 --policy easy ;;
    gangs_easy) printf '%s\n' --trace "$gangs" --cluster 20x8 --policy easy ;;
    first) printf '%s\n' "$root/scenarios/first/first.yaml" ;;
    kai_philly) printf '%s\n' "$root/scenarios/paper/philly/philly.yaml" ;;
    kai_factory) printf '%s\n' "$root/scenarios/factory-4000/factory-4000.yaml" --set horizon=6d ;;
    kai_mixed) printf '%s\n' "$root/scenarios/mixed/mixed.yaml" ;;
    kai_everything) world everything 700 ;;
    kai_*) world "$(echo "${1#kai_}" | tr _ -)" 1500 ;;
    kueue_philly) printf '%s\n' "$root/scenarios/first/first.yaml" --policy kueue ;;
    kueue_mixed) printf '%s\n' "$root/scenarios/mixed/mixed.yaml" --policy kueue --param reclaim_within_cohort=any ;;
    kueue_fair) world deep 1500 && printf '%s\n' --policy kueue --param fair_sharing=default --param reclaim_within_cohort=any ;;
    kueue_preempt) world departments 1500 && printf '%s\n' --policy kueue --param reclaim_within_cohort=any \
        --param within_cluster_queue=lower-or-newer-equal-priority --param queueing_strategy=strict-fifo ;;
    kueue_ideal) world elastic 1500 && printf '%s\n' --policy kueue --param placement=ideal ;;
    kueue_everything) world everything 700 && printf '%s\n' --policy kueue --param reclaim_within_cohort=any ;;
    slurm_gangs) printf '%s\n' --trace "$gangs" --cluster 20x8 --policy slurm ;;
    slurm_multifactor) printf '%s\n' --trace "$hpc2n" --cluster 30x8 --policy slurm --param PriorityType=priority/multifactor \
        --param PriorityWeightAge=1000 --param PriorityWeightJobSize=500 ;;
    *) printf 'golden.sh: no case %s\n' "$1" >&2 && exit 2 ;;
    esac
}
cases='philly_fifo philly_backfill philly_crowded philly_shortest philly_mixed philly_copies
hpc2n_fcfs hpc2n_easy hpc2n_easy_nodes gangs_easy first kai_philly kai_factory kai_mixed kai_plain
kai_departments kai_deep kai_limits kai_cpu kai_cpu_short kai_elastic kai_fractions kai_kinds kai_topology
kai_everything kueue_philly kueue_mixed kueue_fair kueue_preempt kueue_ideal kueue_everything
slurm_gangs slurm_multifactor'

numbers() { # CASE: `case key value` a line
    options "$1" >"$dir/options"
    set -- "$1"
    while IFS= read -r option; do
        set -- "$@" "$option"
    done <"$dir/options"
    name=$1
    shift
    "$orrery" run "$@" --json --no-progress --force -o "$dir/run.db" >"$dir/run.json" 2>"$dir/run.err" || {
        cat "$dir/run.err" >&2
        return 1
    }
    awk -v name="$name" -v keys="$keys" '
        /^  "[a-z0-9_]+": / { key = $1; gsub(/[":]/, "", key); value = $2; gsub(/[",]/, "", value); have[key] = value }
        END { n = split(keys, list); for (i = 1; i <= n; i++) print name, list[i], have[list[i]] }' "$dir/run.json"
}

if [ "${1:-}" = --update ]; then
    for name in $cases; do
        numbers "$name"
    done >"$dir/golden.txt"
    cp "$dir/golden.txt" "$golden"
    exit 0
fi

wrong=0
for name in ${*:-$cases}; do
    numbers "$name" >"$dir/$name"
    grep "^$name " "$golden" >"$dir/$name.golden" || true
    diff "$dir/$name.golden" "$dir/$name" || wrong=1
done
[ "$wrong" -eq 0 ] || { printf '< golden, > now. If this is meant: golden.sh %s --update\n' "$orrery"; exit 1; }
