#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The answers of a page are of its window, exact, however long the drain is and with it the buckets of `series`; and of what
# jobs could have waited for. Small runs whose numbers are worked out by hand.
#
#   report_window.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

# shown: runs run.yaml; what the run says in the file "ran", its page in "text", a line a paragraph or row.
shown() {
    exits 0 run run.yaml --no-progress -o run.db --force
    mv out ran
    exits 0 report run.db -o page.html
    tr '\n' ' ' <page.html | sed 's/<svg[^>]*>/\n<svg>/g; s/<\/svg>/\n/g' | grep -v '^<svg>' |
        sed 's/<\/dd>/\n/g; s/<\/tr>/\n/g; s/<\/p>/\n/g; s/<\/t[dh]>/ | /g; s/<[^>]*>//g' >text
}
# page POLICY QUEUES [MORE]: the same of trace.csv (from stdin) on one node of 8 GPUs.
page() {
    cat >trace.csv
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nqueues: %s\nworkload: [{name: t, trace: trace.csv}]\npolicy: %s\n%s\n' \
        "$2" "$1" "${3-}" >run.yaml
    shown
}
has() {
    grep -qF -- "$1" text || fail "$2: no \"$1\" in: $(cat text)"
}
lacks() {
    ! grep -qF -- "$1" text || fail "$2: \"$1\" in: $(cat text)"
}
explained() { # QUEUE TEXT
    exits 0 explain run.db --queue "$1"
    grep -qF -- "$2" out || fail "explain --queue $1: no \"$2\""
}

# The window is its 2 h to 2.5 h; a job of 60 days makes buckets of more than an hour. All is held, and something waits, throughout.
{
    echo job,submit_s,run_s,pods,gpus_per_pod,queue
    for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo "x$i,$((600 * i)),700,1,8,a"; done
    echo long,9000,5184000,1,8,a
} | page fifo '{a: {gpu: [8, 1, unlimited]}}' 'warmup: 2h'
has 'in the window of 30.0 min from the end of the warm-up to the last submit, unless' 'a window that ends with the last submit'
has 'Yes. Of 8 GPUs 100 % were held on average. At least 98 % were held while jobs waited 100 % of the time' 'a long drain'
explained a 'Mean over the window: entitled to 8.0 GPUs (of what it asked for, by quota and weight), held 8.0, asked for'

# In every 10 min three jobs of 60 s come at once: for 2 min something waits, first 16 GPUs and then 8, and nothing is free.
{
    echo job,submit_s,run_s,pods,gpus_per_pod,queue
    for i in 0 1 2 3 4 5; do for j in x y z; do echo "$j$i,$((600 * i)),60,1,8,a"; done; done
    echo last,3600,2592000,1,1,a
} | page fifo '{a: {gpu: [8, 1, unlimited]}}'
has 'At times. Of 8 GPUs 30 % were held on average. At least 98 % were held while jobs waited 20 % of the time, and more were held and asked for than there are 20 % of the time. Something waited 20 % of the time, on average for 12 GPUs; meanwhile free: 0 GPUs.' 'bursts'

# b held nothing in the 10 min of the window, and was entitled to the GPU it asked for.
page fifo '{a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,600,1,8,a
b1,0,100,1,1,b
last,600,2592000,1,8,b
CSV
has 'b | unknown | 2 | 0 | 1.7 min | 10.0 min | 10.0 min | 4 | 0 | 1 | ' 'a short window'
explained b 'Mean over the window: entitled to 1.0 GPUs (of what it asked for, by quota and weight), held 0.0, asked for 1.0 more.'

# One that left after 30 s waited 30 s, and pushes nobody out; its reason is of these 30 s.
page '{name: fifo, params: {backfill: true}}' '{q: {gpu: [8, 1, unlimited]}}' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue,give_up_s
a,0,36000,1,8,q,
b,60,600,1,8,q,30
c,120,60,1,8,q,
CSV
has 'Job c of queue q (8 GPUs) waited 10.0 h, mostly' 'a job that left'
has 'b | q | 8 | 00:01:00 | 30 s | no, it left | ' 'a job that left'

# What waited in the warm-up is of another part: 59 min of w2, for GPUs that a held.
page fifo '{a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, 6]}}' 'warmup: 2h' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
w1,0,3600,1,8,a
w2,60,600,1,8,a
x1,7200,600,1,8,b
x2,7260,600,1,8,b
x3,9000,600,1,1,a
x4,9000,600,1,6,b
CSV
has 'Job x2 of queue b (8 GPUs) waited 9.0 min' 'a warm-up'
lacks 'w2 | ' 'a warm-up'
has 'no-capacity | fewer GPUs are free than it asks | 1 | 9.0 min | 1.20 | ' 'a warm-up'

