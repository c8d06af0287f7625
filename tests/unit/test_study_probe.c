/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that goes no further than to the start of a job, and a signal while it runs. */
#include "scenario_files.h"

#include <signal.h>

#include <orrery/sim/point.h>

static volatile sig_atomic_t interrupted;

static void note(int signal)
{
    (void)signal;
    interrupted = 1;
}

static const char scenario[] = "cluster: {pools: {p: {nodes: 1, gpus: 1}}}\n"
                               "workload: [{name: t, trace: t.csv}]\n"
                               "policy: {name: 'exec:exec sh child.sh'}\n";

/* A policy that starts nobody but `last`, does `first` in its first cycle, and counts cycles. */
static void write_policy(const char *first)
{
    char text[800];
    (void)snprintf(
        text, sizeof text,
        "read -r hello\necho '{\"protocol\": 1, \"name\": \"mine\"}'\nread -r open\n"
        "%s\nwhile read -r cycle; do\n"
        "case $cycle in *submitted*'\"job\":3'*) echo '{\"place\": 3}'; read -r ok ;; esac\n"
        "echo >>cycles\necho '{\"end\": true}'\ndone\n",
        first);
    write_file("child.sh", text);
    (void)unlink("cycles");
}

static long cycles(void)
{
    struct stat found;
    return stat("cycles", &found) == 0 ? (long)found.st_size : 0;
}

static enum orr_status probe_last(struct orr_probe *probe, struct orr_err *err)
{
    *probe = (struct orr_probe){.scenario = {.path = "s",
                                             .text = scenario,
                                             .text_bytes = sizeof scenario - 1,
                                             .folder = ""},
                                .job = "last",
                                .until_ms = 100000};
    *err = (struct orr_err){0};
    interrupted = 0;
    return orr_point_probe(probe, &interrupted, err);
}

static void probe__ends_with_the_start(void **state)
{
    (void)state;
    struct orr_probe probe;
    struct orr_err err;
    write_policy("");
    assert_int_equal(probe_last(&probe, &err), ORR_OK);
    assert_int_equal(probe.start_ms, 30000);
    assert_int_equal(cycles(), 4); /* and none of the job that comes later */
}

static void signal__ends_it_at_the_next_instant(void **state)
{
    (void)state;
    struct orr_probe probe;
    struct orr_err err;
    write_policy("kill -USR1 $PPID");
    assert_int_equal(probe_last(&probe, &err), ORR_INTERRUPTED);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(probe.start_ms, ORR_MS_NONE);
    assert_in_range(cycles(), 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probe__ends_with_the_start),
        cmocka_unit_test(signal__ends_it_at_the_next_instant),
    };
    enter_folder("study_probe");
    (void)signal(SIGUSR1, note);
    write_file("t.csv", "job,submit_s,run_s,gpus\na,0,10,1\nb,10,10,1\nc,20,10,1\nlast,30,10,1\n"
                        "later,40,10,1\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
