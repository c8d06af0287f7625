/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/json_end.h>
#include <orrery/base/text.h>
#include <orrery/sim/yaml_parser.h>

#include "json_lines.h"

#define DEPTH_MAX     64
#define SHOWN_MAX     ((size_t)1 << 20) /* files whose lines errors show */
#define LINE_MAX_LEN  120
#define VALUES_MAX    ((uint32_t)1 << 25) /* of a file: 2 GiB; a pod has about 200 */
/* libfyaml keeps all tokens of a line that may be a key; no object of Kubernetes is that long */
#define YAML_LINE_MAX ((uint32_t)1 << 21)
#define CHECKED_KEYS                                                                               \
    200 /* of one map; real maps with more are of names, checked by who reads them */

/* --- errors --- */

/* A long line, as of a list that was printed without line ends, is cut around the column. */
static void append_line(const struct import_value *at, char *out, size_t room)
{
    const struct import_file *file = at->file;
    const char *line = file->text, *end = file->text + file->bytes;
    for (uint32_t n = file->lines_before + 1; n < at->line && line < end; line++) {
        n += *line == '\n';
    }
    size_t used = strlen(out);
    const size_t column = at->column > 0 ? at->column - 1 : 0;
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    const size_t bytes = (size_t)((stop != NULL ? stop : end) - line);
    if (column > bytes || used + 2 * LINE_MAX_LEN + 8 > room) {
        return;
    }
    const size_t from = column > LINE_MAX_LEN / 2 ? column - LINE_MAX_LEN / 2 : 0;
    out[used++] = '\n';
    for (size_t i = from; i < bytes && i < from + LINE_MAX_LEN; i++) {
        const unsigned char c = (unsigned char)line[i];
        const bool cut = c >= 0x80 && (from > 0 || bytes > LINE_MAX_LEN);
        out[used] = cut ? '?' : (char)c;
        out[used] = c < ' ' ? ' ' : out[used];
        used++;
    }
    out[used++] = '\n';
    memset(out + used, ' ', column - from);
    used += column - from;
    out[used++] = '^';
    out[used] = '\0';
}

void import_fail(struct import_load *load, const struct import_value *at, const char *format, ...)
{
    char text[600], whole[990];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    }
    (void)snprintf(whole, sizeof whole, "%.300s:%u:%u: %s", at->file->path, (unsigned)at->line,
                   (unsigned)at->column, text);
    if (at->file->text != NULL) {
        append_line(at, whole, sizeof whole);
    }
    (void)orr_fail(load->err, ORR_DATA, "%s", whole);
}

/* --- events to values --- */

struct frame {
    struct import_value *value, *last;
    const char *key; /* read, its value not yet */
    bool left_out;   /* the value of the key is of no interest */
};

struct builder {
    struct import_load *load;
    struct import_file *file;
    const char *text; /* as given, without its byte order mark */
    size_t bytes;
    bool json;
    struct import_value *documents, *last_document;
    struct frame frames[DEPTH_MAX];
    uint32_t depth, skipping; /* levels inside a value that is left out */
    bool keep_env;            /* AmlJobs state their size in a container's environment */
    bool keep_statuses;       /* of containers: when they ended */
    uint32_t line, column;    /* of the latest event that had a place */
    uint32_t values;
    struct json_lines lines; /* of JSON */
    struct orr_idmap keys;   /* most keys repeat: kept once */
    const char **key_texts;
    uint32_t key_capacity;
};

static struct import_value *new_value(struct builder *builder, enum import_kind kind)
{
    struct import_value *value = orr_arena_alloc(builder->load->arena, 1, sizeof *value);
    *value = (struct import_value){.file = builder->file,
                                   .line = builder->line,
                                   .column = builder->column,
                                   .kind = (uint8_t)kind};
    return value;
}

static bool fail_here(struct builder *builder, const char *what)
{
    const struct import_value at = {
        .file = builder->file, .line = builder->line, .column = builder->column};
    import_fail(builder->load, &at, "%s", what);
    return false;
}

