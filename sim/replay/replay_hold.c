/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_hold.c - jobs that may not be considered when they come: `after` and `eligible_s`.
 *
 * `after` names jobs of the same trace, joined by commas, semicolons or blanks; a copy of the trace
 * waits for its own jobs. A row that waits for what never ends (no such job, one that cannot run,
 * or itself in a circle) can never run and is rejected. */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/sort.h>

#define SEPARATORS ",; "

struct links { /* who waits for whom, as rows of one part */
    struct link {
        uint32_t before, row;
    } * items; /* sorted by `before` once all are there */
    uint32_t count, capacity;
};

static const char *after_of(const struct orr_world_part *p, uint32_t row)
{
    uint32_t extra = p->workload.rows[row].extra;
    return extra == 0 ? NULL : p->workload.extras[extra - 1].after;
}

static bool any_after(const struct orr_world_part *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->workload.extra_count; i++) {
        any = any || p->workload.extras[i].after != NULL;
    }
    return any;
}

static int by_before(const void *a, const void *b, void *context)
{
    const struct link *x = a, *y = b;
    (void)context;
    return x->before != y->before ? (x->before < y->before ? -1 : 1)
                                  : (x->row > y->row) - (x->row < y->row);
}

static bool reject(struct orr_world *world, struct orr_world_part *p, uint32_t row,
                   const char *what, const char *name, size_t bytes)
{
    orr_workload_reject(&p->workload, p->part->label, p->workload.rows[row].line, "job %s: %s %.*s",
                        orr_idmap_name(&p->workload.jobs, p->workload.rows[row].job), what,
                        (int)bytes, name);
    world->rows_rejected++;
    return false;
}

/* Rows by their job's index in the names; ORR_NONE: a name without a row. Caller frees. */
static uint32_t *rows_of_jobs(const struct orr_workload *w)
{
    uint32_t *rows = orr_alloc(w->jobs.count + (size_t)1, sizeof *rows);
    memset(rows, 0xff, (w->jobs.count + (size_t)1) * sizeof *rows);
    for (uint32_t r = 0; r < w->count; r++) {
        rows[w->rows[r].job] = r;
    }
    return rows;
}

/* Adds a link for each job a row names; false when there is no such job. */
static bool link_row(struct orr_world *world, struct orr_world_part *p, uint32_t row,
                     const uint32_t *row_of_job, struct links *links)
{
    const char *rest = after_of(p, row);
    for (rest += strspn(rest, SEPARATORS); *rest != '\0'; rest += strspn(rest, SEPARATORS)) {
        size_t bytes = strcspn(rest, SEPARATORS);
        uint32_t job = orr_idmap_find(&p->workload.jobs, rest, bytes);
        if (job == ORR_NONE || row_of_job[job] == ORR_NONE) {
            return reject(world, p, row, "column after: the trace has no job", rest, bytes);
        }
        links->items = ORR_ROOM_FOR_ONE(links->items, links->count, links->capacity);
        links->items[links->count++] = (struct link){row_of_job[job], row};
        rest += bytes;
    }
    return true;
}

