#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery compare` from the command line: one trace has no interval, shaken replicas and blocks have,
# pairs are made by seed, and the formats agree.
#
#   compare.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

log=log.swf
gzip -dc "$source/tests/peers/backfill/hpc2n-exact.swf.gz" | awk '/^;/ || ++n <= 1200' >log.swf
run() {
    out=$1
    shift
    "$orrery" run --trace "$log" --cluster 240x1 --split 1 --quiet --no-progress -o "$out" "$@"
}
digest() {
    "$orrery" export "$1" run --format jsonl | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/'
}

run fifo.db --policy fifo
run easy.db --policy easy
"$orrery" compare fifo.db easy.db >one.txt 2>one.err
grep -q 'no interval' one.txt || fail "one trace has an interval"
grep -q -- '--replicas 20 --shake' one.err || fail "shaking is not offered"

# How many times as long the same jobs took: made again in SQL, and with an interval from blocks.
"$orrery" compare fifo.db easy.db --metric jct_ratio_geomean --json 2>/dev/null >ratio.json
sqlite3 fifo.db "ATTACH 'easy.db' AS e; SELECT exp(avg(ln((b.end_ms - b.submit_ms) * 1.0 / (a.end_ms - a.submit_ms)))) FROM job AS a
    JOIN e.job AS b ON b.name = a.name WHERE a.state = 3 AND b.state = 3 AND a.end_ms > a.submit_ms AND b.end_ms > b.submit_ms" >wanted
jq -r '.differences[0] | .arm_mean, .base_mean' ratio.json | paste -s -d' ' | awk -v want="$(cat wanted)" '
    { d = $1 - want } END { exit !(want > 0 && want < 1 && d < 1e-12 && d > -1e-12 && $2 == 1) }' || fail "ratio: $(cat ratio.json)"
"$orrery" compare fifo.db easy.db --metric jct_ratio_geomean --windows 1d >ratio.txt
grep -q "took $(printf '%.3g' "$(cat wanted)") times as long under easy as under fifo .*better.*interval 0\." ratio.txt || fail "$(cat ratio.txt)"

# The shaken input is the seed's: the same for the same seed, another for another, the file's own
# without.
run a.db --policy fifo --set shake.submit=60s --set shake.run=0.01 --seed 7
run b.db --policy fifo --set shake.submit=60s --set shake.run=0.01 --seed 7
run c.db --policy fifo --set shake.submit=60s --set shake.run=0.01 --seed 8
run d.db --policy fifo --set shake.submit=0s --set shake.run=0 --seed 8
[ "$(digest a.db)" = "$(digest b.db)" ] || fail "one seed shakes in two ways"
[ "$(digest a.db)" != "$(digest c.db)" ] || fail "two seeds shake in one way"
[ "$(digest d.db)" = "$(digest fifo.db)" ] || fail "nothing to shake, and it shook"
"$orrery" export a.db jobs >a.csv
"$orrery" export fifo.db jobs >plain.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    FNR == NR { submit[$c["job"]] = $c["submit_s"]; run[$c["job"]] = $c["run_s"]; next }
    $c["job"] in submit {
        move = $c["submit_s"] - submit[$c["job"]]; sum += move; n++
        if (move < -60 || move > 60) bad++
        if (run[$c["job"]] > 0) {
            part = $c["run_s"] / run[$c["job"]] - 1
            if (part < -0.0101 || part > 0.0101) bad++
        }
    }
    END { exit !(n == 1200 && bad == 0 && sum / n > -2 && sum / n < 2) }' plain.csv a.csv ||
    fail "a shaken input is not within its bounds"

# Pairs by seed, from files and from replicas.
run e.db --policy easy --set shake.submit=60s --set shake.run=0.01 --seed 7
run f.db --policy easy --set shake.submit=60s --set shake.run=0.01 --seed 8
"$orrery" compare a.db c.db e.db f.db --metric wait_mean_s --format csv >files.csv
"$orrery" compare fifo.db easy.db --replicas 2 --shake submit=60s,run=1% --metric wait_mean_s --format csv \
    --no-progress >replicas.csv
