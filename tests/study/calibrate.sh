#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery calibrate`: a schedule that the simulator itself recorded is met exactly under the policy
# that made it, and not under another.
#
#   calibrate.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

"$orrery" run --trace "$source/tests/peers/backfill/hpc2n-exact.swf.gz" --cluster 240x1 --split 1 --policy fifo \
    --quiet --no-progress -o run.db
"$orrery" export run.db jobs --format swf >recorded.swf
value() {
    awk -v key="\"$2\":" '$1 == key { sub(/,/, "", $2); print $2; exit }' "$1"
}
calibrate() {
    "$orrery" calibrate --trace recorded.swf --cluster 240x1 --split 1 --policy "$1" --json --quiet --no-progress >"$1.json"
}
calibrate fifo
calibrate easy
[ "$(value fifo.json ks)" = 0 ] || fail "its own schedule is not met: KS $(value fifo.json ks)"
[ "$(value fifo.json error_p90_s)" = 0 ] || fail "its own schedule is not met job by job"
[ "$(value fifo.json jobs)" = 3145 ] || fail "not all jobs are matched"
[ "$(value fifo.json occupancy_apart)" = 0 ] || fail "its own occupancy is not met"
[ "$(value easy.json ks)" != 0 ] || fail "another policy meets it"

cat >swf.yaml <<'YAML'
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {all: {nodes: 240, gpus: 1}}}
workload:
- {name: log, trace: recorded.swf, split: 1}
policy: {name: fifo}
YAML
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^not calibrated' out || fail "calibrated by nobody"
"$orrery" calibrate swf.yaml --quiet --no-progress >out
grep -q 'KS 0.00 over 3145 jobs' out || fail "no sentence"
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated: under fifo' out || fail "the calibration is forgotten"
# Results of it have another name, and may lie in another folder: the note is that of their scenario.
mkdir of_it
"$orrery" run swf.yaml --quiet --no-progress -o of_it/today.db
"$orrery" whatif of_it/today.db --set cluster.pools.all.nodes=250 --no-progress >out
{ grep -q '^swf: base against 1 change' out && grep -q '^calibrated: under fifo' out; } || fail "results do not find it"
# Another policy's calibration stands beside it, for a base under that policy.
"$orrery" calibrate swf.yaml --policy easy --quiet --no-progress --force >out
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated: under fifo' out || fail "another policy's calibration took its place"
"$orrery" whatif swf.yaml --base policy=easy --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated: under easy' out || fail "the other policy's calibration is forgotten"
"$orrery" calibrate swf.yaml --quiet --no-progress --force >out # the newest, which a changed scenario gets
sed -i 's/nodes: 240/nodes: 241/' swf.yaml
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated with another setting, or before the scenario or a file that it reads was changed' out || fail "the change is not seen"
sed -i 's/nodes: 241/nodes: 240/' swf.yaml
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated: under fifo' out || fail "the same scenario is not known again"
sed '$d' recorded.swf >shorter.swf && cp shorter.swf recorded.swf
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated with another setting, or before the scenario or a file that it reads was changed' out || fail "another trace is not seen"
code=0
"$orrery" calibrate "$source/scenarios/whatif/gang/gang.yaml" --quiet --no-progress >out 2>&1 || code=$?
{ [ "$code" = 65 ] && grep -q 'recorded no start' out; } || fail "nothing is a record"

# By hand: one node of 8 GPUs, fifo. a and b are met; c is recorded 300 s later than simulated. No end is recorded.
# The record holds 3 x 800 GPU-s, and 2 x 800 of them are held at another time.
hand() { # START of c, of others
    printf 'job,submit_s,queue,gpus,run_s,recorded_start_s\na,0,q,8,100,%s\nb,10,q,8,100,%s\nc,20,q,8,100,%s\nd,1000,q,1,10,1000\n' "$2" "$3" "$1" >hand.csv
    "$orrery" calibrate --trace hand.csv --cluster 1x8 --policy fifo --no-progress "${4:---color=never}" >out 2>err || fail "calibrate by hand"
}
hand 500 0 100
grep -q '^occupancy: +0.0 % of the GPU time that the record holds in the window; at a time 66.7 % of it is held otherwise$' out || fail "occupancy without ends"
grep -q '^4 records have no end: start + run time is taken for it$' out || fail "ends that were made are not said"
grep -q 'the mean wait is 68 s against 2.4 min recorded, the median 0 s against 0 s' out || fail "no mean wait"
! grep -q 'cannot have happened' out || fail "all of it can have happened"
# Two of ten GPUs are of another scheduler: the same schedule, on as many as there are for jobs.
hand 500 0 100
cp out alone
printf 'cluster: {pools: {p: {nodes: 1, gpus: 10, foreign: {gpus: 2}}}}\nworkload: [{name: t, trace: hand.csv}]\npolicy: fifo\n' >beside.yaml
"$orrery" calibrate beside.yaml --no-progress >out 2>err || fail "calibrate beside another scheduler"
cmp -s out alone || fail "devices of another scheduler count: $(diff out alone)"
"$orrery" run beside.yaml --quiet --no-progress -o beside.db
"$orrery" export beside.db jobs --format swf | grep -q '^; MaxProcs: 8$' || fail "processors of another scheduler"
hand 150 0 100
grep -q '^1 record cannot have happened on this cluster: it began when the others held too much of its 8 GPUs, job c first, at 00:02:30; 16 were held at once at most$' out || fail "more was held than there is"
hand 500 0 5
grep -q '^1 record cannot have happened: a begin before the submit, or an end before the begin, job b first$' out || fail "a start before the submit"
grep -q 'job b first, at 00:00:05' out || fail "b began beside a"
printf 'job,submit_s,gpus,run_s,recorded_start_s\na,2026-03-01T08:00:00Z,8,100,2026-03-01T08:00:00Z\nb,2026-03-01T08:00:01Z,8,100,2026-03-01T08:00:05Z\n' >dated.csv
for json in '' --json; do
    "$orrery" calibrate --trace dated.csv --cluster 1x8 --policy fifo --no-progress $json >out || fail "calibrate with dates"
    grep -q 'job b first, at 2026-03-01T08:00:05Z; ' out || fail "of dates the first is a span: $json"
done
hand '' '' ''
grep -q '^occupancy: not known: ' out || fail "an occupancy of nothing"
grep -q 'occupancy not known$' out || fail "an occupancy of nothing in the sentence"
hand '' '' '' --json
grep -q '"occupancy_gap": null' out || fail "an occupancy of nothing in JSON"
printf 'calibrated\n'
