#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery init`: what it writes loads, runs, and says of the trace what can be counted by hand.
#
#   init.sh ORRERY WORK_DIR SOURCE_DIR
set -eu
orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

holds() { # holds FILE TEXT...: the file has these lines' parts
    file=$1
    shift
    for text in "$@"; do grep -qF -- "$text" "$file" || fail "$file lacks: $text"; done
}

# 4 + 2 + 2 GPU-hours in two queues; names that YAML would take for something else.
cat >jobs.csv <<'CSV'
job_id,submit_time,duration,num_gpus,vc,kind
a,2026-06-01T12:00:00Z,7200,2,"no: ""x""",training
b,2026-06-01T12:30:00Z,3600,2,"no: ""x""",training
c,2026-06-01T14:00:00Z,3600,2,123,interactive
d,2026-06-01T14:00:00Z,60,x,123,training
CSV
"$orrery" init --trace jobs.csv --cluster 2x4:H100 --cluster 1x8 --policy kai --allow-loss=50% -o s.yaml 2>err
holds s.yaml '3 jobs of 2 queues, submitted in 2.0 h from 2026-06-01T12:00:00Z on' '8 GPU-hours: 4.0 GPUs on average, 25.0 % of this cluster' \
    '1 more row is left out' 'nodes: 2, gpus: 4, gpu_model: "H100"' 'nodes: 1, gpus: 8' '75.0 % of GPU-hours, 2 jobs, the largest 2 GPUs' \
    '25.0 % of GPU-hours, 1 job, the largest 2 GPUs, 1 interactive' 'gpu: [12, 1, unlimited]' 'gpu: [4, 1, unlimited]'
holds err 'jobs.csv:5: column num_gpus (gpus): "x"' 'orrery run s.yaml'
"$orrery" run s.yaml --allow-loss=50% -q --no-progress -o r.db 2>err || fail "what init writes does not run: $(cat err)"
[ "$(sqlite3 r.db 'SELECT group_concat(name) FROM (SELECT name FROM queue ORDER BY name)')" = '123,no: "x"' ] || fail "names of queues"
[ "$("$orrery" export r.db jobs | grep -c ,finished,)" = 3 ] || fail "not all jobs finished"
"$orrery" whatif s.yaml --variant more-nodes --allow-loss=50% --no-progress >out 2>err || [ $? = 1 ] || fail "its variant does not run: $(cat err)"

# A size is made up: by recorded times the peak, else the load, at least the largest job.
printf 'job,submit_s,run_s,gpus,recorded_start_s\na,0,3600,16,0\nb,0,3600,8,1800\nc,10000,3600,8,10000\n' >recorded.csv
"$orrery" init --trace recorded.csv >out 2>err
holds out 'nodes: 3, gpus: 8' 'as many as were held at once'
printf 'job,submit_s,run_s,gpus\na,0,36000,14,\n' | sed 's/,$//' >one.csv
"$orrery" init --trace one.csv >out 2>err
holds out 'nodes: 2, gpus: 8' 'as large as the largest job'
printf 'job,submit_s,run_s,pods,gpu_fraction\na,0,3600,48,0.5\n' >parts.csv # parts of GPUs are GPUs too
"$orrery" init --trace parts.csv >out 2>err
holds out 'nodes: 3, gpus: 8' 'as large as the largest job'
printf 'job,submit_s,run_s,gpus\na,0,36000,7\nb,3600,36000,7\n' >load.csv
"$orrery" init --trace load.csv >out 2>err
holds out 'nodes: 25, gpus: 8' '70 % of it' '140.0 GPUs on average'

# Where nobody asks GPUs, of CPUs: no larger than the jobs want, a node for the largest pod.
printf 'job,submit_s,run_s,pods,gpus_per_pod,cpu_milli\na,0,3600,2,0,4000\nb,3600,3600,3,0,4000\n' >cpu.csv
"$orrery" init --trace cpu.csv >cpu.yaml 2>err
holds cpu.yaml 'made up: 70 % of it is what the jobs want on average (20 CPUs)' 'cpu: {nodes: 1, gpus: 0, cpu: 29}' \
    '20 CPU-hours: 20.0 CPUs on average, 69.0 % of this cluster' '100.0 % of CPU-hours, 2 jobs, the largest 12 CPUs'
"$orrery" run cpu.yaml -q --no-progress -o cpu.db 2>err || fail "nodes of CPUs alone do not run: $(cat err)"
printf 'job,submit_s,run_s,pods,gpus_per_pod,cpu_milli\na,0,3600,2,0,96500\n' >cpu.csv
"$orrery" init --trace cpu.csv >out 2>err
holds out 'cpu: {nodes: 2, gpus: 0, cpu: 97}'
printf 'job,submit_s,run_s,pods,gpus_per_pod,cpu_milli\na,0,3600,100,0,2000\n' >cpu.csv
"$orrery" init --trace cpu.csv >out 2>err
holds out 'cpu: {nodes: 4, gpus: 0, cpu: 64}'
printf 'job,submit_s,run_s,pods,gpus_per_pod,cpu_milli\na,0,3600,3,0,40000\n' >cpu.csv
"$orrery" init --trace cpu.csv >out 2>err
holds out 'cpu: {nodes: 3, gpus: 0, cpu: 40}'

