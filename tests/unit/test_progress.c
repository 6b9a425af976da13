/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Parts of a program, which is no library. */
#include "cli/output.c"
#include "cli/progress.c"
#include "cli/units.c"

bool terminal_size(unsigned *ret_rows, unsigned *ret_columns)
{
    *ret_rows = 24;
    *ret_columns = 80;
    return true;
}

static void assert_line(uint64_t bytes, uint64_t files, uint64_t total, const char *path,
                        int64_t elapsed_ms, size_t columns_there, const char *want)
{
    hf_copy_progress progress = {
        .bytes = bytes, .files = files, .total_bytes = total, .path = path};
    char *text = progress_text(&progress, elapsed_ms, columns_there);
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void test_lines(void **state)
{
    assert_line(0, 0, 0, NULL, 0, 80, "0, 0 files");
    /* Too early to know how fast it goes. */
    assert_line(1024, 1, 4096, "a", 100, 80, "1.0K of 4.0K, 1 file: a");
    assert_line(1024, 1, 4096, "a", 1000, 80, "1.0K of 4.0K, 1 file, 1.0K/s, 3.0s left: a");
    assert_line(4096, 2, 4096, "a", 1000, 80, "4.0K of 4.0K, 2 files, 4.0K/s: a");
    /* What is left is not known, or is for ever. */
    assert_line(1024, 1, 0, NULL, 1000, 80, "1.0K, 1 file, 1.0K/s");
    assert_line(1, 1, UINT64_MAX, NULL, 1000, 80, "1 of 15E, 1 file, 1/s");
    /* A box may have more than was announced. */
    assert_line(8192, 1, 4096, NULL, 1000, 80, "8.0K of 4.0K, 1 file, 8.0K/s");
}

static void test_paths(void **state)
{
    assert_line(0, 0, 0, "a\x1b[31m", 0, 80, "0, 0 files: a\\x1b[31m");
    assert_line(0, 0, 0, "0123456789abcdef", 0, 24, "0, 0 files: 012345678...");
    /* No room to say anything of use. */
    assert_line(0, 0, 0, "0123456789abcdef", 0, 20, "0, 0 files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
