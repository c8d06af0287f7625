/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare_int.h"
#include "compare_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>

bool orr_comparison_repeats(const struct orr_comparison *c, uint32_t metric)
{
    const struct orr_compare_metric *of = &c->metrics[metric];
    const char *kind = strstr(of->label, ",kind=");
    if (kind == NULL || !orr_metric_is(of->name, ORR_METRIC_WHOLE_QUEUE)) {
        return false;
    }
    const size_t bytes = (size_t)(kind - of->label) + strlen(",kind=");
    for (uint32_t m = 0; m < metric; m++) {
        if (strcmp(c->metrics[m].name, of->name) == 0 &&
            strncmp(c->metrics[m].label, of->label, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* --- reading --- */

char *orr_setting_of(struct orr_arena *arena, const char *resolved)
{
    char *out = orr_arena_strndup(arena, resolved, strlen(resolved));
    char *to = out;
    for (const char *line = resolved; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n");
        const size_t whole = bytes + (line[bytes] == '\n');
        if (strncmp(line, "seeds:", 6) != 0) {
            memmove(to, line, whole);
            to += whole;
        }
        line += whole;
    }
    *to = '\0';
    return out;
}

void orr_compare__open(const struct orr_compare_load *load, uint32_t run, struct orr_results *in,
                       struct orr_err *err)
{
    const struct orr_compare_options *options = load->options;
    if (options->points != NULL) {
        orr_results_open_point(in, options->paths[run], options->points[run], err);
    } else {
        orr_results_open(in, options->paths[run], err);
    }
}

static const char *stem_of(struct orr_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return orr_arena_strndup(arena, name, dot != NULL ? (size_t)(dot - name) : strlen(name));
}

static uint32_t arm_of(struct orr_compare_load *load, const struct orr_compare_run *run,
                       const char *label)
{
    struct orr_comparison *comparison = load->comparison;
    const uint32_t *given = load->options->arms;
    for (const struct orr_compare_run *r = load->runs; r < run; r++) {
        if (given != NULL ? given[r - load->runs] == given[run - load->runs]
                          : strcmp(r->setting, run->setting) == 0) {
            return r->arm;
        }
    }
    comparison->arms[comparison->arm_count] =
        (struct orr_compare_arm){.label = label, .policy = run->policy};
    return comparison->arm_count++;
}

static bool wanted(const struct orr_compare_options *options, const char *metric)
{
    for (uint32_t i = 0; i < options->metric_count; i++) {
        if (strcmp(options->metrics[i], metric) == 0) {
            return true;
        }
    }
    if (options->metric_count > 0) {
        return false;
    }
    const bool of_parts = options->scope != NULL && strcmp(options->scope, "workload") == 0;
    return orr_metric_is(metric, of_parts ? ORR_METRIC_WHATIF_WORKLOAD : ORR_METRIC_HEADLINE);
}

/* Index of a metric in the comparison. */
static uint32_t metric_at(struct orr_compare_load *load, struct orr_results *in, sqlite3_stmt *row,
                          uint32_t *capacity)
{
    struct orr_comparison *comparison = load->comparison;
    const char *name = orr_results_text(in, row, 0), *scope = orr_results_text(in, row, 1);
    const char *label = orr_results_text(in, row, 2), *unit = orr_results_text(in, row, 3);
    char key[500];
    const int bytes = snprintf(key, sizeof key, "%s\x1f%s\x1f%s", scope, label, name);
    bool added;
    const uint32_t at = orr_idmap_put(
        &load->keys, key, bytes < (int)sizeof key ? (size_t)bytes : sizeof key - 1, &added);
    if (added) {
        struct orr_arena *arena = &comparison->arena;
        const char *shown = orr_results_shown_label(in, label);
        comparison->metrics =
            ORR_ROOM_FOR_ONE(comparison->metrics, comparison->metric_count, *capacity);
        comparison->metrics[comparison->metric_count++] =
            (struct orr_compare_metric){.name = orr_arena_strndup(arena, name, strlen(name)),
                                        .scope = orr_arena_strndup(arena, scope, strlen(scope)),
                                        .label = orr_arena_strndup(arena, label, strlen(label)),
                                        .shown = orr_arena_strndup(arena, shown, strlen(shown)),
                                        .unit = orr_arena_strndup(arena, unit, strlen(unit)),
                                        .better = orr_metric_better(name)};
    }
    return at;
}

static const struct orr_reading no_reading = {(double)NAN, (double)NAN};

/* What a run has of a metric that is not among its own. */
static struct orr_reading when_absent(const char *metric)
{
    return orr_metric_is(metric, ORR_METRIC_ABSENT_0) ? (struct orr_reading){0, (double)NAN}
                                                      : no_reading;
}

/* Of columns `value` and `at_least`: a quantile without a value but a bound was not reached. */
static struct orr_reading reading_of(sqlite3_stmt *row, int value, int at_least)
{
    if (sqlite3_column_type(row, value) != SQLITE_NULL) {
        return (struct orr_reading){sqlite3_column_double(row, value), (double)NAN};
    }
    if (sqlite3_column_type(row, at_least) != SQLITE_NULL) {
        return (struct orr_reading){(double)INFINITY, sqlite3_column_double(row, at_least)};
    }
    return no_reading;
}

static void read_metrics(struct orr_compare_load *load, struct orr_results *in,
                         struct orr_compare_run *run, uint32_t *capacity)
{
    const char *scope = load->options->scope != NULL ? load->options->scope : "all";
    uint32_t room = 0;
    sqlite3_stmt *row = orr_results_prepare(in, orr_compare_sql__metrics);
    while (orr_results_step(in, row)) {
        if (strcmp(orr_results_text(in, row, 1), scope) != 0 ||
            !wanted(load->options, orr_results_text(in, row, 0))) {
            continue;
        }
        const uint32_t at = metric_at(load, in, row, capacity);
        while (at >= room) {
            const uint32_t grown = (uint32_t)orr_grow(room, (size_t)at + 1);
            run->values = orr_realloc(run->values, grown, sizeof *run->values);
            for (; room < grown; room++) {
                run->values[room] = no_reading;
            }
        }
        run->values[at] = reading_of(row, 4, 5);
    }
    /* metrics that only earlier files had */
    const uint32_t all = load->comparison->metric_count;
    run->values =
        orr_realloc(run->values, (all > room ? all : room) + (size_t)1, sizeof *run->values);
    for (; room < all; room++) {
        run->values[room] = no_reading;
    }
}

static enum orr_status read_run(struct orr_compare_load *load, uint32_t index, uint32_t *capacity,
                                uint32_t *known)
{
    const struct orr_compare_options *options = load->options;
    struct orr_compare_run *run = &load->runs[index];
    struct orr_arena *arena = &load->comparison->arena;
    struct orr_results in;
    orr_compare__open(load, index, &in, load->err);
    run->path = options->paths[index];
    run->name = options->names != NULL ? options->names[index] : run->path;
    run->stem = stem_of(arena, run->name);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_compare_sql__run);
    while (orr_results_step(&in, row)) {
        const char *policy = orr_results_text(&in, row, 0);
        run->policy = orr_arena_strndup(arena, policy, strlen(policy));
        run->setting = orr_setting_of(arena, orr_results_text(&in, row, 1));
        run->seed = sqlite3_column_int64(row, 2);
        run->window_start_ms = sqlite3_column_int64(row, 3);
        run->window_end_ms = sqlite3_column_int64(row, 4);
        const char *digest = orr_results_text(&in, row, 5);
        run->digest = orr_arena_strndup(arena, digest, strlen(digest));
        run->span_ms = sqlite3_column_int64(row, 6);
        run->interrupted = sqlite3_column_int(row, 7) != 0;
        run->cut = sqlite3_column_int(row, 8) != 0;
    }
    row = orr_results_prepare(&in, orr_compare_sql__unstarted);
    while (orr_results_step(&in, row)) {
        run->unstarted = (uint64_t)sqlite3_column_int64(row, 0);
        run->jobs = (uint64_t)sqlite3_column_int64(row, 1);
    }
    run->nevers = (uint64_t)orr_results_int(&in, orr_compare_sql__never, 0);
    read_metrics(load, &in, run, capacity);
    known[index] = load->comparison->metric_count;
    const enum orr_status status = in.status;
    orr_results_close(&in);
    load->run_count++;
    if (status == ORR_OK) {
        run->arm = arm_of(load, run, options->labels != NULL ? options->labels[index] : NULL);
        struct orr_compare_arm *arm = &load->comparison->arms[run->arm];
        arm->runs++;
        arm->jobs += run->jobs;
        arm->unstarted += run->unstarted;
        arm->nevers += run->nevers;
    }
    return status;
}

static enum orr_status check_seeds(struct orr_compare_load *load)
{
    for (uint32_t i = 0; i < load->run_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct orr_compare_run *a = &load->runs[j], *b = &load->runs[i];
            if (a->arm == b->arm && a->seed == b->seed) {
                return orr_fail(load->err, ORR_DATA,
                                "%s and %s are the same setting with the same seed %lld: nothing "
                                "to compare",
                                a->name, b->name, (long long)a->seed);
            }
        }
    }
    if (load->comparison->arm_count < 2) {
        return orr_fail(load->err, ORR_DATA,
                        "%s: all files are runs of one setting; name those of another too",
                        load->runs[0].name);
    }
    return ORR_OK;
}

/* Two arms may be one file, but not of one given name. */
static enum orr_status check_labels(const struct orr_compare_load *load)
{
    const char *const *labels = load->options->labels;
    for (uint32_t i = 0; labels != NULL && i < load->run_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (load->runs[i].arm != load->runs[j].arm && labels[i] != NULL && labels[j] != NULL &&
                strcmp(labels[i], labels[j]) == 0) {
                return orr_fail(load->err, ORR_USAGE,
                                "two settings are called \"%s\": give each a label of its own, "
                                "such as today=A.db more=B.db",
                                labels[i]);
            }
        }
    }
    return ORR_OK;
}

/* What arms are called: by their policy when that tells them apart, else by their first file. */
static enum orr_status label_arms(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    bool by_policy = true;
    for (uint32_t a = 0; a < comparison->arm_count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            by_policy =
                by_policy && strcmp(comparison->arms[a].policy, comparison->arms[b].policy) != 0;
        }
    }
    bool by_stem = true;
    for (uint32_t r = 0; r < load->run_count; r++) {
        for (uint32_t q = 0; q < r; q++) {
            by_stem = by_stem && (load->runs[q].arm == load->runs[r].arm ||
                                  strcmp(load->runs[q].stem, load->runs[r].stem) != 0);
        }
    }
    for (uint32_t r = load->run_count; r-- > 0;) {
        struct orr_compare_arm *arm = &comparison->arms[load->runs[r].arm];
        const bool given = load->options->labels != NULL && load->options->labels[r] != NULL;
        arm->label = given       ? load->options->labels[r]
                     : by_policy ? arm->policy
                     : by_stem   ? load->runs[r].stem
                                 : load->runs[r].name;
    }
    return check_labels(load);
}

