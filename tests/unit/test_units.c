/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A part of a program, which is no library. */
#include "cli/units.c"

static void test_bytes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0"},           {1023, "1023"},    {1024, "1.0K"},
                 {1536, "1.5K"},     {10239, "9.9K"},   {10240, "10K"},
                 {1048575, "1023K"}, {1048576, "1.0M"}, {UINT64_C(5) << 30, "5.0G"},
                 {UINT64_MAX, "15E"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[24];
        format_bytes(cases[i].bytes, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_spans(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{-5, "0ms"},      {0, "0ms"},       {999, "999ms"},      {1000, "1.0s"},
                 {59999, "59.9s"}, {60000, "1m00s"}, {3599999, "59m59s"}, {7500000, "2h05m"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[24];
        format_span(cases[i].ms, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_ages(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {{-100, "0s ago"},
                 {119, "119s ago"},
                 {121, "2m ago"},
                 {86400, "24h ago"},
                 {864005, "10d ago"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        format_age((int64_t)time(NULL) - cases[i].seconds, text, sizeof text);
        /* the second may have changed meanwhile */
        if (cases[i].seconds != 119)
            assert_string_equal(text, cases[i].text);
    }
}

static void test_modes(void **state)
{
    static const struct {
        char type;
        unsigned mode;
        const char *text;
    } cases[] = {{'f', 0644, "-rw-r--r--"},  {'d', 0755, "drwxr-xr-x"},  {'l', 0777, "lrwxrwxrwx"},
                 {'f', 0, "----------"},     {'d', 01777, "drwxrwxrwt"}, {'d', 01776, "drwxrwxrwT"},
                 {'f', 04755, "-rwsr-xr-x"}, {'f', 02644, "-rw-r-Sr--"}, {'p', 06711, "prws--s--x"},
                 {'c', 07000, "c--S--S--T"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[MODE_SIZE];
        format_mode(cases[i].type, cases[i].mode, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_dates(void **state)
{
    char text[80];
    setenv("TZ", "UTC", 1);
    tzset();
    format_date(1709208000, text, sizeof text);
    assert_string_equal(text, "2024-02-29 12:00");
    format_date(-1, text, sizeof text);
    assert_string_equal(text, "1969-12-31 23:59");
    format_moment(1709208000, 1, text, sizeof text);
    assert_string_equal(text, "2024-02-29 12:00:00.000000001 +0000");
    format_date(INT64_MAX, text, sizeof text);
    assert_string_equal(text, "9223372036854775807");
    format_moment(INT64_MIN, 0, text, sizeof text);
    assert_string_equal(text, "-9223372036854775808");
}

static void test_numbers(void **state)
{
    uint64_t number;
    assert_true(parse_number("0", 1, 10, &number) && number == 0);
    assert_true(parse_number("010x", 3, 10, &number) && number == 10);
    assert_true(parse_number("18446744073709551615", 20, UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "0x1", "11", "1e1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(parse_number(wrong[i], strlen(wrong[i]), 10, &number));
    assert_false(parse_number("18446744073709551616", 20, UINT64_MAX, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_spans), cmocka_unit_test(test_ages),
        cmocka_unit_test(test_modes), cmocka_unit_test(test_dates), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
