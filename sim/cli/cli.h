/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli.h - the front door: one function a verb, options shared by all, answers on stdout.
 *
 * A verb returns the exit code. stdout carries the answer (a table, or one JSON document with
 * --json), stderr everything else.
 */
#ifndef ORR_SIM_CLI_H
#define ORR_SIM_CLI_H

#include <argp.h>
#include <signal.h>
#include <stdio.h>

#include <orrery/analysis/json.h>
#include <orrery/base/status.h>
#include <orrery/core/policy.h>
#include <orrery/sim/import.h>
#include <orrery/sim/point.h>

struct orr_verb {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is "orrery VERB" */
};

int orr_cli_run(int argc, char **argv);
int orr_cli_check(int argc, char **argv);
int orr_cli_show(int argc, char **argv);
int orr_cli_diff(int argc, char **argv);
int orr_cli_policies(int argc, char **argv);
int orr_cli_metrics(int argc, char **argv);
int orr_cli_export(int argc, char **argv);
int orr_cli_plot(int argc, char **argv);
int orr_cli_audit(int argc, char **argv);
int orr_cli_bundle(int argc, char **argv);
int orr_cli_verify(int argc, char **argv);
int orr_cli_compare(int argc, char **argv);
int orr_cli_blame(int argc, char **argv);
int orr_cli_calibrate(int argc, char **argv);
int orr_cli_capacity(int argc, char **argv);
int orr_cli_page(int argc, char **argv);
int orr_cli_explain(int argc, char **argv);
int orr_cli_faults(int argc, char **argv);
int orr_cli_forecast(int argc, char **argv);
int orr_cli_whatif(int argc, char **argv);
int orr_cli_tune(int argc, char **argv);
int orr_cli_gate(int argc, char **argv);
int orr_cli_growth(int argc, char **argv);
int orr_cli_import(int argc, char **argv);
int orr_cli_init(int argc, char **argv);
int orr_cli_completion(int argc, char **argv);
int orr_cli_columns(int argc, char **argv);
int orr_cli_conform(int argc, char **argv);
int orr_cli_schedule(int argc, char **argv);
int orr_cli_sweep(int argc, char **argv);
int orr_cli_trace(int argc, char **argv);
int orr_cli_doctor(int argc, char **argv);

/* For exit code 70: what was typed, and a file orrery-bug-PID.txt in the current folder that says
 * so. Writing is safe in a signal handler and does nothing a second time. */
void orr_bug_remember(int argc, char **argv);
void orr_bug_write(void);
/* As a shell takes it for one word; the caller frees it. */
char *orr_cli_shell_word(const char *word);
/* Prints "orrery: TEXT" for the error and returns its exit code. */
int orr_cli_fail(const struct orr_err *err);

/* ---- options of every verb that takes a scenario ---- */
#define ORR_CLI_LIST_MAX 256

/* Options that every verb takes. */
enum orr_cli_color { ORR_COLOR_AUTO, ORR_COLOR_ALWAYS, ORR_COLOR_NEVER };
struct orr_cli_common {
    bool json; /* the answer is one JSON document */
    enum orr_cli_color color;
    bool quiet, verbose, no_progress;
};

struct orr_cli_now {                         /* a snapshot in place of a scenario: cli_now.h */
    const char *history, *shard, *scheduler; /* NULL: none */
    orr_ms now, remaining_ms, run_ms;        /* ORR_MS_NONE: not stated */
    uint64_t seed;
    bool is_one; /* the scenario was a snapshot */
    struct orr_snapshot_state state;
    char folder[4200]; /* of its trace; "": none */
    char *text;
    size_t text_bytes;
};

struct orr_cli_options {
    struct orr_cli_now snapshot; /* if takes_snapshot */
    bool takes_snapshot;
    char prune[128]; /* --prune as a parameter of the policy */
    struct orr_cli_common common;
    struct orr_scenario_options scenario;
    const char *clusters[ORR_CLI_LIST_MAX], *sets[ORR_CLI_LIST_MAX], *params[ORR_CLI_LIST_MAX];
    const char *output;
    const char *trace_cycles; /* run: which; NULL: none */
    const char *junit;        /* run: verdicts of `expect:`; NULL: nowhere */
    const char *at;           /* show: floor plan at that time; NULL: the scenario */
    bool force, keep_partial, resolved, check_books;
    uint32_t replicas, jobs;  /* run: 0: one run; 0: one a core */
    const char *save_at;      /* run: write a state then; NULL: never */
    const char *state, *from; /* run: its file; NULL: beside the results. The state to go on from */
    uint32_t allow_loss_ppm;  /* as in orr_trace_options */
    uint64_t digest_every;
    size_t spill_bytes; /* run: arrays from this size on lie in files */
};

