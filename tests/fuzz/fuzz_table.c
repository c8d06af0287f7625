/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_table.c - any bytes as a table of numbers, with the columns of request rates, measured steps
 * and epochs, and as the classes of a model: a line for each row, or an error that says something.
 */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz_file.h"

#include <orrery/traces/classes.h>
#include <orrery/traces/table.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct orr_table_column columns[] = {{"time_s", false, false},
                                                  {"rate", false, false},
                                                  {"profile", true, false},
                                                  {"placement", true, false},
                                                  {"step_s", false, false}};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* What was read has a place in time, and quantiles that rise. */
static void try_classes(const char *path)
{
    struct orr_classes classes;
    struct orr_err err = {0};
    if (orr_classes_read(path, &classes, &err) != ORR_OK) {
        ORR_ASSERT(err.status != ORR_OK && err.text[0] != '\0');
        return;
    }
    for (uint32_t c = 0; c < classes.count; c++) {
        const struct orr_arrival_class *class = &classes.items[c];
        ORR_ASSERT(class->until_ms > class->from_ms && class->run_s.count > 0);
        ORR_ASSERT(orr_steps_at(&class->run_s, 0.0) <= orr_steps_at(&class->run_s, 1.0));
    }
    orr_classes_release(&classes);
}

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
    try_classes(path);
    (void)close(fd);
    return 0;
}