/* --- by seed --- */

const struct orr_compare_run *orr_compare__base_of(const struct orr_compare_load *load,
                                                   int64_t seed)
{
    for (uint32_t r = 0; r < load->run_count; r++) {
        if (load->runs[r].arm == 0 && (load->runs[r].seed == seed || load->options->any_seed)) {
            return &load->runs[r];
        }
    }
    return NULL;
}

/* The run of arm 0 that a run is paired with; NULL: there is none, or an earlier pair of this arm
 * went the same way, so that nothing was drawn by seed and this pair is no further evidence. */
static const struct orr_compare_run *twin_of(const struct orr_compare_load *load,
                                             const struct orr_compare_run *run)
{
    const struct orr_compare_run *twin = orr_compare__base_of(load, run->seed);
    for (const struct orr_compare_run *r = load->runs; twin != NULL && r < run; r++) {
        const struct orr_compare_run *other =
            r->arm == run->arm && strcmp(r->digest, run->digest) == 0
                ? orr_compare__base_of(load, r->seed)
                : NULL;
        if (other != NULL && strcmp(other->digest, twin->digest) == 0) {
            return NULL;
        }
    }
    return twin;
}

/* Values of a metric for a run and the one of arm 0 that it is paired with. */
static enum orr_status pair_values(const struct orr_compare_load *load, uint32_t metric,
                                   const struct orr_compare_run *twin,
                                   const struct orr_compare_run *run, struct orr_reading *base,
                                   struct orr_reading *other)
{
    struct orr_compare_ratios ratios;
    *base = twin->values[metric];
    *other = run->values[metric];
    if (metric != load->ratio) {
        return ORR_OK;
    }
    const enum orr_status status = orr_compare__ratios(twin->path, run->path, &ratios, load->err);
    base->value = ratios.count > 0 ? 1 : (double)NAN;
    other->value = orr_compare__geomean(&ratios);
    orr_free(ratios.items);
    return status;
}

