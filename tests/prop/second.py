# SPDX-License-Identifier: GPL-3.0-or-later
"""second.py ORRERY FROM COUNT [POLICY...]: research policies against a second program, job by job.

Draws small worlds of one node, so that GPUs are interchangeable and what is counted finds a place: jobs of one pod (elastic ones for
pollux) and services, whose pods follow steps. Each is run, and computed here by plain scans and sets, from the definitions in
policies/README.md and the papers it names: starts, ends and evictions of jobs, and how many pods each service held when, must be
equal. A world in which two choices differ by rounding alone is passed over if it comes out otherwise, and counted. Prints a line
a policy; ends with 1 if a world differs, whose seed and jobs are printed.
"""
import csv
import itertools
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

HORIZON = 3 * 3600000
NEAR = 1e-9


class Simulation:
    """Jobs and services on interchangeable GPUs; pauses lose nothing. Times in ms."""
    round_ms = 0

    def __init__(self, world):
        self.gpus, self.now, self.seen, self.unsure = world["gpus"], 0, -1, False
        self.jobs = [dict(j, work=float(j["run_ms"]), left=float(j["run_ms"]), pods_now=0, start=None, end=None, here=False, evictions=0,
                          attempts=0) for j in world["jobs"]]
        self.services = [dict(s, want=0, held=0, gets=0, log=[]) for s in world["services"]]
        self.open(world["params"])

    def open(self, params):
        pass

    def rate(self, job, pods):
        return 1.0

    # --- what stands now ---

    def present(self):
        return [j for j in self.jobs if j["here"]]

    def held(self, job):
        return job["pods_now"] * job["gpus_per_pod"]

    def stays(self, job):
        return job["pods_now"] > 0 and not job["preemptible"]

    def goes_on(self, job):
        """in this cycle, whatever it may be in later ones"""
        return self.stays(job)

    def to_go(self, job):
        return job["left"]

    def lacks(self, service):
        """what it asks next: its gang, then pod by pod"""
        more = service["want"] - service["held"]
        step = service["least"] if service["held"] == 0 and not service["log"] else 1
        return more if more >= step else 0

    def room(self, kept):
        """what is shared when jobs of `kept` keep theirs: services come first, in the order they came"""
        room = self.gpus - sum(self.held(j) for j in kept) - sum(s["held"] * s["gpus_per_pod"] for s in self.services)
        for s in self.services:
            fit = min(self.lacks(s), room // s["gpus_per_pod"])
            step = s["least"] if s["held"] == 0 and not s["log"] else 1
            s["gets"] = fit if fit >= step else 0
            room -= s["gets"] * s["gpus_per_pod"]
        return room

    # --- what is done ---

    def pause(self, job):
        job["pods_now"] = 0
        job["evictions"] += 1

    def begin(self, job, pods=1):
        job["pods_now"] = pods
        job["attempts"] += 1
        job["start"] = self.now if job["start"] is None else job["start"]

    def begin_services(self):
        for s in self.services:
            if s["gets"]:
                s["held"] += s["gets"]
                s["log"].append((self.now, s["held"]))

    def settle(self, shared, chosen):
        """of those that share: who is not chosen is paused, and the chosen start"""
        for j in shared:
            if j["pods_now"] and j["id"] not in chosen:
                self.pause(j)
        self.begin_services()
        for j in shared:
            if not j["pods_now"] and j["id"] in chosen:
                self.begin(j)

    def walk(self, order, room):
        chosen = set()
        for j in order:
            if j["gpus_per_pod"] <= room:
                room -= j["gpus_per_pod"]
                chosen.add(j["id"])
        self.settle(order, chosen)

    # --- time ---

    def came(self, job):
        pass

    def wake(self):
        return None

    def next_time(self, dirty):
        times = [j["submit_ms"] for j in self.jobs if not j["here"] and j["end"] is None]
        times += [self.now + math.ceil(j["left"] / self.rate(j, j["pods_now"]) - 1e-6) for j in self.jobs if j["pods_now"]]
        times += [t for s in self.services for t, _ in s["steps"] if t > self.seen]
        if self.round_ms and dirty:
            times.append(-(-self.now // self.round_ms) * self.round_ms)
        wake = self.wake()
        return min([t for t in times if t >= self.now] + ([] if wake is None else [wake]), default=None)

    def advance(self, until):
        for j in self.jobs:
            j["left"] -= (until - self.now) * self.rate(j, j["pods_now"]) if j["pods_now"] else 0
        self.now = self.seen = until

    def happen(self):
        """jobs end, services change, jobs come; did anything?"""
        changed = False
        for j in self.jobs:
            if j["pods_now"] and j["left"] <= 1e-3:
                j.update(pods_now=0, end=self.now, here=False)
                self.came(j)
                changed = True
        for s in self.services:
            for at, want in s["steps"]:
                if at == self.now:
                    s["want"], changed = want, True
                    if s["held"] > want:
                        s["held"] = want
                        s["log"].append((at, want))
                    self.came(None)
        for j in self.jobs:
            if not j["here"] and j["end"] is None and j["submit_ms"] <= self.now:
                j["here"] = changed = True
                self.came(j)
        return changed

    def run(self):
        dirty = False
        while self.services or any(j["end"] is None for j in self.jobs):
            until = self.next_time(dirty)
            if until is None or (self.services and until >= HORIZON):
                break
            self.advance(until)
            dirty = self.happen() or dirty
            if self.round_ms == 0 or self.now % self.round_ms == 0:
                self.cycle()
                dirty = False
        jobs = {j["id"]: (j["start"], j["end"], j["evictions"] if j["end"] is not None else None) for j in self.jobs}
        return jobs, [changes(s["log"]) for s in self.services]


class Edf(Simulation):
    """earliest deadline first"""

    def cycle(self):
        shared = [j for j in self.present() if not self.stays(j)]
        room = self.room([j for j in self.present() if self.stays(j)])
        self.walk(sorted(shared, key=lambda j: (j["deadline_ms"], j["id"])), room)


class Gittins(Simulation):
    """highest Gittins index first: max over d of P(S - a <= d) / E[min(S - a, d)]"""
    round_ms = 60000

    def open(self, params):
        sizes = sorted(j["gpus_per_pod"] * j["run_ms"] for j in self.jobs)
        self.levels = [(0, self.index(sizes, 0))]
        for n in range(1, params["levels"]):
            at = sizes[(len(sizes) - 1) * n // params["levels"]]
            if at > self.levels[-1][0]:
                self.levels.append((at, self.index(sizes, at)))

    @staticmethod
    def index(sizes, attained):
        left = [s - attained for s in sizes if s > attained]
        return max((sum(x <= d for x in left) / sum(min(x, d) for x in left) for d in left), default=0)

    def priority(self, job):
        attained = job["gpus_per_pod"] * (job["work"] - job["left"])
        return [index for at, index in self.levels if at <= attained][-1]

    def cycle(self):
        shared = [j for j in self.present() if not self.stays(j)]
        room = self.room([j for j in self.present() if self.stays(j)])
        self.walk(sorted(shared, key=lambda j: (-self.priority(j), j["id"])), room)

    def wake(self):
        waits = any(not j["pods_now"] for j in self.present())
        pauses = any(j["pods_now"] and j["preemptible"] for j in self.jobs)
        return (self.now // self.round_ms + 1) * self.round_ms if waits and pauses else None


class Themis(Simulation):
    """auctions of leases among the part of the jobs with the worst rho; all sets of winners are tried"""

    def open(self, params):
        self.fairness, self.lease_ms = params["fairness"], params["lease"] * 1000

    def leased(self, job):
        return job["pods_now"] and self.now < job["until"]

    def begin(self, job, pods=1):
        super().begin(job, pods)
        job["until"] = self.now + self.lease_ms

    def crowd(self, job):
        """jobs there were on average since it came, services included"""
        lived = self.now - job["submit_ms"]
        if lived == 0:
            return len(self.present()) + len(self.services)
        there = 0
        for other in self.jobs:
            if other["submit_ms"] <= self.now:
                end = self.now if other["end"] is None else other["end"]
                there += max(0, end - max(job["submit_ms"], other["submit_ms"]))
        return there / lived + len(self.services)

    def served(self, kept):
        """GPUs that services get when jobs of `kept` keep theirs"""
        self.room(kept)
        return sum(s["gets"] * s["gpus_per_pod"] for s in self.services)

    def kept(self):
        return [j for j in self.present() if self.goes_on(j) or self.leased(j)]

    def end_leases(self):
        """as many as services need, those first that would end first"""
        most = self.served([j for j in self.present() if self.goes_on(j)])
        while self.served(self.kept()) < most:
            min((j for j in self.kept() if not self.goes_on(j)), key=lambda j: (j["until"], j["id"]))["until"] = self.now

    def cycle(self):
        self.end_leases()
        kept = self.kept()
        bidders = [j for j in self.present() if j not in kept]
        room = self.room(kept)
        for j in bidders:
            j["ends"] = max(1, self.now - j["submit_ms"] + self.to_go(j))
            j["rho"] = (self.now - j["submit_ms"] + self.to_go(j)) / (j["work"] * max(1, self.crowd(j) / self.gpus))
        bidders.sort(key=lambda j: (-j["rho"], j["id"]))
        for a, b in zip(bidders, bidders[1:]):
            self.unsure |= a["rho"] != b["rho"] and a["rho"] - b["rho"] < NEAR * a["rho"]
        count = max(1, math.ceil((1 - self.fairness) * len(bidders) - 1e-6)) if bidders else 0
        sets = []
        for pick in itertools.product([0, 1], repeat=count):
            won = [j for p, j in zip(pick, bidders) if p]
            if sum(j["gpus_per_pod"] for j in won) <= room:
                sets.append((sum(math.log(1 + self.lease_ms / j["ends"]) for j in won), [j["id"] for j in won]))
        sets.sort(key=lambda s: -s[0])
        self.unsure |= len(sets) > 1 and sets[0][0] - sets[1][0] < NEAR
        winners = sets[0][1] if sets else []
        self.walk([j for j in bidders if j["id"] in winners] + [j for j in bidders if j["id"] not in winners], room)
        for j in self.present():
            if j["pods_now"] and not self.leased(j):
                j["until"] = self.now + self.lease_ms

    def wake(self):
        if not any(not j["pods_now"] for j in self.present()) and not any(self.lacks(s) for s in self.services):
            return None
        return min((j["until"] for j in self.jobs if j["pods_now"] and j["preemptible"] and j["until"] > self.now), default=None)


class Las(Simulation):
    """least attained service in lines: a job falls into the next at a threshold, and comes back to the first when it has waited long"""
    round_ms = 60000

    def open(self, params):
        self.limits = [int(t) * 1000 for t in params["thresholds_gpu_s"].split(",")]
        self.patience = params["promote"]
        self.lines = [[] for _ in range(len(self.limits) + 1)]

    def came(self, job):
        if job["here"]:
            job.update(counted=0, paused=0)
            self.lines[0].append(job)
        else:
            next(line for line in self.lines if job in line).remove(job)

    def pause(self, job):
        super().pause(job)
        job["paused"] = self.now

    def attained(self, job):
        return job["gpus_per_pod"] * (job["work"] - job["left"]) - job["counted"]

    def falls(self, job, line):
        lacks = self.limits[line] - self.attained(job)
        return self.now + max(0, math.ceil(lacks / job["gpus_per_pod"])) if job["pods_now"] or lacks <= 0 else math.inf

    def rises(self, job):
        if self.patience == 0 or job["pods_now"] or job["evictions"] == 0:
            return math.inf
        return math.floor(job["paused"] + self.patience * self.attained(job) / job["gpus_per_pod"])

    def cycle(self):
        for line in range(len(self.limits)):
            for j in [j for j in self.lines[line] if self.falls(j, line) <= self.now]:
                self.lines[line].remove(j)
                self.lines[line + 1].append(j)
        for line in self.lines[1:]:
            for j in [j for j in line if self.rises(j) <= self.now]:
                j["counted"] += self.attained(j)
                line.remove(j)
                self.lines[0].append(j)
        order = [j for line in self.lines for j in line if not self.stays(j)]
        self.walk(order, self.room([j for j in self.present() if self.stays(j)]))

    def wake(self):
        times = [self.falls(j, n) for n, line in enumerate(self.lines[:-1]) for j in line]
        times += [self.rises(j) for line in self.lines[1:] for j in line]
        later = [t for t in times if self.now < t < math.inf]
        return -(-min(later) // self.round_ms) * self.round_ms if later else None


class Drf(Simulation):
    """the queue with the least GPUs first; nobody is paused"""

    def open(self, params):
        self.backfill = params["backfill"]
        self.queues = list(dict.fromkeys(j["queue"] for j in self.jobs))

    def cycle(self):
        closed, too_large = set(), set()
        while True:
            waiting = {q: [j for j in self.present() if j["queue"] == q and not j["pods_now"]
                           and not (self.backfill and j["gpus_per_pod"] in too_large)] for q in self.queues}
            left = [q for q in self.queues if waiting[q] and q not in closed]
            if not left:
                return
            share = {q: sum(self.held(j) for j in self.jobs if j["queue"] == q) for q in left}
            queue = min(left, key=lambda q: (share[q], self.queues.index(q)))
            first = waiting[queue][0]
            if first["gpus_per_pod"] <= self.gpus - sum(self.held(j) for j in self.jobs):
                self.begin(first)
            elif self.backfill:
                too_large.add(first["gpus_per_pod"])
            else:
                closed.add(queue)


class Gavel(Simulation):
    """max-min fair times on one model, as water fills vessels, and rounds by what is due over what was had"""
    round_ms = 360000

    def open(self, params):
        self.changed, self.counted = False, None
        for j in self.jobs:
            j.update(due=0.0, had=0.0, time=0.0)

    def came(self, job):
        self.changed = True

    def divide(self):
        present = self.present()
        shared = sorted((j for j in present if not self.stays(j)), key=lambda j: j["gpus_per_pod"])
        left = self.gpus - sum(self.held(j) for j in present if self.stays(j))
        left -= sum(s["held"] * s["gpus_per_pod"] for s in self.services)
        while shared and shared[0]["gpus_per_pod"] <= left / len(shared):
            left -= shared[0]["gpus_per_pod"]
            shared.pop(0)["time"] = 1.0
        for j in shared:
            j["time"] = left / len(shared) / j["gpus_per_pod"]
        for j in present:
            j["time"] = 0.0 if self.stays(j) else j["time"]
        self.changed = False

    def account(self):
        span = self.now - self.counted if self.counted is not None else 0
        for j in self.present():
            j["due"] += j["time"] * span
            j["had"] += span if j["pods_now"] else 0
        self.counted = self.now

    def cycle(self):
        self.account()
        if self.changed:
            self.divide()
        shared = [j for j in self.present() if not self.goes_on(j)]
        room = self.room([j for j in self.present() if self.goes_on(j)])
        turns = []
        for j in shared:
            due = j["due"] + j["time"] * self.round_ms
            if j["time"] > NEAR:
                turns.append((-(1 + due / (j["had"] + 1)), -(due - j["had"]), j["id"], j))
            turns.append((-1 / (2 + j["had"]), -1.0, j["id"], j))
        turns.sort(key=lambda t: t[:3])
        for a, b in zip(turns, turns[1:]):
            self.unsure |= a[0] != b[0] and abs(a[0] - b[0]) < NEAR * abs(a[0])
            self.unsure |= a[0] == b[0] and a[1] != b[1] and abs(a[1] - b[1]) < 1e-6
        chosen = set()
        for *_, j in turns:
            if j["id"] not in chosen and j["gpus_per_pod"] <= room:
                chosen.add(j["id"])
                room -= j["gpus_per_pod"]
        takes = any(s["gets"] for s in self.services)
        takes |= any(j["id"] in chosen and not j["pods_now"] and not j["preemptible"] for j in shared)
        self.settle(shared, chosen)
        if takes:
            self.divide()

    def wake(self):
        waits = any(not j["pods_now"] for j in self.present()) or any(self.lacks(s) for s in self.services)
        pauses = any(j["pods_now"] and j["preemptible"] for j in self.jobs)
        return (self.now // self.round_ms + 1) * self.round_ms if waits and pauses else None


class Pollux(Simulation):
    """the division with the greatest power mean of speedups, by the best and the second best for each sum of GPUs"""
    round_ms = 60000

    def open(self, params):
        self.power, self.delay_ms = params["power"], params["restart_delay"] * 1000

    def rate(self, job, pods):
        if job["least"] == job["pods"]:
            return 1.0
        speed = [1 / (job["serial"] + (1 - job["serial"]) / n) for n in (pods, job["pods"])]
        return round(speed[0] / speed[1] * 1e6) / 1e6

    def worth(self, speedup):
        speedup = max(speedup, 1e-3)
        return math.log(speedup) if self.power == 0 else speedup ** self.power / self.power

    def choices(self, job, part, gpus):
        least, pods = job["least"], job["pods"]
        fair = part / job["gpus_per_pod"]
        if fair <= least:
            fair_rate = self.rate(job, least) * fair / least
        else:
            whole = min(int(fair), pods)
            at, above = self.rate(job, whole), self.rate(job, min(whole + 1, pods))
            fair_rate = at + (above - at) * (fair - whole if fair < pods else 0)
        kept, life = 1, self.now - job["submit_ms"]
        if job["attempts"]:
            kept = (life - (job["attempts"] - 1) * self.delay_ms) / (life + self.delay_ms) if life + self.delay_ms else 1
            kept = min(max(kept, 1e-3), 1)
        found = [(0, 0, self.worth(0))]
        for n in range(least, pods + 1):
            speedup = self.rate(job, n) / fair_rate if fair_rate > 0 else 1
            if n * job["gpus_per_pod"] <= gpus:
                found.append((n, n * job["gpus_per_pod"], self.worth(speedup if n == job["pods_now"] else speedup * kept)))
        return found

    def cycle(self):
        gpus = self.room([j for j in self.present() if self.stays(j)])
        shared = [j for j in self.present() if not self.stays(j)]
        best = {0: [(0.0, ())]}
        for j in shared[:4 * gpus + 1]:
            sums = {}
            for n, needs, worth in self.choices(j, gpus / len(shared), gpus):
                for used, ways in best.items():
                    if used + needs <= gpus:
                        sums.setdefault(used + needs, []).extend((v + worth, picks + ((j["id"], n),)) for v, picks in ways)
            best = {used: sorted(ways, reverse=True)[:2] for used, ways in sums.items()}
        ways = sorted((way for some in best.values() for way in some), reverse=True)
        self.unsure |= len(ways) > 1 and ways[0][0] - ways[1][0] < NEAR * max(1, abs(ways[0][0]))
        picked = dict(ways[0][1])
        for j in shared:
            if j["pods_now"] and picked.get(j["id"], 0) != j["pods_now"]:
                self.pause(j)
        self.begin_services()
        for j in shared:
            if not j["pods_now"] and picked.get(j["id"], 0):
                self.begin(j, picked[j["id"]])

    def wake(self):
        pauses = any(j["pods_now"] and j["preemptible"] for j in self.jobs)
        return (self.now // self.round_ms + 1) * self.round_ms if pauses else None


POLICIES = {
    "edf": (Edf, {}, True),
    "gittins": (Gittins, {"levels": [1, 3, 8, 256]}, True),
    "themis": (Themis, {"fairness": [0, 0.3, 0.5, 0.8, 1], "lease": [60, 300, 1200]}, True),
    "las": (Las, {"thresholds_gpu_s": ["300", "600, 2000", "200, 500, 3000"], "promote": [0, 0.5, 2, 8]}, False),
    "drf": (Drf, {"backfill": [True, False]}, False),
    "gavel": (Gavel, {}, True),
    "pollux": (Pollux, {"power": [-1, 0, 1, -2], "restart_delay": [0, 30, 120]}, True),
}


def changes(log):
    """(ms, pods) where the number of pods changes; the last word of an instant stands"""
    held, out = 0, []
    for at, pods in dict(log).items():
        if pods != held:
            out.append((at, pods))
        held = pods
    return out


# --- worlds ---

def draw_service(draw, gpus):
    each = draw.choice([1, 1, 2])
    least = draw.randint(0, min(2, gpus // each))
    most = draw.randint(max(least, 1), 4)
    every = draw.choice([1, 5, 10])
    drawn = [draw.randint(0, 4) for _ in range(HORIZON // 60000)]
    rates = [drawn[minute // every] for minute in range(len(drawn))]
    wants = [max(least, min(most, r)) for r in rates]
    steps = [(0, wants[0])]
    for minute in range(1, len(wants)):  # a minute's rate is what the next one wants
        if wants[minute - 1] != steps[-1][1]:
            steps.append((minute * 60000, wants[minute - 1]))
    return {"gpus_per_pod": each, "least": max(least, 1), "range": f"{least}..{most}", "rates": rates, "steps": steps}


def draw_job(draw, policy, gpus, number, submit):
    pods, each = 1, min(gpus, draw.choice([1, 1, 2, 3, gpus]))
    if policy == "pollux":
        pods, each = min(gpus, draw.choice([1, 2, 3, 4])), 1
    least = draw.choice([pods, 1, max(1, pods - 1)])
    return {"id": number, "submit_ms": submit * 1000, "run_ms": 1000 * draw.choice([draw.randint(20, 3000), draw.randint(20, 300), 600]),
            "pods": pods, "least": least, "gpus_per_pod": each, "serial": draw.choice([0.1, 0.2, 0.5]), "preemptible": draw.random() < 0.9,
            "queue": draw.choice("abc"), "deadline_ms": draw.randint(1, 20000) * 1000}


def draw_world(policy, seed):
    draw = random.Random(seed)
    _, knobs, serves = POLICIES[policy]
    gpus, submit, jobs = draw.choice([3, 4, 6, 8]), 0, []
    for number in range(draw.randint(3, 14 if policy != "pollux" else 8)):
        submit += draw.choice([0, draw.randint(1, 200), draw.randint(1, 1000)])
        jobs.append(draw_job(draw, policy, gpus, number, submit))
    services = [draw_service(draw, gpus) for _ in range(draw.choice([0, 1, 2]) if serves else 0)]
    return {"gpus": gpus, "jobs": jobs, "services": services, "params": {name: draw.choice(values) for name, values in knobs.items()}}


def write_service(file, n, service):
    file.write(f"- {{name: s{n}, kind: inference, service: {{gpus_per_pod: {service['gpus_per_pod']}, replicas: {service['range']}, "
               f"rate: rate{n}.csv, service_time: 1s, target_utilisation: 1, scale_interval: 1m, scale_down_window: 0s}}}}\n")
    with open(f"rate{n}.csv", "w", encoding="utf-8") as rates:
        rates.write("time_s,rate\n" + "".join(f"{60 * m},{r}\n" for m, r in enumerate(service["rates"])))


def write_world(world, policy):
    with open("trace.csv", "w", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow("job submit_s run_s pods min_pods gpus_per_pod preemptible queue deadline_s profile".split())
        for j in world["jobs"]:
            rows.writerow([j["id"], j["submit_ms"] // 1000, j["run_ms"] // 1000, j["pods"], j["least"], j["gpus_per_pod"],
                           str(j["preemptible"]).lower(), j["queue"], j["deadline_ms"] // 1000,
                           f"s{j['serial']}".replace(".", "") if j["least"] < j["pods"] else ""])
    params = ", ".join(f"{name}: {json.dumps(value)}{'s' if name in ('lease', 'restart_delay') else ''}"
                       for name, value in world["params"].items())
    with open("run.yaml", "w", encoding="utf-8") as file:
        if world["services"]:
            file.write(f"horizon: {HORIZON // 1000}s\n")
        file.write(f"cluster: {{pools: {{p: {{nodes: 1, gpus: {world['gpus']}}}}}}}\nprofiles:\n")
        for serial in (0.1, 0.2, 0.5):
            file.write(f"  s{serial}: {{kind: speedup, serial: {serial}}}\n".replace(".", "", 1))
        file.write("workload:\n")
        for n, s in enumerate(world["services"]):
            write_service(file, n, s)
        file.write(f"- {{name: t, trace: trace.csv}}\npolicy: {{name: {policy}, params: {{{params}}}}}\n")


def read_run(world):
    """what the run has, as Simulation.run returns it"""
    db = sqlite3.connect("run.db")
    end = HORIZON if world["services"] else math.inf
    jobs = {}
    for name, start, stop, evictions in db.execute("SELECT name, start_ms, end_ms, evictions FROM job"):
        if not name.startswith("s"):
            jobs[int(name.split("/")[-1])] = (None if start is None or start >= end else start, stop, evictions if stop is not None else None)
    logs = []
    for n in range(len(world["services"])):
        steps = {}
        for start, stop, pods in db.execute("SELECT p.start_ms, p.end_ms, p.pods FROM v_placements AS p JOIN job AS j ON j.id = p.job "
                                            "WHERE j.name = ?", (f"s{n}",)):
            steps[start] = steps.get(start, 0) + pods
            if stop is not None and stop < HORIZON:
                steps[stop] = steps.get(stop, 0) - pods
        held, log = 0, []
        for at in sorted(steps):
            held += steps[at]
            log.append((at, held))
        logs.append(changes(log))
    db.close()
    return jobs, logs


def is_near(ours, theirs):
    """of jobs whose rates are rounded to millionths ends are so too"""
    return all(ours[j][0] == theirs[j][0] and ours[j][2] == theirs[j][2] and
               (ours[j][1] == theirs[j][1] or (None not in (ours[j][1], theirs[j][1]) and abs(ours[j][1] - theirs[j][1]) <= 200)) for j in ours)


def is_equal(orrery, policy, seed):
    """-> True, False, or None: unsure"""
    world = draw_world(policy, seed)
    write_world(world, policy)
    subprocess.run([orrery, "run", "run.yaml", "-o", "run.db", "--force", "--no-progress", "--quiet", "--check-books"], check=True)
    second = POLICIES[policy][0](world)
    ours, theirs = second.run(), read_run(world)
    if is_near(ours[0], theirs[0]) and ours[1] == theirs[1]:
        return True
    if second.unsure:
        return None
    print(f"{policy}, seed {seed}: {world['gpus']} GPUs, {world['params']}; start, end, evictions here and of the run")
    for j in world["jobs"]:
        print(" ", "!" if ours[0][j["id"]] != theirs[0][j["id"]] else " ", j, ours[0][j["id"]], theirs[0][j["id"]])
    for n, logs in enumerate(zip(ours[1], theirs[1])):
        print("  service", n, next((pair for pair in itertools.zip_longest(*logs) if pair[0] != pair[1]), "the same"))
    return False


def print_differences(names, ours, theirs):
    for name, mine, its in zip(names, ours, theirs):
        print(f"  {name} here only: {[r for r in mine if r not in its]}; of the run only: {[r for r in its if r not in mine]}")


def compare_worlds(what, evictions_if_equal):
    """Of worlds of one policy: evictions_if_equal(orrery, seed) is None where both differ. Some worlds have to evict."""
    orrery, first, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = [evictions_if_equal(orrery, seed) for seed in range(first, first + count)]
        os.chdir("/")
    equal = [n for n in found if n is not None]
    print(f"{what}: {len(equal)} of {count} worlds equal, with {sum(equal)} evictions")
    sys.exit(0 if len(equal) == count and sum(equal) > 0 else 1)


def main(is_equal, policies):
    orrery, first, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for policy in sys.argv[4:] or policies:
            results = [is_equal(orrery, policy, seed) for seed in range(first, first + count)]
            print(f"{policy}: {results.count(True)} of {count} worlds equal, {results.count(None)} unsure, {results.count(False)} differ")
            failed |= False in results
        os.chdir("/")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(is_equal, POLICIES)
