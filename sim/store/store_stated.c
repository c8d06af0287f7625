/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_stated.c - the tables of what traces and scenarios state of jobs beside the table `job`. */
#include "store_sql.h"
#include "store_writer.h"

static enum orr_status write_asks(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    const struct orr_shapes *shapes = &in->world->shapes;
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
            put_int(&w,
                    request->selector != 0 || request->toleration != 0 || request->allowed != 0);
            put_row(&w);
        }
    }
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

/* Copies of a trace did not happen; only the first has a record. */
static enum orr_status write_recorded(sqlite3 *db, const struct orr_store_input *in,
                                      struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__recorded, err);
    for (uint32_t j = 0; j < in->world->job_count; j++) {
        const struct orr_row_extra *extra = orr_world_job_extra(in->world, j);
        const struct orr_world_part *part = &in->world->parts[orr_world_part_of(in->world, j)];
        if (extra == NULL || extra->recorded_start_ms == ORR_MS_NONE || part->part->copies > 1) {
            continue;
        }
        put_int(&w, j);
        put_int(&w, extra->recorded_start_ms);
        put_int_or_null(&w, extra->recorded_end_ms != ORR_MS_NONE, extra->recorded_end_ms);
        put_row(&w);
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
    struct writer w = writer_open(db, orr_store_sql__deadline, err);
    for (uint32_t j = 0; j < in->world->job_count; j++) {
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
    for (uint32_t i = 0; i < in->world->ruled_count; i++) {
        put_int(&w, in->world->ruled[i].job);
        put_int(&w, in->world->ruled[i].rule);
        put_row(&w);
    }
    return writer_close(&w);
}

enum orr_status orr_store__write_stated(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err)
{
    static orr_store__write_fn *const tables[] = {
        write_recorded, write_holds, write_non_preemptible, write_deadlines, write_batches,
        write_ruled,    write_asks,  write_nevers};
    return write_tables(db, input, tables, sizeof tables / sizeof tables[0], err);
}
