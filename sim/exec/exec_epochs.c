/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_epochs.c - jobs that work through the epochs of a table, round by round.
 *
 * As the simulators that publish such tables do: within a round progress grows by rate x seconds,
 * an epoch that ends in it takes the whole seconds nearest to the exact ratio, halves to even, and
 * ends at exactly its own progress. Less than half a second that is left when a round ends is done
 * at the very beginning of the next one, in which the job still holds its devices: so the engine
 * hears of such an end a millisecond later. */
#include "exec_int.h"

#include <orrery/base/mem.h>

struct stand { /* how far a job is */
    uint32_t epoch;
    double progress; /* in the table's unit */
};

struct epoch_job {
    struct stand now, saved;
    struct orr_pace pace; /* where it is placed */
    int64_t share_ppm;    /* of that pace, among its neighbours */
};

struct orr_exec_epochs {
    orr_ms round_ms;
    struct epoch_job *jobs;
};

struct orr_exec_epochs *orr_exec__epochs_open(const struct orr_ledger *ledger,
                                              const struct orr_exec_setting *setting)
{
    bool any = false;
    for (uint32_t p = 0; setting->profiles != NULL && p < setting->profiles->count; p++) {
        any = any || setting->profiles->items[p].epoch_count > 0;
    }
    if (!any || setting->round_ms == 0) {
        return NULL;
    }
    struct orr_exec_epochs *epochs = orr_zalloc(1, sizeof *epochs);
    epochs->round_ms = setting->round_ms;
    epochs->jobs = orr_zalloc(ledger->world.job_count, sizeof *epochs->jobs);
    return epochs;
}

void orr_exec__epochs_close(struct orr_exec_epochs *epochs)
{
    if (epochs != NULL) {
        orr_free(epochs->jobs);
        orr_free(epochs);
    }
}

bool orr_exec__has_epochs(const struct orr_exec *exec, uint32_t job)
{
    if (exec->epochs == NULL) {
        return false;
    }
    uint32_t profile = orr_exec__terms(exec, job)->profile;
    return profile != ORR_NONE && exec->setting.profiles->items[profile].epoch_count > 0;
}

static const struct orr_profile *profile_of(const struct orr_exec *exec, uint32_t job)
{
    return &exec->setting.profiles->items[orr_exec__terms(exec, job)->profile];
}

void orr_exec__epochs_pace(struct orr_exec *exec, uint32_t job)
{
    struct epoch_job *e = &exec->epochs->jobs[job];
    e->pace = orr_exec__pace(exec, job, &e->share_ppm);
}

void orr_exec__epochs_save(struct orr_exec *exec, uint32_t job)
{
    exec->epochs->jobs[job].saved = exec->epochs->jobs[job].now;
}

void orr_exec__epochs_back(struct orr_exec *exec, uint32_t job)
{
    exec->epochs->jobs[job].now = exec->epochs->jobs[job].saved;
}

static double rate_of(const struct orr_profile *profile, const struct epoch_job *e, uint32_t epoch)
{
    double rate = orr_profile_epoch_rate(profile, epoch, e->pace);
    return e->share_ppm == ORR_PPM ? rate : rate * (double)e->share_ppm / ORR_PPM;
}

/* Goes on from `at` to `to`, both in one round, or to the end of the epoch; the time then. */
static orr_ms go_on(const struct orr_profile *profile, const struct epoch_job *e,
                    struct stand *stand, orr_ms at, orr_ms to)
{
    double rate = rate_of(profile, e, stand->epoch), seconds = (double)(to - at) / 1000.0;
    double end = profile->epochs[stand->epoch].end;
    if (!(rate > 0.0)) {
        return to;
    }
    if (stand->progress + rate * seconds < end) {
        stand->progress += rate * seconds;
        return to;
    }
    orr_ms done = at + 1000 * orr_profile_epoch_left_s(end, stand->progress, rate);
    *stand = (struct stand){.epoch = stand->epoch + 1, .progress = end};
    return done < to ? done : to; /* of part of a second there may be less than was rounded to */
}

void orr_exec__epochs_work(struct orr_exec *exec, uint32_t job, orr_ms from, orr_ms to)
{
    const struct orr_profile *profile = profile_of(exec, job);
    struct epoch_job *e = &exec->epochs->jobs[job];
    while (from < to && e->now.epoch < profile->epoch_count) {
        orr_ms end = orr_round_end(from, exec->epochs->round_ms);
        from = go_on(profile, e, &e->now, from, end < to ? end : to);
    }
}

orr_ms orr_exec__epochs_done_ms(const struct orr_exec *exec, uint32_t job, orr_ms from,
                                orr_ms *heard)
{
    const struct orr_profile *profile = profile_of(exec, job);
    const struct epoch_job *e = &exec->epochs->jobs[job];
    struct stand stand = e->now;
    bool at_once = false; /* the last step took no time at the beginning of a round */
    while (stand.epoch < profile->epoch_count) {
        if (!(rate_of(profile, e, stand.epoch) > 0.0)) {
            *heard = ORR_MS_NEVER;
            return ORR_MS_NEVER;
        }
        orr_ms before = from;
        from = go_on(profile, e, &stand, from, orr_round_end(from, exec->epochs->round_ms));
        at_once = from == before && from % exec->epochs->round_ms == 0;
    }
    *heard = from + at_once;
    return from;
}
