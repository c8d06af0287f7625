#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery report`: the page has its sections, refers to nothing outside itself, and shows text as text.
#
#   report.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" --quiet --no-progress -o kai.db
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy fifo --quiet --no-progress -o fifo.db 2>/dev/null || true
"$orrery" report kai.db -o kai.html
for id in waits load evictions lending figures trust provenance; do
    grep -q "<h2 id=\"$id\">" kai.html || fail "no section $id"
done
# Runs side by side go by the names that are given, as in compare and plot.
"$orrery" report today=kai.db simple=fifo.db -o named.html
grep -q '<summary>today: kai.db</summary>' named.html && grep -q '>simple<' named.html && ! grep -q '>fifo.db<' named.html || fail "names of runs are not those given"
# What a reader asks first is answered in words, at the top.
grep -q 'Job <b>sweep-11</b> of queue <b>research</b> (4 GPUs) waited <b>15.8 h</b>, mostly because' kai.html ||
    fail "who waited is not said"
grep -q '<b>Yes.</b> Of 32 GPUs 100 % were held on average' kai.html || fail "saturation is not said"
held=$(sqlite3 kai.db "SELECT printf('%.0f', 100 * value) FROM metric WHERE name = 'phase_gpu_occupancy' AND label = 'phase=drain'")
grep -q "In the drain, the [0-9.]* [a-z]* after the window, $held % were held" kai.html || fail "the drain is not said"
grep -q '8 attempts were cut short; that cost <b>105 GPU-hours</b> of work, 11.6 % of what was held (reclaim 105)' kai.html ||
    fail "the cost of evictions is not said"
grep -q '<b>research</b> (167 GPU-hours, mostly from product) borrowed most' kai.html || fail "who borrowed is not said"
grep -q 'found all 11 rules it could examine kept' kai.html || fail "no reason to trust it"
grep -q 'data-h="job">sweep-11</td><td data-h="queue">research</td>' kai.html || fail "who waited is not told"
grep -q '<tr><td>reclaim</td><td>research</td>' kai.html || fail "what was evicted is not told"
grep -q '<tr><td>research</td><td>product</td>' kai.html || fail "who borrowed is not told"
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' kai.html)" -ge 7 ] || fail "figures are missing"
fi
# A name space is no reference; anything else with a scheme would be.
if grep -oE '(src|href|url)[=(]["'\'']?(https?:|//)[^"'\'' )]*' kai.html | grep -v 'w3.org'; then
    fail "the page refers to something outside"
fi
# One script, which sorts tables; it asks nobody for anything.
[ "$(grep -c '<script' kai.html)" = 1 ] || fail "the page has other scripts than the one that sorts"
sed -n '/<script>/,/<\/script>/p' kai.html | sed 's/<[/]*script>//' >sort.js
grep -qE 'fetch|XMLHttp|import|eval|innerHTML' sort.js && fail "the script does more than sort"
# In the dark figures have the colours of plot --dark: each that they have on white has another, but for the lighter
# ones of causes and reasons, which stay.
grep -v "class='scale'" kai.html | grep -oE "(fill|stroke) ?= ?['\"]rgb\([^)]*\)" | sed -E "s/ //g; s/=['\"]/ /" | sort -u >colours
[ "$(wc -l <colours)" -ge 10 ] || ! command -v gnuplot >/dev/null || fail "no colours: $(cat colours)"
while read -r property colour; do
    case $colour in 'rgb(119,170,221)' | 'rgb(238,136,102)' | 'rgb(238,221,136)' | 'rgb(68,187,153)' | 'rgb(255,170,187)' | 'rgb(181,142,204)' | 'rgb(148,0,211)') continue ;; esac
    grep -qF "figure svg [$property=\"$colour\"]" kai.html || fail "$property $colour stays as it is in the dark"
done <colours
if command -v node >/dev/null; then
    cat >page.js <<'JS'
const rows = ['10 s', '2 s', '-', '33 min', '1\u202f000', '1d 00:00:00'].map(textContent => ({cells: [{textContent}]}));
const attributes = {};
const head = {getAttribute: k => attributes[k] ?? null, setAttribute: (k, v) => { attributes[k] = v; },
    removeAttribute: k => { delete attributes[k]; }};
