/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/gate.h>

#include <math.h>
#include <string.h>

#include <orrery/analysis/junit.h>
#include <orrery/analysis/markdown.h>
#include <orrery/base/mem.h>
#include <orrery/base/text.h>

const char *orr_gate_word(enum orr_verdict_kind verdict)
{
    static const char *const words[] = {"pass", "regressed", "inconclusive"};
    return words[verdict];
}

/* Turned so that more is worse. */
static struct orr_paired worsening(const struct orr_paired *paired, enum orr_better better)
{
    struct orr_paired worse = *paired;
    if (better == ORR_BETTER_MORE) {
        worse.difference = -paired->difference;
        worse.low = -paired->high;
        worse.high = -paired->low;
        worse.lost = paired->found; /* not reached is more than any number */
        worse.found = paired->lost;
    }
    return worse;
}

/* by_itself: the difference is the answer, without an interval. */
static enum orr_verdict_kind judge(const struct orr_paired *worse, double margin, bool by_itself)
{
    if (worse->lost > worse->found) { /* no margin reaches that far */
        return ORR_GATE_REGRESSED;
    }
    if (worse->lost > 0) {
        return ORR_GATE_INCONCLUSIVE;
    }
    if (worse->n == 0 && worse->found > 0) { /* reached at last */
        return ORR_GATE_PASS;
    }
    if (worse->n == 0 || isnan(worse->difference) || isnan(margin)) {
        return ORR_GATE_INCONCLUSIVE;
    }
    if (by_itself) {
        return worse->difference > margin ? ORR_GATE_REGRESSED : ORR_GATE_PASS;
    }
    if (isnan(worse->high)) {
        return ORR_GATE_INCONCLUSIVE;
    }
    if (worse->high <= margin) {
        return ORR_GATE_PASS;
    }
    const bool sure = worse->p < ORR_GATE_SURE && worse->difference > 0;
    return sure && worse->difference > margin ? ORR_GATE_REGRESSED : ORR_GATE_INCONCLUSIVE;
}

/* In words; with a sign if it is a change. */
static const char *amount(const char *unit, double value, bool change, char out[48])
{
    char rough[24];
    const char *sign = change && value > 0 ? "+" : "";
    if (strcmp(unit, "s") == 0) {
        (void)snprintf(out, 48, "%s%s", sign, orr_format_rough(rough, value));
    } else {
        (void)snprintf(out, 48, "%s%.4g", sign, fabs(value) > 0 ? value : 0.0);
    }
    return out;
}

/* Both means, with digits that show their difference. */
static void sides(const char *unit, const struct orr_paired *p, char before[48], char after[48])
{
    (void)amount(unit, p->base_mean, false, before);
    (void)amount(unit, p->other_mean, false, after);
    if (strcmp(unit, "s") == 0 || strcmp(before, after) == 0) {
        orr_compare_sides(unit, p, before, after);
    }
}

/* A change as a part of what the baseline has, " (+25 %)"; "" where that is nothing, or not known.
 */
static const char *part(double change, double baseline, char out[40])
{
    const double percent = 100 * change / fabs(baseline);
    out[0] = '\0';
    if (isfinite(percent)) {
        (void)snprintf(out, 40, fabs(percent) < 1000 ? " (%s%.3g %%)" : " (%s%.0f %%)",
                       percent > 0 ? "+" : "", fabs(percent) > 0 ? percent : 0.0);
    }
    return out;
}

/* Of a quantile that one side at least did not reach in some pair. */
static void describe_reached(struct orr_gate_result *r, const struct orr_paired *paired)
{
    const uint32_t pairs = orr_paired_pairs(paired);
    char bound[48], at_least[80] = "";
    const double least = paired->lost > 0 ? paired->other_mean : paired->base_mean;
    if (least > 0) {
        (void)snprintf(at_least, sizeof at_least, " (it is more than %s)",
                       amount(r->unit, least, false, bound));
    }
    if (paired->lost > 0) {
        (void)snprintf(r->text, sizeof r->text,
                       "%s is not reached any more in %u of %u run%s%s: too many jobs do not start "
                       "or end%s",
                       r->rule->metric, paired->lost, pairs, ORR_PLURAL(pairs), at_least,
                       paired->found > 0 ? ", and is reached in others for the first time" : "");
    } else if (paired->found > 0) {
        (void)snprintf(r->text, sizeof r->text,
                       "%s was not reached in %u of %u run%s of the baseline%s, and is now",
                       r->rule->metric, paired->found, pairs, ORR_PLURAL(pairs), at_least);
    } else {
        (void)snprintf(r->text, sizeof r->text,
                       "%s is reached on neither side: there is nothing to compare",
                       r->rule->metric);
    }
}

