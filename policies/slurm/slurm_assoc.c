/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_assoc.c - associations and QOS: the tables that `sacctmgr -P show
 * assoc format=Account,User,ParentName,...` and `show qos` print, one after the other. Accounts
 * are one tree, which the columns of `show assoc` without a format do not tell. Without a table of
 * associations the tree of queues is that of the accounts, with the weights of
 * their GPUs as shares, and users are added as they come.
 *
 * A line of column names begins a table: one with `Account` that of
 * associations, one with `Name` that of QOS. Lines that begin with # are passed
 * over. */
#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#include "slurm_conf_int.h"

enum { COLUMNS_MAX = 64 };

struct table {
    struct slurm_reader *reader;
    struct slurm_conf *conf;
    struct slurm_span names[COLUMNS_MAX], cells[COLUMNS_MAX];
    uint32_t count;
    bool of_qos;
    bool named[COLUMNS_MAX]; /* that it is not heeded */
};

static uint32_t split(struct slurm_span line, struct slurm_span *cells)
{
    uint32_t count = 0;
    while (count < COLUMNS_MAX) {
        const char *bar = memchr(line.at, '|', line.bytes);
        const size_t bytes = bar == NULL ? line.bytes : (size_t)(bar - line.at);
        cells[count++] = (struct slurm_span){line.at, bytes};
        if (bar == NULL) {
            break;
        }
        line = (struct slurm_span){bar + 1, line.bytes - bytes - 1};
    }
    return count;
}

/* The cell below a name; no bytes: there is none. */
static struct slurm_span cell(const struct table *table, const char *name)
{
    for (uint32_t c = 0; c < table->count; c++) {
        if (orr_slurm__is(table->names[c], name)) {
            return table->cells[c];
        }
    }
    return (struct slurm_span){"", 0};
}

static struct slurm_span cell_or(const struct table *table, const char *name, const char *other)
{
    const struct slurm_span one = cell(table, name);
    return one.bytes > 0 ? one : cell(table, other);
}

static enum orr_status complain(const struct table *table, struct slurm_span text, const char *what)
{
    const struct slurm_span line = {table->reader->line.text, 0};
    return orr_slurm__complain(table->reader, text.bytes > 0 ? text : line, what);
}

/* --- what is not heeded --- */

/* Columns that hold somebody back in Slurm. */
static const char *const unheeded_columns =
    "Partition|MinPrioThresh|LimitFactor|UsageThres|GrpJobsAccrue|MaxJobsAccrue*|MaxTRESRunMins*|"
    "MaxTRESMinsPU|MaxTRESMinsPA";

/* A column of that kind with something in it is named once. */
static void name_cells(struct table *table)
{
    for (uint32_t c = 0; c < table->count; c++) {
        const struct slurm_span name = table->names[c];
        char why[120];
        if (table->cells[c].bytes > 0 && !table->named[c] &&
            orr_text_like(name.at, name.bytes, unheeded_columns, true)) {
            table->named[c] = true;
            (void)snprintf(why, sizeof why, "is not heeded: nobody looks at column %.*s",
                           (int)(name.bytes < 60 ? name.bytes : 60), name.at);
            orr_slurm__say(table->reader, table->cells[c], why);
        }
    }
}

static void read_flags(const struct table *table, struct slurm_span flags, struct slurm_qos *qos)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } known[] = {{"NoReserve", SLURM_NO_RESERVE},
                 {"PartitionMaxNodes", SLURM_PART_MAX_NODES},
                 {"PartitionMinNodes", SLURM_PART_MIN_NODES},
                 {"PartitionTimeLimit", SLURM_PART_TIME}};
    struct slurm_span item;
    while (orr_slurm__next_item(&flags, &item)) {
        uint8_t bit = 0;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            bit = orr_slurm__is(item, known[k].name) ? known[k].bit : bit;
        }
        qos->flags |= bit;
        qos->over_partition = qos->over_partition || orr_slurm__is(item, "OverPartQOS");
        qos->denies = qos->denies || orr_slurm__is(item, "DenyOnLimit");
        qos->no_decay = qos->no_decay || orr_slurm__is(item, "NoDecay");
        if (bit == 0 &&
            !orr_text_like(item.at, item.bytes, "OverPartQOS|DenyOnLimit|NoDecay", true)) {
            orr_slurm__remark(table->reader, item, "is not heeded: a QOS has no such flag here");
        }
    }
}

