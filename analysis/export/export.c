/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/export.h>

#include <errno.h>
#include <string.h>

#include <orrery/analysis/csv.h>
#include <orrery/analysis/json.h>
#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "export_sql.h"

/* A form of a table: what comes before its rows, a row, what comes after. */
struct form {
    const char *name;
    void (*begin)(struct orr_json *json, const char *table, sqlite3_stmt *rows);
    void (*row)(struct orr_json *json, sqlite3_stmt *row);
    void (*end)(struct orr_json *json);
};

static void csv_head(struct orr_json *json, const char *table, sqlite3_stmt *rows)
{
    (void)table;
    for (int c = 0; c < sqlite3_column_count(rows); c++) {
        (void)fputs(c == 0 ? "" : ",", json->out);
        orr_csv_text(json->out, sqlite3_column_name(rows, c));
    }
    (void)fputc('\n', json->out);
}

static void csv_row(struct orr_json *json, sqlite3_stmt *row)
{
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        if (c > 0) {
            (void)fputc(',', json->out);
        }
        int type = sqlite3_column_type(row, c);
        if (type == SQLITE_FLOAT) { /* 15 digits: 0.1 + 0.2 is 0.3, milliseconds stay exact */
            (void)fprintf(json->out, "%.15g", sqlite3_column_double(row, c));
        } else if (type != SQLITE_NULL) {
            orr_csv_text(json->out, (const char *)sqlite3_column_text(row, c));
        }
    }
    (void)fputc('\n', json->out);
}

static void json_value(struct orr_json *json, sqlite3_stmt *row, int column)
{
    const char *key = sqlite3_column_name(row, column);
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: orr_json_text(json, key, NULL); break;
    case SQLITE_FLOAT: orr_json_real(json, key, sqlite3_column_double(row, column)); break;
    case SQLITE_INTEGER: orr_json_int(json, key, sqlite3_column_int64(row, column)); break;
    default: orr_json_text(json, key, (const char *)sqlite3_column_text(row, column)); break;
    }
}

/* A line a row, within a document too. */
static void json_row(struct orr_json *json, sqlite3_stmt *row)
{
    orr_json_open(json, NULL, '{');
    json->one_line = true;
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        json_value(json, row, c);
    }
    orr_json_close(json, '}');
    json->one_line = false;
}

static void json_head(struct orr_json *json, const char *table, sqlite3_stmt *rows)
{
    (void)rows;
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "table", table);
    orr_json_open(json, "rows", '[');
}

static void json_tail(struct orr_json *json)
{
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

/* The 18 columns of the Standard Workload Format, -1 for what is not known; whole seconds. */
static void swf_row(struct orr_json *json, sqlite3_stmt *row)
{
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        (void)fprintf(json->out, "%s%lld", c == 0 ? "" : " ",
                      (long long)sqlite3_column_int64(row, c));
    }
    (void)fputc('\n', json->out);
}

static const struct form forms[] = {{"csv", csv_head, csv_row, NULL},
                                    {"jsonl", NULL, json_row, NULL},
                                    {"json", json_head, json_row, json_tail},
                                    {"swf", NULL, swf_row, NULL},
                                    {"schema", NULL, NULL, NULL}};
#define FORMS (sizeof forms / sizeof forms[0])

