/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_files.h - what the tests of scenarios share: files in a folder of their own, loading
 * with options, and errors compared as a whole.
 */
#ifndef ORR_TEST_SCENARIO_FILES_H
#define ORR_TEST_SCENARIO_FILES_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_main.h"

#include <orrery/sim/scenario.h>

/* Least that makes a scenario whole, for tests of one key. */
#define POOLS    "cluster: {pools: {a: {nodes: 2, gpus: 8}}}\n"
#define WORKLOAD "workload:\n- {name: w, trace: t.csv}\n"

/* Goes into a fresh folder below the current one, where files can be named as a user would. */
static inline void enter_folder(const char *name)
{
    (void)mkdir(name, 0777);
    assert_int_equal(chdir(name), 0);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline enum orr_status load_with(struct orr_scenario_options options, const char *text,
                                        struct orr_scenario *scenario, struct orr_err *err)
{
    *err = (struct orr_err){0};
    if (text != NULL) {
        write_file("first.yaml", text);
        options.path = "first.yaml";
    }
    return orr_scenario_load(&options, scenario, err);
}

static inline void load_good(const char *text, struct orr_scenario *scenario)
{
    struct orr_err err;
    if (load_with((struct orr_scenario_options){0}, text, scenario, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

static inline void expect_error_with(struct orr_scenario_options options, const char *text,
                                     enum orr_status status, const char *message)
{
    struct orr_scenario scenario;
    struct orr_err err;
    assert_int_equal(load_with(options, text, &scenario, &err), status);
    assert_string_equal(err.text, message);
    assert_int_equal(err.status, status);
    assert_null(scenario.arena.head);
}

static inline void expect_error(const char *text, const char *message)
{
    expect_error_with((struct orr_scenario_options){0}, text, ORR_SCENARIO, message);
}

static inline void expect_set_error(const char *text, const char *set, enum orr_status status,
                                    const char *message)
{
    const char *sets[] = {set};
    expect_error_with((struct orr_scenario_options){.sets = sets, .set_count = 1}, text, status,
                      message);
}

static inline void load_sets(const char *text, const char *const *sets, uint32_t count,
                             struct orr_scenario *scenario)
{
    struct orr_err err;
    struct orr_scenario_options options = {.sets = sets, .set_count = count};
    if (load_with(options, text, scenario, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

struct shown_value {
    const char *path;
    char value[200], origin[200];
    bool found;
};

static inline void take_shown(const char *path, const char *value, const char *origin,
                              void *context)
{
    struct shown_value *wanted = context;
    if (strcmp(path, wanted->path) == 0) {
        (void)snprintf(wanted->value, sizeof wanted->value, "%s", value);
        (void)snprintf(wanted->origin, sizeof wanted->origin, "%s", origin);
        wanted->found = true;
    }
}

static inline void expect_shown(const struct orr_scenario *scenario, const char *path,
                                const char *value, const char *origin)
{
    struct shown_value wanted = {.path = path};
    orr_scenario_show(scenario, take_shown, &wanted);
    assert_true(wanted.found);
    assert_string_equal(wanted.value, value);
    assert_string_equal(wanted.origin, origin);
}

#endif
