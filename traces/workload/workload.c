/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/traces/workload.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

/* 82,000 to 240,000 jobs is usual: fewer than 64 bytes a row would need a second array */
_Static_assert(sizeof(struct orr_row) <= 64, "a row is one cache line");

static const char *const kind_names[ORR_KIND_COUNT] = {
    [ORR_KIND_UNKNOWN] = "unknown",
    [ORR_KIND_TRAINING] = "training",
    [ORR_KIND_INTERACTIVE] = "interactive",
    [ORR_KIND_INFERENCE] = "inference",
};

const char *orr_kind_name(enum orr_kind kind)
{
    ORR_ASSERT((unsigned)kind < ORR_KIND_COUNT);
    return kind_names[kind];
}

bool orr_kind_parse(const char *text, size_t bytes, enum orr_kind *out)
{
    for (unsigned i = 0; i < ORR_KIND_COUNT; i++) {
        if (strlen(kind_names[i]) == bytes && memcmp(kind_names[i], text, bytes) == 0) {
            *out = (enum orr_kind)i;
            return true;
        }
    }
    return false;
}

struct orr_name_part orr_name_part(const char *text, size_t bytes)
{
    const size_t n = (unsigned char)text[0] < 0x80 ? 1 : orr_utf8_bytes(text, bytes);
    struct orr_name_part part = {.took = n > 0 ? n : 1, .bytes = n};
    if (n > 0) {
        memcpy(part.text, text, n);
    } else {
        part.bytes = (size_t)snprintf(part.text, sizeof part.text, "\xef\xbf\xbd%02x",
                                      (unsigned)(unsigned char)text[0]);
    }
    return part;
}

size_t orr_name_written(const char *text, size_t bytes)
{
    size_t written = 0;
    while (bytes > 0) {
        const struct orr_name_part part = orr_name_part(text, bytes);
        written += part.bytes;
        text += part.took;
        bytes -= part.took;
    }
    return written;
}

void orr_workload_init(struct orr_workload *workload)
{
    *workload = (struct orr_workload){.clock_origin_ms = ORR_MS_NONE};
    orr_idmap_init(&workload->jobs);
    orr_idmap_init(&workload->queues);
    orr_idmap_init(&workload->users);
    orr_arena_init(&workload->arena);
    workload->rejects.shown = orr_strdup("");
    workload->notes = orr_strdup("");
}

void orr_workload_release(struct orr_workload *workload)
{
    orr_free(workload->rows);
    orr_free(workload->extras);
    orr_idmap_release(&workload->jobs);
    orr_idmap_release(&workload->queues);
    orr_idmap_release(&workload->users);
    orr_arena_release(&workload->arena);
    orr_free(workload->rejects.shown);
    orr_free(workload->rejects.groups);
    orr_free(workload->notes);
    *workload = (struct orr_workload){.clock_origin_ms = ORR_MS_NONE};
}

static void move_instant(orr_ms *at, orr_ms by_ms)
{
    *at = *at == ORR_MS_NONE ? ORR_MS_NONE : *at + by_ms;
}

void orr_row_extra_move(struct orr_row_extra *extra, orr_ms by_ms)
{
    move_instant(&extra->deadline_ms, by_ms);
    move_instant(&extra->eligible_ms, by_ms);
    move_instant(&extra->running_since_ms, by_ms);
    move_instant(&extra->recorded_start_ms, by_ms);
    move_instant(&extra->recorded_end_ms, by_ms);
}

void orr_workload_move(struct orr_workload *workload, orr_ms by_ms)
{
    for (uint32_t r = 0; r < workload->count; r++) {
        workload->rows[r].submit_ms += by_ms;
    }
    for (uint32_t e = 0; e < workload->extra_count; e++) {
        orr_row_extra_move(&workload->extras[e], by_ms);
    }
}

struct orr_row *orr_workload_push(struct orr_workload *workload)
{
    workload->rows = ORR_ROOM_FOR_ONE(workload->rows, workload->count, workload->capacity);
    struct orr_row *row = &workload->rows[workload->count++];
    *row = (struct orr_row){.run_ms = ORR_MS_NONE,
                            .time_limit_ms = ORR_MS_NONE,
                            .job = ORR_NONE,
                            .queue = ORR_NONE,
                            .user = ORR_NONE};
    return row;
}

static char *append_line(char *text, const char *prefix, const char *format, va_list args)
    ORR_PRINTF(3, 0);

/* Appends "prefix: sentence\n" to a text on the heap. */
static char *append_line(char *text, const char *prefix, const char *format, va_list args)
{
    char sentence[600];
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    size_t have = strlen(text);
    size_t more = strlen(prefix) + strlen(sentence) + sizeof ": \n";
    text = orr_realloc(text, have + more, 1);
    (void)snprintf(text + have, more, "%s: %s\n", prefix, sentence);
    return text;
}

void orr_workload_note(struct orr_workload *workload, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    workload->notes = append_line(workload->notes, file, format, args);
    va_end(args);
}

