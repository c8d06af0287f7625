/* SPDX-License-Identifier: GPL-3.0-or-later */
/* never_parts.h - jobs that their queue's cells never hold, under placement hived of whatever
 * policy: cells are cut as the run begins, and no later quota changes them. */
#ifndef ORR_NEVER_PARTS_H
#define ORR_NEVER_PARTS_H

#include <orrery/sim/engine.h>

struct orr_never_parts;

/* NULL: the shard's placement gives queues no parts. Borrows the world. */
struct orr_never_parts *orr_never_parts_open(const struct orr_world *world,
                                             const struct orr_engine_shard *shard);
void orr_never_parts_close(struct orr_never_parts *parts);
/* Reason NONE: the job could start, or nothing is known (NULL: of nobody). */
struct orr_bar orr_never_parts_bar(const struct orr_never_parts *parts, uint32_t job);

#endif
