/* SPDX-License-Identifier: GPL-3.0-or-later */
/* intake.h - other programs' records of jobs as native traces: any table by a map, Slurm's
 * accounting by itself, request logs as rates; and the report of what became of their rows.
 */
#ifndef ORR_SIM_INTAKE_H
#define ORR_SIM_INTAKE_H

#include <stdio.h>

#include <orrery/traces/stat.h>

/* Rows left out for one reason. */
struct orr_intake_drop {
    char reason[120]; /* without what differs from row to row */
    uint64_t rows;
    uint32_t line;   /* of the first; 0: not known */
    char first[300]; /* what is said of it */
    bool asked;      /* by a rule of the map, or because the row is no job (a step) */
};
enum { ORR_INTAKE_DROPS = 48, ORR_INTAKE_NOTES = 32 };

struct orr_intake_report {
    const char *file, *about; /* about: of the map; NULL: none. Live in the arena */
    char sha256[65];
    bool is_series, is_dated;   /* rates, not jobs; its instants are ms since 1970 */
    uint64_t rows, kept, wrong; /* wrong: left out without anybody having asked for it */
    struct orr_intake_drop drops[ORR_INTAKE_DROPS]; /* the last takes what has no room */
    uint32_t drop_count;
    struct orr_trace_stat stat;
    const char *notes[ORR_INTAKE_NOTES]; /* sentences */
    uint32_t note_count;
    /* of a series */
    uint64_t steps;
    double sums[8], most[8]; /* by column */
    const char *columns[8];
    uint32_t column_count;
    orr_ms step_ms, first_ms, last_ms;
    /* of a table of nodes */
    bool is_nodes;
    uint64_t nodes;
    int64_t gpus;
    uint32_t pools; /* kinds of nodes */
    struct orr_arena arena;
};
void orr_intake_report_init(struct orr_intake_report *report, const char *file);
void orr_intake_report_release(struct orr_intake_report *report);
void orr_intake_drop(struct orr_intake_report *report, bool asked, const char *reason,
                     uint32_t line, const char *first);
void orr_intake_note(struct orr_intake_report *report, const char *format, ...) ORR_PRINTF(2, 3);
/* ORR_DATA when more rows were wrong than is borne, as orr_trace_check_loss has it. */
enum orr_status orr_intake_check_loss(const struct orr_intake_report *report, uint32_t allow_ppm,
                                      struct orr_err *err) ORR_MUST_USE;

struct orr_intake_options {
    const char *map;       /* a file, or the name of a map that is shipped; "auto": proposed */
    const char *map_text;  /* instead of the file, with `map` as its name; NULL: read it */
    const char *zone;      /* of dates that state none; NULL: that of the map, else UTC */
    const char *delimiter; /* NULL: that of the map, else found */
    const char *count_as;  /* Slurm: "gpu" (default), or "cpu": a CPU is taken for a GPU */
    const char *queue;     /* Slurm: "partition" (default), "account" or "qos" */
    bool sbatch;           /* Slurm: also what jobs were submitted with, as policy slurm reads it */
};

/* Reads a table by a map and writes the native trace, or the series, that it says, to `out` (NULL:
 * nowhere). Bounded memory but for the names of jobs, where the map has any. The report is made
 * here; its release is the caller's, also after a failure.
 *   ORR_NO_INPUT, ORR_IO, ORR_DATA (file:line:column of the map, file:line of the table),
 *   ORR_USAGE (no such map) */
enum orr_status orr_intake_table(const char *path, const struct orr_intake_options *options,
                                 FILE *out, struct orr_intake_report *report,
                                 struct orr_err *err) ORR_MUST_USE;

/* A map for the table from its header and first rows, as a file to edit, to `out`; below it, as
 * comments, its first three rows as they would be read. ORR_DATA where too little is known. */
enum orr_status orr_intake_propose(const char *path, const struct orr_intake_options *options,
                                   FILE *out, struct orr_err *err) ORR_MUST_USE;

/* Maps that are shipped: where they are (in the arena; NULL: nowhere), and their names, sorted. */
const char *orr_intake_maps(struct orr_arena *arena, const char ***names, uint32_t *count);
/* What a word that names no map may mean: the maps of that origin ("a or b"), else the nearest
 * name; NULL: nothing. */
