#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# squeue.sh ORRERY WORK_DIR RUNS SQUEUE: the reasons that squeue printed for waiting jobs of recorded runs, in the file SQUEUE, a line each:
# run,seconds,job,reason,same. Where `same` is yes, the job waits for that reason here at that time; where it is no it does not, so that
# lines can only get better. SQUEUE "-": prints all lines of RUNS/../squeue.csv as they are now.
set -eu
orrery=$(realpath "$1") work=$2 runs=$(realpath "$3") said=$4 here=$(cd "$(dirname "$0")" && pwd)
[ "$said" != - ] || said=$here/squeue.csv
said=$(realpath "$said")
. "$here/../scratch.sh"
for name in $(sed 1d "$said" | cut -d, -f1 | sort -u); do
    run=$runs/$name released=/dev/null topology=/dev/null
    mkdir "$name"
    [ ! -f "$run/released.csv" ] || released=$run/released.csv
    [ ! -f "$run/topology.conf" ] || topology=$run/topology.conf
    awk -v OUT="$name" -f "$here/cells.awk" -f "$here/scenario.awk" file=cluster "$run/cluster" file=accounts "$run/accounts.txt" \
        file=conf "$run/slurm.conf" file=topology "$topology" file=released "$released" \
        file=starts "$run/r1/starts.csv" file=jobs "$run/jobs.csv"
    (cd "$name" && "$orrery" run scenario.yaml --no-progress -o run.db >out)
    sqlite3 -csv "$name/run.db" "SELECT '$name', j.name, c.at_ms / 1000.0, r.code FROM reason_change AS c
        JOIN job AS j ON j.id = c.job JOIN reason AS r ON r.id = c.reason ORDER BY c.at_ms, c.rowid" >>reasons
done
awk -F, -v OFS=, '
    function means(said, is) { # names of squeue that have other words here
        if (said == "Priority") return is == "head-of-line"
        if (said == "Dependency") return is == "dependency"
        if (said == "Resources") return is ~ /^(no-capacity|fragmented|topology|constrained|node-types)$/
        if (said == "Nodes") return is ~ /^(no-capacity|fragmented|head-of-line)$/ # "Nodes required for job are ... reserved"
        return is == said
    }
    NR == FNR { n[$1, $2]++; at[$1, $2, n[$1, $2]] = $3; reason[$1, $2, n[$1, $2]] = $4; next }
    FNR == 1 { print; next }
    {
        is = ""
        for (i = 1; i <= n[$1, $3]; i++) if (at[$1, $3, i] <= $2) is = reason[$1, $3, i]
        print $1, $2, $3, $4, means($4, is) ? "yes" : "no"
    }' reasons "$said" >now.csv
[ "$4" != - ] || { cat now.csv; exit 0; }
cmp -s now.csv "$said" || { diff "$said" now.csv >out || :; fail 'other reasons are the same than those listed'; }
