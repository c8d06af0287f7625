/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one scheduling case: one session, or rounds in which whatever was decided comes true.
 *
 *   single_session   state -> session -> actions -> compare
 *   rounds           (state -> session -> actions -> state) until it should match -> compare
 *                    -> more rounds, each compared raw: nothing may move any more
 */
#include <string.h>

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/policies/kai.h>

#include "case_world.h"

/* The feature of the case that the model does not have, or NULL. */
static const char *missing_feature(const struct conform_case *one)
{
    static const char *const unsupported[] = {"dra", "storage", "pod_affinity"};
    for (uint32_t i = 0; i < one->feature_count + one->non_plain_feature_count; i++) {
        const char *feature = i < one->feature_count
                                  ? one->features[i]
                                  : one->non_plain_features[i - one->feature_count];
        for (size_t u = 0; u < sizeof unsupported / sizeof unsupported[0]; u++) {
            const size_t bytes = strlen(unsupported[u]);
            if (strncmp(feature, unsupported[u], bytes) == 0 &&
                (feature[bytes] == '\0' || feature[bytes] == '_')) {
                return feature;
            }
        }
    }
    for (uint32_t j = 0; j < one->job_count; j++) {
        for (uint32_t t = 0; t < one->jobs[j].task_count; t++) {
            if (one->jobs[j].tasks[t].beyond != NULL) {
                return "claims, volumes or affinity of pods";
            }
        }
    }
    return one->dra != NULL ? "dra" : NULL;
}

#define AMOUNT_MOST 1e15 /* beyond it sums would not fit */

static bool is_sane(double amount)
{
    return !conform_is_set(amount) || (amount >= -AMOUNT_MOST && amount <= AMOUNT_MOST);
}

static bool is_sane_job(const struct conform_job *job)
{
    const struct conform_request *request = &job->request;
    bool sane = is_sane(request->cpu_milli) && is_sane(request->memory_bytes) &&
                is_sane(request->gpus * ORR_MGPU) && is_sane(request->gpu_fraction * ORR_MGPU) &&
                request->gpu_devices >= 0 && request->gpu_devices <= ORR_SHARED_DEVICES_MAX &&
                is_sane((double)request->gpu_memory_mib) && is_sane(job->created_minutes_ago) &&
                is_sane(job->last_start_minutes_ago) && is_sane(job->stale_for_s) &&
                is_sane(job->staleness_grace_period_s) && is_sane(job->preemption_delay_s);
    for (uint32_t t = 0; t < job->task_count; t++) {
        sane = sane && is_sane(job->tasks[t].gpus_override * ORR_MGPU);
    }
    return sane;
}

static bool is_sane_numa(const struct conform_numa *numa)
{
    bool sane = numa->zone_count > 0 && numa->zone_count <= ORR_ZONES_MAX;
    for (uint32_t z = 0; z < numa->zone_count; z++) {
        sane = sane && is_sane(numa->zones[z].gpus * ORR_MGPU) &&
               is_sane(numa->zones[z].cpu_milli) && is_sane(numa->zones[z].memory_bytes);
    }
    return sane;
}

/* Numbers that the model's integers can hold; a file can state any. */
static bool is_sane_case(const struct conform_case *one)
{
    bool sane = true;
    for (uint32_t n = 0; n < one->node_count; n++) {
        const struct conform_node *node = &one->nodes[n];
        sane = sane && is_sane(node->gpus) && is_sane(node->allocatable_gpus * ORR_MGPU) &&
               is_sane(node->cpu_milli) && is_sane(node->memory_bytes) &&
               is_sane((double)node->pods) && node->gpu_memory_label >= 0 &&
               (node->numa == NULL || is_sane_numa(node->numa));
    }
    for (uint32_t j = 0; j < one->job_count; j++) {
        sane = sane && is_sane_job(&one->jobs[j]);
    }
    return sane;
}

static bool find_actions(const struct conform_case *one, enum orr_action *actions,
                         struct conform_outcome *outcome)
{
    for (uint32_t i = 0; i < one->action_count; i++) {
        actions[i] = ORR_ACTIONS;
        for (int a = 0; a < ORR_ACTIONS; a++) {
            if (strcmp(one->actions[i], orr_action_name((enum orr_action)a)) == 0) {
                actions[i] = (enum orr_action)a;
            }
        }
        if (actions[i] == ORR_ACTIONS) {
            orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "action %s", one->actions[i]);
            return false;
        }
    }
    return true;
}