const char *orr_intake_near_maps(struct orr_arena *arena, const char *word);

/* Whether a file is sacct's output by its header. */
bool orr_intake_is_sacct(const char *path);
/* Reads sacct's output: any columns in any order, jobs without their steps, attempts of a job put
 * together. */
enum orr_status orr_intake_sacct(const char *path, const struct orr_intake_options *options,
                                 FILE *out, struct orr_intake_report *report,
                                 struct orr_err *err) ORR_MUST_USE;

/* What `scontrol show node`, `scontrol show partition` (with -o or without) and `sacctmgr show
 * assoc -P` say, from any number of files, as a scenario to `out` that replays `trace` (NULL:
 * none). `queues`: further ones, which the jobs name; NULL: none. Nothing that they do not say is
 * made up: comments and notes name what is to be filled in. *gpus: of all nodes. */
enum orr_status orr_intake_cluster(const char *const *paths, uint32_t count,
                                   const struct orr_intake_options *options, const char *trace,
                                   const struct orr_idmap *queues, FILE *out, int64_t *gpus,
                                   struct orr_intake_report *report,
                                   struct orr_err *err) ORR_MUST_USE;
/* Whether a file is one of those, by its first words. */
bool orr_intake_is_cluster(const char *path);
/* `cluster:` of a scenario from the nodes of one such file alone; ORR_DATA: it has none. */
enum orr_status orr_intake_nodes(const char *path, FILE *out, struct orr_err *err) ORR_MUST_USE;

/* Tables of measured step rates: Gavel's JSON by GPU model, or CSV as profiles of a scenario have
 * it (profile, placement, step_s or steps_per_s; profile, end, gain), several put together. *out is
 * the caller's to free; NULL on failure: ORR_NO_INPUT, ORR_IO, ORR_DATA with the place. */
struct orr_intake_rates;
enum orr_status orr_intake_rates_read(const char *const *paths, uint32_t count,
                                      struct orr_intake_rates **out,
                                      struct orr_err *err) ORR_MUST_USE;
void orr_intake_rates_free(struct orr_intake_rates *rates); /* NULL does nothing */
bool orr_intake_rates_have_epochs(const struct orr_intake_rates *rates);
/* As profiles of a scenario: the file of profiles, which names steps.csv and epochs.csv beside it,
 * and these. */
void orr_intake_rates_write(const struct orr_intake_rates *rates, FILE *out);
void orr_intake_rates_write_steps(const struct orr_intake_rates *rates, FILE *out);
void orr_intake_rates_write_epochs(const struct orr_intake_rates *rates, FILE *out);

/* Whether a file is a list of jobs that state their work in steps: of Gavel or Shockwave (cells
 * between tabs, no header), or of Pollux and Sia (CSV). */
bool orr_intake_is_steps(const char *path);
/* Reads it. A job is as long as its steps, or the epochs of its application, take on the reference
 * of its rates, and names its profile; rates NULL: as long as its row says, where it does. The rest
 * as of orr_intake_table. */
enum orr_status orr_intake_steps(const char *path, const struct orr_intake_rates *rates, FILE *out,
                                 struct orr_intake_report *report,
                                 struct orr_err *err) ORR_MUST_USE;

/* What a Kubernetes cluster's records over time say of its jobs, as a native trace with attempts:
 * dumps of `kubectl get -o json` (what is in the next no more is gone; its name or the newest time
 * in it says when it was made), logs of `kubectl get -w -o json`, audit logs of level
 * RequestResponse, answers of Prometheus' range queries of kube-state-metrics and of KAI's. Any
 * number of files, or folders of them, in any order; pods are merged by their uids. Memory grows
 * with pods and with the largest object or dump. The rest as of orr_intake_table; rows of the
 * report are jobs. */
enum orr_status orr_intake_history(const char *const *paths, uint32_t count, FILE *out,
                                   struct orr_intake_report *report,
                                   struct orr_err *err) ORR_MUST_USE;
/* A folder, or a file that begins as watch events, an audit log or an answer of Prometheus does. */
bool orr_intake_is_history(const char *path);

#endif
