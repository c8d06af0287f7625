/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_lending.c - who borrowed from whom: at any time, what a queue holds beyond its quota it
 * has from those of its shard that hold less than theirs, in proportion. What all left may be less
 * than what all borrowed: the rest is in nobody's quota. Exact, from each change to the next. */
#include "report_int.h"
#include "report_sql.h"

#include <orrery/base/sort.h>

#define ROWS_MOST 20

struct ledger {
    struct orr_report_lending *lending;
    struct orr_report_load *load;
    uint32_t *shard_of; /* of a queue: the first queue of its shard, which stands for it */
    /* of the step at hand: */
    double *beyond, *idle;   /* by queue */
    double *borrowed, *left; /* by shard */
    uint32_t *borrowers, *lenders, borrower_count, lender_count;
    double *pairs, *owed; /* lender * queue_count + borrower, mGPU x ms */
};

/* Shares out what the borrowers of one lender's shard have from it in this step. */
static void lend(struct ledger *ledger, const struct orr_course *course, uint32_t lender,
                 double length_ms)
{
    const size_t row = (size_t)lender * course->queue_count;
    const uint32_t shard = ledger->shard_of[lender];
    const double borrowed = ledger->borrowed[shard], left = ledger->left[shard];
    const double part = left > borrowed ? borrowed / left : 1;
    const bool waits = orr_course_waits_mgpu(course, lender) > 0;
    for (uint32_t b = 0; b < ledger->borrower_count; b++) {
        const uint32_t q = ledger->borrowers[b];
        if (ledger->shard_of[q] == shard) {
            const double amount =
                ledger->idle[lender] * part * ledger->beyond[q] / borrowed * length_ms;
            ledger->pairs[row + q] += amount;
            ledger->owed[row + q] += (waits ? amount : 0);
        }
    }
}

static void lend_step(const struct orr_course *course, double length_ms, struct ledger *ledger)
{
    ledger->borrower_count = ledger->lender_count = 0;
    for (uint32_t q = 0; q < course->queue_count; q++) {
        ledger->borrowed[q] = ledger->left[q] = 0;
    }
    for (uint32_t q = 0; q < course->queue_count; q++) {
        const double quota = course->quota_mgpu[q], over = course->held_mgpu[q] - quota;
        ledger->beyond[q] = quota >= 0 && over > 0 ? over : 0;
        ledger->idle[q] = quota >= 0 && over < 0 ? -over : 0;
        ledger->borrowed[ledger->shard_of[q]] += ledger->beyond[q];
        ledger->left[ledger->shard_of[q]] += ledger->idle[q];
        ledger->borrowers[ledger->borrower_count] = q;
        ledger->borrower_count += ledger->beyond[q] > 0;
        ledger->lenders[ledger->lender_count] = q;
        ledger->lender_count += ledger->idle[q] > 0;
    }
    for (uint32_t l = 0; l < ledger->lender_count && ledger->borrower_count > 0; l++) {
        lend(ledger, course, ledger->lenders[l], length_ms);
    }
}

static void walk_step(const struct orr_course *course, orr_ms from, orr_ms to, void *context)
{
    struct ledger *ledger = context;
    lend_step(course, (double)(to - from), ledger);
    orr_report__load_step(course, (double)(to - from), ledger->load);
}

