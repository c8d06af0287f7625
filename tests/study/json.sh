#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What verbs say with --json, held against what they say otherwise. What each says, and that it says nothing when it
# fails, is in the cases json_*.case beside this file.
#
#   json.sh ORRERY WORK_DIR SOURCE_DIR
set -eu
command -v jq >/dev/null || exit 77

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# says CODE FILTER VERB ARGUMENT...: one object, of which the jq filter is true.
says() {
    wanted=$1 filter=$2 code=0
    shift 2
    "$orrery" "$@" --json >out 2>err || code=$?
    [ "$code" = "$wanted" ] || fail "$*: exit $code, expected $wanted"
    [ "$(jq -s 'length == 1 and (.[0] | type) == "object"' out)" = true ] || fail "$*: not one JSON object"
    [ "$(jq "$filter" out)" = true ] || fail "$*: not true: $filter"
}

reclaim=$source/scenarios/whatif/reclaim/reclaim.yaml
mixed=$source/scenarios/mixed/mixed.yaml

"$orrery" run "$reclaim" -o r.db -q --no-progress
"$orrery" columns --json | jq -r '.columns[].name' | while read -r column; do
    grep -q "^| \`$column\` |" "$source/traces/README.md" || fail "traces/README.md has no column $column"
done || exit 1
# What bears the name of a metric is that metric, of the run and of each queue.
"$orrery" metrics --json | jq -r '.metrics[].name' >names
sqlite3 r.db "SELECT name || ' ' || value FROM metric WHERE scope = 'all' AND value IS NOT NULL" >stored
"$orrery" run "$reclaim" -o bears.db --no-progress --json | jq -r 'to_entries[] | select(.value | type == "number") | "\(.key) \(.value)"' >said
awk 'FILENAME == "names" { name[$1]; next } FILENAME == "stored" { value[$1] = $2; next } $1 in name { d = $2 - value[$1]; n++
    if (!($1 in value) || d * d > 1e-8 * (1 + value[$1] * value[$1])) print $1 } END { if (n < 20) print "only", n }' names stored said >other
[ ! -s other ] || fail "run --json: not the metrics of that name: $(cat other)"
says 0 '.file == "t.csv"' trace gen "$mixed" one-gpu -o t.csv
[ "$(jq .jobs out)" = $(($(wc -l <t.csv) - 1)) ] || fail "trace: not as many jobs as rows"

# Results.
says 0 '.table == "jobs" and (.rows[0] | has("wait_s"))' export r.db jobs
[ "$(jq '.rows | length' out)" = $(($("$orrery" export r.db jobs | wc -l) - 1)) ] || fail "export: not as many rows"
"$orrery" export r.db jobs --format jsonl >lines
[ "$(jq -c '.rows[]' out)" = "$(jq -c . lines)" ] || fail "export: not the rows of jsonl"
if command -v gnuplot >/dev/null; then
    says 0 '[.files[].file] == ["figures/r-depth.svg", "figures/r-share.svg"]' plot r.db depth share -o figures
fi
says 0 '.file == "page.html" and .results == ["r.db"]' report r.db -o page.html
[ -s page.html ] || fail "report: no page"
cp r.db lie.db
sqlite3 lie.db "UPDATE run SET digest = '0123456789abcdef'"
"$orrery" bundle lie.db -q --with-traces -o lie.tar.gz >out
[ ! -s out ] || fail "bundle -q says something"
says 1 '.different == 1 and (.runs[0] | (.same | not) and .digest == "0123456789abcdef")' verify lie.tar.gz --no-progress

# A job, a moment, a queue. The text has the same facts.
says 0 '[.story[] | select(.event == "evicted")][0] | .cause == "reclaim" and .for_queue == "product"' explain r.db sweep-05
jq -r '.story[] | select(.event == "started") | .nodes[].node' out | sort >nodes
"$orrery" explain r.db sweep-05 | grep 'starts ' | grep -o 'n[0-9][0-9]*' | sort | cmp - nodes || fail "explain: not the nodes of the text"
at=$(jq '[.story[] | select(.event == "waits") | .at_s][0]' out)
says 0 '.waits.reason != null and .since_s <= .at_s and .free_gpus <= .up_gpus' explain r.db sweep-05 --at "${at}s"
says 0 '[.queues[] | select(.is_it) | .queue] == ["research"]' explain r.db sweep-05 --at "${at}s"

# What losses cost, and how long the cluster does: of the worst domain, and of the month that breaks.
says 0 '.each == "node" and .runs == 5 and (.domains[0].damage_gpu_h >= .domains[-1].damage_gpu_h)' faults r.db --each node --at 6h --for 1h --no-progress
says 0 '.objectives[0] | .breaks_month == 0 and .holds_month == null and (.tried | length >= 2)' growth r.db --rate 50% --months 2 \
    --objective 'wait_max_s <= 0' --no-progress
says 0 '.replicas == 2 and ([.metrics[].metric] | index("wait_p95_s")) != null' run "$reclaim" --replicas 2 -o two.db --no-progress

# A gate proposed by one run holds for it again.
"$orrery" run "$reclaim" -o again.db -q --no-progress
says 0 '.kind == "Gate" and (.rules.wait_p95_s.margin | test("^[0-9.]+%$"))' gate r.db --propose --no-progress
cp out proposed.yaml
says 0 '.verdict == "pass" and .mode == "statistical" and .rules[0].n == 20' gate r.db --baseline again.db --spec proposed.yaml --no-progress
printf 'all verbs say it as JSON\n'
