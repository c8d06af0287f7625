/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and quantities as people write them. */
#include "test_main.h"

#include <string.h>

#include <orrery/base/text.h>

typedef bool parse_fn(const char *text, size_t bytes, int64_t *out);

struct row {
    const char *text;
    int64_t value;
};

#define UNTOUCHED INT64_C(-424242)

static void check(parse_fn *parse, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = UNTOUCHED;
        if (!parse(rows[i].text, strlen(rows[i].text), &value) || value != rows[i].value) {
            fail_msg("\"%s\" is %lld, not %lld", rows[i].text, (long long)value,
                     (long long)rows[i].value);
        }
    }
}

static void refuse(parse_fn *parse, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = UNTOUCHED;
        if (parse(texts[i], strlen(texts[i]), &value) || value != UNTOUCHED) {
            fail_msg("\"%s\" was read as %lld", texts[i], (long long)value);
        }
    }
}

#define CHECK(parse, ...)                                                                          \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        check(parse, rows, sizeof rows / sizeof rows[0]);                                          \
    } while (0)
#define REFUSE(parse, ...)                                                                         \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        refuse(parse, texts, sizeof texts / sizeof texts[0]);                                      \
    } while (0)

static void i64__takes_the_whole_range(void **state)
{
    (void)state;
    CHECK(orr_parse_i64, {"0", 0}, {"-0", 0}, {"+7", 7}, {"007", 7},
          {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN});
    REFUSE(orr_parse_i64, "", "-", "+", "1.0", "1 ", " 1", "0x1", "1e3", "--1", "nan",
           "9223372036854775808", "-9223372036854775809", "99999999999999999999");
}

static void i64__reads_no_byte_past_the_end(void **state)
{
    (void)state;
    int64_t value;
    assert_true(orr_parse_i64("1234", 2, &value));
    assert_int_equal(value, 12);
    assert_false(orr_parse_i64("1\0002", 3, &value));
}

static void seconds__round_half_up(void **state)
{
    (void)state;
    CHECK(orr_parse_seconds, {"2.0005", 2001}, {"2.0004", 2000}, {"2.00049999999999", 2000},
          {"0.0005", 1}, {"-0.0005", 0}, {"-0.0006", -1}, {"-0.00050000000000000000001", -1},
          {"-2.0005", -2000}, {"-2.00051", -2001}, {".5", 500}, {"5.", 5000}, {"+1.5", 1500},
          {"9223372036854775.807", INT64_MAX});
    REFUSE(orr_parse_seconds, "", ".", "-", "-.", "1.2.3", "1,5", "nan", "inf", "1e3", "1s",
           "9223372036854775.808", "9223372036854775807", "99999999999999999999");
}

static int64_t scale_used;

static bool parse_scaled(const char *text, size_t bytes, int64_t *out)
{
    return orr_parse_scaled(text, bytes, scale_used, out);
}

static void scaled__keeps_digits_of_large_scales(void **state)
{
    (void)state;
    scale_used = 1000000000000; /* TB */
    CHECK(parse_scaled, {"1.123456789123", 1123456789123}, {"0.0000000000005", 1},
          {"0.00000000000049", 0});
    scale_used = ORR_GIB * 1024;
    CHECK(parse_scaled, {"0.5", 549755813888}, {"0.0000000005", 550});
    scale_used = 1;
    CHECK(parse_scaled, {"0.5", 1}, {"-0.5", 0}, {"-1.5", -1}, {"2.5", 3},
          {"0.4999999999999999999999", 0});
}

static void real__is_finite_and_decimal(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      "nan",   "NaN",  "inf", "-inf", "0x10",
                                      "1e999", "1e",    "e5",   ".",   "1 ",   " 1",
                                      "1,5",   "1.5.1", "1e5e", "+-1", "1f"};
    double value = -7.0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (orr_parse_double(bad[i], strlen(bad[i]), &value)) {
            fail_msg("\"%s\" was read", bad[i]);
        }
    }
    assert_false(orr_parse_double("1\0", 2, &value));
    assert_true(value < -6.0);
    char digits[65];
    memset(digits, '1', sizeof digits);
    assert_false(orr_parse_double(digits, 64, &value));
    assert_true(orr_parse_double("-1.25e2x", 7, &value));
    assert_true(value == -125.0);
    assert_true(orr_parse_double("0.1", 3, &value));
    assert_true(value == 0.1);
}

static void duration__needs_a_unit(void **state)
{
    (void)state;
    CHECK(orr_parse_duration, {"0", 0}, {"90s", 90000}, {"1.5h", 5400000}, {"2d", 172800000},
          {"250ms", 250}, {"2h30m", 9000000}, {"1w", 604800000}, {"3min", 180000}, {"-5s", -5000},
          {"0.5ms", 1}, {"1d1h1m1s1ms", 90061001});
    REFUSE(orr_parse_duration, "", "5", "00", "s", "1y", "1 h", "h1", "2h30", "-2h30m", "2h-30m",
           "1.2.3s", "nans", "1e3s", "--5s", "99999999999999w", "9223372036854775807ms1ms");
}

