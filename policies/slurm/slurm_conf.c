/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.c - slurm.conf: the keys that bear on decisions, partitions and
 * weights of nodes.
 *
 * Each key is a parameter of the policy too, under the same name and with the
 * same values; a parameter wins over the line of slurm_conf. Keys of the file
 * that are not in the table bear on nothing here and are passed over; words of
 * SchedulerParameters must be known. */
#include "slurm_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

enum key_type {
    KEY_TIME,     /* Slurm's time, ORR_MS_NEVER for INFINITE */
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
    KEY_TRES,
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
    X(PriorityWeightFairshare, WEIGHT, weight_fairshare, "0", "weight of the fair-share factor")   \
    X(PriorityWeightQOS, WEIGHT, weight_qos, "0", "weight of its QOS' priority")                   \
    X(PriorityDecayHalfLife, TIME, decay_half_life_ms, "7-0", "half-life of usage; 0: no decay")   \
    X(PriorityUsageResetPeriod, RESET, usage_reset, "NONE",                                        \
      "NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY: usage becomes 0 "                   \
      "then")                                                                                      \
    X(FairShareDampeningFactor, WEIGHT, dampening, "1", "of the classic factor (NO_FAIR_TREE)")    \
    X(AccountingStorageEnforce, ENFORCE, enforce_limits, "",                                       \
      "limits (or safe): limits of QOS and associations hold, and all usage is "                   \
      "booked")                                                                                    \
    X(PreemptType, PREEMPT_TYPE, preempt_type, "preempt/none",                                     \
      "preempt/partition_prio or preempt/qos: who may take whose nodes")                           \
    X(PreemptMode, PREEMPT_MODE, preempt_mode, "OFF", "REQUEUE, CANCEL, SUSPEND,GANG or OFF")      \
    X(PreemptExemptTime, TIME, preempt_exempt_ms, "0",                                             \
      "how long a job runs before it may be preempted; of a QOS: its own")                         \
    X(PriorityWeightTRES, TRES, weight_tres, "", "weights by resource: CPU=300,GRES/gpu=1000")     \
    X(PriorityMaxAge, TIME, max_age_ms, "7-0", "the wait at which the age factor is 1")            \
    X(PriorityCalcPeriod, TIME, calc_period_ms, "5",                                               \
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
     "what sacctmgr -P show assoc and show qos print, one after the other; "
     "without associations "
     "queues are accounts"},
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
     help " (default: " fallback ")"},
    KEY_LIST(X)
#undef X
        {NULL, ORR_PARAM_BOOL, 0, NULL, NULL, NULL, 0, 0, NULL}};

struct reader {
    struct slurm_conf *conf;
    const struct orr_view *view; /* NULL: only syntax is looked at */
    const char *origin;          /* for errors */
    uint32_t line;               /* of slurm_conf; 0: a parameter */
    struct orr_err *err;
};

struct span {
    const char *at;
    size_t bytes;
};

static enum orr_status complain(const struct reader *reader, struct span value, const char *what)
{
    char where[40] = "";
    if (reader->line > 0) {
        (void)snprintf(where, sizeof where, "line %u: ", (unsigned)reader->line);
    }
    return orr_fail(reader->err, ORR_DATA, "%s: %s\"%.*s\" %s", reader->origin, where,
                    (int)(value.bytes < 80 ? value.bytes : 80), value.at, what);
}

static bool is(struct span text, const char *word)
{
    return orr_slurm__same(text.at, text.bytes, word);
}

/* The next item of a list joined by commas; false: there is none. */
static bool next_item(struct span *list, struct span *item)
{
    while (list->bytes > 0 && (*list->at == ',' || *list->at == ' ')) {
        list->at++;
        list->bytes--;
    }
    item->at = list->at;
    item->bytes = 0;
    while (item->bytes < list->bytes && list->at[item->bytes] != ',') {
        item->bytes++;
    }
    list->at += item->bytes;
    list->bytes -= item->bytes;
    return item->bytes > 0;
}

