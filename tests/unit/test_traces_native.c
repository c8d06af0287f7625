/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_traces.h"

#define HEAD "job,submit_s,run_s,gpus\n"

static void numbers__that_are_wrong_reject_their_row(void **state)
{
    (void)state;
    static const struct {
        const char *row, *sentence;
    } cases[] = {
        {"a,0,-5,1", "column run_s: \"-5\" is negative"},
        {"a,0,x8,1", "column run_s: \"x8\" is not a number of seconds"},
        {"a,0,nan,1", "column run_s: \"nan\" is not a number of seconds"},
        {"a,inf,1,1", "column submit_s: \"inf\" is not a number of seconds"},
        {"a,-inf,1,1", "column submit_s: \"-inf\" is not a number of seconds"},
        {"a,0,0x10,1", "column run_s: \"0x10\" is not a number of seconds"},
        {"a,0,1e3,1", "column run_s: \"1e3\" is not a number of seconds"},
        {"a,0,1.2.3,1", "column run_s: \"1.2.3\" is not a number of seconds"},
        {"a,0,\"1,5\",1",
         "column run_s: \"1,5\" is not a number (`orrery import --map auto` reads commas)"},
        {"a,0,1 0,1", "column run_s: \"1 0\" is not a number of seconds"},
        {"a,0,-,1", "column run_s: \"-\" is not a number of seconds"},
        {"a,0,99999999999999999999999,1",
         "column run_s: \"99999999999999999999999\" is out of range"},
        {"a,0,9223372036854775807,1", "column run_s: \"9223372036854775807\" is out of range"},
        {"a,0,3200000000,1", "column run_s: \"3200000000\" is out of range"},
        {"a,1700000000000,1,1",
         "column submit_s: \"1700000000000\" is out of range for seconds: are they "
         "milliseconds? `orrery import --map auto` reads these"},
        {"a,-99999999999999999999,1,1",
         "column submit_s: \"-99999999999999999999\" is out of range"},
        {"a,0,1,0", "column gpus: \"0\" is out of range: a job without GPUs says gpus_per_pod 0 in "
                    "place of gpus"},
        {"a,0,1,-1", "column gpus: \"-1\" is negative"},
        {"a,0,1,1.5", "column gpus: \"1.5\" is not a whole number"},
        {"a,0,1,4294967297", "column gpus: \"4294967297\" is out of range"},
        {"a,0,1,18446744073709551617", "column gpus: \"18446744073709551617\" is out of range"},
        {",0,1,1", "column job: is empty, or not there"},
        {"a,,1,1", "column submit_s: is empty, or not there"},
        {"a,0,,1", "column run_s: is empty, or not there, and no template says what runs"},
        {"a,0,1,", "states no GPUs: give gpus, or gpus_per_pod (0 for a job without GPUs)"},
        {"first,0,1,1", "column job: \"first\" is on line 2 already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400], shown[400];
        (void)snprintf(text, sizeof text, HEAD "first,0,1,1\n%s\nlast,0,1,1\n", cases[i].row);
        (void)snprintf(shown, sizeof shown, "t.csv:3: %s\n", cases[i].sentence);
        assert_rejects("t.csv", text, 2, shown);
    }
}

static void times__may_be_negative_and_have_decimals(void **state)
{
    (void)state;
    struct orr_workload workload = read_text(
        "t.csv", HEAD "a,-3600.25,0.0005,1\nb,+1.5,66.0,1\nc,1505000000,0,1\nd,100000000000,1,1\n");
    assert_string_equal(workload.rejects.shown, "");
    assert_true(workload.rows[0].submit_ms == -3600250 && workload.rows[0].run_ms == 1);
    assert_true(workload.rows[1].submit_ms == 1500 && workload.rows[1].run_ms == 66000);
    assert_true(workload.rows[2].submit_ms == 1505000000000 && workload.rows[2].run_ms == 0);
    assert_true(workload.clock_origin_ms == ORR_MS_NONE);
    orr_workload_release(&workload);
}

#define SUBMIT_2026 1780315200000 /* 2026-06-01T12:00:00Z */

static void times__may_be_dates_with_zones(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("t.csv", "job,submit_s,run_s,gpus,deadline_s,recorded_start_s\n"
                           "a,2026-06-01T12:00:00Z,1,1,,2026-06-01T07:00:01.5-0500\n"
                           "c,2026-06-01T13:00:00+01,1,1,,\n"
                           "b,2026-06-01 14:00:10+02:00,1,1,2026-06-02T12:00:00Z,\n");
    assert_string_equal(workload.rejects.shown, "");
    assert_string_equal(workload.notes, "");
    assert_true(workload.clock_origin_ms == SUBMIT_2026);
    assert_string_equal(job_name(&workload, 0), "a");
    assert_true(workload.rows[0].submit_ms == 0 && workload.rows[1].submit_ms == 0);
    assert_true(workload.extras[workload.rows[0].extra - 1].recorded_start_ms == 1500);
    assert_true(workload.extras[workload.rows[0].extra - 1].deadline_ms == ORR_MS_NONE);
    assert_true(workload.rows[2].submit_ms == 10000);
    assert_true(workload.extras[workload.rows[2].extra - 1].deadline_ms == 86400000);
    orr_workload_release(&workload);
    workload = read_text("t.csv", HEAD "a,2026-06-01 12:00:00,1,1\n");
    assert_string_equal(workload.notes, "t.csv: dates without a zone are read as UTC\n");
    assert_true(workload.clock_origin_ms == SUBMIT_2026);
    orr_workload_release(&workload);
}

static void times__are_all_dates_or_all_seconds(void **state)
{
    (void)state;
    assert_rejects("t.csv", HEAD "a,2026-06-01T12:00:00Z,1,1\nb,60,1,1\n", 1,
                   "t.csv:3: column submit_s: \"60\" is no date, and the times before it are\n");
    assert_rejects("t.csv", HEAD "a,60,1,1\nb,2026-06-01T12:00:00Z,1,1\n", 1,
                   "t.csv:3: column submit_s: \"2026-06-01T12:00:00Z\" is a date, and the times "
                   "before it are seconds\n");
    assert_rejects("t.csv", HEAD "a,2026-06-31T12:00:00Z,1,1\n", 0,
                   "t.csv:2: column submit_s: \"2026-06-31T12:00:00Z\" is not a time like "
                   "2026-06-01T12:00:00Z\n");
    assert_rejects("t.csv", HEAD "a,1960-06-01T12:00:00Z,1,1\n", 0,
                   "t.csv:2: column submit_s: \"1960-06-01T12:00:00Z\" is out of range\n");
    assert_rejects("t.csv", HEAD "a,2026-06-01T12:00:00Z,00:10:00,1\n", 0,
                   "t.csv:2: column run_s: \"00:10:00\" is a time of day, not a number of "
                   "seconds\n");
}

static void headers__may_have_other_names(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("jobs.txt", "JobID,Submit_Time,duration,num_gpus,VC,x_note\n7,5,60,4,lab,z\n");
    assert_string_equal(
        workload.notes,
        "jobs.txt: columns are read under other names: JobID as job, Submit_Time as "
        "submit_s, duration as run_s, num_gpus as gpus, VC as queue\n");
    assert_int_equal(workload.count, 1);
    assert_string_equal(job_name(&workload, 0), "7");
    assert_true(workload.rows[0].submit_ms == 5000 && workload.rows[0].run_ms == 60000);
    assert_int_equal(workload.rows[0].gpus, 4);
    orr_workload_release(&workload);
    assert_rejects("t.csv", "id,submit,duration,num_gpus\na,0,60,1\nb,0,10m,1\nc,0,1,x\n", 1,
                   "t.csv:3: column duration (run_s): \"10m\" is not a number of seconds\n"
                   "t.csv:4: column num_gpus (gpus): \"x\" is not a number\n");
    assert_refused("t.csv", "job,submit_s,run_s,gpus,num_gpus\na,0,1,1,1\n",
                   "t.csv:1: column \"num_gpus\" means gpus, which the header has already");
    for (size_t c = 0; c < orr_trace_columns(); c++) {
        const char *alias;
        for (size_t n = 0; (alias = orr_trace_column_alias(c, n)) != NULL; n++) {
            for (size_t other = 0; other < orr_trace_columns(); other++) {
                assert_string_not_equal(alias, orr_trace_column(other).name);
            }
        }
    }
}

static void counts__may_be_written_as_pandas_does(void **state)
{
    (void)state;
    struct orr_workload workload = read_text("t.csv", HEAD "a,0,1,4.0\nb,0,1,16.000\nc,0,1,100\n");
    assert_int_equal(workload.count, 3);
    assert_int_equal(workload.rows[0].gpus, 4);
    assert_int_equal(workload.rows[1].gpus, 16);
    assert_int_equal(workload.rows[2].gpus, 100);
    orr_workload_release(&workload);
}

static void rows__are_sorted_and_keep_their_line(void **state)
{
    (void)state;
    struct orr_workload workload = read_text("t.csv", HEAD "a,5,1,1\nb,3,1,1\nc,5,1,1\nd,-1,1,1\n");
    assert_string_equal(job_name(&workload, 0), "d");
    assert_string_equal(job_name(&workload, 1), "b");
    assert_string_equal(job_name(&workload, 2), "a");
    assert_string_equal(job_name(&workload, 3), "c");
    assert_int_equal(workload.rows[0].line, 5);
    assert_string_equal(workload.notes,
                        "t.csv: rows are not in the order of their submit times (line 3 is the "
                        "first that is early); they were sorted\n");
    orr_workload_release(&workload);
}

static void shapes__are_stated_in_one_way(void **state)
{
    (void)state;
    struct orr_workload workload = read_text(
        "t.csv",
        "job,submit_s,run_s,gpus,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,gpu_devices,"
        "mig_profile,cpu_milli,mem_mib,min_pods\n"
        "total,0,1,12,,,,,,,,,\n"
        "gang,0,1,,4,8,,,,,,,2\n"
        "one,0,1,,,8,,,,,16000,65536,\n"
        "half,0,1,,,,0.5,,,,,,\n"
        "halves,0,1,,3,,0.25,,2,,,,\n"
        "memory,0,1,,,,,16384,,,,,\n"
        "mig,0,1,,2,,,,,1g.10gb,,,\n"
        "cpu,0,1,,2,,,,,,4000,,\n"
        "nogpu,0,1,,,0,,,,,,,\n");
    assert_string_equal(workload.rejects.shown, "");
    static const struct {
        uint32_t gpus, pods, per_pod;
    } shapes[] = {{12, 0, 0}, {0, 4, 8}, {0, 1, 8}, {0, 1, 0}, {0, 3, 0},
                  {0, 1, 0},  {0, 2, 0}, {0, 2, 0}, {0, 1, 0}};
    assert_int_equal(workload.count, sizeof shapes / sizeof shapes[0]);
    for (uint32_t i = 0; i < workload.count; i++) {
        assert_int_equal(workload.rows[i].gpus, shapes[i].gpus);
        assert_int_equal(workload.rows[i].pods, shapes[i].pods);
        assert_int_equal(workload.rows[i].gpus_per_pod, shapes[i].per_pod);
    }
    assert_int_equal(workload.rows[0].extra, 0);
    assert_int_equal(extra_of(&workload, 1)->min_pods, 2);
    assert_int_equal(extra_of(&workload, 2)->cpu_milli, 16000);
    assert_int_equal(extra_of(&workload, 2)->mem_mib, 65536);
    assert_int_equal(extra_of(&workload, 2)->gpu_devices, -1);
    assert_int_equal(extra_of(&workload, 3)->gpu_fraction_milli, 500);
    assert_int_equal(extra_of(&workload, 3)->gpu_devices, 1);
    assert_int_equal(extra_of(&workload, 4)->gpu_devices, 2);
    assert_int_equal(extra_of(&workload, 5)->gpu_memory_mib, 16384);
    assert_string_equal(extra_of(&workload, 6)->mig_profile, "1g.10gb");
    assert_int_equal(workload.rows[8].extra, 0);
    orr_workload_release(&workload);
}

static void shapes__that_contradict_themselves_are_rejected(void **state)
{
    (void)state;
    static const char two_ways[] = "states GPUs in more than one way: gpus_per_pod, gpu_fraction, "
                                   "gpu_memory_mib and mig_profile exclude each other";
    static const char total[] = "column gpus: is the total of the job, to be split into pods, and "
                                "excludes columns that describe a pod";
    static const struct {
        const char *cells, *sentence;
    } cases[] = {
        {"4,2,,,,,", total},
        {"4,,1,,,,", total},
        {"4,,,0.5,,,", total},
        {"4,,,,,,2", total},
        {",,1,0.5,,,", two_ways},
        {",,,0.5,100,,", two_ways},
        {",2,,,,,", "states no GPUs: give gpus, or gpus_per_pod (0 for a job without GPUs)"},
        {",2,1,,,2,", "column gpu_devices: needs gpu_fraction or gpu_memory_mib beside it"},
        {",2,1,,,,3", "column min_pods: is more than the pods of the job"},
        {",,1,,,,2", "column min_pods: is more than the pods of the job"},
        {",1000000,8,,,,", "column gpus_per_pod: the GPUs of all pods are out of range"},
        {",-2,1,,,,", "column pods: \"-2\" is negative"},
        {",0,1,,,,", "column pods: \"0\" is out of range"},
        {",,,1.5,,,", "column gpu_fraction: \"1.5\" is out of range"},
        {",,,0,,,", "column gpu_fraction: \"0\" is out of range"},
        {",,,0.0001,,,", "column gpu_fraction: \"0.0001\" is out of range"},
        {",,,-0.5,,,", "column gpu_fraction: \"-0.5\" is negative"},
        {",,,,0,,", "column gpu_memory_mib: \"0\" is out of range"},
        {",,,,-1,,", "column gpu_memory_mib: \"-1\" is negative"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400], shown[400];
        (void)snprintf(text, sizeof text,
                       "job,submit_s,run_s,gpus,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,"
                       "gpu_devices,min_pods\na,0,1,%s\n",
                       cases[i].cells);
        (void)snprintf(shown, sizeof shown, "t.csv:2: %s\n", cases[i].sentence);
        assert_rejects("t.csv", text, 0, shown);
    }
}

static void templates__leave_open_what_is_not_given(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("t.csv", "job,submit_s,run_s,template,pods,gpus_per_pod,gpu_fraction,min_pods\n"
                           "a,0,,llm-512,,,,\nb,0,5,llm-512,1,,,\nc,0,5,llm-512,,0,,\n"
                           "d,0,5,ray,,,0.5,4\n");
    assert_string_equal(workload.rejects.shown, "");
    assert_true(workload.rows[0].run_ms == ORR_MS_NONE);
    assert_int_equal(workload.rows[0].pods, 0);
    assert_int_equal(workload.rows[0].gpus_per_pod, ORR_NONE);
    assert_int_equal(workload.rows[1].pods, 1);
    assert_int_equal(workload.rows[2].gpus_per_pod, 0);
    assert_int_equal(workload.rows[3].gpus_per_pod, 0);
    assert_string_equal(extra_of(&workload, 0)->template_name, "llm-512");
    assert_ptr_equal(extra_of(&workload, 0)->template_name, extra_of(&workload, 2)->template_name);
    assert_string_equal(extra_of(&workload, 3)->template_name, "ray");
    orr_workload_release(&workload);
}

static void columns__are_all_understood(void **state)
{
    (void)state;
    struct orr_workload workload = read_text(
        "t.csv",
        "x_a,job,submit_s,run_s,gpus_per_pod,queue,user,group,kind,priority,preemptible,gpu_model,"
        "node_selector,tolerations,topology_required,topology_preferred,time_limit_s,deadline_s,"
        "after,eligible_s,profile,checkpoint_s,restart_s,busy,recorded_start_s,recorded_end_s,"
        "recorded_state\n"
        "?,j,1,2,3,q,u,g,inference,train,false,H100|A100,a=b,t,block,rack,4,5,i,-6,llama,7,8,0.15,"
        "-9.5,10,done\n");
    assert_string_equal(workload.rejects.shown, "");
    const struct orr_row *row = &workload.rows[0];
    const struct orr_row_extra *extra = extra_of(&workload, 0);
    assert_string_equal(queue_name(&workload, 0), "q");
    assert_string_equal(orr_idmap_name(&workload.users, row->user), "u");
    assert_int_equal(row->kind, ORR_KIND_INFERENCE);
    assert_true(row->time_limit_ms == 4000);
    assert_string_equal(extra->group, "g");
    assert_string_equal(extra->priority, "train");
    assert_int_equal(extra->preemptible, 0);
    assert_string_equal(extra->gpu_model, "H100|A100");
    assert_string_equal(extra->node_selector, "a=b");
    assert_string_equal(extra->tolerations, "t");
    assert_string_equal(extra->topology_required, "block");
    assert_string_equal(extra->topology_preferred, "rack");
    assert_string_equal(extra->after, "i");
    assert_string_equal(extra->profile, "llama");
    assert_string_equal(extra->recorded_state, "done");
    assert_true(extra->deadline_ms == 5000 && extra->eligible_ms == -6000);
    assert_true(extra->checkpoint_ms == 7000 && extra->restart_ms == 8000);
    assert_true(extra->recorded_start_ms == -9500 && extra->recorded_end_ms == 10000);
    assert_int_equal(extra->busy_ppm, 150000);
    orr_workload_release(&workload);
}

static void words__that_are_wrong_reject_their_row(void **state)
{
    (void)state;
    assert_rejects("t.csv",
                   "job,submit_s,run_s,gpus,kind,preemptible,busy\na,0,1,1,train,,\n"
                   "b,0,1,1,,maybe,\nc,0,1,1,,,1.1\nd,0,1,1,unknown,true,1\n",
                   1,
                   "t.csv:2: column kind: \"train\" is not training, interactive, inference or "
                   "unknown\n"
                   "t.csv:3: column preemptible: \"maybe\" is not true or false\n"
                   "t.csv:4: column busy: \"1.1\" is out of range\n");
}

static void names__of_rejected_rows_leave_no_trace(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("t.csv", "queue,user,job,submit_s,run_s,gpus\nq1,u1,a,0,x,1\nq2,u2,b,0,1,1\n");
    assert_int_equal(workload.queues.count, 1);
    assert_int_equal(workload.users.count, 1);
    assert_int_equal(workload.rows[0].queue, 0);
    assert_int_equal(workload.rows[0].job, 0);
    assert_string_equal(queue_name(&workload, 0), "q2");
    orr_workload_release(&workload);
}

static void messages__are_one_line_and_cut_short(void **state)
{
    (void)state;
    assert_rejects("t.csv", HEAD "a,0,\"1\n\t2\",1\n", 0,
                   "t.csv:2: column run_s: \"1??2\" is not a number of seconds\n");
    assert_rejects(
        "t.csv", HEAD "a,0,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa4yyyy,1\n", 0,
        "t.csv:2: column run_s: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "...\" is not a number of seconds\n");
}

static void loss__refuses_the_file(void **state)
{
    (void)state;
    assert_refused("t.csv", HEAD "a,0,1,1\nb,0,x8,1\n",
                   "t.csv: 1 of 2 rows is rejected, more than 1 % (--allow-loss accepts that)\n"
                   "t.csv:3: column run_s: \"x8\" is not a number of seconds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers__that_are_wrong_reject_their_row),
        cmocka_unit_test(times__may_be_negative_and_have_decimals),
        cmocka_unit_test(times__may_be_dates_with_zones),
        cmocka_unit_test(times__are_all_dates_or_all_seconds),
        cmocka_unit_test(headers__may_have_other_names),
        cmocka_unit_test(counts__may_be_written_as_pandas_does),
        cmocka_unit_test(rows__are_sorted_and_keep_their_line),
        cmocka_unit_test(shapes__are_stated_in_one_way),
        cmocka_unit_test(shapes__that_contradict_themselves_are_rejected),
        cmocka_unit_test(templates__leave_open_what_is_not_given),
        cmocka_unit_test(columns__are_all_understood),
        cmocka_unit_test(words__that_are_wrong_reject_their_row),
        cmocka_unit_test(names__of_rejected_rows_leave_no_trace),
        cmocka_unit_test(messages__are_one_line_and_cut_short),
        cmocka_unit_test(loss__refuses_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
