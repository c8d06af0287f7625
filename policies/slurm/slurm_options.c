/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_options.c - options of sbatch: what rows state in their column `sbatch`, by long names or
 * letters.
 *
 * A job of a partition or QOS that there is none of is refused; what else makes no sense is passed
 * over, as are options that nothing heeds. Who gives a tally learns of both. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

enum option_class {
    READ,    /* here */
    ROW,     /* is in other columns */
    NODES,   /* which ones */
    TASKS,   /* where on them */
    SHARING, /* of CPUs */
    BEGIN,
    AFTER,
    UNKNOWN, /* something that there is none of here */
    NOTHING  /* decides nothing */
};

static const char *const whys[] = {
    [ROW] = "other columns of the row say what pods ask",
    [NODES] = "columns such as node_selector say which nodes jobs may have",
    [TASKS] = "tasks are spread over nodes as the selector finds them",
    [SHARING] = "a CPU has one job at a time",
    [BEGIN] = "column eligible_s says it",
    [AFTER] = "column after says it",
    [UNKNOWN] = "policy slurm has nothing like it",
    [NOTHING] = NULL};

static const struct option {
    const char *name;
    char letter; /* or '\0' */
    uint8_t of;  /* enum option_class */
} options[] = {{"partition", 'p', READ},
               {"nodes", 'N', READ},
               {"account", 'A', READ},
               {"qos", 'q', READ},
               {"nice", '\0', READ},
               {"priority", '\0', READ},
               {"hold", 'H', READ},
               {"array", 'a', READ},
               {"switches", '\0', READ},
               {"exclusive", '\0', READ},
               {"requeue", '\0', READ},
               {"no-requeue", '\0', READ},
               {"time", 't', READ},
               {"begin", 'b', BEGIN},
               {"dependency", 'd', AFTER},
               {"ntasks", 'n', ROW},
               {"cpus-per-task", 'c', ROW},
               {"cpus-per-gpu", '\0', ROW},
               {"gpus", 'G', ROW},
               {"gpus-per-node", '\0', ROW},
               {"gpus-per-task", '\0', ROW},
               {"gpus-per-socket", '\0', ROW},
               {"gres", '\0', ROW},
               {"mem", '\0', ROW},
               {"mem-per-cpu", '\0', ROW},
               {"mem-per-gpu", '\0', ROW},
               {"nodelist", 'w', NODES},
               {"nodefile", 'F', NODES},
               {"exclude", 'x', NODES},
               {"constraint", 'C', NODES},
               {"prefer", '\0', NODES},
               {"contiguous", '\0', TASKS},
               {"spread-job", '\0', TASKS},
               {"use-min-nodes", '\0', TASKS},
               {"ntasks-per-node", '\0', TASKS},
               {"ntasks-per-socket", '\0', TASKS},
               {"ntasks-per-core", '\0', TASKS},
               {"ntasks-per-gpu", '\0', TASKS},
               {"mincpus", '\0', TASKS},
               {"sockets-per-node", '\0', TASKS},
               {"cores-per-socket", '\0', TASKS},
               {"threads-per-core", '\0', TASKS},
               {"extra-node-info", 'B', TASKS},
               {"core-spec", 'S', TASKS},
               {"thread-spec", '\0', TASKS},
               {"gres-flags", '\0', TASKS},
               {"hint", '\0', TASKS},
               {"overcommit", 'O', SHARING},
               {"oversubscribe", 's', SHARING},
               {"time-min", '\0', UNKNOWN},
               {"deadline", '\0', UNKNOWN},
               {"reservation", '\0', UNKNOWN},
               {"licenses", 'L', READ},
               {"clusters", 'M', UNKNOWN},
               {"tmp", '\0', UNKNOWN},
               {"bb", '\0', UNKNOWN},
               {"bbf", '\0', UNKNOWN},
               {"kill-on-invalid-dep", '\0', UNKNOWN},
               {"acctg-freq", '\0', NOTHING},
               {"chdir", 'D', NOTHING},
               {"comment", '\0', NOTHING},
               {"cpu-freq", '\0', NOTHING},
               {"delay-boot", '\0', NOTHING},
               {"distribution", 'm', NOTHING},
               {"error", 'e', NOTHING},
               {"export", '\0', NOTHING},
               {"export-file", '\0', NOTHING},
               {"get-user-env", '\0', NOTHING},
               {"gid", '\0', NOTHING},
               {"gpu-bind", '\0', NOTHING},
               {"gpu-freq", '\0', NOTHING},
               {"input", 'i', NOTHING},
               {"job-name", 'J', NOTHING},
               {"mail-type", '\0', NOTHING},
               {"mail-user", '\0', NOTHING},
               {"mem-bind", '\0', NOTHING},
               {"network", '\0', NOTHING},
               {"no-kill", 'k', NOTHING},
               {"open-mode", '\0', NOTHING},
               {"output", 'o', NOTHING},
               {"parsable", '\0', NOTHING},
               {"profile", '\0', NOTHING},
               {"propagate", '\0', NOTHING},
               {"quiet", 'Q', NOTHING},
               {"signal", '\0', NOTHING},
               {"uid", '\0', NOTHING},
               {"verbose", 'v', NOTHING},
               {"wait", 'W', NOTHING},
               {"wait-all-nodes", '\0', NOTHING},
               {"wckey", '\0', NOTHING},
               {"wrap", '\0', NOTHING}};
