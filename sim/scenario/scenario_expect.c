/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_expect.c - METRIC{label=value,...} OP NUMBER, a time with its unit or a percentage. */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/analysis/metrics.h>
#include <orrery/base/text.h>

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct reader {
    const struct orr_scenario__load *load;
    const struct orr_scenario__node *node;
    const char *next;
};

static enum orr_status expected(const struct reader *reader, const char *what)
{
    struct orr_scenario__at at = orr_scenario__at_byte(reader->node->at, reader->node->text,
                                                       (size_t)(reader->next - reader->node->text));
    return orr_scenario__fail(reader->load, &at, "expect: expected %s", what);
}

/* A name that no run has a value of would be found wrong when the run is over. */
static enum orr_status check_metric(const struct reader *reader, const char *name)
{
    const struct orr_scenario__at at =
        orr_scenario__at_byte(reader->node->at, reader->node->text, 0);
    char text[300];
    if (orr_metric_find(name) == NULL) {
        orr_metric_unknown(name, text, sizeof text);
        return orr_scenario__fail(reader->load, &at, "expect: %s", text);
    }
    return orr_metric_is(name, ORR_METRIC_PAIRS)
               ? orr_scenario__fail(reader->load, &at,
                                    "expect: %s is of two runs, held against each other (`orrery "
                                    "compare`), and of no run alone",
                                    name)
               : ORR_OK;
}

static void skip_blanks(struct reader *reader)
{
    reader->next += strspn(reader->next, " \t");
}

static const char *take(struct reader *reader, size_t bytes)
{
    const char *word = orr_arena_strndup(reader->load->arena, reader->next, bytes);
    reader->next += bytes;
    return word;
}

/* NAME = VALUE, without the blanks around either. */
static enum orr_status read_label(struct reader *reader, char *out, size_t *used)
{
    skip_blanks(reader);
    size_t name = strspn(reader->next, WORD_CHARS);
    if (name == 0) {
        return expected(reader, "a label such as queue=NAME");
    }
    memcpy(out + *used, reader->next, name);
    *used += name;
    reader->next += name;
    skip_blanks(reader);
    if (*reader->next != '=') {
        return expected(reader, "= after the label");
    }
    reader->next++;
    skip_blanks(reader);
    size_t value = strcspn(reader->next, ",}");
    size_t trimmed = value;
    while (trimmed > 0 && strchr(" \t", reader->next[trimmed - 1]) != NULL) {
        trimmed--;
    }
    if (trimmed == 0) {
        return expected(reader, "a value of the label");
    }
    out[(*used)++] = '=';
    memcpy(out + *used, reader->next, trimmed);
    *used += trimmed;
    reader->next += value;
    return ORR_OK;
}

static enum orr_status read_labels(struct reader *reader, const char **out)
{
    *out = "";
    if (*reader->next != '{') {
        return ORR_OK;
    }
    reader->next++;
    char *labels = orr_arena_alloc(reader->load->arena, strlen(reader->node->text) + 1, 1);
    size_t used = 0;
    for (;;) {
        enum orr_status status = read_label(reader, labels, &used);
        if (status != ORR_OK) {
            return status;
        }
        if (*reader->next != ',') {
            break;
        }
        labels[used++] = ',';
        reader->next++;
    }
    if (*reader->next != '}') {
        return expected(reader, "} after the labels");
    }
    reader->next++;
    *out = labels;
    return ORR_OK;
}

static enum orr_status read_op(struct reader *reader, const char **out)
{
    static const char *const ops[] = {">=", "<=", "==", "!=", ">", "<"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        size_t bytes = strlen(ops[i]);
        if (strncmp(reader->next, ops[i], bytes) == 0) {
            reader->next += bytes;
            *out = ops[i];
            return ORR_OK;
        }
    }
    return expected(reader, "one of >= <= > < == !=");
}

/* In the metric's own unit, which its name ends with; times also with theirs ("1h" of a metric in s
 * or h), and ratios in percent. */
static bool read_value(const char *metric, const char *text, double *out)
{
    const size_t bytes = strlen(text);
    const bool seconds = orr_ends_with(metric, "_s"), hours = orr_ends_with(metric, "_h");
    const bool is_amount =
        seconds || hours || orr_ends_with(metric, "_kwh") || orr_ends_with(metric, "_gpus");
    orr_ms time;
    if (orr_parse_double(text, bytes, out)) {
        return true;
    }
    if (bytes > 1 && text[bytes - 1] == '%' && !is_amount &&
        orr_parse_double(text, bytes - 1, out)) {
        *out /= 100;
        return true;
    }
    if ((seconds || (hours && !orr_ends_with(metric, "gpu_h"))) &&
        orr_parse_duration(text, bytes, &time)) {
        *out = (double)time / (hours ? 3600000.0 : 1000.0);
        return true;
    }
    return false;
}

enum orr_status orr_scenario__expect(const struct orr_scenario__load *load,
                                     const struct orr_scenario__node *node,
                                     struct orr_scenario_expect *expect)
{
    struct reader reader = {load, node, node->text};
    *expect = (struct orr_scenario_expect){.text = node->text,
                                           .origin = orr_scenario__origin(load->arena, node)};
    size_t metric = strspn(reader.next, WORD_CHARS);
    if (metric == 0 || strchr("0123456789", reader.next[0]) != NULL) {
        return expected(&reader, "the name of a metric");
    }
    expect->metric = take(&reader, metric);
    enum orr_status status = check_metric(&reader, expect->metric);
    if (status != ORR_OK) {
        return status;
    }
    skip_blanks(&reader);
    status = read_labels(&reader, &expect->labels);
    if (status != ORR_OK) {
        return status;
    }
    skip_blanks(&reader);
    status = read_op(&reader, &expect->op);
    if (status != ORR_OK) {
        return status;
    }
    skip_blanks(&reader);
    if (!read_value(expect->metric, reader.next, &expect->value)) {
        return expected(&reader, "a number");
    }
    return ORR_OK;
}
