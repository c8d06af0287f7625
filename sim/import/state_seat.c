/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_seat.c - where the pods of a job are as the run begins: nodes and devices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/core/ledger.h>

#include "state_int.h"

#define NO_DEVICE 64u

/* Of other resources a run counts MIG instances alone. */
static bool is_counted(const struct import_model *model, uint32_t resource)
{
    return resource < model->resources.count && state_counts_profile(model, resource);
}

static bool fits(const struct writer *w, const struct place *place, const struct import_vec *asked)
{
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        const bool counts = r < IMPORT_EXTENDED || is_counted(w->model, r - IMPORT_EXTENDED);
        if (counts && r != IMPORT_GPU && asked->v[r] > 0 && asked->v[r] > place->left[r]) {
            return false;
        }
    }
    return true;
}

/* The device that is a shared group of the node, a fresh one for a name that has none. NO_DEVICE:
 * none is free. */
static unsigned device_of(struct writer *w, struct place *place, const char *node, const char *name)
{
    const char *key = import_format(w->load, "%s/%s", node, name);
    bool added;
    const uint32_t index = orr_idmap_put(&w->devices, key, strlen(key), &added);
    if (added) {
        w->device_of = ORR_ROOM_FOR_ONE(w->device_of, index, w->device_capacity);
        w->device_of[index] = NO_DEVICE;
    }
    if (w->device_of[index] == NO_DEVICE && place->devices != 0) {
        w->device_of[index] = (uint8_t)__builtin_ctzll(place->devices);
        place->devices &= place->devices - 1;
    }
    return w->device_of[index];
}

static struct orr_node_type type_of(const struct import_node *node)
{
    return (struct orr_node_type){.gpu_memory_mib = node->gpu_memory_mib};
}

/* What it takes of each of its devices there, as runs count it. */
static int64_t parts_of(const struct import_request *request, const struct import_node *node)
{
    const struct orr_node_type type = type_of(node);
    const bool memory = request->kind == ORR_ASK_MEMORY;
    const struct orr_request asked = {.gpu_ask = memory ? ORR_GPU_MEMORY : ORR_GPU_FRACTION,
                                      .devices = 1,
                                      .portion = memory ? request->memory_mib
                                                        : lround(request->portion * ORR_MGPU)};
    return orr_request_parts(&asked, &type);
}

/* Which devices of its node the pod has; false: there are not so many. */
static bool seat_devices(struct writer *w, const struct import_pod *pod, uint32_t n, uint64_t *mask)
{
    struct place *place = &w->places[n];
    const struct import_request *request = &pod->request;
    const bool shared = request->kind == ORR_ASK_FRACTION || request->kind == ORR_ASK_MEMORY;
    const uint32_t count = shared ? request->devices : (uint32_t)request->vec.v[IMPORT_GPU];
    *mask = 0;
    for (uint32_t d = 0; d < count; d++) {
        unsigned device =
            place->devices == 0 ? NO_DEVICE : (unsigned)__builtin_ctzll(place->devices);
        if (shared && d < pod->group_count) {
            device = device_of(w, place, pod->node, pod->groups[d]);
        } else {
            place->devices &= place->devices - (place->devices != 0);
        }
        if (device == NO_DEVICE) {
            return false;
        }
        *mask |= (uint64_t)1 << device;
        if (shared) {
            const struct orr_node_type type = type_of(&w->model->nodes[n]);
            place->left[IMPORT_PODS] -= place->parts[device] == 0; /* what reserves it in the run */
            place->parts[device] += parts_of(request, &w->model->nodes[n]);
            if (place->parts[device] > orr_device_parts(&type)) {
                return false;
            }
        }
    }
    return place->left[IMPORT_PODS] >= pod->request.vec.v[IMPORT_PODS];
}

static void put_seat(FILE *out, const char *node, uint64_t mask)
{
    (void)fprintf(out, "%s", node);
    const char *mark = ":";
    while (mask != 0) {
        const unsigned first = (unsigned)__builtin_ctzll(mask);
        unsigned last = first;
        while (last < 63 && (mask >> (last + 1) & 1) != 0) {
            last++;
        }
        (void)fprintf(out, last > first ? "%s%u-%u" : "%s%u", mark, first, last);
        mark = ",";
        mask &= last == 63 ? 0 : ~(((uint64_t)1 << (last + 1)) - 1);
    }
}