enum { OPTIONS = sizeof options / sizeof options[0] };
_Static_assert(sizeof options / sizeof options[0] <= SLURM_OPTIONS_MAX,
               "a tally has room for each");

/* --- words --- */

static bool next_word(struct slurm_span *text, struct slurm_span *word)
{
    while (text->bytes > 0 && *text->at == ' ') {
        text->at++;
        text->bytes--;
    }
    *word = (struct slurm_span){text->at, 0};
    while (word->bytes < text->bytes && word->at[word->bytes] != ' ') {
        word->bytes++;
    }
    text->at += word->bytes;
    text->bytes -= word->bytes;
    return word->bytes > 0;
}

/* The value of "--name value" and "-x value" is the next word, if that is no option. */
static void take_value(struct slurm_span *text, struct slurm_span *value)
{
    struct slurm_span rest = *text, word;
    if (value->bytes == 0 && next_word(&rest, &word) && *word.at != '-') {
        *value = word;
        *text = rest;
    }
}

/* The option of a word, and its value; OPTIONS: there is no such option. */
static size_t option_of(struct slurm_span *text, struct slurm_span word, struct slurm_span *value)
{
    const bool is_short = word.bytes > 1 && word.at[0] == '-' && word.at[1] != '-';
    while (!is_short && word.bytes > 0 && *word.at == '-') {
        word.at++;
        word.bytes--;
    }
    *value =
        is_short ? (struct slurm_span){word.at + 2, word.bytes - 2} : orr_slurm__value_in(word);
    const bool has_sign = !is_short && value->at > word.at && value->at[-1] == '=';
    const size_t bytes = (size_t)(value->at - word.at) - has_sign;
    size_t o = 0;
    while (o < OPTIONS && !(is_short ? options[o].letter == word.at[1]
                                     : strlen(options[o].name) == bytes &&
                                           memcmp(options[o].name, word.at, bytes) == 0)) {
        o++;
    }
    if (o < OPTIONS && !has_sign) {
        take_value(text, value);
    }
    return o;
}

/* --- those that are heeded --- */

/* False: one of them is none, or they are more than are kept apart. */
static bool read_partitions(const struct slurm *slurm, struct slurm_job *job,
                            struct slurm_span list)
{
    struct slurm_span item;
    bool all = true;
    while (orr_slurm__next_item(&list, &item)) {
        const uint32_t partition = orr_slurm__partition(&slurm->conf, item.at, item.bytes);
        const bool taken = partition != ORR_NONE && job->partition_count < SLURM_JOB_PARTITIONS_MAX;
        if (taken) {
            job->partitions[job->partition_count++] = (uint8_t)partition;
        }
        all = all && taken;
    }
    return all;
}

/* Where slurm.conf has any, sbatch refuses a job of one that is none of them. */
static enum slurm_heard hear_partitions(const struct slurm *slurm, struct slurm_job *job,
                                        struct slurm_span list)
{
    const bool all = read_partitions(slurm, job, list);
    job->no_partition = !all && slurm->conf.states_partitions;
    return all || job->no_partition ? SLURM_HEARD : SLURM_UNHEARD;
}

/* Likewise of QOS. */
static enum slurm_heard hear_qos(const struct slurm *slurm, struct slurm_job *job,
                                 struct slurm_span name)
{
    job->qos = orr_slurm__qos(&slurm->conf, name.at, name.bytes);
    job->no_qos = job->qos == ORR_NONE && slurm->conf.qos_count > 0;
    return slurm->conf.qos_count > 0 ? SLURM_HEARD : SLURM_UNHEARD;
}

/* Likewise of licenses. */
static enum slurm_heard hear_licenses(struct slurm *slurm, struct slurm_job *job,
                                      struct slurm_span list)
{
    const bool any = slurm->conf.license_count > 0;
    job->no_licenses = any && !orr_slurm__ask_licenses(slurm, list.at, list.bytes, &job->licenses);
    return any ? SLURM_HEARD : SLURM_UNHEARD;
}

