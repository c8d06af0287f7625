/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <orrery/base/text.h>

#include "cli.h"

#define REDRAW_S 0.1
#define BAR      32
#define AROUND   12         /* columns of the rest of the line: brackets, per cent, blanks */
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

/* A line that is longer than the terminal is wide could not be cleared. */
static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void fill_bar(char bar[BAR + 1], int room, double share)
{
    const int cells = room < 0 ? 0 : room < BAR ? room : BAR;
    const int filled = (int)(share * cells);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(cells - filled));
    bar[cells] = '\0';
}

void orr_progress_draw(uint64_t done, uint64_t total, orr_ms now, void *context)
{
    struct orr_progress *progress = context;
    double time = orr_wall_seconds();
    if (!progress->on || time - progress->last_s < REDRAW_S) {
        return;
    }
    progress->last_s = time;
    double share = total == 0 ? 1.0 : (double)done / (double)total;
    char bar[BAR + 1], span[32], beside[60], line[BAR + 120];
    if (now == ORR_MS_NONE) {
        (void)snprintf(beside, sizeof beside, "%llu of %llu", (unsigned long long)done,
                       (unsigned long long)total);
    } else {
        (void)orr_format_span(span, now);
        (void)snprintf(beside, sizeof beside, "simulated %s", span);
    }
    const int columns = terminal_columns();
    fill_bar(bar, columns - (int)strlen(beside) - AROUND, share);
    (void)snprintf(line, sizeof line, "\r[%s] %3.0f %%  %s", bar, 100.0 * share, beside);
    line[columns < (int)sizeof line ? columns : (int)sizeof line - 1] = '\0'; /* no second line */
    orr_cli_command(stderr, line);
    orr_cli_command(stderr, "\033[K");
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
