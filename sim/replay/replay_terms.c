/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_terms.c - what interruptions cost a job, from the row and the scenario. */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/mem.h>

/* All that makes two terms the same, without padding: a name of the table. */
struct terms_key {
    int64_t values[14];
};

static struct terms_key key_of(const struct orr_terms *terms)
{
    return (struct terms_key){{terms->checkpoint_ms, terms->checkpoint_cost_ms, terms->restart_ms,
                               terms->startup_ms, terms->grace_ms, terms->checkpoint_on_evict,
                               terms->keep_progress, terms->keep_unasked, terms->give_up_ms,
                               terms->profile, terms->session, terms->crew, terms->service,
                               terms->busy_ppm}};
}

uint32_t orr_replay__put_terms(struct orr_terms_table *table, const struct orr_terms *terms)
{
    const struct terms_key key = key_of(terms);
    bool added;
    if (table->count > 0 && /* most rows are as the one before */
        memcmp(orr_idmap_name(&table->known, table->last), &key, sizeof key) == 0) {
        return table->last;
    }
    table->last = orr_idmap_put(&table->known, (const char *)&key, sizeof key, &added);
    if (added) {
        table->items = ORR_ROOM_FOR_ONE(table->items, table->count, table->capacity);
        table->items[table->count++] = *terms;
    }
    return table->last;
}

/* The first that is stated, or 0. */
static orr_ms first_of(orr_ms row, orr_ms kind, orr_ms all)
{
    orr_ms stated = row != ORR_MS_NONE ? row : kind != ORR_MS_NONE ? kind : all;
    return stated == ORR_MS_NONE ? 0 : stated;
}

bool orr_world_pauses(const struct orr_scenario *scenario, uint32_t shard)
{
    static const char *const pausing[] = {"las",    "srtf",  "edf",   "gittins",
                                          "themis", "gavel", "pollux"};
    const char *name = shard < scenario->shard_count ? scenario->shards[shard].policy : NULL;
    bool pauses = false;
    for (size_t i = 0; i < sizeof pausing / sizeof pausing[0] && name != NULL; i++) {
        pauses = pauses || strcmp(name, pausing[i]) == 0;
    }
    return pauses;
}

/* What is stated of evictions, or NULL. */
static const char *on_evict_of(const struct orr_scenario *scenario, enum orr_kind kind)
{
    const char *own = scenario->kind_execution[kind].on_evict;
    return own != NULL ? own : scenario->execution.on_evict;
}

static uint32_t find_terms(struct orr_world *world, const struct orr_scenario *scenario,
                           uint32_t shard, enum orr_kind kind, const struct orr_row_extra *extra,
                           uint32_t crew)
{
    const struct orr_scenario_execution *all = &scenario->execution;
    const struct orr_scenario_execution *own = &scenario->kind_execution[kind];
    const orr_ms checkpoint_ms = first_of(extra == NULL ? ORR_MS_NONE : extra->checkpoint_ms,
                                          own->checkpoint_ms, all->checkpoint_ms);
    const char *on_evict = on_evict_of(scenario, kind);
    /* a policy that works by pausing jobs keeps what they did, unless they have checkpoints, which
     * say what is lost */
    const bool keep_unasked =
        on_evict == NULL && checkpoint_ms == 0 && orr_world_pauses(scenario, shard);
    struct orr_terms terms = {
        .checkpoint_ms = checkpoint_ms,
        .checkpoint_cost_ms = first_of(extra == NULL ? ORR_MS_NONE : extra->checkpoint_cost_ms,
                                       own->checkpoint_cost_ms, all->checkpoint_cost_ms),
        .restart_ms = first_of(extra == NULL ? ORR_MS_NONE : extra->restart_ms, own->restart_ms,
                               all->restart_ms),
        .startup_ms = first_of(ORR_MS_NONE, own->startup_ms, all->startup_ms),
        .grace_ms = first_of(ORR_MS_NONE, own->grace_ms, all->grace_ms),
        .checkpoint_on_evict = on_evict != NULL && strcmp(on_evict, "checkpoint") == 0,
        .keep_progress = keep_unasked || (on_evict != NULL && strcmp(on_evict, "keep") == 0),
        .keep_unasked = keep_unasked,
        .crew = crew,
        .session = kind == ORR_KIND_INTERACTIVE,
        .give_up_ms = first_of(extra == NULL ? ORR_MS_NONE : extra->give_up_ms, 0, 0),
        .profile = extra == NULL || extra->profile == NULL
                       ? ORR_NONE
                       : orr_replay__find_profile(scenario, extra->profile),
        .busy_ppm = extra == NULL || extra->busy_ppm < 0 ? ORR_PPM : extra->busy_ppm};
    if (terms.profile != ORR_NONE) {
        world->wanted_profiles[terms.profile] = true; /* of a session too: it may be wrong */
    }
    terms.profile = terms.session ? ORR_NONE : terms.profile;
    return orr_replay__put_terms(&world->terms, &terms);
}

uint32_t orr_replay__terms(struct orr_world *world, const struct orr_scenario *scenario,
                           uint32_t shard, enum orr_kind kind, const struct orr_row_extra *extra,
                           uint32_t crew)
{
    struct orr_plain_terms *plain = &world->terms.plain;
    if (extra != NULL) {
        return find_terms(world, scenario, shard, kind, extra, crew);
    }
    if (!plain->known || plain->kind != (uint8_t)kind || plain->shard != shard ||
        plain->crew != crew) { /* most rows are as the one before */
        *plain = (struct orr_plain_terms){.known = true,
                                          .kind = (uint8_t)kind,
                                          .shard = shard,
                                          .crew = crew,
                                          .number =
                                              find_terms(world, scenario, shard, kind, NULL, crew)};
    }
    return plain->number;
}

uint32_t orr_replay__service_terms(struct orr_world *world, const struct orr_scenario *scenario,
                                   enum orr_kind kind, uint32_t part)
{
    const struct orr_terms terms = {.grace_ms = first_of(ORR_MS_NONE,
                                                         scenario->kind_execution[kind].grace_ms,
                                                         scenario->execution.grace_ms),
                                    .service = part + 1,
                                    .profile = ORR_NONE,
                                    .busy_ppm = ORR_PPM};
    return orr_replay__put_terms(&world->terms, &terms);
}

uint32_t orr_replay__find_profile(const struct orr_scenario *scenario, const char *name)
{
    for (uint32_t p = 0; p < scenario->profile_count; p++) {
        if (strcmp(scenario->profiles[p].name, name) == 0) {
            return p;
        }
    }
    return ORR_NONE;
}

enum orr_status orr_replay__load_profiles(struct orr_world *world,
                                          const struct orr_scenario *scenario, struct orr_err *err)
{
    bool any = false;
    for (uint32_t p = 0; p < scenario->profile_count; p++) {
        any = any || world->wanted_profiles[p];
    }
    if (any || world->time_sliced) {
        orr_fabric_init(&world->fabric, &world->cluster);
    }
    return any ? orr_profiles_load(scenario, &world->fabric, world->wanted_profiles,
                                   &world->profiles, err)
               : ORR_OK;
}
