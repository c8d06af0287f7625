/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_steps.c - a table of step rates and a list of jobs, separated by a NUL: native rows that the
 * native reader takes as they are, or an error that says something. */
#define _GNU_SOURCE /* open_memstream */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/traces/reader.h>

#include "rates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static void write_rates(const struct orr_intake_rates *rates)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    orr_intake_rates_write(rates, out);
    orr_intake_rates_write_steps(rates, out);
    orr_intake_rates_write_epochs(rates, out);
    (void)fclose(out);
    free(text);
}

static void read_jobs(struct orr_cell text, const struct orr_intake_rates *rates)
{
    struct orr_intake_report report;
    struct orr_err err = {0};
    char *rows = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&rows, &bytes);
    ORR_ASSERT(out != NULL);
    const enum orr_status status = intake_steps_text("jobs.trace", text, rates, out, &report, &err);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *nul = memchr(data, '\0', bytes);
    if (nul == NULL) {
        return 0;
    }
    char *table = orr_strndup((const char *)data, bytes);
    const size_t table_bytes = strlen(table);
    const struct orr_cell jobs = {(const char *)data + table_bytes + 1, bytes - table_bytes - 1};
    struct orr_intake_rates *rates = intake_rates_new();
    struct orr_err err = {0};
    const enum orr_status status = intake_rates_json(rates, "rates.json", table, table_bytes, &err);
    ORR_ASSERT((status == ORR_OK) == (err.text[0] == '\0'));
    intake_rates_refer(rates);
    if (status == ORR_OK) {
        write_rates(rates);
    }
    read_jobs(jobs, status == ORR_OK ? rates : NULL);
    orr_intake_rates_free(rates);
    orr_free(table);
    return 0;
}
