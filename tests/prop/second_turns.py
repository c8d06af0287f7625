# SPDX-License-Identifier: GPL-3.0-or-later
"""second_turns.py ORRERY FROM COUNT [POLICY...]: who takes turns when pauses cost something, against a second program.

As second.py, whose definitions it takes, with what that leaves out: gangs of pods on nodes of one GPU each, checkpoints between which a
pause loses work, restarts that take time, srtf, and the admission of edf. Starts, ends and evictions must be equal.
"""
import csv
import itertools
import json
import math
import random
import subprocess

import second


class Costly(second.Simulation):
    """a pause takes a job back to its last checkpoint, and a later start makes it wait before it works"""

    def __init__(self, world):
        self.checkpoint_ms, self.restart_ms, self.turn = world["checkpoint"] * 1000, world["restart"] * 1000, 0
        super().__init__(world)
        for j in self.jobs:
            j.update(idle=0.0, stand=0.0, nth=0)

    def next_turn(self):
        self.turn += 1
        return self.turn

    def saved(self, job):
        """of its work, if it were paused now"""
        done = job["work"] - job["left"]
        return math.floor((done + 1e-6) / self.checkpoint_ms) * self.checkpoint_ms if self.checkpoint_ms else done

    def gains_nothing(self, job):
        return bool(self.checkpoint_ms or self.restart_ms) and self.saved(job) <= job["stand"]

    def to_go(self, job):
        """what is left, with what it waits for, or would if it started"""
        idle = job["idle"] if job["pods_now"] else self.restart_ms if job["attempts"] else 0
        return job["left"] + idle

    def came(self, job):
        super().came(job)
        if job is not None and job["here"]:
            job["nth"] = self.next_turn()

    def pause(self, job):
        super().pause(job)
        job.update(left=job["work"] - self.saved(job), idle=0.0, nth=self.next_turn())

    def begin(self, job, pods=1):
        job["idle"] = float(self.restart_ms) if job["attempts"] else 0.0
        super().begin(job, pods)
        job.update(stand=job["work"] - job["left"], nth=self.next_turn())

    def advance(self, until):
        for j in self.jobs:
            if j["pods_now"]:
                idle = min(until - self.now, j["idle"])
                j["idle"] -= idle
                j["left"] -= until - self.now - idle
        self.now = self.seen = until

    def next_time(self, dirty):
        """ends are later by what jobs wait for"""
        for j in self.jobs:
            j["left"] += j["idle"]
        found = super().next_time(dirty)
        for j in self.jobs:
            j["left"] -= j["idle"]
        return found


class Edf(Costly, second.Edf):
    """a job counts as one without a deadline if in thought anybody would be late with it"""

    def open(self, params):
        self.tests, self.fresh = params["admission"] == "feasible", []
        for j in self.jobs:
            j["asked_ms"], j["deadline_ms"] = j["deadline_ms"], math.inf

    def came(self, job):
        super().came(job)
        if job is not None and job["here"]:
            self.fresh.append(job)

    def in_thought(self):
        tasks = [{"due": j["deadline_ms"], "left": self.to_go(j), "gpus": j["gpus_per_pod"], "holds": self.stays(j), "yields": j["preemptible"]}
                 for j in self.present() if j["deadline_ms"] < math.inf or self.stays(j)]
        return sorted(tasks, key=lambda t: t["due"])  # which is stable: in the order of the trace

    def is_feasible(self):
        tasks, now = self.in_thought(), self.now
        room = self.room([j for j in self.present() if self.stays(j)])
        while any(t["due"] < math.inf for t in tasks):
            left, run = room, []
            for t in tasks:
                if not t["holds"] and t["gpus"] <= left:
                    left -= t["gpus"]
                    room -= 0 if t["yields"] else t["gpus"]
                    t["holds"] = not t["yields"]
                    run.append(t)
                elif t["holds"]:
                    run.append(t)
            if not run:
                return False
            lasts = min(t["left"] for t in run)
            now += lasts
            for t in run:
                t["left"] -= lasts
            if any(now > t["due"] for t in tasks):
                return False
            room += sum(t["gpus"] for t in tasks if t["left"] <= 1e-6 and t["holds"])
            tasks = [t for t in tasks if t["left"] > 1e-6]
        return True

    def cycle(self):
        for j in self.fresh:
            j["deadline_ms"] = j["asked_ms"]
            if self.tests and not self.is_feasible():
                j["deadline_ms"] = math.inf
        self.fresh = []
        super().cycle()


class Srtf(Costly):
    """shortest remaining time first; of equal ones those that wait, as they came, and those that run, as they began"""

    def cycle(self):
        shared = [j for j in self.present() if not self.stays(j)]
        for a in shared:
            self.unsure |= any(b is not a and self.to_go(a) == self.to_go(b) and a["evictions"] + b["evictions"] > 0 for b in shared)
        room = self.room([j for j in self.present() if self.stays(j)])
        self.walk(sorted(shared, key=lambda j: (self.to_go(j), j["pods_now"], j["nth"])), room)


class Gittins(Costly, second.Gittins):
    """what a pause would take does not count as attained"""

    def priority(self, job):
        attained = job["gpus_per_pod"] * self.saved(job)
        return [index for at, index in self.levels if at <= attained + 1e-6][-1]


