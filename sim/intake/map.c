/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps: YAML to expressions over the columns of a table. */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>
#include <orrery/traces/reader.h>
#include <orrery/traces/source.h>

#include "document.h"
#include "intake_int.h"

#define MAP_BYTES_MAX ((size_t)1 << 20)
#define MAPS_MAX      256

struct intake_file {
    struct import_load load;
    const struct import_value *root;
    struct orr_err err;
};

/* --- where maps are -------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    return access(path, R_OK | X_OK) == 0;
}

/* share/orrery/maps beside the folder that the program is in; else sim/intake/maps above it. */
static const char *find_folder(struct orr_arena *arena)
{
    static const char *const places[] = {"/../share/orrery/maps", "/../../sim/intake/maps",
                                         "/../../../sim/intake/maps"};
    char program[PATH_MAX], path[PATH_MAX + 40];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    if (bytes < 0) {
        return NULL;
    }
    program[bytes] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", program, places[i]);
        if (is_folder(path)) {
            return orr_arena_strndup(arena, path, strlen(path));
        }
    }
    return NULL;
}

const char *orr_intake_maps(struct orr_arena *arena, const char ***names, uint32_t *count)
{
    *count = 0;
    *names = orr_arena_alloc(arena, MAPS_MAX, sizeof **names);
    const char *folder = find_folder(arena);
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL && *count < MAPS_MAX) {
        const size_t bytes = strlen(entry->d_name);
        if (bytes > 5 && strcmp(entry->d_name + bytes - 5, ".yaml") == 0) {
            (*names)[(*count)++] = orr_arena_strndup(arena, entry->d_name, bytes - 5);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    orr_sort(*names, *count, sizeof **names, orr_compare_texts, NULL);
    return folder;
}

/* Maps of one origin are called ORIGIN-PART: its name alone means each of them. */
const char *orr_intake_near_maps(struct orr_arena *arena, const char *word)
{
    const char **names;
    uint32_t count;
    char text[600] = "";
    size_t used = 0;
    (void)orr_intake_maps(arena, &names, &count);
    for (uint32_t i = 0; i < count && used + strlen(names[i]) + 8 < sizeof text; i++) {
        if (strncmp(names[i], word, strlen(word)) == 0 && names[i][strlen(word)] == '-') {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used == 0 ? "" : " or ", names[i]);
        }
    }
    return used > 0 ? orr_arena_strndup(arena, text, used)
                    : orr_nearest(word, (const char *const *)names, count);
}

/* A name is that of a shipped map, anything with a dot or a slash is a file. */
static enum orr_status find_map(struct orr_arena *arena, const char *name, const char **path,
                                struct orr_err *err)
{
    const char **names;
    uint32_t count;
    *path = name;
    if (strpbrk(name, "./") != NULL) {
        return ORR_OK;
    }
    const char *folder = orr_intake_maps(arena, &names, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            char *whole = orr_arena_alloc(arena, strlen(folder) + strlen(name) + 8, 1);
            (void)sprintf(whole, "%s/%s.yaml", folder, name);
            *path = whole;
            return ORR_OK;
        }
    }
    char list[600] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < count && used + strlen(names[i]) + 3 < sizeof list; i++) {
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *near = orr_intake_near_maps(arena, name);
    return orr_fail(err, ORR_USAGE,
                    "map \"%.60s\" is not known%s%s%s: %s; a file of one's own has "
                    "a dot or a slash in its name",
                    name, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                    near != NULL ? "?" : "", list);
}

/* --- YAML ------------------------------------------------------------------------------------ */

