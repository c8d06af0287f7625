/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Slurm says of nodes, partitions and accounts as a scenario. Slurm has no guaranteed shares,
 * so quotas stay 0 and the comments ask for them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <orrery/base/text.h>
#include <orrery/policies/slurm_hosts.h>
#include <orrery/sim/slurm_include.h>
#include <orrery/sim/yaml.h>
#include <orrery/traces/source.h>

#include "pools.h"
#include "slurm_conf.h"
#include "slurm_text.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)
#define NODES_MAX      1000000

struct queue { /* a partition, or an account */
    char name[INTAKE_NAME_BYTES], parent[INTAKE_NAME_BYTES], comment[300];
    int64_t weight, limit; /* limit -1: none */
    int64_t priority;      /* tier of a partition; -1: none */
};

enum queue_kind { QUEUE_PARTITION, QUEUE_ACCOUNT, QUEUE_QOS };

struct cluster {
    struct orr_intake_report *report;
    struct intake_pools pools;
    struct queue *partitions, *accounts, *qos;
    uint32_t qos_count, qos_capacity, partition_count, partition_capacity, account_count,
        account_capacity;
    bool counts_cpus; /* CPUs are taken for GPUs, as of the jobs */
    uint32_t cpu_nodes, down;
    uint32_t odd_gres;            /* records whose Gres states GPUs in no way that is known */
    char gres[INTAKE_NAME_BYTES]; /* of the first of them */
    uint32_t unlisted;            /* records whose NodeName is no list of hosts */
    int64_t slices;               /* of MIG, that are counted as GPUs */
    char slice[INTAKE_NAME_BYTES];
    uint32_t qos_users, qos_preempts;   /* that say what is not modelled */
    bool users;                         /* associations of users were left out */
    bool skips_nodes, skips_partitions; /* they are known already */
};

/* A text as jobs.csv has names: bytes that are no UTF-8 in hexadecimal behind a sign, controls as
 * question marks. *odd: how many there are. Caller frees it. */
static char *clean(const char *text, size_t bytes, size_t *clean_bytes, uint32_t *odd)
{
    char *out_text = NULL;
    FILE *out = open_memstream(&out_text, clean_bytes);
    ORR_ASSERT(out != NULL);
    *odd = 0;
    while (bytes > 0) {
        const struct orr_name_part part = orr_name_part(text, bytes);
        const unsigned char first = (unsigned char)text[0];
        const bool is_blank = first == '\t' || first == '\n' || first == '\r';
        if ((first < ' ' && !is_blank) || first == 0x7f) {
            (void)fputc('?', out);
            *odd += 1;
        } else {
            (void)fwrite(part.text, 1, part.bytes, out);
            *odd += part.bytes > part.took;
        }
        text += part.took;
        bytes -= part.took;
    }
    (void)fclose(out);
    return out_text;
}

/* --- key=value records ----------------------------------------------------------------------- */

/* The value behind KEY= in a record, up to a blank; no bytes: it is not there. */
static struct orr_cell value_of(struct orr_cell record, const char *key)
{
    const size_t bytes = strlen(key);
    for (size_t i = 0; i + bytes + 1 <= record.bytes; i++) {
        const bool begins = i == 0 || strchr(" \t\r\n", record.at[i - 1]) != NULL;
        if (begins && record.at[i + bytes] == '=' && strncasecmp(record.at + i, key, bytes) == 0) {
            const char *from = record.at + i + bytes + 1, *end = record.at + record.bytes;
            const char *stop = from;
            while (stop < end && strchr(" \t\r\n", *stop) == NULL) {
                stop++;
            }
            return (struct orr_cell){from, (size_t)(stop - from)};
        }
    }
    return (struct orr_cell){"", 0};
}

