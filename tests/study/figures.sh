#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery plot` for print: PDF and sizes in mm, fonts, no title, the script itself.
#
#   figures.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
command -v gnuplot >/dev/null || exit 77

"$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --quiet --no-progress -o g.db
"$orrery" plot g.db --width 84 --no-title -o narrow >out || fail "figures of a column"
# What a title would say is in a file beside the figure without it.
grep -q 'policy .*, [0-9]* jobs in ' narrow/g-debt.caption && grep -q '^narrow/g-debt.caption$' out || fail "no caption: $(cat narrow/g-debt.caption out)"
! grep -q 'policy .* jobs in ' narrow/g-debt.svg || fail "a title where none is wanted"
# Variants of one policy and scenario are told apart, at last by where they are; two of one name are refused.
mkdir off && "$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --variant weight -q --no-progress -o off/g.db
"$orrery" plot g.db off/g.db depth -o variants >out
for name in g.db off/g.db; do grep -q ">$name<" variants/compare-depth.svg || fail "no $name in a legend of variants"; done
code=0
"$orrery" plot a=g.db a=off/g.db depth >out 2>err || code=$?
{ [ "$code" = 64 ] && grep -q 'two runs are called "a"' err; } || fail "exit $code: two runs of one name: $(cat err)"
for file in narrow/*.svg; do # 84 mm are 317.5 pixels of CSS
    grep -q 'width="31[78]"' "$file" || fail "$file is not 84 mm wide: $(head -c 300 "$file")"
done
grep -q 'policy kai' narrow/g-depth.svg && fail "a title that nobody wanted"
"$orrery" plot g.db depth >out
grep -q 'policy kai' g-depth.svg || fail "no title"
# A figure of nothing is not drawn, alone and among others, and a line or the document says why. What lies in its place
# is of an earlier run.
printf 'job,submit_s,run_s,gpus\na,0,3600,1\nb,90000,3600,1\n' >idle.csv
"$orrery" run --trace idle.csv --cluster 1x8 -q --no-progress -o idle.db && "$orrery" plot idle.db >out 2>err
for figure in wait-cdf depth debt churn reasons qq; do
    grep -q "^not drawn: $figure: " err && ! grep -q "$figure" out && [ ! -e idle-$figure.svg ] || fail "$figure of nothing: $(cat out err)"
done
[ "$(grep -c svg out)" = 11 ] || fail "idle: $(cat out)"
: >idle-churn.svg
"$orrery" plot idle.db churn qq share --json 2>&1 >out | grep . && fail "sentences beside a document"
[ "$(tr -d ' \n' <out)" = '{"files":[{"file":"idle-share.svg","warning":null}],"not_drawn":[{"figure":"churn","why":"nothingwasevicted;idle-churn.svgthereisofanearlierrun"},{"figure":"qq","why":"thetraceofthisrunrecordednostarts"}]}' ] ||
    fail "the document of figures: $(cat out)"
"$orrery" plot a=idle.db b=idle.db --from 1h -o idle >out 2>err
for figure in depth debt churn reasons; do
    grep -q "^not drawn: $figure: .* in the part of the run asked for" err || fail "$figure of nothing, of two runs: $(cat out err)"
done
# A title never parts a number from its unit.
"$orrery" plot idle.db allocation share --script --width 84 -o idle >out
! grep -q 'yrange.*e-0' idle/idle-share.gp || fail "an axis without anything on it: $(grep yrange idle/idle-share.gp)"
for width in 60 64 68 72 76 80; do
    "$orrery" plot idle.db allocation --script --width $width -o "idle/$width" >out
done
! grep -hE "^heading = .*[0-9]'\.\"\\\\n\"\.'(s|min|h|d|GPU-h)\b" idle/*.gp idle/*/*.gp || fail "a title parts a number from its unit"
"$orrery" plot g.db depth --font 'Times,12' >out
grep -q 'Times' g-depth.svg || fail "no such font"
"$orrery" plot g.db depth share wait-cdf -t pdf --width 84 >out || fail "PDF"
for figure in depth share wait-cdf; do
    [ "$(head -c 5 g-$figure.pdf)" = '%PDF-' ] || fail "$figure is no PDF"
