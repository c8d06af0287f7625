#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A process of a study that somebody kills (SIGKILL) is started again: what comes out is what comes out of a study that
# nothing disturbs, and a line says that it happened.
#
#   killed.sh ORRERY WORK_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

mkdir tmp
export TMPDIR="$PWD/tmp"
awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod"
    for (i = 0; i < 8000; i++) print "j" i "," i * 20 "," 100 + i * 37 % 3000 ",1," 1 + i * 7 % 8 }' >trace.csv
cat >s.yaml <<'YAML'
cluster: {pools: {p: {nodes: 40, gpus: 8}}}
workload: [{name: w, trace: trace.csv, copies: 4}]
policy: fifo
shake: {submit: 30s, run: 0.01}
YAML
cat >exp.yaml <<'YAML'
kind: Sweep
base: s.yaml
axes: {size: {cluster.pools.p.nodes: [40, 44, 48]}}
YAML

# The last child is a run; an earlier one may look after a folder. It is stopped first: one that has ended is not.
torn() { # COMMAND...: two of its processes are killed; its output is in torn.out
    "$orrery" "$@" >torn.out 2>torn.err &
    victim=$! kills=0
    while [ $kills -lt 2 ] && kill -0 "$victim" 2>killed; do
        child=$(pgrep -P "$victim" | sort -n | tail -1)
        if [ "$(pgrep -P "$victim" | wc -l)" -ge 2 ] && kill -STOP "$child" 2>killed; then
            if [ "$(ps -o stat= -p "$child" | cut -c1)" = T ]; then
                kill -9 "$child"
                kills=$((kills + 1))
            else # not yet, or it has ended
                kill -CONT "$child" 2>killed || true
            fi
        fi
    done
    [ $kills -gt 0 ] || fail "no process was killed: orrery $*"
    code=0
    wait "$victim" || code=$?
    [ "$code" -le 1 ] || fail "exit $code after two processes were killed: orrery $*: $(cat torn.err)"
    grep -q 'a run was killed (SIGKILL' torn.err || fail "nobody says that a run was killed: orrery $*: $(cat torn.err)"
}
calm() { # COMMAND...
    code=0
    "$orrery" "$@" >calm.out 2>calm.err || code=$?
    [ "$code" -le 1 ] || fail "exit $code: orrery $*: $(cat calm.err)"
    ! grep -q 'was killed' calm.err || fail "a run is killed that nobody killed: orrery $*"
}
same() { # COMMAND...: of one that prints its answer
    calm "$@"
    torn "$@"
    cmp calm.out torn.out || fail "killed processes change the answer: orrery $*"
}
same whatif s.yaml --set cluster.pools.p.nodes+=4 --seeds 2 -j 2 --json --no-progress
same capacity s.yaml --vary cluster.pools.p.nodes=36..48:4 --objective 'wait_p95_s <= 1d' --replicas 2 -j 2 --json --no-progress

calm run s.yaml --replicas 4 -j 2 -o calm.db -q --no-progress
torn run s.yaml --replicas 4 -j 2 -o torn.db -q --no-progress
cmp calm.db torn.db || fail "killed replicas change the file"

for how in calm torn; do
    calm sweep plan exp.yaml -o "$how.sweep"
    $how sweep run "$how.sweep" -j 2 --no-progress
    calm sweep merge "$how.sweep" -o "$how-merged.db"
done
cmp calm-merged.db torn-merged.db || fail "killed points change the merged file"

# The program alone is killed: its processes bring their runs to an end.
"$orrery" sweep plan exp.yaml -o alone -q
"$orrery" sweep run alone -j 2 -q --no-progress 2>alone.err &
victim=$! tries=0
while [ "$(pgrep -P "$victim" | wc -l)" -lt 2 ]; do :; done
kill -9 "$victim"
wait "$victim" 2>killed || true
until [ "$(find alone/points -name '*.db' | wc -l)" -eq 2 ]; do
    sleep 0.2
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "results are lost with the program that started the runs: $(ls alone/points)"
done
[ -z "$(ls -A tmp)" ] || fail "left in the temporary folder: $(ls tmp)"
