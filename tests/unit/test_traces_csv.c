/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is CSV and what is not, and on which line it stands: tried through the native format. */
#include "test_traces.h"

#include <orrery/base/mem.h>
#include <orrery/base/rng.h>

#define HEAD "job,submit_s,run_s,gpus\n"

static void rows__may_end_in_any_way(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD "a,0,10,1\nb,1,10,2\n",
        HEAD "a,0,10,1\nb,1,10,2",
        HEAD "a,0,10,1\nb,1,10,2\n\n",
        HEAD "a,0,10,1\n\n  \nb,1,10,2\n\n\n",
        "\n\n" HEAD "a,0,10,1\nb,1,10,2\n",
        "job,submit_s,run_s,gpus\r\na,0,10,1\r\nb,1,10,2\r\n",
        "job,submit_s,run_s,gpus\r\n\r\na,0,10,1\r\n\r\nb,1,10,2\r\n\r\n",
        "job,submit_s,run_s,gpus\ra,0,10,1\rb,1,10,2\r",
        "\xef\xbb\xbf" HEAD "a,0,10,1\nb,1,10,2\n",
        "\"job\",\"submit_s\", run_s ,gpus\n\"a\", 0 ,10,\"1\"\n\"b\",1,\"10\",2 \n",
        "gpus,x_note,run_s,submit_s,job\n1,anything,10,0,a\n2,,10,1,b\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct orr_workload workload = read_text("t.csv", texts[i]);
        assert_string_equal(workload.rejects.shown, "");
        assert_string_equal(workload.notes, "");
        assert_int_equal(workload.count, 2);
        assert_string_equal(job_name(&workload, 0), "a");
        assert_string_equal(job_name(&workload, 1), "b");
        assert_int_equal(workload.rows[1].gpus, 2);
        assert_true(workload.rows[1].submit_ms == 1000 && workload.rows[1].run_ms == 10000);
        orr_workload_release(&workload);
    }
}

static void lines__are_counted_as_an_editor_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t line; /* of row z */
    } cases[] = {
        {HEAD "z,0,1,1\n", 2},
        {HEAD "\n\nz,0,1,1\n", 4},
        {"job,submit_s,run_s,gpus\r\n\r\nz,0,1,1\r\n", 3},
        {"job,submit_s,run_s,gpus\r\rz,0,1,1\r", 3},
        {HEAD "\"a\nb\",0,1,1\nz,0,1,1", 4},
        {"job,submit_s,run_s,gpus\r\n\"a\r\nb\",0,1,1\r\nz,0,1,1\r\n", 4},
        {HEAD "\"a\n\n\nb\",0,1,1\n\nz,0,1,1\n", 7},
        {HEAD "\"z\",0,1,1\n\"b\n\",0,1,1\n", 2},
        {HEAD "a\"b,0,1,1\nz,0,1,1\n", 3},
        {"job,submit_s,run_s,gpus\r\na\"b,0,1,1\r\nz,0,1,1\r\n", 3},
        {"job,submit_s,run_s,gpus\ra\"b,0,1,1\rz,0,1,1\r", 3},
        {"job,submit_s,run_s,gpus,\"x_\n1\"\nz,0,1,1,\n", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct orr_workload workload = read_text("t.csv", cases[i].text);
        uint32_t line = 0;
        for (uint32_t r = 0; r < workload.count; r++) {
            if (strcmp(job_name(&workload, r), "z") == 0) {
                line = workload.rows[r].line;
            }
        }
        assert_int_equal(line, cases[i].line);
        orr_workload_release(&workload);
    }
}

static void quoted_fields__keep_what_is_in_them(void **state)
{
    (void)state;
    struct orr_workload workload =
        read_text("t.csv", HEAD "\"a,\"\"b\"\"\nc \",0,10,1\n\" d\" ,1,10,1\n");
    assert_int_equal(workload.count, 2);
    assert_string_equal(job_name(&workload, 0), "a,\"b\"\nc ");
    assert_string_equal(job_name(&workload, 1), " d");
    orr_workload_release(&workload);
}

static void rows__that_do_not_fit_the_header_are_rejected(void **state)
{
    (void)state;
    assert_rejects("t.csv", HEAD "a,0,10\nb,0,10,1\nc,0,10,1,1\n\"\"\nd,0,10,1\n", 2,
                   "t.csv:2: the row has 3 fields, the header 4\n"
                   "t.csv:4: the row has 5 fields, the header 4\n"
                   "t.csv:5: the row has 1 field, the header 4\n");
}

