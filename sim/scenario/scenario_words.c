/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_words.c - what differs between two scenarios, a sentence a thing: a queue, a pool, a
 * part of the workload, the policy, a setting. */
#include <orrery/sim/scenario.h>

#include <stdio.h>
#include <string.h>

#include <orrery/base/text.h>

#define NAMED_MOST 5 /* values told of a thing that only one of the two has */

/* Things whose names are part of a path. `always` is a value each of them has, so that one whose
 * every difference is on one side is known to be on that side only; NULL: it cannot be told. */
static const struct {
    const char *prefix, *what, *always;
} kinds[] = {{"queues.", "queue", "priority"},
             {"cluster.pools.", "pool", "nodes"},
             {"workload.", "workload", "kind"},
             {"templates.", "template", NULL},
             {"variants.", "variant", NULL}};
/* Groups that are said as one thing. */
static const char *const groups[] = {"policy.", "cluster.topology.", "cluster.failures.",
                                     "execution.", "shake."};

struct entry { /* one path that differs; NULL: that side has it not */
    const char *key, *in_a, *in_b;
    uint32_t thing;
};

struct thing {
    const char *name; /* "queue vision", "policy", "horizon" */
    const char *always;
};

struct words {
    struct orr_arena arena;
    struct thing *things;
    uint32_t thing_count, thing_room;
    struct entry *entries;
    uint32_t entry_count, entry_room;
    orr_say_fn *say;
    void *context;
    uint32_t sentences;
};

static const char *keep(struct words *words, const char *text, size_t bytes)
{
    return text == NULL ? NULL : orr_arena_strndup(&words->arena, text, bytes);
}

static uint32_t thing_at(struct words *words, const char *name, const char *always)
{
    for (uint32_t t = 0; t < words->thing_count; t++) {
        if (strcmp(words->things[t].name, name) == 0) {
            return t;
        }
    }
    words->things = ORR_ROOM_FOR_ONE(words->things, words->thing_count, words->thing_room);
    words->things[words->thing_count] = (struct thing){keep(words, name, strlen(name)), always};
    return words->thing_count++;
}

/* Splits a path into the thing and what of it differs. */
static uint32_t split(struct words *words, const char *path, const char **key)
{
    char name[400];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const size_t bytes = strlen(kinds[k].prefix);
        if (strncmp(path, kinds[k].prefix, bytes) == 0) {
            const char *rest = path + bytes;
            const size_t own = strcspn(rest, ".");
            *key = rest[own] == '.' ? rest + own + 1 : "";
            (void)snprintf(name, sizeof name, "%s %.*s", kinds[k].what, own < 300 ? (int)own : 300,
                           rest);
            return thing_at(words, name, kinds[k].always);
        }
    }
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        const size_t bytes = strlen(groups[g]);
        if (strncmp(path, groups[g], bytes) == 0) {
            *key = strncmp(path + bytes, "params.", 7) == 0 ? path + bytes + 7 : path + bytes;
            (void)snprintf(name, sizeof name, "%.*s", (int)(bytes - 1), path);
            return thing_at(words, name, NULL);
        }
    }
    *key = "";
    return thing_at(words, strncmp(path, "expect.", 7) == 0 ? "expect" : path, NULL);
}

static void take(const char *path, const char *in_a, const char *in_b, void *context)
{
    struct words *words = context;
    const char *key;
    const uint32_t thing = split(words, path, &key);
    words->entries = ORR_ROOM_FOR_ONE(words->entries, words->entry_count, words->entry_room);
    words->entries[words->entry_count++] = (struct entry){
        keep(words, key, strlen(key)), keep(words, in_a, in_a != NULL ? strlen(in_a) : 0),
        keep(words, in_b, in_b != NULL ? strlen(in_b) : 0), thing};
}

static bool is_set(const char *value)
{
    return value != NULL && strcmp(value, "null") != 0;
}

struct line {
    char text[1000];
    size_t used;
};

static void put(struct line *line, const char *text)
{
    const size_t room = sizeof line->text - line->used;
    const int bytes = snprintf(line->text + line->used, room, "%s", text);
    line->used += bytes < 0 ? 0 : (size_t)bytes < room ? (size_t)bytes : room - 1;
}

enum { FIRST_BYTES = 60 }; /* shown of a line of a text */

static uint32_t line_count(const char *text)
{
    uint32_t lines = 0;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        lines++;
    }
    return lines;
}

/* A value, times as people write them; of a text of several lines, as a slurm.conf is, how many. */
static void put_value(struct line *line, const char *value)
{
    char text[80];
    const size_t digits = strspn(value, "0123456789");
    int64_t ms;
    if (strchr(value, '\n') != NULL) {
        (void)snprintf(text, sizeof text, "a text of %u lines", line_count(value));
        put(line, text);
    } else if (strcmp(value + digits, "ms") == 0 && orr_parse_i64(value, digits, &ms) &&
               ms >= 60000 && ms % 1000 == 0) {
        (void)orr_format_span(text, ms);
        put(line, text);
    } else {
        put(line, value);
    }
}

