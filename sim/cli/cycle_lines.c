/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cycle_lines.h"

#include <string.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>

/* --- which cycles --- */

struct end {
    bool is_time;
    uint64_t cycle;
    orr_ms at_ms;
};

static bool parse_end(const char *text, size_t bytes, orr_ms origin_ms, struct end *end)
{
    int64_t cycle;
    *end = (struct end){0};
    if (orr_parse_i64(text, bytes, &cycle)) {
        end->cycle = cycle > 0 ? (uint64_t)cycle : 0;
        return cycle > 0;
    }
    end->is_time = true;
    return orr_parse_clock(text, bytes, origin_ms, &end->at_ms);
}

/* One that is left out is that of the other. */
static bool parse_range(const char *range, orr_ms origin_ms, struct end ends[2])
{
    const char *between = strstr(range, "..");
    const size_t first = between != NULL ? (size_t)(between - range) : strlen(range);
    const char *last = between != NULL ? between + 2 : range;
    return parse_end(range, first, origin_ms, &ends[0]) &&
           parse_end(last, strlen(last), origin_ms, &ends[1]);
}

bool orr_cycle_lines_is_range(const char *range)
{
    struct end ends[2];
    /* whether there is a calendar is known later */
    return parse_range(range, 0, ends) &&
           (ends[0].is_time != ends[1].is_time ||
            (ends[0].is_time ? ends[0].at_ms <= ends[1].at_ms : ends[0].cycle <= ends[1].cycle));
}

/* --- lines --- */

static struct orr_json *open_line(struct orr_cycle_lines *lines, const char *event)
{
    struct orr_json *json = &lines->json;
    orr_json_open(json, NULL, '{');
    orr_json_int(json, "cycle", (int64_t)lines->cycle);
    orr_json_seconds(json, "at_s", lines->now);
    orr_json_text(json, "event", event);
    return json;
}

static void put_job(struct orr_cycle_lines *lines, const char *key, uint32_t job)
{
    char name[512];
    orr_json_text(&lines->json, key,
                  job == ORR_NONE ? NULL
                                  : orr_world_job_name(lines->world, job, name, sizeof name));
}

static const char *queue_of(const struct orr_cycle_lines *lines, uint32_t job)
{
    const struct orr_queues *queues = &lines->world->queues;
    return orr_idmap_name(&queues->names, lines->world->specs[job].queue);
}

static void begin(void *context, uint64_t cycle, orr_ms now, const struct orr_ledger *ledger)
{
    struct orr_cycle_lines *lines = context;
    lines->cycle = cycle;
    lines->now = now;
    lines->ledger = ledger;
    lines->placed_count = 0;
    struct orr_json *json = open_line(lines, "cycle");
    orr_json_int(json, "waiting", ledger->pending_jobs);
    orr_json_int(json, "running", ledger->running_jobs);
    orr_json_close(json, '}');
}

/* Victims job by job: pods of one job stand next to each other or not. */
static void put_victims(struct orr_cycle_lines *lines, const struct orr_look *look)
{
    struct orr_json *json = &lines->json;
    orr_json_open(json, "victims", '[');
    for (uint32_t i = 0; i < look->victim_count; i++) {
        uint32_t pods = 0, before = 0;
        for (uint32_t k = 0; k < look->victim_count; k++) {
            const bool same = look->victims[k] == look->victims[i];
            pods += same;
            before += same && k < i;
        }
        if (before == 0) {
            orr_json_open(json, NULL, '{');
            put_job(lines, "job", look->victims[i]);
            orr_json_text(json, "queue", queue_of(lines, look->victims[i]));
            orr_json_int(json, "pods", pods);
            orr_json_close(json, '}');
        }
    }
    orr_json_close(json, ']');
}

/* By what number a job stood in line, and when and where it is to start. */
static void put_plan(struct orr_cycle_lines *lines, const struct orr_look *look)
{
    struct orr_json *json = &lines->json;
    if (look->priority != NULL) {
        orr_json_int(json, "priority", *look->priority);
    }
    if (look->planned_ms != NULL) {
        orr_json_seconds(json, "planned_s", *look->planned_ms);
        orr_json_open(json, "nodes", '[');
        for (uint32_t n = 0; n < look->node_count; n++) {
            orr_json_text(json, NULL,
                          orr_idmap_name(&lines->world->cluster.node_names, look->nodes[n]));
        }
        orr_json_close(json, ']');
    }
}

static void look(void *context, const struct orr_look *look)
{
    static const char *const events[] = {[ORR_LOOK_ACTION] = "action",
                                         [ORR_LOOK_JOB] = "job",
                                         [ORR_LOOK_ALIKE] = "alike",
                                         [ORR_LOOK_SCENARIO] = "scenario"};
    struct orr_cycle_lines *lines = context;
    struct orr_json *json = open_line(lines, events[look->kind]);
    orr_json_text(json, "action", look->action);
    if (look->kind != ORR_LOOK_ACTION) {
        put_job(lines, "job", look->job);
        orr_json_text(json, "queue", look->job != ORR_NONE ? queue_of(lines, look->job) : NULL);
        if (look->kind == ORR_LOOK_ALIKE) {
            orr_json_int(json, "jobs", look->jobs);
        }
        if (look->kind == ORR_LOOK_SCENARIO) {
            orr_json_int(json, "pods", look->pods);
            put_victims(lines, look);
        }
        orr_json_text(json, "result", look->result);
        orr_json_text(json, "why", look->why);
        if (look->kind == ORR_LOOK_JOB) {
            orr_json_int(json, "scenarios", (int64_t)look->scenarios);
            orr_json_int(json, "refuted", (int64_t)look->refuted);
            put_plan(lines, look);
        }
    }
    orr_json_close(json, '}');
}

