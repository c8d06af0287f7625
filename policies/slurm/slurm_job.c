/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_job.c - what a job was submitted with: options of sbatch, by their long
 * names. */
#include "slurm_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

struct span {
    const char *at;
    size_t bytes;
};

static bool is(struct span text, const char *word)
{
    return text.bytes == strlen(word) && memcmp(text.at, word, text.bytes) == 0;
}

static bool next_option(struct span *options, struct span *name, struct span *value)
{
    while (options->bytes > 0 && (*options->at == ' ' || *options->at == '-')) {
        options->at++;
        options->bytes--;
    }
    size_t end = 0;
    while (end < options->bytes && options->at[end] != ' ') {
        end++;
    }
    const char *sign = end == 0 ? NULL : memchr(options->at, '=', end);
    *name = (struct span){options->at, sign == NULL ? end : (size_t)(sign - options->at)};
    *value = sign == NULL ? (struct span){options->at, 0}
                          : (struct span){sign + 1, end - name->bytes - 1};
    options->at += end;
    options->bytes -= end;
    return end > 0;
}

static void read_partitions(const struct slurm *slurm, struct slurm_job *job, struct span list)
{
    while (list.bytes > 0 && job->partition_count < SLURM_JOB_PARTITIONS_MAX) {
        const char *comma = memchr(list.at, ',', list.bytes);
        const size_t bytes = comma == NULL ? list.bytes : (size_t)(comma - list.at);
        const uint32_t partition = orr_slurm__partition(&slurm->conf, list.at, bytes);
        if (partition != ORR_NONE) {
            job->partitions[job->partition_count++] = (uint8_t)partition;
        }
        list.at += bytes + (comma != NULL);
        list.bytes -= bytes + (comma != NULL);
    }
}

/* "2" or "2-4". */
static void read_nodes(struct slurm_job *job, struct span value)
{
    const char *dash = memchr(value.at, '-', value.bytes);
    const size_t bytes = dash == NULL ? value.bytes : (size_t)(dash - value.at);
    int64_t from, to;
    if (!orr_parse_i64(value.at, bytes, &from) || from < 1 || from > 1000000) {
        return;
    }
    to = from;
    if (dash != NULL && (!orr_parse_i64(dash + 1, value.bytes - bytes - 1, &to) || to < from)) {
        return;
    }
    job->min_nodes = (uint32_t)from;
    job->max_nodes = to > 1000000 ? 1000000 : (uint32_t)to;
}

/* "1" or "1@00:00:20": at most so many leaf switches, while it waited no longer. */
static void read_switches(struct slurm_job *job, struct span value)
{
    const char *at = value.bytes == 0 ? NULL : memchr(value.at, '@', value.bytes);
    const size_t bytes = at == NULL ? value.bytes : (size_t)(at - value.at);
    int64_t number;
    orr_ms wait = 300000; /* max_switch_wait */
    if (orr_parse_i64(value.at, bytes, &number) && number > 0 && number < 1000000) {
        job->switches = (uint32_t)number;
        if (at != NULL && orr_slurm__time(at + 1, value.bytes - bytes - 1, &wait)) {
            wait = wait < 300000 ? wait : 300000;
        }
        job->switch_wait_ms = wait;
    }
}

/* "ID" or "ID%4": the array a task belongs to, and how many of it may run at
 * once. */
static void read_array(struct slurm *slurm, struct slurm_job *job, struct span value)
{
    const char *percent = value.bytes == 0 ? NULL : memchr(value.at, '%', value.bytes);
    const size_t bytes = percent == NULL ? value.bytes : (size_t)(percent - value.at);
    int64_t limit = 0;
    if (bytes == 0 ||
        (percent != NULL && (!orr_parse_i64(percent + 1, value.bytes - bytes - 1, &limit) ||
                             limit < 1 || limit > UINT32_MAX))) {
        return;
    }
    bool added;
    job->array = orr_idmap_put(&slurm->arrays, value.at, bytes, &added);
    slurm->array = orr_zgrow(slurm->array, &slurm->array_capacity, job->array + (size_t)1,
                             sizeof *slurm->array);
    slurm->array[job->array].limit = limit > 0 ? (uint32_t)limit : UINT32_MAX;
}

/* The association of a job: its user's, of the account that it names or whose
 * name its queue bears, or the first that the user is in; else that account
 * itself. */
