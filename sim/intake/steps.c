/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of jobs that state their work in steps: Gavel (OSDI'20) and Shockwave (NSDI'23), whose
 * dialects differ by the number of cells in a row, Pollux (OSDI'21) and Sia (SOSP'23). */
#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

#include "rates.h"

#define STEPS_MOST 1000000000000000.0

enum {
    AT_TYPE,
    AT_STEPS,
    AT_GPUS,
    AT_ARRIVAL,
    AT_BATCH,
    AT_JOB,
    AT_MODE,
    AT_WEIGHT,
    AT_SLO,
    AT_DURATION,
    CELLS
};

/* Columns by number of cells. What the simulator has no use for has a name of its own all the
 * same, so that a row has as many cells as its dialect has names. */
struct dialect {
    const char *about;
    uint32_t count;
    const char *names[12];
};
static const struct dialect dialects[] = {
    {"Gavel (Narayanan et al., OSDI 2020), jobs by steps",
     6,
     {"type", "command", "argument", "steps", "arrival", "gpus"}},
    {"Gavel (Narayanan et al., OSDI 2020), jobs by steps",
     7,
     {"type", "command", "argument", "data", "steps", "arrival", "gpus"}},
    {"Gavel (Narayanan et al., OSDI 2020), jobs by steps",
     9,
     {"type", "command", "argument", "data", "steps", "gpus", "weight", "slo", "arrival"}},
    {"Gavel (Narayanan et al., OSDI 2020), jobs by steps",
     10,
     {"type", "command", "directory", "argument", "data", "steps", "gpus", "weight", "slo",
      "arrival"}},
    {"Shockwave (Zheng et al., NSDI 2023), jobs by steps",
     11,
     {"type", "command", "directory", "argument", "data", "steps", "gpus", "mode", "weight", "slo",
      "arrival"}},
    {"Shockwave (Zheng et al., NSDI 2023), jobs by steps",
     12,
     {"type", "command", "directory", "argument", "data", "steps", "gpus", "mode", "weight", "slo",
      "duration", "arrival"}},
};
static const char *const tab_columns[CELLS] = {
    [AT_TYPE] = "type", [AT_STEPS] = "steps",   [AT_GPUS] = "gpus", [AT_ARRIVAL] = "arrival",
    [AT_MODE] = "mode", [AT_WEIGHT] = "weight", [AT_SLO] = "slo",   [AT_DURATION] = "duration",
};
static const char *const pollux_columns[CELLS] = {
    [AT_JOB] = "name",          [AT_ARRIVAL] = "time",     [AT_TYPE] = "application",
    [AT_GPUS] = "num_replicas", [AT_BATCH] = "batch_size",
};
static const char pollux_about[] =
    "Pollux and Sia (Qiao et al., OSDI 2021; Jayaram Subramanya et al., SOSP 2023), jobs by epochs";

/* --- which of them --------------------------------------------------------------------------- */

static bool real_of(struct orr_cell cell, double *out)
{
    return orr_parse_double(cell.at, cell.bytes, out) && isfinite(*out);
}

/* The cells of a line between tabs, at most `room` of them; the whole number of them. */
static uint32_t cut(struct orr_cell line, struct orr_cell *cells, uint32_t room)
{
    uint32_t count = 0;
    for (size_t from = 0; from <= line.bytes; count++) {
        const char *tab = memchr(line.at + from, '\t', line.bytes - from);
        const size_t end = tab != NULL ? (size_t)(tab - line.at) : line.bytes;
        if (count < room) {
            cells[count] = (struct orr_cell){line.at + from, end - from};
        }
        from = end + 1;
    }
    return count;
}

