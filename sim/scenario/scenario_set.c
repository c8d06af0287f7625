/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_set.c - changes by path, from variants and from the command line.
 *
 * A path walks rows and nodes side by side. The tree is complete by then, so every value that can
 * be set is there, with the default that += and the like start from.
 */
#include "scenario_int.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/text.h>

struct walk {
    struct orr_scenario__load *load;
    const struct orr_scenario__change *change;
    char op;
    const char *value; /* behind the operator */
    struct orr_scenario__at value_at;
};

static enum orr_status step(struct walk *walk, const struct orr_scenario__row *row,
                            struct orr_scenario__node *node, const char *rest);

static struct orr_scenario__at at_rest(const struct walk *walk, const char *rest)
{
    return orr_scenario__at_byte(walk->change->path_at, walk->change->path,
                                 (size_t)(rest - walk->change->path));
}

static const char *first_word(const struct walk *walk, const char *rest)
{
    return orr_arena_strndup(walk->load->arena, rest, strcspn(rest, "."));
}

static enum orr_status no_such_row(struct walk *walk, const struct orr_scenario__row *group,
                                   const char *rest)
{
    const char *known[64];
    size_t count = 0;
    for (uint32_t i = 0; i < group->row_count && count < 64; i++) {
        const struct orr_scenario__row *row = &group->rows[i];
        if (row->type != ORR_TYPE_REFUSED && row->type != ORR_TYPE_EXTENDS && !row->fixed) {
            known[count++] = row->key;
        }
    }
    struct orr_scenario__at at = at_rest(walk, rest);
    return orr_scenario__no_such(walk->load, &at, "key", first_word(walk, rest), known, count);
}

static enum orr_status no_such_name(struct walk *walk, const struct orr_scenario__row *row,
                                    const struct orr_scenario__node *names, const char *rest)
{
    const char **known = orr_arena_alloc(walk->load->arena, names->child_count + 1, sizeof *known);
    for (uint32_t i = 0; i < names->child_count; i++) {
        known[i] = names->children[i]->key;
    }
    struct orr_scenario__at at = at_rest(walk, rest);
    if (names->child_count == 0 && strcmp(row->key, "queues") == 0) {
        return orr_scenario__fail(walk->load, &at,
                                  "the scenario states no queues, so those its traces name are as "
                                  "they come: state all of them, such as \"queues: {%.80s: {}}\", "
                                  "to change one (`orrery init --trace FILE` writes them)",
                                  first_word(walk, rest));
    }
    return orr_scenario__no_such(walk->load, &at, row->one, first_word(walk, rest), known,
                                 names->child_count);
}

/* Names may contain dots, so the longest one that fits is meant. */
static struct orr_scenario__node *longest_name(struct walk *walk,
                                               const struct orr_scenario__node *names,
                                               const char *rest, size_t *bytes)
{
    for (size_t n = strlen(rest); n > 0; n--) {
        if (rest[n] == '\0' || rest[n] == '.') {
            const char *name = orr_arena_strndup(walk->load->arena, rest, n);
            struct orr_scenario__node *found = orr_scenario__find(names, name);
            if (found != NULL) {
                *bytes = n;
                return found;
            }
        }
    }
    return NULL;
}

static const char *skip_dot(const char *rest)
{
    return *rest == '.' ? rest + 1 : rest;
}

static enum orr_status step_names(struct walk *walk, const struct orr_scenario__row *row,
                                  struct orr_scenario__node *node, const char *rest)
{
    struct orr_scenario__row group = *row;
    group.type = ORR_TYPE_GROUP;
    group.prepare = NULL;
    if (rest[0] != '*' || (rest[1] != '.' && rest[1] != '\0')) {
        size_t bytes;
        struct orr_scenario__node *found = longest_name(walk, node, rest, &bytes);
        return found == NULL ? no_such_name(walk, row, node, rest)
                             : step(walk, &group, found, skip_dot(rest + bytes));
    }
    if (node->child_count == 0) {
        struct orr_scenario__at at = at_rest(walk, rest);
        return orr_scenario__fail(walk->load, &at, "%.80s has no names that * could stand for",
                                  orr_scenario__key(node));
    }
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < node->child_count && status == ORR_OK; i++) {
        status = step(walk, &group, node->children[i], skip_dot(rest + 1));
    }
    return status;
}

