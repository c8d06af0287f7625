#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery gate` from the command line: three modes, three verdicts, reports, a first spec, a blessing.
#
#   gate.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# The first jobs of a published log are enough for jobs to wait.
log=log.swf
zcat "$source/tests/peers/backfill/hpc2n-exact.swf.gz" | head -n 1000 >$log
run() {
    out=$1
    shift
    "$orrery" run --trace "$log" --cluster 240x1 --split 1 --quiet --no-progress -o "$out" "$@"
}
# expect CODE WORDS ARGUMENT...: the gate's exit code, and words in what it prints.
expect() {
    wanted=$1 words=$2
    shift 2
    code=0
    "$orrery" gate --no-progress "$@" >out 2>&1 || code=$?
    { [ "$code" = "$wanted" ] && grep -q "$words" out; } || {
        cat out
        fail "exit $code, expected $wanted and \"$words\": $*"
    }
}
spec() {
    printf 'apiVersion: orrery/v1alpha1\nkind: Gate\nmode: %s\nreplicas: 4\nshake: {submit: 60s, run: 0.01}\n' "$1" >"$1.yaml"
    printf 'rules:\n  p95: {metric: wait_p95_s, margin: 2%%}\n  jct of all: {metric: jct_mean_s, margin: 1m}\n' >>"$1.yaml"
}
# few SPEC: the replicas that a verdict as clear as these takes.
few() { sed -i 's/^replicas: .*/replicas: 5/' "$1" && grep -q '^replicas: 5$' "$1" || fail "no replicas in $1"; }
for mode in exact fixed statistical; do
    spec "$mode"
done

run fifo.db --policy fifo
run easy.db --policy easy
run again.db --policy fifo
expect 0 'digests are equal' again.db --baseline fifo.db --spec exact.yaml
[ "$("$orrery" diff easy.db easy.db --decisions)" = 'every decision is the same' ] || fail "diff --decisions: the same"
code=0
"$orrery" diff easy.db fifo.db --decisions >out 2>err || code=$?
[ "$code" = 1 ] && grep -qE '^at ([0-9]+d )?[0-9:]+ \([0-9]+ s\) job [0-9]+ starts on .* in easy.db(, where it had waited: .*)?, and not in fifo.db, where it waits: ' out || fail "diff --decisions: exit $code"
cp out first
at=$(sed -nE 's/^at .*\(([0-9]+) s\) job.*/\1/p' out) job=$(sed -nE 's/^at .* job ([0-9]+) .*/\1/p' out)
[ "$("$orrery" export easy.db jobs --format jsonl | jq "select(.job == \"$job\") | .start_s")" = "$at" ] || fail "diff --decisions: $job does not start at $at"
expect 1 '^regressed *same decisions: policy: name from fifo to easy.*; so, at .* job [0-9]* starts on .* not in the baseline' easy.db --baseline fifo.db --spec exact.yaml
grep -q '^changed: policy: name from easy to fifo' first || fail "diff --decisions does not begin with what was changed: $(cat first)"
expect 0 '^pass$' easy.db --baseline fifo.db --spec fixed.yaml
expect 1 '^regressed$' fifo.db --baseline easy.db --spec fixed.yaml
expect 1 'wait_p95_s .* to .*: +.* (+[0-9.]* %); allowed is +.* (+2 %)$' fifo.db --baseline easy.db --spec fixed.yaml
"$orrery" run --trace "$source/tests/peers/backfill/micro/m1_reservation_protected.swf" --cluster 10x1 --split 1 --quiet -o other.db
expect 65 'different traces' other.db --baseline easy.db --spec fixed.yaml
expect 0 '^pass$' easy.db --baseline fifo.db --spec statistical.yaml
expect 0 '; allowed is +[0-9.]* [a-z]* (+2 %), and any more is seen$' easy.db --baseline easy.db --spec statistical.yaml
expect 1 '^regressed$' fifo.db --baseline easy.db --spec statistical.yaml --junit gate.xml --summary gate.md
grep -Eq '<testsuite name="orrery gate" tests="2" failures="2" errors="0" time="[0-9.]+">' gate.xml || fail "JUnit"
grep -Eq 'classname="orrery.gate" name="jct of all" file="statistical.yaml" line="8" time="[0-9.]+">' gate.xml || fail "JUnit: a case's place and time"
grep -Eq '<failure type="regressed" message="(regressed: wait_p95_s .* allowed is .*)">\1</failure>' gate.xml || fail "JUnit: a failure's text"

# The same of what a scenario expects, also of what holds and of what this run has no value of.
cat >expect.yaml <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: w, generate: {until: 2h, sizes: {1: 1}, arrivals: {per_day: 400}, duration: {fixed: 1h}}}]
policy: fifo
expect: [wait_p95_s <= 1000d, wait_p95_s < 0s, "wait_p95_s{level=rack} <= 1h"]
YAML
code=0
"$orrery" run expect.yaml -q --junit expect.xml 2>err || code=$?
[ "$code" = 78 ] && grep -q 'tests="3" failures="1" errors="1" time="' expect.xml || fail "JUnit of expect, exit $code: $(cat err expect.xml)"
grep -q '<system-out>holds: wait_p95_s &lt;= 1000d: it is .*s)</system-out>' expect.xml || fail "JUnit of what holds"
grep -q '<failure type="does not hold" message="does not hold: ' expect.xml || fail "JUnit of what does not hold: $(cat expect.xml)"
grep -q '<error type="not known" message="not known: ' expect.xml || fail "JUnit of what is not known: $(cat expect.xml)"
grep -Eq 'classname="orrery.expect" name="wait_p95_s &lt; 0s" file="expect.yaml" line="4" time="[0-9.]+">' expect.xml || fail "JUnit: the place of what is expected"
! command -v xmllint >/dev/null || xmllint --noout expect.xml gate.xml || fail "JUnit is not XML"
grep -q '| jct of all | \*\*regressed\*\* |' gate.md || fail "Markdown"

