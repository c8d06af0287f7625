#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays the eight workloads of a load and compares the time to completion of every job.
#
#   tiresias.sh ORRERY WORK_DIR DATA_DIR LOAD MEAN_S NUMBERS RUN_OPTION...
#
# NUMBERS: of workload 6, as numbers.sh takes them.
set -eu

orrery=$1 work=$2 data=$3 load=$4 mean=$5 numbers=$6
shift 6

mkdir -p "$work"
dir=$(mktemp -d "$work/tiresias.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

gzip -dc "$data/jct.csv.gz" | grep "^load$load-" >"$dir/expected.csv"
: >"$dir/jobs.csv"
for workload in 1 2 3 4 5 6 7 8; do
    "$orrery" run "$data/las.yaml" --set "workload.t.filter.queue=load$load-$workload" "$@" \
        --json --no-progress -o "$dir/$workload.db" >"$dir/$workload.json"
    "$orrery" export "$dir/$workload.db" jobs >>"$dir/jobs.csv"
done

awk -F, -v mean="$mean" '
NR == FNR { jct[$1] = $2; expected++; next }
$1 == "job" { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
    job = $(column["job"]); seen++
    took = $(column["end_s"]) - $(column["submit_s"])
    if (!(job in jct) || took != jct[job]) {
        if (++wrong <= 10) print "job " job " took " took " s, expected " jct[job] " s"
    }
    delete jct[job]
    sum += took
}
END {
    if (seen != expected || seen == 0) { print seen + 0 " jobs, expected " expected + 0; exit 1 }
    if (sum / seen - mean > 0.005 || mean - sum / seen > 0.005) {
        print "the mean is " sum / seen ", expected " mean; wrong++
    }
    if (wrong > 0) { print wrong " differ"; exit 1 }
    print seen " jobs end at the published second"
}' "$dir/expected.csv" "$dir/jobs.csv"

sh "$(dirname "$0")/numbers.sh" "$dir/6.json" "$numbers"
