/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_output.c - where answers that are files go, and scenarios out of them. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"
#include "cli_sql.h"

/* What was typed: an output is none of the inputs, whatever the verb. */
static char **typed;
static int typed_count;

void orr_cli_remember(int argc, char **argv)
{
    typed = argv;
    typed_count = argc;
}

/* Another word of the command line that names the same file, behind "=" too; NULL: none. */
static const char *typed_twice(const char *path)
{
    for (int i = 1; i < typed_count; i++) {
        const char *value = strchr(typed[i], '='), *words[] = {typed[i], value};
        for (size_t w = 0; w < 2 && words[w] != NULL; w++) {
            const char *word = words[w] + w;
            const size_t behind = strlen(word) < strlen(path) ? 0 : strlen(word) - strlen(path);
            /* the word itself, or its end: -oFILE */
            if (word + behind != path && orr_same_file(word, path)) {
                return word;
            }
        }
    }
    return NULL;
}

/* Of a file that is not there: is a folder, which takes files? */
static enum orr_status check_folder(const char *path, struct orr_err *err)
{
    const char *slash = strrchr(path, '/');
    const int used = slash != NULL ? (int)(slash - path) + 1 : 0;
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s.", used, path);
    return access(folder, W_OK | X_OK) == 0
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE, "%s: cannot create: %s", path, strerror(errno));
}

/* As /dev/stdout is, also where that is a file now: the link would be replaced. */
static bool is_descriptor(const char *path)
{
    static const char processes[] = "/proc/";
    char to[sizeof processes];
    return readlink(path, to, sizeof to) >= (ssize_t)strlen(processes) &&
           memcmp(to, processes, strlen(processes)) == 0;
}

enum orr_status orr_cli_output(const char *path, struct orr_err *err)
{
    struct stat file;
    if (path != NULL && strcmp(path, "-") == 0) {
        return orr_fail(err, ORR_USAGE,
                        "-: standard output is not for this file: name one (./- is called so)");
    }
    const char *input = path == NULL ? NULL : typed_twice(path);
    if (input != NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: is an input too (%s), and would be overwritten",
                        path, input);
    }
    if (path == NULL) {
        return ORR_OK;
    }
    if (stat(path, &file) != 0) {
        return check_folder(path, err);
    }
    if (S_ISREG(file.st_mode) && !is_descriptor(path)) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_CANT_CREATE, "%s: is %s, not a file", path,
                    S_ISDIR(file.st_mode)   ? "a folder"
                    : S_ISREG(file.st_mode) ? "a link to an open file"
                                            : "a device or pipe");
}

/* The first bytes of a file; how many there are. */
static size_t first_bytes(const char *path, char *begin, size_t bytes)
{
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;
    const size_t got = file != NULL ? fread(begin, 1, bytes, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return got;
}

enum orr_status orr_cli_report(const char *path, const char *begin, struct orr_err *err)
{
    char there[200];
    struct stat file;
    const enum orr_status status = orr_cli_output(path, err);
    if (status != ORR_OK || path == NULL || begin == NULL || stat(path, &file) != 0 ||
        file.st_size == 0) {
        return status;
    }
    const size_t bytes = strlen(begin);
    ORR_ASSERT(bytes <= sizeof there);
    return first_bytes(path, there, bytes) == bytes && memcmp(there, begin, bytes) == 0
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE,
                          "%s: exists, and is no report that this would replace; remove it or name "
                          "another",
                          path);
}

static enum orr_status check_free(const char *path, const char *else_do, struct orr_err *err)
{
    return path == NULL || else_do == NULL || !orr_is_taken(path)
               ? ORR_OK
               : orr_fail(err, ORR_CANT_CREATE, "%s: exists already; %s", path, else_do);
}

enum orr_status orr_cli_new_output(const char *path, const char *else_do, struct orr_err *err)
{
    const enum orr_status status = orr_cli_output(path, err);
    return status == ORR_OK ? check_free(path, else_do, err) : status;
}

