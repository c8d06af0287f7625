/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "native_out.h"

#include <string.h>

void native_out_open(struct native_out *out, FILE *file, uint32_t absent)
{
    static const char *const names[OUT_COLUMNS] = {
#define X(name, column) [OUT_##name] = #column,
        NATIVE_OUT_LIST(X)
#undef X
    };
    *out = (struct native_out){.file = file, .row = orr_native_row_new()};
    for (uint32_t c = 0; c < OUT_COLUMNS; c++) {
        out->index_of[c] = orr_native_column(names[c]);
        out->columns |= (absent >> c & 1) == 0 ? (uint64_t)1 << out->index_of[c] : 0;
    }
    if (file != NULL) {
        orr_native_write_header(file, out->columns, "x_attempts");
    }
}

void native_out_close(struct native_out *out)
{
    orr_native_row_free(out->row);
}

void native_out_number(struct native_out *out, enum native_out_column column, int64_t num,
                       int64_t den)
{
    char why[ORR_NATIVE_WHY];
    (void)orr_native_number(out->row, out->index_of[column], num, den, why);
}

void native_out_text(struct native_out *out, enum native_out_column column, const char *text)
{
    char why[ORR_NATIVE_WHY];
    (void)orr_native_text(out->row, out->index_of[column], (struct orr_cell){text, strlen(text)},
                          why);
}

void native_out_time(struct native_out *out, enum native_out_column column, orr_ms at)
{
    char why[ORR_NATIVE_WHY];
    if (at != ORR_MS_NONE) {
        (void)orr_native_instant(out->row, out->index_of[column], at, !out->is_clock, why);
    }
}

bool native_out_count(const struct native_out *out, struct orr_intake_report *report, uint32_t line,
                      const char *named)
{
    struct orr_job_fact fact;
    const char *fault = orr_native_fault(out->row);
    if (fault != NULL) {
        orr_intake_drop(report, false, fault, line, named != NULL ? named : fault);
        return false;
    }
    orr_native_fact(out->row, &fact);
    orr_stat_add(&report->stat, &fact, line);
    report->kept++;
    return true;
}

void native_out_write(const struct native_out *out, const char *attempts)
{
    if (out->file != NULL) {
        orr_native_write_row(out->file, out->columns, out->row, attempts);
    }
}
