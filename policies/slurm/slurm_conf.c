/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_conf.c - slurm.conf: its lines, in order.
 *
 * Keys of the file that are not in the table (slurm_keys.c) are passed over; orr_slurm__remarks
 * says which, and of those that decide in Slurm (slurm_decides.c) what is not heeded. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

const char *orr_slurm__place(const struct slurm_reader *reader, const char *part,
                             char out[SLURM_PLACE_BYTES])
{
    uint32_t line, column;
    const char *file = reader->line.file;
    out[0] = '\0';
    if (reader->line.number > 0) {
        orr_slurm_place(&reader->line, part, &line, &column);
        (void)snprintf(out, SLURM_PLACE_BYTES, "%s%.200s%s:%u:%u", file != NULL ? ":<" : "",
                       file != NULL ? file : "", file != NULL ? ">" : "", (unsigned)line,
                       (unsigned)column);
    }
    return out;
}

enum orr_status orr_slurm__complain(const struct slurm_reader *reader, struct slurm_span value,
                                    const char *what)
{
    char place[SLURM_PLACE_BYTES];
    return orr_fail(reader->err, ORR_DATA, "%s%s: \"%.*s\" %s", reader->origin,
                    orr_slurm__place(reader, value.at, place),
                    (int)(value.bytes < 80 ? value.bytes : 80), value.at, what);
}

/* Is it one of a list joined by ", "? */
static bool is_listed(const char *list, const char *name)
{
    const size_t bytes = strlen(name);
    while (*list != '\0') {
        const size_t item = strcspn(list, ",");
        if (item == bytes && memcmp(list, name, bytes) == 0) {
            return true;
        }
        list += item;
        list += strspn(list, ", ");
    }
    return false;
}

/* Adds it to a list joined by ", "; false: there is no room. */
static bool add_name(char *list, size_t size, const char *name)
{
    const size_t used = strlen(list);
    const bool fits = used + strlen(name) + 3 < size;
    if (fits) {
        (void)snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
    }
    return fits;
}

void orr_slurm__say(const struct slurm_reader *reader, struct slurm_span part, const char *why)
{
    char text[600], place[SLURM_PLACE_BYTES];
    if (reader->passed != NULL) {
        (void)snprintf(text, sizeof text, "%s%s: \"%.*s\" %s", reader->origin,
                       orr_slurm__place(reader, part.at, place),
                       (int)(part.bytes < 60 ? part.bytes : 60), part.at, why);
        reader->passed->say(text, reader->passed->context);
    }
}

/* Says it of a part, unless something of these first letters was remarked on. */
static void remark_once(const struct slurm_reader *reader, struct slurm_span part, size_t bytes,
                        const char *why)
{
    struct slurm_passed *passed = reader->passed;
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)(bytes < 60 ? bytes : 60), part.at);
    for (char *comma = strchr(name, ','); comma != NULL; comma = strchr(comma, ',')) {
        *comma = ';'; /* names are joined by commas */
    }
    if (passed != NULL && !is_listed(passed->remarked, name) &&
        add_name(passed->remarked, sizeof passed->remarked, name)) {
        orr_slurm__say(reader, part, why);
    }
}

void orr_slurm__remark(const struct slurm_reader *reader, struct slurm_span part, const char *why)
{
    remark_once(reader, part, part.bytes - orr_slurm__value_in(part).bytes, why);
}