static struct span value_in(struct span item)
{
    const char *sign = memchr(item.at, '=', item.bytes);
    return sign == NULL ? (struct span){item.at + item.bytes, 0}
                        : (struct span){sign + 1, item.bytes - (size_t)(sign + 1 - item.at)};
}

static bool yes(struct span text, bool *out)
{
    *out = is(text, "YES") || is(text, "UP") || is(text, "TRUE") || is(text, "1");
    return *out || is(text, "NO") || is(text, "DOWN") || is(text, "FALSE") || is(text, "0");
}

/* --- SchedulerParameters --- */

enum word_type { WORD_SECONDS, WORD_MINUTES, WORD_COUNT, WORD_SWITCH, WORD_NOTHING };

#define AT(field) offsetof(struct slurm_conf, field)
static const struct word {
    const char *name;
    enum word_type type;
    size_t offset;
} words[] = {
    {"default_queue_depth", WORD_COUNT, AT(default_queue_depth)},
    {"batch_sched_delay", WORD_SECONDS, AT(batch_sched_delay_ms)},
    {"sched_interval", WORD_SECONDS, AT(sched_interval_ms)},
    {"partition_job_depth", WORD_COUNT, AT(partition_job_depth)},
    {"sched_max_job_start", WORD_COUNT, AT(sched_max_job_start)},
    {"defer", WORD_SWITCH, AT(defer)},
    {"assoc_limit_stop", WORD_SWITCH, AT(assoc_limit_stop)},
    {"preempt_reorder_count", WORD_COUNT, AT(preempt_reorder_count)},
    {"preempt_strict_order", WORD_SWITCH, AT(preempt_strict_order)},
    {"preempt_youngest_first", WORD_SWITCH, AT(preempt_youngest_first)},
    {"bf_interval", WORD_SECONDS, AT(bf_interval_ms)},
    {"bf_window", WORD_MINUTES, AT(bf_window_ms)},
    {"bf_resolution", WORD_SECONDS, AT(bf_resolution_ms)},
    {"bf_window_linear", WORD_SECONDS, AT(bf_window_linear_ms)},
    {"bf_max_job_test", WORD_COUNT, AT(bf_max_job_test)},
    {"bf_max_job_start", WORD_COUNT, AT(bf_max_job_start)},
    {"bf_max_job_part", WORD_COUNT, AT(bf_max_job_part)},
    {"bf_max_job_user", WORD_COUNT, AT(bf_max_job_user)},
    {"bf_max_job_assoc", WORD_COUNT, AT(bf_max_job_assoc)},
    {"bf_max_job_user_part", WORD_COUNT, AT(bf_max_job_user_part)},
    {"bf_job_part_count_reserve", WORD_COUNT, AT(bf_job_part_count_reserve)},
    {"bf_one_resv_per_job", WORD_SWITCH, AT(bf_one_resv_per_job)},
    {"bf_max_job_array_resv", WORD_COUNT, AT(bf_max_job_array_resv)},
    {"bf_node_space_size", WORD_COUNT, AT(bf_node_space_size)},
    {"bf_min_prio_reserve", WORD_COUNT, AT(bf_min_prio_reserve)},
    {"bf_min_age_reserve", WORD_SECONDS, AT(bf_min_age_reserve_ms)},
    {"bf_running_job_reserve", WORD_SWITCH, AT(bf_running_job_reserve)},
    /* about threads, locks and messages, which take no time here */
    {"bf_continue", WORD_NOTHING, 0},
    {"bf_max_time", WORD_NOTHING, 0},
    {"bf_yield_interval", WORD_NOTHING, 0},
    {"bf_yield_sleep", WORD_NOTHING, 0},
    {"build_queue_timeout", WORD_NOTHING, 0},
    {"max_rpc_cnt", WORD_NOTHING, 0},
    {"max_sched_time", WORD_NOTHING, 0},
    {"sched_max_time", WORD_NOTHING, 0},
    {"sched_min_interval", WORD_NOTHING, 0},
    {"kill_invalid_depend", WORD_NOTHING, 0},
    {"bf_licenses", WORD_NOTHING, 0},
    {"nohold_on_prolog_fail", WORD_NOTHING, 0},
    {"enable_user_top", WORD_NOTHING, 0},
    {"Ignore_NUMA", WORD_NOTHING, 0},
    {"default_gbytes", WORD_NOTHING, 0},
    {"salloc_wait_nodes", WORD_NOTHING, 0},
    {"requeue_setup_env_fail", WORD_NOTHING, 0},
    {"sbatch_wait_nodes", WORD_NOTHING, 0},
    {"batch_sched_interval", WORD_NOTHING, 0},
    {"preempt_send_user_signal", WORD_NOTHING, 0},
};
enum { WORD_KINDS = sizeof words / sizeof words[0] };

