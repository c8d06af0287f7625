#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The public traces in ORRERY_TEST_DATA (their folder, or the one above it), against what is published of them.
#
#   given.sh ORRERY SOURCE
set -eu
orrery=$1 source=$2
data=${ORRERY_TEST_DATA:-}
[ ! -d "$data/traces" ] || data=$data/traces
[ -n "$data" ] && [ -d "$data/philly" ] || exit 77
. "$source/tests/scratch.sh"

# has NAME TEXT ARGUMENTS...: the import prints the text
has() {
    name=$1 text=$2
    shift 2
    "$orrery" import "$@" >out 2>err || fail "$name: $(cat err)"
    grep -qF -e "$text" out || fail "$name: no \"$text\" in: $(cat out)"
}

azure=$data/azure-llm-2023/AzureLLMInferenceTrace_code.csv.gz
has azure 'requests: 8819 in all, 632 in the busiest step' "$azure" --map azure-llm -o rate.csv
cut -d, -f1,2 rate.csv | cmp - "$source/traces/data/azure-llm-code-2023.csv" || fail 'azure: another series than the one that is shipped'
openb=$data/openb/openb_pod_list_default.csv.gz
has openb 'rows      8152 read, 7255 kept' "$openb" --map openb
has openb '897 rows: was never scheduled' "$openb" --map openb
has fill '6086.8 in the busiest hour if every job ran at once' "$openb" --map openb-fill -o jobs.csv
for nodes in 'openb/openb_node_list_all_node.csv:openb-nodes:1523 nodes of 27 kinds, 6212' 'openb/openb_node_list_gpu_node.csv:openb-nodes:1213 nodes of 15 kinds, 6212' \
    'pai-machines/pai_machine_spec.csv.gz:pai-machines:1897 nodes of 7 kinds, 6742' 'alibaba-spot-nodes/node_info_df.csv.gz:spot-2026-nodes:4278 nodes of 10 kinds, 10412'; do
    map=${nodes#*:}
    has "${map%%:*}" "cluster   ${map#*:} GPUs" "$data/${nodes%%:*}" --map "${map%%:*}" -o cluster.yaml --force
    cp cluster.yaml "${map%%:*}.yaml"
done
for pool in '"T4-2": {nodes: 497, gpus: 2' '{nodes: 798, gpus: 2, gpu_model: "P100"' '{nodes: 280, gpus: 8, gpu_model: "MISC"' '{nodes: 135, gpus: 8, gpu_model: "V100M32"' '{nodes: 83, gpus: 0'; do
    grep -qF "$pool" pai-machines.yaml || fail "pai: no pool $pool"
done
for pool in '{nodes: 2492, gpus: 1, gpu_model: "A10", cpu: 128' '{nodes: 901, gpus: 1, gpu_model: "GPU-series-1", cpu: 192' '{nodes: 432, gpus: 8, gpu_model: "A100-SXM4-80GB"' '{nodes: 219, gpus: 8, gpu_model: "H800"'; do
    grep -qF "$pool" spot-2026-nodes.yaml || fail "spot: no pool $pool"
done
# filled in the order of the list: 98 % are asked for, and what is left over is in pieces that no pod fits into
cp openb-nodes.yaml cluster.yaml
"$orrery" run cluster.yaml --set horizon=8152s -o fill.db --no-progress >out 2>err || fail "fill: $(cat err)"
grep -q '^drain .*: 0.914 of GPU time was allocated' out || fail "fill: $(cat out)"
philly=$data/philly/philly.csv.gz
has philly 'rows      82247 read, 82247 kept' "$philly" --map auto -o philly.csv -q
has philly 'demand    978078 GPU-hours' "$philly"
has philly 'submitted in the second of the row before: 6664' "$philly"
for log in KTH-SP2-1996-2.1:27992 HPC2N-2002-2.2:202871 SDSC-BLUE-2000-4.2:243306; do
    has "${log%%:*}" "rows      ${log##*:} read" "$data/swf/${log%%:*}-cln.swf.gz" --allow-loss=any
done
has blue 'interactive' "$data/swf/SDSC-BLUE-2000-4.2-cln.swf.gz" --allow-loss=any
gavel=$data/gavel-msr
has gavel 'rows      2000 read, 2000 kept' "$gavel/seed0-ee9e8c.trace.gz" "$gavel/simulation_throughputs.json.gz" -o gavel
has gavel '(52.2 d)' "$gavel/seed0-ee9e8c.trace.gz" "$gavel/simulation_throughputs.json.gz" -o gavel --force
# 373 jobs have no rate of their number of GPUs on V100: 371 have more than were measured, two have 7
grep -q '371 jobs have more GPUs than any rate of its kind' out || fail "gavel: $(cat out)"
[ "$(awk -F, '$4 == 7' gavel/jobs.csv | wc -l)" = 2 ] || fail 'gavel: not two jobs of 7 GPUs'
samples=$data/slurm-samples
has sacct 'rows      4 read, 2 kept' "$samples/sample-sacct-one-multiline.txt"
has sacct 'sizes     median 256 GPUs, 90 % 1024' "$samples/sample-sacct-one-multiline.txt"
has broken 'the row has 93 of 109 cells' "$samples/sample-sacct-output-with-invalid-lines.txt" --allow-loss=any
"$orrery" import "$samples/sample-scontrol-output.txt" -o partitions >out 2>err || fail "scontrol: $(cat err)"
[ "$(grep -c 'gpu: \[0, 1, unlimited\]' partitions/cluster.yaml)" -ge 3 ] || fail "scontrol: $(cat partitions/cluster.yaml)"
