#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plants one fault at a time in the results of clean runs; `orrery audit` must find each under its
# rule, and nothing in the clean ones.
#
#   audit.sh ORRERY PLANT WORK_DIR SOURCE_DIR
set -eu

orrery=$1 plant=$2 work=$3 source=$4
. "$(dirname "$0")/../scratch.sh"

run() {
    name=$1
    shift
    # what a scenario expects under another policy is of no concern here
    "$orrery" run "$@" --quiet --no-progress -o "$name.db" 2>err || grep -q ' expect: ' err || {
        cat err
        exit 1
    }
    "$orrery" audit "$name.db" >out || {
        printf 'clean run %s:\n' "$name"
        cat out
        exit 1
    }
}
log=$source/tests/peers/backfill/hpc2n-exact.swf.gz
run kai "$source/scenarios/whatif/gang/gang.yaml" --policy kai
run fifo --trace "$log" --cluster 240x1 --split 1 --policy fifo
run easy --trace "$log" --cluster 240x1 --split 1 --policy easy
run reclaim "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai
run static "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy static
run cells "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy drf --param placement=hived
cat >resized.csv <<CSV
job,submit_s,run_s,template,pods,gpus_per_pod,queue
grows,0,100,soft,1,6,a
other,10,40,,1,4,b
CSV
world resized resized.csv '{name: kai, params: {resize_pods: true, default_reclaim_min_runtime: 0s}}' <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 8}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}
profiles: {linear: {kind: speedup, speedup: {1: 1, 8: 8}}}
templates: {soft: {min_gpus_per_pod: 2, profile: linear}}
YAML
run resized resized.yaml
cat >loose.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,priority
o1,0,100,1,4,a,-1
o2,1,100,1,4,a,-1
g1,10,50,1,4,a,0
g2,20,50,1,4,b,0
CSV
world loose loose.csv '{name: fifo, params: {placement: hived, opportunistic_below: 0}}' <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 4}}}
queues: {a: {gpu: [4, 1, unlimited]}, b: {gpu: [4, 1, unlimited]}}
YAML
run loose loose.yaml
run kube "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kube --param namespace_quota=quota
run kueue "$source/scenarios/whatif/kueue/cohorts.yaml" --variant reclaim
cat >flavors.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,queue,priority
a1,0,100,1,4,a,0
a2,0,200,1,4,a,0
a3,1,300,1,4,a,0
a4,2,50,1,4,a,0
b1,3,50,1,4,b,0
b2,20,50,1,4,b,5
b3,21,50,1,4,b,9
CSV
world flavors flavors.csv kueue <<YAML
cluster: {pools: {h100: {nodes: 2, gpus: 4}, a100: {nodes: 2, gpus: 4}}}
queues:
  a: {parent: all, flavors: {h100: {gpu: [4, 1, 4]}, a100: {gpu: [4, 1, unlimited]}}}
  b: {parent: all, flavors: {h100: {gpu: [4, 1, 4]}, a100: {gpu: [4, 1, 4]}}, preemption: {within: LowerPriority, reclaim: Any}}
  all: {}
