#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of README.md: each story under kai and under kueue as its variants set it up.
# usage: sh table.sh [ORRERY]    default: build/user/orrery
set -eu
here=$(cd "$(dirname "$0")" && pwd)
orrery=${1:-$here/../../../build/user/orrery}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

line() { # STORY VARIANT QUEUE...: mean wait of each queue, and what it cost
    story=$1 variant=$2
    shift 2
    if [ "$variant" = kai ]; then
        "$orrery" run "$here/$story.yaml" -o "$dir/run.db" --quiet --no-progress --force
    else
        "$orrery" run "$here/$story.yaml" --variant "$variant" -o "$dir/run.db" --quiet --no-progress --force
    fi
    "$orrery" export "$dir/run.db" metric >"$dir/metric"
    "$orrery" export "$dir/run.db" jobs >"$dir/jobs"
    awk -F, -v variant="$variant" -v queues="$*" '
        function words(s) {
            return s < 120 ? sprintf("%.0f s", s) : s < 7200 ? sprintf("%.0f min", s / 60) : sprintf("%.1f h", s / 3600)
        }
        FNR == 1 {file++; for (i = 1; i <= NF; i++) at[file, $i] = i; next}
        file == 1 && $2 == "all" {value[$1] = $4; next}
        file == 2 {
            n[$2]++
            wait[$2] += $at[2, "wait_s"]
            end = $at[2, "end_s"] > end ? $at[2, "end_s"] : end
        }
        END {
            printf "| `%s` |", variant
            count = split(queues, queue, " ")
            for (i = 1; i <= count; i++) printf " %s |", words(wait[queue[i]] / n[queue[i]])
            printf " %d | %.0f GPU-h | %.1f h |\n", value["evictions"], value["lost_gpu_h"], end / 3600
        }' "$dir/metric" "$dir/jobs"
}

table() { # STORY "QUEUE..." VARIANT...
    story=$1 queues=$2
    shift 2
    printf '| %s |' "$story"
    for queue in $queues; do
        printf ' %s waits |' "$queue"
    done
    printf ' evictions | lost | all done |\n|---|'
    for column in $queues 1 2 3; do
        printf '%s---|' "${column#"$column"}"
    done
    printf '\n'
    for variant in kai "$@"; do
        # shellcheck disable=SC2086 # the queues are words
        line "$story" "$variant" $queues
    done
}

table cohorts 'vision nlp chat ranking' kueue reclaim lend nothing-lent
echo
table starved 'pretrain dev' kueue reclaim patient packed ideal
echo
table shares 'astro bio chem' kueue classic fair
echo
table flavors 'train tune' kueue reclaim own-first
