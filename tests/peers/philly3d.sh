#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Three virtual clusters, each a cluster of its own: every start, and the averages over all jobs.
#
#   philly3d.sh ORRERY WORK_DIR DATA_DIR EXPECTED JCT_S WAIT_S MAKESPAN_S RUN_OPTION...
set -eu

orrery=$1 work=$2 data=$3 expected=$4 jct=$5 wait=$6 makespan=$7
shift 7

mkdir -p "$work"
dir=$(mktemp -d "$work/philly3d.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

gzip -dc "$expected" >"$dir/expected.csv"
: >"$dir/jobs.csv"
for cluster in 6214e9:14 6c71a0:16 11cb48:5; do
    queue=${cluster%:*}
    "$orrery" run --trace "$data/trace.csv.gz" --cluster "${cluster#*:}x8" --quiet --no-progress \
        --set "workload.trace.filter.queue=$queue" "$@" -o "$dir/$queue.db"
    "$orrery" export "$dir/$queue.db" jobs >>"$dir/jobs.csv"
done

awk -F, -v jct="$jct" -v wait="$wait" -v makespan="$makespan" '
function near(name, value, wanted) {
    if (value - wanted > 0.0005 || wanted - value > 0.0005) {
        print name " is " value ", expected " wanted; wrong++
    }
}
NR == FNR { if (FNR > 1) { start[$1] = $2; expected++ } next }
$1 == "job" { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
    job = $(column["job"]); seen++
    if (!(job in start) || $(column["start_s"]) != start[job]) {
        if (++wrong <= 10) print "job " job " starts at " $(column["start_s"]) " s, expected " start[job] " s"
    }
    delete start[job]
    jcts += $(column["end_s"]) - $(column["submit_s"])
    waits += $(column["wait_s"])
    if ($(column["end_s"]) + 0 > last) last = $(column["end_s"]) + 0
}
END {
    if (seen != expected || seen == 0) { print seen + 0 " jobs, expected " expected + 0; exit 1 }
    near("mean JCT", jcts / seen, jct); near("mean wait", waits / seen, wait); near("makespan", last, makespan)
    if (wrong > 0) { print wrong " differ"; exit 1 }
    print seen " starts are equal, and so are the averages"
}' "$dir/expected.csv" "$dir/jobs.csv"
