/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stuck.h - jobs that a run leaves behind: it came to its end, nothing runs and nothing is to come,
 * and they wait, though not one of them can never start (never.h). Either the policy does not
 * see that they could start, or pods that hold their room wait for each other, or the cluster
 * became too small for them. */
#ifndef ORR_SIM_STUCK_H
#define ORR_SIM_STUCK_H

#include <orrery/sim/engine.h>

struct orr_stuck {
    uint32_t jobs;  /* 0: nobody is stuck */
    uint32_t first; /* of them: the first that waits for the policy, by row */
    enum orr_reason reason;
};

/* Of a run that is over, once its `nevers` are known. Services are not counted; a run that was cut,
 * or in which a job still runs, leaves nobody behind. */
struct orr_stuck orr_stuck_find(const struct orr_world *world, const struct orr_run *run);
/* Why it waits, in words: also where the policy gave no reason. */
const char *orr_stuck_words(const struct orr_stuck *stuck);

#endif