void orr_slurm__pass_over(const struct slurm_reader *reader, struct slurm_span name,
                          struct slurm_span value, const char *const *heeded, size_t count)
{
    enum { SLIP = 2 }; /* letters: Slurm has keys of its own a little further away */
    const struct slurm_span pair = {name.at, (size_t)(value.at + value.bytes - name.at)};
    const char *decides = orr_slurm__decides(name, value);
    struct slurm_passed *passed = reader->passed;
    char word[64], why[100];
    if (passed == NULL || (decides != NULL && *decides == '\0')) {
        return;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)(name.bytes < 60 ? name.bytes : 60), name.at);
    const char *near = orr_nearest_within(word, heeded, count, SLIP);
    if (decides != NULL) {
        remark_once(reader, pair, pair.bytes, decides); /* lines differ in what they state */
    } else if (near != NULL) {
        (void)snprintf(why, sizeof why, "is not heeded; did you mean %s?", near);
        orr_slurm__remark(reader, name, why);
    } else if (!is_listed(passed->names, word)) {
        passed->count++;
        (void)add_name(passed->names, sizeof passed->names, word);
    }
}

bool orr_slurm__is(struct slurm_span text, const char *word)
{
    return orr_slurm__same(text.at, text.bytes, word);
}

/* The next item of a list joined by commas; false: there is none. */
bool orr_slurm__next_item(struct slurm_span *list, struct slurm_span *item)
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

struct slurm_span orr_slurm__value_in(struct slurm_span item)
{
    const char *sign = memchr(item.at, '=', item.bytes);
    return sign == NULL ? (struct slurm_span){item.at + item.bytes, 0}
                        : (struct slurm_span){sign + 1, item.bytes - (size_t)(sign + 1 - item.at)};
}

bool orr_slurm__yes(struct slurm_span text, bool *out)
{
    *out = orr_slurm__is(text, "YES") || orr_slurm__is(text, "UP") || orr_slurm__is(text, "TRUE") ||
           orr_slurm__is(text, "1");
    return *out || orr_slurm__is(text, "NO") || orr_slurm__is(text, "DOWN") ||
           orr_slurm__is(text, "FALSE") || orr_slurm__is(text, "0");
}

bool orr_slurm__next_pair(struct slurm_span *line, struct slurm_span *name,
                          struct slurm_span *value)
{
    struct orr_slurm_pair pair;
    const bool found = orr_slurm_next_pair(&line->at, &line->bytes, &pair);
    *name = (struct slurm_span){pair.name, pair.name_bytes};
    *value = (struct slurm_span){pair.value, pair.value_bytes};
    return found;
}

/* A word without a value: the line is none of slurm.conf's. */
static enum orr_status refuse(const struct slurm_reader *reader, struct slurm_span word)
{
    return orr_slurm__complain(
        reader, word,
        orr_slurm__is(word, "Include")
            ? "names a file that is not read here: put its lines in its place, or name the file "
              "that includes it by slurm_conf.file=FILE"
            : "is not KEY=VALUE, as the lines of slurm.conf are; a file is named by "
              "slurm_conf.file=FILE");
}

static enum orr_status read_line(const struct slurm_reader *reader, struct slurm_span line)
{
    struct slurm_span name, value;
    enum orr_status status = ORR_OK;
    while (status == ORR_OK && orr_slurm__next_pair(&line, &name, &value)) {
        if (orr_slurm__is(name, "PartitionName")) {
            return orr_slurm__read_partition(reader, value, line);
        }
        if (orr_slurm__is(name, "SwitchName")) {
            return orr_slurm__read_switch(reader, value, line);
        }
        if (orr_slurm__is(name, "NodeName")) {
            return orr_slurm__read_node(reader, value, line);
        }
        if (orr_slurm__is(name, "NodeSet")) {
            return orr_slurm__read_node_set(reader, value, line);
        }
        if (orr_slurm__is(name, "DownNodes")) {
            return orr_slurm__read_down_nodes(reader, value, line);
        }
        status = value.at == name.at + name.bytes ? refuse(reader, name)
                                                  : orr_slurm__read_key(reader, name, value);
    }
    return status;
}

static enum orr_status read_lines(struct slurm_reader *reader, const char *text)
{
    enum orr_status status = ORR_OK;
    struct orr_slurm_lines lines = {.at = text, .end = text + strlen(text)};
    reader->origin = "slurm_conf";
    while (status == ORR_OK && orr_slurm_next_line(&lines, &reader->conf->arena, &reader->line)) {
        status = read_line(reader, (struct slurm_span){reader->line.text, reader->line.bytes});
    }
    reader->line.number = 0;
    return status;
}

