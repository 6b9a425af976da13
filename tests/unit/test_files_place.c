/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a directory: the ways that other kernels and file systems make it go. */
#include "files/place.h"

#include "files_helper.h"

static void test_ways_to_name_a_file(void **state)
{
    static const struct place ways[] = {
        {0}, {.no_empty_path = true}, {.no_tmpfile = true}, {true, true}};
    struct place_for_test *test = *state;
    for (size_t i = 0; i < 4; i++)
        for (int existing = 0; existing < 2; existing++) {
            struct place place = ways[i];
            struct new_file file;
            assert_int_equal(place_open_file(&place, test->target, &file), 0);
            assert_int_equal(hf__write_all(file.fd, "new", 3), 0);
            assert_int_equal(count_names(test->target),
                             (file.temporary[0] != '\0') + (unsigned)existing);
            assert_int_equal(place_file(&place, test->target, &file, "f"), 0);
            place_drop_file(test->target, &file);
            assert_text(test->target, "f", "new");
            assert_int_equal(count_names(test->target), 1);
            write_text(test->target, "f", "old");
            if (existing)
                assert_int_equal(unlinkat(test->target, "f", 0), 0);
        }
}

static void test_a_dropped_file_is_gone(void **state)
{
    struct place_for_test *test = *state;
    struct place place = {.no_tmpfile = true};
    struct new_file file;
    assert_int_equal(place_open_file(&place, test->target, &file), 0);
    assert_int_equal(count_names(test->target), 1);
    place_drop_file(test->target, &file);
    assert_int_equal(count_names(test->target), 0);
    assert_true(file.fd < 0);
    place_drop_file(test->target, &file);
}

/* rename() does nothing where both are names of one file; the temporary one must go all the same. */
static void test_a_link_over_itself(void **state)
{
    struct place_for_test *test = *state;
    struct place place = {.no_empty_path = true};
    write_text(test->target, "f", "x");
    _cleanup_close_ int fd = place_find(test->target, "f", NULL);
    assert_true(fd >= 0);
    assert_int_equal(place_thing(&place, test->target, &(struct thing){.fd = fd}, "f"), 0);
    assert_int_equal(place_thing(&place, test->target, &(struct thing){.fd = fd}, "g"), 0);
    assert_int_equal(place_thing(&place, test->target, &(struct thing){.fd = fd}, "g"), 0);
    assert_int_equal(count_names(test->target), 2);
}

static void test_find(void **state)
{
    struct place_for_test *test = *state;
    assert_int_equal(mkdirat(test->target, "a", 0755), 0);
    assert_int_equal(mkdirat(test->target, "a/b", 0755), 0);
    write_text(test->target, "a/b/f", "x");
    write_text(test->outside, "f", "x");
    assert_int_equal(symlinkat("../../outside", test->target, "a/out"), 0);
    int fd = place_find(test->target, "a/b/f", NULL);
    assert_true(fd >= 0);
    close(fd);
    fd = place_find(test->target, "other/b/f", "a");
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(place_find(test->target, "a/out/f", NULL), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(place_find(test->target, "a/b/f/g", NULL), -1);
    assert_int_equal(place_find(test->target, "a/none", NULL), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_directories(void **state)
{
    struct place_for_test *test = *state;
    bool made;
    int fd = place_dir(test->target, "d", &made);
    assert_true(fd >= 0 && made);
    close(fd);
    fd = place_dir(test->target, "d", &made);
    assert_true(fd >= 0 && !made);
    close(fd);
    assert_int_equal(symlinkat("../outside", test->target, "l"), 0);
    fd = place_dir(test->target, "l", &made);
    assert_true(fd >= 0 && made);
    write_text(fd, "x", "x");
    close(fd);
    assert_int_equal(count_names(test->outside), 0);
    write_text(test->target, "f", "x");
    assert_int_equal(place_dir(test->target, "f", &made), -1);
    assert_int_equal(errno, ENOTDIR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_setup, files_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ways_to_name_a_file), TEST(test_a_dropped_file_is_gone),
        TEST(test_a_link_over_itself),  TEST(test_find),
        TEST(test_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
