/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_job.c - the story of one job. */
#include "explain_int.h"

#include <orrery/base/text.h>
#include <math.h>
#include <string.h>

#define BAR 72 /* characters of the line of time */

/* --- facts --- */

struct on_node {
    const char *node;
    double gpus;
};

struct start {    /* of an attempt, or of pods more while it runs */
    int64_t nr;   /* of the attempt; of pods more: when they came, in ms */
    int64_t pods; /* of pods more */
    int64_t back; /* as many of these were lost before, without those that came back */
    struct on_node *nodes;
    uint32_t node_count, node_capacity;
};

struct eviction {
    const char *cause, *for_job, *for_queue; /* for whose sake; NULL: nobody's */
    int64_t pods, moved; /* moved: of these, to another place by the same decision */
    bool whole;
    int used; /* whether who it was for took some of the room; -1: not known */
    orr_ms grace_ms;
};

struct event { /* what happened to the job, at a time */
    orr_ms at_ms;
    /* submitted, eligible, started, grew, evicted, suspended, resumed, waits, left, ended */
    const char *what;
    struct start start;
    struct eviction eviction;
    struct explain_reason reason;
};

struct attempt {
    orr_ms start_ms, end_ms; /* to the end of the run when it ran then */
    bool cut;                /* evicted */
};

struct pace {
    double rate, best, gpus;
    int64_t nodes;
    const char *extent;
    orr_ms span_ms;
};

struct gpu_hours { /* what became of the GPU time it held */
    bool given;
    double useful, lost, overhead, waiting, slow, idle;
};

#define PASSERS 5 /* told of one by one */

struct passed { /* by jobs that came later and started sooner */
    int64_t jobs;
    double gpus;
    struct passer {
        const char *job, *queue;
        double gpus;
    } most[PASSERS];
    uint32_t count;
};

struct story {
    const struct orr_results *in;
    struct explain_job job;
    const char *never; /* why it never could have started; NULL: it could have */
    struct event *events;
    struct attempt *attempts;
    struct pace *paces;
    uint32_t event_count, event_capacity, attempt_count, attempt_capacity, pace_count,
        pace_capacity;
    struct explain_waits waits;
    struct stages { /* of all its waits, where admission is not placement (kueue) */
        bool given;
        orr_ms quota_ms, place_ms, apart_ms;
    } stages;
    struct explain_replicas replicas;
    struct gpu_hours hours;
    struct passed passed;
};

/* `sql` is orr_explain_sql__start with the nr of an attempt, or __grown with a time. */
static void read_start(struct orr_results *in, const char *sql, int64_t job, int64_t nr,
                       struct start *start)
{
    const int64_t values[] = {job, nr};
    sqlite3_stmt *row = orr_explain__query(in, sql, values, 2);
    start->nr = nr;
    while (orr_results_step(in, row)) {
        start->nodes = ORR_ROOM_FOR_ONE(start->nodes, start->node_count, start->node_capacity);
        start->nodes[start->node_count++] = (struct on_node){.node = orr_results_text(in, row, 0),
                                                             .gpus = sqlite3_column_double(row, 1)};
        start->pods += sqlite3_column_count(row) > 2 ? sqlite3_column_int64(row, 2) : 0;
    }
}

static void read_eviction(struct orr_results *in, int64_t id, struct eviction *eviction)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__eviction, &id, 1);
    while (orr_results_step(in, row)) {
        const bool judged = sqlite3_column_type(row, 5) != SQLITE_NULL;
        *eviction = (struct eviction){.cause = orr_results_text(in, row, 0),
                                      .for_job = orr_explain__text(in, row, 1),
                                      .for_queue = orr_results_queue(in, row, 2),
                                      .pods = sqlite3_column_int64(row, 3),
                                      .whole = sqlite3_column_int(row, 4) != 0,
                                      .used = judged ? sqlite3_column_int(row, 5) != 0 : -1,
                                      .grace_ms = sqlite3_column_int64(row, 6),
                                      .moved = sqlite3_column_int64(row, 7)};
    }
}

