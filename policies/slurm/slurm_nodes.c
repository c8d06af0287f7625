/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_nodes.c - lines of slurm.conf and topology.conf about partitions, weights and states of
 * nodes and switches. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>
#include <orrery/policies/slurm_hosts.h>

#include "slurm_conf_int.h"

/* Words of a node set. */
static size_t set_words(const struct orr_view *view)
{
    return view == NULL ? 1 : (view->cluster->node_count + (size_t)63) / 64;
}

struct taking {
    const struct slurm_reader *reader;
    struct slurm_partition *partition; /* or NULL: weights, or states alone */
    int64_t weight;                    /* below 0: it stays as it is */
    bool lists, closed;
    bool missing;
    char name[64];
};

static void take_set(struct slurm_partition *partition, const uint64_t *nodes, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        if (slurm_has(nodes, n) && !slurm_has(partition->nodes, n)) {
            partition->nodes[n >> 6] |= (uint64_t)1 << (n & 63);
            partition->node_count++;
        }
    }
}

/* Slurm.conf may know more nodes than there are, as those without GPUs; what it does not know
 * itself is a slip. */
static bool take_absent(struct taking *taking, const char *name)
{
    struct slurm_conf *conf = taking->reader->conf;
    struct slurm_partition *partition = taking->partition;
    if (partition == NULL) {
        (void)orr_idmap_put(&conf->absent, name, strlen(name), NULL);
        return true;
    }
    if (orr_idmap_find(&conf->absent, name, strlen(name)) == ORR_NONE) {
        (void)snprintf(taking->name, sizeof taking->name, "%s", name);
        taking->missing = true;
        return false;
    }
    partition->first_absent = partition->absent++ == 0
                                  ? orr_arena_strndup(&conf->arena, name, strlen(name))
                                  : partition->first_absent;
    return true;
}

static bool take_node(void *context, const char *name)
{
    struct taking *taking = context;
    const struct orr_view *view = taking->reader->view;
    if (view == NULL) {
        return true;
    }
    const uint32_t node = orr_idmap_find(&view->cluster->node_names, name, strlen(name));
    const uint64_t *set = node == ORR_NONE && taking->partition != NULL
                              ? orr_slurm__node_set(taking->reader->conf, name)
                              : NULL;
    if (set != NULL) {
        take_set(taking->partition, set, view->cluster->node_count);
        return true;
    }
    if (node == ORR_NONE) {
        return take_absent(taking, name);
    }
    if (taking->partition == NULL) {
        struct slurm_conf *conf = taking->reader->conf;
        const uint64_t bit = (uint64_t)1 << (node & 63);
        conf->weight[node] = taking->weight >= 0 ? taking->weight : conf->weight[node];
        conf->open_nodes[node >> 6] =
            taking->closed ? conf->open_nodes[node >> 6] & ~bit : conf->open_nodes[node >> 6] | bit;
        conf->listed[node >> 6] |= taking->lists ? bit : 0;
    } else if (!slurm_has(taking->partition->nodes, node)) {
        taking->partition->nodes[node >> 6] |= (uint64_t)1 << (node & 63);
        taking->partition->node_count++;
    }
    return true;
}

void orr_slurm__all_nodes(struct slurm_partition *partition, const struct orr_view *view)
{
    for (uint32_t n = 0; n < view->cluster->node_count; n++) {
        partition->nodes[n >> 6] |= (uint64_t)1 << (n & 63);
    }
    partition->node_count = view->cluster->node_count;
}

static enum orr_status read_nodes(const struct slurm_reader *reader,
                                  struct slurm_partition *partition, struct slurm_span value)
{
    struct taking taking = {.reader = reader, .partition = partition};
    memset(partition->nodes, 0, set_words(reader->view) * 8); /* those of DEFAULT go */
    partition->node_count = partition->absent = 0;
    if (orr_slurm__is(value, "ALL")) {
        if (reader->view != NULL) {
            orr_slurm__all_nodes(partition, reader->view);
        }
        return ORR_OK;
    }
    if (!orr_slurm_hosts(value.at, value.bytes, take_node, &taking)) {
        char what[300] = "";
        if (taking.missing) {
            const struct orr_idmap *names = &reader->view->cluster->node_names;
            (void)snprintf(what, sizeof what,
                           "names node %.60s, which the cluster does not have: its nodes are %.50s "
                           "to %.50s",
                           taking.name, orr_idmap_name(names, 0),
                           orr_idmap_name(names, reader->view->cluster->node_count - 1));
        }
        return orr_slurm__complain(reader, value, taking.missing ? what : "is no list of nodes");
    }
    return ORR_OK;
}

