/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/text.h>
#include <orrery/sim/world.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/base/rng.h>
#include <orrery/base/sort.h>
#include <orrery/traces/shelf.h>

#include "replay_int.h"

#define DAY_MS       86400000
#define REACH_MAX_MS ((orr_ms)36500 * DAY_MS)

/* Says once of each column that rows state and a run does not heed yet: nothing is dropped
 * silently. */
static void note_unheeded(struct orr_world_part *p, bool busy_heeded)
{
    bool busy = false;
    for (uint32_t i = 0; i < p->workload.extra_count; i++) {
        busy = busy || p->workload.extras[i].busy_ppm >= 0;
    }
    if (busy && !busy_heeded) {
        orr_workload_note(&p->workload, p->part->label,
                          "busy: stated by rows, heeded only with execution.sharing time_sliced or "
                          "where idling has an end");
    }
}

/* Rows of a trace, of a generator, or the one of a service. */
static enum orr_status read_part(const struct orr_scenario *scenario,
                                 const struct orr_trace_options *options,
                                 struct orr_trace_shelf *shelf, struct orr_world_part *p,
                                 struct orr_err *err)
{
    if (p->part->service.given) {
        p->service = orr_zalloc(1, sizeof *p->service);
        enum orr_status status =
            orr_replay__service(scenario, p->part, &p->workload, p->service, err);
        if (status != ORR_OK) {
            orr_replay__drop_service(p->service);
        }
        return status;
    }
    if (p->part->generate.given) {
        return orr_world_generate(scenario, p->part, &p->workload, err);
    }
    enum orr_status status =
        orr_trace_shelf_take(shelf, p->part->trace, options, &p->workload, err);
    if (status == ORR_OK) {
        status = orr_replay__select(scenario, p->part, &p->workload, err);
        if (status != ORR_OK) {
            orr_workload_release(&p->workload);
        }
    }
    return status;
}

/* How busy a session is matters where idling has an end. */
static bool heeds_busy(const struct orr_scenario *scenario)
{
    bool heeds = false;
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        heeds = heeds || scenario->queues[q].stop_idle_ms != ORR_MS_NONE;
    }
    for (uint32_t t = 0; t < scenario->template_count; t++) {
        heeds = heeds || scenario->templates[t].cull_idle_ms != ORR_MS_NONE;
    }
    return heeds;
}

/* A century from the first submit to that of the last copy: with more, the file says something in
 * other units than its reader thinks. GPU time is looked at job by job (replay_job.c). */
static enum orr_status check_reach(const struct orr_world_part *p, struct orr_err *err)
{
    const uint32_t copies = p->part->copies == 0 ? 1 : p->part->copies;
    const double reach = (double)p->copy_span_ms * copies;
    if (reach <= (double)REACH_MAX_MS) {
        return ORR_OK;
    }
    const bool moved = copies > 1 || p->part->trace == NULL || p->part->scale.arrivals < 1.0;
    return orr_fail(err, moved ? ORR_SCENARIO : ORR_DATA,
                    "%s: the last job would be submitted %.3g days after the first, at most 36500 "
                    "are possible: look at %s",
                    p->part->label, reach / (double)DAY_MS,
                    moved ? "scale.arrivals and copies" : "the unit of the times");
}

static struct orr_trace_options options_of(const struct orr_scenario_part *part,
                                           const struct orr_world_options *world)
{
    return (struct orr_trace_options){.format = part->format,
                                      .allow_loss_ppm = world->allow_loss_ppm,
                                      .interrupted = world->interrupted,
                                      .kill_at_limit = part->kill_at_limit,
                                      .template_name = part->template};
}

void orr_world_shelve(const struct orr_scenario *scenario, const struct orr_world_options *world)
{
    for (uint32_t i = 0; i < scenario->part_count; i++) {
        const struct orr_scenario_part *part = &scenario->parts[i];
        if (part->trace != NULL && !part->service.given && !part->generate.given) {
            const struct orr_trace_options options = options_of(part, world);
            orr_trace_shelf_put(world->shelf, part->trace, &options);
        }
    }
}

