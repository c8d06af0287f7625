#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays the Philly trace on one pool of interchangeable GPUs and compares counts that a separate
# program arrived at.
#
#   counts.sh ORRERY WORK_DIR TRACE CLUSTER NUMBERS [RUN_OPTION...]
set -eu

orrery=$1 work=$2 trace=$3 cluster=$4 numbers=$5
shift 5
mkdir -p "$work"
dir=$(mktemp -d "$work/counts.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

"$orrery" run --trace "$trace" --cluster "$cluster" --json --no-progress "$@" -o "$dir/run.db" \
    >"$dir/run.json"
sh "$(dirname "$0")/numbers.sh" "$dir/run.json" "$numbers"