static enum orr_status partition_number(const struct slurm_reader *reader, struct slurm_span value,
                                        int64_t *out)
{
    if (orr_slurm__is(value, "UNLIMITED") || orr_slurm__is(value, "INFINITE")) {
        *out = UINT32_MAX;
        return ORR_OK;
    }
    return orr_parse_i64(value.at, value.bytes, out) && *out >= 0 && *out <= 65533000
               ? ORR_OK
               : orr_slurm__complain(reader, value, "is no whole number");
}

/* Where nothing is submitted what runs goes on, and DRAIN starts what waits there already. */
static enum orr_status read_state(const struct slurm_reader *reader, struct slurm_span value,
                                  struct slurm_partition *p)
{
    p->down = orr_slurm__is(value, "DOWN") || orr_slurm__is(value, "INACTIVE");
    p->takes_none = orr_slurm__is(value, "DRAIN") || orr_slurm__is(value, "INACTIVE");
    return p->takes_none || p->down || orr_slurm__is(value, "UP")
               ? ORR_OK
               : orr_slurm__complain(reader, value, "is not UP, DOWN, DRAIN or INACTIVE");
}

static enum orr_status read_sharing(const struct slurm_reader *reader, struct slurm_span value,
                                    bool *exclusive)
{
    *exclusive = orr_slurm__is(value, "EXCLUSIVE");
    if (!orr_text_like(value.at, value.bytes, "EXCLUSIVE|NO|YES*|FORCE*", true)) {
        return orr_slurm__complain(reader, value, "is not NO, EXCLUSIVE, YES:n or FORCE:n");
    }
    if (orr_text_like(value.at, value.bytes, "YES*|FORCE*", true) &&
        !orr_text_like(value.at, value.bytes, "*:1", true)) {
        orr_slurm__remark(reader, value, "is not heeded: a CPU has one job at a time");
    }
    return ORR_OK;
}

static const char *const partition_keys[] = {"Nodes",         "PriorityTier", "PriorityJobFactor",
                                             "Priority",      "MaxTime",      "MinNodes",
                                             "MaxNodes",      "DefaultTime",  "GraceTime",
                                             "Default",       "State",        "LLN",
                                             "QOS",           "PreemptMode",  "TRESBillingWeights",
                                             "OverSubscribe", "Alternate",    "AllowAccounts",
                                             "DenyAccounts",  "AllowQos",     "MaxCPUsPerNode",
                                             "DenyQos"};

/* False: the key is none of those that name who may use the partition. */
static bool set_access(const struct slurm_reader *reader, struct slurm_partition *p,
                       struct slurm_span name, struct slurm_span value)
{
    const struct {
        const char *name;
        struct slurm_names *names;
    } keys[] = {{"AllowAccounts", &p->allow_accounts},
                {"DenyAccounts", &p->deny_accounts},
                {"AllowQos", &p->allow_qos},
                {"DenyQos", &p->deny_qos}};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        if (orr_slurm__is(name, keys[k].name)) {
            char place[SLURM_PLACE_BYTES];
            (void)orr_slurm__place(reader, value.at, place);
            *keys[k].names = (struct slurm_names){
                orr_slurm__is(value, "ALL")
                    ? NULL
                    : orr_arena_strndup(&reader->conf->arena, value.at, value.bytes),
                orr_arena_strndup(&reader->conf->arena, place, strlen(place))};
            return true;
        }
    }
    return false;
}

