/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_usage.c - admission fair sharing in a run: a queue's jobs go by what their users used of it
 * lately.
 *
 * Users stand for LocalQueues; jobs that name no user share one. Kueue samples a local queue every
 * usageSamplingInterval and at each admission, with what it holds then. Samples at multiples of the
 * interval are taken when something is about to change or to be decided: until then holdings are
 * what they were at the multiple, and decay in one step or several is the same. */
#include "kueue_policy.h"

#include <stdio.h>
#include <string.h>

/* As the queue states it of the job's user. */
static double weight_of(const struct orr_view *view, uint32_t job)
{
    const struct orr_lending *lending = &view->queues->queues[view->specs[job].queue].lending;
    const char *user = orr_view_user(view, job);
    for (uint32_t l = 0; user != NULL && l < lending->local_queue_count; l++) {
        if (strcmp(lending->local_queues[l].user, user) == 0) {
            return lending->local_queues[l].weight;
        }
    }
    return 1;
}

static void add_local(struct kueue_run *run, const struct orr_view *view, struct orr_idmap *known,
                      uint32_t job, uint32_t user, uint32_t *local)
{
    struct kueue_usage *usage = &run->usage;
    const uint32_t queue = run->queue_of[view->specs[job].queue];
    char key[32];
    bool fresh;
    (void)snprintf(key, sizeof key, "%u/%u", (unsigned)queue, (unsigned)user);
    *local = orr_idmap_put(known, key, strlen(key), &fresh);
    if (fresh) {
        usage->queues = ORR_ROOM_FOR_ONE(usage->queues, usage->count, usage->capacity);
        usage->queues[usage->count++] =
            (struct orr_kueue_local_queue){.queue = queue, .weight = weight_of(view, job)};
    }
}

void orr_kueue__open_usage(struct kueue_run *run, const struct orr_view *view)
{
    static const double units[ORR_FLAVOR_RESOURCES] = {[ORR_SHARE_GPU] = ORR_MGPU,
                                                       [ORR_SHARE_CPU] = 1000,
                                                       [ORR_SHARE_MEMORY] = 1,
                                                       [ORR_FLAVOR_PODS] = 1};
    struct kueue_usage *usage = &run->usage;
    struct orr_kueue_config *config = &run->spec.config;
    struct orr_idmap known, users;
    if (!run->params.admission_fair_sharing) {
        return;
    }
    orr_idmap_init(&known);
    orr_idmap_init(&users);
    usage->local_of = orr_alloc((size_t)view->job_count + 1, sizeof *usage->local_of);
    for (uint32_t j = 0; j < view->job_count; j++) {
        const uint32_t queue = run->queue_of[view->specs[j].queue];
        usage->local_of[j] = ORR_NONE;
        if (queue != ORR_NONE) {
            const char *name = orr_view_user(view, j);
            const uint32_t user =
                name == NULL ? ORR_NONE : orr_idmap_put(&users, name, strlen(name), NULL);
            add_local(run, view, &known, j, user, &usage->local_of[j]);
        }
    }
    orr_idmap_release(&known);
    orr_idmap_release(&users);
    usage->sampled_ms = orr_alloc((size_t)usage->count + 1, sizeof *usage->sampled_ms);
    for (uint32_t q = 0; q < run->spec.queue_count; q++) {
        run->queues[q].usage_based = true;
    }
    config->usage_based = true;
    config->half_life_s = (double)run->params.usage_half_life_ms / 1000;
    config->sampling_s = (double)run->params.usage_sampling_ms / 1000;
    config->usage_weights = run->params.usage_weights;
    config->usage_units = units;
    run->spec.local_queues = usage->queues;
    run->spec.local_queue_count = usage->count;
}

void orr_kueue__start_usage(struct kueue_run *run, orr_ms now)
{
    const double none[ORR_FLAVOR_RESOURCES] = {0};
    for (uint32_t l = 0; l < run->usage.count; l++) {
        run->usage.sampled_ms[l] = now;
        orr_kueue_set_consumed(run->kueue, l, none);
    }
    run->usage.grid_ms = now;
}

void orr_kueue__close_usage(struct kueue_run *run)
{
    orr_free(run->usage.local_of);
    orr_free(run->usage.queues);
    orr_free(run->usage.sampled_ms);
}

uint32_t orr_kueue__local_queue(const struct kueue_run *run, uint32_t job)
{
    return run->usage.local_of == NULL ? ORR_NONE : run->usage.local_of[job];
}

static orr_ms multiple_before(orr_ms now, orr_ms interval)
{
    const orr_ms rest = now % interval;
    return now - rest - (rest < 0 ? interval : 0);
}

void orr_kueue__sample_usage(struct kueue_run *run, orr_ms now)
{
    struct kueue_usage *usage = &run->usage;
    if (usage->local_of == NULL) {
        return;
    }
    const orr_ms grid = multiple_before(now, run->params.usage_sampling_ms);
    for (uint32_t l = 0; l < usage->count && grid > usage->grid_ms; l++) {
        if (grid > usage->sampled_ms[l]) {
            orr_kueue_sample(run->kueue, l, (double)(grid - usage->sampled_ms[l]) / 1000);
            usage->sampled_ms[l] = grid;
        }
    }
    usage->grid_ms = grid > usage->grid_ms ? grid : usage->grid_ms;
}

void orr_kueue__settle_usage(struct kueue_run *run, uint32_t job, orr_ms now)
{
    const uint32_t local = orr_kueue__local_queue(run, job);
    if (local != ORR_NONE) {
        const orr_ms elapsed_ms = now - run->usage.sampled_ms[local];
        orr_kueue_settle_entry(run->kueue, run->jobs[job].workload, (double)elapsed_ms / 1000);
        run->usage.sampled_ms[local] = now;
    }
}
