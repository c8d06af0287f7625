#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery forecast`: what is certain is said with certainty, nothing of the time after the moment has
# a part in it, the same seed gives the same bytes however many processes, and forecasts of past
# moments are held against what came.
#
#   forecast.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"
command -v jq >/dev/null 2>&1 || exit 77

# forecast ARGUMENT...: to out.
forecast() {
    "$orrery" forecast "$@" >out 2>err || fail "forecast $*: exit $?"
}
# refuses CODE WORDS ARGUMENT...
refuses() {
    wanted=$1 words=$2 code=0
    shift 2
    "$orrery" forecast "$@" >out 2>err || code=$?
    [ "$code" = "$wanted" ] || fail "forecast $*: exit $code, expected $wanted"
    grep -q "$words" err || fail "forecast $*: does not say \"$words\""
}

# All jobs have run an hour, one after the other; one has run for 20 minutes, so the one that waits
# starts in 40, and the next an hour later.
awk 'BEGIN {
    print "job,submit_s,run_s,gpus,queue,user"
    for (i = 0; i < 40; i++) print "a" i "," i * 3600 ",3600,8,q,u"
    print "runs,144000,3600,8,q,u\nwaits,144600,3600,8,q,u\nnext,144900,3600,8,q,u"
}' >certain.csv
certain="--trace certain.csv --cluster 1x8 --policy fifo --at 145200 --no-progress --rehearse 0"
forecast $certain --arrivals none --futures 60 --json
[ "$(jq -c '[.ended, .running, [.jobs[] | [.job, .start_p10_s, .start_p50_s, .start_p90_s, .within_1h]]]' out | cut -d, -f1-6)" = \
    '[40,1,[["waits",147600,147600,147600' ] || fail "certain starts"
[ "$(jq '[.jobs[] | select(.job == "next")][0].start_p50_s == 151200' out)" = true ] || fail "the next of two"
[ "$(jq '[.jobs[] | select(.job == "waits")][0].within_1h >= 0.9' out)" = true ] || fail "chance within an hour"
forecast $certain --arrivals none --job next
grep -q '^next .*1.7 h .*insufficient\|^next .*1.7 h' out || fail "--job next"
sed '/^starts right after/,$d' out | grep -q '^waits' && fail "--job next tells of others"
grep -q '^At 1d 16:20:00: 2 jobs waiting, 1 running, 40 ended' out || fail "--job counts itself alone: $(cat out)"
# What would change it: it starts when the one before it has ended, and were that gone, when the one that runs does. That
# one gone at once, the other has the node for an hour first.
forecast $certain --arrivals none --futures 20 --job next --json --plot figures --term dumb
jq -s '.[0]' out >one.json 2>/dev/null || sed '/^}/q' out >one.json
[ "$(jq -c '[.changes[] | [.without, .queue, .gpus, .running, .starts_right_after, .start_p10_s, .start_p90_s]]' one.json)" = \
    '[["waits","q",8,false,1,147600,147600]]' ] || fail "changes of next: $(jq -c .changes one.json)"
[ "$(jq -c '[.pools, .starts_after_later_job, .starts_after_no_end]' one.json)" = '[[{"pool":"c1","starts_there":1}],0,0]' ] || fail "where next starts"
grep -q 'without waits |' out || fail "a figure in the terminal: $(cat out)"
forecast $certain --arrivals none --futures 20 --job waits
grep -q '^runs  *q  *8 runs  *100 %  *now  *now  *now$' out || fail "without what runs: $(cat out)"
# What would change it of the scenario: a node more takes the one before it, so that it starts when what runs has ended; two take both.
forecast $certain --arrivals none --futures 20 --job waits --then cluster.pools.c1.nodes+=2 --json
[ "$(jq -c '[.thens[] | [.then, .start_p10_s, .start_p90_s]]' out)" = \
    '[["cluster.pools.c1.nodes+=1",145200.001,145200.001],["cluster.pools.c1.nodes+=2",145200.001,145200.001]]' ] || fail "then: $(jq -c .thens out)"
forecast $certain --arrivals none --futures 20 --job next --then cluster.pools.c1.nodes+=2
grep -q '^cluster.pools.c1.nodes+=1  *40.0 min ' out && grep -q '^cluster.pools.c1.nodes+=2  *now ' out || fail "then, of next: $(cat out)"
forecast $certain --arrivals none --futures 20 --row gpus=8,queue=q --then cluster.pools.c1.nodes+=3 --json
[ "$(jq -c '.thens[1].start_p90_s' out)" = 145200.001 ] || fail "then, of a row: $(jq -c .thens out)"
refuses 64 "about one job" $certain --then cluster.pools.c1.nodes+=2
refuses 78 "pools" $certain --arrivals none --futures 2 --job waits --then cluster.pools.nowhere.nodes+=2
# A queue without a quota waits until another's job ends on one of two nodes; with one it reclaims a node at once.
cat >quota.yaml <<EOF
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
queues: {big: {gpu: [8, 1, unlimited]}, small: {gpu: [0, 0, unlimited]}}
workload: [{name: w, trace: quota.csv}]
policy: {name: kai}
EOF
awk 'BEGIN {
    print "job,submit_s,run_s,gpus,queue,user"
    for (i = 0; i < 30; i++) print "a" i "," i * 10 ",40000,8,big,u"
    print "asks,565000,100,8,small,v"
}' >quota.csv
forecast quota.yaml --at 566000 --arrivals none --futures 20 --rehearse 0 --job asks --json --no-progress
[ "$(jq -c '[.jobs[0].start_p50_s >= 600000, [.thens[] | [.then, .start_p90_s < 566300]]]' out)" = \
    '[true,[["cluster.pools.p.nodes+=1",true],["queues.small.gpu.quota+=8",true]]]' ] || fail "then, of a quota: $(jq -c '[.jobs, .thens]' out)"