static enum orr_status step_group(struct walk *walk, const struct orr_scenario__row *row,
                                  struct orr_scenario__node *node, const char *rest)
{
    const char *word = first_word(walk, rest);
    const struct orr_scenario__row *found = orr_scenario__row_find(row, word);
    struct orr_scenario__at at = at_rest(walk, rest);
    if (found == NULL) {
        return no_such_row(walk, row, rest);
    }
    if (found->type == ORR_TYPE_REFUSED) {
        return orr_scenario__fail(walk->load, &at, "%s", found->refusal);
    }
    bool list_of_text = found->type == ORR_TYPE_WORDS && found->choices == NULL;
    if (found->type == ORR_TYPE_EXTENDS || found->type == ORR_TYPE_OPENS || found->fixed ||
        list_of_text) {
        return orr_scenario__fail(walk->load, &at, "\"%s\" cannot be set by a path", word);
    }
    struct orr_scenario__node *child = orr_scenario__find(node, word);
    if (child == NULL && found->optional) {
        return orr_scenario__fail(walk->load, &at, "the scenario says nothing of \"%s\" there",
                                  word);
    }
    ORR_ASSERT(child != NULL);
    return step(walk, found, child, skip_dot(rest + strlen(word)));
}

static void write_value(const struct walk *walk, struct orr_scenario__node *node, const char *text)
{
    node->text = text;
    node->note = walk->change->note;
    node->at = walk->value_at;
    node->quoted = false;
    node->implied = false;
}

static enum orr_status wrong_value(const struct walk *walk, const struct orr_scenario__node *node,
                                   const char *why)
{
    return orr_scenario__fail(walk->load, &walk->value_at, "%.80s: %s", orr_scenario__key(node),
                              why);
}

static enum orr_status set_scalar(struct walk *walk, const struct orr_scenario__row *row,
                                  struct orr_scenario__node *node)
{
    char why[ORR_SCENARIO__WHY];
    struct orr_scenario__value value = {.null = node->text == NULL};
    struct orr_scenario__load *load = walk->load;
    if (walk->op == '=') {
        if (strcmp(walk->value, "null") == 0) {
            if (row->required) {
                return wrong_value(walk, node, "must have a value");
            }
            write_value(walk, node, row->fallback);
            return ORR_OK;
        }
        if (!orr_scenario__value_parse(row, walk->value, &value, why)) {
            return wrong_value(walk, node, why);
        }
    } else {
        if (!value.null && !orr_scenario__value_parse(row, node->text, &value, why)) {
            return wrong_value(walk, node, why);
        }
        if (!orr_scenario__value_change(row, &value, walk->op, walk->value, why)) {
            return wrong_value(walk, node, why);
        }
    }
    bool text = row->type == ORR_TYPE_TEXT || row->type == ORR_TYPE_CHOICE;
    const char *canonical = text ? walk->value : orr_scenario__value_text(load->arena, row, &value);
    /* a changed amount may have left its bounds */
    if (!orr_scenario__value_parse(row, canonical, &value, why)) {
        return wrong_value(walk, node, why);
    }
    write_value(walk, node, canonical);
    return ORR_OK;
}

/* A value that is written as in a file. */
static enum orr_status parse_value(struct walk *walk, const struct orr_scenario__node *node,
                                   struct orr_scenario__node **made)
{
    struct orr_scenario__load *load = walk->load;
    bool argument = walk->value_at.source->argument;
    int pad = argument ? (int)walk->value_at.column - 1 : 0;
    struct orr_scenario__source *source = orr_arena_alloc(load->arena, 1, sizeof *source);
    source->name = argument ? walk->value_at.source->name : walk->change->note;
    source->folder = "";
    source->argument = true;
    source->shown = argument ? walk->value_at.source->text : walk->value;
    source->text = orr_scenario__format(load->arena, "%*s%s", pad, "", walk->value);
    source->bytes = strlen(source->text);
    struct orr_scenario__node *documents;
    enum orr_status status = orr_scenario__take_text(load, source);
    if (status == ORR_OK) {
        status = orr_scenario__parse(load, source, &documents);
    }
    if (status == ORR_OK && documents->child_count != 1) {
        status = wrong_value(walk, node, "expected one value");
    }
    if (status == ORR_OK) {
        *made = documents->children[0];
        (*made)->key = node->key;
    }
    return status;
}

