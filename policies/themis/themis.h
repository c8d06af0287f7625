/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ORR_POLICIES_THEMIS_H
#define ORR_POLICIES_THEMIS_H

#include <stdbool.h>
#include <stdint.h>

struct orr_themis_bid {
    int64_t gpus; /* that it needs, all or none */
    double gain;  /* log of what winning multiplies its valuation by; at least 0 */
    bool wins;
};

/* The winners of an auction of so many GPUs: those whose product of valuations is the largest,
 * which is exact. Of equal products the one with the later bids out. Costs bids times GPUs. */
void orr_themis_auction(struct orr_themis_bid *bids, uint32_t count, int64_t gpus);

#endif
