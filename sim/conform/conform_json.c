/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conform_json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/json_end.h>
#include <orrery/base/text.h>

/* Whole file with a final NUL, or NULL. */
static char *read_file(const char *path, size_t *bytes, struct orr_err *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)orr_fail(err, ORR_NO_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    size_t used = 0, capacity = 0;
    for (;;) {
        if (capacity - used < 2) {
            capacity = capacity == 0 ? (size_t)1 << 16 : 2 * capacity;
            text = orr_realloc(text, capacity, 1);
        }
        size_t got = fread(text + used, 1, capacity - used - 1, file);
        if (got == 0) {
            break;
        }
        used += got;
    }
    if (ferror(file) != 0) {
        (void)orr_fail(err, ORR_IO, "%s: cannot be read", path);
        orr_free(text);
        text = NULL;
    } else {
        text[used] = '\0';
        *bytes = used;
    }
    (void)fclose(file);
    return text;
}

static struct fy_diag_error *last_error(struct fy_diag *diag)
{
    struct fy_diag_error *error, *last = NULL;
    void *place = NULL;
    while ((error = fy_diag_errors_iterate(diag, &place)) != NULL) {
        last = error;
    }
    return last;
}

static void fail_of_parser(const struct conform_reader *reader, size_t bytes,
                           const struct fy_diag_error *error)
{
    uint32_t line = (uint32_t)error->line, column = (uint32_t)error->column;
    const char *end = orr_json_end(reader->text, bytes, &line, &column);
    (void)orr_fail(reader->err, ORR_DATA, "%s:%u:%u: not JSON: %s", reader->path, (unsigned)line,
                   (unsigned)column, end != NULL ? end : error->msg);
}

struct fy_node *orr_conform__open(struct conform_reader *reader, const char *path,
                                  struct orr_arena *arena, struct orr_err *err)
{
    *reader = (struct conform_reader){.path = path, .arena = arena, .err = err};
    size_t bytes = 0;
    reader->text = read_file(path, &bytes, err);
    if (reader->text == NULL) {
        return NULL;
    }
    errno = 0;
    reader->diag = fy_diag_create(NULL);
    if (reader->diag == NULL) {
        orr_out_of_memory();
    }
    fy_diag_set_collect_errors(reader->diag, true);
    struct fy_parse_cfg config = {.flags = FYPCF_JSON_FORCE, .diag = reader->diag};
    reader->document = fy_document_build_from_string(&config, reader->text, bytes);
    if (reader->document == NULL) {
        orr_check_memory();
    }
    void *place = NULL;
    struct fy_diag_error *error = fy_diag_errors_iterate(reader->diag, &place);
    struct fy_node *root = reader->document != NULL ? fy_document_root(reader->document) : NULL;
    if (error != NULL) {
        fail_of_parser(reader, bytes, error);
        return NULL;
    }
    if (root == NULL) {
        (void)orr_fail(err, ORR_DATA, "%s:1:1: not JSON", path);
    }
    return root;
}

void orr_conform__close(struct conform_reader *reader)
{
    if (reader->document != NULL) {
        fy_document_destroy(reader->document);
    }
    if (reader->diag != NULL) {
        fy_diag_destroy(reader->diag);
    }
    orr_free(reader->text);
    *reader = (struct conform_reader){0};
}

enum orr_status orr_conform__fail(struct conform_reader *reader, struct fy_node *node,
                                  const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* The library tells places only through its diagnostics. */
    fy_node_report(node, FYET_ERROR, "place");
    const struct fy_diag_error *place = last_error(reader->diag);
    int line = place != NULL ? place->line : 1, column = place != NULL ? place->column : 1;
    if (fy_node_is_scalar(node) && fy_node_get_style(node) == FYNS_DOUBLE_QUOTED) {
        column--; /* it points behind the quote */
    }
    return orr_fail(reader->err, ORR_DATA, "%s:%d:%d: %s", reader->path, line, column, text);
}

/* --- scalars --- */

static const char *plain_text(struct fy_node *node, size_t *bytes)
{
    *bytes = 0;
    if (!fy_node_is_scalar(node) || fy_node_get_style(node) != FYNS_PLAIN) {
        return "";
    }
    return fy_node_get_scalar(node, bytes);
}

