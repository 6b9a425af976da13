/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* A part of a program, which is no library. */
#include "cli/detach.c"

static void test_parse(void **state)
{
    struct detach keys;
    assert_true(detach_parse(DETACH_DEFAULT, &keys));
    assert_int_equal(keys.count, 1);
    assert_int_equal(keys.keys[0], 0x1d);
    assert_true(detach_parse("ctrl-p,ctrl-Q", &keys));
    assert_int_equal(keys.count, 2);
    assert_int_equal(keys.keys[0], 0x10);
    assert_int_equal(keys.keys[1], 0x11);
    assert_true(detach_parse("CTRL-@,ctrl-[,ctrl-\\,ctrl-^,ctrl-_,a,~, ", &keys));
    assert_memory_equal(keys.keys,
                        "\x00\x1b\x1c\x1e\x1f"
                        "a~ ",
                        8);
    assert_true(detach_parse("", &keys));
    assert_int_equal(keys.count, 0);
    assert_true(detach_parse("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", &keys));
    assert_int_equal(keys.count, DETACH_MAX);
}

static void test_parse_refuses(void **state)
{
    static const char *const bad[] = {
        "ctrl-",  "ctrl-1",    "ctrl-ab",  "ab",
        ",",      "a,",        ",a",       "a,,b",
        "\x01",   "\n",        "ctrl-?",   "alt-x",
        "ctrl p", "control-p", "\xc3\xa4", "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct detach keys = {.count = 7};
        assert_false(detach_parse(bad[i], &keys));
        assert_int_equal(keys.count, 7);
    }
}

/* Feeds `in` in pieces of `piece` bytes; what passed is in `out`, and how much of it. */
static bool feed(const char *keys, const char *in, size_t piece, char *out)
{
    struct detach detach;
    size_t size = strlen(in), used = 0;
    assert_true(detach_parse(keys, &detach));
    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece, passed = 0;
        bool left = detach_feed(&detach, in + at, n, out + used, &passed);
        used += passed;
        out[used] = '\0';
        if (left)
            return true;
    }
    out[used] = '\0';
    return false;
}

static void check(const char *keys, const char *in, bool left, const char *passed)
{
    for (size_t piece = 1; piece <= strlen(in); piece++) {
        char out[256];
        assert_int_equal(feed(keys, in, piece, out), left);
        assert_string_equal(out, passed);
    }
}

static void test_feed(void **state)
{
    check("ctrl-]", "abc", false, "abc");
    check("ctrl-]", "ab\x1d", true, "ab");
    check("ctrl-p,ctrl-q", "a\x10\x11", true, "a");
    /* held back, and passed on when it was something else */
    check("ctrl-p,ctrl-q", "a\x10", false, "a");
    check("ctrl-p,ctrl-q", "a\x10z\x11", false, "a\x10z\x11");
    check("ctrl-p,ctrl-q", "\x10\x10\x11", true, "\x10");
    check("ctrl-p,ctrl-q", "\x11\x10", false, "\x11");
    check("", "\x1d\x10\x11", false, "\x1d\x10\x11");
}

/* A broken match may hold the beginning of the next. */
static void test_overlaps(void **state)
{
    check("a,a,b", "aaab", true, "a");
    check("a,a,b", "aaaaab", true, "aaa");
    check("a,b,a,c", "ababac", true, "ab");
    check("a,b,a,b,c", "abababc", true, "ab");
    check("a,b,a,b,c", "ababaXababc", true, "ababaX");
    check("a,a,a", "aab", false, "aab");
}

static void test_rest_is_dropped(void **state)
{
    struct detach detach;
    char out[32];
    size_t size = 99;
    assert_true(detach_parse("ctrl-]", &detach));
    assert_true(detach_feed(&detach,
                            "ab\x1d"
                            "cd",
                            5, out, &size));
    assert_int_equal(size, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_feed),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_rest_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
