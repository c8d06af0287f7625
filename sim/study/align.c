/* SPDX-License-Identifier: GPL-3.0-or-later */
/* align.c - several results, measured from the same time after the first submit on.
 *
 * Metrics are over a run's own window. A warm-up that each run detects differs between policies and
 * seeds, and then a difference would also be one of what is measured. So the runs are repeated with
 * the longest warm-up of any: the decisions are the same, which their digests must show.
 */
#include <orrery/sim/study.h>

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>

#include "study_sql.h"

struct measured {
    orr_ms warmup_ms, last_ms; /* the window, from the begin of the run on */
    char digest[32];
};

static enum orr_status look(const char *path, struct measured *found, struct orr_err *err)
{
    struct orr_results in;
    orr_results_open(&in, path, err);
    sqlite3_stmt *row = orr_results_prepare(&in, orr_study_sql__start);
    while (orr_results_step(&in, row)) {
        found->warmup_ms = sqlite3_column_int64(row, 0);
        found->last_ms = sqlite3_column_int64(row, 2);
        (void)snprintf(found->digest, sizeof found->digest, "%s", orr_results_text(&in, row, 1));
    }
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}

static enum orr_status check_same(const char *const *results, const struct measured *before,
                                  const struct orr_replicas *aligned, struct orr_err *err)
{
    for (uint32_t i = 0; i < aligned->count; i++) {
        struct measured after = {0};
        const enum orr_status status = look(aligned->paths[i], &after, err);
        if (status != ORR_OK) {
            return status;
        }
        if (strcmp(before[i].digest, after.digest) != 0) {
            return orr_fail(
                err, ORR_DATA,
                "%s: its warm-up is another than that of the others, and run again "
                "for theirs it decides otherwise (by another program, or by going on "
                "where it was interrupted): make all results anew with one stated warm-up",
                results[i]);
        }
    }
    return ORR_OK;
}

/* The warm-up of one may leave nothing of another to be measured. */
static enum orr_status check_shared(const char *const *results, const struct measured *found,
                                    uint32_t count, orr_ms longest_ms, struct orr_err *err)
{
    uint32_t longest = 0;
    while (found[longest].warmup_ms < longest_ms) {
        longest++;
    }
    for (uint32_t i = 0; i < count; i++) {
        char warmup[24], last[24];
        if (found[i].last_ms <= longest_ms) {
            return orr_fail(err, ORR_DATA,
                            "%s: its last submit, %s after the begin, is within the warm-up of %s, "
                            "%s: there is no part of time in which both are measured",
                            results[i], orr_format_rough(last, (double)found[i].last_ms / 1000.0),
                            results[longest],
                            orr_format_rough(warmup, (double)longest_ms / 1000.0));
        }
    }
    return ORR_OK;
}

enum orr_status orr_align_warmups(const char *const *results, uint32_t count,
                                  const struct orr_study_options *study,
                                  struct orr_replicas *aligned, struct orr_study_span *warmups,
                                  struct orr_err *err)
{
    struct measured *found = orr_zalloc(count + (size_t)1, sizeof *found);
    enum orr_status status = ORR_OK;
    *aligned = (struct orr_replicas){0};
    *warmups = (struct orr_study_span){0};
    for (uint32_t i = 0; i < count && status == ORR_OK; i++) {
        status = look(results[i], &found[i], err);
        const orr_ms ms = found[i].warmup_ms;
        warmups->shortest_ms = i == 0 || ms < warmups->shortest_ms ? ms : warmups->shortest_ms;
        warmups->longest_ms = i == 0 || ms > warmups->longest_ms ? ms : warmups->longest_ms;
    }
    const bool differ = warmups->longest_ms > warmups->shortest_ms;
    if (status == ORR_OK && differ) {
        status = check_shared(results, found, count, warmups->longest_ms, err);
    }
    if (status == ORR_OK && differ) {
        const struct orr_replica_options options = {
            .replicas = 1, .warmup_ms = warmups->longest_ms, .study = *study};
        status = orr_replicas_run(results, count, &options, aligned, err);
        if (status == ORR_OK) {
            status = check_same(results, found, aligned, err);
        }
        if (status != ORR_OK) {
            orr_replicas_release(aligned);
        }
    }
    orr_free(found);
    return status;
}