YAML
run flavors flavors.yaml
cat >reserved.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod
long,0,100,1,4
wide,5,100,2,4
early,10,60,1,4
late,20,60,1,2
short,21,20,1,2
CSV
world reserved reserved.csv '{name: kai, params: {reservation: 30s}}' <<YAML
cluster: {pools: {p: {nodes: 2, gpus: 4}}}
YAML
run reserved reserved.yaml
# CPU and memory: of all nodes in a and b, of flavors in c and d. a1 and c1 borrow, so that others wait.
cat >bounds.csv <<CSV
job,submit_s,run_s,pods,gpus_per_pod,cpu_milli,mem_mib,queue
a1,0,100,3,1,2000,4096,a
a2,1,100,2,1,2000,4096,a
b1,2,100,1,1,2000,4096,b
c1,0,100,3,1,2000,4096,c
c2,1,100,2,1,2000,4096,c
d1,2,100,1,1,2000,4096,d
CSV
world bounds bounds.csv '{name: kueue, params: {cluster_cohort: false}}' <<YAML
cluster: {pools: {p: {nodes: 8, gpus: 8, cpu: 64, memory: 512Gi}}}
queues:
  x: {}
  y: {}
  a: {parent: x, gpu: [8, 1, 8], cpu: [4, 1, 8], memory: [100Gi, 1, 100Gi]}
  b: {parent: x, gpu: [8, 1, 8], cpu: [4, 1, 4], memory: [100Gi, 1, 100Gi]}
  c: {parent: y, flavors: {p: {gpu: [8, 1, 8], cpu: [4, 1, 8], memory: [100Gi, 1, 100Gi]}}}
  d: {parent: y, flavors: {p: {gpu: [8, 1, 8], cpu: [4, 1, 4], memory: [100Gi, 1, 100Gi]}}}
YAML
run bounds bounds.yaml
run racks "$source/scenarios/whatif/topology/topology.yaml" --policy kai
run topology "$source/scenarios/whatif/topology/topology.yaml" --policy kueue
run preempt "$source/scenarios/whatif/inference/inference.yaml" --policy kai
run shortest --trace "$log" --cluster 240x1 --split 1 --policy fifo --param order=shortest
run backfill --trace "$log" --cluster 240x1 --split 1 --policy fifo --param backfill=true
run las "$source/scenarios/whatif/hoarding/hoarding.yaml" --policy las
run mixed "$source/scenarios/mixed/mixed.yaml" # cut while evicted jobs are in their grace
run flat "$source/scenarios/mixed/mixed.yaml" --policy kai --param preset=project-level-fairness --set horizon=2d
# Three shards, one with a policy of its own; pods of another scheduler; nodes that fail; jobs that are held back.
awk 'BEGIN {
    print "job,submit_s,run_s,pods,gpus_per_pod,queue,kind,after"
    for (i = 1; i <= 120; i++) {
        printf "h%d,%d,%d,1,%d,hq%d,training,%s\n", i, i * 3, 40 + i % 17 * 9, 1 + i % 3, i % 2, i % 10 == 9 ? "h" i - 8 : ""
        printf "a%d,%d,%d,1,1,aq,%s,\n", i, i * 3, 90 + i % 5, i % 6 == 0 ? "interactive" : "training"
    } }' >shards.csv
world shards shards.csv '[{name: kai}, {shard: a, name: fifo}]' <<YAML
cluster:
  pools:
    h: {nodes: 4, gpus: 2, shard: h, foreign: {gpus: 1}}
    a: {nodes: 12, gpus: 1, shard: a}
    k: {nodes: 3, gpus: 4, shard: k}
  failures: {each: node, mtbf: 20m, repair: {median: 2m, sigma: 0.5}}
queues:
  hq0: {shard: h, gpu: [2, 1, unlimited]}
  hq1: {shard: h, gpu: [2, 1, unlimited]}
  aq: {shard: a, gpu: [12, 1, unlimited]}
  kq: {shard: k, gpu: [12, 1, unlimited]}
YAML
sed -i 's/^h\([0-9]*\),\([0-9]*\),\([0-9]*\),1,[23],/h\1,\2,\3,2,1,/' shards.csv
run shards shards.yaml
run calm shards.yaml --set cluster.failures.mtbf=10000d
# Every story under kai; nothing is wrong with any of them.
for story in "$source"/scenarios/first/first.yaml "$source"/scenarios/whatif/*/*.yaml; do
    grep -q '^cluster:' "$story" || continue # not a scenario
    horizon=
    case $story in */first.yaml) horizon='--set horizon=1d' ;; esac # the others are short
    run "kai-$(basename "$story" .yaml)" "$story" --policy kai $horizon
