/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reader_int.h - what the readers share: the bytes of a file, CSV rows, fields, formats.
 *
 *   source  compressed file -> blocks of text (libarchive), digest of the file on the way (nettle)
 *   csv     blocks -> rows of fields with their physical line (libcsv)
 *   field   one field -> a number, or a rejected row
 */
#ifndef ORR_TRACES_READER_INT_H
#define ORR_TRACES_READER_INT_H

#include <orrery/traces/native.h>
#include <orrery/traces/reader.h>
#include <orrery/traces/zone.h>

/* Borrowed text, without a final NUL. */
struct orr_text {
    const char *at;
    size_t bytes;
};

/* A text made fit for an error message: cut short, one line, NUL-terminated. */
struct orr_shown {
    char text[56];
};
struct orr_shown orr_text_show(struct orr_text text);
bool orr_text_is(struct orr_text text, const char *word);

/* --- source ---------------------------------------------------------------------------------- */

struct orr_source; /* an open file, or text in memory */

/* `interrupted` as in orr_trace_options; it is looked at before each read of the file. */
enum orr_status orr_source_open(const char *path, const volatile sig_atomic_t *interrupted,
                                struct orr_source **out, struct orr_err *err) ORR_MUST_USE;
struct orr_source *orr_source_open_memory(const void *bytes, size_t count) ORR_MUST_USE;
void orr_source_close(struct orr_source *source);
/* The next block of decompressed text, borrowed until the next call; no bytes at the end. A
 * failure leaves its reason in *reason (borrowed). */
enum orr_status orr_source_next(struct orr_source *source, struct orr_text *block,
                                const char **reason) ORR_MUST_USE;
/* The first kilobytes, without taking them: the next call of next starts with them. */
enum orr_status orr_source_peek(struct orr_source *source, struct orr_text *head,
                                const char **reason) ORR_MUST_USE;
/* Is what was peeked all there is? False: not known. */
bool orr_source_peeked_all(const struct orr_source *source);
/* Leaves out the first bytes of what was peeked. */
void orr_source_skip(struct orr_source *source, size_t bytes);
/* Reads what the decompressor left, then says size and SHA-256 (65 bytes) of the file. */
enum orr_status orr_source_finish(struct orr_source *source, int64_t *file_bytes, char *sha256,
                                  const char **reason) ORR_MUST_USE;

/* --- one read -------------------------------------------------------------------------------- */

struct orr_reader {
    const char *file; /* as the user wrote it, for messages */
    const struct orr_trace_options *options;
    struct orr_zone *zone; /* of dates that state none; NULL: UTC */
    struct orr_workload *workload;
    struct orr_source *source;
    uint64_t line; /* physical line that the next byte lies on, from 1 */
    struct orr_err *err;
    /* The name that the header has of the column whose field is read, where it is not its own;
     * NULL: it is. */
    const char *alias;
};

/* orr_source_next with a located error. Ends the read when lines no longer fit 32 bits. */
enum orr_status orr_reader_next(struct orr_reader *reader, struct orr_text *block) ORR_MUST_USE;

/* For rows whose instants are ms since 1970: time 0 becomes the first submit. Before the sort. */
void orr_reader_start_clock(struct orr_workload *workload);

/* --- fields ---------------------------------------------------------------------------------- */

/* A numeric column: the value is the decimal number times scale, rounded half up. */
struct orr_number {
    const char *column;
    int64_t scale, min, max; /* bounds of the scaled value; scale 1 takes whole numbers only */
};

/* A century of run time; instants that look like clocks in ms are refused; GPUs or pods of a job.
 */
#define ORR_DURATION_MAX_MS ((orr_ms)100 * 366 * 86400 * 1000)
#define ORR_INSTANT_MAX_MS  ((orr_ms)100000000000 * 1000)
#define ORR_COUNT_MAX       1000000
#define ORR_DATE_MAX_MS     ((orr_ms)10000000000000 - 1) /* of dates from 1970 on; in 2286 */

/* Parses a field, or rejects the row at that line and says false. */
bool orr_field_number(struct orr_reader *reader, uint32_t line, const struct orr_number *number,
                      struct orr_text text, int64_t *out);
/* Whether a name or other text has at most ORR_NAME_MAX bytes as it will be written; false with a
 * sentence. */
bool orr_text_fits(struct orr_text text, char why[ORR_NATIVE_WHY]);
/* Rejects the row where the text does not fit. */
bool orr_field_text(struct orr_reader *reader, uint32_t line, const char *column,
                    struct orr_text text);

/* How messages name a column: as the header does, with its own name behind it where that is another
 * one: "duration (run_s)". */
struct orr_column_shown {
    char text[80];
};
struct orr_column_shown orr_column_show(const struct orr_reader *reader, const char *column);

/* Does a text that is a date say which zone it is of? */
bool orr_date_has_zone(struct orr_text date);

/* Queues and users repeat from row to row. */
struct orr_last_name {
    char text[40];
    size_t bytes;
    uint32_t index;
};
/* Index of a name in a map; `last` starts zeroed. Empty text has no index (ORR_NONE). */
uint32_t orr_name_index(struct orr_idmap *map, struct orr_last_name *last, struct orr_text name);

/* --- CSV ------------------------------------------------------------------------------------- */

#define ORR_CSV_COLUMNS_MAX 64 /* columns a format can know: they are bits of one word */

struct orr_csv_alias {
    const char *name;
    uint32_t column;
};

struct orr_csv_format {
    const char *name;
    const char *const *columns; /* known columns */
    uint32_t column_count;
    /* Other names for them, in any case, each use of which is noted; ends with a NULL name. May be
     * NULL, and then the names of columns are taken as they are written only. */
    const struct orr_csv_alias *aliases;
    uint64_t required; /* bit i: columns[i] must be in the header */
    uint64_t ignored;  /* bit i: known, but not handed on */
    char delimiter;    /* 0: a comma */
    bool loose;        /* other columns are left out, of two of one name the second, and names may
                          be empty */
    const char *const *given; /* names of the columns of a file without a header; may be NULL */
    uint32_t given_count;
    /* One row: fields[i] belongs to columns[i] and is empty if the file has no such column. All
     * are borrowed for the call. */
    void (*row)(void *context, const struct orr_text *fields, uint32_t line);
    /* Told once which known columns the file has, and of each by which of `aliases` (NULL: by its
     * own name). May be NULL. */
    void (*header)(void *context, uint64_t present, const char *const *aliases);
};

enum orr_status orr_csv_read(struct orr_reader *reader, const struct orr_csv_format *format,
                             void *context) ORR_MUST_USE;

/* --- formats --------------------------------------------------------------------------------- */

enum orr_status orr_native_read(struct orr_reader *reader) ORR_MUST_USE;
enum orr_status orr_philly_read(struct orr_reader *reader) ORR_MUST_USE;
enum orr_status orr_swf_read(struct orr_reader *reader) ORR_MUST_USE;
enum orr_status orr_schedule_read(struct orr_reader *reader) ORR_MUST_USE;

/* Whether a header line looks like the format's; `cells` is its first line. */
bool orr_native_is_header(struct orr_text line);
bool orr_philly_is_header(struct orr_text line);
bool orr_swf_is_start(struct orr_text line);
/* Whether a comma-separated line has the cell, quoted or not, in any case. */
bool orr_csv_line_has(struct orr_text line, const char *cell);

#endif
