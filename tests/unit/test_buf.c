/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void test_append(void **state)
{
    struct hf_buf buf = HF_BUF(1000);
    hf__buf_append(&buf, NULL, 0);
    hf__buf_string(&buf, "ab");
    hf__buf_append(&buf, "c\0d", 3);
    hf__buf_printf(&buf, "%d-%s", 7, "x");
    assert_false(buf.failed);
    assert_int_equal(buf.size, 8);
    assert_memory_equal(buf.data, "abc\0d7-x", 9);
    hf__buf_finish(&buf);
    assert_null(buf.data);
    hf__buf_finish(&buf);
}

/* At every size around the ceiling: what fits fits, one more fails, and failing is final. */
static void test_ceiling(void **state)
{
    for (size_t max = 0; max < 200; max++) {
        struct hf_buf buf = HF_BUF(max);
        for (size_t i = 0; i < max; i++)
            hf__buf_append(&buf, "x", 1);
        assert_false(buf.failed);
        assert_int_equal(buf.size, max);
        hf__buf_append(&buf, NULL, 0);
        assert_false(buf.failed);
        hf__buf_append(&buf, "y", 1);
        assert_true(buf.failed);
        hf__buf_consume(&buf, max);
        hf__buf_append(&buf, "", 0);
        hf__buf_printf(&buf, "x");
        assert_int_equal(buf.size, 0);
        assert_null(hf__buf_reserve(&buf, 0));
        hf__buf_finish(&buf);
        assert_false(buf.failed);
    }
}

static void test_sizes_that_overflow(void **state)
{
    struct hf_buf buf = HF_BUF(100);
    hf__buf_append(&buf, "abc", 3);
    assert_null(hf__buf_reserve(&buf, SIZE_MAX));
    assert_true(buf.failed);
    hf__buf_finish(&buf);
    hf__buf_append(&buf, "abc", 3);
    assert_null(hf__buf_reserve(&buf, SIZE_MAX - 2));
    hf__buf_finish(&buf);
}

static void test_printf_at_the_ceiling(void **state)
{
    struct hf_buf buf = HF_BUF(5);
    hf__buf_printf(&buf, "%s", "12345");
    assert_false(buf.failed);
    assert_string_equal(buf.data, "12345");
    hf__buf_printf(&buf, "%s", "6");
    assert_true(buf.failed);
    assert_string_equal(buf.data, "12345");
    hf__buf_finish(&buf);
}

static void test_consume(void **state)
{
    struct hf_buf buf = HF_BUF(100);
    hf__buf_consume(&buf, 10);
    hf__buf_string(&buf, "abcdef");
    hf__buf_consume(&buf, 0);
    hf__buf_consume(&buf, 2);
    assert_string_equal(buf.data, "cdef");
    hf__buf_consume(&buf, SIZE_MAX);
    assert_int_equal(buf.size, 0);
    assert_string_equal(buf.data, "");
    hf__buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_printf_at_the_ceiling),
        cmocka_unit_test(test_consume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
