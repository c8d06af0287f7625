/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sacct's output: any columns in any order. A job's rows (requeues, with --duplicates) become one
 * job, whose last attempt says how long it runs; steps are left out, for their job counts them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#include <orrery/policies/slurm_hosts.h>
#include <orrery/traces/source.h>

#include "intake_int.h"
#include "native_out.h"
#include "sacct_attempts.h"
#include "sacct_json.h"
#include "slurm_text.h"

#define NO_GPU         "holds no GPU (--count cpu takes CPUs for GPUs)"
#define JSON_BYTES_MAX ((size_t)4 << 30)

#define COLUMN_LIST(X)                                                                             \
    X(JobID)                                                                                       \
    X(JobIDRaw)                                                                                    \
    X(Cluster)                                                                                     \
    X(User)                                                                                        \
    X(Account)                                                                                     \
    X(Partition)                                                                                   \
    X(QOS)                                                                                         \
    X(State)                                                                                       \
    X(Submit)                                                                                      \
    X(Eligible)                                                                                    \
    X(Start)                                                                                       \
    X(End)                                                                                         \
    X(ElapsedRaw)                                                                                  \
    X(Elapsed)                                                                                     \
    X(TimelimitRaw)                                                                                \
    X(Timelimit)                                                                                   \
    X(NNodes)                                                                                      \
    X(AllocNodes)                                                                                  \
    X(NCPUS)                                                                                       \
    X(AllocCPUS)                                                                                   \
    X(AllocTRES)                                                                                   \
    X(ReqTRES)                                                                                     \
    X(AllocGRES)                                                                                   \
    X(ReqGRES)                                                                                     \
    X(SubmitLine)                                                                                  \
    X(JobName)
enum column {
#define X(name) AT_##name,
    COLUMN_LIST(X)
#undef X
        COLUMNS
};

static const char *const column_names[COLUMNS] = {
#define X(name) [AT_##name] = #name,
    COLUMN_LIST(X)
#undef X
};

/* Columns that may hold anything, the delimiter too. */
static const char *const texts[] = {"JobName",       "Comment",    "AdminComment",
                                    "SystemComment", "SubmitLine", "WorkDir",
                                    "Extra",         "Container",  "Reason"};

struct sacct {
    const struct orr_intake_options *options;
    struct orr_intake_report *report;
    struct orr_arena *arena;
    struct orr_idmap ids, names; /* names: of queues, users, types, states */
    struct sacct_job *jobs;      /* by index of ids */
    uint32_t capacity;
    struct sacct_attempts attempts;
    const char *columns[COLUMNS]; /* as the file spells them */
    uint32_t of[COLUMNS];         /* index among those asked for; ORR_NONE: the file has none */
    const struct orr_cell *cells;
    uint32_t line, cluster; /* cluster: the first one, in names */
    struct times *dates;
    bool clock_known, is_clock; /* times are seconds of a clock of their own */
    bool has_dates;
    uint64_t pending_tasks, running, shards, slices, het;
    uint64_t no_submit; /* rows that do not say it, of a file that has the column */
    uint64_t cut;       /* jobs with more attempts than fit */
};

static struct orr_cell cell_of(const struct sacct *sacct, enum column column)
{
    struct orr_cell cell =
        sacct->of[column] == ORR_NONE ? (struct orr_cell){"", 0} : sacct->cells[sacct->of[column]];
    while (cell.bytes > 0 && (cell.at[0] == ' ' || cell.at[0] == '\n')) {
        cell = (struct orr_cell){cell.at + 1, cell.bytes - 1};
    }
    while (cell.bytes > 0 && (cell.at[cell.bytes - 1] == ' ' || cell.at[cell.bytes - 1] == '\n')) {
        cell.bytes--;
    }
    return cell;
}

static bool drop(struct sacct *sacct, bool asked, const char *reason)
{
    orr_intake_drop(sacct->report, asked, reason, sacct->line, reason);
    return false;
}

static bool wrong(struct sacct *sacct, enum column column, struct orr_cell cell, const char *what)
{
    char reason[120], first[200];
    (void)snprintf(reason, sizeof reason, "%s %s", column_names[column], what);
    (void)snprintf(first, sizeof first, "%s: \"%s\" %s", column_names[column], expr_show(cell).text,
                   what);
    orr_intake_drop(sacct->report, false, reason, sacct->line, first);
    return false;
}

