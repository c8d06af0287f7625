/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/core/reason.h>

const char *orr_reason_code(enum orr_reason reason)
{
    static const char *const codes[ORR_REASON_COUNT] = {
#define X(name, code, words) [ORR_REASON_##name] = (code),
        ORR_REASON_LIST(X) ORR_REASON_SLURM_LIST(X) ORR_REASON_REFUSED_LIST(X)
#undef X
    };
    return codes[reason];
}

const char *orr_reason_words(enum orr_reason reason)
{
    static const char *const texts[ORR_REASON_COUNT] = {
#define X(name, code, words) [ORR_REASON_##name] = (words),
        ORR_REASON_LIST(X)
#undef X
#define X(name, code, words) [ORR_REASON_##name] = code ": " words,
            ORR_REASON_SLURM_LIST(X) ORR_REASON_REFUSED_LIST(X)
#undef X
    };
    return texts[reason];
}

const char *orr_outcome_code(enum orr_outcome outcome)
{
    static const char *const codes[ORR_OUTCOME_COUNT] = {
#define X(name, code, words) [ORR_OUTCOME_##name] = (code),
        ORR_OUTCOME_LIST(X)
#undef X
    };
    return codes[outcome];
}

const char *orr_outcome_words(enum orr_outcome outcome)
{
    static const char *const texts[ORR_OUTCOME_COUNT] = {
#define X(name, code, words) [ORR_OUTCOME_##name] = (words),
        ORR_OUTCOME_LIST(X)
#undef X
    };
    return texts[outcome];
}

const char *orr_rule_code(enum orr_rule rule)
{
    static const char *const codes[ORR_RULE_COUNT] = {
#define X(name, code, words) [ORR_RULE_##name] = (code),
        ORR_RULE_LIST(X)
#undef X
    };
    return codes[rule];
}

const char *orr_rule_words(enum orr_rule rule)
{
    static const char *const texts[ORR_RULE_COUNT] = {
#define X(name, code, words) [ORR_RULE_##name] = (words),
        ORR_RULE_LIST(X)
#undef X
    };
    return texts[rule];
}

const char *orr_cause_words(enum orr_cause cause)
{
    static const char *const texts[ORR_CAUSE_COUNT] = {
#define X(name, words) [ORR_CAUSE_##name] = (words),
        ORR_CAUSE_LIST(X)
#undef X
    };
    return texts[cause];
}