/* A small packed file can hold more values than a machine has room for. */
static bool is_full(struct builder *builder)
{
    return builder->values++ == VALUES_MAX &&
           !fail_here(builder, "more than 33554432 values: give the state in several files");
}

/* Keys of Kubernetes objects that no rule looks at and that make up most of a snapshot. */
static bool is_left_out(const struct builder *builder, const char *key, size_t bytes)
{
    static const char *const keys[] = {"containerStatuses",
                                       "managedFields",
                                       "envFrom",
                                       "volumeMounts",
                                       "command",
                                       "livenessProbe",
                                       "readinessProbe",
                                       "startupProbe",
                                       "lifecycle",
                                       "securityContext",
                                       "initContainerStatuses",
                                       "images",
                                       "volumesInUse",
                                       "volumesAttached",
                                       "podIPs",
                                       "kubectl.kubernetes.io/last-applied-configuration"};
    for (size_t i = builder->keep_statuses; i < sizeof keys / sizeof keys[0]; i++) {
        if (strlen(keys[i]) == bytes && memcmp(keys[i], key, bytes) == 0) {
            return true;
        }
    }
    return !builder->keep_env && bytes == 3 && memcmp(key, "env", 3) == 0;
}

static bool take_key(struct builder *builder, struct frame *frame, const char *text, size_t bytes)
{
    if (bytes == 0) {
        return fail_here(builder, "a key must not be empty");
    }
    bool added;
    const uint32_t index = orr_idmap_put(&builder->keys, text, bytes, &added);
    if (added) {
        builder->key_texts = ORR_ROOM_FOR_ONE(builder->key_texts, index, builder->key_capacity);
        builder->key_texts[index] = orr_arena_strndup(builder->load->arena, text, bytes);
    }
    frame->key = builder->key_texts[index];
    frame->left_out = is_left_out(builder, text, bytes);
    if (frame->value->count < CHECKED_KEYS) {
        IMPORT_EACH(child, frame->value)
        {
            if (child->key == frame->key) {
                char what[200];
                (void)snprintf(what, sizeof what, "duplicate key \"%.100s\" (first in line %u)",
                               frame->key, (unsigned)child->line);
                return fail_here(builder, what);
            }
        }
    }
    return true;
}

/* Links a value below the innermost open one. */
static void link_value(struct builder *builder, struct import_value *value)
{
    struct import_value *parent = builder->documents, **last = &builder->last_document;
    if (builder->depth > 0) {
        struct frame *frame = &builder->frames[builder->depth - 1];
        parent = frame->value;
        last = &frame->last;
        value->key = frame->key;
        frame->key = NULL;
    }
    if (*last == NULL) {
        parent->first = value;
    } else {
        (*last)->next = value;
    }
    *last = value;
    parent->count++;
}

/* The open map, if its next scalar is a key. */
static struct frame *waits_for_key(struct builder *builder)
{
    struct frame *frame = builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
    return frame != NULL && frame->value->kind == IMPORT_MAP && frame->key == NULL ? frame : NULL;
}

/* The open map, if the value that comes next is left out. */
static struct frame *leaves_out(struct builder *builder)
{
    struct frame *frame = builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
    return frame != NULL && frame->key != NULL && frame->left_out ? frame : NULL;
}

static bool says_null(const char *text, size_t bytes)
{
    return bytes == 0 || (bytes == 1 && text[0] == '~') ||
           (bytes == 4 && memcmp(text, "null", 4) == 0);
}

static bool take_scalar(struct builder *builder, struct fy_event *event)
{
    size_t bytes = 0;
    struct fy_token *token = event->scalar.value;
    const char *text = token != NULL ? fy_token_get_text(token, &bytes) : "";
    text = text != NULL ? text : "";
    if (event->scalar.tag != NULL || event->scalar.anchor != NULL) {
        return fail_here(builder, "YAML tags and anchors are not supported here");
    }
    if (memchr(text, '\0', bytes) != NULL) {
        return fail_here(builder, "a text must not contain a NUL");
    }
    struct frame *map = waits_for_key(builder);
    if (map != NULL) {
        return take_key(builder, map, text, bytes);
    }
    struct frame *left_out = leaves_out(builder);
    if (left_out != NULL) {
        left_out->key = NULL;
        return true;
    }
    if (is_full(builder)) {
        return false;
    }
    const bool quoted = token != NULL && fy_token_scalar_style(token) != FYSS_PLAIN;
    const bool null = !quoted && says_null(text, bytes);
    struct import_value *value = new_value(builder, null ? IMPORT_NULL : IMPORT_TEXT);
    value->text = null ? NULL : orr_arena_strndup(builder->load->arena, text, bytes);
    value->quoted = quoted;
    link_value(builder, value);
    return true;
}

