#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# recompute.sh ORRERY SOURCE_DIR NAME: the metrics of a run, made again by recompute.sql from its raw
# rows, are the stored ones. Each case_* function is one test.
set -eu
orrery=$1 source=$2
. "$(dirname "$0")/../scratch.sh"

# holds LEAST ORRERY-OPTION...: the run's numbers are made again, at least so many of them.
holds() {
    least=$1
    shift
    code=0
    "$orrery" run "$@" -o run.db --force --quiet --no-progress >out 2>&1 || code=$?
    { [ "$code" = 0 ] || [ "$code" = 1 ]; } || fail "run: $(cat out)" # 1: an expectation is false
    sqlite3 -bail -readonly run.db <"$source/tests/metrics/recompute.sql" >said 2>&1 || fail "$(cat said)"
    grep -q ' compared, 0 differ$' said || fail "$*
$(cat said)"
    [ "$(sed -n 's/ compared.*//p' said)" -ge "$least" ] || fail "$*: few numbers: $(cat said)"
}

has() { # SQL-CONDITION: what a case is about is in the last run
    [ "$(sqlite3 run.db "SELECT $1")" = 1 ] || fail "the run has no $1"
}

# A piece of Philly on too few GPUs: queues with quotas under two departments, a warm-up, and a
# horizon at which thousands still wait.
philly() { # POLICY HORIZON SECONDS-OF-TRACE
    zcat "$source/traces/data/philly.csv.gz" | awk -F, -v span="$3" 'NR == 1 || ($2 > 4000000 && $2 < 4000000 + span)' >philly.csv
    cat <<YAML
cluster: {pools: {p: {nodes: 30, gpus: 8}}}
queues:
  research: {gpu: [160, 1, unlimited]}
  product: {gpu: [80, 3, unlimited]}
  6214e9: {parent: research, gpu: [60, 2, unlimited]}
  11cb48: {parent: research, gpu: [60, 1, 100]}
  b436b2: {parent: research, gpu: [0, 1, unlimited]}
  "103959": {parent: product, gpu: [40, 1, unlimited]}
YAML
    for queue in 0e4a51 23dbec 2869ce 51b7ef 6c71a0 795a4c 7f04ca 925e2b e13805 ed69ec ee9e8c; do
        printf '  "%s": {parent: product, gpu: [2, 1, unlimited]}\n' "$queue"
    done
    printf 'workload: [{name: t, trace: philly.csv}]\npolicy: %s\nwarmup: 12h\nhorizon: %s\n' "$1" "$2"
}

case_fifo() {
    philly fifo 1d 100000 >run.yaml
    holds 100 run.yaml
    has "count(*) > 100 FROM job WHERE state = 1"
}

case_easy() {
    philly easy 3d 60000 >run.yaml
    holds 100 run.yaml
    zcat "$source/tests/peers/backfill/hpc2n-exact.swf.gz" | head -n 1000 >log.swf
    holds 30 --trace log.swf --cluster 240x1 --split 1 --policy easy
}

case_kai() {
    philly kai 1d 90000 >run.yaml
    holds 100 run.yaml
    has "count(*) > 10 FROM eviction WHERE cause = 'reclaim'"
    has "count(*) > 10 FROM job WHERE state = 1 AND start_ms IS NULL"
    has "count(*) > 1 FROM metric WHERE name = 'stall_h' AND scope = 'queue' AND value > 0 AND n > 0"
}

case_stories() {
    for name in lending reclaim inference fragmentation gang hoarding turns; do
        holds 50 "$source/scenarios/whatif/$name/$name.yaml" --policy kai
    done
}

# Graces, checkpoints, restarts, elastic gangs, fractions.
case_books() {
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,queue,kind,user,group"
        seed = 5
        for (i = 0; i < 200; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
            t += x % 40; pods = 1 + x % 5; min = pods < 3 ? pods : pods - x % 2; whole = x % 3 > 0
            printf "j%d,%d,%d,%d,%d,%s,%s,%s,%s,u%d,%s\n", i, t, 20 + x % 400, pods, min, whole ? 1 + x % 2 : "",
                whole ? "" : "0." (1 + x % 9), substr("abc", 1 + int(x / 7) % 3, 1), x % 4 == 0 ? "inference" : "training", x % 5, i % 3 ? "g" int(i / 7) : ""
        }
    }' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 6, gpus: 4}}}
queues: {a: {gpu: [10, 1, unlimited]}, b: {gpu: [10, 1, unlimited]}, c: {gpu: [4, 2, 12]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
execution: {grace: 7s, checkpoint: 60s, checkpoint_cost: 2s, restart: 5s}
YAML
    holds 60 run.yaml
    has "count(*) > 0 FROM eviction WHERE whole"
    has "count(*) = 6 AND abs(sum(value) - (SELECT o.value * c.capacity_mgpu * (c.window_end_ms - c.window_start_ms) / 3.6e9 FROM metric AS o, run AS c
         WHERE o.name = 'gpu_occupancy' AND o.scope = 'all')) < 1e-9 FROM metric WHERE name = 'gpu_h' AND scope = 'queue'"
    sed -i 's/gpus: 4}}/&, failures: {mtbf: 2h, repair: {median: 10m}}/' run.yaml
    holds 60 run.yaml
    has "count(*) > 0 FROM outage"
    sed -i '/^cluster/d' run.yaml
    echo 'cluster: {pools: {p: {nodes: 6, gpus: 4}}}' >>run.yaml
    holds 60 run.yaml
    has "sum(checkpoint) > 0 FROM job_time"
}

# Instances of MIG beside whole and shared devices, on nodes that fail, in pools that state their power.
case_mig() {
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,mig_profile,cpu_milli,queue,time_limit_s"
        seed = 8
        split("1g.5gb 3g.20gb 1g.5gb*2 2g.10gb", of, " ")
        for (i = 0; i < 150; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
            t += x % 40; pods = 1 + x % 3; way = x % 5; run = 20 + x % 700
            printf "j%d,%d,%d,%d,%d,%s,%s,%s,%s,%s,%d\n", i, t, run, pods, (pods < 3 ? pods : 2), way == 0 ? 1 + x % 4 : "",
                way == 1 ? "0." (1 + x % 9) : "", (way > 1 ? of[1 + int(x / 5) % 4] : ""), 100, substr("ab", 1 + int(x / 7) % 2, 1), run
        }
    }' >trace.csv
    cat >run.yaml <<YAML
cluster:
  pools:
    cut: {nodes: 2, gpus: 0, mig: {3g.20gb: 2, 1g.5gb: 4}, mig_strategy: mixed, idle_power: 300W, full_power: 900W}
    both: {nodes: 2, gpus: 4, mig: {1g.5gb: 3, 2g.10gb: 2}, idle_power: 300W, full_power: 900W}
    whole: {nodes: 2, gpus: 4}
