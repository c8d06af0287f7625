/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The native writer: what is written reads back as the same rows. */
#include "test_traces.h"

#include <stdlib.h>

#include <orrery/base/mem.h>
#include <orrery/traces/edit.h>

/* The written file as text; the caller frees. */
static char *written(const struct orr_workload *workload)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    orr_trace_write_native(workload, file);
    (void)fclose(file);
    return text;
}

static void assert_same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        assert_ptr_equal(a, b);
    } else {
        assert_string_equal(a, b);
    }
}

static void assert_same_extra(const struct orr_row_extra *a, const struct orr_row_extra *b)
{
    assert_same_text(a->template_name, b->template_name);
    assert_same_text(a->group, b->group);
    assert_same_text(a->priority, b->priority);
    assert_same_text(a->gpu_model, b->gpu_model);
    assert_same_text(a->node_selector, b->node_selector);
    assert_same_text(a->tolerations, b->tolerations);
    assert_same_text(a->topology_required, b->topology_required);
    assert_same_text(a->topology_preferred, b->topology_preferred);
    assert_same_text(a->after, b->after);
    assert_same_text(a->profile, b->profile);
    assert_same_text(a->mig_profile, b->mig_profile);
    assert_same_text(a->recorded_state, b->recorded_state);
    assert_same_text(a->sbatch, b->sbatch);
    size_t from = offsetof(struct orr_row_extra, gpu_fraction_milli);
    size_t to = offsetof(struct orr_row_extra, preemptible) + sizeof a->preemptible;
    assert_memory_equal((const char *)a + from, (const char *)b + from, to - from);
    assert_true(a->deadline_ms == b->deadline_ms && a->eligible_ms == b->eligible_ms);
    assert_true(a->checkpoint_ms == b->checkpoint_ms && a->restart_ms == b->restart_ms);
    assert_true(a->recorded_start_ms == b->recorded_start_ms);
    assert_true(a->recorded_end_ms == b->recorded_end_ms);
}

static void assert_same(const struct orr_workload *a, const struct orr_workload *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct orr_row *x = &a->rows[i];
        const struct orr_row *y = &b->rows[i];
        assert_string_equal(job_name(a, i), job_name(b, i));
        assert_string_equal(queue_name(a, i), queue_name(b, i));
        assert_int_equal(x->user == ORR_NONE, y->user == ORR_NONE);
        if (x->user != ORR_NONE) {
            assert_string_equal(orr_idmap_name(&a->users, x->user),
                                orr_idmap_name(&b->users, y->user));
        }
        assert_true(x->submit_ms == y->submit_ms && x->run_ms == y->run_ms);
        assert_true(x->time_limit_ms == y->time_limit_ms);
        assert_int_equal(x->gpus, y->gpus);
        assert_int_equal(x->pods, y->pods);
        assert_int_equal(x->gpus_per_pod, y->gpus_per_pod);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->extra == 0, y->extra == 0);
        if (x->extra != 0) {
            assert_same_extra(extra_of(a, i), extra_of(b, i));
        }
    }
}

static void assert_round_trip(const char *name, const char *text)
{
    struct orr_workload first = read_text(name, text);
    assert_string_equal(first.rejects.shown, "");
    char *copy = written(&first);
    struct orr_workload second = read_text("copy.csv", copy);
    assert_string_equal(second.rejects.shown, "");
    assert_string_equal(second.notes, ""); /* sorted already */
    assert_same(&first, &second);
    char *again = written(&second);
    assert_string_equal(copy, again);
    orr_free(copy);
    orr_free(again);
    orr_workload_release(&first);
    orr_workload_release(&second);
}

