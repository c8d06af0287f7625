#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery sweep`: a plan has every point once, a sweep that was killed goes on where it was, and its merged file
# has the bytes of an undisturbed one, whoever ran the points and in which order; a failure stops no other.
#
#   sweep.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod"
    for (i = 0; i < 120; i++) print "j" i "," i * 20 "," 100 + i * 37 % 3000 ",1," 1 + i * 7 % 8 }' >trace.csv
cat >base.yaml <<'YAML'
cluster: {pools: {p: {nodes: 8, gpus: 8}}}
workload: [{name: w, trace: trace.csv}]
policy: fifo
YAML
cat >exp.yaml <<'YAML'
kind: Sweep
base: base.yaml
replicas: 2
shake: {submit: 30s, run: 0.01}
axes:
  policy: {policy.name: [fifo, easy]}
  size: {cluster.pools.p.nodes: [8, +=2]}
points:
  - {policy.name: las, cluster.pools.p.nodes: 12}
limits: {time: 60s}
YAML

# A sweep that nothing disturbs; every number is that of the run alone.
exits 0 sweep plan exp.yaml -o calm
exits 75 sweep status calm
exits 0 sweep run calm --no-progress
exits 0 sweep merge calm -o calm.db
grep -q 'calm.db: 10 points' out || fail "$(cat out)"
[ "$(sqlite3 calm.db "SELECT group_concat(policy || size || '#' || seed, ' ') FROM v_points WHERE policy IS NOT NULL")" = \
    'fifo8#1 fifo8#2 fifo+=2#1 fifo+=2#2 easy8#1 easy8#2 easy+=2#1 easy+=2#2' ] || fail "not the points of the axes"
"$orrery" run base.yaml --policy easy --set cluster.pools.p.nodes=10 --set shake.submit=30s --set shake.run=0.01 --seed 2 -q \
    --no-progress -o alone.db
alone=$(sqlite3 alone.db "SELECT digest FROM run")
[ "$(sqlite3 calm.db "SELECT digest FROM point_run WHERE point = 7")" = "$alone" ] || fail "a point is not its run"
[ "$(sqlite3 calm.db "SELECT count(*) FROM point_metric WHERE point = 7")" = "$(sqlite3 alone.db "SELECT count(*) FROM metric")" ] ||
    fail "metrics are lost"

# What a point's file holds is the point's: one that has changed places with another of its seed is found.
of_point() { # FOLDER ID
    echo "$1/points/$(sqlite3 "$1/plan.db" "SELECT key FROM sweep_point WHERE id = $2").db"
}
cp -r calm swapped
cp "$(of_point calm 0)" "$(of_point swapped 6)"
cp "$(of_point calm 6)" "$(of_point swapped 0)"
exits 65 sweep merge swapped -o swapped.db
grep -q 'is not what point 0 of the plan writes; remove it and run the sweep again' err || fail "$(cat err)"
[ ! -e swapped.db ] || fail "results of other settings are merged"

# A file that is no whole results file is none: its point is missing, the answers say so, and it is run again.
cp -r calm broken
: >"$(of_point broken 3)"
cp trace.csv "$(of_point broken 4)"
head -c 20000 "$(of_point calm 5)" >"$(of_point broken 5)"
exits 75 sweep status broken
grep -q '^broken: 7 of 10 points done, 0 failed, 3 missing' out || fail "$(cat out)"
[ "$(grep -c 'is no whole results file, and is run again' out)" = 3 ] || fail "$(cat out)"
exits 75 sweep merge broken -o broken.db
grep -q 'point 3 (.*) has no results: .* is no whole results file' err || fail "$(cat err)"
exits 75 sweep merge broken -o broken.db --partial
exits 0 sweep run broken --no-progress
exits 0 sweep merge broken -o broken.db --force
cmp broken.db calm.db || fail "another merged file once it was run again"
sqlite3 "$(of_point broken 3)" 'PRAGMA user_version = 3'
exits 65 sweep merge broken -o broken.db --force
grep -q 'results of version 3 cannot be read.*; remove it and run the sweep again' err || fail "$(cat err)"

# What another sub-verb heeds is refused, not ignored.
for words in 'run calm --index 3' 'run calm --engine slurm' 'run calm --chunk 2' 'run calm -o x.db' 'status calm -j 2' \
    'merge calm -o x.db --index 1' 'plan exp.yaml -o x --force' 'exec calm --index 1 --slots 2' 'submit calm --engine slurm --allow-loss'; do
    # shellcheck disable=SC2086 # words of a command line
    exits 64 sweep $words
    grep -q 'does nothing here: it is of' err || fail "$words: $(cat err)"