/* Before, after, the change and its interval as they are; the margin as what is still good enough.
 * Changes and the margin are percent of the baseline, too. */
static void describe(struct orr_gate_result *r, const struct orr_paired *paired, bool by_itself,
                     enum orr_better better)
{
    char before[48], after[48], change[48], low[48], high[48], margin[48], seen[48], range[100];
    char change_part[40], margin_part[40], seen_part[40];
    const double base = paired->base_mean, worse = better == ORR_BETTER_MORE ? -1 : 1;
    if (paired->lost + paired->found > 0 || (paired->n == 0 && paired->neither > 0)) {
        describe_reached(r, paired);
        return;
    }
    if (r->worse.n == 0 || isnan(r->worse.difference)) {
        (void)snprintf(r->text, sizeof r->text, "%s%s%s has no value in %s", r->rule->metric,
                       r->rule->label[0] != '\0' ? " of " : "", r->rule->label,
                       isnan(base) && isnan(paired->other_mean) ? "either side"
                       : isnan(base)                            ? "the baseline"
                                                                : "the new results");
        return;
    }
    sides(r->unit, paired, before, after);
    const int bytes = snprintf(r->text, sizeof r->text, "%s %s to %s: %s%s", r->rule->metric,
                               before, after, amount(r->unit, paired->difference, true, change),
                               part(paired->difference, base, change_part));
    const size_t used = bytes < (int)sizeof r->text ? (size_t)bytes : sizeof r->text - 1;
    if (better == ORR_BETTER_NEITHER) { /* and the rule does not say either */
        (void)snprintf(r->text + used, sizeof r->text - used,
                       "; it is a part of the capacity, which is not the same on both sides: "
                       "neither more nor less is better, unless the rule says so (better: more)");
        return;
    }
    (void)amount(r->unit, worse * r->margin, true, margin);
    (void)part(worse * r->margin, base, margin_part);
    if (by_itself || isnan(r->worse.low)) {
        (void)snprintf(r->text + used, sizeof r->text - used, "%s; allowed is %s%s",
                       by_itself ? "" : ", too few replicas for an interval", margin, margin_part);
        return;
    }
    if (orr_paired_below_nothing(paired)) {
        (void)orr_paired_part_words(paired, range, sizeof range);
    } else {
        (void)snprintf(range, sizeof range, "%s to %s", amount(r->unit, paired->low, true, low),
                       amount(r->unit, paired->high, true, high));
    }
    if (!(r->seen > r->margin)) {
        (void)snprintf(r->text + used, sizeof r->text - used,
                       " (95 %% interval %s, n = %u); allowed is %s%s, and any more is seen", range,
                       r->worse.n, margin, margin_part);
        return;
    }
    (void)snprintf(r->text + used, sizeof r->text - used,
                   " (95 %% interval %s, n = %u); allowed is %s%s, seen in "
                   "4 of 5 cases is %s%s",
                   range, r->worse.n, margin, margin_part,
                   amount(r->unit, worse * r->seen, true, seen),
                   part(worse * r->seen, base, seen_part));
}

static void add_missing(struct orr_gate_result *r, const struct orr_paired *paired)
{
    const size_t used = strlen(r->text);
    if (paired->missing > 0 && orr_paired_pairs(paired) > 0) {
        (void)snprintf(r->text + used, sizeof r->text - used,
                       "; %u of %u run%s have no value on one side", paired->missing,
                       paired->missing + orr_paired_pairs(paired),
                       ORR_PLURAL(paired->missing + orr_paired_pairs(paired)));
    }
}

