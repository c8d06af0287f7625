/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared GPUs: which devices of a node can take one more task, and which it gets. */
#include "place_int.h"

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

struct orr_fitting orr_place__fitting(const struct orr_session *session, const struct orr_ask *ask,
                                      const struct orr_snode *node)
{
    const bool shared = orr_ask_is_shared(ask);
    struct orr_fitting fitting = {.at_all = true, .at_once = true};
    for (uint32_t s = 0; s < session->slot_count; s++) {
        const int64_t asked = shared && s == ORR_SLOT_GPU ? INT64_MIN : ask->request.v[s];
        fitting.at_once = fitting.at_once && asked <= node->idle.v[s];
        fitting.at_all = fitting.at_all && asked <= node->idle.v[s] + node->releasing.v[s];
    }
    if (shared) {
        const int64_t need = orr_session_shared_need(ask, node), devices = ask->devices;
        const int64_t idle = node->idle.v[ORR_SLOT_GPU];
        const int64_t whole = idle + node->releasing.v[ORR_SLOT_GPU];
        /* KAI takes a request for exactly 2, 3, ... devices' memory for one of each; here nothing
         * may hold more than there is. */
        const bool may = devices <= ORR_SHARED_DEVICES_MAX && need <= node->gpu_memory_mib;
        fitting.joined = may ? matching(node, need, devices) : 0;
        fitting.at_once = fitting.at_once && may && floor_devices(idle) + fitting.joined >= devices;
        fitting.at_all = fitting.at_all && may && floor_devices(whole) + fitting.joined >= devices;
    }
    return fitting;
}

struct candidate { /* a device in use that has room, or a whole one */
    int64_t order; /* the smallest first */
    uint32_t id;   /* ORR_NONE: a whole device */
    const struct orr_shared_gpu *gpu;
};

static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    return a->order != b->order ? a->order < b->order : a->id < b->id;
}

/* KAI scores the part that is used. All devices of a node have as much memory. */
static int64_t order_of(const struct orr_session *session, int64_t used)
{
    switch ((enum orr_device_order)session->rules.device_order) {
    case ORR_DEVICES_PACK: return -used;
    case ORR_DEVICES_SPREAD: return used;
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

struct choosing { /* among the devices of a node, the best first */
    const struct orr_session *session;
    const struct orr_snode *node;
    int64_t need, markers; /* whole devices that were not chosen yet */
    bool any;              /* one was chosen: */
    struct candidate last;
};

static struct choosing start_choosing(const struct orr_session *session, const struct orr_ask *ask,
                                      const struct orr_snode *node)
{
    return (struct choosing){.session = session,
                             .node = node,
                             .need = orr_session_shared_need(ask, node),
                             .markers = count_markers(node)};
}

/* False: there is none left. */
static bool choose_next(struct choosing *choosing)
{
    const struct orr_snode *node = choosing->node;
    const struct candidate whole = {.order = order_of(choosing->session, 0), .id = ORR_NONE};
    struct candidate best = whole;
    bool found = choosing->markers > 0;
    for (uint32_t i = 0; i < node->shared_count; i++) {
        const struct orr_shared_gpu *gpu = &node->shared[i];
        const struct candidate one = {
            .order = order_of(choosing->session, gpu->used), .id = gpu->id, .gpu = gpu};
        if (orr_place__shared_matches(node, gpu, choosing->need) &&
            (!choosing->any || goes_before(&choosing->last, &one)) &&
            (!found || goes_before(&one, &best))) {
            best = one;
            found = true;
        }
    }
    choosing->markers -= found && best.gpu == NULL;
    choosing->any = true;
    choosing->last = best;
    return found;
}

bool orr_place__choose_devices(struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node, struct orr_device_choice *choice)
{
    struct choosing choosing = start_choosing(session, ask, node);
    int64_t fresh = 0;
    uint32_t count = 0;
    for (; count < ask->devices && choose_next(&choosing); count++) {
        const struct orr_shared_gpu *gpu = choosing.last.gpu;
        fresh += gpu == NULL;
        choice->groups[count] = gpu == NULL ? session->next_gpu_group++ : gpu->id;
        /* KAI asks only whether the task fits on what is idle somehow; spread over devices it may
         * then open one that is still being released. */
        choice->pipeline =
            choice->pipeline ||
            (gpu != NULL
                 ? node->gpu_memory_mib - gpu->allocated < choosing.need || !gpu->was_allocated
                 : session->v017 == NULL && fresh > node->idle.v[ORR_SLOT_GPU] / ORR_MGPU);
    }
    return count == ask->devices;
}

uint32_t orr_place__opened_devices(const struct orr_session *session, const struct orr_ask *ask,
                                   const struct orr_snode *node)
{
    struct choosing choosing = start_choosing(session, ask, node);
    uint32_t opened = 0;
    for (uint32_t i = 0; i < ask->devices && choose_next(&choosing); i++) {
        opened += choosing.last.gpu == NULL;
    }
    return opened;
}

bool orr_place__joins_numbered(const struct orr_session *session, const struct orr_ask *ask,
                               const struct orr_snode *node)
{
    struct choosing choosing = start_choosing(session, ask, node);
    bool joins = session->numbered_gpu_groups > 0;
    for (uint32_t i = 0; joins && i < ask->devices; i++) {
        joins = choose_next(&choosing) && choosing.last.gpu != NULL &&
                choosing.last.id < session->numbered_gpu_groups;
    }
    return joins;
}
