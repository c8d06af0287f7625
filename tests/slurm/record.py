#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""record.py SET-UP... --rig DIR [--rep r1]: runs set-ups under a real slurmctld and writes what it decided.

A set-up is a folder with slurm.conf (the lines that bear on decisions, its nodes and partitions), accounts.txt (lines
"# sacctmgr ..." say what sacctmgr is told, CLUSTER standing for the cluster) and jobs.csv (submit_offset_planned says when
they are submitted). What comes of it is written there: cluster, accounts.txt, jobs.csv, REP/starts.csv, and where there are
some REP/refused.csv (jobs that sbatch was not to submit) and REP/sprio.csv; so any record of runs/ can be made again.

It needs Debian's slurmctld, slurmd, slurm-client, slurmdbd, munge and mariadb-server, and root (jobs are submitted for other
users: u1 to u6 stand for system users, see USERS). All daemons listen on this machine only, keep their files below DIR and
are ended by their numbers. Several nodes are several slurmd of one machine; their CPUs and GPUs are made up.
"""
import argparse
import csv
import datetime
import os
import re
import shlex
import socket
import subprocess
import time

USERS = {"u1": "daemon", "u2": "bin", "u3": "games", "u4": "man", "u5": "lp", "u6": "mail"}
HOST = socket.gethostname().split(".")[0]
RIG = """ClusterName={cluster}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=36817
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={rig}/mrun/munge.socket.2
StateSaveLocation={run}/state
SlurmctldPidFile={run}/slurmctld.pid
SlurmdPidFile={run}/slurmd-%n.pid
SlurmdSpoolDir={run}/spool/%n
SlurmctldLogFile={run}/ctld.log
SlurmctldDebug=verbose
LogTimeFormat=iso8601_ms
SlurmdLogFile={run}/slurmd-%n.log
SlurmdParameters=config_overrides
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=36819
AccountingStoragePass={rig}/mrun/munge.socket.2
AccountingStorageTRES=gres/gpu
SwitchType=switch/none
MpiDefault=none
DebugFlags=NO_CONF_HASH
ReturnToService=2
CompleteWait=0
KillWait=2
MinJobAge=3000
"""
DBD = """AuthType=auth/munge
AuthInfo=socket={rig}/mrun/munge.socket.2
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=36819
SlurmUser=root
PidFile={rig}/slurmdbd.pid
LogFile={rig}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=33306
StorageUser=slurm
StoragePass=x
StorageLoc=slurm_acct_db
"""
GRANTS = (
    "create database slurm_acct_db; create user 'slurm'@'127.0.0.1' identified by 'x';"
    "create user 'slurm'@'localhost' identified by 'x'; grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';"
    "grant all on slurm_acct_db.* to 'slurm'@'localhost'"
)
LINE = re.compile(r"^\[(\S+?)\] (.*)$")
ALLOCATED = re.compile(r"sched: Allocate (JobId=\S+) NodeList=(\S+)")
STARTED = re.compile(r"_start_job: Started (JobId=\S+) in \S+ on (\S+)")


class Rig:
    """Daemons that live for all set-ups: munged, mariadbd, slurmdbd."""

    def __init__(self, path):
        self.path, self.processes = path, []
        for name in ("munge", "mrun", "my", "dev"):
            os.makedirs(f"{path}/{name}", exist_ok=True)
        os.chmod(path, 0o755)
        os.chmod(f"{path}/munge", 0o700)
        key = f"{path}/munge/munge.key"
        if not os.path.exists(key):
            with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o400), "wb") as out:
                out.write(os.urandom(128))
        self.start(["munged", "--foreground", f"--key-file={key}", f"--socket={path}/mrun/munge.socket.2",
                    f"--pid-file={path}/munged.pid", f"--log-file={path}/munged.log", f"--seed-file={path}/munge/seed"])
        fresh = not os.path.exists(f"{path}/my/data")
        if fresh:
            subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={path}/my/data",
                            "--skip-test-db", "--auth-root-authentication-method=normal"], check=True,
                           stdout=subprocess.DEVNULL)
        self.start(["mariadbd", "--no-defaults", "--user=root", f"--datadir={path}/my/data", f"--socket={path}/my/s.sock",
                    "--port=33306", "--bind-address=127.0.0.1", "--innodb-lock-wait-timeout=900"])
        time.sleep(6)
        if fresh:
            subprocess.run(["mariadb", "--no-defaults", "-uroot", "-S", f"{path}/my/s.sock", "-e", GRANTS], check=True)
        conf = f"{path}/etc"
        os.makedirs(conf, exist_ok=True)
        with open(os.open(f"{conf}/slurmdbd.conf", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as out:
            out.write(DBD.format(rig=path))
        for gpu in range(8):
            if not os.path.exists(f"{path}/dev/gpu{gpu}"):
                subprocess.run(["mknod", f"{path}/dev/gpu{gpu}", "c", "1", "3"], check=True)
        os.environ["SLURM_CONF"] = f"{conf}/slurm.conf"
        self.start(["slurmdbd", "-D"])
        time.sleep(5)

    def start(self, command):
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self, down_to=0):
        while len(self.processes) > down_to:
            process = self.processes.pop()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def output(command):
    return subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout


def commands_of(setup):
    return [line[11:] for line in read(f"{setup}/accounts.txt").splitlines() if line.startswith("# sacctmgr ")]


def with_names(text, users):
    for mine, system in users.items():
        text = re.sub(rf"\b{mine}\b", system, text)
    return text


def start_cluster(rig, setup, cluster, run):
    for name in ("state", "spool"):
        os.makedirs(f"{run}/{name}")
    conf = RIG.format(cluster=cluster, host=HOST, rig=rig.path, run=run)
    nodes, down, gres = [], [], []  # a node that is down has no slurmd, which would bring it back
    for line in read(f"{setup}/slurm.conf").splitlines():
        if line.startswith("NodeName="):
            name = line.split()[0].split("=")[1]
            (down if "State=DOWN" in line else nodes).append(name)
            line += f" NodeHostname={HOST} NodeAddr=127.0.0.1 Port={36820 + len(nodes) + len(down)}"
            found = re.search(r"Gres=gpu:(\w+):(\d+)", line)
            if found:
                gres.append(f"NodeName={name} Name=gpu Type={found[1]} File={rig.path}/dev/gpu[0-{int(found[2]) - 1}]")
        conf += line + "\n"
    with open(f"{rig.path}/etc/slurm.conf", "w", encoding="utf-8") as out:
        out.write(conf)
    with open(f"{rig.path}/etc/gres.conf", "w", encoding="utf-8") as out:
        out.write("\n".join(gres) + "\n")
    output(f"sacctmgr -i add cluster {cluster}")
    for command in commands_of(setup):
        told = subprocess.run(shlex.split("sacctmgr -i " + with_names(command.replace("CLUSTER", cluster), USERS)),
                              capture_output=True, text=True)
        if told.returncode and "othing" not in told.stdout + told.stderr:
            raise SystemExit(f"{setup}: sacctmgr {command}: {told.stdout}{told.stderr}")
    began = time.time()
    rig.start(["slurmctld", "-D", "-i"])
    time.sleep(2)
    for node in nodes:
        os.makedirs(f"{run}/spool/{node}", exist_ok=True)
        rig.start(["slurmd", "-D", "-N", node])
    for _ in range(60):
        time.sleep(0.5)
        if len(subprocess.run(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"], capture_output=True,
                              text=True).stdout.split()) >= len(nodes):
            return began
    raise SystemExit(f"{setup}: nodes do not come up, see {run}/ctld.log")


def tell(setup, cluster):
    with open(f"{setup}/cluster", "w", encoding="utf-8") as out:
        for line in output("scontrol -o show node").splitlines():
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            out.write("NodeName={NodeName} CoresPerSocket={CoresPerSocket} CPUTot={CPUTot} Gres={Gres} "
                      "RealMemory={RealMemory} Sockets={Sockets} Weight={Weight}\n".format(**words))
    commands = commands_of(setup)
    back = {system: mine for mine, system in USERS.items()}
    with open(f"{setup}/accounts.txt", "w", encoding="utf-8") as out:
        out.writelines(f"# sacctmgr {line}\n" for line in commands)
        out.write(with_names(output(f"sacctmgr -P show assoc cluster={cluster} format=Account,User,ParentName,Share,"
                                    "GrpTRES,MaxJobs,GrpJobs,MaxTRES,MaxWall,QOS,DefaultQOS,MaxSubmitJobs,GrpSubmitJobs"), back))
        out.write(output("sacctmgr -P show qos format=Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,"
                         "UsageFactor,GrpTRES,GrpJobs,MaxTRES,MaxTRESPU,MaxJobsPU,MaxTRESPA,MaxJobsPA,MaxTRESPerNode,"
                         "MinTRES,MaxWall,GrpWall,MaxSubmitPU,MaxSubmitPA,GrpSubmit"))


def submit(job, ids):
    extra = job["extra"]
    for name in re.findall(r"@(\w+)@", extra):
        extra = extra.replace(f"@{name}@", ids[name])
    command = ["sbatch", "--parsable", f"--uid={USERS[job['user']]}", f"--job-name={job['name']}", "--chdir=/tmp",
               "--output=/dev/null", "--error=/dev/null"]
    for option, column in (("account", "account"), ("partition", "partition"), ("qos", "qos"), ("nodes", "nodes"),
                           ("ntasks", "ntasks"), ("cpus-per-task", "cpus_per_task"), ("time", "limit_min"),
                           ("nice", "nice")):
        if job[column]:
            command.append(f"--{option}={job[column]}")
    command += shlex.split(job["gpus"]) + shlex.split(extra) + ["--wrap", f"exec sleep {job['run_s']}"]
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        return "", told.stderr.strip().splitlines()[0].replace("sbatch: error: ", "")
    return told.stdout.strip().split(";")[0], ""


def priorities(names, at, found):
    """What sprio prints of those that wait: seconds, job, priority; it refuses priority/basic."""
    told = subprocess.run(["sprio", "-h", "-o", "%i|%Y"], capture_output=True, text=True)
    for line in told.stdout.splitlines():
        number, priority = line.split("|")
        name = names.get(number.split("_")[0].strip())
        if name:
            found.append([f"{at:.1f}", name, priority.strip()])


def write_rows(path, head, rows):
    if rows:
        with open(path, "w", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *rows])


def starts_in(log, origin, names):
    """Starts of the log, in order: job, number, offset, nodes, by whom."""
    found = []
    for line in log.splitlines():
        parts = LINE.match(line)
        event = parts and (ALLOCATED.search(parts[2]) or STARTED.search(parts[2]))
        if not event:
            continue
        at = datetime.datetime.strptime(parts[1], "%Y-%m-%dT%H:%M:%S.%f").timestamp() - origin
        number = re.match(r"JobId=(\d+)(?:_(\d+)\((\d+)\))?", event[1])
        name = names[number[1]] + (f"_{number[2]}" if number[2] else "")
        found.append([name, number[3] or number[1], at, event[2], "main" if "Allocate" in event[0] else "backfill"])
    return found


def record(rig, setup, rep):
    name = os.path.basename(setup.rstrip("/"))
    cluster = re.sub(r"\W", "", f"c{name}{rep}{int(time.time())}").lower()
    run = f"{rig.path}/run/{cluster}"
    os.makedirs(run)
    daemons = len(rig.processes)
    try:
        start_cluster(rig, setup, cluster, run)
        tell(setup, cluster)
        jobs = list(csv.DictReader(open(f"{setup}/jobs.csv", encoding="utf-8")))
        origin = int(time.time()) + 2
        ids, names, refused, sprio = {}, {}, [], []
        for job in jobs:
            due = origin + float(job["submit_offset_planned"])
            if due - time.time() > 2.5:
                time.sleep(due - 1 - time.time())
                priorities(names, time.time() - origin, sprio)
            time.sleep(max(0, due - time.time()))
            job["submit_offset_real"] = f"{time.time() - origin:.2f}"
            ids[job["name"]], why = submit(job, ids)
            job["jobid"] = ids[job["name"]]
            names[job["jobid"]] = job["name"]
            if why:
                refused.append([job["name"], why])
        end = time.time() + 240
        while output("squeue -h") and time.time() < end:
            time.sleep(1)
        os.makedirs(f"{setup}/{rep}", exist_ok=True)
        path = f"{setup}/jobs.csv" if rep == "r1" else f"{setup}/{rep}/jobs.csv"
        with open(path, "w", encoding="utf-8") as out:
            columns = ["jobid", "name", "submit_offset_real"] + [c for c in jobs[0] if c not in (
                "jobid", "name", "submit_offset_real")]
            writer = csv.DictWriter(out, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(jobs)
        write_rows(f"{setup}/{rep}/refused.csv", ["job", "why"], refused)
        write_rows(f"{setup}/{rep}/sprio.csv", ["at_s", "job", "priority"], sprio)
        os.environ["SLURM_TIME_FORMAT"] = "%s"
        time.sleep(3)
        ends = {}
        for line in output(f"sacct -a -X -P -n --clusters={cluster} --duplicates -S now-20minutes "
                           "-o JobIDRaw,End,State").splitlines():
            number, ended, state = line.split("|")
            ends.setdefault(number, []).append((ended, state.split()[0]))
        with open(f"{setup}/{rep}/starts.csv", "w", encoding="utf-8") as out:
            out.write("order,job,jobid,start_offset_s,nodes,by,end_offset_s,end_state\n")
            seen = {}
            for order, (job, number, at, nodes, by) in enumerate(starts_in(read(f"{run}/ctld.log"), origin, names), 1):
                rows = ends.get(number, [("Unknown", "RUNNING")])
                ended, state = rows[min(seen.get(number, 0), len(rows) - 1)]
                seen[number] = seen.get(number, 0) + 1
                ended = ended if ended == "Unknown" else int(ended) - origin
                nodes = f'"{nodes}"' if "," in nodes else nodes
                out.write(f"{order},{job},{number},{at:.2f},{nodes},{by},{ended},{state}\n")
    finally:
        rig.stop(daemons)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("setup", nargs="+")
    parser.add_argument("--rig", required=True)
    parser.add_argument("--rep", default="r1")
    options = parser.parse_args()
    rig = Rig(os.path.abspath(options.rig))
    try:
        for setup in options.setup:
            record(rig, setup, options.rep)
            print(setup, options.rep, flush=True)
    finally:
        rig.stop()


if __name__ == "__main__":
    main()
