/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every figure on every terminal, of runs small and large, without a word from gnuplot. */
#include "test_main.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/analysis/compare.h>
#include <orrery/analysis/plot.h>

#include "analysis_fixture.h"

struct seen {
    int files, warnings, left_out;
    char last[1000], why[1000];
};

static void report(void *context, const char *path, const char *message)
{
    struct seen *seen = context;
    if (path == NULL) {
        seen->left_out++;
        (void)snprintf(seen->why, sizeof seen->why, "%s", message);
        return;
    }
    seen->files++;
    (void)snprintf(seen->last, sizeof seen->last, "%s", path);
    if (message != NULL) {
        seen->warnings++;
        print_error("%s: %s\n", path, message);
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

/* All of them are drawn, or left out with a sentence, when none is named. */
static uint32_t figures(void)
{
    uint32_t count;
    (void)orr_plot_list(&count);
    return count;
}

static void draw_all(const char *db, const char *term)
{
    struct seen seen;
    struct orr_err err;
    assert_int_equal(draw(db, term, NULL, &seen, &err), ORR_OK);
    assert_int_equal(seen.files + seen.left_out, figures());
    assert_int_equal(seen.warnings, 0);
}

static void figures__are_drawn_with_two_queues(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 4, .jobs = 300, .days = 3, .origin_ms = -1};
    fixture_write("two.db", &fixture);
    draw_all("two.db", "png");
    draw_all("two.db", "dumb");
    assert_int_equal(access("two-gantt.png", R_OK), 0);
}

static void figures__are_drawn_with_one_queue(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 1, .nodes = 1, .jobs = 20, .days = 1, .origin_ms = -1};
    fixture_write("one.db", &fixture);
    draw_all("one.db", "svg");
    assert_int_equal(access("one-gantt.svg", R_OK), 0);
    assert_true(holds("one-wait-cdf.svg", "interactive"));
}

/* On a clock of their own that is far from 0 times count from the begin. */
static void figures__are_drawn_of_a_late_part_of_a_trace(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 2, .jobs = 50, .days = 1, .origin_ms = -1};
    sqlite3 *db = NULL;
    fixture_write("late.db", &fixture);
    assert_int_equal(sqlite3_open("late.db", &db), SQLITE_OK);
    fixture_exec(
        db, "UPDATE run SET begin_ms = begin_ms + 4000000000, window_start_ms = window_start_ms + "
            "4000000000,"
            " window_end_ms = window_end_ms + 4000000000, end_ms = end_ms + 4000000000;"
            "UPDATE job SET submit_ms = submit_ms + 4000000000, start_ms = start_ms + 4000000000,"
            " last_start_ms = last_start_ms + 4000000000, end_ms = end_ms + 4000000000;"
            "UPDATE placement SET start_ms = start_ms + 4000000000, end_ms = end_ms + 4000000000;"
            "UPDATE attempt SET start_ms = start_ms + 4000000000, end_ms = end_ms + 4000000000;"
            "UPDATE reason_change SET at_ms = at_ms + 4000000000;"
            "UPDATE eviction SET at_ms = at_ms + 4000000000, gone_ms = gone_ms + 4000000000;"
            "UPDATE series SET at_ms = at_ms + 4000000000;"
            "UPDATE room SET at_ms = at_ms + 4000000000;"
            "UPDATE startable SET at_ms = at_ms + 4000000000;");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    draw_all("late.db", "svg");
    assert_true(holds("late-allocation.svg", "on the run"));
}

static void figures__are_drawn_with_many_queues(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 200, .nodes = 100, .jobs = 6000, .days = 9, .origin_ms = 1};
    fixture_write("many.db", &fixture);
    draw_all("many.db", "svg");
    assert_true(holds("many-allocation.svg", "others (190)"));
    assert_true(holds("many-share.svg", "2017-10-03"));
    assert_true(holds("many-fairness.svg", "others (190)"));
    assert_true(holds("many-debt.svg", "GPU-h in the window"));
    assert_true(holds("many-churn.svg", "reclaim"));
    assert_true(holds("many-reasons.svg", "fragmented"));
}