/* For parsers of options: one more in a list of ORR_CLI_LIST_MAX; a number from 1 to `max`. Wrong
 * usage ends the program as argp does. `option` is as typed, such as "-j". */
void orr_cli_append(struct argp_state *state, const char **list, uint32_t *count,
                    const char *value);
uint32_t orr_cli_count(struct argp_state *state, const char *option, const char *text,
                       uint32_t max);
uint64_t orr_cli_seed(struct argp_state *state, const char *text);
/* Of NAME=R.db the path, and the name; of R.db the name is NULL, also where the file's own name or
 * folder has a =. Writes into the argument. */
const char *orr_cli_labelled(char *arg, const char **label);
#define ORR_CLI_LOSS_HELP                                                                          \
    "go on when more than 1 % of the rows are rejected, up to this share: 5%, 0.05 or any (any "   \
    "where none is given)"
/* An orr_world_warn_fn: remarks on what is read go to standard error. */
void orr_cli_warn(const char *text, void *context);
/* The share of --allow-loss=SHARE, also as the next word; ORR_LOSS_ALL where none is given. */
uint32_t orr_cli_loss(struct argp_state *state, const char *text);

/* GPUs of "80x8" or "80x8:H100", for verbs that only hold a load against them. */
int64_t orr_cli_cluster_gpus(struct argp_state *state, const char *text);

/* Children of the parser of a verb: fill the orr_cli_common that the verb names as its first
 * child's input. */
extern const struct argp_child orr_cli_everywhere[];
/* Ends the program as argp does where the words have a long option that no parser of the verb
 * knows and one that it does is near. For the begin of parsing (ARGP_KEY_INIT). */
void orr_cli_look_at_options(struct argp_state *state);

/* Groups of options beside those of the scenario that a verb takes. */
enum orr_cli_takes {
    ORR_CLI_RESULTS = 1, /* -o --force */
    ORR_CLI_RUN = 2,     /* --keep-partial --junit --digest-every --check-books */
    ORR_CLI_LOOK = 4     /* --resolved --at */
};
/* Parses; on wrong usage prints help to stderr and exits 64 as argp does. `doc` is the verb's help,
 * `takes` of enum orr_cli_takes. */
void orr_cli_parse(int argc, char **argv, const char *doc, unsigned takes,
                   struct orr_cli_options *options);
/* For verbs without arguments or options of their own: `args` as in struct argp, up to `max`
 * arguments into `list`; returns how many. */
uint32_t orr_cli_parse_plain(int argc, char **argv, const char *args, const char *doc,
                             const char **list, uint32_t max, struct orr_cli_common *common);

/* An option that only some of the things heed that a verb does: `of` are their names, such as
 * "exec, submit". */
struct orr_cli_only {
    int key;
    const char *option; /* as typed, such as "--index" */
    const char *of;     /* NULL ends a table */
};
struct orr_cli_seen { /* the keys of options, as they came */
    int keys[64];
    uint32_t count;
};
void orr_cli_see(struct orr_cli_seen *seen, int key);
/* ORR_USAGE: an option of the table was seen that is not of `what`. */
enum orr_status orr_cli_only(const struct orr_cli_only *rows, const struct orr_cli_seen *seen,
                             const char *what, struct orr_err *err) ORR_MUST_USE;

/* `run --replicas`: the exit code. */
int orr_cli_replicas(const struct orr_cli_options *options, const struct orr_point_options *point);

/* The points of merged sweeps, as orr_compare_options has them. */
struct orr_cli_settings {
    const char *const *paths, *const *labels;
    const uint32_t *arms, *points;
    uint32_t count;
    const char *axes; /* of the first file, whose values settings are called by; NULL: none */
};
/* Of the settings `arms` (those of the first one first), or of all where none is named. A setting
 * is called by its file where there are several, `names`. Texts live in the arena. ORR_USAGE: a
 * file is one run; ORR_DATA: there is no such setting, or no point has results. */
enum orr_status orr_cli_settings(const char *const *files, const char *const *names, uint32_t count,
                                 const char *const *arms, uint32_t arm_count,
                                 struct orr_arena *arena, struct orr_cli_settings *settings,
                                 struct orr_err *err) ORR_MUST_USE;

/* A path as typed that is read more than once. What comes through a pipe (-, /dev/stdin, /dev/fd/N,
 * a FIFO) is copied into a file without a name, which the path that is returned names from then on;
 * other paths stay. To be called once all options are right: it waits for the end of the pipe. Ends
 * the program where there is no room for the copy. */
