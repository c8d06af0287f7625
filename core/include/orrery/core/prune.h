/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prune.h - what saves searches for victims their work, pruner by pruner.
 *
 * A pruner refutes: it proves that a search, a state or a scenario cannot succeed. It never
 * accepts or changes anything, so that a search without any of them decides the same.
 */
#ifndef ORR_CORE_PRUNE_H
#define ORR_CORE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include <orrery/base/units.h>

ORR_API_BEGIN

/* name, what --prune=-NAME calls it, what it claims */
#define ORR_PRUNER_LIST(X)                                                                         \
    X(FAILED_BEFORE, "failed-before",                                                              \
      "the search failed before, and all that it would read is as it was")                         \
    X(GANG, "gang", "one of the preemptor's tasks can be had, but not all, whoever is a victim")   \
    X(PLACES, "places", "whoever is moved, there are fewer places than tasks that need one")       \
    X(DOMAINS, "domains",                                                                          \
      "no domain the preemptor must stay within has places for it, whoever is a victim")           \
    X(REGAIN, "regain", "a job that is moved could not get back all that it would lose")           \
    X(SERVED_FIRST, "served-first",                                                                \
      "whoever is a victim is served before the preemptor and leaves it no room")                  \
    X(AGGREGATE, "aggregate", "counts of nodes by room leave the preemptor none")                  \
    X(DRY_RUN, "dry-run", "served in fair order on counts of room, the preemptor finds none")

enum orr_pruner {
#define X(name, word, claim) ORR_PRUNER_##name,
    ORR_PRUNER_LIST(X)
#undef X
        ORR_PRUNERS
};

struct orr_prune_rules {
    uint32_t off; /* a bit for each pruner that is not asked */
    bool verify;  /* what was refuted is tried all the same; the program ends where it succeeds */
};

struct orr_prune_count { /* since the session was made */
    uint64_t asked, refuted;
};

const char *orr_pruner_name(enum orr_pruner pruner);

/* Reads "on", "off", "verify" or names that each follow a -, separated by commas. False: `*bad` is
 * where the first word begins that is none of these. */
bool orr_prune_parse(const char *text, struct orr_prune_rules *rules, const char **bad);

ORR_API_END

#endif
