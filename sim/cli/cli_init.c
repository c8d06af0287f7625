/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_init.c - `orrery init`: a commented scenario from a trace, to be changed by hand.
 *
 * What it writes is measured: queues with their part of the GPU-hours, and without --cluster or
 * --nodes the size of one that the jobs would keep busy. The text is loaded once before it is given
 * away. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/base/mem.h>
#include <orrery/base/text.h>
#include <orrery/sim/intake.h>
#include <orrery/sim/yaml.h>
#include <orrery/traces/native.h>
#include <orrery/traces/source.h>

#include "cli.h"

#define BUSY_SHARE    0.7 /* of the GPUs that the jobs want on average, where nothing was recorded */
#define NODE_GPUS     8
#define NODE_CPUS     64 /* at most, unless a pod asks more */
#define LABEL_COLUMNS 34 /* where the comment of a queue starts, if its name is not longer */

enum { KEY_TRACE = 256, KEY_FORMAT, KEY_CLUSTER, KEY_NODES, KEY_POLICY, KEY_FORCE, KEY_LOSS };

struct init_options {
    struct orr_cli_common common;
    struct orr_scenario_options scenario;
    const char *clusters[ORR_CLI_LIST_MAX];
    const char *output, *nodes;
    char *cluster; /* the text of `cluster:` that --nodes names or that is made up, or NULL */
    uint32_t cluster_line; /* lines before it in that file */
    uint32_t allow_loss_ppm;
    bool force;
    bool loses; /* more rows than a run accepts unasked */
};

struct queue_use {
    const char *name;
    uint32_t jobs, by_kind[ORR_KIND_COUNT];
    uint32_t by_memory; /* of the jobs: they ask GPU memory, which is in no hours */
    double hours;       /* of GPUs; where there are none, of CPUs */
    int64_t largest;    /* of a job, in thousandths of one */
};

/* A cluster made up for a trace. */
struct size {
    char cluster[320]; /* as for --cluster */
    char because[200];
    bool by_gpu; /* nodes of one GPU: jobs are divided into pods of one */
    bool of_cpu; /* nobody asks GPUs: `cluster` is the text of it */
};

/* --- how large a cluster ---------------------------------------------------------------------- */

struct change { /* of the GPUs, or CPUs, that were held */
    orr_ms at_ms;
    int64_t milli;
};

/* Ends before starts at one time. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_ms != y->at_ms) {
        return x->at_ms < y->at_ms ? -1 : 1;
    }
    return (x->milli > y->milli) - (x->milli < y->milli);
}

static int64_t pod_cpu_milli(const struct orr_workload *workload, const struct orr_row *row)
{
    const int64_t cpu = row->extra != 0 ? workload->extras[row->extra - 1].cpu_milli : 0;
    return cpu > 0 ? cpu : 0;
}

/* What the whole job asks, in milli-GPU, parts of GPUs as such, or in milli-CPU. */
static int64_t row_milli(const struct orr_workload *workload, const struct orr_row *row,
                         bool of_cpu)
{
    struct orr_job_fact fact;
    orr_workload_fact(workload, row, &fact);
    return of_cpu ? pod_cpu_milli(workload, row) * (int64_t)fact.pods : fact.mgpu;
}

/* Do jobs ask CPU and none of them a GPU, or a part of one? */
static bool asks_cpu_alone(const struct orr_workload *workload)
{
    bool any = false, alone = true;
    for (uint32_t r = 0; r < workload->count && alone; r++) {
        struct orr_job_fact fact;
        orr_workload_fact(workload, &workload->rows[r], &fact);
        any = any || pod_cpu_milli(workload, &workload->rows[r]) > 0;
        alone = fact.mgpu == 0 && !fact.by_memory;
    }
    return any && alone;
}

