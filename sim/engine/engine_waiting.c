/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_waiting.c - the jobs that may want room of autoscaled pools, in order of their submit.
 *
 * Those that hold nothing stand in a line by shape, since a look tries no more of a shape for which
 * it found no room: a look costs what it places and a step for each shape, however many wait. Who
 * holds a part of what it asks stands apart, for it may fit where others of its shape do not. */
#include "engine_int.h"

#include <orrery/base/mem.h>
#include <orrery/base/sort.h>

struct list {
    uint32_t *items;
    uint32_t count, capacity;
};

struct engine_waiting {
    const struct orr_world *world;
    bool *listed;           /* per job */
    struct orr_heap *lines; /* per shape: jobs that hold nothing, by number */
    struct list shapes;     /* whose line may not be empty */
    bool *in_shapes;        /* per shape */
    struct list apart;      /* jobs that hold something */
    /* within a look */
    uint32_t look;
    uint32_t *full_in;     /* per shape: the last look that found no room for it */
    struct orr_heap heads; /* at: the first job of a line, subject: its shape */
    uint32_t next_apart;
    struct list stay, stay_apart; /* looked at, and still waiting */
};

static void append(struct list *list, uint32_t item)
{
    list->items = ORR_ROOM_FOR_ONE(list->items, list->count, list->capacity);
    list->items[list->count++] = item;
}

struct engine_waiting *orr_engine__waiting_open(const struct orr_world *world)
{
    const size_t shapes = world->shapes.count + (size_t)1;
    struct engine_waiting *waiting = orr_zalloc(1, sizeof *waiting);
    waiting->world = world;
    waiting->listed = orr_zalloc(world->job_count + (size_t)1, sizeof *waiting->listed);
    waiting->lines = orr_zalloc(shapes, sizeof *waiting->lines);
    waiting->in_shapes = orr_zalloc(shapes, sizeof *waiting->in_shapes);
    waiting->full_in = orr_zalloc(shapes, sizeof *waiting->full_in);
    return waiting;
}

void orr_engine__waiting_close(struct engine_waiting *waiting)
{
    for (uint32_t s = 0; s < waiting->world->shapes.count; s++) {
        orr_heap_release(&waiting->lines[s]);
    }
    orr_heap_release(&waiting->heads);
    orr_free(waiting->listed);
    orr_free(waiting->lines);
    orr_free(waiting->shapes.items);
    orr_free(waiting->in_shapes);
    orr_free(waiting->apart.items);
    orr_free(waiting->full_in);
    orr_free(waiting->stay.items);
    orr_free(waiting->stay_apart.items);
    orr_free(waiting);
}

static void put_in_line(struct engine_waiting *waiting, uint32_t job)
{
    const uint32_t shape = waiting->world->specs[job].shape;
    orr_heap_push(&waiting->lines[shape], (struct orr_event){.at = job, .subject = job});
    if (!waiting->in_shapes[shape]) {
        waiting->in_shapes[shape] = true;
        append(&waiting->shapes, shape);
    }
}

void orr_engine__waiting_add(struct engine_waiting *waiting, uint32_t job)
{
    if (!waiting->listed[job]) {
        waiting->listed[job] = true;
        put_in_line(waiting, job);
    }
}

static void push_head(struct engine_waiting *waiting, uint32_t shape)
{
    const struct orr_event *first = orr_heap_top(&waiting->lines[shape]);
    if (first != NULL) {
        orr_heap_push(&waiting->heads, (struct orr_event){.at = first->at, .subject = shape});
    }
}

void orr_engine__waiting_begin(struct engine_waiting *waiting)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waiting->shapes.count; i++) {
        const uint32_t shape = waiting->shapes.items[i];
        waiting->in_shapes[shape] = waiting->lines[shape].count > 0;
        if (waiting->in_shapes[shape]) {
            waiting->shapes.items[kept++] = shape;
            push_head(waiting, shape);
        }
    }
    waiting->shapes.count = kept;
    waiting->look++;
    waiting->next_apart = 0;
    orr_sort(waiting->apart.items, waiting->apart.count, sizeof *waiting->apart.items,
             orr_compare_u32, NULL);
}

bool orr_engine__waiting_is_full(const struct engine_waiting *waiting, uint32_t job)
{
    return waiting->full_in[waiting->world->specs[job].shape] == waiting->look;
}

void orr_engine__waiting_note_full(struct engine_waiting *waiting, uint32_t job)
{
    waiting->full_in[waiting->world->specs[job].shape] = waiting->look;
}

/* Drops the heads of lines of which no more is tried. */
static const struct orr_event *first_head(struct engine_waiting *waiting)
{
    const struct orr_event *head = orr_heap_top(&waiting->heads);
    while (head != NULL && waiting->full_in[head->subject] == waiting->look) {
        (void)orr_heap_pop(&waiting->heads);
        head = orr_heap_top(&waiting->heads);
    }
    return head;
}

uint32_t orr_engine__waiting_next(struct engine_waiting *waiting)
{
    const struct orr_event *head = first_head(waiting);
    const bool some_apart = waiting->next_apart < waiting->apart.count;
    if (some_apart && (head == NULL || waiting->apart.items[waiting->next_apart] < head->at)) {
        return waiting->apart.items[waiting->next_apart++];
    }
    if (head == NULL) {
        return ORR_NONE;
    }
    const uint32_t shape = head->subject, job = (uint32_t)head->at;
    (void)orr_heap_pop(&waiting->heads);
    (void)orr_heap_pop(&waiting->lines[shape]);
    push_head(waiting, shape);
    return job;
}

void orr_engine__waiting_stay(struct engine_waiting *waiting, uint32_t job, bool apart)
{
    append(apart ? &waiting->stay_apart : &waiting->stay, job);
}

void orr_engine__waiting_drop(struct engine_waiting *waiting, uint32_t job)
{
    waiting->listed[job] = false;
}

void orr_engine__waiting_end(struct engine_waiting *waiting)
{
    while (waiting->heads.count > 0) {
        (void)orr_heap_pop(&waiting->heads);
    }
    for (uint32_t i = 0; i < waiting->stay.count; i++) {
        put_in_line(waiting, waiting->stay.items[i]);
    }
    waiting->stay.count = 0;
    const struct list before = waiting->apart;
    waiting->apart = waiting->stay_apart;
    waiting->stay_apart = (struct list){.items = before.items, .capacity = before.capacity};
}
