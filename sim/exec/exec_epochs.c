/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_epochs.c - jobs that work through the epochs of a table.
 *
 * Outside of rounds an epoch is a stretch of the job's work, as long as it takes in the reference
 * placement, that goes at a rate of its own; all the rest is as for any other work.
 *
 * In rounds as the simulators that publish such tables do: within a round progress grows by rate x
 * seconds, an epoch that ends in it takes the whole seconds nearest to the exact ratio, halves to
 * even, and ends at exactly its own progress. Less than half a second that is left when a round
 * ends is done at the very beginning of the next one, in which the job still holds its devices: so
 * the engine hears of such an end a millisecond later. */
#include "exec_int.h"

#include <orrery/base/mem.h>

struct stand { /* how far a job is */
    uint32_t epoch;
    double progress; /* in the table's unit */
};

struct epoch_job {
    struct stand now, saved;    /* in rounds */
    struct orr_pace pace, best; /* where it is placed, and in the best placement */
    int64_t share_ppm;          /* of that pace, among its neighbours */
    uint32_t work;              /* outside of rounds: in works, once it was placed */
};

struct epoch_work { /* of a profile on so many GPUs */
    uint32_t profile, gpus;
    struct orr_pace reference;
    int64_t *ends; /* of each epoch, ms x ppm of work from the start */
};

struct orr_exec_epochs {
    orr_ms round_ms; /* 0: not in rounds */
    struct epoch_job *jobs;
    struct epoch_work *works;
    uint32_t work_count, work_capacity;
};