done

# An axis is a column of the views, beside those that they have.
for column in $(sqlite3 calm.db "SELECT name FROM pragma_table_info('v_metrics') WHERE name NOT IN ('policy', 'size')") Value; do
    printf 'kind: Sweep\nbase: base.yaml\naxes: {%s: {cluster.pools.p.nodes: [1, 2]}}\n' "$column" >taken.yaml
    exits 78 sweep plan taken.yaml -o taken
    grep -q "taken.yaml:3:8: axis $column: merged sweeps have a column" err || fail "axis $column: $(cat err)"
done
printf 'kind: Sweep\nbase: base.yaml\naxes: {size: {cluster.pools.p.nodes: [1, 2]}, Size: {policy.name: [fifo, easy]}}\n' >taken.yaml
exits 78 sweep plan taken.yaml -o taken
grep -q 'axis Size: is axis size in another case' err || fail "$(cat err)"
printf 'kind: Sweep\nbase: base.yaml\naxes: {size: {cluster.pools.p.nodes: []}}\n' >taken.yaml
exits 78 sweep plan taken.yaml -o taken
grep -q 'expected a list of values, found an empty list' err || fail "$(cat err)"

# The merged file is compared as its results files are, but for what jobs alone can tell.
exits 0 compare calm.db --json
jq .differences out >merged.json
jq -r '.arms[] | "\(.arm)|\(.runs)|\(.jobs)|\(.unstarted)"' out >arms
n=$(wc -l <arms)
[ "$n" = 5 ] || fail "not five settings: $(cat arms)"
sqlite3 calm.db "SELECT 's' || arm || '=calm/points/' || key || '.db' FROM sweep_point ORDER BY id" >files
sqlite3 calm.db "SELECT label FROM sweep_arm ORDER BY id" >labels
# shellcheck disable=SC2046
"$orrery" compare $(cat files) --json >each 2>err || fail "$(cat err)"
jq '[.differences[] | select(.metric != "jct_ratio_geomean")] | length' each >n1
jq length merged.json >n2
cmp n1 n2 || fail "a merged sweep has other metrics: $(cat n1 n2)"
for what in base_mean arm_mean difference low high p_holm verdict n; do
    jq -c "[.differences[] | select(.metric != \"jct_ratio_geomean\") | [.metric, .$what]] | sort" each >a
    jq -c "[.[] | [.metric, .$what]] | sort" merged.json >b
    cmp a b || fail "a merged sweep has another $what"
done
jq -r '.arms[] | "\(.runs)|\(.jobs)|\(.unstarted)"' each >a
cut -d'|' -f2- arms >b
cmp a b || fail "a merged sweep has other arms"
exits 0 compare calm.db
[ "$(head -n 1 out)" = "settings by $(sqlite3 calm.db "SELECT group_concat(name, ', ') FROM sweep_axis")" ] || fail "not which values settings are called by: $(head -n 1 out)"
grep -q 'are cut from jobs, and a merged sweep has none' out && ! grep -q 'too short' out || fail "why a merged sweep has no blocks: $(cat out)"
# shellcheck disable=SC2046
exits 0 compare $(cat files) --by queue
grep -q 'beside these without --by' out || fail "why queues have no blocks: $(cat out)"
exits 0 compare calm.db --by queue
base=$(sed -n 3p labels) other=$(sed -n 1p labels)
exits 0 compare calm.db --arm "$base" --arm "$other" --json
[ "$(jq -r '.arms[0].arm + "|" + .arms[1].arm' out)" = "$base|$other" ] || fail "not the settings asked for: $(jq -c .arms out)"
# Differences of 10 and 11 by seed are beyond chance by themselves (t = 21), and may be chance among four settings.
cp calm.db among.db
sqlite3 among.db "UPDATE point_metric SET value = 100 + (SELECT CASE arm WHEN 0 THEN 0 WHEN 1 THEN 9 + seed ELSE 10 * seed - 15 END
    FROM sweep_point WHERE id = point) WHERE name = 'wait_mean_s' AND scope = 'all'"
