#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every verb with --json: one JSON object and nothing else on stdout, which says what the text says;
# nothing there when the verb fails.
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
# fails CODE VERB ARGUMENT...: nothing on stdout, a sentence on stderr.
fails() {
    wanted=$1 code=0
    shift
    "$orrery" "$@" --json >out 2>err || code=$?
    [ "$code" = "$wanted" ] || fail "$*: exit $code, expected $wanted"
    [ ! -s out ] && [ -s err ] || fail "$*: fails with something on stdout, or nothing on stderr"
}

reclaim=$source/scenarios/whatif/reclaim/reclaim.yaml
mixed=$source/scenarios/mixed/mixed.yaml
cases=$source/tests/conformance/kai/fairshare.json

# Scenarios.
says 0 '.jobs > 0 and (.queues | length) > 0 and .digest != null' run "$reclaim" -o r.db --no-progress
says 0 '[.columns[] | select(.name == "gpus")][0] | .type != "" and (.also | index("num_gpus")) != null' columns
says 0 '.maps | length >= 10 and index("helios") != null' import --maps
printf 'job,submit_s,run_s,gpus\na,0,60,8\n' >jobs.csv
says 0 '.rows == 1 and .kept == 1 and .jobs == 1 and .left_out == []' import jobs.csv
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
says 0 '(.expectations | length) > 0 and (.expectations | all(.holds and .value != null and .expected != ""))' run "$reclaim" -o expected.db --no-progress
says 0 '.results == "again.db"' run "$reclaim" -o again.db --no-progress
"$orrery" run "$reclaim" --policy fifo -o fifo.db -q --no-progress 2>err || [ $? = 1 ] || fail "run"
says 0 '.ok and .problems == [] and .offered_gpu_h > 0 and .offered_share > 0 and (.parts | length) == 1' check "$reclaim"
says 1 '(.ok | not) and (.problems | length) > 0' check "$reclaim" --set cluster.pools.h100.nodes=1
says 0 '[.values[] | select(.path == "policy.name")][0].value == "kai"' show "$reclaim"
says 0 '.differences == [] and .values == []' diff "$reclaim" "$reclaim"
sed "s/nodes: 4/nodes: 5/" "$reclaim" >other.yaml
cp "$source/scenarios/whatif/reclaim/reclaim.csv" .
says 1 '(.differences | length) > 0 and [.values[] | select(.path | endswith("nodes"))][0].b == "5"' diff "$reclaim" other.yaml
says 0 '.differences == []' diff r.db "$reclaim"
says 1 '[.values[] | select(.path == "policy.name")][0] | .a == "kai" and .b == "fifo"' diff r.db fifo.db
says 0 '[.values[] | select(.path == "policy.name")][0].value == "fifo"' show fifo.db
says 0 '.futures == 5 and (.jobs | length) >= 0 and .at_s == 600' forecast "$reclaim" --at 600 --futures 5 --no-progress
fails 64 forecast "$reclaim"
says 1 '[.changes[].name] == ["fifo"] and (.changes[0].changed[0] | test("kai to fifo"))' whatif "$reclaim" --policy fifo --no-progress
says 0 '(.changes | length) > 0' whatif "$reclaim" --set cluster.pools.h100.nodes+=1 --no-progress
says 0 '.file == null and .jobs > 0 and .first_submit_s <= .last_submit_s' trace gen "$mixed" one-gpu
says 0 '.file == "t.csv"' trace gen "$mixed" one-gpu -o t.csv
[ "$(jq .jobs out)" = $(($(wc -l <t.csv) - 1)) ] || fail "trace: not as many jobs as rows"
fails 64 trace gen "$mixed" one-gpu -o -
fails 78 check "$reclaim" --set cluster.pools.h100.nods=1
fails 66 show nowhere.yaml

# Results.
says 0 '.table == "jobs" and (.rows[0] | has("wait_s"))' export r.db jobs
[ "$(jq '.rows | length' out)" = $(($("$orrery" export r.db jobs | wc -l) - 1)) ] || fail "export: not as many rows"
"$orrery" export r.db jobs --format jsonl >lines
[ "$(jq -c '.rows[]' out)" = "$(jq -c . lines)" ] || fail "export: not the rows of jsonl"
fails 65 export r.db nothing
fails 64 export r.db jobs --format csv
fails 64 export r.db openmetrics
fails 64 export r.db perfetto
says 0 '[.figures[] | select(.name == "share")] | length == 1' plot --list
if command -v gnuplot >/dev/null; then

    says 0 '[.files[].file] == ["figures/r-depth.svg", "figures/r-share.svg"]' plot r.db depth share -o figures