static enum slurm_heard heard_if(bool sense)
{
    return sense ? SLURM_HEARD : SLURM_WRONG;
}

/* "2" or "2-4". */
static bool read_nodes(struct slurm_job *job, struct slurm_span value)
{
    const char *dash = memchr(value.at, '-', value.bytes);
    const size_t bytes = dash == NULL ? value.bytes : (size_t)(dash - value.at);
    int64_t from, to;
    if (!orr_parse_i64(value.at, bytes, &from) || from < 1 || from > 1000000) {
        return false;
    }
    to = from;
    if (dash != NULL && (!orr_parse_i64(dash + 1, value.bytes - bytes - 1, &to) || to < from)) {
        return false;
    }
    job->states_nodes = true;
    job->min_nodes = (uint32_t)from;
    job->max_nodes = to > 1000000 ? 1000000 : (uint32_t)to;
    return true;
}

/* "1" or "1@00:00:20": at most so many leaf switches, while it waited no longer. */
static bool read_switches(const struct slurm_conf *conf, struct slurm_job *job,
                          struct slurm_span value)
{
    const char *at = value.bytes == 0 ? NULL : memchr(value.at, '@', value.bytes);
    const size_t bytes = at == NULL ? value.bytes : (size_t)(at - value.at);
    int64_t number;
    orr_ms wait = conf->max_switch_wait_ms;
    if (!orr_parse_i64(value.at, bytes, &number) || number < 1 || number >= 1000000 ||
        (at != NULL && !orr_slurm__time(at + 1, value.bytes - bytes - 1, &wait))) {
        return false;
    }
    job->switches = (uint32_t)number;
    job->switch_wait_ms = wait < conf->max_switch_wait_ms ? wait : conf->max_switch_wait_ms;
    return true;
}

/* A row without time_limit_s states none, for which there may be a default: only that there is to
 * be no limit has to be stated here. */
static enum slurm_heard hear_time(struct slurm_job *job, struct slurm_span value)
{
    orr_ms limit = 0;
    const bool read = orr_slurm__is(value, "-1") || orr_slurm__time(value.at, value.bytes, &limit);
    job->is_endless = read && (limit == 0 || limit == ORR_MS_NEVER);
    return job->is_endless ? SLURM_HEARD : read ? SLURM_UNHEARD : SLURM_WRONG;
}

/* "ID" or "ID%4": the array a task belongs to, and how many of it may run at
 * once. */
static bool read_array(struct slurm *slurm, struct slurm_job *job, struct slurm_span value)
{
    const char *percent = value.bytes == 0 ? NULL : memchr(value.at, '%', value.bytes);
    const size_t bytes = percent == NULL ? value.bytes : (size_t)(percent - value.at);
    int64_t limit = 0;
    if (bytes == 0 ||
        (percent != NULL && (!orr_parse_i64(percent + 1, value.bytes - bytes - 1, &limit) ||
                             limit < 1 || limit > UINT32_MAX))) {
        return false;
    }
    bool added;
    job->array = orr_idmap_put(&slurm->arrays, value.at, bytes, &added);
    slurm->array = orr_zgrow(slurm->array, &slurm->array_capacity, job->array + (size_t)1,
                             sizeof *slurm->array);
    slurm->array[job->array].limit = limit > 0 ? (uint32_t)limit : UINT32_MAX;
    return true;
}

static enum slurm_heard read_option(struct slurm *slurm, struct slurm_job *job, const char *name,
                                    struct slurm_span value, struct slurm_options *out)
{
    int64_t number = 0;
    const bool is_number = orr_parse_i64(value.at, value.bytes, &number);
    if (strcmp(name, "partition") == 0) {
        return hear_partitions(slurm, job, value);
    }
    if (strcmp(name, "qos") == 0) {
        return hear_qos(slurm, job, value);
    }
    if (strcmp(name, "licenses") == 0) {
        return hear_licenses(slurm, job, value);
    }
    if (strcmp(name, "time") == 0) {
        return hear_time(job, value);
    }
    if (strcmp(name, "nodes") == 0) {
        return heard_if(read_nodes(job, value));
    }
    if (strcmp(name, "switches") == 0) {
        return heard_if(read_switches(&slurm->conf, job, value));
    }
    if (strcmp(name, "array") == 0) {
        return heard_if(read_array(slurm, job, value));
    }
    if (strcmp(name, "account") == 0) {
        (void)snprintf(out->account, sizeof out->account, "%.*s",
                       (int)(value.bytes < 120 ? value.bytes : 120), value.at);
    } else if (strcmp(name, "nice") == 0) {
        job->nice = is_number ? number : value.bytes == 0 ? 100 : 0;
        return heard_if(is_number || value.bytes == 0);
    } else if (strcmp(name, "priority") == 0) {
        job->priority = is_number && number >= 0 ? number : job->priority;
        return heard_if(is_number && number >= 0);
    } else if (strcmp(name, "hold") == 0) {
        job->priority = 0;
    } else if (strcmp(name, "exclusive") == 0) {
        job->exclusive = value.bytes == 0;
        return heard_if(job->exclusive);
    } else {
        job->no_requeue = strcmp(name, "no-requeue") == 0;
    }
    return SLURM_HEARD;
}

