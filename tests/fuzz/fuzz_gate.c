/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_gate.c - any bytes as the specification of a gate: rules that all have a metric and a
 * margin, or an error that says something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <orrery/sim/gate_spec.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets a buffer when a long quoted scalar is never closed; ours are all checked.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    struct orr_gate_spec spec;
    struct orr_err err = {0};
    const int fd = fuzz_file(data, bytes, path);
    if (orr_gate_spec_load(path, &spec, &err) == ORR_OK) {
        ORR_ASSERT(spec.mode != NULL);
        for (uint32_t i = 0; i < spec.line_count; i++) {
            ORR_ASSERT(spec.lines[i].name != NULL && spec.lines[i].metric != NULL);
        }
        orr_gate_spec_release(&spec);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    (void)close(fd);
    return 0;
}
