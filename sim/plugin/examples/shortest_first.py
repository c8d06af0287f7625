#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A policy of one's own: the shortest job first, whatever fits. The README beside has the protocol.

    orrery run S.yaml --policy 'exec:python3 shortest_first.py' --param by=estimate_s
"""
import json
import sys


def say(message):
    print(json.dumps(message), flush=True)


def ask(message):
    say(message)
    return json.loads(sys.stdin.readline())


hello = json.loads(sys.stdin.readline())
key = hello["params"].get("by", "work_s")
say({"protocol": 1, "name": "shortest-first", "heeds": ["work"]})

jobs, waiting = {}, set()
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] != "cycle":
        continue  # "open": the nodes and queues, of no interest here
    for event in message["events"]:
        if event["event"] == "submitted":
            jobs[event["job"]] = event
        if event["event"] in ("submitted", "requeued"):
            waiting.add(event["job"])
        elif event["event"] == "ended":
            waiting.discard(event["job"])
    for job in sorted(waiting, key=lambda j: (jobs[j][key], j)):
        answer = ask({"place": job})
        if answer["ok"]:
            waiting.discard(job)
        else:
            ask({"explain": job, "reason": answer["reason"]})
    say({"end": True})
