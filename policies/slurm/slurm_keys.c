/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_keys.c - the keys of slurm.conf that bear on decisions.
 *
 * Each key is a parameter of the policy too, under the same name and with the same values; a
 * parameter wins over the line of slurm_conf. */
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

enum key_type {
    KEY_TIME,     /* Slurm's time, ORR_MS_NEVER for INFINITE */
    KEY_MINUTES,  /* the same, in whole minutes */
    KEY_WEIGHT,   /* whole number from 0, into a double */
    KEY_BACKFILL, /* sched/backfill or sched/builtin */
    KEY_MULTIFACTOR,
    KEY_PREEMPT_TYPE,
    KEY_PREEMPT_MODE,
    KEY_YES,
    KEY_FLAGS,
    KEY_SELECT,
    KEY_ENFORCE,
    KEY_RESET,
    KEY_PART_LIMITS,
    KEY_PREEMPT_WORDS,
    KEY_TRES,
    KEY_LICENSES,
    KEY_SCHEDULER
};

/* name, type, field, default, help */
#define KEY_LIST(X)                                                                                \
    X(SchedulerType, BACKFILL, sched_backfill, "sched/backfill",                                   \
      "sched/backfill, or sched/builtin: no job passes another of its "                            \
      "partition")                                                                                 \
    X(SchedulerParameters, SCHEDULER, default_queue_depth, "",                                     \
      "words of slurm.conf, joined by commas: depths, intervals, bf_*")                            \
    X(SelectTypeParameters, SELECT, lln, "", "CR_LLN: the least loaded node of equal weight")      \
    X(PriorityType, MULTIFACTOR, multifactor, "priority/basic",                                    \
      "priority/basic (in order of submit) or priority/multifactor")                               \
    X(PriorityWeightAge, WEIGHT, weight_age, "0", "weight of the wait since it could start")       \
    X(PriorityWeightJobSize, WEIGHT, weight_jobsize, "0", "weight of its size")                    \
    X(PriorityWeightPartition, WEIGHT, weight_partition, "0",                                      \
      "weight of its partition's PriorityJobFactor")                                               \
    X(PriorityWeightAssoc, WEIGHT, weight_assoc, "0", "weight of the priority of its association") \
    X(PriorityWeightFairshare, WEIGHT, weight_fairshare, "0", "weight of the fair-share factor")   \
    X(PriorityWeightQOS, WEIGHT, weight_qos, "0", "weight of its QOS' priority")                   \
    X(PriorityDecayHalfLife, MINUTES, decay_half_life_ms, "7-0",                                   \
      "half-life of usage; 0: no decay")                                                           \
    X(PriorityUsageResetPeriod, RESET, usage_reset, "NONE",                                        \
      "NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY: usage becomes 0 "                   \
      "then")                                                                                      \
    X(FairShareDampeningFactor, WEIGHT, dampening, "1", "of the classic factor (NO_FAIR_TREE)")    \
    X(AccountingStorageEnforce, ENFORCE, enforce_limits, "",                                       \
      "limits (or safe): limits of QOS and associations hold, and all usage is "                   \
      "booked")                                                                                    \
    X(EnforcePartLimits, PART_LIMITS, part_limits, "NO",                                           \
      "ALL, ANY: a job that passes time or nodes of its partitions is refused at submit")          \
    X(MaxArraySize, WEIGHT, max_array_size, "0",                                                   \
      "tasks of an array, more are refused at submit; 0: any number")                              \
    X(PreemptType, PREEMPT_TYPE, preempt_type, "preempt/none",                                     \
      "preempt/partition_prio or preempt/qos: who may take whose nodes")                           \
    X(PreemptMode, PREEMPT_MODE, preempt_mode, "OFF",                                              \
      "REQUEUE, CANCEL, SUSPEND,GANG (CPUs alone, no GPUs) or OFF")                                \
    X(PreemptParameters, PREEMPT_WORDS, preempt_reorder_count, "",                                 \
      "reorder_count=N, strict_order, youngest_first: which victims go first")                     \
    X(JobRequeue, YES, job_requeue, "1",                                                           \
      "0: who is preempted, or whose node fails, is cancelled, unless --requeue says not to")      \
    X(PreemptExemptTime, TIME, preempt_exempt_ms, "0",                                             \
      "how long a job runs before it may be preempted; of a QOS: its own")                         \
    X(Licenses, LICENSES, licenses, "",                                                            \
      "licenses that jobs ask by --licenses, with how many there are: matlab:4,ansys")             \
    X(PriorityWeightTRES, TRES, weight_tres, "", "weights by resource: CPU=300,GRES/gpu=1000")     \
    X(PriorityMaxAge, MINUTES, max_age_ms, "7-0", "the wait at which the age factor is 1")         \
    X(PriorityCalcPeriod, MINUTES, calc_period_ms, "5",                                            \
      "how often priorities of waiting jobs change")                                               \
    X(PriorityFavorSmall, YES, favor_small, "NO", "YES: small jobs have the larger size factor")   \
    X(PriorityFlags, FLAGS, priority_flags, "", "as in slurm.conf, joined by commas")

