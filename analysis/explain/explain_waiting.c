/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_waiting.c - who waits at a time, and why. */
#include "explain_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/names.h>
#include <orrery/base/sort.h>
#include <orrery/base/text.h>

enum { JOB_COLUMNS = 20, QUEUE_COLUMNS = 14 }; /* of names at least */

struct waiting {
    const char *name, *queue;
    double gpus;
    orr_ms from_ms, reason_ms; /* reason_ms: ORR_MS_NONE: no reason is known yet */
    const char *code, *words;  /* NULL: the same */
};

struct why { /* jobs that wait for one reason */
    const char *code, *words;
    uint32_t jobs;
    double gpus;
};

struct moment {
    const struct orr_results *in;
    orr_ms at_ms;
    char beside[90]; /* ", after the run, which ended at ..."; empty: it is within the run */
    struct explain_room room;
    struct waiting *jobs; /* the longest wait first */
    uint32_t count, capacity;
    struct why *whys; /* most GPUs first */
    uint32_t why_count, why_capacity;
    double gpus;
};

static void count_why(struct moment *m, const struct waiting *job)
{
    const char *code = job->code != NULL ? job->code : "none";
    uint32_t w = 0;
    while (w < m->why_count && strcmp(m->whys[w].code, code) != 0) {
        w++;
    }
    if (w == m->why_count) {
        m->whys = ORR_ROOM_FOR_ONE(m->whys, m->why_count, m->why_capacity);
        m->whys[m->why_count++] = (struct why){
            .code = code, .words = job->words != NULL ? job->words : EXPLAIN_NOT_LOOKED_AT};
    }
    m->whys[w].jobs++;
    m->whys[w].gpus += job->gpus;
}

static int by_gpus(const void *a, const void *b, void *context)
{
    const struct why *x = a, *y = b;
    (void)context;
    return x->gpus > y->gpus || x->gpus < y->gpus ? (x->gpus < y->gpus) - (x->gpus > y->gpus)
                                                  : strcmp(x->code, y->code);
}

static void read_waiting(struct orr_results *in, struct moment *m)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__waiting_at, &m->at_ms, 1);
    while (orr_results_step(in, row)) {
        m->jobs = ORR_ROOM_FOR_ONE(m->jobs, m->count, m->capacity);
        struct waiting *job = &m->jobs[m->count++];
        *job = (struct waiting){.name = orr_results_text(in, row, 0),
                                .queue = orr_results_queue(in, row, 1),
                                .gpus = sqlite3_column_double(row, 2),
                                .from_ms = sqlite3_column_int64(row, 3),
                                .reason_ms = orr_explain__time(row, 4),
                                .code = orr_explain__text(in, row, 5),
                                .words = orr_explain__text(in, row, 6)};
        m->gpus += job->gpus;
        count_why(m, job);
    }
    orr_sort(m->whys, m->why_count, sizeof *m->whys, by_gpus, NULL);
}

static void say_job(const struct moment *m, const struct waiting *job, FILE *out)
{
    char span[24];
    (void)fprintf(out, "%6g %10s  %s\n", job->gpus,
                  orr_explain__span(m->at_ms - job->from_ms, span),
                  job->code != NULL ? job->code : "-");
}

static void say_jobs(const struct moment *m, uint32_t shown, FILE *out)
{
    struct orr_arena arena;
    struct orr_name_column jobs = {.count = shown}, queues = {.count = shown};
    orr_arena_init(&arena);
    jobs.names = orr_arena_alloc(&arena, shown + (size_t)1, sizeof *jobs.names);
    queues.names = orr_arena_alloc(&arena, shown + (size_t)1, sizeof *queues.names);
    for (uint32_t i = 0; i < shown; i++) {
        jobs.names[i] = m->jobs[i].name;
        queues.names[i] = m->jobs[i].queue;
    }
    orr_name_column_of(&jobs, JOB_COLUMNS, &arena);
    orr_name_column_of(&queues, QUEUE_COLUMNS, &arena);
    (void)fprintf(out, "\n%-*s %-*s %6s %10s  %s\n", jobs.width, "job", queues.width, "queue",
                  "GPUs", "waits for", "reason");
    for (uint32_t i = 0; i < shown; i++) {
        orr_pad(out, jobs.shorts[i], jobs.width + 1);
        orr_pad(out, queues.shorts[i], queues.width + 1);
        say_job(m, &m->jobs[i], out);
    }
    orr_short_legend(out, "", jobs.names, jobs.shorts, shown);
    orr_short_legend(out, "", queues.names, queues.shorts, shown);
    orr_arena_release(&arena);
}

