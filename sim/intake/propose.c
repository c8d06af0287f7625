/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from a header and the first rows: names that other tools' tables have for the same thing,
 * formats of times from what stands in the cells. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <orrery/base/text.h>
#include <orrery/sim/yaml.h>

#include "propose_int.h"

#define SHOWN_ROWS    3
#define KINDS_AT_MOST 20

static const char *const role_names[ROLES][24] = {
    [ROLE_JOB] = {"job", "job_id", "jobid", "job_name", "jobname", "id", "name", "id_job", "uid"},
    [ROLE_SUBMIT] = {"submit_s",    "submit_time",   "submitted_at",       "submission_time",
                     "submit",      "time_submit",   "submitted",          "arrival_time",
                     "created_at",  "creation_time", "timestamp",          "queued_at",
                     "create_time", "created",       "creation_timestamp", "creationtimestamp",
                     "enqueued_at", "enqueue_time",  "enqueued",           "queued",
                     "arrived_at",  "arrival",       "requested_at",       "request_time"},
    [ROLE_START] = {"recorded_start_s", "start_time", "started_at", "start", "time_start",
                    "started", "scheduled_time", "begin", "begin_time", "scheduled_at",
                    "starttime"},
    [ROLE_END] = {"recorded_end_s", "end_time", "ended_at", "end", "time_end", "finished_at",
                  "finish_time", "deletion_time", "completed_at", "finish", "finished", "ended",
                  "completed", "completion_time", "stopped_at", "stop_time", "endtime"},
    [ROLE_RUN] = {"run_s", "duration", "duration_s", "run_time", "runtime", "runtime_s", "elapsed",
                  "elapsed_s", "elapsedraw", "duration_ms", "runtime_ms", "duration_min",
                  "walltime"},
    [ROLE_GPUS] = {"gpus", "num_gpus", "num_gpu", "gpu_num", "gpu_count", "n_gpus", "ngpus", "gpu",
                   "num_gpus_req", "num_gpus_alloc", "total_gpus", "scale_factor"},
    [ROLE_POD_GPUS] = {"gpus_per_pod", "gpu_request", "gpus_per_node", "gpu_per_node",
                       "gpus_per_worker", "gpu_per_task"},
    [ROLE_PODS] = {"pods", "node_num", "num_nodes", "nodes", "nnodes", "worker_num", "inst_num",
                   "replicas", "num_workers", "num_nodes_alloc", "nodes_alloc", "num_pods"},
    [ROLE_QUEUE] = {"queue_name", "vc", "virtual_cluster", "partition", "queue", "account",
                    "organization", "project", "cluster", "qos", "team", "namespace", "department",
                    "dept"},
    [ROLE_USER] = {"user", "user_id", "username", "user_name", "id_user", "owner", "uid"},
    [ROLE_KIND] = {"kind", "job_type", "type", "workload"},
    [ROLE_STATE] = {"recorded_state", "state", "status", "job_state", "pod_phase"},
    [ROLE_LIMIT] = {"time_limit_s", "timelimit_s", "time_limit_seconds", "requested_time"},
    [ROLE_MODEL] = {"gpu_model", "gpu_type", "gpu_spec"},
    [ROLE_CPU] = {"cpu_milli"},
};

void propose_fold(const char *name, char *out, size_t room)
{
    size_t used = 0;
    bool apart = false;
    for (; *name != '\0' && used + 2 < room; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
        if (word && apart && used > 0) {
            out[used++] = '_';
        }
        apart = !word;
        if (word) {
            out[used++] = c;
        }
    }
    out[used] = '\0';
}

double propose_unit(const char *name, char *bare, size_t room)
{
    static const struct {
        const char *end;
        double seconds;
    } units[] = {{"_ms", 0.001},  {"_s", 1},       {"_sec", 1},    {"_secs", 1},
                 {"_seconds", 1}, {"_min", 60},    {"_mins", 60},  {"_minutes", 60},
                 {"_h", 3600},    {"_hr", 3600},   {"_hrs", 3600}, {"_hours", 3600},
                 {"_d", 86400},   {"_days", 86400}};
    propose_fold(name, bare, room);
    const size_t bytes = strlen(bare);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        const size_t end = strlen(units[u].end);
        if (bytes > end && strcmp(bare + bytes - end, units[u].end) == 0) {
            bare[bytes - end] = '\0';
            return units[u].seconds;
        }
    }
    return 0;
}

