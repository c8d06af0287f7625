/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_admission.h - `schedule --policy kueue`. */
#ifndef ORR_SIM_CLI_ADMISSION_H
#define ORR_SIM_CLI_ADMISSION_H

#include <orrery/sim/admission.h>

#include "cli.h"

/* Runs the cycles and prints the answer; the exit code. */
int orr_cli_admission(const struct orr_snapshot_options *options, int64_t cycles,
                      const struct orr_cli_common *common);

#endif