static void check_keys(struct import_load *load, const struct import_value *map,
                       const char *const *keys, size_t count)
{
    IMPORT_EACH(child, map)
    {
        size_t i = 0;
        while (i < count && strcmp(keys[i], child->key) != 0) {
            i++;
        }
        if (i == count) {
            const char *near = orr_nearest(child->key, keys, count);
            import_fail(load, child, "\"%.60s\" is not known here%s%s%s", child->key,
                        near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                        near != NULL ? "\"?" : "");
        }
    }
}
#define CHECK_KEYS(load, map, ...)                                                                 \
    check_keys(load, map, (const char *const[]){__VA_ARGS__},                                      \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char *const *read_list(struct import_load *load, const struct import_value *list,
                                    uint32_t *count)
{
    *count = 0;
    if (list == NULL) {
        return NULL;
    }
    const char **texts = orr_arena_alloc(load->arena, list->count + (size_t)1, sizeof *texts);
    IMPORT_EACH(child, list)
    {
        texts[(*count)++] = import_scalar(load, child);
    }
    return texts;
}

static void read_table(struct import_load *load, const struct import_value *root,
                       struct intake_map *map)
{
    const struct import_value *table = import_map(load, root, "table");
    if (table == NULL) {
        return;
    }
    CHECK_KEYS(load, table, "delimiter", "quotes", "header", "empty");
    const char *delimiter = import_text(load, table, "delimiter", NULL);
    map->table.delimiter = delimiter != NULL && strcmp(delimiter, "tab") == 0 ? "\t" : delimiter;
    map->table.plain = !import_bool(load, table, "quotes", true);
    map->table.names = read_list(load, import_list(load, table, "header"), &map->table.name_count);
    map->columns.empty =
        read_list(load, import_list(load, table, "empty"), &map->columns.empty_count);
}

enum orr_status intake_map_read(struct orr_arena *arena, const struct orr_intake_options *options,
                                struct intake_file **out, struct intake_map *map,
                                struct orr_err *err)
{
    const char *path = options->map;
    char *text = NULL;
    size_t bytes = options->map_text != NULL ? strlen(options->map_text) : 0;
    enum orr_status status = ORR_OK;
    *map = (struct intake_map){.name = options->map, .columns.arena = arena};
    if (options->map_text == NULL) {
        status = find_map(arena, options->map, &path, err);
        if (status == ORR_OK) {
            status = orr_source_read_all(path, MAP_BYTES_MAX, &text, &bytes, err);
        }
        if (status != ORR_OK) {
            return status;
        }
    }
    struct intake_file *file = orr_arena_alloc(arena, 1, sizeof *file);
    file->load = (struct import_load){.arena = arena, .err = err};
    struct import_file *document;
    status = import_parse(&file->load, path, options->map_text != NULL ? options->map_text : text,
                          bytes, &document);
    orr_free(text);
    if (status != ORR_OK) {
        return status;
    }
    struct import_load *load = &file->load;
    const struct import_value *root = document->documents->first;
    if (root == NULL || root->kind != IMPORT_MAP) {
        return orr_fail(err, ORR_DATA, "%s: is no map of a table: it begins with kind: TraceMap",
                        path);
    }
    CHECK_KEYS(load, root, "apiVersion", "kind", "about", "table", "zone", "times", "drop", "jobs",
               "series", "nodes");
    const char *kind = import_text(load, root, "kind", "");
    if (import_ok(load) && strcmp(kind, "TraceMap") != 0) {
        import_fail(load, import_get(root, "kind") != NULL ? import_get(root, "kind") : root,
                    "kind: TraceMap belongs here");
    }
    map->about = import_text(load, root, "about", NULL);
    read_table(load, root, map);
    file->root = root;
    *out = file;
    return err->status;
}

/* --- columns --------------------------------------------------------------------------------- */

static const struct expr *parse_at(struct intake_file *file, const struct import_value *value,
                                   struct intake_map *map)
{
    struct expr_error error;
    if (!import_ok(&file->load)) {
        return NULL;
    }
    const char *text = import_scalar(&file->load, value);
    /* a text that is a column's name is that column, whatever is in the name */
    for (uint32_t i = 0; i < map->columns.name_count; i++) {
        if (strcmp(map->columns.names[i], text) == 0 && strpbrk(text, "`") == NULL) {
            char *quoted = orr_arena_alloc(file->load.arena, strlen(text) + 3, 1);
            (void)sprintf(quoted, "`%s`", text);
            text = quoted;
            break;
        }
    }
    const struct expr *expr =
        import_ok(&file->load) ? expr_parse(&map->columns, text, &error) : NULL;
    if (expr == NULL && import_ok(&file->load)) {
        struct import_value at = *value;
        at.column += error.column + (value->quoted ? 1 : 0);
        import_fail(&file->load, &at, "%s", error.text);
    }
    return expr;
}

/* Where the zone of a time is stated. */
static const struct import_value *zone_of(const struct intake_file *file,
                                          const struct import_value *value)
{
    const struct import_value *own = value->kind == IMPORT_MAP ? import_get(value, "zone") : NULL;
    const struct import_value *all = import_get(file->root, "zone");
    return own != NULL ? own : all != NULL ? all : value;
}

static void read_time(struct intake_file *file, const struct import_value *value, const char *zone,
                      struct intake_map *map)
{
    struct import_load *load = &file->load;
    const bool long_form = value->kind == IMPORT_MAP;
    if (long_form) {
        CHECK_KEYS(load, value, "format", "zone");
        zone = import_text(load, value, "zone", zone);
    }
    const char *word =
        long_form ? import_text(load, value, "format", "date") : import_scalar(load, value);
    uint32_t format = 0;
    while (format < TIMES_FORMATS && strcmp(times_names[format], word) != 0) {
        format++;
    }
    if (import_ok(load) && format == TIMES_FORMATS) {
        const char *near = orr_nearest(word, times_names, TIMES_FORMATS);
        import_fail(load, value,
                    "\"%.40s\" is no format of times%s%s%s: date, day-first, "
                    "month-first, epoch, epoch-ms, epoch-us or seconds",
                    word, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                    near != NULL ? "?" : "");
    }
    if (!import_ok(load)) {
        return;
    }
    const uint32_t column = expr_column(&map->columns, value->key);
    if (column == ORR_NONE) {
        const char *near = orr_nearest(value->key, map->columns.names, map->columns.name_count);
        import_fail(load, value, "%.200s has no column \"%.60s\"%s%.60s%s", map->columns.file,
                    value->key, near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                    near != NULL ? "\"?" : "");
        return;
    }
    struct orr_err why = {0};
    if (times_make(load->arena, (enum times_format)format, zone, &map->columns.times[column],
                   &why) != ORR_OK) {
        import_fail(load, zone_of(file, value), "%s", why.text);
    }
}

static void read_rules(struct intake_file *file, const struct import_value *value,
                       struct intake_map *map, struct intake_job_column *job)
{
    struct import_load *load = &file->load;
    CHECK_KEYS(load, value, "of", "match", "else");
    const struct import_value *of = import_get(value, "of");
    const struct import_value *match = import_map(load, value, "match");
    if (of == NULL || match == NULL) {
        import_fail(load, value,
                    "{of: EXPRESSION, match: {PATTERN: VALUE}, else: VALUE} belongs "
                    "here");
        return;
    }
    job->expr = parse_at(file, of, map);
    job->otherwise = import_text(load, value, "else", NULL);
    job->rules = orr_arena_alloc(load->arena, match->count + (size_t)1, sizeof *job->rules);
    IMPORT_EACH(rule, match)
    {
        job->rules[job->rule_count++] = (struct intake_rule){rule->key, import_scalar(load, rule)};
    }
}

static void read_job_column(struct intake_file *file, const struct import_value *value,
                            struct intake_map *map)
{
    struct import_load *load = &file->load;
    const uint32_t column =
        strcmp(value->key, "pod_gpus") == 0 ? INTAKE_POD_GPUS : orr_native_column(value->key);
    if (column == ORR_NONE) {
        const char *names[80];
        size_t count = 0;
        for (; count < orr_trace_columns() && count < 79; count++) {
            names[count] = orr_trace_column(count).name;
        }
        names[count++] = "pod_gpus";
        const char *near = orr_nearest(value->key, names, count);
        import_fail(load, value,
                    "\"%.60s\" is no column of a native trace%s%s%s (`orrery columns` "
                    "lists them)",
                    value->key, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                    near != NULL ? "?" : "");
        return;
    }
    if (map->job_count == INTAKE_JOBS_MAX) {
        import_fail(load, value, "too many columns");
        return;
    }
    struct intake_job_column *job = &map->jobs[map->job_count++];
    *job = (struct intake_job_column){.column = column, .name = value->key};
    if (value->kind == IMPORT_MAP) {
        read_rules(file, value, map, job);
    } else {
        job->expr = parse_at(file, value, map);
    }
}

static void read_drop(struct intake_file *file, const struct import_value *value,
                      struct intake_map *map)
{
    struct import_load *load = &file->load;
    if (value->kind != IMPORT_MAP || map->drop_count == INTAKE_DROPS_MAX) {
        import_fail(load, value, "{if: EXPRESSION, because: TEXT} belongs here");
        return;
    }
    CHECK_KEYS(load, value, "if", "because");
    const struct import_value *when = import_get(value, "if");
    const char *because = import_text(load, value, "because", NULL);
    if (when == NULL || because == NULL) {
        import_fail(load, value, "{if: EXPRESSION, because: TEXT} belongs here");
        return;
    }
    map->drops[map->drop_count++] = (struct intake_drop_rule){parse_at(file, when, map), because};
}

static void read_series(struct intake_file *file, const struct import_value *series,
                        struct intake_map *map)
{
    struct import_load *load = &file->load;
    CHECK_KEYS(load, series, "time", "step", "sums");
    const struct import_value *time = import_get(series, "time");
    const struct import_value *sums = import_map(load, series, "sums");
    const char *step = import_text(load, series, "step", "60s");
    if (time == NULL || sums == NULL || sums->count == 0 || sums->count > 8) {
        import_fail(load, series,
                    "{time: EXPRESSION, step: 60s, sums: {requests: 1}} belongs "
                    "here, with up to eight sums");
        return;
    }
    if (!orr_parse_duration(step, strlen(step), &map->step_ms) || map->step_ms < 1) {
        import_fail(load, import_get(series, "step"), "\"%.40s\" is no duration such as 60s", step);
        return;
    }
    map->series_time = parse_at(file, time, map);
    IMPORT_EACH(sum, sums)
    {
        map->sum_names[map->sum_count] = sum->key;
        map->sums[map->sum_count++] = parse_at(file, sum, map);
    }
}

const char *const intake_node_columns[INTAKE_NODE_COLUMNS] = {
    [INTAKE_NODE_NAME] = "name",       [INTAKE_NODE_GPUS] = "gpus",
    [INTAKE_NODE_MODEL] = "gpu_model", [INTAKE_NODE_CPU] = "cpu_milli",
    [INTAKE_NODE_MEM] = "mem_mib",
};

static void read_nodes(struct intake_file *file, const struct import_value *nodes,
                       struct intake_map *map)
{
    check_keys(&file->load, nodes, intake_node_columns, INTAKE_NODE_COLUMNS);
    map->is_nodes = true;
    for (int c = 0; c < INTAKE_NODE_COLUMNS; c++) {
        const struct import_value *value = import_get(nodes, intake_node_columns[c]);
        map->nodes[c] = value != NULL ? parse_at(file, value, map) : NULL;
    }
    if (import_ok(&file->load) && map->nodes[INTAKE_NODE_GPUS] == NULL) {
        import_fail(&file->load, nodes, "gpus: EXPRESSION is needed here: how many a node has");
    }
}

enum orr_status intake_map_bind(struct intake_file *file, const char *path,
                                const struct orr_records *records,
                                const struct orr_intake_options *options, struct intake_map *map,
                                struct orr_err *err)
{
    struct import_load *load = &file->load;
    load->err = err;
    map->columns.file = path;
    map->columns.names = orr_records_names(records, &map->columns.name_count);
    const char *zone =
        options->zone != NULL ? options->zone : import_text(load, file->root, "zone", NULL);
    IMPORT_EACH(time, import_map(load, file->root, "times"))
    {
        read_time(file, time, zone, map);
    }
    IMPORT_EACH(drop, import_list(load, file->root, "drop"))
    {
        read_drop(file, drop, map);
    }
    const struct import_value *jobs = import_map(load, file->root, "jobs");
    const struct import_value *series = import_map(load, file->root, "series");
    const struct import_value *nodes = import_map(load, file->root, "nodes");
    if (import_ok(load) && (jobs != NULL) + (series != NULL) + (nodes != NULL) != 1) {
        import_fail(load, file->root,
                    "one of jobs:, series: and nodes: is needed: what a row becomes");
    }
    IMPORT_EACH(job, jobs)
    {
        read_job_column(file, job, map);
    }
    if (series != NULL && import_ok(load)) {
        read_series(file, series, map);
    }
    if (nodes != NULL && import_ok(load)) {
        read_nodes(file, nodes, map);
    }
    return err->status;
}
