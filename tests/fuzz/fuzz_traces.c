/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a trace of any format. The first byte chooses how they are read: bits 0-1 the format
 * (0: to be found out), bit 2 kill_at_limit, bit 3 whether losses are an error. What was read must
 * survive being written and read again. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/traces/reader.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct orr_workload *workload)
{
    ORR_ASSERT(workload->count == workload->jobs.count);
    const uint64_t told = (uint64_t)workload->count + workload->rejects.count;
    ORR_ASSERT(workload->rows_read == told ||
               (workload->rows_read > told && strstr(workload->notes, "left out") != NULL));
    for (uint32_t i = 0; i < workload->count; i++) {
        const struct orr_row *row = &workload->rows[i];
        ORR_ASSERT(i == 0 || workload->rows[i - 1].submit_ms <= row->submit_ms);
        ORR_ASSERT(row->run_ms >= 0 || row->run_ms == ORR_MS_NONE);
        ORR_ASSERT(row->gpus == 0 || row->pods == 0);
        ORR_ASSERT(row->job < workload->jobs.count && row->line > 0);
        ORR_ASSERT(row->extra <= workload->extra_count);
    }
}

/* Bytes that are no UTF-8 are written as U+FFFD and their digits. */
static bool is_same_name(const char *read, const char *again)
{
    return strcmp(read, again) == 0 || strstr(again, "\xef\xbf\xbd") != NULL;
}

static void check_round_trip(const struct orr_workload *first)
{
    char path[64];
    struct orr_workload second;
    struct orr_err err = {0};
    (void)snprintf(path, sizeof path, "/tmp/orr-fuzz-%ld.csv", (long)getpid());
    FILE *file = fopen(path, "w");
    ORR_ASSERT(file != NULL);
    orr_trace_write_native(first, file);
    (void)fclose(file);
    ORR_ASSERT(orr_trace_read(path, NULL, &second, &err) == ORR_OK);
    (void)unlink(path);
    ORR_ASSERT(second.count == first->count && second.rejects.count == 0);
    for (uint32_t i = 0; i < first->count; i++) {
        const struct orr_row *a = &first->rows[i];
        const struct orr_row *b = &second.rows[i];
        ORR_ASSERT(a->submit_ms == b->submit_ms && a->run_ms == b->run_ms);
        ORR_ASSERT(a->time_limit_ms == b->time_limit_ms && a->kind == b->kind);
        ORR_ASSERT(a->gpus == b->gpus && a->pods == b->pods);
        ORR_ASSERT(a->gpus_per_pod == b->gpus_per_pod);
        ORR_ASSERT(a->extra != 0 ||
                   b->extra == 0); /* an extra that states nothing is not written */
        ORR_ASSERT(is_same_name(orr_idmap_name(&first->jobs, a->job),
                                orr_idmap_name(&second.jobs, b->job)));
    }
    orr_workload_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {NULL, "native", "philly", "swf"};
    if (size == 0) {
        return 0;
    }
    struct orr_trace_options options = {.format = formats[data[0] & 3],
                                        .kill_at_limit = (data[0] & 4) != 0,
                                        .allow_loss_ppm = (data[0] & 8) == 0 ? ORR_LOSS_ALL : 0};
    struct orr_workload workload;
    struct orr_err err = {0};
    if (orr_trace_read_memory("trace", data + 1, size - 1, &options, &workload, &err) == ORR_OK) {
        check_rows(&workload);
        check_round_trip(&workload);
        orr_workload_release(&workload);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    return 0;
}
