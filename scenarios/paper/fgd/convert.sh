#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# convert.sh NODES RANKS PODS ARRIVALS DIRECTORY: openb in fill mode as a scenario, DIRECTORY/fgd.yaml
# and DIRECTORY/pods.csv.gz.
#
#   NODES     openb_node_list_gpu_node.csv: sn,cpu_milli,memory_mib,gpu,model
#   RANKS     rank,node: of nodes with equal scores the smallest rank is taken, so nodes are written in that order
#   PODS      openb_pod_list_*.csv: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,...
#   ARRIVALS  pod: in the order in which they arrive; NAME-tuned-N is one more pod like NAME
#
# Pods come a second apart and never end. Pods of the list that do not arrive come after the horizon, and clones last:
# they are known, so that typical pods are those of the list, whatever of it arrives. Files may be gzipped.
set -eu
[ $# -eq 5 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
nodes=$1 ranks=$2 pods=$3 arrivals=$4 directory=$5
mkdir -p "$directory"
read_list() {
    case $1 in
        *.gz) gzip -dc "$1" ;;
        *) cat "$1" ;;
    esac
}
{ read_list "$ranks" | sed 's/^/R,/'; read_list "$nodes" | sed 's/^/N,/'; } | awk -F, '
$1 == "R" { rank[$3] = $2; next }
$2 == "sn" { next }
{ printf "%04d,%s,%s,%s,%s,%s\n", rank[$2], $2, $3, $4, $5, $6 }' | LC_ALL=C sort >"$directory/nodes.sorted"
{ read_list "$pods" | sed 's/^/P,/'; read_list "$arrivals" | sed 's/^/A,/'; } | awk -F, '
function row(name, of, at) {
    printf "%s,%d,1000000000,%s,%s,%s,%s,%s\n", name, at, whole[of], part[of], cpu[of], mem[of], spec[of]
}
BEGIN { print "job,submit_s,run_s,gpus_per_pod,gpu_fraction,cpu_milli,mem_mib,gpu_model" }
$1 == "P" && $2 != "name" {
    cpu[$2] = $3; mem[$2] = $4; spec[$2] = $5 > 0 ? $7 : ""
    whole[$2] = $5 > 0 && $6 == 1000 ? $5 : $5 > 0 ? "" : 0
    part[$2] = $5 > 0 && $6 < 1000 ? $6 / 1000 : ""
    listed[++count] = $2
    next
}
$1 == "A" && $2 != "pod" {
    of = $2
    sub(/-tuned-[0-9]*$/, "", of)
    row($2, of, at++)
    came[$2] = 1
}
END {
    for (i = 1; i <= count; i++) {
        if (!(listed[i] in came)) {
            row(listed[i], listed[i], 900000000)
        }
    }
}' >"$directory/pods.csv"
first=$(awk -F, 'NR > 1 && $1 !~ /-tuned-/' "$directory/pods.csv" | wc -l)
gzip -9nf "$directory/pods.csv"
arrive=$(read_list "$arrivals" | grep -vc '^pod$')
{
    cat <<END
apiVersion: orrery/v1alpha1
kind: Scenario
# Made by convert.sh: see README.md.
horizon: ${arrive}s
cluster:
  pools: # of nodes with equal scores the first is taken
END
    awk -F, '{ printf "    r%s-%s: {nodes: 1, gpus: %s, cpu: %s, memory: %sMi, gpu_model: %s}\n", $1, $2, $5, $3 "m", $4, $6 }' \
        "$directory/nodes.sorted"
    cat <<END
workload:
- {name: openb, trace: pods.csv.gz, keep_impossible: true}
policy: {name: fifo, params: {backfill: true, placement: fgd, typical_jobs: $((first))}}
variants:
  random: {policy.params.placement: random}
  dot-product: {policy.params.placement: dot-product}
  clustering: {policy.params.placement: clustering}
  packing: {policy.params.placement: packing}
  best-fit: {policy.params.placement: best-fit}
  worst-fit: {policy.params.placement: worst-fit}
  consolidated: {policy.params.placement: consolidated}
END
} >"$directory/fgd.yaml"
rm "$directory/nodes.sorted"
