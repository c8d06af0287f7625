/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_slurm.c - any bytes as sacct's output, which becomes rows that the native reader takes as
 * they are, and as what scontrol and sacctmgr print, which becomes a scenario. */
#define _GNU_SOURCE /* open_memstream */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/traces/reader.h>

#include "intake_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void as_jobs(struct orr_cell text)
{
    const struct orr_intake_options options = {.count_as = text.bytes % 2 == 0 ? "gpu" : "cpu"};
    struct orr_intake_report report;
    struct orr_err err = {0};
    char *rows = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&rows, &bytes);
    ORR_ASSERT(out != NULL);
    const enum orr_status status =
        intake_sacct_text("sacct.txt", text, &options, out, &report, &err);
    (void)fclose(out);
    ORR_ASSERT((status == ORR_OK) == (err.text[0] == '\0'));
    if (status == ORR_OK) {
        struct orr_workload workload;
        const struct orr_trace_options as_native = {.format = "native",
                                                    .allow_loss_ppm = ORR_LOSS_ALL};
        ORR_ASSERT(orr_trace_read_memory("rows.csv", rows, bytes, &as_native, &workload, &err) ==
                   ORR_OK);
        ORR_ASSERT(workload.count == report.kept && workload.rejects.count == 0);
        orr_workload_release(&workload);
    }
    orr_intake_report_release(&report);
    free(rows);
}

static void as_cluster(struct orr_cell text)
{
    const struct orr_intake_options options = {.queue =
                                                   text.bytes % 2 == 0 ? "partition" : "account"};
    struct orr_intake_report report;
    struct orr_err err = {0};
    char *scenario = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&scenario, &bytes);
    ORR_ASSERT(out != NULL);
    const enum orr_status status =
        intake_cluster_text("cluster.txt", text, &options, out, &report, &err);
    (void)fclose(out);
    ORR_ASSERT((status == ORR_OK) == (err.text[0] == '\0'));
    orr_intake_report_release(&report);
    free(scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct orr_cell text = {(const char *)data, bytes};
    as_jobs(text);
    as_cluster(text);
    return 0;
}