static void read_suspension(struct orr_results *in, int64_t id, struct eviction *eviction)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__suspension, &id, 1);
    while (orr_results_step(in, row)) {
        *eviction = (struct eviction){.for_job = orr_explain__text(in, row, 0),
                                      .for_queue = orr_results_queue(in, row, 1)};
    }
}

static void read_reason(struct orr_results *in, int64_t id, struct explain_reason *reason)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__reason, &id, 1);
    while (orr_results_step(in, row)) {
        orr_explain__reason(in, row, 0, reason);
    }
}

static void read_events(struct orr_results *in, struct story *story)
{
    int64_t lost = 0; /* pods of the attempt that have not come back */
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__events, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        const int64_t id = sqlite3_column_int64(row, 2);
        story->events = ORR_ROOM_FOR_ONE(story->events, story->event_count, story->event_capacity);
        struct event *event = &story->events[story->event_count++];
        *event = (struct event){.at_ms = sqlite3_column_int64(row, 0),
                                .what = orr_results_text(in, row, 1)};
        if (strcmp(event->what, "started") == 0) {
            read_start(in, orr_explain_sql__start, story->job.id, id, &event->start);
            lost = 0;
        } else if (strcmp(event->what, "grew") == 0) {
            struct start *more = &event->start;
            read_start(in, orr_explain_sql__grown, story->job.id, id, more);
            more->back = more->pods < lost ? more->pods : lost;
            lost -= more->back;
        } else if (strcmp(event->what, "evicted") == 0) {
            read_eviction(in, id, &event->eviction);
            lost = event->eviction.whole ? 0 : lost + event->eviction.pods;
        } else if (strcmp(event->what, "suspended") == 0) {
            read_suspension(in, id, &event->eviction);
        } else if (strcmp(event->what, "waits") == 0) {
            read_reason(in, id, &event->reason);
        }
    }
}

static void read_never(struct orr_results *in, struct story *story)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__never, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        story->never = orr_results_text(in, row, 0);
    }
}

static void read_attempts(struct orr_results *in, struct story *story)
{
    const int64_t values[] = {story->job.id, story->job.run_end_ms};
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__attempts, values, 2);
    while (orr_results_step(in, row)) {
        story->attempts =
            ORR_ROOM_FOR_ONE(story->attempts, story->attempt_count, story->attempt_capacity);
        story->attempts[story->attempt_count++] =
            (struct attempt){.start_ms = sqlite3_column_int64(row, 0),
                             .end_ms = sqlite3_column_int64(row, 1),
                             .cut = sqlite3_column_int(row, 2) != 0};
    }
}

static bool is_any(const char *code, const char *const *codes)
{
    while (*codes != NULL && strcmp(*codes, code) != 0) {
        codes++;
    }
    return *codes != NULL;
}

/* Time in which it held quota and lacked a place, time in which it could not be queued, and the
 * rest: it waited for quota, or behind others of its queue. */
static void read_stages(struct orr_results *in, struct story *story)
{
    static const char *const placed[] = {
        "fragmented", "no-capacity",    "gang-partial", "constrained", "topology",   "flavor-nodes",
        "node-types", "assigned-nodes", "promised",     "pod-slots",   "cpu-memory", NULL};
    static const char *const apart[] = {"backoff",   "dependency",  "not-eligible", "requeue-delay",
                                        "cancelled", "deactivated", "JobHeldUser",  NULL};
    struct stages *stages = &story->stages;
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__pending_of_job, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        stages->given = sqlite3_column_type(row, 0) != SQLITE_NULL;
        stages->quota_ms = sqlite3_column_int64(row, 0);
    }
    for (uint32_t i = 0; i < story->waits.count; i++) {
        const struct explain_wait *wait = &story->waits.rows[i];
        stages->place_ms += is_any(wait->code, placed) ? wait->span_ms : 0;
        stages->apart_ms += is_any(wait->code, apart) ? wait->span_ms : 0;
    }
    stages->quota_ms -= stages->place_ms + stages->apart_ms;
    stages->quota_ms = stages->quota_ms > 0 ? stages->quota_ms : 0;
}