/* Are they the same words, however they are joined: SubmitTime is submit_time? */
static bool alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += *a == '_';
        b += *b == '_';
        if (*a != *b || *a == '\0') {
            return *a == *b;
        }
    }
}

static bool is_called(const char *name, const char *role)
{
    char folded[200];
    propose_fold(name, folded, sizeof folded);
    if (alike(folded, role)) {
        return true;
    }
    if (propose_unit(name, folded, sizeof folded) > 0 && alike(folded, role)) {
        return true;
    }
    const size_t before = strcspn(name, "(["); /* what is in brackets explains the rest */
    char cut[200];
    (void)snprintf(cut, sizeof cut, "%.*s", before < sizeof cut ? (int)before : 0, name);
    propose_fold(cut, folded, sizeof folded);
    return alike(folded, role);
}

/* Is it GPUs in whatever words: "gpus_requested", "Number of GPUs"? `had`: those that it got. */
static bool means_gpus(const char *name, bool had)
{
    static const char *const beside[] = {"num",   "number", "of",      "no",        "nr",
                                         "n",     "count",  "total",   "requested", "req",
                                         "asked", "needed", "required"};
    static const char *const got[] = {"allocated", "alloc", "assigned", "used"};
    char folded[200];
    uint32_t gpus = 0, others = 0, gots = 0;
    propose_fold(name, folded, sizeof folded);
    for (char *rest = NULL, *word = strtok_r(folded, "_", &rest); word != NULL;
         word = strtok_r(NULL, "_", &rest)) {
        bool known = strcmp(word, "gpu") == 0 || strcmp(word, "gpus") == 0;
        gpus += known;
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            known = known || strcmp(word, beside[i]) == 0;
        }
        for (size_t i = 0; i < sizeof got / sizeof got[0]; i++) {
            const bool is = strcmp(word, got[i]) == 0;
            gots += is;
            known = known || is;
        }
        others += !known;
    }
    return gpus == 1 && others == 0 && (gots > 0) == had;
}

static uint32_t find_gpus(const struct guess *guess)
{
    for (int had = 0; had < 2; had++) { /* what was asked for before what was given */
        for (uint32_t c = 0; c < guess->count; c++) {
            if (!guess->used[c] && means_gpus(guess->names[c], had != 0)) {
                return c;
            }
        }
    }
    return ORR_NONE;
}

static uint32_t find_role(const struct guess *guess, enum role role)
{
    for (size_t n = 0; n < sizeof role_names[role] / sizeof role_names[role][0]; n++) {
        for (uint32_t c = 0; role_names[role][n] != NULL && c < guess->count; c++) {
            if (!guess->used[c] && is_called(guess->names[c], role_names[role][n])) {
                return c;
            }
        }
    }
    return role == ROLE_GPUS ? find_gpus(guess) : ORR_NONE;
}

static void on_sample(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct guess *guess = context;
    (void)line;
    if (guess->rows == SAMPLE_ROWS) {
        return;
    }
    for (uint32_t c = 0; c < guess->count; c++) {
        guess->cells[c][guess->rows] = (struct orr_cell){
            orr_arena_strndup(guess->arena, cells[c].at, cells[c].bytes), cells[c].bytes};
    }
    guess->rows++;
}

static void on_bad_sample(void *context, uint32_t line, const char *why)
{
    (void)context;
    (void)line;
    (void)why;
}

static bool means_nothing(struct orr_cell cell)
{
    static const char *const words[] = {"",    "None", "NULL",    "null", "nan",
                                        "NaN", "-",    "Unknown", "N/A",  "NaT"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == cell.bytes && memcmp(words[i], cell.at, cell.bytes) == 0) {
            return true;
        }
    }
    return false;
}

bool propose_times(struct guess *guess, uint32_t column, enum propose_need need,
                   enum times_format *format)
{
    struct orr_cell *given = orr_arena_alloc(guess->arena, SAMPLE_ROWS, sizeof *given);
    uint32_t count = 0;
    for (uint32_t r = 0; r < guess->rows; r++) {
        if (!means_nothing(guess->cells[column][r])) {
            given[count++] = guess->cells[column][r];
        }
    }
    const uint32_t fit = times_guess(given, count, format, &guess->either[column]);
    return need == PROPOSE_HALF ? count > 0 && fit * 2 >= count : times_nearly_all(fit, count);
}

