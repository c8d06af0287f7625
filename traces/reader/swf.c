/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard Workload Format: lines of 18 numbers, -1 for not known; `;` starts a comment. Clocks are
 * kept: time 0 is the log's own. A processor is taken for a GPU. */
#include "reader_int.h"

#include <inttypes.h>
#include <string.h>

#include <orrery/base/text.h>

#define FIELD_COUNT    18
#define LINE_BYTES_MAX ((size_t)64 * 1024)
#define QUEUES_MAX     1000 /* names that are looked at */

/* fields, counted from 0 */
enum {
    JOB = 0,
    SUBMIT = 1,
    WAIT = 2,
    RUN = 3,
    ALLOCATED = 4,
    REQUESTED = 7,
    TIME_REQUESTED = 8,
    STATUS = 10,
    USER = 11,
    GROUP = 12,
    QUEUE = 14,
    PARTITION = 15,
    PRECEDING = 16,
    THINK = 17
};

enum { CANCELLED = 5 }; /* a status */

static const struct orr_number job_number = {"job number", 1, 0, INT64_MAX};
static const struct orr_number submit_time = {"submit time", 1000, 0, ORR_INSTANT_MAX_MS};
static const struct orr_number wait_time = {"wait time", 1000, -ORR_INSTANT_MAX_MS,
                                            ORR_INSTANT_MAX_MS};
static const struct orr_number run_time = {"run time", 1000, 0, ORR_DURATION_MAX_MS};
static const struct orr_number allocated = {"allocated processors", 1, -1, ORR_COUNT_MAX};
static const struct orr_number requested = {"requested processors", 1, 1, ORR_COUNT_MAX};
static const struct orr_number time_requested = {"requested time", 1000, -1000,
                                                 ORR_DURATION_MAX_MS};
static const struct orr_number status_code = {"status", 1, -1, INT32_MAX};
static const struct orr_number user_number = {"user", 1, -1, INT64_MAX};
static const struct orr_number queue_number = {"queue", 1, -1, INT64_MAX};
static const struct orr_number group_number = {"group", 1, -1, INT64_MAX};
static const struct orr_number partition_number = {"partition", 1, -1, INT64_MAX};

struct swf_queue { /* as "; Queue: 3 normal" names it, or "; Partition: 1 batch" */
    int64_t number;
    const char *name;
    bool partition;
};

struct swf {
    struct orr_reader *reader;
    struct orr_last_name last_user, last_queue;
    struct swf_queue *queues;
    uint32_t queue_count, queue_capacity;
    uint64_t cancelled;     /* before they ran: left out */
    uint64_t preceded;      /* rows that name the job before them */
    uint64_t longer;        /* rows with more than 18 fields */
    uint64_t no_processors; /* rows that state none: left out */
    int64_t *partitions;    /* of the rows taken, as long as none of them names a queue */
    uint32_t partition_capacity;
    bool has_queue;
    char *carry; /* the start of a line that the last block cut */
    size_t carry_bytes;
};

/* What one line says; times in ms, -1 or less when not known. */
struct swf_job {
    int64_t job, submit, wait, run, processors, limit, status, user, queue, group, partition;
    int64_t preceding, think;
};

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Splits at blanks; returns the number of fields, counting on past FIELD_COUNT. */
static uint32_t split(struct orr_text line, struct orr_text *fields)
{
    uint32_t count = 0;
    const char *at = line.at;
    const char *end = line.at + line.bytes;
    for (;;) {
        while (at < end && is_blank(*at)) {
            at++;
        }
        if (at == end) {
            return count;
        }
        const char *start = at;
        while (at < end && !is_blank(*at)) {
            at++;
        }
        if (count < FIELD_COUNT) {
            fields[count] = (struct orr_text){start, (size_t)(at - start)};
        }
        count++;
    }
}

