/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of classes: what a table may say, what is drawn from it, and that a fit to what was drawn
 * finds it again. Seeds are fixed, so nothing here can fail by chance. */
#include "test_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/traces/gen.h>
#include <orrery/traces/likeness.h>

#define HEADER                                                                                     \
    "queue,kind,gpus,pods,gpus_per_pod,gpu_fraction,cpu_milli,from_s,until_s,bursts,jobs,gap_s,"   \
    "run_s,alike,users\n"

static enum orr_status classes_of(const char *text, struct orr_classes *classes,
                                  struct orr_err *err)
{
    char path[] = "/tmp/orrery-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    const enum orr_status status = orr_classes_read(path, classes, err);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void tables__say_what_is_wrong(void **state)
{
    static const struct {
        const char *row, *says;
    } cases[] = {
        {"q,,1,,,,,0,60,1,,,5,,\n", NULL},
        {"q,,,2,4,,,0,60,1.5,1 3*2,60,5 7.5*3,0.5,0*2 7\n", NULL},
        {",training,,,,0.5,2000,-60,60,1,,,5,,\n", NULL},
        {"", "no class"},
        {"q,,,,,,,0,60,1,,,5,,\n", "what does a job ask?"},
        {"q,,1,2,,,,0,60,1,,,5,,\n", "either gpus, or pods"},
        {"q,,1,,2,,,0,60,1,,,5,,\n", "either gpus, or pods"},
        {"q,,,0,1,,,0,60,1,,,5,,\n", "a job has pods"},
        {"q,,1.5,,,,,0,60,1,,,5,,\n", ":2: column gpus: expected a whole number"},
        {"q,,,,,1.5,,0,60,1,,,5,,\n", "column gpu_fraction: expected a number from 0.001 to 1"},
        {"q,batch,1,,,,,0,60,1,,,5,,\n", "column kind: training, interactive"},
        {"q,,1,,,,,60,60,1,,,5,,\n", "column until_s: expected a time behind from_s"},
        {"q,,1,,,,,0,0.0001,1,,,5,,\n", "column until_s: is less than 1 ms later"},
        {"q,,1,,,,,0,60,-1,,,5,,\n", "column bursts: expected a number from 0"},
        {"q,,1,,,,,0,60,1,0 2,,5,,\n", "column jobs: a burst has a job or more"},
        {"q,,1,,,,,0,60,1,2 1,,5,,\n", "column jobs: its numbers must rise"},
        {"q,,1,,,,,0,60,1,,x,5,,\n", "column gap_s: expected numbers with blanks"},
        {"q,,1,,,,,0,60,1,,,5*0,,\n", "column run_s: expected numbers with blanks"},
        {"q,,1,,,,,0,60,1,,,1e300,,\n", "column run_s: expected numbers with blanks"},
        {"q,,1,,,,,0,60,1,,,5,1.1,\n", "column alike: expected a number from 0 to 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        struct orr_classes classes;
        struct orr_err err = {0};
        (void)snprintf(text, sizeof text, HEADER "%s", cases[i].row);
        const enum orr_status status = classes_of(text, &classes, &err);
        if (cases[i].says == NULL) {
            assert_int_equal(status, ORR_OK);
            orr_classes_release(&classes);
        } else {
            assert_int_equal(status, ORR_DATA);
            assert_non_null(strstr(err.text, cases[i].says));
        }
    }
}

static struct orr_gen gen_of(uint64_t seed)
{
    return (struct orr_gen){.name = "m",
                            .seed = seed,
                            .until_ms = ORR_MS_NONE,
                            .give_up_ms = ORR_MS_NONE,
                            .arrivals = {.per_hour = 1.0}};
}

static void draw(const char *rows, const struct orr_gen *gen, struct orr_workload *workload)
{
    char text[600];
    struct orr_classes classes;
    struct orr_err err = {0};
    (void)snprintf(text, sizeof text, HEADER "%s", rows);
    assert_int_equal(classes_of(text, &classes, &err), ORR_OK);
    assert_int_equal(orr_generate_classes(gen, &classes, workload, &err), ORR_OK);
    orr_classes_release(&classes);
}

static void draws__are_even(void **state)
{
    (void)state;
    struct orr_workload rows;
    const struct orr_gen gen = gen_of(3);
    /* 100 bursts of 1, 1, 1 and 5 jobs; every second job runs 10 s */
    draw("q,training,2,,,,,0,3600,100,1*3 5,30,10 20,0,0*3 4\n", &gen, &rows);
    uint32_t tens = 0, first_user = 0;
    assert_int_equal(rows.count, 200);
    for (uint32_t r = 0; r < rows.count; r++) {
        const struct orr_row *row = &rows.rows[r];
        assert_true(row->submit_ms >= 0 && row->submit_ms < 3600000 + 4 * 30000);
        assert_true(r == 0 || row->submit_ms >= rows.rows[r - 1].submit_ms);
        assert_int_equal(row->gpus, 2);
        assert_int_equal(row->kind, ORR_KIND_TRAINING);
        tens += row->run_ms == 10000;
        first_user += strcmp(orr_idmap_name(&rows.users, row->user), "m-u1") == 0;
    }
    assert_int_equal(tens, 100);
    assert_true(first_user > 110 && first_user < 190);
    orr_workload_release(&rows);
}

static void draws__are_cut_and_multiplied(void **state)
{
    (void)state;
    struct orr_workload whole, cut, more;
    struct orr_gen gen = gen_of(3);
    draw("q,,1,,,,,0,3600,40,,,10,,\n", &gen, &whole);
    gen.until_ms = 1800000;
    draw("q,,1,,,,,0,3600,40,,,10,,\n", &gen, &cut);
    assert_int_equal(whole.count, 40);
    assert_true(cut.count > 5 && cut.count < 35);
    for (uint32_t r = 0; r < cut.count; r++) {
        assert_int_equal(cut.rows[r].submit_ms, whole.rows[r].submit_ms);
    }
    gen.until_ms = ORR_MS_NONE;
    gen.arrivals.per_hour = 2.5;
    draw("q,,1,,,,,0,3600,40,,,10,,\n", &gen, &more);
    assert_int_equal(more.count, 100);
    orr_workload_release(&whole);
    orr_workload_release(&cut);
    orr_workload_release(&more);
}

static void bursts__begin_by_the_weights_of_hours(void **state)
{
    (void)state;
    struct orr_workload rows;
    double hours[24] = {0};
    struct orr_gen gen = gen_of(3);
    hours[7] = 1.0;
    gen.arrivals.hours = hours;
    draw("q,,1,,,,,1800,86400,50,,,10,,\nq,,1,,,,,3600,7200,50,,,10,,\n", &gen, &rows);
    uint32_t in = 0, weightless = 0;
    for (uint32_t r = 0; r < rows.count; r++) {
        in += rows.rows[r].submit_ms / 3600000 == 7;
        weightless += rows.rows[r].submit_ms / 3600000 == 1;
    }
    assert_int_equal(in, 50);
    assert_int_equal(weightless, 50); /* a window without any weight is even */
    orr_workload_release(&rows);
}

static void fits__find_what_was_drawn(void **state)
{
    static const struct orr_classes_options options = {
        .step_ms = 86400000, .gap_ms = 30000, .values = 50, .burst_values = 20};
    struct orr_workload rows, again;
    struct orr_classes_fitted fitted;
    struct orr_portrait a, b;
    struct orr_err err = {0};
    const struct orr_gen gen = gen_of(5);
    (void)state;
    draw("q,,4,,,,,0,86400,30,20 40,1 3,60 600 6000 60000,0.9,\n"
         "q,,,2,8,,1500,86400,172800,200,,,100 300,,\n",
         &gen, &rows);
    orr_classes_fit(&rows, &options, 0, &fitted);
    assert_int_equal(fitted.jobs, 1100);
    assert_int_equal(fitted.classes.count, 2);
    assert_true(fitted.between_bursts > 0.5);
    const struct orr_arrival_class *class = &fitted.classes.items[1];
    const struct orr_arrival_class *other = &fitted.classes.items[0];
    if (class->gpus != 4) {
        other = class;
        class = &fitted.classes.items[0];
    }
    assert_true(class->alike > 0.8 && class->alike < 0.97);
    assert_true(class->bursts > 20.0 && class->bursts <= 30.0); /* some bursts touch */
    assert_int_equal(other->pods, 2);
    assert_int_equal(other->gpus_per_pod, 8);
    assert_int_equal(other->cpu_milli, 1500);
    assert_true(other->alike < 0.3);
    assert_int_equal(orr_generate_classes(&gen, &fitted.classes, &again, &err), ORR_OK);
    orr_portrait_of(&rows, &a);
    orr_portrait_of(&again, &b);
    assert_true(fabs(b.gpu_h / a.gpu_h - 1.0) < 0.02);
    assert_true(fabs((double)b.jobs / a.jobs - 1.0) < 0.02);
    assert_true(orr_portrait_ks(&a, &b) < 0.02);
    orr_portrait_release(&a);
    orr_portrait_release(&b);
    orr_workload_release(&rows);
    orr_workload_release(&again);
    orr_classes_release(&fitted.classes);
}

static void portraits__have_distances(void **state)
{
    (void)state;
    int64_t few[] = {1000, 2000, 3000, 4000}, more[] = {1000, 1000, 1000, 4000};
    int64_t gpus[] = {1000, 1000, 8000, 8000}, others[] = {1000, 8000, 8000, 16000};
    const struct orr_portrait a = {.jobs = 4, .run_count = 4, .runs_ms = few, .sizes_mgpu = gpus};
    const struct orr_portrait b = {
        .jobs = 4, .run_count = 4, .runs_ms = more, .sizes_mgpu = others};
    int64_t mgpu;
    assert_true(fabs(orr_portrait_ks(&a, &b) - 0.5) < 1e-12);
    assert_true(fabs(orr_portrait_ks(&a, &a)) < 1e-12);
    assert_true(fabs(orr_portrait_size_gap(&a, &b, &mgpu) - 0.25) < 1e-12);
    assert_int_equal(mgpu, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables__say_what_is_wrong),
        cmocka_unit_test(draws__are_even),
        cmocka_unit_test(draws__are_cut_and_multiplied),
        cmocka_unit_test(bursts__begin_by_the_weights_of_hours),
        cmocka_unit_test(fits__find_what_was_drawn),
        cmocka_unit_test(portraits__have_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