enum orr_status orr_cli_folder(const char *path, struct orr_err *err)
{
    if (path == NULL || mkdir(path, 0777) == 0 || errno == EEXIST) {
        return ORR_OK;
    }
    return orr_fail(err, ORR_CANT_CREATE, "%s: cannot make this folder: %s", path, strerror(errno));
}

void orr_cli_expectations(struct orr_json *json, const char *results)
{
    struct orr_results in;
    struct orr_err ignored = {0};
    orr_results_open(&in, results, &ignored);
    orr_json_open(json, "expectations", '[');
    sqlite3_stmt *row = orr_results_prepare(&in, orr_cli_sql__expectations);
    while (orr_results_step(&in, row)) {
        const bool known = sqlite3_column_type(row, 1) != SQLITE_NULL;
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "expected", orr_results_text(&in, row, 0));
        orr_json_real(json, "value", known ? sqlite3_column_double(row, 1) : (double)NAN);
        if (sqlite3_column_type(row, 2) != SQLITE_NULL) {
            orr_json_bool(json, "holds", sqlite3_column_int(row, 2) != 0);
        } else { /* the run has no such metric */
            orr_json_text(json, "holds", NULL);
        }
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_results_close(&in);
}

bool orr_cli_is_results(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof magic]; /* its end too */
    return first_bytes(path, begin, sizeof begin) == sizeof begin &&
           memcmp(begin, magic, sizeof begin) == 0;
}

enum orr_status orr_cli_scenario(const struct orr_scenario_options *options,
                                 struct orr_arena *arena, struct orr_scenario *scenario,
                                 struct orr_err *err)
{
    struct orr_scenario_options loaded = *options;
    if (orr_cli_is_results(options->path)) {
        struct orr_scenario_options again;
        const enum orr_status status = orr_rerun_of(options->path, arena, &again, err);
        if (status != ORR_OK) {
            return status;
        }
        loaded.text = again.text;
        loaded.text_bytes = again.text_bytes;
        loaded.folder = again.folder;
        loaded.name = again.name;
        loaded.seed = options->seed_given ? options->seed : again.seed;
        loaded.seed_given = true;
    }
    return orr_scenario_load(&loaded, scenario, err);
}

enum orr_status orr_cli_study_of(struct orr_scenario_options *options, const char *shake,
                                 struct orr_arena *arena, bool *from_results, struct orr_err *err)
{
    struct orr_shake how = {0};
    enum orr_status status = ORR_OK;
    *from_results = options->path != NULL && orr_cli_is_results(options->path);
    if (*from_results) {
        struct orr_scenario_options again;
        status = orr_rerun_of(options->path, arena, &again, err);
        status = status == ORR_OK ? orr_rerun_inputs(options->path, &again, err) : status;
        if (status == ORR_OK) {
            options->path = again.path;
            options->text = again.text;
            options->text_bytes = again.text_bytes;
            options->folder = again.folder;
            options->name = again.name;
            options->seed = options->seed_given ? options->seed : again.seed;
            options->seed_given = true;
        }
    }
    if (status == ORR_OK && shake != NULL) {
        status = orr_shake_parse(shake, &how, err);
        options->bases = orr_shake_sets(arena, &how, &options->base_count);
    }
    return status;
}

bool orr_cli_draws(const struct argp_state *state, const char *plot, const char *term)
{
    if (plot == NULL && term != NULL && strcmp(term, "dumb") != 0) {
        argp_error(state, "--term %s: --plot names the folder of the figure", term);
    }
    return plot != NULL || term != NULL;
}

void orr_cli_plotted(void *context, const char *path, const char *message)
{
    (void)context;
    if (path == NULL) {
        (void)fprintf(stderr, "not drawn: %s\n", message);
        return;
    }
    if (strcmp(path, "-") != 0) {
        (void)fprintf(stderr, "%s\n", path);
    }
    if (message != NULL) {
        (void)fprintf(stderr, "gnuplot: %s\n", message);
    }
}