struct orr_row_extra *orr_workload_extra(struct orr_workload *workload, struct orr_row *row)
{
    if (row->extra == 0) {
        workload->extras =
            ORR_ROOM_FOR_ONE(workload->extras, workload->extra_count, workload->extra_capacity);
        workload->extras[workload->extra_count] = (struct orr_row_extra){
            .gpu_fraction_milli = -1,
            .gpu_devices = -1,
            .gpu_memory_mib = -1,
            .cpu_milli = -1,
            .mem_mib = -1,
            .min_pods = -1,
            .busy_ppm = -1,
            .preemptible = -1,
            .run_known = -1,
            .deadline_ms = ORR_MS_NONE,
            .eligible_ms = ORR_MS_NONE,
            .give_up_ms = ORR_MS_NONE,
            .think_ms = ORR_MS_NONE,
            .preemption_delay_ms = ORR_MS_NONE,
            .staleness_grace_ms = ORR_MS_NONE,
            .deadline_after_ms = ORR_MS_NONE,
            .checkpoint_cost_ms = ORR_MS_NONE,
            .checkpoint_ms = ORR_MS_NONE,
            .restart_ms = ORR_MS_NONE,
            .running_since_ms = ORR_MS_NONE,
            .recorded_start_ms = ORR_MS_NONE,
            .recorded_end_ms = ORR_MS_NONE,
        };
        row->extra = ++workload->extra_count;
    }
    return &workload->extras[row->extra - 1];
}

/* --- recorded attempts ------------------------------------------------------------------------ */

/* Takes "BEGIN+SECONDS" off the front; false: it is none. */
static bool take_attempt(struct orr_recorded *record, orr_ms *begin_ms, orr_ms *lasts_ms)
{
    while (record->bytes > 0 && *record->attempts == ' ') {
        record->attempts++;
        record->bytes--;
    }
    size_t bytes = 0, sign = 0;
    for (; bytes < record->bytes && record->attempts[bytes] != ' '; bytes++) {
        sign = record->attempts[bytes] == '+' ? bytes : sign;
    }
    const char *at = record->attempts;
    record->attempts += bytes;
    record->bytes -= bytes;
    return sign > 0 && orr_parse_seconds(at, sign, begin_ms) && *begin_ms >= 0 &&
           orr_parse_seconds(at + sign + 1, bytes - sign - 1, lasts_ms) && *lasts_ms >= 0;
}

struct orr_recorded orr_recorded_of(const struct orr_row_extra *extra)
{
    const char *attempts = extra->recorded_attempts;
    return (struct orr_recorded){.start_ms = extra->recorded_start_ms,
                                 .end_ms = extra->recorded_end_ms,
                                 .attempts = attempts,
                                 .bytes = attempts == NULL ? 0 : strlen(attempts)};
}

bool orr_recorded_next(struct orr_recorded *record, orr_ms *start_ms, orr_ms *end_ms)
{
    orr_ms begin_ms, lasts_ms;
    if (record->start_ms == ORR_MS_NONE) {
        return false;
    }
    *start_ms = record->start_ms;
    *end_ms = record->end_ms;
    if (record->bytes > 0) {
        if (!take_attempt(record, &begin_ms, &lasts_ms)) {
            return false;
        }
        *start_ms += begin_ms;
        *end_ms = *start_ms + lasts_ms;
    }
    if (record->bytes == 0) {
        record->start_ms = ORR_MS_NONE;
    }
    return true;
}

bool orr_attempts_are_right(const char *attempts, size_t bytes)
{
    struct orr_recorded record = {.attempts = attempts, .bytes = bytes};
    orr_ms begin_ms, lasts_ms, free_ms = 0;
    while (record.bytes > 0) {
        if (!take_attempt(&record, &begin_ms, &lasts_ms) || begin_ms < free_ms) {
            return false;
        }
        free_ms = begin_ms + lasts_ms;
    }
    return true;
}

/* Puts rows[i] = old rows[from[i]] by following cycles: fresh memory for a second array would cost
 * more than the moves. Uses up `from`. */
static void permute(struct orr_row *rows, uint32_t *from, uint32_t count)
{
    for (uint32_t start = 0; start < count; start++) {
        if (from[start] == start) {
            continue;
        }
        struct orr_row kept = rows[start];
        uint32_t to = start;
        while (from[to] != start) {
            uint32_t next = from[to];
            rows[to] = rows[next];
            from[to] = to;
            to = next;
        }
        rows[to] = kept;
        from[to] = to;
    }
}

void orr_workload_sort(struct orr_workload *workload, const char *file)
{
    uint32_t first_early = 0;
    for (uint32_t i = 1; i < workload->count && first_early == 0; i++) {
        if (workload->rows[i].submit_ms < workload->rows[i - 1].submit_ms) {
            first_early = i;
        }
    }
    if (first_early == 0) {
        return;
    }
    orr_workload_note(workload, file,
                      "rows are not in the order of their submit times (line %u is the first that "
                      "is early); they were sorted",
                      (unsigned)workload->rows[first_early].line);
    int64_t *keys = orr_alloc(workload->count, sizeof *keys);
    for (uint32_t i = 0; i < workload->count; i++) {
        keys[i] = workload->rows[i].submit_ms;
    }
    uint32_t *from = orr_sort_index_by_i64(keys, workload->count);
    orr_free(keys);
    permute(workload->rows, from, workload->count);
    orr_free(from);
}
