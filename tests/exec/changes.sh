#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# changes.sh ORRERY SOURCE_DIR NAME: what events set while a run goes on, against times worked out by hand.
# Every run's books are checked, its schedule is audited, and its metrics are made again by SQL.
set -eu
orrery=$1 source=$2
. "$(dirname "$0")/../scratch.sh"

pools='p: {nodes: 2, gpus: 4}' queues= policy=kai execution='{}' rules=
# run EVENTS: replays trace.csv; prints job@start-end/evictions of each.
run() {
    cat >run.yaml <<YAML
cluster: {pools: {$pools}}
queues: {$queues}
workload: [{name: t, trace: trace.csv}]
policy: $policy
execution: $execution
events:
$1
YAML
    "$orrery" run run.yaml -o run.db --force -q --check-books >said 2>&1 || { cat said >&2; exit 1; }
    "$orrery" audit $rules run.db >said 2>&1 || { cat said >&2; exit 1; }
    sqlite3 -bail -readonly run.db <"$source/tests/metrics/recompute.sql" >said 2>&1 || { cat said >&2; exit 1; }
    grep -q ' compared, 0 differ$' said || { cat said >&2; exit 1; }
    "$orrery" export run.db jobs | awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9 "/" $13; sep = " "} END {print line}'
}
outs() { sql "SELECT group_concat(node || ':' || (from_ms / 1000) || '-' || coalesce(to_ms / 1000, ''), ' ') FROM $1"; }
sql() { sqlite3 -readonly run.db "$1"; }
expect() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got:      $1"; exit 1; }; }
# trace ROW...: rows of job,submit_s,run_s,pods,gpus_per_pod,queue
trace() { echo job,submit_s,run_s,pods,gpus_per_pod,queue >trace.csv; printf '%s\n' "$@" >>trace.csv; }

case $3 in
quota)
    # a holds all 8 GPUs by right until 100; then half of them is b's, which takes it in that cycle. The
    # youngest of a goes, without a grace, and b starts at the next second. At 1000 a is below its quota.
    queues='a: {gpu: [8, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}'
    trace a1,0,1000,1,4,a a2,1,1000,1,4,a b1,10,1000,1,4,b last,300,1,1,4,b
    expect "$(run '- {at: 100s, set: {queues.a.gpu.quota: 4, queues.b.gpu.quota: +=4}}')" \
        "a1@0-1000/0 a2@1-2000/1 b1@101-1101/0 last@1101-1102/0"
    expect "$(sql "SELECT group_concat(queue || ':' || (from_ms / 1000) || '-' || coalesce(to_ms / 1000, '') || ':' || gpu_quota, ' ') FROM v_owed")" \
        "0:0-100:8.0 0:100-:4.0 1:0-100:0.0 1:100-:4.0"
    # b is owed 4 of the 4 it asks for from 100 to 101, when it gets them: 4 GPU-s of debt; before it
    # was owed nothing. From 101 to 300 a has what is left of its own: no debt either.
    expect "$(sql "SELECT printf('%.6f', value * 3600) FROM metric WHERE name = 'quota_debt_gpu_h' AND scope = 'all'")" 4.000000
    # the same, written as maps; a path of the command line changes what is set
    expect "$(run '- at: 100s
  set: {queues: {a: {gpu: {quota: 4}}, b: {gpu: {quota: 4}}}}')" "a1@0-1000/0 a2@1-2000/1 b1@101-1101/0 last@1101-1102/0"
    "$orrery" run run.yaml -o set.db -q --set events.1.set.queues.b.gpu.quota=1
    expect "$(sqlite3 set.db 'SELECT count(*) FROM eviction')" 0
    # += starts from what holds then, whatever the order of the list; of one instant the last counts
    run '- {at: 200s, set: {queues.*.gpu.quota: "*=2"}}