/* A date, seconds since 1970 (SLURM_TIME_FORMAT=%s), or nothing. */
static bool read_time(struct sacct *sacct, enum column column, orr_ms *out)
{
    const struct orr_cell cell = cell_of(sacct, column);
    int64_t seconds;
    *out = ORR_MS_NONE;
    if (slurm_is_nothing(cell)) {
        return true;
    }
    if (slurm_integer(cell, &seconds)) {
        if (seconds < 0 || seconds > 99999999999) {
            return wrong(sacct, column, cell, "is out of range");
        }
        /* small numbers count from a start of their own */
        const bool is_clock = seconds < 631152000;
        sacct->is_clock = sacct->clock_known ? sacct->is_clock : is_clock;
        sacct->clock_known = true;
        *out = seconds * 1000;
        return true;
    }
    if (!times_read(sacct->dates, cell, out)) {
        return wrong(sacct, column, cell, "is not a time");
    }
    if (sacct->clock_known && sacct->is_clock) {
        return wrong(sacct, column, cell, "is a date, and others are seconds of a clock");
    }
    sacct->clock_known = true;
    sacct->has_dates = true;
    return true;
}

static bool read_run(struct sacct *sacct, const struct sacct_job *job, orr_ms *run)
{
    const struct orr_cell raw = cell_of(sacct, AT_ElapsedRaw), text = cell_of(sacct, AT_Elapsed);
    int64_t seconds;
    if (raw.bytes > 0 && slurm_integer(raw, &seconds) && seconds >= 0 && seconds < 4000000000) {
        *run = seconds * 1000;
        return true;
    }
    if (text.bytes > 0) {
        return slurm_span(text, run) ||
               wrong(sacct, AT_Elapsed, text, "is not a time like 2-03:41:40");
    }
    if (job->start_ms != ORR_MS_NONE && job->end_ms != ORR_MS_NONE &&
        job->end_ms >= job->start_ms) {
        *run = job->end_ms - job->start_ms;
        return true;
    }
    return drop(sacct, false, "says neither how long it ran nor when it started and ended");
}

static void read_limit(const struct sacct *sacct, struct sacct_job *job)
{
    const struct orr_cell raw = cell_of(sacct, AT_TimelimitRaw);
    const struct orr_cell limit = cell_of(sacct, AT_Timelimit);
    int64_t minutes;
    orr_ms span;
    job->limit_ms = ORR_MS_NONE;
    if (slurm_integer(raw, &minutes) && minutes > 0 && minutes < 50000000) {
        job->limit_ms = minutes * 60000;
    } else if (slurm_span(limit, &span) && span > 0) {
        job->limit_ms = span;
    }
    job->unlimited =
        job->limit_ms == ORR_MS_NONE && (slurm_is_endless(raw) || slurm_is_endless(limit));
}

static uint32_t name_of(struct sacct *sacct, struct orr_cell name)
{
    return name.bytes == 0 ? ORR_NONE : orr_idmap_put(&sacct->names, name.at, name.bytes, NULL);
}

/* What the row holds or asks for; false: the row is dropped. */
static bool read_shape(struct sacct *sacct, struct sacct_job *job)
{
    const struct orr_cell alloc = cell_of(sacct, AT_AllocTRES), asked = cell_of(sacct, AT_ReqTRES);
    const struct orr_cell tres = alloc.bytes > 0 ? alloc : asked;
    int64_t nodes = slurm_integer_or(cell_of(sacct, AT_NNodes), 0);
    nodes = nodes > 0 ? nodes : slurm_integer_or(cell_of(sacct, AT_AllocNodes), 0);
    nodes = nodes > 0 ? nodes : slurm_integer_or(slurm_tres(tres, "node"), 1);
    job->nodes = nodes > 0 && nodes <= 1000000 ? (uint32_t)nodes : 1;
    int64_t cpus = slurm_integer_or(cell_of(sacct, AT_NCPUS), 0);
    cpus = cpus > 0 ? cpus : slurm_integer_or(cell_of(sacct, AT_AllocCPUS), 0);
    cpus = cpus > 0 ? cpus : slurm_integer_or(slurm_tres(tres, "cpu"), 0);
    job->cpus = cpus > 0 && cpus < 100000000 ? cpus : 0;
    int64_t mib;
    job->mem_mib = slurm_mib(slurm_tres(tres, "mem"), &mib) ? mib : 0;
    struct slurm_gpus gpus = slurm_tres_gpus(tres);
    if (tres.bytes == 0) {
        gpus = slurm_gres_gpus(cell_of(sacct, AT_AllocGRES));
        if (!gpus.given) { /* what was asked of each node */
            gpus = slurm_gres_gpus(cell_of(sacct, AT_ReqGRES));
            gpus.count *= job->nodes;
        }
    }
    sacct->shards += gpus.shards;
    job->gpus = gpus.count;
    if (intake_counts_cpus(sacct->options)) {
        job->gpus = job->cpus;
        job->cpus = 0;
        return job->gpus > 0 || drop(sacct, true, NO_GPU);
    }
    if (gpus.odd) {
        return wrong(sacct, alloc.bytes > 0 ? AT_AllocTRES : AT_ReqTRES, tres,
                     "says in no way that can be read how many GPUs");
    }
    sacct->slices += gpus.slices > 0;
    /* a type is a wish only where it was asked for */
    struct slurm_gpus wish = slurm_tres_gpus(asked);
    wish = wish.given && wish.type.bytes > 0 ? wish : slurm_gres_gpus(cell_of(sacct, AT_ReqGRES));
    job->type = name_of(sacct, wish.type);
    return job->gpus > 0 || drop(sacct, true, NO_GPU);
}

