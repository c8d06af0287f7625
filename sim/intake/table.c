/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a table to native rows, or to sums a step. */
#include <string.h>

#include <orrery/base/text.h>

#include "pools.h"

#define STEPS_MAX      ((uint64_t)1 << 24)
#define NODE_GPUS_MOST 10000 /* that a pool of a scenario may have */

/* --- one row --------------------------------------------------------------------------------- */

static bool fail_column(struct expr_row *row, const char *name, const char *why)
{
    char reason[120];
    /* the value comes first in such a sentence: a reason is the same for all values */
    const char *what = strstr(why, " is ");
    (void)snprintf(reason, sizeof reason, "%s%.90s", name, what != NULL ? what : " is wrong");
    return expr_fail(row, reason, "%s: %s", name, why);
}

/* GPUs of each pod: none, whole ones, or a part of one. */
static bool give_pod_gpus(struct expr_row *row, const struct expr_value *value,
                          struct orr_native_row *native, char why[ORR_NATIVE_WHY])
{
    if (value->den == 1) {
        return orr_native_number(native, orr_native_column("gpus_per_pod"), value->num, 1, why);
    }
    if (value->num > value->den) {
        return fail_column(row, "pod_gpus",
                           "a part beside whole GPUs is neither whole nor a part "
                           "of one: round it with ceil()");
    }
    return orr_native_number(native, orr_native_column("gpu_fraction"), value->num, value->den,
                             why);
}

static bool apply_rules(const struct intake_job_column *job, struct expr_row *row,
                        struct expr_value *value)
{
    char text[64];
    if (value->kind == EXPR_NUMBER && value->den == 1) {
        const int bytes = snprintf(text, sizeof text, "%lld", (long long)value->num);
        *value = (struct expr_value){
            .kind = EXPR_TEXT,
            .text = {orr_arena_strndup(row->scratch, text, (size_t)bytes), (size_t)bytes}};
    }
    const char *found = job->otherwise;
    for (uint32_t r = 0; r < job->rule_count; r++) {
        if (value->kind == EXPR_TEXT && expr_like(value->text, job->rules[r].pattern)) {
            found = job->rules[r].value;
            break;
        }
    }
    if (found != NULL) {
        *value = (struct expr_value){.kind = found[0] == '\0' ? EXPR_NOTHING : EXPR_TEXT,
                                     .text = {found, strlen(found)}};
    }
    return true;
}

static bool give_value(const struct intake_job_column *job, struct expr_row *row,
                       struct expr_value *value, struct orr_native_row *native)
{
    char why[ORR_NATIVE_WHY] = "";
    bool good = true;
    if (job->column == INTAKE_POD_GPUS || !orr_native_is_text(job->column)) {
        if (value->kind == EXPR_TEXT && !expr_number(value->text, &value->num, &value->den)) {
            char text[120];
            (void)snprintf(text, sizeof text, "\"%s\" is not a number",
                           expr_show(value->text).text);
            return fail_column(row, job->name, text);
        }
    }
    if (value->kind == EXPR_TIME &&
        (job->column == INTAKE_POD_GPUS || !orr_native_is_instant(job->column))) {
        return fail_column(row, job->name, "it is a time, and no time belongs here");
    }
    if (job->column == INTAKE_POD_GPUS) {
        good = give_pod_gpus(row, value, native, why);
        if (!good && why[0] == '\0') {
            return false;
        }
    } else if (value->kind == EXPR_TIME) {
        good = orr_native_instant(native, job->column, value->at, true, why);
    } else if (orr_native_is_text(job->column)) {
        char text[64];
        if (value->kind == EXPR_NUMBER) {
            const int bytes = value->den == 1
                                  ? snprintf(text, sizeof text, "%lld", (long long)value->num)
                                  : snprintf(text, sizeof text, "%lld/%lld", (long long)value->num,
                                             (long long)value->den);
            value->text = (struct orr_cell){orr_arena_strndup(row->scratch, text, (size_t)bytes),
                                            (size_t)bytes};
        }
        good = orr_native_text(native, job->column, value->text, why);
    } else if (job->column == orr_native_column("gpus") && value->num == 0) {
        good = orr_native_number(native, orr_native_column("gpus_per_pod"), 0, 1, why);
    } else if (job->column == orr_native_column("gpus") && value->num > 0 &&
               value->num < value->den) {
        (void)snprintf(why, sizeof why, "%.3g is a part of one GPU: say it as pod_gpus",
                       (double)value->num / (double)value->den);
        good = false;
    } else {
        good = orr_native_number(native, job->column, value->num, value->den, why);
    }
    return good || fail_column(row, job->name, why);
}

