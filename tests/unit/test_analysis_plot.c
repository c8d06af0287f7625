/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every figure on every terminal, at several sizes, without a word from gnuplot. */
#include "test_main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/analysis/plot.h>

#include "analysis_fixture.h"

struct seen {
    int files, warnings;
    char last[1000];
};

static void report(void *context, const char *path, const char *warning)
{
    struct seen *seen = context;
    seen->files++;
    (void)snprintf(seen->last, sizeof seen->last, "%s", path);
    if (warning != NULL) {
        seen->warnings++;
        print_error("%s: %s\n", path, warning);
    }
}

static enum orr_status draw(const char *db, const char *term, const char *figure, struct seen *seen,
                            struct orr_err *err)
{
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    options.term = term;
    options.figures = &figure;
    options.count = figure != NULL ? 1 : 0;
    options.out = fopen("printed.txt", "w");
    assert_non_null(options.out);
    *seen = (struct seen){0};
    *err = (struct orr_err){.status = ORR_OK};
    enum orr_status status = orr_plot_run(db, &options, report, seen, err);
    assert_int_equal(fclose(options.out), 0);
    if (status != ORR_OK) {
        print_message("%s\n", err->text);
    }
    return status;
}

/* Whether a file holds a text. */
static bool holds(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static const size_t most = 4u << 20;
    char *all = calloc(most, 1);
    assert_non_null(all);
    size_t bytes = fread(all, 1, most - 1, file);
    (void)fclose(file);
    bool found = bytes > 0 && strstr(all, text) != NULL;
    free(all);
    return found;
}

/* All of them are drawn when none is named. */
static uint32_t figures(void)
{
    uint32_t count;
    (void)orr_plot_list(&count);
    return count;
}

static void draw_all(const char *db)
{
    static const char *const terms[] = {"svg", "png", "dumb"};
    struct seen seen;
    struct orr_err err;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(draw(db, terms[i], NULL, &seen, &err), ORR_OK);
        assert_int_equal(seen.files, figures());
        assert_int_equal(seen.warnings, 0);
    }
}

static void figures__are_drawn_with_two_queues(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 4, .jobs = 300, .days = 3, .origin_ms = -1};
    fixture_write("two.db", &fixture);
    draw_all("two.db");
    assert_int_equal(access("two-wait-cdf.svg", R_OK), 0);
    assert_int_equal(access("two-gantt.png", R_OK), 0);
}

static void figures__are_drawn_with_one_queue(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 1, .nodes = 1, .jobs = 20, .days = 1, .origin_ms = -1};
    fixture_write("one.db", &fixture);
    draw_all("one.db");
    assert_true(holds("one-wait-cdf.svg", "interactive"));
}

static void figures__are_drawn_with_many_queues(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 200, .nodes = 100, .jobs = 6000, .days = 9, .origin_ms = 1};
    fixture_write("many.db", &fixture);
    draw_all("many.db");
    assert_true(holds("many-allocation.svg", "others (190)"));
    assert_true(holds("many-share.svg", "2017-10-03"));
    assert_true(holds("many-fairness.svg", "others (190)"));
    assert_true(holds("many-debt.svg", "GPU-hours owed so far"));
    assert_true(holds("many-churn.svg", "reclaim"));
    assert_true(holds("many-reasons.svg", "fragmented"));
}

static void names__survive(void **state)
{
    (void)state;
    struct fixture fixture = {
        .queues = 15, .nodes = 10, .jobs = 1500, .days = 5, .origin_ms = 1, .strange_names = 1};
    fixture_write("strange.db", &fixture);
    draw_all("strange.db");
    static const char *const names[] = {
        "vision_lab", "o'neil \"nlp\"", "back\\slash\\n", "gr\xc3\xb6\xc3\237e-\xe6\x9f\x90",
        "`echo hi`",  "@macro $HOME",   "%s%d 100%",      "&lt;b>&amp;amp;"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(holds("strange-share.svg", names[i]));
    }
    assert_true(holds("strange-gantt.svg", "n_%d'2"));
}

static void names__of_files_are_no_commands(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 2, .jobs = 50, .days = 1, .origin_ms = -1};
    const char *path = "| touch 'hit' $(touch hit) `touch hit`.db";
    fixture_write(path, &fixture);
    (void)remove("hit");
    draw_all(path);
    assert_int_not_equal(access("hit", F_OK), 0);
    assert_int_equal(access("| touch 'hit' $(touch hit) `touch hit`-share.svg", R_OK), 0);
}