static bool is_kind_of_end(struct orr_cell state)
{
    return !slurm_starts(state, "PENDING") && !slurm_starts(state, "RUNNING") &&
           !slurm_starts(state, "SUSPENDED") && !slurm_starts(state, "RESIZING");
}

/* "CANCELLED by 1000" is CANCELLED. */
static struct orr_cell word_of(struct orr_cell state)
{
    const char *blank = state.bytes > 0 ? memchr(state.at, ' ', state.bytes) : NULL;
    state.bytes = blank != NULL ? (size_t)(blank - state.at) : state.bytes;
    while (state.bytes > 0 && state.at[state.bytes - 1] == '+') {
        state.bytes--;
    }
    return state;
}

/* The tasks of "123_[0-99%5]"; 0: it is no such id. */
static uint64_t tasks_of(struct orr_cell id)
{
    char list[4000];
    const char *open = memchr(id.at, '[', id.bytes);
    if (open == NULL) {
        return 0;
    }
    (void)snprintf(list, sizeof list, "%.*s", (int)(id.bytes < 3999 ? id.bytes : 3999), id.at);
    char *limit = strchr(list, '%');
    if (limit != NULL) {
        (void)strcpy(limit, "]");
    }
    const uint64_t tasks = orr_slurm_host_count(list, strlen(list));
    return tasks > 0 ? tasks : 1;
}

/* A step tells of its job only that it is interactive. */
static void take_step(struct sacct *sacct, struct orr_cell id)
{
    const char *dot = memchr(id.at, '.', id.bytes);
    const struct orr_cell job = {id.at, (size_t)(dot - id.at)};
    const struct orr_cell step = {dot, id.bytes - job.bytes};
    const uint32_t index = orr_idmap_find(&sacct->ids, job.at, job.bytes);
    if (index != ORR_NONE && slurm_starts(step, ".interactive")) {
        sacct->jobs[index].interactive = true;
    }
    (void)drop(sacct, true, "a step, which its job counts");
}

static bool read_job(struct sacct *sacct, struct sacct_job *job)
{
    const struct orr_cell state = word_of(cell_of(sacct, AT_State));
    if (!read_time(sacct, AT_Submit, &job->submit_ms) ||
        !read_time(sacct, AT_Eligible, &job->eligible_ms) ||
        !read_time(sacct, AT_Start, &job->start_ms) || !read_time(sacct, AT_End, &job->end_ms)) {
        return false;
    }
    const bool has_submit = job->submit_ms != ORR_MS_NONE;
    job->submit_ms = has_submit ? job->submit_ms : job->start_ms;
    if (!is_kind_of_end(state)) {
        sacct->running++;
        return drop(sacct, true, "had not ended when sacct looked");
    }
    if (job->start_ms == ORR_MS_NONE &&
        (sacct->of[AT_Start] != ORR_NONE || sacct->of[AT_End] != ORR_NONE)) {
        return drop(sacct, true, "never started");
    }
    if (!read_run(sacct, job, &job->run_ms)) {
        return false;
    }
    if (job->submit_ms == ORR_MS_NONE) {
        return drop(sacct, false, "says neither when it was submitted nor when it started");
    }
    if (!read_shape(sacct, job)) {
        return false;
    }
    sacct->no_submit += !has_submit && sacct->of[AT_Submit] != ORR_NONE;
    read_limit(sacct, job);
    return true;
}