head.parentNode = {cells: [head]};
const body = {rows, append(row) { rows.splice(rows.indexOf(row), 1); rows.push(row); }};
globalThis.document = {querySelectorAll: () => [{tBodies: [body], tHead: {rows: [{cells: [head]}]}}]};
JS
    cat page.js sort.js - >all.js <<'JS'
const texts = () => rows.map(r => r.cells[0].textContent).join();
head.onclick();
const down = texts();
head.onclick();
const up = texts();
if (down !== '1d 00:00:00,33 min,1\u202f000,10 s,2 s,-' || up !== '2 s,10 s,1\u202f000,33 min,1d 00:00:00,-') { console.log(down, texts()); process.exit(1); }
JS
    node all.js || fail "a table is not sorted"
fi
# Texts of a results file are text.
cat >evil.csv <<'CSV'
job,submit_s,run_s,gpus,queue
first,0,10,1,"a&b<i>"
<script>alert(1)</script>,0,10,1,"a&b<i>"
CSV
"$orrery" run --trace evil.csv --cluster 1x1 --quiet --no-progress -o evil.db
"$orrery" report evil.db -o evil.html
grep -q '<script>alert' evil.html && fail "a job's name became part of the page"
grep -q '&lt;script&gt;' evil.html || fail "a job's name is missing"
# What useful time cost, in money and energy, where nodes have a price and a power.
! grep -q 'useful GPU-hour<' evil.html || fail "nodes without a price have a cost"
sed 's/>,0,/>,10,/' evil.csv >dear.csv
"$orrery" run --trace dear.csv --cluster 1x1 --quiet --no-progress -o dear.db --set cluster.pools.c1.price=2 \
    --set cluster.pools.c1.idle_power=1kW --set cluster.pools.c1.full_power=3kW
"$orrery" report dear.db -o dear.html
for card in 'cost of a useful' 'kWh for a useful'; do
    grep -q "$card GPU-hour<" dear.html || fail "no card: $card"
done
# A service: what it asked for against what it had, and its queue although it came before the window.
printf 'time_s,rate\n0,1\n60,2\n120,3\n180,2\n240,1\n300,1\n' >rate.csv
cat >service.yaml <<'YAML'
horizon: 6m
warmup: 1m
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [2, 1, unlimited]}}
workload:
- name: web
  kind: inference
  queue: q
  service: {gpus_per_pod: 1, replicas: 1..3, rate: rate.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m,
            scale_down_window: 0s}
  objective: {served_within: 10s, share: 0.9}
YAML
"$orrery" run service.yaml --policy fifo --quiet --no-progress -o service.db
"$orrery" report service.db -o service.html
grep -q '<b>web</b>: .* % of [0-9]* requests were served in time, [0-9]* \(was\|were\) in line at the end; it was short of pods for 60 s' service.html ||
    fail "a service's objective is not told"
grep -q '<h2 id="objectives">' service.html || fail "no section of objectives"
grep -q '<td class="n">1.67</td><td class="n">1.50</td><td class="n">60 s</td>' service.html || fail "pods wanted and had are not told"
grep -q '>in line at the end</th>' service.html || fail "who is in line is not told"
grep -q '<td>q</td><td>inference</td><td class="n">0</td>' service.html || fail "the queue of a service is missing"
grep -q '<nav.*<a href="#objectives">' service.html || fail "the section of objectives cannot be gone to"
grep -q 'No jobs but services were submitted in the window' service.html || fail "services are said to have waited"
! grep -q 'id="objectives"' kai.html || fail "a run without objectives has a section of them"
sed -i 's/nodes: 2/nodes: 3/; s/gpu: .2,/gpu: [3,/' service.yaml
"$orrery" run service.yaml --policy fifo --quiet --no-progress -o more.db
"$orrery" report service.db more.db -o services.html
if command -v gnuplot >/dev/null; then # one picture of both, where each had its own; not again below
    [ $(($(grep -c 'id="beside-figure-' services.html) + $(sed -n 's/^<p class="soft">Not drawn: //p' services.html | head -1 | tr ';' '\n' | grep -c :))) = 12 ] || fail "figures of both runs: $(grep -o 'id="beside-figure-[a-z-]*' services.html)"
    ! grep -q 'id="[^b][^"]*figure-depth"' services.html || fail "depth stands again below each run"
