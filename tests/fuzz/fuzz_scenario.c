/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_scenario.c - any bytes as a scenario; behind a NUL byte, as a --set.
 *
 * What loads must load again from its resolved text, to the same text.
 */
#include <stdint.h>
#include <string.h>

#include <orrery/sim/scenario.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static void count_value(const char *path, const char *value, const char *origin, void *context)
{
    *(size_t *)context += strlen(path) + strlen(value) + strlen(origin);
}

static void check_again(const struct orr_scenario *scenario)
{
    struct orr_scenario_options options = {.text = scenario->resolved_yaml,
                                           .text_bytes = strlen(scenario->resolved_yaml)};
    struct orr_scenario again;
    struct orr_err err = {0};
    enum orr_status status = orr_scenario_load(&options, &again, &err);
    ORR_ASSERT(status == ORR_OK);
    ORR_ASSERT(strcmp(again.resolved_yaml, scenario->resolved_yaml) == 0);
    orr_scenario_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = bytes > 0 ? (const char *)data : "";
    const uint8_t *end = bytes > 0 ? memchr(data, 0, bytes) : NULL;
    size_t text_bytes = end == NULL ? bytes : (size_t)(end - data);
    char *set = NULL;
    struct orr_scenario_options options = {
        .path = "fuzz.yaml", .text = text, .text_bytes = text_bytes};
    if (end != NULL) {
        set = orr_strndup(text + text_bytes + 1, bytes - text_bytes - 1);
    }
    const char *sets[] = {set};
    options.sets = sets;
    options.set_count = end != NULL;
    struct orr_scenario scenario;
    struct orr_err err = {0};
    if (orr_scenario_load(&options, &scenario, &err) == ORR_OK) {
        size_t shown = 0;
        orr_scenario_show(&scenario, count_value, &shown);
        ORR_ASSERT(shown > 0);
        check_again(&scenario);
        orr_scenario_release(&scenario);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    orr_free(set);
    return 0;
}
