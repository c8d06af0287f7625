# SPDX-License-Identifier: GPL-3.0-or-later
"""learn.py ORRERY SCENARIO: a policy-gradient learner on the environment of orrery_gym beats random order.

REINFORCE: the chance of each waiting job that could fit is a softmax of three weighted features (GPUs, work, wait); after a batch of
episodes of one seed the weights go the way that its better episodes chose more often. Judged by the job-hours waited on seeds that
it never saw. Prints both; ends with 1 unless it saves a fifth of them.
"""
import math
import random
import sys

from orrery_gym import OrreryEnv

BATCHES, EPISODES, RATE, WINDOW = 24, 6, 6.0, 24
TRAINING, UNSEEN = range(1, 9), range(101, 107)


def features(observation, job):
    return observation[1 + 3 * job:4 + 3 * job]


def choose(weights, observation, waiting, draw):
    """-> (action, what the weights' gradient of its log-chance is)"""
    free = observation[0] + 1e-9
    jobs = [j for j in range(min(WINDOW, waiting)) if features(observation, j)[0] <= free]
    if not jobs:
        return WINDOW, None
    scores = [sum(w * f for w, f in zip(weights, features(observation, j))) for j in jobs]
    top = max(scores)
    chances = [math.exp(s - top) for s in scores]
    total = sum(chances)
    chances = [c / total for c in chances]
    job = draw.choices(jobs, chances)[0]
    mean = [sum(c * features(observation, j)[k] for c, j in zip(chances, jobs)) for k in range(3)]
    return job, [f - m for f, m in zip(features(observation, job), mean)]


def episode(env, weights, seed, draw):
    """-> (return, sum of gradients)"""
    observation, _ = env.reset(seed=seed)
    gain, gradient, waiting, over = 0.0, [0.0] * 3, len(env.waiting), False
    while not over:
        action, step = choose(weights, observation, waiting, draw)
        observation, reward, over, _, info = env.step(action)
        gain += reward
        if step is not None:
            gradient = [g + s for g, s in zip(gradient, step)]
        waiting = info["waiting"]
    return gain, gradient


def waited(env, weights, draw):
    return -sum(episode(env, weights, seed, draw)[0] for seed in UNSEEN)


def main():
    draw = random.Random(1)
    env = OrreryEnv(sys.argv[2], window=WINDOW, orrery=sys.argv[1], tick_s=1e9)
    weights = [0.0] * 3
    at_random = waited(env, weights, draw)
    for batch in range(BATCHES):
        seed = TRAINING[batch % len(TRAINING)]
        runs = [episode(env, weights, seed, draw) for _ in range(EPISODES)]
        mean = sum(gain for gain, _ in runs) / EPISODES
        spread = math.sqrt(sum((gain - mean) ** 2 for gain, _ in runs) / EPISODES) or 1.0
        for k in range(3):
            weights[k] += RATE * sum((gain - mean) / spread * gradient[k] for gain, gradient in runs) / EPISODES
    learned = waited(env, weights, draw)
    env.close()
    print(f"random order {at_random:.1f} job-hours waited, learned {learned:.1f}; weights of GPUs, work, wait: "
          + ", ".join(f"{w:.2f}" for w in weights))
    sys.exit(0 if learned < 0.8 * at_random else 1)


main()
