#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery explain` and `orrery show R.db --at`: a job's story, a moment, a queue, what would help.
#
#   explain.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# says CODE WORDS COMMAND...: exit code, and words in what is printed.
says() {
    wanted=$1 words=$2
    shift 2
    code=0
    "$@" >out 2>&1 || code=$?
    { [ "$code" = "$wanted" ] && grep -q -- "$words" out; } || {
        cat out
        printf 'exit %s, expected %s and "%s": %s\n' "$code" "$wanted" "$words" "$*"
        exit 1
    }
}
"$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --variant off --quiet --no-progress -o gang.db 2>err || true
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" --quiet --no-progress -o reclaim.db

says 0 'asks 24 GPUs in 3 pods, all together' "$orrery" explain gang.db pretrain-1
says 0 'waited 17.3 h *because fewer GPUs are free than it asks' "$orrery" explain gang.db pretrain-1
says 0 'starts on n0002 (8), n0003 (8), n0004 (8)' "$orrery" explain gang.db pretrain-1
says 0 "reclaim: its queue's fair share (its quota, for what cannot be preempted) does not cover it" "$orrery" explain gang.db pretrain-1 --at 10h
says 0 ' > pretrain ' "$orrery" explain gang.db pretrain-1 --at 10h
says 0 'Then 0 of the 32 GPUs that were up were free' "$orrery" explain -q -v --color=never --no-progress gang.db pretrain-1 --at 10h
says 65 'does not wait at' "$orrery" explain gang.db pretrain-1 --at 20h
says 65 'is "pretrain-1" meant' "$orrery" explain gang.db pretrain-11
says 0 'more nodes of 8 GPUs in pool h100 *+3: it starts at 02:27:01' "$orrery" explain gang.db pretrain-1 --what-would-help
says 0 '+3: it starts at 02:27:01' "$orrery" explain gang.db pretrain-1 --what-would-help -j 1 --by 2h27m1s
says 65 'does not wait until after 20:00:00: it started at 19:21:03' "$orrery" explain gang.db pretrain-1 --what-would-help --by 20h
says 65 'no job is called' "$orrery" explain gang.db nobody --what-would-help
says 65 'only comes after 00:00:01: at ' "$orrery" explain gang.db pretrain-1 --what-would-help --by 1s
says 0 'Queue dev: quota 32 GPUs' "$orrery" explain gang.db --queue dev
says 65 'is "dev" meant' "$orrery" explain gang.db --queue dov
says 0 'A dev: 32 GPUs, 16 jobs' "$orrery" show gang.db --at 10h
says 0 'n0001 AAAAAAAA' "$orrery" show gang.db --at 10h
says 0 'At -00:00:10, before the run, which began at 00:00:00:' "$orrery" show gang.db --at=-10s

# An evicted job tells of its eviction and what it cost.
"$orrery" export reclaim.db jobs >jobs.csv
job=$(awk -F, 'NR > 1 && $13 > 0 { print $1; exit }' jobs.csv)
says 0 'is evicted (reclaim)' "$orrery" explain reclaim.db "$job"
says 0 'lost to evictions' "$orrery" explain reclaim.db "$job"
# A service whose load needs a third replica for the fourth minute, on two GPUs: what it wanted and what it had.
printf 'time_s,rate\n0,1\n60,2\n120,3\n180,2\n240,1\n300,1\n' >rate.csv
cat >service.yaml <<'YAML'
horizon: 6m
cluster: {pools: {p: {nodes: 2, gpus: 1}}}
queues: {q: {gpu: [2, 1, unlimited]}}
workload:
- name: s
  kind: inference
  queue: q
  service: {gpus_per_pod: 1, replicas: 1..3, rate: rate.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m,
            scale_down_window: 0s}
