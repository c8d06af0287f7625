#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the real KAI Scheduler decided on clusters that are too many to ship: ORRERY_TEST_DATA names a folder
# with kai-random/agree/PROFILE/cases.json (conformance cases) and snapshots/same/NAME.zip with NAME.kai.json.
# The folder above, where it is called trials, will do. Skipped without it. Of kai-random/differ/PROFILE.json those
# are equal with strict_v017 that its LIST.tsv does not call unstable, which means that the real scheduler decides them
# one way or the other.
#
#   given.sh ORRERY WORK_DIR
set -eu
[ -n "${ORRERY_TEST_DATA:-}" ] && command -v jq >/dev/null || exit 77
data=$(realpath "$ORRERY_TEST_DATA")
[ ! -d "$data/trials" ] || data=$data/trials
orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"
found=0

if [ -d "$data/kai-random/agree" ]; then
    found=1
    "$orrery" conform "$data"/kai-random/agree/* >out 2>err || fail "sessions of the real scheduler: $(tail -1 out)"
    "$orrery" conform "$data"/kai-random/agree/* --json 2>/dev/null | jq -e '.failed == 0 and .skipped == 0 and .passed > 0' >/dev/null ||
        fail "not all sessions were decided"
fi

if [ -f "$data/kai-random/differ/LIST.tsv" ]; then
    found=1
    mkdir strict
    for file in "$data"/kai-random/differ/*.json; do
        jq --rawfile list "$data/kai-random/differ/LIST.tsv" '
            ($list | split("\n") | map(split("\t") | select(.[1] != null and (.[1] + .[2] | contains("unstable"))) | .[0])) as $skip |
            map(select(.id as $id | $skip | index($id) | not) | .config.strict_v017 = true)' "$file" >"strict/$(basename "$file")"
    done
    "$orrery" conform strict >out 2>err || fail "sessions where the real scheduler errs: $(grep FAIL out | head -5)"
fi

# Decisions as a set: what, by which action, for which pod, where (an eviction names no node).
decisions() { jq -r '.decisions[] | [.decision, .action, .job, .pod, (if .decision == "evict" then "" else .node end)] | @tsv' | sort -u; }
for snapshot in "$data"/snapshots/same/*.zip; do
    [ -f "$snapshot" ] || continue
    found=1
    # One of them is equal only with what v0.17 gets wrong.
    for strict in partly true; do
        "$orrery" schedule "$snapshot" --json --now 2026-11-22T14:00:00Z --set strict_v017=$strict 2>err | decisions >ours
        decisions <"${snapshot%.zip}.kai.json" >theirs
        ! cmp -s ours theirs || break
    done
    cmp -s ours theirs || fail "$(basename "$snapshot"): $(diff ours theirs | head -5)"
done
[ "$found" = 1 ] || exit 77