uint32_t propose_numbers(const struct guess *guess, uint32_t column, char mark, uint32_t *given)
{
    int64_t num, den;
    uint32_t numbers = 0;
    *given = 0;
    for (uint32_t r = 0; r < guess->rows; r++) {
        const struct orr_cell cell = guess->cells[column][r];
        if (!means_nothing(cell)) {
            (*given)++;
            numbers += mark == '\0' ? expr_number(cell, &num, &den)
                                    : expr_written_number(cell, mark, &num, &den);
        }
    }
    return numbers;
}

/* Columns of numbers as people write them. Where some have one mark for certain, as 1,5, those that
 * could have either have it, too. */
static void find_marks(struct guess *guess)
{
    bool points = false, commas = false;
    for (uint32_t c = 0; c < guess->count; c++) {
        uint32_t given;
        const uint32_t plains = propose_numbers(guess, c, '\0', &given);
        const uint32_t pointed = propose_numbers(guess, c, '.', &given);
        const uint32_t parted = propose_numbers(guess, c, ',', &given);
        const uint32_t most = pointed > parted ? pointed : parted;
        const bool written = most > plains && times_nearly_all(most, given);
        const bool point = written && pointed == most;
        const bool comma = written && parted == most;
        guess->mark[c] = point ? '.' : comma ? ',' : '\0';
        guess->either_mark[c] = point && comma;
        points = points || (point && !comma);
        commas = commas || (comma && !point);
    }
    for (uint32_t c = 0; c < guess->count && points != commas; c++) {
        guess->mark[c] = guess->either_mark[c] && commas ? ',' : guess->mark[c];
        guess->either_mark[c] = false;
    }
}

static void find_roles(struct guess *guess)
{
    find_marks(guess);
    for (uint32_t role = 0; role < ROLES; role++) {
        guess->of[role] = find_role(guess, (enum role)role);
        const bool time = role >= ROLE_SUBMIT && role <= ROLE_END;
        guess->no_times[role] = ORR_NONE;
        if (guess->of[role] != ORR_NONE && time && guess->mark[guess->of[role]] != '\0') {
            guess->formats[role] = TIMES_FORMATS; /* numbers that an expression reads */
        } else if (guess->of[role] != ORR_NONE && time &&
                   !propose_times(guess, guess->of[role], PROPOSE_HALF, &guess->formats[role])) {
            guess->no_times[role] = guess->of[role];
            guess->of[role] = ORR_NONE;
        }
        if (guess->of[role] != ORR_NONE) {
            guess->used[guess->of[role]] = true;
        }
    }
    /* A column `workload` that differs in more rows than there could be kinds has names of jobs. */
    if (guess->rows > KINDS_AT_MOST && guess->of[ROLE_JOB] == ORR_NONE &&
        guess->of[ROLE_KIND] != ORR_NONE && propose_all_differ(guess, guess->of[ROLE_KIND])) {
        guess->of[ROLE_JOB] = guess->of[ROLE_KIND];
        guess->of[ROLE_KIND] = ORR_NONE;
    }
    /* Helios and Acme call the seconds waited `queue` */
    const uint32_t queue = guess->of[ROLE_QUEUE];
    if (queue != ORR_NONE && strcmp(guess->names[queue], "queue") == 0 && guess->rows > 1) {
        uint32_t given;
        const uint32_t plain = propose_numbers(guess, queue, '\0', &given);
        const bool numbers = given == 0 || times_nearly_all(plain, given);
        guess->of[ROLE_QUEUE] = numbers ? ORR_NONE : queue;
        guess->used[queue] = !numbers;
    }
}