class Las(Costly, second.Las):
    """with promotions, who keeps nothing of its turn goes on"""

    def turns(self, job):
        """it is kept from losing all of its turn"""
        return job["pods_now"] > 0 and job["preemptible"] and self.patience > 0 and self.gains_nothing(job)

    def stays(self, job):
        return super().stays(job) or self.turns(job)

    def wake(self):
        """at the next round it may have something to keep"""
        later, waits = super().wake(), any(not j["pods_now"] for j in self.present())
        if not waits or not any(self.turns(j) for j in self.jobs):
            return later
        following = (self.now // self.round_ms + 1) * self.round_ms
        return following if later is None else min(later, following)


class Themis(Costly, second.Themis):
    """who would lose all that it did in its lease keeps its GPUs without one"""

    def goes_on(self, job):
        return self.stays(job) or (job["pods_now"] > 0 and self.gains_nothing(job))


class Gavel(Costly, second.Gavel):
    """who would lose all that it did goes on, and has its part of the time all the same"""

    def goes_on(self, job):
        return self.stays(job) or (job["pods_now"] > 0 and self.gains_nothing(job))


POLICIES = {
    "edf": (Edf, {"admission": ["all", "feasible"]}, True, True),
    "srtf": (Srtf, {}, True, True),
    "gittins": (Gittins, second.POLICIES["gittins"][1], True, False),
    "themis": (Themis, second.POLICIES["themis"][1], True, True),
    "gavel": (Gavel, {}, True, True),
    "las": (Las, second.POLICIES["las"][1], False, False),
}


def draw_world(policy, seed):
    draw = random.Random(seed)
    _, knobs, serves, restarts = POLICIES[policy]
    gpus, submit, jobs = draw.choice([3, 4, 6, 8]), 0, []
    for number in range(draw.randint(3, 14)):
        submit += draw.choice([0, draw.randint(1, 200), draw.randint(1, 1000)])
        jobs.append({"id": number, "submit_ms": submit * 1000, "run_ms": 1000 * draw.choice([draw.randint(20, 3000), draw.randint(20, 300), 600]),
                     "pods": 1, "least": 1, "gpus_per_pod": min(gpus, draw.choice([1, 1, 2, 3, gpus])), "preemptible": draw.random() < 0.8,
                     "deadline_ms": math.inf if draw.random() < 0.15 else (submit + draw.randint(20, 9000)) * 1000})
    services = [dict(second.draw_service(draw, gpus), gpus_per_pod=1) for _ in range(draw.choice([0, 1, 2]) if serves else 0)]
    return {"gpus": gpus, "jobs": jobs, "services": services, "params": {name: draw.choice(values) for name, values in knobs.items()},
            "checkpoint": draw.choice([0, 30, 100, 500]), "restart": draw.choice([0, 10, 60]) if restarts else 0}


def write_world(world, policy):
    with open("trace.csv", "w", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow("job submit_s run_s pods gpus_per_pod preemptible deadline_s checkpoint_s restart_s".split())
        for j in world["jobs"]:  # a gang of pods of one GPU
            rows.writerow([j["id"], j["submit_ms"] // 1000, j["run_ms"] // 1000, j["gpus_per_pod"], 1, str(j["preemptible"]).lower(),
                           "" if j["deadline_ms"] == math.inf else j["deadline_ms"] // 1000, world["checkpoint"] or "", world["restart"] or ""])
    params = ", ".join(f"{name}: {json.dumps(value)}{'s' if name == 'lease' else ''}" for name, value in world["params"].items())
    with open("run.yaml", "w", encoding="utf-8") as file:
        if world["services"]:
            file.write(f"horizon: {second.HORIZON // 1000}s\n")
        file.write(f"cluster: {{pools: {{p: {{nodes: {world['gpus']}, gpus: 1}}}}}}\nworkload:\n")
        for n, service in enumerate(world["services"]):
            second.write_service(file, n, service)
        file.write(f"- {{name: t, trace: trace.csv}}\npolicy: {{name: {policy}, params: {{{params}}}}}\n")


def is_equal(orrery, policy, seed):
    """-> True, False, or None: unsure"""
    world = draw_world(policy, seed)
    write_world(world, policy)
    subprocess.run([orrery, "run", "run.yaml", "-o", "run.db", "--force", "--no-progress", "--quiet", "--check-books"], check=True)
    program = POLICIES[policy][0](world)
    ours, theirs = program.run(), second.read_run(world)
    if ours == theirs:
        return True
    if program.unsure:
        return None
    print(f"{policy}, seed {seed}: {world['gpus']} GPUs, {world['params']}, checkpoint {world['checkpoint']}, restart {world['restart']}; "
          "start, end, evictions here and of the run")
    for j in world["jobs"]:
        print(" ", "!" if ours[0][j["id"]] != theirs[0][j["id"]] else " ", j, ours[0][j["id"]], theirs[0][j["id"]])
    for n, logs in enumerate(zip(ours[1], theirs[1])):
        print("  service", n, next((pair for pair in itertools.zip_longest(*logs) if pair[0] != pair[1]), "the same"))
    return False


second.main(is_equal, POLICIES)