/* The most that was held at once, by the recorded times; 0: not all rows have them. */
static int64_t recorded_peak(const struct orr_workload *workload, bool of_cpu)
{
    const struct orr_recorded none = {.start_ms = ORR_MS_NONE};
    uint32_t count = 0, capacity = 2 * workload->count + 2;
    struct change *changes = orr_zalloc(capacity, sizeof *changes);
    bool known = true;
    for (uint32_t r = 0; r < workload->count && known; r++) {
        const struct orr_row *row = &workload->rows[r];
        const struct orr_row_extra *extra =
            row->extra != 0 ? &workload->extras[row->extra - 1] : NULL;
        known = extra != NULL && extra->recorded_start_ms != ORR_MS_NONE &&
                (extra->recorded_end_ms != ORR_MS_NONE || row->run_ms != ORR_MS_NONE);
        struct orr_recorded record = known ? orr_recorded_of(extra) : none;
        orr_ms start_ms, end_ms;
        while (orr_recorded_next(&record, &start_ms, &end_ms)) {
            end_ms = end_ms != ORR_MS_NONE ? end_ms : start_ms + row->run_ms;
            changes = ORR_ROOM_FOR_ONE(changes, count, capacity);
            changes[count++] = (struct change){start_ms, row_milli(workload, row, of_cpu)};
            changes = ORR_ROOM_FOR_ONE(changes, count, capacity);
            changes[count++] = (struct change){end_ms, -row_milli(workload, row, of_cpu)};
        }
    }
    qsort(changes, count, sizeof *changes, compare_changes);
    int64_t held = 0, peak = 0;
    for (uint32_t i = 0; i < count && known; i++) {
        held += changes[i].milli;
        peak = held > peak ? held : peak;
    }
    orr_free(changes);
    return peak;
}

static void write_size(struct size *size, double amount, int64_t node, int64_t pod)
{
    if (!size->of_cpu) {
        const double nodes = ceil(amount / (double)node);
        (void)snprintf(size->cluster, sizeof size->cluster, "%.0fx%lld", nodes < 1e6 ? nodes : 1e6,
                       (long long)node);
        return;
    }
    /* several nodes hold so many of the largest pods without a rest */
    const double several = (double)(node > pod ? node / pod * pod : pod);
    const double cpus = amount > (double)node ? several : fmax(ceil(amount), (double)pod);
    const double nodes = ceil(amount / cpus);
    (void)snprintf(size->cluster, sizeof size->cluster,
                   "cluster:\n  # %s; memory is not bounded\n  pools:\n    cpu: {nodes: %.0f, "
                   "gpus: 0, cpu: %.0f}\n",
                   size->because, nodes < 1e6 ? nodes : 1e6, cpus);
}

static void choose_size(const struct orr_workload *workload, bool by_gpu, struct size *size)
{
    const bool of_cpu = !by_gpu && asks_cpu_alone(workload);
    int64_t largest = ORR_MGPU, pod = 1;
    double milli_ms = 0.0;
    for (uint32_t r = 0; r < workload->count; r++) {
        const struct orr_row *row = &workload->rows[r];
        const int64_t milli = row_milli(workload, row, of_cpu);
        const int64_t of_pod = of_cpu ? (pod_cpu_milli(workload, row) + 999) / 1000
                               : row->gpus_per_pod == ORR_NONE || row->gpus > 0 ? 1
                                                                                : row->gpus_per_pod;
        milli_ms += row->run_ms == ORR_MS_NONE ? 0.0 : (double)milli * (double)row->run_ms;
        largest = milli > largest ? milli : largest;
        pod = of_pod > pod ? of_pod : pod;
    }
    const orr_ms span_ms = workload->count > 0 ? workload->rows[workload->count - 1].submit_ms -
                                                     workload->rows[0].submit_ms
                                               : 0;
    const int64_t peak = recorded_peak(workload, of_cpu);
    const double mean = span_ms > 0 ? milli_ms / (double)span_ms / 1000.0 : 0.0;
    const double most = (double)largest / 1000.0;
    double amount = most;
    if (workload->stated_gpus > 0) {
        (void)snprintf(size->because, sizeof size->because,
                       "as many as the head of the log says (MaxProcs, else MaxNodes)");
        amount = (double)workload->stated_gpus;
    } else if (peak > 0) {
        (void)snprintf(size->because, sizeof size->because,
                       "as many as were held at once at most, by the recorded times");
        amount = (double)peak / 1000.0;
    } else if (mean / BUSY_SHARE > amount) {
        (void)snprintf(size->because, sizeof size->because,
                       "made up: %.0f %% of it is what the jobs want on average (%.0f %s)",
                       100.0 * BUSY_SHARE, mean, of_cpu ? "CPUs" : "GPUs");
        amount = mean / BUSY_SHARE;
    } else {
        (void)snprintf(size->because, sizeof size->because, "made up: as large as the largest job");
    }
    size->by_gpu = by_gpu;
    size->of_cpu = of_cpu;
    write_size(size, fmax(amount, most),
               by_gpu            ? 1
               : of_cpu          ? NODE_CPUS
               : pod > NODE_GPUS ? pod
                                 : NODE_GPUS,
               pod);
}