done
# 84 mm are 238.1 points
grep -a -q 'MediaBox \[ *0 0 238' g-depth.pdf || fail "not 84 mm: $(grep -a MediaBox g-depth.pdf)"
"$orrery" plot g.db depth --script -o script >out
[ "$(cat out)" = "$(printf 'script/g-depth.gp\nscript/g-depth.dat')" ] || fail "script: $(cat out)"
(cd script && gnuplot g-depth.gp) || fail "the script does not draw"
[ -s script/g-depth.svg ] || fail "the script draws nothing"
code=0
"$orrery" plot g.db depth -t dumb --width 84 2>err >out || code=$?
{ [ "$code" = 64 ] && grep -q 'not for dumb' err; } || fail "exit $code: characters in mm"
code=0
"$orrery" plot g.db depth --width wide 2>err >out || code=$?
[ "$code" = 64 ] || fail "exit $code: a width that is none"

# Names: those that people read, without their middle where they are too long, and then whole in the title.
cat >people.yaml <<END
cluster: {pools: {a: {nodes: 1, gpus: 8}}}
queues: {q1: {display_name: 'research and development, region west, batch'}, q2: {display_name: 'research and development, region east, batch'}}
workload: [{name: t, trace: people.csv}]
policy: fifo
END
printf 'job,queue,submit_s,run_s,pods,gpus_per_pod\na,q1,0,100,1,8\nb,q2,10,100,1,8\n' >people.csv
"$orrery" run people.yaml -q -o people.db
"$orrery" plot people.db depth share gantt qq floor wait-cdf -o people >out
for figure in depth share gantt wait-cdf; do
    for name in 'research and develop… region west, batch' 'research and develop… region east, batch' 'research and development, region west, batch'; do
        tr '\n' ' ' <people/people-$figure.svg | sed 's/<[^>]*>/ /g' | tr -s '\t ' ' ' | grep -q "$name" || fail "$figure does not name $name"
    done
done
"$orrery" report people.db -o people.html >out
grep -q '<td[^>]*>research and development, region west, batch</td>' people.html || fail "the report's table does not"
grep -q '>q[12]<' people.html && fail "the report writes what people do not read"
"$orrery" plot people.db nodes gantt -t dumb >out
grep -q 'A research and develop… region west, batch' out || fail "a map of letters cuts names: $(grep -a 'A research' out)"

# Every row of a map of characters has a line of its own, however many there are; so has every line of `floor`, and every
# bar of `waterfall` its name.
for nodes in 1 2 6 7 16 20; do
    awk -v n=$nodes 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 1; i <= n; i++) print "j" i ",0," 100 * i ",8" }' >rows.csv
    "$orrery" run --trace rows.csv --cluster ${nodes}x8 --policy fifo -q --force -o rows.db
    for figure in gantt nodes; do
        "$orrery" plot rows.db $figure -t dumb >out
        [ "$(grep -c '^ *n00[0-9][0-9] |[A@]' out)" = $nodes ] || fail "$figure of $nodes nodes: $(cat out)"
    done
done
# Of two jobs that wait 0 and 180 s half have waited at most 179 s: characters show steps as pictures do.
printf 'job,submit_s,run_s,gpus\na,0,180,8\nb,0,2000,8\n' >half.csv
"$orrery" run --trace half.csv --cluster 1x8 --policy fifo -q -o half.db
for figure in wait-cdf jct-cdf; do
    COLUMNS=100 "$orrery" plot half.db $figure -t dumb >out
    grep -Eq '[*#$]{40}' out || fail "$figure slopes between its steps: $(cat out)"
