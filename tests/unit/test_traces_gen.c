/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generators: distributions against their closed forms, arrivals against the Poisson process, and
 * that one draw does not move another. Seeds are fixed, so nothing here can fail by chance. */
#include "test_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <orrery/traces/gen.h>
#include <orrery/traces/gen_rng.h>
#include <orrery/traces/table.h>
#include <orrery/traces/zone.h>

#define MONDAY_MS ((orr_ms)1780272000000) /* 2026-06-01 */

enum { DRAWS = 200000 };

static void moments_of(const struct orr_spread *spread, double *mean, double *variance)
{
    gsl_rng *rng = orr_gsl_rng_open(5, "moments", (uint64_t)spread->kind);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        double x = orr_spread_draw(spread, rng);
        sum += x;
        squares += x * x;
    }
    gsl_rng_free(rng);
    *mean = sum / DRAWS;
    *variance = squares / DRAWS - *mean * *mean;
}

/* Within four standard errors of the mean, and 3 % of the variance. */
static void assert_moments(const struct orr_spread *spread, double mean, double variance)
{
    double m, v;
    moments_of(spread, &m, &v);
    assert_true(fabs(m - mean) < 4.0 * sqrt(variance / DRAWS));
    assert_true(fabs(v / variance - 1.0) < 0.03);
}

static void spreads__have_the_moments_of_their_distribution(void **state)
{
    (void)state;
    struct orr_spread uniform = {.kind = ORR_SPREAD_UNIFORM, .a = 2.0, .b = 8.0};
    assert_moments(&uniform, 5.0, 3.0);
    struct orr_spread exponential = {.kind = ORR_SPREAD_EXPONENTIAL, .a = 30.0};
    assert_moments(&exponential, 30.0, 900.0);
    struct orr_spread lognormal = {.kind = ORR_SPREAD_LOGNORMAL, .a = 2.0, .b = 0.5};
    double e = exp(0.25);
    assert_moments(&lognormal, exp(2.0 + 0.125), (e - 1.0) * exp(4.0) * e);
    struct orr_spread weibull = {.kind = ORR_SPREAD_WEIBULL, .a = 10.0, .b = 1.5};
    double g1 = tgamma(1.0 + 1.0 / 1.5), g2 = tgamma(1.0 + 2.0 / 1.5);
    assert_moments(&weibull, 10.0 * g1, 100.0 * (g2 - g1 * g1));
}

static void bounds__hold(void **state)
{
    (void)state;
    struct orr_spread spread = {
        .kind = ORR_SPREAD_EXPONENTIAL, .a = 30.0, .least = 10.0, .most = 60.0};
    gsl_rng *rng = orr_gsl_rng_open(5, "bounds", 0);
    bool low = false, high = false;
    for (int i = 0; i < 1000; i++) {
        double x = orr_spread_draw(&spread, rng);
        assert_true(x >= 10.0 && x <= 60.0);
        low = low || x <= 10.0;
        high = high || x >= 60.0;
    }
    assert_true(low && high);
    gsl_rng_free(rng);
}

static double share_below(const struct orr_spread *spread, double value)
{
    gsl_rng *rng = orr_gsl_rng_open(6, "below", 0);
    double below = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        below += orr_spread_draw(spread, rng) <= value;
    }
    gsl_rng_free(rng);
    return below / DRAWS;
}

static void empirical__comes_in_the_shares_given(void **state)
{
    (void)state;
    const double values[] = {1.0, 8.0, 64.0}, sums[] = {5.0, 8.0, 10.0};
    struct orr_spread spread = {
        .kind = ORR_SPREAD_EMPIRICAL, .values = values, .weights = sums, .count = 3};
    assert_true(fabs(share_below(&spread, 1.0) - 0.5) < 0.005);
    assert_true(fabs(share_below(&spread, 8.0) - 0.8) < 0.005);
    assert_true(share_below(&spread, 64.0) >= 1.0);
}

static void quantiles__are_met_and_interpolated_in_logarithms(void **state)
{
    (void)state;
    const double values[] = {10.0, 1000.0, 100000.0}, at[] = {0.0, 0.5, 1.0};
    struct orr_spread spread = {
        .kind = ORR_SPREAD_QUANTILES, .values = values, .weights = at, .count = 3};
    assert_true(fabs(share_below(&spread, 1000.0) - 0.5) < 0.005);
    assert_true(fabs(share_below(&spread, 100.0) - 0.25) < 0.005);
    assert_true(fabs(share_below(&spread, 10000.0) - 0.75) < 0.005);
}

/* Counts of hours are Poisson: mean and variance are the rate; gaps have the exponential's mean. */
static void arrivals__are_a_poisson_process(void **state)
{
    (void)state;
    struct orr_arrivals arrivals = {.per_hour = 12.0};
    orr_ms *times;
    uint32_t count;
    struct orr_err err;
    const orr_ms hour = 3600000, hours = 5000;
    assert_int_equal(orr_arrivals_draw(&arrivals, 3, "p/arrival", 1234567, 0, hours * hour, &times,
                                       &count, &err),
                     ORR_OK);
    double n[5000] = {0}, squares = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(i == 0 || times[i] >= times[i - 1]);
        n[times[i] / hour] += 1.0;
    }
    double mean = (double)count / 5000.0;
    for (int h = 0; h < 5000; h++) {
        squares += (n[h] - mean) * (n[h] - mean);
    }
    assert_true(fabs(mean - 12.0) < 4.0 * sqrt(12.0 / 5000.0));
    assert_true(fabs(squares / 5000.0 / 12.0 - 1.0) < 4.0 * sqrt(2.0 / 5000.0));
    free(times);
}