/* --- the whole --- */

static void set_defaults(struct slurm_conf *conf, const struct orr_view *view)
{
    *conf = (struct slurm_conf){.default_queue_depth = 100,
                                .batch_sched_delay_ms = 3000,
                                .sched_interval_ms = 60000,
                                .max_switch_wait_ms = 300000,
                                .bf_interval_ms = 30000,
                                .bf_window_ms = 1440 * (orr_ms)60000,
                                .bf_resolution_ms = 60000,
                                .bf_max_job_test = 500,
                                .bf_max_job_array_resv = 20,
                                .preempt_reorder_count = 1,
                                .weight_default = 1,
                                .default_partition = ORR_NONE};
    orr_arena_init(&conf->arena);
    orr_idmap_init(&conf->users);
    orr_idmap_init(&conf->absent);
    const uint32_t nodes = view == NULL ? 1 : view->cluster->node_count;
    conf->leaf = orr_alloc(nodes + (size_t)1, sizeof *conf->leaf);
    conf->weight = orr_alloc(nodes + (size_t)1, sizeof *conf->weight);
    for (uint32_t n = 0; n < nodes; n++) {
        conf->weight[n] = 1;
        conf->leaf[n] = ORR_NONE;
    }
    const size_t words = (nodes + (size_t)63) / 64 + 1;
    conf->open_nodes = orr_alloc(words, sizeof *conf->open_nodes);
    memset(conf->open_nodes, 0xff, words * sizeof *conf->open_nodes);
    conf->listed = orr_zalloc(words, sizeof *conf->listed);
    conf->ordinal = orr_zalloc(nodes + (size_t)1, sizeof *conf->ordinal);
}

/* To slurmctld, nodes that slurm.conf does not have, or that are another scheduler's, are not
 * there: those on both sides of them follow each other. */
static void number_nodes(struct slurm_conf *conf, const struct orr_view *view)
{
    uint32_t before = 0;
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        bool known = slurm_has(conf->listed, n);
        for (uint32_t p = 0; p < conf->partition_count && !known; p++) {
            known = slurm_has(conf->partitions[p].nodes, n);
        }
        conf->ordinal[n] = before;
        before += known && orr_cluster_type(view->cluster, n)->shard == view->shard;
    }
}

