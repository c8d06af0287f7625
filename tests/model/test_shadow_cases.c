/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model decides every cycle of the conformance cases as the core does. As the core passes them,
 * so would the model: this is what the model itself is checked by. */
#include "test_main.h"

#include <stdlib.h>

#include <orrery/sim/conform.h>

#include "shadow.h"

static void ignore(const struct orr_conform_entry *entry, void *context)
{
    (void)entry;
    (void)context;
}

static void model__agrees_on_every_conformance_case(void **state)
{
    (void)state;
    static const char *const paths[] = {ORR_TEST_CASES};
    struct orr_conform_tally tally;
    struct orr_err err;
    const char *other = getenv("SHADOW_CASES");
    assert_int_equal(
        orr_conform_run(other != NULL ? &other : paths, 1, NULL, ignore, NULL, &tally, &err),
        ORR_OK);
    (void)fprintf(stderr, "%llu cycles, %llu differences\n",
                  (unsigned long long)shadow_tally.cycles,
                  (unsigned long long)shadow_tally.differences);
    assert_true(shadow_tally.cycles > 500);
    assert_int_equal(shadow_tally.differences, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model__agrees_on_every_conformance_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
