/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_job.c - what a job was submitted with: its options of sbatch (slurm_options.c), its account
 * and what it asks. */
#include "slurm_int.h"

#include <string.h>

#include <orrery/base/minutes.h>

uint32_t orr_slurm__assoc_of(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             const struct slurm_options *options)
{
    struct slurm_conf *conf = &slurm->conf;
    const char *queue = orr_idmap_name(&view->queues->names, view->specs[job].queue);
    const char *user = orr_view_user(view, job);
    const char *of = options->account[0] != '\0' ? options->account : queue;
    uint32_t found = user == NULL ? ORR_NONE : orr_slurm__assoc(conf, of, user);
    if (found != ORR_NONE) {
        return found;
    }
    const uint32_t parent = orr_slurm__assoc(conf, of, NULL);
    if (conf->own_users && parent != ORR_NONE && user != NULL) {
        return orr_slurm__assoc_add(conf, parent, conf->assocs[parent].account, user, 1);
    }
    found = user == NULL || conf->own_users ? ORR_NONE : orr_slurm__assoc(conf, NULL, user);
    return found != ORR_NONE ? found : parent;
}

static bool is_core_placed(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    return orr_shape_shares(shape) || shape->set_count > 0 || orr_shape_is_bound(shape) ||
           view->specs[job].scales;
}

static void read_amounts(const struct orr_view *view, uint32_t job, struct slurm_job *j)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    double cpus = 0, gpus = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_task_group *group = &shape->groups[g];
        const struct orr_request *request = &group->request;
        cpus += (double)group->count * (double)((request->cpu_milli + 999) / 1000);
        /* an instance is a device of Slurm's, whatever part of a GPU it is */
        gpus += (double)group->count * (request->instances > 0
                                            ? (double)request->instances
                                            : (double)orr_request_mgpu(request) / ORR_MGPU);
    }
    j->tres[SLURM_CPU] = cpus;
    j->tres[SLURM_MEM] = (double)shape->mem_bytes / (double)ORR_MIB;
    j->tres[SLURM_GPU] = gpus;
    j->tres[SLURM_NODE] = j->min_nodes;
}

static uint32_t user_of(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const char *user = orr_view_user(view, job);
    return user == NULL ? 0 : orr_idmap_put(&slurm->users, user, strlen(user), NULL) + 1;
}

bool orr_slurm__is_unlimited(const struct slurm_conf *conf, const struct orr_view *view,
                             uint32_t job, uint32_t partition)
{
    const struct slurm_partition *p = &conf->partitions[partition];
    return !view->specs[job].scales && !orr_view_states_limit(view, job) &&
           p->default_time_ms == ORR_MS_NONE && p->max_time_ms == ORR_MS_NEVER;
}

orr_ms orr_slurm__stated_limit(const struct slurm_conf *conf, const struct orr_view *view,
                               uint32_t job, uint32_t partition)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct slurm_partition *p = &conf->partitions[partition];
    if (spec->scales) {
        return ORR_MS_NEVER;
    }
    if (orr_view_states_limit(view, job)) {
        return orr_ms_whole_minutes(spec->estimate_ms);
    }
    if (orr_slurm__is_unlimited(conf, view, job, partition)) {
        return spec->estimate_ms;
    }
    return p->default_time_ms != ORR_MS_NONE ? p->default_time_ms : p->max_time_ms;
}

void orr_slurm__job_read(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    struct slurm_job *j = &slurm->jobs[job];
    *j = (struct slurm_job){.array = ORR_NONE,
                            .priority = -1,
                            .assoc = ORR_NONE,
                            .qos = ORR_NONE,
                            .licenses = ORR_NONE,
                            .user = user_of(slurm, view, job),
                            .grace_end_ms = ORR_MS_NEVER,
                            .ends_for = ORR_NONE,
                            .no_requeue = !slurm->conf.job_requeue,
                            .min_nodes = 1,
                            .max_nodes = slurm_shape(view, job)->tasks,
                            .submit_ms = spec->submit_ms,
                            .begin_ms = view->now,
                            .accrue_ms = view->now,
                            .basic = 4294901759 - (int64_t)job,
                            .core_placed = is_core_placed(view, job)};
    struct slurm_options options = {.account = ""};
    orr_slurm__options_read(slurm, view, job, j, &options);
    j->assoc = orr_slurm__assoc_of(slurm, view, job, &options);
    if (j->qos == ORR_NONE) {
        const uint32_t own = j->assoc == ORR_NONE ? ORR_NONE : slurm->conf.assocs[j->assoc].qos;
        j->qos = own != ORR_NONE ? own : orr_slurm__qos(&slurm->conf, "normal", 6);
    }
    orr_slurm__read_access(&slurm->conf, j);
    j->limit_ms = j->is_endless
                      ? ORR_MS_NEVER
                      : orr_slurm__stated_limit(&slurm->conf, view, job, j->partitions[0]);
    read_amounts(view, job, j);
}

bool orr_slurm__job_eligible(const struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct slurm_job *j = &slurm->jobs[job];
    return j->is_lined && j->begin_ms <= view->now && j->priority != 0;
}
