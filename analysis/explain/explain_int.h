/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_int.h - what the explanations share. Each reads its facts first, then says them as text
 * or as JSON, so that both say the same. Texts live as long as the results. */
#ifndef ORR_EXPLAIN_INT_H
#define ORR_EXPLAIN_INT_H

#include <orrery/analysis/explain.h>
#include <orrery/analysis/json.h>
#include <orrery/analysis/results.h>

#include "explain_sql.h"

/* --- small things --- */

/* "4 min" and such of a span; needs 24 bytes. */
const char *orr_explain__span(orr_ms span, char *out);
/* "1 GPU", "2.5 GPUs"; needs 40 bytes. */
const char *orr_explain__gpus(double gpus, char *out);
/* Binds integers 1.. in order. */
sqlite3_stmt *orr_explain__query(struct orr_results *in, const char *sql, const int64_t *values,
                                 int count);
/* A column that may be NULL: ORR_MS_NONE, NAN, NULL. */
orr_ms orr_explain__time(sqlite3_stmt *row, int column);
double orr_explain__real(sqlite3_stmt *row, int column);
const char *orr_explain__text(struct orr_results *in, sqlite3_stmt *row, int column);

/* --- a job --- */

struct explain_job {
    int64_t id, queue;
    const char *name, *queue_name, *kind_name, *user, *state; /* state: as v_jobs has it */
    const char *memory;      /* what each of its pods that ask GPU memory does: 8000 MiB of a GPU;
                                NULL: none does */
    const char *mig_profile; /* whose instances it asks, and nothing else of GPUs; or NULL */
    const char *kinds;       /* of devices and instances, what it asks of each; NULL: of one */
    const char *gpu_model;   /* models that it asks for; NULL: any */
    double gpus;
    int64_t pods, min_pods, evictions;
    orr_ms submit_ms, start_ms, end_ms, run_end_ms; /* ORR_MS_NONE: never */
};

/* Finds a job by name; a near one is named in the error. */
bool orr_explain__job(struct orr_results *in, const char *name, struct explain_job *job);
void orr_explain__say_job(const struct explain_job *job, FILE *out);
/* Its members, within an object. */
void orr_explain__json_job(const struct explain_job *job, struct orr_json *json);

/* --- a reason to wait --- */

/* Of a job that waits since a moment ago: the reason, of code `none`. */
#define EXPLAIN_NOT_LOOKED_AT "no cycle has looked at it yet"

#define EXPLAIN_ACTIONS       3 /* consolidation, reclaim, preempt */

struct explain_reason {
    const char *code, *words;
    const char *queue, *level, *ahead;                                 /* NULL: says nothing */
    double allowed_gpus, held_gpus, free_gpus, hole_gpus, domain_gpus; /* NAN: says nothing */
    orr_ms ahead_until_ms; /* the job ahead waited no longer, this one did; ORR_MS_NONE: both did */
    char ahead_until[40];  /* the same in words */
    const char *outcome_codes[EXPLAIN_ACTIONS], *outcomes[EXPLAIN_ACTIONS]; /* NULL: not tried */
    /* the queue whose bound of CPU or memory the job would pass, where that of GPUs is not known;
     * its bound and what was held, in cores or GiB. NULL: none */
    const char *bound_by, *bound_resource;
    double bound, bound_held;
    /* where reclaim's gate failed: GPUs of its queue then, -1: unlimited; else NAN. Held: as the
     * gate counted them, NAN too where GPUs did not fail it */
    double queue_share_gpus, queue_quota_gpus, queue_held_gpus;
    bool preemptible; /* the job, so that the quota does not bind it */
    orr_ms at_ms;     /* of the numbers */
};

/* Of a query that selects the piece `of_reason`, from column `first` on. */
void orr_explain__reason(struct orr_results *in, sqlite3_stmt *row, int first,
                         struct explain_reason *reason);
