/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* A part of a program, which is no library. */
#include "cli/modes.c"

#define PUSH SAVE_TITLE
#define POP RESTORE_TITLE

/* What passes of `in`, cut at two places, and what is left to be switched off. */
static void pass(const char *in, size_t first, size_t second, char *out, char *off)
{
    struct modes modes = {0};
    size_t size = strlen(in), used = 0;
    used += modes_pass(&modes, in, first, out);
    used += modes_pass(&modes, in + first, second - first, out + used);
    used += modes_pass(&modes, in + second, size - second, out + used);
    out[used] = '\0';
    off[modes_off(&modes, off)] = '\0';
}

/* `off` is what the end must write; `passed`, what passes, or NULL for all. Whatever the pieces. */
static void check_passed(const char *in, const char *off, const char *passed)
{
    size_t size = strlen(in);
    char out[1024], seen[MODES_SEQUENCE + 1];
    assert_true(size + 4 * MODES_ROOM < sizeof out);
    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second++) {
            pass(in, first, second, out, seen);
            assert_string_equal(out, passed ? passed : in);
            assert_string_equal(seen, off);
        }
    }
}

static void check(const char *in, const char *off)
{
    check_passed(in, off, NULL);
}

static void test_text(void **state)
{
    check("", "");
    check("hello\r\nworld \xc3\xa4\xe2\x82\xac\x80\xff\x7f\t\b\x07", "");
    check("[?1049h]0;x", "");
}

static void test_private_modes(void **state)
{
    static const char *const numbers[] = {"1",    "5",    "9",    "1000", "1001", "1002",
                                          "1003", "1004", "1005", "1006", "1015", "1016",
                                          "2004", "2026", "47",   "1047", "1049"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char on[32], off[32], both[64];
        snprintf(on, sizeof on, "\x1b[?%sh", numbers[i]);
        snprintf(off, sizeof off, "\x1b[?%sl", numbers[i]);
        check(on, off);
        check(off, "");
        snprintf(both, sizeof both, "%s%s", on, off);
        check(both, "");
    }
    check("\x1b[?25l", "\x1b[?25h");
    check("\x1b[?25l\x1b[?25h", "");
    check("\x1b[?7l", "\x1b[?7h");
    check("\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l");
    check("\x1b[?1000;1006;25h\x1b[?1000l", "\x1b[?1006l");
    /* not ours, or not private */
    check("\x1b[?12h\x1b[?1048h", "");
    check("\x1b[1h\x1b[25l\x1b[>1h", "");
    check("\x1b[?99999999999999999999h", "");
}

static void test_screen(void **state)
{
    check("\x1b[?1049hxyz\x1b[?47l", "");
    check("\x1b[?47h\x1b[?1049h", "\x1b[?1049l");
    /* cursor and styles belong to the screen that is left */
    check("\x1b[?1049h\x1b[?25l\x1b[1m", "\x1b[?25h\x1b[0m\x1b[?1049l");
}

static void test_styles(void **state)
{
    check("\x1b[1m", "\x1b[0m");
    check("\x1b[1mx\x1b[0m", "");
    check("\x1b[1mx\x1b[m", "");
    check("\x1b[1;31mx\x1b[;m", "");
    check("\x1b[0;1m", "\x1b[0m");
    check("\x1b[1;0m", "");
    check("\x1b[38;5;0m", "\x1b[0m");
    check("\x1b[48;2;0;0;0m", "\x1b[0m");
    check("\x1b[38;5;0;0m", "");
    check("\x1b[38:5:0m", "\x1b[0m");
    check("\x1b[38:2::0:0:0;0m", "");
    check("\x1b[38m", "\x1b[0m");
    check("\x1b[38;5m", "\x1b[0m");
    check("\x1b[?1m", "");
    check("\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;0m", "\x1b[0m");
}

static void test_keys(void **state)
{
    check("\x1b=", "\x1b>");
    check("\x1b=\x1b>", "");
    check("\x1b[?66h", "\x1b>");
    check("\x1b[>4;2m", "\x1b[>4m");
    check("\x1b[>4;2m\x1b[>4m", "");
    check("\x1b[>1u", "\x1b[<1u");
    check("\x1b[>1u\x1b[>5u", "\x1b[<2u");
    check("\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u");
    check("\x1b[>1u\x1b[<9u", "");
    check("\x1b[u\x1b[?u", "");
}

static void test_drawing(void **state)
{
    check("\x1b(0qqq", "\x1b(B");
    check("\x1b(0qqq\x1b(B", "");
    check("\x1b)0\x0e", "\x0f");
    check("\x0e\x0f", "");
    check("\x1b[3;10r", "\x1b\x37\x1b[r\x1b\x38");
    check("\x1b[3;10r\x1b[r", "");
    check("\x1b[4 q", "\x1b[0 q");
    check("\x1b[4 q\x1b[ q", "");
}

