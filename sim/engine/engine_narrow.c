/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_narrow.c - the nodes that its policy leaves to a job, as a filter of requests, where jobs
 * are placed in thought.
 *
 * A policy answers with a filter that the cluster has, or with a set of nodes. For such sets
 * filters are made as they come up, in a copy of the cluster that shares all else with it; the
 * books are read through the copy as long as pools are looked after. */
#include "engine_int.h"

#include <string.h>

#include <orrery/base/mem.h>

struct orr_engine_narrow {
    struct orr_cluster cluster; /* the world's, with filters of its own behind the world's */
    uint64_t *words;            /* of the set at hand */
};

static size_t words_of(const struct orr_cluster *cluster)
{
    return (cluster->node_count + (size_t)63) / 64;
}

void orr_engine__narrow_open(struct engine *engine)
{
    const struct orr_cluster *cluster = &engine->world->cluster;
    struct orr_engine_narrow *narrow = orr_zalloc(1, sizeof *narrow);
    narrow->cluster = *cluster;
    narrow->cluster.filter_capacity = cluster->filter_count + 1;
    narrow->cluster.filters =
        orr_alloc(narrow->cluster.filter_capacity, sizeof *narrow->cluster.filters);
    for (uint32_t f = 0; f < cluster->filter_count; f++) {
        narrow->cluster.filters[f] = cluster->filters[f];
    }
    narrow->words = orr_zalloc(words_of(cluster) + 1, sizeof *narrow->words);
    engine->narrow = narrow;
    engine->ledger->world.cluster = &narrow->cluster;
}

void orr_engine__narrow_close(struct engine *engine)
{
    struct orr_engine_narrow *narrow = engine->narrow;
    engine->ledger->world.cluster = &engine->world->cluster;
    for (uint32_t f = engine->world->cluster.filter_count; f < narrow->cluster.filter_count; f++) {
        orr_free(narrow->cluster.filters[f].words);
    }
    orr_free(narrow->cluster.filters);
    orr_free(narrow->words);
    orr_free(narrow);
    engine->narrow = NULL;
}

/* The number of the filter of the words at hand. */
static uint32_t filter_of(struct orr_engine_narrow *narrow, uint32_t first)
{
    struct orr_cluster *cluster = &narrow->cluster;
    const size_t bytes = words_of(cluster) * sizeof *narrow->words;
    for (uint32_t f = first; f < cluster->filter_count; f++) {
        if (memcmp(cluster->filters[f].words, narrow->words, bytes) == 0) {
            return f + 1;
        }
    }
    struct orr_node_filter made = {.text = "",
                                   .words = orr_alloc(words_of(cluster) + 1, sizeof *made.words)};
    memcpy(made.words, narrow->words, bytes);
    for (size_t w = 0; w < words_of(cluster); w++) {
        made.count += (uint32_t)__builtin_popcountll(made.words[w]);
    }
    cluster->filters =
        ORR_ROOM_FOR_ONE(cluster->filters, cluster->filter_count, cluster->filter_capacity);
    cluster->filters[cluster->filter_count] = made;
    return ++cluster->filter_count;
}

uint32_t orr_engine__allowed(struct engine *engine, uint32_t job, uint32_t group)
{
    struct orr_engine_narrow *narrow = engine->narrow;
    const uint32_t allowed =
        orr_policy_narrows(engine->policy, engine->state, &engine->view, job, group);
    const uint64_t *nodes = orr_policy_nodes(engine->policy, engine->state, &engine->view, job);
    if (nodes == NULL) {
        return allowed;
    }
    const uint64_t *of = allowed == 0 ? NULL : narrow->cluster.filters[allowed - 1].words;
    for (size_t w = 0; w < words_of(&narrow->cluster); w++) {
        narrow->words[w] = nodes[w] & (of == NULL ? ~(uint64_t)0 : of[w]);
    }
    return filter_of(narrow, engine->world->cluster.filter_count);
}
