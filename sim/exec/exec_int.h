/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec_int.h - what exec.c (plans), exec_book.c (books), exec_waste.c (where time went into
 * nothing, or was slow), exec_epochs.c and exec_rate.c (rates) share. */
#ifndef ORR_SIM_EXEC_INT_H
#define ORR_SIM_EXEC_INT_H

#include <orrery/sim/exec.h>

enum orr_exec_mode {
    MODE_IDLE,    /* holds nothing, or only what leaves */
    MODE_WAITING, /* holds part of a gang that never was complete */
    MODE_WORKING,
    MODE_STALLED,   /* below its minimum */
    MODE_SUSPENDED, /* works no more until it is resumed */
    MODE_CLOSING,   /* evicted, and working until its last checkpoint has to begin */
    MODE_SERVING    /* a service: each pod that it keeps is of use by itself, until it is over */
};

enum orr_exec_pause { PAUSE_NONE, PAUSE_RESTART, PAUSE_CHECKPOINT };

struct orr_exec_job {
    int64_t done;          /* ms x ppm, at from_ms */
    int64_t saved;         /* ms x ppm, in the last finished checkpoint */
    int64_t mark;          /* progress at which the next checkpoint begins; INT64_MAX: none */
    int64_t unsaved;       /* mGPU x ms worked since the last finished checkpoint */
    orr_ms from_ms;        /* booked up to here */
    orr_ms bound_ms;       /* no progress and no pause before */
    orr_ms ready_ms;       /* the pause ends here */
    orr_ms work_until_ms;  /* CLOSING */
    orr_ms suspended_ms;   /* SUSPENDED: since when */
    int64_t mgpu, leaving; /* held by tasks that stay, and by those that leave */
    int64_t unsaved_slow;  /* of unsaved: what a rate below the best took away */
    int64_t rate_ppm;
    int64_t short_ppm; /* what that is below the best rate of so many GPUs */
    uint32_t attempt;
    uint32_t noted; /* its last speed that was written down, + 1 */
    uint8_t mode;   /* enum orr_exec_mode */
    uint8_t pause;  /* enum orr_exec_pause */
    uint8_t cause;  /* of what leaves */
    struct orr_job_time time;
};

struct orr_exec_rates;
struct orr_exec_epochs; /* exec_epochs.c */
struct orr_exec_wastes; /* exec_waste.c */

struct orr_exec {
    const struct orr_ledger *ledger;
    struct orr_exec_setting setting;
    struct orr_exec_job *jobs;
    struct orr_exec_rates *rates;
    struct orr_exec_epochs *epochs; /* NULL: no job works by epochs */
    struct orr_exec_wastes *wastes; /* lost, overhead, waiting */
    struct orr_exec_wastes *slows;  /* of useful time: time.slow; NULL: no job was slow so far */
    struct orr_speed_change *speeds;
    uint32_t speed_count, speed_capacity;
};

static inline const struct orr_terms *orr_exec__terms(const struct orr_exec *exec, uint32_t job)
{
    return &exec->setting.terms->items[exec->ledger->world.specs[job].terms];
}

static inline const struct orr_shape *orr_exec__shape(const struct orr_exec *exec, uint32_t job)
{
    const struct orr_ledger_world *world = &exec->ledger->world;
    return &world->shapes->shapes[world->specs[job].shape];
}

struct orr_exec_rates *orr_exec__rates_open(const struct orr_ledger *ledger,
                                            const struct orr_exec_setting *setting);
void orr_exec__rates_close(struct orr_exec_rates *rates, const struct orr_ledger *ledger);
/* How fast the job is where it is, among its neighbours as last settled; a rate of at least 1. */
struct orr_speed orr_exec__speed(struct orr_exec *exec, uint32_t job);
/* 1 - rate / best, ppm: what is missing to the best rate. */
static inline int64_t orr_exec__short_ppm(int64_t rate_ppm, int64_t best_ppm)
{
    return rate_ppm >= best_ppm ? 0 : ORR_PPM - rate_ppm * ORR_PPM / best_ppm;
}
/* Is the placement part of what its job works on: of what it keeps, or of what leaves at the end of
 * a grace in which it works? */
bool orr_exec__works_on(const struct orr_exec *exec, const struct orr_placement *placement);
/* It works on what it holds now: on links and devices that others use too; leave first. */
void orr_exec__join(struct orr_exec *exec, uint32_t job);
void orr_exec__leave(struct orr_exec *exec, uint32_t job); /* nothing if it is nowhere */

/* The pace of its placement by its table, that of the best one, and what part of its pace the job
 * gets among its neighbours. */
struct orr_pace orr_exec__pace(struct orr_exec *exec, uint32_t job, struct orr_pace *best,
                               int64_t *share_ppm);

/* --- the books --- */

