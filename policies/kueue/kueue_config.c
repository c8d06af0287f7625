/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kueue_config.c - what a Configuration of Kueue says, as parameters of a run.
 *
 *     feature_gates             NAME=true|false, several by commas or blanks
 *     exclude_resources         gpu, cpu, memory, by commas or blanks
 *     resource_transformations  rules by ";": INPUT replace|retain [by=RESOURCE] RESOURCE=QUANTITY
 * ...
 */
#include <string.h>

#include <orrery/base/text.h>

#include "kueue_policy.h"

static const char *const resource_names[ORR_SHARE_RESOURCES] = {
    [ORR_SHARE_GPU] = "gpu", [ORR_SHARE_CPU] = "cpu", [ORR_SHARE_MEMORY] = "memory"};

/* --- words --- */

struct word {
    const char *text;
    size_t bytes;
};

/* The next word of a text up to `end`; false: there is none. */
static bool next_word(const char **at, const char *end, const char *between, struct word *out)
{
    while (*at < end && strchr(between, **at) != NULL) {
        (*at)++;
    }
    out->text = *at;
    while (*at < end && strchr(between, **at) == NULL) {
        (*at)++;
    }
    out->bytes = (size_t)(*at - out->text);
    return out->bytes > 0;
}

static bool is_word(struct word word, const char *text)
{
    return strlen(text) == word.bytes && memcmp(text, word.text, word.bytes) == 0;
}

/* "NAME=VALUE" into its two sides; false: it is none. */
static bool cut(struct word word, struct word *name, struct word *value)
{
    const char *equals = memchr(word.text, '=', word.bytes);
    if (equals == NULL || equals == word.text) {
        return false;
    }
    *name = (struct word){word.text, (size_t)(equals - word.text)};
    *value = (struct word){equals + 1, word.bytes - name->bytes - 1};
    return true;
}

/* ORR_NONE: it is no resource of a run. */
static uint32_t resource_of(struct word word)
{
    for (uint32_t r = 0; r < ORR_SHARE_RESOURCES; r++) {
        if (is_word(word, resource_names[r])) {
            return r;
        }
    }
    return ORR_NONE;
}

static const char *text_of(const char *param)
{
    return param != NULL ? param : "";
}

/* --- gates --- */

static enum orr_status set_gate(struct orr_kueue_config *config, struct word word,
                                struct orr_err *err)
{
    static const char *const own[][2] = {{"PartialAdmission", "partial_admission"},
                                         {"TopologyAwareScheduling", "topology_aware_scheduling"}};
    struct word name, value;
    char text[80];
    if (!cut(word, &name, &value) || name.bytes >= sizeof text ||
        (!is_word(value, "true") && !is_word(value, "false"))) {
        return orr_fail(err, ORR_USAGE, "feature_gates: \"%.*s\" is not NAME=true or NAME=false",
                        (int)(word.bytes < 200 ? word.bytes : 200), word.text);
    }
    memcpy(text, name.text, name.bytes);
    text[name.bytes] = '\0';
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (is_word(name, own[i][0])) {
            return orr_fail(err, ORR_USAGE, "feature_gates: %s is parameter %s", own[i][0],
                            own[i][1]);
        }
    }
    const char *near = orr_kueue_nearest_gate(text);
    return orr_kueue_set_gate(config, text, is_word(value, "true"))
               ? ORR_OK
               : orr_fail(err, ORR_USAGE,
                          "feature_gates: %s is no gate of Kueue that decides anything in a run"
                          "%s%s%s",
                          text, near != NULL ? " (did you mean " : "", near != NULL ? near : "",
                          near != NULL ? "?)" : "");
}

static enum orr_status set_gates(const struct kueue_params *params, struct orr_kueue_config *config,
                                 struct orr_err *err)
{
    const char *at = text_of(params->feature_gates), *end = at + strlen(at);
    enum orr_status status = ORR_OK;
    for (struct word word; status == ORR_OK && next_word(&at, end, ", ", &word);) {
        status = set_gate(config, word, err);
    }
    return status;
}

/* --- how requests count --- */

static enum orr_status set_excluded(const struct kueue_params *params, struct kueue_counting *out,
                                    struct orr_err *err)
{
    const char *at = text_of(params->exclude_resources), *end = at + strlen(at);
    for (struct word word; next_word(&at, end, ", ", &word);) {
        const uint32_t resource = resource_of(word);
        if (resource == ORR_NONE) {
            return orr_fail(err, ORR_USAGE,
                            "exclude_resources: \"%.*s\" is none of gpu, cpu, memory",
                            (int)(word.bytes < 200 ? word.bytes : 200), word.text);
        }
        out->excluded[resource] = out->apart = true;
    }
    return ORR_OK;
}

/* Thousandths of the run's amounts. */
static bool parse_output(uint32_t resource, struct word text, int64_t *out)
{
    int64_t amount;
    const bool good = resource == ORR_SHARE_MEMORY
                          ? orr_parse_memory(text.text, text.bytes, &amount)
                          : orr_parse_cpu(text.text, text.bytes, &amount);
    *out = good && amount >= 0 ? orr_quota_times(amount, 1000) : 0;
    return good && amount >= 0;
}

