/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_events.c - what is listed for times of the run, and which nodes are meant.
 *
 * Nodes have the names that the results have: n0003, or POOL-0003 where there are several pools. A
 * rack is the r-th of its pool or of a block of it: rack/POOL-r5, rack/POOL-b3-r5; block/POOL-b3.
 * One that pools name (rack: east) is rack/east, with all the pools that stand there. */
#include "scenario_int.h"

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

enum orr_status orr_scenario__prepare_events(struct orr_scenario__load *load,
                                             struct orr_scenario__node *node)
{
    if (orr_scenario__is_null(node)) {
        return ORR_OK;
    }
    if (node->kind != ORR_NODE_LIST) {
        return orr_scenario__wrong_kind(load, node, "a list of events");
    }
    struct orr_scenario__node *map = orr_scenario__node(load, ORR_NODE_MAP, node->at);
    map->whole = true; /* as any list, it takes the place of what it is merged over */
    for (uint32_t i = 0; i < node->child_count; i++) {
        struct orr_scenario__node *event = node->children[i];
        if (event->kind != ORR_NODE_MAP) {
            return orr_scenario__wrong_kind(load, event, "a map with at and what happens");
        }
        orr_scenario__add(load, map, orr_scenario__format(load->arena, "%u", i + 1), event->at,
                          event);
    }
    orr_scenario__replace(node, map);
    return ORR_OK;
}

/* A date as the time since the start that the scenario states. */
static enum orr_status date_event(const struct orr_scenario__load *load,
                                  const struct orr_scenario__node *start,
                                  struct orr_scenario__node *at)
{
    const struct orr_scenario__row row = {.key = "at", .type = ORR_TYPE_MOMENT};
    struct orr_scenario__value moment;
    orr_ms start_ms;
    char why[ORR_SCENARIO__WHY];
    if (at == NULL || at->text == NULL ||
        !orr_scenario__value_parse(&row, at->text, &moment, why) || moment.second == 0) {
        return ORR_OK;
    }
    if (start == NULL || start->text == NULL ||
        !orr_parse_timestamp(start->text, strlen(start->text), &start_ms)) {
        return orr_scenario__fail(
            load, &at->at,
            "at: a date, and the scenario does not say which its time 0 is: state it "
            "(start: 2026-06-01T00:00:00Z), or write how long after time 0 it is, such as "
            "12d 10:00");
    }
    if (moment.whole < start_ms) {
        return orr_scenario__fail(load, &at->at, "at: before the scenario's start, %s",
                                  start->text);
    }
    moment.whole -= start_ms;
    moment.second = 0;
    at->text = orr_scenario__value_text(load->arena, &row, &moment);
    return ORR_OK;
}

enum orr_status orr_scenario__date_events(const struct orr_scenario__load *load,
                                          const struct orr_scenario__node *root)
{
    const struct orr_scenario__node *events = orr_scenario__find(root, "events");
    const struct orr_scenario__node *start = orr_scenario__find(root, "start");
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; events != NULL && i < events->child_count && status == ORR_OK; i++) {
        status = date_event(load, start, orr_scenario__find(events->children[i], "at"));
    }
    return status;
}

/* The number behind `letter` at the start of a text, and what follows it; 0: there is none. */
static uint32_t ordinal(const char **text, char letter)
{
    unsigned value = 0;
    int end = 0;
    if ((*text)[0] != letter || (*text)[1] < '1' || (*text)[1] > '9' ||
        sscanf(*text + 1, "%7u%n", &value, &end) != 1) {
        return 0;
    }
    *text += 1 + end;
    return value;
}

/* Domain `number` of those with `size` nodes in [first, first + count); the last may be smaller. */
static bool narrow(uint32_t size, uint32_t number, uint32_t *first, uint32_t *count)
{
    if (size == 0 || number == 0 || number > (*count + size - 1) / size) {
        return false;
    }
    uint32_t before = (number - 1) * size;
    *first += before;
    *count = *count - before < size ? *count - before : size;
    return true;
}

/* "b3-r5", "r5" or "b3" of a pool whose nodes start at `first`. */
static bool find_domain(const struct orr_scenario_pool *pool, bool rack, const char *text,
                        uint32_t *first, uint32_t *count)
{
    uint32_t block = ordinal(&text, 'b');
    if (block > 0 && !narrow(pool->block_size, block, first, count)) {
        return false;
    }
    if (!rack) {
        return block > 0 && *text == '\0';
    }
    if (block > 0 &&
        (*text++ != '-' || pool->rack_size == 0 || pool->block_size % pool->rack_size > 0)) {
        return false;
    }
    uint32_t number = ordinal(&text, 'r');
    return *text == '\0' && narrow(pool->rack_size, number, first, count);
}