[ "$(cut -d, -f7 files.csv | tail -1)" = 2 ] || fail "not two pairs"
[ "$(cut -d, -f7 replicas.csv | tail -1)" = 2 ] || fail "not two replicas"
mkdir kept again
cp fifo.db again/fifo.db
cp easy.db again/fifo-2.db
"$orrery" compare fifo.db easy.db --replicas 3 --shake submit=60s --metric wait_mean_s --all >said.txt
grep -q '^The input of one trace was shaken: these intervals cover that jitter, not other traces.$' said.txt || fail "what shaken intervals cover"
# what blocks say is what --windows says of the first pair
"$orrery" compare fifo.db easy.db --replicas 3 --shake submit=60s --metric wait_mean_s --keep pair --json --no-progress >pair.json
block=$(jq .beside_block_s pair.json)
"$orrery" compare pair/1-fifo-*1.db pair/2-easy-*1.db --windows "${block}s" --metric wait_mean_s --json >windows.json
[ "$(jq -c '.differences[0] | [.low, .high]' windows.json)" = "$(jq -c '.differences[0] | [.blocks_low, .blocks_high]' pair.json)" ] ||
    fail "blocks beside: $(jq -c '.differences[0]' pair.json) and $(jq -c '.differences[0]' windows.json)"
"$orrery" compare fifo.db again/fifo-2.db --replicas 2 --shake submit=60s --metric wait_mean_s >named.txt
grep -q 'from fifo to fifo-2\|between fifo and fifo-2' named.txt || fail "replicas are not called by their files"
mv again/fifo-2.db again/fifo.db
"$orrery" compare fifo.db again/fifo.db --replicas 2 --shake submit=60s --metric wait_mean_s >named.txt
grep -q 'from fifo.db to again/fifo.db\|between fifo.db and again/fifo.db' named.txt || fail "files of one name are not told apart"
"$orrery" compare fifo.db easy.db --replicas 3 -j 2 --shake submit=60s --keep kept --no-progress --json >kept.json
grep -q '"pairs": 3' kept.json || fail "not three pairs"
[ "$(find kept -name '*.db' | wc -l)" -eq 6 ] || fail "the results are not kept"

# Blocks of one long trace.
"$orrery" compare fifo.db easy.db --windows 7d --json >blocks.json
grep -q '"blocks": [1-9]' blocks.json || fail "no blocks"
# By kind, queue, size: of the one kind of this log it is what all is; others have the values that are stored, and intervals.
"$orrery" compare fifo.db easy.db --windows 7d --by kind --metric wait_mean_s --metric wait_p95_s --json >kinds.json
for metric in wait_mean_s wait_p95_s; do
    one=".differences[] | select(.metric == \"$metric\") | [.difference, .low, .high]"
    [ "$(jq -c "$one" kinds.json)" = "$(jq -c "$one" blocks.json)" ] || fail "$metric by its one kind: $(jq -c "$one" kinds.json), of all $(jq -c "$one" blocks.json)"
done
for by in queue size; do
    "$orrery" compare fifo.db easy.db --windows 7d --by $by --metric wait_mean_s --metric wait_p95_s --json >by.json
    jq -r '.differences[] | select(.base_mean != null) | "\(.metric) \(.label) \(.base_mean) \(.low != null)"' by.json >rows
    [ "$(grep -c 'true$' rows)" -ge 2 ] || fail "no intervals by $by: $(cat rows)"
    while read -r metric label value known; do
        sqlite3 fifo.db "SELECT abs(value - $value) < 1e-9 * value + 1e-9 FROM metric WHERE name = '$metric' AND scope = '$by' AND label = '$label'" | grep -qx 1 ||
            fail "by $by: $metric of $label is not $value"
    done <rows
done
for format in text markdown csv latex; do
    "$orrery" compare base=fifo.db other=easy.db --windows 7d --metric wait_p95_s --format "$format" >out
    grep -q other out || fail "$format does not name its arm"
done

# Jobs that never started are censored: by blocks the estimates are the stored ones, and the answer
# says how many there were.
cat >cut.yaml <<YAML
cluster: {pools: {p: {nodes: 140, gpus: 1}}}
workload: [{name: log, trace: "$log", split: 1}]
horizon: 26d
YAML
for policy in fifo easy; do
    "$orrery" run cut.yaml --policy $policy --allow-loss --quiet --no-progress -o cut-$policy.db 2>cut.err
done
"$orrery" compare cut-fifo.db cut-easy.db --windows 3d >cut.txt 2>/dev/null
grep -q '^fifo: [1-9][0-9]* of [0-9]* jobs never started' cut.txt || fail "jobs that never started are not told"
"$orrery" compare cut-fifo.db cut-easy.db --windows 3d --format csv >cut.csv 2>/dev/null
for policy in fifo easy; do
    "$orrery" export cut-$policy.db metric --format csv >$policy.csv
done
awk -F, 'FILENAME == "cut.csv" { base[$1] = $8; arm[$1] = $9; next }
    $2 == "all" && ($1 == "wait_p50_s" || $1 == "wait_p95_s" || $1 == "wait_p99_s" || $1 == "wait_mean_s") {
        mine = FILENAME == "fifo.csv" ? base[$1] : arm[$1]
        off = mine - $4; n++
        if ((mine == "") != ($4 == "") || off > 1e-6 || off < -1e-6) { print FILENAME, $0, mine; bad++ } }
    END { exit !(n == 8 && bad == 0) }' cut.csv fifo.csv easy.csv || fail "estimates by blocks are not the stored ones"

