/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_title.c - what stands above a figure: what it shows, of which run, and whole names. */
#include "plot_int.h"

#include <string.h>

#include <orrery/base/text.h>

void orr_plot__means_over(struct orr_plot *plot, orr_ms bucket_ms, const char *thin)
{
    plot->bucket_ms = bucket_ms;
    plot->thin = plot->term != ORR_PLOT_DUMB ? thin : NULL;
}

/* "; means over 10.9 h, thin line: peaks" */
static const char *means_note(struct orr_plot *plot, char out[80])
{
    char length[24];
    out[0] = '\0';
    if (plot->bucket_ms > 0) {
        (void)snprintf(out, 80, "; means over %s%s%s%s",
                       orr_format_rough(length, (double)plot->bucket_ms / 1000.0),
                       plot->recorded ? ", as recorded" : "",
                       plot->thin != NULL ? ", thin line: " : "",
                       plot->thin != NULL ? plot->thin : "");
    }
    plot->bucket_ms = 0;
    plot->recorded = false;
    return out;
}

/* A space that parts a number from its unit, "24.0 h". */
static bool parts_number(const char *text, size_t at)
{
    return at > 0 && text[at] == ' ' && text[at - 1] >= '0' && text[at - 1] <= '9' &&
           strcspn(text + at + 1, " ;,:") <= 5;
}

/* Where a line of text ends that has to go on: behind the last clause, where the rest fits below.
 */
static size_t clause_end(const char *text, size_t end, size_t most)
{
    size_t clause = 0;
    for (size_t i = 1; i < end && text[end] != '\0'; i++) {
        clause = text[i] == ' ' && text[i - 1] == ';' ? i : clause;
    }
    return clause > 0 && strlen(text + clause) <= most ? clause : end;
}

/* So many bytes of text, less what would part a letter of several. */
static size_t whole_letters(const char *text, size_t bytes)
{
    while (bytes > 1 && ((unsigned char)text[bytes] & 0xc0) == 0x80) {
        bytes--;
    }
    return bytes;
}

uint32_t orr_plot__wrap(struct orr_plot *plot, const char *text, double letters)
{
    const size_t most = letters > 12 ? (size_t)letters : 12;
    uint32_t lines = 0;
    for (; *text != '\0'; lines++) {
        size_t end = 0, bytes = strlen(text);
        for (size_t i = 1; i <= bytes; i++) { /* the last end of a word that fits, or the first */
            if ((text[i] == ' ' || text[i] == '\0') && !parts_number(text, i) &&
                (i <= most || end == 0)) {
                end = i;
            }
        }
        char line[800];
        end = end > most ? whole_letters(text, most) : clause_end(text, end, most);
        (void)snprintf(line, sizeof line, "%.*s", (int)end, text);
        orr_plot__gp(plot, lines > 0 ? ".\"\\n\"." : "");
        orr_plot__quote(plot, line, 300, false);
        text += end + (text[end] == ' ');
    }
    return lines;
}

#define MOST_NAME_LINES 8 /* more would leave no room for axes */

/* Of names that the legend has without their middle. */
static void say_whole_names(struct orr_plot *plot, double letters)
{
    const uint32_t most = plot->title_lines + MOST_NAME_LINES;
    uint32_t left = 0;
    for (uint32_t q = 0; q < plot->named; q++) {
        const struct orr_plot_queue *queue = &plot->queues[q];
        char text[600];
        (void)snprintf(text, sizeof text, "%s: %.400s", queue->name, queue->whole);
        if (strcmp(queue->name, queue->whole) == 0) {
            continue;
        }
        if (plot->title_lines + (double)strlen(text) / letters + 1 > most) {
            left++;
            continue;
        }
        orr_plot__gp(plot, ".\"\\n\".");
        plot->title_lines += orr_plot__wrap(plot, text, letters);
    }
    if (left > 0) {
        orr_plot__gp(plot, ".\"\\n\".'and %u more name%s that are shortened'", left,
                     ORR_PLURAL(left));
        plot->title_lines++;
    }
    plot->named = 0;
}