queues: {a: {gpu: [12, 1, unlimited]}, b: {gpu: [12, 2, 20]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
YAML
    for policy in kai fifo easy conservative kube slurm static las drf srtf pollux gavel kueue; do
        holds 80 run.yaml --policy "$policy" --check-books
        has "count(*) = 1 AND value > 0.2 AND value < 1 FROM metric WHERE name = 'mig_occupancy'"
        has "count(*) > 20 FROM v_placements AS p JOIN job AS j ON j.id = p.job JOIN ask AS a ON a.shape = j.shape WHERE a.instances > 0"
        has "count(*) = 0 FROM input WHERE rows_rejected > 0"
        has "count(*) > 0 AND sum(gpus = 0) = 0 FROM v_typical"
        "$orrery" audit run.db >said || fail "$policy: $(cat said)"
    done
    sed -i 's/^  pools:/  failures: {mtbf: 3h, repair: {median: 10m}}\n&/' run.yaml
    for policy in kai fifo kube; do
        holds 80 run.yaml --policy "$policy" --check-books
        has "count(*) > 0 FROM outage"
        "$orrery" audit run.db >said || fail "$policy: $(cat said)"
    done
}

# Elastic gangs under limits below quotas, partial gangs (kube), rounds (las), nodes that fail, jobs that leave.
case_elastic() {
    for seed in 1 2 3; do
        awk -v seed="$seed" 'BEGIN {
            print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,give_up_s"
            for (i = 0; i < 200; i++) {
                seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
                t += x % 40; pods = 1 + x % 5; min = pods < 3 ? pods : pods - x % 3
                printf "j%d,%d,%d,%d,%d,%d,%s,%s\n", i, t, 20 + x % 400, pods, min, 1 + x % 2,
                    substr("abc", 1 + int(x / 7) % 3, 1), x % 11 ? "" : 300
            }
        }' >trace.csv
        for policy in kai kube las; do
            cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 6, gpus: 4}}}
queues: {a: {gpu: [10, 1, 8]}, b: {gpu: [10, 1, unlimited]}, c: {gpu: [4, 2, 6]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: $policy}
YAML
            holds 60 run.yaml
            sed -i 's/gpus: 4}}/&, failures: {mtbf: 1h, repair: {median: 10m}}/' run.yaml
            holds 60 run.yaml
            has "count(*) > 0 FROM outage"
            has "count(*) = 0 FROM metric WHERE label = 'cause=none'"
        done
    done
}

# Gangs on links that others use, sessions and services that leave GPUs idle: goodput is less than
# occupancy. What a slow rate took away is made again from the rates of jobs that ran once.
case_rates() {
    holds 100 "$source/scenarios/mixed/mixed.yaml" --set horizon=3d --set cluster.topology.block.oversubscription=40 \
        --set execution.checkpoint_cost=0s --set execution.restart=0s --set execution.training.checkpoint_cost=0s
    has "count(*) > 0 FROM job_time WHERE slow > 0"
    has "count(*) > 0 FROM job_time WHERE idle > 0 AND useful > idle"
    has "count(*) > 0 AND sum(abs(made - slow) > rates + held / 1e6) = 0 FROM (
        SELECT t.slow AS slow, count(*) AS rates, t.useful AS held, sum(w.mgpu * 1.0 * (w.to_ms - w.at_ms) * max(0, 1 - w.rate_ppm * 1.0 / w.best_ppm)) AS made
        FROM (SELECT r.*, coalesce(lead(r.at_ms) OVER (PARTITION BY r.job ORDER BY r.at_ms), j.end_ms, (SELECT end_ms FROM run)) AS to_ms, j.mgpu
              FROM rate AS r JOIN job AS j ON j.id = r.job WHERE j.attempts = 1 AND j.evictions = 0) AS w
        JOIN job_time AS t ON t.job = w.job GROUP BY w.job)"
    has "g.value < o.value FROM metric AS g JOIN metric AS o ON o.name = 'gpu_occupancy' AND g.name = 'gpu_goodput'"
}

# Half of the jobs leave when they have waited long enough; waits are censored there.
# Services, whose pods come and go, and workers that follow a backlog: what they ask for changes.
case_scaling() {
    awk "$draw_awk"'BEGIN {state = 27182818; print "time_s,rate"; for (i = 0; i < 90; i++) printf "%d,%.3f\n", 60 * i, 5 * draw() * int(3 * draw())}' >rate.csv
    awk "$draw_awk"'BEGIN {
        state = 41999; print "job,submit_s,run_s,gpus_per_pod,queue,kind,template"
        for (i = 0; i < 60; i++)
            printf "j%d,%d,%s,%s,%s,training,%s\n", i, 4000 * draw(), i % 6 ? 1 + int(900 * draw()) : "", i % 6 ? 1 + int(2 * draw()) : "",
                substr("ab", 1 + int(2 * draw()), 1), i % 6 ? "" : "ray"
    }' >trace.csv
    for policy in kai fifo easy static kube las; do
        cat >run.yaml <<YAML
horizon: 90m
warmup: 10m
cluster: {pools: {p: {nodes: 5, gpus: 4}}, failures: {mtbf: 40m, repair: {median: 4m}}}
queues: {a: {gpu: [10, 1, 12]}, b: {gpu: [10, 1, unlimited]}}
execution: {grace: 20s}
templates: {ray: {roles: {head: {cpu: 1}, worker: {pods: 4, min: 1, gpus_per_pod: 1}}, autoscale: {role: worker, backlog: [2x40s, 40x10s, 1x100s], idle: 20s}}}
workload:
- {name: t, trace: trace.csv}
- {name: s, kind: inference, queue: a, service: {gpus_per_pod: 2, replicas: 1..5, rate: rate.csv, service_time: 1s, target_utilisation: 0.8, load: 20s, scale_down_window: 2m}}
- {name: w, kind: inference, queue: b, service: {gpus_per_pod: 1, replicas: 0..4, rate: rate.csv, service_time: 500ms, target_utilisation: 1}}
policy: $policy
YAML
        holds 80 run.yaml
        has "count(*) > 20 FROM wanted AS w JOIN job AS j ON j.id = w.job WHERE j.name = 's'"
        has "count(*) > 0 FROM job_time AS t JOIN job AS j ON j.id = t.job WHERE j.name = 's' AND t.idle > 0"
    done
}

case_patience() {
    philly kai 1d 90000 >run.yaml
    awk -F, 'NR == 1 {print $0 ",give_up_s,user,group,deadline_s"; next} {print $0 "," (NR % 2 ? 600 + NR % 900 : "") ",u" NR % 7 ",g" int(NR / 4) "," (NR % 3 ? "" : $2 + 20000 + $3)}' philly.csv >some.csv
    sed -i 's/philly.csv/some.csv, format: native/' run.yaml
    holds 100 run.yaml
    has "count(*) > 10 FROM job WHERE state = 4"
    has "count(*) > 10 FROM metric WHERE name = 'gave_up'"
    has "count(DISTINCT met IS NULL OR met) = 2 AND count(DISTINCT met) = 2 FROM v_deadlines"
}

case_shards() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,100,1,4,aq
a2,0,100,1,4,aq
h1,0,50,1,4,hq
h2,10,50,2,4,hq
a3,70,10,1,1,aq
CSV
    cat >run.yaml <<YAML