# No interval takes away more than there is: what a difference leaves open is told in percent of the base.
cat >few.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
workload: [{name: w, generate: {until: 6h, sizes: {1: 8, 8: 2, 32: 1}, arrivals: {per_day: 150}, duration: {exponential: {mean: 1h}}}}]
YAML
for seed in 1 2 3; do
    for policy in fifo easy; do
        "$orrery" run few.yaml --policy $policy --seed $seed --quiet --no-progress -o few-$policy-$seed.db || fail "few"
    done
done
"$orrery" compare few-fifo-*.db few-easy-*.db --format csv >few.csv 2>/dev/null || fail "few runs"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["part_low"] != "" { n++; wide += $at["low"] < -$at["base_mean"]; bad += $at["part_low"] < -1 || ($at["part_high"] != "" && $at["part_high"] < $at["part_low"]) }
    END { exit !(n > 3 && wide > 0 && bad == 0) }' few.csv || fail "intervals of parts: $(cat few.csv)"
"$orrery" compare few-fifo-*.db few-easy-*.db 2>/dev/null >few.txt
grep -Eq ' -[0-9.]+ % to (any|[+-][0-9.]+ %)' few.txt || fail "no interval in percent: $(cat few.txt)"

# The folder of the figure is made; where it cannot be, that is said before any run.
"$orrery" compare fifo.db easy.db --plot new --quiet >out 2>err || fail "compare --plot"
[ -s new/compare-forest.svg ] || [ -s new/compare-forest.gp ] || fail "no figure: $(ls new)"
code=0
"$orrery" compare fifo.db easy.db --plot fifo.db/there --quiet >out 2>err || code=$?
{ [ "$code" = 73 ] && [ ! -s out ]; } || fail "exit $code: a folder that cannot be made"

# One screen by queue, in people's times; the table on request; labels that tell settings apart.
"$orrery" compare fifo.db easy.db --by queue >short.txt 2>/dev/null
grep -q '^  better off: ' short.txt || fail "who gains: $(cat short.txt)"
[ "$(wc -l <short.txt)" -le 16 ] || fail "not one screen: $(cat short.txt)"
"$orrery" compare fifo.db easy.db --by queue --all >long.txt 2>/dev/null
grep -q 'wait_mean_s{queue=.* [0-9.]* \(min\|h\|d\) .* [0-9.]* \(min\|h\|d\) .*better' long.txt || fail "seconds: $(cat long.txt)"
"$orrery" compare fifo.db easy.db --format latex 2>/dev/null | grep -q 'toprule' || fail "LaTeX without booktabs"
code=0
"$orrery" compare a=fifo.db a=easy.db 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'two settings are called "a"' err; } || fail "exit $code: one label for two: $(cat err)"

# What is wrong, in words.
code=0
"$orrery" compare fifo.db d.db 2>err || code=$?
[ "$code" = 65 ] && grep -q 'one setting\|same setting' err || fail "one arm is compared with itself"
code=0
"$orrery" compare fifo.db easy.db --windows 100d 2>err || code=$?
[ "$code" = 64 ] && grep -q ' block in the part' err || fail "one block has an interval"
code=0
"$orrery" compare fifo.db easy.db --replicas 2 --shake submit=60 2>err || code=$?
[ "$code" = 64 ] && grep -q 'submit=60s' err || fail "a bare number is a time"
# Warm-ups that each run detects: all numbers are from the longest on, which is what stating it gives.
cat >warm.yaml <<'YAML'
apiVersion: orrery/v1alpha1
kind: Scenario
warmup: detect
horizon: 4d
cluster: {pools: {p: {nodes: 8, gpus: 4}}}
workload:
- {name: w, generate: {sizes: {1: 3, 4: 1}, arrivals: {per_day: 150}, duration: {exponential: {mean: 4h}}}}
YAML
for policy in fifo easy; do
    for seed in 1 2 3; do
        "$orrery" run warm.yaml --policy $policy --seed $seed --quiet --no-progress -o "warm-$policy-$seed.db"
    done
done
"$orrery" compare warm-*.db --no-progress --json >out 2>err
grep -q 'warm-ups differ (.* to .*)' err || fail "nobody says that warm-ups differ"
longest=$(for db in warm-*.db; do sqlite3 "$db" "SELECT window_start_ms - (SELECT min(submit_ms) FROM job) FROM run"; done | sort -n | tail -1)
[ "$longest" -gt 0 ] || fail "no warm-up was detected"
for policy in fifo easy; do
    for seed in 1 2 3; do
        "$orrery" run warm.yaml --policy $policy --seed $seed --set warmup="${longest}ms" --quiet --no-progress -o "stated-$policy-$seed.db"
    done