/* Logs of processors know neither nodes nor GPUs of a pod. */
static bool is_by_processor(const struct init_options *o)
{
    const char *format = o->scenario.format;
    return format != NULL ? strcmp(format, "swf") == 0 : strstr(o->scenario.trace, ".swf") != NULL;
}

/* The trace has no name that a scenario could give it. */
static bool is_piped(const struct init_options *o)
{
    return strncmp(o->scenario.trace, "/dev/", 5) == 0;
}

static enum orr_status find_size(struct init_options *o, struct size *size, struct orr_err *err)
{
    struct orr_workload workload;
    const struct orr_trace_options options = {.format = o->scenario.format,
                                              .allow_loss_ppm = o->allow_loss_ppm};
    enum orr_status status = orr_trace_read(o->scenario.trace, &options, &workload, err);
    if (status == ORR_OK) {
        choose_size(&workload, is_by_processor(o), size);
        orr_workload_release(&workload);
        o->cluster = size->of_cpu ? orr_strdup(size->cluster) : NULL;
        o->clusters[0] = size->cluster;
        o->scenario.cluster_count = size->of_cpu ? 0 : 1;
        o->scenario.split = size->by_gpu ? "1" : NULL;
    }
    return status;
}

/* --- nodes that a file states --- */

/* From the line that begins with `cluster:` to the next that begins with another key, without the
 * comments before that; *line: how many lines are before it. */
static char *cut_cluster(const char *text, uint32_t *line)
{
    static const char key[] = "cluster:";
    const char *from = text;
    *line = 0;
    while (from != NULL && strncmp(from, key, sizeof key - 1) != 0) {
        from = strchr(from, '\n');
        from = from != NULL ? from + 1 : NULL;
        *line += 1;
    }
    if (from == NULL) {
        return NULL;
    }
    const char *at = from, *end = from;
    do {
        const bool is_part = strchr("\r\n#", *at) == NULL;
        at += strcspn(at, "\n");
        at += *at == '\n';
        end = is_part ? at : end;
    } while (*at != '\0' && strchr(" \t\r\n#", *at) != NULL);
    char *cut = orr_alloc((size_t)(end - from) + 2, 1);
    memcpy(cut, from, (size_t)(end - from));
    (void)strcpy(cut + (end - from), end > from && end[-1] != '\n' ? "\n" : "");
    return cut;
}

