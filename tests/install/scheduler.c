/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scheduler around liborrery-core: two nodes of 8 GPUs, three jobs, policy kai. The text is C and
 * C++20. A real one tells the ledger what its cluster reports, and binds where this one prints.
 *   cc scheduler.c $(pkg-config --cflags --libs orrery-core) \
 *      -Wl,-rpath,$(pkg-config --variable=libdir orrery-core) -o scheduler */
#include <stdio.h>

#include <orrery/policies/registry.h>

static struct orr_job_spec ask(struct orr_shapes *shapes, uint32_t queue, uint32_t pods,
                               uint32_t gpus)
{
    const struct orr_task_group group = {
        .request = {.gpu_ask = ORR_GPU_WHOLE, .devices = gpus, .gpu_model = ORR_NONE},
        .count = pods};
    const struct orr_job_spec job = {
        .shape = orr_shapes_put(shapes, &group, 1, 0), .queue = queue, .preemptible = 1};
    return job;
}

int main(void)
{
    const struct orr_node_type type = {
        .gpus = 8,
        .gpu_model = ORR_NONE,
        .allocatable = {{ORR_AMOUNT_UNLIMITED, ORR_AMOUNT_UNLIMITED, 8 * ORR_MGPU,
                         ORR_AMOUNT_UNLIMITED}}, /* CPU, memory, GPUs, pods */
        .nvlink_domain = 8};
    const struct orr_queue queue = orr_queue_default();
    const struct orr_policy *policy = orr_policy_find("kai");
    struct orr_cluster cluster;
    struct orr_queues queues;
    struct orr_shapes shapes;
    struct orr_err err;
    void *state, *params = orr_zalloc(1, policy->params_bytes);
    orr_cluster_init(&cluster);
    orr_queues_init(&queues);
    orr_shapes_init(&shapes);
    const uint32_t kind = orr_cluster_add_type(&cluster, &type);
    orr_cluster_add_node(&cluster, "a", "pool", kind);
    orr_cluster_add_node(&cluster, "b", "pool", kind);
    const uint32_t team = orr_queues_add(&queues, "team", ORR_NONE, &queue);
    const struct orr_job_spec jobs[] = {ask(&shapes, team, 1, 8), ask(&shapes, team, 2, 8),
                                        ask(&shapes, team, 1, 4)};
    const struct orr_ledger_world world = {&cluster, &queues, &shapes, jobs, 3};
    struct orr_ledger *ledger = orr_ledger_open(&world);
    struct orr_view view = {.cluster = &cluster,
                            .queues = &queues,
                            .shapes = &shapes,
                            .specs = jobs,
                            .jobs = ledger->jobs,
                            .job_count = 3,
                            .ledger = ledger};
    orr_params_init(policy->params, params);
    struct orr_txn *txn = orr_txn_open(ledger, orr_policy_laws(policy, params));
    if (policy->open(orr_policy_host(), params, &view, &state, &err) != ORR_OK) {
        return 1;
    }
    for (view.now = 0; view.now <= 2000; view.now += 1000) { /* a cycle a second */
        for (uint32_t j = 0; j < 3; j++) {
            if (view.now == 0) {
                orr_ledger_submit(ledger, j);
                policy->event(state, &view, ORR_JOB_SUBMITTED, j);
            } else if (view.now == 2000 && j != 1) {
                orr_ledger_finish(ledger, j, view.now);
                policy->event(state, &view, ORR_JOB_ENDED, j);
            }
        }
        struct orr_refusal refusal;
        uint32_t made, said;
        policy->cycle(state, &view, txn);
        if (!orr_txn_commit(txn, view.now, &refusal)) {
            return 1;
        }
        const struct orr_txn_decision *decisions = orr_txn_decisions(txn, &made);
        const struct orr_explanation *reasons = orr_txn_explanations(txn, &said);
        for (uint32_t i = 0; i < made; i++) {
            printf("%d s: job %u starts\n", (int)(view.now / 1000), decisions[i].job);
        }
        for (uint32_t i = 0; i < said; i++) {
            printf("%d s: job %u waits: %s\n", (int)(view.now / 1000), reasons[i].job,
                   orr_reason_words(reasons[i].reason));
        }
        orr_txn_end_cycle(txn);
    }
    policy->close(state);
    orr_txn_close(txn);
    orr_ledger_close(ledger);
    orr_free(params);
    orr_shapes_release(&shapes);
    orr_queues_release(&queues);
    orr_cluster_release(&cluster);
    return 0;
}
