/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shadow.h - the model beside the core: the same session, decided twice and compared.
 *
 * Programs that link shadow_wrap.c (with the linker's --wrap=orr_kai_run) have every cycle that
 * anybody runs in them compared.
 */
#ifndef ORR_TEST_SHADOW_H
#define ORR_TEST_SHADOW_H

#include <stdio.h>

#include "slow.h"

/* Differences between what the model decided and what the session holds after the same actions;
 * each is a line in `out` (may be NULL). */
uint32_t shadow_compare(const struct slow *slow, const struct orr_session *session, FILE *out);
/* A session as a list, to look at. */
void shadow_print(const struct orr_session *session, FILE *out);

/* Cycles compared and differences since the start. */
struct shadow_tally {
    uint64_t cycles, differences;
    uint64_t decisions[ORR_ACTIONS];
};
extern struct shadow_tally shadow_tally;

#endif
