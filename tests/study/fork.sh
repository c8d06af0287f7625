#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that is held at a time goes on as one that is not: in a process forked there, from a state that was saved, and as the
# changed run of a whatif that shares it.
#
#   fork.sh ORRERY WORK_DIR SOURCE_DIR FORK_TIMES DRAW [TIMES SEEDS]
# TIMES random times of ten scenarios, which say what they are for, and of SEEDS random ones under every policy; of the ten under
# their own policy alone where no TIMES are given. More: 100 10.
set -eu

orrery=$1 work=$2 source=$3 fork_times=$4 draw=$5 times=${6:-3} seeds=${7:-3} soak=${6:-}
. "$(dirname "$0")/../scratch.sh"

digest() { sqlite3 "$1" "SELECT digest FROM run"; }

# Forked.
ran=0 refused=0
held() { # SCENARIO POLICY SEED
    code=0
    "$fork_times" "$1" "$2" "$times" "$3" >out 2>err || code=$?
    case $code in
    0) ran=$((ran + 1)) ;;
    77) refused=$((refused + 1)) ;; # not every policy takes every scenario
    *) fail "$1 under $2 goes on otherwise where it is held (seed $3): exit $code" ;;
    esac
}
policies=$("$orrery" policies | sed -n '/^$/q; s/^\([a-z]*\) .*/\1/p')
[ "$(printf '%s\n' "$policies" | wc -l)" -ge 15 ] || fail "not all policies: $policies"
seed=1
while [ "$seed" -le "$seeds" ]; do
    mkdir "d$seed"
    "$draw" "$seed" "d$seed" >out
    held "d$seed/s.yaml" - "$seed"
    for policy in $policies; do held "d$seed/s.yaml" "$policy" "$seed"; done
    seed=$((seed + 1))
done
named=
for name in inference turns burst gang hoarding lending reclaim; do # services, time-aware fairness, pools that follow the jobs, ...
    named="$named $source/scenarios/whatif/$name/$name.yaml"
done
for name in failures elastic rounds; do named="$named $source/tests/study/forks/$name.yaml"; done
for scenario in $named; do
    held "$scenario" - 1
    for policy in ${soak:+$policies}; do held "$scenario" "$policy" 1; done
done
[ "$ran" -gt "$refused" ] || fail "$ran ran, $refused were refused"