static void read_sums(struct orr_results *in, struct story *story)
{
    orr_explain__waits(in, orr_explain_sql__waits_of_job, story->job.id, 100, &story->waits);
    read_stages(in, story);
    /* as v_rates, of one job only and in ids */
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__paces, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        story->paces = ORR_ROOM_FOR_ONE(story->paces, story->pace_count, story->pace_capacity);
        story->paces[story->pace_count++] = (struct pace){.rate = sqlite3_column_double(row, 0),
                                                          .best = sqlite3_column_double(row, 1),
                                                          .gpus = sqlite3_column_double(row, 2),
                                                          .nodes = sqlite3_column_int64(row, 3),
                                                          .extent = orr_results_text(in, row, 4),
                                                          .span_ms = sqlite3_column_int64(row, 5)};
    }
    row = orr_explain__query(in, orr_explain_sql__gpu_hours, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        const double hour = 3600.0 * 1000 * ORR_MGPU;
        story->hours = (struct gpu_hours){.given = true,
                                          .useful = sqlite3_column_double(row, 0) / hour,
                                          .lost = sqlite3_column_double(row, 1) / hour,
                                          .overhead = sqlite3_column_double(row, 2) / hour,
                                          .waiting = sqlite3_column_double(row, 3) / hour,
                                          .slow = sqlite3_column_double(row, 4) / hour,
                                          .idle = sqlite3_column_double(row, 5) / hour};
    }
}

static void read_passed(struct orr_results *in, struct story *story)
{
    struct passed *p = &story->passed;
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__passed, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        p->jobs = sqlite3_column_int64(row, 0);
        p->gpus = sqlite3_column_double(row, 1);
    }
    row = orr_explain__query(in, orr_explain_sql__passed_most, &story->job.id, 1);
    while (orr_results_step(in, row)) {
        if (p->count < PASSERS) {
            p->most[p->count++] = (struct passer){.job = orr_results_text(in, row, 0),
                                                  .queue = orr_results_queue(in, row, 1),
                                                  .gpus = sqlite3_column_double(row, 2)};
        }
    }
}

static void release(struct story *story)
{
    for (uint32_t i = 0; i < story->event_count; i++) {
        orr_free(story->events[i].start.nodes);
    }
    orr_free(story->events);
    orr_free(story->attempts);
    orr_free(story->paces);
    orr_free(story->waits.rows);
    orr_free(story->replicas.parts);
}

/* --- as text --- */

static void say_nodes(const struct start *start, FILE *out)
{
    const uint32_t shown = start->node_count < 6 ? start->node_count : 6;
    for (uint32_t n = 0; n < shown; n++) {
        (void)fprintf(out, "%s %s (%g)", n > 0 ? "," : "", start->nodes[n].node,
                      start->nodes[n].gpus);
    }
    if (start->node_count > shown) {
        (void)fprintf(out, " and %u more node%s", start->node_count - shown,
                      ORR_PLURAL(start->node_count - shown));
    }
}

static void say_pods(int64_t pods, FILE *out)
{
    (void)fprintf(out, "%lld pod%s", (long long)pods, ORR_PLURAL(pods));
}

static void say_grown(const struct start *start, FILE *out)
{
    if (start->back > 0) {
        say_pods(start->back, out);
        (void)fprintf(out, " %s back", ORR_ONE(start->back, "comes", "come"));
    }
    if (start->pods > start->back) {
        (void)fputs(start->back > 0 ? " and it gets " : "gets ", out);
        say_pods(start->pods - start->back, out);
        (void)fputs(" more", out);
    }
    (void)fputs(", on", out);
    say_nodes(start, out);
}