static bool is_new(const struct orr_cycle_lines *lines, const struct orr_placement *placement)
{
    return placement->since_ms == lines->now;
}

/* Of the pods of a job that this cycle placed, so many stand in lines before; these come on top. */
static uint32_t placed_before(struct orr_cycle_lines *lines, uint32_t job, uint32_t tasks)
{
    uint32_t i = 0;
    while (i < lines->placed_count && lines->placed[i].job != job) {
        i++;
    }
    if (i == lines->placed_count) {
        lines->placed =
            ORR_ROOM_FOR_ONE(lines->placed, lines->placed_count, lines->placed_capacity);
        lines->placed[lines->placed_count++] = (struct orr_cycle_placed){.job = job};
    }
    const uint32_t before = lines->placed[i].tasks;
    lines->placed[i].tasks += tasks;
    return before;
}

/* Where the pods are that a decision placed. The list of a job's placements begins with the newest,
 * and may have those of other decisions of the cycle. */
static void put_nodes(struct orr_cycle_lines *lines, const struct orr_txn_decision *d)
{
    const struct orr_placement *all = lines->ledger->placements;
    const uint32_t newest = lines->ledger->jobs[d->job].placement;
    struct orr_json *json = &lines->json;
    uint32_t in_cycle = 0, tasks = 0;
    for (uint32_t p = newest; p != ORR_NONE; p = all[p].next) {
        in_cycle += is_new(lines, &all[p]) ? all[p].tasks : 0;
    }
    const uint32_t later =
        in_cycle > d->tasks ? in_cycle - d->tasks - placed_before(lines, d->job, d->tasks) : 0;
    orr_json_open(json, "nodes", '[');
    for (uint32_t p = newest; p != ORR_NONE; p = all[p].next) {
        const bool here = is_new(lines, &all[p]) && tasks >= later && tasks < later + d->tasks;
        for (uint32_t n = 0; here && n <= all[p].more_nodes; n++) {
            orr_json_text(json, NULL,
                          orr_idmap_name(&lines->world->cluster.node_names, all[p].node + n));
        }
        tasks += is_new(lines, &all[p]) ? all[p].tasks : 0;
    }
    orr_json_close(json, ']');
}

static void decided(void *context, const struct orr_txn_decision *d)
{
    static const char *const deeds[] = {
        [ORR_DEED_START] = "start",   [ORR_DEED_HOLD] = "hold",   [ORR_DEED_GROW] = "grow",
        [ORR_DEED_SHRINK] = "shrink", [ORR_DEED_EVICT] = "evict", [ORR_DEED_SUSPEND] = "suspend",
        [ORR_DEED_RESUME] = "resume"};
    struct orr_cycle_lines *lines = context;
    struct orr_json *json = open_line(lines, deeds[d->deed]);
    const bool takes = d->deed == ORR_DEED_SHRINK || d->deed == ORR_DEED_EVICT;
    put_job(lines, "job", d->job);
    orr_json_text(json, "queue", queue_of(lines, d->job));
    orr_json_int(json, "pods", d->tasks);
    orr_json_real(json, "gpus", (double)d->mgpu / ORR_MGPU);
    if (takes) {
        orr_json_text(json, "cause", orr_cause_words((enum orr_cause)d->cause));
        put_job(lines, "for_job", d->beneficiary);
        orr_json_int(json, "moved", d->moved);
    } else if (d->deed == ORR_DEED_SUSPEND) {
        put_job(lines, "for_job", d->beneficiary);
    } else {
        put_nodes(lines, d);
    }
    orr_json_close(json, '}');
}

static void explained(void *context, const struct orr_explanation *explanation)
{
    struct orr_cycle_lines *lines = context;
    struct orr_json *json = open_line(lines, "waits");
    put_job(lines, "job", explanation->job);
    orr_json_text(json, "queue", queue_of(lines, explanation->job));
    orr_json_text(json, "result", orr_reason_code(explanation->reason));
    orr_json_text(json, "why", orr_reason_words(explanation->reason));
    orr_json_close(json, '}');
}

void orr_cycle_lines_init(struct orr_cycle_lines *lines, const char *range, FILE *out)
{
    *lines = (struct orr_cycle_lines){.range = range,
                                      .json = {.out = out, .one_line = true},
                                      .trace = {.begin = begin,
                                                .look = look,
                                                .decision = decided,
                                                .explanation = explained,
                                                .to = 0,
                                                .context = lines}};
}

bool orr_cycle_lines_begin(struct orr_cycle_lines *lines, const struct orr_world *world,
                           orr_ms origin_ms)
{
    struct end ends[2];
    struct orr_cycle_trace *trace = &lines->trace;
    lines->world = world;
    if (!parse_range(lines->range, origin_ms, ends)) {
        return false;
    }
    trace->from = ends[0].is_time ? 1 : ends[0].cycle;
    trace->from_ms = ends[0].is_time ? ends[0].at_ms : -ORR_MS_NEVER;
    trace->to = ends[1].is_time ? UINT64_MAX : ends[1].cycle;
    trace->to_ms = ends[1].is_time ? ends[1].at_ms : ORR_MS_NEVER;
    return true;
}

void orr_cycle_lines_release(struct orr_cycle_lines *lines)
{
    orr_free(lines->placed);
}