static uint32_t assoc_of(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                         struct span account)
{
    struct slurm_conf *conf = &slurm->conf;
    const char *queue = orr_idmap_name(&view->queues->names, view->specs[job].queue);
    const char *user = orr_view_user(view, job);
    char name[128];
    (void)snprintf(name, sizeof name, "%.*s", (int)(account.bytes < 120 ? account.bytes : 120),
                   account.at);
    const char *of = account.bytes > 0 ? name : queue;
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

static void read_option(struct slurm *slurm, struct slurm_job *job, struct span name,
                        struct span value)
{
    int64_t number = 0;
    const bool is_number = orr_parse_i64(value.at, value.bytes, &number);
    if (is(name, "partition")) {
        read_partitions(slurm, job, value);
    } else if (is(name, "nodes")) {
        read_nodes(job, value);
    } else if (is(name, "nice") && is_number) {
        job->nice = number;
    } else if (is(name, "priority") && is_number && number >= 0) {
        job->priority = number;
    } else if (is(name, "qos")) {
        job->qos = orr_slurm__qos(&slurm->conf, value.at, value.bytes);
    } else if (is(name, "switches")) {
        read_switches(job, value);
    } else if (is(name, "no-requeue") || is(name, "requeue")) {
        job->no_requeue = is(name, "no-requeue");
    } else if (is(name, "exclusive")) {
        job->exclusive = true;
    } else if (is(name, "array")) {
        read_array(slurm, job, value);
    }
}

static bool is_core_placed(const struct orr_view *view, uint32_t job)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    bool shares = false;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const uint8_t ask = shape->groups[g].request.gpu_ask;
        shares = shares || ask == ORR_GPU_FRACTION || ask == ORR_GPU_MEMORY;
    }
    return shares || shape->set_count > 0 || orr_shape_is_bound(shape) || view->specs[job].scales;
}

static void read_amounts(const struct orr_view *view, uint32_t job, struct slurm_job *j)
{
    const struct orr_shape *shape = slurm_shape(view, job);
    double cpus = 0;
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_task_group *group = &shape->groups[g];
        cpus += (double)group->count * (double)((group->request.cpu_milli + 999) / 1000);
    }
    j->tres[SLURM_CPU] = cpus;
    j->tres[SLURM_MEM] = (double)shape->mem_bytes / (double)ORR_MIB;
    j->tres[SLURM_GPU] = (double)shape->gpus_mgpu / ORR_MGPU;
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

/* The time limit that sbatch gives it: where none is stated DefaultTime of its first partition,
 * else MaxTime. Without either the scheduler is given the run time. */
static orr_ms limit_of(const struct slurm_conf *conf, const struct orr_view *view, uint32_t job,
                       uint32_t partition)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const struct slurm_partition *p = &conf->partitions[partition];
    if (spec->scales) {
        return ORR_MS_NEVER;
    }
    if (orr_view_states_limit(view, job) || orr_slurm__is_unlimited(conf, view, job, partition)) {
        return spec->estimate_ms;
    }
    return p->default_time_ms != ORR_MS_NONE ? p->default_time_ms : p->max_time_ms;
}

static void read_options(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                         struct slurm_job *j, struct span *account)
{
    const char *text = orr_view_options(view, job);
    const char *queue = orr_idmap_name(&view->queues->names, view->specs[job].queue);
    struct span options = {text == NULL ? "" : text, text == NULL ? 0 : strlen(text)}, name, value;
    while (next_option(&options, &name, &value)) {
        *account = is(name, "account") ? value : *account;
        read_option(slurm, j, name, value);
    }
    if (j->partition_count == 0) { /* a queue may bear the name of a partition */
        read_partitions(slurm, j, (struct span){queue, strlen(queue)});
    }
    if (j->partition_count == 0) {
        j->partitions[j->partition_count++] = (uint8_t)slurm->conf.default_partition;
    }
}

void orr_slurm__options_read(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             struct slurm_job *j)
{
    struct span account;
    read_options(slurm, view, job, j, &account);
}

void orr_slurm__job_read(struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    struct slurm_job *j = &slurm->jobs[job];
    *j = (struct slurm_job){.array = ORR_NONE,
                            .priority = -1,
                            .assoc = ORR_NONE,
                            .qos = ORR_NONE,
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
    struct span account = {"", 0};
    read_options(slurm, view, job, j, &account);
    j->assoc = assoc_of(slurm, view, job, account);
    if (j->qos == ORR_NONE) {
        const uint32_t own = j->assoc == ORR_NONE ? ORR_NONE : slurm->conf.assocs[j->assoc].qos;
        j->qos = own != ORR_NONE ? own : orr_slurm__qos(&slurm->conf, "normal", 6);
    }
    j->limit_ms = limit_of(&slurm->conf, view, job, j->partitions[0]);
    read_amounts(view, job, j);
}

bool orr_slurm__job_eligible(const struct slurm *slurm, const struct orr_view *view, uint32_t job)
{
    const struct slurm_job *j = &slurm->jobs[job];
    return j->is_lined && j->begin_ms <= view->now && j->priority != 0;
}
