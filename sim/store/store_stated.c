/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_stated.c - the tables of what traces and scenarios state of jobs beside the table `job`. */
#include "store_sql.h"
#include "store_writer.h"

/* ---- which nodes pods may be on ---- */

static bool same_filters(const struct orr_request *a, const struct orr_request *b)
{
    return a->selector == b->selector && a->toleration == b->toleration && a->allowed == b->allowed;
}

/* For each task group of all shapes, in their order, the number of its filters: 0 for none, else
 * from 1 by their first use. `first` gets a request with those of each number; both are the
 * caller's to free. */
static uint32_t *number_filters(const struct orr_shapes *shapes, const struct orr_request ***first,
                                uint32_t *count)
{
    static const struct orr_request open = {0};
    uint32_t groups = 0;
    for (uint32_t s = 0; s < shapes->count; s++) {
        groups += shapes->shapes[s].group_count;
    }
    uint32_t *numbers = orr_alloc(groups + (size_t)1, sizeof *numbers);
    *first = orr_alloc(groups + (size_t)1, sizeof **first);
    (*first)[0] = &open;
    *count = 1;
    groups = 0;
    for (uint32_t s = 0; s < shapes->count; s++) {
        for (uint32_t g = 0; g < shapes->shapes[s].group_count; g++) {
            const struct orr_request *request = &shapes->shapes[s].groups[g].request;
            uint32_t n = 0; /* a handful */
            while (n < *count && !same_filters((*first)[n], request)) {
                n++;
            }
            if (n == *count) {
                (*first)[(*count)++] = request;
            }
            numbers[groups++] = n;
        }
    }
    return numbers;
}

static enum orr_status write_barred(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    const struct orr_cluster *cluster = &in->world->cluster;
    const struct orr_request **first;
    uint32_t count;
    orr_free(number_filters(&in->world->shapes, &first, &count));
    struct writer w = writer_open(db, orr_store_sql__barred, err);
    for (uint32_t b = 1; b < count && w.status == ORR_OK; b++) {
        for (uint32_t n = 0; n < cluster->node_count; n++) {
            if (!orr_cluster_admits(cluster, first[b]->selector, n) ||
                !orr_cluster_admits(cluster, first[b]->toleration, n) ||
                !orr_cluster_admits(cluster, first[b]->allowed, n)) {
                put_int(&w, b);
                put_int(&w, n);
                put_row(&w);
            }
        }
    }
    orr_free(first);
    return writer_close(&w);
}

/* Of a gang without parts, or of the part that the pods are in; 0: none. */
static uint32_t required_level(const struct orr_shape *shape, const struct orr_task_group *group)
{
    return shape->set_count == 0 ? shape->span.required : shape->sets[group->set].span.required;
}

static enum orr_status write_asks(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    const struct orr_shapes *shapes = &in->world->shapes;
    const struct orr_request **first;
    uint32_t count;
    uint32_t *numbers = number_filters(shapes, &first, &count), at = 0;
    struct writer w = writer_open(db, orr_store_sql__ask, err);
    for (uint32_t s = 0; s < shapes->count && w.status == ORR_OK; s++) {
        for (uint32_t g = 0; g < shapes->shapes[s].group_count; g++) {
            const struct orr_task_group *group = &shapes->shapes[s].groups[g];
            const struct orr_request *request = &group->request;
            bool memory = request->gpu_ask == ORR_GPU_MEMORY;
            put_int(&w, s);
            put_int(&w, g);
            put_int(&w, group->count);
            put_int(&w, request->devices);
            put_int_or_null(&w, !memory,
                            request->gpu_ask == ORR_GPU_WHOLE ? ORR_MGPU : request->portion);
            put_int_or_null(&w, memory, request->portion);
            put_int(&w, request->cpu_milli);
            put_int(&w, request->mem_bytes);
            put_text(&w, request->gpu_model == ORR_NONE
                             ? NULL
                             : orr_idmap_name(&in->world->cluster.models, request->gpu_model));
            put_int(&w, request->shard);
            put_int(&w, numbers[at++]);
            const uint32_t level = required_level(&shapes->shapes[s], group);
            put_text(&w, level == 0 ? NULL : orr_cluster_level_name(&in->world->cluster, level));
            put_int(&w, request->instances);
            put_text(&w, request->instances == 0 ? NULL
                                                 : orr_idmap_name(&in->world->cluster.mig_profiles,
                                                                  request->mig_profile));
            put_int(&w, request->mig_mgpu);
            put_row(&w);
        }
    }
    orr_free(numbers);
    orr_free(first);
    return writer_close(&w);
}

