/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kind.h - what a job of a Kubernetes cluster is for. */
#ifndef ORR_SIM_IMPORT_KIND_H
#define ORR_SIM_IMPORT_KIND_H

#include <orrery/traces/workload.h>

/* By the kind of its owner (NULL: not known), else by its priority, if that is of KAI's classes:
 * priorities of another scheduler's jobs rank them and do not state what they are for. */
enum orr_kind import_kind_of(const char *origin, bool of_kai, int64_t priority);

#endif