static enum orr_status read_nodes(struct init_options *o, struct orr_err *err)
{
    enum { BYTES_MAX = 16 << 20 };
    char *text = NULL;
    size_t bytes;
    enum orr_status status;
    if (orr_intake_is_cluster(o->nodes)) {
        FILE *out = open_memstream(&text, &bytes);
        ORR_ASSERT(out != NULL);
        status = orr_intake_nodes(o->nodes, out, err);
        (void)fclose(out);
        o->cluster = text != NULL ? orr_strdup(text) : NULL;
        free(text);
        return status;
    }
    status = orr_source_read_all(o->nodes, BYTES_MAX, &text, &bytes, err);
    o->cluster = status == ORR_OK ? cut_cluster(text, &o->cluster_line) : NULL;
    orr_free(text);
    if (status == ORR_OK && o->cluster == NULL) {
        status =
            orr_fail(err, ORR_DATA,
                     "%s: neither nodes as `scontrol -o show node` prints them, nor a "
                     "slurm.conf, nor a scenario with `cluster:`; `orrery import` makes one of "
                     "kubectl's objects and of tables of nodes",
                     o->nodes);
    }
    return status;
}

/* --- what the queues do ----------------------------------------------------------------------- */

static int compare_uses(const void *a, const void *b)
{
    const struct queue_use *x = a, *y = b;
    if (x->hours != y->hours) {
        return x->hours > y->hours ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

/* Queues and jobs are weighed by what the cluster has: GPUs, else CPUs. */
static const char *unit_of(const struct orr_world *world)
{
    return world->cluster.total_gpus > 0 ? "GPU" : "CPU";
}

/* One entry a queue that has jobs, by hours of GPUs or CPUs; caller frees it. Their sum in *all. */
static struct queue_use *measure(const struct orr_world *world, uint32_t *count, double *all)
{
    struct queue_use *uses = orr_zalloc(world->queues.count + (size_t)1, sizeof *uses);
    *all = 0.0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
        struct queue_use *use = &uses[spec->queue];
        const int64_t milli = world->cluster.total_gpus > 0 ? shape->gpus_mgpu : shape->cpu_milli;
        const double hours = (double)orr_world_asked_pod_ms(world, j) / shape->tasks *
                             (double)milli / (3.6e6 * 1000.0);
        use->jobs++;
        use->by_kind[spec->kind]++;
        use->by_memory += orr_shape_asks_memory(shape);
        use->hours += hours;
        use->largest = milli > use->largest ? milli : use->largest;
        *all += hours;
    }
    *count = 0;
    for (uint32_t q = 0; q < world->queues.count; q++) {
        if (uses[q].jobs > 0) {
            uses[q].name = orr_idmap_name(&world->queues.names, q);
            uses[(*count)++] = uses[q];
        }
    }
    qsort(uses, *count, sizeof *uses, compare_uses);
    return uses;
}

/* --- the text --------------------------------------------------------------------------------- */

static void write_cluster(FILE *out, const struct init_options *o,
                          const struct orr_scenario *scenario, const struct size *size)
{
    if (o->cluster != NULL) {
        (void)fputs(o->cluster, out);
        return;
    }
    (void)fprintf(out, "cluster:\n");
    if (size->because[0] != '\0') {
        (void)fprintf(out, "  # %s\n", size->because);
    }
    (void)fprintf(out, "  pools:\n");
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        (void)fprintf(out, "    ");
        orr_put_quoted(out, pool->name);
        (void)fprintf(out, ": {nodes: %u, gpus: %u", pool->nodes, pool->gpus);
        if (pool->gpu_model != NULL) {
            (void)fprintf(out, ", gpu_model: ");
            orr_put_quoted(out, pool->gpu_model);
        }
        (void)fprintf(out, "}\n");
    }
}