struct orr_exec_epochs *orr_exec__epochs_open(const struct orr_ledger *ledger,
                                              const struct orr_exec_setting *setting)
{
    bool any = false;
    for (uint32_t p = 0; setting->profiles != NULL && p < setting->profiles->count; p++) {
        any = any || setting->profiles->items[p].epoch_count > 0;
    }
    if (!any) {
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
        for (uint32_t w = 0; w < epochs->work_count; w++) {
            orr_free(epochs->works[w].ends);
        }
        orr_free(epochs->works);
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

bool orr_exec__in_rounds(const struct orr_exec *exec, uint32_t job)
{
    return exec->epochs != NULL && exec->epochs->round_ms > 0 && orr_exec__has_epochs(exec, job);
}

static const struct orr_profile *profile_of(const struct orr_exec *exec, uint32_t job)
{
    return &exec->setting.profiles->items[orr_exec__terms(exec, job)->profile];
}

/* --- outside of rounds --- */

/* Work is stated for all the GPUs the job asks, whatever it holds. */
static uint32_t work_of(const struct orr_exec *exec, uint32_t job)
{
    struct orr_exec_epochs *epochs = exec->epochs;
    const struct orr_profile *profile = profile_of(exec, job);
    int64_t mgpu = orr_exec__shape(exec, job)->gpus_mgpu;
    struct epoch_work made = {.profile = orr_exec__terms(exec, job)->profile,
                              .gpus = (uint32_t)((mgpu + ORR_MGPU - 1) / ORR_MGPU)};
    for (uint32_t w = 0; w < epochs->work_count; w++) {
        if (epochs->works[w].profile == made.profile && epochs->works[w].gpus == made.gpus) {
            return w;
        }
    }
    made.reference = orr_profile_reference_pace(profile, made.gpus);
    made.ends = orr_alloc(profile->epoch_count, sizeof *made.ends);
    double work = 0.0, begin = 0.0;
    for (uint32_t e = 0; e < profile->epoch_count; e++) {
        double rate = orr_profile_epoch_rate(profile, e, made.reference);
        work += rate > 0.0 ? (profile->epochs[e].end - begin) / rate * 1000.0 : 0.0;
        begin = profile->epochs[e].end;
        made.ends[e] = (int64_t)(work * ORR_PPM + 0.5);
    }
    epochs->works = ORR_ROOM_FOR_ONE(epochs->works, epochs->work_count, epochs->work_capacity);
    epochs->works[epochs->work_count] = made;
    return epochs->work_count++;
}

void orr_exec__epochs_pace(struct orr_exec *exec, uint32_t job)
{
    struct epoch_job *e = &exec->epochs->jobs[job];
    e->pace = orr_exec__pace(exec, job, &e->best, &e->share_ppm);
    if (exec->epochs->round_ms == 0) {
        e->work = work_of(exec, job);
    }
}

/* Of an epoch, what the pace is of another, ppm. */
static int64_t pace_ppm(const struct orr_profile *profile, uint32_t epoch, struct orr_pace pace,
                        struct orr_pace of, int64_t share_ppm)
{
    double rate = orr_profile_epoch_rate(profile, epoch, pace);
    double full = orr_profile_epoch_rate(profile, epoch, of);
    double ratio = full > 0.0 ? rate / full * (double)share_ppm : 0.0;
    int64_t ppm = ratio < 1e12 ? (int64_t)(ratio + 0.5) : (int64_t)1000000 * ORR_PPM;
    return ppm > 0 ? ppm : 1; /* no figure: as good as no progress */
}

/* The one that begins at, or goes on from `done`. */
static uint32_t epoch_at(const struct orr_profile *profile, const struct epoch_work *work,
                         int64_t done)
{
    uint32_t low = 0, high = profile->epoch_count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (work->ends[middle] <= done) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct orr_exec_stretch orr_exec__stretch(const struct orr_exec *exec, uint32_t job, int64_t done)
{
    const struct orr_profile *profile = profile_of(exec, job);
    const struct epoch_job *e = &exec->epochs->jobs[job];
    const struct epoch_work *work = &exec->epochs->works[e->work];
    const uint32_t epoch = epoch_at(profile, work, done);
    int64_t of_best = pace_ppm(profile, epoch, e->pace, e->best, e->share_ppm);
    return (struct orr_exec_stretch){
        .end = work->ends[epoch],
        .rate_ppm = pace_ppm(profile, epoch, e->pace, work->reference, e->share_ppm),
        .short_ppm = orr_exec__short_ppm(of_best, ORR_PPM),
        .last = epoch + 1 == profile->epoch_count};
}

/* --- in rounds --- */

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

orr_ms orr_exec__epochs_work(struct orr_exec *exec, uint32_t job, orr_ms from, orr_ms to)
{
    const struct orr_profile *profile = profile_of(exec, job);
    struct epoch_job *e = &exec->epochs->jobs[job];
    orr_ms slow = 0;
    while (from < to && e->now.epoch < profile->epoch_count) {
        orr_ms before = from, end = orr_round_end(from, exec->epochs->round_ms);
        int64_t of_best = pace_ppm(profile, e->now.epoch, e->pace, e->best, e->share_ppm);
        from = go_on(profile, e, &e->now, from, end < to ? end : to);
        slow += orr_part_of(from - before, orr_exec__short_ppm(of_best, ORR_PPM));
    }
    return slow;
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

/* --- for who asks how far it is --- */

static const struct epoch_work *epoch_work_of(const struct orr_exec *exec, uint32_t job)
{
    const uint32_t work = work_of(exec, job); /* may move them all */
    return &exec->epochs->works[work];
}

orr_ms orr_exec__epochs_work_ms(const struct orr_exec *exec, uint32_t job)
{
    const struct epoch_work *work = epoch_work_of(exec, job);
    return work->ends[profile_of(exec, job)->epoch_count - 1] / ORR_PPM;
}

int64_t orr_exec__epochs_rate_at(const struct orr_exec *exec, uint32_t job, int64_t done,
                                 struct orr_pace pace)
{
    const struct orr_profile *profile = profile_of(exec, job);
    const struct epoch_work *work = epoch_work_of(exec, job);
    const uint32_t last = profile->epoch_count - 1, stand = exec->epochs->jobs[job].now.epoch;
    const uint32_t epoch = exec->epochs->round_ms == 0 ? epoch_at(profile, work, done)
                           : stand < last              ? stand
                                                       : last;
    return pace.step_s > 0.0 ? pace_ppm(profile, epoch, pace, work->reference, ORR_PPM) : 0;
}

/* The work up to there in the reference placement. */
static orr_ms work_up_to(const struct orr_profile *profile, const struct epoch_work *work,
                         const struct stand *stand)
{
    const double before = stand->epoch == 0 ? 0.0 : profile->epochs[stand->epoch - 1].end;
    const int64_t done = stand->epoch == 0 ? 0 : work->ends[stand->epoch - 1];
    if (stand->epoch == profile->epoch_count) {
        return done / ORR_PPM;
    }
    const double rate = orr_profile_epoch_rate(profile, stand->epoch, work->reference);
    const double part = rate > 0.0 ? (stand->progress - before) / rate * 1000.0 : 0.0;
    return (orr_ms)((double)done / ORR_PPM + part);
}

int64_t orr_exec__epochs_progress(const struct orr_exec *exec, uint32_t job, orr_ms from,
                                  orr_ms now, struct orr_job_progress *progress)
{
    const struct orr_profile *profile = profile_of(exec, job);
    const struct epoch_job *e = &exec->epochs->jobs[job];
    const struct epoch_work *work = epoch_work_of(exec, job);
    struct stand stand = e->now;
    while (from < now && stand.epoch < profile->epoch_count) {
        const orr_ms end = orr_round_end(from, exec->epochs->round_ms);
        from = go_on(profile, e, &stand, from, end < now ? end : now);
    }
    progress->work_ms = work->ends[profile->epoch_count - 1] / ORR_PPM;
    progress->done_ms = work_up_to(profile, work, &stand);
    progress->kept_ms = work_up_to(profile, work, &e->saved);
    const uint32_t last = profile->epoch_count - 1;
    return pace_ppm(profile, stand.epoch < last ? stand.epoch : last, e->pace, work->reference,
                    e->share_ppm);
}