static enum orr_status set_partition(const struct slurm_reader *reader, struct slurm_partition *p,
                                     struct slurm_span name, struct slurm_span value)
{
    enum orr_status status = ORR_OK;
    int64_t number = 0;
    bool on = false;
    if (orr_slurm__is(name, "Nodes")) {
        return read_nodes(reader, p, value);
    }
    if (orr_slurm__is(name, "PriorityTier")) {
        return partition_number(reader, value, &p->priority_tier);
    }
    if (orr_slurm__is(name, "PriorityJobFactor")) {
        return partition_number(reader, value, &p->priority_job_factor);
    }
    if (orr_slurm__is(name, "Priority")) {
        p->priority_tier = p->priority_job_factor = 0;
        status = partition_number(reader, value, &p->priority_tier);
        p->priority_job_factor = p->priority_tier;
        return status;
    }
    if (orr_slurm__is(name, "MaxTime") || orr_slurm__is(name, "DefaultTime")) {
        orr_ms *time = orr_slurm__is(name, "MaxTime") ? &p->max_time_ms : &p->default_time_ms;
        return orr_slurm__minutes(value.at, value.bytes, time)
                   ? ORR_OK
                   : orr_slurm__complain(reader, value, "is no time");
    }
    if (orr_slurm__is(name, "MinNodes") || orr_slurm__is(name, "MaxNodes")) {
        status = partition_number(reader, value, &number);
        *(orr_slurm__is(name, "MinNodes") ? &p->min_nodes : &p->max_nodes) = (uint32_t)number;
    } else if (orr_slurm__is(name, "MaxCPUsPerNode")) {
        status = partition_number(reader, value, &number);
        p->node_cpu_milli = number < UINT32_MAX ? number * 1000 : INT64_MAX;
    } else if (orr_slurm__is(name, "GraceTime")) {
        status = partition_number(reader, value, &number);
        p->grace_ms = number * 1000;
    } else if (orr_slurm__is(name, "Default")) {
        if (!orr_slurm__yes(value, &on)) {
            return orr_slurm__complain(reader, value, "is not YES or NO");
        }
        if (on && p != &reader->conf->partition_default) {
            reader->conf->default_partition = (uint32_t)(p - reader->conf->partitions);
        }
    } else if (orr_slurm__is(name, "State")) {
        status = read_state(reader, value, p);
    } else if (orr_slurm__is(name, "LLN")) {
        status = orr_slurm__yes(value, &p->lln)
                     ? ORR_OK
                     : orr_slurm__complain(reader, value, "is not YES or NO");
    } else if (orr_slurm__is(name, "QOS")) {
        char place[SLURM_PLACE_BYTES];
        p->qos_name = orr_arena_strndup(&reader->conf->arena, value.at, value.bytes);
        p->qos_place = orr_slurm__place(reader, value.at, place);
        p->qos_place = orr_arena_strndup(&reader->conf->arena, place, strlen(place));
    } else if (orr_slurm__is(name, "PreemptMode")) {
        status = orr_slurm__preempt_mode(reader, value, &p->preempt_mode, &on);
    } else if (orr_slurm__is(name, "TRESBillingWeights")) {
        p->bills = true;
        status = orr_slurm__tres(reader, value, true, p->billing);
    } else if (orr_slurm__is(name, "OverSubscribe")) {
        status = read_sharing(reader, value, &p->exclusive);
    } else if (orr_slurm__is(name, "Alternate")) {
        p->alternate = orr_arena_strndup(&reader->conf->arena, value.at, value.bytes);
    } else if (!set_access(reader, p, name, value)) {
        orr_slurm__pass_over(reader, name, value, partition_keys,
                             sizeof partition_keys / sizeof partition_keys[0]);
    }
    return status;
}

/* What a partition is before its line is read: what lines PartitionName=DEFAULT said so far. */
static void begin_partition(struct slurm_conf *conf, const struct orr_view *view,
                            struct slurm_partition *p)
{
    const size_t words_ = set_words(view);
    uint64_t *nodes = orr_arena_alloc(&conf->arena, words_ + 1, 8);
    memset(nodes, 0, (words_ + 1) * 8);
    if (conf->partition_default.nodes != NULL) {
        *p = conf->partition_default;
        memcpy(nodes, p->nodes, words_ * 8);
    } else {
        *p = (struct slurm_partition){.priority_tier = 1,
                                      .priority_job_factor = 1,
                                      .max_time_ms = ORR_MS_NEVER,
                                      .default_time_ms = ORR_MS_NONE,
                                      .qos = ORR_NONE,
                                      .node_cpu_milli = INT64_MAX,
                                      .max_nodes = UINT32_MAX};
    }
    p->nodes = nodes;
}

struct slurm_partition *orr_slurm__new_partition(struct slurm_conf *conf,
                                                 const struct orr_view *view,
                                                 struct slurm_span name)
{
    conf->partitions =
        ORR_ROOM_FOR_ONE(conf->partitions, conf->partition_count, conf->partition_capacity);
    struct slurm_partition *p = &conf->partitions[conf->partition_count++];
    begin_partition(conf, view, p);
    p->name = orr_arena_strndup(&conf->arena, name.at, name.bytes);
    return p;
}