static bool is_node(const struct orr_scenario *scenario, const struct orr_scenario_pool *pool,
                    const char *name, uint32_t *number)
{
    size_t bytes = strlen(pool->name);
    const char *digits = name + 1;
    for (uint32_t n = 0; n < pool->name_count && n < pool->nodes_most; n++) {
        if (strcmp(pool->names[n], name) == 0) {
            *number = n + 1;
            return true;
        }
    }
    if (scenario->pool_count > 1) {
        if (strncmp(name, pool->name, bytes) != 0 || name[bytes] != '-') {
            return false;
        }
        digits = name + bytes + 1;
    } else if (name[0] != 'n') {
        return false;
    }
    size_t length = strlen(digits);
    int end = 0;
    return length >= 4 && length <= 7 && sscanf(digits, "%7u%n", number, &end) == 1 &&
           digits[end] == '\0' && *number >= 1 && *number <= pool->nodes_most;
}

static bool find_in_pool(const struct orr_scenario *scenario, const struct orr_scenario_pool *pool,
                         const char *target, uint32_t *first, uint32_t *count)
{
    size_t bytes = strlen(pool->name);
    const char *slash = strchr(target, '/');
    uint32_t number;
    if (is_node(scenario, pool, target, &number)) { /* names of pools may have slashes */
        *first += number - 1;
        *count = 1;
        return true;
    }
    if (slash == NULL) {
        return false;
    }
    const char *name = slash + 1;
    size_t word = (size_t)(slash - target);
    bool ours = strncmp(name, pool->name, bytes) == 0;
    if (strncmp(target, "pool", word) == 0 && word == 4) {
        return ours && name[bytes] == '\0';
    }
    bool rack = strncmp(target, "rack", word) == 0 && word == 4;
    bool block = strncmp(target, "block", word) == 0 && word == 5;
    return (rack || block) && ours && name[bytes] == '-' &&
           find_domain(pool, rack, name + bytes + 1, first, count);
}

/* Where the pool says that all of it stands, at the level that the target names; NULL: it does not
 * say. */
static const char *stated_domain(const struct orr_scenario_pool *pool, const char *target)
{
    return strncmp(target, "rack/", 5) == 0    ? pool->rack
           : strncmp(target, "block/", 6) == 0 ? pool->block
           : strncmp(target, "zone/", 5) == 0  ? pool->zone
                                               : NULL;
}

static bool stands_there(const struct orr_scenario_pool *pool, const char *target)
{
    const char *stated = stated_domain(pool, target);
    return stated != NULL && strcmp(stated, strchr(target, '/') + 1) == 0;
}

/* Adds an event for each row of nodes that stand there, as pools between them may stand elsewhere;
 * they differ in their nodes alone. */
static uint32_t add_domain(struct orr_scenario *scenario, const char *target,
                           const struct orr_scenario_event *event)
{
    uint32_t added = 0, before = 0;
    bool goes_on = false;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const bool there = stands_there(pool, target);
        if (there && !goes_on) {
            struct orr_scenario_event *next = &scenario->events[scenario->event_count + added++];
            *next = *event;
            next->first_node = before;
            next->node_count = 0;
        }
        if (there) {
            scenario->events[scenario->event_count + added - 1].node_count += pool->nodes_most;
        }
        goes_on = there;
        before += pool->nodes_most;
    }
    return added;
}

/* What a target could be called, as far as this cluster has such things. */
static const char *examples(const struct orr_scenario__load *load,
                            const struct orr_scenario *scenario)
{
    const char *const first = scenario->pool_count > 0 ? scenario->pools[0].name : "POOL";
    const char *text = scenario->pool_count == 1
                           ? "a node as n0001"
                           : orr_scenario__format(load->arena, "a node as %.80s-0001", first);
    bool racks = false, blocks = false;
    for (uint32_t p = 0; p < scenario->pool_count; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        const bool rack = pool->rack != NULL || pool->rack_size > 0;
        const bool block = pool->block != NULL || pool->block_size > 0;
        if (rack && !racks) {
            text = pool->rack != NULL
                       ? orr_scenario__format(load->arena, "%s, rack/%.80s", text, pool->rack)
                       : orr_scenario__format(load->arena, "%s, rack/%.80s-r1", text, pool->name);
        }
        if (block && !blocks) {
            text = pool->block != NULL
                       ? orr_scenario__format(load->arena, "%s, block/%.80s", text, pool->block)
                       : orr_scenario__format(load->arena, "%s, block/%.80s-b1", text, pool->name);
        }
        racks = racks || rack;
        blocks = blocks || block;
    }
    return orr_scenario__format(load->arena, "%s, or pool/%.80s", text, first);
}

