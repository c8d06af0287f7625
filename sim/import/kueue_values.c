/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels, amounts, taints and affinities of Kueue's objects, and what a pod asks. */
#include "kueue_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RESOURCES_MAX 64

void *import_kueue_array(struct kueue_input *input, uint32_t count, size_t size)
{
    return orr_arena_alloc(input->load->arena, (size_t)count + 1, size);
}

const char *import_kueue_word(struct kueue_input *input, const struct import_value *map,
                              const char *path, const char *const *words, const char *fallback)
{
    const char *text = import_text(input->load, map, path, NULL);
    if (text == NULL || text[0] == '\0') {
        return fallback;
    }
    char known[200] = "";
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            return text;
        }
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    import_fail(input->load, import_get(map, path), "%s: \"%.60s\" is none of %s", path, text,
                known);
    return fallback;
}

struct orr_pair *import_kueue_labels(struct kueue_input *input, const struct import_value *map,
                                     uint32_t *count)
{
    const uint32_t all = map != NULL ? map->count : 0;
    struct orr_pair *labels = import_kueue_array(input, all, sizeof *labels);
    *count = 0;
    if (map != NULL && map->kind != IMPORT_MAP) {
        import_fail(input->load, map, "an object of labels belongs here");
        return labels;
    }
    IMPORT_EACH(item, map)
    {
        labels[(*count)++] = (struct orr_pair){
            item->key, item->kind == IMPORT_NULL ? "" : import_scalar(input->load, item)};
    }
    return labels;
}

const char **import_kueue_texts(struct kueue_input *input, const struct import_value *list,
                                uint32_t *count)
{
    const char **texts = import_kueue_array(input, list != NULL ? list->count : 0, sizeof *texts);
    *count = 0;
    IMPORT_EACH(item, list)
    {
        texts[(*count)++] = import_scalar(input->load, item);
    }
    return texts;
}

/* --- amounts --- */

int64_t import_kueue_amount(struct kueue_input *input, const char *resource,
                            const struct import_value *value)
{
    int64_t amount = 0;
    const char *text = value->kind == IMPORT_NULL ? "0" : import_scalar(input->load, value);
    const int64_t scale = strcmp(resource, "cpu") == 0 ? 1000 : 1;
    if (import_ok(input->load) && (!import_whole_quantity(text, scale, &amount) || amount < 0)) {
        import_fail(input->load, value, "%.100s: \"%.60s\" is not a quantity of 0 or more",
                    resource, text);
        return 0;
    }
    return amount;
}

struct orr_pair *import_kueue_amounts(struct kueue_input *input, const struct import_value *map,
                                      uint32_t *count)
{
    struct orr_pair *amounts =
        import_kueue_array(input, map != NULL ? map->count : 0, sizeof *amounts);
    *count = 0;
    IMPORT_EACH(item, map)
    {
        const long long amount = import_kueue_amount(input, item->key, item);
        amounts[(*count)++] =
            (struct orr_pair){item->key, import_format(input->load, "%lld", amount)};
    }
    return amounts;
}

/* --- taints, affinity --- */

struct kq_taint *import_kueue_taints(struct kueue_input *input, const struct import_value *list,
                                     bool tolerations, uint32_t *count)
{
    static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    static const char *const operators[] = {"Equal", "Exists", NULL};
    struct kq_taint *taints =
        import_kueue_array(input, list != NULL ? list->count : 0, sizeof *taints);
    *count = 0;
    IMPORT_EACH(item, list)
    {
        taints[(*count)++] = (struct kq_taint){
            .key = import_text(input->load, item, "key", ""),
            .value = import_text(input->load, item, "value", ""),
            .effect = import_kueue_word(input, item, "effect", effects, ""),
            .op =
                tolerations ? import_kueue_word(input, item, "operator", operators, "Equal") : ""};
    }
    return taints;
}

struct kq_term import_kueue_term(struct kueue_input *input, const struct import_value *expressions)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                            "Gt", "Lt",    NULL};
    struct kq_term term = {0};
    term.expressions = import_kueue_array(input, expressions != NULL ? expressions->count : 0,
                                          sizeof *term.expressions);
    IMPORT_EACH(item, expressions)
    {
        struct kq_expression *expression = &term.expressions[term.expression_count++];
        expression->key = import_text(input->load, item, "key", "");
        expression->op = import_kueue_word(input, item, "operator", operators, NULL);
        expression->values = import_kueue_texts(input, import_list(input->load, item, "values"),
                                                &expression->value_count);
        if (expression->op == NULL) {
            import_fail(input->load, item, "an expression needs an operator");
            expression->op = "In";
        }
    }
    return term;
}