/* By the first line; NULL: none of them. */
static const struct dialect *dialect_of(struct orr_cell head)
{
    struct orr_cell cells[12];
    const char *end = memchr(head.at, '\n', head.bytes);
    struct orr_cell line = {head.at, end != NULL ? (size_t)(end - head.at) : head.bytes};
    line.bytes -= line.bytes > 0 && line.at[line.bytes - 1] == '\r';
    const uint32_t count = cut(line, cells, 12);
    for (size_t d = 0; d < sizeof dialects / sizeof dialects[0]; d++) {
        const struct dialect *dialect = &dialects[d];
        bool fits = dialect->count == count;
        for (uint32_t c = 0; c < dialect->count && fits; c++) {
            const char *name = dialect->names[c];
            double number;
            const bool numeric = strcmp(name, "steps") == 0 || strcmp(name, "arrival") == 0 ||
                                 strcmp(name, "gpus") == 0;
            fits = !numeric || real_of(cells[c], &number);
        }
        if (fits) {
            return dialect;
        }
    }
    return NULL;
}

static bool is_pollux(const struct orr_records *records)
{
    uint32_t count;
    const char *const *names = orr_records_names(records, &count);
    for (int c = 0; c < CELLS; c++) {
        uint32_t at = 0;
        while (pollux_columns[c] != NULL && at < count &&
               strcmp(names[at], pollux_columns[c]) != 0) {
            at++;
        }
        if (at == count) {
            return false;
        }
    }
    return true;
}

static enum orr_status open_text(const char *path, struct orr_cell text,
                                 const struct orr_records_options *options,
                                 struct orr_records **records, struct orr_err *err)
{
    return text.at == NULL
               ? orr_records_open(path, options, records, err)
               : orr_records_open_memory(path, text.at, text.bytes, options, records, err);
}

/* Opens it in its dialect; *dialect NULL: Pollux. ORR_DATA: it is none of them. */
static enum orr_status open_jobs(const char *path, struct orr_cell text,
                                 const struct dialect **dialect, struct orr_records **records,
                                 struct orr_err *err)
{
    const struct orr_records_options comma = {.delimiter = ","};
    enum orr_status status = open_text(path, text, &comma, records, err);
    if (status != ORR_OK) {
        return status;
    }
    *dialect = NULL;
    if (is_pollux(*records)) {
        return ORR_OK;
    }
    *dialect = dialect_of(orr_records_head(*records));
    orr_records_close(*records);
    *records = NULL;
    if (*dialect == NULL) {
        return orr_fail(err, ORR_DATA,
                        "%s:1: is no list of jobs by steps: neither 6, 7, 9, 10, 11 or 12 cells "
                        "between tabs as Gavel and Shockwave write them, nor the columns name, "
                        "time, application, num_replicas, batch_size",
                        path);
    }
    const struct orr_records_options tabs = {.delimiter = "\t",
                                             .plain = true,
                                             .names = (*dialect)->names,
                                             .name_count = (*dialect)->count};
    return open_text(path, text, &tabs, records, err);
}

bool orr_intake_is_steps(const char *path)
{
    const struct dialect *dialect;
    struct orr_records *records = NULL;
    struct orr_err err = {0};
    const enum orr_status status =
        open_jobs(path, (struct orr_cell){NULL, 0}, &dialect, &records, &err);
    orr_records_close(records);
    return status == ORR_OK;
}

/* --- one job --------------------------------------------------------------------------------- */

struct reading {
    struct orr_intake_report *report;
    const struct orr_intake_rates *rates;
    const struct dialect *dialect; /* NULL: Pollux */
    uint32_t of[CELLS];            /* by cell: its index among those asked for, or ORR_NONE */
    struct orr_native_row *native;
    struct orr_idmap jobs;
    FILE *out;
    uint64_t columns;
    uint64_t accordion, gns, weighted, beyond;
};

struct job {
    char name[INTAKE_PROFILE_NAME + 24]; /* of its profile */
    const struct intake_rates_of *of;
    double arrival_s, steps, gpus, run_s;
    bool is_beyond; /* more GPUs than any rate of its kind */
};

static struct orr_cell cell(const struct reading *reading, const struct orr_cell *cells, int at)
{
    return reading->of[at] == ORR_NONE ? (struct orr_cell){"", 0} : cells[reading->of[at]];
}

static bool drop(struct reading *reading, uint32_t line, const char *reason, const char *first)
{
    orr_intake_drop(reading->report, false, reason, line, first);
    return false;
}