exits 0 compare among.db --metric wait_mean_s
grep -q '^wait_mean_s .* 2  *0.12  =$' out && grep -q 'could be shown; .*, n = 2, p = 0.12 among 4 settings' out || fail "among four: $(cat out)"
exits 0 compare among.db --metric wait_mean_s --json # and the interval holds 0 where p is above 5 %
[ "$(jq '[.differences[] | select(.p_holm != null and .difference != 0) | (.p_holm > 0.05) == (.low <= 0 and .high >= 0)] | length > 0 and all' out)" = true ] ||
    fail "intervals and p: $(jq -c '[.differences[] | [.difference, .low, .high, .p_holm]]' out)"
exits 0 compare among.db --metric wait_mean_s --arm "$(sqlite3 calm.db 'SELECT label FROM sweep_arm WHERE id = 0')" --arm "$(sqlite3 calm.db 'SELECT label FROM sweep_arm WHERE id = 1')"
grep -q '^wait_mean_s .* 2  *0.03  worse$' out || fail "by itself: $(cat out)"
exits 65 compare calm.db --arm nobody
exits 64 compare calm.db --replicas 3
exits 64 compare "calm/points/$(sqlite3 calm.db "SELECT key FROM sweep_point LIMIT 1").db"
exits 0 report calm.db -o r.html
grep -q "Settings are called by their values of $(sqlite3 calm.db "SELECT group_concat(name, ', ') FROM sweep_axis")\." r.html || fail 'the page does not name the axes'
for word in 'What each came to' 'What differs' 'easy, 8</th>' 'worse off'; do
    grep -q "$word" r.html || fail "the page has no $word"
done
mean=$(sqlite3 calm.db "SELECT printf('%.4g', avg(value) / 3600) FROM v_metrics WHERE metric = 'wait_p95_s' AND scope = 'all' AND policy = 'easy' AND size = '+=2'")
exits 0 plot calm.db map -t dumb
grep '^easy' out | grep -q " $mean\$" || fail "the map has not $mean: $(cat out)"
exits 0 plot calm.db front -t dumb --metric wait_mean_s --metric makespan_s
# whom no other beats in both, by a query of its own
sqlite3 calm.db "WITH m AS (SELECT arm, avg(value) FILTER (WHERE metric = 'wait_mean_s') AS x, avg(value) FILTER (WHERE metric = 'makespan_s') AS y
    FROM v_metrics WHERE scope = 'all' GROUP BY arm) SELECT arm FROM m AS a WHERE NOT EXISTS (SELECT 1 FROM m AS b
    WHERE b.x <= a.x AND b.y <= a.y AND (b.x < a.x OR b.y < a.y)) ORDER BY x" >best
sed 1d out | sed 's/  .*//' | cmp - best || fail "not the front: $(cat out best)"
exits 0 plot calm.db multiples -t dumb --axis size --axis policy
sed -n '/^size +=2/,/^$/p' out | tail -n 1 | grep -q " $mean" || fail "the panel has not $mean: $(cat out)"
exits 64 plot calm.db multiples --axis policy --axis policy
# A setting of which one run did not reach the quantile has no mean: that of the others would be of the least.
cp calm.db open.db
sqlite3 open.db "UPDATE point_metric SET value = NULL, at_least = 5 WHERE name = 'wait_p95_s' AND scope = 'all' AND point =
    (SELECT min(point) FROM v_metrics WHERE policy = 'easy' AND size = '+=2')"
for figure in map 'multiples --axis size --axis policy' front; do
    exits 0 plot open.db $figure -t dumb
    grep -q '; 1 of [0-9]* settings left out, where a run did not reach it$' out || fail "$figure: nobody is left out: $(cat out)"
    ! grep -q " $(printf '%.3f' "$mean")" out || fail "$figure: a mean of some runs: $(cat out)"
done
sqlite3 open.db "UPDATE point_metric SET value = NULL, at_least = 5 WHERE name = 'wait_p95_s' AND scope = 'all'"
exits 65 plot open.db map -t dumb
grep -q 'no setting has a mean of "wait_p95_s"' err || fail "a map of nothing: $(cat err)"
if command -v gnuplot >/dev/null; then
    exits 0 plot calm.db -o figures
    [ -s figures/calm-map.svg ] && [ -s figures/calm-front.svg ] && [ -s figures/calm-multiples.svg ] || fail "no figures: $(ls figures)"
    grep -q '<svg' r.html || fail "a page without figures"