static enum orr_status table_exists(sqlite3 *db, const char *path, const char *table,
                                    struct orr_err *err)
{
    const char *names[100];
    char texts[100][64];
    size_t count = 0;
    sqlite3_stmt *list = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(db, orr_export_sql__tables, -1, &list, NULL) != SQLITE_OK) {
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

/* The reason is asked again of whoever failed before: other calls came in between. */
enum orr_status orr_export_finish(FILE *out, struct orr_err *err)
{
    errno = 0;
    if (fflush(out) == 0 && ferror(out) == 0) {
        return ORR_OK;
    }
    const int why = errno;
    return orr_fail(err, ORR_IO, "cannot write%s%s", why != 0 ? ": " : "",
                    why != 0 ? strerror(why) : "");
}

static enum orr_status copy_rows(struct orr_results *in, const char *table, const char *sql,
                                 const struct form *form, FILE *out, struct orr_err *err)
{
    sqlite3_stmt *rows = NULL, *line = NULL;
    struct orr_json json = {.out = out};
    orr_results_make_views(in, sql);
    if (sqlite3_prepare_v2(in->db, sql, -1, &rows, NULL) != SQLITE_OK) {
        return orr_fail(err, ORR_DATA, "%s: %s", in->path, sqlite3_errmsg(in->db));
    }
    if (form->begin != NULL) {
        form->begin(&json, table, rows);
    }
    if (form->row == swf_row) {
        line = orr_results_prepare(in, orr_export_sql__standard_header);
    }
    while (line != NULL && orr_results_step(in, line)) {
        (void)fprintf(out, "%s\n", orr_results_text(in, line, 0));
    }
    int step;
    while ((step = sqlite3_step(rows)) == SQLITE_ROW && !ferror(out)) {
        form->row(&json, rows);
    }
    if (form->end != NULL && step == SQLITE_DONE) {
        form->end(&json);
    }
    enum orr_status status = orr_export_finish(out, err);
    if (status == ORR_OK && step != SQLITE_DONE) {
        status = orr_fail(err, ORR_DATA, "%s: %s", in->path, sqlite3_errmsg(in->db));
    }
    (void)sqlite3_finalize(rows);
    return status;
}

/* The type in which a column of CSV can be kept whole: as declared, or the widest of its values
 * where a view computes it. In the order of width. */
enum field_type { FIELD_UNKNOWN, FIELD_INTEGER, FIELD_NUMBER, FIELD_STRING };

static enum field_type declared_type(const char *declared)
{
    return declared == NULL                   ? FIELD_UNKNOWN
           : strcmp(declared, "INTEGER") == 0 ? FIELD_INTEGER
           : strcmp(declared, "REAL") == 0    ? FIELD_NUMBER
                                              : FIELD_STRING;
}

static enum field_type type_of_value(sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: return FIELD_UNKNOWN;
    case SQLITE_INTEGER: return FIELD_INTEGER;
    case SQLITE_FLOAT: return FIELD_NUMBER;
    default: return FIELD_STRING;
    }
}

struct field {
    const char *name;
    enum field_type type;
};

/* The names and types of the CSV as a Table Schema (Frictionless Data). A column without a value in
 * any row is a string. */
static enum orr_status print_schema(struct orr_results *in, const char *sql, FILE *out)
{
    static const char *const words[] = {"string", "integer", "number", "string"};
    struct orr_json json = {.out = out};
    sqlite3_stmt *rows = orr_results_prepare(in, sql);
    const int fields = rows == NULL ? 0 : sqlite3_column_count(rows);
    struct field *list = orr_arena_alloc(&in->arena, (size_t)fields + 1, sizeof *list);
    for (int c = 0; c < fields; c++) {
        const char *name = sqlite3_column_name(rows, c);
        list[c].name = orr_arena_strndup(&in->arena, name, strlen(name));
        list[c].type = declared_type(sqlite3_column_decltype(rows, c));
    }
    while (orr_results_step(in, rows)) {
        for (int c = 0; c < fields; c++) {
            const enum field_type type = type_of_value(rows, c);
            list[c].type = type > list[c].type ? type : list[c].type;
        }
    }
    if (in->status != ORR_OK) {
        return in->status;
    }
    orr_json_open(&json, NULL, '{');
    orr_json_open(&json, "fields", '[');
    for (int c = 0; c < fields; c++) {
        orr_json_open(&json, NULL, '{');
        json.one_line = true;
        orr_json_text(&json, "name", list[c].name);
        orr_json_text(&json, "type", words[list[c].type]);
        orr_json_close(&json, '}');
        json.one_line = false;
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
    return ORR_OK;
}

enum orr_status orr_export_table(const char *path, const char *table, const char *format, FILE *out,
                                 struct orr_err *err)
{
    const struct form *form = forms;
    while (form < forms + FORMS && strcmp(form->name, format) != 0) {
        form++;
    }
    if (form == forms + FORMS) {
        return orr_fail(err, ORR_USAGE, "format \"%s\" is not csv, jsonl, json, swf or schema",
                        format);
    }
    const bool jobs = strcmp(table, "jobs") == 0, swf = form->row == swf_row;
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
        status = form->row == NULL
                     ? print_schema(&in, sql, out)
                     : copy_rows(&in, table, swf ? orr_export_sql__standard_workload : sql, form,
                                 out, err);
    }
    orr_results_close(&in);
    return status;
}
