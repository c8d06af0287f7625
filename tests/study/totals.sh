#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What figures and reports sum up over time is what the metrics say, on seven scenarios: evictions, services,
# failures, pods of another scheduler on nodes that fail, rounds, one in which nothing waits, and jobs that run with
# fewer pods than they ask for beside others that ask for memory of devices. The figure's data are read where gnuplot is not found.
#
#   totals.sh ORRERY WORK_DIR SOURCE_DIR [NAME...]: those of these scenarios (all)
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
shift 3
wanted=" ${*:-evictions failures foreign rounds idle elastic services} "
is_wanted() { case $wanted in *" $1 "*) ;; *) return 1 ;; esac; }

near() { # WHAT A B: equal but for the digits that are printed
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; m = a > b ? a : b; exit !(a != "" && b != "" && d * d <= (1e-4 * m + 1e-4) ^ 2) }' ||
        fail "$name: $1: $2 and $3"
}
data() { # FIGURE: its data, the blocks in order; none where there is nothing to show, which is said
    PATH=$dir/none "$orrery" plot $name.db "$1" -o "$name-$1" >out 2>err || [ $? = 69 ] || fail "$name: plot $1"
    if [ ! -f "$name-$1/$name-$1".dat ]; then
        grep -q "^not drawn: $1: " out err || fail "$name: no figure $1, and no word of it"
        mkdir -p "$name-$1" && echo "# no $1" | tee "$name-$1/$name-$1.gp" >"$name-$1/$name-$1".dat
    fi
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

whole=$(printf '%s' "$lending" | sed 's/WHERE t >= window_start_ms AND u <= window_end_ms/WHERE 1/') # of all the run

# Why jobs waited, and what for: a job whose pods come and go for those that it wants then.
reasons_of_jobs="(SELECT i.job, i.words, max(i.from_ms, w.from_ms) AS from_ms, min(i.to_ms, w.to_ms) AS to_ms, w.mgpu FROM v_reason_intervals AS i
    JOIN (SELECT job, at_ms AS from_ms, lead(at_ms, 1, 9e18) OVER (PARTITION BY job ORDER BY rowid) AS to_ms, mgpu FROM wanted
    UNION ALL SELECT id, -9e18, 9e18, mgpu FROM job WHERE id NOT IN (SELECT job FROM wanted)) AS w
    ON w.job = i.job AND w.from_ms < i.to_ms AND w.to_ms > i.from_ms WHERE i.job NOT IN (SELECT job FROM never))"

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
    for figure in allocation depth startable reasons fairness share debt; do
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
    rm -rf "$name-part"
    PATH=$dir/none "$orrery" plot $name.db allocation --from 1d --to 30h -o "$name-part" -q 2>err || [ $? = 69 ] || fail "$name: plot of a part"
    [ ! -f "$name-part/$name-allocation".dat ] || near 'figure allocation of a part, GPU-s held' "$(awk '/^#/ { b++; next } b == 1 && NF > 1' "$name-part/$name-allocation".dat | area 0)" \
        "$(query "SELECT total(mgpu * max(0, min(coalesce(end_ms, $end), 108000000) - max(start_ms, 86400000))) / 1e6 FROM v_placements")"
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
    near 'figure reasons, GPU-s waited' "$(block reasons 1 | area 0)" "$(query "SELECT total((to_ms - from_ms) * mgpu) / 1e6 FROM $reasons_of_jobs")"
    # what the thin lines are: the most that waited, was held or owed at any moment, the least that could have started
    near 'figure reasons, peak' "$(block reasons 2 | most)" "$(query "WITH c AS (SELECT from_ms AS at, mgpu FROM $reasons_of_jobs UNION ALL SELECT to_ms, -mgpu FROM $reasons_of_jobs),
        i AS (SELECT at, sum(mgpu) AS m FROM c GROUP BY at) SELECT coalesce(max(m), 0) / 1000.0 FROM (SELECT sum(m) OVER (ORDER BY at) AS m FROM i)")"
    for slot in 1 2 3; do
        near "figure share, peak of queue $slot" "$(block share $slot | awk '$6 > m { m = $6 } END { print m + 0 }')" "$(query "SELECT coalesce(max(allocated_mgpu), 0) / 1000.0
            FROM v_allocation WHERE queue = (SELECT name FROM (SELECT q.name, total(p.mgpu * 1.0 * (coalesce(p.end_ms, $end) - p.start_ms)) AS held FROM queue AS q
            JOIN job AS j ON j.queue = q.id LEFT JOIN v_placements AS p ON p.job = j.id GROUP BY q.id ORDER BY held DESC, q.id LIMIT 1 OFFSET $((slot - 1))))")"
    done
    at=2
    for level in $(query 'SELECT level FROM startable GROUP BY level ORDER BY min(rowid)'); do
        near "figure startable, least in one $level" "$(block startable $at | awk 'NR == 1 || $3 < m { m = $3 } END { print m }')" \
            "$(query "SELECT min(least_gpus) FROM startable WHERE level = '$level'")"
        at=$((at + 1))
    done
    near 'figure startable, GPU-s free' "$(block startable 1 | area 2)" "$(awk -v a="$(block allocation 2 | area 2)" -v b="$(block allocation 1 | area 0)" 'BEGIN { printf "%.9g", a - b }')"
}

