/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
/* Work that is spread over processes: what becomes of one that somebody kills. */
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <orrery/sim/study.h>

enum { TASKS = 4, KILLED = 2 };

struct seen { /* shared by the processes */
    _Atomic uint32_t starts[TASKS], done[TASKS];
    uint32_t kills; /* so many times task KILLED dies before it is done */
};

static enum orr_status work(void *context, uint32_t task, struct orr_err *err)
{
    struct seen *seen = context;
    (void)err;
    if (atomic_fetch_add(&seen->starts[task], 1) < seen->kills && task == KILLED) {
        (void)raise(SIGKILL);
    }
    atomic_fetch_add(&seen->done[task], 1);
    return ORR_OK;
}

static enum orr_status run(struct seen *seen, uint32_t kills, struct orr_err *err)
{
    const struct orr_study_options options = {.jobs = 2};
    memset(seen, 0, sizeof *seen);
    seen->kills = kills;
    *err = (struct orr_err){0};
    return orr_study_fork(work, seen, TASKS, &options, err);
}

static void killed_work__is_done_again(void **state)
{
    struct orr_err err;
    struct seen *seen = *state;
    assert_int_equal(run(seen, 2, &err), ORR_OK);
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_int_equal(seen->done[t], 1);
        assert_int_equal(seen->starts[t], t == KILLED ? 3 : 1);
    }
}

static void killed_work__is_given_up_after_three_times(void **state)
{
    struct orr_err err;
    struct seen *seen = *state;
    assert_int_equal(run(seen, 1000, &err), ORR_NO_MEMORY);
    assert_int_equal(seen->starts[KILLED], 3);
    assert_non_null(strstr(err.text, "killed 3 times"));
}

static int open_seen(void **state)
{
    *state =
        mmap(NULL, sizeof(struct seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *state == MAP_FAILED;
}

static int close_seen(void **state)
{
    return munmap(*state, sizeof(struct seen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_work__is_done_again),
        cmocka_unit_test(killed_work__is_given_up_after_three_times),
    };
    return cmocka_run_group_tests(tests, open_seen, close_seen);
}
