/* SPDX-License-Identifier: GPL-3.0-or-later */
/* floor.c - who holds what at a time: a row a node, a character a device. */
#include "explain_int.h"

#include <string.h>

#define LETTERS 26
#define COLUMNS 100
#define DEVICES 64

struct floor { /* queues by what they hold then, most first */
    int64_t ids[LETTERS];
    uint32_t count;
};

static char letter_of(const struct floor *floor, int64_t queue)
{
    for (uint32_t i = 0; i < floor->count; i++) {
        if (floor->ids[i] == queue) {
            return (char)('A' + (int)i);
        }
    }
    return '+';
}

static void say_queues(struct orr_results *in, struct floor *floor, orr_ms at, FILE *out)
{
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT j.queue, q.name, sum(p.mgpu) / 1000.0 AS held, count(DISTINCT p.job) FROM"
        " v_placements AS p JOIN job AS j ON j.id = p.job JOIN queue AS q ON q.id = j.queue"
        " WHERE p.start_ms <= ?1 AND coalesce(p.end_ms, 9e18) > ?1 GROUP BY j.queue"
        " ORDER BY held DESC, j.queue",
        &at, 1);
    while (orr_results_step(in, row)) {
        if (floor->count < LETTERS) {
            floor->ids[floor->count++] = sqlite3_column_int64(row, 0);
            (void)fprintf(out, "  %c %s: %g GPUs, %lld jobs\n",
                          letter_of(floor, sqlite3_column_int64(row, 0)),
                          orr_results_text(in, row, 1), sqlite3_column_double(row, 2),
                          (long long)sqlite3_column_int64(row, 3));
        } else {
            (void)fprintf(out, "  + %s: %g GPUs, %lld jobs\n", orr_results_text(in, row, 1),
                          sqlite3_column_double(row, 2), (long long)sqlite3_column_int64(row, 3));
        }
    }
    (void)fputs("  . idle   lower case: shared   * several queues on one device\n\n", out);
}

/* What one node's devices are used for; nodes without counted devices fill from the left. */
static void draw_node(struct orr_results *in, const struct floor *floor, int64_t node,
                      uint32_t gpus, orr_ms at, char *cells)
{
    const int64_t values[] = {node, at};
    const uint32_t shown = gpus < DEVICES ? gpus : DEVICES;
    uint32_t next = 0;
    memset(cells, '.', shown);
    cells[shown] = '\0';
    sqlite3_stmt *row = orr_explain__query(
        in,
        "SELECT j.queue, p.mgpu, p.devices FROM v_placements AS p JOIN job AS j ON j.id = p.job"
        " WHERE p.node = ?1 AND p.start_ms <= ?2 AND coalesce(p.end_ms, 9e18) > ?2 ORDER BY p.job",
        values, 2);
    while (orr_results_step(in, row)) {
        const char letter = letter_of(floor, sqlite3_column_int64(row, 0));
        const int64_t mgpu = sqlite3_column_int64(row, 1);
        uint64_t mask = (uint64_t)sqlite3_column_int64(row, 2);
        int64_t devices = 0;
        if (mask == 0) {
            for (int64_t left = mgpu; left > 0 && next < shown; left -= ORR_MGPU) {
                mask |= (uint64_t)1 << next++;
            }
        }
        for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
            devices++;
        }
        const bool part = mgpu < devices * ORR_MGPU;
        const char mark =
            part && letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
        for (uint32_t d = 0; d < shown; d++) {
            if ((mask >> d & 1) != 0) {
                cells[d] = cells[d] == '.' || cells[d] == mark ? mark : '*';
            }
        }
    }
}

/* Nodes rack by rack where there are racks, as many on a line as fit. */
static void draw_nodes(struct orr_results *in, const struct floor *floor, orr_ms at, FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT n.id, n.name, n.gpus, d.domain FROM node AS n LEFT JOIN node_domain AS d"
            " ON d.node = n.id AND d.level = 'rack' ORDER BY d.domain, n.id");
    int64_t rack = -1;
    size_t column = 0;
    while (orr_results_step(in, row)) {
        char cells[DEVICES + 1];
        const char *name = orr_results_text(in, row, 1);
        const uint32_t gpus = (uint32_t)sqlite3_column_int64(row, 2);
        if (sqlite3_column_type(row, 3) != SQLITE_NULL && sqlite3_column_int64(row, 3) != rack) {
            rack = sqlite3_column_int64(row, 3);
            (void)fprintf(out, "%srack %lld\n", column > 0 ? "\n" : "", (long long)rack);
            column = 0;
        }
        draw_node(in, floor, sqlite3_column_int64(row, 0), gpus, at, cells);
        const size_t bytes = strlen(name) + strlen(cells) + 3;
        if (column > 0 && column + bytes > COLUMNS) {
            (void)fputc('\n', out);
            column = 0;
        }
        (void)fprintf(out, "%s %s  ", name, cells);
        column += bytes;
    }
    (void)fputc('\n', out);
}

enum orr_status orr_explain_floor(const char *db_path, orr_ms at, FILE *out, struct orr_err *err)
{
    struct orr_results in;
    struct floor floor = {.count = 0};
    char clock[40];
    orr_results_open(&in, db_path, err);
    if (in.status == ORR_OK) {
        (void)fprintf(out, "At %s:\n", orr_explain__clock(at, clock));
        say_queues(&in, &floor, at, out);
        draw_nodes(&in, &floor, at, out);
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