/* --- all of a job --- */

static void count(struct slurm_tally *tally, size_t option, enum slurm_heard heard,
                  struct slurm_span word)
{
    if (tally != NULL && heard != SLURM_HEARD && tally->count[heard][option]++ == 0) {
        tally->first[heard][option] = word.at;
        tally->first_bytes[heard][option] = word.bytes < 80 ? (int)word.bytes : 80;
    }
}

static void read_word(struct slurm *slurm, struct slurm_job *job, struct slurm_span *text,
                      struct slurm_span word, struct slurm_options *out)
{
    struct slurm_span value;
    const size_t o = option_of(text, word, &value);
    enum slurm_heard heard = SLURM_UNHEARD;
    if (o < OPTIONS && options[o].of == READ) {
        heard = read_option(slurm, job, options[o].name, value, out);
    } else if (o < OPTIONS && options[o].of == NOTHING) {
        heard = SLURM_HEARD;
    }
    count(out->tally, o, heard, word);
}

void orr_slurm__options_read(struct slurm *slurm, const struct orr_view *view, uint32_t job,
                             struct slurm_job *j, struct slurm_options *out)
{
    const char *text = orr_view_options(view, job);
    const char *queue = orr_idmap_name(&view->queues->names, view->specs[job].queue);
    struct slurm_span rest = {text == NULL ? "" : text, text == NULL ? 0 : strlen(text)}, word;
    while (next_word(&rest, &word)) {
        read_word(slurm, j, &rest, word, out);
    }
    if (j->partition_count == 0) { /* a queue may bear the name of a partition */
        (void)read_partitions(slurm, j, (struct slurm_span){queue, strlen(queue)});
    }
    if (j->partition_count == 0) {
        j->partitions[j->partition_count++] = (uint8_t)slurm->conf.default_partition;
    }
    orr_slurm__take_alternates(&slurm->conf, j);
}

/* --- what was not heard --- */

static const char *why_of(size_t option)
{
    const char *name = options[option].name;
    if (options[option].of != READ) {
        return whys[options[option].of];
    }
    return strcmp(name, "qos") == 0        ? "sacctmgr has no table of QOS"
           : strcmp(name, "time") == 0     ? "column time_limit_s says it"
           : strcmp(name, "licenses") == 0 ? "slurm_conf has no Licenses="
                                           : "slurm_conf has no lines PartitionName=";
}

void orr_slurm__options_say(const struct slurm_tally *tally, orr_policy_say_fn *say, void *context)
{
    char text[300];
    for (size_t o = 0; o < OPTIONS; o++) {
        const uint32_t unheard = tally->count[SLURM_UNHEARD][o];
        const uint32_t wrong = tally->count[SLURM_WRONG][o];
        if (unheard > 0) {
            (void)snprintf(text, sizeof text, "--%s, which %u job%s state%s: %s", options[o].name,
                           (unsigned)unheard, ORR_PLURAL(unheard), ORR_ONE(unheard, "s", ""),
                           why_of(o));
            say(text, context);
        }
        if (wrong > 0) {
            (void)snprintf(text, sizeof text,
                           "--%s, which %u job%s state%s in a way that makes no sense: first %.*s",
                           options[o].name, (unsigned)wrong, ORR_PLURAL(wrong),
                           ORR_ONE(wrong, "s", ""), tally->first_bytes[SLURM_WRONG][o],
                           tally->first[SLURM_WRONG][o]);
            say(text, context);
        }
    }
    if (tally->count[SLURM_UNHEARD][OPTIONS] > 0) {
        (void)snprintf(text, sizeof text, "words that are no option of sbatch: first %.*s",
                       tally->first_bytes[SLURM_UNHEARD][OPTIONS],
                       tally->first[SLURM_UNHEARD][OPTIONS]);
        say(text, context);
    }
}
