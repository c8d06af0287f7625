#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rates.sh ORRERY NAME: small runs whose rates follow from where jobs are and who is beside them.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run CLUSTER PROFILES EXECUTION POLICY [QUEUES]: replays trace.csv, prints job=end, ends in seconds.
run() {
    cat >run.yaml <<YAML
cluster: {$1}
workload: [{name: t, trace: trace.csv}]
profiles: {$2}
execution: {$3}
policy: {name: $4}
queues: {${5:-}}
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books
    "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "=" $9; sep = " "} END {print line}'
}

expect() {
    [ "$got" = "$1" ] || { echo "expected: $1"; echo "got:      $got"; exit 1; }
}

rates() { # of the last run, JOB:FROM:RATE/BEST@EXTENT
    "$orrery" export run.db v_rates |
        awk -F, 'NR > 1 {line = line sep $1 ":" $3 ":" $5 "/" $6 "@" $7; sep = " "} END {print line}'
}

column() { # NAME, of job_time of the last run: GPU-seconds of all jobs
    "$orrery" export run.db job_time |
        awk -F, -v name="$1" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i; next}
            {sum += $at} END {print sum / 1e6}'
}

end_of() { # JOB, of the last run
    echo "$got" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

ascending() { # NUMBERS: each larger than the one before
    echo "$*" | awk '{for (i = 2; i <= NF; i++) if ($i <= $(i - 1)) bad = 1} END {exit bad}' ||
        { echo "not ascending: $*"; exit 1; }
}

allreduce='m: {kind: allreduce, compute: {any: 1s}, bytes: 140GB, overlap: 0, reference: {placement: 8}}'
box='nodes: 8, gpus: 8, gpu_model: H100, nvlink_bandwidth: 450GB/s, nics: 8, nic_bandwidth: 50GB/s'

case $2 in
elastic_speedup)
    # x leaves one GPU of four until 40: e1 does 10 s of its work there, then 90 at full speed
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,min_pods,gpus_per_pod,profile
x,0,40,1,,3,
e1,0,100,4,1,1,amdahl
CSV
    got=$(run 'pools: {p: {nodes: 1, gpus: 4}}' 'amdahl: {kind: speedup, speedup: {1: 1, 2: 2, 4: 4}}' '' kai)
    expect "x=40 e1=130"
    ;;
time_sliced)
    # both use 0.8 of their GPU: together each gets 1 / 1.6 of it. a: 50 s alone, 50 at 0.625; b the
    # other way round
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpu_fraction,busy
a,0,100,1,0.5,0.8
b,50,100,1,0.5,0.8
CSV
    got=$(run 'pools: {p: {nodes: 1, gpus: 1}}' '' 'sharing: time_sliced' fifo)
    expect "a=130 b=180"
    got=$(run 'pools: {p: {nodes: 1, gpus: 1}}' '' '' fifo)
    expect "a=100 b=150"
    ;;
epochs)
    # the first epoch goes 4 times, the second (of which half the steps synchronise) 10 / 3 times as
    # fast on a new GPU as on an old one: 20 s and 30 s there, 80 s and 100 s here
    printf 'profile,gpu_model,placement,step_s,sync_s\nx,new,1,1,0.5\nx,old,1,4,3\n' >steps.csv
    printf 'profile,end,gain,accumulation\nx,20,1,0\nx,80,3,1\n' >epochs.csv
    printf 'job,submit_s,run_s,gpus_per_pod,profile,gpu_model\na,0,1,1,x,new\nb,0,1,1,x,old\n' >trace.csv
    pools='pools: {n: {nodes: 1, gpus: 1, gpu_model: new}, o: {nodes: 1, gpus: 1, gpu_model: old}}'
    profiles='x: {kind: table, table: steps.csv, epochs: epochs.csv, reference: {gpu_model: new, placement: 1}}'
    got=$(run "$pools" "$profiles" '' fifo)
    expect "a=50 b=180"
    # checkpoints at 15, 30 and 45 s of work, across the epochs
    got=$(run "$pools" "$profiles" 'checkpoint: 15s, checkpoint_cost: 2s' fifo)
    expect "a=56 b=186"
    # half of the device from 10 to 110: 10 s alone, 20 of what is left at half speed, ...
    printf 'job,submit_s,run_s,gpu_fraction,profile,busy\na,0,1,0.5,x,1\nc,10,50,0.5,,1\n' >trace.csv
    got=$(run 'pools: {n: {nodes: 1, gpus: 1, gpu_model: new}}' "$profiles" 'sharing: time_sliced' fifo)
    expect "a=90 c=100" # a: 10 + 40 x 2; c: 40 x 2 there, then 10 alone
    ;;
