/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ratio.c - how many times as long the same jobs took: job by job, and their geometric mean, so
 * that twice as long and half as long cancel out, and long jobs count no more than short ones. Of
 * jobs that both runs submitted within their windows and ended, services left out. */
#include "compare_int.h"
#include "compare_sql.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/mem.h>

enum orr_status orr_compare__ratios(const char *base, const char *other,
                                    struct orr_compare_ratios *ratios, struct orr_err *err)
{
    struct orr_results in;
    struct orr_idmap names; /* of the base's jobs */
    double *took = NULL;
    uint32_t capacity = 0, room = 0, count = 0;
    *ratios = (struct orr_compare_ratios){0};
    orr_idmap_init(&names);
    orr_results_open(&in, base, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_compare_sql__ends);
    while (orr_results_step(&in, row)) {
        const char *name = orr_results_text(&in, row, 0);
        bool added;
        (void)orr_idmap_put(&names, name, strlen(name), &added);
        if (added) {
            took = ORR_ROOM_FOR_ONE(took, count, capacity);
            took[count++] = sqlite3_column_double(row, 1);
        }
    }
    enum orr_status status = in.status;
    orr_results_close(&in);
    if (status == ORR_OK) {
        orr_results_open(&in, other, err);
        row = orr_results_prepare(&in, orr_compare_sql__ends);
        while (orr_results_step(&in, row)) {
            const char *name = orr_results_text(&in, row, 0);
            const uint32_t job = orr_idmap_find(&names, name, strlen(name));
            if (job != ORR_NONE) {
                ratios->items = ORR_ROOM_FOR_ONE(ratios->items, ratios->count, room);
                ratios->items[ratios->count++] = (struct orr_compare_ratio){
                    log(sqlite3_column_double(row, 1) / took[job]), sqlite3_column_int64(row, 2)};
            }
        }
        status = in.status;
        orr_results_close(&in);
    }
    orr_idmap_release(&names);
    orr_free(took);
    return status;
}

double orr_compare__geomean(const struct orr_compare_ratios *ratios)
{
    double sum = 0;
    for (uint32_t i = 0; i < ratios->count; i++) {
        sum += ratios->items[i].log;
    }
    return ratios->count > 0 ? exp(sum / ratios->count) : (double)NAN;
}
