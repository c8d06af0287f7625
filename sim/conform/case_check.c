/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a case expects, compared with the session after its actions. */
#include "case_world.h"

#include <orrery/base/text.h>
#include <string.h>

struct place_to_check {
    const struct case_world *world;
    const struct orr_session *session;
    const char *when;
    struct conform_outcome *outcome;
};

static void check_task(const struct place_to_check *check, uint32_t j, uint32_t t,
                       const struct conform_expect *expect)
{
    const uint32_t id = check->world->tasks[j][t].id;
    if (id == ORR_NONE) {
        return;
    }
    const struct orr_stask *task = &check->session->tasks[id];
    /* A pending pod keeps the node its input names, though it is not there. */
    const uint32_t at = task->live.node == ORR_NONE && task->live.status == ORR_TASK_PENDING
                            ? check->world->tasks[j][t].node
                            : task->live.node;
    const char *node = at == ORR_NONE ? "none" : check->session->nodes[at].name;
    if (expect->status != CONFORM_STATE_ANY && expect->status != (int)task->live.status) {
        orr_conform__say(check->outcome, ORR_CONFORM_FAILED,
                         "%s: %s: expected %s on %s, got %s on %s", check->when, task->name,
                         orr_conform__state_words[expect->status],
                         expect->node != NULL ? expect->node : "any node",
                         orr_conform__state_words[task->live.status], node);
    }
    orr_conform__check_zones(check->session, id, &expect->numa_zones, check->when, check->outcome);
    if (expect->node != NULL && expect->node[0] != '\0' && strcmp(expect->node, node) != 0) {
        orr_conform__say(check->outcome, ORR_CONFORM_FAILED, "%s: %s: expected on %s, got on %s",
                         check->when, task->name, expect->node, node);
    }
}

static void check_start(const struct place_to_check *check, uint32_t j,
                        const struct conform_expect *expect)
{
    const struct orr_sjob *job = &check->session->jobs[check->world->job_ids[j]];
    if (!conform_is_set(expect->last_start_older_than_s)) {
        return;
    }
    const orr_ms age = (orr_ms)(expect->last_start_older_than_s * 1000);
    if (job->last_start != ORR_MS_NONE && check->session->now - job->last_start < age) {
        orr_conform__say(check->outcome, ORR_CONFORM_FAILED, "%s: %s: expected not to start again",
                         check->when, job->name);
    }
}

/* Sums over the tasks; zero is not checked. */
static void check_accepted(const struct place_to_check *check, uint32_t j,
                           const struct conform_expect *expect, const char *only)
{
    if (!conform_is_set(expect->gpus_accepted)) {
        return;
    }
    int64_t sum = 0;
    const struct conform_job *job = &check->world->one->jobs[j];
    for (uint32_t t = 0; t < job->task_count; t++) {
        const uint32_t id = check->world->tasks[j][t].id;
        if (id != ORR_NONE && (only == NULL || strcmp(job->tasks[t].id, only) == 0)) {
            const struct orr_place *place = &check->session->tasks[id].live;
            sum += place->node == ORR_NONE ? 0 : place->quota_mgpu;
        }
    }
    const int64_t expected = (int64_t)(expect->gpus_accepted * ORR_MGPU + 0.5);
    if (sum != expected) {
        orr_conform__say(check->outcome, ORR_CONFORM_FAILED,
                         "%s: %s: expected %g GPU%s accepted, got %g", check->when, expect->name,
                         expect->gpus_accepted, ORR_PLURAL(expect->gpus_accepted),
                         (double)sum / ORR_MGPU);
    }
}

static void check_job(const struct place_to_check *check, const struct conform_expect *expect)
{
    const struct conform_case *one = check->world->one;
    for (uint32_t j = 0; j < one->job_count; j++) {
        if (strcmp(one->jobs[j].name, expect->name) != 0) {
            continue;
        }
        for (uint32_t t = 0; t < one->jobs[j].task_count; t++) {
            check_task(check, j, t, expect);
        }
        check_start(check, j, expect);
        check_accepted(check, j, expect, NULL);
    }
}

static void check_named_task(const struct place_to_check *check,
                             const struct conform_expect *expect)
{
    const struct conform_case *one = check->world->one;
    for (uint32_t j = 0; j < one->job_count; j++) {
        for (uint32_t t = 0; t < one->jobs[j].task_count; t++) {
            if (strcmp(one->jobs[j].tasks[t].id, expect->name) == 0) {
                check_task(check, j, t, expect);
                check_start(check, j, expect);
                check_accepted(check, j, expect, expect->name);
            }
        }
    }
}

static void check_amount(const struct place_to_check *check, const char *node, const char *what,
                         double expected, int64_t got)
{
    if (conform_is_set(expected) && (int64_t)(expected * ORR_MGPU) != got) {
        orr_conform__say(check->outcome, ORR_CONFORM_FAILED, "%s: %s: expected %g %s GPUs, got %g",
                         check->when, node, expected, what, (double)got / ORR_MGPU);
    }
}

static void check_node(const struct place_to_check *check, const struct conform_expect_node *expect)
{
    for (uint32_t n = 0; n < check->session->node_count; n++) {
        const struct orr_snode *node = &check->session->nodes[n];
        if (strcmp(node->name, expect->name) == 0) {
            check_amount(check, node->name, "releasing", expect->releasing_gpus,
                         node->releasing.v[ORR_SLOT_GPU]);
            check_amount(check, node->name, "idle", expect->idle_gpus, node->idle.v[ORR_SLOT_GPU]);
            orr_conform__check_free_zones(node, expect, check->when, check->outcome);
        }
    }
}

void orr_conform__check(const struct case_world *world, const struct orr_session *session,
                        const char *when, struct conform_outcome *outcome)
{
    const struct place_to_check check = {world, session, when, outcome};
    for (uint32_t i = 0; i < world->one->expect_job_count; i++) {
        check_job(&check, &world->one->expect_jobs[i]);
    }
    for (uint32_t i = 0; i < world->one->expect_task_count; i++) {
        check_named_task(&check, &world->one->expect_tasks[i]);
    }
    for (uint32_t i = 0; i < world->one->expect_node_count; i++) {
        check_node(&check, &world->one->expect_nodes[i]);
    }
}
