/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of owners and pods against the PodGroups that KAI's own pod grouper wrote for them.
 *
 * A case is NAME.json, a List as kubectl prints it, with KAI's answer under the key `kai`, or in
 * NAME.kai.json beside it. Cases are those of tests/grouper, and those of the folder `grouper` of
 * ORRERY_TEST_DATA or of its folder `trials`, if that variable is set and there is one.
 */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "import_world.h"

#include <orrery/traces/source.h>

#define LINES_MAX 4000

struct lines { /* what a grouping is, one fact a line, in order */
    const char *at[LINES_MAX];
    size_t count;
    struct import_load *load;
};

static void add_line(struct lines *lines, const char *text)
{
    assert_true(lines->count < LINES_MAX);
    lines->at[lines->count++] = text;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *or_none(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "-";
}

static const char *level(struct lines *lines, const char *topology, const char *required,
                         const char *preferred)
{
    return import_format(lines->load, "%s/%s/%s", or_none(topology), or_none(required),
                         or_none(preferred));
}

/* --- ours --- */

static void list_ours(struct lines *lines, const struct orr_snapshot *s)
{
    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct orr_snapshot_group *g = &s->groups[i];
        if (g->pods == 0) {
            continue;
        }
        add_line(lines, import_format(lines->load,
                                      "%s queue %s priority %lld%s delay %lld grace %lld sets %lld "
                                      "level %s",
                                      g->job, g->queue, (long long)g->priority,
                                      g->preemptible ? "" : "!", (long long)g->preemption_delay_ms,
                                      (long long)g->staleness_grace_ms, (long long)g->min_subgroups,
                                      level(lines, g->level.topology, g->level.required,
                                            g->level.preferred)));
        for (uint32_t k = 0; k < g->set_count; k++) {
            const struct orr_snapshot_set *set = &g->sets[k];
            add_line(lines, import_format(lines->load, "%s set %s in %s min %lld level %s", g->job,
                                          set->name, or_none(set->parent), (long long)set->min,
                                          level(lines, set->level.topology, set->level.required,
                                                set->level.preferred)));
        }
        for (uint32_t k = 0; k < g->pods; k++) {
            add_line(lines, import_format(lines->load, "%s pod %s in %s", g->job, g->members[k].pod,
                                          or_none(g->members[k].subgroup)));
        }
    }
}

/* --- KAI's --- */

static const char *kai_level(struct lines *lines, const struct import_value *of)
{
    const struct import_value *c = import_get(of, "topologyConstraint");
    return level(lines, import_label(c, "topology"), import_label(c, "requiredTopologyLevel"),
                 import_label(c, "preferredTopologyLevel"));
}

static orr_ms duration(struct lines *lines, const struct import_value *group, const char *key,
                       orr_ms absent)
{
    const char *text = import_text(lines->load, group, key, NULL);
    orr_ms span = absent;
    assert_true(text == NULL || import_duration(text, &span));
    return span;
}

/* The four classes of KAI are in every case; any other name is of no class. */
static int64_t class_priority(const char *name)
{
    return strcmp(name, "inference") == 0           ? 125
           : strcmp(name, "build") == 0             ? 100
           : strcmp(name, "build-preemptible") == 0 ? 75
                                                    : 50;
}

static void list_kai_group(struct lines *lines, const struct import_value *g)
{
    struct import_load *load = lines->load;
    const int64_t priority = class_priority(import_text(load, g, "priorityClassName", ""));
    const char *word = import_text(load, g, "preemptibility", "");
    const bool preemptible = word[0] != '\0' ? strcmp(word, "preemptible") == 0 : priority < 100;
    const struct import_value *sets = import_list(load, g, "subGroups");
    add_line(
        lines,
        import_format(load, "%s queue %s priority %lld%s delay %lld grace %lld sets %lld level %s",
                      g->key, import_text(load, g, "queue", ""), (long long)priority,
                      preemptible ? "" : "!", (long long)duration(lines, g, "preemptionDelay", 0),
                      (long long)duration(lines, g, "stalenessGracePeriod", ORR_MS_NONE),
                      (long long)import_int(load, g, "minSubGroup", -1), kai_level(lines, g)));
    IMPORT_EACH(set, sets)
    {
        const int64_t min =
            import_int(load, set, "minSubGroup", import_int(load, set, "minMember", 0));
        add_line(lines, import_format(load, "%s set %s in %s min %lld level %s", g->key,
                                      import_text(load, set, "name", ""),
                                      or_none(import_text(load, set, "parent", "")), (long long)min,
                                      kai_level(lines, set)));
    }
    if (sets == NULL || sets->count == 0) {
        add_line(lines, import_format(load, "%s set default in - min %lld level -/-/-", g->key,
                                      (long long)import_int(load, g, "minMember", 0)));
    }
}

