#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# random.sh ORRERY DRAW FROM COUNT [--keep]: runs the scenarios of so many seeds with everything that can
# judge a run. Prints each seed that fails and why; with --keep its folder stays, in seed-N here.
set -eu
orrery=$(realpath "$1") draw=$(realpath "$2") from=$3 count=$4 keep=${5-} here=$(cd "$(dirname "$0")" && pwd)
start=$PWD limit=${ORR_RANDOM_LIMIT:-60} without=${ORR_RANDOM_WITHOUT:-}
. "$here/../scratch.sh"
. "$here/judge.sh"

seed=$from failed=0 empty=0
while [ "$seed" -lt $((from + count)) ]; do
    mkdir "$seed"
    "$draw" "$seed" "$seed" ${without:+"--without=$without"}
    verdict=$(judge "$seed")
    case $verdict in
    right) ;;
    empty) empty=$((empty + 1)) ;;
    *)
        failed=$((failed + 1))
        printf 'seed %s: %s\n' "$seed" "$verdict"
        [ -z "$keep" ] || { rm -rf "$start/seed-$seed"; cp -r "$seed" "$start/seed-$seed"; }
        ;;
    esac
    rm -rf "$seed"
    seed=$((seed + 1))
done
echo "$count scenarios from seed $from: $failed failed, $empty without a job that could run"
[ "$failed" -eq 0 ]
