#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Hand-made cases of two to five jobs, each isolating one rule of backfilling, under both policies.
#
#   micro.sh ORRERY WORK_DIR CASES_DIR
set -eu

orrery=$1 work=$2 cases=$3
mkdir -p "$work"
dir=$(mktemp -d "$work/micro.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

wrong=0 count=0
while IFS=, read -r name processors policy starts; do
    [ "$name" != case ] || continue
    case $policy in
    fcfs) policy=fifo ;;
    esac
    "$orrery" run --trace "$cases/$name.swf" --cluster "${processors}x1" --split 1 --policy "$policy" \
        --quiet --no-progress --force -o "$dir/run.db" </dev/null
    "$orrery" export "$dir/run.db" jobs >"$dir/jobs.csv"
    got=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
                   { print $(c["job"]) "@" $(c["start_s"]) }' "$dir/jobs.csv" | sort -n | paste -s -d ' ' -)
    count=$((count + 1))
    if [ "$got" != "$starts" ]; then
        printf '%s under %s: %s, expected %s\n' "$name" "$policy" "$got" "$starts"
        wrong=1
    fi
done <"$cases/expected.csv"
[ "$count" -eq 16 ] || { printf '%s cases, expected 16\n' "$count"; exit 1; }
[ "$wrong" -eq 0 ] && printf '%s schedules are equal\n' "$count"