/* Jobs that are all there as the run begins come no sooner. */
static void note_scale(struct orr_world_part *p, orr_ms last_submit_ms)
{
    const double scale = p->part->scale.arrivals;
    p->scales = p->part->trace == NULL || last_submit_ms > p->scale_from_ms;
    if (!p->scales && (scale < 1.0 || scale > 1.0)) {
        orr_workload_note(&p->workload, p->part->label,
                          "scale.arrivals: changes nothing, as no job comes after the first ones "
                          "or the begin of the run; scale.jobs says how many there are");
    }
}

static void say_missing(const struct orr_scenario_part *part, struct orr_err *err)
{
    const struct orr_err why = *err;
    *err = (struct orr_err){0};
    (void)orr_fail(err, why.status,
                   "%s: %s (a path is taken from the folder of the scenario: copy the file along, "
                   "or name another by --set workload.%s.trace=FILE)",
                   part->origin, why.text, part->name);
}

/* When the rows of a part come, and how far apart its copies are. */
static enum orr_status measure_part(const struct orr_scenario *scenario, struct orr_world_part *p,
                                    struct orr_err *err)
{
    if (p->workload.count == 0) {
        return ORR_OK;
    }
    const orr_ms last = p->workload.rows[p->workload.count - 1].submit_ms;
    p->first_submit_ms = p->workload.rows[0].submit_ms;
    p->scale_from_ms = scenario->begin_ms != ORR_MS_NONE && scenario->begin_ms > p->first_submit_ms
                           ? scenario->begin_ms
                           : p->first_submit_ms;
    note_scale(p, last);
    p->copy_lead_ms = DAY_MS / 2 + scenario->shake_submit_ms;
    p->copy_span_ms = orr_replay__scaled_submit(p, last) - p->first_submit_ms + 2 * p->copy_lead_ms;
    return check_reach(p, err);
}

static enum orr_status read_parts(const struct orr_scenario *scenario,
                                  const struct orr_world_options *given, struct orr_world *world,
                                  struct orr_err *err)
{
    uint32_t sources = 0;
    world->parts = orr_zalloc(scenario->part_count, sizeof *world->parts);
    for (uint32_t i = 0; i < scenario->part_count; i++) {
        struct orr_world_part *p = &world->parts[i];
        p->part = &scenario->parts[i];
        const struct orr_trace_options options = options_of(p->part, given);
        enum orr_status status = read_part(scenario, &options, given->shelf, p, err);
        if (status != ORR_OK) {
            if (status == ORR_NO_INPUT && scenario->path != NULL) {
                say_missing(p->part, err);
            }
            return status;
        }
        world->part_count++;
        p->first_source = sources;
        sources += p->workload.count;
    }
    orr_replay__one_clock(scenario, world);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < world->part_count && status == ORR_OK; i++) {
        status = measure_part(scenario, &world->parts[i], err);
    }
    return status;
}

static void make_jobs(const struct orr_scenario *scenario, struct orr_world *world)
{
    size_t most = 0;
    for (uint32_t i = 0; i < world->part_count; i++) {
        uint32_t copies = world->parts[i].part->copies;
        most += (size_t)world->parts[i].workload.count * (copies == 0 ? 1 : copies);
    }
    ORR_ASSERT(most < ORR_NONE);
    struct orr_replay_nodes nodes;
    orr_replay__nodes_init(&nodes, scenario, &world->cluster);
    world->specs = orr_alloc(most, sizeof *world->specs);
    for (uint32_t i = 0; i < world->part_count; i++) {
        struct orr_world_part *p = &world->parts[i];
        uint32_t first = world->job_count;
        orr_replay__nodes_part(&nodes, &p->workload);
        for (uint32_t r = 0; r < p->workload.count; r++) {
            if (orr_replay__job(world, &nodes, i, r, &world->specs[world->job_count])) {
                world->job_count++;
            }
        }
        uint32_t rows = world->job_count - first;
        for (uint32_t c = 1; c < p->part->copies; c++) {
            for (uint32_t r = 0; r < rows; r++) {
                struct orr_job_spec spec = world->specs[first + r];
                spec.submit_ms += (orr_ms)c * p->copy_span_ms;
                world->specs[world->job_count++] = spec;
            }
        }
    }
    orr_replay__flavors(&nodes);
    orr_replay__nodes_release(&nodes);
}

