/* SPDX-License-Identifier: GPL-3.0-or-later */
/* print.c - a comparison as a table for people, papers and programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/names.h>
#include <orrery/analysis/csv.h>
#include <orrery/analysis/markdown.h>
#include <orrery/base/text.h>

#define LEAST_SHOWN 1e-9 /* what is less is shown as 0 */

/* A number with as many digits as are worth reading; "-" for none. */
static const char *number(double value, char out[32])
{
    const double size = fabs(value);
    if (isnan(value)) {
        (void)snprintf(out, 32, "-");
    } else if (isinf(value)) {
        (void)snprintf(out, 32, value > 0 ? "inf" : "-inf");
    } else if (size >= 1000 || size < LEAST_SHOWN || !(fabs(value - round(value)) > 0)) {
        (void)snprintf(out, 32, "%.0f", value);
    } else if (size >= 10) {
        (void)snprintf(out, 32, "%.1f", value);
    } else {
        (void)snprintf(out, 32, "%.3g", value);
    }
    return out;
}

static const char *signed_number(double value, char out[32])
{
    char plain[32];
    (void)number(value, plain);
    (void)snprintf(out, 32, "%s%.30s", value > 0 && isfinite(value) ? "+" : "", plain);
    return out;
}

static const char *interval(const struct orr_paired *p, char out[80])
{
    char low[32], high[32];
    if (p->lost + p->found > 0) {
        (void)snprintf(out, 80, "%s", orr_paired_words(p, low, sizeof low));
    } else if (p->alike) {
        (void)snprintf(out, 80, "alike in all %u", p->n);
    } else if (isnan(p->low)) {
        (void)snprintf(out, 80, "no interval");
    } else if (orr_paired_below_nothing(p)) {
        (void)orr_paired_part_words(p, out, 80);
    } else {
        (void)snprintf(out, 80, "%s to %s", signed_number(p->low, low),
                       signed_number(p->high, high));
    }
    return out;
}

/* Where a pair has no difference, the others' is no answer. */
static double difference(const struct orr_paired *p)
{
    return p->lost + p->found > 0 ? (double)NAN : p->difference;
}

static double chance_of(const struct orr_paired *p)
{
    return p->lost + p->found > 0 ? (double)NAN : p->p;
}

static double percent(const struct orr_paired *p)
{
    return p->lost + p->found == 0 && fabs(p->base_mean) > 0
               ? 100 * p->difference / fabs(p->base_mean)
               : (double)NAN;
}

/* A p-value; "-" for none. */
static const char *chance(double p, char out[32])
{
    (void)snprintf(out, 32, isnan(p) ? "-" : "%.2g", p);
    return out;
}

static void name_of(const struct orr_compare_metric *metric, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "%s%s%s%s", metric->name, metric->shown[0] != '\0' ? "{" : "",
                   metric->shown, metric->shown[0] != '\0' ? "}" : "");
}

/* A change with its unit: times as people say them. */
static const char *amount(const struct orr_compare_metric *metric, double value, char out[64])
{
    char text[32];
    if (strcmp(metric->unit, "s") == 0) {
        (void)snprintf(out, 64, "%s%s", value > 0 ? "+" : "", orr_format_rough(text, value));
    } else {
        (void)snprintf(out, 64, "%s%s%s", signed_number(value, text),
                       strcmp(metric->unit, "1") == 0 ? "" : " ",
                       strcmp(metric->unit, "1") == 0 ? "" : metric->unit);
    }
    return out;
}

const char *orr_compare_figure(const char *unit, double value, bool with_sign, char out[40])
{
    char text[32];
    if (strcmp(unit, "s") == 0) {
        (void)orr_format_rough(text, value);
    } else {
        (void)number(value, text);
    }
    (void)snprintf(out, 40, "%s%s", with_sign && value > 0 && isfinite(value) ? "+" : "", text);
    return out;
}

/* The mean of a side; what was not reached counts in it as the least it can be. */
static void side(const char *unit, double mean, bool open, char out[40])
{
    char text[40];
    (void)orr_compare_figure(unit, mean, false, text);
    (void)snprintf(out, 40, !open ? "%.39s" : mean > 0 ? ">%.38s" : "not reached", text);
}

