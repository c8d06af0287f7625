/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_build.h - a run's nodes, queues and requests as a session's. */
#ifndef ORR_KAI_BUILD_H
#define ORR_KAI_BUILD_H

#include "kai_params.h"

struct orr_kai_build {
    uint32_t *queue_of;  /* of the run -> of the session, or ORR_NONE */
    uint32_t *first_ask; /* per shape: asks of its groups are consecutive */
    bool protects;       /* some rule keeps young jobs safe: the end of that is worth a cycle */
};

void orr_kai__build(const struct orr_view *view, const struct orr_kai_params *params,
                    struct orr_session *session, struct orr_kai_build *build);
/* Takes over the queue's entitlements as they are now. */
void orr_kai__set_queue(const struct orr_view *view, const struct orr_kai_build *build,
                        struct orr_session *session, uint32_t queue);
void orr_kai__build_release(struct orr_kai_build *build);

/* Memory of a device as sessions have it: of one whose memory is not stated its parts. */
int64_t orr_kai__device_mib(const struct orr_node_type *type);
/* What a shape's gang is held together by; the names live as long as the cluster. */
struct orr_constraint orr_kai__constraint_of(const struct orr_cluster *cluster,
                                             struct orr_span span);
/* Tells requests apart by all that limits where they may go, resources excluded. */
uint64_t orr_kai__constraint_key(const struct orr_request *request);

#endif