- {at: 100s, set: {queues.a.gpu.quota: -=5, queues.b.gpu.weight: 3}}
- {at: 200s, set: {queues.b.gpu.quota: 2, queues.b.priority: 7}}' >/dev/null
    expect "$(sql "SELECT group_concat(queue || '@' || (at_ms / 1000) || ':' || gpu_quota || ',' || gpu_weight || ',' || priority, ' ') FROM queue_change")" \
        "0@100:3.0,1.0,100 1@100:0.0,3.0,100 0@200:6.0,1.0,100 1@200:2.0,3.0,7"
    ;;
static)
    # b has no part and waits for ever, until it gets one; a may not start its third beside its second
    policy=static queues='a: {gpu: [8, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}'
    trace a1,0,1000,1,4,a a2,1,1000,1,4,a b1,10,1000,1,4,b a3,20,1000,1,4,a
    expect "$(run '- {at: 100s, set: {queues.a.gpu.quota: 4, queues.b.gpu.quota: 4}}')" \
        "a1@0-1000/0 a2@1-1001/0 b1@1000-2000/0 a3@1001-2001/0"
    expect "$(sql "SELECT group_concat(w.code || '@' || (at_ms / 1000), ' ') FROM reason_change AS r JOIN reason AS w ON w.id = r.reason WHERE job = 2")" \
        "never@10 no-capacity@100"
    # a part that shrinks below the first in line: it blocks nobody, and starts when there is room again
    policy='{name: static, params: {backfill: false}}' queues='a: {gpu: [8, 1, unlimited]}'
    trace a1,0,100,1,4,a big,1,100,2,4,a a3,2,100,1,4,a
    expect "$(run '- {at: 50s, set: {queues.a.gpu.quota: 4}}
- {at: 300s, set: {queues.a.gpu.quota: 8}}')" "a1@0-100/0 big@300-400/0 a3@100-200/0"
    # an unlimited part is the cluster
    expect "$(run '- {at: 50s, set: {queues.a.gpu.quota: 4}}
- {at: 60s, set: {queues.a.gpu.quota: unlimited}}')" "a1@0-100/0 big@100-200/0 a3@200-300/0"
    ;;
limit)
    # raised: who waits for nothing else starts at once; arrivals of the instant are there already
    queues='a: {gpu: [0, 1, 4]}'
    trace a1,0,1000,1,4,a a2,100,1000,1,4,a
    for policy in kai kube; do
        expect "$(run '- {at: 100s, set: {queues.a.gpu.limit: 8}}')" "a1@0-1000/0 a2@100-1100/0"
        expect "$(run '- {at: 110s, set: {queues.a.gpu.limit: unlimited}}')" "a1@0-1000/0 a2@110-1110/0"
    done
    # lowered: who runs goes on, but nothing starts beside
    queues='a: {gpu: [0, 1, unlimited]}'
    trace a1,0,1000,1,4,a a2,1,1000,1,4,a a3,200,10,1,4,a
    for policy in kai kube; do
        expect "$(run '- {at: 100s, set: {queues.a.gpu.limit: 4}}')" "a1@0-1000/0 a2@1-1001/0 a3@1001-1011/0"
    done
    # none for a while, of a parent too: the run waits for the end of that, and not for what comes after
    policy=kai queues='top: {gpu: [8, 1, unlimited]}, a: {parent: top, gpu: [8, 1, unlimited]}'
    trace a1,10,100,1,4,a
    expect "$(run '- {at: 0s, set: {queues.top.gpu.limit: 0}}
- {at: 5000s, set: {queues.top.gpu.limit: 4}}
- {at: 6000s, set: {queues.top.gpu.limit: 0}}')" "a1@5000-5100/0"
    expect "$(sql "SELECT count(*) || ' ' || (SELECT end_ms / 1000 FROM run) FROM queue_change")" "2 5100"
    # a limit of CPU
    pools='p: {nodes: 2, gpus: 4, cpu: 8}' queues='a: {gpu: [0, 1, unlimited], cpu: {limit: 4}}'
    printf 'job,submit_s,run_s,pods,gpus_per_pod,queue,cpu_milli\na1,0,1000,1,4,a,4000\na2,1,1000,1,4,a,4000\n' >trace.csv
    expect "$(run '- {at: 100s, set: {queues.a.cpu.limit: 8}}')" "a1@0-1000/0 a2@100-1100/0"
    ;;
