/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a child process writes, taken apart: lines, members and types, and its hello. */
#include "plugin_child.h"

#include <math.h>
#include <stdio.h>

sqlite3_stmt *orr_child__ask(struct orr_plugin__child *child, enum orr_child_query query,
                             const char *line)
{
    sqlite3_stmt *statement = child->queries[query];
    (void)sqlite3_reset(statement);
    (void)sqlite3_bind_text(statement, 1, line, -1, SQLITE_STATIC);
    return sqlite3_step(statement) == SQLITE_ROW ? statement : NULL;
}

/* Why the run ends; what the child wrote comes first. */
enum orr_status orr_child__refuse(struct orr_plugin__child *child, const char *line,
                                  const char *why)
{
    return orr_fail(&child->err, ORR_PLUGIN, "policy %s: wrote \"%.200s\": %s; no results are kept",
                    child->name, line, why);
}

enum orr_status orr_child__read(struct orr_plugin__child *child, char **line)
{
    enum orr_status status = orr_pipe_line(&child->pipe, line, &child->err);
    if (status != ORR_OK) {
        return status;
    }
    for (char *c = *line; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        *c = byte == '\r' || byte == '\t' ? ' ' : *c;
        if (byte < 0x20 && byte != '\r' && byte != '\t') {
            *c = '?'; /* JSON has none; it is shown in an error */
        }
    }
    sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_IS_OBJECT, *line);
    return row != NULL && sqlite3_column_int(row, 0) != 0
               ? ORR_OK
               : orr_child__refuse(child, *line, "no JSON object of one line");
}

/* --- members --- */

/* Is the word one of a list, in which blanks part them? */
bool orr_child__is_among(const char *word, const char *list)
{
    const size_t bytes = strlen(word);
    const char *at = bytes > 0 ? strstr(list, word) : NULL;
    while (at != NULL && ((at > list && at[-1] != ' ') || (at[bytes] != ' ' && at[bytes] != 0))) {
        at = strstr(at + 1, word);
    }
    return at != NULL;
}

/* "protocol, name, gang" */
static void list_members(const struct orr_child_member *members, char *text, size_t bytes)
{
    size_t used = 0;
    for (const struct orr_child_member *m = members; m->name != NULL && used < bytes; m++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s", m == members ? "" : ", ", m->name);
    }
}

/* Is the member one of the message, of a type that it may be of, and there once? `seen`: how often
 * each was there. */
static enum orr_status look_at_member(struct orr_plugin__child *child, const char *line,
                                      const char *message, const struct orr_child_member *members,
                                      const char *key, const char *type, uint8_t *seen)
{
    const struct orr_child_member *found = members;
    char why[300] = "", list[160];
    while (found->name != NULL && strcmp(found->name, key) != 0) {
        found++;
    }
    if (found->name == NULL) {
        list_members(members, list, sizeof list);
        (void)snprintf(why, sizeof why, "its %s has no member \"%.60s\"; the members are %s",
                       message, key, list);
    } else if (!orr_child__is_among(type, found->types)) {
        (void)snprintf(why, sizeof why, "its \"%s\" is not %s", key, found->what);
    } else if (seen[found - members]++ > 0) {
        (void)snprintf(why, sizeof why, "its \"%s\" is there twice", key);
    }
    return why[0] == '\0' ? ORR_OK : orr_child__refuse(child, line, why);
}

/* Has it members that such a message does not have, of another type, or twice? */
enum orr_status orr_child__look_at(struct orr_plugin__child *child, const char *line,
                                   const char *message, const struct orr_child_member *members)
{
    enum orr_status status = ORR_OK;
    uint8_t seen[ORR_CHILD_MEMBERS_MAX] = {0};
    for (sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_MEMBERS, line);
         row != NULL && status == ORR_OK; row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        status =
            look_at_member(child, line, message, members, (const char *)sqlite3_column_text(row, 0),
                           (const char *)sqlite3_column_text(row, 1), seen);
    }
    return status;
}

/* --- the first words --- */

static const struct orr_child_member of_hello[] = {
    {"protocol", "integer", "1"},
    {"name", "text", "a word"},
    {"gang", "true false null", "true or false"},
    {"limit", "true false null", "true or false"},
    {"topology", "true false null", "true or false"},
    {"topology_parts", "true false null", "true or false"},
    {"cycle_s", "integer real null", "seconds"},
    {"round_s", "integer real null", "seconds"},
    {"heeds", "array null", "a list of words"},
    {"abilities", "array null", "a list of words"},
    {"bars", "array null", "a list of words"},
    {"shares", "true false null", "true or false"},
    {NULL, NULL, NULL}};

