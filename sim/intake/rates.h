/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rates.h - measured step rates: how long a step takes by kind of job, GPU model and placement.
 *
 * Tables as Gavel and Shockwave publish them (one JSON object), and as profiles are given in a
 * scenario (CSV: steps, epochs).
 */
#ifndef ORR_SIM_INTAKE_RATES_H
#define ORR_SIM_INTAKE_RATES_H

#include <orrery/sim/profile.h>

#include "intake_int.h"

struct intake_rates_of { /* one kind of job */
    struct orr_profile_row *rows;
    struct orr_profile_epoch *epochs;
    uint32_t row_capacity, epoch_capacity;
    struct orr_profile profile; /* what the rows make; its reference is chosen at the end */
};

struct orr_intake_rates {
    struct orr_idmap models, names;
    struct intake_rates_of *of; /* by index in names */
    uint32_t capacity;
    bool has_epochs;
    uint64_t pairs; /* rates of two jobs on the same GPUs, which no profile holds */
    uint64_t unfit; /* rates of 0: the job does not fit there */
};

struct orr_intake_rates *intake_rates_new(void) ORR_MUST_USE;
/* The JSON table of a text; the text has a final NUL that bytes does not count. */
enum orr_status intake_rates_json(struct orr_intake_rates *rates, const char *path,
                                  const char *text, size_t bytes, struct orr_err *err) ORR_MUST_USE;
/* Chooses references once all tables are in: V100, on which Gavel's and Shockwave's steps were
 * counted, where a kind of job has it, else its first model. */
void intake_rates_refer(struct orr_intake_rates *rates);

/* "ResNet-18 (batch size 128)" as the name of a profile, resnet-18-b128. */
enum { INTAKE_PROFILE_NAME = 80 };
void intake_profile_name(struct orr_cell type, char out[INTAKE_PROFILE_NAME]);
const struct intake_rates_of *intake_rates_find(const struct orr_intake_rates *rates,
                                                const char *name);
/* Seconds on the reference: of so many steps, or of all epochs where there are some; 0: no rate. */
double intake_rates_seconds(const struct intake_rates_of *of, double steps, uint32_t gpus);

/* orr_intake_steps of a text in memory; at NULL: of the file. */
enum orr_status intake_steps_text(const char *path, struct orr_cell text,
                                  const struct orr_intake_rates *rates, FILE *out,
                                  struct orr_intake_report *report,
                                  struct orr_err *err) ORR_MUST_USE;

#endif
