/* SPDX-License-Identifier: GPL-3.0-or-later */
/* floor.c - who holds what at a time: a row a node, a character a device. */
#include "explain_int.h"

#include <string.h>

#include <orrery/base/text.h>
#include <orrery/analysis/names.h>

#define LETTERS 26
#define DEVICES 64

struct holder { /* a queue by what it holds then, most first */
    int64_t id, jobs;
    const char *name;
    double gpus;
};

struct hold { /* some of a job's pods on a node */
    int64_t node, queue, mgpu;
    uint64_t devices; /* a bit for each device; 0: not counted one by one */
    const char *job, *queue_name;
};

struct place {
    int64_t id, domain;             /* domain: -1: none */
    const char *name, *domain_name; /* domain_name: its number where the scenario has none */
    uint32_t gpus, foreign;         /* the first devices are another scheduler's */
    bool off;                       /* down, or no part of the cluster then */
};

struct floor {
    orr_ms at_ms, end_ms; /* end: of the run */
    const char *level;    /* of the domains; NULL: there are none */
    struct holder *holders;
    struct hold *holds; /* by node, then job */
    struct place *places;
    uint32_t holder_count, holder_capacity, hold_count, hold_capacity, place_count, place_capacity;
};

/* --- facts --- */

static void read_holders(struct orr_results *in, struct floor *floor)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__held_by_queue, &floor->at_ms, 1);
    while (orr_results_step(in, row)) {
        floor->holders =
            ORR_ROOM_FOR_ONE(floor->holders, floor->holder_count, floor->holder_capacity);
        floor->holders[floor->holder_count++] =
            (struct holder){.id = sqlite3_column_int64(row, 0),
                            .name = orr_results_queue(in, row, 1),
                            .gpus = sqlite3_column_double(row, 2),
                            .jobs = sqlite3_column_int64(row, 3)};
    }
}

static void read_holds(struct orr_results *in, struct floor *floor)
{
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__pieces_at, &floor->at_ms, 1);
    while (orr_results_step(in, row)) {
        floor->holds = ORR_ROOM_FOR_ONE(floor->holds, floor->hold_count, floor->hold_capacity);
        floor->holds[floor->hold_count++] =
            (struct hold){.node = sqlite3_column_int64(row, 0),
                          .queue = sqlite3_column_int64(row, 1),
                          .mgpu = sqlite3_column_int64(row, 2),
                          .devices = (uint64_t)sqlite3_column_int64(row, 3),
                          .job = orr_results_text(in, row, 4),
                          .queue_name = orr_results_queue(in, row, 5)};
    }
}

/* Nodes by their domain of the narrowest level that has several nodes in one. */
static void read_places(struct orr_results *in, struct floor *floor)
{
    sqlite3_stmt *row = orr_results_prepare(in, orr_explain_sql__levels);
    while (orr_results_step(in, row)) {
        floor->level = orr_results_text(in, row, 0);
    }
    row = orr_explain__query(in, orr_explain_sql__nodes_at, &floor->at_ms, 1);
    if (row != NULL && floor->level != NULL) {
        (void)sqlite3_bind_text(row, 2, floor->level, -1, SQLITE_STATIC);
    }
    while (orr_results_step(in, row)) {
        floor->places = ORR_ROOM_FOR_ONE(floor->places, floor->place_count, floor->place_capacity);
        floor->places[floor->place_count++] =
            (struct place){.id = sqlite3_column_int64(row, 0),
                           .name = orr_results_text(in, row, 1),
                           .gpus = (uint32_t)sqlite3_column_int64(row, 2),
                           .domain = sqlite3_column_int64(row, 3),
                           .foreign = (uint32_t)sqlite3_column_int64(row, 4),
                           .off = sqlite3_column_int(row, 5) != 0,
                           .domain_name = orr_results_text(in, row, 6)};
    }
}

