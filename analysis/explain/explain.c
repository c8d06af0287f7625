/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain.c - what the explanations share: finding a job, a reason, sums of waits, queues beside
 * each other. */
#include "explain_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/text.h>

/* --- small things --- */

const char *orr_explain__span(orr_ms span, char *out)
{
    return orr_format_rough(out, (double)span / 1000.0);
}

const char *orr_explain__gpus(double gpus, char *out)
{
    char count[32];
    (void)snprintf(count, sizeof count, gpus < 999999.5 ? "%g" : "%.0f", gpus);
    (void)snprintf(out, 40, "%s GPU%s", count, strcmp(count, "1") == 0 ? "" : "s");
    return out;
}

sqlite3_stmt *orr_explain__query(struct orr_results *in, const char *sql, const int64_t *values,
                                 int count)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    for (int i = 0; row != NULL && i < count; i++) {
        (void)sqlite3_bind_int64(row, i + 1, values[i]);
    }
    return row;
}

static bool given(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) != SQLITE_NULL;
}

orr_ms orr_explain__time(sqlite3_stmt *row, int column)
{
    return given(row, column) ? sqlite3_column_int64(row, column) : ORR_MS_NONE;
}

double orr_explain__real(sqlite3_stmt *row, int column)
{
    return given(row, column) ? sqlite3_column_double(row, column) : (double)NAN;
}

const char *orr_explain__text(struct orr_results *in, sqlite3_stmt *row, int column)
{
    return given(row, column) ? orr_results_text(in, row, column) : NULL;
}

/* --- a job --- */

static void no_such_job(struct orr_results *in, const char *name)
{
    const char *names[200];
    size_t count = 0;
    char like[300];
    (void)snprintf(like, sizeof like, "%.3s%%", name);
    sqlite3_stmt *row = orr_results_prepare(in, orr_explain_sql__jobs_named_like);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, like, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        names[count++] = orr_results_text(in, row, 0);
    }
    if (in->status == ORR_OK) {
        const char *near = orr_nearest(name, names, count);
        in->status = orr_fail(in->err, ORR_DATA, "%s: no job is called \"%s\"%s%s%s", in->path,
                              name, near != NULL ? "; is \"" : "", near != NULL ? near : "",
                              near != NULL ? "\" meant?" : "");
    }
}

bool orr_explain__job(struct orr_results *in, const char *name, struct explain_job *job)
{
    bool found = false;
    sqlite3_stmt *row = orr_results_prepare(in, orr_explain_sql__job);
    if (row != NULL) {
        (void)sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        const char *queue = orr_results_queue(in, row, 3);
        found = true;
        *job = (struct explain_job){.id = sqlite3_column_int64(row, 0),
                                    .queue = sqlite3_column_int64(row, 1),
                                    .name = orr_results_text(in, row, 2),
                                    .queue_name = queue != NULL ? queue : "",
                                    .kind_name = orr_results_text(in, row, 4),
                                    .user = orr_results_text(in, row, 5),
                                    .gpus = sqlite3_column_double(row, 6),
                                    .pods = sqlite3_column_int64(row, 7),
                                    .min_pods = sqlite3_column_int64(row, 8),
                                    .state = orr_results_text(in, row, 14),
                                    .mig_profile = orr_explain__text(in, row, 15),
                                    .kinds = orr_explain__text(in, row, 16),
                                    .memory = orr_explain__text(in, row, 17),
                                    .gpu_model = orr_explain__text(in, row, 18),
                                    .evictions = sqlite3_column_int64(row, 9),
                                    .submit_ms = orr_explain__time(row, 10),
                                    .start_ms = orr_explain__time(row, 11),
                                    .end_ms = orr_explain__time(row, 12),
                                    .run_end_ms = orr_explain__time(row, 13)};
    }
    if (!found && in->status == ORR_OK) {
        no_such_job(in, name);
    }
    return found && in->status == ORR_OK;
}

