/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/reader.h>

#include <string.h>
#include <strings.h>

#include <orrery/base/text.h>

#include "reader_int.h"

enum format_index { FORMAT_NATIVE, FORMAT_PHILLY, FORMAT_SWF, FORMAT_SCHEDULE, FORMAT_COUNT };

static const struct orr_trace_format formats[FORMAT_COUNT] = {
    [FORMAT_NATIVE] = {"native", "Orrery's own CSV: job, submit_s, run_s, gpus and more columns"},
    [FORMAT_PHILLY] = {"philly", "CSV: timestamp, duration, num_gpus, gpu_time, cluster"},
    [FORMAT_SWF] = {"swf", "Standard Workload Format of the Parallel Workloads Archive"},
    [FORMAT_SCHEDULE] = {"schedule",
                         "CSV: job, start_s, end_s: when jobs ran; only when asked for"},
};

typedef enum orr_status read_fn(struct orr_reader *reader);
static read_fn *const readers[FORMAT_COUNT] = {
    [FORMAT_NATIVE] = orr_native_read,
    [FORMAT_PHILLY] = orr_philly_read,
    [FORMAT_SWF] = orr_swf_read,
    [FORMAT_SCHEDULE] = orr_schedule_read,
};

const struct orr_trace_format *orr_trace_formats(size_t *count)
{
    *count = FORMAT_COUNT;
    return formats;
}

enum orr_status orr_reader_next(struct orr_reader *reader, struct orr_text *block)
{
    const char *reason = "";
    enum orr_status status = orr_source_next(reader->source, block, &reason);
    if (status != ORR_OK) {
        return orr_fail(reader->err, status, "%s:%llu: %s", reader->file,
                        (unsigned long long)reader->line, reason);
    }
    /* a block can end as many lines as it has bytes */
    if (reader->line >= ORR_NONE || block->bytes > ORR_NONE - reader->line) {
        return orr_fail(reader->err, ORR_DATA, "%s: has more lines than 32 bits can count",
                        reader->file);
    }
    return ORR_OK;
}

/* --- which format ---------------------------------------------------------------------------- */

static bool has_suffix(struct orr_text path, const char *suffix)
{
    size_t n = strlen(suffix);
    return path.bytes > n && strncasecmp(path.at + path.bytes - n, suffix, n) == 0;
}

/* The path without the suffix of a compression. */
static struct orr_text strip_compression(const char *path)
{
    static const char *const suffixes[] = {".gz", ".zst", ".xz", ".bz2", ".zip"};
    struct orr_text text = {path, strlen(path)};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (has_suffix(text, suffixes[i])) {
            text.bytes -= strlen(suffixes[i]);
            break;
        }
    }
    return text;
}

/* The first line that is not blank. */
static struct orr_text first_line(struct orr_text head)
{
    size_t from = 0;
    while (from < head.bytes && (head.at[from] == '\n' || head.at[from] == '\r')) {
        from++;
    }
    size_t to = from;
    while (to < head.bytes && head.at[to] != '\n' && head.at[to] != '\r') {
        to++;
    }
    return (struct orr_text){head.at + from, to - from};
}

static enum format_index guess_format(const char *path, struct orr_text head)
{
    struct orr_text name = strip_compression(path);
    struct orr_text line = first_line(head);
    if (has_suffix(name, ".swf")) {
        return FORMAT_SWF;
    }
    if (orr_philly_is_header(line)) {
        return FORMAT_PHILLY;
    }
    /* a .csv of another kind is most likely a native one with a slip in its header: say so */
    if (orr_native_is_header(line) || has_suffix(name, ".csv")) {
        return FORMAT_NATIVE;
    }
    return orr_swf_is_start(line) ? FORMAT_SWF : FORMAT_COUNT;
}