static bool number_of(struct reading *reading, const struct orr_cell *cells, int at, double least,
                      double most, uint32_t line, double *out)
{
    const char *name = reading->dialect != NULL ? tab_columns[at] : pollux_columns[at];
    const struct orr_cell text = cell(reading, cells, at);
    if (real_of(text, out) && *out >= least && *out <= most) {
        return true;
    }
    char reason[80], why[160];
    (void)snprintf(reason, sizeof reason, "%s is no number from %g to %g", name, least, most);
    (void)snprintf(why, sizeof why, "%s is \"%s\", no number from %g to %g", name,
                   expr_show(text).text, least, most);
    return drop(reading, line, reason, why);
}

static void name_profile(const struct reading *reading, const struct orr_cell *cells,
                         struct job *job)
{
    const struct orr_cell type = cell(reading, cells, AT_TYPE);
    if (reading->dialect != NULL) {
        intake_profile_name(type, job->name);
        return;
    }
    /* an application trains differently with every number of replicas and batch size */
    const struct orr_cell batch = cell(reading, cells, AT_BATCH);
    (void)snprintf(job->name, sizeof job->name, "%.60s-%.0f-%.20s", expr_show(type).text, job->gpus,
                   expr_show(batch).text);
}

/* How long it runs on the reference of its rates, else as its row says. */
static bool find_run(struct reading *reading, const struct orr_cell *cells, uint32_t line,
                     struct job *job)
{
    char why[200];
    job->of = reading->rates != NULL ? intake_rates_find(reading->rates, job->name) : NULL;
    if (job->of != NULL && (reading->dialect != NULL || job->of->profile.epoch_count > 0)) {
        job->run_s = intake_rates_seconds(job->of, job->steps, (uint32_t)job->gpus);
        uint32_t most = 0;
        for (uint32_t r = 0; r < job->of->profile.row_count; r++) {
            const struct orr_profile_row *row = &job->of->rows[r];
            most = row->pattern.gpus > most ? row->pattern.gpus : most;
        }
        job->is_beyond = job->gpus > (double)most;
        return true;
    }
    job->of = NULL;
    if (cell(reading, cells, AT_DURATION).bytes > 0) {
        return number_of(reading, cells, AT_DURATION, 0.0, 1e10, line, &job->run_s);
    }
    (void)snprintf(why, sizeof why, "the tables have no rates for %.100s", job->name);
    return drop(reading, line, "the tables have no rates for such a job", why);
}

static void count_odd(struct reading *reading, const struct orr_cell *cells, const struct job *job)
{
    const struct orr_cell mode = cell(reading, cells, AT_MODE);
    double weight;
    reading->beyond += job->is_beyond;
    reading->accordion += mode.bytes == 9 && memcmp(mode.at, "accordion", 9) == 0;
    reading->gns += mode.bytes == 3 && memcmp(mode.at, "gns", 3) == 0;
    reading->weighted += real_of(cell(reading, cells, AT_WEIGHT), &weight) && weight != 1.0;
}

static bool read_job(struct reading *reading, const struct orr_cell *cells, uint32_t line,
                     struct job *job)
{
    if (cell(reading, cells, AT_TYPE).bytes == 0) {
        return drop(reading, line, "it does not say what is trained",
                    "it does not say what is trained");
    }
    if (!number_of(reading, cells, AT_ARRIVAL, 0.0, 1e10, line, &job->arrival_s) ||
        !number_of(reading, cells, AT_GPUS, 1.0, 65535.0, line, &job->gpus)) {
        return false;
    }
    if (job->gpus != floor(job->gpus)) {
        return drop(reading, line, "workers are a whole number", "workers are a whole number");
    }
    if (reading->dialect != NULL &&
        !number_of(reading, cells, AT_STEPS, 1.0, STEPS_MOST, line, &job->steps)) {
        return false;
    }
    name_profile(reading, cells, job);
    return find_run(reading, cells, line, job);
}

static bool put_text(struct reading *reading, const char *column, struct orr_cell text, char *why)
{
    return orr_native_text(reading->native, orr_native_column(column), text, why);
}

