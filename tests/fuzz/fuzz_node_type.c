/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_node_type.c - any bytes as the file of a node type: a scenario whose resolved text loads
 * again without it, or an error that says something. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include <orrery/base/status.h>
#include <orrery/sim/scenario.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static const char text[] = "cluster: {pools: {p: {nodes: 1, type: fuzz}}}\n";

static void write_file(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    ORR_ASSERT(file != NULL && (bytes == 0 || fwrite(data, 1, bytes, file) == bytes));
    ORR_ASSERT(fclose(file) == 0);
}

static void check_again(const struct orr_scenario *scenario)
{
    const struct orr_scenario_options options = {.text = scenario->resolved_yaml,
                                                 .text_bytes = strlen(scenario->resolved_yaml)};
    struct orr_scenario again;
    struct orr_err err = {0};
    ORR_ASSERT(orr_scenario_load(&options, &again, &err) == ORR_OK);
    ORR_ASSERT(strcmp(again.resolved_yaml, scenario->resolved_yaml) == 0);
    orr_scenario_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char folder[] = "/dev/shm/orr-fuzz-XXXXXX", types[64], path[80], scenario_path[64];
    struct orr_scenario scenario;
    struct orr_err err = {0};
    ORR_ASSERT(mkdtemp(folder) != NULL);
    (void)snprintf(types, sizeof types, "%s/node-types", folder);
    (void)snprintf(path, sizeof path, "%s/fuzz.yaml", types);
    (void)snprintf(scenario_path, sizeof scenario_path, "%s/s.yaml", folder);
    ORR_ASSERT(mkdir(types, 0700) == 0);
    write_file(path, data, bytes);
    write_file(scenario_path, (const uint8_t *)text, sizeof text - 1);
    const struct orr_scenario_options options = {.path = scenario_path};
    if (orr_scenario_load(&options, &scenario, &err) == ORR_OK) {
        check_again(&scenario);
        orr_scenario_release(&scenario);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    ORR_ASSERT(unlink(path) == 0 && unlink(scenario_path) == 0);
    ORR_ASSERT(rmdir(types) == 0 && rmdir(folder) == 0);
    return 0;
}
