/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_history.c - records of a Kubernetes cluster, files separated by a NUL: rows that the native
 * reader takes as they are, or an error that says something. */
#define _GNU_SOURCE /* open_memstream */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/traces/reader.h>

#include "history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

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
    } else {
        ORR_ASSERT(report->kept == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *rows = NULL;
    size_t row_bytes = 0;
    struct orr_intake_report report;
    struct orr_err err = {0};
    struct history *h = orr_alloc(1, sizeof *h);
    orr_intake_report_init(&report, "history");
    intake_history_open(h, &report, &err);
    for (size_t at = 0; at < bytes && err.status == ORR_OK;) {
        const char *from = (const char *)data + at;
        const char *nul = memchr(from, '\0', bytes - at);
        const size_t length = nul != NULL ? (size_t)(nul - from) : bytes - at;
        char *text = orr_strndup(from, length);
        intake_history_text(h, "file", text, length);
        orr_free(text);
        at += length + 1;
    }
    if (err.status == ORR_OK) {
        FILE *out = open_memstream(&rows, &row_bytes);
        ORR_ASSERT(out != NULL);
        history_write(h, out);
        (void)fclose(out);
        read_back(rows, row_bytes, &report);
    } else {
        ORR_ASSERT(err.text[0] != '\0');
    }
    intake_history_close(h);
    orr_free(h);
    orr_intake_report_release(&report);
    free(rows);
    return 0;
}