done
printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,100,35,8\n' >rows.csv # seven lines of five
"$orrery" run --trace rows.csv --cluster 35x8 --policy fifo -q --force -o rows.db
COLUMNS=60 "$orrery" plot rows.db floor -t dumb >out
[ "$(grep -o 'AAAAAAAA' out | wc -l)" = 35 ] || fail "floor of 35 nodes: $(cat out)"
"$orrery" compare g.db off/g.db --plot rows -t dumb >out 2>err
[ "$(grep -Ec '^ *(lost_gpu_h|evictions|quota_debt_gpu_h) \|' out)" = 3 ] || fail "rows of a comparison: $(cat out)"
cat >names.yaml <<'END'
cluster: {pools: {p: {nodes: 1, gpus: 8, names: [gpu-worker-001]}}}
workload: [{name: t, trace: names.csv, kind: interactive}]
policy: fifo
END
printf 'job,submit_s,run_s,gpus,busy\na,0,7200,8,0.5\n' >names.csv
"$orrery" run names.yaml -q -o names.db
"$orrery" plot names.db gantt nodes -t dumb >out
[ "$(grep -c '^gpu-worker-001 |[A@]' out)" = 2 ] || fail "a node's name is not drawn: $(cat out)"
for columns in 60 100; do
    COLUMNS=$columns "$orrery" plot names.db waterfall -t dumb >out
    idle='idle in sessions and services'
    [ $columns = 100 ] || idle='idle in sessions and…'
    for bar in capacity allocated "$idle" goodput; do
        grep -q "^ *$bar |[ #+]*| [0-9]*\." out || fail "waterfall: a bar and its numbers, of $bar: $(cat out)"
    done
done

# A node that is down is not free, nor idle: it is so in pictures and in their texts, once where two outages overlap.
cat >down.yaml <<'END'
cluster: {pools: {p: {nodes: 3, gpus: 8}}}
workload: [{name: t, trace: down.csv}]
policy: fifo
events: [{at: 300s, fail: n0002, for: 400s}, {at: 500s, maintain: n0002, for: 200s}]
END
printf 'job,submit_s,run_s,pods,gpus_per_pod\na,0,100,3,8\nb,1000,200,3,8\n' >down.csv
"$orrery" run down.yaml -q -o down.db
COLUMNS=100 "$orrery" plot down.db gantt -t dumb >out
grep -Eq 'n0002 .*A\.+-{20,30}\.+A' out && grep -q ' -: down or away' out && ! grep -q 'n000[13] .*A.*-' out || fail "a node that is down: $(cat out)"
COLUMNS=100 "$orrery" plot down.db nodes -t dumb >out
grep -Eq 'n0002 .*@[^ x]? +x{20,30} +[^ x]' out && grep -q ' x: down or away' out && ! grep -q 'n000[13] .*x' out || fail "a node that is down: $(cat out)"
"$orrery" plot down.db nodes --script -o down >out
[ "$(grep -c 'rectangle from 30[0-9.]*,0.5 to 70[0-9.]*,1.5 front' down/down-nodes.gp)" = 1 ] || fail "a node that is down: $(grep object down/down-nodes.gp)"
"$orrery" plot people.db nodes gantt -t dumb >out
! grep -q 'down or away' out || fail "nothing is down: $(cat out)"

# Figures of one command share what they have read: each is the one that is drawn alone.
for part in '' '--from 1m --to 6m'; do
    # shellcheck disable=SC2086
    "$orrery" plot g.db share fairness allocation depth debt $part --script -o together >out
    for figure in debt depth allocation fairness share; do
        # shellcheck disable=SC2086
        "$orrery" plot g.db $figure $part --script -o alone >out
        cmp together/g-$figure.dat alone/g-$figure.dat && cmp together/g-$figure.gp alone/g-$figure.gp || fail "$figure $part: not as it is alone"
    done
done

# Two runs in one axes: a line each, named by what they differ in or as asked for.
"$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --policy fifo --quiet --no-progress -o f.db || [ $? = 1 ]
"$orrery" plot g.db f.db -o both >out 2>err || fail "two runs"
for figure in allocation wait-cdf jct-cdf depth fairness debt churn size reasons waterfall startable fragmentation; do
    grep -q "both/compare-$figure.svg" out || grep -q "^not drawn: $figure: " err || fail "no figure $figure of two runs"
done
for name in kai fifo; do grep -q ">$name  *[0-9]" both/compare-wait-cdf.svg || fail "no line of $name"; done
"$orrery" plot before=g.db now=f.db wait-cdf -t pdf --width 84 >out
[ "$(cat out)" = compare-wait-cdf.pdf ] || fail "PDF of two runs: $(cat out)"
"$orrery" plot before=g.db now=f.db wait-cdf depth --script -o script >out
grep -q "'before'" script/compare-wait-cdf.gp || fail "names that were given are not there"
# each curve ends with the jobs of its run that wait longest, the peak is no more than all jobs
for at in 0 1; do
    db=$([ $at = 0 ] && echo g.db || echo f.db)
    p95=$(sqlite3 $db "SELECT value FROM metric WHERE name = 'wait_p95_s' AND scope = 'all'")
    awk -v n=$at -v p="$p95" '/^#/ { b++; next } b - 1 == n && NF == 2 && $1 > 1.01 * p { if (!seen++ && $2 > 5) bad = 1 } END { exit bad || !seen }' \
        script/compare-wait-cdf.dat || fail "$db: more than 5 % wait longer than $p95 s"
