/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_command.c - a run without a scenario file: the same tree, made from options. */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define NOTE      "command line"
#define PART_NAME "trace"

struct maker {
    struct orr_scenario__load *load;
    struct orr_scenario__at at; /* in the option being read */
};

static struct orr_scenario__node *add_map(struct maker *maker, struct orr_scenario__node *parent,
                                          const char *key)
{
    struct orr_scenario__node *map = orr_scenario__node(maker->load, ORR_NODE_MAP, maker->at);
    map->note = NOTE;
    orr_scenario__add(maker->load, parent, key, maker->at, map);
    return map;
}

/* Adds one value and checks it as if it stood in a file. */
static enum orr_status add_value(struct maker *maker, const struct orr_scenario__row *rows,
                                 struct orr_scenario__node *group, const char *key,
                                 const char *text)
{
    struct orr_scenario__node *node = orr_scenario__scalar(maker->load, text, NOTE, maker->at);
    orr_scenario__add(maker->load, group, key, maker->at, node);
    const struct orr_scenario__row *row = orr_scenario__row_find(rows, key);
    ORR_ASSERT(row != NULL);
    return orr_scenario__shape_scalar(maker->load, row, node);
}

static enum orr_status read_option(struct maker *maker, const char *option, const char *text)
{
    return orr_scenario__argument(maker->load, option, text, &maker->at);
}

/* NODESxGPUS[:MODEL] */
static enum orr_status add_pool(struct maker *maker, struct orr_scenario__node *pools,
                                const char *name, const char *text)
{
    struct orr_scenario__load *load = maker->load;
    const struct orr_scenario__row *rows = orr_scenario__row_at("cluster", "pools");
    enum orr_status status = read_option(maker, "--cluster", text);
    if (status != ORR_OK) {
        return status;
    }
    const struct orr_scenario__at start = maker->at;
    size_t nodes = strspn(text, "0123456789");
    size_t gpus = text[nodes] == 'x' ? strspn(text + nodes + 1, "0123456789") : 0;
    const char *rest = text + nodes + 1 + gpus;
    if (nodes == 0 || gpus == 0 || (rest[0] != '\0' && (rest[0] != ':' || rest[1] == '\0'))) {
        return orr_scenario__fail_as(load, ORR_USAGE, &maker->at,
                                     "expected NODESxGPUS or NODESxGPUS:MODEL, such as 80x8:H100");
    }
    if (strchr(rest, ',') != NULL) { /* else all behind the colon were one model's name */
        return orr_scenario__fail_as(load, ORR_USAGE, &maker->at,
                                     "one kind of nodes at a time: give --cluster once for each");
    }
    struct orr_scenario__node *pool = add_map(maker, pools, name);
    status = add_value(maker, rows, pool, "nodes", orr_arena_strndup(load->arena, text, nodes));
    if (status == ORR_OK) {
        maker->at = orr_scenario__at_byte(start, text, nodes + 1);
        status = add_value(maker, rows, pool, "gpus",
                           orr_arena_strndup(load->arena, text + nodes + 1, gpus));
    }
    if (status == ORR_OK && rest[0] == ':') {
        maker->at = orr_scenario__at_byte(start, text, (size_t)(rest - text) + 1);
        status = add_value(maker, rows, pool, "gpu_model",
                           orr_arena_strndup(load->arena, rest + 1, strlen(rest + 1)));
    }
    return status;
}

static enum orr_status add_part(struct maker *maker, struct orr_scenario__node *workload)
{
    const struct orr_scenario_options *options = maker->load->options;
    const struct orr_scenario__row *rows = orr_scenario__row_at("workload", NULL);
    char copies[16];
    (void)snprintf(copies, sizeof copies, "%u", (unsigned)options->copies);
    const char *const values[][3] = {
        {"--trace", "trace", options->trace},
        {"--format", "format", options->format},
        {"--split", "split", options->split},
        {"--copies", "copies", options->copies > 0 ? copies : NULL},
    };
    enum orr_status status = read_option(maker, "--trace", options->trace);
    struct orr_scenario__node *part = add_map(maker, workload, PART_NAME);
    if (status == ORR_OK) {
        status = add_value(maker, rows, part, "name", PART_NAME);
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0] && status == ORR_OK; i++) {
        if (values[i][2] != NULL) {
            status = read_option(maker, values[i][0], values[i][2]);
        }
        if (values[i][2] != NULL && status == ORR_OK) {
            status = add_value(maker, rows, part, values[i][1], maker->at.source->text);
        }
    }
    return status;
}

enum orr_status orr_scenario__from_command(struct orr_scenario__load *load,
                                           struct orr_scenario__node **out)
{
    const struct orr_scenario_options *options = load->options;
    struct maker maker = {load, {NULL, 0, 0}};
    if (options->trace == NULL) {
        return orr_fail(load->err, ORR_USAGE, "a scenario file or --trace is needed");
    }
    if (options->cluster_count == 0) {
        return orr_fail(load->err, ORR_USAGE,
                        "--cluster is needed with --trace, such as --cluster 80x8");
    }
    enum orr_status status = read_option(&maker, "--cluster", options->clusters[0]);
    struct orr_scenario__node *root = orr_scenario__node(load, ORR_NODE_MAP, maker.at);
    root->note = NOTE;
    struct orr_scenario__node *pools = add_map(&maker, add_map(&maker, root, "cluster"), "pools");
    for (uint32_t i = 0; i < options->cluster_count && status == ORR_OK; i++) {
        const char *name = orr_scenario__format(load->arena, "c%u", (unsigned)i + 1);
        status = add_pool(&maker, pools, name, options->clusters[i]);
    }
    if (status == ORR_OK) {
        status = add_part(&maker, add_map(&maker, root, "workload"));
    }
    *out = root;
    return status;
}
