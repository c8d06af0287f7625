/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_replicas.c - a job whose pods come and go, a service above all: what it wanted, what it
 * had, when it was short of pods, and what became of its requests. */
#include "explain_int.h"

#include <orrery/base/text.h>
#include <math.h>

#define PARTS_MOST 12

/* A length of a part that people think in, such that there are not too many of them. */
static orr_ms part_length(orr_ms span)
{
    static const orr_ms minutes[] = {1, 5, 10, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080};
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++) {
        if (span <= minutes[i] * 60000 * PARTS_MOST) {
            return minutes[i] * 60000;
        }
    }
    return span / PARTS_MOST + 1;
}

struct level { /* between two changes */
    orr_ms from_ms, to_ms;
    int64_t wanted, had;
};

static void add_to_part(struct explain_replicas_part *part, const struct level *l)
{
    const orr_ms from = l->from_ms > part->from_ms ? l->from_ms : part->from_ms;
    const orr_ms to = l->to_ms < part->to_ms ? l->to_ms : part->to_ms;
    if (to <= from) {
        return;
    }
    if (!part->any) {
        part->wanted_least = part->wanted_most = l->wanted;
        part->had_least = part->had_most = l->had;
        part->any = true;
    }
    part->wanted_least = l->wanted < part->wanted_least ? l->wanted : part->wanted_least;
    part->wanted_most = l->wanted > part->wanted_most ? l->wanted : part->wanted_most;
    part->had_least = l->had < part->had_least ? l->had : part->had_least;
    part->had_most = l->had > part->had_most ? l->had : part->had_most;
    part->short_ms += l->wanted > l->had ? to - from : 0;
}

static bool is_longer(const struct explain_shortage *a, const struct explain_shortage *b)
{
    return a->to_ms - a->from_ms > b->to_ms - b->from_ms;
}

/* Among the longest so far; of equal ones the first. */
static void keep_shortage(struct explain_replicas *r, const struct explain_shortage *shortage)
{
    uint32_t at = r->shortage_count;
    while (at > 0 && is_longer(shortage, &r->shortages[at - 1])) {
        at--;
    }
    if (at >= EXPLAIN_SHORTAGES) {
        return;
    }
    r->shortage_count += r->shortage_count < EXPLAIN_SHORTAGES;
    for (uint32_t i = r->shortage_count - 1; i > at; i--) {
        r->shortages[i] = r->shortages[i - 1];
    }
    r->shortages[at] = *shortage;
}

/* Levels come in order and leave no gap: a shortage goes on as long as some are missing. */
static void add_level(struct explain_replicas *r, const struct level *l,
                      struct explain_shortage *open)
{
    const double length = (double)(l->to_ms - l->from_ms);
    const int64_t missing = l->wanted - l->had;
    r->wanted_mean += (double)l->wanted * length; /* divided at the end */
    r->had_mean += (double)l->had * length;
    for (uint32_t i = 0; i < r->part_count; i++) {
        add_to_part(&r->parts[i], l);
    }
    if (missing > 0) {
        if (open->to_ms == ORR_MS_NONE) {
            *open = (struct explain_shortage){.from_ms = l->from_ms};
            r->times_short++;
        }
        if (missing > open->wanted - open->had) {
            open->wanted = l->wanted;
            open->had = l->had;
        }
        open->to_ms = l->to_ms;
        r->short_ms += l->to_ms - l->from_ms;
    } else if (open->to_ms != ORR_MS_NONE) {
        keep_shortage(r, open);
        open->to_ms = ORR_MS_NONE;
    }
}

static void read_requests(struct orr_results *in, const struct explain_job *job,
                          struct explain_replicas *r)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__attainment, &job->id, 1);
    while (orr_results_step(in, row)) {
        r->requests = orr_explain__real(row, 0);
        r->attained = orr_explain__real(row, 1);
        r->late = orr_explain__real(row, 2);
        r->dropped = orr_explain__real(row, 3);
    }
}

void orr_explain__replicas(struct orr_results *in, const struct explain_job *job,
                           struct explain_replicas *r)
{
    struct explain_shortage open = {.to_ms = ORR_MS_NONE};
    const orr_ms end = job->end_ms != ORR_MS_NONE ? job->end_ms : job->run_end_ms;
    *r = (struct explain_replicas){.requests = (double)NAN};
    if (orr_results_int(in, orr_explain_sql__wanted_count, 0) == 0) {
        return;
    }
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__replicas, &job->id, 1);
    while (orr_results_step(in, row)) {
        const struct level l = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)};
        if (!r->given) {
            const orr_ms length = part_length(end - l.from_ms);
            r->given = true;
            r->from_ms = l.from_ms;
            r->parts = orr_zalloc(PARTS_MOST + 1, sizeof *r->parts);
            for (orr_ms at = l.from_ms; at < end && r->part_count <= PARTS_MOST; at += length) {
                r->parts[r->part_count++] = (struct explain_replicas_part){
                    .from_ms = at, .to_ms = at + length < end ? at + length : end};
            }
        }
        add_level(r, &l, &open);
        r->to_ms = l.to_ms;
    }
    if (open.to_ms != ORR_MS_NONE) {
        keep_shortage(r, &open);
    }
    if (r->to_ms > r->from_ms) {
        r->wanted_mean /= (double)(r->to_ms - r->from_ms);
        r->had_mean /= (double)(r->to_ms - r->from_ms);
    }
    read_requests(in, job, r);
}