static enum column queue_column(const struct sacct *sacct)
{
    const char *queue = sacct->options->queue;
    return queue != NULL && strcmp(queue, "account") == 0 ? AT_Account
           : queue != NULL && strcmp(queue, "qos") == 0   ? AT_QOS
                                                          : AT_Partition;
}

static bool is_interactive(const struct sacct *sacct)
{
    const struct orr_cell name = cell_of(sacct, AT_JobName), line = cell_of(sacct, AT_SubmitLine);
    return expr_like(name, "interactive|*jupyter*|sys/dashboard/*") ||
           expr_like(line, "salloc*|srun *--pty*|*/salloc *");
}

/* A word of the options, but for values that would be several. */
static void put_option(FILE *out, const char *name, struct orr_cell value)
{
    if (value.bytes > 0 && memchr(value.at, ' ', value.bytes) == NULL) {
        (void)fprintf(out, " --%s=%.*s", name, (int)value.bytes, value.at);
    }
}

static void put_licenses(FILE *out, struct orr_cell tres)
{
    static const char head[] = "license/";
    const char *before = " --licenses=";
    while (tres.bytes > 0) {
        const char *comma = memchr(tres.at, ',', tres.bytes);
        const size_t bytes = comma == NULL ? tres.bytes : (size_t)(comma - tres.at);
        const char *sign = memchr(tres.at, '=', bytes);
        if (slurm_starts(tres, head) && sign != NULL) {
            const char *name = tres.at + sizeof head - 1;
            (void)fprintf(out, "%s%.*s:%.*s", before, (int)(sign - name), name,
                          (int)(tres.at + bytes - sign - 1), sign + 1);
            before = ",";
        }
        tres.at += bytes + (comma != NULL);
        tres.bytes -= bytes + (comma != NULL);
    }
}

/* What the job was submitted with, as far as columns say it: options of sbatch that policy slurm
 * reads. Tasks of an array bear its id. */
static uint32_t submitted_with(struct sacct *sacct, const struct sacct_job *job, struct orr_cell id)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    const char *task = memchr(id.at, '_', id.bytes);
    const struct orr_cell asked = cell_of(sacct, AT_ReqTRES);
    if (queue_column(sacct) != AT_Partition) {
        put_option(out, "partition", cell_of(sacct, AT_Partition));
    }
    put_option(out, "account", cell_of(sacct, AT_Account));
    put_option(out, "qos", cell_of(sacct, AT_QOS));
    (void)fputs(job->unlimited ? " --time=UNLIMITED" : "", out);
    (void)fprintf(out, " --nodes=%u", (unsigned)job->nodes);
    if (task != NULL) {
        put_option(out, "array", (struct orr_cell){id.at, (size_t)(task - id.at)});
    }
    put_licenses(out, asked.bytes > 0 ? asked : cell_of(sacct, AT_AllocTRES));
    (void)fclose(out);
    const uint32_t name = name_of(sacct, (struct orr_cell){text + 1, bytes - 1});
    free(text);
    return name;
}

static void on_row(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct sacct *sacct = context;
    struct sacct_job job = {.queue = ORR_NONE, .user = ORR_NONE, .type = ORR_NONE, .attempts = 0};
    sacct->cells = cells;
    sacct->line = line;
    sacct->report->rows++;
    struct orr_cell id = cell_of(sacct, AT_JobID);
    id = id.bytes > 0 ? id : cell_of(sacct, AT_JobIDRaw);
    if (id.bytes == 0 || id.at[0] < '0' || id.at[0] > '9') {
        (void)wrong(sacct, sacct->of[AT_JobID] != ORR_NONE ? AT_JobID : AT_JobIDRaw, id,
                    "is no number of a job");
        return;
    }
    const struct orr_cell cluster = cell_of(sacct, AT_Cluster);
    char key[200];
    if (memchr(id.at, '.', id.bytes) != NULL) {
        take_step(sacct, id);
        return;
    }
    const uint64_t tasks = tasks_of(id);
    if (tasks > 0) {
        sacct->pending_tasks += tasks;
        (void)drop(sacct, true, "tasks of an array that never started");
        return;
    }
    if (!read_job(sacct, &job)) {
        return;
    }
    sacct->het += memchr(id.at, '+', id.bytes) != NULL;
    job.line = line;
    job.queue = name_of(sacct, cell_of(sacct, queue_column(sacct)));
    job.user = name_of(sacct, cell_of(sacct, AT_User));
    job.interactive = is_interactive(sacct);
    job.sbatch = sacct->options->sbatch ? submitted_with(sacct, &job, id) : ORR_NONE;
    const uint32_t state = name_of(sacct, word_of(cell_of(sacct, AT_State)));
    /* a database may have several clusters: those behind the first are told apart */
    const uint32_t of_cluster = name_of(sacct, cluster);
    if (sacct->ids.count == 0) {
        sacct->cluster = of_cluster;
    }
    const bool other = of_cluster != sacct->cluster;
    (void)snprintf(key, sizeof key, "%.*s%s%.*s",
                   other ? (int)(cluster.bytes < 90 ? cluster.bytes : 90) : 0, cluster.at,
                   other ? "/" : "", (int)(id.bytes < 90 ? id.bytes : 90), id.at);
    bool added;
    const uint32_t index = orr_idmap_put(&sacct->ids, key, strlen(key), &added);
    sacct->jobs = index < sacct->capacity ? sacct->jobs
                                          : ORR_ROOM_FOR_ONE(sacct->jobs, index, sacct->capacity);
    if (!added && sacct_attempts_have(&sacct->attempts, &sacct->jobs[index], &job, state)) {
        (void)drop(sacct, true, "stands twice: the same attempt is in an earlier row");
        return;
    }
    if (!added) {
        sacct_attempts_join(&sacct->attempts, &sacct->jobs[index], &job, state);
        return;
    }
    job.state = state;
    sacct_attempts_add(&sacct->attempts, &job, &job, state);
    sacct->jobs[index] = job;
}

