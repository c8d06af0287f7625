#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The first cycle of a run that begins from a snapshot decides what `orrery schedule` decides on it, job by job
# (first_cycle.jq). LIST names snapshots of ORRERY_TEST_DATA/snapshots that are too many to ship: those without a
# cause must agree, and one with a cause that agrees by now must lose it, so that the count only grows.
#
#   first_cycle.sh ORRERY SOURCE_DIR
set -eu
orrery=$(realpath "$1") source=$(realpath "$2")
data=${ORRERY_TEST_DATA:+$(realpath "$ORRERY_TEST_DATA")}
[ -z "$data" ] || [ ! -d "$data/trials" ] || data=$data/trials
command -v jq >/dev/null || exit 77
. "$source/tests/scratch.sh"

# differs SNAPSHOT [OPTION...]: the lines that tell the two apart
differs() {
    rm -rf made && "$orrery" schedule "$@" --json >cycle.json 2>err || fail "$1: $(tail -1 err)"
    "$orrery" import "$@" --remaining 2h -o made -q 2>err || fail "$1: $(tail -1 err)"
    "$orrery" run made/scenario.yaml -o made/r.db -q --check-books --set horizon=10s --trace-cycles 1..1 >run.jsonl 2>err ||
        fail "$1: $(tail -1 err)"
    jq -rn -f "$source/tests/intake/first_cycle.jq" --slurpfile s cycle.json --slurpfile t run.jsonl
}

for snapshot in "$source/scenarios/snapshot/two-queues.yaml" "$source"/tests/intake/first_cycle/*.yaml; do
    differs "$snapshot" >out
    [ ! -s out ] || fail "$(basename "$snapshot"): $(cat out)"
done

[ -d "$data/snapshots" ] || exit 0
grep -v '^#' "$source/tests/intake/first_cycle.list" >list
while read -r snapshot cause; do
    differs "$data/snapshots/$snapshot" --now 2026-11-22T14:00:00Z >out
    if [ -z "$cause" ]; then
        [ ! -s out ] || fail "$snapshot: $(cat out)"
    else
        [ -s out ] || fail "$snapshot agrees: its line in first_cycle.list needs no cause ($cause)"
    fi
done <list