static enum orr_status set_word(const struct reader *reader, const struct word *word,
                                struct span item)
{
    char *at = (char *)reader->conf + word->offset;
    const struct span value = value_in(item);
    int64_t number;
    if (word->type == WORD_NOTHING) {
        return ORR_OK;
    }
    if (word->type == WORD_SWITCH) {
        *(bool *)at = true;
        return ORR_OK;
    }
    if (!orr_parse_i64(value.at, value.bytes, &number) || number < -1 || number > 1000000000) {
        return complain(reader, item, "needs a whole number");
    }
    if (word->type == WORD_COUNT) {
        *(int64_t *)(void *)at = number;
    } else {
        *(orr_ms *)(void *)at = number * (word->type == WORD_MINUTES ? 60000 : 1000);
    }
    return ORR_OK;
}

static enum orr_status read_scheduler(const struct reader *reader, struct span list)
{
    struct span item;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && next_item(&list, &item)) {
        const char *sign = memchr(item.at, '=', item.bytes);
        const struct span name = {item.at, sign == NULL ? item.bytes : (size_t)(sign - item.at)};
        const struct word *word = NULL;
        const char *names[WORD_KINDS];
        for (int w = 0; w < WORD_KINDS; w++) {
            names[w] = words[w].name;
            word = is(name, words[w].name) ? &words[w] : word;
        }
        if (word == NULL) {
            char text[64], what[200];
            (void)snprintf(text, sizeof text, "%.*s", (int)(name.bytes < 60 ? name.bytes : 60),
                           name.at);
            const char *near = orr_nearest(text, names, WORD_KINDS);
            (void)snprintf(what, sizeof what, "is no word of SchedulerParameters that is known%s%s",
                           near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
            return complain(reader, item, what);
        }
        status = set_word(reader, word, item);
    }
    return status;
}

/* --- keys --- */

static enum orr_status read_flags(const struct reader *reader, struct span list, uint32_t *flags)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {
        {"ACCRUE_ALWAYS", SLURM_ACCRUE_ALWAYS},
        {"CALCULATE_RUNNING", SLURM_CALCULATE_RUNNING},
        {"INCR_ONLY", SLURM_INCR_ONLY},
        {"MAX_TRES", SLURM_MAX_TRES},
        {"NO_NORMAL_ALL", SLURM_NO_NORMAL_PART | SLURM_NO_NORMAL_QOS | SLURM_NO_NORMAL_TRES},
        {"NO_NORMAL_PART", SLURM_NO_NORMAL_PART},
        {"NO_NORMAL_QOS", SLURM_NO_NORMAL_QOS},
        {"NO_NORMAL_TRES", SLURM_NO_NORMAL_TRES},
        {"NO_FAIR_TREE", SLURM_NO_FAIR_TREE},
        {"FAIR_TREE", 0},
        {"NO_NORMAL_ASSOC", 0},
        {"SMALL_RELATIVE_TO_TIME", SLURM_SMALL_RELATIVE_TO_TIME}};
    struct span item;
    *flags = 0;
    while (next_item(&list, &item)) {
        bool found = false;
        for (size_t f = 0; f < sizeof known / sizeof known[0]; f++) {
            if (is(item, known[f].name)) {
                *flags |= known[f].bit;
                found = true;
            }
        }
        if (!found) {
            return complain(reader, item, "is no PriorityFlags that is known");
        }
    }
    return ORR_OK;
}

