/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C while results that are written wait for the disk: a terminal sends it to all processes of
 * a study, and the study hands it on to each of them once more. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/sim/study.h>

/* Takes the place of the C library's: the disk is slow, and the user impatient. */
int fsync(int fd)
{
    (void)fd;
    (void)raise(SIGINT);
    (void)raise(SIGTERM);
    (void)raise(SIGHUP);
    return 0;
}

static void results_that_are_written__are_kept(void **state)
{
    static const char text[] = "cluster: {pools: {p: {nodes: 1, gpus: 1}}}\n"
                               "workload: [{name: t, trace: t.csv}]\n"
                               "policy: fifo\n";
    const struct orr_point_options point = {
        .scenario = {.path = "s", .text = text, .text_bytes = sizeof text - 1, .folder = ""},
        .output = "r.db"};
    const struct orr_study_options options = {.jobs = 1};
    struct orr_err err = {0};
    (void)state;
    const enum orr_status status = orr_study_run(&point, 1, &options, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, ORR_OK);
    assert_int_equal(access("r.db", F_OK), 0);
}

static char folder[] = "/tmp/orrery-test-XXXXXX";

static int enter(void **state)
{
    (void)state;
    FILE *trace = mkdtemp(folder) != NULL && chdir(folder) == 0 ? fopen("t.csv", "w") : NULL;
    if (trace == NULL) {
        return 1;
    }
    (void)fputs("job,submit_s,run_s,gpus\na,0,10,1\nb,5,10,1\n", trace);
    return fclose(trace);
}

static int leave(void **state)
{
    (void)state;
    orr_scratch_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_that_are_written__are_kept),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