fi
fails 64 plot r.db depth --term dumb
fails 64 plot r.db deepth
says 0 '.file == "page.html" and .results == ["r.db", "fifo.db"]' report r.db fifo.db -o page.html
[ -s page.html ] || fail "report: no page"
says 0 '(.arms | length) == 2 and (.differences | length) > 0' compare r.db fifo.db
says 0 '.broken == 0 and (.rules | length) > 0' audit r.db
says 0 '.bundle == "b.tar.gz" and (.files | index("results/001-r.db") != null)' bundle r.db --with-traces -o b.tar.gz
fails 73 bundle r.db -o b.tar.gz
says 0 '.total == 1 and .repeated == 1 and .different == 0 and .runs[0].same' verify b.tar.gz --no-progress
cp r.db lie.db
sqlite3 lie.db "UPDATE run SET digest = '0123456789abcdef'"
"$orrery" bundle lie.db -q --with-traces -o lie.tar.gz >out
[ ! -s out ] || fail "bundle -q says something"
says 1 '.different == 1 and (.runs[0] | (.same | not) and .digest == "0123456789abcdef")' verify lie.tar.gz --no-progress
fails 66 verify none.zip

# A job, a moment, a queue. The text has the same facts.
says 0 '.evictions > 0 and ([.story[] | select(.event == "evicted")] | length) == .evictions' explain r.db sweep-05
says 0 '[.story[] | select(.event == "evicted")][0] | .cause == "reclaim" and .for_queue == "product"' explain r.db sweep-05
jq -r '.story[] | select(.event == "started") | .nodes[].node' out | sort >nodes
"$orrery" explain r.db sweep-05 | grep 'starts ' | grep -o 'n[0-9][0-9]*' | sort | cmp - nodes || fail "explain: not the nodes of the text"
at=$(jq '[.story[] | select(.event == "waits") | .at_s][0]' out)
says 0 '.waits.reason != null and .since_s <= .at_s and .free_gpus <= .up_gpus' explain r.db sweep-05 --at "${at}s"
says 0 '[.queues[] | select(.is_it) | .queue] == ["research"]' explain r.db sweep-05 --at "${at}s"
says 0 '.quota_gpus == 16 and .limit_gpus == -1 and .held_mean_gpus > 0 and (.evicted | length) > 0' explain r.db --queue research
says 0 '.at_s == 3600 and .queues[0].holds_gpus <= 32 and (.nodes | length) == 4' show r.db --at 1h
[ "$(jq '[.queues[].holds_gpus] | add' out)" = "$(jq '[.nodes[].jobs[].gpus] | add' out)" ] ||
    fail "show --at: nodes do not hold what queues do"
says 0 '.goal_s > 0 and ([.changes[] | select(.helps) | .amount > 0 and .start_s != null] | all)' explain r.db sweep-09 --what-would-help
says 0 '.replicas == 2 and .jobs == 20 and .changed_jobs.low <= .changed_jobs.mean and .changed_jobs.mean <= .changed_jobs.most' explain r.db --stability --replicas 2
fails 65 explain r.db nobody
fails 65 explain r.db sweep-05 --at 400d
fails 65 explain r.db --queue nobody
fails 66 show none.db --at 1h
fails 64 show --trace reclaim.csv --cluster 4x8 --at 1h
fails 64 explain r.db sweep-09 --what-would-help --at 1h
fails 64 explain r.db sweep-09 --by 1h

# The gate.
cat >gate.yaml <<'END'
apiVersion: orrery/v1alpha1
kind: Gate
mode: fixed
rules:
  p95: {metric: wait_p95_s, margin: 1%}
END
says 0 '.verdict == "pass" and .mode == "fixed" and .rules[0].worse_by == 0' gate again.db --baseline r.db --spec gate.yaml
says 1 '.verdict == "regressed" and .rules[0].worse_by > .rules[0].margin' gate r.db --baseline fifo.db --spec gate.yaml
says 0 '.kind == "Gate" and (.rules.wait_p95_s.margin | test("^[0-9.]+%$"))' gate r.db --propose --no-progress
cp out proposed.yaml
says 0 '.verdict == "pass" and .mode == "statistical" and .rules[0].n == 20' gate r.db --baseline again.db --spec proposed.yaml --no-progress
cp fifo.db base.db
says 0 '.baseline == "base.db" and .from == "r.db"' gate r.db --baseline base.db --bless
cmp r.db base.db || fail "gate --bless: not replaced"
sed '/^rules/,$d; s/fixed/exact/' gate.yaml >exact.yaml
says 1 '.verdict == "regressed" and .rules[0].worse_by == null' gate fifo.db --baseline r.db --spec exact.yaml

# A cluster's state, the program and its policies.
says 0 '(.decisions | length) > 0 and (.queues | length) > 1' schedule "$source/scenarios/snapshot/two-queues.yaml"
fails 66 schedule nowhere
says 0 '[.policies[].name] | index("kai") != null' policies
says 0 '.name == "kai" and (.params | length) > 5 and (.features | length) > 5' policies kai
fails 64 policies kia
says 0 '.metrics | length > 100 and all(.name != "" and .unit != "" and .definition != "")' metrics
fails 64 metrics wiat
says 0 '.orrery != null and (.traces | length) > 2 and (.policies | length) > 3' doctor
says 0 '.passed > 0 and .failed == 0 and (.entries | length) == .passed + .skipped' conform "$cases"
fails 66 conform nowhere
printf 'all verbs say it as JSON\n'
