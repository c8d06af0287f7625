/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_state.c - what runs as the run begins: rows that say since when, and on which nodes.
 *
 *   running_on   pods apart by blanks: NODE | NODE*COUNT | NODE:DEVICES, each a pod or COUNT of
 *                them; DEVICES are indices and ranges, 0-3,6. A bar goes on to the next role with
 *                pods of the job's template. */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/sort.h>
#include <orrery/base/text.h>

#define BLANKS " \t"

struct seat_reader {
    const struct orr_cluster *cluster;
    const struct orr_shape *shape;
    const char *rest;
    uint32_t group, count; /* of the group's pods so far */
    const char *fault;
};

static bool fail(struct seat_reader *reader, const char *fault)
{
    reader->fault = fault;
    return false;
}

/* "0-3,6" as a bit mask. */
static bool read_devices(const char *text, size_t bytes, uint32_t gpus, uint64_t *mask)
{
    for (*mask = 0; bytes > 0;) {
        const char *comma = memchr(text, ',', bytes);
        const size_t item = comma == NULL ? bytes : (size_t)(comma - text);
        const char *dash = memchr(text, '-', item);
        const size_t first_bytes = dash == NULL ? item : (size_t)(dash - text);
        int64_t first, last;
        if (!orr_parse_i64(text, first_bytes, &first)) {
            return false;
        }
        last = first;
        if ((dash != NULL && !orr_parse_i64(dash + 1, item - first_bytes - 1, &last)) ||
            first < 0 || last < first || last >= gpus || last > 63) {
            return false;
        }
        const uint64_t bits = (last == 63 ? 0 : (uint64_t)1 << (last + 1)) - ((uint64_t)1 << first);
        if ((*mask & bits) != 0) {
            return false;
        }
        *mask |= bits;
        text += item + (comma != NULL);
        bytes -= item + (comma != NULL);
        if (comma != NULL && bytes == 0) {
            return false;
        }
    }
    return *mask != 0;
}

/* The next entry: `seat` and how many pods are alike; false at the end, or with a fault. */
static bool next_seat(struct seat_reader *reader, struct orr_world_seat *seat, int64_t *pods)
{
    reader->rest += strspn(reader->rest, BLANKS);
    while (*reader->rest == '|') {
        reader->group++;
        reader->count = 0;
        reader->rest++;
        reader->rest += strspn(reader->rest, BLANKS);
    }
    const size_t bytes = strcspn(reader->rest, BLANKS "|");
    if (bytes == 0) {
        return false;
    }
    const char *text = reader->rest;
    reader->rest += bytes;
    if (reader->group >= reader->shape->group_count) {
        return fail(reader, "running_on: has more parts than its template has roles with pods");
    }
    const size_t name = strcspn(text, ":* \t|");
    *seat = (struct orr_world_seat){
        .group = reader->group, .node = orr_idmap_find(&reader->cluster->node_names, text, name)};
    *pods = 1;
    if (seat->node == ORR_NONE) {
        return fail(reader, "running_on: the cluster has no such node; one that is taken away goes "
                            "by an event, or by whatif --at");
    }
    const struct orr_task_group *group = &reader->shape->groups[reader->group];
    const char *more = text + name + 1;
    if (name < bytes && text[name] == '*') {
        if (!orr_parse_i64(more, bytes - name - 1, pods) || *pods < 1 || *pods > group->count) {
            return fail(reader, "running_on: NODE*COUNT is not so many of its pods");
        }
    } else if (name < bytes) {
        const uint32_t gpus = orr_cluster_type(reader->cluster, seat->node)->gpus;
        if (!read_devices(more, bytes - name - 1, gpus, &seat->devices) ||
            (uint32_t)__builtin_popcountll(seat->devices) != group->request.devices) {
            return fail(reader, "running_on: NODE:DEVICES are not the GPUs of one of its pods");
        }
    }
    reader->count += (uint32_t)*pods;
    return reader->count <= group->count ||
           fail(reader, "running_on: are more pods than the job has");
}

