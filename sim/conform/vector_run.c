/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fair-share vectors against core's division. All queues of a vector are siblings. */
#include "conform_int.h"

#include <string.h>

#include <orrery/base/text.h>

/* The files state decimals; this is far below anything a decision could hang on. */
#define TOLERANCE 1e-9

static const char *const kind_names[ORR_SHARE_KINDS] = {"cpu", "memory", "gpu"};

static bool same(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * fmax(1, fmax(fabs(a), fabs(b)));
}

static struct orr_share_queue *make_queues(const struct conform_vector *vector)
{
    struct orr_share_queue *queues = orr_zalloc(vector->queue_count, sizeof *queues);
    for (uint32_t q = 0; q < vector->queue_count; q++) {
        const struct conform_vector_queue *from = &vector->queues[q];
        queues[q].parent = ORR_NONE;
        queues[q].priority = (int32_t)from->priority;
        queues[q].created =
            conform_is_set(from->created_s) ? (int64_t)round(from->created_s * 1e9) : INT64_MIN;
        for (uint32_t other = 0; other < vector->queue_count; other++) {
            queues[q].name_rank += strcmp(vector->queues[other].uid, from->uid) < 0;
        }
        queues[q].resource[ORR_SHARE_CPU] = from->cpu;
        queues[q].resource[ORR_SHARE_MEMORY] = from->memory;
        queues[q].resource[ORR_SHARE_GPU] = from->gpu;
    }
    return queues;
}

static bool kind_of(const char *name, enum orr_share_kind *out)
{
    static const char *const names[ORR_SHARE_KINDS] = {"CPU", "Memory", "GPU"};
    for (int kind = 0; name != NULL && kind < ORR_SHARE_KINDS; kind++) {
        if (strcmp(names[kind], name) == 0) {
            *out = (enum orr_share_kind)kind;
            return true;
        }
    }
    return false;
}

static const char *expected_result(const struct conform_vector *vector, int64_t call)
{
    for (uint32_t i = 0; i < vector->result_count; i++) {
        const char *name = vector->results[i].name;
        int64_t id;
        if (orr_parse_i64(name, strlen(name), &id) && id == call) {
            return vector->results[i].value;
        }
    }
    return NULL;
}

/* A returned amount against the expected one. */
static void check_amount(const struct conform_vector *vector,
                         const struct conform_vector_call *call, double got,
                         struct conform_outcome *outcome)
{
    const char *text = expected_result(vector, call->id);
    double expected;
    if (text != NULL &&
        (!orr_parse_double(text, strlen(text), &expected) || !same(expected, got))) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED, "call %lld: expected %s left, got %.17g",
                         (long long)call->id, text, got);
    }
}

/* getQueuesByPriority: the distinct priorities in the order they are served. */
static void check_priorities(const struct conform_vector *vector,
                             const struct conform_vector_call *call,
                             const struct orr_share_tree *tree,
                             const struct orr_share_queue *queues, struct conform_outcome *outcome)
{
    const char *text = expected_result(vector, call->id);
    if (text == NULL) {
        return;
    }
    const char *at = text + (*text == '[');
    bool right = true;
    for (uint32_t i = 0; right && i < tree->queue_count; i++) {
        int32_t priority = queues[tree->ranked[i]].priority;
        if (i > 0 && queues[tree->ranked[i - 1]].priority == priority) {
            continue;
        }
        at += strspn(at, ", ");
        size_t bytes = strcspn(at, ",] ");
        int64_t expected;
        right = orr_parse_i64(at, bytes, &expected) && expected == priority;
        at += bytes;
    }
    if (!right || strcmp(at + strspn(at, " "), "]") != 0) {
        orr_conform__say(outcome, ORR_CONFORM_FAILED,
                         "call %lld: expected priorities %s, got another order",
                         (long long)call->id, text);
    }
}

static void run_call(const struct conform_vector *vector, const struct conform_vector_call *call,
                     struct orr_share_tree *tree, struct orr_share_queue *queues,
                     struct conform_outcome *outcome)
{
    enum orr_share_kind kind;
    if (strcmp(call->function, "getQueuesByPriority") == 0) {
        check_priorities(vector, call, tree, queues, outcome);
        return;
    }
    const bool whole = strcmp(call->function, "setResourceShare") == 0;
    if (!whole && strcmp(call->function, "divideOverQuotaResource") != 0) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "function %s", call->function);
        return;
    }
    if (!kind_of(call->args.resource, &kind)) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "resource %s",
                         call->args.resource != NULL ? call->args.resource : "not named");
        return;
    }
    double left =
        whole ? orr_share_divide_set(tree, queues, 0, kind, call->args.total, call->args.k)
              : orr_share_divide_over_quota(tree, queues, 0, kind, call->args.total, call->args.k);
    check_amount(vector, call, left, outcome);
}

static void check_shares(const struct conform_vector *vector, const struct orr_share_queue *queues,
                         struct conform_outcome *outcome)
{
    for (uint32_t i = 0; i < vector->share_count; i++) {
        const struct conform_vector_share *share = &vector->shares[i];
        for (uint32_t q = 0; q < vector->queue_count; q++) {
            for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
                double expected = share->amount[kind], got = queues[q].resource[kind].fair_share;
                if (strcmp(share->name, vector->queues[q].name) == 0 && conform_is_set(expected) &&
                    !same(expected, got)) {
                    orr_conform__say(outcome, ORR_CONFORM_FAILED,
                                     "queue %s, %s: expected %.17g, got %.17g", share->name,
                                     kind_names[kind], expected, got);
                }
            }
        }
    }
}

void orr_conform__run_vector(const struct conform_vector *vector, struct conform_outcome *outcome)
{
    struct orr_share_queue *queues = make_queues(vector);
    struct orr_share_tree tree;
    orr_share_tree_init(&tree);
    orr_share_tree_build(&tree, queues, vector->queue_count);
    if (strcmp(vector->function, "SetResourcesShare") == 0) {
        for (int kind = 0; kind < ORR_SHARE_KINDS; kind++) {
            (void)orr_share_divide_set(&tree, queues, 0, (enum orr_share_kind)kind,
                                       vector->total[kind], vector->k);
        }
    } else if (vector->call_count == 0) {
        orr_conform__say(outcome, ORR_CONFORM_SKIPPED, "function %s", vector->function);
    }
    for (uint32_t i = 0; i < vector->call_count; i++) {
        run_call(vector, &vector->calls[i], &tree, queues, outcome);
    }
    check_shares(vector, queues, outcome);
    orr_share_tree_release(&tree);
    orr_free(queues);
}
