#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery tune`: its front is that of all settings there are, each of which is run.
#
#   tune.sh ORRERY WORK_DIR SOURCE_DIR
set -eu
command -v jq >/dev/null || exit 77

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# Three queues share 6 GPUs under `static`; every division of them is run that leaves each queue one: with a part of 0 its jobs
# can never start, and waits are without them.
cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 3, gpus: 2}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}, c: {gpu: [2, 1, unlimited]}}
workload: [{name: w, trace: t.csv}]
policy: {name: static, params: {backfill: true}}
YAML
for trace in 1 2; do
    awk -v state=$trace "$draw_awk"' BEGIN { print "job,submit_s,run_s,queue,pods,gpus_per_pod"
        for (i = 0; i < 90; i++) { at += 500 * draw(); u = draw()
            print "j" i "," int(at) "," int(200 + 1500 * draw()) "," (u < 0.5 ? "a" : u < 0.8 ? "b" : "c") ",1,1" } }' >t.csv
    : >every
    for a in 1 2 3 4; do
        for b in 1 2 3 4; do
            c=$((6 - a - b))
            [ $c -ge 1 ] || continue
            "$orrery" run s.yaml --set queues.a.gpu.quota=$a --set queues.b.gpu.quota=$b --set queues.c.gpu.quota=$c \
                -o x.db --force -q --no-progress 2>err || fail "$(cat err)"
            sqlite3 x.db "SELECT '$a $b $c', (SELECT value FROM metric WHERE name = 'wait_mean_s' AND scope = 'queue' AND label LIKE 'queue=a%'),
                (SELECT value FROM metric WHERE name = 'wait_mean_s' AND scope = 'queue' AND label LIKE 'queue=b%')" >>every
        done
    done
    # Lines: division|wait of a|wait of b. Those that no other beats, by their waits.
    awk -F'|' '{ a[NR] = $2 == "" ? 1e18 : $2; b[NR] = $3 == "" ? 1e18 : $3 }
        END { for (i = 1; i <= NR; i++) { on = 1
            for (j = 1; j <= NR; j++) if (a[j] <= a[i] && b[j] <= b[i] && (a[j] < a[i] || b[j] < b[i])) on = 0
            if (on) printf "%.3f %.3f\n", a[i], b[i] } }' every | sort -u >true_front
    no=$(awk -F'|' '$2 != "" && $3 != "" && $2 <= 400 && $3 <= 100 { met = 1 } END { print !met }' every) # does any keep both?
    exits "$no" tune s.yaml --objective 'wait_mean_s{queue=a} <= 400' --objective 'wait_mean_s{queue=b} <= 100' --tries 28 --no-progress --json
    jq -r '.settings[] | select(.front) | .objectives | "\(.[0].mean // 1e18) \(.[1].mean // 1e18)"' out |
        awk '{ printf "%.3f %.3f\n", $1, $2 }' | sort -u >front
    cmp -s front true_front || fail "trace $trace: front $(cat front), of all divisions $(cat true_front)"
    [ "$(wc -l <front)" -ge 2 ] || fail "trace $trace: the front has one setting"
    jq -e 'all(.settings[]; .keeps_out == any(.queues[]; .quota == 0)) and any(.settings[]; .keeps_out)' out >/dev/null || fail "a part of 0 keeps jobs out"
    jq -e '[.settings[].queues | map(.quota) | add] | unique == [6]' out >/dev/null || fail "the sum of quotas changed"
    jq -e '[.settings[].queues] | length == (unique | length)' out >/dev/null || fail "a setting was tried twice"
    jq -e '.exhausted and .runs < 28' out >/dev/null || fail "as many runs as divisions: $(jq -c '[.exhausted, .runs]' out)"
done
exits 0 tune s.yaml --objective 'wait_mean_s{queue=a} <= 400' --tries 12 --no-progress
grep -q 'before' out && grep -q 'off' out || fail "no costs: $(cat out)"
exits 0 tune s.yaml --objective 'wait_mean_s{queue=a} <= 400' --queue a --queue c --tries 12 --no-progress --json
jq -e '[.settings[].queues[].queue] | unique == ["a", "c"]' out >/dev/null || fail "--queue: $(cat out)"
exits 0 tune s.yaml --policy kai --objective 'wait_mean_s{queue=a} <= 400' --weights --tries 12 --no-progress --json
jq -e '[.settings[].queues[].weight] | unique | length > 1' out >/dev/null || fail "--weights: $(cat out)"
# What is above two queues gets and loses with them: moved across departments the parents' quotas differ, within one they stay.
cat >tree.yaml <<'YAML'
cluster: {pools: {p: {nodes: 3, gpus: 2}}}
queues: {x: {gpu: [4, 1, unlimited]}, y: {gpu: [2, 1, unlimited]}, a: {parent: x, gpu: [2, 1, unlimited]},
    b: {parent: x, gpu: [2, 1, unlimited]}, c: {parent: y, gpu: [2, 1, unlimited]}}
workload: [{name: w, trace: t.csv}]
policy: kai
YAML
awk -v state=3 "$draw_awk"' BEGIN { print "job,submit_s,run_s,queue,pods,gpus_per_pod"
    for (i = 0; i < 120; i++) { at += 100 * draw()
        print "j" i "," int(at) "," int(200 + 900 * draw()) "," substr("abc", 1 + int(3 * draw()), 1) ",1,1" } }' >t.csv
exits 1 tune tree.yaml --objective 'wait_mean_s{queue=a} <= 1' --step 2 --tries 3 --no-progress --json
for i in 1 2; do
    set -- $(jq -r ".settings[$i].queues | map(.quota) | join(\" \")" out) # of a, b, c
    [ "$1" = 4 ] || fail "setting $i gives a $1"
    "$orrery" run tree.yaml --set queues.a.gpu.quota=$1 --set queues.b.gpu.quota=$2 --set queues.c.gpu.quota=$3 \
        --set queues.x.gpu.quota=$(($1 + $2)) --set queues.y.gpu.quota=$3 -o x.db --force -q --no-progress
    sqlite3 x.db "SELECT printf('%.3f', value) FROM metric WHERE name = 'wait_mean_s' AND scope = 'queue' AND label LIKE 'queue=a%'" >true_mean
    jq -r ".settings[$i].objectives[0].mean" out | awk '{ printf "%.3f\n", $1 }' >mean
    cmp -s mean true_mean || fail "setting $i: $(cat mean), run by hand $(cat true_mean)"
done
exits 1 tune s.yaml --policy fifo --objective 'wait_mean_s{queue=a} <= 400' --tries 2 --no-progress
grep -q 'No setting changes any objective' out || fail "fifo does not look at quotas: $(cat out)"
exits 64 tune s.yaml
exits 64 tune s.yaml --objective 'wait_mean_s <= 400' --queue nobody --no-progress
exits 64 tune s.yaml --objective 'wait_mean_s <= 400' --queue a --no-progress
exits 64 tune s.yaml --objective 'wait_mean_s <= 400' --set queues.a.gpu.quota=unlimited --queue a --queue b --no-progress
exits 78 tune s.yaml --objective 'no_such_metric <= 1' --no-progress