static void say_eviction(const struct eviction *e, FILE *out)
{
    char grace[24];
    if (e->whole) {
        (void)fprintf(out, "is evicted (%s)", e->cause);
    } else {
        (void)fputs("loses ", out);
        say_pods(e->pods, out);
        (void)fprintf(out, " (%s)", e->cause);
    }
    if (e->moved > 0) {
        (void)fputs(", of which ", out);
        say_pods(e->moved, out);
        (void)fprintf(out, " %s another place at once", ORR_ONE(e->moved, "gets", "get"));
    }
    if (e->for_job != NULL) {
        (void)fprintf(out, " for job %s of %s%s", e->for_job,
                      e->for_queue != NULL ? e->for_queue : "?",
                      e->used < 0    ? ", for which the run ended too soon"
                      : e->used != 0 ? ", which took its place"
                                     : ", which did not take its place: for nothing");
    }
    if (e->grace_ms > 0) {
        (void)fprintf(out, "; its GPUs are free %s later", orr_explain__span(e->grace_ms, grace));
    }
}

static void say_suspension(const struct eviction *e, FILE *out)
{
    (void)fputs("is suspended: it keeps its place, and gives its CPUs", out);
    if (e->for_job != NULL) {
        (void)fprintf(out, " to job %s of %s", e->for_job,
                      e->for_queue != NULL ? e->for_queue : "?");
    }
}

static void say_event(const struct explain_job *job, const struct event *event, FILE *out)
{
    if (strcmp(event->what, "submitted") == 0) {
        (void)fputs("is submitted", out);
    } else if (strcmp(event->what, "eligible") == 0) {
        (void)fputs("may be considered from now on", out);
    } else if (strcmp(event->what, "started") == 0) {
        (void)fputs(event->start.nr > 1 ? "starts again on" : "starts on", out);
        say_nodes(&event->start, out);
    } else if (strcmp(event->what, "grew") == 0) {
        say_grown(&event->start, out);
    } else if (strcmp(event->what, "evicted") == 0) {
        say_eviction(&event->eviction, out);
    } else if (strcmp(event->what, "suspended") == 0) {
        say_suspension(&event->eviction, out);
    } else if (strcmp(event->what, "resumed") == 0) {
        (void)fputs("goes on where it was", out);
    } else if (strcmp(event->what, "waits") == 0) {
        (void)fputs("waits: ", out);
        orr_explain__say_reason(job, &event->reason, out);
    } else if (strcmp(event->what, "left") == 0) {
        (void)fputs("leaves: it has waited as long as it was ready to", out);
    } else if (strcmp(event->what, "refused") == 0) {
        (void)fputs("leaves: it was refused", out);
    } else {
        (void)fputs("ends", out);
    }
}

static void say_row(const struct story *story, uint32_t i, FILE *out)
{
    const struct event *event = &story->events[i];
    const orr_ms before = i > 0 ? story->events[i - 1].at_ms : event->at_ms;
    char clock[40], later[24] = "";
    if (event->at_ms > before) {
        (void)orr_explain__span(event->at_ms - before, later);
    }
    (void)fprintf(out, "  %-20s %s%-9s ", orr_results_when(story->in, event->at_ms, clock),
                  later[0] != '\0' ? "+" : " ", later);
    say_event(&story->job, event, out);
    (void)fputc('\n', out);
}

static uint32_t count_waits(const struct story *story, uint32_t first)
{
    uint32_t end = first;
    while (end < story->event_count && strcmp(story->events[end].what, "waits") == 0) {
        end++;
    }
    return end - first;
}

enum { WAITS_IN_FULL = 20, WAITS_FIRST = 8, WAITS_LAST = 2 };