static void rows__come_back_as_they_were(void **state)
{
    (void)state;
    assert_round_trip(
        "t.csv", "job,submit_s,run_s,template,gpus,pods,gpus_per_pod,gpu_fraction,gpu_memory_mib,"
                 "gpu_devices,mig_profile,cpu_milli,mem_mib,min_pods\n"
                 "a,5,1,,12,,,,,,,,,\n"
                 "b,-0.125,1.5,,,4,8,,,,,,,2\n"
                 "c,0,0,,,,8,,,,,16000,65536,\n"
                 "d,0,1,,,,,0.333,,,,,,\n"
                 "e,0,1,,,3,,0.25,,2,,0,,\n"
                 "f,0,1,,,,,,16384,1,,,,\n"
                 "g,0,1,,,2,,,,,1g.10gb,4000,,\n"
                 "h,0,1,,,2,,,,,,4000,,\n"
                 "h0,0,1,,,2,0,,,,,4000,,\n"
                 "i,0,1,,,,0,,,,,,,\n"
                 "j,0,,llm,,,,,,,,,,\n"
                 "k,0,,llm,,1,,,,,,,,\n"
                 "l,0,,llm,,1,0,,,,,,,\n"
                 "m,0,,llm,,,,1,,1,,,,\n"
                 "n,0,,llm,,,,,,3,,100,,9\n"
                 "o,0,,llm,,,8,,,1,,100,,9\n"
                 "p,0,,llm,64,,,,,,,,,\n");
}

static void texts__come_back_as_they_were(void **state)
{
    (void)state;
    assert_round_trip(
        "t.csv",
        "job,submit_s,run_s,gpus,queue,user,group,kind,priority,preemptible,gpu_model,"
        "node_selector,tolerations,topology_required,topology_preferred,sbatch,time_limit_s,"
        "deadline_s,after,eligible_s,preemption_delay_s,staleness_grace_s,profile,checkpoint_s,"
        "restart_s,busy,recorded_start_s,recorded_end_s,recorded_state\n"
        "\"a,b\",1,2,3,\"q \"\"x\"\"\",u,g,inference,train,false,H100|A100,\"a=b,c=d\",t,block,"
        "rack,--nice=5 --nodes=2,4,5,i,-6,90,-1,llama,7,8,0.15,-9.5,10,done\n"
        "\" b\",1,2,3,\"two\nlines\",,,training,,true,,,,,,,,,,,0,0.5,,0,0,0.000001,,,\n"
        "\"c \",1,2,3,,,,interactive,100,,,,,,,,0,,,,,,,,,1,,,\n"
        "\"\"\"\",1,2,3,,,,unknown,,,,,,,,,,,,,,,,,,0,,,\n");
}

