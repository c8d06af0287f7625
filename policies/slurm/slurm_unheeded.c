/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_unheeded.c - what jobs state, or leave unstated, that a run under this policy does not look
 * at: a sentence for all of them together. */
#include "slurm_int.h"

#include <stdio.h>

#include <orrery/base/text.h>

/* Without a time limit backfill would count a year; it is given the run time instead. */
static void say_unlimited(uint32_t count, orr_policy_say_fn *say, void *context)
{
    char text[300];
    if (count > 0) {
        (void)snprintf(text, sizeof text,
                       "time limits, which %u job%s %s: policy slurm is given %s, unless the "
                       "partition has a DefaultTime or MaxTime",
                       (unsigned)count, ORR_PLURAL(count),
                       ORR_ONE(count, "does not state", "do not state"),
                       ORR_ONE(count, "its run time", "their run times"));
        say(text, context);
    }
}

/* A table of associations that a job is not in; without a table queues and users make their own. */
static bool lacks_assoc(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                        const struct slurm_options *options)
{
    if (slurm->conf.own_users || slurm->conf.assoc_count == 0) {
        return false;
    }
    const uint32_t assoc = orr_slurm__assoc_of(slurm, view, job, options);
    return assoc == ORR_NONE || slurm->conf.assocs[assoc].user == NULL;
}

static void say_strangers(const struct orr_view *view, uint32_t count, uint32_t first,
                          orr_policy_say_fn *say, void *context)
{
    char text[400];
    if (count > 0) {
        const char *user = orr_view_user(view, first);
        (void)snprintf(text, sizeof text,
                       "associations, in which sacctmgr has no user of %u job%s (first: %s%.60s of "
                       "queue %.60s): %s as %s account, or as nobody's, where slurmctld with "
                       "associations enforced would refuse %s",
                       (unsigned)count, ORR_PLURAL(count), user == NULL ? "one without a user" : "",
                       user == NULL ? "" : user,
                       orr_idmap_name(&view->queues->names, view->specs[first].queue),
                       ORR_ONE(count, "it counts", "they count"), ORR_ONE(count, "its", "their"),
                       ORR_ONE(count, "it", "them"));
        say(text, context);
    }
}

static void say_absent(const struct slurm_conf *conf, orr_policy_say_fn *say, void *context)
{
    char text[300];
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        const struct slurm_partition *partition = &conf->partitions[p];
        if (partition->absent > 0) {
            (void)snprintf(
                text, sizeof text,
                "%u node%s of partition %.60s (first %.60s), which slurm_conf has and the "
                "cluster has not: %u %s left to it",
                (unsigned)partition->absent, ORR_PLURAL(partition->absent), partition->name,
                partition->first_absent, (unsigned)partition->node_count,
                ORR_ONE(partition->node_count, "is", "are"));
            say(text, context);
        }
    }
}

static bool is_in_partition(const struct slurm_conf *conf, uint32_t node)
{
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        if (slurm_has(conf->partitions[p].nodes, node)) {
            return true;
        }
    }
    return false;
}

/* Nodes that a scenario has more of than slurm_conf, as those that a search for capacity adds. */
static void say_unlisted(const struct slurm_conf *conf, const struct orr_view *view,
                         orr_policy_say_fn *say, void *context)
{
    const struct orr_cluster *cluster = view->cluster;
    uint32_t count = 0, first = ORR_NONE;
    int64_t gpus = 0;
    char text[300];
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        if (type->shard == view->shard && !is_in_partition(conf, n)) {
            first = count++ == 0 ? n : first;
            gpus += orr_node_type_own_gpus(type);
        }
    }
    if (count > 0) {
        (void)snprintf(text, sizeof text,
                       "%u node%s of the cluster (first %.60s) with %lld GPU%s, which no partition "
                       "of slurm_conf has: no job gets %s",
                       (unsigned)count, ORR_PLURAL(count),
                       orr_idmap_name(&cluster->node_names, first), (long long)gpus,
                       ORR_PLURAL(gpus), ORR_ONE(count, "it", "them"));
        say(text, context);
    }
}

/* GPUs of the shard's nodes; of those in a set, unless it is NULL. */
static int64_t gpus_of(const struct orr_view *view, const uint64_t *nodes)
{
    int64_t gpus = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(view->cluster, n);
        const bool counts = type->shard == view->shard && (nodes == NULL || slurm_has(nodes, n));
        gpus += counts ? (int64_t)orr_node_type_own_gpus(type) : 0;
    }
    return gpus;
}

