/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_rules.c - what queues allow their jobs beside GPUs: size, length of sessions, idling, run
 * time, and whether their time limits end them.
 *
 * A rule holds for a queue and all below it that state none. A session is idle in its last part:
 * busy x run time is used, the rest is not. Only jobs that keep some work when they are evicted can
 * be queued again after their longest run time; others are ended there, as without requeue_delay.
 *
 * What cannot be faster than its work says is cut here to what is allowed, which is seen before
 * anything runs. Whatever else makes an attempt longer, or a profile shorter, the engine sees when
 * the attempt has taken as long as it may.
 */
#include "replay_int.h"

#include <string.h>

#include <orrery/base/minutes.h>
#include <orrery/base/sort.h>

/* The first that is stated from a queue upwards. */
static struct orr_queue_rules rules_of(const struct orr_scenario *scenario,
                                       const struct orr_idmap *names, uint32_t queue)
{
    struct orr_queue_rules rules = {.max_job_mgpu = -1,
                                    .max_session_ms = ORR_MS_NONE,
                                    .stop_idle_ms = ORR_MS_NONE,
                                    .max_runtime_ms = ORR_MS_NONE,
                                    .requeue_delay_ms = ORR_MS_NONE};
    const char *time_limits = NULL;
    while (queue != ORR_NONE) {
        const struct orr_scenario_queue *from = &scenario->queues[queue];
        if (rules.max_job_mgpu < 0 && from->max_job_gpus >= 0.0) {
            rules.max_job_mgpu = (int64_t)(from->max_job_gpus * ORR_MGPU + 0.5);
        }
        if (rules.max_session_ms == ORR_MS_NONE) {
            rules.max_session_ms = from->max_session_ms;
        }
        if (rules.stop_idle_ms == ORR_MS_NONE) {
            rules.stop_idle_ms = from->stop_idle_ms;
        }
        if (rules.max_runtime_ms == ORR_MS_NONE) {
            rules.max_runtime_ms = from->max_runtime_ms;
            rules.requeue_delay_ms = from->requeue_delay_ms;
        }
        time_limits = time_limits == NULL ? from->time_limits : time_limits;
        queue = from->parent == NULL ? ORR_NONE
                                     : orr_idmap_find(names, from->parent, strlen(from->parent));
    }
    rules.ends_at_limit = time_limits != NULL && strcmp(time_limits, "end") == 0;
    return rules;
}

static bool any_rule(const struct orr_scenario *scenario)
{
    bool any = false;
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        const struct orr_scenario_queue *queue = &scenario->queues[q];
        any = any || queue->max_job_gpus >= 0.0 || queue->max_session_ms != ORR_MS_NONE ||
              queue->stop_idle_ms != ORR_MS_NONE || queue->max_runtime_ms != ORR_MS_NONE ||
              queue->time_limits != NULL;
    }
    for (uint32_t t = 0; t < scenario->template_count; t++) {
        any = any || scenario->templates[t].cull_idle_ms != ORR_MS_NONE;
    }
    return any;
}

static bool is_of_slurm(const struct orr_scenario *scenario, uint32_t shard)
{
    return shard < scenario->shard_count && strcmp(scenario->shards[shard].policy, "slurm") == 0;
}

static void fill_rules(const struct orr_scenario *scenario, struct orr_world *world)
{
    struct orr_idmap names;
    orr_idmap_init(&names);
    for (uint32_t q = 0; q < scenario->queue_count; q++) {
        (void)orr_idmap_put(&names, scenario->queues[q].name, strlen(scenario->queues[q].name),
                            NULL);
    }
    world->rules = orr_alloc(world->queues.count + (size_t)1, sizeof *world->rules);
    for (uint32_t q = 0; q < world->queues.count; q++) {
        const char *name = orr_idmap_name(&world->queues.names, q);
        world->rules[q] = rules_of(scenario, &names, orr_idmap_find(&names, name, strlen(name)));
        world->rules[q].limits_are_whole = is_of_slurm(scenario, world->queues.queues[q].shard);
    }
    orr_idmap_release(&names);
}

static void note(struct orr_world *world, uint32_t job, enum orr_rule rule)
{
    world->ruled = ORR_ROOM_FOR_ONE(world->ruled, world->ruled_count, world->ruled_capacity);
    world->ruled[world->ruled_count++] =
        (struct orr_world_ruled){.job = job, .rule = (uint8_t)rule};
}

/* May the job do more in a time than its run time says? Only by its profile. */
static bool may_be_fast(const struct orr_world *world, uint32_t job)
{
    return world->terms.items[world->specs[job].terms].profile != ORR_NONE;
}

/* The job ends after so long, because of the rule. */
static void cut(struct orr_world *world, uint32_t job, orr_ms after, enum orr_rule rule)
{
    struct orr_job_spec *spec = &world->specs[job];
    spec->estimate_ms = spec->estimate_ms < after ? spec->estimate_ms : after;
    if (!may_be_fast(world, job)) {
        spec->work_ms = after;
        note(world, job, rule);
    }
}

