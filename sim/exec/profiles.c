/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profiles.c - a scenario's profiles as structs that give rates; tables come from CSV files. */
#include <orrery/sim/profiles.h>

#include <math.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/table.h>

struct loading {
    const struct orr_scenario_profile *from;
    const struct orr_fabric *fabric;
    struct orr_arena *arena;
    struct orr_profile *out;
    struct orr_err *err;
};

/* Index of a GPU model in the cluster; ORR_NONE: any ("any", or no text). False: it has none such.
 */
static bool model_of(const struct loading *l, const char *name, uint32_t *model)
{
    *model = ORR_NONE;
    if (name == NULL || strcmp(name, "any") == 0) {
        return true;
    }
    *model = orr_idmap_find(&l->fabric->cluster->models, name, strlen(name));
    return *model != ORR_NONE;
}

enum { COL_PROFILE, COL_MODEL, COL_PLACEMENT, COL_STEP, COL_STEPS, COL_SYNC };
static const struct orr_table_column table_columns[] = {
    [COL_PROFILE] = {"profile", true, false},    [COL_MODEL] = {"gpu_model", true, false},
    [COL_PLACEMENT] = {"placement", true, true}, [COL_STEP] = {"step_s", false, false},
    [COL_STEPS] = {"steps_per_s", false, false}, [COL_SYNC] = {"sync_s", false, false},
};

static bool is_mine(const struct loading *l, const struct orr_table *table, uint32_t column,
                    uint32_t row)
{
    const char *name = l->from->row != NULL ? l->from->row : l->from->name;
    const char *text = (table->present >> column & 1) != 0 ? table->texts[column][row] : NULL;
    return text == NULL || strcmp(text, name) == 0;
}

static double cell(const struct orr_table *table, uint32_t column, uint32_t row)
{
    return (table->present >> column & 1) != 0 ? table->numbers[column][row] : (double)NAN;
}

static enum orr_status wrong_row(const struct loading *l, const char *path,
                                 const struct orr_table *table, uint32_t row, const char *what)
{
    return orr_fail(l->err, ORR_DATA, "%s:%u: %s", path, (unsigned)table->lines[row], what);
}

static enum orr_status take_row(struct loading *l, const struct orr_table *table, uint32_t r,
                                struct orr_profile_row *rows)
{
    const char *path = l->from->table, *placement = table->texts[COL_PLACEMENT][r];
    double step_s = cell(table, COL_STEP, r), steps = cell(table, COL_STEPS, r);
    double sync_s = cell(table, COL_SYNC, r);
    struct orr_profile_row row;
    if (!orr_pattern_parse(placement, strlen(placement), &row.pattern)) {
        return wrong_row(l, path, table, r, "a placement is GPUs on each node, as 8, 4-4 or 2x8");
    }
    row.step_s = step_s > 0.0 ? step_s : 1.0 / steps;
    if (isnan(step_s) == isnan(steps)) {
        return wrong_row(l, path, table, r, "needs one of step_s and steps_per_s");
    }
    row.sync_s = sync_s > 0.0 ? sync_s : 0.0;
    const char *model = (table->present >> COL_MODEL & 1) != 0 ? table->texts[COL_MODEL][r] : NULL;
    /* a rate of 0 was measured where the job does not fit: no figure */
    if (model_of(l, model, &row.gpu_model) && row.step_s > 0.0 && row.step_s < 1e30) {
        rows[l->out->row_count++] = row;
    }
    return ORR_OK;
}