static bool is_plain(struct fy_node *node, const char *word)
{
    size_t bytes;
    const char *text = plain_text(node, &bytes);
    return bytes == strlen(word) && memcmp(text, word, bytes) == 0;
}

bool orr_conform__is_null(struct fy_node *node)
{
    return is_plain(node, "null");
}

enum orr_status orr_conform__string(struct conform_reader *reader, struct fy_node *node,
                                    const char **out)
{
    if (!fy_node_is_scalar(node) || fy_node_get_style(node) != FYNS_DOUBLE_QUOTED) {
        return orr_conform__fail(reader, node, "a string belongs here");
    }
    size_t bytes;
    const char *text = fy_node_get_scalar(node, &bytes);
    if (memchr(text, '\0', bytes) != NULL) {
        return orr_conform__fail(reader, node, "a string must not contain \\u0000");
    }
    *out = orr_arena_strndup(reader->arena, text, bytes);
    return ORR_OK;
}

enum orr_status orr_conform__number(struct conform_reader *reader, struct fy_node *node,
                                    double *out)
{
    size_t bytes;
    const char *text = plain_text(node, &bytes);
    if (bytes == 0 || !orr_parse_double(text, bytes, out)) {
        return orr_conform__fail(reader, node, "a number belongs here");
    }
    return ORR_OK;
}

static enum orr_status read_int(struct conform_reader *reader, struct fy_node *node, int64_t *out)
{
    size_t bytes;
    const char *text = plain_text(node, &bytes);
    if (bytes > 0 && orr_parse_i64(text, bytes, out)) {
        return ORR_OK;
    }
    double number;
    if (bytes == 0 || !orr_parse_double(text, bytes, &number) || number != floor(number) ||
        fabs(number) > 9e15) {
        return orr_conform__fail(reader, node, "a whole number belongs here");
    }
    *out = (int64_t)number;
    return ORR_OK;
}

static enum orr_status read_bool(struct conform_reader *reader, struct fy_node *node, bool *out)
{
    *out = is_plain(node, "true");
    if (!*out && !is_plain(node, "false")) {
        return orr_conform__fail(reader, node, "true or false belongs here");
    }
    return ORR_OK;
}

static enum orr_status read_word(struct conform_reader *reader, struct fy_node *node,
                                 const char *const *words, int *out)
{
    const char *text = "";
    enum orr_status status = orr_conform__string(reader, node, &text);
    if (status != ORR_OK) {
        return status;
    }
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return ORR_OK;
        }
    }
    return orr_conform__fail(reader, node, "\"%s\" is not a known word here", text);
}

const char *orr_conform__as_json(struct conform_reader *reader, struct fy_node *node)
{
    char *text = fy_emit_node_to_string(node, FYECF_MODE_JSON_ONELINE | FYECF_WIDTH_INF);
    ORR_ASSERT(text != NULL);
    size_t bytes = strlen(text);
    while (bytes > 0 && text[bytes - 1] == '\n') {
        bytes--;
    }
    const char *copy = orr_arena_strndup(reader->arena, text, bytes);
    free(text);
    return copy;
}

static enum orr_status read_json(struct conform_reader *reader, struct fy_node *node,
                                 const char **out)
{
    *out = orr_conform__is_null(node) ? NULL : orr_conform__as_json(reader, node);
    return ORR_OK;
}

/* --- containers --- */

/* Room for the items of a list or an object; null has none. */
static enum orr_status items_of(struct conform_reader *reader, struct fy_node *node, bool map,
                                size_t size, char **items, uint32_t *count)
{
    *items = NULL;
    *count = 0;
    if (orr_conform__is_null(node)) {
        return ORR_OK;
    }
    if (map ? !fy_node_is_mapping(node) : !fy_node_is_sequence(node)) {
        return orr_conform__fail(reader, node,
                                 map ? "an object belongs here" : "a list belongs here");
    }
    *count = (uint32_t)(map ? fy_node_mapping_item_count(node) : fy_node_sequence_item_count(node));
    *items = orr_arena_alloc(reader->arena, *count, size);
    return ORR_OK;
}