/* Fills a native row from the cells of one row of the table; false: row->reason, row->why. */
static bool fill_row(const struct intake_map *map, struct expr_row *row,
                     struct orr_native_row *native)
{
    orr_native_clear(native);
    for (uint32_t j = 0; j < map->job_count; j++) {
        const struct intake_job_column *job = &map->jobs[j];
        struct expr_value value;
        if (!expr_eval(job->expr, row, &value)) {
            return false;
        }
        if (job->rule_count > 0 && !apply_rules(job, row, &value)) {
            return false;
        }
        if (value.kind != EXPR_NOTHING && !give_value(job, row, &value, native)) {
            return false;
        }
    }
    return true;
}

/* --- all rows -------------------------------------------------------------------------------- */

struct reading {
    const struct intake_map *map;
    struct orr_intake_report *report;
    FILE *out;
    struct orr_arena scratch;
    struct orr_native_row *native;
    struct orr_idmap jobs;
    uint64_t columns;
    bool has_job, any;
    struct intake_pools pools; /* of a table of nodes */
    /* series */
    double *sums; /* step by step, sum_count each */
    uint64_t steps, step_capacity;
    orr_ms first_ms;
};

static bool is_dropped(struct reading *reading, struct expr_row *row, uint32_t line)
{
    for (uint32_t d = 0; d < reading->map->drop_count; d++) {
        const struct intake_drop_rule *drop = &reading->map->drops[d];
        bool holds;
        if (!expr_holds(drop->when, row, &holds)) {
            orr_intake_drop(reading->report, false, row->reason, line, row->why);
            return true;
        }
        if (holds) {
            orr_intake_drop(reading->report, true, drop->because, line, drop->because);
            return true;
        }
    }
    return false;
}

/* Files without names of jobs get them by number. */
static bool name_job(struct reading *reading, uint32_t line)
{
    char text[40], why[ORR_NATIVE_WHY];
    if (!reading->has_job) {
        const int bytes =
            snprintf(text, sizeof text, "r%llu", (unsigned long long)reading->report->rows);
        return orr_native_text(
            reading->native, orr_native_column("job"),
            (struct orr_cell){orr_arena_strndup(&reading->scratch, text, (size_t)bytes),
                              (size_t)bytes},
            why);
    }
    (void)line;
    return true;
}

static void take_job(struct reading *reading, struct expr_row *row, uint32_t line)
{
    struct orr_intake_report *report = reading->report;
    if (!fill_row(reading->map, row, reading->native) || !name_job(reading, line)) {
        orr_intake_drop(report, false, row->reason, line, row->why);
        return;
    }
    const char *fault = orr_native_fault(reading->native);
    if (fault != NULL) {
        orr_intake_drop(report, false, fault, line, fault);
        return;
    }
    if (reading->has_job) {
        bool added;
        const struct orr_cell job = orr_native_job(reading->native);
        (void)orr_idmap_put(&reading->jobs, job.at, job.bytes, &added);
        if (!added) {
            char why[120];
            (void)snprintf(why, sizeof why, "job \"%s\" is in an earlier row", expr_show(job).text);
            orr_intake_drop(report, false, "the name of the job is in an earlier row", line, why);
            return;
        }
    }
    const bool dated = orr_native_is_dated(reading->native);
    if (reading->any && dated != report->is_dated) {
        orr_intake_drop(report, false, "times are dates in some rows and seconds in others", line,
                        "times are dates in some rows and seconds in others");
        return;
    }
    reading->any = true;
    report->is_dated = dated;
    struct orr_job_fact fact;
    orr_native_fact(reading->native, &fact);
    orr_stat_add(&report->stat, &fact, line);
    report->kept++;
    if (reading->out != NULL) {
        orr_native_write_row(reading->out, reading->columns, reading->native, NULL);
    }
}

static double real_of(const struct expr_value *value)
{
    return value->kind == EXPR_NUMBER ? (double)value->num / (double)value->den : 0.0;
}

static bool eval_instant(const struct intake_map *map, struct expr_row *row, orr_ms *at,
                         bool *dated)
{
    struct expr_value value;
    int64_t num, den;
    if (!expr_eval(map->series_time, row, &value)) {
        return false;
    }
    *dated = value.kind == EXPR_TIME;
    if (value.kind == EXPR_TIME) {
        *at = value.at;
        return true;
    }
    num = value.num;
    den = value.den;
    if (value.kind == EXPR_NOTHING ||
        (value.kind == EXPR_TEXT && !expr_number(value.text, &num, &den)) ||
        num > INT64_MAX / 1000 || num < -(INT64_MAX / 1000)) {
        return expr_fail(row, "the time of the row is none", "the time of the row is none");
    }
    *at = num * 1000 / den;
    return true;
}