/* Copies are whole spans apart, and rows, shaken or not, are within one. */
orr_ms orr_replay__copy(const struct orr_world_part *p, const struct orr_job_spec *spec)
{
    return p->part->copies > 1
               ? (spec->submit_ms - p->first_submit_ms + p->copy_lead_ms) / p->copy_span_ms
               : 0;
}

/* " on the 4 nodes with ...", " within one rack": what narrows the choice of nodes. */
static void say_where(const struct orr_world *world, const struct orr_shape *shape, char *text,
                      size_t bytes)
{
    const struct orr_cluster *cluster = &world->cluster;
    const struct orr_request *request = &shape->groups[0].request;
    const uint32_t filters[] = {request->selector, request->toleration, request->allowed};
    static const char *const verbs[] = {"with", "whose taints are tolerated by",
                                        "of the types allowed to queue"};
    int used = 0;
    text[0] = '\0';
    if (cluster->shards.count > 1) {
        const char *name = orr_idmap_name(&cluster->shards, request->shard);
        used = name[0] != '\0' ? snprintf(text, bytes, " in shard \"%.80s\"", name)
                               : snprintf(text, bytes, " outside of the named shards");
    }
    for (int i = 0; i < 3; i++) {
        if (filters[i] > 0 && used >= 0 && (size_t)used < bytes) {
            const struct orr_node_filter *filter = &cluster->filters[filters[i] - 1];
            used +=
                filter->text[0] == '\0' /* it tolerates nothing */
                    ? snprintf(text + used, bytes - (size_t)used,
                               " on the %u node%s without "
                               "taints",
                               filter->count, ORR_PLURAL(filter->count))
                    : snprintf(text + used, bytes - (size_t)used, " on the %u node%s %s \"%.80s\"",
                               filter->count, ORR_PLURAL(filter->count), verbs[i], filter->text);
        }
    }
    uint32_t level = shape->span.required;
    if (level > 0 && used >= 0 && (size_t)used < bytes) {
        used += snprintf(text + used, bytes - (size_t)used, " within one %s",
                         orr_cluster_level_name(cluster, level));
    }
    for (uint32_t s = 1; s < shape->set_count; s++) {
        level = shape->sets[s].span.required;
        if (level > 0 && used >= 0 && (size_t)used < bytes) {
            used += snprintf(text + used, bytes - (size_t)used, ", a role of it within one %s",
                             orr_cluster_level_name(cluster, level));
        }
    }
}

/* The first request for more MIG instances than a node has; NULL: there is none. */
static const struct orr_request *lacks_instances(const struct orr_world *world,
                                                 const struct orr_shape *shape)
{
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        uint32_t most = 0;
        for (uint32_t t = 0; t < world->cluster.type_count; t++) {
            const struct orr_node_type *type = &world->cluster.types[t];
            const uint32_t here = type->nodes > 0 ? type->mig[request->mig_profile] : 0;
            most = here > most ? here : most;
        }
        if (request->instances > most) {
            return request;
        }
    }
    return NULL;
}

/* The instances of a MIG profile that there are, and those that the gang's pods ask. */
struct instances {
    uint32_t profile; /* ORR_NONE: there are enough of each */
    uint64_t asked, there;
};