static void memory__needs_a_unit(void **state)
{
    (void)state;
    CHECK(orr_parse_memory, {"80Gi", 80 * ORR_GIB}, {"512Mi", 512 * ORR_MIB}, {"20G", 20000000000},
          {"1Ki", 1024}, {"1.5KiB", 1536}, {"7B", 7}, {"1k", 1000}, {"2TB", 2000000000000},
          {"1Ti", 1099511627776}, {"0.0005k", 1});
    REFUSE(orr_parse_memory, "", "80", "Gi", "80gi", "80 Gi", "1K", "1e3B", "9000000000Ti", "nanB");
}

static void bandwidth__tells_bits_from_bytes(void **state)
{
    (void)state;
    CHECK(orr_parse_bandwidth, {"450GB/s", 450000000000}, {"400Gb/s", 50000000000}, {"1B/s", 1},
          {"8Kb/s", 1000}, {"1.5TB/s", 1500000000000}, {"100Mb/s", 12500000});
    REFUSE(orr_parse_bandwidth, "", "450", "450GB", "450Gbps", "1GiB/s", "b/s", "1e9B/s");
}

static void power__is_whole_watts(void **state)
{
    (void)state;
    CHECK(orr_parse_power, {"700W", 700}, {"10.2kW", 10200}, {"0W", 0}, {"1.5MW", 1500000},
          {"0.5W", 1}, {"-2kW", -2000});
    REFUSE(orr_parse_power, "", "700", "W", "700w", "1KW", "1e3W", "1kWh", "9000000000000000MW");
}

static void cpu__is_milli_or_cores(void **state)
{
    (void)state;
    CHECK(orr_parse_cpu, {"500m", 500}, {"2", 2000}, {"1.5", 1500}, {"0.0005", 1});
    REFUSE(orr_parse_cpu, "", "m", "1.5m", "2c", "1e3", "9223372036854775807");
}

static void timestamp__is_checked_against_the_calendar(void **state)
{
    (void)state;
    CHECK(orr_parse_timestamp, {"1970-01-01 00:00:00", 0}, {"1970-01-01T00:00:01Z", 1000},
          {"2000-02-29 12:00:00", 951825600000}, {"2017-10-07 01:03:36.5", 1507338216500},
          {"1969-12-31 23:59:59", -1000}, {"1970-01-01 00:00:00.9995", 1000},
          {"9999-12-31 23:59:59", 253402300799000}, {"1970-01-01T02:00:00+02:00", 0},
          {"1970-01-01 00:00:00.5 -0130", 5400500}, {"1969-12-31T23:00:00-01", 0},
          {"0000-01-01 00:00:00", -62167219200000});
    REFUSE(orr_parse_timestamp, "", "Z", "1970-01-01", "1970-01-01 00:00", "1970-1-1 00:00:00",
           "1900-02-29 00:00:00", "2023-02-29 00:00:00", "2023-13-01 00:00:00",
           "2023-00-01 00:00:00", "2023-01-00 00:00:00", "2023-04-31 00:00:00",
           "2023-01-01 24:00:00", "2023-01-01 00:60:00", "2023-01-01 00:00:60",
           "2023-01-01x00:00:00", "2023-01-01 00:00:00.", "2023-01-01 00:00:00.5x",
           "2023-01-01 00:00:00+1", "2023-01-01 00:00:00+24:00", "2023-01-01 00:00:00+01:60",
           "2023-01-01 00:00:00+0100Z", "2023-01-01 00:00:00+01:0", "2023-01-01 00:00:0a");
}

static void format__is_short_and_reads_back(void **state)
{
    (void)state;
    static const struct row seconds[] = {{"0", 0},
                                         {"1", 1000},
                                         {"0.001", 1},
                                         {"-0.5", -500},
                                         {"1.25", 1250},
                                         {"10", 10000},
                                         {"-3.01", -3010},
                                         {"100.1", 100100},
                                         {"9223372036854775.807", INT64_MAX},
                                         {"-9223372036854775.808", INT64_MIN}};
    static const struct row spans[] = {{"00:00:00", 0},
                                       {"04:05:06", 14706000},
                                       {"3d 04:05:06", 273906000},
                                       {"-00:00:01", -1999},
                                       {"00:00:00", 999}};
    char out[32];
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        assert_int_equal(orr_format_seconds(out, seconds[i].value), strlen(seconds[i].text));
        assert_string_equal(out, seconds[i].text);
    }
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        assert_int_equal(orr_format_span(out, spans[i].value), strlen(spans[i].text));
        assert_string_equal(out, spans[i].text);
    }
}