cluster:
  pools:
    h: {nodes: 2, gpus: 4, shard: h100}
    a: {nodes: 1, gpus: 4, shard: a100}
queues:
  hq: {shard: h100, gpu: [8, 1, unlimited]}
  aq: {shard: a100, gpu: [4, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    holds 50 run.yaml
    has "count(*) = 2 FROM shard"
    sed -i 's/^policy: fifo/policy: {name: kai, shards: {a100: {name: static}}}/' run.yaml
    holds 50 run.yaml
    has "count(*) = 3 FROM metric WHERE name = 'policy_share_deviation'"
}

# Held by hand: A is entitled to 32 of 40 GPUs, wants 3 and gets them; B, entitled to 8, gets the other
# 37. Both have what they are entitled to, so Jain is 1; usage over plain quota would say 0.52.
case_jain() {
    {
        echo "job,submit_s,run_s,pods,gpus_per_pod,queue"
        echo "a,0,1000,3,1,a"
        awk 'BEGIN { for (i = 0; i < 50; i++) print "b" i ",0,1000,1,1,b" }'
        echo "last,900,10,1,1,b"
    } >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 5, gpus: 8}}}
queues: {a: {gpu: [32, 1, unlimited]}, b: {gpu: [8, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
    holds 30 run.yaml
    has "abs(value - 1) < 1e-12 FROM metric WHERE name = 'fairness_jain' AND scope = 'all'"
    has "value = 1 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    has "value = 9.25 FROM metric WHERE name = 'gpu_h' AND label LIKE 'queue=b,%'" # 37 GPUs x 900 s
}

# Held by hand, on 4 nodes of 4 GPUs of which 2 leave at 50, and queue a may have 9 GPUs, from 60 on 10: `big` asks 12; `ten`
# waits for the limit, and 10 GPUs are more than are left; `min` asks 16 and starts with 8; `last` asks 3 nodes, too late;
# `build` may not be preempted and asks 4 of b's quota of 2; `then` waits for the end of `big`, and gives up no sooner
# than it is considered; `gone` gives up, and could have started.
case_never() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,kind,priority,after,give_up_s
a,0,100,1,1,4,a,training,,,
big,1,100,3,3,4,a,training,,,
ten,2,100,10,10,1,a,training,,,
min,3,40,4,2,4,c,training,,,
then,5,10,1,1,1,a,training,,big,20
build,6,100,1,1,4,b,interactive,build,,
gone,20,100,2,2,4,a,training,,,10
last,70,10,3,3,4,c,training,,,
w,80,100,1,1,2,b,training,,,
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4}}}
queues:
  d: {gpu: [16, 1, unlimited]}
  a: {parent: d, gpu: [8, 1, 9]}
  b: {parent: d, gpu: [2, 1, unlimited]}
  c: {parent: d, gpu: [0, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
events: [{at: 50s, set: {cluster.pools.p.nodes: 2}}, {at: 60s, set: {queues.a.gpu.limit: 10}}]
YAML
    holds 60 run.yaml
    why="(SELECT group_concat(name || ' ' || code) FROM (SELECT j.name AS name, r.code AS code FROM never AS n JOIN job AS j ON j.id = n.job
        JOIN reason AS r ON r.id = n.reason ORDER BY j.id))"
    has "$why = 'big over-limit,ten over-limit,then dependency,build non-preemptible-over-quota,last never'"
    has "value = 5 AND n = 9 FROM metric WHERE name = 'never_startable' AND scope = 'all'"
    has "value = 1 AND n = 4 FROM metric WHERE name = 'unstarted' AND scope = 'all'"
    has "never = 1 FROM v_queues WHERE queue = 'b'"
    sed -i 's/{name: kai}/{name: kube}/' run.yaml # a leaf's limit binds its pods, no quota does
    holds 60 run.yaml
    has "$why = 'big over-limit,ten over-limit,then dependency,last never'"
    sed -i 's/{name: kube}/{name: static}/; s/c: {parent: d, gpu: .0/c: {parent: d, gpu: [4/' run.yaml # parts: 8, 2, 4
    holds 60 run.yaml
    has "$why = 'big over-limit,ten over-limit,min over-limit,then dependency,build over-limit,last over-limit'"
    sed -i 's/{name: static}/{name: fifo}/' run.yaml # knows no limits; only nodes are too few
    holds 60 run.yaml
    has "$why = 'last never'"
}

# Held by hand: a node of 8 CPUs and 64 GiB. a may have 6 CPUs by quota and holds all 8 until 100, when b comes and wants 4: it
# is entitled to 2, and waits until 200. So from 100 to 200 both are 2 CPUs off, of 200 s x 8 CPUs: 400 / (2 x 1600).
case_resources() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,mem_mib,queue
a,0,200,1,1,8000,16384,a
b,100,100,1,1,4000,16384,b
last,200,10,1,1,1000,1024,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8, cpu: 8, memory: 64GiB}}}
queues: {a: {gpu: [4, 1, unlimited], cpu: [6, 1, unlimited]}, b: {gpu: [4, 1, unlimited], cpu: [2, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    holds 50 run.yaml
    has "abs(value - 0.125) < 1e-12 FROM metric WHERE name = 'cpu_share_deviation'"
    has "count(*) = 0 FROM metric WHERE name = 'mem_share_deviation'"
    # ... and queues under queues, limits, an event and nodes that come and go
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,cpu_milli,mem_mib,queue"
        seed = 3
        for (i = 0; i < 200; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536); t += x % 30
            printf "j%d,%d,%d,%d,1,%d,%d,%d,%s\n", i, t, 20 + x % 500, 1 + x % 3, 1 + x % 2, 1000 * (1 + x % 7), 2048 * (1 + x % 5), substr("abc", 1 + int(x / 7) % 3, 1)
        }
    }' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4, cpu: 16, memory: 64GiB}}}
queues:
  d: {gpu: [12, 1, unlimited], cpu: [48, 1, unlimited], memory: [128GiB, 1, unlimited]}
  a: {parent: d, gpu: [8, 1, unlimited], cpu: [32, 1, 40], memory: [64GiB, 2, unlimited]}
  b: {parent: d, gpu: [4, 1, unlimited], cpu: [16, 2, unlimited], memory: [64GiB, 1, 128GiB]}
  c: {gpu: [4, 1, unlimited], cpu: [16, 1, unlimited], memory: [unlimited, 1, 96GiB]}
workload: [{name: t, trace: trace.csv}]
policy: kai
events: [{at: 600s, set: {queues.a.cpu.quota: 8}}, {at: 900s, set: {cluster.pools.p.nodes: 3}}, {at: 1500s, set: {cluster.pools.p.nodes: 4}}]
YAML
    holds 60 run.yaml
    has "count(*) = 2 AND min(value) > 0 FROM metric WHERE name IN ('cpu_share_deviation', 'mem_share_deviation')"
    has "count(*) = 2 AND min(value) > 0 FROM metric WHERE name IN ('policy_cpu_share_deviation', 'policy_mem_share_deviation')"
}

