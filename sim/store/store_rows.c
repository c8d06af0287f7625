/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_rows.c - every table but `job`, through prepared inserts. */
#include "store_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/sim/account.h>

struct writer { /* one prepared insert; the first failure sticks */
    sqlite3 *db;
    sqlite3_stmt *statement;
    int column;
    enum orr_status status;
    struct orr_err *err;
};

static struct writer writer_open(sqlite3 *db, const char *sql, struct orr_err *err)
{
    struct writer w = {.db = db, .err = err};
    if (sqlite3_prepare_v2(db, sql, -1, &w.statement, NULL) != SQLITE_OK) {
        w.status = orr_store__failed(db, err);
    }
    return w;
}

static void put_int(struct writer *w, int64_t value)
{
    (void)sqlite3_bind_int64(w->statement, ++w->column, value);
}

static void put_int_or_null(struct writer *w, bool known, int64_t value)
{
    w->column++;
    (void)(known ? sqlite3_bind_int64(w->statement, w->column, value)
                 : sqlite3_bind_null(w->statement, w->column));
}

static void put_real(struct writer *w, double value)
{
    w->column++;
    (void)(isfinite(value) ? sqlite3_bind_double(w->statement, w->column, value)
                           : sqlite3_bind_null(w->statement, w->column));
}

/* The text must live until put_row. */
static void put_text(struct writer *w, const char *text)
{
    (void)sqlite3_bind_text(w->statement, ++w->column, text, -1, SQLITE_STATIC);
}

static void put_row(struct writer *w)
{
    if (w->status == ORR_OK && w->column != sqlite3_bind_parameter_count(w->statement)) {
        w->status = orr_fail(w->err, ORR_BUG, "a row of %d values for %d columns: %s", w->column,
                             sqlite3_bind_parameter_count(w->statement), sqlite3_sql(w->statement));
    }
    w->column = 0;
    if (w->status == ORR_OK && sqlite3_step(w->statement) != SQLITE_DONE) {
        w->status = orr_store__failed(w->db, w->err);
    }
    (void)sqlite3_reset(w->statement);
}

static enum orr_status writer_close(struct writer *w)
{
    (void)sqlite3_finalize(w->statement);
    return w->status;
}

/* "order=submit\nbackfill=true\n", of several shards "NAME.order=submit\n..."; caller frees. */
static char *params_text(const struct orr_store_input *in, uint32_t first, uint32_t count)
{
    size_t bytes = 1;
    char *text = orr_zalloc(bytes, 1);
    for (uint32_t s = first; s < first + count; s++) {
        const struct orr_engine_shard *shard = &in->shards[s];
        for (const struct orr_param *row = shard->policy->params; row->name != NULL; row++) {
            char value[200], line[800];
            orr_params_format(row, shard->params, value, sizeof value);
            int n = snprintf(line, sizeof line, "%.300s%s%s=%s\n",
                             count > 1 ? in->scenario->shards[s].name : "", count > 1 ? "." : "",
                             row->name, value);
            text = orr_realloc(text, bytes + (size_t)n, 1);
            memcpy(text + bytes - 1, line, (size_t)n + 1);
            bytes += (size_t)n;
        }
    }
    return text;
}

static enum orr_status write_run(sqlite3 *db, const struct orr_store_input *in, struct orr_err *err)
{
    static const char *const warmup_names[] = {"stated", "detected", "not found"};
    static const char *const status_names[] = {"finished", "horizon", "interrupted"};
    struct writer w =
        writer_open(db, "INSERT INTO run VALUES(1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err);
    char digest[20];
    char *params = params_text(in, 0, in->scenario->shard_count);
    char names[200];
    orr_engine_policy_names(in->shards, in->scenario->shard_count, names, sizeof names);
    orr_ms origin =
        in->world->part_count > 0 ? in->world->parts[0].workload.clock_origin_ms : ORR_MS_NONE;
    (void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)in->run->digest);
    put_text(&w, in->scenario->name);
    put_text(&w, status_names[in->run->status]);
    put_text(&w, names);
    put_text(&w, params);
    put_int(&w, (int64_t)in->seed);
    put_text(&w, digest);
    put_text(&w, in->scenario->given_text == NULL ? "" : in->scenario->given_text);
    put_text(&w, in->scenario->resolved_yaml);
    put_text(&w, in->orrery_version);
    put_int_or_null(&w, origin != ORR_MS_NONE, origin);
    put_int(&w, in->summary->window_start_ms);
    put_int(&w, in->summary->window_end_ms);
    put_int(&w, in->run->end_ms);
    put_int(&w, in->run->fold.capacity_mgpu);
    put_int(&w, in->run->fold.bucket_ms);
    put_text(&w, warmup_names[in->run->warmup]);
    put_row(&w);
    orr_free(params);
    return writer_close(&w);
}

