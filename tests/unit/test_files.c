/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Parts of a program, which is no library. */
#include "cli/files.c"
#include "cli/flags.c"
#include "cli/output.c"
#include "cli/units.c"

static void test_ranges(void **state)
{
    static const struct {
        const char *text;
        struct range range;
    } cases[] = {
        {"0-99", {0, 100, false}},
        {"0-0", {0, 1, false}},
        {"5-5", {5, 1, false}},
        {"100-", {100, 0, false}},
        {"0-", {0, 0, false}},
        {"-100", {0, 100, true}},
        {"-1", {0, 1, true}},
        {"007-8", {7, 2, false}},
        {"0-9223372036854775806", {0, INT64_MAX, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct range range;
        assert_true(parse_range(cases[i].text, &range));
        assert_int_equal(range.offset, cases[i].range.offset);
        assert_int_equal(range.length, cases[i].range.length);
        assert_int_equal(range.from_end, cases[i].range.from_end);
    }
    static const char *const wrong[] = {"",
                                        "-",
                                        "5",
                                        "5-4",
                                        "-0",
                                        "a-b",
                                        "1-2-",
                                        "1--2",
                                        "0x1-2",
                                        " 1-2",
                                        "1-2 ",
                                        "+1-2",
                                        "--5",
                                        "1-2,4-5",
                                        "0-9223372036854775807",
                                        "99999999999999999999-"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct range range;
        assert_false(parse_range(wrong[i], &range));
    }
}

static void test_modes(void **state)
{
    static const struct {
        const char *text;
        unsigned mode;
    } cases[] = {{"0640", 0640}, {"640", 0640}, {"7777", 07777}, {"1", 1}, {"000755", 0755}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned mode = 0;
        assert_true(parse_mode(cases[i].text, &mode));
        assert_int_equal(mode, cases[i].mode);
    }
    static const char *const wrong[] = {"", "0", "8", "10000", "0o640", "u+x", "-1", "640 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned mode;
        assert_false(parse_mode(wrong[i], &mode));
    }
}

static void test_links(void **state)
{
    static const struct {
        const char *path, *target, *joined;
    } cases[] = {
        {"a", "b", "b"},      {"d/a", "b", "d/b"},       {"/a", "b", "/b"},
        {"/d/a", "/b", "/b"}, {"d/a", "../b", "d/../b"}, {"/x/y/a", "z/b", "/x/y/z/b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *joined = join_target(cases[i].path, cases[i].target);
        assert_string_equal(joined, cases[i].joined);
        free(joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