forecast $certain --arrivals none --futures 20 --plot figures
grep -q '>next<' figures/forecast-starts.svg && grep -q '>waits<' figures/forecast-starts.svg || fail "figure"
refuses 64 'has no figure' --trace certain.csv --cluster 1x8 --policy fifo --check-against=3 --plot figures
# Nothing comes: the horizon cuts what is not there.
forecast $certain --arrivals none --horizon 10min --json
[ "$(jq '[.jobs[] | .not_started == 1 and .start_p50_s == null] | all' out)" = true ] || fail "beyond the horizon"

refuses 64 "at says from when" certain.csv
refuses 64 "rehearse" $certain --rehearse -1
refuses 64 "is no time of this run" --trace certain.csv --cluster 1x8 --policy fifo --at soon
refuses 65 'no job is called "nobody"' $certain --job nobody
refuses 65 "does not wait then: it runs" $certain --job runs
refuses 65 "does not wait then: it is over" $certain --job a3
refuses 66 "missing.yaml" missing.yaml --at 1h
# A job that is not submitted yet goes behind those that wait; where nothing waits it starts as it comes.
forecast $certain --arrivals none --row gpus=8,queue=q,user=u --json
[ "$(jq -c '[.jobs[] | [.job, .submit_s, .start_p50_s]]' out)" = '[["asked/yours",145200,154800]]' ] || fail "--row"
"$orrery" forecast --trace certain.csv --cluster 2x8 --policy fifo --at 1000 --row gpus=8,job=j --json --no-progress --rehearse 0 >out 2>err || fail "--row at once"
[ "$(jq -c '[.jobs[] | [.job, .start_p10_s, .start_p90_s, .within_1h]]' out)" = '[["asked/j",1000,1000,1]]' ] || fail "--row at once"
refuses 65 "could not hold even when empty" $certain --row gpus=64
refuses 64 "is not COLUMN=VALUE" $certain --row 64
refuses 64 "one of them" $certain --row gpus=1 --job waits
printf 'job,submit_s,run_s,gpus\na,0,60,8\nb,0,60,8\n' >two.csv
refuses 65 "history names a trace" --trace two.csv --cluster 1x8 --policy fifo --at 0 --no-progress
forecast --trace two.csv --cluster 1x8 --policy fifo --at 0 --history certain.csv --no-progress --json
[ "$(jq '.jobs[0].start_p50_s == 3600' out)" = true ] || fail "--history"
# What goes by run times, if only to admit jobs or as their distribution, is refused; so is what goes by estimates where a
# row states none.
for knows in 'srtf' 'gittins' 'themis' 'edf --param=admission=feasible' 'gavel --param=objective=makespan' 'fifo --param=order=shortest'; do
    refuses 78 "goes by true run times" $certain --policy $knows
done
for knows in 'srtf --param=by=estimate' 'edf --param=admission=feasible --param=by=estimate' 'fifo --param=order=predicted'; do
    refuses 78 "that of job a0 is made from run times" $certain --policy $knows
done
sed 's/$/,7200/; 1s/7200/time_limit_s/' certain.csv >stated.csv
stated="--trace stated.csv --cluster 1x8 --at 145200 --no-progress --rehearse 0"
forecast $stated --policy srtf --param by=estimate --futures 2
refuses 78 "that of job asked/yours is made" $stated --policy srtf --param by=estimate --futures 2 --row gpus=8,queue=q
forecast $stated --policy srtf --param by=estimate --futures 2 --row gpus=8,queue=q,time_limit_s=60
sed '$s/7200$//' stated.csv >torn.csv
refuses 78 "that of job next is made" --trace torn.csv --cluster 1x8 --at 145200 --policy srtf --param by=estimate
cat >exact.yaml <<EOF
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
workload: [{name: w, trace: stated.csv, estimates: {by: exact}}]
policy: {name: srtf, params: {by: estimate}}
EOF
refuses 78 'are by user' exact.yaml --at 145200

