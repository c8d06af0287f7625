/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_lending.c - who borrowed from whom: in each bucket of the series, what a queue holds
 * beyond its quota it has from those of its shard that hold less than theirs, in proportion. What
 * all left may be less than what all borrowed: the rest is in nobody's quota. */
#include "report_int.h"

#include <orrery/base/sort.h>

#define ROWS_MOST 20

struct change { /* of a quota while the run goes on */
    orr_ms at_ms;
    uint32_t queue;
    double quota_mgpu;
};

struct ledger {
    struct orr_report_lending *lending;
    struct change *changes; /* by time */
    uint32_t change_count, change_room, changed;
    int64_t *ids, *shards;
    double *quota_mgpu; /* as owed in the bucket; < 0: unlimited, neither lends nor borrows */
    double *beyond, *idle, *waits_mgpu; /* of the bucket at hand */
    double *pairs, *owed;               /* lender * queue_count + borrower, mGPU x ms */
};

static void load_queues(struct orr_results *in, struct ledger *ledger)
{
    struct orr_report_lending *lending = ledger->lending;
    const size_t room = (size_t)orr_results_int(in, "SELECT count(*) FROM queue", 0) + 1;
    lending->names = orr_zalloc(room, sizeof *lending->names);
    lending->lent = orr_zalloc(room, sizeof *lending->lent);
    lending->borrowed = orr_zalloc(room, sizeof *lending->borrowed);
    ledger->ids = orr_zalloc(room, sizeof *ledger->ids);
    ledger->shards = orr_zalloc(room, sizeof *ledger->shards);
    ledger->quota_mgpu = orr_zalloc(room, sizeof *ledger->quota_mgpu);
    ledger->beyond = orr_zalloc(room, sizeof *ledger->beyond);
    ledger->idle = orr_zalloc(room, sizeof *ledger->idle);
    ledger->waits_mgpu = orr_zalloc(room, sizeof *ledger->waits_mgpu);
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT q.id, q.name, q.gpu_quota * 1000, coalesce(s.shard, -1) FROM queue AS q"
            " LEFT JOIN shard_queue AS s ON s.queue = q.id WHERE q.leaf ORDER BY q.id");
    while (orr_results_step(in, row) && lending->queue_count + 1 < room) {
        const uint32_t q = lending->queue_count++;
        ledger->ids[q] = sqlite3_column_int64(row, 0);
        lending->names[q] = orr_results_text(in, row, 1);
        ledger->quota_mgpu[q] = sqlite3_column_double(row, 2);
        ledger->shards[q] = sqlite3_column_int64(row, 3);
        lending->quota_count += ledger->quota_mgpu[q] > 0;
    }
    const size_t pairs = (size_t)lending->queue_count * lending->queue_count + 1;
    ledger->pairs = orr_zalloc(pairs, sizeof *ledger->pairs);
    ledger->owed = orr_zalloc(pairs, sizeof *ledger->owed);
}