/* --- limits --- */

static void no_limits(struct slurm_limits *limits)
{
    limits->any = false;
    limits->jobs = limits->submits = -1;
    limits->wall_ms = ORR_MS_NEVER;
    for (int t = 0; t < SLURM_TRES_COUNT; t++) {
        limits->tres[t] = -1;
    }
}

/* Columns by scope: resources under two names, jobs that run, wall time, jobs that wait or run
 * under two. */
struct columns {
    const char *tres, *tres2, *jobs, *wall, *submits, *submits2;
};
static const struct columns of_qos[SLURM_SCOPES] = {
    [SLURM_GROUP] = {"GrpTRES", "", "GrpJobs", "GrpWall", "GrpSubmit", "GrpSubmitJobs"},
    [SLURM_USER] = {"MaxTRESPU", "MaxTRESPerUser", "MaxJobsPU", "", "MaxSubmitPU",
                    "MaxSubmitJobsPU"},
    [SLURM_ACCOUNT] = {"MaxTRESPA", "MaxTRESPerAccount", "MaxJobsPA", "", "MaxSubmitPA",
                       "MaxSubmitJobsPA"},
    [SLURM_PER_JOB] = {"MaxTRES", "MaxTRESPerJob", "", "MaxWall", "", ""},
    [SLURM_PER_NODE] = {"MaxTRESPerNode", "MaxTRESPN", "", "", "", ""},
    [SLURM_LEAST] = {"MinTRES", "MinTRESPerJob", "", "", "", ""},
    [SLURM_GROUP_MINUTES] = {"GrpTRESMins", "", "", "", "", ""},
    [SLURM_RUN_MINUTES] = {"GrpTRESRunMins", "", "", "", "", ""},
    [SLURM_JOB_MINUTES] = {"MaxTRESMins", "MaxTRESMinsPerJob", "", "", "", ""}};
static const struct columns of_assoc[SLURM_SCOPES] = {
    [SLURM_GROUP] = {"GrpTRES", "", "GrpJobs", "GrpWall", "GrpSubmit", "GrpSubmitJobs"},
    [SLURM_USER] = {"", "", "MaxJobs", "", "MaxSubmit", "MaxSubmitJobs"},
    [SLURM_ACCOUNT] = {"", "", "", "", "", ""},
    [SLURM_PER_JOB] = {"MaxTRES", "MaxTRESPerJob", "", "MaxWall", "", ""},
    [SLURM_PER_NODE] = {"MaxTRESPerNode", "MaxTRESPN", "", "", "", ""},
    [SLURM_LEAST] = {"", "", "", "", "", ""},
    [SLURM_GROUP_MINUTES] = {"GrpTRESMins", "", "", "", "", ""},
    [SLURM_RUN_MINUTES] = {"GrpTRESRunMins", "", "", "", "", ""},
    [SLURM_JOB_MINUTES] = {"MaxTRESMins", "MaxTRESMinsPerJob", "", "", "", ""}};

/* Nothing: no limit. */
static bool read_count(struct slurm_span text, int64_t *out)
{
    *out = -1;
    return text.bytes == 0 || (orr_parse_i64(text.at, text.bytes, out) && *out >= 0);
}

