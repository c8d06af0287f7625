/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policies_int.h - the table of each room, for the registry. */
#ifndef ORR_POLICIES_INT_H
#define ORR_POLICIES_INT_H

#include <orrery/core/policy.h>

extern const struct orr_policy orr_policy_fifo;
extern const struct orr_policy orr_policy_easy;
extern const struct orr_policy orr_policy_static;
extern const struct orr_policy orr_policy_kube;
extern const struct orr_policy orr_policy_kai;
extern const struct orr_policy orr_policy_las;
extern const struct orr_policy orr_policy_kueue;
extern const struct orr_policy orr_policy_srtf;
extern const struct orr_policy orr_policy_conservative;
extern const struct orr_policy orr_policy_drf;
extern const struct orr_policy orr_policy_edf;
extern const struct orr_policy orr_policy_gittins;
extern const struct orr_policy orr_policy_slurm;
extern const struct orr_policy orr_policy_gavel;
extern const struct orr_policy orr_policy_pollux;
extern const struct orr_policy orr_policy_themis;

#endif