/* A list, or a group that is more than its single values. */
static enum orr_status set_structure(struct walk *walk, const struct orr_scenario__row *row,
                                     struct orr_scenario__node *node)
{
    struct orr_scenario__load *load = walk->load;
    struct orr_scenario__node *made;
    enum orr_status status = parse_value(walk, node, &made);
    status = status == ORR_OK ? orr_scenario__shape(load, row, made) : status;
    if (status != ORR_OK) {
        return status;
    }
    for (uint32_t i = 0; i < made->child_count; i++) {
        made->children[i]->note = walk->change->note;
    }
    made->note = walk->change->note;
    if (row->type == ORR_TYPE_GROUP && !made->whole) {
        orr_scenario__merge(load, node, made);
    } else {
        orr_scenario__replace(node, made);
    }
    /* a later change may be about what was left out */
    return row->type == ORR_TYPE_GROUP ? orr_scenario__complete_group(load, row, node) : ORR_OK;
}

/* What the text of a param looks like: a number, a time, or memory. */
static enum orr_scenario__type guess_type(const char *text)
{
    static const enum orr_scenario__type amounts[] = {ORR_TYPE_NUMBER, ORR_TYPE_DURATION,
                                                      ORR_TYPE_MEMORY};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        struct orr_scenario__row row = {.key = "", .type = amounts[i]};
        struct orr_scenario__value value;
        char why[ORR_SCENARIO__WHY];
        if (orr_scenario__value_parse(&row, text, &value, why)) {
            return amounts[i];
        }
    }
    return ORR_TYPE_TEXT;
}

/* Is the value {file: NAME}, as a parameter's may be in a scenario? */
static bool is_file(const struct walk *walk, struct orr_scenario__row const *row)
{
    const char *at = walk->value + strspn(walk->value, " ");
    at += at[0] == '{';
    return row->paths && walk->op == '=' && at != walk->value &&
           strncmp(at + strspn(at, " \"'"), "file", 4) == 0;
}

static enum orr_status set_file(struct walk *walk, struct orr_scenario__node *node,
                                const char *name)
{
    struct orr_scenario__load *load = walk->load;
    struct orr_scenario__node *made = NULL, *file = NULL;
    const enum orr_status status = parse_value(walk, node, &made);
    if (status == ORR_OK && made->kind == ORR_NODE_MAP && made->child_count == 1) {
        file = orr_scenario__find(made, "file");
    }
    if (status == ORR_OK && (file == NULL || file->text == NULL)) {
        return wrong_value(walk, node, "expected {file: NAME}");
    }
    if (status == ORR_OK) {
        file->note = walk->change->note;
        orr_scenario__add(load, node, orr_scenario__format(load->arena, "%s.file", name),
                          walk->value_at, file);
        node->implied = false;
    }
    return status;
}

/* Params belong to the policy: any name will do here. */
static enum orr_status set_open(struct walk *walk, struct orr_scenario__node *node,
                                const char *name)
{
    struct orr_scenario__load *load = walk->load;
    struct orr_scenario__node *param = orr_scenario__find(node, name);
    if (walk->op != '=') {
        struct orr_scenario__at at = at_rest(walk, name);
        if (param == NULL) {
            return orr_scenario__fail(load, &at,
                                      "\"%.80s\" has no value in the scenario to start from", name);
        }
        struct orr_scenario__row row = {.key = param->key, .type = guess_type(param->text)};
        return set_scalar(walk, &row, param);
    }
    if (param == NULL) {
        param = orr_scenario__scalar(load, "", NULL, walk->value_at);
        orr_scenario__add(load, node, orr_arena_strndup(load->arena, name, strlen(name)),
                          walk->value_at, param);
    }
    if (walk->value[0] == '\0') {
        return wrong_value(walk, param, "must have a value");
    }
    write_value(walk, param, walk->value);
    node->implied = false; /* somebody spoke: no node type or default replaces it */
    return ORR_OK;
}

/* Lists, and groups that may be written as less than a map. */
static bool takes_structure(const struct orr_scenario__row *row)
{
    return row->type == ORR_TYPE_WORDS || row->prepare == orr_scenario__prepare_amounts ||
           row->prepare == orr_scenario__prepare_latency ||
           row->prepare == orr_scenario__prepare_duration ||
           row->prepare == orr_scenario__prepare_rate || row->prepare == orr_scenario__prepare_lend;
}

