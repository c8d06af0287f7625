/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terms.h - how a job works and what interruptions cost it: interned, since many jobs share them.
 */
#ifndef ORR_SIM_TERMS_H
#define ORR_SIM_TERMS_H

#include <orrery/base/units.h>

struct orr_terms {
    orr_ms checkpoint_ms;      /* work between two checkpoints; 0: none is ever written */
    orr_ms checkpoint_cost_ms; /* to write one: GPUs held, no progress */
    orr_ms restart_ms;         /* at every start but the first: GPUs held, no progress */
    orr_ms startup_ms;         /* the same at the first start */
    orr_ms grace_ms;           /* GPUs still held after an eviction */
    bool checkpoint_on_evict;  /* the grace is worked in and ends with a checkpoint */
    bool keep_progress;        /* an eviction loses no work, at no cost */
    orr_ms give_up_ms;         /* it waits so long for its first start; 0: for ever */
    uint32_t profile;          /* how placement becomes a rate; ORR_NONE: it is 1 everywhere */
    int64_t busy_ppm;          /* of a device that it has alone; what time slices go by */
};

struct orr_terms_table {
    struct orr_terms *items; /* number 0: nothing costs anything, evictions lose all */
    uint32_t count, capacity;
};

#endif
