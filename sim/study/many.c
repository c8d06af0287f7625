/* SPDX-License-Identifier: GPL-3.0-or-later */
/* many.c - several points or probes, a process each: no state is shared and none can spoil another.
 */
#include <orrery/sim/study.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/base/mem.h>

struct child { /* what a process says at its end */
    enum orr_status status;
    orr_ms start_ms; /* of a probe */
    char text[sizeof((struct orr_err *)0)->text];
};

struct slot {
    pid_t pid; /* 0: free */
    int from;  /* the reading end of its pipe */
    uint32_t task;
};

struct tasks { /* one of the two */
    const struct orr_point_options *points;
    struct orr_probe *probes;
    uint32_t count;
};

static void remember_unfinished(const char *temporary, void *context)
{
    (void)context;
    orr_interrupt_unfinished(temporary);
}

static struct child run_point(const struct orr_point_options *given)
{
    struct orr_point point;
    struct orr_err err = {0};
    struct orr_point_options options = *given;
    options.interrupted = orr_interrupt_catch();
    options.opened = remember_unfinished;
    struct child verdict = {.status = orr_point_run(&options, &point, &err)};
    memcpy(verdict.text, err.text, sizeof verdict.text);
    return verdict;
}

static struct child run_probe(const struct orr_probe *given)
{
    struct orr_probe probe = *given;
    struct orr_err err = {0};
    struct child verdict = {.status = orr_point_probe(&probe, orr_interrupt_catch(), &err)};
    verdict.start_ms = probe.start_ms;
    memcpy(verdict.text, err.text, sizeof verdict.text);
    return verdict;
}

/* In the child: does the task and writes its verdict. Nothing else of the parent is touched. */
static void be_a_task(const struct tasks *tasks, uint32_t task, int to)
{
    const struct child verdict =
        tasks->probes != NULL ? run_probe(&tasks->probes[task]) : run_point(&tasks->points[task]);
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
    *slot = (struct slot){.pid = pid, .from = ends[0], .task = task};
    return ORR_OK;
}

/* What the process of a task said; false: nothing. */
static bool hear(struct slot *slot, const volatile sig_atomic_t *interrupted, struct child *verdict)
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

/* Waits for the task's process, which an interrupt ends, and takes over what it says: a probe that
 * cannot be made is its own affair, a point that fails is everybody's. */
static enum orr_status collect(const struct tasks *tasks, struct slot *slot,
                               const volatile sig_atomic_t *interrupted, struct orr_err *err)
{
    struct child verdict = {.status = ORR_BUG};
    const bool whole = hear(slot, interrupted, &verdict);
    if (*interrupted) {
        return orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (!whole) {
        return orr_fail(err, ORR_BUG, "the run of %s ended without a word",
                        tasks->probes != NULL ? tasks->probes[slot->task].job
                                              : tasks->points[slot->task].output);
    }
    verdict.text[sizeof verdict.text - 1] = '\0';
    if (tasks->probes != NULL) {
        struct orr_probe *probe = &tasks->probes[slot->task];
        probe->status = verdict.status;
        probe->start_ms = verdict.start_ms;
        memcpy(probe->text, verdict.text, sizeof probe->text);
        return ORR_OK;
    }
    return verdict.status == ORR_OK ? ORR_OK : orr_fail(err, verdict.status, "%s", verdict.text);
}

static enum orr_status run_all(const struct tasks *tasks, const struct orr_study_options *options,
                               struct orr_err *err)
{
    uint32_t jobs = options->jobs > 0 ? options->jobs : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->jobs == 0 && cores > 1) {
        jobs = (uint32_t)cores;
    }
    jobs = jobs < tasks->count ? jobs : tasks->count;
    struct slot *slots = orr_zalloc(jobs + (size_t)1, sizeof *slots);
    const volatile sig_atomic_t *interrupted = orr_interrupt_catch();
    enum orr_status status = *interrupted ? orr_fail(err, ORR_INTERRUPTED, "interrupted") : ORR_OK;
    uint32_t next = 0, done = 0, oldest = 0, running = 0;
    while (running > 0 || (status == ORR_OK && next < tasks->count)) {
        if (status == ORR_OK && next < tasks->count && running < jobs) {
            /* slots are taken in turn, so the oldest is always the next to be waited for */
            status = start(tasks, next, &slots[(oldest + running) % jobs], err);
            running += status == ORR_OK;
            next++;
            continue;
        }
        const enum orr_status ended = collect(tasks, &slots[oldest], interrupted, err);
        status = status == ORR_OK ? ended : status;
        oldest = (oldest + 1) % jobs;
        running--;
        done++;
        if (options->progress != NULL) {
            options->progress(done, tasks->count, ORR_MS_NONE, options->context);
        }
    }
    orr_free(slots);
    return status;
}

enum orr_status orr_study_run(const struct orr_point_options *points, uint32_t count,
                              const struct orr_study_options *options, struct orr_err *err)
{
    const struct tasks tasks = {.points = points, .count = count};
    return run_all(&tasks, options, err);
}

enum orr_status orr_study_probe(struct orr_probe *probes, uint32_t count,
                                const struct orr_study_options *options, struct orr_err *err)
{
    const struct tasks tasks = {.probes = probes, .count = count};
    return run_all(&tasks, options, err);
}
