#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery metrics` and the one table of metrics: analysis/README.md holds it as it is, and what runs
# store has the unit, direction and definition of it.
#
#   metrics.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

"$orrery" metrics --markdown >out
sed -n '/^| metric | unit | better |/,/^$/p' "$source/analysis/README.md" | sed '/^$/d' >readme
cmp -s out readme || fail "analysis/README.md: the table is not that of \`orrery metrics --markdown\`: $(diff out readme | head -4)"

"$orrery" metrics --json >table.json
"$orrery" metrics wait_p95_s | grep -q 'better *less' || fail "no direction of wait_p95_s"
code=0
"$orrery" metrics wait_p59_s >out 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'did you mean wait_p[59]' err; } || fail "exit $code: a metric that is none"

# What two unlike runs store.
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" -o r.db -q --no-progress
"$orrery" run "$source/scenarios/mixed/mixed.yaml" --set horizon=2d -o m.db -q --no-progress 2>err || [ $? = 1 ]
tr -d '\n' <table.json | sed "s/'/''/g" >table.txt
for db in r.db m.db; do
    strange=$(sqlite3 $db "CREATE TEMP TABLE t AS SELECT json_extract(value, '\$.name') AS name, json_extract(value, '\$.unit') AS unit,
        json_extract(value, '\$.better') AS better, json_extract(value, '\$.definition') AS definition FROM json_each('$(cat table.txt)', '\$.metrics');
        SELECT m.name FROM metric AS m LEFT JOIN t USING (name, unit, better, definition) WHERE t.name IS NULL LIMIT 3;
        SELECT 'at_least of ' || name FROM metric WHERE at_least IS NOT NULL AND value IS NOT NULL LIMIT 3")
    [ -z "$strange" ] || fail "$db: not as the table has it: $strange"
done
[ "$(sqlite3 m.db "SELECT count(DISTINCT name) > 80 FROM metric")" = 1 ] || fail "few metrics"

printf 'metrics\n'
