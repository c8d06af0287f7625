# SPDX-License-Identifier: GPL-3.0-or-later
"""second_kube.py ORRERY FROM COUNT: policy kube against a second program, pod by pod.

Draws small worlds of a few nodes: jobs of one or more pods, some of them elastic, with whole GPUs, parts of one and CPU, of several priorities, in queues with
limits, with graces, some for one model of GPU; classes that never preempt; nodes that fail, are maintained and drained, and limits that change. Each is run, and computed here from the rules of the default Kubernetes scheduler and its preemption as
policies/README.md states them: all pods are looked at, on all nodes, again after each thing that is done. Who was on which node from
when to when, and who was evicted when for whom, must be equal. Ends with 1 if a world differs, whose seed and jobs are printed.
"""
import csv
import random
import sqlite3
import subprocess

import second

NAMES = "abc"


class Node:
    def __init__(self, number, gpus, cpu, model):
        self.number, self.gpus, self.cpu, self.model, self.pods, self.shut = number, gpus, cpu, model, [], 0

    def free(self, pods):
        """CPU, and the part of each device, that these pods leave"""
        cpu, devices = self.cpu - sum(p.job["cpu"] for p in pods), [100] * self.gpus
        for pod in pods:
            for device in pod.devices:
                devices[device] -= 100 if pod.job["part"] == 0 else pod.job["part"]
        return cpu, devices

    def pick(self, job, devices):
        """the devices for a pod: free ones, or for a part of one the fullest with room, else the lowest that is free; None: no room"""
        if job["part"]:
            fit = [d for d in range(self.gpus) if devices[d] >= job["part"]]
            return [min(fit, key=lambda d: (devices[d], d))] if fit else None
        fit = [d for d in range(self.gpus) if devices[d] == 100]
        return fit[:job["gpus"]] if len(fit) >= job["gpus"] else None

    def takes(self, job):
        return self.shut == 0 and job["model"] in ("", self.model)

    def room(self, job, gone, nominated):
        """-> None: there would be no room for a pod of the job if the pods `gone` were not there and those nominated were"""
        cpu, devices = self.free([p for p in self.pods if p not in gone])
        for other in nominated:
            cpu -= other["cpu"]
            taken = self.pick(other, devices)
            for device in range(self.gpus) if taken is None else taken:
                devices[device] -= devices[device] if taken is None else other["part"] or 100
        return self.pick(job, devices) if job["cpu"] == 0 or cpu >= job["cpu"] else None

    def idle(self):
        return self.free(self.pods)[1].count(100)


class Pod:
    def __init__(self, job):
        self.job, self.node, self.devices, self.since, self.gone, self.nominated = job, None, [], None, None, None