/* Do two numbers differ by so much, but for 5 % of it? */
static bool differ_by(double base, double other, double difference)
{
    return fabs(other - base - difference) <= 0.05 * fabs(difference);
}

/* Of a time that orr_format_rough wrote: how many seconds its unit has. */
static double unit_s(const char *rough)
{
    const char *space = strchr(rough, ' ');
    const char *unit = space != NULL ? space + 1 : "s";
    return strcmp(unit, "min") == 0 ? 60 : *unit == 'h' ? 3600 : *unit == 'd' ? 86400 : 1;
}

/* Times both in the unit of their change, with as many digits as show it; as people say them where
 * that shows at least half of it, and no more than half as much again. */
static void sides_s(const struct orr_paired *p, char base[40], char other[40])
{
    char change[32];
    const double apart = p->other_mean - p->base_mean;
    const double shown = strtod(other, NULL) * unit_s(other) - strtod(base, NULL) * unit_s(base);
    const double unit = unit_s(orr_format_rough(change, apart));
    const char *word = strchr(change, ' ');
    if (word == NULL || fabs(shown - apart) <= 0.5 * fabs(apart)) {
        return;
    }
    for (int decimals = 0; decimals <= 12; decimals++) {
        (void)snprintf(base, 40, "%.*f%.8s", decimals, p->base_mean / unit, word);
        (void)snprintf(other, 40, "%.*f%.8s", decimals, p->other_mean / unit, word);
        if (differ_by(strtod(base, NULL), strtod(other, NULL), apart / unit)) {
            break;
        }
    }
}

void orr_compare_sides(const char *unit, const struct orr_paired *p, char base[40], char other[40])
{
    const bool open = orr_paired_base_open(p) || orr_paired_other_open(p);
    const double apart = difference(p), size = fmax(fabs(p->base_mean), fabs(p->other_mean));
    side(unit, p->base_mean, orr_paired_base_open(p), base);
    side(unit, p->other_mean, orr_paired_other_open(p), other);
    if (open || !(fabs(apart) >= LEAST_SHOWN) || size > 1e12 ||
        !differ_by(p->base_mean, p->other_mean, apart)) {
        return;
    }
    if (strcmp(unit, "s") == 0) {
        sides_s(p, base, other);
        return;
    }
    int decimals = size >= 1000 ? 1 : size >= 10 ? 2 : 3;
    for (; decimals <= 12 && !differ_by(strtod(base, NULL), strtod(other, NULL), apart);
         decimals++) {
        (void)snprintf(base, 40, "%.*f", decimals, p->base_mean);
        (void)snprintf(other, 40, "%.*f", decimals, p->other_mean);
    }
}

static const char *verdict_of(const struct orr_compare_metric *metric, const struct orr_paired *p)
{
    static const char *const words[] = {"", ", which may be chance", " (better)", " (worse)", ""};
    return words[orr_compare_verdict(metric, p)];
}

/* Of a quantile that one side did not reach: more than any number. */
static void say_reached(const struct orr_comparison *c, const struct orr_compare_metric *m,
                        const struct orr_paired *p, uint32_t arm, const char *name, char *text,
                        size_t bytes)
{
    const char *base = c->arms[0].label, *other = c->arms[arm].label;
    const bool lost = p->lost > 0;
    const double bound = lost ? p->other_mean : p->base_mean;
    const uint32_t pairs = orr_paired_pairs(p);
    char rough[24], of_pairs[60] = "", at_least[60] = "", back[80] = "";
    if (pairs > 1) {
        (void)snprintf(of_pairs, sizeof of_pairs, " in %u of %u pair%s", lost ? p->lost : p->found,
                       pairs, ORR_PLURAL(pairs));
    }
    if (bound > 0 && strcmp(m->unit, "s") == 0) {
        (void)snprintf(at_least, sizeof at_least, " (there it is more than %s%s)",
                       orr_format_rough(rough, bound), pairs > 1 ? " on average" : "");
    }
    if (lost && p->found > 0) {
        (void)snprintf(back, sizeof back, ", and the other way round in %u", p->found);
    }
    (void)snprintf(text, bytes, "%s: not reached under %s%s%s, and reached under %s%s%s.", name,
                   lost ? other : base, of_pairs, at_least, lost ? base : other, back,
                   verdict_of(m, p));
}