/* Where one column tells days from months, the others of the table are written so too. */
static void agree_on_dates(struct guess *guess)
{
    enum times_format known = TIMES_FORMATS;
    for (uint32_t role = ROLE_SUBMIT; role <= ROLE_END; role++) {
        const enum times_format format = guess->formats[role];
        if (guess->of[role] != ORR_NONE && !guess->either[guess->of[role]] &&
            (format == TIMES_DAY_FIRST || format == TIMES_MONTH_FIRST)) {
            known = format;
        }
    }
    for (uint32_t role = ROLE_SUBMIT; role <= ROLE_END && known != TIMES_FORMATS; role++) {
        if (guess->of[role] != ORR_NONE && guess->either[guess->of[role]]) {
            guess->formats[role] = known;
            guess->either[guess->of[role]] = false;
        }
    }
}

static bool is_plain(const char *name)
{
    size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return bytes > 0 && name[bytes] == '\0' && (name[0] < '0' || name[0] > '9');
}

/* A YAML text in quotes where it needs them. */
static void put_text(FILE *out, const char *text)
{
    if (is_plain(text)) {
        (void)fputs(text, out);
        return;
    }
    orr_put_quoted(out, text);
}

/* A column within an expression; in `out`. */
static const char *column_value(const struct guess *guess, uint32_t column, char out[300])
{
    const char mark = guess->mark[column];
    (void)snprintf(out, 300, mark != '\0' ? "number(`%.200s`, \"%c\")" : "`%.200s`",
                   guess->names[column], mark);
    return out;
}

/* Behind a value of that column. */
static const char *mark_note(const struct guess *guess, uint32_t column)
{
    return guess->either_mark[column] ? "  # 1,234 is 1234; \",\" for \".\" would make it 1.234"
                                      : "";
}

/* Names of jobs, queues and users stay as they are. */
static bool is_number_role(enum role role)
{
    static const enum role texts[] = {ROLE_JOB,  ROLE_QUEUE, ROLE_USER,
                                      ROLE_KIND, ROLE_STATE, ROLE_MODEL};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (role == texts[i]) {
            return false;
        }
    }
    return true;
}

static void put_column(FILE *out, const struct guess *guess, const char *native, enum role role)
{
    const uint32_t column = guess->of[role];
    char value[300];
    if (column == ORR_NONE) {
        return;
    }
    (void)fprintf(out, "  %s: ", native);
    if (guess->mark[column] != '\0' && is_number_role(role)) {
        (void)fprintf(out, "'%s'%s\n", column_value(guess, column, value),
                      mark_note(guess, column));
        return;
    }
    put_text(out, guess->names[column]);
    (void)putc('\n', out);
}

/* Is some cell a time with colons, or one that ends with a unit? */
static bool has_spans(const struct guess *guess, uint32_t column)
{
    for (uint32_t r = 0; r < guess->rows; r++) {
        const struct orr_cell *cell = &guess->cells[column][r];
        const char last = cell->bytes > 1 ? cell->at[cell->bytes - 1] : '\0';
        const bool digit = cell->bytes > 1 && cell->at[0] >= '0' && cell->at[0] <= '9';
        if (memchr(cell->at, ':', cell->bytes) != NULL ||
            (digit && last != '\0' && strchr("smhdwn", last) != NULL)) {
            return true;
        }
    }
    return false;
}

static void put_run(FILE *out, const struct guess *guess)
{
    const uint32_t run = guess->of[ROLE_RUN];
    const uint32_t start = guess->of[ROLE_START], end = guess->of[ROLE_END];
    if (run != ORR_NONE) {
        const char *name = guess->names[run];
        char bare[200], value[300];
        const double unit = propose_unit(name, bare, sizeof bare);
        if (has_spans(guess, run)) {
            (void)fprintf(out, "  run_s: 'span(`%s`)'\n", name);
        } else if (unit >= 60) {
            (void)fprintf(out, "  run_s: '%s * %.0f'%s\n", column_value(guess, run, value), unit,
                          mark_note(guess, run));
        } else if (unit > 0 && unit < 1) {
            (void)fprintf(out, "  run_s: '%s / 1000'%s\n", column_value(guess, run, value),
                          mark_note(guess, run));
        } else {
            put_column(out, guess, "run_s", ROLE_RUN);
        }
    } else if (start != ORR_NONE && end != ORR_NONE) {
        char from[300], to[300];
        (void)fprintf(out, "  run_s: '%s - %s'\n", column_value(guess, end, to),
                      column_value(guess, start, from));
    }
}

