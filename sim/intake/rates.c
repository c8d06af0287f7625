/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rates.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include <orrery/base/text.h>
#include <orrery/traces/source.h>
#include <orrery/traces/table.h>

#include "document.h"

#define JSON_BYTES_MAX ((size_t)256 << 20)

static const char spread_suffix[] = "_unconsolidated";

/* --- what is known --------------------------------------------------------------------------- */

struct orr_intake_rates *intake_rates_new(void)
{
    struct orr_intake_rates *rates = orr_zalloc(1, sizeof *rates);
    orr_idmap_init(&rates->models);
    orr_idmap_init(&rates->names);
    return rates;
}

void orr_intake_rates_free(struct orr_intake_rates *rates)
{
    if (rates == NULL) {
        return;
    }
    for (uint32_t i = 0; i < rates->names.count; i++) {
        orr_free(rates->of[i].rows);
        orr_free(rates->of[i].epochs);
    }
    orr_free(rates->of);
    orr_idmap_release(&rates->models);
    orr_idmap_release(&rates->names);
    orr_free(rates);
}

static struct intake_rates_of *rates_of(struct orr_intake_rates *rates, const char *name)
{
    bool added;
    const uint32_t index = orr_idmap_put(&rates->names, name, strlen(name), &added);
    if (added) {
        rates->of = ORR_ROOM_FOR_ONE(rates->of, index, rates->capacity);
        rates->of[index] = (struct intake_rates_of){
            .profile = {.kind = ORR_PROFILE_TABLE, .reference_model = ORR_NONE}};
    }
    return &rates->of[index];
}

const struct intake_rates_of *intake_rates_find(const struct orr_intake_rates *rates,
                                                const char *name)
{
    const uint32_t index = orr_idmap_find(&rates->names, name, strlen(name));
    return index == ORR_NONE || rates->of[index].profile.row_count == 0 ? NULL : &rates->of[index];
}

static void add_row(struct intake_rates_of *of, const struct orr_profile_row *row)
{
    of->rows = ORR_ROOM_FOR_ONE(of->rows, of->profile.row_count, of->row_capacity);
    of->rows[of->profile.row_count++] = *row;
}

