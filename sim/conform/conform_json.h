/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conform_json.h - JSON into structs by tables, with the place of everything that is wrong.
 *
 * A shape lists the keys an object may have and where each value goes. Keys that no shape knows are
 * errors, unless the reader is asked to keep them (an entry that needs features beyond the plain
 * model may carry keys that only those features have) or to note the first and read on.
 */
#ifndef ORR_SIM_CONFORM_JSON_H
#define ORR_SIM_CONFORM_JSON_H

#include <libfyaml.h>

#include <orrery/base/mem.h>
#include <orrery/base/status.h>
#include <orrery/sim/pair.h>

struct conform_extra { /* a key that no shape knows */
    struct conform_extra *next;
    const char *what; /* the kind of object it was found in */
    const char *key;
    const char *json;
};

struct conform_reader {
    const char *path;
    struct orr_arena *arena; /* owns whatever is read */
    struct orr_err *err;
    char *text;
    struct fy_diag *diag;
    struct fy_document *document;
    bool keep_extras;             /* else unknown keys are errors, or noted */
    struct conform_extra *extras; /* latest first */
    bool note_unknown;
    const char *unknown; /* what the error of the first would be, or NULL */
};

enum conform_kind {
    CONFORM_STRING,  /* const char * */
    CONFORM_NAME,    /* const char *, NULL for null */
    CONFORM_NUMBER,  /* double; null leaves the default */
    CONFORM_INT,     /* int64_t; null leaves the default */
    CONFORM_BOOL,    /* bool; null leaves the default */
    CONFORM_WORD,    /* int, index in `words` */
    CONFORM_JSON,    /* const char *, any value as JSON text; NULL for null */
    CONFORM_STRINGS, /* const char ** and its count; null is empty */
    CONFORM_VALUES,  /* the same, of any values as JSON text */
    CONFORM_PAIRS,   /* struct orr_pair * and its count; null is empty */
    CONFORM_OBJECT,  /* a struct in place, by `shape`; null leaves the defaults */
    CONFORM_REF,     /* pointer to a struct by `shape`, NULL for null */
    CONFORM_LIST,    /* array of structs by `shape` and its count; null is empty */
    CONFORM_MAP,     /* the same from an object; the key goes to the struct's first member, name */
    CONFORM_CUSTOM   /* `read` does it */
};

typedef enum orr_status conform_read_fn(struct conform_reader *reader, struct fy_node *node,
                                        void *out);

struct conform_field {
    const char *key; /* "prefix*" matches any key that begins so */
    enum conform_kind kind;
    bool required;
    size_t at, count_at; /* offsets in the struct; count is uint32_t */
    const struct conform_shape *shape;
    const char *const *words; /* NULL-ended */
    conform_read_fn *read;
};

struct conform_shape {
    const char *what; /* for messages: "a node" */
    const struct conform_field *fields;
    size_t field_count;
    size_t size;
    const void *defaults; /* one struct; NULL: all zero */
};

/* Opens and parses a file; the root node, or NULL with the error set. Close in any case. */
struct fy_node *orr_conform__open(struct conform_reader *reader, const char *path,
                                  struct orr_arena *arena, struct orr_err *err);
void orr_conform__close(struct conform_reader *reader);

/* ORR_DATA at the place of a node. */
enum orr_status orr_conform__fail(struct conform_reader *reader, struct fy_node *node,
                                  const char *format, ...) ORR_PRINTF(3, 4);

enum orr_status orr_conform__object(struct conform_reader *reader, struct fy_node *node,
                                    const struct conform_shape *shape, void *out);
/* One value, to where the field says in the struct `out`. */
enum orr_status orr_conform__field(struct conform_reader *reader, struct fy_node *node,
                                   const struct conform_field *field, void *out);
enum orr_status orr_conform__string(struct conform_reader *reader, struct fy_node *node,
                                    const char **out);
enum orr_status orr_conform__number(struct conform_reader *reader, struct fy_node *node,
                                    double *out);
bool orr_conform__is_null(struct fy_node *node);
/* The value as JSON on one line, in the arena. */
const char *orr_conform__as_json(struct conform_reader *reader, struct fy_node *node);

#endif
