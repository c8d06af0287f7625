#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# generate.sh ORRERY NAME: workloads that are made up, through the program: waits against queueing
# theory, templates against rows that say the same, generated jobs against the trace of them.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

die() {
    echo "$*"
    exit 1
}

# mean_waits: runs queue.yaml under 30 seeds; a line with the mean wait of each
mean_waits() {
    seed=1
    while [ $seed -le 30 ]; do
        "$orrery" run queue.yaml --seed $seed -o q.db --force -q
        "$orrery" export q.db metric | awk -F, '$1 == "wait_mean_s" && $2 == "all" {print $4}'
        seed=$((seed + 1))
    done
}

# within THEORY: is it within the 95 % interval of the mean of the 30 numbers on standard input?
within() {
    awk -v theory="$1" '{n++; s += $1; q += $1 * $1}
        END {
            mean = s / n; half = 2.0452 * sqrt((q / n - mean * mean) * n / (n - 1) / n)
            printf "theory %.3f, simulated %.3f +- %.3f of %d seeds\n", theory, mean, half, n
            exit !(n == 30 && half < 0.1 * theory && theory > mean - half && theory < mean + half)
        }'
}

# queue SERVERS PER_HOUR DURATION
queue() {
    cat >queue.yaml <<YAML
start: 2026-06-01T00:00:00Z
warmup: 2d
cluster: {pools: {p: {nodes: 1, gpus: $1}}}
workload:
- {name: jobs, generate: {sizes: {1: 1}, until: 16d, arrivals: {per_hour: $2}, duration: $3}}
policy: fifo
YAML
}

case $2 in
mmc) # M/M/4 at 80 %: Erlang C (Erlang, 1917)
    queue 4 32 '{exponential: {mean: 6m}}'
    theory=$(awk 'BEGIN {
        c = 4; a = 32 * 0.1; rho = a / c; term = 1; sum = 0
        for (k = 0; k < c; k++) {sum += term; term *= a / (k + 1)}
        wait = term / (1 - rho) / (sum + term / (1 - rho))
        print wait / (c * 10 - 32) * 3600}')
    mean_waits | within "$theory"
    ;;
md1) # M/D/1 at 70 %: rho / (2 (1 - rho)) services (Pollaczek, 1930; Khinchine, 1932)
    queue 1 42 60s
    theory=$(awk 'BEGIN {print 0.7 / (2 * 0.3) * 60}')
    mean_waits | within "$theory"
    ;;
loop) # 12 users, 4 GPUs, exact mean value analysis of the closed queue (Reiser and Lavenberg, 1980; here by its states)
    cat >loop.yaml <<YAML
start: 2026-06-01T00:00:00Z
horizon: 8d
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload:
- {name: jobs, generate: {sizes: {1: 1}, users: 12, session: {think: {exponential: {mean: 10m}}}, duration: {exponential: {mean: 6m}}}}
policy: fifo
YAML
    theory() {
        awk -v what="$1" 'BEGIN {
            n = 12; c = 4; z = 600; s = 360; p = 1
            for (k = 0; k <= n; k++) {
                if (k > 0) p *= (n - k + 1) / z / ((k < c ? k : c) / s)
                sum += p; there += k * p; served += p * (k < c ? k : c) / s
            }
            print what == "jobs" ? served / sum * 691200 : there / served}'
    }
    seed=1
    while [ $seed -le 30 ]; do
        "$orrery" run loop.yaml --seed $seed -o q.db --force -q
        sqlite3 q.db "SELECT count(*) FROM job WHERE end_ms IS NOT NULL" >>jobs.txt
        sqlite3 q.db "SELECT value FROM metric WHERE name = 'jct_mean_s' AND scope = 'all'" >>response.txt
        seed=$((seed + 1))
    done
    within "$(theory jobs)" <jobs.txt
    within "$(theory response)" <response.txt
    ;;
templates) # what a template says is what its row would say
    cat >base.yaml <<YAML
cluster: {pools: {a: {nodes: 4, gpus: 8, gpu_model: A, rack_size: 2}, b: {nodes: 4, gpus: 8, gpu_model: B, rack_size: 2}}}
queues: {q: {gpu: [64, 1]}}
templates:
  gang: {pods: 2, gpus_per_pod: 4, gpu_model: B, topology: {required: rack}, run: 1h}
  half: {gpu_fraction: 0.5, preemptible: false}
  ray: {roles: {head: {cpu: 8}, worker: {pods: 3, min: 1, gpus_per_pod: 2}}}