static enum orr_status finish(struct walk *walk, const struct orr_scenario__row *row,
                              struct orr_scenario__node *node, const char *rest)
{
    if (takes_structure(row) && walk->op == '=') {
        return set_structure(walk, row, node);
    }
    struct orr_scenario__at at = at_rest(walk, rest);
    if (row->type == ORR_TYPE_GROUP) {
        const char *example = "";
        for (uint32_t i = 0; i < row->row_count && example[0] == '\0'; i++) {
            example = row->rows[i].fixed ? "" : row->rows[i].key;
        }
        return orr_scenario__fail(walk->load, &at,
                                  "\"%.80s\" is a group: set one of its values, such as %.80s.%s",
                                  orr_scenario__key(node), walk->change->path, example);
    }
    return orr_scenario__fail(walk->load, &at, "\"%.80s\" is not a single value that can be set",
                              orr_scenario__key(node));
}

/* Depth follows the rows. */
static enum orr_status step(struct walk *walk, const struct orr_scenario__row *row,
                            struct orr_scenario__node *node, const char *rest)
{
    if (orr_scenario__is_scalar(row->type)) {
        if (rest[0] == '\0') {
            return set_scalar(walk, row, node);
        }
        struct orr_scenario__at at = at_rest(walk, rest);
        return orr_scenario__fail(walk->load, &at, "\"%.80s\" is a single value: nothing is below",
                                  orr_scenario__key(node));
    }
    if (rest[0] == '\0') {
        return finish(walk, row, node, rest);
    }
    switch (row->type) {
    case ORR_TYPE_GROUP: return step_group(walk, row, node, rest);
    case ORR_TYPE_NAMES: return step_names(walk, row, node, rest);
    case ORR_TYPE_OPEN:
        return is_file(walk, row) ? set_file(walk, node, rest) : set_open(walk, node, rest);
    default: return finish(walk, row, node, rest);
    }
}

enum orr_status orr_scenario__change(struct orr_scenario__load *load,
                                     struct orr_scenario__node *root,
                                     const struct orr_scenario__change *change)
{
    struct walk walk = {load, change, change->op, change->value, change->value_at};
    size_t bytes = 0;
    if (walk.op == 0) {
        walk.op = '=';
        if (change->value[0] == '=') {
            bytes = 1;
        } else if (change->value[0] != '\0' && strchr("+-*", change->value[0]) != NULL &&
                   change->value[1] == '=') {
            walk.op = change->value[0];
            bytes = 2;
        }
    }
    walk.value += bytes;
    walk.value_at.column += (uint32_t)bytes;
    enum orr_status status = step(&walk, orr_scenario__root_row(), root, change->path);
    if (status == ORR_OK && strncmp(change->path, "cluster.", 8) == 0) {
        status = orr_scenario__complete_cluster(load, root);
    }
    if (status == ORR_OK && strncmp(change->path, "queues.", 7) == 0) {
        status = orr_scenario__follow_quotas(load, root);
        status = status == ORR_OK ? orr_scenario__sum_flavors(load, root) : status;
    }
    return status;
}

/* A value of the command line in quotes is what stands between them, as in a file. */
static bool is_quoted(const char *value)
{
    const char *end = value[0] == '"' || value[0] == '\'' ? strchr(value + 1, value[0]) : NULL;
    return end != NULL && end[1] == '\0';
}

static const char *unquoted(struct orr_scenario__load *load, const char *value)
{
    return is_quoted(value) ? orr_arena_strndup(load->arena, value + 1, strlen(value) - 2) : value;
}

static bool is_quote_open(const char *value)
{
    return (value[0] == '"' || value[0] == '\'') && strchr(value + 1, value[0]) == NULL;
}

/* A shared object is where the user is, if there is one; else it is looked for from the scenario's
 * folder, as one that a scenario names. */
static const char *from_here(const char *policy, char *path)
{
    const size_t bytes = strlen(policy);
    const bool is_object = bytes > 3 && strcmp(policy + bytes - 3, ".so") == 0;
    return is_object && realpath(policy, path) != NULL ? path : policy;
}

/* The same for PATH=VALUE of a policy's name and parameters (kai's `hooks`). */
static const char *argument_from_here(struct orr_scenario__load *load, const char *below,
                                      const char *text)
{
    const size_t sign = strcspn(text, "=");
    char path[PATH_MAX];
    if (text[sign] == '\0' || (below[0] == '\0' && strncmp(text, "policy", 6) != 0)) {
        return text;
    }
    return orr_scenario__format(load->arena, "%.*s%s", (int)sign + 1, text,
                                from_here(unquoted(load, text + sign + 1), path));
}

