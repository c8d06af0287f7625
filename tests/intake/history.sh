#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a Kubernetes cluster leaves of a run, dumps without 5 % of them, a watch log, an audit log, answers of Prometheus, is
# imported as the run's own jobs: submits, starts, ends, attempts.
#
#   history.sh ORRERY SOURCE_DIR
set -eu
orrery=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/scratch.sh"

# Two queues that reclaim from each other on four nodes; every seventh job is a gang of four pods.
awk "$draw_awk"' BEGIN { state = 7; print "job,submit_s,run_s,pods,gpus_per_pod,queue,priority"
    for (i = 0; i < 90; i++) { s += int(draw() * 240); q = draw(); w = draw()
        printf "j%03d,%d,%d,%d,%d,%s,50\n", i, s, 60 + int(q * q * 5400), i % 7 ? 1 : 4, w < 0.3 ? 8 : w < 0.6 ? 4 : 1, i % 3 ? "a" : "b" } }' >jobs.csv
cat >s.yaml <<'Y'
apiVersion: orrery/v1alpha1
kind: Scenario
start: 2026-06-01T00:00:00Z
cluster: {pools: {p: {nodes: 4, gpus: 8}}}
queues: {a: {gpu: [16, 1, unlimited]}, b: {gpu: [16, 1, unlimited]}}
workload: [{name: w, trace: jobs.csv}]
policy: {name: kai}
execution: {grace: 30s}
Y
"$orrery" run s.yaml -o r.db -q
sqlite3 r.db >attempts.txt "WITH cut AS (SELECT job, nr, start_ms, end_ms - 30000 AS end_ms FROM attempt),
  every AS (SELECT job, nr, start_ms, end_ms, 1 AS evicted FROM cut
    UNION ALL SELECT id, attempts, last_start_ms, end_ms, 0 FROM job WHERE end_ms IS NOT NULL)
  SELECT j.name, q.name, j.pods, j.mgpu / j.pods / 1000, coalesce((SELECT max(c.end_ms) FROM cut c WHERE c.job = j.id AND c.nr < e.nr), j.submit_ms) / 1000,
    e.start_ms / 1000, e.end_ms / 1000, e.evicted FROM every e JOIN job j ON j.id = e.job JOIN queue q ON q.id = j.queue ORDER BY e.job, e.nr"
sqlite3 r.db >wanted.txt "SELECT j.name, q.name, j.pods, j.mgpu / j.pods / 1000, j.submit_ms / 1000, j.start_ms / 1000, j.end_ms / 1000, (j.end_ms - j.last_start_ms) / 1000, j.attempts
  FROM job j JOIN queue q ON q.id = j.queue WHERE j.end_ms IS NOT NULL ORDER BY j.name"
until=$(awk -F'|' '$7 > most { most = $7 } END { print int(most / 300 + 2) * 300 }' attempts.txt)
[ "$(grep -c '|1$' attempts.txt)" -gt 10 ] || fail "too few evictions to show anything: $(grep -c '|1$' attempts.txt)"

# check NAME WANTED FILE...: the jobs of the files are the wanted ones.
check() {
    name=$1 wanted=$2
    shift 2
    "$orrery" import --format history "$@" -o "$name.csv" >out 2>err || fail "$name: exit $?"
    awk -F, 'function at(text,  p) { split(text, p, /[-T:Z]/); return (p[3] - 1) * 86400 + p[4] * 3600 + p[5] * 60 + p[6] }
        NR == 1 { for (i = 1; i <= NF; i++) of[$i] = i; next }
        { print $of["job"] "|" $of["queue"] "|" $of["pods"] "|" $of["gpus_per_pod"] "|" at($of["submit_s"]) "|" at($of["recorded_start_s"]) "|" at($of["recorded_end_s"]) "|" $of["run_s"] "|" ($of["x_attempts"] == "" ? 1 : split($of["x_attempts"], parts, " ")) }' "$name.csv" | sort >"$name.txt"
    diff "$wanted" "$name.txt" >out || fail "$name: not the jobs of the run"
}
mkdir dumps
awk -v form=dumps -v step=300 -v until="$until" -v lose=0.05 -f "$source/tests/intake/history.awk" attempts.txt
all=$((until / 300 + 1)) there=$(find dumps -type f | wc -l)
[ "$there" -lt "$all" ] || fail "no dump is missing"
# What came and went between two dumps is in none: a job whose first start that was starts later there.
awk -F'|' 'FNR == NR { if (!($1 in start)) start[$1] = $6; n[$1]++; next } { $6 = start[$1]; $9 = n[$1]; print }' OFS='|' seen.txt wanted.txt >seen_wanted.txt
[ "$(diff wanted.txt seen_wanted.txt | grep -c '^>')" -lt 5 ] || fail "too many attempts between two dumps"
check dumps seen_wanted.txt dumps
for form in watch audit; do
    awk -v form=$form -f "$source/tests/intake/history.awk" attempts.txt >$form.json
    check $form wanted.txt $form.json
    "$orrery" import $form.json --json >out 2>err || fail "$form is not known by its content"
done
awk -v form=samples -v step=60 -v until="$until" -f "$source/tests/intake/history.awk" attempts.txt >samples.json
check samples wanted.txt samples.json
# A log that is cut within its last object, beside the dumps: the same jobs, none of them twice.
head -c $(($(wc -c <watch.json) - 40)) watch.json >cut.json
check both wanted.txt dumps cut.json
mkdir none
! "$orrery" import none >out 2>err || fail "an empty folder has records"
grep -q 'none: a folder without a file to read' err || fail "an empty folder: $(cat err)"
