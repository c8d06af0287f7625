/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_world.h - a text through the import: the model it becomes, or the answer of a cycle. */
#ifndef ORR_TEST_IMPORT_WORLD_H
#define ORR_TEST_IMPORT_WORLD_H

#include <stdio.h>
#include <string.h>

#include "test_main.h"

#include "model.h"

struct import_world {
    struct orr_arena arena;
    struct orr_err err;
    struct import_load load;
    struct import_model model;
};

/* Kubernetes objects into a model; false: world->err says what is wrong. */
static inline bool import_world_read(struct import_world *world, const char *text,
                                     const char *shard)
{
    const struct orr_snapshot_options options = {.shard = shard, .now = ORR_MS_NONE};
    struct import_file *file;
    orr_arena_init(&world->arena);
    world->err = (struct orr_err){0};
    world->load = (struct import_load){.arena = &world->arena, .err = &world->err};
    import_model_init(&world->model, &world->load);
    if (import_parse(&world->load, "test", text, strlen(text), &file) == ORR_OK) {
        import_read_kube(&world->model, &file, 1, &options);
    }
    return import_ok(&world->load);
}

static inline void import_world_release(struct import_world *world)
{
    import_model_release(&world->model);
    orr_arena_release(&world->arena);
}

/* The answer to a text; parameters ended by NULL. */
static inline enum orr_status answer(const char *text, const char *const *params,
                                     struct orr_snapshot *out, struct orr_err *err)
{
    struct orr_snapshot_options options = {
        .text = text, .text_bytes = strlen(text), .params = params, .now = ORR_MS_NONE};
    while (params != NULL && params[options.param_count] != NULL) {
        options.param_count++;
    }
    *err = (struct orr_err){0};
    return orr_snapshot_run(&options, out, err);
}

static inline void answer_good(const char *text, struct orr_snapshot *out)
{
    struct orr_err err;
    if (answer(text, NULL, out, &err) != ORR_OK) {
        fail_msg("%s", err.text);
    }
}

/* Decisions as "bind p n1; evict q n2 for j; ". */
static inline const char *decided(const struct orr_snapshot *snapshot, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < snapshot->decision_count && used < bytes; i++) {
        const struct orr_snapshot_decision *d = &snapshot->decisions[i];
        used += (size_t)snprintf(out + used, bytes - used, "%s %s %s%s%s; ", d->kind, d->pod,
                                 d->node, d->for_job != NULL ? " for " : "",
                                 d->for_job != NULL ? d->for_job : "");
    }
    return out;
}

#define ASSERT_DECIDED(snapshot, expected)                                                         \
    do {                                                                                           \
        char text_[2000];                                                                          \
        assert_string_equal(decided(snapshot, text_, sizeof text_), expected);                     \
    } while (0)

static inline const struct orr_snapshot_waiting *waits(const struct orr_snapshot *snapshot,
                                                       const char *job)
{
    for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
        if (strcmp(snapshot->waiting[i].job, job) == 0) {
            return &snapshot->waiting[i];
        }
    }
    fail_msg("job %s does not wait", job);
    return NULL;
}

static inline bool noted(const struct orr_snapshot *snapshot, const char *part)
{
    for (uint32_t i = 0; i < snapshot->note_count; i++) {
        if (strstr(snapshot->notes[i].text, part) != NULL) {
            return true;
        }
    }
    return false;
}

#endif
