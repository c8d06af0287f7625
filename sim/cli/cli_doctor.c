/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/policies/registry.h>
#include <orrery/sim/intake.h>
#include <orrery/sim/store.h>
#include <orrery/traces/reader.h>

#include "cli.h"

/* First line that a program prints; false when it cannot be run. */
static bool first_line(char *const argv[], char *line, size_t bytes)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while (child > 0 && used + 1 < bytes &&
           (got = read(ends[0], line + used, bytes - 1 - used)) > 0) {
        used += (size_t)got;
    }
    (void)close(ends[0]);
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* What was found of gnuplot. */
struct gnuplot {
    bool found;
    char version[200];
    char terminals[4000]; /* a blank before and behind each */
};

static void find_gnuplot(struct gnuplot *gnuplot)
{
    char name[] = "gnuplot", version[] = "--version", run[] = "-e",
         ask[] = "set print '-'; print ' '.GPVAL_TERMINALS.' '";
    char *const of_version[] = {name, version, NULL}, *const of_terminals[] = {name, run, ask,
                                                                               NULL};
    *gnuplot = (struct gnuplot){0};
    gnuplot->found = first_line(of_version, gnuplot->version, sizeof gnuplot->version);
    if (!gnuplot->found ||
        !first_line(of_terminals, gnuplot->terminals, sizeof gnuplot->terminals)) {
        gnuplot->terminals[0] = '\0';
    }
}

/* What `plot --term` takes, and gnuplot's name for it. */
static const struct {
    const char *term, *gnuplot;
} terminals[] = {
    {"svg", " svg "}, {"png", " pngcairo "}, {"pdf", " pdfcairo "}, {"dumb", " dumb "}};

enum { TERMINALS = sizeof terminals / sizeof terminals[0] };

static bool has_terminal(const struct gnuplot *gnuplot, size_t i)
{
    return strstr(gnuplot->terminals, terminals[i].gnuplot) != NULL;
}

/* What `sweep submit` writes for, and the program that takes it. */
static const struct {
    const char *engine, *program;
} engines[] = {{"slurm", "sbatch"}, {"parallel", "parallel"}, {"kubernetes", "kubectl"}};

enum { ENGINES = sizeof engines / sizeof engines[0] };

static bool is_in_path(const char *program)
{
    const char *folder = getenv("PATH");
    bool found = false;
    while (folder != NULL && *folder != '\0' && !found) {
        char path[4200];
        const size_t bytes = strcspn(folder, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", bytes < 4000 ? (int)bytes : 4000, folder,
                       program);
        found = access(path, X_OK) == 0;
        folder += bytes + (folder[bytes] == ':');
    }
    return found;
}

/* What import makes traces of, beside the formats that run reads itself. */
static void print_imports(void)
{
    struct orr_arena arena;
    const char **names;
    uint32_t count;
    orr_arena_init(&arena);
    (void)printf("imports     %-10s %s\n%-11s %-10s %s\n%-11s %-10s ", "Slurm",
                 "sacct, scontrol and sacctmgr, a slurm.conf", "", "Kubernetes",
                 "dumps over time (--format history), a snapshot", "", "maps");
    (void)orr_intake_maps(&arena, &names, &count);
    for (uint32_t i = 0; i < count; i++) {
        (void)printf("%s%s", i > 0 ? ", " : "", names[i]);
    }
    (void)printf("%s\n", count == 0 ? "none found: --map FILE, or --map auto" : "; --map auto");
    orr_arena_release(&arena);
}

static void print_engines(void)
{
    for (size_t i = 0; i < ENGINES; i++) {
        (void)printf("%-11s %-10s %s %s\n", i == 0 ? "engines" : "", engines[i].engine,
                     engines[i].program, is_in_path(engines[i].program) ? "found" : "absent");
    }
}

static void print_text(const struct gnuplot *gnuplot)
{
    size_t count;
    (void)printf("orrery      %s (policy interface %u, results schema %d)\n", ORR_VERSION,
                 ORR_POLICY_ABI, ORR_STORE_VERSION);
    (void)printf("compiler    %s\n", __VERSION__);
    (void)printf("sqlite      %s\n", orr_store_sqlite_version());
    (void)printf("gnuplot     %s\n",
                 gnuplot->found ? gnuplot->version
                                : "absent: `orrery plot` will write scripts and data only");
    for (size_t i = 0; i < TERMINALS && gnuplot->found; i++) {
        (void)printf("%-11s %-10s %s\n", i == 0 ? "terminals" : "", terminals[i].term,
                     has_terminal(gnuplot, i) ? "found" : "absent from this gnuplot");
    }
    const struct orr_trace_format *formats = orr_trace_formats(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-11s %-10s %s\n", i == 0 ? "traces" : "", formats[i].name,
                     formats[i].summary);
    }
    print_imports();
    print_engines();
    const struct orr_policy *const *policies = orr_policies(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-11s %-10s %s\n", i == 0 ? "policies" : "", policies[i]->name,
                     policies[i]->summary);
    }
}

static void json_imports(struct orr_json *json)
{
    struct orr_arena arena;
    const char **names;
    uint32_t count;
    orr_arena_init(&arena);
    (void)orr_intake_maps(&arena, &names, &count);
    orr_json_open(json, "maps", '[');
    for (uint32_t i = 0; i < count; i++) {
        orr_json_text(json, NULL, names[i]);
    }
    orr_json_close(json, ']');
    orr_arena_release(&arena);
}

static void print_json(const struct gnuplot *gnuplot)
{
    struct orr_json json = {.out = stdout};
    size_t count;
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "orrery", ORR_VERSION);
    orr_json_int(&json, "policy_interface", ORR_POLICY_ABI);
    orr_json_int(&json, "results_schema", ORR_STORE_VERSION);
    orr_json_text(&json, "compiler", __VERSION__);
    orr_json_text(&json, "sqlite", orr_store_sqlite_version());
    orr_json_text(&json, "gnuplot", gnuplot->found ? gnuplot->version : NULL);
    orr_json_open(&json, "terminals", '[');
    for (size_t i = 0; i < TERMINALS; i++) {
        if (has_terminal(gnuplot, i)) {
            orr_json_text(&json, NULL, terminals[i].term);
        }
    }
    orr_json_close(&json, ']');
    const struct orr_trace_format *formats = orr_trace_formats(&count);
    orr_json_open(&json, "traces", '[');
    for (size_t i = 0; i < count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", formats[i].name);
        orr_json_text(&json, "summary", formats[i].summary);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    json_imports(&json);
    orr_json_open(&json, "engines", '[');
    for (size_t i = 0; i < ENGINES; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", engines[i].engine);
        orr_json_text(&json, "program", engines[i].program);
        orr_json_bool(&json, "found", is_in_path(engines[i].program));
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_cli_json_policies(&json);
    orr_json_close(&json, '}');
}

int orr_cli_doctor(int argc, char **argv)
{
    struct orr_cli_common common;
    struct gnuplot gnuplot;
    (void)orr_cli_parse_plain(argc, argv, NULL,
                              "Say which versions, formats, terminals and programs were found.",
                              NULL, 0, &common);
    find_gnuplot(&gnuplot);
    if (common.json) {
        print_json(&gnuplot);
    } else {
        print_text(&gnuplot);
    }
    return 0;
}