class Cluster:
    def __init__(self, world, there):
        self.now, self.world, self.rows, self.evicted = 0, world, [], []
        self.nodes = [Node(n, gpus, cpu, world["models"][n]) for n, (gpus, cpu) in enumerate(world["nodes"])]
        self.limits, self.events = dict(world["limits"]), sorted(steps_of(world["events"]), key=lambda step: step[0])
        self.jobs = [dict(j, state="future", end=None) for j in world["jobs"] if j["id"] in there]
        for job in self.jobs:
            job["all"] = [Pod(job) for _ in range(job["pods"])]

    # --- what pods do ---

    def bind(self, pod, node, devices):
        pod.node, pod.devices, pod.since, pod.nominated = node, devices, self.now, None
        node.pods.append(pod)

    def leave(self, pod, at):
        pod.gone = at

    def remove(self, pod):
        self.rows.append((pod.job["id"], pod.node.number, pod.since, self.now))
        pod.node.pods.remove(pod)
        pod.node, pod.devices, pod.since, pod.gone = None, [], None, None

    def evict(self, pods, by):
        done = []
        for pod in pods:
            job = pod.job
            if pod.gone is not None or job in done:
                continue
            held = [p for p in job["all"] if p.node is not None and p.gone is None]
            taken = [p for p in held if p in pods]
            whole = job["state"] == "running" and len(held) - len(taken) < job["min"]
            taken = held if whole else taken
            for other in taken:
                self.leave(other, self.now + self.world["grace"])
            if whole:
                job["state"] = "leaving"
                for other in job["all"]:
                    other.nominated = None
            done.append(job)
            self.evicted.append((job["id"], self.now, by["id"], len(taken), whole))

    # --- a pod's turn ---

    def within(self, pod):
        queue = pod.job["queue"]
        mine = [p for j in self.jobs if j["queue"] == queue for p in j["all"] if p is pod or p.node is not None or p.nominated is not None]
        return sum(p.job["part"] or 100 * p.job["gpus"] for p in mine) <= 100 * self.limits.get(queue, 1000)

    def nominated_to(self, node, pod):
        return [p.job for p in self.waiting_nominees() if p.nominated is node and p is not pod and p.job["priority"] >= pod.job["priority"]]

    def waiting_nominees(self):
        return [p for j in self.jobs for p in j["all"] if p.nominated is not None]

    def place(self, pod):
        fit = [n for n in self.nodes if n.takes(pod.job) and n.room(pod.job, [], self.nominated_to(n, pod)) is not None]
        fit = [(n, n.pick(pod.job, n.free(n.pods)[1])) for n in fit]
        if not fit:
            return False
        own = [f for f in fit if f[0] is pod.nominated]
        if self.world["score"] == "least-allocated":
            fit.sort(key=lambda f: (-f[0].idle(), f[0].number))
        else:
            shares = [f for f in fit if pod.job["part"] and f[0].free(f[0].pods)[1][f[1][0]] < 100]
            fit = shares or sorted(fit, key=lambda f: (f[0].idle(), f[0].number))
        node, devices = (own or fit)[0]
        self.bind(pod, node, devices)
        if pod.job["state"] == "pending" and sum(p.node is not None and p.gone is None for p in pod.job["all"]) >= pod.job["min"]:
            pod.job.update(state="running", start=self.now, end=self.now + pod.job["run_ms"])
        return True

    def victims(self, node, pod):
        lower = [p for p in node.pods if p.job["priority"] < pod.job["priority"]]
        beside = self.nominated_to(node, pod)
        if not lower or node.room(pod.job, lower, beside) is None:
            return None
        gone = sorted(lower, key=lambda p: (-p.job["priority"], p.since, p.job["id"], p.job["all"].index(p)))
        for back in list(gone):
            if node.room(pod.job, [p for p in gone if p is not back], beside) is not None:
                gone.remove(back)
        return gone

    def preempt(self, pod):
        found = []
        if not self.world["preemption"] or self.world["order"] == "submit" or pod.job["priority"] in self.world["never"]:
            return False
        for node in [n for n in self.nodes if n.takes(pod.job)]:
            gone = self.victims(node, pod)
            if gone:
                highest = max(p.job["priority"] for p in gone)
                earliest = min(p.since for p in gone if p.job["priority"] == highest)
                found.append((highest, sum(p.job["priority"] + 2 ** 31 for p in gone), len(gone), -earliest, node.number, gone))
        if not found:
            return False
        best = min(found, key=lambda f: f[:5])
        node = self.nodes[best[4]]
        self.evict(best[5], pod.job)
        for other in self.waiting_nominees():
            if other.nominated is node and other.job["priority"] < pod.job["priority"]:
                other.nominated = None
        pod.nominated = node
        return True

    def turn(self, pod):
        """-> did it do anything?"""
        if not self.within(pod):
            was_nominated, pod.nominated = pod.nominated is not None, None
            return was_nominated
        if self.place(pod):
            return True
        if pod.nominated is not None:
            lower = any(p.gone is not None and p.job["priority"] < pod.job["priority"] for p in pod.nominated.pods)
            if lower and pod.nominated.shut == 0:
                return False
            pod.nominated = None
            self.preempt(pod)
            return True
        return self.preempt(pod)

    def cycle(self):
        again = True
        while again:
            pods = [p for j in self.jobs if j["state"] in ("pending", "running") for p in j["all"] if p.node is None]
            by_priority = self.world["order"] == "priority"
            pods.sort(key=lambda p: (-p.job["priority"] if by_priority else 0, p.job["submit_ms"], p.job["id"], p.nominated is None))
            again = any(self.turn(p) for p in pods)

    # --- time ---

    def lose(self, node, fails):
        """what is on a node is gone, or leaves; a gang that runs and is left with less than its minimum leaves whole"""
        for job in [j for j in self.jobs if any(p.node is node for p in j["all"])]:
            mine = [p for p in job["all"] if p.node is node]
            alive = [p for p in mine if p.gone is None]
            for pod in mine if fails else alive:
                if fails:
                    self.remove(pod)
                else:
                    self.leave(pod, self.now + self.world["grace"])
            held = [p for p in job["all"] if p.node is not None and p.gone is None]
            if job["state"] == "running" and alive and len(held) < job["min"]:
                job["state"] = "leaving"
                for pod in held:
                    self.leave(pod, self.now + self.world["grace"])
                for pod in job["all"]:
                    pod.nominated = None

    def meet(self, what, event):
        if what == "set":
            self.limits[event["queue"]] = event["limit"]
            return
        node = self.nodes[event["node"]]
        node.shut += {"shut": 1, "open": -1}.get(what, 0)
        if what in ("fail", "maintain"):
            self.lose(node, what == "fail")

    def happen(self):
        """jobs end, events are met, pods are gone, jobs come; did anything?"""
        did = False
        for job in self.jobs:
            if job["state"] == "running" and job["end"] == self.now:
                for pod in job["all"]:
                    pod.nominated = None
                    if pod.node is not None:
                        self.remove(pod)
                job["state"], did = "done", True
        while self.events and self.events[0][0] == self.now:
            self.meet(*self.events.pop(0)[1:])
            did = True
        for job in self.jobs:
            for pod in [p for p in job["all"] if p.gone == self.now]:
                self.remove(pod)
                did = True
            if job["state"] == "leaving" and all(p.node is None for p in job["all"]):
                job["state"], did = "pending", True
        for job in self.jobs:
            if job["state"] == "future" and job["submit_ms"] == self.now:
                job["state"], did = "pending", True
        return did

    def run(self):
        while any(j["state"] != "done" for j in self.jobs):
            times = [j["submit_ms"] for j in self.jobs if j["state"] == "future"]
            times += [j["end"] for j in self.jobs if j["state"] == "running"]
            times += [p.gone for j in self.jobs for p in j["all"] if p.gone is not None]
            times += [step[0] for step in self.events]
            if not times:
                break
            self.now = min(times)
            while self.happen():
                self.cycle()
        held = [(j["id"], p.node.number, p.since, None) for j in self.jobs for p in j["all"] if p.node is not None]
        return sorted(r for r in self.rows if r[2] < r[3]) + sorted(held), summed(self.evicted)


