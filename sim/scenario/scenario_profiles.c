/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_profiles.c - how placement becomes a rate: profiles in the scenario, or in files of
 * their own that `from` names.
 */
#include "scenario_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

/* Tables are found from the folder of the file that names them. */
static void rebase_tables(struct orr_scenario__load *load, struct orr_scenario__node *profile,
                          const char *folder)
{
    static const char *const files[] = {"table", "epochs"};
    for (size_t i = 0; i < 2; i++) {
        struct orr_scenario__node *file = orr_scenario__find(profile, files[i]);
        if (file != NULL && file->kind == ORR_NODE_SCALAR && file->text != NULL) {
            file->text = orr_scenario__join(load->arena, folder, file->text);
        }
    }
}

static enum orr_status add_profile(struct orr_scenario__load *load, struct orr_scenario__node *out,
                                   struct orr_scenario__node *profile)
{
    if (orr_scenario__find(out, profile->key) != NULL) {
        return orr_scenario__fail(load, &profile->key_at, "there is a profile \"%.80s\" already",
                                  profile->key);
    }
    orr_scenario__add(load, out, profile->key, profile->key_at, profile);
    return ORR_OK;
}

static enum orr_status read_profiles(struct orr_scenario__load *load,
                                     const struct orr_scenario__node *from,
                                     struct orr_scenario__node *out)
{
    if (from->kind != ORR_NODE_SCALAR || from->text == NULL) {
        return orr_scenario__wrong_kind(load, from, "a file name");
    }
    const char *path = orr_scenario__data(load->arena, from->at.source->folder, from->text);
    const struct orr_scenario__source *source;
    struct orr_scenario__node *file;
    enum orr_status status = orr_scenario__read(load, path, &from->at, &source);
    if (status == ORR_OK) {
        status = orr_scenario__single(load, source, &file);
    }
    if (status == ORR_OK) {
        status = orr_scenario__shape(load, orr_scenario__profile_file_row(), file);
    }
    const struct orr_scenario__node *profiles =
        status == ORR_OK ? orr_scenario__find(file, "profiles") : NULL;
    const char *folder = orr_scenario__folder(load->arena, from->text);
    for (uint32_t i = 0; profiles != NULL && i < profiles->child_count && status == ORR_OK; i++) {
        rebase_tables(load, profiles->children[i], folder);
        status = add_profile(load, out, profiles->children[i]);
    }
    return status;
}

enum orr_status orr_scenario__prepare_profiles(struct orr_scenario__load *load,
                                               struct orr_scenario__node *node)
{
    if (node->kind != ORR_NODE_MAP || orr_scenario__find(node, "from") == NULL) {
        return ORR_OK;
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        struct orr_scenario__node *child = node->children[i];
        if (strcmp(child->key, "from") != 0) {
            status = add_profile(load, map, child);
        } else if (child->kind == ORR_NODE_LIST) {
            for (uint32_t f = 0; f < child->child_count && status == ORR_OK; f++) {
                status = read_profiles(load, child->children[f], map);
            }
        } else {
            status = read_profiles(load, child, map);
        }
    }
    orr_scenario__replace(node, map);
    return status;
}

/* ---- to structs ---- */

static bool parse_time(const char *text, double *out)
{
    orr_ms ms;
    if (!orr_parse_duration(text, strlen(text), &ms) || ms <= 0) {
        return false;
    }
    *out = (double)ms / 1000.0;
    return true;
}

static bool parse_speed(const char *text, double *out)
{
    return orr_parse_double(text, strlen(text), out) && *out > 0.0;
}

static int compare_workers(const void *a, const void *b, void *context)
{
    int64_t x = 0, y = 0;
    const char *p = ((const struct orr_scenario_choice *)a)->name;
    const char *q = ((const struct orr_scenario_choice *)b)->name;
    (void)context;
    (void)orr_parse_i64(p, strlen(p), &x);
    (void)orr_parse_i64(q, strlen(q), &y);
    return (x > y) - (x < y);
}