static void on_bad(void *context, uint32_t line, const char *why)
{
    struct sacct *sacct = context;
    sacct->report->rows++;
    orr_intake_drop(sacct->report, false, "the row is none of this table", line, why);
}

/* --- out ------------------------------------------------------------------------------------- */

static void put_name(struct native_out *out, const struct sacct *sacct,
                     enum native_out_column column, uint32_t name)
{
    if (name != ORR_NONE) {
        native_out_text(out, column, orr_idmap_name(&sacct->names, name));
    }
}

/* Evenly over its nodes where they divide; else only the total is known. */
static void put_shape(struct native_out *out, const struct sacct_job *job)
{
    if (job->gpus % job->nodes != 0) {
        native_out_number(out, OUT_GPUS, job->gpus, 1);
        return;
    }
    native_out_number(out, OUT_PODS, job->nodes, 1);
    native_out_number(out, OUT_PER_POD, job->gpus / job->nodes, 1);
    if (job->cpus > 0) {
        native_out_number(out, OUT_CPU, (job->cpus * 1000 + job->nodes - 1) / job->nodes, 1);
    }
    if (job->mem_mib > 0) {
        native_out_number(out, OUT_MEM, (job->mem_mib + job->nodes - 1) / job->nodes, 1);
    }
}

static void put_job(struct native_out *out, struct sacct *sacct, uint32_t index)
{
    const struct sacct_job *job = &sacct->jobs[index];
    char attempts[64 * 64] = "", spans[ORR_NAME_MAX + 1];
    orr_native_clear(out->row);
    native_out_text(out, OUT_JOB, orr_idmap_name(&sacct->ids, index));
    native_out_time(out, OUT_SUBMIT, job->submit_ms);
    native_out_number(out, OUT_RUN, job->run_ms, 1000);
    put_shape(out, job);
    put_name(out, sacct, OUT_QUEUE, job->queue);
    put_name(out, sacct, OUT_USER, job->user);
    if (job->interactive) {
        native_out_text(out, OUT_KIND, "interactive");
    }
    put_name(out, sacct, OUT_MODEL, job->type);
    if (job->limit_ms != ORR_MS_NONE) {
        native_out_number(out, OUT_LIMIT, job->limit_ms, 1000);
    }
    if (job->eligible_ms != ORR_MS_NONE && job->eligible_ms > job->submit_ms) {
        native_out_time(out, OUT_ELIGIBLE, job->eligible_ms);
    }
    native_out_time(out, OUT_START, job->start_ms);
    native_out_time(out, OUT_END, job->end_ms);
    if (job->attempts > 1) {
        const bool fits = sacct_attempts_spans(&sacct->attempts, job, spans);
        native_out_text(out, OUT_ATTEMPTS, spans);
        sacct->cut += !sacct_attempts_words(&sacct->attempts, &sacct->names, job, attempts,
                                            sizeof attempts) ||
                      !fits;
    }
    put_name(out, sacct, OUT_STATE, job->state);
    put_name(out, sacct, OUT_SBATCH, job->sbatch);
    if (native_out_count(out, sacct->report, job->line, NULL)) {
        native_out_write(out, attempts);
    }
}