# Two programs, the same scenario: replicas that each made, paired by seed.
for seed in 1 2 3; do
    run "old-$seed.db" --policy easy --seed "$seed" --set shake.submit=60s
    run "new-$seed.db" --policy fifo --seed "$seed" --set shake.submit=60s
done
expect 1 'n = 3' new-1.db new-2.db new-3.db --baseline old-1.db --baseline old-2.db --baseline old-3.db --spec statistical.yaml
expect 2 'too few replicas' new-1.db new-2.db --baseline old-1.db --spec statistical.yaml

# A first spec passes on what it came from and is red on the other policy; where nobody waits, a wait of
# more than a second is one; a name cannot break the table. A blessing makes the next run equal.
"$orrery" gate easy.db --propose --no-progress >proposed.yaml
few proposed.yaml
# Work that evictions lose raises occupancy: a spec of goodput is not red where less is lost.
grep -q 'metric: gpu_goodput' proposed.yaml && ! grep -q gpu_occupancy proposed.yaml || fail "proposed: $(cat proposed.yaml)"
expect 0 '^pass$' easy.db --baseline easy.db --spec proposed.yaml
expect 1 '^regressed$' fifo.db --baseline easy.db --spec proposed.yaml
"$orrery" gate other.db --propose --no-progress >small.yaml
grep -Eq 'wait_p95_s: .* margin: (1s|[0-9.]+%)' small.yaml || fail "no margin for a small wait: $(cat small.yaml)"
"$orrery" run --trace "$log" --cluster 2000x1 --split 1 --quiet -o idle.db
"$orrery" gate idle.db --propose --no-progress >idle.yaml
few idle.yaml
grep -q 'wait_p95_s: {metric: wait_p95_s, margin: 1s}' idle.yaml || fail "no margin where nobody waits: $(cat idle.yaml)"
expect 1 'wait_p95_s 0 s to ' easy.db --baseline idle.db --spec idle.yaml
printf 'kind: Gate\nmode: fixed\nrules:\n  "a|b": {metric: wait_p95_s, margin: 1%%}\n' >bar.yaml
expect 0 '^pass$' easy.db --baseline easy.db --spec bar.yaml --summary bar.md
grep -qF '| a\|b | **pass** |' bar.md || fail "a bar in a name breaks the table"
cp fifo.db baseline.db
"$orrery" gate easy.db --baseline baseline.db --bless
expect 0 'digests are equal' easy.db --baseline baseline.db --spec exact.yaml

