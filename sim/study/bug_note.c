/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bug_note.c - what shows a broken invariant again: the resolved scenario, beside the one it came
 * from so that its traces are found, with what was wrong in its first line. */
#include <orrery/sim/point.h>

#include <stdio.h>
#include <string.h>

void orr_bug_keep(const struct orr_scenario *scenario, const char *version, struct orr_err *err)
{
    if (err == NULL || (err->status != ORR_BUG && err->status != ORR_POLICY) ||
        scenario->resolved_yaml == NULL) {
        return;
    }
    char path[4200], text[sizeof err->text];
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
    (void)snprintf(text, sizeof text, "%s", err->text);
    (void)snprintf(err->text, sizeof err->text,
                   "%.600s. This is a bug: `orrery run %.300s` shows it again", text, path);
}
