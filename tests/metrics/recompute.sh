#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# recompute.sh ORRERY SOURCE_DIR NAME: metrics made again (recompute_case.sh).
set -eu
. "$(dirname "$0")/recompute_case.sh"

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
    draw_jobs 5 200 job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,queue,kind,user,group '
        t += x % 40; pods = 1 + x % 5; min = pods < 3 ? pods : pods - x % 2; whole = x % 3 > 0
        printf "j%d,%d,%d,%d,%d,%s,%s,%s,%s,u%d,%s\n", i, t, 20 + x % 400, pods, min, whole ? 1 + x % 2 : "",
            whole ? "" : "0." (1 + x % 9), substr("abc", 1 + int(x / 7) % 3, 1), x % 4 == 0 ? "inference" : "training", x % 5, i % 3 ? "g" int(i / 7) : ""' >trace.csv
    world run trace.csv '{name: kai}' <<YAML
cluster: {pools: {p: {nodes: 6, gpus: 4}}}
queues: {a: {gpu: [10, 1, unlimited]}, b: {gpu: [10, 1, unlimited]}, c: {gpu: [4, 2, 12]}}
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
    draw_jobs 8 150 job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,mig_profile,cpu_milli,queue,time_limit_s '
        split("1g.5gb 3g.20gb 1g.5gb*2 2g.10gb", of, " ")
        t += x % 40; pods = 1 + x % 3; way = x % 5; run = 20 + x % 700
        printf "j%d,%d,%d,%d,%d,%s,%s,%s,%s,%s,%d\n", i, t, run, pods, (pods < 3 ? pods : 2), way == 0 ? 1 + x % 4 : "",
            way == 1 ? "0." (1 + x % 9) : "", (way > 1 ? of[1 + int(x / 5) % 4] : ""), 100, substr("ab", 1 + int(x / 7) % 2, 1), run' >trace.csv
    world run trace.csv '{name: kai}' <<YAML
cluster:
  pools:
    cut: {nodes: 2, gpus: 0, mig: {3g.20gb: 2, 1g.5gb: 4}, mig_strategy: mixed, idle_power: 300W, full_power: 900W}
    both: {nodes: 2, gpus: 4, mig: {1g.5gb: 3, 2g.10gb: 2}, idle_power: 300W, full_power: 900W}
    whole: {nodes: 2, gpus: 4}
queues: {a: {gpu: [12, 1, unlimited]}, b: {gpu: [12, 2, 20]}}
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
        draw_jobs "$seed" 200 job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue,give_up_s '
            t += x % 40; pods = 1 + x % 5; min = pods < 3 ? pods : pods - x % 3
            printf "j%d,%d,%d,%d,%d,%d,%s,%s\n", i, t, 20 + x % 400, pods, min, 1 + x % 2,
                substr("abc", 1 + int(x / 7) % 3, 1), x % 11 ? "" : 300' >trace.csv
        for policy in kai kube las; do
            world run trace.csv "{name: $policy}" <<YAML
cluster: {pools: {p: {nodes: 6, gpus: 4}}}
queues: {a: {gpu: [10, 1, 8]}, b: {gpu: [10, 1, unlimited]}, c: {gpu: [4, 2, 6]}}
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
    has "count(*) > 0 AND sum(abs(made - slow) > rates + held / 1e6) = 0 FROM ( -- the same of what is in the window
        SELECT coalesce((SELECT sum(u.mgpu_ms * 1.0 * max(0, min(u.to_ms, r.window_end_ms) - max(u.from_ms, r.window_start_ms)) / (u.to_ms - u.from_ms))
                         FROM unused AS u CROSS JOIN run AS r WHERE u.job = w.job AND u.part = 'slow'), 0) AS slow, count(*) AS rates, sum(w.mgpu * 1.0 * (w.to_ms - w.at_ms)) AS held,
               sum(w.mgpu * 1.0 * max(0, min(w.to_ms, w.window_end_ms) - max(w.at_ms, w.window_start_ms)) * max(0, 1 - w.rate_ppm * 1.0 / w.best_ppm)) AS made
        FROM (SELECT r.*, coalesce(lead(r.at_ms) OVER (PARTITION BY r.job ORDER BY r.at_ms), j.end_ms, s.end_ms) AS to_ms, j.mgpu, s.window_start_ms, s.window_end_ms
              FROM rate AS r JOIN job AS j ON j.id = r.job CROSS JOIN run AS s WHERE j.attempts = 1 AND j.evictions = 0) AS w GROUP BY w.job)"
    has "g.value < o.value FROM metric AS g JOIN metric AS o ON o.name = 'gpu_occupancy' AND g.name = 'gpu_goodput'"
}

# Held by hand: goodput is of the time that it is about. a is alone on the device for 500 s, then b shares it and both go at
# half their speed; the service has requests for half of its time for 500 s, and none later.
case_when() {
    printf 'job,submit_s,run_s,gpu_fraction,queue\na,0,1000,0.5,q\nb,500,1000,0.5,q\nc,1000,1,0.5,q\n' >trace.csv
    world run trace.csv fifo <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 1}}}