fi
grep -q '<tr><td>web: objective met</td><td class="n">[0-9.]* %</td>' services.html || fail "objectives are not side by side"
# Jobs that never could start: in no quantile, and the page does not say they are; beside another run, who they are.
printf 'job,submit_s,run_s,gpus,queue,kind\na,0,100,4,x,training\nb,0,200,8,y,training\nc,20,5,1,y,interactive\n' >barred.csv
cat >barred.yaml <<'YAML'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
queues: {x: {gpu: [8, 1, unlimited]}, y: {gpu: [8, 1, unlimited]}}
workload: [{name: t, trace: barred.csv}]
policy: kai
expect:
- wait_p95_s <= 1
- wait_p95_s{queue=y,kind=interactive} <= 10
YAML
"$orrery" run barred.yaml --quiet --no-progress -o free.db
code=0
"$orrery" run barred.yaml --set queues.y.gpu.quota=0 --quiet --no-progress -o barred.db 2>err || code=$?
{ [ "$code" = 1 ] && grep -q 'wait_p95_s{queue=y,kind=interactive} <= 10 is false: it is not reached' err; } || fail "exit $code: $(cat err)"
"$orrery" report barred.db -o barred.html
grep -q '1 of them not started, of which 1 never could have and is in no number of waits\.' barred.html || fail "a job that never could start is said to count"
grep -q '<b>No.</b> Of what the scenario expects, 1 of 2 statements held. <code>wait_p95_s{queue=y,kind=interactive} &lt;= 10</code> did not: it was not reached' barred.html ||
    fail "what was expected is not told"
grep -q '<a href="#expected">' barred.html && grep -q '<h2 id="expected">' barred.html || fail "no section of what is expected"
"$orrery" report free.db barred.db -o both.html
grep -q '<b>barred.db:</b> y, interactive (1 more of its jobs never could start)' both.html || fail "who is worse off is not told"
grep -q '<tr><td>jobs that never could start</td><td class="n">0</td><td class="n">1</td><td class="n">+1</td><td>worse</td>' both.html || fail "how many never could start is not told"
# What is free is of the kind that a job asks: instances of a MIG profile are no devices, nor the other way round.
printf 'job,submit_s,run_s,gpus_per_pod,pods,mig_profile\nd,0,100,3,1,\nm,0,200,,1,3g.40gb\ndevices,1,50,2,1,\ninstances,1,50,,2,3g.40gb\n' >kinds.csv
cat >kinds.yaml <<'YAML'
cluster:
  pools:
    d: {nodes: 1, gpus: 4}
    m: {nodes: 1, gpus: 0, mig: {1g.10gb: 14, 3g.40gb: 2}}
workload: [{name: t, trace: kinds.csv}]
policy: {name: fifo, params: {backfill: true}}
YAML
"$orrery" run kinds.yaml --quiet --no-progress -o kinds.db
"$orrery" report kinds.db -o kinds.html
grep -q '>1 GPU free, at most 1 on one node<' kinds.html && grep -q '>3 GPUs free of MIG instances 3g.40gb, at most 3 on one node<' kinds.html ||
    fail "free GPUs are of another kind: $(grep -o '>[0-9]* GPUs* free[^<]*' kinds.html)"
