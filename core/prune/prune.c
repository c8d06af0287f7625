/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pruners are asked, what they answered, and the proof by trying that they were right. */
#include "prune_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/status.h>
#include <orrery/base/text.h>

static const char *const names[ORR_PRUNERS] = {
#define X(name, word, claim) word,
    ORR_PRUNER_LIST(X)
#undef X
};

const char *orr_pruner_name(enum orr_pruner pruner)
{
    return names[pruner];
}

bool orr_prune_parse(const char *text, struct orr_prune_rules *rules, const char **bad)
{
    *rules = (struct orr_prune_rules){0};
    for (text += strspn(text, ", "); *text != '\0'; text += strspn(text, ", ")) {
        const size_t bytes = strcspn(text, ", ");
        uint32_t p = 0;
        while (p < ORR_PRUNERS &&
               (text[0] != '-' || !orr_text_like(text + 1, bytes - 1, names[p], false))) {
            p++;
        }
        if (p < ORR_PRUNERS) {
            rules->off |= 1u << p;
        } else if (orr_text_like(text, bytes, "off", false)) {
            rules->off = (1u << ORR_PRUNERS) - 1;
        } else if (orr_text_like(text, bytes, "verify", false)) {
            rules->verify = true;
        } else if (!orr_text_like(text, bytes, "on", false)) {
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

static void complain(const struct orr_victim_search *search, enum orr_pruner pruner,
                     const char *fault)
{
    char what[160];
    (void)snprintf(what, sizeof what, "pruner %s %s (%s of job %s)", names[pruner], fault,
                   orr_action_name(search->action), search->session->jobs[search->job].name);
    orr_panic(what, __FILE__, __LINE__);
}

void orr_prune__check(const struct orr_victim_search *search, enum orr_refute_level widest)
{
    uint32_t doubts = 0;
    for (unsigned l = widest; l < ORR_REFUTE_LEVELS; l++) {
        doubts |= search->refuter.doubts[l];
    }
    if (doubts != 0) {
        complain(search, (enum orr_pruner)__builtin_ctz(doubts), "refuted what succeeds");
    }
}

void orr_prune__check_known(const struct orr_victim_search *search, enum orr_pruner pruner,
                            unsigned known, unsigned now)
{
    if (known != 0 && known != now) {
        complain(search, pruner, "knew another end");
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
