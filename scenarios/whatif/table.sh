#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of README.md: key numbers of every scenario here under three policies, and with variant `off`.
# usage: sh scenarios/whatif/table.sh [ORRERY]    default: build/user/orrery
set -eu
here=$(cd "$(dirname "$0")" && pwd)
orrery=${1:-$here/../../build/user/orrery}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# scenario, metric, queue (- is the whole run), kind (- is any), words
rows='lending wait_mean_s physics - mean wait of physics
lending wait_mean_s biology - mean wait of biology
lending makespan_s - - all done after
reclaim wait_max_s product - longest wait of product
reclaim quota_debt_gpu_h product - quota owed to product
reclaim lost_gpu_h - - lost to evictions
inference wait_max_s assistant inference longest wait of inference
inference wait_max_s assistant interactive longest wait of debugging
inference lost_gpu_h - - lost to evictions
fragmentation wait_max_s - - longest wait
fragmentation makespan_s - - all done after
fragmentation lost_gpu_h - - lost to evictions
gang wait_max_s pretrain - wait of the gang
gang wait_mean_s dev - mean wait of small jobs
gang lost_gpu_h - - lost to evictions
hoarding wait_p95_s train - p95 wait of training
hoarding gpu_h desk - held by notebooks
hoarding wait_p50_s desk - median wait of notebooks
turns gpu_h astro - held by astro
turns gpu_h genome - held by genome
turns lost_gpu_h - - lost to evictions
burst wait_max_s - - longest wait
burst run_cost - - cost of nodes'

run() { # SCENARIO COLUMN OPTION...: an unmet expectation (exit 1) is part of the story
    scenario=$1
    column=$2
    shift 2
    "$orrery" run "$here/$scenario/$scenario.yaml" "$@" --json --no-progress -o "$dir/$scenario-$column.db" \
        >"$dir/$scenario-$column.json" 2>"$dir/err" || [ $? -eq 1 ] || {
        cat "$dir/err" >&2
        exit 2
    }
}

value() { # FILE METRIC QUEUE KIND: in words
    awk -v metric="$2" -v queue="$3" -v kind="$4" '
        function words(v) {
            v += 0
            if (metric ~ /cost$/) return sprintf("%.0f", v)
            if (metric !~ /_s$/) return sprintf("%.0f GPU-h", v)
            if (v < 120) return sprintf("%.0f s", v)
            if (v < 7200) return sprintf("%.0f min", v / 60)
            return sprintf("%.1f h", v / 3600)
        }
        { key = $1; gsub(/[":]/, "", key); text = $2; gsub(/[",]/, "", text) }
        /^ *"queues": \[/ { inside = 1 }
        inside && /^ *\],?$/ { inside = 0 }
        inside && key == "name" { name = text }
        inside && key == "kind" { its_kind = text }
        key == metric && !found && (inside ? name == queue && (kind == "-" || its_kind == kind) : queue == "-") {
            found = 1
            print words(text)
        }
        END { if (!found) exit 2 }' "$1"
}

for scenario in lending reclaim inference fragmentation gang hoarding turns burst; do
    for policy in static kube kai; do
        run "$scenario" "$policy" --policy "$policy"
    done
    run "$scenario" off --variant off
done
echo '| scenario | number | static | kube | kai | kai, `off` |'
echo '|---|---|---|---|---|---|'
echo "$rows" | while read -r scenario metric queue kind words; do
    line="| $scenario | $words |"
    for column in static kube kai off; do
        cell=$(value "$dir/$scenario-$column.json" "$metric" "$queue" "$kind")
        line="$line $cell |"
    done
    echo "$line"
done