/* What a title would say, for the file beside a figure without one. */
static void caption(struct orr_plot *plot, const char *what, const char *text)
{
    const size_t room = sizeof plot->caption;
    size_t used = (size_t)snprintf(plot->caption, room, "%.300s\n%.700s\n", what, text);
    for (uint32_t q = 0; q < plot->named && used < room; q++) {
        const struct orr_plot_queue *queue = &plot->queues[q];
        if (strcmp(queue->name, queue->whole) != 0) {
            used += (size_t)snprintf(plot->caption + used, room - used, "%s: %.400s\n", queue->name,
                                     queue->whole);
        }
    }
    plot->named = 0;
}

/* The part of the picture's width that a title has: it is centred over axes beside a legend. */
static double title_part(const struct orr_plot *plot)
{
    const struct orr_plot_slots slots = {.shown = plot->named};
    const uint32_t names = plot->named > 0 ? orr_plot__slots_letters(plot, slots) : 0;
    const uint32_t beside = plot->beside > names ? plot->beside : names;
    const double part = beside > 0 ? orr_plot__legend_side(plot, beside) : 1;
    return orr_plot__narrow(plot) ? 0.7 : part < 0.79 ? part + 0.15 : 1;
}

void orr_plot__title(struct orr_plot *plot, const char *what, const char *extra)
{
    char tail[300], length[40], means[80];
    const struct orr_plot_source *run = &plot->run;
    const double minutes = (double)(run->end - run->zero) / 60000.0;
    (void)snprintf(length, sizeof length,
                   minutes >= 2880  ? "%.1f days"
                   : minutes >= 120 ? "%.1f h"
                   : minutes >= 2   ? "%.3g min"
                                    : "%.3g s",
                   minutes >= 2880  ? minutes / 1440
                   : minutes >= 120 ? minutes / 60
                   : minutes >= 2   ? minutes
                                    : minutes * 60);
    const bool whole = strcmp(run->status, "finished") == 0;
    char jobs[48] = "", text[700];
    if (run->jobs >= 0) { /* several runs need not have as many */
        (void)snprintf(jobs, sizeof jobs, ", %lld %s", (long long)run->jobs,
                       ORR_ONE(run->jobs, "job", "jobs"));
    }
    if (run->name != NULL) {
        (void)snprintf(tail, sizeof tail, "%.100s", run->name);
    } else {
        (void)snprintf(tail, sizeof tail, "%u run%s", plot->among, ORR_PLURAL(plot->among));
    }
    (void)snprintf(text, sizeof text, "%s%s%.60s%s in %s%s%s%s%s", tail,
                   run->policy != NULL ? ", policy " : "", run->policy != NULL ? run->policy : "",
                   jobs, length,
                   whole                                 ? ""
                   : strcmp(run->status, "horizon") == 0 ? ", cut at the horizon"
                                                         : ", interrupted",
                   extra != NULL ? "; " : "", extra != NULL ? extra : "", means_note(plot, means));
    plot->title_lines = 0;
    if (plot->options->no_title) {
        caption(plot, what, text);
        orr_plot__gp(plot, "heading = ''\n");
        return;
    }
    orr_plot__gp(plot, "heading = ");
    const double letters = plot->letters * title_part(plot);
    plot->beside = 0;
    plot->title_lines += orr_plot__wrap(plot, what, letters);
    orr_plot__gp(plot, ".\"\\n\".");
    plot->title_lines += orr_plot__wrap(plot, text, letters);
    say_whole_names(plot, letters);
    orr_plot__gp(plot, "\nset title heading%s\n",
                 plot->term == ORR_PLOT_DUMB ? "" : " textcolor rgb '#202020'");
}

void orr_plot__plain_title(struct orr_plot *plot, const char *text)
{
    if (!plot->options->no_title) {
        orr_plot__gp(plot, "set title ");
        (void)orr_plot__wrap(plot, text, plot->letters * title_part(plot) * 0.85);
        orr_plot__gp(plot, "%s\n", orr_plot__ink(plot));
    }
}
