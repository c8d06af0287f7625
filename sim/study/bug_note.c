/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bug_note.c - what shows a broken invariant again: the resolved scenario, beside the one it came
 * from so that its traces are found, with what was wrong in its first line. */
#include <orrery/sim/point.h>

#include <stdio.h>
#include <string.h>

/* characters of a name that a shell takes as they are */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+,:=@%"

/* The options without which the run would not break again. */
static void put_options(const struct orr_point_options *options, char *out, size_t bytes)
{
    int used = snprintf(out, bytes, "%s", options->check_books ? " --check-books" : "");
    if (options->allow_loss_ppm > 0) {
        (void)snprintf(out + used, bytes - (size_t)used, " --allow-loss=%.4f%%",
                       options->allow_loss_ppm / 1e4);
    }
}

void orr_bug_keep(const struct orr_scenario *scenario, const struct orr_point_options *options,
                  const char *version, struct orr_err *err)
{
    if (err == NULL || (err->status != ORR_BUG && err->status != ORR_POLICY) ||
        scenario->resolved_yaml == NULL) {
        return;
    }
    char path[4200], text[sizeof err->text], words[64];
    put_options(options, words, sizeof words);
    (void)snprintf(path, sizeof path, "%s%s%s.bug.yaml", scenario->folder,
                   scenario->folder[0] == '\0' ? "" : "/", scenario->name);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return; /* what is wrong has been said */
    }
    const int first_line = (int)strcspn(err->text, "\n");
    const bool good = fprintf(out, "# orrery %s: %.*s\n%s", version, first_line, err->text,
                              scenario->resolved_yaml) > 0;
    if (fclose(out) != 0 || !good) {
        (void)remove(path);
        return;
    }
    const char *quote = path[strspn(path, PLAIN)] == '\0' ? "" : "'";
    (void)snprintf(text, sizeof text, "%s", err->text);
    (void)snprintf(err->text, sizeof err->text,
                   "%.540s. This is a bug: `orrery run%.60s %s%.300s%s` shows it again", text,
                   words, quote, path, quote);
}
