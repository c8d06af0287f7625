/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and folders, and what is in them.
 *
 *     orr_conform_run
 *       collect            paths -> file names, folders opened up
 *       load               file -> entries (cases or vectors) in the arena
 *       run_entry          entry -> passed, failed or skipped
 */
#include <orrery/sim/conform.h>

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <orrery/base/sort.h>

#include "conform_int.h"
#include "kueue_case.h"

#define MAX_DEPTH 64 /* of folders */

struct entry { /* one of the three */
    struct conform_case *scheduling;
    struct conform_vector *vector;
    struct conform_kueue *kueue;
};

struct run {
    struct orr_arena arena;
    const char **files;
    struct entry *entries;
    uint32_t file_count, file_capacity, entry_count, entry_capacity;
    struct orr_err *err;
};

/* --- paths --- */

static void add_file(struct run *run, const char *path)
{
    run->files = ORR_ROOM_FOR_ONE(run->files, run->file_count, run->file_capacity);
    run->files[run->file_count++] = path;
}

static bool ends_in_json(const char *name)
{
    const size_t bytes = strlen(name);
    return bytes > 5 && strcmp(name + bytes - 5, ".json") == 0;
}

/* Names in a folder as full paths, sorted; those that begin with a dot are left out. */
static enum orr_status list_folder(struct run *run, const char *path, const char ***names,
                                   uint32_t *count)
{
    uint32_t capacity = 0;
    *names = NULL;
    *count = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return orr_fail(run->err, ORR_NO_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    }
    for (struct dirent *item; (item = readdir(folder)) != NULL;) {
        if (item->d_name[0] == '.') {
            continue;
        }
        const size_t bytes = strlen(path) + strlen(item->d_name) + 2;
        char *full = orr_arena_alloc(&run->arena, bytes, 1);
        (void)snprintf(full, bytes, "%s/%s", path, item->d_name);
        *names = ORR_ROOM_FOR_ONE(*names, *count, capacity);
        (*names)[(*count)++] = full;
    }
    (void)closedir(folder);
    orr_sort(*names, *count, sizeof **names, orr_compare_texts, NULL);
    return ORR_OK;
}

static enum orr_status collect(struct run *run, const char *path, unsigned depth)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return orr_fail(run->err, ORR_NO_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        if (depth == 0 || ends_in_json(path)) {
            add_file(run, path);
        }
        return ORR_OK;
    }
    if (depth > MAX_DEPTH) {
        return orr_fail(run->err, ORR_NO_INPUT, "%s: folders are nested too deeply", path);
    }
    const char **names;
    uint32_t count;
    enum orr_status status = list_folder(run, path, &names, &count);
    for (uint32_t i = 0; status == ORR_OK && i < count; i++) {
        status = collect(run, names[i], depth + 1);
    }
    orr_free(names);
    return status;
}

static enum orr_status collect_all(struct run *run, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t before = run->file_count;
        enum orr_status status = collect(run, paths[i], 0);
        if (status != ORR_OK) {
            return status;
        }
        if (run->file_count == before) {
            return orr_fail(run->err, ORR_NO_INPUT, "%s: no *.json file in it", paths[i]);
        }
    }
    return ORR_OK;
}

/* --- loading --- */

static struct entry *add_entry(struct run *run)
{
    run->entries = ORR_ROOM_FOR_ONE(run->entries, run->entry_count, run->entry_capacity);
    run->entries[run->entry_count] = (struct entry){0};
    return &run->entries[run->entry_count++];
}

static enum orr_status load_entry(struct run *run, struct conform_reader *reader,
                                  struct fy_node *node)
{
    struct entry *entry = add_entry(run);
    if (fy_node_is_mapping(node) &&
        fy_node_mapping_lookup_by_string(node, "function", FY_NT) != NULL) {
        entry->vector = orr_arena_alloc(&run->arena, 1, sizeof *entry->vector);
        return orr_conform__read_vector(reader, node, entry->vector);
    }
    if (fy_node_is_mapping(node) && fy_node_mapping_lookup_by_string(node, "kind", FY_NT) != NULL) {
        entry->kueue = orr_arena_alloc(&run->arena, 1, sizeof *entry->kueue);
        return orr_conform__read_kueue(reader, node, entry->kueue);
    }
    entry->scheduling = orr_arena_alloc(&run->arena, 1, sizeof *entry->scheduling);
    return orr_conform__read_case(reader, node, entry->scheduling);
}