const char *orr_cli_input(const char *path);
/* - is standard input where a file is named; other paths stay. */
const char *orr_cli_dash(const char *path);

/* ---- where answers that are files go; NULL: nowhere, which is fine ---- */
/* A name that is to be put in place by renaming must not be a device, pipe or folder: as root that
 * would replace /dev/null; and its folder must be there and take files, which nobody wants to hear
 * after the work. ORR_CANT_CREATE. */
void orr_cli_remember(int argc, char **argv); /* for it: what was typed, which stays there */
enum orr_status orr_cli_output(const char *path, struct orr_err *err) ORR_MUST_USE;
/* The same of a report. What is there is replaced if it is empty or begins as such a report does,
 * so that the same command may be given again: `begin`; NULL: whatever it is. */
enum orr_status orr_cli_report(const char *path, const char *begin,
                               struct orr_err *err) ORR_MUST_USE;
/* Writes such a report with what `print` says, whole or not there. Also ORR_IO. */
enum orr_status orr_cli_write(const char *path, const char *begin,
                              void (*print)(FILE *out, const void *context), const void *context,
                              struct orr_err *err) ORR_MUST_USE;
/* The same as orr_cli_output, and nothing of that name may be there: `else_do` says what to do
 * then; NULL: it may. */
enum orr_status orr_cli_new_output(const char *path, const char *else_do,
                                   struct orr_err *err) ORR_MUST_USE;
/* Such a file on its way to `path`: opens it as orr_cli_new_output allows, under a name of its own
 * beside it that a signal removes. _close puts it in its place if `status` is ORR_OK and all was
 * written (ORR_IO), unless something has that name by now (ORR_CANT_CREATE), and removes it
 * otherwise; of a file that is not open it returns `status`. */
struct orr_cli_file {
    const char *path, *else_do;
    char beside[4600];
    FILE *out; /* NULL: not open */
};
enum orr_status orr_cli_file_open(struct orr_cli_file *file, const char *path, const char *else_do,
                                  struct orr_err *err) ORR_MUST_USE;
/* The same for work that looks at orr_interrupt_catch's flag, of a path that was looked at. */
enum orr_status orr_cli_file_begin(struct orr_cli_file *file, const char *path, const char *else_do,
                                   struct orr_err *err) ORR_MUST_USE;
enum orr_status orr_cli_file_close(struct orr_cli_file *file, enum orr_status status,
                                   struct orr_err *err) ORR_MUST_USE;
/* Makes the folder unless it is there. ORR_CANT_CREATE. */
enum orr_status orr_cli_folder(const char *path, struct orr_err *err) ORR_MUST_USE;
/* Is a figure asked for by --plot and --term? Only dumb, which prints, needs no folder; else wrong
 * usage ends the program. */
bool orr_cli_draws(const struct argp_state *state, const char *plot, const char *term);
/* An orr_plot_report_fn: names a figure that was written, and what gnuplot complains of. */
void orr_cli_plotted(void *context, const char *path, const char *message);
/* The array `expectations`: what the scenario of a results file expects of it, and what held. */
void orr_cli_expectations(struct orr_json *json, const char *results);

/* ---- what goes to a terminal ---- */
/* From here on standard output and standard error put ? for what a name would command a terminal.
 * They have no file descriptor of their own then (fileno): orr_cli_is_terminal asks. */
void orr_cli_guard(void);
/* What follows on standard output is for programs: it goes out as it is, but to a terminal. */
void orr_cli_data(void);
bool orr_cli_is_terminal(FILE *out); /* stdout or stderr */
/* Sends a terminal a command of our own behind all that was printed. */
void orr_cli_command(FILE *out, const char *command);

/* ---- answers for people: verdicts in colour ---- */
struct orr_cli_colour {
    FILE *out, *stream; /* stream NULL: no colours */
    char *text;
    size_t bytes;
};
/* Where to print such an answer; _end puts it out. */
FILE *orr_cli_colour_begin(struct orr_cli_colour *colour, const struct orr_cli_common *common,
                           FILE *out);
void orr_cli_colour_end(struct orr_cli_colour *colour);

/* ---- times ---- */
/* Reads a time of the clock of a results file as orr_parse_clock does; ORR_MS_NONE without a text.
 * `option` is as typed. ORR_USAGE, and what orr_results_open fails with. */
enum orr_status orr_cli_time(const char *results, const char *option, const char *text, orr_ms *at,
                             struct orr_err *err) ORR_MUST_USE;
/* The same of a scenario that has not run; only a date makes it read the traces, for the clock's
 * begin. Times before the clock's 0 are refused. Fails as orr_point_check too. */