const char *orr_replay__running_fault(const struct orr_scenario *scenario, struct orr_world *world,
                                      const struct orr_job_spec *spec,
                                      const struct orr_row_extra *extra)
{
    struct seat_reader reader = {.cluster = &world->cluster,
                                 .shape = &world->shapes.shapes[spec->shape],
                                 .rest = extra->running_on};
    struct orr_world_seat seat;
    int64_t pods;
    uint32_t count = 0;
    if (extra->running_on == NULL) {
        return NULL;
    }
    if (scenario->begin_ms == ORR_MS_NONE) {
        return "it runs as the run begins (running_on), and the scenario does not say when that "
               "is: "
               "set `begin`, such as begin=0s";
    }
    if (extra->running_since_ms < spec->submit_ms || extra->running_since_ms > scenario->begin_ms) {
        return "running_since_s is before its submit, or after the begin of the run";
    }
    while (next_seat(&reader, &seat, &pods)) {
        count += (uint32_t)pods;
    }
    if (reader.fault == NULL && count == 0) {
        reader.fault = "running_on: names no node";
    }
    return reader.fault;
}

static void add_seats(struct orr_world *world, struct orr_world_running *running, const char *text)
{
    struct seat_reader reader = {.cluster = &world->cluster,
                                 .shape = &world->shapes.shapes[world->specs[running->job].shape],
                                 .rest = text};
    struct orr_world_seat seat;
    int64_t pods;
    running->first_seat = world->seat_count;
    while (next_seat(&reader, &seat, &pods)) {
        for (; pods > 0; pods--) {
            world->seats = ORR_ROOM_FOR_ONE(world->seats, world->seat_count, world->seat_capacity);
            world->seats[world->seat_count++] = seat;
        }
    }
    running->seat_count = world->seat_count - running->first_seat;
}

/* Does as much of it run as its gang needs? */
static bool is_whole(const struct orr_world *world, const struct orr_world_running *running)
{
    const struct orr_shape *shape = &world->shapes.shapes[world->specs[running->job].shape];
    uint32_t *tasks = orr_zalloc(shape->group_count + (size_t)1, sizeof *tasks);
    for (uint32_t s = 0; s < running->seat_count; s++) {
        tasks[world->seats[running->first_seat + s].group]++;
    }
    const bool whole = running->seat_count >= shape->min_tasks &&
                       (shape->set_count == 0 || orr_shape_satisfied(shape, tasks));
    orr_free(tasks);
    return whole;
}

static int by_since(const void *a, const void *b, void *context)
{
    const struct orr_world_running *x = a, *y = b;
    (void)context;
    return x->since_ms != y->since_ms ? (x->since_ms < y->since_ms ? -1 : 1)
                                      : (x->job < y->job ? -1 : x->job > y->job);
}

/* Copies after the first are other jobs, which come later. */
static const struct orr_row_extra *running_row(const struct orr_world *world, uint32_t job)
{
    const struct orr_row_extra *extra = orr_world_job_extra(world, job);
    const struct orr_world_part *part = &world->parts[orr_world_part_of(world, job)];
    return extra != NULL && extra->running_on != NULL &&
                   orr_replay__copy(part, &world->specs[job]) == 0
               ? extra
               : NULL;
}

orr_ms orr_replay__runs_since(const struct orr_world *world, uint32_t job)
{
    const struct orr_row_extra *extra = running_row(world, job);
    return extra == NULL ? ORR_MS_NONE : extra->running_since_ms;
}

void orr_replay__state(const struct orr_scenario *scenario, struct orr_world *world)
{
    world->begin_ms =
        scenario->begin_ms != ORR_MS_NONE && scenario->begin_ms > world->first_submit_ms
            ? scenario->begin_ms
            : world->first_submit_ms;
    uint32_t capacity = 0;
    for (uint32_t j = 0; j < world->job_count && scenario->begin_ms != ORR_MS_NONE; j++) {
        const struct orr_row_extra *extra = running_row(world, j);
        if (extra == NULL) {
            continue;
        }
        if (world->runs_before == NULL) {
            world->runs_before = orr_zalloc(world->job_count, sizeof *world->runs_before);
        }
        world->runs_before[j] = true;
        world->running = ORR_ROOM_FOR_ONE(world->running, world->running_count, capacity);
        struct orr_world_running *running = &world->running[world->running_count++];
        *running = (struct orr_world_running){.job = j, .since_ms = extra->running_since_ms};
        add_seats(world, running, extra->running_on);
        /* what was, is known: one that by its run time or a rule would be over ends at once, but
         * one that stands still has not run */
        struct orr_job_spec *spec = &world->specs[j];
        const orr_ms age_ms = world->begin_ms - running->since_ms;
        if (!spec->scales && spec->work_ms < age_ms && is_whole(world, running)) {
            spec->work_ms = age_ms;
        }
    }
    orr_sort(world->running, world->running_count, sizeof *world->running, by_since, NULL);
}