static bool put_seconds(struct reading *reading, const char *column, double seconds, char *why)
{
    const uint32_t index = orr_native_column(column);
    const orr_ms ms = (orr_ms)llround(seconds * 1000.0);
    return orr_native_is_instant(index) ? orr_native_instant(reading->native, index, ms, false, why)
                                        : orr_native_number(reading->native, index, ms, 1000, why);
}

/* A worker has one GPU and is a pod. */
static bool fill(struct reading *reading, const struct orr_cell *cells, uint32_t line,
                 const struct job *job, char *why)
{
    char number[24];
    const int bytes =
        snprintf(number, sizeof number, "%llu", (unsigned long long)reading->report->rows - 1);
    const struct orr_cell name = reading->dialect == NULL
                                     ? cell(reading, cells, AT_JOB)
                                     : (struct orr_cell){number, (size_t)bytes};
    struct orr_native_row *native = reading->native;
    double slo;
    orr_native_clear(native);
    bool good = job->run_s <= 1e12 && put_text(reading, "job", name, why) &&
                put_seconds(reading, "submit_s", job->arrival_s, why) &&
                put_seconds(reading, "run_s", job->run_s, why) &&
                orr_native_number(native, orr_native_column("pods"), (int64_t)job->gpus, 1, why) &&
                orr_native_number(native, orr_native_column("gpus_per_pod"), 1, 1, why) &&
                put_text(reading, "kind", (struct orr_cell){"training", 8}, why);
    if (good && job->of != NULL) {
        good = put_text(reading, "profile", (struct orr_cell){job->name, strlen(job->name)}, why);
    }
    /* a service level is a multiple of the run time, counted from the submit */
    if (good && real_of(cell(reading, cells, AT_SLO), &slo) && slo > 0.0 && slo <= 1e6) {
        good = put_seconds(reading, "deadline_s", job->arrival_s + slo * job->run_s, why);
    }
    const char *fault = good ? orr_native_fault(native) : NULL;
    if (fault != NULL) {
        (void)snprintf(why, ORR_NATIVE_WHY, "%s", fault);
    }
    if (good && fault == NULL) {
        struct orr_job_fact fact;
        orr_native_fact(native, &fact);
        orr_stat_add(&reading->report->stat, &fact, line);
        if (reading->out != NULL) {
            orr_native_write_row(reading->out, reading->columns, native, NULL);
        }
    }
    return good && fault == NULL;
}

static void on_row(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct reading *reading = context;
    struct job job = {0};
    char why[ORR_NATIVE_WHY] = "it runs for more than a century";
    reading->report->rows++;
    if (!read_job(reading, cells, line, &job)) {
        return;
    }
    bool added = true;
    if (reading->dialect == NULL) {
        const struct orr_cell name = cell(reading, cells, AT_JOB);
        (void)orr_idmap_put(&reading->jobs, name.at, name.bytes, &added);
    }
    if (!added) {
        (void)drop(reading, line, "the name of the job is in an earlier row",
                   "the name of the job is in an earlier row");
    } else if (!fill(reading, cells, line, &job, why)) {
        (void)drop(reading, line, "it makes no job", why);
    } else {
        count_odd(reading, cells, &job);
        reading->report->kept++;
    }
}

static void on_bad(void *context, uint32_t line, const char *why)
{
    struct reading *reading = context;
    reading->report->rows++;
    orr_intake_drop(reading->report, false, "the row has another number of cells", line, why);
}

/* --- the file -------------------------------------------------------------------------------- */

static void write_header(struct reading *reading)
{
    static const char *const always[] = {"job",          "submit_s", "run_s",  "pods",
                                         "gpus_per_pod", "kind",     "profile"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        reading->columns |= (uint64_t)1 << orr_native_column(always[i]);
    }
    if (reading->of[AT_SLO] != ORR_NONE) {
        reading->columns |= (uint64_t)1 << orr_native_column("deadline_s");
    }
    if (reading->out != NULL) {
        orr_native_write_header(reading->out, reading->columns, NULL);
    }
}

