/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_traces.h"

#include <orrery/base/text.h>

#define HEAD "timestamp,duration,num_gpus,gpu_time,cluster\n"

static void rows__start_at_the_first_submit(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("philly.csv", HEAD "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                                     "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n"
                                     "2017-10-10 00:00:00,1.5,2,3.0,11cb48\n"
                                     "2017-10-09T06:13:03.500Z,1,2,2,\n\n");
    assert_string_equal(workload.rejects.shown, "");
    assert_int_equal(workload.count, 4);
    assert_int_equal(workload.rows_read, 4);
    const struct orr_row *row = &workload.rows[0];
    assert_string_equal(job_name(&workload, 0), "p2");
    assert_true(row->submit_ms == 0 && row->run_ms == 2951000);
    assert_true(row->time_limit_ms == ORR_MS_NONE);
    assert_int_equal(row->gpus, 8);
    assert_int_equal(row->pods, 0);
    assert_int_equal(row->kind, ORR_KIND_TRAINING);
    assert_int_equal(row->user, ORR_NONE);
    assert_int_equal(row->extra, 0);
    assert_int_equal(row->line, 3);
    assert_string_equal(queue_name(&workload, 0), "6214e9");
    assert_string_equal(job_name(&workload, 1), "p4");
    assert_true(workload.rows[1].submit_ms == 500);
    assert_int_equal(workload.rows[1].queue, ORR_NONE);
    assert_string_equal(job_name(&workload, 2), "p1");
    assert_true(workload.rows[2].submit_ms == (48 * 60 + 52) * 1000);
    assert_string_equal(queue_name(&workload, 2), "11cb48");
    assert_true(workload.rows[3].submit_ms == (17 * 3600 + 46 * 60 + 57) * 1000);
    assert_true(workload.rows[3].run_ms == 1500);
    orr_ms origin;
    assert_true(orr_parse_timestamp("2017-10-09 06:13:03", 19, &origin));
    assert_true(workload.clock_origin_ms == origin);
    orr_workload_release(&workload);
}

static void names__count_rejected_rows_too(void **state)
{
    (void)state;
    char text[8000] = HEAD;
    for (int i = 1; i <= 101; i++) {
        char row[64];
        (void)snprintf(row, sizeof row, "2017-10-09 07:01:55,66.0,%s,66.0,a\n",
                       i == 3 ? "x8" : "1");
        strcat(text, row);
    }
    struct orr_workload workload = read_text("p.csv", text);
    assert_int_equal(workload.count, 100);
    assert_string_equal(workload.rejects.shown,
                        "p.csv:4: column num_gpus: \"x8\" is not a number\n");
    assert_string_equal(job_name(&workload, 0), "p1");
    assert_string_equal(job_name(&workload, 2), "p4");
    assert_string_equal(job_name(&workload, 7), "p9");
    assert_string_equal(job_name(&workload, 8), "p10");
    assert_string_equal(job_name(&workload, 97), "p99");
    assert_string_equal(job_name(&workload, 98), "p100");
    assert_string_equal(job_name(&workload, 99), "p101");
    orr_workload_release(&workload);
}

static void timestamps__are_checked_on_a_known_day_too(void **state)
{
    (void)state;
    assert_rejects(
        "p.csv",
        HEAD "2017-10-09 07:01:55,1,1,1,a\n2017-10-09 24:00:00,1,1,1,a\n"
             "2017-10-09 07:60:00,1,1,1,a\n2017-10-09 07:01:5x,1,1,1,a\n"
             "2017-10-09,1,1,1,a\n,1,1,1,a\n2017-02-29 07:01:55,1,1,1,a\n"
             "2017-10-09 23:59:59.9999,1,1,1,a\n2017-10-09 23:59:59,1,1,1,a\n",
        3,
        "p.csv:3: column timestamp: \"2017-10-09 24:00:00\" is not a time like 2017-10-09 "
        "07:01:55\n"
        "p.csv:4: column timestamp: \"2017-10-09 07:60:00\" is not a time like 2017-10-09 "
        "07:01:55\n"
        "p.csv:5: column timestamp: \"2017-10-09 07:01:5x\" is not a time like 2017-10-09 "
        "07:01:55\n"
        "p.csv:6: column timestamp: \"2017-10-09\" is not a time like 2017-10-09 07:01:55\n"
        "p.csv:7: column timestamp: \"\" is not a time like 2017-10-09 07:01:55\n"
        "p.csv:8: column timestamp: \"2017-02-29 07:01:55\" is not a time like 2017-10-09 "
        "07:01:55\n");
}

static void numbers__that_are_wrong_reject_their_row(void **state)
{
    (void)state;
    assert_rejects("p.csv",
                   HEAD "2017-10-09 07:01:55,-1,1,1,a\n2017-10-09 07:01:55,nan,1,1,a\n"
                        "2017-10-09 07:01:55,1,0,1,a\n2017-10-09 07:01:55,1,-8,1,a\n"
                        "2017-10-09 07:01:55,1e99,1,1,a\n2017-10-09 07:01:55,,1,1,a\n"
                        "2017-10-09 07:01:55,1,99999999999,1,a\n2017-10-09 07:01:55,1,1,a\n"
                        "1969-12-31 23:59:59,1,1,1,a\n9999-01-01 00:00:00,1,1,1,a\n",
                   0,
                   "p.csv:2: column duration: \"-1\" is negative\n"
                   "p.csv:3: column duration: \"nan\" is not a number\n"
                   "p.csv:4: column num_gpus: \"0\" is out of range\n"
                   "p.csv:5: column num_gpus: \"-8\" is negative\n"
                   "p.csv:6: column duration: \"1e99\" is not a number\n"
                   "p.csv:7: column duration: \"\" is not given\n"
                   "p.csv:8: column num_gpus: \"99999999999\" is out of range\n"
                   "p.csv:9: the row has 4 fields, the header 5\n"
                   "p.csv:10: column timestamp: \"1969-12-31 23:59:59\" is out of range\n"
                   "p.csv:11: column timestamp: \"9999-01-01 00:00:00\" is out of range\n");
}

static void headers__need_their_columns(void **state)
{
    (void)state;
    assert_refused("p.csv", "timestamp,duration,num_gpus\n",
                   "p.csv:1: the header has no column \"cluster\"");
    assert_refused("p.csv", "timestamp,durations,num_gpus,cluster\n",
                   "p.csv:1: column \"durations\" is not known to format philly; did you mean "
                   "\"duration\"? (a name that starts with x_ is ignored; `orrery import p.csv "
                   "--map auto` proposes what columns of other files mean)");
    struct orr_workload workload =
        read_text("p", "x_n,cluster,num_gpus,duration,timestamp\n,a,4,60,2017-10-09 07:01:55\n");
    assert_int_equal(workload.rows[0].gpus, 4);
    orr_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__start_at_the_first_submit),
        cmocka_unit_test(names__count_rejected_rows_too),
        cmocka_unit_test(timestamps__are_checked_on_a_known_day_too),
        cmocka_unit_test(numbers__that_are_wrong_reject_their_row),
        cmocka_unit_test(headers__need_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
