/* SPDX-License-Identifier: GPL-3.0-or-later */
/* filter_notes.c - what a filter asks for that a trace has not: a misspelled name must not look
 * like a queue without jobs. */
#include <orrery/traces/edit.h>

#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/native.h>

enum { LISTED_NAMES = 8, PATTERN_MAX = 256 };

/* A column of names, and how an option calls it. */
struct named {
    const char *option, *what;
    const struct orr_idmap *names;
    const char *patterns;
};

/* "(did you mean "a"?)", else the names there are, else that there are none. */
static void say_names(const struct named *column, const char *word, char *text, size_t bytes)
{
    const uint32_t count = column->names->count;
    const char **names = orr_alloc(count + (size_t)1, sizeof *names);
    for (uint32_t n = 0; n < count; n++) {
        names[n] = orr_idmap_name(column->names, n);
    }
    const char *near = orr_nearest(word, names, count);
    if (near != NULL) {
        (void)snprintf(text, bytes, "did you mean \"%.100s\"?", near);
    } else if (count == 0) {
        (void)snprintf(text, bytes, "no job names a %s", column->what);
    } else {
        int used = snprintf(text, bytes, "there %s", ORR_ONE(count, "is", "are"));
        for (uint32_t n = 0; n < count && n < LISTED_NAMES; n++) {
            used += snprintf(text + used, bytes - (size_t)used, "%s%.40s", n == 0 ? " " : ", ",
                             names[n]);
        }
        if (count > LISTED_NAMES) {
            (void)snprintf(text + used, bytes - (size_t)used, " and %u more", count - LISTED_NAMES);
        }
    }
    orr_free(names);
}

static bool is_there(const struct orr_idmap *names, const char *pattern)
{
    bool found = pattern[0] == '\0'; /* jobs that name none */
    for (uint32_t n = 0; n < names->count && !found; n++) {
        const char *name = orr_idmap_name(names, n);
        found = orr_text_like(name, strlen(name), pattern, false);
    }
    return found;
}

/* Each alternative of the patterns by itself: one of several may be misspelled. */
static void note_names(struct orr_workload *workload, const char *file, const char *prefix,
                       const struct named *column)
{
    const char *at = column->patterns;
    while (at != NULL) {
        const size_t bytes = strcspn(at, "|");
        char pattern[PATTERN_MAX], names[500];
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)bytes, at);
        if (bytes < sizeof pattern && !is_there(column->names, pattern)) {
            say_names(column, pattern, names, sizeof names);
            orr_workload_note(workload, file, "%s%s: no job has a %s like \"%s\": %s", prefix,
                              column->option, column->what, pattern, names);
        }
        at = at[bytes] == '|' ? at + bytes + 1 : NULL;
    }
}

static void note_kind(struct orr_workload *workload, const char *file, const char *prefix, int kind)
{
    bool is_known = kind < 0, any = false;
    for (uint32_t r = 0; r < workload->count && !is_known; r++) {
        is_known = workload->rows[r].kind == kind;
        any = any || workload->rows[r].kind != ORR_KIND_UNKNOWN;
    }
    if (!is_known) {
        orr_workload_note(workload, file, "%skind: no job is of kind %s%s", prefix,
                          orr_kind_name((enum orr_kind)kind),
                          any ? "" : ": the kinds of its jobs are not known");
    }
}

static void note_window(struct orr_workload *workload, const char *file, const char *prefix,
                        const struct orr_row_filter *filter)
{
    char first[32], last[32];
    const orr_ms first_ms = workload->rows[0].submit_ms;
    const orr_ms last_ms = workload->rows[workload->count - 1].submit_ms;
    const bool is_late = filter->from_ms != ORR_MS_NONE && filter->from_ms > last_ms;
    const bool is_early = filter->until_ms != ORR_MS_NONE && filter->until_ms <= first_ms;
    if (is_late || is_early) {
        (void)orr_format_clock(first, first_ms, workload->clock_origin_ms);
        (void)orr_format_clock(last, last_ms, workload->clock_origin_ms);
        orr_workload_note(workload, file, "%s%s: its jobs are submitted from %s to %s", prefix,
                          is_late ? "from" : "until", first, last);
    }
}

/* The row of a job that asks GPU memory does not state how many GPUs that is: it counts as 0. */
static void note_sizes(struct orr_workload *workload, const char *file, const char *prefix,
                       const struct orr_row_filter *filter)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < workload->count; r++) {
        struct orr_job_fact fact;
        orr_workload_fact(workload, &workload->rows[r], &fact);
        count += fact.by_memory;
    }
    if (count > 0) {
        const bool least = filter->min_gpus > 0.0;
        orr_workload_note(workload, file,
                          "%s%s%cgpus: %u job%s ask%s GPU memory, which counts as 0 GPUs here",
                          prefix, least ? "min" : "max", prefix[0] == '-' ? '-' : '_',
                          (unsigned)count, ORR_PLURAL(count), ORR_ONE(count, "s", ""));
    }
}

void orr_row_filter_note_absent(struct orr_workload *workload, const char *file, const char *prefix,
                                const struct orr_row_filter *filter)
{
    const struct named queues = {"queue", "queue", &workload->queues, filter->queue};
    const struct named users = {"user", "user", &workload->users, filter->user};
    if (workload->count > 0) {
        note_names(workload, file, prefix, &queues);
        note_names(workload, file, prefix, &users);
        note_kind(workload, file, prefix, filter->kind);
        note_window(workload, file, prefix, filter);
        if (filter->min_gpus > 0.0 || filter->max_gpus >= 0.0) {
            note_sizes(workload, file, prefix, filter);
        }
    }
}
