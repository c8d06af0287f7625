/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_traces.h"

static void rows__take_what_the_fields_say(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("l.swf", "; Version: 2.2\n"
                           ";  UnixStartTime: 1027839845\n"
                           "; a comment without a colon\n"
                           "    1      0   5 100  8 12.5 -1 16  200 -1 1 12 3 -1 15 1 -1 -1\r\n"
                           "\n"
                           "\t2\t10  -1  50 -1   -1 -1  4   -1 -1 5 -1 3 -1  0 1 -1 -1\n"
                           "3 20 0 300 2 -1 -1 2 100 -1 -1 12 3 -1 -1 1 -1 -1");
    assert_string_equal(workload.rejects.shown, "");
    assert_int_equal(workload.count, 3);
    assert_true(workload.clock_origin_ms == 1027839845000);
    const struct orr_row *rows = workload.rows;
    assert_string_equal(job_name(&workload, 0), "1");
    assert_int_equal(rows[0].line, 4);
    assert_int_equal(rows[0].gpus, 8);
    assert_int_equal(rows[0].pods, 0);
    assert_int_equal(rows[0].kind, ORR_KIND_UNKNOWN);
    assert_true(rows[0].submit_ms == 0 && rows[0].run_ms == 100000);
    assert_true(rows[0].time_limit_ms == 200000);
    assert_string_equal(orr_idmap_name(&workload.users, rows[0].user), "u12");
    assert_string_equal(queue_name(&workload, 0), "q15");
    assert_true(extra_of(&workload, 0)->recorded_start_ms == 5000);
    assert_true(extra_of(&workload, 0)->recorded_end_ms == 105000);
    assert_string_equal(extra_of(&workload, 0)->recorded_state, "completed");
    assert_int_equal(rows[1].line, 6);
    assert_int_equal(rows[1].gpus, 4);
    assert_int_equal(rows[1].user, ORR_NONE);
    assert_int_equal(rows[1].queue, ORR_NONE);
    assert_true(rows[1].time_limit_ms == ORR_MS_NONE);
    assert_true(extra_of(&workload, 1)->recorded_start_ms == ORR_MS_NONE);
    assert_string_equal(extra_of(&workload, 1)->recorded_state, "cancelled");
    assert_true(rows[2].run_ms == 300000); /* past its limit, and not killed */
    assert_int_equal(rows[2].user, rows[0].user);
    orr_workload_release(&workload);
}

static void queues__are_called_as_the_header_says(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("l.swf", "; Queue:  0  interactive\n"
                           ";Queue: 3 normal   long jobs\n"
                           "; Queue: 4 [fque:4]\n" /* not told */
                           "; Queue: 5 normal\n"   /* taken */
                           "; Queue: 6 q7\n"       /* what 7 is called */
                           "; Queue: 7\n"          /* nothing */
                           "; Queue: x y\n"
                           "1 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 0 1 -1 -1\n"
                           "2 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 3 1 -1 -1\n"
                           "3 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 4 1 -1 -1\n"
                           "4 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 5 1 -1 -1\n"
                           "5 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 6 1 -1 -1\n"
                           "6 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 7 1 -1 -1\n"
                           "7 0 0 9 2 -1 -1 2 100 -1 1 1 1 1 -1 1 -1 -1\n");
    static const char *const names[] = {"interactive", "normal", "q4", "q5", "q6", "q7"};
    assert_int_equal(workload.count, 7);
    for (uint32_t r = 0; r < 6; r++) {
        assert_string_equal(queue_name(&workload, r), names[r]);
    }
    assert_int_equal(workload.rows[6].queue, ORR_NONE);
    orr_workload_release(&workload);
}

static void logs__are_read_as_they_are_found(void **state)
{
    (void)state;
    /* no queue at all: partitions; more fields than 18; rows that do not say how large they are */
    struct orr_workload workload =
        read_text("l.swf", "; Partition: 1 batch\n"
                           "1 0 0 9 2 -1 -1 2 100 -1 1 1 7 1 -1 1 -1 -1 extra 5\n"
                           "2 0 0 9 0 -1 -1 -1 100 -1 1 1 7 1 -1 1 -1 -1\n"
                           "3 0 0 9 2 -1 -1 2 100 -1 1 1 8 1 -1 2 -1 -1\n"
                           "4 0 0 9 2 -1 -1 2 100 -1 1 1 8 1 -1 -1 -1 -1\n");
    assert_string_equal(workload.notes,
                        "l.swf: rows without processors, left out: 1\n"
                        "l.swf: rows with more than 18 fields, whose further ones are not read: 1\n"
                        "l.swf: no row names a queue: partitions are taken for queues\n");
    assert_int_equal(workload.rejects.count, 0);
    assert_string_equal(queue_name(&workload, 0), "batch");
    assert_string_equal(queue_name(&workload, 1), "p2");
    assert_int_equal(workload.rows[2].queue, ORR_NONE);
    orr_workload_release(&workload);
    static const char text[] = "1 0 0 9 2 -1 -1 2 100 -1 1 1 7 1 3 1 -1 -1\n";
    const struct orr_trace_options options = {.format = "swf", .swf_queue = ORR_SWF_GROUP};
    assert_int_equal(orr_trace_read_memory("l", text, sizeof text - 1, &options, &workload, NULL),
                     ORR_OK);
    assert_string_equal(queue_name(&workload, 0), "g7");
    orr_workload_release(&workload);
}