static enum orr_status pair_arm(const struct orr_compare_load *load, uint32_t arm)
{
    enum orr_status status = ORR_OK;
    struct orr_comparison *comparison = load->comparison;
    struct orr_reading *base = orr_alloc(load->run_count + (size_t)1, sizeof *base);
    struct orr_reading *other = orr_alloc(load->run_count + (size_t)1, sizeof *other);
    for (uint32_t m = 0; m < comparison->metric_count; m++) {
        uint32_t pairs = 0;
        for (uint32_t r = 0; r < load->run_count; r++) {
            const struct orr_compare_run *run = &load->runs[r];
            const struct orr_compare_run *twin = run->arm == arm ? twin_of(load, run) : NULL;
            if (twin != NULL && status == ORR_OK) {
                status = pair_values(load, m, twin, run, &base[pairs], &other[pairs]);
                pairs++;
            }
        }
        comparison->pairs = pairs > comparison->pairs ? pairs : comparison->pairs;
        comparison->cells[(size_t)m * comparison->arm_count + arm] =
            orr_paired_readings(base, other, pairs, comparison->level);
    }
    orr_free(base);
    orr_free(other);
    return status;
}

/* Every run gets a value, or NAN, for every metric of the comparison. */
static void fill_values(struct orr_compare_load *load, const uint32_t *known)
{
    const uint32_t all = load->comparison->metric_count;
    for (uint32_t r = 0; r < load->run_count; r++) {
        struct orr_reading *full = orr_alloc(all + (size_t)1, sizeof *full);
        for (uint32_t m = 0; m < all; m++) {
            full[m] = m < known[r] ? load->runs[r].values[m] : no_reading;
            full[m] =
                isnan(full[m].value) ? when_absent(load->comparison->metrics[m].name) : full[m];
        }
        orr_free(load->runs[r].values);
        load->runs[r].values = full;
    }
}

