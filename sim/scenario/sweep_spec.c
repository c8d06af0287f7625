/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_spec.c - a document of kind Sweep, by the same rows and errors as a scenario.
 *
 *   axes:   {NAME: {PATH: [VALUE, ...], PATH: [VALUE, ...]}, ...}
 *   points: [{PATH: VALUE, ...}, ...]
 *
 * Lists of one axis are walked together, axes are multiplied; `variant` is a path too. */
#include <orrery/base/text.h>
#include <orrery/sim/sweep_spec.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "scenario_int.h"

#define SPEC(field) .offset = offsetof(struct orr_sweep_spec, field)

static const char *const versions[] = {"orrery/v1alpha1", NULL};
static const char *const kinds[] = {"Sweep", NULL};

static const struct orr_scenario__row shake_rows[] = {
    {.key = "submit", .type = ORR_TYPE_DURATION, .fallback = "0s", SPEC(shake_submit_ms)},
    {.key = "run", .type = ORR_TYPE_SHARE, .fallback = "0", SPEC(shake_run)},
};
static const struct orr_scenario__row limit_rows[] = {
    {.key = "time", .type = ORR_TYPE_DURATION, .fallback = "0s", SPEC(time_ms)},
    {.key = "memory", .type = ORR_TYPE_MEMORY, .fallback = "0B", SPEC(memory_bytes)},
};
static const struct orr_scenario__row root_rows[] = {
    {.key = "apiVersion", .type = ORR_TYPE_CHOICE, .choices = versions, .no_field = true},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = kinds, .required = true, .no_field = true},
    {.key = "base", .type = ORR_TYPE_TEXT, .required = true, .file = true, SPEC(base)},
    {.key = "axes", .type = ORR_TYPE_ANY},
    {.key = "points", .type = ORR_TYPE_ANY},
    {.key = "replicas",
     .type = ORR_TYPE_COUNT,
     .fallback = "1",
     .min = 1,
     .max = 100000,
     SPEC(replicas)},
    {.key = "shake",
     .type = ORR_TYPE_GROUP,
     .rows = shake_rows,
     .row_count = sizeof shake_rows / sizeof shake_rows[0]},
    {.key = "limits",
     .type = ORR_TYPE_GROUP,
     .rows = limit_rows,
     .row_count = sizeof limit_rows / sizeof limit_rows[0]},
};
static const struct orr_scenario__row root = {.key = "",
                                              .type = ORR_TYPE_GROUP,
                                              .rows = root_rows,
                                              .row_count = sizeof root_rows / sizeof root_rows[0]};

/* A value as --set takes it: a scalar, or a list of scalars. */
static enum orr_status value_text(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *node, const char **text)
{
    if (node->kind == ORR_NODE_SCALAR && node->text != NULL) {
        *text = node->text;
        return ORR_OK;
    }
    if (node->kind != ORR_NODE_LIST || node->child_count == 0) {
        return orr_scenario__wrong_kind(load, node, "a value or a list of values");
    }
    const char *all = "";
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct orr_scenario__node *item = node->children[i];
        if (item->kind != ORR_NODE_SCALAR || item->text == NULL) {
            return orr_scenario__wrong_kind(load, item, "a value");
        }
        all = orr_scenario__format(load->arena, "%s%s%s", all, i > 0 ? ", " : "", item->text);
    }
    *text = orr_scenario__format(load->arena, "[%s]", all);
    return ORR_OK;
}

/* PATH and VALUE as one change; a value may begin with = += -= *=. */
static const char *change_text(struct orr_arena *arena, const char *path, const char *value)
{
    const bool has_op =
        value[0] == '=' || (value[0] != '\0' && strchr("+-*", value[0]) != NULL && value[1] == '=');
    return orr_scenario__format(arena, "%s%s%s", path, has_op ? "" : "=", value);
}

/* The changes of a map of paths: its values, or number `index` of the lists that they are. */
static enum orr_status fill_value(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *paths, uint32_t index,
                                  bool is_listed, struct orr_sweep_value *value)
{
    const char **sets = orr_arena_alloc(load->arena, paths->child_count + (size_t)1, sizeof *sets);
    value->label = "";
    for (uint32_t i = 0; i < paths->child_count; i++) {
        const struct orr_scenario__node *entry = paths->children[i];
        const struct orr_scenario__node *one = is_listed ? entry : entry->children[index];
        const char *text = NULL;
        const enum orr_status status = value_text(load, one, &text);
        if (status != ORR_OK) {
            return status;
        }
        value->label = is_listed ? orr_scenario__format(load->arena, "%s%s%s=%s", value->label,
                                                        i > 0 ? " " : "", entry->key, text)
                                 : orr_scenario__format(load->arena, "%s%s%s", value->label,
                                                        i > 0 ? " " : "", text);
        value->origin = i == 0 ? orr_scenario__origin(load->arena, one) : value->origin;
        sets[i] = change_text(load->arena, entry->key, text);
    }
    value->sets = sets;
    value->set_count = paths->child_count;
    return ORR_OK;
}

/* An axis is a column of the merged file's views, beside those that they have anyway
 * (../study/sweep.sql); SQL takes names of columns in any case. */
