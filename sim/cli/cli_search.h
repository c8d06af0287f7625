/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_search.h - what capacity, growth and tune ask alike: of which scenario, what shall hold, and
 * in how many runs. */
#ifndef ORR_SIM_CLI_SEARCH_H
#define ORR_SIM_CLI_SEARCH_H

#include <orrery/sim/study.h>

#include "cli.h"

struct orr_cli_search {
    struct orr_cli_common common;
    struct orr_scenario_options scenario; /* ready after orr_cli_search_prepare */
    struct orr_study_options study;       /* the same; its progress is drawn */
    uint32_t replicas, needed;            /* 0: not stated */
    uint32_t allow_loss_ppm;
    const char *clusters[ORR_CLI_LIST_MAX], *sets[ORR_CLI_LIST_MAX], *params[ORR_CLI_LIST_MAX],
        *expects[ORR_CLI_LIST_MAX];
    const char *shake;
    struct orr_progress progress;
    struct orr_arena arena;
};

/* Children of such a verb's parser: they take the argument and these options, and fill the
 * orr_cli_search that the verb names as its first child's input. Keys of the verb's own options
 * are from here on. */
#define ORR_CLI_SEARCH_KEYS 512
extern const struct argp_child orr_cli_searching[];

/* Opens the arena and the progress bar, and reads what was named. Fails as orr_cli_study_of;
 * release it in any case. */
enum orr_status orr_cli_search_prepare(struct orr_cli_search *search,
                                       struct orr_err *err) ORR_MUST_USE;
void orr_cli_search_release(struct orr_cli_search *search);

#endif