/* In the order of their submits, as traces are: sacct goes by id, and a job that was requeued, or
 * one of another cluster, may have come before those above it. */
static void put_in_order(struct native_out *out, struct sacct *sacct)
{
    const uint32_t count = sacct->ids.count;
    int64_t *submits = orr_alloc(count + (size_t)1, sizeof *submits);
    for (uint32_t i = 0; i < count; i++) {
        submits[i] = sacct->jobs[i].submit_ms;
    }
    uint32_t *jobs = orr_sort_index_by_i64(submits, count);
    for (uint32_t i = 0; i < count; i++) {
        put_job(out, sacct, jobs[i]);
    }
    orr_free(jobs);
    orr_free(submits);
}

static void put_jobs(struct sacct *sacct, FILE *file)
{
    const uint32_t absent = 1u << OUT_FRACTION | 1u << OUT_MEMORY | 1u << OUT_DEVICES |
                            1u << OUT_MIG | 1u << OUT_MIN | 1u << OUT_PRIORITY |
                            1u << OUT_PREEMPTIBLE |
                            (sacct->options->sbatch ? 0u : 1u << OUT_SBATCH);
    struct native_out out;
    native_out_open(&out, file, absent);
    out.is_clock = sacct->is_clock;
    put_in_order(&out, sacct);
    native_out_close(&out);
}

static void add_notes(struct sacct *sacct)
{
    struct orr_intake_report *report = sacct->report;
    uint64_t several = 0, unlimited = 0;
    double lost = 0.0;
    for (uint32_t i = 0; i < sacct->ids.count; i++) {
        unlimited += sacct->jobs[i].unlimited;
        several += sacct->jobs[i].attempts > 1;
        lost += sacct->jobs[i].earlier_gpu_h;
    }
    if (several > 0) {
        orr_intake_note(
            report,
            "jobs with several attempts (x_attempts lists them): %llu; each is one job, "
            "submitted at first, as long as its last attempt; earlier attempts held "
            "%.1f GPU-hours beside",
            (unsigned long long)several, lost);
    }
    if (unlimited > 0) {
        orr_intake_note(report,
                        "%llu job%s the time limit UNLIMITED, which time_limit_s has no word for: "
                        "it is empty there, %s",
                        (unsigned long long)unlimited, ORR_ONE(unlimited, " has", "s have"),
                        sacct->options->sbatch
                            ? "and --time=UNLIMITED in column sbatch says it to policy slurm"
                            : "for which policy slurm takes DefaultTime of the partition, else "
                              "MaxTime: --sbatch keeps it");
    }
    intake_note_cut(report, sacct->cut);
    if (sacct->running > 0) {
        orr_intake_note(report,
                        "%llu job%s still waiting or running: what %s is missing "
                        "at the end of the span",
                        (unsigned long long)sacct->running,
                        ORR_ONE(sacct->running, " was", "s were"),
                        ORR_ONE(sacct->running, "it holds", "they hold"));
    }
    if (sacct->pending_tasks > 0) {
        orr_intake_note(report, "arrays that never started stand for %llu task%s",
                        (unsigned long long)sacct->pending_tasks, ORR_PLURAL(sacct->pending_tasks));
    }
    if (sacct->shards > 0) {
        orr_intake_note(report, "%llu row%s gres/shard, parts of GPUs that are not counted",
                        (unsigned long long)sacct->shards,
                        ORR_ONE(sacct->shards, " holds", "s hold"));
    }
    if (sacct->slices > 0) {
        orr_intake_note(report, "%llu row%s MIG slices, each of which is counted as a whole GPU",
                        (unsigned long long)sacct->slices,
                        ORR_ONE(sacct->slices, " holds", "s hold"));
    }
    if (sacct->het > 0) {
        orr_intake_note(report, "%llu part%s of heterogeneous jobs %s own",
                        (unsigned long long)sacct->het, ORR_PLURAL(sacct->het),
                        ORR_ONE(sacct->het, "is a job of its", "are jobs of their"));
    }
    if (sacct->no_submit > 0) {
        orr_intake_note(report, "%llu row%s no Submit: submitted when %s started",
                        (unsigned long long)sacct->no_submit,
                        ORR_ONE(sacct->no_submit, " has", "s have"),
                        ORR_ONE(sacct->no_submit, "it", "they"));
    }
    if (sacct->of[AT_Submit] == ORR_NONE) {
        orr_intake_note(report,
                        "there is no column Submit: jobs are submitted when they started, so "
                        "nobody ever waited");
    }
    if (sacct->of[queue_column(sacct)] == ORR_NONE) {
        orr_intake_note(report, "there is no column %s: jobs have no queue",
                        column_names[queue_column(sacct)]);
    }
    if (sacct->has_dates && sacct->options->zone == NULL) {
        orr_intake_note(report, "dates state no zone and are read as UTC; --zone says which, "
                                "SLURM_TIME_FORMAT=%%s makes sacct write seconds");
    }
}

