#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What KAI's decisions cost: a cycle after one event on a large full cluster, and whole runs of a
# trace that queues deeply, in CPU time and as multiples of that of fifo on the same scenario.
#
#   kai.sh BUILD_DIR [ROUNDS]     an optimised build; default 3 rounds
#
# Exit 1 when a target is missed.
set -eu

build=$1 rounds=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
orrery=$build/orrery
library=$(find "$build" -name liborrery-core.a | head -n 1)
missed=0

cc=${CC:-gcc}
"$cc" -std=c11 -O2 -D_DEFAULT_SOURCE "$here/../cputime.c" -o "$dir/cputime"
"$cc" -std=c11 -O2 -I "$root/core/include" -I "$root/core/base/include" -I "$root/policies/include" \
    "$here/cycle.c" "$library" -lm -o "$dir/cycle"
"$dir/cycle" || missed=1

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
replay() { # FILE OPTION...
    to=$1
    shift
    "$dir/cputime" "$dir/out" "$orrery" run "$root/scenarios/paper/philly/philly.yaml" \
        --no-progress --force -o "$dir/run.db" "$@" >>"$to"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    replay "$dir/fifo" --policy fifo
    replay "$dir/kai_600"
    replay "$dir/kai_400" --variant gpus-400
    round=$((round + 1))
done
fifo=$(median "$dir/fifo")
for size in 600 400; do
    kai=$(median "$dir/kai_$size")
    awk -v size="$size" -v kai="$kai" -v fifo="$fifo" 'BEGIN {
        target = size == 600 ? 4 : 30
        printf "kai on %d GPUs: %.2f s, target <= %d; %.0f times fifo on 600 (%.3f s)\n", size, kai, target, kai / fifo, fifo
        exit kai > target
    }' || missed=1
done
exit "$missed"