/* Pairs that all change alike have an interval without width, as if the change were sure: they have
 * none where it may be chance. */
static void forget_alike(struct orr_paired *cell)
{
    cell->alike = cell->alike || (cell->among && !(cell->errors.difference > 0));
    if (cell->alike) {
        cell->low = cell->high = cell->part_low = cell->part_high = (double)NAN;
    }
}

/* p is adjusted to so many settings, and the interval is as much wider: it holds 0 where p may be
 * chance. */
static void adjust(const struct orr_comparison *comparison, struct orr_paired *all)
{
    if (all == NULL) {
        return;
    }
    double *p = orr_alloc(comparison->arm_count, sizeof *p);
    for (uint32_t m = 0; m < comparison->metric_count; m++) {
        struct orr_paired *cells = all + (size_t)m * comparison->arm_count;
        for (uint32_t a = 1; a < comparison->arm_count; a++) {
            p[a - 1] = cells[a].p;
        }
        orr_holm(p, comparison->arm_count - 1);
        for (uint32_t a = 1; a < comparison->arm_count; a++) {
            const double chance = 1 - comparison->level;
            cells[a].among = cells[a].p <= chance && p[a - 1] > chance;
            if (cells[a].p > 0 && p[a - 1] > cells[a].p) { /* so that both say the same of 0 */
                orr_paired_at_level(&cells[a], 1 - chance * cells[a].p / p[a - 1]);
            }
            cells[a].p = p[a - 1];
            forget_alike(&cells[a]);
        }
    }
    orr_free(p);
}