static void write_queue(FILE *out, const struct queue_use *use, double share, int64_t quota,
                        const char *unit)
{
    static const enum orr_kind named[] = {ORR_KIND_INTERACTIVE, ORR_KIND_INFERENCE};
    char *label;
    size_t bytes;
    FILE *text = open_memstream(&label, &bytes);
    ORR_ASSERT(text != NULL);
    orr_put_quoted(text, use->name);
    (void)fprintf(text, ": {gpu: [%lld, 1, unlimited]}", (long long)quota);
    (void)fclose(text);
    (void)fprintf(out, "  %-*s  # %.1f %% of %s-hours, %u %s, the largest %g %s%s", LABEL_COLUMNS,
                  label, 100.0 * share, unit, use->jobs, ORR_ONE(use->jobs, "job", "jobs"),
                  (double)use->largest / 1000.0, unit, use->largest == 1000 ? "" : "s");
    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++) {
        if (use->by_kind[named[k]] > 0) {
            (void)fprintf(out, ", %u %s", use->by_kind[named[k]], orr_kind_name(named[k]));
        }
    }
    if (use->by_memory > 0) {
        (void)fprintf(out, "; %u ask%s GPU memory, which is not counted", use->by_memory,
                      ORR_ONE(use->by_memory, "s", ""));
    }
    (void)putc('\n', out);
    free(label);
}

/* Quotas are whole GPUs and never more than there are. */
static void write_queues(FILE *out, const struct orr_world *world)
{
    uint32_t count;
    double all;
    struct queue_use *uses = measure(world, &count, &all);
    (void)fprintf(
        out,
        world->cluster.total_gpus > 0
            ? "# [quota, over-quota weight, limit] in GPUs. The quotas are measured, not agreed: "
              "each queue's part of the\n# GPU-hours, of this cluster. Put what was promised in "
              "their place; fifo and easy do not look at them.\nqueues:\n"
            : "# [quota, over-quota weight, limit] in GPUs, of which there are none; `cpu: [quota, "
              "weight, limit]` in cores\n# promises CPUs; fifo and easy do not look at "
              "either.\nqueues:\n");
    for (uint32_t q = 0; q < count; q++) {
        const double share = all > 0.0 ? uses[q].hours / all : 0.0;
        write_queue(out, &uses[q], share, (int64_t)floor(share * (double)world->cluster.total_gpus),
                    unit_of(world));
    }
    orr_free(uses);
}

/* Both are found from the folder that the scenario is in. */
static enum orr_status write_workload(FILE *out, const struct init_options *o,
                                      const struct size *size, struct orr_err *err)
{
    const char *trace = is_piped(o) ? "/dev/stdin" : o->scenario.trace;
    char *whole = NULL;
    if (o->output != NULL && strchr(o->output, '/') != NULL && trace[0] != '/') {
        whole = realpath(trace, NULL);
        if (whole == NULL) {
            return orr_fail(err, ORR_NO_INPUT, "%s: %s", trace, strerror(errno));
        }
        trace = whole;
    }
    (void)fprintf(out, "workload:\n%s- {name: jobs, trace: ",
                  is_piped(o) ? "# The trace came through a pipe: give it to runs so, or name its "
                                "file here.\n"
                              : "");
    orr_put_quoted(out, trace);
    if (o->scenario.format != NULL) {
        (void)fprintf(out, ", format: %s", o->scenario.format);
    }
    (void)fprintf(out, "%s}\n", size->by_gpu ? ", split: 1" : "");
    free(whole);
    return ORR_OK;
}

/* Are more rows left out than a run accepts unasked? */
static bool loses_much(const struct orr_world *world)
{
    const struct orr_workload *workload = &world->parts[0].workload;
    return workload->rejects.count * 100 > workload->rows_read;
}

/* GPUs, else CPUs; INFINITY: a node has no limit of them. */
static double cluster_has(const struct orr_world *world)
{
    const struct orr_cluster *cluster = &world->cluster;
    double milli = 0.0;
    for (uint32_t t = 0; t < cluster->type_count && cluster->total_gpus == 0; t++) {
        const int64_t cpu = cluster->types[t].allocatable.v[ORR_RES_CPU];
        milli += cpu >= ORR_AMOUNT_UNLIMITED ? (double)INFINITY
                                             : (double)cpu * (double)cluster->types[t].nodes;
    }
    return cluster->total_gpus > 0 ? (double)cluster->total_gpus : milli / 1000.0;
}

