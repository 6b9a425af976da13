/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_ages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
