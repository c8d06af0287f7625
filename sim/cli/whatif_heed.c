/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif_heed.c - what policies do not look at, before and after a change: the sentences of `run`.
 *
 * Runs say nothing. So a process an arm makes what the arm begins from, of traces that were read
 * once for these and for the runs, and writes into a file of its own that has no name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/text.h>
#include <orrery/sim/point.h>

#include "whatif.h"

/* --- in the process of an arm: sentences, each behind a letter and before a NUL --- */

enum { OF_SETTING = 's', OF_INPUT = 'i' };

static void say_input(const char *text, void *context)
{
    (void)fprintf(context, "%c%s", OF_INPUT, text);
    (void)fputc('\0', context);
}

/* A line with its end. */
static void say_setting(const char *text, void *context)
{
    (void)fprintf(context, "%c%.*s", OF_SETTING, (int)strcspn(text, "\n"), text);
    (void)fputc('\0', context);
}

struct hearing {
    struct whatif *w;
    FILE **remarks; /* by arm */
};

static enum orr_status say_arm(void *context, uint32_t arm, struct orr_err *err)
{
    struct hearing *hearing = context;
    FILE *out = hearing->remarks[arm];
    const struct orr_point_options *of = &hearing->w->points[(size_t)arm * hearing->w->seed_count];
    struct orr_err ignored = {0}; /* the run fails as well, and says so */
    struct orr_point point;
    rewind(out); /* a process that was killed may have written a part, and is made once more */
    if (ftruncate(fileno(out), 0) != 0) {
        return orr_fail(err, ORR_IO, "a file beside results: %s", strerror(errno));
    }
    const struct orr_point_options options = {.scenario = of->scenario,
                                              .allow_loss_ppm = of->allow_loss_ppm,
                                              .shelf = &hearing->w->shelf,
                                              .interrupted = orr_interrupt_catch()};
    if (orr_point_check(&options, &point, &ignored) == ORR_OK) {
        struct orr_engine_shard *shards = NULL;
        if (orr_point_policies(&point.scenario, say_setting, out, &shards, &ignored) == ORR_OK) {
            orr_point_policies_release(shards, point.scenario.shard_count);
        }
        orr_point_unheeded(&point.world, point.shards, say_input, out);
    }
    orr_point_release(&point);
    return fflush(out) == 0 ? ORR_OK
                            : orr_fail(err, ORR_IO, "a file beside results: %s", strerror(errno));
}

/* --- in this process --- */

static bool has(const struct whatif *w, uint32_t arm, const char *text)
{
    bool found = false;
    for (uint32_t i = 0; i < w->unheeded_count && !found; i++) {
        found = w->unheeded[i].arm == arm && strcmp(w->unheeded[i].text, text) == 0;
    }
    return found;
}

static void hear(struct whatif *w, uint32_t arm, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    rewind(in);
    while (getdelim(&line, &room, '\0', in) > 1) {
        if (!has(w, arm, line + 1)) {
            w->unheeded = ORR_ROOM_FOR_ONE(w->unheeded, w->unheeded_count, w->unheeded_capacity);
            w->unheeded[w->unheeded_count++] = (struct whatif_unheeded){
                .arm = arm,
                .text = orr_arena_strndup(&w->arena, line + 1, strlen(line + 1)),
                .of_setting = line[0] == OF_SETTING};
        }
    }
    free(line); /* getdelim's */
}

/* Beside the results, where there is room for them. */
static enum orr_status open_nameless(const char *results, FILE **file, struct orr_err *err)
{
    char path[5300];
    (void)snprintf(path, sizeof path, "%s.remarks", results);
    *file = fopen(path, "w+");
    if (*file == NULL) {
        return orr_fail(err, ORR_CANT_CREATE, "%s: %s", path, strerror(errno));
    }
    (void)unlink(path);
    return ORR_OK;
}

enum orr_status orr_whatif_hear(struct whatif *w, struct orr_err *err)
{
    const struct orr_study_options options = {.jobs = w->options->jobs, .again = orr_cli_again};
    FILE **remarks = orr_zalloc(w->arm_count, sizeof *remarks);
    struct hearing hearing = {w, remarks};
    enum orr_status status = ORR_OK;
    for (uint32_t arm = 0; arm < w->arm_count && status == ORR_OK; arm++) {
        const char *results = w->points[(size_t)arm * w->seed_count].output;
        status = open_nameless(results, &remarks[arm], err);
    }
    status =
        status == ORR_OK ? orr_study_fork(say_arm, &hearing, w->arm_count, &options, err) : status;
    for (uint32_t arm = 0; arm < w->arm_count && remarks[arm] != NULL; arm++) {
        if (status == ORR_OK) {
            hear(w, arm, remarks[arm]);
        }
        (void)fclose(remarks[arm]);
    }
    orr_free(remarks);
    return status;
}

static bool is_common(const struct whatif *w, const char *text)
{
    bool common = true;
    for (uint32_t arm = 0; arm < w->arm_count && common; arm++) {
        common = has(w, arm, text);
    }
    return common;
}

const struct whatif_unheeded *orr_whatif_unheeded(const struct whatif *w, uint32_t arm, bool common,
                                                  uint32_t *next)
{
    const struct whatif_unheeded *found = NULL;
    for (; *next < w->unheeded_count && found == NULL; (*next)++) {
        const struct whatif_unheeded *one = &w->unheeded[*next];
        found = one->arm == arm && is_common(w, one->text) == common ? one : NULL;
    }
    return found;
}