static void quotes__inside_a_field_reject_their_line(void **state)
{
    (void)state;
    assert_rejects("t.csv", HEAD "a\"b,0,10,1\nc,0,10,1\n\"d\"e,0,10,1\r\nf,0,1,1\ng\"", 2,
                   "t.csv:2: a quote stands inside a field: fields with quotes are quoted as a "
                   "whole, and quotes in them doubled\n"
                   "t.csv:4: a quote stands inside a field: fields with quotes are quoted as a "
                   "whole, and quotes in them doubled\n"
                   "t.csv:6: a quote stands inside a field: fields with quotes are quoted as a "
                   "whole, and quotes in them doubled\n");
}

static void quotes__that_swallow_rows_refuse_the_file(void **state)
{
    (void)state;
    assert_refused("t.csv", HEAD "a,0,10,1\n\"b,0,10,1\nc,0,10,1\n",
                   "t.csv:3: a quoted field that starts in this row is never closed");
    assert_refused("t.csv", HEAD "\"b,0,10,1\nc,0,10,1\n\"d\",0,10,1\n",
                   "t.csv:2: a quoted field that starts in this row has no proper end");
    assert_refused("t.csv", "job,\"submit_s\n",
                   "t.csv:1: a quoted field that starts in this row is never closed");
    assert_refused("t.csv", "job,sub\"mit_s\n",
                   "t.csv:1: a quoted field that starts in this row has no proper end");
}

static void nul_bytes__reject_their_row(void **state)
{
    (void)state;
    static const char text[] = HEAD "a,0,10,1\nb\0,0,10,1\nc,0,1\0,1\nd,0,10,1\n";
    struct orr_workload workload = read_bytes("t.csv", text, sizeof text - 1);
    assert_string_equal(workload.rejects.shown, "t.csv:3: the row has a NUL byte\n"
                                                "t.csv:4: the row has a NUL byte\n");
    assert_int_equal(workload.count, 2);
    orr_workload_release(&workload);
}

static void headers__that_are_wrong_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"job,submit_s,run_s,job,gpus\n", "t.csv:1: column \"job\" is there twice"},
        {"job,run_s,gpus\na,1,1\n", "t.csv:1: the header has no column \"submit_s\""},
        {"\n\nsubmit_s,run_s\n", "t.csv:3: the header has no column \"job\""},
        {"job,submit_at,run_s\n", "t.csv:1: column \"submit_at\" is not known to format native; "
                                  "did you mean \"submit_s\"? (a "
                                  "name that starts with x_ is ignored; `orrery import t.csv --map "
                                  "auto` proposes what columns of other files mean)"},
        {"job,submit_s,run_s,qqqqqqqqqqqqqq\n",
         "t.csv:1: column \"qqqqqqqqqqqqqq\" is not known to format native (a name that starts "
         "with x_ is ignored; `orrery import t.csv --map auto` proposes what columns of other "
         "files "
         "mean)"},
        {"job,submit_s,,run_s\n", "t.csv:1: column \"\" is a column without a name"},
        {"", "t.csv: is empty"},
        {"\xef\xbb\xbf", "t.csv: is empty"},
        {"\n\n  \n", "t.csv: has no header line"},
        {"\xff\xfej\0o\0", "t.csv:1: is UTF-16 text; save it as UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused("t.csv", cases[i].text, cases[i].sentence);
    }
}

static void headers__alone_are_a_trace_without_jobs(void **state)
{
    (void)state;
    struct orr_workload workload = read_text("t.csv", HEAD);
    assert_int_equal(workload.count, 0);
    assert_string_equal(workload.notes, "t.csv: has no jobs\n");
    orr_workload_release(&workload);
}

static void formats__are_found_or_refused(void **state)
{
    (void)state;
    struct orr_workload workload;
    struct orr_err err = {0};
    struct orr_trace_options options = {.format = "nativ"};
    assert_refused("t.txt", "hello\nworld\n",
                   "t.txt:1: is in no known format: it has neither the header of format native or "
                   "philly nor lines of format swf; `orrery import t.txt` reads what Slurm's sacct "
                   "and scontrol "
                   "print, and with --map auto proposes what a "
                   "table's columns mean");
    assert_int_equal(orr_trace_read_memory("t", HEAD, strlen(HEAD), &options, &workload, &err),
                     ORR_USAGE);
    assert_string_equal(err.text, "format \"nativ\" is not known; did you mean \"native\"?");
    options.format = "native";
    assert_int_equal(orr_trace_read_memory("t.swf", HEAD, strlen(HEAD), &options, &workload, NULL),
                     ORR_OK);
    orr_workload_release(&workload);
    workload = read_text("t", "run_s,job,gpus,submit_s\n1,a,1,0\n");
    assert_int_equal(workload.count, 1);
    orr_workload_release(&workload);
    size_t count;
    const struct orr_trace_format *formats = orr_trace_formats(&count);
    assert_int_equal(count, 4);
    assert_string_equal(formats[0].name, "native");
}