/* Reasons may take turns each second for days, as where two jobs of kueue preempt each other: of so
 * many in a row the first and the last are printed, and the sums below are of all. */
static void say_events(const struct story *story, FILE *out)
{
    for (uint32_t i = 0; i < story->event_count;) {
        const uint32_t waits = count_waits(story, i), rows = waits > 0 ? waits : 1;
        for (uint32_t r = 0; r < rows; r++) {
            if (waits > WAITS_IN_FULL && r == WAITS_FIRST) {
                r = rows - WAITS_LAST;
                (void)fprintf(out, "  %-20s            its reason changes %u times more\n", "..",
                              (unsigned)(rows - WAITS_FIRST - WAITS_LAST));
            }
            say_row(story, i + r, out);
        }
        i += rows;
    }
}

static void say_passed(const struct passed *p, FILE *out)
{
    if (p->jobs == 0) {
        return;
    }
    char gpus[40];
    (void)fprintf(out, "  passed by %lld job%s of %s in all that came later: ", (long long)p->jobs,
                  ORR_PLURAL(p->jobs), orr_explain__gpus(p->gpus, gpus));
    for (uint32_t i = 0; i < p->count; i++) {
        (void)fprintf(out, "%s%s of %s (%g)",
                      i > 0               ? ", "
                      : p->jobs > PASSERS ? "the largest "
                                          : "",
                      p->most[i].job, p->most[i].queue, p->most[i].gpus);
    }
    (void)fputc('\n', out);
}

static void say_stages(const struct stages *stages, FILE *out)
{
    char quota[24], place[24], apart[24];
    if (stages->given && stages->quota_ms + stages->place_ms + stages->apart_ms > 0) {
        (void)fprintf(
            out, "  in all %s for quota, %s for a place once admitted, %s in backoff or held\n",
            orr_explain__span(stages->quota_ms, quota), orr_explain__span(stages->place_ms, place),
            orr_explain__span(stages->apart_ms, apart));
    }
}

/* What it waited for, the longest first. */
static void say_sums(const struct story *story, FILE *out)
{
    char span[24];
    for (uint32_t i = 0; i < story->waits.count; i++) {
        (void)fprintf(out, "  waited %-9s because %s\n",
                      orr_explain__span(story->waits.rows[i].span_ms, span),
                      story->waits.rows[i].words);
    }
    say_stages(&story->stages, out);
    for (uint32_t i = 0; i < story->pace_count; i++) {
        const struct pace *p = &story->paces[i];
        (void)fprintf(out,
                      "  ran %-9s at %.3f of its profile's reference (at best %.3f): %g GPU%s on "
                      "%lld node%s, within one %s\n",
                      orr_explain__span(p->span_ms, span), p->rate, p->best, p->gpus,
                      ORR_PLURAL(p->gpus), (long long)p->nodes, ORR_PLURAL(p->nodes), p->extent);
    }
    if (story->hours.given) {
        const struct gpu_hours *h = &story->hours;
        (void)fprintf(out,
                      "  of its GPU-hours %.2f were useful, %.2f lost to evictions and failures, "
                      "%.2f spent on checkpoints and restarts, %.2f held while the gang waited; "
                      "of the useful %.2f went by slowly and %.2f idle\n",
                      h->useful, h->lost, h->overhead, h->waiting, h->slow, h->idle);
    }
}