/* Does a resolved scenario move submits or run times at random, and draw no workload? */
static bool is_shaken(const char *setting)
{
    const char *shake = strstr(setting, "\nshake:\n");
    char submit[40] = "", run[40] = "";
    return shake != NULL && strstr(setting, "\n    generate:\n") == NULL &&
           sscanf(shake, "\nshake:\n  submit: %39s\n  run: %39s", submit, run) == 2 &&
           (strcmp(submit, "0s") != 0 || strcmp(run, "0") != 0);
}

/* Of jitter: what blocks of the trace say, or why they say nothing. */
static enum orr_status cut_beside(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    const char *scope = load->options->scope;
    if (load->options->points != NULL) {
        comparison->none_beside =
            "Blocks of the trace, which stand for others like it, are cut from jobs, and a merged "
            "sweep has none: compare the results files of its points (`points` in the folder of "
            "the plan).";
        return ORR_OK;
    }
    if (scope != NULL && strcmp(scope, "all") != 0) {
        comparison->none_beside = "Intervals from blocks of the trace, which stand for others like "
                                  "it, are of all jobs: they stand beside these without --by.";
        return ORR_OK;
    }
    comparison->none_beside = "The trace is too short for intervals from blocks of it.";
    return orr_compare__beside(load);
}

static enum orr_status pair_all(struct orr_compare_load *load)
{
    struct orr_comparison *comparison = load->comparison;
    const size_t cells = (size_t)comparison->metric_count * comparison->arm_count;
    comparison->cells = orr_arena_alloc(&comparison->arena, cells + 1, sizeof *comparison->cells);
    enum orr_status status = ORR_OK;
    for (uint32_t a = 1; a < comparison->arm_count && status == ORR_OK; a++) {
        status = pair_arm(load, a);
    }
    if (status != ORR_OK) {
        return status;
    }
    if (comparison->pairs == 0) {
        return orr_fail(load->err, ORR_DATA,
                        "%s: no other setting has a run with the same seed as this one's",
                        load->runs[0].name);
    }
    comparison->one_trace = comparison->pairs < 2 && load->options->window_ms <= 0;
    if (load->options->window_ms > 0) {
        status = orr_compare__windows(load);
    }
    comparison->detected = load->options->points != NULL &&
                           strstr(load->runs[0].setting, "\nwarmup: detect\n") != NULL;
    comparison->jitter = comparison->pairs > 1 && is_shaken(load->runs[0].setting);
    if (status == ORR_OK && comparison->jitter) {
        status = cut_beside(load);
        adjust(comparison, comparison->beside);
    }
    adjust(comparison, comparison->cells);
    return status;
}

/* After the metrics that files have. */
static void add_ratio(struct orr_compare_load *load, uint32_t *capacity)
{
    struct orr_comparison *c = load->comparison;
    const char *scope = load->options->scope;
    if ((scope == NULL || strcmp(scope, "all") == 0) && load->options->points == NULL &&
        wanted(load->options, ORR_JCT_RATIO)) {
        load->ratio = c->metric_count;
        c->metrics = ORR_ROOM_FOR_ONE(c->metrics, c->metric_count, *capacity);
        c->metrics[c->metric_count++] =
            (struct orr_compare_metric){.name = ORR_JCT_RATIO,
                                        .scope = "all",
                                        .label = "",
                                        .shown = "",
                                        .unit = "1",
                                        .better = orr_metric_better(ORR_JCT_RATIO)};
    }
}