done
# Borrowing beyond quota and share: a holds all 12 GPUs when b asks for as much as its share, 6, of which
# 2 are its quota. Elastic jobs give pods; the last three find too little above a's share.
awk 'BEGIN {
    print "job,submit_s,run_s,pods,min_pods,gpus_per_pod,queue"
    for (i = 1; i <= 6; i++) printf "a%d,%d,3000,1,1,1,a\n", i, i
    print "elastic,7,3000,6,2,1,a"
    for (i = 1; i <= 6; i++) printf "b%d,%d,3000,1,1,1,b\n", i, 100 + 10 * i
    print "gang,50,3000,4,4,1,c"
}' >share.csv
world share share.csv '{name: kai, params: {consolidation: false}}' <<YAML
cluster: {pools: {p: {nodes: 3, gpus: 4}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}, c: {gpu: [0, 0, unlimited]}}
execution: {grace: 5s}
YAML
run share share.yaml
# Past use: a held all for ten minutes, so that little beyond its quota is due to it when b asks for as much.
awk 'BEGIN {
    print "job,submit_s,run_s,gpus_per_pod,queue"
    for (i = 1; i <= 12; i++) printf "a%d,%d,3000,1,a\nb%d,%d,3000,1,b\n", i, i, i, 600 + 10 * i
}' >past.csv
world past past.csv '{name: kai, params: {consolidation: false, usage_db: prometheus, window_size: 20m}}' <<YAML
cluster: {pools: {p: {nodes: 3, gpus: 4}}}
queues: {a: {gpu: [1, 1, unlimited]}, b: {gpu: [1, 1, unlimited]}}
YAML
run past past.yaml
# GPU memory of two sizes of devices: what is asked counts by the smaller, what is held by its own.
awk 'BEGIN {
    print "job,submit_s,run_s,pods,min_pods,gpu_memory_mib,queue"
    for (i = 1; i <= 20; i++) printf "a%d,%d,3000,1,1,20000,a\n", i, i
    for (i = 1; i <= 12; i++) printf "b%d,%d,3000,1,1,%d,b\n", i, 100 + 10 * i, i % 2 ? 20000 : 30000
}' >memory.csv
world memory memory.csv '{name: kai, params: {consolidation: false}}' <<YAML
cluster: {pools: {large: {nodes: 1, gpus: 4, gpu_memory: 80Gi}, small: {nodes: 1, gpus: 2, gpu_memory: 40Gi}}}
queues: {a: {gpu: [1, 1, unlimited]}, b: {gpu: [1, 1, unlimited]}}
YAML
run memory memory.yaml
# Nodes that are to go: two by a change, one for maintenance; they take nothing new before.
world nodes share.csv '{name: kai, params: {consolidation: false}}' <<YAML
cluster: {pools: {p: {nodes: 5, gpus: 4}}}
queues: {a: {gpu: [2, 1, unlimited]}, b: {gpu: [2, 1, unlimited]}, c: {gpu: [0, 0, unlimited]}}
events:
- {at: 110s, set: {cluster.pools.p.nodes: 3}, taken: drain, notice: 108s}
- {at: 150s, maintain: n0003, for: 60s, notice: 120s}
YAML
run nodes nodes.yaml
run late "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy kai --set policy.latency=kai-500
# Who waits first although GPUs are idle: for a model, for CPU, for more of one GPU than is left, for a node
# that is away. To fit is more than to count then.
printf 'job,submit_s,run_s,gpu_fraction,gpus_per_pod,cpu_milli,gpu_model,queue\n' >choosy.csv
cp choosy.csv parts.csv
printf '%s\n' a,0,1000,,1,,A100,q b,200,100,,1,,A100,q c,300,100,,1,3000,,q d,310,100,,1,3000,,q e,3000,100,,1,,,q >>choosy.csv
printf '%s\n' a,0,100,0.6,,,,q b,1,100,0.6,,,,q c,2,100,0.6,,,,q >>parts.csv
world choosy choosy.csv '{name: fifo}' <<YAML
cluster: {pools: {p: {nodes: 1, gpus: 1, cpu: 4, gpu_model: A100}, r: {nodes: 1, gpus: 1, cpu: 2, gpu_model: H100}}}
queues: {q: {gpu: [2, 1, unlimited]}}
YAML
{ cat choosy.yaml; echo 'events: [{at: 100s, set: {cluster.pools.r.nodes: 0}}]'; } >away.yaml
for line in fifo easy; do
    run choosy-$line choosy.yaml --policy $line
    run parts-$line choosy.yaml --policy $line --set workload.t.trace=parts.csv
    run away-$line away.yaml --policy $line
