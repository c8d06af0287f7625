# SPDX-License-Identifier: GPL-3.0-or-later
"""each_second.py ORRERY FROM COUNT: a run under kai decides as one that has a cycle each second.

KAI has a cycle each second. A run has one only after something happened, or when a time has come that a cycle decides by. A
non-preemptible job of no GPUs that is submitted each second, to a queue of its own, makes the run have every cycle and changes
nothing else: all other jobs and services must have the same attempts, evictions and places. A world where they do not is printed;
ends with 1 then. KEEP=DIR keeps its files there.
"""
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SPAN = 240  # s in which jobs are submitted, and which lengths go by
HORIZON = 3 * SPAN
TEMPLATES = {
    "pair": "min_subgroups: 1, roles: {a: {roles: {x: {gpus_per_pod: 1}, y: {gpus_per_pod: 1}}}, b: {roles: {x: {gpus_per_pod: 1}, y: {gpus_per_pod: 1}}}}",
    "either": "min_subgroups: 1, roles: {x: {gpus_per_pod: 1}, y: {gpus_per_pod: 2}}",
    "head": "roles: {head: {gpus_per_pod: 1}, worker: {pods: 4, min: 1, gpus_per_pod: 1}}",
    "sets": "roles: {x: {pods: 2, gpus_per_pod: 1}, y: {pods: 2, min: 1, gpus_per_pod: 1}}",
}
COLUMNS = """job submit_s run_s queue priority preemptible preemption_delay_s staleness_grace_s pods min_pods gpus_per_pod gpu_fraction
    gpu_devices cpu_milli topology_required topology_preferred template mig_profile""".split()