void orr_gate_judge(const struct orr_gate_rule *rule, const char *unit, enum orr_better better,
                    const struct orr_paired *paired, bool fixed, struct orr_gate_result *result)
{
    better = rule->better != ORR_BETTER_NEITHER ? rule->better : better;
    *result = (struct orr_gate_result){.rule = rule, .unit = unit};
    result->worse = worsening(paired, better);
    result->margin = rule->relative ? rule->margin * fabs(paired->base_mean) : rule->margin;
    const bool by_itself = fixed || orr_metric_is(rule->metric, ORR_METRIC_CERTAIN);
    result->verdict = better == ORR_BETTER_NEITHER
                          ? ORR_GATE_INCONCLUSIVE
                          : judge(&result->worse, result->margin, by_itself);
    result->seen = by_itself ? result->margin
                             : orr_paired_seen(&result->worse, 0.95, ORR_GATE_SURE, result->margin,
                                               ORR_GATE_POWER);
    describe(result, paired, by_itself, better);
    add_missing(result, paired);
}

enum orr_verdict_kind orr_gate_all(const struct orr_gate_result *results, uint32_t count)
{
    enum orr_verdict_kind all = ORR_GATE_PASS;
    for (uint32_t i = 0; i < count; i++) {
        if (results[i].verdict == ORR_GATE_REGRESSED) {
            return ORR_GATE_REGRESSED;
        }
        if (results[i].verdict == ORR_GATE_INCONCLUSIVE) {
            all = ORR_GATE_INCONCLUSIVE;
        }
    }
    return all;
}

/* --- reports --- */

/* What is to be known beside the verdicts, a sentence each. */
static void each_note(const char *notes, void (*print)(FILE *out, const char *text, size_t bytes),
                      FILE *out)
{
    for (const char *at = notes; at != NULL && *at != '\0';) {
        const size_t bytes = strcspn(at, "\n");
        print(out, at, bytes);
        at += bytes + (at[bytes] == '\n');
    }
}

static void text_note(FILE *out, const char *text, size_t bytes)
{
    (void)fprintf(out, "note: %.*s\n", (int)bytes, text);
}

void orr_gate_print_text(const struct orr_gate_result *results, uint32_t count, const char *notes,
                         FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *name = results[i].rule->name;
        const bool named = strcmp(name, results[i].rule->metric) == 0; /* the text begins with it */
        (void)fprintf(out, "%-13s %s%s%s\n", orr_gate_word(results[i].verdict), named ? "" : name,
                      named ? "" : ": ", results[i].text);
    }
    each_note(notes, text_note, out);
}

static void markdown_note(FILE *out, const char *text, size_t bytes)
{
    char note[1000];
    (void)snprintf(note, sizeof note, "%.*s", (int)bytes, text);
    (void)fputs("\n", out);
    orr_markdown_text(out, note);
    (void)fputs("\n", out);
}

void orr_gate_print_markdown(const struct orr_gate_result *results, uint32_t count,
                             const char *notes, const char *title, FILE *out)
{
    (void)fprintf(out, "### %s: %s\n\n| rule | verdict | what was seen |\n|---|---|---|\n", title,
                  orr_gate_word(orr_gate_all(results, count)));
    for (uint32_t i = 0; i < count; i++) {
        (void)fputs("| ", out);
        orr_markdown_text(out, results[i].rule->name);
        (void)fprintf(out, " | **%s** | ", orr_gate_word(results[i].verdict));
        orr_markdown_text(out, results[i].text);
        (void)fputs(" |\n", out);
    }
    each_note(notes, markdown_note, out);
}

void orr_gate_print_junit(const struct orr_gate_result *results, uint32_t count, const char *notes,
                          double time_s, FILE *out)
{
    static const enum orr_junit_verdict verdicts[] = {ORR_JUNIT_PASS, ORR_JUNIT_FAILURE,
                                                      ORR_JUNIT_ERROR};
    struct orr_junit_case *cases = orr_zalloc(count + (size_t)1, sizeof *cases);
    for (uint32_t i = 0; i < count; i++) {
        cases[i] = (struct orr_junit_case){.name = results[i].rule->name,
                                           .text = results[i].text,
                                           .origin = results[i].rule->origin,
                                           .verdict = verdicts[results[i].verdict],
                                           .word = orr_gate_word(results[i].verdict)};
    }
    orr_junit_print(&(struct orr_junit){.suite = "orrery gate",
                                        .classname = "orrery.gate",
                                        .cases = cases,
                                        .count = count,
                                        .time_s = time_s,
                                        .notes = notes},
                    out);
    orr_free(cases);
}