static bool parse_fields(struct orr_reader *reader, uint32_t line, const struct orr_text *fields,
                         struct swf_job *job)
{
    int64_t got;
    if (!orr_field_text(reader, line, "job number", fields[JOB]) ||
        !orr_field_number(reader, line, &job_number, fields[JOB], &job->job) ||
        !orr_field_number(reader, line, &submit_time, fields[SUBMIT], &job->submit) ||
        !orr_field_number(reader, line, &wait_time, fields[WAIT], &job->wait) ||
        !orr_field_number(reader, line, &run_time, fields[RUN], &job->run) ||
        !orr_field_number(reader, line, &allocated, fields[ALLOCATED], &got) ||
        !orr_field_number(reader, line, &time_requested, fields[TIME_REQUESTED], &job->limit) ||
        !orr_field_number(reader, line, &status_code, fields[STATUS], &job->status) ||
        !orr_field_number(reader, line, &user_number, fields[USER], &job->user) ||
        !orr_field_number(reader, line, &queue_number, fields[QUEUE], &job->queue) ||
        !orr_field_number(reader, line, &group_number, fields[GROUP], &job->group) ||
        !orr_field_number(reader, line, &partition_number, fields[PARTITION], &job->partition)) {
        return false;
    }
    /* what is written there in many logs is no number, and says nothing */
    job->preceding = job->think = -1;
    (void)orr_parse_i64(fields[PRECEDING].at, fields[PRECEDING].bytes, &job->preceding);
    (void)orr_parse_seconds(fields[THINK].at, fields[THINK].bytes, &job->think);
    job->processors = got;
    return got > 0 ||
           orr_field_number(reader, line, &requested, fields[REQUESTED], &job->processors);
}

/* Index of "u12" or "q15". */
static uint32_t numbered_name(struct orr_idmap *map, struct orr_last_name *last, char letter,
                              int64_t number)
{
    char text[24];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    text[--at] = letter;
    return orr_name_index(map, last, (struct orr_text){text + at, sizeof text - at});
}

/* The name that the header gives a queue or partition; NULL: none. */
static const char *name_of(const struct swf *swf, int64_t queue, bool partition)
{
    for (uint32_t q = 0; q < swf->queue_count; q++) {
        if (swf->queues[q].number == queue && swf->queues[q].partition == partition) {
            return swf->queues[q].name;
        }
    }
    return NULL;
}

/* A queue of the run for a number of the file's: by the name that its header states, else by a
 * letter and the number. Queue or partition 0 without a name, and -1, are none. */
static uint32_t queue_named(struct swf *swf, int64_t number, bool partition)
{
    struct orr_idmap *queues = &swf->reader->workload->queues;
    const char *name = number >= 0 ? name_of(swf, number, partition) : NULL;
    if (name != NULL) {
        return orr_name_index(queues, &swf->last_queue, (struct orr_text){name, strlen(name)});
    }
    return number > 0 ? numbered_name(queues, &swf->last_queue, partition ? 'p' : 'q', number)
                      : ORR_NONE;
}

/* By what the options take for the queue. */
static uint32_t queue_of_job(struct swf *swf, const struct swf_job *job)
{
    switch (swf->reader->options->swf_queue) {
    case ORR_SWF_PARTITION: return queue_named(swf, job->partition, true);
    case ORR_SWF_GROUP:
        return job->group < 0 ? ORR_NONE
                              : numbered_name(&swf->reader->workload->queues, &swf->last_queue, 'g',
                                              job->group);
    case ORR_SWF_QUEUE: break;
    }
    return queue_named(swf, job->queue, false);
}

/* A log that names no queue is divided by its partitions, where it has any. */
static void remember_partition(struct swf *swf, const struct orr_row *row, int64_t partition)
{
    const uint32_t index = swf->reader->workload->count - 1;
    if (row->queue != ORR_NONE || swf->has_queue) {
        swf->has_queue = true;
        return;
    }
    swf->partitions = ORR_ROOM_FOR_ONE(swf->partitions, index, swf->partition_capacity);
    swf->partitions[index] = partition;
}

static void take_partitions(struct swf *swf)
{
    struct orr_workload *workload = swf->reader->workload;
    bool any = false;
    for (uint32_t r = 0; swf->partitions != NULL && !swf->has_queue && r < workload->count; r++) {
        workload->rows[r].queue = queue_named(swf, swf->partitions[r], true);
        any = any || workload->rows[r].queue != ORR_NONE;
    }
    if (any) {
        orr_workload_note(workload, swf->reader->file,
                          "no row names a queue: partitions are taken for queues");
    }
}