static void find_shards(struct ledger *ledger, const struct orr_course *course)
{
    for (uint32_t q = 0; q < course->queue_count; q++) {
        uint32_t first = 0;
        while (course->shards[first] != course->shards[q]) {
            first++;
        }
        ledger->shard_of[q] = first;
    }
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
            if (gpu_h > 0) {
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

static void close_ledger(struct ledger *ledger)
{
    orr_free(ledger->beyond);
    orr_free(ledger->idle);
    orr_free(ledger->borrowed);
    orr_free(ledger->left);
    orr_free(ledger->shard_of);
    orr_free(ledger->borrowers);
    orr_free(ledger->lenders);
    orr_free(ledger->pairs);
    orr_free(ledger->owed);
}

static void open_lending(const struct orr_course *course, struct orr_report_lending *lending)
{
    const uint32_t count = course->queue_count;
    lending->queue_count = count;
    lending->names = orr_zalloc(count + (size_t)1, sizeof *lending->names);
    lending->lent = orr_zalloc(count + (size_t)1, sizeof *lending->lent);
    lending->borrowed = orr_zalloc(count + (size_t)1, sizeof *lending->borrowed);
    for (uint32_t q = 0; q < count; q++) {
        lending->names[q] = course->names[q];
        lending->quota_count += course->quota_mgpu[q] > 0;
    }
}

void orr_report__walk_open(struct orr_results *in, struct orr_report_walk *walk)
{
    struct orr_course course;
    *walk = (struct orr_report_walk){0};
    orr_course_open(in, &course);
    open_lending(&course, &walk->lending);
    const uint32_t count = course.queue_count;
    struct ledger ledger = {.lending = &walk->lending,
                            .load = &walk->load,
                            .beyond = orr_zalloc(count + (size_t)1, sizeof *ledger.beyond),
                            .idle = orr_zalloc(count + (size_t)1, sizeof *ledger.idle),
                            .borrowed = orr_zalloc(count + (size_t)1, sizeof *ledger.borrowed),
                            .left = orr_zalloc(count + (size_t)1, sizeof *ledger.left),
                            .shard_of = orr_zalloc(count + (size_t)1, sizeof *ledger.shard_of),
                            .borrowers = orr_zalloc(count + (size_t)1, sizeof *ledger.borrowers),
                            .lenders = orr_zalloc(count + (size_t)1, sizeof *ledger.lenders),
                            .pairs = orr_zalloc((size_t)count * count + 1, sizeof *ledger.pairs),
                            .owed = orr_zalloc((size_t)count * count + 1, sizeof *ledger.owed)};
    find_shards(&ledger, &course);
    orr_course_walk(in, &course, orr_results_int(in, orr_report_sql__window_start, 0),
                    orr_results_int(in, orr_report_sql__window_end, 0), walk_step, &ledger);
    list_loans(&ledger);
    orr_report__load_conclude(&walk->load);
    close_ledger(&ledger);
    orr_course_close(&course);
}

void orr_report__walk_close(struct orr_report_walk *walk)
{
    orr_free(walk->lending.names);
    orr_free(walk->lending.lent);
    orr_free(walk->lending.borrowed);
    orr_free(walk->lending.loans);
    *walk = (struct orr_report_walk){0};
}

void orr_report__lending_table(const struct orr_report_lending *lending, FILE *out)
{
    if (lending->loan_count == 0) {
        (void)fprintf(out, "<p class=\"soft\">%s</p>\n",
                      lending->quota_count == 0
                          ? "No queue has a quota, so none can lend."
                          : "No queue held more than its quota while another held less.");
    } else {
        (void)fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">borrower</th><th "
                    "scope=\"col\">lender</th><th scope=\"col\" class=\"n\">GPU-hours</th><th "
                    "scope=\"col\" class=\"n\">of them while the lender's own jobs waited</th>"
                    "</tr></thead>\n<tbody>\n",
                    out);
    }
    for (uint32_t i = 0; i < lending->loan_count && i < ROWS_MOST; i++) {
        const struct orr_report_loan *loan = &lending->loans[i];
        char gpu_h[40], owed[40];
        (void)fputs("<tr><td>", out);
        orr_xml_text(out, lending->names[loan->borrower]);
        (void)fputs("</td><td>", out);
        orr_xml_text(out, lending->names[loan->lender]);
        (void)fprintf(out, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                      orr_report__number(loan->gpu_h, gpu_h),
                      orr_report__number(loan->owed_gpu_h, owed));
    }
    if (lending->loan_count > 0) {
        (void)fputs("</tbody></table></div>\n", out);
    }
    if (lending->loan_count > ROWS_MOST) {
        (void)fprintf(out, "<p class=\"soft\">... and %u smaller ones.</p>\n",
                      lending->loan_count - ROWS_MOST);
    }
}