/* What each sum of the map adds for the row; false: row->reason, row->why. */
static bool eval_sums(const struct intake_map *map, struct expr_row *row, double *sums)
{
    for (uint32_t s = 0; s < map->sum_count; s++) {
        struct expr_value value;
        if (!expr_eval(map->sums[s], row, &value) ||
            (value.kind == EXPR_TEXT && !expr_number(value.text, &value.num, &value.den) &&
             !expr_fail(row, "a sum is not a number", "%s: \"%s\" is not a number",
                        map->sum_names[s], expr_show(value.text).text))) {
            return false;
        }
        value.kind = value.kind == EXPR_TEXT ? EXPR_NUMBER : value.kind;
        sums[s] = real_of(&value);
    }
    return true;
}

/* Sums of all steps up to this one are there, 0 at first. */
static void make_steps(struct reading *reading, uint64_t step)
{
    const uint32_t sums = reading->map->sum_count;
    if (step < reading->steps) {
        return;
    }
    if (step >= reading->step_capacity) {
        reading->step_capacity = orr_grow(reading->step_capacity, step + 1);
        reading->sums =
            orr_realloc(reading->sums, reading->step_capacity * sums, sizeof *reading->sums);
    }
    memset(reading->sums + reading->steps * sums, 0,
           (step + 1 - reading->steps) * sums * sizeof *reading->sums);
    reading->steps = step + 1;
}

static void take_request(struct reading *reading, struct expr_row *row, uint32_t line)
{
    const struct intake_map *map = reading->map;
    struct orr_intake_report *report = reading->report;
    orr_ms at = 0;
    bool dated;
    double sums[8];
    if (!eval_instant(map, row, &at, &dated)) {
        orr_intake_drop(report, false, row->reason, line, row->why);
        return;
    }
    if (!reading->any) {
        reading->any = true;
        reading->first_ms = at;
        report->is_dated = dated;
    }
    const uint64_t step = at < reading->first_ms
                              ? STEPS_MAX
                              : (uint64_t)(at - reading->first_ms) / (uint64_t)map->step_ms;
    if (step >= STEPS_MAX || dated != report->is_dated) {
        orr_intake_drop(report, false, "the time is before the first row's, or far behind it", line,
                        "the time is before the first row's, or far behind it");
        return;
    }
    if (!eval_sums(map, row, sums)) {
        orr_intake_drop(report, false, row->reason, line, row->why);
        return;
    }
    make_steps(reading, step);
    for (uint32_t s = 0; s < map->sum_count; s++) {
        reading->sums[step * map->sum_count + s] += sums[s];
        report->sums[s] += sums[s];
    }
    report->last_ms = report->kept == 0 || at > report->last_ms ? at : report->last_ms;
    report->kept++;
}

/* --- a row is a node --- */

/* A whole number from 0 to `most`; 0 where the map or the row says nothing. */
static bool whole(struct reading *reading, struct expr_row *row, enum intake_node_column column,
                  int64_t most, int64_t *out)
{
    const struct expr *expr = reading->map->nodes[column];
    struct expr_value value = {0};
    *out = 0;
    if (expr == NULL) {
        return true;
    }
    if (!expr_eval(expr, row, &value)) {
        return false;
    }
    if (value.kind == EXPR_TEXT && expr_number(value.text, &value.num, &value.den)) {
        value.kind = EXPR_NUMBER;
    }
    *out = value.kind == EXPR_NUMBER ? value.num : 0;
    if (value.kind == EXPR_NOTHING ||
        (value.kind == EXPR_NUMBER && value.den == 1 && *out >= 0 && *out <= most)) {
        return true;
    }
    char reason[80];
    (void)snprintf(reason, sizeof reason, "%s is no whole number from 0 to %lld",
                   intake_node_columns[column], (long long)most);
    return expr_fail(row, reason, "%s", reason);
}