static bool has_word(struct orr_cell text, const char *word)
{
    const size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= text.bytes; i++) {
        if (memcmp(text.at + i, word, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* CPUs of a node that states none are those of its sockets. */
static int64_t cpus_of(struct orr_cell record)
{
    static const char *const each[] = {"CoresPerSocket", "ThreadsPerCore"};
    const int64_t stated =
        slurm_integer_or(value_of(record, "CPUTot"), slurm_integer_or(value_of(record, "CPUs"), 0));
    int64_t sockets = slurm_integer_or(value_of(record, "SocketsPerBoard"), 0);
    sockets = sockets > 0 ? sockets * slurm_integer_or(value_of(record, "Boards"), 1)
                          : slurm_integer_or(value_of(record, "Sockets"), 0);
    int64_t cpus = stated > 0 ? stated : sockets;
    for (size_t i = 0; i < 2 && stated <= 0 && cpus > 0 && cpus <= 1000000; i++) {
        cpus *= slurm_integer_or(value_of(record, each[i]), 1);
    }
    return cpus > 0 && cpus <= 1000000 ? cpus : 0;
}

/* What is counted of a node: its GPUs, or its CPUs, which are then no CPUs any more. */
static void count_devices(struct cluster *cluster, struct orr_cell record, struct intake_pool *node)
{
    const int64_t known = cpus_of(record);
    if (cluster->counts_cpus) {
        node->gpus = known;
        return;
    }
    struct slurm_gpus gpus = slurm_gres_gpus(value_of(record, "Gres"));
    if (gpus.odd && cluster->odd_gres++ == 0) {
        intake_copy_name(cluster->gres, value_of(record, "Gres"));
    }
    if (!gpus.given) {
        gpus = slurm_tres_gpus(value_of(record, "CfgTRES"));
    }
    node->gpus = gpus.count;
    node->cpu_milli = known * 1000;
    intake_copy_name(node->model, gpus.type);
    if (gpus.slices > 0 && cluster->slices == 0) {
        intake_copy_name(cluster->slice, gpus.slice);
    }
    cluster->slices += gpus.slices * node->nodes;
}

struct named_nodes {
    struct cluster *cluster;
    const struct intake_pool *node;
    uint32_t count;
};

static bool add_node(void *context, const char *name)
{
    struct named_nodes *named = context;
    struct orr_arena *arena = &named->cluster->report->arena;
    intake_pools_add(&named->cluster->pools, named->node,
                     orr_arena_strndup(arena, name, strlen(name)));
    return ++named->count < NODES_MAX;
}

/* Each under its own name; those of a list that is too long, or none, have no names. */
static void add_nodes(struct cluster *cluster, struct intake_pool *node, const char *list)
{
    struct named_nodes named = {.cluster = cluster, .node = node};
    const uint32_t hosts = node->nodes;
    const bool down = node->down > 0;
    node->nodes = 1;
    node->down = down;
    (void)orr_slurm_hosts(list, strlen(list), add_node, &named);
    node->nodes = hosts - (named.count < hosts ? named.count : hosts);
    node->down = down ? node->nodes : 0;
    if (node->nodes > 0) {
        intake_pools_add(&cluster->pools, node, NULL);
    }
}

static void take_node(struct cluster *cluster, struct orr_cell record)
{
    struct intake_pool node = {0};
    const struct orr_cell name = value_of(record, "NodeName");
    const struct orr_cell state = value_of(record, "State");
    const bool down = has_word(state, "DOWN") || has_word(state, "DRAIN") ||
                      has_word(state, "FAIL") || has_word(state, "FUTURE");
    const char *list = orr_arena_strndup(&cluster->report->arena, name.at, name.bytes);
    const uint64_t hosts = orr_slurm_host_count(list, strlen(list));
    node.nodes = hosts > 0 ? (uint32_t)hosts : 1;
    cluster->unlisted += hosts == 0;
    count_devices(cluster, record, &node);
    if (node.gpus <= 0) {
        cluster->cpu_nodes += node.nodes;
        return;
    }
    node.mem_mib = slurm_integer_or(value_of(record, "RealMemory"), 0);
    node.down = down ? node.nodes : 0;
    cluster->down += node.down;
    add_nodes(cluster, &node, list);
}

/* A limit of trackable resources in what is counted; -1: none is stated. */
static int64_t limit_of(const struct cluster *cluster, struct orr_cell tres)
{
    if (cluster->counts_cpus) {
        return slurm_integer_or(slurm_tres(tres, "cpu"), -1);
    }
    const struct slurm_gpus gpus = slurm_tres_gpus(tres);
    return gpus.given ? gpus.count : -1;
}

static struct queue *new_queue(struct queue **queues, uint32_t *count, uint32_t *capacity)
{
    *queues = ORR_ROOM_FOR_ONE(*queues, *count, *capacity);
    struct queue *queue = &(*queues)[(*count)++];
    *queue = (struct queue){.weight = 1, .limit = -1, .priority = -1};
    return queue;
}

/* Adds ", KEY=value" to a comment where the record has it. */
static void say_key(char *comment, size_t bytes, struct orr_cell record, const char *key)
{
    const struct orr_cell value = value_of(record, key);
    const size_t used = strlen(comment);
    if (value.bytes > 0) {
        (void)snprintf(comment + used, bytes - used, ", %s=%.*s", key,
                       (int)(value.bytes < 40 ? value.bytes : 40), value.at);
    }
}

static void take_partition(struct cluster *cluster, struct orr_cell record)
{
    static const char *const keys[] = {"MaxTime", "PriorityTier", "PreemptMode"};
    struct queue *queue =
        new_queue(&cluster->partitions, &cluster->partition_count, &cluster->partition_capacity);
    const struct orr_cell nodes = value_of(record, "Nodes");
    const int64_t total = slurm_integer_or(value_of(record, "TotalNodes"), -1);
    intake_copy_name(queue->name, value_of(record, "PartitionName"));
    queue->priority = slurm_integer_or(value_of(record, "PriorityTier"), -1);
    if (total >= 0) {
        (void)snprintf(queue->comment, sizeof queue->comment, "%lld node%s", (long long)total,
                       ORR_PLURAL(total));
    } else {
        (void)snprintf(queue->comment, sizeof queue->comment, "nodes %.*s",
                       (int)(nodes.bytes < 60 ? nodes.bytes : 60), nodes.at);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        say_key(queue->comment, sizeof queue->comment, record, keys[i]);
    }
}

/* Records begin with their first key at the begin of a line; other lines go on with them. */
static void take_records(struct cluster *cluster, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (text < end) {
        const bool node = (size_t)(end - text) > 9 && memcmp(text, "NodeName=", 9) == 0;
        const bool partition = (size_t)(end - text) > 14 && memcmp(text, "PartitionName=", 14) == 0;
        const char *stop = text;
        do {
            const char *line = memchr(stop, '\n', (size_t)(end - stop));
            stop = line == NULL ? end : line + 1;
        } while (stop < end && !((size_t)(end - stop) > 9 && memcmp(stop, "NodeName=", 9) == 0) &&
                 !((size_t)(end - stop) > 14 && memcmp(stop, "PartitionName=", 14) == 0));
        const struct orr_cell record = {text, (size_t)(stop - text)};
        cluster->report->rows += node || partition;
        if (node && !cluster->skips_nodes) {
            take_node(cluster, record);
        } else if (partition && !cluster->skips_partitions) {
            take_partition(cluster, record);
        }
        text = stop;
    }
}

/* --- associations ---------------------------------------------------------------------------- */

enum assoc { AS_CLUSTER, AS_ACCOUNT, AS_USER, AS_PARENT, AS_SHARE, AS_TRES, AS_COLUMNS };

struct accounts {
    struct cluster *cluster;
    uint32_t of[AS_COLUMNS];
};

static void on_account(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct accounts *accounts = context;
    struct cluster *cluster = accounts->cluster;
    struct orr_cell of[AS_COLUMNS];
    for (int c = 0; c < AS_COLUMNS; c++) {
        of[c] = accounts->of[c] == ORR_NONE ? (struct orr_cell){"", 0} : cells[accounts->of[c]];
    }
    (void)line;
    cluster->report->rows++;
    if (of[AS_USER].bytes > 0) {
        cluster->users = true;
        return;
    }
    if (of[AS_ACCOUNT].bytes == 0 ||
        (of[AS_ACCOUNT].bytes == 4 && memcmp(of[AS_ACCOUNT].at, "root", 4) == 0)) {
        return;
    }
    struct queue *queue =
        new_queue(&cluster->accounts, &cluster->account_count, &cluster->account_capacity);
    intake_copy_name(queue->name, of[AS_ACCOUNT]);
    intake_copy_name(queue->parent, of[AS_PARENT]);
    queue->weight = slurm_integer_or(of[AS_SHARE], 1);
    queue->weight = queue->weight > 0 && queue->weight < 1000000000 ? queue->weight : 1;
    queue->limit = limit_of(cluster, of[AS_TRES]);
}

static void on_bad_account(void *context, uint32_t line, const char *why)
{
    struct accounts *accounts = context;
    accounts->cluster->report->rows++;
    orr_intake_drop(accounts->cluster->report, false, "the row is none of this table", line, why);
}

static uint32_t column_of(const char *const *names, uint32_t count, const char *a, const char *b)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], a) == 0 || strcmp(names[i], b) == 0) {
            return i;
        }
    }
    return ORR_NONE;
}