static enum orr_status read_limits(const struct table *table, const struct columns *columns,
                                   struct slurm_limits *limits)
{
    for (int s = 0; s < SLURM_SCOPES; s++) {
        const struct slurm_span list = cell_or(table, columns[s].tres, columns[s].tres2);
        const struct slurm_span count = cell(table, columns[s].jobs),
                                wall = cell(table, columns[s].wall);
        const struct slurm_span submits = cell_or(table, columns[s].submits, columns[s].submits2);
        no_limits(&limits[s]);
        if (orr_slurm__tres(table->reader, list, false, limits[s].tres) != ORR_OK) {
            return ORR_DATA;
        }
        if (!read_count(count, &limits[s].jobs) || !read_count(submits, &limits[s].submits)) {
            return complain(table, read_count(count, &limits[s].jobs) ? submits : count,
                            "is no number of jobs");
        }
        if (wall.bytes > 0 && !orr_slurm__minutes(wall.at, wall.bytes, &limits[s].wall_ms)) {
            return complain(table, wall, "is no time");
        }
        limits[s].any = limits[s].jobs >= 0 || limits[s].wall_ms < ORR_MS_NEVER;
        for (int t = 0; t < SLURM_TRES_COUNT; t++) {
            limits[s].any = limits[s].any || limits[s].tres[t] >= 0;
        }
    }
    return ORR_OK;
}

/* A column whose name is nearly one that is read. */
static void name_slips(const struct table *table)
{
    enum { SLIP = 2, SHORT = 5 }; /* letters */
    static const char *const words[] = {
        "Account",           "User",        "ParentName", "Par Name", "Share",       "Fairshare",
        "Def QOS",           "Name",        "Preempt",    "Priority", "UsageFactor", "Flags",
        "PreemptExemptTime", "PreemptMode", "GraceTime"};
    enum { WORDS = sizeof words / sizeof words[0] };
    const char *read[WORDS + 6 * SLURM_SCOPES];
    memcpy(read, words, sizeof words);
    for (size_t s = 0; s < SLURM_SCOPES; s++) {
        const struct columns *of = table->of_qos ? &of_qos[s] : &of_assoc[s];
        const char *const names[] = {of->tres, of->tres2,   of->jobs,
                                     of->wall, of->submits, of->submits2};
        memcpy(read + WORDS + 6 * s, names, sizeof names);
    }
    for (uint32_t c = 0; c < table->count; c++) {
        const struct slurm_span name = table->names[c];
        char word[64], why[100];
        (void)snprintf(word, sizeof word, "%.*s", (int)(name.bytes < 60 ? name.bytes : 60),
                       name.at);
        bool known =
            name.bytes <= SHORT || orr_text_like(word, strlen(word), unheeded_columns, true);
        for (size_t r = 0; r < sizeof read / sizeof read[0]; r++) {
            known = known || orr_slurm__is(name, read[r]);
        }
        const char *near =
            known ? NULL : orr_nearest_within(word, read, sizeof read / sizeof read[0], SLIP);
        if (near != NULL) {
            (void)snprintf(why, sizeof why, "is not heeded; did you mean %s?", near);
            orr_slurm__say(table->reader, name, why);
        }
    }
}

/* --- QOS --- */

uint32_t orr_slurm__qos(const struct slurm_conf *conf, const char *name, size_t bytes)
{
    for (uint32_t q = 0; q < conf->qos_count; q++) {
        if (strlen(conf->qos[q].name) == bytes && memcmp(conf->qos[q].name, name, bytes) == 0) {
            return q;
        }
    }
    return ORR_NONE;
}

