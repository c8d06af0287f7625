/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Digests are fixed for ever: results files and goldens hold them. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/digest.h>

static void fold__gives_fixed_values(void **state)
{
    (void)state;
    struct orr_digest d = ORR_DIGEST_INIT;
    assert_true(d.h == UINT64_C(0x6f72726572790001));
    orr_digest_fold(&d, 0);
    assert_true(d.h == UINT64_C(0x81921d7c73a797d6));
    orr_digest_fold(&d, UINT64_MAX);
    assert_true(d.h == UINT64_C(0x394f60a102f5625b));
}

static void fold__depends_on_order(void **state)
{
    (void)state;
    struct orr_digest a = ORR_DIGEST_INIT, b = ORR_DIGEST_INIT;
    orr_digest_fold(&a, 1);
    orr_digest_fold(&a, 2);
    orr_digest_fold(&b, 2);
    orr_digest_fold(&b, 1);
    assert_true(a.h != b.h);
}

static void hash__gives_fixed_values(void **state)
{
    (void)state;
    assert_true(orr_hash_bytes("", 0) == UINT64_C(0xaf42b525a7655d64));
    assert_true(orr_hash_bytes("a", 1) == UINT64_C(0x01260e00b3bb78c7));
    assert_true(orr_hash_bytes("12345678", 8) == UINT64_C(0x52c0c27f1a5a4066));
    assert_true(orr_hash_bytes("team-b/inference", 16) == UINT64_C(0xc32694deef7e6c7b));
}

static void hash__sees_length_and_alignment(void **state)
{
    (void)state;
    char bytes[40] = {0};
    for (size_t i = 0; i < 24; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(orr_hash_bytes(bytes, i) != orr_hash_bytes(bytes, j));
        }
    }
    uint64_t expected = orr_hash_bytes("orrery rolls", 12);
    for (size_t offset = 0; offset < 9; offset++) {
        memcpy(bytes + offset, "orrery rolls", 12);
        assert_true(orr_hash_bytes(bytes + offset, 12) == expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fold__gives_fixed_values),
        cmocka_unit_test(fold__depends_on_order),
        cmocka_unit_test(hash__gives_fixed_values),
        cmocka_unit_test(hash__sees_length_and_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
