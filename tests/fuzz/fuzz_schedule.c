/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_schedule.c - any bytes as somebody's schedule of four jobs: spans of those jobs that can be
 * judged, or an error that says something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <string.h>

#include <orrery/analysis/audit.h>
#include <orrery/sim/study.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static const char rows[] = "job,submit_s,run_s,gpus\na,0,5,1\nb,0,10,2\nc,3,0,1\n\"d e\",9,1,3\n";

static void make_world(struct orr_scenario *scenario, struct orr_world *world, int *fd)
{
    char trace[64], text[200];
    struct orr_err err = {0};
    *fd = fuzz_file((const uint8_t *)rows, sizeof rows - 1, trace);
    (void)snprintf(text, sizeof text,
                   "cluster: {pools: {p: {nodes: 2, gpus: 2}}}\nworkload: [{name: t, trace: %s, "
                   "format: native}]\n",
                   trace);
    const struct orr_scenario_options options = {
        .path = "fuzz.yaml", .text = text, .text_bytes = strlen(text)};
    ORR_ASSERT(orr_scenario_load(&options, scenario, &err) == ORR_OK);
    ORR_ASSERT(orr_world_build(scenario, &(struct orr_world_options){0}, world, &err) == ORR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    int trace;
    struct orr_scenario scenario;
    struct orr_world world;
    struct orr_schedule schedule;
    struct orr_err err = {0};
    make_world(&scenario, &world, &trace);
    const int fd = fuzz_file(data, bytes, path);
    if (orr_schedule_import(&world, path, &schedule, &err) == ORR_OK) {
        ORR_ASSERT(schedule.job_count == world.job_count);
        for (uint32_t s = 0; s < schedule.span_count; s++) {
            ORR_ASSERT(schedule.spans[s].job < schedule.job_count);
        }
        struct orr_verdict verdict;
        orr_audit(&schedule, NULL, &verdict);
        orr_verdict_release(&verdict);
        orr_schedule_release(&schedule);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    (void)close(fd);
    orr_world_release(&world);
    orr_scenario_release(&scenario);
    (void)close(trace);
    return 0;
}
