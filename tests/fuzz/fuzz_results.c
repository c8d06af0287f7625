/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_results.c - any bytes as a results file: a schedule to judge, or an error that says
 * something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <orrery/analysis/audit.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    struct orr_schedule schedule;
    struct orr_err err = {0};
    const int fd = fuzz_file(data, bytes, path);
    if (orr_schedule_load(path, &schedule, &err) == ORR_OK) {
        for (uint32_t s = 0; s < schedule.span_count; s++) {
            ORR_ASSERT(schedule.spans[s].job < schedule.job_count);
        }
        orr_schedule_release(&schedule);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    (void)close(fd);
    return 0;
}