static enum orr_status load_table(struct loading *l)
{
    struct orr_table table;
    enum orr_status status =
        orr_table_read(l->from->table, table_columns,
                       sizeof table_columns / sizeof table_columns[0], &table, l->err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_profile_row *rows = orr_arena_alloc(l->arena, table.rows + (size_t)1, sizeof *rows);
    for (uint32_t r = 0; r < table.rows && status == ORR_OK; r++) {
        if (is_mine(l, &table, COL_PROFILE, r)) {
            status = take_row(l, &table, r, rows);
        }
    }
    l->out->rows = rows;
    orr_table_release(&table);
    if (status == ORR_OK && l->out->row_count == 0) {
        status =
            orr_fail(l->err, ORR_DATA, "%s: no row for profile %s on a GPU model of the cluster",
                     l->from->table, l->from->name);
    }
    for (uint32_t r = 0; r < l->out->row_count && status == ORR_OK; r++) {
        if (rows[r].gpu_model != ORR_NONE && l->out->reference_model == ORR_NONE) {
            status = orr_fail(l->err, ORR_SCENARIO,
                              "%s: profile %s: its table tells GPU models apart, so it needs "
                              "reference.gpu_model",
                              l->from->origin, l->from->name);
        }
    }
    return status;
}

enum { COL_END = 1, COL_GAIN, COL_ACCUMULATION };
static const struct orr_table_column epoch_columns[] = {
    {"profile", true, false},
    [COL_END] = {"end", false, true},
    [COL_GAIN] = {"gain", false, true},
    [COL_ACCUMULATION] = {"accumulation", false, false},
};

static enum orr_status load_epochs(struct loading *l)
{
    struct orr_table table;
    enum orr_status status = orr_table_read(l->from->epochs, epoch_columns, 4, &table, l->err);
    if (status != ORR_OK) {
        return status;
    }
    struct orr_profile_epoch *epochs =
        orr_arena_alloc(l->arena, table.rows + (size_t)1, sizeof *epochs);
    double before = 0.0;
    uint32_t count = 0;
    for (uint32_t r = 0; r < table.rows && status == ORR_OK; r++) {
        if (!is_mine(l, &table, 0, r)) {
            continue;
        }
        double accumulation = cell(&table, COL_ACCUMULATION, r);
        epochs[count] =
            (struct orr_profile_epoch){.end = table.numbers[COL_END][r],
                                       .gain = table.numbers[COL_GAIN][r],
                                       .accumulation = accumulation > 0.0 ? accumulation : 0.0};
        if (!(epochs[count].end > before) || !(epochs[count].gain > 0.0)) {
            status =
                wrong_row(l, l->from->epochs, &table, r, "ends must rise and gains be above 0");
        }
        before = epochs[count++].end;
    }
    if (status == ORR_OK && count == 0) {
        status =
            orr_fail(l->err, ORR_DATA, "%s: no row for profile %s", l->from->epochs, l->from->name);
    }
    l->out->epochs = epochs;
    l->out->epoch_count = count;
    orr_table_release(&table);
    return status;
}

static enum orr_status load_allreduce(struct loading *l)
{
    const struct orr_scenario_profile *from = l->from;
    struct orr_profile *out = l->out;
    struct orr_profile_compute *computes =
        orr_arena_alloc(l->arena, from->compute_count + (size_t)1, sizeof *computes);
    for (uint32_t i = 0; i < from->compute_count; i++) {
        if (model_of(l, from->computes[i].name, &computes[out->compute_count].gpu_model)) {
            computes[out->compute_count++].step_s = from->computes[i].weight;
        }
    }
    out->computes = computes;
    out->bytes = (double)from->bytes;
    out->overlap = from->overlap;
    out->algorithm = strcmp(from->algorithm, "tree") == 0           ? ORR_ALLREDUCE_TREE
                     : strcmp(from->algorithm, "hierarchical") == 0 ? ORR_ALLREDUCE_HIERARCHICAL
                                                                    : ORR_ALLREDUCE_RING;
    if (!orr_profile_refer(out, l->fabric)) {
        return orr_fail(l->err, ORR_SCENARIO,
                        "%s: profile %s: no compute time for its reference, %s", from->origin,
                        from->name, from->gpu_model == NULL ? "any GPU model" : from->gpu_model);
    }
    return ORR_OK;
}

static void load_speedups(struct loading *l)
{
    const struct orr_scenario_profile *from = l->from;
    struct orr_profile_speedup *speedups =
        orr_arena_alloc(l->arena, from->speedup_count + (size_t)1, sizeof *speedups);
    for (uint32_t i = 0; i < from->speedup_count; i++) {
        int64_t workers = 1;
        (void)orr_parse_i64(from->speedups[i].name, strlen(from->speedups[i].name), &workers);
        speedups[i] = (struct orr_profile_speedup){(uint32_t)workers, from->speedups[i].weight};
    }
    l->out->speedups = speedups;
    l->out->speedup_count = from->speedup_count;
    l->out->serial = from->serial;
}

static enum orr_status load_one(struct loading *l)
{
    static const char *const kinds[] = {"fixed", "table", "allreduce", "speedup"};
    const struct orr_scenario_profile *from = l->from;
    struct orr_profile *out = l->out;
    out->misaligned_ppm = (int64_t)(from->misaligned * ORR_PPM + 0.5);
    while (strcmp(kinds[out->kind], from->kind) != 0) {
        out->kind++;
    }
    if (from->placement != NULL &&
        !orr_pattern_parse(from->placement, strlen(from->placement), &out->reference_pattern)) {
        return orr_fail(l->err, ORR_SCENARIO,
                        "%s: profile %s: placement \"%s\" is not GPUs on each node, as 8, 4-4 or "
                        "2x8",
                        from->origin, from->name, from->placement);
    }
    if (!model_of(l, from->gpu_model, &out->reference_model)) {
        return orr_fail(l->err, ORR_SCENARIO,
                        "%s: profile %s: its reference, %s, is no GPU model of the cluster",
                        from->origin, from->name, from->gpu_model);
    }
    switch (out->kind) {
    case ORR_PROFILE_FIXED: break;
    case ORR_PROFILE_SPEEDUP: load_speedups(l); break;
    case ORR_PROFILE_ALLREDUCE: return load_allreduce(l);
    case ORR_PROFILE_TABLE: {
        enum orr_status status = load_table(l);
        return status == ORR_OK && from->epochs != NULL ? load_epochs(l) : status;
    }
    }
    return ORR_OK;
}

enum orr_status orr_profiles_load(const struct orr_scenario *scenario,
                                  const struct orr_fabric *fabric, const bool *wanted,
                                  struct orr_profiles *profiles, struct orr_err *err)
{
    enum orr_status status = ORR_OK;
    *profiles = (struct orr_profiles){0};
    orr_arena_init(&profiles->arena);
    profiles->items = orr_arena_alloc(&profiles->arena, scenario->profile_count + (size_t)1,
                                      sizeof *profiles->items);
    for (uint32_t i = 0; i < scenario->profile_count && status == ORR_OK; i++) {
        struct loading l = {.from = &scenario->profiles[i],
                            .fabric = fabric,
                            .arena = &profiles->arena,
                            .out = &profiles->items[i],
                            .err = err};
        *l.out = (struct orr_profile){.name = l.from->name};
        status = wanted == NULL || wanted[i] ? load_one(&l) : ORR_OK;
        profiles->count++;
    }
    if (status != ORR_OK) {
        orr_profiles_release(profiles);
    }
    return status;
}

void orr_profiles_release(struct orr_profiles *profiles)
{
    orr_arena_release(&profiles->arena);
    *profiles = (struct orr_profiles){0};
}

uint32_t orr_profiles_find(const struct orr_profiles *profiles, const char *name)
{
    for (uint32_t i = 0; i < profiles->count; i++) {
        if (strcmp(profiles->items[i].name, name) == 0) {
            return i;
        }
    }
    return ORR_NONE;
}