# Held by hand: kai gives quotas in full, however many: a holds its 8 CPUs, and from 100 on b, of whose 4 CPUs its quota has 2,
# waits. So for 100 s of 200 what is held is 2 CPUs off kai's shares, of 8: 200 / (2 x 1600). The oracle scales quotas of 8 and 2
# to 6.4 and 1.6, and finds 3.2 off. In another shard queue c waits for 1 of 2 CPUs throughout under kai: 1 off as well; under
# static, which has no shares of CPU, that shard counts nowhere.
case_own_others() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,mem_mib,queue
a,0,200,1,1,8000,16384,a
c,0,300,1,2,1000,1024,c
c2,0,300,1,2,1000,1024,c
b,100,100,1,1,4000,16384,b
last,200,10,1,1,1000,1024,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8, cpu: 8, memory: 64GiB}}}
queues: {a: {gpu: [4, 1, unlimited], cpu: [8, 1, unlimited]}, b: {gpu: [4, 1, unlimited], cpu: [2, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
    grep -v '^c' trace.csv >one.csv
    sed 's/trace.csv/one.csv/' run.yaml >one.yaml
    holds 50 one.yaml
    has "value = 0.0625 AND n = 2 FROM metric WHERE name = 'policy_cpu_share_deviation'"
    has "abs(value - 0.1) < 1e-12 FROM metric WHERE name = 'cpu_share_deviation'"
    has "count(*) = 0 FROM metric WHERE name = 'policy_mem_share_deviation'"
    has "group_concat(at_ms || ' ' || amount, ',') = '0 8000.0,200000 0.0' FROM fair_share_of WHERE queue = (SELECT id FROM queue WHERE name = 'a')"
    # in two shards
    sed -i 's/64GiB}}/64GiB, shard: x}, q: {nodes: 1, gpus: 2, cpu: 2, memory: 4GiB, shard: y}}/; s/{a: {/{c: {shard: y, gpu: [2, 1, unlimited]}, a: {shard: x, /; s/ b: {/ b: {shard: x, /' run.yaml
    holds 60 run.yaml
    has "count(*) = 3 FROM metric WHERE name = 'policy_cpu_share_deviation'"
    has "abs(value - 0.1) < 1e-12 FROM metric WHERE name = 'cpu_share_deviation' AND label = 'shard=x'"
    has "value = 0.25 FROM metric WHERE name = 'cpu_share_deviation' AND label = 'shard=y'"
    has "value = 0.0625 FROM metric WHERE name = 'policy_cpu_share_deviation' AND label = 'shard=x'"
    has "value = 0.25 FROM metric WHERE name = 'policy_cpu_share_deviation' AND label = 'shard=y'"
    has "value = 0.1 AND n = 3 FROM metric WHERE name = 'policy_cpu_share_deviation' AND scope = 'all'" # 400 / (2 x 2000)
    sed -i 's/^policy: kai/policy: {name: kai, shards: {y: {name: static}}}/' run.yaml
    holds 60 run.yaml
    has "count(*) = 2 AND min(value) = 0.0625 AND max(value) = 0.0625 FROM metric WHERE name = 'policy_cpu_share_deviation'"
    has "count(DISTINCT queue) = 2 FROM fair_share_of"
}

# Held by hand, on one GPU: a, b and c come at 0 and start at 0, 10 and 20: of the first two others that stand later wait
# on. d comes at 30 as c ends, and starts. e and f come in one second, but not in one ms: under kai they tie, under fifo
# e is first in time. g and h come together, but h (last) is the one that has the higher priority.
case_ties() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,priority
a,0,10,1,1,q,50
b,0,10,1,1,q,50
c,0,10,1,1,q,50
d,30,10,1,1,q,50
e,50.1,10,1,1,q,50
f,50.2,10,1,1,q,50
g,90,10,1,1,q,50
h,90,10,1,1,q,60
CSV
    holds 50 --trace trace.csv --cluster 1x1 --policy fifo
    has "value = 3 AND n = 8 FROM metric WHERE name = 'tied_starts'" # a, b and g, whose priority fifo does not look at
    has "value = 1 FROM metric WHERE name = 'coincident_starts'"
    holds 50 --trace trace.csv --cluster 1x1 --policy kai
    has "start_ms = 100000 FROM job WHERE name = 'g'"
    has "value = 3 AND n = 8 FROM metric WHERE name = 'tied_starts'" # a, b and e
    has "(SELECT value FROM metric WHERE name = 'scenarios_simulated' AND scope = 'all') =
         (SELECT sum(value) FROM metric WHERE name = 'scenarios_simulated' AND scope = 'action')"
    holds 50 "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai
    has "value >= (SELECT count(DISTINCT at_ms) FROM eviction WHERE cause = 'reclaim') AND value > 0
         FROM metric WHERE name = 'scenarios_simulated' AND label = 'action=reclaim'"
}

# Held by hand: one GPU. a works from 0 to 100, b until 200, c (submitted at 100) until 300. Two jobs are
# there until 200, then one. The window ends at 100: until then u has the GPU, v waits.
case_owners() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,user,group
a,0,100,1,1,q,u,first
b,0,100,1,1,q,v,first
c,100,100,1,1,q,u,second
CSV
    holds 50 --trace trace.csv --cluster 1x1 --policy fifo
    has "value = 0.5 FROM metric WHERE name = 'user_fairness_jain'"
    has "count(*) = 2 FROM metric WHERE name IN ('batch_mean_s', 'batch_max_s') AND value = 200 AND n = 2"
    has "abs(value - 4.0 / 3) < 1e-12 AND n = 3 FROM metric WHERE name = 'ftf_themis_max'"     # c: 200 / (100 x 1.5)
    has "abs(value - 1.0 / 3) < 1e-12 FROM metric WHERE name = 'ftf_themis_above'"
    has "abs(value - 2.0 / 3) < 1e-12 FROM metric WHERE name = 'ftf_shockwave_max'"            # b: 200 / (100 x 3)
}

