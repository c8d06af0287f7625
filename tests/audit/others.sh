#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# others.sh ORRERY SOURCE_DIR: what kai took for the fair shares of CPU and memory (table fair_share_of) is what the audit's
# division makes of what queues held and asked for: as_other.sql has a copy of the results tell of them where they tell of
# GPUs. Queues under queues, quotas, limits and weights that bind, an event, nodes that come and go, graces.
set -eu
orrery=$1 source=$2
. "$(dirname "$0")/../scratch.sh"

shares() { # RESOURCE AMOUNT: examined and broken
    cp run.db other.db
    sed "s/RESOURCE/$1/g; s/AMOUNT/$2/g" "$source/tests/audit/as_other.sql" | sqlite3 -bail other.db
    "$orrery" audit other.db >said || : # other rules are about devices
    awk '$1 == "share" { print $2, $3; exit }' said
}
holds() { # LEAST: so many shares of each were stored, and each is due
    for resource in cpu,cpu_milli memory,mem_bytes; do
        got=$(shares "${resource%,*}" "${resource#*,}")
        [ "${got#* }" = 0 ] && [ "${got% *}" -ge "$1" ] || fail "${resource%,*}: examined and broken: $got
$(grep '^share at' said)"
    done
}

for seed in 3 4 5; do
    draw_jobs "$seed" 100 job,submit_s,run_s,pods,min_pods,gpus_per_pod,cpu_milli,mem_mib,queue '
        t += x % 30
        printf "j%d,%d,%d,%d,1,%d,%d,%d,%s\n", i, t, 20 + x % 500, 1 + x % 3, x % 3, 700 * (1 + x % 11), 2000 * (1 + x % 7), substr("abc", 1 + int(x / 7) % 3, 1)' >trace.csv
    world run trace.csv kai <<YAML
cluster: {pools: {p: {nodes: 4, gpus: 4, cpu: 16, memory: 64GiB}}}
queues:
  d: {gpu: [12, 1, unlimited], cpu: [48, 1, unlimited], memory: [128GiB, 1, unlimited]}
  a: {parent: d, gpu: [8, 1, unlimited], cpu: [12, 1, 40], memory: [24GiB, 2, unlimited]}
  b: {parent: d, gpu: [4, 1, unlimited], cpu: [8, 2, unlimited], memory: [30GiB, 1, 128GiB]}
  c: {gpu: [4, 1, unlimited], cpu: [7, 3, unlimited], memory: [unlimited, 1, 96GiB]}
execution: {grace: ${seed}s}
events: [{at: 600s, set: {queues.a.cpu.quota: 5, queues.b.memory.weight: 3}}, {at: 900s, set: {cluster.pools.p.nodes: 3}}, {at: 1500s, set: {cluster.pools.p.nodes: 4}}]
YAML
    "$orrery" run run.yaml -o run.db --force --quiet --no-progress
    holds 25
done
sqlite3 run.db "UPDATE fair_share_of SET amount = amount + 1 WHERE rowid = (SELECT max(rowid) FROM fair_share_of WHERE resource = 'cpu')"
[ "$(shares cpu cpu_milli | cut -d' ' -f2)" -gt 0 ] || fail "a share that is one milli-CPU more is not found"