done

planted=0 missed=0
# fault RUN RULE SQL
fault() {
    cp "$1.db" planted.db
    "$plant" planted.db "$3"
    code=0
    "$orrery" audit planted.db >out || code=$?
    broken=$(awk -v rule="$2" '$1 == rule { print $3; exit }' out)
    planted=$((planted + 1))
    if [ "$code" != 1 ] || [ "${broken:-0}" = 0 ]; then
        printf 'not found as %s: %s\n' "$2" "$3"
        missed=$((missed + 1))
    fi
}
one="(SELECT id FROM job WHERE node IS NOT NULL AND evictions = 0 AND state = 3 ORDER BY id LIMIT 1)"
wide="(SELECT job FROM placement GROUP BY job, nr HAVING sum(nodes) > 1 LIMIT 1)"
cut="(SELECT job FROM attempt LIMIT 1)"
waited="(SELECT id FROM job WHERE start_ms > submit_ms + 3600000 ORDER BY id LIMIT 1)"

fault kai times "UPDATE job SET submit_ms = start_ms + 1 WHERE id = $one"
fault kai times "UPDATE job SET end_ms = start_ms - 1 WHERE id = $one"
fault kai times "UPDATE placement SET end_ms = end_ms + 864000000 WHERE job = $cut AND nr = 1"
fault kai capacity "UPDATE node SET gpus = 7 WHERE id = 0"
fault kai capacity "UPDATE job SET node = 0 WHERE node IS NOT NULL"
fault kai devices "UPDATE job SET devices = 1 WHERE node = 0"
fault kai devices "UPDATE job SET devices = 1 << 20 WHERE id = $one"
fault kai amount "UPDATE placement SET mgpu = mgpu - 1000 WHERE job = $wide"
fault kai amount "UPDATE placement SET mgpu = 2 * mgpu WHERE job = $cut"
fault kai gang "UPDATE placement SET nodes = nodes - 1 WHERE rowid = (SELECT min(rowid) FROM placement WHERE job = $wide AND nodes > 1)"
fault kai gang "UPDATE placement SET pods = pods + 1 WHERE job = $wide"
fault kai gang "UPDATE job SET pods = pods + 1, min_pods = pods + 1 WHERE id = $wide"
fault kai counts "UPDATE job SET evictions = evictions + 1 WHERE id = $one"
fault kai counts "DELETE FROM attempt WHERE job = $cut"
fault kai counts "UPDATE job SET start_ms = NULL, end_ms = NULL WHERE id = $one"
fault kai counts "UPDATE job SET state = 2 WHERE id = $one"
fault kai names "UPDATE job SET node = 4711 WHERE id = $one"
fault kai names "UPDATE placement SET job = 4711 WHERE job = $wide"
fault kai names "UPDATE placement SET node = (SELECT max(id) FROM node) WHERE rowid = (SELECT rowid FROM placement WHERE nodes > 1 LIMIT 1)"
fault kai limit "UPDATE queue SET gpu_limit = 1"
fault kai reclaim "UPDATE queue SET gpu_quota = 100000"
took="(SELECT for_job FROM eviction WHERE cause = 'reclaim' LIMIT 1)"
taken="(SELECT job FROM eviction WHERE cause = 'reclaim' LIMIT 1)"
fault reclaim victim "UPDATE job SET queue = (SELECT queue FROM job WHERE id = $taken) WHERE id = $took"
fault reclaim victim "INSERT INTO non_preemptible VALUES($taken)"
fault preempt victim "INSERT INTO queue SELECT 4711, 'other', 'other', NULL, 1, priority, gpu_quota, gpu_limit, gpu_weight FROM queue LIMIT 1;
    UPDATE job SET queue = 4711 WHERE id = (SELECT job FROM eviction WHERE cause = 'preempt' LIMIT 1)"