/* PATH=VALUE, PATH+=VALUE, ... of one option of the command line. */
static enum orr_status change_by_argument(struct orr_scenario__load *load,
                                          struct orr_scenario__node *root, const char *option,
                                          const char *below, const char *text)
{
    struct orr_scenario__at at;
    enum orr_status status =
        orr_scenario__argument(load, option, argument_from_here(load, below, text), &at);
    if (status != ORR_OK) {
        return status;
    }
    const char *given = at.source->text;
    size_t sign = strcspn(given, "=");
    if (sign == 0 || given[sign] == '\0') {
        at = orr_scenario__at_byte(at, given, sign);
        return orr_scenario__fail_as(load, ORR_USAGE, &at, "expected %s=VALUE",
                                     below[0] == '\0' ? "PATH" : "NAME");
    }
    size_t path_bytes = sign;
    char op = '=';
    const char *inside = ""; /* policy=NAME is short for policy.name=NAME, as in a file */
    /* why: in `queues.*=3` the star ends the path */
    bool star = sign >= 2 && given[sign - 1] == '*' && given[sign - 2] == '.';
    if (strchr("+-*", given[sign - 1]) != NULL && !star) {
        op = given[sign - 1];
        path_bytes--;
    } else if (given[sign + 1] != '\0' && strchr("+-*", given[sign + 1]) != NULL &&
               given[sign + 2] == '=') {
        op = 0; /* PATH=-=VALUE, as a map of changes writes it */
    }
    if (below[0] == '\0' && path_bytes == 6 && strncmp(given, "policy", 6) == 0) {
        inside = ".name";
    }
    struct orr_scenario__change change = {
        .path =
            orr_scenario__format(load->arena, "%s%.*s%s", below, (int)path_bytes, given, inside),
        .value = given + sign + 1,
        .value_at = orr_scenario__at_byte(at, given, sign + 1),
        .op = op,
        .note = orr_scenario__format(load->arena, "%s %s", option, text)};
    change.path_at = at;
    change.path_at.column -= (uint32_t)strlen(below); /* wraps back as the path is walked */
    if (is_quote_open(change.value)) {
        return orr_scenario__fail_as(load, ORR_USAGE, &change.value_at,
                                     "the quote is never closed");
    }
    change.value_at.column += is_quoted(change.value);
    change.value = unquoted(load, change.value);
    return orr_scenario__change(load, root, &change);
}

static enum orr_status change_by_option(struct orr_scenario__load *load,
                                        struct orr_scenario__node *root, const char *option,
                                        const char *path, const char *value)
{
    struct orr_scenario__at at;
    enum orr_status status = orr_scenario__argument(load, option, value, &at);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_scenario__change change = {
        .path = path,
        .path_at = at,
        .value = at.source->text,
        .value_at = at,
        .op = '=',
        .note = orr_scenario__format(load->arena, "%s %s", option, value)};
    return orr_scenario__change(load, root, &change);
}

static enum orr_status apply_variant(struct orr_scenario__load *load,
                                     struct orr_scenario__node *root,
                                     const struct orr_scenario__node *variant)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < variant->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *entry = variant->children[i];
        struct orr_scenario__change change = {
            .path = entry->key,
            .path_at = entry->key_at,
            .value = entry->text,
            .value_at = entry->at,
            .note = orr_scenario__format(load->arena, "variant %s", variant->key)};
        status = orr_scenario__change(load, root, &change);
    }
    return status;
}

/* A variant that cannot be applied is found before somebody waits for its results. */
static enum orr_status try_variants(const struct orr_scenario__load *load,
                                    const struct orr_scenario__node *root,
                                    const struct orr_scenario__node *variants)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < variants->child_count && status == ORR_OK; i++) {
        struct orr_arena arena;
        orr_arena_init(&arena);
        struct orr_scenario__load trial = *load;
        trial.arena = &arena;
        trial.nodes = 0;
        struct orr_scenario__node *copy = orr_scenario__copy(&trial, root);
        status = apply_variant(&trial, copy, variants->children[i]);
        orr_arena_release(&arena);
    }
    return status;
}

