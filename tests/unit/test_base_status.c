/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: the first stays, prefixes never overrun, bugs abort. */
#include "test_main.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery/base/heap.h>
#include <orrery/base/status.h>

static void first_error__stays(void **state)
{
    (void)state;
    struct orr_err err = {0};
    assert_int_equal(orr_fail(&err, ORR_DATA, "line %d", 7), ORR_DATA);
    assert_int_equal(orr_fail(&err, ORR_IO, "later"), ORR_IO);
    assert_int_equal(err.status, ORR_DATA);
    assert_string_equal(err.text, "line 7");
    assert_int_equal(orr_fail(NULL, ORR_IO, "nobody listens"), ORR_IO);
}

static void long_text__is_cut(void **state)
{
    (void)state;
    struct orr_err err = {0};
    char word[3000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    (void)orr_fail(&err, ORR_DATA, "%s", word);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void prefix__comes_before_the_text(void **state)
{
    (void)state;
    struct orr_err err = {0};
    orr_err_prefix(&err, "%s", "file.csv"); /* no error: nothing to say where */
    assert_string_equal(err.text, "");
    orr_err_prefix(NULL, "%s", "file.csv");
    (void)orr_fail(&err, ORR_DATA, "bad row");
    orr_err_prefix(&err, "%s:%d", "file.csv", 3);
    assert_string_equal(err.text, "file.csv:3: bad row");
}

static void prefix__cuts_the_text_never_itself(void **state)
{
    (void)state;
    struct orr_err err = {0};
    char word[2000];
    memset(word, 'p', sizeof word);
    (void)orr_fail(&err, ORR_DATA, "bad row");
    orr_err_prefix(&err, "%.*s", 994, word);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + 994, ": bad");
    struct orr_err other = {0};
    (void)orr_fail(&other, ORR_DATA, "bad row");
    orr_err_prefix(&other, "%.*s", 1999, word); /* says nothing rather than half a name */
    assert_string_equal(other.text, "bad row");
}

static void exit_codes__follow_sysexits(void **state)
{
    (void)state;
    assert_int_equal(orr_status_exit_code(ORR_OK), 0);
    assert_int_equal(orr_status_exit_code(ORR_USAGE), 64);
    assert_int_equal(orr_status_exit_code(ORR_BUG), 70);
    assert_int_equal(orr_status_exit_code(ORR_SCENARIO), 78);
    assert_int_equal(orr_status_exit_code(ORR_INTERRUPTED), 130);
}

/* Runs the bug in a child and reads what it says. */
static void child_of(int out)
{
    (void)dup2(out, STDERR_FILENO);
    struct orr_heap heap;
    orr_heap_init(&heap);
    (void)orr_heap_pop(&heap);
    _exit(0);
}

static void bug__is_said_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        child_of(ends[1]);
    }
    (void)close(ends[1]);
    char text[400] = "";
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)got;
    }
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "orrery: bug: heap->count > 0 ("));
    assert_non_null(strstr(text, "heap.c:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error__stays),
        cmocka_unit_test(long_text__is_cut),
        cmocka_unit_test(prefix__comes_before_the_text),
        cmocka_unit_test(prefix__cuts_the_text_never_itself),
        cmocka_unit_test(exit_codes__follow_sysexits),
        cmocka_unit_test(bug__is_said_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