/* What really happened, where the log says it. */
static void add_truth(struct orr_workload *workload, struct orr_row *row, const struct swf_job *job)
{
    static const char *const states[] = {"failed",  "completed", "partial",
                                         "partial", "partial",   "cancelled"};
    bool has_start = job->wait >= 0 && job->submit + job->wait + job->run <= ORR_INSTANT_MAX_MS;
    bool has_state = job->status >= 0 && job->status < 6;
    if (!has_start && !has_state) {
        return;
    }
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    if (has_start) {
        extra->recorded_start_ms = job->submit + job->wait;
        extra->recorded_end_ms = job->submit + job->wait + job->run;
    }
    if (has_state) {
        extra->recorded_state = states[job->status];
    }
}

/* "Cannot start before the termination of this preceding job", and then its user thinks. */
static void remember_preceding(struct swf *swf, struct orr_row *row, const struct swf_job *job)
{
    char name[24];
    if (job->preceding <= 0) {
        return;
    }
    struct orr_workload *workload = swf->reader->workload;
    struct orr_row_extra *extra = orr_workload_extra(workload, row);
    const int bytes = snprintf(name, sizeof name, "%" PRId64, job->preceding);
    extra->after = orr_arena_strndup(&workload->arena, name, (size_t)bytes);
    extra->think_ms =
        job->think >= 0 && job->think <= ORR_DURATION_MAX_MS ? job->think : ORR_MS_NONE;
    swf->preceded++;
}

static void add_job(struct swf *swf, uint32_t line, struct orr_text name, const struct swf_job *job)
{
    struct orr_reader *reader = swf->reader;
    struct orr_workload *workload = reader->workload;
    bool added;
    uint32_t index = orr_idmap_put(&workload->jobs, name.at, name.bytes, &added);
    if (!added) { /* rows are in file order still, one for every name */
        orr_workload_reject(workload, reader->file, line, "job number %s is on line %u already",
                            orr_text_show(name).text, (unsigned)workload->rows[index].line);
        return;
    }
    struct orr_row *row = orr_workload_push(workload);
    row->submit_ms = job->submit;
    row->run_ms = job->run;
    if (job->limit > 0) {
        row->time_limit_ms = job->limit;
        if (reader->options->kill_at_limit && job->limit < job->run) {
            row->run_ms = job->limit;
        }
    }
    row->job = index;
    row->gpus = (uint32_t)job->processors;
    row->line = line;
    if (job->user >= 0) {
        row->user = numbered_name(&workload->users, &swf->last_user, 'u', job->user);
    }
    row->queue = queue_of_job(swf, job);
    if (reader->options->swf_queue == ORR_SWF_QUEUE) {
        remember_partition(swf, row, job->partition);
    }
    remember_preceding(swf, row, job);
    add_truth(workload, row, job);
}

/* Of jobs that are not in the log, or no row of it that was taken, nobody knows when they ended. */
static void check_preceding(struct swf *swf)
{
    struct orr_workload *workload = swf->reader->workload;
    uint64_t unknown = 0;
    for (uint32_t r = 0; swf->preceded > 0 && r < workload->count; r++) {
        const uint32_t at = workload->rows[r].extra;
        struct orr_row_extra *extra = at > 0 ? &workload->extras[at - 1] : NULL;
        if (extra == NULL || extra->after == NULL) {
            continue;
        }
        const uint32_t before = orr_idmap_find(&workload->jobs, extra->after, strlen(extra->after));
        if (before == ORR_NONE || before >= workload->rows[r].job) {
            extra->after = NULL;
            extra->think_ms = ORR_MS_NONE;
            unknown++;
        }
    }
    if (swf->preceded > unknown) {
        orr_workload_note(
            workload, swf->reader->file,
            "jobs that wait for the end of the preceding one, and the think time after "
            "it (fields 17, 18): %llu",
            (unsigned long long)(swf->preceded - unknown));
    }
    if (unknown > 0) {
        orr_workload_note(workload, swf->reader->file,
                          "preceding jobs (field 17) that stand in no line before are passed over: "
                          "%llu",
                          (unsigned long long)unknown);
    }
}

