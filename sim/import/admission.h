/* SPDX-License-Identifier: GPL-3.0-or-later */
/* admission.h - cycles of Kueue on read objects, and what became of each workload. */
#ifndef ORR_SIM_IMPORT_ADMISSION_H
#define ORR_SIM_IMPORT_ADMISSION_H

#include <orrery/sim/admission.h>
#include <orrery/sim/kueue_world.h>

#include "kueue_input.h"

struct admission_fate { /* of a stated workload: the last thing decided about it */
    uint32_t cycle;     /* 0: nothing */
    enum orr_kueue_deed deed;
    enum orr_kueue_reason reason;
    uint32_t by; /* a stated workload */
    bool held;   /* before the first cycle */
};

struct admission_run {
    struct kueue_input *input;
    struct kq_world world;
    struct admission_fate *fates;
    uint32_t *stated; /* by the policy's workload */
    uint64_t *prints; /* of cycles since the last one that decided */
    uint32_t print_count, print_capacity;
};

/* admission_answer.c: everything is copied into the answer. */
void import_admission_tell(const struct admission_run *run, struct orr_admission *out);

#endif
