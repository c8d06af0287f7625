/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_select.c - `filter` and `scale` of a part: the edits that `orrery trace filter` and `trace
 * scale` make, with the scenario's seed for what is drawn. */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/text.h>
#include <orrery/traces/edit.h>

static enum orr_status filter_rows(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   struct orr_workload *workload, struct orr_err *err)
{
    const struct orr_scenario_filter *words = &part->filter;
    struct orr_row_filter filter = orr_row_filter_all;
    filter.queue = words->queue;
    filter.user = words->user;
    filter.min_gpus = words->min_gpus;
    filter.max_gpus = words->max_gpus;
    filter.sample = words->sample;
    filter.seed = scenario->seed_first;
    if (words->kind != NULL) {
        enum orr_kind kind = ORR_KIND_UNKNOWN;
        (void)orr_kind_parse(words->kind, strlen(words->kind), &kind);
        filter.kind = (int)kind;
    }
    struct orr_err why = {0};
    if (orr_row_filter_window(&filter, workload, "filter.", words->from, words->until, &why) !=
        ORR_OK) {
        return orr_fail(err, ORR_SCENARIO, "%s: %s", part->origin, why.text);
    }
    const uint32_t had = workload->count;
    orr_row_filter_note_absent(workload, part->label, "filter.", &filter);
    orr_workload_cut(workload, &filter);
    if (had > 0 && workload->count == 0) {
        orr_workload_note(workload, part->label, "no row passes the filter of part %s", part->name);
    }
    return ORR_OK;
}

static bool is_one(double factor)
{
    return factor > 0.999999999 && factor < 1.000000001;
}

enum orr_status orr_replay__select(const struct orr_scenario *scenario,
                                   const struct orr_scenario_part *part,
                                   struct orr_workload *workload, struct orr_err *err)
{
    const struct orr_scenario_scale *words = &part->scale;
    const enum orr_status status =
        part->trace != NULL ? filter_rows(scenario, part, workload, err) : ORR_OK;
    if (status != ORR_OK || (is_one(words->jobs) && is_one(words->run) && is_one(words->gpus))) {
        return status;
    }
    const struct orr_trace_scaling scaling = {
        .arrivals = words->jobs, .run = words->run, .gpus = words->gpus};
    struct orr_row_filter all = orr_row_filter_all;
    all.seed = scenario->seed_first;
    const uint64_t too_large = orr_workload_scale(workload, &all, &scaling);
    if (too_large > 0) {
        orr_workload_note(workload, part->label,
                          "scale.gpus: %llu row%s left out, larger than 1,000,000 GPUs",
                          (unsigned long long)too_large, ORR_PLURAL(too_large));
    }
    return ORR_OK;
}