fault reclaim reclaim "UPDATE queue SET gpu_quota = 32 WHERE name = 'research'"
# The law of reclaim between quota and share: more is due to a by weight, by a quota of its own, by its
# limit being none, because b wants less, because there is more to divide; or a held less than it did.
fault share reclaim "UPDATE queue SET gpu_weight = 9 WHERE name = 'a'"
fault share reclaim "UPDATE queue SET priority = 200 WHERE name = 'a'"
fault share reclaim "UPDATE queue SET gpu_quota = 12 WHERE name = 'a'"
fault share reclaim "UPDATE queue SET gpu_quota = -1 WHERE name = 'a'"
fault share reclaim "UPDATE queue SET gpu_limit = 5 WHERE name = 'b'; UPDATE queue SET gpu_weight = 3 WHERE name = 'a'"
fault share reclaim "UPDATE job SET submit_ms = submit_ms + 10000000, start_ms = start_ms + 10000000, end_ms = end_ms + 10000000,
    last_start_ms = last_start_ms + 10000000 WHERE name IN ('b4', 'b5', 'b6')"
fault share reclaim "INSERT INTO node SELECT id + 10, name || 'x', pool, gpus, gpu_model, cpu_milli, mem_bytes, gpu_mib, pods, mig_gpus FROM node"
fault share reclaim "INSERT INTO queue_change SELECT id, 130000, priority, 12, gpu_limit, gpu_weight FROM queue WHERE name = 'a'"
fault share reclaim "UPDATE job SET queue = 2 WHERE name IN ('a1', 'a2', 'a3', 'a4')"
fault share reclaim "INSERT INTO eviction SELECT id, 160000, 180000, 'reclaim', 1, 1, (SELECT id FROM job WHERE name = 'b6'), 0, 0
    FROM job WHERE queue = 0 AND name = 'a1'; UPDATE job SET evictions = evictions + 1, end_ms = NULL, state = 1 WHERE name = 'a1'"
fault reclaim quota "INSERT INTO non_preemptible SELECT id FROM job WHERE queue = (SELECT id FROM queue WHERE name = 'research')"
fault reclaim books "UPDATE job_time SET useful = useful + 1000 WHERE job = $taken"
fault share share "UPDATE fair_share SET mgpu = mgpu + 1000 WHERE rowid = (SELECT max(rowid) FROM fair_share)"
fault share share "UPDATE queue SET gpu_weight = 9 WHERE name = 'a'"
# Past use that counts less far back or not at all, devices that have more memory than was counted, nodes
# that took work until they went: then more was due to a than it kept.
fault past share "UPDATE shard SET policy_params = replace(policy_params, 'usage_db=prometheus', 'usage_db=off')"
fault past reclaim "UPDATE shard SET policy_params = replace(policy_params, 'usage_db=prometheus', 'usage_db=off')"
fault past share "UPDATE shard SET policy_params = replace(policy_params, 'k_value=1', 'k_value=0.2')"
fault past share "UPDATE job SET start_ms = start_ms + 300000, last_start_ms = last_start_ms + 300000
    WHERE node IS NOT NULL AND name LIKE 'a%'; UPDATE placement SET start_ms = start_ms + 300000 WHERE job IN
    (SELECT id FROM job WHERE name LIKE 'a%'); UPDATE attempt SET start_ms = start_ms + 300000"