static enum orr_status check_name(struct orr_scenario__load *load,
                                  const struct orr_scenario__node *axes, uint32_t nr)
{
    static const char *const taken[] = {"point", "key",   "seed", "arm", "metric", "scope",
                                        "label", "value", "unit", "n",   "better", "at_least"};
    const struct orr_scenario__node *axis = axes->children[nr];
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (strcasecmp(axis->key, taken[i]) == 0) {
            return orr_scenario__fail(load, &axis->key_at,
                                      "axis %s: merged sweeps have a column %s already; name the "
                                      "axis otherwise",
                                      axis->key, taken[i]);
        }
    }
    for (uint32_t i = 0; i < nr; i++) {
        if (strcasecmp(axis->key, axes->children[i]->key) == 0) {
            return orr_scenario__fail(
                load, &axis->key_at,
                "axis %s: is axis %s in another case, and would be one column "
                "with it in merged sweeps; name it otherwise",
                axis->key, axes->children[i]->key);
        }
    }
    return ORR_OK;
}

static enum orr_status fill_axis(struct orr_scenario__load *load,
                                 const struct orr_scenario__node *node, struct orr_sweep_axis *axis)
{
    if (node->kind != ORR_NODE_MAP || node->child_count == 0) {
        return orr_scenario__wrong_kind(load, node, "a map of paths to lists of values");
    }
    axis->name = node->key;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct orr_scenario__node *list = node->children[i];
        if (list->kind != ORR_NODE_LIST || list->child_count == 0) {
            return orr_scenario__wrong_kind(load, list, "a list of values");
        }
        if (i > 0 && list->child_count != axis->value_count) {
            return orr_scenario__fail(
                load, &list->key_at,
                "%.80s has %u value%s and %.80s has %u: the lists of one axis "
                "are walked together",
                list->key, (unsigned)list->child_count, ORR_PLURAL(list->child_count),
                node->children[0]->key, (unsigned)axis->value_count);
        }
        axis->value_count = list->child_count;
    }
    axis->values = orr_arena_alloc(load->arena, axis->value_count, sizeof *axis->values);
    enum orr_status status = ORR_OK;
    for (uint32_t v = 0; v < axis->value_count && status == ORR_OK; v++) {
        status = fill_value(load, node, v, false, &axis->values[v]);
    }
    return status;
}

static enum orr_status fill_points(struct orr_scenario__load *load,
                                   const struct orr_scenario__node *list,
                                   struct orr_sweep_spec *spec)
{
    if (list->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, list, "a list of maps of paths to values");
    }
    spec->points =
        orr_arena_alloc(load->arena, list->child_count + (size_t)1, sizeof *spec->points);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < list->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *point = list->children[i];
        status = point->kind == ORR_NODE_MAP && point->child_count > 0
                     ? fill_value(load, point, 0, true, &spec->points[spec->point_count++])
                     : orr_scenario__wrong_kind(load, point, "a map of paths to values");
    }
    return status;
}

static enum orr_status fill(struct orr_scenario__load *load, const struct orr_scenario__node *node,
                            struct orr_sweep_spec *spec)
{
    orr_scenario__fill_group(&root, node, spec);
    const struct orr_scenario__node *axes = orr_scenario__find(node, "axes");
    const struct orr_scenario__node *points = orr_scenario__find(node, "points");
    if (axes == NULL && points == NULL) {
        return orr_scenario__fail(load, &node->at, "neither axes nor points: nothing to vary");
    }
    enum orr_status status = ORR_OK;
    if (axes != NULL && axes->kind != ORR_NODE_MAP) {
        return orr_scenario__wrong_kind(load, axes, "a map of names to axes");
    }
    if (axes != NULL) {
        spec->axes =
            orr_arena_alloc(load->arena, axes->child_count + (size_t)1, sizeof *spec->axes);
        memset(spec->axes, 0, (axes->child_count + (size_t)1) * sizeof *spec->axes);
        for (uint32_t i = 0; i < axes->child_count && status == ORR_OK; i++) {
            status = check_name(load, axes, i);
            status = status == ORR_OK
                         ? fill_axis(load, axes->children[i], &spec->axes[spec->axis_count++])
                         : status;
        }
    }
    return status == ORR_OK && points != NULL ? fill_points(load, points, spec) : status;
}

static enum orr_status load_spec(struct orr_scenario__load *load, const char *path,
                                 struct orr_sweep_spec *spec)
{
    struct orr_scenario__node *node = NULL;
    enum orr_status status = orr_scenario__document(load, path, &root, &node);
    status = status == ORR_OK ? fill(load, node, spec) : status;
    if (status == ORR_OK) { /* found from the experiment's folder, as all names in a file are */
        spec->base = orr_scenario__join(load->arena, load->folder, spec->base);
        if (access(spec->base, R_OK) != 0) {
            status =
                orr_scenario__fail_as(load, ORR_NO_INPUT, &orr_scenario__find(node, "base")->at,
                                      "base: %s: %s", spec->base, strerror(errno));
        }
    }
    return status;
}

enum orr_status orr_sweep_spec_load(const char *path, struct orr_sweep_spec *spec,
                                    struct orr_err *err)
{
    static const struct orr_scenario_options none = {0};
    *spec = (struct orr_sweep_spec){0};
    orr_arena_init(&spec->arena);
    struct orr_scenario__load load = {.options = &none,
                                      .arena = &spec->arena,
                                      .err = err,
                                      .folder = orr_scenario__folder(&spec->arena, path)};
    const enum orr_status status = load_spec(&load, path, spec);
    if (status != ORR_OK) {
        orr_sweep_spec_release(spec);
    }
    return status;
}

void orr_sweep_spec_release(struct orr_sweep_spec *spec)
{
    orr_arena_release(&spec->arena);
    *spec = (struct orr_sweep_spec){0};
}
