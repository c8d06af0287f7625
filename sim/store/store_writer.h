/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_writer.h - rows through prepared inserts: every table but `job`. */
#ifndef ORR_SIM_STORE_WRITER_H
#define ORR_SIM_STORE_WRITER_H

#include <math.h>

#include "store_int.h"

struct writer { /* one prepared insert; the first failure sticks */
    sqlite3 *db;
    sqlite3_stmt *statement;
    int column;
    uint64_t filled; /* bit c: column c had a value in the row before, which stays bound */
    enum orr_status status;
    struct orr_err *err;
};

static inline struct writer writer_open(sqlite3 *db, const char *sql, struct orr_err *err)
{
    struct writer w = {.db = db, .err = err};
    if (sqlite3_prepare_v2(db, sql, -1, &w.statement, NULL) != SQLITE_OK) {
        w.status = orr_store__failed(db, err);
    }
    return w;
}

/* Goes on to the next column; true if it has a value, which the caller binds. */
static inline bool next_column(struct writer *w, bool known)
{
    const uint64_t bit = (uint64_t)1 << w->column++; /* columns count from 1 */
    if (!known && (w->filled & bit) != 0) {
        (void)sqlite3_bind_null(w->statement, w->column);
    }
    w->filled = known ? w->filled | bit : w->filled & ~bit;
    return known;
}

static inline void put_int_or_null(struct writer *w, bool known, int64_t value)
{
    if (next_column(w, known)) {
        (void)sqlite3_bind_int64(w->statement, w->column, value);
    }
}

static inline void put_int(struct writer *w, int64_t value)
{
    put_int_or_null(w, true, value);
}

static inline void put_real(struct writer *w, double value)
{
    if (next_column(w, isfinite(value))) {
        (void)sqlite3_bind_double(w->statement, w->column, value);
    }
}

/* The text must live until put_row. */
static inline void put_text(struct writer *w, const char *text)
{
    if (next_column(w, text != NULL)) {
        (void)sqlite3_bind_text(w->statement, w->column, text, -1, SQLITE_STATIC);
    }
}

static inline void put_row(struct writer *w)
{
    if (w->status == ORR_OK && w->column != sqlite3_bind_parameter_count(w->statement)) {
        w->status = orr_fail(w->err, ORR_BUG, "a row of %d values for %d columns: %s", w->column,
                             sqlite3_bind_parameter_count(w->statement), sqlite3_sql(w->statement));
    }
    w->column = 0;
    if (w->status == ORR_OK && sqlite3_step(w->statement) != SQLITE_DONE) {
        w->status = orr_store__failed(w->db, w->err);
    }
    (void)sqlite3_reset(w->statement);
}

static inline enum orr_status writer_close(struct writer *w)
{
    (void)sqlite3_finalize(w->statement);
    return w->status;
}

/* What writes a table or some, and several of them until one fails. */
typedef enum orr_status orr_store__write_fn(sqlite3 *db, const struct orr_store_input *input,
                                            struct orr_err *err);
static inline enum orr_status write_tables(sqlite3 *db, const struct orr_store_input *input,
                                           orr_store__write_fn *const *tables, size_t count,
                                           struct orr_err *err)
{
    for (size_t i = 0; i < count; i++) {
        enum orr_status status = tables[i](db, input, err);
        if (status != ORR_OK) {
            return status;
        }
    }
    return ORR_OK;
}

orr_store__write_fn orr_store__write_lending; /* store_lending.c */
enum orr_status orr_store__write_stated(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err);
enum orr_status orr_store__write_expectations(sqlite3 *db, const struct orr_store_input *input,
                                              struct orr_err *err);
enum orr_status orr_store__write_course(sqlite3 *db, const struct orr_store_input *input,
                                        struct orr_err *err);

#endif
