/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_now.h - a snapshot of a cluster where a verb asks for a scenario. */
#ifndef ORR_SIM_CLI_NOW_H
#define ORR_SIM_CLI_NOW_H

#include "cli.h"

#define ORR_CLI_NOW_REST                                                                           \
    "how long jobs still run is in no snapshot: give --history TRACE, to draw it "                 \
    "from jobs like them, or --remaining DURATION"

#define ORR_CLI_NOW_BOTH                                                                           \
    "--history says how long jobs run: --remaining and --run-time are for where there is none"

#define ORR_CLI_SCHEDULER_HELP                                                                     \
    "schedulerName of the pods that are meant, such as default-scheduler; their queue is their "   \
    "namespace where none is named (default: kai-scheduler)"

/* Its options but for --seed, which verbs have of their own; input: orr_cli_now. */
extern const struct argp orr_cli_now_argp;
/* For a verb with a --history of its own. */
extern const struct argp orr_cli_now_without_history_argp;
/* A span of an option; ends the program where it is none. */
orr_ms orr_cli_span(const struct argp_state *state, const char *name, const char *text);

void orr_cli_now_init(struct orr_cli_now *now);
/* If the scenario's path is a snapshot, the scenario becomes a text, which lives as `now` does.
 * ORR_USAGE, too, where it is none and options say what only a snapshot heeds. any_rest: the run
 * times need not be stated, for they do not matter, or --history says some of whatever is run. */
enum orr_status orr_cli_now_open(struct orr_cli_now *now, bool any_rest,
                                 struct orr_scenario_options *scenario,
                                 struct orr_err *err) ORR_MUST_USE;
/* One line about it, if it is one. */
void orr_cli_now_say(const struct orr_cli_now *now, const char *path, FILE *out);
void orr_cli_now_close(struct orr_cli_now *now);

#endif