/* Without a header (-n): the columns that the README asks for. */
static const char *const plain_names[] = {"Cluster",   "Account", "User",    "ParentName",
                                          "Fairshare", "GrpTRES", "MaxTRES", "QOS"};

static bool is_assoc_header(const struct orr_records *records)
{
    uint32_t count;
    const char *const *names = orr_records_names(records, &count);
    return column_of(names, count, "Account", "Account") != ORR_NONE &&
           (column_of(names, count, "ParentName", "Par Name") != ORR_NONE ||
            column_of(names, count, "Share", "Fairshare") != ORR_NONE);
}

static enum orr_status take_accounts(struct cluster *cluster, const char *path,
                                     struct orr_cell text, struct orr_err *err)
{
    struct orr_records *records;
    struct orr_records_options options = {.plain = true, .delimiter = "|"};
    struct accounts accounts = {.cluster = cluster};
    enum orr_status status =
        orr_records_open_memory(path, text.at, text.bytes, &options, &records, err);
    if (status == ORR_OK && !is_assoc_header(records)) {
        orr_records_close(records);
        options.names = plain_names;
        options.name_count = sizeof plain_names / sizeof plain_names[0];
        status = orr_records_open_memory(path, text.at, text.bytes, &options, &records, err);
    }
    if (status != ORR_OK) {
        return status;
    }
    uint32_t count, wanted_count = 0;
    const char *const *names = orr_records_names(records, &count);
    const char *wanted[AS_COLUMNS];
    static const char *const called[AS_COLUMNS][2] = {
        {"Cluster", "Cluster"},     {"Account", "Account"}, {"User", "User"},
        {"ParentName", "Par Name"}, {"Share", "Fairshare"}, {"GrpTRES", "GrpTRES"}};
    for (int c = 0; c < AS_COLUMNS; c++) {
        const uint32_t column = column_of(names, count, called[c][0], called[c][1]);
        accounts.of[c] = column == ORR_NONE ? ORR_NONE : wanted_count;
        if (column != ORR_NONE) {
            wanted[wanted_count++] = names[column];
        }
    }
    const struct orr_records_sink sink = {&accounts, on_account, on_bad_account};
    status = orr_records_read(records, wanted, wanted_count, &sink, err);
    orr_records_close(records);
    return status;
}

