/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answers.h - what was found out, by a fingerprint of all that it hangs on. Of two fingerprints
 * that share a slot the later one stays. */
#ifndef ORR_PRUNE_ANSWERS_H
#define ORR_PRUNE_ANSWERS_H

#include <stdint.h>

#include <orrery/base/mem.h>

#define ORR_ANSWER_MASK UINT64_C(15) /* the rest of a slot is the fingerprint's */

struct orr_answers {
    uint64_t *slots; /* owned; NULL: nothing was found out yet */
    uint32_t count;  /* of slots, a power of two */
};

static inline uint64_t *orr_answers_slot(const struct orr_answers *answers, uint64_t fingerprint)
{
    return &answers->slots[(fingerprint >> 8) & (answers->count - 1)];
}

/* From 1 to 15; 0: it is not known. */
static inline unsigned orr_answers_find(const struct orr_answers *answers, uint64_t fingerprint)
{
    const uint64_t found = answers->slots == NULL ? 0 : *orr_answers_slot(answers, fingerprint);
    return ((found ^ fingerprint) & ~ORR_ANSWER_MASK) == 0 ? (unsigned)(found & ORR_ANSWER_MASK)
                                                           : 0;
}

static inline void orr_answers_note(struct orr_answers *answers, uint64_t fingerprint,
                                    unsigned answer)
{
    if (answers->slots == NULL) {
        answers->slots = orr_zalloc(answers->count, sizeof *answers->slots);
    }
    *orr_answers_slot(answers, fingerprint) = (fingerprint & ~ORR_ANSWER_MASK) | answer;
}

#endif