static uint32_t first_link(const struct links *links, uint32_t before)
{
    uint32_t low = 0, high = links->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (links->items[middle].before < before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Counts down from the rows that wait for nothing; what is left over can never be considered. */
static void settle_rows(struct orr_world *world, struct orr_world_part *p,
                        const struct links *links, bool *alive)
{
    uint32_t rows = p->workload.count, head = 0, tail = 0;
    uint32_t *waits = orr_zalloc(rows + (size_t)1, sizeof *waits);
    uint32_t *queue = orr_alloc(rows + (size_t)1, sizeof *queue);
    for (uint32_t i = 0; i < links->count; i++) {
        waits[links->items[i].row]++;
    }
    for (uint32_t r = 0; r < rows; r++) {
        if (alive[r] && waits[r] == 0) {
            queue[tail++] = r;
        }
    }
    while (head < tail) {
        uint32_t row = queue[head++];
        for (uint32_t i = first_link(links, row); i < links->count && links->items[i].before == row;
             i++) {
            uint32_t next = links->items[i].row;
            if (--waits[next] == 0 && alive[next]) {
                queue[tail++] = next;
            }
        }
    }
    for (uint32_t r = 0; r < rows; r++) {
        if (alive[r] && waits[r] > 0) {
            const char *after = after_of(p, r);
            alive[r] = reject(world, p, r,
                              "column after: these cannot all end before it can start:", after,
                              strlen(after));
        }
    }
    orr_free(waits);
    orr_free(queue);
}

static void settle_part(struct orr_world *world, uint32_t part)
{
    struct orr_world_part *p = &world->parts[part];
    struct links links = {0};
    bool *alive = orr_zalloc(p->workload.count + (size_t)1, sizeof *alive);
    uint32_t *row_of_job = rows_of_jobs(&p->workload);
    for (uint32_t j = 0; j < world->job_count; j++) {
        uint32_t row = world->specs[j].source - p->first_source;
        if (world->specs[j].source >= p->first_source && row < p->workload.count) {
            alive[row] = true;
        }
    }
    for (uint32_t r = 0; r < p->workload.count; r++) {
        alive[r] =
            alive[r] && (after_of(p, r) == NULL || link_row(world, p, r, row_of_job, &links));
    }
    orr_sort(links.items, links.count, sizeof *links.items, by_before, NULL);
    settle_rows(world, p, &links, alive);
    uint32_t kept = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        uint32_t row = world->specs[j].source - p->first_source;
        bool other = world->specs[j].source < p->first_source || row >= p->workload.count;
        if (other || alive[row]) {
            world->specs[kept++] = world->specs[j];
        }
    }
    world->job_count = kept;
    orr_free(links.items);
    orr_free(row_of_job);
    orr_free(alive);
}

void orr_replay__drop_endless(struct orr_world *world)
{
    for (uint32_t i = 0; i < world->part_count; i++) {
        if (any_after(&world->parts[i])) {
            settle_part(world, i);
        }
    }
}

/* --- once the jobs have their final numbers --- */

static int by_job(const void *a, const void *b, void *context)
{
    const struct orr_world_edge *x = a, *y = b;
    (void)context;
    return x->job != y->job ? (x->job < y->job ? -1 : 1)
                            : (x->hold > y->hold) - (x->hold < y->hold);
}

static void add_edges(struct orr_world *world, const struct orr_world_part *p, const char *after,
                      const uint32_t *row_of_job, const uint32_t *job_of_row, uint32_t hold)
{
    for (after += strspn(after, SEPARATORS); *after != '\0'; after += strspn(after, SEPARATORS)) {
        size_t bytes = strcspn(after, SEPARATORS);
        uint32_t row = row_of_job[orr_idmap_find(&p->workload.jobs, after, bytes)];
        world->edges = ORR_ROOM_FOR_ONE(world->edges, world->edge_count, world->edge_capacity);
        world->edges[world->edge_count++] =
            (struct orr_world_edge){.job = job_of_row[row], .hold = hold};
        world->holds[hold].waits_for++;
        after += bytes;
    }
}

/* Jobs of the part's rows, by (copy, row); caller frees. */
static uint32_t *jobs_of_rows(const struct orr_world *world, const struct orr_world_part *p)
{
    uint32_t rows = p->workload.count, copies = p->part->copies == 0 ? 1 : p->part->copies;
    uint32_t *jobs = orr_alloc((size_t)rows * copies + 1, sizeof *jobs);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        if (spec->source >= p->first_source && spec->source - p->first_source < rows) {
            size_t copy = (size_t)orr_replay__copy(p, spec);
            jobs[copy * rows + (spec->source - p->first_source)] = j;
        }
    }
    return jobs;
}

static void hold_part(struct orr_world *world, uint32_t part)
{
    const struct orr_world_part *p = &world->parts[part];
    uint32_t rows = p->workload.count;
    uint32_t *row_of_job = rows_of_jobs(&p->workload);
    uint32_t *job_of_row = jobs_of_rows(world, p);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        uint32_t row = spec->source - p->first_source;
        if (spec->source < p->first_source || row >= rows || p->workload.rows[row].extra == 0) {
            continue;
        }
        const struct orr_row_extra *extra = &p->workload.extras[p->workload.rows[row].extra - 1];
        orr_ms copy = orr_replay__copy(p, spec);
        orr_ms eligible =
            extra->eligible_ms == ORR_MS_NONE
                ? spec->submit_ms
                : orr_replay__scaled_submit(p, extra->eligible_ms) + copy * p->copy_span_ms;
        if (eligible <= spec->submit_ms && extra->after == NULL) {
            continue;
        }
        world->holds = ORR_ROOM_FOR_ONE(world->holds, world->hold_count, world->hold_capacity);
        world->holds[world->hold_count++] = (struct orr_world_hold){
            .job = j,
            .eligible_ms = eligible,
            .think_ms = extra->think_ms == ORR_MS_NONE ? 0 : extra->think_ms,
            .by_user = extra->think_ms != ORR_MS_NONE};
        if (extra->after != NULL) {
            add_edges(world, p, extra->after, row_of_job, job_of_row + (size_t)copy * rows,
                      world->hold_count - 1);
        }
    }
    orr_free(row_of_job);
    orr_free(job_of_row);
}

