/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <orrery/analysis/names.h>

static void short_names__keep_both_ends_and_differ(void **state)
{
    (void)state;
    static const char *const names[] = {
        "short",
        "ten-chars!",
        "eleven-char",
        "größer-als-zehn",
        "team-alpha-1-west",
        "team-beta-1-west",
        "team-alpha-1-west", /* the same again */
        "team-a…1-west",
        "team…west",
        "teamX-----west",
    };
    enum { COUNT = sizeof names / sizeof names[0] };
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char **shorts = orr_short_names(&arena, names, COUNT, 10);
    assert_ptr_equal(shorts[0], names[0]);
    assert_ptr_equal(shorts[1], names[1]);
    assert_string_equal(shorts[2], "eleve…char");
    assert_string_equal(shorts[3], "größe…zehn");
    assert_string_equal(shorts[4], "team-…west");
    assert_string_equal(shorts[5], "team…2…est");
    assert_string_equal(shorts[6], shorts[4]);
    assert_string_equal(shorts[8], "team…west");
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(orr_text_width(shorts[i]) <= 10);
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(strcmp(names[i], names[j]) == 0, strcmp(shorts[i], shorts[j]) == 0);
        }
    }
    orr_arena_release(&arena);
}

static void short_names__that_are_many_fit_all_the_same(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static char texts[COUNT][40];
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "department-%03d-queue", i);
        names[i] = texts[i];
    }
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char **shorts = orr_short_names(&arena, names, COUNT, 8);
    for (int i = 0; i < COUNT; i++) {
        assert_true(orr_text_width(shorts[i]) <= 8);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(shorts[i], shorts[j]);
        }
    }
    orr_arena_release(&arena);
}

static void legend__says_what_was_shortened_once(void **state)
{
    (void)state;
    static const char *const names[] = {"whole", "research-west", "research-west"};
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char **shorts = orr_short_names(&arena, names, 3, 8);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    orr_short_legend(out, "  ", names, (const char *const *)shorts, 3);
    (void)fclose(out);
    assert_string_equal(text, "  rese…est: research-west\n");
    free(text);
    orr_arena_release(&arena);
}

/* Columns as a terminal shows them: wide characters are two, marks none, bytes that are no text
 * one. */
static void width__is_that_of_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int width;
    } cases[] = {{"", 0},   {"ops", 3},  {"café", 4}, {"cafe\xcc\x81", 4}, {"研究", 4},
                 {"큐", 2}, {"ﾊﾝｶｸ", 4}, {"🚀x", 3},   {"\xff\xfe", 2},     {"…", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(orr_text_width(cases[i].text), cases[i].width);
    }
    assert_string_equal(orr_text_from("研究x", 2), "究x");
    assert_string_equal(orr_text_from("研究x", 3), "究x");
    assert_string_equal(orr_text_from("e\xcc\x81x", 1), "x");
}

static void short_names__of_wide_characters_fit(void **state)
{
    (void)state;
    static const char *const names[] = {"研究生产队列研究", "研究生产队列队列",
                                        "a研究生产队列研究b"};
    struct orr_arena arena;
    orr_arena_init(&arena);
    const char **shorts = orr_short_names(&arena, names, 3, 10);
    assert_string_equal(shorts[0], "研究…研究");
    assert_string_equal(shorts[1], "研究…队列");
    assert_string_equal(shorts[2], "a研究…究b");
    for (size_t i = 0; i < 3; i++) {
        assert_true(orr_text_width(shorts[i]) <= 10);
    }
    orr_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_names__keep_both_ends_and_differ),
        cmocka_unit_test(short_names__that_are_many_fit_all_the_same),
        cmocka_unit_test(width__is_that_of_a_terminal),
        cmocka_unit_test(short_names__of_wide_characters_fit),
        cmocka_unit_test(legend__says_what_was_shortened_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