/* --- sacctmgr show qos --- */

enum { QOS_NAME, QOS_PRIORITY, QOS_GROUP, QOS_USER, QOS_PREEMPT, QOS_COLUMNS };
static const char *const qos_columns[QOS_COLUMNS] = {
    [QOS_NAME] = "Name",      [QOS_PRIORITY] = "Priority", [QOS_GROUP] = "GrpTRES",
    [QOS_USER] = "MaxTRESPU", [QOS_PREEMPT] = "Preempt",
};

struct qos_read {
    struct cluster *cluster;
    uint32_t of[QOS_COLUMNS]; /* ORR_NONE: the file has none */
};

static struct orr_cell qos_cell(const struct qos_read *read, const struct orr_cell *cells, int at)
{
    return read->of[at] == ORR_NONE ? (struct orr_cell){"", 0} : cells[read->of[at]];
}

static void on_qos(void *context, const struct orr_cell *cells, uint32_t line)
{
    struct qos_read *read = context;
    struct cluster *cluster = read->cluster;
    const struct orr_cell name = qos_cell(read, cells, QOS_NAME);
    (void)line;
    if (name.bytes == 0) {
        return;
    }
    struct queue *queue = new_queue(&cluster->qos, &cluster->qos_count, &cluster->qos_capacity);
    intake_copy_name(queue->name, name);
    queue->priority = slurm_integer_or(qos_cell(read, cells, QOS_PRIORITY), 0);
    queue->limit = limit_of(cluster, qos_cell(read, cells, QOS_GROUP));
    cluster->qos_users += limit_of(cluster, qos_cell(read, cells, QOS_USER)) >= 0;
    cluster->qos_preempts += qos_cell(read, cells, QOS_PREEMPT).bytes > 0;
    (void)snprintf(queue->comment, sizeof queue->comment, "QOS, priority %lld",
                   (long long)queue->priority);
}

static void on_bad_qos(void *context, uint32_t line, const char *why)
{
    const struct qos_read *read = context;
    orr_intake_drop(read->cluster->report, false, "the row is none of a QOS", line, why);
}

static bool is_qos_header(const struct orr_records *records)
{
    uint32_t count;
    const char *const *names = orr_records_names(records, &count);
    return column_of(names, count, "Name", "Name") != ORR_NONE &&
           column_of(names, count, "Priority", "Priority") != ORR_NONE &&
           (column_of(names, count, "GrpTRES", "GrpTRES") != ORR_NONE ||
            column_of(names, count, "UsageFactor", "UsageFactor") != ORR_NONE);
}

