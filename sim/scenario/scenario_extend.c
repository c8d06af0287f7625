/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_extend.c - one scenario file, laid over the file it extends, and so on downwards. */
#include "scenario_int.h"

#include <string.h>

#define CHAIN_MAX 32 /* files that extend one another */

enum orr_status orr_scenario__single(struct orr_scenario__load *load,
                                     const struct orr_scenario__source *source,
                                     struct orr_scenario__node **out)
{
    struct orr_scenario__node *documents;
    enum orr_status status = orr_scenario__parse(load, source, &documents);
    if (status != ORR_OK) {
        return status;
    }
    if (documents->child_count == 0) {
        return orr_scenario__fail(load, &documents->at, "the file is empty");
    }
    if (documents->child_count > 1) {
        return orr_scenario__fail(load, &documents->children[1]->at,
                                  "a second document: expected only one in this file");
    }
    *out = documents->children[0];
    if ((*out)->kind != ORR_NODE_MAP) {
        return orr_scenario__fail(load, &(*out)->at, "expected a map of keys at the top");
    }
    return ORR_OK;
}

/* Files are found from the folder of the file that names them; with several, names are rewritten
 * to be right from the folder of the first. Depth follows the rows. */
static void rebase(struct orr_scenario__load *load, const struct orr_scenario__row *row,
                   struct orr_scenario__node *node, const char *folder)
{
    if (row->type == ORR_TYPE_TEXT) {
        if (row->file && node->text != NULL) {
            node->text = orr_scenario__join(load->arena, folder, node->text);
        }
        return;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        struct orr_scenario__node *child = node->children[i];
        if (row->type == ORR_TYPE_GROUP) {
            const struct orr_scenario__row *found = orr_scenario__row_find(row, child->key);
            if (found != NULL) {
                rebase(load, found, child, folder);
            }
        } else if (row->type == ORR_TYPE_NAMES) {
            struct orr_scenario__row group = *row;
            group.type = ORR_TYPE_GROUP;
            rebase(load, &group, child, folder);
        }
    }
}

static enum orr_status load_one(struct orr_scenario__load *load,
                                const struct orr_scenario__source *source,
                                struct orr_scenario__node **out,
                                const struct orr_scenario__node **extends)
{
    enum orr_status status = orr_scenario__single(load, source, out);
    if (status == ORR_OK) {
        status = orr_scenario__shape(load, orr_scenario__root_row(), *out);
    }
    if (status == ORR_OK) {
        status = orr_scenario__place_objects(load, *out);
    }
    if (status != ORR_OK) {
        return status;
    }
    *extends = orr_scenario__find(*out, "extends");
    if (*extends != NULL && ((*extends)->kind != ORR_NODE_SCALAR || (*extends)->text == NULL)) {
        return orr_scenario__wrong_kind(load, *extends, "a file name");
    }
    return ORR_OK;
}

static enum orr_status check_cycle(struct orr_scenario__load *load,
                                   const struct orr_scenario__source *const *chain, uint32_t length,
                                   const struct orr_scenario__source *next,
                                   const struct orr_scenario__at *at)
{
    for (uint32_t i = 0; i < length; i++) {
        if (chain[i]->device == next->device && chain[i]->inode == next->inode) {
            return orr_scenario__fail(load, at, "extends: %.200s extends itself", next->name);
        }
    }
    if (length == CHAIN_MAX) {
        return orr_scenario__fail(load, at, "extends: more than %d files", CHAIN_MAX);
    }
    return ORR_OK;
}

enum orr_status orr_scenario__load_file(struct orr_scenario__load *load,
                                        const struct orr_scenario__source *source,
                                        struct orr_scenario__node **out)
{
    const struct orr_scenario__source *chain[CHAIN_MAX];
    struct orr_scenario__node *roots[CHAIN_MAX];
    const char *extends_text[CHAIN_MAX];
    uint32_t length = 0;
    while (source != NULL) {
        const struct orr_scenario__node *extends;
        enum orr_status status = load_one(load, source, &roots[length], &extends);
        if (status != ORR_OK) {
            return status;
        }
        chain[length++] = source;
        const struct orr_scenario__source *next = NULL;
        if (extends != NULL) {
            const char *path = orr_scenario__join(load->arena, source->folder, extends->text);
            status = orr_scenario__read(load, path, &extends->at, &next);
            if (status == ORR_OK) {
                status = check_cycle(load, chain, length, next, &extends->at);
            }
            if (status != ORR_OK) {
                return status;
            }
            extends_text[length - 1] = extends->text;
        }
        source = next;
    }
    struct orr_scenario__node *result = roots[length - 1];
    for (uint32_t i = length - 1; i > 0; i--) {
        rebase(load, orr_scenario__root_row(), result,
               orr_scenario__folder(load->arena, extends_text[i - 1]));
        const struct orr_scenario__node *policy = orr_scenario__find(roots[i - 1], "policy");
        const struct orr_scenario__node *name =
            policy == NULL ? NULL : orr_scenario__find(policy, "name");
        if (name != NULL && name->text != NULL) {
            orr_scenario__forget_params(result, name->text);
        }
        orr_scenario__merge(load, result, roots[i - 1]);
    }
    *out = result;
    return ORR_OK;
}