workload: [{name: t, trace: trace.csv, queue: q}]
policy: kai
YAML
    printf '%s\n' job,submit_s,run_s,template,pods a,0,,gang, b,1,60,gang,3 c,2,60,half, d,3,60,half, >trace.csv
    "$orrery" run base.yaml -o a.db --force -q
    printf '%s\n' job,submit_s,run_s,pods,gpus_per_pod,gpu_fraction,gpu_model,topology_required,preemptible \
        a,0,3600,2,4,,B,rack, b,1,60,3,4,,B,rack, c,2,60,1,,0.5,,,false d,3,60,1,,0.5,,,false >trace.csv
    "$orrery" run base.yaml -o b.db --force -q
    for table in jobs placement; do
        "$orrery" export a.db $table >a.csv
        "$orrery" export b.db $table >b.csv
        cmp a.csv b.csv
    done
    printf '%s\n' job,submit_s,run_s,template r,0,60,ray >trace.csv
    "$orrery" run base.yaml -o c.db --force -q
    "$orrery" export c.db jobs | awk -F, 'NR == 2 && $1 == "r" && $5 == 4 && $6 == 6 {ok = 1} END {exit !ok}' ||
        die "a head and three workers of two GPUs are four pods and six GPUs"
    printf '%s\n' job,submit_s,run_s,template r,0,60,rya >trace.csv
    "$orrery" check base.yaml >out.txt 2>&1 && die "an unknown template must not pass"
    grep -q 'trace.csv:2: job r: the scenario has no template rya' out.txt || die "$(cat out.txt)"
    ;;
service) # 10 requests a second, two replicas of 10 each, which take 20 s to load
    printf 'time_s,requests\n0,300\n30,300\n' >rate.csv
    cat >service.yaml <<YAML
horizon: 1h
cluster: {pools: {a: {nodes: 2, gpus: 4}}}
workload:
- name: chat
  kind: inference
  service: {gpus_per_pod: 4, replicas: 1..8, rate: rate.csv, service_time: 800ms, concurrency: 8,
            target_utilisation: 0.5, load: 20s}
  objective: {served_within: 2800ms}
policy: fifo
expect:
- requests{workload=chat} == 36000
- requests_dropped{workload=chat} == 0
YAML
    # 20 s of requests wait; 20 a second are served then, and who waits at most 2 s is in time
    "$orrery" run service.yaml -o s.db --force -q
    "$orrery" export s.db metric | awk -F, '$3 == "workload=chat" && ($1 == "attainment" && $4 == 0.99 || $1 == "requests_late" && $4 == 360) {n++} END {exit n != 2}' ||
        die "$("$orrery" export s.db metric | grep workload=chat)"
    # room for one replica only: its line never gets shorter, and is there at the end
    "$orrery" run service.yaml --set cluster.pools.a.nodes=1 -o s.db --force -q
    "$orrery" export s.db metric | awk -F, '$3 == "workload=chat" && ($1 == "requests_late" && $4 == 35800 || $1 == "requests_waiting" && $4 == 200) {n++} END {exit n != 2}' ||
        die "$("$orrery" export s.db metric | grep workload=chat)"
    "$orrery" run service.yaml --set workload.chat.service.rate.scale=2 -o s.db --force -q >out.txt 2>&1 && die "an expectation that is false must not pass"
    grep -q 'requests{workload=chat} == 36000 is false: it is 72000' out.txt || die "$(cat out.txt)"
    printf 'time_s,requests\n0,300\n30,300\n50,300\n' >rate.csv
    "$orrery" check service.yaml >out.txt 2>&1 && die "uneven steps must not pass"
    grep -q 'rate.csv:4: times must rise in even steps' out.txt || die "$(cat out.txt)"
    printf 'time_s,requests\n600,300\n630,300\n' >rate.csv
    "$orrery" check service.yaml >out.txt 2>&1 && die "a begin that is not 0 must not pass"
    grep -q 'rate.csv:2: the first time_s is 600 and not 0' out.txt || die "$(cat out.txt)"
    # the weights of the hours hold within the steps of a file, however long they are: as many requests of each
    for step in 900 3600 5400 86400; do
        printf 'time_s,rate\n0,10\n%d,10\n' $step >rate.csv
        "$orrery" run service.yaml --set start=2026-06-01T00:30:00Z --set horizon=2d --set warmup=0s --set workload.chat.service.rate.pattern=office-hours \
            --set workload.chat.service.rate.scale=0.1 -o s.db --force -q >out.txt 2>&1 && die "other requests than expected must not pass"
        sqlite3 s.db "SELECT round(value, 3) FROM metric WHERE name = 'requests'" >>requests.txt
    done
    [ "$(sort -u requests.txt | wc -l)" = 1 ] || die "requests by the length of steps: $(cat requests.txt)"
    ;;
mixed) # the mixed week, cut to four days: under kai and kube, which preempt, all objectives hold; without that not
    scenario=$3/mixed/mixed.yaml
    for policy in kai kube; do
        "$orrery" run "$scenario" --set horizon=4d --policy $policy -o m.db --force -q 2>err.txt || die "$policy: $(cat err.txt)"
    done
    for policy in 'kube --param order=submit' static; do
        code=0
        # shellcheck disable=SC2086 # options
        "$orrery" run "$scenario" --set horizon=4d --policy $policy -o m.db --force -q 2>err.txt || code=$?
        [ $code -eq 1 ] || die "$policy: exit $code, $(cat err.txt)"
    done
    ;;