/* All work of the job, in ms x ppm; what is to be done before the next plan is made: all, or the
 * stage in hand. */
int64_t orr_exec__all(const struct orr_exec *exec, uint32_t job);
int64_t orr_exec__target(const struct orr_exec *exec, uint32_t job);
/* NULL: the job has none. */
const struct orr_crew *orr_exec__crew(const struct orr_exec *exec, uint32_t job);
/* Books everything up to now by the plan that held until now. */
void orr_exec__settle(struct orr_exec *exec, uint32_t job, orr_ms now);
/* All that it worked is kept. */
void orr_exec__keep(struct orr_exec *exec, uint32_t job);
/* An interruption: what was not saved is lost, unless the job keeps all. */
void orr_exec__interrupt(struct orr_exec *exec, uint32_t job, enum orr_cause cause);
/* ms of work and checkpoints until the stage in hand, or all, is done; not by epochs in rounds. */
orr_ms orr_exec__work_left_ms(const struct orr_exec *exec, uint32_t job);
/* A copy of the job, which it works on to `now`; not by epochs in rounds. */
void orr_exec__foresee(const struct orr_exec *exec, uint32_t job, struct orr_exec_job *j,
                       orr_ms now);

/* --- where time went into nothing --- */

struct orr_exec_wastes *orr_exec__wastes_open(uint32_t job_count);
void orr_exec__wastes_close(struct orr_exec_wastes *wastes);
/* Between two times so much of what the job held was of no use; nothing if it is 0. `part`: as in
 * struct orr_waste. */
void orr_exec__waste(struct orr_exec_wastes *wastes, uint32_t job, uint8_t part, orr_ms from,
                     orr_ms to, int64_t mgpu_ms);
/* It worked so much between two times, which nothing keeps yet. */
void orr_exec__waste_if_lost(struct orr_exec_wastes *wastes, uint32_t job, orr_ms from, orr_ms to,
                             int64_t mgpu_ms);
/* What became of work is known: its rows stay as that part, or are dropped. Work that is lost stays
 * wasted; work that is kept stays slow. */
void orr_exec__waste_decided(struct orr_exec_wastes *wastes, uint32_t job, bool stays,
                             uint8_t part);

/* --- epochs; for jobs that have some --- */

/* NULL: no profile has epochs. */
struct orr_exec_epochs *orr_exec__epochs_open(const struct orr_ledger *ledger,
                                              const struct orr_exec_setting *setting);
void orr_exec__epochs_close(struct orr_exec_epochs *epochs);
bool orr_exec__has_epochs(const struct orr_exec *exec, uint32_t job);
/* Takes the pace of where it is from now on. */
void orr_exec__epochs_pace(struct orr_exec *exec, uint32_t job);

/* What all epochs take in the reference placement. */
orr_ms orr_exec__epochs_work_ms(const struct orr_exec *exec, uint32_t job);
/* The rate in ppm of the reference's that a pace gives in the epoch the job is in; `done`: its work
 * so far, ms x ppm, which counts outside of rounds. */
int64_t orr_exec__epochs_rate_at(const struct orr_exec *exec, uint32_t job, int64_t done,
                                 struct orr_pace pace);
/* What it has done when it was last booked, ms x ppm. */
int64_t orr_exec__done(const struct orr_exec *exec, uint32_t job);

/* Outside of rounds: a stretch of work at one rate. */
struct orr_exec_stretch {
    int64_t end; /* of the job's work, ms x ppm at its reference placement */
    int64_t rate_ppm, short_ppm;
    bool last;
};
/* The one that begins at, or goes on from `done`. */
struct orr_exec_stretch orr_exec__stretch(const struct orr_exec *exec, uint32_t job, int64_t done);

/* In rounds: as the simulators that published such tables. */
bool orr_exec__in_rounds(const struct orr_exec *exec, uint32_t job); /* it has epochs, too */
void orr_exec__epochs_save(struct orr_exec *exec, uint32_t job);     /* what it did is kept */
void orr_exec__epochs_back(struct orr_exec *exec, uint32_t job);     /* to what is kept */
/* Works on; returns how many of these ms a rate below the best took away. */
orr_ms orr_exec__epochs_work(struct orr_exec *exec, uint32_t job, orr_ms from, orr_ms to);
/* How far it is at `now` if it works since `from`, and its rate there: fills in the work, what of
 * it is done and what is saved. */
int64_t orr_exec__epochs_progress(const struct orr_exec *exec, uint32_t job, orr_ms from,
                                  orr_ms now, struct orr_job_progress *progress);
/* When its last epoch ends if it works on from `from`; `heard`: when the engine is to hear of it.
 */
orr_ms orr_exec__epochs_done_ms(const struct orr_exec *exec, uint32_t job, orr_ms from,
                                orr_ms *heard);

#endif
