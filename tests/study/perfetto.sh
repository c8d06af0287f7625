#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery export R.db perfetto`: events as Chrome's Trace Event Format has them; slices, lanes, counters
# and instants are the rows of the tables; no lane holds two slices at once. `--format schema` types
# the columns of the CSV.
#
#   perfetto.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
command -v jq >/dev/null 2>&1 || exit 77

# Evictions, a node that fails, one that is drained, pods that share a device, a gang, a hard name.
awk 'BEGIN {
    print "job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,queue"
    for (i = 0; i < 12; i++) print "a" i ",0,5000,1,4,,a"
    for (i = 0; i < 6; i++) print "\"b\"\"" i "\",600,500,1,,0.5,b"
    print "gang,700,400,3,8,,b"
}' >trace.csv
cat >run.yaml <<'YAML'
start: 2026-03-01T00:00:00Z
horizon: 3h
cluster: {pools: {p: {nodes: 4, gpus: 8}, q: {nodes: 2, gpus: 4}}}
queues:
  top: {gpu: [32, 1, unlimited]}
  a: {parent: top, gpu: [16, 1, unlimited]}
  b: {parent: top, gpu: [16, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
events:
  - {at: 1000s, fail: p-0002, for: 300s}
  - {at: 1500s, drain: p-0003, for: 20min}
policy: kai
YAML
"$orrery" run run.yaml -q --no-progress -o run.db >out 2>&1 || fail "$(cat out)"
"$orrery" export run.db perfetto >run.json
"$orrery" export run.db perfetto -o same.json && cmp run.json same.json || fail 'another file with -o'
code=0
"$orrery" export run.db perfetto -o run.db 2>err || code=$?
[ "$code" = 73 ] && grep -q 'is an input too' err || fail "its results as output: exit code $code"
code=0
"$orrery" export run.db nosuch -o gone.csv 2>err || code=$?
[ "$code" = 65 ] && [ ! -e gone.csv ] && [ -z "$(ls -A | grep '^gone')" ] || fail 'something of a file that failed'
sqlite3 run.db >wanted <<'SQL'
SELECT 'job ' || count(*) || ' ' || sum((coalesce(p.end_ms, r.end_ms) - p.start_ms) * p.mgpu) FROM v_placements AS p CROSS JOIN run AS r;
SELECT 'down ' || count(*) FROM outage;
SELECT 'cordoned ' || count(*) FROM cordon;
SELECT 'counters ' || count(*) || ' ' || round(sum(allocated_mgpu)) FROM series;
SELECT 'instants ' || count(*) || ' ' || sum(pods) FROM eviction;
SELECT 'processes ' || group_concat(name, ' ') FROM (SELECT 'queues' AS name UNION ALL SELECT DISTINCT pool FROM node);
SELECT 'nodes ' || group_concat(name, ' ') FROM (SELECT name FROM node ORDER BY id);
SQL
jq -r '.traceEvents as $all | def of(f): [$all[] | select(f)]; def slices(c): of(.ph == "X" and .cat == c);
    "job \(slices("job") | length) \([slices("job")[] | .dur * .args.gpus] | add | round)",
    "down \(slices("down") | length)", "cordoned \(slices("cordoned") | length)",
    "counters \(of(.ph == "C") | length) \([of(.ph == "C")[].args.allocated_gpus] | add * 1000 | round).0",
    "instants \(of(.ph == "i") | length) \([of(.ph == "i")[].args.pods] | add)",
    "processes \([of(.name == "process_name")[].args.name] | join(" "))",
    "nodes \([of(.name == "thread_name")[].args.name | select(startswith("lane") | not)] | join(" "))"' run.json >made
diff wanted made || fail "the trace is not the tables"
[ "$(sqlite3 run.db 'SELECT count(*) > 0 FROM eviction')" = 1 ] || fail "nothing was evicted"
jq -e '[.traceEvents[] | select(.cat == "down")] | length == 1 and .[0].ts == 1000000000 and .[0].dur == 300000000' run.json >out ||
    fail "the failure is not at its time"

# What the format asks of each kind of event; threads that were named; one slice at a time in a lane.
jq -e '(.displayTimeUnit == "ms") and (.otherData.digest | length == 16) and
    ([.traceEvents[] | select(.ph == "M").tid] | unique) as $named |
    all(.traceEvents[]; (.name | type == "string") and (.pid | type == "number") and (.tid | IN($named[])) and
        if .ph == "X" then .ts >= 0 and .dur >= 0
        elif .ph == "C" then .ts >= 0 and (.args | all(type == "number"))
        elif .ph == "i" then .ts >= 0 and .s == "p"
        else .ph == "M" and (.name | IN("process_name", "thread_name", "thread_sort_index")) end)' run.json >out ||
    fail "not the format: $(jq -c '.traceEvents[:3]' run.json)"
jq -r '.traceEvents[] | select(.ph == "X") | [.tid, .ts, .dur] | @tsv' run.json | sort -k1n -k2n -k3n |
    awk '$1 == lane && $2 < end { exit 1 } { lane = $1; end = $2 + $3 }' || fail "two slices at once in a lane"

# Columns of the CSV, in their order, typed: the widest of a view's values.
"$orrery" export run.db jobs --format schema >jobs.json
[ "$(jq -r '[.fields[].name] | join(",")' jobs.json)" = "$("$orrery" export run.db jobs | head -1)" ] || fail "columns"
jq -e '[.fields[] | {(.name): .type}] | add | .job == "string" and .submit_s == "number" and .pods == "integer"' jobs.json >out ||
    fail "types: $(cat jobs.json)"