/* The first profile of which all nodes together have fewer instances than a gang of all its pods
 * asks. */
static struct instances count_instances(const struct orr_world *world,
                                        const struct orr_shape *shape)
{
    for (uint32_t g = 0; g < shape->group_count && shape->min_tasks == shape->tasks; g++) {
        const struct orr_request *request = &shape->groups[g].request;
        struct instances count = {.profile = request->mig_profile};
        for (uint32_t i = 0; i < shape->group_count; i++) {
            const struct orr_task_group *group = &shape->groups[i];
            count.asked += group->request.mig_profile == request->mig_profile
                               ? (uint64_t)group->count * group->request.instances
                               : 0;
        }
        for (uint32_t t = 0; t < world->cluster.type_count; t++) {
            const struct orr_node_type *type = &world->cluster.types[t];
            count.there += (uint64_t)type->nodes * type->mig[request->mig_profile];
        }
        if (request->instances > 0 && count.asked > count.there) {
            return count;
        }
    }
    return (struct instances){.profile = ORR_NONE};
}

/* ": a pod asks 16 GPUs, and no node has more than 8", where that is why; else nothing. */
static void say_too_large(const struct orr_world *world, const struct orr_shape *shape, char *text,
                          size_t bytes)
{
    uint32_t asked = 0, largest = 0, own = 0; /* own: without what foreign pods hold */
    for (uint32_t g = 0; g < shape->group_count; g++) {
        const uint32_t devices = shape->groups[g].request.devices;
        asked = devices > asked ? devices : asked;
    }
    for (uint32_t t = 0; t < world->cluster.type_count; t++) {
        const struct orr_node_type *type = &world->cluster.types[t];
        largest = type->nodes > 0 && type->gpus > largest ? type->gpus : largest;
        own = type->nodes > 0 && orr_node_type_own_gpus(type) > own ? orr_node_type_own_gpus(type)
                                                                    : own;
    }
    text[0] = '\0';
    const struct orr_request *lacking = lacks_instances(world, shape);
    const struct instances count = count_instances(world, shape);
    if (lacking != NULL) {
        (void)snprintf(text, bytes, ": a pod asks %u MIG instance%s %s, and no node has as many",
                       (unsigned)lacking->instances, ORR_PLURAL(lacking->instances),
                       orr_idmap_name(&world->cluster.mig_profiles, lacking->mig_profile));
    } else if (count.profile != ORR_NONE) {
        (void)snprintf(text, bytes, ": it asks %llu MIG instances %s, and there %s %llu",
                       (unsigned long long)count.asked,
                       orr_idmap_name(&world->cluster.mig_profiles, count.profile),
                       count.there == 1 ? "is" : "are", (unsigned long long)count.there);
    } else if (asked > own) {
        (void)snprintf(text, bytes, ": a pod asks %u GPU%s, and no node has more than %u%s", asked,
                       ORR_PLURAL(asked), own,
                       own < largest ? " beside what foreign pods hold" : "");
    }
}

/* Per shape: does its policy start such jobs with their minimum? */
static bool *find_least(const struct orr_world *world, const struct orr_world_options *options)
{
    bool *least = orr_zalloc(world->shapes.count + (size_t)1, sizeof *least);
    for (uint32_t s = 0; s < world->shapes.count && options->starts_least != NULL; s++) {
        const struct orr_shape *shape = &world->shapes.shapes[s];
        least[s] =
            shape->min_tasks < shape->tasks && options->starts_least(shape, options->policies);
    }
    return least;
}

