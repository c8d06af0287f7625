/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_yaml.c - libfyaml's events become nodes.
 *
 * Events instead of documents, because then nesting is bounded here, duplicate keys are reported
 * in our words, and every key and value brings its place along.
 */
#include "scenario_int.h"

#include <string.h>

#include <orrery/sim/yaml_parser.h>

struct anchor {
    const char *name;
    const struct orr_scenario__node *node;
    const struct anchor *next;
};

struct frame {
    struct orr_scenario__node *node;
    const char *key; /* read, its value not yet; NULL: none */
    struct orr_scenario__at key_at;
    const char *anchor;
};

struct builder {
    struct orr_scenario__load *load;
    const struct orr_scenario__source *source;
    struct orr_scenario__node *documents;
    const struct anchor *anchors;
    struct orr_scenario__at last; /* of the latest thing that had a place */
    struct frame frames[ORR_SCENARIO__DEPTH];
    uint32_t depth;
    enum orr_status status;
};

static struct orr_scenario__at event_at(struct builder *builder, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark != NULL) { /* an empty value has no place of its own */
        builder->last = (struct orr_scenario__at){builder->source, (uint32_t)mark->line + 1,
                                                  (uint32_t)mark->column + 1};
    }
    return builder->last;
}

static const char *token_text(struct builder *builder, struct fy_token *token)
{
    size_t bytes = 0;
    const char *text = token == NULL ? NULL : fy_token_get_text(token, &bytes);
    return text == NULL ? "" : orr_arena_strndup(builder->load->arena, text, bytes);
}

