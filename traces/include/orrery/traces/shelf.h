/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shelf.h - traces that one process reads and those that it forks take: what is parsed once is in
 * the memory of each, and each copies only the pages it changes. */
#ifndef ORR_TRACES_SHELF_H
#define ORR_TRACES_SHELF_H

#include <orrery/traces/reader.h>

struct orr_shelved {
    const char *path;
    struct orr_trace_options options;
    struct orr_workload workload; /* the taker's once it is taken */
    bool taken;
};

struct orr_trace_shelf {
    struct orr_shelved *items;
    uint32_t count, room;
    struct orr_arena arena; /* of paths and names */
};

void orr_trace_shelf_init(struct orr_trace_shelf *shelf);
/* Reads a trace; one that cannot be read is left to who takes it, and to that reader's sentence. */
void orr_trace_shelf_put(struct orr_trace_shelf *shelf, const char *path,
                         const struct orr_trace_options *options);
/* As orr_trace_read, without reading if the file lies there read with the same options. Each is
 * taken once in a process; the taker releases it. `shelf` may be NULL. */
enum orr_status orr_trace_shelf_take(struct orr_trace_shelf *shelf, const char *path,
                                     const struct orr_trace_options *options,
                                     struct orr_workload *workload,
                                     struct orr_err *err) ORR_MUST_USE;
/* Releases what nobody took. */
void orr_trace_shelf_release(struct orr_trace_shelf *shelf);

#endif