static enum orr_status take_qos(struct cluster *cluster, const char *path, struct orr_cell text,
                                struct orr_err *err)
{
    struct qos_read read = {.cluster = cluster};
    struct orr_records *records;
    const struct orr_records_options options = {.plain = true, .delimiter = "|"};
    const char *wanted[QOS_COLUMNS];
    uint32_t count, wanted_count = 0;
    enum orr_status status =
        orr_records_open_memory(path, text.at, text.bytes, &options, &records, err);
    if (status != ORR_OK) {
        return status;
    }
    const char *const *names = orr_records_names(records, &count);
    for (int c = 0; c < QOS_COLUMNS; c++) {
        const uint32_t column = column_of(names, count, qos_columns[c], qos_columns[c]);
        read.of[c] = column == ORR_NONE ? ORR_NONE : wanted_count;
        if (column != ORR_NONE) {
            wanted[wanted_count++] = names[column];
        }
    }
    const struct orr_records_sink sink = {&read, on_qos, on_bad_qos};
    status = orr_records_read(records, wanted, wanted_count, &sink, err);
    orr_records_close(records);
    return status;
}

/* --- files ----------------------------------------------------------------------------------- */

enum content { CONTENT_OTHER, CONTENT_RECORDS, CONTENT_CONF, CONTENT_ACCOUNTS, CONTENT_QOS };

static enum content content_of(const char *path, const char *text, size_t bytes)
{
    while (bytes > 0 && strchr(" \t\r\n", *text) != NULL && *text != '\0') {
        text++;
        bytes--;
    }
    const struct orr_cell head = {text, bytes};
    if (slurm_is_conf(head)) {
        return CONTENT_CONF;
    }
    if (slurm_starts(head, "NodeName=") || slurm_starts(head, "PartitionName=")) {
        return CONTENT_RECORDS;
    }
    struct orr_records *records;
    struct orr_err err = {0};
    const struct orr_records_options options = {.plain = true, .delimiter = "|"};
    if (orr_records_open_memory(path, text, bytes, &options, &records, &err) != ORR_OK) {
        return CONTENT_OTHER;
    }
    uint32_t count;
    const char *const *names = orr_records_names(records, &count);
    const bool accounts = is_assoc_header(records) || (count == 8 && strcmp(names[1], "root") == 0);
    const bool qos = !accounts && is_qos_header(records);
    orr_records_close(records);
    return accounts ? CONTENT_ACCOUNTS : qos ? CONTENT_QOS : CONTENT_OTHER;
}

static enum orr_status read_text(const char *path, char **text, size_t *bytes, struct orr_err *err)
{
    *text = NULL;
    const enum orr_status status = orr_source_read_all(path, FILE_BYTES_MAX, text, bytes, err);
    if (status == ORR_OK && *bytes >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *bytes -= 3;
        memmove(*text, *text + 3, *bytes + 1); /* its final NUL too */
    }
    return status;
}

bool orr_intake_is_cluster(const char *path)
{
    char *text;
    size_t bytes;
    struct orr_err err = {0};
    if (read_text(path, &text, &bytes, &err) != ORR_OK) {
        return false;
    }
    const bool is = content_of(path, text, bytes) != CONTENT_OTHER;
    orr_free(text);
    return is;
}

struct included {
    struct cluster *cluster;
    struct orr_arena arena;
    struct orr_err *err;
};

/* A file that a slurm.conf includes, from the folder of what names it. */
static enum orr_status open_included(const struct orr_slurm_file *from, uint32_t line,
                                     uint32_t column, const char *name, struct orr_slurm_file *out,
                                     void *context)
{
    struct included *all = context;
    struct orr_err err = {0};
    const char *slash = name[0] == '/' ? NULL : strrchr(from->name, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - from->name) : 0;
    char path[4400], *text;
    size_t bytes;
    (void)column;
    (void)snprintf(path, sizeof path, "%.*s%s", folder, from->name, name);
    if (read_text(path, &text, &bytes, &err) != ORR_OK) {
        orr_intake_note(all->cluster->report,
                        "%.300s:%u: %.200s cannot be read: nodes and partitions that it has are "
                        "missing",
                        from->name, (unsigned)line, name);
        return ORR_OK;
    }
    *out = (struct orr_slurm_file){.name = orr_arena_strndup(&all->arena, path, strlen(path)),
                                   .text = orr_arena_strndup(&all->arena, text, bytes),
                                   .bytes = bytes};
    orr_free(text);
    return ORR_OK;
}

