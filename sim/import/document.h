/* SPDX-License-Identifier: GPL-3.0-or-later */
/* document.h - YAML or JSON as a tree of values that know their place.
 *
 * One reader for all inputs: libfyaml's events become values, so a file of a hundred megabytes
 * costs no document besides, and every complaint can name file, line and column. Keys nobody asks
 * for (environments, status of images, who manages which field) are left out while reading.
 *
 * Accessors never fail on their own: an absent or null value gives the fallback, a value of the
 * wrong kind is remembered as the load's error, the first one staying. Who reads a whole object
 * looks at import_ok once.
 */
#ifndef ORR_SIM_IMPORT_DOCUMENT_H
#define ORR_SIM_IMPORT_DOCUMENT_H

#include <orrery/base/idmap.h>
#include <orrery/base/mem.h>
#include <orrery/base/status.h>

struct import_file {
    const char *path;
    const char *text; /* NULL: too large to show lines of */
    size_t bytes;
    uint32_t lines_before;                /* in the file, where the text is a part of it */
    const struct import_value *documents; /* a list */
};

enum import_kind { IMPORT_NULL, IMPORT_TEXT, IMPORT_MAP, IMPORT_LIST };

struct import_value {
    const char *key;  /* in a map; else NULL */
    const char *text; /* of a scalar */
    const struct import_value *first, *next;
    const struct import_file *file;
    uint32_t line, column; /* from 1 */
    uint32_t count;        /* of children */
    uint8_t kind;          /* enum import_kind */
    bool quoted;           /* a scalar that was written in quotes */
};

struct import_load {
    struct orr_arena *arena; /* owns the values */
    struct orr_err *err;
};

static inline bool import_ok(const struct import_load *load)
{
    return load->err->status == ORR_OK;
}
/* Remembers an error at the value's place; with the source line where the file is small. */
void import_fail(struct import_load *load, const struct import_value *at, const char *format, ...)
    ORR_PRINTF(3, 4);

/* Reads all documents of a file; `text` is borrowed and may be freed afterwards. */
enum orr_status import_parse(struct import_load *load, const char *path, const char *text,
                             size_t bytes, struct import_file **out) ORR_MUST_USE;

/* The same of a part of a file, such as one line of a log, with so many lines before it; the text
 * need not end in a NUL. `statuses`: with those of containers, which are left out otherwise. */
struct import_part {
    const char *text;
    size_t bytes;
    uint32_t lines_before;
    bool statuses;
};
enum orr_status import_parse_part(struct import_load *load, const char *path,
                                  const struct import_part *part,
                                  struct import_file **out) ORR_MUST_USE;
/* The bytes of the first JSON value of a text that begins with { or [; 0: it does not end. */
size_t import_json_bytes(const char *text, size_t bytes);

/* The value below a map by a path such as "metadata/labels"; NULL if absent or null. */
const struct import_value *import_get(const struct import_value *map, const char *path);
/* The same, which must be a map, a list, a scalar if it is there. */
const struct import_value *import_map(struct import_load *load, const struct import_value *map,
                                      const char *path);
const struct import_value *import_list(struct import_load *load, const struct import_value *map,
                                       const char *path);
const char *import_text(struct import_load *load, const struct import_value *map, const char *path,
                        const char *fallback);
int64_t import_int(struct import_load *load, const struct import_value *map, const char *path,
                   int64_t fallback);
double import_number(struct import_load *load, const struct import_value *map, const char *path,
                     double fallback);
bool import_bool(struct import_load *load, const struct import_value *map, const char *path,
                 bool fallback);
/* A scalar of a map of texts (labels, annotations) by its whole name; NULL if it is not there. */
const char *import_label(const struct import_value *labels, const char *name);
/* Complains unless the value is a scalar. */
const char *import_scalar(struct import_load *load, const struct import_value *value);

/* Formats into the arena. */
const char *import_format(struct import_load *load, const char *format, ...) ORR_PRINTF(2, 3);

#define IMPORT_EACH(child, parent)                                                                 \
    for (const struct import_value *child = (parent) != NULL ? (parent)->first : NULL;             \
         child != NULL; child = child->next)

#endif
