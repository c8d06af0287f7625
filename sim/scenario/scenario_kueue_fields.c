/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_kueue_fields.c - fields and words of Kueue's objects: what no run looks at is noted
 * once, a value that Kueue would refuse is an error at its place.
 */
#include "scenario_kueue.h"

#include <stdio.h>
#include <string.h>

#include <orrery/sim/kueue_fields.h>

enum { NOTES_MOST = 50 }; /* that a load keeps */

void orr_scenario__note(struct orr_scenario__load *load, struct orr_scenario__at at,
                        const char *text)
{
    struct orr_scenario__note **end = &load->notes;
    uint32_t count = 0;
    for (; *end != NULL; end = &(*end)->next) {
        if (strcmp((*end)->text, text) == 0 || ++count == NOTES_MOST) {
            return;
        }
    }
    *end = orr_arena_alloc(load->arena, 1, sizeof **end);
    **end = (struct orr_scenario__note){.text = text, .at = at};
}

static void note_unknown(struct orr_scenario__load *load, const char *kind, const char *path,
                         struct orr_scenario__at at)
{
    const char *near = orr_kq_nearest_field(kind, path);
    orr_scenario__note(load, at,
                       orr_scenario__format(load->arena,
                                            "%.300s of a %s is no field that is known here%s%s%s",
                                            path, kind, near != NULL ? " (did you mean " : "",
                                            near != NULL ? near : "", near != NULL ? "?)" : ""));
}

static enum orr_status check_below(struct orr_scenario__load *load, const char *kind,
                                   const char *path, const struct orr_scenario__node *value);

static enum orr_status check_value(struct orr_scenario__load *load, const char *kind,
                                   const char *path, const struct orr_scenario__node *value)
{
    const bool nothing = value->kind == ORR_NODE_SCALAR ? value->text == NULL || value->text[0] == 0
                                                        : value->child_count == 0;
    const struct orr_scenario__at at = value->key != NULL ? value->key_at : value->at;
    const char *why;
    switch (orr_kq_field(kind, KQ_IN_RUN, path, &why)) {
    case KQ_FIELD_PASSED: break;
    case KQ_FIELD_ABOVE:
        return value->kind == ORR_NODE_SCALAR && !nothing
                   ? orr_scenario__wrong_kind(load, value, "a map or a list")
                   : check_below(load, kind, path, value);
    case KQ_FIELD_NOT_HEEDED:
        if (!nothing) {
            orr_scenario__note(
                load, at, orr_scenario__format(load->arena, "%s of a %s: %s", path, kind, why));
        }
        break;
    case KQ_FIELD_UNKNOWN: note_unknown(load, kind, path, at); break;
    }
    return ORR_OK;
}

static enum orr_status check_below(struct orr_scenario__load *load, const char *kind,
                                   const char *path, const struct orr_scenario__node *value)
{
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < value->child_count && status == ORR_OK; i++) {
        const struct orr_scenario__node *child = value->children[i];
        char below[640];
        if (value->kind == ORR_NODE_LIST) {
            (void)snprintf(below, sizeof below, "%.400s[]", path);
        } else {
            (void)snprintf(below, sizeof below, "%.400s%s%.200s", path, path[0] != '\0' ? "." : "",
                           child->key);
        }
        status = check_value(load, kind, below, child);
    }
    return status;
}

enum orr_status orr_scenario__check_fields(struct orr_scenario__load *load, const char *kind,
                                           const struct orr_scenario__node *object)
{
    return check_below(load, kind, "", object);
}

enum orr_status orr_scenario__read_word(struct orr_scenario__load *load,
                                        const struct orr_scenario__node *map, const char *key,
                                        const char *const *words, const char **out)
{
    const struct orr_scenario__node *value = orr_scenario__below(map, key);
    size_t count = 0, same = 0;
    if (value == NULL) {
        return ORR_OK;
    }
    if (value->kind != ORR_NODE_SCALAR) {
        return orr_scenario__wrong_kind(load, value, "a word");
    }
    for (; words[count] != NULL; count++) {
        same += strcmp(words[count], value->text) == 0;
    }
    *out = value->text;
    return same > 0
               ? ORR_OK
               : orr_scenario__no_such(
                     load, &value->at,
                     orr_scenario__format(load->arena, "value of %s:", orr_scenario__key(value)),
                     value->text, words, count);
}