static enum orr_status refuse_depth(const struct orr_slurm_file *from, uint32_t line,
                                    uint32_t column, const char *name, struct orr_slurm_file *out,
                                    void *context)
{
    const struct included *all = context;
    (void)out;
    return orr_fail(all->err, ORR_DATA, "%.300s:%u:%u: " ORR_SLURM_TOO_DEEP, from->name,
                    (unsigned)line, (unsigned)column, name, (int)ORR_SLURM_INCLUDE_DEPTH);
}

/* What scontrol prints of nodes is what there is; a slurm.conf beside it adds what is missing. */
static enum orr_status take_conf(struct cluster *cluster, const char *path, struct orr_cell text,
                                 struct orr_err *err)
{
    char *records = NULL;
    size_t bytes;
    struct included all = {.cluster = cluster, .err = err};
    const struct orr_slurm_file file = {.name = path, .text = text.at, .bytes = text.bytes};
    FILE *out = open_memstream(&records, &bytes);
    ORR_ASSERT(out != NULL);
    orr_arena_init(&all.arena);
    const enum orr_status status = orr_slurm_include(&file, &all.arena, open_included, refuse_depth,
                                                     &all, &text.at, &text.bytes);
    if (status == ORR_OK) {
        slurm_conf_records(text, out);
    }
    orr_arena_release(&all.arena);
    (void)fclose(out);
    cluster->skips_nodes = cluster->pools.count > 0;
    cluster->skips_partitions = cluster->partition_count > 0;
    take_records(cluster, records, bytes);
    cluster->skips_nodes = cluster->skips_partitions = false;
    free(records);
    orr_intake_note(cluster->report,
                    "%s is read whole by policy slurm: --policy slurm --param slurm_conf.file=%s",
                    path, path);
    return status;
}

static enum orr_status take_file(struct cluster *cluster, const char *path, struct orr_cell text,
                                 struct orr_err *err)
{
    switch (content_of(path, text.at, text.bytes)) {
    case CONTENT_RECORDS: take_records(cluster, text.at, text.bytes); return ORR_OK;
    case CONTENT_CONF: return take_conf(cluster, path, text, err);
    case CONTENT_ACCOUNTS: return take_accounts(cluster, path, text, err);
    case CONTENT_QOS: return take_qos(cluster, path, text, err);
    case CONTENT_OTHER: break;
    }
    return orr_fail(
        err, ORR_DATA,
        "%s:1: is neither `scontrol show node` or `show partition` nor `sacctmgr -P show "
        "assoc` or `show qos`, nor a slurm.conf with nodes",
        path);
}

/* --- the scenario ---------------------------------------------------------------------------- */