# A first spec has rules for jobs that do not start, and says the least each rule sees; how many there
# were is always said.
for metric in never_startable unstarted unfinished; do
    grep -q "^  $metric: {metric: $metric, margin: 0} # allows 0, sees +1$" proposed.yaml || fail "no rule for $metric: $(cat proposed.yaml)"
done
grep -q 'sees in 4 of 5 cases (80 % power); percent are of the mean of these runs; then N, the replicas with which 5 % is seen so$' proposed.yaml || fail "no power: $(cat proposed.yaml)"
grep -q '^  wait_p95_s: .*, margin: \([0-9.]*\)%} # allows +[0-9.]* [a-z]* (+\1 %), sees +[0-9.]* [a-z]* (+[0-9.]* %); 5 % takes N = [0-9]*$' proposed.yaml || fail "what wait_p95_s sees: $(cat proposed.yaml)"
expect 0 '^note: baseline (1 run) and new (1): jobs that had not ended 0 and 0, jobs that never started 0 and 0, jobs that never could start 0 and 0$' \
    fifo.db --baseline fifo.db --spec exact.yaml
expect 1 'seen in 4 of 5 cases is +[0-9.]* [a-z]* (+[0-9.]* %)$' fifo.db --baseline easy.db --spec statistical.yaml --junit gate.xml --summary gate.md
grep -q '^note: The input of one trace was shaken: these intervals cover that jitter, not other traces.$' out || fail "what shaken intervals cover"
grep -q '^note:   [a-z0-9_]*: .* \(from the baseline to\|between the baseline and\) the new.*interval' out || fail "no intervals from blocks"
grep -q 'jobs that never started 0 and 0' gate.xml || fail "JUnit does not say how many never started"
grep -q 'jobs that never started 0 and 0' gate.md || fail "Markdown does not say how many never started"

# Jobs that a change keeps out for good: every trial is another workload and another way to do so.
# ORRERY_GATE_TRIALS=100 for the long one.
trial() { # NUMBER
    cat >trial.yaml <<YAML
seeds: $1
cluster: {pools: {p: {nodes: 6, gpus: 8}}}
queues: {a: {gpu: [24, 1, unlimited]}, b: {gpu: [24, 1, unlimited]}}
policy: $2
workload:
- {name: w, generate: {until: 4h, sizes: {1: 8, 2: 4, 4: 3, 8: 2, 16: 1, 32: 1}, queues: {a: 1, b: 1}, arrivals: {per_day: 400}, duration: {exponential: {mean: 1h}}}}
YAML
    "$orrery" run trial.yaml --quiet --no-progress --force -o trial-base.db
    "$orrery" gate trial-base.db --propose --no-progress >trial-gate.yaml
    # the largest job there is can run no more
    most=$(sqlite3 trial-base.db 'SELECT max(mgpu) / 1000 FROM job')
    case $(($1 % 3)) in
    0) set -- "queues.*.max_job_gpus=$((most - 1))" ;;
    1) set -- "queues.a.gpu.limit=$((most - 1))" "queues.b.gpu.limit=$((most - 1))" ;;
    *) set -- "queues.a.max_job_gpus=$((most / 2))" "queues.b.max_job_gpus=$((most / 2))" ;;
    esac
    sets=
    for one in "$@"; do sets="$sets --set $one"; done
    "$orrery" run trial.yaml $sets --quiet --no-progress --force -o trial-new.db
    expect 1 '^regressed$' trial-new.db --baseline trial-base.db --spec trial-gate.yaml
}
# And jobs that are too many to start before the run ends: its p95 is no longer reached.
too_many() { # NUMBER
    cat >many.yaml <<YAML
seeds: $1
horizon: 6h
cluster: {pools: {p: {nodes: 24, gpus: 8}}}
workload:
- {name: w, generate: {until: 4h, sizes: {1: 8, 2: 4, 4: 3, 8: 2}, arrivals: {per_day: 400}, duration: {exponential: {mean: 6h}}}}
policy: {name: fifo, params: {backfill: true}}
YAML
    "$orrery" run many.yaml --quiet --no-progress --force -o many-base.db
    "$orrery" gate many-base.db --propose --no-progress >many-gate.yaml
    "$orrery" run many.yaml --set "cluster.pools.p.nodes=1" --quiet --no-progress --force -o many-new.db
    [ "$(sqlite3 many-base.db "SELECT value IS NOT NULL FROM metric WHERE name = 'wait_p95_s' AND scope = 'all'")" = 1 ] || fail "p95 is not reached at first"
    expect 1 '^regressed *wait_p95_s is not reached any more in' many-new.db --baseline many-base.db --spec many-gate.yaml
}
number=1
while [ "$number" -le "${ORRERY_GATE_TRIALS:-1}" ]; do
    trial "$number" kai
    too_many "$number"
    number=$((number + 1))
