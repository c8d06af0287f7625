#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery growth`: the month in which each objective breaks, held against a run of every month.
#
#   growth.sh ORRERY WORK_DIR SOURCE_DIR
set -eu
command -v jq >/dev/null || exit 77

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 8, gpus: 8}}}
workload: [{name: w, trace: t.csv}]
policy: fifo
expect: [wait_p95_s <= 600, wait_mean_s <= 30, gpu_occupancy >= 0.05, wait_max_s <= 0]
YAML
for trace in 1 2 3; do
    awk -v state=$trace "$draw_awk"' BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod"
        for (i = 0; i < 150; i++) { at += 900 * draw(); print "j" i "," int(at) "," int(300 + 3000 * draw()) ",1," 1 + int(8 * draw()) } }' >t.csv
    month=0
    : >every
    while [ $month -le 30 ]; do
        factor=$(awk "BEGIN { printf \"%.12g\", 1.05 ^ $month }")
        code=0
        "$orrery" run s.yaml --set "workload.*.scale.arrivals*=$factor" -o m.db --force -q --no-progress 2>err || code=$?
        [ $code -le 1 ] || fail "$(cat err)"
        sqlite3 m.db "SELECT $month || ' ' || nr || ' ' || holds FROM expectation" >>every
        month=$((month + 1))
    done
    exits 0 growth s.yaml --rate 5% --months 30 --no-progress --json
    [ "$(jq .runs out)" -le 24 ] || fail "as many runs as months: $(jq .runs out)"
    jq -r '.objectives | to_entries[] | "\(.key) \(.value.breaks_month) \(.value.holds_month) \(.value.monotone)"' out >said
    # nr counts from what the store begins with; the first month that breaks; whether one holds behind it
    awk '!($2 in order) { order[$2] = n++ } { o = order[$2] } $3 == 0 && !(o in first) { first[o] = $1 }
        $3 == 1 && o in first { again[o] = 1 } END { for (o = 0; o < n; o++) print o, o in first ? first[o] : "null", o in again }' every >true_ones
    while read -r nr first again; do
        line=$(grep "^$nr " said)
        [ "$again" = 1 ] || [ "$(echo "$line" | cut -d' ' -f2)" = "$first" ] ||
            fail "trace $trace: objective $nr breaks first in $first, said: $line"
        [ "$again" = 1 ] || [ "$(echo "$line" | cut -d' ' -f4)" = true ] || fail "trace $trace: monotone it is: $line"
        echo "$trace $first" >>firsts
    done <true_ones
done
[ "$(sort -u firsts | wc -l)" -ge 6 ] || fail "the traces show little: $(cat firsts)"

# More load may keep what less broke: big needs the node that small holds at 100 s, until they come together.
printf 'job,submit_s,run_s,pods,gpus_per_pod\nfirst,0,1000,1,8\nsmall,1500,1000,1,1\nbig,2000,10,1,8\nlast,4000,10,1,1\n' >t.csv
cat >two.yaml <<'YAML'
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
workload: [{name: w, trace: t.csv}]
policy: fifo
expect: [wait_mean_s <= 400]
YAML
exits 0 growth two.yaml --rate 20% --months 12 --tries 13 --no-progress --json
jq -r '.objectives[0] | "\(.breaks_month) \(.monotone)"' out >said
jq -r '.objectives[0].tried[] | "\(.month) \(.kept)"' out |
    awk '$2 == 0 && first == "" { first = $1 } $2 == 1 && first != "" { again = 1 } END { print first == "" ? "null" : first, again ? "false" : "true" }' >true_ones
cmp said true_ones || fail "said $(cat said), tried $(cat true_ones)"
exits 0 growth two.yaml --rate 0.2 --months 12 --no-progress
exits 64 growth two.yaml
exits 64 growth two.yaml --rate 0%
exits 64 growth two.yaml --rate 5
grep -q 'would be 6 times as much a month: write 5% for percent, or 500% if that is meant' err || fail "--rate 5: $(cat err)"
exits 64 growth --rate 5%
exits 78 growth two.yaml --rate 5% --objective 'no_such_metric <= 1' --no-progress
sed '/^expect/d' two.yaml >none.yaml
exits 64 growth none.yaml --rate 5%

# What grows is said: of a service its requests, of a cluster's state nothing, and who says itself when jobs come is refused.
printf 'time_s,rate\n0,8\n60,8\n' >rate.csv
cat >service.yaml <<'YAML'
horizon: 1h
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
workload:
- {name: chat, service: {gpus_per_pod: 1, replicas: 1..2, rate: rate.csv, service_time: 1s, concurrency: 10, load: 0s}, objective: {served_within: 2s}}
policy: fifo
expect: ["attainment{workload=chat} >= 0.99"]
YAML
exits 0 growth service.yaml --rate 30% --months 5 --tries 6 --no-progress --json
# two replicas serve 20 a second, and 8 x 1.3^4 are 22.8
[ "$(jq -c '[.objectives[0].breaks_month, .objectives[0].holds_month, .still]' out)" = '[4,3,[]]' ] || fail "a service: $(cat out)"
exits 0 run service.yaml --set workload.chat.scale.arrivals=2 -o r.db --force -q --no-progress
[ "$(sqlite3 r.db "SELECT value FROM metric WHERE name = 'requests' AND scope = 'workload'")" = 57600.0 ] || fail "twice the requests"

printf 'job,submit_s,run_s,pods,gpus_per_pod,running_since_s,running_on\nr,-60,600,1,1,-30,n0001:0\nw,-20,600,1,1,,\n' >state.csv
cat >state.yaml <<'YAML'
begin: 0s
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
workload: [{name: now, trace: state.csv}]
policy: fifo
expect: [wait_max_s <= 1h]
YAML
exits 78 growth state.yaml --rate 30% --months 3 --no-progress
grep -q 'now: no job comes after the first ones or the begin of the run' err || fail "$(cat err)"
exits 0 run state.yaml --set workload.now.scale.arrivals=2 -o r.db --force --no-progress
grep -q 'state.csv: scale.arrivals: changes nothing' err || fail "$(cat err)"
printf 'job,submit_s,run_s,gpus\na,10,60,1\nb,1000,60,1\n' >later.csv
sed 's/^workload: .*/workload: [{name: now, trace: state.csv}, {name: later, trace: later.csv}]/' state.yaml >both.yaml
exits 0 growth both.yaml --rate 30% --months 3 --no-progress
grep -q '^now does not grow' out || fail "$(cat out)"
exits 0 growth both.yaml --rate 30% --months 3 --no-progress --json
[ "$(jq -c .still out)" = '["now"]' ] || fail "$(cat out)"

cat >closed.yaml <<'YAML'
horizon: 1d
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload:
- name: lab
  generate: {sizes: {1: 1}, users: 3, session: {think: {exponential: {mean: 10m}}}, duration: 1h}
policy: fifo
expect: [wait_p95_s <= 1h]
YAML
exits 78 growth closed.yaml --rate 30% --months 3 --no-progress
grep -q 'part "lab": scale.arrivals: who submits waits' err || fail "$(cat err)"
exits 78 run closed.yaml --set workload.lab.scale.arrivals=4 -o r.db --force --no-progress
# What it sets comes of --rate: the user wrote no --set.
exits 78 growth both.yaml --rate 1000% --months 600 --no-progress
grep -q 'orrery: --rate: arrivals: "inf" is not a number to multiply by' err || fail "$(cat err)"