static void formats__of_others_become_native(void **state)
{
    (void)state;
    assert_round_trip("p.csv", "timestamp,duration,num_gpus,gpu_time,cluster\n"
                               "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                               "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n");
    assert_round_trip("l.swf", "1 0 5 100 8 12.5 -1 16 200 -1 1 12 3 -1 15 1 -1 -1\n"
                               "2 9 -1 50 -1 -1 -1 4 -1 -1 5 -1 3 -1 0 1 -1 -1\n");
}

/* What was read of a file with `count` times `byte` in a name; the caller releases it. */
static struct orr_workload read_long(const char *file, const char *before, int byte, size_t count,
                                     const char *after)
{
    char text[4000];
    const size_t head = strlen(before);
    assert_true(head + count + strlen(after) < sizeof text);
    memcpy(text, before, head);
    memset(text + head, byte, count);
    memcpy(text + head + count, after, strlen(after));
    return read_bytes(file, text, head + count + strlen(after));
}

static void assert_read_again(const struct orr_workload *workload)
{
    char *copy = written(workload);
    struct orr_workload second = read_text("copy.csv", copy);
    assert_string_equal(second.rejects.shown, "");
    assert_int_equal(second.count, workload->count);
    orr_free(copy);
    orr_workload_release(&second);
}

static void names__that_are_taken_are_read_again(void **state)
{
    (void)state;
    static const struct {
        const char *file, *before, *after;
        int byte;
        size_t longest; /* that is taken; 0: longer ones are passed over */
        const char *why;
    } cases[] = {
        {"t.csv", "job,submit_s,run_s,gpus\n", ",0,1,1\n", 'x', 1000,
         "t.csv:2: column job: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" is 1001 "
         "bytes long, more than 1000\n"},
        {"t.csv", "job,submit_s,run_s,gpus\nh", ",0,1,1\n", 0xff, 199, "once each byte that is"},
        {"t.csv", "job,submit_s,run_s,gpus,after\nj,0,1,1,", "\n", 0xff, 200,
         "is 1005 bytes long once each byte that is no UTF-8 is written as five, more than 1000\n"},
        {"p.csv", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,",
         "\n", 0xff, 200, "p.csv:2: column cluster: "},
        {"l.swf", "", "1 0 5 100 8 12.5 -1 16 200 -1 1 12 3 -1 15 1 -1 -1\n", '0', 999,
         "l.swf:1: column job number: "},
        {"l.swf", "; Queue: 15 ", "\n1 0 5 100 8 12.5 -1 16 200 -1 1 12 3 -1 15 1 -1 -1\n", 'q', 0,
         NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const size_t longest = cases[c].longest > 0 ? cases[c].longest : 1000;
        struct orr_workload workload =
            read_long(cases[c].file, cases[c].before, cases[c].byte, longest, cases[c].after);
        assert_int_equal(workload.count, 1);
        assert_read_again(&workload);
        orr_workload_release(&workload);
        workload =
            read_long(cases[c].file, cases[c].before, cases[c].byte, longest + 1, cases[c].after);
        assert_int_equal(workload.count, cases[c].longest > 0 ? 0 : 1);
        if (cases[c].longest > 0) {
            assert_non_null(strstr(workload.rejects.shown, cases[c].why));
        } else {
            assert_string_equal(queue_name(&workload, 0), "q15");
        }
        assert_read_again(&workload);
        orr_workload_release(&workload);
    }
}

/* A name that is taken already is cut where "~2" would make it too long, between characters. */
static void names__of_merged_traces_are_read_again(void **state)
{
    (void)state;
    static const char head[] = "job,submit_s,run_s,gpus\n";
    static const struct {
        int byte;
        size_t count;
        const char *after;
        size_t kept;
    } cases[] = {
        {'x', 1000, ",0,1,1\n", 989},
        {0xff, 200, ",0,1,1\n", 197},
        {'x', 988, "\xc3\xa4yyyyyyyyyy,0,1,1\n", 988},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct orr_workload one =
            read_long("t.csv", head, cases[c].byte, cases[c].count, cases[c].after);
        struct orr_workload two =
            read_long("t.csv", head, cases[c].byte, cases[c].count, cases[c].after);
        assert_int_equal(orr_workload_add(&one, &two), 1);
        const char *name = job_name(&one, 1);
        assert_int_equal(strlen(name), cases[c].kept + 2);
        assert_string_equal(name + cases[c].kept, "~2");
        assert_read_again(&one);
        orr_workload_release(&one);
        orr_workload_release(&two);
    }
}

static void columns__are_only_those_that_a_row_uses(void **state)
{
    (void)state;
    struct orr_workload workload = read_text(
        "p.csv", "timestamp,duration,num_gpus,gpu_time,cluster\n"
                 "2017-10-09 07:01:55,66.25,1,66.0,11cb48\n2017-10-09 06:13:03,2951,8,1,62\n");
    char *text = written(&workload);
    assert_string_equal(text, "job,submit_s,run_s,gpus,queue,kind\n"
                              "p2,0,2951,8,62,training\np1,2932,66.25,1,11cb48,training\n");
    orr_free(text);
    orr_workload_release(&workload);
    workload = read_text("t.csv", "job,submit_s,run_s\n");
    text = written(&workload);
    assert_string_equal(text, "job,submit_s\n");
    orr_free(text);
    orr_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__come_back_as_they_were),
        cmocka_unit_test(texts__come_back_as_they_were),
        cmocka_unit_test(formats__of_others_become_native),
        cmocka_unit_test(names__that_are_taken_are_read_again),
        cmocka_unit_test(names__of_merged_traces_are_read_again),
        cmocka_unit_test(columns__are_only_those_that_a_row_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
