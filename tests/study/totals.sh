#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What figures and reports sum up over time is what the metrics say, on five scenarios: evictions, services,
# failures, rounds, and one in which nothing waits. The figure's data are read where gnuplot is not found.
#
#   totals.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

near() { # WHAT A B: equal but for the digits that are printed
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; m = a > b ? a : b; exit !(a != "" && b != "" && d * d <= (1e-4 * m + 1e-4) ^ 2) }' ||
        fail "$name: $1: $2 and $3"
}
data() { # FIGURE: its data, the blocks in order
    PATH=$dir/none "$orrery" plot $name.db "$1" -o "$name-$1" >out 2>err || [ $? = 69 ] || fail "$name: plot $1"
    cat "$name-$1/$name-$1".dat
}
query() {
    sqlite3 $name.db "$1"
}

# Lending, made again in SQL: at any time what is beyond quotas comes from what is left of others, in proportion.
lending="WITH edge AS (SELECT DISTINCT at_ms FROM (SELECT at_ms FROM v_allocation UNION SELECT at_ms FROM v_queue_depth
    UNION SELECT from_ms FROM v_owed UNION SELECT window_start_ms FROM run UNION SELECT window_end_ms FROM run)),
step AS (SELECT at_ms AS t, lead(at_ms) OVER (ORDER BY at_ms) AS u FROM edge),
cut AS (SELECT t, u FROM step CROSS JOIN run WHERE t >= window_start_ms AND u <= window_end_ms),
state AS (SELECT c.t, c.u, q.id, s.shard, o.gpu_quota * 1000 AS quota,
    coalesce((SELECT allocated_mgpu FROM a WHERE a.queue = q.name AND a.at_ms <= c.t ORDER BY a.at_ms DESC LIMIT 1), 0) AS held,
    coalesce((SELECT pending_mgpu FROM d WHERE d.queue = q.name AND d.at_ms <= c.t ORDER BY d.at_ms DESC LIMIT 1), 0) AS waits
    FROM cut AS c CROSS JOIN queue AS q JOIN v_owed AS o ON o.queue = q.id AND o.from_ms <= c.t AND coalesce(o.to_ms, 9e18) > c.t
    LEFT JOIN shard_queue AS s ON s.queue = q.id WHERE q.leaf),
sums AS (SELECT t, u, shard, sum(max(0, held - quota)) FILTER (WHERE quota >= 0) AS beyond,
    sum(max(0, quota - held)) FILTER (WHERE quota >= 0) AS idle FROM state GROUP BY t, shard)"
both="CREATE TEMP TABLE a AS SELECT * FROM v_allocation; CREATE TEMP TABLE d AS SELECT * FROM v_queue_depth;
    CREATE INDEX temp.a_by ON a (queue, at_ms); CREATE INDEX temp.d_by ON d (queue, at_ms);"

block() { # FIGURE NUMBER: the rows of one of its blocks
    awk -v n="$2" '/^#/ { b++; next } b == n && NF > 1' "$name-$1/$name-$1".dat
}
area() { # COLUMN: steps of two rows each, value x seconds; 0: the last column
    awk -v c="$1" 'NR % 2 { x = $1; next } { sum += ($1 - x) * $(c > 0 ? c : NF) } END { printf "%.9g\n", sum }'
}
most() {
    awk 'BEGIN { m = 0 } $2 > m { m = $2 } END { printf "%.9g\n", m }'
}

# Held and waited for: the area below the steps is what was held in all, and the peaks are those of the exact course.
figures() {
    end=$(query 'SELECT end_ms FROM run')
    for figure in allocation depth startable reasons fairness share; do
        data $figure >/dev/null
        sed "s/'\.\"\\\\n\"\.'/ /g" "$name-$figure/$name-$figure.gp" | grep -q 'heading = .*; means over [0-9.]* \(ms\|s\|min\|h\|d\)' || grep -q '^# no ' "$name-$figure/$name-$figure".dat ||
            fail "$name: figure $figure does not state its bucket"
    done
    near 'figure allocation, GPU-s held' "$(block allocation 1 | area 0)" \
        "$(query "SELECT total(mgpu * (coalesce(end_ms, $end) - start_ms)) / 1e6 FROM v_placements")"
    near 'figure allocation, peak' "$(block allocation 3 | most)" "$(query "WITH c AS (SELECT start_ms AS at, mgpu FROM v_placements
        UNION ALL SELECT end_ms, -mgpu FROM v_placements WHERE end_ms IS NOT NULL), i AS (SELECT at, sum(mgpu) AS m FROM c WHERE at < $end GROUP BY at)
        SELECT coalesce(max(m), 0) / 1000.0 FROM (SELECT sum(m) OVER (ORDER BY at) AS m FROM i)")"
    near 'figure allocation, GPU-s there' "$(block allocation 2 | area 2)" "$(query "SELECT total((coalesce(next, $end) - at_ms) * gpus_up) / 1000.0
        FROM (SELECT min(at_ms, $end) AS at_ms, gpus_up, min(lead(at_ms) OVER (PARTITION BY pool ORDER BY at_ms), $end) AS next FROM v_capacity)")"
    for what in 'jobs 1 4' 'mgpu 2 5'; do
        set -- $what
        unit=$([ "$1" = jobs ] && echo 1 || echo 1000)
        near "figure depth, $1 x s" "$(block depth "$2" | area 0)" "$(query "SELECT total((coalesce(next, $end) - at_ms) * pending_$1) / 1000.0 / $unit
            FROM (SELECT at_ms, pending_$1, lead(at_ms) OVER (PARTITION BY queue ORDER BY at_ms) AS next FROM v_queue_depth)")"
        near "figure depth, peak of $1" "$(block depth "$3" | most)" "$(query "WITH t AS (SELECT DISTINCT at_ms AS t FROM v_queue_depth WHERE at_ms < $end),
            d AS MATERIALIZED (SELECT * FROM v_queue_depth)
            SELECT coalesce(max(m), 0) * 1.0 / $unit FROM (SELECT total((SELECT pending_$1 FROM d WHERE d.queue = q.name AND d.at_ms <= t.t ORDER BY d.at_ms DESC LIMIT 1)) AS m
            FROM t CROSS JOIN queue AS q WHERE q.leaf GROUP BY t.t)")"
    done
    near 'figure reasons, GPU-s waited' "$(block reasons 1 | area 0)" "$(query "SELECT total((i.to_ms - i.from_ms) * j.mgpu) / 1e6 FROM v_reason_intervals AS i
        JOIN job AS j ON j.id = i.job WHERE j.id NOT IN (SELECT job FROM never)")"
    near 'figure startable, GPU-s free' "$(block startable 1 | area 2)" "$(awk -v a="$(block allocation 2 | area 2)" -v b="$(block allocation 1 | area 0)" 'BEGIN { printf "%.9g", a - b }')"
}

