#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Periods of a job's own under kai: a preemption delay counts from the submit and from each eviction, and a gang's staleness
# grace goes before the policy's; a snapshot's are in the run that it becomes, and policies without them are named.
#   periods.sh ORRERY SOURCE_DIR
set -eu
orrery=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/scratch.sh"

# is FILE QUERY EXPECTED
is() {
    got=$(sqlite3 -separator ' ' "$1" "$2" | tr '\n' ';')
    [ "$got" = "$3" ] || fail "$1: $2: $got, not $3"
}

# b may take the place of one of lower priority from 40 s on; it loses it to c, and from 90 s on may take one of e.
cat >delay.yaml <<'Y'
cluster: {pools: {a: {nodes: 1, gpus: 1, labels: {p: a}}, b: {nodes: 1, gpus: 1, labels: {p: b}}}}
workload: [{name: t, trace: delay.csv}]
policy: kai
horizon: 200s
Y
cat >delay.csv <<'C'
job,submit_s,run_s,gpus_per_pod,priority,node_selector,preemption_delay_s
a,0,1000,1,50,p=a,
e,0,1000,1,50,p=b,
b,10,1000,1,60,,30
c,60,1000,1,75,p=b,
C
"$orrery" run delay.yaml -q --check-books 2>err || fail "$(cat err)"
evicted="SELECT j.name, e.at_ms / 1000 FROM eviction AS e JOIN job AS j ON j.id = e.job AND e.cause <> 'node failure'"
is delay.db "$evicted" "e 40;b 60;a 90;"
is delay.db "SELECT last_start_ms / 1000 FROM job WHERE name = 'b'" "91;"
"$orrery" run delay.yaml --policy fifo -o fifo.db >out 2>&1 || fail "$(cat out)"
grep -q 'the preemption delay or staleness grace that 1 job states: policy fifo does not look at it' out || fail "fifo says nothing: $(cat out)"

# Gangs that lost half of their pods: one goes by the policy's 5 s, one by its own, one by its template's, one for ever.
cat >stale.yaml <<'Y'
cluster: {pools: {a: {nodes: 1, gpus: 4, labels: {p: a}}, b: {nodes: 1, gpus: 4, labels: {p: b}}}}
templates:
  pair: {roles: {l: {gpus_per_pod: 1, node_selector: p=a}, r: {gpus_per_pod: 1, node_selector: p=b}}}
  patient: {staleness_grace: 40s, roles: {l: {gpus_per_pod: 1, node_selector: p=a}, r: {gpus_per_pod: 1, node_selector: p=b}}}
workload: [{name: t, trace: stale.csv}]
policy: {name: kai, params: {default_staleness_grace: 5s}}
events: [{at: 10s, fail: b-0001, for: 1h}]
horizon: 200s
Y
cat >stale.csv <<'C'
job,submit_s,run_s,staleness_grace_s,template
usual,0,1000,,pair
own,0,1000,20,pair
shared,0,1000,,patient
ever,0,1000,-1,pair
C
"$orrery" run stale.yaml -q --check-books 2>err || fail "$(cat err)"
is stale.db "$evicted" "usual 15;own 30;shared 50;"

# A snapshot's own periods are columns of the trace that it becomes, and the run goes by them.
cat >now.yaml <<'Y'
apiVersion: orrery/v1alpha1
kind: Snapshot
now: 2026-06-01T12:00:00Z
nodes: {n1: {gpus: 1}}
queues: {q: {gpu: [1, 1]}}
jobs:
  low: {queue: q, gpus: 1, nodes: [n1], age: 2m, started: 2m}
  high: {queue: q, gpus: 1, priority: 75, age: 1m, preemption_delay: 90s, staleness_grace: -1s}
Y
"$orrery" schedule now.yaml >out 2>err || fail "$(cat err)"
grep -q PreemptionDelayNotElapsed out || fail "schedule does not wait: $(cat out)"
"$orrery" import now.yaml -o made --remaining 2h -q 2>err || fail "$(cat err)"
head -1 made/jobs.csv | grep -q preemption_delay_s,staleness_grace_s || fail "$(cat made/jobs.csv)"
grep -q '^high,.*,90,-1,' made/jobs.csv || fail "$(cat made/jobs.csv)"
"$orrery" run made/scenario.yaml -o made/r.db -q --set horizon=10m 2>err || fail "$(cat err)"
is made/r.db "$evicted" "low 30;"
