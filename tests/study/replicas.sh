#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery run --replicas`: each replica is the run of its seed, whoever ran it; a killed one runs again; compare takes
# the files of several.
#
#   replicas.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
command -v jq >/dev/null || exit 77
. "$(dirname "$0")/../scratch.sh"

mkdir tmp
export TMPDIR="$PWD/tmp"
awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod"
    for (i = 0; i < 8000; i++) print "j" i "," i * 20 "," 100 + i * 37 % 3000 ",1," 1 + i * 7 % 8 }' >trace.csv
cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 40, gpus: 8}}}
workload: [{name: w, trace: trace.csv}]
policy: fifo
seeds: 7
shake: {submit: 30s, run: 0.01}
expect: [wait_p95_s <= 100000, 'wait_p95_s > 100000']
YAML
exits 1 run s.yaml --replicas 5 -j 1 -o one.db --no-progress
grep -q 's: 5 replicas, seeds 7 to 11, policy fifo' out || fail "$(cat out)"
grep -q 'wait_p95_s <= 100000 held in 5 of 5' out || fail "$(cat out)"
grep -q 'held in 0 of 5 only' err || fail "$(cat err)"
exits 1 run s.yaml --replicas 5 -j 2 -o two.db --no-progress --json
cp out two.json
cmp one.db two.db || fail "two side by side write another file"
exits 73 run s.yaml --replicas 5 -o two.db --no-progress
exits 1 run s.yaml --seed 9 -o alone.db --no-progress
[ "$(sqlite3 one.db "SELECT digest FROM point_run WHERE point = 2")" = "$(sqlite3 alone.db "SELECT digest FROM run")" ] ||
    fail "a replica is not the run of its seed"
sqlite3 one.db "SELECT name, scope, label, value, unit, n, better, at_least FROM point_metric WHERE point = 2 ORDER BY rowid" >a
sqlite3 alone.db "SELECT name, scope, label, value, unit, n, better, at_least FROM metric ORDER BY rowid" >b
cmp a b || fail "not the metrics of the run"
# the mean and its interval, from the rows: Student's t of four degrees of freedom
said=$(jq -r '.metrics[] | select(.metric == "wait_mean_s" and .label == "") | "\(.mean) \(.low) \(.high) \(.least) \(.most)"' two.json)
sqlite3 one.db "SELECT value FROM point_metric WHERE name = 'wait_mean_s' AND scope = 'all'" |
    awk -v said="$said" 'function off(a, b) { return (a - b) ^ 2 > 1e-12 * a * a }
    { x[NR] = $1; sum += $1; if (NR == 1 || $1 < least) least = $1; if ($1 > most) most = $1 }
    END { split(said, s, " "); m = sum / NR; for (i in x) v += (x[i] - m) ^ 2; h = 2.7764451051977987 * sqrt(v / (NR - 1) / NR)
        if (NR != 5 || off(m, s[1]) || off(m - h, s[2]) || off(m + h, s[3]) || off(least, s[4]) || off(most, s[5])) print NR, m, m - h, m + h, said }' >off
[ ! -s off ] || fail "not the mean and interval: $(cat off)"
# Intervals of few replicas go no further than the metric can be, whoever prints them: no wait below 0, no part above 1,
# no slowdown below 1; the end of the last job is a time and has no bound.
cat >few.yaml <<'YAML'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
queues: {a: {gpu: [8, 1, unlimited]}, b: {gpu: [8, 1, unlimited]}}
horizon: 1d
workload:
  - {name: w, generate: {arrivals: {per_hour: 3}, duration: {lognormal: {median: 40m, sigma: 1.5}}, sizes: {1: 50, 4: 30, 8: 20}, queues: {a: 1, b: 1}}}
policy: fifo
YAML
exits 0 run few.yaml --replicas 3 -o few.db --no-progress --json
[ "$(jq -c '[.metrics[] | select(.metric == "wait_p50_s" or .metric == "bsld_mean" or .metric == "fairness_jain") | select(.label == "") | .low == 0 or .low == 1 or .high == 1]' out)" = '[true,true,true]' ] ||
    fail "not cut: $(jq -c '.metrics[] | [.metric, .low, .high]' out)"
[ "$(jq '[.metrics[] | select(.low != null and .low < 0 and (.metric | startswith("lateness") | not))] | length' out)" = 0 ] || fail "below 0"
exits 0 run few.yaml --replicas 3 -o few.db --no-progress --force
grep -q '^median wait .* 0 s to ' out || fail "$(grep '^median' out)"
exits 0 capacity few.yaml --vary cluster.pools.p.nodes=2..3 --objective 'wait_p50_s <= 1d' --objective 'fairness_jain >= 0' --objective 'bsld_mean <= 1000' --replicas 3 --json --no-progress
[ "$(jq -c '[.amounts[0].objectives[] | .low == 0 or .low == 1 or .high == 1]' out)" = '[true,true,true]' ] || fail "capacity: $(cat out)"

# A run that fails ends it, and nothing is left of it; of one that is killed neither.
exits 65 run s.yaml --replicas 3 -o no.db --no-progress --set cluster.pools.p.nodes=1 --set cluster.pools.p.gpus=1
[ ! -e no.db ] || fail "half a file"
"$orrery" run s.yaml --replicas 5 -j 2 -o no.db -q --no-progress 2>err &
victim=$!
while [ "$(pgrep -P "$victim" | wc -l)" -lt 2 ] && kill -0 "$victim" 2>killed; do :; done
kill -9 "$victim" 2>killed || fail "it ended before it could be killed"
wait "$victim" 2>killed || true
[ ! -e no.db ] || fail "half a file"
tries=0
until [ -z "$(ls -A tmp)" ] || [ "$tries" -eq 300 ]; do
    sleep 0.2
    tries=$((tries + 1))
done
[ -z "$(ls -A tmp)" ] || fail "left in the temporary folder: $(ls tmp)"

# Held against another, in pairs; one run is none.
exits 1 run s.yaml --policy easy --replicas 5 -o easy.db --no-progress
exits 0 compare one.db easy.db --json
[ "$(jq -c '[.arms[] | [.arm, .runs]]' out)" = '[["one",5],["easy",5]]' ] || fail "not two settings of five: $(jq -c .arms out)"
[ "$(jq '[.differences[] | select(.metric == "wait_mean_s")][0].n' out)" = 5 ] || fail "not in pairs"
exits 0 compare was=one.db will=easy.db
grep -q '^will against was' out || fail "$(head -1 out)"
exits 64 compare one.db alone.db
exits 64 run s.yaml -j 2
exits 64 run s.yaml --replicas 2 --junit x.xml
head -100 trace.csv | "$orrery" run --trace - --cluster 4x8 --replicas 2 --no-progress -q -o piped.db || fail "exit $? of replicas of a pipe"
sed 's/^shake.*//' s.yaml >same.yaml
exits 1 run same.yaml --replicas 2 -o same.db --no-progress
grep -q 'all replicas are the same run' out || fail "$(cat out)"