static uint32_t queue_at(const struct ledger *ledger, int64_t id)
{
    uint32_t low = 0, high = ledger->lending->queue_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (ledger->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ledger->lending->queue_count && ledger->ids[low] == id ? low : ORR_NONE;
}

static void load_changes(struct orr_results *in, struct ledger *ledger)
{
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT at_ms, queue, gpu_quota * 1000 FROM queue_change ORDER BY at_ms, rowid");
    while (orr_results_step(in, row)) {
        const uint32_t q = queue_at(ledger, sqlite3_column_int64(row, 1));
        if (q != ORR_NONE) {
            ledger->changes =
                ORR_ROOM_FOR_ONE(ledger->changes, ledger->change_count, ledger->change_room);
            ledger->changes[ledger->change_count++] =
                (struct change){sqlite3_column_int64(row, 0), q, sqlite3_column_double(row, 2)};
        }
    }
}

/* Quotas as they are when a bucket begins. */
static void take_changes(struct ledger *ledger, orr_ms at)
{
    while (ledger->changed < ledger->change_count && ledger->changes[ledger->changed].at_ms <= at) {
        const struct change *change = &ledger->changes[ledger->changed++];
        ledger->quota_mgpu[change->queue] = change->quota_mgpu;
    }
}

/* Shares out what the borrowers of one lender's shard have from it in this bucket. */
static void lend(struct ledger *ledger, uint32_t lender, double length_ms)
{
    const uint32_t count = ledger->lending->queue_count;
    double borrowed = 0, left = 0;
    for (uint32_t q = 0; q < count; q++) {
        if (ledger->shards[q] == ledger->shards[lender]) {
            borrowed += ledger->beyond[q];
            left += ledger->idle[q];
        }
    }
    if (borrowed <= 0) {
        return;
    }
    const double part = left > borrowed ? borrowed / left : 1;
    const double waits = ledger->waits_mgpu[lender] / ledger->idle[lender];
    for (uint32_t q = 0; q < count; q++) {
        if (ledger->beyond[q] > 0 && ledger->shards[q] == ledger->shards[lender]) {
            const double amount =
                ledger->idle[lender] * part * ledger->beyond[q] / borrowed * length_ms;
            ledger->pairs[(size_t)lender * count + q] += amount;
            ledger->owed[(size_t)lender * count + q] += amount * (waits < 1 ? waits : 1);
        }
    }
}

static void close_bucket(struct ledger *ledger, double length_ms)
{
    for (uint32_t q = 0; q < ledger->lending->queue_count; q++) {
        if (ledger->idle[q] > 0) {
            lend(ledger, q, length_ms);
        }
    }
    for (uint32_t q = 0; q < ledger->lending->queue_count; q++) {
        ledger->beyond[q] = ledger->idle[q] = ledger->waits_mgpu[q] = 0;
    }
}

static void read_series(struct orr_results *in, struct ledger *ledger)
{
    orr_ms bucket = ORR_MS_NONE;
    double length_ms = 0;
    sqlite3_stmt *row = orr_results_prepare(
        in, "SELECT s.at_ms, s.queue, s.allocated_mgpu, s.pending_mgpu,"
            " min(r.series_ms, r.window_end_ms - s.at_ms), o.gpu_quota * 1000 FROM series AS s"
            " JOIN v_owed AS o ON o.queue = s.queue AND o.from_ms <= s.at_ms"
            " AND coalesce(o.to_ms, 9e18) > s.at_ms CROSS JOIN run AS r"
            " WHERE s.at_ms >= r.window_start_ms AND s.at_ms < r.window_end_ms ORDER BY s.at_ms");
    while (orr_results_step(in, row)) {
        const orr_ms at = sqlite3_column_int64(row, 0);
        const uint32_t q = queue_at(ledger, sqlite3_column_int64(row, 1));
        if (at != bucket) {
            close_bucket(ledger, length_ms);
            take_changes(ledger, at);
            bucket = at;
        }
        length_ms = sqlite3_column_double(row, 4);
        if (q != ORR_NONE) {
            ledger->quota_mgpu[q] = sqlite3_column_double(row, 5);
        }
        if (q != ORR_NONE && ledger->quota_mgpu[q] >= 0) {
            const double over = sqlite3_column_double(row, 2) - ledger->quota_mgpu[q];
            ledger->beyond[q] = over > 0 ? over : 0;
            ledger->idle[q] = over < 0 ? -over : 0;
            ledger->waits_mgpu[q] = sqlite3_column_double(row, 3);
        }
    }
    close_bucket(ledger, length_ms);
}

static int by_amount(const void *a, const void *b, void *context)
{
    const struct orr_report_loan *x = a, *y = b;
    (void)context;
    return (x->gpu_h < y->gpu_h) - (x->gpu_h > y->gpu_h);
}

static void list_loans(struct ledger *ledger)
{
    struct orr_report_lending *lending = ledger->lending;
    const uint32_t count = lending->queue_count;
    uint32_t room = 0;
    for (uint32_t l = 0; l < count; l++) {
        for (uint32_t b = 0; b < count; b++) {
            const double gpu_h = ledger->pairs[(size_t)l * count + b] / 3.6e9;
            lending->lent[l] += gpu_h;
            lending->borrowed[b] += gpu_h;
            if (gpu_h >= 0.05) {
                lending->loans = ORR_ROOM_FOR_ONE(lending->loans, lending->loan_count, room);
                lending->loans[lending->loan_count++] = (struct orr_report_loan){
                    l, b, gpu_h, ledger->owed[(size_t)l * count + b] / 3.6e9};
            }
        }
    }
    if (lending->loan_count > 0) {
        orr_sort(lending->loans, lending->loan_count, sizeof *lending->loans, by_amount, NULL);
    }
}

void orr_report__lending_open(struct orr_results *in, struct orr_report_lending *lending)
{
    *lending = (struct orr_report_lending){0};
    struct ledger ledger = {.lending = lending};
    load_queues(in, &ledger);
    load_changes(in, &ledger);
    read_series(in, &ledger);
    list_loans(&ledger);
    orr_free(ledger.changes);
    orr_free(ledger.ids);
    orr_free(ledger.shards);
    orr_free(ledger.quota_mgpu);
    orr_free(ledger.beyond);
    orr_free(ledger.idle);
    orr_free(ledger.waits_mgpu);
    orr_free(ledger.pairs);
    orr_free(ledger.owed);
}

void orr_report__lending_close(struct orr_report_lending *lending)
{
    orr_free(lending->names);
    orr_free(lending->lent);
    orr_free(lending->borrowed);
    orr_free(lending->loans);
    *lending = (struct orr_report_lending){0};
}

void orr_report__lending_table(struct orr_results *in, FILE *out)
{
    struct orr_report_lending lending;
    orr_report__lending_open(in, &lending);
    if (lending.loan_count == 0) {
        (void)fprintf(out, "<p class=\"soft\">%s</p>\n",
                      lending.quota_count == 0
                          ? "No queue has a quota, so none can lend."
                          : "No queue held more than its quota while another held less.");
    } else {
        (void)fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">borrower</th><th "
                    "scope=\"col\">lender</th><th scope=\"col\" class=\"n\">GPU-hours</th><th "
                    "scope=\"col\" class=\"n\">of them while the lender's own jobs waited</th>"
                    "</tr></thead>\n<tbody>\n",
                    out);
    }
    for (uint32_t i = 0; i < lending.loan_count && i < ROWS_MOST; i++) {
        const struct orr_report_loan *loan = &lending.loans[i];
        char gpu_h[40], owed[40];
        (void)fputs("<tr><td>", out);
        orr_xml_text(out, lending.names[loan->borrower]);
        (void)fputs("</td><td>", out);
        orr_xml_text(out, lending.names[loan->lender]);
        (void)fprintf(out, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                      orr_report__number(loan->gpu_h, gpu_h),
                      orr_report__number(loan->owed_gpu_h, owed));
    }
    if (lending.loan_count > 0) {
        (void)fputs("</tbody></table></div>\n", out);
    }
    if (lending.loan_count > ROWS_MOST) {
        (void)fprintf(out, "<p class=\"soft\">... and %u smaller ones.</p>\n",
                      lending.loan_count - ROWS_MOST);
    }
    orr_report__lending_close(&lending);
}