void orr_explain__say_job(const struct explain_job *job, FILE *out)
{
    char asked[40];
    const bool kind = strcmp(job->kind_name, "unknown") != 0;
    (void)fprintf(out, "Job %s of queue %s%s%s%s%s%s asks ", job->name, job->queue_name,
                  job->user[0] != '\0' ? ", user " : "", job->user, kind ? " (" : "",
                  kind ? job->kind_name : "", kind ? ")" : "");
    if (job->memory == NULL || job->gpus > 0) {
        (void)fprintf(out, "%s%s", orr_explain__gpus(job->gpus, asked),
                      job->memory != NULL ? " and " : "");
    }
    if (job->memory != NULL) {
        (void)fprintf(out, "GPU memory (a pod %s)", job->memory);
    }
    if (job->mig_profile != NULL) {
        (void)fprintf(out, " of MIG instances %s", job->mig_profile);
    } else if (job->kinds != NULL) {
        (void)fprintf(out, " (%s)", job->kinds);
    }
    (void)fprintf(out, " in %lld pod%s%s", (long long)job->pods, ORR_PLURAL(job->pods),
                  job->pods == 1 || job->min_pods < job->pods ? "" : ", all together");
    if (job->min_pods < job->pods) {
        (void)fprintf(out, ", at least %lld at a time", (long long)job->min_pods);
    }
    if (job->gpu_model != NULL) {
        (void)fprintf(out, ", on GPUs of model %s", job->gpu_model);
    }
    (void)fprintf(out, ".\n");
}

void orr_explain__json_job(const struct explain_job *job, struct orr_json *json)
{
    orr_json_text(json, "job", job->name);
    orr_json_text(json, "queue", job->queue_name);
    orr_json_text(json, "user", job->user);
    orr_json_text(json, "kind", job->kind_name);
    orr_json_real(json, "asked_gpus", job->gpus);
    if (job->memory != NULL) {
        orr_json_text(json, "asked_gpu_memory", job->memory);
    }
    if (job->mig_profile != NULL) {
        orr_json_text(json, "mig_profile", job->mig_profile);
    }
    if (job->gpu_model != NULL) {
        orr_json_text(json, "gpu_model", job->gpu_model);
    }
    orr_json_int(json, "pods", job->pods);
    orr_json_int(json, "min_pods", job->min_pods);
}

/* --- reasons --- */

static const char *const actions[EXPLAIN_ACTIONS] = {"consolidation", "reclaim", "preempt"};

/* What the gate of reclaim compared, in GPUs, as far as results have it. */
static void read_claim(struct orr_results *in, int64_t job, int64_t at_ms,
                       struct explain_reason *reason)
{
    const int64_t values[] = {job, at_ms};
    reason->queue_share_gpus = reason->queue_quota_gpus = (double)NAN;
    const char *reclaim = reason->outcome_codes[1];
    if (reclaim == NULL || strcmp(reclaim, "gate-failed") != 0) {
        return;
    }
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__claim_at, values, 2);
    while (orr_results_step(in, row)) {
        reason->queue_share_gpus = orr_explain__real(row, 0);
        reason->queue_quota_gpus = orr_explain__real(row, 1);
        reason->preemptible = sqlite3_column_int(row, 2) != 0;
    }
}

/* A queue's bound of CPU or memory, of a job that is not known to pass one of GPUs. */
static void read_bound(struct orr_results *in, int64_t job, int64_t at_ms,
                       struct explain_reason *reason)
{
    const bool of_quota = strcmp(reason->code, "non-preemptible-over-quota") == 0;
    const int64_t values[] = {job, at_ms, of_quota};
    if (!isnan(reason->allowed_gpus) || (!of_quota && strcmp(reason->code, "over-limit") != 0)) {
        return;
    }
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__bound_at, values, 3);
    while (orr_results_step(in, row)) {
        reason->bound_by = orr_results_queue(in, row, 0);
        reason->bound_resource = orr_explain__text(in, row, 1);
        reason->bound = sqlite3_column_double(row, 2);
        reason->bound_held = sqlite3_column_double(row, 3);
    }
}

