#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of results in READMEs are what this program says: every number in them is made again.
#
#   tables.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# rows FILE HEADER: "|" stripped cells of the table whose header begins with that, a line a row, cells by tabs
rows() {
    awk -v h="| $2" 'index($0, h) == 1 { on = 1; getline; next } on && !/^\|/ { exit } on' "$1" |
        sed 's/^| *//; s/ *|$//; s/ *| */\t/g; s/`//g'
}
cell() { # ROW NUMBER
    printf '%s\n' "$1" | cut -f"$2"
}
# same WHAT TEXT VALUE: the text, such as "1.3 h", "6,498 GPU-h" or "49 %", is the value (s, GPU-h, share) as rounded there
same() {
    awk -v text="$2" -v value="$3" 'BEGIN {
        gsub(",", "", text); n = split(text, part, " "); unit = n > 1 ? part[2] : ""
        by["s"] = 1; by["min"] = 60; by["h"] = 3600; by["d"] = 86400; by["%"] = 0.01
        factor = unit in by ? by[unit] : 1
        digits = index(part[1], ".") ? length(part[1]) - index(part[1], ".") : 0
        off = part[1] - value / factor; half = 0.5 * 10 ^ -digits + 1e-9
        exit !(value != "" && off <= half && off >= -half) }' || fail "$1: \"$2\" is said, $3 comes out"
}
metric() { # FILE NAME [LABEL SCOPE]
    sqlite3 "$1" "SELECT value FROM metric WHERE name = '$2' AND scope = '${4:-all}' AND label = '${3:-}'"
}
run() { # NAME ARGUMENTS
    name=$1
    shift
    "$orrery" run "$@" -o "$name.db" --quiet --no-progress --force 2>err || [ $? = 1 ] || fail "run $name"
}

first=$source/scenarios/first
nodes=0
rows "$first/README.md" 'nodes x 8 |' >sizes
while IFS= read -r row; do
    n=$(cell "$row" 1)
    run size "$first/first.yaml" --policy fifo --param backfill=true --set "cluster.pools.p100.nodes=$n"
    same "first, $n nodes: occupancy" "$(cell "$row" 2)" "$(metric size.db gpu_occupancy)"
    same "first, $n nodes: mean wait" "$(cell "$row" 3)" "$(metric size.db wait_mean_s)"
    same "first, $n nodes: p95" "$(cell "$row" 4)" "$(metric size.db wait_p95_s)"
    same "first, $n nodes: p99" "$(cell "$row" 5)" "$(metric size.db wait_p99_s)"
    same "first, $n nodes: longest" "$(cell "$row" 6)" "$(metric size.db wait_max_s)"
    same "first, $n nodes: longest queue" "$(cell "$row" 7)" "$(sqlite3 size.db 'SELECT max(n) FROM (SELECT sum(c) OVER (ORDER BY at_ms) AS n FROM (SELECT at_ms, sum(c) AS c
        FROM (SELECT from_ms AS at_ms, 1 AS c FROM v_pending UNION ALL SELECT to_ms, -1 FROM v_pending WHERE to_ms IS NOT NULL) GROUP BY at_ms))')"
    nodes=$((nodes + 1))
done <sizes
[ "$nodes" = 5 ] || fail "$nodes sizes in a table of five"

run fifo "$first/first.yaml" --policy fifo --param backfill=true
run strict "$first/first.yaml" --variant strict
run static "$first/first.yaml" --policy static
run kube "$first/first.yaml" --policy kube
run kai "$first/first.yaml" --policy kai
run checkpoints "$first/first.yaml" --policy kai --variant checkpoints
at=0
rows "$first/README.md" 'policy | mean wait | p95' >policies
for db in fifo static kube kai checkpoints; do
    at=$((at + 1))
    row=$(sed -n ${at}p policies)
    same "first, $db: mean wait" "$(cell "$row" 2)" "$(metric $db.db wait_mean_s)"
    same "first, $db: p95" "$(cell "$row" 3)" "$(metric $db.db wait_p95_s)"
    same "first, $db: longest" "$(cell "$row" 4)" "$(metric $db.db wait_max_s)"
    same "first, $db: mean to the end" "$(cell "$row" 5)" "$(metric $db.db jct_mean_s)"
    same "first, $db: never run" "$(cell "$row" 6)" "$(sqlite3 $db.db 'SELECT count(*) FROM job WHERE state > 0 AND start_ms IS NULL')"
    same "first, $db: quota debt" "$(cell "$row" 7)" "$(metric $db.db quota_debt_gpu_h)"
    same "first, $db: share deviation" "$(cell "$row" 8)" "$(metric $db.db share_deviation)"
