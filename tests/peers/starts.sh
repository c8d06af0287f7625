#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays a trace and compares the start of every job with another program's schedule.
#
#   starts.sh ORRERY WORK_DIR EXPECTED NUMBERS RUN_OPTION...
#
# EXPECTED: CSV `job,start_s`, gzipped or not. NUMBERS: `name=value,...` as `run --json` prints them
# (whole words, rounded as far as stated), or empty.
set -eu

orrery=$1 work=$2 expected=$3 numbers=$4
shift 4

mkdir -p "$work"
dir=$(mktemp -d "$work/starts.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

case $expected in
*.gz) gzip -dc "$expected" >"$dir/expected.csv" ;;
*) cat "$expected" >"$dir/expected.csv" ;;
esac

"$orrery" run "$@" --json --no-progress -o "$dir/run.db" >"$dir/run.json"
"$orrery" export "$dir/run.db" jobs >"$dir/jobs.csv"

awk -F, '
FNR == 1 {
    if (NR == 1) next
    for (i = 1; i <= NF; i++) column[$i] = i
    if (!("job" in column) || !("start_s" in column)) { print "export lacks job or start_s"; exit bad = 1 }
    next
}
NR == FNR { start[$1] = $2; expected++; next }
{
    job = $(column["job"]); seen++
    if (!(job in start)) { print "job " job " was not expected"; wrong++ }
    else if ($(column["start_s"]) != start[job]) {
        if (++wrong <= 10) print "job " job " starts at " $(column["start_s"]) " s, expected " start[job] " s"
    }
    delete start[job]
}
END {
    if (bad) exit 1
    if (seen != expected) { print seen + 0 " jobs, expected " expected + 0; wrong++ }
    if (wrong > 0 || expected == 0) { print wrong + 0 " differ"; exit 1 }
    print expected " starts are equal"
}' "$dir/expected.csv" "$dir/jobs.csv"

sh "$(dirname "$0")/numbers.sh" "$dir/run.json" "$numbers"
