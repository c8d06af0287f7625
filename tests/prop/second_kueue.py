# SPDX-License-Identifier: GPL-3.0-or-later
"""second_kueue.py ORRERY FROM COUNT: whole runs under policy kueue against a second program, job by job.

Draws small trees of cohorts with borrowing and lending limits and queues with strategies, preemption within the queue and in the cohort, borrowing with a priority
threshold, or fair sharing by one strategy or both, weights of 0 included; and jobs of several priorities, some of which start with fewer pods. Each world is run, and
computed here from Kueue's rules alone: quota is added up anew whenever it is asked for, a tournament and a search go over everybody, and all that takes time
is there: graces, the second between released quota and the next look, parking, who waits for its victims. Who ran from when to when with how many
pods, and who was evicted when for whom, must be equal. Ends with 1 if a world differs, whose seed and jobs are printed.
"""
import csv
import random
import sqlite3
import subprocess

import second

INF = float("inf")


class Node:
    """a queue, or a cohort, which owns quota beside its children"""

    def __init__(self, name, parent, nominal, borrow, lend, weight):
        self.name, self.parent, self.nominal, self.borrow, self.lend, self.weight = name, parent, nominal, borrow, lend, weight
        self.children, self.held = [], 0
        if parent is not None:
            parent.children.append(self)

    def up(self):
        return [] if self.parent is None else [self.parent] + self.parent.up()

    def root(self):
        return ([self] + self.up())[-1]

    def subtree(self):
        return self.nominal + sum(c.subtree() - c.local() for c in self.children)

    def local(self):
        return 0 if self.lend is None else max(0, self.subtree() - self.lend)

    def usage(self):
        return self.held + sum(max(0, c.usage() - c.local()) for c in self.children)

    def local_left(self):
        return max(0, self.local() - self.usage())

    def left(self):
        if self.parent is None:
            return self.subtree() - self.usage()
        above = self.parent.left()
        if self.borrow is not None:
            above = min(above, self.subtree() - self.local() - max(0, self.usage() - self.local()) + self.borrow)
        return self.local_left() + above

    def available(self):
        return max(0, self.left())

    def potential(self):
        if self.parent is None:
            return self.subtree()
        most = self.local() + self.parent.potential()
        return most if self.borrow is None else min(most, self.subtree() + self.borrow)

    def borrows_with(self, amount):
        return self.subtree() < self.usage() + amount

    def height(self):
        return max([1] + [1 + c.height() for c in self.children if c.children]) if self.children else 0

    def level(self, amount):
        """-> how far up the quota comes from, and whether a cohort above that could be reclaimed from"""
        if self.parent is None or not self.borrows_with(amount):
            return 0, self.parent is not None
        rest = amount - self.local_left()
        for a in self.up():
            if not a.borrows_with(rest):
                return a.height(), a.parent is not None
            rest -= a.local_left()
        return self.root().height(), False

    def share(self):
        """-> (is the weight 0 and something borrowed?, what is compared)"""
        if self.parent is None:
            return False, 0.0
        borrowed, lendable = max(0, self.usage() - self.subtree()), self.parent.potential()
        ratio = borrowed * 1000 / lendable if borrowed > 0 and lendable > 0 else 0.0
        if self.weight == 0 and ratio > 0:
            return True, ratio
        return False, ratio / self.weight if ratio > 0 else 0.0


class Queue(Node):
    def __init__(self, rules, *args):
        super().__init__(*args)
        self.rules, self.heap, self.parked, self.bulk, self.preemptor = rules, [], [], set(), None

    def order(self, job):
        return (not (self.preemptor is job and not self.rules["strict"]), -job.priority, job.submit, job.number)


class Job:
    def __init__(self, number, queue, row):
        self.number, self.queue, self.submit, self.run = number, queue, row["submit"], row["run"]
        self.pods, self.least, self.priority = row["pods"], row["least"], row["priority"]
        self.held, self.evicted, self.since, self.end, self.hash = 0, False, None, None, (row["priority"], row["pods"], row["least"])


class Entry:
    def __init__(self, job):
        self.job, self.mode, self.level, self.targets, self.pods, self.deed = job, None, 0, [], job.pods, None


