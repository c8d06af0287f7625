#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Small crowded worlds with many features at once, drawn by seed: decided with all pruners, with none, and with each
# refutation tried all the same. Worlds of tests/bench/worlds have one feature each, or all; faults of pruners lie where
# two or three meet.
#
#   drawn.sh ORRERY FROM COUNT [KEEP [FLAT]]   prints each seed that differs; its files stay in the folder KEEP (-: nowhere)
#                                              FLAT: worlds in which aggregates serve (drawn.awk)
set -eu

orrery=$(realpath "$1") from=$2 count=$3 keep=${4:-} flat=${5:-}
[ "$keep" != - ] || keep=
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

digest_of() { # PRUNE
    "$orrery" run "$dir/drawn.yaml" --prune="$1" --allow-loss --json --no-progress --force -o "$dir/run.db" \
        >"$dir/$1.json" 2>"$dir/$1.err" || true
    sed -n 's/^  "digest": "\(.*\)",$/\1/p' "$dir/$1.json"
}

different=0 searched=0
for seed in $(seq "$from" $((from + count - 1))); do
    awk -v seed="$seed" -v flat="$flat" -v out="$dir" -f "$here/drawn.awk"
    on=$(digest_of on) off=$(digest_of off) verified=$(digest_of verify)
    if grep -q '"refuted": [1-9]' "$dir/on.json"; then
        searched=$((searched + 1))
    fi
    if [ -z "$on" ] || [ "$on" != "$off" ] || [ "$on" != "$verified" ]; then
        different=$((different + 1))
        echo "seed $seed: ${on:-none} off ${off:-none} verify ${verified:-none}: $(grep -hv '^ *$' "$dir/on.err" "$dir/verify.err" | head -n 2)"
        if [ -n "$keep" ]; then
            mkdir -p "$keep/$seed"
            cp "$dir/drawn.yaml" "$dir/drawn.csv" "$keep/$seed"
        fi
    fi
done
echo "$count worlds, $searched with something refuted, $different different"
[ "$different" = 0 ] && { [ "$count" -lt 20 ] || [ $((2 * searched)) -gt "$count" ]; }
