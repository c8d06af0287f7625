/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/base/sort.h>

static const struct {
    const char *name, *words;
} rule_texts[] = {
#define X(id, name, words) {name, words},
    ORR_AUDIT_RULES(X)
#undef X
};

const char *orr_audit_rule_name(enum orr_audit_rule rule)
{
    return rule_texts[rule].name;
}

const char *orr_audit_rule_words(enum orr_audit_rule rule)
{
    return rule_texts[rule].words;
}

#define BIT(rule) (1u << ORR_AUDIT_##rule)
#define BASE                                                                                       \
    (BIT(NAMES) | BIT(TIMES) | BIT(CAPACITY) | BIT(DEVICES) | BIT(AMOUNT) | BIT(COUNTS) |          \
     BIT(BOOKS) | BIT(SHARD) | BIT(DOWN))

static const struct {
    const char *name;
    uint32_t rules;
    bool in_rounds; /* by itself, without execution.round */
} disciplines[] = {
    {"base", BASE, false},
    {"fcfs", BASE | BIT(GANG) | BIT(TOGETHER) | BIT(ORDER) | BIT(HEAD), false},
    {"fifo", BASE | BIT(GANG) | BIT(TOGETHER) | BIT(ORDER) | BIT(HEAD), false},
    {"easy", BASE | BIT(GANG) | BIT(TOGETHER) | BIT(HEAD) | BIT(PROMISE), false},
    {"kai",
     BASE | BIT(GANG) | BIT(TOGETHER) | BIT(LIMIT) | BIT(QUOTA) | BIT(SHARE) | BIT(VICTIM) |
         BIT(RECLAIM),
     false},
    {"static", BASE | BIT(GANG) | BIT(TOGETHER) | BIT(PART), false},
    {"las", BASE | BIT(GANG) | BIT(TOGETHER), true},
    {"srtf", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"conservative", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"drf", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"edf", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"gittins", BASE | BIT(GANG) | BIT(TOGETHER), true},
    {"slurm", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"themis", BASE | BIT(GANG) | BIT(TOGETHER), false},
    {"gavel", BASE | BIT(GANG) | BIT(TOGETHER), true},
    {"pollux", BASE | BIT(GANG) | BIT(TOGETHER), true},
    {"kube", BASE | BIT(NAMESPACE), false},
    {"kueue", BASE | BIT(TOGETHER) | BIT(LENDING) | BIT(VICTIM),
     false}, /* pods are placed one by one: no gang */
};
const char *const orr_audit_disciplines[] = {
    "base",  "fcfs",         "fifo", "easy",  "kai",     "static", "las",
    "srtf",  "conservative", "drf",  "edf",   "gittins", "slurm",  "themis",
    "gavel", "pollux",       "kube", "kueue", NULL};

uint32_t orr_audit_rules_of(const char *discipline)
{
    for (size_t i = 0; i < sizeof disciplines / sizeof disciplines[0]; i++) {
        if (strcmp(disciplines[i].name, discipline) == 0) {
            return disciplines[i].rules;
        }
    }
    return 0;
}

bool orr_audit__acts_in_rounds(const char *policy, bool otherwise)
{
    for (size_t i = 0; i < sizeof disciplines / sizeof disciplines[0]; i++) {
        if (strcmp(disciplines[i].name, policy) == 0) {
            return disciplines[i].in_rounds;
        }
    }
    return otherwise;
}

void orr_audit__found(struct orr_audit_run *run, enum orr_audit_rule rule, orr_ms at_ms,
                      const char *format, ...)
{
    struct orr_verdict *verdict = run->verdict;
    if (at_ms < run->schedule->begin_ms && (BASE >> rule & 1u) == 0) {
        return; /* nobody decided it */
    }
    if (verdict->found[rule]++ >= ORR_AUDIT_SHOWN) {
        return;
    }
    verdict->shown =
        ORR_ROOM_FOR_ONE(verdict->shown, verdict->shown_count, verdict->shown_capacity);
    struct orr_finding *finding = &verdict->shown[verdict->shown_count++];
    *finding = (struct orr_finding){.rule = rule, .at_ms = at_ms};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

static int by_edge(const void *a, const void *b, void *context)
{
    const struct orr_audit_edge *x = a, *y = b;
    (void)context;
    if (x->at_ms != y->at_ms) {
        return x->at_ms < y->at_ms ? -1 : 1;
    }
    return (int)x->kind - (int)y->kind;
}

struct orr_audit_edge *orr_audit__edges(const struct orr_schedule *schedule, size_t *count)
{
    struct orr_audit_edge *edges = orr_alloc((size_t)schedule->span_count * 3 + 1, sizeof *edges);
    size_t n = 0;
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        const struct orr_audit_span *span = &schedule->spans[s];
        if (span->end_ms <= span->start_ms) { /* held for no time, or backwards */
            continue;
        }
        edges[n++] = (struct orr_audit_edge){span->start_ms, s, ORR_AUDIT_TAKES};
        if (span->end_ms != ORR_MS_NEVER) {
            edges[n++] = (struct orr_audit_edge){span->end_ms, s, ORR_AUDIT_GIVES};
        }
        if (span->leaves_ms < span->end_ms) {
            edges[n++] = (struct orr_audit_edge){span->leaves_ms, s, ORR_AUDIT_LEAVES};
        }
    }
    orr_sort(edges, n, sizeof *edges, by_edge, NULL);
    *count = n;
    return edges;
}