/* How many times: with two digits or more of what makes it other than 1. */
static const char *times(double ratio, char out[32])
{
    const double apart = fabs(ratio - 1);
    int digits = 3;
    for (double least = 0.1; digits < 8 && apart > 0 && apart < least; least /= 10) {
        digits++;
    }
    (void)snprintf(out, 32, "%.*g", digits, ratio);
    return out;
}

/* Of times as long, which are no difference. */
static void say_ratio(const struct orr_comparison *c, const struct orr_paired *p, uint32_t metric,
                      uint32_t arm, char *text, size_t bytes)
{
    char range[140] = "no interval", low[32], high[32], mean[32];
    if (p->alike) {
        (void)snprintf(range, sizeof range, "the same in all %u pair%s, p = %.2g", p->n,
                       ORR_PLURAL(p->n), p->p);
    } else if (!isnan(p->low)) {
        (void)snprintf(range, sizeof range, "%g %% interval %s to %s, n = %u, p = %.2g",
                       100 * c->level, times(1 + p->low, low), times(1 + p->high, high), p->n,
                       p->p);
    }
    (void)snprintf(text, bytes,
                   "%s: jobs that ended under both took %s times as long under %s as under %s "
                   "(geometric mean, job by job)%s; %s.",
                   ORR_JCT_RATIO, times(p->other_mean, mean), c->arms[arm].label, c->arms[0].label,
                   orr_paired_order(p) == 0 ? ", which may be chance"
                                            : verdict_of(&c->metrics[metric], p),
                   range);
}

enum { TIMES_FROM = 10000 }; /* percent that nobody reads as such */

void orr_comparison_sentence(const struct orr_comparison *c, uint32_t metric, uint32_t arm,
                             char *text, size_t bytes)
{
    const struct orr_compare_metric *m = &c->metrics[metric];
    const struct orr_paired *p = orr_comparison_cell(c, metric, arm);
    const char *base = c->arms[0].label, *other = c->arms[arm].label;
    char name[400], change[64], low[64], high[64], range[140], share[40] = "";
    name_of(m, name, sizeof name);
    if (p->lost + p->found > 0) {
        say_reached(c, m, p, arm, name, text, bytes);
        return;
    }
    if (p->n == 0 && p->neither > 0) {
        (void)snprintf(text, bytes, "%s: reached under neither %s nor %s.", name, base, other);
        return;
    }
    if (p->n == 0 || isnan(p->difference)) {
        const bool neither = isnan(p->base_mean) == isnan(p->other_mean);
        (void)snprintf(text, bytes, "%s: has no value under %s%s%s.", name,
                       isnan(p->base_mean) || neither ? base : other, neither ? " or " : "",
                       neither ? other : "");
        return;
    }
    if (strcmp(m->name, ORR_JCT_RATIO) == 0) {
        say_ratio(c, p, metric, arm, text, bytes);
        return;
    }
    if (isfinite(percent(p)) && percent(p) >= TIMES_FROM) {
        (void)snprintf(share, sizeof share, ", %.0f times as much", 1 + percent(p) / 100);
    } else if (isfinite(percent(p))) {
        char number_text[32];
        (void)snprintf(share, sizeof share, ", %s %%", signed_number(percent(p), number_text));
    }
    (void)amount(m, p->difference, change);
    if (p->alike) {
        char among[40] = "";
        if (c->arm_count > 2) {
            (void)snprintf(among, sizeof among, " among %u setting%s", c->arm_count - 1,
                           ORR_PLURAL(c->arm_count - 1));
        }
        (void)snprintf(text, bytes,
                       "%s: no difference between %s and %s could be shown; %s in each of %u "
                       "pair%s, so few that it may be chance: p = %.2g%s.",
                       name, base, other, change, p->n, ORR_PLURAL(p->n), p->p, among);
        return;
    }
    if (isnan(p->low)) {
        (void)snprintf(text, bytes, "%s: %s%s from %s to %s, %s: no interval.", name, change, share,
                       base, other,
                       p->n > 1 ? "not reached in many draws of the blocks" : "on this one trace");
        return;
    }
    if (orr_paired_below_nothing(p)) {
        (void)orr_paired_part_words(p, range, sizeof range);
    } else {
        (void)snprintf(range, sizeof range, "%s to %s", amount(m, p->low, low),
                       amount(m, p->high, high));
    }
    if (!(fabs(p->difference) > 0) && !(p->high > p->low)) {
        (void)snprintf(text, bytes, "%s: the same under %s and %s in all %u.", name, base, other,
                       p->n);
    } else if (orr_paired_order(p) == 0) {
        char among[60] = "";
        if (p->among) {
            (void)snprintf(among, sizeof among, ", p = %.2g among %u setting%s", p->p,
                           c->arm_count - 1, ORR_PLURAL(c->arm_count - 1));
        }
        (void)snprintf(text, bytes,
                       "%s: no difference between %s and %s could be shown; %s, %g %% interval %s, "
                       "n = %u%s.",
                       name, base, other, change, 100 * c->level, range, p->n, among);
    } else {
        (void)snprintf(
            text, bytes, "%s: %s%s from %s to %s%s; %g %% interval %s, n = %u, p = %.2g.", name,
            change, share, base, other, verdict_of(m, p), 100 * c->level, range, p->n, p->p);
    }
}

