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

/* What the policy's list says of a feature. */
const struct orr_feature *import_feature_row(enum import_feature feature);
/* Why a job waits for more than pods to be valid: fills the row's code and sentence. */
void import_explain(const struct import_model *model, const struct orr_session *session,
                    const struct import_job *job, struct orr_snapshot_waiting *row,
                    struct orr_snapshot *out);
/* How each search for victims ended for a job. */
void import_list_searches(const struct orr_sjob *job, struct orr_snapshot_waiting *row);
/* Tasks of a job in any of `states`. */
uint32_t import_count_in(const struct orr_session *session, const struct orr_sjob *job,
                         uint32_t states);
/* A text in the answer's arena. */
const char *import_say(struct orr_snapshot *out, const char *format, ...) ORR_PRINTF(2, 3);

#endif