# Several: side by side, with what was changed.
"$orrery" report kai.db fifo.db -o two.html
grep -q '<h2 id="side">' two.html || fail "not side by side"
grep -q '<b>fifo.db:</b> policy: name from kai to fifo' two.html || fail "what was changed is not told"
grep -q '<b>fifo.db:</b> worse: mean wait 3.0 h to' two.html || fail "what came of it is not told"
grep -q 'product, training (95 % wait at most .*, was 1 s)' two.html || fail "who is worse off is not told"
grep -o ' id="[^"]*"' two.html | grep -v '"gn\|"gp' | sort | uniq -d | grep . && fail "two places have one name"
# Figures of a run whose drain is long: warm-up and last submit are marked, waits are said to be of the window, and
# buckets that were joined hold no more than there is, the last, which is shorter, too.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 60; i++) print "j" i "," i * 10 "," 300 * (1 + i % 7) + i "," 1 + i % 4 "," substr("ab", 1 + i % 2, 1) }' >drain.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 4}}}\nwarmup: 200s\nhorizon: 2000s\npolicy: easy\nworkload: [{name: t, trace: drain.csv}]\n' >drain.yaml
"$orrery" run drain.yaml --quiet --no-progress -o drain.db
PATH=/nonexistent "$orrery" plot drain.db allocation wait-cdf 2>err || [ $? = 69 ] || fail "$(cat err)"
grep -q "'end of warm-up' at 200.000" drain-allocation.gp || fail "the warm-up is not marked"
grep -q "'last submit' at 590.000" drain-allocation.gp || fail "the last submit is not marked"
grep -q '60 jobs in 33.3 min, cut at the horizon; those after the warm-up' drain-wait-cdf.gp || fail "$(grep heading drain-wait-cdf.gp)"
"$orrery" run drain.yaml --set horizon=null --quiet --no-progress -o drained.db
PATH=/nonexistent "$orrery" plot drained.db allocation 2>err || [ $? = 69 ] || fail "$(cat err)"
awk 'NF > 2 && $1 !~ /#/ { if ($NF > most) most = $NF } END { exit !(most > 3.9 && most < 4.0001) }' drained-allocation.dat || fail "a bucket holds more than there is"
code=0
"$orrery" report missing.db -o none.html 2>/dev/null || code=$?
{ [ "$code" = 66 ] && [ ! -e none.html ]; } || fail "a missing file leaves a page"

# "In the end" is a second before the end of the wait, not when its reason began: two nodes of 8, l wants both; at first none of
# them is free, from 100 s on one is, until b ends at 200 s.
printf 'job,submit_s,run_s,gpus,queue\na,0,100,8,q\nb,0,200,8,q\nl,10,50,16,q\n' >end.csv
"$orrery" run --trace end.csv --cluster 2x8 --policy fifo --quiet --no-progress -o end.db
"$orrery" report end.db -o end.html -q
grep -q 'Job <b>l</b> of queue <b>q</b> (16 GPUs) waited <b>3.2 min</b>, mostly because fewer GPUs are free than it asks (in the end: 8 GPUs free, at most 8 on one node)' end.html ||
    fail "in the end: $(grep -o 'Job <b>l</b>[^.]*[.][^.]*' end.html)"
# What is freed between two cycles of a scheduler that looks each second is what the job then gets, not why it waited.
printf 'job,submit_s,run_s,gpus,queue\na,0,100.5,16,q\nl,10,50,16,q\n' >cycle.csv
"$orrery" run --trace cycle.csv --cluster 2x8 --policy kai --quiet --no-progress -o cycle.db
"$orrery" report cycle.db -o cycle.html -q
grep -q 'Job <b>l</b>.*(in the end: 0 GPUs free, at most 0 on one node)' cycle.html || fail "in the end: $(grep -o 'Job <b>l</b>[^.]*[.][^.]*' cycle.html)"
# Of quantiles that neither run reached nobody knows which is longer: they are not the same.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 1; i <= 10; i++) print "o" i "," i ",1000,8,q" }' >open.csv
for policy in fifo kai; do "$orrery" run --trace open.csv --cluster 1x8 --policy $policy --set horizon=500s --quiet --no-progress -o open-$policy.db; done
"$orrery" report open-fifo.db open-kai.db -o open.html -q
grep -q 'no queue waits longer (95 % of its jobs); of 1 queue and kind it is not known' open.html && grep -q '<td>not known</td>' open.html || fail "$(grep -o 'waits longer[^<]*' open.html)"
# A queue of three jobs is not singled out, whatever its p95 of three is.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 1; i <= 40; i++) print "m" i "," i ",100,8,many"; for (i = 1; i <= 3; i++) print "f" i "," 40 + i ",100,8,few" }' >few.csv
"$orrery" run --trace few.csv --cluster 1x8 --policy fifo --quiet --no-progress -o few.db
"$orrery" report few.db --no-progress -o few.html >out 2>err || fail "no report"
grep -q 'jobs of <b>many, unknown</b> (40) waited longest' few.html || fail "who waited longest: $(grep -o 'jobs of <b>[^.]*' few.html)"

