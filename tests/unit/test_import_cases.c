/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every conformance case that objects can say, written as KAI's snapshot and as kubectl's lists,
 * read again: the same session decides the same, in the same order. */
#include "import_world.h"

#include <dirent.h>
#include <stdlib.h>

#include <orrery/core/session_build.h>
#include <orrery/core/statement.h>
#include <orrery/policies/kai.h>

#include "case_export.h"
#include "case_world.h"

/* The decisions of the case itself; `defaults` takes the rules that lists leave a user with. */
static void decide_case(const struct conform_case *one, bool defaults, char *out, size_t bytes)
{
    struct case_world world;
    struct orr_session session;
    enum orr_action actions[ORR_ACTIONS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < one->action_count; i++) {
        for (int a = 0; a < ORR_ACTIONS; a++) {
            if (strcmp(one->actions[i], orr_action_name((enum orr_action)a)) == 0) {
                actions[count++] = (enum orr_action)a;
            }
        }
    }
    orr_conform__world_init(&world, one);
    orr_conform__make_session(&world, &session);
    if (defaults) {
        session.rules = orr_session_rules_default();
    }
    orr_session_open(&session, (orr_ms)CASE_NOW_S * 1000);
    if (defaults) {
        orr_kai_cycle(&session);
    } else {
        orr_kai_run(&session, actions, count);
    }
    static const char *const kinds[] = {"bind", "pipeline", "evict"};
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < session.decision_count; i++) {
        const struct orr_decision *d = &session.decisions[i];
        const bool helps = d->preemptor != ORR_NONE;
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s %s %s%s%s; ", kinds[d->kind],
                             session.tasks[d->task].name, session.nodes[d->node].name,
                             helps ? " for " : "", helps ? session.jobs[d->preemptor].name : "");
    }
    orr_session_close(&session);
    orr_session_release(&session);
    orr_conform__world_release(&world);
}

static void decide_export(const struct conform_case *one, bool lists, char *out, size_t bytes)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *file = open_memstream(&text, &text_bytes);
    assert_non_null(file);
    case_export(one, lists, file);
    assert_int_equal(fclose(file), 0);
    struct orr_snapshot_options options = {
        .text = text, .text_bytes = text_bytes, .now = (orr_ms)CASE_NOW_S * 1000};
    struct orr_snapshot snapshot;
    struct orr_err err = {0};
    if (orr_snapshot_run(&options, &snapshot, &err) != ORR_OK) {
        fail_msg("%s: %s", one->id, err.text);
    }
    (void)decided(&snapshot, out, bytes);
    orr_snapshot_release(&snapshot);
    free(text);
}

struct tally {
    uint32_t compared, left_out, with_decisions;
};

static void compare(const struct conform_case *one, struct tally *tally)
{
    if (case_export_obstacle(one) != NULL) {
        tally->left_out++;
        return;
    }
    for (int lists = 0; lists < 2; lists++) {
        char of_case[20000], of_export[20000];
        decide_case(one, lists != 0, of_case, sizeof of_case);
        decide_export(one, lists != 0, of_export, sizeof of_export);
        if (strcmp(of_case, of_export) != 0) {
            fail_msg("%s (%s): the case decides\n  %s\nits export\n  %s", one->id,
                     lists ? "lists" : "snapshot", of_case, of_export);
        }
        tally->with_decisions += of_case[0] != '\0' && !lists;
    }
    tally->compared++;
}

static void compare_file(const char *path, struct tally *tally)
{
    struct orr_arena arena;
    struct conform_reader reader;
    struct orr_err err = {0};
    orr_arena_init(&arena);
    struct fy_node *root = orr_conform__open(&reader, path, &arena, &err);
    assert_non_null(root);
    void *place = NULL;
    struct fy_node *node;
    while ((node = fy_node_sequence_iterate(root, &place)) != NULL) {
        struct conform_case one;
        assert_int_equal(orr_conform__read_case(&reader, node, &one), ORR_OK);
        compare(&one, tally);
    }
    orr_conform__close(&reader);
    orr_arena_release(&arena);
}

static void exported_cases__decide_the_same(void **state)
{
    (void)state;
    struct tally tally = {0};
    DIR *folder = opendir(ORR_TEST_CASES "/kai/cases");
    assert_non_null(folder);
    const struct dirent *item;
    while ((item = readdir(folder)) != NULL) {
        char path[1000];
        if (item->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, ORR_TEST_CASES "/kai/cases/%s", item->d_name);
            compare_file(path, &tally);
        }
    }
    (void)closedir(folder);
    print_message("%u cases compared, %u of them decide something, %u left out\n", tally.compared,
                  tally.with_decisions, tally.left_out);
    assert_true(tally.compared >= 200);
    assert_true(tally.with_decisions >= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exported_cases__decide_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