static bool open_value(struct builder *builder, enum import_kind kind)
{
    if (waits_for_key(builder) != NULL) {
        return fail_here(builder, "a key must be plain text");
    }
    struct frame *left_out = leaves_out(builder);
    if (left_out != NULL) {
        left_out->key = NULL;
        builder->skipping = 1;
        return true;
    }
    if (builder->depth == DEPTH_MAX) {
        return fail_here(builder, "nested too deeply");
    }
    if (is_full(builder)) {
        return false;
    }
    struct import_value *value = new_value(builder, kind);
    link_value(builder, value);
    builder->frames[builder->depth++] = (struct frame){.value = value};
    return true;
}

static bool take_event(void *context, struct fy_event *event)
{
    struct builder *builder = context;
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark != NULL) { /* an empty value has no place of its own */
        builder->line = (uint32_t)mark->line + 1;
        builder->column = (uint32_t)mark->column + 1;
        json_lines_place(&builder->lines, &builder->line, &builder->column);
        builder->line += builder->file->lines_before;
    }
    const bool opens = event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START;
    const bool closes = event->type == FYET_MAPPING_END || event->type == FYET_SEQUENCE_END;
    if (builder->skipping > 0) {
        builder->skipping += opens;
        builder->skipping -= closes;
        return true;
    }
    if (opens) {
        return open_value(builder, event->type == FYET_MAPPING_START ? IMPORT_MAP : IMPORT_LIST);
    }
    if (closes) {
        builder->depth--;
        return true;
    }
    if (event->type == FYET_ALIAS) {
        return fail_here(builder, "YAML aliases are not supported here");
    }
    return event->type != FYET_SCALAR || take_scalar(builder, event);
}

static void syntax_error(void *context, const struct fy_diag_error *error)
{
    struct builder *builder = context;
    const char *why = error != NULL ? error->msg : NULL;
    if (error != NULL && error->line > 0) {
        builder->line = (uint32_t)error->line;
        builder->column = (uint32_t)(error->column > 0 ? error->column : 1);
        json_lines_place(&builder->lines, &builder->line, &builder->column);
        const char *end = builder->json ? orr_json_end(builder->text, builder->bytes,
                                                       &builder->line, &builder->column)
                                        : NULL;
        why = end != NULL ? end : why;
        builder->line += builder->file->lines_before;
    }
    char what[300];
    (void)snprintf(what, sizeof what, "not %s%s%.200s", builder->json ? "JSON" : "YAML",
                   why != NULL ? ": " : "", why != NULL ? why : "");
    (void)fail_here(builder, what);
}

