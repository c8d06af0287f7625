/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pruners are asked, what they answered, and the proof by trying that they were right. */
#include "prune_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/status.h>

static const char *const names[ORR_PRUNERS] = {
#define X(name, word, claim) word,
    ORR_PRUNER_LIST(X)
#undef X
};

const char *orr_pruner_name(enum orr_pruner pruner)
{
    return names[pruner];
}

static bool is_word(const char *at, size_t bytes, const char *word)
{
    return strlen(word) == bytes && memcmp(at, word, bytes) == 0;
}

bool orr_prune_parse(const char *text, struct orr_prune_rules *rules, const char **bad)
{
    *rules = (struct orr_prune_rules){0};
    for (text += strspn(text, ", "); *text != '\0'; text += strspn(text, ", ")) {
        const size_t bytes = strcspn(text, ", ");
        uint32_t p = 0;
        while (p < ORR_PRUNERS && (text[0] != '-' || !is_word(text + 1, bytes - 1, names[p]))) {
            p++;
        }
        if (p < ORR_PRUNERS) {
            rules->off |= 1u << p;
        } else if (is_word(text, bytes, "off")) {
            rules->off = (1u << ORR_PRUNERS) - 1;
        } else if (is_word(text, bytes, "verify")) {
            rules->verify = true;
        } else if (!is_word(text, bytes, "on")) {
            *bad = text;
            return false;
        }
        text += bytes;
    }
    return true;
}

bool orr_prune__is_on(const struct orr_victim_search *search, enum orr_pruner pruner)
{
    return !search->refuter.all_tried && (search->session->rules.prune.off >> pruner & 1u) == 0;
}

bool orr_prune__refutes(struct orr_victim_search *search, enum orr_pruner pruner,
                        enum orr_outcome outcome)
{
    const bool refuted = outcome != ORR_OUTCOME_SOLVED;
    struct orr_session *session = search->session;
    session->pruned[pruner].asked++;
    session->pruned[pruner].refuted += refuted;
    if (refuted && session->rules.prune.verify) {
        search->refuter.doubts[search->refuter.level] |= 1u << pruner;
        return false;
    }
    orr_victim__raise_outcome(search, refuted ? outcome : ORR_OUTCOME_NOT_TRIED);
    return refuted;
}

void orr_prune__check(const struct orr_victim_search *search, bool whole)
{
    /* These refute the whole search; a smaller probe may succeed. */
    const uint32_t in_the_end = 1u << ORR_PRUNER_FAILED_BEFORE | 1u << ORR_PRUNER_GANG;
    uint32_t doubts = 0;
    for (unsigned l = 0; l < ORR_REFUTE_LEVELS; l++) {
        doubts |= search->refuter.doubts[l];
    }
    doubts &= whole ? UINT32_MAX : ~in_the_end;
    for (uint32_t p = 0; p < ORR_PRUNERS; p++) {
        if ((doubts >> p & 1u) != 0) {
            char what[160];
            (void)snprintf(what, sizeof what, "pruner %s refuted what succeeds (%s of job %s)",
                           names[p], orr_action_name(search->action),
                           search->session->jobs[search->job].name);
            orr_panic(what, __FILE__, __LINE__);
        }
    }
}

uint32_t orr_prune__only_pod_set(const struct orr_session *session, const struct orr_sjob *job)
{
    uint32_t only = ORR_NONE;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        const struct orr_sset *set = &session->sets[s];
        if (set->is_pods ? only != ORR_NONE : set->min != 1) {
            return ORR_NONE;
        }
        only = set->is_pods ? s : only;
    }
    return only;
}

bool orr_prune__is_constrained(const struct orr_session *session, const struct orr_sjob *job)
{
    bool constrained = false;
    for (uint32_t s = job->first_set; s < job->first_set + job->set_count; s++) {
        constrained = constrained || session->sets[s].constraint.topology != NULL;
    }
    return constrained && session->rules.topology;
}
