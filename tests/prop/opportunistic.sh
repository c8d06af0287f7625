#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# HiveD's safety with opportunistic jobs, on random worlds: guaranteed jobs have the places and times of a run from
# whose trace the opportunistic ones are gone, whatever bounds there are: GPUs and parts of them, CPU, racks, gangs,
# elastic jobs, nodes that fail. Under a grace they have what their cells allow, later. Beside it: the rules of audit and
# the books, a second run that is the same, and that evictions are for guaranteed jobs, of opportunistic ones.
#
#   opportunistic.sh ORRERY [FROM COUNT]: worlds FROM (1) to FROM + COUNT - 1 (12 in all)
set -eu
LC_ALL=C
export LC_ALL
orrery=$(realpath "$1") from=${2:-1} count=${3:-12}
. "$(dirname "$0")/../scratch.sh"

world() { # SEED: two to four queues, their jobs of priority 0 to 3; o-I are of priority -1
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 7919; nodes = 4 + 2 * below(3); gpus = 4 + 4 * below(2); queues = 2 + below(3); left = nodes * gpus; racks = below(2)
            printf "cluster: {pools: {a: {nodes: %d, gpus: %d, cpu: %d%s}}}\nqueues:\n", nodes, gpus, 8 * gpus, racks ? ", rack_size: 2, block_size: 4" : ""
            for (q = 0; q < queues; q++) {
                quota = q == queues - 1 ? left : below(left + 1); left -= quota
                printf "  %s: {gpu: [%d, 1, unlimited]}\n", substr("xyzw", q + 1, 1), quota
            }
            printf "templates: {t: {}, near: {%s}}\n", racks ? "topology: {preferred: rack}" : ""
            print "workload: [{name: w, trace: t.csv}]"
            print "events:"
            for (e = 0; e < 3; e++) printf "- {at: %ds, fail: n%04d, for: %ds}\n", 100 + below(900), 1 + below(nodes), 20 + below(200)
            printf "policy: {name: fifo, params: {placement: hived, opportunistic_below: 0, backfill: %s, order: %s}}\n",
                below(2) ? "true" : "false", substr("submit  priorityshortest", 1 + 8 * below(3), 8)
        }' >s.yaml
    awk -v seed="$1" "$draw_awk"'
        function below(n) { return int(draw() * n) }
        BEGIN { state = seed * 104729
            gpus = 4 + 4 * (seed % 2)
            print "job,submit_s,run_s,template,pods,min_pods,gpus_per_pod,gpu_fraction,gpu_devices,cpu_milli,queue,priority"
            for (i = 0; i < 160; i++) {
                at += below(18); loose = below(5) < 2; pods = 1 + (below(3) == 0) * below(4); cpu = 1000 * below(3) * below(7)
                kind = below(8); each = ""; part = ""; of = ""
                if (kind == 0) { part = 0.1 * (1 + below(9)); of = 1 + below(2) }
                else if (kind == 1) { each = 0; cpu += 1000 }
                else each = 1 + below(below(2) ? 2 : gpus)
                least = below(4) == 0 ? 1 + below(pods) : pods
                printf "%s-%d,%d,%d,%s,%d,%d,%s,%s,%s,%d,%s,%d\n", loose ? "o" : "g", i, at, 1 + below(loose ? 400 : 200),
                    below(4) ? "t" : "near", pods, least, each, part, of, cpu, substr("xyzw", 1 + below(4), 1), loose ? -1 : below(4)
            }
        }' | sed "$(sed -n 's/^  \([xyzw]\):.*/\1/p' s.yaml | awk 'BEGIN { d = "xyzw" } { n = NR } END { for (i = n + 1; i <= 4; i++) printf "s/,%s,\\(-*[0-9]\\)$/,x,\\1/;", substr(d, i, 1) }')" >all.csv
    grep -v '^o-' all.csv >guaranteed.csv
}
one_run() { # TRACE OUT OPTION..: a run
    cp "$1" t.csv
    out=$2
    shift 2
    "$orrery" run s.yaml -o "$out" -q --force --allow-loss "$@" 2>err || fail "world $seed: $(head -n 1 err)"
}
judged() {
    "$orrery" audit "$1" >audit.txt || fail "world $seed: audit: $(grep ' at ' audit.txt | head -n 1)"
    has=$(sqlite3 -readonly "$1" "SELECT count(*) FROM eviction AS e JOIN job AS v ON v.id = e.job LEFT JOIN job AS w ON w.id = e.for_job
        WHERE e.cause = 'preempt' AND (v.name NOT LIKE 'o-%' OR w.name IS NULL OR w.name NOT LIKE 'g-%')")
    [ "$has" = 0 ] || fail "world $seed: $has evictions of a guaranteed job, or for none"
}
places() { sqlite3 -readonly "$1" "SELECT j.name, p.start_ms, p.end_ms, p.node, p.pods FROM v_placements AS p JOIN job AS j ON j.id = p.job
    WHERE j.name LIKE 'g-%' ORDER BY 1, 2, 3, 4, 5"; }

seed=$from evicted=0 beyond=0 ran=0
while [ "$seed" -lt $((from + count)) ]; do
    world "$seed"
    one_run guaranteed.csv alone.db
    one_run all.csv r.db --check-books
    one_run all.csv again.db
    [ "$(sqlite3 r.db 'SELECT digest FROM run')" = "$(sqlite3 again.db 'SELECT digest FROM run')" ] || fail "world $seed: a second run differs"
    places alone.db >alone.txt
    places r.db >shared.txt
    cmp -s alone.txt shared.txt || fail "world $seed: opportunistic jobs change $(diff alone.txt shared.txt | sed -n 2p)"
    judged r.db
    echo 'execution: {grace: 7s}' >>s.yaml
    one_run all.csv grace.db --check-books
    judged grace.db
    evicted=$((evicted + $(sqlite3 r.db 'SELECT count(*) FROM eviction WHERE for_job IS NOT NULL')))
    ran=$((ran + $(sqlite3 r.db "SELECT count(*) FROM job WHERE name LIKE 'o-%' AND start_ms IS NOT NULL")))
    seed=$((seed + 1))
done
[ "$evicted" -gt 0 ] || fail 'nobody was evicted'
echo "$count worlds: $ran opportunistic jobs started, $evicted evictions; guaranteed jobs as without them"
