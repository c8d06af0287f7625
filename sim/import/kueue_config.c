/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kueue's Configuration, and feature gates of the command line. */
#include <string.h>

#include <orrery/sim/kueue_fields.h>

#include "kueue_input.h"

static bool is_gate(const char *name)
{
    const struct kq_gate *gate = orr_kq_find_gate(name);
    return gate != NULL && gate->marks[KQ_IN_CYCLE] == '+';
}

static void note_gate(struct kueue_input *input, const char *name, const char *value)
{
    const char *near = orr_kq_find_gate(name) == NULL ? orr_kq_nearest_gate(name) : NULL;
    if (orr_kq_ignores_gate(name, strcmp(value, "true") == 0, KQ_IN_CYCLE)) {
        import_note(input->model, "feature gate %.100s=%s is not heeded%s%s%s", name, value,
                    near != NULL ? " (did you mean " : "", near != NULL ? near : "",
                    near != NULL ? "?)" : "");
    }
}

static void read_gates(struct kueue_input *input, const struct import_value *map)
{
    static const char *const words[] = {"true", "false", NULL};
    struct kq_config *config = &input->objects.config;
    config->gates = import_kueue_array(input, map != NULL ? map->count : 0, sizeof *config->gates);
    IMPORT_EACH(gate, map)
    {
        const char *value = import_kueue_word(input, map, gate->key, words, "false");
        if (is_gate(gate->key)) {
            config->gates[config->gate_count++] = (struct orr_pair){gate->key, value};
        } else {
            note_gate(input, gate->key, value);
        }
    }
}

static bool is_off(const struct kueue_input *input, const char *name)
{
    const struct kq_config *config = &input->objects.config;
    for (uint32_t i = config->gate_count; i > 0; i--) {
        if (strcmp(config->gates[i - 1].name, name) == 0) {
            return strcmp(config->gates[i - 1].value, "false") == 0;
        }
    }
    return false;
}

static void read_sharing(struct kueue_input *input, const struct import_value *sharing)
{
    static const char *const words[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare",
                                        NULL};
    struct kq_config *config = &input->objects.config;
    const struct import_value *strategies =
        import_list(input->load, sharing, "preemptionStrategies");
    config->fair_sharing = import_bool(input->load, sharing, "enable", true);
    if (strategies != NULL && strategies->count > 2) {
        import_fail(input->load, strategies, "two strategies at most");
        return;
    }
    config->strategies = import_kueue_texts(input, strategies, &config->strategy_count);
    uint32_t s = 0;
    IMPORT_EACH(strategy, strategies)
    {
        if (strcmp(config->strategies[s], words[0]) != 0 &&
            strcmp(config->strategies[s], words[1]) != 0) {
            import_fail(input->load, strategy, "\"%.60s\" is none of %s, %s", config->strategies[s],
                        words[0], words[1]);
        }
        s++;
    }
}

static const char *read_span(struct kueue_input *input, const struct import_value *map,
                             const char *path, const char *fallback)
{
    const char *text = import_text(input->load, map, path, fallback);
    orr_ms span;
    if (!import_duration(text, &span) || span < 0) {
        import_fail(input->load, import_get(map, path), "%s: \"%.60s\" is not a duration", path,
                    text);
    }
    return text;
}

static void read_usage(struct kueue_input *input, const struct import_value *usage)
{
    if (is_off(input, "AdmissionFairSharing")) {
        return;
    }
    const struct import_value *weights = import_map(input->load, usage, "resourceWeights");
    struct kq_usage_config *config = import_kueue_array(input, 1, sizeof *config);
    config->half_life = read_span(input, usage, "usageHalfLifeTime", "0s");
    config->sampling = read_span(input, usage, "usageSamplingInterval", "5m");
    config->weights = import_kueue_labels(input, weights, &config->weight_count);
    IMPORT_EACH(weight, weights)
    {
        if (!(import_number(input->load, weights, weight->key, 1) >= 0)) {
            import_fail(input->load, weight, "a weight is 0 or more");
        }
    }
    input->objects.config.usage = config;
}

/* Thousandths of amounts: a memory of terabytes would pass the bound of what is read exactly. */
static int64_t read_output(struct kueue_input *input, const struct import_value *value)
{
    const char *text = import_scalar(input->load, value);
    const int64_t scale = strcmp(value->key, "cpu") == 0 ? 1000 : 1;
    int64_t whole = 0, thousandths = 0;
    if (import_ok(input->load) &&
        (!import_whole_quantity(text, scale, &whole) ||
         !import_whole_quantity(text, scale * 1000, &thousandths) || thousandths < 0)) {
        import_fail(input->load, value, "%.100s: \"%.60s\" is not a quantity of 0 or more",
                    value->key, text);
        return 0;
    }
    return whole > 1000000000 ? whole * 1000 : thousandths;
}