static enum orr_status read_qos(const struct table *table)
{
    struct slurm_conf *conf = table->conf;
    const struct slurm_span name = cell(table, "Name"), preempt = cell(table, "Preempt");
    const struct slurm_span priority = cell(table, "Priority"), grace = cell(table, "GraceTime");
    const struct slurm_span factor = cell(table, "UsageFactor"), flags = cell(table, "Flags");
    const struct slurm_span exempt = cell(table, "PreemptExemptTime"),
                            mode = cell(table, "PreemptMode");
    if (conf->qos_count == SLURM_QOS_MAX) {
        return complain(table, name, "is one QOS too many: at most 64 are kept apart");
    }
    conf->qos = ORR_ROOM_FOR_ONE(conf->qos, conf->qos_count, conf->qos_capacity);
    struct slurm_qos *qos = &conf->qos[conf->qos_count++];
    *qos =
        (struct slurm_qos){.name = orr_arena_strndup(&conf->arena, name.at, name.bytes),
                           .preempts = orr_arena_strndup(&conf->arena, preempt.at, preempt.bytes),
                           .exempt_ms = ORR_MS_NONE,
                           .usage_factor = 1};
    if (priority.bytes > 0 && !orr_parse_i64(priority.at, priority.bytes, &qos->priority)) {
        return complain(table, priority, "is no priority");
    }
    if (grace.bytes > 0 && !orr_slurm__time(grace.at, grace.bytes, &qos->grace_ms)) {
        return complain(table, grace, "is no GraceTime");
    }
    if (factor.bytes > 0 && !orr_parse_double(factor.at, factor.bytes, &qos->usage_factor)) {
        return complain(table, factor, "is no UsageFactor");
    }
    if (exempt.bytes > 0 && !orr_slurm__time(exempt.at, exempt.bytes, &qos->exempt_ms)) {
        return complain(table, exempt, "is no PreemptExemptTime");
    }
    read_flags(table, flags, qos);
    if (orr_slurm__preempt_mode(table->reader, mode, &qos->mode, &qos->within) != ORR_OK) {
        return ORR_DATA;
    }
    return read_limits(table, of_qos, qos->limits);
}

/* The QOS that a list joined by commas names, a bit each. */
static uint64_t bits_of(const struct slurm_conf *conf, const char *names)
{
    uint64_t bits = 0;
    for (const char *at = names; at != NULL && *at != '\0';) {
        const size_t bytes = strcspn(at, ",");
        const uint32_t qos = orr_slurm__qos(conf, at, bytes);
        bits |= qos == ORR_NONE ? 0 : (uint64_t)1 << qos;
        at += bytes + (at[bytes] == ',');
    }
    return bits;
}

/* Names of QOS, once all are known: those that one preempts, those of associations, which have
 * what the one above has if they state none. */
static void link_qos(struct slurm_conf *conf)
{
    for (uint32_t q = 0; q < conf->qos_count; q++) {
        struct slurm_qos *qos = &conf->qos[q];
        const double priority = (double)qos->priority;
        conf->max_qos_priority =
            priority > conf->max_qos_priority ? priority : conf->max_qos_priority;
        qos->preempts_bits = bits_of(conf, qos->preempts);
    }
    for (uint32_t a = 0; a < conf->assoc_count; a++) {
        struct slurm_assoc *assoc = &conf->assocs[a];
        const char *name = assoc->default_qos;
        assoc->qos = name == NULL ? ORR_NONE : orr_slurm__qos(conf, name, strlen(name));
        assoc->qos_bits = bits_of(conf, assoc->qos_list);
        if (assoc->parent != ORR_NONE) {
            const struct slurm_assoc *above = &conf->assocs[assoc->parent];
            assoc->qos = assoc->qos == ORR_NONE ? above->qos : assoc->qos;
            assoc->qos_bits = assoc->qos_bits == 0 ? above->qos_bits : assoc->qos_bits;
        }
        if (assoc->qos == ORR_NONE && __builtin_popcountll(assoc->qos_bits) == 1) {
            assoc->qos = (uint32_t)__builtin_ctzll(assoc->qos_bits);
        }
    }
}

/* The QOS of a partition, whose limits nobody knows where no table of QOS is given. */
static enum orr_status link_partition(const struct slurm_reader *reader,
                                      struct slurm_partition *partition)
{
    const char *name = partition->qos_name;
    partition->qos = name == NULL ? ORR_NONE : orr_slurm__qos(reader->conf, name, strlen(name));
    if (name == NULL || partition->qos != ORR_NONE) {
        return ORR_OK;
    }
    if (reader->conf->qos_count > 0) {
        return orr_fail(reader->err, ORR_DATA,
                        "slurm_conf%s: \"%.80s\" is a QOS that sacctmgr does not have",
                        partition->qos_place, name);
    }
    if (reader->passed != NULL) {
        char text[200 + SLURM_PLACE_BYTES];
        (void)snprintf(text, sizeof text,
                       "slurm_conf%s: \"%.80s\" is not heeded: sacctmgr has no table of QOS",
                       partition->qos_place, name);
        reader->passed->say(text, reader->passed->context);
    }
    return ORR_OK;
}

