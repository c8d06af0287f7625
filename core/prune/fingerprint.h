/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fingerprint.h - what an answer reads, as one number. Rules, names, ages, asks, filters and the
 * topology are the session's, do not change and are in none. */
#ifndef ORR_PRUNE_FINGERPRINT_H
#define ORR_PRUNE_FINGERPRINT_H

#include <string.h>

#include "prune_int.h"

/* Takes a word or a number into a fingerprint: a hash that depends on their order. What is there
 * already is multiplied, as a fingerprint may begin with a plain or scattered number and the word
 * be one too: with XOR alone the number of a probe and that of a task could change places. */
static inline void orr_fingerprint_word(uint64_t *fingerprint, uint64_t word)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    *fingerprint = orr_scatter((*fingerprint * odd) ^ word) + odd;
}
static inline uint64_t orr_fingerprint_bits(double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}
static inline void orr_fingerprint_number(uint64_t *fingerprint, double number)
{
    orr_fingerprint_word(fingerprint, orr_fingerprint_bits(number));
}

/* Takes what a job asks. */
void orr_fingerprint__demand(uint64_t *fingerprint, const struct orr_demand *demand);
/* Of all that a placement reads of the node but NUMA zones. */
uint64_t orr_fingerprint__content(const struct orr_session *session, uint32_t node);
/* Takes the job and its tasks, where they are, on which shared devices and in which status. */
void orr_victim__fingerprint_job(uint64_t *fingerprint, const struct orr_session *session,
                                 uint32_t index);

/* Before anything is evicted: who waits, as far as it counts for what a search pops
 * (waiting_fingerprint.c); these are listed in the refuter, and marks. */
uint64_t orr_victim__waiting_fingerprint(struct orr_victim_search *search);
/* The same by generations of lanes, and nobody is listed. */
uint64_t orr_flat__waiting_fingerprint(const struct orr_victim_search *search);
/* And the preemptor, and how queues stand. */
uint64_t orr_victim__search_fingerprint(struct orr_victim_search *search);

#endif