static void write_head(FILE *out, const struct init_options *o, const struct orr_world *world)
{
    uint32_t queues;
    double hours;
    const char *unit = unit_of(world);
    char origin[32], first[64], span[24];
    orr_free(measure(world, &queues, &hours));
    const double span_h = (double)(world->last_submit_ms - world->first_submit_ms) / 3.6e6;
    const double wanted = span_h > 0.0 ? hours / span_h : (double)NAN;
    const orr_ms origin_ms = world->parts[0].workload.clock_origin_ms;
    first[0] = '\0';
    if (origin_ms != ORR_MS_NONE) {
        (void)orr_format_timestamp(origin, origin_ms);
        (void)snprintf(first, sizeof first, " from %s on", origin);
    }
    (void)fprintf(out,
                  "apiVersion: orrery/v1alpha1\nkind: Scenario\n# %s: %u %s of %u %s, submitted in "
                  "%s%s.\n# They ask %.*f %s-hours",
                  o->scenario.trace, world->job_count, ORR_ONE(world->job_count, "job", "jobs"),
                  queues, ORR_ONE(queues, "queue", "queues"), orr_format_rough(span, span_h * 3600),
                  first, hours < 1 ? 3 : 0, hours, unit);
    if (isnan(wanted)) {
        (void)fprintf(out, ".\n");
    } else {
        (void)fprintf(out, ": %.1f %ss on average", wanted, unit);
        const double there = cluster_has(world);
        if (!isinf(there)) {
            (void)fprintf(out, ", %.1f %% of this cluster", 100.0 * wanted / there);
        }
        (void)fprintf(out, ".\n");
    }
    const uint64_t left_out = world->parts[0].workload.rejects.count;
    if (left_out > 0) {
        (void)fprintf(out, "# %llu more %s left out as wrong, or as never able to start here%s.\n",
                      (unsigned long long)left_out, ORR_ONE(left_out, "row is", "rows are"),
                      loses_much(world) ? ": more than 1 %, so that runs need --allow-loss" : "");
    }
}

static void write_rest(FILE *out, const struct orr_scenario *scenario)
{
    const struct orr_scenario_pool *pool = &scenario->pools[0];
    const uint32_t more = (pool->nodes + 9) / 10;
    (void)fprintf(out, "policy: {name: %s%s", scenario->policy,
                  strcmp(scenario->policy, "fifo") == 0 ? ", params: {backfill: true}" : "");
    (void)fprintf(out, "}  # `orrery policies` lists all and their parameters\nvariants:\n"
                       "  more-nodes: {");
    char path[300];
    (void)snprintf(path, sizeof path, "cluster.pools.%s.nodes", pool->name);
    orr_put_quoted(out, path);
    (void)fprintf(out, ": +=%u}  # `orrery whatif` holds variants against the scenario\n", more);
}

static enum orr_status write_scenario(FILE *out, const struct init_options *o,
                                      const struct size *size, const struct orr_scenario *scenario,
                                      const struct orr_world *world, struct orr_err *err)
{
    write_head(out, o, world);
    write_cluster(out, o, scenario, size);
    write_queues(out, world);
    enum orr_status status = write_workload(out, o, size, err);
    write_rest(out, scenario);
    return status;
}

/* --- the verb --------------------------------------------------------------------------------- */

