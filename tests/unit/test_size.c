/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <holdfast.h>

#include "spec/size.h"

static const char *const nonsense[] = {
    "",    " ",     "-1",   "+1",   "nan", "inf", "0x10", "1e3", "1,5", "1.",
    ".",   "1.2.3", "m",    "1 m",  " 1m", "1m ", "1mm",  "1q",  "--1", "1kibi",
    "1\n", "٣",     "1.5.", "1..5", "1b1", "1bb", "1i",   "1mi", "∞",   "1.1234567890m",
};

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"4096", 4096},
        {"1b", 1},
        {"1k", 1024},
        {"1K", 1024},
        {"1kb", 1024},
        {"1KiB", 1024},
        {"512m", UINT64_C(512) << 20},
        {"1.5g", UINT64_C(3) << 29},
        {".5k", 512},
        {"0.5t", UINT64_C(1) << 39},
        {"007", 7},
        {"0.000000001k", 1}, /* rounded up: only zero is zero */
        {"9223372036854775807", INT64_MAX},
        {"8388607t", UINT64_C(8388607) << 40},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 99;
        assert_int_equal(hf_parse_size(rows[i].text, &bytes, NULL), 0);
        assert_true(bytes == rows[i].bytes);
    }
}

static void test_sizes_refused(void **state)
{
    static const char *const more[] = {
        "1.5", "1.5b", "9223372036854775808",  "8388608t", "99999999999999999999999",
        "1ms", "1s",   "18446744073709551616",
    };
    uint64_t bytes = 99;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        assert_int_equal(hf_parse_size(nonsense[i], &bytes, NULL), HF_E_INVALID);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        assert_int_equal(hf_parse_size(more[i], &bytes, NULL), HF_E_INVALID);
    assert_true(bytes == 99);
}

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"0", 0},
        {"0ms", 0},
        {"30", 30000},
        {"30s", 30000},
        {"250ms", 250},
        {"1.5m", 90000},
        {"2h", 7200000},
        {"7d", 604800000},
        {"0.1ms", 1},
        {"0.0001s", 1},
        {"36500d", INT64_C(3153600000000)},
        {"1S", 1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -7;
        assert_int_equal(hf_parse_duration(rows[i].text, &ms, NULL), 0);
        assert_true(ms == rows[i].ms);
    }
}

static void test_durations_refused(void **state)
{
    /* Ten digits behind the point are refused, not cut to a zero that would mean "never". */
    static const char *const more[] = {"0.0000000001", "36501d", "9223372036854775807d", "1w", "1k",
                                       "1b",           "1sec"};
    int64_t ms = 99;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        assert_int_equal(hf_parse_duration(nonsense[i], &ms, NULL), HF_E_INVALID);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        assert_int_equal(hf_parse_duration(more[i], &ms, NULL), HF_E_INVALID);
    assert_true(ms == 99);
}

static void test_cpus(void **state)
{
    static const char *const wrong[] = {"0",    "0.009", "1024.000000001", "1025", "1k",
                                        "-0.5", "NaN",   "0x10",           "1e1",  "18446744073"};
    uint64_t nanos = 0;
    assert_int_equal(hf__parse_cpus("0.01", &nanos, NULL), 0);
    assert_true(nanos == 10000000);
    assert_int_equal(hf__parse_cpus("1.5", &nanos, NULL), 0);
    assert_true(nanos == 1500000000);
    assert_int_equal(hf__parse_cpus("1024", &nanos, NULL), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(hf__parse_cpus(wrong[i], &nanos, NULL), HF_E_INVALID);
    assert_true(nanos == UINT64_C(1024000000000));
}

static void test_counts(void **state)
{
    uint64_t count = 0;
    assert_int_equal(hf__parse_count("10", 10, &count, NULL), 0);
    assert_int_equal(hf__parse_count("11", 10, &count, NULL), HF_E_INVALID);
    assert_int_equal(hf__parse_count("1.0", 10, &count, NULL), HF_E_INVALID);
    assert_int_equal(hf__parse_count("-1", 10, &count, NULL), HF_E_INVALID);
    assert_int_equal(hf__parse_count("", 10, &count, NULL), HF_E_INVALID);
    assert_true(count == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_sizes_refused),
        cmocka_unit_test(test_durations), cmocka_unit_test(test_durations_refused),
        cmocka_unit_test(test_cpus),      cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
