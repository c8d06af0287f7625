/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_limit_class.c - records that the limits of QOS and associations treat alike.
 *
 * Backfill asks for the limits of every record of the queue, cycle after cycle. Records of one
 * association, QOS and partition whose jobs ask the same get the same answer until a job starts or
 * stops or a tick passes, so each such class is judged once. The time limit of a job is a part of
 * what it asks as far as a limit hangs on it: all of it where minutes are limited, else only which
 * of the MaxWall it passes. */
#include "slurm_int.h"

#include <string.h>

#include <orrery/base/sort.h>

struct key { /* compared by its bytes: without holes */
    int64_t limit_ms;
    double tres[SLURM_TRES_COUNT];
    uint32_t assoc, qos, partition, core_placed;
};

struct slurm_limit_class {
    bool core_placed; /* its jobs may get further tasks while they run */
    uint64_t moves;   /* the answers are as of this state ... */
    orr_ms tick_ms;
    bool known[SLURM_PHASES]; /* ... those that were asked for */
    struct slurm_verdict verdicts[SLURM_PHASES];
};

/* --- open and close --- */

static void read_source(struct slurm_limit_classes *classes, const struct slurm_limits *limits,
                        bool safe)
{
    if (limits[SLURM_PER_JOB].wall_ms < ORR_MS_NEVER) {
        classes->walls =
            ORR_ROOM_FOR_ONE(classes->walls, classes->wall_count, classes->wall_capacity);
        classes->walls[classes->wall_count++] = limits[SLURM_PER_JOB].wall_ms;
    }
    classes->of_minutes = classes->of_minutes || limits[SLURM_RUN_MINUTES].any ||
                          limits[SLURM_JOB_MINUTES].any ||
                          (safe && limits[SLURM_GROUP_MINUTES].any);
}

void orr_slurm__limit_classes_open(struct slurm *slurm)
{
    struct slurm_limit_classes *classes = &slurm->limit_classes;
    const struct slurm_conf *conf = &slurm->conf;
    orr_idmap_init(&classes->keys);
    for (uint32_t q = 0; q < conf->qos_count; q++) {
        read_source(classes, conf->qos[q].limits, conf->enforce_safe);
    }
    for (uint32_t a = 0; a < conf->assoc_count; a++) {
        read_source(classes, conf->assocs[a].limits, conf->enforce_safe);
    }
    orr_sort_i64(classes->walls, classes->wall_count);
}

void orr_slurm__limit_classes_close(struct slurm *slurm)
{
    orr_idmap_release(&slurm->limit_classes.keys);
    orr_free(slurm->limit_classes.walls);
    orr_free(slurm->limit_classes.classes);
}

/* --- classes --- */

/* How many of the MaxWall a time limit passes. */
static uint32_t walls_passed(const struct slurm_limit_classes *classes, orr_ms limit_ms)
{
    uint32_t low = 0, high = classes->wall_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const bool passes = limit_ms > classes->walls[middle];
        low = passes ? middle + 1 : low;
        high = passes ? high : middle;
    }
    return low;
}

uint32_t orr_slurm__limit_class(struct slurm *slurm, uint32_t job, uint32_t partition)
{
    struct slurm_limit_classes *classes = &slurm->limit_classes;
    const struct slurm_job *j = &slurm->jobs[job];
    struct key key = {
        .assoc = j->assoc, .qos = j->qos, .partition = partition, .core_placed = j->core_placed};
    if (!slurm->conf.enforce_limits) {
        return ORR_NONE;
    }
    key.limit_ms = classes->of_minutes ? j->limit_ms : walls_passed(classes, j->limit_ms);
    memcpy(key.tres, j->tres, sizeof key.tres);
    const uint32_t class = orr_idmap_put(&classes->keys, (const char *)&key, sizeof key, NULL);
    classes->classes = orr_zgrow(classes->classes, &classes->capacity, class + (size_t)1,
                                 sizeof *classes->classes);
    classes->classes[class].core_placed = j->core_placed;
    return class;
}

/* --- answers --- */

/* What a job that runs has itself does not count against its further tasks. */
static bool gains_tasks(const struct slurm *slurm, const struct slurm_limit_class *class,
                        uint32_t job)
{
    return class->core_placed && slurm->jobs[job].state == SLURM_RUNS;
}

struct slurm_verdict orr_slurm__record_limits(const struct slurm *slurm,
                                              const struct orr_view *view,
                                              const struct slurm_record *record,
                                              enum slurm_phase phase)
{
    if (!slurm->conf.enforce_limits) {
        return (struct slurm_verdict){.reason = ORR_REASON_NONE};
    }
    struct slurm_limit_class *class = &slurm->limit_classes.classes[record->limit_class];
    if (class->moves != slurm->moves || class->tick_ms != slurm->last_tick_ms) {
        memset(class->known, 0, sizeof class->known);
        class->moves = slurm->moves;
        class->tick_ms = slurm->last_tick_ms;
    }
    if (class->known[phase] && !gains_tasks(slurm, class, record->job)) {
        return class->verdicts[phase];
    }
    const struct slurm_verdict verdict =
        orr_slurm__judge(slurm, view, record->job, record->partition, phase);
    if (slurm->jobs[record->job].state != SLURM_RUNS) { /* started, and still in the queue */
        class->known[phase] = true;
        class->verdicts[phase] = verdict;
    }
    return verdict;
}
