/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bar.h - rules about queues that a job can never meet (policy.h), as several policies have them.
 */
#ifndef ORR_CORE_BAR_H
#define ORR_CORE_BAR_H

#include <orrery/core/policy.h>

ORR_API_BEGIN

/* That the job's gang alone passes the limit of its queue (else its quota, for what is not
 * preemptible), or also of the queues above: the first from its queue upwards. `counted`: parts of
 * devices are as KAI counts them. */
struct orr_bar orr_bar_of_queues(const struct orr_view *view, uint32_t job, bool of_limit,
                                 bool upwards, bool counted);

ORR_API_END

#endif