order)
    # both over quota 0 behind c, which is within its own: the older queue is first, unless b's priority is higher
    pools='p: {nodes: 1, gpus: 4}' queues='c: {gpu: [4, 1, unlimited]}, a: {gpu: [0, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}'
    trace c1,0,1000,1,4,c a1,1,100,1,4,a b1,2,100,1,4,b
    expect "$(run '- {at: 100s, set: {queues.b.gpu.weight: 1}}')" "c1@0-1000/0 a1@1000-1100/0 b1@1100-1200/0"
    expect "$(sql 'SELECT count(*) FROM queue_change')" 0 # it was so before
    expect "$(run '- {at: 100s, set: {queues.b.priority: 101}}')" "c1@0-1000/0 a1@1100-1200/0 b1@1000-1100/0"
    # of a shard: the other's queue is none of its business
    pools='p: {nodes: 1, gpus: 4, shard: x}, q: {nodes: 1, gpus: 4, shard: y}'
    queues='a: {shard: x, gpu: [0, 1, 0]}, b: {shard: y, gpu: [0, 1, 0]}'
    trace a1,0,100,1,4,a b1,0,100,1,4,b
    for policy in kai '[{name: kai, shard: x}, {name: kube, shard: y}]'; do
        expect "$(run '- {at: 10s, set: {queues.a.gpu.limit: 4}}
- {at: 20s, set: {queues.b.gpu.limit: 4}}')" "a1@10-110/0 b1@20-120/0"
    done
    ;;
rounds)
    # what an event changes is acted on when the round begins
    execution='{round: 60s}' queues='a: {gpu: [0, 1, 4]}'
    trace a1,0,960,1,4,a a2,1,960,1,4,a
    expect "$(run '- {at: 100s, set: {queues.a.gpu.limit: 8}}')" "a1@0-960/0 a2@120-1080/0"
    ;;
grow)
    # a third node from 100 on, where c starts; then a fourth of another pool, and less again
    queues='q: {gpu: [0, 1, unlimited]}'
    trace a,0,1000,1,4,q b,0,1000,1,4,q c,1,50,1,4,q d,400,10,1,4,q
    for policy in fifo easy static kube kai las; do
        [ $policy != las ] || execution='{round: 1s}'
        # (a job of las holds its devices until its round ends: the times here are whole seconds)
        expect "$(run '- {at: 100s, set: {cluster.pools.p.nodes: 3}}')" "a@0-1000/0 b@0-1000/0 c@100-150/0 d@400-410/0"
        expect "$(outs away)" "2:0-100"
        expect "$(outs outage)" ""
    done
    execution='{}' policy=kai
    # there are 8 GPUs for 100 s and 12 for 300: GPU-hours of the window, of which a and b held 8
    expect "$(sql "SELECT group_concat(printf('%.4f', value), ' ') FROM metric WHERE name IN ('capacity_gpu_h', 'gpu_available', 'gpu_occupancy') ORDER BY rowid")" \
        "$(awk 'BEGIN {printf "%.4f %.4f %.4f", (8 * 100 + 12 * 300) / 3600, 1, (8 * 400 + 4 * 50) / (8 * 100 + 12 * 300)}')"
    expect "$(sql "SELECT group_concat((at_ms / 1000) || ':' || gpus || '/' || gpus_up, ' ') FROM v_capacity")" "0:8/8 100:12/12"
    # += of what there is then; nodes that come and go again
    pools='p: {nodes: 2, gpus: 4}, z: {nodes: 1, gpus: 1}'
    run '- {at: 100s, set: {cluster.pools.*.nodes: +=1}}
- {at: 200s, set: {cluster.pools.p.nodes: -=1}}
- {at: 300s, set: {cluster.pools.p.nodes: 4, cluster.pools.z.nodes: 0}}' >/dev/null
    expect "$(outs away)" "2:0-100 3:0-300 5:0-100 2:200-300 4:300- 5:300-"
    expect "$(sql "SELECT capacity_mgpu FROM run")" 18000
    ;;
