/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shelf.c - workloads read once by a process and taken by those that it forks. */
#include <orrery/traces/shelf.h>

#include <string.h>

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *keep(struct orr_trace_shelf *shelf, const char *text)
{
    return text != NULL ? orr_arena_strndup(&shelf->arena, text, strlen(text)) : NULL;
}

static struct orr_shelved *find(struct orr_trace_shelf *shelf, const char *path,
                                const struct orr_trace_options *options)
{
    for (uint32_t i = 0; i < shelf->count; i++) {
        struct orr_shelved *one = &shelf->items[i];
        if (!one->taken && is_same(one->path, path) &&
            is_same(one->options.format, options->format) &&
            is_same(one->options.template_name, options->template_name) &&
            is_same(one->options.zone, options->zone) &&
            one->options.allow_loss_ppm == options->allow_loss_ppm &&
            one->options.kill_at_limit == options->kill_at_limit &&
            one->options.swf_queue == options->swf_queue) {
            return one;
        }
    }
    return NULL;
}

void orr_trace_shelf_init(struct orr_trace_shelf *shelf)
{
    *shelf = (struct orr_trace_shelf){0};
    orr_arena_init(&shelf->arena);
}

void orr_trace_shelf_put(struct orr_trace_shelf *shelf, const char *path,
                         const struct orr_trace_options *options)
{
    struct orr_workload workload;
    struct orr_err ignored = {0}; /* who reads it later says so */
    if (orr_trace_read(path, options, &workload, &ignored) != ORR_OK) {
        return;
    }
    shelf->items = ORR_ROOM_FOR_ONE(shelf->items, shelf->count, shelf->room);
    struct orr_shelved *one = &shelf->items[shelf->count++];
    *one =
        (struct orr_shelved){.path = keep(shelf, path), .options = *options, .workload = workload};
    one->options.format = keep(shelf, options->format);
    one->options.template_name = keep(shelf, options->template_name);
    one->options.zone = keep(shelf, options->zone);
}

enum orr_status orr_trace_shelf_take(struct orr_trace_shelf *shelf, const char *path,
                                     const struct orr_trace_options *options,
                                     struct orr_workload *workload, struct orr_err *err)
{
    struct orr_shelved *one = shelf != NULL ? find(shelf, path, options) : NULL;
    if (one == NULL) {
        return orr_trace_read(path, options, workload, err);
    }
    one->taken = true;
    *workload = one->workload;
    return ORR_OK;
}

void orr_trace_shelf_release(struct orr_trace_shelf *shelf)
{
    for (uint32_t i = 0; i < shelf->count; i++) {
        if (!shelf->items[i].taken) {
            orr_workload_release(&shelf->items[i].workload);
        }
    }
    orr_free(shelf->items);
    orr_arena_release(&shelf->arena);
    *shelf = (struct orr_trace_shelf){0};
}
