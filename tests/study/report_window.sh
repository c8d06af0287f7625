#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The answers of a page are of its window, exact, however long the drain is and with it the buckets of `series`; and of what
# jobs could have waited for. Small runs whose numbers are worked out by hand.
#
#   report_window.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

# page POLICY QUEUES [MORE]: runs trace.csv (from stdin) on one node of 8 GPUs; the page's text, a line a paragraph or row.
page() {
    cat >trace.csv
    printf 'cluster: {pools: {p: {nodes: 1, gpus: 8}}}\nqueues: %s\nworkload: [{name: t, trace: trace.csv}]\npolicy: %s\n%s\n' \
        "$2" "$1" "${3-}" >run.yaml
    "$orrery" run run.yaml -q --no-progress -o run.db --force >out 2>err || fail "$(cat err)"
    "$orrery" report run.db -o page.html >out 2>err || fail "$(cat err)"
    tr '\n' ' ' <page.html | sed 's/<svg[^>]*>/\n<svg>/g; s/<\/svg>/\n/g' | grep -v '^<svg>' |
        sed 's/<\/dd>/\n/g; s/<\/tr>/\n/g; s/<\/p>/\n/g; s/<\/t[dh]>/ | /g; s/<[^>]*>//g' >text
}
has() {
    grep -qF -- "$1" text || fail "$2: no \"$1\" in: $(cat text)"
}
lacks() {
    ! grep -qF -- "$1" text || fail "$2: \"$1\" in: $(cat text)"
}
explained() { # QUEUE TEXT
    "$orrery" explain run.db --queue "$1" >out
    grep -qF -- "$2" out || fail "explain --queue $1: no \"$2\""
}

# The window is its 2 h to 2.5 h; a job of 60 days makes buckets of more than an hour. All is held, and something waits, throughout.
{
    echo job,submit_s,run_s,pods,gpus_per_pod,queue
    for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo "x$i,$((600 * i)),700,1,8,a"; done
    echo long,9000,5184000,1,8,a
} | page fifo '{a: {gpu: [8, 1, unlimited]}}' 'warmup: 2h'
has 'Yes. Of 8 GPUs 100 % were held on average. All were held while jobs waited 100 % of the time' 'a long drain'
explained a 'Mean over the window: entitled to 8.0 GPUs (of what it asked for, by quota and weight), held 8.0, asked for'

# In every 10 min three jobs of 60 s come at once: for 2 min something waits, first 16 GPUs and then 8, and nothing is free.
{
    echo job,submit_s,run_s,pods,gpus_per_pod,queue
    for i in 0 1 2 3 4 5; do for j in x y z; do echo "$j$i,$((600 * i)),60,1,8,a"; done; done
    echo last,3600,2592000,1,1,a
} | page fifo '{a: {gpu: [8, 1, unlimited]}}'
has 'At times. Of 8 GPUs 30 % were held on average. All were held while jobs waited 20 % of the time, and more were held and asked for than there are 20 % of the time. Something waited 20 % of the time, on average for 12 GPUs; meanwhile free: 0 GPUs.' 'bursts'

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
has 'All were held while jobs waited 0 % of the time, and more were held and asked for than there are 0 % of the time.' 'never'
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