holds() { # the run $name.db
    figures
    debt=$(query "SELECT value FROM metric WHERE name = 'quota_debt_gpu_h' AND scope = 'all'")
    data debt >debt.dat
    if awk -v d="$debt" 'BEGIN { exit !(d > 0) }'; then # the last row: all queues summed at the end of the run
        near 'figure debt, GPU-hours at its end' "$(awk 'NF > 1 && $1 !~ /#/ { last = $NF } END { print last }' debt.dat)" "$debt"
    fi
    "$orrery" report $name.db -o $name.html -q >/dev/null 2>err || fail "$name: report"
    lent=$(query "$both $lending SELECT total(min(beyond, idle) * (u - t)) / 3.6e9 FROM sums")
    waited=$(query "$both $lending SELECT total(m.idle * CASE WHEN s.idle > s.beyond THEN s.beyond / s.idle ELSE 1 END * (m.u - m.t)) / 3.6e9
        FROM (SELECT *, max(0.0, quota - held) AS idle FROM state WHERE quota >= 0 AND waits > 0) AS m JOIN sums AS s USING (t, shard)
        WHERE s.beyond > 0 AND m.idle > 0")
    said=$(grep -o 'Of [^.]*\.*[^.]* GPU-hours lent in all, [^.]*\.*[^.]* were while' $name.html | sed 's/[^0-9. ]//g') || said=
    [ -n "$said" ] || { near 'nothing lent' "$lent" 0; return; }
    set -- $said
    awk -v a="$1" -v b="$lent" -v c="$2" -v d="$waited" 'BEGIN { x = a - b; y = c - d; exit !(x * x <= (0.01 * b + 0.06) ^ 2 && y * y <= (0.01 * d + 0.06) ^ 2) }' ||
        fail "$name: lent $1 (made again $lent), while jobs of the lender waited $2 (made again $waited)"
}

cat >base.txt <<'YAML'
horizon: 3d
queues: {a: {gpu: [24, 1, unlimited]}, b: {gpu: [16, 1, unlimited]}, c: {gpu: [8, 1, 40]}}
workload:
- {name: w, generate: {sizes: {1: 6, 4: 3, 8: 2, 16: 1}, queues: {a: 3, b: 2, c: 2}, arrivals: {per_day: 260}, duration: {exponential: {mean: 2h}}}}
YAML
{ printf 'cluster: {pools: {p: {nodes: 6, gpus: 8}}}\npolicy: kai\n'; cat base.txt; } >evictions.yaml
{ printf 'cluster: {pools: {p: {nodes: 7, gpus: 8}}, failures: {each: node, mtbf: 3d, repair: {median: 6h, sigma: 0.5}}}\npolicy: kai\n'; cat base.txt; } >failures.yaml
{ printf 'cluster: {pools: {p: {nodes: 6, gpus: 8}}}\nexecution: {round: 10m}\npolicy: fifo\n'; cat base.txt; } >rounds.yaml
{ printf 'cluster: {pools: {p: {nodes: 200, gpus: 8}}}\npolicy: fifo\n'; cat base.txt; } >idle.yaml
for name in evictions failures rounds idle; do
    "$orrery" run $name.yaml -o $name.db -q --no-progress --allow-loss 2>err || [ $? = 1 ] || fail "run $name: $(cat err)"
    holds
done
name=services
"$orrery" run "$source/scenarios/whatif/inference/inference.yaml" -o $name.db -q --no-progress 2>err || [ $? = 1 ] || fail "run $name"
holds
[ "$(sqlite3 evictions.db "SELECT sum(value) > 0 FROM metric WHERE name IN ('evictions', 'quota_debt_gpu_h') AND scope = 'all'")" = 1 ] || fail "nothing was evicted or owed"
printf 'totals\n'