/* Is there a difference beyond jitter that blocks do not show? */
static bool differ_only_here(const struct orr_comparison *c, uint32_t m, uint32_t arm)
{
    const struct orr_paired *beside = &c->beside[(size_t)m * c->arm_count + arm];
    return orr_compare_verdict(&c->metrics[m], orr_comparison_cell(c, m, arm)) >= ORR_ON_BETTER &&
           orr_compare_verdict(&c->metrics[m], beside) == ORR_ON_OPEN;
}

void orr_comparison_jitter(const struct orr_comparison *c,
                           void (*say)(const char *text, void *context), void *context)
{
    char text[1200], sentence[1000], block[32];
    if (!c->jitter) {
        return;
    }
    say("The input of one trace was shaken: these intervals cover that jitter, not other traces.",
        context);
    if (c->beside == NULL) {
        say(c->none_beside, context);
        return;
    }
    struct orr_comparison blocks = *c;
    blocks.cells = c->beside;
    (void)orr_format_rough(block, (double)c->beside_ms / 1000.0);
    (void)snprintf(text, sizeof text,
                   "From %u block%s of %s of its submits, which stand for other times like these "
                   "(Student's t, with the spread of 1000 draws of these blocks: block bootstrap, "
                   "Carlstein 1986):",
                   c->beside_blocks, ORR_PLURAL(c->beside_blocks), block);
    say(text, context);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            if (orr_paired_pairs(orr_comparison_cell(&blocks, m, a)) > 0) {
                orr_comparison_sentence(&blocks, m, a, sentence, sizeof sentence);
                (void)snprintf(text, sizeof text, "  %s%s", sentence,
                               differ_only_here(c, m, a)
                                   ? " Both hold: on this trace the difference is more than "
                                     "jitter, but it is not steady from part to part, so that "
                                     "another trace like it may show none."
                                   : "");
                say(text, context);
            }
        }
    }
}

/* --- formats --- */

static const char *mark(const struct orr_compare_metric *m, const struct orr_paired *p)
{
    static const char *const marks[] = {"?", "=", "better", "worse", "~"};
    return marks[orr_compare_verdict(m, p)];
}

const char *orr_compare_interval(const char *unit, const struct orr_paired *p, char out[100])
{
    char low[40], high[40];
    if (p->lost + p->found > 0) {
        (void)orr_paired_words(p, out, 100);
    } else if (p->alike) {
        (void)snprintf(out, 100, "alike in all %u", p->n);
    } else if (isnan(p->low)) {
        *out = '\0';
    } else if (orr_paired_below_nothing(p)) {
        (void)orr_paired_part_words(p, out, 100);
    } else {
        (void)snprintf(out, 100, "%s to %s", orr_compare_figure(unit, p->low, true, low),
                       orr_compare_figure(unit, p->high, true, high));
    }
    return out;
}

static const char *figures_interval(const struct orr_compare_metric *metric,
                                    const struct orr_paired *p, char out[100])
{
    return *orr_compare_interval(metric->unit, p, out) != '\0' ? out : "-";
}