# Queues whose jobs all came before the window, what they hold and are owed in it among what all hold: early waits, late
# services hold. A gang that loses a node goes as a whole. Batches that begin after the end of the run are not open.
case_before() {
    printf 'time_s,rate\n0,2\n60,2\n' >rate.csv
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,group
e1,0,5000,1,4,early,
e2,0,5000,1,4,early,
gang,10,3000,2,4,q,
more,1200,3000,1,2,q,now
cut,1900,300,1,2,q,later
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 5, gpus: 4}}}
queues: {early: {gpu: [4, 1, 4]}, q: {gpu: [8, 1, unlimited]}, web: {gpu: [4, 1, unlimited]}}
workload:
- {name: t, trace: trace.csv}
- {name: s, kind: inference, queue: web, service: {gpus_per_pod: 2, replicas: 2, rate: rate.csv, service_time: 1s}}
events: [{at: 800s, fail: n0005, for: 100s}]
policy: fifo
warmup: 15m
horizon: 30m
YAML
    for policy in fifo kai; do
        holds 50 run.yaml --policy $policy
        has "count(*) = 1 AND value > 0 FROM metric WHERE name = 'share_mean' AND label = 'queue=early,kind=unknown'"
        has "value = 0 FROM metric WHERE name = 'jobs' AND label = 'queue=web,kind=inference'"
        has "abs(sum(q.value) - a.value * (SELECT value FROM metric WHERE name = 'gpu_available') * 5) < 1e-9
             FROM metric AS q JOIN metric AS a ON a.name = 'gpu_occupancy' AND a.scope = 'all' WHERE q.name = 'gpu_h' AND q.scope = 'queue'"
        for name in evictions lost_gpu_h quota_debt_gpu_h stall_h; do
            has "abs(sum(q.value) - a.value) < 1e-9 FROM metric AS q JOIN metric AS a ON a.name = q.name AND a.scope = 'all' WHERE q.name = '$name' AND q.scope = 'queue'"
        done
        has "value = 1 AND n = 1 FROM metric WHERE name = 'batches_open'"
    done
    holds 50 run.yaml --policy fifo
    has "count(*) = 2 AND sum(whole) = 1 FROM eviction WHERE cause = 'node failure'"
    has "value = 0 FROM metric WHERE name = 'partial_evictions'"
    has "value = 1 FROM metric WHERE name = 'evictions' AND scope = 'all'"
}

# Held by hand, on two nodes of 4 GPUs: a takes 3 of the first, b takes 2 of the second until 50; then the
# window has 50 s more. Tasks ask for 3, 2 and 4. Of the GPU that is free on the first node nobody can use any; of
# the 2 on the second only who asks for 2: 1 + 4/3 are unusable of 3, then 1 of 5.
case_room() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,100,1,3,q
b,0,50,1,2,q
last,100,10,1,4,q
CSV
    holds 50 --trace trace.csv --cluster 2x4 --policy fifo
    has "abs(value - 5.0 / 3) < 1e-12 FROM metric WHERE name = 'unusable_gpus_mean'"
    has "value = 4 FROM metric WHERE name = 'idle_gpus_mean'"
    has "value = 2 FROM metric WHERE name = 'startable_gang_mean_gpus' AND label = 'level=cluster'"
    has "value = 0 FROM metric WHERE name = 'startable_gang_least_gpus' AND label = 'level=cluster'"
    has "value = 3 FROM metric WHERE name = 'startable_gang_mean_gpus' AND label = 'level=node'"
    # Another queue holds all four GPUs until 100. a1 waits from 10 on, a2 and a3 from 20 on, all within their
    # queue's quota of 2; from 100 on a1 and a2 hold 4, so that a3 waits on, but not within it. b fits no quota.
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b,0,100,1,4,b
a1,10,10,1,2,a
a2,20,10,1,2,a
a3,20,10,1,2,a
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    holds 50 run.yaml
    has "start_ms = 110000 FROM job WHERE name = 'a3'"
    has "value = 90 AND n = 3 FROM metric WHERE name = 'starvation_max_s'"
    has "value = 3 FROM metric WHERE name = 'starved'"
    # ... and with nodes of several shapes, CPU that runs out first, racks and parts of devices
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,cpu_milli,queue"
        seed = 9
        for (i = 0; i < 300; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536); t += x % 30
            part = x % 4 == 0
            printf "j%d,%d,%d,%d,%s,%s,%d,q\n", i, t, 20 + x % 700, 1 + x % 3, part ? "" : 1 + x % 4,
                part ? "0." (2 + x % 7) : "", 1000 * (x % 12)
        }
    }' >trace.csv
    cat >run.yaml <<YAML
cluster:
  pools: {p: {nodes: 8, gpus: 4, cpu: 24, rack_size: 2}, s: {nodes: 3, gpus: 2, cpu: 10}}
workload: [{name: t, trace: trace.csv}]
policy: kai
YAML
    holds 50 run.yaml
    has "count(*) = 3 FROM metric WHERE name = 'startable_gang_mean_gpus' AND value > 0"
}

# Held by hand, on one node of 8 GPUs. Queue a may have all; its pods of 3 fill 6 of 8. b holds 4 until 50, and a
# has one pod beside it, then two; the node is down from 60 to 80. The window ends at 100. Of the 8 that a is
# owed 2 are impossible at any time; until 50 3 more are blocked, and while the node is down 6 are not there.
case_debt() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b,0,50,1,4,b
a1,0,500,1,3,a
a2,0,500,1,3,a
a3,0,500,1,3,a
last,100,10,1,1,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
queues: {a: {gpu: [8, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: fifo, params: {backfill: true}}
events: [{at: 60s, fail: n0001, for: 20s}]
YAML
    holds 50 run.yaml
    has "abs(value * 3600 - 200) < 1e-9 FROM metric WHERE name = 'quota_debt_impossible_gpu_h' AND scope = 'all'"
    has "abs(value * 3600 - 120) < 1e-9 FROM metric WHERE name = 'quota_debt_down_gpu_h' AND scope = 'all'"
    has "abs(value * 3600 - 150) < 1e-9 FROM metric WHERE name = 'quota_debt_blocked_gpu_h' AND scope = 'all'"
}

# Nodes that join after the end of a run were none of it: all metrics but those of pools and node hours are as without them.
# a's pod of 8 fits the large node and no other, so none of what it waits for is impossible, also where nodes of 2 join meanwhile.
case_absent() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
b1,0,1800,1,8,b
a1,0,600,1,8,a
s1,10,600,1,2,b
s2,20,600,1,2,b
last,3600,60,1,1,b
CSV
    cat >alone.yaml <<YAML
cluster: {pools: {big: {nodes: 1, gpus: 8}, small: {nodes: 1, gpus: 2}}}
queues: {a: {gpu: [8, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: fifo, params: {backfill: true}}
YAML
    numbers="SELECT name, label, value FROM metric WHERE name LIKE 'ftf%' OR name LIKE 'quota_debt%' OR name LIKE '%share_%' OR name LIKE 'fairness%' ORDER BY 1, 2"
    holds 50 alone.yaml
    sqlite3 run.db "$numbers" >wanted
    has "abs(value - 4) < 1e-12 FROM metric WHERE name = 'quota_debt_blocked_gpu_h' AND scope = 'all'"
    has "value = 0 FROM metric WHERE name = 'quota_debt_impossible_gpu_h' AND scope = 'all'"
    printf 'extends: alone.yaml\nevents: [{at: 7200s, set: {cluster.pools.small.nodes: +=10}}]\n' >later.yaml
    holds 50 later.yaml
    sqlite3 run.db "$numbers" >made
    cmp -s made wanted || fail "nodes that never came change metrics: $(diff made wanted)"
    printf 'extends: alone.yaml\nevents: [{at: 900s, set: {cluster.pools.small.nodes: +=10}}]\n' >meanwhile.yaml
    holds 50 meanwhile.yaml
    has "value = 0 FROM metric WHERE name = 'quota_debt_impossible_gpu_h' AND scope = 'all'"
    has "count(*) = 10 FROM away WHERE to_ms = 900000"
}

# b's job of 8 can never start under its limit of 4. What b is due is 2 GPUs: of these the job's are nobody's fault, also while the
# node is down that a leaves free. From 1800 s on b's job of 1 waits until that comes back at 3000 s: 1 of the 2 is what could be had.
# Cycles are a second apart, hence the bounds.
case_never_debt() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,give_up_s
big,0,600,1,8,b,
a1,0,3600,2,8,a,
b1,1800,600,1,1,b,
gone,0,600,1,8,b,900
last,3600,60,1,1,a,
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 3, gpus: 8}}}
queues: {a: {gpu: [16, 1, unlimited]}, b: {gpu: [2, 1, 4]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai, params: {preset: no-reclaim}}
events: [{at: 600s, fail: n0003, for: 2400s}]
YAML
    holds 50 run.yaml
    has "abs(value * 3600 - 5400) < 2 FROM metric WHERE name = 'quota_debt_impossible_gpu_h' AND scope = 'all'"
    has "abs(value * 3600 - 1200) < 2 FROM metric WHERE name = 'quota_debt_down_gpu_h' AND scope = 'all'"
    has "value * 3600 < 2 FROM metric WHERE name = 'quota_debt_blocked_gpu_h' AND scope = 'all'"
}

