/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/policies/registry.h>
#include <orrery/sim/store.h>
#include <orrery/traces/reader.h>

#include "cli.h"

/* First line a program prints for --version; false when it cannot be run. */
static bool program_version(const char *program, char *line, size_t bytes)
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
        (void)execlp(program, program, "--version", (char *)NULL);
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

/* What was found; a text is NULL when it was not. */
static const char *find_gnuplot(char *line, size_t bytes)
{
    return program_version("gnuplot", line, bytes) ? line : NULL;
}

static void print_text(const char *gnuplot)
{
    size_t count;
    (void)printf("orrery      %s (policy interface %u, results schema %d)\n", ORR_VERSION,
                 ORR_POLICY_ABI, ORR_STORE_VERSION);
    (void)printf("compiler    %s\n", __VERSION__);
    (void)printf("sqlite      %s\n", orr_store_sqlite_version());
    (void)printf("gnuplot     %s\n",
                 gnuplot != NULL ? gnuplot
                                 : "absent: `orrery plot` will write scripts and data only");
    const struct orr_trace_format *formats = orr_trace_formats(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-11s %-10s %s\n", i == 0 ? "traces" : "", formats[i].name,
                     formats[i].summary);
    }
    const struct orr_policy *const *policies = orr_policies(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-11s %-10s %s\n", i == 0 ? "policies" : "", policies[i]->name,
                     policies[i]->summary);
    }
}

static void print_json(const char *gnuplot)
{
    struct orr_json json = {.out = stdout};
    size_t count;
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "orrery", ORR_VERSION);
    orr_json_int(&json, "policy_interface", ORR_POLICY_ABI);
    orr_json_int(&json, "results_schema", ORR_STORE_VERSION);
    orr_json_text(&json, "compiler", __VERSION__);
    orr_json_text(&json, "sqlite", orr_store_sqlite_version());
    orr_json_text(&json, "gnuplot", gnuplot);
    const struct orr_trace_format *formats = orr_trace_formats(&count);
    orr_json_open(&json, "traces", '[');
    for (size_t i = 0; i < count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "name", formats[i].name);
        orr_json_text(&json, "summary", formats[i].summary);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_cli_json_policies(&json);
    orr_json_close(&json, '}');
}

int orr_cli_doctor(int argc, char **argv)
{
    struct orr_cli_common common;
    char line[200];
    (void)orr_cli_parse_plain(
        argc, argv, NULL, "Say which versions, formats and programs were found.", NULL, 0, &common);
    const char *gnuplot = find_gnuplot(line, sizeof line);
    if (common.json) {
        print_json(gnuplot);
    } else {
        print_text(gnuplot);
    }
    return 0;
}