/* A text of `bytes` times the same byte between two other texts; the caller frees. */
static char *stretch(const char *before, char byte, size_t bytes, const char *after)
{
    size_t head = strlen(before);
    char *text = orr_alloc(head + bytes + strlen(after) + 1, 1);
    memcpy(text, before, head);
    memset(text + head, byte, bytes);
    memcpy(text + head + bytes, after, strlen(after) + 1);
    return text;
}

static void lengths__that_are_absurd_reject_or_refuse(void **state)
{
    (void)state;
    char *text = stretch(HEAD, 'x', 1001, ",0,1,1\nb,0,1,1\n");
    assert_rejects("t.csv", text, 1,
                   "t.csv:2: column job: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                   "...\" is 1001 bytes long, more than 1000\n");
    orr_free(text);
    text = stretch(HEAD, 'x', 70000, ",0,1,1\nb,0,1,1\n");
    assert_rejects("t.csv", text, 1, "t.csv:2: the row is longer than 65536 bytes\n");
    orr_free(text);
    text = stretch(HEAD, 'x', 2000000, ",0,1,1\nb,0,1,1\n");
    assert_refused("t.csv", text, "t.csv:2: a field is longer than 1048576 bytes");
    orr_free(text);
    text = stretch("job,submit_s,run_s", ',', 2000, "\n");
    assert_refused("t.csv", text, "t.csv:1: column \"\" is a column without a name");
    orr_free(text);
}

/* Rows whose lines end in a CR alone go through libcsv, all others are split where they lie: what
 * is read is the same. */
static void lines__that_are_split_read_as_libcsv_has_them(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",       "b",        "c1",        "0",         "1",  "10",       ",",    ",",
        ",0,1,1",  ",0,1,1\n", "\n",        " ",         "\t", "\"",       "\"\"", "\"d\"",
        "\"e,f\"", "\r\n",     "\"g\"\"\"", "x,0,1,1\n", "y",  "z",        "\n\n", " \t\n",
        "\"1\",0", "\"h\ni\"", "é",         "\xff\n",    "-1", "\n\"j\",",
    };
    enum { TEXTS = 6000, PIECES = sizeof pieces / sizeof pieces[0] };
    struct orr_rng rng = orr_rng_stream(1, "csv", 0);
    uint32_t taken = 0;
    for (int i = 0; i < TEXTS; i++) {
        char split[400] = HEAD, whole[400];
        for (uint64_t n = orr_rng_below(&rng, 16); n > 0; n--) {
            (void)strcat(split, pieces[orr_rng_below(&rng, PIECES)]);
        }
        size_t bytes = 0;
        for (const char *at = split; *at != '\0'; at++) {
            if (*at != '\n' || bytes == 0 || at[-1] != '\r') {
                whole[bytes++] = *at == '\n' ? '\r' : *at;
            }
        }
        struct orr_trace_options options = {.allow_loss_ppm = ORR_LOSS_ALL};
        struct orr_workload one, other;
        struct orr_err err = {0}, other_err = {0};
        const enum orr_status status =
            orr_trace_read_memory("t.csv", split, strlen(split), &options, &one, &err);
        assert_int_equal(orr_trace_read_memory("t.csv", whole, bytes, &options, &other, &other_err),
                         status);
        assert_string_equal(err.text, other_err.text);
        if (status == ORR_OK) {
            assert_string_equal(one.rejects.shown, other.rejects.shown);
            assert_int_equal(one.count, other.count);
            for (uint32_t r = 0; r < one.count; r++) {
                assert_int_equal(one.rows[r].line, other.rows[r].line);
                assert_int_equal(one.rows[r].gpus, other.rows[r].gpus);
            }
            taken += one.count;
            orr_workload_release(&one);
            orr_workload_release(&other);
        }
    }
    assert_true(taken > TEXTS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__may_end_in_any_way),
        cmocka_unit_test(lines__are_counted_as_an_editor_does),
        cmocka_unit_test(quoted_fields__keep_what_is_in_them),
        cmocka_unit_test(rows__that_do_not_fit_the_header_are_rejected),
        cmocka_unit_test(quotes__inside_a_field_reject_their_line),
        cmocka_unit_test(quotes__that_swallow_rows_refuse_the_file),
        cmocka_unit_test(nul_bytes__reject_their_row),
        cmocka_unit_test(headers__that_are_wrong_are_refused),
        cmocka_unit_test(headers__alone_are_a_trace_without_jobs),
        cmocka_unit_test(formats__are_found_or_refused),
        cmocka_unit_test(lengths__that_are_absurd_reject_or_refuse),
        cmocka_unit_test(lines__that_are_split_read_as_libcsv_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
