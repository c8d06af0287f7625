#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `run --trace-cycles`: JSON lines of what cycles looked at, tried and decided. They agree with what is stored, and change nothing.
#
#   cycles.sh ORRERY WORK_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"
command -v jq >/dev/null || exit 77

cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 6, gpus: 8}}}
queues: {a: {gpu: [24, 1, unlimited]}, b: {gpu: [24, 1, unlimited]}}
policy: kai
workload:
- {name: w, generate: {until: 4h, sizes: {1: 8, 2: 4, 4: 3, 8: 2, 16: 1, 32: 1}, queues: {a: 1, b: 1}, arrivals: {per_day: 400}, duration: {exponential: {mean: 1h}}}}
YAML
run() {
    "$orrery" run "$@" --quiet --no-progress --force
}
same() { # WHAT A B
    [ "$2" = "$3" ] || fail "$1: $2, expected $3"
}
run s.yaml -o plain.db --json >plain.json
run s.yaml -o told.db --trace-cycles 1..100000 >told.jsonl
same 'the digest' "$(sqlite3 told.db 'SELECT digest FROM run')" "$(sqlite3 plain.db 'SELECT digest FROM run')"
count() {
    jq -s "[.[] | select($1)] | length" "$2"
}
same cycles "$(count '.event == "cycle"' told.jsonl)" "$(jq .cycles plain.json)"
same starts "$(count '.event == "start"' told.jsonl)" "$(sqlite3 plain.db 'SELECT count(*) FROM v_attempts')"
same evictions "$(count '.event == "evict"' told.jsonl)" "$(sqlite3 plain.db 'SELECT count(*) FROM eviction')"
[ "$(count '.event == "evict"' told.jsonl)" -gt 0 ] || fail 'nothing is evicted: this proves little'
same 'nodes of starts' "$(jq -r 'select(.event == "start") | "\(.job) \(.nodes | sort | join(" "))"' told.jsonl | LC_ALL=C sort | uniq | wc -l)" \
    "$(jq -r 'select(.event == "start") | "\(.job) \(.at_s)"' told.jsonl | LC_ALL=C sort | uniq | wc -l)"
# Who is evicted is a victim of a scenario that was solved in that cycle for the same job.
jq -s '[.[] | select(.event == "scenario" and .result == "solved")] as $solved | .[] | select(.event == "evict") | . as $e |
    select([$solved[] | select(.cycle == $e.cycle and .job == $e.for_job and ([.victims[].job] | index($e.job)))] == [])' told.jsonl >strays
[ ! -s strays ] || fail "evicted without a scenario: $(cat strays)"

# With nothing pruned every scenario is told that is simulated, and those turned down at a glance.
run s.yaml -o off.db --prune=off --trace-cycles 1..100000 >off.jsonl
run s.yaml -o off.db --prune=off --json >/dev/null
same scenarios "$(count '.event == "scenario" and .result != "filtered"' off.jsonl)" \
    "$(jq -s '[.[] | select(.event == "job") | .scenarios] | add' off.jsonl)"
[ "$(count '.event == "scenario"' off.jsonl)" -gt "$(count '.event == "scenario"' told.jsonl)" ] || fail 'pruning leaves nothing out'
[ "$(count '.event == "job" and .refuted > 0' told.jsonl)" -gt 0 ] || fail 'no search was refuted'
same 'failures with a reason' "$(count '.event == "scenario" and .why == null' off.jsonl)" 0
same 'jobs of actions' "$(count '(.event == "job" or .event == "alike") and (.action == null or .job == null or .result == null)' off.jsonl)" 0

# Some cycles only, by number or time; other policies tell what they decide, and why jobs wait.
run s.yaml -o some.db --trace-cycles 40..42 | jq .cycle | sort -u >cycles
same 'cycles 40 to 42' "$(tr '\n' ' ' <cycles)" '40 41 42 '
same 'one cycle' "$(run s.yaml -o some.db --trace-cycles 41 | jq .cycle | sort -u)" 41
run s.yaml -o some.db --trace-cycles 1h..2h | jq .at_s | sort -n | sed -n '1p;$p' >times
[ "$(head -n 1 times)" -ge 3600 ] && [ "$(tail -n 1 times)" -le 7200 ] || fail "times: $(cat times)"
run s.yaml --policy easy -o easy.db --trace-cycles 1..100000 >easy.jsonl
same 'starts under easy' "$(count '.event == "start"' easy.jsonl)" "$(sqlite3 easy.db 'SELECT count(*) FROM job WHERE start_ms IS NOT NULL')"
[ "$(count '.event == "waits" and .why != null' easy.jsonl)" -gt 0 ] || fail 'easy says of nobody why it waits'
for bad in x 0..4 4..x ..; do
    code=0
    run s.yaml -o bad.db --trace-cycles "$bad" >out 2>err || code=$?
    same "exit code of --trace-cycles $bad" "$code" 64
done

# A job that grows in the cycle in which it starts, once and again: each line has the nodes of its own pods.
cat >grow.yaml <<'YAML'
cluster: {pools: {p: {nodes: 5, gpus: 4}}}
queues: {a: {gpu: [10, 1, unlimited]}, b: {gpu: [10, 1, unlimited]}}
policy: kai
workload: [{name: t, trace: grow.csv}]
YAML
printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue\nx,0,50,3,1,3,a\ny,0,50,2,1,4,b\n' >grow.csv
run grow.yaml -o grow.db --trace-cycles 1..1 | jq -r 'select(.nodes) | "\(.job) \(.event) \(.pods) \(.nodes | join(" "))"' >nodes
same 'nodes of jobs that grow' "$(tr '\n' ',' <nodes)" 'x start 1 n0001,y start 1 n0002,x grow 1 n0003,y grow 1 n0004,x grow 1 n0005,'
printf 'cycles told\n'