static void names__survive(void **state)
{
    (void)state;
    struct fixture fixture = {
        .queues = 15, .nodes = 10, .jobs = 500, .days = 5, .origin_ms = 1, .strange_names = 1};
    fixture_write("strange.db", &fixture);
    draw_all("strange.db", "svg");
    draw_all("strange.db", "dumb");
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
    struct seen seen;
    struct orr_err err;
    fixture_write(path, &fixture);
    (void)remove("hit");
    assert_int_equal(draw(path, "svg", "share", &seen, &err), ORR_OK);
    assert_int_equal(seen.warnings, 0);
    assert_int_not_equal(access("hit", F_OK), 0);
    assert_int_equal(access("| touch 'hit' $(touch hit) `touch hit`-share.svg", R_OK), 0);
}

static void figures__of_nothing_are_left_out(void **state)
{
    (void)state;
    struct seen seen;
    struct orr_err err;
    sqlite3 *db = fixture_open("empty.db");
    fixture_exec(db,
                 "INSERT INTO run VALUES(1,'none','finished','fifo','',1,'0','','','0',NULL,0,0,0,"
                 "0,0,1000,'stated')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("empty.db", "svg", NULL, &seen, &err), ORR_OK);
    assert_int_equal(seen.files, 0);
    assert_int_equal(seen.left_out, figures());
    assert_int_equal(draw("empty.db", "svg", "churn", &seen, &err), ORR_OK);
    assert_string_equal(seen.why, "churn: nothing was evicted");
    FILE *old = fopen("empty-churn.svg", "w"); /* it stays, and the sentence says what it is */
    assert_non_null(old);
    (void)fclose(old);
    assert_int_equal(draw("empty.db", "svg", "churn", &seen, &err), ORR_OK);
    assert_string_equal(seen.why,
                        "churn: nothing was evicted; empty-churn.svg there is of an earlier run");
    assert_int_equal(access("empty-churn.svg", F_OK), 0);
    assert_int_equal(remove("empty-churn.svg"), 0);
}

/* WCAG 2.2: relative luminance of "#rrggbb". */
static double luminance(const char *colour)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const char part[] = {colour[1 + 2 * i], colour[2 + 2 * i], '\0'};
        const double value = (double)strtol(part, NULL, 16) / 255;
        sum += weights[i] * (value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* The scripts of all figures: letters and lines stand out from a dark page, on which nothing is
 * white, and what users name keeps its letters. */
static void figures__are_drawn_for_a_dark_page(void **state)
{
    (void)state;
    struct fixture fixture = {
        .queues = 15, .nodes = 10, .jobs = 500, .days = 5, .origin_ms = 1, .strange_names = 1};
    fixture_write("dark.db", &fixture);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open("dark.db", &db), SQLITE_OK);
    fixture_exec(db, "UPDATE run SET name = 'night #ffffff'");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    struct orr_plot_options options = ORR_PLOT_DEFAULTS;
    struct seen seen = {0};
    struct orr_err err = {.status = ORR_OK};
    options.dark = true;
    options.script = true;
    assert_int_equal(orr_plot_run("dark.db", &options, report, &seen, &err), ORR_OK);
    uint32_t count, scripts = 0, colours = 0;
    const struct orr_plot_info *list = orr_plot_list(&count);
    for (uint32_t f = 0; f < count; f++) {
        char path[200];
        (void)snprintf(path, sizeof path, "dark-%s.gp", list[f].name);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        char *text = calloc(1, 1u << 20);
        assert_non_null(text);
        assert_true(fread(text, 1, (1u << 20) - 1, file) > 0);
        (void)fclose(file);
        scripts++;
        assert_non_null(strstr(text, "background '#15181c'"));
        assert_non_null(strstr(text, "night #ffffff"));
        for (const char *at = text; (at = strstr(at, "color rgb '#")) != NULL; at += 12) {
            assert_true((luminance(at + 11) + 0.05) / (luminance("#15181c") + 0.05) >= 4.5);
            colours++;
        }
        for (const char *at = text; (at = strstr(at, "lc rgb '#")) != NULL; at += 9) {
            const double contrast = (luminance(at + 8) + 0.05) / (luminance("#15181c") + 0.05);
            const bool faint = strncmp(at + 8, "#2c3238", 7) == 0 || /* of a grid */
                               strncmp(at + 8, "#15181c", 7) == 0;   /* between boxes */
            if (contrast < 2.9 && !faint) {
                fail_msg("%s: %.7s", path, at + 8);
            }
            colours++;
        }
        free(text);
    }
    assert_int_equal(scripts + (uint32_t)seen.left_out, count);
    assert_true(scripts >= 14 && colours > 100);
    static const char *const some[] = {"share", "allocation", "depth", "size", "floor"};
    options.figures = some;
    options.count = sizeof some / sizeof some[0];
    options.script = false;
    assert_int_equal(orr_plot_run("dark.db", &options, report, &seen, &err), ORR_OK);
    for (uint32_t f = 0; f < options.count; f++) { /* gnuplot's own letters are black */
        char path[200];
        (void)snprintf(path, sizeof path, "dark-%s.svg", some[f]);
        assert_false(holds(path, "fill=\"black\""));
        assert_true(holds(path, "fill=\"rgb(242,244,246)\""));
    }
}

static void window__may_lie_anywhere(void **state)
{
    (void)state;
    struct fixture fixture = {.queues = 2, .nodes = 4, .jobs = 300, .days = 3, .origin_ms = -1};
    static const orr_ms windows[][2] = {{0, 1}, {-5000, 5000}, {1000000000000, 1000000001000}};
    fixture_write("window.db", &fixture);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct orr_plot_options options = ORR_PLOT_DEFAULTS;
        struct seen seen = {0};
        struct orr_err err = {.status = ORR_OK};
        options.from_ms = windows[i][0];
        options.to_ms = windows[i][1];
        assert_int_equal(orr_plot_run("window.db", &options, report, &seen, &err), ORR_OK);
        assert_int_equal(seen.files + seen.left_out, figures());
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
    fixture_exec(db, "PRAGMA user_version = 99");
    assert_int_equal(draw("new.db", "svg", NULL, &seen, &err), ORR_DATA);
    assert_non_null(strstr(err.text, "version 99"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("new.db", "svg", "alocation", &seen, &err), ORR_USAGE);
    assert_non_null(strstr(err.text, "allocation"));
    assert_int_equal(draw("new.db", "tiff", NULL, &seen, &err), ORR_USAGE);
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
    assert_int_equal(seen.files, 2 * (figures() - (uint32_t)seen.left_out));
    assert_non_null(strstr(err.text, "bare-share.gp"));
    assert_non_null(strstr(err.text, "bare-gantt.gp"));
    assert_int_equal(access("bare-size.gp", R_OK), 0);
    assert_int_equal(access("bare-size.dat", R_OK), 0);
    assert_int_not_equal(access("bare-size.svg", R_OK), 0);
}

/* Three jobs on 8 GPUs for 4 h. The first is reclaimed after 1 h (4 GPU-h lost) and runs again from
 * 2 h to the end, the second has all GPUs between, the third asks for all from 3 h on and never
 * starts: 32 GPU-h, of which 8 nobody asks for, 4 are free while it waits, 4 are lost and 16
 * useful. */
static void sums__are_those_worked_by_hand(void **state)
{
    (void)state;
    struct seen seen;
    struct orr_err err;
    sqlite3 *db = fixture_open("hand.db");
    fixture_exec(
        db,
        "INSERT INTO run VALUES(1,'hand','horizon','kai','',1,'0','','','0',NULL,0,0,14400000,"
        "14400000,8000,3600000,'stated');"
        "INSERT INTO kind VALUES(2,'training');"
        "INSERT INTO queue VALUES(1,'a','a',NULL,1,100,4,-1,1),(2,'b','b',NULL,1,100,4,-1,1);"
        "INSERT INTO node VALUES(0,'n1','main',8,'a100',NULL,NULL,NULL,NULL,0);"
        "INSERT INTO job VALUES(0,'j0',1,'u',2,1,4000,0,0,0,14400000,10800000,10800000,3,1,0,15,2,"
        "7200000,1,0,50),(1,'j1',2,'u',2,1,8000,3600000,3600000,3600000,7200000,3600000,3600000,3,"
        "0,0,255,"
        "1,"
        "3600000,1,1,50),(2,'j2',2,'u',2,1,8000,10800000,10800000,NULL,NULL,3600000,3600000,1,0,"
        "NULL,NULL,0,"
        "NULL,1,1,50);"
        "INSERT INTO attempt VALUES(0,1,0,3600000,'reclaim');"
        "INSERT INTO placement VALUES(0,1,0,1,1,4000,15,0,3600000,0);"
        "INSERT INTO ask "
        "VALUES(0,0,1,4,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
        "(1,0,1,8,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0);"
        "INSERT INTO eviction VALUES(0,3600000,3600000,'reclaim',1,1,1,1,0);"
        "INSERT INTO job_time VALUES(0,28800000000,0,14400000000,0,0,0,0,0,0,0,0,0,0,0);"
        "INSERT INTO waste VALUES(0,'reclaim',0,3600000,14400000000);"
        "INSERT INTO reason VALUES(2,'no-capacity','');"
        "INSERT INTO reason_change(job,at_ms,reason) VALUES(0,3600000,2),(2,10800000,2);"
        "INSERT INTO series VALUES(0,1,4000,0,0,4000,NULL),(3600000,1,0,4000,1,4000,NULL),"
        "(3600000,2,8000,0,0,4000,NULL),(7200000,1,4000,0,0,4000,NULL),"
        "(10800000,1,4000,0,0,4000,NULL),(10800000,2,0,8000,1,4000,NULL);"
        "INSERT INTO room VALUES(0,4000,2500),(3600000,0,0),(7200000,4000,2500),"
        "(10800000,4000,2500);"
        "INSERT INTO startable VALUES(0,'cluster',0,0),(3600000,'cluster',0,0),"
        "(7200000,'cluster',3,0),(10800000,'cluster',0,0)");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("hand.db", "svg", NULL, &seen, &err), ORR_UNAVAILABLE);
    assert_true(holds("hand-waterfall.dat", "\n0 0 100 "));
    assert_true(holds("hand-waterfall.dat", "\n1 75 100 "));
    assert_true(holds("hand-waterfall.dat", "\n2 62.5 75 "));
    assert_true(holds("hand-waterfall.dat", "\n3 0 62.5 "));
    assert_true(holds("hand-waterfall.dat", "\n4 50 62.5 "));
    assert_true(holds("hand-waterfall.dat", "\n5 0 50 "));
    assert_true(holds("hand-churn.dat", "14400.000 0 4\n"));
    assert_true(holds("hand-reasons.dat", "7200.000 0 4\n7200.000 0 0\n"));
    assert_true(holds("hand-reasons.dat", "14400.000 0 8\n"));
    /* Both are owed 4 GPUs for an hour; the first of the two is queue a, which held more. */
    assert_true(holds("hand-debt.dat", "\n14400.000 0 4 8"));
    /* Jain of (0, 2) is 1/2, so is that of (1, 0); alone it is 1. */
    assert_true(holds("hand-fairness.dat", "\n3600.000 1\n3600.000 0.5\n"));
    assert_true(holds("hand-fairness.dat", "\n14400.000 0.5\n"));
    /* Pods of 4 and of 8 GPUs, 1 to 2: with 4 free the second kind has no use for them. */
    assert_true(holds("hand-fragmentation.dat", "\n3600.000 0 2.5 4\n"));
    assert_true(holds("hand-fragmentation.dat", "\n7200.000 0 0 0\n"));
    assert_true(holds("hand-fragmentation.dat", "\n14400.000 0 2.5 4\n"));
    assert_true(holds("hand-fragmentation.dat", " 33.33\n"));
    assert_true(holds("hand-startable.dat", "\n7200.000 3 0\n10800.000 3 0\n"));
    assert_true(holds("hand-jct-cdf.dat", "\n3600 33.3333\n14400 100\n"));
}

/* A node of 4 devices, 3g.20gb and 1g.5gb: an hour a pod of one device, then one of four; all the
 * time a pod of each profile. */
static void instances__are_drawn_behind_devices(void **state)
{
    (void)state;
    struct seen seen;
    struct orr_err err;
    sqlite3 *db = fixture_open("cut.db");
    fixture_exec(
        db, "INSERT INTO run VALUES(1,'cut','finished','fifo','',1,'0','','','0',NULL,0,0,7200000,"
            "7200000,8000,3600000,'stated');"
            "INSERT INTO kind VALUES(2,'training');"
            "INSERT INTO queue VALUES(1,'a','a',NULL,1,100,4,-1,1),(2,'b','b',NULL,1,100,4,-1,1);"
            "INSERT INTO node VALUES(0,'n1','main',8,'a100',NULL,NULL,NULL,NULL,4);"
            "INSERT INTO mig VALUES(0,'1g.5gb',1),(0,'3g.20gb',1);"
            "INSERT INTO job VALUES"
            "(0,'j0',1,'u',2,1,1000,0,0,0,3600000,3600000,3600000,3,0,0,1,1,0,1,0,50),"
            "(1,'j1',1,'u',2,1,4000,0,0,3600000,7200000,3600000,3600000,3,0,0,15,1,3600000,1,1,50),"
            "(2,'j2',2,'u',2,1,3000,0,0,0,7200000,7200000,7200000,3,0,0,NULL,1,0,1,2,50),"
            "(3,'j3',2,'u',2,1,1000,0,0,0,7200000,7200000,7200000,3,0,0,NULL,1,0,1,3,50);"
            "INSERT INTO ask VALUES(0,0,1,1,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
            "(1,0,1,4,1000,NULL,0,0,NULL,0,0,NULL,0,NULL,0),"
            "(2,0,1,0,0,NULL,0,0,NULL,0,0,NULL,1,'3g.20gb',3000),"
            "(3,0,1,0,0,NULL,0,0,NULL,0,0,NULL,1,'1g.5gb',1000);"
            "INSERT INTO room VALUES(0,3000,1500),(3600000,0,0);");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("cut.db", "svg", NULL, &seen, &err), ORR_UNAVAILABLE);
    /* Devices are the upper half of the lane, then come 3 and 1 of the lower one. */
    assert_true(holds("cut-gantt.dat", "\n0.000 3600.000 -0.42000 -0.31500\n"));
    assert_true(holds("cut-gantt.dat", "\n3600.000 7200.000 -0.42000 0.00000\n"));
    assert_true(holds("cut-gantt.dat", "\n0.000 7200.000 0.00000 0.31500\n"));
    assert_true(holds("cut-gantt.dat", "\n0.000 7200.000 0.31500 0.42000\n"));
    assert_true(holds("cut-floor.dat", "\n9.440 12.360 0.0000 1.0000\n"));
    assert_true(holds("cut-floor.dat", "\n12.440 13.360 0.0000 1.0000\n"));
    /* Of the 4 devices 3 are free and of no use to pods of 4, which are half of the typical ones.
     */
    assert_true(holds("cut-fragmentation.dat", " 0 37.5\n"));
    assert_true(holds("cut-fragmentation.gp", "MIG instances are left out"));
    /* White borders of boxes as low as those of a hundred instances would hide them. */
    assert_true(holds("cut-gantt.gp", "fs solid 1.0 border lc rgb '#ffffff' lw 0.5 title"));
    assert_int_equal(sqlite3_open("cut.db", &db), SQLITE_OK);
    fixture_exec(db, "UPDATE node SET gpus = 104, mig_gpus = 100;"
                     "UPDATE mig SET instances = 97 WHERE profile = '1g.5gb'");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(draw("cut.db", "svg", NULL, &seen, &err), ORR_UNAVAILABLE);
    assert_true(holds("cut-gantt.gp", "fs solid 1.0 noborder title 'b'") ||
                holds("cut-gantt.gp", "fs solid 1.0 noborder title \"b\""));
}

