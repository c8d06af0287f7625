/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inputs.c - are traces and policies from outside still those that a run read? Results, plans and
 * states know their checksums.
 */
#include "study_int.h"
#include "study_sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/traces/pack.h>

enum orr_status orr_study__check_input(const char *path, const char *sha256, const char *of,
                                       struct orr_err *err)
{
    char now[ORR_SHA256_TEXT];
    if (sha256[0] == '\0' || access(path, R_OK) != 0) {
        return ORR_OK;
    }
    const enum orr_status status = orr_file_sha256(path, now, err);
    return status != ORR_OK || strcmp(sha256, now) == 0
               ? status
               : orr_fail(err, ORR_DATA, "%s: is not what %s", path, of);
}

enum orr_status orr_study__each_file(const struct orr_scenario *scenario, orr_study__file_fn *each,
                                     void *context)
{
    enum orr_status status = ORR_OK;
    for (uint32_t p = 0; p < scenario->part_count && status == ORR_OK; p++) {
        const struct orr_scenario_part *part = &scenario->parts[p];
        const char *key;
        status = each(part->trace, context);
        for (uint32_t n = 0; n < ORR_STUDY__PART_FILES && status == ORR_OK; n++) {
            status = each(orr_study__part_file(part, n, &key), context);
        }
    }
    for (uint32_t p = 0; p < scenario->profile_count && status == ORR_OK; p++) {
        status = each(scenario->profiles[p].table, context);
        status = status == ORR_OK ? each(scenario->profiles[p].epochs, context) : status;
    }
    return status;
}

enum orr_status orr_rerun_inputs(const char *results, const struct orr_scenario_options *again,
                                 struct orr_err *err)
{
    struct orr_scenario scenario;
    struct orr_results in;
    char of[4400];
    enum orr_status status = orr_scenario_load(again, &scenario, err);
    if (status != ORR_OK) {
        return status;
    }
    (void)snprintf(of, sizeof of, "the run of %.2000s read: put that back, or make %.2000s anew",
                   results, results);
    orr_results_open(&in, results, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__hashes);
    for (uint32_t p = 0; orr_results_step(&in, row); p++) {
        /* behind those of the parts: files of policies from outside */
        const char *file =
            p < scenario.part_count ? scenario.parts[p].trace : orr_results_text(&in, row, 1);
        if (file != NULL && status == ORR_OK) {
            status = orr_study__check_input(file, orr_results_text(&in, row, 0), of, err);
        }
    }
    status = status == ORR_OK ? in.status : status;
    orr_results_close(&in);
    orr_scenario_release(&scenario);
    return status;
}
