/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shape of a fair-share vector. */
#include "conform_int.h"

#include <string.h>

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define AT(s, m)  .at = offsetof(struct s, m)
#define CNT(s, m) .count_at = offsetof(struct s, m)

static const struct conform_field resource_fields[] = {
    {"deserved", CONFORM_NUMBER, true, AT(orr_share_resource, deserved)},
    {"over_quota_weight", CONFORM_NUMBER, true, AT(orr_share_resource, weight)},
    {"max_allowed", CONFORM_NUMBER, true, AT(orr_share_resource, limit)},
    {"allocated", CONFORM_NUMBER, AT(orr_share_resource, allocated)},
    {"allocated_not_preemptible", CONFORM_NUMBER, AT(orr_share_resource, allocated_nonpreemptible)},
    {"request", CONFORM_NUMBER, true, AT(orr_share_resource, request)},
    {"usage", CONFORM_NUMBER, AT(orr_share_resource, usage)},
    {"fair_share_before", CONFORM_NUMBER, AT(orr_share_resource, fair_share)},
};
static const struct conform_shape resource_shape = {
    .what = "a resource of a queue",
    .fields = resource_fields,
    .field_count = COUNT(resource_fields),
    .size = sizeof(struct orr_share_resource),
};

static const struct conform_field queue_fields[] = {
    {"priority", CONFORM_INT, AT(conform_vector_queue, priority)},
    {"uid", CONFORM_STRING, true, AT(conform_vector_queue, uid)},
    {"created_s", CONFORM_NUMBER, AT(conform_vector_queue, created_s)},
    {"gpu", CONFORM_OBJECT, AT(conform_vector_queue, gpu), .shape = &resource_shape},
    {"cpu", CONFORM_OBJECT, AT(conform_vector_queue, cpu), .shape = &resource_shape},
    {"memory", CONFORM_OBJECT, AT(conform_vector_queue, memory), .shape = &resource_shape},
};
static const struct conform_vector_queue queue_default = {.created_s = CONFORM_UNSET};
static const struct conform_shape queue_shape = {
    .what = "a queue of a vector",
    .fields = queue_fields,
    .field_count = COUNT(queue_fields),
    .size = sizeof(struct conform_vector_queue),
    .defaults = &queue_default,
};

static const struct conform_field args_fields[] = {
    {"totalAmount", CONFORM_NUMBER, AT(conform_vector_args, total)},
    {"totalResourceAmount", CONFORM_NUMBER, AT(conform_vector_args, total)},
    {"kValue", CONFORM_NUMBER, AT(conform_vector_args, k)},
    {"resourceName", CONFORM_STRING, AT(conform_vector_args, resource)},
};
static const struct conform_shape args_shape = {
    .what = "the arguments of a call",
    .fields = args_fields,
    .field_count = COUNT(args_fields),
    .size = sizeof(struct conform_vector_args),
};

static const struct conform_field call_fields[] = {
    {"id", CONFORM_INT, true, AT(conform_vector_call, id)},
    {"function", CONFORM_STRING, true, AT(conform_vector_call, function)},
    {"args", CONFORM_OBJECT, AT(conform_vector_call, args), .shape = &args_shape},
};
static const struct conform_shape call_shape = {
    .what = "a call",
    .fields = call_fields,
    .field_count = COUNT(call_fields),
    .size = sizeof(struct conform_vector_call),
};

#define AMOUNT(s, m, kind) .at = offsetof(struct s, m) + (kind) * sizeof(double)

static const struct conform_field share_fields[] = {
    {"gpu", CONFORM_NUMBER, AMOUNT(conform_vector_share, amount, ORR_SHARE_GPU)},
    {"cpu", CONFORM_NUMBER, AMOUNT(conform_vector_share, amount, ORR_SHARE_CPU)},
    {"memory", CONFORM_NUMBER, AMOUNT(conform_vector_share, amount, ORR_SHARE_MEMORY)},
};
static const struct conform_vector_share share_default = {
    .amount = {CONFORM_UNSET, CONFORM_UNSET, CONFORM_UNSET}};
static const struct conform_shape share_shape = {
    .what = "a fair share",
    .fields = share_fields,
    .field_count = COUNT(share_fields),
    .size = sizeof(struct conform_vector_share),
    .defaults = &share_default,
};

static const struct conform_field total_fields[] = {
    {"gpu", CONFORM_NUMBER, AMOUNT(conform_vector, total, ORR_SHARE_GPU)},
    {"cpu", CONFORM_NUMBER, AMOUNT(conform_vector, total, ORR_SHARE_CPU)},
    {"memory", CONFORM_NUMBER, AMOUNT(conform_vector, total, ORR_SHARE_MEMORY)},
};
static const struct conform_shape total_shape = {
    .what = "the total",
    .fields = total_fields,
    .field_count = COUNT(total_fields),
    .size = sizeof(struct conform_vector),
};

static const struct conform_field vector_fields[] = {
    {"id", CONFORM_STRING, true, AT(conform_vector, id)},
    {"function", CONFORM_STRING, true, AT(conform_vector, function)},
    {"queues", CONFORM_MAP, true, AT(conform_vector, queues), CNT(conform_vector, queue_count),
     .shape = &queue_shape},
    {"calls", CONFORM_LIST, AT(conform_vector, calls), CNT(conform_vector, call_count),
     .shape = &call_shape},
    {"expected_fair_share", CONFORM_MAP, AT(conform_vector, shares),
     CNT(conform_vector, share_count), .shape = &share_shape},
    {"expected_results", CONFORM_PAIRS, AT(conform_vector, results),
     CNT(conform_vector, result_count)},
    {"total", CONFORM_OBJECT, .at = 0, .shape = &total_shape},
    {"k", CONFORM_NUMBER, AT(conform_vector, k)},
};
static const struct conform_shape vector_shape = {
    .what = "a fair-share vector",
    .fields = vector_fields,
    .field_count = COUNT(vector_fields),
    .size = sizeof(struct conform_vector),
};

enum orr_status orr_conform__read_vector(struct conform_reader *reader, struct fy_node *node,
                                         struct conform_vector *out)
{
    *out = (struct conform_vector){0};
    enum orr_status status = orr_conform__object(reader, node, &vector_shape, out);
    for (uint32_t i = 0; status == ORR_OK && i < out->queue_count; i++) {
        if (fabs(out->queues[i].created_s) > 9e9) {
            status = orr_conform__fail(reader, node, "queue \"%s\": created_s is out of range",
                                       out->queues[i].name);
        }
    }
    for (uint32_t i = 0; status == ORR_OK && i < out->share_count; i++) {
        bool known = false;
        for (uint32_t q = 0; q < out->queue_count; q++) {
            known = known || strcmp(out->shares[i].name, out->queues[q].name) == 0;
        }
        if (!known) {
            status = orr_conform__fail(reader, node, "expected_fair_share names no queue: \"%s\"",
                                       out->shares[i].name);
        }
    }
    return status;
}