/* --- associations --- */

uint32_t orr_slurm__assoc_add(struct slurm_conf *conf, uint32_t parent, const char *account,
                              const char *user, double shares)
{
    conf->assocs = ORR_ROOM_FOR_ONE(conf->assocs, conf->assoc_count, conf->assoc_capacity);
    struct slurm_assoc *assoc = &conf->assocs[conf->assoc_count];
    *assoc = (struct slurm_assoc){
        .parent = parent,
        .first_child = ORR_NONE,
        .last_child = ORR_NONE,
        .next = ORR_NONE,
        .account = account,
        .user = user,
        .above = parent,
        .shares = shares < 0 ? 0 : shares,
        .as_parent = shares < 0,
        .priority = parent == ORR_NONE ? 0 : conf->assocs[parent].priority,
        .qos = ORR_NONE,
        .user_id = user == NULL ? ORR_NONE : orr_idmap_put(&conf->users, user, strlen(user), NULL),
        .fair_share = 1};
    for (int s = 0; s < SLURM_SCOPES; s++) {
        no_limits(&assoc->limits[s]);
    }
    conf->user_count += user != NULL;
    if (parent != ORR_NONE && conf->assocs[parent].as_parent) {
        assoc->above = conf->assocs[parent].above;
    }
    if (assoc->above != ORR_NONE && !(assoc->as_parent && user == NULL)) {
        struct slurm_assoc *above = &conf->assocs[assoc->above];
        above->child_shares += assoc->shares;
        *(above->first_child == ORR_NONE ? &above->first_child
                                         : &conf->assocs[above->last_child].next) =
            conf->assoc_count;
        above->last_child = conf->assoc_count;
    }
    return conf->assoc_count++;
}

uint32_t orr_slurm__assoc(const struct slurm_conf *conf, const char *account, const char *user)
{
    for (uint32_t a = 0; a < conf->assoc_count; a++) {
        const struct slurm_assoc *assoc = &conf->assocs[a];
        const bool same_user = user == NULL || assoc->user == NULL ? user == assoc->user
                                                                   : strcmp(user, assoc->user) == 0;
        if (same_user &&
            (account == NULL || orr_slurm__same(account, strlen(account), assoc->account))) {
            return a;
        }
    }
    return ORR_NONE;
}

static enum orr_status read_assoc(const struct table *table)
{
    struct slurm_conf *conf = table->conf;
    const struct slurm_span account = cell(table, "Account"), user = cell(table, "User");
    const struct slurm_span above = cell_or(table, "ParentName", "Par Name");
    const struct slurm_span shares = cell_or(table, "Share", "Fairshare"),
                            qos = cell(table, "Def QOS");
    const char *name = orr_arena_strndup(&conf->arena, account.at, account.bytes);
    const char *who = user.bytes == 0 ? NULL : orr_arena_strndup(&conf->arena, user.at, user.bytes);
    char parent_name[128];
    (void)snprintf(parent_name, sizeof parent_name, "%.*s",
                   (int)(above.bytes < 120 ? above.bytes : 120), above.at);
    uint32_t parent = ORR_NONE;
    if (who != NULL) {
        parent = orr_slurm__assoc(conf, name, NULL);
    } else if (above.bytes > 0) {
        parent = orr_slurm__assoc(conf, parent_name, NULL);
    }
    if (parent == ORR_NONE && (who != NULL || above.bytes > 0)) {
        return complain(table, who != NULL ? account : above,
                        "is an account that no line before it describes");
    }
    if (parent == ORR_NONE && conf->assoc_count > 0) {
        return complain(table, account,
                        "is a second account without a parent: let sacctmgr print the tree, with "
                        "format=Account,User,ParentName,Share and the limits, and of one cluster");
    }
    double number = 1;
    const bool as_parent = orr_slurm__is(shares, "parent");
    if (shares.bytes > 0 && !as_parent && !orr_parse_double(shares.at, shares.bytes, &number)) {
        return complain(table, shares, "is no share");
    }
    const uint32_t a = orr_slurm__assoc_add(conf, parent, name, who,
                                            as_parent && parent != ORR_NONE ? -1 : number);
    struct slurm_assoc *assoc = &conf->assocs[a];
    const struct slurm_span priority = cell(table, "Priority");
    if (priority.bytes > 0 &&
        (!orr_parse_i64(priority.at, priority.bytes, &assoc->priority) || assoc->priority < 0)) {
        return complain(table, priority, "is no priority");
    }
    conf->max_assoc_priority = (double)assoc->priority > conf->max_assoc_priority
                                   ? (double)assoc->priority
                                   : conf->max_assoc_priority;
    assoc->default_qos = orr_arena_strndup(&conf->arena, qos.at, qos.bytes);
    const struct slurm_span list = cell(table, "QOS");
    assoc->qos_list = orr_arena_strndup(&conf->arena, list.at, list.bytes);
    return read_limits(table, of_assoc, assoc->limits);
}