enum {
#define X(name, type, field, fallback, help) KEY_##name,
    KEY_LIST(X)
#undef X
        KEY_COUNT
};

static const struct key {
    const char *name;
    enum key_type type;
    size_t offset; /* in struct slurm_conf */
    const char *fallback;
} keys[] = {
#define X(name, type, field, fallback, help)                                                       \
    {#name, KEY_##type, offsetof(struct slurm_conf, field), fallback},
    KEY_LIST(X)
#undef X
};

_Static_assert(KEY_COUNT <= sizeof((struct slurm_params *)0)->keys / sizeof(const char *),
               "a parameter for each key");

const struct orr_param orr_slurm__rows[] = {
    {"slurm_conf", ORR_PARAM_TEXT, offsetof(struct slurm_params, slurm_conf), "", "", NULL, 0, 0,
     "lines of a slurm.conf: the keys below, partitions, weights of nodes"},
    {"sacctmgr", ORR_PARAM_TEXT, offsetof(struct slurm_params, sacctmgr), "", "", NULL, 0, 0,
     "what sacctmgr -P show assoc format=Account,User,ParentName,Share,DefaultQOS,GrpTRES,... and "
     "show qos print, one after the other; without associations queues are accounts"},
    {"slurmctld_start", ORR_PARAM_TIME, offsetof(struct slurm_params, slurmctld_start_ms), "0s", "",
     NULL, -1, 0, "when slurmctld was started: its periods count from then"},
#define X(name, type, field, fallback, help)                                                       \
    {#name,                                                                                        \
     ORR_PARAM_TEXT,                                                                               \
     offsetof(struct slurm_params, keys) + KEY_##name * sizeof(char *),                            \
     "",                                                                                           \
     "",                                                                                           \
     NULL,                                                                                         \
     0,                                                                                            \
     0,                                                                                            \
     sizeof fallback > 1 ? help " (default: " fallback ")" : help},
    KEY_LIST(X)
#undef X
        {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

static enum orr_status read_flags(const struct slurm_reader *reader, struct slurm_span list,
                                  uint32_t *flags)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {{"ACCRUE_ALWAYS", SLURM_ACCRUE_ALWAYS},
                 {"CALCULATE_RUNNING", SLURM_CALCULATE_RUNNING},
                 {"DEPTH_OBLIVIOUS", SLURM_DEPTH_OBLIVIOUS | SLURM_NO_FAIR_TREE},
                 {"INCR_ONLY", SLURM_INCR_ONLY},
                 {"MAX_TRES", SLURM_MAX_TRES},
                 {"NO_NORMAL_ALL", SLURM_NO_NORMAL_ASSOC | SLURM_NO_NORMAL_PART |
                                       SLURM_NO_NORMAL_QOS | SLURM_NO_NORMAL_TRES},
                 {"NO_NORMAL_ASSOC", SLURM_NO_NORMAL_ASSOC},
                 {"NO_NORMAL_PART", SLURM_NO_NORMAL_PART},
                 {"NO_NORMAL_QOS", SLURM_NO_NORMAL_QOS},
                 {"NO_NORMAL_TRES", SLURM_NO_NORMAL_TRES},
                 {"NO_FAIR_TREE", SLURM_NO_FAIR_TREE},
                 {"FAIR_TREE", 0},
                 {"SMALL_RELATIVE_TO_TIME", SLURM_SMALL_RELATIVE_TO_TIME}};
    struct slurm_span item;
    *flags = 0;
    while (orr_slurm__next_item(&list, &item)) {
        bool found = false;
        for (size_t f = 0; f < sizeof known / sizeof known[0]; f++) {
            if (orr_slurm__is(item, known[f].name)) {
                *flags |= known[f].bit;
                found = true;
            }
        }
        if (orr_slurm__is(item, "MAX_TRES_GRES")) { /* of later releases */
            orr_slurm__remark(reader, item, "is not heeded: take MAX_TRES");
        } else if (!found) {
            return orr_slurm__complain(reader, item, "is no PriorityFlags that is known");
        }
    }
    return ORR_OK;
}

static enum orr_status read_reset(const struct slurm_reader *reader, struct slurm_span value,
                                  uint8_t *out)
{
    static const char *const names[] = {"NONE",    "NOW",       "DAILY", "WEEKLY",
                                        "MONTHLY", "QUARTERLY", "YEARLY"};
    for (uint8_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (orr_slurm__is(value, names[n])) {
            *out = n;
            return ORR_OK;
        }
    }
    return orr_slurm__complain(reader, value, "is no PriorityUsageResetPeriod");
}

static enum orr_status read_part_limits(const struct slurm_reader *reader, struct slurm_span value,
                                        uint8_t *out)
{
    static const struct {
        const char *word;
        uint8_t limits;
    } known[] = {{"NO", SLURM_PART_LIMITS_NO},
                 {"ANY", SLURM_PART_LIMITS_ANY},
                 {"ALL", SLURM_PART_LIMITS_ALL},
                 {"YES", SLURM_PART_LIMITS_ALL}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (orr_slurm__is(value, known[k].word)) {
            *out = known[k].limits;
            return ORR_OK;
        }
    }
    return orr_slurm__complain(reader, value, "is not ALL, ANY or NO");
}

enum orr_status orr_slurm__preempt_mode(const struct slurm_reader *reader, struct slurm_span value,
                                        uint8_t *mode, bool *within)
{
    static const struct {
        const char *word;
        uint8_t mode;
    } known[] = {{"GANG", SLURM_MODE_OFF},         {"OFF", SLURM_MODE_OFF},
                 {"REQUEUE", SLURM_MODE_REQUEUE},  {"CANCEL", SLURM_MODE_CANCEL},
                 {"SUSPEND", SLURM_MODE_SUSPEND},  {"cluster", SLURM_MODE_NOT_STATED},
                 {"WITHIN", SLURM_MODE_NOT_STATED}};
    struct slurm_span item;
    *mode = SLURM_MODE_NOT_STATED;
    *within = false;
    while (orr_slurm__next_item(&value, &item)) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && !orr_slurm__is(item, known[k].word)) {
            k++;
        }
        if (k == sizeof known / sizeof known[0]) {
            return orr_slurm__complain(
                reader, item, "is no PreemptMode: OFF, CANCEL, REQUEUE, SUSPEND, GANG or WITHIN");
        }
        *mode = known[k].mode > *mode ? known[k].mode : *mode;
        *within = *within || orr_slurm__is(item, "WITHIN");
    }
    return ORR_OK;
}