static void add_partitions(const struct slurm *slurm, const struct slurm_job *job, uint64_t *nodes)
{
    for (uint32_t p = 0; p < job->partition_count; p++) {
        const uint64_t *of = slurm->conf.partitions[job->partitions[p]].nodes;
        for (uint32_t w = 0; w < slurm->words; w++) {
            nodes[w] |= of[w];
        }
    }
}

/* What queues are entitled to is divided apart from any policy: a queue may be entitled to more
 * than its partitions have, and then nobody could give it that. `nodes`: for each queue those that
 * its jobs may use. */
static void say_shares(const struct slurm *slurm, const struct orr_view *view,
                       const uint64_t *nodes, const bool *has_jobs, orr_policy_say_fn *say,
                       void *context)
{
    const int64_t all = gpus_of(view, NULL);
    int64_t first_gpus = 0;
    uint32_t count = 0, first = ORR_NONE;
    char text[400];
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const int64_t gpus = has_jobs[q] ? gpus_of(view, nodes + (size_t)q * slurm->words) : all;
        if (gpus < all) {
            first = count++ == 0 ? q : first;
            first_gpus = first == q ? gpus : first_gpus;
        }
    }
    if (count > 0) {
        (void)snprintf(
            text, sizeof text,
            "partitions, by the shares that fairness (Jain, share deviation) is measured "
            "against: they divide all %lld GPU%s, and the partitions of %u queue%s have "
            "fewer (first %.60s: %lld)",
            (long long)all, ORR_PLURAL(all), (unsigned)count, ORR_PLURAL(count),
            orr_idmap_name(&view->queues->names, first), (long long)first_gpus);
        say(text, context);
    }
}

void orr_slurm__unheeded(const void *params, const struct orr_view *view, orr_policy_say_fn *say,
                         void *context)
{
    struct slurm slurm = {.params = params};
    struct orr_err err = {0};
    uint32_t unlimited = 0, strangers = 0, first = ORR_NONE;
    struct slurm_options options = {.tally = orr_zalloc(1, sizeof *options.tally)};
    orr_idmap_init(&slurm.arrays);
    orr_slurm__licenses_open(&slurm);
    slurm.words = (view->cluster->node_count + 63) / 64;
    uint64_t *nodes = orr_zalloc((size_t)view->queues->count * slurm.words + 1, sizeof *nodes);
    bool *has_jobs = orr_zalloc(view->queues->count + (size_t)1, sizeof *has_jobs);
    const bool read = orr_slurm__conf_read(&slurm.conf, params, view, &err) == ORR_OK;
    for (uint32_t j = 0; j < view->job_count && read; j++) {
        struct slurm_job job = {.array = ORR_NONE,
                                .qos = ORR_NONE,
                                .licenses = ORR_NONE,
                                .min_nodes = 1,
                                .max_nodes = slurm_shape(view, j)->tasks};
        options.account[0] = '\0';
        if (view->queues->queues[view->specs[j].queue].shard == view->shard) {
            orr_slurm__options_read(&slurm, view, j, &job, &options);
            const uint32_t queue = view->specs[j].queue;
            add_partitions(&slurm, &job, nodes + (size_t)queue * slurm.words);
            has_jobs[queue] = true;
            unlimited +=
                !job.is_endless && orr_slurm__is_unlimited(&slurm.conf, view, j, job.partitions[0]);
            const bool strange = lacks_assoc(&slurm, view, j, &options);
            first = strange && strangers == 0 ? j : first;
            strangers += strange;
        }
    }
    orr_slurm__options_say(options.tally, say, context);
    if (read) {
        say_absent(&slurm.conf, say, context);
        say_unlisted(&slurm.conf, view, say, context);
        say_shares(&slurm, view, nodes, has_jobs, say, context);
    }
    say_unlimited(unlimited, say, context);
    say_strangers(view, strangers, first, say, context);
    orr_free(options.tally);
    orr_free(nodes);
    orr_free(has_jobs);
    orr_slurm__licenses_close(&slurm);
    orr_slurm__conf_release(&slurm.conf);
    orr_idmap_release(&slurm.arrays);
    orr_free(slurm.array);
}
