#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# runs.sh ORRERY WORK_DIR RUNS EQUAL: every recorded run of slurmctld below the folder RUNS, under policy slurm. The file
# EQUAL names those that come out equal, a run and a repetition a line: each of them must, and no other may.
#
# EQUAL "-" prints what differs instead.
set -eu
orrery=$(realpath "$1") work=$2 runs=$(realpath "$3") equal=$4 here=$(cd "$(dirname "$0")" && pwd)
[ "$equal" = - ] || equal=$(realpath "$equal")
. "$here/../scratch.sh"
# Runs the scenario of a folder, again as long as jobs are suspended at other times than before: sleeps sleep on.
replay() (
    cd "$1" && cp jobs.csv submitted.csv && : >before
    for turn in 1 2 3 4 5 6 7 8; do
        "$orrery" run scenario.yaml --no-progress --check-books --force -o run.db >out 2>err || return
        sqlite3 -separator , run.db "SELECT name, start_ms / 1e3, from_ms / 1e3, coalesce(to_ms, 1e12) / 1e3
            FROM suspension JOIN job ON job.id = job ORDER BY job, from_ms" >suspended
        ! cmp -s suspended before || return 0
        cp suspended before
        awk -f "$here/sleeps.awk" suspended submitted.csv >jobs.csv
    done
    echo "turn $turn suspends at other times yet" >err
    return 1
)
for run in "$runs"/*/; do
    name=$(basename "$run")
    for rep in r1 r2; do
        [ -f "$run/$rep/starts.csv" ] || continue
        jobs=$run/jobs.csv other=r2
        [ "$rep" = r1 ] || { jobs=$run/r2/jobs.csv other=r1; }
        mkdir "$name-$rep"
        [ -f "$run/$other/starts.csv" ] || other=$rep
        released=/dev/null
        [ ! -f "$run/released.csv" ] || released=$run/released.csv
        start=/dev/null
        [ ! -f "$run/$rep/slurmctld_start" ] || start=$run/$rep/slurmctld_start
        ended=/dev/null
        [ ! -f "$run/$rep/ended" ] || ended=$run/$rep/ended
        topology=/dev/null
        [ ! -f "$run/topology.conf" ] || topology=$run/topology.conf
        awk -v OUT="$name-$rep" -f "$here/cells.awk" -f "$here/scenario.awk" file=cluster "$run/cluster" file=accounts "$run/accounts.txt" \
            file=conf "$run/slurm.conf" file=topology "$topology" file=released "$released" file=start "$start" \
            file=ended "$ended" \
            file=starts "$run/$rep/starts.csv" file=jobs "$jobs"
        replay "$name-$rep" || {
            cat "$name-$rep/err"
            echo "$name $rep fails"
            continue
        }
        "$orrery" audit "$name-$rep/run.db" >out 2>err || fail "audit of $name $rep"
        "$orrery" export "$name-$rep/run.db" jobs >jobs.csv
        interval=$(sed -n 's/.*bf_interval=\([0-9]*\).*/\1/p' "$run/slurm.conf")
        [ ! -f "$run/SLICED" ] || interval=1000000
        awk -v INTERVAL="${interval:-30}" -f "$here/cells.awk" -f "$here/compare.awk" "$run/$rep/starts.csv" "$run/$other/starts.csv" jobs.csv >diff
        sqlite3 "$name-$rep/run.db" "SELECT job FROM v_jobs WHERE state = 'refused'" | sed 's/_[0-9]*$//' | sort -u >told
        [ -f "$run/$rep/refused.csv" ] && sed '1d; s/,.*//' "$run/$rep/refused.csv" | sort >refused || : >refused
        cmp -s told refused || echo "refused: $(tr '\n' ' ' <told)not $(tr '\n' ' ' <refused)" >>diff
        if [ -f "$run/$rep/suspended.csv" ]; then
            sqlite3 -separator , "$name-$rep/run.db" "SELECT name, (SELECT coalesce(sum(to_ms - from_ms), 0) / 1e3 FROM suspension WHERE job = id)
                FROM job" | awk -F, 'NR == FNR { is[$1] = $2; next } FNR > 1 && ((d = is[$1] - $2) > 2 || d < -2) {
                    print $1 " is suspended for " is[$1] " s, not " $2 }' - "$run/$rep/suspended.csv" >>diff
        fi
        if [ -f "$run/$rep/sprio.csv" ]; then # what the policy told last of a job that waits; elements of an array are alike
            (cd "$name-$rep" && "$orrery" run scenario.yaml -q --no-progress --force --trace-cycles 1..1000000 -o told.db) |
                sed -n 's/.*"at_s": *\([0-9.]*\),.*"event": *"job",.*"job": *"\([A-Za-z0-9]*\)[^"]*",.*"priority": *\([0-9]*\).*/\1,\2,\3/p' >told.csv
            awk -F, 'FNR == 1 { file++ } file == 1 { n++; at[n] = $1; job[n] = $2; told[n] = $3 }
                file == 2 && FNR > 1 { last = ""; for (i = 1; i <= n; i++) if (job[i] == $2 && at[i] <= $1) last = told[i]
                    if (last == "") next
                    known++
                    if (last != $3) print "at " $1 " " $2 " has priority " last ", not " $3 }
                END { if (!known) print "no priority is told" }' told.csv "$run/$rep/sprio.csv" >>diff
        fi
        if [ "$(cat diff)" = equal ]; then
            echo "$name $rep" >>found
        else
            sed "s/^/$name $rep: /" diff >>differs
        fi
    done
done
touch found differs
if [ "$equal" = - ]; then
    cat differs
    cat found
    echo "$(wc -l <found) equal"
    exit 0
fi
sort "$equal" | cmp -s - found || {
    cat differs
    sort "$equal" | diff - found >out || :
    fail 'other runs are equal than those listed'
}

# What the READMEs claim is what is here.
root=$here/../..
records=$(find "$runs" -mindepth 2 -maxdepth 2 -type d | wc -l) equal_count=$(wc -l <"$equal")
grep -q "nodes of $records records of a real slurmctld 22.05 | $equal_count equal" "$root/README.md" || fail "README.md: of $records records $equal_count are equal"
grep -q "nodes of $equal_count of $records records of a real" "$root/policies/README.md" || fail "policies/README.md: of $records records $equal_count are equal"
