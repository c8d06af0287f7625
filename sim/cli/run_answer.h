/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_answer.h - what the parts of the answer of `orrery run` share. */
#ifndef ORR_SIM_RUN_ANSWER_H
#define ORR_SIM_RUN_ANSWER_H

#include "cli.h"

/* run_text.c: jobs that wait though nothing happens any more, and of which the policy does not say
 * why: it lost sight of them. *first: one of them. */
uint32_t run_forgotten(const struct orr_report *r, uint32_t *first);

/* run_tables.c; the first three return `out`. */
const char *run_number(double value, int digits, char out[24]);
const char *run_ratio(double value, char out[24]);
/* A quantile of waits; one that was not reached is more than the longest that anybody was seen to
 * wait. */
const char *run_quantile(const struct orr_waits *waits, double value_s, char out[24]);
void run_text_queues(const struct orr_report *r, FILE *out);
void run_text_shards(const struct orr_report *r, FILE *out);
/* What its policy has otherwise than by default. */
void run_text_params(const struct orr_engine_shard *shard, FILE *out);

#endif
