/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_int.h"
#include "store_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/sim/temporary.h>

#define INTERRUPT_EVERY 100000 /* steps of SQLite's machine: about 2 ms */

struct orr_store {
    char *path, *temporary;
    int lock; /* descriptor of the temporary file; -1: none was made */
    bool force;
    sqlite3 *db;
};

const char *orr_store_sqlite_version(void)
{
    return sqlite3_libversion();
}

static void store_free(struct orr_store *store)
{
    if (store->lock >= 0) {
        (void)close(store->lock);
    }
    orr_free(store->path);
    orr_free(store->temporary);
    orr_free(store);
}

void orr_store_abandon(struct orr_store *store)
{
    if (store != NULL) {
        (void)sqlite3_close(store->db);
        if (store->lock >= 0) {
            (void)unlink(store->temporary);
        }
        store_free(store);
    }
}

const char *orr_store_temporary(const struct orr_store *store)
{
    return store->temporary;
}

/* Tells SQLite's lack of memory from its other faults. */
static void check_memory(sqlite3 *db)
{
    if (sqlite3_errcode(db) == SQLITE_NOMEM) {
        orr_out_of_memory();
    }
}

enum orr_status orr_store__interrupted(struct orr_err *err)
{
    return orr_fail(err, ORR_INTERRUPTED, "interrupted while results were written; none are kept");
}

enum orr_status orr_store__failed(sqlite3 *db, struct orr_err *err)
{
    check_memory(db);
    if (sqlite3_errcode(db) == SQLITE_INTERRUPT) {
        return orr_store__interrupted(err);
    }
    return orr_fail(err, ORR_IO, "cannot write results: %s", sqlite3_errmsg(db));
}

enum orr_status orr_store__exec(sqlite3 *db, const char *sql, struct orr_err *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? ORR_OK
                                                                : orr_store__failed(db, err);
}

/* The temporary file, in store->temporary. */
static enum orr_status make_file(struct orr_store *store, struct orr_err *err)
{
    const size_t bytes = strlen(store->path) + 60;
    char *path = orr_alloc(bytes, 1);
    store->temporary = orr_alloc(bytes, 1);
    /* "file:" at the begin of a name would be a URI to SQLite */
    (void)snprintf(path, bytes, "%s%s", strncmp(store->path, "file:", 5) == 0 ? "./" : "",
                   store->path);
    store->lock = orr_temporary_open(path, store->temporary, bytes);
    orr_free(path);
    return store->lock >= 0 ? ORR_OK
                            : orr_fail(err, ORR_CANT_CREATE, "%s: cannot create: %s", store->path,
                                       strerror(errno));
}

static enum orr_status open_database(struct orr_store *store, struct orr_err *err)
{
    const enum orr_status status = make_file(store, err);
    if (status != ORR_OK) {
        return status;
    }
    /* one thread uses it, so it needs no locks */
    if (sqlite3_open_v2(store->temporary, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        check_memory(store->db);
        return orr_fail(err, ORR_CANT_CREATE, "%s: cannot create: %s", store->path,
                        sqlite3_errmsg(store->db));
    }
    /* no journal and no syncs on the way: the file has no reader before it is whole */
    return orr_store__exec(store->db,
                           "PRAGMA page_size=16384; PRAGMA auto_vacuum=NONE; PRAGMA "
                           "journal_mode=OFF; PRAGMA synchronous=OFF;"
                           "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-2048;",
                           err);
}

enum orr_status orr_store_open(const char *path, bool force, struct orr_store **out,
                               struct orr_err *err)
{
    struct stat there;
    if (!force && lstat(path, &there) == 0) { /* a link that leads nowhere too */
        return orr_fail(err, ORR_CANT_CREATE,
                        "%s: exists already; --force overwrites it, -o names another", path);
    }
    struct orr_store *store = orr_zalloc(1, sizeof *store);
    store->path = orr_strdup(path);
    store->lock = -1;
    store->force = force;
    enum orr_status status = open_database(store, err);
    if (status != ORR_OK) {
        orr_store_abandon(store);
        return status;
    }
    *out = store;
    return ORR_OK;
}

static enum orr_status sync_path(const char *path, int flags, const char *shown,
                                 struct orr_err *err)
{
    int fd = open(path, flags);
    if (fd < 0 || fsync(fd) != 0) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return orr_fail(err, ORR_IO, "%s: cannot sync: %s", shown, strerror(error));
    }
    return close(fd) == 0 ? ORR_OK : orr_fail(err, ORR_IO, "%s: %s", shown, strerror(errno));
}