/* The jobs on the nodes of a file, as a scenario; caller frees the text. */
static char *given_scenario(const struct init_options *o, struct orr_scenario_options *given)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    ORR_ASSERT(out != NULL);
    for (uint32_t i = 0; i < o->cluster_line; i++) { /* errors name lines of that file */
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "%sworkload: [{name: jobs, trace: ", o->cluster);
    orr_put_quoted(out, o->scenario.trace);
    if (o->scenario.format != NULL) {
        (void)fprintf(out, ", format: %s", o->scenario.format);
    }
    (void)fprintf(out, "%s}]\n", o->scenario.split != NULL ? ", split: 1" : "");
    (void)fclose(out);
    *given = (struct orr_scenario_options){.path = o->nodes != NULL ? o->nodes : "made-up nodes",
                                           .text = text,
                                           .text_bytes = bytes,
                                           .folder = "",
                                           .policy = o->scenario.policy};
    return text;
}

/* The text, or NULL; caller frees it. */
static char *compose(struct init_options *o, const struct size *size, struct orr_err *err)
{
    struct orr_scenario_options given = o->scenario;
    char *jobs_there = o->cluster != NULL ? given_scenario(o, &given) : NULL;
    struct orr_scenario scenario = {0};
    struct orr_world world = {0};
    struct orr_engine_shard *shards = NULL;
    char *text = NULL;
    size_t bytes = 0;
    enum orr_status status = orr_scenario_load(&given, &scenario, err);
    if (status == ORR_OK) { /* is there such a policy? */
        status = orr_point_policies(&scenario, orr_cli_warn, NULL, &shards, err);
    }
    if (status == ORR_OK) {
        /* what this cluster cannot take is reported, however much it is */
        struct orr_world_options all = {.allow_loss_ppm = ORR_LOSS_ALL, .warn = orr_cli_warn};
        orr_point_judge_by(&all, shards);
        status = orr_world_build(&scenario, &all, &world, err);
    }
    if (status == ORR_OK) {
        FILE *out = open_memstream(&text, &bytes);
        ORR_ASSERT(out != NULL);
        status = write_scenario(out, o, size, &scenario, &world, err);
        o->loses = loses_much(&world);
        (void)fclose(out);
    }
    orr_world_release(&world);
    orr_point_policies_release(shards, scenario.shard_count);
    orr_scenario_release(&scenario);
    free(jobs_there);
    if (status != ORR_OK) {
        free(text);
        return NULL;
    }
    return text;
}

/* A scenario that does not load again is not given away. */
static enum orr_status check_text(const struct init_options *o, const char *text,
                                  struct orr_err *err)
{
    struct orr_scenario scenario = {0};
    const struct orr_scenario_options options = {
        .path = o->output != NULL ? o->output : "standard output",
        .text = text,
        .text_bytes = strlen(text),
    };
    enum orr_status status = orr_scenario_load(&options, &scenario, err);
    orr_scenario_release(&scenario);
    return status;
}

static const char *if_taken(const struct init_options *o)
{
    return o->force ? NULL : "--force overwrites it, -o names another";
}

static enum orr_status give(const struct init_options *o, const char *text, struct orr_err *err)
{
    if (o->output == NULL) {
        orr_cli_data();
        (void)fputs(text, stdout);
        return ORR_OK;
    }
    struct orr_cli_file file;
    enum orr_status status = orr_cli_file_open(&file, o->output, if_taken(o), err);
    if (status == ORR_OK) {
        (void)fputs(text, file.out);
    }
    status = orr_cli_file_close(&file, status, err);
    if (status != ORR_OK) {
        return status;
    }
    if (!o->common.quiet) {
        const char *loss = o->loses ? " --allow-loss" : "", *pipe = is_piped(o) ? " <TRACE" : "";
        (void)fprintf(stderr,
                      "%s is written; `orrery check %s%s%s` says what cannot work, `orrery run "
                      "%s%s%s` runs it\n",
                      o->output, o->output, loss, pipe, o->output, loss, pipe);
    }
    return ORR_OK;
}

static void print_json(const struct init_options *o, const char *text)
{
    struct orr_json json = {.out = stdout};
    orr_json_open(&json, NULL, '{');
    orr_json_text(&json, "file", o->output);
    orr_json_text(&json, "scenario", text);
    orr_json_close(&json, '}');
}

