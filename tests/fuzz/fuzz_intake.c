/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_intake.c - a map and a table, separated by a NUL: native rows that the native reader takes
 * as they are, or an error that says something. */
#define _GNU_SOURCE /* open_memstream */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/traces/reader.h>

#include "intake_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

/* What was written is read again: as many jobs, none rejected. */
static void read_back(const char *rows, size_t bytes, const struct orr_intake_report *report)
{
    struct orr_workload workload;
    struct orr_err err = {0};
    const struct orr_trace_options options = {.format = "native", .allow_loss_ppm = ORR_LOSS_ALL};
    const enum orr_status status =
        orr_trace_read_memory("rows.csv", rows, bytes, &options, &workload, &err);
    if (status == ORR_OK) {
        ORR_ASSERT(workload.count == report->kept && workload.rejects.count == 0);
        orr_workload_release(&workload);
    } else { /* a map may leave out what every row needs: then there are no rows */
        ORR_ASSERT(report->kept == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *nul = memchr(data, '\0', bytes);
    if (nul == NULL) {
        return 0;
    }
    char *map = orr_strndup((const char *)data, bytes), *rows = NULL;
    size_t row_bytes = 0;
    const size_t map_bytes = strlen(map);
    const struct orr_intake_options options = {.map = "map.yaml", .map_text = map};
    const struct orr_cell text = {(const char *)data + map_bytes + 1, bytes - map_bytes - 1};
    struct orr_intake_report report;
    struct orr_err err = {0};
    FILE *out = open_memstream(&rows, &row_bytes);
    ORR_ASSERT(out != NULL);
    const enum orr_status status =
        intake_table_text("table.csv", text, &options, out, &report, &err);
    (void)fclose(out);
    if (status != ORR_OK) {
        ORR_ASSERT(err.text[0] != '\0');
    } else if (!report.is_series && !report.is_nodes) {
        read_back(rows, row_bytes, &report);
    }
    orr_intake_report_release(&report);
    free(rows);
    orr_free(map);
    return 0;
}