static bool text_of(struct reading *reading, struct expr_row *row, enum intake_node_column column,
                    struct orr_cell *out)
{
    const struct expr *expr = reading->map->nodes[column];
    struct expr_value value = {0};
    char number[24];
    *out = (struct orr_cell){"", 0};
    if (expr == NULL) {
        return true;
    }
    if (!expr_eval(expr, row, &value)) {
        return false;
    }
    if (value.kind == EXPR_NUMBER && value.den == 1) {
        const int bytes = snprintf(number, sizeof number, "%lld", (long long)value.num);
        *out = (struct orr_cell){orr_arena_strndup(row->scratch, number, (size_t)bytes),
                                 (size_t)bytes};
    } else if (value.kind == EXPR_TEXT) {
        *out = value.text;
    }
    return true;
}

static void take_node(struct reading *reading, struct expr_row *row, uint32_t line)
{
    struct orr_intake_report *report = reading->report;
    struct intake_pool node = {.nodes = 1};
    struct orr_cell model, name;
    bool added = true;
    if (!whole(reading, row, INTAKE_NODE_GPUS, NODE_GPUS_MOST, &node.gpus) ||
        !whole(reading, row, INTAKE_NODE_CPU, INT64_MAX / 4096, &node.cpu_milli) ||
        !whole(reading, row, INTAKE_NODE_MEM, INT64_MAX / 4096, &node.mem_mib) ||
        !text_of(reading, row, INTAKE_NODE_MODEL, &model) ||
        !text_of(reading, row, INTAKE_NODE_NAME, &name)) {
        orr_intake_drop(report, false, row->reason, line, row->why);
        return;
    }
    if (name.bytes > 0) {
        (void)orr_idmap_put(&reading->jobs, name.at, name.bytes, &added);
    }
    if (!added) {
        orr_intake_drop(report, false, "the name of the node is in an earlier row", line,
                        "the name of the node is in an earlier row");
        return;
    }
    if (node.gpus > 0) {
        intake_copy_name(node.model, model);
    }
    intake_pools_add(&reading->pools, &node,
                     name.bytes > 0 ? orr_arena_strndup(&report->arena, name.at, name.bytes)
                                    : NULL);
    report->kept++;
}

static void write_nodes(struct reading *reading)
{
    struct orr_intake_report *report = reading->report;
    report->is_nodes = true;
    report->nodes = intake_pools_nodes(&reading->pools);
    report->gpus = intake_pools_gpus(&reading->pools);
    report->pools = reading->pools.count;
    if (reading->out != NULL) {
        (void)fprintf(reading->out, "apiVersion: orrery/v1alpha1\nkind: Scenario\n");
        intake_pools_put(&reading->pools, reading->out);
        (void)fprintf(reading->out,
                      "workload: [{name: jobs, trace: jobs.csv}]  # the jobs, beside this file\n"
                      "policy: {name: fifo, params: {backfill: true}}  # `orrery policies` lists "
                      "all\n");
    }
}

static void on_row(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct reading *reading = context;
    struct expr_row row = {.table = &reading->map->columns,
                           .cells = cells,
                           .scratch = &reading->scratch,
                           .number = ++reading->report->rows};
    if (!is_dropped(reading, &row, line)) {
        reading->map->step_ms > 0 ? take_request(reading, &row, line)
        : reading->map->is_nodes  ? take_node(reading, &row, line)
                                  : take_job(reading, &row, line);
    }
    orr_arena_reset(&reading->scratch);
}

static void on_bad(void *context, uint32_t line, const char *why)
{
    struct reading *reading = context;
    reading->report->rows++;
    orr_intake_drop(reading->report, false, "the row is none of this table", line, why);
}

/* The last step is left out unless it is whole, which nobody knows. */
static void write_series(struct reading *reading)
{
    const struct intake_map *map = reading->map;
    struct orr_intake_report *report = reading->report;
    report->steps = reading->steps > 0 ? reading->steps - 1 : 0;
    report->first_ms = reading->first_ms;
    for (uint64_t i = 0; i < report->steps; i++) {
        char text[32];
        (void)orr_format_seconds(text, (orr_ms)i * map->step_ms);
        if (reading->out != NULL) {
            (void)fputs(text, reading->out);
        }
        for (uint32_t s = 0; s < map->sum_count; s++) {
            const double sum = reading->sums[i * map->sum_count + s];
            report->most[s] = sum > report->most[s] ? sum : report->most[s];
            if (reading->out != NULL) {
                (void)fprintf(reading->out, ",%.15g", sum);
            }
        }
        if (reading->out != NULL) {
            (void)putc('\n', reading->out);
        }
    }
}