static void figures__say_when_there_is_nothing(void **state)
{
    (void)state;
    sqlite3 *db = fixture_open("empty.db");
    fixture_exec(db,
                 "INSERT INTO run VALUES(1,'none','finished','fifo','',1,'0','','','0',NULL,0,0,"
                 "0,0,1000)");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    draw_all("empty.db");
}

static void window__may_lie_anywhere(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 4, .jobs = 300, .days = 3, .origin_ms = -1};
    static const orr_ms windows[][2] = {
        {3600000, 7200000}, {0, 1}, {-5000, 5000}, {1000000000000, 1000000001000}};
    fixture_write("window.db", &fixture);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct orr_plot_options options = ORR_PLOT_DEFAULTS;
        struct seen seen = {0};
        struct orr_err err = {.status = ORR_OK};
        options.from_ms = windows[i][0];
        options.to_ms = windows[i][1];
        assert_int_equal(orr_plot_run("window.db", &options, report, &seen, &err), ORR_OK);
        assert_int_equal(seen.files, figures());
        assert_int_equal(seen.warnings, 0);
    }
}

static void faults__are_told_apart(void **state)
{
    (void)state;
    struct seen seen;
    struct orr_err err;
    assert_int_equal(draw("absent.db", "svg", NULL, &seen, &err), ORR_NO_INPUT);
    FILE *file = fopen("text.db", "w");
    assert_non_null(file);
    for (int i = 0; i < 200; i++) {
        (void)fputs("this is no database\n", file);
    }
    (void)fclose(file);
    assert_int_equal(draw("text.db", "svg", NULL, &seen, &err), ORR_DATA);
    sqlite3 *db = fixture_open("new.db");
    assert_int_equal(draw("new.db", "svg", NULL, &seen, &err), ORR_DATA);
    fixture_exec(db, "PRAGMA user_version = 7");
    assert_int_equal(draw("new.db", "svg", NULL, &seen, &err), ORR_DATA);
    assert_non_null(strstr(err.text, "version 7"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("new.db", "svg", "alocation", &seen, &err), ORR_USAGE);
    assert_non_null(strstr(err.text, "allocation"));
    assert_int_equal(draw("new.db", "pdf", NULL, &seen, &err), ORR_USAGE);
}

static void gnuplot__absent_leaves_scripts(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 2, .jobs = 50, .days = 1, .origin_ms = -1};
    struct seen seen;
    struct orr_err err;
    fixture_write("bare.db", &fixture);
    (void)remove("bare-size.gp");
    (void)remove("bare-size.svg");
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_int_equal(draw("bare.db", "svg", NULL, &seen, &err), ORR_UNAVAILABLE);
    assert_int_equal(seen.files, 2 * figures());
    assert_non_null(strstr(err.text, "bare-share.gp"));
    assert_non_null(strstr(err.text, "bare-gantt.gp"));
    assert_int_equal(access("bare-size.gp", R_OK), 0);
    assert_int_equal(access("bare-size.dat", R_OK), 0);
    assert_int_not_equal(access("bare-size.svg", R_OK), 0);
}

/* Exit status 77 tells ctest that a test was skipped. */
static int skip_without_gnuplot(void)
{
    struct fixture fixture = {.queues = 2, .nodes = 2, .jobs = 20, .days = 1, .origin_ms = -1};
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    fixture_write("probe.db", &fixture);
    return orr_plot_run("probe.db", &options, NULL, NULL, NULL) == ORR_UNAVAILABLE ? 77 : 0;
}

int main(void)
{
    const char *dir = "analysis_plot.tmp";
    if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || chdir(dir) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures__are_drawn_with_two_queues),
        cmocka_unit_test(figures__are_drawn_with_one_queue),
        cmocka_unit_test(figures__are_drawn_with_many_queues),
        cmocka_unit_test(names__survive),
        cmocka_unit_test(names__of_files_are_no_commands),
        cmocka_unit_test(figures__say_when_there_is_nothing),
        cmocka_unit_test(window__may_lie_anywhere),
        cmocka_unit_test(faults__are_told_apart),
        cmocka_unit_test(gnuplot__absent_leaves_scripts), /* last: it takes PATH away */
    };
    int code = skip_without_gnuplot();
    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
