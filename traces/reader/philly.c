/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Philly trace as CSV: wall-clock submit times without a zone, no users, jobs without names.
 * A job is named after its place in the file: p1 is the first data row, whether or not rows before
 * it were rejected. */
#include "reader_int.h"

#include <string.h>

#include <orrery/base/text.h>

#define DAY_MS ((orr_ms)86400000)

enum { TIMESTAMP, DURATION, NUM_GPUS, GPU_TIME, CLUSTER, COLUMN_COUNT };

static const char *const columns[COLUMN_COUNT] = {
    [TIMESTAMP] = "timestamp", [DURATION] = "duration", [NUM_GPUS] = "num_gpus",
    [GPU_TIME] = "gpu_time",   [CLUSTER] = "cluster",
};

static const struct orr_number duration = {"duration", 1000, 0, ORR_DURATION_MAX_MS};
static const struct orr_number num_gpus = {"num_gpus", 1, 1, ORR_COUNT_MAX};

struct philly {
    struct orr_reader *reader;
    struct orr_last_name last_queue;
    char day[10]; /* the date of day_ms, as text */
    orr_ms day_ms;
    char name[24]; /* "p123", right-aligned; counted on as text */
    size_t name_at;
};

static inline bool two_digits(const char *text, unsigned limit, unsigned *out)
{
    unsigned tens = (unsigned char)text[0] - (unsigned)'0';
    unsigned ones = (unsigned char)text[1] - (unsigned)'0';
    *out = tens * 10 + ones;
    return tens < 10 && ones < 10 && *out < limit;
}

/* Many rows share a day, so its date is worked out once. */
static bool parse_timestamp(struct philly *philly, struct orr_text text, orr_ms *out)
{
    unsigned hour, minute, second;
    if (text.bytes == 19 && memcmp(text.at, philly->day, sizeof philly->day) == 0 &&
        text.at[10] == ' ' && text.at[13] == ':' && text.at[16] == ':' &&
        two_digits(text.at + 11, 24, &hour) && two_digits(text.at + 14, 60, &minute) &&
        two_digits(text.at + 17, 60, &second)) {
        *out = philly->day_ms + (orr_ms)((hour * 60 + minute) * 60 + second) * 1000;
        return true;
    }
    if (!orr_parse_timestamp(text.at, text.bytes, out)) {
        return false;
    }
    if (text.bytes == 19) { /* a fraction could have rounded up into the next day */
        memcpy(philly->day, text.at, sizeof philly->day);
        philly->day_ms = *out - (*out % DAY_MS + DAY_MS) % DAY_MS;
    }
    return true;
}

static bool read_timestamp(struct philly *philly, uint32_t line, struct orr_text text, orr_ms *out)
{
    const bool is_time = parse_timestamp(philly, text, out);
    if (is_time && philly->reader->zone != NULL && !orr_date_has_zone(text)) {
        *out = orr_zone_utc(philly->reader->zone, *out);
    }
    if (is_time && *out >= 0 && *out <= ORR_DATE_MAX_MS) {
        return true;
    }
    orr_workload_reject(philly->reader->workload, philly->reader->file, line,
                        "column timestamp: \"%s\" is %s", orr_text_show(text).text,
                        is_time ? "out of range" : "not a time like 2017-10-09 07:01:55");
    return false;
}

static struct orr_text next_name(struct philly *philly)
{
    size_t end = sizeof philly->name;
    size_t i = end - 1;
    while (philly->name[i] == '9') {
        philly->name[i--] = '0';
    }
    if (philly->name[i] == 'p') {
        philly->name[i] = '1';
        philly->name[--philly->name_at] = 'p';
    } else {
        philly->name[i]++;
    }
    return (struct orr_text){philly->name + philly->name_at, end - philly->name_at};
}

static void read_row(void *context, const struct orr_text *fields, uint32_t line)
{
    struct philly *philly = context;
    struct orr_reader *reader = philly->reader;
    struct orr_workload *workload = reader->workload;
    struct orr_text name = next_name(philly);
    orr_ms submit;
    int64_t run, gpus;
    if (!read_timestamp(philly, line, fields[TIMESTAMP], &submit) ||
        !orr_field_number(reader, line, &duration, fields[DURATION], &run) ||
        !orr_field_number(reader, line, &num_gpus, fields[NUM_GPUS], &gpus) ||
        !orr_field_text(reader, line, "cluster", fields[CLUSTER])) {
        return;
    }
    struct orr_row *row = orr_workload_push(workload);
    row->submit_ms = submit;
    row->run_ms = run;
    row->gpus = (uint32_t)gpus;
    row->job = orr_idmap_put(&workload->jobs, name.at, name.bytes, NULL);
    row->queue = orr_name_index(&workload->queues, &philly->last_queue, fields[CLUSTER]);
    row->line = line;
    row->kind = ORR_KIND_TRAINING;
}

bool orr_philly_is_header(struct orr_text line)
{
    return orr_csv_line_has(line, columns[TIMESTAMP]) && orr_csv_line_has(line, columns[NUM_GPUS]);
}

enum orr_status orr_philly_read(struct orr_reader *reader)
{
    static const struct orr_csv_format format = {
        .name = "philly",
        .columns = columns,
        .column_count = COLUMN_COUNT,
        .required = 1u << TIMESTAMP | 1u << DURATION | 1u << NUM_GPUS | 1u << CLUSTER,
        .ignored = 1u << GPU_TIME, /* it is duration times GPUs */
        .row = read_row,
    };
    struct philly philly = {.reader = reader, .name_at = sizeof philly.name - 2};
    philly.name[philly.name_at] = 'p';
    philly.name[philly.name_at + 1] = '0';
    enum orr_status status = orr_csv_read(reader, &format, &philly);
    if (status == ORR_OK) {
        orr_reader_start_clock(reader->workload);
    }
    return status;
}