static void text_row(const struct orr_comparison *c, uint32_t m, uint32_t a, int width, FILE *out)
{
    const struct orr_compare_metric *metric = &c->metrics[m];
    const struct orr_paired *p = orr_comparison_cell(c, m, a);
    char name[400], base[40], other[40], change[40], share[32], range[100], p_text[32];
    name_of(metric, name, sizeof name);
    orr_pad(out, name, width);
    orr_compare_sides(metric->unit, p, base, other);
    (void)fprintf(out, " %11s %11s %11s %8s", base, other,
                  orr_compare_figure(metric->unit, difference(p), true, change),
                  signed_number(percent(p), share));
    if (!c->one_trace) {
        (void)fprintf(out, "  %-24s %3u %9s  %s", figures_interval(metric, p, range),
                      orr_paired_pairs(p), chance(chance_of(p), p_text), mark(metric, p));
    } else {
        const int order = metric->better == ORR_BETTER_NEITHER ? 0 : orr_paired_order_as_is(p);
        const bool is_less = metric->better == ORR_BETTER_LESS;
        (void)fprintf(out, "%s", order == 0 ? "" : (order < 0) == is_less ? "  better" : "  worse");
    }
    (void)fputc('\n', out);
}

static void text_arm(const struct orr_comparison *c, uint32_t arm, FILE *out)
{
    struct orr_arena arena;
    int width = 34;
    orr_arena_init(&arena);
    const uint32_t *order = orr_comparison_order(c, arm, &arena);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        char name[400];
        name_of(&c->metrics[m], name, sizeof name);
        width = orr_text_width(name) > width ? orr_text_width(name) : width;
    }
    (void)fprintf(out, "%-*s %11.11s %11.11s %11s %8s", width, "metric", c->arms[0].label,
                  c->arms[arm].label, "change", "%");
    (void)fputs(c->one_trace ? "\n" : "  interval of the change     n  p (Holm)\n", out);
    for (uint32_t r = 0; r < c->metric_count; r++) {
        text_row(c, order[r], arm, width, out);
    }
    orr_arena_release(&arena);
}

/* Which arms have jobs that did not start, or never could have, and how those count; `end` is that
 * of a line. */
static void note_unstarted(const struct orr_comparison *c, const char *end, FILE *out)
{
    bool any = false, nevers = false;
    for (uint32_t a = 0; a < c->arm_count; a++) {
        if (c->arms[a].nevers > 0) {
            (void)fprintf(out, "%s%s: %llu job%s never could have started", nevers ? "; " : "",
                          c->arms[a].label, (unsigned long long)c->arms[a].nevers,
                          ORR_PLURAL(c->arms[a].nevers));
            nevers = true;
        }
    }
    if (nevers) {
        (void)fprintf(out, ". They are in no quantile and no mean.%s", end);
    }
    for (uint32_t a = 0; a < c->arm_count; a++) {
        if (c->arms[a].unstarted > 0) {
            (void)fprintf(out, "%s%s: %llu of %llu job%s never started", any ? "; " : "",
                          c->arms[a].label, (unsigned long long)c->arms[a].unstarted,
                          (unsigned long long)c->arms[a].jobs, ORR_PLURAL(c->arms[a].jobs));
            any = true;
        }
    }
    if (any) {
        (void)fprintf(out,
                      ". Quantiles count them as waiting at least that long (Kaplan-Meier); means "
                      "are of those that started or ended.%s",
                      end);
    }
}

/* Pairs that say nothing of a metric, because one side has no jobs that it could be of. */
static void note_missing(const struct orr_comparison *c, const char *end, FILE *out)
{
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            const struct orr_paired *p = orr_comparison_cell(c, m, a);
            char name[400];
            if (p->missing > 0) {
                name_of(&c->metrics[m], name, sizeof name);
                (void)fprintf(out, "%s: %u of %u pair%s of %s and %s have no value on one side.%s",
                              name, p->missing, p->missing + orr_paired_pairs(p),
                              ORR_PLURAL(p->missing + orr_paired_pairs(p)), c->arms[0].label,
                              c->arms[a].label, end);
            }
        }
    }
}

