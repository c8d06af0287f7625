#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# mixed.sh ORRERY SOURCE_DIR: scenarios/mixed shows what its README says, on its first seed.
set -eu
orrery=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$2/scenarios/mixed"

fail() {
    printf '%s\n' "$*"
    exit 1
}

run() { # POLICY: its exit code and results
    code=0
    "$orrery" run mixed.yaml --policy "$1" --seed 1 -o "$work/$1.db" --force -q --no-progress 2>"$work/err" || code=$?
}

metric() { # POLICY NAME LABEL
    sqlite3 "$work/$1.db" "SELECT value FROM metric WHERE name = '$2' AND scope || label = '$3'"
}

run kai
[ $code = 0 ] || fail "kai: $(cat "$work/err")"
run kube
[ $code = 1 ] || fail "kube meets what only kai should: exit $code"
grep -q 'attainment{workload=chat} >= 0.999 is false' "$work/err" || fail "$(cat "$work/err")"
run static
[ $code = 1 ] || fail "static meets what only kai should: exit $code"
grep -q 'attainment{workload=notebooks} >= 0.95 is false' "$work/err" || fail "$(cat "$work/err")"
# sessions gave up where they waited; only kai evicts, and what it costs is in the books
[ "$(metric kai gave_up_share workloadworkload=notebooks)" = 0.0 ] || fail "kai: sessions gave up"
sqlite3 "$work/static.db" "SELECT count(*) FROM job WHERE state = 4" | grep -qv '^0$' || fail "static: nobody gave up"
for policy in kube static; do
    [ "$(metric $policy evictions all)" = 0.0 ] || fail "$policy evicts"
done
sqlite3 "$work/kai.db" "SELECT total(restart) > 0 AND total(checkpoint) > 0 AND total(preempt + reclaim) > 0 FROM job_time" |
    grep -q 1 || fail "kai: evictions cost nothing"
# gangs are not all as fast as their reference placement: the profiles are heeded
sqlite3 "$work/static.db" "SELECT count(*) FROM job WHERE name GLOB 'gangs*' AND state = 3 AND work_ms > 3600000 AND
 end_ms - start_ms > 1.02 * work_ms" | grep -qv '^0$' || fail "static: every gang runs at rate 1"