fi
exits 64 plot calm.db depth
exits 64 plot calm.db map --axis policy --axis nobody
grep -q 'the sweep has no axis "nobody"; it has policy, size' err || fail "$(cat err)"
exits 64 plot calm.db map --axis size --axis size
grep -q 'the two axes are both size' err || fail "$(cat err)"
exits 0 plot calm.db map --axis size -t dumb
exits 65 plot calm.db map --metric nobody

# A plan says how many rows its runs may reject.
{ cat trace.csv; printf 'x,1,none,1,1\ny,1,none,1,1\n'; } >lossy.csv
sed 's/trace.csv/lossy.csv/' base.yaml >lossy.yaml
printf 'kind: Sweep\nbase: lossy.yaml\naxes: {policy: {policy.name: [fifo, easy]}}\n' >lossy_exp.yaml
exits 65 sweep plan lossy_exp.yaml -o lossy
grep -q 'lossy_exp.yaml:3:[0-9]*: point [a-z]*: .*allow-loss' err || fail "no such words: $(cat err)"
[ ! -e lossy ] || fail "half a plan"
exits 0 sweep plan lossy_exp.yaml -o lossless --allow-loss=5%
exits 0 sweep run lossless --no-progress
exits 0 sweep merge lossless -o lossless.db

# Planned again: the same keys; a folder holds one plan.
exits 0 sweep plan exp.yaml -o torn
[ "$(sqlite3 torn/plan.db "SELECT group_concat(key) FROM sweep_point")" = "$(sqlite3 calm/plan.db "SELECT group_concat(key) FROM sweep_point")" ] ||
    fail "keys are not stable"
exits 73 sweep plan exp.yaml -o torn

# Killed with what it started, then tasks of an engine in another order, one of them twice, then the rest.
"$orrery" sweep run torn -j 2 -q --no-progress 2>err &
victim=$!
while [ "$(find torn/points -name '*.db' | wc -l)" -lt 1 ]; do :; done
pkill -9 -P "$victim" 2>killed || true
kill -9 "$victim" 2>killed || true
wait "$victim" 2>killed || true
: >"torn/points/$(sqlite3 torn/plan.db "SELECT key FROM sweep_point WHERE id = 9").db.tmp.1"
: >torn/points/nobodys.db.tmp.1
SLURM_ARRAY_TASK_ID=4 "$orrery" sweep exec torn --chunk 2 --no-progress
JOB_COMPLETION_INDEX=1 "$orrery" sweep exec torn --chunk 2 --no-progress
exits 0 sweep exec torn --index 4 --chunk 2 --no-progress
exits 64 sweep exec torn --index 5 --chunk 2
if [ "$(find torn/points -name '*.db' | wc -l)" -lt 10 ]; then
    exits 75 sweep merge torn -o torn.db
    [ ! -e torn.db ] || fail "holes are merged without a word"
    exits 75 sweep merge torn -o torn.db --partial
    [ "$(sqlite3 torn.db "SELECT count(*) > 0 FROM point_hole")" = 1 ] || fail "no holes are listed"
fi
exits 0 sweep run torn --no-progress
exits 0 sweep merge torn -o torn.db --force
[ "$(ls torn/points/*.tmp.*)" = torn/points/nobodys.db.tmp.1 ] || fail "left behind: $(ls torn/points)"
: >"torn/points/$(sqlite3 torn/plan.db "SELECT key FROM sweep_point WHERE id = 9").db.tmp.1"
exits 0 sweep run torn --no-progress
grep -q 'removed 1 temporary file of killed processes' err || fail "not said: $(cat err)"
cmp calm.db torn.db || fail "the merged file is another"
exits 73 sweep merge torn -o torn.db

