# SPDX-License-Identifier: GPL-3.0-or-later
"""second_slurm.py ORRERY FROM COUNT: the main pass of policy slurm against a second program.

Draws worlds of a few nodes of unlike weights and sizes, partitions of them that overlap and have tiers, with sched/builtin, so that there is
no backfill: jobs of one pod or several, which go to the lightest nodes, in one partition or two, tasks of arrays with and without a limit, licenses, QOS with limits of jobs and of GPUs
by user and in all, jobs that wait for others, and preemption by tiers or by QOS with REQUEUE and CANCEL, with the words that say which
victims go first. Each is run, and computed here from the rules of slurmctld (main pass, victims, requeue): each pass walks all records. Who was on
which node from when to when must be equal. Ends with 1 if a world differs, whose seed and jobs are printed.
"""
import csv
import random
import sqlite3
import subprocess

import second

REQUEUE_S, FULL_S = 121, 60
RANKS = {"a": 0, "b": 1, "c": 2}  # by QOS c preempts b and a, b preempts a


def draw_partitions(rng, nodes):
    partitions, tiers = [], rng.sample(range(1, 6), 3)
    for number in range(rng.choice([1, 2, 3, 3, 3])):
        mine = [n for n in range(nodes) if rng.random() < 0.75] or [rng.randrange(nodes)]
        partitions.append({"name": f"p{number}", "nodes": mine, "tier": tiers[number],
                           "mode": rng.choice(["REQUEUE", "CANCEL", "OFF", None, None, None, None])})
    return partitions


