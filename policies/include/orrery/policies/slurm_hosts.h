/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_hosts.h - lists of hosts as Slurm writes them. */
#ifndef ORR_POLICIES_SLURM_HOSTS_H
#define ORR_POLICIES_SLURM_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/base/units.h>

ORR_API_BEGIN

/* The names of a list of hosts, such as "n[1-4,7],rack[1-2]n[01-08]", one by one; false: it is
 * none, too long, or `take` wants no more. */
typedef bool orr_slurm_host_fn(void *context, const char *name);
bool orr_slurm_hosts(const char *text, size_t bytes, orr_slurm_host_fn *take, void *context);
/* How many these are; 0: it is no such list, or they are more than 10 million. */
uint64_t orr_slurm_host_count(const char *text, size_t bytes);

ORR_API_END

#endif
