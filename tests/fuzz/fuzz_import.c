/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_import.c - any bytes as a snapshot: an answer, or an error that says something. */
#include <stdint.h>
#include <string.h>

#include <orrery/sim/import.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

/* `scheduler` as of --scheduler, or NULL. */
static void decide(const uint8_t *data, size_t bytes, const char *scheduler)
{
    const struct orr_snapshot_options options = {.text = (const char *)data,
                                                 .text_bytes = bytes,
                                                 .scheduler = scheduler,
                                                 .now = ORR_MS_NONE};
    struct orr_snapshot snapshot;
    struct orr_err err = {0};
    if (orr_snapshot_run(&options, &snapshot, &err) == ORR_OK) {
        for (uint32_t i = 0; i < snapshot.waiting_count; i++) {
            ORR_ASSERT(snapshot.waiting[i].code[0] != '\0' && snapshot.waiting[i].why[0] != '\0');
        }
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    orr_snapshot_release(&snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 0) {
        decide(data, bytes, NULL);
        decide(data, bytes, "default-scheduler");
    }
    return 0;
}