# Curves of waits and times: at a quantile that a metric gives, as many are left as it says.
curves() { # FIGURE METRIC: jobs of all curves but services are the last block
    data "$1" >/dev/null
    for percent in 50 95 99; do
        at=$(query "SELECT value FROM metric WHERE name = '$2_p${percent}_s' AND scope = 'all' AND value IS NOT NULL")
        [ -z "$at" ] || awk -v at="$at" -v p=$percent -v lasts="$3" '/^#/ { b++; delete x; n = 0; next } NF == 2 { x[++n] = $1; y[n] = lasts ? 100 - $2 : $2 }
            END { for (i = 1; i <= n; i++) { if (x[i] <= at * 0.97 && y[i] > p + 0.1) bad = 1; if (x[i] >= at * 1.0001 && y[i] < p - 0.1) bad = 1 } exit n < 1 || bad }' \
            "$name-$1/$name-$1".dat || fail "$name: figure $1: not $percent % at $at s"
    done
}

# Each of the rest sums up to what the rows of the run do.
others() {
    held=$(query "SELECT total(mgpu * (coalesce(end_ms, $end) - start_ms)) / 1e6 FROM v_placements")
    [ "$(query 'SELECT max(seen_ms) > 0 FROM v_waits')" = 0 ] || curves wait-cdf wait 1 # else there is no such figure
    curves jct-cdf jct 0
    data size >/dev/null
    not_services="kind NOT IN (SELECT id FROM kind WHERE name = 'inference') AND submit_ms >= (SELECT window_start_ms FROM run)"
    near 'figure size, jobs' "$(block size 1 | awk '{ n += $2 } END { print n + 0 }')" "$(query "SELECT count(*) FROM v_waits WHERE start_ms IS NOT NULL AND $not_services")"
    data nodes >/dev/null
    near 'figure nodes, GPU-s held' "$(awk -v end="$end" -v gpus="$(query 'SELECT sum(gpus) FROM v_job_gpus')" '!/^#/ && NF == 3 { sum += $3; column[$1]; row[$2] }
        END { for (c in column) columns++; for (r in row) rows++; printf "%.9g", sum / 100 * gpus / rows * end / 1000 / columns }' "$name-nodes/$name-nodes".dat)" "$held"
    if [ "$(query 'SELECT count(*) > 0 FROM eviction')" = 1 ]; then # else there is no such figure
        data churn >/dev/null
        near 'figure churn, evictions' "$(block churn 1 | area 0 | awk '{ print $1 / 3600 }')" "$(query "SELECT sum(value) FROM metric WHERE name IN ('evictions', 'partial_evictions') AND scope = 'all'")"
        near 'figure churn, GPU-h lost' "$(block churn 2 | awk 'END { print $NF }')" \
            "$(query 'SELECT total(preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime) / 3.6e9 FROM job_time')"
    fi
    data fragmentation >/dev/null
    near 'figure fragmentation, GPU-s free' "$(block fragmentation 1 | area 0)" "$(query "SELECT total(idle_mgpu * (min(at_ms + series_ms, end_ms) - at_ms)) / 1e6 FROM room CROSS JOIN run")"
    near 'figure fragmentation, GPU-s unusable' "$(block fragmentation 1 | area 3)" \
        "$(query "SELECT total(unusable_mgpu * (min(at_ms + series_ms, end_ms) - at_ms)) / 1e6 FROM room CROSS JOIN run")"
    near 'figure fairness, GPU-s above fair share' "$(block fairness 2 | area 0)" \
        "$(query "SELECT total(max(0, allocated_mgpu - share_mgpu) * (min(at_ms + series_ms, end_ms) - at_ms)) / 1e6 FROM series CROSS JOIN run")"
    shares=0 at=1
    while [ -n "$(block share $at)" ]; do
        shares="$shares $(block share $at | area 2)"
        at=$((at + 1))
    done
    near 'figure share, GPU-s held' "$(printf '%s\n' "$shares" | awk '{ for (i = 1; i <= NF; i++) n += $i; printf "%.9g", n }')" "$held"
    data waterfall >/dev/null
    near 'figure waterfall, GPU-h there' "$(block waterfall 1 | awk 'NR == 1 { print $5 }')" "$(awk -v a="$(query "SELECT capacity_mgpu * ($end - begin_ms) / 3.6e9 FROM run")" \
        -v b="$(query "SELECT total(n.gpus * (coalesce(a.to_ms, $end) - a.from_ms)) / 3.6e6 FROM away AS a JOIN v_job_gpus AS n ON n.node = a.node")" 'BEGIN { printf "%.9g", a - b }')"
    [ "$(query 'SELECT count(*) FROM outage')" = 0 ] || near 'figure waterfall, GPU-h down' "$(block waterfall 1 | awk 'NR == 2 { print $5 }')" \
        "$(query "SELECT total(n.gpus * (coalesce(o.to_ms, $end) - o.from_ms)) / 3.6e6 FROM outage AS o JOIN v_job_gpus AS n ON n.node = o.node")"
    near 'figure waterfall, GPU-h useful' "$(block waterfall 1 | awk 'END { print $5 }')" "$(awk -v a="$held" -v b="$(query "SELECT total(preempt + reclaim + consolidate
        + stale_gang + node_failure + max_runtime + waiting + checkpoint + restart + idle + slow) / 3.6e9 FROM job_time")" 'BEGIN { printf "%.9g", a / 3600 - b }')"
    # who held what: all of 6 or 7 nodes is drawn, in the part that the axis says
    data gantt >/dev/null
    if [ "$(query 'SELECT count(*) <= 40 FROM node')" = 1 ]; then
        part=$(sed -n 's/^set xrange \[\([0-9.]*\):\([0-9.]*\)\].*/\1 \2/p' "$name-gantt/$name-gantt.gp" | head -n 1)
        near 'figure gantt, GPU-s held' "$(awk '/^#/ { boxes = /boxes/ } boxes && NF == 4 && !/^#/ { sum += ($2 - $1) * ($4 - $3) } END { printf "%.9g", sum / 0.84 * 8 }' "$name-gantt/$name-gantt.dat")" \
            "$(query "SELECT total(mgpu * max(0, min(coalesce(end_ms, $end), ${part#* } * 1000) - max(start_ms, ${part% *} * 1000))) / 1e6 FROM v_placements")"
    fi
    PATH=$dir/none "$orrery" plot $name.db floor --from 20h -o "$name-floor" >out 2>err || [ $? = 69 ] || fail "$name: plot floor"
    near 'figure floor, GPUs held' "$(awk '/^#/ { boxes = /boxes/ } boxes && NF == 4 && !/^#/ { sum += ($2 - $1 + 0.08) * ($4 - $3) } END { printf "%.9g", sum }' "$name-floor/$name-floor.dat")" \
        "$(query "SELECT total(mgpu) / 1000 FROM v_placements WHERE start_ms <= 72000000 AND coalesce(end_ms, 9e18) > 72000000")"
}

# What the report says in all is what the tables hold.
report() {
    for card in 'evictions evictions' 'unfinished jobs that had not ended' 'jobs jobs'; do
        said=$(grep -o "<b>[^<]*</b>${card#* }<small>" $name.html | sed 's/<b>//; s/<.*//' | tr -cd '0-9.\n')
        near "report, card of ${card#* }" "$said" "$(query "SELECT value FROM metric WHERE name = '${card% "${card#* }"}' AND scope = 'all'")"
    done
    tr '\n' ' ' <$name.html | sed 's/.*<h3>What jobs waited for//; s/<\/tbody>.*//; s/<tr>/\n/g' | sed -n 's/.*<td[^>]*>\([^<]*\)<\/td><\/tr>.*/\1/p' | tr -cd '0-9.\n' >waited
    [ "$(query 'SELECT count(*) FROM v_reason_intervals')" = 0 ] || near 'report, GPU-hours waited for' "$(awk '{ n += int($1 + 0.5) } END { print n + 0 }' waited)" "$(query "SELECT total(round(h)) FROM (SELECT sum((to_ms - from_ms) * mgpu) / 3.6e9 AS h
        FROM $reasons_of_jobs GROUP BY words)")"
    cut=$(tr '\n' ' ' <$name.html | grep -o '[0-9\xe2\x80\xaf]* attempts* w[a-z]* cut short' | head -n 1 | tr -cd '0-9')
    near 'report, attempts cut short' "${cut:-0}" "$(query 'SELECT count(*) FROM attempt')"
}

cells() { # LINES: the cells of each, one tab between
    sed 's/<\/td><td[^>]*>/\t/g; s/<tr><td[^>]*>//; s/<\/td><\/tr>//; s/\xe2\x80\xaf//g'
}
about() { # WHAT SAID VALUE: three digits are said, of times two
    awk -v a="$2" -v b="$3" 'BEGIN { split(a, w, " "); of["s"] = 1; of["min"] = 60; of["h"] = 3600; of["d"] = 86400; x = w[1] * (w[2] in of ? of[w[2]] : 1)
        d = x - b; m = b < 0 ? -b : b; exit !(a != "" && b != "" && d * d <= (0.06 * m * (w[2] != "") + 0.006 * m * (w[2] == "") + 0.06) ^ 2) }' ||
        fail "$name: report, $1: \"$2\", and $3"
}

# The report's rows of queues and of metrics in all are the metrics; money and energy are made again from the tables.
report_tables() {
    sed -n '/<h2 id="load"/,/<\/table>/p' $name.html | grep '^<tr><td' | cells >queues.txt
    [ "$(wc -l <queues.txt)" = "$(query "SELECT count(*) FROM metric WHERE name = 'jobs' AND scope = 'queue' AND value > 0")" ] || fail "$name: rows of queues: $(cat queues.txt)"
    sed 's/\t/|/g' queues.txt >rows.txt
    while IFS='|' read -r queue kind jobs unstarted p50 p95 longest quota held fair; do
        for pair in "jobs=$jobs" "unstarted=$unstarted" "wait_p50_s=$p50" "wait_p95_s=$p95" "wait_max_s=$longest" "share_mean=$fair"; do
            value=$(query "SELECT value FROM metric WHERE scope = 'queue' AND name = '${pair%%=*}' AND label = 'queue=$queue,kind=$kind'")
            if [ -z "${pair#*=}" ]; then
                [ -z "$value" ] || [ "${pair%%=*}" = share_mean ] || fail "$name: report, $queue: ${pair%%=*} is empty, and $value"
            else
                about "$queue $kind: ${pair%%=*}" "${pair#*=}" "$value"
            fi
        done
        [ -z "$quota" ] || about "quota of $queue" "$quota" "$(query "SELECT gpu_quota FROM queue WHERE name = '$queue'")"
        [ -z "$held" ] || about "GPUs that $queue held" "$held" "$(query "SELECT total(p.mgpu * max(0, min(coalesce(p.end_ms, r.end_ms), r.window_end_ms) - max(p.start_ms, r.window_start_ms)))
            / 1000 / max(r.window_end_ms - r.window_start_ms) FROM v_placements AS p JOIN job AS j ON j.id = p.job JOIN queue AS q ON q.id = j.queue CROSS JOIN run AS r WHERE q.name = '$queue'")"
    done <rows.txt
    grep 'data-h="metric"' $name.html | cells | sed 's/\t/|/g' >rows.txt
    [ "$(wc -l <rows.txt)" -ge 30 ] || fail "$name: rows of metrics: $(cat rows.txt)"
    while IFS='|' read -r metric said unit rest; do
        value=$(query "SELECT value FROM metric WHERE scope = 'all' AND name = '$metric'")
        [ -z "$said$value" ] || [ "$said" = - ] || about "metric $metric" "$said" "$value"
    done <rows.txt
    [ "$name" != evictions ] && return
    hours=$(query 'SELECT (end_ms - (SELECT min(submit_ms) FROM job)) / 3.6e6 FROM run')
    held=$(query "SELECT total(mgpu * (coalesce(end_ms, $end) - start_ms)) / 3.6e9 FROM v_placements")
    about 'money of the run' "$(sed -n 's/^run_cost|\([^|]*\).*/\1/p' rows.txt)" "$(awk -v h="$hours" 'BEGIN { print 6 * 20 * h }')"
    about 'energy of the run' "$(sed -n 's/^run_energy_kwh|\([^|]*\).*/\1/p' rows.txt)" "$(awk -v h="$hours" -v g="$held" 'BEGIN { print 6 * 2 * h + 7 / 8 * g }')"
    for card in 'cost_per_useful_gpu_h cost of a useful GPU-hour' 'energy_kwh_per_useful_gpu_h kWh for a useful GPU-hour'; do
        about "card ${card#* }" "$(grep -o "<b>[^<]*</b>${card#* }<small>" $name.html | sed 's/<b>//; s/<.*//')" "$(query "SELECT value FROM metric WHERE name = '${card%% *}' AND scope = 'all'")"
    done
}

holds() { # the run $name.db
    figures
    others
    debt=$(query "SELECT value FROM metric WHERE name = 'quota_debt_gpu_h' AND scope = 'all'")
    data debt >debt.dat
    if awk -v d="$debt" 'BEGIN { exit !(d > 0) }'; then # the last row: all queues summed at the end of the run
        near 'figure debt, peak' "$(awk '/^#/ { b++; next } b == 1 && NF > 1 && $2 > m { m = $2 } END { print m + 0 }' debt.dat)" "$(query "$both $whole
            SELECT max(d) / 1000.0 FROM (SELECT sum(max(0, min(waits, CASE WHEN quota < 0 THEN waits ELSE quota - held END))) AS d FROM state GROUP BY t)")"
        near 'figure debt, GPU-hours at its end' "$(awk 'NF > 1 && $1 !~ /#/ { last = $NF } END { print last }' debt.dat)" "$debt"
        rm -rf "$name-part"
        PATH=$dir/none "$orrery" plot $name.db debt --from 1d --to 30h -o "$name-part" -q 2>err || [ $? = 69 ] || fail "$name: plot debt of a part"
        [ ! -f "$name-part/$name-debt".dat ] || near 'figure debt, title of a part and its end' \
            "$(sed "s/'\.\"\\\\n\"\.'/ /g; s/.* \([0-9.e+]*\) GPU-h in this part of the window.*/\1/p; d" "$name-part/$name-debt".gp)" \
            "$(awk 'NF > 1 && $1 !~ /#/ { last = $NF } END { printf "%.3g", last }' "$name-part/$name-debt".dat)"
    fi
    "$orrery" report $name.db -o $name.html -q >/dev/null 2>err || fail "$name: report"
    report
    report_tables
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
{ printf 'cluster: {pools: {p: {nodes: 6, gpus: 8, price: 20, idle_power: 2kW, full_power: 9kW}}}\npolicy: kai\n'; cat base.txt; } >evictions.yaml
{ printf 'cluster: {pools: {p: {nodes: 7, gpus: 8}}, failures: {each: node, mtbf: 3d, repair: {median: 6h, sigma: 0.5}}}\npolicy: kai\n'; cat base.txt; } >failures.yaml
sed 's/gpus: 8/gpus: 11, foreign: {gpus: 3}/' failures.yaml >foreign.yaml
{ printf 'cluster: {pools: {p: {nodes: 6, gpus: 8}}}\nexecution: {round: 10m}\npolicy: fifo\n'; cat base.txt; } >rounds.yaml
{ printf 'cluster: {pools: {p: {nodes: 200, gpus: 8}}}\npolicy: fifo\n'; cat base.txt; } >idle.yaml
{ printf 'cluster: {pools: {p: {nodes: 6, gpus: 8, gpu_memory: 80Gi}}}\npolicy: kai\n'; cat base.txt
    printf -- '- {name: e, queue: a, generate: {template: elastic, arrivals: {per_day: 20}, duration: {exponential: {mean: 3h}}}}\n'
    printf -- '- {name: m, queue: c, generate: {template: memory, arrivals: {per_day: 40}, duration: {exponential: {mean: 3h}}}}\n'
    printf 'templates: {elastic: {pods: 8, min: 2, gpus_per_pod: 2}, memory: {gpu_memory: 30Gi}}\n'; } >elastic.yaml
for name in evictions failures foreign rounds idle elastic; do
    is_wanted $name || continue
    "$orrery" run $name.yaml -o $name.db -q --no-progress --allow-loss 2>err || [ $? = 1 ] || fail "run $name: $(cat err)"
    holds
done
if is_wanted rounds; then # A trace that recorded what this program did: simulated waits are the recorded ones, at each quantile.
    sqlite3 -csv -header rounds.db "SELECT j.name AS job, j.submit_ms / 1000.0 AS submit_s, j.work_ms / 1000.0 AS run_s, j.mgpu / 1000 AS gpus, q.name AS queue,
        j.start_ms / 1000.0 AS recorded_start_s FROM job AS j JOIN queue AS q ON q.id = j.queue WHERE j.state > 0" >told.csv
    { sed '/^workload/,$d' rounds.yaml; printf 'workload: [{name: t, trace: told.csv}]\n'; } >told.yaml
    name=told
    "$orrery" run told.yaml -o told.db -q --no-progress --allow-loss 2>err || fail "run told: $(cat err)"
    data qq >/dev/null
    block qq 1 | awk '{ n++; if ($1 > m) m = $1 } $1 != $2 { bad = 1 } END { exit n < 20 || m < 1000 || bad }' || fail "figure qq: what was recorded is not what is simulated"
fi
if is_wanted services; then
    name=services
    "$orrery" run "$source/scenarios/whatif/inference/inference.yaml" -o $name.db -q --no-progress 2>err || [ $? = 1 ] || fail "run $name"
    holds
fi
! is_wanted evictions || [ "$(sqlite3 evictions.db "SELECT sum(value) > 0 FROM metric WHERE name IN ('evictions', 'quota_debt_gpu_h') AND scope = 'all'")" = 1 ] || fail "nothing was evicted or owed"
printf 'totals\n'
