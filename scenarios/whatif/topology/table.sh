#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The two tables of README.md: the same gang in three places, and gangs under load with topology
# required, preferred and ignored. usage: sh table.sh [ORRERY]    default: build/user/orrery
set -eu
here=$(cd "$(dirname "$0")" && pwd)
orrery=${1:-$here/../../../build/user/orrery}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

run() { # SCENARIO OPTION...: an unmet expectation (exit 1) is part of the story
    scenario=$1
    shift
    "$orrery" run "$here/$scenario" "$@" --quiet --no-progress --force -o "$dir/run.db" >"$dir/out" 2>&1 || [ $? -eq 1 ] || {
        cat "$dir/out" >&2
        exit 2
    }
    "$orrery" export "$dir/run.db" v_rates >"$dir/rates"
    "$orrery" export "$dir/run.db" jobs >"$dir/jobs"
}

echo '| gang of 64 | GPUs within one | nodes | rate | run time |'
echo '|---|---|---|---|---|'
run placements.yaml --seed 1
awk -F, 'FNR == 1 {next} {printf "| %s | %s | %d | %.3f | %.2f h |\n", $1, $7, $9, $5, ($4 - $3) / 3600}' "$dir/rates"
echo
echo '| topology is | mean wait | rate while it ran | in one rack | submit to end | wait of the others | occupancy | goodput |'
echo '|---|---|---|---|---|---|---|---|'
for variant in required still preferred off; do
    if [ "$variant" = required ]; then
        run topology.yaml
    else
        run topology.yaml --variant "$variant"
    fi
    "$orrery" export "$dir/run.db" metric >"$dir/metrics"
    awk -F, -v variant="$variant" '
        FNR == 1 {file++; for (i = 1; i <= NF; i++) at[file, $i] = i; next}
        file == 1 {span = $4 - $3; work += span * $5; time += span; all++; rack += $7 == "rack"}
        file == 2 && $1 ~ /^gang/ {gangs++; wait += $at[2, "wait_s"]; jct += $at[2, "end_s"] - $at[2, "submit_s"]}
        file == 2 && $1 ~ /^box/ {boxes++; others += $at[2, "wait_s"]}
        file == 3 && $2 == "all" && $1 == "gpu_occupancy" {occupancy = $4}
        file == 3 && $2 == "all" && $1 == "gpu_goodput" {goodput = $4}
        END {printf "| `%s` | %.0f min | %.3f | %.0f %% | %.2f h | %.0f min | %.3f | %.3f |\n", variant, wait / gangs / 60,
            work / time, 100 * rack / all, jct / gangs / 3600, others / boxes / 60, occupancy, goodput}' "$dir/rates" "$dir/jobs" "$dir/metrics"
done
