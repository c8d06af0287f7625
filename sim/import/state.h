/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - a model as a scenario and a trace. */
#ifndef ORR_SIM_IMPORT_STATE_H
#define ORR_SIM_IMPORT_STATE_H

#include "model.h"

enum orr_status import_write_state(struct import_model *model, const struct orr_snapshot_rest *rest,
                                   const char *trace_name, FILE *scenario, FILE *trace,
                                   struct orr_snapshot_state *out) ORR_MUST_USE;

#endif
