/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/sim/plugin.h>
#include <orrery/sim/store.h>
#include <orrery/sim/study.h>

#include "cli.h"

static const struct orr_verb verbs[] = {
    {"run", "replay a scenario, or a trace on a cluster", orr_cli_run},
    {"check", "say what cannot work before anything runs", orr_cli_check},
    {"import", "make a native trace of another program's records", orr_cli_import},
    {"init", "write a commented scenario from a trace", orr_cli_init},
    {"show", "a scenario resolved, each value with its origin; the floor plan of results",
     orr_cli_show},
    {"diff", "say what differs between two scenarios", orr_cli_diff},
    {"policies", "list policies, or one policy's parameters", orr_cli_policies},
    {"metrics", "list metrics with unit, direction and definition", orr_cli_metrics},
    {"export", "write a table of a results file as CSV, JSON lines, SWF or OpenMetrics",
     orr_cli_export},
    {"plot", "draw figures of a results file with gnuplot", orr_cli_plot},
    {"report", "one self-contained HTML page about results", orr_cli_page},
    {"explain", "the story of one job, who waits at a time, why a queue gets what it gets",
     orr_cli_explain},
    {"forecast", "when the jobs start that wait at a moment, with intervals", orr_cli_forecast},
    {"whatif", "a scenario before and after a change: who gains, who loses", orr_cli_whatif},
    {"blame", "who made others wait: each user or queue taken away in turn", orr_cli_blame},
    {"faults", "what the loss of each node, rack or block would have cost", orr_cli_faults},
    {"growth", "the month in which each objective breaks when arrivals grow", orr_cli_growth},
    {"capacity", "the least nodes, quota or limit with which an objective holds", orr_cli_capacity},
    {"tune", "quotas that meet objectives of several queues, and what they cost whom",
     orr_cli_tune},
    {"compare", "paired differences between policies or settings", orr_cli_compare},
    {"sweep", "an experiment of many runs: plan, run anywhere, merge", orr_cli_sweep},
    {"gate", "hold results against a baseline: pass, regressed or inconclusive", orr_cli_gate},
    {"calibrate", "simulated against recorded starts, per queue and kind", orr_cli_calibrate},
    {"audit", "check a schedule against the rules it should keep", orr_cli_audit},
    {"bundle", "results, scenarios, checksums and figures as one archive", orr_cli_bundle},
    {"verify", "repeat runs of a bundle and compare digests", orr_cli_verify},
    {"schedule", "run one scheduling cycle on a cluster's snapshot", orr_cli_schedule},
    {"trace", "look at traces, cut, convert, merge and scale them", orr_cli_trace},
    {"columns", "list the columns of a native trace", orr_cli_columns},
    {"completion", "completion of verbs and options for bash, zsh or fish", orr_cli_completion},
    {"conform", "run conformance cases of KAI and Kueue", orr_cli_conform},
    {"doctor", "versions, libraries and programs found", orr_cli_doctor},
};
#define VERBS (sizeof verbs / sizeof verbs[0])

static void usage(FILE *out)
{
    (void)fprintf(out, "Usage: orrery VERB [OPTION...] [FILE...]\n"
                       "Replay a GPU cluster's jobs under a scheduling policy, and read what came "
                       "of it.\n\n");
    for (size_t i = 0; i < VERBS; i++) {
        (void)fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    }
    (void)fprintf(out,
                  "\n`orrery VERB --help` explains a verb. Start with:\n"
                  "  orrery run --trace traces/data/philly.csv.gz --cluster 112x8 --policy fifo\n");
}

static int unknown_verb(const char *word)
{
    const char *names[VERBS];
    for (size_t i = 0; i < VERBS; i++) {
        names[i] = verbs[i].name;
    }
    const char *near = orr_nearest(word, names, VERBS);
    (void)fprintf(stderr, "orrery: unknown verb \"%s\"", word);
    if (near != NULL) {
        (void)fprintf(stderr, " (did you mean \"%s\"?)", near);
    }
    (void)fprintf(stderr, "; `orrery --help` lists them\n");
    return orr_status_exit_code(ORR_USAGE);
}

/* An assertion that fails aborts, and so does who gets no memory; the contract with callers is exit
 * 70 for a bug, 71 for a machine that cannot. */
static void on_abort(int signal)
{
    (void)signal;
    const bool no_memory = errno == ENOMEM;
    orr_interrupt_remove();
    if (!no_memory) {
        orr_bug_write();
    }
    _exit(orr_status_exit_code(no_memory ? ORR_NO_MEMORY : ORR_BUG));
}

static void print_version(FILE *out, struct argp_state *state)
{
    (void)state;
    (void)fprintf(out, "orrery %s (policy interface %u, results schema %d)\n", ORR_VERSION,
                  ORR_POLICY_ABI, ORR_STORE_VERSION);
}

/* argp ends the program itself after --help and --version. */
static void at_exit(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "orrery: cannot write to standard output\n");
        _exit(orr_status_exit_code(ORR_IO));
    }
}

/* A verb's exit code. That an answer cannot be written says more than that it is no (1) or not
 * known (2); why a verb failed (64 and up) says more. */
static int ended(int code)
{
    if (code != 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        (void)fprintf(stderr, "orrery: cannot write to standard output\n");
        _exit(code < orr_status_exit_code(ORR_USAGE) ? orr_status_exit_code(ORR_IO) : code);
    }
    return code;
}

/* Arrays of a run come and go by the megabyte: pages given back would be touched anew by the next.
 * Those of runs of millions of jobs are given back all the same, as they are what the peak is. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 8 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* Pages of help are as wide as the terminal, or COLUMNS; argp itself knows 79 only. Narrower than
 * 60 its columns do not fit. */
static void widen_help(void)
{
    const char *stated = getenv("COLUMNS");
    int64_t columns = 0;
    char format[40];
    struct winsize size;
    if ((stated == NULL || !orr_parse_i64(stated, strlen(stated), &columns)) &&
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
    }
    if (columns > 0) {
        columns = columns < 60 ? 60 : columns > 400 ? 400 : columns;
        (void)snprintf(format, sizeof format, "rmargin=%d", (int)columns - 1);
        (void)setenv("ARGP_HELP_FMT", format, 0);
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_abort};
    char help[] = "--help";
    orr_cli_guard();
    keep_freed_memory();
    widen_help();
    orr_bug_remember(argc, argv);
    orr_cli_remember(argc, argv);
    (void)sigaction(SIGABRT, &action, NULL);
    orr_plugin_at_end(orr_interrupt_remove);
    action.sa_handler = SIG_IGN; /* a full file is an error of write(), not a death */
    (void)sigaction(SIGXFSZ, &action, NULL);
    (void)atexit(at_exit);
    argp_program_version_hook = print_version; /* --version of every verb */
    if (argc < 2) {
        usage(stderr);
        return orr_status_exit_code(ORR_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || (strcmp(argv[1], "help") == 0 && argc == 2)) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version(stdout, NULL);
        return 0;
    }
    if (strcmp(argv[1], "help") == 0 && argc == 3) { /* `help VERB` is `VERB --help` */
        argv[1] = argv[2];
        argv[2] = help;
    }
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp(verbs[i].name, argv[1]) == 0) {
            char name[40];
            (void)snprintf(name, sizeof name, "orrery %s", verbs[i].name);
            argv[1] = name;
            return ended(verbs[i].run(argc - 1, argv + 1));
        }
    }
    return unknown_verb(argv[1]);
}