static enum orr_status read_reset(const struct reader *reader, struct span value, uint8_t *out)
{
    static const char *const names[] = {"NONE",    "NOW",       "DAILY", "WEEKLY",
                                        "MONTHLY", "QUARTERLY", "YEARLY"};
    for (uint8_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (is(value, names[n])) {
            *out = n;
            return ORR_OK;
        }
    }
    return complain(reader, value, "is no PriorityUsageResetPeriod");
}

uint8_t orr_slurm__preempt_mode(const char *text, size_t bytes)
{
    static const struct {
        const char *pattern;
        uint8_t mode;
    } known[] = {{"*REQUEUE*", SLURM_MODE_REQUEUE},
                 {"*CANCEL*", SLURM_MODE_CANCEL},
                 {"*SUSPEND*", SLURM_MODE_SUSPEND},
                 {"OFF", SLURM_MODE_OFF},
                 {"GANG", SLURM_MODE_OFF}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (orr_text_like(text, bytes, known[k].pattern, true)) {
            return known[k].mode;
        }
    }
    return SLURM_MODE_NOT_STATED;
}

static enum orr_status set_choice(const struct reader *reader, struct span value, const char *no,
                                  const char *yes_word, bool *out)
{
    *out = is(value, yes_word);
    return *out || is(value, no) ? ORR_OK : complain(reader, value, "is not known");
}

static enum orr_status set_key(const struct reader *reader, const struct key *key,
                               struct span value)
{
    char *at = (char *)reader->conf + key->offset;
    double number;
    switch (key->type) {
    case KEY_TIME:
        return orr_slurm__time(value.at, value.bytes, (orr_ms *)(void *)at)
                   ? ORR_OK
                   : complain(reader, value,
                              "is no time: minutes, hours:minutes:seconds, days-hours");
    case KEY_WEIGHT:
        if (!orr_parse_double(value.at, value.bytes, &number) || number < 0) {
            return complain(reader, value, "is no weight: a number from 0");
        }
        *(double *)(void *)at = number;
        return ORR_OK;
    case KEY_BACKFILL:
        return set_choice(reader, value, "sched/builtin", "sched/backfill", (bool *)(void *)at);
    case KEY_MULTIFACTOR:
        return set_choice(reader, value, "priority/basic", "priority/multifactor",
                          (bool *)(void *)at);
    case KEY_YES:
        return yes(value, (bool *)(void *)at) ? ORR_OK
                                              : complain(reader, value, "is not YES or NO");
    case KEY_FLAGS: return read_flags(reader, value, (uint32_t *)(void *)at);
    case KEY_TRES:
        return orr_slurm__tres(value.at, value.bytes, true, (double *)(void *)at)
                   ? ORR_OK
                   : complain(reader, value, "are no weights such as CPU=1,GRES/gpu=2");
    case KEY_SCHEDULER: return read_scheduler(reader, value);
    case KEY_SELECT: {
        struct span item;
        while (next_item(&value, &item)) {
            *(bool *)(void *)at = *(bool *)(void *)at || is(item, "CR_LLN");
        }
        return ORR_OK;
    }
    case KEY_RESET: return read_reset(reader, value, (uint8_t *)at);
    case KEY_ENFORCE:
        *(bool *)(void *)at = orr_text_like(value.at, value.bytes, "*limits*|*safe*|*all*", true);
        reader->conf->enforce_safe = orr_text_like(value.at, value.bytes, "*safe*|*all*", true);
        return ORR_OK;
    case KEY_PREEMPT_TYPE:
        *(uint8_t *)at = is(value, "preempt/qos")              ? SLURM_PREEMPT_QOS
                         : is(value, "preempt/partition_prio") ? SLURM_PREEMPT_PARTITION_PRIO
                                                               : SLURM_PREEMPT_NONE;
        return *at != SLURM_PREEMPT_NONE || is(value, "preempt/none")
                   ? ORR_OK
                   : complain(reader, value, "is not preempt/none, partition_prio or qos");
    case KEY_PREEMPT_MODE:
        *(uint8_t *)at = orr_slurm__preempt_mode(value.at, value.bytes);
        return *at != SLURM_MODE_NOT_STATED ? ORR_OK : complain(reader, value, "is no PreemptMode");
    default: return ORR_OK;
    }
}