static void assocs_of_queues(struct slurm_conf *conf, const struct orr_view *view)
{
    (void)orr_slurm__assoc_add(conf, ORR_NONE, "root", NULL, 1);
    for (uint32_t q = 0; q < view->queues->count; q++) {
        const struct orr_queue *queue = &view->queues->queues[q];
        const uint32_t above =
            queue->parent == ORR_NONE
                ? 0
                : orr_slurm__assoc(conf, orr_idmap_name(&view->queues->names, queue->parent), NULL);
        (void)orr_slurm__assoc_add(conf, above == ORR_NONE ? 0 : above,
                                   orr_idmap_name(&view->queues->names, q), NULL,
                                   queue->resources[ORR_SHARE_GPU].weight);
    }
}

/* --- the whole --- */

enum orr_status orr_slurm__sacctmgr_read(struct slurm_reader *reader, const char *text)
{
    struct slurm_conf *conf = reader->conf;
    struct table table = {.reader = reader, .conf = conf};
    enum orr_status status = ORR_OK;
    reader->origin = "sacctmgr";
    reader->line = (struct orr_slurm_line){.raw_end = text + strlen(text)};
    while (*text != '\0' && status == ORR_OK) {
        const size_t bytes = strcspn(text, "\n");
        struct slurm_span line = {text, bytes};
        reader->line.number++;
        reader->line.raw = reader->line.text = text;
        while (line.bytes > 0 && strchr(" \t\r|", line.at[line.bytes - 1]) != NULL &&
               line.at[line.bytes - 1] != '|') {
            line.bytes--;
        }
        text += bytes + (text[bytes] == '\n');
        if (line.bytes == 0 || line.at[0] == '#') {
            continue;
        }
        const uint32_t count = split(line, table.cells);
        bool heads_assoc = false, heads_qos = false;
        for (uint32_t c = 0; c < count; c++) {
            heads_assoc = heads_assoc || orr_slurm__is(table.cells[c], "Account");
            heads_qos = heads_qos || orr_slurm__is(table.cells[c], "Name");
        }
        if (heads_assoc || heads_qos) {
            memcpy(table.names, table.cells, sizeof table.names);
            table.count = count;
            table.of_qos = !heads_assoc;
            memset(table.named, 0, sizeof table.named);
            name_slips(&table);
        } else if (table.count == 0) {
            status = complain(&table, line, "comes before a line with the names of columns");
        } else {
            for (uint32_t c = count; c < COLUMNS_MAX; c++) {
                table.cells[c] = (struct slurm_span){"", 0};
            }
            name_cells(&table);
            status = table.of_qos ? read_qos(&table) : read_assoc(&table);
        }
    }
    if (status == ORR_OK && conf->assoc_count == 0 && reader->view != NULL) {
        conf->own_users = true;
        assocs_of_queues(conf, reader->view);
    }
    link_qos(conf);
    for (uint32_t p = 0; p < conf->partition_count && status == ORR_OK; p++) {
        status = link_partition(reader, &conf->partitions[p]);
        orr_slurm__look_at_access(reader, &conf->partitions[p]);
    }
    return status;
}