enum orr_status orr_cli_time_to_come(const struct orr_scenario_options *scenario,
                                     uint32_t allow_loss_ppm, const char *option, const char *text,
                                     orr_ms *at, struct orr_err *err) ORR_MUST_USE;
#define ORR_CLI_TIME_HELP "2d3h, \"2d 03:00:00\", 5400 (seconds) or a date, as times are printed"

/* ---- scenarios out of results files ---- */
bool orr_cli_is_results(
    const char *path); /* by its first bytes; false of a file that is not there */
/* Loads a scenario file, or of a results file the scenario that it ran; either changed as the
 * options say. Texts live in the arena until the scenario is released. Fails as orr_scenario_load
 * and orr_rerun_of do. */
enum orr_status orr_cli_scenario(const struct orr_scenario_options *options,
                                 struct orr_arena *arena, struct orr_scenario *scenario,
                                 struct orr_err *err) ORR_MUST_USE;

/* Of a study whose scenario may be a results file, options that name what that ran, with its seed,
 * and true in *from_results: its rows were counted then. What else is changed stays. `shake` (NULL:
 * none) is read and put before what users set. Texts live in the arena. Fails as orr_rerun_of and
 * orr_shake_parse do. */
enum orr_status orr_cli_study_of(struct orr_scenario_options *options, const char *shake,
                                 struct orr_arena *arena, bool *from_results,
                                 struct orr_err *err) ORR_MUST_USE;

/* What was changed from the baseline's scenario and files to those of other results, the first few
 * sentences; "" where nothing was, or it cannot be told. */
void orr_cli_changes(const char *results, const char *baseline, char *text, size_t bytes);

/* ---- progress ---- */
struct orr_progress {
    bool on;
    double last_s; /* when it was drawn last, monotonic */
};
void orr_progress_init(struct orr_progress *progress, const struct orr_cli_common *common);
/* `progress` of runs and studies, with a struct orr_progress for context. `now`: ORR_MS_NONE where
 * what is done has no clock in common. */
void orr_progress_draw(uint64_t done, uint64_t total, orr_ms now, void *progress);
void orr_progress_clear(struct orr_progress *progress);
/* For studies: a line that one of their processes was killed and its run begins again. */
void orr_cli_again(void);

/* Repeats runs whose warm-ups differ with the longest, and says so; `aligned` has count 0 where
 * they are equal. Fails as orr_align_warmups does. */
struct orr_replicas;
enum orr_status orr_cli_align(const char *const *paths, uint32_t count, uint32_t jobs,
                              struct orr_progress *progress, bool quiet,
                              struct orr_replicas *aligned, struct orr_err *err) ORR_MUST_USE;

/* "policies": their names and summaries. */
void orr_cli_json_policies(struct orr_json *json);

/* ---- check ---- */
/* Says which GPU quotas promise more than there is, and from when on (check_quotas.c). */
void orr_cli_check_quotas(const struct orr_scenario *scenario, const struct orr_world *world,
                          const struct orr_engine_shard *shards, orr_say_fn *say, void *context);
/* Nodes whose GPUs no job of the workload may use (check_nodes.c); none where no job asks GPUs. */
struct orr_cli_barred {
    uint64_t nodes, gpus;
};
struct orr_cli_barred orr_cli_check_nodes(const struct orr_world *world);
/* Says which jobs random failures will probably never let end (check_endless.c). */
void orr_cli_check_endless(const struct orr_scenario *scenario, const struct orr_world *world,
                           orr_say_fn *say, void *context);

/* ---- the printed summary of a run ---- */
struct orr_report {
    const struct orr_scenario *scenario;
    const struct orr_world *world;
    const struct orr_run *run;
    const struct orr_summary *summary;
    const struct orr_engine_shard *shards; /* one for each of the scenario's */
    const char *output;                    /* results file, NULL when none was written */
    double phase_s[ORR_POINT_PHASES]; /* CPU seconds: read, prepare, simulate, summarise, store */
    double wall_s;
    uint64_t seed;
};
void orr_report_text(const struct orr_report *report, FILE *out);
/* GPU-hours with as many digits as are worth reading; returns `out`. */
const char *orr_cli_gpu_hours(double value, char out[24]);
/* Of waits that one thing taken away, or lost, makes longer and shorter: where both are large, the
 * answer says that chance has a part in them. */
void orr_cli_say_turns(double longer_gpu_h, double shorter_gpu_h);
void orr_report_json(const struct orr_report *report, FILE *out);
double orr_wall_seconds(void); /* monotonic */

#endif