/* --- as text --- */

static void say_shortages(const struct orr_results *in, const struct explain_replicas *r, FILE *out)
{
    char span[24], clock[40];
    if (r->times_short == 0) {
        (void)fputs("  It was never short of pods.\n", out);
        return;
    }
    (void)fprintf(out, "  It was short of pods %u time%s, %s in all, %.2f %% of the time%s:\n",
                  r->times_short, ORR_PLURAL(r->times_short), orr_explain__span(r->short_ms, span),
                  100.0 * (double)r->short_ms / (double)(r->to_ms - r->from_ms),
                  r->times_short > r->shortage_count ? "; longest" : "");
    for (uint32_t i = 0; i < r->shortage_count; i++) {
        const struct explain_shortage *s = &r->shortages[i];
        (void)fprintf(out, "    from %-19s for %-9s at worst it wanted %lld, had %lld\n",
                      orr_results_when(in, s->from_ms, clock),
                      orr_explain__span(s->to_ms - s->from_ms, span), (long long)s->wanted,
                      (long long)s->had);
    }
}

static const char *range(int64_t least, int64_t most, char out[48])
{
    if (least == most) {
        (void)snprintf(out, 48, "%lld", (long long)least);
    } else {
        (void)snprintf(out, 48, "%lld to %lld", (long long)least, (long long)most);
    }
    return out;
}

void orr_explain__say_replicas(const struct orr_results *in, const struct explain_replicas *r,
                               FILE *out)
{
    if (!r->given) {
        return;
    }
    (void)fprintf(out, "\n  Its pods come and go: it wanted %.2f on average and had %.2f.\n",
                  r->wanted_mean, r->had_mean);
    say_shortages(in, r, out);
    if (!isnan(r->requests)) {
        (void)fprintf(out,
                      "  Of %.0f requests from the window on %.3f %% were served within the "
                      "objective; %.0f were late, %.0f dropped.\n",
                      r->requests, 100 * r->attained, r->late, r->dropped);
    }
    (void)fprintf(out, "\n  %-20s %12s %12s %14s\n", "pods from", "wanted", "had", "short of them");
    for (uint32_t i = 0; i < r->part_count; i++) {
        const struct explain_replicas_part *p = &r->parts[i];
        char clock[40], wanted[48], had[48], span[24];
        (void)fprintf(out, "  %-20s %12s %12s %14s\n", orr_results_when(in, p->from_ms, clock),
                      range(p->wanted_least, p->wanted_most, wanted),
                      range(p->had_least, p->had_most, had),
                      p->short_ms > 0 ? orr_explain__span(p->short_ms, span) : "-");
    }
}

/* --- as JSON --- */

void orr_explain__json_replicas(const struct explain_replicas *r, struct orr_json *json)
{
    if (!r->given) {
        return;
    }
    orr_json_open(json, "replicas", '{');
    orr_json_real(json, "wanted_mean", r->wanted_mean);
    orr_json_real(json, "had_mean", r->had_mean);
    orr_json_int(json, "times_short", r->times_short);
    orr_json_seconds(json, "short_s", r->short_ms);
    orr_json_real(json, "requests", r->requests);
    orr_json_real(json, "attained", isnan(r->requests) ? (double)NAN : r->attained);
    orr_json_real(json, "late", isnan(r->requests) ? (double)NAN : r->late);
    orr_json_real(json, "dropped", isnan(r->requests) ? (double)NAN : r->dropped);
    orr_json_open(json, "longest_shortages", '[');
    for (uint32_t i = 0; i < r->shortage_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_seconds(json, "from_s", r->shortages[i].from_ms);
        orr_json_seconds(json, "to_s", r->shortages[i].to_ms);
        orr_json_int(json, "wanted", r->shortages[i].wanted);
        orr_json_int(json, "had", r->shortages[i].had);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "parts", '[');
    for (uint32_t i = 0; i < r->part_count; i++) {
        const struct explain_replicas_part *p = &r->parts[i];
        orr_json_open(json, NULL, '{');
        orr_json_seconds(json, "from_s", p->from_ms);
        orr_json_seconds(json, "to_s", p->to_ms);
        orr_json_int(json, "wanted_least", p->wanted_least);
        orr_json_int(json, "wanted_most", p->wanted_most);
        orr_json_int(json, "had_least", p->had_least);
        orr_json_int(json, "had_most", p->had_most);
        orr_json_seconds(json, "short_s", p->short_ms);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}
