/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_at.c - why a job waits at a time. */
#include "explain_int.h"

#include <math.h>

struct at {
    const struct orr_results *in;
    struct explain_job job;
    orr_ms at_ms;
    bool waits;
    orr_ms since_ms; /* when the reason began, and its numbers are of */
    struct explain_reason reason;
    struct explain_room room;
    struct explain_siblings queues;
};

static void read_reason(struct orr_results *in, struct at *at)
{
    const int64_t values[] = {at->job.id, at->at_ms};
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__reason_at, values, 2);
    while (orr_results_step(in, row)) {
        at->waits = true;
        at->since_ms = sqlite3_column_int64(row, 0);
        orr_explain__reason(in, row, 1, &at->reason);
        if (at->reason.ahead_until_ms > at->at_ms) { /* is not known then */
            at->reason.ahead_until_ms = ORR_MS_NONE;
        }
    }
}

/* It was submitted or lost its place a moment ago. */
static void read_pending(struct orr_results *in, struct at *at)
{
    const int64_t values[] = {at->job.id, at->at_ms};
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__pending_at, values, 2);
    while (orr_results_step(in, row)) {
        const double none = (double)NAN;
        at->waits = true;
        at->since_ms = sqlite3_column_int64(row, 0);
        at->reason = (struct explain_reason){.code = "none",
                                             .words = EXPLAIN_NOT_LOOKED_AT,
                                             .at_ms = at->since_ms,
                                             .ahead_until_ms = ORR_MS_NONE,
                                             .allowed_gpus = none,
                                             .held_gpus = none,
                                             .free_gpus = none,
                                             .hole_gpus = none,
                                             .domain_gpus = none,
                                             .queue_share_gpus = none,
                                             .queue_quota_gpus = none,
                                             .queue_held_gpus = none};
    }
}

/* What it does instead of waiting. */
static void refuse(struct orr_results *in, const struct at *at)
{
    const struct explain_job *job = &at->job;
    char clock[40], when[40];
    const char *what = "";
    orr_ms then = ORR_MS_NONE;
    if (at->at_ms < job->submit_ms) {
        what = ": it comes at ";
        then = job->submit_ms;
    } else if (job->end_ms != ORR_MS_NONE && at->at_ms >= job->end_ms) {
        what = ": it ended at ";
        then = job->end_ms;
    } else if (job->start_ms != ORR_MS_NONE && at->at_ms >= job->start_ms) {
        what = ": it first started at ";
        then = job->start_ms;
    }
    in->status = orr_fail(in->err, ORR_DATA, "%s: job %s does not wait at %s%s%s", in->path,
                          job->name, orr_results_when(at->in, at->at_ms, clock), what,
                          then != ORR_MS_NONE ? orr_results_when(at->in, then, when) : "");
}

static void say_room(const struct explain_room *room, FILE *out)
{
    char up[40];
    (void)fprintf(out, "Then %g of the %s that were up were free", room->free_gpus,
                  orr_explain__gpus(room->up_gpus, up));
    orr_explain__say_models(room, out);
    (void)fputs(".\n", out);
}

static void say(const struct at *at, FILE *out)
{
    char clock[40], since[24], of[40];
    const bool began = at->reason.at_ms == at->since_ms;
    orr_explain__say_job(&at->job, out);
    (void)fprintf(out, "At %s it waits, for %s for this reason (numbers of %s): ",
                  orr_results_when(at->in, at->at_ms, clock),
                  orr_explain__span(at->at_ms - at->since_ms, since),
                  began ? "when it began" : orr_results_when(at->in, at->reason.at_ms, of));
    orr_explain__say_reason(&at->job, &at->reason, out);
    (void)fputs(".\n", out);
    say_room(&at->room, out);
    (void)fprintf(out, "Its queue and those beside it then:\n");
    orr_explain__say_siblings(&at->queues, out);
}

static void as_json(const struct at *at, FILE *out)
{
    struct orr_json json = {.out = out};
    orr_json_open(&json, NULL, '{');
    orr_explain__json_job(&at->job, &json);
    orr_json_seconds(&json, "at_s", at->at_ms);
    orr_json_seconds(&json, "since_s", at->since_ms);
    orr_json_seconds(&json, "numbers_at_s", at->reason.at_ms);
    orr_json_open(&json, "waits", '{');
    orr_explain__json_reason(&at->reason, &json);
    orr_json_close(&json, '}');
    orr_explain__json_room(&at->room, &json);
    orr_explain__json_siblings(&at->queues, &json);
    orr_json_close(&json, '}');
}

enum orr_status orr_explain_job_at(const char *db_path, const char *name, orr_ms at_ms, bool json,
                                   FILE *out, struct orr_err *err)
{
    struct orr_results in;
    struct at at = {.in = &in, .at_ms = at_ms};
    orr_results_open(&in, db_path, err);
    in.for_people = !json;
    if (orr_explain__job(&in, name, &at.job)) {
        read_reason(&in, &at);
        if (!at.waits) {
            read_pending(&in, &at);
        }
        orr_explain__room(&in, at_ms, &at.room);
        orr_explain__siblings(&in, at.job.queue, at_ms, &at.queues);
    }
    if (in.status == ORR_OK && !at.waits) {
        refuse(&in, &at);
    } else if (in.status == ORR_OK && json) {
        as_json(&at, out);
    } else if (in.status == ORR_OK) {
        say(&at, out);
    }
    orr_explain__room_release(&at.room);
    orr_free(at.queues.rows);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
