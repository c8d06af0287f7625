#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery whatif` from the command line: variants and --set, who gets worse, exit by `expect:`.
#
#   whatif.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# expect CODE WORDS ARGUMENT...: exit code, and words in what is printed.
expect() {
    wanted=$1 words=$2
    shift 2
    code=0
    "$orrery" whatif --no-progress "$@" >out 2>&1 || code=$?
    { [ "$code" = "$wanted" ] && grep -q "$words" out; } || {
        cat out
        printf 'exit %s, expected %s and "%s": %s\n' "$code" "$wanted" "$words" "$*"
        exit 1
    }
}
gang=$source/scenarios/whatif/gang/gang.yaml
expect 0 'worse off: nobody' "$gang" --variant weight
expect 1 'worse off: 1 of 2, with' "$gang" --variant off
grep -q '^ *pretrain training  *96 -> 0 GPU-h  p95 wait 1 s -> 17.3 h (+17.3 h)' out || fail "who loses: $(cat out)"
expect 1 'off: .*gang.yaml:20:3: expect: wait_max_s{queue=pretrain} <= 5 is false' "$gang" --variant off
expect 1 'base against 5 changes' "$gang"
expect 0 'worse off: nobody' "$gang" --set cluster.pools.h100.nodes+=2
mkdir kept
expect 0 '"before": ' "$gang" --set cluster.pools.h100.nodes=6 --json --keep kept
[ "$(find kept -name '*.db' | wc -l)" -eq 2 ] || exit 1
mkdir -p barred/0-base-1.db.remarks
expect 73 'barred/0-base-1.db.remarks: Is a directory' "$gang" --set cluster.pools.h100.nodes=6 --keep barred
expect 0 'pool h100: nodes from 4 to 6' "$gang" --set cluster.pools.h100.nodes+=50%
# Several seeds that draw nothing are one run; where something is drawn they give an interval.
expect 0 'to weight, on this one trace: no interval' "$gang" --variant weight --seeds 3
cat >drawn.yaml <<'END'
cluster: {pools: {a: {nodes: 2, gpus: 8}}}
horizon: 2d
workload: [{name: g, generate: {sizes: {1: 3, 8: 1}, arrivals: {per_hour: 3}, duration: {exponential: {mean: 2h}}}}]
END
expect 0 'interval .* to .*, n = 3' drawn.yaml --set cluster.pools.a.nodes+=1 --seeds 3
expect 0 'quotas sum to .* GPUs, and there are 32: not all can be kept' "$gang" --set queues.pretrain.gpu.quota+=25%
expect 78 'jobs that can never run: 0 before, 1 after' "$gang" --set cluster.pools.h100.nodes=1
code=0
"$orrery" diff kept/0-base-1.db kept/1-set-1.db >out || code=$?
{ [ "$code" = 1 ] && grep -q 'pool h100: nodes from 4 to 6' out; } || fail 'results are not told apart'
"$orrery" diff "$gang" kept/0-base-1.db >out || fail 'a run differs from its scenario'
expect 1 'policy: name from kai to fifo' "$gang" --policy fifo --policy static
# All that is given is one change; several policies or variants are alternatives, each with all that is set.
expect 1 'base against 2 changes' "$gang" --policy fifo --policy static --set queues.pretrain.gpu.quota+=2
[ "$(grep -c 'queue pretrain: gpu.quota' out)" = 2 ] || fail "a policy without what is set: $(cat out)"
expect 1 'base against 1 change,' "$gang" --policy fifo --variant weight --set cluster.pools.h100.nodes+=1
grep -q '^fifo+weight+set$' out || fail "$(cat out)"
expect 1 'base against 4 changes' "$gang" --policy fifo --policy static --variant off --variant weight
expect 78 'unknown policy "kia"' "$gang" --policy kia
expect 78 'variant' "$gang" --variant nothing
expect 64 'name a scenario' -j 1
# Warm-ups that each run detects: before and after are measured from the latest on, as if it were stated.
cat >warm.yaml <<'END'
warmup: detect
horizon: 4d
seeds: 1..3
cluster: {pools: {p: {nodes: 8, gpus: 4}}}
workload: [{name: w, generate: {sizes: {1: 3, 4: 1}, arrivals: {per_day: 150}, duration: {exponential: {mean: 4h}}}}]
END
"$orrery" whatif warm.yaml --policy fifo --policy easy --json --keep warm --no-progress >detected 2>err
grep -q 'warm-ups differ (.* to .*)' err || fail "nobody says that warm-ups differ"
longest=$(for db in warm/*.db; do sqlite3 "$db" "SELECT window_start_ms - (SELECT min(submit_ms) FROM job) FROM run"; done | sort -n | tail -1)
sed "s/^warmup: detect/warmup: ${longest}ms/" warm.yaml >stated.yaml
"$orrery" whatif stated.yaml --policy fifo --policy easy --json --no-progress 2>err | sed 's/"stated"/"warm"/' >stated
grep -q 'warm-ups differ' err && fail "stated warm-ups do not differ"
cmp detected stated || fail "detected warm-ups are not measured from the longest on"
# Queues that only a trace names are not the scenario's: the error says what to do.
printf 'job,submit_s,run_s,gpus,queue\nj,0,10,1,blue\n' >queues.csv
printf 'cluster: {pools: {a: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: queues.csv}]\n' >queues.yaml
expect 78 'state all of them, such as "queues: {blue: {}}"' queues.yaml --set queues.blue.gpu.quota=4
echo 'queues: {blue: {}}' >>queues.yaml
expect 0 'worse off: nobody' queues.yaml --set queues.blue.gpu.quota=4
# A change under which jobs never start makes nobody's mean worse; who they are is said all the same.
printf 'job,submit_s,run_s,gpus,queue,kind\na,0,100,4,x,training\nb,0,200,8,y,training\nc,20,5,1,y,interactive\n' >lost.csv
cat >lost.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
queues: {x: {gpu: [8, 1, unlimited]}, y: {gpu: [8, 1, unlimited]}}
workload: [{name: t, trace: lost.csv}]
policy: kai
END
expect 0 'worse off: 1 of 3' lost.yaml --set queues.y.gpu.quota=0
grep -q '^ *y interactive .*p95 wait 0 s -> not reached.*jobs that never could start 0 -> 1 (+1)' out || fail "$(cat out)"
expect 0 'y interactive .*wait_p95_s .* 0 s not reached .*worse' lost.yaml --set queues.y.gpu.quota=0 --all
expect 0 'Means are of jobs that started: 1 more than before did not' lost.yaml --set queues.y.gpu.quota=0
{ echo 'horizon: 30s' && cat lost.yaml; } >soon.yaml
expect 0 'y training .*jobs that never started 0 -> 1' soon.yaml --set cluster.pools.p.nodes=1
expect 0 '"after": null' lost.yaml --set queues.y.gpu.quota=0 --json
# Services: what of their objective was met, though no job waits; a queue's debt once, not a kind each; money where nodes have a price.
printf 'time_s,rate\n0,1\n60,2\n120,3\n180,2\n240,1\n300,1\n' >rate.csv
cat >service.yaml <<'END'
horizon: 6m
warmup: 1m
cluster: {pools: {p: {nodes: 2, gpus: 1, price: 3}}}
queues: {q: {gpu: [2, 1, unlimited]}}
workload:
- name: web
  kind: inference
  queue: q
  service: {gpus_per_pod: 1, replicas: 1..3, rate: rate.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m, scale_down_window: 0s}
  objective: {served_within: 2s, share: 0.9}
END
expect 0 'web .*attainment' service.yaml --set cluster.pools.p.nodes=3 --all
expect 0 'attainment{workload=web}: +.* from base to set' service.yaml --set cluster.pools.p.nodes=3
expect 0 ' run_cost .* 0.6 *0.9 ' service.yaml --set cluster.pools.p.nodes=3
expect 0 'web .*requests dropped .* (+' service.yaml --set cluster.pools.p.nodes=1
expect 0 'y  *quota_debt_gpu_h' lost.yaml --set cluster.pools.p.nodes=1 --all
[ "$(grep -c '^ *y.*quota_debt_gpu_h' out)" = 1 ] || fail "$(cat out)"
# The base as it is today; parameters go with their policy, also where it is named by --set, in any order.
cat >params.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
policy: {name: easy, params: {variant: no_spare}}
queues: {x: {}, y: {}}
workload: [{name: t, trace: lost.csv}]
variants: {more: {cluster.pools.p.nodes: 3}}
END
expect 0 'policy: name from static to kai' params.yaml --base policy=static --policy kai
grep -q 'no_spare' out && fail "a parameter of another policy: $(cat out)"
expect 0 'policy: name from easy to kai' params.yaml --set policy.name=kai
expect 0 'reclaim' params.yaml --set policy.params.reclaim=false --set policy=kai
expect 0 'pool p: nodes from 3 to 5' params.yaml --base variant=more --set cluster.pools.p.nodes=5
expect 78 'unknown variant "mor" (did you mean "more"?)' params.yaml --base variant=mor --set cluster.pools.p.nodes=5
# A results file or a trace as the base.
"$orrery" run params.yaml --set cluster.pools.p.nodes=4 -o base.db -q
expect 0 'pool p: nodes from 4 to 5' base.db --set cluster.pools.p.nodes+=1
expect 0 'policy: name from easy to fifo' base.db --policy fifo
expect 0 'pool c1: nodes from 2 to 3' --trace lost.csv --cluster 2x8 --set cluster.pools.c1.nodes+=1
expect 78 'orrery init --trace' --trace lost.csv --cluster 2x8 --set queues.x.gpu.quota=1
expect 64 'name a scenario file, a results file' --policy kai
# One screen: the five who lose and gain most, by what they are worth in GPU-hours; the first is the most harmed.
{
    printf 'job,submit_s,run_s,gpus,queue\n'
    for q in a b c d e f g h; do
        for n in 1 2 3 4 5 6; do echo "$q$n,$((n * 10)),$((3600 * n)),8,$q"; done
    done
} >many.csv
printf 'cluster: {pools: {p: {nodes: 16, gpus: 8}}}\nworkload: [{name: t, trace: many.csv}]\npolicy: fifo\n' >many.yaml
expect 0 'worse off: 8 of 8, with 100 % of the GPU-hours' many.yaml --set cluster.pools.p.nodes=4
grep -q '^    and 3 more (--all)$' out || fail "more than five: $(cat out)"
[ "$(wc -l <out)" -le 24 ] || fail "more than one screen: $(cat out)"
grep -q 'no interval .*no interval' out && fail "the same words on each row"
grep 'gpu_occupancy' out | grep -q 'worse\|better' && fail "a part of another cluster is judged: $(cat out)"
expect 0 'better off: nobody' many.yaml --set cluster.pools.p.nodes=4 --all
[ "$(grep -c '^ *[a-h] .* GPU-h ' out)" = 8 ] || fail "--all: $(cat out)"
expect 0 'better off: 8 of 8' many.yaml --set cluster.pools.p.nodes=24
"$orrery" whatif many.yaml --set cluster.pools.p.nodes=4 --json --no-progress >out
jq -e '(.changes[0].worse_off | length) == 8 and ([.changes[0].worse_off[].gpu_h] | min) > 0' out >/dev/null || fail "JSON: who loses"
# Changes of a second are nobody's loss.
expect 0 'worse off: nobody' lost.yaml --set policy.params.reclaim=false
# The input is shaken on both sides, however that is said; what such intervals cover is said, and blocks stand beside them.
{
    echo job,submit_s,run_s,gpus
    awk 'BEGIN { for (i = 0; i < 900; i++) print "j" i "," i * 150 "," 200 + (i * 7919) % 9000 "," 1 + (i * 31) % 8 }'
} >days.csv
for how in '--shake submit=60s,run=1%' '--set shake.submit=60s --set shake.run=0.01'; do
    rm -rf kept
    "$orrery" whatif --trace days.csv --cluster 4x8 --policy easy $how --seeds 3 --keep kept --no-progress >out 2>err || fail "$how"
    [ "$(for f in kept/0-*.db; do sqlite3 "$f" 'SELECT digest FROM run'; done | sort -u | wc -l)" = 3 ] || fail "$how: the base is not shaken"
    grep -q '^The input of one trace was shaken: these intervals cover that jitter, not other traces.$' out || fail "$how: what it covers"
    grep -q '^From 38 blocks of 60.0 min of its submits, which stand for other times .*block bootstrap, Carlstein 1986' out || fail "$how: blocks"
    grep -q '^  wait_mean_s: .*interval' out || fail "$how: no interval from blocks"
    ! grep -q '^    shake' out || fail "$how: the shaking is called a change"
done
# A difference beyond jitter that blocks do not show is said to be both.
"$orrery" whatif --trace days.csv --cluster 4x8 --set policy.params.order=shortest --shake submit=60s --seeds 4 --no-progress >out
grep -q '^  wait_p95_s .* [+-][0-9.]* h to [+-][0-9.]* h$' out || fail "p95 differs beyond jitter: $(cat out)"
grep -q '^  wait_p95_s: no difference .* Both hold: on this trace the difference is more than jitter' out || fail "blocks that say otherwise: $(cat out)"
! grep -q '^  wait_mean_s: .*Both hold' out || fail "blocks that say the same: $(cat out)"
"$orrery" whatif --trace days.csv --cluster 4x8 --policy easy --shake submit=60s --seeds 3 --json --no-progress >out
jq -e '.jitter and ([.changes[0].rows[] | select(.metric == "wait_mean_s" and .of == "") | .blocks_high > .blocks_low] == [true])' out >/dev/null || fail "JSON: blocks"
"$orrery" whatif --trace days.csv --cluster 4x8 --policy easy --seeds 3 --no-progress >out
! grep -q 'jitter' out || fail "nothing was shaken"
# What is of both sides alone changes nothing, and seeds that draw nothing are said to be one run.
printf 'cluster: {pools: {p: {nodes: 4, gpus: 8}}}\nworkload: [{name: t, trace: days.csv}]\npolicy: fifo\n' >both.yaml
code=0
"$orrery" whatif both.yaml --set shake.submit=60s 2>err >out || code=$?
{ [ "$code" = 64 ] && grep -q 'before and after would be the same: --shake and --base are of both sides' err; } || fail "exit $code: a shake alone: $(cat err)"
"$orrery" whatif both.yaml --policy easy --seeds 3 --no-progress >out
grep -q '^  all seeds give the same run, since nothing here is drawn: --shake' out || fail "seeds that draw nothing"
"$orrery" whatif both.yaml --policy easy --seeds 3 --shake submit=60s --no-progress >out
! grep -q 'all seeds give the same run' out || fail "seeds that are shaken are said to be the same"
# Quotas that the policy does not look at: the debt by them falls, and it is said why, in every answer.
printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nqueues: {x: {gpu: {quota: 8}}, y: {}}\nworkload: [{name: t, trace: owed.csv}]\npolicy: fifo\n' >owed.yaml
printf 'job,submit_s,run_s,gpus,queue\na,0,3600,8,y\nb,0,3600,8,x\n' >owed.csv
unheeded='policy fifo does not look at them: .*quota_debt_gpu_h.* (here none does: both runs are the same)'
"$orrery" check owed.yaml 2>&1 | grep -q '^not heeded *the GPU quota that 1 queue states: policy fifo does not look at it' || fail "check: quotas that fifo does not look at"
"$orrery" whatif owed.yaml --set queues.x.gpu.quota=4 --no-progress >out
grep -q "^  quotas differ, and $unheeded" out || fail "whatif: quotas that fifo does not look at: $(cat out)"
"$orrery" whatif owed.yaml --set queues.x.gpu.quota=4 --no-progress --json | jq -e --arg text "$unheeded" '.changes[0].notes | any(test($text | gsub("[()]"; "."; "g")))' >/dev/null || fail "whatif --json: quotas"
for quota in 8 4; do "$orrery" run owed.yaml --set queues.x.gpu.quota=$quota -q -o owed-$quota.db; done
"$orrery" compare owed-8.db owed-4.db 2>/dev/null | grep -q "^note: quotas differ, and $unheeded" || fail "compare: quotas that fifo does not look at"
"$orrery" compare owed-8.db owed-4.db --json 2>/dev/null | jq -e '.notes | length == 1' >/dev/null || fail "compare --json: quotas"
printf 'apiVersion: orrery/v1alpha1\nkind: Gate\nmode: fixed\nrules: {debt: {metric: quota_debt_gpu_h, margin: 0}}\n' >owed-gate.yaml
"$orrery" gate owed-4.db --baseline owed-8.db --spec owed-gate.yaml | grep -q "^note: quotas differ, and $unheeded" || fail "gate: quotas that fifo does not look at"
# Under a policy that does, and where jobs keep cells by quota, nothing is said.
for policy in kai static "params: {placement: hived}"; do
    sed "s/^policy: .*/policy: $(case $policy in p*) echo "{name: fifo, $policy}" ;; *) echo "$policy" ;; esac)/" owed.yaml >heeded.yaml
    "$orrery" whatif heeded.yaml --set queues.x.gpu.quota=4 --no-progress >out
    ! grep -q 'quotas differ' out || fail "$policy looks at quotas: $(cat out)"
done
printf 'what if\n'
