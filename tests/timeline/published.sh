#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# published.sh ORRERY: rows of KAI's published scale figures, run whole: all pods bound within 25 % of what
# was measured.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

run() { # replays trace.csv on 500 nodes of 8 GPUs
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 500, gpus: 8}}}
queues: {a: {gpu: [4000, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai, latency: kai-500}
YAML
    "$orrery" run run.yaml -o run.db --force -q
}
header=job,submit_s,run_s,pods,gpus_per_pod,queue
bound_within() { # PUBLISHED-MS: from the submit until the last g works
    sqlite3 run.db "SELECT max(end_ms - submit_ms - work_ms) BETWEEN 0.75 * $1 AND 1.25 * $1 FROM job WHERE name GLOB 'g*'"
}
printf '%s\ng,0,100,512,1,a\n' $header >trace.csv
run
[ "$(bound_within 49427)" = 1 ]
{ echo $header; seq -f 'g%g,0,1000,1,1,a' 4000; } >trace.csv
run
[ "$(bound_within 397771)" = 1 ]
{ echo $header; seq -f 'f%g,0,100000,1,8,b' 500; echo g,10000,100,500,8,a; } >trace.csv
run
[ "$(bound_within 85000)" = 1 ]
{ echo $header; seq -f 'f%g,0,100000,1,1,b' 4000; echo g,10000,100,250,8,a; } >trace.csv
run
[ "$(bound_within 102000)" = 1 ]
{ echo $header; seq -f 'f%g,0,100000,1,1,b' 4000; echo g,10000,100,1,1,a; } >trace.csv
run
[ "$(bound_within 13928)" = 1 ]
