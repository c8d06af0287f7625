/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_settings.c - the settings of merged sweeps, of one file or of several side by side. */
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "cli.h"

struct chosen {
    const char **paths, **labels;
    uint32_t *arms, *points;
    uint32_t count, room;
    uint32_t arm_first; /* number of the first setting of this file */
    const char *axes;   /* of the first file */
};

static bool is_arm(const struct orr_merged_points *merged, uint32_t point, const char *arm)
{
    return strcmp(merged->labels[point], arm) == 0;
}

static enum orr_status check_arms(const char *file, const struct orr_merged_points *merged,
                                  const char *const *arms, uint32_t arm_count, struct orr_err *err)
{
    for (uint32_t a = 0; a < arm_count; a++) {
        uint32_t p = 0;
        while (p < merged->count && !is_arm(merged, p, arms[a])) {
            p++;
        }
        if (p == merged->count) {
            const char *near = orr_nearest(arms[a], merged->labels, merged->count);
            return orr_fail(err, ORR_DATA,
                            "%s: no setting of the sweep that has results is called \"%s\"%s%s%s",
                            file, arms[a], near != NULL ? "; did you mean \"" : "",
                            near != NULL ? near : "", near != NULL ? "\"?" : "");
        }
    }
    return ORR_OK;
}

static bool has_several(const struct orr_merged_points *merged)
{
    for (uint32_t p = 1; p < merged->count; p++) {
        if (merged->arms[p] != merged->arms[0]) {
            return true;
        }
    }
    return false;
}

/* By itself; of several files (`name` is not NULL) by its file, and by both where that has others.
 */
static const char *label_of(const struct orr_merged_points *merged, uint32_t point,
                            const char *name, struct orr_arena *arena)
{
    const char *label = merged->labels[point];
    const char *const parts[] = {name != NULL ? name : label,
                                 name != NULL && has_several(merged) ? ": " : "",
                                 name != NULL && has_several(merged) ? label : ""};
    const size_t bytes = strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + 1;
    char *text = orr_arena_alloc(arena, bytes, 1);
    (void)snprintf(text, bytes, "%s%s%s", parts[0], parts[1], parts[2]);
    return text;
}

static void add_point(struct chosen *chosen, const char *file, const char *name,
                      const struct orr_merged_points *merged, uint32_t point,
                      struct orr_arena *arena)
{
    if (chosen->count == chosen->room) {
        chosen->room = chosen->room * 2 + 64;
        chosen->paths = orr_realloc(chosen->paths, chosen->room, sizeof *chosen->paths);
        chosen->labels = orr_realloc(chosen->labels, chosen->room, sizeof *chosen->labels);
        chosen->arms = orr_realloc(chosen->arms, chosen->room, sizeof *chosen->arms);
        chosen->points = orr_realloc(chosen->points, chosen->room, sizeof *chosen->points);
    }
    const uint32_t at = chosen->count++;
    chosen->paths[at] = file;
    chosen->labels[at] = label_of(merged, point, name, arena);
    chosen->arms[at] = chosen->arm_first + merged->arms[point];
    chosen->points[at] = merged->points[point];
}

static enum orr_status add_file(struct chosen *chosen, const char *file, const char *name,
                                const char *const *arms, uint32_t arm_count,
                                struct orr_arena *arena, struct orr_err *err)
{
    struct orr_merged_points merged;
    if (!orr_results_is_merged(file)) {
        struct orr_results in; /* a file that is not there or no results file says so itself */
        orr_results_open(&in, file, err);
        const enum orr_status status = in.status;
        orr_results_close(&in);
        return status != ORR_OK
                   ? status
                   : orr_fail(err, ORR_USAGE,
                              name != NULL ? "%s is one run, and others are merged sweeps: "
                                             "`orrery run --replicas` makes one of it"
                                           : "%s is one run: name the results files of at "
                                             "least two settings, or a merged sweep",
                              file);
    }
    enum orr_status status = orr_results_points(file, &merged, err);
    if (status != ORR_OK) {
        return status;
    }
    status = check_arms(file, &merged, arms, arm_count, err);
    if (chosen->arm_first == 0 && merged.axes != NULL) {
        chosen->axes = orr_arena_strndup(arena, merged.axes, strlen(merged.axes));
    }
    uint32_t highest = 0;
    for (uint32_t a = 0; status == ORR_OK && a < (arm_count > 0 ? arm_count : 1); a++) {
        for (uint32_t p = 0; p < merged.count; p++) {
            if (arm_count == 0 || is_arm(&merged, p, arms[a])) {
                add_point(chosen, file, name, &merged, p, arena);
            }
            highest = merged.arms[p] > highest ? merged.arms[p] : highest;
        }
    }
    chosen->arm_first += highest + 1;
    orr_merged_points_release(&merged);
    return status;
}

enum orr_status orr_cli_settings(const char *const *files, const char *const *names, uint32_t count,
                                 const char *const *arms, uint32_t arm_count,
                                 struct orr_arena *arena, struct orr_cli_settings *settings,
                                 struct orr_err *err)
{
    struct chosen chosen = {0};
    enum orr_status status = ORR_OK;
    for (uint32_t f = 0; f < count && status == ORR_OK; f++) {
        status =
            add_file(&chosen, files[f], count > 1 ? names[f] : NULL, arms, arm_count, arena, err);
    }
    if (status == ORR_OK && chosen.count == 0) {
        status = orr_fail(err, ORR_DATA, "%s: no point has results", files[0]);
    }
    const char **paths = orr_arena_alloc(arena, chosen.count + (size_t)1, sizeof *paths);
    const char **labels = orr_arena_alloc(arena, chosen.count + (size_t)1, sizeof *labels);
    uint32_t *numbers = orr_arena_alloc(arena, chosen.count + (size_t)1, sizeof *numbers);
    uint32_t *points = orr_arena_alloc(arena, chosen.count + (size_t)1, sizeof *points);
    for (uint32_t i = 0; i < chosen.count; i++) {
        paths[i] = chosen.paths[i];
        labels[i] = chosen.labels[i];
        numbers[i] = chosen.arms[i];
        points[i] = chosen.points[i];
    }
    orr_free(chosen.paths);
    orr_free(chosen.labels);
    orr_free(chosen.arms);
    orr_free(chosen.points);
    *settings =
        (struct orr_cli_settings){paths, labels, numbers, points, chosen.count, chosen.axes};
    return status;
}