/* The parser was not made for anything but clean text. */
static bool is_clean(struct builder *builder, const char *text, size_t bytes, bool json)
{
    builder->line = builder->file->lines_before + 1;
    builder->column = 1;
    for (size_t i = 0; i < bytes;) {
        const size_t n = orr_utf8_bytes(text + i, bytes - i);
        const unsigned char c = (unsigned char)text[i];
        if (i == 0 && bytes > 15 && memcmp(text, "SQLite format 3", 15) == 0) {
            return fail_here(builder,
                             "a results file is not a cluster's state (who waits in it: `orrery "
                             "explain R.db --at TIME`)");
        }
        if (i == 0 && bytes > 1 &&
            (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
            return fail_here(builder, "is UTF-16 text; save it as UTF-8");
        }
        if (n == 0 || (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
            char what[80];
            (void)snprintf(what, sizeof what, "byte 0x%02x is not text", (unsigned)c);
            return fail_here(builder, what);
        }
        builder->line += c == '\n';
        builder->column = c == '\n' ? 1 : builder->column + 1;
        if (!json && builder->column > YAML_LINE_MAX) {
            return fail_here(builder, "a line of YAML is longer than 2097152 characters: break it, "
                                      "or give the state as JSON");
        }
        i += n;
    }
    builder->line = builder->column = 1;
    return true;
}

static size_t blanks_of(const char *text, size_t bytes)
{
    size_t blank = 0;
    while (blank < bytes && text[blank] != '\0' && strchr(" \t\r\n", text[blank]) != NULL) {
        blank++;
    }
    return blank;
}

/* Documents of YAML may begin with a brace, too: with a key that is not quoted, or with others that
 * stand apart by lines "---", which no text of JSON has. */
static bool is_json(const char *text, size_t bytes)
{
    const size_t blank = blanks_of(text, bytes);
    if (blank == bytes || (text[blank] != '{' && text[blank] != '[')) {
        return false;
    }
    const size_t inner = blank + 1 + blanks_of(text + blank + 1, bytes - blank - 1);
    const bool quoted =
        inner == bytes || text[blank] == '[' || text[inner] == '"' || text[inner] == '}';
    bool apart = false;
    for (const char *line = text; line != NULL && !apart;) {
        const size_t left = bytes - (size_t)(line - text);
        apart = left > 3 && memcmp(line, "---", 3) == 0;
        line = memchr(line, '\n', left);
        line = line != NULL ? line + 1 : NULL;
    }
    return quoted && !apart;
}

static enum orr_status parse(struct import_load *load, const char *path,
                             const struct import_part *part, bool keep_env,
                             struct import_file **out)
{
    const char *text = part->text;
    size_t bytes = part->bytes;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        bytes -= 3;
    }
    struct import_file *file = orr_arena_alloc(load->arena, 1, sizeof *file);
    *file = (struct import_file){.path = orr_arena_strndup(load->arena, path, strlen(path)),
                                 .lines_before = part->lines_before};
    if (bytes <= SHOWN_MAX) {
        file->text = orr_arena_strndup(load->arena, text, bytes);
        file->bytes = bytes;
    }
    struct builder *builder = orr_zalloc(1, sizeof *builder);
    *builder = (struct builder){.load = load,
                                .file = file,
                                .text = text,
                                .bytes = bytes,
                                .line = part->lines_before + 1,
                                .column = 1,
                                .keep_env = keep_env,
                                .keep_statuses = part->statuses};
    orr_idmap_init(&builder->keys);
    builder->documents = new_value(builder, IMPORT_LIST);
    file->documents = builder->documents;
    const size_t blank = blanks_of(text, bytes);
    const bool json = is_json(text, bytes);
    if (blank < bytes && is_clean(builder, text, bytes, json)) {
        if (json) {
            json_lines_init(&builder->lines, text, bytes);
        }
        builder->json = json;
        orr_yaml_read(json ? builder->lines.text : text, json ? builder->lines.bytes : bytes, json,
                      &(struct orr_yaml_reader){builder, take_event, syntax_error});
        json_lines_release(&builder->lines);
    }
    orr_idmap_release(&builder->keys);
    orr_free(builder->key_texts);
    orr_free(builder);
    *out = file;
    return load->err->status;
}

enum orr_status import_parse(struct import_load *load, const char *path, const char *text,
                             size_t bytes, struct import_file **out)
{
    const struct import_part part = {.text = text, .bytes = bytes};
    return parse(load, path, &part, strstr(text, "AZUREML_NODE_COUNT") != NULL, out);
}

enum orr_status import_parse_part(struct import_load *load, const char *path,
                                  const struct import_part *part, struct import_file **out)
{
    return parse(load, path, part, false, out);
}

size_t import_json_bytes(const char *text, size_t bytes)
{
    uint32_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* --- reading --- */

static const struct import_value *find(const struct import_value *map, const char *key,
                                       size_t bytes)
{
    if (map == NULL || map->kind != IMPORT_MAP) {
        return NULL;
    }
    IMPORT_EACH(child, map)
    {
        if (strncmp(child->key, key, bytes) == 0 && child->key[bytes] == '\0') {
            return child->kind == IMPORT_NULL ? NULL : child;
        }
    }
    return NULL;
}

const struct import_value *import_get(const struct import_value *map, const char *path)
{
    while (map != NULL && path[0] != '\0') {
        const size_t bytes = strcspn(path, "/");
        map = find(map, path, bytes);
        path += bytes + (path[bytes] == '/');
    }
    return map;
}

static const struct import_value *get_kind(struct import_load *load, const struct import_value *map,
                                           const char *path, enum import_kind kind)
{
    static const char *const words[] = {"null", "a plain value", "an object", "a list"};
    const struct import_value *value = map;
    for (const char *at = path; value != NULL && at[0] != '\0';) {
        const size_t bytes = strcspn(at, "/");
        if (value->kind != IMPORT_MAP) {
            import_fail(load, value, "an object belongs here, with %s", at);
            return NULL;
        }
        value = find(value, at, bytes);
        at += bytes + (at[bytes] == '/');
    }
    if (value != NULL && value->kind != kind) {
        import_fail(load, value, "%s: %s belongs here", path, words[kind]);
        return NULL;
    }
    return value;
}

const struct import_value *import_map(struct import_load *load, const struct import_value *map,
                                      const char *path)
{
    return get_kind(load, map, path, IMPORT_MAP);
}

const struct import_value *import_list(struct import_load *load, const struct import_value *map,
                                       const char *path)
{
    return get_kind(load, map, path, IMPORT_LIST);
}

const char *import_text(struct import_load *load, const struct import_value *map, const char *path,
                        const char *fallback)
{
    const struct import_value *value = get_kind(load, map, path, IMPORT_TEXT);
    return value != NULL ? value->text : fallback;
}

int64_t import_int(struct import_load *load, const struct import_value *map, const char *path,
                   int64_t fallback)
{
    const struct import_value *value = get_kind(load, map, path, IMPORT_TEXT);
    if (value == NULL) {
        return fallback;
    }
    int64_t number = fallback;
    double real;
    if (orr_parse_i64(value->text, strlen(value->text), &number)) {
        return number;
    }
    /* 4.0 and 1e3 are whole numbers too, as JSON writers may put them */
    if (orr_parse_double(value->text, strlen(value->text), &real) && real <= 9e15 &&
        real >= -9e15 && !((double)(int64_t)real < real) && !((double)(int64_t)real > real)) {
        return (int64_t)real;
    }
    import_fail(load, value, "%s: \"%.60s\" is not a whole number", path, value->text);
    return fallback;
}

double import_number(struct import_load *load, const struct import_value *map, const char *path,
                     double fallback)
{
    const struct import_value *value = get_kind(load, map, path, IMPORT_TEXT);
    double number = fallback;
    if (value != NULL && !orr_parse_double(value->text, strlen(value->text), &number)) {
        import_fail(load, value, "%s: \"%.60s\" is not a number", path, value->text);
        return fallback;
    }
    return number;
}

bool import_bool(struct import_load *load, const struct import_value *map, const char *path,
                 bool fallback)
{
    const struct import_value *value = get_kind(load, map, path, IMPORT_TEXT);
    if (value == NULL) {
        return fallback;
    }
    const bool yes = strcmp(value->text, "true") == 0;
    if (!yes && strcmp(value->text, "false") != 0) {
        import_fail(load, value, "%s: true or false belongs here, not \"%.60s\"", path,
                    value->text);
    }
    return yes;
}

const char *import_label(const struct import_value *labels, const char *name)
{
    const struct import_value *value = find(labels, name, strlen(name));
    return value != NULL && value->kind == IMPORT_TEXT ? value->text : NULL;
}

const char *import_scalar(struct import_load *load, const struct import_value *value)
{
    if (value->kind != IMPORT_TEXT) {
        import_fail(load, value, "a plain value belongs here");
        return "";
    }
    return value->text;
}

const char *import_format(struct import_load *load, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return orr_arena_strndup(load->arena, text, strlen(text));
}