/* --- the file -------------------------------------------------------------------------------- */

static bool is_named(const char *name, const char *column)
{
    const size_t bytes = strlen(column);
    return strncasecmp(name, column, bytes) == 0 &&
           (name[bytes] == '\0' || name[bytes] == '%'); /* sacct's own %width */
}

static const char *find_name(const char *const *names, uint32_t count, const char *column)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_named(names[i], column)) {
            return names[i];
        }
    }
    return NULL;
}

bool orr_intake_is_sacct(const char *path)
{
    struct orr_records *records;
    struct orr_err err = {0};
    const struct orr_records_options options = {.plain = true};
    if (orr_records_open(path, &options, &records, &err) != ORR_OK) {
        return false;
    }
    uint32_t count, known = 0;
    if (sacct_json_is(orr_records_head(records))) {
        orr_records_close(records);
        return true;
    }
    const char *const *names = orr_records_names(records, &count);
    const bool id =
        find_name(names, count, "JobIDRaw") != NULL || find_name(names, count, "JobID") != NULL;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        known += find_name(names, count, column_names[c]) != NULL;
    }
    const bool spread = find_name(names, count, "AllocTRES") != NULL ||
                        find_name(names, count, "ReqTRES") != NULL ||
                        find_name(names, count, "NNodes") != NULL ||
                        find_name(names, count, "ElapsedRaw") != NULL ||
                        strcmp(orr_records_delimiter(records), "|") == 0 ||
                        strcmp(orr_records_delimiter(records), "|#") == 0;
    orr_records_close(records);
    return id && known >= 3 && spread;
}

static enum orr_status find_columns(struct sacct *sacct, const char *const *names, uint32_t count,
                                    const char **wanted, uint32_t *wanted_count,
                                    struct orr_err *err)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        sacct->of[c] = ORR_NONE;
        sacct->columns[c] = find_name(names, count, column_names[c]);
        if (sacct->columns[c] != NULL) {
            sacct->of[c] = *wanted_count;
            wanted[(*wanted_count)++] = sacct->columns[c];
        }
    }
    const bool id = sacct->of[AT_JobID] != ORR_NONE || sacct->of[AT_JobIDRaw] != ORR_NONE;
    const bool when = sacct->of[AT_Submit] != ORR_NONE || sacct->of[AT_Start] != ORR_NONE;
    const bool run = sacct->of[AT_ElapsedRaw] != ORR_NONE || sacct->of[AT_Elapsed] != ORR_NONE ||
                     (sacct->of[AT_Start] != ORR_NONE && sacct->of[AT_End] != ORR_NONE);
    const bool shape = sacct->of[AT_AllocTRES] != ORR_NONE || sacct->of[AT_ReqTRES] != ORR_NONE ||
                       sacct->of[AT_AllocGRES] != ORR_NONE || sacct->of[AT_ReqGRES] != ORR_NONE ||
                       (sacct->options->count_as != NULL &&
                        (sacct->of[AT_NCPUS] != ORR_NONE || sacct->of[AT_AllocCPUS] != ORR_NONE));
    if (id && when && run && shape) {
        return ORR_OK;
    }
    return orr_fail(
        err, ORR_DATA,
        "%s:1: sacct's header lacks %s. Ask it for more: SLURM_TIME_FORMAT=%%s sacct -a "
        "-X -P --duplicates --noconvert -S START -E END -o JobID,User,Account,Partition,"
        "QOS,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,"
        "ReqTRES,AllocTRES",
        sacct->report->file,
        !id     ? "JobID (or the header itself: leave out -n)"
        : !when ? "Submit (or Start)"
        : !run  ? "ElapsedRaw (or Elapsed, or Start and End)"
                : "AllocTRES (or ReqTRES, AllocGRES, ReqGRES)");
}

/* The one column of texts that a file has; NULL: none, or several, of which nobody knows which. */
static const char *free_text(const char *const *names, uint32_t count)
{
    const char *found = NULL;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        const char *name = find_name(names, count, texts[t]);
        if (name != NULL && found != NULL) {
            return NULL;
        }
        found = name != NULL ? name : found;
    }
    return found;
}

