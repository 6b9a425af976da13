/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <holdfast.h>

#include "base/utf8.h"

/* One, two, three and four bytes, at the edges of each range. */
static const char *const characters[] = {
    "\x01",
    "a",
    "\x7f",
    "\xc2\x80",
    "\xdf\xbf",
    "\xe0\xa0\x80",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "\xef\xbf\xbf",
    "\xe2\x82\xac",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "\xf0\x9f\x98\x80",
};

static const char *const wrong[] = {
    "\x80",
    "\xbf",
    "\xc0\x80",
    "\xc1\xbf", /* overlong */
    "\xe0\x9f\xbf",
    "\xf0\x8f\xbf\xbf", /* overlong */
    "\xed\xa0\x80",
    "\xed\xbf\xbf", /* surrogates */
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xff",
    "\xfe",
    "\xf8\x88\x80\x80\x80",
    "\xc3(",
    "\xe2\x82(",
    "\xf0\x9f\x98(",
};

static void test_length(void **state)
{
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        size_t size = strlen(characters[i]);
        assert_int_equal(hf__utf8_length(characters[i], size), size);
        /* Cut at each byte it is none. */
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(hf__utf8_length(characters[i], cut), 0);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(hf__utf8_length(wrong[i], strlen(wrong[i])), 0);
}

static bool is_valid(const char *text, size_t size)
{
    while (size > 0) {
        size_t length = hf__utf8_length(text, size);
        if (length == 0)
            return false;
        text += length;
        size -= length;
    }
    return true;
}

/* Every cut of a valid text, moved back, leaves valid text and drops less than one character. */
static void test_cut_before(void **state)
{
    char text[128] = "";
    size_t size = 0;
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        memcpy(text + size, characters[i], strlen(characters[i]));
        size += strlen(characters[i]);
    }
    for (size_t cut = 0; cut <= size; cut++) {
        size_t moved = hf__utf8_cut_before(text, cut);
        assert_true(moved <= cut && cut - moved <= 3);
        assert_true(is_valid(text, moved));
        size_t skip = hf__utf8_cut_after(text + cut, size - cut);
        assert_true(skip <= 3);
        assert_true(is_valid(text + cut + skip, size - cut - skip));
    }
}

/* Bytes that are no text at all move a cut by no more than three. */
static void test_cut_garbage(void **state)
{
    char garbage[64];
    memset(garbage, 0x80, sizeof garbage);
    for (size_t cut = 0; cut <= sizeof garbage; cut++) {
        assert_true(cut - hf__utf8_cut_before(garbage, cut) <= 3);
        assert_true(hf__utf8_cut_after(garbage, cut) <= 3);
    }
    memset(garbage, 0xff, sizeof garbage);
    for (size_t cut = 0; cut <= sizeof garbage; cut++)
        assert_true(cut - hf__utf8_cut_before(garbage, cut) <= 3);
}

static void test_replace(void **state)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(hf__utf8_replace("a\xff"
                                      "b\0c\xe2\x82",
                                      7, &text, &size),
                     0);
    assert_int_equal(size, 13);
    assert_memory_equal(text,
                        "a\xef\xbf\xbd"
                        "b\0c\xef\xbf\xbd\xef\xbf\xbd",
                        14);
    free(text);
    assert_int_equal(hf__utf8_replace(NULL, 0, &text, &size), 0);
    assert_string_equal(text, "");
    free(text);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(hf__utf8_replace(wrong[i], strlen(wrong[i]), &text, &size), 0);
        assert_true(is_valid(text, size));
        free(text);
    }
}

static void assert_escaped(const char *text, const char *want)
{
    char *escaped = hf_escape(text);
    assert_non_null(escaped);
    assert_string_equal(escaped, want);
    free(escaped);
}

static void test_escape(void **state)
{
    assert_escaped("", "");
    assert_escaped("plain \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_escaped("\x1b[31m\n\t\x7f", "\\x1b[31m\\x0a\\x09\\x7f");
    assert_escaped("\xff\xc3", "\\xff\\xc3");
    assert_escaped("\xc2\x9b", "\\u{009b}");          /* CSI in one character */
    assert_escaped("\xe2\x80\xae", "\\u{202e}");      /* right to left override */
    assert_escaped("\xe2\x81\xa6", "\\u{2066}");      /* isolate */
    assert_escaped("\xef\xbb\xbf", "\\u{feff}");      /* zero width */
    assert_escaped("\xf3\xa0\x81\x81", "\\u{e0041}"); /* tag characters */
    assert_escaped("\xd8\x9c", "\\u{061c}");
}

/* The longest growth there is: the buffer must hold it. */
static void test_escape_growth(void **state)
{
    static const char *const units[] = {"\x01", "\xff", "\xc2\x80", "\xe2\x80\x8b",
                                        "\xf3\xa0\x80\x80"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char text[401] = "";
        size_t size = strlen(units[i]);
        for (size_t at = 0; at + size <= 400; at += size)
            memcpy(text + at, units[i], size);
        char *escaped = hf_escape(text);
        assert_non_null(escaped);
        for (const char *at = escaped; *at; at++)
            assert_true(*at >= ' ' && *at < 0x7f);
        free(escaped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),      cmocka_unit_test(test_cut_before),
        cmocka_unit_test(test_cut_garbage), cmocka_unit_test(test_replace),
        cmocka_unit_test(test_escape),      cmocka_unit_test(test_escape_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