# A busy fortnight. What has not ended by the moment gets another run time, and what comes later is
# another trace: the forecast is the same to the byte.
awk "$draw_awk"'BEGIN {
    state = 7000003
    print "job,submit_s,run_s,gpus,queue,user"
    for (i = 0; i < 1500; i++) {
        t += int(-900 * log(1 - draw()))
        print "j" i "," t "," int(exp(7 + 1.5 * (draw() + draw() + draw() + draw() - 2))) "," 2 ^ int(4 * draw()) ",q" int(2 * draw()) ",u" int(9 * draw())
    }
}' >plain.csv
# The same with limits, and some with deadlines, that say little of run times.
awk -F, 'NR == 1 { print $0 ",time_limit_s,deadline_s"; next }
    { print $0 "," 600 + NR * 7919 % 9000 "," (NR % 3 ? "" : $2 + 3600 + NR * 104729 % 90000) }' plain.csv >limits.csv
now=777600
for policy in 'plain fifo' 'plain kai' 'limits srtf --param=by=estimate' 'limits themis --param=by=estimate' 'limits edf' \
    'limits edf --param=admission=feasible --param=by=estimate' 'limits gavel --param=objective=makespan --param=by=estimate' \
    'limits fifo --param=order=predicted'; do
    cp "${policy%% *}.csv" past.csv
    policy=${policy#* }
    options="--cluster 1x8 --policy $policy"
    "$orrery" run --trace past.csv $options -o run.db --force -q --no-progress 2>err || fail "run"
    "$orrery" export run.db jobs --json | jq -r '.rows[] | "\(.job) \(.start_s) \(.end_s)"' >ends
    awk -F'[ ,]' -v now=$now 'FILENAME == "ends" { end[$1] = $3; next }
        FNR == 1 { print; next }
        $2 > now && FNR % 2 { next }
        { OFS = ","; $3 = $2 > now ? $3 * 2 + 1 : end[$1] > now ? $3 * 3 + 86400 : $3; print }' ends past.csv >other.csv
    cmp -s past.csv other.csv && fail "the other trace is the same"
    forecast --trace past.csv $options --at $now --rehearse 2 --futures 8 --all --no-progress -j 1
    cp out one
    [ "$(wc -l <one)" -gt 4 ] || fail "$policy: nothing waits at that moment"
    forecast --trace other.csv $options --at $now --rehearse 2 --futures 8 --all --no-progress -j 3
    cmp -s one out || fail "$policy: the forecast knows what comes"
    forecast --trace past.csv $options --at $now --rehearse 2 --futures 8 --all --no-progress --seed 1
    cmp -s one out && fail "$policy: the seed draws nothing"
done
cp plain.csv past.csv

# What rehearsals missed moves the intervals, and not the median.
forecast --trace past.csv --cluster 1x8 --policy fifo --at $now --futures 20 --no-progress --json --rehearse 0
jq -c '[.stretch_low, .stretch_high, [.jobs[].start_p50_s], ([.jobs[] | select(.start_p90_s != null) | .start_p90_s - .start_p10_s] | add > 0)]' out >plain
forecast --trace past.csv --cluster 1x8 --policy fifo --at $now --futures 20 --no-progress --json --rehearse 12
jq -c '[.stretch_low, .stretch_high, [.jobs[].start_p50_s], ([.jobs[] | select(.start_p90_s != null) | .start_p90_s - .start_p10_s] | add > 0)]' out >wider
[ "$(jq -c '.[:2]' plain)" = '[1,1]' ] || fail "stretched without rehearsals"
[ "$(jq -c '.[:2]' wider)" != '[1,1]' ] || fail "rehearsals do not set the width"
[ "$(jq -c '.[2:]' wider)" = "$(jq -c '.[2:]' plain)" ] || fail "rehearsals move the median, or there is no width"
forecast --trace past.csv --cluster 1x8 --policy fifo --at $now --futures 20 --no-progress --rehearse 12
grep -q '^10 % and 90 % are moved away from the middle by what forecasts of earlier moments missed' out || fail "the answer does not say what rehearsals moved"
grep -q "each job's by themselves, so that they may come before those of a job that starts earlier in every future" out || fail "the answer does not say that intervals are moved one by one"

# Forecasts of the past. Run times are independent here, so that a broken model is far off.
forecast --trace past.csv --cluster 1x8 --policy fifo --check-against=12 --futures 15 --no-progress --json
[ "$(jq '.moments == 12 and .forecasts > 50 and .covered > 0.5 and .covered <= 1 and .error_median_s < .naive_error_median_s' out)" = true ] ||
    fail "forecasts of the past"
forecast --trace past.csv --cluster 1x8 --policy fifo --check-against=2 --futures 5 --no-progress
grep -q '80 % intervals cover' out || fail "forecasts of the past in words"

# Rows that cannot run: more than 1 % of them need a word, and what was left out is shown once.
{ cat past.csv; for i in $(seq 30); do echo "broken$i,1,no number,1,q,u"; done; } >torn.csv
refuses 65 'more than 1 % (--allow-loss accepts that)' --trace torn.csv --cluster 1x8 --policy fifo --at $now --futures 5 --no-progress
forecast --trace torn.csv --cluster 1x8 --policy fifo --at $now --futures 5 --no-progress --allow-loss=5%
[ "$(grep -c 'rows rejected' err)" = 1 ] || fail "what was left out is not shown once: $(cat err)"