# a's job of 8 can never start under its limit of 4, so that nothing of the node, of which a has all quotas, is due to a: b holds
# what it is entitled to, of CPU as of GPUs. From 1800 s on a asks 2 GPUs more, which b holds: they are a's then.
case_never_share() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,queue
big,0,600,1,8,8000,a
b1,0,3600,1,8,8000,b
a1,1800,600,1,2,2000,a
last,3600,60,1,1,0,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8, cpu: 8}}}
queues:
  a: {gpu: [8, 1, 4], cpu: [8, 1, 4]}
  b: {gpu: [0, 1, unlimited], cpu: [0, 1, unlimited]}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai, params: {preset: no-reclaim}}
YAML
    holds 50 run.yaml
    has "group_concat(j.name) = 'big' FROM never AS n JOIN job AS j ON j.id = n.job"
    has "abs(value - 1) < 0.001 FROM metric WHERE name = 'share_mean' AND label LIKE 'queue=a,%'"
    has "abs(value - 0.125) < 0.001 FROM metric WHERE name = 'share_deviation' AND scope = 'all'"
    has "abs(value - 0.125) < 0.001 FROM metric WHERE name = 'cpu_share_deviation' AND scope = 'all'"
}

# Of two nodes one is down throughout: both queues hold half of what is up, which is what they are entitled to; of CPU too.
case_down() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,queue
a1,0,3600,1,4,4000,a
b1,0,3600,1,4,4000,b
a2,1,3600,1,4,4000,a
b2,1,3600,1,4,4000,b
last,3000,60,1,1,1000,a
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 8, cpu: 8}}}
queues: {a: {gpu: [8, 1, unlimited], cpu: [8, 1, unlimited]}, b: {gpu: [8, 1, unlimited], cpu: [8, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
events: [{at: 0s, fail: n0002, for: 4000s}]
YAML
    holds 50 run.yaml
    has "value = 1 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    has "value = 0 FROM metric WHERE name = 'share_deviation' AND scope = 'all'"
    has "value = 0 FROM metric WHERE name = 'cpu_share_deviation' AND scope = 'all'"
    has "sum(value) = 8 FROM metric WHERE name = 'share_mean'"
}

# Held by hand, on 4 GPUs parted 3 to 1 until 50, then 2 to 2: a holds 2 of its 3, then all of its part; b always
# all of its own. So for 50 of 100 s one GPU is not where the policy would have it, of 2 x 4.
case_shares() {
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue
a,0,200,1,2,a
b1,0,200,1,1,b
b2,0,200,1,1,b
last,100,10,1,1,b
CSV
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [3, 1, unlimited]}, b: {gpu: [1, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: static
events: [{at: 50s, set: {queues.a.gpu.quota: 2, queues.b.gpu.quota: 2}}]
YAML
    holds 50 run.yaml
    has "value = 0.0625 AND n = 2 FROM metric WHERE name = 'policy_share_deviation'"
    has "value = 2.5 FROM metric WHERE name = 'policy_share_mean' AND label LIKE 'queue=a,%'"
    has "count(*) = 4 FROM fair_share"
    philly kube 1d 90000 >run.yaml # only one queue has a limit
    holds 100 run.yaml
    has "count(DISTINCT queue) = 1 AND max(mgpu) = 100000 FROM fair_share WHERE mgpu IS NOT NULL"
    philly "{name: kube, params: {namespace_quota: quota}}" 1d 90000 >run.yaml
    holds 100 run.yaml
    holds 50 "$source/scenarios/whatif/lending/lending.yaml" --policy fifo
    has "count(*) = 0 FROM fair_share"
    has "count(policy_share_mgpu) = 0 FROM series"
}

# Held by hand: a gang of two GPUs on two nodes is half as fast as on one. Until 300 one GPU of each node is free, so
# 11 gangs are apart: each holds 2 GPUs for 20 s and half of that is lost; 11 later ones are together.
case_spread() {
    printf 'profile,placement,step_s\nx,2,1\nx,1-1,2\n' >steps.csv
    awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,queue,profile"
                 print "b1,0,300,1,1,q,"; print "b2,0,1,1,1,q,"; print "b3,0,300,1,1,q,"
                 for (i = 0; i < 11; i++) print "s" i "," 10 + 25 * i ",10,2,1,q,x"
                 for (i = 0; i < 11; i++) print "t" i "," 310 + 15 * i ",10,2,1,q,x" }' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 2}}}
profiles: {x: {kind: table, table: steps.csv}}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    holds 50 run.yaml
    has "abs(value * 3600 - 11 * 20) < 1e-9 AND n = 22 FROM metric WHERE name = 'topology_penalty_gpu_h'"
    has "value = 2 AND n = 22 FROM metric WHERE name = 'rate_spread'"
    has "sum(value) = 1 AND min(n) = 22 FROM metric WHERE name = 'gangs_within'"
    has "value = 0.5 FROM metric WHERE name = 'gangs_within' AND label = 'level=nvlink'"
    has "value = 0.5 FROM metric WHERE name = 'gangs_within' AND label = 'level=cluster'"
    # racks of two nodes, NVLink over pairs of GPUs: one gang on each extent
    printf 'job,submit_s,run_s,pods,gpus_per_pod,queue\na,0,10,1,2,q\nb,20,10,1,4,q\nc,40,10,2,4,q\nd,60,10,4,4,q\nlast,100,1,1,1,q\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4, nvlink_domain: 2, rack_size: 2}}}
workload: [{name: t, trace: trace.csv}]
policy: fifo
YAML
    holds 50 run.yaml
    has "count(*) = 4 AND min(n) = 4 FROM metric WHERE name = 'gangs_within' AND value = 0.25"
    sed -i 's/nvlink_domain: 2/nvlink_domain: 8/' run.yaml # of two nodes in a row
    holds 50 run.yaml
    has "value = 0.75 FROM metric WHERE name = 'gangs_within' AND label = 'level=nvlink'"
    # half of one GPU of two is held all the time, and 3 of 8 CPU; one job of 50 s ended
    printf 'job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,cpu_milli,mem_mib,queue\na,0,200,1,,0.5,3000,1024,q\nb,0,50,1,,0.5,0,0,q\nlast,100,1,1,1,,0,0,q\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 2, cpu: 8, memory: 4GiB}}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
YAML
    holds 50 run.yaml
    has "value = 0.375 FROM metric WHERE name = 'gpu_occupancy'"
    has "value = 0.5 FROM metric WHERE name = 'gpu_touched'"
    has "value = 0.375 FROM metric WHERE name = 'cpu_occupancy'"
    has "value = 0.25 FROM metric WHERE name = 'mem_occupancy'"
    has "value = 0.25 AND n = 1 FROM metric WHERE name = 'throughput_gpus'"
}

# Held by hand: b, first in line, would fit when a ends at 100; unguarded, c passes it on the free GPU and holds that
# until 220, e for 10 s, which delays nobody. And on a longer trace as the audit counts them.
case_promises() {
    printf 'job,submit_s,run_s,pods,gpus_per_pod,queue\na,0,100,1,2,q\nb,10,50,1,4,q\nc,20,200,1,1,q\ne,30,10,1,1,q\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload: [{name: t, trace: trace.csv}]
policy: {name: easy, params: {variant: unguarded}}
YAML
    holds 50 run.yaml
    has "value = 1 AND n = 2 FROM metric WHERE name = 'broken_promises'"
    has "value = 120 FROM metric WHERE name = 'promise_delay_max_s'"
    for variant in unguarded reference; do
        philly "{name: easy, params: {variant: $variant}}" 3d 60000 >run.yaml
        holds 100 run.yaml
        "$orrery" audit run.db >said || [ $? = 1 ] || fail "$(cat said)"
        awk '$1 == "promise" && $2 ~ /^[0-9]/ {print $3 "|" $2}' said >counted
        sqlite3 run.db "SELECT CAST(value AS INTEGER), n FROM metric WHERE name = 'broken_promises'" >stored
        [ -s counted ] && cmp -s counted stored || fail "$variant: audit $(cat counted), metric $(cat stored)"
    done
}

# A job every 10 s, each for 1000 s: about 100 GPUs are held from 1000 s on. On too few GPUs the demand never
# settles, and the window stays whole.
case_warmup() {
    awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,queue"
                 for (i = 0; i < 2000; i++) print "j" i "," 10 * i "," 900 + 37 * i % 201 ",1,1,q" i % 3 }' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 20, gpus: 8}}}
queues: {q0: {gpu: [20, 1, unlimited]}, q1: {gpu: [30, 1, unlimited]}, q2: {gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
warmup: detect
YAML
    holds 60 run.yaml
    has "warmup = 'detected' AND window_start_ms BETWEEN 500000 AND 3000000 FROM run"
    has "scenario_resolved LIKE '%warmup: detect%' FROM run"
    has "n < 2000 FROM metric WHERE name = 'wait_p50_s' AND scope = 'all'"
    has "sum(value) < 2000 AND count(*) = 2 FROM metric WHERE name = 'phase_finished'"
    holds 60 run.yaml --set cluster.pools.p.nodes=8
    has "warmup = 'not found' AND window_start_ms = 0 FROM run"
}

# Held by hand, on two nodes of 4 GPUs that draw 1 kW idle and 5 kW full: a holds 2 GPUs of the first for an hour, b
# all of the second until it fails at 30 min, for 15 min; half of one of the first's is c's for 36 min. The window ends
# at 1 h; then nobody holds anything but "last", 1 GPU for 1 h.
case_energy() {
    printf 'job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,queue\na,0,3600,1,2,,q\nb,0,1800,1,4,,q\nc,0,2160,1,,0.5,q\nlast,3600,3600,1,1,,q\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 4, idle_power: 1000W, full_power: 5kW}}}
workload: [{name: t, trace: trace.csv}]
policy: {name: fifo, params: {backfill: true}}
events: [{at: 30m, fail: n0002, for: 15m}]
YAML
    holds 50 run.yaml
    has "count(*) = 0 FROM metric WHERE scope = 'phase' AND label <> 'phase=drain'"
    has "value = 1 FROM metric WHERE name = 'phase_h'"
    has "value = 0.125 FROM metric WHERE name = 'phase_gpu_occupancy'"
    has "value = 1 AND n = 4 FROM metric WHERE name = 'phase_finished'"
    has "abs(value - (1.75 + 2 + 2 + 0.3)) < 1e-12 AND n = 2 AND unit = 'kWh' FROM metric WHERE name = 'energy_kwh' AND scope = 'all'"
    has "abs(value - (3.75 + 2 + 2 + 0.3 + 1)) < 1e-12 FROM metric WHERE name = 'run_energy_kwh' AND label = 'pool=p'"
    has "abs(value * 4.3 - 6.05) < 1e-12 FROM metric WHERE name = 'energy_kwh_per_useful_gpu_h'" # 2 + 2 + 0.3 GPU-hours
    "$orrery" run run.yaml -o again.db --force -q --no-progress --set cluster.pools.p.idle_power=null --set cluster.pools.p.full_power=null >said
    ! grep -q energy said || fail "without a power: $(cat said)"
    [ "$(sqlite3 again.db "SELECT count(*) FROM metric WHERE name LIKE '%energy%'")" = 0 ] || fail "energy of nodes without a power"
    [ "$(sqlite3 again.db 'SELECT digest FROM run')" = "$(sqlite3 run.db 'SELECT digest FROM run')" ] || fail "power changes decisions"
    # nodes that come and go, graces, a pool that states no power, and one without GPUs
    cp "$source/scenarios/whatif/burst/burst.csv" .
    sed -n '/^cluster/,$p' "$source/scenarios/whatif/burst/burst.yaml" | sed 's/price: 98,/price: 98, idle_power: 2kW, full_power: 10.2kW,/' >burst.yaml
    holds 50 burst.yaml
    has "value IS NULL FROM metric WHERE name = 'energy_kwh_per_useful_gpu_h'"
    has "count(*) = 1 AND value > 1 FROM metric WHERE name = 'energy_kwh' AND scope = 'pool'"
    sed -i 's/price: 60/price: 60, idle_power: 0W, full_power: 8kW/; s/^  pools:/&\n    cpus: {nodes: 3, gpus: 0, idle_power: 300W, full_power: 700W}/' burst.yaml
    holds 50 burst.yaml
    has "value > 0.1 FROM metric WHERE name = 'energy_kwh_per_useful_gpu_h'"
    has "abs(m.value - 0.9 * (r.window_end_ms - r.window_start_ms) / 3.6e6) < 1e-9 FROM metric AS m, run AS r WHERE m.name = 'energy_kwh' AND m.label = 'pool=cpus'"
}

# All jobs come at once, on a clock that does not begin at 0: what counts is the makespan, and a warm-up would leave no
# job. 6 jobs of 2 GPUs for 1000 s on 4 GPUs: all held for 3000 s, unless the run is cut. Of one job alone, its life.
case_at_once() {
    awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 6; i++) print "j" i ",500,1000,2,q" i % 2 }' >once.csv
    for policy in fifo kai; do
        holds 60 --trace once.csv --cluster 1x4 --policy $policy
        has "window_start_ms = 500000 AND window_end_ms = end_ms FROM run"
        has "value > 0.99 AND value <= 1 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
        has "n = 6 FROM metric WHERE name = 'wait_p50_s' AND scope = 'all'"
        has "count(*) = 0 FROM metric WHERE scope = 'phase'"
        has "abs(value * (SELECT window_end_ms - window_start_ms FROM run) / 1000 - 12000) < 1e-6 FROM metric WHERE name = 'throughput_gpus'"
    done
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: once.csv}]\npolicy: fifo\nwarmup: 10m\nhorizon: 1500s\n' >once.yaml
    holds 60 once.yaml
    has "window_start_ms = 500000 AND window_end_ms = 2000000 FROM run"
    has "abs(value - 10.0 / 12) < 1e-9 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    sed -n 1,2p once.csv >one.csv
    holds 60 --trace one.csv --cluster 1x4 --policy fifo
    has "value = 0.5 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
}

