/* SPDX-License-Identifier: GPL-3.0-or-later */
/* records.h - a table of texts, whatever separates its cells, row by row and in bounded memory.
 *
 * Two dialects. CSV (RFC 4180, any one-character delimiter; quotes hold cells together), and plain
 * text as sacct prints it: any delimiter, quotes are characters like others, and a row that is cut
 * by line ends inside a cell is put together again.
 */
#ifndef ORR_TRACES_RECORDS_H
#define ORR_TRACES_RECORDS_H

#include <orrery/base/status.h>

/* Borrowed text, without a final NUL. */
struct orr_cell {
    const char *at;
    size_t bytes;
};

#define ORR_RECORDS_DELIMITER 8  /* bytes of a delimiter at most */
#define ORR_RECORDS_COLUMNS   64 /* that one read can ask for */

struct orr_records_options {
    const char *delimiter; /* NULL: found in the first line: bar and hash, tab, bar, ; or comma */
    bool plain;            /* no quotes, rows may be cut by line ends */
    const char *const *names; /* of the columns of a file without a header; NULL: its first line */
    uint32_t name_count;
    /* plain: of a row with too many cells, the one column whose text may hold the delimiter takes
     * them; NULL: such a row is wrong */
    const char *free_text;
};

struct orr_records_sink {
    void *context;
    /* cells[i] belongs to the i-th column asked for; empty where the file lacks it. Borrowed for
     * the call. `line`: physical line on which the row starts */
    void (*row)(void *context, const struct orr_cell *cells, uint32_t line);
    /* A row that is none; the sentence is borrowed. */
    void (*bad)(void *context, uint32_t line, const char *why);
};

struct orr_records;

/* Opens a file, plain or packed as a trace may be, and reads its header. *out is the caller's to
 * close; NULL on failure: ORR_NO_INPUT, ORR_IO, ORR_DATA (empty, UTF-16, Parquet: the sentence says
 * what to do). */
enum orr_status orr_records_open(const char *path, const struct orr_records_options *options,
                                 struct orr_records **out, struct orr_err *err) ORR_MUST_USE;
/* The same from plain text in memory, borrowed until the close. */
enum orr_status orr_records_open_memory(const char *name, const void *bytes, size_t count,
                                        const struct orr_records_options *options,
                                        struct orr_records **out, struct orr_err *err) ORR_MUST_USE;
void orr_records_close(struct orr_records *records);

/* Names of its columns, in order; until the close. */
const char *const *orr_records_names(const struct orr_records *records, uint32_t *count);
const char *orr_records_delimiter(const struct orr_records *records);
/* The first kilobytes, cut behind their last whole line unless they are all there is, for who wants
 * to look before reading. */
struct orr_cell orr_records_head(const struct orr_records *records);

/* Reads all rows once. `columns` (at most ORR_RECORDS_COLUMNS) are names; of two columns of one
 * name the first counts. ORR_IO, ORR_DATA (a quoted cell without an end). */
enum orr_status orr_records_read(struct orr_records *records, const char *const *columns,
                                 uint32_t count, const struct orr_records_sink *sink,
                                 struct orr_err *err) ORR_MUST_USE;
/* After the read: of the file as it lies on disk. */
const char *orr_records_sha256(const struct orr_records *records);

#endif
