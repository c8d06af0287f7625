/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_admission.c - any bytes as Kueue's objects: an answer for each workload, or an error that
 * says something. */
#include <stdint.h>
#include <string.h>

#include <orrery/sim/admission.h>

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
    const struct orr_snapshot_options options = {
        .text = (const char *)data, .text_bytes = bytes, .now = ORR_MS_NONE};
    struct orr_admission answer;
    struct orr_err err = {0};
    if (bytes == 0) {
        return 0;
    }
    if (orr_admission_run(&options, 3, &answer, &err) == ORR_OK) {
        for (uint32_t i = 0; i < answer.row_count; i++) {
            const struct orr_admission_row *row = &answer.rows[i];
            ORR_ASSERT(row->state != ORR_ADMISSION_PENDING ||
                       (row->reason[0] != '\0' && row->why[0] != '\0'));
            ORR_ASSERT(row->state != ORR_ADMISSION_ADMITTED || row->set_count > 0);
        }
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    orr_admission_release(&answer);
    return 0;
}
