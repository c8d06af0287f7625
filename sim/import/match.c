/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selectors, affinity and taints by the rules of Kubernetes. */
#include <string.h>

#include <orrery/base/text.h>

#include "model.h"

bool import_selects(const struct import_value *selector, const struct import_node *node)
{
    IMPORT_EACH(want, selector)
    {
        const char *have = import_label(node->labels, want->key);
        if (have == NULL || want->kind != IMPORT_TEXT || strcmp(have, want->text) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_in(const struct import_value *values, const char *have)
{
    IMPORT_EACH(value, values)
    {
        if (value->kind == IMPORT_TEXT && strcmp(value->text, have) == 0) {
            return true;
        }
    }
    return false;
}

static const char *text_of(const struct import_value *map, const char *key)
{
    const char *text = import_label(map, key);
    return text != NULL ? text : "";
}

/* One expression over a label's value, NULL if the node has none. */
static bool holds(const struct import_value *expression, const char *have)
{
    const char *operator= text_of(expression, "operator");
    const struct import_value *values = import_get(expression, "values");
    if (strcmp(operator, "In") == 0) {
        return have != NULL && is_in(values, have);
    }
    if (strcmp(operator, "NotIn") == 0) {
        return have == NULL || !is_in(values, have);
    }
    if (strcmp(operator, "Exists") == 0) {
        return have != NULL;
    }
    if (strcmp(operator, "DoesNotExist") == 0) {
        return have == NULL;
    }
    int64_t left, right;
    const struct import_value *first = values != NULL ? values->first : NULL;
    if (have == NULL || first == NULL || first->kind != IMPORT_TEXT ||
        !orr_parse_i64(have, strlen(have), &left) ||
        !orr_parse_i64(first->text, strlen(first->text), &right)) {
        return false;
    }
    return (strcmp(operator, "Gt") == 0 && left > right) ||
           (strcmp(operator, "Lt") == 0 && left < right);
}

static bool term_holds(const struct import_value *term, const struct import_node *node)
{
    const struct import_value *labels = import_get(term, "matchExpressions");
    const struct import_value *fields = import_get(term, "matchFields");
    if ((labels == NULL || labels->count == 0) && (fields == NULL || fields->count == 0)) {
        return false; /* an empty term matches nothing */
    }
    IMPORT_EACH(expression, labels)
    {
        if (!holds(expression, import_label(node->labels, text_of(expression, "key")))) {
            return false;
        }
    }
    IMPORT_EACH(expression, fields)
    {
        const bool name = strcmp(text_of(expression, "key"), "metadata.name") == 0;
        if (!holds(expression, name ? node->name : NULL)) {
            return false;
        }
    }
    return true;
}

bool import_affinity_admits(const struct import_value *affinity, const struct import_node *node)
{
    const struct import_value *required =
        import_get(affinity, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    if (required == NULL) {
        return true;
    }
    IMPORT_EACH(term, import_get(required, "nodeSelectorTerms"))
    {
        if (term_holds(term, node)) {
            return true;
        }
    }
    return false;
}

static bool tolerates(const struct import_value *toleration, const struct import_value *taint)
{
    const char *effect = text_of(toleration, "effect"), *key = text_of(toleration, "key");
    const bool exists = strcmp(text_of(toleration, "operator"), "Exists") == 0;
    if (effect[0] != '\0' && strcmp(effect, text_of(taint, "effect")) != 0) {
        return false;
    }
    if (key[0] == '\0' ? !exists : strcmp(key, text_of(taint, "key")) != 0) {
        return false;
    }
    return exists || strcmp(text_of(toleration, "value"), text_of(taint, "value")) == 0;
}

bool import_tolerates(const struct import_value *tolerations, const struct import_node *node)
{
    IMPORT_EACH(taint, node->taints)
    {
        const char *effect = text_of(taint, "effect");
        bool tolerated = strcmp(effect, "NoSchedule") != 0 && strcmp(effect, "NoExecute") != 0;
        IMPORT_EACH(toleration, tolerations)
        {
            tolerated = tolerated || tolerates(toleration, taint);
        }
        if (!tolerated) {
            return false;
        }
    }
    return true;
}

/* --- canonical text --- */

struct text {
    char *at;
    size_t used, capacity;
};

static void put(struct text *text, const char *bytes, size_t count)
{
    if (text->used + count + 1 > text->capacity) {
        text->capacity = orr_grow(text->capacity, text->used + count + 1);
        text->at = orr_realloc(text->at, text->capacity, 1);
    }
    memcpy(text->at + text->used, bytes, count);
    text->used += count;
    text->at[text->used] = '\0';
}

static void write_value(struct text *text, const struct import_value *value)
{
    if (value->kind == IMPORT_TEXT) {
        put(text, "\"", 1);
        put(text, value->text, strlen(value->text));
    } else if (value->kind == IMPORT_NULL) {
        put(text, "~", 1);
    } else {
        put(text, value->kind == IMPORT_MAP ? "{" : "[", 1);
        IMPORT_EACH(child, value)
        {
            if (child->key != NULL) {
                put(text, child->key, strlen(child->key));
                put(text, ":", 1);
            }
            write_value(text, child); /* as deep as the reader lets a file nest */
        }
        put(text, value->kind == IMPORT_MAP ? "}" : "]", 1);
    }
}

char *import_canonical(const struct import_value *value)
{
    struct text text = {0};
    put(&text, "", 0);
    if (value != NULL) {
        write_value(&text, value);
    }
    return text.at;
}