/* link() refuses an existing name where rename() would replace it, so nothing that appeared while
 * the run went on is lost; a file system without links has the rename. */
static enum orr_status put_in_place(const struct orr_store *store, struct orr_err *err)
{
    enum orr_status status = sync_path(store->temporary, O_RDWR, store->path, err);
    if (status != ORR_OK) {
        return status;
    }
    struct stat there;
    if (!store->force && link(store->temporary, store->path) == 0) {
        (void)unlink(store->temporary);
    } else if (!store->force && (errno == EEXIST || lstat(store->path, &there) == 0)) {
        return orr_fail(err, ORR_CANT_CREATE, "appeared while the run went on; not replaced");
    } else if (rename(store->temporary, store->path) != 0) {
        return orr_fail(err, ORR_CANT_CREATE, "%s", strerror(errno));
    }
    char *folder = orr_strdup(store->path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    /* the rename holds already; a folder that cannot be synced is not worth failing for */
    struct orr_err ignored = {0};
    (void)sync_path(slash == NULL ? "." : folder, O_RDONLY, store->path, &ignored);
    orr_free(folder);
    return ORR_OK;
}

/* SQLite asks now and then whether to go on. */
static int is_interrupted(void *context)
{
    const struct orr_store_input *input = context;
    return *input->interrupted != 0;
}

/* Everything but the rows of `job`. */
static enum orr_status write_tables_of(sqlite3 *db, const struct orr_store_input *input,
                                       struct orr_err *err)
{
    if (input->totals_only) {
        return orr_store__write_totals(db, input, err);
    }
    const enum orr_status status = orr_store__write_rows(db, input, err);
    return status == ORR_OK && input->views_sql != NULL ? orr_store__exec(db, input->views_sql, err)
                                                        : status;
}

static enum orr_status find_job_table(sqlite3 *db, struct orr_job_table *table, struct orr_err *err)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, orr_store_sql__job_table, -1, &statement, NULL) != SQLITE_OK) {
        return orr_store__failed(db, err);
    }
    const bool found = sqlite3_step(statement) == SQLITE_ROW;
    if (found) {
        table->root = (uint32_t)sqlite3_column_int64(statement, 0);
        table->columns = (uint32_t)sqlite3_column_int64(statement, 1);
    }
    (void)sqlite3_finalize(statement);
    return found ? ORR_OK : orr_store__failed(db, err);
}

/* Writes with SQLite what it is to write. */
static enum orr_status write_by_sqlite(sqlite3 *db, const struct orr_store_input *input,
                                       struct orr_job_table *job_table, struct orr_err *err)
{
    char version[64];
    union { /* SQLite hands the pointer back as it came */
        const struct orr_store_input *in;
        void *out;
    } context = {.in = input};
    if (input->interrupted != NULL) {
        sqlite3_progress_handler(db, INTERRUPT_EVERY, is_interrupted, context.out);
    }
    (void)snprintf(version, sizeof version, "PRAGMA user_version=%d; BEGIN;", ORR_STORE_VERSION);
    enum orr_status status = orr_store__exec(db, version, err);
    if (status == ORR_OK) {
        status = orr_store__exec(db, orr_schema_sql, err);
    }
    if (status == ORR_OK) {
        status = write_tables_of(db, input, err);
    }
    if (status == ORR_OK) {
        status = find_job_table(db, job_table, err);
    }
    return status == ORR_OK ? orr_store__exec(db, "COMMIT", err) : status;
}

static enum orr_status fail(struct orr_store *store, enum orr_status status, struct orr_err *err)
{
    orr_err_prefix(err, "%s", store->path);
    orr_store_abandon(store);
    return status;
}

enum orr_status orr_store_write(struct orr_store *store, const struct orr_store_input *input,
                                struct orr_err *err)
{
    struct orr_job_table job_table = {0};
    enum orr_status status = write_by_sqlite(store->db, input, &job_table, err);
    if (status == ORR_OK && sqlite3_close(store->db) != SQLITE_OK) {
        status = orr_store__failed(store->db, err);
    } else if (status == ORR_OK) {
        store->db = NULL;
    }
    if (status == ORR_OK && !input->totals_only) {
        status = orr_store__write_jobs(store->lock, job_table, input, err);
    }
    return status == ORR_OK ? ORR_OK : fail(store, status, err);
}

enum orr_status orr_store_keep(struct orr_store *store, struct orr_err *err)
{
    const enum orr_status status = put_in_place(store, err);
    if (status != ORR_OK) {
        return fail(store, status, err);
    }
    store_free(store);
    return ORR_OK;
}