static error_t parse_init(int key, char *arg, struct argp_state *state)
{
    struct init_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'o': o->output = strcmp(arg, "-") == 0 ? NULL : arg; return 0;
    case KEY_TRACE: o->scenario.trace = orr_cli_dash(arg); return 0;
    case KEY_FORMAT: o->scenario.format = arg; return 0;
    case KEY_CLUSTER: orr_cli_append(state, o->clusters, &o->scenario.cluster_count, arg); return 0;
    case KEY_NODES: o->nodes = orr_cli_dash(arg); return 0;
    case KEY_POLICY: o->scenario.policy = arg; return 0;
    case KEY_FORCE: o->force = true; return 0;
    case KEY_LOSS: o->allow_loss_ppm = orr_cli_loss(state, arg); return 0;
    case ARGP_KEY_END:
        if (o->scenario.trace == NULL) {
            argp_error(state, "--trace FILE is needed: the jobs (`orrery columns` lists what a "
                              "file may say)");
        }
        if (o->nodes != NULL && o->scenario.cluster_count > 0) {
            argp_error(state, "--nodes and --cluster both say which nodes there are");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int orr_cli_init(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"trace", KEY_TRACE, "FILE", 0, "jobs that are to be replayed", 0},
        {"format", KEY_FORMAT, "NAME", 0, "format of the trace, when suffix and header do not tell",
         0},
        {"cluster", KEY_CLUSTER, "NxG[:MODEL]", 0,
         "N nodes of G GPUs; may be given several times (default: a size from the trace)", 0},
        {"nodes", KEY_NODES, "FILE", 0,
         "the nodes instead: what `scontrol -o show node` prints, a slurm.conf, or a scenario, "
         "whose `cluster:` is taken (`orrery import` writes one of kubectl's objects and of tables "
         "of nodes)",
         0},
        {"policy", KEY_POLICY, "NAME", 0, "scheduling policy (default fifo, backfilling)", 0},
        {"output", 'o', "FILE", 0, "the scenario (default: standard output)", 0},
        {"force", KEY_FORCE, 0, 0, "overwrite an existing file", 0},
        {"allow-loss", KEY_LOSS, "SHARE", OPTION_ARG_OPTIONAL, ORR_CLI_LOSS_HELP, 0},
        {0}};
    const struct argp parser = {
        options,
        parse_init,
        "--trace FILE",
        "Write a commented scenario from a trace: its queues with their measured shares, a "
        "cluster, the policy, a variant to start from. Jobs that can never start there are shown.",
        orr_cli_everywhere,
        NULL,
        NULL};
    struct init_options o = {0};
    struct size size = {0};
    struct orr_err err = {0};
    (void)argp_parse(&parser, argc, argv, 0, NULL, &o);
    o.scenario.trace = orr_cli_input(o.scenario.trace);
    o.nodes = orr_cli_input(o.nodes);
    o.scenario.clusters = o.clusters;
    enum orr_status status = orr_cli_new_output(o.output, if_taken(&o), &err);
    if (status == ORR_OK && o.nodes != NULL) {
        status = read_nodes(&o, &err);
    }
    if (status == ORR_OK && o.nodes == NULL && o.scenario.cluster_count == 0) {
        status = find_size(&o, &size, &err);
    } else if (status == ORR_OK && is_by_processor(&o)) {
        size.by_gpu = true;
        o.scenario.split = "1";
    }
    char *text = status == ORR_OK ? compose(&o, &size, &err) : NULL;
    if (text != NULL && check_text(&o, text, &err) == ORR_OK && give(&o, text, &err) == ORR_OK &&
        o.common.json && o.output != NULL) {
        print_json(&o, text);
    }
    free(text);
    orr_free(o.cluster);
    return err.status == ORR_OK ? 0 : orr_cli_fail(&err);
}
