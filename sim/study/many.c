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
    bool written;    /* it only syncs its file: another one works beside it */
};

/* What a process writes to its pipe: at most once that its run is in a file that is to be synced,
 * which takes as long as the disk does and no CPU time; at its end, before its verdict. */
enum { SAYS_WRITTEN = 'w', SAYS_END = 'e' };

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

static bool write_whole(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        const ssize_t n = write(to, at, count);
        if (n <= 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* What is written needs the disk alone: an interrupt, which a terminal sends to all processes, does
 * not throw it away. */
static void report_written(void *context)
{
    const int *to = context;
    const char says = SAYS_WRITTEN;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)sigaction(SIGHUP, &ignore, NULL);
    (void)sigaction(SIGPIPE, &ignore, &before); /* who listens was killed: the results stay */
    (void)write_whole(*to, &says, 1);
    (void)sigaction(SIGPIPE, &before, NULL);
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

static struct orr_study__verdict run_point(const struct tasks *tasks, uint32_t task, int to)
{
    struct orr_point_options options = options_of(tasks, task, tasks->first[task]);
    struct orr_point_options *others = orr_alloc(tasks->point_count + (size_t)1, sizeof *others);
    const uint32_t count = list_others(tasks, task, others);
    options.written = count == 0 ? report_written : NULL; /* those that share it come after it */
    options.written_context = &to;
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
                                                  : run_point(tasks, task, to);
    const char says = SAYS_END;
    _exit(write_whole(to, &says, 1) && write_whole(to, &verdict, sizeof verdict) ? 0 : 1);
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

/* The next thing that the process of a task says, or 0 where it ended without a word. */
static char hear_what(const struct slot *slot)
{
    char says = 0;
    while (read(slot->from, &says, 1) < 0 && errno == EINTR) {
    }
    return says;
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
        (void)snprintf(verdict.text, sizeof verdict.text,
                       "stopped after %g s, the time limit (`limits` of the plan)",
                       (double)tasks->options->time_ms / 1000);
    } else if (verdict.status == ORR_NO_MEMORY && tasks->options->memory_bytes > 0) {
        (void)snprintf(verdict.text, sizeof verdict.text,
                       "needs more than %.4g MiB, the memory limit (`limits` of the plan)",
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
static int patience_ms(const struct slot *slots, uint32_t count)
{
    const orr_ms now = monotonic_ms();
    orr_ms least = ORR_MS_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].pid != 0 && slots[i].until_ms != ORR_MS_NONE) {
            const orr_ms left = slots[i].until_ms > now ? slots[i].until_ms - now : 0;
            least = least == ORR_MS_NONE || left < least ? left : least;
        }
    }
    return least == ORR_MS_NONE ? -1 : least < 1000000 ? (int)least : 1000000;
}

/* Asks who is over its time to end, and ends it when it does not. */
static void stop_late(struct slot *slots, uint32_t count)
{
    const orr_ms now = monotonic_ms();
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = &slots[i];
        if (slot->pid != 0 && slot->until_ms != ORR_MS_NONE && now >= slot->until_ms) {
            (void)kill(slot->pid, slot->late ? SIGKILL : SIGTERM);
            slot->late = true;
            slot->until_ms = now + GRACE_MS;
        }
    }
}

struct crew { /* the processes of a study */
    struct slot *slots;
    struct pollfd *polled;
    uint32_t slot_count, jobs;
    uint32_t running, working; /* processes; those of them that need CPU time */
    uint32_t *again;           /* tasks whose processes were killed */
    uint32_t again_count;
    struct orr_study__order *order;
    uint32_t begun, done; /* tasks */
};

/* Waits until the process of some task has something to say; returns its slot. An interrupt is
 * handed on to all. */
static struct slot *wait_for_one(struct crew *crew, const volatile sig_atomic_t *interrupted)
{
    struct slot *slots = crew->slots;
    for (;;) {
        for (uint32_t i = 0; i < crew->slot_count; i++) {
            crew->polled[i] =
                (struct pollfd){.fd = slots[i].pid != 0 ? slots[i].from : -1, .events = POLLIN};
            if (*interrupted && slots[i].pid != 0) { /* perhaps nobody else told it */
                (void)kill(slots[i].pid, SIGTERM);
            }
        }
        const int ready =
            poll(crew->polled, crew->slot_count, patience_ms(slots, crew->slot_count));
        for (uint32_t i = 0; ready > 0 && i < crew->slot_count; i++) {
            if (crew->polled[i].revents != 0) {
                return &slots[i];
            }
        }
        stop_late(slots, crew->slot_count);
    }
}

/* There are as many that only sync as there are at work, at most. */
static struct slot *free_slot(const struct crew *crew)
{
    uint32_t i = 0;
    while (i < crew->slot_count && crew->slots[i].pid != 0) {
        i++;
    }
    return i < crew->slot_count && crew->working < crew->jobs ? &crew->slots[i] : NULL;
}

/* Tasks without a seed are as those of one: they begin in their order. */
static struct orr_study__order *order_of(const struct tasks *tasks)
{
    uint64_t *seeds = orr_zalloc(tasks->count + (size_t)1, sizeof *seeds);
    for (uint32_t t = 0; t < tasks->count && tasks->points != NULL; t++) {
        seeds[t] = tasks->points[tasks->first[t]].scenario.seed;
    }
    struct orr_study__order *order = orr_study__order_open(seeds, tasks->count);
    orr_free(seeds);
    return order;
}

static uint32_t crew_open(struct crew *crew, const struct tasks *tasks)
{
    uint32_t jobs = tasks->options->jobs > 0 ? tasks->options->jobs : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (tasks->options->jobs == 0 && cores > 1) {
        jobs = (uint32_t)cores;
    }
    const uint32_t most = jobs < tasks->count ? jobs : tasks->count;
    *crew = (struct crew){.jobs = most, .slot_count = 2 * most};
    crew->slots = orr_zalloc(crew->slot_count + (size_t)1, sizeof *crew->slots);
    crew->polled = orr_zalloc(crew->slot_count + (size_t)1, sizeof *crew->polled);
    crew->again = orr_alloc(tasks->count + (size_t)1, sizeof *crew->again);
    crew->order = order_of(tasks);
    return jobs;
}

static void crew_close(struct crew *crew)
{
    orr_study__order_close(crew->order);
    orr_free(crew->again);
    orr_free(crew->polled);
    orr_free(crew->slots);
}

/* Hears some process: then there may be room for the next one, or a task is done. */
static enum orr_status take_word(struct crew *crew, struct tasks *tasks,
                                 const volatile sig_atomic_t *interrupted, struct orr_err *err)
{
    const struct orr_study_options *options = tasks->options;
    struct slot *slot = wait_for_one(crew, interrupted);
    const uint32_t task = slot->task;
    if (hear_what(slot) == SAYS_WRITTEN) {
        slot->written = true;
        slot->until_ms = ORR_MS_NONE; /* the limit is of the run, not of the disk */
        crew->working--;
        return ORR_OK;
    }
    bool is_killed = false;
    crew->working -= slot->written ? 0 : 1;
    crew->running--;
    const enum orr_status status = collect(tasks, slot, interrupted, &is_killed, err);
    if (is_killed) {
        crew->again[crew->again_count++] = task;
        if (options->again != NULL) {
            options->again();
        }
        return status;
    }
    crew->done++;
    orr_study__order_ended(crew->order, task, monotonic_ms());
    if (options->progress != NULL) {
        options->progress(crew->done, tasks->count, ORR_MS_NONE, options->context);
    }
    return status;
}

static uint32_t begin_next(struct crew *crew)
{
    crew->begun++;
    return orr_study__order_next(crew->order, monotonic_ms());
}

static enum orr_status run_all(struct tasks *tasks, struct orr_err *err)
{
    struct crew crew;
    const uint32_t jobs = crew_open(&crew, tasks);
    const volatile sig_atomic_t *interrupted = orr_interrupt_catch();
    enum orr_status status = *interrupted ? orr_fail(err, ORR_INTERRUPTED, "interrupted") : ORR_OK;
    tasks->width = tasks->count > 0 && jobs > tasks->count ? jobs / tasks->count : 1;
    tasks->kills = orr_zalloc(tasks->count + (size_t)1, sizeof *tasks->kills);
    for (;;) {
        const bool more = status == ORR_OK && (crew.begun < tasks->count || crew.again_count > 0);
        struct slot *slot = more ? free_slot(&crew) : NULL;
        if (slot != NULL) {
            const uint32_t task =
                crew.again_count > 0 ? crew.again[--crew.again_count] : begin_next(&crew);
            status = start(tasks, task, slot, err);
            crew.running += status == ORR_OK;
            crew.working += status == ORR_OK;
        } else if (crew.running > 0) {
            const enum orr_status ended = take_word(&crew, tasks, interrupted, err);
            status = status == ORR_OK ? ended : status;
        } else {
            break;
        }
    }
    orr_free(tasks->kills);
    crew_close(&crew);
    return status;
}

void orr_study_shelve(struct orr_trace_shelf *shelf, const struct orr_point_options *point)
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
    struct orr_trace_shelf own;
    uint32_t *first = orr_alloc(count + (size_t)1, sizeof *first);
    struct tasks tasks = {.points = points,
                          .point_count = count,
                          .first = first,
                          .options = options,
                          .shelf = options->shelf != NULL ? options->shelf : &own};
    for (uint32_t p = 0; p < count; p++) {
        if (points[p].trunk == 0) {
            first[tasks.count++] = p;
        }
    }
    orr_trace_shelf_init(&own);
    if (count > 1 && options->shelf == NULL) {
        orr_study_shelve(&own, &points[0]);
    }
    const enum orr_status status = run_all(&tasks, err);
    orr_trace_shelf_release(&own);
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