static void format__rough_seconds_keep_two_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"0 s", 0.0},       {"0 s", 0.0001},   {"0.76 s", 0.755},  {"-4.6 s", -4.586},
                {"5 s", 5.0},       {"9.9 s", 9.94},   {"10 s", 9.96},     {"42 s", 42.4},
                {"1.7 min", 100.0}, {"1.5 h", 5400.0}, {"2.0 d", 172800.0}};
    char out[24];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(orr_format_rough(out, rows[i].seconds), rows[i].text);
    }
}

static void nearest__finds_a_typing_error_only(void **state)
{
    (void)state;
    static const char *const words[] = {"backfill", "order", "variant", "orders"};
    assert_string_equal(orr_nearest("bakfill", words, 4), "backfill");
    assert_string_equal(orr_nearest("ordr", words, 4), "order");
    assert_string_equal(orr_nearest("orderz", words, 4), "order"); /* the first of equals */
    assert_null(orr_nearest("quota", words, 4));
    assert_null(orr_nearest("order", words, 0));
    char word[60];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *longs[] = {word};
    assert_null(orr_nearest(word, longs, 1));
    assert_null(orr_nearest("x", longs, 1));
}

static void like__reads_stars_alternatives_and_case(void **state)
{
    (void)state;
    static const struct {
        const char *text, *patterns;
        bool any_case, is;
    } rows[] = {
        {"aXbXc", "a*b*c", false, true},
        {"abcb", "a*b", false, true},
        {"abcbd", "a*b", false, false},
        {"team/a", "other|team/?", false, true},
        {"team/ab", "team/?|x", false, false},
        {"ABC", "abc", true, true},
        {"ABC", "abc", false, false},
        {"", "*", false, true},
        {"", "", false, true},
        {"x", "", false, false},
        {"", "a|", false, true},
        {"a|b", "a?b", false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            orr_text_like(rows[i].text, strlen(rows[i].text), rows[i].patterns, rows[i].any_case),
            rows[i].is);
    }
    assert_true(orr_text_like("abc", 2, "ab", false)); /* no NUL needed */
}

static void clock__is_read_as_it_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        orr_ms at, origin;
    } rows[] = {{"00:36:33", 2193000, ORR_MS_NONE},
                {"26d 00:36:33", 2248593000, ORR_MS_NONE},
                {"-00:00:10", -10000, ORR_MS_NONE},
                {"2026-06-01T12:00:00Z", 43200000, 1780272000000},
                {"2026-05-31T23:59:50Z", -10000, 1780272000000}};
    static const struct {
        const char *text;
        orr_ms at;
    } others[] = {{"26d00:36", 2248560000},
                  {"d26 00:36", 2248560000},
                  {"day 26", 2246400000},
                  {"day 26 00:36:33", 2248593000},
                  {"12:30", 45000000},
                  {"25d2h", 2167200000},
                  {"1906442", 1906442000},
                  {"1906442.5 s", 1906442500},
                  {"90s", 90000},
                  {"2026-06-02", 86400000},
                  {"2026-06-02 00:30", 88200000},
                  {"2026-06-01T14:00:00+02:00", 43200000}};
    static const char *const wrong[] = {"",           "-",        "d",   "day",    "26d 24:00",
                                        "12:60",      "12:30:60", "12:", "1 2",    "26d 1",
                                        "2026-06-31", "d2604:05", "x",   "12:30 x"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[32];
        orr_ms at = 0;
        assert_string_equal(orr_format_clock(out, rows[i].at, rows[i].origin), rows[i].text);
        assert_true(orr_parse_clock(out, strlen(out), rows[i].origin, &at));
        assert_int_equal(at, rows[i].at);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        orr_ms at = 0;
        assert_true(orr_parse_clock(others[i].text, strlen(others[i].text), 1780272000000, &at));
        assert_int_equal(at, others[i].at);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        orr_ms at;
        assert_false(orr_parse_clock(wrong[i], strlen(wrong[i]), 0, &at));
    }
    orr_ms at;
    assert_false(orr_parse_clock("2026-06-02", 10, ORR_MS_NONE, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(i64__takes_the_whole_range),
        cmocka_unit_test(i64__reads_no_byte_past_the_end),
        cmocka_unit_test(seconds__round_half_up),
        cmocka_unit_test(scaled__keeps_digits_of_large_scales),
        cmocka_unit_test(real__is_finite_and_decimal),
        cmocka_unit_test(duration__needs_a_unit),
        cmocka_unit_test(memory__needs_a_unit),
        cmocka_unit_test(bandwidth__tells_bits_from_bytes),
        cmocka_unit_test(power__is_whole_watts),
        cmocka_unit_test(cpu__is_milli_or_cores),
        cmocka_unit_test(timestamp__is_checked_against_the_calendar),
        cmocka_unit_test(format__is_short_and_reads_back),
        cmocka_unit_test(format__rough_seconds_keep_two_digits),
        cmocka_unit_test(clock__is_read_as_it_is_written),
        cmocka_unit_test(like__reads_stars_alternatives_and_case),
        cmocka_unit_test(nearest__finds_a_typing_error_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
