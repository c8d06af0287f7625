/* SPDX-License-Identifier: GPL-3.0-or-later */
/* many.c - several points, probes or other pieces of work, a process each: no state is shared and
 * none can spoil another. */
#include <orrery/sim/study.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/traces/shelf.h>

#include "study_int.h"

struct slot {
    pid_t pid; /* 0: free */
    int from;  /* the reading end of its pipe */
    uint32_t task;
    orr_ms until_ms; /* monotonic: then it is stopped; ORR_MS_NONE: never */
    bool late;       /* it was */
};

enum {
    GRACE_MS = 10000, /* for a process that is stopped, to remove what it has not finished */
    KILLS_MOST = 3    /* of one task, from outside: then it is believed to be too large */
};

struct tasks { /* one of the three */
    const struct orr_point_options *points;
    struct orr_probe *probes;
    orr_work_fn *work;
    void *context; /* of the work */
    uint32_t count;
    const struct orr_study_options *options;
    const uint32_t *first; /* of points: by task, those that share the run of no other */
    uint32_t point_count;
    uint32_t width;                /* processes a task may have at work at a time */
    struct orr_trace_shelf *shelf; /* for points; NULL: each reads its traces */
    uint8_t *kills;                /* per task: how often its process was killed from outside */
};

static orr_ms monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (orr_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void remember_unfinished(const char *temporary, void *context)
{
    (void)context;
    orr_interrupt_unfinished(temporary);
}

static struct orr_point_options options_of(const struct tasks *tasks, uint32_t task, uint32_t point)
{
    struct orr_point_options options = tasks->points[point];
    options.force =
        options.force || tasks->kills[task] > 0; /* it may have been done but for words */
    options.interrupted = orr_interrupt_catch();
    options.opened = remember_unfinished;
    options.shelf = tasks->shelf;
    return options;
}

/* The points whose trunk this one is. */
static uint32_t list_others(const struct tasks *tasks, uint32_t task,
                            struct orr_point_options *others)
{
    const uint32_t point = tasks->first[task];
    uint32_t count = 0;
    for (uint32_t p = 0; p < tasks->point_count; p++) {
        if (tasks->points[p].trunk == point + 1) {
            others[count++] = options_of(tasks, task, p);
        }
    }
    return count;
}

static struct orr_study__verdict run_point(const struct tasks *tasks, uint32_t task)
{
    struct orr_point_options options = options_of(tasks, task, tasks->first[task]);
    struct orr_point_options *others = orr_alloc(tasks->point_count + (size_t)1, sizeof *others);
    const uint32_t count = list_others(tasks, task, others);
    const struct orr_study__verdict verdict =
        count == 0 ? orr_study__run_alone(&options)
                   : orr_study__run_trunk(&options, others, count, tasks->width);
    orr_free(others);
    return verdict;
}

static struct orr_study__verdict run_probe(const struct orr_probe *given)
{
    struct orr_probe probe = *given;
    struct orr_err err = {0};
    struct orr_study__verdict verdict = {.status =
                                             orr_point_probe(&probe, orr_interrupt_catch(), &err)};
    verdict.start_ms = probe.start_ms;
    memcpy(verdict.text, err.text, sizeof verdict.text);
    return verdict;
}

static struct orr_study__verdict run_work(const struct tasks *tasks, uint32_t task)
{
    struct orr_err err = {0};
    struct orr_study__verdict verdict = {.status = tasks->work(tasks->context, task, &err)};
    memcpy(verdict.text, err.text, sizeof verdict.text);
    return verdict;
}

/* In the child: does the task and writes its verdict. Nothing else of the parent is touched. */
static void be_a_task(const struct tasks *tasks, uint32_t task, int to)
{
    if (tasks->options->memory_bytes > 0) {
        const struct rlimit most = {.rlim_cur = tasks->options->memory_bytes,
                                    .rlim_max = tasks->options->memory_bytes};
        (void)setrlimit(RLIMIT_AS, &most);
    }
    const struct orr_study__verdict verdict = tasks->work != NULL ? run_work(tasks, task)
                                              : tasks->probes != NULL
                                                  ? run_probe(&tasks->probes[task])
                                                  : run_point(tasks, task);
    const char *at = (const char *)&verdict;
    for (size_t left = sizeof verdict; left > 0;) {
        const ssize_t n = write(to, at, left);
        if (n <= 0 && errno != EINTR) {
            _exit(1);
        }
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    _exit(0);
}

static enum orr_status start(const struct tasks *tasks, uint32_t task, struct slot *slot,
                             struct orr_err *err)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return orr_fail(err, ORR_IO, "cannot make a pipe: %s", strerror(errno));
    }
    (void)fflush(NULL); /* or the child would print it again */
    const pid_t pid = fork();
    if (pid < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return orr_fail(err, ORR_IO, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        (void)close(ends[0]);
        be_a_task(tasks, task, ends[1]);
    }
    (void)close(ends[1]);
    const orr_ms limit_ms = tasks->options->time_ms;
    *slot = (struct slot){.pid = pid,
                          .from = ends[0],
                          .task = task,
                          .until_ms = limit_ms > 0 ? monotonic_ms() + limit_ms : ORR_MS_NONE};
    return ORR_OK;
}

/* What the process of a task said; false: nothing. `killed` gets the signal that ended it, or 0. */
static bool hear(struct slot *slot, const volatile sig_atomic_t *interrupted,
                 struct orr_study__verdict *verdict, int *killed)
{
    size_t have = 0;
    while (have < sizeof *verdict) {
        if (*interrupted) { /* perhaps nobody else told it */
            (void)kill(slot->pid, SIGTERM);
        }
        const ssize_t n = read(slot->from, (char *)verdict + have, sizeof *verdict - have);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        have += n > 0 ? (size_t)n : 0;
    }
    (void)close(slot->from);
    int ended = 0;
    while (waitpid(slot->pid, &ended, 0) < 0 && errno == EINTR) {
    }
    slot->pid = 0;
    *killed = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
    if (have < sizeof *verdict && WIFEXITED(ended) &&
        WEXITSTATUS(ended) == orr_status_exit_code(ORR_NO_MEMORY)) {
        verdict->status = ORR_NO_MEMORY;
        (void)snprintf(verdict->text, sizeof verdict->text,
                       "a run got no memory: -j says how many "
                       "go side by side");
        return true;
    }
    return have == sizeof *verdict;
}

/* What came of a task whose process has ended or says so. `again`: it was killed from outside, and
 * has not been so too often. */
static struct orr_study__verdict verdict_of(const struct tasks *tasks, struct slot *slot,
                                            const volatile sig_atomic_t *interrupted, bool *again)
{
    int killed;
    struct orr_study__verdict verdict = {.status = ORR_BUG};
    const bool late = slot->late, whole = hear(slot, interrupted, &verdict, &killed);
    *again = !late && !whole && killed == SIGKILL && ++tasks->kills[slot->task] < KILLS_MOST;
    if (late && (!whole || verdict.status == ORR_INTERRUPTED)) {
        verdict.status = ORR_INTERRUPTED;
        (void)snprintf(verdict.text, sizeof verdict.text, "stopped after %g s, the time limit",
                       (double)tasks->options->time_ms / 1000);
    } else if (verdict.status == ORR_NO_MEMORY && tasks->options->memory_bytes > 0) {
        (void)snprintf(verdict.text, sizeof verdict.text,
                       "needs more than %.4g MiB, the memory limit",
                       (double)tasks->options->memory_bytes / (1 << 20));
    } else if (!whole && killed == SIGKILL) {
        verdict.status = ORR_NO_MEMORY;
        (void)snprintf(verdict.text, sizeof verdict.text,
                       "a run was killed %d times, as Linux does with what takes too much memory: "
                       "-j says how many go side by side",
                       KILLS_MOST);
    } else if (!whole) {
        verdict.status = ORR_BUG;
        (void)snprintf(verdict.text, sizeof verdict.text, "the run of %.800s ended without a word",
                       tasks->work != NULL     ? "a future"
                       : tasks->probes != NULL ? tasks->probes[slot->task].job
                                               : tasks->points[tasks->first[slot->task]].output);
    }
    verdict.text[sizeof verdict.text - 1] = '\0';
    return verdict;
}

/* Takes over what a task's process says: a probe that cannot be made is its own affair, and so is a
 * point whose end somebody listens for; else a point that fails is everybody's. */
static enum orr_status collect(const struct tasks *tasks, struct slot *slot,
                               const volatile sig_atomic_t *interrupted, bool *again,
                               struct orr_err *err)
{
    const uint32_t task = slot->task;
    const struct orr_study__verdict verdict = verdict_of(tasks, slot, interrupted, again);
    if (*interrupted) {
        return orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (*again) {
        return ORR_OK;
    }
    if (tasks->probes != NULL && verdict.status != ORR_BUG) {
        struct orr_probe *probe = &tasks->probes[task];
        probe->status = verdict.status;
        probe->start_ms = verdict.start_ms;
        memcpy(probe->text, verdict.text, sizeof probe->text);
        return ORR_OK;
    }
    if (tasks->options->ended != NULL && tasks->work == NULL) {
        const uint32_t point = tasks->first != NULL ? tasks->first[task] : task;
        tasks->options->ended(point, verdict.status, verdict.text, tasks->options->context);
        return ORR_OK;
    }
    return verdict.status == ORR_OK ? ORR_OK : orr_fail(err, verdict.status, "%s", verdict.text);
}

/* The time until which to wait at most: -1 without limits. */
static int patience_ms(const struct slot *slots, uint32_t jobs)
{
    const orr_ms now = monotonic_ms();
    orr_ms least = ORR_MS_NONE;
    for (uint32_t i = 0; i < jobs; i++) {
        if (slots[i].pid != 0 && slots[i].until_ms != ORR_MS_NONE) {
            const orr_ms left = slots[i].until_ms > now ? slots[i].until_ms - now : 0;
            least = least == ORR_MS_NONE || left < least ? left : least;
        }
    }
    return least == ORR_MS_NONE ? -1 : least < 1000000 ? (int)least : 1000000;
}

/* Asks who is over its time to end, and ends it when it does not. */
static void stop_late(struct slot *slots, uint32_t jobs)
{
    const orr_ms now = monotonic_ms();
    for (uint32_t i = 0; i < jobs; i++) {
        struct slot *slot = &slots[i];
        if (slot->pid != 0 && slot->until_ms != ORR_MS_NONE && now >= slot->until_ms) {
            (void)kill(slot->pid, slot->late ? SIGKILL : SIGTERM);
            slot->late = true;
            slot->until_ms = now + GRACE_MS;
        }
    }
}

/* Waits until the process of some task has something to say; returns its slot. An interrupt is
 * handed on to all. */
static struct slot *wait_for_one(struct slot *slots, struct pollfd *polled, uint32_t jobs,
                                 const volatile sig_atomic_t *interrupted)
{
    for (;;) {
        for (uint32_t i = 0; i < jobs; i++) {
            polled[i] =
                (struct pollfd){.fd = slots[i].pid != 0 ? slots[i].from : -1, .events = POLLIN};
            if (*interrupted && slots[i].pid != 0) { /* perhaps nobody else told it */
                (void)kill(slots[i].pid, SIGTERM);
            }
        }
        const int ready = poll(polled, jobs, patience_ms(slots, jobs));
        for (uint32_t i = 0; ready > 0 && i < jobs; i++) {
            if (polled[i].revents != 0) {
                return &slots[i];
            }
        }
        stop_late(slots, jobs);
    }
}

static struct slot *free_slot(struct slot *slots, uint32_t jobs)
{
    uint32_t i = 0;
    while (i < jobs && slots[i].pid != 0) {
        i++;
    }
    return i < jobs ? &slots[i] : NULL;
}

static enum orr_status run_all(struct tasks *tasks, struct orr_err *err)
{
    const struct orr_study_options *options = tasks->options;
    uint32_t *again = orr_alloc(tasks->count + (size_t)1, sizeof *again), again_count = 0;
    uint32_t jobs = options->jobs > 0 ? options->jobs : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->jobs == 0 && cores > 1) {
        jobs = (uint32_t)cores;
    }
    tasks->width = tasks->count > 0 && jobs > tasks->count ? jobs / tasks->count : 1;
    jobs = jobs < tasks->count ? jobs : tasks->count;
    struct slot *slots = orr_zalloc(jobs + (size_t)1, sizeof *slots);
    struct pollfd *polled = orr_zalloc(jobs + (size_t)1, sizeof *polled);
    const volatile sig_atomic_t *interrupted = orr_interrupt_catch();
    enum orr_status status = *interrupted ? orr_fail(err, ORR_INTERRUPTED, "interrupted") : ORR_OK;
    uint32_t next = 0, done = 0, running = 0;
    tasks->kills = orr_zalloc(tasks->count + (size_t)1, sizeof *tasks->kills);
    while (running > 0 || (status == ORR_OK && (next < tasks->count || again_count > 0))) {
        if (status == ORR_OK && (next < tasks->count || again_count > 0) && running < jobs) {
            const uint32_t task = again_count > 0 ? again[--again_count] : next++;
            status = start(tasks, task, free_slot(slots, jobs), err);
            running += status == ORR_OK;
            continue;
        }
        bool is_killed = false;
        struct slot *slot = wait_for_one(slots, polled, jobs, interrupted);
        const uint32_t task = slot->task;
        const enum orr_status ended = collect(tasks, slot, interrupted, &is_killed, err);
        status = status == ORR_OK ? ended : status;
        running--;
        if (is_killed) {
            again[again_count++] = task;
            if (options->again != NULL) {
                options->again();
            }
            continue;
        }
        done++;
        if (options->progress != NULL) {
            options->progress(done, tasks->count, ORR_MS_NONE, options->context);
        }
    }
    orr_free(tasks->kills);
    orr_free(again);
    orr_free(polled);
    orr_free(slots);
    return status;
}

/* The traces of the first point, for all that read the same ones: a scenario that cannot be loaded
 * is its own point's failure. */
static void fill_shelf(struct orr_trace_shelf *shelf, const struct orr_point_options *point)
{
    struct orr_scenario scenario;
    struct orr_err ignored = {0};
    if (orr_scenario_load(&point->scenario, &scenario, &ignored) == ORR_OK) {
        const struct orr_world_options options = {.allow_loss_ppm = point->allow_loss_ppm,
                                                  .interrupted = orr_interrupt_catch(),
                                                  .shelf = shelf};
        orr_world_shelve(&scenario, &options);
        orr_scenario_release(&scenario);
    }
}

enum orr_status orr_study_run(const struct orr_point_options *points, uint32_t count,
                              const struct orr_study_options *options, struct orr_err *err)
{
    struct orr_trace_shelf shelf;
    uint32_t *first = orr_alloc(count + (size_t)1, sizeof *first);
    struct tasks tasks = {.points = points,
                          .point_count = count,
                          .first = first,
                          .options = options,
                          .shelf = &shelf};
    for (uint32_t p = 0; p < count; p++) {
        if (points[p].trunk == 0) {
            first[tasks.count++] = p;
        }
    }
    orr_trace_shelf_init(&shelf);
    if (count > 1) {
        fill_shelf(&shelf, &points[0]);
    }
    const enum orr_status status = run_all(&tasks, err);
    orr_trace_shelf_release(&shelf);
    orr_free(first);
    return status;
}

enum orr_status orr_study_probe(struct orr_probe *probes, uint32_t count,
                                const struct orr_study_options *options, struct orr_err *err)
{
    struct tasks tasks = {.probes = probes, .count = count, .options = options};
    return run_all(&tasks, err);
}

enum orr_status orr_study_fork(orr_work_fn *work, void *context, uint32_t count,
                               const struct orr_study_options *options, struct orr_err *err)
{
    struct tasks tasks = {.work = work, .context = context, .count = count, .options = options};
    return run_all(&tasks, err);
}