/* A word, of letters, digits, - and _, that no other queue of the header has, nor could have by its
 * number: what is no such name (archives write "[fque:1]" of one they do not tell) says nothing. */
static void name_queue(struct swf *swf, int64_t number, struct orr_text name, bool partition)
{
    bool numbered = (name.at[0] == 'q' || name.at[0] == 'p') && name.bytes > 1;
    for (size_t i = 0; i < name.bytes; i++) {
        const char c = name.at[i];
        const bool digit = c >= '0' && c <= '9';
        numbered = numbered && (digit || i == 0);
        if (!digit && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_') {
            return;
        }
    }
    for (uint32_t q = 0; q < swf->queue_count; q++) {
        if (swf->queues[q].partition == partition &&
            (swf->queues[q].number == number || orr_text_is(name, swf->queues[q].name))) {
            return;
        }
    }
    if (numbered || name.bytes > ORR_NAME_MAX || swf->queue_count == QUEUES_MAX) {
        return;
    }
    swf->queues = ORR_ROOM_FOR_ONE(swf->queues, swf->queue_count, swf->queue_capacity);
    swf->queues[swf->queue_count++] = (struct swf_queue){
        number, orr_arena_strndup(&swf->reader->workload->arena, name.at, name.bytes), partition};
}

/* "; UnixStartTime: 1027839845" says when time 0 was, "; Queue: 3 normal" and
 * "; Partition: 1 batch" what they are called. */
static void read_comment(struct swf *swf, struct orr_text line)
{
    line.at++;
    line.bytes--;
    struct orr_text fields[FIELD_COUNT];
    int64_t number;
    const uint32_t count = split(line, fields);
    if (count < 2 || !orr_parse_i64(fields[1].at, fields[1].bytes, &number)) {
        return;
    }
    if (orr_text_is(fields[0], "UnixStartTime:") && number > 0 &&
        number < ORR_INSTANT_MAX_MS / 1000) {
        swf->reader->workload->clock_origin_ms = number * 1000;
    } else if (number > 0 &&
               (orr_text_is(fields[0], "MaxProcs:") ||
                (orr_text_is(fields[0], "MaxNodes:") && swf->reader->workload->stated_gpus == 0))) {
        swf->reader->workload->stated_gpus = number; /* a log without processors states nodes */
    } else if (count > 2 && orr_text_is(fields[0], "Queue:") && number >= 0) {
        name_queue(swf, number, fields[2], false);
    } else if (count > 2 && orr_text_is(fields[0], "Partition:") && number >= 0) {
        name_queue(swf, number, fields[2], true);
    }
}

/* Did it leave the queue before it ran? Then there is nothing to replay, and nothing is wrong. */
static bool never_ran(const struct orr_text *fields)
{
    int64_t status, run, processors;
    return orr_parse_i64(fields[STATUS].at, fields[STATUS].bytes, &status) && status == CANCELLED &&
           ((orr_parse_i64(fields[RUN].at, fields[RUN].bytes, &run) && run == -1) ||
            (orr_parse_i64(fields[ALLOCATED].at, fields[ALLOCATED].bytes, &processors) &&
             processors <= 0 &&
             orr_parse_i64(fields[REQUESTED].at, fields[REQUESTED].bytes, &processors) &&
             processors <= 0));
}

/* Does it say that it is not known how large it was? */
static bool has_no_processors(const struct orr_text *fields)
{
    int64_t got, wanted;
    return orr_parse_i64(fields[ALLOCATED].at, fields[ALLOCATED].bytes, &got) && got <= 0 &&
           got >= -1 && orr_parse_i64(fields[REQUESTED].at, fields[REQUESTED].bytes, &wanted) &&
           wanted <= 0 && wanted >= -1;
}