static bool may_be_on(const struct writer *w, const struct import_pod *pod,
                      const struct import_node *node)
{
    const bool gpu = pod->request.kind != ORR_ASK_NO_GPU;
    for (uint32_t r = IMPORT_EXTENDED; r < IMPORT_RESOURCES_MAX; r++) {
        if (pod->request.vec.v[r] > node->allocatable.v[r]) {
            return false;
        }
    }
    return (!w->model->restrict_nodes || (gpu ? node->gpu_worker : node->cpu_worker)) &&
           import_selects(pod->selector, node) && import_affinity_admits(pod->affinity, node) &&
           import_tolerates(pod->tolerations, node);
}

/* The places of the nodes that a job is seated on, as they were before it. */
struct places_before {
    struct place *places;
    uint32_t *nodes, count;
    uint8_t *device_of;
    uint32_t device_count;
};

static struct places_before remember(const struct writer *w, const struct job *job)
{
    struct places_before before = {.places =
                                       orr_alloc(job->pod_count + (size_t)1, sizeof *w->places),
                                   .nodes = orr_alloc(job->pod_count + (size_t)1, sizeof(uint32_t)),
                                   .device_of = orr_alloc(w->devices.count + (size_t)1, 1),
                                   .device_count = w->devices.count};
    if (w->devices.count > 0) {
        memcpy(before.device_of, w->device_of, w->devices.count);
    }
    for (uint32_t i = 0; i < job->pod_count; i++) {
        const uint32_t n = state_find_node(w, w->model->pods[job->pods[i]].node);
        bool known = n == ORR_NONE;
        for (uint32_t b = 0; b < before.count && !known; b++) {
            known = before.nodes[b] == n;
        }
        if (!known) {
            before.nodes[before.count] = n;
            before.places[before.count++] = w->places[n];
        }
    }
    return before;
}

/* A job that cannot be seated wholly gives back what it took, shared devices' names too. */
static void give_back(struct writer *w, const struct places_before *before)
{
    for (uint32_t b = 0; b < before->count; b++) {
        w->places[before->nodes[b]] = before->places[b];
    }
    for (uint32_t d = 0; d < w->devices.count; d++) {
        w->device_of[d] = d < before->device_count ? before->device_of[d] : NO_DEVICE;
    }
}

static bool seat_pod(struct writer *w, struct job *job, const struct import_pod *pod, FILE *out)
{
    const uint32_t n = state_find_node(w, pod->node);
    uint64_t mask = 0;
    if (n == ORR_NONE || w->model->nodes[n].allocatable.v[IMPORT_GPU] > 64 ||
        !fits(w, &w->places[n], &pod->request.vec) || !seat_devices(w, pod, n, &mask)) {
        return false;
    }
    for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
        w->places[n].left[r] -= pod->request.vec.v[r];
    }
    job->anywhere = job->anywhere || !may_be_on(w, pod, &w->model->nodes[n]);
    put_seat(out, pod->node, mask);
    return true;
}

/* Where its pods are, in the order of its asks; false: they cannot all be there, and none is. */
bool state_seat_job(struct writer *w, struct job *job)
{
    size_t bytes;
    FILE *out = open_memstream(&job->on, &bytes);
    bool good = true;
    ORR_ASSERT(out != NULL);
    struct places_before before = remember(w, job);
    for (uint32_t a = 0; a < job->ask_count; a++) {
        (void)fputs(a > 0 ? " | " : "", out);
        const char *blank = "";
        for (uint32_t i = 0; i < job->pod_count && good; i++) {
            const struct import_pod *pod = &w->model->pods[job->pods[i]];
            if (state_is_held(pod) && job->asks[a].first != ORR_NONE &&
                state_set_of(job->is, pod) == job->asks[a].set &&
                state_same_ask(pod, &w->model->pods[job->asks[a].first])) {
                (void)fputs(blank, out);
                good = seat_pod(w, job, pod, out);
                blank = " ";
            }
        }
    }
    (void)fclose(out);
    if (!good) {
        give_back(w, &before);
    }
    orr_free(before.places);
    orr_free(before.nodes);
    orr_free(before.device_of);
    return good;
}
