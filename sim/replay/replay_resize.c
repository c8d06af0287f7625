/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_resize.c - pods whose number of GPUs changes while they run.
 *
 * Such a pod is a set of tasks of one GPU each that stay on one node: its gang is the least that
 * the pod runs with, and it grows and shrinks by tasks as any elastic part of a job does. CPU and
 * memory go with the GPUs, in equal parts. */
#include "replay_int.h"

#include <string.h>

bool orr_replay__resizes(const struct orr_scenario *scenario, uint32_t shard)
{
    bool resizes = false;
    if (shard < scenario->shard_count && strcmp(scenario->shards[shard].policy, "kai") == 0) {
        const struct orr_scenario_shard *own = &scenario->shards[shard];
        for (uint32_t p = 0; p < own->param_count; p++) {
            resizes = strcmp(own->params[p].name, "resize_pods") == 0
                          ? strcmp(own->params[p].value, "true") == 0
                          : resizes;
        }
    }
    return resizes;
}

/* Whole devices alone, more than `least` in some pod, and as many pods as a shape has sets for
 * beside the whole. */
static bool can_resize(const struct orr_replay_groups *groups, uint32_t least)
{
    uint32_t pods = 0, most = 0;
    bool can = groups->set_count == 0 && groups->min_tasks == 0;
    for (uint32_t g = 0; g < groups->count && can; g++) {
        const struct orr_task_group *group = &groups->items[g];
        can = group->request.gpu_ask == ORR_GPU_WHOLE && group->count < ORR_SETS_MAX - pods;
        pods += can ? group->count : 0;
        most = group->request.devices > most ? group->request.devices : most;
    }
    return can && most > least;
}

static struct orr_request one_gpu_of(struct orr_request request)
{
    request.cpu_milli /= request.devices;
    request.mem_bytes /= request.devices;
    request.devices = 1;
    return request;
}

void orr_replay__resize(struct orr_replay_groups *groups, uint32_t least, uint32_t node_level,
                        struct orr_span span)
{
    if (least == 0 || span.slice_size > 0 || !can_resize(groups, least)) {
        return;
    }
    struct orr_task_group pods[ORR_REPLAY_GROUPS];
    const uint32_t kinds = groups->count;
    memcpy(pods, groups->items, kinds * sizeof *pods);
    groups->count = 0;
    groups->sets[0] = (struct orr_task_set){.parent = ORR_NONE, .span = span};
    groups->set_count = 1;
    for (uint32_t k = 0; k < kinds; k++) {
        const uint32_t devices = pods[k].request.devices;
        for (uint32_t p = 0; p < pods[k].count; p++) {
            const uint32_t set = groups->set_count++;
            groups->sets[set] = (struct orr_task_set){.is_tasks = true,
                                                      .min = least < devices ? least : devices,
                                                      .span = {.required = node_level}};
            groups->roles[groups->count] = NULL;
            groups->items[groups->count++] = (struct orr_task_group){
                .request = one_gpu_of(pods[k].request), .count = devices, .set = set};
        }
    }
    groups->sets[0].min = groups->set_count - 1;
}