def steps_of(events):
    """(ms, what, event): a node is shut some time before it is maintained, and opened in the end"""
    for event in events:
        if event["what"] != "drain":
            yield event["at"], event["what"], event
        if event["what"] != "set":
            yield event["at"] - event["notice"], "shut", event
            yield event["at"] + event["lasts"], "open", event


def summed(evicted):
    """by job and time: pods, whether in the end all of it went, and for whom"""
    sums = {}
    for job, at, by, pods, whole in evicted:
        before, went, names = sums.get((job, at), (0, False, set()))
        sums[job, at] = (before + pods, went or whole, names | {by})
    return sums


def is_same(mine, its):
    """what a job loses in one decision for several jobs is one row of a run, which names one of them"""
    return mine.keys() == its.keys() and all(mine[k][:2] == its[k][:2] and its[k][2] <= mine[k][2] for k in mine)


def draw_event(draw, nodes, limits):
    at = draw.randint(5, 500) * 1000 + 500
    if limits and draw.random() < 0.3:
        return {"at": at, "what": "set", "queue": draw.choice(sorted(limits)), "limit": draw.randint(0, 20)}
    what = draw.choice(["fail", "maintain", "drain"])
    return {"at": at, "what": what, "node": draw.randrange(nodes), "lasts": draw.randint(1, 200) * 1000,
            "notice": min(at, draw.choice([0, 30000])) if what == "maintain" else 0}


def draw_world(seed):
    draw = random.Random(seed)
    nodes = [(draw.choice([1, 2, 4, 4, 8]), draw.choice([4, 16, 64])) for _ in range(draw.randint(1, 4))]
    alike = draw.random() < 0.4  # then pods on nodes in a row are one placement
    if alike:
        nodes = draw.randint(2, 6) * [(draw.choice([1, 2]), 16)]
    parts, elastic, submit, jobs = draw.random() < 0.4, draw.random() < 0.5, 0, []
    largest, gpus = max(g for g, _ in nodes), sum(g for g, _ in nodes)
    priorities = draw.choice([[0, 1], [50, 100, 125], [1, 2, 3, 4, 5], [-5, 0, 1000000]])
    for number in range(draw.randint(3, 22)):
        submit += draw.choice([0, 0, draw.randint(1, 30), draw.randint(1, 200)])
        each = min(largest, draw.choice([0, 1, 1, 2, 3, 4]))
        pods = draw.choice([1, 1, 1, 2, 3]) if each * 3 <= gpus else 1
        pods = draw.choice([1, len(nodes)]) if alike and each == largest else pods
        part = draw.choice([0, 20, 30, 50, 70]) if parts and each == 1 else 0
        least = draw.randint(1, pods) if elastic else pods
        jobs.append({"id": number, "min": least, "submit_ms": submit * 1000, "run_ms": 1000 * draw.choice([draw.randint(1, 300), 60]), "pods": pods,
                     "gpus": each, "part": part, "cpu": draw.choice([0, 1, 1, 2, 4]), "queue": draw.choice(NAMES),
                     "priority": draw.choice(priorities)})
    limits = {q: draw.randint(largest * 3, gpus * 3) for q in NAMES if draw.random() < 0.3 and gpus >= largest * 3}
    models = ["x" if alike else draw.choice("xy") for _ in nodes]
    for job in jobs:
        job["model"] = draw.choice(["", "", "", "x", models[0]])
    return {"nodes": nodes, "alike": alike, "jobs": jobs, "limits": limits, "grace": 1000 * draw.choice([0, 0, 1, 5, 30]),
            "score": draw.choice(["least-allocated", "most-allocated"]), "models": models, "order": draw.choice(5 * ["priority"] + ["submit"]),
            "preemption": draw.random() < 0.9, "never": [p for p in priorities if draw.random() < 0.15],
            "events": [draw_event(draw, len(nodes), limits) for _ in range(draw.choice([0, 0, 1, 2, 4]))]}


