/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_admission.c - cycles of Kueue on its objects: who is admitted, preempted, and why others
 * wait. */
#include "cli_admission.h"

#include <inttypes.h>
#include <string.h>

#include <orrery/base/text.h>

#include "cells.h"

/* --- as JSON --- */

static void json_set(struct orr_json *json, const struct orr_admission_set *set)
{
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "name", set->name);
    orr_json_int(json, "pods", set->pods);
    orr_json_open(json, "resources", '[');
    for (uint32_t u = 0; u < set->use_count; u++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "resource", set->uses[u].resource);
        orr_json_text(json, "flavor", set->uses[u].flavor);
        orr_json_int(json, "amount", set->uses[u].amount);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "domains", '[');
    for (uint32_t p = 0; p < set->place_count; p++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "domain", set->places[p].domain);
        orr_json_int(json, "pods", set->places[p].pods);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

static void json_row(struct orr_json *json, const struct orr_admission_row *row)
{
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "workload", row->workload);
    orr_json_text(json, "cluster_queue", row->queue);
    orr_json_text(json, "local_queue", row->local_queue);
    orr_json_int(json, "priority", row->priority);
    orr_json_text(json, "state", orr_admission_states[row->state]);
    if (row->cycle > 0) {
        orr_json_int(json, "cycle", row->cycle);
    } else {
        orr_json_text(json, "cycle", NULL);
    }
    orr_json_text(json, "reason", row->reason);
    orr_json_text(json, "by", row->by);
    orr_json_text(json, "why", row->why);
    orr_json_bool(json, "parked", row->parked);
    orr_json_open(json, "pod_sets", '[');
    for (uint32_t s = 0; s < row->set_count; s++) {
        json_set(json, &row->sets[s]);
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

static void print_json(const struct orr_admission *answer)
{
    struct orr_json json = {.out = stdout};
    char now[32];
    (void)orr_format_timestamp(now, answer->now);
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "policy", "kueue");
    orr_json_text(&json, "now", now);
    orr_json_int(&json, "cycles", answer->cycles);
    orr_json_bool(&json, "quiet", answer->quiet);
    orr_json_int(&json, "cluster_queues", answer->queues);
    orr_json_int(&json, "cohorts", answer->cohorts);
    orr_json_int(&json, "flavors", answer->flavors);
    orr_json_int(&json, "local_queues", answer->local_queues);
    orr_json_int(&json, "nodes", answer->nodes);
    orr_json_open(&json, "workloads", '[');
    for (uint32_t i = 0; i < answer->row_count; i++) {
        json_row(&json, &answer->rows[i]);
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "notes", '[');
    for (uint32_t i = 0; i < answer->note_count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "note", answer->notes[i].text);
        orr_json_int(&json, "times", answer->notes[i].count);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

/* --- for people --- */

struct widths {
    int workload, queue, reason, by;
};

static struct widths measure(const struct orr_admission *answer)
{
    struct widths w = {9, 13, 6, 3};
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const struct orr_admission_row *row = &answer->rows[i];
        w.workload = orr_cells_wider(w.workload, row->workload);
        w.queue = orr_cells_wider(w.queue, row->queue);
        w.reason = row->reason != NULL ? orr_cells_wider(w.reason, row->reason) : w.reason;
        w.by = row->by != NULL ? orr_cells_wider(w.by, row->by) : w.by;
    }
    return w;
}

/* "workers 4: cpu 8, nvidia.com/gpu 32 of h100; on rack1/n1 2, rack1/n2 2". */
static void print_set(const struct orr_admission_set *set, bool first)
{
    (void)printf("%s", first ? "" : " | ");
    orr_cells_plain(set->name);
    (void)printf(" %" PRId64 ":", set->pods);
    for (uint32_t u = 0; u < set->use_count; u++) {
        const struct orr_admission_use *use = &set->uses[u];
        const bool last = u + 1 == set->use_count || strcmp(use[1].flavor, use->flavor) != 0;
        (void)putchar(' ');
        orr_cells_plain(use->resource);
        char amount[ORR_ADMISSION_AMOUNT];
        (void)printf(" %s", orr_admission_amount(amount, use->resource, use->amount));
        if (last) {
            (void)printf(" of ");
            orr_cells_plain(use->flavor);
        }
        (void)printf("%s", u + 1 < set->use_count ? "," : "");
    }
    for (uint32_t p = 0; p < set->place_count; p++) {
        (void)printf("%s", p == 0 ? "; on " : ", ");
        orr_cells_plain(set->places[p].domain);
        (void)printf(" %" PRId64, set->places[p].pods);
    }
}

