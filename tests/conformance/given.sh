#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the real KAI Scheduler decided on clusters that are too many to ship: ORRERY_TEST_DATA names a folder
# with kai-random/agree/PROFILE/cases.json (conformance cases), snapshots/{same,differ}/NAME.zip with NAME.kai.json,
# snapshots/differences, and timeaware/NAME.scenario.yaml with NAME.kai.csv.
# The folder above, where it is called trials, will do. Skipped without it. Of kai-random/differ/PROFILE.json those
# are equal with strict_v017 that its LIST.tsv does not call unstable, which means that the real scheduler decides them
# one way or the other; those whose cause is no defect (none+clamp) are equal without it too.
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
    mkdir strict default
    for file in "$data"/kai-random/differ/*.json; do
        jq --rawfile list "$data/kai-random/differ/LIST.tsv" '
            ($list | split("\n") | map(split("\t") | select(.[1] != null and (.[1] + .[2] | contains("unstable"))) | .[0])) as $skip |
            map(select(.id as $id | $skip | index($id) | not) | .config.strict_v017 = true)' "$file" >"strict/$(basename "$file")"
        jq --rawfile list "$data/kai-random/differ/LIST.tsv" '
            ($list | split("\n") | map(split("\t") | select(.[2] == "none+clamp") | .[0])) as $take |
            map(select(.id as $id | $take | index($id)))' "$file" >"default/$(basename "$file")"
    done
    "$orrery" conform strict >out 2>err || fail "sessions where the real scheduler errs: $(grep FAIL out | head -5)"
    "$orrery" conform default >out 2>err || fail "sessions where it does not err: $(grep FAIL out | head -5)"
    grep -q '^[1-9][0-9]* passed' out || fail "no session where it does not err: $(cat out)"
fi

# Decisions as a set: what, by which action, for which pod, where (an eviction names no node).
decisions() { jq -r '.decisions[] | [.decision, .action, .job, .pod, (if .decision == "evict" then "" else .node end)] | @tsv' | sort -u; }
schedule() { "$orrery" schedule "$1" --json --now 2026-11-22T14:00:00Z --set "strict_v017=$2"; }
for snapshot in "$data"/snapshots/same/*.zip "$data"/snapshots/differ/*.zip; do
    [ -f "$snapshot" ] || continue
    found=1
    # Those of differ, and one of the others, are equal only with what v0.17 gets wrong.
    case $snapshot in
    */same/*) modes='partly true' ;;
    *) modes=true ;;
    esac
    for strict in $modes; do
        schedule "$snapshot" "$strict" >answer 2>err || fail "$(basename "$snapshot"): $(cat err)"
        decisions <answer >ours
        decisions <"${snapshot%.zip}.kai.json" >theirs
        ! cmp -s ours theirs || break
    done
    cmp -s ours theirs || fail "$(basename "$snapshot"): $(diff ours theirs | head -5)"
    # GPU memory is counted in thousandths of a GPU here; the queue above all others that it makes up is named otherwise.
    jq -c --slurpfile kai "${snapshot%.zip}.kai.json" '(.queues | map({(.name | sub("^default-parent-queue$"; "default")): .fair_share_gpus}) | add) as $ours |
        $kai[0].fair_share | to_entries[] | select((.value - ($ours[.key] // -9)) | fabs > 0.0015)' answer >differ
    [ ! -s differ ] || fail "$(basename "$snapshot"), fair shares: $(head -3 differ)"
done

# What is no defect of v0.17 is decided so in every mode: a group in back-off is left out whole with its running pods,
# a pod without GPUs needs a node for such, a helper pod in another namespace does not count a device twice.
for strict in false partly true; do
    [ -d "$data/snapshots/differences" ] || continue
    schedule "$data/snapshots/differences/1-backoff-with-running-pods.zip" $strict >answer
    jq -e '.decisions == [] and (.queues[] | select(.name == "team") | .fair_share_gpus + .allocated_gpus == 0)' answer >out || fail "back-off, $strict: $(jq -c '.decisions, .queues' answer)"
    schedule "$data/snapshots/differences/2-restricted-nodes-cpu-pod.zip" $strict >answer
    jq -e '.decisions == [] and (.waiting | length > 0)' answer >out || fail "restricted nodes, $strict: $(jq -c .decisions answer)"
    schedule "$data/snapshots/differences/6-reservation-pod-in-another-namespace.zip" $strict | decisions >ours
    [ "$(cut -f 1,4,5 ours)" = "$(printf 'bind\twhole-0\tnode-000')" ] || fail "reservation pod, $strict: $(cat ours)"
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