static void drop_impossible(struct orr_world *world, const struct orr_world_options *options)
{
    bool *least = find_least(world, options);
    bool *possible = orr_world_conceivable(world, &world->shapes, least, NULL, NULL);
    uint32_t kept = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        uint32_t part = 0;
        while (part + 1 < world->part_count &&
               world->parts[part + 1].first_source <= spec->source) {
            part++;
        }
        struct orr_world_part *p = &world->parts[part];
        if (possible[spec->shape + (spec->scales ? world->shapes.count : 0)] ||
            p->part->keep_impossible) {
            world->specs[kept++] = *spec;
            continue;
        }
        if (orr_replay__copy(p, spec) > 0) {
            continue; /* its row is counted already */
        }
        const struct orr_row *row = &p->workload.rows[spec->source - p->first_source];
        const struct orr_shape *shape = &world->shapes.shapes[spec->shape];
        const bool fewest = spec->scales || least[spec->shape];
        const uint32_t tasks = fewest ? shape->min_tasks : shape->tasks;
        const int64_t gpus =
            (fewest ? orr_shape_least(shape, ORR_SHARE_GPU) : shape->gpus_mgpu) / ORR_MGPU;
        char where[400], too_large[160];
        say_where(world, shape, where, sizeof where);
        say_too_large(world, shape, too_large, sizeof too_large);
        orr_workload_reject(
            &p->workload, p->part->label, row->line,
            "job %s asks %s%lld GPU%s in %u pod%s%s, which this cluster of %lld GPU%s "
            "could not hold even when empty%s",
            orr_idmap_name(&p->workload.jobs, row->job),
            !spec->scales && least[spec->shape] ? "at least " : "", (long long)gpus,
            ORR_PLURAL(gpus), tasks, ORR_PLURAL(tasks), where, (long long)world->cluster.total_gpus,
            ORR_PLURAL(world->cluster.total_gpus), too_large);
        world->rows_rejected++;
    }
    world->job_count = kept;
    orr_free(least);
    orr_free(possible);
}

/* Uniform in [-most, most]. */
static double draw_move(uint64_t seed, const char *stream, uint64_t thing, double most)
{
    struct orr_rng rng = orr_rng_stream(seed, stream, thing);
    return (2.0 * orr_rng_unit(&rng) - 1.0) * most;
}

/* Input shaking (Tsafrir, Ouaknine and Feitelson 2007): every submit and run time moves a little,
 * by the seed and the job's row, so that all policies see the same moves. Submits are out of order
 * after it. A job of no length stays one. */
static void shake_jobs(const struct orr_scenario *scenario, struct orr_world *world)
{
    if (scenario->shake_submit_ms == 0 && !(scenario->shake_run > 0.0)) {
        return;
    }
    const uint64_t seed = scenario->seed_first;
    uint32_t part = 0;
    for (uint32_t j = 0; j < world->job_count; j++) {
        struct orr_job_spec *spec = &world->specs[j];
        while (part + 1 < world->part_count &&
               world->parts[part + 1].first_source <= spec->source) {
            part++;
        }
        if (spec->scales) {
            continue; /* what is asked of it says when */
        }
        const orr_ms since = orr_replay__runs_since(world, j); /* what was, is known */
        const uint64_t copy = (uint64_t)orr_replay__copy(&world->parts[part], spec);
        const uint64_t thing = copy << 32 | spec->source;
        const bool guessed = spec->estimate_ms == spec->work_ms; /* nobody stated it */
        const orr_ms done = since == ORR_MS_NONE ? 0 : scenario->begin_ms - since;
        if (since == ORR_MS_NONE) {
            spec->submit_ms +=
                llround(draw_move(seed, "shake.submit", thing, (double)scenario->shake_submit_ms));
        }
        const double factor = 1.0 + draw_move(seed, "shake.run", thing, scenario->shake_run);
        if (spec->work_ms > done) {
            const orr_ms left = llround((double)(spec->work_ms - done) * factor);
            spec->work_ms = done + (left < 1 ? 1 : left);
        }
        spec->estimate_ms = guessed ? spec->work_ms : spec->estimate_ms;
    }
}

