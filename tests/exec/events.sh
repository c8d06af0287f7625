#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# events.sh ORRERY NAME: what a scenario lists for times of the run, against times worked out by hand.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

pools='p: {nodes: 2, gpus: 8}' execution='{grace: 30s}' policy=fifo expectations=
# run EVENTS: replays trace.csv; prints job@start-end/evictions of each.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$pools}}
workload: [{name: t, trace: trace.csv}]
policy: {name: $policy}
execution: $execution
events:
$1
expect: [$expectations]
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books
    "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9 "/" $13; sep = " "} END {print line}'
}
outages() { "$orrery" export run.db outage | awk -F, 'NR > 1 {line = line sep $1 ":" $2 / 1000 "-" ($3 == "" ? "" : $3 / 1000); sep = " "} END {print line}'; }
expect() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got:      $1"; exit 1; }; }

case $2 in
anew)
    # a has one GPU of four until 300; under kube three pods of g have the others, and wait for a fourth. Two of them
    # are on the second node, and gone with it; they come again when it does, and g starts with the last at 300.
    pools='p: {nodes: 2, gpus: 2}' policy=kube expectations='evictions == 0, partial_evictions == 1'
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,300,1,1\ng,10,100,4,1\n' >trace.csv
    expect "$(run '- {at: 100s, fail: n0002, for: 50s}')" "a@0-300/0 g@300-400/0"
    expect "$(sqlite3 run.db "SELECT group_concat(printf('%d:%d-%d', node, start_ms / 1000, end_ms / 1000), ' ') FROM (SELECT * FROM v_placements WHERE job = 1 ORDER BY start_ms, node)")" \
        "0:10-400 1:10-100 1:10-100 1:150-400 1:150-400 0:300-400"
    "$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
    # so it is by maintenance, at the end of the grace: then the fourth pod has no node either
    expect "$(run '- {at: 100s, maintain: n0002, for: 250s}')" "a@0-300/0 g@350-450/0"
    "$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
    # h comes later, and takes nothing of what g lost: nobody waits beside free GPUs
    printf 'h,20,10,1,1\n' >>trace.csv
    expect "$(run '- {at: 100s, fail: n0002, for: 50s}')" "a@0-300/0 g@300-400/0 h@400-410/0"
    # at the horizon g has part of its pods: it never started, and holds less than it asked
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,300,1,1\ng,10,100,4,1\n' >trace.csv
    sed -i '/^expect/d' run.yaml
    "$orrery" run run.yaml -o run.db --force -q --set horizon=200s
    "$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
    sqlite3 run.db "UPDATE placement SET mgpu = 9000 WHERE job = 1"
    ! "$orrery" audit run.db >audit.txt
    grep -q '^amount at .* job g holds .* and asked 4$' audit.txt || { cat audit.txt; exit 1; }
    ;;
parts)
    # a's part is 4 GPUs, and a1 has them. Its first node fails at 100; on the second it is in its grace until 130, and
    # still a's: a2 may not start beside it. At 130 a1 is first again, on the nodes that are left.
    pools='p: {nodes: 4, gpus: 2}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]'
    printf 'job,submit_s,run_s,pods,gpus_per_pod,queue\na1,0,1000,2,2,a\na2,10,50,2,2,a\n' >trace.csv
    policy=static
    expect "$(run '- {at: 100s, fail: n0001, for: 1000s}')" "a1@0-1130/1 a2@1130-1180/0"
    "$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
    grep -q '^part *[1-9]' audit.txt
    # one pod less fits beside what is in the grace
    sed -i 's/^a2,.*/a2,10,50,1,2,a/' trace.csv
    expect "$(run '- {at: 100s, fail: n0001, for: 1000s}')" "a1@0-1150/1 a2@100-150/0"
    # the audit counts so too
    sqlite3 run.db "UPDATE queue SET gpu_quota = 3"
    ! "$orrery" audit run.db >audit.txt
    grep -q 'queue a holds 4 GPUs, its part is 3' audit.txt || { cat audit.txt; exit 1; }
    # under kube a namespace's pods count until they are gone: beside a1's second there is room for a2 at 100, none for a3;
    # at 130 a1 has one pod again, and at the end of a2 the other
    policy='kube, params: {namespace_quota: quota}'
    printf 'a3,20,50,1,2,a\n' >>trace.csv
    expect "$(run '- {at: 100s, fail: n0001, for: 1000s}')" "a1@0-1150/1 a2@100-150/0 a3@1150-1200/0"
    # memory counts as what it is of the device: of a's 0.8 GPUs m1 has half a small one, and m2 but a quarter of a large
    # one is left; m3 waits for m1, and m4 would take 1.5 at least
    pools='s: {nodes: 1, gpus: 2, gpu_memory: 40Gi}, l: {nodes: 1, gpus: 2, gpu_memory: 80Gi}}}