void intake_profile_name(struct orr_cell type, char out[INTAKE_PROFILE_NAME])
{
    static const char batch[] = "batch size ";
    size_t used = 0;
    for (size_t i = 0; i < type.bytes && used + 3 < INTAKE_PROFILE_NAME; i++) {
        const size_t left = type.bytes - i;
        if (left > sizeof batch - 1 && strncasecmp(type.at + i, batch, sizeof batch - 1) == 0) {
            out[used++] = 'b';
            i += sizeof batch - 2;
        } else if (isalnum((unsigned char)type.at[i])) {
            out[used++] = (char)tolower((unsigned char)type.at[i]);
        } else if (used > 0 && out[used - 1] != '-') {
            out[used++] = '-';
        }
    }
    while (used > 0 && out[used - 1] == '-') {
        used--;
    }
    out[used] = '\0';
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* "('ResNet-18 (batch size 16)', 2)" */
static bool parse_key(const char *key, struct orr_cell *type, int64_t *gpus)
{
    const size_t bytes = strlen(key);
    const char *comma = strrchr(key, ',');
    if (bytes < 8 || strncmp(key, "('", 2) != 0 || key[bytes - 1] != ')' || comma == NULL ||
        comma - key < 4 || comma[-1] != '\'') {
        return false;
    }
    const char *digits = comma + 1 + strspn(comma + 1, " ");
    *type = (struct orr_cell){key + 2, (size_t)(comma - key) - 3};
    return orr_parse_i64(digits, (size_t)(key + bytes - 1 - digits), gpus) && *gpus >= 1 &&
           *gpus <= UINT16_MAX;
}

/* "v100" is V100: names of GPU models are told apart by case. */
static uint32_t model_of(struct orr_intake_rates *rates, const char *name, bool *is_spread)
{
    char upper[64];
    size_t bytes = strlen(name);
    const size_t suffix = sizeof spread_suffix - 1;
    *is_spread = bytes > suffix && strcmp(name + bytes - suffix, spread_suffix) == 0;
    bytes -= *is_spread ? suffix : 0;
    bytes = bytes < sizeof upper ? bytes : sizeof upper - 1;
    for (size_t i = 0; i < bytes; i++) {
        upper[i] = (char)toupper((unsigned char)name[i]);
    }
    return orr_idmap_put(&rates->models, upper, bytes, NULL);
}

static bool is_model_name(const char *name)
{
    const size_t bytes = strlen(name);
    return bytes > 0 && bytes < 60 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
               bytes;
}

/* Rates of one kind of job on one GPU model: "null" is the job by itself. */
static void take_kind(struct orr_intake_rates *rates, struct import_load *load,
                      const struct import_value *of_kind, uint32_t model, bool is_spread)
{
    struct orr_cell type;
    char name[INTAKE_PROFILE_NAME], pattern[16];
    int64_t gpus = 0;
    if (!parse_key(of_kind->key, &type, &gpus)) {
        import_fail(load, of_kind,
                    "\"%.80s\" is no kind of job like ('ResNet-18 (batch size 16)', 2)",
                    of_kind->key);
        return;
    }
    intake_profile_name(type, name);
    if (name[0] == '\0' || of_kind->kind != IMPORT_MAP) {
        import_fail(load, of_kind, "a kind of job has a name and a map of rates");
        return;
    }
    IMPORT_EACH(rate, of_kind)
    {
        double steps_per_s = 0.0;
        if (strcmp(rate->key, "null") != 0) {
            rates->pairs++;
            continue;
        }
        const char *text = rate->kind == IMPORT_TEXT ? rate->text : "";
        if (!orr_parse_double(text, strlen(text), &steps_per_s) || steps_per_s < 0.0) {
            import_fail(load, rate, "steps per second are a number from 0 on");
            return;
        }
        struct orr_profile_row row = {.gpu_model = model, .step_s = 1.0 / steps_per_s};
        if (is_spread && gpus == 1) { /* one GPU is on one node either way */
            continue;
        }
        if (!(row.step_s < 1e30)) {
            rates->unfit++;
            continue;
        }
        const int bytes = snprintf(pattern, sizeof pattern, is_spread ? "%dx1" : "%d", (int)gpus);
        if (orr_pattern_parse(pattern, (size_t)bytes, &row.pattern)) {
            add_row(rates_of(rates, name), &row);
        }
    }
}

enum orr_status intake_rates_json(struct orr_intake_rates *rates, const char *path,
                                  const char *text, size_t bytes, struct orr_err *err)
{
    struct orr_arena arena;
    struct import_load load = {&arena, err};
    struct import_file *file = NULL;
    orr_arena_init(&arena);
    const enum orr_status status = import_parse(&load, path, text, bytes, &file);
    const struct import_value *models = status == ORR_OK ? file->documents->first : NULL;
    if (models != NULL && models->kind != IMPORT_MAP) {
        import_fail(&load, models, "a table of rates is a map of GPU models");
    }
    for (const struct import_value *of_model = import_ok(&load) && models != NULL ? models->first
                                                                                  : NULL;
         of_model != NULL && import_ok(&load); of_model = of_model->next) {
        bool is_spread;
        if (!is_model_name(of_model->key) || of_model->kind != IMPORT_MAP) {
            import_fail(&load, of_model,
                        "a GPU model has a name like v100 and a map of kinds of job");
            break;
        }
        const uint32_t model = model_of(rates, of_model->key, &is_spread);
        for (const struct import_value *kind = of_model->first; kind != NULL && import_ok(&load);
             kind = kind->next) {
            take_kind(rates, &load, kind, model, is_spread);
        }
    }
    orr_arena_release(&arena);
    return err->status;
}

/* --- CSV ------------------------------------------------------------------------------------- */

enum { COL_PROFILE, COL_MODEL, COL_PLACEMENT, COL_STEP, COL_STEPS, COL_SYNC, STEP_COLUMNS };
static const struct orr_table_column step_columns[STEP_COLUMNS] = {
    [COL_PROFILE] = {"profile", true, true},     [COL_MODEL] = {"gpu_model", true, false},
    [COL_PLACEMENT] = {"placement", true, true}, [COL_STEP] = {"step_s", false, false},
    [COL_STEPS] = {"steps_per_s", false, false}, [COL_SYNC] = {"sync_s", false, false},
};
enum { COL_END = 1, COL_GAIN, COL_ACCUMULATION, EPOCH_COLUMNS };
static const struct orr_table_column epoch_columns[EPOCH_COLUMNS] = {
    {"profile", true, true},
    [COL_END] = {"end", false, true},
    [COL_GAIN] = {"gain", false, true},
    [COL_ACCUMULATION] = {"accumulation", false, false},
};

/* 0: not given. */
static double number(const struct orr_table *table, uint32_t column, uint32_t row)
{
    const double value =
        (table->present >> column & 1) != 0 ? table->numbers[column][row] : (double)NAN;
    return isnan(value) ? 0.0 : value;
}

static enum orr_status wrong(const char *path, const struct orr_table *table, uint32_t row,
                             const char *what, struct orr_err *err)
{
    return orr_fail(err, ORR_DATA, "%s:%u: %s", path, (unsigned)table->lines[row], what);
}

static enum orr_status take_steps(struct orr_intake_rates *rates, const char *path,
                                  const struct orr_table *table, struct orr_err *err)
{
    for (uint32_t r = 0; r < table->rows; r++) {
        const char *placement = table->texts[COL_PLACEMENT][r],
                   *name = table->texts[COL_PROFILE][r];
        const char *model =
            (table->present >> COL_MODEL & 1) != 0 ? table->texts[COL_MODEL][r] : NULL;
        const double step_s = number(table, COL_STEP, r), steps = number(table, COL_STEPS, r);
        struct orr_profile_row row = {.gpu_model = ORR_NONE,
                                      .step_s = step_s > 0.0 ? step_s : 1.0 / steps,
                                      .sync_s = number(table, COL_SYNC, r)};
        if (!orr_pattern_parse(placement, strlen(placement), &row.pattern)) {
            return wrong(path, table, r, "a placement is GPUs on each node, as 8, 4-4 or 2x8", err);
        }
        if (!is_model_name(name) || (model != NULL && !is_model_name(model))) {
            return wrong(path, table, r, "names are letters, digits, dots, dashes and underscores",
                         err);
        }
        if ((step_s > 0.0) == (steps > 0.0) || row.sync_s < 0.0) {
            return wrong(path, table, r, "needs one of step_s and steps_per_s, above 0", err);
        }
        if (model != NULL && strcmp(model, "any") != 0) {
            row.gpu_model = orr_idmap_put(&rates->models, model, strlen(model), NULL);
        }
        add_row(rates_of(rates, name), &row);
    }
    return ORR_OK;
}

static enum orr_status take_epochs(struct orr_intake_rates *rates, const char *path,
                                   const struct orr_table *table, struct orr_err *err)
{
    rates->has_epochs = true;
    for (uint32_t r = 0; r < table->rows; r++) {
        if (!is_model_name(table->texts[COL_PROFILE][r])) {
            return wrong(path, table, r, "names are letters, digits, dots, dashes and underscores",
                         err);
        }
        struct intake_rates_of *of = rates_of(rates, table->texts[COL_PROFILE][r]);
        const uint32_t count = of->profile.epoch_count;
        const struct orr_profile_epoch epoch = {.end = table->numbers[COL_END][r],
                                                .gain = table->numbers[COL_GAIN][r],
                                                .accumulation = number(table, COL_ACCUMULATION, r)};
        if (!(epoch.end > (count > 0 ? of->epochs[count - 1].end : 0.0)) || !(epoch.gain > 0.0) ||
            epoch.accumulation < 0.0) {
            return wrong(path, table, r, "ends must rise and gains be above 0", err);
        }
        of->epochs = ORR_ROOM_FOR_ONE(of->epochs, count, of->epoch_capacity);
        of->epochs[of->profile.epoch_count++] = epoch;
    }
    return ORR_OK;
}

static enum orr_status read_csv(struct orr_intake_rates *rates, const char *path, bool are_epochs,
                                struct orr_err *err)
{
    struct orr_table table;
    enum orr_status status = orr_table_read(path, are_epochs ? epoch_columns : step_columns,
                                            are_epochs ? EPOCH_COLUMNS : STEP_COLUMNS, &table, err);
    if (status == ORR_OK) {
        status = are_epochs ? take_epochs(rates, path, &table, err)
                            : take_steps(rates, path, &table, err);
        orr_table_release(&table);
    }
    return status;
}

/* --- files ----------------------------------------------------------------------------------- */

enum rates_form { RATES_NONE, RATES_JSON, RATES_STEPS, RATES_EPOCHS };

static bool has_name(const char *const *names, uint32_t count, const char *name)
{
    while (count > 0 && strcmp(names[count - 1], name) != 0) {
        count--;
    }
    return count > 0;
}

static enum rates_form form_of(const char *path)
{
    struct orr_records *records;
    struct orr_err err = {0};
    const struct orr_records_options options = {.delimiter = ","};
    if (orr_records_open(path, &options, &records, &err) != ORR_OK) {
        return RATES_NONE;
    }
    uint32_t count;
    const char *const *names = orr_records_names(records, &count);
    const struct orr_cell head = orr_records_head(records);
    size_t from = 0;
    while (from < head.bytes && isspace((unsigned char)head.at[from])) {
        from++;
    }
    const bool profile = has_name(names, count, "profile");
    /* beside a job file, any JSON is taken for its table: what is wrong with it is said then */
    const enum rates_form form = from < head.bytes && head.at[from] == '{'        ? RATES_JSON
                                 : profile && has_name(names, count, "placement") ? RATES_STEPS
                                 : profile && has_name(names, count, "gain")      ? RATES_EPOCHS
                                                                                  : RATES_NONE;
    orr_records_close(records);
    return form;
}

static enum orr_status read_json(struct orr_intake_rates *rates, const char *path,
                                 struct orr_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    enum orr_status status = orr_source_read_all(path, JSON_BYTES_MAX, &text, &bytes, err);
    if (status == ORR_OK) {
        status = intake_rates_json(rates, path, text, bytes, err);
    }
    orr_free(text);
    return status;
}

void intake_rates_refer(struct orr_intake_rates *rates)
{
    const uint32_t v100 = orr_idmap_find(&rates->models, "V100", 4);
    for (uint32_t i = 0; i < rates->names.count; i++) {
        struct intake_rates_of *of = &rates->of[i];
        uint32_t model = of->profile.row_count > 0 ? of->rows[0].gpu_model : ORR_NONE;
        for (uint32_t r = 0; r < of->profile.row_count; r++) {
            model = of->rows[r].gpu_model == v100 ? v100 : model;
        }
        of->profile.reference_model = model;
        of->profile.rows = of->rows;
        of->profile.epochs = of->epochs;
    }
}

enum orr_status orr_intake_rates_read(const char *const *paths, uint32_t count,
                                      struct orr_intake_rates **out, struct orr_err *err)
{
    struct orr_intake_rates *rates = intake_rates_new();
    enum orr_status status = ORR_OK;
    for (uint32_t p = 0; p < count && status == ORR_OK; p++) {
        const enum rates_form form = form_of(paths[p]);
        status = form == RATES_JSON   ? read_json(rates, paths[p], err)
                 : form != RATES_NONE ? read_csv(rates, paths[p], form == RATES_EPOCHS, err)
                                      : orr_fail(err, ORR_DATA,
                                                 "%s:1: is no table of step rates: neither "
                                                 "Gavel's JSON nor CSV with the columns "
                                                 "profile, placement and step_s, or profile, "
                                                 "end and gain",
                                                 paths[p]);
    }
    intake_rates_refer(rates);
    if (status != ORR_OK) {
        orr_intake_rates_free(rates);
        rates = NULL;
    }
    *out = rates;
    return status;
}

double intake_rates_seconds(const struct intake_rates_of *of, double steps, uint32_t gpus)
{
    const struct orr_pace pace = orr_profile_reference_pace(&of->profile, gpus);
    double seconds = 0.0, before = 0.0;
    if (of->profile.epoch_count == 0) {
        return steps * pace.step_s;
    }
    for (uint32_t e = 0; e < of->profile.epoch_count; e++) {
        const double rate = orr_profile_epoch_rate(&of->profile, e, pace);
        seconds += rate > 0.0 ? (of->epochs[e].end - before) / rate : 0.0;
        before = of->epochs[e].end;
    }
    return seconds;
}

/* --- profiles -------------------------------------------------------------------------------- */

bool orr_intake_rates_have_epochs(const struct orr_intake_rates *rates)
{
    return rates->has_epochs;
}

void orr_intake_rates_write(const struct orr_intake_rates *rates, FILE *out)
{
    (void)fputs("apiVersion: orrery/v1alpha1\nkind: Profiles\nprofiles:\n", out);
    for (uint32_t i = 0; i < rates->names.count; i++) {
        const struct orr_profile *profile = &rates->of[i].profile;
        if (profile->row_count == 0) {
            continue;
        }
        (void)fprintf(out, "  \"%s\": {kind: table, table: steps.csv",
                      orr_idmap_name(&rates->names, i));
        (void)fputs(profile->epoch_count > 0 ? ", epochs: epochs.csv" : "", out);
        if (profile->reference_model != ORR_NONE) {
            (void)fprintf(out, ", reference: {gpu_model: \"%s\"}",
                          orr_idmap_name(&rates->models, profile->reference_model));
        }
        (void)fputs("}\n", out);
    }
}

static void write_pattern(const struct orr_pattern *pattern, FILE *out)
{
    const uint32_t known = pattern->nodes < ORR_PATTERN_NODES ? pattern->nodes : ORR_PATTERN_NODES;
    for (uint32_t n = 0; n < known;) {
        uint32_t alike = 1;
        while (n + alike < known && pattern->on_node[n + alike] == pattern->on_node[n]) {
            alike++;
        }
        /* nodes behind the last that is known are taken to be like it */
        const uint32_t nodes = n + alike == known ? pattern->nodes - n : alike;
        (void)fputs(n > 0 ? "-" : "", out);
        if (nodes > 1) {
            (void)fprintf(out, "%ux", (unsigned)nodes);
        }
        (void)fprintf(out, "%u", (unsigned)pattern->on_node[n]);
        n += alike;
    }
}

void orr_intake_rates_write_steps(const struct orr_intake_rates *rates, FILE *out)
{
    (void)fputs("profile,gpu_model,placement,step_s,sync_s\n", out);
    for (uint32_t i = 0; i < rates->names.count; i++) {
        const struct intake_rates_of *of = &rates->of[i];
        for (uint32_t r = 0; r < of->profile.row_count; r++) {
            const struct orr_profile_row *row = &of->rows[r];
            (void)fprintf(out, "%s,%s,", orr_idmap_name(&rates->names, i),
                          row->gpu_model == ORR_NONE
                              ? "any"
                              : orr_idmap_name(&rates->models, row->gpu_model));
            write_pattern(&row->pattern, out);
            (void)fprintf(out, ",%.17g,%.17g\n", row->step_s, row->sync_s);
        }
    }
}

void orr_intake_rates_write_epochs(const struct orr_intake_rates *rates, FILE *out)
{
    (void)fputs("profile,end,gain,accumulation\n", out);
    for (uint32_t i = 0; i < rates->names.count; i++) {
        const struct intake_rates_of *of = &rates->of[i];
        for (uint32_t e = 0; e < of->profile.epoch_count; e++) {
            const struct orr_profile_epoch *epoch = &of->epochs[e];
            (void)fprintf(out, "%s,%.17g,%.17g,%.17g\n", orr_idmap_name(&rates->names, i),
                          epoch->end, epoch->gain, epoch->accumulation);
        }
    }
}