static enum orr_status read_strings(struct conform_reader *reader, struct fy_node *node,
                                    bool any_value, char **items, uint32_t *count)
{
    enum orr_status status = items_of(reader, node, false, sizeof(const char *), items, count);
    void *place = NULL;
    for (uint32_t i = 0; status == ORR_OK && i < *count; i++) {
        struct fy_node *item = fy_node_sequence_iterate(node, &place);
        const char *text = NULL;
        status =
            any_value ? read_json(reader, item, &text) : orr_conform__string(reader, item, &text);
        memcpy(*items + i * sizeof text, &text, sizeof text);
    }
    return status;
}

static enum orr_status read_pairs(struct conform_reader *reader, struct fy_node *node, char **items,
                                  uint32_t *count)
{
    enum orr_status status = items_of(reader, node, true, sizeof(struct orr_pair), items, count);
    void *place = NULL;
    for (uint32_t i = 0; status == ORR_OK && i < *count; i++) {
        struct fy_node_pair *item = fy_node_mapping_iterate(node, &place);
        struct fy_node *value = fy_node_pair_value(item);
        struct orr_pair pair = {0};
        status = orr_conform__string(reader, fy_node_pair_key(item), &pair.name);
        if (status == ORR_OK) {
            status = fy_node_is_scalar(value) && fy_node_get_style(value) == FYNS_DOUBLE_QUOTED
                         ? orr_conform__string(reader, value, &pair.value)
                         : read_json(reader, value, &pair.value);
        }
        memcpy(*items + i * sizeof pair, &pair, sizeof pair);
    }
    return status;
}

static enum orr_status read_items(struct conform_reader *reader, struct fy_node *node, bool map,
                                  const struct conform_shape *shape, char **items, uint32_t *count)
{
    enum orr_status status = items_of(reader, node, map, shape->size, items, count);
    void *place = NULL;
    for (uint32_t i = 0; status == ORR_OK && i < *count; i++) {
        char *item = *items + i * shape->size;
        if (!map) {
            status =
                orr_conform__object(reader, fy_node_sequence_iterate(node, &place), shape, item);
            continue;
        }
        struct fy_node_pair *pair = fy_node_mapping_iterate(node, &place);
        status = orr_conform__object(reader, fy_node_pair_value(pair), shape, item);
        const char *name = NULL;
        if (status == ORR_OK) {
            status = orr_conform__string(reader, fy_node_pair_key(pair), &name);
        }
        memcpy(item, &name, sizeof name);
    }
    return status;
}

static enum orr_status read_ref(struct conform_reader *reader, struct fy_node *node,
                                const struct conform_shape *shape, char *out)
{
    void *target = NULL;
    enum orr_status status = ORR_OK;
    if (!orr_conform__is_null(node)) {
        target = orr_arena_alloc(reader->arena, 1, shape->size);
        status = orr_conform__object(reader, node, shape, target);
    }
    memcpy(out, &target, sizeof target);
    return status;
}

static enum orr_status read_array(struct conform_reader *reader, struct fy_node *node,
                                  const struct conform_field *field, char *out)
{
    char *items = NULL;
    uint32_t count = 0;
    enum orr_status status;
    if (field->kind == CONFORM_PAIRS) {
        status = read_pairs(reader, node, &items, &count);
    } else if (field->kind == CONFORM_LIST || field->kind == CONFORM_MAP) {
        status = read_items(reader, node, field->kind == CONFORM_MAP, field->shape, &items, &count);
    } else {
        status = read_strings(reader, node, field->kind == CONFORM_VALUES, &items, &count);
    }
    memcpy(out + field->at, &items, sizeof items);
    memcpy(out + field->count_at, &count, sizeof count);
    return status;
}