shrink)
    # the second node goes at 100, with what runs there, by its grace of 30 s; the pool has no more then
    queues='q: {gpu: [0, 1, unlimited]}' execution='{grace: 30s}'
    trace a,0,200,1,4,q b,0,300,1,4,q
    expect "$(run '- {at: 100s, set: {cluster.pools.p.nodes: 1}}')" "a@0-200/0 b@0-500/1"
    expect "$(outs away)" "1:130-"
    expect "$(sql 'SELECT cause FROM eviction')" maintenance
    # at once; or when b is done; or with an hour's notice, in which nothing starts there
    expect "$(run '- {at: 100s, set: {cluster.pools.p.nodes: 1}, taken: fail}')" "a@0-200/0 b@0-500/1"
    expect "$(outs away)" "1:100-"
    expect "$(run '- {at: 100s, set: {cluster.pools.p.nodes: 1}, taken: drain}')" "a@0-200/0 b@0-300/0"
    expect "$(outs away)" "1:300-"
    trace a,0,900,1,4,q b,0,300,1,4,q c,400,10,1,4,q
    expect "$(run '- {at: 600s, set: {cluster.pools.p.nodes: 1}, notice: 250s}')" "a@0-900/0 b@0-300/0 c@900-910/0"
    expect "$(outs outage)" "1:350-600" # closed and empty, but still there
    expect "$(outs away)" "1:600-"
    # it comes back before it was empty: it was never gone, and takes c at once
    trace a,0,900,1,4,q b,0,300,1,2,q c,150,10,1,2,q
    expect "$(run '- {at: 100s, set: {cluster.pools.p.nodes: 1}, taken: drain}
- {at: 200s, set: {cluster.pools.p.nodes: 2}}')" "a@0-900/0 b@0-300/0 c@200-210/0"
    expect "$(outs away)" ""
    ;;
gangs)
    # a gang that loses half of itself, under every policy; a failure of a node that is away is none, one
    # that outlives the absence is; and a node that is down when it is taken is away from then on
    pools='p: {nodes: 4, gpus: 8, rack_size: 2}' queues='q: {gpu: [0, 1, unlimited]}'
    execution='{restart: 1m, checkpoint: 10m, grace: 30s}'
    trace g,0,20000,2,8,q h,0,20000,2,8,q
    for policy in fifo easy static kube kai; do
        for deed in fail maintain drain; do
            got=$(run "- {at: 1h, set: {cluster.pools.p.nodes: 3}, taken: $deed}
- {at: 2h, set: {cluster.pools.p.nodes: 4}}
- {at: 4h, set: {cluster.pools.p.nodes: 0}, taken: $deed}
- {at: 5h, set: {cluster.pools.p.nodes: 5}}")
            [ $deed != drain ] || expect "$got" "g@0-20000/0 h@0-20000/0"
            expect "$(sql 'SELECT count(*) FROM job WHERE state <> 3')" 0
        done
    done
    trace g,0,20000,1,8,q
    policy=fifo
    run '- {at: 1000s, set: {cluster.pools.p.nodes: 3}}
- {at: 2000s, fail: n0004, for: 1000s}
- {at: 4000s, fail: n0004, for: 2000s}
- {at: 5000s, set: {cluster.pools.p.nodes: 4}}
- {at: 7000s, fail: n0004, for: 1000s}
- {at: 7500s, set: {cluster.pools.p.nodes: 3}}
- {at: 9000s, set: {cluster.pools.p.nodes: 4}}' >/dev/null
    expect "$(outs away)" "3:1000-5000 3:7500-9000"
    expect "$(outs outage)" "3:5000-6000 3:7000-7500"
    ;;
many)
    # a random workload on three policies under changes of everything, every half an hour
    pools='p: {nodes: 6, gpus: 4}' execution='{checkpoint: 60s, restart: 5s}'
    queues='r: {gpu: [20, 1, unlimited]}, a: {parent: r, gpu: [8, 1, 12]}, b: {parent: r, gpu: [8, 1, unlimited]}, c: {gpu: [4, 2, 12]}'
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,gpus_per_pod,queue,kind"
        seed = 5
        for (i = 0; i < 300; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
            t += x % 60
            printf "j%d,%d,%d,%d,%d,%s,%s\n", i, t, 20 + x % 900, 1 + x % 5, 1 + x % 2,
                substr("abc", 1 + int(x / 7) % 3, 1), x % 4 == 0 ? "inference" : "training"
        }
    }' >trace.csv
    for policy in kai static easy; do
        run '- {at: 30m, set: {queues.a.gpu.quota: 2, queues.a.gpu.limit: 4, queues.c.gpu.quota: 10}}
