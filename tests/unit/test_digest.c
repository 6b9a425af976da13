/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"

static void test_known(void **state)
{
    char hex[65];
    struct hf_bytes parts[] = {{"default", 7}, {"demo", 4}};
    assert_int_equal(hf__sha256_parts(NULL, 0, hex, NULL), 0);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(hf__sha256_parts(parts, 2, hex, NULL), 0);
    assert_memory_equal(hex, "af5b494137da", 12);
    assert_int_equal(strlen(hex), 64);
}

/* No two lists of parts give the same bytes. */
static void test_borders(void **state)
{
    struct hf_bytes lists[][3] = {
        {{"ab", 2}, {"c", 1}, {"", 0}},
        {{"a", 1}, {"bc", 2}, {"", 0}},
        {{"", 0}, {"ab", 2}, {"c", 1}},
        {{"abc", 3}, {NULL, 0}, {NULL, 0}},
    };
    char hex[8][65];
    size_t count = 0;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(hf__sha256_parts(lists[i], 3, hex[count++], NULL), 0);
    assert_int_equal(hf__sha256_parts(lists[3], 1, hex[count++], NULL), 0);
    assert_int_equal(hf__sha256_parts(lists[3], 2, hex[count++], NULL), 0);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(hex[i], hex[k]);
}

static void test_base64(void **state)
{
    static const struct {
        const char *raw, *text;
    } rows[] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = NULL;
        assert_int_equal(hf__base64(rows[i].raw, strlen(rows[i].raw), &text, NULL), 0);
        assert_string_equal(text, rows[i].text);
        free(text);
    }
    char *text = NULL;
    assert_true(hf__base64("", SIZE_MAX, &text, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