static bool is_sorted(const struct orr_world *world)
{
    uint32_t j = 1;
    while (j < world->job_count && world->specs[j - 1].submit_ms <= world->specs[j].submit_ms) {
        j++;
    }
    return j >= world->job_count;
}

static void sort_jobs(struct orr_world *world)
{
    if (is_sorted(world)) {
        return;
    }
    int64_t *keys = orr_alloc(world->job_count, sizeof *keys);
    struct orr_job_spec *sorted = orr_alloc(world->job_count, sizeof *sorted);
    for (uint32_t j = 0; j < world->job_count; j++) {
        keys[j] = world->specs[j].submit_ms;
    }
    uint32_t *order = orr_sort_index_by_i64(keys, world->job_count);
    for (uint32_t j = 0; j < world->job_count; j++) {
        sorted[j] = world->specs[order[j]];
    }
    orr_free(world->specs);
    world->specs = sorted;
    orr_free(order);
    orr_free(keys);
}

/* Notes and shown rejections come as lines; the caller gets each block once. */
static void warn_of(const struct orr_world *world, orr_world_warn_fn *warn, void *context)
{
    for (uint32_t i = 0; i < world->part_count && warn != NULL; i++) {
        const struct orr_workload *w = &world->parts[i].workload;
        if (w->notes != NULL && w->notes[0] != '\0') {
            warn(w->notes, context);
        }
        if (w->rejects.count > 0) {
            char *text = orr_rejects_text(w);
            warn(text, context);
            free(text);
        }
    }
}

/* The last submit, or the end of a service: its requests come until then. */
static orr_ms last_demand(const struct orr_world *world)
{
    orr_ms last = world->specs[world->job_count - 1].submit_ms;
    for (uint32_t j = 0; j < world->job_count; j++) { /* one whose job was rejected has none */
        const uint32_t part = world->terms.items[world->specs[j].terms].service;
        if (part > 0) {
            const struct orr_world_service *service = world->parts[part - 1].service;
            const orr_ms end = service->steps[service->step_count - 1].at_ms;
            last = end > last ? end : last;
        }
    }
    return last;
}

static void keep_of_rows(struct orr_world_part *p)
{
    struct orr_workload *workload = &p->workload;
    p->rows = orr_alloc(workload->count, sizeof *p->rows);
    for (uint32_t r = 0; r < workload->count; r++) {
        const struct orr_row *row = &workload->rows[r];
        p->rows[r] = (struct orr_world_row){.job = row->job,
                                            .user = row->user,
                                            .extra = row->extra & INT32_MAX,
                                            .states_limit = row->time_limit_ms != ORR_MS_NONE};
        if (row->extra != 0 && workload->extras[row->extra - 1].deadline_ms != ORR_MS_NONE) {
            struct orr_row_extra *extra = &workload->extras[row->extra - 1];
            extra->deadline_after_ms = extra->deadline_ms - row->submit_ms;
        }
    }
}

/* Jobs have the rest of their rows, and names are only read from now on: of a trace of millions
 * this is a fifth of the memory. */
static void forget_rows(struct orr_workload *workload)
{
    orr_free(workload->rows);
    workload->rows = NULL;
    orr_idmap_settle(&workload->jobs);
}

/* Between the walks over all jobs, each of which takes a second where there are millions. */
static enum orr_status heed_interrupt(const struct orr_world_options *options, struct orr_err *err)
{
    return options->interrupted == NULL || !*options->interrupted
               ? ORR_OK
               : orr_fail(err, ORR_INTERRUPTED, "interrupted");
}