static void judge(struct orr_audit_run *run, const struct orr_schedule *schedule, uint32_t rules)
{
    run->schedule = schedule;
    run->rules = rules;
    orr_audit__attempts(run);
    orr_audit__nodes(run);
    orr_audit__space(run);
    orr_audit__together(run);
    orr_audit__resize(run);
    orr_audit__lending(run);
    orr_audit__course(run);
    orr_audit__victims(run);
    orr_audit__order(run);
    orr_audit__reserved(run);
}

/* The rules one shard is judged by; adds their name to the verdict's. */
static uint32_t rules_of_shard(const struct orr_schedule *schedule, uint32_t shard,
                               const char *discipline, struct orr_verdict *verdict)
{
    const char *policy = schedule->shards[shard].policy;
    const char *name = discipline != NULL ? discipline : policy;
    uint32_t rules = name != NULL ? orr_audit_rules_of(name) : 0;
    if (rules == 0) {
        rules = BASE;
        name = "base";
    }
    if (discipline == NULL && schedule->shards[shard].other_order) {
        rules &= ~(BIT(ORDER) | BIT(HEAD) | BIT(PROMISE));
    } else if (discipline == NULL && schedule->shards[shard].overtakes) {
        rules &= ~BIT(ORDER);
    }
    rules &= discipline == NULL && schedule->shards[shard].scattered ? ~BIT(TOGETHER) : ~0u;
    rules |= discipline == NULL && schedule->shards[shard].cells ? BIT(PART) : 0;
    rules |= discipline == NULL && schedule->shards[shard].resizes ? BIT(RESIZE) : 0;
    const bool evicts =
        schedule->shards[shard].cells && schedule->shards[shard].opportunistic_below > INT32_MIN;
    rules |= discipline == NULL && evicts ? BIT(OPPORTUNISTIC) : 0;
    rules |= discipline == NULL && schedule->shards[shard].reserves ? BIT(RESERVATION) : 0;
    /* it may fit, and the round not have begun, or the scheduler be at work or have a clock */
    rules &= schedule->in_rounds || schedule->takes_time ? ~BIT(HEAD) : ~0u;
    if (shard == 0 || discipline == NULL) {
        const size_t used = strlen(verdict->discipline);
        (void)snprintf(verdict->discipline + used, sizeof verdict->discipline - used, "%s%s",
                       used > 0 ? "+" : "", name);
    }
    return rules;
}

void orr_audit(const struct orr_schedule *schedule, const char *discipline,
               struct orr_verdict *verdict)
{
    *verdict = (struct orr_verdict){0};
    struct orr_audit_instants instants = orr_audit__instants(schedule);
    struct orr_audit_run run = {
        .schedule = schedule, .ends_at_once = &instants, .verdict = verdict};
    verdict->examined[ORR_AUDIT_NAMES] = schedule->span_count + schedule->stray_count;
    if (schedule->stray_count > 0) {
        orr_audit__found(&run, ORR_AUDIT_NAMES, 0,
                         "%u row%s name%s no job or node that there is, such as %s",
                         schedule->stray_count, ORR_PLURAL(schedule->stray_count),
                         ORR_ONE(schedule->stray_count, "s", ""), schedule->stray);
    }
    if (schedule->shard_count > 1) { /* what holds of all of it, then what each is ruled by */
        judge(&run, schedule, BASE);
    }
    for (uint32_t s = 0; s < schedule->shard_count; s++) {
        const uint32_t rules = rules_of_shard(schedule, s, discipline, verdict);
        verdict->rules |= rules;
        if (schedule->shard_count == 1) {
            judge(&run, schedule, rules);
        } else {
            struct orr_schedule part;
            orr_audit__part(schedule, s, &part);
            judge(&run, &part, rules & ~BASE);
            orr_arena_release(&part.arena);
        }
    }
    orr_free(instants.at);
}

void orr_verdict_release(struct orr_verdict *verdict)
{
    orr_free(verdict->shown);
    *verdict = (struct orr_verdict){0};
}

uint64_t orr_verdict_found(const struct orr_verdict *verdict)
{
    uint64_t sum = 0;
    for (unsigned r = 0; r < ORR_AUDIT_RULE_COUNT; r++) {
        sum += verdict->found[r];
    }
    return sum;
}