# Shared by a whatif: what a queue is from some time on, held against the whole run with that event; all tables, not only the digest.
shared=0 apart=0
tables() { # FILE: all that decisions and metrics are, but for what the scenario says and how long it took
    sqlite3 "$1" .dump | sed '/^INSERT INTO run\(_meta\)\{0,1\} VALUES/d'
    sqlite3 "$1" "SELECT digest, status FROM run"
}
shares() { # SCENARIO POLICY SEED
    grep -q '^queues:' "$1" || return 0
    "$orrery" run "$1" --set "policy=$2" --seed 7 -o base.db --force --allow-loss=any --no-progress -q >out 2>err || [ $? -eq 1 ] || return 0
    queue=$(sqlite3 base.db "SELECT name FROM queue WHERE id IN (SELECT queue FROM job) ORDER BY id LIMIT 1")
    at=$(sqlite3 base.db "SELECT CAST(end_ms * (($3 * 37) % 100) / 100 AS INTEGER) FROM run")
    change="queues.$queue.gpu.weight*=3" more="queues.$queue.priority=$((90 + $3 * 20))"
    rm -rf kept base.state
    code=0
    "$orrery" whatif "$1" --base "policy=$2" --seed 7 --seeds 1 --at "${at}ms" --set "$change" --set "$more" --keep kept \
        --allow-loss=any --no-progress -q >out 2>err || code=$?
    [ "$code" -le 1 ] || { apart=$((apart + 1)) && cat err >>apart && return 0; }
    "$orrery" run "$1" --set "policy=$2" --seed 7 -o base.db --force --allow-loss=any --save-at "${at}ms" --no-progress -q >out 2>err || [ $? -eq 1 ] ||
        fail "$1 under $2 is not held at $at ms: $(cat err)"
    "$orrery" run --from base.state --set "$change" --set "$more" -o unshared.db --force --allow-loss=any --no-progress -q >out 2>err || [ $? -eq 1 ] ||
        fail "$1 under $2, $change at $at ms: $(cat err)"
    tables unshared.db >unshared.sql
    tables kept/1-set-7.db >shared.sql
    cmp -s unshared.sql shared.sql || fail "$1 under $2, $change at $at ms: the shared run is another: $(diff unshared.sql shared.sql | head -5)"
    [ "$(digest base.db)" = "$(digest kept/0-base-7.db)" ] || fail "$1 under $2: the run that is shared is another"
    shared=$((shared + 1))
}
# The same of events of nodes: a failure at another time, nodes that are closed earlier, for longer, or are others.
lost=0
loses() { # SCENARIO POLICY SEED
    "$orrery" run "$1" --set "policy=$2" --seed 7 -o base.db --force --allow-loss=any --no-progress -q >out 2>err || [ $? -eq 1 ] || return 0
    first=$(sqlite3 base.db "SELECT name FROM node ORDER BY id LIMIT 1") last=$(sqlite3 base.db "SELECT name FROM node ORDER BY id DESC LIMIT 1")
    sqlite3 -separator ' ' base.db "WITH p AS (SELECT begin_ms, (end_ms - begin_ms) / 100 AS part FROM run)
        SELECT begin_ms + part * (20 + $3), begin_ms + part * (40 + $3), begin_ms + part * (60 + $3), begin_ms + part * (80 + $3) FROM p" >times
    read -r one two three four <times
    nodes=$(mktemp "$dir/nodes.XXXXXX.yaml")
    echo "{extends: '$1', events: [{at: ${one}ms, fail: $first, for: ${two}ms}, {at: ${three}ms, maintain: $last, for: 1h}]}" >"$nodes"
    case $(($3 % 3)) in
    0) set -- "$nodes" "$2" events.2.at="${two}ms" events.2.for=3h ;;
    1) set -- "$nodes" "$2" events.2.notice=10m events.2.for="${four}ms" ;;
    2) set -- "$nodes" "$2" events.2.maintain="$first" events.1.for=1h ;;
    esac
    rm -rf kept
    "$orrery" whatif "$1" --base "policy=$2" --seed 7 --seeds 1 --set "$3" --set "$4" --keep kept --allow-loss=any --no-progress -q >out 2>err ||
        [ $? -eq 1 ] || return 0
    "$orrery" run "$1" --set "policy=$2" --set "$3" --set "$4" --seed 7 -o alone.db --force --allow-loss=any --no-progress -q >out 2>err ||
        [ $? -eq 1 ] || fail "$1 under $2, $3, $4: $(cat err)"
    tables alone.db >alone.sql
    tables kept/1-set-7.db >shared.sql
    cmp -s alone.sql shared.sql || fail "$1 under $2, $3, $4: the shared run is another: $(diff alone.sql shared.sql | head -5)"
    lost=$((lost + 1))
}
turn=0
for scenario in $named "$dir"/d*/s.yaml; do
    for policy in $policies; do # a few of them, others each time, where no soak is asked for
        turn=$((turn + 1))
        [ -z "$soak" ] && [ $((turn % 13)) -ne 0 ] || shares "$scenario" "$policy" $((turn % 11 + 1))
        [ -z "$soak" ] && [ $((turn % 17)) -ne 5 ] || loses "$scenario" "$policy" $((turn % 11 + 1))
    done
done
[ "$shared" -gt "$apart" ] || fail "$shared shared, $apart could not be: $(cat apart)"
[ "$lost" -ge 5 ] || fail "$lost scenarios lost nodes"

