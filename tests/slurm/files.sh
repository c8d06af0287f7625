#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# files.sh ORRERY WORK_DIR RUN: slurm.conf and sacctmgr's tables as files beside a scenario are the same run as their texts in it; a
# results file keeps the texts; the command line puts another file in their place.
set -eu
orrery=$(realpath "$1") work=$2 run=$(realpath "$3") here=$(cd "$(dirname "$0")" && pwd)
. "$here/../scratch.sh"
mkdir text file file/site
awk -v OUT=text -f "$here/cells.awk" -f "$here/scenario.awk" file=cluster "$run/cluster" file=accounts "$run/accounts.txt" \
    file=conf "$run/slurm.conf" file=starts "$run/r1/starts.csv" file=jobs "$run/jobs.csv"
cp text/jobs.csv file
grep -v '^#' "$run/accounts.txt" >file/site/sacctmgr.psv
cp "$run/slurm.conf" file/site
sed -e '/slurm_conf:/,$d' text/scenario.yaml >file/scenario.yaml
printf '    slurm_conf: {file: site/slurm.conf}\n    sacctmgr.file: site/sacctmgr.psv\n' >>file/scenario.yaml

digest() { "$orrery" run "$@" --no-progress --force -o run.db | sed -n 's/.*digest //p'; }
text=$(digest text/scenario.yaml)
[ -n "$text" ] || fail 'no digest'
[ "$(digest file/scenario.yaml)" = "$text" ] || fail 'files are another run than texts'
"$orrery" show file/scenario.yaml >out
grep -q '^policy.params.slurm_conf .*= # lines that bear' out || fail 'show does not print the text of the file'

sed 's/^PartitionName=.*/PartitionName=other Nodes=n1 Default=YES/' "$run/slurm.conf" >one.conf
[ "$(digest file/scenario.yaml --param slurm_conf.file=one.conf)" != "$text" ] || fail 'the command line names another file'
[ "$(digest file/scenario.yaml --set 'policy.params.slurm_conf={file: one.conf}')" = \
    "$(digest file/scenario.yaml --param slurm_conf.file=one.conf)" ] || fail 'the file of a change is another one'
printf 'PartitionName = other Nodes = n1 \\\n  Default=YES\n' >spaced.conf
printf 'PartitionName=other Nodes=n1 Default=YES\n' >close.conf
[ "$(digest file/scenario.yaml --param slurm_conf.file=spaced.conf)" = \
    "$(digest file/scenario.yaml --param slurm_conf.file=close.conf)" ] || fail 'blanks around = and a joined line'
# refused SENTENCE OPTION...: by run and by check
refused() {
    sentence=$1
    shift
    for verb in 'run --force -o run.db' check; do
        code=0
        "$orrery" $verb file/scenario.yaml "$@" >out 2>err || code=$?
        [ "$code" -eq 65 ] || fail "$verb ends with $code, expected 65"
        grep -q "$sentence" err || fail "$verb does not say: $sentence"
    done
}
refused 'slurm_conf:1:1: "one.conf" is not KEY=VALUE.*slurm_conf.file=FILE' --param slurm_conf=one.conf
refused 'slurm_conf:1:1: "Include" names a file that is not read here' --param 'slurm_conf=Include one.conf'
refused 'slurm_conf:1:23: "zz" ' --param 'slurm_conf=PartitionName=b Nodes=zz'

echo 'PartitionName=b Nodes=zz' >>file/site/slurm.conf
! "$orrery" run file/scenario.yaml --force -o run.db >out 2>err || fail 'a partition of unknown nodes'
grep -q 'names node zz' err || fail 'the error does not name the node'
rm file/site/sacctmgr.psv
! "$orrery" run file/scenario.yaml --force -o run.db >out 2>err || fail 'a file that is missing'
grep -q 'scenario.yaml:.*cannot read file/site/sacctmgr.psv' err || fail 'the error does not name the file'
