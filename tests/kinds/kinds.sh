#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kinds.sh ORRERY NAME: kinds of work against times worked out by hand. Each case_* function is one test.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# run POLICY NODESxGPUS [MORE]: replays trace.csv; `got` gets job@start-end of every job.
run() {
    policy=$1
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: ${2%x*}, gpus: ${2#*x}}}}
queues: {q: {gpu: [$((${2%x*} * ${2#*x})), 1, unlimited]}}
workload: [{name: t, trace: trace.csv, queue: q}]
policy: {name: $1}
${3:-}
YAML
    start
}

start() {
    "$orrery" run run.yaml -o run.db --force --no-progress --check-books >out 2>err || fail "run failed"
    got=$("$orrery" export run.db jobs |
        awk -F, 'NR > 1 {line = line sep $1 "@" $8 "-" $9; sep = " "} END {print line}')
}

expect() { [ "$got" = "$1" ] || fail "$policy
expected: $1
got:      $got"; }

sql() {
    value=$(sqlite3 run.db "$1")
    [ "$value" = "$2" ] || fail "$policy: $1
expected: $2
got:      $value"
}

metric() { sql "SELECT value, n FROM metric WHERE name = '$1' AND scope || label = '$2'" "$3"; }

case_give_up() {
    # l1 holds both GPUs until 100. s1 leaves at 40, and d1, which waits for it, is eligible then; s3's
    # patience is over at 100, before the cycle of that time. s2 and d1 start at 100.
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,give_up_s,after
l1,0,100,1,2,,
d1,0,50,1,1,,s1
s1,10,50,1,1,30,
s2,20,50,1,1,200,
s3,30,50,1,1,70,
s4,200,50,1,1,9999,
CSV
    for p in fifo easy static kube las kai; do
        run $p 1x2
        if [ $p = las ]; then # rounds of a minute
            expect 'l1@0-100 d1@120-170 s1@-40 s2@120-170 s3@-100 s4@240-290'
            continue
        fi
        expect 'l1@0-100 d1@100-150 s1@-40 s2@100-150 s3@-100 s4@200-250'
        # the run ends with the last job, not with the patience of one that started
        sql "SELECT end_ms FROM run" 250000
        sql "SELECT group_concat(job || ' ' || state, ', ') FROM v_jobs WHERE job GLOB 's*'" \
            's1 gave up, s2 finished, s3 gave up, s4 finished'
        # Kaplan-Meier: 0 s of l1 and s4 leave 4/6; s1 censored at 30; 60 s of d1 at risk 3: 4/9; s3
        # censored at 70; 80 s of s2 at risk 1: 0
        metric gave_up all '2.0|6'
        metric wait_p50_s all '60.0|6'
        metric wait_p95_s all '80.0|6'
        metric wait_max_s all '80.0|4'
        metric unstarted all '2.0|6'
        metric finished all '4.0|6'
        metric gave_up workloadworkload=t '2.0|4'
        metric gave_up_share workloadworkload=t '0.5|4'
        sql "SELECT count(*), max(at_s) FROM v_reasons WHERE reason = 'gave-up'" '2|100.0'
        sql "SELECT max(to_ms) FROM v_reason_intervals WHERE job = 2" 40000
        grep -q '^gave up     2 of 6 jobs left before they started$' out || fail "the summary does not say so"
    done
    "$orrery" explain run.db s1 >out || fail "explain fails"
    grep -q 'leaves: it has waited as long as it was ready to' out || fail "explain does not say why"
    sql "SELECT count(*) FROM v_pending WHERE to_ms IS NULL" 0
    sed 's/9999/0/' trace.csv >none.csv
    mv none.csv trace.csv
    if "$orrery" run run.yaml -o run.db --force -q 2>err; then fail "a patience of 0 is taken"; fi
    grep -q 'trace.csv:7: job s4: give_up_s must be above 0' err || fail "no line of a patience of 0"
}

case_give_up_of_part_of_a_gang() {
    # under kube two pods of g1 hold GPUs and wait for the third; it leaves at 50, and x2 starts
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,give_up_s,kind
x1,0,100,1,2,,training
g1,10,50,3,1,40,interactive
x2,20,10,1,2,,training
CSV
    run kube 1x4
    expect 'x1@0-100 g1@-50 x2@50-60'
    metric gave_up all '1.0|3'
    sql "SELECT waiting FROM job_time WHERE job = 1" 80000000
    metric gang_wait_gpu_h all '0.0222222222222222|3'
    sql "SELECT max(allocated_mgpu) FROM v_allocation WHERE at_ms < 50000" 4000
}

case_give_up_generated() {
    # what a part makes up gives up as its trace does
    cat >made.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
horizon: 1d
workload:
- name: n
  kind: interactive
  generate: {sizes: {1: 1}, arrivals: {per_hour: 4}, duration: {fixed: 40m}, give_up: 15m}
  objective: {start_within: 60s}
YAML
    policy=fifo
    "$orrery" run made.yaml -o made.db --force -q 2>err || fail "generated run failed"
    "$orrery" trace gen made.yaml -o made.csv 2>err || fail "gen failed"
    head -1 made.csv | grep -q give_up_s || fail "the trace does not say when they give up"
    "$orrery" run --trace made.csv --cluster 1x2 -o run.db --force -q 2>err || fail "run of the trace failed"
    sql "ATTACH 'made.db' AS m; SELECT (SELECT total(state = 4) FROM main.job WHERE submit_ms < 80000000) =
 (SELECT total(state = 4) FROM m.job WHERE submit_ms < 80000000), (SELECT total(state = 4) FROM m.job) > 5" '1|1'
    # nobody waits longer than a quarter of an hour, and who left did not start within the minute
    sql "ATTACH 'made.db' AS m; SELECT max(wait_s) <= 900 FROM m.v_jobs" 1
    sql "ATTACH 'made.db' AS m; SELECT abs(value - (SELECT total(wait_s <= 60) / count(*) FROM m.v_jobs
 WHERE state <> 'pending')) < 1e-9 FROM m.metric WHERE name = 'attainment'" 1
}

case_deadline() {
    # b1 ends at 100, b2 at 50, b3 from 100 to 130; b4 runs from 130 past the horizon of 600 and its
    # deadline; b5 has time left; b6 left at 40, when it could still have met its own
    cat >trace.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,deadline_s,give_up_s
b1,0,100,1,1,90,
b2,0,50,1,1,60,
b3,10,30,1,2,120,
b4,20,1000,1,1,500,
b5,20,1000,1,1,5000,
b6,30,10,1,2,5000,10
b7,30,10,1,2,,
CSV
    run fifo 1x2 'horizon: 600s'
    expect 'b1@0-100 b2@0-50 b3@100-130 b4@130- b5@130- b6@-40 b7@-'
    # met: b2. Missed: b1, b3, b4, b6. Lateness: -10, 10, 10; censored: 100 of b4, -4400 of b5 and b6.
    # Kaplan-Meier: 6 at risk, two censored, then at -10 of 4 at risk: 3/4, at 10: 1/4
    metric deadline_met all '0.2|5'
    metric deadlines_missed all '4.0|6'
    metric deadlines_open all '1.0|6'
    metric lateness_mean_s workloadworkload=t '3.33333333333333|3'
    metric lateness_p50_s workloadworkload=t '10.0|6'
    metric lateness_max_s all '10.0|3'
    metric tardiness_mean_s all '6.66666666666667|3'
    sql "SELECT group_concat(coalesce(lateness_s, '-') || ' ' || coalesce(met, '-'), ', ') FROM v_deadlines" \
        '10.0 0, -10.0 1, 10.0 0, - 0, - -, - 0'
}

# A template's deadline counts from the submit, for copies and generated jobs too; a row's own wins.
case_deadline_of_template() {
    printf 'job,submit_s,run_s,template,deadline_s\na,5,10,batch,\nb,7,10,batch,9\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 2}}}
templates: {batch: {gpus_per_pod: 1, deadline: 20s, checkpoint: 4s, checkpoint_cost: 2s}}
workload: [{name: t, trace: trace.csv, copies: 2}]
YAML
    policy=fifo
    start
    # two checkpoints of 2 s each on the way
    expect 'a@5-19 b@7-21 a#2@86407-86421 b#2@86409-86423'
    sql "SELECT group_concat((deadline_s - submit_s) || ' ' || met, ', ') FROM v_deadlines" '20.0 1, 2.0 0, 20.0 1, 2.0 0'
}

# scenario POLICY CLUSTER TEMPLATES [MORE]: the same with templates.
scenario() {
    policy=$1
    cat >run.yaml <<YAML
cluster: {$2}
queues: {q: {gpu: [64, 1, unlimited]}}
templates: {$3}
workload: [{name: t, trace: trace.csv, queue: q${4:-}}]
policy: {name: $1}
YAML
    start
}

# Any three pods are not the gang: the head has to be there, and its node is taken until 50.
case_roles_each_have_a_minimum() {
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,node_selector
x,0,50,,1,1,place=h
r,1,10,ray,,,
CSV
    ray='ray: {roles: {worker: {pods: 4, min: 2, gpus_per_pod: 1}, head: {pods: 1, gpus_per_pod: 1, node_selector: place=h}}}'
    for p in fifo easy static kube kai; do
        scenario $p 'pools: {h: {nodes: 1, gpus: 1, labels: {place: h}}, w: {nodes: 1, gpus: 4}}' "$ray"
        expect 'x@0-50 r@50-60'
        sql "SELECT pods, min_pods FROM job WHERE name = 'r'" '5|3'
        sql "SELECT count(*) FROM v_placements AS p JOIN node AS n ON n.id = p.node WHERE n.pool = 'h' AND p.job = 1" 1
    done
    # a worker less than it needs, too
    sed 's/^r,1/y,0,90,,3,1,\nr,1/' trace.csv >more.csv
    mv more.csv trace.csv
    for p in fifo kube kai; do
        scenario $p 'pools: {h: {nodes: 1, gpus: 1, labels: {place: h}}, w: {nodes: 1, gpus: 4}}' "$ray"
        expect 'x@0-50 y@0-90 r@90-100'
    done
    "$orrery" explain run.db r >/dev/null
}

# One of two subgroups of four GPUs each is enough: kai starts it on four, and adds the other at 50.
case_subgroups() {
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod
x,0,50,,1,4
s,1,100,pair,,
CSV
    pair='pair: {min_subgroups: 1, roles: {a: {roles: {p: {gpus_per_pod: 2}, d: {gpus_per_pod: 2}}}, b: {roles: {p: {gpus_per_pod: 2}, d: {gpus_per_pod: 2}}}}}'
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$pair"
    expect 'x@0-50 s@1-101'
    sql "SELECT group_concat(at || ':' || mgpu, ' ') FROM (SELECT start_ms / 1000 AS at, sum(mgpu) AS mgpu FROM
 v_placements WHERE job = 1 GROUP BY start_ms ORDER BY 1)" '1:4000 50:4000'
    sql "SELECT pods, min_pods FROM job WHERE name = 's'" '4|2'
    for p in fifo static; do # these start all or nothing
        scenario $p 'pools: {p: {nodes: 1, gpus: 8}}' "$pair"
        expect 'x@0-50 s@50-150'
    done
    # half of a subgroup is none: on two free GPUs it waits
    sed 's/,4$/,6/' trace.csv >more.csv
    mv more.csv trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$pair"
    expect 'x@0-50 s@50-150'
    # both are needed where nothing is said
    sed 's/,6$/,4/' trace.csv >more.csv
    mv more.csv trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$(echo "$pair" | sed 's/min_subgroups: 1, //')"
    expect 'x@0-50 s@50-150'
}

# The wide role needs a rack for itself, the other takes what is left of the cluster.
case_role_topology() {
    cat >trace.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,node_selector
x,0,100,,1,2,place=first
g,1,50,two,,,
CSV
    scenario kai 'pools: {f: {nodes: 1, gpus: 2, rack_size: 2, labels: {place: first}}, p: {nodes: 4, gpus: 2, rack_size: 2}}' \
        'two: {roles: {wide: {pods: 2, gpus_per_pod: 2, topology: {required: rack}}, thin: {pods: 3, gpus_per_pod: 1}}}'
    expect 'x@0-100 g@1-51'
    sql "SELECT count(DISTINCT d.domain), count(*) FROM v_placements AS p JOIN node_domain AS d ON d.node = p.node AND
 d.level = 'rack' WHERE p.job = 1 AND p.mgpu = 2000" '1|2'
}

# A part's template says what rows leave open: kind, shape and profile; a row's own word goes first.
case_template_of_a_trace() {
    printf 'job,submit_s,run_s\na,0,100\nb,0,100\n' >trace.csv
    cat >run.yaml <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8, numa_zones: 8}}}
profiles: {half: {kind: fixed, misaligned: 0.5}}
templates: {n: {kind: interactive, gpus_per_pod: 3, pods: 1, profile: half}}
workload: [{name: t, trace: trace.csv, template: n}]
YAML
    policy=fifo
    start
    expect 'a@0-100 b@0-100'
    sql "SELECT DISTINCT kind, gpus FROM v_jobs" 'interactive|3.0'
    printf 'job,submit_s,run_s,gpus,kind\na,0,100,5,training\nb,0,100,,\n' >trace.csv
    start
    sql "SELECT group_concat(kind || ' ' || gpus, ', ') FROM v_jobs" 'training 5.0, interactive 3.0'
    # of another format: its rows say how many GPUs, the template the rest
    printf ';\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n' >trace.swf
    sed -i 's/trace.csv/trace.swf/' run.yaml
    start
    sql "SELECT kind, gpus FROM v_jobs" 'interactive|4.0'
    # refused: a name that does not exist, roles beside GPUs, pods beside roles
    if "$orrery" run run.yaml -o run.db --force -q --set workload.t.template=m 2>err; then fail "no template m"; fi
    grep -q 'unknown template "m"' err || fail "the template is not named"
    sed -i 's/{n: {/{r: {roles: {a: {pods: 2}}}, n: {/' run.yaml
    if "$orrery" run run.yaml -o run.db --force -q --set workload.t.template=r 2>err; then fail "roles and GPUs"; fi
    grep -q 'pods are stated, but its template has roles: r' err || fail "roles and GPUs: no line"
}

case_refused() {
    printf 'job,submit_s,run_s,template\na,0,1,t\n' >trace.csv
    refused() { # TEMPLATE SENTENCE
        printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: trace.csv}]\ntemplates:\n  t: %s\n' "$1" >run.yaml
        if "$orrery" run run.yaml -o run.db --force -q 2>err; then fail "taken: $1"; fi
        grep -q "^orrery: run.yaml:4:[0-9]*: $2" err || fail "$1"
    }
    refused '{min_subgroups: 3, roles: {a: {pods: 1}, b: {pods: 1}}}' 'min_subgroups: 3 of 2 roles'
    refused '{min_subgroups: 1}' 'min_subgroups: 1 of 0 roles'
    refused '{roles: {a: {min_subgroups: 1, pods: 1}}}' 'min_subgroups: 1 of 0 roles'
    refused '{roles: {a: {pods: 2, roles: {b: {pods: 1}}}}}' 'pods: role "a" has roles of its own'
    refused '{roles: {a: {gpus_per_pod: 1, roles: {b: {pods: 1}}}}}' 'gpus_per_pod: role "a" has roles'
    refused '{roles: {a: {roles: {b: {rolls: {}}}}}}' 'unknown key "rolls"'
    refused '{roles: {a: {roles: {b: {pods: 1, min: 2}}}}}' 'min: 2 of 1 pods'
}