static void jobs__cancelled_before_they_ran_are_left_out(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("l.swf", "1 0 7 -1 8 -1 -1 8 100 -1 5 1 1 1 1 1 -1 -1\n"
                           "2 0 7 30 -1 -1 -1 0 100 -1 5 1 1 1 1 1 -1 -1\n"
                           "3 0 7 30 8 -1 -1 8 100 -1 5 1 1 1 1 1 -1 -1\n"
                           "4 0 7 30 8 -1 -1 8 100 -1 1 1 1 1 1 1 -1 -1\n");
    assert_string_equal(workload.rejects.shown, "");
    assert_string_equal(workload.notes, "l.swf: 2 jobs were cancelled before they ran: left out\n");
    assert_int_equal(workload.count, 2);
    assert_string_equal(extra_of(&workload, 0)->recorded_state, "cancelled");
    orr_workload_release(&workload);
    workload = read_text("l.swf", "1 0 7 -2 8 -1 -1 8 100 -1 5 1 1 1 1 1 -1 -1\n"
                                  "2 0 7 30 8 -1 -1 8 100 -1 1 1 1 1 1 1 -1 -1\n");
    assert_int_equal(workload.rejects.count, 1); /* -1 is "not known", -2 is wrong */
    orr_workload_release(&workload);
}

static void kill_at_limit__ends_jobs_at_their_request(void **state)
{
    (void)state;
    static const char text[] = "1 0 0 300 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                               "2 0 0 300 2 -1 -1 2 400 -1 1 1 1 1 1 1 -1 -1\n"
                               "3 0 0 300 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1\n";
    struct orr_trace_options options = {.format = "swf", .kill_at_limit = true};
    struct orr_workload workload;
    assert_int_equal(orr_trace_read_memory("l", text, sizeof text - 1, &options, &workload, NULL),
                     ORR_OK);
    assert_true(workload.rows[0].run_ms == 100000);
    assert_true(workload.rows[1].run_ms == 300000);
    assert_true(workload.rows[2].run_ms == 300000);
    assert_true(extra_of(&workload, 0)->recorded_end_ms == 300000);
    orr_workload_release(&workload);
}

static void rows__that_are_wrong_are_rejected(void **state)
{
    (void)state;
    assert_rejects("l.swf",
                   "1 0 0 -1 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "2 0 0 10 0 -1 -1 -2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "3 0 0 10 -2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "4 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1\n"
                   "5 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 y 1 -1 -1 -1\n"
                   "6 -1 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "x7 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "8 0 0 nan 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "9 0 0 10 99999999999999999999 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "10 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
                   "10 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n",
                   1,
                   "l.swf:1: column run time: \"-1\" is negative\n"
                   "l.swf:2: column requested processors: \"-2\" is negative\n"
                   "l.swf:3: column allocated processors: \"-2\" is out of range\n"
                   "l.swf:4: the row has 17 fields, not 18\n"
                   "l.swf:5: column queue: \"y\" is not a number\n"
                   "l.swf:6: column submit time: \"-1\" is negative\n"
                   "l.swf:7: column job number: \"x7\" is not a number\n"
                   "l.swf:8: column run time: \"nan\" is not a number\n"
                   "l.swf:9: column allocated processors: \"99999999999999999999\" is out of "
                   "range\n"
                   "l.swf:11: job number 10 is on line 10 already\n");
}

static void files__are_known_by_suffix_or_look(void **state)
{
    (void)state;
    static const char *const row = "1 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n";
    struct orr_workload workload = read_text("log", row);
    assert_int_equal(workload.count, 1);
    orr_workload_release(&workload);
    workload = read_text("log", "; only a comment\n");
    assert_int_equal(workload.count, 0);
    orr_workload_release(&workload);
    workload = read_text("log.SWF", "garbage\n");
    assert_string_equal(workload.rejects.shown, "log.SWF:1: the row has 1 field, not 18\n");
    orr_workload_release(&workload);
    static const char nul[] = "1 0 0 10 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 \0\n";
    workload = read_bytes("log.swf", nul, sizeof nul - 1);
    assert_string_equal(workload.rejects.shown, "log.swf:1: the row has a NUL byte\n");
    orr_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__take_what_the_fields_say),
        cmocka_unit_test(queues__are_called_as_the_header_says),
        cmocka_unit_test(logs__are_read_as_they_are_found),
        cmocka_unit_test(jobs__cancelled_before_they_ran_are_left_out),
        cmocka_unit_test(kill_at_limit__ends_jobs_at_their_request),
        cmocka_unit_test(rows__that_are_wrong_are_rejected),
        cmocka_unit_test(files__are_known_by_suffix_or_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