fault memory amount "UPDATE placement SET mgpu = mgpu + 10 WHERE rowid = 1"
fault memory amount "UPDATE node SET gpu_mib = gpu_mib / 2"
fault memory share "UPDATE node SET gpu_mib = 80000"
fault memory share "UPDATE ask SET gpu_mib = gpu_mib - 4000"
fault memory reclaim "UPDATE queue SET gpu_weight = 9 WHERE name = 'a'"
fault nodes share "DELETE FROM cordon"
fault nodes reclaim "DELETE FROM cordon; DELETE FROM away"
fault nodes down "INSERT INTO cordon SELECT node, start_ms, start_ms + 1 FROM job WHERE node IS NOT NULL LIMIT 1"
fault static part "UPDATE queue SET gpu_quota = 8"
fault cells part "UPDATE queue SET gpu_quota = 8"
fault kube namespace "UPDATE queue SET gpu_quota = 8"
fault kueue lending "UPDATE queue SET gpu_limit = 4 WHERE name = 'vision'"
fault kueue victim "UPDATE eviction SET cause = 'preempt'"
fault kueue victim "UPDATE shard SET policy_params = replace(policy_params, 'reclaim_within_cohort=any', 'reclaim_within_cohort=never')"
fault kueue lending "INSERT INTO queue_flavor SELECT id, NULL, '', 'gpu', gpu_quota, gpu_limit, 0 FROM queue WHERE parent IS NULL"
fault flavors lending "UPDATE queue_flavor SET bound = quota"
fault flavors lending "UPDATE queue_flavor SET lend = 0 WHERE queue = (SELECT id FROM queue WHERE name = 'b')"
fault flavors lending "UPDATE flavor_node SET flavor = 'h100' WHERE node = (SELECT max(node) FROM flavor_node)"
fault flavors victim "UPDATE queue_lending SET reclaim = 'LowerPriority'; UPDATE job SET priority = 9 WHERE name LIKE 'a_'"
fault flavors victim "UPDATE queue_lending SET within = 'Never'"
fault bounds lending "UPDATE queue_bound SET bound = 5000 WHERE resource = 'cpu' AND queue = (SELECT id FROM queue WHERE name = 'a')"
fault bounds lending "UPDATE queue_bound SET quota = 1000, bound = 1000 WHERE resource = 'cpu' AND queue = (SELECT id FROM queue WHERE name = 'b')"
fault bounds lending "UPDATE queue_bound SET quota = 4e9, bound = 4e9 WHERE resource = 'memory' AND queue = (SELECT id FROM queue WHERE name = 'a')"
fault bounds lending "UPDATE queue_flavor SET bound = 5000 WHERE resource = 'cpu' AND queue = (SELECT id FROM queue WHERE name = 'c')"
fault bounds lending "UPDATE queue_flavor SET lend = 0 WHERE resource = 'cpu' AND queue = (SELECT id FROM queue WHERE name = 'd')"
fault bounds lending "UPDATE queue_flavor SET quota = 4e9, bound = 4e9 WHERE resource = 'memory' AND queue = (SELECT id FROM queue WHERE name = 'c')"
fault kueue victim "UPDATE shard SET policy_params = replace(policy_params, 'cluster_cohort=true', 'cluster_cohort=false'); UPDATE queue SET parent = NULL"
fault racks together "UPDATE node_domain SET domain = node"
fault racks names "UPDATE placement SET node = (SELECT max(id) FROM node) WHERE rowid = (SELECT rowid FROM placement WHERE nodes > 1 LIMIT 1)"
fault topology together "UPDATE node_domain SET domain = node"
fault topology together "UPDATE ask SET level = 'node' WHERE pods > 1"
fault shards shard "UPDATE job SET node = (SELECT id FROM node WHERE pool = 'k' LIMIT 1) WHERE id =
    (SELECT id FROM job WHERE name LIKE 'a%' AND node IS NOT NULL LIMIT 1)"