YAML
"$orrery" run service.yaml --policy fifo --quiet --no-progress -o service.db
says 0 'it wanted 1.67 on average and had 1.50' "$orrery" explain service.db s
says 0 'short of pods 1 time, 60 s in all, 16.67 % of the time' "$orrery" explain service.db s
says 0 'from 00:03:00  *for 60 s  *at worst it wanted 3, had 2' "$orrery" explain service.db s
says 0 '  00:03:00  *3  *2  *60 s$' "$orrery" explain service.db s
says 0 '"wanted_mean": 1.6' "$orrery" explain service.db s --json
"$orrery" explain reclaim.db "$job" >out
! grep -q 'Its pods come and go' out || fail "the pods of a batch job come and go"

# Pods that an elastic job lost and got back.
printf 'job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,preemptible\nelastic,0,7200,4,1,8,a,true\nclaims,600,1800,2,2,8,b,false\n' >elastic.csv
cat >elastic.yaml <<'YAML'
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues: {a: {gpu: [8, 1, unlimited]}, b: {gpu: [24, 1, unlimited]}}
policy: kai
workload: [{name: w, trace: elastic.csv}]
YAML
"$orrery" run elastic.yaml --quiet --no-progress -o elastic.db
says 0 'loses 2 pods (reclaim) for job claims of b, which took its place$' "$orrery" explain elastic.db elastic
says 0 '00:40:01 .* 2 pods come back, on n0003 (8), n0004 (8)$' "$orrery" explain elastic.db elastic
says 0 '"back": 2,' "$orrery" explain elastic.db elastic --json

# A node that is being drained has nothing free, whatever stands empty on it.
printf 'job,submit_s,run_s,gpus\na,0,7200,8\nc,20,20000,4\ne,1200,100,4\n' >away.csv
cat >drain.yaml <<'YAML'
cluster: {pools: {c1: {nodes: 2, gpus: 8}}}
workload: [{name: w, trace: away.csv}]
policy: kai
events: [{at: 10m, drain: n0002, for: 3h}]
YAML
"$orrery" run drain.yaml --quiet --no-progress -o drain.db
says 0 'fewer GPUs are free than it asks; free on nodes it may use: 0 GPUs, at most 0 whole on one node' "$orrery" explain drain.db e
says 0 'Then 0 of the 16 GPUs that were up were free' "$orrery" explain drain.db e --at 30m
"$orrery" report drain.db -o drain.html
grep -q '(in the end: 0 GPUs free, at most 0 on one node)' drain.html || fail "free in the report: $(grep -o '[0-9]* GPUs free[^<]*' drain.html)"

# What the scenario does not have cannot be changed; the rest is still tried.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 1; i <= 20; i++) print "j" i "," i ",100,8,x" }' >line.csv
"$orrery" run --trace line.csv --cluster 1x8 --policy kai --quiet --no-progress -o line.db
says 0 'quota for queue x *cannot be tried: the scenario states no queues' "$orrery" explain line.db j2 --what-would-help
says 0 'more nodes of 8 GPUs in pool c1 *+1: it starts at 00:00:0' "$orrery" explain line.db j2 --what-would-help
says 65 'did not wait: it started as it came, at 00:00:01' "$orrery" explain line.db j1 --what-would-help
says 1 'none of them helps' "$orrery" explain line.db j20 --what-would-help --by 20s
says 0 'a higher priority of the job *+1: it starts at 00:00:21' "$orrery" explain line.db j20 --what-would-help --by 500s

# The story has waits after evictions too, which this is not about: it says so, and what is to be asked.
sed 's/drain: n0002, for: 3h/fail: n0002, for: 50m/' drain.yaml >fail.yaml
"$orrery" run fail.yaml --quiet --no-progress -o fail.db
says 0 'waited 50.0 min' "$orrery" explain fail.db c
says 65 "job c started as it came, at 00:00:20, and --what-would-help is about a job's first start; it waited 50.0 min after evictions, which .orrery explain fail.db c. explains" \
    "$orrery" explain fail.db c --what-would-help