epochs_evicted)
    # b takes the GPU at 60 (from the next cycle on): a has just written its checkpoint at 45 of 50 s
    # of work, after 15 s of checkpoints, and goes on from there
    printf 'profile,placement,step_s\nx,1,1\n' >steps.csv
    printf 'profile,end,gain\nx,20,1\nx,80,2\n' >epochs.csv
    printf 'job,submit_s,run_s,gpus_per_pod,profile,kind,queue\na,0,1,1,x,training,q\nb,60,10,1,,inference,q\n' >trace.csv
    got=$(run 'pools: {n: {nodes: 1, gpus: 1}}' 'x: {kind: table, table: steps.csv, epochs: epochs.csv, reference: {placement: 1}}' \
        'checkpoint: 15s, checkpoint_cost: 5s, restart: 3s' kai 'q: {gpu: [1, 1, unlimited]}')
    expect "a=79 b=71"
    ;;
goodput)
    # two GPUs apart are half as fast: of 2 x 200 GPU-s half; a session at 0.25 uses 100 of 400;
    # the lone job wastes none: (200 + 100 + 400) / (400 + 400 + 400)
    printf 'profile,placement,step_s\nx,2,1\nx,1-1,2\n' >steps.csv
    printf 'job,submit_s,run_s,pods,gpus_per_pod,profile,kind,busy\nt,0,100,2,1,x,training,\ns,0,400,1,1,,interactive,0.25\nu,0,400,1,1,,training,\nend,400,1,1,1,,training,\n' >trace.csv
    got=$(run 'pools: {p: {nodes: 2, gpus: 2}}' 'x: {kind: table, table: steps.csv}' '' kube)
    expect "t=200 s=400 u=400 end=401"
    got=$(rates)
    expect "t:0:0.5/1@cluster"
    [ "$(column slow) $(column idle)" = "200 300" ] || { echo "slow, idle: $(column slow) $(column idle)"; exit 1; }
    ;;
aligned)
    # the same four GPUs of a box with two NVLink islands, side by side and split two and two
    island='nodes: 1, gpus: 8, gpu_model: H100, nvlink_domain: 4, nvlink_bandwidth: 450GB/s, pcie_bandwidth: 32GB/s'
    cat >trace.csv <<CSV
job,submit_s,run_s,gpus_per_pod,profile
g,0,1000,4,m
CSV
    fourfold="m: {kind: allreduce, compute: {any: 1s}, bytes: 14GB, overlap: 0, reference: {placement: 4}}"
    got=$(run "pools: {p: {$island}}" "$fourfold" '' fifo)
    aligned=$(end_of g)
    rates | grep -q '@nvlink$' || { rates; exit 1; }
    cat >trace.csv <<CSV
job,submit_s,run_s,gpus_per_pod,profile
a,0,5000,2,
b,0,1,2,
c,0,5000,2,
g,2,1000,4,m
CSV
    got=$(run "pools: {p: {$island}}" "$fourfold" '' fifo)
    rates | grep -q '@node$' || { rates; exit 1; }
    ascending "$aligned" "$(end_of g)"
    ;;
misaligned)
    # a2 gets devices 3 to 5, of two zones, though one would do; a3 gets two of one zone
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,profile
a1,0,100,1,3,
a2,0,200,1,3,m
a3,0,10,1,2,m
CSV
    got=$(run 'pools: {p: {nodes: 1, gpus: 8, numa_zones: 2}}' 'm: {kind: fixed, misaligned: 0.5}' '' fifo)
    expect "a1=100 a2=400 a3=10"
    ;;