static void print_row(const struct orr_admission_row *row, struct widths w)
{
    orr_cells_put(row->workload, w.workload);
    orr_cells_put(row->queue, w.queue);
    if (row->state == ORR_ADMISSION_PENDING) {
        orr_cells_put(row->reason, w.reason);
        orr_cells_plain(row->why);
    } else if (row->state == ORR_ADMISSION_PREEMPTED) {
        (void)printf("%-7u", row->cycle);
        orr_cells_put(row->by, w.by);
        orr_cells_plain(row->reason);
    } else if (row->state != ORR_ADMISSION_FINISHED) {
        if (row->state != ORR_ADMISSION_HOLDS) {
            (void)printf("%-7u", row->cycle);
        }
        for (uint32_t s = 0; s < row->set_count; s++) {
            print_set(&row->sets[s], s == 0);
        }
    }
    (void)putchar('\n');
}

static void print_head(enum orr_admission_state state, struct widths w)
{
    (void)printf("%-*s%-*s", w.workload + 2, orr_admission_states[state], w.queue + 2,
                 "cluster queue");
    switch (state) {
    case ORR_ADMISSION_PENDING: (void)printf("%-*swhy\n", w.reason + 2, "reason"); break;
    case ORR_ADMISSION_PREEMPTED: (void)printf("%-7s%-*sreason\n", "cycle", w.by + 2, "for"); break;
    case ORR_ADMISSION_FINISHED: (void)putchar('\n'); break;
    case ORR_ADMISSION_HOLDS: (void)printf("pod sets\n"); break;
    default: (void)printf("%-7spod sets\n", "cycle"); break;
    }
}

/* What was decided and who waits; with `verbose` also who holds quota as before. */
static void print_text(const struct orr_admission *answer, bool quiet, bool verbose)
{
    const struct widths w = measure(answer);
    char now[32];
    (void)orr_format_timestamp(now, answer->now);
    if (!quiet) {
        (void)printf("Kueue's objects at %s: cluster queues %u, cohorts %u, flavors %u, nodes %u, "
                     "workloads %u; policy kueue, cycles %u%s\n",
                     now, answer->queues, answer->cohorts, answer->flavors, answer->nodes,
                     answer->row_count, answer->cycles,
                     answer->quiet ? ", nothing more to decide" : "");
    }
    bool decided = false;
    for (uint32_t i = 0; i < answer->row_count; i++) {
        const struct orr_admission_row *row = &answer->rows[i];
        const bool shown =
            verbose || (row->state != ORR_ADMISSION_HOLDS && row->state != ORR_ADMISSION_FINISHED);
        decided = decided || row->cycle > 0;
        if (shown && (i == 0 || row[-1].state != row->state)) {
            (void)printf("%s", quiet && i == 0 ? "" : "\n");
            print_head(row->state, w);
        }
        if (shown) {
            print_row(row, w);
        }
    }
    if (!decided) {
        (void)printf("\nnothing is decided\n");
    }
    for (uint32_t i = 0; i < answer->note_count && !quiet; i++) {
        (void)printf("%snote: ", i == 0 ? "\n" : "");
        orr_cells_plain(answer->notes[i].text);
        if (answer->notes[i].count > 1) {
            (void)printf(" (%u times)", answer->notes[i].count);
        }
        (void)putchar('\n');
    }
}

int orr_cli_admission(const struct orr_snapshot_options *options, int64_t cycles,
                      const struct orr_cli_common *common)
{
    struct orr_admission answer;
    struct orr_err err = {0};
    const enum orr_status status = orr_admission_run(options, cycles, &answer, &err);
    if (status == ORR_OK && common->json) {
        print_json(&answer);
    } else if (status == ORR_OK) {
        print_text(&answer, common->quiet, common->verbose);
    }
    orr_admission_release(&answer);
    return status == ORR_OK ? 0 : orr_cli_fail(&err);
}
