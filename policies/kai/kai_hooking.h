/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kai_hooking.h - the hooks of a plug-in (kai_hooks.h), and the orders that parameters ask for, as
 * those of the session. */
#ifndef ORR_KAI_HOOKING_H
#define ORR_KAI_HOOKING_H

#include "kai_build.h"
#include "kai_reserve.h"

struct orr_kai_hooking {
    const struct orr_kai_hooks *plugin; /* NULL: none */
    const struct orr_kai_params *params;
    void *self; /* the plug-in's */
    bool opened;
    const char *fault; /* what it did that no hook may; NULL: nothing */
    struct orr_session_hooks hooks;
    struct orr_kai_reserve reserve; /* opened if `reservation` asks for it */
    bool always; /* something but the reservation is hooked: every cycle is literal */
    struct orr_session *session;
    uint32_t *queue_in_run; /* by queue of the session */
    const uint32_t *first_ask;
    const struct orr_view *view; /* of the cycle, as job_of_slot */
    const uint32_t *job_of_slot;
};

/* Errors: nobody loaded what the parameters name, or its `open` said no. Closed in any case. */
enum orr_status orr_kai__hooking_open(struct orr_kai_hooking *hooking, const struct orr_host *host,
                                      const struct orr_kai_params *params,
                                      const struct orr_view *view,
                                      const struct orr_kai_build *build,
                                      struct orr_session *session, struct orr_err *err);
void orr_kai__hooking_close(struct orr_kai_hooking *hooking);
/* A cycle begins in an open session. Without a reservation and other hooks it is not literal. */
void orr_kai__hooking_begin(struct orr_kai_hooking *hooking, const struct orr_view *view,
                            const uint32_t *job_of_slot);
bool orr_kai__hooking_failed(const struct orr_kai_hooking *hooking, struct orr_err *err);

#endif
