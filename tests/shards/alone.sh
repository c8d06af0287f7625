#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# alone.sh ORRERY: a shard among others is scheduled as it would be alone, job by job, under every policy.
set -eu
orrery=$1
. "$(dirname "$0")/../scratch.sh"

# what a shard does is what it would do if it were the whole cluster
awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod,queue"
    for (i = 1; i <= 60; i++) {
        print "h" i "," i * 3 "," 40 + i % 17 "," 1 + i % 2 "," 1 + i % 3 ",hq" i % 3
        print "a" i "," i * 3 "," 90 + i % 5 ",1," 1 + i % 4 ",aq" i % 2 } }' >trace.csv
pools_h='h: {nodes: 3, gpus: 4, shard: h100}'
pools_a='a: {nodes: 2, gpus: 4, shard: a100}'
queues_h='hq0: {shard: h100, gpu: [3, 1]}, hq1: {shard: h100, gpu: [6, 2]}, hq2: {shard: h100, gpu: [3, 1]}'
queues_a='aq0: {shard: a100, gpu: [4, 1]}, aq1: {shard: a100, gpu: [2, 3]}'
for policy in fifo easy static kube kai; do
    for part in h a b; do
        pools="$pools_h, $pools_a" queues="$queues_h, $queues_a"
        case $part in h) pools=$pools_h queues=$queues_h ;; a) pools=$pools_a queues=$queues_a ;; esac
        grep -E "^job|^[$([ $part = b ] && echo ha || echo $part)]" trace.csv >$part.csv
        cat >$part.yaml <<YAML
cluster: {pools: {$pools}}
queues: {$queues}
workload: [{name: t, trace: $part.csv}]
policy: $policy
YAML
        "$orrery" run $part.yaml -o run.db --force --no-progress --allow-loss >out 2>err || fail "run failed"
        "$orrery" export run.db jobs | awk -F, 'NR > 1 {gsub(/[a-z]-*00*/, "n", $14); print $1, $8, $9, $13}' |
            sort >$part.$policy
    done
    sort h.$policy a.$policy >alone
    cmp -s alone b.$policy || { diff alone b.$policy | head; fail "$policy: shards are not apart"; }
done