static enum orr_status write_inputs(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO input VALUES(?,?,?,?,?,?,?,?)", err);
    for (uint32_t i = 0; i < in->world->part_count; i++) {
        const struct orr_world_part *p = &in->world->parts[i];
        put_text(&w, p->part->label);
        put_text(&w, p->part->format);
        put_text(&w, p->workload.sha256);
        put_int(&w, p->workload.file_bytes);
        put_int(&w, (int64_t)p->workload.rows_read);
        put_int(&w, (int64_t)p->workload.rejects.count);
        put_text(&w, p->workload.rejects.shown == NULL ? "" : p->workload.rejects.shown);
        put_text(&w, p->workload.notes == NULL ? "" : p->workload.notes);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_meta(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO run_meta VALUES(?,?)", err);
    for (size_t i = 0; i < in->meta_count; i++) {
        put_text(&w, in->meta[i].key);
        put_text(&w, in->meta[i].value);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_nodes(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    const struct orr_cluster *cluster = &in->world->cluster;
    struct writer w = writer_open(db, "INSERT INTO node VALUES(?,?,?,?,?,?,?)", err);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        int64_t cpu = type->allocatable.v[ORR_RES_CPU], mem = type->allocatable.v[ORR_RES_MEMORY];
        put_int(&w, n);
        put_text(&w, orr_idmap_name(&cluster->node_names, n));
        put_text(&w, orr_idmap_name(&cluster->pools, cluster->nodes[n].pool));
        put_int(&w, type->gpus);
        put_text(&w, type->gpu_model == ORR_NONE
                         ? NULL
                         : orr_idmap_name(&cluster->models, type->gpu_model));
        put_int_or_null(&w, cpu < ORR_AMOUNT_UNLIMITED, cpu);
        put_int_or_null(&w, mem < ORR_AMOUNT_UNLIMITED, mem);
        put_row(&w);
    }
    enum orr_status status = writer_close(&w);
    struct writer d = writer_open(db, "INSERT INTO node_domain VALUES(?,?,?)", err);
    for (uint32_t l = 0; l < cluster->level_count && status == ORR_OK; l++) {
        for (uint32_t n = 0; n < cluster->node_count; n++) {
            put_int(&d, n);
            put_text(&d, cluster->levels[l].name);
            put_int(&d, cluster->levels[l].domain_of_node[n]);
            put_row(&d);
        }
    }
    enum orr_status domains = writer_close(&d);
    return status != ORR_OK ? status : domains;
}

static enum orr_status write_foreign(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO foreign_pods VALUES(?,?)", err);
    for (uint32_t n = 0; n < in->world->cluster.node_count; n++) {
        const uint32_t gpus = orr_node_type_foreign_gpus(orr_cluster_type(&in->world->cluster, n));
        if (gpus > 0) {
            put_int(&w, n);
            put_int(&w, gpus);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_non_preemptible(sqlite3 *db, const struct orr_store_input *in,
                                             struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO non_preemptible VALUES(?)", err);
    for (uint32_t j = 0; j < in->world->job_count; j++) {
        if (in->world->specs[j].preemptible == 0) {
            put_int(&w, j);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_pools(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO pool VALUES(?,?,?,?,?,?)", err);
    for (uint32_t p = 0; p < in->world->pool_count; p++) {
        const struct orr_world_pool *pool = &in->world->pools[p];
        put_text(&w, pool->name);
        put_real(&w, pool->price > 0.0 ? pool->price : (double)NAN);
        put_int_or_null(&w, pool->autoscaled, pool->min);
        put_int_or_null(&w, pool->autoscaled, pool->max);
        put_int_or_null(&w, pool->autoscaled, pool->provision_ms);
        put_int_or_null(&w, pool->autoscaled, pool->idle_ms);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_queues(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    const struct orr_queues *queues = &in->world->queues;
    struct writer w = writer_open(db, "INSERT INTO queue VALUES(?,?,?,?,?,?,?,?)", err);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_queue *queue = &queues->queues[q];
        const struct orr_entitlement *gpu = &queue->resources[ORR_SHARE_GPU];
        put_int(&w, q);
        put_text(&w, orr_idmap_name(&queues->names, q));
        put_int_or_null(&w, queue->parent != ORR_NONE, queue->parent);
        put_int(&w, queue->child_count == 0);
        put_int(&w, queue->priority);
        put_real(&w, gpu->quota);
        put_real(&w, gpu->limit);
        put_real(&w, gpu->weight);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_owed(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO queue_change VALUES(?,?,?,?,?,?)", err);
    for (uint32_t i = 0; i < in->run->owed_count; i++) {
        const struct orr_world_owed *owed = &in->world->owed[i];
        const struct orr_entitlement *gpu = &owed->resources[ORR_SHARE_GPU];
        put_int(&w, owed->queue);
        put_int(&w, owed->at_ms);
        put_int(&w, owed->priority);
        put_real(&w, gpu->quota);
        put_real(&w, gpu->limit);
        put_real(&w, gpu->weight);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_names(sqlite3 *db, struct orr_err *err)
{
    struct writer k = writer_open(db, "INSERT INTO kind VALUES(?,?)", err);
    for (int i = 0; i < ORR_KIND_COUNT; i++) {
        put_int(&k, i);
        put_text(&k, orr_kind_name((enum orr_kind)i));
        put_row(&k);
    }
    enum orr_status status = writer_close(&k);
    struct writer r = writer_open(db, "INSERT INTO reason VALUES(?,?,?)", err);
    for (int i = 0; i < ORR_REASON_COUNT; i++) {
        put_int(&r, i);
        put_text(&r, orr_reason_code((enum orr_reason)i));
        put_text(&r, orr_reason_words((enum orr_reason)i));
        put_row(&r);
    }
    enum orr_status reasons = writer_close(&r);
    struct writer o = writer_open(db, "INSERT INTO outcome VALUES(?,?,?)", err);
    for (int i = 0; i < ORR_OUTCOME_COUNT; i++) {
        put_int(&o, i);
        put_text(&o, orr_outcome_code((enum orr_outcome)i));
        put_text(&o, orr_outcome_words((enum orr_outcome)i));
        put_row(&o);
    }
    enum orr_status outcomes = writer_close(&o);
    struct writer u = writer_open(db, "INSERT INTO rule VALUES(?,?,?)", err);
    for (int i = 0; i < ORR_RULE_COUNT; i++) {
        put_int(&u, i);
        put_text(&u, orr_rule_code((enum orr_rule)i));
        put_text(&u, orr_rule_words((enum orr_rule)i));
        put_row(&u);
    }
    enum orr_status rules = writer_close(&u);
    outcomes = outcomes != ORR_OK ? outcomes : rules;
    return status != ORR_OK ? status : reasons != ORR_OK ? reasons : outcomes;
}

static enum orr_status write_asks(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    const struct orr_shapes *shapes = &in->world->shapes;
    struct writer w = writer_open(db, "INSERT INTO ask VALUES(?,?,?,?,?,?,?,?,?,?,?)", err);
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

static enum orr_status write_placements(sqlite3 *db, const struct orr_store_input *in,
                                        struct orr_err *err)
{
    const struct orr_ledger *ledger = in->run->ledger;
    struct writer w = writer_open(db, "INSERT INTO placement VALUES(?,?,?,?,?,?,?,?,?)", err);
    for (uint32_t p = 0; p < ledger->placement_count && w.status == ORR_OK; p++) {
        const struct orr_placement *placement = &ledger->placements[p];
        const struct orr_node_type *type = orr_cluster_type(&in->world->cluster, placement->node);
        const struct orr_shape *shape =
            &in->world->shapes.shapes[in->world->specs[placement->job].shape];
        if (orr_store__is_inline(ledger, p)) {
            continue;
        }
        put_int(&w, placement->job);
        put_int(&w, placement->attempt);
        put_int(&w, placement->node);
        put_int(&w, placement->tasks);
        put_int(&w, placement->tasks *
                        orr_request_task_mgpu(&shape->groups[placement->group].request, type));
        put_int_or_null(&w, placement->devices != 0, (int64_t)placement->devices);
        put_int(&w, placement->since_ms);
        put_int_or_null(&w, placement->hold == ORR_HOLD_ENDED, placement->until_ms);
        put_int(&w, placement->group);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_attempts(sqlite3 *db, const struct orr_store_input *in,
                                      struct orr_err *err)
{
    struct writer a = writer_open(db, "INSERT INTO attempt VALUES(?,?,?,?,?)", err);
    uint16_t *number =
        in->run->attempt_count > 0 ? orr_zalloc(in->world->job_count, sizeof *number) : NULL;
    for (uint32_t i = 0; i < in->run->attempt_count; i++) {
        const struct orr_attempt *attempt = &in->run->attempts[i];
        put_int(&a, attempt->job);
        put_int(&a, ++number[attempt->job]);
        put_int(&a, attempt->start_ms);
        put_int(&a, attempt->end_ms);
        put_text(&a, orr_cause_words((enum orr_cause)attempt->cause));
        put_row(&a);
    }
    orr_free(number);
    return writer_close(&a);
}

static enum orr_status write_evictions(sqlite3 *db, const struct orr_store_input *in,
                                       struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO eviction VALUES(?,?,?,?,?,?,?,?)", err);
    for (uint32_t i = 0; i < in->run->eviction_count && w.status == ORR_OK; i++) {
        const struct orr_eviction *e = &in->run->evictions[i];
        put_int(&w, e->job);
        put_int(&w, e->at_ms);
        put_int(&w, e->gone_ms);
        put_text(&w, orr_cause_words((enum orr_cause)e->cause));
        put_int(&w, e->tasks);
        put_int(&w, e->whole);
        put_int_or_null(&w, e->beneficiary != ORR_NONE, e->beneficiary);
        put_int_or_null(&w, e->beneficiary != ORR_NONE, e->used);
        put_row(&w);
    }
    return writer_close(&w);
}

/* Of one of the two kinds. */
static enum orr_status write_out(sqlite3 *db, const struct orr_store_input *in, bool away,
                                 struct orr_err *err)
{
    struct writer w = writer_open(
        db, away ? "INSERT INTO away VALUES(?,?,?)" : "INSERT INTO outage VALUES(?,?,?)", err);
    for (uint32_t i = 0; i < in->run->outage_count && w.status == ORR_OK; i++) {
        const struct orr_outage *o = &in->run->outages[i];
        if (o->away != away) {
            continue;
        }
        put_int(&w, o->node);
        put_int(&w, o->from_ms);
        put_int_or_null(&w, o->to_ms != ORR_MS_NEVER, o->to_ms);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_outages(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    enum orr_status status = write_out(db, in, false, err);
    return status == ORR_OK ? write_out(db, in, true, err) : status;
}

static enum orr_status write_times(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w =
        writer_open(db, "INSERT INTO job_time VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err);
    for (uint32_t j = 0; j < in->world->job_count && w.status == ORR_OK; j++) {
        const struct orr_job_time *time = orr_account_of(in->run, j);
        if (orr_job_time_sum(time) == orr_job_time_good(time)) {
            continue;
        }
        put_int(&w, j);
        put_int(&w, time->useful);
        for (int c = ORR_CAUSE_NONE + 1; c < ORR_CAUSE_COUNT; c++) {
            put_int(&w, time->lost[c]);
        }
        put_int(&w, time->checkpoint);
        put_int(&w, time->restart);
        put_int(&w, time->waiting);
        put_int(&w, time->slow);
        put_int(&w, time->idle);
        put_row(&w);
    }
    return writer_close(&w);
}

static const char *extent_name(const struct orr_cluster *cluster, uint32_t extent)
{
    switch (extent) {
    case ORR_EXTENT_GPU: return "gpu";
    case ORR_EXTENT_NVLINK: return "nvlink";
    case ORR_EXTENT_NODE: return "node";
    case ORR_EXTENT_CLUSTER: return "cluster";
    default: return cluster->levels[extent - ORR_EXTENT_LEVEL].name;
    }
}

static enum orr_status write_rates(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO rate VALUES(?,?,?,?,?,?)", err);
    uint32_t count = 0;
    const struct orr_speed_change *changes =
        in->run->exec == NULL ? NULL : orr_exec_speeds(in->run->exec, &count);
    for (uint32_t i = 0; i < count && w.status == ORR_OK; i++) {
        put_int(&w, changes[i].job);
        put_int(&w, changes[i].attempt);
        put_int(&w, changes[i].at_ms);
        put_int(&w, changes[i].speed.rate_ppm);
        put_int(&w, changes[i].speed.best_ppm);
        put_text(&w, extent_name(&in->world->cluster, changes[i].speed.extent));
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_reasons(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    const struct orr_cluster *cluster = &in->world->cluster;
    struct writer w =
        writer_open(db, "INSERT INTO reason_change VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err);
    for (uint32_t i = 0; i < in->run->reason_count && w.status == ORR_OK; i++) {
        const struct orr_reason_change *change = &in->run->reasons[i];
        const struct orr_proof *proof = &change->proof;
        put_int(&w, change->job);
        put_int(&w, change->at_ms);
        put_int(&w, change->reason);
        put_int_or_null(&w, proof->allowed_mgpu >= 0, proof->allowed_mgpu);
        put_int_or_null(&w, proof->held_mgpu >= 0, proof->held_mgpu);
        put_int_or_null(&w, proof->queue != ORR_NONE, proof->queue);
        put_int_or_null(&w, proof->free_mgpu >= 0, proof->free_mgpu);
        put_int_or_null(&w, proof->hole_mgpu >= 0, proof->hole_mgpu);
        put_text(&w,
                 proof->level == ORR_NONE ? NULL : orr_cluster_level_name(cluster, proof->level));
        put_int_or_null(&w, proof->domain != ORR_NONE, proof->domain);
        put_int_or_null(&w, proof->domain_mgpu >= 0, proof->domain_mgpu);
        put_int_or_null(&w, proof->ahead != ORR_NONE, proof->ahead);
        put_int_or_null(&w, proof->consolidation != ORR_OUTCOME_NOT_TRIED, proof->consolidation);
        put_int_or_null(&w, proof->reclaim != ORR_OUTCOME_NOT_TRIED, proof->reclaim);
        put_int_or_null(&w, proof->preempt != ORR_OUTCOME_NOT_TRIED, proof->preempt);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_fair_shares(sqlite3 *db, const struct orr_store_input *in,
                                         struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO fair_share VALUES(?,?,?)", err);
    for (uint32_t i = 0; i < in->run->share_count && w.status == ORR_OK; i++) {
        const struct orr_share_change *change = &in->run->shares[i];
        put_int(&w, change->queue);
        put_int(&w, change->at_ms);
        put_real(&w, change->mgpu < 0.0 ? (double)NAN : change->mgpu);
        put_row(&w);
    }
    return writer_close(&w);
}

/* Of a queue over a bucket, mGPU x ms; NAN: it has none. */
static double own_share(const struct orr_summary *summary, uint32_t bucket, uint32_t queue,
                        uint32_t queues)
{
    const struct orr_own_shares *own = &summary->own_shares;
    bool has = own->known != NULL && own->known[queue];
    return has ? own->bucket_mgpu_ms[(size_t)bucket * queues + queue] : (double)NAN;
}

static enum orr_status write_series(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    const struct orr_fold *fold = &in->run->fold;
    struct writer w = writer_open(db, "INSERT INTO series VALUES(?,?,?,?,?,?,?)", err);
    for (uint32_t b = 0; b < fold->bucket_count && w.status == ORR_OK; b++) {
        orr_ms start = fold->origin_ms + b * fold->bucket_ms;
        orr_ms end =
            start + fold->bucket_ms < in->run->end_ms ? start + fold->bucket_ms : in->run->end_ms;
        double length = end > start ? (double)(end - start) : 1.0;
        for (uint32_t q = 0; q < in->world->queues.count; q++) {
            const struct orr_integrals *i = &fold->buckets[(size_t)b * in->world->queues.count + q];
            if (in->world->queues.queues[q].child_count > 0) {
                continue;
            }
            put_int(&w, start);
            put_int(&w, q);
            put_real(&w, (double)i->allocated / length);
            put_real(&w, (double)i->pending / length);
            put_real(&w, (double)i->pending_jobs / length);
            put_real(&w, ((double)i->allocated + i->share_excess) / length);
            put_real(&w, own_share(in->summary, b, q, in->world->queues.count) / length);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_room(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    const struct orr_fold *fold = &in->run->fold;
    const struct orr_room_summary *room = &in->summary->room;
    struct writer w = writer_open(db, "INSERT INTO room VALUES(?,?,?)", err);
    for (uint32_t b = 0; b < room->bucket_count && w.status == ORR_OK; b++) {
        put_int(&w, fold->origin_ms + b * fold->bucket_ms);
        put_real(&w, room->buckets[b].idle_mgpu);
        put_real(&w, room->buckets[b].unusable_mgpu);
        put_row(&w);
    }
    enum orr_status status = writer_close(&w);
    struct writer g = writer_open(db, "INSERT INTO startable VALUES(?,?,?,?)", err);
    for (uint32_t i = 0; i < room->bucket_count * room->level_count && g.status == ORR_OK; i++) {
        put_int(&g, fold->origin_ms + i / room->level_count * fold->bucket_ms);
        put_text(&g, orr_room_level_name(in->world, i % room->level_count));
        put_real(&g, room->gangs[i].mean);
        put_int(&g, room->gangs[i].least);
        put_row(&g);
    }
    enum orr_status gangs = writer_close(&g);
    return status != ORR_OK ? status : gangs;
}

static void put_metric(const struct orr_metric *metric, void *context)
{
    struct writer *w = context;
    put_text(w, metric->name);
    put_text(w, metric->scope);
    put_text(w, metric->label);
    put_real(w, metric->value);
    put_text(w, metric->unit);
    put_int(w, (int64_t)metric->n);
    put_text(w, metric->definition);
    put_row(w);
}

static enum orr_status write_metrics(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO metric VALUES(?,?,?,?,?,?,?)", err);
    orr_summary_metrics(in->world, in->summary, put_metric, &w);
    return writer_close(&w);
}

static enum orr_status write_ruled(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO ruled VALUES(?,?)", err);
    for (uint32_t i = 0; i < in->world->ruled_count; i++) {
        put_int(&w, in->world->ruled[i].job);
        put_int(&w, in->world->ruled[i].rule);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_shards(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO shard VALUES(?,?,?,?,?)", err);
    for (uint32_t s = 0; s < in->scenario->shard_count; s++) {
        char *params = params_text(in, s, 1);
        put_int(&w, s);
        put_text(&w, in->scenario->shards[s].name);
        put_text(&w, in->shards[s].policy->name);
        put_text(&w, params);
        put_int(&w, in->run->fold.shard_capacity_mgpu[s]);
        put_row(&w);
        orr_free(params);
    }
    enum orr_status status = writer_close(&w);
    struct writer q = writer_open(db, "INSERT INTO shard_queue VALUES(?,?)", err);
    for (uint32_t i = 0; i < in->world->queues.count; i++) {
        put_int(&q, i);
        put_int(&q, in->world->queues.queues[i].shard);
        put_row(&q);
    }
    enum orr_status queues = writer_close(&q);
    struct writer p = writer_open(db, "INSERT INTO shard_pool VALUES(?,?)", err);
    for (uint32_t i = 0; i < in->scenario->pool_count; i++) {
        put_text(&p, in->scenario->pools[i].name);
        put_int(&p, in->world->cluster.types[i].shard);
        put_row(&p);
    }
    enum orr_status pools = writer_close(&p);
    return status != ORR_OK ? status : queues != ORR_OK ? queues : pools;
}

/* Copies of a trace did not happen; only the first has a record. */
static enum orr_status write_recorded(sqlite3 *db, const struct orr_store_input *in,
                                      struct orr_err *err)
{
    struct writer w = writer_open(db, "INSERT INTO recorded VALUES(?,?,?)", err);
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
    struct writer w = writer_open(db, "INSERT INTO hold VALUES(?,?)", err);
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
    struct writer w = writer_open(db, "INSERT INTO deadline VALUES(?,?)", err);
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
    struct writer w = writer_open(db, "INSERT INTO batch VALUES(?,?)", err);
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

static enum orr_status write_name_tables(sqlite3 *db, const struct orr_store_input *in,
                                         struct orr_err *err)
{
    (void)in;
    return write_names(db, err);
}

enum orr_status orr_store__write_rows(sqlite3 *db, const struct orr_store_input *input,
                                      struct orr_err *err)
{
    typedef enum orr_status write_fn(sqlite3 *, const struct orr_store_input *, struct orr_err *);
    static write_fn *const tables[] = {
        write_run,         write_inputs,     write_meta,     write_nodes,
        write_foreign,     write_pools,      write_queues,   write_owed,
        write_name_tables, write_recorded,   write_holds,    write_non_preemptible,
        write_deadlines,   write_batches,    write_shards,   write_ruled,
        write_asks,        write_placements, write_attempts, write_evictions,
        write_times,       write_outages,    write_rates,    write_reasons,
        write_fair_shares, write_series,     write_room,     write_metrics};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        enum orr_status status = tables[i](db, input, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    return ORR_OK;
}
