#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# every_key.sh DRAW UNDRAWN: every key of the scenario language is written by one of 400 seeds.
set -eu
draw=$(realpath "$1") undrawn=$(realpath "$2")
. "$(dirname "$0")/../scratch.sh"
seed=1
while [ "$seed" -le 400 ]; do
    mkdir "$seed"
    "$draw" "$seed" "$seed"
    seed=$((seed + 1))
done
"$undrawn" */s.yaml >out 2>err || [ ! -s err ] || fail 'a scenario does not load'
[ ! -s out ] || fail 'no seed draws these keys'