/* --- partitions and nodes --- */

struct taking {
    const struct reader *reader;
    struct slurm_partition *partition; /* or NULL: weights */
    int64_t weight;
    bool missing;
    char name[64];
};

static bool take_node(void *context, const char *name)
{
    struct taking *taking = context;
    const struct orr_view *view = taking->reader->view;
    if (view == NULL) {
        return true;
    }
    const uint32_t node = orr_idmap_find(&view->cluster->node_names, name, strlen(name));
    if (node == ORR_NONE) {
        (void)snprintf(taking->name, sizeof taking->name, "%s", name);
        taking->missing = true;
        return taking->partition == NULL; /* slurm.conf may know more nodes than there are */
    }
    if (taking->partition == NULL) {
        taking->reader->conf->weight[node] = taking->weight;
    } else if (!slurm_has(taking->partition->nodes, node)) {
        taking->partition->nodes[node >> 6] |= (uint64_t)1 << (node & 63);
        taking->partition->node_count++;
    }
    return true;
}

static void all_nodes(struct slurm_partition *partition, const struct orr_view *view)
{
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        partition->nodes[n >> 6] |= (uint64_t)1 << (n & 63);
    }
    partition->node_count = view->cluster->node_count;
}

static enum orr_status read_nodes(const struct reader *reader, struct slurm_partition *partition,
                                  struct span value)
{
    struct taking taking = {reader, partition, 0, false, ""};
    if (is(value, "ALL")) {
        if (reader->view != NULL) {
            all_nodes(partition, reader->view);
        }
        return ORR_OK;
    }
    if (!orr_slurm__hosts(value.at, value.bytes, take_node, &taking)) {
        char what[120];
        (void)snprintf(what, sizeof what, "names node %s, which the cluster does not have",
                       taking.name);
        return complain(reader, value, taking.missing ? what : "is no list of nodes");
    }
    return ORR_OK;
}

static enum orr_status partition_number(const struct reader *reader, struct span value,
                                        int64_t *out)
{
    if (is(value, "UNLIMITED") || is(value, "INFINITE")) {
        *out = UINT32_MAX;
        return ORR_OK;
    }
    return orr_parse_i64(value.at, value.bytes, out) && *out >= 0 && *out <= 65533000
               ? ORR_OK
               : complain(reader, value, "is no whole number");
}