static bool take_seconds(sqlite3_stmt *row, int column, orr_ms *out)
{
    const double seconds = sqlite3_column_double(row, column);
    *out = seconds >= 0.0 && seconds < 1e9 ? (orr_ms)llround(seconds * 1000.0) : -1;
    return *out >= 0;
}

/* Which of the list it is, from 0. */
static uint32_t number_of(const char *word, const char *list)
{
    const size_t bytes = strlen(word);
    uint32_t number = 0;
    while (strncmp(list, word, bytes) != 0 || (list[bytes] != ' ' && list[bytes] != 0)) {
        list = strchr(list, ' ') + 1;
        number++;
    }
    return number;
}

/* A member that is a list of words. In `words` blanks part them; the nth stands for bit n. */
static enum orr_status take_words(struct orr_plugin__child *child, const char *line,
                                  const char *member, const char *words, uint32_t *bits)
{
    enum orr_status status = ORR_OK;
    (void)sqlite3_reset(child->queries[ORR_CHILD_WORDS]);
    (void)sqlite3_bind_text(child->queries[ORR_CHILD_WORDS], 2, member, -1, SQLITE_STATIC);
    for (sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_WORDS, line);
         row != NULL && status == ORR_OK; row = sqlite3_step(row) == SQLITE_ROW ? row : NULL) {
        const char *word = (const char *)sqlite3_column_text(row, 0);
        if (word == NULL || strchr(word, ' ') != NULL || !orr_child__is_among(word, words)) {
            char why[400];
            (void)snprintf(why, sizeof why, "its \"%s\" has no word \"%.60s\"; the words are %s",
                           member, word == NULL ? "null" : word, words);
            status = orr_child__refuse(child, line, why);
        } else {
            *bits |= 1u << number_of(word, words);
        }
    }
    return status;
}

/* Lists of words, each in the order of its bits. */
static enum orr_status take_lists(struct orr_plugin__child *child, const char *line)
{
    static const char heeds[] = "priority queues work seconds min-runtime no-past kind-spans "
                                "slices quotas pod-sizes estimates deadlines gpu-time no-order "
                                "limits";
    static const char abilities[] = "stale-gangs parts scale losses";
    enum orr_status status = take_words(child, line, "heeds", heeds, &child->heeds);
    if (status == ORR_OK) {
        status = take_words(child, line, "abilities", abilities, &child->policy.abilities);
    }
    return status == ORR_OK ? take_words(child, line, "bars", "limit quota", &child->bars) : status;
}

enum orr_status orr_child__take_hello(struct orr_plugin__child *child, char *line)
{
    sqlite3_stmt *row = orr_child__ask(child, ORR_CHILD_HELLO, line);
    if (row == NULL || orr_child__is_null(row, 0) ||
        sqlite3_column_int(row, 0) != ORR_CHILD_PROTOCOL) {
        return orr_child__refuse(child, line,
                                 "its \"protocol\" is not 1, the one that this program speaks");
    }
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *fault = orr_plugin__name_fault(name == NULL ? "" : name);
    if (fault != NULL) {
        char why[160];
        (void)snprintf(why, sizeof why, "its \"name\" %s", fault);
        return orr_child__refuse(child, line, why);
    }
    (void)snprintf(child->own_name, sizeof child->own_name, "%s", name);
    child->policy.name = child->own_name;
    child->policy.laws = (sqlite3_column_int(row, 2) != 0 ? ORR_LAW_GANG : 0u) |
                         (sqlite3_column_int(row, 3) != 0 ? ORR_LAW_LIMIT : 0u) |
                         (sqlite3_column_int(row, 6) != 0 ? ORR_LAW_SPAN : 0u) |
                         (sqlite3_column_int(row, 7) != 0 ? ORR_LAW_SPAN_PARTS : 0u);
    child->policy.shares = sqlite3_column_int(row, 8) != 0 ? orr_child__shares : NULL;
    const bool timed = take_seconds(row, 4, &child->policy.cycle_ms) &&
                       take_seconds(row, 5, &child->policy.round_ms);
    enum orr_status status = orr_child__look_at(child, line, "hello", of_hello);
    if (status == ORR_OK && !timed) {
        status =
            orr_child__refuse(child, line, "\"cycle_s\" and \"round_s\" are seconds, 0 or more");
    }
    return status == ORR_OK ? take_lists(child, line) : status;
}