/* NAME: value; values are times or, of workers, speeds. */
static enum orr_status fill_values(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *map, bool workers,
                                   const struct orr_scenario_choice **out, uint32_t *count)
{
    uint32_t most = map == NULL ? 0 : map->child_count;
    struct orr_scenario_choice *values =
        orr_arena_alloc(load->arena, most + (size_t)1, sizeof *values);
    for (uint32_t i = 0; i < most; i++) {
        const struct orr_scenario__node *child = map->children[i];
        int64_t number;
        values[i].name = child->key;
        if (workers && (!orr_parse_i64(child->key, strlen(child->key), &number) || number < 1 ||
                        number > 1000000)) {
            return orr_scenario__fail(load, &child->key_at,
                                      "speedup: \"%.80s\" is not a number of workers", child->key);
        }
        if (!(workers ? parse_speed : parse_time)(child->text, &values[i].weight)) {
            return orr_scenario__fail(load, &child->at, "%.80s: \"%.80s\" is not a %s", child->key,
                                      child->text, workers ? "speed above 0" : "time above 0");
        }
    }
    if (workers) {
        orr_sort(values, most, sizeof *values, compare_workers, NULL);
    }
    *out = values;
    *count = most;
    return ORR_OK;
}

static enum orr_status check_profile(const struct orr_scenario__load *load,
                                     const struct orr_scenario__node *node,
                                     const struct orr_scenario_profile *profile)
{
    const char *missing = NULL;
    if (strcmp(profile->kind, "table") == 0 && profile->table == NULL) {
        missing = "a table";
    } else if (strcmp(profile->kind, "allreduce") == 0) {
        missing = profile->compute_count == 0  ? "compute"
                  : profile->bytes <= 0        ? "bytes"
                  : profile->placement == NULL ? "reference.placement"
                                               : NULL;
    } else if (strcmp(profile->kind, "speedup") == 0 && profile->speedup_count == 0 &&
               !(profile->serial > 0.0)) {
        missing = "speedup, or a serial part above 0";
    }
    if (missing != NULL) {
        return orr_scenario__fail(load, &node->at, "profile %.80s: %s needs %s", node->key,
                                  profile->kind, missing);
    }
    if (profile->overlap > 1.0 || profile->serial > 1.0) {
        return orr_scenario__fail(load, &node->at,
                                  "profile %.80s: overlap and serial are parts of 1", node->key);
    }
    return ORR_OK;
}

static enum orr_status fill_profile(struct orr_scenario__load *load,
                                    const struct orr_scenario__node *node,
                                    struct orr_scenario_profile *profile)
{
    orr_scenario__fill_group(orr_scenario__row_at("profiles", NULL), node, profile);
    profile->name = node->key;
    profile->origin = orr_scenario__origin(load->arena, node);
    if (profile->table != NULL) {
        profile->table = orr_scenario__data(load->arena, load->folder, profile->table);
    }
    if (profile->epochs != NULL) {
        profile->epochs = orr_scenario__data(load->arena, load->folder, profile->epochs);
    }
    enum orr_status status = fill_values(load, orr_scenario__find(node, "compute"), false,
                                         &profile->computes, &profile->compute_count);
    if (status == ORR_OK) {
        status = fill_values(load, orr_scenario__find(node, "speedup"), true, &profile->speedups,
                             &profile->speedup_count);
    }
    return status == ORR_OK ? check_profile(load, node, profile) : status;
}

enum orr_status orr_scenario__fill_profiles(struct orr_scenario__load *load,
                                            struct orr_scenario *scenario,
                                            const struct orr_scenario__node *profiles)
{
    enum orr_status status = ORR_OK;
    uint32_t count = profiles == NULL ? 0 : profiles->child_count;
    scenario->profile_count = count;
    scenario->profiles =
        orr_arena_alloc(load->arena, count + (size_t)1, sizeof *scenario->profiles);
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = fill_profile(load, profiles->children[i], &scenario->profiles[i]);
    }
    return status;
}
