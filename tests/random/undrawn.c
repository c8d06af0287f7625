/* SPDX-License-Identifier: GPL-3.0-or-later */
/* undrawn SCENARIO...: the keys of the scenario language that none of these files writes, by the
 * schema's own rows. */
#include "scenario_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    const struct orr_scenario__row **rows;
    uint32_t count, capacity;
};

static bool has_row(const struct seen *seen, const struct orr_scenario__row *row)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        if (seen->rows[i] == row) {
            return true;
        }
    }
    return false;
}

static void see(struct seen *seen, const struct orr_scenario__row *row)
{
    if (!has_row(seen, row)) {
        seen->rows = ORR_ROOM_FOR_ONE(seen->rows, seen->count, seen->capacity);
        seen->rows[seen->count++] = row;
    }
}

/* Somebody wrote it, or something in it. */
static bool walk(struct seen *seen, const struct orr_scenario__row *row,
                 const struct orr_scenario__node *node)
{
    bool written = !node->implied && node->at.source != NULL;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct orr_scenario__node *child = node->children[i];
        if (row->type == ORR_TYPE_NAMES) { /* each is a group of the same rows */
            struct orr_scenario__row one = *row;
            one.type = ORR_TYPE_GROUP;
            written = walk(seen, &one, child) || written;
            continue;
        }
        const struct orr_scenario__row *inner =
            row->type == ORR_TYPE_GROUP ? orr_scenario__row_find(row, child->key) : NULL;
        if (inner != NULL && walk(seen, inner, child)) {
            see(seen, inner);
            written = true;
        }
    }
    return written;
}

/* Prints what is missing below a row; roles within roles are rows seen before. */
static uint32_t tell(const struct seen *seen, const struct orr_scenario__row *row, const char *path,
                     uint32_t depth)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < row->row_count && depth < 6; i++) {
        const struct orr_scenario__row *inner = &row->rows[i];
        char name[300];
        (void)snprintf(name, sizeof name, "%.200s%s%.90s", path, path[0] == '\0' ? "" : ".",
                       inner->key);
        const bool constant = inner->fixed || inner->type == ORR_TYPE_REFUSED ||
                              inner->type == ORR_TYPE_EXTENDS; /* read before the tree is made */
        if (!constant && !has_row(seen, inner)) {
            (void)printf("%s\n", name);
            missing++;
        } else if (inner->rows != row->rows) {
            missing += tell(seen, inner, name, depth + 1);
        }
    }
    return missing;
}

int main(int argc, char **argv)
{
    struct seen seen = {0};
    for (int i = 1; i < argc; i++) {
        const struct orr_scenario_options options = {.path = argv[i]};
        struct orr_scenario scenario;
        struct orr_err err = {0};
        if (orr_scenario_load(&options, &scenario, &err) != ORR_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return EXIT_FAILURE;
        }
        (void)walk(&seen, orr_scenario__root_row(), scenario.tree->root);
        orr_scenario_release(&scenario);
    }
    const uint32_t missing = tell(&seen, orr_scenario__root_row(), "", 0);
    orr_free(seen.rows);
    return missing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