fit) # a model of a trace has its jobs, hours, sizes and run times, in a scenario that runs
    awk 'BEGIN {
        print "job,submit_s,run_s,gpus,queue,user"
        for (b = 0; b < 120; b++) { # bursts of like jobs, of two queues, half of them on the second day
            at = 20000 + b * 700; size = b % 5 == 0 ? 8 : 1; run = 100 * (1 + b * 37 % 11)
            for (j = 0; j < 1 + b % 7; j++) {
                printf "b%dj%d,%d,%d,%d,q%d,u%d\n", b, j, at + j * 20, run + j, size, b % 2, b % 3
            }
        }
    }' >real.csv
    "$orrery" trace fit real.csv -o model.yaml --cluster 2x8 --gap 1m --json >fit.json 2>err.txt || die "$(cat err.txt)"
    awk -F'[:,]' '/"name"/ {name = $2} /"off"/ && name ~ /"(jobs|gpu_h|run_p)/ {n++; if ($2 > 0.05 || $2 < -0.05) bad = 1}
        /"size_share_off_most"/ && $2 > 0.05 {bad = 1} END {exit n != 11 || bad}' fit.json || die "$(cat fit.json)"
    "$orrery" run model.yaml -o a.db --force -q
    "$orrery" trace gen model.yaml -o gen.csv
    "$orrery" run model.yaml --set workload.model.scale.arrivals=2 -o b.db --force -q
    "$orrery" export a.db jobs >a.csv
    "$orrery" export b.db jobs >b.csv
    [ "$(wc -l <a.csv)" -eq "$(wc -l <gen.csv)" ] || die "a run has other jobs than trace gen"
    awk 'NR == FNR {a++; next} {b++} END {exit !(b > 1.9 * a && b < 2.1 * a)}' a.csv b.csv || die "twice as many bursts"
    cut -d, -f1 a.csv | grep -q '^b' && die "a model has names of jobs"
    "$orrery" trace fit real.csv --step none --gap none --seeds 2 >out.txt
    grep -q 'not kept:.*change over time (--step keeps it).*come in bursts' out.txt || die "$(cat out.txt)"
    "$orrery" trace fit real.csv -o model.yaml >out.txt 2>&1 && die "a model must not be overwritten"
    code=0
    "$orrery" run model.yaml --set workload.model.generate.users=3 -o a.db --force >out.txt 2>&1 || code=$?
    [ $code -ne 0 ] && grep -q 'classes say queues, users' out.txt || die "$(cat out.txt)"
    ;;
trace) # a generated part is its own trace, and a seed is a seed
    cat >gen.yaml <<YAML
start: 2026-06-01T00:00:00Z
cluster: {pools: {a: {nodes: 4, gpus: 8}}}
queues: {q: {gpu: [16, 1]}, r: {gpu: [16, 1]}}
templates: {half: {gpu_fraction: 0.5}, gang: {pods: 2, gpus_per_pod: 4}}
workload:
- name: part
  kind: training
  generate: {templates: {half: 2, gang: 1}, queues: {q: 1, r: 2}, users: 5, until: 3d, batch: 2,
             arrivals: {pattern: office-hours, per_day: 40}, duration: {weibull: {scale: 2h, shape: 0.8}}}
policy: kai
YAML
    sed -e '/^  generate/,/duration/d' -e 's/^- name: part/- {name: part, trace: part.csv}/' -e '/^  kind/d' gen.yaml >replay.yaml
    for seed in 1 2; do
        "$orrery" trace gen gen.yaml --seed $seed >part.csv
        "$orrery" run gen.yaml --seed $seed -o a.db --force | grep -o 'digest.*' >a.txt
        "$orrery" run replay.yaml -o b.db --force | grep -o 'digest.*' >b.txt
        cmp a.txt b.txt
        mv a.txt seed$seed.txt
    done
    ! cmp -s seed1.txt seed2.txt || die "two seeds gave the same run"
    # what the part is scaled by is in the trace too, which --force overwrites
    scales="--set workload.part.scale.run=2 --set workload.part.scale.jobs=1.5 --set workload.part.scale.gpus=2"
    "$orrery" trace gen gen.yaml $scales -o part.csv 2>err.txt && die "part.csv was there already"
    "$orrery" trace gen gen.yaml $scales -o part.csv --force
    "$orrery" run gen.yaml $scales -o d.db --force | grep -o 'digest.*' >a.txt
    "$orrery" run replay.yaml -o e.db --force | grep -o 'digest.*' >b.txt
    cmp a.txt b.txt || die "a scaled part runs otherwise than its trace"
    ! cmp -s a.txt seed1.txt || die "a scaled part is the same"
    "$orrery" run gen.yaml --policy fifo -o c.db --force -q
    "$orrery" export a.db jobs | cut -d, -f1-7 >kai.csv
    "$orrery" run gen.yaml --seed 2 --policy fifo -o c.db --force -q
    "$orrery" export c.db jobs | cut -d, -f1-7 >fifo.csv
    cmp kai.csv fifo.csv || die "two policies saw different jobs"
    ;;
esac