class Cluster:
    def __init__(self, world):
        self.now, self.world, self.rows, self.evictions, self.wakes = -1, world, [], [], {}
        self.nodes = {}
        for name, is_in, own in world["tree"]:
            args = (name, self.nodes.get(is_in), own["nominal"], own["borrow"], own["lend"], own["weight"])
            self.nodes[name] = Queue(own["rules"], *args) if "rules" in own else Node(*args)
        self.queues = [n for n in self.nodes.values() if isinstance(n, Queue)]
        self.jobs = [Job(i, self.nodes[row["queue"]], row) for i, row in enumerate(world["jobs"])]
        self.fair = world["fair"] != "off"

    # --- preemption ---

    def satisfies(self, job, other, policy):
        return (policy == "Any" or (policy != "Never" and job.priority > other.priority) or
                (policy == "LowerOrNewerEqualPriority" and job.priority == other.priority and job.submit < other.submit))

    def order(self, job):
        return lambda x: (not x.evicted, x.queue is job.queue, x.priority, -x.reserved, x.number)

    def fits(self, job, amount, borrow):
        return (borrow or not job.queue.borrows_with(amount)) and amount <= job.queue.available()

    def take(self, job):
        job.queue.held -= job.held

    def put(self, job):
        job.queue.held += job.held

    def fill_back(self, job, amount, targets, borrow):
        for i in range(len(targets) - 2, -1, -1):
            self.put(targets[i])
            if self.fits(job, amount, borrow):
                targets[i] = targets[-1]
                targets.pop()
            else:
                self.take(targets[i])
        for target in targets:
            self.put(target)
        return targets

    def holders(self, queue):
        return [j for j in self.jobs if j.queue is queue and j.held and j not in self.hidden]

    def targets(self, job, amount):
        """whom to evict so that the job fits, in the order in which they are chosen; nobody: it cannot be made to"""
        return self.fair_targets(job, amount) if self.fair else self.classic(job, amount)

    def collect(self, job, node, done, lca, lists):
        for child in node.children:
            if child is done or child is job.queue or child.usage() <= child.subtree():
                continue
            if not isinstance(child, Queue):
                self.collect(job, child, done, lca, lists)
            else:
                lists += [(x, lca) for x in self.holders(child) if self.satisfies(job, x, job.queue.rules["reclaim"])]

    def classic(self, job, amount):
        queue, rules = job.queue, job.queue.rules
        own = [(x, None) for x in self.holders(queue) if self.satisfies(job, x, rules["within"])]
        near, far = [], []  # with and without the advantage that the cohort stays within its quota
        if queue.parent is not None and rules["reclaim"] != "Never":
            advantage, rest, done = queue.usage() + amount <= queue.subtree(), max(0, amount - queue.local_left()), queue
            for a in queue.up():
                self.collect(job, a, done, a, near if advantage else far)
                fit = a.usage() + rest <= a.subtree()
                rest, done, advantage = max(0, rest - a.local_left()), a, advantage or fit
        forbidden, under = rules["borrow"] == "Never", queue.usage() < queue.nominal
        first = [True] if not (near or far) or (forbidden and not under) else [False, True] if forbidden and not near else [True, False]
        key = self.order(job)
        lists = [[(x, lca, kind) for x, lca in sorted(some, key=lambda one: key(one[0]))]
                 for kind, some in (("near", near), ("far", far), ("own", own))]
        line = [c for some in lists for c in some if c[0].evicted] + [c for some in lists for c in some if not c[0].evicted]
        for borrow in first:
            chosen = []
            for x, lca, kind in line:
                if kind != "own" and not self.is_valid(job, x, lca, kind, borrow):
                    continue
                self.take(x)
                chosen.append(x)
                if self.fits(job, amount, borrow):
                    return self.fill_back(job, amount, chosen, borrow)
            for x in chosen:
                self.put(x)
        return []

    def is_valid(self, job, x, lca, kind, borrow):
        rules = job.queue.rules
        without = kind == "far" and (rules["borrow"] == "Never" or x.priority >= job.priority or
                                     (rules["threshold"] is not None and x.priority > rules["threshold"]))
        if borrow and without:
            return False
        way = [x.queue] + x.queue.up()
        return all(n.usage() > n.subtree() for n in way[:way.index(lca)])

    def next_queue(self, job, lines, pruned):
        """fair sharing: the queue that gives next"""
        root, own = job.queue.root(), [job.queue] + job.queue.up()
        if root is job.queue:
            return root if lines[root] else None
        key = self.order(job)
        while root not in pruned:
            node = root
            while not isinstance(node, Queue):
                best = {True: None, False: None}
                for child in node.children:
                    is_queue = isinstance(child, Queue)
                    if child in pruned:
                        continue
                    if (is_queue and not lines[child]) or (child.usage() <= child.subtree() and child not in own):
                        pruned.add(child)
                        continue
                    other = best[is_queue]
                    if (other is None or child.share() > other.share() or
                            (child.share() == other.share() and (not is_queue or key(lines[child][0]) < key(lines[other][0])))):
                        best[is_queue] = child
                queue, cohort = best[True], best[False]
                if queue is None and cohort is None:
                    pruned.add(node)
                    break
                node = cohort if queue is None or (cohort is not None and cohort.share() >= queue.share()) else queue
            else:
                return node
        return None

    def fair_targets(self, job, amount):
        queue, rules, key = job.queue, job.queue.rules, self.order(job)
        lines = {q: [] for q in self.queues}
        for q in self.queues:
            if q is queue or (q.root() is queue.root() and q.usage() > q.nominal):
                policy = rules["within"] if q is queue else rules["reclaim"]
                lines[q] = sorted([x for x in self.holders(q) if self.satisfies(job, x, policy)], key=key)
        if not any(lines.values()):
            return []
        queue.held += amount
        chosen, retry = [], {q: [] for q in self.queues}
        found = self.first_strategy(job, amount, lines, retry, chosen)
        if not found and self.world["fair"] == "default":
            found = self.second_strategy(job, amount, retry, chosen)
        queue.held -= amount
        if found:
            return self.fill_back(job, amount, chosen, True)
        for x in chosen:
            self.put(x)
        return []

    def below_meeting(self, queue, other):
        way = [queue] + queue.up()
        return next(n for n in way if n.parent in other.up())

    def gives(self, job, amount, x, chosen):
        """it goes; -> does the job fit now?"""
        chosen.append(x)
        job.queue.held -= amount
        fits = self.fits(job, amount, True)
        job.queue.held += amount
        return fits

    def first_strategy(self, job, amount, lines, retry, chosen):
        queue, pruned = job.queue, set()
        within = queue.usage() <= queue.nominal
        while (target := self.next_queue(job, lines, pruned)) is not None:
            if target is queue or within:
                x = lines[target].pop(0)
                self.take(x)
                if self.gives(job, amount, x, chosen):
                    return True
                continue
            ours, theirs = self.below_meeting(queue, target), self.below_meeting(target, queue)
            before = theirs.share()
            while lines[target]:
                x = lines[target].pop(0)
                if not (ours.share()[0] and not before[0]):
                    self.take(x)
                    if ours.share() < before if self.world["fair"] == "initial-share" else ours.share() <= theirs.share():
                        if self.gives(job, amount, x, chosen):
                            return True
                        break
                    self.put(x)
                retry[target].append(x)
        return False

    def second_strategy(self, job, amount, retry, chosen):
        pruned = set()
        while (target := self.next_queue(job, retry, pruned)) is not None:
            x = retry[target][0]
            retry[target] = []
            if self.below_meeting(job.queue, target).share() < self.below_meeting(target, job.queue).share():
                self.take(x)
                if self.gives(job, amount, x, chosen):
                    return True
        return False

    # --- a cycle ---

    def assign(self, entry, pods):
        """mode, level and targets for so many pods"""
        queue, rules, job = entry.job.queue, entry.job.queue.rules, entry.job
        if pods > queue.potential():
            return "no-fit", 0, []
        level, may_reclaim = queue.level(pods)
        if pods <= queue.available():
            return "fit", level, []
        while_borrowing = rules["borrow"] != "Never" or (self.fair and rules["reclaim"] != "Never")
        if queue.nominal < pods and not may_reclaim and not while_borrowing:
            return "no-fit", level, []
        targets = self.targets(job, pods)
        if targets:
            for x in targets:
                self.take(x)
            level = queue.level(pods)[0]
            for x in targets:
                self.put(x)
        return "preempt", level, targets

    def nominate(self, entry):
        job = entry.job
        entry.pods = job.pods
        entry.mode, entry.level, entry.targets = self.assign(entry, job.pods)
        if entry.mode == "fit" or entry.targets or job.least == job.pods:
            return
        spare = job.pods - job.least
        low, high, good = 0, spare + 1, None
        while low < high:
            middle = (low + high) // 2
            found = self.assign(entry, job.pods - middle) if middle <= spare else ("no-fit", 0, [])
            if found[0] == "fit" or found[2]:
                high, good = middle, (middle, found)
            else:
                low = middle + 1
        if good is not None and good[0] == low:
            entry.pods, (entry.mode, entry.level, entry.targets) = job.pods - low, good[1]

    def next_entry(self, entries):
        if not self.fair:
            return min(entries, key=lambda e: (e.level, -e.job.priority, e.job.submit, self.queues.index(e.job.queue)))
        first = min(entries, key=lambda e: self.queues.index(e.job.queue))
        by_queue, stands = {e.job.queue: e for e in entries}, {}
        if first.job.queue.parent is None:
            return first
        for e in entries:
            asks = 0 if e.mode == "no-fit" else e.pods
            e.job.queue.held += asks
            for n in [e.job.queue] + e.job.queue.up():
                stands[e, n] = (asks > 0 and n.usage() > n.subtree(), n.share())
            e.job.queue.held -= asks

        def winner(node):
            some = [winner(c) for c in node.children if not isinstance(c, Queue)]
            line = [(one, c) for one, c in zip(some, [c for c in node.children if not isinstance(c, Queue)])]
            line += [(by_queue.get(c), c) for c in node.children if isinstance(c, Queue)]
            line = [(*stands[e, c], -e.job.priority, e.job.submit, i, e) for i, (e, c) in enumerate(line) if e is not None]
            return min(line, key=lambda one: one[:5])[5] if line else None
        return winner(first.job.queue.root())

    def fits_with(self, entry, gone):
        for x in gone:
            self.take(x)
        fits = entry.pods <= entry.job.queue.available()
        for x in gone:
            self.put(x)
        return fits

    def process(self, entry, chosen):
        job, queue = entry.job, entry.job.queue
        if entry.mode != "no-fit" and any(x in chosen for x in entry.targets):
            for x in chosen:
                self.take(x)
            self.hidden = set(chosen)
            self.nominate(entry)
            self.hidden = set()
            for x in chosen:
                self.put(x)
            entry.mode = "deferred" if entry.mode == "fit" else entry.mode
        if entry.mode == "no-fit":
            entry.deed = "park"
        elif entry.mode == "preempt" and not entry.targets:
            entry.deed = "park"
            if queue.rules["reclaim"] != "Any":
                if entry.level > 0:
                    queue.held += entry.pods if queue.borrow is None else min(entry.pods, queue.nominal + queue.borrow - queue.usage())
                else:
                    queue.held += max(0, min(entry.pods, queue.nominal - queue.usage()))
        elif entry.mode == "deferred":
            queue.held += entry.pods
            entry.deed = "preempting"
        elif any(x in chosen for x in entry.targets) or not self.fits_with(entry, set(chosen) | set(entry.targets)):
            entry.deed = "skipped"
        else:
            chosen += entry.targets
            queue.held += entry.pods
            entry.deed = "preempting" if entry.mode == "preempt" else "admitted"

    def cycle(self):
        """-> was anybody admitted, evicted or parked?"""
        entries = []
        for queue in self.queues:
            if queue.heap:
                entries.append(Entry(min(queue.heap, key=queue.order)))
                queue.heap.remove(entries[-1].job)
        before, self.hidden, chosen, left = {q: q.held for q in self.queues}, set(), [], list(entries)
        for entry in entries:
            self.nominate(entry)
        while left:
            entry = self.next_entry(left)
            left.remove(entry)
            self.process(entry, chosen)
        for queue, held in before.items():
            queue.held = held
        acted = False
        for entry in entries:
            acted = self.settle(entry) or acted
        return acted

    def settle(self, entry):
        job, queue = entry.job, entry.job.queue
        if entry.deed == "admitted":
            job.held, job.since, job.reserved = entry.pods, self.now, self.now
            job.end = self.now + job.run
            queue.held += job.held
            queue.preemptor = None if queue.preemptor is job else queue.preemptor
            return True
        evicts = False
        if entry.deed == "preempting":
            queue.preemptor = job
            for x in entry.targets if entry.mode == "preempt" else []:
                if not x.evicted:
                    x.evicted, x.end, evicts = True, self.now + (self.world["grace"] if x.since < self.now else 1), True
                    if x.since < self.now:
                        self.evictions.append((x.number, self.now, job.number))
                    else:
                        x.since = None  # it has no pods yet
        if entry.deed in ("preempting", "skipped") or queue.rules["strict"]:
            queue.heap.append(job)
            return evicts
        alike = [j for j in queue.heap if j.hash == job.hash]
        queue.heap = [j for j in queue.heap if j.hash != job.hash]
        queue.parked += alike + [job]
        queue.bulk.add(job.hash)
        return True

    # --- time ---

    def queue_up(self, job):
        (job.queue.parked if job.hash in job.queue.bulk else job.queue.heap).append(job)

    def leave(self, job):
        if job.since is not None:
            self.rows.append((job.number, job.since, self.now, job.held))
        self.take(job)
        self.wakes.setdefault(job.queue.root(), self.now + 1)
        evicted, job.held, job.evicted, job.end = job.evicted, 0, False, None
        if evicted:
            self.queue_up(job)

    def run(self):
        while True:
            times = [j.end for j in self.jobs if j.end is not None] + [j.submit for j in self.jobs] + list(self.wakes.values())
            times = [t for t in times if t > self.now]
            if not times or min(times) > self.world["horizon"]:
                break
            self.now = min(times)
            gone = [j for j in self.jobs if j.end == self.now]
            for job in [j for j in gone if j.since is not None]:
                self.leave(job)
            for job in self.jobs:
                if job.submit == self.now:
                    self.queue_up(job)
            for root in [r for r, at in self.wakes.items() if at <= self.now]:
                del self.wakes[root]
                for queue in [q for q in self.queues if q.root() is root]:
                    queue.heap, queue.parked, queue.bulk = queue.heap + queue.parked, [], set()
            for job in [j for j in gone if j.since is None]:
                self.leave(job)
            while self.cycle():
                pass
        rows = self.rows + [(j.number, j.since, None, j.held) for j in self.jobs if j.held and j.since is not None]
        return sorted(rows, key=str), sorted(self.evictions)