/* The event becomes those that have its nodes. */
static enum orr_status add_of_nodes(const struct orr_scenario__load *load,
                                    struct orr_scenario *scenario,
                                    const struct orr_scenario__node *target,
                                    const struct orr_scenario_event *event)
{
    uint32_t before = 0, added = 0;
    for (uint32_t p = 0; p < scenario->pool_count && added == 0; p++) {
        const struct orr_scenario_pool *pool = &scenario->pools[p];
        uint32_t first = before, count = pool->nodes_most;
        if (find_in_pool(scenario, pool, target->text, &first, &count)) {
            struct orr_scenario_event *one = &scenario->events[scenario->event_count + added++];
            *one = *event;
            one->first_node = first;
            one->node_count = count;
        }
        before += pool->nodes_most;
    }
    added = added > 0 ? added : add_domain(scenario, target->text, event);
    scenario->event_count += added;
    return added > 0
               ? ORR_OK
               : orr_scenario__fail(load, &target->at, "%s: the cluster has no \"%.80s\": name %s",
                                    target->key, target->text, examples(load, scenario));
}

static enum orr_status check_times(const struct orr_scenario__load *load,
                                   const struct orr_scenario__node *node,
                                   const struct orr_scenario_event *event)
{
    const struct orr_scenario__node *notice = orr_scenario__find(node, "notice");
    const struct orr_scenario__node *length = orr_scenario__find(node, "for");
    if (length != NULL && event->for_ms == 0) {
        return orr_scenario__fail(load, &length->at, "for: must be more than 0");
    }
    if (event->fail == NULL && event->for_ms == ORR_MS_NONE) {
        return orr_scenario__fail(load, &node->at, "the event needs \"for\": how long");
    }
    if (event->taken != NULL) {
        return orr_scenario__fail(load, &orr_scenario__find(node, "taken")->at,
                                  "taken: only with \"set\"");
    }
    if (notice != NULL && event->notice_ms != ORR_MS_NONE && event->maintain == NULL) {
        return orr_scenario__fail(load, &notice->at, "notice: only with \"maintain\"");
    }
    return ORR_OK;
}

static enum orr_status check_set(const struct orr_scenario__load *load,
                                 const struct orr_scenario__node *node,
                                 const struct orr_scenario_event *event)
{
    return event->for_ms == ORR_MS_NONE
               ? ORR_OK
               : orr_scenario__fail(load, &orr_scenario__find(node, "for")->at,
                                    "for: not with \"set\", which holds until another event");
}

enum orr_status orr_scenario__fill_events(struct orr_scenario__load *load,
                                          struct orr_scenario *scenario,
                                          const struct orr_scenario__node *events)
{
    static const char *const deeds[] = {"fail", "maintain", "drain"};
    const struct orr_scenario__row *row = orr_scenario__row_at("events", NULL);
    const uint32_t stated = events == NULL ? 0 : events->child_count;
    const size_t rows = scenario->pool_count / 2 + (size_t)1; /* of nodes, at most, of an event */
    scenario->event_count = 0;
    scenario->events = orr_arena_alloc(load->arena, stated * rows + 1, sizeof *scenario->events);
    enum orr_status status = ORR_OK;
    for (uint32_t i = 0; i < stated && status == ORR_OK; i++) {
        const struct orr_scenario__node *node = events->children[i], *target = NULL;
        struct orr_scenario_event one = {.for_ms = ORR_MS_NONE, .notice_ms = ORR_MS_NONE};
        struct orr_scenario_event *const event = &one;
        orr_scenario__fill_group(row, node, event);
        uint32_t set_words = 0;
        for (size_t d = 0; d < sizeof deeds / sizeof deeds[0]; d++) {
            const struct orr_scenario__node *deed = orr_scenario__find(node, deeds[d]);
            const bool is_deed = deed != NULL && deed->text != NULL;
            set_words += is_deed;
            target = is_deed ? deed : target;
        }
        const bool sets = orr_scenario__find(node, "set") != NULL;
        if (event->at_ms > ORR_SCENARIO__LONGEST_MS) {
            return orr_scenario__fail(load, &orr_scenario__find(node, "at")->at,
                                      "at: more than 36500d");
        }
        if (set_words + sets != 1) {
            return orr_scenario__fail(
                load, &node->at,
                "an event needs one of \"fail\", \"maintain\", \"drain\", \"set\"");
        }
        status = sets ? check_set(load, node, event) : check_times(load, node, event);
        if (status == ORR_OK && !sets) {
            status = add_of_nodes(load, scenario, target, event);
        } else if (status == ORR_OK) {
            scenario->events[scenario->event_count++] = one;
        }
    }
    return status;
}
