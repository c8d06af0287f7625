/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linked with --wrap=orr_kai_run: every cycle of the program is decided by the model as well. */
#include "shadow.h"

#include <stdlib.h>

/* Names the linker gives, not us. */
void __real_orr_kai_run(struct orr_session *session, const enum orr_action *actions,
                        uint32_t count); /* NOLINT */
void __wrap_orr_kai_run(struct orr_session *session, const enum orr_action *actions,
                        uint32_t count); /* NOLINT */

void __wrap_orr_kai_run(struct orr_session *session, const enum orr_action *actions,
                        uint32_t count) /* NOLINT */
{
    struct slow slow;
    slow_open(&slow, session, session->now);
    slow_run(&slow, actions, count);
    __real_orr_kai_run(session, actions, count);
    const uint32_t differences = shadow_compare(&slow, session, stderr);
    shadow_tally.cycles++;
    shadow_tally.differences += differences;
    for (uint32_t i = 0; i < session->decision_count; i++) {
        shadow_tally.decisions[session->decisions[i].action]++;
    }
    if (differences > 0 && getenv("SHADOW_PRINT") != NULL) {
        shadow_print(session, stderr);
    }
    slow_close(&slow);
    /* For programs that know nothing of the tally. */
    if (getenv("SHADOW_STRICT") != NULL) {
        if (shadow_tally.cycles == 1) {
            (void)fputs("every cycle is decided twice\n", stderr);
        }
        if (differences > 0) {
            abort();
        }
    }
}
