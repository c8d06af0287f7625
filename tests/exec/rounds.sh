#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rounds.sh ORRERY NAME: runs in rounds against times worked out by hand.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run GPUS EXECUTION POLICY [MORE]: replays trace.csv, prints job@first start-end/evictions
run() {
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: $1}}}
workload: [{name: t, trace: trace.csv}]
execution: {$2}
policy: {$3}
${4:-}
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books
    "$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9 "/" $13; sep = " "} END {print line}'
}

expect() {
    [ "$got" = "$1" ] || { echo "expected: $1"; echo "got:      $got"; exit 1; }
}

case $2 in
boundaries)
    # b comes at 20 and could start at 160; it acts on it at 180. c waits for the end of a, at 160.
    printf 'job,submit_s,run_s,gpus,after\na,10,100,1,\nb,20,120,1,\nc,30,10,1,a\n' >trace.csv
    got=$(run 1 'round: 60s' 'name: fifo' 'expect: ["gang_wait_gpu_h > 0.0194", "gang_wait_gpu_h < 0.0195"]')
    expect 'a@60-160/0 b@180-300/0 c@300-310/0' # 20 s after a, 50 s after c: 70 GPU-s held for nothing
    # what is stored as held is what the books say: a to 180, c to 360
    [ "$(sqlite3 run.db 'SELECT group_concat(end_ms / 1000), sum(mgpu * (end_ms - start_ms)) FROM v_placements ORDER BY job')" = "300,180,360|300000000" ] ||
        { sqlite3 run.db 'SELECT * FROM v_placements'; exit 1; }
    "$orrery" audit run.db >audited || { cat audited; exit 1; }
    got=$(run 1 'round: 0s' 'name: fifo')
    [ "$(sqlite3 run.db 'SELECT count(*) FROM placement')" = 0 ] # as ever they are in the rows of the jobs
    expect 'a@10-110/0 b@110-230/0 c@230-240/0'
    # the run is cut at 165, when a is done and b still waits for the round
    got=$(run 1 'round: 60s' 'name: fifo' 'horizon: 155s')
    expect 'a@60-160/0 b@-/0 c@-/0'
    ;;
las)
    # a has had 200 GPU-s at 100: from 120 on b goes first; a is paused and back in its own time
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,300,2,1\nb,70,60,1,1\n' >trace.csv
    got=$(run 2 'restart: 30s, on_evict: keep' 'name: las, params: {threshold_gpu_s: 200}')
    expect 'a@0-390/1 b@120-180/0'
    got=$(run 2 'restart: 30s, on_evict: keep' 'name: las')
    expect 'a@0-300/0 b@300-360/0'
    # it keeps what paused jobs did unless something else is stated, and says so
    got=$(run 2 'restart: 30s' 'name: las, params: {threshold_gpu_s: 200}')
    expect 'a@0-390/1 b@120-180/0'
    "$orrery" run run.yaml -o run.db --force 2>said >/dev/null
    grep -q '^policy las: jobs that it pauses keep what they did' said || { cat said; exit 1; }
    got=$(run 2 'restart: 30s, checkpoint: 1h' 'name: las, params: {threshold_gpu_s: 200}')
    expect 'a@0-510/1 b@120-180/0'
    got=$(run 2 'startup: 20s, round: 100s, on_evict: lose' 'name: las, params: {threshold_gpu_s: 200}')
    expect 'a@0-500/1 b@100-180/0' # nothing was kept, and only the first start has a startup
    ;;
epochs)
    # one unit a second; an end within half a second of a round is done as the next one begins
    printf 'profile,placement,step_s\nx,1,1\ny,1,1\nz,1,1\n' >steps.csv
    printf 'profile,end,gain\nx,20.3,1\nx,60.5,1\ny,61.5,1\nz,10.6,1\nz,21,1\n' >epochs.csv
    profiles='profiles: {x: {kind: table, table: steps.csv, epochs: epochs.csv}, y: {kind: table, table: steps.csv, epochs: epochs.csv}, z: {kind: table, table: steps.csv, epochs: epochs.csv}}'
    printf 'job,submit_s,run_s,gpus,profile\nx,10,1,1,x\ny,20,1,1,y\nz,30,1,1,z\n' >trace.csv
    got=$(run 1 'round: 60s' 'name: fifo' "$profiles")
    # x: 20 s, then 40.2 s of which 40 are in its round; y: 60 s and 1.5 s, half to even; z: 11 s and 10 s
    expect 'x@60-120/0 y@180-242/0 z@300-321/0'
    ;;
*) echo "no run $2"; exit 1 ;;
esac