static enum orr_status fail_empty(const struct orr_compare_load *load)
{
    const struct orr_compare_options *options = load->options;
    const char *scope = options->scope != NULL ? options->scope : "all";
    const struct orr_metric_def *first =
        options->metric_count > 0 ? orr_metric_find(options->metrics[0]) : NULL;
    if (first == NULL) {
        return orr_fail(load->err, ORR_DATA, "%s: has none of the metrics asked for in scope %s",
                        load->runs[0].name, scope);
    }
    return orr_fail(load->err, ORR_DATA,
                    "%s: has none of the metrics asked for in scope %s (%s is of: %s)",
                    load->runs[0].name, scope, first->name, first->scopes);
}

enum orr_status orr_compare(const struct orr_compare_options *options,
                            struct orr_comparison *comparison, struct orr_err *err)
{
    struct orr_compare_load load = {
        .options = options, .comparison = comparison, .ratio = ORR_NONE, .err = err};
    *comparison = (struct orr_comparison){.level = options->level > 0 ? options->level : 0.95};
    orr_arena_init(&comparison->arena);
    orr_idmap_init(&load.keys);
    load.runs = orr_zalloc(options->path_count + (size_t)1, sizeof *load.runs);
    uint32_t *known = orr_zalloc(options->path_count + (size_t)1, sizeof *known);
    uint32_t capacity = 0;
    comparison->arms = orr_arena_alloc(&comparison->arena, options->path_count + (size_t)1,
                                       sizeof *comparison->arms);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < options->path_count && status == ORR_OK; i++) {
        status = read_run(&load, i, &capacity, known);
    }
    if (status == ORR_OK) {
        status = check_seeds(&load);
    }
    if (status == ORR_OK) {
        add_ratio(&load, &capacity);
    }
    if (status == ORR_OK && comparison->metric_count == 0 && !options->may_be_empty) {
        status = fail_empty(&load);
    }
    if (status == ORR_OK) {
        fill_values(&load, known);
        orr_compare__weigh(&load);
        status = label_arms(&load);
        orr_compare__part(&load);
        status = status == ORR_OK && comparison->metric_count > 0 ? pair_all(&load) : status;
    }
    for (uint32_t r = 0; r < options->path_count; r++) {
        orr_free(load.runs[r].values);
    }
    orr_free(known);
    orr_free(load.runs);
    orr_idmap_release(&load.keys);
    if (status != ORR_OK) {
        orr_comparison_release(comparison);
    }
    return status;
}

void orr_comparison_release(struct orr_comparison *comparison)
{
    orr_free(comparison->metrics);
    orr_arena_release(&comparison->arena);
    *comparison = (struct orr_comparison){0};
}

const struct orr_paired *orr_comparison_cell(const struct orr_comparison *comparison,
                                             uint32_t metric, uint32_t arm)
{
    return &comparison->cells[(size_t)metric * comparison->arm_count + arm];
}

enum orr_status orr_metric_values(const char *const *paths, uint32_t count, const char *metric,
                                  const char *scope, const char *label, struct orr_reading *values,
                                  struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        struct orr_results in;
        orr_results_open(&in, paths[i], err);
        sqlite3_stmt *row = orr_results_prepare(&in, orr_compare_sql__metric);
        const char *const keys[] = {metric, scope, label};
        for (int k = 0; row != NULL && k < 3; k++) {
            (void)sqlite3_bind_text(row, k + 1, keys[k], -1, SQLITE_STATIC);
        }
        values[i] = when_absent(metric);
        while (orr_results_step(&in, row)) {
            const struct orr_reading found = reading_of(row, 0, 1);
            values[i] = isnan(found.value) ? values[i] : found;
        }
        status = in.status;
        orr_results_close(&in);
    }
    return status;
}

enum orr_verdict_on orr_compare_verdict(const struct orr_compare_metric *metric,
                                        const struct orr_paired *p)
{
    if (isnan(p->low) && p->lost + p->found == 0 && !p->alike) {
        return ORR_ON_UNKNOWN;
    }
    const int order = orr_paired_order(p);
    if (order == 0) {
        return ORR_ON_OPEN;
    }
    return metric->better == ORR_BETTER_NEITHER                 ? ORR_ON_OTHER
           : (metric->better == ORR_BETTER_LESS) == (order < 0) ? ORR_ON_BETTER
                                                                : ORR_ON_WORSE;
}