queues: {a: {gpu: [0.8, 1, unlimited]}, b: {gpu: [3, 1, unlimited]'
    printf 'job,submit_s,run_s,pods,gpu_memory_mib,queue\nm1,0,100,1,20450,a\nm2,10,200,1,20450,a\nm3,20,10,1,20450,a\n' >trace.csv
    for policy in 'kube, params: {namespace_quota: quota}' static; do
        expect "$(run '- {at: 1000s, fail: s-0001, for: 1s}')" "m1@0-100/0 m2@10-210/0 m3@100-110/0"
        expect "$(sqlite3 run.db "SELECT group_concat(mgpu) FROM v_placements WHERE job < 2")" 500,250
        "$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
    done
    printf 'm4,30,10,6,20450,a\n' >>trace.csv
    run '- {at: 1000s, fail: s-0001, for: 1s}' >out
    expect "$(sqlite3 run.db "SELECT j.name, n.resource, n.asked, n.allowed FROM never AS n JOIN job AS j ON j.id = n.job")" "m4|gpu|1500|800"
    ;;
fail)
    # a is on the first node, which fails at 100 for 50 s: it loses all and starts again at 150 on no other
    # node, as b has the second. With a checkpoint a minute it has 60 of 200 s when it comes back.
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,200,1,8\nb,0,300,1,8\n' >trace.csv
    expect "$(run '- {at: 100s, fail: n0001, for: 50s}')" "a@0-350/1 b@0-300/0"
    expect "$(outages)" "0:100-150"
    execution='{checkpoint: 60s}'
    expect "$(run '- {at: 100s, fail: n0001, for: 50s}')" "a@0-290/1 b@0-300/0"
    # for good: a takes the node of b, and the run ends
    expect "$(run '- {at: 100s, fail: n0001}')" "a@0-440/1 b@0-300/0"
    expect "$(outages)" "0:100-"
    # two failures that overlap are one time without the node; b fails at its second checkpoint
    expect "$(run '- {at: 100s, fail: n0001, for: 50s}
- {at: 120s, fail: pool/p, for: 40s}')" "a@0-300/1 b@0-340/1"
    expect "$(outages)" "0:100-160 1:120-160"
    # days and clock, seconds too; at the instant of the end the job is done before the node fails
    expect "$(run '- {at: 0d 00:05, fail: n0002, for: 1h}')" "a@0-200/0 b@0-300/0"
    expect "$(run '- {at: 0d 00:04:59, fail: n0002, for: 1h}')" "a@0-200/0 b@0-359/1"
    ;;
maintain)
    # evicted at 100 with 30 s of grace: the node stands empty from 130 on
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,200,1,8\nb,0,300,1,8\n' >trace.csv
    expectations='"lost_gpu_h{cause=maintenance} > 0.2888", "lost_gpu_h{cause=maintenance} < 0.2889"'
    expect "$(run '- {at: 100s, maintain: n0001, for: 100s}')" "a@0-400/1 b@0-300/0"
    expect "$(outages)" "0:130-200"
    # with notice c does not start there after 40; it waits for b, and a ends in time
    expectations='evictions == 0'
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,90,1,4\nb,0,300,1,8\nc,50,10,1,4\n' >trace.csv
    expect "$(run '- {at: 100s, maintain: n0001, for: 250s, notice: 60s}')" "a@0-90/0 b@0-300/0 c@300-310/0"
    # c waits for the first node when the second has no room before
    expect "$(run '- {at: 100s, maintain: n0001, for: 100s, notice: 60s}')" "a@0-90/0 b@0-300/0 c@200-210/0"
    expect "$(outages)" "0:90-200"
    ;;
