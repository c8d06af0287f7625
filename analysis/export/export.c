/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/export.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <orrery/analysis/csv.h>
#include <orrery/analysis/json.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

typedef void write_row_fn(sqlite3_stmt *row, FILE *out);

/* Up to 15 digits and no trailing noise: 0.1 + 0.2 prints as 0.3, milliseconds stay exact. */
static void number(FILE *out, double value)
{
    (void)fprintf(out, "%.15g", value);
}

static void csv_row(sqlite3_stmt *row, FILE *out)
{
    int columns = sqlite3_column_count(row);
    for (int c = 0; c < columns; c++) {
        if (c > 0) {
            (void)fputc(',', out);
        }
        int type = sqlite3_column_type(row, c);
        if (type == SQLITE_FLOAT) {
            number(out, sqlite3_column_double(row, c));
        } else if (type != SQLITE_NULL) {
            orr_csv_text(out, (const char *)sqlite3_column_text(row, c));
        }
    }
    (void)fputc('\n', out);
}

static void jsonl_row(sqlite3_stmt *row, FILE *out)
{
    int columns = sqlite3_column_count(row);
    for (int c = 0; c < columns; c++) {
        (void)fputc(c == 0 ? '{' : ',', out);
        orr_json_string(out, sqlite3_column_name(row, c));
        (void)fputc(':', out);
        switch (sqlite3_column_type(row, c)) {
        case SQLITE_NULL: (void)fputs("null", out); break;
        case SQLITE_FLOAT: number(out, sqlite3_column_double(row, c)); break;
        case SQLITE_INTEGER:
            (void)fprintf(out, "%lld", (long long)sqlite3_column_int64(row, c));
            break;
        default: orr_json_string(out, (const char *)sqlite3_column_text(row, c)); break;
        }
    }
    (void)fputs("}\n", out);
}

/* The 18 columns of the Standard Workload Format, -1 for what is not known; whole seconds. */
static void swf_row(sqlite3_stmt *row, FILE *out)
{
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        (void)fprintf(out, "%s%lld", c == 0 ? "" : " ", (long long)sqlite3_column_int64(row, c));
    }
    (void)fputc('\n', out);
}

static const char swf_sql[] =
    "SELECT id + 1, submit_ms / 1000,"
    " CASE WHEN start_ms IS NULL THEN -1 ELSE (start_ms - submit_ms) / 1000 END,"
    " CASE WHEN end_ms IS NULL OR start_ms IS NULL THEN -1 ELSE (end_ms - start_ms) / 1000 END,"
    " (mgpu + 999) / 1000, -1, -1, (mgpu + 999) / 1000, estimate_ms / 1000, -1,"
    " CASE WHEN state = 3 THEN 1 WHEN state = 4 THEN 5 ELSE -1 END, -1, -1, -1, queue + 1, -1, -1, "
    "-1 "
    "FROM job ORDER BY id";

static enum orr_status table_exists(sqlite3 *db, const char *path, const char *table,
                                    struct orr_err *err)
{
    const char *names[100];
    char texts[100][64];
    size_t count = 0;
    sqlite3_stmt *list = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(
            db, "SELECT name FROM sqlite_master WHERE type IN ('table','view') ORDER BY name", -1,
            &list, NULL) != SQLITE_OK) {
        return orr_fail(err, ORR_DATA, "%s: %s", path, sqlite3_errmsg(db));
    }
    while (sqlite3_step(list) == SQLITE_ROW && count < 100) {
        (void)snprintf(texts[count], sizeof texts[count], "%s",
                       (const char *)sqlite3_column_text(list, 0));
        names[count] = texts[count];
        found = found || strcmp(texts[count], table) == 0;
        count++;
    }
    (void)sqlite3_finalize(list);
    if (found) {
        return ORR_OK;
    }
    const char *near = orr_nearest(table, names, count);
    return orr_fail(err, ORR_DATA, "%s: no table \"%s\"%s%s%s", path, table,
                    near == NULL ? "" : " (did you mean \"", near == NULL ? "" : near,
                    near == NULL ? "" : "\"?)");
}

static enum orr_status copy_rows(sqlite3 *db, const char *path, const char *sql, bool header,
                                 write_row_fn *write, FILE *out, struct orr_err *err)
{
    sqlite3_stmt *rows = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK) {
        return orr_fail(err, ORR_DATA, "%s: %s", path, sqlite3_errmsg(db));
    }
    for (int c = 0; header && c < sqlite3_column_count(rows); c++) {
        (void)fputs(c == 0 ? "" : ",", out);
        orr_csv_text(out, sqlite3_column_name(rows, c));
    }
    if (header) {
        (void)fputc('\n', out);
    }
    int step;
    while ((step = sqlite3_step(rows)) == SQLITE_ROW && !ferror(out)) {
        write(rows, out);
    }
    enum orr_status status = ORR_OK;
    if (ferror(out) || fflush(out) != 0) {
        status = orr_fail(err, ORR_IO, "cannot write: %s", strerror(errno));
    } else if (step != SQLITE_DONE) {
        status = orr_fail(err, ORR_DATA, "%s: %s", path, sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(rows);
    return status;
}

enum orr_status orr_export_table(const char *path, const char *table, const char *format, FILE *out,
                                 struct orr_err *err)
{
    bool csv = strcmp(format, "csv") == 0, swf = strcmp(format, "swf") == 0;
    if (!csv && !swf && strcmp(format, "jsonl") != 0) {
        return orr_fail(err, ORR_USAGE, "format \"%s\" is not csv, jsonl or swf", format);
    }
    bool jobs = strcmp(table, "jobs") == 0;
    if (swf && !jobs) {
        return orr_fail(err, ORR_USAGE, "swf is a format of jobs, not of \"%s\"", table);
    }
    const char *name = jobs ? "v_jobs" : table;
    struct orr_results in;
    orr_results_open(&in, path, err);
    enum orr_status status = in.status;
    if (status == ORR_OK) {
        status = table_exists(in.db, path, name, err);
    }
    if (status == ORR_OK) {
        char sql[200];
        (void)sqlite3_snprintf(sizeof sql, sql, "SELECT * FROM \"%w\"", name);
        status = copy_rows(in.db, path, swf ? swf_sql : sql, csv,
                           csv   ? csv_row
                           : swf ? swf_row
                                 : jsonl_row,
                           out, err);
    }
    orr_results_close(&in);
    return status;
}