static void add_notes(const struct reading *reading)
{
    struct orr_intake_report *report = reading->report;
    const struct orr_intake_rates *rates = reading->rates;
    const uint64_t adaptive = reading->accordion + reading->gns;
    if (rates != NULL && rates->pairs > 0) {
        orr_intake_note(report,
                        "%llu rate%s of two jobs on the same GPUs %s not taken: jobs are alone on "
                        "theirs",
                        (unsigned long long)rates->pairs, ORR_PLURAL(rates->pairs),
                        ORR_ONE(rates->pairs, "is", "are"));
    }
    if (rates != NULL && rates->unfit > 0) {
        orr_intake_note(report, "%llu rate%s of 0: such a job does not fit there, and makes no way",
                        (unsigned long long)rates->unfit, ORR_ONE(rates->unfit, " is", "s are"));
    }
    if (reading->beyond > 0) {
        orr_intake_note(report,
                        "%llu job%s more GPUs than any rate of its kind: the rate is that of the "
                        "most GPUs that were measured",
                        (unsigned long long)reading->beyond,
                        ORR_ONE(reading->beyond, " has", "s have"));
    }
    if (adaptive > 0) {
        orr_intake_note(report,
                        "%llu job%s the batch size in training (accordion %llu, gns %llu): all %s "
                        "steps go at the rate of the first one",
                        (unsigned long long)adaptive, ORR_ONE(adaptive, " changes", "s change"),
                        (unsigned long long)reading->accordion, (unsigned long long)reading->gns,
                        ORR_ONE(adaptive, "its", "their"));
    }
    if (reading->weighted > 0) {
        orr_intake_note(report, "%llu job%s a weight other than 1, which is not taken",
                        (unsigned long long)reading->weighted,
                        ORR_ONE(reading->weighted, " has", "s have"));
    }
}

static enum orr_status read_rows(struct reading *reading, struct orr_records *records,
                                 struct orr_err *err)
{
    const struct orr_records_sink sink = {reading, on_row, on_bad};
    const char *const *columns = reading->dialect != NULL ? tab_columns : pollux_columns;
    const char *wanted[CELLS];
    uint32_t count = 0;
    for (int c = 0; c < CELLS; c++) {
        bool there = columns[c] != NULL && reading->dialect == NULL;
        for (uint32_t n = 0; columns[c] != NULL && reading->dialect != NULL &&
                             n < reading->dialect->count && !there;
             n++) {
            there = strcmp(columns[c], reading->dialect->names[n]) == 0;
        }
        reading->of[c] = there ? count : ORR_NONE;
        if (there) {
            wanted[count++] = columns[c];
        }
    }
    write_header(reading);
    const enum orr_status status = orr_records_read(records, wanted, count, &sink, err);
    if (status == ORR_OK) {
        memcpy(reading->report->sha256, orr_records_sha256(records),
               sizeof reading->report->sha256);
        add_notes(reading);
    }
    return status;
}

enum orr_status intake_steps_text(const char *path, struct orr_cell text,
                                  const struct orr_intake_rates *rates, FILE *out,
                                  struct orr_intake_report *report, struct orr_err *err)
{
    struct reading reading = {.report = report, .rates = rates, .out = out};
    struct orr_records *records = NULL;
    orr_intake_report_init(report, path);
    enum orr_status status = open_jobs(path, text, &reading.dialect, &records, err);
    if (status == ORR_OK && rates == NULL &&
        (reading.dialect == NULL || reading.dialect->count < 12)) {
        status = orr_fail(err, ORR_USAGE,
                          "%s: its jobs state their work, not how long it takes: name the table "
                          "of step rates too, as in orrery import %s RATES -o FOLDER",
                          path, path);
    }
    if (status == ORR_OK) {
        report->about = reading.dialect != NULL ? reading.dialect->about : pollux_about;
        orr_idmap_init(&reading.jobs);
        reading.native = orr_native_row_new();
        status = read_rows(&reading, records, err);
        orr_native_row_free(reading.native);
        orr_idmap_release(&reading.jobs);
    }
    orr_records_close(records);
    return status;
}

enum orr_status orr_intake_steps(const char *path, const struct orr_intake_rates *rates, FILE *out,
                                 struct orr_intake_report *report, struct orr_err *err)
{
    return intake_steps_text(path, (struct orr_cell){NULL, 0}, rates, out, report, err);
}