static void rule_session(const struct orr_scenario *scenario, struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_queue_rules *rules = &world->rules[spec->queue];
    const struct orr_world_part *p = &world->parts[orr_world_part_of(world, job)];
    const struct orr_row *row = &p->workload.rows[spec->source - p->first_source];
    orr_ms stop_idle = rules->stop_idle_ms, end = spec->work_ms;
    enum orr_rule rule = ORR_RULE_LONGEST_SESSION;
    if (rules->max_session_ms != ORR_MS_NONE && rules->max_session_ms < end) {
        end = rules->max_session_ms;
    }
    if (row->extra > 0) {
        const struct orr_row_extra *extra = &p->workload.extras[row->extra - 1];
        const struct orr_scenario_template *template =
            extra->template_name == NULL ? NULL
                                         : orr_replay__template(scenario, extra->template_name);
        if (template != NULL && template->cull_idle_ms != ORR_MS_NONE) {
            stop_idle = template->cull_idle_ms;
        }
        if (stop_idle != ORR_MS_NONE && extra->busy_ppm >= 0) {
            /* busy_ppm is at most 1e6, and no run is longer than a century */
            orr_ms idle_end = spec->work_ms / 1000000 * extra->busy_ppm +
                              spec->work_ms % 1000000 * extra->busy_ppm / 1000000 + stop_idle;
            rule = idle_end < end ? ORR_RULE_IDLE_STOP : rule;
            end = idle_end < end ? idle_end : end;
        }
    }
    if (end < spec->work_ms) {
        cut(world, job, end, rule);
    }
}

bool orr_world_requeues(const struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_queue_rules *rules = &world->rules[spec->queue];
    const struct orr_terms *terms = &world->terms.items[spec->terms];
    if (rules->max_runtime_ms == ORR_MS_NONE || terms->service > 0) {
        return rules->max_runtime_ms != ORR_MS_NONE; /* a service goes on for ever */
    }
    if (rules->requeue_delay_ms == ORR_MS_NONE) {
        return false;
    }
    /* every attempt must get further than the one before, or it would go on for ever */
    bool works = terms->restart_ms < rules->max_runtime_ms;
    bool writes = terms->checkpoint_ms > 0 &&
                  terms->restart_ms + terms->checkpoint_ms + terms->checkpoint_cost_ms <
                      rules->max_runtime_ms;
    bool leaves = terms->checkpoint_on_evict && terms->grace_ms > terms->checkpoint_cost_ms;
    return works && (terms->keep_progress || writes || leaves);
}

/* The time limit that ends a job; ORR_MS_NONE: none does. A service goes on for ever. */
static orr_ms time_limit_of(const struct orr_world *world, uint32_t job)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const bool ends = world->rules[spec->queue].ends_at_limit &&
                      world->terms.items[spec->terms].service == 0 && spec->estimate_ms > 0 &&
                      orr_world_states_limit(world, job);
    if (!ends) {
        return ORR_MS_NONE;
    }
    return world->rules[spec->queue].limits_are_whole ? orr_ms_whole_minutes(spec->estimate_ms)
                                                      : spec->estimate_ms;
}

orr_ms orr_world_longest_ms(const struct orr_world *world, uint32_t job, enum orr_rule *rule)
{
    const struct orr_job_spec *spec = &world->specs[job];
    const struct orr_queue_rules *rules = &world->rules[spec->queue];
    const orr_ms session = spec->kind == ORR_KIND_INTERACTIVE ? rules->max_session_ms : ORR_MS_NONE;
    const orr_ms run = orr_world_requeues(world, job) ? ORR_MS_NONE : rules->max_runtime_ms;
    const bool by_run = session == ORR_MS_NONE || (run != ORR_MS_NONE && run < session);
    const orr_ms most = by_run ? run : session, limit = time_limit_of(world, job);
    const bool by_limit = limit != ORR_MS_NONE && (most == ORR_MS_NONE || limit < most);
    *rule = by_limit ? ORR_RULE_TIME_LIMIT
            : by_run ? ORR_RULE_MAX_RUNTIME
                     : ORR_RULE_LONGEST_SESSION;
    return by_limit ? limit : most;
}

static void rule_runtime(struct orr_world *world, uint32_t job)
{
    const struct orr_queue_rules *rules = &world->rules[world->specs[job].queue];
    orr_ms most = rules->max_runtime_ms;
    if (most == ORR_MS_NONE || world->specs[job].work_ms <= most) {
        return;
    }
    if (!orr_world_requeues(world, job)) {
        cut(world, job, most, ORR_RULE_MAX_RUNTIME);
    } else if (!may_be_fast(world, job)) {
        note(world, job, ORR_RULE_MAX_RUNTIME);
    }
}

/* Where max_runtime is no longer it bites first. */
static void rule_time_limit(struct orr_world *world, uint32_t job)
{
    const orr_ms limit = time_limit_of(world, job);
    const orr_ms most = world->rules[world->specs[job].queue].max_runtime_ms;
    const bool first = limit != ORR_MS_NONE && (most == ORR_MS_NONE || limit < most);
    if (first && limit < world->specs[job].work_ms) {
        cut(world, job, limit, ORR_RULE_TIME_LIMIT);
    }
}

void orr_replay__rules(const struct orr_scenario *scenario, struct orr_world *world)
{
    if (!any_rule(scenario)) {
        return;
    }
    fill_rules(scenario, world);
    for (uint32_t j = 0; j < world->job_count; j++) {
        const struct orr_job_spec *spec = &world->specs[j];
        int64_t most = world->rules[spec->queue].max_job_mgpu;
        const bool runs = orr_replay__runs_since(world, j) != ORR_MS_NONE; /* whatever its size */
        if (most >= 0 && !runs && world->shapes.shapes[spec->shape].gpus_mgpu > most) {
            note(world, j, ORR_RULE_LARGEST_JOB);
            orr_replay__refuse(world, j);
            continue;
        }
        if (spec->kind == ORR_KIND_INTERACTIVE) {
            rule_session(scenario, world, j);
        }
        rule_time_limit(world, j);
        rule_runtime(world, j);
    }
}