enum orr_status orr_conform__field(struct conform_reader *reader, struct fy_node *node,
                                   const struct conform_field *field, void *out)
{
    void *at = (char *)out + field->at;
    const bool null = orr_conform__is_null(node);
    switch (field->kind) {
    case CONFORM_STRING: return orr_conform__string(reader, node, at);
    case CONFORM_NAME: return null ? ORR_OK : orr_conform__string(reader, node, at);
    case CONFORM_NUMBER: return null ? ORR_OK : orr_conform__number(reader, node, at);
    case CONFORM_INT: return null ? ORR_OK : read_int(reader, node, at);
    case CONFORM_BOOL: return null ? ORR_OK : read_bool(reader, node, at);
    case CONFORM_WORD: return read_word(reader, node, field->words, at);
    case CONFORM_JSON: return read_json(reader, node, at);
    case CONFORM_OBJECT: return null ? ORR_OK : orr_conform__object(reader, node, field->shape, at);
    case CONFORM_REF: return read_ref(reader, node, field->shape, at);
    case CONFORM_CUSTOM: return field->read(reader, node, at);
    case CONFORM_STRINGS:
    case CONFORM_VALUES:
    case CONFORM_PAIRS:
    case CONFORM_LIST:
    case CONFORM_MAP: break;
    }
    return read_array(reader, node, field, out);
}

static bool key_matches(const char *pattern, const char *key)
{
    const size_t bytes = strlen(pattern);
    if (bytes > 0 && pattern[bytes - 1] == '*') {
        return strncmp(pattern, key, bytes - 1) == 0;
    }
    return strcmp(pattern, key) == 0;
}

static const struct conform_field *find_field(const struct conform_shape *shape, const char *key)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (key_matches(shape->fields[i].key, key)) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

static enum orr_status read_unknown(struct conform_reader *reader, struct fy_node_pair *pair,
                                    const struct conform_shape *shape, const char *key)
{
    if (orr_ends_with(key, "_unused")) {
        return ORR_OK; /* declared by whoever wrote the case, and of no effect */
    }
    if (reader->keep_extras) {
        struct conform_extra *extra = orr_arena_alloc(reader->arena, 1, sizeof *extra);
        *extra =
            (struct conform_extra){.next = reader->extras,
                                   .what = shape->what,
                                   .key = key,
                                   .json = orr_conform__as_json(reader, fy_node_pair_value(pair))};
        reader->extras = extra;
        return ORR_OK;
    }
    const char *known[64];
    size_t count = 0;
    for (; count < shape->field_count && count < 64; count++) {
        known[count] = shape->fields[count].key;
    }
    const char *near = orr_nearest(key, known, count);
    enum orr_status status =
        orr_conform__fail(reader, fy_node_pair_key(pair), "%s has no key \"%s\"%s%s%s", shape->what,
                          key, near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                          near != NULL ? "\"?" : "");
    if (!reader->note_unknown) {
        return status;
    }
    if (reader->unknown == NULL) {
        reader->unknown =
            orr_arena_strndup(reader->arena, reader->err->text, strlen(reader->err->text));
    }
    *reader->err = (struct orr_err){0};
    return ORR_OK;
}

enum orr_status orr_conform__object(struct conform_reader *reader, struct fy_node *node,
                                    const struct conform_shape *shape, void *out)
{
    if (!fy_node_is_mapping(node)) {
        return orr_conform__fail(reader, node, "%s (an object) belongs here", shape->what);
    }
    if (shape->defaults != NULL) {
        memcpy(out, shape->defaults, shape->size);
    }
    uint64_t seen = 0;
    ORR_ASSERT(shape->field_count <= 64);
    void *place = NULL;
    for (struct fy_node_pair *pair; (pair = fy_node_mapping_iterate(node, &place)) != NULL;) {
        const char *key = "";
        enum orr_status status = orr_conform__string(reader, fy_node_pair_key(pair), &key);
        if (status != ORR_OK) {
            return status;
        }
        const struct conform_field *field = find_field(shape, key);
        if (field == NULL) {
            status = read_unknown(reader, pair, shape, key);
        } else {
            seen |= (uint64_t)1 << (field - shape->fields);
            status = orr_conform__field(reader, fy_node_pair_value(pair), field, out);
        }
        if (status != ORR_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < shape->field_count; i++) {
        if (shape->fields[i].required && (seen >> i & 1) == 0) {
            return orr_conform__fail(reader, node, "%s needs the key \"%s\"", shape->what,
                                     shape->fields[i].key);
        }
    }
    return ORR_OK;
}
