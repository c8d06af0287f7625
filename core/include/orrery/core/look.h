/* SPDX-License-Identifier: GPL-3.0-or-later */
/* look.h - what a cycle looked at, step by step as it happens: for those who want to know why it
 * decided as it did. Nothing is passed on, and nothing costs more than a comparison, unless
 * somebody watches. */
#ifndef ORR_CORE_LOOK_H
#define ORR_CORE_LOOK_H

#include <orrery/base/units.h>

ORR_API_BEGIN

enum orr_look_kind {
    ORR_LOOK_ACTION,  /* an action begins */
    ORR_LOOK_JOB,     /* what became of one job in it */
    ORR_LOOK_ALIKE,   /* what became of jobs that are alike, none of which was looked at alone */
    ORR_LOOK_SCENARIO /* a set of victims was tried for a job, or turned down at a glance */
};

struct orr_look { /* ids are the caller's; texts are constants */
    enum orr_look_kind kind;
    const char *action;
    const char *result, *why; /* a code and a sentence; NULL: nothing to say */
    uint32_t job;             /* the first of those that are alike; ORR_NONE: no job */
    uint32_t jobs;            /* ALIKE: so many */
    uint32_t pods;            /* SCENARIO: of the job that are to be placed by it */
    const uint32_t *victims;  /* SCENARIO: the jobs of its victims, one entry a pod */
    uint32_t victim_count;
    uint64_t scenarios, refuted; /* JOB: simulated for it, and refuted by pruners without that */
    /* JOB, of policies that have them; NULL: nothing to say. By what number it stood in line, when
     * it is to start and on which nodes, as far as that is planned. */
    const int64_t *priority;
    const orr_ms *planned_ms;
    const uint32_t *nodes;
    uint32_t node_count;
};
typedef void orr_look_fn(void *context, const struct orr_look *look);

struct orr_watcher {
    orr_look_fn *look; /* NULL: nobody watches */
    void *context;
};

static inline bool orr_is_watched(const struct orr_watcher *watcher)
{
    return watcher->look != NULL;
}

static inline void orr_report_look(const struct orr_watcher *watcher, const struct orr_look *look)
{
    if (watcher->look != NULL) {
        watcher->look(watcher->context, look);
    }
}

ORR_API_END

#endif