static bool is_queue(const struct queue *queues, uint32_t count, const char *name)
{
    for (uint32_t q = 0; q < count; q++) {
        if (strcmp(queues[q].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_queue(FILE *out, const struct queue *queues, uint32_t count, uint32_t q)
{
    const struct queue *queue = &queues[q];
    (void)fprintf(out, "  ");
    orr_put_quoted(out, queue->name);
    (void)fprintf(out, ": {");
    if (queue->parent[0] != '\0' && is_queue(queues, count, queue->parent)) {
        (void)fprintf(out, "parent: ");
        orr_put_quoted(out, queue->parent);
        (void)fprintf(out, ", ");
    }
    (void)fprintf(out, "gpu: [0, %lld, ", (long long)queue->weight);
    if (queue->limit >= 0) {
        (void)fprintf(out, "%lld]", (long long)queue->limit);
    } else {
        (void)fprintf(out, "unlimited]");
    }
    (void)fprintf(out, "}%s%s\n", queue->comment[0] != '\0' ? "  # " : "", queue->comment);
}

static void put_queues(const struct cluster *cluster, enum queue_kind kind,
                       const struct orr_idmap *seen, FILE *out)
{
    const struct queue *queues = kind == QUEUE_ACCOUNT ? cluster->accounts
                                 : kind == QUEUE_QOS   ? cluster->qos
                                                       : cluster->partitions;
    const uint32_t count = kind == QUEUE_ACCOUNT ? cluster->account_count
                           : kind == QUEUE_QOS   ? cluster->qos_count
                                                 : cluster->partition_count;
    (void)fprintf(out, "# [quota, over-quota weight, limit] in GPUs. Slurm promises nobody a "
                       "share: every quota is "
                       "0 here.\n# Put what was agreed in its place.\nqueues:\n");
    uint32_t put = 0;
    for (uint32_t q = 0; q < count; q++) {
        bool before = false; /* the same account on another cluster */
        for (uint32_t i = 0; i < q; i++) {
            before = before || strcmp(queues[i].name, queues[q].name) == 0;
        }
        if (!before) {
            put_queue(out, queues, count, q);
            put++;
        }
    }
    for (uint32_t q = 0; seen != NULL && q < seen->count; q++) {
        uint32_t odd;
        size_t bytes;
        char *name = clean(orr_idmap_name(seen, q), strlen(orr_idmap_name(seen, q)), &bytes, &odd);
        if (!is_queue(queues, count, name)) {
            (void)fprintf(out, "  ");
            orr_put_quoted(out, name);
            (void)fprintf(out, ": {gpu: [0, 1, unlimited]}  # only the jobs name it\n");
            put++;
        }
        free(name);
    }
    if (put == 0) {
        (void)fprintf(out, "  default: {gpu: [0, 1, unlimited]}\n");
    }
}

static void add_qos_notes(struct cluster *cluster, bool are_queues)
{
    struct orr_intake_report *report = cluster->report;
    if (cluster->qos_count > 0 && !are_queues) {
        orr_intake_note(report,
                        "%u QOS %s not taken: --queue qos makes queues of them, with their GrpTRES "
                        "as limits; policy slurm reads the same file (sacctmgr.file)",
                        (unsigned)cluster->qos_count, ORR_ONE(cluster->qos_count, "is", "are"));
    }
    if (are_queues && cluster->qos_users > 0) {
        orr_intake_note(report, "%u QOS limit%s what a user may hold, which is left out",
                        (unsigned)cluster->qos_users, ORR_ONE(cluster->qos_users, "s", ""));
    }
    if (are_queues && cluster->qos_preempts > 0) {
        orr_intake_note(report, "%u QOS preempt%s others, which is left out",
                        (unsigned)cluster->qos_preempts, ORR_ONE(cluster->qos_preempts, "s", ""));
    }
}

static void add_node_notes(struct cluster *cluster)
{
    struct orr_intake_report *report = cluster->report;
    if (cluster->odd_gres > 0) {
        orr_intake_note(report,
                        "Gres states no number of GPUs (such as %s), and counts as none: "
                        "%u record%s",
                        cluster->gres, (unsigned)cluster->odd_gres, ORR_PLURAL(cluster->odd_gres));
    }
    if (cluster->slices > 0) {
        orr_intake_note(report,
                        "%lld MIG slice%s (such as %s) %s counted as %s: a pool states them as "
                        "mig: {PROFILE: NUMBER}",
                        (long long)cluster->slices, ORR_PLURAL(cluster->slices), cluster->slice,
                        ORR_ONE(cluster->slices, "is", "are"),
                        ORR_ONE(cluster->slices, "a whole GPU", "whole GPUs"));
    }
    if (cluster->counts_cpus) {
        orr_intake_note(report, "CPUs stand for GPUs, of nodes as of jobs (--count cpu)");
    }
    if (cluster->unlisted > 0) {
        orr_intake_note(report, "NodeName is no list of nodes and counts as one node: %u record%s",
                        (unsigned)cluster->unlisted, ORR_PLURAL(cluster->unlisted));
    }
    if (cluster->cpu_nodes > 0 && !cluster->counts_cpus) {
        orr_intake_note(report, "nodes without GPUs, left out: %u", (unsigned)cluster->cpu_nodes);
    }
    if (cluster->down > 0) {
        orr_intake_note(report, "nodes that were down or drained, counted as nodes that work: %u",
                        (unsigned)cluster->down);
    }
}

static void add_notes(struct cluster *cluster, bool by_account)
{
    struct orr_intake_report *report = cluster->report;
    if (cluster->pools.count == 0) {
        orr_intake_note(report, "no node with GPUs is given (`scontrol -o show node`): fill in "
                                "cluster.pools");
    }
    add_node_notes(cluster);
    orr_intake_note(report, "fill in the quotas of the queues: Slurm has none");
    if (cluster->partition_count > 1) {
        orr_intake_note(report,
                        "partitions share nodes in Slurm; here every queue may use all nodes: say "
                        "with shards which do not");
    }
    if (by_account ? cluster->partition_count > 0 : cluster->account_count > 0) {
        orr_intake_note(report, "%s are not queues here (--queue says which are)",
                        by_account ? "partitions" : "accounts");
    }
    if (cluster->users) {
        orr_intake_note(report, "limits and shares of single users are left out");
    }
}

static void put_all(struct cluster *cluster, const struct orr_intake_options *options,
                    const char *trace, const struct orr_idmap *seen, FILE *out)
{
    const char *queue = options->queue != NULL ? options->queue : "";
    const enum queue_kind kind = strcmp(queue, "account") == 0 ? QUEUE_ACCOUNT
                                 : strcmp(queue, "qos") == 0   ? QUEUE_QOS
                                                               : QUEUE_PARTITION;
    (void)fprintf(out, "apiVersion: orrery/v1alpha1\nkind: Scenario\n");
    intake_pools_put(&cluster->pools, out); /* slurm.conf speaks of nodes by their names */
    if (cluster->pools.count == 0) {
        (void)fprintf(out, "    gpu: {nodes: 0, gpus: 0}  # no node was given: fill in\n");
    }
    put_queues(cluster, kind, seen, out);
    if (trace != NULL) {
        (void)fprintf(out, "workload:\n- {name: jobs, trace: ");
        orr_put_quoted(out, trace);
        (void)fprintf(out, "}\n");
    }
    (void)fprintf(
        out, "policy: {name: fifo, params: {backfill: true}}  # `orrery policies` lists all\n");
    add_notes(cluster, kind == QUEUE_ACCOUNT);
    add_qos_notes(cluster, kind == QUEUE_QOS);
}

static void release(struct cluster *cluster)
{
    intake_pools_release(&cluster->pools);
    orr_free(cluster->partitions);
    orr_free(cluster->accounts);
    orr_free(cluster->qos);
}

enum orr_status intake_cluster_text(const char *path, struct orr_cell text,
                                    const struct orr_intake_options *options, FILE *out,
                                    struct orr_intake_report *report, struct orr_err *err)
{
    struct cluster cluster = {.report = report, .counts_cpus = intake_counts_cpus(options)};
    orr_intake_report_init(report, path);
    const enum orr_status status = take_file(&cluster, path, text, err);
    if (status == ORR_OK) {
        put_all(&cluster, options, NULL, NULL, out);
    }
    release(&cluster);
    return status;
}

/* Of a file that is a slurm.conf, or of one that is none; the other kind is left alone. */
static enum orr_status take_path(struct cluster *cluster, const char *path, bool is_conf,
                                 struct orr_err *err)
{
    char *text;
    size_t bytes;
    enum orr_status status = read_text(path, &text, &bytes, err);
    if (status == ORR_OK && (content_of(path, text, bytes) == CONTENT_CONF) == is_conf) {
        uint32_t odd;
        size_t clean_bytes;
        char *cleaned = clean(text, bytes, &clean_bytes, &odd);
        if (odd > 0) {
            orr_intake_note(cluster->report, "%s: %u byte%s no UTF-8 text, and not as written here",
                            path, (unsigned)odd, ORR_ONE(odd, " is", "s are"));
        }
        status = take_file(cluster, path, (struct orr_cell){cleaned, clean_bytes}, err);
        free(cleaned);
    }
    orr_free(text);
    return status;
}

enum orr_status orr_intake_cluster(const char *const *paths, uint32_t count,
                                   const struct orr_intake_options *options, const char *trace,
                                   const struct orr_idmap *queues, FILE *out, int64_t *gpus,
                                   struct orr_intake_report *report, struct orr_err *err)
{
    struct cluster cluster = {.report = report, .counts_cpus = intake_counts_cpus(options)};
    enum orr_status status = ORR_OK;
    orr_intake_report_init(report, count > 0 ? paths[0] : "");
    for (uint32_t f = 0; f < 2 * count && status == ORR_OK; f++) { /* first what scontrol prints */
        status = take_path(&cluster, paths[f % count], f >= count, err);
    }
    *gpus = intake_pools_gpus(&cluster.pools);
    if (status == ORR_OK) {
        put_all(&cluster, options, trace, queues, out);
    }
    release(&cluster);
    return status;
}

enum orr_status orr_intake_nodes(const char *path, FILE *out, struct orr_err *err)
{
    struct orr_intake_report report;
    struct cluster cluster = {.report = &report};
    orr_intake_report_init(&report, path);
    enum orr_status status = take_path(&cluster, path, false, err);
    status = status == ORR_OK ? take_path(&cluster, path, true, err) : status;
    if (status == ORR_OK && cluster.pools.count == 0) {
        status = orr_fail(err, ORR_DATA, "%s: no node with GPUs is in it", path);
    }
    if (status == ORR_OK) {
        intake_pools_put(&cluster.pools, out);
        add_node_notes(&cluster);
    }
    for (uint32_t i = 0; i < report.note_count && status == ORR_OK; i++) {
        (void)fprintf(out, "  # %s\n", report.notes[i]);
    }
    release(&cluster);
    orr_intake_report_release(&report);
    return status;
}
