#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep on a real Slurm: a slurmctld and two slurmd of our own on this machine, under a folder and ports of our own. Nodes
# are lost in the middle, the file is handed in again, and the merged sweep has the bytes of one that ran without it.
#
#   slurm.sh ORRERY WORK_DIR SOURCE_DIR
set -eu
for program in munged slurmctld slurmd sbatch squeue sinfo scontrol scancel; do
    command -v $program >/dev/null || exit 77
done

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

here=$PWD host=$(hostname -s) user=$(id -un) port=$((20000 + $$ % 20000)) started=""
ends() { # what was started, by its id, the last first
    for id in $started; do kill "$id" 2>/dev/null || true; done
    for id in $started; do wait "$id" 2>/dev/null || true; done
}
trap 'ends; rm -rf "$dir"' EXIT
start() {
    "$@" >>daemons.txt 2>&1 &
    started="$! $started"
}
mkdir -p etc log state run spool/n1 spool/n2 munge socket bin
chmod 755 . socket
chmod 700 munge
ln -s "$orrery" bin/orrery
dd if=/dev/urandom of=munge/munge.key bs=128 count=1 2>daemons.txt
chmod 400 munge/munge.key
cat >etc/slurm.conf <<CONF
ClusterName=sweep
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$here/socket/munge
StateSaveLocation=$here/state
SlurmctldPidFile=$here/run/slurmctld.pid
SlurmdPidFile=$here/run/slurmd-%n.pid
SlurmdSpoolDir=$here/spool/%n
SlurmctldLogFile=$here/log/slurmctld.txt
SlurmdLogFile=$here/log/slurmd-%n.txt
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=200000,batch_sched_delay=0,sched_interval=2
ReturnToService=2
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=sweep Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$here/etc/slurm.conf" PATH="$here/bin:$PATH"
start munged --foreground --key-file="$here/munge/munge.key" --socket="$here/socket/munge" --pid-file="$here/run/munged.pid" \
    --log-file="$here/log/munged.txt" --seed-file="$here/munge/seed"
sleep 1
start slurmctld -D -i
sleep 1
start slurmd -D -N n1
start slurmd -D -N n2
second=${started%% *}
up() { [ "$(sinfo -h -N -t "$1" -o %N 2>/dev/null | wc -l)" = "$2" ]; }
tries=0
until up idle 2; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || { cat daemons.txt; echo "Slurm does not come up here"; exit 77; }
    sleep 0.5
done

awk 'BEGIN { print "job,submit_s,run_s,pods,gpus_per_pod"
    for (i = 0; i < 3000; i++) print "j" i "," i * 20 "," 100 + i * 37 % 3000 ",1," 1 + i * 7 % 8 }' >trace.csv
cat >base.yaml <<'YAML'
cluster: {pools: {p: {nodes: 40, gpus: 8}}}
workload: [{name: w, trace: trace.csv}]
policy: fifo
YAML
cat >exp.yaml <<'YAML'
kind: Sweep
base: base.yaml
replicas: 4
shake: {submit: 30s, run: 0.01}
axes: {policy: {policy.name: [fifo, easy]}, size: {cluster.pools.p.nodes: [38, 40, 42]}}
YAML
orrery sweep plan exp.yaml -o calm -q
orrery sweep run calm -q --no-progress
orrery sweep merge calm -o calm.db -q
orrery sweep plan exp.yaml -o torn -q
orrery sweep submit torn --engine slurm --chunk 2 --slots 4 >job.sh
points() { find torn/points -name '*.db' | wc -l; }
quiet() { # no task is left, or runs
    tries=0
    until [ "$(squeue -h | wc -l)" = 0 ]; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || fail "tasks do not end: $(squeue -o '%i %t %N %r')"
        sleep 0.5
    done
}
first=$(sbatch --parsable job.sh)
tries=0
until [ "$(points)" -ge 2 ]; do
    tries=$((tries + 1))
    [ $tries -lt 240 ] || fail "no point was run: $(squeue -o '%i %t %N %r'; cat torn/slurm-*.out)"
    sleep 0.1
done
kill -9 "$second" # its tasks go on or not, and nobody hears of them
killed=$(points)
[ "$killed" -lt 24 ] || fail "the sweep was over before slurmd was killed"
scontrol update nodename=n2 state=down reason=lost
scancel "$first"
quiet
sbatch --parsable job.sh >second.txt # on the node that is left
quiet
orrery sweep status torn >status.txt || { # what an orphan of the lost node still does is no matter, what is missing is run again
    sbatch --parsable job.sh >third.txt
    quiet
    orrery sweep status torn >status.txt
}
orrery sweep merge torn -o torn.db -q
cmp calm.db torn.db || fail "a sweep on Slurm that lost a node has another file"
printf '%s of 24 points were run when slurmd was killed\n' "$killed"
