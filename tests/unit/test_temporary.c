/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of files that are written: what another process left is neither taken nor removed, unless
 * nobody holds it any more. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/sim/temporary.h>

static char first[64]; /* r.db.tmp.PID */

static void leave(const char *path)
{
    FILE *out = fopen(path, "wx");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
}

static void leftover_of_this_number__stays(void **state)
{
    char temporary[100], wanted[100];
    (void)state;
    leave(first);
    const int fd = orr_temporary_open("r.db", temporary, sizeof temporary);
    assert_true(fd >= 0);
    (void)snprintf(wanted, sizeof wanted, "%s.1", first);
    assert_string_equal(temporary, wanted);
    assert_int_equal(access(first, F_OK), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(temporary), 0);
    assert_int_equal(unlink(first), 0);
}

static void file_is_stale__once_nobody_holds_it(void **state)
{
    char temporary[100];
    (void)state;
    const int fd = orr_temporary_open("r.db", temporary, sizeof temporary);
    assert_true(fd >= 0);
    assert_string_equal(temporary, first);
    assert_false(orr_temporary_remove_stale(temporary));
    FILE *again = fopen(temporary, "r"); /* as SQLite does: the lock is not lost with that */
    assert_non_null(again);
    assert_int_equal(fclose(again), 0);
    assert_false(orr_temporary_remove_stale(temporary));
    assert_int_equal(access(temporary, F_OK), 0);
    assert_int_equal(close(fd), 0);
    assert_true(orr_temporary_remove_stale(temporary));
    assert_int_equal(access(temporary, F_OK), -1);
    assert_false(orr_temporary_remove_stale(temporary));
}

static void name_too_long__is_refused(void **state)
{
    char temporary[8];
    (void)state;
    assert_int_equal(orr_temporary_open("r.db", temporary, sizeof temporary), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static char folder[] = "/tmp/orrery-test-XXXXXX";

static int enter(void **state)
{
    (void)state;
    (void)snprintf(first, sizeof first, "r.db.tmp.%ld", (long)getpid());
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftover_of_this_number__stays),
        cmocka_unit_test(file_is_stale__once_nobody_holds_it),
        cmocka_unit_test(name_too_long__is_refused),
    };
    return cmocka_run_group_tests(tests, enter, leave_folder);
}