# A drain a thousand times as long as the submits: buckets of the series are joined, five times, and cover the run all the same.
case_drain() {
    # Held by hand: a holds the node from 0 to 500, when b takes it for 100 s, to the end of the window; it runs in the drain
    # again. What it lost is in the window, not a third of all it held; nothing of the drain is.
    printf 'job,submit_s,run_s,gpus,queue\na,0,1000,4,a\nb,500,100,4,b\nlast,600,1,1,b\n' >lost.csv
    cat >lost.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [0, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}
workload: [{name: t, trace: lost.csv}]
policy: kai
YAML
    holds 50 lost.yaml
    has "abs(value - 1.0 / 6) < 0.003 FROM metric WHERE name = 'gpu_goodput'"
    has "abs(g.value - o.value) < 1e-12 FROM metric AS g JOIN metric AS o ON o.name = 'phase_gpu_occupancy' AND o.label = g.label WHERE g.name = 'phase_gpu_goodput'"
    awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 60; i++) print "j" i "," i * 10 "," 700 * (1 + i % 7) + i "," 1 + i % 4 "," substr("ab", 1 + i % 2, 1) }' >drain.csv
    for policy in fifo kai; do
        holds 100 --trace drain.csv --cluster 1x4 --policy $policy
        has "series_ms = 32 * 3000 FROM run"
        has "count(DISTINCT at_ms) = (SELECT (end_ms + series_ms - 1) / series_ms FROM run) FROM series"
        has "max(s) <= 4000 FROM (SELECT sum(allocated_mgpu) AS s FROM series GROUP BY at_ms)"
    done
}

