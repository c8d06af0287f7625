/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state_part.c - who has no part in a run: jobs that KAI leaves out, or that a run cannot hold.
 * What they have on nodes is foreign there, as are pods of other schedulers. */
#include <string.h>

#include "state_int.h"

/* Can a run hold jobs of its queue? */
static bool has_queue(const struct import_model *model, const struct import_job *job)
{
    bool leaf = orr_idmap_find(&model->queue_names, job->queue, strlen(job->queue)) != ORR_NONE;
    for (uint32_t q = 0; q < model->queue_count && leaf; q++) {
        leaf = strcmp(model->queues[q].parent, job->queue) != 0;
    }
    return leaf;
}

const char *state_profile_of(const struct import_model *model, uint32_t resource)
{
    const char *mig = strstr(orr_idmap_name(&model->resources, resource), "/mig-");
    return mig != NULL && orr_mig_gpus(mig + 5) > 0 ? mig + 5 : NULL;
}

bool state_counts_profile(const struct import_model *model, uint32_t resource)
{
    uint32_t before = 0;
    for (uint32_t r = 0; r < resource; r++) {
        before += state_profile_of(model, r) != NULL;
    }
    return before < ORR_MIG_PROFILES_MAX && state_profile_of(model, resource) != NULL;
}

const char *state_instances_of(struct writer *w, const struct import_pod *pod)
{
    for (uint32_t r = 0; r < w->model->resources.count; r++) {
        const int64_t count = pod->request.vec.v[IMPORT_EXTENDED + r];
        const char *profile = state_profile_of(w->model, r);
        if (count > 0 && profile != NULL) {
            return import_instances(w->load, profile, count);
        }
    }
    return NULL;
}

/* Pods of a run ask instances of one profile, up to 999 in a row. */
static bool asks_odd_instances(const struct import_model *model, const struct import_job *job)
{
    bool odd = false;
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        const struct import_request *request = &model->pods[p].request;
        uint32_t profiles = 0;
        for (uint32_t r = 0; r < model->resources.count; r++) {
            const char *name = orr_idmap_name(&model->resources, r);
            const int64_t count = request->vec.v[IMPORT_EXTENDED + r];
            const bool asks = count > 0 && strstr(name, "/mig-") != NULL;
            profiles += asks;
            odd = odd || (asks && (count > 999 || !state_counts_profile(model, r)));
        }
        odd = odd || profiles > 1;
    }
    return odd;
}

/* A run counts so many profiles of MIG, and so many instances of each on a node. */
void state_leave_out_instances(struct writer *w)
{
    struct import_model *model = w->model;
    uint64_t left_out = 0;
    for (uint32_t n = 0; n < model->node_count; n++) {
        for (uint32_t r = 0; r < model->resources.count; r++) {
            int64_t *there = &model->nodes[n].allocatable.v[IMPORT_EXTENDED + r];
            const bool of_mig = strstr(orr_idmap_name(&model->resources, r), "/mig-") != NULL;
            if (of_mig && *there > 0 &&
                (*there > ORR_MIG_INSTANCES_MAX || !state_counts_profile(model, r))) {
                *there = 0;
                left_out++;
            }
        }
    }
    if (left_out > 0) {
        state_note(
            w, "mig-nodes",
            import_format(w->load,
                          "MIG instances of nodes, of a profile that runs do not count (they "
                          "count %d, with names such as 1g.5gb or 1g.10gb.me) or more than "
                          "%d of one on a node: they are left out",
                          (int)ORR_MIG_PROFILES_MAX, (int)ORR_MIG_INSTANCES_MAX),
            left_out);
    }
}

/* Are all pods of the job there that it needs, as KAI counts them before it looks at it? */
static bool is_ready(const struct import_model *model, const struct import_job *job)
{
    int64_t *have = orr_zalloc(job->set_count + (size_t)1, sizeof *have);
    uint32_t *members = orr_zalloc(job->set_count + (size_t)1, sizeof *members);
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t set = state_set_of(job, pod);
        if (set != ORR_NONE) {
            have[set] += state_waits(pod) || state_is_held(pod);
        }
    }
    bool ready = true;
    for (uint32_t s = job->set_count; s-- > 0;) { /* members come after what they are part of */
        const struct import_set *set = &job->sets[s];
        const int64_t least = set->min >= 0 ? set->min : members[s];
        ready = have[s] >= least;
        if (s > 0) {
            members[set->parent]++;
            have[set->parent] += ready;
        }
    }
    orr_free(have);
    orr_free(members);
    return ready;
}

static bool holds_pods(const struct import_model *model, const struct import_job *job)
{
    bool holds = false;
    for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
        holds = holds || state_is_held(&model->pods[p]);
    }
    return holds;
}

/* What these jobs hold is among the foreign pods. */
void state_leave_out_jobs(struct writer *w)
{
    const struct import_model *model = w->model;
    w->left_out = orr_zalloc(model->job_count + (size_t)1, sizeof *w->left_out);
    for (uint32_t j = 0; j < model->job_count; j++) {
        const struct import_job *job = &model->jobs[j];
        w->left_out[j] = true;
        if (job->back_off) {
            state_note(
                w, "back-off",
                "jobs that the scheduler leaves out until something about them changes, as it "
                "found no place for them: they are left out",
                1);
        } else if (!has_queue(model, job)) {
            state_note(w, "queues",
                       "jobs of a queue that is not there, or has children: they are left out", 1);
        } else if (asks_odd_instances(model, job)) {
            state_note(
                w, "mig",
                "jobs whose pods ask for MIG instances of several profiles, of one that runs "
                "do not count, or for more than 999: they are left out",
                1);
        } else if (!holds_pods(model, job) && !is_ready(model, job)) {
            state_note(w, "missing-pods",
                       "jobs of which fewer pods are there, without scheduling gates, than they "
                       "need: they "
                       "are left out",
                       1);
        } else {
            w->left_out[j] = false;
        }
    }
}