aligned_or_split)
    # n1 holds devices 0 and 1. By lowest index j gets 2 to 5, half of each zone, and works at 0.8; by
    # NUMA zone, or by NVLink domain where those are the zones, it gets 4 to 7
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,profile
n1,0,500,1,2,
j,1,100,1,4,m
k,2,10,1,2,m
CSV
    devices() { sqlite3 run.db "SELECT group_concat(devices, ' ') FROM job"; }
    node='nodes: 1, gpus: 8, numa_zones: 2'
    m='m: {kind: fixed, misaligned: 0.8}'
    for policy in fifo kube kai; do
        got=$(run "pools: {p: {$node, device_choice: lowest}}" "$m" '' $policy)
        expect "n1=500 j=126 k=12"
        [ "$(devices)" = '3 60 192' ] || { echo "lowest: $(devices)"; exit 1; }
        got=$(run "pools: {p: {$node, device_choice: numa}}" "$m" '' $policy)
        expect "n1=500 j=101 k=12"
        [ "$(devices)" = '3 240 12' ] || { echo "numa: $(devices)"; exit 1; }
        got=$(run "pools: {p: {$node, nvlink_domain: 4}}" "$m" '' $policy)
        expect "n1=500 j=101 k=12"
        got=$(run "pools: {p: {$node}}" "$m" '' $policy) # one domain: the same as lowest
        expect "n1=500 j=126 k=12"
    done
    # a path changes it, and the resolved scenario says it
    "$orrery" run run.yaml -o run.db --force -q --set 'cluster.pools.*.device_choice=numa'
    [ "$(devices)" = '3 240 12' ] || { echo "set: $(devices)"; exit 1; }
    if "$orrery" run run.yaml -o run.db --force -q --set cluster.pools.p.device_choice=numa \
        --set cluster.pools.p.numa_zones=1 2>said; then exit 1; fi
    grep -q 'device_choice: numa needs numa_zones of at least 2' said || { cat said; exit 1; }
    "$orrery" show --resolved run.yaml | grep -q 'device_choice  *= nvlink' || { echo "not shown"; exit 1; }
    ;;
spans)
    # 8 GPUs are the reference; 64 on one NVLink rack, on boxes of one rack, across racks of slow uplinks
    printf 'job,submit_s,run_s,pods,gpus_per_pod,profile\ng,0,1000,1,8,m\n' >trace.csv
    got=$(run "pools: {p: {$box, rack_size: 8}}" "$allreduce" '' fifo)
    expect "g=1000"
    printf 'job,submit_s,run_s,pods,gpus_per_pod,profile\ng,0,1000,8,8,m\n' >trace.csv
    got=$(run "pools: {p: {$box, rack_size: 8}}" "$allreduce" '' fifo)
    boxes=$(end_of g)
    got=$(run "pools: {p: {$box, rack_size: 4, block_size: 8}}, topology: {block: {uplink: 100GB/s, oversubscription: 4}}" \
        "$allreduce" '' fifo)
    racks=$(end_of g)
    printf 'job,submit_s,run_s,pods,gpus_per_pod,profile\ng,0,1000,16,4,m\n' >trace.csv
    got=$(run "pools: {p: {nodes: 18, gpus: 4, gpu_model: H100, nvlink_domain: 72, nvlink_bandwidth: 450GB/s, nics: 4, nic_bandwidth: 50GB/s, rack_size: 18}}" \
        "$allreduce" '' fifo)
    rack=$(end_of g)
    ascending "$rack" "$boxes" "$racks"
    ;;
contention)
    # two gangs over three nodes of one NIC each meet in the middle one
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,profile
g1,0,1000,3,4,m
g2,0,1000,3,4,m
CSV
    pool='pools: {p: {nodes: 3, gpus: 8, gpu_model: H100, nvlink_bandwidth: 450GB/s, nics: 1, nic_bandwidth: 50GB/s}}'
    got=$(run "$pool" "$allreduce" 'contention: false' fifo)
    alone=$(end_of g1)
    expect "g1=$alone g2=$alone"
    got=$(run "$pool" "$allreduce" '' fifo)
    both=$(end_of g1)
    expect "g1=$both g2=$both"
    # when g2 ends early g1 is alone again; who comes later finds it shared
    sed 's/^g2,0,1000/g2,500,100/' trace.csv >short.csv && mv short.csv trace.csv
    got=$(run "$pool" "$allreduce" '' fifo)
    ascending "$alone" "$(end_of g1)" "$both"
    ;;
no_such_profile)
    printf 'job,submit_s,run_s,pods,gpus_per_pod,profile\nf,0,10,1,1,\ng,0,10,1,1,x\n' >trace.csv
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 1}}}\nworkload: [{name: t, trace: trace.csv}]\n' >run.yaml
    "$orrery" run run.yaml --allow-loss 2>err.txt >out.txt
    grep -q 'job g: the scenario has no profile x' err.txt || { cat err.txt; exit 1; }
    ;;
*) echo "no run $2"; exit 1 ;;
esac
