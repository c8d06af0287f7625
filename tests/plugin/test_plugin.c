/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy from a shared object runs on policy.h alone. */
#include "policy_fixture.h"

#include <dlfcn.h>

static orr_policy_entry_fn *load(void **library)
{
    orr_policy_entry_fn *entry;
    *library = dlopen(ORR_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (*library == NULL) {
        fail_msg("%s", dlerror());
    }
    void *symbol = dlsym(*library, ORR_POLICY_ENTRY);
    assert_non_null(symbol);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    return entry;
}

static void jobs(struct fixture *f)
{
    fixture_init(f, 2, 4);
    (void)fixture_job(f, 0, 2, 4, 10);
    (void)fixture_job(f, 1, 1, 1, 5);
    (void)fixture_job(f, 2, 2, 4, 5);
    (void)fixture_job(f, 3, 1, 1, 3);
    (void)fixture_job(f, 4, 1, 4, 5);
}

static void plugin__schedules(void **state)
{
    (void)state;
    static const char *const narrow[] = {"narrow", "true", NULL};
    struct fixture f;
    void *library;
    orr_policy_entry_fn *entry = load(&library);
    assert_null(entry(ORR_POLICY_ABI + 1));
    const struct orr_policy *policy = entry(ORR_POLICY_ABI);
    jobs(&f);
    fixture_open(&f, policy, NULL);
    fixture_run(&f, 4);
    assert_int_equal(fixture_reason(&f, 1), ORR_REASON_NO_CAPACITY);
    fixture_expect(&f, (const orr_ms[]){0, 15, 10, 15, 15});
    fixture_close(&f);
    jobs(&f);
    fixture_open(&f, policy, narrow);
    fixture_expect(&f, (const orr_ms[]){0, 10, 15, 10, 10});
    fixture_close(&f);
    assert_int_equal(dlclose(library), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plugin__schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
