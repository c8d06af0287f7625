/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_trace_edit.c - what `orrery trace` does to traces that are there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <orrery/analysis/names.h>
#include <orrery/base/text.h>
#include <orrery/traces/reader.h>

#include "stat_text.h"
#include "trace_edit.h"

static const char *const whats[] = {"stat",  "fit",   "convert",  "filter",
                                    "merge", "scale", "anonymize"};

bool trace_edit_knows(const char *what)
{
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++) {
        if (strcmp(whats[i], what) == 0) {
            return true;
        }
    }
    return false;
}

static bool is(const struct trace_edit *edit, const char *what)
{
    return strcmp(edit->what, what) == 0;
}

static enum orr_status read_one(const struct trace_edit *edit, const char *path,
                                struct orr_workload *workload, struct orr_err *err)
{
    const struct orr_trace_options options = {.format = edit->format,
                                              .allow_loss_ppm = edit->allow_loss_ppm};
    const enum orr_status status = orr_trace_read(path, &options, workload, err);
    if (status == ORR_OK && !edit->common->quiet) {
        char *rejects = orr_rejects_text(workload);
        (void)fprintf(stderr, "%s%s", workload->notes, rejects);
        free(rejects);
    }
    return status;
}

/* --- out ------------------------------------------------------------------------------------- */

static bool names_file(const struct trace_edit *edit)
{
    return edit->output != NULL && strcmp(edit->output, "-") != 0;
}

static bool is_swf(const struct trace_edit *edit)
{
    const size_t bytes = edit->output != NULL ? strlen(edit->output) : 0;
    return edit->to != NULL ? strcmp(edit->to, "swf") == 0
                            : bytes > 4 && strcasecmp(edit->output + bytes - 4, ".swf") == 0;
}

static void write_to(const struct trace_edit *edit, struct orr_workload *workload, FILE *out)
{
    if (is_swf(edit)) {
        orr_trace_write_swf(workload, out);
    } else {
        orr_trace_write_rows(workload, out);
    }
}

const char *trace_if_taken(const struct trace_edit *edit)
{
    return edit->force ? NULL : "--force overwrites it, -o names another";
}

static enum orr_status write_file(const struct trace_edit *edit, struct orr_workload *workload,
                                  struct orr_err *err)
{
    struct orr_cli_file file;
    const enum orr_status status =
        orr_cli_file_open(&file, edit->output, trace_if_taken(edit), err);
    if (status == ORR_OK) {
        write_to(edit, workload, file.out);
    }
    return orr_cli_file_close(&file, status, err);
}

/* The trace goes to -o or standard output; beside it what came of it, with --json as one object. */
static enum orr_status give(const struct trace_edit *edit, struct orr_workload *workload,
                            uint32_t before, const char *sentence, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    if (names_file(edit)) {
        status = write_file(edit, workload, err);
    } else if (!edit->common->json) {
        orr_cli_data();
        write_to(edit, workload, stdout);
    }
    if (status != ORR_OK) {
        return status;
    }
    if (!edit->common->quiet) {
        (void)fputs(workload->notes, stderr);
    }
    if (edit->common->json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "file", edit->output);
        orr_json_int(&json, "jobs_before", before);
        orr_json_int(&json, "jobs", workload->count);
        orr_json_text(&json, "note", sentence[0] != '\0' ? sentence : NULL);
        orr_json_close(&json, '}');
    } else if (!edit->common->quiet) {
        char made[40] = "";
        if (workload->count > before) {
            (void)snprintf(made, sizeof made, "%u made of ", (unsigned)workload->count);
        } else {
            (void)snprintf(made, sizeof made, "%u of ", (unsigned)workload->count);
        }
        (void)fprintf(stderr, "%s%u job%s%s%s\n", made, (unsigned)before, ORR_PLURAL(before),
                      sentence[0] != '\0' ? "; " : "", sentence);
    }
    return ORR_OK;
}

/* --- stat ------------------------------------------------------------------------------------ */

