/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gate.h - what `orrery gate` is asked for, and its two parts beside the verb: the judgement and
 * the proposal of a spec. */
#ifndef ORR_SIM_CLI_GATE_H
#define ORR_SIM_CLI_GATE_H

#include <orrery/analysis/gate.h>
#include <orrery/sim/gate_spec.h>

#include "cli.h"

struct orr_cli_gate_options {
    const char *results[ORR_CLI_LIST_MAX], *baselines[ORR_CLI_LIST_MAX];
    uint32_t result_count, baseline_count;
    const char *spec, *junit, *summary;
    uint32_t jobs;
    bool propose, bless;
    struct orr_cli_common common;
};

struct orr_cli_gate {
    const struct orr_cli_gate_options *options;
    struct orr_gate_spec spec;
    struct orr_gate_rule *rules;
    char (*labels)[300];
    struct orr_gate_result *results;
    uint32_t count;
    const char **names; /* of the runs at hand: the files that they are, or repeat */
    char notes[8000];   /* a line each */
    struct orr_progress progress;
    double started_s;
};

/* Judges the runs at hand by the spec: fills in rules, results and notes, which orr_cli_gate_close
 * releases. */
enum orr_status orr_cli_gate_judge(struct orr_cli_gate *gate, struct orr_err *err);
void orr_cli_gate_close(struct orr_cli_gate *gate);
/* Runs the results' scenario with shaken input and prints a spec with margins from these runs. */
enum orr_status orr_cli_gate_propose(struct orr_cli_gate *gate, struct orr_err *err);

#endif
