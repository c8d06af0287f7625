/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mig.h - names of MIG profiles: one reader of them for traces, scenarios, imports and clusters. */
#ifndef ORR_BASE_MIG_H
#define ORR_BASE_MIG_H

#include <stdbool.h>
#include <stdint.h>

#include <orrery/base/units.h>

ORR_API_BEGIN

enum { ORR_MIG_NAME_MAX = 32 }; /* of a profile, with the byte that ends it */

/* GPUs that an instance of a MIG profile counts, in quotas and in sums: as KAI counts it its g, 3
 * of 3g.20gb. A profile is such a name, of less than ORR_MIG_NAME_MAX bytes, or one with attributes
 * behind it, +me, +me.all, -me or +gfx; Kubernetes writes a dot in place of the plus. 0: the text
 * is none. */
uint32_t orr_mig_gpus(const char *profile);
/* What a pod asks as users write it: a profile, or PROFILE*N for N instances. False: it is neither.
 */
bool orr_mig_parse(const char *text, char profile[ORR_MIG_NAME_MAX], uint32_t *instances);

ORR_API_END

#endif