static bool set_term(struct orr_kueue_transformation *rule, int64_t *outputs, struct word word)
{
    struct word name, value;
    if (!cut(word, &name, &value)) {
        return false;
    }
    if (is_word(name, "by")) {
        rule->multiply_by = resource_of(value);
        return rule->multiply_by != ORR_NONE;
    }
    const uint32_t resource = resource_of(name);
    return resource != ORR_NONE && parse_output(resource, value, &outputs[resource]);
}

static bool set_rule(const char *at, const char *end, struct kueue_counting *out)
{
    struct word input, strategy, word;
    if (!next_word(&at, end, " ", &input)) {
        return true; /* after the last ";" */
    }
    const uint32_t resource = resource_of(input);
    const uint32_t index = out->as.transformation_count;
    if (resource == ORR_NONE || !next_word(&at, end, " ", &strategy) ||
        (!is_word(strategy, "replace") && !is_word(strategy, "retain"))) {
        return false;
    }
    for (uint32_t t = 0; t < index; t++) {
        if (out->transformations[t].input == resource) {
            return false;
        }
    }
    struct orr_kueue_transformation *rule = &out->transformations[index];
    *rule = (struct orr_kueue_transformation){.input = resource,
                                              .multiply_by = ORR_NONE,
                                              .replace = is_word(strategy, "replace"),
                                              .outputs = out->outputs[index]};
    bool good = true;
    while (good && next_word(&at, end, " ", &word)) {
        good = set_term(rule, out->outputs[index], word);
    }
    out->as.transformation_count++;
    out->apart = true;
    return good;
}

static enum orr_status set_rules(const struct kueue_params *params, struct kueue_counting *out,
                                 struct orr_err *err)
{
    const char *at = text_of(params->resource_transformations);
    while (*at != '\0') {
        const size_t bytes = strcspn(at, ";");
        if (!set_rule(at, at + bytes, out)) {
            return orr_fail(err, ORR_USAGE,
                            "resource_transformations: \"%.*s\" is not INPUT replace|retain "
                            "[by=RESOURCE] RESOURCE=QUANTITY ..., with gpu, cpu and memory, each "
                            "once the input",
                            (int)(bytes < 200 ? bytes : 200), at);
        }
        at += bytes + (at[bytes] == ';');
    }
    return ORR_OK;
}

static enum orr_status read_counting(const struct kueue_params *params, uint32_t resources,
                                     struct kueue_counting *out, struct orr_err *err)
{
    *out = (struct kueue_counting){.as = {.resource_count = resources}};
    for (uint32_t r = 0; r < ORR_FLAVOR_RESOURCES; r++) {
        out->units[r] = r == ORR_SHARE_GPU ? ORR_MGPU : r == ORR_SHARE_CPU ? 1000 : 1;
        for (uint32_t t = 0; t < ORR_SHARE_RESOURCES; t++) {
            out->outputs[t][r] = ORR_KUEUE_NOT_ASKED;
        }
    }
    const enum orr_status status = set_excluded(params, out, err);
    out->as.units = out->units;
    out->as.excluded = out->excluded;
    out->as.transformations = out->transformations;
    return status == ORR_OK ? set_rules(params, out, err) : status;
}

void orr_kueue__set_counting(const struct kueue_params *params, uint32_t resources,
                             struct kueue_counting *out)
{
    struct orr_err err = {0};
    (void)read_counting(params, resources, out, &err);
}

const int64_t *orr_kueue__counted(const struct kueue_run *run, const int64_t *per_pod, int64_t *out)
{
    if (!run->counting.apart) {
        return NULL;
    }
    orr_kueue_count(&run->counting.as, per_pod, out);
    return out;
}

/* --- all of it --- */

enum orr_status orr_kueue__check_config(const struct kueue_params *params, struct orr_err *err)
{
    struct orr_kueue_config config = {0};
    struct kueue_counting counting;
    const enum orr_status status = set_gates(params, &config, err);
    return status == ORR_OK ? read_counting(params, ORR_SHARE_RESOURCES, &counting, err) : status;
}

void orr_kueue__set_config(struct kueue_run *run)
{
    struct orr_kueue_config *config = &run->spec.config;
    struct orr_err err = {0};
    config->ignore_undeclared = run->params.quota_check == KUEUE_IGNORE_UNDECLARED;
    config->no_partial_admission = !run->params.partial_admission;
    config->block_admission = run->params.wait_for_pods_ready && run->params.block_admission;
    config->fair_sharing = run->params.fair_sharing != KUEUE_FAIR_OFF;
    config->strategy_count = run->params.fair_sharing == KUEUE_FAIR_DEFAULT ? 2 : 1;
    config->strategies[0] = run->params.fair_sharing == KUEUE_FAIR_INITIAL
                                ? ORR_KUEUE_LESS_THAN_INITIAL_SHARE
                                : ORR_KUEUE_LESS_OR_EQUAL_TO_FINAL_SHARE;
    config->strategies[1] = ORR_KUEUE_LESS_THAN_INITIAL_SHARE;
    (void)set_gates(&run->params, config, &err);
}