done

# A baseline that this program does not make as it was: its change is on both sides.
cp easy.db changed.db
sqlite3 changed.db "UPDATE run SET digest = '0123456789abcdef', orrery_version = '0.0'"
expect 0 'changed.db was made with digest 0123456789abcdef and comes out with .* is not judged' easy.db --baseline changed.db --spec statistical.yaml
"$orrery" gate easy.db --baseline easy.db --spec statistical.yaml --no-progress >out
! grep -q 'comes out with' out || fail "a baseline that comes out as it was is said not to"

# What is wrong with a spec has a place.
printf 'kind: Gate\nreplicas: 2\nrules:\n  x: {metric: wait_p95_s, margin: much}\n' >bad.yaml
expect 78 'bad.yaml:4:' fifo.db --baseline easy.db --spec bad.yaml
# A time is no margin of what is none: minutes of occupancy can never fail.
while read -r metric margin words; do
    printf 'kind: Gate\nmode: fixed\nrules:\n  x: {metric: %s, margin: %s}\n' "$metric" "$margin" >bad.yaml
    expect 78 "bad.yaml:4:[0-9]*: margin: \"$margin\" is a time, and $metric is a number${words:+ }$words: a share" fifo.db --baseline easy.db --spec bad.yaml
done <<'END'
gpu_occupancy 5m
fairness_jain 1h
quota_debt_gpu_h 1h of GPU-h
END
printf 'kind: Gate\nmode: fixed\nrules:\n  x: {metric: wait_p95_s, margin: 5m}\n  y: {metric: unfinished, margin: 0}\n  z: {metric: wait_p50_s, margin: 300}\n' >units.yaml
expect 0 '^pass$' fifo.db --baseline fifo.db --spec units.yaml
printf 'kind: Gate\nreplicas: 2\nrules:\n  x: {metric: jobs, margin: 1}\n' >bad.yaml
expect 78 'better: less' fifo.db --baseline easy.db --spec bad.yaml
printf 'kind: Gate\nrules:\n  x: {metric: wait_p59, margin: 1}\n' >bad.yaml
expect 78 'bad.yaml:3:15: no metric is called wait_p59; did you mean wait_p[59]' fifo.db --baseline easy.db --spec bad.yaml
printf 'kind: Gate\nmode: fixed\nrules:\n  x: {metric: wait_p95_s, gpus: 7, margin: 5%%}\n' >bad.yaml
expect 78 'bad.yaml:4:33: gpus: "7" is none of the sizes of jobs: 0, 1, 2, 3-4, 5-8, ' fifo.db --baseline easy.db --spec bad.yaml
printf 'kind: Gate\nrules:\n  x: {metric: wait_p95_s, queue: a, margin: 5%%}\n' >bad.yaml
expect 78 'bad.yaml:3:34: queue: needs kind beside it' fifo.db --baseline easy.db --spec bad.yaml
printf 'kind: Gate\nrules:\n  x: {metric: wait_p95_s, kind: training, gpus: 1, margin: 5%%}\n' >bad.yaml
expect 78 'bad.yaml:3:49: gpus: no queue and no kind beside it' fifo.db --baseline easy.db --spec bad.yaml
# A queue that nobody has is named: it may be misspelt.
printf 'kind: Gate\nmode: fixed\nrules:\n  x: {metric: wait_p95_s, queue: visoin, kind: training, margin: 5%%}\n' >absent.yaml
expect 2 'x: wait_p95_s of queue=visoin,kind=training has no value in' fifo.db --baseline easy.db --spec absent.yaml
sed -i 's/wait_p95_s/never_startable/' absent.yaml
expect 2 'x: never_startable of queue=visoin,kind=training has no value in' fifo.db --baseline easy.db --spec absent.yaml
printf 'gates passed\n'
