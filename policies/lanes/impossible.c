/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "impossible.h"

#include <orrery/base/mem.h>
#include <orrery/core/place.h>

enum known { NOT_ASKED, IT_MAY, IT_NEVER_DOES };

struct orr_impossible_books {
    struct orr_ledger_world world;
    struct orr_job_spec *specs; /* by queue: a job of it, of the shape that is asked for */
    struct orr_ledger *ledger;
    struct orr_txn *txn;
};

static struct orr_impossible_books *open_books(const struct orr_view *view)
{
    struct orr_impossible_books *books = orr_zalloc(1, sizeof *books);
    const uint32_t queues = view->queues->count;
    books->specs = orr_zalloc(queues + (size_t)1, sizeof *books->specs);
    for (uint32_t q = 0; q < queues; q++) {
        books->specs[q].queue = q;
    }
    books->world = (struct orr_ledger_world){.cluster = view->cluster,
                                             .queues = view->queues,
                                             .shapes = view->shapes,
                                             .specs = books->specs,
                                             .job_count = queues};
    books->ledger = orr_ledger_open(&books->world);
    books->txn = orr_txn_open(books->ledger, 0);
    return books;
}

void orr_impossible_release(struct orr_impossible *impossible)
{
    if (impossible->books != NULL) {
        orr_txn_close(impossible->books->txn);
        orr_ledger_close(impossible->books->ledger);
        orr_free(impossible->books->specs);
        orr_free(impossible->books);
    }
    orr_free(impossible->known);
}

static bool is_conceivable(struct orr_impossible_books *books, const struct orr_job_spec *spec)
{
    struct orr_job_spec *like = &books->specs[spec->queue];
    like->shape = spec->shape;
    like->scales = spec->scales;
    if (books->ledger->jobs[spec->queue].phase == ORR_JOB_FUTURE) {
        orr_ledger_submit(books->ledger, spec->queue);
    }
    return orr_place_conceivable(books->txn, books->ledger, spec->queue, false, NULL);
}

static bool is_impossible(struct orr_impossible *impossible, const struct orr_view *view,
                          uint32_t job)
{
    const struct orr_job_spec *spec = &view->specs[job];
    const uint32_t at = spec->shape * 2 + spec->scales;
    impossible->known = orr_zgrow(impossible->known, &impossible->capacity,
                                  (size_t)view->shapes->count * 2, sizeof *impossible->known);
    if (impossible->known[at] == NOT_ASKED) {
        impossible->books = impossible->books == NULL ? open_books(view) : impossible->books;
        impossible->known[at] = is_conceivable(impossible->books, spec) ? IT_MAY : IT_NEVER_DOES;
    }
    return impossible->known[at] == IT_NEVER_DOES;
}

enum orr_reason orr_impossible_bars(struct orr_impossible *impossible, struct orr_placer *placer,
                                    const struct orr_view *view, uint32_t job)
{
    const enum orr_reason reason = orr_placer_bars(placer, job, false);
    return reason == ORR_REASON_NONE && is_impossible(impossible, view, job) ? ORR_REASON_NEVER
                                                                             : reason;
}
