/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fork_times.c - a run held at random times: a process forked at each of them goes on to the end,
 * and must come to the digest of the run that nobody held. Each time is held, also where several
 * lie between two events, and none after an event behind it.
 *
 *   fork_times SCENARIO POLICY TIMES SEED
 * POLICY "-" is the scenario's own. Exit 0: all are equal; 1: one is not; 77: the scenario cannot
 * run under that policy. */
#include <orrery/sim/branch.h>
#include <orrery/sim/point.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

struct fork_times {
    orr_ms *at_ms;
    uint32_t count, next;
    bool is_child;
    uint64_t digest; /* of the run that nobody held */
    uint32_t other;  /* children that came elsewhere */
    uint32_t late;   /* times at which something behind them had happened */
};

static enum orr_status begin(void *context, struct orr_point *point, struct orr_err *err)
{
    (void)context;
    (void)point;
    (void)err;
    return ORR_OK;
}

static orr_ms held(void *context, struct orr_branch *branch)
{
    struct fork_times *times = context;
    times->late += branch->run->end_ms > branch->at_ms && branch->run->events > 0;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) { /* goes on alone, to the end of the run and to what the caller does then */
        times->is_child = true;
        return ORR_MS_NEVER;
    }
    int ended = 1;
    (void)waitpid(pid, &ended, 0);
    times->other += !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
    times->next++;
    return times->next < times->count ? times->at_ms[times->next] : ORR_MS_NEVER;
}

static enum orr_status run(const struct orr_point_options *options, struct fork_times *times,
                           orr_ms first_ms, uint64_t *digest, orr_ms *end_ms)
{
    struct orr_point point;
    struct orr_err err = {0};
    const struct orr_branching branching = {.at_ms = first_ms, .at = held, .context = times};
    const enum orr_status status = orr_point_branch(options, &branching, begin, &point, &err);
    if (status == ORR_OK) {
        *digest = point.run.digest;
        *end_ms = point.run.end_ms;
    } else {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    orr_point_release(&point);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const orr_ms x = *(const orr_ms *)a, y = *(const orr_ms *)b;
    return (x > y) - (x < y);
}

/* Different times of the run, ascending. */
static void draw_times(struct fork_times *times, uint32_t count, uint64_t seed, orr_ms end_ms)
{
    struct orr_rng rng = orr_rng_stream(seed, "fork_times", 0);
    uint32_t kept = 0;
    times->at_ms = orr_alloc(count + (size_t)1, sizeof *times->at_ms);
    for (uint32_t i = 0; i < count; i++) {
        times->at_ms[i] = (orr_ms)orr_rng_below(&rng, (uint64_t)end_ms + 1);
    }
    qsort(times->at_ms, count, sizeof *times->at_ms, by_time);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || times->at_ms[i] > times->at_ms[kept - 1]) {
            times->at_ms[kept++] = times->at_ms[i];
        }
    }
    times->count = kept;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 64;
    }
    const struct orr_point_options options = {
        .scenario = {.path = argv[1], .policy = strcmp(argv[2], "-") == 0 ? NULL : argv[2]},
        .allow_loss_ppm = 1000000};
    struct fork_times times = {0};
    uint64_t digest = 0;
    orr_ms end_ms = 0;
    if (run(&options, &times, ORR_MS_NEVER, &times.digest, &end_ms) != ORR_OK) {
        return 77;
    }
    draw_times(&times, (uint32_t)strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), end_ms);
    const enum orr_status status = run(&options, &times, times.at_ms[0], &digest, &end_ms);
    orr_free(times.at_ms);
    const bool same = status == ORR_OK && digest == times.digest && times.late == 0;
    if (times.is_child) {
        _exit(same ? 0 : 1);
    }
    (void)printf("%u times, %u otherwise, %u late\n", times.next, times.other, times.late);
    return same && times.other == 0 && times.next == times.count ? 0 : 1;
}
