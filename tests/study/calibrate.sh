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
sed -i 's/nodes: 240/nodes: 241/' swf.yaml
"$orrery" whatif swf.yaml --set cluster.pools.all.nodes=250 --no-progress >out
grep -q '^calibrated before the scenario was changed' out || fail "the change is not seen"
code=0
"$orrery" calibrate "$source/scenarios/whatif/gang/gang.yaml" --quiet --no-progress >out 2>&1 || code=$?
{ [ "$code" = 65 ] && grep -q 'recorded no start' out; } || fail "nothing is a record"
printf 'calibrated\n'
