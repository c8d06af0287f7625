/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_file.c - plans and merged files, whole or not there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/sim/temporary.h>

#include "sweep_int.h"

static void fail(struct orr_sweep__file *file)
{
    if (file->status == ORR_OK) {
        file->status = orr_fail(file->err, ORR_IO, "%s: %s", file->path, sqlite3_errmsg(file->db));
    }
}

enum orr_status orr_sweep__create(struct orr_sweep__file *file, const char *path,
                                  const char *schema, struct orr_err *err)
{
    *file = (struct orr_sweep__file){.err = err};
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    const int fd = orr_temporary_open(path, file->temporary, sizeof file->temporary);
    if (fd < 0) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", file->temporary, strerror(errno));
    }
    (void)close(fd);
    orr_interrupt_unfinished(file->temporary);
    /* no journal and no syncs on the way: the file has no reader before it is whole */
    if (sqlite3_open_v2(file->temporary, &file->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(file->db,
                     "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                     "PRAGMA locking_mode=EXCLUSIVE; BEGIN;",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(file->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        fail(file);
        return orr_sweep__put_in_place(file, file->status);
    }
    return ORR_OK;
}

sqlite3_stmt *orr_sweep__prepare(struct orr_sweep__file *file, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (file->status == ORR_OK &&
        sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(file);
    }
    return statement;
}

void orr_sweep__insert(struct orr_sweep__file *file, sqlite3_stmt *statement)
{
    if (file->status != ORR_OK) {
        return;
    }
    if (sqlite3_step(statement) != SQLITE_DONE) {
        fail(file);
    }
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
}

static bool sync_file(const char *path)
{
    const int fd = open(path, O_RDWR);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    return (fd < 0 || close(fd) == 0) && synced;
}

enum orr_status orr_sweep__put_in_place(struct orr_sweep__file *file, enum orr_status status)
{
    status = status == ORR_OK ? file->status : status;
    if (status == ORR_OK && sqlite3_exec(file->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        fail(file);
        status = file->status;
    }
    (void)sqlite3_close(file->db);
    if (status == ORR_OK &&
        (!sync_file(file->temporary) || rename(file->temporary, file->path) != 0)) {
        status = orr_fail(file->err, ORR_CANT_CREATE, "%s: %s", file->path, strerror(errno));
    }
    if (status != ORR_OK) {
        (void)unlink(file->temporary);
    }
    return status;
}