static enum orr_status read_select(const struct slurm_reader *reader, struct slurm_span list,
                                   bool *lln)
{
    struct slurm_span item;
    while (orr_slurm__next_item(&list, &item)) {
        if (!orr_text_like(item.at, item.bytes, "CR_*|OTHER_CONS_*|*_GRES|*_GRES_PJ|NONE", true)) {
            return orr_slurm__complain(reader, item, "is no SelectTypeParameters");
        }
        if (orr_text_like(item.at, item.bytes, "CR_Socket*|CR_ONE_TASK_PER_CORE", true)) {
            orr_slurm__remark(reader, item, "is not heeded: CPUs are given one by one");
        }
        *lln = *lln || orr_slurm__is(item, "CR_LLN");
    }
    return ORR_OK;
}

static enum orr_status read_enforce(const struct slurm_reader *reader, struct slurm_span list,
                                    bool *limits)
{
    struct slurm_span item;
    *limits = reader->conf->enforce_safe = reader->conf->enforce_qos = false;
    while (orr_slurm__next_item(&list, &item)) {
        const bool safe = orr_text_like(item.at, item.bytes, "safe|all", true);
        if (!safe && !orr_text_like(item.at, item.bytes,
                                    "limits|associations|qos|nojobs|nosteps|wckeys|none|0", true)) {
            return orr_slurm__complain(reader, item,
                                       "is no AccountingStorageEnforce: associations, limits, "
                                       "safe, qos, all");
        }
        reader->conf->enforce_safe = reader->conf->enforce_safe || safe;
        reader->conf->enforce_qos =
            reader->conf->enforce_qos || orr_text_like(item.at, item.bytes, "qos|all", true);
        *limits = *limits || safe || orr_slurm__is(item, "limits");
    }
    return ORR_OK;
}