enum orr_status orr_world_build(const struct orr_scenario *scenario,
                                const struct orr_world_options *options, struct orr_world *world,
                                struct orr_err *err)
{
    *world = (struct orr_world){0};
    orr_shapes_init(&world->shapes);
    (void)orr_replay__put_terms(&world->terms,
                                &(struct orr_terms){.profile = ORR_NONE, .busy_ppm = ORR_PPM});
    world->wanted_profiles = orr_zalloc(scenario->profile_count, sizeof *world->wanted_profiles);
    world->notes = scenario->notes;
    world->note_count = scenario->note_count;
    world->contention = scenario->contention;
    world->round_ms = scenario->round_ms;
    world->time_sliced = strcmp(scenario->sharing, "time_sliced") == 0;
    orr_replay__cluster(scenario, &world->cluster);
    orr_replay__queues(scenario, &world->cluster, &world->queues);
    enum orr_status status = read_parts(scenario, options, world, err);
    if (status == ORR_OK) {
        make_jobs(scenario, world);
        for (uint32_t i = 0; i < world->part_count; i++) {
            keep_of_rows(&world->parts[i]);
            note_unheeded(&world->parts[i], world->time_sliced || heeds_busy(scenario));
        }
        status = orr_replay__load_profiles(world, scenario, err);
    }
    if (status == ORR_OK) {
        status = heed_interrupt(options, err);
    }
    if (status == ORR_OK) {
        drop_impossible(world, options);
        orr_replay__drop_endless(world);
        orr_replay__estimates(scenario, world);
        shake_jobs(scenario, world);
        if (world->part_count > 1 || scenario->shake_submit_ms > 0) { /* else in order already */
            sort_jobs(world);
        }
        orr_replay__show_queues(scenario, world);
        orr_replay__rules(scenario, world);
        orr_replay__holds(world);
        for (uint32_t i = 0; i < world->part_count && status == ORR_OK; i++) {
            status = orr_trace_check_loss(&world->parts[i].workload, world->parts[i].part->label,
                                          options->allow_loss_ppm, err);
        }
        if (status == ORR_OK) { /* else the error shows what was rejected */
            warn_of(world, options->warn, options->context);
        }
    }
    if (status == ORR_OK && world->job_count == 0) {
        status = orr_fail(err, ORR_DATA, "%s: no job is left to run",
                          scenario->part_count > 0 ? scenario->parts[0].label : "scenario");
    }
    if (status == ORR_OK) {
        status = heed_interrupt(options, err);
    }
    if (status != ORR_OK) {
        orr_world_release(world);
        return status;
    }
    world->first_submit_ms = world->specs[0].submit_ms;
    world->last_submit_ms = last_demand(world);
    for (uint32_t i = 0; i < world->part_count; i++) {
        forget_rows(&world->parts[i].workload);
    }
    orr_replay__state(scenario, world);
    orr_replay__events(scenario, world);
    return ORR_OK;
}

void orr_world_release(struct orr_world *world)
{
    for (uint32_t i = 0; i < world->part_count; i++) {
        orr_workload_release(&world->parts[i].workload);
        orr_free(world->parts[i].rows);
        orr_replay__drop_service(world->parts[i].service);
    }
    orr_free(world->parts);
    orr_free(world->outages);
    orr_free(world->queue_changes);
    orr_free(world->pools);
    orr_free(world->resizes);
    orr_free(world->away);
    orr_free(world->running);
    orr_free(world->seats);
    orr_free(world->runs_before);
    orr_free(world->holds);
    orr_free(world->rules);
    orr_free(world->ruled);
    orr_free(world->edges);
    orr_free(world->specs);
    orr_free(world->terms.items);
    orr_idmap_release(&world->terms.known);
    for (uint32_t c = 0; c < world->terms.crew_count; c++) {
        orr_free((void *)(uintptr_t)world->terms.crews[c].stages); /* made here */
    }
    orr_free(world->terms.crews);
    orr_free(world->wanted_profiles);
    orr_profiles_release(&world->profiles);
    orr_fabric_release(&world->fabric);
    orr_shapes_release(&world->shapes);
    orr_idmap_release(&world->shown);
    orr_queues_release(&world->queues);
    orr_cluster_release(&world->cluster);
    *world = (struct orr_world){0};
}