says 65 'did not wait: it started as it came' "$orrery" explain fail.db a --what-would-help

# Who pays for it: what a whole run with the change says of every other job's wait.
"$orrery" explain gang.db pretrain-1 --what-would-help --json --no-progress >help.json
"$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --variant off --policy easy --quiet --no-progress -o easy.db 2>err || true
by_hand=$(sqlite3 easy.db "ATTACH 'gang.db' AS b; SELECT count(*) || ' ' || printf('%.0f', total(w.start_ms - o.start_ms) / 1000) || ' ' || (max(w.start_ms - o.start_ms) / 1000)
    FROM job AS w JOIN b.job AS o ON o.name = w.name WHERE w.start_ms - o.start_ms >= 1000 AND w.name <> 'pretrain-1'")
cost() {
    jq -r ".changes[] | select($1) | .cost | $2" help.json
}
[ "$(cost '.set == "easy"' '"\(.longer_jobs) \(.longer_s | round) \(.most_s | floor)"')" = "$by_hand" ] || fail "costs $(cost '.set == "easy"' tostring), by hand $by_hand"
[ "$(cost '.set == "easy"' '.queues[0].queue + " " + .most_queue')" = 'dev dev' ] || fail "whom policy easy costs"
[ "$(cost '.lever == "amount" and .helps' '.longer_jobs < .shorter_jobs')" = true ] || fail "more nodes cost more than they bring"

# Levers of the job itself, and of the order: a long job holds half of four nodes, a gang of four waits, small jobs wait behind it.
printf 'job,submit_s,run_s,pods,gpus_per_pod\nlong,0,36000,2,8\ngang,1,3600,4,8\nsmall,2,60,1,1\n' >own.csv
"$orrery" run --trace own.csv --cluster 4x8 --policy fifo --quiet --no-progress -o own.db
says 0 'fewer pods of the job, running longer *-2: it starts at 00:00:01$' "$orrery" explain own.db gang --what-would-help
says 0 '^      nobody else waits longer; 1 waits less, 9.0 h in all$' "$orrery" explain own.db gang --what-would-help # it runs twice as long
says 0 'backfill true instead of false *it starts at 00:00:02   --set policy.params.backfill=true' "$orrery" explain own.db small --what-would-help
says 0 'order shortest instead of submit *it starts at 00:00:02   --set policy.params.order=shortest' "$orrery" explain own.db small --what-would-help
says 0 '^      nobody else waits longer; 0 wait less, 0 s in all$' "$orrery" explain own.db small --what-would-help
says 0 'higher priority of the job *does not help (tried 1 more)' "$orrery" explain own.db gang --what-would-help

# One more job of 1 s holds up all that come after it by just 1 s, in a line of which each job takes all GPUs.
"$orrery" run --trace line.csv --cluster 1x8 --policy fifo --quiet --no-progress -o fifo.db
says 0 'Run again 4 times, each with one more job: 1 GPU for 1 s' "$orrery" explain fifo.db --stability --replicas 4
says 0 'by how much, most  *1 s$' "$orrery" explain fifo.db --stability --replicas 4
"$orrery" explain fifo.db --stability --replicas 4 --queue x -j 1 --json >out
grep -q '"most_shift_s": 1$' out || fail "most of shifts: $(cat out)"
[ "$(grep -A1 '"changed_jobs"' out | grep -o '[0-9.]*')" = "$(grep -A1 '"changed_gpu_h"' out | grep -o '[0-9.]*')" ] || fail "equal jobs are not equal"
"$orrery" explain fifo.db --stability --replicas 4 --queue x --json | cmp - out || fail "stability: not the same again"
# Where nothing waits no start changes; of 4 times nothing follows a bound, 1 - 0.05^(1/4), and no interval of 0 to 0.
"$orrery" run --trace line.csv --cluster 100x8 --policy fifo --quiet --no-progress -o idle.db
says 0 'times that nothing changed  *4 of 4$' "$orrery" explain idle.db --stability --replicas 4
says 0 'at fewer than 53 % of all such times' "$orrery" explain idle.db --stability --replicas 4
says 0 '^  jobs  *0 %  (no interval)$' "$orrery" explain idle.db --stability --replicas 4
# It comes when something waits, be that half an hour of twelve days.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; print "a,0,60,8"; for (i = 0; i < 30; i++) print "b" i "," i * 60 ",60,8"; print "z,1000000,1,1" }' >rush.csv
"$orrery" run --trace rush.csv --cluster 1x8 --policy fifo --quiet --no-progress -o rush.db
says 0 'of the window in which something waits (0.18 % of it), in a random queue' "$orrery" explain rush.db --stability --replicas 4
says 0 'times that nothing changed  *0 of 4$' "$orrery" explain rush.db --stability --replicas 4
says 65 'no queue that holds jobs is called "y"' "$orrery" explain fifo.db --stability --queue y
says 64 'about a whole run' "$orrery" explain fifo.db j2 --stability
says 64 'goes with --stability' "$orrery" explain fifo.db j2 --replicas 3

# What is printed as a time is taken as one: by --at, --by, --from, in each of the ways.
when=$("$orrery" explain gang.db pretrain-1 | sed -n 's/^  \([0-9d :]*[0-9]\)  .*is submitted.*/\1/p')
for at in 10h '10:00' '0d 10:00:00' 'day 0 10:00' 36000 '36000 s'; do
    says 0 "^At 10:00:00 it waits" "$orrery" explain gang.db pretrain-1 --at "$at"
done
says 0 'At ' "$orrery" show gang.db --at "$when"
says 64 '"12:3x" is not a time of the run.s clock' "$orrery" explain gang.db pretrain-1 --at 12:3x
says 64 'is a date, and gang.db has no calendar' "$orrery" explain gang.db pretrain-1 --at 2026-06-01
{ echo 'start: 2026-06-01T00:00:00Z' && cat "$source/scenarios/whatif/gang/gang.yaml"; } >dated.yaml
cp "$source"/scenarios/whatif/gang/*.csv .
"$orrery" run dated.yaml --variant off --quiet --no-progress -o dated.db 2>err || true
says 0 '^  2026-06-01T02:00:00Z .*is submitted\|^  2026-06-01T.*is submitted' "$orrery" explain dated.db pretrain-1
for at in 10h 2026-06-01T10:00:00Z '2026-06-01 10:00' '2026-06-01T12:00:00+02:00'; do
    says 0 '^At 2026-06-01T10:00:00Z it waits' "$orrery" explain dated.db pretrain-1 --at "$at"
done
says 0 'it starts at 2026-06-01T' "$orrery" explain dated.db pretrain-1 --what-would-help --by 2026-06-01T02:27:01Z
if command -v gnuplot >/dev/null; then
    "$orrery" plot dated.db depth --from 2026-06-01T06:00 --to 18:00 --quiet || fail 'plot by dates'
    grep -q 'date (UTC), from 2026-06-01' dated-depth.svg || fail 'an axis without dates'
    grep -q '>12:00<\|12:00' dated-depth.svg || fail 'marks at round times'
fi

# Who passed a job: those that came later and started before it did, by a small world of EASY.
printf 'job,submit_s,run_s,gpus\na,0,1000,6\nbig,10,100,8\ns1,20,50,1\ns2,30,60,2\nlate,2000,10,1\n' >pass.csv
"$orrery" run --trace pass.csv --cluster 1x8 --policy easy --quiet --no-progress -o pass.db
says 0 'passed by 2 jobs of 3 GPUs in all that came later: s2 of default (2), s1 of default (1)$' "$orrery" explain pass.db big
"$orrery" explain pass.db a >out
grep -q 'passed by' out && fail "the first is passed: $(cat out)"
says 0 '"gpus": 3' "$orrery" explain pass.db big --json

printf 'explained\n'