static enum orr_status select_variant(struct orr_scenario__load *load,
                                      struct orr_scenario__node *root,
                                      const struct orr_scenario__node *variants, const char *option,
                                      const char *name)
{
    const struct orr_scenario__node *variant = orr_scenario__find(variants, name);
    if (variant != NULL) {
        return apply_variant(load, root, variant);
    }
    struct orr_scenario__at at;
    enum orr_status status = orr_scenario__argument(load, option, name, &at);
    if (status != ORR_OK) {
        return status;
    }
    const char **known = orr_arena_alloc(load->arena, variants->child_count + 1, sizeof *known);
    for (uint32_t i = 0; i < variants->child_count; i++) {
        known[i] = variants->children[i]->key;
    }
    return orr_scenario__no_such(load, &at, "variant", name, known, variants->child_count);
}

static void forget(struct orr_scenario__node *map)
{
    map->child_count = 0;
    map->slots = NULL;
    map->slot_count = 0;
}

void orr_scenario__forget_params(const struct orr_scenario__node *root, const char *policy)
{
    const struct orr_scenario__node *written = orr_scenario__find(root, "policy");
    const struct orr_scenario__node *name =
        written == NULL ? NULL : orr_scenario__find(written, "name");
    struct orr_scenario__node *params =
        written == NULL ? NULL : orr_scenario__find(written, "params");
    if (params != NULL && params->kind == ORR_NODE_MAP && name != NULL && name->text != NULL &&
        strcmp(name->text, policy) != 0) {
        forget(params);
    }
}

/* One named by --policy is meant for all shards. */
static void forget_shards(const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *written = orr_scenario__find(root, "policy");
    struct orr_scenario__node *shards =
        written == NULL ? NULL : orr_scenario__find(written, "shards");
    if (shards != NULL) {
        forget(shards);
    }
}

/* The policy that a change names, or NULL. */
static const char *named_policy(struct orr_scenario__load *load, const char *set)
{
    static const char *const begins[] = {"policy=", "policy.name="};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(set, begins[i], strlen(begins[i])) == 0) {
            return unquoted(load, set + strlen(begins[i]));
        }
    }
    return NULL;
}

/* The parameters of the old policy go before the first change: those that are set beside its name
 * are the new one's, whichever stands first. */
static enum orr_status change_by_sets(struct orr_scenario__load *load,
                                      struct orr_scenario__node *root, const char *option,
                                      const char *const *sets, uint32_t count)
{
    static const char variant[] = "variant=";
    const bool is_base = sets == load->options->bases;
    const char *policy = NULL;
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count; i++) {
        const char *named = named_policy(load, sets[i]);
        policy = named != NULL ? named : policy;
    }
    if (policy != NULL) {
        orr_scenario__forget_params(root, policy);
    }
    const char *last = is_base ? NULL : load->options->last_set_option;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        const char *called = last != NULL && i + 1 == count ? last : option;
        status = is_base && strncmp(sets[i], variant, strlen(variant)) == 0
                     ? select_variant(load, root, orr_scenario__find(root, "variants"), option,
                                      sets[i] + strlen(variant))
                     : change_by_argument(load, root, called, "", sets[i]);
    }
    return status;
}

enum orr_status orr_scenario__change_all(struct orr_scenario__load *load,
                                         struct orr_scenario__node *root)
{
    const struct orr_scenario_options *options = load->options;
    const struct orr_scenario__node *variants = orr_scenario__find(root, "variants");
    enum orr_status status = ORR_OK;
    if (options->base_count > 0) {
        status = change_by_sets(load, root, "--base", options->bases, options->base_count);
    }
    if (status == ORR_OK) {
        status = try_variants(load, root, variants);
    }
    if (status == ORR_OK && options->variant != NULL) {
        status = select_variant(load, root, variants, "--variant", options->variant);
    }
    if (status == ORR_OK && options->policy != NULL) {
        char path[PATH_MAX];
        const char *policy = from_here(options->policy, path);
        orr_scenario__forget_params(root, policy);
        forget_shards(root);
        status = change_by_option(load, root, "--policy", "policy.name", policy);
    }
    if (status == ORR_OK && options->seed_given) {
        char seed[32];
        (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
        status = change_by_option(load, root, "--seed", "seeds", seed);
    }
    if (status == ORR_OK) {
        status = change_by_sets(load, root, "--set", options->sets, options->set_count);
    }
    for (uint32_t i = 0; i < options->param_count && status == ORR_OK; i++) {
        status = change_by_argument(load, root, "--param", "policy.params.", options->params[i]);
    }
    return status;
}