static void write_header(struct reading *reading)
{
    const struct intake_map *map = reading->map;
    if (map->step_ms > 0) {
        for (uint32_t s = 0; s < map->sum_count; s++) {
            reading->report->columns[s] = orr_arena_strndup(
                &reading->report->arena, map->sum_names[s], strlen(map->sum_names[s]));
            if (reading->out != NULL) {
                (void)fprintf(reading->out, "%s%s", s == 0 ? "time_s," : ",", map->sum_names[s]);
            }
        }
        if (reading->out != NULL) {
            (void)putc('\n', reading->out);
        }
        reading->report->is_series = true;
        reading->report->column_count = map->sum_count;
        reading->report->step_ms = map->step_ms;
        return;
    }
    if (map->is_nodes) {
        return;
    }
    reading->columns = (uint64_t)1 << orr_native_column("job");
    for (uint32_t j = 0; j < map->job_count; j++) {
        const uint32_t column = map->jobs[j].column;
        if (column == INTAKE_POD_GPUS) {
            reading->columns |= (uint64_t)1 << orr_native_column("gpus_per_pod");
            reading->columns |= (uint64_t)1 << orr_native_column("gpu_fraction");
            continue;
        }
        reading->has_job = reading->has_job || column == orr_native_column("job");
        reading->columns |= (uint64_t)1 << column;
        if (column == orr_native_column("gpus")) { /* 0 of them is said by pod */
            reading->columns |= (uint64_t)1 << orr_native_column("gpus_per_pod");
        }
    }
    if (reading->out != NULL) {
        orr_native_write_header(reading->out, reading->columns, NULL);
    }
}

static enum orr_status read_rows(struct orr_records *records, const struct intake_map *map,
                                 FILE *out, struct orr_intake_report *report, struct orr_err *err)
{
    struct reading reading = {.map = map, .report = report, .out = out};
    const struct orr_records_sink sink = {.context = &reading, .row = on_row, .bad = on_bad};
    orr_arena_init(&reading.scratch);
    orr_idmap_init(&reading.jobs);
    reading.native = orr_native_row_new();
    write_header(&reading);
    const enum orr_status status =
        orr_records_read(records, map->columns.used, map->columns.used_count, &sink, err);
    if (status == ORR_OK && map->step_ms > 0) {
        write_series(&reading);
    }
    if (status == ORR_OK && map->is_nodes) {
        write_nodes(&reading);
    }
    intake_pools_release(&reading.pools);
    orr_native_row_free(reading.native);
    orr_idmap_release(&reading.jobs);
    orr_arena_release(&reading.scratch);
    orr_free(reading.sums);
    if (status == ORR_OK) {
        memcpy(report->sha256, orr_records_sha256(records), sizeof report->sha256);
    }
    return status;
}

/* A submit that is the start by another name says nothing of waits. */
static void note_no_waits(struct orr_intake_report *report)
{
    if (report->stat.waits.count > 1 && report->stat.waits.most == 0) {
        orr_intake_note(report, "all recorded waits are 0: submit_s says the same as "
                                "recorded_start_s, so how long jobs waited is not known");
    }
}

/* `text`: instead of the file; at NULL: read it. */
static enum orr_status read_table(const char *path, struct orr_cell text,
                                  const struct orr_intake_options *options, FILE *out,
                                  struct orr_intake_report *report, struct orr_err *err)
{
    struct intake_map *map = orr_zalloc(1, sizeof *map);
    struct intake_file *file;
    struct orr_records *records = NULL;
    orr_intake_report_init(report, path);
    enum orr_status status = intake_map_read(&report->arena, options, &file, map, err);
    if (status == ORR_OK) {
        map->table.delimiter =
            options->delimiter != NULL ? options->delimiter : map->table.delimiter;
        status = text.at == NULL ? orr_records_open(path, &map->table, &records, err)
                                 : orr_records_open_memory(path, text.at, text.bytes, &map->table,
                                                           &records, err);
    }
    if (status == ORR_OK) {
        report->about = map->about;
        status = intake_map_bind(file, path, records, options, map, err);
    }
    if (status == ORR_OK) {
        status = read_rows(records, map, out, report, err);
        note_no_waits(report);
    }
    orr_records_close(records);
    orr_free(map);
    return status;
}

enum orr_status orr_intake_table(const char *path, const struct orr_intake_options *options,
                                 FILE *out, struct orr_intake_report *report, struct orr_err *err)
{
    return read_table(path, (struct orr_cell){NULL, 0}, options, out, report, err);
}

enum orr_status intake_table_text(const char *name, struct orr_cell text,
                                  const struct orr_intake_options *options, FILE *out,
                                  struct orr_intake_report *report, struct orr_err *err)
{
    return read_table(name, text, options, out, report, err);
}
