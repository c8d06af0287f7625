/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_jobs.c - the rows of table `job`, which go into the file's pages (store_pages.h). Columns
 * in the order of schema.sql; the id is the row's number, in place of which a record has NULL. */
#include "store_int.h"
#include "store_pages.h"

#include <string.h>

enum { LOOK_EVERY = 4096 }; /* rows from one look at whether to go on to the next */

bool orr_store__is_inline(const struct orr_ledger *ledger, uint32_t placement)
{
    const struct orr_placement *p = &ledger->placements[placement];
    const struct orr_job_state *state = &ledger->jobs[p->job];
    const struct orr_shape *shape =
        &ledger->world.shapes->shapes[ledger->world.specs[p->job].shape];
    /* in rounds a job may hold its devices past its end, which its row does not tell; nor does it
     * tell what a request for memory takes of a device, which depends on the node */
    bool to_its_end = p->hold != ORR_HOLD_ENDED || p->until_ms == state->end_ms;
    bool by_memory = shape->groups[p->group].request.gpu_ask == ORR_GPU_MEMORY;
    return state->placement == placement && state->attempts == 1 && state->evictions == 0 &&
           p->since_ms == state->start_ms && to_its_end && !by_memory && p->tasks == shape->tasks &&
           p->more_nodes == 0;
}

static void put_time(struct orr_record *record, const struct orr_job_state *state, orr_ms time)
{
    if (time != ORR_MS_NONE && state->phase != ORR_JOB_FUTURE) {
        orr_record_int(record, time);
    } else {
        orr_record_null(record);
    }
}

static void put_text(struct orr_record *record, const char *text)
{
    if (text != NULL) {
        orr_record_text(record, text);
    } else {
        orr_record_null(record);
    }
}

/* The placement that the row of a job holds; NULL: it holds none. */
static const struct orr_placement *placement_in_row(const struct orr_ledger *ledger,
                                                    const struct orr_job_state *state)
{
    /* of a FUTURE job all fields are 0, which is no placement of its own */
    const uint32_t placement = state->phase == ORR_JOB_FUTURE ? ORR_NONE : state->placement;
    return placement != ORR_NONE && orr_store__is_inline(ledger, placement)
               ? &ledger->placements[placement]
               : NULL;
}

static void put_placement(struct orr_record *record, const struct orr_placement *placement)
{
    if (placement == NULL) {
        orr_record_null(record);
        orr_record_null(record);
        return;
    }
    orr_record_int(record, placement->node);
    if (placement->devices != 0) {
        orr_record_int(record, (int64_t)placement->devices);
    } else {
        orr_record_null(record);
    }
}

static int64_t state_code(const struct orr_job_state *state)
{
    switch (state->phase) {
    case ORR_JOB_RELEASING: return ORR_JOB_PENDING;
    case ORR_JOB_FINISHED: return 3;
    case ORR_JOB_WITHDRAWN: return 4;
    default: return state->phase;
    }
}

static void put_job(struct orr_record *record, const struct orr_store_input *input, uint32_t job)
{
    const struct orr_world *world = input->world;
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_job_state *state = &input->run->ledger->jobs[job];
    const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
    const orr_ms enter_ms = orr_world_enter_ms(world, job);
    char name[512];
    orr_record_null(record); /* id */
    orr_record_text(record, orr_world_job_name(world, job, name, sizeof name));
    orr_record_int(record, spec->queue);
    put_text(record, orr_world_job_user(world, job));
    orr_record_int(record, spec->kind);
    orr_record_int(record, shape->tasks);
    orr_record_int(record, shape->gpus_mgpu);
    orr_record_int(record, orr_run_submit_ms(world, input->run, job));
    if (enter_ms != ORR_MS_NONE) {
        orr_record_int(record, enter_ms);
    } else {
        orr_record_null(record);
    }
    put_time(record, state, state->first_start_ms);
    put_time(record, state, state->end_ms);
    orr_record_int(record, spec->work_ms);
    orr_record_int(record, spec->estimate_ms);
    orr_record_int(record, state_code(state));
    orr_record_int(record, state->evictions);
    put_placement(record, placement_in_row(input->run->ledger, state));
    orr_record_int(record, state->attempts);
    put_time(record, state, state->start_ms);
    orr_record_int(record, shape->min_tasks);
    orr_record_int(record, spec->shape);
    orr_record_int(record, spec->priority);
}

/* As an INSERT would refuse: all rows have as many values, so that the first one is enough. */
static enum orr_status check_columns(const struct orr_record *first, uint32_t columns,
                                     struct orr_err *err)
{
    const uint32_t values = orr_record_columns(first);
    return values == columns ? ORR_OK
                             : orr_fail(err, ORR_BUG, "a row of %u values for %u columns of job",
                                        (unsigned)values, (unsigned)columns);
}

static enum orr_status put_jobs(struct orr_pages *pages, uint32_t columns,
                                const struct orr_store_input *input, struct orr_err *err)
{
    for (uint32_t job = 0; job < input->world->job_count; job++) {
        if (job % LOOK_EVERY == 0 && input->interrupted != NULL && *input->interrupted != 0) {
            return orr_store__interrupted(err);
        }
        struct orr_record *record = orr_pages_record(pages);
        put_job(record, input, job);
        enum orr_status status = job == 0 ? check_columns(record, columns, err) : ORR_OK;
        status = status == ORR_OK ? orr_pages_add(pages, job, err) : status;
        if (status != ORR_OK) {
            return status;
        }
    }
    return orr_pages_finish(pages, err);
}

enum orr_status orr_store__write_jobs(int file, struct orr_job_table table,
                                      const struct orr_store_input *input, struct orr_err *err)
{
    struct orr_pages *pages = NULL;
    enum orr_status status = orr_pages_open(file, table.root, &pages, err);
    if (status == ORR_OK) {
        status = put_jobs(pages, table.columns, input, err);
    }
    orr_pages_close(pages);
    return status;
}
