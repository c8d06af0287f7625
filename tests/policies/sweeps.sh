#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# sweeps.sh ORRERY SOURCE: the experiments that hold all policies against each other can be planned, and hold all there are.
set -eu
orrery=$(realpath "$1") folder=$2/scenarios/paper/policies
. "$(dirname "$0")/../scratch.sh"
"$orrery" policies | awk 'NF == 0 { exit } { print $1 }' | LC_ALL=C sort >all
for name in on-philly on-mixed; do
    "$orrery" sweep plan "$folder/$name.yaml" -o "$name" -q || fail "$name cannot be planned"
    sed -n 's/^ *policy.name: \[\(.*\)\]$/\1/p' "$folder/$name.yaml" | tr -d ' ' | tr ',' '\n' | LC_ALL=C sort >named
    cmp -s all named || fail "$name has other policies than there are: $(diff all named)"
done