/* SchedulerParameters has the same words with preempt_ before them. */
static enum orr_status read_preempt_words(const struct slurm_reader *reader, struct slurm_span list)
{
    struct slurm_conf *conf = reader->conf;
    struct slurm_span item;
    while (orr_slurm__next_item(&list, &item)) {
        const struct slurm_span value = orr_slurm__value_in(item);
        int64_t count = 0;
        if (orr_text_like(item.at, item.bytes, "reorder_count=*", true)) {
            if (!orr_parse_i64(value.at, value.bytes, &count) || count < 0 || count > 1000) {
                return orr_slurm__complain(reader, item, "needs a whole number from 0 to 1000");
            }
            conf->preempt_reorder_count = count;
        } else if (orr_slurm__is(item, "strict_order")) {
            conf->preempt_strict_order = true;
        } else if (orr_slurm__is(item, "youngest_first")) {
            conf->preempt_youngest_first = true;
        } else if (!orr_slurm__is(item, "send_user_signal")) {
            orr_slurm__remark(reader, item, "is not heeded: policy slurm has nothing like it");
        }
    }
    return ORR_OK;
}

static enum orr_status set_choice(const struct slurm_reader *reader, struct slurm_span value,
                                  const char *no, const char *yes_word, bool *out)
{
    *out = orr_slurm__is(value, yes_word);
    return *out || orr_slurm__is(value, no) ? ORR_OK
                                            : orr_slurm__complain(reader, value, "is not known");
}

static bool has_item(struct slurm_span list, const char *word)
{
    struct slurm_span item;
    bool found = false;
    while (!found && orr_slurm__next_item(&list, &item)) {
        found = orr_slurm__is(item, word);
    }
    return found;
}

static enum orr_status read_time(const struct slurm_reader *reader, const struct key *key,
                                 struct slurm_span value, orr_ms *out)
{
    const bool read = key->type == KEY_MINUTES ? orr_slurm__minutes(value.at, value.bytes, out)
                                               : orr_slurm__time(value.at, value.bytes, out);
    return read ? ORR_OK
                : orr_slurm__complain(reader, value,
                                      "is no time: minutes, hours:minutes:seconds, days-hours");
}