static void add_foreign(struct place *place, const struct import_vec *held, int64_t gpus)
{
    for (uint32_t r = IMPORT_EXTENDED; r < IMPORT_RESOURCES_MAX; r++) {
        place->left[r] -= held->v[r];
    }
    place->foreign[0] += held->v[IMPORT_CPU];
    place->foreign[1] += held->v[IMPORT_MEMORY];
    place->foreign[2] += gpus;
    place->foreign[3] += held->v[IMPORT_PODS];
}

/* Has it no part in the run but the room it holds? */
static bool is_loose(const struct writer *w, const struct import_pod *pod)
{
    return pod->job == ORR_NONE || w->left_out[pod->job] ||
           state_set_of(&w->model->jobs[pod->job], pod) == ORR_NONE;
}

/* Devices that a pod without a part takes away: shared ones once, whoever else is on them. */
static int64_t foreign_gpus(struct writer *w, struct orr_idmap *shared,
                            const struct import_pod *pod)
{
    int64_t gpus = pod->request.vec.v[IMPORT_GPU];
    for (uint32_t d = 0; d < pod->request.devices; d++) {
        bool added = true;
        if (d < pod->group_count) {
            const char *key = import_format(w->load, "%s/%s", pod->node, pod->groups[d]);
            (void)orr_idmap_put(shared, key, strlen(key), &added);
        }
        gpus += added;
    }
    return gpus;
}

/* By node, the shared devices that jobs of the run are on: the run has pods of its own that reserve
 * them. To be freed. */
static uint32_t *count_shared(struct writer *w)
{
    const struct import_model *model = w->model;
    uint32_t *count = orr_zalloc(model->node_count + (size_t)1, sizeof *count);
    struct orr_idmap groups;
    orr_idmap_init(&groups);
    for (uint32_t p = 0; p < model->pod_count; p++) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t node = state_find_node(w, pod->node);
        const bool runs = !is_loose(w, pod) && state_is_held(pod) && node != ORR_NONE;
        for (uint32_t g = 0; runs && g < pod->group_count; g++) {
            const char *key = import_format(w->load, "%s/%s", pod->node, pod->groups[g]);
            bool added;
            (void)orr_idmap_put(&groups, key, strlen(key), &added);
            count[node] += added;
        }
    }
    orr_idmap_release(&groups);
    return count;
}

/* Pods of other schedulers, and ours that no job here has. */
void state_collect_foreign(struct writer *w)
{
    const struct import_model *model = w->model;
    struct orr_idmap shared;
    uint64_t loose = 0, foreign = 0;
    uint32_t *reserved = count_shared(w);
    orr_idmap_init(&shared);
    for (uint32_t i = 0; i < model->foreign_count; i++) {
        const uint32_t node = state_find_node(w, model->foreign[i].node);
        if (node != ORR_NONE && model->foreign[i].reserves && reserved[node] > 0) {
            reserved[node]--;
            continue;
        }
        foreign++;
        if (node != ORR_NONE) {
            const struct import_vec *held = &model->foreign[i].held;
            add_foreign(&w->places[node], held, held->v[IMPORT_GPU]);
        }
    }
    for (uint32_t p = 0; p < model->pod_count; p++) {
        const struct import_pod *pod = &model->pods[p];
        const uint32_t node = state_find_node(w, pod->node);
        if (is_loose(w, pod) && state_is_held(pod) && node != ORR_NONE) {
            add_foreign(&w->places[node], &pod->request.vec, foreign_gpus(w, &shared, pod));
            loose++;
        }
    }
    orr_idmap_release(&shared);
    orr_free(reserved);
    if (foreign + loose > 0) {
        state_note(
            w, "foreign",
            "pods of other schedulers, or of no job here: when they end is not known, so they hold "
            "their room for good",
            foreign + loose);
    }
    for (uint32_t n = 0; n < model->node_count; n++) {
        struct place *place = &w->places[n];
        const int64_t gpus = model->nodes[n].allocatable.v[IMPORT_GPU];
        place->foreign[2] = place->foreign[2] > gpus ? gpus : place->foreign[2];
        for (uint32_t r = 0; r < IMPORT_RESOURCES_MAX; r++) {
            place->left[r] += model->nodes[n].allocatable.v[r];
        }
        place->left[IMPORT_CPU] -= place->foreign[0];
        place->left[IMPORT_MEMORY] -= place->foreign[1];
        place->left[IMPORT_GPU] -= place->foreign[2];
        place->left[IMPORT_PODS] -= place->foreign[3];
        const uint64_t all = gpus >= 64 ? UINT64_MAX : ((uint64_t)1 << gpus) - 1;
        place->devices =
            place->foreign[2] >= 64 ? 0 : all & ~(((uint64_t)1 << place->foreign[2]) - 1);
    }
}