# A job that its queue's limit keeps out for good waits for nothing there is.
page kai '{a: {gpu: [8, 1, unlimited]}, b: {gpu: [2, 1, 4]}}' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
big,0,600,1,8,b
a1,0,3600,1,4,a
last,3600,60,1,1,a
CSV
has 'Beside them 1 could not have started even on the empty cluster' 'never'
has 'At least 98 % were held while jobs waited 0 % of the time, and more were held and asked for than there are 0 % of the time.' 'never'
lacks 'Something waited' 'never'
lacks 'Of the GPU-hours that jobs waited for' 'never'
lacks 'over-limit' 'never'

# The pods that a job runs without are asked for within its quota: 6 GPUs of a's are with b for an hour, and a waits for them.
page '{name: kai, params: {preset: no-reclaim}}' '{a: {gpu: [8, 1, unlimited]}, b: {gpu: [0, 1, unlimited]}}' <<'CSV'
job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue
b1,0,3600,1,1,6,b
a1,1,3600,8,2,1,a
last,7200,60,1,1,1,b
CSV
has 'Of 6 GPU-hours lent in all, 6.00 were while jobs of the lender waited.' 'an elastic job'
if command -v gnuplot >/dev/null; then
    lacks 'debt: no queue waited' 'an elastic job'
fi

# Loans are summed however small each is: 8 GPUs for 20 s, of which b owns none and eight others one each.
page kai '{b: {gpu: [0, 1, unlimited]}, l0: &l {gpu: [1, 1, unlimited]}, l1: *l, l2: *l, l3: *l, l4: *l, l5: *l, l6: *l, l7: *l}' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
x,0,20,1,8,b
last,3600,10,1,1,l0
CSV
has 'b (0.04 GPU-hours, mostly from l0) borrowed most' 'small loans'
lacks 'Nobody: no queue held more' 'small loans'

# A quota that an event changes from 2 to 6 when half of the window is over.
page kai '{a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}}' 'events: [{at: 600s, set: {queues.a.gpu.quota: 6}}]' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
a1,0,1000,1,2,a
b1,0,1000,1,2,b
last,1200,100,1,1,a
CSV
has 'quota (GPUs, mean)' 'a quota that changes'
has 'a | unknown | 2 | 0 | 0 s | 0 s | 0 s | 4 | ' 'a quota that changes'

# A queue of which all came in the warm-up has its row, with what it held in the window and was entitled to. Who never
# started is beside quantiles that are estimates then; one that was not reached is more than was seen. "late" had not come.
page '{name: fifo, params: {backfill: true}}' '{e: {gpu: [4, 1, unlimited]}, q: {gpu: [4, 1, unlimited]}}' 'warmup: 10m
horizon: 1h' <<'CSV'
job,submit_s,run_s,pods,gpus_per_pod,queue
e1,0,36000,1,4,e
e2,1,36000,1,4,e
q1,900,36000,1,4,q
q2,1200,600,1,2,q
late,7200,600,1,2,q
CSV
has '2 of 2 jobs never started; with these as waits that were not over (Kaplan-Meier) half start within a time longer than 45.0 min. ' 'a queue of before'
has '>45.0 minmedian wait' 'a queue of before'
has 'e | unknown | 0 | 0 |  |  |  | 4 | 8 | 4.40 | ' 'a queue of before'
has 'The run was cut before its last job: 4 jobs had not ended, 2 of them not started. These count in quantiles of waits as waiting at least that long (Kaplan-Meier), in means not at all. 1 more job had not been submitted by then.' 'a queue of before'
grep -q '^wait  *mean -, p50 >45.0 min, p95 >45.0 min' ran || fail "quantiles that were not reached: $(cat ran)"

# A gang that loses a node goes as a whole, and is not one that went on.
printf 'job,submit_s,run_s,pods,gpus_per_pod\ng,0,600,2,8\nlast,700,600,1,2\n' >trace.csv
cat >run.yaml <<'YAML'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: trace.csv}]
policy: fifo
events: [{at: 100s, fail: n0002, for: 50s}]
YAML
shown
has '1 attempt was cut short; that cost' 'a gang that loses a node'
has 'node failure | 1 | 0 | 1 | 0.44 | 0.44 | ' 'a gang that loses a node'
grep -q '^evictions   1, 0.44 GPU-h lost$' ran || fail "evictions: $(cat ran)"

# Beside another run each number stands once.
printf 'extends: run.yaml\npolicy: easy\n' >other.yaml
exits 0 run other.yaml -q --no-progress -o other.db
exits 0 report run.db other.db -o page.html
[ "$(grep -o '<td>jobs that never started</td>' page.html | wc -l)" = 1 ] || fail "numbers that stand twice"

# A horizon ends the window with the run, before the last submit; nothing was left out at the begin.
page fifo '{a: {gpu: [8, 1, unlimited]}}' 'horizon: 20m' <<'CSV'
job,submit_s,run_s,gpus,queue
x,0,600,8,a
y,1800,600,8,a
CSV
has 'in the window of 20.0 min from the begin of the run to the end of the run, unless' 'a window that a horizon ends'
grep -q '^window      20.0 min long, to the end of the run; ' ran || fail "window: $(cat ran)"
