#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# books.sh ORRERY SEED: random elastic jobs, gangs and fractions under kai, with graces and
# checkpoints. After every cycle the policy's session is compared with the ledger task by task, who waits as
# pipelined with what it pipelined, and the ledger with its placements; at the end GPU time has to add up, and pods to have come and gone.
set -eu
orrery=$1 seed=$2
. "$(dirname "$0")/../scratch.sh"

awk -v seed="$seed" '
function below(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) % n }
BEGIN {
    print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,gpu_fraction,queue,kind"
    for (i = 0; i < 150; i++) {
        t += below(40); pods = 1 + below(5); min = 1 + below(pods); whole = below(3) > 0
        printf "j%d,%d,%d,%d,%d,%s,%s,%s,%s\n", i, t, 20 + below(400), pods, min,
            whole ? 1 + below(2) : "", whole ? "" : "0." (1 + below(9)),
            substr("abc", 1 + below(3), 1), below(4) == 0 ? "inference" : "training"
    }
}' >trace.csv
cat >run.yaml <<'YAML'
cluster: {pools: {p: {nodes: 6, gpus: 4}}}
queues: {a: {gpu: [10, 1, unlimited]}, b: {gpu: [10, 1, unlimited]}, c: {gpu: [10, 2, unlimited]}}
workload: [{name: t, trace: trace.csv}]
policy: {name: kai}
execution: {grace: 7s, checkpoint: 60s, checkpoint_cost: 2s, restart: 5s}
expect: [unfinished == 0, partial_evictions > 0, evictions > 0]
YAML
"$orrery" run run.yaml -o run.db -q --check-books
"$orrery" audit run.db >audit.txt || { cat audit.txt; exit 1; }
