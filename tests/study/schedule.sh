#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery schedule` names what it leaves out, and says in words how searches ended.
#
#   schedule.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

# A cluster of the default scheduler, with the GPUs of another vendor beside: nothing is decided, and it says why.
cat >cluster.yaml <<'END'
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z"}, status: {allocatable: {cpu: "64", memory: 64Gi, pods: "100", nvidia.com/gpu: "8"}, conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Node, metadata: {name: b, creationTimestamp: "2026-01-01T00:00:00Z"}, status: {allocatable: {cpu: "64", memory: 64Gi, pods: "100", alibabacloud.com/gpu-count: "4"}, conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: x, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: "2"}, limits: {nvidia.com/gpu: "2"}}}]}, status: {phase: Pending}}
- {apiVersion: v1, kind: Pod, metadata: {name: q, namespace: x, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: "3"}, limits: {nvidia.com/gpu: "3"}}}]}, status: {phase: Pending}}
- {apiVersion: v1, kind: Pod, metadata: {name: r, namespace: x, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: a, containers: [{name: c, resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}]}, status: {phase: Running}}
- {apiVersion: v1, kind: Pod, metadata: {name: s, namespace: x, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}]}, status: {phase: Pending}}
END
"$orrery" schedule cluster.yaml >out 2>err || fail "schedule: $(cat err)"
grep -q 'note: 2 pods that wait for schedulerName "default-scheduler" are left out, with 5 GPUs' out || fail "$(cat out)"
grep -q 'note: 1 GPU more is held by 1 running pod of other schedulers' out || fail "what others hold: $(cat out)"
grep -q 'note: 1 pod that waits for schedulerName "volcano" is left out, with 1 GPU' out || fail "$(cat out)"
grep -q 'note: 4 of "alibabacloud.com/gpu-count" on 1 node are no GPUs here' out || fail "$(cat out)"

# What held each action back is said of that action.
"$orrery" schedule "$source/scenarios/snapshot/two-queues.yaml" >out
grep -q 'no node takes its pod: not enough GPUs on 2 of 2; it asks 1 GPU, 0 are left' out || fail "why it waits: $(cat out)"
grep -q "reclaim: not tried further: its queue's fair share (its quota, for what cannot be preempted) does not cover it" out || fail "why reclaim did not go on: $(cat out)"
grep -q 'consolidation: not tried further: fewer GPUs (or less of their memory) than it asks' out || fail "why consolidation did not go on: $(cat out)"
! grep -q 'gate' out || fail "a word of the code: $(grep gate out)"

printf 'scheduled\n'
