#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the program against a limit program, interleaved in one session: ratios of CPU time, because
# absolute times depend on what else the machine does.
#
#   bench.sh ORRERY [ROUNDS [LARGE_ROUNDS]]     default 7 rounds, 3 of ten million jobs (0: none)
#
# ORRERY must be an optimised build. Exit 1 when a target is missed.
set -eu

orrery=$1 rounds=${2:-7} large_rounds=${3:-3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

cc=${CC:-gcc}
"$cc" -std=c11 -O3 -march=native -w "$here/limit/replay.c" -o "$dir/replay" -lcsv -lsqlite3 -lm -lpthread
"$cc" -std=c11 -O2 -D_DEFAULT_SOURCE "$here/cputime.c" -o "$dir/cputime"
gzip -dc "$root/traces/data/philly.csv.gz" | awk -f "$here/philly_csv.awk" >"$dir/philly.csv"

number() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*\$/\1/p" "$2" | head -n 1; }
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
minimum() { sort -n "$1" | head -n 1; }
replay_orrery() { # CPU_FILE OPTION...
    to=$1
    shift
    "$dir/cputime" "$dir/run.json" "$orrery" run --trace "$dir/philly.csv" --cluster 311x8 --policy fifo \
        --json --no-progress --force -o "$dir/run.db" "$@" >>"$to"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    "$dir/cputime" "$dir/out" "$dir/replay" -f "$dir/philly.csv" -s nodes -p libcsv -o sqlite -r 1 \
        -d "$dir/limit.db" >>"$dir/limit_total"
    awk '$1 == "simulate" { print $2 }' "$dir/out" >>"$dir/limit_simulate"
    replay_orrery "$dir/total"
    number simulate_s "$dir/run.json" >>"$dir/simulate"
    for phase in read prepare summarise store; do
        number "${phase}_s" "$dir/run.json" >>"$dir/$phase"
    done
    round=$((round + 1))
done
grep '^# jobs' "$dir/out" >"$dir/limit_counts"
for count in events distinct_times makespan_s; do
    # both replay the same schedule, or the comparison means nothing
    value=$(number "$count" "$dir/run.json")
    grep -q -w "$value" "$dir/limit_counts" || {
        printf '%s %s is not what the limit program has: %s\n' "$count" "$value" "$(cat "$dir/limit_counts")"
        exit 1
    }
done
events=$(number events "$dir/run.json")
jobs=$(number jobs "$dir/run.json")
memory=$(number peak_rss_mib "$dir/run.json")

missed=0
# judge NAME VALUE TARGET DETAIL
judge() {
    verdict=$(awk -v v="$2" -v t="$3" 'BEGIN { print v <= t ? "met" : "MISSED" }')
    [ "$verdict" = met ] || missed=1
    awk -v n="$1" -v v="$2" -v t="$3" -v d="$4" -v x="$verdict" \
        'BEGIN { printf "%-44s %8.2f   target <= %-5g %-7s %s\n", n, v, t, x, d }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'; }
milliseconds() { awk -v a="$1" 'BEGIN { printf "%.1f ms", a * 1000 }'; }

printf '%s\n%s rounds, medians; ' "$(uname -srm), $(sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(getconf _NPROCESSORS_ONLN) cores" "$rounds"
printf 'phases:'
for phase in read prepare simulate summarise store; do
    printf ' %s %s' "$phase" "$(milliseconds "$(median "$dir/$phase")")"
done
printf '\n'
total=$(median "$dir/total") limit_total=$(median "$dir/limit_total")
simulate=$(median "$dir/simulate") limit_simulate=$(median "$dir/limit_simulate")
judge 'whole run / limit program' "$(ratio "$total" "$limit_total")" 1.2 \
    "$(milliseconds "$total") / $(milliseconds "$limit_total")"
judge 'event loop / limit program' "$(ratio "$simulate" "$limit_simulate")" 4 \
    "$(milliseconds "$simulate") / $(milliseconds "$limit_simulate")"

if [ "$large_rounds" -gt 0 ]; then
    round=0
    while [ "$round" -lt "$large_rounds" ]; do
        replay_orrery "$dir/large_total" --copies 122
        number simulate_s "$dir/run.json" >>"$dir/large_simulate"
        rm -f "$dir/run.db"
        round=$((round + 1))
    done
    large_events=$(number events "$dir/run.json")
    large_jobs=$(number jobs "$dir/run.json")
    large_memory=$(number peak_rss_mib "$dir/run.json")
    one=$(ratio "$(minimum "$dir/simulate")" "$events")
    many=$(ratio "$(minimum "$dir/large_simulate")" "$large_events")
    judge 'ns an event, ten million jobs / one copy' "$(ratio "$many" "$one")" 1.6 \
        "$(awk -v a="$many" -v b="$one" 'BEGIN { printf "%.0f ns / %.0f ns, minima of '"$large_rounds and $rounds"'", a * 1e9, b * 1e9 }')"
    judge 'bytes a job' "$(awk -v a="$large_memory" -v b="$memory" -v n="$large_jobs" -v m="$jobs" \
        'BEGIN { print (a - b) * 1048576 / (n - m) }')" 160 "$large_memory MiB with $large_jobs jobs, $memory with $jobs"
fi
exit "$missed"