static void test_resets(void **state)
{
    check("\x1b[?1049h\x1b[?1000h\x1b[1m\x1b=\x1b[4 q\x1b[>1u\x1b"
          "c",
          "");
    check("\x1b[?25l\x1b[?1h\x1b[1m\x1b=\x1b[!p", "");
    check("\x1b[?1049h\x1b[!p", "\x1b[?1049l");
}

static void test_titles(void **state)
{
    check_passed("a\x1b]0;hello\x07z", POP, "a" PUSH "\x1b]0;hello\x07z");
    check_passed("\x1b]2;hello\x1b\\", POP, PUSH "\x1b]2;hello\x1b\\");
    check_passed("\x1b]1;x\x07\x1b]2;y\x07", POP, PUSH "\x1b]1;x\x07\x1b]2;y\x07");
    check_passed("\x1b]00;x\x07", POP, PUSH "\x1b]00;x\x07");
    /* other commands */
    check("\x1b]4;1;rgb:00/00/00\x07", "");
    check("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "");
    check("\x1b]52;c;eA==\x07", "");
    check("\x1b]104\x07\x1b]1337;0;1\x07", "");
    check("\x1b]0000000;x\x07", "");
    /* what looks like one inside of another string is none */
    check("\x1bP]0;x\x1b\\", "");
    check("\x1b_]2;x\x07\x1b\\", "");
}

static void test_strings_hide_sequences(void **state)
{
    check("\x1bPq[?1049h\x1b\\", "");
    check("\x1b]52;[?1049h\x07", "");
    /* but an escape ends them */
    check("\x1b]52;x\x1b[?1049h", "\x1b[?1049l");
    check("\x1b[12\x1b[?1049h", "\x1b[?1049l");
    check("\x1b[?10\x18"
          "49h",
          "");
    /* controls inside of a sequence do not end it */
    check("\x1b[?10\n49h", "\x1b[?1049l");
    check("\x1b\x1b[?1049h", "\x1b[?1049l");
}

/* What a job leaves half written is ended, or was never passed on. */
static void test_unfinished(void **state)
{
    check("x\x1b[?10", "\x18");
    check("x\x1b]52;abc", "\x18");
    check("x\x1bP", "\x18");
    check("x\x1b(", "\x18");
    check_passed("x\x1b", "", "x");
    check_passed("x\x1b]", "", "x");
    check_passed("x\x1b]0", "", "x");
    check_passed("x\x1b]0;", "\x18" POP, "x" PUSH "\x1b]0;");
}

static void test_on_again(void **state)
{
    static const char in[] = "\x1b]0;t\x07\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b=\x1b[>4;2m\x1b[>5u";
    struct modes modes = {0};
    char out[sizeof in + MODES_ROOM], on[MODES_SEQUENCE + 1];
    modes_pass(&modes, in, sizeof in - 1, out);
    on[modes_on(&modes, on)] = '\0';
    assert_string_equal(on, PUSH "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b=\x1b[>4;2m\x1b[>5u");
}

/* Nothing is lost, nothing grows, whatever comes. */
static void test_any_bytes(void **state)
{
    static const char alphabet[] = "\x1b\x1b\x1b[[]]?;:>< !(0124579hlmqru\x07\x18\x0e\n\\Pcx\xff";
    srandom(1);
    for (int round = 0; round < 3000; round++) {
        struct modes modes = {0};
        char in[200], out[200 + MODES_ROOM], off[MODES_SEQUENCE];
        size_t total = 0, passed = 0;
        for (int piece = 0; piece < 20; piece++) {
            size_t size = (size_t)random() % sizeof in;
            for (size_t i = 0; i < size; i++)
                in[i] = alphabet[(size_t)random() % (sizeof alphabet - 1)];
            size_t n = modes_pass(&modes, in, size, out);
            assert_true(n <= size + MODES_ROOM);
            total += size;
            passed += n;
            assert_true(modes.held_size <= MODES_HELD);
            assert_true(modes_off(&modes, off) <= sizeof off);
            assert_true(modes_on(&modes, off) <= sizeof off);
        }
        size_t added = modes.titled ? sizeof PUSH - 1 : 0;
        assert_int_equal(passed + modes.held_size, total + added);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),       cmocka_unit_test(test_private_modes),
        cmocka_unit_test(test_screen),     cmocka_unit_test(test_styles),
        cmocka_unit_test(test_keys),       cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_resets),     cmocka_unit_test(test_titles),
        cmocka_unit_test(test_unfinished), cmocka_unit_test(test_strings_hide_sequences),
        cmocka_unit_test(test_on_again),   cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