/* One line: '.' it waits, '#' it runs, 'x' it is evicted in that part. */
static void draw_time(const struct story *story, FILE *out)
{
    const struct explain_job *job = &story->job;
    const orr_ms from = job->submit_ms;
    const orr_ms to = job->end_ms != ORR_MS_NONE ? job->end_ms : job->run_end_ms;
    char bar[BAR + 1], first[40], last[40];
    if (to <= from) {
        return;
    }
    memset(bar, '.', BAR);
    bar[BAR] = '\0';
    for (uint32_t i = 0; i < story->attempt_count; i++) {
        orr_ms a = (story->attempts[i].start_ms - from) * BAR / (to - from);
        orr_ms b = (story->attempts[i].end_ms - from) * BAR / (to - from);
        a = a < 0 ? 0 : a >= BAR ? BAR - 1 : a;
        b = b <= a ? a + 1 : b > BAR ? BAR : b;
        memset(bar + a, '#', (size_t)(b - a));
        if (story->attempts[i].cut) {
            bar[b - 1] = 'x';
        }
    }
    (void)fprintf(out, "  %s\n  %-36s%36s\n  . waits   # runs   x is evicted\n", bar,
                  orr_results_when(story->in, from, first), orr_results_when(story->in, to, last));
}

static void say(const struct story *story, FILE *out)
{
    orr_explain__say_job(&story->job, out);
    say_events(story, out);
    if (story->job.start_ms == ORR_MS_NONE) {
        (void)fputs("  It never started.\n", out);
        if (story->never != NULL && strstr(story->never, "refused at submit") == NULL) {
            (void)fprintf(out, "  It never could have, were the cluster empty: %s\n", story->never);
        }
    }
    orr_explain__say_replicas(story->in, &story->replicas, out);
    (void)fputc('\n', out);
    say_sums(story, out);
    say_passed(&story->passed, out);
    (void)fputc('\n', out);
    draw_time(story, out);
}

/* --- as JSON --- */