done
[ "$(wc -l <policies)" = 5 ] || fail "another number of policies in first"
tr '\n' ' ' <"$first/README.md" >text
said() { # WHAT VALUE PATTERN: the number before or in a sentence
    text=$(grep -o "$3" text | grep -o '[0-9][0-9,.]*' | head -n 1)
    same "first: $1" "$text" "$2"
}
said 'evictions without checkpoints' "$(metric kai.db evictions)" '[0-9,]* evictions lose'
said 'lost without checkpoints' "$(metric kai.db lost_gpu_h)" 'lose [0-9,]* GPU-hours'
said 'evictions with checkpoints' "$(metric checkpoints.db evictions)" 'half hour [0-9,]* evictions'
same 'first: lost with checkpoints' "$(grep -o '[0-9,]* evictions lose [0-9,]*\.' text | sed 's/.*lose //; s/\.$//; s/0$//')" "$(metric checkpoints.db lost_gpu_h | awk '{ print $1 / 10 }')"
same 'first: strict, mean' "$(grep -o 'to [0-9]* minutes' text | grep -o '[0-9]*') min" "$(metric strict.db wait_mean_s)"
same 'first: strict, longest' "$(grep -o 'to [0-9]* hours' text | grep -o '[0-9]*') h" "$(metric strict.db wait_max_s)"

at=0
rows "$source/README.md" 'those 109 days under' >head
for db in static fifo checkpoints; do
    at=$((at + 1))
    row=$(sed -n ${at}p head)
    same "README, $db: mean wait" "$(cell "$row" 2)" "$(metric $db.db wait_mean_s)"
    same "README, $db: longest" "$(cell "$row" 3)" "$(metric $db.db wait_max_s)"
    same "README, $db: held less than promised" "$(cell "$row" 4)" "$(metric $db.db quota_debt_gpu_h)"
done

sh "$source/scenarios/whatif/table.sh" "$orrery" | grep '^|' >made
sed -n '/^| scenario | number/,/^$/p' "$source/scenarios/whatif/README.md" | grep '^|' >stated
diff stated made >out || fail "the table of scenarios/whatif is another"
# scenarios/mixed: ten seeds a policy; kai's take a minute, of which one seed is run, which is no worse than the worst stated
sh "$source/scenarios/mixed/table.sh" "$orrery" kube static | grep -E '^\| (kube|static) ' >made
grep -E '^\| (kube|static) ' "$source/scenarios/mixed/README.md" >stated
[ -s made ] && diff stated made >out || fail "the tables of scenarios/mixed are others"
run seed "$source/scenarios/mixed/mixed.yaml" --policy kai --seed 3
worst=$(rows "$source/scenarios/mixed/README.md" 'policy | evictions | training' | sed -n 's/^kai.*(\([0-9,]*\)).*/\1/p' | tr -d ,)
[ "$(metric seed.db lost_gpu_h | awk -v w="$worst" '{ print (w > 0 && $1 <= w + 0.5) }')" = 1 ] || fail "mixed, kai: seed 3 loses more than the worst, $worst"
for part in chat code notebooks; do
    [ "$(metric seed.db attainment workload=$part workload | awk '{ print ($1 >= 0.9995) }')" = 1 ] || fail "mixed, kai: $part in time is not 1.000"
done
# Kueue beside it: its two columns are means of eight seeds; those of kai and of the differences would take half a minute more.
kueue() { # FILE MORE...: the metrics of all seeds
    file=$1
    shift
    for seed in 1 2 3 4 5 6 7 8; do
        run kueue "$source/scenarios/mixed/mixed.yaml" --policy kueue --param reclaim_within_cohort=any --param within_cluster_queue=lower-priority --seed $seed "$@"
        sqlite3 -separator ' ' kueue.db "SELECT name, value FROM metric WHERE scope = 'all'"
    done >"$file"
}
mean_of() { # FILE METRIC
    awk -v m="$2" '$1 == m { sum += $2; n++ } END { if (n == 8) printf "%.9g", sum / n }' "$1"
}
kueue plain
kueue never --param topology_aware_scheduling=never
rows "$source/scenarios/mixed/README.md" '| kai | kueue | difference' >beside
for line in 'jobs that never started:unstarted' 'owed to queues:quota_debt_gpu_h' goodput:gpu_goodput occupancy:gpu_occupancy 'mean wait:wait_mean_s' evictions:evictions; do
    row=$(grep "^${line%:*}" beside) || fail "mixed: no row ${line%:*}"
    same "mixed, kueue: ${line%:*}" "$(cell "$row" 3)" "$(mean_of plain "${line#*:}")"
    same "mixed, kueue without topology: ${line%:*}" "$(cell "$row" 5)" "$(mean_of never "${line#*:}")"
done
[ "$(wc -l <beside)" = 6 ] || fail "mixed: another number of rows beside kueue"
printf 'tables\n'