done
# what each run waited for, had free and made of its GPU time is what its tables hold
"$orrery" plot g.db f.db reasons waterfall startable fragmentation --script -o sums >out
block() { # FIGURE NUMBER
    awk -v n="$2" '/^#/ { b++; next } b == n && NF > 1' "sums/compare-$1.dat"
}
same() { # WHAT A B
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d * d <= (1e-4 * b + 1e-3) ^ 2) }' || fail "$1: $2 and $3"
}
for at in 1 2; do
    db=$([ $at = 1 ] && echo g.db || echo f.db)
    same "$db: GPU-s waited for" "$(block reasons $at | awk 'NR % 2 { x = $1; next } { sum += ($1 - x) * $NF } END { printf "%.9g", sum }')" \
        "$(sqlite3 $db "SELECT total((i.to_ms - i.from_ms) * j.mgpu) / 1e6 FROM v_reason_intervals AS i JOIN job AS j ON j.id = i.job WHERE j.id NOT IN (SELECT job FROM never)")"
    for what in 'idle 0' 'unusable 2'; do
        same "$db: ${what% *} GPUs at most" "$(block fragmentation $((at + ${what#* })) | awk '$2 > m { m = $2 } END { print m + 0 }')" \
            "$(sqlite3 $db "SELECT max(m) / 1000.0 FROM (SELECT avg(${what% *}_mgpu) AS m FROM room CROSS JOIN run GROUP BY (at_ms - (SELECT min(at_ms) FROM room)) /
            (series_ms * ((end_ms / series_ms + 500) / 500)))")"
    done
    same "$db: GPU-h useful" "$(block waterfall 1 | awk -v n=$at 'NR == n { print $4 }')" "$(sqlite3 $db "SELECT (SELECT total(mgpu * (coalesce(end_ms, (SELECT end_ms FROM run)) - start_ms))
        FROM v_placements) / 3.6e9 - (SELECT total(preempt + reclaim + consolidate + stale_gang + node_failure + max_runtime + waiting + checkpoint + restart + idle + slow) FROM job_time) / 3.6e9")"
done
awk '/^#/ { next } $3 > 100.01 { bad = 1 } $3 > 99.99 { full[$1] } END { for (run in full) n++; exit bad || n != 2 }' sums/compare-waterfall.dat || fail "parts are not the whole"
code=0
"$orrery" plot g.db f.db gantt 2>err >out || code=$?
{ [ "$code" = 64 ] && grep -q 'is of one run; several in one axes show allocation' err; } || fail "exit $code: two runs in a gantt"
"$orrery" plot g.db f.db depth -t dumb >out
grep -q 'GPUs they ask for' out || fail "no text of two runs"

# A part of the run: jobs submitted in it, and nothing else.
half=$(sqlite3 g.db "SELECT (min(submit_ms) + max(submit_ms)) / 2000 FROM job")
"$orrery" plot g.db wait-cdf jct-cdf size --from "${half}s" --script -o part >out
jobs=$(sqlite3 g.db "SELECT count(*) FROM v_waits WHERE submit_ms >= $half * 1000 AND state > 0 AND NOT never AND kind NOT IN (SELECT id FROM kind WHERE name = 'inference')")
grep -q "'all [a-z ]*  $jobs[^0-9]" part/g-wait-cdf.gp || fail "not the $jobs jobs from $half s on: $(grep "'all" part/g-wait-cdf.gp)"
grep -q "submitted in this part" part/g-jct-cdf.gp || fail "a part that is not told"
[ "$(awk '!/^#/ && NF > 2 { n += $2 } END { print n }' part/g-size.dat)" = "$(sqlite3 g.db "SELECT count(*) FROM v_waits WHERE submit_ms >= $half * 1000 AND start_ms IS NOT NULL AND kind NOT IN (SELECT id FROM kind WHERE name = 'inference')")" ] ||
    fail "size: not the jobs from $half s on"