static enum orr_status set_partition(const struct reader *reader, struct slurm_partition *p,
                                     struct span name, struct span value)
{
    enum orr_status status = ORR_OK;
    int64_t number = 0;
    bool on = false;
    if (is(name, "Nodes")) {
        return read_nodes(reader, p, value);
    }
    if (is(name, "PriorityTier")) {
        return partition_number(reader, value, &p->priority_tier);
    }
    if (is(name, "PriorityJobFactor")) {
        return partition_number(reader, value, &p->priority_job_factor);
    }
    if (is(name, "Priority")) {
        p->priority_tier = p->priority_job_factor = 0;
        status = partition_number(reader, value, &p->priority_tier);
        p->priority_job_factor = p->priority_tier;
        return status;
    }
    if (is(name, "MaxTime") || is(name, "DefaultTime")) {
        orr_ms *time = is(name, "MaxTime") ? &p->max_time_ms : &p->default_time_ms;
        return orr_slurm__time(value.at, value.bytes, time) ? ORR_OK
                                                            : complain(reader, value, "is no time");
    }
    if (is(name, "MinNodes") || is(name, "MaxNodes")) {
        status = partition_number(reader, value, &number);
        *(is(name, "MinNodes") ? &p->min_nodes : &p->max_nodes) = (uint32_t)number;
    } else if (is(name, "Default")) {
        if (!yes(value, &on)) {
            return complain(reader, value, "is not YES or NO");
        }
        if (on) {
            reader->conf->default_partition = (uint32_t)(p - reader->conf->partitions);
        }
    } else if (is(name, "State")) {
        p->down = is(value, "DOWN") || is(value, "INACTIVE");
    } else if (is(name, "LLN")) {
        status = yes(value, &p->lln) ? ORR_OK : complain(reader, value, "is not YES or NO");
    } else if (is(name, "QOS")) {
        p->qos_name = orr_arena_strndup(&reader->conf->arena, value.at, value.bytes);
    } else if (is(name, "PreemptMode")) {
        p->preempt_mode = orr_slurm__preempt_mode(value.at, value.bytes);
    } else if (is(name, "TRESBillingWeights")) {
        p->bills = true;
        status = orr_slurm__tres(value.at, value.bytes, true, p->billing)
                     ? ORR_OK
                     : complain(reader, value, "are no weights such as CPU=1,GRES/gpu=2");
    } else if (is(name, "OverSubscribe")) {
        p->exclusive = is(value, "EXCLUSIVE");
    }
    return status;
}

static struct slurm_partition *new_partition(struct slurm_conf *conf, const struct orr_view *view,
                                             struct span name)
{
    conf->partitions =
        ORR_ROOM_FOR_ONE(conf->partitions, conf->partition_count, conf->partition_capacity);
    struct slurm_partition *p = &conf->partitions[conf->partition_count++];
    const size_t words_ = view == NULL ? 1 : (view->cluster->node_count + (size_t)63) / 64;
    *p = (struct slurm_partition){.name = orr_arena_strndup(&conf->arena, name.at, name.bytes),
                                  .nodes = orr_arena_alloc(&conf->arena, words_ + 1, 8),
                                  .priority_tier = 1,
                                  .priority_job_factor = 1,
                                  .max_time_ms = ORR_MS_NEVER,
                                  .default_time_ms = ORR_MS_NONE,
                                  .qos = ORR_NONE,
                                  .max_nodes = UINT32_MAX};
    memset(p->nodes, 0, (words_ + 1) * 8);
    return p;
}

/* --- lines --- */

static bool next_pair(struct span *line, struct span *name, struct span *value)
{
    while (line->bytes > 0 && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r')) {
        line->at++;
        line->bytes--;
    }
    size_t end = 0;
    bool quoted = false;
    while (end < line->bytes && (quoted || strchr(" \t\r", line->at[end]) == NULL)) {
        quoted = line->at[end] == '"' ? !quoted : quoted;
        end++;
    }
    const struct span pair = {line->at, end};
    line->at += end;
    line->bytes -= end;
    const char *sign = memchr(pair.at, '=', pair.bytes);
    *name = (struct span){pair.at, sign == NULL ? pair.bytes : (size_t)(sign - pair.at)};
    *value = value_in(pair);
    if (value->bytes >= 2 && value->at[0] == '"' && value->at[value->bytes - 1] == '"') {
        *value = (struct span){value->at + 1, value->bytes - 2};
    }
    return pair.bytes > 0;
}

static enum orr_status read_partition(const struct reader *reader, struct span name,
                                      struct span rest)
{
    struct span key, value;
    enum orr_status status = ORR_OK;
    if (reader->conf->partition_count == SLURM_PARTITIONS_MAX) {
        return complain(reader, name, "is one partition too many: at most 64 are kept apart");
    }
    if (orr_slurm__partition(reader->conf, name.at, name.bytes) != ORR_NONE) {
        return complain(reader, name, "is there already");
    }
    struct slurm_partition *p = new_partition(reader->conf, reader->view, name);
    while (status == ORR_OK && next_pair(&rest, &key, &value)) {
        status = set_partition(reader, p, key, value);
    }
    return status;
}

