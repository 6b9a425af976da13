/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static void test_print(void **state)
{
    hf_json *json = hf__json_object(), *list = hf__json_array();
    char *text = NULL;
    hf__json_set_string(json, "s", "a\"\\\n\x1b\xff/");
    hf__json_set_string(json, "none", NULL);
    hf__json_set_int(json, "i", INT64_MIN);
    hf__json_set_uint(json, "u", UINT64_MAX);
    hf__json_set_double(json, "d", 1.23456);
    hf__json_set_bool(json, "b", true);
    hf__json_set_bytes(json, "bytes", "a\0b", 3);
    hf__json_append_string(list, "x");
    hf__json_set(json, "l", list);
    assert_int_equal(hf__json_print(json, false, &text, NULL), 0);
    assert_string_equal(text, "{\"s\":\"a\\\"\\\\\\n\\u001b\xef\xbf\xbd/\",\"none\":null,"
                              "\"i\":-9223372036854775808,\"u\":18446744073709551615,"
                              "\"d\":1.235,\"b\":true,\"bytes\":\"a\\u0000b\",\"l\":[\"x\"]}");
    free(text);
    hf__json_free(json);
    hf__json_free(NULL);
    assert_int_equal(hf__json_print(NULL, false, &text, NULL), HF_E_NO_SPACE);
}

static void test_strict(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "{",
        "{\"a\":1",
        "{\"a\":1}x",
        "{\"a\":1}{}",
        "{'a':1}",
        "{a:1}",
        "{\"a\":NaN}",
        "{\"a\":nan}",
        "{\"a\":Infinity}",
        "{\"a\":-Infinity}",
        "{\"a\":1,}",
        "[1,]",
        "{\"a\":1,\"a\":2}",
        "{\"a\":{\"b\":1,\"b\":1}}",
        "[{\"a\":1},{\"b\":1,\"b\":2}]",
        "// comment\n{}",
        "/* comment */{}",
        "{\"a\":\"\n\"}",
        "{\"a\":01}",
        "{\"a\":\"unfinished}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hf_json *json = NULL;
        if (hf__json_parse(wrong[i], strlen(wrong[i]), &json, NULL) != HF_E_INVALID)
            fail_msg("taken: %s", wrong[i]);
        assert_null(json);
    }
    /* A NUL is no white space. */
    hf_json *json = NULL;
    assert_int_equal(hf__json_parse("{}\0", 3, &json, NULL), HF_E_INVALID);
}

static void test_right(void **state)
{
    static const char *const right[] = {
        "{}",
        " {} \n",
        "[]",
        "{\"a\":\"it's NaN: \\\"I\\\"\"}",
        "{\"a\":{\"a\":{\"a\":1}}}",
        "[{\"a\":1},{\"a\":1}]",
        "{\"a:b\":\"c:d\"}",
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        hf_json *json = NULL;
        hf_error *error = NULL;
        if (hf__json_parse(right[i], strlen(right[i]), &json, &error) < 0)
            fail_msg("%s: %s", right[i], hf_error_message(error));
        hf__json_free(json);
    }
}

static void test_depth(void **state)
{
    char text[201] = "";
    hf_json *json = NULL;
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    assert_int_equal(hf__json_parse(text, 200, &json, NULL), HF_E_INVALID);
    assert_int_equal(hf__json_parse(text + 80, 40, &json, NULL), 0);
    hf__json_free(json);
}

static void test_readers(void **state)
{
    static const char text[] = "{\"s\":\"x\",\"i\":7,\"b\":true,\"n\":null,\"l\":[1],"
                               "\"nul\":\"a\\u0000b\"}";
    hf_json *json = NULL;
    assert_int_equal(hf__json_parse(text, strlen(text), &json, NULL), 0);
    assert_string_equal(hf__json_get_string(json, "s"), "x");
    /* A wrong kind never becomes something else. */
    assert_null(hf__json_get_string(json, "i"));
    assert_null(hf__json_get_string(json, "n"));
    assert_null(hf__json_get_string(json, "missing"));
    assert_null(hf__json_get_string(json, "nul"));
    assert_int_equal(hf__json_get_int(json, "i", 1), 7);
    assert_int_equal(hf__json_get_int(json, "s", 1), 1);
    assert_int_equal(hf__json_get_int(json, "b", 5), 5);
    assert_true(hf__json_get_bool(json, "b", false));
    assert_true(hf__json_get_bool(json, "i", true));
    assert_int_equal(hf__json_length(hf__json_get(json, "l")), 1);
    assert_int_equal(hf__json_length(json), 0);
    assert_int_equal(hf__json_length(NULL), 0);
    assert_null(hf__json_at(hf__json_get(json, "l"), 1));
    assert_null(hf__json_get(hf__json_get(json, "l"), "s"));
    hf__json_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print), cmocka_unit_test(test_strict),  cmocka_unit_test(test_right),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