static struct orr_gen small_gen(void)
{
    return (struct orr_gen){
        .name = "part",
        .seed = 9,
        .until_ms = (orr_ms)48 * 3600000,
        .arrivals = {.per_hour = 5.0},
        .run_s = {.kind = ORR_SPREAD_EXPONENTIAL, .a = 600.0},
        .has_run = true,
        .users = 3,
    };
}

static struct orr_workload generated(const struct orr_gen *gen)
{
    struct orr_workload workload;
    struct orr_err err = {0};
    assert_int_equal(orr_generate(gen, &workload, &err), ORR_OK);
    return workload;
}

static void crons__come_by_the_clock(void **state)
{
    static const struct {
        const char *cron, *zone;
        int count; /* in four weeks from a Monday; -1: it is none */
        double first_h;
    } cases[] = {
        {"30 2 * * 1-5", "UTC", 20, 2.5},
        {"30 2 * * 1-5", "+05:30", 20, 21.0},
        {"*/15 9-17 * * *", NULL, 1008, 9},
        {"0 0 1,15 * *", "UTC", 2, 0},
        {"0 0 2 * 0", "UTC", 5, 24},
        {"0 0 * * 7", "UTC", 4, 144},
        {"0 5/6 * 6 *", "UTC", 112, 5},
        {" 0  12 * *  * ", "UTC", 28, 12},
        {"0 3 * * *", "Europe/Berlin", 28, 1},
        {"0 0 * 7 *", "UTC", 0, 0},
        {"60 * * * *", "UTC", -1, 0},
        {"* * * *", "UTC", -1, 0},
        {"* * * * * *", "UTC", -1, 0},
        {"1,,2 * * * *", "UTC", -1, 0},
        {"1, * * * *", "UTC", -1, 0},
        {"5-1 * * * *", "UTC", -1, 0},
        {"*/0 * * * *", "UTC", -1, 0},
        {"a * * * *", "UTC", -1, 0},
        {"", "UTC", -1, 0},
        {"* * 0 * *", "UTC", -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct orr_arrivals arrivals = {.cron = cases[i].cron, .zone = cases[i].zone};
        struct orr_err err = {0};
        orr_ms *times;
        uint32_t count;
        const enum orr_status status =
            orr_cron_times(&arrivals, MONDAY_MS, 0, 28 * (orr_ms)86400000, &times, &count, &err);
        assert_int_equal(status, cases[i].count < 0 ? ORR_SCENARIO : ORR_OK);
        if (cases[i].count >= 0) {
            assert_int_equal(count, cases[i].count);
        }
        if (cases[i].count > 0) {
            assert_true(fabs((double)times[0] / 3.6e6 - cases[i].first_h) < 1e-9);
        }
        orr_free(times);
    }
}

static void draws__do_not_move_each_other(void **state)
{
    (void)state;
    const struct orr_choice queues[] = {{"a", 1.0, 0}, {"b", 3.0, 0}};
    struct orr_gen gen = small_gen();
    struct orr_workload first = generated(&gen);
    gen.users = 50;
    gen.queues = queues;
    gen.queue_count = 2;
    gen.until_ms *= 2;
    struct orr_workload second = generated(&gen);
    assert_true(first.count > 150 && second.count > first.count);
    uint32_t in_b = 0;
    for (uint32_t i = 0; i < first.count; i++) {
        assert_int_equal(first.rows[i].submit_ms, second.rows[i].submit_ms);
        assert_int_equal(first.rows[i].run_ms, second.rows[i].run_ms);
    }
    for (uint32_t i = 0; i < second.count; i++) {
        in_b += strcmp(orr_idmap_name(&second.queues, second.rows[i].queue), "b") == 0;
    }
    assert_true(fabs((double)in_b / second.count - 0.75) < 0.08);
    assert_string_equal(orr_idmap_name(&first.jobs, 0), "part-1");
    gen.seed = 10;
    struct orr_workload third = generated(&gen);
    assert_true(third.rows[0].submit_ms != first.rows[0].submit_ms);
    orr_workload_release(&first);
    orr_workload_release(&second);
    orr_workload_release(&third);
}

static void batches__come_together_under_one_group(void **state)
{
    (void)state;
    const struct orr_choice templates[] = {{"t", 1.0, 0}};
    struct orr_gen gen = small_gen();
    gen.batch = 4;
    gen.templates = templates;
    gen.template_count = 1;
    struct orr_workload w = generated(&gen);
    assert_int_equal(w.count % 4, 0);
    for (uint32_t i = 0; i < w.count; i++) {
        const char *group = w.extras[w.rows[i].extra - 1].group;
        char expected[32];
        (void)snprintf(expected, sizeof expected, "part-g%u", i / 4 + 1);
        assert_string_equal(group, expected);
        assert_int_equal(w.rows[i].submit_ms, w.rows[i - i % 4].submit_ms);
        assert_int_equal(w.rows[i].user, w.rows[i - i % 4].user);
    }
    orr_workload_release(&w);
}

/* Four weeks: nothing at night or on Sundays where the weights say so, in local time. */
static void patterns__follow_the_local_clock(void **state)
{
    (void)state;
    double hours[24] = {0}, days[7] = {1, 1, 1, 1, 1, 1, 0};
    const orr_ms start = (orr_ms)1780272000 * 1000; /* Monday 2026-06-01T00:00:00Z */
    struct orr_arrivals arrivals = {
        .per_hour = 20.0, .hours = hours, .days = days, .zone = "+09:00"};
    orr_ms *times;
    uint32_t count;
    struct orr_err err;
    for (int h = 9; h < 18; h++) {
        hours[h] = 1.0;
    }
    assert_int_equal(orr_arrivals_draw(&arrivals, 3, "p/arrival", start, 0, (orr_ms)28 * 86400000,
                                       &times, &count, &err),
                     ORR_OK);
    double expected = 20.0 * 24 * 28;
    assert_true(fabs(count - expected) < 5.0 * sqrt(expected));
    for (uint32_t i = 0; i < count; i++) {
        int64_t local_hour = times[i] / 3600000 + 9;
        assert_true(local_hour % 24 >= 9 && local_hour % 24 < 18);
        assert_true(local_hour / 24 % 7 != 6);
    }
    free(times);
}

static void zones__know_daylight_saving(void **state)
{
    (void)state;
    orr_ms offset;
    struct orr_err err = {0};
    assert_int_equal(orr_zone_offsets("Mars/Olympus", 0, 1, &offset, &err), ORR_SCENARIO);
    assert_non_null(strstr(err.text, "Mars/Olympus"));
    assert_int_equal(orr_zone_offsets("-08:30", 0, 1, &offset, NULL), ORR_OK);
    assert_int_equal(offset, -(8 * 60 + 30) * 60000);
    if (access("/usr/share/zoneinfo/America/Los_Angeles", R_OK) != 0) {
        skip();
    }
    const char *zone = "America/Los_Angeles";
    assert_int_equal(orr_zone_offsets(zone, 1780272000 / 3600, 1, &offset, NULL), ORR_OK);
    assert_int_equal(offset, -7 * 3600000); /* June 2026 */
    assert_int_equal(orr_zone_offsets(zone, 1767225600 / 3600, 1, &offset, NULL), ORR_OK);
    assert_int_equal(offset, -8 * 3600000); /* January 2026 */
}

static enum orr_status table_of(const char *text, struct orr_table *table, struct orr_err *err)
{
    static const struct orr_table_column columns[] = {
        {"time_s", false, true}, {"rate", false, false}, {"name", true, false}};
    char path[] = "/tmp/orrery-table-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
    *err = (struct orr_err){0};
    enum orr_status status = orr_table_read(path, columns, 3, table, err);
    (void)unlink(path);
    return status;
}

static void tables__are_read_by_column_name(void **state)
{
    (void)state;
    struct orr_table table;
    struct orr_err err;
    assert_int_equal(table_of("name,x_note,time_s\na,1,60\n,2,120.5\n", &table, &err), ORR_OK);
    assert_int_equal(table.rows, 2);
    assert_true(table.numbers[0][1] > 120.4);
    assert_int_equal(table.present, 5);
    assert_true(isnan(table.numbers[1][0]));
    assert_string_equal(table.texts[2][0], "a");
    assert_null(table.texts[2][1]);
    assert_int_equal(table.lines[1], 3);
    orr_table_release(&table);
    assert_int_equal(table_of("time_s,rate\n60,fast\n", &table, &err), ORR_DATA);
    assert_non_null(strstr(err.text, ":2: column rate: \"fast\" is not a number"));
    assert_int_equal(table_of("time_s,rate\n,1\n", &table, &err), ORR_DATA);
    assert_non_null(strstr(err.text, "is empty"));
    assert_int_equal(table_of("rate\n1\n", &table, &err), ORR_DATA);
    assert_int_equal(table_of("time_s,rate\n60,1,2\n", &table, &err), ORR_DATA);
    assert_non_null(strstr(err.text, ":2:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spreads__have_the_moments_of_their_distribution),
        cmocka_unit_test(bounds__hold),
        cmocka_unit_test(empirical__comes_in_the_shares_given),
        cmocka_unit_test(quantiles__are_met_and_interpolated_in_logarithms),
        cmocka_unit_test(arrivals__are_a_poisson_process),
        cmocka_unit_test(crons__come_by_the_clock),
        cmocka_unit_test(draws__do_not_move_each_other),
        cmocka_unit_test(batches__come_together_under_one_group),
        cmocka_unit_test(patterns__follow_the_local_clock),
        cmocka_unit_test(zones__know_daylight_saving),
        cmocka_unit_test(tables__are_read_by_column_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