/* The first line in which two texts differ: "line 3 from A=1 to A=2". */
static void put_first_line(struct line *line, const char *a, const char *b)
{
    char text[3 * FIRST_BYTES];
    uint32_t nr = 1;
    size_t in_a = strcspn(a, "\n"), in_b = strcspn(b, "\n");
    while (in_a == in_b && memcmp(a, b, in_a) == 0 && a[in_a] != '\0' && b[in_b] != '\0') {
        a += in_a + 1;
        b += in_b + 1;
        in_a = strcspn(a, "\n");
        in_b = strcspn(b, "\n");
        nr++;
    }
    (void)snprintf(text, sizeof text, "line %u from %.*s to %.*s", nr,
                   (int)(in_a < FIRST_BYTES ? in_a : FIRST_BYTES), a,
                   (int)(in_b < FIRST_BYTES ? in_b : FIRST_BYTES), b);
    put(line, text);
}

/* Only one of the two has it: what it says of itself, without what says nothing. */
static void say_one_sided(struct words *words, uint32_t thing, bool is_new)
{
    struct line line = {0};
    uint32_t named = 0;
    put(&line, words->things[thing].name);
    put(&line, is_new ? ": new" : ": gone");
    for (uint32_t i = 0; i < words->entry_count; i++) {
        const struct entry *e = &words->entries[i];
        const char *value = is_new ? e->in_b : e->in_a;
        if (e->thing != thing || !is_set(value) || strcmp(value, "unlimited") == 0 ||
            named == NAMED_MOST) {
            continue;
        }
        put(&line, named++ == 0 ? (is_new ? " with " : " (") : ", ");
        put(&line, e->key);
        put(&line, " ");
        put_value(&line, value);
    }
    put(&line, named > 0 && !is_new ? ")" : "");
    words->sentences++;
    words->say(line.text, words->context);
}

static void put_change(struct line *line, const struct entry *e)
{
    put(line, e->key);
    put(line, e->key[0] != '\0' ? " " : "");
    if (!is_set(e->in_a)) {
        put(line, "now ");
        put_value(line, e->in_b != NULL ? e->in_b : "null");
        put(line, e->in_a == NULL ? " (not written before)" : " (not set before)");
    } else if (!is_set(e->in_b)) {
        put(line, e->in_b == NULL ? "not written any more (was " : "not set any more (was ");
        put_value(line, e->in_a);
        put(line, ")");
    } else if (strchr(e->in_a, '\n') != NULL && strchr(e->in_b, '\n') != NULL) {
        put_first_line(line, e->in_a, e->in_b);
    } else {
        put(line, "from ");
        put_value(line, e->in_a);
        put(line, " to ");
        put_value(line, e->in_b);
    }
}

static void say_changes(struct words *words, uint32_t thing)
{
    struct line line = {0};
    uint32_t named = 0;
    put(&line, words->things[thing].name);
    put(&line, ": ");
    for (uint32_t i = 0; i < words->entry_count; i++) {
        if (words->entries[i].thing == thing) {
            put(&line, named++ == 0 ? "" : ", ");
            put_change(&line, &words->entries[i]);
        }
    }
    words->sentences++;
    words->say(line.text, words->context);
}

/* Expectations have no names: those that only one of the two has, wherever they stand. */
static void say_expectations(struct words *words, uint32_t thing)
{
    for (uint32_t i = 0; i < words->entry_count; i++) {
        for (int side = 0; side < 2; side++) {
            const struct entry *e = &words->entries[i];
            const char *text = side == 0 ? e->in_a : e->in_b;
            bool twice = e->thing != thing || text == NULL;
            for (uint32_t j = 0; j < words->entry_count && !twice; j++) {
                const struct entry *o = &words->entries[j];
                const char *other = side == 0 ? o->in_b : o->in_a;
                twice = o->thing == thing && other != NULL && strcmp(other, text) == 0;
            }
            if (!twice) {
                struct line line = {0};
                put(&line, side == 0 ? "expect: not any more " : "expect: now also ");
                put(&line, text);
                words->sentences++;
                words->say(line.text, words->context);
            }
        }
    }
}

static void say_thing(struct words *words, uint32_t thing)
{
    const struct thing *t = &words->things[thing];
    bool in_a = false, in_b = false, has_always = false;
    for (uint32_t i = 0; i < words->entry_count; i++) {
        const struct entry *e = &words->entries[i];
        if (e->thing == thing) {
            in_a = in_a || e->in_a != NULL;
            in_b = in_b || e->in_b != NULL;
            has_always = has_always || (t->always != NULL && strcmp(e->key, t->always) == 0);
        }
    }
    if (strcmp(t->name, "expect") == 0) {
        say_expectations(words, thing);
    } else if (has_always && in_a != in_b) {
        say_one_sided(words, thing, in_b);
    } else {
        say_changes(words, thing);
    }
}

uint32_t orr_scenario_diff_words(const struct orr_scenario *a, const struct orr_scenario *b,
                                 orr_say_fn *say, void *context)
{
    struct words words = {.say = say, .context = context};
    orr_arena_init(&words.arena);
    (void)orr_scenario_diff(a, b, take, &words);
    for (uint32_t t = 0; t < words.thing_count; t++) {
        say_thing(&words, t);
    }
    orr_free(words.things);
    orr_free(words.entries);
    orr_arena_release(&words.arena);
    return words.sentences;
}
