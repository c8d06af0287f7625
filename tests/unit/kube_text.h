/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube_text.h - Kubernetes objects as a test writes them. */
#ifndef ORR_TEST_KUBE_TEXT_H
#define ORR_TEST_KUBE_TEXT_H

#include "import_world.h"

#define LIST "apiVersion: v1\nkind: List\nitems:\n"
#define NODE(name, gpus)                                                                           \
    "- {kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: 8, memory: 64Gi, "     \
    "pods: 10, nvidia.com/gpu: " gpus "}}}\n"
#define QUEUE(name, gpu)                                                                           \
    "- {kind: Queue, apiVersion: scheduling.run.ai/v2, metadata: {name: " name "}, spec: "         \
    "{resources: {gpu: " gpu ", cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}}}}\n"
#define FREE "{quota: -1, limit: -1, overQuotaWeight: 1}"
#define GROUP(name, queue, rest)                                                                   \
    "- {kind: PodGroup, apiVersion: scheduling.run.ai/v2alpha2, metadata: {name: " name            \
    ", creationTimestamp: 2026-06-01T00:00:00Z}, spec: {queue: " queue rest "}}\n"
#define POD_META(name, group, more)                                                                \
    "- {kind: Pod, metadata: {name: " name ", namespace: ns, uid: " name "-uid, annotations: "     \
    "{pod-group-name: " group "}" more "}, "
#define GPUS(n)                                                                                    \
    "schedulerName: kai-scheduler, containers: [{resources: {requests: {nvidia.com/gpu: " n "}}}]"
#define POD(name, group, gpus) POD_META(name, group, "") "spec: {" GPUS(gpus) "}}\n"

#endif
