/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_db.c - the results file: opened read-only, refused unless its schema is the one known here.
 */
#include "plot_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/sort.h>

#define USER_VERSION 1

static void db_failed(struct orr_plot *plot)
{
    if (plot->status != ORR_OK) {
        return;
    }
    int code = sqlite3_errcode(plot->db) & 0xff;
    if (code == SQLITE_NOTADB) {
        plot->status =
            orr_fail(plot->err, ORR_DATA, "%s: not a results file (not SQLite)", plot->db_path);
    } else if (code == SQLITE_IOERR || code == SQLITE_BUSY || code == SQLITE_CANTOPEN) {
        plot->status =
            orr_fail(plot->err, ORR_IO, "%s: %s", plot->db_path, sqlite3_errmsg(plot->db));
    } else {
        plot->status = orr_fail(plot->err, ORR_DATA, "%s: not a whole results file (%s)",
                                plot->db_path, sqlite3_errmsg(plot->db));
    }
}

sqlite3_stmt *orr_plot__prepare(struct orr_plot *plot, const char *sql)
{
    sqlite3_stmt *row = NULL;
    if (plot->status == ORR_OK && sqlite3_prepare_v2(plot->db, sql, -1, &row, NULL) != SQLITE_OK) {
        db_failed(plot);
    }
    return row;
}

bool orr_plot__step(struct orr_plot *plot, sqlite3_stmt *row)
{
    if (plot->status == ORR_OK) {
        int code = sqlite3_step(row);
        if (code == SQLITE_ROW) {
            return true;
        }
        if (code != SQLITE_DONE) {
            db_failed(plot);
        }
    }
    (void)sqlite3_finalize(row);
    return false;
}

char *orr_plot__text(struct orr_plot *plot, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    text = text != NULL ? text : "";
    return orr_arena_strndup(&plot->arena, text, strlen(text));
}

static void check_version(struct orr_plot *plot)
{
    sqlite3_stmt *row = orr_plot__prepare(plot, "PRAGMA user_version");
    int64_t version = 0;
    while (orr_plot__step(plot, row)) {
        version = sqlite3_column_int64(row, 0);
    }
    if (plot->status == ORR_OK && version != USER_VERSION) {
        plot->status = orr_fail(plot->err, ORR_DATA,
                                "%s: results of version %lld cannot be read, only of version %d%s",
                                plot->db_path, (long long)version, USER_VERSION,
                                version == 0 ? " (is it a results file?)" : "");
    }
}

static void load_run(struct orr_plot *plot)
{
    struct orr_plot_source *run = &plot->run;
    sqlite3_stmt *row = orr_plot__prepare(
        plot,
        "SELECT name, policy, status, clock_origin_ms, window_start_ms, window_end_ms, end_ms,"
        " capacity_mgpu, series_ms, (SELECT min(submit_ms) FROM job WHERE state > 0),"
        " (SELECT count(*) FROM job WHERE state > 0) FROM run");
    bool found = false;
    orr_ms first = 0;
    while (orr_plot__step(plot, row)) {
        found = true;
        run->name = orr_plot__text(plot, row, 0);
        run->policy = orr_plot__text(plot, row, 1);
        run->status = orr_plot__text(plot, row, 2);
        run->origin =
            sqlite3_column_type(row, 3) == SQLITE_NULL ? ORR_MS_NONE : sqlite3_column_int64(row, 3);
        run->window_start = sqlite3_column_int64(row, 4);
        run->window_end = sqlite3_column_int64(row, 5);
        run->end = sqlite3_column_int64(row, 6);
        run->capacity_gpus = sqlite3_column_double(row, 7) / ORR_MGPU;
        run->series_ms = sqlite3_column_int64(row, 8);
        first = sqlite3_column_int64(row, 9);
        run->jobs = sqlite3_column_int64(row, 10);
    }
    if (plot->status == ORR_OK && !found) {
        plot->status =
            orr_fail(plot->err, ORR_DATA, "%s: not a whole results file (no run)", plot->db_path);
    }
    run->series_ms = run->series_ms > 0 ? run->series_ms : 1;
    run->zero = first >= 0 && first < run->end / 20 ? 0 : first;
    run->end = run->end > run->zero ? run->end : run->zero + 1;
}

static int by_queue_id(const void *a, const void *b, void *context)
{
    const struct orr_plot_queue *queues = context;
    int64_t ida = queues[*(const uint32_t *)a].id, idb = queues[*(const uint32_t *)b].id;
    return (ida > idb) - (ida < idb);
}

static void load_queues(struct orr_plot *plot)
{
    sqlite3_stmt *row = orr_plot__prepare(
        plot,
        "SELECT q.id, q.name, q.gpu_quota FROM queue AS q"
        " JOIN (SELECT DISTINCT queue FROM job) AS s ON s.queue = q.id"
        " LEFT JOIN (SELECT j.queue AS queue,"
        "  sum(p.mgpu * 1.0 * (coalesce(p.end_ms, r.end_ms) - p.start_ms)) AS held"
        "  FROM v_placements AS p JOIN job AS j ON j.id = p.job CROSS JOIN run AS r GROUP BY 1)"
        " AS h ON h.queue = q.id ORDER BY coalesce(h.held, 0) DESC, q.id");
    uint32_t room = 0;
    while (orr_plot__step(plot, row)) {
        plot->queues = ORR_ROOM_FOR_ONE(plot->queues, plot->queue_count, room);
        plot->queues[plot->queue_count++] = (struct orr_plot_queue){
            .id = sqlite3_column_int64(row, 0),
            .name = orr_plot__text(plot, row, 1),
            .quota_gpus = sqlite3_column_double(row, 2),
        };
    }
    plot->by_id = orr_alloc((size_t)plot->queue_count + 1, sizeof *plot->by_id);
    for (uint32_t i = 0; i < plot->queue_count; i++) {
        plot->by_id[i] = i;
    }
    orr_sort(plot->by_id, plot->queue_count, sizeof *plot->by_id, by_queue_id, plot->queues);
}

uint32_t orr_plot__rank(const struct orr_plot *plot, int64_t queue_id)
{
    uint32_t low = 0, high = plot->queue_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t id = plot->queues[plot->by_id[middle]].id;
        if (id == queue_id) {
            return plot->by_id[middle];
        }
        if (id < queue_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ORR_NONE;
}

void orr_plot__open(struct orr_plot *plot)
{
    if (access(plot->db_path, R_OK) != 0) {
        plot->status = orr_fail(plot->err, ORR_NO_INPUT, "%s: %s", plot->db_path, strerror(errno));
        return;
    }
    if (sqlite3_open_v2(plot->db_path, &plot->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        plot->status = orr_fail(plot->err, ORR_DATA, "%s: not a results file (%s)", plot->db_path,
                                sqlite3_errmsg(plot->db));
        return;
    }
    (void)sqlite3_exec(plot->db, "PRAGMA temp_store = memory; PRAGMA cache_size = -65536", NULL,
                       NULL, NULL);
    check_version(plot);
    load_run(plot);
    load_queues(plot);
}

void orr_plot__close(struct orr_plot *plot)
{
    orr_free(plot->by_id);
    orr_free(plot->queues);
    (void)sqlite3_close(plot->db);
}