# A part over time is summed anew, over buckets shorter than those of the whole run: what was held, waited for and
# owed in it is what the exact views say. Fair shares are recorded as means over the run's buckets.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 400; i++) print "j" i "," i * 2100 "," 600 + (i * 7919) % 30000 "," 2 ^ (i % 5) ",q" i % 3 }' >ten.csv
{ printf 'cluster: {pools: {p: {nodes: 3, gpus: 8}}}\nqueues: {q0: {gpu: [8, 1, unlimited]}, q1: {gpu: [8, 1, unlimited]}, q2: {gpu: [8, 1, unlimited]}}\npolicy: {name: fifo, params: {backfill: true}}\n'
    printf 'workload: [{name: t, trace: ten.csv}]\n'; } >ten.yaml
"$orrery" run ten.yaml -q --no-progress -o ten.db
"$orrery" plot ten.db allocation depth debt share fairness --from '4d 01:00:07' --to '4d 09:00:07' --script -o ten >out
[ "$(grep -c "^set ytics [0-9]" ten/ten-share.gp)" = 3 ] || fail "share: numbers of three low panels"
for figure in allocation depth debt share; do
    sed "s/'\.\"\\\\n\"\.'/ /g" ten/ten-$figure.gp | grep -q '^heading = .*; means over 60 s' || fail "$figure of 8 h: $(grep '^heading' ten/ten-$figure.gp)"
done
sed "s/'\.\"\\\\n\"\.'/ /g" ten/ten-share.gp | grep -q '^heading = .*fair shares over .*, as recorded' && sed "s/'\.\"\\\\n\"\.'/ /g" ten/ten-fairness.gp | grep -q '^heading = .*means over .*, as recorded' || fail "share does not say over how long fair shares are means"
ten_area() { # FIGURE BLOCK: of its last column, in seconds times what it counts
    awk -v n="$2" '/^#/ { b++; next } b == n && NF > 1' "ten/ten-$1.dat" | awk 'NR % 2 { x = $1; next } { sum += ($1 - x) * $NF } END { printf "%.9g", sum }'
}
ten_held() { # VIEW COLUMN
    sqlite3 ten.db "WITH s AS (SELECT at_ms AS t, coalesce(lead(at_ms) OVER (PARTITION BY queue ORDER BY at_ms), 9e18) AS u, $2 AS v FROM $1)
        SELECT total(v * (min(u, 378007000) - max(t, 349207000))) / 1000.0 FROM s WHERE u > 349207000 AND t < 378007000"
}
same 'allocation of 8 h, GPU-s' "$(ten_area allocation 1)" "$(ten_held v_allocation 'allocated_mgpu / 1000.0')"
same 'depth of 8 h, job-s' "$(ten_area depth 1)" "$(ten_held v_queue_depth pending_jobs)"
same 'depth of 8 h, GPU-s' "$(ten_area depth 2)" "$(ten_held v_queue_depth 'pending_mgpu / 1000.0')"
[ "$(ten_area depth 1 | cut -d. -f1)" -gt 10000 ] || fail "nothing waits in these 8 h"
# The legend of shares says fair share and quota, in one row.
"$orrery" plot ten.db share -o ten >out
for entry in allocated peak 'fair share' quota; do grep -q ">$entry<" ten/ten-share.svg || fail "share: no $entry in its legend"; done
"$orrery" run ten.yaml --policy kai --force -q --no-progress -o ten.db && "$orrery" plot ten.db share -o ten >out
for entry in allocated peak 'fair share' 'share by the policy' quota; do grep -q ">$entry<" ten/ten-share.svg || fail "share under kai: no $entry in its legend"; done

# Whatever the length of names, the legend of panels in a column is whole.
if command -v pdftotext >/dev/null; then
    for letters in 11 12 15 18; do
        one=$(printf "%0${letters}d" 1) two=$(printf "%0${letters}d" 2)
        printf "job,queue,submit_s,run_s,gpus\na,q$one,0,4000,8\nb,q$two,0,4000,8\nc,q$one,10,4000,8\n" >names.csv
        "$orrery" run --trace names.csv --cluster 1x8 -q --no-progress --force -o names.db && "$orrery" plot names.db depth --width 84 -t pdf >out
        for entry in capacity peak "q$one" "q$two"; do
            pdftotext names-depth.pdf - | grep -q "^$entry$" || fail "depth in a column: no $entry in the legend of names of $letters letters"
        done
    done