# A file that is not the point's; a trace that changed; a point that fails; a run that takes too long.
cp alone.db "torn/points/$(sqlite3 torn/plan.db "SELECT key FROM sweep_point WHERE id = 0").db"
exits 65 sweep merge torn -o torn.db --force
cp calm.db torn.db
printf 'kind: Sweep\nbase: base.yaml\npoints: [{policy.name: fifo}, {policy.params.backfill: true, events: "x"}]\n' >wrong.yaml
exits 78 sweep plan wrong.yaml -o wrong
[ ! -e wrong ] || fail "half a plan"
printf 'kind: Sweep\nbase: base.yaml\naxes: {a: {seeds: [1, 2], policy.name: [fifo]}}\n' >wrong.yaml
exits 78 sweep plan wrong.yaml -o wrong
grep -q 'wrong.yaml:3:.*walked together' err || fail "$(cat err)"
printf 'kind: Sweep\nbase: base.yaml\npoints: [{policy.name: fifo}, {policy.name: fifo}]\n' >wrong.yaml
exits 78 sweep plan wrong.yaml -o wrong
grep -q 'are the same run' err || fail "$(cat err)"
# What `check` refuses of one point, the plan refuses.
printf 'kind: Sweep\nbase: base.yaml\naxes: {size: {cluster.pools.p.nodes: [8, 0]}}\n' >wrong.yaml
exits 65 sweep plan wrong.yaml -o wrong
grep -q 'wrong.yaml:3:42: point 0: trace.csv: 120 of 120 rows are rejected' err || fail "$(cat err)"
[ ! -e wrong ] || fail "half a plan"
printf 'kind: Sweep\nbase: base.yaml\naxes: {policy: {policy.name: [fifo, easyy]}}\n' >wrong.yaml
exits 78 sweep plan wrong.yaml -o wrong
grep -q 'wrong.yaml:3:37: point easyy: .*did you mean "easy"?' err || fail "$(cat err)"

# Where all that lacks would fail again, that is the answer, and not that another try may help.
printf 'kind: Sweep\nbase: none.yaml\naxes: {p: {policy.name: [fifo, easy]}}\n' >lost.yaml
exits 66 sweep plan lost.yaml -o lost
grep -q 'lost.yaml:2:7: base: none.yaml: No such file or directory' err || fail "a base that is not there: $(cat err)"
printf 'kind: Sweep\nbase: base.yaml\nreplicas: 2\npoints: [{policy.name: fifo}]\n' >gone.yaml
exits 0 sweep plan gone.yaml -o gone
mv trace.csv away.csv
exits 66 sweep run gone --no-progress
exits 66 sweep status gone
exits 66 sweep exec gone --index 1 --no-progress
exits 66 sweep merge gone -o gone.db --partial
echo 'exit 65: the data is wrong' >"gone/points/$(sqlite3 gone/plan.db "SELECT key FROM sweep_point WHERE id = 0").err"
exits 65 sweep status gone
echo 'exit 71: needs more than there is' >"gone/points/$(sqlite3 gone/plan.db "SELECT key FROM sweep_point WHERE id = 1").err"
exits 75 sweep status gone
mv away.csv trace.csv
exits 0 sweep run gone --no-progress

# Sanitizers take address space by the terabyte: no limit there.
if (ulimit -v 2000000 && "$orrery" --version) >out 2>err; then
    printf 'kind: Sweep\nbase: base.yaml\npoints: [{policy.name: fifo}]\nlimits: {memory: 1MiB}\n' >small.yaml
    exits 0 sweep plan small.yaml -o small
    exits 75 sweep run small --no-progress
    grep -q 'exit 71: needs more than 1 MiB, the memory limit (`limits` of the plan)' out || fail "no reason: $(cat out)"
    # The way on: a plan with another limit takes the points that are done, for limits are in no key.
    sed 's/1MiB/1GiB/' small.yaml >large.yaml
    exits 0 sweep plan large.yaml -o large
    exits 0 sweep run large --no-progress
    cp large/points/*.db small/points/
    exits 0 sweep status small
fi
exits 0 sweep plan exp.yaml -o changed
echo 'late,9000,10,1,1' >>trace.csv
exits 65 sweep run changed --no-progress
(cd changed && exits 65 sweep run . --no-progress) # from anywhere
grep -q 'trace.csv: is not what the sweep was planned with' err || fail "$(cat err)"
exits 66 sweep run nowhere
for engine in slurm parallel kubernetes; do
    exits 0 sweep submit calm --engine $engine --chunk 3
    grep -q "sweep.*exec" out || fail "$engine: $(cat out)"
done
cp -r calm "it's calm"
for engine in slurm parallel; do # a folder's name is a word to every shell that gets it
    exits 0 sweep submit "it's calm" --engine $engine --chunk 3
    sed -n 's/^.*orrery sweep exec \(.*\) --chunk.*/\1/p' out >words
    eval "set -- $(cat words)"
    [ $engine = slurm ] || eval "set -- $1"
    [ "$1" = "$(pwd -P)/it's calm" ] || fail "$engine: not the folder: $1"
done
exits 0 sweep submit calm --engine kubernetes --chunk 3
grep -q 'completions: 4$' out || fail "ten points, three a task: $(cat out)"
grep -q 'FailIndex.*values: \[64, 65, 66, 78\]' out || fail "a point that can be tried again fails for good: $(cat out)"
