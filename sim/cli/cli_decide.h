/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_decide.h - `schedule` of policies that decide in runs. */
#ifndef ORR_SIM_CLI_DECIDE_H
#define ORR_SIM_CLI_DECIDE_H

#include "cli.h"

struct orr_cli_decide {
    const char *const *paths, *const *params;
    uint32_t path_count, param_count;
    const char *policy;            /* NULL: the scenario's */
    const char *shard, *scheduler; /* of a snapshot, or NULL */
    const char *at;                /* as typed; NULL: where the scenario's decisions begin */
    orr_ms remaining_ms, run_ms;   /* as in orr_cli_now */
};

/* Decides on one snapshot or scenario and prints the answer; the exit code. */
int orr_cli_decide(const struct orr_cli_decide *ask, const struct orr_cli_common *common);

#endif