fault shards down "INSERT INTO outage SELECT node, start_ms, end_ms FROM job WHERE id =
    (SELECT id FROM job WHERE node IS NOT NULL AND end_ms > start_ms LIMIT 1)"
fault shards devices "UPDATE job SET devices = 1 WHERE id = (SELECT id FROM job WHERE name LIKE 'h%' AND devices = 2 LIMIT 1)"
fault shards capacity "UPDATE foreign_pods SET gpus = 2 WHERE node = (SELECT min(node) FROM foreign_pods)"
fault shards limit "UPDATE queue SET gpu_limit = 1 WHERE name = 'hq0'"
fault shards quota "UPDATE queue SET gpu_quota = 0; INSERT OR IGNORE INTO non_preemptible SELECT id FROM job"
fault calm order "UPDATE job SET end_ms = end_ms - start_ms + submit_ms, start_ms = submit_ms WHERE id =
    (SELECT id FROM job WHERE name LIKE 'a%' AND node IS NOT NULL ORDER BY start_ms - submit_ms DESC LIMIT 1)"
fault calm head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE id =
    (SELECT id FROM job WHERE name LIKE 'a%' AND start_ms > submit_ms ORDER BY id DESC LIMIT 1)"
fault fifo order "UPDATE job SET end_ms = end_ms - start_ms + submit_ms, start_ms = submit_ms WHERE id = $waited"
fault fifo head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE id = $waited"
fault easy head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE id = $waited"
fault choosy-fifo head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE name = 'e'"
fault easy promise "UPDATE job SET estimate_ms = estimate_ms * 50"
fault resized resize "UPDATE job SET min_pods = 5 WHERE name = 'grows'"
fault resized resize "DELETE FROM placement WHERE job = 0 AND devices > 1"
fault resized resize "UPDATE ask SET pods = 5 WHERE level = 'node'"
fault loose opportunistic "UPDATE job SET priority = 0 WHERE name = 'o1'"
fault loose opportunistic "UPDATE job SET priority = -1 WHERE name = 'g2'"
fault loose part "UPDATE job SET priority = 0 WHERE name LIKE 'o%'"
fault reserved reservation "UPDATE job SET estimate_ms = 40000 WHERE name = 'short'"

# The same jobs by a scheduler that keeps no promise: what a stored run and a list of starts say.
"$orrery" run --trace "$log" --cluster 240x1 --split 1 --policy easy --param variant=unguarded --quiet \
    --no-progress -o unguarded.db
"$orrery" export unguarded.db jobs >unguarded.csv
for result in unguarded.db "--trace $log --split 1 --cluster 240x1 --rules easy --schedule unguarded.csv"; do
    # shellcheck disable=SC2086
    "$orrery" audit $result >out && missed=$((missed + 1))
    grep -q '^promise  *840  *250 ' out || {
        cat out
        missed=$((missed + 1))
    }
done
# A single node of many GPUs: where a job fits is to count, and a list that leaves jobs out says so.
printf 'job,submit_s,run_s,gpus,queue\na,0,100,4,x\nb,0,200,4,x\nc,10,50,8,y\nz,20,0,2,y\n' >one.csv
one() { # CODE WORDS ROWS
    code=0
    printf "job,start_s\n$3" >starts.csv
    "$orrery" audit --trace one.csv --cluster 1x8 --rules fcfs --schedule starts.csv >out || code=$?
    { [ "$code" = "$1" ] && grep -q "$2" out; } || {
        cat out
        missed=$((missed + 1))
    }
}
one 0 '^head  *[1-9][0-9]*  *0 ' 'a,0\nb,0\nc,200\nz,250\n'
one 1 'head at 200 s: job c waits first in line for 8 GPUs while 8 are idle' 'a,0\nb,0\nc,300\nz,350\n'
one 1 "1 of the trace's 4 jobs has no start in" 'a,0\nb,0\nz,200\n'
[ "$missed" -eq 0 ] && printf '%s planted faults were found\n' "$planted"