# Saved: a quota that changes in the middle as if the scenario had listed it.
cp "$source"/scenarios/whatif/reclaim/* .
mv reclaim.yaml s.yaml
grep -q '^  research:' s.yaml || fail "the scenario has no queue research"
exits 0 run s.yaml -o whole.db -q --no-progress
exits 0 run s.yaml -o r.db --save-at 6h -q --no-progress
[ "$(digest r.db)" = "$(digest whole.db)" ] || fail "saving changes the run"
exits 0 run --from r.state -o on.db -q --no-progress
[ "$(digest on.db)" = "$(digest whole.db)" ] || fail "the rest is another"
"$orrery" run --from r.state -o less.db -q --no-progress --set queues.research.gpu.quota-=2 2>err || true
cat s.yaml >listed.yaml
echo 'events: [{at: 6h, set: {queues.research.gpu.quota: -=2}}]' >>listed.yaml
"$orrery" run listed.yaml -o listed.db -q --no-progress 2>err || true
[ "$(digest less.db)" = "$(digest listed.db)" ] || fail "what is set from then on is not an event of that time"
[ "$(digest less.db)" != "$(digest whole.db)" ] || fail "the change changes nothing"

printf 'job,queue,submit_s,run_s,gpus\n' >t2.csv
awk 'BEGIN { for (i = 0; i < 300; i++) print "j" i "," substr("ab", i % 2 + 1, 1) "," i * 50 ",700," 1 + i % 4 }' >>t2.csv
printf 'cluster: {pools: {p: {nodes: 5, gpus: 8}}}\nqueues: {a: {gpu: [20, 1, 40]}, b: {gpu: [20, 1, 40]}}\nworkload: [{name: t, trace: t2.csv}]\n' >t.yaml
# Variants that differ by events alone share what is before the first that differs, each from its own time on; all tables are those of
# the variant by itself. What adds nodes shares nothing, and neither does a policy that is a process of its own.
quota='queues.research.gpu.quota'
sed '/^variants:/,$d' s.yaml >variants.yaml
cat >>variants.yaml <<END
events:
- {at: 3h, set: {$quota: -=1}}
- {at: 6h, set: {$quota: -=2}}
- {at: 9h, set: {queues.research.priority: 150}}
- {at: 12h, fail: n0001, for: 1h}
- {at: 14h, maintain: n0002, for: 2h, notice: 1h}
variants:
  late: {events.3.at: 10h}
  middle: {events.2.set.$quota: 3}
  both: {events.2.at: 8h, events.3.set.queues.research.priority: 140}
  early: {events.1.at: 1h}
  nodes: {events.4.at: 8h}
  longer: {events.4.for: 5h}
  noticed: {events.5.notice: 4h}
  elsewhere: {events.5.maintain: n0001, events.3.at: 11h}
END
for jobs in 1 2 8; do
    rm -rf kept
    "$orrery" whatif variants.yaml --seeds 2 -j $jobs --keep kept -q --no-progress >out 2>err || [ $? -eq 1 ] || fail "variants: $(cat err)"
    differing=0
    for variant in late middle both early nodes longer noticed elsewhere; do
        "$orrery" run variants.yaml --variant $variant --seed 1 -o alone.db --force -q --no-progress 2>err || [ $? -eq 1 ] || fail "$variant: $(cat err)"
        tables alone.db >alone.sql
        tables kept/*-$variant-1.db >shared.sql
        cmp -s alone.sql shared.sql || fail "variant $variant, -j $jobs: the shared run is another: $(diff alone.sql shared.sql | head -5)"
        [ "$(digest alone.db)" = "$(digest kept/0-base-1.db)" ] || differing=$((differing + 1))
    done
    [ $differing -ge 5 ] || fail "$differing of 8 variants decide otherwise than the base"
done
if python3 -c '' 2>/dev/null; then
    exits 0 whatif t.yaml --base "policy=exec:python3 $source/sim/plugin/examples/shortest_first.py" --at 1h --set queues.b.gpu.weight=3 --no-progress
fi

# Times as they are printed name the moment, with dates where the run has some.
printf 'job,submit_s,run_s,gpus\na,2026-01-01T00:00:00Z,100,1\nb,2026-01-01T00:01:00Z,100,1\n' >dated.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 1}}}\nworkload: [{name: w, trace: dated.csv}]\npolicy: fifo\n' >dated.yaml
for time in 90 90s 00:01:30 '0d 00:01:30' 2026-01-01T00:01:30Z '2026-01-01 00:01:30'; do
    exits 0 run --trace dated.csv --cluster 1x1 --policy fifo -o timed.db --force --save-at "$time" -q --no-progress
    [ "$(sqlite3 timed.state 'SELECT at_ms FROM state')" = 90000 ] || fail "--save-at $time is another time"
    exits 0 whatif --trace dated.csv --cluster 1x1 --at "$time" --set 'cluster.pools.c1.nodes=2' --no-progress
    grep -q 'events.1.at: now 00:01:30' out || fail "whatif --at $time: $(cat out)"
done
exits 0 capacity dated.yaml --at '2026-01-01 00:00:30' --vary cluster.pools.p.nodes=1..2 --objective 'wait_mean_s <= 1h' --no-progress
grep -q 'From 2026-01-01T00:00:30Z on' out || fail "$(cat out)"
exits 64 run s.yaml --save-at 2026-01-01 -o no.db
grep -q 'is a date, and the run has no calendar' err || fail "$(cat err)"
exits 0 run --trace - --cluster 1x1 --save-at 2026-01-01T00:01:30Z -o piped.db -q <dated.csv
[ "$(sqlite3 piped.state 'SELECT at_ms FROM state')" = 90000 ] || fail "a date of standard input is another time"
exits 64 run s.yaml --save-at tomorrow -o no.db
exits 64 whatif s.yaml --at tomorrow --set "$quota=3"

# A run that is over before the time that is named has nothing to change or to go on with.
mkdir behind && cd behind && cp ../s.yaml ../*.csv .
end=$(sqlite3 ../whole.db 'SELECT end_ms FROM run')
exits 64 whatif s.yaml --at "$((end + 1))ms" --set "$quota=3" --no-progress
grep -q 'the run is over at .*, before .*: what is set from then on changes nothing' err || fail "$(cat err)"
exits 64 whatif s.yaml --at "$((end + 1))ms" --set "$quota=3" --seeds 2 -j 1 --no-progress
exits 64 run s.yaml --save-at "$((end + 1))ms" -o r.db --no-progress
grep -q 'the run is over at .*, before .*: there is nothing to go on with' err || fail "$(cat err)"
[ -z "$(find . -name 'r.*')" ] || fail "files of a run that was not held: $(ls)"
cd ..

# One that does not come there is refused; so is what cannot change in the middle, and what a state says already.
cp r.state lie.state
sqlite3 lie.state "UPDATE state SET digest = '0123456789abcdef'"
exits 65 run --from lie.state -o no.db --no-progress
grep -q 'does not come there' err || fail "$(cat err)"
! grep -q 'events' err || fail "names as another number what is the same: $(cat err)"
[ ! -e no.db ] || fail "half a file"
exits 78 run --from r.state -o no.db --no-progress --set policy.name=fifo
exits 64 run --from r.state -o no.db --no-progress --policy fifo
exits 64 run --from r.state s.yaml -o no.db --no-progress
exits 64 run s.yaml --state x.state
exits 65 run --from s.yaml -o no.db
exits 66 run --from none.state -o no.db
printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,100,1,1\nb,50,100,1,1\n' >t.csv
exits 0 run --trace t.csv --cluster 1x1 --policy fifo -o t.db --save-at 1m -q --no-progress
printf 'c,60,100,1,1\n' >>t.csv
exits 65 run --from t.state -o no.db --no-progress
grep -q 't.csv: is not what the run' err || fail "$(cat err)"
printf '%s scenarios and policies held at %s times, %s refused; %s shared a run, %s cannot change so, %s lost nodes\n' "$ran" "$times" "$refused" \
    "$shared" "$apart" "$lost"
