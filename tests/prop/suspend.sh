#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# PreemptMode=SUSPEND,GANG of policy slurm on random worlds: tiers of partitions or QOS of three ranks, jobs that ask CPU,
# memory and GPUs, several nodes, whole nodes, parts of a GPU; partitions that cancel or requeue instead; nodes that fail.
# Each run is held against suspend.sql, the books, the rules of audit, its numbers made again, and a second run.
#
#   suspend.sh ORRERY [FROM COUNT]: worlds FROM (6) to FROM + COUNT - 1 (12 in all)
set -eu
LC_ALL=C
export LC_ALL
orrery=$(realpath "$1") from=${2:-6} count=${3:-12} here=$(cd "$(dirname "$0")" && pwd)
. "$here/../scratch.sh"

world() { # SEED: s.yaml and t.csv
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 7919; for (i = 0; i < 5; i++) draw()
            nodes = 2 + below(5); gpus = 2 * (1 + below(4)); cpus = 8 * (1 + below(3)); by_qos = below(3) == 0; whole = below(3) == 0
            printf "cluster: {pools: {a: {nodes: %d, gpus: %d, cpu: %d, memory: %dGi}}}\n", nodes, gpus, cpus, 64 >"s.yaml"
            print "queues: {p1: {}, p2: {}, p3: {}, p4: {}}\nworkload: [{name: w, trace: t.csv}]\nevents:" >"s.yaml"
            for (e = 0; e < 2; e++) printf "- {at: %ds, fail: n%04d, for: %ds}\n", 300 + below(1500), 1 + below(nodes), 20 + below(300) >"s.yaml"
            split(" | | PreemptMode=REQUEUE| PreemptMode=CANCEL| PreemptMode=OFF| PreemptMode=SUSPEND", mode, "|")
            print "policy:\n  name: slurm\n  params:\n    slurm_conf: |" >"s.yaml"
            printf "      PreemptType=preempt/%s\n      PreemptMode=SUSPEND,GANG\n", by_qos ? "qos" : "partition_prio" >"s.yaml"
            printf "      SchedulerParameters=batch_sched_delay=%d,bf_interval=%d%s\n", 3 * below(2), 2 + 28 * below(2), below(2) ? ",bf_resolution=1" : "" >"s.yaml"
            if (below(2)) print "      SchedulerType=sched/builtin" >"s.yaml"
            for (q = 1; q <= 4; q++) {
                tier[q] = q < 4 ? q : 1 + below(3)
                printf "      PartitionName=p%d Nodes=ALL PriorityTier=%d%s%s\n", q, by_qos ? 1 : tier[q], q == 1 ? " Default=YES" : "",
                    by_qos ? "" : mode[q == 1 ? 1 : 1 + below(6)] >"s.yaml"
            }
            if (by_qos) print "    sacctmgr: |\n      Name|Priority|Preempt\n      q1|1|\n      q2|5|q1\n      q3|9|q1,q2" >"s.yaml"
            print "job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,cpu_milli,mem_mib,queue,time_limit_s,preemptible,sbatch" >"t.csv"
            for (i = 0; i < 140; i++) {
                at += below(24); q = 1 + below(4); rank = by_qos ? 1 + below(3) : tier[q]; x = whole && below(10) == 0
                run = 1 + below(below(3) ? 120 : 500); fraction = below(12) == 0 ? 0.5 : ""; pods = fraction != "" ? 1 : 1 + (below(3) == 0) * below(4)
                printf "r%d%s-%d,%d,%d,%d,%s,%s,%d,%d,p%d,%d,%s,\"%s%s\"\n", rank, x ? "x" : "", i, at, run, pods,
                    fraction != "" ? "" : (below(3) == 0) * below(3), fraction, 1000 * (1 + below(below(2) ? 4 : cpus)), below(3) ? 0 : 1024 * below(12), q,
                    run * (1 + below(3)) + 60, below(8) ? "true" : "false", by_qos ? "--qos=q" rank : "", x ? " --exclusive" : "" >"t.csv"
            }
        }'
}

seed=$from
: >all.txt
while [ "$seed" -lt $((from + count)) ]; do
    world "$seed"
    "$orrery" run s.yaml -o r.db -q --force --allow-loss --check-books 2>err || fail "world $seed: $(head -n 1 err)"
    "$orrery" run s.yaml -o again.db -q --force --allow-loss 2>err || fail "world $seed: $(head -n 1 err)"
    [ "$(sqlite3 r.db 'SELECT digest FROM run')" = "$(sqlite3 again.db 'SELECT digest FROM run')" ] || fail "world $seed: a second run differs"
    "$orrery" audit r.db >audit.txt || fail "world $seed: audit: $(grep ' at ' audit.txt | head -n 1)"
    sqlite3 -bail -readonly r.db ".read $here/../metrics/recompute.sql" >made.txt || fail "world $seed: recompute.sql"
    tail -n 1 made.txt | grep -q ' compared, 0 differ$' || fail "world $seed: recompute.sql: $(head -n 2 made.txt)"
    sqlite3 -bail -readonly r.db ".read $here/suspend.sql" >judged.txt || fail "world $seed: suspend.sql"
    wrong=$(awk -F'|' '$3 > 0 { print $1 ": " $3 " of " $2 }' judged.txt)
    [ -z "$wrong" ] || fail "world $seed: $wrong"
    cat judged.txt >>all.txt
    seed=$((seed + 1))
done
awk -F'|' '{ sum[$1] += $2 } END { for (name in sum) if (sum[name] == 0) print name }' all.txt >never.txt
[ ! -s never.txt ] || fail "nothing to look at: $(tr '\n' ' ' <never.txt)"
awk -F'|' '{ sum[$1] += $2; some += $1 == "suspended" && $2 > 0 } END {
    printf "%d worlds with suspensions: %d of them, %d jobs more than once, %d with GPUs\n", some, sum["suspended"], sum["again"], sum["with gpus"] }' all.txt