/* Is there a number between 0 and 1 among them, a part of one GPU? */
static bool has_parts(const struct guess *guess, uint32_t column)
{
    bool found = false;
    for (uint32_t r = 0; r < guess->rows && !found; r++) {
        const char mark = guess->mark[column];
        const struct orr_cell cell = guess->cells[column][r];
        int64_t num = 0, den = 1;
        found = (mark == '\0' ? expr_number(cell, &num, &den)
                              : expr_written_number(cell, mark, &num, &den)) &&
                num > 0 && num < den;
    }
    return found;
}

static void put_shape(FILE *out, const struct guess *guess)
{
    const uint32_t gpus = guess->of[ROLE_GPUS], pods = guess->of[ROLE_PODS];
    if (guess->of[ROLE_POD_GPUS] != ORR_NONE) {
        put_column(out, guess, "pods", ROLE_PODS);
        put_column(out, guess, "pod_gpus", ROLE_POD_GPUS);
    } else if (gpus != ORR_NONE && pods != ORR_NONE) {
        put_column(out, guess, "pods", ROLE_PODS);
        char all[300], of[300];
        (void)fprintf(out, "  pod_gpus: '%s / %s'  # the total, evenly\n",
                      column_value(guess, gpus, all), column_value(guess, pods, of));
    } else if (gpus != ORR_NONE && has_parts(guess, gpus)) {
        char all[300];
        (void)column_value(guess, gpus, all);
        (void)fprintf(out,
                      "  gpus: '%s > 0 and %s < 1 ? nothing() : %s'\n"
                      "  pod_gpus: '%s > 0 and %s < 1 ? %s : nothing()'  # a part of one GPU\n",
                      all, all, all, all, all, all);
    } else {
        put_column(out, guess, "gpus", ROLE_GPUS);
    }
}

static void put_times(FILE *out, const struct guess *guess)
{
    bool dates = false, any = false;
    for (uint32_t role = ROLE_SUBMIT; role <= ROLE_END; role++) {
        if (guess->of[role] != ORR_NONE && guess->formats[role] < TIMES_FORMATS) {
            any = true;
            dates = dates || guess->formats[role] <= TIMES_MONTH_FIRST;
        }
    }
    if (dates) {
        (void)fputs("zone: ", out);
        put_text(out, guess->zone);
        (void)fputs("  # of dates that state none, such as Asia/Shanghai or -08:00\n", out);
    }
    if (!any) {
        return;
    }
    (void)fprintf(out, "times:  # date, day-first, month-first, epoch, epoch-ms, epoch-us, "
                       "seconds\n");
    for (uint32_t role = ROLE_SUBMIT; role <= ROLE_END; role++) {
        if (guess->of[role] != ORR_NONE && guess->formats[role] < TIMES_FORMATS) {
            (void)fprintf(out, "  ");
            put_text(out, guess->names[guess->of[role]]);
            (void)fprintf(out, ": %s%s\n", times_names[guess->formats[role]],
                          guess->either[guess->of[role]]
                              ? "  # day and month may be the other way round: no row tells"
                              : "");
        }
    }
}

/* What the names of columns promise and their cells do not keep, and what comes of that. */
static void put_doubts(FILE *out, const struct guess *guess)
{
    static const char *const says[ROLES] = {
        [ROLE_SUBMIT] = "is submitted", [ROLE_START] = "starts", [ROLE_END] = "ends"};
    for (uint32_t role = ROLE_SUBMIT; role <= ROLE_END; role++) {
        const uint32_t column = guess->no_times[role];
        if (column != ORR_NONE && !guess->used[column]) {
            (void)fprintf(out,
                          "# %s is called like the time at which a job %s, but less than half of "
                          "its cells are times of one format.\n",
                          guess->names[column], says[role]);
        }
    }
    if (guess->of[ROLE_SUBMIT] == ORR_NONE) {
        (void)fputs("# Warning: no column is known to say when a job is submitted. Its start is "
                    "taken, so all waits are 0.\n",
                    out);
    }
}

/* Whether a column of CPUs or memory is of each pod or of all, no name tells. */
static void put_sizes_hint(FILE *out, const struct guess *guess)
{
    for (uint32_t c = 0; c < guess->count; c++) {
        char name[200];
        propose_fold(guess->names[c], name, sizeof name);
        const bool cpu = strstr(name, "cpu") != NULL;
        if (!guess->used[c] && (cpu || strstr(name, "mem") != NULL)) {
            (void)fprintf(
                out, "# If %s is of each pod, add it above as %s; `orrery columns` has both.\n",
                guess->names[c], cpu ? "cpu_milli (thousandths of a CPU)" : "mem_mib (MiB)");
        }
    }
}