/* Of nodes only the weight: what they have is the cluster's. */
static enum orr_status read_weight(const struct reader *reader, struct span hosts, struct span rest)
{
    struct taking taking = {reader, NULL, 1, false, ""};
    struct span key, value;
    while (next_pair(&rest, &key, &value)) {
        if (is(key, "Weight") && (!orr_parse_i64(value.at, value.bytes, &taking.weight) ||
                                  taking.weight < 0 || taking.weight > UINT32_MAX)) {
            return complain(reader, value, "is no weight");
        }
    }
    return is(hosts, "DEFAULT") || orr_slurm__hosts(hosts.at, hosts.bytes, take_node, &taking)
               ? ORR_OK
               : complain(reader, hosts, "is no list of nodes");
}

/* --- switches --- */

struct wiring {
    const struct reader *reader;
    uint32_t above;
};

static bool wire_node(void *context, const char *name)
{
    const struct wiring *wiring = context;
    const struct orr_view *view = wiring->reader->view;
    const uint32_t node =
        view == NULL ? ORR_NONE : orr_idmap_find(&view->cluster->node_names, name, strlen(name));
    if (node != ORR_NONE) {
        wiring->reader->conf->leaf[node] = wiring->above;
    }
    return true;
}

static bool wire_switch(void *context, const char *name)
{
    const struct wiring *wiring = context;
    struct slurm_conf *conf = wiring->reader->conf;
    for (uint32_t s = 0; s < wiring->above; s++) {
        if (strcmp(conf->switches[s].name, name) == 0) {
            conf->switches[s].parent = wiring->above;
            return true;
        }
    }
    return false;
}

static enum orr_status read_switch(const struct reader *reader, struct span name, struct span rest)
{
    struct slurm_conf *conf = reader->conf;
    struct wiring wiring = {reader, conf->switch_count};
    struct span key, value;
    conf->switches = ORR_ROOM_FOR_ONE(conf->switches, conf->switch_count, conf->switch_capacity);
    conf->switches[conf->switch_count++] =
        (struct slurm_switch){orr_arena_strndup(&conf->arena, name.at, name.bytes), ORR_NONE};
    while (next_pair(&rest, &key, &value)) {
        if ((is(key, "Nodes") && !orr_slurm__hosts(value.at, value.bytes, wire_node, &wiring)) ||
            (is(key, "Switches") &&
             !orr_slurm__hosts(value.at, value.bytes, wire_switch, &wiring))) {
            return complain(reader, value, "is no list of nodes, or of switches of lines before");
        }
    }
    return ORR_OK;
}

static enum orr_status read_line(const struct reader *reader, struct span line)
{
    struct span name, value;
    const char *hash = line.bytes == 0 ? NULL : memchr(line.at, '#', line.bytes);
    line.bytes = hash == NULL ? line.bytes : (size_t)(hash - line.at);
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && next_pair(&line, &name, &value)) {
        if (is(name, "PartitionName")) {
            return read_partition(reader, value, line);
        }
        if (is(name, "SwitchName")) {
            return read_switch(reader, value, line);
        }
        if (is(name, "NodeName")) {
            return read_weight(reader, value, line);
        }
        for (size_t k = 0; k < KEY_COUNT && status == ORR_OK; k++) {
            if (is(name, keys[k].name)) {
                status = set_key(reader, &keys[k], value);
            }
        }
    }
    return status;
}

static enum orr_status read_lines(struct reader *reader, const char *text)
{
    enum orr_status status = ORR_OK;
    reader->origin = "slurm_conf";
    while (*text != '\0' && status == ORR_OK) {
        const size_t bytes = strcspn(text, "\n");
        reader->line++;
        status = read_line(reader, (struct span){text, bytes});
        text += bytes + (text[bytes] == '\n');
    }
    reader->line = 0;
    return status;
}