/* The holds of a node, NULL if it has none; sets *count. */
static const struct hold *holds_of(const struct floor *floor, int64_t node, uint32_t *count)
{
    uint32_t low = 0, high = floor->hold_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (floor->holds[middle].node < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < floor->hold_count && floor->holds[low + *count].node == node) {
        *count += 1;
    }
    return *count > 0 ? floor->holds + low : NULL;
}

/* --- as text --- */

static char letter_of(const struct floor *floor, int64_t queue)
{
    for (uint32_t i = 0; i < floor->holder_count && i < LETTERS; i++) {
        if (floor->holders[i].id == queue) {
            return (char)('A' + (int)i);
        }
    }
    return '+';
}

static void say_holders(const struct floor *floor, FILE *out)
{
    bool off = false, foreign = false;
    char gpus[40];
    for (uint32_t i = 0; i < floor->holder_count; i++) {
        const struct holder *h = &floor->holders[i];
        (void)fprintf(out, "  %c %s: %s, %lld job%s\n", letter_of(floor, h->id), h->name,
                      orr_explain__gpus(h->gpus, gpus), (long long)h->jobs, ORR_PLURAL(h->jobs));
    }
    for (uint32_t i = 0; i < floor->place_count; i++) {
        off = off || floor->places[i].off;
        foreign = foreign || floor->places[i].foreign > 0;
    }
    (void)fprintf(out, "  . idle   lower case: shared   * several queues on one device%s%s\n\n",
                  off ? "   ! node down or not there" : "",
                  foreign ? "   = another scheduler's" : "");
}

/* What one node's devices are used for; those that are not counted one by one fill from the left.
 */
static void draw_node(const struct floor *floor, const struct place *place, char *cells)
{
    const uint32_t shown = place->gpus < DEVICES ? place->gpus : DEVICES;
    uint32_t count, next = place->foreign;
    const struct hold *holds = holds_of(floor, place->id, &count);
    memset(cells, place->off ? '!' : '.', shown);
    memset(cells, '=', place->foreign < shown ? place->foreign : shown);
    cells[shown] = '\0';
    for (uint32_t h = 0; h < count; h++) {
        const char letter = letter_of(floor, holds[h].queue);
        uint64_t mask = holds[h].devices;
        int64_t devices = 0;
        for (int64_t left = holds[h].mgpu; holds[h].devices == 0 && left > 0 && next < shown;
             left -= ORR_MGPU) {
            mask |= (uint64_t)1 << next++;
        }
        for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
            devices++;
        }
        const bool part = holds[h].mgpu < devices * ORR_MGPU;
        const char mark = part && letter != '+' ? (char)(letter - 'A' + 'a') : letter;
        for (uint32_t d = 0; d < shown; d++) {
            if ((mask >> d & 1) != 0) {
                const bool free = cells[d] == '.' || cells[d] == '!';
                cells[d] = free || cells[d] == mark ? mark : '*';
            }
        }
    }
}

/* As many on a line as fit. */
static void draw_nodes(const struct floor *floor, FILE *out)
{
    const size_t columns = (size_t)orr_text_columns(100);
    int64_t domain = -1;
    size_t column = 0;
    for (uint32_t i = 0; i < floor->place_count; i++) {
        const struct place *place = &floor->places[i];
        char cells[DEVICES + 1];
        if (place->domain != domain) {
            domain = place->domain;
            (void)fprintf(out, "%s%s %s\n", column > 0 ? "\n" : "", floor->level,
                          place->domain_name);
            column = 0;
        }
        draw_node(floor, place, cells);
        const size_t bytes = strlen(place->name) + strlen(cells) + 3;
        if (column > 0 && column + bytes > columns) {
            (void)fputc('\n', out);
            column = 0;
        }
        (void)fprintf(out, "%s %s  ", place->name, cells);
        column += bytes;
    }
    (void)fputc('\n', out);
}

/* --- as JSON --- */