# Nodes that are away are not down, and what is held is a part of what is up: 8 GPUs of 40 are there, half of them held.
printf 'job,submit_s,run_s,gpus,queue\na,0,1000,4,q\nb,1000,10,1,q\n' >half.csv
cat >half.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8}, x: {nodes: 0, gpus: 8, autoscale: {min: 0, max: 4, provision: 2m, idle: 5m}}}}
policy: fifo
workload: [{name: w, trace: half.csv}]
YAML
held() { # SENTENCE: in its report
    rm -f half.db
    "$orrery" run half.yaml --quiet --no-progress -o half.db
    "$orrery" report half.db --no-progress -o half.html >out
    grep -q "$1" half.html || fail "expected $1: $(grep -A 1 'saturated?' half.html)"
}
held 'Of 40 GPUs 8 were part of the cluster on average; of these 50 % were held. .*Away on average: 32 GPUs, of nodes that had not joined or had left\. '
! grep -q 'Down on average' half.html || fail "nodes that are away are down"
sed -i 's/p: {nodes: 1/p: {nodes: 2/' half.yaml
echo 'events: [{at: 0s, fail: p-0002, for: 500s}]' >>half.yaml
held 'Of 48 GPUs 16 were part of the cluster and 12 were up on average; of these 33 % were held. .*Away on average: 32 GPUs.*Down on average: 4 GPUs\. '
sed -i "s/, x: {.*}}}}\$/}}/; s/p-0002/n0002/" half.yaml
held 'Of 16 GPUs 12 were up on average; of these 33 % were held. .*Down on average: 4 GPUs\. '
! grep -q 'Away on average' half.html || fail "nodes that are down are away"

# A service goes on without the pods that it loses: that is no attempt cut short.
printf 'time_s,rate\n0,10\n600,10\n' >pods.csv
cat >pods.yaml <<YAML
horizon: 1h
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
queues: {s: {gpu: [16, 1, unlimited]}}
execution: {grace: 30s}
policy: fifo
workload:
- name: chat
  queue: s
  service: {gpus_per_pod: 4, replicas: 4..4, rate: {file: pods.csv}, service_time: 1s, concurrency: 10, load: 30s}
  objective: {served_within: 2s, share: 0.99}
events:
- {at: 1000s, fail: n0001, for: 500s}
- {at: 2000s, maintain: n0002, for: 500s}
YAML
"$orrery" run pods.yaml --quiet --no-progress -o pods.db
"$orrery" report pods.db --no-progress -o pods.html >out
grep -q '<dd>2 times jobs lost some pods and went on; that cost <b>' pods.html && grep -q 'Most often from <b>s</b> (2 times)' pods.html ||
    fail "pods that a service lost: $(grep -A 1 'evictions cost?' pods.html)"

# Two partial gangs hold what the other needs: the run ends, and its numbers hide that they wait for ever.
printf 'job,submit_s,run_s,pods,gpus_per_pod\nx<1>,1,100,2,2\nfirst,0,10,1,1\nb,2,100,3,1\n' >behind.csv
"$orrery" run --trace behind.csv --cluster 2x2 --policy kube --param score=most-allocated --quiet --no-progress -o behind.db
"$orrery" report behind.db --no-progress -o behind.html >out
grep -q '<b>At the end 2 jobs still waited</b>, though nothing ran and nothing was to come: first x&lt;1&gt; (some of its pods' behind.html ||
    fail "jobs that were left behind: $(grep 'Some jobs could not end' behind.html)"

printf 'reported\n'