static bool says_null(const char *text)
{
    return text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

/* Puts a finished or opening node below the innermost open one. */
static enum orr_status place(struct builder *builder, struct orr_scenario__node *node)
{
    if (builder->load->nodes >= ORR_SCENARIO__NODES) {
        return orr_scenario__fail(builder->load, &node->at, "too many values");
    }
    if (builder->depth == 0) {
        orr_scenario__add(builder->load, builder->documents, NULL, node->at, node);
        return ORR_OK;
    }
    struct frame *frame = &builder->frames[builder->depth - 1];
    orr_scenario__add(builder->load, frame->node, frame->key, frame->key_at, node);
    frame->key = NULL;
    return ORR_OK;
}

static enum orr_status take_key(struct builder *builder, struct frame *frame, const char *text,
                                struct orr_scenario__at at)
{
    const struct orr_scenario__node *first = orr_scenario__find(frame->node, text);
    if (first != NULL) {
        return orr_scenario__fail(builder->load, &at, "duplicate key \"%.80s\" (first in line %u)",
                                  text, (unsigned)first->key_at.line);
    }
    if (text[0] == '\0') {
        return orr_scenario__fail(builder->load, &at, "a key must not be empty");
    }
    frame->key = text;
    frame->key_at = at;
    return ORR_OK;
}

/* The open map if it waits for a key, else NULL. */
static struct frame *waits_for_key(struct builder *builder)
{
    struct frame *frame = builder->depth == 0 ? NULL : &builder->frames[builder->depth - 1];
    return frame != NULL && frame->node->kind == ORR_NODE_MAP && frame->key == NULL ? frame : NULL;
}

static void remember(struct builder *builder, const char *name,
                     const struct orr_scenario__node *node)
{
    struct anchor *anchor = orr_arena_alloc(builder->load->arena, 1, sizeof *anchor);
    *anchor = (struct anchor){name, node, builder->anchors};
    builder->anchors = anchor;
}

static enum orr_status take_scalar(struct builder *builder, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    struct orr_scenario__at at = event_at(builder, event);
    if (event->scalar.tag != NULL) {
        return orr_scenario__fail(builder->load, &at, "YAML tags are not supported");
    }
    const char *text = token_text(builder, token);
    struct frame *map = waits_for_key(builder);
    if (map != NULL && strcmp(text, "<<") == 0 && token != NULL &&
        fy_token_scalar_style(token) == FYSS_PLAIN) {
        return orr_scenario__fail(builder->load, &at,
                                  "merge keys (<<) are not part of YAML 1.2 and not supported: "
                                  "`extends: FILE` merges files, an alias repeats a whole value");
    }
    if (map != NULL) {
        return take_key(builder, map, text, at);
    }
    struct orr_scenario__node *node = orr_scenario__scalar(builder->load, text, NULL, at);
    node->quoted = token != NULL && fy_token_scalar_style(token) != FYSS_PLAIN;
    if (!node->quoted && says_null(text)) {
        node->text = NULL;
    }
    if (event->scalar.anchor != NULL) {
        remember(builder, token_text(builder, event->scalar.anchor), node);
    }
    return place(builder, node);
}

static enum orr_status take_alias(struct builder *builder, struct fy_event *event)
{
    struct orr_scenario__at at = event_at(builder, event);
    at.column -= at.column > 1; /* from the name back to its star */
    const char *name = token_text(builder, event->alias.anchor);
    const struct anchor *anchor = builder->anchors;
    while (anchor != NULL && strcmp(anchor->name, name) != 0) {
        anchor = anchor->next;
    }
    if (anchor == NULL) {
        return orr_scenario__fail(builder->load, &at, "no anchor &%.80s before this alias", name);
    }
    if (waits_for_key(builder) != NULL) {
        return orr_scenario__fail(builder->load, &at, "an alias cannot be a key");
    }
    return place(builder, orr_scenario__copy(builder->load, anchor->node));
}

static enum orr_status open_node(struct builder *builder, struct fy_event *event, bool map)
{
    struct orr_scenario__at at = event_at(builder, event);
    struct fy_token *tag = map ? event->mapping_start.tag : event->sequence_start.tag;
    struct fy_token *anchor = map ? event->mapping_start.anchor : event->sequence_start.anchor;
    if (tag != NULL) {
        return orr_scenario__fail(builder->load, &at, "YAML tags are not supported");
    }
    if (waits_for_key(builder) != NULL) {
        return orr_scenario__fail(builder->load, &at, "a key must be plain text");
    }
    if (builder->depth == ORR_SCENARIO__DEPTH) {
        return orr_scenario__fail(builder->load, &at, "nested more than %d levels deep",
                                  (int)ORR_SCENARIO__DEPTH);
    }
    struct orr_scenario__node *node =
        orr_scenario__node(builder->load, map ? ORR_NODE_MAP : ORR_NODE_LIST, at);
    enum orr_status status = place(builder, node);
    if (status == ORR_OK) {
        builder->frames[builder->depth++] = (struct frame){
            .node = node, .anchor = anchor == NULL ? NULL : token_text(builder, anchor)};
    }
    return status;
}

static enum orr_status close_node(struct builder *builder)
{
    ORR_ASSERT(builder->depth > 0);
    const struct frame *frame = &builder->frames[--builder->depth];
    if (frame->anchor != NULL) { /* only now, so that it cannot contain itself */
        remember(builder, frame->anchor, frame->node);
    }
    return ORR_OK;
}

static enum orr_status take_event(struct builder *builder, struct fy_event *event)
{
    switch (event->type) {
    case FYET_SCALAR: return take_scalar(builder, event);
    case FYET_ALIAS: return take_alias(builder, event);
    case FYET_MAPPING_START: return open_node(builder, event, true);
    case FYET_SEQUENCE_START: return open_node(builder, event, false);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END: return close_node(builder);
    case FYET_DOCUMENT_START: builder->anchors = NULL; return ORR_OK;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END: break;
    }
    return ORR_OK;
}

/* What the parser did not like, in the shape of all our errors. */
static void syntax_error(void *context, const struct fy_diag_error *error)
{
    struct builder *builder = context;
    struct orr_scenario__at at = builder->last;
    if (error == NULL || error->msg == NULL) {
        builder->status = orr_scenario__fail(builder->load, &at, "not YAML");
        return;
    }
    if (builder->source->argument && error->line != 1) { /* past the end of its only line */
        at = orr_scenario__at_byte((struct orr_scenario__at){builder->source, 1, 1},
                                   builder->source->text, builder->source->bytes);
    } else if (error->line > 0 && error->column > 0) {
        at.line = (uint32_t)error->line;
        at.column = (uint32_t)error->column;
    }
    builder->status = orr_scenario__fail(builder->load, &at, "not YAML: %s", error->msg);
}

static bool take(void *context, struct fy_event *event)
{
    struct builder *builder = context;
    builder->status = take_event(builder, event);
    return builder->status == ORR_OK;
}

enum orr_status orr_scenario__parse(struct orr_scenario__load *load,
                                    const struct orr_scenario__source *source,
                                    struct orr_scenario__node **out)
{
    struct orr_scenario__at start = {source, 1, 1};
    struct builder *builder = orr_arena_alloc(load->arena, 1, sizeof *builder);
    builder->load = load;
    builder->source = source;
    builder->documents = orr_scenario__node(load, ORR_NODE_LIST, start);
    builder->last = start;
    builder->status = ORR_OK;
    orr_yaml_read(source->text, source->bytes, false,
                  &(struct orr_yaml_reader){builder, take, syntax_error});
    *out = builder->documents;
    return builder->status;
}