static void read_transformation(struct kueue_input *input, const struct import_value *from,
                                struct kq_transformation *out)
{
    static const char *const strategies[] = {"Retain", "Replace", NULL};
    const struct import_value *outputs = import_map(input->load, from, "outputs");
    const char *strategy = import_kueue_word(input, from, "strategy", strategies, "Retain");
    out->input = import_text(input->load, from, "input", "");
    out->multiply_by = import_text(input->load, from, "multiplyBy", NULL);
    out->strategy = strcmp(strategy, "Replace") == 0 ? KQ_REPLACE : KQ_RETAIN;
    out->outputs =
        import_kueue_array(input, outputs != NULL ? outputs->count : 0, sizeof *out->outputs);
    if (out->input[0] == '\0') {
        import_fail(input->load, from, "a transformation needs its input");
    }
    IMPORT_EACH(output, outputs)
    {
        const long long each = read_output(input, output);
        out->outputs[out->output_count++] =
            (struct orr_pair){output->key, import_format(input->load, "%lld", each)};
    }
}

static void read_transformations(struct kueue_input *input, const struct import_value *list)
{
    struct kq_config *config = &input->objects.config;
    config->transformations =
        import_kueue_array(input, list != NULL ? list->count : 0, sizeof *config->transformations);
    IMPORT_EACH(item, list)
    {
        struct kq_transformation *out = &config->transformations[config->transformation_count];
        read_transformation(input, item, out);
        for (uint32_t t = 0; t < config->transformation_count; t++) {
            if (strcmp(config->transformations[t].input, out->input) == 0) {
                import_fail(input->load, item, "there is a transformation of \"%.100s\" already",
                            out->input);
            }
        }
        config->transformation_count++;
    }
}

void import_kueue_configure(struct kueue_input *input, const struct import_value *object)
{
    static const char *const checks[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
    static const char *const times[] = {"Eviction", "Creation", NULL};
    struct import_load *load = input->load;
    struct kq_config *config = &input->objects.config;
    const struct import_value *sharing = import_map(load, object, "fairSharing");
    const struct import_value *usage = import_map(load, object, "admissionFairSharing");
    const char *check =
        import_kueue_word(input, object, "resources/quotaCheckStrategy", checks, "BlockUndeclared");
    const char *stamp = import_kueue_word(
        input, object, "waitForPodsReady/requeuingStrategy/timestamp", times, "Eviction");
    read_gates(input, import_map(load, object, "featureGates"));
    if (sharing != NULL) {
        read_sharing(input, sharing);
    }
    if (usage != NULL) {
        read_usage(input, usage);
    }
    config->ignore_undeclared = strcmp(check, "IgnoreUndeclared") == 0;
    config->order_by_creation = strcmp(stamp, "Creation") == 0;
    config->excluded =
        import_kueue_texts(input, import_list(load, object, "resources/excludeResourcePrefixes"),
                           &config->excluded_count);
    read_transformations(input, import_list(load, object, "resources/transformations"));
    config->block_admission = import_bool(load, object, "waitForPodsReady/blockAdmission", false);
}

enum orr_status import_kueue_set(struct kueue_input *input, const char *text, struct orr_err *err)
{
    struct kq_config *config = &input->objects.config;
    const char *equals = strchr(text, '=');
    const size_t bytes = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const char *name = orr_arena_strndup(input->load->arena, text, bytes);
    const bool on = equals != NULL && strcmp(equals + 1, "true") == 0;
    if (!is_gate(name) || (!on && (equals == NULL || strcmp(equals + 1, "false") != 0))) {
        return orr_fail(err, ORR_USAGE,
                        "--set %s: with kueue it turns a feature gate on or off "
                        "(PartialAdmission=false); anything else is said by a Configuration",
                        text);
    }
    struct orr_pair *more = import_kueue_array(input, config->gate_count + 1, sizeof *more);
    more[0] = (struct orr_pair){name, on ? "true" : "false"}; /* the first one is looked at */
    for (uint32_t i = 0; i < config->gate_count; i++) {
        more[i + 1] = config->gates[i];
    }
    config->gates = more;
    config->gate_count++;
    return ORR_OK;
}