/* --- what a pod asks --- */

struct amounts { /* by resource name, in the order in which they are first stated */
    struct {
        const char *name;
        int64_t amount;
    } * items;
    uint32_t count, capacity;
};

static int64_t *amount_of(struct amounts *amounts, const char *name)
{
    for (uint32_t i = 0; i < amounts->count; i++) {
        if (strcmp(amounts->items[i].name, name) == 0) {
            return &amounts->items[i].amount;
        }
    }
    amounts->items = ORR_ROOM_FOR_ONE(amounts->items, amounts->count, amounts->capacity);
    amounts->items[amounts->count].name = name;
    amounts->items[amounts->count].amount = 0;
    return &amounts->items[amounts->count++].amount;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void add(struct amounts *to, const struct amounts *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        int64_t *amount = amount_of(to, from->items[i].name);
        *amount = sum(*amount, from->items[i].amount);
    }
}

static void raise(struct amounts *to, const struct amounts *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        int64_t *amount = amount_of(to, from->items[i].name);
        *amount = from->items[i].amount > *amount ? from->items[i].amount : *amount;
    }
}

/* What is stated of a map, where nothing was said before. */
static void state(struct kueue_input *input, const struct import_value *map, bool over,
                  struct amounts *out)
{
    const uint32_t before = over ? 0 : out->count;
    if (map != NULL && map->count > RESOURCES_MAX) {
        import_fail(input->load, map, "more than %d resources in one place", RESOURCES_MAX);
        return;
    }
    IMPORT_EACH(item, map)
    {
        bool known = false;
        for (uint32_t i = 0; i < before; i++) {
            known = known || strcmp(out->items[i].name, item->key) == 0;
        }
        if (!known) {
            *amount_of(out, item->key) = import_kueue_amount(input, item->key, item);
        }
    }
}

/* Requests; a limit is the request of what has none. */
static struct amounts container_amounts(struct kueue_input *input,
                                        const struct import_value *container)
{
    struct amounts one = {0};
    state(input, import_map(input->load, container, "resources/requests"), true, &one);
    state(input, import_map(input->load, container, "resources/limits"), false, &one);
    return one;
}

/* Containers and sidecars together, or the peak while the pod is initialised; what the pod states
 * as a whole goes before both; then the overhead. */
static struct amounts pod_amounts(struct kueue_input *input, const struct import_value *spec)
{
    struct amounts total = {0}, sidecars = {0}, peak = {0}, overhead = {0};
    IMPORT_EACH(container, import_list(input->load, spec, "containers"))
    {
        struct amounts one = container_amounts(input, container);
        add(&total, &one);
        orr_free(one.items);
    }
    IMPORT_EACH(container, import_list(input->load, spec, "initContainers"))
    {
        struct amounts one = container_amounts(input, container);
        const char *restart = import_text(input->load, container, "restartPolicy", "");
        if (strcmp(restart, "Always") == 0) {
            add(&sidecars, &one);
            raise(&peak, &sidecars);
        } else {
            add(&one, &sidecars);
            raise(&peak, &one);
        }
        orr_free(one.items);
    }
    add(&total, &sidecars);
    raise(&total, &peak);
    state(input, import_map(input->load, spec, "resources/requests"), true, &total);
    state(input, import_map(input->load, spec, "overhead"), true, &overhead);
    add(&total, &overhead);
    orr_free(sidecars.items);
    orr_free(peak.items);
    orr_free(overhead.items);
    return total;
}

struct orr_pair *import_kueue_requests(struct kueue_input *input, const struct import_value *spec,
                                       uint32_t *count)
{
    struct amounts total = pod_amounts(input, spec);
    struct orr_pair *pairs = import_kueue_array(input, total.count, sizeof *pairs);
    *count = 0;
    for (uint32_t i = 0; i < total.count; i++) {
        pairs[(*count)++] =
            (struct orr_pair){total.items[i].name,
                              import_format(input->load, "%lld", (long long)total.items[i].amount)};
    }
    orr_free(total.items);
    return pairs;
}

double import_kueue_time(struct kueue_input *input, const struct import_value *map,
                         const char *path)
{
    const char *text = import_text(input->load, map, path, NULL);
    orr_ms at = 0;
    if (text == NULL || text[0] == '\0') {
        return (double)NAN;
    }
    if (!import_time(text, &at)) {
        import_fail(input->load, import_get(map, path), "%s: \"%.60s\" is not a time", path, text);
        return (double)NAN;
    }
    import_saw(input->model, at);
    return (double)at / 1000;
}