done
"$orrery" compare stated-*.db --no-progress --json >stated 2>err
grep -q 'warm-ups differ' err && fail "stated warm-ups do not differ"
cmp -s out stated || fail "detected warm-ups are not measured from the longest on"
sqlite3 warm-easy-1.db "UPDATE run SET digest = '0123456789abcdef'"
code=0
"$orrery" compare warm-*.db --no-progress >out 2>err || code=$?
{ [ "$code" = 65 ] && grep -q 'decides otherwise' err; } || fail "exit $code: a run that does not come out the same"

# Names of queues in tables: whole, and nothing in them that ends a cell or a formula. Other traces are told.
printf 'job,submit_s,run_s,gpus,queue\na,0,100,4,a|b\nb,0,200,4,~x^y<z>\nc,10,50,8,a-queue-with-a-long-name-that-is-not-cut-off\n' >odd.csv
for policy in fifo easy; do
    "$orrery" run --trace odd.csv --cluster 1x8 --policy $policy --quiet --no-progress -o "odd-$policy.db"
done
odd() {
    "$orrery" compare odd-fifo.db odd-easy.db --by queue --metric wait_p95_s "$@" 2>err
}
odd --all | grep -q '^wait_p95_s{queue=a-queue-with-a-long-name-that-is-not-cut-off,kind=unknown} ' || fail "a name is cut off"
odd --format markdown | grep -qF '| wait_p95_s{queue=a\|b,kind=unknown} | s |' || fail "a bar ends a cell"
odd --format latex | grep -qF 'queue=\textasciitilde{}x\textasciicircum{}y\textless{}z\textgreater{},kind' || fail "TeX would read a name"
"$orrery" compare fifo.db odd-easy.db --metric wait_p95_s >out 2>err
grep -q 'replay different traces' err || fail "other traces are not told"
"$orrery" compare fifo.db easy.db --metric wait_p95_s >out 2>err
! grep -q 'replay different traces' err || fail "the same trace is said to be another"
code=0
"$orrery" compare fifo.db easy.db --by user >out 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'is not all, queue, kind, size or workload' err; } || fail "exit $code: --by user"

# Blocks of which one alone has jobs give no interval, not one of no width.
printf 'job,submit_s,run_s,gpus,queue\na,0,100,4,x\nb,1,200,8,x\nc,2,50,4,x\nz,600,50,4,x\n' >thin.csv
for policy in fifo easy; do
    "$orrery" run --trace thin.csv --cluster 1x8 --policy $policy --quiet --no-progress -o "thin-$policy.db"
done
"$orrery" compare thin-fifo.db thin-easy.db --metric jct_ratio_geomean --windows 60s >out
grep -q 'jct_ratio_geomean: .*no interval' out || fail "$(cat out)"

# Services are parts of the workload: what they served is compared by these, and a metric that the scope has not is named.
printf 'time_s,rate\n0,1\n60,4\n120,4\n180,4\n240,1\n300,1\n' >rate.csv
cat >parts.yaml <<'END'
horizon: 6m
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload:
- name: s
  kind: inference
  service: {gpus_per_pod: 1, replicas: 1..4, rate: rate.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m}
  objective: {served_within: 2s}
policy: fifo
END
for policy in srtf gavel; do # one looks at once, the other every 6 minutes
    "$orrery" run parts.yaml --policy $policy --quiet --no-progress -o "parts-$policy.db" 2>err
done
"$orrery" compare parts-srtf.db parts-gavel.db --by workload --format csv >out 2>err
grep -q '^attainment,workload,workload=s,1,' out || fail "no attainment by workload: $(cat out err)"
! grep -q wait_mean_s out || fail "a wait of a part that is a service"
"$orrery" compare parts-srtf.db parts-gavel.db --metric gpu_occupancy --metric attainment >out 2>err
grep -q 'attainment: no file has a row of scope all; it is of: workload' err || fail "dropped in silence: $(cat err)"
code=0
"$orrery" compare parts-srtf.db parts-gavel.db --metric attainment >out 2>err || code=$?
{ [ "$code" = 65 ] && grep -q 'in scope all (attainment is of: workload' err; } || fail "exit $code: $(cat err)"
code=0
"$orrery" compare parts-srtf.db parts-gavel.db --metric goodputs >out 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'no metric is called goodputs' err; } || fail "exit $code: $(cat err)"
code=0
"$orrery" compare parts-srtf.db parts-gavel.db --by workload --windows 1m >out 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'needs runs of several seeds' err; } || fail "exit $code: $(cat err)"

printf 'compared\n'