fi

# Panels of many queues keep half of the picture of a column.
awk 'BEGIN { print "job,queue,submit_s,run_s,gpus"; for (i = 0; i < 300; i++) printf "j%d,team-%d,%d,90000,8\n", i, i % 15, i * 600 }' >teams.csv
"$orrery" run --trace teams.csv --cluster 4x8 -q --no-progress -o teams.db && "$orrery" plot teams.db depth -t pdf --width 84 --script >out
awk '/^set tmargin/ { top = $NF } /^set bmargin/ { high += top - $NF } END { exit !(high > 0.35) }' teams-depth.gp || fail "low panels: $(grep margin teams-depth.gp)"
grep -q "maxcols 2 title 'queue'" teams-depth.gp || fail "a legend of one column: $(grep 'set key' teams-depth.gp)"
# Nothing is cut in a column: lines of titles are as long as fit, legends of long names stand below, whole.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 300; i++) print "j" i "," i * 50 ",3000," 1 + i % 4 ",research-department-vision-team-" i % 7 }' >long.csv
"$orrery" run --trace long.csv --cluster 4x4 --policy kai -q --no-progress -o long.db
"$orrery" plot long.db --width 84 -o long >out 2>err || fail "long names"
! grep -q 'fitting plot titles' err || fail "a legend without room: $(cat err)"
for figure in allocation depth wait-cdf fairness gantt floor; do
    for queue in 0 3 6; do
        grep -q "research-department-vision-team-$queue" "long/long-$figure.svg" || fail "$figure: queue $queue is cut, or not there"
    done
done
"$orrery" plot long.db depth --width 84 --script -o long >out
awk -F"'" '/^heading/ { for (i = 2; i <= NF; i += 2) if (length($i) > 60) print $i }' long/long-depth.gp >wide
[ ! -s wide ] || fail "a line of a title that 84 mm do not hold: $(cat wide)"
# No text is beside the picture, whose height has room for a legend of many queues; a time axis of days has three labels at least.
awk 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 300; i++) print "j" i "," i * 7500 ",90000," 1 + i % 8 ",research-department-vision-team-" i % 14 }' >days.csv
{ # a quota each, or there is no debt
    printf 'cluster: {pools: {p: {nodes: 4, gpus: 8}}}\nworkload: [{name: w, trace: days.csv}]\npolicy: kai\nqueues:\n'
    for queue in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do printf '  research-department-vision-team-%s: {gpu: [2, 1, unlimited]}\n' $queue; done
} >days.yaml
"$orrery" run days.yaml -q --no-progress -o days.db
"$orrery" plot days.db --width 84 -o days >out 2>err || fail "14 queues"
for file in days/*.svg; do
    awk -F'[ "]+' '/viewBox=/ { w = $5; h = $6 }
        sub(/.*<g transform="translate[(]/, "") { split($0, at, "[,)]"); if (at[1] < 0 || at[2] < 0 || at[1] > w || at[2] > h) { print at[1], at[2], w, h; exit 1 } }' "$file" >beside || fail "$file: text beside the picture: $(cat beside)"
    ! grep -E '<title>.*(nuplot|[.]dat)' "$file" >named || fail "$file: gnuplot's names: $(head -1 named)"
done
for figure in allocation depth debt fairness gantt; do
    sed -n 's/.*viewBox="0 0 \([0-9]*\) \([0-9]*\)".*/\1 \2/p' "days/days-$figure.svg" | awk '{ room = $2 >= 1.5 * $1 } END { exit !room }' || fail "$figure: no room for 14 queues"
done
"$orrery" plot days.db share depth --dark --script -o days >out
! grep -hE '^set (multiplot )?title' days/days-share.gp days/days-depth.gp | grep -v textcolor || fail "a title in the colour of a light page"
"$orrery" plot days.db depth share --width 84 --script -o days >out
for width in 72 76 80; do
    "$orrery" plot days.db wait-cdf jct-cdf -t pdf --width $width -o days >out 2>err || fail "curves of 14 queues in $width mm"
    ! grep 'fitting plot titles' err || fail "a legend of curves without room in $width mm"
