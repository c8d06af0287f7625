/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared GPUs: which devices of a node can take one more task, and which it gets. */
#include "place_int.h"

#include <orrery/base/sort.h>

bool orr_place__shared_matches(const struct orr_snode *node, const struct orr_shared_gpu *gpu,
                               int64_t need)
{
    /* A device whose whole allocation is being released is a whole device again. */
    return gpu->used != 0 && gpu->allocated != gpu->releasing &&
           node->gpu_memory_mib - gpu->allocated + gpu->releasing - need >= 0;
}

/* Devices in use that can take the task, counted up to `most` as KAI does
 * (fractionTaskGpusAllocatableDeviceCount): where the books have fewer than no whole devices, more
 * of them do not help. */
static int64_t matching(const struct orr_snode *node, int64_t need, int64_t most)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < node->shared_count && count < most; i++) {
        count += orr_place__shared_matches(node, &node->shared[i], need);
    }
    return count;
}

static int64_t floor_devices(int64_t mgpu)
{
    return mgpu >= 0 ? mgpu / ORR_MGPU : -((-mgpu + ORR_MGPU - 1) / ORR_MGPU);
}

bool orr_place__shared_fits(const struct orr_session *session, const struct orr_ask *ask,
                            const struct orr_snode *node, bool idle_only)
{
    /* KAI takes a request for exactly 2, 3, ... devices' memory for one of each; here nothing may
     * hold more than there is. */
    if (ask->devices > ORR_SHARED_DEVICES_MAX ||
        orr_session_shared_need(ask, node) > node->gpu_memory_mib) {
        return false;
    }
    for (uint32_t s = 0; s < session->slot_count; s++) {
        int64_t room = node->idle.v[s] + (idle_only ? 0 : node->releasing.v[s]);
        if (s != ORR_SLOT_GPU && ask->request.v[s] > room) {
            return false;
        }
    }
    int64_t whole = node->idle.v[ORR_SLOT_GPU] + (idle_only ? 0 : node->releasing.v[ORR_SLOT_GPU]);
    const int64_t devices = ask->devices;
    return floor_devices(whole) + matching(node, orr_session_shared_need(ask, node), devices) >=
           devices;
}

struct candidate {
    double score;
    uint32_t id; /* ORR_NONE: a whole device */
    bool pipeline;
};

static int by_device_order(const void *a, const void *b, void *context)
{
    const struct candidate *l = a;
    const struct candidate *r = b;
    (void)context;
    if (l->score > r->score || l->score < r->score) {
        return l->score > r->score ? -1 : 1;
    }
    return (l->id > r->id) - (l->id < r->id);
}

static double device_score(const struct orr_session *session, int64_t used, int64_t total)
{
    const double part = (double)used / (double)total;
    switch ((enum orr_device_order)session->rules.device_order) {
    case ORR_DEVICES_PACK: return part;
    case ORR_DEVICES_SPREAD: return 1 - part;
    case ORR_DEVICES_UNORDERED: break;
    }
    return 0;
}

static int64_t count_markers(const struct orr_snode *node)
{
    const int64_t markers =
        node->idle.v[ORR_SLOT_GPU] / ORR_MGPU + node->releasing.v[ORR_SLOT_GPU] / ORR_MGPU;
    return markers > 0 ? markers : 0;
}

/* Devices in use that have room, and whole ones, the best first. To be freed. */
static struct candidate *list_candidates(const struct orr_session *session,
                                         const struct orr_ask *ask, const struct orr_snode *node,
                                         uint32_t *count)
{
    const int64_t need = orr_session_shared_need(ask, node);
    const bool on_idle = orr_place__shared_fits(session, ask, node, true);
    const int64_t markers = count_markers(node);
    struct candidate *list = orr_alloc(node->shared_count + (size_t)markers + 1, sizeof *list);
    *count = 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        if (orr_place__shared_matches(node, gpu, need)) {
            list[(*count)++] =
                (struct candidate){.score = device_score(session, gpu->used, node->gpu_memory_mib),
                                   .id = gpu->id,
                                   .pipeline = node->gpu_memory_mib - gpu->allocated < need ||
                                               !gpu->was_allocated || !on_idle};
        }
    }
    for (int64_t i = 0; i < markers; i++) {
        list[(*count)++] = (struct candidate){
            .score = device_score(session, 0, 1), .id = ORR_NONE, .pipeline = !on_idle};
    }
    orr_sort(list, *count, sizeof *list, by_device_order, NULL);
    return list;
}

bool orr_place__choose_devices(struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node, bool pipeline_only,
                               struct orr_device_choice *choice)
{
    uint32_t count;
    struct candidate *list = list_candidates(session, ask, node, &count);
    choice->pipeline = pipeline_only;
    int64_t fresh = 0;
    for (uint32_t i = 0; i < ask->devices && i < count; i++) {
        const bool is_fresh = list[i].id == ORR_NONE;
        fresh += is_fresh;
        choice->groups[i] = is_fresh ? session->next_gpu_group++ : list[i].id;
        /* KAI asks only whether the task fits on what is idle somehow; spread over devices it may
         * then open one that is still being released. */
        choice->pipeline =
            choice->pipeline || list[i].pipeline ||
            (is_fresh && session->v017 == NULL && fresh > node->idle.v[ORR_SLOT_GPU] / ORR_MGPU);
    }
    orr_free(list);
    return count >= ask->devices;
}

uint32_t orr_place__opened_devices(const struct orr_session *session, const struct orr_ask *ask,
                                   const struct orr_snode *node)
{
    uint32_t count, opened = 0;
    struct candidate *list = list_candidates(session, ask, node, &count);
    for (uint32_t i = 0; i < ask->devices && i < count; i++) {
        opened += list[i].id == ORR_NONE;
    }
    orr_free(list);
    return opened;
}

bool orr_place__joins_numbered(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node)
{
    if (session->numbered_gpu_groups == 0) {
        return false;
    }
    uint32_t count;
    struct candidate *list = list_candidates(session, ask, node, &count);
    bool joins = count >= ask->devices;
    for (uint32_t i = 0; joins && i < ask->devices; i++) {
        joins = list[i].id < session->numbered_gpu_groups; /* ORR_NONE is not */
    }
    orr_free(list);
    return joins;
}
