#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run of scenarios/paper/fgd under one placement: the place of every pod, where they are known, and the allocation at
# each percentage of the cluster that was asked for.
#
#   fgd_run.sh ORRERY WORK_DIR SCENARIO_DIR FOLDER POLICY PLACEMENT SEED [RUN_OPTION...]
#
# FOLDER: tests/peers/fgd. A seed other than 42 has the nodes and pods of the scenario in the order of ranks-SEED and
# arrivals-SEED. POLICY: as the published tables call it.
set -eu
orrery=$1 work=$2 scenario=$3 folder=$4 policy=$5 placement=$6 seed=$7
shift 7
. "$(dirname "$0")/../scratch.sh"
table=$folder/published.csv places=$folder/$policy.places.csv.gz
[ -f "$places" ] || places=
if [ "$seed" = 42 ]; then
    cp "$scenario/fgd.yaml" "$scenario/pods.csv.gz" .
else
    table=$folder/published-$seed.csv places=
    { gzip -dc "$folder/ranks-$seed.csv.gz" | sed 's/^/RANK,/'; cat "$scenario/fgd.yaml"; } | awk -F, '
    $1 == "RANK" { rank[$3] = $2 + 0; next }
    match($0, /^    r[0-9]+-openb-node-[0-9]+/) {
        name = substr($0, RLENGTH - 3, 4)
        line[rank[name]] = sprintf("    r%04d-%s", rank[name], substr($0, RLENGTH - 14))
        count++
        next
    }
    /^workload:/ { for (i = 0; i < count; i++) print line[i] }
    { print }' >fgd.yaml
    { gzip -dc "$scenario/pods.csv.gz" | sed 's/^/POD,/'; gzip -dc "$folder/arrivals-$seed.csv.gz"; } | awk -F, '
    NR == 1 { sub(/^POD,/, ""); print; next }
    $1 == "POD" { pod[substr($2, 11)] = substr($0, length($2 $3) + 7); next }
    $1 != "pod" {
        of = $1
        sub(/-tuned.*/, "", of)
        printf "openb-pod-%s,%d,%s\n", $1, at++, pod[of]
    }' | gzip -n >pods.csv.gz
fi
"$orrery" run fgd.yaml --param placement="$placement" "$@" --no-progress -o run.db >out 2>err || fail 'no run'
"$orrery" export run.db node >nodes.csv
"$orrery" export run.db job >jobs.csv
[ -z "$places" ] || gzip -dc "$places" | sed 's/^/PLACE,/' >places.csv
[ -n "$places" ] || : >places.csv
sed -n "s/^$policy,/TABLE,/p" "$table" >table.csv
cat places.csv table.csv nodes.csv jobs.csv | awk -F, '
function mask(devices, at, n, i, sum) {
    n = devices == "-" ? 0 : split(devices, at, "-")
    for (i = 1; i <= n; i++) sum += 2 ^ at[i]
    return sum + 0
}
$1 == "PLACE" { node[places + 0] = $2; devices[places++ + 0] = mask($3); next }
$1 == "TABLE" { published[$2] = $3; next }
$1 == "id" { delete column; for (i = 1; i <= NF; i++) column[$i] = i; next }
!("submit_ms" in column) { number[$1] = $2; sub(/.*openb-node-/, "", number[$1]); sub(/-.*/, "", number[$1]); next }
{
    at = $(column["id"]) + 0
    placed = $(column["start_ms"]) != ""
    if (at < places) {
        have = placed ? number[$(column["node"])] + 0 : -1
        held = placed ? $(column["devices"]) + 0 : 0
        if (have != node[at] || held != devices[at]) {
            if (++wrong <= 5) print "pod " at ": node " have ", devices " held "; expected " node[at] ", " devices[at]
        }
    }
    arrived += $(column["mgpu"])
    used += placed ? $(column["mgpu"]) : 0
    x = int(arrived / 62120 + 0.5)
    sum[x] += sprintf("%.2f", used / 62120)
    count[x]++
    pods++
}
END {
    for (x in published) {
        off = sum[x] / count[x] - published[x]
        if (off > 0.011 || off < -0.011) {
            printf "at %d %%: %.3f %% allocated, published %.2f\n", x, sum[x] / count[x], published[x]
            wrong++
        }
        compared++
    }
    printf "%d pods, %d places and %d values equal; %d milli-GPU allocated; at 130 %%: %.2f\n", pods, places, compared, used,
        sum[130] / count[130]
    exit wrong > 0 || pods == 0
}' || exit 1