struct ending { /* of the lines of a note */
    FILE *out;
    const char *end;
};

static void note_line(const char *text, void *context)
{
    const struct ending *to = context;
    (void)fprintf(to->out, "%s%s", text, to->end);
}

static void note_jitter(const struct orr_comparison *c, const char *end, FILE *out)
{
    orr_comparison_jitter(c, note_line, &(struct ending){out, end});
}

/* Before any number: what they are not. `end` is that of a line. */
static void note_apart(const struct orr_comparison *c, const char *begin, const char *end,
                       FILE *out)
{
    if (c->apart != NULL) {
        (void)fprintf(out, "%s%s%s", begin, c->apart, end);
    }
}

static void print_text(const struct orr_comparison *c, FILE *out)
{
    note_apart(c, "", "\n\n", out);
    for (uint32_t a = 1; a < c->arm_count; a++) {
        (void)fprintf(out, "%s%s against %s%s\n", a > 1 ? "\n" : "", c->arms[a].label,
                      c->arms[0].label, c->one_trace ? ", on this one trace: no interval" : "");
        text_arm(c, a, out);
    }
    (void)fputc('\n', out);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            char sentence[1000];
            if (!c->one_trace) { /* else it says no more than its row */
                orr_comparison_sentence(c, m, a, sentence, sizeof sentence);
                (void)fprintf(out, "%s\n", sentence);
            }
        }
    }
    note_jitter(c, "\n", out);
    note_missing(c, "\n", out);
    note_unstarted(c, "\n", out);
}

void orr_comparison_print_short(const struct orr_comparison *c, FILE *out)
{
    struct orr_arena arena;
    orr_arena_init(&arena);
    note_apart(c, "", "\n\n", out);
    for (uint32_t a = 1; a < c->arm_count; a++) {
        const struct orr_comparison_ranking ranking = orr_comparison_rank(&c, 1, a, &arena);
        (void)fprintf(out, "%s%s against %s%s\n", a > 1 ? "\n" : "", c->arms[a].label,
                      c->arms[0].label, c->one_trace ? ", on this one trace: no interval" : "");
        orr_comparison_print_ranking(&ranking, a, ORR_RANKED, out);
    }
    orr_arena_release(&arena);
    note_jitter(c, "\n", out);
    note_missing(c, "\n", out);
    note_unstarted(c, "\n", out);
}

static void print_markdown(const struct orr_comparison *c, FILE *out)
{
    if (c->apart != NULL) {
        (void)fputs("**", out);
        orr_markdown_text(out, c->apart);
        (void)fputs("**\n\n", out);
    }
    (void)fputs("| metric | unit | ", out);
    orr_markdown_text(out, c->arms[0].label);
    (void)fprintf(out,
                  " | arm | value | change | %% | %g %% interval | n | p (Holm) |\n"
                  "|---|---|--:|---|--:|--:|--:|---|--:|--:|\n",
                  100 * c->level);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            const struct orr_paired *p = orr_comparison_cell(c, m, a);
            char name[400], base[40], other[40], change[32], share[32], range[80], p_text[32];
            name_of(&c->metrics[m], name, sizeof name);
            orr_compare_sides("", p, base, other);
            (void)fputs("| ", out);
            orr_markdown_text(out, name);
            (void)fprintf(out, " | %s | %s | ", c->metrics[m].unit, base);
            orr_markdown_text(out, c->arms[a].label);
            (void)fprintf(out, " | %s | %s | %s | %s | %u | %s |\n", other,
                          signed_number(difference(p), change), signed_number(percent(p), share),
                          interval(p, range), orr_paired_pairs(p), chance(chance_of(p), p_text));
        }
    }
    (void)fputs("\n", out);
    note_jitter(c, "\n", out);
    note_missing(c, "\n", out);
    note_unstarted(c, "\n", out);
}

static void csv_number(FILE *out, double value)
{
    if (isfinite(value)) {
        (void)fprintf(out, ",%.15g", value);
    } else {
        (void)fputc(',', out);
    }
}