# Cut while graces last, and before those that others were evicted for came to run: in graces, between two cycles, of
# elastic jobs, in two shards.
case_cut() {
    awk 'BEGIN {
        print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue"
        seed = 5
        for (i = 0; i < 150; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536); t += x % 20
            pods = 1 + x % 3
            printf "j%d,%d,%d,%d,%d,%d,%s\n", i, t, 50 + x % 900, pods, 1 + int(x / 5) % pods, 1 + x % 2, substr("abcd", 1 + int(x / 7) % 4, 1)
        }
    }' >trace.csv
    for grace in 0s 30s; do
        for horizon in 700.5 800 911 1013.25 1100; do
            cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4, shard: x}, q: {nodes: 2, gpus: 4, shard: y}}}
queues: {a: {shard: x, gpu: [12, 1, unlimited]}, b: {shard: x, gpu: [0, 1, unlimited]}, c: {shard: y, gpu: [6, 1, unlimited]}, d: {shard: y, gpu: [0, 1, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: kai
execution: {grace: $grace}
horizon: ${horizon}s
YAML
            holds 60 run.yaml
            "$orrery" audit run.db >said || fail "$(cat said)"
            sqlite3 run.db "SELECT 'open' FROM attempt WHERE end_ms IS NULL; SELECT 'undecided' FROM eviction WHERE for_job IS NOT NULL AND used IS NULL;
                SELECT 'used' FROM eviction WHERE used; SELECT 'wasted' FROM eviction WHERE NOT used" >>seen
        done
    done
    [ "$(sort -u seen | tr '\n' ' ')" = 'open undecided used wasted ' ] || fail "not all is seen: $(sort seen | uniq -c)"
}

# Every name is told in the table of analysis/README.md.
case_documented() {
    holds 50 "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai
    sqlite3 run.db "SELECT DISTINCT name FROM metric" | while read -r name; do
        grep -q "^|.*\`$name\`" "$source/analysis/README.md" || echo "$name"
    done >missing
    [ ! -s missing ] || fail "not in analysis/README.md: $(cat missing)"
}

# The comparison itself: a number that is off by a hair, or not there, is told.
case_notices() {
    holds 50 "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai
    for change in "value = value * 1.00000001" "value = NULL" "n = n + 1"; do
        cp run.db off.db
        sqlite3 off.db "UPDATE metric SET $change WHERE name = 'share_deviation' AND scope = 'all'"
        sqlite3 -bail -readonly off.db <"$source/tests/metrics/recompute.sql" >said
        grep -q '^all .*share_deviation' said && grep -q 'compared, 1 differ$' said || fail "$change: $(cat said)"
    done
    for change in "series SET policy_share_mgpu = policy_share_mgpu + 0.01" "series SET allocated_mgpu = allocated_mgpu + 0.01" \
        "series SET pending_jobs = pending_jobs + 0.01" "series SET share_mgpu = share_mgpu + 0.01" "room SET unusable_mgpu = unusable_mgpu + 0.001" "startable SET least_gpus = least_gpus + 1"; do
        cp run.db off.db
        sqlite3 off.db "UPDATE $change WHERE rowid = 5"
        sqlite3 -bail -readonly off.db <"$source/tests/metrics/recompute.sql" >said
        grep -q "^${change%% *} at " said && grep -q 'compared, 1 differ$' said || fail "$change: $(cat said)"
    done
    cp run.db off.db
    sqlite3 off.db "UPDATE eviction SET used = 1 - used WHERE rowid = (SELECT max(rowid) FROM eviction WHERE used IS NOT NULL)"
    sqlite3 -bail -readonly off.db <"$source/tests/metrics/recompute.sql" >said
    grep -q '^eviction .*| used ' said || fail "who used the room: $(cat said)"
    sqlite3 run.db "DELETE FROM eviction WHERE rowid = 1"
    sqlite3 -bail -readonly run.db <"$source/tests/metrics/recompute.sql" >said
    grep -q '| evictions |' said || fail "an eviction less: $(cat said)"
}

"case_$3"
