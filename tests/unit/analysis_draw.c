/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analysis_draw.c - draws by hand what the tests draw, to be looked at.
 *
 *   analysis_draw make OUT.db QUEUES NODES JOBS DAYS [calendar] [strange]
 *   analysis_draw plot R.db DIR TERM [FIGURE...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/plot.h>

#include "analysis_fixture.h"

static void report(void *context, const char *path, const char *message)
{
    (void)context;
    if (path == NULL) {
        (void)fprintf(stderr, "not drawn: %s\n", message);
        return;
    }
    (void)fprintf(stderr, "%s%s%s\n", path, message != NULL ? ": " : "",
                  message != NULL ? message : "");
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static int make(int argc, char **argv)
{
    struct fixture fixture = {.queues = number(argv[3]),
                              .nodes = number(argv[4]),
                              .jobs = number(argv[5]),
                              .days = number(argv[6]),
                              .origin_ms = -1};
    for (int i = 7; i < argc; i++) {
        fixture.origin_ms = strcmp(argv[i], "calendar") == 0 ? 1 : fixture.origin_ms;
        fixture.strange_names = fixture.strange_names || strcmp(argv[i], "strange") == 0;
    }
    fixture_write(argv[2], &fixture);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 7 && strcmp(argv[1], "make") == 0) {
        return make(argc, argv);
    }
    if (argc < 5 || strcmp(argv[1], "plot") != 0) {
        (void)fprintf(stderr, "see the head of analysis_draw.c\n");
        return 64;
    }
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    const char *names[16];
    for (int i = 5; i < argc && options.count < 16; i++) {
        names[options.count++] = argv[i];
    }
    options.figures = names;
    options.dir = argv[3];
    options.term = argv[4];
    struct orr_err err = {.status = ORR_OK};
    enum orr_status status = orr_plot_run(argv[2], &options, report, NULL, &err);
    if (status != ORR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    return orr_status_exit_code(status);
}