queues: {q: {gpu: [1, 1, unlimited]}}
execution: {sharing: time_sliced}
warmup: 500s
YAML
    holds 50 run.yaml --check-books
    has "count(*) > 0 FROM unused WHERE part = 'slow'"
    has "abs(value - 0.5) < 1e-9 FROM metric WHERE name = 'phase_gpu_goodput' AND label = 'phase=warm-up'"
    has "value = 1 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    has "abs(value - 0.5) < 1e-9 FROM metric WHERE name = 'gpu_goodput' AND scope = 'all'"
    printf 'time_s,rate\n0,0.5\n500,0\n1000,0\n' >rate.csv
    printf 'job,submit_s,run_s,gpus,queue\nlast,1000,1,1,q\n' >trace.csv
    sed -i 's/gpus: 1/gpus: 2/; s/^workload: .*/horizon: 1500s\nworkload:/; /sharing/d' run.yaml
    sed -i '/^workload/a - {name: t, trace: trace.csv}\n- {name: s, kind: inference, queue: q, service: {gpus_per_pod: 1, replicas: 1, rate: rate.csv, service_time: 1s, load: 0s}}' run.yaml
    for policy in fifo kai; do
        holds 50 run.yaml --policy $policy --check-books
        has "count(*) = 1 AND abs(value - 0.25) < 0.002 FROM metric WHERE name = 'phase_gpu_goodput' AND label = 'phase=warm-up'"
        has "count(*) = 1 AND value < 0.002 FROM metric WHERE name = 'gpu_goodput' AND scope = 'all'"
        has "abs(value - 0.5) < 0.002 FROM metric WHERE name = 'gpu_occupancy' AND scope = 'all'"
    done
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
    world run trace.csv fifo <<YAML
cluster:
  pools:
    h: {nodes: 2, gpus: 4, shard: h100}
    a: {nodes: 1, gpus: 4, shard: a100}
queues:
  hq: {shard: h100, gpu: [8, 1, unlimited]}
  aq: {shard: a100, gpu: [4, 1, unlimited]}
YAML
    holds 50 run.yaml
    has "count(*) = 2 FROM shard"
    sed -i 's/^policy: fifo/policy: {name: kai, shards: {a100: {name: static}}}/' run.yaml
    holds 50 run.yaml
    has "count(*) = 3 FROM metric WHERE name = 'policy_share_deviation'"
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

# A job every 10 s, each for 1000 s: about 100 GPUs are held from 1000 s on. On too few GPUs the demand never
# settles, and the window stays whole.
case_warmup() {
    awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,queue"
                 for (i = 0; i < 2000; i++) print "j" i "," 10 * i "," 900 + 37 * i % 201 ",1,1,q" i % 3 }' >trace.csv
    world run trace.csv kai <<YAML
cluster: {pools: {p: {nodes: 20, gpus: 8}}}
queues: {q0: {gpu: [20, 1, unlimited]}, q1: {gpu: [30, 1, unlimited]}, q2: {gpu: [0, 1, unlimited]}}
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
    world run trace.csv '{name: fifo, params: {backfill: true}}' <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 4, idle_power: 1000W, full_power: 5kW}}}
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
    world lost lost.csv kai <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
queues: {a: {gpu: [0, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}
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
    draw_jobs 5 150 job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue '
        t += x % 20
        pods = 1 + x % 3
        printf "j%d,%d,%d,%d,%d,%d,%s\n", i, t, 50 + x % 900, pods, 1 + int(x / 5) % pods, 1 + x % 2, substr("abcd", 1 + int(x / 7) % 4, 1)' >trace.csv
    for grace in 0s 30s; do
        for horizon in 700.5 800 911 1013.25 1100; do
            world run trace.csv kai <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4, shard: x}, q: {nodes: 2, gpus: 4, shard: y}}}
queues: {a: {shard: x, gpu: [12, 1, unlimited]}, b: {shard: x, gpu: [0, 1, unlimited]}, c: {shard: y, gpu: [6, 1, unlimited]}, d: {shard: y, gpu: [0, 1, unlimited]}}
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

# The comparison itself names a number that is off by a hair or not there, and a page whose rows are in disorder.
case_notices() {
    holds 50 "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai
    cp run.db off.db
    page=$(sqlite3 run.db "SELECT rootpage FROM sqlite_schema WHERE name = 'eviction'") size=$(sqlite3 run.db 'PRAGMA page_size')
    at=$(((page - 1) * size + 8)) # the first pointers of a leaf, the second before the first
    dd if=run.db of=off.db bs=1 skip=$((at + 2)) seek=$at count=2 conv=notrunc 2>/dev/null
    dd if=run.db of=off.db bs=1 skip=$at seek=$((at + 2)) count=2 conv=notrunc 2>/dev/null
    sqlite3 -bail -readonly off.db <"$source/tests/metrics/recompute.sql" >said
    grep -q '^file | integrity .*out of order' said || fail "a page in disorder: $(cat said)"
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
