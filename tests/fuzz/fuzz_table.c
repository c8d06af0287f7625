/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_table.c - any bytes as a table of numbers, with the columns of request rates, measured steps
 * and epochs: a line for each row, or an error that says something. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <orrery/traces/table.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct orr_table_column columns[] = {{"time_s", false, false},
                                                  {"rate", false, false},
                                                  {"profile", true, false},
                                                  {"placement", true, false},
                                                  {"step_s", false, false}};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    struct orr_table table;
    struct orr_err err = {0};
    const int fd = fuzz_file(data, bytes, path);
    if (orr_table_read(path, columns, COLUMNS, &table, &err) == ORR_OK) {
        for (uint32_t r = 0; r < table.rows; r++) {
            ORR_ASSERT(table.lines[r] > (r == 0 ? 0 : table.lines[r - 1]));
        }
        orr_table_release(&table);
    } else {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
    }
    (void)close(fd);
    return 0;
}