static enum orr_status find_format(const struct orr_reader *reader, struct orr_text head,
                                   enum format_index *out)
{
    const char *asked = reader->options->format;
    if (asked == NULL) {
        *out = guess_format(reader->file, head);
        if (*out == FORMAT_COUNT) {
            return orr_fail(reader->err, ORR_DATA,
                            "%s:1: is in no known format: it has neither the header of format "
                            "native or philly nor lines of format swf; `orrery import %s` reads "
                            "what Slurm's sacct and scontrol print, and with --map auto proposes "
                            "what a table's columns mean",
                            reader->file, reader->file);
        }
        return ORR_OK;
    }
    const char *names[FORMAT_COUNT];
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(names[i], asked) == 0) {
            *out = (enum format_index)i;
            return ORR_OK;
        }
    }
    const char *nearest = orr_nearest(asked, names, FORMAT_COUNT);
    return orr_fail(reader->err, ORR_USAGE, "format \"%s\" is not known%s%s%s", asked,
                    nearest != NULL ? "; did you mean \"" : ": native, philly, swf",
                    nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* --- clocks ---------------------------------------------------------------------------------- */

void orr_reader_start_clock(struct orr_workload *workload)
{
    if (workload->count == 0) {
        return;
    }
    orr_ms first = workload->rows[0].submit_ms;
    for (uint32_t i = 1; i < workload->count; i++) {
        if (workload->rows[i].submit_ms < first) {
            first = workload->rows[i].submit_ms;
        }
    }
    orr_workload_move(workload, -first);
    workload->clock_origin_ms = first;
}

/* --- one read -------------------------------------------------------------------------------- */

static enum orr_status skip_mark(const struct orr_reader *reader, struct orr_text *head)
{
    if (head->bytes >= 3 && memcmp(head->at, "\xef\xbb\xbf", 3) == 0) {
        orr_source_skip(reader->source, 3);
        head->at += 3;
        head->bytes -= 3;
    } else if (head->bytes >= 2 &&
               (memcmp(head->at, "\xff\xfe", 2) == 0 || memcmp(head->at, "\xfe\xff", 2) == 0)) {
        return orr_fail(reader->err, ORR_DATA, "%s:1: is UTF-16 text; save it as UTF-8",
                        reader->file);
    }
    return ORR_OK;
}

/* Rows that say nothing but what a row has fields for share one record. */
static void give_template(struct orr_workload *workload, const char *name)
{
    uint32_t shared = 0;
    for (uint32_t r = 0; r < workload->count && name != NULL; r++) {
        struct orr_row *row = &workload->rows[r];
        const bool plain = row->extra == 0;
        row->extra = plain ? shared : row->extra;
        struct orr_row_extra *extra = orr_workload_extra(workload, row);
        shared = plain ? row->extra : shared;
        if (extra->template_name == NULL) {
            extra->template_name = orr_arena_strndup(&workload->arena, name, strlen(name));
        }
    }
}

static enum orr_status read_text(struct orr_reader *reader)
{
    const char *reason = "";
    struct orr_text head;
    enum orr_status status = orr_source_peek(reader->source, &head, &reason);
    if (status != ORR_OK) {
        return orr_fail(reader->err, status, "%s:1: %s", reader->file, reason);
    }
    status = skip_mark(reader, &head);
    if (status != ORR_OK) {
        return status;
    }
    if (head.bytes == 0) {
        return orr_fail(reader->err, ORR_DATA, "%s: is empty", reader->file);
    }
    enum format_index format;
    status = find_format(reader, head, &format);
    if (status != ORR_OK) {
        return status;
    }
    reader->workload->format = formats[format].name;
    status = readers[format](reader);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_workload *workload = reader->workload;
    status = orr_source_finish(reader->source, &workload->file_bytes, workload->sha256, &reason);
    if (status != ORR_OK) {
        return orr_fail(reader->err, status, "%s: %s", reader->file, reason);
    }
    if (workload->rows_read == 0) {
        orr_workload_note(workload, reader->file, "has no jobs");
    }
    orr_workload_sort(workload, reader->file);
    give_template(workload, reader->options->template_name);
    return orr_trace_check_loss(workload, reader->file, reader->options->allow_loss_ppm,
                                reader->err);
}

/* Takes the source. */
static enum orr_status read_source(const char *name, struct orr_source *source,
                                   const struct orr_trace_options *options,
                                   struct orr_workload *workload, struct orr_err *err)
{
    static const struct orr_trace_options defaults = {0};
    struct orr_reader reader = {.file = name,
                                .options = options != NULL ? options : &defaults,
                                .workload = workload,
                                .source = source,
                                .line = 1,
                                .err = err};
    struct orr_arena arena; /* of the zone's offsets */
    orr_arena_init(&arena);
    orr_workload_init(workload);
    enum orr_status status = orr_zone_make(&arena, reader.options->zone, &reader.zone, err);
    status = status == ORR_OK ? read_text(&reader) : status;
    orr_arena_release(&arena);
    if (status != ORR_OK) {
        orr_workload_release(workload);
    }
    orr_source_close(source);
    return status;
}

enum orr_status orr_trace_read(const char *path, const struct orr_trace_options *options,
                               struct orr_workload *workload, struct orr_err *err)
{
    struct orr_source *source;
    *workload = (struct orr_workload){.clock_origin_ms = ORR_MS_NONE};
    enum orr_status status =
        orr_source_open(path, options != NULL ? options->interrupted : NULL, &source, err);
    return status == ORR_OK ? read_source(path, source, options, workload, err) : status;
}

enum orr_status orr_trace_read_memory(const char *name, const void *bytes, size_t count,
                                      const struct orr_trace_options *options,
                                      struct orr_workload *workload, struct orr_err *err)
{
    return read_source(name, orr_source_open_memory(bytes, count), options, workload, err);
}

/* Bytes of the first rejected rows that an error has room for: whole lines, without the end of the
 * last. */
static int fitting_lines(const char *shown)
{
    enum { ROOM = 900 };
    size_t bytes = strlen(shown);
    if (bytes > ROOM) {
        bytes = ROOM + 1; /* of one longer line its begin */
        for (size_t at = 0; at < ROOM; at++) {
            bytes = shown[at] == '\n' ? at + 1 : bytes;
        }
    }
    return bytes > 0 ? (int)bytes - 1 : 0;
}

enum orr_status orr_trace_check_loss(const struct orr_workload *workload, const char *path,
                                     uint32_t allow_loss_ppm, struct orr_err *err)
{
    uint64_t lost = workload->rejects.count;
    uint64_t read = workload->rows_read;
    const uint64_t borne_ppm = allow_loss_ppm > 0 ? allow_loss_ppm : 10000;
    if (lost * ORR_LOSS_ALL <= read * borne_ppm) {
        return ORR_OK;
    }
    const int shown = fitting_lines(workload->rejects.shown);
    return orr_fail(err, ORR_DATA,
                    "%s: %llu of %llu row%s %s rejected, more than %g %% (--allow-loss accepts "
                    "that)%s%.*s",
                    path, (unsigned long long)lost, (unsigned long long)read, ORR_PLURAL(read),
                    ORR_ONE(lost, "is", "are"), (double)borne_ppm / 1e4, shown > 0 ? "\n" : "",
                    shown, workload->rejects.shown);
}