# --- worlds ---

def draw_world(seed):
    draw = random.Random(seed)
    fair = draw.choice(["off", "off", "default", "final-share", "initial-share"])
    cohorts = draw.randint(1, 4)
    shape = draw.choice(["flat", "two", "chain"])
    tree, names = [], [f"c{i}" for i in range(cohorts)]

    def amounts(most):
        return {"nominal": draw.randint(0, most), "borrow": draw.randint(0, 6) if draw.random() < 0.3 else None,
                "lend": draw.randint(0, 6) if draw.random() < 0.3 else None, "weight": draw.choice([1, 1, 2, 3, 0])}
    for i, name in enumerate(names):
        parent = None if i == 0 or shape == "flat" else names[0] if shape == "two" else names[i - 1]
        tree.append((name, parent, amounts(4)))
    used = names[1:] if len(names) > 1 else names
    for i in range(draw.randint(max(2, len(names)), 6)):
        parent = names[-1 - i] if i < len(names) else draw.choice(names + [None])
        own = amounts(9)
        reclaim = draw.choice(["Never", "LowerPriority", "Any", "Any"])
        own["rules"] = {"strict": draw.random() < 0.25, "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]), "reclaim": reclaim,
                        "borrow": draw.choice(["Never", "LowerPriority"]) if reclaim != "Never" and fair == "off" else "Never",
                        "threshold": draw.choice([None, 0, 1, 2])}
        tree.append((f"q{i}", parent, own))
    queues = [name for name, _, own in tree if "rules" in own]
    jobs, at = [], 0
    for _ in range(draw.randint(10, 40)):
        at += draw.choice([0, 0, 1, 1, 2, 5, 20])
        pods = draw.choice([1, 1, 2, 3, 4, 6])
        jobs.append({"submit": at, "run": draw.randint(1, 12) * 12, "pods": pods, "least": draw.randint(1, pods) if draw.random() < 0.3 else pods,
                     "priority": draw.choice([0, 0, 1, 2, 3]), "queue": draw.choice(queues)})
    return {"tree": tree, "fair": fair, "jobs": jobs, "grace": draw.choice([1, 2, 7, 30]), "horizon": 2000}