static void put_map(FILE *out, const char *path, const char *delimiter, const struct guess *guess)
{
    (void)fprintf(out, "apiVersion: orrery/v1alpha1\nkind: TraceMap\n");
    (void)fprintf(out,
                  "# Proposed from the header and the first %u row%s of %s: look at every line.\n",
                  (unsigned)guess->rows, ORR_PLURAL(guess->rows), path);
    if (strcmp(delimiter, "\t") == 0) {
        (void)fprintf(out, "table: {delimiter: tab, empty: [None, NULL, \"null\", nan, NaN, N/A, "
                           "\"-\", Unknown, NaT]}\n");
    } else {
        (void)fprintf(out,
                      "table: {delimiter: \"%s\"%s, empty: [None, NULL, \"null\", nan, NaN, N/A, "
                      "\"-\", Unknown, NaT]}\n",
                      delimiter, strlen(delimiter) > 1 ? ", quotes: false" : "");
    }
    put_times(out, guess);
    (void)fprintf(out, "jobs:\n");
    put_column(out, guess, "job", ROLE_JOB);
    put_column(out, guess, "submit_s",
               guess->of[ROLE_SUBMIT] != ORR_NONE ? ROLE_SUBMIT : ROLE_START);
    put_run(out, guess);
    put_shape(out, guess);
    put_column(out, guess, "queue", ROLE_QUEUE);
    put_column(out, guess, "user", ROLE_USER);
    if (guess->of[ROLE_KIND] != ORR_NONE) {
        (void)fprintf(out, "  kind: {of: ");
        put_text(out, guess->names[guess->of[ROLE_KIND]]);
        (void)fprintf(out, ", match: {\"*train*\": training, \"*debug*|*interactive*|*notebook*\": "
                           "interactive, \"*infer*|*serv*\": inference}, else: unknown}\n");
    }
    put_column(out, guess, "time_limit_s", ROLE_LIMIT);
    put_column(out, guess, "gpu_model", ROLE_MODEL);
    put_column(out, guess, "cpu_milli", ROLE_CPU);
    put_column(out, guess, "recorded_start_s", ROLE_START);
    put_column(out, guess, "recorded_end_s", ROLE_END);
    put_column(out, guess, "recorded_state", ROLE_STATE);
    bool first = true;
    for (uint32_t c = 0; c < guess->count; c++) {
        if (!guess->used[c]) {
            (void)fprintf(out, "%s%s", first ? "# not used: " : ", ", guess->names[c]);
            first = false;
        }
    }
    (void)fputs(first ? "" : "\n", out);
    put_sizes_hint(out, guess);
    put_doubts(out, guess);
    if (guess->by_cells) {
        (void)fputs("# No name of a date is known: what they are is taken from their order in each "
                    "row, and what stands in the other cells.\n",
                    out);
        (void)fputs(first ? ""
                          : "# Which of those not used is the queue, the user, the kind? Add it "
                            "above, such as `  queue: NAME`.\n",
                    out);
    }
}

static enum orr_status look(const struct orr_records *records, const char *path,
                            struct guess *guess, struct orr_err *err)
{
    struct orr_records *sample;
    struct orr_records_options table = {.delimiter = orr_records_delimiter(records)};
    table.plain = strlen(table.delimiter) > 1;
    const struct orr_cell head = orr_records_head(records);
    enum orr_status status =
        orr_records_open_memory(path, head.at, head.bytes, &table, &sample, err);
    if (status != ORR_OK) {
        return status;
    }
    guess->names = orr_records_names(records, &guess->count);
    guess->count = guess->count < ORR_RECORDS_COLUMNS ? guess->count : ORR_RECORDS_COLUMNS;
    for (uint32_t c = 0; c < guess->count; c++) {
        guess->cells[c] = orr_arena_alloc(guess->arena, SAMPLE_ROWS, sizeof *guess->cells[c]);
    }
    const struct orr_records_sink sink = {guess, on_sample, on_bad_sample};
    status = orr_records_read(sample, guess->names, guess->count, &sink, err);
    orr_records_close(sample);
    return status;
}