static void print_stat(const struct trace_edit *edit, const struct orr_workload *workload)
{
    struct orr_trace_stat stat;
    struct stat_view view = {.stat = &stat,
                             .origin_ms = workload->clock_origin_ms,
                             .capacity = edit->capacity,
                             .picture = true,
                             .columns = (unsigned)orr_text_columns(80)};
    orr_stat_init(&stat);
    stat.origin_ms = workload->clock_origin_ms != ORR_MS_NONE ? workload->clock_origin_ms : 0;
    for (uint32_t r = 0; r < workload->count; r++) {
        struct orr_job_fact fact;
        orr_workload_fact(workload, &workload->rows[r], &fact);
        orr_stat_add(&stat, &fact, workload->rows[r].line);
    }
    if (edit->common->json) {
        struct orr_json json = {.out = stdout};
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "from", edit->files[0]);
        orr_json_int(&json, "rows", (int64_t)workload->rows_read);
        orr_json_int(&json, "wrong", (int64_t)workload->rejects.count);
        orr_json_open(&json, "left_out", '[');
        for (uint32_t g = 0; g < workload->rejects.group_count; g++) {
            const struct orr_reject_group *group = &workload->rejects.groups[g];
            orr_json_open(&json, NULL, '{');
            orr_json_text(&json, "reason", group->reason);
            orr_json_int(&json, "rows", (int64_t)group->rows);
            orr_json_int(&json, "first_line", group->line);
            orr_json_text(&json, "first", group->first);
            orr_json_close(&json, '}');
        }
        orr_json_close(&json, ']');
        stat_json(&view, &json);
        orr_json_close(&json, '}');
    } else {
        (void)printf("%s\n  rows      %llu read, %llu wrong\n", edit->files[0],
                     (unsigned long long)workload->rows_read,
                     (unsigned long long)workload->rejects.count);
        stat_text(&view, stdout);
    }
    orr_stat_release(&stat);
}

/* --- the rest -------------------------------------------------------------------------------- */

static enum orr_status merge(const struct trace_edit *edit, struct orr_workload *workload,
                             uint32_t *before, char *sentence, size_t bytes, struct orr_err *err)
{
    uint64_t renamed = 0;
    enum orr_status status = ORR_OK;
    for (uint32_t f = 1; f < edit->file_count && status == ORR_OK; f++) {
        struct orr_workload more;
        status = read_one(edit, edit->files[f], &more, err);
        if (status != ORR_OK) {
            break;
        }
        if ((workload->clock_origin_ms == ORR_MS_NONE) != (more.clock_origin_ms == ORR_MS_NONE)) {
            status = orr_fail(err, ORR_DATA,
                              "%s and %s: one has dates and the other seconds of a clock of its "
                              "own, so nobody knows what was at the same time",
                              edit->files[0], edit->files[f]);
        } else {
            *before += more.count;
            renamed += orr_workload_add(workload, &more);
        }
        orr_workload_release(&more);
    }
    if (renamed > 0) {
        (void)snprintf(sentence, bytes, "%llu got ~2 or more behind a name that was taken",
                       (unsigned long long)renamed);
    }
    return status;
}

/* Notes are shown once: those of reading were, and those of writing come later. */
static void say_absent(const struct trace_edit *edit, struct orr_workload *workload)
{
    workload->notes[0] = '\0';
    orr_row_filter_note_absent(workload, edit->files[0], "--", &edit->filter);
    if (!edit->common->quiet) {
        (void)fputs(workload->notes, stderr);
    }
    workload->notes[0] = '\0';
}

static enum orr_status change(struct trace_edit *edit, struct orr_workload *workload,
                              struct orr_err *err)
{
    char sentence[200] = "";
    uint32_t before = workload->count;
    enum orr_status status =
        orr_row_filter_window(&edit->filter, workload, "--", edit->from, edit->until, err);
    if (status == ORR_OK && is(edit, "merge")) {
        status = merge(edit, workload, &before, sentence, sizeof sentence, err);
    }
    if (status != ORR_OK) {
        return status;
    }
    say_absent(edit, workload);
    if (is(edit, "scale")) {
        const uint64_t too_large = orr_workload_scale(workload, &edit->filter, &edit->scaling);
        if (too_large > 0) {
            (void)snprintf(sentence, sizeof sentence, "%llu left out, larger than 1,000,000 GPUs",
                           (unsigned long long)too_large);
        }
    } else {
        orr_workload_cut(workload, &edit->filter);
    }
    if (is(edit, "anonymize")) {
        orr_workload_anonymize(workload, edit->key);
    }
    if (is(edit, "fit")) {
        return trace_fit(edit, workload, err);
    }
    if (is(edit, "stat")) {
        print_stat(edit, workload);
        return ORR_OK;
    }
    return give(edit, workload, before, sentence, err);
}

enum orr_status trace_edit(struct trace_edit *edit, struct orr_err *err)
{
    struct orr_workload workload;
    enum orr_status status =
        names_file(edit) ? orr_cli_new_output(edit->output, trace_if_taken(edit), err) : ORR_OK;
    if (status == ORR_OK) {
        status = read_one(edit, edit->files[0], &workload, err);
        if (status == ORR_OK) {
            status = change(edit, &workload, err);
            orr_workload_release(&workload);
        }
    }
    return status;
}