def draw_job(rng, world, number, at):
    names = rng.sample(range(len(world["partitions"])), 1 if world["by_qos"] else rng.randint(1, min(2, len(world["partitions"]))))
    gpus = min([rng.choice([1, 1, 2, 2, 3, 4, 8])] + [max(world["gpus"][n] for n in world["partitions"][p]["nodes"]) for p in names])
    pods = min([rng.choice([1, 1, 1, 2, 3, 5])] + [sum(world["gpus"][n] // gpus for n in world["partitions"][p]["nodes"]) for p in names])
    return {"name": number, "submit": at, "run": rng.randint(5, 400), "gpus": gpus, "pods": pods, "partitions": names,
            "user": rng.choice(["u1", "u2", "u3"]), "qos": rng.choice(list(world["qos"]) if world["by_qos"] else ["normal", "a", "b"]),
            "licenses": rng.choice([0, 0, 0, 1, 2]) if world["licenses"] else 0, "array": None, "most": None,
            "requeue": rng.choice([True, True, False]), "after": None}


def draw_world(seed):
    rng = random.Random(seed)
    nodes = rng.randint(1, 4)
    world = {"gpus": [rng.randint(1, 8) for _ in range(nodes)], "weights": rng.sample(range(1, 9), nodes),
             "licenses": rng.choice([0, 0, 2, 3]), "preempt": rng.random() < 0.8, "by_qos": rng.random() < 0.4, "mode": rng.choice(["REQUEUE", "CANCEL"]),
             "exempt": rng.choice([0, 0, 0, 1]), "youngest": rng.random() < 0.3, "strict": rng.random() < 0.3,
             "reorder": rng.choice([1, 1, 0, 3]), "qos": {}, "jobs": []}
    world["partitions"] = draw_partitions(rng, nodes)
    if world["by_qos"]:  # which of two goes first would go round otherwise; and of equal tiers a job has one
        for partition in world["partitions"]:
            partition.update(tier=1, mode=None)
    for name in "abc":
        world["qos"][name] = {"MaxJobsPU": rng.choice([None, 1, 2]), "GrpJobs": rng.choice([None, None, 3]),
                              "MaxTRESPU": rng.choice([None, 4, 8]), "GrpTRES": rng.choice([None, 6, 12]),
                              "mode": rng.choice([None, None, "requeue", "cancel"])}
    at, number = 0, 0
    for _ in range(rng.randint(5, 30)):
        at += rng.choice([0, 1, 3, 10, 30])
        job = draw_job(rng, world, number, at)
        if rng.random() < 0.15:
            job["array"], job["most"] = f"x{number}", rng.choice([None, 1, 2])
        elif number > 0 and rng.random() < 0.15:
            job["after"] = rng.randrange(number)
        for _ in range(rng.randint(1, 5) if job["array"] else 1):
            world["jobs"].append(dict(job, name=number))
            number += 1
    return world


class Controller:
    def __init__(self, world):
        self.world, self.jobs, self.now = world, [dict(j, state="future") for j in world["jobs"]], 0
        self.free, self.was, self.asked = list(world["gpus"]), [], False
        for number, job in enumerate(self.jobs):
            job["priority"], job["record"], job["begin"] = -number, number, job["submit"]
        self.last = -len(self.jobs)

    def running(self):
        return [j for j in self.jobs if j["state"] in ("running", "leaving")]

    def mode(self, job):
        own = self.world["qos"][job["qos"]]["mode"] if self.world["by_qos"] else self.world["partitions"][job["in"]]["mode"]
        own = (own or self.world["mode"]).upper()
        return "CANCEL" if own == "REQUEUE" and not job["requeue"] else own

    # --- limits and licenses ---

    def over(self, job, gpus):
        """does a limit of its QOS hold the job back: of jobs, or with `gpus` of GPUs"""
        limits = self.world["qos"].get(job["qos"], {})
        mates = [j for j in self.running() if j["qos"] == job["qos"]]
        own = [j for j in mates if j["user"] == job["user"]]
        if gpus:
            return any(limits.get(name) is not None and sum(j["gpus"] * j["pods"] for j in who + [job]) > limits[name]
                       for name, who in (("MaxTRESPU", own), ("GrpTRES", mates)))
        return any(limits.get(name) is not None and len(who) + 1 > limits[name] for name, who in (("MaxJobsPU", own), ("GrpJobs", mates)))

    def lacks_licenses(self, job):
        return job["licenses"] > 0 and sum(j["licenses"] for j in self.running()) + job["licenses"] > self.world["licenses"]

    # --- nodes ---

    def choose(self, job, nodes, free):
        """-> how many pods each node gets: the lightest all they take; None: there is no room for all"""
        seats, left = {}, job["pods"]
        for n in sorted(nodes, key=lambda n: self.world["weights"][n]):
            pods = min(left, free[n] // job["gpus"])
            seats.update({n: pods} if pods else {})
            left -= pods
        return seats if left == 0 else None

    def start(self, job, partition, seats):
        job.update(state="running", start=self.now, seats=seats, end=self.now + job["run"])
        job["in"] = partition
        self.add(job, -1, self.free)

    def add(self, job, sign, free):
        for n, pods in job["seats"].items():
            free[n] += sign * pods * job["gpus"]

    def leave(self, job):
        self.add(job, 1, self.free)
        self.was += [(job["name"], n, pods, job["start"], self.now) for n, pods in job["seats"].items()]

    # --- preemption ---

    def rank(self, job, partition):
        return RANKS[job["qos"]] if self.world["by_qos"] else self.world["partitions"][partition]["tier"]

    def candidates(self, job, partition):
        nodes = self.world["partitions"][partition]["nodes"]
        found = [j for j in self.running() if self.rank(j, j["in"]) < self.rank(job, partition) and self.mode(j) != "OFF" and j["state"] == "running"
                 and set(nodes) & set(j["seats"]) and self.now - j["start"] >= self.world["exempt"] * 60]
        found.sort(key=lambda j: j["record"])
        return sorted(found, key=(lambda j: -j["start"]) if self.world["youngest"] else lambda j: (self.rank(j, j["in"]), len(j["seats"])))

    def remove(self, job, nodes, victims):
        """-> how many of the victims have to go, in order, and the seats that the job gets then"""
        free = list(self.free)
        for count, victim in enumerate(victims, 1):
            self.add(victim, 1, free)
            seats = self.choose(job, nodes, free)
            if seats is not None:
                return count, seats
        return None

    def victims(self, job, partition, nodes):
        order = self.candidates(job, partition)
        found = self.remove(job, nodes, order)
        for rounds in range(1, self.world["reorder"] + 2):  # as many as there are candidates at most, the first one among them
            if not found or rounds >= len(order):
                break
            count, seats = found
            before = order[:count - 1]
            if not self.world["strict"]:
                before.sort(key=lambda j: -len(set(j["seats"]) & set(seats)))
            order = [order[count - 1]] + before + order[count:]
            found = self.remove(job, nodes, order)
        return [j for j in order[:found[0]] if set(j["seats"]) & set(found[1])] if found else []

    def evict(self, victim):
        self.leave(victim)
        self.asked = True
        victim["state"] = "cancelled"
        if self.mode(victim) == "REQUEUE":
            self.last -= 1
            victim.update(state="waiting", priority=self.last, begin=self.now + REQUEUE_S)

    # --- a pass ---

    def records(self):
        found = [(job, p) for job in self.jobs if job["state"] == "waiting" and job["begin"] <= self.now for p in job["partitions"]]
        return sorted(found, key=lambda r: (-self.rank(*r) if self.world["preempt"] or not self.world["by_qos"] else 0, -r[0]["priority"]))

    def held(self, job):
        mates = [j for j in self.running() if job["array"] and j["array"] == job["array"]]
        return job["most"] is not None and len(mates) >= job["most"] or self.over(job, False)

    def main_pass(self):
        left, failed, evicted, preempting = set(range(len(self.free))), set(), [], []
        for job, partition in self.records():
            if job["state"] != "waiting" or job in preempting or partition in failed or self.held(job):
                continue
            nodes = [n for n in self.world["partitions"][partition]["nodes"] if n in left]
            if nodes and self.lacks_licenses(job):
                continue
            seats = self.choose(job, nodes, self.free)
            if self.over(job, True):
                continue
            if seats is not None:
                self.start(job, partition, seats)
                continue
            victims = self.victims(job, partition, nodes) if self.world["preempt"] else []
            for victim in victims:
                victim["state"] = "leaving"
            evicted += victims
            preempting += [job] if victims else []
            if victims or not nodes or self.choose(job, nodes, self.world["gpus"]) is not None:
                failed.add(partition)
                left -= set(self.world["partitions"][partition]["nodes"])
        for victim in sorted(evicted, key=lambda j: j["record"]):  # which ends first is stated nowhere
            self.evict(victim)

    # --- the clock ---

    def arrive(self):
        for job in self.jobs:
            if job["state"] == "running" and job["end"] == self.now:
                self.leave(job)
                job["state"], self.asked = "done", True
        for job in self.jobs:
            parent = job["after"]
            if job["state"] == "future" and job["submit"] <= self.now and (parent is None or self.jobs[parent]["state"] == "done"):
                job["state"], self.asked = "waiting", True

    def run(self, until):
        while self.now <= until:
            self.arrive()
            waits = any(j["state"] == "waiting" for j in self.jobs)
            passes = 0
            if waits and (self.asked or self.now % FULL_S == 0):
                self.asked = True
            while self.asked and passes < 50:
                self.asked, passes = False, passes + 1
                self.main_pass()
            self.now += 1
        return sorted(self.was)


def write_world(world):
    with open("jobs.csv", "w", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["job", "submit_s", "run_s", "pods", "gpus_per_pod", "user", "sbatch", "after"])
        for j in world["jobs"]:
            options = ["-p " + ",".join(world["partitions"][p]["name"] for p in j["partitions"]), "--qos=" + j["qos"]]
            options += [f"-L lic:{j['licenses']}"] if j["licenses"] else []
            options += [f"--array={j['array']}" + (f"%{j['most']}" if j["most"] else "")] if j["array"] else []
            options += [] if j["requeue"] else ["--no-requeue"]
            rows.writerow([j["name"], j["submit"], j["run"], j["pods"], j["gpus"], j["user"], " ".join(options),
                           "" if j["after"] is None else j["after"]])
    lines = ["SchedulerType=sched/builtin", "SchedulerParameters=batch_sched_delay=0" + (
        f",preempt_reorder_count={world['reorder']}" + (",preempt_strict_order" if world["strict"] else "") +
        (",preempt_youngest_first" if world["youngest"] else "")), "AccountingStorageEnforce=limits,qos"]
    if world["preempt"]:
        lines += ["PreemptType=preempt/" + ("qos" if world["by_qos"] else "partition_prio"), f"PreemptMode={world['mode']}", f"PreemptExemptTime={world['exempt']}"]
    if world["licenses"]:
        lines.append(f"Licenses=lic:{world['licenses']}")
    lines += [f"NodeName=h{n} Weight={w}" for n, w in enumerate(world["weights"])]
    for p in world["partitions"]:
        lines.append(f"PartitionName={p['name']} Nodes=" + ",".join(f"h{n}" for n in p["nodes"]) + f" PriorityTier={p['tier']}" +
                     (f" PreemptMode={p['mode']}" if p["mode"] and world["preempt"] else ""))
    with open("slurm.conf", "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    with open("qos.txt", "w", encoding="utf-8") as out:
        out.write("Name|Priority|Preempt|PreemptMode|MaxJobsPU|GrpJobs|MaxTRESPU|GrpTRES\nnormal|0||cluster||||\n")
        for name, q in world["qos"].items():
            cells = [q["MaxJobsPU"], q["GrpJobs"]] + [q[n] and f"gres/gpu={q[n]}" for n in ("MaxTRESPU", "GrpTRES")]
            below = ",".join(n for n in RANKS if world["by_qos"] and RANKS[n] < RANKS[name])
            out.write(f"{name}|{RANKS[name]}|{below}|{q['mode'] or 'cluster'}|" + "|".join("" if c is None else str(c) for c in cells) + "\n")
    with open("run.yaml", "w", encoding="utf-8") as out:
        out.write("cluster:\n  pools:\n")
        out.writelines(f"    n{n}: {{nodes: 1, gpus: {g}, names: [h{n}]}}\n" for n, g in enumerate(world["gpus"]))
        out.write("workload: [{name: w, trace: jobs.csv}]\n"
                  "policy: {name: slurm, params: {slurm_conf: {file: slurm.conf}, sacctmgr: {file: qos.txt}}}\n")


def read_run():
    db = sqlite3.connect("run.db")
    rows = [(int(name), *row) for name, *row in db.execute(
        "SELECT j.name, p.node, p.pods, p.start_ms / 1000, p.end_ms / 1000 FROM v_placements AS p JOIN job AS j ON j.id = p.job")]
    last = db.execute("SELECT max(end_ms) / 1000 FROM v_placements").fetchone()[0]
    evictions = db.execute("SELECT count(*) FROM eviction").fetchone()[0]
    db.close()
    return sorted(r for r in rows if r[4] != r[3]), last or 0, evictions


def evictions_if_equal(orrery, seed):
    world = draw_world(seed)
    write_world(world)
    subprocess.run([orrery, "run", "run.yaml", "-o", "run.db", "--force", "--no-progress", "--quiet", "--check-books"], check=True,
                   stderr=subprocess.DEVNULL)
    theirs, last, evictions = read_run()
    ours = [r for r in Controller(world).run(last + 400) if r[3] != r[4]]
    if ours == theirs:
        return evictions
    print(f"seed {seed}:", {k: v for k, v in world.items() if k != "jobs"})
    for job in world["jobs"]:
        print("  ", job)
    second.print_differences(("runs",), (ours,), (theirs,))
    return None


second.compare_worlds("slurm", evictions_if_equal)
