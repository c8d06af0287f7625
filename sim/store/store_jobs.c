/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_jobs.c - the run's arrays as a virtual table, so that `INSERT ... SELECT` fills the job
 * table at about half the cost of binding and stepping every row. Columns in the order of
 * schema.sql, without the id. */
#include "store_int.h"

enum column {
    COL_NAME,
    COL_QUEUE,
    COL_USER,
    COL_KIND,
    COL_PODS,
    COL_MGPU,
    COL_SUBMIT,
    COL_ENTER,
    COL_START,
    COL_END,
    COL_WORK,
    COL_ESTIMATE,
    COL_STATE,
    COL_EVICTIONS,
    COL_NODE,
    COL_DEVICES,
    COL_ATTEMPTS,
    COL_LAST_START,
    COL_MIN_PODS,
    COL_SHAPE,
    COL_PRIORITY
};

struct source {
    sqlite3_vtab base;
    const struct orr_store_input *input;
};

struct cursor { /* and what the columns of its row are read from, looked up once */
    sqlite3_vtab_cursor base;
    uint32_t job;
    const struct orr_job_spec *spec;
    const struct orr_job_state *state;
    const struct orr_shape *shape;
    const struct orr_placement *placement; /* if the row holds it; else NULL */
};

static int source_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
    struct source *source = sqlite3_malloc(sizeof *source);
    if (source == NULL) {
        return SQLITE_NOMEM;
    }
    *source = (struct source){.input = aux};
    *out = &source->base;
    return sqlite3_declare_vtab(db, "CREATE TABLE x(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u)");
}

static int source_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int source_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    struct cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (struct cursor){0};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static bool is_past_last(const struct cursor *cursor)
{
    return cursor->job >= ((const struct source *)cursor->base.pVtab)->input->world->job_count;
}

static void go_to(struct cursor *cursor, uint32_t job)
{
    const struct orr_store_input *input = ((const struct source *)cursor->base.pVtab)->input;
    cursor->job = job;
    if (!is_past_last(cursor)) {
        const struct orr_ledger *ledger = input->run->ledger;
        cursor->spec = &input->world->specs[job];
        cursor->state = &ledger->jobs[job];
        cursor->shape = &input->world->shapes.shapes[cursor->spec->shape];
        /* of a FUTURE job all fields are 0, which is no placement of its own */
        const uint32_t placement =
            cursor->state->phase == ORR_JOB_FUTURE ? ORR_NONE : cursor->state->placement;
        bool inlined = placement != ORR_NONE && orr_store__is_inline(ledger, placement);
        cursor->placement = inlined ? &ledger->placements[placement] : NULL;
    }
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    go_to((struct cursor *)cursor, 0);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    go_to((struct cursor *)cursor, ((const struct cursor *)cursor)->job + 1);
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
    return is_past_last((const struct cursor *)cursor);
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    *rowid = ((const struct cursor *)cursor)->job;
    return SQLITE_OK;
}

static void result_time(sqlite3_context *context, const struct orr_job_state *state, orr_ms time)
{
    if (time != ORR_MS_NONE && state->phase != ORR_JOB_FUTURE) {
        sqlite3_result_int64(context, time);
    }
}

static void result_name(sqlite3_context *context, const struct orr_world *world, uint32_t job)
{
    char buffer[512];
    const char *name = orr_world_job_name(world, job, buffer, sizeof buffer);
    sqlite3_result_text(context, name, -1, name == buffer ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

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

static int cursor_column(sqlite3_vtab_cursor *at, sqlite3_context *context, int column)
{
    const struct orr_store_input *input = ((const struct source *)at->pVtab)->input;
    const struct cursor *cursor = (const struct cursor *)at;
    const struct orr_job_spec *spec = cursor->spec;
    const struct orr_job_state *state = cursor->state;
    const struct orr_shape *shape = cursor->shape;
    uint32_t job = cursor->job;
    switch ((enum column)column) {
    case COL_NAME: result_name(context, input->world, job); break;
    case COL_QUEUE: sqlite3_result_int64(context, spec->queue); break;
    case COL_USER: {
        const char *user = orr_world_job_user(input->world, job);
        if (user != NULL) {
            sqlite3_result_text(context, user, -1, SQLITE_STATIC);
        }
        break;
    }
    case COL_KIND: sqlite3_result_int(context, spec->kind); break;
    case COL_PODS: sqlite3_result_int64(context, shape->tasks); break;
    case COL_MGPU: sqlite3_result_int64(context, shape->gpus_mgpu); break;
    case COL_SUBMIT:
        sqlite3_result_int64(context, orr_run_submit_ms(input->world, input->run, job));
        break;
    case COL_ENTER: {
        const orr_ms enter = orr_world_enter_ms(input->world, job);
        if (enter != ORR_MS_NONE) {
            sqlite3_result_int64(context, enter);
        }
        break;
    }
    case COL_START: result_time(context, state, state->first_start_ms); break;
    case COL_END: result_time(context, state, state->end_ms); break;
    case COL_WORK: sqlite3_result_int64(context, spec->work_ms); break;
    case COL_ESTIMATE: sqlite3_result_int64(context, spec->estimate_ms); break;
    case COL_STATE:
        sqlite3_result_int(context, state->phase == ORR_JOB_RELEASING   ? ORR_JOB_PENDING
                                    : state->phase == ORR_JOB_FINISHED  ? 3
                                    : state->phase == ORR_JOB_WITHDRAWN ? 4
                                                                        : state->phase);
        break;
    case COL_EVICTIONS: sqlite3_result_int(context, state->evictions); break;
    case COL_ATTEMPTS: sqlite3_result_int(context, state->attempts); break;
    case COL_LAST_START: result_time(context, state, state->start_ms); break;
    case COL_MIN_PODS: sqlite3_result_int64(context, shape->min_tasks); break;
    case COL_SHAPE: sqlite3_result_int64(context, spec->shape); break;
    case COL_PRIORITY: sqlite3_result_int(context, spec->priority); break;
    case COL_NODE:
        if (cursor->placement != NULL) {
            sqlite3_result_int64(context, cursor->placement->node);
        }
        break;
    case COL_DEVICES:
        if (cursor->placement != NULL && cursor->placement->devices != 0) {
            sqlite3_result_int64(context, (sqlite3_int64)cursor->placement->devices);
        }
        break;
    }
    return SQLITE_OK;
}

enum orr_status orr_store__job_source(sqlite3 *db, const struct orr_store_input *input,
                                      struct orr_err *err)
{
    static const sqlite3_module module = {.xConnect = source_connect,
                                          .xCreate = source_connect,
                                          .xBestIndex = source_best_index,
                                          .xDisconnect = source_disconnect,
                                          .xDestroy = source_disconnect,
                                          .xOpen = cursor_open,
                                          .xClose = cursor_close,
                                          .xFilter = cursor_filter,
                                          .xNext = cursor_next,
                                          .xEof = cursor_eof,
                                          .xColumn = cursor_column,
                                          .xRowid = cursor_rowid};
    /* SQLite hands the pointer back as it came; the callbacks only read through it */
    union {
        const struct orr_store_input *in;
        void *out;
    } aux = {.in = input};
    if (sqlite3_create_module(db, "orrery_job_source", &module, aux.out) != SQLITE_OK) {
        return orr_store__failed(db, err);
    }
    return orr_store__exec(db, "CREATE VIRTUAL TABLE temp.job_source USING orrery_job_source", err);
}