static enum orr_status load(struct run *run, const char *path)
{
    struct conform_reader reader;
    struct fy_node *root = orr_conform__open(&reader, path, &run->arena, run->err);
    enum orr_status status = ORR_OK;
    if (root == NULL) {
        status = run->err->status;
    } else if (!fy_node_is_sequence(root)) {
        status = orr_conform__fail(&reader, root, "a list of cases belongs here");
    } else {
        void *place = NULL;
        for (struct fy_node *node;
             status == ORR_OK && (node = fy_node_sequence_iterate(root, &place)) != NULL;) {
            status = load_entry(run, &reader, node);
        }
    }
    orr_conform__close(&reader);
    return status;
}

/* --- running --- */

void orr_conform__say(struct conform_outcome *outcome, enum orr_conform_verdict verdict,
                      const char *format, ...)
{
    if (outcome->verdict != ORR_CONFORM_PASSED) {
        return;
    }
    va_list args;
    va_start(args, format);
    outcome->verdict = verdict;
    (void)vsnprintf(outcome->text, sizeof outcome->text, format, args);
    va_end(args);
}

static void run_entry(const struct entry *entry, const char *policy, orr_conform_fn *report,
                      void *context, struct orr_conform_tally *tally)
{
    struct conform_outcome outcome = {.verdict = ORR_CONFORM_PASSED};
    const char *id;
    if (entry->vector != NULL) {
        id = entry->vector->id;
        orr_conform__run_vector(entry->vector, &outcome);
    } else if (entry->kueue != NULL) {
        id = entry->kueue->id;
        orr_conform__run_kueue(entry->kueue, &outcome);
    } else {
        id = entry->scheduling->id;
        orr_conform__run_case(entry->scheduling, policy, &outcome);
    }
    tally->passed += outcome.verdict == ORR_CONFORM_PASSED;
    tally->failed += outcome.verdict == ORR_CONFORM_FAILED;
    tally->skipped += outcome.verdict == ORR_CONFORM_SKIPPED;
    const struct orr_conform_entry judged = {
        .id = id, .verdict = outcome.verdict, .text = outcome.text};
    report(&judged, context);
}

enum orr_status orr_conform_run(const char *const *paths, size_t count, const char *policy,
                                orr_conform_fn *report, void *context,
                                struct orr_conform_tally *tally, struct orr_err *err)
{
    struct orr_err local = {0};
    struct run run = {.err = err != NULL ? err : &local};
    *tally = (struct orr_conform_tally){0};
    orr_arena_init(&run.arena);
    enum orr_status status = collect_all(&run, paths, count);
    for (uint32_t i = 0; status == ORR_OK && i < run.file_count; i++) {
        status = load(&run, run.files[i]);
    }
    for (uint32_t i = 0; status == ORR_OK && i < run.entry_count; i++) {
        run_entry(&run.entries[i], policy != NULL ? policy : "kai", report, context, tally);
    }
    orr_free(run.files);
    orr_free(run.entries);
    orr_arena_release(&run.arena);
    return status;
}

/* --- for people --- */

const char *const orr_conform_words[] = {"passed", "failed", "skipped"};

void orr_conform_print(const struct orr_conform_entry *entry, void *context)
{
    static const char *const words[] = {"pass", "FAIL", "skip"};
    const struct orr_conform_text *text = context;
    const bool has_text = entry->text[0] != '\0';
    const char *const parts[] = {entry->id, has_text ? ": " : "", entry->text};
    if (entry->verdict == ORR_CONFORM_PASSED && !text->verbose) {
        return;
    }
    (void)fprintf(text->out, "%s ", words[entry->verdict]);
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        for (const char *c = parts[p]; *c != '\0'; c++) { /* one line whatever the file has in it */
            (void)fputc((unsigned char)*c < ' ' ? ' ' : *c, text->out);
        }
    }
    (void)fputc('\n', text->out);
}

void orr_conform_print_tally(const struct orr_conform_tally *tally, FILE *out)
{
    (void)fprintf(out, "%u passed, %u failed, %u skipped\n", tally->passed, tally->failed,
                  tally->skipped);
}
