#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Counts what the event loop executes with every feature off, by source file: the shipped Philly trace
# under fifo on 96 nodes of 8 GPUs, user instructions within orr_engine_run, under valgrind.
#
#   instructions.sh ORRERY [BEFORE]     BEFORE: another build of the program, to compare with
#
# Both must be optimised builds of the same compiler. Exit 1 when ORRERY takes more than 5 % more.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

count() { # ORRERY NAME: lines of `file instructions`; what divides shares is put together as `oracle`
    valgrind --tool=callgrind --callgrind-out-file="$dir/$2.out" --toggle-collect=orr_engine_run "$1" run \
        --trace "$root/traces/data/philly.csv.gz" --cluster 96x8 --policy fifo -o "$dir/b.db" --force -q \
        2>"$dir/$2.err" || { cat "$dir/$2.err" >&2; exit 1; }
    callgrind_annotate --auto=no --threshold=100 "$dir/$2.out" | awk '
        /^ *[0-9,]+ \(.*%\) .*:/ {
            count = $1
            gsub(",", "", count)
            name = $0
            sub(/^[^)]*\) +/, "", name)
            sub(/ \[.*/, "", name)
            file = name
            sub(/:[^:]*$/, "", file)
            sub(/.*\//, "", file)
            if (file ~ /^oracle/ || name ~ /:(settle_shares|recompute_shares|list_excess)/) file = "oracle"
            sum[file] += count
            all += count
        }
        END { for (file in sum) print file, sum[file]; print "ALL", all }' >"$dir/$2"
}

count "$1" now
[ $# -lt 2 ] || count "$2" before
touch "$dir/before"
awk -v compare="$#" '
    FILENAME ~ /before$/ { before[$1] = $2; seen[$1] }
    FILENAME ~ /now$/ { now[$1] = $2; seen[$1] }
    END {
        for (file in seen)
            if (before[file] + now[file] > 500000)
                printf "%-24s %8.1f %8.1f %+8.1f\n", file, before[file] / 1e6, now[file] / 1e6,
                    (now[file] - before[file]) / 1e6 | "sort -k3 -n -r"
        close("sort -k3 -n -r")
        exit compare > 1 && now["ALL"] > 1.05 * before["ALL"]
    }' "$dir/before" "$dir/now"