static void finish(struct slurm_conf *conf, const struct orr_view *view)
{
    conf->states_partitions = conf->partition_count > 0;
    if (conf->partition_count == 0) {
        struct slurm_partition *p =
            orr_slurm__new_partition(conf, view, (struct slurm_span){"all", 3});
        if (view != NULL) {
            orr_slurm__all_nodes(p, view);
        }
    }
    if (conf->default_partition == ORR_NONE) {
        conf->default_partition = 0;
    }
    for (uint32_t p = 0; p < conf->partition_count; p++) {
        const double factor = (double)conf->partitions[p].priority_job_factor;
        conf->max_job_factor = factor > conf->max_job_factor ? factor : conf->max_job_factor;
    }
    if (view != NULL) {
        number_nodes(conf, view);
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

/* --- preemption, of which several keys have to agree --- */

static void say_of(const struct slurm_reader *reader, const char *what, const char *name,
                   const char *why)
{
    char text[300];
    if (reader->passed != NULL) {
        (void)snprintf(text, sizeof text, "%s%.80s %s", what, name, why);
        reader->passed->say(text, reader->passed->context);
    }
}

/* Without GANG nobody is suspended, whatever partitions and QOS say. */
static void look_at_preemption(const struct slurm_reader *reader)
{
    struct slurm_conf *conf = reader->conf;
    static const char *const why = "is not heeded: PreemptMode of the cluster has no GANG";
    const bool typed = conf->preempt_type != SLURM_PREEMPT_NONE;
    for (uint32_t p = 0; p < conf->partition_count && !conf->gang; p++) {
        if (conf->partitions[p].preempt_mode == SLURM_MODE_SUSPEND) {
            conf->partitions[p].preempt_mode = SLURM_MODE_OFF;
            say_of(reader, "slurm_conf: PreemptMode=SUSPEND of partition ",
                   conf->partitions[p].name, why);
        }
    }
    for (uint32_t q = 0; q < conf->qos_count && !conf->gang; q++) {
        if (conf->qos[q].mode == SLURM_MODE_SUSPEND) {
            conf->qos[q].mode = SLURM_MODE_OFF;
            say_of(reader, "sacctmgr: PreemptMode suspend of QOS ", conf->qos[q].name, why);
        }
    }
    if (typed != (conf->preempt_mode != SLURM_MODE_OFF)) {
        say_of(reader, "slurm_conf: ", typed ? "PreemptType" : "PreemptMode",
               typed ? "has no effect: PreemptMode is OFF, and slurmctld would not start"
                     : "has no effect: PreemptType is preempt/none, and slurmctld would not start");
    }
}

static enum orr_status read_all(struct slurm_reader *reader, const struct slurm_params *params)
{
    set_defaults(reader->conf, reader->view);
    enum orr_status status = orr_slurm__default_keys(reader);
    if (status == ORR_OK) {
        status = read_lines(reader, params->slurm_conf);
    }
    if (status == ORR_OK) {
        status = orr_slurm__param_keys(reader, params);
    }
    if (status == ORR_OK) {
        finish(reader->conf, reader->view);
        status = orr_slurm__sacctmgr_read(reader, params->sacctmgr);
    }
    if (status == ORR_OK) {
        look_at_preemption(reader);
    }
    return status;
}

enum orr_status orr_slurm__conf_read(struct slurm_conf *conf, const struct slurm_params *params,
                                     const struct orr_view *view, struct orr_err *err)
{
    struct slurm_reader reader = {.conf = conf, .view = view, .err = err};
    return read_all(&reader, params);
}

void orr_slurm__remarks(const void *params, orr_policy_say_fn *say, void *context)
{
    struct slurm_conf conf;
    struct slurm_passed passed = {.say = say, .context = context};
    struct slurm_reader reader = {.conf = &conf, .passed = &passed};
    char text[600];
    (void)read_all(&reader, params); /* it was read before: check */
    if (passed.count > 0) {
        (void)snprintf(text, sizeof text, "slurm_conf: %u key%s %s on nothing here: %s%s",
                       (unsigned)passed.count, ORR_PLURAL(passed.count),
                       ORR_ONE(passed.count, "bears", "bear"), passed.names,
                       strlen(passed.names) > sizeof passed.names - 64 ? ", ..." : "");
        say(text, context);
    }
    orr_slurm__conf_release(&conf);
}

void orr_slurm__conf_release(struct slurm_conf *conf)
{
    orr_free(conf->licenses);
    orr_free(conf->partitions);
    orr_free(conf->weight);
    orr_free(conf->open_nodes);
    orr_free(conf->listed);
    orr_free(conf->ordinal);
    orr_free(conf->node_sets);
    orr_free(conf->featured);
    orr_free(conf->switches);
    orr_free(conf->leaf);
    for (uint32_t q = 0; q < conf->qos_count; q++) {
        orr_free(conf->qos[q].submitted.of_user);
        orr_free(conf->qos[q].submitted.of_account);
        orr_free(conf->qos[q].running.of_user);
        orr_free(conf->qos[q].running.of_account);
    }
    orr_free(conf->qos);
    orr_free(conf->assocs);
    orr_idmap_release(&conf->users);
    orr_idmap_release(&conf->absent);
    orr_arena_release(&conf->arena);
}