drain)
    # nothing starts there from 40 to 140; a goes on and outlives the window, c waits
    printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,200,1,4\nb,0,300,1,8\nc,50,10,1,4\n' >trace.csv
    expectations='evictions == 0'
    expect "$(run '- {at: 40s, drain: n0001, for: 100s}')" "a@0-200/0 b@0-300/0 c@140-150/0"
    expect "$(outages)" ""
    ;;
gangs)
    # a gang over both nodes of a rack, and one over two racks, under every policy: the first is gone
    # whole, the second loses a pod; under kai a gang may find another node within its grace of a minute
    pools='p: {nodes: 4, gpus: 8, rack_size: 2}' execution='{restart: 1m, checkpoint: 10m, grace: 30s}'
    printf 'job,submit_s,run_s,pods,gpus_per_pod\ng,0,20000,2,8\nh,0,20000,2,8\n' >trace.csv
    for policy in fifo easy static kube kai; do
        for deed in fail maintain drain; do
            expectations='unfinished == 0'
            events="- {at: 1h, $deed: rack/p-r1, for: 30m}
- {at: 4h, $deed: n0003, for: 30m}"
            # kube does not replace what a gang loses before it is complete
            [ $policy = kube ] || events="$events
- {at: 4h10m, $deed: pool/p, for: 10m}"
            got=$(run "$events")
            [ $deed != drain ] || expect "$got" "g@0-20000/0 h@0-20000/0"
        done
    done
    ;;
sharing)
    # fractions of devices and CPU that end while their node is closed are there again when it opens
    pools='p: {nodes: 1, gpus: 2, cpu: 8}' expectations='unfinished == 0'
    printf 'job,submit_s,run_s,pods,gpu_fraction,cpu_milli\na,0,100,1,0.5,2000\nb,0,30,1,0.5,2000\nc,0,50,1,0.25,2000\nd,60,10,1,0.75,8000\n' >trace.csv
    for policy in fifo kai; do
        run '- {at: 20s, drain: n0001, for: 200s}' >out
        grep -q '^a@0-100/0 b@0-30/0 c@0-50/0 d@220-230/0$' out || { cat out; exit 1; }
        expect "$(outages)" "0:100-220"
    done
    ;;
names)
    # racks and blocks of several pools, as ranges of nodes
    pools='a: {nodes: 6, gpus: 1, rack_size: 2, block_size: 4}, b: {nodes: 3, gpus: 1, rack_size: 2}'
    printf 'job,submit_s,run_s,pods,gpus_per_pod\nj,0,1000,1,1\n' >trace.csv
    for pair in a-0002=1 rack/a-r2=2,3 rack/a-b1-r2=2,3 rack/a-b2-r1=4,5 block/a-b2=4,5 rack/b-r2=8 \
        pool/b=6,7,8 b-0003=8; do
        run "- {at: 0s, fail: ${pair%%=*}, for: 1h}" >/dev/null
        expect "$("$orrery" export run.db outage | awk -F, 'NR > 1 {printf "%s%s", sep, $1; sep = ","}')" "${pair#*=}"
    done
    ;;
*) echo "no run $2"; exit 1 ;;
esac
