/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_lending.c - what queues state in Kueue's words: preemption, lending, flavors and their
 * nodes. */
#include "store_sql.h"
#include "store_writer.h"

static const char *const resources[ORR_FLAVOR_RESOURCES] = {[ORR_SHARE_GPU] = "gpu",
                                                            [ORR_SHARE_CPU] = "cpu",
                                                            [ORR_SHARE_MEMORY] = "memory",
                                                            [ORR_FLAVOR_PODS] = "pods"};

static void put_policy(struct writer *w, enum orr_lending_policy policy)
{
    static const char *const words[] = {[ORR_LENDING_NOT_STATED] = NULL,
                                        [ORR_LENDING_NEVER] = "Never",
                                        [ORR_LENDING_LOWER_PRIORITY] = "LowerPriority",
                                        [ORR_LENDING_LOWER_OR_NEWER_EQUAL_PRIORITY] =
                                            "LowerOrNewerEqualPriority",
                                        [ORR_LENDING_ANY] = "Any"};
    put_text(w, words[policy]);
}

static enum orr_status write_words(sqlite3 *db, const struct orr_queues *queues,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__queue_lending, err);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_lending *lending = &queues->queues[q].lending;
        if (lending->apart || lending->within != ORR_LENDING_NOT_STATED ||
            lending->reclaim != ORR_LENDING_NOT_STATED) {
            put_int(&w, q);
            put_int(&w, lending->apart);
            put_policy(&w, lending->within);
            put_policy(&w, lending->reclaim);
            put_row(&w);
        }
    }
    return writer_close(&w);
}

static void put_amount(struct writer *w, uint32_t queue, orr_ms at_ms, const char *flavor,
                       uint32_t kind, const struct orr_flavor_amount *amount)
{
    put_int(w, queue);
    put_int_or_null(w, at_ms != ORR_MS_NONE, at_ms);
    put_text(w, flavor);
    put_text(w, resources[kind]);
    put_real(w, amount->quota);
    put_real(w, amount->limit);
    put_real(w, amount->lend);
    put_row(w);
}

static void put_flavors(struct writer *w, const struct orr_cluster *cluster, uint32_t queue,
                        orr_ms at_ms, const struct orr_flavored *flavors, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++) {
        for (uint32_t kind = 0; kind < ORR_FLAVOR_RESOURCES; kind++) {
            if (flavors[f].resources[kind].stated) {
                put_amount(w, queue, at_ms, cluster->flavors[flavors[f].flavor].name, kind,
                           &flavors[f].resources[kind]);
            }
        }
    }
}

static enum orr_status write_flavors(sqlite3 *db, const struct orr_store_input *in,
                                     struct orr_err *err)
{
    const struct orr_queues *queues = &in->world->queues;
    const struct orr_cluster *cluster = &in->world->cluster;
    struct writer w = writer_open(db, orr_store_sql__queue_flavor, err);
    for (uint32_t q = 0; q < queues->count; q++) {
        const struct orr_queue *queue = &queues->queues[q];
        const struct orr_lending *lending = &queue->lending;
        put_flavors(&w, cluster, q, ORR_MS_NONE, lending->flavors, lending->flavor_count);
        for (uint32_t kind = 0; kind < ORR_SHARE_RESOURCES && lending->flavor_count == 0; kind++) {
            const struct orr_flavor_amount amount = {.quota = queue->resources[kind].quota,
                                                     .limit = queue->resources[kind].limit,
                                                     .lend = lending->lend[kind]};
            if (amount.lend >= 0) {
                put_amount(&w, q, ORR_MS_NONE, "", kind, &amount);
            }
        }
    }
    for (uint32_t i = 0; i < in->run->queue_change_count; i++) {
        const struct orr_world_queue_change *change = &in->world->queue_changes[i];
        put_flavors(&w, cluster, change->queue, change->at_ms, change->flavors,
                    queues->queues[change->queue].lending.flavor_count);
    }
    return writer_close(&w);
}

static enum orr_status write_nodes(sqlite3 *db, const struct orr_cluster *cluster,
                                   struct orr_err *err)
{
    struct writer w = writer_open(db, orr_store_sql__flavor_node, err);
    for (uint32_t f = 0; f < cluster->flavor_count; f++) {
        for (uint32_t n = 0; n < cluster->node_count; n++) {
            if (orr_cluster_admits(cluster, cluster->flavors[f].narrowed[0], n)) {
                put_text(&w, cluster->flavors[f].name);
                put_int(&w, n);
                put_row(&w);
            }
        }
    }
    return writer_close(&w);
}

enum orr_status orr_store__write_lending(sqlite3 *db, const struct orr_store_input *in,
                                         struct orr_err *err)
{
    enum orr_status status = write_words(db, &in->world->queues, err);
    if (status == ORR_OK) {
        status = write_flavors(db, in, err);
    }
    return status == ORR_OK ? write_nodes(db, &in->world->cluster, err) : status;
}
