/* SPDX-License-Identifier: GPL-3.0-or-later */
/* registry.h - the policies that are built in. */
#ifndef ORR_POLICIES_REGISTRY_H
#define ORR_POLICIES_REGISTRY_H

#include <orrery/core/policy.h>

ORR_API_BEGIN

/* All of them, in the order they are listed. */
const struct orr_policy *const *orr_policies(size_t *count);
/* By name, or NULL. */
const struct orr_policy *orr_policy_find(const char *name);

ORR_API_END

#endif
