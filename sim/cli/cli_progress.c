/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <orrery/base/text.h>

#include "cli.h"

#define REDRAW_S 0.1
#define BAR      32
#define CLEAR    "\r\033[K" /* of the line */

double orr_wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void orr_progress_init(struct orr_progress *progress, const struct orr_cli_common *common)
{
    const char *term = getenv("TERM");
    *progress = (struct orr_progress){0};
    progress->on = orr_cli_is_terminal(stderr) && !common->quiet && !common->no_progress &&
                   getenv("CI") == NULL && (term == NULL || strcmp(term, "dumb") != 0);
}

void orr_progress_draw(struct orr_progress *progress, uint64_t done, uint64_t total, orr_ms now)
{
    double time = orr_wall_seconds();
    if (!progress->on || time - progress->last_s < REDRAW_S) {
        return;
    }
    progress->last_s = time;
    double share = total == 0 ? 1.0 : (double)done / (double)total;
    int filled = (int)(share * BAR);
    char bar[BAR + 1], span[32], beside[60], line[BAR + 120];
    for (int i = 0; i < BAR; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR] = '\0';
    if (now == ORR_MS_NONE) {
        (void)snprintf(beside, sizeof beside, "%llu of %llu", (unsigned long long)done,
                       (unsigned long long)total);
    } else {
        (void)orr_format_span(span, now);
        (void)snprintf(beside, sizeof beside, "simulated %s", span);
    }
    (void)snprintf(line, sizeof line, "\r[%s] %3.0f %%  %s \033[K", bar, 100.0 * share, beside);
    orr_cli_command(stderr, line);
}

void orr_cli_again(void)
{
    if (orr_cli_is_terminal(stderr)) {
        orr_cli_command(stderr, CLEAR);
    }
    (void)fprintf(stderr, "orrery: a run was killed (SIGKILL, as Linux does when memory ends) and "
                          "begins again\n");
}

void orr_progress_clear(struct orr_progress *progress)
{
    if (progress->on && progress->last_s > 0.0) {
        orr_cli_command(stderr, CLEAR);
    }
}