void orr_explain__reason(struct orr_results *in, sqlite3_stmt *row, int first,
                         struct explain_reason *reason)
{
    *reason = (struct explain_reason){.code = orr_results_text(in, row, first),
                                      .words = orr_results_text(in, row, first + 1),
                                      .allowed_gpus = orr_explain__real(row, first + 2),
                                      .held_gpus = orr_explain__real(row, first + 3),
                                      .queue = orr_results_queue(in, row, first + 4),
                                      .free_gpus = orr_explain__real(row, first + 5),
                                      .hole_gpus = orr_explain__real(row, first + 6),
                                      .level = orr_explain__text(in, row, first + 7),
                                      .domain_gpus = orr_explain__real(row, first + 8),
                                      .ahead = orr_explain__text(in, row, first + 9)};
    for (int i = 0; i < EXPLAIN_ACTIONS; i++) {
        reason->outcome_codes[i] = orr_explain__text(in, row, first + 10 + 2 * i);
        reason->outcomes[i] = orr_explain__text(in, row, first + 11 + 2 * i);
    }
    reason->ahead_until_ms = orr_explain__time(row, first + 10 + 2 * EXPLAIN_ACTIONS);
    if (reason->ahead_until_ms != ORR_MS_NONE) {
        (void)orr_results_when(in, reason->ahead_until_ms, reason->ahead_until);
    }
    const int of = first + 11 + 2 * EXPLAIN_ACTIONS;
    const int64_t job = sqlite3_column_int64(row, of), at_ms = sqlite3_column_int64(row, of + 1);
    reason->queue_held_gpus = orr_explain__real(row, of + 2);
    reason->at_ms = at_ms;
    read_claim(in, job, at_ms, reason);
    read_bound(in, job, at_ms, reason);
}

/* ": q has a fair share of 4 GPUs, a quota of 4, and holds 4", behind what the gate of reclaim
 * says. Of a limit that binds, and of a quota, the reason itself has the numbers. */
static void say_claim(const struct explain_job *job, const struct explain_reason *r, FILE *out)
{
    const bool of_gpus = !isnan(r->queue_held_gpus);
    const bool of_others = r->preemptible && strcmp(r->code, "over-limit") != 0;
    if (isnan(r->queue_share_gpus) || (!of_gpus && !of_others)) {
        return;
    }
    char gpus[40], quota[24] = "no bound by quota";
    if (r->queue_quota_gpus >= 0) {
        (void)snprintf(quota, sizeof quota, "a quota of %g", r->queue_quota_gpus);
    }
    (void)fprintf(out, ": %s has a fair share of %s, %s, and ", job->queue_name,
                  orr_explain__gpus(r->queue_share_gpus, gpus), quota);
    if (of_gpus) {
        (void)fprintf(out, "holds %g", r->queue_held_gpus);
    } else {
        (void)fputs("GPUs enough left; CPU and memory have shares and quotas too", out);
    }
}

/* A job would pass the bound that its reason is only as KAI v0.17 counts parts of GPUs: in floating
 * point, and on a node in hundredths, rounded up. */
static bool passes_by_rounding(const struct explain_job *job, const struct explain_reason *r)
{
    const bool of_bound =
        strcmp(r->code, "over-limit") == 0 || strcmp(r->code, "non-preemptible-over-quota") == 0;
    return of_bound && job->memory == NULL && job->mig_profile == NULL && job->gpus > 0.0 &&
           llround((r->held_gpus + job->gpus) * ORR_MGPU) <= llround(r->allowed_gpus * ORR_MGPU);
}

