/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_course.c - the tables of what changed in the course of the run: rates, reasons, series. */
#include "store_sql.h"
#include "store_writer.h"

static enum orr_status write_rates(sqlite3 *db, const struct orr_store_input *in,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__rate, err);
    uint32_t count = 0;
    const struct orr_speed_change *changes =
        in->run->exec == NULL ? NULL : orr_exec_speeds(in->run->exec, &count);
    for (uint32_t i = 0; i < count && w.status == ORR_OK; i++) {
        put_int(&w, changes[i].job);
        put_int(&w, changes[i].attempt);
        put_int(&w, changes[i].at_ms);
        put_int(&w, changes[i].speed.rate_ppm);
        put_int(&w, changes[i].speed.best_ppm);
        put_text(&w, orr_extent_name(&in->world->cluster, changes[i].speed.extent));
        put_int(&w, changes[i].speed.own_ppm);
        put_row(&w);
    }
    return writer_close(&w);
}

static void put_reason(struct writer *w, const struct orr_cluster *cluster,
                       const struct orr_reason_change *change)
{
    const struct orr_proof *proof = &change->proof;
    put_int(w, change->job);
    put_int(w, change->at_ms);
    put_int(w, change->reason);
    put_int_or_null(w, proof->allowed_mgpu >= 0, proof->allowed_mgpu);
    put_int_or_null(w, proof->held_mgpu >= 0, proof->held_mgpu);
    put_int_or_null(w, proof->queue != ORR_NONE, proof->queue);
    put_int_or_null(w, proof->free_mgpu >= 0, proof->free_mgpu);
    put_int_or_null(w, proof->hole_mgpu >= 0, proof->hole_mgpu);
    put_text(w, proof->level == ORR_NONE ? NULL : orr_cluster_level_name(cluster, proof->level));
    put_int_or_null(w, proof->domain != ORR_NONE, proof->domain);
    put_int_or_null(w, proof->domain_mgpu >= 0, proof->domain_mgpu);
    put_int_or_null(w, proof->ahead != ORR_NONE, proof->ahead);
    put_int_or_null(w, proof->consolidation != ORR_OUTCOME_NOT_TRIED, proof->consolidation);
    put_int_or_null(w, proof->reclaim != ORR_OUTCOME_NOT_TRIED, proof->reclaim);
    put_int_or_null(w, proof->preempt != ORR_OUTCOME_NOT_TRIED, proof->preempt);
    put_int_or_null(w, proof->claim_mgpu >= 0, proof->claim_mgpu);
}

#define REASONS_AT_ONCE 4

static enum orr_status write_reasons(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    struct writer many = writer_open(db, orr_store_sql__reason_change_4, err);
    struct writer one = writer_open(db, orr_store_sql__reason_change, err);
    const uint32_t count = in->run->reason_count, whole = count / REASONS_AT_ONCE * REASONS_AT_ONCE;
    for (uint32_t i = 0; i < count && many.status == ORR_OK && one.status == ORR_OK; i++) {
        struct writer *w = i < whole ? &many : &one;
        put_reason(w, &in->world->cluster, &in->run->reasons[i]);
        if (i >= whole || (i + 1) % REASONS_AT_ONCE == 0) {
            put_row(w);
        }
    }
    const enum orr_status status = writer_close(&many), last_status = writer_close(&one);
    return status != ORR_OK ? status : last_status;
}

/* Shares change often and their rows are short: so many at once take a third of the time. */
#define SHARES_AT_ONCE 16

static uint32_t count_gpu_shares(const struct orr_store_input *in)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < in->run->share_count; i++) {
        count += in->run->shares[i].kind == ORR_SHARE_GPU;
    }
    return count;
}

static void put_amount(struct writer *w, double amount)
{
    put_real(w, amount < 0.0 ? (double)NAN : amount);
}

static enum orr_status write_gpu_shares(sqlite3 *db, const struct orr_store_input *in,
                                        struct orr_err *err)
{
    struct writer many = writer_open(db, orr_store_sql__fair_share_16, err);
    struct writer one = writer_open(db, orr_store_sql__fair_share, err);
    const uint32_t whole = count_gpu_shares(in) / SHARES_AT_ONCE * SHARES_AT_ONCE;
    uint32_t nth = 0;
    for (uint32_t i = 0; i < in->run->share_count && many.status == ORR_OK && one.status == ORR_OK;
         i++) {
        const struct orr_share_change *change = &in->run->shares[i];
        if (change->kind == ORR_SHARE_GPU) {
            struct writer *w = nth < whole ? &many : &one;
            put_int(w, change->queue);
            put_int(w, change->at_ms);
            put_amount(w, change->amount);
            if (++nth > whole || nth % SHARES_AT_ONCE == 0) {
                put_row(w);
            }
        }
    }
    const enum orr_status status = writer_close(&many), last_status = writer_close(&one);
    return status != ORR_OK ? status : last_status;
}

static enum orr_status write_fair_shares(sqlite3 *db, const struct orr_store_input *in,
                                         struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__fair_share_of, err);
    for (uint32_t i = 0; i < in->run->share_count && w.status == ORR_OK; i++) {
        const struct orr_share_change *change = &in->run->shares[i];
        if (change->kind != ORR_SHARE_GPU) {
            put_int(&w, change->queue);
            put_int(&w, change->at_ms);
            put_text(&w, change->kind == ORR_SHARE_CPU ? "cpu" : "memory");
            put_amount(&w, change->amount);
            put_row(&w);
        }
    }
    const enum orr_status status = writer_close(&w);
    return status != ORR_OK ? status : write_gpu_shares(db, in, err);
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
    struct writer w = writer_open(db, orr_store_sql__series, err);
    for (uint32_t b = 0; b < fold->bucket_count && w.status == ORR_OK; b++) {
        orr_ms start = fold->origin_ms + b * fold->bucket_ms;
        orr_ms end =
            start + fold->bucket_ms < in->run->end_ms ? start + fold->bucket_ms : in->run->end_ms;
        double length = end > start ? (double)(end - start) : 1.0;
        for (uint32_t q = 0; q < in->world->queues.count; q++) {
            const struct orr_bucket *i = &fold->buckets[(size_t)b * in->world->queues.count + q];
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
    struct writer w = writer_open(db, orr_store_sql__room, err);
    for (uint32_t b = 0; b < room->bucket_count && w.status == ORR_OK; b++) {
        put_int(&w, fold->origin_ms + b * fold->bucket_ms);
        put_real(&w, room->buckets[b].idle_mgpu);
        put_real(&w, room->buckets[b].unusable_mgpu);
        put_row(&w);
    }
    enum orr_status status = writer_close(&w);
    struct writer g = writer_open(db, orr_store_sql__startable, err);
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

enum orr_status orr_store__write_course(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err)
{
    static orr_store__write_fn *const tables[] = {write_rates, write_reasons, write_fair_shares,
                                                  write_series, write_room};
    return write_tables(db, input, tables, sizeof tables / sizeof tables[0], err);
}