static bool any_hold(const struct orr_world_part *p)
{
    bool any = any_after(p);
    for (uint32_t i = 0; i < p->workload.extra_count; i++) {
        any = any || p->workload.extras[i].eligible_ms != ORR_MS_NONE;
    }
    return any;
}

static int by_job_of_hold(const void *a, const void *b, void *context)
{
    const struct orr_world_hold *holds = context;
    const uint32_t x = holds[*(const uint32_t *)a].job, y = holds[*(const uint32_t *)b].job;
    return (x > y) - (x < y);
}

/* Parts interleave: puts the holds in the order of their jobs, and one where a job has two. */
static void sort_holds(struct orr_world *world)
{
    uint32_t count = world->hold_count, kept = 0;
    uint32_t *order = orr_alloc(count + (size_t)1, sizeof *order);
    uint32_t *place = orr_alloc(count + (size_t)1, sizeof *place);
    struct orr_world_hold *sorted = orr_alloc(count + (size_t)1, sizeof *sorted);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    orr_sort(order, count, sizeof *order, by_job_of_hold, world->holds);
    for (uint32_t i = 0; i < count; i++) {
        const struct orr_world_hold *hold = &world->holds[order[i]];
        bool again = kept > 0 && sorted[kept - 1].job == hold->job;
        if (again) { /* refused by a rule, and held back besides */
            sorted[kept - 1].refused = sorted[kept - 1].refused || hold->refused;
            sorted[kept - 1].absent = sorted[kept - 1].absent || hold->absent;
            sorted[kept - 1].waits_for += hold->waits_for;
            sorted[kept - 1].think_ms += hold->think_ms; /* one of them has none */
            sorted[kept - 1].by_user = sorted[kept - 1].by_user || hold->by_user;
        } else {
            sorted[kept++] = *hold;
        }
        place[order[i]] = kept - 1;
    }
    for (uint32_t e = 0; e < world->edge_count; e++) {
        world->edges[e].hold = place[world->edges[e].hold];
    }
    orr_free(world->holds);
    orr_free(order);
    orr_free(place);
    world->holds = sorted;
    world->hold_count = kept;
    world->hold_capacity = count + 1;
}

void orr_replay__refuse(struct orr_world *world, uint32_t job)
{
    world->holds = ORR_ROOM_FOR_ONE(world->holds, world->hold_count, world->hold_capacity);
    world->holds[world->hold_count++] = (struct orr_world_hold){
        .job = job, .eligible_ms = world->specs[job].submit_ms, .refused = true};
}

void orr_replay__holds(struct orr_world *world)
{
    for (uint32_t i = 0; i < world->part_count; i++) {
        if (any_hold(&world->parts[i])) {
            hold_part(world, i);
        }
    }
    sort_holds(world);
    orr_sort(world->edges, world->edge_count, sizeof *world->edges, by_job, NULL);
}

/* Those that run as the run begins hold nothing. */
static void take_seats(struct orr_world *world, const bool *gone)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->running_count; i++) {
        const uint32_t job = world->running[i].job;
        if (gone[job]) {
            world->runs_before[job] = false;
        } else {
            world->running[kept++] = world->running[i];
        }
    }
    world->running_count = kept;
}

void orr_world_take_away(struct orr_world *world, const bool *gone)
{
    uint32_t kept = 0;
    for (uint32_t e = 0; e < world->edge_count; e++) {
        if (gone[world->edges[e].job]) {
            world->holds[world->edges[e].hold].waits_for--;
        } else {
            world->edges[kept++] = world->edges[e];
        }
    }
    world->edge_count = kept;
    for (uint32_t j = 0; j < world->job_count; j++) {
        if (gone[j]) {
            world->holds = ORR_ROOM_FOR_ONE(world->holds, world->hold_count, world->hold_capacity);
            world->holds[world->hold_count++] = (struct orr_world_hold){
                .job = j, .eligible_ms = world->specs[j].submit_ms, .absent = true};
        }
    }
    take_seats(world, gone);
    sort_holds(world);
    orr_sort(world->edges, world->edge_count, sizeof *world->edges, by_job, NULL);
}

uint32_t orr_world_hold_of(const struct orr_world *world, uint32_t job)
{
    uint32_t low = 0, high = world->hold_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (world->holds[middle].job < job) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < world->hold_count && world->holds[low].job == job ? low : ORR_NONE;
}