static void read_line(struct swf *swf, struct orr_text text)
{
    struct orr_reader *reader = swf->reader;
    struct orr_workload *workload = reader->workload;
    struct orr_text fields[FIELD_COUNT];
    uint32_t line = (uint32_t)reader->line++;
    if (text.bytes > 0 && text.at[0] == ';') {
        read_comment(swf, text);
        return;
    }
    uint32_t count = split(text, fields);
    if (count == 0) {
        return;
    }
    workload->rows_read++;
    if (memchr(text.at, '\0', text.bytes) != NULL) {
        orr_workload_reject(workload, reader->file, line, "the row has a NUL byte");
        return;
    }
    if (count > FIELD_COUNT) {
        swf->longer++;
    } else if (count != FIELD_COUNT) {
        orr_workload_reject(workload, reader->file, line, "the row has %u %s, not %d",
                            (unsigned)count, ORR_ONE(count, "field", "fields"), FIELD_COUNT);
        return;
    }
    if (never_ran(fields)) {
        swf->cancelled++;
        return;
    }
    if (has_no_processors(fields)) {
        swf->no_processors++;
        return;
    }
    struct swf_job job;
    if (parse_fields(reader, line, fields, &job)) {
        add_job(swf, line, fields[JOB], &job);
    }
}

/* Keeps the start of a line for the next block. */
static enum orr_status keep(struct swf *swf, struct orr_text part)
{
    const struct orr_reader *reader = swf->reader;
    if (part.bytes > LINE_BYTES_MAX - swf->carry_bytes) {
        return orr_fail(reader->err, ORR_DATA, "%s:%llu: a line is longer than %zu bytes",
                        reader->file, (unsigned long long)reader->line, LINE_BYTES_MAX);
    }
    memcpy(swf->carry + swf->carry_bytes, part.at, part.bytes);
    swf->carry_bytes += part.bytes;
    return ORR_OK;
}

static enum orr_status read_block(struct swf *swf, struct orr_text block)
{
    while (block.bytes > 0) {
        const char *end = memchr(block.at, '\n', block.bytes);
        struct orr_text line = {block.at, end != NULL ? (size_t)(end - block.at) : block.bytes};
        if (end == NULL || swf->carry_bytes > 0) {
            enum orr_status status = keep(swf, line);
            if (status != ORR_OK || end == NULL) {
                return status;
            }
            read_line(swf, (struct orr_text){swf->carry, swf->carry_bytes});
            swf->carry_bytes = 0;
        } else {
            read_line(swf, line);
        }
        block.at += line.bytes + 1;
        block.bytes -= line.bytes + 1;
    }
    return ORR_OK;
}

/* A comment, or a line of numbers. */
bool orr_swf_is_start(struct orr_text line)
{
    struct orr_text fields[FIELD_COUNT];
    if (line.bytes > 0 && line.at[0] == ';') {
        return true;
    }
    orr_ms value;
    return split(line, fields) >= FIELD_COUNT &&
           orr_parse_seconds(fields[JOB].at, fields[JOB].bytes, &value) &&
           orr_parse_seconds(fields[SUBMIT].at, fields[SUBMIT].bytes, &value);
}

enum orr_status orr_swf_read(struct orr_reader *reader)
{
    struct swf swf = {.reader = reader};
    swf.carry = orr_alloc(LINE_BYTES_MAX, 1);
    struct orr_text block;
    enum orr_status status;
    do {
        status = orr_reader_next(reader, &block);
        if (status == ORR_OK) {
            status = read_block(&swf, block);
        }
    } while (status == ORR_OK && block.bytes > 0);
    if (status == ORR_OK && swf.carry_bytes > 0) {
        read_line(&swf, (struct orr_text){swf.carry, swf.carry_bytes});
    }
    if (status == ORR_OK && swf.cancelled > 0) {
        orr_workload_note(
            reader->workload, reader->file, "%llu %s cancelled before they ran: left out",
            (unsigned long long)swf.cancelled, ORR_ONE(swf.cancelled, "job was", "jobs were"));
    }
    if (status == ORR_OK && swf.no_processors > 0) {
        orr_workload_note(reader->workload, reader->file, "rows without processors, left out: %llu",
                          (unsigned long long)swf.no_processors);
    }
    if (status == ORR_OK && swf.longer > 0) {
        orr_workload_note(reader->workload, reader->file,
                          "rows with more than %d fields, whose further ones are not read: %llu",
                          FIELD_COUNT, (unsigned long long)swf.longer);
    }
    if (status == ORR_OK) {
        take_partitions(&swf);
        check_preceding(&swf);
    }
    orr_free(swf.carry);
    orr_free(swf.partitions);
    orr_free(swf.queues);
    return status;
}
