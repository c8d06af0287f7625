/* SPDX-License-Identifier: GPL-3.0-or-later */
/* many.c - several points, a process each: no state is shared and none can spoil another. */
#include <orrery/sim/study.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/base/mem.h>

struct child { /* what a point's process says at its end */
    enum orr_status status;
    char text[sizeof((struct orr_err *)0)->text];
};

struct slot {
    pid_t pid; /* 0: free */
    int from;  /* the reading end of its pipe */
    uint32_t point;
};

static void remember_unfinished(const char *temporary, void *context)
{
    (void)context;
    orr_interrupt_unfinished(temporary);
}

/* In the child: runs the point and writes its verdict. Nothing else of the parent is touched. */
static void be_a_point(const struct orr_point_options *given, int to)
{
    struct orr_point point;
    struct orr_err err = {0};
    struct orr_point_options options = *given;
    options.interrupted = orr_interrupt_catch();
    options.opened = remember_unfinished;
    struct child verdict = {.status = orr_point_run(&options, &point, &err)};
    memcpy(verdict.text, err.text, sizeof verdict.text);
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

static enum orr_status start(const struct orr_point_options *points, uint32_t point,
                             struct slot *slot, struct orr_err *err)
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
        be_a_point(&points[point], ends[1]);
    }
    (void)close(ends[1]);
    *slot = (struct slot){.pid = pid, .from = ends[0], .point = point};
    return ORR_OK;
}

/* Waits for the point's process, which an interrupt ends, and takes over its failure. */
static enum orr_status collect(const struct orr_point_options *points, struct slot *slot,
                               const volatile sig_atomic_t *interrupted, struct orr_err *err)
{
    struct child verdict = {.status = ORR_BUG};
    size_t have = 0;
    while (have < sizeof verdict) {
        if (*interrupted) { /* perhaps nobody else told it */
            (void)kill(slot->pid, SIGTERM);
        }
        const ssize_t n = read(slot->from, (char *)&verdict + have, sizeof verdict - have);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        have += n > 0 ? (size_t)n : 0;
    }
    (void)close(slot->from);
    while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    slot->pid = 0;
    if (*interrupted) {
        return orr_fail(err, ORR_INTERRUPTED, "interrupted");
    }
    if (have < sizeof verdict) {
        return orr_fail(err, ORR_BUG, "the run of %s ended without a word",
                        points[slot->point].output);
    }
    verdict.text[sizeof verdict.text - 1] = '\0';
    return verdict.status == ORR_OK ? ORR_OK : orr_fail(err, verdict.status, "%s", verdict.text);
}

enum orr_status orr_study_run(const struct orr_point_options *points, uint32_t count,
                              const struct orr_study_options *options, struct orr_err *err)
{
    uint32_t jobs = options->jobs > 0 ? options->jobs : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->jobs == 0 && cores > 1) {
        jobs = (uint32_t)cores;
    }
    jobs = jobs < count ? jobs : count;
    struct slot *slots = orr_zalloc(jobs + (size_t)1, sizeof *slots);
    const volatile sig_atomic_t *interrupted = orr_interrupt_catch();
    enum orr_status status = *interrupted ? orr_fail(err, ORR_INTERRUPTED, "interrupted") : ORR_OK;
    uint32_t next = 0, done = 0, oldest = 0, running = 0;
    while (running > 0 || (status == ORR_OK && next < count)) {
        if (status == ORR_OK && next < count && running < jobs) {
            /* slots are taken in turn, so the oldest is always the next to be waited for */
            status = start(points, next, &slots[(oldest + running) % jobs], err);
            running += status == ORR_OK;
            next++;
            continue;
        }
        const enum orr_status ended = collect(points, &slots[oldest], interrupted, err);
        status = status == ORR_OK ? ended : status;
        oldest = (oldest + 1) % jobs;
        running--;
        done++;
        if (options->progress != NULL) {
            options->progress(done, count, 0, options->context);
        }
    }
    orr_free(slots);
    return status;
}