/* A sentence without a full stop. */
void orr_explain__say_reason(const struct explain_job *job, const struct explain_reason *reason,
                             FILE *out);
void orr_explain__json_reason(const struct explain_reason *reason, struct orr_json *json);

/* --- queues at a time --- */

/* ", after the run, which ended at ..." or ", before the run, ..."; empty within the run. */
const char *orr_explain__beside_run(struct orr_results *in, orr_ms at_ms, char out[90]);
/* GPUs of nodes that are there and up at a time, and those that nobody holds on nodes that take
 * something new. */
struct explain_model {
    const char *name; /* NULL: of nodes that state none */
    double up_gpus, free_gpus;
};
struct explain_room {
    double up_gpus, free_gpus; /* of all models */
    struct explain_model *models;
    uint32_t count, capacity;
};
void orr_explain__room(struct orr_results *in, orr_ms at_ms, struct explain_room *room);
void orr_explain__room_release(struct explain_room *room);
/* ": 0 of 8 A100, 4 of 16 L4", where there are several models; else nothing. */
void orr_explain__say_models(const struct explain_room *room, FILE *out);
/* Its members, within an object. */
void orr_explain__json_room(const struct explain_room *room, struct orr_json *json);

struct explain_sibling {
    const char *name;
    double quota_gpus, weight, limit_gpus, entitled_gpus, holds_gpus; /* entitled: NAN unknown */
    int64_t jobs;
    bool is_it; /* the queue that was asked about */
};
struct explain_siblings {
    struct explain_sibling *rows;
    uint32_t count, capacity;
};

/* Queues of the same parent with what each holds at a time, most first. Free the rows. */
void orr_explain__siblings(struct orr_results *in, int64_t queue, orr_ms at,
                           struct explain_siblings *siblings);
void orr_explain__say_siblings(const struct explain_siblings *siblings, FILE *out);
void orr_explain__json_siblings(const struct explain_siblings *siblings, struct orr_json *json);

/* --- sums of waits, of a job or of a queue --- */

struct explain_wait {
    const char *code, *words;
    orr_ms span_ms;
    int64_t jobs;
};
struct explain_waits {
    struct explain_wait *rows;
    uint32_t count, capacity;
};

/* By reason, the longest first and no more than `most`; `query` is waits_of_job or waits_of_queue
 * of explain.sql. Free the rows. */
void orr_explain__waits(struct orr_results *in, const char *query, int64_t id, uint32_t most,
                        struct explain_waits *waits);
void orr_explain__json_waits(const struct explain_waits *waits, struct orr_json *json);

/* --- pods of a job that come and go: v_replicas --- */

#define EXPLAIN_SHORTAGES 5 /* told of one by one, the longest */

struct explain_replicas_part { /* of its life; least and most pods */
    orr_ms from_ms, to_ms, short_ms;
    int64_t wanted_least, wanted_most, had_least, had_most;
    bool any;
};
struct explain_shortage { /* a time in which it had fewer pods than it wanted */
    orr_ms from_ms, to_ms;
    int64_t wanted, had; /* when most were missing */
};
struct explain_replicas {
    bool given; /* false: its pods do not come and go */
    orr_ms from_ms, to_ms, short_ms;
    double wanted_mean, had_mean; /* over that time */
    uint32_t times_short, shortage_count, part_count;
    struct explain_shortage shortages[EXPLAIN_SHORTAGES]; /* longest first */
    struct explain_replicas_part *parts;
    double requests, attained, late, dropped; /* of a service, from the window on; NAN: none */
};

/* Free the parts. */
void orr_explain__replicas(struct orr_results *in, const struct explain_job *job,
                           struct explain_replicas *replicas);
void orr_explain__say_replicas(const struct orr_results *in,
                               const struct explain_replicas *replicas, FILE *out);
void orr_explain__json_replicas(const struct explain_replicas *replicas, struct orr_json *json);

#endif
