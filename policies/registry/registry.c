/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/policies/registry.h>

#include <string.h>

#include "policies_int.h"

const struct orr_policy *const *orr_policies(size_t *count)
{
    static const struct orr_policy *const all[] = {
        &orr_policy_fifo,         &orr_policy_easy,   &orr_policy_static,  &orr_policy_kube,
        &orr_policy_kai,          &orr_policy_las,    &orr_policy_kueue,   &orr_policy_srtf,
        &orr_policy_conservative, &orr_policy_edf,    &orr_policy_gittins, &orr_policy_drf,
        &orr_policy_slurm,        &orr_policy_themis, &orr_policy_gavel,   &orr_policy_pollux};
    *count = sizeof all / sizeof all[0];
    return all;
}

const struct orr_policy *orr_policy_find(const char *name)
{
    size_t count;
    const struct orr_policy *const *all = orr_policies(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}