static enum orr_status check_known(const struct guess *guess, const char *path, struct orr_err *err)
{
    const bool submit = guess->of[ROLE_SUBMIT] != ORR_NONE || guess->of[ROLE_START] != ORR_NONE;
    const bool run = guess->of[ROLE_RUN] != ORR_NONE ||
                     (guess->of[ROLE_START] != ORR_NONE && guess->of[ROLE_END] != ORR_NONE);
    const bool gpus = guess->of[ROLE_GPUS] != ORR_NONE || guess->of[ROLE_POD_GPUS] != ORR_NONE;
    if (submit && run && gpus) {
        return ORR_OK;
    }
    char header[400];
    size_t used = 0;
    header[0] = '\0';
    for (uint32_t c = 0; c < guess->count && used + 50 < sizeof header; c++) {
        used += (size_t)snprintf(header + used, sizeof header - used, "%s%.40s", c == 0 ? "" : ", ",
                                 guess->names[c]);
    }
    return orr_fail(err, ORR_DATA,
                    "%s:1: no column is known by its name to say %s: rename the one that does, or "
                    "write a map (`orrery import --maps` lists examples). The file has: %s",
                    path,
                    !submit ? "when a job is submitted (such as submit_time)"
                    : !run  ? "how long it runs (such as duration, or start_time and end_time)"
                            : "how many GPUs it asks for (such as num_gpus)",
                    header);
}

/* The first rows as they would be read, behind #. */
static enum orr_status put_rows(FILE *out, const char *path, struct orr_cell head,
                                const char *map_text, const struct orr_intake_options *options,
                                struct orr_err *err)
{
    struct orr_intake_options with = *options;
    struct orr_intake_report report;
    char *rows = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&rows, &bytes);
    ORR_ASSERT(text != NULL);
    with.map = "the proposed map";
    with.map_text = map_text;
    with.delimiter = NULL;
    const enum orr_status status = intake_table_text(path, head, &with, text, &report, err);
    (void)fclose(text);
    if (status == ORR_OK) {
        (void)fprintf(out, "# Its first rows as they would be read:\n");
        const char *line = rows;
        for (int i = 0; i <= SHOWN_ROWS && *line != '\0'; i++) {
            const size_t length = strcspn(line, "\n");
            (void)fprintf(out, "# %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
        for (uint32_t d = 0; d < report.drop_count; d++) {
            (void)fprintf(out, "# left out: %llu of the first %llu, %s (line %u)\n",
                          (unsigned long long)report.drops[d].rows, (unsigned long long)report.rows,
                          report.drops[d].first, (unsigned)report.drops[d].line);
        }
    }
    orr_intake_report_release(&report);
    free(rows);
    return status;
}

enum orr_status orr_intake_propose(const char *path, const struct orr_intake_options *options,
                                   FILE *out, struct orr_err *err)
{
    struct orr_records *records;
    const struct orr_records_options table = {.delimiter = options->delimiter,
                                              .plain = options->delimiter != NULL &&
                                                       strlen(options->delimiter) > 1};
    struct orr_arena arena;
    enum orr_status status = orr_records_open(path, &table, &records, err);
    if (status != ORR_OK) {
        return status;
    }
    orr_arena_init(&arena);
    struct guess *guess = orr_arena_alloc(&arena, 1, sizeof *guess);
    guess->arena = &arena;
    guess->zone = options->zone != NULL ? options->zone : "UTC";
    status = look(records, path, guess, err);
    if (status == ORR_OK) {
        find_roles(guess);
        propose_from_cells(guess);
        agree_on_dates(guess);
        status = check_known(guess, path, err);
    }
    char *text = NULL;
    size_t bytes = 0;
    if (status == ORR_OK) {
        FILE *map = open_memstream(&text, &bytes);
        ORR_ASSERT(map != NULL);
        put_map(map, path, orr_records_delimiter(records), guess);
        (void)fclose(map);
        (void)fputs(text, out);
        status = put_rows(out, path, orr_records_head(records), text, options, err);
    }
    free(text);
    orr_arena_release(&arena);
    orr_records_close(records);
    return status;
}
