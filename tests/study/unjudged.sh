#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `orrery compare` and `orrery gate` do not judge, and what they say instead.
#
#   unjudged.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

cat >s.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues: {a: {gpu: [16, 1, unlimited]}, b: {gpu: [16, 1, unlimited]}}
policy: {name: fifo, params: {backfill: true}}
workload:
- {name: w, trace: jobs.csv}
YAML
cat >jobs.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues: {a: {gpu: [16, 1, unlimited]}, b: {gpu: [16, 1, unlimited]}}
workload:
- {name: w, generate: {until: 2d, sizes: {1: 3, 4: 2, 8: 2}, queues: {a: 1, b: 1}, arrivals: {per_day: 150}, duration: {exponential: {mean: 1h}}}}
YAML
"$orrery" trace gen jobs.yaml -o jobs.csv >/dev/null
run() { # OUT ARGUMENT...
    out=$1
    shift
    "$orrery" run s.yaml --quiet --no-progress -o "$out" "$@"
}
# expect CODE WORDS COMMAND...: the exit code, and words in what is printed.
expect() {
    wanted=$1 expected=$2
    shift 2
    code=0
    "$orrery" "$@" >out 2>&1 || code=$?
    { [ "$code" = "$wanted" ] && grep -q -- "$expected" out; } || fail "exit $code, expected $wanted and \"$expected\": $*"
}
for mode in fixed statistical exact; do
    printf 'kind: Gate\nmode: %s\nreplicas: 2\nshake: {submit: 60s}\nrules:\n  p95: {metric: wait_p95_s, margin: 2%%}\n  mean: {metric: jct_mean_s, margin: 1%%}\n' "$mode" >"$mode.yaml"
done
run base.db

# A run that was cut knows nothing of what came later: held against one that went on nothing is better or worse.
run cut.db --set horizon=12h
run stopped.db --policy easy
sqlite3 stopped.db "UPDATE run SET status = 'interrupted', end_ms = begin_ms + 3600000"
for new in cut stopped; do
    words='cut.db ends at its horizon, after 12.0 h, and base.db went on to '
    [ "$new" = cut ] || words='stopped.db was interrupted after 60.0 min, and base.db went on to '
    for order in "base.db $new.db" "$new.db base.db"; do
        for how in '' '--by queue' '--windows 1h' '--format markdown' '--format latex' '--format csv' --json; do
            # shellcheck disable=SC2086 # words of a command line
            expect 0 "$words" compare $order $how
            ! grep -Eq ' (better|worse)$|\((better|worse)\)|: nobody|"verdict": "(better|worse)"' out || fail "$order is judged: $how"
        done
        # shellcheck disable=SC2086
        expect 0 '"apart": true' compare $order --json
        # shellcheck disable=SC2086
        "$orrery" report $order -o page.html >/dev/null
        grep -q "<b>$words" page.html || fail "the page does not say that $new was cut"
        ! grep -Eq 'worse: |Better: |<td>(better|worse)</td>' page.html || fail "the page of $order judges"
        expect 65 "$words" gate "${order#* }" --baseline "${order% *}" --spec fixed.yaml --no-progress
        expect 65 "$words" gate "${order#* }" --baseline "${order% *}" --spec exact.yaml --no-progress
    done
done
expect 65 '^orrery: stopped.db was interrupted after 60.0 min: no run of its scenario would come out as this baseline; let it run' \
    gate stopped.db --baseline base.db --bless
expect 65 '^orrery: stopped.db was interrupted after 60.0 min: no run of its scenario repeats it' bundle stopped.db -o stopped.tar.gz
[ ! -e stopped.tar.gz ] || fail "a bundle of what no run repeats"

# Decisions before an interrupt are compared; what would have come later is not known.
cp base.db half.db
half=$(sqlite3 base.db "SELECT (begin_ms + end_ms) / 2 FROM run")
sqlite3 half.db "UPDATE run SET status = 'interrupted', digest = '0123456789abcdef', end_ms = $half;
    UPDATE job SET end_ms = NULL WHERE end_ms >= $half"