void orr_explain__say_reason(const struct explain_job *job, const struct explain_reason *r,
                             FILE *out)
{
    static const char *const gates[EXPLAIN_ACTIONS] = {
        ("fewer GPUs (or less of their memory) than it asks are free or come free in total, "
         "without "
         "what is promised to others"),
        "its queue's fair share (its quota, for what cannot be preempted) does not cover it",
        "its queue's quota does not cover it"};
    char gpus[40];
    (void)fputs(r->words, out);
    if (!isnan(r->allowed_gpus)) {
        (void)fprintf(out, "; %s may hold %s", r->queue != NULL ? r->queue : "its queue",
                      orr_explain__gpus(r->allowed_gpus, gpus));
        if (!isnan(r->held_gpus)) {
            (void)fprintf(out, " and holds %g", r->held_gpus);
        }
        if (!isnan(r->held_gpus) && passes_by_rounding(job, r)) {
            (void)fprintf(out,
                          ": with its %g it passes that only as KAI v0.17 rounds parts of GPUs",
                          job->gpus);
        }
    }
    if (r->bound_by != NULL) {
        const bool cpu = strcmp(r->bound_resource, "cpu") == 0;
        (void)fprintf(out, "; of %s %s has a %s of %g%s, and its jobs hold %g%s",
                      cpu ? "CPU" : "memory", r->bound_by,
                      strcmp(r->code, "over-limit") == 0 ? "limit" : "quota", r->bound,
                      cpu ? " cores" : " GiB", r->bound_held, cpu ? "" : " GiB");
    }
    if (!isnan(r->free_gpus)) {
        (void)fprintf(out, "; free on nodes it may use%s: %s%s%s",
                      job->kinds != NULL ? ", of the kind it lacks first" : "",
                      orr_explain__gpus(r->free_gpus, gpus),
                      job->mig_profile != NULL ? " of MIG instances " : "",
                      job->mig_profile != NULL ? job->mig_profile : "");
    }
    if (!isnan(r->hole_gpus)) {
        (void)fprintf(out, ", at most %g %son one node", r->hole_gpus,
                      job->mig_profile != NULL || job->kinds != NULL ? "" : "whole ");
    }
    if (r->level != NULL && !isnan(r->domain_gpus)) {
        (void)fprintf(out, ", at most %g in one %s", r->domain_gpus, r->level);
    }
    if (r->ahead != NULL) {
        const bool gone = r->ahead_until_ms != ORR_MS_NONE;
        (void)fprintf(out, "; behind job %s%s%s%s", r->ahead, gone ? " until " : "",
                      gone ? r->ahead_until : "", gone ? ", then behind others" : "");
    }
    for (int i = 0; i < EXPLAIN_ACTIONS; i++) {
        if (r->outcome_codes[i] != NULL) {
            const bool gate = strcmp(r->outcome_codes[i], "gate-failed") == 0;
            (void)fprintf(out, "; %s: %s", actions[i], gate ? gates[i] : r->outcomes[i]);
            if (gate && i == 1) {
                say_claim(job, r, out);
            }
        }
    }
}

void orr_explain__json_reason(const struct explain_reason *r, struct orr_json *json)
{
    orr_json_text(json, "reason", r->code);
    orr_json_text(json, "words", r->words);
    orr_json_text(json, "bound_by_queue", r->queue);
    orr_json_real(json, "allowed_gpus", r->allowed_gpus);
    orr_json_real(json, "held_gpus", r->held_gpus);
    if (r->bound_by != NULL) { /* of CPU or memory */
        orr_json_text(json, "bound_resource", r->bound_resource);
        orr_json_text(json, "bound_resource_queue", r->bound_by);
        orr_json_real(json, "bound_cores_or_gib", r->bound);
        orr_json_real(json, "bound_held_cores_or_gib", r->bound_held);
    }
    orr_json_real(json, "free_gpus", r->free_gpus);
    orr_json_real(json, "largest_hole_gpus", r->hole_gpus);
    orr_json_text(json, "level", r->level);
    orr_json_real(json, "emptiest_domain_gpus", r->domain_gpus);
    orr_json_text(json, "behind_job", r->ahead);
    orr_json_seconds(json, "behind_job_until_s", r->ahead_until_ms);
    for (int i = 0; i < EXPLAIN_ACTIONS; i++) {
        orr_json_text(json, actions[i], r->outcome_codes[i]);
    }
    if (!isnan(r->queue_share_gpus)) { /* reclaim's gate failed */
        orr_json_real(json, "queue_fair_share_gpus", r->queue_share_gpus);
        orr_json_real(json, "queue_quota_gpus", r->queue_quota_gpus);
        orr_json_real(json, "queue_held_gpus", r->queue_held_gpus);
    }
}

/* --- queues at a time --- */

void orr_explain__siblings(struct orr_results *in, int64_t queue, orr_ms at,
                           struct explain_siblings *siblings)
{
    const int64_t values[] = {queue, at};
    *siblings = (struct explain_siblings){.count = 0};
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__siblings, values, 2);
    while (orr_results_step(in, row)) {
        siblings->rows = ORR_ROOM_FOR_ONE(siblings->rows, siblings->count, siblings->capacity);
        siblings->rows[siblings->count++] =
            (struct explain_sibling){.name = orr_results_queue(in, row, 0),
                                     .quota_gpus = sqlite3_column_double(row, 1),
                                     .weight = sqlite3_column_double(row, 2),
                                     .limit_gpus = sqlite3_column_double(row, 3),
                                     .entitled_gpus = orr_explain__real(row, 4),
                                     .holds_gpus = sqlite3_column_double(row, 5),
                                     .jobs = sqlite3_column_int64(row, 6),
                                     .is_it = sqlite3_column_int(row, 7) != 0};
    }
}