enum orr_status orr_slurm__read_partition(const struct slurm_reader *reader, struct slurm_span name,
                                          struct slurm_span rest)
{
    struct slurm_conf *conf = reader->conf;
    struct slurm_span key, value;
    enum orr_status status = ORR_OK;
    struct slurm_partition *p = &conf->partition_default;
    if (conf->partition_count == SLURM_PARTITIONS_MAX) {
        return orr_slurm__complain(reader, name,
                                   "is one partition too many: at most 64 are kept apart");
    }
    if (orr_slurm__partition(conf, name.at, name.bytes) != ORR_NONE) {
        return orr_slurm__complain(reader, name, "is there already");
    }
    if (!orr_slurm__is(name, "DEFAULT")) {
        p = orr_slurm__new_partition(conf, reader->view, name);
    } else if (p->nodes == NULL) {
        begin_partition(conf, reader->view, p);
    }
    while (status == ORR_OK && orr_slurm__next_pair(&rest, &key, &value)) {
        status = set_partition(reader, p, key, value);
    }
    return status;
}

/* Of nodes only the weight, and whether they are there: what they have is the cluster's. */
static void pass_node_key(const struct slurm_reader *reader, struct slurm_span key,
                          struct slurm_span value)
{
    const char *decides = orr_slurm__decides(key, value);
    const struct slurm_span pair = {key.at, (size_t)(value.at + value.bytes - key.at)};
    if (decides != NULL && *decides != '\0') {
        orr_slurm__remark(reader, pair, decides);
    }
}

/* Nothing starts there as long as the run lasts: nobody changes a state here. */
static bool is_closed(struct slurm_span state)
{
    return orr_text_like(state.at, state.bytes, "DOWN*|DRAIN*|FAIL*|FUTURE", true);
}

static enum orr_status take_nodes(const struct slurm_reader *reader, struct slurm_span hosts,
                                  struct taking *taking)
{
    return orr_slurm_hosts(hosts.at, hosts.bytes, take_node, taking)
               ? ORR_OK
               : orr_slurm__complain(reader, hosts, "is no list of nodes");
}

enum orr_status orr_slurm__read_down_nodes(const struct slurm_reader *reader,
                                           struct slurm_span hosts, struct slurm_span rest)
{
    struct taking taking = {.reader = reader, .weight = -1, .closed = true};
    struct slurm_span key, value;
    while (orr_slurm__next_pair(&rest, &key, &value)) {
        taking.closed = orr_slurm__is(key, "State") ? is_closed(value) : taking.closed;
    }
    return take_nodes(reader, hosts, &taking);
}

enum orr_status orr_slurm__read_node(const struct slurm_reader *reader, struct slurm_span hosts,
                                     struct slurm_span rest)
{
    struct taking taking = {.reader = reader,
                            .weight = reader->conf->weight_default,
                            .lists = true,
                            .closed = reader->conf->closed_default};
    struct slurm_span key, value;
    while (orr_slurm__next_pair(&rest, &key, &value)) {
        if (orr_slurm__is(key, "Weight") &&
            (!orr_parse_i64(value.at, value.bytes, &taking.weight) || taking.weight < 0 ||
             taking.weight > UINT32_MAX)) {
            return orr_slurm__complain(reader, value, "is no weight");
        }
        taking.closed = orr_slurm__is(key, "State") ? is_closed(value) : taking.closed;
        if (orr_slurm__is(key, "Feature") || orr_slurm__is(key, "Features")) {
            orr_slurm__note_features(reader, hosts, value);
        }
        pass_node_key(reader, key, value);
    }
    if (orr_slurm__is(hosts, "DEFAULT")) {
        reader->conf->weight_default = taking.weight;
        reader->conf->closed_default = taking.closed;
        return ORR_OK;
    }
    return take_nodes(reader, hosts, &taking);
}

/* --- switches --- */

struct wiring {
    const struct slurm_reader *reader;
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

enum orr_status orr_slurm__read_switch(const struct slurm_reader *reader, struct slurm_span name,
                                       struct slurm_span rest)
{
    struct slurm_conf *conf = reader->conf;
    struct wiring wiring = {reader, conf->switch_count};
    struct slurm_span key, value;
    conf->switches = ORR_ROOM_FOR_ONE(conf->switches, conf->switch_count, conf->switch_capacity);
    conf->switches[conf->switch_count++] =
        (struct slurm_switch){orr_arena_strndup(&conf->arena, name.at, name.bytes), ORR_NONE};
    while (orr_slurm__next_pair(&rest, &key, &value)) {
        if ((orr_slurm__is(key, "Nodes") &&
             !orr_slurm_hosts(value.at, value.bytes, wire_node, &wiring)) ||
            (orr_slurm__is(key, "Switches") &&
             !orr_slurm_hosts(value.at, value.bytes, wire_switch, &wiring))) {
            return orr_slurm__complain(reader, value,
                                       "is no list of nodes, or of switches of lines before");
        }
    }
    return ORR_OK;
}