/* The harness counts what is executed and fails beyond its limits. */
static void check_calls(const struct case_world *world, const struct orr_session *session,
                        const char *when, struct conform_outcome *outcome)
{
    int64_t counts[3] = {0};
    for (uint32_t i = 0; i < session->decision_count; i++) {
        counts[session->decisions[i].kind]++;
    }
    const struct conform_calls_max *calls = &world->one->config.calls;
    const struct {
        const char *what;
        int64_t got, most;
    } limits[] = {{"binds", counts[ORR_DECISION_BIND], calls->max_binds},
                  {"evictions", counts[ORR_DECISION_EVICT], calls->max_evictions},
                  {"pipelines", counts[ORR_DECISION_PIPELINE], calls->max_pipelines}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].got > limits[i].most) {
            orr_conform__say(outcome, ORR_CONFORM_FAILED, "%s: expected at most %lld %s, got %lld",
                             when, (long long)limits[i].most, limits[i].what,
                             (long long)limits[i].got);
        }
    }
}

/* What was decided comes true at once: evicted pods are gone and wait again, bound ones run, and
 * nothing is left of a pipeline. */
static void come_true(struct case_world *world, const struct orr_session *session)
{
    for (uint32_t j = 0; j < world->one->job_count; j++) {
        for (uint32_t t = 0; t < world->one->jobs[j].task_count; t++) {
            struct case_task *task = &world->tasks[j][t];
            if (task->id == ORR_NONE) {
                continue;
            }
            const struct orr_stask *from = &session->tasks[task->id];
            if (from->live.status == ORR_TASK_PENDING) {
                continue; /* nothing was decided about it */
            }
            const bool stays =
                from->live.status == ORR_TASK_RELEASING && world->one->jobs[j].delete_job_in_test;
            task->state = (int)from->live.status;
            task->node = from->live.node;
            task->group_count = from->live.group_count;
            for (uint32_t g = 0; g < task->group_count; g++) {
                task->groups[g] = orr_task_groups(session, from)[g];
            }
            orr_conform__keep_zones(world, task, session);
            if (from->live.status == ORR_TASK_PIPELINED ||
                (from->live.status == ORR_TASK_RELEASING && !stays)) {
                task->state = CONFORM_STATE_Pending;
                task->node = ORR_NONE;
                task->group_count = 0;
            } else if (from->live.status == ORR_TASK_BINDING) {
                task->state = CONFORM_STATE_Running;
            }
        }
    }
    world->next_gpu_group = session->next_gpu_group;
}

struct rounds {
    struct case_world world;
    enum orr_action actions[32];
    struct conform_outcome *outcome;
};

/* One session; compares what it leaves if asked to. */
static void run_session(struct rounds *rounds, const char *when, bool compare)
{
    struct orr_session session;
    orr_conform__make_session(&rounds->world, &session);
    orr_session_open(&session, rounds->world.now);
    orr_kai_run(&session, rounds->actions, rounds->world.one->action_count);
    check_calls(&rounds->world, &session, when, rounds->outcome);
    if (compare) {
        orr_conform__check(&rounds->world, &session, when, rounds->outcome);
    }
    come_true(&rounds->world, &session);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void compare_state(struct rounds *rounds, const char *when)
{
    struct orr_session session;
    orr_conform__make_session(&rounds->world, &session);
    orr_session_open(&session, rounds->world.now);
    orr_conform__check(&rounds->world, &session, when, rounds->outcome);
    orr_session_close(&session);
    orr_session_release(&session);
}

static void run_rounds(struct rounds *rounds)
{
    const struct conform_case *one = rounds->world.one;
    char when[32];
    for (int64_t i = 1; i <= one->rounds_until_match; i++) {
        (void)snprintf(when, sizeof when, "round %d", (int)i);
        run_session(rounds, when, false);
    }
    compare_state(rounds, "state");
    for (int64_t i = 1; i <= one->rounds_after_match; i++) {
        (void)snprintf(when, sizeof when, "round +%d", (int)i);
        run_session(rounds, when, true);
    }
}

void orr_conform__run_case(const struct conform_case *one, const char *policy,
                           struct conform_outcome *outcome)
{
    const char *missing = missing_feature(one);
    if (missing != NULL) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "%s", missing);
        return;
    }
    if (one->misread != NULL) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "%s", one->misread);
        return;
    }
    if (one->extras != NULL) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "key \"%s\" of %s", one->extras->key,
                         one->extras->what);
        return;
    }
    if (!is_sane_case(one)) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "an amount beyond the model's range");
        return;
    }
    for (uint32_t i = 0; i < one->session_call_count; i++) {
        struct orr_session_rules ignored = orr_session_rules_default();
        if (!orr_conform__override(&one->session_calls[i], &ignored)) {
            orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "session call %s",
                             one->session_calls[i].method);
            return;
        }
    }
    struct rounds rounds = {.outcome = outcome};
    if (strcmp(policy, "kai") != 0) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "%s policy", policy);
        return;
    }
    if (one->action_count > sizeof rounds.actions / sizeof rounds.actions[0] ||
        !find_actions(one, rounds.actions, outcome)) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "its actions");
        return;
    }
    orr_conform__world_init(&rounds.world, one);
    if (one->mode == CONFORM_ROUNDS) {
        run_rounds(&rounds);
    } else {
        run_session(&rounds, "session", true);
    }
    orr_conform__world_release(&rounds.world);
}