# workers TEMPLATE: from when to when how many GPUs the job r held, as FROM-TO:GPUS.
held() {
    sqlite3 run.db "SELECT group_concat(a || '-' || b || ':' || n, ' ') FROM (SELECT p.start_ms / 1000.0 AS a,
 p.end_ms / 1000.0 AS b, sum(p.mgpu) / 1000 AS n FROM v_placements AS p JOIN job AS j ON j.id = p.job
 WHERE j.name = 'r' AND p.mgpu > 0 GROUP BY 1, 2 ORDER BY 1, 2)"
}

expect_held() { [ "$(held)" = "$1" ] || fail "$policy
expected: $1
got:      $(held)"; }

ray='ray: {autoscale: {role: worker, backlog: [2x40s, 40x10s, 1x100s], idle: 20s}, roles: {head: {cpu: 1}, worker: {pods: 8, min: 1, gpus_per_pod: 1}}}'

# Two tasks of 40 s want two workers; 400 s of 40 tasks want all eight, and take 50 s on them; one task
# wants one worker from 90 on, and the other seven leave at 110.
case_workers_follow_the_backlog() {
    printf 'job,submit_s,run_s,template,pods,gpus_per_pod\nr,0,,ray,,\n' >trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$ray"
    expect 'r@0-190'
    expect_held '0.0-110.0:1 0.0-190.0:1 40.0-110.0:6'
    sql "SELECT pods, min_pods, work_ms, evictions FROM job" '9|2|190000|0'
    # seven idle for 20 s
    sql "SELECT (SELECT count(*) FROM eviction), slow FROM job_time" '0|140000000'
    # the backlog waits for workers: two until 60, which do 40 of the 400 s, then eight for 45 s
    printf 'job,submit_s,run_s,template,pods,gpus_per_pod\nx,0,60,,1,6\nr,0,,ray,,\n' >trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$ray"
    expect 'x@0-60 r@0-205'
    expect_held '0.0-125.0:1 0.0-205.0:1 60.0-125.0:6'
    # what it does not want is there for others: y runs beside the first stage, and ends with it
    printf 'job,submit_s,run_s,template,pods,gpus_per_pod\nr,0,,ray,,\ny,1,39,,1,6\n' >trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$ray"
    expect 'r@0-190 y@1-40'
    # two slots each: one worker does the first stage, eight do 16 tasks at once, and 40 take 25 s
    printf 'job,submit_s,run_s,template,pods,gpus_per_pod\nr,0,,ray,,\n' >trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$(echo "$ray" | sed 's/idle: 20s/slots: 2, idle: 0s/')"
    expect 'r@0-165'
    expect_held '0.0-165.0:1 40.0-65.0:7'
    # policies that add no pods to jobs start all workers, and they stay
    for p in fifo static; do
        scenario $p 'pools: {p: {nodes: 1, gpus: 8}}' "$ray"
        expect 'r@0-190'
        expect_held '0.0-190.0:8'
    done
}

# Evicted at 70 it goes back to its last checkpoint, of 60 s of work: 20 s into the second stage.
case_workers_after_an_eviction() {
    printf 'job,submit_s,run_s,template,pods,gpus_per_pod,kind\nr,0,,ray,,,training\nz,70,30,,1,8,interactive\n' >trace.csv
    scenario kai 'pools: {p: {nodes: 1, gpus: 8}}' "$(echo "$ray" | sed 's/autoscale/checkpoint: 20s, &/')"
    sql "SELECT attempts, start_ms FROM job WHERE name = 'z'" '1|71000'
    # it holds all eight again from 101 on, has 30 s of the stage to do and then the last one
    expect 'r@0-231 z@71-101'
    expect_held '0.0-70.0:2 40.0-70.0:6 101.0-151.0:7 101.0-231.0:1'
}

case_backlog_refused() {
    printf 'job,submit_s,run_s,template\na,0,%s,t\n' '' >trace.csv
    refused() { # TEMPLATE SENTENCE
        printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: trace.csv}]\ntemplates:\n  t: %s\n' "$1" >run.yaml
        if "$orrery" run run.yaml -o run.db --force -q 2>err; then fail "taken: $1"; fi
        grep -q "^orrery: run.yaml:4:[0-9]*: $2" err || fail "$1"
    }
    refused '{autoscale: {role: w, backlog: [1x1s]}}' 'autoscale: the template has no role "w" with pods'
    refused '{autoscale: {role: a, backlog: []}, roles: {a: {pods: 2}}}' 'autoscale: the backlog says'
    refused '{run: 1h, autoscale: {role: a, backlog: [1x1s]}, roles: {a: {pods: 2}}}' 'autoscale: the backlog says'
    for stage in 0x1s 1x0s 1x 4 x3s -1x1s 2x3 9999999999x1s; do
        refused "{autoscale: {role: a, backlog: [$stage]}, roles: {a: {pods: 2}}}" "backlog: \"$stage\" is not TASKSxDURATION"
    done
    refused '{autoscale: {backlog: [1x1s]}, roles: {a: {pods: 2}}}' 'autoscale: "role" is missing'
    printf 'job,submit_s,run_s,template\na,0,5,t\n' >trace.csv
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: trace.csv}]\ntemplates: {t: {autoscale: {role: a, backlog: [1x1s]}, roles: {a: {pods: 2}}}}\n' >run.yaml
    if "$orrery" run run.yaml -o run.db --force -q 2>err; then fail "a run time beside a backlog"; fi
    grep -q 'trace.csv:2: job a: states a run time, and its template a backlog: t' err || fail "run time"
}

"case_$2"
