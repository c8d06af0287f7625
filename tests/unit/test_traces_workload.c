/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_traces.h"

static void kinds__have_names_and_are_found_by_them(void **state)
{
    (void)state;
    for (int i = 0; i < ORR_KIND_COUNT; i++) {
        const char *name = orr_kind_name((enum orr_kind)i);
        enum orr_kind kind = ORR_KIND_UNKNOWN;
        assert_true(orr_kind_parse(name, strlen(name), &kind));
        assert_int_equal(kind, i);
    }
    enum orr_kind kind;
    assert_false(orr_kind_parse("train", 5, &kind));
    assert_false(orr_kind_parse("", 0, &kind));
}

static void reject__shows_the_first_ten_and_counts_all(void **state)
{
    (void)state;
    struct orr_workload workload;
    orr_workload_init(&workload);
    assert_string_equal(workload.rejects.shown, "");
    for (uint32_t i = 1; i <= 25; i++) {
        orr_workload_reject(&workload, "f.csv", i, "row %u", (unsigned)i);
    }
    assert_int_equal(workload.rejects.count, 25);
    assert_int_equal(workload.rejects.shown_count, 10);
    assert_memory_equal(workload.rejects.shown, "f.csv:1: row 1\nf.csv:2: row 2\n", 30);
    assert_non_null(strstr(workload.rejects.shown, "f.csv:10: row 10\n"));
    assert_null(strstr(workload.rejects.shown, "f.csv:11"));
    orr_workload_release(&workload);
    orr_workload_release(&workload);
}

static void sort__is_stable_and_says_that_it_was_needed(void **state)
{
    (void)state;
    struct orr_workload workload;
    orr_workload_init(&workload);
    for (uint32_t i = 0; i < 1000; i++) {
        struct orr_row *row = orr_workload_push(&workload);
        row->submit_ms = (orr_ms)(i * 7919 % 100) - 50;
        row->line = i;
    }
    orr_workload_sort(&workload, "f.csv");
    for (uint32_t i = 1; i < 1000; i++) {
        const struct orr_row *a = &workload.rows[i - 1];
        const struct orr_row *b = &workload.rows[i];
        assert_true(a->submit_ms < b->submit_ms ||
                    (a->submit_ms == b->submit_ms && a->line < b->line));
    }
    assert_non_null(strstr(workload.notes, "f.csv: rows are not in the order"));
    orr_workload_release(&workload);
}

static void sort__says_nothing_when_rows_are_in_order(void **state)
{
    (void)state;
    struct orr_workload workload;
    orr_workload_init(&workload);
    orr_workload_sort(&workload, "f.csv");
    for (uint32_t i = 0; i < 10; i++) {
        orr_workload_push(&workload)->submit_ms = i / 2;
    }
    orr_workload_sort(&workload, "f.csv");
    assert_string_equal(workload.notes, "");
    orr_workload_release(&workload);
}

static void extra__starts_with_nothing_given(void **state)
{
    (void)state;
    struct orr_workload workload;
    orr_workload_init(&workload);
    struct orr_row *row = orr_workload_push(&workload);
    struct orr_row_extra *extra = orr_workload_extra(&workload, row);
    assert_int_equal(extra->gpu_fraction_milli, -1);
    assert_int_equal(extra->preemptible, -1);
    assert_true(extra->deadline_ms == ORR_MS_NONE);
    assert_null(extra->template_name);
    assert_ptr_equal(orr_workload_extra(&workload, row), extra);
    assert_int_equal(workload.extra_count, 1);
    orr_workload_release(&workload);
}

static void loss__of_more_than_one_percent_is_an_error(void **state)
{
    (void)state;
    struct orr_workload workload;
    struct orr_err err = {0};
    orr_workload_init(&workload);
    workload.rows_read = 199;
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 0, &err), ORR_OK);
    orr_workload_reject(&workload, "f.csv", 7, "bad");
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 0, &err), ORR_OK);
    orr_workload_reject(&workload, "f.csv", 8, "worse");
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", ORR_LOSS_ALL, &err), ORR_OK);
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 10051, &err), ORR_OK);
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 10050, NULL), ORR_DATA);
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 0, &err), ORR_DATA);
    assert_string_equal(err.text,
                        "f.csv: 2 of 199 rows are rejected, more than 1 % (--allow-loss accepts "
                        "that)\nf.csv:7: bad\nf.csv:8: worse");
    workload.rows_read = 200;
    assert_int_equal(orr_trace_check_loss(&workload, "f.csv", 0, NULL), ORR_OK);
    orr_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds__have_names_and_are_found_by_them),
        cmocka_unit_test(reject__shows_the_first_ten_and_counts_all),
        cmocka_unit_test(sort__is_stable_and_says_that_it_was_needed),
        cmocka_unit_test(sort__says_nothing_when_rows_are_in_order),
        cmocka_unit_test(extra__starts_with_nothing_given),
        cmocka_unit_test(loss__of_more_than_one_percent_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