class World:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.nodes, self.gpus = self.draw.randint(1, 6), self.draw.choice([2, 4, 8])
        self.has = {what: self.draw.random() < part for what, part in
                    {"departments": .5, "delays": .6, "graces": .6, "mig": .3, "racks": .4, "parts": .4, "cpu": .3, "usage": .4,
                     "events": .6, "failures": .2, "services": .3, "templates": .6}.items()}
        self.leaves = ["a", "b", "c"] if self.has["departments"] else ["a", "b"]
        self.node = "p-" if self.has["mig"] else "n"  # nodes of the only pool have its name no more

    def chance(self, part):
        return self.draw.random() < part

    def length(self, most):
        return self.draw.choice([self.draw.randint(1, 5), self.draw.randint(1, most)])

    # --- jobs ---

    def ask(self, row):
        draw, kind = self.draw, self.draw.random()
        if self.has["templates"] and kind < .3:
            row["template"] = draw.choice(list(TEMPLATES))
            return
        row["pods"] = draw.choice([1, 1, 1, 2, 3, 4])
        row["cpu_milli"] = draw.choice([500, 1000, 4000]) if self.has["cpu"] else ""
        if row["pods"] > 1 and self.chance(.5):
            row["min_pods"] = draw.randint(1, row["pods"])
        if self.has["mig"] and kind < .4:
            row["mig_profile"] = draw.choice(["1g.5gb", "2g.10gb"])
        elif self.has["parts"] and kind < .7:
            row["gpu_fraction"], row["gpu_devices"] = draw.choice([.2, .25, .5, .6]), draw.choice(["", "", 2])
        else:
            row["gpus_per_pod"] = draw.choice([1, 1, 2, min(self.gpus, 4)])
            if self.has["racks"] and row["pods"] > 1:
                row[draw.choice(["topology_required", "topology_required", "topology_preferred"])] = "rack"

    def job(self, number):
        draw, row = self.draw, dict.fromkeys(COLUMNS, "")
        row.update(job=f"j{number:02d}", submit_s=draw.randint(0, SPAN // 2) if number > 0 else 0, run_s=draw.randint(20, SPAN),
                   queue=draw.choice(self.leaves), priority=draw.choice([50, 50, 60, 75, 100, 125]))
        row["preemptible"] = draw.choice(["true", "false"]) if self.chance(.1) else ""
        row["preemption_delay_s"] = self.length(60) if self.has["delays"] and self.chance(.6) else ""
        row["staleness_grace_s"] = draw.choice([0, 0, 5, 30, -1]) if self.has["graces"] and self.chance(.4) else ""
        self.ask(row)
        return row

    # --- what jobs meet ---

    def queue(self, parent=None):
        draw, all_gpus = self.draw, self.nodes * self.gpus
        limit = draw.choice(["unlimited", "unlimited", draw.randint(1, all_gpus)])
        text = f"gpu: [{draw.randint(0, all_gpus)}, {draw.randint(0, 3)}, {limit}]"
        text += f", cpu: [{draw.randint(4, 64)}, 1, unlimited]" if self.has["cpu"] and self.chance(.5) else ""
        text += f", reclaim_min_runtime: {self.length(90)}s" if self.chance(.4) else ""
        text += f", preempt_min_runtime: {self.length(90)}s" if self.chance(.4) else ""
        text += ", priority: 101" if self.chance(.2) else ""
        return f"{{{f'parent: {parent}, ' if parent else ''}{text}}}"

    def queues(self):
        parents = {"a": "d", "b": "e", "c": "d"} if self.has["departments"] else {}
        return [f"  {q}: {self.queue()}" for q in sorted(set(parents.values()))] + [f"  {q}: {self.queue(parents.get(q))}" for q in self.leaves]

    def params(self):
        draw, params = self.draw, {}
        if self.has["usage"]:
            params = {"usage_db": draw.choice(["prometheus", "prometheus", "fake-with-history"]), "k_value": draw.choice([.5, 1, 3]),
                      "window_size": draw.choice(["20s", "60s", "300s"]), "half_life_period": draw.choice(["0s", "10s", "60s"]),
                      "fetch_interval": draw.choice(["1s", "7s", "60s"]), "query_resolution": draw.choice(["1s", "5s"])}
        some = {"default_reclaim_min_runtime": f"{self.length(60)}s", "default_preempt_min_runtime": f"{self.length(60)}s",
                "reclaim_resolve_method": "queue", "strict_v017": draw.choice(["true", "false"]),
                "default_staleness_grace": draw.choice(["0s", "0s", "7s"]), "gpu_strategy": "spread",
                "use_scheduling_signatures": "false", "max_consolidation_preemptees": draw.choice([-1, 0, 2]),
                "allow_consolidating_reclaim": "false", "full_hierarchy_fairness": "false"}
        params.update({name: value for name, value in some.items() if self.chance(.25)})
        return ", ".join(f"{name}: {value}" for name, value in params.items())

    def events(self):
        draw, most, events = self.draw, self.nodes * self.gpus, []
        for _ in range(draw.randint(1, 5) if self.has["events"] else 0):
            at, node = draw.randint(5, SPAN), f"{self.node}{draw.randint(1, self.nodes):04d}"
            key = draw.choice(["quota", "quota", "weight", "limit"])
            events.append(draw.choice([f"{{at: {at}s, set: {{queues.{draw.choice(self.leaves)}.gpu.{key}: {draw.randint(1, most)}}}}}",
                                       f"{{at: {at}s, maintain: {node}, for: {self.length(90)}s}}",
                                       f"{{at: {at}s, fail: {node}, for: {self.length(90)}s}}"]))
        return ", ".join(events)

    def service(self, number):
        draw = self.draw
        with open(f"rate{number}.csv", "w", encoding="utf-8") as file:
            file.write("time_s,rate\n" + "".join(f"{at},{draw.uniform(.2, 4):.2f}\n" for at in range(0, HORIZON, 30)))
        least = draw.randint(0, 2)
        return (f"- {{name: s{number}, kind: inference, queue: {draw.choice(self.leaves)}, service: {{gpus_per_pod: {draw.choice([1, 2])}, "
                f"replicas: {least}..{least + draw.randint(1, 3)}, rate: rate{number}.csv, service_time: 1s, scale_interval: 15s, "
                f"scale_down_window: {draw.choice(['0s', '40s'])}}}}}")

    def write(self):
        draw = self.draw
        with open("jobs.csv", "w", encoding="utf-8") as file:
            rows = [self.job(number) for number in range(draw.randint(6, 30))]
            file.write("".join(",".join(map(str, cells)) + "\n" for cells in [COLUMNS, *(row.values() for row in rows)]))
        failures = f", failures: {{mtbf: {draw.choice(['5m', '20m'])}, repair: {{median: {draw.choice(['20s', '90s'])}}}}}" if self.has["failures"] else ""
        mig = ", m: {nodes: 1, gpus: 2, cpu: 96, mig: {1g.5gb: 7, 2g.10gb: 3}}" if self.has["mig"] else ""
        lines = [f"cluster: {{pools: {{p: {{nodes: {self.nodes}, gpus: {self.gpus}, cpu: 96, rack_size: 2}}{mig}}}{failures}}}",
                 f"horizon: {HORIZON}s", f"execution: {{grace: {draw.choice(['0s', '0s', '4s'])}}}",
                 f"policy: {{name: kai, params: {{{self.params()}}}}}", f"events: [{self.events()}]",
                 "templates:", *(f"  {name}: {{{text}}}" for name, text in TEMPLATES.items()),
                 "queues:", *self.queues(), "  each_second: {gpu: [0, 0, unlimited]}",
                 "workload:", "- {name: t, trace: jobs.csv}",
                 *(self.service(number) for number in range(draw.randint(1, 2) if self.has["services"] else 0))]
        lines = [line for line in lines if line != "events: []"]
        for name, seconds in (("run", 1), ("seconds", HORIZON)):  # one in both: names of jobs begin with their parts
            with open(f"{name}.yaml", "w", encoding="utf-8") as file:
                file.write("\n".join([*lines, f"- {{name: each_second, trace: {name}.csv}}"]) + "\n")
            with open(f"{name}.csv", "w", encoding="utf-8") as file:
                file.write("job,submit_s,run_s,gpus_per_pod,queue,priority,preemptible\n")
                file.write("".join(f"{at},{at},0,0,each_second,125,false\n" for at in range(seconds)))


def outcome(orrery, name):
    """attempts, evictions and places of all jobs but those of each second"""
    run = subprocess.run([orrery, "run", f"{name}.yaml", "-o", f"{name}.db", "--force", "--quiet", "--check-books", "--allow-loss"],
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        return {"end": [(name, run.returncode, run.stderr)], "evictions": []}
    db = sqlite3.connect(f"{name}.db")
    rows = {what: sorted(db.execute(query), key=str) for what, query in {
        "attempts": "SELECT j.name, a.start_ms, a.end_ms, a.cause FROM v_attempts AS a JOIN job AS j ON j.id = a.job",
        "evictions": "SELECT j.name, e.at_ms, e.cause, e.pods, e.whole, f.name FROM eviction AS e JOIN job AS j ON j.id = e.job LEFT JOIN job AS "
                     "f ON f.id = e.for_job",
        "places": "SELECT j.name, p.start_ms, p.end_ms, p.node, p.pods FROM v_placements AS p JOIN job AS j ON j.id = p.job"}.items()}
    db.close()
    return {what: [row for row in these if not row[0].startswith("each_second/")] for what, these in rows.items()}


def differs(orrery, seed):
    World(seed).write()
    ours, theirs = outcome(orrery, "run"), outcome(orrery, "seconds")
    for what in [*ours, *theirs]:
        if what not in ours or what not in theirs or what == "end":
            print(f"seed {seed}: {ours.get('end', '')}{theirs.get('end', '')}")
            return True, 0
        if ours[what] != theirs[what]:
            print(f"seed {seed}: {what} of the run alone: {sorted(set(ours[what]) - set(theirs[what]), key=str)[:4]}; "
                  f"with a cycle each second: {sorted(set(theirs[what]) - set(ours[what]), key=str)[:4]}", flush=True)
            return True, 0
    return False, len(ours["evictions"])


def main():
    orrery, first, count, keep = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), os.environ.get("KEEP")
    failed = evictions = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            different, some = differs(orrery, seed)
            failed, evictions = failed + different, evictions + some
            if different and keep:
                shutil.copytree(folder, os.path.join(keep, f"seed-{seed}"), dirs_exist_ok=True)
            os.chdir("/")
    print(f"{count - failed} of {count} worlds decide as with a cycle each second, with {evictions} evictions")
    sys.exit(0 if failed == 0 and evictions > 0 else 1)


main()