static void list_kai(struct lines *lines, const struct import_value *kai)
{
    const struct import_value *groups = import_get(kai, "podgroups");
    IMPORT_EACH(group, groups)
    {
        list_kai_group(lines, group);
    }
    IMPORT_EACH(pod, import_get(kai, "pods"))
    {
        const char *group = import_text(lines->load, pod, "group", "");
        if (group[0] != '\0' && import_get(groups, group) != NULL) {
            add_line(lines, import_format(lines->load, "%s pod %s in %s", group, pod->key,
                                          or_none(import_text(lines->load, pod, "subgroup", ""))));
        }
    }
}

/* --- cases --- */

static const struct import_value *read_document(struct import_load *load, const char *path,
                                                char **text)
{
    struct import_file *file;
    size_t bytes = 0;
    *text = NULL;
    if (orr_source_read_all(path, (size_t)1 << 30, text, &bytes, load->err) != ORR_OK ||
        import_parse(load, path, *text, bytes, &file) != ORR_OK) {
        return NULL;
    }
    return file->documents->first;
}

static void assert_equal_lines(const char *path, struct lines *ours, struct lines *kai)
{
    qsort(ours->at, ours->count, sizeof *ours->at, compare_lines);
    qsort(kai->at, kai->count, sizeof *kai->at, compare_lines);
    for (size_t i = 0; i < ours->count || i < kai->count; i++) {
        const char *one = i < ours->count ? ours->at[i] : "(nothing more)";
        const char *other = i < kai->count ? kai->at[i] : "(nothing more)";
        if (strcmp(one, other) != 0) {
            fail_msg("%s\n  ours: %s\n  KAI:  %s", path, one, other);
        }
    }
}

static void check_case(const char *folder, const char *name)
{
    char path[1200], beside[1200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(beside, sizeof beside, "%s/%.*s.kai.json", folder, (int)strlen(name) - 5, name);
    struct orr_arena arena;
    struct orr_err err = {0};
    struct import_load load = {.arena = &arena, .err = &err};
    char *text, *text_beside = NULL;
    orr_arena_init(&arena);
    const struct import_value *kai = import_get(read_document(&load, path, &text), "kai");
    kai = kai != NULL || err.status != ORR_OK ? kai : read_document(&load, beside, &text_beside);
    if (kai == NULL) {
        fail_msg("%s: %s", path, err.text);
    }
    struct lines *ours = calloc(1, sizeof *ours), *theirs = calloc(1, sizeof *theirs);
    assert_true(ours != NULL && theirs != NULL);
    ours->load = theirs->load = &load;
    list_kai(theirs, kai);
    struct orr_snapshot snapshot;
    const char *const paths[] = {path};
    const struct orr_snapshot_options options = {
        .paths = paths, .path_count = 1, .now = ORR_MS_NONE};
    if (orr_snapshot_run(&options, &snapshot, &err) != ORR_OK) {
        fail_msg("%s: %s", path, err.text);
    }
    list_ours(ours, &snapshot);
    assert_true(import_ok(&load));
    assert_equal_lines(path, ours, theirs);
    orr_snapshot_release(&snapshot);
    free(ours);
    free(theirs);
    orr_free(text);
    orr_free(text_beside);
    orr_arena_release(&arena);
}

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static uint32_t check_folder(const char *folder)
{
    uint32_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (ends_with(entry->d_name, ".json") && !ends_with(entry->d_name, ".kai.json")) {
            check_case(folder, entry->d_name);
            count++;
        }
    }
    (void)closedir(directory);
    return count;
}

static void groups__are_those_of_kai(void **state)
{
    (void)state;
    assert_true(check_folder(GROUPER_CASES) >= 50);
}

static void groups__are_those_of_kai_in_the_data_at_hand(void **state)
{
    (void)state;
    char folder[1000];
    const char *data = getenv("ORRERY_TEST_DATA");
    if (data == NULL) {
        skip();
    }
    (void)snprintf(folder, sizeof folder, "%s/grouper", data);
    if (access(folder, F_OK) != 0) {
        (void)snprintf(folder, sizeof folder, "%s/trials/grouper", data);
    }
    if (access(folder, F_OK) != 0) {
        skip();
    }
    assert_true(check_folder(folder) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups__are_those_of_kai),
        cmocka_unit_test(groups__are_those_of_kai_in_the_data_at_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