static enum orr_status open_table(const char *path, struct orr_cell text,
                                  const struct orr_records_options *table,
                                  struct orr_records **records, struct orr_err *err)
{
    return text.at == NULL
               ? orr_records_open(path, table, records, err)
               : orr_records_open_memory(path, text.at, text.bytes, table, records, err);
}

static enum orr_status read_json(struct sacct *sacct, const char *path, struct orr_cell text,
                                 struct orr_err *err)
{
    const char *wanted[COLUMNS];
    uint32_t count = 0;
    const struct orr_records_sink sink = {sacct, on_row, on_bad};
    enum orr_status status =
        find_columns(sacct, sacct_json_columns, SACCT_JSON_COLUMNS, wanted, &count, err);
    ORR_ASSERT(count == SACCT_JSON_COLUMNS); /* in the same order: cells need no map */
    if (status == ORR_OK) {
        status = sacct_json_read(path, text, &sink, err);
    }
    return status;
}

static enum orr_status read_columns(struct sacct *sacct, const char *path, struct orr_cell text,
                                    struct orr_err *err)
{
    struct orr_records *records = NULL;
    struct orr_records_options table = {.plain = true, .delimiter = sacct->options->delimiter};
    const char *wanted[COLUMNS];
    uint32_t wanted_count = 0, count;
    enum orr_status status = open_table(path, text, &table, &records, err);
    if (status == ORR_OK) { /* once more: which column may hold delimiters is known by now */
        const char *const *names = orr_records_names(records, &count);
        const char *name = free_text(names, count);
        table.free_text = name == NULL ? NULL : orr_arena_strndup(sacct->arena, name, strlen(name));
        orr_records_close(records);
        records = NULL;
        status = open_table(path, text, &table, &records, err);
    }
    if (status == ORR_OK) {
        const char *const *names = orr_records_names(records, &count);
        status = find_columns(sacct, names, count, wanted, &wanted_count, err);
    }
    if (status == ORR_OK) {
        const struct orr_records_sink sink = {sacct, on_row, on_bad};
        status = orr_records_read(records, wanted, wanted_count, &sink, err);
    }
    if (status == ORR_OK) {
        memcpy(sacct->report->sha256, orr_records_sha256(records), sizeof sacct->report->sha256);
    }
    orr_records_close(records);
    return status;
}

static bool file_is_json(const char *path)
{
    struct orr_records *records;
    struct orr_err err = {0};
    const struct orr_records_options options = {.plain = true};
    if (orr_records_open(path, &options, &records, &err) != ORR_OK) {
        return false;
    }
    const bool is = sacct_json_is(orr_records_head(records));
    orr_records_close(records);
    return is;
}

enum orr_status intake_sacct_text(const char *path, struct orr_cell text,
                                  const struct orr_intake_options *options, FILE *out,
                                  struct orr_intake_report *report, struct orr_err *err)
{
    orr_intake_report_init(report, path);
    struct sacct sacct = {.options = options, .report = report, .arena = &report->arena};
    orr_idmap_init(&sacct.ids);
    orr_idmap_init(&sacct.names);
    enum orr_status status =
        times_make(&report->arena, TIMES_DATE, options->zone, &sacct.dates, err);
    report->about = "sacct, Slurm's accounting";
    if (status == ORR_OK) {
        status = sacct_json_is(text) ? read_json(&sacct, path, text, err)
                                     : read_columns(&sacct, path, text, err);
    }
    if (status == ORR_OK) {
        report->is_dated = !sacct.is_clock;
        put_jobs(&sacct, out);
        add_notes(&sacct);
    }
    orr_free(sacct.jobs);
    orr_free(sacct.attempts.list);
    orr_idmap_release(&sacct.ids);
    orr_idmap_release(&sacct.names);
    return status;
}

enum orr_status orr_intake_sacct(const char *path, const struct orr_intake_options *options,
                                 FILE *out, struct orr_intake_report *report, struct orr_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (!file_is_json(path)) {
        return intake_sacct_text(path, (struct orr_cell){NULL, 0}, options, out, report, err);
    }
    enum orr_status status = orr_source_read_all(path, JSON_BYTES_MAX, &text, &bytes, err);
    if (status == ORR_OK) {
        status = intake_sacct_text(path, (struct orr_cell){text, bytes}, options, out, report, err);
    } else {
        orr_intake_report_init(report, path);
    }
    orr_free(text);
    return status;
}