/* --- the whole --- */

static void set_defaults(struct slurm_conf *conf, const struct orr_view *view)
{
    *conf = (struct slurm_conf){.default_queue_depth = 100,
                                .batch_sched_delay_ms = 3000,
                                .sched_interval_ms = 60000,
                                .bf_interval_ms = 30000,
                                .bf_window_ms = 1440 * (orr_ms)60000,
                                .bf_resolution_ms = 60000,
                                .bf_max_job_test = 500,
                                .bf_max_job_array_resv = 20,
                                .preempt_reorder_count = 1,
                                .default_partition = ORR_NONE};
    orr_arena_init(&conf->arena);
    orr_idmap_init(&conf->users);
    const uint32_t nodes = view == NULL ? 1 : view->cluster->node_count;
    conf->leaf = orr_alloc(nodes + (size_t)1, sizeof *conf->leaf);
    conf->weight = orr_alloc(nodes + (size_t)1, sizeof *conf->weight);
    for (uint32_t n = 0; n < nodes; n++) {
        conf->weight[n] = 1;
        conf->leaf[n] = ORR_NONE;
    }
}

static void finish(struct slurm_conf *conf, const struct orr_view *view)
{
    if (conf->partition_count == 0) {
        struct slurm_partition *p = new_partition(conf, view, (struct span){"all", 3});
        if (view != NULL) {
            all_nodes(p, view);
        }
    }
    if (conf->default_partition == ORR_NONE) {
        conf->default_partition = 0;
    }
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        const double factor = (double)conf->partitions[p].priority_job_factor;
        conf->max_job_factor = factor > conf->max_job_factor ? factor : conf->max_job_factor;
    }
    conf->bf_node_space_size =
        conf->bf_node_space_size > 0 ? conf->bf_node_space_size : conf->bf_max_job_test;
    conf->bf_resolution_ms = conf->bf_resolution_ms > 0 ? conf->bf_resolution_ms : 1000;
    conf->calc_period_ms = conf->calc_period_ms > 0 ? conf->calc_period_ms : 300000;
}

uint32_t orr_slurm__partition(const struct slurm_conf *conf, const char *name, size_t bytes)
{
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        if (strlen(conf->partitions[p].name) == bytes &&
            memcmp(conf->partitions[p].name, name, bytes) == 0) {
            return p;
        }
    }
    return ORR_NONE;
}

enum orr_status orr_slurm__conf_read(struct slurm_conf *conf, const struct slurm_params *params,
                                     const struct orr_view *view, struct orr_err *err)
{
    struct reader reader = {.conf = conf, .view = view, .err = err};
    enum orr_status status = ORR_OK;
    set_defaults(conf, view);
    for (size_t k = 0; k < KEY_COUNT && status == ORR_OK; k++) {
        reader.origin = keys[k].name;
        status =
            set_key(&reader, &keys[k], (struct span){keys[k].fallback, strlen(keys[k].fallback)});
    }
    if (status == ORR_OK) {
        status = read_lines(&reader, params->slurm_conf);
    }
    for (size_t k = 0; k < KEY_COUNT && status == ORR_OK; k++) {
        const char *text = params->keys[k];
        reader.origin = keys[k].name;
        if (text[0] != '\0') {
            status = set_key(&reader, &keys[k], (struct span){text, strlen(text)});
        }
    }
    if (status == ORR_OK) {
        finish(conf, view);
        status = orr_slurm__sacctmgr_read(conf, params->sacctmgr, view, err);
    }
    return status;
}

void orr_slurm__conf_release(struct slurm_conf *conf)
{
    orr_free(conf->partitions);
    orr_free(conf->weight);
    orr_free(conf->switches);
    orr_free(conf->leaf);
    orr_free(conf->qos);
    orr_free(conf->assocs);
    orr_idmap_release(&conf->users);
    orr_arena_release(&conf->arena);
}