static void json_node(const struct floor *floor, const struct place *place, struct orr_json *json)
{
    uint32_t count;
    const struct hold *holds = holds_of(floor, place->id, &count);
    orr_json_open(json, NULL, '{');
    orr_json_text(json, "node", place->name);
    if (place->domain >= 0) {
        orr_json_int(json, "domain", place->domain);
    } else {
        orr_json_text(json, "domain", NULL);
    }
    orr_json_text(json, "domain_name", place->domain >= 0 ? place->domain_name : NULL);
    orr_json_int(json, "gpus", place->gpus);
    orr_json_int(json, "foreign_gpus", place->foreign);
    orr_json_bool(json, "up", !place->off);
    orr_json_open(json, "jobs", '[');
    for (uint32_t h = 0; h < count; h++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "job", holds[h].job);
        orr_json_text(json, "queue", holds[h].queue_name);
        orr_json_open(json, "devices", '[');
        for (uint32_t d = 0; d < DEVICES; d++) {
            if ((holds[h].devices >> d & 1) != 0) {
                orr_json_int(json, NULL, d);
            }
        }
        orr_json_close(json, ']');
        orr_json_real(json, "gpus", (double)holds[h].mgpu / ORR_MGPU);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
    orr_json_close(json, '}');
}

static void as_json(const struct floor *floor, FILE *out)
{
    struct orr_json json = {.out = out};
    orr_json_open(&json, NULL, '{');
    orr_json_seconds(&json, "at_s", floor->at_ms);
    orr_json_seconds(&json, "run_end_s", floor->end_ms);
    orr_json_text(&json, "level", floor->level);
    orr_json_open(&json, "queues", '[');
    for (uint32_t i = 0; i < floor->holder_count; i++) {
        orr_json_open(&json, NULL, '{');
        orr_json_text(&json, "queue", floor->holders[i].name);
        orr_json_int(&json, "jobs", floor->holders[i].jobs);
        orr_json_real(&json, "holds_gpus", floor->holders[i].gpus);
        orr_json_close(&json, '}');
    }
    orr_json_close(&json, ']');
    orr_json_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < floor->place_count; i++) {
        json_node(floor, &floor->places[i], &json);
    }
    orr_json_close(&json, ']');
    orr_json_close(&json, '}');
}

const char *orr_explain__beside_run(struct orr_results *in, orr_ms at_ms, char out[90])
{
    const orr_ms end = orr_results_int(in, orr_explain_sql__run_end, at_ms);
    const orr_ms begin = orr_results_int(in, orr_explain_sql__run_begin, at_ms);
    char clock[40];
    out[0] = '\0';
    if (at_ms > end) {
        (void)snprintf(out, 90, ", after the run, which ended at %s",
                       orr_results_when(in, end, clock));
    } else if (at_ms < begin) {
        (void)snprintf(out, 90, ", before the run, which began at %s",
                       orr_results_when(in, begin, clock));
    }
    return out;
}

enum orr_status orr_explain_floor(const char *db_path, orr_ms at_ms, bool json, FILE *out,
                                  struct orr_err *err)
{
    struct orr_results in;
    struct floor floor = {.at_ms = at_ms};
    char clock[40], beside[90];
    orr_results_open(&in, db_path, err);
    in.for_people = !json;
    if (in.status == ORR_OK) {
        floor.end_ms = orr_results_int(&in, orr_explain_sql__run_end, 0);
        read_holders(&in, &floor);
        read_holds(&in, &floor);
        read_places(&in, &floor);
    }
    if (in.status == ORR_OK && json) {
        as_json(&floor, out);
    } else if (in.status == ORR_OK) {
        (void)fprintf(out, "At %s%s:\n", orr_results_when(&in, at_ms, clock),
                      orr_explain__beside_run(&in, at_ms, beside));
        say_holders(&floor, out);
        draw_nodes(&floor, out);
    }
    orr_free(floor.holders);
    orr_free(floor.holds);
    orr_free(floor.places);
    const enum orr_status status = in.status;
    orr_results_close(&in);
    return status;
}
