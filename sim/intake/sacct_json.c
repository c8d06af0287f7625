/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sacct --json` as rows of sacct's columns, job by job, so that one reader serves both. Numbers
 * are numbers up to Slurm 22.05, and {set, infinite, number} later; a state is a word, or a list.
 */
#include "sacct_json.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#include "document.h"

/* In the order of sacct_json_columns. */
enum {
    CELL_ID,
    CELL_CLUSTER,
    CELL_USER,
    CELL_ACCOUNT,
    CELL_PARTITION,
    CELL_QOS,
    CELL_STATE,
    CELL_SUBMIT,
    CELL_ELIGIBLE,
    CELL_START,
    CELL_END,
    CELL_ELAPSED,
    CELL_LIMIT,
    CELL_NODES,
    CELL_ALLOC,
    CELL_ASKED,
    CELL_LINE
};
const char *const sacct_json_columns[SACCT_JSON_COLUMNS] = {
    [CELL_ID] = "JobID",
    [CELL_CLUSTER] = "Cluster",
    [CELL_USER] = "User",
    [CELL_ACCOUNT] = "Account",
    [CELL_PARTITION] = "Partition",
    [CELL_QOS] = "QOS",
    [CELL_STATE] = "State",
    [CELL_SUBMIT] = "Submit",
    [CELL_ELIGIBLE] = "Eligible",
    [CELL_START] = "Start",
    [CELL_END] = "End",
    [CELL_ELAPSED] = "ElapsedRaw",
    [CELL_LIMIT] = "TimelimitRaw",
    [CELL_NODES] = "NNodes",
    [CELL_ALLOC] = "AllocTRES",
    [CELL_ASKED] = "ReqTRES",
    [CELL_LINE] = "SubmitLine",
};

struct row {
    struct orr_arena *arena;
    struct orr_cell cells[SACCT_JSON_COLUMNS];
};

/* --- values ---------------------------------------------------------------------------------- */

static const char *text_of(const struct import_value *map, const char *path)
{
    const struct import_value *value = import_get(map, path);
    return value != NULL && value->kind == IMPORT_TEXT ? value->text : NULL;
}

/* A number, plain or in {set, infinite, number}; NULL: none is set. */
static const char *number_of(const struct import_value *map, const char *path)
{
    const struct import_value *value = import_get(map, path);
    if (value == NULL || value->kind == IMPORT_TEXT) {
        return value == NULL ? NULL : value->text;
    }
    const char *set = text_of(value, "set"), *infinite = text_of(value, "infinite");
    const bool there = (set == NULL || strcmp(set, "true") == 0) &&
                       (infinite == NULL || strcmp(infinite, "false") == 0);
    return there ? text_of(value, "number") : NULL;
}

static void put(struct row *row, int cell, const char *text)
{
    row->cells[cell] =
        text == NULL ? (struct orr_cell){"", 0} : (struct orr_cell){text, strlen(text)};
}

/* 0 is a time that is not set. */
static void put_time(struct row *row, int cell, const struct import_value *job, const char *path)
{
    const char *text = number_of(job, path);
    put(row, cell, text != NULL && strcmp(text, "0") == 0 ? NULL : text);
}

static const char *either(const struct import_value *job, const char *a, const char *b)
{
    const char *text = text_of(job, a);
    return text != NULL && text[0] != '\0' ? text : text_of(job, b);
}

static const char *state_of(const struct import_value *job)
{
    const struct import_value *state = import_get(job, "state/current");
    state = state != NULL ? state : import_get(job, "state");
    if (state != NULL && state->kind == IMPORT_LIST) {
        state = state->first;
    }
    return state != NULL && state->kind == IMPORT_TEXT ? state->text : NULL;
}

/* --- resources ------------------------------------------------------------------------------- */

/* [{type: gres, name: gpu, count: 4}] as cpu=8,mem=16000M,gres/gpu=4. */
static const char *tres_of(struct orr_arena *arena, const struct import_value *list)
{
    char text[2000] = "";
    size_t used = 0;
    IMPORT_EACH(one, list)
    {
        const char *type = text_of(one, "type"), *name = text_of(one, "name");
        const char *count = number_of(one, "count");
        if (type == NULL || count == NULL || strlen(type) + strlen(count) > 200 ||
            (name != NULL && strlen(name) > 200) || used + 420 > sizeof text) {
            continue;
        }
        const bool named = name != NULL && name[0] != '\0';
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s=%s%s",
                                 used > 0 ? "," : "", type, named ? "/" : "", named ? name : "",
                                 count, strcmp(type, "mem") == 0 ? "M" : "");
    }
    return orr_arena_strndup(arena, text, used);
}

/* --- ids ------------------------------------------------------------------------------------- */

static bool is_above_0(const char *number)
{
    int64_t value;
    return number != NULL && orr_parse_i64(number, strlen(number), &value) && value > 0;
}

/* "17", "17_3" of an array, "17_[4-9]" of tasks that wait, "17+1" of a heterogeneous job. */
static const char *id_of(struct orr_arena *arena, const struct import_value *job)
{
    const char *array = number_of(job, "array/job_id"), *het = number_of(job, "het/job_id");
    const char *task = number_of(job, "array/task_id"), *tasks = text_of(job, "array/task");
    const char *offset = number_of(job, "het/job_offset"), *id = number_of(job, "job_id");
    char text[1200] = "";
    if (is_above_0(array) && task != NULL) {
        (void)snprintf(text, sizeof text, "%.30s_%.30s", array, task);
    } else if (is_above_0(array) && tasks != NULL && tasks[0] != '\0') {
        (void)snprintf(text, sizeof text, "%.30s_[%.1000s]", array, tasks);
    } else if (is_above_0(het) && is_above_0(offset)) {
        (void)snprintf(text, sizeof text, "%.30s+%.30s", het, offset);
    } else {
        (void)snprintf(text, sizeof text, "%.30s", id != NULL ? id : "");
    }
    return orr_arena_strndup(arena, text, strlen(text));
}

/* An interactive step says so of its job. */
static const char *interactive_of(struct orr_arena *arena, const struct import_value *job,
                                  const char *id)
{
    IMPORT_EACH(step, import_get(job, "steps"))
    {
        const char *name = text_of(step, "step/name");
        if (name != NULL && strcmp(name, "interactive") == 0) {
            char text[1300];
            (void)snprintf(text, sizeof text, "%s.interactive", id);
            return orr_arena_strndup(arena, text, strlen(text));
        }
    }
    return NULL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void read_job(const struct import_value *job, uint32_t line, struct orr_arena *arena,
                     const struct orr_records_sink *sink)
{
    struct row row = {.arena = arena};
    const char *id = id_of(arena, job);
    put(&row, CELL_ID, id);
    put(&row, CELL_CLUSTER, either(job, "cluster", "association/cluster"));
    put(&row, CELL_USER, either(job, "user", "association/user"));
    put(&row, CELL_ACCOUNT, either(job, "account", "association/account"));
    put(&row, CELL_PARTITION, either(job, "partition", "association/partition"));
    put(&row, CELL_QOS, text_of(job, "qos"));
    put(&row, CELL_STATE, state_of(job));
    put_time(&row, CELL_SUBMIT, job, "time/submission");
    put_time(&row, CELL_ELIGIBLE, job, "time/eligible");
    put_time(&row, CELL_START, job, "time/start");
    put_time(&row, CELL_END, job, "time/end");
    put(&row, CELL_ELAPSED, number_of(job, "time/elapsed"));
    const char *endless = text_of(job, "time/limit/infinite");
    put(&row, CELL_LIMIT,
        endless != NULL && strcmp(endless, "true") == 0 ? "UNLIMITED"
                                                        : number_of(job, "time/limit"));
    put(&row, CELL_NODES, number_of(job, "allocation_nodes"));
    put(&row, CELL_ALLOC, tres_of(arena, import_get(job, "tres/allocated")));
    put(&row, CELL_ASKED, tres_of(arena, import_get(job, "tres/requested")));
    put(&row, CELL_LINE, text_of(job, "submit_line"));
    sink->row(sink->context, row.cells, line);
    const char *step = interactive_of(arena, job, id);
    if (step != NULL) {
        struct row of_step = {.arena = arena};
        for (int c = 0; c < SACCT_JSON_COLUMNS; c++) {
            put(&of_step, c, c == CELL_ID ? step : NULL);
        }
        sink->row(sink->context, of_step.cells, line);
    }
}

struct scan { /* of the text, whose jobs are read one at a time */
    const char *text;
    size_t at, bytes;
    uint32_t line;
};

static void skip(struct scan *scan, size_t bytes)
{
    for (; bytes > 0 && scan->at < scan->bytes; bytes--) {
        scan->line += scan->text[scan->at++] == '\n';
    }
}

static void skip_blanks(struct scan *scan, const char *more)
{
    while (scan->at < scan->bytes &&
           (strchr(" \t\r\n", scan->text[scan->at]) != NULL ||
            strchr(more, scan->text[scan->at]) != NULL) &&
           scan->text[scan->at] != '\0') {
        skip(scan, 1);
    }
}

/* Behind the bracket that opens "jobs" of the outermost map; false: there is none. */
static bool find_jobs(struct scan *scan)
{
    uint32_t depth = 0;
    while (scan->at < scan->bytes) {
        const char c = scan->text[scan->at];
        if (c == '"') {
            const size_t from = scan->at + 1;
            skip(scan, 1);
            while (scan->at < scan->bytes && scan->text[scan->at] != '"') {
                skip(scan, scan->text[scan->at] == '\\' ? 2 : 1);
            }
            const bool is_jobs =
                depth == 1 && scan->at - from == 4 && memcmp(scan->text + from, "jobs", 4) == 0;
            skip(scan, 1);
            skip_blanks(scan, is_jobs ? ":" : "");
            if (is_jobs && scan->at < scan->bytes && scan->text[scan->at] == '[') {
                skip(scan, 1);
                return true;
            }
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        skip(scan, 1);
    }
    return false;
}

static enum orr_status read_jobs(struct scan *scan, const char *path, struct orr_arena *arena,
                                 const struct orr_records_sink *sink, struct orr_err *err)
{
    struct import_load load = {arena, err};
    for (;;) {
        struct import_file *file;
        skip_blanks(scan, ",");
        if (scan->at < scan->bytes && scan->text[scan->at] == ']') {
            return ORR_OK;
        }
        const size_t bytes = scan->at < scan->bytes && scan->text[scan->at] == '{'
                                 ? import_json_bytes(scan->text + scan->at, scan->bytes - scan->at)
                                 : 0;
        if (bytes == 0) {
            return orr_fail(err, ORR_DATA,
                            "%s:%u: the list of jobs ends within a job: the file is cut short",
                            path, (unsigned)scan->line);
        }
        const struct import_part part = {
            .text = scan->text + scan->at, .bytes = bytes, .lines_before = scan->line - 1};
        const uint32_t line = scan->line;
        const enum orr_status status = import_parse_part(&load, path, &part, &file);
        if (status != ORR_OK) {
            return status;
        }
        if (file->documents->first != NULL) {
            read_job(file->documents->first, line, arena, sink);
        }
        skip(scan, bytes);
        orr_arena_reset(arena);
    }
}

bool sacct_json_is(struct orr_cell head)
{
    size_t from = 0;
    while (from < head.bytes && strchr(" \t\r\n", head.at[from]) != NULL && head.at[from] != '\0') {
        from++;
    }
    if (from == head.bytes || head.at[from] != '{') {
        return false;
    }
    static const char *const words[] = {"\"jobs\"", "\"association\""};
    for (size_t w = 0; w < 2; w++) {
        const size_t bytes = strlen(words[w]);
        bool has = false;
        for (size_t i = from; i + bytes <= head.bytes && !has; i++) {
            has = memcmp(head.at + i, words[w], bytes) == 0;
        }
        if (!has) {
            return false;
        }
    }
    return true;
}

enum orr_status sacct_json_read(const char *path, struct orr_cell text,
                                const struct orr_records_sink *sink, struct orr_err *err)
{
    struct scan scan = {.text = text.at, .bytes = text.bytes, .line = 1};
    struct orr_arena arena;
    orr_arena_init(&arena);
    const enum orr_status status =
        find_jobs(&scan)
            ? read_jobs(&scan, path, &arena, sink, err)
            : orr_fail(err, ORR_DATA, "%s:1: has no list \"jobs\" as sacct --json writes it", path);
    orr_arena_release(&arena);
    return status;
}