static enum orr_status set_key(const struct slurm_reader *reader, const struct key *key,
                               struct slurm_span value)
{
    char *at = (char *)reader->conf + key->offset;
    double number;
    switch (key->type) {
    case KEY_TIME:
    case KEY_MINUTES: return read_time(reader, key, value, (orr_ms *)(void *)at);
    case KEY_WEIGHT:
        if (!orr_parse_double(value.at, value.bytes, &number) || number < 0) {
            return orr_slurm__complain(reader, value, "is no weight: a number from 0");
        }
        *(double *)(void *)at = number;
        return ORR_OK;
    case KEY_BACKFILL:
        return set_choice(reader, value, "sched/builtin", "sched/backfill", (bool *)(void *)at);
    case KEY_MULTIFACTOR:
        return set_choice(reader, value, "priority/basic", "priority/multifactor",
                          (bool *)(void *)at);
    case KEY_YES:
        return orr_slurm__yes(value, (bool *)(void *)at)
                   ? ORR_OK
                   : orr_slurm__complain(reader, value, "is not YES or NO");
    case KEY_FLAGS: return read_flags(reader, value, (uint32_t *)(void *)at);
    case KEY_TRES: return orr_slurm__tres(reader, value, true, (double *)(void *)at);
    case KEY_LICENSES: return orr_slurm__read_licenses(reader, value);
    case KEY_SCHEDULER: return orr_slurm__read_scheduler(reader, value);
    case KEY_SELECT: return read_select(reader, value, (bool *)(void *)at);
    case KEY_PREEMPT_WORDS: return read_preempt_words(reader, value);
    case KEY_PART_LIMITS: return read_part_limits(reader, value, (uint8_t *)at);
    case KEY_RESET: return read_reset(reader, value, (uint8_t *)at);
    case KEY_ENFORCE: return read_enforce(reader, value, (bool *)(void *)at);
    case KEY_PREEMPT_TYPE:
        *(uint8_t *)at = orr_slurm__is(value, "preempt/qos") ? SLURM_PREEMPT_QOS
                         : orr_slurm__is(value, "preempt/partition_prio")
                             ? SLURM_PREEMPT_PARTITION_PRIO
                             : SLURM_PREEMPT_NONE;
        return *at != SLURM_PREEMPT_NONE || orr_slurm__is(value, "preempt/none")
                   ? ORR_OK
                   : orr_slurm__complain(reader, value,
                                         "is not preempt/none, partition_prio or qos");
    case KEY_PREEMPT_MODE:
        if (orr_slurm__preempt_mode(reader, value, (uint8_t *)at, &reader->conf->preempt_within) !=
            ORR_OK) {
            return ORR_DATA;
        }
        if (*at == SLURM_MODE_NOT_STATED) {
            return orr_slurm__complain(reader, value, "is no PreemptMode of a cluster");
        }
        reader->conf->gang = has_item(value, "GANG");
        return *at != SLURM_MODE_SUSPEND || reader->conf->gang
                   ? ORR_OK
                   : orr_slurm__complain(reader, value,
                                         "needs GANG beside it, as in Slurm: SUSPEND,GANG");
    default: return ORR_OK;
    }
}

enum orr_status orr_slurm__read_key(const struct slurm_reader *reader, struct slurm_span name,
                                    struct slurm_span value)
{
    static const char *const heads[] = {"PartitionName", "NodeName", "SwitchName", "DownNodes",
                                        "NodeSet"};
    const char *heeded[KEY_COUNT + sizeof heads / sizeof heads[0]];
    for (size_t k = 0; k < KEY_COUNT; k++) {
        if (orr_slurm__is(name, keys[k].name)) {
            return set_key(reader, &keys[k], value);
        }
        heeded[k] = keys[k].name;
    }
    memcpy(heeded + KEY_COUNT, heads, sizeof heads);
    orr_slurm__pass_over(reader, name, value, heeded, sizeof heeded / sizeof heeded[0]);
    return ORR_OK;
}

enum orr_status orr_slurm__default_keys(struct slurm_reader *reader)
{
    enum orr_status status = ORR_OK;
    for (size_t k = 0; k < KEY_COUNT && status == ORR_OK; k++) {
        reader->origin = keys[k].name;
        status = set_key(reader, &keys[k],
                         (struct slurm_span){keys[k].fallback, strlen(keys[k].fallback)});
    }
    return status;
}

enum orr_status orr_slurm__param_keys(struct slurm_reader *reader,
                                      const struct slurm_params *params)
{
    enum orr_status status = ORR_OK;
    for (size_t k = 0; k < KEY_COUNT && status == ORR_OK; k++) {
        const char *text = params->keys[k];
        reader->origin = keys[k].name;
        if (text[0] != '\0') {
            status = set_key(reader, &keys[k], (struct slurm_span){text, strlen(text)});
        }
    }
    return status;
}
