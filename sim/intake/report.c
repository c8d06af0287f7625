/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of the rows of an import. */
#include <stdarg.h>
#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/traces/reader.h>

#include "intake_int.h"

void orr_intake_report_init(struct orr_intake_report *report, const char *file)
{
    *report = (struct orr_intake_report){0};
    orr_arena_init(&report->arena);
    orr_stat_init(&report->stat);
    report->file = orr_arena_strndup(&report->arena, file, strlen(file));
}

void orr_intake_report_release(struct orr_intake_report *report)
{
    orr_stat_release(&report->stat);
    orr_arena_release(&report->arena);
}

void orr_intake_drop(struct orr_intake_report *report, bool asked, const char *reason,
                     uint32_t line, const char *first)
{
    uint32_t d = 0;
    report->wrong += !asked;
    while (d < report->drop_count &&
           (report->drops[d].asked != asked ||
            strncmp(report->drops[d].reason, reason, sizeof report->drops[d].reason - 1) != 0)) {
        d++;
    }
    if (d == report->drop_count) {
        if (d == ORR_INTAKE_DROPS) {
            report->drops[d - 1].rows++;
            return;
        }
        struct orr_intake_drop *drop = &report->drops[report->drop_count++];
        *drop = (struct orr_intake_drop){.asked = asked, .line = line};
        (void)snprintf(drop->reason, sizeof drop->reason, "%s",
                       report->drop_count == ORR_INTAKE_DROPS ? "other reasons" : reason);
        (void)snprintf(drop->first, sizeof drop->first, "%s", first);
    }
    report->drops[d].rows++;
}

void orr_intake_note(struct orr_intake_report *report, const char *format, ...)
{
    char text[900];
    va_list args;
    if (report->note_count == ORR_INTAKE_NOTES) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report->notes[report->note_count++] = orr_arena_strndup(&report->arena, text, strlen(text));
}

enum orr_status orr_intake_check_loss(const struct orr_intake_report *report, uint32_t allow_ppm,
                                      struct orr_err *err)
{
    const uint64_t borne = allow_ppm > 0 ? allow_ppm : 10000;
    const struct orr_intake_drop *worst = NULL;
    if (report->wrong * ORR_LOSS_ALL <= report->rows * borne) {
        return ORR_OK;
    }
    for (uint32_t d = 0; d < report->drop_count; d++) {
        const struct orr_intake_drop *drop = &report->drops[d];
        worst = !drop->asked && (worst == NULL || drop->rows > worst->rows) ? drop : worst;
    }
    return orr_fail(err, ORR_DATA,
                    "%s: %llu of %llu row%s %s wrong, more than %g %% (--allow-loss accepts that)\n"
                    "%s:%u: %s",
                    report->file, (unsigned long long)report->wrong,
                    (unsigned long long)report->rows, ORR_PLURAL(report->rows),
                    ORR_ONE(report->wrong, "is", "are"), (double)borne / 1e4, report->file,
                    worst != NULL ? (unsigned)worst->line : 0, worst != NULL ? worst->first : "");
}

bool intake_counts_cpus(const struct orr_intake_options *options)
{
    return options->count_as != NULL && strcmp(options->count_as, "cpu") == 0;
}

static int by_start(const void *a, const void *b, void *context)
{
    const struct intake_span *x = a, *y = b;
    (void)context;
    return x->start_ms != y->start_ms ? (x->start_ms < y->start_ms ? -1 : 1)
                                      : (x->end_ms > y->end_ms) - (x->end_ms < y->end_ms);
}

/* False: they do not fit. */
static bool put_attempts(const struct intake_span *spans, uint32_t count, orr_ms from_ms,
                         char text[ORR_NAME_MAX + 1])
{
    orr_ms free_ms = from_ms;
    size_t used = 0;
    for (uint32_t a = 0; a < count; a++) {
        const orr_ms start_ms = spans[a].start_ms > free_ms ? spans[a].start_ms : free_ms;
        const orr_ms end_ms = spans[a].end_ms > start_ms ? spans[a].end_ms : start_ms;
        char begin[32], lasts[32];
        (void)orr_format_seconds(begin, start_ms - from_ms);
        (void)orr_format_seconds(lasts, end_ms - start_ms);
        used += (size_t)snprintf(text + used, ORR_NAME_MAX + 1 - used, "%s%s+%s", a > 0 ? " " : "",
                                 begin, lasts);
        if (used > ORR_NAME_MAX) {
            return false;
        }
        free_ms = end_ms;
    }
    return true;
}

bool intake_attempts(struct intake_span *spans, uint32_t count, orr_ms from_ms,
                     char text[ORR_NAME_MAX + 1])
{
    enum { FIT = ORR_NAME_MAX / 4 }; /* an attempt takes four characters at least: "0+0 " */
    uint32_t skipped = count > FIT ? count - FIT : 0;
    orr_sort(spans, count, sizeof *spans, by_start, NULL);
    text[0] = '\0';
    while (count > 1 && !put_attempts(spans + skipped, count - skipped, from_ms, text)) {
        skipped++;
    }
    return skipped == 0;
}

void intake_note_cut(struct orr_intake_report *report, uint64_t jobs)
{
    if (jobs > 0) {
        orr_intake_note(report,
                        "jobs with more attempts than a cell has room for: %llu; x_attempts and "
                        "recorded_attempts have the last ones",
                        (unsigned long long)jobs);
    }
}