def text_of(event, world):
    at = f"at: {event['at'] / 1000}s"
    if event["what"] == "set":
        return f"{{{at}, set: {{queues.{event['queue']}.gpu.limit: {event['limit']}}}}}"
    name = f"n{event['node'] + 1:04d}" if world["alike"] or len(world["nodes"]) == 1 else f"p{event['node']}-0001"
    notice = f", notice: {event['notice'] / 1000}s" if event["notice"] else ""
    return f"{{{at}, {event['what']}: {name}, for: {event['lasts'] // 1000}s{notice}}}"


def write_world(world):
    with open("trace.csv", "w", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow("job submit_s run_s pods min_pods gpus_per_pod gpu_fraction cpu_milli priority queue gpu_model".split())
        for j in world["jobs"]:
            rows.writerow([j["id"], j["submit_ms"] // 1000, j["run_ms"] // 1000, j["pods"], j["min"], "" if j["part"] else j["gpus"],
                           j["part"] / 100 if j["part"] else "", 1000 * j["cpu"], j["priority"], j["queue"], j["model"]])
    with open("run.yaml", "w", encoding="utf-8") as file:
        pools = [(len(world["nodes"]), *world["nodes"][0])] if world["alike"] else [(1, *node) for node in world["nodes"]]
        pools = ", ".join(f"p{n}: {{nodes: {count}, gpus: {g}, cpu: {c}, gpu_model: {world['models'][n]}}}"
                          for n, (count, g, c) in enumerate(pools))
        queues = ", ".join(f"{q}: {{gpu: [0, 1, {world['limits'].get(q, 'unlimited')}]}}" for q in NAMES)
        file.write(f"cluster: {{pools: {{{pools}}}}}\nqueues: {{{queues}}}\nworkload: [{{name: t, trace: trace.csv}}]\n"
                   f"execution: {{grace: {world['grace'] // 1000}s}}\npolicy: {{name: kube, params: {{score: {world['score']}, order: {world['order']}, "
                   f"preemption: {str(world['preemption']).lower()}, never_preempts: \"{', '.join(map(str, world['never']))}\"}}}}\n")
        if world["events"]:
            file.write("events: [" + ", ".join(text_of(e, world) for e in sorted(world["events"], key=lambda e: e["at"])) + "]\n")


def read_run():
    db = sqlite3.connect("run.db")
    names = {job: int(name.split("/")[-1]) for job, name in db.execute("SELECT id, name FROM job")}
    rows = []
    for job, node, pods, start, end in db.execute("SELECT p.job, p.node, p.pods, p.start_ms, iif(r.end_ms IS NULL AND p.end_ms IS NULL, NULL, "
                                                  "p.end_ms) FROM v_placements AS p JOIN job AS r ON r.id = p.job"):
        rows += [(names[job], node, start, end)] * pods
    evicted = [(names[j], at, names[by], pods, bool(whole)) for j, at, by, pods, whole in
               db.execute("SELECT job, at_ms, for_job, pods, whole FROM eviction WHERE cause = 'preempt'")]
    db.close()
    done = [r for r in rows if r[3] is not None and r[2] < r[3]]
    return sorted(done) + sorted(r for r in rows if r[3] is None), summed(evicted)


def read_jobs():
    """those of the run: rows of jobs that an empty cluster could not hold are rejected"""
    db = sqlite3.connect("run.db")
    jobs = [int(name.split("/")[-1]) for name, in db.execute("SELECT name FROM job")]
    db.close()
    return jobs


def evictions_if_equal(orrery, seed):
    world = draw_world(seed)
    write_world(world)
    subprocess.run([orrery, "run", "run.yaml", "-o", "run.db", "--force", "--no-progress", "--quiet", "--check-books", "--allow-loss"],
                   check=True)
    ours, theirs = Cluster(world, read_jobs()).run(), read_run()
    if ours[0] == theirs[0] and is_same(ours[1], theirs[1]):
        return len(ours[1])
    print(f"seed {seed}: nodes {world['nodes']}, limits {world['limits']}, grace {world['grace']}, {world['score']}")
    print("  ", {what: world[what] for what in ("models", "order", "preemption", "never", "events")})
    for job in world["jobs"]:
        print("  ", job)
    second.print_differences(("placements", "evictions"), *[(rows, sorted(sums.items())) for rows, sums in (ours, theirs)])
    return None


second.compare_worlds("kube", evictions_if_equal)
