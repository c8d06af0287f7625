/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_results.c - any bytes as a results file: a schedule to judge, or an error that says
 * something. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <orrery/analysis/audit.h>
#include <orrery/base/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* SQLite follows links to a file's name, and a file in memory has none. */
static void write_file(const char *path, const uint8_t *data, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ORR_ASSERT(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && close(fd) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/dev/shm/orr-fuzz-%ld.db", (long)getpid());
    write_file(path, data, bytes);
    struct orr_schedule schedule;
    struct orr_err err = {0};
    if (orr_schedule_load(path, &schedule, &err) == ORR_OK) {
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
    ORR_ASSERT(unlink(path) == 0);
    return 0;
}
