/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate_spec.c - a document of kind Gate, by the same rows and errors as a scenario. */
#include <orrery/sim/gate_spec.h>

#include <string.h>

#include <orrery/base/text.h>

#include "scenario_int.h"

#define SPEC(field) .offset = offsetof(struct orr_gate_spec, field)
#define LINE(field) .offset = offsetof(struct orr_gate_line, field)

static const char *const versions[] = {"orrery/v1alpha1", NULL};
static const char *const kinds[] = {"Gate", NULL};
static const char *const modes[] = {"exact", "fixed", "statistical", NULL};
static const char *const job_kinds[] = {"interactive", "training", "inference", "unknown", NULL};
static const char *const directions[] = {"less", "more", NULL};

static const struct orr_scenario__row line_rows[] = {
    {.key = "metric", .type = ORR_TYPE_TEXT, .required = true, LINE(metric)},
    {.key = "margin", .type = ORR_TYPE_TEXT, .required = true, LINE(margin)},
    {.key = "queue", .type = ORR_TYPE_TEXT, LINE(queue)},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = job_kinds, LINE(kind)},
    {.key = "gpus", .type = ORR_TYPE_TEXT, LINE(size)},
    {.key = "better", .type = ORR_TYPE_CHOICE, .choices = directions, LINE(better)},
};
static const struct orr_scenario__row shake_rows[] = {
    {.key = "submit", .type = ORR_TYPE_DURATION, .fallback = "0s", SPEC(shake_submit_ms)},
    {.key = "run", .type = ORR_TYPE_SHARE, .fallback = "0", SPEC(shake_run)},
};
static const struct orr_scenario__row root_rows[] = {
    {.key = "apiVersion", .type = ORR_TYPE_CHOICE, .choices = versions, .no_field = true},
    {.key = "kind", .type = ORR_TYPE_CHOICE, .choices = kinds, .required = true, .no_field = true},
    {.key = "mode",
     .type = ORR_TYPE_CHOICE,
     .choices = modes,
     .fallback = "statistical",
     SPEC(mode)},
    {.key = "replicas",
     .type = ORR_TYPE_COUNT,
     .fallback = "20",
     .min = 1,
     .max = 10000,
     SPEC(replicas)},
    {.key = "shake",
     .type = ORR_TYPE_GROUP,
     .rows = shake_rows,
     .row_count = sizeof shake_rows / sizeof shake_rows[0]},
    {.key = "rules",
     .type = ORR_TYPE_NAMES,
     .rows = line_rows,
     .row_count = sizeof line_rows / sizeof line_rows[0],
     .one = "rule"},
};
static const struct orr_scenario__row root = {.key = "",
                                              .type = ORR_TYPE_GROUP,
                                              .rows = root_rows,
                                              .row_count = sizeof root_rows / sizeof root_rows[0]};

static bool parse_margin(struct orr_gate_line *line)
{
    const size_t bytes = strlen(line->margin);
    orr_ms time = 0;
    if (bytes > 0 && line->margin[bytes - 1] == '%') {
        line->relative = orr_parse_double(line->margin, bytes - 1, &line->margin_value);
        line->margin_value /= 100;
        return line->relative && line->margin_value >= 0;
    }
    if (orr_parse_double(line->margin, bytes, &line->margin_value)) {
        return line->margin_value >= 0;
    }
    line->is_time = orr_parse_duration(line->margin, bytes, &time);
    line->margin_value = (double)time / 1000.0;
    return line->is_time && time >= 0;
}

static enum orr_status fill_line(struct orr_scenario__load *load,
                                 const struct orr_scenario__node *node, struct orr_gate_line *line)
{
    const struct orr_scenario__row *rules = orr_scenario__row_find(&root, "rules");
    orr_scenario__fill_group(rules, node, line);
    line->name = node->key;
    line->origin = orr_scenario__origin(load->arena, node);
    line->metric_origin = orr_scenario__origin(load->arena, orr_scenario__find(node, "metric"));
    line->margin_origin = orr_scenario__origin(load->arena, orr_scenario__find(node, "margin"));
    line->size_origin = line->size == NULL
                            ? line->origin
                            : orr_scenario__origin(load->arena, orr_scenario__find(node, "gpus"));
    if (!parse_margin(line)) {
        return orr_scenario__fail(
            load, &orr_scenario__find(node, "margin")->at,
            "margin: \"%.40s\" is not a share such as 2%%, a time such as 30s "
            "or a number of at least 0",
            line->margin);
    }
    if (line->queue != NULL && line->kind == NULL) {
        return orr_scenario__fail(
            load, &orr_scenario__find(node, "queue")->at,
            "queue: needs kind beside it, such as kind: training: metrics are "
            "of a queue's jobs of one kind");
    }
    if (line->size != NULL && (line->queue != NULL || line->kind != NULL)) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "gpus")->at,
                                  "gpus: no queue and no kind beside it: metrics of a size are of "
                                  "all jobs that ask so many");
    }
    return ORR_OK;
}

static enum orr_status load_spec(struct orr_scenario__load *load, const char *path,
                                 struct orr_gate_spec *spec)
{
    struct orr_scenario__node *node = NULL;
    enum orr_status status = orr_scenario__document(load, path, &root, &node);
    if (status != ORR_OK) {
        return status;
    }
    orr_scenario__fill_group(&root, node, spec);
    const struct orr_scenario__node *rules = orr_scenario__find(node, "rules");
    spec->lines =
        orr_arena_alloc(&spec->arena, rules->child_count + (size_t)1, sizeof *spec->lines);
    for (uint32_t i = 0; i < rules->child_count && status == ORR_OK; i++) {
        status = fill_line(load, rules->children[i], &spec->lines[spec->line_count++]);
    }
    if (status == ORR_OK && spec->line_count == 0 && strcmp(spec->mode, "exact") != 0) {
        status = orr_scenario__fail(load, &node->at, "no rules: nothing could fail");
    }
    return status;
}

enum orr_status orr_gate_spec_load(const char *path, struct orr_gate_spec *spec,
                                   struct orr_err *err)
{
    static const struct orr_scenario_options none = {0};
    *spec = (struct orr_gate_spec){0};
    orr_arena_init(&spec->arena);
    struct orr_scenario__load load = {
        .options = &none, .arena = &spec->arena, .err = err, .folder = ""};
    const enum orr_status status = load_spec(&load, path, spec);
    if (status != ORR_OK) {
        orr_gate_spec_release(spec);
    }
    return status;
}

void orr_gate_spec_release(struct orr_gate_spec *spec)
{
    orr_arena_release(&spec->arena);
    *spec = (struct orr_gate_spec){0};
}