#define SIBLING_NAME 24 /* columns of a queue's name */

void orr_explain__say_siblings(const struct explain_siblings *siblings, FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char **names = orr_arena_alloc(&arena, siblings->count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < siblings->count; i++) {
        names[i] = siblings->rows[i].name;
    }
    const char **shorts = orr_short_names(&arena, names, siblings->count, SIBLING_NAME);
    (void)fprintf(out, "   %-*s %8s %8s %8s %10s %8s %6s  %s\n", SIBLING_NAME, "queue", "quota",
                  "weight", "limit", "entitled", "holds", "jobs", "");
    for (uint32_t i = 0; i < siblings->count; i++) {
        const struct explain_sibling *s = &siblings->rows[i];
        char quota[24] = "all", bound[24] = "none", right[24] = "-";
        if (s->quota_gpus >= 0) {
            (void)snprintf(quota, sizeof quota, "%g", s->quota_gpus);
        }
        if (s->limit_gpus >= 0) {
            (void)snprintf(bound, sizeof bound, "%g", s->limit_gpus);
        }
        if (!isnan(s->entitled_gpus)) {
            (void)snprintf(right, sizeof right, "%.1f", s->entitled_gpus);
        }
        (void)fputs(s->is_it ? " > " : "   ", out);
        orr_pad(out, shorts[i], SIBLING_NAME);
        (void)fprintf(out, " %8s %8g %8s %10s %8g %6lld  %s\n", quota, s->weight, bound, right,
                      s->holds_gpus, (long long)s->jobs,
                      s->quota_gpus >= 0 && s->holds_gpus > s->quota_gpus ? "over its quota" : "");
    }
    orr_short_legend(out, "  ", names, shorts, siblings->count);
    orr_arena_release(&arena);
}

void orr_explain__json_siblings(const struct explain_siblings *siblings, struct orr_json *json)
{
    orr_json_open(json, "queues", '[');
    for (uint32_t i = 0; i < siblings->count; i++) {
        const struct explain_sibling *s = &siblings->rows[i];
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "queue", s->name);
        orr_json_bool(json, "is_it", s->is_it);
        orr_json_real(json, "quota_gpus", s->quota_gpus);
        orr_json_real(json, "weight", s->weight);
        orr_json_real(json, "limit_gpus", s->limit_gpus);
        orr_json_real(json, "entitled_gpus", s->entitled_gpus);
        orr_json_real(json, "holds_gpus", s->holds_gpus);
        orr_json_int(json, "jobs", s->jobs);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

/* --- sums of waits --- */

void orr_explain__waits(struct orr_results *in, const char *query, int64_t id, uint32_t most,
                        struct explain_waits *waits)
{
    const int64_t values[] = {id, most};
    *waits = (struct explain_waits){.count = 0};
    sqlite3_stmt *row = orr_explain__query(in, query, values, 2);
    while (orr_results_step(in, row)) {
        waits->rows = ORR_ROOM_FOR_ONE(waits->rows, waits->count, waits->capacity);
        waits->rows[waits->count++] = (struct explain_wait){.code = orr_results_text(in, row, 0),
                                                            .words = orr_results_text(in, row, 1),
                                                            .span_ms = sqlite3_column_int64(row, 2),
                                                            .jobs = sqlite3_column_int64(row, 3)};
    }
}

void orr_explain__json_waits(const struct explain_waits *waits, struct orr_json *json)
{
    orr_json_open(json, "waited", '[');
    for (uint32_t i = 0; i < waits->count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "reason", waits->rows[i].code);
        orr_json_text(json, "words", waits->rows[i].words);
        orr_json_int(json, "jobs", waits->rows[i].jobs);
        orr_json_seconds(json, "span_s", waits->rows[i].span_ms);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}