static void print_csv(const struct orr_comparison *c, FILE *out)
{
    (void)fputs("metric,scope,label,unit,base,arm,n,base_mean,arm_mean,difference,low,high,p_holm,"
                "effect,lost,found,neither,missing,blocks_low,blocks_high,part_low,part_high\n",
                out);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            const struct orr_paired *p = orr_comparison_cell(c, m, a);
            (void)fprintf(out, "%s,%s,", c->metrics[m].name, c->metrics[m].scope);
            orr_csv_text(out, c->metrics[m].label);
            (void)fprintf(out, ",%s,", c->metrics[m].unit);
            orr_csv_text(out, c->arms[0].label);
            (void)fputc(',', out);
            orr_csv_text(out, c->arms[a].label);
            (void)fprintf(out, ",%u", p->n);
            const double values[] = {p->base_mean, p->other_mean, p->difference, p->low,
                                     p->high,      p->p,          p->effect};
            for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
                csv_number(out, values[i]);
            }
            (void)fprintf(out, ",%u,%u,%u,%u", p->lost, p->found, p->neither, p->missing);
            const struct orr_paired *beside =
                c->beside == NULL ? NULL : &c->beside[(size_t)m * c->arm_count + a];
            csv_number(out, beside == NULL ? (double)NAN : beside->low);
            csv_number(out, beside == NULL ? (double)NAN : beside->high);
            csv_number(out, p->part_low);
            csv_number(out, p->part_high);
            (void)fputc('\n', out);
        }
    }
}

static void latex_text(FILE *out, const char *text)
{
    static const struct {
        char character;
        const char *command;
    } commands[] = {{'\\', "\\textbackslash{}"}, {'^', "\\textasciicircum{}"},
                    {'~', "\\textasciitilde{}"}, {'<', "\\textless{}"},
                    {'>', "\\textgreater{}"},    {'|', "\\textbar{}"}};
    for (; *text != '\0'; text++) {
        const char *command = NULL;
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            command = commands[i].character == *text ? commands[i].command : command;
        }
        if (command != NULL) {
            (void)fputs(command, out);
            continue;
        }
        if (strchr("_%&#${}", *text) != NULL) {
            (void)fputc('\\', out);
        }
        (void)fputc(*text, out);
    }
}

/* For \\usepackage{booktabs}. */
static void print_latex(const struct orr_comparison *c, FILE *out)
{
    note_apart(c, "% ", "\n", out);
    (void)fputs("\\begin{tabular}{lllrrrrlrr}\n\\toprule\nmetric & unit & arm & ", out);
    latex_text(out, c->arms[0].label);
    (void)fprintf(
        out, " & value & change & \\%% & %g\\,\\%% interval & $n$ & $p$ (Holm) \\\\\n\\midrule\n",
        100 * c->level);
    for (uint32_t m = 0; m < c->metric_count; m++) {
        for (uint32_t a = 1; a < c->arm_count; a++) {
            const struct orr_paired *p = orr_comparison_cell(c, m, a);
            char name[400], base[40], other[40], change[32], share[32], range[80], p_text[32];
            name_of(&c->metrics[m], name, sizeof name);
            orr_compare_sides("", p, base, other);
            latex_text(out, name);
            (void)fputs(" & ", out);
            latex_text(out, c->metrics[m].unit);
            (void)fputs(" & ", out);
            latex_text(out, c->arms[a].label);
            (void)fprintf(out, " & $%s$ & $%s$ & $%s$ & $%s$ & ", base, other,
                          signed_number(difference(p), change), signed_number(percent(p), share));
            latex_text(out, interval(p, range));
            (void)fprintf(out, " & $%u$ & $%s$ \\\\\n", orr_paired_pairs(p),
                          chance(chance_of(p), p_text));
        }
    }
    (void)fputs("\\bottomrule\n\\end{tabular}\n", out);
    if (c->jitter) {
        (void)fputs("% intervals: jitter of one trace, not other traces\n", out);
    }
}

void orr_comparison_print(const struct orr_comparison *comparison, enum orr_compare_format format,
                          FILE *out)
{
    switch (format) {
    case ORR_COMPARE_TEXT: print_text(comparison, out); break;
    case ORR_COMPARE_MARKDOWN: print_markdown(comparison, out); break;
    case ORR_COMPARE_CSV: print_csv(comparison, out); break;
    case ORR_COMPARE_LATEX: print_latex(comparison, out); break;
    }
}