expect 2 '^every decision is the same until .*, when half.db was interrupted: what it would have decided' diff base.db half.db -d
expect 2 '"same": null' diff half.db base.db -d --json
cp stopped.db late.db
sqlite3 late.db 'UPDATE run SET end_ms = begin_ms + 144000000'
expect 1 ' starts on ' diff late.db base.db -d
rm late.db
run other.db --seed 2
expect 65 "$words" gate stopped.db other.db --baseline base.db --baseline other.db --spec statistical.yaml --no-progress
expect 65 'cut.db ends at its horizon' gate cut.db --baseline base.db --spec statistical.yaml --no-progress
expect 2 'stopped.db was interrupted: here its scenario is run to its end' gate base.db --baseline stopped.db --spec statistical.yaml --no-progress
expect 0 '^  set ends at its horizon, after 12.0 h, and base went on' whatif s.yaml --set horizon=12h --no-progress
# One horizon cuts both alike, and one behind the end of a run cuts nothing of it.
run cut-easy.db --set horizon=12h --policy easy
expect 0 ' \(better\|worse\)$' compare cut.db cut-easy.db
! grep -q 'went on to' out || fail "one horizon, and apart"
run late.db --set horizon=30d --policy easy
expect 0 ' \(better\|worse\)$' compare base.db late.db
expect 0 '^pass$' gate base.db --baseline base.db --spec fixed.yaml

# A warm-up behind which nothing is submitted measures nothing, in check as in run; the same of a results file's warm-up
# on another trace. Messages of runs that are repeated name the files that they repeat.
{ echo 'warmup: 3d' && cat s.yaml; } >late.yaml
expect 78 'late.yaml:1:9: warmup: the last submit, .* after the begin, is within the warm-up of 3.0 d' check late.yaml
expect 78 'late.yaml:1:9: warmup: ' run late.yaml -q -o late-warmup.db
[ ! -e late-warmup.db ] || fail "results of a run that measures nothing"
expect 78 '^orrery: --set warmup=100d: warmup: the last submit' run s.yaml --set warmup=100d -q
run warm.db --set warmup=1d
expect 65 '^orrery: base.db and warm.db are the same setting with the same seed 1' compare base.db warm.db --no-progress
expect 65 '^orrery: base.db and base.db are the same setting with the same seed 1' compare base.db base.db --replicas 2 --no-progress
head -n 40 jobs.csv >first.csv
"$orrery" run s.yaml --quiet --no-progress --set workload.w.trace=first.csv -o first.db
expect 65 '^orrery: first.db: its last submit, .* after the begin, is within the warm-up of warm.db, 24.0 h' compare warm.db first.db

# Runs are repeated on the traces that they read, or not at all.
run easy.db --policy easy
mv jobs.csv whole.csv
head -n 100 whole.csv >jobs.csv
for again in 'compare base.db easy.db --replicas 2 --shake submit=10s' 'compare base.db warm.db' 'gate base.db --propose' \
    'gate base.db --baseline base.db --spec statistical.yaml' 'whatif base.db --set policy.name=easy' \
    'capacity base.db --vary cluster.pools.p.nodes=1..8 --objective wait_p95_s<=1h'; do
    # shellcheck disable=SC2086 # words of a command line
    expect 65 '^orrery: .*jobs.csv: is not what the run of base.db read: put that back, or make base.db anew$' $again --no-progress
done
expect 65 'jobs.csv: is not what the run of easy.db read' gate base.db --baseline easy.db --spec statistical.yaml --no-progress
mv whole.csv jobs.csv

# A part of the capacity is neither better nor worse where that is another, as in compare; a rule may say which it is.
for nodes in 3 5; do
    run "n$nodes.db" --set "cluster.pools.p.nodes=$nodes"
    printf 'kind: Gate\nmode: fixed\nrules:\n  held: {metric: gpu_occupancy, margin: 1%%}\n' >held.yaml
    expect 2 '^inconclusive *held: gpu_occupancy 0.[0-9]* to .*; it is a part of the capacity, which is not the same on both sides' \
        gate "n$nodes.db" --baseline base.db --spec held.yaml
