#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the real KAI Scheduler decided on clusters that are too many to ship: ORRERY_TEST_DATA names a folder
# with kai-random/agree/PROFILE/cases.json (conformance cases), snapshots/same/NAME.zip with NAME.kai.json and
# timeaware/NAME.scenario.yaml with NAME.kai.csv.
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

# Shares and allocations of leaf queues, second by second, of KAI's simulation of time-aware fairness.
for scenario in "$data"/timeaware/*.scenario.yaml; do
    [ -f "$scenario" ] || continue
    found=1
    rm -f time.db
    "$orrery" run "$scenario" -o time.db -q >out 2>err || fail "$(basename "$scenario"): no run"
    sqlite3 time.db '.mode csv' ".import '${scenario%.scenario.yaml}.kai.csv' kai" '.mode list' "
        SELECT k.Time, k.QueueID, k.FairShare, k.Allocation FROM kai AS k JOIN queue AS q ON q.name = k.QueueID AND q.leaf
        WHERE k.FairShare + 0 <> coalesce((SELECT mgpu / 1000 FROM fair_share WHERE queue = q.id AND at_ms <= k.Time * 1000
                                           ORDER BY at_ms DESC, rowid DESC LIMIT 1), 0)
           OR k.Allocation + 0 <> (SELECT total(p.mgpu) / 1000 FROM v_placements AS p JOIN job AS j ON j.id = p.job
                                   WHERE j.queue = q.id AND p.start_ms <= k.Time * 1000 AND coalesce(p.end_ms, 9e18) > k.Time * 1000)" >differ
    [ ! -s differ ] || fail "$(basename "$scenario"): KAI has $(head -n 3 differ | tr '\n' ';')"
    [ "$(sqlite3 time.db 'SELECT count(*) > 100 FROM kai JOIN queue ON name = QueueID AND leaf')" = 1 ] || fail "$(basename "$scenario"): nothing is compared"
done
[ "$found" = 1 ] || exit 77
