/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_rows.c - the tables of the run, its cluster and queues, and what became of jobs. */
#include "store_sql.h"
#include "store_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/sim/account.h>
#include <orrery/sim/plugin.h>

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
    static const char *const warmup_names[] = {"stated", "detected", "not found", "not heeded"};
    static const char *const status_names[] = {"finished", "horizon", "interrupted"};
    struct writer w = writer_open(db, orr_store_sql__run, err);
    char digest[20];
    char *params = params_text(in, 0, in->scenario->shard_count);
    char names[200];
    orr_engine_policy_names(in->shards, in->scenario->shard_count, names, sizeof names);
    const orr_ms origin = orr_world_clock_origin_ms(in->world, in->scenario);
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
    put_int(&w, in->world->begin_ms);
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

/* Policies from outside; of one that several shards have a row each. */
static void put_policy_files(struct writer *w, const struct orr_store_input *in)
{
    for (uint32_t s = 0; s < in->scenario->shard_count; s++) {
        uint32_t count;
        const struct orr_plugin_file *files = orr_plugin_files(in->shards[s].plugin, &count);
        for (uint32_t i = 0; i < count; i++) {
            put_text(w, files[i].path);
            put_text(w, "policy");
            put_text(w, files[i].sha256);
            put_int(w, files[i].bytes);
            put_int(w, 0);
            put_int(w, 0);
            put_text(w, "");
            put_text(w, "");
            put_row(w);
        }
    }
}

static enum orr_status write_inputs(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__input, err);
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
    put_policy_files(&w, in);
    return writer_close(&w);
}

static enum orr_status write_meta(sqlite3 *db, const struct orr_store_input *in,
                                  struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__run_meta, err);
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
    struct writer w = writer_open(db, orr_store_sql__node, err);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        int64_t cpu = type->allocatable.v[ORR_RES_CPU], mem = type->allocatable.v[ORR_RES_MEMORY];
        int64_t pods = type->allocatable.v[ORR_RES_PODS];
        put_int(&w, n);
        put_text(&w, orr_idmap_name(&cluster->node_names, n));
        put_text(&w, orr_idmap_name(&cluster->pools, cluster->nodes[n].pool));
        put_int(&w, type->gpus + type->mig_gpus);
        put_text(&w, type->gpu_model == ORR_NONE
                         ? NULL
                         : orr_idmap_name(&cluster->models, type->gpu_model));
        put_int_or_null(&w, cpu < ORR_AMOUNT_UNLIMITED, cpu);
        put_int_or_null(&w, mem < ORR_AMOUNT_UNLIMITED, mem);
        put_int_or_null(&w, type->gpu_memory_mib > 0, type->gpu_memory_mib);
        put_int_or_null(&w, pods < ORR_AMOUNT_UNLIMITED, pods);
        put_int(&w, type->mig_gpus);
        put_row(&w);
    }
    enum orr_status status = writer_close(&w);
    struct writer d = writer_open(db, orr_store_sql__node_domain, err);
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

/* What the scenario calls the domain of a level that the whole pool is in; NULL: nothing. */
static const char *domain_name(const struct orr_scenario_pool *pool, const char *level)
{
    return strcmp(level, "zone") == 0    ? pool->zone
           : strcmp(level, "block") == 0 ? pool->block
           : strcmp(level, "rack") == 0  ? pool->rack
                                         : NULL;
}

static enum orr_status write_domain_names(sqlite3 *db, const struct orr_store_input *in,
                                          struct orr_err *err)
{
    const struct orr_cluster *cluster = &in->world->cluster;
    struct writer w = writer_open(db, orr_store_sql__domain_name, err);
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        const struct orr_level *level = &cluster->levels[l];
        for (uint32_t p = 0; p < in->world->pool_count; p++) {
            const char *name = domain_name(&in->scenario->pools[p], level->name);
            if (name != NULL && in->world->pools[p].node_count > 0) {
                put_text(&w, level->name);
                put_int(&w, level->domain_of_node[in->world->pools[p].first_node]);
                put_text(&w, name);
                put_row(&w);
            }
        }
    }
    return writer_close(&w);
}

