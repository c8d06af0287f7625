/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif_heed.c - what policies do not look at, before and after a change: the sentences of `run`.
 *
 * Runs are processes of their own that say nothing; so what each arm begins from is made here too,
 * and released before anything runs. */
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/sim/point.h>

#include "whatif.h"

struct hearing {
    struct whatif *w;
    uint32_t arm;
};

static bool has(const struct whatif *w, uint32_t arm, const char *text)
{
    bool found = false;
    for (uint32_t i = 0; i < w->unheeded_count && !found; i++) {
        found = w->unheeded[i].arm == arm && strcmp(w->unheeded[i].text, text) == 0;
    }
    return found;
}

static void keep_one(const struct hearing *hearing, const char *text, size_t bytes, bool of_setting)
{
    struct whatif *w = hearing->w;
    const char *own = orr_arena_strndup(&w->arena, text, bytes);
    if (!has(w, hearing->arm, own)) {
        w->unheeded = ORR_ROOM_FOR_ONE(w->unheeded, w->unheeded_count, w->unheeded_capacity);
        w->unheeded[w->unheeded_count++] =
            (struct whatif_unheeded){.arm = hearing->arm, .text = own, .of_setting = of_setting};
    }
}

static void keep(const char *text, void *context)
{
    keep_one(context, text, strlen(text), false);
}

/* A line with its end. */
static void keep_line(const char *text, void *context)
{
    keep_one(context, text, strcspn(text, "\n"), true);
}

static void hear(struct whatif *w, uint32_t arm)
{
    const struct orr_point_options *of = &w->points[(size_t)arm * w->seed_count];
    struct hearing hearing = {w, arm};
    struct orr_err ignored = {0}; /* the run fails as well, and says so */
    struct orr_point point;
    const struct orr_point_options options = {.scenario = of->scenario,
                                              .allow_loss_ppm = of->allow_loss_ppm,
                                              .interrupted = orr_interrupt_catch()};
    if (orr_point_check(&options, &point, &ignored) == ORR_OK) {
        struct orr_engine_shard *shards = NULL;
        if (orr_point_policies(&point.scenario, keep_line, &hearing, &shards, &ignored) == ORR_OK) {
            orr_point_policies_release(shards, point.scenario.shard_count);
        }
        orr_point_unheeded(&point.world, point.shards, keep, &hearing);
    }
    orr_point_release(&point);
}

void orr_whatif_hear(struct whatif *w)
{
    for (uint32_t arm = 0; arm < w->arm_count; arm++) {
        hear(w, arm);
    }
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