def write_world(world):
    with open("trace.csv", "w", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow("job submit_s run_s pods min_pods gpus_per_pod priority queue".split())
        for i, j in enumerate(world["jobs"]):
            rows.writerow([i, j["submit"], j["run"], j["pods"], j["least"], 1, j["priority"], j["queue"]])

    def whole(name):  # a parent's quota includes its children's
        return next(own["nominal"] for n, _, own in world["tree"] if n == name) + sum(whole(n) for n, p, _ in world["tree"] if p == name)
    total = sum(whole(n) for n, p, _ in world["tree"] if p is None)
    with open("run.yaml", "w", encoding="utf-8") as file:
        file.write(f"cluster: {{pools: {{p: {{nodes: {total + 40}, gpus: 1}}}}}}\nqueues:\n")
        for name, parent, own in world["tree"]:
            limit = "unlimited" if own["borrow"] is None else whole(name) + own["borrow"]
            text = f"gpu: [{whole(name)}, {own['weight']}, {limit}]" + (f", parent: {parent}" if parent else "")
            text += "" if own["lend"] is None else f", lend: {own['lend']}"
            if "rules" in own:
                rules = own["rules"]
                text += f", strategy: {'StrictFIFO' if rules['strict'] else 'BestEffortFIFO'}, preemption: {{within: {rules['within']}, reclaim: {rules['reclaim']}"
                if rules["borrow"] != "Never":
                    text += f", borrow: {{policy: LowerPriority{'' if rules['threshold'] is None else ', max_priority: ' + str(rules['threshold'])}}}"
                text += "}"
            file.write(f"  {name}: {{{text}}}\n")
        file.write(f"execution: {{grace: {world['grace']}s}}\nhorizon: {world['horizon']}s\nworkload: [{{name: t, trace: trace.csv}}]\n"
                   f"policy: {{name: kueue, params: {{fair_sharing: {world['fair']}, cluster_cohort: false}}}}\n")


def read_run():
    db = sqlite3.connect("run.db")
    names = {job: int(name.split("/")[-1]) for job, name in db.execute("SELECT id, name FROM job")}
    rows = [(names[job], start // 1000, None if end is None else end // 1000, pods) for job, start, end, pods in
            db.execute("SELECT job, start_ms, end_ms, sum(pods) FROM v_placements GROUP BY job, nr, start_ms, end_ms")]
    evicted = [(names[j], at // 1000, names[by]) for j, at, by in db.execute("SELECT job, at_ms, for_job FROM eviction WHERE for_job IS NOT NULL")]
    db.close()
    return sorted(rows, key=str), sorted(evicted)


def evictions_if_equal(orrery, seed):
    world = draw_world(seed)
    write_world(world)
    done = subprocess.run([orrery, "run", "run.yaml", "-o", "run.db", "--force", "--no-progress", "--quiet", "--check-books", "--allow-loss"],
                          check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"seed {seed}: {done.stderr}")
        return None
    ours, theirs = Cluster(world).run(), read_run()
    if ours == theirs:
        return len(ours[1])
    print(f"seed {seed}: fair sharing {world['fair']}, grace {world['grace']}")
    for row in world["tree"] + [(i, j) for i, j in enumerate(world["jobs"])]:
        print("  ", row)
    second.print_differences(("runs", "evictions"), ours, theirs)
    return None


second.compare_worlds("kueue", evictions_if_equal)
