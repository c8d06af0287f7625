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

# What `run --json` calls by the name of a metric is that metric, of the run and of its shards.
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" -o again.db -q --no-progress --json | tr -d '\n' | sed "s/'/''/g" >run.txt
sqlite3 r.db "CREATE TEMP TABLE j AS SELECT 'all' AS scope, key, value FROM json_each('$(cat run.txt)') WHERE type IN ('integer', 'real')
    UNION ALL SELECT 'shard', key, value FROM json_each('$(cat run.txt)', '\$.shards[0]') WHERE type IN ('integer', 'real');
    SELECT m.scope, m.name, m.value, j.value FROM metric AS m JOIN j ON j.key = m.name AND j.scope = m.scope
        WHERE m.label IN ('', 'shard=') AND (m.value IS NULL OR abs(m.value - j.value) > 1e-9 * abs(m.value)) LIMIT 3;
    SELECT 'only ' || count(*) FROM j JOIN metric AS m ON j.key = m.name AND m.scope = 'all' WHERE j.scope = 'all' HAVING count(*) < 20" >strange
[ ! -s strange ] || fail "run --json says otherwise: $(cat strange)"

# Queries name metrics that are in the table.
tr ',{}' '\n\n\n' <table.json | sed -n 's/.*"name": *"\([a-z0-9_]*\)".*/\1/p' | sort >names
sed -n "/FROM metric\|JOIN metric\|CASE name/,/;/s/.*name = '\([a-z0-9_]*\)'.*/\1/p" "$source"/analysis/*/*.sql "$source"/sim/*/*.sql | sort -u >used
[ "$(wc -l <used)" -ge 8 ] || fail "queries name $(wc -l <used) metrics"
[ -z "$(comm -13 names used)" ] || fail "queries name metrics that there are not: $(comm -13 names used)"

printf 'metrics\n'