static void say(const struct moment *m, uint32_t most, FILE *out)
{
    char clock[40], asked[40], up[40];
    (void)fprintf(out, "At %s%s%s %u job%s wait%s for %s; %g of the %s that are up are free",
                  orr_results_when(m->in, m->at_ms, clock), m->beside,
                  m->beside[0] != '\0' ? "," : "", m->count, ORR_PLURAL(m->count),
                  ORR_ONE(m->count, "s", ""), orr_explain__gpus(m->gpus, asked), m->room.free_gpus,
                  orr_explain__gpus(m->room.up_gpus, up));
    orr_explain__say_models(&m->room, out);
    (void)fputs(".\n", out);
    for (uint32_t w = 0; w < m->why_count; w++) {
        (void)fprintf(out, "  %u job%s, %s: %s (%s)\n", m->whys[w].jobs,
                      ORR_PLURAL(m->whys[w].jobs), orr_explain__gpus(m->whys[w].gpus, asked),
                      m->whys[w].words, m->whys[w].code);
    }
    if (m->count == 0) {
        return;
    }
    const uint32_t shown = m->count < most ? m->count : most;
    say_jobs(m, shown, out);
    if (shown < m->count) {
        (void)fprintf(out, "%u more that wait for less time (--verbose)\n", m->count - shown);
    }
}

static void as_json(const struct moment *m, FILE *out)
{
    struct orr_json json = {.out = out};
    orr_json_open(&json, NULL, '{');
    orr_json_seconds(&json, "at_s", m->at_ms);
    orr_explain__json_room(&m->room, &json);
    orr_json_real(&json, "waiting_gpus", m->gpus);
    orr_json_open(&json, "reasons", '[');
    for (uint32_t w = 0; w < m->why_count; w++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "reason", m->whys[w].code);
        orr_json_text(&json, "words", m->whys[w].words);
        orr_json_int(&json, "jobs", m->whys[w].jobs);
        orr_json_real(&json, "gpus", m->whys[w].gpus);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "jobs", '[');
    for (uint32_t i = 0; i < m->count; i++) {
        const struct waiting *job = &m->jobs[i];
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "job", job->name);
        orr_json_text(&json, "queue", job->queue);
        orr_json_real(&json, "gpus", job->gpus);
        orr_json_seconds(&json, "waits_since_s", job->from_ms);
        orr_json_text(&json, "reason", job->code);
        orr_json_text(&json, "words", job->words);
        orr_json_seconds(&json, "since_s", job->reason_ms);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

enum orr_status orr_explain_waiting(const char *db_path, orr_ms at_ms, uint32_t most, bool json,
                                    FILE *out, struct orr_err *err)
{
    struct orr_results in;
    struct moment m = {.in = &in, .at_ms = at_ms};
    orr_results_open(&in, db_path, err);
    in.for_people = !json;
    if (in.status == ORR_OK) {
        read_waiting(&in, &m);
        orr_explain__room(&in, at_ms, &m.room);
        (void)orr_explain__beside_run(&in, at_ms, m.beside);
    }
    if (in.status == ORR_OK && json) {
        as_json(&m, out);
    } else if (in.status == ORR_OK) {
        say(&m, most, out);
    }
    orr_explain__room_release(&m.room);
    orr_free(m.jobs);
    orr_free(m.whys);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
