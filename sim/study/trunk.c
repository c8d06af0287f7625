/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trunk.c - points that are one run up to a time: its process is forked there, and each copy goes
 * on as another point. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/base/mem.h>

#include "study_int.h"

struct orr_study__verdict orr_study__run_alone(const struct orr_point_options *options)
{
    struct orr_point point;
    struct orr_err err = {0};
    struct orr_study__verdict verdict = {.status = orr_point_run(options, &point, &err)};
    memcpy(verdict.text, err.text, sizeof verdict.text);
    return verdict;
}

struct trunk {
    struct orr_point_options *others;    /* those that go on otherwise */
    pid_t *pids;                         /* 0: it has ended, or has not begun */
    struct orr_study__verdict *verdicts; /* memory of all these processes */
    uint32_t count, width;
    uint32_t next; /* of the others: the first that is still this run */
    uint32_t me;   /* the one that this process is; ORR_NONE: the trunk */
};

static void wait_for(struct trunk *trunk, uint32_t nth)
{
    const volatile sig_atomic_t *interrupted = orr_interrupt_catch();
    int ended = 0;
    while (trunk->pids[nth] > 0 && waitpid(trunk->pids[nth], &ended, 0) < 0 && errno == EINTR) {
        if (*interrupted) { /* the signal may have reached this process alone */
            (void)kill(trunk->pids[nth], SIGTERM);
        }
    }
    trunk->pids[nth] = 0;
}

static void wait_for_all(struct trunk *trunk)
{
    for (uint32_t i = 0; i < trunk->count; i++) {
        wait_for(trunk, i);
    }
}

/* True in the process that is made. One that cannot be is run by itself later; one that comes again
 * may have been done but for words. */
static bool make_process(struct trunk *trunk, uint32_t nth)
{
    (void)fflush(NULL); /* or it would print it again */
    const pid_t pid = fork();
    if (pid == 0) {
        trunk->me = nth;
        return true;
    }
    trunk->others[nth].force = trunk->others[nth].force || pid > 0;
    trunk->pids[nth] = pid > 0 ? pid : 0;
    return false;
}

/* As many at a time as it may have; then it goes on itself. */
static const struct orr_point_options *split(void *context, orr_ms *next_ms)
{
    struct trunk *trunk = context;
    const orr_ms now = trunk->others[trunk->next].trunk_until_ms;
    while (trunk->next < trunk->count && trunk->others[trunk->next].trunk_until_ms == now) {
        const uint32_t i = trunk->next++;
        if (i + 1 >= trunk->width && trunk->width > 1) {
            wait_for(trunk, i + 1 - trunk->width);
        }
        if (make_process(trunk, i)) {
            return &trunk->others[i];
        }
        if (trunk->width <= 1) {
            wait_for(trunk, i);
        }
    }
    *next_ms =
        trunk->next < trunk->count ? trunk->others[trunk->next].trunk_until_ms : ORR_MS_NEVER;
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    const struct orr_point_options *x = a, *y = b;
    return (x->trunk_until_ms > y->trunk_until_ms) - (x->trunk_until_ms < y->trunk_until_ms);
}

static void end_as_other(struct trunk *trunk, const struct orr_study__verdict *verdict)
{
    trunk->verdicts[trunk->me] = *verdict;
    trunk->verdicts[trunk->me].done = true;
    _exit(0);
}

static void leave(void *context)
{
    (void)context;
    _exit(0); /* without a verdict: run_rest runs it by itself */
}

/* Those that have not come to an end: the run failed or was over before that time, is not theirs,
 * or their processes were killed. Each by itself. */
static void run_rest(struct trunk *trunk)
{
    for (uint32_t i = 0; i < trunk->count; i++) {
        if (!trunk->verdicts[i].done && make_process(trunk, i)) {
            const struct orr_study__verdict verdict = orr_study__run_alone(&trunk->others[i]);
            end_as_other(trunk, &verdict);
        }
        wait_for(trunk, i);
    }
}

static struct orr_study__verdict verdict_of_all(const struct trunk *trunk,
                                                struct orr_study__verdict verdict)
{
    for (uint32_t i = 0; i < trunk->count && verdict.status == ORR_OK; i++) {
        verdict = trunk->verdicts[i];
        if (!verdict.done) {
            verdict.status = ORR_BUG;
            (void)snprintf(verdict.text, sizeof verdict.text,
                           "the run of %.800s ended without a word", trunk->others[i].output);
        }
    }
    return verdict;
}

struct orr_study__verdict orr_study__run_trunk(const struct orr_point_options *options,
                                               struct orr_point_options *others, uint32_t count,
                                               uint32_t width)
{
    struct orr_point_options own = *options;
    struct trunk trunk = {.others = others, .count = count, .width = width, .me = ORR_NONE};
    qsort(others, count, sizeof *others, by_time);
    const struct orr_point_others branch = {
        .at_ms = others[0].trunk_until_ms, .split = split, .leave = leave, .context = &trunk};
    const size_t bytes = count * sizeof *trunk.verdicts;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return (struct orr_study__verdict){.status = ORR_NO_MEMORY,
                                           .text = "no memory for a run that others share"};
    }
    trunk.verdicts = shared;
    trunk.pids = orr_zalloc(count, sizeof *trunk.pids);
    own.others = &branch;
    struct orr_study__verdict verdict = orr_study__run_alone(&own);
    if (trunk.me != ORR_NONE) {
        end_as_other(&trunk, &verdict);
    }
    wait_for_all(&trunk);
    if (verdict.status == ORR_OK) {
        run_rest(&trunk);
        verdict = verdict_of_all(&trunk, verdict);
    }
    orr_free(trunk.pids);
    (void)munmap(shared, bytes);
    return verdict;
}