static void forest__draws_every_row(void **state)
{
    (void)state;
    static const char *const values[] = {"100", "150"};
    for (int i = 0; i < 2; i++) {
        struct fixture fixture = {.queues = 2, .nodes = 2, .jobs = 50, .days = 1, .origin_ms = -1};
        char sql[300];
        fixture_write(i == 0 ? "base.db" : "other.db", &fixture);
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(i == 0 ? "base.db" : "other.db", &db), SQLITE_OK);
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO metric VALUES('wait_mean_s','all','',%s,'s',50,'','less',NULL),"
                       "('evictions','all','',%d,'evictions',50,'','less',NULL)",
                       values[i], 9 * i);
        fixture_exec(db, sql);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    static const char *const paths[] = {"base.db", "other.db"};
    static const char *const labels[] = {"before", "it's 100%"};
    static const char *const terms[] = {"svg", "png", "dumb"};
    static const uint32_t arms[] = {0, 1};
    const struct orr_compare_options options = {
        .paths = paths, .path_count = 2, .labels = labels, .arms = arms};
    struct orr_comparison comparison;
    struct orr_err err = {.status = ORR_OK};
    assert_int_equal(orr_compare(&options, &comparison, &err), ORR_OK);
    for (int i = 0; i < 3; i++) {
        struct seen seen = {0};
        struct orr_plot_options plot = ORR_PLOT_DEFAULTS;
        plot.term = terms[i];
        plot.out = fopen("printed.txt", "w");
        assert_non_null(plot.out);
        assert_int_equal(orr_plot_forest(&comparison, &plot, report, &seen, &err), ORR_OK);
        assert_int_equal(fclose(plot.out), 0);
        assert_int_equal(seen.files, 1);
        assert_int_equal(seen.warnings, 0);
    }
    orr_comparison_release(&comparison);
    assert_true(holds("compare-forest.svg", "wait_mean_s"));
    assert_true(holds("compare-forest.svg", "100 s to 2.5 min"));
    assert_true(holds("compare-forest.svg", "0 to 9 evictions"));
    assert_true(holds("compare-forest.svg", "\xe2\x96\xb6")); /* from 0: beyond the axis */
    assert_true(holds("printed.txt", "it's 100%"));
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
        cmocka_unit_test(figures__are_drawn_of_a_late_part_of_a_trace),
        cmocka_unit_test(figures__are_drawn_with_many_queues),
        cmocka_unit_test(names__survive),
        cmocka_unit_test(names__of_files_are_no_commands),
        cmocka_unit_test(figures__of_nothing_are_left_out),
        cmocka_unit_test(figures__are_drawn_for_a_dark_page),
        cmocka_unit_test(window__may_lie_anywhere),
        cmocka_unit_test(faults__are_told_apart),
        cmocka_unit_test(forest__draws_every_row),
        cmocka_unit_test(gnuplot__absent_leaves_scripts), /* it takes PATH away */
        cmocka_unit_test(sums__are_those_worked_by_hand), /* from the data it leaves */
        cmocka_unit_test(instances__are_drawn_behind_devices),
    };
    int code = skip_without_gnuplot();
    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