static void json_nodes(const struct start *start, struct orr_json *json)
{
    orr_json_open(json, "nodes", '[');
    for (uint32_t n = 0; n < start->node_count; n++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "node", start->nodes[n].node);
        orr_json_real(json, "gpus", start->nodes[n].gpus);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_eviction(const struct eviction *e, struct orr_json *json)
{
    orr_json_text(json, "cause", e->cause);
    orr_json_int(json, "pods", e->pods);
    orr_json_int(json, "moved", e->moved);
    orr_json_bool(json, "whole", e->whole);
    orr_json_text(json, "for_job", e->for_job);
    orr_json_text(json, "for_queue", e->for_queue);
    if (e->used < 0) {
        orr_json_text(json, "used", NULL);
    } else {
        orr_json_bool(json, "used", e->used != 0);
    }
    orr_json_seconds(json, "grace_s", e->grace_ms);
}

static void json_events(const struct story *story, struct orr_json *json)
{
    orr_json_open(json, "story", '[');
    for (uint32_t i = 0; i < story->event_count; i++) {
        const struct event *event = &story->events[i];
        orr_json_open(json, NULL, '{');
        orr_json_seconds(json, "at_s", event->at_ms);
        orr_json_text(json, "event", event->what);
        if (strcmp(event->what, "started") == 0) {
            orr_json_int(json, "attempt", event->start.nr);
            json_nodes(&event->start, json);
        } else if (strcmp(event->what, "grew") == 0) {
            orr_json_int(json, "pods", event->start.pods);
            orr_json_int(json, "back", event->start.back);
            json_nodes(&event->start, json);
        } else if (strcmp(event->what, "evicted") == 0) {
            json_eviction(&event->eviction, json);
        } else if (strcmp(event->what, "suspended") == 0) {
            orr_json_text(json, "for_job", event->eviction.for_job);
            orr_json_text(json, "for_queue", event->eviction.for_queue);
        } else if (strcmp(event->what, "waits") == 0) {
            orr_explain__json_reason(&event->reason, json);
        }
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}

static void json_passed(const struct passed *p, struct orr_json *json)
{
    orr_json_open(json, "passed_by", '{');
    orr_json_int(json, "jobs", p->jobs);
    orr_json_real(json, "gpus", p->gpus);
    orr_json_open(json, "largest", '[');
    for (uint32_t i = 0; i < p->count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "job", p->most[i].job);
        orr_json_text(json, "queue", p->most[i].queue);
        orr_json_real(json, "gpus", p->most[i].gpus);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

/* null where quota and place are not waited for apart. */
static void json_stages(const struct stages *stages, struct orr_json *json)
{
    const char *const keys[] = {"quota_wait_s", "place_wait_s", "held_wait_s"};
    const orr_ms spans[] = {stages->quota_ms, stages->place_ms, stages->apart_ms};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (stages->given) {
            orr_json_seconds(json, keys[i], spans[i]);
        } else {
            orr_json_text(json, keys[i], NULL);
        }
    }
}

static void json_sums(const struct story *story, struct orr_json *json)
{
    orr_explain__json_waits(&story->waits, json);
    json_stages(&story->stages, json);
    orr_json_open(json, "attempts", '[');
    for (uint32_t i = 0; i < story->attempt_count; i++) {
        orr_json_open(json, NULL, '{');
        orr_json_seconds(json, "from_s", story->attempts[i].start_ms);
        orr_json_seconds(json, "to_s", story->attempts[i].end_ms);
        orr_json_bool(json, "evicted", story->attempts[i].cut);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_open(json, "rates", '[');
    for (uint32_t i = 0; i < story->pace_count; i++) {
        const struct pace *p = &story->paces[i];
        orr_json_open(json, NULL, '{');
        orr_json_real(json, "rate", p->rate);
        orr_json_real(json, "best_rate", p->best);
        orr_json_int(json, "nodes", p->nodes);
        orr_json_text(json, "extent", p->extent);
        orr_json_real(json, "gpus", p->gpus);
        orr_json_seconds(json, "span_s", p->span_ms);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    const struct gpu_hours *h = &story->hours;
    orr_json_real(json, "useful_gpu_h", h->given ? h->useful : (double)NAN);
    orr_json_real(json, "lost_gpu_h", h->given ? h->lost : (double)NAN);
    orr_json_real(json, "overhead_gpu_h", h->given ? h->overhead : (double)NAN);
    orr_json_real(json, "gang_waits_gpu_h", h->given ? h->waiting : (double)NAN);
    orr_json_real(json, "slow_gpu_h", h->given ? h->slow : (double)NAN);
    orr_json_real(json, "idle_gpu_h", h->given ? h->idle : (double)NAN);
}

static void as_json(const struct story *story, FILE *out)
{
    const struct explain_job *job = &story->job;
    struct orr_json json = {.out = out};
    orr_json_open(&json, NULL, '{');
    orr_explain__json_job(job, &json);
    orr_json_text(&json, "state", job->state);
    orr_json_int(&json, "evictions", job->evictions);
    orr_json_seconds(&json, "waits_from_s", job->submit_ms);
    orr_json_seconds(&json, "start_s", job->start_ms);
    orr_json_seconds(&json, "end_s", job->end_ms);
    orr_json_seconds(&json, "wait_s",
                     job->start_ms != ORR_MS_NONE ? job->start_ms - job->submit_ms : ORR_MS_NONE);
    orr_json_text(&json, "never_startable", story->never);
    json_events(story, &json);
    orr_explain__json_replicas(&story->replicas, &json);
    json_sums(story, &json);
    json_passed(&story->passed, &json);
    orr_json_close(&json, '}');
}

enum orr_status orr_explain_job(const char *db_path, const char *name, bool json, FILE *out,
                                struct orr_err *err)
{
    struct orr_results in;
    struct story story = {.in = &in};
    orr_results_open(&in, db_path, err);
    in.for_people = !json;
    if (orr_explain__job(&in, name, &story.job)) {
        read_events(&in, &story);
        read_never(&in, &story);
        read_attempts(&in, &story);
        read_sums(&in, &story);
        read_passed(&in, &story);
        orr_explain__replicas(&in, &story.job, &story.replicas);
    }
    if (in.status == ORR_OK && json) {
        as_json(&story, out);
    } else if (in.status == ORR_OK) {
        say(&story, out);
    }
    release(&story);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
