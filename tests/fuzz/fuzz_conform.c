/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_conform.c - any bytes as a file of conformance cases: a verdict for each, or an error that
 * says something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <orrery/sim/conform.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static void tell(const struct orr_conform_entry *entry, void *context)
{
    uint32_t *told = context;
    ORR_ASSERT(entry->id != NULL);
    ORR_ASSERT(entry->verdict == ORR_CONFORM_PASSED || entry->text[0] != '\0');
    (*told)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    const char *const paths[] = {path};
    struct orr_conform_tally tally;
    struct orr_err err = {0};
    uint32_t told = 0;
    const int fd = fuzz_file(data, bytes, path);
    if (orr_conform_run(paths, 1, NULL, tell, &told, &tally, &err) == ORR_OK) {
        ORR_ASSERT(told == tally.passed + tally.failed + tally.skipped);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    (void)close(fd);
    return 0;
}