static enum orr_status write_instances(sqlite3 *db, const struct orr_store_input *in,
                                       struct orr_err *err)
{
    const struct orr_cluster *cluster = &in->world->cluster;
    struct writer w = writer_open(db, orr_store_sql__mig, err);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(cluster, n);
        for (uint32_t p = 0; p < cluster->mig_profiles.count; p++) {
            if (type->mig[p] > 0) {
                put_int(&w, n);
                put_text(&w, orr_idmap_name(&cluster->mig_profiles, p));
                put_int(&w, type->mig[p]);
                put_row(&w);
            }
        }
    }
    return writer_close(&w);
}

static enum orr_status write_foreign(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__foreign_pods, err);
    for (uint32_t n = 0; n < in->world->cluster.node_count; n++) {
        const struct orr_node_type *type = orr_cluster_type(&in->world->cluster, n);
        const uint32_t gpus = orr_node_type_foreign_gpus(type);
        const int64_t cpu_milli = type->foreign.v[ORR_RES_CPU];
        const int64_t mem_bytes = type->foreign.v[ORR_RES_MEMORY];
        if (gpus > 0 || cpu_milli > 0 || mem_bytes > 0) {
            put_int(&w, n);
            put_int(&w, gpus);
            put_int(&w, cpu_milli);
            put_int(&w, mem_bytes);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_pools(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__pool, err);
    for (uint32_t p = 0; p < in->world->pool_count; p++) {
        const struct orr_world_pool *pool = &in->world->pools[p];
        put_text(&w, pool->name);
        put_real(&w, pool->price >= 0.0 ? pool->price : (double)NAN);
        put_int_or_null(&w, pool->autoscaled, pool->min);
        put_int_or_null(&w, pool->autoscaled, pool->max);
        put_int_or_null(&w, pool->autoscaled, pool->provision_ms);
        put_int_or_null(&w, pool->autoscaled, pool->idle_ms);
        const struct orr_cluster *cluster = &in->world->cluster;
        uint32_t nvlink = p < cluster->type_count ? cluster->types[p].nvlink_domain : 0;
        put_int_or_null(&w, nvlink > 0, nvlink);
        put_int_or_null(&w, pool->idle_power_w >= 0, pool->idle_power_w);
        put_int_or_null(&w, pool->full_power_w >= 0, pool->full_power_w);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_queues(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    const struct orr_queues *queues = &in->world->queues;
    struct writer w = writer_open(db, orr_store_sql__queue, err);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_queue *queue = &queues->queues[q];
        const struct orr_entitlement *gpu = &queue->resources[ORR_SHARE_GPU];
        put_int(&w, q);
        put_text(&w, orr_idmap_name(&queues->names, q));
        put_text(&w, orr_idmap_name(&in->world->shown, q));
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

static enum orr_status write_queue_changes(sqlite3 *db, const struct orr_store_input *in,
                                           struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__queue_change, err);
    for (uint32_t i = 0; i < in->run->queue_change_count; i++) {
        const struct orr_world_queue_change *change = &in->world->queue_changes[i];
        const struct orr_entitlement *gpu = &change->resources[ORR_SHARE_GPU];
        put_int(&w, change->queue);
        put_int(&w, change->at_ms);
        put_int(&w, change->priority);
        put_real(&w, gpu->quota);
        put_real(&w, gpu->limit);
        put_real(&w, gpu->weight);
        put_row(&w);
    }
    return writer_close(&w);
}

static bool is_bounded(const struct orr_entitlement *resource)
{
    return resource->quota >= 0 || resource->limit >= 0;
}

/* A queue's entitlement to CPU or memory; nothing of the start where nothing is stated. */
static void put_bound(struct writer *w, uint32_t queue, orr_ms at_ms,
                      const struct orr_entitlement *resources, enum orr_share_kind kind)
{
    if (at_ms == ORR_MS_NONE && !is_bounded(&resources[kind])) {
        return;
    }
    put_int(w, queue);
    put_int_or_null(w, at_ms != ORR_MS_NONE, at_ms);
    put_text(w, kind == ORR_SHARE_CPU ? "cpu" : "memory");
    put_real(w, resources[kind].quota);
    put_real(w, resources[kind].limit);
    put_real(w, resources[kind].weight);
    put_row(w);
}

static enum orr_status write_bounds(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    const struct orr_queues *queues = &in->world->queues;
    struct writer w = writer_open(db, orr_store_sql__queue_bound, err);
    for (uint32_t q = 0; q < queues->count; q++) {
        put_bound(&w, q, ORR_MS_NONE, queues->queues[q].resources, ORR_SHARE_CPU);
        put_bound(&w, q, ORR_MS_NONE, queues->queues[q].resources, ORR_SHARE_MEMORY);
    }
    for (uint32_t i = 0; i < in->run->queue_change_count; i++) {
        const struct orr_world_queue_change *change = &in->world->queue_changes[i];
        if (is_bounded(&change->resources[ORR_SHARE_CPU]) ||
            is_bounded(&change->resources[ORR_SHARE_MEMORY])) {
            put_bound(&w, change->queue, change->at_ms, change->resources, ORR_SHARE_CPU);
            put_bound(&w, change->queue, change->at_ms, change->resources, ORR_SHARE_MEMORY);
        }
    }
    return writer_close(&w);
}

static enum orr_status write_names(sqlite3 *db, struct orr_err *err)
{
    struct writer k = writer_open(db, orr_store_sql__kind, err);
    for (int i = 0; i < ORR_KIND_COUNT; i++) {
        put_int(&k, i);
        put_text(&k, orr_kind_name((enum orr_kind)i));
        put_row(&k);
    }
    enum orr_status status = writer_close(&k);
    struct writer r = writer_open(db, orr_store_sql__reason, err);
    for (int i = 0; i < ORR_REASON_COUNT; i++) {
        put_int(&r, i);
        put_text(&r, orr_reason_code((enum orr_reason)i));
        put_text(&r, orr_reason_words((enum orr_reason)i));
        put_row(&r);
    }
    enum orr_status reasons = writer_close(&r);
    struct writer o = writer_open(db, orr_store_sql__outcome, err);
    for (int i = 0; i < ORR_OUTCOME_COUNT; i++) {
        put_int(&o, i);
        put_text(&o, orr_outcome_code((enum orr_outcome)i));
        put_text(&o, orr_outcome_words((enum orr_outcome)i));
        put_row(&o);
    }
    enum orr_status outcomes = writer_close(&o);
    struct writer u = writer_open(db, orr_store_sql__rule, err);
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

static void put_placement(struct writer *w, const struct orr_store_input *in,
                          const struct orr_placement *placement)
{
    const struct orr_node_type *type = orr_cluster_type(&in->world->cluster, placement->node);
    const struct orr_shape *shape =
        &in->world->shapes.shapes[in->world->specs[placement->job].shape];
    const struct orr_request *request = &shape->groups[placement->group].request;
    const uint32_t each = orr_placement_each(placement);
    put_int(w, placement->job);
    put_int(w, placement->attempt);
    put_int(w, placement->node);
    put_int(w, placement->more_nodes + 1);
    put_int(w, each);
    put_int(w, each * orr_request_task_mgpu(request, type));
    put_int_or_null(w, placement->devices != 0, (int64_t)placement->devices);
    put_int(w, placement->since_ms);
    put_int_or_null(w, placement->hold == ORR_HOLD_ENDED, placement->until_ms);
    put_int(w, placement->group);
    put_row(w);
}

/* Those that follow each other on nodes in a row are one row. */
static enum orr_status write_placements(sqlite3 *db, const struct orr_store_input *in,
                                        struct orr_err *err)
{
    const struct orr_ledger *ledger = in->run->ledger;
    struct writer w = writer_open(db, orr_store_sql__placement, err);
    for (uint32_t p = 0; p < ledger->placement_count && w.status == ORR_OK; p++) {
        struct orr_placement placement = ledger->placements[p];
        if (orr_store__is_inline(ledger, p)) {
            continue;
        }
        while (p + 1 < ledger->placement_count &&
               orr_placement_goes_on(&in->world->cluster, &placement, &ledger->placements[p + 1])) {
            placement.tasks += ledger->placements[++p].tasks;
            placement.more_nodes++;
        }
        put_placement(&w, in, &placement);
    }
    return writer_close(&w);
}

static void put_attempt(struct writer *w, const struct orr_attempt *attempt, uint16_t nr)
{
    put_int(w, attempt->job);
    put_int(w, nr);
    put_int(w, attempt->start_ms);
    put_int_or_null(w, attempt->end_ms != ORR_MS_NEVER, attempt->end_ms);
    put_text(w, orr_cause_words((enum orr_cause)attempt->cause));
    put_row(w);
}

/* The last ones of jobs whose grace outlasts the run come last. */
static enum orr_status write_attempts(sqlite3 *db, const struct orr_store_input *in,
                                      struct orr_err *err)
{
    const struct orr_ledger *ledger = in->run->ledger;
    struct writer a = writer_open(db, orr_store_sql__attempt, err);
    uint16_t *number =
        in->run->attempt_count > 0 ? orr_zalloc(in->world->job_count, sizeof *number) : NULL;
    for (uint32_t i = 0; i < in->run->attempt_count; i++) {
        const struct orr_attempt *attempt = &in->run->attempts[i];
        put_attempt(&a, attempt, ++number[attempt->job]);
    }
    for (uint32_t j = 0; j < in->world->job_count && in->run->eviction_count > 0; j++) {
        const struct orr_job_state *state = &ledger->jobs[j];
        if (state->phase == ORR_JOB_RELEASING) {
            const struct orr_attempt open = {.job = j,
                                             .start_ms = state->start_ms,
                                             .end_ms = ORR_MS_NEVER,
                                             .cause = ledger->placements[state->placement].cause};
            put_attempt(&a, &open, state->attempts);
        }
    }
    orr_free(number);
    return writer_close(&a);
}

static enum orr_status write_wanted(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__wanted, err);
    for (uint32_t i = 0; i < in->run->asked_count && w.status == ORR_OK; i++) {
        const struct orr_asked_change *asked = &in->run->asked[i];
        const struct orr_shape *shape =
            &in->world->shapes.shapes[in->world->specs[asked->job].shape];
        const struct orr_request *last = &shape->groups[shape->group_count - 1].request;
        put_int(&w, asked->job);
        put_int(&w, asked->at_ms);
        put_int(&w, asked->pods);
        put_int(&w, shape->gpus_mgpu - (shape->tasks - asked->pods) * orr_request_mgpu(last));
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_evictions(sqlite3 *db, const struct orr_store_input *in,
                                       struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__eviction, err);
    for (uint32_t i = 0; i < in->run->eviction_count && w.status == ORR_OK; i++) {
        const struct orr_eviction *e = &in->run->evictions[i];
        put_int(&w, e->job);
        put_int(&w, e->at_ms);
        put_int(&w, e->gone_ms);
        put_text(&w, orr_cause_words((enum orr_cause)e->cause));
        put_int(&w, e->tasks);
        put_int(&w, e->whole);
        put_int_or_null(&w, e->beneficiary != ORR_NONE, e->beneficiary);
        put_int_or_null(&w, e->beneficiary != ORR_NONE && !e->undecided, e->used);
        put_int(&w, e->moved);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_suspensions(sqlite3 *db, const struct orr_store_input *in,
                                         struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__suspension, err);
    for (uint32_t i = 0; i < in->run->suspension_count && w.status == ORR_OK; i++) {
        const struct orr_suspension *s = &in->run->suspensions[i];
        put_int(&w, s->job);
        put_int(&w, s->from_ms);
        put_int_or_null(&w, s->to_ms != ORR_MS_NEVER, s->to_ms);
        put_int_or_null(&w, s->beneficiary != ORR_NONE, s->beneficiary);
        put_row(&w);
    }
    return writer_close(&w);
}

/* Of one of the two kinds. */
static enum orr_status write_out(sqlite3 *db, const struct orr_store_input *in, bool away,
                                 struct orr_err *err)
{
    struct writer w = writer_open(db, away ? orr_store_sql__away : orr_store_sql__outage, err);
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

static enum orr_status write_cordons(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__cordon, err);
    for (uint32_t i = 0; i < in->run->cordon_count && w.status == ORR_OK; i++) {
        const struct orr_cordon *c = &in->run->cordons[i];
        put_int(&w, c->node);
        put_int(&w, c->from_ms);
        put_int_or_null(&w, c->to_ms != ORR_MS_NEVER, c->to_ms);
        put_row(&w);
    }
    return writer_close(&w);
}

static enum orr_status write_outages(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    enum orr_status status = write_out(db, in, false, err);
    status = status == ORR_OK ? write_out(db, in, true, err) : status;
    return status == ORR_OK ? write_cordons(db, in, err) : status;
}

static enum orr_status write_times(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__job_time, err);
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

/* Stretches of time, each of the part that it names, or all of `part`. */
static void put_stretches(struct writer *w, const char *part, const struct orr_waste *rows,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count && w->status == ORR_OK; i++) {
        put_int(w, rows[i].job);
        put_text(w, part != NULL ? part : orr_waste_part_words(rows[i].part));
        put_int(w, rows[i].from_ms);
        put_int(w, rows[i].to_ms);
        put_int(w, rows[i].mgpu_ms);
        put_row(w);
    }
}

static enum orr_status write_wastes(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__waste, err);
    uint32_t count;
    const struct orr_waste *wastes = orr_account_wastes(in->run, &count);
    put_stretches(&w, NULL, wastes, count);
    return writer_close(&w);
}

static enum orr_status write_unused(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__unused, err);
    uint32_t count;
    const struct orr_waste *slows = orr_account_slows(in->run, &count);
    put_stretches(&w, "slow", slows, count);
    put_stretches(&w, "idle", in->run->idles, in->run->idle_count);
    return writer_close(&w);
}

static void put_metric(const struct orr_metric *metric, void *context)
{
    struct writer *w = context;
    put_text(w, metric->def->name);
    put_text(w, metric->scope);
    put_text(w, metric->label);
    put_real(w, metric->value);
    put_text(w, metric->def->unit);
    put_int(w, (int64_t)metric->n);
    put_text(w, metric->def->definition);
    put_text(w, orr_better_word(metric->def->better));
    put_real(w, metric->at_least);
    put_row(w);
}

static enum orr_status write_metrics(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__metric, err);
    orr_summary_metrics(in->world, in->summary, put_metric, &w);
    return writer_close(&w);
}

static enum orr_status write_shards(sqlite3 *db, const struct orr_store_input *in,
                                    struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__shard, err);
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
    struct writer q = writer_open(db, orr_store_sql__shard_queue, err);
    for (uint32_t i = 0; i < in->world->queues.count; i++) {
        put_int(&q, i);
        put_int(&q, in->world->queues.queues[i].shard);
        put_row(&q);
    }
    enum orr_status queues = writer_close(&q);
    struct writer p = writer_open(db, orr_store_sql__shard_pool, err);
    for (uint32_t i = 0; i < in->scenario->pool_count; i++) {
        put_text(&p, in->scenario->pools[i].name);
        put_int(&p, in->world->cluster.types[i].shard);
        put_row(&p);
    }
    enum orr_status pools = writer_close(&p);
    return status != ORR_OK ? status : queues != ORR_OK ? queues : pools;
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
    static orr_store__write_fn *const tables[] = {write_run,
                                                  write_inputs,
                                                  write_meta,
                                                  write_nodes,
                                                  write_domain_names,
                                                  write_instances,
                                                  write_foreign,
                                                  write_pools,
                                                  write_queues,
                                                  write_queue_changes,
                                                  write_bounds,
                                                  orr_store__write_lending,
                                                  write_name_tables,
                                                  write_shards,
                                                  write_placements,
                                                  write_attempts,
                                                  write_wanted,
                                                  write_evictions,
                                                  write_suspensions,
                                                  write_times,
                                                  write_wastes,
                                                  write_unused,
                                                  write_outages,
                                                  write_metrics,
                                                  orr_store__write_expectations,
                                                  orr_store__write_stated,
                                                  orr_store__write_course};
    return write_tables(db, input, tables, sizeof tables / sizeof tables[0], err);
}

enum orr_status orr_store__write_totals(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err)
{
    static orr_store__write_fn *const tables[] = {write_run, write_queues, write_metrics,
                                                  orr_store__write_expectations};
    return write_tables(db, input, tables, sizeof tables / sizeof tables[0], err);
}
