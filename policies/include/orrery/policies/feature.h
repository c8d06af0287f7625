/* SPDX-License-Identifier: GPL-3.0-or-later */
/* feature.h - what of a real scheduler a policy heeds, and what shows it. */
#ifndef ORR_POLICIES_FEATURE_H
#define ORR_POLICIES_FEATURE_H

#include <orrery/base/units.h>

ORR_API_BEGIN

struct orr_feature {
    const char *name, *status;
    const char *evidence; /* see kai_features.c and kueue_features.c */
    const char *means;    /* NULL: as the scheduler has it */
};

ORR_API_END

#endif