# What the head of a log says of its machine goes first: processors, else nodes; a larger job needs more all the same.
"$orrery" init --trace "$source/tests/peers/backfill/hpc2n-exact.swf.gz" >out 2>err
holds out 'nodes: 240, gpus: 1' 'as many as the head of the log says'
for head in '; MaxNodes: 7' '; MaxProcs: 12\n; MaxNodes: 6' '; MaxNodes: 6\n; MaxProcs: 12' '; MaxProcs: 3'; do
    printf "$head\\n1 0 -1 60 5 -1 -1 5 60 -1 1 1 1 1 1 -1 -1 -1\\n" >small.swf
    "$orrery" init --trace small.swf >out 2>err
    case $head in *MaxProcs:\ 12*) nodes=12 ;; *7) nodes=7 ;; *) nodes=5 ;; esac
    holds out "nodes: $nodes, gpus: 1"
done

# In another folder the trace is still found; nothing is overwritten unasked.
mkdir there
"$orrery" init --trace load.csv --cluster 4x8 -o there/s.yaml 2>err
"$orrery" check there/s.yaml >out 2>err || [ $? = 1 ] || fail "there/s.yaml does not load: $(cat err)"
code=0
"$orrery" init --trace load.csv --cluster 4x8 -o there/s.yaml 2>err || code=$?
[ "$code" = 73 ] || fail "overwrites: exit $code"
cp load.csv kept.csv
code=0
"$orrery" init --trace load.csv --cluster 4x8 -o load.csv --force 2>err || code=$?
[ "$code" != 0 ] && cmp -s load.csv kept.csv || fail "the trace is overwritten"
for wrong in "" "--trace gone.csv" "--trace load.csv --cluster x" "--trace load.csv --policy nobody"; do
    code=0
    # shellcheck disable=SC2086
    "$orrery" init $wrong >out 2>err || code=$?
    [ "$code" -ge 64 ] && [ ! -s out ] && [ -s err ] || fail "init $wrong: exit $code"
done

# Nodes that a file states: Slurm's, or the cluster of a scenario as it is written, with the place of what is wrong in it.
printf 'NodeName=DEFAULT Gres=gpu:a100:4 CPUs=64\nNodeName=g[08-10]\nPartitionName=p Nodes=ALL\n' >slurm.conf
"$orrery" init --trace load.csv --nodes slurm.conf --policy kai -o of_conf.yaml --force 2>err
holds of_conf.yaml 'nodes: 3, gpus: 4, gpu_model: "a100", cpu: 64, names: ["g08", "g09", "g10"]' '1166.7 % of this cluster' 'gpu: [12, 1, unlimited]' 'policy: {name: kai}'
"$orrery" init --trace load.csv --nodes - --policy kai <slurm.conf >piped.yaml 2>err
grep '^    "a100' of_conf.yaml >wanted
grep '^    "a100' piped.yaml | cmp -s - wanted || fail "nodes that come through a pipe: $(cat piped.yaml err)"
# Bytes that are no text, as a comment of long ago has them, do not make a scenario that cannot be read.
printf '# M\344rz\nClusterName=x\nNodeName=gr\374n[1-2] Gres=gpu:a100:4\n' >latin.conf
"$orrery" init --trace load.csv --nodes latin.conf >latin.yaml 2>err || fail "latin.conf: $(cat err)"
holds latin.yaml 'names: ["gr�fcn1", "gr�fcn2"]'
"$orrery" import latin.conf -o latin >out
printf 'JobID|Account|Partition|AllocTRES|NNodes|Submit|Start|End|State\n1|M\344rz|p|gres/gpu=4|1|0|0|10|COMPLETED\n' >latin.txt
"$orrery" import latin.txt latin.conf -o both --queue account >both.out
"$orrery" check both/cluster.yaml >check.out 2>&1 || fail "names in another coding: $(cat check.out)"
holds check.out '1 job, 1 queue'
holds out 'latin.conf: 2 bytes are no UTF-8 text, and not as written here'
printf 'queues: {z: {gpu: [1, 1, 1]}}\ncluster:\n  pools:\n# west\n    w: {nodes: 2, gpus: 8, labels: {zone: w}}\n\n# the end\npolicy: kai\n' >nodes.yaml
"$orrery" init --trace load.csv --nodes nodes.yaml -o of_nodes.yaml 2>err
holds of_nodes.yaml '# west' 'w: {nodes: 2, gpus: 8, labels: {zone: w}}' 'cluster.pools.w.nodes": +=1' 'policy: {name: fifo'
! grep -q 'the end\|^  "*z' of_nodes.yaml || fail "more than the cluster is taken: $(cat of_nodes.yaml)"
"$orrery" run of_nodes.yaml -q --no-progress -o of_nodes.db || fail "what init writes of nodes does not run"
sed -i 's/nodes: 2/nodes: two/' nodes.yaml
code=0
"$orrery" init --trace load.csv --nodes nodes.yaml >out 2>err || code=$?
{ [ $code = 78 ] && grep -q 'nodes.yaml:5:16: nodes: "two" is not a whole number' err; } || fail "wrong nodes: exit $code, $(cat err)"
for wrong in "--nodes load.csv" "--nodes gone.yaml" "--nodes slurm.conf --cluster 1x8"; do
    code=0
    # shellcheck disable=SC2086
    "$orrery" init --trace load.csv $wrong >out 2>err || code=$?
    [ "$code" -ge 64 ] && [ ! -s out ] && [ -s err ] || fail "init $wrong: exit $code"
done

# Where more rows are left out than a run accepts, the commands that init names say so.
printf 'job,submit_s,run_s,gpus\na,0,360,7\nb,3600,360,70\n' >large.csv
"$orrery" init --trace large.csv --cluster 1x8 -o large.yaml 2>err
holds err 'orrery check large.yaml --allow-loss' 'orrery run large.yaml --allow-loss'
holds large.yaml '1 more row is left out' 'runs need --allow-loss' 'They ask 0.700 GPU-hours'
