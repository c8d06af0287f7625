/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answer.h - what a cycle decided, in names. */
#ifndef ORR_SIM_IMPORT_ANSWER_H
#define ORR_SIM_IMPORT_ANSWER_H

#include "model.h"

/* After the session is opened, before the cycle: fair shares and what is there. */
void import_answer_start(struct import_model *model, const struct orr_session *session,
                         struct orr_snapshot *out);
/* After the cycle, before the session is closed. Everything is copied. */
void import_answer(struct import_model *model, const struct orr_session *session,
                   struct orr_snapshot *out);

#endif