static enum orr_status write_non_preemptible(sqlite3 *db, const struct orr_store_input *in,
                                             struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__non_preemptible, err);
    for (uint32_t j = 0; j < in->world->job_count; j++) {
        if (in->world->specs[j].preemptible == 0) {
            put_int(&w, j);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

/* NULL: nothing is recorded of the job. Copies of a trace did not happen, so that none of their
 * jobs has a record. */
static const struct orr_row_extra *recorded_extra(const struct orr_store_input *in, uint32_t job)
{
    const struct orr_row_extra *extra = orr_world_job_extra(in->world, job);
    const struct orr_world_part *part = &in->world->parts[orr_world_part_of(in->world, job)];
    return extra == NULL || extra->recorded_start_ms == ORR_MS_NONE || part->part->copies > 1
               ? NULL
               : extra;
}

/* Of how many jobs a row may state anything: none, where no row does. */
static uint32_t stating_jobs(const struct orr_store_input *in)
{
    return orr_world_has_extras(in->world) ? in->world->job_count : 0;
}

static enum orr_status write_recorded(sqlite3 *db, const struct orr_store_input *in,
                                      struct orr_err *err)
{
    const uint32_t jobs = stating_jobs(in);
    struct writer w = writer_open(db, orr_store_sql__recorded, err);
    for (uint32_t j = 0; j < jobs; j++) {
        const struct orr_row_extra *extra = recorded_extra(in, j);
        if (extra == NULL) {
            continue;
        }
        put_int(&w, j);
        put_int(&w, extra->recorded_start_ms);
        put_int_or_null(&w, extra->recorded_end_ms != ORR_MS_NONE, extra->recorded_end_ms);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_recorded_attempts(sqlite3 *db, const struct orr_store_input *in,
                                               struct orr_err *err)
{
    const uint32_t jobs = stating_jobs(in);
    struct writer w = writer_open(db, orr_store_sql__recorded_attempt, err);
    for (uint32_t j = 0; j < jobs; j++) {
        const struct orr_row_extra *extra = recorded_extra(in, j);
        if (extra == NULL || extra->recorded_attempts == NULL) {
            continue;
        }
        struct orr_recorded record = orr_recorded_of(extra);
        orr_ms start_ms, end_ms;
        while (orr_recorded_next(&record, &start_ms, &end_ms)) {
            put_int(&w, j);
            put_int(&w, start_ms);
            put_int(&w, end_ms);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_holds(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__hold, err);
    for (uint32_t i = 0; i < in->world->hold_count; i++) {
        orr_ms eligible = in->run->eligible_ms[i];
        put_int(&w, in->world->holds[i].job);
        put_int_or_null(&w, eligible != ORR_MS_NONE && eligible <= in->run->end_ms, eligible);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_deadlines(sqlite3 *db, const struct orr_store_input *in,
                                       struct orr_err *err)
{
    const uint32_t jobs = stating_jobs(in);
    struct writer w = writer_open(db, orr_store_sql__deadline, err);
    for (uint32_t j = 0; j < jobs; j++) {
        orr_ms deadline = orr_world_deadline_ms(in->world, j);
        if (deadline != ORR_MS_NONE) {
            put_int(&w, j);
            put_int(&w, deadline);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_batches(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__batch, err);
    char buffer[512];
    for (uint32_t j = 0; j < in->world->job_count && in->summary->owners.batch_names > 0; j++) {
        const char *name = orr_world_job_group(in->world, j, buffer, sizeof buffer);
        if (name != NULL) {
            put_int(&w, j);
            put_text(&w, name);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_nevers(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    static const char *const resources[ORR_SHARE_KINDS] = {
        [ORR_SHARE_CPU] = "cpu", [ORR_SHARE_MEMORY] = "memory", [ORR_SHARE_GPU] = "gpu"};
    struct writer w = writer_open(db, orr_store_sql__never, err);
    for (uint32_t i = 0; i < in->run->never_count; i++) {
        const struct orr_bar *bar = &in->run->nevers[i].bar;
        const bool counted = bar->asked > 0;
        put_int(&w, in->run->nevers[i].job);
        put_int(&w, bar->reason);
        put_int_or_null(&w, bar->queue != ORR_NONE, bar->queue);
        put_text(&w, counted ? resources[bar->resource] : NULL);
        put_int_or_null(&w, counted, bar->asked);
        put_int_or_null(&w, counted, bar->allowed);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_ruled(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__ruled, err);
    const uint32_t known = in->world->ruled_count;
    for (uint32_t i = 0; i < known + in->run->ruled_count; i++) {
        const struct orr_world_ruled *ruled =
            i < known ? &in->world->ruled[i] : &in->run->ruled[i - known];
        put_int(&w, ruled->job);
        put_int(&w, ruled->rule);
        put_row(&w);
    }
    return writer_close(&w);
}

enum orr_status orr_store__write_stated(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err)
{
    static orr_store__write_fn *const tables[] = {write_recorded,  write_recorded_attempts,
                                                  write_holds,     write_non_preemptible,
                                                  write_deadlines, write_batches,
                                                  write_ruled,     write_asks,
                                                  write_barred,    write_nevers};
    return write_tables(db, input, tables, sizeof tables / sizeof tables[0], err);
}
