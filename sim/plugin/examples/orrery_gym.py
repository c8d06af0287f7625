# SPDX-License-Identifier: GPL-3.0-or-later
"""A Gymnasium environment over a run: train a scheduler on any scenario.

    env = OrreryEnv("scenario.yaml", window=8)
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(action)

Observation: the share of GPUs that are idle, then for each of the first `window` waiting jobs, in
order of submit, its GPUs as a share of the cluster's, log10 of its work in s (over 6) and log10 of
its wait (over 6); zeros where there is no job. Action i < window starts job i of those; action `window`, a job
that is not there and one without room (info["refused"]) let time pass, `tick_s` at most. Reward: minus the jobs that
waited, in job-hours, since the last step. Where gymnasium is not installed the class works
alone; observations are arrays of numpy (float32) where that is installed, else lists.
"""
import json
import math
import os
import random
import shutil
import subprocess
import tempfile

try:
    import numpy
except ImportError:
    numpy = None

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete

    Base = gymnasium.Env
except ImportError:
    Base = object

    class Box:
        def __init__(self, low, high, shape):
            self.low, self.high, self.shape = low, high, shape

    class Discrete:
        def __init__(self, n):
            self.n = n

        def sample(self):
            return random.randrange(self.n)


def counted(devices, instances):
    """GPUs of a node: its devices, and MIG instances by their g (3 of a 3g.20gb)"""
    return devices + sum(int(profile.split("g")[0]) * n for profile, n in (instances or {}).items())


class OrreryEnv(Base):
    metadata = {"render_modes": []}

    def __init__(self, scenario, window=8, orrery="orrery", options=(), tick_s=600.0):
        self.command = [orrery, "run", scenario, *options, "--no-progress", "-q"]
        self.window, self.tick_s, self.run, self.folder = window, tick_s, None, None
        self.observation_space = Box(0.0, 1.0, (1 + 3 * window,))
        self.action_space = Discrete(window + 1)

    def reset(self, *, seed=None, options=None):
        if Base is not object:
            super().reset(seed=seed)
        self.close()
        self.told, self.said = None, None
        self.folder = tempfile.mkdtemp(prefix="orrery-gym-")
        told, said = os.path.join(self.folder, "told"), os.path.join(self.folder, "said")
        os.mkfifo(told)
        os.mkfifo(said)
        seeds = [] if seed is None else [f"--seed={seed}"]
        child = f"exec:cat '{said}' & exec cat >'{told}'"  # the run starts it; we are at the other ends
        self.run = subprocess.Popen(
            self.command + seeds + ["--policy", child, "-o", os.path.join(self.folder, "run.db")],
            stderr=subprocess.PIPE, text=True,
            env={"ORRERY_POLICY_TIMEOUT": "86400", **os.environ})  # an agent learns between its steps
        # The child's shell opens both at once; a run that fails before it does never would.
        self.told, self.said = self._open(told, os.O_RDONLY), self._open(said, os.O_WRONLY)
        self.jobs, self.waiting, self.idle, self.now = {}, [], {}, None
        self._read()  # hello
        self._say({"protocol": 1, "name": "gym", "heeds": ["work"]})
        world = self._read()
        if world is None:
            raise RuntimeError(self._end()[1])
        self.idle = {n["node"]: counted(n["idle_gpus"], n.get("idle_mig")) for n in world["nodes"]}
        self.gpus = sum(counted(n["gpus"], n.get("mig")) for n in world["nodes"]) or 1
        self._cycle()
        return self._observe(), {}

    def step(self, action):
        reward, over, refused = 0.0, False, False
        if action < self.window and action < len(self.waiting):
            self._say({"place": self.waiting[action]})
            refused = not self._read()["ok"]
        if refused or action >= min(self.window, len(self.waiting)):
            self._say({"end": True, "wake_s": self.now + self.tick_s} if self.waiting else {"end": True})
            reward, over = self._cycle()
        else:
            self.taken += self.jobs[self.waiting.pop(action)]["gpus"]
        info = {"now_s": self.now, "waiting": len(self.waiting), "refused": refused}
        return self._observe(), reward, over, False, info

    def close(self):
        if self.run is not None:
            self._end()

    def _end(self):
        """Hangs up, waits for the run and removes its folder; -> (exit code, what it wrote to stderr)"""
        run, self.run = self.run, None
        for end in (self.said, self.told):
            try:
                if end is not None:
                    end.close()
            except OSError:  # the run is gone and did not read it all
                pass
        errors = run.communicate()[1]
        shutil.rmtree(self.folder, ignore_errors=True)
        return run.returncode, errors

    def _open(self, path, flags):
        while True:
            try:
                end = os.open(path, os.O_RDONLY | os.O_NONBLOCK if flags == os.O_RDONLY else flags | os.O_NONBLOCK)
                os.set_blocking(end, True)
                return os.fdopen(end, "r" if flags == os.O_RDONLY else "w")
            except OSError:  # nobody reads it yet
                if self.run.poll() is not None:
                    raise RuntimeError(self._end()[1]) from None

    def _say(self, message):
        self.said.write(json.dumps(message) + "\n")
        self.said.flush()

    def _read(self):
        line = self.told.readline()
        while not line and self.run.poll() is None and self.now is None:
            line = self.told.readline()  # the other end is not open yet
        return json.loads(line) if line else None

    def _cycle(self):
        """Reads until a cycle in which jobs wait; -> (reward, is the run over?)"""
        reward = 0.0
        while True:
            message = self._read()
            if message is None:
                code, errors = self._end()
                if code not in (0, 1):  # 1: the run is whole, an expectation of the scenario is false
                    raise RuntimeError(errors)
                return reward, True
            if self.now is not None:
                reward -= len(self.waiting) * (message["now_s"] - self.now) / 3600.0
            self.now, self.taken = message["now_s"], 0  # GPUs of jobs that were started since
            for node in message["nodes"]:
                self.idle[node["node"]] = counted(node["idle_gpus"], node.get("idle_mig"))
            for event in message["events"]:
                job = event["job"]
                if event["event"] == "submitted":
                    self.jobs[job] = event
                if event["event"] in ("submitted", "requeued"):
                    self.waiting.append(job)
                elif event["event"] == "ended" and job in self.waiting:
                    self.waiting.remove(job)
            if self.waiting:
                return reward, False
            self._say({"end": True})

    def _observe(self):
        row = [max(0.0, sum(self.idle.values()) - self.taken) / self.gpus]
        for job in (self.waiting + [None] * self.window)[:self.window]:
            spec = self.jobs.get(job)
            row += [0.0, 0.0, 0.0] if spec is None else [
                min(1.0, spec["gpus"] / self.gpus),
                min(1.0, math.log10(1.0 + (spec["work_s"] or 0.0)) / 6.0),
                min(1.0, math.log10(1.0 + max(0.0, self.now - spec["submit_s"])) / 6.0)]
        return row if numpy is None else numpy.array(row, dtype=numpy.float32)