- {at: 60m, set: {queues.r.gpu.limit: 12, queues.c.gpu.limit: unlimited}}
- {at: 90m, set: {queues.*.gpu.limit: unlimited, queues.*.gpu.quota: 6, queues.b.gpu.weight: 5}}
- {at: 100m, set: {cluster.pools.p.nodes: 4}, taken: fail}
- {at: 110m, set: {cluster.pools.p.nodes: 9}}
- {at: 2h, set: {queues.*.gpu.quota: -=3, queues.c.priority: 200, cluster.pools.p.nodes: 5}}' >out
        expect "$(sql "SELECT count(*) FROM queue_change")" "$(sql "SELECT 2 + 2 + 4 + 4")"
        grep -q 'j299@' out || { cat out; exit 1; }
        digest=$(sql 'SELECT digest FROM run')
        "$orrery" run run.yaml -o again.db --force -q
        expect "$(sqlite3 again.db 'SELECT digest FROM run')" "$digest"
    done
    ;;
check)
    # quotas at the start are fine; each change that makes them promise too much is told once, with its place
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 8}, late: {nodes: 0, gpus: 8}}}
queues:
  top: {gpu: [24, 1, unlimited]}
  a: {parent: top, gpu: [12, 1, 16]}
  b: {parent: top, gpu: [12, 1, unlimited]}
  other: {gpu: [8, 1, unlimited]}
workload: [{name: t, trace: trace.csv, queue: a}]
policy: kai
events:
- {at: 1d, set: {queues.a.gpu.quota: 14}}
- {at: 2d, set: {queues.top.gpu.quota: +=9}}
- {at: 2d 12:00, set: {cluster.pools.late.nodes: 1}}
- {at: 2d 18:00, set: {queues.b.gpu.weight: 2}}
- {at: 3d, set: {queues.a.gpu.limit: 12, queues.b.gpu.weight: 3}}
- {at: 4d, set: {queues.a.gpu.limit: unlimited, queues.*.gpu.quota: +=10}}
YAML
    trace j,0,1,1,1,
    check() { "$orrery" check run.yaml "$@" >said 2>&1 && { echo "check finds nothing"; exit 1; }; sed -n 's/^problem *//p' said; }
    expect "$(check)" "run.yaml:10:38: from 1d 00:00:00 on: queue top: its children's quotas sum to 26 GPUs, its own is 24
run.yaml:11:40: from 2d 00:00:00 on: the quotas sum to 41 GPUs, the cluster has 32
run.yaml:12:50: from 2d 12:00:00 on: the quotas sum to 41 GPUs, the cluster has 40
run.yaml:14:38: from 3d 00:00:00 on: queue a: quota 14 is above its limit 12
run.yaml:15:69: from 4d 00:00:00 on: queue top: its children's quotas sum to 46 GPUs, its own is 43
run.yaml:15:69: from 4d 00:00:00 on: the quotas sum to 61 GPUs, the cluster has 40"
    # nodes that come later are not there at the start
    expect "$(check --set queues.other.gpu.quota=16 | head -1)" "run.yaml:6:10: the quotas sum to 40 GPUs, the cluster has 32"
    ;;
*) echo "no run $3"; exit 1 ;;
esac
