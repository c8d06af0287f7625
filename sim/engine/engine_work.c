/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_work.c - what a policy may know of how its jobs get on. */
#include "engine_int.h"

/* Without exec work is wall time, nothing outlives an eviction, and the policy contract's own
 * answer is right. */
static void read_progress(void *self, const struct orr_view *view, uint32_t job,
                          struct orr_job_progress *progress)
{
    const struct engine *engine = self;
    orr_exec_progress(engine->exec, job, view->now, progress);
}

static orr_ms tell_deadline(void *self, const struct orr_view *view, uint32_t job)
{
    const struct engine *engine = self;
    (void)view;
    return orr_world_deadline_ms(engine->world, job);
}

static int64_t tell_rate_at(void *self, const struct orr_view *view, uint32_t job,
                            const struct orr_seat *seats, uint32_t count)
{
    const struct engine *engine = self;
    (void)view;
    return orr_exec_rate_at(engine->exec, job, seats, count);
}

void orr_engine__work_open(struct engine *engine)
{
    engine->words = orr_world_words(engine->world);
    engine->view.words = &engine->words;
    engine->work = (struct orr_view_work){.deadline_ms = tell_deadline, .self = engine};
    if (engine->exec != NULL) {
        engine->work.progress = read_progress;
        engine->work.rate_at = tell_rate_at;
    }
    engine->view.work = &engine->work;
}