done
sed -i 's/1%}/1%, better: more}/' held.yaml
expect 1 '^regressed *held' gate n5.db --baseline base.db --spec held.yaml
expect 0 '^pass *held' gate n3.db --baseline base.db --spec held.yaml

# Services end at the horizon and leave no job behind: that run is finished, and cut all the same.
cat >service.yaml <<YAML
horizon: 1h
cluster: {pools: {p: {nodes: 2, gpus: 8, price: 10}}}
queues: {a: {gpu: [16, 1, unlimited]}}
policy: fifo
workload:
- {name: w, trace: few.csv}
- name: chat
  queue: a
  service: {gpus_per_pod: 2, replicas: 1..4, rate: {file: rate.csv}, service_time: 1s, concurrency: 10, load: 30s}
  objective: {served_within: 2s, share: 0.99}
YAML
printf 'job,submit_s,run_s,gpus,queue\nx,0,600,4,a\n' >few.csv
printf 'time_s,rate\n0,10\n600,60\n' >rate.csv
"$orrery" run service.yaml --quiet --no-progress -o hour.db
"$orrery" run service.yaml --quiet --no-progress --set horizon=2h -o hours.db
[ "$(sqlite3 hour.db 'SELECT status FROM run')" = finished ] || fail "a job was left: nothing new is tested"
words='hour.db ends at its horizon, after 60.0 min, and hours.db went on to 2.0 h'
printf 'kind: Gate\nmode: fixed\nrules:\n  cost: {metric: cost, margin: 2%%}\n' >cost.yaml
for order in 'hour.db hours.db' 'hours.db hour.db'; do
    # shellcheck disable=SC2086
    expect 0 "$words" compare $order
    ! grep -Eq ' (better|worse)$' out || fail "services of different horizons are judged"
    expect 65 "$words" gate "${order#* }" --baseline "${order% *}" --spec cost.yaml --no-progress
done
expect 0 '^  base ends at its horizon, after 60.0 min, and set went on' whatif service.yaml --set horizon=2h --no-progress
! grep -q 'worse off: chat' out || fail "a service is worse off for a longer horizon"
expect 0 ' worse *$' whatif service.yaml --set cluster.pools.p.nodes=1 --set cluster.pools.p.gpus=4 --no-progress
! grep -q 'went on to' out || fail "services of one horizon, and apart"

# Where a report cannot go is said before anything is read or run.
for place in none/gate.xml base.db/gate.xml .; do
    expect 73 "^orrery: $place: " gate no.db --baseline no.db --spec fixed.yaml --junit "$place"
    expect 73 "^orrery: $place: " gate no.db --baseline no.db --spec fixed.yaml --summary "$place"
    expect 73 "^orrery: $place: " run s.yaml -q --junit "$place" -o unwanted.db
    [ ! -e unwanted.db ] || fail "a run whose JUnit has no place"
done
expect 73 '^orrery: /dev/full: is a device or pipe, not a file' gate no.db --baseline no.db --spec fixed.yaml --junit /dev/full

# A page calls nothing better or worse of which it shows no difference, and shows one that it does.
report() { # METRIC BY
    cp base.db near.db
    sqlite3 near.db "UPDATE metric SET value = value + $2 WHERE name = '$1' AND scope = 'all'"
    "$orrery" report base.db near.db -o near.html >/dev/null
}
sqlite3 base.db "UPDATE metric SET value = 0.9951 WHERE name = 'fairness_jain' AND scope = 'all'"
report fairness_jain -0.0009
grep -q '<b>near.db:</b> worse: nothing. Better: nothing.' near.html || fail "what cannot be seen is worse: $(grep '<b>near.db:' near.html)"
sqlite3 base.db "UPDATE metric SET value = 36060 WHERE name = 'jct_mean_s' AND scope = 'all'"
report jct_mean_s 60
grep -q 'worse: mean JCT 10.0 h to 10.0 h (+60 s)\. Better: nothing\.' near.html || fail "a change without digits: $(grep '<b>near.db:' near.html)"

printf 'what cannot be judged is not\n'