done
# Half of the name of the axis' last time stands beside it: 2.5 letters of 0.64 of 6 pt.
awk '/^unset tics/ { exit } /^set rmargin at screen/ { n++; if ($NF > 1 - 2.5 * 0.64 * 6 / (84 / 25.4 * 72)) bad = 1 } END { exit bad || !n }' days/days-depth.gp || fail "the last time is cut: $(grep rmargin days/days-depth.gp)"
# Low panels have one number above 0; no area has a line without width down to the end of its axis, which readers of PDF draw.
awk '{ gsub(/[^0-9a-z.]/, " ") } /^set yrange/ { top = $4 } /^set ytics [0-9]/ { n++; if ($3 > top || 2 * $3 <= top) { print; bad = 1 } } END { exit bad || n < 8 }' days/days-share.gp >low || fail "share: numbers of a low panel: $(cat low)"
bottom=$(grep -o 'M[0-9.]*,[0-9.]* L[0-9.]*,[0-9.]* L[0-9.]*,[0-9.]* M' days/days-fairness.svg | tail -n 1 | sed 's/.*L[0-9.]*,\([0-9.]*\) L.*/\1/')
{ [ -n "$bottom" ] && grep -q '<polygon' days/days-fairness.svg; } || fail "fairness has no areas, or no axis"
! grep '<polygon' days/days-fairness.svg | grep -q ",$bottom " || fail "fairness: $(grep '<polygon' days/days-fairness.svg | grep -c ",$bottom ") areas reach the end of the axis"
[ "$(grep -m1 '^set xtics (' days/days-depth.gp | grep -o "'[^']*'" | wc -l)" -ge 3 ] || fail "$(grep -m1 '^set xtics (' days/days-depth.gp)"
[ "$(sed -n "s/^set title '\(.*\)' offset.*/\1/p" days/days-share.gp | awk '{ if (length > n) n = length } END { print n }')" -le 26 ] || fail "share: names of panels beside each other meet"

"$orrery" plot long.db waterfall --from 1h --to 2h --script -o long >out
[ "$(awk '!/^#/ && NF > 3 && $1 == 0 { print $5 }' long/long-waterfall.dat)" = 16 ] || fail "an hour of 16 GPUs is not 16 GPU-hours"
# What stands empty on a node being drained, 4 GPUs for 3 h, is neither free for e, which waits for 4, nor of no use to it.
printf 'job,submit_s,run_s,gpus\na,0,7200,8\nc,20,20000,4\ne,1200,100,4\n' >drain.csv
printf 'cluster: {pools: {c1: {nodes: 2, gpus: 8}}}\nworkload: [{name: w, trace: drain.csv}]\npolicy: fifo\nevents: [{at: 10m, drain: n0002, for: 3h}]\n' >drain.yaml
"$orrery" run drain.yaml -q --no-progress -o drain.db
"$orrery" plot drain.db waterfall fragmentation --script -o drain >out
[ "$(awk '$4 == "0x882255" { print $5 }' drain/drain-waterfall.dat)" = 12 ] || fail "drained: $(cat drain/drain-waterfall.dat)"
! grep -q 0xe69f00 drain/drain-waterfall.dat || fail "free while e waits: $(cat drain/drain-waterfall.dat)"
awk '!/^#/ && NF == 4 && $1 > 600 && $1 < 7200 && ($3 > 0 || $4 > 0) { bad = 1 } END { exit bad }' drain/drain-fragmentation.dat || fail "drained, yet free"

# Numbers of the window say so in a figure of a part.
"$orrery" plot long.db fairness --from 1h --to 2h --script -o long >out
tr -d '\n' <long/long-fairness.gp | grep -q 'in the whole window' || fail "fairness of a part: $(grep '^heading' long/long-fairness.gp)"

# On a terminal each queue of qq has a letter of its own. Figures of one run begin at its start, though the first job comes later.
awk 'BEGIN { print "job,queue,submit_s,run_s,gpus,recorded_start_s"; for (i = 0; i < 200; i++) { s = 700 + 600 * i; print "j" i ",q" i % 3 "," s ",9000,4," s + 17 * i } }' >recorded.csv
"$orrery" run --trace recorded.csv --cluster 5x8 -q --no-progress -o recorded.db
"$orrery" plot recorded.db qq -t dumb >out
for letter in 'A *all jobs' 'B *q' 'C *q' 'D *q'; do grep -q "$letter" out || fail "qq: no $letter: $(tail -n 4 out)"; done
"$orrery" plot recorded.db allocation reasons --script -o recorded >out
for figure in allocation reasons; do grep -q '^set xrange \[0.000:' recorded/recorded-$figure.gp || fail "$figure begins at $(grep '^set xrange' recorded/recorded-$figure.gp)"; done
# The curve of capacity on a terminal: its bound is as wide as the axis, the title has the unit, a value of 0 is not hidden by the axis, whole amounts have whole numbers.
"$orrery" capacity --trace recorded.csv --cluster 5x8 --policy fifo --vary cluster.pools.c1.nodes=6..9 --objective 'wait_p95_s <= 1h' -t dumb --plot . --no-progress >out
grep -q '1 run of each amount; wait_p95_s, in ' out || fail "curve: no unit: $(cat out)"
grep -q '^ *1 [*]*##*[*]* *$' out || fail "curve: the bound ends early: $(cat out)"
grep -q '^ *0 +-*#*O#*O-*+' out || fail "curve: values of 0 are hidden: $(cat out)"
grep -q '^ *6  *7  *8  *9 *$' out || fail "curve: no whole numbers: $(cat out)"

# A single node is a row of its map: gnuplot alone draws none.
"$orrery" plot idle.db nodes fragmentation -o single >out
grep -q '<image' single/idle-nodes.svg || fail "one node is no row of a map"
# A title is within the picture beside whatever legend; of names without spaces that are too long it has those there is room for.
long=the-department-of-natural-language-processing-and-of-everything-else-that-has-to-do-with-words
awk -v long=$long 'BEGIN { print "job,submit_s,run_s,gpus,queue"; for (i = 0; i < 40; i++) print "j" i "," 60 * i ",3600,8," (i % 2 ? "short" : long "-" i % 6) }' >wide.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nworkload: [{name: t, trace: wide.csv}]\npolicy: fifo\nwarmup: 5m\nhorizon: 2h\n' >wide.yaml
"$orrery" run wide.yaml -q --no-progress -o wide.db
"$orrery" plot wide.db wait-cdf jct-cdf depth share --script -o titles >out
for figure in wait-cdf jct-cdf depth share; do
    sed -n 's/^heading = //p' titles/wide-$figure.gp | sed "s/'\.\"[\\]n\"\.'/\n/g" | awk -v most=$([ $figure = share ] && echo 116 || echo 92) 'length > most + 2 { print; bad = 1 } END { exit bad }' >out || fail "$figure: a title is wider than its picture"
    grep -q 'and 1 more name that are shortened\|and 1 more name that is shortened\|and [0-9] more names' titles/wide-$figure.gp || [ $figure != share ] || fail "a title of names alone"
done
# Of few jobs no axis has halves. What was lost for a cause without evictions is in the figure: kai's gang stands still for
# 55 s without the node that failed, and goes on.
printf 'job,submit_s,run_s,pods,gpus_per_pod\ng,0,600,2,4\nw,10,600,1,4\nlast,900,10,1,1\n' >stale.csv
printf 'cluster: {pools: {p: {nodes: 2, gpus: 4}}}\nworkload: [{name: t, trace: stale.csv}]\npolicy: kai\nevents: [{at: 100s, fail: n0002, for: 55s}]\n' >stale.yaml
"$orrery" run stale.yaml -q --no-progress -o stale.db
[ "$(sqlite3 stale.db "SELECT sum(stale_gang) > 0 AND (SELECT group_concat(cause) FROM eviction) = 'node failure' FROM job_time")" = 1 ] || fail "no gang stood still: $(sqlite3 stale.db 'SELECT * FROM eviction; SELECT * FROM job_time')"
"$orrery" plot stale.db churn depth --script -o stale >out
lost=$(sqlite3 stale.db "SELECT printf('%.1f', value) FROM metric WHERE name = 'lost_gpu_h' AND scope = 'all'")
grep -q "^heading = .*; 0 evictions and 1 of some pods, $lost GPU-h lost; " stale/stale-churn.gp || fail "not $lost GPU-h lost: $(grep '^heading' stale/stale-churn.gp)"
grep -q '^set ytics 1$' stale/stale-depth.gp || fail "halves of jobs"

printf 'drawn\n'
