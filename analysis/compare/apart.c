/* SPDX-License-Identifier: GPL-3.0-or-later */
/* apart.c - runs that were cut, held against ones that went on.
 *
 * A run that ends at its horizon, or that somebody interrupted, knows nothing of what came later:
 * its waits, sums and times to the end are of the part before. Services go on to any horizon, so
 * that a run with some is always cut. Under one horizon both sides are cut alike, and a run that
 * was done by then has nothing behind the other's cut. Any other pair measures two parts of time,
 * whatever differs in the setting.
 */
#include "compare_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

static bool goes_on_after(const struct orr_compare_run *run, const struct orr_compare_run *other)
{
    return other->cut && run->span_ms > other->span_ms;
}

/* What a resolved scenario says of the end of its run: the line itself. */
static bool same_horizon(const struct orr_compare_run *a, const struct orr_compare_run *b)
{
    static const char key[] = "\nhorizon:";
    const char *of_a = strstr(a->setting, key), *of_b = strstr(b->setting, key);
    if (a->interrupted || b->interrupted || of_a == NULL || of_b == NULL) {
        return false;
    }
    const size_t bytes = 1 + strcspn(of_a + 1, "\n");
    return bytes == 1 + strcspn(of_b + 1, "\n") && memcmp(of_a, of_b, bytes) == 0;
}

/* Points of a sweep are in one file, and go by their settings. */
static const char *name_of(const struct orr_compare_load *load, const struct orr_compare_run *run)
{
    return load->options->points != NULL ? load->comparison->arms[run->arm].label : run->name;
}

static const char *words_of(const struct orr_compare_load *load, const struct orr_compare_run *cut,
                            const struct orr_compare_run *other)
{
    char text[1600], until[24], to[24];
    const int bytes =
        snprintf(text, sizeof text,
                 "%.600s %s after %s, and %.600s went on to %s: their numbers are of different "
                 "parts of time, and none is better or worse; %s",
                 name_of(load, cut), cut->interrupted ? "was interrupted" : "ends at its horizon,",
                 orr_format_rough(until, (double)cut->span_ms / 1000.0), name_of(load, other),
                 orr_format_rough(to, (double)other->span_ms / 1000.0),
                 cut->interrupted ? "let it run to its end" : "run both with one horizon");
    return orr_arena_strndup(&load->comparison->arena, text, (size_t)bytes);
}

void orr_compare__part(struct orr_compare_load *load)
{
    struct orr_comparison *c = load->comparison;
    for (uint32_t r = 0; r < load->run_count && c->apart == NULL; r++) {
        const struct orr_compare_run *run = &load->runs[r];
        const struct orr_compare_run *base =
            run->arm == 0 ? NULL : orr_compare__base_of(load, run->seed);
        if (base != NULL && !same_horizon(run, base)) {
            c->apart = goes_on_after(base, run)   ? words_of(load, run, base)
                       : goes_on_after(run, base) ? words_of(load, base, run)
                                                  : NULL;
        }
    }
    for (uint32_t m = 0; c->apart != NULL && m < c->metric_count; m++) {
        c->metrics[m].better = ORR_BETTER_NEITHER;
    }
}
